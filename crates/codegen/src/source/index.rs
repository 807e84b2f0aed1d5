//! Index expressions: [`Expr`] as arithmetic on `int64_t`.
//!
//! Expressions are polynomials over a common denominator. Fractions only occur inside; they are carried as an integer over a constant
//! denominator and divided once, exactly, at the end. Intermediate results do not overflow, as the semantics makes an index overflow a
//! trap; sizes of memory are computed by helpers that notice it.

use num_traits::ToPrimitive;
use sdfg::dtype::ScalarType;
use sdfg::symbolic::{Atom, Expr, Integer, Symbol, Term};
use sdfg::tasklet::BinaryOperation;

use super::error::{Print, SourceError, defect};
use super::program::Program;
use super::text::{Code, Precedence};

/// `code / denominator`, which need not be an integer.
struct Fraction {
    code: Code,
    denominator: i64,
}

/// The notation of arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arithmetic {
    /// By operators.
    Plain,
    /// By helpers that note in the variable `overflow` that a step does not fit 64 bits.
    Noting,
    /// By operators on `uint32_t`: modulo 2^32, so only the result has to fit.
    Narrow,
}

/// One expression that is being written.
struct Index<'a, 'p> {
    program: &'a Program<'p>,
    arithmetic: Arithmetic,
    /// Notes that a variable is used.
    used: &'a dyn Fn(&Symbol),
}

impl Program<'_> {
    /// The value of an integral expression; `used` is told of every variable in it.
    pub(super) fn index(&self, expression: &Expr, used: &dyn Fn(&Symbol)) -> Print<Code> {
        Index { program: self, arithmetic: Arithmetic::Plain, used }.whole(expression)
    }

    /// As [`Self::index`], noting an overflow in the variable `overflow`, an `int`.
    pub(super) fn index_noting(&self, expression: &Expr, used: &dyn Fn(&Symbol)) -> Print<Code> {
        Index { program: self, arithmetic: Arithmetic::Noting, used }.whole(expression)
    }

    /// The value of an expression that is at least 0 and below 2^32, in 32 bits.
    pub(super) fn narrow_index(&self, expression: &Expr, used: &dyn Fn(&Symbol)) -> Print<Code> {
        if expression.as_int().is_some() || !is_polynomial(expression) {
            return Ok(narrow(&self.index(expression, used)?));
        }
        Index { program: self, arithmetic: Arithmetic::Narrow, used }.whole(expression)
    }
}

/// An index modulo 2^32.
pub(super) fn narrow(code: &Code) -> Code {
    if code.as_literal().is_some() { narrow_literal(code) } else { Code::cast(NARROW, code) }
}

/// A literal as one of 32 bits: with more, all that it is combined with has 64. Other indices are left.
pub(super) fn narrow_literal(code: &Code) -> Code {
    match code.as_literal() {
        Some(value) if i32::try_from(value).is_err() => Code::atom(format!("{}u", value as u32)),
        Some(_) | None => code.clone(),
    }
}

/// The type of indices of 32 bits.
pub(super) const NARROW: &str = "uint32_t";

/// Whether an expression consists of sums and products with small integral coefficients, apart from its atoms.
fn is_polynomial(expression: &Expr) -> bool {
    let view = expression.view();
    view.denominator.to_i64() == Some(1)
        && view.terms.iter().all(|term| {
            let coefficient = term.coefficient().to_i64();
            coefficient.is_some_and(|value| value.unsigned_abs() <= u64::from(i32::MAX.unsigned_abs()))
                && term.factors().iter().all(|(atom, _)| match atom {
                    Atom::Sum(sum) => is_polynomial(sum),
                    _ => true,
                })
        })
}

impl Index<'_, '_> {
    fn whole(&self, expression: &Expr) -> Print<Code> {
        if let Some(value) = expression.as_int() {
            return Ok(Code::int(value));
        }
        let Fraction { code, denominator } = self.fraction(expression)?;
        if denominator == 1 {
            return Ok(code);
        }
        match self.arithmetic {
            Arithmetic::Plain | Arithmetic::Narrow => {
                Ok(Code::infix("/", Precedence::Product, &code, &Code::int(denominator)))
            }
            Arithmetic::Noting => self.noting("exact_div", &code, &Code::int(denominator)),
        }
    }

    fn fraction(&self, expression: &Expr) -> Print<Fraction> {
        let view = expression.view();
        let mut terms = view.terms.iter().map(|term| self.term(term)).collect::<Print<Vec<_>>>()?;
        let common = common_denominator(terms.iter().map(|(_, fraction)| fraction.denominator))?;
        // What is subtracted does not come first where something is added.
        if let Some(first) = terms.iter().position(|(is_negative, _)| !is_negative) {
            let added = terms.remove(first);
            terms.insert(0, added);
        }
        let mut sum: Option<Code> = None;
        for (is_negative, term) in &terms {
            let value = self.scaled(term, common)?;
            sum = Some(match (sum, is_negative) {
                (None, false) => value,
                (None, true) => self.negated(&value)?,
                (Some(sum), false) => self.add(&sum, &value)?,
                (Some(sum), true) => self.subtract(&sum, &value)?,
            });
        }
        let denominator = common.checked_mul(small(view.denominator, expression)?);
        let denominator = denominator.ok_or_else(|| too_large(expression))?;
        Ok(Fraction { code: sum.unwrap_or_else(|| Code::int(0)), denominator })
    }

    /// Whether a term is subtracted, and its absolute value.
    fn term(&self, term: &Term) -> Print<(bool, Fraction)> {
        let coefficient = term.coefficient().to_i64().filter(|value| *value != i64::MIN);
        let coefficient = coefficient.ok_or_else(|| SourceError::Unsupported {
            language: "C",
            what: format!("the coefficient {} in an index", term.coefficient()),
        })?;
        let (is_negative, magnitude) = (coefficient < 0, coefficient.abs());
        let mut product = (magnitude != 1 || term.factors().is_empty()).then(|| Code::int(magnitude));
        let mut denominator = 1_i64;
        for (atom, exponent) in term.factors() {
            let factor = self.atom(atom)?;
            for _ in 0..*exponent {
                product = Some(match product {
                    None => factor.code.clone(),
                    Some(product) => self.multiply(&product, &factor.code)?,
                });
                denominator = denominator.checked_mul(factor.denominator).ok_or_else(very_large)?;
            }
        }
        Ok((is_negative, Fraction { code: product.unwrap_or_else(|| Code::int(1)), denominator }))
    }

    fn atom(&self, atom: &Atom) -> Print<Fraction> {
        let whole = |code| Fraction { code, denominator: 1 };
        if self.arithmetic == Arithmetic::Narrow && !matches!(atom, Atom::Symbol(_) | Atom::Sum(_)) {
            // Its operands need not fit.
            let wide = Index { arithmetic: Arithmetic::Plain, ..*self };
            let Fraction { code, denominator } = wide.atom(atom)?;
            let divided = Code::infix("/", Precedence::Product, &code, &Code::int(denominator));
            return Ok(whole(Code::cast(NARROW, if denominator == 1 { &code } else { &divided })));
        }
        match atom {
            Atom::Symbol(symbol) => self.variable(symbol).map(whole),
            Atom::Sum(sum) => self.fraction(sum),
            Atom::FloorDiv(a, b) => {
                let (a, b, _) = self.aligned(a, b)?;
                self.by_helper(BinaryOperation::FloorDivide, "floor_div", &a, &b).map(whole)
            }
            Atom::CeilDiv(a, b) => {
                // ceil(a / b) = -floor(-a / b).
                let (a, b, _) = self.aligned(a, b)?;
                let quotient =
                    self.by_helper(BinaryOperation::FloorDivide, "floor_div", &self.negated(&a)?, &b)?;
                self.negated(&quotient).map(whole)
            }
            Atom::Mod(a, b) => {
                let (a, b, denominator) = self.aligned(a, b)?;
                let code = self.by_helper(BinaryOperation::FloorModulo, "floor_mod", &a, &b)?;
                Ok(Fraction { code, denominator })
            }
            Atom::Min(operands) => self.extremum(operands, BinaryOperation::Minimum),
            Atom::Max(operands) => self.extremum(operands, BinaryOperation::Maximum),
            Atom::Pow(base, exponent) => {
                let (base, exponent) = (self.whole(base)?, self.whole(exponent)?);
                self.by_helper(BinaryOperation::Power, "pow", &base, &exponent).map(whole)
            }
            Atom::Call(name, _) => Err(SourceError::Unsupported {
                language: "C",
                what: format!("the function `{name}` in an index or size"),
            }),
        }
    }

    /// A variable as 64 bits.
    fn variable(&self, symbol: &Symbol) -> Print<Code> {
        (self.used)(symbol);
        let name = self.program.names.variable(symbol);
        let name = name.ok_or_else(|| defect(format!("variable `{symbol}` has no type")))?;
        let code = Code::atom(name);
        Ok(match self.program.plan.variables.get(symbol) {
            Some(ty) if self.arithmetic == Arithmetic::Narrow && ty.is_integer() => Code::cast(NARROW, &code),
            Some(ScalarType::I64) => code,
            _ if self.arithmetic == Arithmetic::Narrow => Code::cast(NARROW, &Code::cast("int64_t", &code)),
            _ => Code::cast("int64_t", &code),
        })
    }

    /// Both operands over one denominator, which cancels in quotients.
    fn aligned(&self, a: &Expr, b: &Expr) -> Print<(Code, Code, i64)> {
        let (a, b) = (self.fraction(a)?, self.fraction(b)?);
        let common = common_denominator([a.denominator, b.denominator].into_iter())?;
        Ok((self.scaled(&a, common)?, self.scaled(&b, common)?, common))
    }

    fn extremum(&self, operands: &[Expr], op: BinaryOperation) -> Print<Fraction> {
        let operands = operands.iter().map(|operand| self.fraction(operand)).collect::<Print<Vec<_>>>()?;
        let common = common_denominator(operands.iter().map(|operand| operand.denominator))?;
        let helper = self.program.integer_helper(op, ScalarType::I64)?;
        let mut best: Option<Code> = None;
        for operand in &operands {
            let value = self.scaled(operand, common)?;
            best = Some(match best {
                None => value,
                Some(best) => Code::call(&helper, &[&best, &value]),
            });
        }
        Ok(Fraction { code: best.unwrap_or_else(|| Code::int(0)), denominator: common })
    }

    fn scaled(&self, fraction: &Fraction, denominator: i64) -> Print<Code> {
        match denominator / fraction.denominator {
            1 => Ok(fraction.code.clone()),
            factor => self.multiply(&Code::int(factor), &fraction.code),
        }
    }

    fn add(&self, a: &Code, b: &Code) -> Print<Code> {
        self.step("add", "+", Precedence::Sum, a, b)
    }

    fn subtract(&self, a: &Code, b: &Code) -> Print<Code> {
        self.step("sub", "-", Precedence::Sum, a, b)
    }

    fn multiply(&self, a: &Code, b: &Code) -> Print<Code> {
        self.step("mul", "*", Precedence::Product, a, b)
    }

    fn negated(&self, code: &Code) -> Print<Code> {
        match self.arithmetic {
            Arithmetic::Plain | Arithmetic::Narrow => Ok(Code::prefix("-", code)),
            Arithmetic::Noting => self.subtract(&Code::int(0), code),
        }
    }

    /// An operation that a helper computes.
    fn by_helper(&self, op: BinaryOperation, word: &str, a: &Code, b: &Code) -> Print<Code> {
        match self.arithmetic {
            Arithmetic::Plain | Arithmetic::Narrow => {
                Ok(Code::call(&self.program.integer_helper(op, ScalarType::I64)?, &[a, b]))
            }
            Arithmetic::Noting => self.noting(word, a, b),
        }
    }

    fn noting(&self, word: &str, a: &Code, b: &Code) -> Print<Code> {
        Ok(Code::call(&self.program.noting_helper(word)?, &[a, b, &Code::atom("&overflow")]))
    }

    fn step(&self, word: &str, op: &str, precedence: Precedence, a: &Code, b: &Code) -> Print<Code> {
        match self.arithmetic {
            Arithmetic::Plain | Arithmetic::Narrow => {
                if let Some(folded) = Code::folded(op, a, b) {
                    return Ok(folded);
                }
                // Sums and products of integers that do not overflow need no parentheses on the right.
                let is_same = b.precedence == precedence && op != "-" && !b.text.contains('/');
                if is_same {
                    let left = a.at_least(precedence);
                    return Ok(Code::new(format!("{left} {op} {}", b.text), precedence));
                }
                Ok(Code::infix(op, precedence, a, b))
            }
            Arithmetic::Noting => self.noting(word, a, b),
        }
    }
}

fn common_denominator(mut denominators: impl Iterator<Item = i64>) -> Print<i64> {
    denominators.try_fold(1_i64, |common, denominator| {
        (common / num_integer::gcd(common, denominator)).checked_mul(denominator).ok_or_else(very_large)
    })
}

fn very_large() -> SourceError {
    SourceError::Unsupported { language: "C", what: "an index with a very large denominator".to_owned() }
}

fn small(value: &Integer, expression: &Expr) -> Print<i64> {
    value.to_i64().ok_or_else(|| too_large(expression))
}

fn too_large(expression: &Expr) -> SourceError {
    let what = format!("the index `{expression}`, whose coefficients exceed 64 bits");
    SourceError::Unsupported { language: "C", what }
}
