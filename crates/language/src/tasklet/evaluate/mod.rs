//! Evaluation of typed code for the interpreter: a register machine over [`Value`]s.
//!
//! Code is compiled once; every run reuses a [`CodeFrame`]. Value connectors and symbols are in registers, so a
//! run calls back only for memory and streams. [`super::arith`] defines the arithmetic.
mod compile;
mod instruction;
mod run;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use instruction::{Instruction, Layout};

use super::environment::{ConnectorId, SymbolId};
use crate::value::Value;

/// Memory and streams behind pointer and stream connectors.
pub trait Access {
    /// Why an access can fail.
    type Error;

    /// Reads the element at `indices` of a pointer input into `lanes`.
    ///
    /// # Errors
    /// Such as an index out of bounds.
    fn load(
        &mut self,
        connector: ConnectorId,
        indices: &[i64],
        lanes: &mut [Value],
    ) -> Result<(), Self::Error>;

    /// Writes the element at `indices` of a pointer output.
    ///
    /// # Errors
    /// Such as an index out of bounds.
    fn store(&mut self, connector: ConnectorId, indices: &[i64], lanes: &[Value]) -> Result<(), Self::Error>;

    /// Pushes an element to a stream output.
    ///
    /// # Errors
    /// Such as a full stream.
    fn push(&mut self, connector: ConnectorId, lanes: &[Value]) -> Result<(), Self::Error>;
}

/// An [`Access`] for code without pointers and streams, such as most conditions. Accesses do nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAccess;

impl Access for NoAccess {
    type Error = std::convert::Infallible;

    fn load(&mut self, _: ConnectorId, _: &[i64], _: &mut [Value]) -> Result<(), Self::Error> {
        Ok(())
    }

    fn store(&mut self, _: ConnectorId, _: &[i64], _: &[Value]) -> Result<(), Self::Error> {
        Ok(())
    }

    fn push(&mut self, _: ConnectorId, _: &[Value]) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Why a run ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trap<E> {
    /// An access failed.
    #[error(transparent)]
    Access(E),
    /// Loops ran more iterations than allowed.
    #[error("loops in this code run more iterations than the limit allows")]
    StepLimit,
}

/// Typed code, ready to run any number of times.
#[derive(Clone, Debug)]
pub struct CompiledCode {
    instructions: Vec<Instruction>,
    layout: Arc<Layout>,
}

/// The registers of runs of one [`CompiledCode`].
#[derive(Clone, Debug)]
pub struct CodeFrame {
    registers: Vec<Value>,
    /// For each connector, whether the last run assigned it.
    assigned: Vec<bool>,
    /// Indices on their way to an access.
    indices: Vec<i64>,
    layout: Arc<Layout>,
}

impl CodeFrame {
    /// Sets a value input for the next runs; `lanes` are of the connector's type. Surplus lanes are ignored.
    pub fn set_input(&mut self, connector: ConnectorId, lanes: &[Value]) {
        let range = self.layout.connectors.get(connector.index()).cloned().unwrap_or(0..0);
        for (register, lane) in self.registers[range].iter_mut().zip(lanes) {
            *register = *lane;
        }
    }

    /// Sets a symbol for the next runs; the value is of the symbol's type.
    pub fn set_symbol(&mut self, symbol: SymbolId, value: Value) {
        if let Some(&register) = self.layout.symbols.get(symbol.index()) {
            self.registers[register] = value;
        }
    }

    /// The lanes of a value output, if the last run assigned it.
    pub fn output(&self, connector: ConnectorId) -> Option<&[Value]> {
        let assigned = self.assigned.get(connector.index()).copied().unwrap_or(false);
        let range = self.layout.connectors.get(connector.index())?;
        assigned.then(|| &self.registers[range.clone()])
    }

    /// The lanes of the value of an expression.
    pub fn result(&self) -> &[Value] {
        &self.registers[self.layout.result.clone()]
    }
}
