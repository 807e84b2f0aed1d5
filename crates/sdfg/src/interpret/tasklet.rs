//! Tasklets: inputs in, code, outputs out (`docs/semantics.md`, "Connectors").

use super::access::Part;
use super::evaluate::{CODE_STEPS, decode, encode_as, symbol_value};
use super::machine::{Activity, At, Call, Frame, Machine, Step};
use super::program::{
    ConnectorCode, EndCode, InputCode, Item, OutputCode, SymbolCode, TaskletCode, TaskletForm, WriteCode,
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
    popped: Vec<Option<Vec<u8>>>,
    /// What is still to be pushed, the last one first.
    pushes: Vec<Push<'p>>,
    has_run: bool,
}

/// An element on its way into a queue.
#[derive(Debug)]
pub(super) struct Push<'p> {
    end: &'p EndCode,
    element: Vec<u8>,
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
    at: At,
    /// By input, then by output.
    pointers: Vec<Pointer>,
    pushes: Vec<Push<'p>>,
    /// How often each output was pushed to.
    pushed: Vec<i64>,
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
        let InputCode::Pointer(end) = &code.inputs[number].form else { return Ok(()) };
        let position = self.position(number, end, indices)?;
        let ty = code.inputs[number].element.lane();
        let bytes = self.machine.read(self.call, end, position, self.at)?;
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
        self.pushed[number] += 1;
        let mut element = vec![0; output.element.size()];
        encode_as(output.element, lanes, &mut element);
        let ends = push_ends(&output.form);
        self.pushes.extend(ends.into_iter().map(|end| Push { end, element: element.clone() }));
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
        let pushes = self.compute(call, item, code, at, &mut [])?;
        for push in pushes {
            let queue = self.queue(call, push.end)?;
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
        let popped = vec![None; code.inputs.len()];
        let frame = TaskletFrame { item, code, at, popped, pushes: Vec::new(), has_run: false };
        activity.frames.push(Frame::Tasklet(Box::new(frame)));
    }

    pub(super) fn step_tasklet(&mut self, activity: &mut Activity<'p>) -> Result<Step, Box<Trap>> {
        let Some(Frame::Tasklet(mut frame)) = activity.frames.pop() else { return Ok(Step::Continue) };
        let code = frame.code;
        let site = &self.program.items[frame.item.number as usize].site;
        if !frame.has_run {
            for (input, popped) in code.inputs.iter().zip(&mut frame.popped) {
                let InputCode::Pop(end) = &input.form else { continue };
                if popped.is_some() {
                    continue;
                }
                let queue = self.queue(activity.call(), end)?;
                let mut element = Vec::new();
                if !self.pop(activity.call(), end, queue, &mut element)? {
                    let wait = self.wait_for(activity.call(), end, queue, false, site.clone())?;
                    activity.frames.push(Frame::Tasklet(frame));
                    return Ok(Step::AwaitStream(wait));
                }
                *popped = Some(element);
            }
            let mut pushes = self.compute(activity.call(), frame.item, code, frame.at, &mut frame.popped)?;
            pushes.reverse();
            frame.pushes = pushes;
            frame.has_run = true;
        }
        while let Some(push) = frame.pushes.pop() {
            let queue = self.queue(activity.call(), push.end)?;
            if !self.push(activity.call(), push.end, queue, &push.element)? {
                let wait = self.wait_for(activity.call(), push.end, queue, true, site.clone())?;
                frame.pushes.push(push);
                activity.frames.push(Frame::Tasklet(frame));
                return Ok(Step::AwaitStream(wait));
            }
        }
        Ok(Step::Continue)
    }

    /// Reads value inputs, runs the code, writes value outputs. The answer is what is to be pushed.
    fn compute(
        &mut self,
        call: &mut Call,
        item: &'p Item,
        code: &'p TaskletCode,
        at: At,
        popped: &mut [Option<Vec<u8>>],
    ) -> Result<Vec<Push<'p>>, Box<Trap>> {
        let site = &self.program.items[item.number as usize].site;
        self.count_step(site)?;
        self.counts.tasklets += 1;
        let TaskletForm::Code(number) = code.form else {
            self.run_external(call, item, code, at)?;
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
                (InputCode::Pop(_), Some(id)) => {
                    if let Some(Some(element)) = popped.get(i) {
                        set_input(&mut frame, id, input.element, element);
                    }
                }
                (InputCode::Register(register), Some(id)) => {
                    let element = &call.registers[*register as usize];
                    if element.is_empty() {
                        return Err(
                            self.trap(TrapKind::MissingOutput { connector: input.name.clone() }, site)
                        );
                    }
                    set_input(&mut frame, id, input.element, element);
                }
                (InputCode::Value(_) | InputCode::Pop(_) | InputCode::Register(_), None) => {}
            }
        }
        let needs_pointers = has_pointers || code.outputs.iter().any(|output| is_pointer(&output.form));
        let pointers = if needs_pointers { self.pointers(call, code)? } else { Vec::new() };
        let mut connectors = Connectors {
            machine: self,
            call,
            code,
            at,
            pointers,
            pushes: Vec::new(),
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
        let run = compiled.run(&mut frame, &mut connectors, CODE_STEPS);
        let (pushes, pushed) = (connectors.pushes, connectors.pushed);
        run.map_err(|trap| match trap {
            CodeTrap::Access(trap) => trap,
            CodeTrap::StepLimit => self.trap(TrapKind::StepLimit { limit: CODE_STEPS }, site),
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

    fn pointers(&self, call: &Call, code: &TaskletCode) -> Result<Vec<Pointer>, Box<Trap>> {
        let mut pointers = Vec::with_capacity(code.inputs.len() + code.outputs.len());
        for input in &code.inputs {
            let mut pointer = Pointer::default();
            if let InputCode::Pointer(end) = &input.form {
                self.part(call, end, &mut pointer.part)?;
            }
            pointers.push(pointer);
        }
        for output in &code.outputs {
            let mut pointer = Pointer::default();
            if let (true, Some(write)) = (is_pointer(&output.form), writes_of(&output.form).first()) {
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
            OutputCode::Push { end, exact: Some(exact) } => {
                let exact = exact
                    .eval(&call.symbols)
                    .map_err(|e| self.index_trap(call, &e, self.site(end.access)))?;
                if pushed < exact { Err(self.trap(missing(), site)) } else { Ok(()) }
            }
            OutputCode::Several(outputs) => outputs
                .iter()
                .try_for_each(|output| self.output(call, connector, output, frame, at, pushed, site)),
            OutputCode::Pointer { .. } | OutputCode::Push { exact: None, .. } | OutputCode::Nothing => Ok(()),
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
            InputCode::Value(end) | InputCode::Pointer(end) | InputCode::Pop(end) => {
                let position = self.locate(call, end)?;
                Ok(self.read(call, end, position, at)?.to_vec())
            }
            InputCode::Register(register) => Ok(call.registers[*register as usize].clone()),
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
