//! Images of CUDA kernels, which NVRTC makes without a device, by the C functions that compiled programs use (`src/cuda/nvrtc.h`).

use std::ffi::{CString, c_char, c_int, c_uchar};
use std::fmt;
use std::str::FromStr;

unsafe extern "C" {
    fn sdfg_nvrtc_build(
        source: *const c_char,
        options: *const c_char,
        architecture: c_int,
        is_ptx: bool,
        bytes: *mut *mut c_uchar,
        size: *mut usize,
        version: *mut c_int,
        text: *mut c_char,
        text_size: usize,
    ) -> bool;
    fn sdfg_nvrtc_release(bytes: *mut c_uchar);
}

/// The most bytes of messages that are kept.
const MESSAGES: usize = 16 << 10;

/// The processors of an image: `sm_90` is code for one major version of an architecture, `compute_90` is PTX, from which the driver
/// makes code for this and every later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Architecture {
    /// 10 times its major version, and its minor version.
    pub number: u16,
    /// Whether the image is PTX.
    pub is_ptx: bool,
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", if self.is_ptx { "compute" } else { "sm" }, self.number)
    }
}

impl FromStr for Architecture {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('_');
        let (is_ptx, number) = match parts {
            Some(("sm", number)) => (false, number),
            Some(("compute", number)) => (true, number),
            Some(_) | None => (false, ""),
        };
        match number.parse() {
            Ok(number @ 30..=999) => Ok(Architecture { number, is_ptx }),
            Ok(_) | Err(_) => {
                Err(format!("expected an architecture as `sm_90` or `compute_90`, not `{text}`"))
            }
        }
    }
}

/// Kernels that a driver can load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its processors.
    pub architecture: Architecture,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Messages of the compiler: warnings. Empty without any.
    pub messages: String,
}

/// Why there is no image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageError {
    /// The machine has no NVRTC, or one that is too old.
    NoCompiler(String),
    /// NVRTC does not compile the kernels, or not for this architecture.
    NotCompiled(String),
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImageError::NoCompiler(text) | ImageError::NotCompiled(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for ImageError {}

/// Compiles kernels for one architecture, with options of NVRTC that spaces separate.
///
/// # Errors
/// [`ImageError`], with the messages of NVRTC.
pub fn compile(source: &str, options: &str, architecture: Architecture) -> Result<Image, ImageError> {
    let text = |text: &str| {
        CString::new(text).map_err(|_| ImageError::NotCompiled("the kernels have a byte 0".to_owned()))
    };
    let (source, options) = (text(source)?, text(options)?);
    let mut bytes: *mut c_uchar = std::ptr::null_mut();
    let (mut size, mut version) = (0_usize, 0);
    let mut messages = vec![0_u8; MESSAGES];
    // SAFETY: the texts end with a byte 0 and live until the call returns. The function writes one value behind each pointer, and
    // a text with its end into so many bytes.
    let is_made = unsafe {
        sdfg_nvrtc_build(
            source.as_ptr(),
            options.as_ptr(),
            architecture.number.into(),
            architecture.is_ptx,
            &raw mut bytes,
            &raw mut size,
            &raw mut version,
            messages.as_mut_ptr().cast(),
            messages.len(),
        )
    };
    let end = messages.iter().position(|byte| *byte == 0).unwrap_or(messages.len());
    let messages = String::from_utf8_lossy(&messages[..end]).trim().to_owned();
    if !is_made {
        return Err(match version {
            0 => ImageError::NoCompiler(messages),
            _ => ImageError::NotCompiled(messages),
        });
    }
    // SAFETY: the function gave so many bytes there, which nobody else has.
    let image = unsafe { std::slice::from_raw_parts(bytes, size) }.to_vec();
    // SAFETY: they come from the function, and are released once.
    unsafe { sdfg_nvrtc_release(bytes) };
    Ok(Image { architecture, bytes: image, messages })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_have_names() {
        for name in ["sm_80", "compute_90", "sm_120"] {
            assert_eq!(name.parse::<Architecture>().map(|it| it.to_string()), Ok(name.to_owned()));
        }
        for name in ["", "80", "sm_", "sm_9", "sm80", "compute_x", "gpu_80", "sm_1000", "sm_-90"] {
            assert!(name.parse::<Architecture>().is_err(), "{name}");
        }
    }
}
