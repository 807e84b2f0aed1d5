//! Calling interface of a compiled program: name, arguments and status codes.
//!
//! The module is independent of the IR and of the back ends. The header, the emitter of entry points and the
//! caller must agree on the interface, and a library on disk is opened with the interface alone.

mod keywords;
mod ranks;

use std::collections::BTreeSet;
use std::fmt;

use sdfg::dtype::{ElementType, ScalarType};
use sdfg::ir::Layout;
use sdfg::ir::structure::CallerStructure;
use sdfg::symbolic::{Expr, Symbol};

use crate::reserved::is_reserved;
pub(crate) use keywords::is_c_identifier;
pub use ranks::{RankEntry, Ranks};

/// Whether a program reads an argument, writes it, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Only read.
    Read,
    /// Only written; elements that the program does not write keep their value.
    Write,
    /// Read and written.
    ReadWrite,
}

impl Access {
    /// Whether the program may write the argument.
    pub const fn writes(self) -> bool {
        matches!(self, Access::Write | Access::ReadWrite)
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Access::Read => "read",
            Access::Write => "written",
            Access::ReadWrite => "read and written",
        })
    }
}

/// Kind of an argument, which determines how it is passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// A pointer to an array: to its element with all indices zero, or `offset` elements before that.
    Array {
        /// The type of one element.
        element: ElementType,
        /// Extents, outermost first, over the program's symbols.
        shape: Vec<Expr>,
        /// Elements between neighbours along each dimension.
        strides: Vec<Expr>,
        /// Elements between the pointer and the element with all indices zero.
        offset: Expr,
        /// The number of elements behind the pointer; more than the product of the shape when the array is
        /// strided or padded.
        elements: Expr,
        /// Use by the program.
        access: Access,
    },
    /// A scalar: by value when it is only read and not complex, else by pointer ([`Argument::by_pointer`]).
    Scalar {
        /// The type.
        element: ElementType,
        /// Use by the program.
        access: Access,
    },
    /// A stream: a pointer to the address and the number of the elements of each queue, in row-major order, which the program changes.
    /// The elements of a queue lie in memory of `malloc`, which the program may move (`realloc`), and the caller frees.
    Queue {
        /// The type of one element.
        element: ElementType,
        /// Extents of the array of queues, outermost first; empty for one queue.
        shape: Vec<Expr>,
    },
    /// A free symbol of the program, by value.
    Symbol {
        /// The type in the signature, an integer type.
        ty: ScalarType,
    },
}

/// One argument of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The name in the program.
    pub name: String,
    /// Its kind.
    pub kind: ArgumentKind,
}

impl Argument {
    /// Whether the C signature takes a pointer.
    ///
    /// Complex scalars and short vectors always travel by pointer: how a C compiler passes them by value differs
    /// between platforms and languages.
    pub fn by_pointer(&self) -> bool {
        match &self.kind {
            ArgumentKind::Array { .. } | ArgumentKind::Queue { .. } => true,
            ArgumentKind::Scalar { element, access } => {
                access.writes() || element.lanes() > 1 || element.lane().is_complex()
            }
            ArgumentKind::Symbol { .. } => false,
        }
    }

    /// Whether elements lie in row-major order with nothing between them; true of everything but strided arrays.
    pub fn is_dense(&self) -> bool {
        match &self.kind {
            ArgumentKind::Array { shape, strides, offset, elements, .. } => {
                let dense = Layout::packed(shape.clone());
                (strides, offset, elements) == (&dense.strides, &dense.offset, &dense.total_size)
            }
            ArgumentKind::Scalar { .. } | ArgumentKind::Queue { .. } | ArgumentKind::Symbol { .. } => true,
        }
    }

    /// Whether it has several queues, or any number of them, and not one.
    pub fn is_array_of_streams(&self) -> bool {
        matches!(&self.kind, ArgumentKind::Queue { shape, .. } if !shape.is_empty())
    }

    /// Layout of an array that is not dense, as in `strides [4, 1] in an allocation of 8 elements`.
    pub fn layout(&self) -> Option<String> {
        let ArgumentKind::Array { strides, offset, elements, .. } = &self.kind else { return None };
        if self.is_dense() {
            return None;
        }
        let strides: Vec<String> = strides.iter().map(ToString::to_string).collect();
        let strides = format!("strides [{}] in an allocation of {elements} elements", strides.join(", "));
        if *offset == Expr::zero() {
            Some(strides)
        } else {
            Some(format!("{strides}, the first of them at position {offset}"))
        }
    }

    /// Whether the program may write the argument.
    pub fn is_written(&self) -> bool {
        match &self.kind {
            ArgumentKind::Array { access, .. } | ArgumentKind::Scalar { access, .. } => access.writes(),
            // What is taken from it is no longer there.
            ArgumentKind::Queue { .. } => true,
            ArgumentKind::Symbol { .. } => false,
        }
    }

    /// The type of one element, or of the value.
    pub fn element(&self) -> ElementType {
        match &self.kind {
            ArgumentKind::Array { element, .. }
            | ArgumentKind::Scalar { element, .. }
            | ArgumentKind::Queue { element, .. } => *element,
            ArgumentKind::Symbol { ty } => ElementType::scalar(*ty),
        }
    }
}

/// A function that the caller passes and the program calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback {
    /// The name in the program.
    pub name: String,
    /// Its parameters in order.
    pub parameters: Vec<CallbackParameter>,
    /// The type of the value that it returns, if it returns one.
    pub result: Option<ScalarType>,
}

/// A parameter of a callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallbackParameter {
    /// A number by value.
    Value(ScalarType),
    /// The address of the first element of a part of a container.
    Memory {
        /// The type of one element.
        element: ElementType,
        /// Use by the callback.
        access: Access,
        /// Extents and strides in elements over the symbols of the caller, if all calls pass a part of one such layout.
        layout: Option<(Vec<Expr>, Vec<Expr>)>,
    },
}

impl CallbackParameter {
    /// The type of the number, or of one lane of the elements.
    pub fn lane(&self) -> ScalarType {
        match self {
            CallbackParameter::Value(ty) => *ty,
            CallbackParameter::Memory { element, .. } => element.lane(),
        }
    }
}

impl Callback {
    /// Whether a call with other layouts has the same C type.
    pub fn has_type_of(&self, other: &Callback) -> bool {
        let same = |(a, b): (&CallbackParameter, &CallbackParameter)| match (a, b) {
            (CallbackParameter::Value(a), CallbackParameter::Value(b)) => a == b,
            (
                CallbackParameter::Memory { element: a, access: first, .. },
                CallbackParameter::Memory { element: b, access: second, .. },
            ) => a == b && first == second,
            (CallbackParameter::Value(_), CallbackParameter::Memory { .. })
            | (CallbackParameter::Memory { .. }, CallbackParameter::Value(_)) => false,
        };
        self.result == other.result
            && self.parameters.len() == other.parameters.len()
            && self.parameters.iter().zip(&other.parameters).all(same)
    }
}

/// The result of a program's entry points, an `int32_t` in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// The call did what it says.
    Success,
    /// The configuration given to `create` is malformed.
    InvalidConfiguration,
    /// Memory for the handle or for transients could not be allocated.
    OutOfMemory,
    /// An argument is outside what the program accepts: a null handle, a negative size.
    InvalidArgument,
    /// The program came to a point that has no meaning, such as a wait for data that nobody sends.
    Trap,
    /// The code has no version for the processor, or for the one that the variable `SDFG_CPU` names.
    UnsupportedProcessor,
    /// A callback ended the run.
    Stopped,
    /// A device or its driver failed.
    Device,
    /// MPI or the library of communication failed.
    Communication,
}

impl Status {
    /// Every status, in the order of its code.
    pub const ALL: [Status; 9] = [
        Status::Success,
        Status::InvalidConfiguration,
        Status::OutOfMemory,
        Status::InvalidArgument,
        Status::Trap,
        Status::UnsupportedProcessor,
        Status::Stopped,
        Status::Device,
        Status::Communication,
    ];

    /// The number in C.
    pub const fn code(self) -> i32 {
        match self {
            Status::Success => 0,
            Status::InvalidConfiguration => 1,
            Status::OutOfMemory => 2,
            Status::InvalidArgument => 3,
            Status::Trap => 4,
            Status::UnsupportedProcessor => 5,
            Status::Stopped => 6,
            Status::Device => 7,
            Status::Communication => 8,
        }
    }

    /// The status with this number.
    pub fn from_code(code: i32) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.code() == code)
    }

    /// The suffix of the C constant, after the program's name.
    pub const fn constant_suffix(self) -> &'static str {
        match self {
            Status::Success => "SUCCESS",
            Status::InvalidConfiguration => "INVALID_CONFIGURATION",
            Status::OutOfMemory => "OUT_OF_MEMORY",
            Status::InvalidArgument => "INVALID_ARGUMENT",
            Status::Trap => "TRAP",
            Status::UnsupportedProcessor => "UNSUPPORTED_PROCESSOR",
            Status::Stopped => "STOPPED",
            Status::Device => "DEVICE",
            Status::Communication => "COMMUNICATION",
        }
    }

    /// Meaning of the status, as part of a message.
    pub const fn message(self) -> &'static str {
        match self {
            Status::Success => "success",
            Status::InvalidConfiguration => "the configuration is malformed",
            Status::OutOfMemory => "memory could not be allocated",
            Status::InvalidArgument => "an argument is outside what the program accepts",
            Status::Trap => "the program came to a point that has no meaning",
            Status::UnsupportedProcessor => {
                "the code has no version for this processor, or for the one that SDFG_CPU names"
            }
            Status::Stopped => "a callback ended the run",
            Status::Device => "a device or its driver failed",
            Status::Communication => "communication between ranks failed",
        }
    }
}

/// The driver by which a program reaches its device, which decides whose memory and streams callers may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceInterface {
    /// CUDA.
    Cuda,
    /// OpenCL.
    OpenCl,
}

impl DeviceInterface {
    /// The name in descriptions of programs, which is that of the option `--target`.
    pub const fn name(self) -> &'static str {
        match self {
            DeviceInterface::Cuda => "cuda",
            DeviceInterface::OpenCl => "opencl",
        }
    }
}

/// The C interface of a program: `NAME_create`, `NAME_run`, `NAME_error`, `NAME_destroy` and `NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    name: String,
    arguments: Vec<Argument>,
    callbacks: Vec<Callback>,
    has_profile: bool,
    has_device: bool,
    device_arguments: Vec<String>,
    device_interface: Option<DeviceInterface>,
    structures: Vec<CallerStructure>,
    ranks: Option<Ranks>,
}

/// Why a list of arguments is no interface.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InterfaceError {
    /// The program's name cannot name C functions.
    #[error(
        "`{name}` cannot name a C function: expected a letter, then letters, digits or underscores, no keyword of C or C++ and not `main`; give it another name, on the command line with `--name` (T005)"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The program would export a function that its code or its libraries call.
    #[error(
        "program `{name}` would export `{symbol}`, which is a function that compiled code or its libraries call: give it another name, on the command line with `--name` (T005)"
    )]
    Reserved {
        /// The program.
        name: String,
        /// The exported name.
        symbol: String,
    },
    /// Two arguments of one name.
    #[error("program `{program}` has two arguments named `{argument}`")]
    Duplicate {
        /// The program.
        program: String,
        /// The name.
        argument: String,
    },
    /// A shape names a symbol that is not an argument.
    #[error("the shape of argument `{argument}` uses `{symbol}`, which is no symbol argument of `{program}`")]
    UnknownSymbol {
        /// The program.
        program: String,
        /// The array.
        argument: String,
        /// The symbol.
        symbol: Symbol,
    },
    /// A symbol with a type that is not an integer type.
    #[error("symbol argument `{argument}` has type {ty}, which is no integer type")]
    SymbolType {
        /// The symbol.
        argument: String,
        /// Its type.
        ty: ScalarType,
    },
}

impl Interface {
    /// The interface of the program `name` with `arguments` in signature order: containers, then symbols.
    ///
    /// # Errors
    /// [`InterfaceError`] when a name cannot be used in C or twice, or a shape uses an unknown symbol.
    pub fn new(name: &str, arguments: Vec<Argument>) -> Result<Self, InterfaceError> {
        if !is_c_identifier(name) || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err(InterfaceError::Name { name: name.to_owned() });
        }
        let suffixes =
            EntryPoint::ALL.map(EntryPoint::suffix).into_iter().chain(RankEntry::ALL.map(RankEntry::suffix));
        let exported = suffixes.map(|suffix| format!("{name}{suffix}"));
        if let Some(symbol) = exported.into_iter().find(|symbol| is_reserved(symbol)) {
            return Err(InterfaceError::Reserved { name: name.to_owned(), symbol });
        }
        let mut names = BTreeSet::new();
        for argument in &arguments {
            if !names.insert(argument.name.as_str()) {
                return Err(InterfaceError::Duplicate {
                    program: name.to_owned(),
                    argument: argument.name.clone(),
                });
            }
        }
        let symbols: BTreeSet<&str> = arguments
            .iter()
            .filter(|argument| matches!(argument.kind, ArgumentKind::Symbol { .. }))
            .map(|argument| argument.name.as_str())
            .collect();
        for argument in &arguments {
            let sizes: Vec<&Expr> = match &argument.kind {
                ArgumentKind::Array { shape, strides, offset, elements, .. } => {
                    shape.iter().chain(strides).chain([offset, elements]).collect()
                }
                ArgumentKind::Queue { shape, .. } => shape.iter().collect(),
                ArgumentKind::Scalar { .. } => Vec::new(),
                ArgumentKind::Symbol { ty } => {
                    if !ty.is_integer() {
                        return Err(InterfaceError::SymbolType { argument: argument.name.clone(), ty: *ty });
                    }
                    Vec::new()
                }
            };
            let mut used = sizes.into_iter().flat_map(Expr::free_symbols);
            if let Some(symbol) = used.find(|symbol| !symbols.contains(symbol.as_str())) {
                let (program, argument) = (name.to_owned(), argument.name.clone());
                return Err(InterfaceError::UnknownSymbol { program, argument, symbol });
            }
        }
        let (name, callbacks, structures) = (name.to_owned(), Vec::new(), Vec::new());
        Ok(Interface {
            name,
            arguments,
            callbacks,
            has_profile: false,
            has_device: false,
            device_arguments: Vec::new(),
            device_interface: None,
            structures,
            ranks: None,
        })
    }

    /// The same of a program that calls functions of its caller, which are passed after the arguments.
    ///
    /// # Errors
    /// [`InterfaceError::Duplicate`] if one of them has the name of an argument.
    pub fn with_callbacks(self, callbacks: Vec<Callback>) -> Result<Self, InterfaceError> {
        if let Some(callback) = callbacks.iter().find(|callback| self.position(&callback.name).is_some()) {
            return Err(InterfaceError::Duplicate { program: self.name, argument: callback.name.clone() });
        }
        Ok(Interface { callbacks, ..self })
    }

    /// Functions that the caller passes, in signature order after the arguments.
    pub fn callbacks(&self) -> &[Callback] {
        &self.callbacks
    }

    /// The same of a program with or without timers.
    pub fn with_profile(self, has_profile: bool) -> Self {
        Interface { has_profile, ..self }
    }

    /// The same of a program with or without kernels or memory of a device, which callers may choose.
    #[must_use]
    pub fn with_device(self, has_device: bool) -> Self {
        Interface { has_device, ..self }
    }

    /// The same with the names of arguments in memory of a device.
    #[must_use]
    pub fn with_device_arguments(self, device_arguments: Vec<String>) -> Self {
        Interface { device_arguments, ..self }
    }

    /// The same of code for one kind of device.
    #[must_use]
    pub fn with_device_interface(self, device_interface: DeviceInterface) -> Self {
        Interface { device_interface: Some(device_interface), ..self }
    }

    /// The driver of the device, if the program uses one and is code for one kind of device.
    pub fn device_interface(&self) -> Option<DeviceInterface> {
        self.device_interface.filter(|_| self.has_device)
    }

    /// The names of arguments in memory of a device, which callers may have there.
    pub fn device_arguments(&self) -> &[String] {
        &self.device_arguments
    }

    /// Whether the program uses a device, which the configuration of an instance may name.
    pub fn has_device(&self) -> bool {
        self.has_device
    }

    /// The same with structures that C callers may pass in the place of their members.
    #[must_use]
    pub fn with_structures(self, structures: Vec<CallerStructure>) -> Self {
        Interface { structures, ..self }
    }

    /// The same of a program that runs on the ranks of MPI.
    #[must_use]
    pub fn with_ranks(self, ranks: Ranks) -> Self {
        Interface { ranks: Some(ranks), ..self }
    }

    /// What callers know of a program that runs on the ranks of MPI.
    pub fn ranks(&self) -> Option<&Ranks> {
        self.ranks.as_ref()
    }

    /// Structures that C callers may pass in the place of their members.
    pub fn structures(&self) -> &[CallerStructure] {
        &self.structures
    }

    /// Whether the program has timers, and with them [`EntryPoint::Profile`].
    pub fn has_profile(&self) -> bool {
        self.has_profile
    }

    /// The program's name, the prefix of every exported function.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The arguments in signature order.
    pub fn arguments(&self) -> &[Argument] {
        &self.arguments
    }

    /// The position of the argument `name`.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.arguments.iter().position(|argument| argument.name == name)
    }

    /// The exported function with the suffix of `entry`.
    pub fn symbol(&self, entry: EntryPoint) -> String {
        format!("{}{}", self.name, entry.suffix())
    }
}

/// The functions that a compiled program exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryPoint {
    /// `NAME(arguments...)`: create, run and destroy.
    OneShot,
    /// `NAME_create(configuration, handle out)`.
    Create,
    /// `NAME_run(handle, arguments...)`.
    Run,
    /// `NAME_error(handle)`: the text of the last failure.
    Error,
    /// `NAME_destroy(handle)`.
    Destroy,
    /// `NAME__invoke(handle, pointers to arguments)`: `NAME_run` behind a signature that does not depend on the
    /// program, for callers without a C compiler. A pointer argument is passed as itself, a value by a pointer to it.
    Invoke,
    /// `NAME_profile(handle, format)`: what the timers of an instance found, as text. Only of programs with timers.
    Profile,
    /// `NAME_stop(handle, message)`: a callback ends the run that calls it. Only of programs with callbacks.
    Stop,
    /// `NAME_start(handle, stream, arguments...)`: `NAME_run` on a stream of the caller, which ends behind the call. Only of programs that use a
    /// device, as those below.
    Start,
    /// `NAME__start(handle, stream, pointers to arguments)`: `NAME_start` behind the signature of [`Invoke`](EntryPoint::Invoke).
    StartInvoke,
    /// `NAME_wait(handle)`: waits for the last run that was started.
    Wait,
    /// `NAME_import(handle, stream, memory, address out)`: the address by which runs take memory of the device.
    Import,
    /// `NAME_follow(handle, stream, before)`: commands that follow in one stream of the caller come behind those in another one.
    Follow,
}

impl EntryPoint {
    /// Every entry point.
    pub const ALL: [EntryPoint; 13] = [
        EntryPoint::OneShot,
        EntryPoint::Create,
        EntryPoint::Run,
        EntryPoint::Error,
        EntryPoint::Destroy,
        EntryPoint::Invoke,
        EntryPoint::Profile,
        EntryPoint::Stop,
        EntryPoint::Start,
        EntryPoint::StartInvoke,
        EntryPoint::Wait,
        EntryPoint::Import,
        EntryPoint::Follow,
    ];

    /// Suffix of the program's name in the exported symbol.
    pub const fn suffix(self) -> &'static str {
        match self {
            EntryPoint::OneShot => "",
            EntryPoint::Create => "_create",
            EntryPoint::Run => "_run",
            EntryPoint::Error => "_error",
            EntryPoint::Destroy => "_destroy",
            EntryPoint::Invoke => "__invoke",
            EntryPoint::Profile => "_profile",
            EntryPoint::Stop => "_stop",
            EntryPoint::Start => "_start",
            EntryPoint::StartInvoke => "__start",
            EntryPoint::Wait => "_wait",
            EntryPoint::Import => "_import",
            EntryPoint::Follow => "_follow",
        }
    }
}

/// Forms of the result of [`EntryPoint::Profile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProfileFormat {
    /// A table for people: of each region how often it ran and how long that took.
    Table,
    /// JSON in the format of Chrome's trace viewer: each execution of each region, by thread; with the table as `regions`.
    Trace,
}

impl ProfileFormat {
    /// Every format, in the order of the header.
    pub const ALL: [ProfileFormat; 2] = [ProfileFormat::Table, ProfileFormat::Trace];

    /// The number in the C interface.
    pub const fn code(self) -> i32 {
        match self {
            ProfileFormat::Table => 0,
            ProfileFormat::Trace => 1,
        }
    }

    /// The suffix of the C constant, after the program's name.
    pub const fn constant_suffix(self) -> &'static str {
        match self {
            ProfileFormat::Table => "PROFILE_TABLE",
            ProfileFormat::Trace => "PROFILE_TRACE",
        }
    }
}
