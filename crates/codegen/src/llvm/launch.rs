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

    /// Runs a loop by the calling thread if there is little work, else by a team of `threads`; 0 is as many as the handle says.
    pub(super) fn launch(
        &self,
        part: PointerValue<'ctx>,
        environment: PointerValue<'ctx>,
        work: IntValue<'ctx>,
        threads: IntValue<'ctx>,
    ) -> Emit<()> {
        let launch = launch_function(self.emitter)?;
        let arguments =
            [self.handle.get().into(), part.into(), environment.into(), work.into(), threads.into()];
        self.perform(launch, &arguments)
    }
}

/// The function of this module that starts loops: of the handle, the loop's function, its environment, the work and the threads.
fn launch_function<'ctx>(emitter: &Emitter<'ctx>) -> Emit<FunctionValue<'ctx>> {
    // No program or C function has a point in its name.
    let name = format!("{}.launch", emitter.plan.name);
    if let Some(function) = emitter.module.get_function(&name) {
        return Ok(function);
    }
    emitter.outside_of_elements(|| write_launch(emitter, &name))
}

fn write_launch<'ctx>(emitter: &Emitter<'ctx>, name: &str) -> Emit<FunctionValue<'ctx>> {
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
    f.branch(f.is_little(work)?, alone, together)?;
    f.enter(alone);
    let arguments = [environment.into(), emitter.constant(0).into(), emitter.constant(1).into()];
    f.builder.build_indirect_call(emitter.part_type(), part, &arguments, "")?;
    f.jump(done)?;
    f.enter(together);
    let (_, team) = f.packed([part.into(), environment.into()])?;
    let is_default = f.compare(IntPredicate::EQ, asked, i32.const_zero())?;
    let threads = f.select_int(is_default, f.handle_threads()?, asked)?;
    let fork =
        emitter.declare("GOMP_parallel", None, &[pointer.into(), pointer.into(), i32.into(), i32.into()]);
    let member = member_function(emitter)?.as_global_value().as_pointer_value();
    f.perform(fork, &[member.into(), team.into(), threads.into(), i32.const_zero().into()])?;
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
