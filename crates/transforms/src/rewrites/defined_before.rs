//! Containers of which every element has a value when a state begins.

use sdfg::analysis::{DominatorTree, RegionGraph, ScopeTree, symbol_facts_at};
use sdfg::edit::{Cover, Editor};
use sdfg::ir::{Access, BlockId, BlockKind, ContainerId, EdgeId, Flow, Lifetime, Memlet, Sdfg, StateId};
use sdfg::subset::Subset;

use super::partition::fixed_symbols;
use crate::loops::state_block;

/// Whether a state that runs before each execution of another one writes all of a container.
pub(super) fn is_defined_before(editor: &mut Editor<'_>, state: StateId, id: ContainerId) -> bool {
    let sdfg = editor.sdfg();
    let container = sdfg.container(id);
    let whole = Subset::full(container.shape());
    if container.lifetime == Lifetime::State || !whole.free_symbols().is_subset(&fixed_symbols(sdfg)) {
        return false;
    }
    let Some(block) = state_block(sdfg, state) else { return false };
    earlier_states(sdfg, block).into_iter().any(|earlier| writes_all(editor, earlier, id, &whole))
}

/// States that run before each execution of a block, in its region and in those around it.
fn earlier_states(sdfg: &Sdfg, block: BlockId) -> Vec<StateId> {
    let (mut found, mut at) = (Vec::new(), Some(block));
    while let Some(block) = at {
        let region = sdfg.block(block).region;
        let dominators = DominatorTree::dominators(&RegionGraph::of(sdfg, region));
        for other in &sdfg.region(region).blocks {
            if let BlockKind::State(state) = sdfg.block(*other).kind
                && *other != block
                && dominators.dominates(*other, block)
            {
                found.push(state);
            }
        }
        at = sdfg.region(region).parent;
    }
    found
}

/// Whether an edge of a state outside of scopes sets all elements.
fn writes_all(editor: &mut Editor<'_>, state: StateId, id: ContainerId, whole: &Subset) -> bool {
    let Ok(graph) = editor.state(state) else { return false };
    let tree = ScopeTree::of(graph);
    let sets = graph.edges().filter(|(edge, found)| {
        tree.scope_of_edge(graph, *edge).is_none()
            && found.memlet.resolution().is_none()
            && found.memlet.write_access().is_some_and(|to| to.container == id)
    });
    let known = symbol_facts_at(editor.sdfg(), state, None);
    let is_all = |access: &Access| access.subset().covers(whole, &known).is_proved();
    let (copies, writes): (Vec<_>, Vec<_>) =
        sets.partition(|(_, found)| matches!(found.memlet.flow, Flow::Copy { .. }));
    // What is copied is defined.
    let is_exact = |memlet: &Memlet, to: &Access| memlet.volume == to.volume();
    if copies.iter().any(|(_, found)| {
        found.memlet.write_access().is_some_and(|to| is_all(to) && is_exact(&found.memlet, to))
    }) {
        return true;
    }
    let writes: Vec<EdgeId> = writes.into_iter().map(|(edge, _)| edge).collect();
    writes
        .into_iter()
        .any(|edge| editor.copied_over(state, edge, Cover::Exact).is_ok_and(|access| is_all(&access)))
}
