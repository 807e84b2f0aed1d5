//! In-process loading: LLVM's ORC turns an object file into callable code.
//!
//! The same object can be linked to a library on disk, so both ways run the same machine code.

use std::ffi::{CStr, CString, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use inkwell::llvm_sys::core::LLVMCreateMemoryBufferWithMemoryRangeCopy;
use inkwell::llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use inkwell::llvm_sys::orc2::lljit::{
    LLVMOrcCreateLLJIT, LLVMOrcDisposeLLJIT, LLVMOrcLLJITAddObjectFile, LLVMOrcLLJITGetExecutionSession,
    LLVMOrcLLJITGetGlobalPrefix, LLVMOrcLLJITGetMainJITDylib, LLVMOrcLLJITLookup, LLVMOrcLLJITRef,
};
use inkwell::llvm_sys::orc2::{
    LLVMOrcCreateDynamicLibrarySearchGeneratorForPath, LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess,
    LLVMOrcDefinitionGeneratorRef, LLVMOrcExecutionSessionSetErrorReporter, LLVMOrcJITDylibAddGenerator,
};
use inkwell::targets::{InitializationConfig, Target};

use super::error::LoadError;
use super::openmp;
use crate::link::{Externals, Form, Library};
use crate::object::ObjectCode;

/// The mathematics library, which is not in every process.
const LIBM: &str = "libm.so.6";

/// Mathematical functions of vectors, a part of glibc.
const LIBMVEC: &str = "libmvec.so.1";

/// Machine code in this process; freed when dropped.
pub(super) struct JitCode {
    jit: LLVMOrcLLJITRef,
    program: String,
    /// Error reports of the session, which outlive it.
    reports: Box<Reports>,
}

/// Messages of a session: of a failed lookup, the cause is here and the consequence in the lookup's answer.
type Reports = Mutex<Vec<String>>;

/// Keeps an error of the session; without a reporter, LLVM prints it.
extern "C" fn keep_report(reports: *mut c_void, error: LLVMErrorRef) {
    // SAFETY: the session was given the address of the reports of its `JitCode`, which drops them after the session.
    let reports = unsafe { &*reports.cast::<Reports>() };
    if let Err(message) = check(error) {
        reports.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }
}

// SAFETY: an LLJIT instance may be used from any thread; lookups lock its session.
unsafe impl Send for JitCode {}
// SAFETY: as above.
unsafe impl Sync for JitCode {}

impl JitCode {
    /// Links `object` into this process.
    pub(super) fn new(object: &ObjectCode) -> Result<Self, LoadError> {
        let program = object.interface.name();
        let defect = |message: String| LoadError::Jit { program: program.to_owned(), message };
        Target::initialize_native(&InitializationConfig::default()).map_err(&defect)?;
        let externals = Externals::prepare(&object.requirements, Form::Library)?;
        let mut libraries: Vec<String> = externals.libraries.iter().map(file_to_open).collect();
        if object.requirements.openmp {
            libraries.push(openmp::runtime()?.to_owned());
        }
        if object.requirements.vector_mathematics {
            libraries.push(LIBMVEC.to_owned());
        }
        libraries.push(LIBM.to_owned());

        let mut jit = ptr::null_mut();
        // SAFETY: a null builder asks for the defaults; `jit` is written on success only.
        check(unsafe { LLVMOrcCreateLLJIT(&mut jit, ptr::null_mut()) }).map_err(&defect)?;
        let code = JitCode { jit, program: program.to_owned(), reports: Box::default() };
        let reports: *const Reports = &*code.reports;
        // SAFETY: `jit` is live; the reports live until after it is disposed of, and are shared behind a lock.
        unsafe {
            let session = LLVMOrcLLJITGetExecutionSession(jit);
            LLVMOrcExecutionSessionSetErrorReporter(session, keep_report, reports.cast_mut().cast());
        }
        // SAFETY: `jit` is a live instance, its main library lives as long as it.
        let (main, prefix) = unsafe { (LLVMOrcLLJITGetMainJITDylib(jit), LLVMOrcLLJITGetGlobalPrefix(jit)) };
        let add = |generator: LLVMOrcDefinitionGeneratorRef| {
            // SAFETY: the generator was just made; the library takes ownership of it.
            unsafe { LLVMOrcJITDylibAddGenerator(main, generator) };
        };
        for library in libraries {
            let path = CString::new(library.as_str()).map_err(|error| defect(error.to_string()))?;
            let mut generator = ptr::null_mut();
            // SAFETY: `path` is NUL-terminated; no filter is given, so no context is needed.
            check(unsafe {
                LLVMOrcCreateDynamicLibrarySearchGeneratorForPath(
                    &mut generator,
                    path.as_ptr(),
                    prefix,
                    None,
                    ptr::null_mut(),
                )
            })
            .map_err(|message| LoadError::MissingLibrary {
                program: program.to_owned(),
                library: library.clone(),
                message,
            })?;
            add(generator);
        }
        let mut generator = ptr::null_mut();
        // SAFETY: as above.
        check(unsafe {
            LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
                &mut generator,
                prefix,
                None,
                ptr::null_mut(),
            )
        })
        .map_err(&defect)?;
        add(generator);

        for bytes in &object.files {
            code.add_object(bytes)?;
        }
        for (_, bytes) in object.requirements.runtime_objects() {
            code.add_object(bytes)?;
        }
        for external in &externals.objects {
            let bytes = std::fs::read(external).map_err(|error| defect(error.to_string()))?;
            code.add_object(&bytes)?;
        }
        Ok(code)
    }

    fn add_object(&self, bytes: &[u8]) -> Result<(), LoadError> {
        // SAFETY: the range is that of `bytes`, which LLVM copies; the name is NUL-terminated.
        let buffer = unsafe {
            LLVMCreateMemoryBufferWithMemoryRangeCopy(bytes.as_ptr().cast(), bytes.len(), c"object".as_ptr())
        };
        // SAFETY: the main library belongs to `jit`, which takes ownership of `buffer`.
        check(unsafe { LLVMOrcLLJITAddObjectFile(self.jit, LLVMOrcLLJITGetMainJITDylib(self.jit), buffer) })
            .map_err(|message| LoadError::Jit { program: self.program.clone(), message })
    }

    /// The address of the exported function `symbol`.
    pub(super) fn address(&self, symbol: &str) -> Result<*mut c_void, LoadError> {
        let defect = |message: String| LoadError::Jit { program: self.program.clone(), message };
        let name = CString::new(symbol).map_err(|error| defect(error.to_string()))?;
        let mut address = 0;
        // SAFETY: `jit` is live and `name` is NUL-terminated.
        check(unsafe { LLVMOrcLLJITLookup(self.jit, &mut address, name.as_ptr()) }).map_err(|message| {
            let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
            let messages: Vec<String> = reports.drain(..).chain([message]).collect();
            match missing_symbols(&messages) {
                Some(symbols) => LoadError::MissingSymbols { program: self.program.clone(), symbols },
                None => defect(messages.join("; ")),
            }
        })?;
        Ok(ptr::with_exposed_provenance_mut(address as usize))
    }
}

impl Drop for JitCode {
    fn drop(&mut self) {
        // SAFETY: `jit` is live and is not used again. An error here could only be told to nobody.
        let error = unsafe { LLVMOrcDisposeLLJIT(self.jit) };
        let _ = check(error);
    }
}

/// Symbols to look up in the dynamic loader.
fn file_to_open(library: &Library) -> String {
    match library {
        Library::Found(path) => path.display().to_string(),
        Library::Named(name) => format!("lib{name}.so"),
    }
}

/// The names in a message like `Symbols not found: [ f, g ]`.
fn missing_symbols(messages: &[String]) -> Option<Vec<String>> {
    let list = messages
        .iter()
        .find_map(|message| message.split_once("Symbols not found: [")?.1.split(']').next())?;
    Some(list.split(',').map(|name| name.trim().to_owned()).collect())
}

/// LLVM's error as its message; the error is consumed.
fn check(error: LLVMErrorRef) -> Result<(), String> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: a non-null error is consumed by the first call; the message is a NUL-terminated text that is freed
    // after it was copied.
    unsafe {
        let message = LLVMGetErrorMessage(error);
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(message);
        Err(text)
    }
}
