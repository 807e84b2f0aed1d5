//! Converts expressions to Symbolica's atoms.

use numerica::domains::integer::Integer;
use numerica::domains::rational::Rational;
use sdfg::symbolic::{Atom as Factor, Expr, Integer as Exact, Term};
use symbolica::atom::{Atom, AtomCore, Symbol};
use thiserror::Error;

use crate::{CALLS, OPERATIONS, Operation, SYMBOLS};

/// Why an expression has no counterpart.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ToSymbolicaError {
    /// A name that means something else there: a trailing underscore makes a wildcard.
    #[error("`{name}` cannot be a symbol of Symbolica: a trailing underscore makes a wildcard")]
    Wildcard {
        /// The name.
        name: String,
    },
    /// A name or number that Symbolica does not accept.
    #[error("Symbolica does not accept `{text}`: {reason}")]
    Rejected {
        /// The name or number.
        text: String,
        /// What Symbolica says.
        reason: String,
    },
}

/// The expression as an atom of Symbolica, which normalises it by its own rules.
///
/// # Errors
/// [`ToSymbolicaError`] for names that Symbolica does not take.
pub fn to_symbolica(expression: &Expr) -> Result<Atom, ToSymbolicaError> {
    let view = expression.view();
    let terms = view.terms.iter().map(term).collect::<Result<Vec<Atom>, _>>()?;
    let sum = terms.into_iter().fold(Atom::zero(), |sum, term| sum + term);
    let scale = Rational::new(Integer::one(), integer(view.denominator)?);
    Ok(sum * Atom::num(scale))
}

fn term(term: &Term) -> Result<Atom, ToSymbolicaError> {
    let mut product = Atom::num(integer(term.coefficient())?);
    for (factor, exponent) in term.factors() {
        product *= self::factor(factor)?.pow(Atom::num(i64::from(*exponent)));
    }
    Ok(product)
}

fn factor(factor: &Factor) -> Result<Atom, ToSymbolicaError> {
    let operation = |operation: Operation| function(OPERATIONS, operation.name(), factor.operands());
    match factor {
        Factor::Symbol(name) => Ok(symbol(SYMBOLS, name.as_str())?.to_atom()),
        Factor::FloorDiv(..) => operation(Operation::FloorDiv),
        Factor::CeilDiv(..) => operation(Operation::CeilDiv),
        Factor::Mod(..) => operation(Operation::Mod),
        Factor::Min(_) => operation(Operation::Min),
        Factor::Max(_) => operation(Operation::Max),
        Factor::Pow(base, exponent) => Ok(to_symbolica(base)?.pow(to_symbolica(exponent)?)),
        Factor::Call(name, arguments) => function(CALLS, name, arguments.iter()),
        Factor::Sum(sum) => to_symbolica(sum),
    }
}

fn function<'e>(
    namespace: &'static str,
    name: &str,
    arguments: impl Iterator<Item = &'e Expr>,
) -> Result<Atom, ToSymbolicaError> {
    let arguments = arguments.map(to_symbolica).collect::<Result<Vec<Atom>, _>>()?;
    Ok(symbol(namespace, name)?.call_args(&arguments))
}

fn symbol(namespace: &'static str, name: &str) -> Result<Symbol, ToSymbolicaError> {
    if name.ends_with('_') {
        return Err(ToSymbolicaError::Wildcard { name: name.to_owned() });
    }
    Symbol::parse(name, namespace)
        .map_err(|reason| ToSymbolicaError::Rejected { text: name.to_owned(), reason })
}

fn integer(value: &Exact) -> Result<Integer, ToSymbolicaError> {
    let text = value.to_string();
    text.parse().map_err(|reason| ToSymbolicaError::Rejected { text, reason: format!("{reason:?}") })
}
