//! Loops that a team of threads shares.
//!
//! The loop becomes a function of its own, which is given what it uses as parameters: buffers are then known not to
//! overlap (`noalias`), which the optimiser could not tell of addresses that it reads from a structure. The OpenMP
//! runtime calls a small wrapper that unpacks such a structure.

use inkwell::attributes::AttributeLoc;
use inkwell::module::Linkage;
use inkwell::types::BasicMetadataTypeEnum;
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, FunctionValue, IntValue, PointerValue};
use inkwell::{AtomicOrdering, AtomicRMWBinOp, IntPredicate};
use sdfg::dtype::ScalarType;
use sdfg::ir::Sharing;
use sdfg::symbolic::Symbol;

use super::emitter::Emit;
use super::function::{Base, Function, Returns};
use super::memory::ALIGNMENT;
use super::metadata::LoopHints;
use super::uses::Uses;
use crate::plan::{Allocation, BufferId, ParallelLoop, Private};

/// What an outlined function gets from the function around it, in the order of its parameters.
struct Captures<'ctx> {
    variables: Vec<(Symbol, ScalarType)>,
    buffers: Vec<BufferId>,
    /// The values in the function around it, after handle, thread number, number of threads and counter.
    values: Vec<BasicValueEnum<'ctx>>,
}

/// Parameters of every team function before the captures: handle, thread number, number of threads, shared counter.
const FIXED: u32 = 4;

impl<'ctx> Function<'_, 'ctx> {
    pub(super) fn parallel_loop(&self, parallel: &ParallelLoop) -> Emit<()> {
        let captures = self.captures(parallel)?;
        let name = format!("{}.parallel{}", self.emitter.plan.name, self.emitter.next_region());
        let (team, fallible) = self.team_function(&name, parallel, &captures)?;
        let counter = self.slot(self.emitter.i64(), "counter")?;
        self.builder.build_store(counter, self.emitter.constant(0))?;

        let (alone, together, done) = (self.block("alone"), self.block("together"), self.block("done"));
        let little = match &parallel.work {
            None => self.emitter.i1().const_zero(),
            Some(work) => {
                let threshold = self.emitter.i64().const_int(self.emitter.options.parallel_threshold, false);
                let work = self.larger(self.index(work)?, self.emitter.constant(0))?;
                self.compare(IntPredicate::ULT, work, threshold)?
            }
        };
        self.branch(little, alone, together)?;

        self.enter(alone);
        let handle = self.handle.get();
        let fixed =
            [handle.into(), self.emitter.constant(0).into(), self.emitter.constant(1).into(), counter.into()];
        let arguments: Vec<BasicMetadataValueEnum<'ctx>> =
            fixed.into_iter().chain(captures.values.iter().map(|value| (*value).into())).collect();
        self.perform(team, &arguments)?;
        self.jump(done)?;

        self.enter(together);
        self.fork(&name, parallel, team, &captures, counter)?;
        self.jump(done)?;

        self.enter(done);
        if fallible {
            self.fallible.set(true);
            let status = self.handle_status()?;
            self.builder.build_store(self.status, status)?;
            let failed = self.compare(IntPredicate::NE, status, self.emitter.i32().const_zero())?;
            self.exit_if(failed)?;
        }
        Ok(())
    }

    fn captures(&self, parallel: &ParallelLoop) -> Emit<Captures<'ctx>> {
        let uses = Uses::of_parallel(self.emitter.plan, parallel);
        let mut captures = Captures { variables: Vec::new(), buffers: Vec::new(), values: Vec::new() };
        for symbol in uses.variables {
            if self.has_variable(&symbol) {
                let (ty, value) = self.typed_variable(&symbol)?;
                captures.variables.push((symbol, ty));
                captures.values.push(value.into());
            }
        }
        for buffer in uses.buffers {
            // Every thread has stack and thread buffers of its own, and constants are reached from everywhere.
            let shared = match self.emitter.plan.buffer(buffer).allocation {
                Allocation::Argument(_)
                | Allocation::Handle
                | Allocation::Persistent
                | Allocation::Dynamic => true,
                Allocation::Stack | Allocation::Thread | Allocation::Constant(_) => false,
            };
            if shared && self.buffer_base(buffer).is_some() {
                captures.values.push(self.base(buffer)?.into());
                captures.buffers.push(buffer);
            }
        }
        Ok(captures)
    }

    /// The call of the OpenMP runtime.
    fn fork(
        &self,
        name: &str,
        parallel: &ParallelLoop,
        team: FunctionValue<'ctx>,
        captures: &Captures<'ctx>,
        counter: PointerValue<'ctx>,
    ) -> Emit<()> {
        let (pointer, i32) = (self.emitter.pointer(), self.emitter.i32());
        let packed: Vec<BasicValueEnum<'ctx>> = [self.handle.get().into(), counter.into()]
            .into_iter()
            .chain(captures.values.iter().copied())
            .collect();
        let types: Vec<_> = packed.iter().map(BasicValueEnum::get_type).collect();
        let environment_type = self.emitter.context.struct_type(&types, false);
        let environment = self.slot(environment_type, "environment")?;
        for (index, value) in packed.iter().enumerate() {
            let field = self.builder.build_struct_gep(environment_type, environment, index as u32, "")?;
            self.builder.build_store(field, *value)?;
        }
        let threads = match &parallel.threads {
            Some(threads) => {
                // 0 would be the runtime's default; a number below one is one.
                let threads = self.larger(self.index(threads)?, self.emitter.constant(1))?;
                self.builder.build_int_truncate(threads, i32, "")?
            }
            None => self.handle_threads()?,
        };
        let wrapper = self.wrapper(name, team, environment_type)?;
        let fork = self.emitter.declare(
            "GOMP_parallel",
            None,
            &[pointer.into(), pointer.into(), i32.into(), i32.into()],
        );
        let wrapper = wrapper.as_global_value().as_pointer_value();
        self.perform(fork, &[wrapper.into(), environment.into(), threads.into(), i32.const_zero().into()])
    }

    /// What the OpenMP runtime calls in every thread.
    fn wrapper(
        &self,
        name: &str,
        team: FunctionValue<'ctx>,
        environment_type: inkwell::types::StructType<'ctx>,
    ) -> Emit<FunctionValue<'ctx>> {
        let (emitter, i32) = (self.emitter, self.emitter.i32());
        let ty = emitter.context.void_type().fn_type(&[emitter.pointer().into()], false);
        let wrapper = emitter.define(&format!("{name}.fork"), ty, Linkage::Internal);
        emitter.mark_cold(wrapper);
        let builder = emitter.context.create_builder();
        builder.position_at_end(emitter.context.append_basic_block(wrapper, "entry"));
        let environment = wrapper
            .get_nth_param(0)
            .ok_or_else(|| emitter.defect("a parameter is missing"))?
            .into_pointer_value();
        let ask = |name| -> Emit<IntValue<'ctx>> {
            let function = emitter.declare(name, Some(i32.into()), &[]);
            let number = builder.build_call(function, &[], "")?.try_as_basic_value().basic();
            let number =
                number.ok_or_else(|| emitter.defect("the runtime returns a number"))?.into_int_value();
            Ok(builder.build_int_s_extend(number, emitter.i64(), "")?)
        };
        let (thread, threads) = (ask("omp_get_thread_num")?, ask("omp_get_num_threads")?);
        let mut fields = Vec::new();
        for (index, ty) in environment_type.get_field_types().into_iter().enumerate() {
            let field = builder.build_struct_gep(environment_type, environment, index as u32, "")?;
            fields.push(builder.build_load(ty, field, "")?.into());
        }
        let [handle, counter, captured @ ..] = fields.as_slice() else {
            return Err(emitter.defect("an environment begins with handle and counter"));
        };
        let fixed: [BasicMetadataValueEnum<'ctx>; 4] = [*handle, thread.into(), threads.into(), *counter];
        let arguments: Vec<_> = fixed.into_iter().chain(captured.iter().copied()).collect();
        builder.build_call(team, &arguments, "")?;
        builder.build_return(None)?;
        Ok(wrapper)
    }

    /// The function that one thread of the team runs, and whether it can fail.
    fn team_function(
        &self,
        name: &str,
        parallel: &ParallelLoop,
        captures: &Captures<'ctx>,
    ) -> Emit<(FunctionValue<'ctx>, bool)> {
        let (emitter, pointer, i64) = (self.emitter, self.emitter.pointer(), self.emitter.i64());
        let fixed: [BasicMetadataTypeEnum<'ctx>; 4] =
            [pointer.into(), i64.into(), i64.into(), pointer.into()];
        let types: Vec<_> =
            fixed.into_iter().chain(captures.values.iter().map(|value| value.get_type().into())).collect();
        let ty = emitter.context.void_type().fn_type(&types, false);
        let value = emitter.define(name, ty, Linkage::Internal);
        // Inlined into the wrapper it would lose what its parameters are known for.
        emitter.attribute(value, AttributeLoc::Function, "noinline", 0);
        let handle = value.get_nth_param(0).ok_or_else(|| emitter.defect("a parameter is missing"))?;
        let team = Function::new(emitter, value, handle.into_pointer_value())?;
        let mut index = FIXED;
        for (symbol, _) in &captures.variables {
            team.set_typed_variable(symbol, team.parameter(index)?.into_int_value())?;
            index += 1;
        }
        for buffer in &captures.buffers {
            team.bind_buffer_parameter(*buffer, index)?;
            index += 1;
        }
        team.bind_constants()?;
        team.run_team(parallel)?;
        let fallible = team.fallible.get();
        team.finish(Returns::Nothing)?;
        Ok((value, fallible))
    }

    /// Takes a parameter as the address of a buffer, with what is known of it.
    pub(super) fn bind_buffer_parameter(&self, buffer: BufferId, index: u32) -> Emit<()> {
        let pointer = self.parameter(index)?.into_pointer_value();
        pointer.set_name(&self.emitter.plan.buffer(buffer).name);
        let description = self.emitter.plan.buffer(buffer);
        let alignment = match description.allocation {
            Allocation::Handle | Allocation::Persistent | Allocation::Dynamic | Allocation::Thread => {
                ALIGNMENT
            }
            Allocation::Argument(_) | Allocation::Stack | Allocation::Constant(_) => {
                description.element.lane().component().size() as u32
            }
        };
        self.emitter.attribute(self.value, AttributeLoc::Param(index), "noalias", 0);
        self.emitter.attribute(self.value, AttributeLoc::Param(index), "align", u64::from(alignment));
        self.bind_buffer(buffer, Base::Fixed(pointer));
        Ok(())
    }

    /// The part of one thread: its own buffers, its share of the iterations, its accumulators into their targets.
    fn run_team(&self, parallel: &ParallelLoop) -> Emit<()> {
        for buffer in &parallel.locals {
            self.thread_buffer(*buffer)?;
        }
        let uses = Uses::of_parallel(self.emitter.plan, parallel);
        self.bind_stack_buffers(uses.buffers.iter())?;
        for private in &parallel.privates {
            self.initialise(private)?;
        }
        let space = Space::new(self, parallel)?;
        self.share(parallel, &space)?;
        if !parallel.privates.is_empty() {
            self.critical("GOMP_critical_start")?;
            parallel.privates.iter().try_for_each(|private| self.merge(private))?;
            self.critical("GOMP_critical_end")?;
        }
        Ok(())
    }

    /// Memory of this thread: on the stack if it is small, else allocated.
    fn thread_buffer(&self, id: BufferId) -> Emit<()> {
        const STACK_LIMIT: u64 = 16 << 10;
        let buffer = self.emitter.plan.buffer(id);
        let elements = buffer.size.as_int().and_then(|size| u32::try_from(size).ok());
        if let Some(elements) = elements
            && u64::from(elements) * buffer.element.size() as u64 <= STACK_LIMIT
        {
            let pointer = self.stack_buffer(id, elements)?;
            self.bind_buffer(id, Base::Fixed(pointer));
            return Ok(());
        }
        let slot = self.owned_slot(&buffer.name)?;
        self.allocate_buffer(id, slot)?;
        // From here on the address does not change.
        let pointer = self.load_pointer(slot)?;
        self.bind_buffer(id, Base::Fixed(pointer));
        Ok(())
    }

    fn initialise(&self, private: &Private) -> Emit<()> {
        let buffer = self.emitter.plan.buffer(private.buffer);
        let identity = self.identity(&private.resolution, buffer.element)?;
        let (zero, one) = (self.emitter.constant(0), self.emitter.constant(1));
        let size = self.index(&buffer.size)?;
        self.counted_loop(zero, size, one, false, LoopHints::default(), |index| {
            self.store(&self.place_at(private.buffer, index)?, &identity)
        })
    }

    /// Combines an accumulator into its target; the caller holds the lock.
    fn merge(&self, private: &Private) -> Emit<()> {
        let extents =
            private.target.extents.iter().map(|extent| self.index(extent)).collect::<Emit<Vec<_>>>()?;
        self.merge_dimension(private, &extents, &mut Vec::new(), self.emitter.constant(0))
    }

    fn merge_dimension(
        &self,
        private: &Private,
        extents: &[IntValue<'ctx>],
        indices: &mut Vec<IntValue<'ctx>>,
        position: IntValue<'ctx>,
    ) -> Emit<()> {
        let Some(extent) = extents.get(indices.len()) else {
            let value = self.load(&self.place_at(private.buffer, position)?)?;
            let target = self.strided_place(&private.target, indices)?;
            return self.combine_plain(&target, &value, &private.resolution, None);
        };
        let (zero, one) = (self.emitter.constant(0), self.emitter.constant(1));
        self.counted_loop(zero, *extent, one, false, LoopHints::default(), |index| {
            let row = self.multiply(position, *extent)?;
            let position = self.add(row, index)?;
            indices.push(index);
            self.merge_dimension(private, extents, indices, position)?;
            indices.pop();
            Ok(())
        })
    }

    /// Hands out the iterations of the space, numbered from 0.
    fn share(&self, parallel: &ParallelLoop, space: &Space<'ctx>) -> Emit<()> {
        let (thread, threads) = (self.parameter(1)?.into_int_value(), self.parameter(2)?.into_int_value());
        let chunk = match &parallel.chunk {
            None => None,
            Some(chunk) => Some(self.larger(self.index(chunk)?, self.emitter.constant(1))?),
        };
        let run = |begin, end| self.run_range(parallel, space, begin, end);
        match (parallel.sharing, chunk) {
            (Sharing::Static, None) => {
                // The first `total mod threads` threads do one iteration more.
                let share = self.builder.build_int_unsigned_div(space.total, threads, "")?;
                let rest = self.builder.build_int_unsigned_rem(space.total, threads, "")?;
                let before = self.add(self.multiply(thread, share)?, self.smaller(thread, rest)?)?;
                let one_more = self.compare(IntPredicate::SLT, thread, rest)?;
                let one_more = self.builder.build_int_z_extend(one_more, self.emitter.i64(), "")?;
                run(before, self.add(self.add(before, share)?, one_more)?)
            }
            (Sharing::Static, Some(chunk)) => {
                let begin = self.multiply(thread, chunk)?;
                let step = self.multiply(threads, chunk)?;
                self.counted_loop(begin, space.total, step, false, LoopHints::default(), |begin| {
                    run(begin, self.smaller(self.add(begin, chunk)?, space.total)?)
                })
            }
            (Sharing::Dynamic, chunk) => {
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
            (Sharing::Guided, chunk) => {
                let least = chunk.unwrap_or(self.emitter.constant(1));
                self.take_chunks(space, run, |counter| self.take_guided(counter, space, threads, least))
            }
        }
    }

    /// Takes ranges with `take` and runs them until none is left.
    fn take_chunks(
        &self,
        space: &Space<'ctx>,
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
        space: &Space<'ctx>,
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
    fn run_range(
        &self,
        parallel: &ParallelLoop,
        space: &Space<'ctx>,
        begin: IntValue<'ctx>,
        end: IntValue<'ctx>,
    ) -> Emit<()> {
        let Some((last, outer)) = space.dimensions.split_last() else {
            return self.counted_loop(
                begin,
                end,
                self.emitter.constant(1),
                false,
                LoopHints::default(),
                |_| self.statements(&parallel.body),
            );
        };
        if outer.is_empty() {
            return self.run_row(parallel, last, begin, end);
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
            self.set_variable(&parallel.dimensions[place].variable, value)?;
        }
        let left = self.subtract(end, from)?;
        let length = self.smaller(self.subtract(last.extent, column)?, left)?;
        self.builder.build_store(position, self.add(from, length)?)?;
        self.run_row(parallel, last, column, self.add(column, length)?)?;
        self.jump(next)?;
        self.enter(done);
        Ok(())
    }

    /// Runs positions `begin` to before `end` of the innermost dimension.
    fn run_row(
        &self,
        parallel: &ParallelLoop,
        dimension: &Dimension<'ctx>,
        begin: IntValue<'ctx>,
        end: IntValue<'ctx>,
    ) -> Emit<()> {
        let Some(last) = parallel.dimensions.last() else {
            return Err(self.emitter.defect("a row has a dimension"));
        };
        let hints = LoopHints { parallel_accesses: parallel.independent, ..LoopHints::default() };
        let one = self.emitter.constant(1);
        self.counted_loop(begin, end, one, false, hints, |index| {
            let value = self.add(dimension.begin, self.multiply(index, dimension.step)?)?;
            self.set_variable(&last.variable, value)?;
            self.statements(&parallel.body)
        })
    }
}

/// One dimension of a shared iteration space.
struct Dimension<'ctx> {
    begin: IntValue<'ctx>,
    step: IntValue<'ctx>,
    extent: IntValue<'ctx>,
}

/// A shared iteration space.
struct Space<'ctx> {
    dimensions: Vec<Dimension<'ctx>>,
    /// The number of iterations.
    total: IntValue<'ctx>,
}

impl<'ctx> Space<'ctx> {
    fn new(function: &Function<'_, 'ctx>, parallel: &ParallelLoop) -> Emit<Self> {
        let mut total = function.emitter.constant(1);
        let mut dimensions = Vec::with_capacity(parallel.dimensions.len());
        for dimension in &parallel.dimensions {
            let begin = function.index(&dimension.begin)?;
            let step = function.index(&dimension.step)?;
            let extent = function.extent(dimension, begin)?;
            total = function.multiply(total, extent)?;
            dimensions.push(Dimension { begin, step, extent });
        }
        Ok(Space { dimensions, total })
    }
}
