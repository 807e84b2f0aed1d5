//! Calls whose checks are done: each run only jumps to the code.

use std::ffi::c_void;

use sdfg::dtype::ScalarType;

use super::buffer::Bytes;
use super::call::{FunctionAddress, Immediate, Value};
use super::error::CallError;
use super::library::{Instance, Library};
use super::placement::Placement;
use super::queue::PassedQueue;
use crate::interface::{ArgumentKind, ProfileFormat};

/// A checked call on an instance of its own, to be run any number of times on the same memory.
///
/// ```no_run
/// # fn example(library: &sdfg_codegen::load::Library) -> Result<(), sdfg_codegen::load::CallError> {
/// let mut y = vec![2.0; 1000];
/// let mut call = library.call().scalar("a", 3.0).array_mut("y", &mut y, &[1000]).prepare()?;
/// for _ in 0..100 {
///     call.run_checked()?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct PreparedCall<'lib, 'data> {
    library: &'lib Library,
    /// Given back when the call is dropped.
    instance: Option<Instance>,
    values: Vec<(String, Value<'data>)>,
    /// For each argument, which of the values are its: one, or those of its queues in row-major order.
    order: Vec<Vec<usize>>,
    /// For each argument, its value if it is passed by value.
    immediate: Vec<Immediate>,
    /// For each argument, where its elements go, if it was given dense and the program takes it otherwise.
    placements: Vec<Option<Placement>>,
    /// The functions that the program calls, in the order of the interface.
    callbacks: Vec<FunctionAddress>,
}

impl<'lib, 'data> PreparedCall<'lib, 'data> {
    /// Everything was checked, and the lists have one entry for each argument.
    pub(super) fn new(
        library: &'lib Library,
        instance: Instance,
        values: Vec<(String, Value<'data>)>,
        order: Vec<Vec<usize>>,
        immediate: Vec<Immediate>,
        placements: Vec<Option<Placement>>,
    ) -> Self {
        let (instance, callbacks) = (Some(instance), Vec::new());
        PreparedCall { library, instance, values, order, immediate, placements, callbacks }
    }

    /// The same with a function for each callback.
    pub(super) fn with_callbacks(mut self, callbacks: Vec<FunctionAddress>) -> Self {
        self.callbacks = callbacks;
        self
    }

    /// Runs a program that cannot corrupt memory, as [`Call::run_checked`](super::Call::run_checked).
    ///
    /// # Errors
    /// As [`PreparedCall::run`]; [`CallError::Hazard`] for other programs, [`CallError::NotBool`].
    pub fn run_checked(&mut self) -> Result<(), CallError> {
        if let Some(hazard) = self.library.hazard() {
            let program = self.library.interface().name().to_owned();
            return Err(CallError::Hazard { program, hazard: hazard.clone() });
        }
        self.check_bools()?;
        // SAFETY: checked code without a hazard looks at each access itself, and no two threads meet at an element.
        unsafe { self.run() }
    }

    /// Whether arrays of `bool` hold such values: a program may copy them to slices, for which Rust has no other values.
    fn check_bools(&self) -> Result<(), CallError> {
        for (name, value) in &self.values {
            let (element, bytes) = match value {
                Value::Buffer(buffer) => (buffer.element, buffer.bytes.as_slice()),
                Value::Queue(elements) => (elements.element(), elements.bytes()),
                Value::Scalar { .. } | Value::Symbol(_) | Value::Device(_) => continue,
            };
            if element.lane() != ScalarType::Bool {
                continue;
            }
            if let Some(position) = bytes.iter().position(|byte| *byte > 1) {
                return Err(CallError::NotBool { argument: name.clone(), position, value: bytes[position] });
            }
        }
        Ok(())
    }

    /// Runs the program.
    ///
    /// # Safety
    /// As [`Call::run`](super::Call::run), for what the memory holds now.
    ///
    /// # Errors
    /// [`CallError::Failed`]; [`CallError::NoMemory`] for the elements of a stream.
    pub unsafe fn run(&mut self) -> Result<(), CallError> {
        // SAFETY: as of this function.
        let passed = unsafe { self.pass(std::ptr::null_mut()) }?;
        let Some(instance) = &self.instance else { return Ok(()) };
        // SAFETY: every pointer was checked to lead to as many elements of the right type as the interface says, and
        // to mutable memory where the program writes; all of it is borrowed or owned by `self`, or `passed`, whose elements do not move.
        let result = unsafe { self.library.run_on(instance, &passed.pointers) };
        self.take_back(passed, result.is_ok());
        result
    }

    /// Starts a run on a stream of the caller, and returns when its commands are given to the device, unless the host needs what they compute.
    /// Commands that are in the stream come before it, and those that follow come behind it. The stream is one of CUDA (`CUstream`; null is the
    /// default stream) or an in-order queue of OpenCL (`cl_command_queue`; null is one of the instance). See `docs/gpu.md`.
    ///
    /// # Safety
    /// As [`run`](Self::run), until the run is complete, and for what the memory of the device holds when the stream comes to it. The stream
    /// is one of a device, and the result is not forgotten: its end waits for the run.
    ///
    /// # Errors
    /// As [`run`](Self::run); [`CallError::NoDevice`] for a program without a device.
    pub unsafe fn start(&mut self, stream: *mut c_void) -> Result<Started<'_, 'lib, 'data>, CallError> {
        // SAFETY: as of this function.
        let mut passed = unsafe { self.pass(stream) }?;
        if let Some(instance) = &self.instance {
            // SAFETY: as in `run`; the result keeps what was passed, and waits.
            let result = unsafe { self.library.start_on(instance, stream, &passed.pointers) };
            if let Err(error) = result {
                self.take_back(passed, false);
                return Err(error);
            }
        }
        // Streams of the graph were read and written by the host.
        let streams = std::mem::take(&mut passed.streams);
        self.store(streams);
        Ok(Started { call: self, passed: Some(passed) })
    }

    /// What a run is given.
    ///
    /// # Safety
    /// Memory of the device and the stream are those of a device.
    unsafe fn pass(&mut self, stream: *mut c_void) -> Result<Passed, CallError> {
        let mut passed = Passed {
            copies: Vec::with_capacity(self.order.len()),
            pointers: Vec::with_capacity(self.order.len()),
            streams: Vec::new(),
        };
        let arguments = self.library.interface().arguments();
        for (((argument, values), bytes), placement) in
            arguments.iter().zip(&self.order).zip(&mut self.immediate).zip(&self.placements)
        {
            if let ArgumentKind::Queue { .. } = argument.kind {
                let mut queues = Vec::with_capacity(values.len());
                for index in values {
                    let Value::Queue(elements) = &self.values[*index].1 else { continue };
                    queues.push(PassedQueue::of(elements).ok_or(CallError::NoMemory)?);
                }
                passed.pointers.push(queues.as_mut_ptr().cast());
                passed.copies.push(None);
                passed.streams.push((values.clone(), queues));
                continue;
            }
            let buffer = match values.first().map(|index| &mut self.values[*index].1) {
                Some(Value::Buffer(buffer)) => Some(&mut buffer.bytes),
                Some(Value::Device(memory)) => {
                    let Some(instance) = &self.instance else { return Err(CallError::NoMemory) };
                    // SAFETY: as of this function.
                    passed.pointers.push(unsafe { self.library.import(instance, stream, memory.0) }?);
                    passed.copies.push(None);
                    continue;
                }
                Some(Value::Scalar { .. } | Value::Symbol(_) | Value::Queue(_)) | None => None,
            };
            let mut copy = placement
                .as_ref()
                .zip(buffer.as_ref())
                .map(|(placement, dense)| placement.spread(dense.as_slice()));
            passed.pointers.push(match (&mut copy, buffer) {
                (Some(copy), _) => copy.as_mut_ptr().cast(),
                (None, Some(buffer)) => buffer.address().cast(),
                (None, None) => bytes.0.as_mut_ptr().cast(),
            });
            passed.copies.push(copy);
        }
        passed.pointers.extend(self.callbacks.iter().map(|function| function.0.cast_mut()));
        Ok(passed)
    }

    /// Takes the results of a run out of what it was given.
    fn take_back(&mut self, passed: Passed, is_done: bool) {
        for ((values, placement), copy) in self.order.iter().zip(&self.placements).zip(passed.copies) {
            let value = values.first().map(|index| &mut self.values[*index].1);
            if let (Some(placement), Some(mut copy), Some(Value::Buffer(buffer))) = (placement, copy, value)
                && let Bytes::Mutable(dense) = &mut buffer.bytes
            {
                placement.collect(&mut copy, dense);
            }
        }
        if is_done {
            self.store(passed.streams);
        }
    }

    /// Gives the caller the elements of streams.
    fn store(&mut self, streams: Vec<(Vec<usize>, Vec<PassedQueue>)>) {
        for (indices, queues) in streams {
            for (index, queue) in indices.into_iter().zip(queues) {
                if let Value::Queue(elements) = &mut self.values[index].1 {
                    queue.store(elements);
                }
            }
        }
    }

    /// Measurements of all runs on the instance of this call, including failed ones, for a program with
    /// timers; `None` without timers, or without memory for the text.
    pub fn profile(&mut self, format: ProfileFormat) -> Option<String> {
        self.library.profile_of(self.instance.as_ref()?, format)
    }

    /// The memory of an array or scalar in memory, between two runs; `None` if no such argument was given.
    pub fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.values.iter().find(|(known, _)| known == name).and_then(|(_, value)| match value {
            Value::Buffer(buffer) => Some(buffer.bytes.as_slice()),
            Value::Scalar { .. } | Value::Symbol(_) | Value::Queue(_) | Value::Device(_) => None,
        })
    }

    /// As [`PreparedCall::bytes`], to change it; `None` for what was given to be read only, and for slices of `bool`, whose bytes have
    /// to be 0 or 1.
    pub fn bytes_mut(&mut self, name: &str) -> Option<&mut [u8]> {
        self.values.iter_mut().find(|(known, _)| known == name).and_then(|(_, value)| match value {
            Value::Buffer(buffer) => match &mut buffer.bytes {
                Bytes::Mutable(bytes) if buffer.takes_any_byte => Some(&mut **bytes),
                Bytes::Mutable(_) | Bytes::Shared(_) => None,
            },
            Value::Scalar { .. } | Value::Symbol(_) | Value::Queue(_) | Value::Device(_) => None,
        })
    }
}

/// What a run is given: for each argument and callback a pointer, and what some of these lead to.
#[derive(Debug)]
struct Passed {
    /// Copies with the program's strides, made anew: the caller may have changed the memory since the last run.
    copies: Vec<Option<Vec<Immediate>>>,
    pointers: Vec<*mut c_void>,
    /// The queues of streams, with the positions of their values.
    streams: Vec<(Vec<usize>, Vec<PassedQueue>)>,
}

/// A run that was started on a stream. Arguments in memory of the host have their results behind [`wait`](Self::wait).
#[derive(Debug)]
#[must_use = "a run ends when this value does"]
pub struct Started<'run, 'lib, 'data> {
    call: &'run mut PreparedCall<'lib, 'data>,
    /// Taken back at the end.
    passed: Option<Passed>,
}

impl Started<'_, '_, '_> {
    /// Waits until the run is complete.
    ///
    /// # Errors
    /// [`CallError::Failed`] if a command of the run failed.
    pub fn wait(mut self) -> Result<(), CallError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), CallError> {
        let Some(passed) = self.passed.take() else { return Ok(()) };
        let result = match &self.call.instance {
            Some(instance) => self.call.library.wait_on(instance),
            None => Ok(()),
        };
        self.call.take_back(passed, false);
        result
    }
}

impl Drop for Started<'_, '_, '_> {
    fn drop(&mut self) {
        // An error is one of the stream, too.
        let _ = self.end();
    }
}

impl Drop for PreparedCall<'_, '_> {
    fn drop(&mut self) {
        if let Some(instance) = self.instance.take() {
            self.library.give_back(instance);
        }
    }
}
