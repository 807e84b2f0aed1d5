//! Statements of a plan: sequences, assignments, choices and jumps.

use std::collections::BTreeMap;

use sdfg::symbolic::Symbol;

use super::emitter::Emit;
use super::function::{Base, Function, Jumps};
use super::value::Lane;
use crate::plan::{BufferId, Declarations, If, JumpTarget, Scalar, Statement};

impl<'ctx> Function<'_, 'ctx> {
    pub(super) fn statements(&self, body: &[Statement]) -> Emit<()> {
        body.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&self, statement: &Statement) -> Emit<()> {
        match statement {
            Statement::Comment(_) | Statement::Begin(_) => Ok(()),
            Statement::Let { variable, value } => {
                let value = self.index(value)?;
                self.set_variable(variable, value)
            }
            Statement::Set { variable, value } => self.set(variable, value),
            Statement::Loop(each) => self.repeated(each),
            Statement::While(each) => self.while_loop(each),
            Statement::If(choice) => self.choose(choice),
            Statement::Block { target, body } => {
                let done = self.block("after");
                self.bind_jumps(*target, Jumps { leave: done, repeat: None, cases: Vec::new() });
                self.statements(body)?;
                self.jump(done)?;
                self.enter(done);
                Ok(())
            }
            Statement::Located { location, body } => self.located(*location, || self.statements(body)),
            Statement::Timed { timer, body } => self.timed(*timer, || self.statements(body)),
            Statement::Leave(target) => {
                self.stop_timers_inside(*target)?;
                self.leave_to(self.jumps(*target)?.leave)
            }
            Statement::Repeat(target) => {
                self.stop_timers_inside(*target)?;
                let repeat = self.jumps(*target)?.repeat;
                self.leave_to(repeat.ok_or_else(|| self.emitter.defect("only a loop is repeated"))?)
            }
            Statement::Dispatch { target, cases } => self.dispatch(*target, cases),
            Statement::Goto { target, case } => {
                self.stop_timers_inside(*target)?;
                let cases = self.jumps(*target)?.cases;
                let block = cases.get(*case).copied();
                self.leave_to(block.ok_or_else(|| self.emitter.defect("a dispatch has no such case"))?)
            }
            Statement::Allocate(buffer) => {
                let slot = self.dynamic_slot(*buffer)?;
                match self.is_stream(*buffer) {
                    true => self.open_stream(*buffer, slot),
                    false => self.allocate_buffer(*buffer, slot),
                }
            }
            Statement::Free(buffer) => self.free_buffer(*buffer),
            Statement::Point { reference, to } => self.point(*reference, *to),
            Statement::Keep(kept) => self.keep(kept),
            Statement::Recall(kept) => self.recall(kept),
            Statement::Check(check) => self.check(check),
            Statement::Undefine(buffer) => self.undefine(*buffer),
            Statement::Compute(compute) => self.compute(compute),
            Statement::Lanes(_) => Err(self.emitter.defect("lanes are in a loop of level vector")),
            Statement::External(call) => self.external(call),
            Statement::Copy(copy) => self.copy(copy),
            Statement::Push(push) => self.push(push),
            Statement::Pop(pop) => self.pop(pop),
            Statement::Consume(consume) => self.consume(consume),
            Statement::Commands(_) | Statement::Await(_) => {
                Err(self.emitter.defect("a processor has no command streams"))
            }
            Statement::Barrier => Err(self.emitter.defect("a processor has no blocks of threads")),
            Statement::Tasks(tasks) => self.tasks(tasks),
        }
    }

    fn set(&self, variable: &Symbol, value: &Scalar) -> Emit<()> {
        let value = self.evaluate(value)?;
        match value.lanes.as_slice() {
            [Lane::Int(value)] => self.set_typed_variable(variable, *value),
            _ => Err(self.emitter.defect(format!("variable `{variable}` is set to no integer"))),
        }
    }

    fn choose(&self, choice: &If) -> Emit<()> {
        let done = self.block("done");
        for (condition, body) in &choice.arms {
            let (then, next) = (self.block("then"), self.block("else"));
            let condition = self.condition(condition)?;
            self.branch(condition, then, next)?;
            self.enter(then);
            self.statements(body)?;
            self.jump(done)?;
            self.enter(next);
        }
        self.statements(&choice.otherwise)?;
        self.jump(done)?;
        self.enter(done);
        Ok(())
    }

    /// Irregular flow: every case is a block, and a jump to it is a branch.
    fn dispatch(&self, target: JumpTarget, cases: &[Vec<Statement>]) -> Emit<()> {
        let done = self.block("after");
        let blocks: Vec<_> = cases.iter().map(|_| self.block("case")).collect();
        self.bind_jumps(target, Jumps { leave: done, repeat: None, cases: blocks.clone() });
        self.jump(blocks.first().copied().unwrap_or(done))?;
        for (block, body) in blocks.iter().zip(cases) {
            self.enter(*block);
            self.statements(body)?;
            self.jump(done)?;
        }
        self.enter(done);
        Ok(())
    }

    /// The slot of a dynamic buffer's address, which is made at its first allocation.
    fn dynamic_slot(&self, buffer: BufferId) -> Emit<inkwell::values::PointerValue<'ctx>> {
        if self.is_stream(buffer) {
            return self.stream_slot(buffer);
        }
        if let Some(Base::Slot(slot)) = self.buffer_base(buffer) {
            return Ok(slot);
        }
        let slot = self.owned_slot(&self.emitter.plan.buffer(buffer).name)?;
        self.bind_buffer(buffer, Base::Slot(slot));
        Ok(slot)
    }

    /// Makes slots for what the statements set and allocate.
    pub(super) fn declare_all(&self, body: &[Statement]) -> Emit<()> {
        let declarations = Declarations::of(body);
        declarations.variables.iter().try_for_each(|variable| self.declare_variable(variable))?;
        declarations.references.iter().try_for_each(|reference| self.declare_reference(*reference))?;
        declarations.buffers.iter().try_for_each(|buffer| self.dynamic_slot(*buffer).map(|_| ()))
    }

    /// Stack buffers live in the function that uses them: those of `used` that have no memory yet get some.
    pub(super) fn bind_stack_buffers<'a>(&self, used: impl Iterator<Item = &'a BufferId>) -> Emit<()> {
        let sizes: BTreeMap<BufferId, u32> = used
            .filter(|id| matches!(self.emitter.plan.buffer(**id).allocation, crate::plan::Allocation::Stack))
            .filter(|id| self.buffer_base(**id).is_none())
            .map(|id| {
                let buffer = self.emitter.plan.buffer(*id);
                let size = buffer.size.as_int().and_then(|size| u32::try_from(size).ok());
                let message = || self.emitter.defect(format!("`{}` has no constant size", buffer.name));
                Ok((*id, size.ok_or_else(message)?))
            })
            .collect::<Emit<_>>()?;
        for (id, size) in sizes {
            let pointer = self.stack_buffer(id, size)?;
            self.bind_buffer(id, Base::Fixed(pointer));
        }
        Ok(())
    }
}
