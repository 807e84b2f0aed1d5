//! The expression type: constructors, structural queries, substitution.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use num_traits::{One, Signed, ToPrimitive, Zero};
use smallvec::smallvec;

use super::polynomial::{Monomial, Polynomial, Terms};
use super::{Atom, Integer, Rational, Symbol, Term};

/// A pure integer expression over named symbols, in canonical form.
///
/// The form is a polynomial with exact rational coefficients over [`Atom`]s, so that expressions that are equal as
/// polynomials are equal values: `(i + 1) * 2 == 2 * i + 2`, `R**K * R == R**(K + 1)`. An expression is immutable
/// and clones without copying. Coefficients have no size limit; only evaluation reports overflow.
///
/// **Meaning.** Symbols are integers. Intermediate values are exact rationals (`N * (N + 1) / 2` is one polynomial
/// over the denominator 2), and the value as a whole is asked for as an integer. Canonicalisation keeps the value
/// wherever the expression that was written is defined, and may define it elsewhere: `(N * K) // N` becomes `K`,
/// also for `N = 0`. A division by the constant zero stays, and fails when evaluated.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Expr(pub(super) Arc<Polynomial>);

/// A read-only view of the canonical form, `(sum of terms) / denominator`, for lowering.
///
/// An integral expression lowers to the integer sum followed by one exact division.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Summands by descending degree; empty for zero.
    pub terms: &'a [Term],
    /// Positive, and coprime to the coefficients.
    pub denominator: &'a Integer,
}

/// Expressions of the integers that programs are full of, made once.
static SMALL: LazyLock<Vec<Expr>> = LazyLock::new(|| SMALL_RANGE.map(constant).collect());
const SMALL_RANGE: std::ops::RangeInclusive<i64> = -16..=64;

fn constant(value: i64) -> Expr {
    Expr(Arc::new(Polynomial::constant(Integer::from(value), Integer::one())))
}

impl Expr {
    /// An integer constant.
    #[must_use]
    pub fn int(value: i64) -> Expr {
        if SMALL_RANGE.contains(&value) {
            SMALL[(value - SMALL_RANGE.start()) as usize].clone()
        } else {
            constant(value)
        }
    }

    /// The constant 0.
    #[must_use]
    pub fn zero() -> Expr {
        Expr::int(0)
    }

    /// The constant 1.
    #[must_use]
    pub fn one() -> Expr {
        Expr::int(1)
    }

    /// The constant `numerator / denominator`, or `None` for a zero denominator.
    #[must_use]
    pub fn rational(numerator: i64, denominator: i64) -> Option<Expr> {
        (denominator != 0).then(|| {
            Expr(Arc::new(Polynomial::constant(Integer::from(numerator), Integer::from(denominator))))
        })
    }

    /// A constant of any size.
    #[must_use]
    pub fn constant(value: &Rational) -> Expr {
        if value.is_integer()
            && let Some(small) = value.numer().to_i64()
        {
            return Expr::int(small);
        }
        Expr(Arc::new(Polynomial::constant(value.numer().clone(), value.denom().clone())))
    }

    pub(super) fn big(value: Integer) -> Expr {
        Expr::constant(&Rational::from_integer(value))
    }

    /// The value of a symbol.
    #[must_use]
    pub fn symbol(symbol: Symbol) -> Expr {
        Expr::from_atom(Atom::Symbol(symbol))
    }

    /// The value of the symbol of a name that the program text fixes, such as `Expr::sym("N")`.
    ///
    /// # Panics
    /// When `name` is not an identifier; use [`Symbol::new`] for names that come from input.
    #[must_use]
    #[track_caller]
    pub fn sym(name: &str) -> Expr {
        Expr::symbol(Symbol::of(name))
    }

    /// An opaque integer function of integers. Evaluation knows no such function and fails.
    #[must_use]
    pub fn call(name: &str, arguments: Vec<Expr>) -> Expr {
        Expr::from_atom(Atom::Call(Arc::from(name), arguments))
    }

    /// The expression that is this atom alone.
    pub fn from_atom(atom: Atom) -> Expr {
        Expr::from_monomial(Monomial::of(atom))
    }

    pub(super) fn from_monomial(monomial: Monomial) -> Expr {
        let terms = smallvec![Term { monomial, coefficient: Integer::one() }];
        Expr(Arc::new(Polynomial::measured(terms, Integer::one())))
    }

    /// The canonical expression of `(sum of terms) / denominator`, terms in any order.
    pub(super) fn from_parts(terms: impl Into<Terms>, denominator: Integer) -> Expr {
        Expr(Arc::new(Polynomial::collect(terms.into(), denominator))).unwrap_lone_sums()
    }

    /// Adds up factored sums that stand alone in a term, as they do when their other factors were divided out.
    fn unwrap_lone_sums(self) -> Expr {
        let is_lone = |term: &Term| matches!(term.factors(), [(Atom::Sum(_), 1)]);
        if !self.0.terms.iter().any(is_lone) {
            return self;
        }
        let denominator = &self.0.denominator;
        let (lone, rest): (Terms, Terms) = self.0.terms.iter().cloned().partition(is_lone);
        let mut total = Expr(Arc::new(Polynomial::collect(rest, denominator.clone())));
        for term in lone {
            if let [(Atom::Sum(sum), 1)] = term.factors() {
                total = total + sum.scale(&term.coefficient, denominator);
            }
        }
        total
    }

    /// The structure, for code that lowers or inspects expressions.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        View { terms: &self.0.terms, denominator: &self.0.denominator }
    }

    /// The constant value, when this is an integer constant that fits.
    #[must_use]
    pub fn as_int(&self) -> Option<i64> {
        if !self.0.denominator.is_one() {
            return None;
        }
        match self.0.terms.as_slice() {
            [] => Some(0),
            [term] if term.is_constant() => term.coefficient.to_i64(),
            _ => None,
        }
    }

    /// The constant value, when this is a constant.
    #[must_use]
    pub fn as_rational(&self) -> Option<Rational> {
        let numerator = match self.0.terms.as_slice() {
            [] => Integer::zero(),
            [term] if term.is_constant() => term.coefficient.clone(),
            _ => return None,
        };
        Some(Rational::new_raw(numerator, self.0.denominator.clone()))
    }

    /// The symbol, when this is one and nothing more.
    #[must_use]
    pub fn as_symbol(&self) -> Option<&Symbol> {
        match self.as_atom() {
            Some(Atom::Symbol(symbol)) => Some(symbol),
            Some(
                Atom::FloorDiv(..)
                | Atom::CeilDiv(..)
                | Atom::Mod(..)
                | Atom::Min(_)
                | Atom::Max(_)
                | Atom::Pow(..)
                | Atom::Call(..)
                | Atom::Sum(_),
            )
            | None => None,
        }
    }

    /// The atom, when this is one with coefficient and exponent 1.
    #[must_use]
    pub fn as_atom(&self) -> Option<&Atom> {
        match self.0.terms.as_slice() {
            [term] if term.coefficient.is_one() && self.0.denominator.is_one() => match term.factors() {
                [(atom, 1)] => Some(atom),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether this is a constant, integral or not.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.0.terms.iter().all(Term::is_constant)
    }

    /// Whether this is the constant 0.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.terms.is_empty()
    }

    /// Whether this is the constant 1.
    #[must_use]
    pub fn is_one(&self) -> bool {
        self.0.denominator.is_one()
            && matches!(self.0.terms.as_slice(), [term] if term.is_constant() && term.coefficient.is_one())
    }

    /// Whether this is `other + 1`, without making the difference.
    pub(crate) fn is_next_to(&self, other: &Expr) -> bool {
        if !self.0.denominator.is_one() || !other.0.denominator.is_one() {
            return (self - other).is_one();
        }
        let (own, constant) = split_constant(&self.0.terms);
        let (others, other_constant) = split_constant(&other.0.terms);
        own == others
            && match (constant, other_constant) {
                (None, None) => false,
                (Some(constant), None) => constant.is_one(),
                (None, Some(other)) => (-other).is_one(),
                (Some(constant), Some(other)) => (constant - other).is_one(),
            }
    }

    /// Whether this is the symbol, once, plus an integer of which all symbols are fixed.
    pub fn is_shifted(&self, symbol: &Symbol, is_fixed: &dyn Fn(&Symbol) -> bool) -> bool {
        let is_symbol = |term: &&Term| {
            term.coefficient.is_one() && matches!(term.factors(), [(Atom::Symbol(own), 1)] if own == symbol)
        };
        let (own, rest): (Vec<&Term>, Vec<&Term>) = self.0.terms.iter().partition(is_symbol);
        own.len() == 1
            && self.is_integer_polynomial()
            && rest
                .iter()
                .flat_map(|term| term.factors())
                .all(|(atom, _)| !atom.mentions(&mut |candidate| candidate == symbol || !is_fixed(candidate)))
    }

    /// Whether coefficients are integers and atoms are integral without assumptions.
    pub fn is_integer_polynomial(&self) -> bool {
        self.0.denominator.is_one() && self.0.terms.iter().all(|term| term.monomial.is_integral())
    }

    /// Whether the first term, the one of highest degree, has a negative coefficient.
    pub fn leads_negative(&self) -> bool {
        self.0.terms.first().is_some_and(|term| term.coefficient.is_negative())
    }

    /// The constant term.
    pub(super) fn constant_term(&self) -> Rational {
        match self.0.terms.last() {
            Some(term) if term.is_constant() => {
                Rational::new(term.coefficient.clone(), self.0.denominator.clone())
            }
            Some(_) | None => Rational::zero(),
        }
    }

    /// Every symbol that occurs, also within atoms.
    #[must_use]
    pub fn free_symbols(&self) -> BTreeSet<Symbol> {
        let mut symbols = BTreeSet::new();
        self.visit_symbols(&mut |symbol| {
            if !symbols.contains(symbol) {
                symbols.insert(symbol.clone());
            }
        });
        symbols
    }

    /// Gives every symbol that occurs, also within atoms, as often as it does.
    pub fn visit_symbols(&self, visit: &mut dyn FnMut(&Symbol)) {
        self.mentions(&mut |symbol| {
            visit(symbol);
            false
        });
    }

    /// Whether any symbol that satisfies `wanted` occurs.
    pub fn mentions(&self, wanted: &mut dyn FnMut(&Symbol) -> bool) -> bool {
        self.0.terms.iter().flat_map(Term::factors).any(|(atom, _)| atom.mentions(wanted))
    }

    /// Whether `symbol` occurs.
    #[must_use]
    pub fn depends_on(&self, symbol: &Symbol) -> bool {
        self.mentions(&mut |candidate| candidate == symbol)
    }

    /// Replaces symbols by expressions, all at once: `{i: j, j: i}` swaps.
    #[must_use]
    pub fn substitute(&self, replacements: &BTreeMap<Symbol, Expr>) -> Expr {
        self.map_symbols(&|symbol| replacements.get(symbol))
    }

    /// Replaces one symbol by an expression.
    #[must_use]
    pub fn with_symbol(&self, symbol: &Symbol, value: &Expr) -> Expr {
        self.map_symbols(&|candidate| (candidate == symbol).then_some(value))
    }

    fn map_symbols<'e>(&self, replacement: &dyn Fn(&Symbol) -> Option<&'e Expr>) -> Expr {
        self.map_atoms(&|atom| match atom {
            Atom::Symbol(symbol) => replacement(symbol).cloned(),
            Atom::FloorDiv(..)
            | Atom::CeilDiv(..)
            | Atom::Mod(..)
            | Atom::Min(_)
            | Atom::Max(_)
            | Atom::Pow(..)
            | Atom::Call(..)
            | Atom::Sum(_) => atom.mentions(&mut |symbol| replacement(symbol).is_some()).then(|| {
                let operands: Vec<Expr> =
                    atom.operands().map(|operand| operand.map_symbols(replacement)).collect();
                atom.with_operands(&operands)
            }),
        })
    }

    /// Replaces atoms of the polynomial itself, not those within other atoms; `None` keeps an atom.
    pub(super) fn map_atoms(&self, replacement: &dyn Fn(&Atom) -> Option<Expr>) -> Expr {
        let mut changed: Option<Expr> = None;
        // Places of terms that stay.
        let mut kept = Vec::new();
        for (at, term) in self.0.terms.iter().enumerate() {
            let Some(product) = map_factors(term.factors(), replacement) else {
                kept.push(at);
                continue;
            };
            let value = product.scale(&term.coefficient, &self.0.denominator);
            changed = Some(match changed {
                None => value,
                Some(sum) => sum + value,
            });
        }
        match changed {
            None => self.clone(),
            Some(changed) if kept.is_empty() => changed,
            Some(changed) => {
                let kept: Terms = kept.into_iter().map(|at| self.0.terms[at].clone()).collect();
                Expr::from_parts(kept, self.0.denominator.clone()) + changed
            }
        }
    }

    /// The integer polynomial over the common denominator, which has the same sign.
    pub fn numerator(&self) -> Expr {
        self.scale(&self.0.denominator, &Integer::one())
    }

    /// The atoms of the polynomial, in the order of its terms, with repetitions.
    pub(super) fn atoms(&self) -> impl Iterator<Item = &Atom> {
        self.0.terms.iter().flat_map(Term::factors).map(|(atom, _)| atom)
    }

    /// Replaces one atom of the polynomial, not where it occurs within other atoms.
    pub fn with_atom(&self, atom: &Atom, value: &Expr) -> Expr {
        self.map_atoms(&|candidate| (candidate == atom).then(|| value.clone()))
    }

    /// The coefficients of the powers of an atom, by ascending exponent; none is zero.
    pub(super) fn coefficients_of(&self, atom: &Atom) -> Vec<(u32, Expr)> {
        let mut powers: Vec<(u32, Terms)> = Vec::new();
        for term in &self.0.terms {
            let factors = term.factors();
            let (exponent, monomial) = match factors.iter().position(|(candidate, _)| candidate == atom) {
                None => (0, term.monomial.clone()),
                Some(at) => (factors[at].1, term.monomial.without(at)),
            };
            let term = Term { monomial, coefficient: term.coefficient.clone() };
            match powers.iter_mut().find(|(power, _)| *power == exponent) {
                Some((_, terms)) => terms.push(term),
                None => powers.push((exponent, smallvec![term])),
            }
        }
        powers.sort_by_key(|(exponent, _)| *exponent);
        let coefficient = |terms| Expr::from_parts(terms, self.0.denominator.clone());
        powers.into_iter().map(|(exponent, terms)| (exponent, coefficient(terms))).collect()
    }

    /// `self * numerator / denominator` for a denominator that is not zero.
    pub(super) fn scale(&self, numerator: &Integer, denominator: &Integer) -> Expr {
        if numerator == denominator {
            return self.clone();
        }
        if numerator.is_zero() {
            return Expr::zero();
        }
        let scaled = |term: &Term| Term {
            monomial: term.monomial.clone(),
            coefficient: &term.coefficient * numerator,
        };
        // The terms stay sorted and distinct, and none becomes zero.
        let terms = self.0.terms.iter().map(scaled).collect();
        Expr(Arc::new(Polynomial::reduced(terms, &self.0.denominator * denominator)))
    }
}

/// A product of powers with some atoms replaced; `None` if none is.
fn map_factors(factors: &[(Atom, u32)], replacement: &dyn Fn(&Atom) -> Option<Expr>) -> Option<Expr> {
    let mut product: Option<Expr> = None;
    // What stays is copied from the first replaced factor on.
    let mut stay: Vec<(Atom, u32)> = Vec::new();
    for (at, (atom, exponent)) in factors.iter().enumerate() {
        match (replacement(atom), &product) {
            (None, None) => {}
            (None, Some(_)) => stay.push((atom.clone(), *exponent)),
            (Some(value), None) => {
                stay.extend_from_slice(&factors[..at]);
                product = Some(value.power_of(*exponent));
            }
            (Some(value), Some(before)) => product = Some(before * value.power_of(*exponent)),
        }
    }
    match product {
        Some(product) if !stay.is_empty() => Some(product * Expr::from_monomial(Monomial::from_sorted(stay))),
        product => product,
    }
}

/// Terms without the constant one, which is the last, and its coefficient.
fn split_constant(terms: &[Term]) -> (&[Term], Option<&Integer>) {
    match terms.split_last() {
        Some((last, rest)) if last.is_constant() => (rest, Some(&last.coefficient)),
        Some(_) | None => (terms, None),
    }
}

impl Atom {
    pub(super) fn mentions(&self, wanted: &mut dyn FnMut(&Symbol) -> bool) -> bool {
        match self {
            Atom::Symbol(symbol) => wanted(symbol),
            Atom::FloorDiv(..)
            | Atom::CeilDiv(..)
            | Atom::Mod(..)
            | Atom::Min(_)
            | Atom::Max(_)
            | Atom::Pow(..)
            | Atom::Call(..)
            | Atom::Sum(_) => self.operands().any(|operand| operand.mentions(wanted)),
        }
    }
}

/// Orders by structure, which has nothing to do with values; it serves sorted containers and canonical order.
///
/// `a.min(b)` of two owned expressions resolves to this trait before it finds [`Expr::min`], so both mean the
/// minimum of the values, here too.
impl Ord for Expr {
    fn cmp(&self, other: &Expr) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) { Ordering::Equal } else { self.0.cmp(&other.0) }
    }

    fn min(self, other: Expr) -> Expr {
        Expr::min(&self, &other)
    }

    fn max(self, other: Expr) -> Expr {
        Expr::max(&self, &other)
    }
}

impl PartialOrd for Expr {
    fn partial_cmp(&self, other: &Expr) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<i64> for Expr {
    fn from(value: i64) -> Expr {
        Expr::int(value)
    }
}

impl From<Symbol> for Expr {
    fn from(symbol: Symbol) -> Expr {
        Expr::symbol(symbol)
    }
}
