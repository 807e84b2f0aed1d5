//! Start of team loops: on the calling thread if there is little work, otherwise through the OpenMP runtime.
//!
//! All loops of a program share the required code. Otherwise this code would dominate programs with hundreds
//! of small loops.

use inkwell::IntPredicate;
use inkwell::module::Linkage;
use inkwell::types::{BasicTypeEnum, FunctionType, StructType};
use inkwell::values::{BasicMetadataValueEnum, FunctionValue, IntValue, PointerValue};

use super::emitter::{Emit, Emitter};
use super::function::Function;

impl<'ctx> Emitter<'ctx> {
    /// The type of the functions that do a thread's part of a loop: environment, number of the thread, number of threads.
    pub(super) fn part_type(&self) -> FunctionType<'ctx> {
        let parameters = [self.pointer().into(), self.i64().into(), self.i64().into()];
        self.context.void_type().fn_type(&parameters, false)
    }

    /// Argument of the OpenMP runtime for the threads of a team: the function of the loop and its
    /// environment.
    fn team_type(&self) -> StructType<'ctx> {
        let fields: [BasicTypeEnum<'ctx>; 2] = [self.pointer().into(), self.pointer().into()];
        self.context.struct_type(&fields, false)
    }
}

impl<'ctx> Function<'_, 'ctx> {
    /// Whether so much work, as an unsigned number, is too little for a team.
    pub(super) fn is_little(&self, work: IntValue<'ctx>) -> Emit<IntValue<'ctx>> {
        let threshold = self.emitter.i64().const_int(self.emitter.plan.threshold, false);
        self.compare(IntPredicate::ULT, work, threshold)
    }

    /// Runs a loop by the calling thread if there is little work, else by a team of `threads`; 0 is as many as the handle says. A `nested`
    /// team may be inside of other ones.
    pub(super) fn launch(
        &self,
        (part, environment): (PointerValue<'ctx>, PointerValue<'ctx>),
        work: IntValue<'ctx>,
        threads: IntValue<'ctx>,
        nested: bool,
    ) -> Emit<()> {
        let launch = launch_function(self.emitter, nested)?;
        let arguments =
            [self.handle.get().into(), part.into(), environment.into(), work.into(), threads.into()];
        self.perform(launch, &arguments)
    }
}

impl<'ctx> Function<'_, 'ctx> {
    /// Emits code while the OpenMP runtime permits teams that are one level deeper than the calling thread. By default, it permits one
    /// level. The setting belongs to the thread's own task, and is put back.
    fn with_another_level(&self, inside: impl FnOnce() -> Emit<()>) -> Emit<()> {
        let emitter = self.emitter;
        let ask = |name: &str| -> Emit<IntValue<'ctx>> {
            let function = emitter.declare(name, Some(emitter.i32().into()), &[]);
            let number = self.builder.build_call(function, &[], "")?.try_as_basic_value().basic();
            Ok(number.ok_or_else(|| emitter.defect("the runtime returns a number"))?.into_int_value())
        };
        let set = emitter.declare("omp_set_max_active_levels", None, &[emitter.i32().into()]);
        let (level, most) = (ask("omp_get_active_level")?, ask("omp_get_max_active_levels")?);
        let needed = self.builder.build_int_add(level, emitter.i32().const_int(1, false), "")?;
        // Where no thread is around, the loop is an outermost one, and settings of the user count.
        let is_inside = self.compare(IntPredicate::SGT, level, emitter.i32().const_zero())?;
        let is_deeper = self.compare(IntPredicate::SGT, needed, most)?;
        let raises = self.builder.build_and(is_inside, is_deeper, "")?;
        self.when(raises, || self.perform(set, &[needed.into()]))?;
        inside()?;
        self.when(raises, || self.perform(set, &[most.into()]))
    }
}

/// The function of this module that starts loops: of the handle, the loop's function, its environment, the work and the threads.
fn launch_function<'ctx>(emitter: &Emitter<'ctx>, nested: bool) -> Emit<FunctionValue<'ctx>> {
    // No program or C function has a point in its name.
    let name = format!("{}.launch{}", emitter.plan.name, if nested { ".nested" } else { "" });
    if let Some(function) = emitter.module.get_function(&name) {
        return Ok(function);
    }
    emitter.outside_of_elements(|| write_launch(emitter, &name, nested))
}

fn write_launch<'ctx>(emitter: &Emitter<'ctx>, name: &str, nested: bool) -> Emit<FunctionValue<'ctx>> {
    let (pointer, i32, i64) = (emitter.pointer(), emitter.i32(), emitter.i64());
    let parameters = [pointer.into(), pointer.into(), pointer.into(), i64.into(), i32.into()];
    let ty = emitter.context.void_type().fn_type(&parameters, false);
    let value = emitter.define(name, ty, Linkage::Internal);
    emitter.mark_cold(value);
    let f = Function::new(emitter, value, emitter.pointer().const_null())?;
    f.handle.set(f.parameter(0)?.into_pointer_value());
    let (part, environment) = (f.parameter(1)?.into_pointer_value(), f.parameter(2)?.into_pointer_value());
    let (work, asked) = (f.parameter(3)?.into_int_value(), f.parameter(4)?.into_int_value());
    let (alone, together, done) = (f.block("alone"), f.block("together"), f.block("done"));
    let is_default = f.compare(IntPredicate::EQ, asked, i32.const_zero())?;
    let threads = f.select_int(is_default, f.handle_threads()?, asked)?;
    // The runtime makes and ends a team of one thread as it does larger ones, which takes a microsecond.
    let one = i32.const_int(1, false);
    let is_one = if nested {
        f.compare(IntPredicate::SLE, asked, one)?
    } else {
        f.compare(IntPredicate::EQ, threads, one)?
    };
    let by_one = f.builder.build_or(f.is_little(work)?, is_one, "")?;
    f.branch(by_one, alone, together)?;
    f.enter(alone);
    let arguments = [environment.into(), emitter.constant(0).into(), emitter.constant(1).into()];
    f.builder.build_indirect_call(emitter.part_type(), part, &arguments, "")?;
    f.jump(done)?;
    f.enter(together);
    let (_, team) = f.packed([part.into(), environment.into()])?;
    let fork =
        emitter.declare("GOMP_parallel", None, &[pointer.into(), pointer.into(), i32.into(), i32.into()]);
    let member = member_function(emitter)?.as_global_value().as_pointer_value();
    let fork = || f.perform(fork, &[member.into(), team.into(), threads.into(), i32.const_zero().into()]);
    if nested {
        f.with_another_level(fork)?
    } else {
        fork()?
    }
    f.jump(done)?;
    f.enter(done);
    f.finish(super::function::Returns::Nothing)?;
    Ok(value)
}

/// The function that the OpenMP runtime calls in every thread.
fn member_function<'ctx>(emitter: &Emitter<'ctx>) -> Emit<FunctionValue<'ctx>> {
    let i32 = emitter.i32();
    let ty = emitter.context.void_type().fn_type(&[emitter.pointer().into()], false);
    let member = emitter.define(&format!("{}.member", emitter.plan.name), ty, Linkage::Internal);
    emitter.mark_cold(member);
    let builder = emitter.context.create_builder();
    builder.position_at_end(emitter.context.append_basic_block(member, "entry"));
    let team = member.get_nth_param(0).ok_or_else(|| emitter.defect("a parameter is missing"))?;
    let team_type = emitter.team_type();
    let field = |index| -> Emit<PointerValue<'ctx>> {
        let field = builder.build_struct_gep(team_type, team.into_pointer_value(), index, "")?;
        Ok(builder.build_load(emitter.pointer(), field, "")?.into_pointer_value())
    };
    let (part, environment) = (field(0)?, field(1)?);
    let ask = |name| -> Emit<IntValue<'ctx>> {
        let function = emitter.declare(name, Some(i32.into()), &[]);
        let number = builder.build_call(function, &[], "")?.try_as_basic_value().basic();
        let number = number.ok_or_else(|| emitter.defect("the runtime returns a number"))?.into_int_value();
        Ok(builder.build_int_s_extend(number, emitter.i64(), "")?)
    };
    let (thread, threads) = (ask("omp_get_thread_num")?, ask("omp_get_num_threads")?);
    let arguments: [BasicMetadataValueEnum<'ctx>; 3] = [environment.into(), thread.into(), threads.into()];
    builder.build_indirect_call(emitter.part_type(), part, &arguments, "")?;
    builder.build_return(None)?;
    Ok(member)
}
