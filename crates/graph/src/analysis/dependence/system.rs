//! Integer solutions of linear equations and inequalities with symbolic constants: the Omega test (Pugh,
//! 1991) without splintering.
//!
//! Unimodular changes of variables solve equations exactly, which includes the GCD test. Fourier-Motzkin
//! elimination removes variables from inequalities. The *real shadow* of an elimination contains every
//! solution and serves refutations. The *dark shadow* contains only solutions that extend to integer
//! solutions and serves proofs. Both coincide if one of the two coefficients is one. The remaining conditions
//! on symbols go to the symbolic prover.

use std::collections::BTreeMap;

use sdfg_language::symbolic::{Assumptions, Expr};

use super::linear::{Linear, Variable};

/// Inequalities during an elimination; with more of them the answer is unknown.
const INEQUALITY_LIMIT: usize = 96;

/// Statement to prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// There is no solution, whatever the values of the symbols.
    NoSolution,
    /// There is a solution, whatever the values of the symbols.
    Solution,
}

/// `equations == 0` and `inequalities >= 0`.
#[derive(Clone, Debug, Default)]
pub(super) struct System {
    pub(super) n_variables: usize,
    pub(super) equations: Vec<Linear>,
    pub(super) inequalities: Vec<Linear>,
    /// Forms that are kept up to date while variables are replaced.
    pub(super) watched: Vec<Linear>,
}

/// Result of eliminating the variables of a system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It has no solution.
    Impossible,
    /// It has a solution where all of these are at least 0 (for [`Goal::NoSolution`], only there).
    When(Vec<Expr>),
    /// It took too many inequalities or too large numbers.
    GaveUp,
}

/// Result of solving the equations.
enum Solved {
    /// With these conditions, each of which is at least 0.
    When(Vec<Expr>),
    Impossible,
    GaveUp,
}

impl System {
    /// Whether the goal was shown.
    pub(super) fn shows(self, goal: Goal, known: &Assumptions) -> bool {
        match (goal, self.eliminate(goal)) {
            (Goal::NoSolution, Outcome::Impossible) => true,
            (Goal::NoSolution, Outcome::When(conditions)) => contradictory(&conditions, known),
            (Goal::Solution, Outcome::When(conditions)) => {
                conditions.iter().all(|condition| condition.is_nonnegative(known).is_proved())
            }
            (_, Outcome::GaveUp) | (Goal::Solution, Outcome::Impossible) => false,
        }
    }

    /// Eliminates all variables.
    pub(super) fn eliminate(mut self, goal: Goal) -> Outcome {
        let mut conditions = match self.solve(goal) {
            Solved::When(conditions) => conditions,
            Solved::Impossible => return Outcome::Impossible,
            Solved::GaveUp => return Outcome::GaveUp,
        };
        loop {
            let Some(rows) = tightened(std::mem::take(&mut self.inequalities), goal) else {
                return Outcome::Impossible;
            };
            let (constant, rows): (Vec<Linear>, Vec<Linear>) =
                rows.into_iter().partition(Linear::is_constant);
            for row in constant {
                if !conditions.contains(&row.constant) {
                    conditions.push(row.constant);
                }
            }
            if rows.is_empty() {
                return Outcome::When(conditions);
            }
            let Some(rows) = project(&rows, goal) else { return Outcome::GaveUp };
            if rows.len() > INEQUALITY_LIMIT {
                return Outcome::GaveUp;
            }
            self.inequalities = rows;
        }
    }

    /// The watched forms in terms of what the equations leave free; `None` when the equations were not solved.
    pub(super) fn watched_solved(mut self) -> Option<Vec<Linear>> {
        match self.solve(Goal::NoSolution) {
            Solved::When(_) => Some(self.watched),
            Solved::Impossible | Solved::GaveUp => None,
        }
    }

    /// Solves the equations; the result are conditions on symbols that they leave.
    fn solve(&mut self, goal: Goal) -> Solved {
        let mut conditions = Vec::new();
        while let Some(mut equation) = self.equations.pop() {
            if equation.is_constant() {
                match equation.constant.as_rational() {
                    Some(value) if *value.numer() != 0.into() => return Solved::Impossible,
                    Some(_) => {}
                    None => conditions.extend([equation.constant.clone(), -equation.constant]),
                }
                continue;
            }
            let content = equation.content();
            if content > 1 {
                let rest = equation.constant.modulo(&Expr::int(content));
                if rest.is_zero() {
                    equation.coefficients.values_mut().for_each(|coefficient| *coefficient /= content);
                    equation.constant = equation.constant.floor_div(&Expr::int(content));
                } else if rest.is_constant() {
                    // The GCD test: the left side is a multiple of the content, the right side never is.
                    return Solved::Impossible;
                } else if goal == Goal::Solution {
                    return Solved::GaveUp;
                } else {
                    let Some(negated) = Linear::constant(Expr::zero()).combine(1, &equation, -1) else {
                        return Solved::GaveUp;
                    };
                    self.inequalities.extend([equation, negated]);
                    continue;
                }
            }
            if self.replace_one_of(equation).is_none() {
                return Solved::GaveUp;
            }
        }
        Solved::When(conditions)
    }

    /// Replaces the variable of the smallest coefficient, by the solution of the equation if that is one, otherwise
    /// such that the coefficients shrink, as in Euclid's algorithm.
    fn replace_one_of(&mut self, equation: Linear) -> Option<()> {
        let (variable, coefficient) = equation
            .coefficients
            .iter()
            .map(|(variable, coefficient)| (*variable, *coefficient))
            .min_by_key(|(_, coefficient)| coefficient.unsigned_abs())?;
        let mut others = equation.clone();
        others.coefficients.remove(&variable);
        if coefficient.unsigned_abs() == 1 {
            let value = Linear::constant(Expr::zero()).combine(1, &others, -coefficient)?;
            return self.replace(variable, &value);
        }
        let fresh = self.n_variables;
        self.n_variables += 1;
        let mut value = Linear::variable(fresh);
        for (other, factor) in &others.coefficients {
            let quotient = factor.div_euclid(coefficient);
            if quotient != 0 {
                value.coefficients.insert(*other, quotient.checked_neg()?);
            }
        }
        self.equations.push(equation);
        self.replace(variable, &value)
    }

    fn replace(&mut self, variable: Variable, value: &Linear) -> Option<()> {
        for form in self.equations.iter_mut().chain(&mut self.inequalities).chain(&mut self.watched) {
            *form = form.with(variable, value)?;
        }
        Some(())
    }
}

/// Whether the conditions cannot all hold.
fn contradictory(conditions: &[Expr], known: &Assumptions) -> bool {
    if conditions.iter().any(|condition| condition.is_nonnegative(known).is_refuted()) {
        return true;
    }
    let symbolic: Vec<&Expr> = conditions.iter().filter(|condition| !condition.is_constant()).collect();
    if symbolic.len() < 2 {
        return false;
    }
    symbolic.iter().enumerate().any(|(at, condition)| {
        let mut all = known.clone();
        for (_, other) in symbolic.iter().enumerate().filter(|(other, _)| *other != at) {
            all.assume_nonnegative((*other).clone());
        }
        condition.is_nonnegative(&all).is_refuted()
    })
}

/// Divides rows by their content and keeps the strongest of those with equal coefficients; `None` if one never holds.
fn tightened(rows: Vec<Linear>, goal: Goal) -> Option<Vec<Linear>> {
    let mut strongest: BTreeMap<Vec<(Variable, i64)>, Vec<Expr>> = BTreeMap::new();
    for mut row in rows {
        let content = row.content();
        // Rounding down a symbolic constant makes a quotient, which refutations do without.
        let divisible = || row.constant.modulo(&Expr::int(content)).is_zero();
        if content > 1 && (row.constant.is_constant() || goal == Goal::Solution || divisible()) {
            row.coefficients.values_mut().for_each(|coefficient| *coefficient /= content);
            row.constant = row.constant.floor_div(&Expr::int(content));
        }
        if row.is_constant()
            && let Some(value) = row.constant.as_rational()
        {
            if *value.numer() < 0.into() {
                return None;
            }
            continue;
        }
        let constants = strongest.entry(row.coefficients.into_iter().collect()).or_default();
        let weaker = |a: &Expr, b: &Expr| (a - b).as_rational().is_some_and(|gap| *gap.numer() >= 0.into());
        if !constants.iter().any(|constant| weaker(&row.constant, constant)) {
            constants.retain(|constant| !weaker(constant, &row.constant));
            constants.push(row.constant);
        }
    }
    let rows = strongest.into_iter().flat_map(|(coefficients, constants)| {
        let coefficients: BTreeMap<Variable, i64> = coefficients.into_iter().collect();
        constants.into_iter().map(move |constant| Linear { coefficients: coefficients.clone(), constant })
    });
    Some(rows.collect())
}

/// Eliminates the variable that leaves the fewest rows, one with an exact shadow if there is one.
fn project(rows: &[Linear], goal: Goal) -> Option<Vec<Linear>> {
    let mut bounds: BTreeMap<Variable, [(usize, i64); 2]> = BTreeMap::new();
    for (variable, coefficient) in rows.iter().flat_map(|row| &row.coefficients) {
        let [lower, upper] = bounds.entry(*variable).or_insert([(0, 1); 2]);
        let side = if *coefficient > 0 { lower } else { upper };
        *side = (side.0 + 1, side.1.max(coefficient.checked_abs()?));
    }
    let cost = |[lower, upper]: &[(usize, i64); 2]| {
        let inexact = lower.1 > 1 && upper.1 > 1 && lower.0 > 0 && upper.0 > 0;
        (inexact, lower.0 * upper.0)
    };
    let variable = *bounds.iter().min_by_key(|(_, sides)| cost(sides))?.0;
    let (with, mut rest): (Vec<&Linear>, Vec<&Linear>) =
        rows.iter().partition(|row| row.coefficient(variable) != 0);
    let mut shadows: Vec<Linear> = rest.drain(..).cloned().collect();
    let (lower, upper): (Vec<&Linear>, Vec<&Linear>) =
        with.into_iter().partition(|row| row.coefficient(variable) > 0);
    for low in &lower {
        for high in &upper {
            let (a, b) = (low.coefficient(variable), high.coefficient(variable).checked_neg()?);
            let real = low.combine(b, high, a)?;
            shadows.push(match goal {
                Goal::NoSolution => real,
                Goal::Solution => real.plus((a - 1).checked_mul(b - 1)?.checked_neg()?),
            });
        }
    }
    Some(shadows)
}
