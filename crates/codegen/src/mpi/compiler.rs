//! The C compiler of an MPI, and the library of communication that it makes.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sdfg_runtime::MPI_SOURCES;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::MpiError;
use crate::cache::{self, Cache};
use crate::link::{EXTERNAL_EXTENSION, Form, is_whole, keep, on_path, run_program};

/// The variable that names the C compiler of an MPI, as a name or a path.
pub const COMPILER_VARIABLE: &str = "SDFG_MPICC";

/// C compilers of MPIs in the order in which they are tried.
const CANDIDATES: [&str; 3] = ["mpicc", "mpicc.openmpi", "mpicc.mpich"];

/// Options for every form. Sums round as elsewhere in programs, and buffers hold elements of any type.
const OPTIONS: [&str; 6] =
    ["-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-fno-strict-aliasing"];

/// The developers of an MPI, as far as its programs need to be started differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Implementation {
    /// Open MPI.
    OpenMpi,
    /// MPICH, and MPIs that derive from it.
    Mpich,
    /// Any other one.
    Other,
}

/// An MPI of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mpi {
    compiler: PathBuf,
    version: String,
    implementation: Implementation,
}

/// A built library of communication, with the temporary folder that holds it if no cache does.
#[derive(Debug)]
pub struct MpiLibrary {
    path: PathBuf,
    _folder: Option<TempDir>,
}

impl MpiLibrary {
    /// The file. A temporary one goes with this value.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Mpi {
    /// The MPI whose C compiler the variable [`COMPILER_VARIABLE`] names, else the first one in `PATH`.
    ///
    /// # Errors
    /// [`MpiError::NoCompiler`], and [`MpiError::Build`] if the compiler cannot be run.
    pub fn find() -> Result<Self, MpiError> {
        let named = std::env::var_os(COMPILER_VARIABLE).filter(|name| !name.is_empty());
        match named {
            Some(name) => Mpi::of_compiler(named_program(Path::new(&name))),
            None => CANDIDATES.into_iter().find_map(on_path).map_or_else(
                || Err(MpiError::NoCompiler { tried: CANDIDATES.map(str::to_owned).to_vec() }),
                Mpi::of_compiler,
            ),
        }
    }

    /// The MPI with this C compiler.
    ///
    /// # Errors
    /// [`MpiError::NoCompiler`] if it cannot be run.
    pub fn of_compiler(compiler: impl Into<PathBuf>) -> Result<Self, MpiError> {
        let compiler = compiler.into();
        // Open MPI and MPICH answer different questions about themselves; each ignores or refuses the other's.
        let questions = [&["-showme:version"][..], &["-v"], &["--version"], &["-show"]];
        let mut version = String::new();
        for question in questions {
            let output = Command::new(&compiler).args(question).stdin(Stdio::null()).output();
            let output =
                output.map_err(|_| MpiError::NoCompiler { tried: vec![compiler.display().to_string()] })?;
            version.push_str(&String::from_utf8_lossy(&output.stdout));
            version.push_str(&String::from_utf8_lossy(&output.stderr));
        }
        let implementation = if version.contains("Open MPI") {
            Implementation::OpenMpi
        } else if version.contains("MPICH") {
            Implementation::Mpich
        } else {
            Implementation::Other
        };
        Ok(Mpi { compiler, version, implementation })
    }

    /// The command of its C compiler, which also links programs that communicate.
    pub fn compiler(&self) -> &Path {
        &self.compiler
    }

    /// The MPI's developers.
    pub fn implementation(&self) -> Implementation {
        self.implementation
    }

    /// The shared library of communication. It is built unless the cache has it.
    ///
    /// Processes keep it until they end: it cannot be unloaded, because it finalises MPI then.
    ///
    /// # Errors
    /// [`MpiError::Build`] with the compiler's messages, and [`MpiError::Write`].
    pub fn library(&self, cache: Option<&Cache>) -> Result<MpiLibrary, MpiError> {
        self.build(cache, Form::Library)
    }

    /// The same as an object file, for libraries that shall run without the cache; [`compiler`](Mpi::compiler) links them.
    ///
    /// # Errors
    /// As [`library`](Mpi::library).
    pub fn object(&self, cache: Option<&Cache>) -> Result<MpiLibrary, MpiError> {
        self.build(cache, Form::Object)
    }

    fn build(&self, cache: Option<&Cache>, form: Form) -> Result<MpiLibrary, MpiError> {
        let options: &[&str] = match form {
            Form::Library => &["-shared", "-Wl,-z,defs", "-Wl,-z,nodelete"],
            Form::Object => &["-c"],
        };
        let kept = cache.map(|cache| {
            let mut hash = Sha256::new();
            // Debug texts quote, so that no two lists of texts look alike.
            hash.update(format!("{:?}{:?}{OPTIONS:?}{options:?}", self.compiler, self.version));
            hash.update(format!("{MPI_SOURCES:?}"));
            cache.folder().join(format!("{}.{EXTERNAL_EXTENSION}", cache::hex(hash)))
        });
        if let Some(path) = kept.as_ref().filter(|path| is_whole(path)) {
            return Ok(MpiLibrary { path: path.clone(), _folder: None });
        }
        // Ranks that start together build one library. The system unlocks the folder when a process ends.
        let folder_of_cache = kept.as_ref().and_then(|path| locked(path.parent()?).ok());
        if let Some(path) = kept.as_ref().filter(|path| folder_of_cache.is_some() && is_whole(path)) {
            return Ok(MpiLibrary { path: path.clone(), _folder: None });
        }
        let unwritten = |source| MpiError::Write { path: std::env::temp_dir(), source };
        let folder = tempfile::Builder::new().prefix("sdfg-").tempdir().map_err(unwritten)?;
        for (name, text) in MPI_SOURCES {
            let path = folder.path().join(name);
            std::fs::write(&path, text).map_err(|source| MpiError::Write { path, source })?;
        }
        let (name, libraries): (_, &[&str]) = match form {
            Form::Library => ("libsdfg_mpi.so", &["-lm"]),
            Form::Object => ("sdfg_mpi.o", &[]),
        };
        let path = folder.path().join(name);
        let mut command = Command::new(&self.compiler);
        command.args(OPTIONS).args(options).arg("-o").arg(&path);
        command.arg(folder.path().join("sdfg_mpi.c")).args(libraries).stdin(Stdio::null());
        run_program(&self.compiler, command)?;
        // Without a cache, the library lives as long as its user, and the next one builds it again.
        Ok(match kept.filter(|kept| keep(&path, kept).is_ok()) {
            Some(path) => MpiLibrary { path, _folder: None },
            None => MpiLibrary { path, _folder: Some(folder) },
        })
    }
}

/// A folder that other processes which lock it wait for, until the answer is dropped. It is made if it is not there.
fn locked(folder: &Path) -> std::io::Result<File> {
    std::fs::create_dir_all(folder)?;
    let file = File::open(folder)?;
    file.lock()?;
    Ok(file)
}

/// A program that is named by the user: a path, or a name in `PATH`.
pub(super) fn named_program(name: &Path) -> PathBuf {
    let text = name.to_str().filter(|text| !text.contains('/'));
    text.and_then(on_path).unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_named_by_paths_or_by_names_in_the_path() {
        assert_eq!(named_program(Path::new("/nowhere/mpicc")), Path::new("/nowhere/mpicc"));
        assert_eq!(
            named_program(Path::new("no program has this name")),
            Path::new("no program has this name")
        );
        let found = named_program(Path::new("sh"));
        assert!(found.is_absolute() && found.ends_with("sh") && found.is_file(), "{}", found.display());
    }
}
