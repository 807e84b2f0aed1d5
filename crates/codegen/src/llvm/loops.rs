//! Loops that one thread runs.

use inkwell::IntPredicate;
use inkwell::values::IntValue;

use super::emitter::Emit;
use super::function::{Function, Jumps};
use super::metadata::LoopHints;
use super::options::OptLevel;
use super::parallel::TeamLoop;
use crate::plan::{CopySelector, Level, Loop, LoopDimension, Statement, While};

/// The most iterations that are written out, of loops within loops at each level.
const MOST_COPIES: i64 = 16;

impl<'ctx> Function<'_, 'ctx> {
    /// A loop, by its level.
    pub(super) fn repeated(&self, each: &Loop) -> Emit<()> {
        match &each.level {
            Level::Team(team) => self.parallel_loop(TeamLoop { each, team }),
            Level::Sequential { selector: None } => self.sequential_loop(each, false),
            Level::Sequential { selector: Some(selector) } => self.replicated_loop(each, selector),
            Level::Vector(vector) => self.vector_loop(each, vector),
            Level::Unrolled => self.sequential_loop(each, true),
            Level::Rank
            | Level::Grid(_)
            | Level::Block(_)
            | Level::Lane
            | Level::Pipelined { .. }
            | Level::Replicated => {
                let level = each.level.kind().name();
                Err(self.emitter.defect(format!("a processor has no level `{level}`")))
            }
        }
    }

    fn sequential_loop(&self, each: &Loop, full_unroll: bool) -> Emit<()> {
        let dimension = self.only_dimension(each)?;
        let is_quick = self.emitter.options.level == OptLevel::Quick;
        if let Some(count) =
            dimension.count().filter(|count| is_quick && full_unroll && *count <= MOST_COPIES)
        {
            return self.copies(dimension, count, &each.body);
        }
        let hints = LoopHints { parallel_accesses: each.independent, full_unroll, ..LoopHints::default() };
        self.counted_dimension(dimension, hints, || self.statements(&each.body))
    }

    /// The iterations one behind the other. The pass list of the quick level unrolls no loops, and memory whose elements
    /// variable indices name does not become registers.
    fn copies(&self, dimension: &LoopDimension, count: i64, body: &[Statement]) -> Emit<()> {
        let (begin, step) = (self.index(&dimension.begin)?, self.index(&dimension.step)?);
        (0..count).try_for_each(|number| {
            let value = self.add(begin, self.multiply(self.emitter.constant(number), step)?)?;
            self.set_variable(&dimension.variable, value)?;
            self.statements(body)
        })
    }

    fn replicated_loop(&self, each: &Loop, selector: &CopySelector) -> Emit<()> {
        let dimension = self.only_dimension(each)?;
        let (begin, step) = (self.index(&dimension.begin)?, self.index(&dimension.step)?);
        let count = self.extent(dimension, begin)?;
        self.in_turns((self.emitter.constant(0), count), selector, &|number| {
            let value = self.add(begin, self.multiply(number, step)?)?;
            self.set_variable(&dimension.variable, value)?;
            self.statements(&each.body)
        })
    }

    /// The dimension of a loop that one thread runs.
    pub(super) fn only_dimension<'p>(&self, each: &'p Loop) -> Emit<&'p LoopDimension> {
        match each.dimensions.as_slice() {
            [only] => Ok(only),
            _ => Err(self.emitter.defect("a loop of one thread has one dimension")),
        }
    }

    /// The numbers from `begin` to before `end`, as many at a time as there are private copies, each with its copy.
    pub(super) fn in_turns(
        &self,
        (begin, end): (IntValue<'ctx>, IntValue<'ctx>),
        selector: &CopySelector,
        body: &dyn Fn(IntValue<'ctx>) -> Emit<()>,
    ) -> Emit<()> {
        self.in_groups((begin, end), selector.count, &|numbers| {
            numbers.iter().zip(0..).try_for_each(|(number, n)| {
                self.set_variable(&selector.variable, self.emitter.constant(n))?;
                body(*number)
            })
        })
    }

    /// The numbers from `begin` to before `end` in groups of `size`; those that fill no group come alone.
    pub(super) fn in_groups(
        &self,
        (begin, end): (IntValue<'ctx>, IntValue<'ctx>),
        size: u32,
        body: &dyn Fn(&[IntValue<'ctx>]) -> Emit<()>,
    ) -> Emit<()> {
        let constant = |n: u32| self.emitter.constant(i64::from(n));
        let count = self.larger(self.subtract(end, begin)?, constant(0))?;
        let rest = self.builder.build_int_unsigned_rem(count, constant(size), "")?;
        let whole = self.add(begin, self.subtract(count, rest)?)?;
        self.counted_loop(begin, whole, constant(size), false, LoopHints::default(), |first| {
            let numbers: Vec<_> = (0..size).map(|n| self.add(first, constant(n))).collect::<Emit<_>>()?;
            body(&numbers)
        })?;
        self.counted_loop(whole, end, constant(1), false, LoopHints::default(), |number| body(&[number]))
    }

    /// A loop over a dimension.
    pub(super) fn counted_dimension(
        &self,
        dimension: &LoopDimension,
        hints: LoopHints,
        body: impl FnOnce() -> Emit<()>,
    ) -> Emit<()> {
        let (begin, end, step) =
            (self.index(&dimension.begin)?, self.index(&dimension.end)?, self.index(&dimension.step)?);
        self.counted_loop(begin, end, step, is_descending(dimension), hints, |counter| {
            self.set_variable(&dimension.variable, counter)?;
            body()
        })
    }

    /// A loop from `begin` to before `end` by `step`, whose sign is known; `body` is given the counter.
    pub(super) fn counted_loop(
        &self,
        begin: IntValue<'ctx>,
        end: IntValue<'ctx>,
        step: IntValue<'ctx>,
        descending: bool,
        hints: LoopHints,
        body: impl FnOnce(IntValue<'ctx>) -> Emit<()>,
    ) -> Emit<()> {
        let predicate = if descending { IntPredicate::SGT } else { IntPredicate::SLT };
        let (turn, done) = (self.block("loop"), self.block("done"));
        // Tested once before and then at the end of each turn: the form in which LLVM optimises loops.
        let any = self.compare(predicate, begin, end)?;
        let before = self.current()?;
        self.branch(any, turn, done)?;
        self.enter(turn);
        let phi = self.builder.build_phi(self.emitter.i64(), "")?;
        let counter = phi.as_basic_value().into_int_value();
        self.begin_loop();
        let calls = self.emitter.vector_calls.get();
        body(counter)?;
        let one_vector = hints.one_vector || self.emitter.vector_calls.get() > calls;
        // LLVM warns of loops that it cannot copy out because nobody knows how many iterations they have.
        let is_counted = [begin, end, step].iter().all(|value| value.is_const());
        let hints = LoopHints { one_vector, full_unroll: hints.full_unroll && is_counted, ..hints };
        let next = self.add(counter, step)?;
        let more = self.compare(predicate, next, end)?;
        let last = self.current()?;
        let latch = self.branch(more, turn, done)?;
        phi.add_incoming(&[(&begin, before), (&next, last)]);
        hints.attach(self.emitter, latch, &self.end_loop())?;
        self.enter(done);
        Ok(())
    }

    pub(super) fn while_loop(&self, each: &While) -> Emit<()> {
        let (turn, repeat, test, done) =
            (self.block("turn"), self.block("update"), self.block("while"), self.block("done"));
        self.bind_jumps(each.target, Jumps { leave: done, repeat: Some(repeat), cases: Vec::new() });
        self.jump(if each.test_after { turn } else { test })?;
        self.begin_loop();
        self.enter(turn);
        self.statements(&each.body)?;
        self.jump(repeat)?;
        self.enter(repeat);
        self.statements(&each.update)?;
        self.jump(test)?;
        self.enter(test);
        let condition = self.condition(&each.condition)?;
        let latch = self.branch(condition, turn, done)?;
        let hints = LoopHints { full_unroll: each.unroll, ..LoopHints::default() };
        hints.attach(self.emitter, latch, &self.end_loop())?;
        self.enter(done);
        Ok(())
    }

    /// The number of values of a dimension that starts at `begin`.
    pub(super) fn extent(&self, dimension: &LoopDimension, begin: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        let (end, step) = (self.index(&dimension.end)?, self.index(&dimension.step)?);
        let (distance, step) = if is_descending(dimension) {
            (self.subtract(begin, end)?, self.builder.build_int_nsw_neg(step, "")?)
        } else {
            (self.subtract(end, begin)?, step)
        };
        let distance = self.larger(distance, self.emitter.constant(0))?;
        if dimension.step.is_one() {
            return Ok(distance);
        }
        let raised = self.add(distance, self.subtract(step, self.emitter.constant(1))?)?;
        self.floor_divide(raised, step)
    }
}

/// Whether a dimension counts down: its step is a negative constant.
fn is_descending(dimension: &LoopDimension) -> bool {
    dimension.step.as_int().is_some_and(|step| step < 0)
}
