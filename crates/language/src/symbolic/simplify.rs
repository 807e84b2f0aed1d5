//! Simplification under assumptions, which is not part of the canonical form.

use super::limits::{Effort, PROVED_OPERAND_LIMIT};
use super::{Assumptions, Atom, Expr};

impl Expr {
    /// The same value for all admissible values of the symbols, without operands of minima and maxima that another
    /// one always beats, and without quotients and remainders of numbers below the divisor.
    #[must_use]
    pub fn simplify(&self, assumptions: &Assumptions) -> Expr {
        self.simplify_within(assumptions, &Effort::new())
    }

    pub(super) fn simplify_within(&self, assumptions: &Assumptions, effort: &Effort) -> Expr {
        if !effort.spend(self.parts()) {
            return self.clone();
        }
        self.map_atoms(&|atom| {
            if matches!(atom, Atom::Symbol(_)) {
                return None;
            }
            let operands: Vec<Expr> =
                atom.operands().map(|operand| operand.simplify_within(assumptions, effort)).collect();
            let nonnegative = |e: &Expr| e.is_nonnegative_within(assumptions, effort).is_proved();
            let le = |a: &Expr, b: &Expr| nonnegative(&(b - a));
            let is_proper = |a: &Expr, b: &Expr| nonnegative(a) && is_below(a, b, assumptions, effort);
            Some(match (atom, operands.as_slice()) {
                (Atom::Min(_), operands) => Expr::min_of(undominated(operands, le)),
                (Atom::Max(_), operands) => Expr::max_of(undominated(operands, |a, b| le(b, a))),
                (Atom::FloorDiv(..), [a, b]) if is_proper(a, b) => Expr::zero(),
                (Atom::Mod(..), [a, b]) if is_proper(a, b) => a.clone(),
                _ => atom.with_operands(&operands),
            })
        })
    }
}

fn is_below(a: &Expr, b: &Expr, assumptions: &Assumptions, effort: &Effort) -> bool {
    (a - b).is_nonnegative_within(assumptions, effort).is_refuted()
}

/// The operands that no other one beats; of operands that beat each other, the first.
fn undominated(operands: &[Expr], beats: impl Fn(&Expr, &Expr) -> bool) -> Vec<Expr> {
    if operands.len() > PROVED_OPERAND_LIMIT {
        return operands.to_vec();
    }
    let mut kept: Vec<Expr> = Vec::with_capacity(operands.len());
    for operand in operands {
        if !kept.iter().any(|other| beats(other, operand)) {
            kept.retain(|other| !beats(operand, other));
            kept.push(operand.clone());
        }
    }
    kept
}
