//! Connectors of a running tasklet: memory behind pointers, elements taken from queues, and elements to be
//! pushed.

use sdfg_language::dtype::ElementType;
use sdfg_language::tasklet::{Access, CodeFrame, CompiledCode, ConnectorId, Trap as CodeTrap};
use sdfg_language::value::Value;

use super::access::Part;
use super::evaluate::encode_as;
use super::machine::{At, Call, Machine};
use super::program::{EndCode, InputCode, Item, OutputCode, TaskletCode, WriteCode};
use super::shadow::Point;
use super::stream_order::Origin;
use super::trap::{Site, Trap, TrapKind};

/// An element on its way into a queue.
#[derive(Debug)]
pub(super) struct Push<'p> {
    pub(super) end: &'p EndCode,
    /// Number of earlier pushes of its tasklet.
    pub(super) number: i64,
    pub(super) element: Vec<u8>,
    pub(super) origin: Origin,
}

/// Work that remains after the code has run.
#[derive(Debug)]
pub(super) struct Ran<'p> {
    /// Elements to push.
    pub(super) pushes: Vec<Push<'p>>,
    /// Number of pushes to each output, if there are pushes.
    pub(super) pushed: Vec<i64>,
    /// Point of accesses after all pushes.
    pub(super) at: At,
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
    item: &'p Item,
    code: &'p TaskletCode,
    site: &'p Site,
    at: At,
    /// Whether an access after a push is to be told from one before it, and is not yet.
    is_split: bool,
    /// By input, then by output.
    pointers: Vec<Pointer>,
    pushes: Vec<Push<'p>>,
    /// Number of pushes to each output.
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
    /// Point of a push. Later accesses of the code have a separate point, at a later position of an execution
    /// that stands for the rest of the tasklet.
    fn origin_of_push(&mut self) -> Result<Origin, Box<Trap>> {
        if !self.machine.notes_origins {
            return Ok(Origin::UNKNOWN);
        }
        let item = self.item.number;
        if !self.is_split && accesses_elements(self.code) {
            let instance = self.machine.enter_instance(self.at, item, false, self.site)?;
            self.at = At { instance, position: 0 };
            self.is_split = true;
        }
        let At { instance, position } = self.at;
        if self.is_split {
            self.at.position += 1;
        }
        Ok(Origin { point: Point { instance, position, item }, after_own: true })
    }

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
        let origin = self.origin_of_push()?;
        let ends = push_ends(&output.form);
        self.pushes.extend(ends.into_iter().map(|end| Push {
            end,
            number: number_of_push,
            element: element.clone(),
            origin,
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

/// Whether code accesses elements of containers while it runs or when it is done.
fn accesses_elements(code: &TaskletCode) -> bool {
    code.inputs.iter().any(|input| matches!(input.form, InputCode::Pointer(_)))
        || code.outputs.iter().any(|output| !writes_of(&output.form).is_empty())
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
    /// Runs code that accesses memory or streams.
    #[expect(clippy::too_many_arguments, reason = "one call from one place")]
    pub(super) fn run_with_memory(
        &mut self,
        call: &Call,
        item: &'p Item,
        code: &'p TaskletCode,
        compiled: &CompiledCode,
        frame: &mut CodeFrame,
        at: At,
        popped: &[Vec<u8>],
    ) -> Result<Ran<'p>, Box<Trap>> {
        let site = &self.program.items[item.number as usize].site;
        let pointers = self.pointers(call, code)?;
        let steps = self.code_steps();
        let mut connectors = Connectors {
            machine: self,
            call,
            item,
            code,
            site,
            at,
            is_split: false,
            pointers,
            pushes: Vec::new(),
            popped,
            pushed: vec![0; code.outputs.len()],
            index: Vec::new(),
            element: Vec::new(),
        };
        let run = compiled.run(frame, &mut connectors, steps);
        let Connectors { pushes, pushed, at, .. } = connectors;
        run.map_err(|trap| match trap {
            CodeTrap::Access(trap) => trap,
            CodeTrap::StepLimit => self.code_limit(site),
        })?;
        Ok(Ran { pushes, pushed, at })
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
