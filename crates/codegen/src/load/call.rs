//! One call of a program: arguments by name, and all checks before the jump.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::num::NonZeroU32;

use sdfg::dtype::{ElementType, ScalarType};
use sdfg::interpret::{queue_names, stream_of};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::tensor::Tensor;

use super::buffer::{ArgumentBuffer, Bytes, Element, bytes_of};
use super::error::CallError;
use super::library::Library;
use super::placement::Placement;
use super::prepared::PreparedCall;
use crate::interface::{Argument, ArgumentKind};

/// A value for one argument.
#[derive(Debug)]
pub(super) enum Value<'a> {
    /// An array, or a scalar in the caller's memory.
    Buffer(ArgumentBuffer<'a>),
    /// A scalar by value; sixteen bytes hold the largest.
    Scalar {
        element: ElementType,
        bytes: [u8; 16],
    },
    Symbol(i64),
    /// The elements of a stream, in one dimension.
    Queue(&'a mut Tensor),
    /// Memory of a device.
    Device(DeviceMemory),
}

impl Value<'_> {
    const fn kind(&self) -> &'static str {
        match self {
            Value::Buffer(_) => "an array",
            Value::Scalar { .. } => "a value",
            Value::Symbol(_) => "a symbol",
            Value::Queue(_) => "a stream",
            Value::Device(_) => "memory of a device",
        }
    }
}

/// Memory of a device: an address of CUDA, or a buffer of OpenCL.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceMemory(pub(super) *mut c_void);

// SAFETY: memory of a device has no ties to a thread; whoever runs a call vouches for it.
unsafe impl Send for DeviceMemory {}
// SAFETY: as above.
unsafe impl Sync for DeviceMemory {}

/// The address of a function that a program calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct FunctionAddress(pub(super) *const c_void);

// SAFETY: code has no ties to a thread; whoever runs a call vouches for what the function does.
unsafe impl Send for FunctionAddress {}
// SAFETY: as above.
unsafe impl Sync for FunctionAddress {}

/// A call that is being prepared.
///
/// Symbols that are an extent of a given array need not be given. Errors wait for [`Call::run_checked`] or [`Call::run`].
///
/// ```no_run
/// # fn example(library: &sdfg_codegen::load::Library) -> Result<(), sdfg_codegen::load::CallError> {
/// let x = vec![1.0; 1000];
/// let mut y = vec![2.0; 1000];
/// library.call().scalar("a", 3.0).array("x", &x, &[1000]).array_mut("y", &mut y, &[1000]).run_checked()
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a call does nothing until it is run"]
pub struct Call<'lib, 'data> {
    library: &'lib Library,
    values: Vec<(String, Value<'data>)>,
    callbacks: BTreeMap<String, FunctionAddress>,
    threads: i32,
}

impl<'lib, 'data> Call<'lib, 'data> {
    pub(super) fn new(library: &'lib Library) -> Self {
        Call { library, values: Vec::new(), callbacks: BTreeMap::new(), threads: 0 }
    }

    /// Runs parallel regions with this many threads.
    pub fn threads(mut self, threads: NonZeroU32) -> Self {
        self.threads = i32::try_from(threads.get()).unwrap_or(i32::MAX);
        self
    }

    /// An array, or a scalar in memory, that is only read. `shape` lists extents, outermost first.
    pub fn array<T: Element>(self, name: &str, values: &'data [T], shape: &[usize]) -> Self {
        self.buffer(name, ArgumentBuffer::from_slice(values, shape))
    }

    /// An array that the program may write.
    pub fn array_mut<T: Element>(self, name: &str, values: &'data mut [T], shape: &[usize]) -> Self {
        self.buffer(name, ArgumentBuffer::from_slice_mut(values, shape))
    }

    /// Memory whose element type is known at run time only.
    pub fn buffer(mut self, name: &str, buffer: ArgumentBuffer<'data>) -> Self {
        self.values.push((name.to_owned(), Value::Buffer(buffer)));
        self
    }

    /// A scalar that the program only reads.
    pub fn scalar<T: Element>(mut self, name: &str, value: T) -> Self {
        let mut bytes = [0; 16];
        let source = bytes_of(std::slice::from_ref(&value));
        bytes[..source.len()].copy_from_slice(source);
        self.values.push((name.to_owned(), Value::Scalar { element: T::SCALAR.into(), bytes }));
        self
    }

    /// A scalar that the program may write.
    pub fn scalar_mut<T: Element>(self, name: &str, value: &'data mut T) -> Self {
        self.buffer(name, ArgumentBuffer::from_slice_mut(std::slice::from_mut(value), &[]))
    }

    /// The elements of a stream, oldest first, as a tensor of one dimension. After a run that succeeds it holds those that are left then, and
    /// has their number as its extent. An array of streams takes a tensor for each queue, with the names of [`queue_names`]: `S[1, 2]`.
    pub fn queue(mut self, name: &str, elements: &'data mut Tensor) -> Self {
        self.values.push((name.to_owned(), Value::Queue(elements)));
        self
    }

    /// Memory of the device for an array with the storage `gpu_global`, which the program uses in place: an address of CUDA, or a buffer of OpenCL
    /// (`cl_mem`) of the context of the queue that the run is started on. Symbols in the shape of the array are given by themselves.
    pub fn device_memory(mut self, name: &str, memory: *mut c_void) -> Self {
        self.values.push((name.to_owned(), Value::Device(DeviceMemory(memory))));
        self
    }

    /// A tensor for an array or a stream of the program; those that it only reads are not changed.
    pub fn tensor(self, name: &str, tensor: &'data mut Tensor) -> Self {
        match self.position(name).map(|position| &self.library.interface().arguments()[position]) {
            Some(Argument { kind: ArgumentKind::Queue { .. }, .. }) => self.queue(name, tensor),
            Some(argument) if argument.is_written() => {
                self.buffer(name, ArgumentBuffer::from_tensor_mut(tensor))
            }
            Some(_) | None => self.buffer(name, ArgumentBuffer::from_tensor(tensor)),
        }
    }

    /// A function for a callback: the address of an `extern "C"` function with the type that the C header gives it.
    pub fn callback(mut self, name: &str, function: *const c_void) -> Self {
        self.callbacks.insert(name.to_owned(), FunctionAddress(function));
        self
    }

    /// The value of a symbol.
    pub fn symbol(mut self, name: &str, value: i64) -> Self {
        self.values.push((name.to_owned(), Value::Symbol(value)));
        self
    }

    /// The position of the argument to which a value of this name belongs.
    fn position(&self, name: &str) -> Option<usize> {
        let interface = self.library.interface();
        let Some(stream) = stream_of(name) else { return interface.position(name) };
        let is_array = |position: &usize| interface.arguments()[*position].is_array_of_streams();
        interface.position(stream).filter(is_array)
    }

    /// Checks names, types, ranks and sizes, then runs the program.
    ///
    /// # Safety
    /// The program must have a meaning for these arguments, as the interpreter runs it, because native code trusts it:
    /// - Every index, also one that data picks, is inside of its container.
    /// - What is read of transients was written before.
    /// - No two accesses that nothing orders touch one element, unless both only read or have one conflict resolution.
    /// - Callbacks have the types of the C header, and access only the memory that their parameters name.
    /// - The functions of external tasklets have the parameters that their tasklets give them, and access only the memory that these name.
    /// - The processor has what the code was compiled for.
    /// - Memory of the device is as large as the array, and on the device of the run.
    ///
    /// Anything else is undefined behaviour. [`Call::run_checked`] runs code that has none, whatever the arguments.
    ///
    /// ```compile_fail,E0133
    /// # fn example(library: &sdfg_codegen::load::Library) -> Result<(), sdfg_codegen::load::CallError> {
    /// library.call().run()
    /// # }
    /// ```
    ///
    /// # Errors
    /// Every [`CallError`] but [`CallError::Hazard`] and [`CallError::NotBool`]; unless it is [`CallError::Failed`], the program was not started.
    pub unsafe fn run(self) -> Result<(), CallError> {
        // SAFETY: the caller vouches for the program.
        unsafe { self.prepare()?.run() }
    }

    /// As [`Call::run`], for code that cannot corrupt memory: that [`compile`](crate::compile()) made with
    /// [`checked`](crate::llvm::CompileOptions::checked) of a program without external tasklets and without warnings V705.
    ///
    /// # Errors
    /// Every [`CallError`]: [`CallError::Hazard`] for other code; unless it is [`CallError::Failed`], the program was not started.
    pub fn run_checked(self) -> Result<(), CallError> {
        self.prepare()?.run_checked()
    }

    /// Checks names, types, ranks and sizes, and takes an instance, once for any number of runs on the same memory.
    ///
    /// # Errors
    /// Every [`CallError`].
    pub fn prepare(self) -> Result<PreparedCall<'lib, 'data>, CallError> {
        let arguments = self.library.interface().arguments();
        let order = self.order()?;
        for (argument, values) in arguments.iter().zip(&order) {
            for index in values {
                self.check_place(argument, &self.values[*index].1)?;
                check_value(argument, &self.values[*index].1)?;
            }
        }
        let symbols = self.bind_symbols(&order)?;
        let order = self.queues_in_order(order, &symbols)?;
        for (argument, values) in arguments.iter().zip(&order) {
            for index in values {
                check_sizes(argument, &self.values[*index].1, &symbols)?;
            }
        }
        // Values travel by pointers into this list, which is complete before the first address is taken.
        let mut immediate = Vec::with_capacity(arguments.len());
        for (argument, values) in arguments.iter().zip(&order) {
            immediate.push(match (&argument.kind, values.first()) {
                (ArgumentKind::Symbol { ty }, _) => symbol_bytes(argument, *ty, &symbols)?,
                (ArgumentKind::Queue { .. }, _) => Immediate([0; 16]),
                (_, Some(index)) => match &self.values[*index].1 {
                    Value::Scalar { bytes, .. } => Immediate(*bytes),
                    Value::Buffer(_) | Value::Symbol(_) | Value::Queue(_) | Value::Device(_) => {
                        Immediate([0; 16])
                    }
                },
                (_, None) => return Err(CallError::Missing { argument: argument.name.clone() }),
            });
        }
        let placements = self.placements(&order, &symbols)?;
        let mut callbacks = Vec::new();
        for callback in self.library.interface().callbacks() {
            let given = self.callbacks.get(&callback.name).copied();
            callbacks.push(given.ok_or_else(|| CallError::Missing { argument: callback.name.clone() })?);
        }
        let known =
            |name: &String| self.library.interface().callbacks().iter().any(|known| known.name == *name);
        if let Some(name) = self.callbacks.keys().find(|name| !known(name)) {
            return Err(CallError::UnknownArgument {
                program: self.library.interface().name().to_owned(),
                argument: name.clone(),
                known: self.library.interface().callbacks().iter().map(|known| known.name.clone()).collect(),
            });
        }
        let instance = self.library.take_instance(self.threads)?;
        Ok(PreparedCall::new(self.library, instance, self.values, order, immediate, placements)
            .with_callbacks(callbacks))
    }

    /// Whether the program takes an argument in memory of a device if it is given there.
    fn check_place(&self, argument: &Argument, value: &Value<'_>) -> Result<(), CallError> {
        let interface = self.library.interface();
        let is_array = matches!(argument.kind, ArgumentKind::Array { .. });
        if !is_array
            || !matches!(value, Value::Device(_))
            || interface.device_arguments().contains(&argument.name)
        {
            return Ok(());
        }
        Err(CallError::NotOnDevice {
            program: interface.name().to_owned(),
            argument: argument.name.clone(),
            uses_device: interface.has_device(),
        })
    }

    /// For each argument, where its elements go in a copy if it was given dense and the program takes it otherwise.
    fn placements(
        &self,
        order: &[Vec<usize>],
        symbols: &Symbols,
    ) -> Result<Vec<Option<Placement>>, CallError> {
        let arguments = self.library.interface().arguments();
        let placement = |(argument, values): (&Argument, &Vec<usize>)| {
            let Some(Value::Buffer(buffer)) = values.first().map(|index| &self.values[*index].1) else {
                return Ok(None);
            };
            // Of any buffer, so that strides never lead out of it.
            Ok(Placement::of(argument, symbols)?.filter(|_| buffer.dense))
        };
        arguments.iter().zip(order).map(placement).collect()
    }

    /// For each argument, the positions of its values: one, or those of its queues.
    fn order(&self) -> Result<Vec<Vec<usize>>, CallError> {
        let interface = self.library.interface();
        let mut order = vec![Vec::new(); interface.arguments().len()];
        for (index, (name, _)) in self.values.iter().enumerate() {
            let position = self.position(name).ok_or_else(|| CallError::UnknownArgument {
                program: interface.name().to_owned(),
                argument: name.clone(),
                known: interface.arguments().iter().map(|argument| argument.name.clone()).collect(),
            })?;
            if !order[position].is_empty() && !interface.arguments()[position].is_array_of_streams() {
                return Err(CallError::Duplicate { argument: name.clone() });
            }
            order[position].push(index);
        }
        Ok(order)
    }

    /// The same with the queues of streams in row-major order; each has one value.
    fn queues_in_order(
        &self,
        mut order: Vec<Vec<usize>>,
        symbols: &Symbols,
    ) -> Result<Vec<Vec<usize>>, CallError> {
        for (argument, values) in self.library.interface().arguments().iter().zip(&mut order) {
            let ArgumentKind::Queue { shape, .. } = &argument.kind else { continue };
            let extents = shape
                .iter()
                .map(|extent| size(argument, extent, symbols))
                .collect::<Result<Vec<i64>, _>>()?;
            let mut given: BTreeMap<&str, usize> = BTreeMap::new();
            for index in values.drain(..) {
                let name = self.values[index].0.as_str();
                if given.insert(name, index).is_some() {
                    return Err(CallError::Duplicate { argument: name.to_owned() });
                }
            }
            for name in queue_names(&argument.name, &extents) {
                let Some(index) = given.remove(name.as_str()) else {
                    return Err(CallError::Missing { argument: name });
                };
                values.push(index);
            }
            if let Some((name, _)) = given.pop_first() {
                let (queue, argument) = (name.to_owned(), argument.name.clone());
                return Err(CallError::NoQueue { queue, argument, extents });
            }
        }
        Ok(order)
    }

    /// The values of all symbols, from the caller and from extents that are a plain symbol.
    fn bind_symbols(&self, order: &[Vec<usize>]) -> Result<Symbols, CallError> {
        let mut symbols = Symbols::default();
        for (argument, values) in self.library.interface().arguments().iter().zip(order) {
            match (&argument.kind, values.first().map(|index| &self.values[*index].1)) {
                (ArgumentKind::Symbol { .. }, Some(Value::Symbol(value))) => {
                    symbols.bind(&argument.name, *value, || "the caller".to_owned())?;
                }
                (ArgumentKind::Array { shape, .. }, Some(Value::Buffer(buffer))) => {
                    for (dimension, (extent, given)) in shape.iter().zip(&buffer.shape).enumerate() {
                        if let Some(symbol) = extent.as_symbol() {
                            let given = i64::try_from(*given).unwrap_or(i64::MAX);
                            symbols.bind(symbol.as_str(), given, || {
                                format!("dimension {dimension} of `{}`", argument.name)
                            })?;
                        }
                    }
                }
                _ => {}
            }
        }
        for argument in self.library.interface().arguments() {
            if matches!(argument.kind, ArgumentKind::Symbol { .. }) && symbols.get(&argument.name).is_none() {
                return Err(CallError::Missing { argument: argument.name.clone() });
            }
        }
        Ok(symbols)
    }
}

/// Sixteen bytes at an address where every scalar type may lie.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub(super) struct Immediate(pub(super) [u8; 16]);

impl Immediate {
    /// The bytes of neighbours.
    pub(super) fn bytes_mut(list: &mut [Immediate]) -> &mut [u8] {
        // SAFETY: the range is that of `list`, whose elements are bytes without padding; `u8` has no alignment.
        unsafe { std::slice::from_raw_parts_mut(list.as_mut_ptr().cast(), size_of_val(list)) }
    }
}

/// Values of symbols, each with the place that it was found at.
#[derive(Default)]
pub(super) struct Symbols(BTreeMap<String, (i64, String)>);

impl Symbols {
    fn get(&self, name: &str) -> Option<i64> {
        self.0.get(name).map(|(value, _)| *value)
    }

    fn bind(&mut self, name: &str, value: i64, source: impl Fn() -> String) -> Result<(), CallError> {
        match self.0.get(name) {
            None => {
                self.0.insert(name.to_owned(), (value, source()));
                Ok(())
            }
            Some((first, _)) if *first == value => Ok(()),
            Some((first, first_source)) => Err(CallError::Inconsistent {
                symbol: name.to_owned(),
                first: *first,
                first_source: first_source.clone(),
                second: value,
                second_source: source(),
            }),
        }
    }
}

/// Whether `value` is of the kind, element type, access and rank of `argument`.
fn check_value(argument: &Argument, value: &Value<'_>) -> Result<(), CallError> {
    let kind_error =
        |expected| CallError::Kind { argument: argument.name.clone(), expected, given: value.kind() };
    let element_error =
        |expected, given| CallError::Element { argument: argument.name.clone(), expected, given };
    match (&argument.kind, value) {
        (ArgumentKind::Array { element, shape, access, .. }, Value::Buffer(buffer)) => {
            check_buffer(argument, *element, access.writes(), buffer)?;
            if shape.len() != buffer.shape.len() {
                return Err(CallError::Rank {
                    argument: argument.name.clone(),
                    expected: shape.len(),
                    given: buffer.shape.len(),
                });
            }
            Ok(())
        }
        (ArgumentKind::Scalar { element, access }, Value::Buffer(buffer)) => {
            check_buffer(argument, *element, access.writes(), buffer)?;
            check_length(argument, *element, 1, &buffer.bytes)
        }
        (ArgumentKind::Scalar { element, access }, Value::Scalar { element: given, .. }) => {
            if element != given {
                Err(element_error(*element, *given))
            } else if access.writes() {
                Err(CallError::ReadOnly { argument: argument.name.clone() })
            } else {
                Ok(())
            }
        }
        (ArgumentKind::Queue { element, .. }, Value::Queue(elements)) => {
            if elements.element() != *element {
                Err(element_error(*element, elements.element()))
            } else if elements.shape().len() != 1 {
                let (argument, given) = (argument.name.clone(), elements.shape().len());
                Err(CallError::Rank { argument, expected: 1, given })
            } else {
                Ok(())
            }
        }
        (ArgumentKind::Array { .. }, Value::Device(_)) => Ok(()),
        (ArgumentKind::Symbol { .. }, Value::Symbol(_)) => Ok(()),
        (ArgumentKind::Array { .. }, _) => Err(kind_error("an array")),
        (ArgumentKind::Scalar { .. }, _) => Err(kind_error("a scalar")),
        (ArgumentKind::Queue { .. }, _) => Err(kind_error("a stream")),
        (ArgumentKind::Symbol { .. }, _) => Err(kind_error("a symbol")),
    }
}

fn check_buffer(
    argument: &Argument,
    element: ElementType,
    writes: bool,
    buffer: &ArgumentBuffer<'_>,
) -> Result<(), CallError> {
    // Short vectors may be given as a slice of their lanes.
    if buffer.element != element && buffer.element != ElementType::scalar(element.lane()) {
        return Err(CallError::Element {
            argument: argument.name.clone(),
            expected: element,
            given: buffer.element,
        });
    }
    if writes && !buffer.bytes.is_mutable() {
        return Err(CallError::ReadOnly { argument: argument.name.clone() });
    }
    Ok(())
}

/// Whether the extents of an array are those of the program, and its memory as large as needed.
fn check_sizes(argument: &Argument, value: &Value<'_>, symbols: &Symbols) -> Result<(), CallError> {
    let (ArgumentKind::Array { element, shape, elements, .. }, Value::Buffer(buffer)) =
        (&argument.kind, value)
    else {
        return Ok(());
    };
    for (dimension, (extent, given)) in shape.iter().zip(&buffer.shape).enumerate() {
        let expected = size(argument, extent, symbols)?;
        if u64::try_from(expected) != Ok(*given as u64) {
            return Err(CallError::Extent {
                argument: argument.name.clone(),
                dimension,
                expression: extent.to_string(),
                expected,
                given: *given,
            });
        }
    }
    let count = if buffer.dense {
        let extents = buffer.shape.iter().map(|extent| *extent as u64);
        extents.fold(1, u64::saturating_mul)
    } else {
        size(argument, elements, symbols)?.unsigned_abs()
    };
    check_length(argument, *element, count, &buffer.bytes)
}

fn check_length(
    argument: &Argument,
    element: ElementType,
    elements: u64,
    bytes: &Bytes<'_>,
) -> Result<(), CallError> {
    let expected = u128::from(elements) * element.size() as u128;
    if bytes.len() as u128 == expected {
        Ok(())
    } else {
        let layout = argument.layout().map_or(String::new(), |layout| format!(": it has {layout}"));
        Err(CallError::Length { argument: argument.name.clone(), expected, given: bytes.len(), layout })
    }
}

/// The value of a position or distance of an argument.
pub(super) fn value(argument: &Argument, expression: &Expr, symbols: &Symbols) -> Result<i64, CallError> {
    expression.eval(&|symbol: &Symbol| symbols.get(symbol.as_str())).map_err(|source| CallError::Shape {
        argument: argument.name.clone(),
        expression: expression.to_string(),
        source,
    })
}

/// The value of a size of an argument.
pub(super) fn size(argument: &Argument, expression: &Expr, symbols: &Symbols) -> Result<i64, CallError> {
    let value = value(argument, expression, symbols)?;
    if value < 0 {
        return Err(CallError::NegativeSize {
            argument: argument.name.clone(),
            expression: expression.to_string(),
            value,
        });
    }
    Ok(value)
}

/// The value of a symbol in the bytes of its type.
fn symbol_bytes(argument: &Argument, ty: ScalarType, symbols: &Symbols) -> Result<Immediate, CallError> {
    let missing = || CallError::Missing { argument: argument.name.clone() };
    let value = symbols.get(&argument.name).ok_or_else(missing)?;
    if !ty.holds(value) {
        return Err(CallError::SymbolRange { symbol: argument.name.clone(), value, ty: ty.into() });
    }
    let mut bytes = [0; 16];
    // Hosts are little-endian, so the low bytes of the value are the narrower integer.
    bytes[..8].copy_from_slice(&value.to_le_bytes());
    Ok(Immediate(bytes))
}
