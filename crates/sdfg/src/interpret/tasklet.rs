//! Tasklets: inputs in, code, outputs out (`docs/semantics.md`, "Connectors").

use super::access::Part;
use super::evaluate::{decode, encode_as, symbol_value};
use super::machine::{Activity, At, Call, Frame, Machine, Step};
use super::program::{
    ConnectorCode, CountCode, EndCode, InputCode, Item, OutputCode, PopCode, SymbolCode, TaskletCode,
    TaskletForm, WriteCode,
};
use super::trap::{Site, Trap, TrapKind};
use crate::dtype::ElementType;
use crate::tasklet::{Access, ConnectorId, Frame as CodeFrame, Trap as CodeTrap};
use crate::value::Value;

/// In a tasklet that may wait for a stream: before it runs for elements, afterwards for room.
#[derive(Debug)]
pub(super) struct TaskletFrame<'p> {
    item: &'p Item,
    code: &'p TaskletCode,
    at: At,
    /// The elements that were taken so far, by input.
    popped: Vec<Vec<u8>>,
    /// The input that is taken for next.
    next: usize,
    /// What is still to be pushed, the last one first.
    pushes: Vec<Push<'p>>,
    has_run: bool,
}

/// An element on its way into a queue.
#[derive(Debug)]
pub(super) struct Push<'p> {
    end: &'p EndCode,
    /// How many its tasklet pushed before it.
    number: i64,
    element: Vec<u8>,
}

impl TaskletFrame<'_> {
    /// Where it happens.
    pub(super) fn at(&self) -> At {
        self.at
    }
}

/// A pointer connector while its tasklet runs.
#[derive(Debug, Default)]
struct Pointer {
    part: Part,
}

/// Memory and streams behind the connectors of a tasklet that runs.
struct Connectors<'m, 'p, 'c> {
    machine: &'m mut Machine<'p>,
    call: &'c Call,
    code: &'p TaskletCode,
    site: &'p Site,
    at: At,
    /// By input, then by output.
    pointers: Vec<Pointer>,
    pushes: Vec<Push<'p>>,
    /// How often each output was pushed to.
    pushed: Vec<i64>,
    /// Elements that were taken from queues, by input.
    popped: &'c [Vec<u8>],
    index: Vec<i64>,
    element: Vec<u8>,
}

impl<'p> Connectors<'_, 'p, '_> {
    /// The position that a pointer's indices name.
    fn position(&mut self, number: usize, end: &EndCode, indices: &[i64]) -> Result<i64, Box<Trap>> {
        let pointer = &self.pointers[number];
        let mut given = indices.iter();
        let mut outside = false;
        self.index.clear();
        for span in &pointer.part.spans {
            let k = if span.is_index { 0 } else { given.next().copied().unwrap_or(0) };
            outside |= k < 0 || k >= span.len();
            self.index.push(if outside { 0 } else { span.at(k) });
        }
        // A pointer to a single element is indexed with 0.
        outside |= given.any(|k| *k != 0);
        if outside {
            let shape = pointer.part.spans.iter().filter(|s| !s.is_index).map(|s| s.len()).collect();
            let container = self.machine.container(end.access);
            let kind = TrapKind::OutOfBounds { container, index: indices.to_vec(), shape };
            return Err(self.machine.trap(kind, self.machine.site(end.access)));
        }
        self.machine.position(self.call, end, &self.index)
    }
}

impl Connectors<'_, '_, '_> {
    /// The element that an index names among those that were taken from queues.
    fn taken<'a>(
        &self,
        end: &EndCode,
        popped: Option<&'a Vec<u8>>,
        element: ElementType,
        indices: &[i64],
    ) -> Result<&'a [u8], Box<Trap>> {
        let popped = popped.map_or(&[][..], Vec::as_slice);
        let at = indices.first().and_then(|k| usize::try_from(*k).ok());
        at.and_then(|k| popped.chunks_exact(element.size()).nth(k)).ok_or_else(|| {
            let container = self.machine.container(end.access);
            let shape = vec![(popped.len() / element.size()) as i64];
            let kind = TrapKind::OutOfBounds { container, index: indices.to_vec(), shape };
            self.machine.trap(kind, self.machine.site(end.access))
        })
    }
}

impl Access for Connectors<'_, '_, '_> {
    type Error = Box<Trap>;

    fn load(
        &mut self,
        connector: ConnectorId,
        indices: &[i64],
        lanes: &mut [Value],
    ) -> Result<(), Box<Trap>> {
        let code = self.code;
        let Some(number) = code.inputs.iter().position(|input| input.id == Some(connector)) else {
            return Ok(());
        };
        let element = code.inputs[number].element;
        let ty = element.lane();
        let bytes = match &code.inputs[number].form {
            InputCode::Pointer(end) => {
                let position = self.position(number, end, indices)?;
                self.machine.read(self.call, end, position, self.at)?
            }
            InputCode::Pop(pop) => self.taken(&pop.end, self.popped.get(number), element, indices)?,
            InputCode::Register { register, .. } => match indices {
                [0] => &self.call.registers[*register as usize],
                _ => {
                    let (container, index) = (code.inputs[number].name.clone(), indices.to_vec());
                    let kind = TrapKind::OutOfBounds { container, index, shape: vec![1] };
                    return Err(self.machine.trap(kind, self.site));
                }
            },
            InputCode::Value(_) => return Ok(()),
        };
        for (lane, bytes) in lanes.iter_mut().zip(bytes.chunks_exact(ty.size())) {
            *lane = Value::read(ty, bytes).unwrap_or(Value::zero(ty));
        }
        Ok(())
    }

    fn store(&mut self, connector: ConnectorId, indices: &[i64], lanes: &[Value]) -> Result<(), Box<Trap>> {
        let code = self.code;
        let Some(number) = code.outputs.iter().position(|output| output.id == Some(connector)) else {
            return Ok(());
        };
        let output = &code.outputs[number];
        self.element.resize(output.element.size(), 0);
        encode_as(output.element, lanes, &mut self.element);
        for write in writes_of(&output.form) {
            let position = self.position(code.inputs.len() + number, &write.end, indices)?;
            self.machine.write(self.call, write, position, self.at, &self.element)?;
        }
        Ok(())
    }

    fn push(&mut self, connector: ConnectorId, lanes: &[Value]) -> Result<(), Box<Trap>> {
        let code = self.code;
        let Some(number) = code.outputs.iter().position(|output| output.id == Some(connector)) else {
            return Ok(());
        };
        let output = &code.outputs[number];
        let number_of_push = self.pushed[number];
        self.pushed[number] += 1;
        let mut element = vec![0; output.element.size()];
        encode_as(output.element, lanes, &mut element);
        let ends = push_ends(&output.form);
        self.pushes.extend(ends.into_iter().map(|end| Push {
            end,
            number: number_of_push,
            element: element.clone(),
        }));
        Ok(())
    }
}

/// The writes of a value or pointer output.
fn writes_of(output: &OutputCode) -> Vec<&WriteCode> {
    match output {
        OutputCode::Pointer { write } | OutputCode::Value { write, .. } => vec![write],
        OutputCode::Several(outputs) => outputs.iter().flat_map(writes_of).collect(),
        OutputCode::Push { .. } | OutputCode::Register(_) | OutputCode::Nothing => Vec::new(),
    }
}

/// The queues of a stream output.
fn push_ends(output: &OutputCode) -> Vec<&EndCode> {
    match output {
        OutputCode::Push { end, .. } => vec![end],
        OutputCode::Several(outputs) => outputs.iter().flat_map(push_ends).collect(),
        OutputCode::Value { .. }
        | OutputCode::Pointer { .. }
        | OutputCode::Register(_)
        | OutputCode::Nothing => Vec::new(),
    }
}

impl<'p> Machine<'p> {
    /// Runs a tasklet that never waits.
    pub(super) fn run_tasklet(
        &mut self,
        call: &mut Call,
        item: &'p Item,
        code: &'p TaskletCode,
        at: At,
    ) -> Result<(), Box<Trap>> {
        let pushes = self.compute(call, item, code, at, &[])?;
        for push in pushes {
            let queue = self.queue(call, push.end, push.number)?;
            self.push(call, push.end, queue, &push.element)?;
        }
        Ok(())
    }

    pub(super) fn enter_tasklet(
        &mut self,
        activity: &mut Activity<'p>,
        item: &'p Item,
        code: &'p TaskletCode,
        at: At,
    ) {
        let popped = vec![Vec::new(); code.inputs.len()];
        let frame = TaskletFrame { item, code, at, popped, next: 0, pushes: Vec::new(), has_run: false };
        activity.frames.push(Frame::Tasklet(Box::new(frame)));
    }

    pub(super) fn step_tasklet(&mut self, activity: &mut Activity<'p>) -> Result<Step, Box<Trap>> {
        let Some(Frame::Tasklet(mut frame)) = activity.frames.pop() else { return Ok(Step::Continue) };
        let code = frame.code;
        let site = &self.program.items[frame.item.number as usize].site;
        if !frame.has_run {
            while let Some(input) = code.inputs.get(frame.next) {
                if let InputCode::Pop(pop) = &input.form
                    && let Some(queue) =
                        self.take(activity.call(), pop, input.element, &mut frame.popped[frame.next])?
                {
                    let wait = self.wait_for(activity.call(), &pop.end, queue, false, site.clone())?;
                    activity.frames.push(Frame::Tasklet(frame));
                    return Ok(Step::AwaitStream(wait));
                }
                frame.next += 1;
            }
            let mut pushes = self.compute(activity.call(), frame.item, code, frame.at, &frame.popped)?;
            pushes.reverse();
            frame.pushes = pushes;
            frame.has_run = true;
        }
        while let Some(push) = frame.pushes.pop() {
            let queue = self.queue(activity.call(), push.end, push.number)?;
            if !self.push(activity.call(), push.end, queue, &push.element)? {
                let wait = self.wait_for(activity.call(), push.end, queue, true, site.clone())?;
                frame.pushes.push(push);
                activity.frames.push(Frame::Tasklet(frame));
                return Ok(Step::AwaitStream(wait));
            }
        }
        Ok(Step::Continue)
    }

    /// Takes what a tasklet still lacks from its queues. The answer is the queue that it has to wait for.
    fn take(
        &mut self,
        call: &Call,
        pop: &PopCode,
        element: ElementType,
        taken: &mut Vec<u8>,
    ) -> Result<Option<usize>, Box<Trap>> {
        let index_trap = |error| self.index_trap(call, &error, self.site(pop.end.access));
        let (wanted, waits) = match &pop.count {
            CountCode::Exact(count) => (count.eval(&call.symbols).map_err(index_trap)?, true),
            CountCode::AtMost(bound) => (bound.eval(&call.symbols).map_err(index_trap)?, false),
            CountCode::Any => (i64::MAX, false),
        };
        if pop.is_value && wanted != 1 {
            let kind = TrapKind::SizeMismatch { expected: 1, found: wanted };
            return Err(self.trap(kind, self.site(pop.end.access)));
        }
        let mut next = Vec::new();
        loop {
            let done = (taken.len() / element.size()) as i64;
            if done >= wanted {
                return Ok(None);
            }
            let queue = self.queue(call, &pop.end, done)?;
            if !self.pop(call, &pop.end, queue, &mut next)? {
                return Ok(waits.then_some(queue));
            }
            taken.extend_from_slice(&next);
        }
    }

    /// Reads value inputs, runs the code, writes value outputs. The answer is what is to be pushed.
    fn compute(
        &mut self,
        call: &mut Call,
        item: &'p Item,
        code: &'p TaskletCode,
        at: At,
        popped: &[Vec<u8>],
    ) -> Result<Vec<Push<'p>>, Box<Trap>> {
        let site = &self.program.items[item.number as usize].site;
        self.count_step(site)?;
        self.counts.tasklets += 1;
        let TaskletForm::Code(number) = code.form else {
            self.run_external(call, item, code, at, popped)?;
            return Ok(Vec::new());
        };
        let compiled = &self.program.codes[number];
        let mut frame = self.frames[number].take().unwrap_or_else(|| compiled.frame());
        self.set_symbols(call, &code.symbols, &mut frame, site)?;
        let mut has_pointers = false;
        for (i, input) in code.inputs.iter().enumerate() {
            match (&input.form, input.id) {
                (InputCode::Pointer(_), _) => has_pointers = true,
                (InputCode::Value(end), Some(id)) => {
                    let position = self.locate(call, end)?;
                    let bytes = self.read(call, end, position, at)?;
                    set_input(&mut frame, id, input.element, bytes);
                }
                (InputCode::Pop(pop), Some(id)) => {
                    if let (Some(element), true) = (popped.get(i), pop.is_value) {
                        set_input(&mut frame, id, input.element, element);
                    }
                }
                (InputCode::Register { is_value: false, .. }, _) => {}
                (InputCode::Register { register, .. }, Some(id)) => {
                    let element = &call.registers[*register as usize];
                    if element.is_empty() {
                        return Err(
                            self.trap(TrapKind::MissingOutput { connector: input.name.clone() }, site)
                        );
                    }
                    set_input(&mut frame, id, input.element, element);
                }
                (InputCode::Value(_) | InputCode::Pop(_) | InputCode::Register { .. }, None) => {}
            }
        }
        let needs_pointers = has_pointers || code.outputs.iter().any(|output| is_pointer(&output.form));
        let pointers = if needs_pointers { self.pointers(call, code)? } else { Vec::new() };
        let mut connectors = Connectors {
            machine: self,
            call,
            code,
            site,
            at,
            pointers,
            pushes: Vec::new(),
            popped,
            pushed: vec![
                0;
                if code.outputs.iter().any(|o| !push_ends(&o.form).is_empty()) {
                    code.outputs.len()
                } else {
                    0
                }
            ],
            index: Vec::new(),
            element: Vec::new(),
        };
        let steps = connectors.machine.code_steps();
        let run = compiled.run(&mut frame, &mut connectors, steps);
        let (pushes, pushed) = (connectors.pushes, connectors.pushed);
        run.map_err(|trap| match trap {
            CodeTrap::Access(trap) => trap,
            CodeTrap::StepLimit => self.code_limit(site),
        })?;
        for (i, output) in code.outputs.iter().enumerate() {
            let count = pushed.get(i).copied().unwrap_or(0);
            self.output(call, output, &output.form, &frame, at, count, site)?;
        }
        self.frames[number] = Some(frame);
        Ok(pushes)
    }

    pub(super) fn set_symbols(
        &self,
        call: &Call,
        symbols: &[SymbolCode],
        frame: &mut CodeFrame,
        site: &Site,
    ) -> Result<(), Box<Trap>> {
        for symbol in symbols {
            let Some(value) = call.symbols[symbol.slot as usize] else {
                let symbols = &self.program.procedures[call.procedure].symbols;
                let symbol = symbols[symbol.slot as usize].0.clone();
                return Err(self.trap(TrapKind::UndefinedSymbol { symbol }, site));
            };
            frame.set_symbol(symbol.id, symbol_value(value, symbol.ty));
        }
        Ok(())
    }

    fn pointers(&mut self, call: &Call, code: &TaskletCode) -> Result<Vec<Pointer>, Box<Trap>> {
        let mut pointers = Vec::with_capacity(code.inputs.len() + code.outputs.len());
        for input in &code.inputs {
            let mut pointer = Pointer::default();
            if let InputCode::Pointer(end) = &input.form {
                self.passes(end);
                self.part(call, end, &mut pointer.part)?;
            }
            pointers.push(pointer);
        }
        for output in &code.outputs {
            let mut pointer = Pointer::default();
            if let (true, Some(write)) = (is_pointer(&output.form), writes_of(&output.form).first()) {
                self.passes(&write.end);
                self.part(call, &write.end, &mut pointer.part)?;
            }
            pointers.push(pointer);
        }
        Ok(pointers)
    }

    /// Writes a value output, or checks that a stream output was pushed to as often as its memlet says.
    #[expect(clippy::too_many_arguments, reason = "one call from one place, and one from itself")]
    fn output(
        &mut self,
        call: &mut Call,
        connector: &ConnectorCode<OutputCode>,
        form: &OutputCode,
        frame: &CodeFrame,
        at: At,
        pushed: i64,
        site: &Site,
    ) -> Result<(), Box<Trap>> {
        let missing = || TrapKind::MissingOutput { connector: connector.name.clone() };
        match form {
            OutputCode::Value { write, required } => {
                let Some(lanes) = connector.id.and_then(|id| frame.output(id)) else {
                    return if *required { Err(self.trap(missing(), site)) } else { Ok(()) };
                };
                let position = self.locate(call, &write.end)?;
                if let [value] = lanes {
                    let bytes = value.to_bytes();
                    return self.write(call, write, position, at, &bytes[..connector.element.size()]);
                }
                let mut element = vec![0; connector.element.size()];
                encode_as(connector.element, lanes, &mut element);
                self.write(call, write, position, at, &element)
            }
            OutputCode::Register(register) => {
                let target = &mut call.registers[*register as usize];
                target.clear();
                if let Some(lanes) = connector.id.and_then(|id| frame.output(id)) {
                    target.resize(connector.element.size(), 0);
                    encode_as(connector.element, lanes, target);
                }
                Ok(())
            }
            OutputCode::Push { end, count } => {
                let (least, most) = match count {
                    CountCode::Exact(count) => (count.eval(&call.symbols), count.eval(&call.symbols)),
                    CountCode::AtMost(bound) => (Ok(0), bound.eval(&call.symbols)),
                    CountCode::Any => return Ok(()),
                };
                let index_trap = |error| self.index_trap(call, &error, self.site(end.access));
                let (least, most) = (least.map_err(index_trap)?, most.map_err(index_trap)?);
                if pushed < least {
                    return Err(self.trap(missing(), site));
                }
                if pushed > most {
                    let kind = TrapKind::SizeMismatch { expected: most, found: pushed };
                    return Err(self.trap(kind, self.site(end.access)));
                }
                Ok(())
            }
            OutputCode::Several(outputs) => outputs
                .iter()
                .try_for_each(|output| self.output(call, connector, output, frame, at, pushed, site)),
            OutputCode::Pointer { .. } | OutputCode::Nothing => Ok(()),
        }
    }

    /// The element that a single input brings.
    pub(super) fn input_element(
        &mut self,
        call: &Call,
        input: &InputCode,
        at: At,
    ) -> Result<Vec<u8>, Box<Trap>> {
        match input {
            InputCode::Value(end) | InputCode::Pointer(end) => {
                let position = self.locate(call, end)?;
                Ok(self.read(call, end, position, at)?.to_vec())
            }
            InputCode::Pop(pop) => Err(self.unbound(pop.end.access)),
            InputCode::Register { register, .. } => Ok(call.registers[*register as usize].clone()),
        }
    }
}

fn is_pointer(output: &OutputCode) -> bool {
    match output {
        OutputCode::Pointer { .. } => true,
        OutputCode::Several(outputs) => outputs.iter().any(is_pointer),
        OutputCode::Value { .. }
        | OutputCode::Push { .. }
        | OutputCode::Register(_)
        | OutputCode::Nothing => false,
    }
}

/// Sets a value input from the bytes of its element.
fn set_input(frame: &mut CodeFrame, id: ConnectorId, element: ElementType, bytes: &[u8]) {
    if element.lanes() == 1 {
        if let Some(value) = Value::read(element.lane(), bytes) {
            frame.set_input(id, &[value]);
        }
    } else {
        frame.set_input(id, &decode(element, bytes));
    }
}
