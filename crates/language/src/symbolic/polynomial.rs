//! The representation of [`Expr`]: atoms, monomials, and integer polynomials over a common denominator.
//!
//! It is separate from the operations, so that one place states and establishes the invariants of the
//! canonical form.

use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use num_integer::Integer as _;
use num_traits::{One, Signed, Zero};
use smallvec::SmallVec;

use super::limits::{Measure, is_too_large};
use super::{Expr, Integer, Symbol};

/// An indivisible factor of a polynomial.
///
/// Operands are canonical expressions. Matching on an atom is the way to lower an expression; making one is the
/// business of the constructors of [`Expr`], which simplify.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Atom {
    /// A symbol.
    Symbol(Symbol),
    /// `a // b`: the largest integer that is not above the quotient.
    FloorDiv(Expr, Expr),
    /// `ceil_div(a, b)`: the smallest integer that is not below the quotient.
    CeilDiv(Expr, Expr),
    /// `a % b = a - b * (a // b)`: the remainder with the sign of the divisor.
    Mod(Expr, Expr),
    /// The least of two or more operands, sorted and distinct.
    Min(Vec<Expr>),
    /// The greatest of two or more operands, sorted and distinct.
    Max(Vec<Expr>),
    /// `base ** exponent` with an exponent that is not a small constant.
    Pow(Expr, Expr),
    /// An opaque integer function of integers, known by its name only.
    Call(Arc<str>, Vec<Expr>),
    /// A sum of at least two terms kept as a factor, because multiplying it out would exceed
    /// [`TERM_LIMIT`](super::TERM_LIMIT). Its coefficients are integers without a common factor, the first one positive.
    Sum(Expr),
}

/// Powers of atoms, sorted by atom; exponents are at least 1, and that of [`Atom::Pow`] is 1.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Monomial(Arc<[(Atom, u32)]>);

/// One summand of a polynomial: an integer coefficient times powers of distinct atoms.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    pub(super) monomial: Monomial,
    pub(super) coefficient: Integer,
}

/// Summands. Most expressions are a symbol, a constant or their sum, which need no memory of their own.
pub(super) type Terms = SmallVec<[Term; 2]>;

/// `(terms) / denominator`.
///
/// Invariants: terms are sorted by monomial and distinct, coefficients are not zero, the denominator is positive
/// and has no factor in common with all coefficients; zero has no terms and denominator 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Polynomial {
    pub(super) terms: Terms,
    pub(super) denominator: Integer,
    /// Follows from the other two; [`Polynomial::measured`] finds it.
    pub(super) measure: Measure,
}

impl Atom {
    /// Whether the atom is an integer for all integer values of its symbols, without assumptions.
    pub(super) fn is_integral(&self) -> bool {
        match self {
            Atom::Call(..) => !is_too_large(self),
            Atom::Symbol(_) | Atom::FloorDiv(..) | Atom::CeilDiv(..) => true,
            Atom::Mod(a, b) => a.is_integer_polynomial() && b.is_integer_polynomial(),
            Atom::Min(operands) | Atom::Max(operands) => operands.iter().all(Expr::is_integer_polynomial),
            // A negative exponent gives a fraction.
            Atom::Pow(..) => false,
            Atom::Sum(sum) => sum.is_integer_polynomial(),
        }
    }

    /// The operands of the atom, in order; a symbol has none.
    pub fn operands(&self) -> impl Iterator<Item = &Expr> {
        let (pair, list): ([Option<&Expr>; 2], &[Expr]) = match self {
            Atom::Symbol(_) => ([None, None], &[]),
            Atom::FloorDiv(a, b) | Atom::CeilDiv(a, b) | Atom::Mod(a, b) | Atom::Pow(a, b) => {
                ([Some(a), Some(b)], &[])
            }
            Atom::Min(operands) | Atom::Max(operands) | Atom::Call(_, operands) => ([None, None], operands),
            Atom::Sum(sum) => ([Some(sum), None], &[]),
        };
        pair.into_iter().flatten().chain(list)
    }

    /// The canonical expression that applies the same operation to `operands`, which must be as many as
    /// [`Atom::operands`] gives.
    pub(super) fn with_operands(&self, operands: &[Expr]) -> Expr {
        match (self, operands) {
            (Atom::FloorDiv(..), [a, b]) => a.floor_div(b),
            (Atom::CeilDiv(..), [a, b]) => a.ceil_div(b),
            (Atom::Mod(..), [a, b]) => a.modulo(b),
            (Atom::Pow(..), [a, b]) => a.pow(b),
            (Atom::Min(_), operands) => Expr::min_of(operands.to_vec()),
            (Atom::Max(_), operands) => Expr::max_of(operands.to_vec()),
            (Atom::Call(name, _), operands) => Expr::call(name, operands.to_vec()),
            (Atom::Sum(_), [sum]) => sum.clone(),
            (
                Atom::Symbol(_)
                | Atom::FloorDiv(..)
                | Atom::CeilDiv(..)
                | Atom::Mod(..)
                | Atom::Pow(..)
                | Atom::Sum(_),
                _,
            ) => Expr::from_atom(self.clone()),
        }
    }
}

impl Monomial {
    /// The empty product.
    pub(super) fn one() -> Monomial {
        static ONE: LazyLock<Arc<[(Atom, u32)]>> = LazyLock::new(|| Arc::from([]));
        Monomial(Arc::clone(&ONE))
    }

    /// One atom to the first power.
    pub(super) fn of(atom: Atom) -> Monomial {
        Monomial(Arc::from([(atom, 1)]))
    }

    /// A product of powers that are sorted and distinct already.
    pub(super) fn from_sorted(factors: Vec<(Atom, u32)>) -> Monomial {
        Monomial(Arc::from(factors))
    }

    pub(super) fn factors(&self) -> &[(Atom, u32)] {
        &self.0
    }

    pub(super) fn is_one(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn is_integral(&self) -> bool {
        self.0.iter().all(|(atom, _)| atom.is_integral())
    }

    pub(super) fn has_symbolic_power(&self) -> bool {
        self.0.iter().any(|(atom, _)| matches!(atom, Atom::Pow(..)))
    }

    fn degree(&self) -> u64 {
        self.0.iter().map(|(_, exponent)| u64::from(*exponent)).sum()
    }

    /// The product, adding the exponents of equal atoms and nothing else; `None` when an exponent overflows or
    /// two [`Atom::Pow`] coincide.
    pub(super) fn times(&self, other: &Monomial) -> Option<Monomial> {
        if self.is_one() {
            return Some(other.clone());
        }
        if other.is_one() {
            return Some(self.clone());
        }
        let (mut left, mut right) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut product = Vec::with_capacity(self.0.len() + other.0.len());
        while let (Some((a, m)), Some((b, n))) = (left.peek().copied(), right.peek().copied()) {
            match a.cmp(b) {
                Ordering::Less => product.extend(left.next().cloned()),
                Ordering::Greater => product.extend(right.next().cloned()),
                Ordering::Equal => {
                    if matches!(a, Atom::Pow(..)) {
                        return None;
                    }
                    product.push((a.clone(), m.checked_add(*n)?));
                    left.next();
                    right.next();
                }
            }
        }
        product.extend(left.cloned());
        product.extend(right.cloned());
        Some(Monomial::from_sorted(product))
    }

    /// The quotient when `divisor` divides this product of atoms.
    pub(super) fn divided_by(&self, divisor: &Monomial) -> Option<Monomial> {
        if divisor.is_one() {
            return Some(self.clone());
        }
        let mut quotient = Vec::with_capacity(self.0.len());
        let mut remaining = divisor.0.iter().peekable();
        for (atom, exponent) in self.0.iter() {
            match remaining.peek() {
                Some((wanted, times)) if wanted == atom => {
                    match exponent.cmp(times) {
                        Ordering::Less => return None,
                        Ordering::Equal => {}
                        Ordering::Greater => quotient.push((atom.clone(), exponent - times)),
                    }
                    remaining.next();
                }
                Some(_) | None => quotient.push((atom.clone(), *exponent)),
            }
        }
        remaining.next().is_none().then(|| Monomial::from_sorted(quotient))
    }

    /// The product without the factor at a place.
    pub(super) fn without(&self, at: usize) -> Monomial {
        match &*self.0 {
            [_] => Monomial::one(),
            factors => Monomial([&factors[..at], &factors[at + 1..]].concat().into()),
        }
    }

    /// The greatest monomial that divides both.
    pub(super) fn gcd(&self, other: &Monomial) -> Monomial {
        let mut shared = Vec::new();
        for (atom, exponent) in self.0.iter() {
            if let Ok(at) = other.0.binary_search_by(|(candidate, _)| candidate.cmp(atom)) {
                shared.push((atom.clone(), (*exponent).min(other.0[at].1)));
            }
        }
        Monomial::from_sorted(shared)
    }
}

/// Graded lexicographic order, greatest monomial first: higher total degree, then higher powers of earlier atoms.
/// The constant term comes last.
impl Ord for Monomial {
    fn cmp(&self, other: &Monomial) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) {
            return Ordering::Equal;
        }
        other.degree().cmp(&self.degree()).then_with(|| {
            for ((a, m), (b, n)) in self.0.iter().zip(other.0.iter()) {
                let order = a.cmp(b).then_with(|| n.cmp(m));
                if order != Ordering::Equal {
                    return order;
                }
            }
            other.0.len().cmp(&self.0.len())
        })
    }
}

impl PartialOrd for Monomial {
    fn partial_cmp(&self, other: &Monomial) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Term {
    fn cmp(&self, other: &Term) -> Ordering {
        self.monomial.cmp(&other.monomial).then_with(|| self.coefficient.cmp(&other.coefficient))
    }
}

impl PartialOrd for Term {
    fn partial_cmp(&self, other: &Term) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Term {
    /// The integer coefficient, never zero.
    #[must_use]
    pub fn coefficient(&self) -> &Integer {
        &self.coefficient
    }

    /// Atoms with their exponents, sorted; empty for the constant term.
    #[must_use]
    pub fn factors(&self) -> &[(Atom, u32)] {
        self.monomial.factors()
    }

    pub(super) fn constant(value: Integer) -> Term {
        Term { monomial: Monomial::one(), coefficient: value }
    }

    pub(super) fn is_constant(&self) -> bool {
        self.monomial.is_one()
    }
}

impl Polynomial {
    pub(super) fn constant(numerator: Integer, denominator: Integer) -> Polynomial {
        let mut terms = Terms::new();
        if !numerator.is_zero() {
            terms.push(Term::constant(numerator));
        }
        Polynomial::reduced(terms, denominator)
    }

    /// Establishes every invariant for terms in any order, with repeated monomials and zero coefficients.
    pub(super) fn collect(mut terms: Terms, denominator: Integer) -> Polynomial {
        terms.sort_by(|a, b| a.monomial.cmp(&b.monomial));
        terms.dedup_by(|next, kept| {
            let same = next.monomial == kept.monomial;
            if same {
                kept.coefficient += &next.coefficient;
            }
            same
        });
        terms.retain(|term| !term.coefficient.is_zero());
        Polynomial::reduced(terms, denominator)
    }

    /// The polynomial of sorted, distinct terms: makes the denominator positive and coprime to the coefficients.
    pub(super) fn reduced(mut terms: Terms, mut denominator: Integer) -> Polynomial {
        if denominator.is_one() || terms.is_empty() {
            return Polynomial::measured(terms, Integer::one());
        }
        let mut shared = denominator.clone();
        for term in &terms {
            if shared.is_one() {
                break;
            }
            shared = shared.gcd(&term.coefficient);
        }
        if denominator.is_negative() {
            shared = -shared.abs();
        }
        if !shared.is_one() {
            denominator /= &shared;
            for term in &mut terms {
                term.coefficient /= &shared;
            }
        }
        Polynomial::measured(terms, denominator)
    }

    /// `self * own + other * others`, for factors that are not zero, by one merge of the sorted terms.
    pub(super) fn combine(&self, own: &Integer, other: &Polynomial, others: &Integer) -> Polynomial {
        let common = if self.denominator.is_one() && other.denominator.is_one() {
            Integer::one()
        } else {
            self.denominator.lcm(&other.denominator)
        };
        let (own, others) = if common.is_one() {
            (own.clone(), others.clone())
        } else {
            (own * (&common / &self.denominator), others * (&common / &other.denominator))
        };
        // Most sums have as many terms as the longer of the two, and at most two of them.
        let mut terms = Terms::with_capacity(self.terms.len().max(other.terms.len()));
        let (mut left, mut right) = (self.terms.as_slice(), other.terms.as_slice());
        let scaled = |term: &Term, by: &Integer| Term {
            monomial: term.monomial.clone(),
            coefficient: &term.coefficient * by,
        };
        while let ([a, after_a @ ..], [b, after_b @ ..]) = (left, right) {
            match a.monomial.cmp(&b.monomial) {
                Ordering::Less => {
                    terms.push(scaled(a, &own));
                    left = after_a;
                }
                Ordering::Greater => {
                    terms.push(scaled(b, &others));
                    right = after_b;
                }
                Ordering::Equal => {
                    let coefficient = &a.coefficient * &own + &b.coefficient * &others;
                    if !coefficient.is_zero() {
                        terms.push(Term { monomial: a.monomial.clone(), coefficient });
                    }
                    (left, right) = (after_a, after_b);
                }
            }
        }
        terms.extend(left.iter().map(|term| scaled(term, &own)));
        terms.extend(right.iter().map(|term| scaled(term, &others)));
        Polynomial::reduced(terms, common)
    }

    /// The greatest common divisor of the coefficients; 0 for the zero polynomial.
    pub(super) fn content(&self) -> Integer {
        let mut content = Integer::zero();
        for term in &self.terms {
            content = content.gcd(&term.coefficient);
            if content.is_one() {
                break;
            }
        }
        content
    }
}
