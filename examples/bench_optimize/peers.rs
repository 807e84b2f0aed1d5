//! The C code of PolyBench, compiled for given sizes.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Error, Sizes};

/// Flags of all compilers, those that PolyBench recommends for times among them.
const FLAGS: [&str; 6] =
    ["-O3", "-march=native", "-ffast-math", "-fopenmp", "-DPOLYBENCH_TIME", "-DPOLYBENCH_USE_RESTRICT"];

/// A kernel by one compiler.
pub(crate) struct Peer {
    executable: PathBuf,
    threads: u32,
}

impl Peer {
    /// The first ones are by compilers without polyhedral transformations.
    pub(crate) const COMPILERS: usize = 2;

    /// The kernel by gcc, by clang, and by clang with Polly, where clang has it. Polly also shares loops among threads.
    pub(crate) fn all(
        sources: &Path,
        folder: &Path,
        name: &str,
        sizes: &Sizes,
        threads: u32,
    ) -> Result<Vec<Peer>, Error> {
        let source = source(sources, name)?;
        let parallel: &[&str] = &["-mllvm", "-polly", "-mllvm", "-polly-parallel", "-lgomp"];
        let polly = if threads > 1 { parallel } else { &parallel[..2] };
        let compilers: [(&str, &str, &[&str]); 3] =
            [("gcc", "gcc", &[]), ("clang", "clang-19", &[]), ("polly", "clang-19", polly)];
        let mut peers = Vec::new();
        for (label, compiler, flags) in compilers {
            let executable = folder.join(format!("{label}.{threads}"));
            let mut command = Command::new(compiler);
            command.args(FLAGS).args(sizes.iter().map(|(name, value)| format!("-D{name}={value}")));
            command.arg("-I").arg(sources.join("utilities")).arg(sources.join("utilities/polybench.c"));
            command.arg(&source).arg("-o").arg(&executable).arg("-lm").args(flags);
            let output = command.output().map_err(|error| format!("`{compiler}` cannot be run: {error}"))?;
            if output.status.success() {
                peers.push(Peer { executable, threads });
            } else if label != "polly" {
                let message = String::from_utf8_lossy(&output.stderr);
                return Err(format!("`{compiler}` does not compile {}: {message}", source.display()).into());
            }
        }
        Ok(peers)
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
