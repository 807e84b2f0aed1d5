//! References: slots that hold the addresses of other buffers.

use inkwell::values::PointerValue;

use super::emitter::Emit;
use super::function::{Base, Function};
use crate::plan::BufferId;

impl<'ctx> Function<'_, 'ctx> {
    /// Makes slots for a reference that this function sets: of its address and of what says which elements were written.
    pub(super) fn declare_reference(&self, id: BufferId) -> Emit<()> {
        for buffer in [Some(id), self.emitter.plan.buffer(id).defined].into_iter().flatten() {
            if self.buffer_base(buffer).is_none() {
                let slot = self.null_slot(&self.emitter.plan.buffer(buffer).name)?;
                self.bind_buffer(buffer, Base::Slot(slot));
            }
        }
        Ok(())
    }

    /// Makes a reference name another buffer, from its first element on: positions count from there.
    pub(super) fn point(&self, reference: BufferId, to: BufferId) -> Emit<()> {
        let plan = self.emitter.plan;
        self.builder.build_store(self.reference_slot(reference)?, self.base(to)?)?;
        if let Some(written) = plan.buffer(reference).defined {
            let address = match plan.buffer(to).defined {
                Some(defined) => self.base(defined)?,
                None => self.emitter.pointer().const_null(),
            };
            self.builder.build_store(self.reference_slot(written)?, address)?;
        }
        Ok(())
    }

    fn reference_slot(&self, id: BufferId) -> Emit<PointerValue<'ctx>> {
        match self.buffer_base(id) {
            Some(Base::Slot(slot)) => Ok(slot),
            Some(Base::Fixed(_)) | None => {
                let name = &self.emitter.plan.buffer(id).name;
                Err(self
                    .emitter
                    .defect(format!("reference `{name}` is set in a function that does not have it")))
            }
        }
    }
}
