//! Execution of external tasklets and library nodes: memlets to operands and back.

use std::borrow::Cow;
use std::collections::BTreeMap;

use sdfg_graph::ir::LibraryNode;
use sdfg_language::syntax::Expression;
use sdfg_language::tasklet::{ExternalOrigin, NoAccess};
use sdfg_language::value::Value;

use super::access::{self, Part};
use super::callbacks::not_given;
use super::evaluate::encode_as;
use super::external::{ExternalArgument, ExternalMemory, LibraryOperand};
use super::machine::{At, Call, Machine};
use super::program::{
    EndCode, ExternalOperand, InputCode, Item, LibraryCode, OutputCode, TaskletCode, TaskletForm, WriteCode,
};
use super::trap::{Site, Trap, TrapKind};

impl<'p> Machine<'p> {
    /// Runs a call of a C function.
    pub(super) fn run_external(
        &mut self,
        call: &mut Call,
        item: &'p Item,
        code: &'p TaskletCode,
        at: At,
        popped: &[Vec<u8>],
    ) -> Result<(), Box<Trap>> {
        let site = &self.program.items[item.number as usize].site;
        let TaskletForm::External(external) = &code.form else { return Ok(()) };
        let name = &external.call.symbol;
        let fail = |machine: &Self, reason: String| {
            Err(machine.trap(TrapKind::External { name: name.clone(), reason }, site))
        };
        let is_callback = external.call.origin == ExternalOrigin::Callback;
        let Some(externals) = self.options.externals else {
            if is_callback {
                return fail(self, not_given(name));
            }
            return fail(self, "external functions are not allowed here".to_owned());
        };
        let mut memory = Vec::new();
        for (i, input) in code.inputs.iter().enumerate() {
            let data = match &input.form {
                InputCode::Pointer(end) => self.window(call, end, input.element.size(), at, true, site)?,
                InputCode::Pop(_) => popped.get(i).cloned().unwrap_or_default(),
                InputCode::Value(_) | InputCode::Register { .. } => {
                    self.input_element(call, &input.form, at)?
                }
            };
            let connector = input.name.clone();
            memory.push(ExternalMemory { connector, element: input.element, data, writes: false });
        }
        for output in &code.outputs {
            let size = output.element.size();
            let data = match write_of(&output.form) {
                Some(write) => self.window(call, &write.end, size, at, false, site)?,
                None => vec![0; size],
            };
            let connector = output.name.clone();
            memory.push(ExternalMemory { connector, element: output.element, data, writes: true });
        }
        let mut arguments = Vec::with_capacity(external.arguments.len());
        for operand in &external.arguments {
            arguments.push(match *operand {
                ExternalOperand::Input(input) => ExternalArgument::Memory(input),
                ExternalOperand::Output(output) => ExternalArgument::Memory(code.inputs.len() + output),
                ExternalOperand::Value(number) => {
                    ExternalArgument::Value(self.argument(call, code, number, &memory, site)?)
                }
            });
        }
        let result = external.result.map(|output| code.outputs[output].element);
        match externals.call(&external.call, &arguments, &mut memory, result) {
            Ok(returned) => {
                if let (Some(output), Some(value)) = (external.result, returned) {
                    let slot = &mut memory[code.inputs.len() + output];
                    encode_as(code.outputs[output].element, &[value], &mut slot.data);
                }
            }
            Err(reason) => return fail(self, reason),
        }
        for (output, memory) in code.outputs.iter().zip(&memory[code.inputs.len()..]) {
            match (&output.form, write_of(&output.form)) {
                (OutputCode::Register(register), _) => {
                    call.registers[*register as usize].clone_from(&memory.data);
                }
                (_, Some(write)) => self.write_back(call, write, &memory.data, at)?,
                (_, None) => {}
            }
        }
        Ok(())
    }

    /// The value of an argument that is an expression over symbols and value inputs.
    fn argument(
        &mut self,
        call: &Call,
        code: &TaskletCode,
        number: usize,
        memory: &[ExternalMemory],
        site: &Site,
    ) -> Result<Value, Box<Trap>> {
        let compiled = &self.program.codes[number];
        let mut frame = self.frames[number].take().unwrap_or_else(|| Box::new(compiled.frame()));
        self.set_symbols(call, &code.symbols, &mut frame, site)?;
        for (input, memory) in code.inputs.iter().zip(memory) {
            if let (Some(id), false) = (input.id, matches!(input.form, InputCode::Pointer(_))) {
                frame.set_input(id, &super::evaluate::decode(input.element, &memory.data));
            }
        }
        // Expressions have no loops and no pointers, so nothing can fail.
        let _ = compiled.run(&mut frame, &mut NoAccess, 0);
        let value = frame.result().first().copied().unwrap_or(Value::Bool(false));
        self.frames[number] = Some(frame);
        Ok(value)
    }

    /// A copy of the memory from the first element of a part to its last one. What is not in the part is not read.
    fn window(
        &mut self,
        call: &Call,
        end: &EndCode,
        size: usize,
        at: At,
        reads: bool,
        site: &Site,
    ) -> Result<Vec<u8>, Box<Trap>> {
        let mut data = Vec::new();
        self.passes(end);
        for (place, position) in self.places(call, end, site)? {
            let needed = (place + 1) * size;
            if data.len() < needed {
                data.resize(needed, 0);
            }
            let element = if reads {
                self.read(call, end, position, at)?
            } else {
                let Some(handle) = access::elements(call, end) else { return Err(self.unbound(end.access)) };
                match self.store.peek(handle, position, call.rank) {
                    Some(element) => element,
                    None => continue,
                }
            };
            data[place * size..needed].copy_from_slice(element);
        }
        Ok(data)
    }

    fn write_back(&mut self, call: &Call, write: &WriteCode, data: &[u8], at: At) -> Result<(), Box<Trap>> {
        let site = self.site(write.end.access);
        let places = self.places(call, &write.end, site)?;
        let last = places.iter().map(|(place, _)| place + 1).max().unwrap_or(1);
        let size = data.len() / last.max(1);
        for (place, position) in places {
            let element = data[place * size..(place + 1) * size].to_vec();
            self.write(call, write, position, at, &element)?;
        }
        Ok(())
    }

    /// For each element of a part how far it lies behind the first one, and its position.
    fn places(&self, call: &Call, end: &EndCode, site: &Site) -> Result<Vec<(usize, i64)>, Box<Trap>> {
        let mut part = Part::default();
        self.part(call, end, &mut part)?;
        let (mut index, mut places, mut first) = (Vec::new(), Vec::new(), None);
        for k in 0..part.len() {
            part.index(k, &mut index);
            let position = self.position(call, end, &index)?;
            let first = *first.get_or_insert(position);
            let Ok(place) = usize::try_from(position - first) else {
                let (name, reason) = (self.container(end.access), "its elements lie backwards".to_owned());
                return Err(self.trap(TrapKind::External { name, reason }, site));
            };
            places.push((place, position));
        }
        Ok(places)
    }

    /// Computes a library node.
    pub(super) fn run_library(
        &mut self,
        call: &mut Call,
        item: &'p Item,
        code: &'p LibraryCode,
        at: At,
    ) -> Result<(), Box<Trap>> {
        let site = &self.program.items[item.number as usize].site;
        self.count_step(site)?;
        let name = &code.node.operation;
        let fail = |machine: &Self, reason: String| {
            Err(machine.trap(TrapKind::External { name: name.clone(), reason }, site))
        };
        let Some(libraries) = self.options.libraries else {
            return fail(self, "no implementation was supplied; expand the node first".to_owned());
        };
        let mut inputs = Vec::with_capacity(code.inputs.len());
        for input in &code.inputs {
            let InputCode::Pointer(end) = &input.form else { continue };
            self.passes(end);
            let (shape, positions) = self.elements(call, end)?;
            let mut data = Vec::with_capacity(positions.len() * input.element.size());
            for position in positions {
                data.extend_from_slice(self.read(call, end, position, at)?);
            }
            inputs.push(LibraryOperand {
                connector: input.name.clone(),
                element: input.element,
                shape,
                data,
                kept: Vec::new(),
            });
        }
        let (mut outputs, mut targets) = (Vec::new(), Vec::new());
        for output in &code.outputs {
            let Some(write) = write_of(&output.form) else { continue };
            self.passes(&write.end);
            let (shape, positions) = self.elements(call, &write.end)?;
            let size = output.element.size();
            let mut data = vec![0; positions.len() * size];
            let Some(handle) = access::elements(call, &write.end) else {
                return Err(self.unbound(write.end.access));
            };
            for (target, position) in data.chunks_exact_mut(size).zip(&positions) {
                if let Some(element) = self.store.peek(handle, *position, call.rank) {
                    target.copy_from_slice(element);
                }
            }
            outputs.push(LibraryOperand {
                connector: output.name.clone(),
                element: output.element,
                shape,
                data,
                kept: Vec::new(),
            });
            targets.push((write, positions));
        }
        let mut node = Cow::Borrowed(&code.node);
        for (index, value) in &code.computed {
            let value = self.evaluate_now(call, value)?;
            node.to_mut().properties[*index].1 = Expression::value(value);
        }
        let mut symbols = BTreeMap::new();
        for (name, value) in &code.symbols {
            let value = self.evaluate_now(call, value)?;
            // A literal alone would not have the type of the symbol.
            let typed = Expression::call(value.ty().name(), vec![Expression::value(value)]);
            symbols.insert(name.clone(), typed);
        }
        if !symbols.is_empty() {
            for (property, value) in &mut node.to_mut().properties {
                if LibraryNode::assigned(property).is_some() {
                    *value = value.replace_names(&symbols);
                }
            }
        }
        if let Err(reason) = libraries.compute(&node, &inputs, &mut outputs) {
            return fail(self, reason);
        }
        for ((write, positions), output) in targets.into_iter().zip(outputs) {
            let elements = output.data.chunks_exact(output.element.size());
            for (number, (position, element)) in positions.into_iter().zip(elements).enumerate() {
                if !output.kept.get(number).copied().unwrap_or(false) {
                    self.write(call, write, position, at, element)?;
                }
            }
        }
        Ok(())
    }

    /// The extents of a part, and the positions of its elements.
    fn elements(&self, call: &Call, end: &EndCode) -> Result<(Vec<i64>, Vec<i64>), Box<Trap>> {
        let mut part = Part::default();
        self.part(call, end, &mut part)?;
        let shape = part.spans.iter().map(|span| span.len()).collect();
        let (mut index, mut positions) = (Vec::new(), Vec::new());
        for k in 0..part.len() {
            part.index(k, &mut index);
            positions.push(self.position(call, end, &index)?);
        }
        Ok((shape, positions))
    }
}

/// The first write of an output.
fn write_of(output: &OutputCode) -> Option<&WriteCode> {
    match output {
        OutputCode::Value { write, .. } | OutputCode::Pointer { write } => Some(write),
        OutputCode::Several(outputs) => outputs.iter().find_map(write_of),
        OutputCode::Push { .. } | OutputCode::Register(_) | OutputCode::Nothing => None,
    }
}
