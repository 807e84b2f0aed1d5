//! Counted loops in stencil code, unrolled, because a stencil has one expression for each value.

use sdfg::symbolic::Expr;
use sdfg::syntax::{Expression, ExpressionKind, Statement, StatementKind, map_block, visit_bound_names};

/// Maximum number of statements from the loops of one stencil.
const MOST: usize = 1 << 12;

/// The block without loops. `known` gives numbers for names.
///
/// # Errors
/// Loops whose bounds are no numbers, that do not count, that change their counter, or that become too long; as a sentence.
pub(super) fn unrolled(
    block: &[Statement],
    known: &dyn Fn(&str) -> Option<Expression>,
) -> Result<Vec<Statement>, String> {
    let mut found = Vec::new();
    append(block, known, &mut found, &mut 0)?;
    Ok(found)
}

fn append(
    block: &[Statement],
    known: &dyn Fn(&str) -> Option<Expression>,
    into: &mut Vec<Statement>,
    count: &mut usize,
) -> Result<(), String> {
    for statement in block {
        *count += 1;
        if *count > MOST {
            return Err(format!("the loops of a stencil become more than {MOST} statements"));
        }
        match &statement.kind {
            StatementKind::For { variable, begin, end, step, body } => {
                let counter = &variable.text;
                let mut is_assigned = false;
                visit_bound_names(body, &mut |name| is_assigned |= name.text == *counter);
                if is_assigned {
                    return Err(format!("the loop over `{counter}` changes it"));
                }
                let bound = |bound: &Option<Expression>, default| {
                    bound.as_ref().map_or(Ok(default), |bound| number(bound, known))
                };
                let (begin, end, step) = (bound(begin, 0)?, number(end, known)?, bound(step, 1)?);
                let mut at = begin;
                while (step > 0 && at < end) || (step < 0 && at > end) {
                    append(&with_counter(body, counter, at), known, into, count)?;
                    *count += 1;
                    at = at.checked_add(step).ok_or("a loop counts beyond 64 bits")?;
                }
            }
            StatementKind::While { .. } => {
                return Err("a stencil repeats by counting, and has no `while`".to_owned());
            }
            StatementKind::If { branches, otherwise } => {
                let mut inner = |block: &[Statement]| {
                    let mut found = Vec::new();
                    append(block, known, &mut found, count).map(|()| found)
                };
                let mut taken = Vec::with_capacity(branches.len());
                for (condition, branch) in branches {
                    taken.push((condition.clone(), inner(branch)?));
                }
                let kind = StatementKind::If { branches: taken, otherwise: inner(otherwise)? };
                into.push(Statement { kind, span: statement.span });
            }
            StatementKind::Assign { .. } | StatementKind::Augmented { .. } | StatementKind::Pass => {
                into.push(statement.clone());
            }
        }
    }
    Ok(())
}

/// The body of a loop at one value of its counter.
fn with_counter(body: &[Statement], counter: &str, value: i64) -> Vec<Statement> {
    map_block(body.to_vec(), &mut |part| match &part.kind {
        ExpressionKind::Name(name) if name == counter => Expression::integer(value),
        _ => part,
    })
}

/// A bound of a loop.
fn number(bound: &Expression, known: &dyn Fn(&str) -> Option<Expression>) -> Result<i64, String> {
    let found = sdfg::syntax::map_expression(bound.clone(), &mut |part| match &part.kind {
        ExpressionKind::Name(name) => known(name).unwrap_or(part),
        _ => part,
    });
    let value = Expr::from_expression(&found).ok().and_then(|value| value.as_int());
    value.ok_or_else(|| format!("the bound `{bound}` of a loop is no number"))
}

#[cfg(test)]
mod tests {
    use sdfg::syntax::{parse_block, print_block};

    use super::*;

    fn written_out(text: &str) -> Result<String, String> {
        let known = |name: &str| (name == "K").then(|| Expression::integer(3));
        unrolled(&parse_block(text).unwrap(), &known).map(|block| print_block(&block).trim_end().to_owned())
    }

    #[test]
    fn loops_are_written_out() {
        for (text, expected) in [
            ("for k in range(2):\n  x = x + k * a[k - 1]", "x = x + 0 * a[0 - 1]\nx = x + 1 * a[1 - 1]"),
            ("for k in range(K, 0, -2):\n  x += k", "x += 3\nx += 1"),
            ("for k in range(1, 3):\n  for j in range(k):\n    x[j] = k", "x[0] = 1\nx[0] = 2\nx[1] = 2"),
            ("if c:\n  for k in range(1):\n    x = k\nelse:\n  x = k", "if c:\n    x = 0\nelse:\n    x = k"),
            ("for k in range(0):\n  x = k\ny = 1", "y = 1"),
        ] {
            assert_eq!(written_out(text).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn what_does_not_count_is_refused() {
        for (text, expected) in [
            ("while x > 1:\n  x = x - 1", "has no `while`"),
            ("for k in range(n):\n  x = k", "the bound `n` of a loop is no number"),
            ("for k in range(3):\n  k = k + 1", "the loop over `k` changes it"),
            ("for k in range(100000):\n  x = k", "more than 4096 statements"),
            ("for k in range(0, 9223372036854775807, 4611686018427387904):\n  x = k", "beyond 64 bits"),
        ] {
            let why = written_out(text).unwrap_err();
            assert!(why.contains(expected), "{why}");
        }
    }
}
