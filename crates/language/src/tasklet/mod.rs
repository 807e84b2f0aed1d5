//! The tasklet language: code of tasklets, of conditions and of assignments between states.
//!
//! [`Code`] is the stored form: text with its syntax tree. [`typecheck`] gives it types under an
//! [`Environment`] of connectors and symbols. The interpreter, the LLVM back end and the C writers read the
//! resulting [`TypedCode`]. [`arith`] defines all arithmetic once.
mod analysis;
pub mod arith;
mod check;
mod code;
mod environment;
mod error;
mod evaluate;
mod external;
mod function;
mod promote;
mod typed;

pub use analysis::AssignedOutputs;
pub use check::{
    ExternalArgument, TypedExternal, typecheck, typecheck_expression, typecheck_external, typecheck_function,
};
pub use code::{Code, Dialect};
pub use environment::{Connector, ConnectorId, ConnectorKind, Direction, Environment, SymbolId};
pub use error::{TypeError, TypeErrorKind};
pub use evaluate::{Access, CodeFrame, CompiledCode, NoAccess, Trap};
pub use external::{ExternalCall, ExternalOrigin};
pub use function::MathFunction;
pub use typed::{
    BinaryOperation, Local, LocalId, TypedCode, TypedExpression, TypedExpressionCode, TypedExpressionKind,
    TypedStatement, UnaryOperation,
};
