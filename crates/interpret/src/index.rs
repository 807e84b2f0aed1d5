//! Symbolic expressions and subsets with symbols resolved to slots, for repeated evaluation.

use num_traits::{One, ToPrimitive};
use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::{Atom, EvalError, Expr, Symbol};

use super::formula::Formula;

/// Finds the slot of a symbol in the scope that is being resolved.
pub(super) type Slots<'a> = dyn FnMut(&Symbol) -> u32 + 'a;

/// A resolved symbolic expression. The first forms are those that indices mostly have.
#[derive(Clone, Debug)]
pub(super) enum Index {
    Constant(i64),
    /// A symbol plus a constant.
    Offset(u32, i64),
    /// A constant and products of symbols with coefficients.
    Affine(i64, Box<[(u32, i64)]>),
    /// Everything else: quickly if it can be, otherwise exactly.
    General(Box<General>),
}

/// A resolved expression of any form.
#[derive(Clone, Debug)]
pub(super) struct General {
    quick: Option<Formula>,
    exact: Expr,
    slots: Box<[(Symbol, u32)]>,
}

impl Index {
    pub(super) fn new(expr: &Expr, slots: &mut Slots<'_>) -> Self {
        if let Some(value) = expr.as_int() {
            return Index::Constant(value);
        }
        if let Some((constant, terms)) = affine(expr, slots) {
            return match terms[..] {
                [(slot, 1)] => Index::Offset(slot, constant),
                _ => Index::Affine(constant, terms.into_boxed_slice()),
            };
        }
        let symbols = expr.free_symbols().into_iter().map(|symbol| (symbol.clone(), slots(&symbol)));
        let slots_of_all = symbols.collect();
        let quick = Formula::new(expr, slots);
        Index::General(Box::new(General { quick, exact: expr.clone(), slots: slots_of_all }))
    }

    /// The value.
    ///
    /// # Errors
    /// As [`Expr::eval`].
    #[inline]
    pub(super) fn eval(&self, symbols: &[Option<i64>]) -> Result<i64, EvalError> {
        match self {
            Index::Constant(value) => Ok(*value),
            Index::Offset(slot, constant) => {
                let symbol = symbols[*slot as usize].ok_or_else(|| unknown(*slot))?;
                symbol.checked_add(*constant).ok_or(EvalError::Overflow)
            }
            Index::Affine(..) | Index::General(_) => self.eval_further(symbols),
        }
    }

    /// The value in the forms that are less common.
    fn eval_further(&self, symbols: &[Option<i64>]) -> Result<i64, EvalError> {
        match self {
            Index::Constant(_) | Index::Offset(..) => self.eval(symbols),
            Index::Affine(constant, terms) => {
                let mut sum = i128::from(*constant);
                for (slot, coefficient) in terms {
                    let symbol = symbols[*slot as usize].ok_or_else(|| unknown(*slot))?;
                    // At most 2^64 terms of 126 bits each would be needed to overflow.
                    sum += i128::from(symbol) * i128::from(*coefficient);
                }
                i64::try_from(sum).map_err(|_| EvalError::Overflow)
            }
            Index::General(general) => {
                if let Some(value) = general.quick.as_ref().and_then(|quick| quick.eval(symbols)) {
                    return i64::try_from(value).map_err(|_| EvalError::Overflow);
                }
                general.exact.eval(&|symbol| {
                    let slot = general.slots.iter().find(|(name, _)| name == symbol);
                    slot.and_then(|(_, slot)| symbols[*slot as usize])
                })
            }
        }
    }
}

/// The slot stands for the symbol until the trap that is made of this error names it.
#[cold]
fn unknown(slot: u32) -> EvalError {
    Symbol::new(&format!("_slot{slot}")).map_or(EvalError::Overflow, EvalError::UnknownSymbol)
}

/// The slot that an error of [`Index::eval`] stands for.
pub(super) fn unknown_slot(error: &EvalError) -> Option<usize> {
    match error {
        EvalError::UnknownSymbol(symbol) => symbol.as_str().strip_prefix("_slot")?.parse().ok(),
        EvalError::Overflow
        | EvalError::DivisionByZero
        | EvalError::NotIntegral { .. }
        | EvalError::NegativeExponent
        | EvalError::UnknownFunction(_) => None,
    }
}

/// The constant and the coefficients of an expression that is affine with integer coefficients of 63 bits.
fn affine(expr: &Expr, slots: &mut Slots<'_>) -> Option<(i64, Vec<(u32, i64)>)> {
    let view = expr.view();
    if !view.denominator.is_one() {
        return None;
    }
    let (mut constant, mut terms) = (0, Vec::new());
    for term in view.terms {
        let coefficient = term.coefficient().to_i64()?;
        match term.factors() {
            [] => constant = coefficient,
            [(Atom::Symbol(symbol), 1)] => terms.push((slots(symbol), coefficient)),
            _ => return None,
        }
    }
    Some((constant, terms))
}

/// A resolved range.
#[derive(Clone, Debug)]
pub(super) struct RangeCode {
    pub(super) begin: Index,
    /// End, step and tile; `None` for a single index.
    pub(super) rest: Option<Box<(Index, Index, Index)>>,
}

/// A resolved subset.
#[derive(Clone, Debug)]
pub(super) struct SubsetCode {
    pub(super) ranges: Box<[RangeCode]>,
}

/// The values of a range: `count` starts from `begin` by `step`, and `tile` consecutive values at each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) begin: i64,
    pub(super) step: i64,
    pub(super) count: i64,
    pub(super) tile: i64,
    /// Whether the range was written as a single index.
    pub(super) is_index: bool,
}

impl Span {
    /// Number of values.
    pub(super) fn len(self) -> i64 {
        self.count.saturating_mul(self.tile)
    }

    /// The value at a position below [`Span::len`].
    pub(super) fn at(self, position: i64) -> i64 {
        // Values of a range lie between its ends, but a tile at the end of 64 bits may reach beyond.
        let tile = self.tile.max(1);
        self.begin.wrapping_add((position / tile).wrapping_mul(self.step)).wrapping_add(position % tile)
    }

    /// Whether `value` is one of the values.
    pub(super) fn contains(self, value: i64) -> bool {
        let (step, count) = (i128::from(self.step), i128::from(self.count));
        let distance = i128::from(value) - i128::from(self.begin);
        // The start that is closest below the value, of those that there are: its tile is the one that may hold it.
        let number = if step > 0 {
            distance.div_euclid(step).min(count - 1)
        } else {
            -(distance.div_euclid(-step)).min(0)
        };
        let beyond = distance - number * step;
        (0..count).contains(&number) && (0..i128::from(self.tile)).contains(&beyond)
    }
}

impl RangeCode {
    pub(super) fn new(range: &Range, slots: &mut Slots<'_>) -> Self {
        let begin = Index::new(&range.begin, slots);
        let rest = (!range.is_index()).then(|| {
            Box::new((
                Index::new(&range.end, slots),
                Index::new(&range.step, slots),
                Index::new(&range.tile, slots),
            ))
        });
        RangeCode { begin, rest }
    }

    /// The values of the range.
    ///
    /// # Errors
    /// As [`Expr::eval`]; a step of zero is a division by zero.
    pub(super) fn eval(&self, symbols: &[Option<i64>]) -> Result<Span, EvalError> {
        let begin = self.begin.eval(symbols)?;
        let Some(rest) = &self.rest else {
            return Ok(Span { begin, step: 1, count: 1, tile: 1, is_index: true });
        };
        let (end, step, tile) = (rest.0.eval(symbols)?, rest.1.eval(symbols)?, rest.2.eval(symbols)?);
        if step == 0 {
            return Err(EvalError::DivisionByZero);
        }
        let distance = (i128::from(end) - i128::from(begin)) * i128::from(step.signum());
        let size = i128::from(step.unsigned_abs());
        let count = if distance <= 0 { 0 } else { (distance + size - 1) / size };
        let count = i64::try_from(count).map_err(|_| EvalError::Overflow)?;
        Ok(Span { begin, step, count, tile: tile.max(0), is_index: false })
    }
}

impl SubsetCode {
    pub(super) fn new(subset: &Subset, slots: &mut Slots<'_>) -> Self {
        let ranges = subset.0.iter().map(|range| RangeCode::new(range, slots)).collect();
        SubsetCode { ranges }
    }

    /// The values of each range, into `spans`.
    ///
    /// # Errors
    /// As [`RangeCode::eval`].
    pub(super) fn eval(&self, symbols: &[Option<i64>], spans: &mut Vec<Span>) -> Result<(), EvalError> {
        spans.clear();
        for range in &self.ranges {
            spans.push(range.eval(symbols)?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_has_the_value_of_the_expression() {
        let (i, n) = (Expr::sym("i"), Expr::sym("n"));
        let forms = [
            Expr::int(3),
            &i + 2,
            &i * 2 - &n + 1,
            (&i * &n).floor_div(&Expr::int(3)),
            &n * (&n + 1) * Expr::rational(1, 2).unwrap(),
            (&i * 3).modulo(&(&n + 20)) + Expr::max(&i, &n) * Expr::min(&(&i - 2), &n),
            (&i - &n).ceil_div(&Expr::int(2)),
            n.floor_div(&i),
        ];
        for expr in forms {
            let mut slots = |symbol: &Symbol| u32::from(symbol.as_str() == "n");
            let index = Index::new(&expr, &mut slots);
            for (a, b) in [(0, 0), (5, -7), (-3, 11)] {
                let expected = expr.eval(&|symbol| Some(if symbol.as_str() == "i" { a } else { b }));
                assert_eq!(index.eval(&[Some(a), Some(b)]), expected, "{expr}");
            }
        }
        let overflow = Index::new(&(&i * 2), &mut |_| 0).eval(&[Some(i64::MAX)]);
        assert_eq!(overflow, Err(EvalError::Overflow));
        let error = Index::new(&(i + 1), &mut |_| 4).eval(&[None; 5]).unwrap_err();
        assert_eq!(unknown_slot(&error), Some(4));
    }

    #[test]
    fn spans_contain_their_values_and_no_others() {
        for (begin, step, count, tile) in (-2..3).flat_map(|begin| {
            [-3, -2, -1, 1, 2, 3].into_iter().flat_map(move |step| {
                (0..4).flat_map(move |count| (0..5).map(move |tile| (begin, step, count, tile)))
            })
        }) {
            let span = Span { begin, step, count, tile, is_index: false };
            let values: Vec<i64> = (0..span.len()).map(|position| span.at(position)).collect();
            for value in -20..20 {
                assert_eq!(span.contains(value), values.contains(&value), "{value} in {span:?}");
            }
        }
        // However long a tile is, the answer takes no longer.
        let long = Span { begin: i64::MIN, step: 1 << 62, count: 2, tile: i64::MAX, is_index: false };
        assert!(long.contains(0) && long.contains(i64::MIN) && !long.contains(i64::MAX));
    }

    #[test]
    fn spans_enumerate_ranges() {
        let range = |begin, end, step, tile| {
            let range = Range::new(begin, end).with_step(step).with_tile(tile);
            RangeCode::new(&range, &mut |_| 0).eval(&Vec::new()).unwrap()
        };
        let values = |span: Span| (0..span.len()).map(|k| span.at(k)).collect::<Vec<_>>();
        assert_eq!(values(range(9, -1, -3, 1)), [9, 6, 3, 0]);
        assert_eq!(values(range(0, 7, 4, 2)), [0, 1, 4, 5]);
        assert_eq!(values(range(3, 3, 1, 1)), [0; 0]);
        assert_eq!(values(range(3, 1, 2, 1)), [0; 0]);
        let span = range(0, 7, 4, 2);
        assert_eq!((-2..9).filter(|v| span.contains(*v)).collect::<Vec<_>>(), [0, 1, 4, 5]);
    }
}
