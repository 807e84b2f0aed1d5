//! Limits on the size of expressions and on the effort of queries.
//!
//! The limits share one purpose: for any text, no operation on expressions takes more than about a second or
//! exhausts memory. A query that would cost more has no answer (`Unknown`, no bound, an over-approximation).
//! A value that would grow further becomes opaque. The sizes of real programs stay far below each limit.
//!
//! An opaque value is a call of [`TOO_LARGE`] with a digest of the original expression and its symbols. It
//! stands for that expression, of which only the symbols are known: equal ones are equal, and no other
//! comparison is decided. Texts with such values are refused with a message that names the limit.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use num_traits::One;
use smallvec::smallvec;

use super::polynomial::{Monomial, Polynomial, Terms};
use super::{Atom, Expr, Integer, Symbol, Term};

/// Parts of one expression: its terms, their factors, the parts of operands and each 64 bits of a coefficient.
pub const SIZE_LIMIT: u32 = 4096;

/// Maximum depth of operands. Walks over an expression are recursive.
pub(super) const DEPTH_LIMIT: u32 = 64;

/// Products of two sums are multiplied out while the number of products of terms stays at or below this.
///
/// Sizes and indices of real programs stay far below; the limit keeps `(a + b + ...)**40` from filling memory.
pub const TERM_LIMIT: usize = 256;

/// Products that would repeat more parts than this stay factored, long before [`SIZE_LIMIT`] forbids them: sums of several
/// are still to fit.
pub(super) const PRODUCT_SIZE: u32 = SIZE_LIMIT / 4;

/// The highest power of a sum that is multiplied out.
pub(super) const EXPANDED_EXPONENT: u32 = 32;

/// Powers of constants are computed while the result has at most about this many bits; a larger one stays an
/// atom, which overflows when evaluated.
pub(super) const POWER_BITS: u64 = 4096;

/// Coefficients of more bits are not kept. Products of powers of constants lie between this and [`POWER_BITS`].
const COEFFICIENT_BITS: u64 = 4 * POWER_BITS;

/// Steps of one polynomial division; beyond it the division is given up, which only costs a simplification.
pub(super) const DIVISION_STEPS: usize = 64;

/// The highest power of a symbol that is summed in closed form.
pub(super) const DEGREE_LIMIT: u32 = 16;

/// Operands of a minimum that are compared with each other; further ones only have to be distinct. Real programs have a
/// handful.
pub(super) const OPERAND_LIMIT: usize = 32;

/// Operands of a minimum that are compared, each with all others, by a proof.
pub(super) const PROVED_OPERAND_LIMIT: usize = 8;

/// Combinations of residues that are tried at most; `N * (N + 1) / 2` needs two.
pub(super) const RESIDUE_LIMIT: u64 = 4096;

/// Steps that one proof may take. The proofs that programs need take a few dozen.
pub(super) const PROOF_STEPS: u32 = 400;

/// Steps that may follow from each other. Proofs are recursive.
pub(super) const PROOF_DEPTH: u32 = 64;

/// Maximum number of facts that are used one after the other.
pub(super) const FACT_DEPTH: u32 = 3;

/// Parts of expressions that may be looked at for one answer, in all of its proofs.
pub(super) const EFFORT: u64 = 200_000;

/// The function whose calls stand for expressions that grew too large.
pub(super) const TOO_LARGE: &str = "expression_too_large";

/// The work that goes into one answer, in parts of expressions that are looked at.
pub(super) struct Effort(Cell<u64>);

impl Effort {
    /// No work yet.
    pub(super) fn new() -> Effort {
        Effort(Cell::new(0))
    }

    /// Asks for the work on so many parts; `false` if it is more than may still be done. From then on all work ends.
    pub(super) fn spend(&self, parts: u32) -> bool {
        self.0.set(self.spent().saturating_add(u64::from(parts)));
        !self.is_exhausted()
    }

    /// Whether more was asked for than may be done.
    pub(super) fn is_exhausted(&self) -> bool {
        self.spent() > EFFORT
    }

    /// The work that was asked for so far.
    pub(super) fn spent(&self) -> u64 {
        self.0.get()
    }
}

/// Size of an expression with respect to the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Measure {
    /// See [`SIZE_LIMIT`].
    pub(super) parts: u32,
    /// See [`DEPTH_LIMIT`].
    depth: u32,
    /// Whether a call of [`TOO_LARGE`] occurs.
    opaque: bool,
}

impl Measure {
    /// The measure of terms over a denominator; operands know theirs.
    fn of(terms: &[Term], denominator: &Integer) -> (Measure, u64) {
        let mut bits = denominator.bits();
        let mut measure = Measure { parts: 1, depth: 0, opaque: false };
        for term in terms {
            let own = term.coefficient.bits();
            bits = bits.max(own);
            let words = if own < 64 { 0 } else { u32::try_from(own / 64).unwrap_or(u32::MAX) };
            measure.add_parts(words.saturating_add(1));
            for (atom, _) in term.factors() {
                measure.add_parts(1);
                if matches!(atom, Atom::Symbol(_)) {
                    continue;
                }
                measure.opaque |= is_too_large(atom);
                for operand in atom.operands() {
                    let inner = operand.0.measure;
                    measure.add_parts(inner.parts);
                    measure.depth = measure.depth.max(inner.depth + 1);
                    measure.opaque |= inner.opaque;
                }
            }
        }
        (measure, bits)
    }

    fn add_parts(&mut self, parts: u32) {
        self.parts = self.parts.saturating_add(parts);
    }
}

/// Whether the atom is an opaque value in place of an expression that grew too large. It may be a fraction.
pub(super) fn is_too_large(atom: &Atom) -> bool {
    matches!(atom, Atom::Call(name, _) if &**name == TOO_LARGE)
}

impl Expr {
    /// The number of parts, which is at most [`SIZE_LIMIT`] (and one for each symbol of an opaque value).
    pub(super) fn parts(&self) -> u32 {
        self.0.measure.parts
    }

    /// Whether a part of it grew beyond [`SIZE_LIMIT`] and is an opaque value. Nothing can be computed with it.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        self.0.measure.opaque
    }
}

impl Polynomial {
    /// The polynomial of terms that satisfy the invariants, or one opaque value if it exceeds a limit.
    pub(super) fn measured(terms: Terms, denominator: Integer) -> Polynomial {
        let (measure, bits) = Measure::of(&terms, &denominator);
        let polynomial = Polynomial { terms, denominator, measure };
        let fits = measure.parts <= SIZE_LIMIT && measure.depth <= DEPTH_LIMIT && bits <= COEFFICIENT_BITS;
        if fits || polynomial.is_opaque_value() { polynomial } else { polynomial.opaque_value() }
    }

    /// Whether this is an opaque value of symbols and nothing more, which is as small as it can be.
    fn is_opaque_value(&self) -> bool {
        let [term] = self.terms.as_slice() else { return false };
        matches!(term.factors(), [(atom, 1)] if is_too_large(atom) && atom.operands().all(is_plain))
    }

    fn opaque_value(&self) -> Polynomial {
        let digests = [1_u8, 2].map(|salt| {
            let mut hasher = DefaultHasher::new();
            salt.hash(&mut hasher);
            (&self.terms, &self.denominator).hash(&mut hasher);
            constant(Integer::from(hasher.finish()))
        });
        let mut symbols: BTreeSet<Symbol> = BTreeSet::new();
        for operand in self.terms.iter().flat_map(Term::factors) {
            match &operand.0 {
                Atom::Symbol(symbol) => {
                    symbols.insert(symbol.clone());
                }
                atom => symbols.extend(atom.operands().flat_map(Expr::free_symbols)),
            }
        }
        let operands = digests.into_iter().chain(symbols.into_iter().map(Expr::symbol)).collect();
        let call = Monomial::of(Atom::Call(Arc::from(TOO_LARGE), operands));
        Polynomial::measured(smallvec![Term { monomial: call, coefficient: Integer::one() }], Integer::one())
    }
}

fn constant(value: Integer) -> Expr {
    Expr(Arc::new(Polynomial::constant(value, Integer::one())))
}

/// Whether this is a symbol or constant.
fn is_plain(operand: &Expr) -> bool {
    operand.as_symbol().is_some() || operand.is_constant()
}
