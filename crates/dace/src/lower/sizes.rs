//! Transients whose size control flow decides.
//!
//! DaCe allocates a transient of size `k` where the value of `k` is known, again in each iteration of a loop over `k`. Here
//! a transient that one state uses is made anew with each execution of it, and one that several states use is as large as any
//! iteration of the loops around needs.

use std::collections::BTreeSet;

use sdfg::analysis::loops::counted_loops_around;
use sdfg::analysis::symbols::assigned_symbols;
use sdfg::ir::{BlockId, BlockKind, ContainerId, ContainerKind, Layout, Lifetime, NodeKind, Sdfg, StateId};
use sdfg::symbolic::{Assumptions, Expr, Symbol};

/// Settles the sizes of an SDFG and of those that it calls, which are at most as deep as a document.
pub(crate) fn settle(sdfg: &mut Sdfg) {
    let states: Vec<StateId> = sdfg.states().map(|(id, _)| id).collect();
    for state in &states {
        let calls = sdfg.state(*state).nodes().filter(|(_, node)| matches!(node.kind, NodeKind::Nested(_)));
        let calls: Vec<_> = calls.map(|(id, _)| id).collect();
        for call in calls {
            if let NodeKind::Nested(nested) = &mut sdfg.state_mut(*state).node_mut(call).kind {
                settle(&mut nested.sdfg);
            }
        }
    }
    let assigned: BTreeSet<Symbol> = assigned_symbols(sdfg).into_iter().collect();
    if assigned.is_empty() {
        return;
    }
    let varies = |expr: &Expr| expr.free_symbols().iter().any(|symbol| assigned.contains(symbol));
    let found = sdfg.containers().filter(|(_, container)| {
        container.transient && !container.is_alias() && container.shape().iter().any(varies)
    });
    let found: Vec<ContainerId> = found.map(|(id, _)| id).collect();
    for id in found {
        let users: Vec<BlockId> = sdfg
            .blocks()
            .filter(|(_, block)| match block.kind {
                BlockKind::State(state) => sdfg.state(state).accesses_of(id).next().is_some(),
                _ => false,
            })
            .map(|(block, _)| block)
            .collect();
        if let [_] = users.as_slice() {
            sdfg.container_mut(id).lifetime = Lifetime::State;
        } else if let Some(layout) = largest(sdfg, id, &users) {
            let container = sdfg.container_mut(id);
            container.kind = ContainerKind::Array(layout);
            container.lifetime = Lifetime::Sdfg;
        }
    }
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
