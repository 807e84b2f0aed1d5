//! Where shared libraries are on this machine, for linkers that have to be given paths.

use std::path::PathBuf;

use super::error::LinkError;
use super::linker::Linker;
use crate::load::OPENMP_RUNTIMES;

/// Folders in which a library may be: those of the user's variables, then the system's.
fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for variable in ["LIBRARY_PATH", "LD_LIBRARY_PATH"] {
        if let Some(list) = std::env::var_os(variable) {
            folders.extend(std::env::split_paths(&list).filter(|folder| !folder.as_os_str().is_empty()));
        }
    }
    let multiarch = format!("{}-linux-gnu", std::env::consts::ARCH);
    for prefix in ["/usr/local/lib", "/usr/lib", "/lib"] {
        folders.push(PathBuf::from(format!("{prefix}/{multiarch}")));
        folders.push(PathBuf::from(format!("{prefix}64")));
        folders.push(PathBuf::from(prefix));
    }
    folders
}

fn find(name: &str) -> Option<PathBuf> {
    folders().into_iter().map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// A system library by its file name.
pub(super) fn system(name: &'static str) -> Result<PathBuf, LinkError> {
    find(name).ok_or(LinkError::NoSystemLibrary { name })
}

/// The OpenMP runtime to link with, by path: the library then asks for it by its own file name.
pub(super) fn openmp(linker: &Linker) -> Result<PathBuf, LinkError> {
    OPENMP_RUNTIMES
        .into_iter()
        .find_map(|name| find(name).or_else(|| linker.locate(name)))
        .ok_or_else(|| LinkError::NoOpenMp { names: OPENMP_RUNTIMES.to_vec(), folders: folders() })
}

/// An external tasklet's library: a path as it is, a file name where it is found, else left to the linker.
pub(super) fn external(linker: &Linker, library: &str) -> String {
    if library.contains('/') {
        return library.to_owned();
    }
    match find(library).or_else(|| linker.locate(library)) {
        Some(path) => path.display().to_string(),
        None => format!("-l:{library}"),
    }
}
