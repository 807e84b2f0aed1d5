//! Converts Symbolica's atoms to expressions.

use numerica::domains::rational::Rational;
use sdfg::symbolic::{Expr, InvalidSymbol, Symbol};
use symbolica::atom::{Atom, AtomView};
use symbolica::coefficient::Coefficient;
use thiserror::Error;

use crate::{CALLS, OPERATIONS, Operation, SYMBOLS};

/// Why an atom is no integer expression.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FromSymbolicaError {
    /// A number that is not rational: floating-point, complex, infinite, of a finite field.
    #[error("`{number}` is not a rational number")]
    NotRational {
        /// The number as Symbolica prints it.
        number: String,
    },
    /// A symbol or function that no expression brought in.
    #[error("`{name}` is not a symbol of an expression")]
    Foreign {
        /// The name with its namespace.
        name: String,
    },
    /// A name that is no identifier.
    #[error(transparent)]
    InvalidSymbol(#[from] InvalidSymbol),
    /// An operation with a wrong number of operands.
    #[error("`{name}` has {found} operands")]
    WrongOperandCount {
        /// The operation.
        name: &'static str,
        /// How many it has.
        found: usize,
    },
}

/// The atom as an expression in canonical form.
///
/// # Errors
/// [`FromSymbolicaError`] where the atom holds what an integer expression cannot.
pub fn from_symbolica(atom: &Atom) -> Result<Expr, FromSymbolicaError> {
    from_view(atom.as_view())
}

fn from_view(view: AtomView<'_>) -> Result<Expr, FromSymbolicaError> {
    match view {
        AtomView::Num(number) => {
            let coefficient = number.get_coeff_view().to_owned();
            constant(&coefficient)
                .ok_or_else(|| FromSymbolicaError::NotRational { number: view.to_plain_string() })
        }
        AtomView::Var(variable) => {
            let symbol = variable.get_symbol();
            if symbol.get_namespace() != SYMBOLS {
                return Err(FromSymbolicaError::Foreign { name: symbol.get_name().to_owned() });
            }
            Ok(Expr::symbol(Symbol::new(symbol.get_stripped_name())?))
        }
        AtomView::Fun(function) => {
            let symbol = function.get_symbol();
            let operands = function.iter().map(from_view).collect::<Result<Vec<Expr>, _>>()?;
            let name = symbol.get_stripped_name();
            let operation = Operation::ALL.into_iter().find(|operation| operation.name() == name);
            match (symbol.get_namespace(), operation) {
                (CALLS, _) => Ok(Expr::call(name, operands)),
                (OPERATIONS, Some(operation)) => apply(operation, operands),
                _ => Err(FromSymbolicaError::Foreign { name: symbol.get_name().to_owned() }),
            }
        }
        AtomView::Pow(power) => {
            let (base, exponent) = power.get_base_exp();
            Ok(from_view(base)?.pow(&from_view(exponent)?))
        }
        AtomView::Mul(product) => {
            product.iter().try_fold(Expr::one(), |product, factor| Ok(product * from_view(factor)?))
        }
        AtomView::Add(sum) => sum.iter().try_fold(Expr::zero(), |sum, summand| Ok(sum + from_view(summand)?)),
    }
}

fn apply(operation: Operation, operands: Vec<Expr>) -> Result<Expr, FromSymbolicaError> {
    let extremum = |choose: fn(&Expr, &Expr) -> Expr| operands.iter().cloned().reduce(|a, b| choose(&a, &b));
    let value = match (operation, operands.as_slice()) {
        (Operation::FloorDiv, [a, b]) => Some(a.floor_div(b)),
        (Operation::CeilDiv, [a, b]) => Some(a.ceil_div(b)),
        (Operation::Mod, [a, b]) => Some(a.modulo(b)),
        (Operation::Min, _) => extremum(Expr::min),
        (Operation::Max, _) => extremum(Expr::max),
        (Operation::FloorDiv | Operation::CeilDiv | Operation::Mod, _) => None,
    };
    value.ok_or(FromSymbolicaError::WrongOperandCount { name: operation.name(), found: operands.len() })
}

fn constant(coefficient: &Coefficient) -> Option<Expr> {
    match coefficient {
        Coefficient::Complex(number) if number.im.is_zero() => rational(&number.re),
        Coefficient::Complex(_)
        | Coefficient::Indeterminate
        | Coefficient::Infinity(_)
        | Coefficient::Float(_)
        | Coefficient::FiniteField(..)
        | Coefficient::RationalPolynomial(_) => None,
    }
}

fn rational(number: &Rational) -> Option<Expr> {
    // Decimal digits carry numbers of any size from one big-integer type to the other.
    let part = |text: String| text.parse::<sdfg::symbolic::Integer>().ok();
    let numerator = part(number.numerator_ref().to_string())?;
    let denominator = part(number.denominator_ref().to_string())?;
    Some(Expr::constant(&sdfg::symbolic::Rational::new(numerator, denominator)))
}
