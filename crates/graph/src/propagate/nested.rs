//! Accesses of a nested SDFG to the memory at its connectors.
//!
//! The memlet at a nested SDFG binds memory: it states the position of the inner container, and is unchanged.
//! Segments further out only need to cover the accesses of the callee.

use sdfg_language::subset::{Approx, Range, Subset};
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::workspace::remembered;

use crate::analysis::accesses::alias_targets;
use crate::analysis::footprint::Footprint;
use crate::analysis::symbols::assigned_symbols;
use crate::analysis::{Sizes, bound_dimensions};
use crate::ir::{Access, AccessedPart, ContainerId, NestedSdfg, Revision, Sdfg};

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
    let question = Covered { of: nested.sdfg.revision(), container: inner, writes };
    let covered = remembered(question, || covered(&nested.sdfg, inner, writes))?;
    let given = |symbol: &Symbol| nested.inputs.iter().any(|input| input.name == symbol.as_str());
    if covered.as_inner().free_symbols().iter().any(given) {
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

/// What an SDFG of this revision reads or writes of an argument.
#[derive(PartialEq, Eq, Hash)]
struct Covered {
    of: Revision,
    container: ContainerId,
    writes: bool,
}

/// Reads or writes of an argument, in symbols that do not change in the SDFG; `None` if they may be anywhere.
fn covered(sdfg: &Sdfg, argument: ContainerId, writes: bool) -> Option<Approx<Subset>> {
    if alias_targets(sdfg).values().any(|targets| targets.contains(&argument)) {
        return None;
    }
    let known = Sizes::of(sdfg).assumptions();
    let whole = Footprint::of_body(sdfg);
    let (reads, written) = whole.of_container(argument);
    let parts = if writes { written } else { reads };
    let rank = sdfg.container(argument).shape().len();
    let subsets: Vec<_> = parts.into_iter().map(|part| part.subset.clone()).collect();
    if subsets.iter().any(|subset| subset.as_inner().rank() != rank) {
        return None;
    }
    let covered = subsets.into_iter().reduce(|a, b| a.union(&b, &known))?;
    let changes = assigned_symbols(sdfg);
    let is_fixed = covered.as_inner().free_symbols().iter().all(|symbol| !changes.contains(symbol));
    is_fixed.then_some(covered)
}
