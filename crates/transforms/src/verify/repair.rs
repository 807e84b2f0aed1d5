//! Repair of inputs after a trap about bounds: the trap tells the index and the extent, so the values that decide them follow.
//!
//! A program of Fortran has a symbol for each extent and for each lower bound (`A[i - lower]`). A recipe gives them all the same
//! value. A repair sets the extent that an index needs, or moves the lower bound, and leaves all other values as they are.

use std::collections::BTreeMap;

use sdfg::interpret::{Trap, TrapKind};
use sdfg::ir::Container;
use sdfg::symbolic::{Expr, Symbol};

use super::inputs::{Draft, LARGEST, OF_FORTRAN, Signature, holds_integers, is_scalar};
use super::origins::{Origins, Place};

/// Changes extents and lower bounds so that the access of a trap fits; nothing, and `false`, if none of them decides it. With
/// `by_offset`, lower bounds change rather than extents: the end of a loop may be the extent, and an index that grows with it stays
/// outside.
pub(super) fn repair(
    signature: &Signature<'_>,
    origins: &Origins,
    trap: &Trap,
    by_offset: bool,
    draft: &mut Draft,
) -> bool {
    let TrapKind::OutOfBounds { container, index, shape } = &trap.kind else { return false };
    let Some(place) = Place::of(signature.sdfg, trap, container) else { return false };
    let values = signature.symbols(draft);
    let before = draft.clone();
    let value = |name: &str| signature.number(&before, &values, name);
    let mut is_repaired = false;
    for (at, (index, extent)) in index.iter().zip(shape).enumerate() {
        if (0..*extent).contains(index) {
            continue;
        }
        let size = place.shape.get(at).and_then(Expr::as_symbol);
        let size = size.and_then(|symbol| origins.source(symbol.as_str(), &|name| signature.is_number(name)));
        let size = size.filter(|name| before.may_change(name));
        let beyond = if *index < 0 { *index } else { index - extent + 1 };
        let of_dimension =
            place.subsets.iter().filter_map(|subset| subset.0.get(at)).map(|range| &range.begin);
        let offset = of_dimension.filter_map(|index| offset(signature, origins, &before, index)).next();
        let offset = offset.and_then(|(name, sign)| Some((value(&name)? - sign * beyond, name)));
        let grows = index >= extent && *index < LARGEST && !(by_offset && offset.is_some());
        let composite = place.shape.get(at).filter(|extent| grows && extent.as_symbol().is_none());
        let composite = composite.and_then(|extent| shifts(signature, origins, &before, extent).next());
        let composite = composite.and_then(|(name, sign)| Some((value(&name)? + sign * beyond, name)));
        if let Some(name) = size.filter(|_| grows) {
            // Half as much again, so that a loop that comes further with each size does not need a run for each iteration.
            let before = value(&name).unwrap_or(*extent);
            let size = (index + 1).max(before + before / 2).min(LARGEST);
            let symbol = Symbol::new(&name).ok().filter(|symbol| values.contains_key(symbol));
            match symbol {
                Some(symbol) => drop(draft.grown.insert(symbol, size)),
                None => drop(draft.numbers.insert(name, size)),
            }
            is_repaired = true;
        } else if let Some((moved, name)) = composite.or(offset) {
            draft.numbers.insert(name, moved);
            is_repaired = true;
        }
    }
    is_repaired
}

/// The argument that shifts an index, a lower bound, and its sign there. Extents decide too much else.
fn offset(
    signature: &Signature<'_>,
    origins: &Origins,
    draft: &Draft,
    index: &Expr,
) -> Option<(String, i64)> {
    let is_size = |name: &str| signature.sizes.iter().any(|size| size.as_str() == name);
    shifts(signature, origins, draft, index).find(|(name, _)| !is_size(name))
}

/// The arguments that an expression contains once and that may change, each with its sign there.
fn shifts<'e>(
    signature: &'e Signature<'_>,
    origins: &'e Origins,
    draft: &'e Draft,
    expr: &'e Expr,
) -> impl Iterator<Item = (String, i64)> + 'e {
    expr.free_symbols().into_iter().filter_map(|symbol| {
        let next = Expr::symbol(symbol.clone()) + Expr::one();
        let sign = (expr.with_symbol(&symbol, &next) - expr.clone()).as_int()?;
        let name = origins.source(symbol.as_str(), &|name| signature.is_number(name))?;
        (sign.abs() == 1 && draft.may_change(&name)).then_some((name, sign))
    })
}

impl Signature<'_> {
    /// Whether a name is that of a symbol or an integer scalar whose value may be chosen.
    pub(super) fn is_number(&self, name: &str) -> bool {
        let is_symbol =
            |(symbol, _): (&Symbol, _)| symbol.as_str() == name && !self.fixed.contains_key(symbol);
        let is_number = |container: &Container| {
            container.name == name && is_scalar(container) && holds_integers(container)
        };
        self.sdfg.symbols().any(is_symbol) || self.sdfg.arguments().any(|(_, own)| is_number(own))
    }

    /// The value of a symbol or an integer scalar.
    pub(super) fn number(&self, draft: &Draft, values: &BTreeMap<Symbol, i64>, name: &str) -> Option<i64> {
        let of = |name: &str| Symbol::new(name).ok().and_then(|symbol| values.get(&symbol).copied());
        let own = || draft.numbers.get(name).copied().or(draft.recipe.scalars);
        let scalar = || own().unwrap_or(draft.recipe.smallest());
        of(name).or_else(|| of(&format!("{OF_FORTRAN}{name}"))).or_else(|| self.is_number(name).then(scalar))
    }

    /// Larger sizes for an access beyond the end of a container: the symbol that is its extent at least doubles, or every
    /// size, if the extent is made of other things. Nothing, if the access is before the begin.
    pub(super) fn grow(&self, kind: &TrapKind, draft: &mut Draft) -> bool {
        let TrapKind::OutOfBounds { container, index, shape } = kind else { return false };
        let is_beyond =
            |at: &usize| index.get(*at).zip(shape.get(*at)).is_some_and(|(index, extent)| index >= extent);
        let Some(at) = (0..index.len()).find(is_beyond) else { return false };
        let declared = self.sdfg.find_container(container).map(|id| self.sdfg.container(id));
        let extent = declared.and_then(|found| found.shape().get(at));
        let symbols = match extent.map(Expr::as_symbol) {
            Some(Some(symbol)) if self.sizes.contains(symbol) => vec![symbol.clone()],
            Some(_) if extent.is_some_and(|extent| extent.as_int().is_some()) => return false,
            Some(_) | None => self.sizes.iter().cloned().collect(),
        };
        let mut has_grown = false;
        let may_grow =
            |symbol: &Symbol| !self.fixed.contains_key(symbol) && draft.may_change(symbol.as_str());
        let symbols: Vec<Symbol> = symbols.into_iter().filter(may_grow).collect();
        for symbol in symbols {
            let before = draft.grown.get(&symbol).copied().unwrap_or(draft.recipe.smallest());
            let size = (index[at] + 1).min(4 * before).max(2 * before);
            has_grown |= size <= LARGEST;
            draft.grown.insert(symbol, size.min(LARGEST));
        }
        has_grown
    }
}

#[cfg(test)]
mod tests {
    use sdfg::interpret::{Interpreter, Options, RunError};

    use super::*;

    /// The values of all symbols after the repair of the trap of the first recipe; the program reads one element of `A`.
    fn repaired(symbols: &[&str], extent: &str, index: &str) -> BTreeMap<String, i64> {
        let declared: String = symbols.iter().map(|name| format!("  symbol {name}: i64\n")).collect();
        let text = format!(
            "sdfg p {{\n{declared}  array A: f64[{extent}]\n  array R: f64[1]\n  state s {{\n    access A\n    access R\n    \
             A -> R: A[{index}] -> R[0]\n  }}\n}}\n"
        );
        let program = sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}"));
        let program = sdfg::validate::validate(program).unwrap_or_else(|rejected| panic!("{rejected}"));
        let fixed = BTreeMap::new();
        let assumed = super::super::Assumed::none();
        let signature = Signature::of(program.sdfg(), &fixed, &assumed);
        let mut draft = Draft::new(signature.recipes()[0], BTreeMap::new());
        let mut arguments = signature.arguments(&draft).expect("arguments");
        let mut interpreter = Interpreter::new(&program).expect("the interpreter runs it");
        let Err(RunError::Trap(trap)) = interpreter.run(&mut arguments, &Options::default()) else {
            panic!("no trap in\n{text}");
        };
        let origins = Origins::of(program.sdfg());
        assert!(repair(&signature, &origins, &trap, false, &mut draft), "{text}");
        signature.symbols(&draft).into_iter().map(|(name, value)| (name.to_string(), value)).collect()
    }

    fn values(found: &[(&str, i64)]) -> BTreeMap<String, i64> {
        found.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    /// An extent grows by half, at least as far as the index: by one for each iteration of a loop takes too many runs.
    #[test]
    fn extents_grow_by_half_or_to_the_index() {
        assert_eq!(repaired(&["N"], "N", "8"), values(&[("N", 12)]));
        assert_eq!(repaired(&["N"], "N", "11"), values(&[("N", 12)]));
        assert_eq!(repaired(&["N"], "N", "20"), values(&[("N", 21)]));
        assert_eq!(repaired(&["N"], "N", "580"), values(&[("N", 581)]));
    }

    /// Of an extent that is computed from bounds, the first one changes, in the direction that makes the extent larger.
    #[test]
    fn bounds_move_until_the_extent_between_them_fits() {
        assert_eq!(repaired(&["high"], "high + 1", "20"), values(&[("high", 20)]));
        assert_eq!(repaired(&["low"], "9 - low", "20"), values(&[("low", -12)]));
        assert_eq!(repaired(&["high", "low"], "high - low + 1", "20"), values(&[("high", 28), ("low", 8)]));
    }
}
