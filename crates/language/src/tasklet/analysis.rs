//! Queries about code for transformations and cost models: names, outputs, operations.

use std::collections::BTreeSet;

use super::code::Code;
use super::environment::ConnectorId;
use super::typed::{TypedCode, TypedExpression, TypedExpressionKind, TypedStatement};
use crate::syntax::{StatementKind, visit_block, visit_bound_names, visit_statements};

/// The value outputs that code assigns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssignedOutputs {
    /// Assigned on every path that ends.
    pub always: BTreeSet<ConnectorId>,
    /// Assigned on some path.
    pub possibly: BTreeSet<ConnectorId>,
}

impl Code {
    /// Every name that an expression reads, in values, indices and bounds, and as target of `+=` and its like.
    /// Functions are not among them.
    pub fn names_read(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        visit_block(self.block(), &mut |expression| names.extend(expression.own_name()));
        visit_statements(self.block(), &mut |statement| {
            if let StatementKind::Augmented { target, .. } = &statement.kind {
                names.insert(target.name.text.as_str());
            }
        });
        names
    }

    /// Every name that is assigned: outputs, locals and loop variables.
    pub fn names_assigned(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        visit_bound_names(self.block(), &mut |name| {
            names.insert(name.text.as_str());
        });
        names
    }
}

impl TypedCode {
    /// The value outputs that are assigned, always and possibly.
    pub fn assigned_outputs(&self) -> AssignedOutputs {
        assigned(&self.body)
    }

    /// The number of operations on elements as they stand in the code: each operator, comparison, choice and function
    /// once for each lane, all branches, and loop bodies once. Conversions, accesses and lanes that are only put
    /// together or taken apart do not count.
    pub fn operation_count(&self) -> u64 {
        block_operations(&self.body)
    }
}

fn assigned(block: &[TypedStatement]) -> AssignedOutputs {
    let mut outputs = AssignedOutputs::default();
    for statement in block {
        match statement {
            TypedStatement::Output { connector, .. } => {
                outputs.always.insert(*connector);
                outputs.possibly.insert(*connector);
            }
            TypedStatement::If { then, otherwise, .. } => {
                let (then, otherwise) = (assigned(then), assigned(otherwise));
                outputs.always.extend(then.always.intersection(&otherwise.always));
                outputs.possibly.extend(then.possibly.union(&otherwise.possibly));
            }
            // The body may not run at all.
            TypedStatement::For { body, .. } | TypedStatement::While { body, .. } => {
                outputs.possibly.extend(assigned(body).possibly);
            }
            TypedStatement::Local { .. } | TypedStatement::Store { .. } | TypedStatement::Push { .. } => {}
        }
    }
    outputs
}

fn block_operations(block: &[TypedStatement]) -> u64 {
    let sum = |expressions: &[&TypedExpression]| expressions.iter().map(|e| operations(e)).sum::<u64>();
    block
        .iter()
        .map(|statement| match statement {
            TypedStatement::Local { value, .. }
            | TypedStatement::Output { value, .. }
            | TypedStatement::Push { value, .. } => operations(value),
            TypedStatement::Store { indices, value, .. } => {
                operations(value) + indices.iter().map(operations).sum::<u64>()
            }
            TypedStatement::If { condition, then, otherwise } => {
                operations(condition) + block_operations(then) + block_operations(otherwise)
            }
            TypedStatement::For { begin, end, step, body, .. } => {
                sum(&[begin, end, step]) + block_operations(body)
            }
            TypedStatement::While { condition, body } => operations(condition) + block_operations(body),
        })
        .sum()
}

fn operations(e: &TypedExpression) -> u64 {
    let lanes = u64::from(e.ty.lanes());
    let own = match &e.kind {
        TypedExpressionKind::Constant(_)
        | TypedExpressionKind::Local(_)
        | TypedExpressionKind::Symbol(_)
        | TypedExpressionKind::Input(_)
        | TypedExpressionKind::Output(_)
        | TypedExpressionKind::Load { .. }
        | TypedExpressionKind::Length { .. }
        | TypedExpressionKind::Cast(_)
        | TypedExpressionKind::Splat(_)
        | TypedExpressionKind::Lanes(_)
        | TypedExpressionKind::Lane { .. } => 0,
        TypedExpressionKind::Unary { .. }
        | TypedExpressionKind::Binary { .. }
        | TypedExpressionKind::Compare { .. }
        | TypedExpressionKind::And(..)
        | TypedExpressionKind::Or(..)
        | TypedExpressionKind::Select { .. }
        | TypedExpressionKind::Call { .. } => lanes,
        TypedExpressionKind::Power { exponent, .. } => {
            // Squarings, products of set bits, and a quotient for a negative exponent.
            let bits = exponent.unsigned_abs();
            let steps = (32 - bits.leading_zeros()) + bits.count_ones();
            lanes * (u64::from(steps.saturating_sub(2)) + u64::from(*exponent < 0))
        }
    };
    own + e.operands().into_iter().map(operations).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::{ElementType, ScalarType};
    use crate::tasklet::{Dialect, Environment, typecheck};

    #[test]
    fn names() {
        let source =
            "t = a + f(b)\nt += A[i]\nif c: o = t\nfor k in range(n):\n    if d: p -= 1\n    B[j] = 2";
        let code = Code::parse(source, Dialect::Python).unwrap();
        assert_eq!(code.names_read().into_iter().collect::<String>(), "Aabcdijnpt");
        assert_eq!(code.names_assigned().into_iter().collect::<String>(), "Bkopt");
    }

    #[test]
    fn outputs_and_operations() {
        let mut environment = Environment::new();
        environment.input("a", ScalarType::F64);
        environment.input("v", ElementType::vector(ScalarType::F32, 4).unwrap());
        let (o, p, q) = (
            environment.output("o", ScalarType::F64),
            environment.output("p", ScalarType::F64),
            environment.output("q", ElementType::vector(ScalarType::F32, 4).unwrap()),
        );
        let typed =
            |source: &str| typecheck(&Code::parse(source, Dialect::Python).unwrap(), &environment).unwrap();
        let outputs =
            typed("if a > 0:\n    o = 1\n    p = 1\nelse: o = 2\nwhile a < 0: q = v").assigned_outputs();
        assert_eq!(outputs.always, BTreeSet::from([o]));
        assert_eq!(outputs.possibly, BTreeSet::from([o, p, q]));
        for (source, count) in
            [("o = a", 0), ("o = a * 2 + 1", 2), ("q = v * 2", 4), ("o = a ** 5", 3), ("o = a ** -1", 1)]
        {
            assert_eq!(typed(source).operation_count(), count, "{source}");
        }
    }
}
