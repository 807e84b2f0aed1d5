//! Tasklets: inputs, code and outputs (`docs/semantics.md`, "Connectors").

use sdfg_language::dtype::ElementType;
use sdfg_language::tasklet::{CodeFrame, ConnectorId, NoAccess};
use sdfg_language::value::Value;

use super::connectors::{Push, Ran};
use super::evaluate::{decode, encode_as, symbol_value};
use super::machine::{Activity, ActivityFrame, ActivityStep, At, Call, Machine};
use super::program::{
    ConnectorCode, CountCode, InputCode, Item, OutputCode, PopCode, SymbolCode, TaskletCode, TaskletForm,
};
use super::trap::{Site, Trap, TrapKind};

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
    /// Remaining elements to push, the last one first.
    pushes: Vec<Push<'p>>,
    has_run: bool,
}

impl TaskletFrame<'_> {
    /// Its point.
    pub(super) fn at(&self) -> At {
        self.at
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
            self.push(call, push.end, queue, &push.element, push.origin)?;
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
        activity.frames.push(ActivityFrame::Tasklet(Box::new(frame)));
    }

    pub(super) fn step_tasklet(&mut self, activity: &mut Activity<'p>) -> Result<ActivityStep, Box<Trap>> {
        let Some(ActivityFrame::Tasklet(mut frame)) = activity.frames.pop() else {
            return Ok(ActivityStep::Continue);
        };
        let code = frame.code;
        let site = &self.program.items[frame.item.number as usize].site;
        if !frame.has_run {
            while let Some(input) = code.inputs.get(frame.next) {
                if let InputCode::Pop(pop) = &input.form
                    && let Some(queue) =
                        self.take(activity.call(), pop, input.element, &mut frame.popped[frame.next])?
                {
                    let wait = self.wait_for(activity.call(), &pop.end, queue, false, site.clone())?;
                    activity.frames.push(ActivityFrame::Tasklet(frame));
                    return Ok(ActivityStep::AwaitStream(wait));
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
            if !self.push(activity.call(), push.end, queue, &push.element, push.origin)? {
                let wait = self.wait_for(activity.call(), push.end, queue, true, site.clone())?;
                frame.pushes.push(push);
                activity.frames.push(ActivityFrame::Tasklet(frame));
                return Ok(ActivityStep::AwaitStream(wait));
            }
        }
        Ok(ActivityStep::Continue)
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
            if self.pop(call, &pop.end, queue, &mut next)?.is_none() {
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
        let mut frame = self.frames[number].take().unwrap_or_else(|| Box::new(compiled.frame()));
        self.set_symbols(call, &code.symbols, &mut frame, site)?;
        self.set_inputs(call, code, at, popped, &mut frame, site)?;
        let ran = if code.accesses_memory {
            self.run_with_memory(call, item, code, compiled, &mut frame, at, popped)?
        } else {
            let run = compiled.run(&mut frame, &mut NoAccess, self.code_steps());
            run.map_err(|_| self.code_limit(site))?;
            Ran { pushes: Vec::new(), pushed: Vec::new(), at }
        };
        for (i, output) in code.outputs.iter().enumerate() {
            let count = ran.pushed.get(i).copied().unwrap_or(0);
            self.output(call, output, &output.form, &frame, ran.at, count, site)?;
        }
        self.frames[number] = Some(frame);
        Ok(ran.pushes)
    }

    /// Reads the inputs that the code has as values.
    fn set_inputs(
        &mut self,
        call: &Call,
        code: &TaskletCode,
        at: At,
        popped: &[Vec<u8>],
        frame: &mut CodeFrame,
        site: &Site,
    ) -> Result<(), Box<Trap>> {
        for (i, input) in code.inputs.iter().enumerate() {
            let Some(id) = input.id else { continue };
            match &input.form {
                InputCode::Value(end) => {
                    let position = self.locate(call, end)?;
                    let bytes = self.read(call, end, position, at)?;
                    set_input(frame, id, input.element, bytes);
                }
                InputCode::Pop(pop) => {
                    if let (Some(element), true) = (popped.get(i), pop.is_value) {
                        set_input(frame, id, input.element, element);
                    }
                }
                InputCode::Register { register, is_value: true } => {
                    let element = &call.registers[*register as usize];
                    if element.is_empty() {
                        let connector = input.name.clone();
                        return Err(self.trap(TrapKind::MissingOutput { connector }, site));
                    }
                    set_input(frame, id, input.element, element);
                }
                InputCode::Register { is_value: false, .. } | InputCode::Pointer(_) => {}
            }
        }
        Ok(())
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
