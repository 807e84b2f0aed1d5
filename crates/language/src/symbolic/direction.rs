//! Monotonicity of an expression in one symbol.
//!
//! Quotients, minima and powers are not polynomials in their operands, but monotone in them. That suffices to
//! find their extreme values over a range.

use num_traits::One;

use super::polynomial::Monomial;
use super::prove::Prover;
use super::{Atom, Expr, Integer, Symbol, Term};

/// Monotonicity of an expression in a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// It does not change.
    Constant,
    /// It never falls.
    Up,
    /// It never rises.
    Down,
}

impl Direction {
    fn flipped(self) -> Direction {
        match self {
            Direction::Constant => Direction::Constant,
            Direction::Up => Direction::Down,
            Direction::Down => Direction::Up,
        }
    }

    /// The direction of a sum of two summands.
    fn plus(self, other: Direction) -> Option<Direction> {
        match (self, other) {
            (Direction::Constant, direction) | (direction, Direction::Constant) => Some(direction),
            (Direction::Up, Direction::Up) => Some(Direction::Up),
            (Direction::Down, Direction::Down) => Some(Direction::Down),
            (Direction::Up, Direction::Down) | (Direction::Down, Direction::Up) => None,
        }
    }
}

impl Prover<'_> {
    /// Monotonicity of the expression in `symbol` over the values that the assumptions admit; `None` if it is
    /// unknown.
    pub(super) fn direction(&self, expression: &Expr, symbol: &Symbol) -> Option<Direction> {
        if !self.effort.spend(expression.parts()) {
            return None;
        }
        let mut total = Direction::Constant;
        for term in &expression.0.terms {
            total = total.plus(self.term_direction(term, symbol)?)?;
        }
        Some(total)
    }

    fn term_direction(&self, term: &Term, symbol: &Symbol) -> Option<Direction> {
        let depends = |(atom, _): &&(Atom, u32)| atom.mentions(&mut |candidate| candidate == symbol);
        let moving: Vec<&(Atom, u32)> = term.factors().iter().filter(depends).collect();
        let mut direction = Direction::Constant;
        for (atom, exponent) in &moving {
            direction = direction.plus(self.atom_direction(atom, symbol)?)?;
            // A product is monotone only where its factors are not negative.
            let single = moving.len() == 1 && *exponent == 1;
            if !single && !self.nonnegative(&Expr::from_atom(atom.clone())) {
                return None;
            }
        }
        if direction == Direction::Constant {
            return Some(direction);
        }
        let still = term.factors().iter().filter(|factor| !depends(factor)).cloned().collect();
        let weight =
            Expr::from_monomial(Monomial::from_sorted(still)).scale(&term.coefficient, &Integer::one());
        if self.nonnegative(&weight) {
            Some(direction)
        } else if self.nonnegative(&-weight) {
            Some(direction.flipped())
        } else {
            None
        }
    }

    fn atom_direction(&self, atom: &Atom, symbol: &Symbol) -> Option<Direction> {
        match atom {
            Atom::Symbol(candidate) => {
                Some(if candidate == symbol { Direction::Up } else { Direction::Constant })
            }
            Atom::FloorDiv(a, b) | Atom::CeilDiv(a, b) => {
                if b.depends_on(symbol) {
                    return None;
                }
                let direction = self.direction(a, symbol)?;
                if self.nonnegative(b) {
                    Some(direction)
                } else if self.nonnegative(&-b) {
                    Some(direction.flipped())
                } else {
                    None
                }
            }
            Atom::Min(operands) | Atom::Max(operands) => {
                let mut total = Direction::Constant;
                for operand in operands {
                    total = total.plus(self.direction(operand, symbol)?)?;
                }
                Some(total)
            }
            Atom::Pow(base, exponent) => {
                if !base.depends_on(symbol) {
                    let grows = base.is_integer_polynomial() && self.nonnegative(&(base - 1));
                    return if grows { self.direction(exponent, symbol) } else { None };
                }
                let monotone =
                    !exponent.depends_on(symbol) && self.nonnegative(exponent) && self.nonnegative(base);
                if monotone { self.direction(base, symbol) } else { None }
            }
            Atom::Sum(sum) => self.direction(sum, symbol),
            Atom::Mod(..) | Atom::Call(..) => {
                (!atom.mentions(&mut |candidate| candidate == symbol)).then_some(Direction::Constant)
            }
        }
    }
}
