//! Parameters of outlined functions: variables by value, buffers by address.
//!
//! Loops of teams, and tasks that wait for each other, become outlined functions.

use inkwell::IntPredicate;
use inkwell::types::StructType;
use inkwell::values::{BasicValueEnum, PointerValue};

use super::emitter::Emit;
use super::function::Function;
use crate::plan::Captures;

impl<'ctx> Function<'_, 'ctx> {
    /// The values of captures in this function, one for each: first the variables, then the buffers.
    pub(super) fn captured(&self, captures: &Captures) -> Emit<Vec<BasicValueEnum<'ctx>>> {
        let variables = captures.variables.iter().map(|symbol| Ok(self.typed_variable(symbol)?.1.into()));
        let buffers = captures.buffers.iter().map(|captured| Ok(self.base(captured.buffer)?.into()));
        variables.chain(buffers).collect()
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
