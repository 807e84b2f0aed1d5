//! Indices of memlets as affine functions of the iteration.

use std::collections::BTreeMap;

use sdfg::subset::Range;
use sdfg::symbolic::{Expr, Symbol};

use super::operator::Index;

/// The largest index that is computed with.
pub(super) const LARGEST: i64 = 1 << 53;

/// Values of the symbols of the maps around an access.
#[derive(Clone, Debug, Default)]
pub(super) struct Parameters {
    /// A dimension of the domain, with begin, step and number of steps of its range.
    pub(super) domain: BTreeMap<Symbol, (usize, (i64, i64, u64))>,
    /// Begin, step and number of steps of what each iteration passes through.
    pub(super) within: BTreeMap<Symbol, (i64, i64, u64)>,
}

/// The positions of a range in each iteration.
pub(super) fn index(range: &Range, values: &BTreeMap<Symbol, Expr>, parameters: &Parameters) -> Index {
    affine(range, values, parameters).unwrap_or_else(|| {
        let is_parameter = |symbol: &Symbol| {
            parameters.domain.contains_key(symbol) || parameters.within.contains_key(symbol)
        };
        // What changes and is no parameter is the symbol of a loop.
        let moves = range.is_index() && !range.begin.free_symbols().iter().any(is_parameter);
        if moves { Index::Moving } else { Index::Whole }
    })
}

fn affine(range: &Range, values: &BTreeMap<Symbol, Expr>, parameters: &Parameters) -> Option<Index> {
    // Parameters hide symbols of the program.
    let hidden =
        |symbol: &Symbol| parameters.domain.contains_key(symbol) || parameters.within.contains_key(symbol);
    let values = values.iter().filter(|(symbol, _)| !hidden(symbol));
    let values = values.map(|(symbol, value)| (symbol.clone(), value.clone())).collect();
    let range = range.substitute(&values);
    let (step, count) = (range.step.as_int()?, range.count().as_int()?);
    if !range.tile.is_one() {
        return None;
    }
    let at = |one: Option<&Symbol>| {
        let value = |symbol: &Symbol| hidden(symbol).then(|| i64::from(one == Some(symbol)));
        range.begin.eval(&value).ok()
    };
    let mut start = at(None)?;
    let mut linear = Expr::int(start);
    let (mut of_domain, mut within) = (Vec::new(), Vec::new());
    let mut reach = start.checked_abs()?;
    let constant = start;
    for symbol in range.begin.free_symbols() {
        let coefficient = at(Some(&symbol))?.checked_sub(constant)?;
        linear = linear + Expr::symbol(symbol.clone()) * coefficient;
        let dimension = parameters.domain.get(&symbol);
        let passed = dimension.map(|(_, numbers)| numbers).or_else(|| parameters.within.get(&symbol));
        let (begin, step, n) = *passed?;
        let shift = coefficient.checked_mul(begin)?;
        let stride = coefficient.checked_mul(step)?;
        start = start.checked_add(shift)?;
        reach = reach.checked_add(shift.checked_abs()?)?.checked_add(distance(stride, n)?)?;
        match dimension {
            _ if stride == 0 => {}
            Some((dimension, _)) => of_domain.push((*dimension, stride)),
            None => within.push((stride, n)),
        }
    }
    // A polynomial that is equal to its linear part is affine; the canonical form decides.
    if !(range.begin.clone() - linear).is_zero() {
        return None;
    }
    if count != 1 {
        let n = u64::try_from(count).ok()?;
        within.push((step, n));
        reach = reach.checked_add(distance(step, n)?)?;
    }
    of_domain.sort_unstable();
    (reach <= LARGEST).then_some(Index::Affine { start, parameters: of_domain, within })
}

/// Maximum distance of so many steps.
pub(super) fn distance(stride: i64, n: u64) -> Option<i64> {
    stride.checked_abs()?.checked_mul(i64::try_from(n).ok()?)
}
