//! Instructions and the layout of registers. Instructions are small and have resolved operands. A value of
//! several lanes occupies consecutive registers.

use std::ops::Range;

use super::super::environment::ConnectorId;
use super::super::function::MathFunction;
use super::super::typed::{BinaryOperation, UnaryOperation};
use crate::dtype::ScalarType;
use crate::syntax::CompareOp;
use crate::value::Value;

/// The position of a register.
pub(super) type Register = u32;

/// The position of an instruction.
pub(super) type Target = u32;

/// Locations of names. Registers of constants are filled when a frame is created and never written.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// For each connector its lanes; empty for pointers and streams.
    pub(super) connectors: Vec<Range<usize>>,
    /// For each symbol its register.
    pub(super) symbols: Vec<usize>,
    /// The lanes of the value of an expression; empty for statements.
    pub(super) result: Range<usize>,
    /// The values of all registers before the first run.
    pub(super) initial: Vec<Value>,
}

/// One step. `lanes` is the number of consecutive registers of each operand.
#[derive(Clone, Copy, Debug)]
pub(super) enum Instruction {
    Copy {
        dst: Register,
        src: Register,
        lanes: u16,
    },
    Splat {
        dst: Register,
        src: Register,
        lanes: u16,
    },
    Cast {
        to: ScalarType,
        dst: Register,
        src: Register,
        lanes: u16,
    },
    Unary {
        op: UnaryOperation,
        dst: Register,
        src: Register,
        lanes: u16,
    },
    Binary {
        op: BinaryOperation,
        dst: Register,
        a: Register,
        b: Register,
        lanes: u16,
    },
    Power {
        dst: Register,
        base: Register,
        exponent: i32,
        lanes: u16,
    },
    Compare {
        op: CompareOp,
        dst: Register,
        a: Register,
        b: Register,
        lanes: u16,
    },
    /// Chooses lane by lane.
    Select {
        dst: Register,
        condition: Register,
        then: Register,
        otherwise: Register,
        lanes: u16,
    },
    /// Arguments lie in consecutive groups of `lanes` registers.
    Call {
        function: MathFunction,
        dst: Register,
        arguments: Register,
        lanes: u16,
    },
    /// Indices lie in consecutive registers.
    Load {
        connector: ConnectorId,
        dst: Register,
        indices: Register,
        rank: u16,
        lanes: u16,
    },
    Store {
        connector: ConnectorId,
        src: Register,
        indices: Register,
        rank: u16,
        lanes: u16,
    },
    Push {
        connector: ConnectorId,
        src: Register,
        lanes: u16,
    },
    /// Notes that a value output has been assigned.
    MarkAssigned {
        connector: ConnectorId,
    },
    Jump {
        target: Target,
    },
    JumpIf {
        condition: Register,
        target: Target,
    },
    JumpUnless {
        condition: Register,
        target: Target,
    },
    /// Goes back to the test of a loop; counts as an iteration.
    Repeat {
        target: Target,
    },
    /// Replaces begin, end and step in three registers by next value, number of iterations and step.
    StartCount {
        state: Register,
    },
    /// Leaves the loop, or sets the loop variable to the next value.
    Count {
        state: Register,
        variable: Register,
        exit: Target,
    },
}
