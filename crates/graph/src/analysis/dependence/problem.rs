//! Translation of two accesses to a system of equations: the conditions under which they touch one element.
//!
//! Each iteration symbol becomes an expression over fresh variables, `begin + step * k`, and each range of a
//! subset becomes an element of it. Variables are symbols, so that substitution handles ranges that mention
//! outer variables. A complete equation or inequality is split into its linear part. Quotients and remainders
//! by constants become separate variables. Non-linear parts are dropped from the system of refutations, which
//! then has more solutions, and prevent a proof.

use std::borrow::Cow;
use std::collections::BTreeMap;

use num_traits::{Signed, ToPrimitive};
use sdfg_language::subset::Range;
use sdfg_language::symbolic::{Assumptions, Atom, Expr, Sign, Symbol, Term};

use super::linear::{COEFFICIENT_LIMIT, Linear, Variable};
use super::system::{Goal, System};

/// Equations and inequalities over variables that are still written as symbols.
#[derive(Clone, Debug)]
pub(super) struct Problem<'a> {
    /// Facts about symbols that are not variables.
    known: &'a Assumptions,
    /// That, and what is known where the ranges around have values.
    inhabited: Cow<'a, Assumptions>,
    /// Facts about symbols there, and about variables if they are simple.
    pub(super) within: Assumptions,
    prefix: String,
    variables: BTreeMap<Symbol, Variable>,
    /// Variables that stand for quotients and for what is not linear, by what they stand for.
    named: Vec<(Expr, Symbol)>,
    pub(super) refuting: System,
    pub(super) proving: System,
    /// Whether a solution of the proving system is one of the problem.
    provable: bool,
}

/// One product of variables in an expression.
enum Moving {
    /// None: the term is constant.
    None,
    Variable(Variable),
    /// Anything else.
    Other(Expr),
}

impl<'a> Problem<'a> {
    /// No equations; `prefix` begins no other symbol.
    pub(super) fn new(known: &'a Assumptions, prefix: &str) -> Self {
        // It changes with each variable.
        let mut within = known.clone();
        within.keep_no_answers();
        Problem {
            known,
            inhabited: Cow::Borrowed(known),
            within,
            prefix: prefix.to_owned(),
            variables: BTreeMap::new(),
            named: Vec::new(),
            refuting: System::default(),
            proving: System::default(),
            provable: true,
        }
    }

    /// Rules a proof out.
    pub(super) fn not_provable(&mut self) {
        self.provable = false;
    }

    /// A symbol of which nothing is known; no variable.
    pub(super) fn unknown_symbol(&mut self) -> Symbol {
        let symbol = self.fresh_name();
        // The number of variables names symbols, too; a variable that occurs nowhere does no harm.
        self.refuting.n_variables += 1;
        self.proving.n_variables += 1;
        symbol
    }

    /// Whether there is provably no solution.
    pub(super) fn refuted(&self) -> bool {
        self.refuting.clone().shows(Goal::NoSolution, &self.inhabited)
    }

    /// Whether there provably is a solution.
    pub(super) fn proved(&self) -> bool {
        self.provable && self.proving.clone().shows(Goal::Solution, self.known)
    }

    /// The value of an expression in all solutions, if they agree on one.
    pub(super) fn fixed_value(&self, expression: &Expr) -> Option<Expr> {
        if *expression.view().denominator != 1.into() {
            return None;
        }
        let mut problem = self.clone();
        let (linear, rest) = problem.linear(expression)?;
        if !rest.is_empty() {
            return None;
        }
        problem.value_of(linear)
    }

    /// The value that the equations leave a form, if it is one.
    pub(super) fn value_of(&self, form: Linear) -> Option<Expr> {
        let mut system = self.refuting.clone();
        system.watched.push(form);
        let solved = system.watched_solved()?.pop()?;
        solved.is_constant().then_some(solved.constant)
    }

    /// Any value of a range; none if it is empty.
    pub(super) fn value_in(&mut self, range: &Range) -> Expr {
        if range.is_index() {
            return range.begin.clone();
        }
        let sign = range.step.sign(&self.within);
        let ascends = match sign {
            Sign::Positive => true,
            Sign::Negative => false,
            Sign::NonPositive | Sign::Zero | Sign::NonNegative | Sign::Unknown => {
                self.provable = false;
                return Expr::symbol(self.variable());
            }
        };
        let start = if self.has_choice(&range.begin) && range.step.is_one() {
            let start = Expr::symbol(self.variable_between(&range.begin, &(&range.end - 1)));
            self.assume(&(&start - &range.begin));
            self.assume(&(&range.end - 1 - &start));
            start
        } else {
            let count = range.steps();
            let k = Expr::symbol(self.variable_between(&Expr::zero(), &(&count - 1)));
            let start = &range.begin + &k * &range.step;
            self.assume(&k);
            match range.step.as_int() {
                None => self.assume(&(count - 1 - k)),
                Some(_) if ascends => self.assume(&(&range.end - 1 - &start)),
                Some(_) => self.assume(&(&start - &range.end - 1)),
            }
            start
        };
        if range.tile.is_one() {
            return start;
        }
        let within = Expr::symbol(self.variable_between(&Expr::zero(), &(&range.tile - 1)));
        self.assume(&within);
        self.assume(&(&range.tile - 1 - &within));
        start + within
    }

    /// Adds `expression >= 0`.
    pub(super) fn assume(&mut self, expression: &Expr) {
        // A value below a minimum is below every operand.
        for term in expression.view().terms {
            let negative = term.coefficient().is_negative();
            let [(atom @ (Atom::Min(operands) | Atom::Max(operands)), 1)] = term.factors() else { continue };
            let all = matches!(atom, Atom::Min(_)) != negative;
            if all && operands.iter().any(|operand| self.moves(operand)) {
                for operand in operands.clone() {
                    self.assume(&expression.with_atom(atom, &operand));
                }
                return;
            }
        }
        let Some((linear, rest)) = self.linear(expression) else {
            self.provable = false;
            return;
        };
        if rest.is_empty() {
            self.refuting.inequalities.push(linear.clone());
            self.proving.inequalities.push(linear);
        } else {
            self.provable = false;
        }
    }

    /// Adds an equation without symbolic factors.
    pub(super) fn add_equation(&mut self, linear: Linear) {
        self.refuting.equations.push(linear.clone());
        self.proving.equations.push(linear);
    }

    /// Uses that the iterations in question exist, so that a range around them has values: of symbols, not of variables.
    pub(super) fn inhabit(&mut self, range: &Range) {
        if range.is_index() || range.step.sign(self.known) != Sign::Positive {
            return;
        }
        let mut size = &range.end - &range.begin;
        // Of `2*h >= 1` the integer part is `h >= 1`.
        if let [term] = size.view().terms
            && let Some(part) = term.coefficient().to_i64().filter(|coefficient| *coefficient > 1)
        {
            size = size.floor_div(&Expr::int(part));
        }
        if size.is_constant() {
            return;
        }
        for known in [self.inhabited.to_mut(), &mut self.within] {
            match size.as_symbol() {
                Some(symbol) => known.positive(symbol.clone()),
                None => known.assume_nonnegative(&size - 1),
            };
        }
    }

    /// Whether the expression mentions a variable.
    pub(super) fn moves(&self, expression: &Expr) -> bool {
        expression.mentions(&mut |symbol| self.variables.contains_key(symbol))
    }

    /// Whether a minimum or maximum of variables is a summand.
    fn has_choice(&self, expression: &Expr) -> bool {
        expression.view().terms.iter().flat_map(Term::factors).any(|(atom, _)| {
            matches!(atom, Atom::Min(_) | Atom::Max(_)) && atom.operands().any(|operand| self.moves(operand))
        })
    }

    fn fresh_name(&self) -> Symbol {
        Symbol::of(&format!("{}{}", self.prefix, self.refuting.n_variables))
    }

    fn variable(&mut self) -> Symbol {
        let symbol = self.fresh_name();
        self.variables.insert(symbol.clone(), self.refuting.n_variables);
        self.refuting.n_variables += 1;
        self.proving.n_variables = self.refuting.n_variables;
        symbol
    }

    fn variable_between(&mut self, lower: &Expr, upper: &Expr) -> Symbol {
        let symbol = self.variable();
        self.within.set_range(symbol.clone(), Some(lower.clone()), Some(upper.clone()));
        symbol
    }

    /// A form as an expression again.
    pub(super) fn written(&self, linear: &Linear) -> Expr {
        let name = |variable: &Variable| {
            let symbol = self.variables.iter().find(|(_, own)| *own == variable).map(|(symbol, _)| symbol);
            symbol.map_or_else(Expr::zero, |symbol| Expr::symbol(symbol.clone()))
        };
        let terms = linear.coefficients.iter().map(|(variable, coefficient)| name(variable) * *coefficient);
        terms.sum::<Expr>() + &linear.constant
    }

    /// An expression with what variables were made for in place of them.
    pub(super) fn unnamed(&self, expression: Expr) -> Expr {
        // What a variable stands for mentions earlier ones only.
        self.named.iter().rev().fold(expression, |expression, (named, symbol)| {
            if expression.depends_on(symbol) { expression.with_symbol(symbol, named) } else { expression }
        })
    }

    /// The expression up to a positive factor, as a linear form and multiples of symbolic factors. `None` if a
    /// coefficient is too large.
    pub(super) fn linear(&mut self, expression: &Expr) -> Option<(Linear, BTreeMap<Expr, Linear>)> {
        let expression = self.without_quotients(expression).numerator();
        if !expression.is_integral(&self.within).is_proved() {
            self.provable = false;
        }
        let mut linear = Linear::constant(Expr::zero());
        let mut rest: BTreeMap<Expr, Linear> = BTreeMap::new();
        let mut constants = Vec::new();
        for term in expression.view().terms {
            let (factor, moving) = self.split(term);
            let variable = match moving {
                Moving::None => {
                    constants.push((factor, term.coefficient().clone()));
                    continue;
                }
                Moving::Variable(variable) => variable,
                Moving::Other(product) => {
                    self.provable = false;
                    self.named_variable(&product)
                }
            };
            let coefficient = term.coefficient().to_i64()?;
            if coefficient.unsigned_abs() > COEFFICIENT_LIMIT {
                return None;
            }
            let form = if factor.is_one() {
                &mut linear
            } else {
                rest.entry(factor).or_insert_with(|| Linear::constant(Expr::zero()))
            };
            form.coefficients.insert(variable, coefficient);
        }
        for (factor, coefficient) in constants {
            let number = Expr::constant(&coefficient.into());
            match rest.get_mut(&factor) {
                Some(form) => form.constant = &form.constant + number,
                None => linear.constant = &linear.constant + number * factor,
            }
        }
        Some((linear, rest))
    }

    /// The factors of a term that mention no variable, and those that do.
    fn split(&self, term: &Term) -> (Expr, Moving) {
        let mut factor = Expr::one();
        let mut moving = Vec::new();
        for (atom, exponent) in term.factors() {
            let base = Expr::from_atom(atom.clone());
            if self.moves(&base) {
                moving.push((atom, *exponent));
            } else {
                factor = factor * base.pow(&Expr::int(i64::from(*exponent)));
            }
        }
        let moving = match moving.as_slice() {
            [] => Moving::None,
            [(Atom::Symbol(symbol), 1)] => match self.variables.get(symbol) {
                Some(variable) => Moving::Variable(*variable),
                None => Moving::None,
            },
            factors => Moving::Other(
                factors
                    .iter()
                    .map(|(atom, exponent)| {
                        Expr::from_atom((*atom).clone()).pow(&Expr::int(i64::from(*exponent)))
                    })
                    .product(),
            ),
        };
        (factor, moving)
    }

    /// A variable for an expression that is not linear; the same for equal expressions.
    fn named_variable(&mut self, expression: &Expr) -> Variable {
        let known =
            self.named.iter().find(|(named, _)| named == expression).map(|(_, symbol)| symbol.clone());
        let symbol = known.unwrap_or_else(|| {
            let symbol = self.variable();
            self.named.push((expression.clone(), symbol.clone()));
            symbol
        });
        self.variables[&symbol]
    }

    /// The expression with variables in place of quotients and remainders by constants that mention variables.
    pub(super) fn without_quotients(&mut self, expression: &Expr) -> Expr {
        let mut replaced = expression.clone();
        for (atom, _) in expression.view().terms.iter().flat_map(Term::factors) {
            let (Atom::FloorDiv(a, c) | Atom::CeilDiv(a, c) | Atom::Mod(a, c)) = atom else { continue };
            if c.as_int().is_some_and(|c| c > 0) && a.is_integer_polynomial() && self.moves(a) {
                let a = self.without_quotients(a);
                let value = match atom {
                    Atom::Mod(..) => &a - self.quotient(&a, c) * c,
                    Atom::CeilDiv(..) => self.quotient(&(&a + c - 1), c),
                    _ => self.quotient(&a, c),
                };
                replaced = replaced.with_atom(atom, &value);
            }
        }
        replaced
    }

    /// `a // c` as a variable.
    fn quotient(&mut self, a: &Expr, c: &Expr) -> Expr {
        let atom = a.floor_div(c);
        let known = self.named.iter().find(|(named, _)| *named == atom).map(|(_, symbol)| symbol.clone());
        Expr::symbol(known.unwrap_or_else(|| {
            let symbol = self.variable();
            self.named.push((atom, symbol.clone()));
            let rest = a - Expr::symbol(symbol.clone()) * c;
            self.assume(&rest);
            self.assume(&(c - 1 - rest));
            symbol
        }))
    }
}
