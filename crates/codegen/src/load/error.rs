//! Errors of loading or calling compiled code.

use std::path::PathBuf;

use sdfg::dtype::ElementType;
use sdfg::symbolic::EvalError;

use crate::interface::Status;
use crate::link::{LinkError, quoted};
use crate::object::Hazard;

/// Why compiled code could not be made callable.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Code with sources or libraries of its own, which safe Rust does not load.
    #[error(
        "`{program}` brings C or C++ code of its own: `Library::load_external` loads it, which is unsafe"
    )]
    ExternalCode {
        /// The program.
        program: String,
    },
    /// The dynamic loader refused the file.
    #[error("cannot open the library {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The loader's reason.
        source: libloading::Error,
    },
    /// A library without the functions of the program.
    #[error("{} has no function `{symbol}`: it is not the library of this program", path.display())]
    MissingEntry {
        /// The file.
        path: PathBuf,
        /// The function.
        symbol: String,
    },
    /// No OpenMP runtime.
    #[error("the program has parallel regions, but no OpenMP runtime was found (tried {}): install gcc's (Debian: `apt-get install libgomp1`) or LLVM's (`libomp5`), or add its folder to LD_LIBRARY_PATH", tried.join(", "))]
    NoOpenMp {
        /// The file names that were tried.
        tried: Vec<&'static str>,
    },
    /// A library that the program calls, such as that of an external tasklet.
    #[error(
        "`{program}` calls functions of {library}, which could not be loaded ({message}): install it, or add its folder to LD_LIBRARY_PATH"
    )]
    MissingLibrary {
        /// The program.
        program: String,
        /// The library's path or file name.
        library: String,
        /// The loader's words.
        message: String,
    },
    /// A function that nothing defines.
    #[error(
        "`{program}` calls {}, which no library or source of its external tasklets defines: check the names of the functions and what stands behind `from`",
        quoted(symbols)
    )]
    MissingSymbols {
        /// The program.
        program: String,
        /// The functions.
        symbols: Vec<String>,
    },
    /// Code of an external tasklet could not be compiled or found.
    #[error(transparent)]
    External(#[from] LinkError),
    /// The in-process loader failed.
    #[error("cannot load the compiled code of `{program}` into this process: {message}")]
    Jit {
        /// The program.
        program: String,
        /// LLVM's words.
        message: String,
    },
}

/// Why a compiled program was not run, or did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// A run that cannot be started on a stream.
    #[error("`{program}` uses no device: a run of it cannot be started on a stream")]
    NoDevice {
        /// The program.
        program: String,
    },
    /// Memory of a device for an argument that the program does not take there.
    #[error(
        "argument `{argument}` was given in memory of a device, but `{program}` takes it in memory of the host: {}",
        if *uses_device { "its storage is not `gpu_global`" } else { "the program uses no device; lower it for CUDA or OpenCL, or copy the memory to the host" }
    )]
    NotOnDevice {
        /// The program.
        program: String,
        /// The name.
        argument: String,
        /// Whether the program uses a device for other things.
        uses_device: bool,
    },
    /// Code that safe Rust does not run.
    #[error("`{program}` could corrupt memory, so that only the unsafe `run` runs it: {hazard}")]
    Hazard {
        /// The program.
        program: String,
        /// The hazard.
        hazard: Hazard,
    },
    /// An array of `bool` with other bytes than 0 and 1, which the program could copy to a slice of `bool`.
    #[error(
        "argument `{argument}` has elements of type bool, but byte {position} of it is {value}, not 0 or 1"
    )]
    NotBool {
        /// The name.
        argument: String,
        /// The position of the first such byte.
        position: usize,
        /// The byte.
        value: u8,
    },
    /// A name that the program does not have.
    #[error("`{program}` has no argument `{argument}`; it has {}", known.join(", "))]
    UnknownArgument {
        /// The program.
        program: String,
        /// The name that was given.
        argument: String,
        /// The names that it has.
        known: Vec<String>,
    },
    /// A value for a queue that an array of streams does not have.
    #[error("`{queue}` is no queue of `{argument}`, which has the extents {extents:?}")]
    NoQueue {
        /// The given name.
        queue: String,
        /// The argument.
        argument: String,
        /// Extents of the array of queues.
        extents: Vec<i64>,
    },
    /// A name given twice.
    #[error("argument `{argument}` was given twice")]
    Duplicate {
        /// The name.
        argument: String,
    },
    /// An argument without a value.
    #[error("argument `{argument}` was not given")]
    Missing {
        /// The name.
        argument: String,
    },
    /// An array where a value belongs, or the reverse.
    #[error("argument `{argument}` is {expected}, but {given} was given")]
    Kind {
        /// The name.
        argument: String,
        /// The type that the program takes.
        expected: &'static str,
        /// The given type.
        given: &'static str,
    },
    /// Another element type.
    #[error("argument `{argument}` has elements of type {expected}, but {given} was given")]
    Element {
        /// The name.
        argument: String,
        /// The type that the program takes.
        expected: ElementType,
        /// The type that was given.
        given: ElementType,
    },
    /// Read-only memory for something that the program writes.
    #[error("the program writes argument `{argument}`, but read-only memory was given")]
    ReadOnly {
        /// The name.
        argument: String,
    },
    /// The elements of a stream could not be copied for the program.
    #[error("there is no memory for the elements of a stream")]
    NoMemory,
    /// Another number of dimensions.
    #[error("argument `{argument}` has {expected} dimensions, but an array of {given} was given")]
    Rank {
        /// The name.
        argument: String,
        /// The rank that the program takes.
        expected: usize,
        /// The rank that was given.
        given: usize,
    },
    /// Another extent.
    #[error(
        "dimension {dimension} of argument `{argument}` must be {expression} = {expected}, but is {given}"
    )]
    Extent {
        /// The name.
        argument: String,
        /// The dimension, from 0.
        dimension: usize,
        /// The extent in the program.
        expression: String,
        /// Its value.
        expected: i64,
        /// The extent that was given.
        given: usize,
    },
    /// A slice that is not as long as its shape says, or as the program needs.
    #[error("argument `{argument}` needs {expected} bytes, but {given} were given{layout}")]
    Length {
        /// The name.
        argument: String,
        /// The bytes that shape and element type ask for.
        expected: u128,
        /// The bytes that were given.
        given: usize,
        /// Its layout, if it is not dense; for the message.
        layout: String,
    },
    /// Strides that lead out of the allocation.
    #[error(
        "the strides of argument `{argument}` lead to position {position} of an allocation of {elements} elements: declare a larger size(...), or other strides"
    )]
    Outside {
        /// The name.
        argument: String,
        /// The position, in elements.
        position: i128,
        /// Elements of the allocation.
        elements: usize,
    },
    /// A symbol that two arguments, or an argument and the caller, give different values.
    #[error("symbol `{symbol}` is {first} by {first_source}, but {second} by {second_source}")]
    Inconsistent {
        /// The symbol.
        symbol: String,
        /// The value found first.
        first: i64,
        /// The position, as in "dimension 0 of `A`".
        first_source: String,
        /// The other value.
        second: i64,
        /// The position of the other value.
        second_source: String,
    },
    /// A value outside a symbol's type.
    #[error("symbol `{symbol}` is {value}, which does not fit in {ty}")]
    SymbolRange {
        /// The symbol.
        symbol: String,
        /// The value.
        value: i64,
        /// The type in the signature.
        ty: ElementType,
    },
    /// A shape that has no value at these sizes.
    #[error("the size {expression} of argument `{argument}` cannot be computed: {source}")]
    Shape {
        /// The name.
        argument: String,
        /// The size.
        expression: String,
        /// Why.
        source: EvalError,
    },
    /// A negative size.
    #[error("the size {expression} of argument `{argument}` is {value}: sizes are not negative")]
    NegativeSize {
        /// The name.
        argument: String,
        /// The size.
        expression: String,
        /// Its value.
        value: i64,
    },
    /// The program ended with another status than success.
    #[error("`{program}` failed: {message}")]
    Failed {
        /// The program.
        program: String,
        /// The status, if the number is one that programs return.
        status: Option<Status>,
        /// The program's explanation.
        message: String,
    },
}
