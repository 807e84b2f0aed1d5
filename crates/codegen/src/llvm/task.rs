//! Tasks that wait for each other: each kind becomes a function that the runtime calls on a separate stack.

use inkwell::IntPredicate;
use inkwell::module::Linkage;
use inkwell::types::StructType;
use inkwell::values::{BasicValueEnum, FunctionValue};

use super::emitter::Emit;
use super::function::{Base, Function, Returns};
use super::stream::Type;
use crate::interface::Status;
use crate::plan::{Captures, TaskKind, Tasks};

impl<'ctx> Function<'_, 'ctx> {
    /// Runs tasks until all are done.
    pub(super) fn tasks(&self, tasks: &Tasks) -> Emit<()> {
        let kinds = &tasks.kinds;
        let (emitter, i32, i64) = (self.emitter, self.emitter.i32(), self.emitter.i64());
        let pointer = emitter.pointer();
        let handle = BasicValueEnum::from(self.handle.get());
        let captured = self.captured(&tasks.captures)?;
        let (environment_type, environment) = self.packed([handle].into_iter().chain(captured))?;
        let kind_type =
            emitter.context.struct_type(&[pointer.into(), i64.into(), pointer.into(), i64.into()], false);
        let table = self.slot(kind_type.array_type(kinds.len() as u32), "kinds")?;
        for (index, kind) in kinds.iter().enumerate() {
            let function = self.task_function(kind, &tasks.captures, environment_type)?;
            let count = match &kind.dimension {
                Some(dimension) => self.extent(dimension, self.index(&dimension.begin)?)?,
                None => emitter.constant(1),
            };
            let positions: Vec<u8> = kind.after.iter().flat_map(|k| (*k as u32).to_le_bytes()).collect();
            let after = emitter.bytes("after", &positions);
            let fields: [BasicValueEnum<'ctx>; 4] = [
                function.as_global_value().as_pointer_value().into(),
                count.into(),
                after.into(),
                emitter.constant(kind.after.len() as i64).into(),
            ];
            let entry = self.address(kind_type, table, emitter.constant(index as i64))?;
            for (field, value) in fields.into_iter().enumerate() {
                let place = self.builder.build_struct_gep(kind_type, entry, field as u32, "")?;
                self.builder.build_store(place, value)?;
            }
        }
        let run = emitter.runtime_function(
            "sdfg_tasks_run",
            Some(Type::Int),
            &[Type::Pointer, Type::Long, Type::Pointer, Type::Pointer, Type::Pointer],
        );
        let number = emitter.constant(kinds.len() as i64);
        let status_address = self.status_address()?;
        let arguments =
            [table.into(), number.into(), environment.into(), status_address.into(), self.task.get().into()];
        let status = self.call(run, &arguments)?.into_int_value();
        let failed = self.compare(IntPredicate::NE, status, i32.const_zero())?;
        self.fail_if(failed, Status::OutOfMemory, "no memory for tasks that wait for each other")?;
        self.fail_as_others_did()
    }

    /// The function that runs one task: of an environment, the number of the task and what the runtime knows it by.
    fn task_function(
        &self,
        kind: &TaskKind,
        captures: &Captures,
        environment_type: StructType<'ctx>,
    ) -> Emit<FunctionValue<'ctx>> {
        let (emitter, pointer) = (self.emitter, self.emitter.pointer());
        let name = format!("{}.task{}", emitter.plan.name, emitter.next_region());
        let parameters = [pointer.into(), emitter.i64().into(), pointer.into()];
        let ty = emitter.context.void_type().fn_type(&parameters, false);
        let value = emitter.define(&name, ty, Linkage::Internal);
        let task = Function::new(emitter, value, pointer.const_null())?;
        task.task.set(task.parameter(2)?.into_pointer_value());
        let memory = task.parameter(0)?.into_pointer_value();
        let mut fields = environment_type.get_field_types().into_iter().enumerate().map(|(index, ty)| {
            let field = task.builder.build_struct_gep(environment_type, memory, index as u32, "")?;
            Ok(task.builder.build_load(ty, field, "")?)
        });
        let mut next = || -> Emit<BasicValueEnum<'ctx>> {
            fields.next().unwrap_or_else(|| Err(emitter.defect("an environment has too few fields")))
        };
        task.handle.set(next()?.into_pointer_value());
        for symbol in &captures.variables {
            task.set_typed_variable(symbol, next()?.into_int_value())?;
        }
        // Other tasks change the same elements while this one waits, so nothing is said of what overlaps.
        for captured in &captures.buffers {
            task.bind_buffer(captured.buffer, Base::Fixed(next()?.into_pointer_value()));
        }
        task.bind_constants()?;
        task.bind_stack_buffers(kind.locals.iter())?;
        task.declare_all(&kind.body)?;
        if let Some(dimension) = &kind.dimension {
            let steps = task.multiply(task.parameter(1)?.into_int_value(), task.index(&dimension.step)?)?;
            let first = task.index(&dimension.begin)?;
            task.set_variable(&dimension.variable, task.add(first, steps)?)?;
        }
        task.statements(&kind.body)?;
        task.finish(Returns::Nothing)?;
        Ok(value)
    }
}
