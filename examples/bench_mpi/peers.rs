//! Programs that were written by hand for MPI: compilation, and calls of `benches/mpi/peer.h`.

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::Command;

use libloading::Library;
use sdfg_codegen::mpi::Mpi;

use crate::Error;

/// The folder of the sources.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/mpi");

/// Sources, each with the libraries that it needs.
const FILES: [(&str, &[&str]); 4] =
    [("machine", &["-lopenblas"]), ("jacobi", &[]), ("conjugate_gradient", &[]), ("summa", &["-lopenblas"])];

/// The source that needs ScaLAPACK.
const SCALAPACK: (&str, &[&str]) = ("pdgemm", &["-lscalapack-openmpi"]);

/// The compiled sources.
pub(crate) struct Sources {
    /// Why there is no program that calls ScaLAPACK.
    pub(crate) without_scalapack: Option<String>,
}

impl Sources {
    /// Compiles all sources into a folder.
    pub(crate) fn compile(mpi: &Mpi, folder: &Path) -> Result<Self, Error> {
        for (name, libraries) in FILES {
            compile(mpi, folder, name, libraries)?;
        }
        let (name, libraries) = SCALAPACK;
        let without_scalapack = compile(mpi, folder, name, libraries).err().map(|_| {
            "ScaLAPACK for Open MPI is not installed (Debian: apt-get install libscalapack-openmpi-dev)"
                .to_owned()
        });
        Ok(Sources { without_scalapack })
    }
}

/// The library of a source.
pub(crate) fn file_of(folder: &Path, source: &str) -> PathBuf {
    folder.join(format!("lib{source}.so"))
}

fn compile(mpi: &Mpi, folder: &Path, source: &str, libraries: &[&str]) -> Result<(), Error> {
    let mut command = Command::new(mpi.compiler());
    command.args(["-O3", "-march=native", "-fopenmp-simd", "-fvisibility=hidden", "-shared", "-fPIC", "-o"]);
    command.arg(file_of(folder, source)).arg(Path::new(SOURCES).join(format!("{source}.c"))).args(libraries);
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("`{source}.c` does not compile: {}", String::from_utf8_lossy(&output.stderr)).into())
}

type Create = unsafe extern "C" fn(i64, i64, i64, *const *const f64) -> *mut c_void;
type Run = unsafe extern "C" fn(*mut c_void);
type Results = unsafe extern "C" fn(*const c_void, *const *mut f64);

/// A program with its arrays on this rank.
pub(crate) struct Running {
    state: *mut c_void,
    run: Run,
    results: Results,
    destroy: Run,
    /// The functions are in it.
    _library: Library,
}

impl Running {
    /// Gives a program its part of arrays; `None` if it was not compiled.
    pub(crate) fn create(
        file: &Path,
        (size, steps, variant): (i64, i64, i64),
        given: &[Vec<f64>],
    ) -> Result<Option<Self>, Error> {
        if !file.is_file() {
            return Ok(None);
        }
        let pointers: Vec<*const f64> = given.iter().map(|array| array.as_ptr()).collect();
        // SAFETY: the command just compiled the library; loading it runs no code of its own.
        let library = unsafe { Library::new(file)? };
        // SAFETY: every source defines the functions of `peer.h`, and reads the arrays of its case.
        unsafe {
            let create: Create = *library.get(b"peer_create\0")?;
            let state = create(size, steps, variant, pointers.as_ptr());
            if state.is_null() {
                return Err("there is no memory for the arrays of a program".into());
            }
            Ok(Some(Running {
                state,
                run: *library.get(b"peer_run\0")?,
                results: *library.get(b"peer_results\0")?,
                destroy: *library.get(b"peer_destroy\0")?,
                _library: library,
            }))
        }
    }

    /// Runs it once.
    pub(crate) fn run(&mut self) {
        // SAFETY: the state is that of this library.
        unsafe { (self.run)(self.state) }
    }

    /// Writes this rank's part of the results.
    pub(crate) fn results(&self, results: &mut [Vec<f64>]) {
        let pointers: Vec<*mut f64> = results.iter_mut().map(|array| array.as_mut_ptr()).collect();
        // SAFETY: the arrays are those of the case.
        unsafe { (self.results)(self.state, pointers.as_ptr()) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // SAFETY: nothing else has the state.
        unsafe { (self.destroy)(self.state) }
    }
}
