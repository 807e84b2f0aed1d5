//! Callable programs: the entry points of loaded code, and the instances that calls use.

use std::ffi::{CStr, c_char, c_void};
use std::num::NonZeroU32;
use std::path::Path;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use sdfg::interpret::Arguments;
use sdfg::tensor::Tensor;

use super::call::Call;
use super::error::{CallError, LoadError};
use crate::interface::{EntryPoint, Interface, ProfileFormat, Status};
use crate::object::Hazard;
#[cfg(feature = "llvm")]
use crate::{link::LinkError, object::ObjectCode};

/// `NAME_config` of the C header.
#[repr(C)]
struct Configuration {
    size: usize,
    num_threads: i32,
}

type CreateFn = unsafe extern "C" fn(*const Configuration, *mut *mut c_void) -> i32;
type InvokeFn = unsafe extern "C" fn(*mut c_void, *const *mut c_void) -> i32;
type ErrorFn = unsafe extern "C" fn(*const c_void) -> *const c_char;
type DestroyFn = unsafe extern "C" fn(*mut c_void);
type StartFn = unsafe extern "C" fn(*mut c_void, *mut c_void, *const *mut c_void) -> i32;
type WaitFn = unsafe extern "C" fn(*mut c_void) -> i32;
type ImportFn = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, *mut *mut c_void) -> i32;
type ProfileFn = unsafe extern "C" fn(*mut c_void, i32) -> *const c_char;

#[derive(Clone, Copy)]
struct Entries {
    create: CreateFn,
    invoke: InvokeFn,
    error: ErrorFn,
    destroy: DestroyFn,
    /// Only of programs with timers.
    profile: Option<ProfileFn>,
    /// Only of programs that use a device.
    starts: Option<Starts>,
}

/// The functions by which runs are started on streams of the caller.
#[derive(Clone, Copy)]
struct Starts {
    start: StartFn,
    wait: WaitFn,
    import: ImportFn,
}

/// Owner of the code in memory.
enum Code {
    #[cfg(feature = "llvm")]
    Jit(#[expect(dead_code, reason = "owned for its Drop, which frees the code")] super::jit::JitCode),
    /// Opened from a file and never closed: closing could unload an OpenMP runtime whose threads are waiting.
    Permanent,
    /// The same with a file of our own, in this folder. Sanitizers read it when they have something to tell.
    #[cfg(feature = "llvm")]
    File(#[expect(dead_code, reason = "owned for its Drop, which removes the folder")] tempfile::TempDir),
}

/// A compiled program, ready to be called from any thread.
///
/// Calls that run at the same time use instances of their own; idle instances are kept and used again.
pub struct Library {
    interface: Interface,
    entries: Entries,
    /// Idle instances with the thread count that each was made for.
    idle: Mutex<Vec<Instance>>,
    /// Why a run could corrupt memory.
    hazard: Option<Hazard>,
    _code: Code,
}

/// One instance of a program: its scratch memory and its last error.
#[derive(Debug)]
pub(super) struct Instance {
    handle: *mut c_void,
    threads: i32,
}

// SAFETY: a handle is a heap object of the program without ties to a thread.
unsafe impl Send for Instance {}

impl Library {
    /// Links `object` into this process, in about a millisecond. Code for a sanitizer, which knows code by its file, goes by a
    /// library in the temporary folder; the runtime of the sanitizer must be in the process.
    ///
    /// # Errors
    /// [`LoadError`] when no OpenMP runtime is there for a program that needs one; [`LoadError::ExternalCode`] for code with external
    /// tasklets.
    #[cfg(feature = "llvm")]
    pub fn load(object: &ObjectCode) -> Result<Self, LoadError> {
        if !object.requirements.externals.is_empty() {
            return Err(LoadError::ExternalCode { program: object.interface.name().to_owned() });
        }
        Library::load_any(object)
    }

    /// As [`Library::load`], also of code with external tasklets: their sources are compiled and their libraries loaded.
    ///
    /// # Safety
    /// What sources and libraries do when they are loaded, as constructors of C++ do, must be sound in this process.
    ///
    /// # Errors
    /// [`LoadError`], also when a library of an external tasklet is missing, or its source does not compile.
    #[cfg(feature = "llvm")]
    pub unsafe fn load_external(object: &ObjectCode) -> Result<Self, LoadError> {
        Library::load_any(object)
    }

    #[cfg(feature = "llvm")]
    fn load_any(object: &ObjectCode) -> Result<Self, LoadError> {
        if object.requirements.sanitizer.is_some() {
            return Library::load_from_file(object);
        }
        let code = super::jit::JitCode::new(object)?;
        let (interface, hazard) = (object.interface.clone(), object.hazard.clone());
        let entries = Entries::find(&interface, |symbol| code.address(symbol))?;
        Ok(Library { interface, entries, idle: Mutex::default(), hazard, _code: Code::Jit(code) })
    }

    #[cfg(feature = "llvm")]
    fn load_from_file(object: &ObjectCode) -> Result<Self, LoadError> {
        let unwritten = |source| LinkError::Write { path: std::env::temp_dir(), source };
        let folder = tempfile::tempdir().map_err(unwritten)?;
        let path = folder.path().join(format!("lib{}.so", object.interface.name()));
        crate::link::shared_library(object, &path)?;
        let (interface, hazard) = (object.interface.clone(), object.hazard.clone());
        // SAFETY: the library was just written for a program with this interface, into a folder of this process.
        let entries = unsafe { Entries::of_file(&path, &interface) }?;
        Ok(Library { interface, entries, idle: Mutex::default(), hazard, _code: Code::File(folder) })
    }

    /// Opens the shared library at `path`, which was compiled from a program with `interface`.
    ///
    /// The library stays in the process after the value is dropped.
    ///
    /// # Safety
    /// The file must be a library that this crate wrote for a program with exactly this interface, and must not
    /// change while it is open: opening runs its code, and calls trust the interface.
    ///
    /// # Errors
    /// [`LoadError`] when the file cannot be opened or is not the library of a program of this name.
    pub unsafe fn open(path: &Path, interface: Interface) -> Result<Self, LoadError> {
        // SAFETY: the caller vouches for the file.
        let entries = unsafe { Entries::of_file(path, &interface) }?;
        let hazard = Some(Hazard::UnknownProgram);
        Ok(Library { interface, entries, idle: Mutex::default(), hazard, _code: Code::Permanent })
    }

    /// The calling interface of the program.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Why a run could corrupt memory; `None` if safe Rust may run the program.
    pub fn hazard(&self) -> Option<&Hazard> {
        self.hazard.as_ref()
    }

    /// Begins a call; arguments are added by name, then [`Call::run_checked`] or [`Call::run`] looks at them and runs it.
    pub fn call(&self) -> Call<'_, '_> {
        Call::new(self)
    }

    /// Runs the program on the arguments that the interpreter takes, which hold the results afterwards.
    ///
    /// `threads` is the number for parallel regions; without, it is the default. In arguments that the program may write,
    /// elements that were declared undefined count as defined afterwards: native code keeps no track of elements.
    ///
    /// # Safety
    /// As [`Call::run`].
    ///
    /// # Errors
    /// As [`Call::run`]; the arguments keep their values unless it is [`CallError::Failed`].
    pub unsafe fn run(
        &self,
        arguments: &mut Arguments,
        threads: Option<NonZeroU32>,
    ) -> Result<(), CallError> {
        // SAFETY: the caller vouches for the program.
        self.with_arguments(arguments, threads, |call| unsafe { call.run() })
    }

    /// As [`Library::run`], for code that cannot corrupt memory.
    ///
    /// # Errors
    /// As [`Call::run_checked`]; the arguments keep their values unless it is [`CallError::Failed`].
    pub fn run_checked(
        &self,
        arguments: &mut Arguments,
        threads: Option<NonZeroU32>,
    ) -> Result<(), CallError> {
        self.with_arguments(arguments, threads, |call| call.run_checked())
    }

    /// Calls a function with a call on the tensors and symbols of arguments, which have what it left in the tensors afterwards.
    ///
    /// # Errors
    /// Those of the function.
    pub fn with_arguments(
        &self,
        arguments: &mut Arguments,
        threads: Option<NonZeroU32>,
        run: impl FnOnce(Call<'_, '_>) -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        let names: Vec<String> = arguments.tensors().map(|(name, _)| name.to_owned()).collect();
        let mut tensors: Vec<(String, Tensor)> = Vec::with_capacity(names.len());
        for name in names {
            if let Some(tensor) = arguments.take(&name) {
                tensors.push((name, tensor));
            }
        }
        let mut call = self.call();
        if let Some(threads) = threads {
            call = call.threads(threads);
        }
        for (name, value) in arguments.symbols() {
            call = call.symbol(name, value);
        }
        for (name, tensor) in &mut tensors {
            call = call.tensor(name, tensor);
        }
        let result = run(call);
        for (name, tensor) in tensors {
            arguments.set(name, tensor);
        }
        result
    }

    /// Runs the program on an instance.
    ///
    /// # Safety
    /// `arguments` holds one entry for each argument of the interface: an address that the program may use as its
    /// interface says. No other run is on the instance.
    pub(super) unsafe fn run_on(
        &self,
        instance: &Instance,
        arguments: &[*mut c_void],
    ) -> Result<(), CallError> {
        // SAFETY: the handle is live; the caller vouches for the rest.
        let code = unsafe { (self.entries.invoke)(instance.handle, arguments.as_ptr()) };
        self.result(instance, code)
    }

    /// Starts the program on an instance, in a stream of the caller.
    ///
    /// # Safety
    /// As [`run_on`](Self::run_on); memory that the arguments lead to lives until a [`wait_on`](Self::wait_on). The stream is one of the device.
    pub(super) unsafe fn start_on(
        &self,
        instance: &Instance,
        stream: *mut c_void,
        arguments: &[*mut c_void],
    ) -> Result<(), CallError> {
        let start = self.starts()?.start;
        // SAFETY: the handle is live; the caller vouches for the rest.
        let code = unsafe { start(instance.handle, stream, arguments.as_ptr()) };
        self.result(instance, code)
    }

    /// Waits for the last run that was started on an instance.
    pub(super) fn wait_on(&self, instance: &Instance) -> Result<(), CallError> {
        let wait = self.starts()?.wait;
        // SAFETY: the handle is live.
        let code = unsafe { wait(instance.handle) };
        self.result(instance, code)
    }

    /// The address by which runs on an instance take memory of the device.
    ///
    /// # Safety
    /// The memory and the stream are those of a device.
    pub(super) unsafe fn import(
        &self,
        instance: &Instance,
        stream: *mut c_void,
        memory: *mut c_void,
    ) -> Result<*mut c_void, CallError> {
        let import = self.starts()?.import;
        let mut address = ptr::null_mut();
        // SAFETY: the handle is live, and the address is valid for the call; the caller vouches for the rest.
        let code = unsafe { import(instance.handle, stream, memory, &mut address) };
        self.result(instance, code).map(|()| address)
    }

    fn starts(&self) -> Result<Starts, CallError> {
        self.entries.starts.ok_or_else(|| CallError::NoDevice { program: self.interface.name().to_owned() })
    }

    /// The result of a function of an instance.
    fn result(&self, instance: &Instance, code: i32) -> Result<(), CallError> {
        if code == Status::Success.code() {
            return Ok(());
        }
        // SAFETY: the handle is live; the text is NUL-terminated and owned by the program.
        let text = unsafe { CStr::from_ptr((self.entries.error)(instance.handle)) };
        Err(self.failure(code, text.to_string_lossy().into_owned()))
    }

    /// Measurements of an instance without a current run; `None` for a program without timers, or without
    /// memory for the text.
    pub(super) fn profile_of(&self, instance: &Instance, format: ProfileFormat) -> Option<String> {
        let profile = self.entries.profile?;
        // SAFETY: the handle is live, and not used by another thread, as the caller has the instance.
        let text = unsafe { profile(instance.handle, format.code()) };
        // SAFETY: a text is NUL-terminated and lives until the next call on the handle.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }

    /// An idle or new instance.
    pub(super) fn take_instance(&self, threads: i32) -> Result<Instance, CallError> {
        let mut idle = self.idle_instances();
        if let Some(position) = idle.iter().position(|instance| instance.threads == threads) {
            return Ok(idle.swap_remove(position));
        }
        drop(idle);
        let configuration = Configuration { size: size_of::<Configuration>(), num_threads: threads };
        let mut handle = ptr::null_mut();
        // SAFETY: both addresses are valid for the call, and the configuration states its size.
        let code = unsafe { (self.entries.create)(&configuration, &mut handle) };
        if code == Status::Success.code() {
            Ok(Instance { handle, threads })
        } else {
            Err(self.failure(code, String::new()))
        }
    }

    /// Keeps an instance for the next call.
    pub(super) fn give_back(&self, instance: Instance) {
        self.idle_instances().push(instance);
    }

    fn failure(&self, code: i32, text: String) -> CallError {
        let status = Status::from_code(code);
        let message = match status {
            _ if !text.is_empty() => text,
            Some(status) => status.message().to_owned(),
            None => format!("status {code}"),
        };
        CallError::Failed { program: self.interface.name().to_owned(), status, message }
    }

    fn idle_instances(&self) -> std::sync::MutexGuard<'_, Vec<Instance>> {
        // The list is whole at every moment, so a panic elsewhere does not spoil it.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        let instances = std::mem::take(&mut *self.idle_instances());
        for instance in instances {
            // SAFETY: the handle is live, idle, and forgotten after this.
            unsafe { (self.entries.destroy)(instance.handle) };
        }
    }
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library").field("interface", &self.interface).finish_non_exhaustive()
    }
}

impl Entries {
    /// Those of the library at `path`, which stays open for good.
    ///
    /// # Safety
    /// As [`Library::open`].
    unsafe fn of_file(path: &Path, interface: &Interface) -> Result<Self, LoadError> {
        // A path without a folder would be searched for in the system's folders.
        let full = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        // SAFETY: the caller vouches for the file.
        let library = unsafe { libloading::Library::new(&full) }
            .map_err(|source| LoadError::Open { path: path.to_owned(), source })?;
        let entries = Entries::find(interface, |symbol| {
            // SAFETY: the type is an address, which `Entries::find` gives its function type.
            unsafe { library.get::<*mut c_void>(symbol.as_bytes()) }
                .map(|address| *address)
                .map_err(|_| LoadError::MissingEntry { path: path.to_owned(), symbol: symbol.to_owned() })
        })?;
        std::mem::forget(library);
        Ok(entries)
    }

    fn find(
        interface: &Interface,
        address: impl Fn(&str) -> Result<*mut c_void, LoadError>,
    ) -> Result<Self, LoadError> {
        let find = |entry| address(&interface.symbol(entry));
        let (create, invoke) = (find(EntryPoint::Create)?, find(EntryPoint::Invoke)?);
        let (error, destroy) = (find(EntryPoint::Error)?, find(EntryPoint::Destroy)?);
        let profile = interface.has_profile().then(|| find(EntryPoint::Profile)).transpose()?;
        let starts = if interface.has_device() {
            Some((find(EntryPoint::StartInvoke)?, find(EntryPoint::Wait)?, find(EntryPoint::Import)?))
        } else {
            None
        };
        // SAFETY: the emitter gives these entry points exactly these signatures.
        unsafe {
            Ok(Entries {
                create: std::mem::transmute::<*mut c_void, CreateFn>(create),
                invoke: std::mem::transmute::<*mut c_void, InvokeFn>(invoke),
                error: std::mem::transmute::<*mut c_void, ErrorFn>(error),
                destroy: std::mem::transmute::<*mut c_void, DestroyFn>(destroy),
                profile: profile.map(|entry| std::mem::transmute::<*mut c_void, ProfileFn>(entry)),
                starts: starts.map(|(start, wait, import)| Starts {
                    start: std::mem::transmute::<*mut c_void, StartFn>(start),
                    wait: std::mem::transmute::<*mut c_void, WaitFn>(wait),
                    import: std::mem::transmute::<*mut c_void, ImportFn>(import),
                }),
            })
        }
    }
}
