//! Arena of a handle: one memory block with a range for each slot of the plan, reused by all runs.
//!
//! The arena grows if a run needs more than all earlier runs; growing allocates a new block. The system maps
//! pages at the first write, on behalf of the thread that writes. Code in this module writes no arena memory.

use inkwell::IntPredicate;
use inkwell::values::IntValue;

use super::emitter::Emit;
use super::function::{Base, Function};
use super::memory::{ALIGNMENT, HUGE, HUGE_PAGE};
use crate::plan::{Plan, Slot};

/// Maximum number of transients in a message.
const NAMED: usize = 6;

impl<'ctx> Function<'_, 'ctx> {
    /// Gives every buffer of the arena its memory.
    pub(super) fn bind_arena(&self) -> Emit<()> {
        let plan = self.emitter.plan;
        if plan.slots.is_empty() {
            return Ok(());
        }
        let mut total = self.emitter.constant(0);
        let mut offsets = Vec::with_capacity(plan.slots.len());
        for slot in &plan.slots {
            let bytes = self.slot_bytes(slot)?;
            // What is large begins with a page of its own.
            let large = self.compare(IntPredicate::SGE, bytes, self.emitter.constant(HUGE as i64))?;
            let [huge_gap, gap] =
                [HUGE_PAGE as i64, i64::from(ALIGNMENT)].map(|n| self.emitter.constant(n - 1));
            let gap = self.select_int(large, huge_gap, gap)?;
            let raised = self.saturating_add(total, gap)?;
            let begin = self.builder.build_and(raised, self.builder.build_not(gap, "")?, "")?;
            total = self.saturating_add(begin, bytes)?;
            total = self.saturating_add(total, self.emitter.constant(self.emitter.red_zone()))?;
            offsets.push((begin, bytes));
        }
        let (address, size) = (self.arena_field(0)?, self.arena_field(1)?);
        let pointer = self.load_pointer(address)?;
        let old = self.builder.build_load(self.emitter.i64(), size, "")?.into_int_value();
        let short = self.compare(IntPredicate::ULT, old, total)?;
        let missing = self.builder.build_is_null(pointer, "")?;
        let grow = self.builder.build_or(short, missing, "")?;
        self.when(grow, || {
            self.free(pointer)?;
            self.builder.build_store(size, self.emitter.constant(0))?;
            self.allocate_into(address, total, &names(plan))?;
            self.builder.build_store(size, total)?;
            Ok(())
        })?;
        let arena = self.load_pointer(address)?;
        self.tell_accessible(arena, total, false)?;
        for (slot, (offset, bytes)) in plan.slots.iter().zip(offsets) {
            let place = self.address(self.emitter.i8(), arena, offset)?;
            self.tell_accessible(place, bytes, true)?;
            slot.buffers.iter().for_each(|buffer| self.bind_buffer(*buffer, Base::Fixed(place)));
        }
        Ok(())
    }

    /// Bytes of the largest buffer of a slot.
    fn slot_bytes(&self, slot: &Slot) -> Emit<IntValue<'ctx>> {
        let plan = self.emitter.plan;
        let mut largest = self.emitter.constant(0);
        let mut seen = Vec::new();
        for buffer in slot.buffers.iter().map(|id| plan.buffer(*id)) {
            let size = (buffer.element.size(), &buffer.size);
            if !seen.contains(&size) {
                let bytes = self.byte_size(buffer.element, self.size(&buffer.size)?)?;
                largest = self.larger(largest, bytes)?;
                seen.push(size);
            }
        }
        Ok(largest)
    }

    /// A sum, or the largest integer.
    fn saturating_add(&self, a: IntValue<'ctx>, b: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        let sum = self.intrinsic("llvm.sadd.sat", &[self.emitter.i64().into()], &[a.into(), b.into()])?;
        Ok(sum.into_int_value())
    }
}

/// The transients of the arena, for a message.
fn names(plan: &Plan) -> String {
    let buffers = || plan.slots.iter().flat_map(|slot| &slot.buffers);
    let mut names: Vec<String> =
        buffers().take(NAMED).map(|id| format!("`{}`", plan.buffer(*id).name)).collect();
    let others = buffers().count() - names.len();
    if others > 0 {
        names.push(format!("{others} more"));
    }
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}
