//! Minima and maxima: flattened, sorted, without dominated operands.

use num_traits::Zero;

use super::limits::OPERAND_LIMIT;
use super::{Atom, Expr, Integer, Rational};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Extremum {
    Min,
    Max,
}

impl Extremum {
    fn opposite(self) -> Extremum {
        match self {
            Extremum::Min => Extremum::Max,
            Extremum::Max => Extremum::Min,
        }
    }
}

impl Expr {
    /// The lesser of the two.
    #[must_use]
    pub fn min(&self, other: &Expr) -> Expr {
        Expr::min_of(vec![self.clone(), other.clone()])
    }

    /// The greater of the two.
    #[must_use]
    pub fn max(&self, other: &Expr) -> Expr {
        Expr::max_of(vec![self.clone(), other.clone()])
    }

    /// The least of the operands, of which there is at least one.
    pub(super) fn min_of(operands: Vec<Expr>) -> Expr {
        extremum(Extremum::Min, operands)
    }

    /// The greatest of the operands, of which there is at least one.
    pub(super) fn max_of(operands: Vec<Expr>) -> Expr {
        extremum(Extremum::Max, operands)
    }
}

fn extremum(kind: Extremum, operands: Vec<Expr>) -> Expr {
    let mut flat = Vec::with_capacity(operands.len());
    for operand in operands {
        match nested(kind, &operand) {
            Some(inner) => flat.extend(inner),
            None => flat.push(operand),
        }
    }
    if flat.len() > OPERAND_LIMIT {
        flat.sort();
        flat.dedup();
    }
    let mut kept: Vec<Expr> = Vec::with_capacity(flat.len());
    for operand in flat {
        if kept.len() >= OPERAND_LIMIT {
            kept.push(operand);
            continue;
        }
        // Operands that differ by a constant are ordered now; the better one takes the place.
        let rival = kept.iter().position(|other| (&operand - other).is_constant());
        match rival {
            None => kept.push(operand),
            Some(at) => {
                let difference = (&operand - &kept[at]).constant_term();
                let better = match kind {
                    Extremum::Min => difference < Rational::zero(),
                    Extremum::Max => difference > Rational::zero(),
                };
                if better {
                    kept[at] = operand;
                }
            }
        }
    }
    if let [only] = kept.as_slice() {
        return only.clone();
    }
    // min(-a, -b) == -max(a, b): one of the two forms is enough.
    if kept.iter().all(Expr::leads_negative) {
        return -extremum(kind.opposite(), kept.iter().map(|operand| -operand).collect());
    }
    let offset = shared_offset(&kept);
    let mut operands: Vec<Expr> =
        if offset.is_zero() { kept } else { kept.iter().map(|operand| operand - &offset).collect() };
    operands.sort();
    offset
        + Expr::from_atom(match kind {
            Extremum::Min => Atom::Min(operands),
            Extremum::Max => Atom::Max(operands),
        })
}

/// The operands of an operand that is an extremum of the same kind, up to sign and a constant offset:
/// `min(min(a, b) + 1, c) == min(a + 1, b + 1, c)`, `min(-max(a, b), c) == min(-a, -b, c)`.
fn nested(kind: Extremum, operand: &Expr) -> Option<Vec<Expr>> {
    let offset = Expr::constant(&operand.constant_term());
    let bare = operand - &offset;
    let negated = bare.leads_negative();
    let inner =
        match (if negated { -bare } else { bare }.as_atom()?, if negated { kind.opposite() } else { kind }) {
            (Atom::Min(inner), Extremum::Min) | (Atom::Max(inner), Extremum::Max) => inner.clone(),
            _ => return None,
        };
    Some(inner.iter().map(|operand| if negated { &offset - operand } else { operand + &offset }).collect())
}

/// The integer that leaves the extremum: `min(a - 1, b + 3) == min(a, b + 4) - 1`, so that the last element of a
/// range plus one is its end again. Not where an operand is a constant: `min(i + 8, 100)` reads better as it is.
fn shared_offset(operands: &[Expr]) -> Expr {
    if operands.iter().any(Expr::is_constant) {
        return Expr::zero();
    }
    let least = operands.iter().map(|operand| operand.constant_term().floor().to_integer()).min();
    Expr::big(least.unwrap_or_else(Integer::zero))
}
