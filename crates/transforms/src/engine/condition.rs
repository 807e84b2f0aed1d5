//! Conditions under which a step is applied: assumptions of the user, and guards that test them at run time.
//!
//! The check of a transformation knows what the conditions of branches around a block imply. A condition of a step is such a
//! branch around the block of the match. With a guard, the branch stays, and its other arm is the original block. Without,
//! the rewritten block takes its place.

use std::collections::BTreeSet;

use sdfg::analysis::integer_of;
use sdfg::analysis::symbols::{assigned_symbols, free_symbols};
use sdfg::edit::{EditError, Editor, Snapshot};
use sdfg::ir::{BlockId, NodeId, Sdfg, StateId};
use sdfg::path::{ElementPlace, Target};
use sdfg::symbolic::Expr;
use sdfg::syntax::{BinaryOp, CompareOp, Expression, ExpressionKind, parse_expression};

use super::pipeline::within;
use super::surroundings::surroundings;
use super::{Application, Claim, Match, Matched, Refusal, TransformError, Transformation, apply};
use crate::loops::state_block;

/// The reason for which a text states nothing.
const NO_COMPARISON: &str = "it is no comparison of integers, such as `N >= 2`, that have the same value in code: divisors are numbers, and \
                             symbols of other types than `i64` stand alone";

/// The conditions of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// Comparisons of integers over symbols, such as `N >= 2`, that the check takes for granted.
    pub assume: Vec<String>,
    /// Whether the rewritten program tests them, and runs the original code where one does not hold.
    pub guard: bool,
}

impl Conditions {
    /// The step relies on this comparison.
    pub fn assuming(conditions: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Conditions { assume: conditions.into_iter().map(Into::into).collect(), guard: false }
    }

    /// The step tests this comparison.
    pub fn guarded_by(conditions: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Conditions { guard: true, ..Conditions::assuming(conditions) }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.assume.is_empty()
    }
}

impl std::fmt::Display for Conditions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.assume.join(" and "))
    }
}

/// Checks and applies a transformation at a match under conditions.
///
/// # Errors
/// [`TransformError::Condition`] for a text that is no comparison of integers over symbols, [`TransformError::NoAssumption`] for a guard
/// without any,
/// [`TransformError::Refused`] if the match has several blocks, and as [`apply()`]. The program is then unchanged.
pub fn apply_under(
    program: &mut Sdfg,
    transformation: &dyn Transformation,
    found: &Match,
    conditions: &Conditions,
) -> Result<Application, TransformError> {
    if conditions.is_empty() {
        if conditions.guard {
            return Err(TransformError::NoAssumption);
        }
        return apply(program, transformation, found);
    }
    let before = Snapshot::of(program);
    let applied = guarded(program, transformation, found, conditions);
    if applied.is_err() {
        before.restore(program);
    }
    applied
}

fn guarded(
    program: &mut Sdfg,
    transformation: &dyn Transformation,
    found: &Match,
    conditions: &Conditions,
) -> Result<Application, TransformError> {
    let name = transformation.metadata().name;
    let at = found.paths(program).iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let refused = |refusal| TransformError::Refused { name, at: at.clone(), refusal: Box::new(refusal) };
    let place = ElementPlace { calls: found.calls.clone(), target: Target::Sdfg };
    let sdfg =
        place.sdfg(program).ok_or_else(|| refused(Refusal::structure(name, "matches here no more")))?;
    let Some(block) = block_of(sdfg, found) else {
        return Err(refused(Refusal::structure(
            name,
            "changes several blocks, and a condition is about one",
        )));
    };
    let stated = stated(sdfg, conditions)?;
    let all = stated.iter().map(|(expression, _)| expression.clone());
    let both = |left, right| Expression::binary(BinaryOp::And, left, right);
    let Some(condition) = all.reduce(both) else {
        return apply(program, transformation, found);
    };
    // Facts tell of the branch that is made here.
    let surroundings = surroundings(program, found);
    let mut branch = block;
    edited(program, &found.calls, &mut |editor| {
        branch = editor.guard_block(block, &condition, conditions.guard)?;
        Ok(())
    })
    .map_err(|error| refused(Refusal::Edit(error)))?;
    let mut application = apply(program, transformation, found)?;
    if !conditions.guard {
        edited(program, &found.calls, &mut |editor| editor.take_arm(branch))
            .map_err(|error| refused(Refusal::Edit(error)))?;
    }
    for (left, op, right) in stated.into_iter().flat_map(|(_, claims)| claims) {
        let claim = Claim::Stated { left, op, right, tested: conditions.guard };
        application.evidence.note(application.name, claim);
    }
    application.conditions = conditions.clone();
    application.surroundings = surroundings;
    Ok(application)
}

fn edited(
    program: &mut Sdfg,
    calls: &[(StateId, NodeId)],
    edits: &mut dyn FnMut(&mut Editor<'_>) -> Result<(), EditError>,
) -> Result<(), EditError> {
    let mut editor = Editor::new(program);
    within(&mut editor, calls, edits)?;
    editor.commit().map(|_| ())
}

/// The only block of a match.
fn block_of(sdfg: &Sdfg, found: &Match) -> Option<BlockId> {
    match &found.elements {
        Matched::Nodes(state, _) => state_block(sdfg, *state),
        Matched::Blocks(blocks) => match blocks.as_slice() {
            [only] => Some(*only),
            [] | [_, ..] => None,
        },
        Matched::Sdfg => None,
    }
}

/// A comparison.
pub(crate) type Comparison = (Expr, CompareOp, Expr);

/// The conditions as expressions, with the comparisons of which they consist.
pub(crate) fn stated(
    sdfg: &Sdfg,
    conditions: &Conditions,
) -> Result<Vec<(Expression, Vec<Comparison>)>, TransformError> {
    let mut known = free_symbols(sdfg);
    known.extend(assigned_symbols(sdfg));
    known.extend(sdfg.symbols().map(|(symbol, _)| symbol.clone()));
    let read = |text: &String| {
        let wrong = |reason: String| TransformError::Condition { text: text.clone(), reason };
        let expression = parse_expression(text)
            .map_err(|errors| wrong(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")))?;
        let mut found = Vec::new();
        comparisons(sdfg, &expression, &mut found).ok_or_else(|| wrong(NO_COMPARISON.to_owned()))?;
        let names: BTreeSet<_> = found
            .iter()
            .flat_map(|(left, _, right)| left.free_symbols().into_iter().chain(right.free_symbols()))
            .collect();
        match names.iter().find(|name| !known.contains(*name)) {
            Some(name) => Err(wrong(format!("`{name}` is no symbol of `{}`", sdfg.name))),
            None => Ok((expression, found)),
        }
    };
    conditions.assume.iter().map(read).collect()
}

/// Adds the comparisons that a condition joins by `and`; `None` if it is another expression.
fn comparisons(sdfg: &Sdfg, expression: &Expression, found: &mut Vec<Comparison>) -> Option<()> {
    match &expression.kind {
        ExpressionKind::Binary { op: BinaryOp::And, left, right } => {
            comparisons(sdfg, left, found)?;
            comparisons(sdfg, right, found)
        }
        ExpressionKind::Compare { first, rest } => {
            let mut left = integer_of(sdfg, first)?;
            for (op, right) in rest {
                let right = integer_of(sdfg, right)?;
                found.push((left, *op, right.clone()));
                left = right;
            }
            Some(())
        }
        ExpressionKind::Integer(_)
        | ExpressionKind::Float(_)
        | ExpressionKind::Imaginary(_)
        | ExpressionKind::Bool(_)
        | ExpressionKind::Name(_)
        | ExpressionKind::Unary { .. }
        | ExpressionKind::Binary { .. }
        | ExpressionKind::Conditional { .. }
        | ExpressionKind::Call { .. }
        | ExpressionKind::Subscript { .. } => None,
    }
}
