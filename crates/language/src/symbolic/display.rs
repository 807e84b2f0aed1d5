//! Prints expressions in the Python-like syntax of the expression grammar: `2*N + i - 1`, `N // 2`,
//! `ceil_div(N, 4)`, `(N**2 + N) / 2`.
//!
//! Constants from 2^64 on, which a program cannot hold as a number, are written in digits of that base:
//! `(64*2**64)`.

use std::fmt;

use num_traits::{One, Signed, ToPrimitive};

use super::{Atom, Expr, Integer, Term};

/// Precedence of the printed form, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    /// A sum, or anything with a sign in front.
    Sum,
    /// Joined by `*`, `/`, `//` or `%`, which associate to the left.
    Product,
    /// `base**exponent`.
    Power,
    /// A number, a name or a call.
    Atom,
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms = &self.0.terms;
        if self.0.denominator.is_one() {
            return fmt_sum(f, terms);
        }
        if let [term] = terms.as_slice() {
            fmt_term(f, term, term.coefficient.is_negative(), true)?;
        } else {
            f.write_str("(")?;
            fmt_sum(f, terms)?;
            f.write_str(")")?;
        }
        f.write_str(" / ")?;
        fmt_constant(f, &self.0.denominator)
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Terms in canonical order, except that a positive one comes first where there is any: `j - i`.
fn fmt_sum(f: &mut fmt::Formatter<'_>, terms: &[Term]) -> fmt::Result {
    let Some(first) =
        terms.iter().position(|term| term.coefficient.is_positive()).or(terms.len().checked_sub(1))
    else {
        return f.write_str("0");
    };
    let first = if terms[first].coefficient.is_positive() { first } else { 0 };
    let negative = terms[first].coefficient.is_negative();
    fmt_term(f, &terms[first], negative, false)?;
    for (index, term) in terms.iter().enumerate() {
        if index != first {
            f.write_str(if term.coefficient.is_negative() { " - " } else { " + " })?;
            fmt_term(f, term, false, false)?;
        }
    }
    Ok(())
}

/// A constant that is not negative, so that the grammar reads it back, whose numbers have 64 bits.
fn fmt_constant(f: &mut fmt::Formatter<'_>, value: &Integer) -> fmt::Result {
    /// The highest power of two that is surely computed when it is read.
    const HIGHEST: usize = 1024;
    if value.to_u64().is_some() {
        return write!(f, "{value}");
    }
    let digits = value.large().magnitude().to_u64_digits();
    let mut separator = "(";
    for (place, digit) in digits.iter().enumerate().rev().filter(|(_, digit)| **digit != 0) {
        f.write_str(separator)?;
        separator = " + ";
        write!(f, "{digit}")?;
        let mut bits = 64 * place;
        while bits > 0 {
            let part = bits.min(HIGHEST);
            write!(f, "*2**{part}")?;
            bits -= part;
        }
    }
    f.write_str(")")
}

/// One term without regard to its sign unless `signed`; `operand` says that a `/` follows.
fn fmt_term(f: &mut fmt::Formatter<'_>, term: &Term, signed: bool, operand: bool) -> fmt::Result {
    let coefficient = term.coefficient.abs();
    let factors = term.factors();
    if signed {
        f.write_str("-")?;
    }
    let bare = coefficient.is_one() && !factors.is_empty();
    if !bare {
        fmt_constant(f, &coefficient)?;
    }
    let alone = bare && factors.len() == 1 && !signed && !operand;
    for (index, (atom, exponent)) in factors.iter().enumerate() {
        if index > 0 || !bare {
            f.write_str("*")?;
        }
        let precedence = atom.precedence();
        let parenthesised = match exponent {
            1 if alone => precedence < Precedence::Product,
            1 => precedence < Precedence::Power,
            _ => precedence < Precedence::Atom,
        };
        if parenthesised {
            write!(f, "({atom})")?;
        } else {
            write!(f, "{atom}")?;
        }
        if *exponent > 1 {
            write!(f, "**{exponent}")?;
        }
    }
    Ok(())
}

impl Expr {
    fn precedence(&self) -> Precedence {
        match self.0.terms.as_slice() {
            [] => Precedence::Atom,
            [term] if term.coefficient.is_negative() => Precedence::Sum,
            _ if !self.0.denominator.is_one() => Precedence::Product,
            [term] => match term.factors() {
                [] => Precedence::Atom,
                [(atom, 1)] if term.coefficient.is_one() => atom.precedence(),
                [_] if term.coefficient.is_one() => Precedence::Power,
                _ => Precedence::Product,
            },
            _ => Precedence::Sum,
        }
    }

    /// Writes the expression as an operand that must hold together at least as tightly as `least`.
    fn fmt_operand(&self, f: &mut fmt::Formatter<'_>, least: Precedence) -> fmt::Result {
        if self.precedence() < least { write!(f, "({self})") } else { write!(f, "{self}") }
    }
}

impl Atom {
    fn precedence(&self) -> Precedence {
        match self {
            Atom::Symbol(_) | Atom::CeilDiv(..) | Atom::Min(_) | Atom::Max(_) | Atom::Call(..) => {
                Precedence::Atom
            }
            Atom::FloorDiv(..) | Atom::Mod(..) => Precedence::Product,
            Atom::Pow(..) => Precedence::Power,
            Atom::Sum(sum) => sum.precedence(),
        }
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Atom::Symbol(symbol) => write!(f, "{symbol}"),
            Atom::FloorDiv(a, b) => fmt_binary(f, a, " // ", b),
            Atom::Mod(a, b) => fmt_binary(f, a, " % ", b),
            Atom::CeilDiv(a, b) => write!(f, "ceil_div({a}, {b})"),
            Atom::Min(operands) => fmt_call(f, "min", operands),
            Atom::Max(operands) => fmt_call(f, "max", operands),
            Atom::Pow(base, exponent) => {
                base.fmt_operand(f, Precedence::Atom)?;
                f.write_str("**")?;
                exponent.fmt_operand(f, Precedence::Atom)
            }
            Atom::Call(name, arguments) => fmt_call(f, name, arguments),
            Atom::Sum(sum) => write!(f, "{sum}"),
        }
    }
}

fn fmt_binary(f: &mut fmt::Formatter<'_>, a: &Expr, operator: &str, b: &Expr) -> fmt::Result {
    a.fmt_operand(f, Precedence::Product)?;
    f.write_str(operator)?;
    b.fmt_operand(f, Precedence::Power)
}

fn fmt_call(f: &mut fmt::Formatter<'_>, name: &str, arguments: &[Expr]) -> fmt::Result {
    write!(f, "{name}(")?;
    for (index, argument) in arguments.iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{argument}")?;
    }
    f.write_str(")")
}
