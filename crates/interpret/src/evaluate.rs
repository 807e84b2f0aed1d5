//! Evaluation of conditions, assignments and other expressions; elements as bytes and as lanes.

use sdfg_language::dtype::{ElementType, ScalarType};
use sdfg_language::tasklet::{Access, ConnectorId, Trap as CodeTrap, arith};
use sdfg_language::value::Value;

use super::machine::{At, Call, Machine};
use super::memory::{Accessing, Binding, Handle};
use super::program::{ContainerRead, ExpressionCode, Memory, ReadForm};
use super::shadow::Stamp;
use super::trap::{Trap, TrapKind};

/// The lanes of an element.
pub(super) fn decode(element: ElementType, bytes: &[u8]) -> Vec<Value> {
    let ty = element.lane();
    bytes.chunks_exact(ty.size()).map(|lane| Value::read(ty, lane).unwrap_or(Value::zero(ty))).collect()
}

/// Writes lanes as an element of a type, converting each; a single one goes to all lanes.
pub(super) fn encode_as(element: ElementType, lanes: &[Value], bytes: &mut [u8]) {
    let ty = element.lane();
    let Some(first) = lanes.first() else { return };
    for (i, target) in bytes.chunks_exact_mut(ty.size()).enumerate() {
        let value = *lanes.get(i).unwrap_or(first);
        let value = if value.ty() == ty { value } else { arith::cast(value, ty) };
        value.write(target);
    }
}

/// A symbol's value in its type.
pub(super) fn symbol_value(value: i64, ty: ScalarType) -> Value {
    if ty == ScalarType::I64 { Value::I64(value) } else { arith::cast(Value::I64(value), ty) }
}

/// The value that a symbol of a type holds where this one is assigned to it: narrower types wrap.
pub(super) fn wrapped(value: i64, ty: ScalarType) -> i64 {
    match ty {
        ScalarType::I64 | ScalarType::U64 => value,
        _ => symbol_value(value, ty).to_i64().unwrap_or(value),
    }
}

/// Containers that an expression reads while it runs.
struct Reading<'m, 'p, 'c> {
    machine: &'m mut Machine<'p>,
    call: &'c Call,
    code: &'c ExpressionCode,
    /// Point at which reads are recorded; `None` for expressions that are tested while others run.
    at: Option<At>,
}

impl Reading<'_, '_, '_> {
    fn element(&mut self, read: &ContainerRead, index: &[i64]) -> Result<Vec<Value>, Box<Trap>> {
        let site = &self.code.site;
        let container = || self.machine.container(read.access);
        let handle = match (&self.call.bindings[read.container], read.form) {
            (Binding::Elements(handle), ReadForm::Scalar | ReadForm::Elements)
            | (Binding::Queues(handle), ReadForm::Lengths) => handle,
            (Binding::Nothing | Binding::Elements(_) | Binding::Queues(_), _) => {
                return Err(self.machine.trap(TrapKind::Unbound { container: container() }, site));
            }
        };
        let Some(position) = handle.position(index) else {
            let (container, shape) = (container(), Handle::shape(handle));
            let kind = TrapKind::OutOfBounds { container, index: index.to_vec(), shape };
            return Err(self.machine.trap(kind, site));
        };
        if read.form == ReadForm::Lengths {
            // Pushes and pops of others conflict with nothing, and neither does asking for what they leave.
            let queue = usize::try_from(position).unwrap_or(usize::MAX);
            let Some(length) = self.machine.store.queue_length(handle, queue) else {
                return Err(self.machine.trap(TrapKind::Unbound { container: container() }, site));
            };
            return Ok(vec![Value::I64(length as i64)]);
        }
        match self.at {
            Some(at) => {
                let stamp = Stamp { instance: at.instance, position: at.position, access: read.access };
                let (program, instances) = (self.machine.program, &self.machine.instances);
                // Control flow runs on the host and may look at what devices made, as a launch argument would.
                let accessing = Accessing {
                    program,
                    instances,
                    stamp,
                    device: Memory::ANY,
                    rank: self.call.rank,
                    is_copy: false,
                };
                let at = self.machine.store.check_read(handle, position, accessing);
                let at = at.map_err(|fault| self.machine.fault(fault, stamp, handle, position))?;
                Ok(decode(read.element, self.machine.store.bytes(handle, at)))
            }
            None => match self.machine.store.peek(handle, position, self.call.rank) {
                Some(bytes) => Ok(decode(read.element, bytes)),
                None => {
                    let kind = TrapKind::UndefinedRead { container: container(), index: index.to_vec() };
                    Err(self.machine.trap(kind, site))
                }
            },
        }
    }
}

impl Access for Reading<'_, '_, '_> {
    type Error = Box<Trap>;

    fn load(
        &mut self,
        connector: ConnectorId,
        indices: &[i64],
        lanes: &mut [Value],
    ) -> Result<(), Box<Trap>> {
        if let Some(read) = self.code.reads.iter().find(|read| read.id == connector) {
            let element = self.element(read, indices)?;
            lanes.copy_from_slice(&element[..lanes.len()]);
        }
        Ok(())
    }

    fn store(&mut self, _: ConnectorId, _: &[i64], _: &[Value]) -> Result<(), Box<Trap>> {
        Ok(())
    }

    fn push(&mut self, _: ConnectorId, _: &[Value]) -> Result<(), Box<Trap>> {
        Ok(())
    }
}

impl Machine<'_> {
    /// The value of an expression, whose reads happen at a place of their own.
    pub(super) fn evaluate_at(
        &mut self,
        call: &Call,
        code: &ExpressionCode,
        at: At,
    ) -> Result<Value, Box<Trap>> {
        self.evaluate(call, code, Some(at))
    }

    /// The value of an expression that is tested while others run, or that reads nothing.
    pub(super) fn evaluate_now(&mut self, call: &Call, code: &ExpressionCode) -> Result<Value, Box<Trap>> {
        self.evaluate(call, code, None)
    }

    /// Whether a condition holds that is tested while others run.
    pub(super) fn holds_now(&mut self, call: &Call, code: &ExpressionCode) -> Result<bool, Box<Trap>> {
        Ok(arith::is_true(self.evaluate_now(call, code)?))
    }

    fn evaluate(&mut self, call: &Call, code: &ExpressionCode, at: Option<At>) -> Result<Value, Box<Trap>> {
        let compiled = &self.program.codes[code.code];
        let mut frame = self.frames[code.code].take().unwrap_or_else(|| Box::new(compiled.frame()));
        for symbol in &code.symbols {
            let value = call.symbols[symbol.slot as usize].ok_or_else(|| {
                let symbol = self.program.procedures[call.procedure].symbols[symbol.slot as usize].0.clone();
                self.trap(TrapKind::UndefinedSymbol { symbol }, &code.site)
            })?;
            frame.set_symbol(symbol.id, symbol_value(value, symbol.ty));
        }
        let mut reading = Reading { machine: self, call, code, at };
        for read in code.reads.iter().filter(|read| read.form == ReadForm::Scalar) {
            let element = reading.element(read, &[])?;
            frame.set_input(read.id, &element);
        }
        let steps = reading.machine.code_steps();
        let run = compiled.run(&mut frame, &mut reading, steps);
        run.map_err(|trap| match trap {
            CodeTrap::Access(trap) => trap,
            CodeTrap::StepLimit => self.code_limit(&code.site),
        })?;
        let value = frame.result().first().copied().unwrap_or(Value::Bool(false));
        self.frames[code.code] = Some(frame);
        Ok(value)
    }
}
