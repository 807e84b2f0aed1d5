//! Bottom-up rewriting of syntax trees.

use super::{AssignmentTarget, Expression, ExpressionKind, Index, Statement, StatementKind};

/// The expression with a function applied to each of its parts, inner ones first, and to itself.
///
/// The parser bounds the height of trees, so the recursion is bounded, too.
pub fn map_expression(
    expression: Expression,
    change: &mut dyn FnMut(Expression) -> Expression,
) -> Expression {
    let span = expression.span;
    let mut inner = |part: Box<Expression>| Box::new(map_expression(*part, change));
    let kind = match expression.kind {
        kind @ (ExpressionKind::Integer(_)
        | ExpressionKind::Float(_)
        | ExpressionKind::Imaginary(_)
        | ExpressionKind::Bool(_)
        | ExpressionKind::Name(_)) => kind,
        ExpressionKind::Unary { op, operand } => ExpressionKind::Unary { op, operand: inner(operand) },
        ExpressionKind::Binary { op, left, right } => {
            ExpressionKind::Binary { op, left: inner(left), right: inner(right) }
        }
        ExpressionKind::Compare { first, rest } => ExpressionKind::Compare {
            first: inner(first),
            rest: rest.into_iter().map(|(op, operand)| (op, map_expression(operand, change))).collect(),
        },
        ExpressionKind::Conditional { condition, then, otherwise } => ExpressionKind::Conditional {
            condition: inner(condition),
            then: inner(then),
            otherwise: inner(otherwise),
        },
        ExpressionKind::Call { function, arguments } => ExpressionKind::Call {
            function,
            arguments: arguments.into_iter().map(|argument| map_expression(argument, change)).collect(),
        },
        ExpressionKind::Subscript { base, indices } => {
            ExpressionKind::Subscript { base, indices: map_indices(indices, change) }
        }
    };
    change(Expression { kind, span })
}

fn map_indices(indices: Vec<Index>, change: &mut dyn FnMut(Expression) -> Expression) -> Vec<Index> {
    let map = |index| match index {
        Index::Point(at) => Index::Point(map_expression(at, change)),
        Index::Range { begin, end, step, tile, span } => {
            let mut part = |part: Option<Expression>| part.map(|part| map_expression(part, change));
            Index::Range { begin: part(begin), end: part(end), step: part(step), tile: part(tile), span }
        }
    };
    indices.into_iter().map(map).collect()
}

/// The statements with a function applied to every expression in them, inner ones first.
pub fn map_block(block: Vec<Statement>, change: &mut dyn FnMut(Expression) -> Expression) -> Vec<Statement> {
    block.into_iter().map(|statement| map_statement(statement, change)).collect()
}

fn map_statement(statement: Statement, change: &mut dyn FnMut(Expression) -> Expression) -> Statement {
    let span = statement.span;
    let kind = match statement.kind {
        StatementKind::Assign { target, annotation, value } => {
            let target = map_target(target, change);
            StatementKind::Assign { target, annotation, value: map_expression(value, change) }
        }
        StatementKind::Augmented { target, op, value } => {
            let target = map_target(target, change);
            StatementKind::Augmented { target, op, value: map_expression(value, change) }
        }
        StatementKind::If { branches, otherwise } => {
            let branches = branches
                .into_iter()
                .map(|(condition, block)| (map_expression(condition, change), map_block(block, change)))
                .collect();
            StatementKind::If { branches, otherwise: map_block(otherwise, change) }
        }
        StatementKind::For { variable, begin, end, step, body } => StatementKind::For {
            variable,
            begin: begin.map(|begin| map_expression(begin, change)),
            end: map_expression(end, change),
            step: step.map(|step| map_expression(step, change)),
            body: map_block(body, change),
        },
        StatementKind::While { condition, body } => StatementKind::While {
            condition: map_expression(condition, change),
            body: map_block(body, change),
        },
        StatementKind::Pass => StatementKind::Pass,
    };
    Statement { kind, span }
}

fn map_target(
    target: AssignmentTarget,
    change: &mut dyn FnMut(Expression) -> Expression,
) -> AssignmentTarget {
    AssignmentTarget { name: target.name, indices: map_indices(target.indices, change) }
}
