//! The library isl (Integer Set Library), which shares nothing with this project's prover. It is opened at run time: Debian's
//! gcc depends on its package `libisl23`.

use std::ffi::{CStr, CString, c_char, c_int, c_ulong, c_void};

use libloading::Library;

/// Names of the shared library, the newest first.
const NAMES: [&str; 4] = ["libisl.so.23", "libisl.so.22", "libisl.so.19", "libisl.so"];

/// `ISL_ON_ERROR_CONTINUE`: errors are values, and nothing is printed.
const ON_ERROR_CONTINUE: c_int = 1;

/// Operations that one question may take.
const OPERATIONS: c_ulong = 20_000_000;

type Pointer = *mut c_void;

/// The library with a context.
pub(crate) struct Isl {
    library: Library,
    context: Pointer,
}

/// An answer of isl about a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It has no element.
    Empty,
    /// It has elements, such as these.
    Element(String),
    /// The text is none of isl's language, or the question takes too long.
    None(String),
}

impl Isl {
    /// Opens the library; `None` where it is not installed.
    pub(crate) fn open() -> Option<Self> {
        // SAFETY: the initialisation of isl runs no code with requirements on the process.
        let library = NAMES.into_iter().find_map(|name| unsafe { Library::new(name) }.ok())?;
        let mut isl = Isl { library, context: std::ptr::null_mut() };
        // SAFETY: the types are those of isl/ctx.h and isl/options.h, and the context is valid.
        unsafe {
            isl.context = isl.function::<unsafe extern "C" fn() -> Pointer>(b"isl_ctx_alloc\0")?();
            let option = b"isl_options_set_on_error\0";
            let set = isl.function::<unsafe extern "C" fn(Pointer, c_int) -> c_int>(option)?;
            set(isl.context, ON_ERROR_CONTINUE);
            let limit =
                isl.function::<unsafe extern "C" fn(Pointer, c_ulong)>(b"isl_ctx_set_max_operations\0")?;
            limit(isl.context, OPERATIONS);
        }
        (!isl.context.is_null()).then_some(isl)
    }

    /// # Safety
    /// `F` is the type of the function with this name, which ends in a zero byte.
    unsafe fn function<F: Copy>(&self, name: &[u8]) -> Option<F> {
        // SAFETY: as the caller says.
        unsafe { self.library.get::<F>(name) }.ok().map(|symbol| *symbol)
    }

    /// Whether a set, written in isl's language, has an element.
    pub(crate) fn is_empty(&self, set: &str) -> Answer {
        self.asked(set).unwrap_or_else(|| Answer::None("a function is missing in the library".to_owned()))
    }

    fn asked(&self, set: &str) -> Option<Answer> {
        let text = CString::new(set).ok()?;
        // SAFETY: the types are those of isl/ctx.h and isl/set.h. The set is valid until it is freed; `isl_set_sample` takes it.
        unsafe {
            self.function::<unsafe extern "C" fn(Pointer)>(b"isl_ctx_reset_operations\0")?(self.context);
            let read = b"isl_set_read_from_str\0";
            let read = self.function::<unsafe extern "C" fn(Pointer, *const c_char) -> Pointer>(read)?;
            let read = read(self.context, text.as_ptr());
            if read.is_null() {
                return Some(Answer::None(self.error()?));
            }
            let is_empty = self.function::<unsafe extern "C" fn(Pointer) -> c_int>(b"isl_set_is_empty\0")?;
            let answer = is_empty(read);
            if answer == 0 {
                let sample =
                    self.function::<unsafe extern "C" fn(Pointer) -> Pointer>(b"isl_set_sample\0")?;
                let sample = sample(read);
                let print = b"isl_basic_set_to_str\0";
                let print = self.function::<unsafe extern "C" fn(Pointer) -> *mut c_char>(print)?;
                let shown = print(sample);
                let text = shown.cast_const();
                let text = if text.is_null() { String::new() } else { lossy(text) };
                libc_free(&self.library, shown);
                self.function::<unsafe extern "C" fn(Pointer) -> Pointer>(b"isl_basic_set_free\0")?(sample);
                return Some(Answer::Element(text));
            }
            self.function::<unsafe extern "C" fn(Pointer) -> Pointer>(b"isl_set_free\0")?(read);
            if answer == 1 { Some(Answer::Empty) } else { Some(Answer::None(self.error()?)) }
        }
    }

    /// The last error.
    fn error(&self) -> Option<String> {
        // SAFETY: the type is that of isl/ctx.h; the message belongs to the context.
        unsafe {
            let name = b"isl_ctx_last_error_msg\0";
            let message =
                self.function::<unsafe extern "C" fn(Pointer) -> *const c_char>(name)?(self.context);
            Some(if message.is_null() { "too many operations".to_owned() } else { lossy(message) })
        }
    }
}

impl Drop for Isl {
    fn drop(&mut self) {
        // SAFETY: nothing of the context is left.
        unsafe {
            if let Some(free) = self.function::<unsafe extern "C" fn(Pointer)>(b"isl_ctx_free\0") {
                free(self.context);
            }
        }
    }
}

/// # Safety
/// `text` is a string of C.
unsafe fn lossy(text: *const c_char) -> String {
    // SAFETY: as the caller says.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Frees a string that isl allocated by `malloc`; isl brings the C library with it.
///
/// # Safety
/// `text` is such a string, or null.
unsafe fn libc_free(library: &Library, text: *mut c_char) {
    // SAFETY: as the caller says; the type is that of stdlib.h.
    unsafe {
        if let Ok(free) = library.get::<unsafe extern "C" fn(*mut c_void)>(b"free\0") {
            free(text.cast());
        }
    }
}
