//! Exported functions of a program: create, run, error, destroy, one shot and invoke.
//!
//! All state is in the handle, which generated code allocates. This module alone defines the layout of the
//! handle.

use inkwell::AtomicOrdering;
use inkwell::IntPredicate;
use inkwell::attributes::AttributeLoc;
use inkwell::module::Linkage;
use inkwell::types::{BasicMetadataTypeEnum, BasicType, BasicTypeEnum, StructType};
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, FunctionValue, IntValue, PointerValue};
use sdfg::dtype::ScalarType;
use sdfg::value::Value;

use super::check::MESSAGE;
use super::emitter::{Emit, Emitter};
use super::function::{Base, Function, Returns};
use super::multiversion::Called;
use super::stream::Type;
use crate::interface::{Argument, EntryPoint, Interface, Status};
use crate::plan::{Allocation, Buffer, BufferId, Captured, PassedAs};

/// Fields of the handle.
const ERROR: u32 = 0;
const THREADS: u32 = 1;
const STATUS: u32 = 2;
/// Address and size in bytes of the arena.
const ARENA: u32 = 3;
/// The first of the fields that hold address and size in bytes of a persistent buffer.
const BUFFERS: u32 = 4;

impl<'ctx> Emitter<'ctx> {
    fn handle_type(&self) -> StructType<'ctx> {
        let mut fields: Vec<BasicTypeEnum<'ctx>> =
            vec![self.pointer().into(), self.i32().into(), self.i32().into()];
        let memory = BasicTypeEnum::from(self.memory_type());
        fields.push(memory);
        fields.extend(self.plan.persistent_buffers().map(|_| memory));
        if self.plan.checked {
            fields.push(self.context.i8_type().array_type(MESSAGE).into());
        }
        fields.extend((!self.versions().is_empty()).then(|| BasicTypeEnum::from(self.i32())));
        fields.extend(self.plan.callbacks.iter().map(|_| BasicTypeEnum::from(self.pointer())));
        // Last, so that the others are where they are without it.
        fields.extend(self.plan.profile.iter().map(|_| BasicTypeEnum::from(self.pointer())));
        self.context.struct_type(&fields, false)
    }

    /// Address and size in bytes of memory in the handle.
    fn memory_type(&self) -> StructType<'ctx> {
        self.context.struct_type(&[self.pointer().into(), self.i64().into()], false)
    }

    /// The type of an argument in the C signature.
    fn argument_type(&self, argument: &Argument) -> Emit<BasicTypeEnum<'ctx>> {
        let element = argument.element();
        if argument.by_pointer() {
            Ok(self.pointer().into())
        } else if element.lane() == ScalarType::F16 {
            // Its bits, as the header says.
            Ok(self.context.i16_type().into())
        } else {
            self.component_type(element.lane())
        }
    }

    /// Writes every exported function, and by that the whole program.
    pub(super) fn program(&self, interface: &Interface) -> Emit<()> {
        let run = self.run_function(interface)?;
        let create = self.create_function(interface)?;
        let destroy = self.destroy_function(interface)?;
        self.error_function(interface)?;
        self.one_shot_function(interface, create, run, destroy)?;
        self.invoke_function(interface, run)?;
        if !interface.callbacks().is_empty() {
            self.stop_function(interface)?;
        }
        if self.plan.profile.is_some() { self.profile_function(interface) } else { Ok(()) }
    }

    pub(super) fn exported(
        &self,
        interface: &Interface,
        entry: EntryPoint,
        result: Option<BasicTypeEnum<'ctx>>,
        parameters: &[BasicMetadataTypeEnum<'ctx>],
    ) -> FunctionValue<'ctx> {
        let ty = match result {
            Some(result) => result.fn_type(parameters, false),
            None => self.context.void_type().fn_type(parameters, false),
        };
        let function = self.define(&interface.symbol(entry), ty, Linkage::External);
        self.mark_cold(function);
        function
    }

    fn null(&self) -> PointerValue<'ctx> {
        self.pointer().const_null()
    }

    /// `NAME_create(configuration, handle out)`.
    fn create_function(&self, interface: &Interface) -> Emit<FunctionValue<'ctx>> {
        let (pointer, i32, i64) = (self.pointer(), self.i32(), self.i64());
        let value =
            self.exported(interface, EntryPoint::Create, Some(i32.into()), &[pointer.into(), pointer.into()]);
        let f = Function::new(self, value, self.null())?;
        let configuration = f.parameter(0)?.into_pointer_value();
        let out = f.parameter(1)?.into_pointer_value();
        let return_if = |condition: IntValue<'ctx>, status: Status| -> Emit<()> {
            f.builder.build_store(f.status, i32.const_int(status.code() as u64, false))?;
            f.exit_if(condition)?;
            f.builder.build_store(f.status, i32.const_zero())?;
            Ok(())
        };
        return_if(f.builder.build_is_null(out, "")?, Status::InvalidArgument)?;
        f.builder.build_store(out, pointer.const_null())?;

        // A configuration of an older caller is shorter; what it does not have keeps its default.
        let default = self.options.threads.map_or(0, std::num::NonZeroU32::get);
        let threads = f.slot(i32, "threads")?;
        f.builder.build_store(threads, i32.const_int(u64::from(default), false))?;
        let given = f.builder.build_is_not_null(configuration, "")?;
        let layout = self.context.struct_type(&[i64.into(), i32.into()], false);
        f.when(given, || {
            let size = f.builder.build_load(i64, configuration, "size")?.into_int_value();
            let broken = f.compare(IntPredicate::ULT, size, self.constant(8))?;
            return_if(broken, Status::InvalidConfiguration)?;
            let has_threads = f.compare(IntPredicate::UGE, size, self.constant(12))?;
            f.when(has_threads, || {
                let field = f.builder.build_struct_gep(layout, configuration, 1, "")?;
                let asked = f.builder.build_load(i32, field, "")?.into_int_value();
                let negative = f.compare(IntPredicate::SLT, asked, i32.const_zero())?;
                return_if(negative, Status::InvalidConfiguration)?;
                let some = f.compare(IntPredicate::NE, asked, i32.const_zero())?;
                f.when(some, || {
                    f.builder.build_store(threads, asked)?;
                    Ok(())
                })
            })
        })?;

        let version = match self.versions() {
            [] => None,
            [..] => {
                let version = f.best_version()?;
                let none = f.compare(IntPredicate::SLT, version, i32.const_zero())?;
                return_if(none, Status::UnsupportedProcessor)?;
                Some(version)
            }
        };
        let handle_type = self.handle_type();
        let calloc = self.declare("calloc", Some(pointer.into()), &[i64.into(), i64.into()]);
        let size = handle_type.size_of().ok_or_else(|| self.defect("the handle has a size"))?;
        let handle = f.call(calloc, &[self.constant(1).into(), size.into()])?.into_pointer_value();
        return_if(f.builder.build_is_null(handle, "")?, Status::OutOfMemory)?;
        f.handle.set(handle);
        f.builder.build_store(f.handle_field(ERROR)?, self.text(""))?;
        let threads = f.builder.build_load(i32, threads, "")?;
        f.builder.build_store(f.handle_field(THREADS)?, threads)?;
        if let Some(version) = version {
            f.builder.build_store(f.version_field()?, version)?;
        }
        if let Some(profile) = &self.plan.profile {
            f.open_profile(profile)?;
        }
        f.builder.build_store(out, handle)?;
        f.finish(Returns::Status)?;
        Ok(value)
    }

    /// `NAME_destroy(handle)`.
    fn destroy_function(&self, interface: &Interface) -> Emit<FunctionValue<'ctx>> {
        let value = self.exported(interface, EntryPoint::Destroy, None, &[self.pointer().into()]);
        let f = Function::new(self, value, self.null())?;
        f.handle.set(f.parameter(0)?.into_pointer_value());
        let given = f.builder.build_is_not_null(f.handle.get(), "")?;
        f.when(given, || {
            f.free(f.load_pointer(f.arena_field(0)?)?)?;
            for (index, buffer) in self.plan.persistent_buffers().enumerate() {
                let address = f.load_pointer(f.memory_field(BUFFERS + index as u32, 0)?)?;
                if f.is_stream(buffer) { f.close_stream(address)? } else { f.free(address)? }
            }
            if self.plan.profile.is_some() {
                f.close_profile()?;
            }
            f.free(f.handle.get())
        })?;
        f.finish(Returns::Nothing)?;
        Ok(value)
    }

    /// `NAME_error(handle)`.
    fn error_function(&self, interface: &Interface) -> Emit<()> {
        let pointer = self.pointer();
        let value = self.exported(interface, EntryPoint::Error, Some(pointer.into()), &[pointer.into()]);
        let f = Function::new(self, value, self.null())?;
        f.handle.set(f.parameter(0)?.into_pointer_value());
        let text = f.slot(pointer, "text")?;
        f.builder.build_store(text, self.text("the handle is NULL"))?;
        let given = f.builder.build_is_not_null(f.handle.get(), "")?;
        f.when(given, || {
            let error = f.load_pointer(f.handle_field(ERROR)?)?;
            f.builder.build_store(text, error)?;
            Ok(())
        })?;
        f.finish(Returns::Slot(text, pointer.into()))
    }

    /// `NAME_run(handle, arguments...)`: checks, memory of the handle, then the program's body.
    fn run_function(&self, interface: &Interface) -> Emit<FunctionValue<'ctx>> {
        let mut parameters: Vec<BasicMetadataTypeEnum<'ctx>> = vec![self.pointer().into()];
        for argument in interface.arguments() {
            parameters.push(self.argument_type(argument)?.into());
        }
        parameters.extend(interface.callbacks().iter().map(|_| BasicMetadataTypeEnum::from(self.pointer())));
        let value = self.exported(interface, EntryPoint::Run, Some(self.i32().into()), &parameters);
        let f = Function::new(self, value, self.null())?;
        let handle = f.parameter(0)?.into_pointer_value();
        f.handle.set(handle);
        let no_handle = f.builder.build_is_null(handle, "")?;
        let code = self.i32().const_int(Status::InvalidArgument.code() as u64, false);
        f.builder.build_store(f.status, code)?;
        f.exit_if(no_handle)?;
        f.builder.build_store(f.status, self.i32().const_zero())?;
        f.builder.build_store(f.handle_field(ERROR)?, self.text(""))?;
        f.builder.build_store(f.handle_field(STATUS)?, self.i32().const_zero())?;

        let containers = self.plan.arguments.len();
        for (index, symbol) in self.plan.symbols.iter().enumerate() {
            let value = f.parameter((1 + containers + index) as u32)?.into_int_value();
            f.set_typed_variable(&symbol.name, value)?;
            if symbol.non_negative {
                let wide = f.variable(&symbol.name)?;
                let negative = f.compare(IntPredicate::SLT, wide, self.constant(0))?;
                f.fail_if(negative, Status::InvalidArgument, &format!("`{}` is negative", symbol.name))?;
            }
        }
        for (index, argument) in self.plan.arguments.iter().enumerate() {
            f.bind_argument(argument.buffer, argument.by_value, (1 + index) as u32)?;
        }
        let n_arguments = interface.arguments().len();
        for (index, callback) in interface.callbacks().iter().enumerate() {
            let function = f.parameter((1 + n_arguments + index) as u32)?.into_pointer_value();
            let missing = f.builder.build_is_null(function, "")?;
            f.fail_if(
                missing,
                Status::InvalidArgument,
                &format!("the callback `{}` is NULL", callback.name),
            )?;
            f.builder.build_store(f.callback_field(index)?, function)?;
        }
        f.refuse_overlaps()?;
        let queues = f.receive_queues()?;
        for (index, buffer) in self.plan.persistent_buffers().enumerate() {
            f.bind_persistent(buffer, BUFFERS + index as u32)?;
        }
        f.bind_arena()?;
        f.call_version(|suffix| self.body_function(&f, suffix))?;
        f.forget_streams()?;
        f.hand_back(&queues)?;
        f.finish(Returns::Status)?;
        Ok(value)
    }

    /// The function with the program's statements, and its arguments in `outer`: all memory comes as parameters that are
    /// known not to overlap. Buffers that share a slot are one parameter, so that their accesses keep their order.
    /// `suffix` tells its versions apart.
    fn body_function(&self, outer: &Function<'_, 'ctx>, suffix: &str) -> Emit<Called<'ctx>> {
        let captures = &self.plan.captures;
        let slots = self.plan.slot_of_buffers();
        let mut parameters: Vec<(Option<usize>, Vec<Captured>)> = Vec::new();
        for captured in &captures.buffers {
            let slot = slots.get(&captured.buffer).copied();
            match parameters.iter_mut().find(|(other, _)| slot.is_some() && *other == slot) {
                Some((_, sharing)) => sharing.push(*captured),
                None => parameters.push((slot, vec![*captured])),
            }
        }
        let mut arguments: Vec<BasicValueEnum<'ctx>> = vec![outer.handle.get().into()];
        for symbol in &captures.variables {
            arguments.push(outer.typed_variable(symbol)?.1.into());
        }
        for captured in parameters.iter().filter_map(|(_, sharing)| sharing.first()) {
            arguments.push(outer.base(captured.buffer)?.into());
        }
        let types: Vec<_> = arguments.iter().map(|argument| argument.get_type().into()).collect();
        let name = format!("{}.body{suffix}", self.plan.name);
        let value = self.define(&name, self.i32().fn_type(&types, false), Linkage::Internal);
        // Inlined it would lose what its parameters are known for.
        self.attribute(value, AttributeLoc::Function, "noinline", 0);
        let f = Function::new(self, value, self.null())?;
        f.handle.set(f.parameter(0)?.into_pointer_value());
        let mut index = 1;
        for symbol in &captures.variables {
            f.set_typed_variable(symbol, f.parameter(index)?.into_int_value())?;
            index += 1;
        }
        for (_, sharing) in &parameters {
            let contested = sharing.iter().any(|captured| captured.contested);
            for captured in sharing {
                f.bind_buffer_parameter(captured.buffer, index, contested)?;
            }
            index += 1;
        }
        f.bind_constants()?;
        f.bind_stack_buffers(captures.stack.iter())?;
        f.declare_all(&self.plan.body)?;
        f.statements(&self.plan.body)?;
        f.finish(Returns::Status)?;
        Ok((value, arguments.into_iter().map(Into::into).collect()))
    }

    /// `NAME(arguments...)`.
    fn one_shot_function(
        &self,
        interface: &Interface,
        create: FunctionValue<'ctx>,
        run: FunctionValue<'ctx>,
        destroy: FunctionValue<'ctx>,
    ) -> Emit<()> {
        let mut parameters: Vec<BasicMetadataTypeEnum<'ctx>> = Vec::new();
        for argument in interface.arguments() {
            parameters.push(self.argument_type(argument)?.into());
        }
        parameters.extend(interface.callbacks().iter().map(|_| BasicMetadataTypeEnum::from(self.pointer())));
        let value = self.exported(interface, EntryPoint::OneShot, Some(self.i32().into()), &parameters);
        let f = Function::new(self, value, self.null())?;
        let slot = f.slot(self.pointer(), "handle")?;
        let status = f.call(create, &[self.null().into(), slot.into()])?.into_int_value();
        f.builder.build_store(f.status, status)?;
        let failed = f.compare(IntPredicate::NE, status, self.i32().const_zero())?;
        f.exit_if(failed)?;
        let handle = f.load_pointer(slot)?;
        let mut arguments: Vec<BasicMetadataValueEnum<'ctx>> = vec![handle.into()];
        for index in 0..(interface.arguments().len() + interface.callbacks().len()) as u32 {
            arguments.push(f.parameter(index)?.into());
        }
        let status = f.call(run, &arguments)?;
        f.builder.build_store(f.status, status)?;
        f.perform(destroy, &[handle.into()])?;
        f.finish(Returns::Status)
    }

    /// `NAME_stop(handle, message)`.
    fn stop_function(&self, interface: &Interface) -> Emit<()> {
        let pointer = self.pointer();
        let value = self.exported(interface, EntryPoint::Stop, None, &[pointer.into(), pointer.into()]);
        let f = Function::new(self, value, self.null())?;
        f.handle.set(f.parameter(0)?.into_pointer_value());
        let given = f.builder.build_is_not_null(f.handle.get(), "")?;
        f.when(given, || {
            let message = f.parameter(1)?.into_pointer_value();
            let missing = f.builder.build_is_null(message, "")?;
            let default = self.text(Status::Stopped.message());
            let text = f.builder.build_select(missing, default, message, "")?.into_pointer_value();
            f.set_error(text, self.i32().const_int(Status::Stopped.code() as u64, false))
        })?;
        f.finish(Returns::Nothing)
    }

    /// `NAME__invoke(handle, pointers to arguments)`.
    fn invoke_function(&self, interface: &Interface, run: FunctionValue<'ctx>) -> Emit<()> {
        let pointer = self.pointer();
        let value = self.exported(
            interface,
            EntryPoint::Invoke,
            Some(self.i32().into()),
            &[pointer.into(), pointer.into()],
        );
        let f = Function::new(self, value, self.null())?;
        let list = f.parameter(1)?.into_pointer_value();
        let mut arguments: Vec<BasicMetadataValueEnum<'ctx>> = vec![f.parameter(0)?.into()];
        for (index, argument) in interface.arguments().iter().enumerate() {
            let entry = f.address(pointer, list, self.constant(index as i64))?;
            let entry = f.load_pointer(entry)?;
            arguments.push(if argument.by_pointer() {
                entry.into()
            } else {
                f.builder.build_load(self.argument_type(argument)?, entry, &argument.name)?.into()
            });
        }
        for index in 0..interface.callbacks().len() {
            let entry = self.constant((interface.arguments().len() + index) as i64);
            arguments.push(f.load_pointer(f.address(pointer, list, entry)?)?.into());
        }
        let status = f.call(run, &arguments)?;
        f.builder.build_store(f.status, status)?;
        f.finish(Returns::Status)
    }
}

impl<'ctx> Function<'_, 'ctx> {
    fn handle_field(&self, field: u32) -> Emit<PointerValue<'ctx>> {
        Ok(self.builder.build_struct_gep(self.emitter.handle_type(), self.handle.get(), field, "")?)
    }

    /// Address (0) or size (1) in a field of the handle that says where memory is.
    fn memory_field(&self, field: u32, part: u32) -> Emit<PointerValue<'ctx>> {
        let entry = self.handle_field(field)?;
        Ok(self.builder.build_struct_gep(self.emitter.memory_type(), entry, part, "")?)
    }

    /// Position of the address (0) or size (1) of the arena in the handle.
    pub(super) fn arena_field(&self, part: u32) -> Emit<PointerValue<'ctx>> {
        self.memory_field(ARENA, part)
    }

    /// The number of threads that the handle asks for; 0 is the runtime's default.
    pub(super) fn handle_threads(&self) -> Emit<IntValue<'ctx>> {
        Ok(self.builder.build_load(self.emitter.i32(), self.handle_field(THREADS)?, "")?.into_int_value())
    }

    /// The status that threads of the last parallel region left.
    pub(super) fn handle_status(&self) -> Emit<IntValue<'ctx>> {
        Ok(self.builder.build_load(self.emitter.i32(), self.status_address()?, "")?.into_int_value())
    }

    /// Position of a checked program's message in the handle.
    pub(super) fn message_address(&self) -> Emit<PointerValue<'ctx>> {
        self.handle_field(BUFFERS + self.emitter.plan.persistent_buffers().count() as u32)
    }

    /// Position of the version number in the handle, for programs with several versions.
    pub(super) fn version_field(&self) -> Emit<PointerValue<'ctx>> {
        let behind = self.emitter.plan.persistent_buffers().count() + usize::from(self.emitter.plan.checked);
        self.handle_field(BUFFERS + behind as u32)
    }

    /// Position of the status in the handle.
    pub(super) fn status_address(&self) -> Emit<PointerValue<'ctx>> {
        self.handle_field(STATUS)
    }

    /// Position of the address of a callback in the handle.
    pub(super) fn callback_field(&self, index: usize) -> Emit<PointerValue<'ctx>> {
        let plan = self.emitter.plan;
        let behind = plan.callbacks.len() - index + usize::from(plan.profile.is_some());
        self.handle_field(self.emitter.handle_type().count_fields() - behind as u32)
    }

    /// Position of the measurements in the handle; the last field of handles with measurements.
    pub(super) fn profile_field(&self) -> Emit<PointerValue<'ctx>> {
        self.handle_field(self.emitter.handle_type().count_fields() - 1)
    }

    /// Leaves a text and a status in the handle; several threads may do so.
    pub(super) fn set_error(&self, text: PointerValue<'ctx>, status: IntValue<'ctx>) -> Emit<()> {
        let stores = [
            self.builder.build_store(self.handle_field(ERROR)?, text)?,
            self.builder.build_store(self.handle_field(STATUS)?, status)?,
        ];
        for (store, alignment) in stores.into_iter().zip([8, 4]) {
            let set = store.set_alignment(alignment);
            set.map_err(|error| self.emitter.defect(error))?;
            let set = store.set_atomic_ordering(AtomicOrdering::Monotonic);
            set.map_err(|error| self.emitter.defect(error))?;
        }
        Ok(())
    }

    /// Takes a parameter as a container of the caller; a value gets memory of its own.
    fn bind_argument(&self, buffer: BufferId, by_value: bool, index: u32) -> Emit<()> {
        let value = self.parameter(index)?;
        let Buffer { element, size, name, .. } = self.emitter.plan.buffer(buffer);
        let pointer = match value {
            BasicValueEnum::PointerValue(pointer) => {
                // What has no elements is not looked at, so it needs no memory either.
                let null = self.builder.build_is_null(pointer, "")?;
                let used = self.compare(IntPredicate::SGT, self.index(size)?, self.emitter.constant(0))?;
                let missing = self.builder.build_and(null, used, "")?;
                self.fail_if(missing, Status::InvalidArgument, &format!("`{name}` is NULL"))?;
                pointer
            }
            _ if by_value => {
                let slot = self.slot(value.get_type(), &self.emitter.plan.buffer(buffer).name)?;
                self.builder.build_store(slot, value)?;
                slot
            }
            _ => return Err(self.emitter.defect(format!("an argument of {element} is no pointer"))),
        };
        self.bind_buffer(buffer, Base::Fixed(pointer));
        Ok(())
    }

    /// Makes queues of the streams that are arguments, with the elements that the caller gives. The answer is each with what the caller passed.
    fn receive_queues(&self) -> Emit<Vec<(PointerValue<'ctx>, PointerValue<'ctx>)>> {
        let queues = self.emitter.plan.arguments.iter().filter(|argument| argument.kind == PassedAs::Queue);
        let mut received = Vec::new();
        for argument in queues {
            let given = self.base(argument.buffer)?;
            let slot = self.owned_stream(&argument.name)?;
            self.open_stream(argument.buffer, slot)?;
            let stream = self.load_pointer(slot)?;
            let status = self.pass_queue("sdfg_stream_receive", stream, given)?;
            let invalid = self.emitter.i32().const_int(Status::InvalidArgument.code() as u64, false);
            let broken = self.compare(IntPredicate::EQ, status, invalid)?;
            let text =
                format!("`{}` has elements, but no memory or a number below zero of them", argument.name);
            self.fail_if(broken, Status::InvalidArgument, &text)?;
            let failed = self.compare(IntPredicate::NE, status, self.emitter.i32().const_zero())?;
            self.fail_if(failed, Status::OutOfMemory, &format!("no memory for `{}`", argument.name))?;
            self.bind_buffer(argument.buffer, Base::Fixed(stream));
            received.push((stream, given));
        }
        Ok(received)
    }

    /// Gives the caller the elements that are left in his streams, unless the run failed: then he keeps those that he gave. Nothing
    /// fails any more once the first one has got its elements.
    fn hand_back(&self, queues: &[(PointerValue<'ctx>, PointerValue<'ctx>)]) -> Emit<()> {
        if queues.is_empty() {
            return Ok(());
        }
        let status = self.builder.build_load(self.emitter.i32(), self.status, "")?.into_int_value();
        self.exit_if(self.compare(IntPredicate::NE, status, self.emitter.i32().const_zero())?)?;
        for (stream, given) in queues {
            let status = self.pass_queue("sdfg_stream_reserve", *stream, *given)?;
            let failed = self.compare(IntPredicate::NE, status, self.emitter.i32().const_zero())?;
            self.fail_if(
                failed,
                Status::OutOfMemory,
                "no memory for the elements that are left in a stream",
            )?;
        }
        let parameters = [Type::Pointer, Type::Pointer];
        let function = self.emitter.runtime_function("sdfg_stream_hand_back", None, &parameters);
        for (stream, given) in queues {
            self.perform(function, &[(*stream).into(), (*given).into()])?;
        }
        Ok(())
    }

    /// Calls a function of the runtime with a stream and what the caller passed for it. Its status.
    fn pass_queue(
        &self,
        name: &str,
        stream: PointerValue<'ctx>,
        given: PointerValue<'ctx>,
    ) -> Emit<IntValue<'ctx>> {
        let parameters = [Type::Pointer, Type::Pointer];
        let function = self.emitter.runtime_function(name, Some(Type::Int), &parameters);
        Ok(self.call(function, &[stream.into(), given.into()])?.into_int_value())
    }

    /// Gives a persistent buffer its memory, which the first run allocates.
    fn bind_persistent(&self, id: BufferId, field: u32) -> Emit<()> {
        let buffer = self.emitter.plan.buffer(id);
        let bytes = self.byte_size(buffer.element, self.size(&buffer.size)?)?;
        let (address, size) = (self.memory_field(field, 0)?, self.memory_field(field, 1)?);
        let pointer = self.load_pointer(address)?;
        let old = self.builder.build_load(self.emitter.i64(), size, "")?.into_int_value();
        let missing = self.builder.build_is_null(pointer, "")?;
        // Its contents would mean nothing at another size.
        let other = self.compare(IntPredicate::NE, old, bytes)?;
        let kept = self.builder.build_not(missing, "")?;
        let changed = self.builder.build_and(kept, other, "")?;
        let text = format!(
            "the size of persistent `{}` differs from that of the run before: use a handle for each size",
            buffer.name
        );
        self.fail_if(changed, Status::InvalidArgument, &text)?;
        self.when(missing, || {
            self.builder.build_store(size, bytes)?;
            if self.is_stream(id) { self.open_stream(id, address) } else { self.allocate_buffer(id, address) }
        })?;
        let pointer = self.load_pointer(address)?;
        self.bind_buffer(id, Base::Fixed(pointer));
        let tells_what_was_written = self.emitter.plan.buffers.iter().any(|other| other.defined == Some(id));
        if tells_what_was_written {
            self.when(missing, || self.undefine(id))?;
        }
        Ok(())
    }

    /// Closes persistent streams after a run that failed, in the middle of whatever it did with them.
    fn forget_streams(&self) -> Emit<()> {
        let buffers: Vec<BufferId> = self.emitter.plan.persistent_buffers().collect();
        if !buffers.iter().any(|buffer| self.is_stream(*buffer)) {
            return Ok(());
        }
        let status = self.builder.build_load(self.emitter.i32(), self.status, "")?.into_int_value();
        let failed = self.compare(IntPredicate::NE, status, self.emitter.i32().const_zero())?;
        self.when(failed, || {
            for (index, _) in buffers.iter().enumerate().filter(|(_, buffer)| self.is_stream(**buffer)) {
                let address = self.memory_field(BUFFERS + index as u32, 0)?;
                self.close_stream(self.load_pointer(address)?)?;
                self.builder.build_store(address, self.emitter.pointer().const_null())?;
            }
            Ok(())
        })
    }

    /// Binds buffers of constants, which every function reaches.
    pub(super) fn bind_constants(&self) -> Emit<()> {
        for (index, buffer) in self.emitter.plan.buffers.iter().enumerate() {
            if let Allocation::Constant(values) = &buffer.allocation {
                let name = format!("constant.{}", buffer.name);
                let pointer = match self.emitter.module.get_global(&name) {
                    Some(global) => global.as_pointer_value(),
                    None => self.emitter.bytes(&name, &constant_bytes(values)),
                };
                self.bind_buffer(BufferId(index as u32), Base::Fixed(pointer));
            }
        }
        Ok(())
    }
}

/// Values one after the other, as in memory.
fn constant_bytes(values: &[Value]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_bytes().into_iter().take(value.ty().size())).collect()
}
