//! Accesses of a nested SDFG to the memory at its connectors.
//!
//! The memlet at a nested SDFG binds memory: it states the position of the inner container, and is unchanged.
//! Segments further out only need to cover the accesses of the callee.

use sdfg_language::subset::{Approx, Range, Subset};
use sdfg_language::symbolic::{Expr, Symbol};

use crate::analysis::accesses::alias_targets;
use crate::analysis::footprint::Footprint;
use crate::analysis::symbols::assigned_symbols;
use crate::analysis::{Sizes, bound_dimensions};
use crate::ir::{Access, AccessedPart, NestedSdfg};

/// Reads or writes of `nested` through a connector that is bound to `binding`, in symbols of the caller.
/// `None` if only the binding itself is known to cover them.
pub(super) fn footprint(
    nested: &NestedSdfg,
    connector: &str,
    binding: &Access,
    writes: bool,
) -> Option<Approx<Access>> {
    let AccessedPart::Elements(bound) = &binding.place else { return None };
    let inner = nested.sdfg.find_container(connector)?;
    let kept = bound_dimensions(bound, nested.sdfg.container(inner).shape().len())?;
    if alias_targets(&nested.sdfg).values().any(|targets| targets.contains(&inner)) {
        return None;
    }
    let known = Sizes::of(&nested.sdfg).assumptions();
    let whole = Footprint::of_region(&nested.sdfg, nested.sdfg.body());
    let (reads, written) = whole.of_container(inner);
    let parts = if writes { written } else { reads };
    let rank = nested.sdfg.container(inner).shape().len();
    let subsets: Vec<_> = parts.into_iter().map(|part| part.subset.clone()).collect();
    if subsets.iter().any(|subset| subset.as_inner().rank() != rank) {
        return None;
    }
    let subsets = subsets.into_iter();
    let covered = subsets.reduce(|a, b| a.union(&b, &known))?;
    let changes = assigned_symbols(&nested.sdfg);
    let given = |symbol: &Symbol| nested.inputs.iter().any(|input| input.name == symbol.as_str());
    let symbols = covered.as_inner().free_symbols();
    if symbols.iter().any(|symbol| changes.contains(symbol) || given(symbol)) {
        return None;
    }
    let mapping = nested.symbol_mapping.iter().cloned().collect();
    let mut within: Vec<Range> = vec![Range::index(Expr::zero()); bound.rank()];
    for (range, dimension) in covered.as_inner().substitute(&mapping).0.into_iter().zip(kept) {
        within[dimension] = range;
    }
    let composed = bound.compose(&Subset(within));
    let exact = covered.is_exact() && composed.is_exact();
    Some(Approx::new(Access::elements(binding.container, composed.into_inner()), exact))
}
