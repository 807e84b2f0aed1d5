//! References: slots that hold the addresses of other buffers.

use inkwell::values::PointerValue;

use super::emitter::Emit;
use super::function::{Base, Function};
use crate::plan::{BufferId, KeptReference};

impl<'ctx> Function<'_, 'ctx> {
    /// Makes slots for a reference that this function sets: of its address and of what says which elements were written.
    pub(super) fn declare_reference(&self, id: BufferId) -> Emit<()> {
        for buffer in [Some(id), self.emitter.plan.buffer(id).defined].into_iter().flatten() {
            let name = &self.emitter.plan.buffer(buffer).name;
            match self.buffer_base(buffer) {
                Some(Base::Slot(_)) => {}
                // The function was given what it named before.
                Some(Base::Fixed(pointer)) => {
                    let slot = self.slot(self.emitter.pointer(), name)?;
                    self.builder.build_store(slot, pointer)?;
                    self.bind_buffer(buffer, Base::Slot(slot));
                }
                None => self.bind_buffer(buffer, Base::Slot(self.null_slot(name)?)),
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

    /// Writes a reference to memory that tasks share.
    pub(super) fn keep(&self, kept: &KeptReference) -> Emit<()> {
        for (position, buffer) in self.kept_addresses(kept) {
            self.builder.build_store(self.kept_element(kept, position)?, self.base(buffer)?)?;
        }
        for (position, variable) in kept.variables.iter().enumerate() {
            let element = self.kept_element(kept, KeptReference::ADDRESSES + position)?;
            self.builder.build_store(element, self.index(variable)?)?;
        }
        Ok(())
    }

    /// Takes a reference from memory that tasks share.
    pub(super) fn recall(&self, kept: &KeptReference) -> Emit<()> {
        for (position, buffer) in self.kept_addresses(kept) {
            let address = self.load_pointer(self.kept_element(kept, position)?)?;
            self.builder.build_store(self.reference_slot(buffer)?, address)?;
        }
        for (position, variable) in kept.variables.iter().enumerate() {
            let element = self.kept_element(kept, KeptReference::ADDRESSES + position)?;
            let value = self.builder.build_load(self.emitter.i64(), element, "")?.into_int_value();
            let symbol = variable.as_symbol().ok_or_else(|| self.emitter.defect("a variable is kept"))?;
            self.set_variable(symbol, value)?;
        }
        Ok(())
    }

    fn kept_addresses(&self, kept: &KeptReference) -> impl Iterator<Item = (usize, BufferId)> + use<> {
        let written = self.emitter.plan.buffer(kept.reference).defined;
        [Some(kept.reference), written].into_iter().enumerate().filter_map(|(k, id)| Some((k, id?)))
    }

    fn kept_element(&self, kept: &KeptReference, position: usize) -> Emit<PointerValue<'ctx>> {
        self.address(self.emitter.i64(), self.base(kept.place)?, self.emitter.constant(position as i64))
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
