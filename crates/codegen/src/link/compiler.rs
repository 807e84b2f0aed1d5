//! C and C++ compilers for the sources of external tasklets, with a cache of compiled C++ sources.
//!
//! C++ headers make compilation slow, so the object cache keeps the results. Their names hash everything that
//! they depend on: the source, the options, and the compiler with the version that it reports.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use super::error::LinkError;
use super::linker::{on_path, run};
use super::output;
use crate::cache;
use crate::object::Requirements;

/// The variable that names the compiler of C++, perhaps with options behind its name.
const CPP_VARIABLE: &str = "CXX";

/// Compilers of C++ in the order in which they are tried.
const CPP_CANDIDATES: [&str; 4] = ["clang++-19", "clang++", "g++", "c++"];

/// Suffix of names of cached results.
pub(crate) const EXTENSION: &str = "sdfg-external";

/// Output of a C++ compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// An object file, to be linked with the program.
    Object,
    /// A shared library, which the system's loader initialises.
    Library,
}

/// A compiler with the options that the user gives it.
struct Compiler {
    program: PathBuf,
    options: Vec<String>,
}

impl Compiler {
    /// The compiler of C++ that [`CPP_VARIABLE`] names, else the first one of this machine.
    fn of_cpp() -> Result<Self, LinkError> {
        if let Some(words) = std::env::var(CPP_VARIABLE).ok().filter(|words| !words.trim().is_empty()) {
            let mut words = words.split_whitespace().map(str::to_owned);
            let program = PathBuf::from(words.next().unwrap_or_default());
            return Ok(Compiler { program, options: words.collect() });
        }
        let found = CPP_CANDIDATES.into_iter().find_map(on_path);
        found
            .map(|program| Compiler { program, options: Vec::new() })
            .ok_or_else(|| LinkError::NoCompiler { tried: CPP_CANDIDATES.map(str::to_owned).to_vec() })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.options).stdin(Stdio::null());
        command
    }

    /// The version output of the compiler, which changes when the compiler is replaced.
    fn version(&self) -> Result<Vec<u8>, LinkError> {
        let program = self.program.display().to_string();
        let output = self.command().arg("--version").output();
        output.map(|output| output.stdout).map_err(|source| LinkError::NotRunnable { program, source })
    }
}

/// Compiles a C file with the compiler of the variable `CC`, else the system's.
pub(super) fn compile_c(source: &Path, object: &Path, requirements: &Requirements) -> Result<(), LinkError> {
    let program = std::env::var_os("CC").filter(|name| !name.is_empty());
    let program = PathBuf::from(program.unwrap_or_else(|| OsString::from("cc")));
    let mut command = Command::new(&program);
    command.arg(format!("-O{}", requirements.source_level)).args(["-fPIC", "-c", "-o"]);
    command.arg(object).arg(source).stdin(Stdio::null());
    run(&program, command)
}

/// Compiles C++, in `folder` unless it is kept or can be. The answer is the file.
pub(super) fn compile_cpp(
    text: &str,
    form: Form,
    requirements: &Requirements,
    folder: &Path,
    name: &str,
) -> Result<PathBuf, LinkError> {
    let compiler = Compiler::of_cpp()?;
    let mut options = vec![format!("-O{}", requirements.source_level)];
    // Sums of products are rounded as elsewhere in the program; what users do not see needs no warnings.
    let fixed = ["-std=c++17", "-fPIC", "-ffp-contract=off", "-w"];
    options.extend(fixed.map(str::to_owned));
    // Programs in one process have their own globals, whatever these are called.
    let fixed: &[&str] = if form == Form::Object { &["-c"] } else { &["-shared", "-Wl,-Bsymbolic"] };
    options.extend(fixed.iter().map(|&option| option.to_owned()));
    let kept = match &requirements.source_cache {
        None => None,
        Some(cache) => {
            let version = compiler.version()?;
            let mut hash = Sha256::new();
            // Debug texts quote, so that no two lists of texts look alike.
            hash.update(format!("{:?}{:?}{options:?}{text:?}", compiler.program, compiler.options));
            hash.update(version);
            Some(cache.join(format!("{}.{EXTENSION}", cache::hex(hash))))
        }
    };
    if let Some(file) = kept.as_ref().filter(|file| is_whole(file)) {
        return Ok(file.clone());
    }
    let source = folder.join(format!("{name}.cpp"));
    output::write_file(&source, text.as_bytes())?;
    let result = folder.join(name);
    let mut command = compiler.command();
    command.args(&options).arg("-o").arg(&result).arg(&source);
    run(&compiler.program, command).map_err(|error| match error {
        LinkError::Failed { program, messages, .. } => LinkError::Source { program, messages },
        other @ (LinkError::NoLinker { .. }
        | LinkError::NotRunnable { .. }
        | LinkError::NoOutput { .. }
        | LinkError::NoCompiler { .. }
        | LinkError::Source { .. }
        | LinkError::MissingSymbols { .. }
        | LinkError::MissingLibrary { .. }
        | LinkError::NoOpenMp { .. }
        | LinkError::NoSystemLibrary { .. }
        | LinkError::Write { .. }) => other,
    })?;
    // Without a cache, the next run compiles again.
    Ok(kept.filter(|file| keep(&result, file).is_ok()).unwrap_or(result))
}

/// Puts a result into the cache, with a hash behind it, which linkers and loaders do not look at.
pub(crate) fn keep(result: &Path, file: &Path) -> io::Result<()> {
    let Some(folder) = file.parent() else { return Err(io::ErrorKind::NotFound.into()) };
    let bytes = std::fs::read(result)?;
    cache::put(folder, file, &[&bytes, &Sha256::digest(&bytes)])
}

/// Whether a result is there as it was put. It counts as used now.
pub(crate) fn is_whole(file: &Path) -> bool {
    let Ok(bytes) = std::fs::read(file) else { return false };
    let size = Sha256::output_size();
    let Some((result, hash)) = bytes.len().checked_sub(size).and_then(|at| bytes.split_at_checked(at)) else {
        return false;
    };
    cache::count_as_used(file);
    Sha256::digest(result).as_slice() == hash
}
