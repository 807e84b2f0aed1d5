//! Devices of this machine that run kernels: those of OpenCL, in the order in which `SDFG_DEVICE` numbers them.
//!
//! Compiled programs look for a device by themselves (`crates/runtime/src/opencl/device.c`); this list is for users. The driver is
//! found at run time, as there.

use std::ffi::c_void;
use std::ptr::null_mut;

use libloading::{Library, Symbol};

/// The library that finds the drivers of OpenCL.
const LOADER: &str = "libOpenCL.so.1";

/// A handle of OpenCL.
type Handle = *mut c_void;

/// `clGetPlatformIDs`.
type Platforms = unsafe extern "C" fn(u32, *mut Handle, *mut u32) -> i32;
/// `clGetDeviceIDs`.
type Devices = unsafe extern "C" fn(Handle, u64, u32, *mut Handle, *mut u32) -> i32;
/// `clGetPlatformInfo` and `clGetDeviceInfo`.
type Information = unsafe extern "C" fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32;

/// A device of OpenCL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenClDevice {
    /// Its name.
    pub name: String,
    /// The name of its platform: the driver.
    pub platform: String,
    /// The version of OpenCL that it has, as the driver names it.
    pub version: String,
    /// Bytes of its memory.
    pub memory: u64,
    /// The most bytes of memory that the threads of a block share.
    pub block_memory: u64,
    /// The most threads of a block.
    pub block_threads: u64,
    /// Its optional features that kernels may need: `cl_khr_fp64` for `f64`, and `cl_khr_int64_base_atomics` for conflicts of elements of 64 bits.
    pub extensions: Vec<String>,
}

/// Why the devices are not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DevicesError {
    /// The machine has no driver.
    #[error(
        "no driver of OpenCL: {reason} (packages `ocl-icd-libopencl1` and a driver such as `pocl-opencl-icd`)"
    )]
    NoDriver {
        /// The message of the loader.
        reason: String,
    },
}

/// The devices of OpenCL; none if no platform has one.
///
/// # Errors
/// [`DevicesError`] if the machine has no driver of OpenCL.
pub fn opencl_devices() -> Result<Vec<OpenClDevice>, DevicesError> {
    let missing = |error: libloading::Error| DevicesError::NoDriver { reason: error.to_string() };
    // SAFETY: the loader of OpenCL may be opened by any process.
    let library = unsafe { Library::new(LOADER) }.map_err(missing)?;
    // SAFETY: these are the types of the functions in OpenCL 1.2 (CL/cl.h of Khronos).
    let (platforms, devices, of_platform, of_device): (
        Symbol<'_, Platforms>,
        Symbol<'_, Devices>,
        Symbol<'_, Information>,
        Symbol<'_, Information>,
    ) = unsafe {
        (
            library.get(b"clGetPlatformIDs\0").map_err(missing)?,
            library.get(b"clGetDeviceIDs\0").map_err(missing)?,
            library.get(b"clGetPlatformInfo\0").map_err(missing)?,
            library.get(b"clGetDeviceInfo\0").map_err(missing)?,
        )
    };
    let mut found = Vec::new();
    // SAFETY: the buffers have as many handles as the calls say.
    let all = handles(|n, to, count| unsafe { platforms(n, to, count) });
    for platform in all {
        let driver = text(*of_platform, platform, 0x0902);
        // SAFETY: as above; every kind of device counts.
        let here = handles(|n, to, count| unsafe { devices(platform, 0xffff_ffff, n, to, count) });
        for device in here {
            let number = |what| number(*of_device, device, what);
            let extensions = text(*of_device, device, 0x1030);
            let known = ["cl_khr_fp64", "cl_khr_int64_base_atomics"];
            found.push(OpenClDevice {
                name: text(*of_device, device, 0x102b),
                platform: driver.clone(),
                version: text(*of_device, device, 0x102f),
                memory: number(0x101f),
                block_memory: number(0x1023),
                block_threads: number(0x1004),
                extensions: known
                    .into_iter()
                    .filter(|name| extensions.split_whitespace().any(|has| has == *name))
                    .map(str::to_owned)
                    .collect(),
            });
        }
    }
    // Threads of the driver may still run its code.
    std::mem::forget(library);
    Ok(found)
}

/// At most 16 handles, as compiled programs look at.
fn handles(ask: impl Fn(u32, *mut Handle, *mut u32) -> i32) -> Vec<Handle> {
    let mut all = [null_mut(); 16];
    let mut count = 0;
    if ask(16, all.as_mut_ptr(), &raw mut count) != 0 {
        return Vec::new();
    }
    all[..(count as usize).min(16)].to_vec()
}

fn text(ask: Information, of: Handle, what: u32) -> String {
    let mut bytes = vec![0_u8; 16 << 10];
    let mut length = 0;
    // SAFETY: the buffer has as many bytes as the call says.
    let status = unsafe { ask(of, what, bytes.len(), bytes.as_mut_ptr().cast(), &raw mut length) };
    if status != 0 {
        return String::new();
    }
    bytes.truncate(length);
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
}

fn number(ask: Information, of: Handle, what: u32) -> u64 {
    let mut value = 0_u64;
    // SAFETY: such values have at most 8 bytes, in the order of little-endian machines.
    let status = unsafe { ask(of, what, 8, (&raw mut value).cast(), null_mut()) };
    if status == 0 { value } else { 0 }
}
