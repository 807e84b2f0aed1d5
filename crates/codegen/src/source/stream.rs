//! Streams: calls of the runtime for pushes, pops and processing elements.

use sdfg::dtype::ScalarType;

use super::check::Access;
use super::error::{Print, defect};
use super::function::{Frame, Function, Lanes};
use super::memory::Place;
use super::text::{Code, Precedence};
use crate::interface::Status;
use crate::plan::{
    Allocation, BufferId, Collected, Consume, Location, Pop, Push, Row, StreamToArray, Strided,
};

/// A queue of a thread's own, whose elements go to a stream later.
///
/// Its end is in two variables: elements are appended without a call.
#[derive(Clone, Debug)]
pub(super) struct Collector {
    stream: BufferId,
    /// The variable with the queue.
    own: String,
    /// The variable with the address behind its last element.
    next: String,
    /// The variable with the address behind its memory.
    end: String,
    /// Memory that takes its elements instead of the stream.
    array: Option<StreamToArray>,
}

impl Collector {
    /// Whether memory takes its elements.
    pub(super) fn goes_to_memory(&self) -> bool {
        self.array.is_some()
    }
}

impl Function<'_, '_> {
    /// Makes the queues of a stream, whose address goes to `pointer`.
    pub(super) fn open_stream(&mut self, id: BufferId, pointer: &str) -> Print<()> {
        let buffer = self.program.plan.buffer(id);
        let Allocation::Queues { capacity, owner: _ } = &buffer.allocation else {
            return Err(defect(format!("`{}` is no stream", buffer.name)));
        };
        let capacity = match capacity {
            None => "-1".to_owned(),
            Some(capacity) => {
                let maximum = self.integer_helper(sdfg::tasklet::BinaryOperation::Maximum)?;
                format!("{maximum}({}, 0)", self.index(capacity)?.text)
            }
        };
        let queues = self.index(&buffer.size)?.text;
        if self.program.is_device_queue(id) {
            return self.open_device_queues(id, pointer, (&queues, &capacity));
        }
        self.open_queues(id, pointer, &queues, &capacity)
    }

    fn open_queues(&mut self, id: BufferId, pointer: &str, queues: &str, capacity: &str) -> Print<()> {
        self.program.use_runtime();
        let buffer = self.program.plan.buffer(id);
        let bytes = buffer.element.size();
        self.line(format!("{pointer} = sdfg_stream_open({queues}, {capacity}, {bytes});"));
        self.fail_if(
            &format!("{pointer} == NULL"),
            Status::OutOfMemory,
            &format!("no memory for `{}`", buffer.name),
        )
    }

    /// Closes a stream and forgets it.
    pub(super) fn close_stream(&mut self, id: BufferId, pointer: &str) {
        if self.program.is_device_queue(id) {
            self.line(format!("sdfg_queues_close({}, {pointer});", self.queue_device()));
        } else {
            self.line(self.program.closing(id, pointer));
        }
        self.line(format!("{pointer} = NULL;"));
    }

    /// Closes a queue of a thread's own.
    pub(super) fn close_own_queue(&mut self, pointer: &str) {
        self.line(format!("sdfg_stream_close({pointer});"));
        self.line(format!("{pointer} = NULL;"));
    }

    /// A new variable for a stream, which is closed at the end of the function.
    pub(super) fn own_stream(&mut self, name: &str) -> String {
        self.program.use_runtime();
        let name = self.program.names.global(name);
        self.declare(&name, format!("sdfg_stream *{name} = NULL;"));
        self.at_end(format!("sdfg_stream_close({name});"));
        name
    }

    /// Makes one queue without a bound for elements of the type of a stream, in a variable of its own.
    pub(super) fn open_own_queue(&mut self, stream: BufferId, word: &str) -> Print<String> {
        let name = self.own_stream(&format!("{}_{word}", self.program.names.buffer(stream)));
        self.open_queues(stream, &name, "1", "-1")?;
        Ok(name)
    }

    /// The stream and the number of a queue, as arguments.
    fn queue(&mut self, queue: &Location) -> Print<String> {
        let name = self.stream_name(queue.buffer);
        Ok(format!("{name}, {}", self.index(&queue.offset)?.text))
    }

    /// The variable that a stream is reached by.
    fn stream_name(&self, stream: BufferId) -> String {
        let own = self.collectors.get(&stream).map(|collector| collector.own.as_str());
        own.unwrap_or(self.program.names.buffer(stream)).to_owned()
    }

    /// Address, number and distance in bytes of the elements of a row, as arguments.
    pub(super) fn row(&mut self, row: &Row) -> Print<[String; 3]> {
        let place = self.place(&row.first)?;
        let size = self.program.memory_type(place.element);
        let stride = self.index(&row.stride)?;
        let stride = match stride.text.as_str() {
            "0" => "0".to_owned(),
            "1" => format!("(int64_t)sizeof({size})"),
            _ => format!("{} * (int64_t)sizeof({size})", stride.at_least(Precedence::Product)),
        };
        Ok([format!("&{}", place.text), self.index(&row.count)?.text, stride])
    }

    /// Writes a push of a row.
    pub(super) fn push(&mut self, push: &Push) -> Print<()> {
        match (self.is_of_device, self.program.is_device_queue(push.queue.buffer)) {
            (true, _) => return self.push_row_in_kernel(push),
            (false, true) => return self.push_to_device(push),
            (false, false) => {}
        }
        let [from, count, stride] = self.row(&push.from)?;
        let queue = self.queue(&push.queue)?;
        self.look_at_row(&push.from, &count, Access::Read)?;
        let collector = self.collectors.get(&push.queue.buffer).cloned();
        if let Some(collector) = &collector {
            self.settle(collector);
        }
        self.push_row(&push.label, push.queue.buffer, &queue, &format!("{from}, {count}, {stride}"))?;
        if let Some(collector) = &collector {
            self.resume(collector);
        }
        Ok(())
    }

    fn push_row(&mut self, label: &str, stream: BufferId, queue: &str, row: &str) -> Print<()> {
        let name = &self.program.plan.buffer(stream).name;
        let call = format!("sdfg_stream_push({queue}, {row}, {})", self.task);
        self.check_wait(&call, name, &format!("`{label}` waits for room in the stream `{name}`"))
    }

    /// Pushes an element of a tasklet, if a condition holds where there is one.
    pub(super) fn push_element(
        &mut self,
        label: &str,
        queue: &Location,
        value: &Lanes,
        condition: Option<&str>,
    ) -> Print<()> {
        match (self.is_of_device, self.program.is_device_queue(queue.buffer)) {
            (true, _) => return self.push_in_kernel(queue, value, condition),
            (false, true) => return self.push_value_to_device(label, queue, value, condition),
            (false, false) => {}
        }
        if let Some(collector) = self.collectors.get(&queue.buffer).cloned() {
            return self.push_collected(&collector, value, condition);
        }
        let arguments = self.queue(queue)?;
        match condition {
            None => self.push_value(label, queue.buffer, &arguments, value),
            Some(condition) => self
                .block(format!("if ({condition})"), |f| f.push_value(label, queue.buffer, &arguments, value)),
        }
    }

    /// Adds a value to a queue of a stream, or of another one for elements of the same type: `queue` is its arguments.
    pub(super) fn push_value(
        &mut self,
        label: &str,
        stream: BufferId,
        queue: &str,
        value: &Lanes,
    ) -> Print<()> {
        self.block("", |f| {
            let place = f.element_place(stream)?;
            f.store(&place, value)?;
            f.push_row(label, stream, queue, &format!("&{}, 1, 0", place.text))
        })
    }

    /// A new variable for an element of a stream.
    pub(super) fn element_place(&mut self, stream: BufferId) -> Print<Place> {
        let element = self.program.plan.buffer(stream).element;
        let (ty, name) = (self.program.memory_type(element), self.temporary());
        self.line(format!("{ty} {name};"));
        Ok(Place { text: name, element, is_shared: false, checked: None })
    }

    // Queues of a thread's own.

    /// Makes a queue of this thread's own for each stream, which stands for the stream from here on.
    pub(super) fn open_collectors(&mut self, collected: &[Collected]) -> Print<Vec<Collector>> {
        let mut opened = Vec::with_capacity(collected.len());
        for each in collected {
            opened.push(self.open_collector(each.stream, each.array.clone())?);
        }
        Ok(opened)
    }

    fn open_collector(&mut self, stream: BufferId, array: Option<StreamToArray>) -> Print<Collector> {
        let own = self.open_own_queue(stream, "own")?;
        let ty = self.program.memory_type(self.program.plan.buffer(stream).element);
        let [next, end] = ["next", "end"].map(|word| {
            let name = self.program.names.global(&format!("{}_{word}", self.program.names.buffer(stream)));
            self.declare(&name, format!("{ty} *{name} = NULL;"));
            name
        });
        let collector = Collector { stream, own, next, end, array };
        self.resume(&collector);
        self.collectors.insert(stream, collector.clone());
        Ok(collector)
    }

    /// Has the stream stand for itself again; its own queue is empty.
    fn close_collector(&mut self, collector: &Collector) {
        self.collectors.remove(&collector.stream);
        self.close_own_queue(&collector.own);
    }

    /// Moves what a thread has pushed to the stream.
    pub(super) fn append_collected(&mut self, collector: &Collector) -> Print<()> {
        self.settle(collector);
        let name = self.program.names.buffer(collector.stream);
        let call = match &collector.array {
            None => format!("sdfg_stream_append({name}, {})", collector.own),
            Some(array) => {
                let [to, most, stride] = self.row(&array.to)?;
                let delivered = self.place(&array.delivered)?.text;
                format!(
                    "sdfg_stream_deliver({name}, {}, {to}, {stride}, {most}, &{delivered})",
                    collector.own
                )
            }
        };
        let name = self.program.plan.buffer(collector.stream).name.clone();
        self.check_wait(&call, &name, "")?;
        self.resume(collector);
        Ok(())
    }

    /// Adds a value to a thread's own queue, if a condition holds where there is one.
    ///
    /// The place behind the last element is written in any case, which needs no branch that the processor would have to guess.
    fn push_collected(&mut self, collector: &Collector, value: &Lanes, condition: Option<&str>) -> Print<()> {
        let Collector { stream, own, next, end, array: _ } = collector;
        let name = self.program.plan.buffer(*stream).name.clone();
        self.block(format!("if ({next} == {end})"), |f| {
            f.settle(collector);
            f.check_wait(&format!("sdfg_stream_grow({own})"), &name, "")?;
            f.resume(collector);
            Ok(())
        })?;
        let element = self.program.plan.buffer(*stream).element;
        self.store(&Place { text: format!("(*{next})"), element, is_shared: false, checked: None }, value)?;
        match condition {
            None => self.line(format!("++{next};")),
            Some(condition) => self.line(format!("{next} += {condition};")),
        }
        Ok(())
    }

    /// Takes the end of a thread's own queue into variables.
    fn resume(&mut self, Collector { stream, own, next, end, array: _ }: &Collector) {
        let ty = self.program.memory_type(self.program.plan.buffer(*stream).element);
        for (variable, field) in [(next, "length"), (end, "capacity")] {
            self.line(format!(
                "{variable} = ({ty} *)(void *){own}->queue[0].ring + {own}->queue[0].{field};"
            ));
        }
    }

    /// Tells a thread's own queue how many elements it has.
    fn settle(&mut self, Collector { stream, own, next, .. }: &Collector) {
        let ty = self.program.memory_type(self.program.plan.buffer(*stream).element);
        self.line(format!("{own}->queue[0].length = {next} - ({ty} *)(void *){own}->queue[0].ring;"));
    }

    // Elements that are taken.

    /// Writes a pop.
    pub(super) fn pop(&mut self, pop: &Pop) -> Print<()> {
        if self.program.is_device_queue(pop.queue.buffer) {
            return self.pop_from_device(pop);
        }
        self.program.use_runtime();
        let queue = self.queue(&pop.queue)?;
        let [to, count, stride] = self.row(&pop.to)?;
        if pop.waits {
            let name = self.program.plan.buffer(pop.queue.buffer).name.clone();
            let waits = format!("`{}` waits for an element of the stream `{name}`", pop.label);
            let call = format!("sdfg_stream_pop({queue}, {to}, {count}, {stride}, {})", self.task);
            self.check_wait(&call, &name, &waits)?;
            self.look_at_row(&pop.to, &count, Access::Write)?;
            return match &pop.taken {
                Some(taken) => self.set_variable(taken, &Code::new(count, Precedence::Choice)),
                None => Ok(()),
            };
        }
        let mut call = Code::atom(format!("sdfg_stream_take({queue}, {to}, {count}, {stride})"));
        if self.is_checked() {
            call = self.held(ScalarType::I64, call);
            self.look_at_row(&pop.to, &call.text, Access::Write)?;
        }
        match &pop.taken {
            Some(variable) => self.set_variable(variable, &call),
            None => {
                self.line(format!("(void){};", call.text));
                Ok(())
            }
        }
    }

    pub(super) fn set_variable(&mut self, variable: &sdfg::symbolic::Symbol, value: &Code) -> Print<()> {
        let (name, value) = (self.variable(variable)?, self.converted(variable, value)?);
        self.set(name, &value.text);
        Ok(())
    }

    /// The number of elements of a queue.
    pub(super) fn length(&mut self, queues: &Strided, indices: &[Code]) -> Print<Code> {
        let name = self.stream_name(queues.origin.buffer);
        let buffer = self.program.plan.buffer(queues.origin.buffer);
        self.check_extents(&buffer.name, indices, &queues.extents)?;
        let queue = self.strided_offset(queues, indices)?;
        if self.program.is_device_queue(queues.origin.buffer) {
            return Ok(Code::atom(format!("{name}->queue[{}].length", queue.text)));
        }
        self.program.use_runtime();
        Ok(Code::atom(format!("sdfg_stream_length({name}, {})", queue.text)))
    }

    /// Ends the run if a wait was in vain or the runtime had no memory: `call` is its status.
    fn check_wait(&mut self, call: &str, stream: &str, waits: &str) -> Print<()> {
        self.program.use_runtime();
        self.block("", |f| {
            let wait = f.temporary();
            f.line(format!("const int32_t {wait} = {call};"));
            let memory = format!("no memory for `{stream}`");
            let deadlock = format!("deadlock: {waits}, and nothing else can run");
            f.block(format!("if ({wait} != SDFG_SUCCESS)"), |f| {
                if waits.is_empty() {
                    f.fail_first(&wait, &super::function::quoted(&memory));
                } else {
                    let [deadlock, memory] = [deadlock, memory].map(|text| super::function::quoted(&text));
                    f.fail_first(&wait, &format!("{wait} == SDFG_TRAP ? {deadlock} : {memory}"));
                }
                Ok(())
            })
        })
    }

    /// A processing element of a consume scope.
    pub(super) fn consume(&mut self, consume: &Consume) -> Print<()> {
        self.program.use_runtime();
        self.uses_handle = true;
        let Consume { label, queue: queue_place, scope, element, batch, gathers, condition, recalls, body } =
            consume;
        let queue = self.queue(queue_place)?;
        let (scope, element) = (self.place(scope)?.text, self.place(element)?);
        let first = batch.map_or_else(|| element.clone(), |batch| self.place_at(batch, &Code::int(0)));
        let most = batch.and_then(|batch| self.program.plan.buffer(batch).size.as_int()).unwrap_or(1);
        let gathered = if *gathers { Some(self.open_collector(queue_place.buffer, None)?) } else { None };
        let [working, taken, answer] = [(); 3].map(|()| self.temporary());
        let scope = format!("(sdfg_scope *)(void *)&{scope}");
        let stop = |f: &mut Self| {
            f.line(format!("sdfg_consume_stop({scope});"));
            f.line("break;");
            Ok(())
        };
        self.line("{");
        self.lines.indent();
        self.line(format!("int32_t {working} = 0;"));
        self.lines.open("for (;;) {");
        self.frames.push(Frame::Loop { target: None, continues: false });
        self.line(format!("int64_t {taken} = 0;"));
        self.line(format!("int32_t {answer};"));
        recalls.iter().try_for_each(|kept| self.recall(kept))?;
        if let Some(condition) = condition {
            let condition = self.condition(condition)?;
            self.block(format!("if ({})", condition.text), stop)?;
        }
        self.line(format!(
            "{answer} = sdfg_consume({queue}, {scope}, &{}, {most}, &{taken}, {working}, {}, &handle->status, {});",
            first.text,
            i32::from(condition.is_some()),
            self.task
        ));
        self.line(format!("{working} = {answer} == SDFG_TAKEN;"));
        self.block(format!("if ({answer} == SDFG_DONE)"), |f| {
            f.line("break;");
            Ok(())
        })?;
        self.block(format!("if ({answer} == SDFG_AGAIN)"), |f| {
            f.line("continue;");
            Ok(())
        })?;
        self.block(format!("if ({answer} != SDFG_TAKEN)"), |f| {
            // Nothing changes any more, so this is the last test.
            recalls.iter().try_for_each(|kept| f.recall(kept))?;
            if let Some(condition) = condition {
                let condition = f.condition(condition)?;
                f.block(format!("if ({})", condition.text), stop)?;
            }
            let name = f.program.plan.buffer(queue_place.buffer).name.clone();
            let text = format!(
                "deadlock: `{label}` waits for an element of the stream `{name}`, and nothing else can run"
            );
            f.fail_first("SDFG_TRAP", &super::function::quoted(&text));
            Ok(())
        })?;
        match batch {
            None => self.block("", |f| f.statements(body))?,
            Some(batch) => {
                let number = self.temporary();
                self.lines.open(format!("for (int64_t {number} = 0; {number} < {taken}; ++{number}) {{"));
                self.frames.push(Frame::Loop { target: None, continues: false });
                let place = self.place_at(*batch, &Code::atom(number));
                let value = self.load(&place)?;
                self.store(&element, &value)?;
                self.statements(body)?;
                self.frames.pop();
                self.lines.close("}");
            }
        }
        if let Some(gathered) = &gathered {
            self.append_collected(gathered)?;
        }
        self.frames.pop();
        self.lines.close("}");
        self.lines.close("}");
        if let Some(gathered) = &gathered {
            self.close_collector(gathered);
        }
        Ok(())
    }

    fn integer_helper(&self, op: sdfg::tasklet::BinaryOperation) -> Print<String> {
        self.program.integer_helper(op, sdfg::dtype::ScalarType::I64)
    }
}
