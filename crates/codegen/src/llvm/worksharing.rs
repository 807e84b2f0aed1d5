//! Distribution of the iterations of a shared loop to threads.
//!
//! Iterations are numbered from 0 in row-major order of the loop's dimensions. A thread receives ranges of
//! these numbers according to the loop's sharing rule, and traverses each range row by row.

use inkwell::values::{IntValue, PointerValue};
use inkwell::{AtomicOrdering, AtomicRMWBinOp, IntPredicate};
use sdfg::ir::OpenMpSchedule;

use super::emitter::Emit;
use super::function::Function;
use super::metadata::LoopHints;
use super::parallel::TeamLoop;
use crate::plan::LoopDimension;

/// Emitter of the statements of one iteration.
type Body<'f> = &'f dyn Fn() -> Emit<()>;

/// One dimension of a shared iteration space.
struct Dimension<'ctx> {
    begin: IntValue<'ctx>,
    step: IntValue<'ctx>,
    extent: IntValue<'ctx>,
}

/// A shared iteration space.
pub(super) struct IterationSpace<'ctx> {
    dimensions: Vec<Dimension<'ctx>>,
    /// The number of iterations.
    total: IntValue<'ctx>,
}

impl<'ctx> IterationSpace<'ctx> {
    pub(super) fn new(function: &Function<'_, 'ctx>, parallel: TeamLoop<'_>) -> Emit<Self> {
        let mut total = function.emitter.constant(1);
        let mut dimensions = Vec::with_capacity(parallel.each.dimensions.len());
        for dimension in &parallel.each.dimensions {
            let begin = function.index(&dimension.begin)?;
            let step = function.index(&dimension.step)?;
            let extent = function.extent(dimension, begin)?;
            total = function.multiply(total, extent)?;
            dimensions.push(Dimension { begin, step, extent });
        }
        Ok(IterationSpace { dimensions, total })
    }

    /// The number of iterations.
    pub(super) fn total(&self) -> IntValue<'ctx> {
        self.total
    }
}

impl<'ctx> Function<'_, 'ctx> {
    /// Hands out the iterations of the space, numbered from 0.
    pub(super) fn share(&self, parallel: TeamLoop<'_>, space: &IterationSpace<'ctx>) -> Emit<()> {
        let (thread, threads) = (self.parameter(1)?.into_int_value(), self.parameter(2)?.into_int_value());
        let chunk = match &parallel.team.chunk {
            None => None,
            // No more than all of them, so that no sum of chunks leaves 64 bits.
            Some(chunk) => {
                let chunk = self.smaller(self.index(chunk)?, space.total)?;
                Some(self.larger(chunk, self.emitter.constant(1))?)
            }
        };
        let run = |begin, end| self.run_range(parallel, space, begin, end);
        match (parallel.team.sharing, chunk) {
            (OpenMpSchedule::Static, None) => {
                // The first `total mod threads` threads do one iteration more.
                let share = self.builder.build_int_unsigned_div(space.total, threads, "")?;
                let rest = self.builder.build_int_unsigned_rem(space.total, threads, "")?;
                let before = self.add(self.multiply(thread, share)?, self.smaller(thread, rest)?)?;
                let one_more = self.compare(IntPredicate::SLT, thread, rest)?;
                let one_more = self.builder.build_int_z_extend(one_more, self.emitter.i64(), "")?;
                run(before, self.add(self.add(before, share)?, one_more)?)
            }
            (OpenMpSchedule::Static, Some(chunk)) => {
                let begin = self.multiply(thread, chunk)?;
                let step = self.multiply(threads, chunk)?;
                self.counted_loop(begin, space.total, step, false, LoopHints::default(), |begin| {
                    run(begin, self.smaller(self.add(begin, chunk)?, space.total)?)
                })
            }
            (OpenMpSchedule::Dynamic, chunk) => {
                let chunk = chunk.unwrap_or(self.emitter.constant(1));
                self.take_chunks(space, run, |counter| {
                    let begin = self.builder.build_atomicrmw(
                        AtomicRMWBinOp::Add,
                        counter,
                        chunk,
                        AtomicOrdering::Monotonic,
                    )?;
                    Ok((begin, self.smaller(self.add(begin, chunk)?, space.total)?))
                })
            }
            (OpenMpSchedule::Guided, chunk) => {
                let least = chunk.unwrap_or(self.emitter.constant(1));
                self.take_chunks(space, run, |counter| self.take_guided(counter, space, threads, least))
            }
        }
    }

    /// Takes ranges with `take` and runs them until none is left.
    fn take_chunks(
        &self,
        space: &IterationSpace<'ctx>,
        run: impl FnOnce(IntValue<'ctx>, IntValue<'ctx>) -> Emit<()>,
        take: impl FnOnce(PointerValue<'ctx>) -> Emit<(IntValue<'ctx>, IntValue<'ctx>)>,
    ) -> Emit<()> {
        let counter = self.parameter(3)?.into_pointer_value();
        let (next, turn, done) = (self.block("next"), self.block("chunk"), self.block("done"));
        self.jump(next)?;
        self.enter(next);
        let (begin, end) = take(counter)?;
        let any = self.compare(IntPredicate::SLT, begin, space.total)?;
        self.branch(any, turn, done)?;
        self.enter(turn);
        run(begin, end)?;
        self.jump(next)?;
        self.enter(done);
        Ok(())
    }

    /// Takes a share of what is left: the remaining iterations over the threads, rounded up, and not less than `least`.
    fn take_guided(
        &self,
        counter: PointerValue<'ctx>,
        space: &IterationSpace<'ctx>,
        threads: IntValue<'ctx>,
        least: IntValue<'ctx>,
    ) -> Emit<(IntValue<'ctx>, IntValue<'ctx>)> {
        let i64 = self.emitter.i64();
        let (retry, taken) = (self.block("retry"), self.block("taken"));
        let first = self.builder.build_load(i64, counter, "")?.into_int_value();
        if let Some(load) = first.as_instruction() {
            load.set_atomic_ordering(AtomicOrdering::Monotonic)
                .map_err(|error| self.emitter.defect(error))?;
        }
        let before = self.current()?;
        self.jump(retry)?;
        self.enter(retry);
        let phi = self.builder.build_phi(i64, "")?;
        let begin = phi.as_basic_value().into_int_value();
        let left = self.larger(self.subtract(space.total, begin)?, self.emitter.constant(0))?;
        let raised = self.add(left, self.subtract(threads, self.emitter.constant(1))?)?;
        let share = self.builder.build_int_signed_div(raised, threads, "")?;
        let end = self.smaller(self.add(begin, self.larger(share, least)?)?, space.total)?;
        // A counter that is at the end stays there.
        let end = self.larger(end, begin)?;
        let (weak, strong) = (AtomicOrdering::Monotonic, AtomicOrdering::Monotonic);
        let exchange = self.builder.build_cmpxchg(counter, begin, end, strong, weak)?;
        let found = self.builder.build_extract_value(exchange, 0, "")?.into_int_value();
        let success = self.builder.build_extract_value(exchange, 1, "")?.into_int_value();
        self.branch(success, taken, retry)?;
        phi.add_incoming(&[(&first, before), (&found, retry)]);
        self.enter(taken);
        Ok((begin, end))
    }

    /// Runs the iterations from `begin` to before `end`.
    ///
    /// The range is cut into rows of the innermost dimension, so that the loop over a row counts its variable plainly
    /// and no division happens inside.
    pub(super) fn run_range(
        &self,
        parallel: TeamLoop<'_>,
        space: &IterationSpace<'ctx>,
        begin: IntValue<'ctx>,
        end: IntValue<'ctx>,
    ) -> Emit<()> {
        let part = |body: Body<'_>| self.run_part(parallel, space, begin, end, body);
        self.run_around(parallel, &parallel.team.around, &part)
    }

    /// Runs the loops around a thread's part.
    fn run_around(
        &self,
        parallel: TeamLoop<'_>,
        around: &[LoopDimension],
        part: &dyn Fn(Body<'_>) -> Emit<()>,
    ) -> Emit<()> {
        let body = || self.statements(&parallel.each.body);
        match around.split_first() {
            None => part(&body),
            Some((outermost, inner)) => match parallel.team.jam {
                Some(jam) if inner.is_empty() => self.run_jammed(outermost, jam, &body, part),
                _ => self.counted_dimension(outermost, LoopHints::default(), || {
                    self.run_around(parallel, inner, part)
                }),
            },
        }
    }

    /// Runs the innermost loop around a thread's part, several iterations in one pass.
    fn run_jammed(
        &self,
        around: &LoopDimension,
        jam: u32,
        body: Body<'_>,
        part: &dyn Fn(Body<'_>) -> Emit<()>,
    ) -> Emit<()> {
        let (begin, step) = (self.index(&around.begin)?, self.index(&around.step)?);
        let count = self.extent(around, begin)?;
        let at = |number: IntValue<'ctx>| -> Emit<()> {
            let value = self.add(begin, self.multiply(number, step)?)?;
            self.set_variable(&around.variable, value)?;
            body()
        };
        self.in_groups((self.emitter.constant(0), count), jam, &|numbers| {
            part(&|| numbers.iter().try_for_each(|number| at(*number)))
        })
    }

    fn run_part(
        &self,
        parallel: TeamLoop<'_>,
        space: &IterationSpace<'ctx>,
        begin: IntValue<'ctx>,
        end: IntValue<'ctx>,
        body: Body<'_>,
    ) -> Emit<()> {
        let Some((last, outer)) = space.dimensions.split_last() else {
            return self.counted_loop(
                begin,
                end,
                self.emitter.constant(1),
                false,
                LoopHints::default(),
                |_| body(),
            );
        };
        if outer.is_empty() {
            return self.run_row(parallel, last, (begin, end), body);
        }
        let position = self.slot(self.emitter.i64(), "position")?;
        self.builder.build_store(position, begin)?;
        let (next, row, done) = (self.block("next"), self.block("row"), self.block("done"));
        self.jump(next)?;
        self.enter(next);
        let from = self.builder.build_load(self.emitter.i64(), position, "")?.into_int_value();
        let any = self.compare(IntPredicate::SLT, from, end)?;
        self.branch(any, row, done)?;
        self.enter(row);
        let mut rest = self.builder.build_int_unsigned_div(from, last.extent, "")?;
        let column = self.builder.build_int_unsigned_rem(from, last.extent, "")?;
        for (place, dimension) in outer.iter().enumerate().rev() {
            let index = if place == 0 {
                rest
            } else {
                let index = self.builder.build_int_unsigned_rem(rest, dimension.extent, "")?;
                rest = self.builder.build_int_unsigned_div(rest, dimension.extent, "")?;
                index
            };
            let value = self.add(dimension.begin, self.multiply(index, dimension.step)?)?;
            self.set_variable(&parallel.each.dimensions[place].variable, value)?;
        }
        let left = self.subtract(end, from)?;
        let length = self.smaller(self.subtract(last.extent, column)?, left)?;
        self.builder.build_store(position, self.add(from, length)?)?;
        self.run_row(parallel, last, (column, self.add(column, length)?), body)?;
        self.jump(next)?;
        self.enter(done);
        Ok(())
    }

    /// Runs positions `begin` to before `end` of the innermost dimension.
    fn run_row(
        &self,
        parallel: TeamLoop<'_>,
        dimension: &Dimension<'ctx>,
        (begin, end): (IntValue<'ctx>, IntValue<'ctx>),
        body: Body<'_>,
    ) -> Emit<()> {
        let Some(last) = parallel.each.dimensions.last() else {
            return Err(self.emitter.defect("a row has a dimension"));
        };
        let hints = LoopHints { parallel_accesses: parallel.each.independent, ..LoopHints::default() };
        let at = |index| {
            let value = self.add(dimension.begin, self.multiply(index, dimension.step)?)?;
            self.set_variable(&last.variable, value)?;
            body()
        };
        match &parallel.team.selector {
            None => self.counted_loop(begin, end, self.emitter.constant(1), false, hints, at),
            Some(selector) => self.in_turns((begin, end), selector, &at),
        }
    }
}
