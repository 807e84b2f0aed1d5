//! Proofs that an expression is non-negative under assumptions.
//!
//! The method eliminates one variable at a time, iteration symbols before the symbols in their bounds. An
//! expression that is affine in a variable takes its least value at a bound. One of higher degree is expanded
//! around a bound, where non-negative coefficients suffice. Minima and maxima are split into cases; quotients
//! and remainders are replaced by their bounds. Every step is sound for all values that satisfy the
//! assumptions. The method is incomplete, and the number of steps is limited, so a missing proof implies
//! nothing.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

use num_integer::Integer as _;
use num_traits::{One, Signed, Zero};

use super::direction::Direction;
use super::limits::{Effort, FACT_DEPTH, PROOF_DEPTH, PROOF_STEPS};
use super::{Assumptions, Atom, Expr, Integer, Rational, Symbol, Term};

/// One attempt at a proof.
pub(super) struct Prover<'a> {
    assumptions: &'a Assumptions,
    steps: Cell<u32>,
    pub(super) effort: &'a Effort,
}

/// Facts on the current branch besides the assumptions.
#[derive(Clone, Default)]
struct Branch {
    /// Shared between steps, of which few add to them.
    facts: Rc<Vec<Expr>>,
    facts_used: u32,
    /// Steps that led here.
    depth: u32,
}

impl<'a> Prover<'a> {
    /// A proof that adds to the work on one answer.
    pub(super) fn new(assumptions: &'a Assumptions, effort: &'a Effort) -> Prover<'a> {
        Prover { assumptions, steps: Cell::new(PROOF_STEPS), effort }
    }

    /// Whether `expression >= 0` was shown.
    pub(super) fn nonnegative(&self, expression: &Expr) -> bool {
        if let Some(value) = expression.as_rational() {
            return !value.is_negative();
        }
        let branch = Branch { facts: Rc::new(self.assumptions.facts().to_vec()), ..Branch::default() };
        self.prove(expression, &branch)
    }

    /// Whether `expression > 0` was shown.
    pub(super) fn positive(&self, expression: &Expr) -> bool {
        // The numerator has the same sign, and is an integer wherever the atoms are.
        self.nonnegative(&(expression.numerator() - 1))
    }

    fn prove(&self, goal: &Expr, branch: &Branch) -> bool {
        if let Some(value) = goal.as_rational() {
            return !value.is_negative();
        }
        let Some(left) = self.steps.get().checked_sub(1) else { return false };
        self.steps.set(left);
        let parts = goal.parts().saturating_add(branch.facts.len() as u32);
        if branch.depth == PROOF_DEPTH || !self.effort.spend(parts) {
            return false;
        }
        let branch = &Branch { depth: branch.depth + 1, ..branch.clone() };
        let goal = tighten(goal);
        if goal.0.terms.iter().all(|term| self.term_is_nonnegative(term)) {
            return true;
        }
        if let Some(atom) = first_extremum(&goal) {
            return self.holds_for_an_operand(&goal, &atom) || self.split(&goal, &atom, branch);
        }
        if let Some(goal) = without_quotient(&goal)
            && self.prove(&goal, branch)
        {
            return true;
        }
        self.eliminate_next(&goal, branch) || self.use_fact(&goal, branch)
    }

    /// Whether a goal from which a minimum is subtracted, or to which a maximum is added, evidently holds with one of the operands in
    /// its place: that is no less than the minimum, and no more than the maximum.
    fn holds_for_an_operand(&self, goal: &Expr, atom: &Atom) -> bool {
        let coefficients = goal.coefficients_of(atom);
        let Some((1, slope)) = coefficients.last() else { return false };
        let is_favourable = slope.as_rational().is_some_and(|slope| match atom {
            Atom::Min(_) => slope.is_negative(),
            _ => slope.is_positive(),
        });
        let whole = Expr::from_atom(atom.clone());
        is_favourable
            && atom.operands().any(|operand| {
                let goal = goal + &((operand - &whole) * slope);
                goal.0.terms.iter().all(|term| self.term_is_nonnegative(term))
            })
    }

    /// A quick look at one term: a positive coefficient and factors that are evidently not negative.
    fn term_is_nonnegative(&self, term: &Term) -> bool {
        term.coefficient().is_positive()
            && term.factors().iter().all(|(atom, exponent)| {
                exponent % 2 == 0
                    || match atom {
                        Atom::Symbol(symbol) => self
                            .assumptions
                            .range_of(symbol)
                            .0
                            .and_then(Expr::as_rational)
                            .is_some_and(|lower| !lower.is_negative()),
                        Atom::Mod(_, divisor) => {
                            divisor.as_rational().is_some_and(|divisor| divisor.is_positive())
                        }
                        Atom::FloorDiv(..)
                        | Atom::CeilDiv(..)
                        | Atom::Min(_)
                        | Atom::Max(_)
                        | Atom::Pow(..)
                        | Atom::Call(..)
                        | Atom::Sum(_) => false,
                    }
            })
    }

    /// Each operand in turn may be the extremum; on its branch it beats the others.
    fn split(&self, goal: &Expr, atom: &Atom, branch: &Branch) -> bool {
        let operands: Vec<&Expr> = atom.operands().collect();
        // Each branch compares its operand with all others.
        let parts: u32 = operands.iter().map(|operand| operand.parts()).sum();
        if !self.effort.spend(parts.saturating_mul(operands.len() as u32)) {
            return false;
        }
        operands.iter().all(|chosen| {
            let mut branch = branch.clone();
            let facts = Rc::make_mut(&mut branch.facts);
            for other in operands.iter().filter(|other| *other != chosen) {
                facts.push(match atom {
                    Atom::Min(_) => *other - *chosen,
                    _ => *chosen - *other,
                });
            }
            self.prove(&goal.with_atom(atom, chosen), &branch)
        })
    }

    /// Eliminates the variable that no other one depends on.
    fn eliminate_next(&self, goal: &Expr, branch: &Branch) -> bool {
        let symbols = goal.free_symbols();
        // Finding the innermost one looks at each pair.
        if !self.effort.spend(symbols.len().saturating_mul(symbols.len()) as u32) {
            return false;
        }
        if let Some(symbol) = self.innermost(&symbols) {
            let (lower, upper) = self.assumptions.range_of(symbol);
            let (lower, upper) = (lower.cloned(), upper.cloned());
            let mut branch = branch.clone();
            if let (Some(lower), Some(upper)) = (&lower, &upper) {
                // The symbol has a value, so there is room for one between its bounds.
                let room = upper - lower;
                if !room.is_constant() && !branch.facts.contains(&room) {
                    Rc::make_mut(&mut branch.facts).push(room);
                }
            }
            let branch = &branch;
            let variable = Atom::Symbol(symbol.clone());
            let within: Vec<Atom> = goal
                .atoms()
                .filter(|atom| **atom != variable && atom.mentions(&mut |candidate| candidate == symbol))
                .cloned()
                .collect();
            if !within.is_empty() {
                // A monotone expression takes its least value at a bound, wherever the symbol occurs.
                let bound = match self.direction(goal, symbol) {
                    Some(Direction::Up) => lower.as_ref(),
                    Some(Direction::Down) => upper.as_ref(),
                    Some(Direction::Constant) | None => None,
                };
                if let Some(bound) = bound
                    && self.prove(&goal.with_symbol(symbol, bound), branch)
                {
                    return true;
                }
                if within.iter().any(|atom| self.eliminate_atom(goal, atom, branch)) {
                    return true;
                }
            }
            return self.eliminate(goal, &variable, lower.as_slice(), upper.as_slice(), branch);
        }
        let atoms: BTreeSet<Atom> = goal.atoms().cloned().collect();
        atoms.iter().any(|atom| self.eliminate_atom(goal, atom, branch))
    }

    /// Among symbols with a bound, one that occurs in the bounds of no other; the last of them by name.
    fn innermost<'s>(&self, symbols: &'s BTreeSet<Symbol>) -> Option<&'s Symbol> {
        let bounds = self.assumptions.bounds();
        let bounded = || symbols.iter().rev().filter(|symbol| bounds.contains(symbol));
        let is_outer = |symbol: &Symbol| {
            bounded().filter(|other| *other != symbol).any(|other| {
                let (lower, upper) = self.assumptions.range_of(other);
                [lower, upper].into_iter().flatten().any(|bound| bound.depends_on(symbol))
            })
        };
        bounded().find(|symbol| !is_outer(symbol)).or_else(|| bounded().next())
    }

    fn eliminate_atom(&self, goal: &Expr, atom: &Atom, branch: &Branch) -> bool {
        if self.effort.is_exhausted() {
            return false;
        }
        if matches!(atom, Atom::Symbol(_)) {
            return self.eliminate(goal, atom, &[], &[], branch);
        }
        let (lower, upper) = self.atom_bounds(atom, branch);
        self.eliminate(goal, atom, &lower, &upper, branch)
    }

    /// Shows the goal for every value of `variable` between any of the lower and any of the upper bounds.
    fn eliminate(
        &self,
        goal: &Expr,
        variable: &Atom,
        lower: &[Expr],
        upper: &[Expr],
        branch: &Branch,
    ) -> bool {
        if !self.effort.spend(goal.parts()) {
            return false;
        }
        let coefficients = goal.coefficients_of(variable);
        let at = |bound: &Expr| self.prove(&goal.with_atom(variable, bound), branch);
        let at_both_ends =
            || !lower.is_empty() && !upper.is_empty() && lower.iter().any(at) && upper.iter().any(at);
        let Some((degree, top)) = coefficients.last() else { return false };
        match degree {
            0 => false,
            1 => match top.as_rational() {
                Some(slope) if slope.is_positive() => lower.iter().any(at),
                Some(_) => upper.iter().any(at),
                None => {
                    (!lower.is_empty() && self.prove(top, branch) && lower.iter().any(at))
                        || (!upper.is_empty() && self.prove(&-top, branch) && upper.iter().any(at))
                        || at_both_ends()
                }
            },
            _ => {
                let even = coefficients.iter().all(|(exponent, _)| exponent % 2 == 0);
                (even && coefficients.iter().all(|(_, coefficient)| self.prove(coefficient, branch)))
                    || self.expand_around(goal, variable, lower, upper, branch)
                    // A concave expression takes its least value at an end.
                    || (*degree == 2 && self.prove(&-top, branch) && at_both_ends())
            }
        }
    }

    /// With `variable = bound ± t` and `t >= 0`, non-negative coefficients of the powers of `t` suffice.
    fn expand_around(
        &self,
        goal: &Expr,
        variable: &Atom,
        lower: &[Expr],
        upper: &[Expr],
        branch: &Branch,
    ) -> bool {
        let around = |bound: &Expr, sign: i64| {
            // The variable itself stands for t from here on, which only works where it does not end up in a
            // factored sum.
            let expanded = goal.with_atom(variable, &(Expr::from_atom(variable.clone()) * sign + bound));
            let factored = expanded.atoms().any(|atom| matches!(atom, Atom::Sum(_)));
            !factored
                && expanded
                    .coefficients_of(variable)
                    .iter()
                    .all(|(_, coefficient)| self.prove(coefficient, branch))
        };
        let is_free = |bound: &&Expr| match variable {
            Atom::Symbol(symbol) => !bound.depends_on(symbol),
            Atom::FloorDiv(..)
            | Atom::CeilDiv(..)
            | Atom::Mod(..)
            | Atom::Min(_)
            | Atom::Max(_)
            | Atom::Pow(..)
            | Atom::Call(..)
            | Atom::Sum(_) => !bound.atoms().any(|atom| atom == variable),
        };
        lower.iter().filter(is_free).any(|bound| around(bound, 1))
            || upper.iter().filter(is_free).any(|bound| around(bound, -1))
    }

    /// Lower and upper bounds of an atom, each valid on its own.
    fn atom_bounds(&self, atom: &Atom, branch: &Branch) -> (Vec<Expr>, Vec<Expr>) {
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        let shown = |expression: &Expr| self.prove(expression, branch);
        match atom {
            Atom::FloorDiv(a, b) | Atom::CeilDiv(a, b) => {
                let is_floor = matches!(atom, Atom::FloorDiv(..));
                let integral = a.is_integer_polynomial() && b.is_integer_polynomial();
                let slack = if integral { b - 1 } else { b.clone() };
                if let Some(quotient) =
                    b.as_rational().filter(Signed::is_positive).and_then(|_| a.exact_div(b))
                {
                    let slack = slack.exact_div(b).unwrap_or_else(Expr::one);
                    if is_floor {
                        lower.push(&quotient - slack);
                        upper.push(quotient);
                    } else {
                        upper.push(&quotient + slack);
                        lower.push(quotient);
                    }
                }
                if integral && shown(&(b - 1)) {
                    if shown(a) {
                        lower.push(if !is_floor && shown(&(a - 1)) { Expr::one() } else { Expr::zero() });
                        upper.push(a.clone());
                        if is_floor && shown(&(b - a - 1)) {
                            upper.push(Expr::zero());
                        }
                    }
                    if is_floor && shown(&(a - b)) {
                        lower.push(Expr::one());
                    }
                    if !is_floor && shown(&(b - a)) {
                        upper.push(Expr::one());
                    }
                }
            }
            Atom::Mod(a, b) => {
                let integral = a.is_integer_polynomial() && b.is_integer_polynomial();
                if integral && shown(&(b - 1)) {
                    lower.push(Expr::zero());
                    upper.push(b - 1);
                    if shown(a) {
                        upper.push(a.clone());
                    }
                }
            }
            Atom::Pow(base, exponent) => {
                if shown(exponent) && base.is_integer_polynomial() && shown(&(base - 1)) {
                    lower.push(Expr::one());
                } else if shown(base) {
                    lower.push(Expr::zero());
                }
            }
            Atom::Sum(sum) => {
                if shown(sum) {
                    lower.push(Expr::zero());
                } else if shown(&-sum) {
                    upper.push(Expr::zero());
                }
            }
            Atom::Symbol(_) | Atom::Min(_) | Atom::Max(_) | Atom::Call(..) => {}
        }
        (lower, upper)
    }

    /// Subtracts a positive multiple of something that is not negative, chosen so that a term cancels.
    fn use_fact(&self, goal: &Expr, branch: &Branch) -> bool {
        if branch.facts_used == FACT_DEPTH {
            return false;
        }
        let mut further: Vec<Expr> =
            goal.atoms().flat_map(|atom| self.quotient_facts(atom, branch.depth)).collect();
        further.extend(self.neighbour_facts(goal, branch.depth));
        for (index, fact) in branch.facts.iter().chain(&further).enumerate() {
            // Each term looks for its like; most comparisons end at the degree.
            let compared = fact.0.terms.len().saturating_mul(goal.0.terms.len()) / 16;
            if !self.effort.spend(fact.parts().saturating_add(compared as u32)) {
                return false;
            }
            let mut tried: Vec<Rational> = Vec::new();
            for term in fact.0.terms.iter().filter(|term| !term.is_constant()) {
                let Some(wanted) = goal.0.terms.iter().find(|other| other.monomial == term.monomial) else {
                    continue;
                };
                let multiple = Rational::new(
                    &wanted.coefficient * &fact.0.denominator,
                    &term.coefficient * &goal.0.denominator,
                );
                if !multiple.is_positive() || tried.contains(&multiple) {
                    continue;
                }
                let rest = goal - fact.scale(multiple.numer(), multiple.denom());
                tried.push(multiple);
                let mut branch = branch.clone();
                if index < branch.facts.len() {
                    Rc::make_mut(&mut branch.facts).remove(index);
                }
                branch.facts_used += 1;
                if self.prove(&rest, &branch) {
                    return true;
                }
            }
        }
        false
    }

    /// `b * (a // b) <= a < b * (a // b) + b` for a symbolic divisor `b >= 1`, each side as an expression `>= 0`.
    fn quotient_facts(&self, atom: &Atom, depth: u32) -> Vec<Expr> {
        if self.effort.is_exhausted() {
            return Vec::new();
        }
        match atom {
            Atom::FloorDiv(a, b) | Atom::CeilDiv(a, b)
                if a.is_integer_polynomial()
                    && b.is_integer_polynomial()
                    && !b.is_constant()
                    && self.prove(&(b - 1), &Branch { depth, ..Branch::default() }) =>
            {
                let quotient = Expr::from_atom(atom.clone());
                let rest =
                    if matches!(atom, Atom::FloorDiv(..)) { a - b * &quotient } else { b * &quotient - a };
                vec![rest.clone(), b - 1 - rest]
            }
            Atom::Symbol(_)
            | Atom::FloorDiv(..)
            | Atom::CeilDiv(..)
            | Atom::Mod(..)
            | Atom::Min(_)
            | Atom::Max(_)
            | Atom::Pow(..)
            | Atom::Call(..)
            | Atom::Sum(_) => Vec::new(),
        }
    }

    /// Relation between quotients of two numerators by the same constant, each fact as an expression `>= 0`: with
    /// `d = b - a` constant, `d // c <= b // c - a // c <= ceil_div(d, c)`; otherwise the larger numerator has the larger quotient.
    fn neighbour_facts(&self, goal: &Expr, depth: u32) -> Vec<Expr> {
        let mut quotients: Vec<(Expr, &Expr, Expr)> = Vec::new();
        for atom in goal.atoms() {
            let (Atom::FloorDiv(a, c) | Atom::CeilDiv(a, c)) = atom else { continue };
            let positive = c.as_int().is_some_and(|value| value > 0);
            if positive && a.is_integer_polynomial() {
                let numerator = if matches!(atom, Atom::FloorDiv(..)) { a.clone() } else { a + c - 1 };
                quotients.push((numerator, c, Expr::from_atom(atom.clone())));
            }
        }
        let mut facts = Vec::new();
        for (index, (a, divisor, lesser)) in quotients.iter().enumerate() {
            for (b, other, greater) in &quotients[index + 1..] {
                if divisor != other {
                    continue;
                }
                if !self.effort.spend(a.parts().saturating_add(b.parts())) {
                    return Vec::new();
                }
                let (distance, gap) = (b - a, greater - lesser);
                if !distance.is_constant() {
                    let shown = |goal: &Expr| self.prove(goal, &Branch { depth, ..Branch::default() });
                    if shown(&distance) {
                        facts.push(gap);
                    } else if shown(&-&distance) {
                        facts.push(-gap);
                    }
                } else if !distance.is_zero() {
                    facts.push(&gap - distance.floor_div(divisor));
                    facts.push(distance.ceil_div(divisor) - gap);
                }
            }
        }
        facts
    }
}

/// An equivalent goal with smaller numbers: `3*i + 5 >= 0` exactly when `i + 1 >= 0`.
fn tighten(goal: &Expr) -> Expr {
    let goal = goal.numerator();
    let content = goal
        .0
        .terms
        .iter()
        .filter(|term| !term.is_constant())
        .fold(Integer::zero(), |gcd, term| gcd.gcd(&term.coefficient));
    if content.is_one() || !goal.is_integer_polynomial() {
        return goal;
    }
    let constant = goal.constant_term();
    let floor = (&constant / Rational::from_integer(content.clone())).floor();
    (goal - Expr::constant(&constant)).scale(&Integer::one(), &content) + Expr::constant(&floor)
}

fn first_extremum(goal: &Expr) -> Option<Atom> {
    goal.atoms().find(|atom| matches!(atom, Atom::Min(_) | Atom::Max(_))).cloned()
}

/// For `c + k * (a // b)` with numbers `c`, `k` and `b > 0`, an expression that is not negative if and only if that is not: the quotient
/// has a number as bound, and so has `a`.
fn without_quotient(goal: &Expr) -> Option<Expr> {
    let mut atoms = goal.atoms();
    let (Some(atom @ (Atom::FloorDiv(a, b) | Atom::CeilDiv(a, b))), None) = (atoms.next(), atoms.next())
    else {
        return None;
    };
    let divisor = b.as_int().filter(|divisor| *divisor > 0 && a.is_integer_polynomial())?;
    let coefficients = goal.coefficients_of(atom);
    let (Some((1, slope)), true) = (coefficients.last(), coefficients.len() <= 2) else { return None };
    let slope = slope.as_rational().filter(|slope| !slope.is_zero())?;
    let bound = -goal.constant_term() / &slope;
    let is_floor = matches!(atom, Atom::FloorDiv(..));
    Some(if slope.is_positive() {
        // The quotient is at least the bound.
        let least = Expr::big(bound.ceil().to_integer());
        if is_floor { a - &(least * divisor) } else { a - &((least - 1) * divisor) - 1 }
    } else {
        let most = Expr::big(bound.floor().to_integer());
        if is_floor { (most + 1) * divisor - 1 - a } else { most * divisor - a }
    })
}
