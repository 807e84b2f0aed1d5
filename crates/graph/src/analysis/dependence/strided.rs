//! Equations with symbolic strides: subscripts that are a number in a mixed radix, or quotient and remainder.
//!
//! An equation `factor * multiple + remainder == 0` with a symbolic factor becomes two linear equations in
//! two cases: if the remainder provably stays below the factor, so that the multiple is zero, and if the
//! other equations determine the multiple. The equation is examined again while others become linear, so
//! neither the order of dimensions nor that of strides matters.
//!
//! By the second case, `[k // m, k % m]` names each `k` once: `k % m` is `k - m * (k // m)` for any divisor
//! except zero.

use std::collections::BTreeMap;

use num_integer::Integer;
use num_traits::{ToPrimitive, Zero};
use sdfg_language::symbolic::{Atom, Expr, Term};

use super::linear::{Linear, Variable};
use super::problem::Problem;

/// Strides that one equation is split by, at most: each takes a proof or two.
const MOST_STRIDES: usize = 6;

/// `factor * multiple + remainder == 0`.
struct Split {
    factor: Expr,
    multiple: Linear,
    remainder: Expr,
}

/// Result of splitting an equation.
enum Reduced {
    /// It was added.
    Linear,
    /// What is left says the rest of it.
    To(Expr),
    /// It is not known how to make it linear.
    Stuck,
}

impl Problem<'_> {
    /// Adds `expression == 0` for each.
    pub(super) fn equate_all(&mut self, expressions: &[Expr]) {
        let mut open: Vec<Expr> = Vec::new();
        for expression in expressions {
            let expression = self.without_quotients(expression).numerator();
            let whole = self.without_remainders(&expression);
            if whole != expression {
                open.push(whole);
            }
            open.push(expression);
        }
        loop {
            let n_equations = self.refuting.equations.len();
            let mut stuck = Vec::new();
            for expression in open {
                let mut left = Some(expression);
                while let Some(expression) = left.take() {
                    match self.reduce(&expression) {
                        Reduced::Linear => {}
                        Reduced::To(rest) => left = Some(rest),
                        Reduced::Stuck => stuck.push(expression),
                    }
                }
            }
            open = stuck;
            // Only a further equation may help with those that are left.
            if open.is_empty() || self.refuting.equations.len() == n_equations {
                break;
            }
        }
        for expression in open {
            self.suffice(&expression);
        }
    }

    /// Adds an equation if it is linear, or else the part of it that a stride is taken from.
    fn reduce(&mut self, expression: &Expr) -> Reduced {
        let Some((linear, rest)) = self.linear(expression) else {
            self.not_provable();
            return Reduced::Linear;
        };
        if rest.is_empty() {
            self.add_equation(linear);
            return Reduced::Linear;
        }
        let splits = self.splits(&linear, rest);
        for Split { factor, multiple, remainder } in &splits {
            let le = |a: Expr, b: &Expr| a.le(b, &self.within).is_proved();
            let is_below = if remainder.is_zero() {
                factor.equals(&Expr::zero(), &self.within).is_refuted()
            } else {
                le(remainder + 1, factor) && le(-remainder + 1, factor)
            };
            if is_below {
                self.add_equation(multiple.clone());
                return Reduced::To(remainder.clone());
            }
        }
        for Split { factor, multiple, remainder } in splits {
            if let Some(value) = self.value_of(multiple) {
                return Reduced::To(remainder + factor * value);
            }
        }
        Reduced::Stuck
    }

    /// The ways to take out a symbolic factor: one of a term, or a coefficient that is a sum, as in `(N + 2) * i + j`.
    fn splits(&self, linear: &Linear, rest: BTreeMap<Expr, Linear>) -> Vec<Split> {
        let mut forms = rest.clone();
        forms.insert(Expr::one(), linear.clone());
        let mut coefficients: BTreeMap<Variable, Expr> = BTreeMap::new();
        let (mut whole, mut constant) = (Expr::zero(), Expr::zero());
        for (factor, form) in &forms {
            whole = whole + factor * self.written(form);
            constant = constant + factor * &form.constant;
            for (variable, coefficient) in &form.coefficients {
                let all = coefficients.entry(*variable).or_insert_with(Expr::zero);
                *all = &*all + factor * *coefficient;
            }
        }
        let mut sums: Vec<(Expr, Linear)> = Vec::new();
        for factor in coefficients.values().filter(|coefficient| coefficient.view().terms.len() > 1) {
            if sums.iter().any(|(known, _)| multiple_of(factor, known).is_some()) {
                continue;
            }
            let factor = if factor.leads_negative() { -factor } else { factor.clone() };
            let times = |(variable, coefficient): (&Variable, &Expr)| {
                Some((*variable, multiple_of(coefficient, &factor)?))
            };
            let coefficients = coefficients.iter().filter_map(times).collect();
            let constant = Expr::int(leading_multiple(&constant, &factor));
            sums.push((factor, Linear { coefficients, constant }));
        }
        let split = |(factor, multiple): (Expr, Linear)| {
            let remainder = self.unnamed(&whole - &factor * self.written(&multiple));
            Split { factor, multiple, remainder }
        };
        let common = rest.iter().filter_map(with_common_factor).collect::<Vec<_>>();
        rest.into_iter().chain(common).chain(sums).take(MOST_STRIDES).map(split).collect()
    }

    /// For a proof it suffices that all parts of an equation are zero. For a refutation that says nothing.
    fn suffice(&mut self, expression: &Expr) {
        if let Some((linear, rest)) = self.linear(expression) {
            self.proving.equations.extend(rest.into_values().chain([linear]));
        }
    }

    /// The expression with `a - c * (a // c)` for each remainder `a % c` of something that moves, and one quotient for two,
    /// `a // b // c`.
    fn without_remainders(&self, expression: &Expr) -> Expr {
        let mut replaced = expression.clone();
        for (atom, _) in expression.view().terms.iter().flat_map(Term::factors) {
            let (Atom::Mod(a, c) | Atom::FloorDiv(a, c)) = atom else { continue };
            if a.is_integer_polynomial() && c.is_integer_polynomial() && self.moves(a) && !self.moves(c) {
                let quotient = self.merged_quotient(a, c);
                let value = if matches!(atom, Atom::Mod(..)) { a - c * quotient } else { quotient };
                replaced = replaced.with_atom(atom, &value);
            }
        }
        replaced
    }

    /// `a // c`, as a quotient of what `a` is one of.
    fn merged_quotient(&self, a: &Expr, c: &Expr) -> Expr {
        let [term] = a.view().terms else { return a.floor_div(c) };
        match term.factors() {
            [(Atom::FloorDiv(inner, b), 1)]
                if *term.coefficient() == 1.into()
                    && b.is_integer_polynomial()
                    && c.is_nonnegative(&self.within).is_proved() =>
            {
                inner.floor_div(&(b * c))
            }
            _ => a.floor_div(c),
        }
    }
}

/// `factor * (c * multiple)` as `c * factor` times `multiple`, which leaves more room below the factor.
fn with_common_factor((factor, form): (&Expr, &Linear)) -> Option<(Expr, Linear)> {
    let content = form.content();
    let constant = form.constant.as_int().filter(|_| content > 1)?;
    let mut multiple = form.clone();
    multiple.coefficients.values_mut().for_each(|coefficient| *coefficient /= content);
    multiple.constant = Expr::int(constant.div_euclid(content));
    Some((factor * content, multiple))
}

/// The integer that gives `expression` as a multiple of `factor`.
fn multiple_of(expression: &Expr, factor: &Expr) -> Option<i64> {
    expression.exact_div(factor)?.as_int()
}

/// Number of times that an expression contains a factor, by the leading term of that; 0 if it is not a whole
/// number.
fn leading_multiple(expression: &Expr, factor: &Expr) -> i64 {
    let Some(leading) = factor.view().terms.first() else { return 0 };
    let same = |term: &&Term| term.factors() == leading.factors();
    let Some(own) = expression.view().terms.iter().find(same) else { return 0 };
    let (quotient, rest) = own.coefficient().div_rem(leading.coefficient());
    if rest.is_zero() { quotient.to_i64().unwrap_or(0) } else { 0 }
}
