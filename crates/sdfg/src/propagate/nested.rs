//! What a nested SDFG accesses of the memory that a connector brings.
//!
//! The memlet at a nested SDFG binds memory: it says where the inner container lies, and stays as it is. Segments further
//! out need only cover what the called program does with it.

use crate::analysis::accesses::{alias_targets, control_flow_reads};
use crate::analysis::loops::counted_loops_around;
use crate::analysis::symbols::assigned_symbols;
use crate::analysis::{ScopeTree, bound_dimensions};
use crate::ir::{Access, BlockId, BlockKind, ContainerId, NestedSdfg, Place, Sdfg, State};
use crate::subset::{Range, Subset};
use crate::symbolic::{Assumptions, Expr, Symbol};

/// A cover of what `nested` reads or writes through a connector that is bound to `binding`, in symbols of the caller.
/// `None` if only the binding itself is known to cover it.
pub(super) fn footprint(
    nested: &NestedSdfg,
    connector: &str,
    binding: &Access,
    writes: bool,
) -> Option<Access> {
    let Place::Elements(bound) = &binding.place else { return None };
    let inner = nested.sdfg.find_container(connector)?;
    let kept = bound_dimensions(bound, nested.sdfg.container(inner).shape().len())?;
    let hidden = !writes && control_flow_reads(&nested.sdfg).contains(&inner);
    if hidden || alias_targets(&nested.sdfg).values().any(|targets| targets.contains(&inner)) {
        return None;
    }
    let known = super::shape_symbols(&nested.sdfg);
    let mut covered: Option<Subset> = None;
    for (block, content) in nested.sdfg.blocks() {
        let BlockKind::State(state) = content.kind else { continue };
        for subset in state_accesses(nested.sdfg.state(state), inner, writes)? {
            let subset = over_loops(&nested.sdfg, block, &subset, &known)?;
            covered = Some(match covered {
                None => subset,
                Some(union) => union.bounding_union(&subset, &known).into_inner(),
            });
        }
    }
    let covered = covered?;
    let changes = assigned_symbols(&nested.sdfg);
    let given = |symbol: &Symbol| nested.inputs.iter().any(|input| input.name == symbol.as_str());
    if covered.free_symbols().iter().any(|symbol| changes.contains(symbol) || given(symbol)) {
        return None;
    }
    let covered = covered.substitute(&nested.symbol_mapping.iter().cloned().collect());
    let mut within: Vec<Range> = vec![Range::index(Expr::zero()); bound.rank()];
    for (range, dimension) in covered.0.into_iter().zip(kept) {
        within[dimension] = range;
    }
    Some(Access::elements(binding.container, bound.compose(&Subset(within)).into_inner()))
}

/// Subsets of a container that a state reads or writes at its access nodes; `None` if some access node is in a scope.
fn state_accesses(state: &State, container: ContainerId, writes: bool) -> Option<Vec<Subset>> {
    let tree = ScopeTree::of(state);
    let mut found = Vec::new();
    for node in state.accesses_of(container) {
        if tree.scope_of(node).is_some() {
            return None;
        }
        let edges = if writes { state.in_edges(node) } else { state.out_edges(node) };
        for edge in edges {
            let memlet = &state.edge(edge).memlet;
            let access = if writes { memlet.write_access() } else { memlet.read_access() };
            found.extend(access.filter(|a| a.container == container).map(|a| a.subset().clone()));
        }
    }
    Some(found)
}

/// All that a subset names in the loops around a block.
fn over_loops(sdfg: &Sdfg, block: BlockId, subset: &Subset, known: &Assumptions) -> Option<Subset> {
    let loops = counted_loops_around(sdfg, block);
    subset.image(&loops, known).map(|image| image.into_inner())
}
