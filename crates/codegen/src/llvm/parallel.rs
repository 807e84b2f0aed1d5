//! Loops that a team of threads shares.
//!
//! The loop becomes an outlined function whose parameters are the buffers that it uses. Parameters can be
//! marked `noalias`; the optimiser could not derive that for addresses loaded from a structure. The OpenMP
//! runtime calls a small function that unpacks such a structure (`launch`). A loop with little work calls the
//! outlined function directly. At the fast level, where code size matters more, `launch` makes that decision.

use inkwell::IntPredicate;
use inkwell::attributes::AttributeLoc;
use inkwell::module::Linkage;
use inkwell::types::{BasicMetadataTypeEnum, StructType};
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, FunctionValue, IntValue, PointerValue};
use sdfg::ir::OpenMpSchedule;
use sdfg::symbolic::Expr;

use super::emitter::Emit;
use super::function::{Base, Function, Returns};
use super::memory::ALIGNMENT;
use super::metadata::LoopHints;
use super::options::OptLevel;
use super::worksharing::IterationSpace;
use crate::plan::{
    Allocation, BufferId, Loop, OrderedChunks, PrivateAccumulator, PrivateCopies, Start, Team,
};

/// Parameters of every team function before the captures: handle, thread number, number of threads, shared counter.
const FIXED: u32 = 4;

/// A loop of a team, with what belongs to the team.
#[derive(Clone, Copy)]
pub(super) struct TeamLoop<'p> {
    pub(super) each: &'p Loop,
    pub(super) team: &'p Team,
}

/// A loop as a function, with what it is called with.
struct Outlined<'l, 'ctx> {
    name: &'l str,
    team: FunctionValue<'ctx>,
    counter: PointerValue<'ctx>,
    /// Its captures, as values in the enclosing function.
    captured: &'l [BasicValueEnum<'ctx>],
}

impl<'ctx> Function<'_, 'ctx> {
    pub(super) fn parallel_loop(&self, parallel: TeamLoop<'_>) -> Emit<()> {
        let captured = self.captured(&parallel.team.captures)?;
        let name = format!("{}.parallel{}", self.emitter.plan.name, self.emitter.next_region());
        let (team, fallible) = self.team_function(&name, parallel, &captured)?;
        let counter = self.shared_counter(parallel)?;
        let of_loop = Outlined { name: &name, team, counter, captured: &captured };
        let is_quick = self.emitter.options.level == OptLevel::Quick;
        let work = match &parallel.team.start {
            Start::Never => None,
            // Never less than any threshold.
            Start::Always => Some(self.emitter.i64().const_all_ones()),
            Start::Worth(work) => Some(self.larger(self.size(work)?, self.emitter.constant(0))?),
        };
        let nested = parallel.team.nested.is_some();
        match (work, parallel.team.threads.as_ref().or(parallel.team.nested.as_ref())) {
            (None, _) => self.run_alone(&of_loop)?,
            (Some(work), None) if is_quick => {
                self.run_by_team(&of_loop, work, self.emitter.i32().const_zero(), nested)?;
            }
            (Some(work), threads) => {
                // A loop with little work costs no more than a call.
                let (alone, together, done) =
                    (self.block("alone"), self.block("together"), self.block("done"));
                self.branch(self.is_little(work)?, alone, together)?;
                self.enter(alone);
                self.run_alone(&of_loop)?;
                self.jump(done)?;
                self.enter(together);
                let threads = match threads {
                    None => self.emitter.i32().const_zero(),
                    Some(threads) => self.asked_threads(parallel, threads)?,
                };
                self.run_by_team(&of_loop, self.emitter.i64().const_all_ones(), threads, nested)?;
                self.jump(done)?;
                self.enter(done);
            }
        }
        if fallible { self.fail_as_others_did() } else { Ok(()) }
    }

    /// Runs a loop by the calling thread.
    fn run_alone(&self, of_loop: &Outlined<'_, 'ctx>) -> Emit<()> {
        let (thread, threads) = (self.emitter.constant(0), self.emitter.constant(1));
        let fixed: [BasicMetadataValueEnum<'ctx>; 4] =
            [self.handle.get().into(), thread.into(), threads.into(), of_loop.counter.into()];
        let captured = of_loop.captured.iter().map(|value| BasicMetadataValueEnum::from(*value));
        let arguments: Vec<_> = fixed.into_iter().chain(captured).collect();
        self.perform(of_loop.team, &arguments)
    }

    /// Has a loop run by a team, or by the calling thread if so much work is too little for one.
    fn run_by_team(
        &self,
        of_loop: &Outlined<'_, 'ctx>,
        work: IntValue<'ctx>,
        threads: IntValue<'ctx>,
        nested: bool,
    ) -> Emit<()> {
        let fixed: [BasicValueEnum<'ctx>; 2] = [self.handle.get().into(), of_loop.counter.into()];
        let values = fixed.into_iter().chain(of_loop.captured.iter().copied());
        let (environment_type, environment) = self.packed(values)?;
        let part = self.part_function(of_loop.name, of_loop.team, environment_type)?;
        let part = part.as_global_value().as_pointer_value();
        self.launch((part, environment), work, threads, nested)
    }

    /// Counter through which threads request iterations or wait for their turn to merge; null if none do.
    fn shared_counter(&self, parallel: TeamLoop<'_>) -> Emit<PointerValue<'ctx>> {
        if parallel.team.sharing == OpenMpSchedule::Static && parallel.team.in_order.is_none() {
            return Ok(self.emitter.pointer().const_null());
        }
        let counter = self.slot(self.emitter.i64(), "counter")?;
        self.builder.build_store(counter, self.emitter.constant(0))?;
        Ok(counter)
    }

    /// The number of threads that a loop asks for: 0 would be the runtime's default, a number below one is one. More threads than
    /// iterations have nothing to do, and the runtime ends the process where it cannot start them.
    fn asked_threads(&self, parallel: TeamLoop<'_>, threads: &Expr) -> Emit<IntValue<'ctx>> {
        let most = self.smaller(
            IterationSpace::new(self, parallel)?.total(),
            self.emitter.constant(i64::from(i32::MAX)),
        )?;
        let threads = self.smaller(self.index(threads)?, most)?;
        let threads = self.larger(threads, self.emitter.constant(1))?;
        Ok(self.builder.build_int_truncate(threads, self.emitter.i32(), "")?)
    }

    /// The function of a loop that has what every loop's has as parameters: an environment, the thread and how many there are.
    fn part_function(
        &self,
        name: &str,
        team: FunctionValue<'ctx>,
        environment_type: StructType<'ctx>,
    ) -> Emit<FunctionValue<'ctx>> {
        let emitter = self.emitter;
        let part = emitter.define(&format!("{name}.part"), emitter.part_type(), Linkage::Internal);
        emitter.mark_cold(part);
        let builder = emitter.context.create_builder();
        builder.position_at_end(emitter.context.append_basic_block(part, "entry"));
        let parameter =
            |index| part.get_nth_param(index).ok_or_else(|| emitter.defect("a parameter is missing"));
        let environment = parameter(0)?.into_pointer_value();
        let mut fields = Vec::new();
        for (index, ty) in environment_type.get_field_types().into_iter().enumerate() {
            let field = builder.build_struct_gep(environment_type, environment, index as u32, "")?;
            fields.push(builder.build_load(ty, field, "")?.into());
        }
        let [handle, counter, captured @ ..] = fields.as_slice() else {
            return Err(emitter.defect("an environment begins with handle and counter"));
        };
        let fixed: [BasicMetadataValueEnum<'ctx>; 4] =
            [*handle, parameter(1)?.into(), parameter(2)?.into(), *counter];
        let arguments: Vec<_> = fixed.into_iter().chain(captured.iter().copied()).collect();
        builder.build_call(team, &arguments, "")?;
        builder.build_return(None)?;
        Ok(part)
    }

    /// The function that one thread of the team runs, and whether it can fail.
    fn team_function(
        &self,
        name: &str,
        parallel: TeamLoop<'_>,
        captured: &[BasicValueEnum<'ctx>],
    ) -> Emit<(FunctionValue<'ctx>, bool)> {
        let (emitter, pointer, i64) = (self.emitter, self.emitter.pointer(), self.emitter.i64());
        let fixed: [BasicMetadataTypeEnum<'ctx>; 4] =
            [pointer.into(), i64.into(), i64.into(), pointer.into()];
        let types: Vec<_> =
            fixed.into_iter().chain(captured.iter().map(|value| value.get_type().into())).collect();
        let ty = emitter.context.void_type().fn_type(&types, false);
        let value = emitter.define(name, ty, Linkage::Internal);
        // Inlined into the wrapper it would lose what its parameters are known for.
        emitter.attribute(value, AttributeLoc::Function, "noinline", 0);
        let handle = value.get_nth_param(0).ok_or_else(|| emitter.defect("a parameter is missing"))?;
        let team = Function::new(emitter, value, handle.into_pointer_value())?;
        let mut index = FIXED;
        let captures = &parallel.team.captures;
        for symbol in &captures.variables {
            team.set_typed_variable(symbol, team.parameter(index)?.into_int_value())?;
            index += 1;
        }
        for captured in &captures.buffers {
            team.bind_buffer_parameter(captured.buffer, index, captured.contested)?;
            index += 1;
        }
        team.bind_constants()?;
        match parallel.team.part {
            Some(part) => team.timed(part, || team.run_team(parallel))?,
            None => team.run_team(parallel)?,
        }
        let fallible = team.fallible.get();
        team.finish(Returns::Nothing)?;
        Ok((value, fallible))
    }

    /// Takes a parameter as the address of a buffer, with what is known of it.
    ///
    /// The elements of a `contested` buffer are changed by other threads while the function runs, or have another name in it: were it
    /// `noalias`, the optimiser could keep an element in a register across the lock that guards it.
    pub(super) fn bind_buffer_parameter(&self, buffer: BufferId, index: u32, contested: bool) -> Emit<()> {
        let pointer = self.parameter(index)?.into_pointer_value();
        pointer.set_name(&self.emitter.plan.buffer(buffer).name);
        let description = self.emitter.plan.buffer(buffer);
        let alignment = match description.allocation {
            Allocation::Handle
            | Allocation::Persistent
            | Allocation::Dynamic
            | Allocation::Queues { .. }
            | Allocation::Thread => ALIGNMENT,
            Allocation::Argument(_)
            | Allocation::Stack
            | Allocation::Reference(_)
            | Allocation::Constant(_) => description.element.lane().component().size() as u32,
        };
        if !contested && !self.is_stream(buffer) {
            self.emitter.attribute(self.value, AttributeLoc::Param(index), "noalias", 0);
        }
        self.emitter.attribute(self.value, AttributeLoc::Param(index), "align", u64::from(alignment));
        self.bind_buffer(buffer, Base::Fixed(pointer));
        Ok(())
    }

    /// The part of one thread: its own buffers, its share of the iterations, its accumulators into their targets.
    fn run_team(&self, parallel: TeamLoop<'_>) -> Emit<()> {
        for buffer in &parallel.team.locals {
            self.thread_buffer(*buffer)?;
        }
        let collectors = self.open_collectors(&parallel.team.collected)?;
        let accumulators = parallel.team.privates.iter().map(|private| &private.buffer);
        self.bind_stack_buffers(accumulators.chain(&parallel.team.captures.stack))?;
        self.declare_all(&parallel.each.body)?;
        let space = IterationSpace::new(self, parallel)?;
        let in_order = parallel.team.in_order;
        if let Some(order @ OrderedChunks { accumulators: true, .. }) = in_order {
            return self.share_in_order(parallel, &space, &collectors, order);
        }
        for private in &parallel.team.privates {
            self.initialise(private)?;
        }
        match in_order {
            Some(order) => self.share_in_order(parallel, &space, &collectors, order)?,
            None => {
                self.share(parallel, &space)?;
                collectors.iter().try_for_each(|collector| self.append_collected(collector))?;
            }
        }
        if !parallel.team.privates.is_empty() {
            // A thread that is alone shares its targets with nobody, unless there are threads around it.
            let threads = self.parameter(2)?.into_int_value();
            let least = i64::from(parallel.team.nested.is_none());
            let has_others = self.compare(IntPredicate::SGT, threads, self.emitter.constant(least))?;
            self.when(has_others, || self.critical("GOMP_critical_start"))?;
            parallel.team.privates.iter().try_for_each(|private| self.merge(private))?;
            self.when(has_others, || self.critical("GOMP_critical_end"))?;
        }
        Ok(())
    }

    /// Memory of this thread: on its stack or allocated.
    fn thread_buffer(&self, id: BufferId) -> Emit<()> {
        let buffer = self.emitter.plan.buffer(id);
        if buffer.space == crate::plan::Space::Stack {
            let elements = buffer.size.as_int().and_then(|size| u32::try_from(size).ok());
            let message = || self.emitter.defect(format!("`{}` has no constant size", buffer.name));
            let elements = elements.ok_or_else(message)?;
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

    pub(super) fn initialise(&self, private: &PrivateAccumulator) -> Emit<()> {
        let buffer = self.emitter.plan.buffer(private.buffer);
        let identity = self.identity(&private.resolution, buffer.element)?;
        let (zero, one) = (self.emitter.constant(0), self.emitter.constant(1));
        let size = self.index(&buffer.size)?;
        self.counted_loop(zero, size, one, false, LoopHints::default(), |index| {
            self.store(&self.place_at(private.buffer, index)?, &identity)
        })
    }

    /// Combines an accumulator into its target; no other thread does so meanwhile.
    pub(super) fn merge(&self, private: &PrivateAccumulator) -> Emit<()> {
        let extents =
            private.target.extents.iter().map(|extent| self.index(extent)).collect::<Emit<Vec<_>>>()?;
        let (zero, one) = (self.emitter.constant(0), self.emitter.constant(1));
        let Some(PrivateCopies { count, stride }) = private.copies else {
            return self.merge_dimension(private, &extents, &mut Vec::new(), (zero, zero));
        };
        let copies = self.emitter.constant(i64::from(count));
        self.counted_loop(zero, copies, one, false, LoopHints::default(), |copy| {
            let first = self.multiply(copy, self.emitter.constant(stride))?;
            self.merge_dimension(private, &extents, &mut Vec::new(), (first, zero))
        })
    }

    /// Goes through the dimensions behind `indices` of the accumulator that starts at element `first`; `position` is the number of the indices
    /// so far among all of these dimensions, in row-major order.
    fn merge_dimension(
        &self,
        private: &PrivateAccumulator,
        extents: &[IntValue<'ctx>],
        indices: &mut Vec<IntValue<'ctx>>,
        (first, position): (IntValue<'ctx>, IntValue<'ctx>),
    ) -> Emit<()> {
        let Some(extent) = extents.get(indices.len()) else {
            let element = self.add(first, position)?;
            let value = self.load(&self.place_at(private.buffer, element)?)?;
            let target = self.strided_place(&private.target, indices)?;
            return self.combine_plain(&target, &value, &private.resolution, None);
        };
        let (zero, one) = (self.emitter.constant(0), self.emitter.constant(1));
        self.counted_loop(zero, *extent, one, false, LoopHints::default(), |index| {
            let row = self.multiply(position, *extent)?;
            let position = self.add(row, index)?;
            indices.push(index);
            self.merge_dimension(private, extents, indices, (first, position))?;
            indices.pop();
            Ok(())
        })
    }
}
