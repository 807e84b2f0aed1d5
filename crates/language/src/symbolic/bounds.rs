//! Extreme values of an expression over ranges of symbols.

use num_traits::Signed;

use super::direction::Direction;
use super::limits::Effort;
use super::prove::Prover;
use super::{Assumptions, Atom, Expr, Symbol};

/// Bounds of an expression over the values of some symbols, inclusive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// At most every value; `None` when no bound was found.
    pub lower: Option<Expr>,
    /// At least every value; `None` when no bound was found.
    pub upper: Option<Expr>,
    /// Whether both bounds are there and are attained.
    pub exact: bool,
}

impl Bounds {
    fn exactly(value: Expr) -> Bounds {
        Bounds { lower: Some(value.clone()), upper: Some(value), exact: true }
    }
}

impl Expr {
    /// Bounds over the values `begin, ..., last` of a symbol, of which there is at least one: `begin <= last` is
    /// taken for granted, and both ends are taken. The bounds do not mention the symbol.
    #[must_use]
    pub fn bounds_over(
        &self,
        symbol: &Symbol,
        begin: &Expr,
        last: &Expr,
        assumptions: &Assumptions,
    ) -> Bounds {
        self.bounds_within(symbol, begin, last, assumptions, &Effort::new())
    }

    pub(super) fn bounds_within(
        &self,
        symbol: &Symbol,
        begin: &Expr,
        last: &Expr,
        assumptions: &Assumptions,
        effort: &Effort,
    ) -> Bounds {
        if !self.depends_on(symbol) {
            return Bounds::exactly(self.clone());
        }
        if begin.depends_on(symbol) || last.depends_on(symbol) || !effort.spend(self.parts()) {
            return Bounds { lower: None, upper: None, exact: false };
        }
        let mut within = assumptions.clone();
        within.set_range(symbol.clone(), Some(begin.clone()), Some(last.clone()));
        let (first_value, last_value) = (self.with_symbol(symbol, begin), self.with_symbol(symbol, last));
        match self.direction_within(symbol, &within, effort) {
            Some(Direction::Up | Direction::Constant) => {
                Bounds { lower: Some(first_value), upper: Some(last_value), exact: true }
            }
            Some(Direction::Down) => {
                Bounds { lower: Some(last_value), upper: Some(first_value), exact: true }
            }
            // An affine expression takes its extreme values at the ends, whichever is which.
            None if self.linear_in(symbol).is_some() => Bounds {
                lower: Some(Expr::min(&first_value, &last_value)),
                upper: Some(Expr::max(&first_value, &last_value)),
                exact: true,
            },
            None => match self.as_extremum(symbol) {
                Some(extremum) => extremum.bounds_within(symbol, begin, last, assumptions, effort),
                None => self.bounds_by_parts(symbol, begin, last, assumptions, effort),
            },
        }
    }

    /// An expression that is nowhere less than this one, and no extremum that it adds mentions symbols that are not wanted where
    /// others bound it: `min(a, b)` is at most `a`.
    #[must_use]
    pub fn upper_without(&self, is_unwanted: &dyn Fn(&Symbol) -> bool) -> Expr {
        let mut bound = self.clone();
        for atom in self.atoms() {
            let whole = Expr::from_atom(atom.clone());
            let coefficients = self.coefficients_of(atom);
            let slope = coefficients.iter().find(|(exponent, _)| *exponent == 1);
            let (Atom::Min(operands) | Atom::Max(operands), Some((_, slope))) = (atom, slope) else {
                continue;
            };
            let is_min = matches!(atom, Atom::Min(_));
            let lowers = slope.as_rational().is_some_and(|slope| slope.is_positive() == is_min);
            let relaxed = operands.iter().map(|operand| match is_min {
                true => operand.upper_without(is_unwanted),
                false => -(-operand).upper_without(is_unwanted),
            });
            let kept: Vec<Expr> =
                relaxed.filter(|operand| !operand.mentions(&mut |symbol| is_unwanted(symbol))).collect();
            if coefficients.len() > 2 || !lowers || kept.is_empty() {
                continue;
            }
            let less = if is_min { Expr::min_of(kept) } else { Expr::max_of(kept) };
            bound = bound + &((less - &whole) * slope);
        }
        bound
    }

    /// `a + min(b, c)` as `min(a + b, a + c)`, where `a` and the extremum depend on the symbol: the operands may be monotonic where
    /// the summands move in opposite directions, as in `8*i + min(8, n - 8*i)`.
    fn as_extremum(&self, symbol: &Symbol) -> Option<Expr> {
        let moves = |atom: &&Atom| atom.mentions(&mut |candidate| candidate == symbol);
        let mut extrema =
            self.atoms().filter(|atom| matches!(atom, Atom::Min(_) | Atom::Max(_))).filter(moves);
        let (Some(atom), None) = (extrema.next(), extrema.next()) else { return None };
        let (Atom::Min(operands) | Atom::Max(operands), whole) = (atom, Expr::from_atom(atom.clone())) else {
            return None;
        };
        let [plus, minus] = [self - &whole, self + &whole];
        let is_without = |rest: &Expr| rest.atoms().all(|other| other != atom);
        let (rest, is_added) = if is_without(&plus) {
            (plus, true)
        } else if is_without(&minus) {
            (minus, false)
        } else {
            return None;
        };
        if !rest.depends_on(symbol) {
            return None;
        }
        let moved = |operand: &Expr| if is_added { &rest + operand } else { &rest - operand };
        let moved = operands.iter().map(moved).collect();
        // The opposite of a minimum is a maximum of opposites.
        let is_minimum = matches!(atom, Atom::Min(_)) == is_added;
        Some(if is_minimum { Expr::min_of(moved) } else { Expr::max_of(moved) })
    }

    /// Bounds over several symbols, of which later ones may have bounds that mention earlier ones: each is
    /// `(symbol, begin, last)`, and they are eliminated from the last to the first.
    ///
    /// The bounds are exact only where the range of each symbol is non-empty for every choice of the earlier ones,
    /// which, as in [`Expr::bounds_over`], is taken for granted.
    #[must_use]
    pub fn bounds_over_all(&self, ranges: &[(Symbol, Expr, Expr)], assumptions: &Assumptions) -> Bounds {
        let mut bounds = Bounds::exactly(self.clone());
        for (at, (symbol, begin, last)) in ranges.iter().enumerate().rev() {
            let mut within = assumptions.clone();
            for (outer, begin, last) in &ranges[..at] {
                within.set_range(outer.clone(), Some(begin.clone()), Some(last.clone()));
            }
            let over =
                |bound: Option<Expr>| bound.map(|bound| bound.bounds_over(symbol, begin, last, &within));
            let (lower, upper) = (over(bounds.lower), over(bounds.upper));
            let exact = [&lower, &upper].into_iter().all(|side| side.as_ref().is_some_and(|side| side.exact));
            bounds = Bounds {
                lower: lower.and_then(|side| side.lower),
                upper: upper.and_then(|side| side.upper),
                exact: bounds.exact && exact,
            };
        }
        bounds
    }

    /// The direction by structure, or by the sign of the difference between neighbouring values.
    fn direction_within(&self, symbol: &Symbol, within: &Assumptions, effort: &Effort) -> Option<Direction> {
        let prover = Prover::new(within, effort);
        prover.direction(self, symbol).or_else(|| {
            let polynomial = self.atoms().all(|atom| match atom {
                Atom::Symbol(_) => true,
                Atom::FloorDiv(..)
                | Atom::CeilDiv(..)
                | Atom::Mod(..)
                | Atom::Min(_)
                | Atom::Max(_)
                | Atom::Pow(..)
                | Atom::Call(..)
                | Atom::Sum(_) => !atom.mentions(&mut |candidate| candidate == symbol),
            });
            if !polynomial || self.linear_in(symbol).is_some() {
                return None;
            }
            // The step from s to s + 1 stays within the range for all s but the last.
            let step = self.with_symbol(symbol, &(Expr::symbol(symbol.clone()) + 1)) - self;
            let (lower, upper) = within.range_of(symbol);
            let mut inner = within.clone();
            inner.set_range(symbol.clone(), lower.cloned(), upper.map(|upper| upper - 1));
            if Prover::new(&inner, effort).nonnegative(&step) {
                Some(Direction::Up)
            } else if Prover::new(&inner, effort).nonnegative(&-step) {
                Some(Direction::Down)
            } else {
                None
            }
        })
    }

    /// Bounds from those of each term, which need not be attained together.
    fn bounds_by_parts(
        &self,
        symbol: &Symbol,
        begin: &Expr,
        last: &Expr,
        assumptions: &Assumptions,
        effort: &Effort,
    ) -> Bounds {
        let (mut lower, mut upper) = (Some(Expr::zero()), Some(Expr::zero()));
        for term in &self.0.terms {
            let expression = Expr::from_parts(vec![term.clone()], self.0.denominator.clone());
            let bounds = if self.0.terms.len() > 1 {
                expression.bounds_within(symbol, begin, last, assumptions, effort)
            } else {
                expression.factor_bounds(symbol, begin, last, assumptions, effort)
            };
            lower = lower.zip(bounds.lower).map(|(sum, bound)| sum + bound);
            upper = upper.zip(bounds.upper).map(|(sum, bound)| sum + bound);
        }
        Bounds { lower, upper, exact: false }
    }

    /// Bounds of a single term with exactly one factor that depends on the symbol, an atom with bounds of its own.
    fn factor_bounds(
        &self,
        symbol: &Symbol,
        begin: &Expr,
        last: &Expr,
        assumptions: &Assumptions,
        effort: &Effort,
    ) -> Bounds {
        let unknown = Bounds { lower: None, upper: None, exact: false };
        let mut moving = self.atoms().filter(|atom| atom.mentions(&mut |candidate| candidate == symbol));
        let (Some(atom), None) = (moving.next().cloned(), moving.next()) else { return unknown };
        let mut coefficients = self.coefficients_of(&atom).into_iter();
        let Some((_, weight)) = coefficients.find(|(exponent, _)| *exponent == 1) else { return unknown };
        let over = |operand: &Expr| operand.bounds_within(symbol, begin, last, assumptions, effort);
        let prover = || Prover::new(assumptions, effort);
        let own = match &atom {
            Atom::Mod(_, divisor)
                if !divisor.depends_on(symbol) && prover().positive(divisor) && atom.is_integral() =>
            {
                Bounds { lower: Some(Expr::zero()), upper: Some(divisor - 1), exact: false }
            }
            Atom::Min(operands) | Atom::Max(operands) => {
                let bounds: Vec<Bounds> = operands.iter().map(over).collect();
                let lower: Option<Vec<Expr>> = bounds.iter().map(|bounds| bounds.lower.clone()).collect();
                let upper: Option<Vec<Expr>> = bounds.iter().map(|bounds| bounds.upper.clone()).collect();
                let choose = if matches!(atom, Atom::Min(_)) { Expr::min_of } else { Expr::max_of };
                Bounds { lower: lower.map(choose), upper: upper.map(choose), exact: false }
            }
            Atom::FloorDiv(a, b) | Atom::CeilDiv(a, b) if !b.depends_on(symbol) && prover().positive(b) => {
                let bounds = over(a);
                let divide =
                    |a: Expr| if matches!(atom, Atom::FloorDiv(..)) { a.floor_div(b) } else { a.ceil_div(b) };
                Bounds { lower: bounds.lower.map(divide), upper: bounds.upper.map(divide), exact: false }
            }
            Atom::Symbol(_)
            | Atom::FloorDiv(..)
            | Atom::CeilDiv(..)
            | Atom::Mod(..)
            | Atom::Pow(..)
            | Atom::Call(..)
            | Atom::Sum(_) => unknown.clone(),
        };
        let times = |bound: Option<Expr>| bound.map(|bound| bound * &weight);
        if prover().nonnegative(&weight) {
            Bounds { lower: times(own.lower), upper: times(own.upper), exact: false }
        } else if prover().nonnegative(&-&weight) {
            Bounds { lower: times(own.upper), upper: times(own.lower), exact: false }
        } else {
            unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upper_bounds_lose_operands_that_nobody_knows() {
        let is_unwanted = |symbol: &Symbol| symbol.as_str() == "x";
        for (text, bound) in [
            ("min(x, a)", "a"),
            ("2*min(x, a, b) + c", "2*min(a, b) + c"),
            ("a - 3*max(b, x + 1)", "a - 3*b"),
            // These are greater where the symbol is.
            ("max(x, a)", "max(a, x)"),
            ("a - min(x, b)", "a - min(b, x)"),
            ("min(x, x + a)", "min(x, x + a)"),
            ("min(a, b + 2*min(x, c))", "min(a, b + 2*c)"),
            ("-max(a, b - min(x, c))", "-max(a, b - c)"),
        ] {
            let text: Expr = text.parse().unwrap();
            let bound: Expr = bound.parse().unwrap();
            assert_eq!(text.upper_without(&is_unwanted), bound, "{text}");
        }
    }
}
