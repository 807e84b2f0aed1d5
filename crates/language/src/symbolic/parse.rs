//! Conversion between syntax trees and symbolic expressions.
//!
//! Only this module knows which part of the expression grammar is pure integer arithmetic: sums, products,
//! quotients, powers, `min`, `max` and calls. Data, floating-point numbers, comparisons and logic have no
//! symbolic form.

use std::str::FromStr;

use num_traits::{One, Signed, ToPrimitive};

use super::limits::POWER_BITS;
use super::{Assumptions, Atom, EvalError, Expr, SIZE_LIMIT, Symbol, Term};
use crate::syntax::{BinaryOp, Expression, ExpressionKind, ParseError, Span, UnaryOp, parse_expression};

/// A text that is no symbolic expression or subset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseExprError {
    /// It is no expression of the grammar.
    #[error("{}", .0.first().map_or_else(String::new, ToString::to_string))]
    Syntax(Vec<ParseError>),
    /// It is one without a symbolic form.
    #[error(transparent)]
    NotPure(#[from] NotPure),
}

/// An expression that has no symbolic form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct NotPure {
    /// The part that has none.
    pub span: Span,
    /// Why it has none.
    pub kind: NotPureKind,
}

/// Why an expression has no symbolic form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotPureKind {
    /// A floating-point or complex number.
    #[error("a symbolic expression holds integers only")]
    NotAnInteger,
    /// A truth value, a comparison or a logical operator.
    #[error("a symbolic expression holds no conditions")]
    Condition,
    /// An element of a container.
    #[error("a symbolic expression reads no data, and `{name}` is indexed")]
    ReadsData {
        /// The container.
        name: String,
    },
    /// A bitwise operator.
    #[error("a symbolic expression holds no bitwise operators")]
    Bitwise,
    /// A name that cannot be a symbol.
    #[error("`{name}` cannot be the name of a symbol")]
    InvalidName {
        /// The name.
        name: String,
    },
    /// `/` with a divisor that does not divide the dividend as a polynomial.
    #[error("the quotient is not exact; write `//` to round down or ceil_div(a, b) to round up")]
    InexactQuotient,
    /// A function with a wrong number of arguments.
    #[error("`{name}` takes {expected}")]
    WrongArgumentCount {
        /// The function.
        name: String,
        /// Its arguments.
        expected: &'static str,
    },
    /// A range without its end, where the size of the container is not known.
    #[error("the end of this range is missing")]
    MissingEnd,
    /// A power of constants that no 64 bits hold, nor any number that is computed with.
    #[error("this power of numbers is too large: it has more than {POWER_BITS} bits")]
    PowerTooLarge,
    /// More parts than [`SIZE_LIMIT`](super::SIZE_LIMIT) when products are multiplied out.
    #[error(
        "this expression is too large: more than {SIZE_LIMIT} parts; give parts of it names, as symbols that a transition assigns"
    )]
    TooLarge,
}

impl NotPure {
    fn at(span: Span, kind: NotPureKind) -> NotPure {
        NotPure { span, kind }
    }
}

impl FromStr for Expr {
    type Err = ParseExprError;

    fn from_str(text: &str) -> Result<Expr, ParseExprError> {
        let expression = parse_expression(text).map_err(ParseExprError::Syntax)?;
        Ok(Expr::from_expression(&expression)?)
    }
}

impl Expr {
    /// The symbolic form of a syntax tree, with the operators of Python: `//` and `%` round down.
    ///
    /// `/` must be exact: by a constant (the expression as a whole is then asked for as an integer), or by a divisor
    /// that divides as a polynomial. `floor`, `ceil`, `int_floor`, `int_ceil`, `ceil_div`, `min`, `max`, `abs` and `Mod`
    /// are known, in the spellings of Python and SymPy; any other call is opaque.
    ///
    /// # Errors
    /// [`NotPure`] with the part that has no symbolic form.
    pub fn from_expression(expression: &Expression) -> Result<Expr, NotPure> {
        let value = Expr::from_syntax(expression)?;
        // Larger expressions end here, before anything is made of them.
        if value.is_too_large() {
            return Err(NotPure::at(expression.span, NotPureKind::TooLarge));
        }
        Ok(value)
    }

    fn from_syntax(expression: &Expression) -> Result<Expr, NotPure> {
        let refuse = |kind| Err(NotPure::at(expression.span, kind));
        match &expression.kind {
            ExpressionKind::Integer(value) => Ok(Expr::big((*value).into())),
            ExpressionKind::Float(_) | ExpressionKind::Imaginary(_) => refuse(NotPureKind::NotAnInteger),
            ExpressionKind::Bool(_)
            | ExpressionKind::Compare { .. }
            | ExpressionKind::Conditional { .. }
            | ExpressionKind::Unary { op: UnaryOp::Not, .. } => refuse(NotPureKind::Condition),
            ExpressionKind::Unary { op: UnaryOp::Invert, .. } => refuse(NotPureKind::Bitwise),
            ExpressionKind::Unary { op: UnaryOp::Negate, operand } => Ok(-Expr::from_expression(operand)?),
            ExpressionKind::Unary { op: UnaryOp::Plus, operand } => Expr::from_expression(operand),
            ExpressionKind::Name(name) => match Symbol::new(name) {
                Ok(symbol) => Ok(Expr::symbol(symbol)),
                Err(_) => refuse(NotPureKind::InvalidName { name: name.clone() }),
            },
            ExpressionKind::Subscript { base, .. } => {
                refuse(NotPureKind::ReadsData { name: base.text.clone() })
            }
            ExpressionKind::Binary { op, left, right } => binary(expression.span, *op, left, right),
            ExpressionKind::Call { function, arguments } => {
                let arguments = arguments.iter().map(Expr::from_expression).collect::<Result<Vec<_>, _>>()?;
                call(&function.text, arguments).map_err(|kind| NotPure::at(expression.span, kind))
            }
        }
    }

    /// The expression as a syntax tree, in code of Python's dialect; `None` if a constant does not fit in 64 bits, or if an
    /// operand, as of a minimum, may be a fraction, which integer code has no value for.
    ///
    /// The tree has the same value wherever the expression is an integer and no step of it overflows.
    #[must_use]
    pub fn to_expression(&self) -> Option<Expression> {
        let view = self.view();
        let mut sum: Option<Expression> = None;
        for term in view.terms {
            let negative = term.coefficient().is_negative();
            let product = term_to_expression(term)?;
            sum = Some(match (sum, negative) {
                (None, false) => product,
                (None, true) => Expression::unary(UnaryOp::Negate, product),
                (Some(sum), false) => Expression::binary(BinaryOp::Add, sum, product),
                (Some(sum), true) => Expression::binary(BinaryOp::Subtract, sum, product),
            });
        }
        let sum = sum.unwrap_or_else(|| Expression::integer(0));
        let denominator = view.denominator.to_i64()?;
        // The quotient of an integral expression is exact, so that rounding down does not change it.
        Some(match denominator {
            1 => sum,
            _ => Expression::binary(BinaryOp::FloorDivide, sum, Expression::integer(denominator)),
        })
    }
}

fn binary(span: Span, op: BinaryOp, left: &Expression, right: &Expression) -> Result<Expr, NotPure> {
    match op {
        BinaryOp::And | BinaryOp::Or => return Err(NotPure::at(span, NotPureKind::Condition)),
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
            return Err(NotPure::at(span, NotPureKind::Bitwise));
        }
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::FloorDivide
        | BinaryOp::Modulo
        | BinaryOp::Power
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight => {}
    }
    let (a, b) = (Expr::from_expression(left)?, Expr::from_expression(right)?);
    Ok(match op {
        BinaryOp::Add => a + b,
        BinaryOp::Subtract => a - b,
        BinaryOp::Multiply => a * b,
        BinaryOp::Divide => match a.exact_div(&b) {
            Some(quotient) => quotient,
            None => return Err(NotPure::at(span, NotPureKind::InexactQuotient)),
        },
        BinaryOp::FloorDivide => a.floor_div(&b),
        BinaryOp::Modulo => a.modulo(&b),
        BinaryOp::Power => power(span, &a, &b)?,
        BinaryOp::ShiftLeft => a * power(span, &Expr::int(2), &b)?,
        BinaryOp::ShiftRight => a.floor_div(&power(span, &Expr::int(2), &b)?),
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor | BinaryOp::And | BinaryOp::Or => {
            return Err(NotPure::at(span, NotPureKind::Bitwise));
        }
    })
}

/// `base ** exponent`, unless both are numbers whose power is beyond all that is computed with.
fn power(span: Span, base: &Expr, exponent: &Expr) -> Result<Expr, NotPure> {
    let power = base.pow(exponent);
    if power.never_evaluates() == Some(EvalError::Overflow) && !power.is_constant() {
        return Err(NotPure::at(span, NotPureKind::PowerTooLarge));
    }
    Ok(power)
}

fn call(name: &str, arguments: Vec<Expr>) -> Result<Expr, NotPureKind> {
    let wrong = |expected| Err(NotPureKind::WrongArgumentCount { name: name.to_owned(), expected });
    let short = name.rsplit('.').next().unwrap_or(name);
    match (short, arguments.as_slice()) {
        ("min" | "Min" | "max" | "Max", []) => wrong("at least one argument"),
        ("min" | "Min", _) => Ok(Expr::min_of(arguments)),
        ("max" | "Max", _) => Ok(Expr::max_of(arguments)),
        ("floor", [a]) => Ok(a.floor_div(&Expr::one())),
        ("ceil" | "ceiling", [a]) => Ok(a.ceil_div(&Expr::one())),
        ("abs" | "Abs", [a]) => Ok(Expr::max(a, &-a)),
        ("floor" | "ceil" | "ceiling" | "abs" | "Abs", _) => wrong("one argument"),
        ("int_floor" | "floor_div", [a, b]) => Ok(a.floor_div(b)),
        ("int_ceil" | "ceil_div", [a, b]) => Ok(a.ceil_div(b)),
        ("Mod" | "mod", [a, b]) => Ok(a.modulo(b)),
        ("int_floor" | "floor_div" | "int_ceil" | "ceil_div" | "Mod" | "mod", _) => wrong("two arguments"),
        _ => Ok(Expr::call(name, arguments)),
    }
}

/// A term without its sign.
fn term_to_expression(term: &Term) -> Option<Expression> {
    let coefficient = term.coefficient().abs().to_i64()?;
    let mut product =
        (coefficient != 1 || term.factors().is_empty()).then(|| Expression::integer(coefficient));
    for (atom, exponent) in term.factors() {
        let mut factor = atom_to_expression(atom)?;
        if *exponent > 1 {
            factor = Expression::binary(BinaryOp::Power, factor, Expression::integer(i64::from(*exponent)));
        }
        product = Some(match product {
            None => factor,
            Some(product) => Expression::binary(BinaryOp::Multiply, product, factor),
        });
    }
    product
}

fn atom_to_expression(atom: &Atom) -> Option<Expression> {
    let convert = |operand: &Expr| {
        let integral = operand.is_integral(&Assumptions::new()).is_proved()
            // Powers count as fractions, since their exponents may be negative; code fails there, too.
            || operand.view().denominator.is_one();
        if integral { operand.to_expression() } else { None }
    };
    let operands = atom.operands().map(convert).collect::<Option<Vec<_>>>()?;
    let binary = |op| match operands.as_slice() {
        [a, b] => Some(Expression::binary(op, a.clone(), b.clone())),
        _ => None,
    };
    match atom {
        Atom::Symbol(symbol) => Some(Expression::name(symbol.as_str())),
        Atom::FloorDiv(..) => binary(BinaryOp::FloorDivide),
        Atom::Mod(..) => binary(BinaryOp::Modulo),
        Atom::Pow(..) => binary(BinaryOp::Power),
        Atom::CeilDiv(..) => Some(Expression::call("ceil_div", operands)),
        Atom::Min(_) => Some(Expression::call("min", operands)),
        Atom::Max(_) => Some(Expression::call("max", operands)),
        Atom::Call(name, _) => Some(Expression::call(name, operands)),
        Atom::Sum(_) => operands.into_iter().next(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::syntax::arbitrary;

    fn parse(text: &str) -> Expr {
        text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    #[test]
    fn texts_have_their_meaning() {
        let (n, i) = (Expr::sym("N"), Expr::sym("i"));
        assert_eq!(parse("2*N - i + 1"), &n * 2 - &i + 1);
        assert_eq!(parse("N*(N - 1)/2"), (&n * (&n - 1)).exact_div(&Expr::int(2)).unwrap());
        assert_eq!(parse("floor((N + 1)/2)"), parse("(N + 1) // 2"));
        assert_eq!(parse("ceiling(N/4)"), n.ceil_div(&Expr::int(4)));
        assert_eq!(parse("Min(N, i, 3)"), Expr::min(&Expr::min(&n, &i), &Expr::int(3)));
        assert_eq!(parse("R**(K - i - 1) * R"), parse("R**(K - i)"));
        assert_eq!(parse("N << 3"), &n * 8);
        assert_eq!(parse("rows(i) + 1"), Expr::call("rows", vec![i]) + 1);
    }

    #[test]
    fn what_is_not_pure_says_why() {
        for (text, message) in [
            ("N + 1.5", "a symbolic expression holds integers only"),
            ("N * A[i]", "a symbolic expression reads no data, and `A` is indexed"),
            ("N if K > 0 else 1", "a symbolic expression holds no conditions"),
            ("N / K", "the quotient is not exact; write `//` to round down or ceil_div(a, b) to round up"),
            ("N / 0", "the quotient is not exact; write `//` to round down or ceil_div(a, b) to round up"),
            ("math.pi", "`math.pi` cannot be the name of a symbol"),
            ("abs(1, 2)", "`abs` takes one argument"),
            ("1 +", "expected an expression, found the end of the text"),
        ] {
            assert_eq!(text.parse::<Expr>().unwrap_err().to_string(), message, "{text}");
        }
    }

    #[test]
    fn fractions_within_operands_have_no_code() {
        assert_eq!(parse("max(0, a/2) * 2**a").to_expression(), None);
        assert!(parse("max(0, a*(a - 1)/2) * 2**a").to_expression().is_some());
    }

    proptest! {
        #[test]
        fn printed_and_converted_forms_agree(tree in arbitrary::integer_expression()) {
            let expr = match Expr::from_expression(&tree) {
                Ok(expr) => expr,
                // Shifts by random amounts are such powers.
                Err(error) => {
                    prop_assert!(matches!(error.kind, NotPureKind::PowerTooLarge), "{}", error);
                    return Ok(());
                }
            };
            let printed = expr.to_string();
            match printed.parse::<Expr>() {
                Ok(parsed) => prop_assert_eq!(&parsed, &expr),
                // Constants are unbounded in expressions, and of 64 bits in texts.
                Err(ParseExprError::Syntax(errors)) => {
                    prop_assert!(errors[0].to_string().contains("out of range"), "{}: {:?}", printed, errors);
                }
                Err(ParseExprError::NotPure(error)) => prop_assert!(false, "{}: {}", printed, error),
            }
            let Some(converted) = expr.to_expression() else { return Ok(()) };
            let back = Expr::from_expression(&converted).map_err(|e| TestCaseError::fail(e.to_string()))?;
            for point in [[2_i64, 3, 5, 7], [1, -1, 4, 0], [-3, 2, -2, 9]] {
                let value = |s: &Symbol| Some(point[s.as_str().bytes().map(usize::from).sum::<usize>() % 4]);
                if let Ok(expected) = expr.eval(&value) {
                    prop_assert_eq!(back.eval(&value), Ok(expected), "{} and {}", expr, converted);
                }
            }
        }
    }
}
