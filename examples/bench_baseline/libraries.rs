//! Shared libraries of the programs and of the corresponding C code, in a folder that is removed when the
//! benchmark ends.

use std::path::{Path, PathBuf};
use std::process::Command;

use sdfg::validate::{Validated, validate};
use sdfg_codegen::link::shared_library;
use sdfg_codegen::llvm::CompileOptions;
use sdfg_codegen::lower::lower;
use sdfg_codegen::source::{CCompiler, SourceOptions};

use crate::Error;
use crate::cases::Case;

/// The folder of the C sources.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/baseline");

/// A C compiler.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Compiler {
    Clang,
    Gcc,
    /// clang with its polyhedral optimiser, where clang has it.
    Polly,
}

impl Compiler {
    pub(crate) const BOTH: [Compiler; 2] = [Compiler::Clang, Compiler::Gcc];

    const fn command(self) -> &'static str {
        match self {
            Compiler::Clang | Compiler::Polly => "clang-19",
            Compiler::Gcc => "gcc",
        }
    }

    /// Flags besides those of all.
    const fn flags(self) -> &'static [&'static str] {
        match self {
            Compiler::Clang | Compiler::Gcc => &[],
            Compiler::Polly => &["-mllvm", "-polly"],
        }
    }
}

/// Libraries that are made when they are asked for.
pub(crate) struct Libraries {
    folder: tempfile::TempDir,
}

impl Libraries {
    pub(crate) fn new() -> Result<Self, Error> {
        Ok(Libraries { folder: tempfile::tempdir()? })
    }

    /// The library of a program.
    pub(crate) fn ours(&self, case: &Case) -> Result<PathBuf, Error> {
        let path = self.folder.path().join(format!("{}.{}.so", case.program, case.is_chained));
        if !path.exists() {
            let expanded = expanded(case)?;
            shared_library(&sdfg_codegen::compile(&expanded, &CompileOptions::default())?, &path)?;
        }
        Ok(path)
    }

    /// The library of a program's C source.
    pub(crate) fn ours_through_c(&self, case: &Case, compiler: Compiler) -> Result<PathBuf, Error> {
        let name = format!("{}.{}.source.{}.so", case.program, case.is_chained, compiler.command());
        let path = self.folder.path().join(name);
        if !path.exists() {
            let options = CompileOptions::default();
            let plan = lower(&expanded(case)?, &options.target(), &options.lowering())?;
            let arguments: &[&str] = match compiler {
                Compiler::Clang | Compiler::Polly => &["-O3", "-march=native", "-fveclib=libmvec"],
                Compiler::Gcc => &["-O3", "-march=native"],
            };
            let compiler = CCompiler::new(compiler.command(), arguments);
            compiler.shared_library(&plan, &SourceOptions::default(), &path)?;
        }
        Ok(path)
    }

    /// The library of a C source.
    pub(crate) fn c(&self, name: &str, compiler: Compiler) -> Result<PathBuf, Error> {
        let path = self.folder.path().join(format!("{name}.{compiler:?}.so"));
        if !path.exists() {
            let source = Path::new(SOURCES).join(format!("{name}.c"));
            let flags = ["-O3", "-march=native", "-ffast-math", "-fopenmp", "-shared", "-fPIC", "-o"];
            let status = Command::new(compiler.command())
                .args(compiler.flags())
                .args(flags)
                .arg(&path)
                .arg(&source)
                .arg("-lm")
                .status();
            let status =
                status.map_err(|error| format!("`{}` cannot be run: {error}", compiler.command()))?;
            if !status.success() {
                return Err(format!("`{}` does not compile {}", compiler.command(), source.display()).into());
            }
        }
        Ok(path)
    }
}

/// The program of a case without reductions and library nodes.
fn expanded(case: &Case) -> Result<Validated, Error> {
    let name = case.program;
    if case.is_chained {
        let chained = sdfg_programs::chains::kernels()?.into_iter().find(|recorded| recorded.name == name);
        let recorded = chained.ok_or_else(|| format!("no chain `{name}`"))?;
        let registry = sdfg_transforms::Registry::standard();
        let mut program = recorded.chain.replay(recorded.program, &registry)?.program().clone();
        // As the C code.
        program.float_mode = sdfg::ir::FloatMode::Fast;
        return Ok(validate(sdfg_library::expand(&program, &sdfg_library::BuiltIn)?)?);
    }
    let file = format!("{name}.sdft");
    let text = std::fs::read_to_string(Path::new(SOURCES).join(&file))?;
    let parsed = sdfg::text::parse(&file, &text).map_err(|errors| format!("{file}: {errors:?}"))?;
    let program = validate(parsed)?;
    Ok(validate(sdfg_library::expand(program.sdfg(), &sdfg_library::BuiltIn)?)?)
}
