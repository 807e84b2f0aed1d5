//! Calls out of a program: C functions of external tasklets, and library nodes.

use sdfg_graph::ir::LibraryNode;
use sdfg_language::dtype::ElementType;
use sdfg_language::tasklet::ExternalCall;
use sdfg_language::value::Value;

/// One argument of an external function.
#[derive(Clone, Debug, PartialEq)]
pub enum ExternalArgument {
    /// The index of the memory that is passed by its address.
    Memory(usize),
    /// A scalar by value.
    Value(Value),
}

/// Memory that an external function reads or writes: a copy that begins with the first element of the connector's
/// subset and has the strides of the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalMemory {
    /// The connector.
    pub connector: String,
    /// The type of one element.
    pub element: ElementType,
    /// The elements. Of outputs, those in the subset are written back after the call.
    pub data: Vec<u8>,
    /// Whether it is written back.
    pub writes: bool,
}

/// Calls external functions for the interpreter.
pub trait Externals {
    /// Calls a function. The answer is what it returns; `None` if it returns nothing.
    ///
    /// # Errors
    /// Why the function could not be called.
    fn call(
        &self,
        call: &ExternalCall,
        arguments: &[ExternalArgument],
        memory: &mut [ExternalMemory],
        result: Option<ElementType>,
    ) -> Result<Option<Value>, String>;
}

/// A connector of a library node with the elements of its memlet, packed in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryOperand {
    /// The connector.
    pub connector: String,
    /// The type of one element.
    pub element: ElementType,
    /// Extents of the memlet: one for each dimension of the container, 1 for a single index.
    pub shape: Vec<i64>,
    /// The elements; of outputs, what they held before, zero where that is undefined.
    pub data: Vec<u8>,
    /// Unwritten elements of an output; empty if all are written.
    pub kept: Vec<bool>,
}

/// Computes library nodes for the interpreter.
pub trait Libraries {
    /// Computes the outputs of a node, whose properties are literals, words or code: values stand for symbols.
    ///
    /// # Errors
    /// Why it could not be computed.
    fn compute(
        &self,
        node: &LibraryNode,
        inputs: &[LibraryOperand],
        outputs: &mut [LibraryOperand],
    ) -> Result<(), String>;
}
