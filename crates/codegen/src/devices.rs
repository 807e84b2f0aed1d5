//! Devices of this machine that run kernels: those of CUDA and those of OpenCL, each in the order in which `SDFG_DEVICE` numbers them.
//!
//! Compiled programs look for a device by themselves (`device.c` in `crates/runtime/src/cuda` and `crates/runtime/src/opencl`); these
//! lists are for users. The drivers are found at run time, as there.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;

use libloading::{Library, Symbol};
use sdfg_runtime::nvrtc::Architecture;

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

/// The driver of CUDA, and the variable that names another file.
const CUDA_DRIVER: (&str, &str) = ("libcuda.so.1", "SDFG_CUDA_DRIVER");

/// A device of CUDA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaDevice {
    /// Its name.
    pub name: String,
    /// The architecture of its code, as `--cuda-arch` takes it.
    pub architecture: Architecture,
    /// The version of CUDA that the driver has: 1000 times the major one, and 10 times the minor one.
    pub driver: u32,
    /// Bytes of its memory.
    pub memory: u64,
    /// The most bytes of memory that the threads of a block share without a request for more.
    pub block_memory: u64,
    /// The most threads of a block.
    pub block_threads: u64,
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
    /// The machine has no driver of CUDA.
    #[error(
        "no driver of CUDA: {reason} (NVIDIA's driver has it; the variable SDFG_CUDA_DRIVER names another file)"
    )]
    NoCudaDriver {
        /// The message of the loader.
        reason: String,
    },
    /// The driver of CUDA has an error, such as that there is no device.
    #[error("the driver of CUDA fails: error {code} at {function}{text}")]
    Cuda {
        /// The number of the error.
        code: i32,
        /// The function of the driver.
        function: &'static str,
        /// What the driver says, behind a colon.
        text: String,
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

/// The functions of CUDA's driver that say what devices there are.
struct CudaDriver {
    library: Library,
}

impl CudaDriver {
    fn open() -> Result<Self, DevicesError> {
        let (usual, variable) = CUDA_DRIVER;
        let asked = std::env::var(variable).ok().filter(|name| !name.is_empty());
        // SAFETY: the driver may be opened by any process; the user names another file.
        let library = unsafe { Library::new(asked.as_deref().unwrap_or(usual)) };
        let missing = |error: libloading::Error| DevicesError::NoCudaDriver { reason: error.to_string() };
        Ok(CudaDriver { library: library.map_err(missing)? })
    }

    /// A function of a type that its name has in cuda.h.
    ///
    /// # Safety
    /// The type is that of the function.
    unsafe fn function<T>(&self, name: &'static str) -> Result<Symbol<'_, T>, DevicesError> {
        let missing = |error: libloading::Error| DevicesError::NoCudaDriver { reason: error.to_string() };
        // SAFETY: the caller vouches for the type.
        unsafe { self.library.get(name.as_bytes()) }.map_err(missing)
    }

    /// Goes on if a function succeeded.
    fn succeeded(&self, function: &'static str, code: i32) -> Result<(), DevicesError> {
        if code == 0 {
            return Ok(());
        }
        let mut said: *const c_char = std::ptr::null();
        // SAFETY: the type is that of CUDA 6 and later; the text is a constant of the driver.
        let text = unsafe {
            self.function::<unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int>("cuGetErrorString")
                .ok()
                .filter(|ask| ask(code, &raw mut said) == 0 && !said.is_null())
                .map(|_| format!(": {}", std::ffi::CStr::from_ptr(said).to_string_lossy()))
        };
        Err(DevicesError::Cuda { code, function, text: text.unwrap_or_default() })
    }

    /// A number that a function writes behind its first pointer.
    fn count(&self, function: &'static str) -> Result<c_int, DevicesError> {
        let mut value: c_int = 0;
        // SAFETY: the type is that of the functions that are asked for here.
        let code =
            unsafe { self.function::<unsafe extern "C" fn(*mut c_int) -> c_int>(function)?(&raw mut value) };
        self.succeeded(function, code)?;
        Ok(value)
    }

    /// A property of a device, by its number in cuda.h.
    fn attribute(&self, what: c_int, device: c_int) -> Result<c_int, DevicesError> {
        let (name, mut value) = ("cuDeviceGetAttribute", 0);
        // SAFETY: the type is that of the function.
        let code = unsafe {
            self.function::<unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int>(name)?(
                &raw mut value,
                what,
                device,
            )
        };
        self.succeeded(name, code)?;
        Ok(value)
    }

    fn device(&self, number: c_int, driver: u32) -> Result<CudaDevice, DevicesError> {
        let (mut device, mut bytes, mut name): (c_int, usize, [u8; 256]) = (0, 0, [0; 256]);
        // SAFETY: the types are those of the functions, and the buffer has as many bytes as the call says.
        unsafe {
            let get = self.function::<unsafe extern "C" fn(*mut c_int, c_int) -> c_int>("cuDeviceGet")?;
            self.succeeded("cuDeviceGet", get(&raw mut device, number))?;
            let of = "cuDeviceGetName";
            let ask = self.function::<unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int>(of)?;
            self.succeeded(of, ask(name.as_mut_ptr().cast(), 255, device))?;
            let of = "cuDeviceTotalMem_v2";
            let ask = self.function::<unsafe extern "C" fn(*mut usize, c_int) -> c_int>(of)?;
            self.succeeded(of, ask(&raw mut bytes, device))?;
        }
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        let number = |what| self.attribute(what, device).map(|value| u64::try_from(value).unwrap_or(0));
        // Of cuda.h: compute capability 75 and 76, threads 1, shared memory 8.
        let architecture = 10 * number(75)? + number(76)?;
        Ok(CudaDevice {
            name: String::from_utf8_lossy(&name[..end]).trim().to_owned(),
            architecture: Architecture {
                number: u16::try_from(architecture).unwrap_or(u16::MAX),
                is_ptx: false,
            },
            driver,
            memory: bytes as u64,
            block_memory: number(8)?,
            block_threads: number(1)?,
        })
    }
}

/// The devices of CUDA.
///
/// # Errors
/// [`DevicesError`] if the machine has no driver of CUDA, or the driver no device.
pub fn cuda_devices() -> Result<Vec<CudaDevice>, DevicesError> {
    let driver = CudaDriver::open()?;
    // SAFETY: the type is that of the function.
    let code = unsafe { driver.function::<unsafe extern "C" fn(c_uint) -> c_int>("cuInit")?(0) };
    driver.succeeded("cuInit", code)?;
    let version = u32::try_from(driver.count("cuDriverGetVersion")?).unwrap_or(0);
    let count = driver.count("cuDeviceGetCount")?;
    let devices = (0..count).map(|number| driver.device(number, version)).collect();
    // Threads of the driver may still run its code.
    std::mem::forget(driver.library);
    devices
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
