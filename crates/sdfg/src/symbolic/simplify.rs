//! Simplification that needs assumptions, and is therefore not part of the canonical form.

use super::{Assumptions, Atom, Expr, Truth};

/// Operands of one minimum or maximum that are compared, each with all others, by a proof.
const OPERAND_LIMIT: usize = 8;

impl Expr {
    /// The same value for all admissible values of the symbols, without operands of minima and maxima that another
    /// one always beats, and without quotients and remainders of numbers below the divisor.
    #[must_use]
    pub fn simplify(&self, assumptions: &Assumptions) -> Expr {
        self.map_atoms(&|atom| {
            if matches!(atom, Atom::Symbol(_)) {
                return None;
            }
            let operands: Vec<Expr> = atom.operands().map(|operand| operand.simplify(assumptions)).collect();
            let proved = |truth: Truth| truth.is_proved();
            let is_proper =
                |a: &Expr, b: &Expr| proved(a.is_nonnegative(assumptions)) && proved(a.lt(b, assumptions));
            Some(match (atom, operands.as_slice()) {
                (Atom::Min(_), operands) => {
                    Expr::min_of(undominated(operands, |a, b| proved(a.le(b, assumptions))))
                }
                (Atom::Max(_), operands) => {
                    Expr::max_of(undominated(operands, |a, b| proved(a.ge(b, assumptions))))
                }
                (Atom::FloorDiv(..), [a, b]) if is_proper(a, b) => Expr::zero(),
                (Atom::Mod(..), [a, b]) if is_proper(a, b) => a.clone(),
                _ => atom.with_operands(&operands),
            })
        })
    }
}

/// The operands that no other one beats; of operands that beat each other, the first.
fn undominated(operands: &[Expr], beats: impl Fn(&Expr, &Expr) -> bool) -> Vec<Expr> {
    if operands.len() > OPERAND_LIMIT {
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
