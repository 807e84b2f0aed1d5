//! The stand-ins for the driver of CUDA and for NVRTC as shared libraries, which `g++` builds from the sources in this folder. They are
//! kept in the folder for temporary files, under names that follow from the sources.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Held while a library is built.
static TURN: Mutex<()> = Mutex::new(());

/// Shared libraries that stand for those of CUDA.
#[derive(Clone, Debug)]
pub(crate) struct StandIns {
    /// For `libcuda.so.1`.
    pub(crate) driver: PathBuf,
    /// For `libnvrtc.so`.
    pub(crate) nvrtc: PathBuf,
}

impl StandIns {
    /// Builds the libraries from the sources in a folder, unless they are there.
    pub(crate) fn built(folder: &Path) -> Result<Self, String> {
        // Threads of one process take turns.
        let _turn = TURN.lock().map_err(|error| error.to_string())?;
        Ok(StandIns { driver: library(folder, "driver")?, nvrtc: library(folder, "nvrtc")? })
    }
}

/// The library of one source.
fn library(folder: &Path, name: &str) -> Result<PathBuf, String> {
    let mut hash = DefaultHasher::new();
    folder.hash(&mut hash);
    for file in [format!("{name}.cpp"), "image.h".to_owned(), "streams.h".to_owned(), "threads.h".to_owned()]
    {
        let path = folder.join(&file);
        std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?.hash(&mut hash);
    }
    let base = format!("sdfg-stand-in-{name}-{:016x}", hash.finish());
    let path = std::env::temp_dir().join(format!("{base}.so"));
    if path.exists() {
        return Ok(path);
    }
    // Other processes may build it at the same time.
    let unfinished = std::env::temp_dir().join(format!("{base}.{}.unfinished", std::process::id()));
    let mut command = Command::new("g++");
    command.args(["-shared", "-fPIC", "-O1", "-std=c++17", "-Wall", "-Wextra", "-Werror"]);
    command.arg(format!("-DSTAND_IN_FOLDER=\"{}\"", folder.display()));
    command.arg(folder.join(format!("{name}.cpp"))).arg("-o").arg(&unfinished);
    let output = command.output().map_err(|error| format!("g++: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name}.cpp: {}", String::from_utf8_lossy(&output.stderr)));
    }
    std::fs::rename(&unfinished, &path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}
