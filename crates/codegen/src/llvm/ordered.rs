//! Shared loops that finish their chunks in iteration order.
//!
//! The accumulators of each chunk are combined, and its stream elements appended, in the order of the chunks,
//! whichever thread ran them.

use inkwell::values::{IntValue, PointerValue};
use inkwell::{AtomicOrdering, IntPredicate};

use super::emitter::Emit;
use super::function::Function;
use super::metadata::LoopHints;
use super::parallel::TeamLoop;
use super::stream::Collector;
use super::worksharing::IterationSpace;
use crate::plan::OrderedChunks;

impl<'ctx> Function<'_, 'ctx> {
    /// The part of one thread: every so many chunks one of its own, each merged when its turn has come: what it pushed to streams and, if each
    /// has some, its accumulators.
    pub(super) fn share_in_order(
        &self,
        parallel: TeamLoop<'_>,
        space: &IterationSpace<'ctx>,
        collectors: &[Collector<'ctx>],
        order: OrderedChunks,
    ) -> Emit<()> {
        let privates = if order.accumulators { parallel.team.privates.as_slice() } else { &[] };
        let (thread, threads) = (self.parameter(1)?.into_int_value(), self.parameter(2)?.into_int_value());
        let turn = self.parameter(3)?.into_pointer_value();
        let constant = |value| self.emitter.constant(value);
        let total = self.larger(space.total(), constant(0))?;
        let mut most = constant(i64::from(order.chunks));
        if !order.accumulators {
            // The order of elements does not depend on where chunks begin. What is moved on at once should still be in the cache.
            let pieces = self.builder.build_int_unsigned_div(total, constant(i64::from(order.piece)), "")?;
            let pieces =
                if collectors.iter().any(|each| each.array.is_some()) { pieces } else { constant(1) };
            most = self.larger(most, pieces)?;
            let is_alone = self.compare(IntPredicate::EQ, threads, constant(1))?;
            most = self.select_int(is_alone, self.larger(pieces, constant(1))?, most)?;
        }
        let chunks = self.smaller(total, most)?;
        // Chunks without iterations are none: the divisor of an empty loop does not matter.
        let divisor = self.larger(chunks, constant(1))?;
        let share = self.builder.build_int_unsigned_div(total, divisor, "")?;
        let rest = self.builder.build_int_unsigned_rem(total, divisor, "")?;
        self.counted_loop(thread, chunks, threads, false, LoopHints::default(), |chunk| {
            for private in privates {
                self.initialise(private)?;
            }
            // The first chunks have one iteration more.
            let begin = self.add(self.multiply(chunk, share)?, self.smaller(chunk, rest)?)?;
            let is_longer = self.compare(IntPredicate::SLT, chunk, rest)?;
            let one_more = self.builder.build_int_z_extend(is_longer, self.emitter.i64(), "")?;
            self.run_range(parallel, space, begin, self.add(self.add(begin, share)?, one_more)?)?;
            self.await_turn(turn, chunk)?;
            for private in privates {
                self.merge(private)?;
            }
            collectors.iter().try_for_each(|collector| self.append_collected(collector))?;
            self.set_turn(turn, self.add(chunk, constant(1))?)
        })
    }

    /// Waits until all chunks before this one are merged. A thread that fails never gets to its turn: then all leave.
    fn await_turn(&self, turn: PointerValue<'ctx>, chunk: IntValue<'ctx>) -> Emit<()> {
        let (ask, wait, go) = (self.block("turn"), self.block("wait"), self.block("merge"));
        self.jump(ask)?;
        self.enter(ask);
        let now = self.builder.build_load(self.emitter.i64(), turn, "")?.into_int_value();
        if let Some(load) = now.as_instruction() {
            load.set_atomic_ordering(AtomicOrdering::Acquire).map_err(|error| self.emitter.defect(error))?;
        }
        let is_mine = self.compare(IntPredicate::EQ, now, chunk)?;
        self.branch(is_mine, go, wait)?;
        self.enter(wait);
        let status = self.handle_status()?;
        if let Some(load) = status.as_instruction() {
            load.set_atomic_ordering(AtomicOrdering::Monotonic)
                .map_err(|error| self.emitter.defect(error))?;
        }
        self.exit_if(self.compare(IntPredicate::NE, status, self.emitter.i32().const_zero())?)?;
        // There may be more threads than cores.
        let sched_yield = self.emitter.declare("sched_yield", Some(self.emitter.i32().into()), &[]);
        self.perform(sched_yield, &[])?;
        self.jump(ask)?;
        self.enter(go);
        Ok(())
    }

    fn set_turn(&self, turn: PointerValue<'ctx>, value: IntValue<'ctx>) -> Emit<()> {
        let store = self.builder.build_store(turn, value)?;
        store.set_atomic_ordering(AtomicOrdering::Release).map_err(|error| self.emitter.defect(error))?;
        Ok(())
    }
}
