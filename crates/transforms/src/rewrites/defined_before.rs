//! Containers of which every element has a value when a state begins.

use sdfg::analysis::executions::{ExecutionTable, Frequency};
use sdfg::analysis::{DominatorTree, RegionGraph, ScopeTree, node_leads_to, symbol_facts_at};
use sdfg::edit::{Cover, Editor};
use sdfg::ir::{
    Access, BlockId, BlockKind, ContainerId, Edge, EdgeId, Flow, Lifetime, Memlet, NodeId, Sdfg, State,
    StateId,
};
use sdfg::path::{ElementPlace, Target};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Symbol};

use super::moved_data::accesses_before;
use super::partition::fixed_symbols;
use crate::engine::Match;
use crate::loops::state_block;

/// Copies in the program itself may read more than the map does of what is defined: arguments, and what an earlier state writes as a
/// whole.
pub(super) fn cover(editor: &mut Editor<'_>, state: StateId, id: ContainerId) -> Cover {
    match editor.sdfg().container(id).is_argument() || is_defined_before(editor, state, id) {
        true => Cover::MoreIsDefined,
        false => Cover::Exact,
    }
}

/// As [`cover`], also of what a node of the state of a match writes as a whole for which the map waits. Arguments of a nested SDFG count
/// if they are those of the program: what else a caller passes may have no values.
pub(super) fn cover_at(editor: &mut Editor<'_>, found: &Match, id: ContainerId, entry: NodeId) -> Cover {
    let state = found.state();
    let is_defined = is_passed(editor.program(), &found.calls, id)
        || is_defined_by_state(editor, (state, entry), id)
        || is_defined_before(editor, state, id);
    if is_defined { Cover::MoreIsDefined } else { Cover::Exact }
}

/// Whether a container of the SDFG behind some calls is an argument of the program that each caller passes, without other names, and
/// which no node touches that may run beside a call.
fn is_passed(program: &Sdfg, calls: &[(StateId, NodeId)], id: ContainerId) -> bool {
    is_alone(program, calls, id, false)
}

/// Whether nothing that callers run beside the calls of an SDFG touches a container of it, also by other names.
pub(super) fn is_alone_in_callers(program: &Sdfg, calls: &[(StateId, NodeId)], id: ContainerId) -> bool {
    is_alone(program, calls, id, true)
}

/// As [`is_passed`], or for a container of one of the callers, or of the SDFG itself.
fn is_alone(program: &Sdfg, calls: &[(StateId, NodeId)], id: ContainerId, or_of_caller: bool) -> bool {
    let sdfg_behind = |calls: &[(StateId, NodeId)]| {
        ElementPlace { calls: calls.to_vec(), target: Target::Sdfg }.sdfg(program)
    };
    let Some(sdfg) = sdfg_behind(calls) else { return false };
    let container = sdfg.container(id);
    if !container.is_argument() {
        return or_of_caller;
    }
    let Some((&(state, node), outer)) = calls.split_last() else { return true };
    let Some(caller) = sdfg_behind(outer) else { return false };
    let graph = caller.state(state);
    let name = Some(&container.name);
    let into = graph.each_in_edge(node).filter(|(_, edge)| edge.dst_connector.as_ref() == name);
    let out = graph.each_out_edge(node).filter(|(_, edge)| edge.src_connector.as_ref() == name);
    let access = into.chain(out).find_map(|(_, edge)| edge.memlet.accesses().next());
    let Some(passed) = access.map(|access| access.container) else { return false };
    let runs_beside = |other: NodeId| {
        other != node && !node_leads_to(graph, other, node) && !node_leads_to(graph, node, other)
    };
    let is_apart = |edge: &Edge| {
        let by_other_name = edge.src == node && edge.src_connector.as_ref() != name
            || edge.dst == node && edge.dst_connector.as_ref() != name;
        !by_other_name && ![edge.src, edge.dst].into_iter().any(|end| runs_beside(begin_of(graph, end)))
    };
    let touches = |edge: &Edge| edge.memlet.accesses().any(|access| access.container == passed);
    let is_apart_from_others = graph.edges().all(|(_, edge)| !touches(edge) || is_apart(edge));
    is_apart_from_others && !has_other_names(caller, passed) && is_alone(program, outer, passed, or_of_caller)
}

/// A node; of a scope its entry.
fn begin_of(graph: &State, node: NodeId) -> NodeId {
    graph.node(node).kind.exit_of().unwrap_or(node)
}

/// Whether views or references may name a container.
pub(super) fn has_other_names(sdfg: &Sdfg, id: ContainerId) -> bool {
    let binds = |edge: &Edge| matches!(&edge.memlet.flow, Flow::Bind(access) if access.container == id);
    sdfg.container(id).is_alias()
        || sdfg.states().any(|(_, state)| state.edges().any(|(_, edge)| binds(edge)))
}

/// Whether an edge writes all of a container, and leads to an access node for which a map of the state waits.
fn is_defined_by_state(editor: &mut Editor<'_>, (state, entry): (StateId, NodeId), id: ContainerId) -> bool {
    let sdfg = editor.sdfg();
    let (whole, known) = (Subset::full(sdfg.container(id).shape()), symbol_facts_at(sdfg, state, None));
    let before = accesses_before(sdfg.state(state), id, entry);
    let is_all = |written: &Access| written.subset().covers(&whole, &known).is_proved();
    writes_all(editor, state, (id, Some(&before)), &is_all)
}

/// Whether a state, or all iterations of counted loops around it, write all of a container before each execution of another state.
fn is_defined_before(editor: &mut Editor<'_>, state: StateId, id: ContainerId) -> bool {
    let sdfg = editor.sdfg();
    let container = sdfg.container(id);
    let whole = Subset::full(container.shape());
    if container.lifetime == Lifetime::State || !whole.free_symbols().is_subset(&fixed_symbols(sdfg)) {
        return false;
    }
    let Some(block) = state_block(sdfg, state) else { return false };
    // What holds when the other state runs; what an iteration knows does not hold if there is none.
    let known = symbol_facts_at(sdfg, state, None);
    earlier_states(sdfg, block).into_iter().any(|(earlier, loops)| {
        let known =
            if loops.is_empty() { symbol_facts_at(editor.sdfg(), earlier, None) } else { known.clone() };
        writes_all(editor, earlier, (id, None), &|written: &Access| {
            let all = over_loops(written.subset(), &loops);
            all.is_some_and(|all| all.covers(&whole, &known).is_proved())
        })
    })
}

/// A counted loop: its symbol, and the values that it takes.
type Counted = (Symbol, Range);

/// States that run before each execution of a block, in its region and in those around it, with the counted loops around each,
/// outermost first. Each iteration runs the state.
fn earlier_states(sdfg: &Sdfg, block: BlockId) -> Vec<(StateId, Vec<Counted>)> {
    let executions = ExecutionTable::of(sdfg);
    let (mut found, mut at) = (Vec::new(), Some(block));
    while let Some(block) = at {
        let region = sdfg.block(block).region;
        let dominators = DominatorTree::dominators(&RegionGraph::of(sdfg, region));
        for other in &sdfg.region(region).blocks {
            if *other != block && dominators.dominates(*other, block) {
                states_in_each_iteration(sdfg, &executions, *other, &mut Vec::new(), &mut found);
            }
        }
        at = sdfg.region(region).parent;
    }
    found
}

/// Adds a state, or the states that each iteration of counted loops runs once.
fn states_in_each_iteration(
    sdfg: &Sdfg,
    executions: &ExecutionTable,
    block: BlockId,
    loops: &mut Vec<Counted>,
    found: &mut Vec<(StateId, Vec<Counted>)>,
) {
    match &sdfg.block(block).kind {
        BlockKind::State(state) => found.push((*state, loops.clone())),
        BlockKind::Loop(repeated) => {
            let Some(counted) = executions.counted(block) else { return };
            loops.push(counted.clone());
            for inner in &sdfg.region(repeated.body).blocks {
                if executions.within(sdfg, *inner, repeated.body).frequency == Frequency::Once {
                    states_in_each_iteration(sdfg, executions, *inner, loops, found);
                }
            }
            loops.pop();
        }
        BlockKind::Branch(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
    }
}

/// The elements of a subset in all iterations of loops: the symbol of each loop is one index, up to a summand.
fn over_loops(subset: &Subset, loops: &[Counted]) -> Option<Subset> {
    let mut all = subset.clone();
    // Ranges of inner loops may have symbols of outer ones.
    for (symbol, values) in loops.iter().rev() {
        let mut selected = all.0.iter_mut().filter(|range| range.free_symbols().contains(symbol));
        let (range, None) = (selected.next()?, selected.next()) else { return None };
        let offset = &range.begin - &Expr::symbol(symbol.clone());
        if !range.is_index() || !values.step.is_one() || offset.depends_on(symbol) {
            return None;
        }
        *range = Range::new(&values.begin + &offset, &values.end + &offset);
    }
    Some(all)
}

/// Whether an edge of a state outside of scopes sets elements of a container that pass a test; at one of some access nodes only, if
/// any are given.
fn writes_all(
    editor: &mut Editor<'_>,
    state: StateId,
    (id, at): (ContainerId, Option<&[NodeId]>),
    is_all: &dyn Fn(&Access) -> bool,
) -> bool {
    let Ok(graph) = editor.state(state) else { return false };
    let tree = ScopeTree::of(graph);
    let sets = graph.edges().filter(|(edge, found)| {
        tree.scope_of_edge(graph, *edge).is_none()
            && found.memlet.resolution().is_none()
            && at.is_none_or(|nodes| nodes.contains(&found.dst))
            && found.memlet.write_access().is_some_and(|to| to.container == id)
    });
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
