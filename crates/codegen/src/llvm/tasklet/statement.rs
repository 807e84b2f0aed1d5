//! Statements of the typed tree.

use inkwell::IntPredicate;
use inkwell::values::IntValue;
use sdfg::dtype::ScalarType;
use sdfg::tasklet::{ConnectorId, LocalId, TypedExpression, TypedStatement};

use super::Names;
use crate::llvm::emitter::Emit;
use crate::llvm::function::{Function, Slots};
use crate::llvm::value::{Lane, Lanes};
use crate::plan::Binding;

impl<'ctx> Function<'_, 'ctx> {
    pub(super) fn statements_of_code(&self, names: &Names<'_, 'ctx>, body: &[TypedStatement]) -> Emit<()> {
        body.iter().try_for_each(|statement| self.statement_of_code(names, statement))
    }

    fn statement_of_code(&self, names: &Names<'_, 'ctx>, statement: &TypedStatement) -> Emit<()> {
        match statement {
            TypedStatement::Local { local, value } => {
                let value = self.expression(names, value)?;
                self.store_slots(self.local(names, *local)?, &value)
            }
            TypedStatement::Output { connector, value } => self.assign_output(names, *connector, value),
            TypedStatement::Store { connector, indices, value } => {
                let Some(Binding::ViewMut { to, write }) = names.bindings.get(connector.index()) else {
                    return Err(self.emitter.defect(names.unbound(*connector)));
                };
                let indices = self.indices(names, indices)?;
                let value = self.expression(names, value)?;
                self.check_access(names, *connector, to, &indices)?;
                let memlet = names.memlet(connector.index());
                self.read_by(memlet, || self.write(&self.strided_place(to, &indices)?, &value, write))
            }
            TypedStatement::Push { connector, value } => {
                let value = self.expression(names, value)?;
                self.note_push(names, *connector, &value)
            }
            TypedStatement::If { condition, then, otherwise } => {
                let condition = self.emitter.scalar_int(&self.expression(names, condition)?)?;
                let (yes, no, done) = (self.block("then"), self.block("else"), self.block("done"));
                self.branch(condition, yes, no)?;
                for (block, body) in [(yes, then), (no, otherwise)] {
                    self.enter(block);
                    self.statements_of_code(names, body)?;
                    self.jump(done)?;
                }
                self.enter(done);
                Ok(())
            }
            TypedStatement::For { local, begin, end, step, body } => {
                let local = self.local(names, *local)?;
                let bound = |expression| self.emitter.scalar_int(&self.expression(names, expression)?);
                let (begin, end, step) = (bound(begin)?, bound(end)?, bound(step)?);
                self.counted_loop_of_code(local, begin, end, step, || self.statements_of_code(names, body))
            }
            TypedStatement::While { condition, body } => {
                let (test, turn, done) = (self.block("while"), self.block("turn"), self.block("done"));
                self.jump(test)?;
                self.enter(test);
                self.begin_loop();
                let condition = self.emitter.scalar_int(&self.expression(names, condition)?)?;
                self.branch(condition, turn, done)?;
                self.enter(turn);
                self.statements_of_code(names, body)?;
                self.jump(test)?;
                self.end_loop();
                self.enter(done);
                Ok(())
            }
        }
    }

    fn local<'n>(&self, names: &'n Names<'_, 'ctx>, id: LocalId) -> Emit<&'n Slots<'ctx>> {
        names.locals.get(id.index()).ok_or_else(|| self.emitter.defect("the code has no such local variable"))
    }

    fn assign_output(
        &self,
        names: &Names<'_, 'ctx>,
        connector: ConnectorId,
        value: &TypedExpression,
    ) -> Emit<()> {
        let value = self.expression(names, value)?;
        let Some(Some(output)) = names.outputs.get(connector.index()) else {
            return Err(self.emitter.defect(names.unbound(connector)));
        };
        if let Some(flag) = output.assigned {
            self.builder.build_store(flag, self.emitter.i1().const_int(1, false))?;
        }
        self.store_slots(&output.value, &value)
    }

    /// Counts by a step of any sign; a step of 0 runs nothing, and counting ends where the next value would not fit.
    pub(in crate::llvm) fn counted_loop_of_code(
        &self,
        local: &Slots<'ctx>,
        begin: IntValue<'ctx>,
        end: IntValue<'ctx>,
        step: IntValue<'ctx>,
        body: impl FnOnce() -> Emit<()>,
    ) -> Emit<()> {
        let zero = self.emitter.constant(0);
        let store = |value| self.store_slots(local, &Lanes::scalar(ScalarType::I64, Lane::Int(value)));
        let (test, turn, done) = (self.block("for"), self.block("turn"), self.block("done"));
        store(begin)?;
        self.jump(test)?;
        self.enter(test);
        self.begin_loop();
        let counter = self.emitter.scalar_int(&self.load_slots(local)?)?;
        let below = self.compare(IntPredicate::SLT, counter, end)?;
        let above = self.compare(IntPredicate::SGT, counter, end)?;
        let up = self.compare(IntPredicate::SGT, step, zero)?;
        let down = self.compare(IntPredicate::SLT, step, zero)?;
        // With a constant step, these fold to one comparison.
        let goes_down = self.builder.build_and(down, above, "")?;
        let more = self.select_int(up, below, goes_down)?;
        self.branch(more, turn, done)?;
        self.enter(turn);
        body()?;
        let counter = self.emitter.scalar_int(&self.load_slots(local)?)?;
        if matches!(step.get_sign_extended_constant(), Some(1 | -1)) {
            // A counter that is still on its way to the end has a neighbour.
            store(self.add(counter, step)?)?;
            self.jump(test)?;
        } else {
            let i64 = self.emitter.i64();
            let next =
                self.intrinsic("llvm.sadd.with.overflow", &[i64.into()], &[counter.into(), step.into()])?;
            let next = next.into_struct_value();
            let sum = self.builder.build_extract_value(next, 0, "")?.into_int_value();
            let overflow = self.builder.build_extract_value(next, 1, "")?.into_int_value();
            store(sum)?;
            self.branch(overflow, done, test)?;
        }
        self.end_loop();
        self.enter(done);
        Ok(())
    }
}
