//! Random expression trees with direct evaluation, as the reference for canonical expressions.

use std::collections::BTreeMap;

use num_traits::{One, ToPrimitive, Zero};
use proptest::prelude::*;

use crate::symbolic::limits::POWER_BITS;
use crate::symbolic::{Expr, Integer, Rational, Symbol};

pub(crate) const NAMES: [&str; 4] = ["N", "a", "b", "i"];

/// An expression as written.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Int(i64),
    Symbol(usize),
    Binary(Operator, Box<Tree>, Box<Tree>),
    /// Exact division by a constant that is not zero.
    Over(Box<Tree>, i64),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Operator {
    Add,
    Sub,
    Mul,
    FloorDiv,
    CeilDiv,
    Mod,
    Min,
    Max,
    Pow,
}

/// Values of [`NAMES`], in order.
pub(crate) type Point = [i64; 4];

impl Tree {
    pub(crate) fn to_expr(&self) -> Expr {
        match self {
            Tree::Int(value) => Expr::int(*value),
            Tree::Symbol(index) => Expr::sym(NAMES[*index]),
            Tree::Over(numerator, divisor) => numerator.to_expr().exact_div(&Expr::int(*divisor)).unwrap(),
            Tree::Binary(operator, a, b) => {
                let (a, b) = (a.to_expr(), b.to_expr());
                match operator {
                    Operator::Add => a + b,
                    Operator::Sub => a - b,
                    Operator::Mul => a * b,
                    Operator::FloorDiv => a.floor_div(&b),
                    Operator::CeilDiv => a.ceil_div(&b),
                    Operator::Mod => a.modulo(&b),
                    Operator::Min => Expr::min(&a, &b),
                    Operator::Max => Expr::max(&a, &b),
                    Operator::Pow => a.pow(&b),
                }
            }
        }
    }

    /// The exact value, or `None` where the tree has none, or one so large that powers of powers put together are refused.
    pub(crate) fn value(&self, point: &Point) -> Option<Rational> {
        Some(match self {
            Tree::Int(value) => Rational::from_integer(Integer::from(*value)),
            Tree::Symbol(index) => Rational::from_integer(Integer::from(point[*index])),
            Tree::Over(numerator, divisor) => numerator.value(point)? / Integer::from(*divisor),
            Tree::Binary(operator, a, b) => {
                let (a, b) = (a.value(point)?, b.value(point)?);
                match operator {
                    Operator::Add => a + b,
                    Operator::Sub => a - b,
                    Operator::Mul => a * b,
                    Operator::FloorDiv | Operator::CeilDiv | Operator::Mod if b.is_zero() => return None,
                    Operator::FloorDiv => (a / b).floor(),
                    Operator::CeilDiv => (a / b).ceil(),
                    Operator::Mod => &a - &b * (&a / &b).floor(),
                    Operator::Min => a.min(b),
                    Operator::Max => a.max(b),
                    Operator::Pow => {
                        let exponent = b.is_integer().then(|| b.to_i32()).flatten()?;
                        let bits =
                            a.numer().bits().max(a.denom().bits()) * u64::from(exponent.unsigned_abs());
                        if bits > POWER_BITS / 2 || exponent.unsigned_abs() > 60 {
                            return None;
                        }
                        if a.is_zero() && exponent.is_negative() {
                            return None;
                        }
                        if exponent == 0 { Rational::one() } else { a.pow(exponent) }
                    }
                }
            }
        })
    }
}

fn leaf() -> impl Strategy<Value = Tree> {
    prop_oneof![(-6_i64..=9).prop_map(Tree::Int), (0..NAMES.len()).prop_map(Tree::Symbol)]
}

fn operator() -> impl Strategy<Value = Operator> {
    prop_oneof![
        4 => Just(Operator::Add),
        3 => Just(Operator::Sub),
        4 => Just(Operator::Mul),
        2 => Just(Operator::FloorDiv),
        2 => Just(Operator::CeilDiv),
        2 => Just(Operator::Mod),
        1 => Just(Operator::Min),
        1 => Just(Operator::Max),
        1 => Just(Operator::Pow),
    ]
}

/// Trees of every operation.
pub(crate) fn tree() -> impl Strategy<Value = Tree> {
    leaf().prop_recursive(5, 24, 2, |inner| {
        prop_oneof![
            9 => (operator(), inner.clone(), inner.clone())
                .prop_map(|(operator, a, b)| Tree::Binary(operator, Box::new(a), Box::new(b))),
            1 => (inner, prop_oneof![-4_i64..=-1, 1_i64..=4])
                .prop_map(|(a, divisor)| Tree::Over(Box::new(a), divisor)),
        ]
    })
}

/// Trees of sums, differences and products.
pub(crate) fn polynomial() -> impl Strategy<Value = Tree> {
    let operator = prop_oneof![Just(Operator::Add), Just(Operator::Sub), Just(Operator::Mul)];
    leaf().prop_recursive(4, 12, 2, move |inner| {
        (operator.clone(), inner.clone(), inner)
            .prop_map(|(operator, a, b)| Tree::Binary(operator, Box::new(a), Box::new(b)))
    })
}

pub(crate) fn point() -> impl Strategy<Value = Point> {
    prop::array::uniform4(-7_i64..=12)
}

/// The environment of a point.
pub(crate) fn at(point: &Point) -> impl Fn(&Symbol) -> Option<i64> + '_ {
    |symbol| NAMES.iter().position(|name| *name == symbol.as_str()).map(|index| point[index])
}

/// Constants for every symbol of a point.
pub(crate) fn constants(point: &Point) -> BTreeMap<Symbol, Expr> {
    NAMES.iter().zip(point).map(|(name, value)| (Symbol::of(name), Expr::int(*value))).collect()
}
