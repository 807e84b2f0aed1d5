//! The C code of PolyBench, compiled for given sizes.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Error, Sizes};

/// Flags of all compilers, those that PolyBench recommends for times among them.
const FLAGS: [&str; 6] =
    ["-O3", "-march=native", "-ffast-math", "-fopenmp", "-DPOLYBENCH_TIME", "-DPOLYBENCH_USE_RESTRICT"];

/// The sources of C programs.
pub(crate) struct Sources {
    /// PolyBench/C 4.2.
    pub(crate) polybench: PathBuf,
    /// `polycc`, the command of Pluto.
    pub(crate) pluto: Option<PathBuf>,
}

/// A kernel by one compiler.
pub(crate) struct Peer {
    executable: PathBuf,
    threads: u32,
}

impl Peer {
    /// The first ones are by compilers without polyhedral transformations.
    pub(crate) const COMPILERS: usize = 2;

    /// Names of the C programs in the order of [`all`](Self::all).
    pub(crate) const NAMES: [&str; 4] = ["gcc", "clang", "Polly", "Pluto"];

    /// The kernel by gcc, by clang, by clang with Polly, and by Pluto with the better of gcc and clang. Polly and Pluto also share loops
    /// among threads. Nothing stands for a program that cannot be had: Polly or Pluto are not installed, or Pluto refuses the kernel.
    pub(crate) fn all(
        sources: &Sources,
        folder: &Path,
        name: &str,
        sizes: &Sizes,
        threads: u32,
    ) -> Result<[Vec<Peer>; Self::NAMES.len()], Error> {
        let source = source(&sources.polybench, name)?;
        let transformed = match &sources.pluto {
            Some(pluto) => transformed(pluto, &source, folder, threads)?,
            None => None,
        };
        let parallel: &[&str] = &["-mllvm", "-polly", "-mllvm", "-polly-parallel", "-lgomp"];
        let polly = if threads > 1 { parallel } else { &parallel[..2] };
        let compiled = |label: &str, compiler: &str, source: &Path, flags: &[&str], is_optional: bool| {
            let executable = folder.join(format!("{label}.{threads}"));
            let mut command = Command::new(compiler);
            command.args(FLAGS).args(sizes.iter().map(|(name, value)| format!("-D{name}={value}")));
            let utilities = sources.polybench.join("utilities");
            command.arg("-I").arg(&utilities).arg(utilities.join("polybench.c"));
            command.arg(source).arg("-o").arg(&executable).arg("-lm").args(flags);
            let output = command.output().map_err(|error| format!("`{compiler}` cannot be run: {error}"))?;
            if output.status.success() {
                Ok(Some(Peer { executable, threads }))
            } else if is_optional {
                Ok(None)
            } else {
                let message = String::from_utf8_lossy(&output.stderr);
                Err::<_, Error>(
                    format!("`{compiler}` does not compile {}: {message}", source.display()).into(),
                )
            }
        };
        let mut of_pluto = Vec::new();
        for compiler in ["gcc", "clang-19"] {
            if let Some(source) = &transformed {
                of_pluto.extend(compiled(&format!("pluto-{compiler}"), compiler, source, &[], true)?);
            }
        }
        Ok([
            compiled("gcc", "gcc", &source, &[], false)?.into_iter().collect(),
            compiled("clang", "clang-19", &source, &[], false)?.into_iter().collect(),
            compiled("polly", "clang-19", &source, polly, true)?.into_iter().collect(),
            of_pluto,
        ])
    }

    /// Seconds of the kernel in a new process.
    pub(crate) fn run(&self) -> Result<f64, Error> {
        let output =
            Command::new(&self.executable).env("OMP_NUM_THREADS", self.threads.to_string()).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let seconds = text.trim().parse().ok().filter(|_| output.status.success());
        seconds.ok_or_else(|| format!("{} printed `{text}`, not seconds", self.executable.display()).into())
    }
}

/// Names in the kernels that Pluto does not parse, because they are macros, and names without macros.
const MACROS: [(&str, &str); 5] =
    [("_PB_", ""), ("SCALAR_VAL", ""), ("SQRT_FUN", "sqrt"), ("EXP_FUN", "exp"), ("POW_FUN", "pow")];

/// A kernel after Pluto, with tiles, and with parallel loops if there are several threads; nothing if Pluto refuses it.
fn transformed(pluto: &Path, source: &Path, folder: &Path, threads: u32) -> Result<Option<PathBuf>, Error> {
    let text = std::fs::read_to_string(source)?;
    let (start, end) = ("#pragma scop", "#pragma endscop");
    let parts = text.split_once(start).and_then(|(head, rest)| Some((head, rest.split_once(end)?)));
    let Some((head, (kernel, tail))) = parts else { return Ok(None) };
    let kernel = MACROS.iter().fold(kernel.to_owned(), |kernel, (name, other)| kernel.replace(name, other));
    let (given, result) =
        (folder.join(format!("scop.{threads}.c")), folder.join(format!("pluto.{threads}.c")));
    std::fs::write(&given, format!("{head}{start}{kernel}{end}{tail}"))?;
    let parallel = if threads > 1 { "--parallel" } else { "--noparallel" };
    // Pluto leaves files beside its input, and names in the folder in which it runs.
    let mut command = Command::new(pluto);
    command.current_dir(folder).arg(&given).args(["--tile", parallel, "-o"]).arg(&result);
    let output = command.output().map_err(|error| format!("`{}` cannot be run: {error}", pluto.display()))?;
    if !output.status.success() || !result.is_file() {
        return Ok(None);
    }
    // The result includes the kernel's header, which lies beside the source.
    let header = source.with_extension("h");
    if let Some(name) = header.file_name().filter(|_| header.is_file()) {
        std::fs::copy(&header, folder.join(name))?;
    }
    Ok(Some(result))
}

/// The file of a kernel below a folder: PolyBench has dashes in names, and identifiers do not begin with digits.
fn source(folder: &Path, name: &str) -> Result<PathBuf, Error> {
    let wanted = match name.strip_prefix('k') {
        Some(rest) if rest.starts_with(|letter: char| letter.is_ascii_digit()) => rest.to_owned(),
        _ => name.replace('_', "-"),
    };
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let file = folder.join(format!("{wanted}.c"));
        if file.is_file() {
            return Ok(file);
        }
        let mut entries: Vec<PathBuf> = std::fs::read_dir(&folder)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?;
        entries.sort();
        folders.extend(entries.into_iter().filter(|path| path.is_dir()));
    }
    Err(format!("`{}` has no `{wanted}.c`", folder.display()).into())
}
