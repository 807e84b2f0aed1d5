//! The OpenMP runtime of in-process code.
//!
//! A process must not load two copies of a runtime, and must not unload a runtime that has started threads.
//! Therefore the runtime is opened by file name (never by path), an already loaded runtime is preferred, and
//! it is never closed.

#[cfg(feature = "llvm")]
use std::ffi::{c_uint, c_void};
#[cfg(feature = "llvm")]
use std::num::NonZeroU32;

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

/// Runs a function on each thread of a team of so many, or as many as the runtime chooses. The argument of the function means nothing.
///
/// The runtime keeps these threads: they are those of the next team of this size that the calling thread starts, also in a program that
/// it calls. So `work` can prepare them for it.
///
/// # Errors
/// [`LoadError::NoOpenMp`] when no runtime can be loaded.
#[cfg(feature = "llvm")]
pub fn on_each_thread(
    threads: Option<NonZeroU32>,
    work: extern "C" fn(*mut c_void),
) -> Result<(), LoadError> {
    type Parallel = unsafe extern "C" fn(extern "C" fn(*mut c_void), *mut c_void, c_uint, c_uint);
    let name = runtime()?;
    let missing = |_| LoadError::NoOpenMp { tried: vec![name] };
    // SAFETY: the runtime is in the process already, and stays there.
    let library = std::mem::ManuallyDrop::new(
        unsafe { Library::open(Some(name), RTLD_LAZY | RTLD_LOCAL) }.map_err(missing)?,
    );
    // SAFETY: runtimes with gcc's entry points have this one, with this signature. Zero threads are as many as the runtime chooses.
    unsafe {
        let parallel = library.get::<Parallel>(b"GOMP_parallel\0").map_err(missing)?;
        parallel(work, std::ptr::null_mut(), threads.map_or(0, NonZeroU32::get), 0);
    }
    Ok(())
}
