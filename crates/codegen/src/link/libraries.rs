//! Locations of shared libraries on this machine, for linkers that require paths.

use std::io::Read;
use std::path::{Path, PathBuf};

use sdfg_runtime::Sanitizer;

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

/// The OpenMP runtime to link with, by path: the library then asks for it by its own file name. ThreadSanitizer understands
/// LLVM's, with its tool Archer.
pub(super) fn openmp(linker: &Linker, sanitizer: Option<Sanitizer>) -> Result<PathBuf, LinkError> {
    let mut names = OPENMP_RUNTIMES;
    if sanitizer == Some(Sanitizer::Thread) {
        names.reverse();
    }
    names
        .into_iter()
        .find_map(|name| find(name).or_else(|| linker.locate(name)))
        .ok_or_else(|| LinkError::NoOpenMp { names: names.to_vec(), folders: folders() })
}

/// A shared library by the name that linkers take, `blas` for `libblas.so`; without the file for linking, the newest
/// version that programs load.
pub(super) fn find_by_link_name(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name));
    }
    let file = format!("lib{name}.so");
    // The file for linking may be a script, which no program can load.
    if let Some(path) = find(&file).filter(|path| is_elf(path)) {
        return Some(path);
    }
    let versioned = format!("{file}.");
    folders().into_iter().find_map(|folder| {
        let entries = std::fs::read_dir(&folder).ok()?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        // The shortest is the one by interface version, `libblas.so.3`; the order of a folder is arbitrary.
        let best =
            names.filter(|name| name.starts_with(&versioned)).min_by_key(|name| (name.len(), name.clone()));
        best.map(|name| folder.join(name))
    })
}

fn is_elf(path: &Path) -> bool {
    let mut magic = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == *b"\x7fELF"
}
