//! Walks over syntax trees, for analyses of names and their uses.

use std::collections::BTreeSet;

use super::ast::{AssignmentTarget, Expression, ExpressionKind, Index, Name, Statement, StatementKind};

impl Expression {
    /// Calls `visit` for this expression and all inside it, outer ones first, left to right.
    pub fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a Expression)) {
        visit(self);
        match &self.kind {
            ExpressionKind::Integer(_)
            | ExpressionKind::Float(_)
            | ExpressionKind::Imaginary(_)
            | ExpressionKind::Bool(_)
            | ExpressionKind::Name(_) => {}
            ExpressionKind::Unary { op: _, operand } => operand.visit(visit),
            ExpressionKind::Binary { op: _, left, right } => {
                left.visit(visit);
                right.visit(visit);
            }
            ExpressionKind::Compare { first, rest } => {
                first.visit(visit);
                rest.iter().for_each(|(_, operand)| operand.visit(visit));
            }
            ExpressionKind::Conditional { condition, then, otherwise } => {
                condition.visit(visit);
                then.visit(visit);
                otherwise.visit(visit);
            }
            ExpressionKind::Call { function: _, arguments } => {
                arguments.iter().for_each(|argument| argument.visit(visit));
            }
            ExpressionKind::Subscript { base: _, indices } => {
                indices.iter().for_each(|index| visit_index(index, visit));
            }
        }
    }

    /// Names that the expression reads: plain ones and bases of subscripts. Functions are not among them.
    pub fn names(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        self.visit(&mut |inner| {
            if let ExpressionKind::Name(name)
            | ExpressionKind::Subscript { base: Name { text: name, .. }, .. } = &inner.kind
            {
                names.insert(name.as_str());
            }
        });
        names
    }
}

fn visit_index<'a>(index: &'a Index, visit: &mut dyn FnMut(&'a Expression)) {
    match index {
        Index::Point(expression) => expression.visit(visit),
        Index::Range { begin, end, step, tile, span: _ } => {
            [begin, end, step, tile].into_iter().flatten().for_each(|part| part.visit(visit));
        }
    }
}

/// Names that occur as the base of a subscript in a block, read or assigned.
pub fn subscripted_names(block: &[Statement]) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    visit_targets(block, &mut |target| {
        if !target.indices.is_empty() {
            names.insert(target.name.text.as_str());
        }
    });
    visit_block(block, &mut |expression| {
        if let ExpressionKind::Subscript { base, .. } = &expression.kind {
            names.insert(base.text.as_str());
        }
    });
    names
}

/// Names that a block reads or assigns. Functions are not among them.
pub fn names_in(block: &[Statement]) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    visit_bound_names(block, &mut |name| {
        names.insert(name.text.as_str());
    });
    visit_block(block, &mut |expression| {
        if let ExpressionKind::Name(name) | ExpressionKind::Subscript { base: Name { text: name, .. }, .. } =
            &expression.kind
        {
            names.insert(name.as_str());
        }
    });
    names
}

/// Calls `visit` for every expression of a block, also those inside of others.
pub fn visit_block<'a>(block: &'a [Statement], visit: &mut dyn FnMut(&'a Expression)) {
    for statement in block {
        match &statement.kind {
            StatementKind::Assign { target, annotation: _, value }
            | StatementKind::Augmented { target, op: _, value } => {
                target.indices.iter().for_each(|index| visit_index(index, visit));
                value.visit(visit);
            }
            StatementKind::If { branches, otherwise } => {
                for (condition, body) in branches {
                    condition.visit(visit);
                    visit_block(body, visit);
                }
                visit_block(otherwise, visit);
            }
            StatementKind::For { variable: _, begin, end, step, body } => {
                [begin.as_ref(), Some(end), step.as_ref()]
                    .into_iter()
                    .flatten()
                    .for_each(|part| part.visit(visit));
                visit_block(body, visit);
            }
            StatementKind::While { condition, body } => {
                condition.visit(visit);
                visit_block(body, visit);
            }
            StatementKind::Pass => {}
        }
    }
}

/// Calls `visit` for every statement of a block and all inside it, outer ones first, in order.
pub fn visit_statements<'a>(block: &'a [Statement], visit: &mut dyn FnMut(&'a Statement)) {
    for statement in block {
        visit(statement);
        match &statement.kind {
            StatementKind::If { branches, otherwise } => {
                branches.iter().for_each(|(_, body)| visit_statements(body, visit));
                visit_statements(otherwise, visit);
            }
            StatementKind::For { body, .. } | StatementKind::While { body, .. } => {
                visit_statements(body, visit);
            }
            StatementKind::Assign { .. } | StatementKind::Augmented { .. } | StatementKind::Pass => {}
        }
    }
}

/// Calls `visit` for the target of every assignment of a block.
pub fn visit_targets<'a>(block: &'a [Statement], visit: &mut dyn FnMut(&'a AssignmentTarget)) {
    visit_statements(block, &mut |statement| match &statement.kind {
        StatementKind::Assign { target, .. } | StatementKind::Augmented { target, .. } => visit(target),
        StatementKind::If { .. }
        | StatementKind::For { .. }
        | StatementKind::While { .. }
        | StatementKind::Pass => {}
    });
}

/// Calls `visit` for every name that a block assigns: targets of assignments, and loop variables.
pub fn visit_bound_names<'a>(block: &'a [Statement], visit: &mut dyn FnMut(&'a Name)) {
    visit_statements(block, &mut |statement| match &statement.kind {
        StatementKind::Assign { target, .. } | StatementKind::Augmented { target, .. } => visit(&target.name),
        StatementKind::For { variable, .. } => visit(variable),
        StatementKind::If { .. } | StatementKind::While { .. } | StatementKind::Pass => {}
    });
}

#[cfg(test)]
mod tests {
    use super::super::{parse_block, parse_expression};
    use super::*;

    #[test]
    fn names_and_subscripts_of_all_forms() {
        let expression = parse_expression("f(a, b[c, d:e]) if g < h < 2 else -(i + j)").unwrap();
        assert_eq!(expression.names().into_iter().collect::<String>(), "abcdeghij");
        let block = parse_block("x[i] = a[k]\nif c:\n  y[0] += 1\nfor q in range(r[0]):\n  z = w").unwrap();
        assert_eq!(subscripted_names(&block).into_iter().collect::<String>(), "arxy");
        assert_eq!(names_in(&block).into_iter().collect::<String>(), "acikqrwxyz");
    }
}
