//! Typing of statements: assignments by the kind of their target, branches, loops, and assigned names.

use super::super::environment::{ConnectorKind, Direction};
use super::super::error::TypeErrorKind;
use super::super::typed::{TypedExpression, TypedStatement};
use super::call::type_name;
use super::operand::Operand;
use super::{Assigned, Checker, Type};
use crate::dtype::ScalarType;
use crate::syntax::{
    AssignmentTarget, BinaryOp, Expression, ExpressionKind, Name, Span, Statement, StatementKind,
};
use crate::value::Value;

impl Checker<'_> {
    /// Finds the names that are locals: assigned, and neither connectors nor symbols.
    pub(super) fn collect_locals(&mut self, block: &[Statement]) {
        for statement in block {
            match &statement.kind {
                StatementKind::Assign { target, .. } | StatementKind::Augmented { target, .. } => {
                    self.add_local(&target.name.text);
                }
                StatementKind::If { branches, otherwise } => {
                    for (_, body) in branches {
                        self.collect_locals(body);
                    }
                    self.collect_locals(otherwise);
                }
                StatementKind::For { variable, body, .. } => {
                    self.add_local(&variable.text);
                    if let Some(local) = self.locals.get_mut(&variable.text) {
                        local.counts = true;
                        local.ty = Some(Type { element: ScalarType::I64.into(), weak: false });
                    }
                    self.collect_locals(body);
                }
                StatementKind::While { body, .. } => self.collect_locals(body),
                StatementKind::Pass => {}
            }
        }
    }

    fn add_local(&mut self, name: &str) {
        if self.environment.connector(name).is_none() && self.environment.symbol(name).is_none() {
            self.locals.entry(name.to_owned()).or_default();
        }
    }

    pub(super) fn block(&mut self, block: &[Statement]) -> Vec<TypedStatement> {
        block.iter().filter_map(|statement| self.statement(statement)).collect()
    }

    /// The typed form; nothing for `pass`, and after an error.
    fn statement(&mut self, statement: &Statement) -> Option<TypedStatement> {
        match &statement.kind {
            StatementKind::Assign { target, annotation, value } => {
                let declared = annotation.as_ref().map(|name| self.declare(target, name));
                let value = self.expression(value);
                if let Some(None) = declared {
                    return None;
                }
                self.assign(target, value)
            }
            StatementKind::Augmented { target, op, value } => {
                let value = self.expression(value);
                let value = self.augmented(statement.span, target, *op, value);
                self.assign(target, value)
            }
            StatementKind::If { branches, otherwise } => self.branch(branches, otherwise),
            StatementKind::For { variable, begin, end, step, body } => {
                self.count(variable, [begin.as_ref(), Some(end), step.as_ref()], body)
            }
            StatementKind::While { condition, body } => {
                let condition = self.expression(condition).and_then(|operand| self.condition(operand));
                let before = self.assigned.clone();
                let body = self.block(body);
                self.assigned = before;
                Some(TypedStatement::While { condition: condition?, body })
            }
            StatementKind::Pass => None,
        }
    }

    /// Gives a local its declared type.
    fn declare(&mut self, target: &AssignmentTarget, annotation: &Name) -> Option<()> {
        let name = &target.name.text;
        let Some(ty) = type_name(&annotation.text, self.dialect) else {
            self.error(annotation.span, TypeErrorKind::UnknownType { name: annotation.text.clone() });
            return None;
        };
        let ty = Type { element: ty.into(), weak: false };
        let misplaced = match self.local(name) {
            None => true,
            Some((_, state)) => state.counts || (state.declared && state.ty != Some(ty)),
        };
        if misplaced {
            self.error(annotation.span, TypeErrorKind::MisplacedAnnotation { name: name.clone() });
            return None;
        }
        if let Some(local) = self.locals.get_mut(name)
            && !local.declared
        {
            local.declared = true;
            local.ty = Some(ty);
            self.changed = true;
        }
        Some(())
    }

    /// The value of an augmented assignment.
    fn augmented(
        &mut self,
        span: Span,
        target: &AssignmentTarget,
        op: BinaryOp,
        value: Option<Operand>,
    ) -> Option<Operand> {
        let kind = if target.indices.is_empty() {
            ExpressionKind::Name(target.name.text.clone())
        } else {
            ExpressionKind::Subscript { base: target.name.clone(), indices: target.indices.clone() }
        };
        let old = self.expression(&Expression { kind, span: target.span() });
        self.binary(span, op, old?, value?)
    }

    fn assign(&mut self, target: &AssignmentTarget, value: Option<Operand>) -> Option<TypedStatement> {
        let name = &target.name.text;
        let span = target.name.span;
        let refuse = |what| TypeErrorKind::NotAssignable { name: name.clone(), what };
        let Some((id, connector)) = self.environment.connector(name) else {
            return self.assign_local(target, value);
        };
        match (connector.direction, connector.kind) {
            (Direction::In, _) => self.error(span, refuse("an input")),
            (Direction::Out, ConnectorKind::Value | ConnectorKind::Stream) if !target.indices.is_empty() => {
                self.error(span, TypeErrorKind::NotIndexable { name: name.clone() });
            }
            (Direction::Out, ConnectorKind::Value) => {
                self.assigned.outputs.insert(id);
                let value = self.convert(value?, connector.element)?;
                return Some(TypedStatement::Output { connector: id, value });
            }
            (Direction::Out, ConnectorKind::Stream) => {
                let value = self.convert(value?, connector.element)?;
                return Some(TypedStatement::Push { connector: id, value });
            }
            (Direction::Out, ConnectorKind::Queues { .. }) => self.error(span, refuse("a stream")),
            (Direction::Out, ConnectorKind::Pointer { .. }) if target.indices.is_empty() => {
                self.error(span, refuse("a pointer"));
            }
            (Direction::Out, ConnectorKind::Pointer { rank }) => {
                let indices = self.indices(target.span(), name, rank, &target.indices);
                let value = self.convert(value?, connector.element)?;
                return Some(TypedStatement::Store { connector: id, indices: indices?, value });
            }
        }
        None
    }

    fn assign_local(&mut self, target: &AssignmentTarget, value: Option<Operand>) -> Option<TypedStatement> {
        let name = &target.name.text;
        let span = target.name.span;
        let Some((id, state)) = self.local(name) else {
            self.error(span, TypeErrorKind::NotAssignable { name: name.clone(), what: "a symbol" });
            return None;
        };
        let state = state.clone();
        if !target.indices.is_empty() {
            self.error(span, TypeErrorKind::NotIndexable { name: name.clone() });
            return None;
        }
        if state.counts {
            self.error(span, TypeErrorKind::NotAssignable { name: name.clone(), what: "a loop variable" });
            return None;
        }
        self.assigned.locals.insert(id);
        let value = value?;
        let ty = match state.ty {
            Some(ty) if state.declared => ty,
            None => value.ty(),
            Some(old) => {
                self.common_type(old, value.ty(), [None, value.integer_literal()], false, value.span())?
            }
        };
        if state.ty != Some(ty) {
            self.changed = true;
            if let Some(local) = self.locals.get_mut(name) {
                local.ty = Some(ty);
            }
        }
        let value = self.convert(value, ty.element)?;
        Some(TypedStatement::Local { local: id, value })
    }

    fn branch(
        &mut self,
        branches: &[(Expression, Vec<Statement>)],
        otherwise: &[Statement],
    ) -> Option<TypedStatement> {
        let before = self.assigned.clone();
        let mut after: Option<Assigned> = None;
        let mut typed = Vec::new();
        for (condition, body) in branches {
            self.assigned = before.clone();
            let condition = self.expression(condition).and_then(|operand| self.condition(operand));
            let body = self.block(body);
            typed.push((condition, body));
            let assigned = std::mem::take(&mut self.assigned);
            after = Some(match after {
                None => assigned,
                Some(after) => after.meet(&assigned),
            });
        }
        self.assigned = before;
        let mut rest = self.block(otherwise);
        if let Some(after) = after {
            self.assigned = after.meet(&self.assigned);
        }
        for (condition, then) in typed.into_iter().rev() {
            rest = vec![TypedStatement::If { condition: condition?, then, otherwise: rest }];
        }
        rest.pop()
    }

    fn count(
        &mut self,
        variable: &Name,
        bounds: [Option<&Expression>; 3],
        body: &[Statement],
    ) -> Option<TypedStatement> {
        let default = |value| Operand::constant(Value::I64(value), variable.span).expression;
        let [begin, end, step] = bounds.map(|bound| bound.map(|e| self.bound(e)));
        let local = self.local(&variable.text).map(|(id, _)| id).filter(|id| !self.counting.contains(id));
        let Some(local) = local else {
            let name = variable.text.clone();
            let what = if self.environment.connector(&name).is_some() {
                "a connector"
            } else if self.environment.symbol(&name).is_some() {
                "a symbol"
            } else {
                "a loop variable"
            };
            self.error(variable.span, TypeErrorKind::NotAssignable { name, what });
            return None;
        };
        let before = self.assigned.clone();
        self.assigned.locals.insert(local);
        self.counting.push(local);
        let body = self.block(body);
        self.counting.pop();
        // The body may not run at all.
        self.assigned = before;
        let part =
            |bound: Option<Option<TypedExpression>>, value| bound.unwrap_or_else(|| Some(default(value)));
        let (begin, end, step) = (part(begin, 0)?, part(end, 0)?, part(step, 1)?);
        Some(TypedStatement::For { local, begin, end, step, body })
    }

    fn bound(&mut self, expression: &Expression) -> Option<TypedExpression> {
        let operand = self.expression(expression)?;
        self.index(operand)
    }
}
