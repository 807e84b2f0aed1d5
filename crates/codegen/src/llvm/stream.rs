//! Streams: calls of the runtime for pushes, pops and processing elements.
//!
//! The declarations match `crates/runtime/src/c/runtime.h`.

use inkwell::IntPredicate;
use inkwell::types::BasicMetadataTypeEnum;
use inkwell::values::{BasicMetadataValueEnum, FunctionValue, IntValue, PointerValue};

use super::check::Access;
use super::emitter::{Emit, Emitter};
use super::function::{Base, Function};
use super::memory::ElementAddress;
use super::value::Lanes;
use crate::interface::Status;
use crate::plan::{
    Allocation, BufferId, Collected, Consume, Location, Pop, Push, Row, StreamToArray, Strided,
};

/// Answers of `sdfg_consume`.
const DONE: u64 = 0;
const TAKEN: u64 = 1;
const AGAIN: u64 = 2;

/// Positions in bytes of what describes the first queue of a stream, as `crates/runtime/src/c/stream.c` lays it out.
const RING: i64 = 64;
const CAPACITY: i64 = 72;
const LENGTH: i64 = 88;

/// A queue of a thread's own, whose elements go to a stream later.
pub(super) struct Collector<'ctx> {
    stream: BufferId,
    own: PointerValue<'ctx>,
    /// Slot with the address of the queue, which the function closes at its end.
    slot: PointerValue<'ctx>,
    target: PointerValue<'ctx>,
    /// Memory that takes its elements instead.
    pub(super) array: Option<StreamToArray>,
    /// Previous slot of the stream.
    before: Option<Base<'ctx>>,
}

/// Slots with the addresses behind the last element of a thread's own queue, and behind its memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'ctx> {
    next: PointerValue<'ctx>,
    end: PointerValue<'ctx>,
}

/// A type in the signature of a function of the runtime.
#[derive(Clone, Copy)]
pub(super) enum Type {
    Pointer,
    Int,
    Long,
}

impl<'ctx> Emitter<'ctx> {
    /// A function of this project's runtime.
    pub(super) fn runtime_function(
        &self,
        name: &str,
        result: Option<Type>,
        parameters: &[Type],
    ) -> FunctionValue<'ctx> {
        self.need_runtime();
        let of = |ty: Type| -> BasicMetadataTypeEnum<'ctx> {
            match ty {
                Type::Pointer => self.pointer().into(),
                Type::Int => self.i32().into(),
                Type::Long => self.i64().into(),
            }
        };
        let parameters: Vec<_> = parameters.iter().map(|ty| of(*ty)).collect();
        let result = result.map(|ty| match ty {
            Type::Pointer => self.pointer().into(),
            Type::Int => self.i32().into(),
            Type::Long => self.i64().into(),
        });
        self.declare(name, result, &parameters)
    }
}

impl<'ctx> Function<'_, 'ctx> {
    /// Makes the queues of a stream.
    pub(super) fn open_stream(&self, id: BufferId, slot: PointerValue<'ctx>) -> Emit<()> {
        let buffer = self.emitter.plan.buffer(id);
        let Allocation::Queues { capacity, owner: _ } = &buffer.allocation else {
            return Err(self.emitter.defect(format!("`{}` is no stream", buffer.name)));
        };
        let capacity = match capacity {
            Some(capacity) => self.larger(self.index(capacity)?, self.emitter.constant(0))?,
            None => self.emitter.constant(-1),
        };
        self.open(id, self.size(&buffer.size)?, capacity, slot)
    }

    fn open(
        &self,
        id: BufferId,
        queues: IntValue<'ctx>,
        capacity: IntValue<'ctx>,
        slot: PointerValue<'ctx>,
    ) -> Emit<()> {
        let buffer = self.emitter.plan.buffer(id);
        let open = self.emitter.runtime_function(
            "sdfg_stream_open",
            Some(Type::Pointer),
            &[Type::Long, Type::Long, Type::Long],
        );
        let bytes = self.emitter.constant(buffer.element.size() as i64);
        let arguments = [queues.into(), capacity.into(), bytes.into()];
        let stream = self.call(open, &arguments)?.into_pointer_value();
        self.builder.build_store(slot, stream)?;
        let missing = self.builder.build_is_null(stream, "")?;
        self.fail_if(missing, Status::OutOfMemory, &format!("no memory for `{}`", buffer.name))
    }

    /// Frees the queues of a stream; an address that is null is nothing.
    pub(super) fn close_stream(&self, stream: PointerValue<'ctx>) -> Emit<()> {
        let close = self.emitter.runtime_function("sdfg_stream_close", None, &[Type::Pointer]);
        self.perform(close, &[stream.into()])
    }

    /// The slot of a stream's address, which is made at its first use.
    pub(super) fn stream_slot(&self, id: BufferId) -> Emit<PointerValue<'ctx>> {
        if let Some(Base::Slot(slot)) = self.buffer_base(id) {
            return Ok(slot);
        }
        let slot = self.owned_stream(&self.emitter.plan.buffer(id).name)?;
        self.bind_buffer(id, Base::Slot(slot));
        Ok(slot)
    }

    /// The stream and the number of a queue.
    fn queue(&self, queue: &Location) -> Emit<[BasicMetadataValueEnum<'ctx>; 2]> {
        Ok([self.base(queue.buffer)?.into(), self.index(&queue.offset)?.into()])
    }

    /// Address, number and distance in bytes of the elements of a row.
    fn row(&self, row: &Row) -> Emit<[BasicMetadataValueEnum<'ctx>; 3]> {
        let place = self.place(&row.first)?;
        let bytes = self.emitter.constant(place.element.size() as i64);
        let stride = self.multiply(self.index(&row.stride)?, bytes)?;
        Ok([place.address.into(), self.index(&row.count)?.into(), stride.into()])
    }

    pub(super) fn push(&self, push: &Push) -> Emit<()> {
        let (queue, row) = (self.queue(&push.queue)?, self.row(&push.from)?);
        self.look_at_row(&push.from, self.index(&push.from.count)?, Access::Read)?;
        let stream = push.queue.buffer;
        let cursor = self.cursor(stream);
        cursor.map_or(Ok(()), |cursor| self.settle(stream, cursor))?;
        self.push_row(&push.label, stream, queue, row)?;
        cursor.map_or(Ok(()), |cursor| self.resume(stream, cursor))
    }

    fn push_row(
        &self,
        label: &str,
        stream: BufferId,
        [stream_address, queue]: [BasicMetadataValueEnum<'ctx>; 2],
        [from, count, stride]: [BasicMetadataValueEnum<'ctx>; 3],
    ) -> Emit<()> {
        let function = self.emitter.runtime_function(
            "sdfg_stream_push",
            Some(Type::Int),
            &[Type::Pointer, Type::Long, Type::Pointer, Type::Long, Type::Long, Type::Pointer],
        );
        let arguments = [stream_address, queue, from, count, stride, self.task.get().into()];
        let status = self.call(function, &arguments)?.into_int_value();
        let name = &self.emitter.plan.buffer(stream).name;
        self.check_wait(status, name, &format!("`{label}` waits for room in the stream `{name}`"))
    }

    /// A place on the stack for an element of a stream.
    pub(super) fn element_slot(&self, stream: BufferId) -> Emit<ElementAddress<'ctx>> {
        let element = self.emitter.plan.buffer(stream).element;
        let address = self.slot(self.emitter.element_type(element)?, "element")?;
        Ok(ElementAddress { address, element, recorded: false, checked: None })
    }

    /// Adds a value to a queue of a stream, or of another one at an address, for elements of the same type.
    pub(super) fn push_value(
        &self,
        label: &str,
        (stream, address): (BufferId, PointerValue<'ctx>),
        queue: IntValue<'ctx>,
        value: &Lanes<'ctx>,
    ) -> Emit<()> {
        let place = self.element_slot(stream)?;
        self.store(&place, value)?;
        let (zero, one) = (self.emitter.constant(0), self.emitter.constant(1));
        let row = [place.address.into(), one.into(), zero.into()];
        self.push_row(label, stream, [address.into(), queue.into()], row)
    }

    /// Makes one queue without a bound for elements of the type of a stream.
    pub(super) fn open_queue(&self, stream: BufferId, slot: PointerValue<'ctx>) -> Emit<()> {
        self.open(stream, self.emitter.constant(1), self.emitter.constant(-1), slot)
    }

    /// Makes a queue of this thread's own for each stream, which stands for the stream from here on.
    pub(super) fn open_collectors(&self, collected: &[Collected]) -> Emit<Vec<Collector<'ctx>>> {
        let open = |each: &Collected| {
            Ok(Collector { array: each.array.clone(), ..self.open_collector(each.stream)? })
        };
        collected.iter().map(open).collect()
    }

    /// Makes a queue of this thread's own for a stream, which stands for the stream from here on.
    fn open_collector(&self, id: BufferId) -> Emit<Collector<'ctx>> {
        let (target, before) = (self.base(id)?, self.buffer_base(id));
        let slot = self.owned_stream("collected")?;
        self.open_queue(id, slot)?;
        let own = self.load_pointer(slot)?;
        self.bind_buffer(id, Base::Fixed(own));
        let pointer = self.emitter.pointer();
        let cursor = Cursor { next: self.slot(pointer, "next")?, end: self.slot(pointer, "end")? };
        self.collected.borrow_mut().insert(id, cursor);
        self.resume(id, cursor)?;
        Ok(Collector { stream: id, own, slot, target, array: None, before })
    }

    /// Has the stream stand for itself again; its own queue is empty.
    fn close_collector(&self, collector: Collector<'ctx>) -> Emit<()> {
        self.close_stream(collector.own)?;
        self.builder.build_store(collector.slot, self.emitter.pointer().const_null())?;
        self.collected.borrow_mut().remove(&collector.stream);
        let before = collector.before.unwrap_or(Base::Fixed(collector.target));
        self.bind_buffer(collector.stream, before);
        Ok(())
    }

    /// Moves what a thread has pushed to the stream.
    pub(super) fn append_collected(&self, collector: &Collector<'ctx>) -> Emit<()> {
        let cursor = self.cursor(collector.stream);
        let cursor = cursor.ok_or_else(|| self.emitter.defect("a collector has no cursor"))?;
        self.settle(collector.stream, cursor)?;
        let streams = [collector.target.into(), collector.own.into()];
        let status = match &collector.array {
            None => {
                let types = [Type::Pointer; 2];
                self.call(
                    self.emitter.runtime_function("sdfg_stream_append", Some(Type::Int), &types),
                    &streams,
                )?
            }
            Some(array) => {
                let types =
                    [Type::Pointer, Type::Pointer, Type::Pointer, Type::Long, Type::Long, Type::Pointer];
                let deliver = self.emitter.runtime_function("sdfg_stream_deliver", Some(Type::Int), &types);
                let [to, most, stride] = self.row(&array.to)?;
                let delivered = self.place(&array.delivered)?.address.into();
                let [stream, own] = streams;
                self.call(deliver, &[stream, own, to, stride, most, delivered])?
            }
        };
        let status = status.into_int_value();
        let name = &self.emitter.plan.buffer(collector.stream).name;
        self.check_wait(status, name, "")?;
        self.resume(collector.stream, cursor)
    }

    /// Adds a value to a queue of this thread's own if a condition holds.
    ///
    /// The place behind the last element is written in any case, which needs no branch that the processor would have to guess.
    fn push_collected(
        &self,
        label: &str,
        (stream, cursor): (BufferId, Cursor<'ctx>),
        value: &Lanes<'ctx>,
        condition: Option<IntValue<'ctx>>,
    ) -> Emit<()> {
        let element = self.emitter.plan.buffer(stream).element;
        let ty = self.emitter.element_type(element)?;
        let (next, end) = (self.load_pointer(cursor.next)?, self.load_pointer(cursor.end)?);
        let (full, room) = (self.block("full"), self.block("room"));
        let is_full = self.compare_addresses(next, end)?;
        self.branch(is_full, full, room)?;
        self.enter(full);
        self.settle(stream, cursor)?;
        let grow = self.emitter.runtime_function("sdfg_stream_grow", Some(Type::Int), &[Type::Pointer]);
        let status = self.call(grow, &[self.base(stream)?.into()])?.into_int_value();
        self.check_wait(status, &self.emitter.plan.buffer(stream).name, label)?;
        self.resume(stream, cursor)?;
        self.jump(room)?;
        self.enter(room);
        let next = self.load_pointer(cursor.next)?;
        self.store(&ElementAddress { address: next, element, recorded: false, checked: None }, value)?;
        let step = match condition {
            None => self.emitter.constant(1),
            Some(condition) => self.builder.build_int_z_extend(condition, self.emitter.i64(), "")?,
        };
        let next = self.address(ty, next, step)?;
        self.builder.build_store(cursor.next, next)?;
        Ok(())
    }

    fn compare_addresses(&self, a: PointerValue<'ctx>, b: PointerValue<'ctx>) -> Emit<IntValue<'ctx>> {
        let integer = |pointer| self.builder.build_ptr_to_int(pointer, self.emitter.i64(), "");
        self.compare(IntPredicate::EQ, integer(a)?, integer(b)?)
    }

    /// The address of what describes the first queue of a stream.
    fn queue_field(&self, stream: BufferId, offset: i64) -> Emit<PointerValue<'ctx>> {
        self.address(self.emitter.i8(), self.base(stream)?, self.emitter.constant(offset))
    }

    /// Takes the end of a thread's own queue into registers.
    fn resume(&self, stream: BufferId, cursor: Cursor<'ctx>) -> Emit<()> {
        let ty = self.emitter.element_type(self.emitter.plan.buffer(stream).element)?;
        let ring = self.load_pointer(self.queue_field(stream, RING)?)?;
        for (slot, offset) in [(cursor.next, LENGTH), (cursor.end, CAPACITY)] {
            let field = self.queue_field(stream, offset)?;
            let count = self.builder.build_load(self.emitter.i64(), field, "")?.into_int_value();
            self.builder.build_store(slot, self.address(ty, ring, count)?)?;
        }
        Ok(())
    }

    /// Tells a thread's own queue how many elements it has.
    fn settle(&self, stream: BufferId, cursor: Cursor<'ctx>) -> Emit<()> {
        let (i64, size) = (self.emitter.i64(), self.emitter.plan.buffer(stream).element.size());
        let ring = self.load_pointer(self.queue_field(stream, RING)?)?;
        let first = self.builder.build_ptr_to_int(ring, i64, "")?;
        let next = self.builder.build_ptr_to_int(self.load_pointer(cursor.next)?, i64, "")?;
        let bytes = self.subtract(next, first)?;
        let count = self.builder.build_int_exact_signed_div(bytes, self.emitter.constant(size as i64), "")?;
        self.builder.build_store(self.queue_field(stream, LENGTH)?, count)?;
        Ok(())
    }

    fn cursor(&self, stream: BufferId) -> Option<Cursor<'ctx>> {
        self.collected.borrow().get(&stream).copied()
    }

    /// Pushes an element of a tasklet if a condition holds.
    pub(super) fn push_element_if(
        &self,
        label: &str,
        queue: &Location,
        value: &Lanes<'ctx>,
        condition: IntValue<'ctx>,
    ) -> Emit<()> {
        match self.cursor(queue.buffer) {
            Some(cursor) => self.push_collected(label, (queue.buffer, cursor), value, Some(condition)),
            None => self.when(condition, || self.push_element(label, queue, value)),
        }
    }

    /// Pushes an element of a tasklet.
    pub(super) fn push_element(&self, label: &str, queue: &Location, value: &Lanes<'ctx>) -> Emit<()> {
        if let Some(cursor) = self.cursor(queue.buffer) {
            return self.push_collected(label, (queue.buffer, cursor), value, None);
        }
        let number = self.index(&queue.offset)?;
        self.push_value(label, (queue.buffer, self.base(queue.buffer)?), number, value)
    }

    /// Takes an element of the first queue of a stream if there is one; how many were taken.
    pub(super) fn take_one(
        &self,
        stream: PointerValue<'ctx>,
        to: &ElementAddress<'ctx>,
    ) -> Emit<IntValue<'ctx>> {
        let (zero, one) = (self.emitter.constant(0), self.emitter.constant(1));
        let arguments = [stream.into(), zero.into(), to.address.into(), one.into(), zero.into()];
        Ok(self.call(self.take_function(), &arguments)?.into_int_value())
    }

    fn take_function(&self) -> FunctionValue<'ctx> {
        self.emitter.runtime_function(
            "sdfg_stream_take",
            Some(Type::Long),
            &[Type::Pointer, Type::Long, Type::Pointer, Type::Long, Type::Long],
        )
    }

    pub(super) fn pop(&self, pop: &Pop) -> Emit<()> {
        let ([stream, queue], [to, count, stride]) = (self.queue(&pop.queue)?, self.row(&pop.to)?);
        if pop.waits {
            let function = self.emitter.runtime_function(
                "sdfg_stream_pop",
                Some(Type::Int),
                &[Type::Pointer, Type::Long, Type::Pointer, Type::Long, Type::Long, Type::Pointer],
            );
            let arguments = [stream, queue, to, count, stride, self.task.get().into()];
            let status = self.call(function, &arguments)?.into_int_value();
            let name = &self.emitter.plan.buffer(pop.queue.buffer).name;
            let waits = format!("`{}` waits for an element of the stream `{name}`", pop.label);
            self.check_wait(status, name, &waits)?;
            self.look_at_row(&pop.to, count.into_int_value(), Access::Write)?;
            return match &pop.taken {
                Some(taken) => self.set_variable(taken, count.into_int_value()),
                None => Ok(()),
            };
        }
        let taken = self.call(self.take_function(), &[stream, queue, to, count, stride])?.into_int_value();
        self.look_at_row(&pop.to, taken, Access::Write)?;
        match &pop.taken {
            Some(variable) => self.set_variable(variable, taken),
            None => Ok(()),
        }
    }

    /// The number of elements of a queue.
    pub(super) fn length(&self, queues: &Strided, indices: &[IntValue<'ctx>]) -> Emit<IntValue<'ctx>> {
        let name = &self.emitter.plan.buffer(queues.origin.buffer).name;
        self.check_extents(name, indices, &queues.extents)?;
        let mut queue = self.index(&queues.origin.offset)?;
        for (index, stride) in indices.iter().zip(&queues.strides) {
            queue = self.add(queue, self.stride_at(stride, *index)?)?;
        }
        let function = self.emitter.runtime_function(
            "sdfg_stream_length",
            Some(Type::Long),
            &[Type::Pointer, Type::Long],
        );
        Ok(self.call(function, &[self.base(queues.origin.buffer)?.into(), queue.into()])?.into_int_value())
    }

    /// Ends the run if a wait was in vain or the runtime had no memory.
    fn check_wait(&self, status: IntValue<'ctx>, stream: &str, waits: &str) -> Emit<()> {
        let i32 = self.emitter.i32();
        let (failed, fine) = (self.block("failed"), self.block("fine"));
        let is_failure = self.compare(IntPredicate::NE, status, i32.const_zero())?;
        self.branch(is_failure, failed, fine)?;
        self.enter(failed);
        self.fallible.set(true);
        let trap = i32.const_int(Status::Trap.code() as u64, false);
        let is_trap = self.compare(IntPredicate::EQ, status, trap)?;
        let deadlock = self.emitter.text(&format!("deadlock: {waits}, and nothing else can run"));
        let memory = self.emitter.text(&format!("no memory for `{stream}`"));
        let text = self.builder.build_select(is_trap, deadlock, memory, "")?.into_pointer_value();
        self.builder.build_store(self.status, status)?;
        // The first failure is the reason of those that follow it.
        let before = self.handle_status()?;
        let is_first = self.compare(IntPredicate::EQ, before, i32.const_zero())?;
        self.when(is_first, || self.set_error(text, status))?;
        self.leave_function()?;
        self.enter(fine);
        Ok(())
    }

    /// A processing element of a consume scope.
    pub(super) fn consume(&self, consume: &Consume) -> Emit<()> {
        let (emitter, i32) = (self.emitter, self.emitter.i32());
        let consume_function = emitter.runtime_function(
            "sdfg_consume",
            Some(Type::Int),
            &[
                Type::Pointer,
                Type::Long,
                Type::Pointer,
                Type::Pointer,
                Type::Long,
                Type::Pointer,
                Type::Int,
                Type::Int,
                Type::Pointer,
                Type::Pointer,
            ],
        );
        let working = self.slot(i32, "working")?;
        self.builder.build_store(working, i32.const_zero())?;
        let (next, take, body) = (self.block("next"), self.block("take"), self.block("consumed"));
        let (stop, stuck, done) = (self.block("stop"), self.block("stuck"), self.block("done"));
        let scope = self.place(&consume.scope)?.address;
        let element = self.place(&consume.element)?;
        let first = consume.batch.map_or(Ok(element), |batch| self.place_at(batch, emitter.constant(0)))?;
        let most = consume.batch.and_then(|batch| emitter.plan.buffer(batch).size.as_int()).unwrap_or(1);
        let taken = self.slot(emitter.i64(), "taken")?;
        let [stream, queue] = self.queue(&consume.queue)?;
        let gathered = if consume.gathers { Some(self.open_collector(consume.queue.buffer)?) } else { None };
        self.jump(next)?;

        self.enter(next);
        self.begin_loop();
        match &consume.condition {
            Some(condition) => {
                consume.recalls.iter().try_for_each(|kept| self.recall(kept))?;
                let condition = self.condition(condition)?;
                self.branch(condition, stop, take)?;
            }
            None => self.jump(take)?,
        }
        self.enter(take);
        let was_working = self.builder.build_load(i32, working, "")?;
        let has_condition = i32.const_int(u64::from(consume.condition.is_some()), false);
        let arguments = [
            stream,
            queue,
            scope.into(),
            first.address.into(),
            emitter.constant(most).into(),
            taken.into(),
            was_working.into(),
            has_condition.into(),
            self.status_address()?.into(),
            self.task.get().into(),
        ];
        let answer = self.call(consume_function, &arguments)?.into_int_value();
        let code = |value: u64| i32.const_int(value, false);
        let works = self.compare(IntPredicate::EQ, answer, code(TAKEN))?;
        let works = self.builder.build_int_z_extend(works, i32, "")?;
        self.builder.build_store(working, works)?;
        let cases = [(code(DONE), done), (code(TAKEN), body), (code(AGAIN), next)];
        self.builder.build_switch(answer, stuck, &cases)?;

        self.enter(body);
        match consume.batch {
            None => self.statements(&consume.body)?,
            Some(_) => {
                let count = self.builder.build_load(emitter.i64(), taken, "")?.into_int_value();
                let (zero, one) = (emitter.constant(0), emitter.constant(1));
                self.counted_loop(zero, count, one, false, Default::default(), |number| {
                    let value = self.load(&self.moved(&first, number, one)?)?;
                    self.store(&element, &value)?;
                    self.statements(&consume.body)
                })?;
            }
        }
        gathered.iter().try_for_each(|gathered| self.append_collected(gathered))?;
        self.jump(next)?;
        self.end_loop();

        self.enter(stuck);
        if let Some(condition) = &consume.condition {
            // Nothing changes any more, so this is the last test.
            let dead = self.block("dead");
            consume.recalls.iter().try_for_each(|kept| self.recall(kept))?;
            let condition = self.condition(condition)?;
            self.branch(condition, stop, dead)?;
            self.enter(dead);
        }
        let name = &emitter.plan.buffer(consume.queue.buffer).name;
        let waits = format!("`{}` waits for an element of the stream `{name}`", consume.label);
        self.check_wait(i32.const_int(Status::Trap.code() as u64, false), name, &waits)?;
        self.jump(done)?;

        self.enter(stop);
        let stop_function = emitter.runtime_function("sdfg_consume_stop", None, &[Type::Pointer]);
        self.perform(stop_function, &[scope.into()])?;
        self.jump(done)?;
        self.enter(done);
        gathered.map_or(Ok(()), |gathered| self.close_collector(gathered))
    }
}
