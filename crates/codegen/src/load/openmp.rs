//! The OpenMP runtime that in-process code uses.
//!
//! A process must not hold two copies of one runtime, nor unload one that has started threads: the runtime is opened
//! by file name (never by path), preferably the one that is already there, and never closed.

#[cfg(feature = "llvm")]
use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL};

#[cfg(feature = "llvm")]
use super::error::LoadError;

/// File names of runtimes with gcc's `GOMP_` entry points, in order of preference.
pub(crate) const RUNTIMES: [&str; 2] = ["libgomp.so.1", "libomp.so.5"];

#[cfg(feature = "llvm")]
/// `RTLD_NOLOAD` of Linux: succeed only if the library is already in the process.
const RTLD_NOLOAD: i32 = 4;

#[cfg(feature = "llvm")]
/// The file name of the runtime for this process: one that is loaded already, else the first that can be loaded.
pub(crate) fn runtime() -> Result<&'static str, LoadError> {
    let open = |name: &'static str, flags: i32| {
        // SAFETY: OpenMP runtimes may be initialised at any time and from any thread.
        let library = unsafe { Library::open(Some(name), flags) };
        library.map(std::mem::forget).is_ok()
    };
    let loaded = RUNTIMES.into_iter().find(|name| open(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD));
    loaded
        .or_else(|| RUNTIMES.into_iter().find(|name| open(name, RTLD_LAZY | RTLD_LOCAL)))
        .ok_or(LoadError::NoOpenMp { tried: RUNTIMES.to_vec() })
}
