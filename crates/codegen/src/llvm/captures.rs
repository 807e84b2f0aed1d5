//! What a function of its own gets from the function around it: variables by their values, buffers by their addresses.
//!
//! The loops of teams and tasks that wait for each other become such functions.

use inkwell::IntPredicate;
use inkwell::types::StructType;
use inkwell::values::{BasicValueEnum, PointerValue};
use sdfg::symbolic::Symbol;

use super::emitter::Emit;
use super::function::Function;
use super::uses::Uses;
use crate::plan::{Allocation, BufferId};

/// What a function gets, first the variables, then the buffers.
pub(super) struct Captures<'ctx> {
    pub(super) variables: Vec<Symbol>,
    /// Buffers of the function around it, and whether their elements may change otherwise: by other threads, or
    /// by another name.
    pub(super) buffers: Vec<(BufferId, bool)>,
    /// The values in the function around it, one for each.
    pub(super) values: Vec<BasicValueEnum<'ctx>>,
}

impl<'ctx> Function<'_, 'ctx> {
    /// What of this function is used inside of another one, which has some buffers of its own.
    pub(super) fn captures(&self, uses: Uses, is_own: impl Fn(BufferId) -> bool) -> Emit<Captures<'ctx>> {
        let mut captures = Captures { variables: Vec::new(), buffers: Vec::new(), values: Vec::new() };
        for symbol in uses.variables {
            if self.has_variable(&symbol) {
                captures.values.push(self.typed_variable(&symbol)?.1.into());
                captures.variables.push(symbol);
            }
        }
        for buffer in uses.buffers {
            // Constants are reached from everywhere.
            let constant = matches!(self.emitter.plan.buffer(buffer).allocation, Allocation::Constant(_));
            if !is_own(buffer) && !constant && self.buffer_base(buffer).is_some() {
                captures.values.push(self.base(buffer)?.into());
                let contested = uses.contested.contains(&buffer) || uses.aliased.contains(&buffer);
                captures.buffers.push((buffer, contested));
            }
        }
        Ok(captures)
    }

    /// Values side by side in memory of this function: the type of that and its address.
    pub(super) fn packed(
        &self,
        values: impl IntoIterator<Item = BasicValueEnum<'ctx>>,
    ) -> Emit<(StructType<'ctx>, PointerValue<'ctx>)> {
        let values: Vec<BasicValueEnum<'ctx>> = values.into_iter().collect();
        let types: Vec<_> = values.iter().map(BasicValueEnum::get_type).collect();
        let ty = self.emitter.context.struct_type(&types, false);
        let memory = self.slot(ty, "environment")?;
        for (index, value) in values.into_iter().enumerate() {
            let field = self.builder.build_struct_gep(ty, memory, index as u32, "")?;
            self.builder.build_store(field, value)?;
        }
        Ok((ty, memory))
    }

    /// Ends this function, too, with the status that functions left in the handle, if they failed.
    pub(super) fn fail_as_others_did(&self) -> Emit<()> {
        self.fallible.set(true);
        let status = self.handle_status()?;
        self.builder.build_store(self.status, status)?;
        let failed = self.compare(IntPredicate::NE, status, self.emitter.i32().const_zero())?;
        self.exit_if(failed)
    }
}
