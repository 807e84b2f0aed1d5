//! Transients whose size depends on control flow.
//!
//! DaCe allocates a transient of size `k` where the value of `k` is known, and again in each iteration of a
//! loop over `k`. In our graph, a transient that only one state uses, and no control flow, is allocated anew
//! in each execution of the state, or in each iteration of the scope that contains all uses. To reach this
//! form, consecutive states are merged into one. A transient that distant states use gets the largest size
//! that any iteration of the enclosing loops needs.

use std::collections::BTreeSet;

use sdfg::analysis::accesses::memory_of_control_flow;
use sdfg::analysis::loops::counted_loops_around;
use sdfg::analysis::owning_scopes;
use sdfg::analysis::symbols::assigned_symbols;
use sdfg::edit::Editor;
use sdfg::ir::draft::{DraftSdfg, DraftState};
use sdfg::ir::{BlockId, BlockKind, ContainerId, ContainerKind, Layout, Lifetime, NodeKind, Sdfg, StateId};
use sdfg::symbolic::{Assumptions, Expr, Symbol};

/// Settles the sizes of an SDFG and of those that it calls, which are at most as deep as a document.
pub(crate) fn resolve_sizes(sdfg: &mut Sdfg) {
    let states: Vec<StateId> = sdfg.states().map(|(id, _)| id).collect();
    for state in &states {
        let calls = sdfg.state(*state).nodes().filter(|(_, node)| matches!(node.kind, NodeKind::Nested(_)));
        let calls: Vec<_> = calls.map(|(id, _)| id).collect();
        for call in calls {
            if let NodeKind::Nested(nested) = &mut sdfg.state_mut(*state).node_mut(call).kind {
                resolve_sizes(&mut nested.sdfg);
            }
        }
    }
    let assigned: BTreeSet<Symbol> = assigned_symbols(sdfg).into_iter().collect();
    if assigned.is_empty() {
        return;
    }
    let found = sdfg.containers().filter(|(_, container)| {
        container.transient && !container.is_alias() && varies(container.shape(), &assigned)
    });
    let mut found: Vec<ContainerId> = found.map(|(id, _)| id).collect();
    if found.is_empty() {
        return;
    }
    let owning_scopes = owning_scopes(sdfg);
    found.retain(|id| !owning_scopes.contains_key(id));
    let read_between = memory_of_control_flow(sdfg);
    for id in found {
        let mut users = users_of(sdfg, id);
        let outlives = |users: &[BlockId]| users.len() > 1 || read_between.contains(&id);
        let upper = if outlives(&users) { largest(sdfg, id, &users) } else { None };
        // What other transitions assign has no bound.
        let upper = upper.filter(|layout| !varies(&layout.shape, &assigned));
        if upper.is_none() && users.len() > 1 && merge(sdfg, &users) {
            users = users_of(sdfg, id);
        }
        if users.len() == 1 && !outlives(&users) {
            sdfg.container_mut(id).lifetime = Lifetime::State;
        } else if let Some(layout) = upper {
            let container = sdfg.container_mut(id);
            container.kind = ContainerKind::Array(layout);
            container.lifetime = Lifetime::Sdfg;
        }
    }
}

/// Whether the extents of a shape use symbols that control flow assigns.
pub(super) fn varies(shape: &[Expr], assigned: &BTreeSet<Symbol>) -> bool {
    shape.iter().any(|extent| extent.free_symbols().iter().any(|symbol| assigned.contains(symbol)))
}

/// The states with access nodes of a container.
pub(super) fn users_of(sdfg: &Sdfg, container: ContainerId) -> Vec<BlockId> {
    let uses = |block: &BlockKind| match block {
        BlockKind::State(state) => sdfg.state(*state).accesses_of(container).next().is_some(),
        BlockKind::Loop(_)
        | BlockKind::Branch(_)
        | BlockKind::Break
        | BlockKind::Continue
        | BlockKind::Return => false,
    };
    sdfg.blocks().filter(|(_, block)| uses(&block.kind)).map(|(block, _)| block).collect()
}

/// States that follow each other, with those between: a chain from one of them that comes by all others, each block once.
pub(super) fn chain(sdfg: &Sdfg, users: &[BlockId]) -> Option<Vec<BlockId>> {
    let next = |block: BlockId| match sdfg.transitions_from(block)[..] {
        [only] => Some(sdfg.transition(only).dst),
        _ => None,
    };
    users.iter().find_map(|first| {
        let (mut chain, mut left) = (vec![*first], users.len() - 1);
        while left > 0 {
            let block = next(*chain.last()?)?;
            if chain.contains(&block) {
                return None;
            }
            left -= usize::from(users.contains(&block));
            chain.push(block);
        }
        Some(chain)
    })
}

/// Merges states that follow each other, with those between, so that one state is left; whether it could be done.
fn merge(sdfg: &mut Sdfg, users: &[BlockId]) -> bool {
    let Some(chain) = chain(sdfg, users) else { return false };
    let mut editor = Editor::of_draft(sdfg);
    let merged = chain[1..].iter().try_for_each(|second| editor.merge_states(chain[0], *second));
    merged.is_ok() && editor.commit().is_ok()
}

/// The packed layout with the largest extents that any iteration of the loops around all users gives.
fn largest(sdfg: &Sdfg, container: ContainerId, users: &[BlockId]) -> Option<Layout> {
    let layout = sdfg.container(container).kind.layout().filter(|layout| layout.is_packed())?;
    let known = Assumptions::new();
    let mut shared: Option<Vec<(Symbol, Expr, Expr)>> = None;
    for user in users {
        let loops = counted_loops_around(sdfg, *user).into_iter().map(|(symbol, range)| {
            let last = range.last();
            (symbol, range.begin, last)
        });
        let loops: Vec<_> = loops.collect();
        let same = shared.get_or_insert_with(|| loops.clone());
        same.retain(|found| loops.contains(found));
    }
    let shared = shared?;
    // Without an iteration there may be no element.
    let extents = layout.shape.iter().map(|extent| {
        let upper = extent.bounds_over_all(&shared, &known).upper?;
        Some(Expr::max(&upper, &Expr::zero()))
    });
    Some(Layout::packed(extents.collect::<Option<Vec<_>>>()?))
}
