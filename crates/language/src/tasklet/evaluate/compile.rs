//! Compiles the typed tree to instructions.

use std::sync::Arc;

use super::super::environment::{ConnectorKind, Environment};
use super::super::typed::{
    Local, TypedCode, TypedExpression, TypedExpressionCode, TypedExpressionKind, TypedStatement,
};
use super::instruction::{Instruction, Layout, Register, Target};
use super::{CodeFrame, CompiledCode};
use crate::dtype::ElementType;
use crate::value::Value;

impl CompiledCode {
    /// Compiles the code of a tasklet.
    pub fn new(code: &TypedCode) -> Self {
        let mut compiler = Compiler::new(&code.environment, &code.locals);
        compiler.block(&code.body);
        compiler.finish()
    }

    /// Compiles a single expression; its value is [`CodeFrame::result`].
    pub fn of_expression(code: &TypedExpressionCode) -> Self {
        let mut compiler = Compiler::new(&code.environment, &[]);
        let result = compiler.expression(&code.expression) as usize;
        compiler.layout.result = result..result + usize::from(code.expression.ty.lanes());
        compiler.finish()
    }

    /// Registers for runs of this code.
    pub fn frame(&self) -> CodeFrame {
        CodeFrame {
            registers: self.layout.initial.clone(),
            assigned: vec![false; self.layout.connectors.len()],
            indices: Vec::new(),
            layout: Arc::clone(&self.layout),
        }
    }
}

struct Compiler {
    layout: Layout,
    locals: Vec<Register>,
    instructions: Vec<Instruction>,
}

impl Compiler {
    fn new(environment: &Environment, locals: &[Local]) -> Self {
        let mut compiler =
            Compiler { layout: Layout::default(), locals: Vec::new(), instructions: Vec::new() };
        for (_, connector) in environment.connectors() {
            let range = match connector.kind {
                ConnectorKind::Value => {
                    let first = compiler.allocate(connector.element) as usize;
                    first..first + usize::from(connector.element.lanes())
                }
                ConnectorKind::Pointer { .. } | ConnectorKind::Stream | ConnectorKind::Queues { .. } => 0..0,
            };
            compiler.layout.connectors.push(range);
        }
        for (_, ty) in environment.symbols() {
            let register = compiler.allocate(ty.into()) as usize;
            compiler.layout.symbols.push(register);
        }
        for local in locals {
            let register = compiler.allocate(local.ty);
            compiler.locals.push(register);
        }
        compiler
    }

    fn finish(self) -> CompiledCode {
        CompiledCode { instructions: self.instructions, layout: Arc::new(self.layout) }
    }

    /// Fresh registers, one for each lane.
    fn allocate(&mut self, ty: ElementType) -> Register {
        let first = self.layout.initial.len() as Register;
        let lanes = std::iter::repeat_n(Value::zero(ty.lane()), usize::from(ty.lanes()));
        self.layout.initial.extend(lanes);
        first
    }

    fn emit(&mut self, instruction: Instruction) {
        self.instructions.push(instruction);
    }

    /// The position of the next instruction.
    fn here(&self) -> Target {
        self.instructions.len() as Target
    }

    /// Lets the jump at `at` go to the next instruction.
    fn land(&mut self, at: Target) {
        let here = self.here();
        match &mut self.instructions[at as usize] {
            Instruction::Jump { target }
            | Instruction::JumpIf { target, .. }
            | Instruction::JumpUnless { target, .. }
            | Instruction::Count { exit: target, .. } => *target = here,
            _ => {}
        }
    }

    /// Emits a jump whose target is filled in by [`Compiler::land`].
    fn jump(&mut self, instruction: Instruction) -> Target {
        let at = self.here();
        self.emit(instruction);
        at
    }

    /// The registers that hold the value of an expression: those of the name if it is one, else fresh ones.
    fn expression(&mut self, e: &TypedExpression) -> Register {
        match &e.kind {
            TypedExpressionKind::Local(local) => self.locals[local.index()],
            TypedExpressionKind::Symbol(symbol) => self.layout.symbols[symbol.index()] as Register,
            TypedExpressionKind::Input(connector) | TypedExpressionKind::Output(connector) => {
                self.layout.connectors[connector.index()].start as Register
            }
            TypedExpressionKind::Constant(value) => {
                let register = self.allocate(e.ty);
                self.layout.initial[register as usize] = *value;
                register
            }
            TypedExpressionKind::Lane { operand, lane } => self.expression(operand) + Register::from(*lane),
            _ => {
                let dst = self.allocate(e.ty);
                self.expression_into(e, dst);
                dst
            }
        }
    }

    /// Computes an expression into registers that the expression itself may read: they are written by the last
    /// instruction on every path.
    fn expression_into(&mut self, e: &TypedExpression, dst: Register) {
        let lanes = e.ty.lanes();
        match &e.kind {
            TypedExpressionKind::Local(_)
            | TypedExpressionKind::Symbol(_)
            | TypedExpressionKind::Input(_)
            | TypedExpressionKind::Output(_)
            | TypedExpressionKind::Constant(_)
            | TypedExpressionKind::Lane { .. } => {
                let src = self.expression(e);
                self.emit(Instruction::Copy { dst, src, lanes });
            }
            TypedExpressionKind::Lanes(parts) => {
                // Later lanes may read what earlier ones would replace.
                let src = self.consecutive(parts);
                self.emit(Instruction::Copy { dst, src, lanes });
            }
            TypedExpressionKind::Load { connector, indices }
            | TypedExpressionKind::Length { connector, indices } => {
                let rank = indices.len() as u16;
                let indices = self.consecutive(indices);
                self.emit(Instruction::Load { connector: *connector, dst, indices, rank, lanes });
            }
            TypedExpressionKind::Cast(operand) => {
                let src = self.expression(operand);
                self.emit(Instruction::Cast { to: e.ty.lane(), dst, src, lanes });
            }
            TypedExpressionKind::Splat(operand) => {
                let src = self.expression(operand);
                self.emit(Instruction::Splat { dst, src, lanes });
            }
            TypedExpressionKind::Unary { op, operand } => {
                let src = self.expression(operand);
                self.emit(Instruction::Unary { op: *op, dst, src, lanes });
            }
            TypedExpressionKind::Binary { op, left, right } => {
                let (a, b) = (self.expression(left), self.expression(right));
                self.emit(Instruction::Binary { op: *op, dst, a, b, lanes });
            }
            TypedExpressionKind::Power { base, exponent } => {
                let base = self.expression(base);
                self.emit(Instruction::Power { dst, base, exponent: *exponent, lanes });
            }
            TypedExpressionKind::Compare { op, left, right } => {
                let (a, b) = (self.expression(left), self.expression(right));
                self.emit(Instruction::Compare { op: *op, dst, a, b, lanes });
            }
            TypedExpressionKind::And(left, right) => self.short_circuit(left, right, dst, true),
            TypedExpressionKind::Or(left, right) => self.short_circuit(left, right, dst, false),
            TypedExpressionKind::Select { condition, then, otherwise } => {
                self.select(condition, then, otherwise, dst);
            }
            TypedExpressionKind::Call { function, arguments } => {
                let arguments = self.consecutive(arguments);
                self.emit(Instruction::Call { function: *function, dst, arguments, lanes });
            }
        }
    }

    /// Computes expressions of one type into consecutive registers.
    fn consecutive(&mut self, expressions: &[TypedExpression]) -> Register {
        let registers: Vec<Register> = expressions.iter().map(|e| self.allocate(e.ty)).collect();
        for (e, register) in expressions.iter().zip(&registers) {
            self.expression_into(e, *register);
        }
        registers.first().copied().unwrap_or(0)
    }

    fn short_circuit(&mut self, left: &TypedExpression, right: &TypedExpression, dst: Register, and: bool) {
        // The left value is written before the right operand is read, so it needs registers of its own.
        let value = self.allocate(left.ty);
        self.expression_into(left, value);
        let decided = self.jump(if and {
            Instruction::JumpUnless { condition: value, target: 0 }
        } else {
            Instruction::JumpIf { condition: value, target: 0 }
        });
        self.expression_into(right, value);
        self.land(decided);
        self.emit(Instruction::Copy { dst, src: value, lanes: 1 });
    }

    fn select(
        &mut self,
        condition: &TypedExpression,
        then: &TypedExpression,
        otherwise: &TypedExpression,
        dst: Register,
    ) {
        let lanes = then.ty.lanes();
        let decision = self.expression(condition);
        if condition.ty.lanes() > 1 {
            let (then, otherwise) = (self.expression(then), self.expression(otherwise));
            self.emit(Instruction::Select { dst, condition: decision, then, otherwise, lanes });
            return;
        }
        let skip = self.jump(Instruction::JumpUnless { condition: decision, target: 0 });
        self.expression_into(then, dst);
        let done = self.jump(Instruction::Jump { target: 0 });
        self.land(skip);
        self.expression_into(otherwise, dst);
        self.land(done);
    }

    fn block(&mut self, block: &[TypedStatement]) {
        for statement in block {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &TypedStatement) {
        match statement {
            TypedStatement::Local { local, value } => self.expression_into(value, self.locals[local.index()]),
            TypedStatement::Output { connector, value } => {
                let dst = self.layout.connectors[connector.index()].start as Register;
                self.expression_into(value, dst);
                self.emit(Instruction::MarkAssigned { connector: *connector });
            }
            TypedStatement::Store { connector, indices, value } => {
                let rank = indices.len() as u16;
                let indices = self.consecutive(indices);
                let src = self.expression(value);
                let lanes = value.ty.lanes();
                self.emit(Instruction::Store { connector: *connector, src, indices, rank, lanes });
            }
            TypedStatement::Push { connector, value } => {
                let src = self.expression(value);
                self.emit(Instruction::Push { connector: *connector, src, lanes: value.ty.lanes() });
            }
            TypedStatement::If { condition, then, otherwise } => {
                let condition = self.expression(condition);
                let skip = self.jump(Instruction::JumpUnless { condition, target: 0 });
                self.block(then);
                if otherwise.is_empty() {
                    return self.land(skip);
                }
                let done = self.jump(Instruction::Jump { target: 0 });
                self.land(skip);
                self.block(otherwise);
                self.land(done);
            }
            TypedStatement::For { local, begin, end, step, body } => {
                let variable = self.locals[local.index()];
                let state = self.allocate(begin.ty);
                let (limit, stride) = (self.allocate(end.ty), self.allocate(step.ty));
                self.expression_into(begin, state);
                self.expression_into(end, limit);
                self.expression_into(step, stride);
                self.emit(Instruction::StartCount { state });
                let test = self.jump(Instruction::Count { state, variable, exit: 0 });
                self.block(body);
                self.emit(Instruction::Repeat { target: test });
                self.land(test);
            }
            TypedStatement::While { condition, body } => {
                let start = self.here();
                let condition = self.expression(condition);
                let test = self.jump(Instruction::JumpUnless { condition, target: 0 });
                self.block(body);
                self.emit(Instruction::Repeat { target: start });
                self.land(test);
            }
        }
    }
}
