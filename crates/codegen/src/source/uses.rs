//! Reads and assignments of connectors and local variables in a tasklet's code.

use sdfg::tasklet::{BinaryOperation, TypedExpression, TypedExpressionKind, TypedStatement};

use crate::plan::{Binding, Compute};

/// Whether a tasklet is one assignment of its only output, with nothing else written.
pub(super) fn is_one_assignment(compute: &Compute) -> bool {
    let [TypedStatement::Output { .. }] = compute.code.body.as_slice() else { return false };
    let written = compute.bindings.iter().filter(|binding| match binding {
        Binding::Store { .. } | Binding::ViewMut { .. } | Binding::Push(_) => true,
        Binding::Load(_) | Binding::View(_) | Binding::Length(_) => false,
    });
    written.count() == 1
}

/// Number of reads of an input in code.
pub(super) fn uses_of_input(body: &[TypedStatement], number: usize) -> usize {
    let mut uses = 0;
    visit_expressions(body, &mut |expression| uses += uses_in(expression, number));
    uses
}

pub(super) fn uses_in(expression: &TypedExpression, number: usize) -> usize {
    let here = matches!(&expression.kind, TypedExpressionKind::Input(id) if id.index() == number);
    // A scalar that fills lanes is written once for each.
    usize::from(here)
        + expression.operands().into_iter().map(|operand| uses_in(operand, number)).sum::<usize>()
}

/// Calls `visit` for every whole expression of statements.
fn visit_expressions(body: &[TypedStatement], visit: &mut dyn FnMut(&TypedExpression)) {
    for statement in body {
        match statement {
            TypedStatement::Local { value, .. }
            | TypedStatement::Output { value, .. }
            | TypedStatement::Push { value, .. } => visit(value),
            TypedStatement::Store { indices, value, .. } => {
                indices.iter().for_each(&mut *visit);
                visit(value);
            }
            TypedStatement::If { condition, then, otherwise } => {
                visit(condition);
                visit_expressions(then, visit);
                visit_expressions(otherwise, visit);
            }
            TypedStatement::For { local: _, begin, end, step, body } => {
                [begin, end, step].into_iter().for_each(&mut *visit);
                visit_expressions(body, visit);
            }
            TypedStatement::While { condition, body } => {
                visit(condition);
                visit_expressions(body, visit);
            }
        }
    }
}

/// Calls `visit` for statements and those inside of them.
fn visit_statements(body: &[TypedStatement], visit: &mut dyn FnMut(&TypedStatement)) {
    for statement in body {
        visit(statement);
        match statement {
            TypedStatement::If { then, otherwise, .. } => {
                visit_statements(then, visit);
                visit_statements(otherwise, visit);
            }
            TypedStatement::For { body, .. } | TypedStatement::While { body, .. } => {
                visit_statements(body, visit)
            }
            TypedStatement::Local { .. }
            | TypedStatement::Output { .. }
            | TypedStatement::Store { .. }
            | TypedStatement::Push { .. } => {}
        }
    }
}

fn reads(expression: &TypedExpression, is_it: &dyn Fn(&TypedExpressionKind) -> bool) -> bool {
    is_it(&expression.kind) || expression.operands().into_iter().any(|operand| reads(operand, is_it))
}

/// Whether a statement reads or assigns an output.
pub(super) fn mentions_output(statement: &TypedStatement, number: usize) -> bool {
    let body = std::slice::from_ref(statement);
    let mut found = false;
    visit_statements(body, &mut |statement| {
        found |= matches!(statement, TypedStatement::Output { connector, .. } if connector.index() == number);
    });
    visit_expressions(body, &mut |expression| {
        found |= reads(
            expression,
            &|kind| matches!(kind, TypedExpressionKind::Output(id) if id.index() == number),
        );
    });
    found
}

/// Whether a statement reads, assigns or counts a local variable.
pub(super) fn mentions_local(statement: &TypedStatement, number: usize) -> bool {
    let body = std::slice::from_ref(statement);
    let mut found = false;
    visit_statements(body, &mut |statement| {
        found |= matches!(statement, TypedStatement::Local { local, .. } | TypedStatement::For { local, .. } if local.index() == number);
    });
    visit_expressions(body, &mut |expression| {
        found |=
            reads(expression, &|kind| matches!(kind, TypedExpressionKind::Local(id) if id.index() == number));
    });
    found
}

/// Whether one statement assigns an output, and none reads it.
pub(super) fn is_single_assignment(body: &[TypedStatement], number: usize) -> bool {
    let mut assignments = 0;
    visit_statements(body, &mut |statement| {
        let is_it =
            matches!(statement, TypedStatement::Output { connector, .. } if connector.index() == number);
        assignments += usize::from(is_it);
    });
    let mut is_read = false;
    let is_it =
        |kind: &TypedExpressionKind| matches!(kind, TypedExpressionKind::Output(id) if id.index() == number);
    visit_expressions(body, &mut |expression| is_read |= reads(expression, &is_it));
    assignments == 1 && !is_read
}

/// Whether a value costs little and may be computed where the program does not: inputs and constants, and their sums and products.
pub(super) fn is_free(value: &TypedExpression) -> bool {
    let is_cheap = match &value.kind {
        TypedExpressionKind::Constant(_) | TypedExpressionKind::Symbol(_) | TypedExpressionKind::Input(_) => {
            true
        }
        TypedExpressionKind::Cast(operand) => !operand.ty.lane().is_float() || value.ty.lane().is_float(),
        TypedExpressionKind::Unary { .. } => true,
        TypedExpressionKind::Binary { op, .. } => {
            matches!(op, BinaryOperation::Add | BinaryOperation::Subtract | BinaryOperation::Multiply)
        }
        TypedExpressionKind::Local(_)
        | TypedExpressionKind::Output(_)
        | TypedExpressionKind::Load { .. }
        | TypedExpressionKind::Length { .. }
        | TypedExpressionKind::Splat(_)
        | TypedExpressionKind::Lanes(_)
        | TypedExpressionKind::Lane { .. }
        | TypedExpressionKind::Power { .. }
        | TypedExpressionKind::Compare { .. }
        | TypedExpressionKind::And(..)
        | TypedExpressionKind::Or(..)
        | TypedExpressionKind::Select { .. }
        | TypedExpressionKind::Call { .. } => false,
    };
    is_cheap && value.operands().into_iter().all(is_free)
}

/// Whether loops count a local variable that is mentioned nowhere but in them.
pub(super) fn is_only_counted(body: &[TypedStatement], number: usize) -> bool {
    let is_it =
        |kind: &TypedExpressionKind| matches!(kind, TypedExpressionKind::Local(id) if id.index() == number);
    body.iter().all(|statement| match statement {
        TypedStatement::For { local, begin, end, step, .. } if local.index() == number => {
            ![begin, end, step].into_iter().any(|bound| reads(bound, &is_it))
        }
        TypedStatement::For { body, begin, end, step, .. } => {
            ![begin, end, step].into_iter().any(|bound| reads(bound, &is_it)) && is_only_counted(body, number)
        }
        TypedStatement::If { condition, then, otherwise } => {
            !reads(condition, &is_it) && is_only_counted(then, number) && is_only_counted(otherwise, number)
        }
        TypedStatement::While { condition, body } => {
            !reads(condition, &is_it) && is_only_counted(body, number)
        }
        TypedStatement::Local { .. }
        | TypedStatement::Output { .. }
        | TypedStatement::Store { .. }
        | TypedStatement::Push { .. } => !mentions_local(statement, number),
    })
}
