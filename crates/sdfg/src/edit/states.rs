//! Blocks: splitting and merging states, states before and after blocks, loops around them.

use std::collections::{BTreeMap, BTreeSet};

use super::nested::renumber_exits;
use super::scope::is_before;
use super::subgraph::{Subgraph, cannot_cross};
use super::{EditError, atomically, derived_block_label, order};
use crate::analysis::accesses::alias_targets;
use crate::analysis::{AccessSets, ScopeTree};
use crate::ir::{
    Block, BlockId, BlockKind, ContainerId, ContainerKind, Edge, Flow, Lifetime, Loop, NodeId, NodeKind,
    Sdfg, State, StateId, Transition,
};
use crate::propagate::propagate_state;

/// A new empty state that runs before a block: what led to the block leads to it. Gives its block.
///
/// # Errors
/// [`EditError::NoBlock`].
pub fn insert_state_before(sdfg: &mut Sdfg, block: BlockId) -> Result<BlockId, EditError> {
    let found = expect_block(sdfg, block)?;
    let (region, label) = (found.region, derived_block_label(sdfg, &found.label, "before"));
    let (new, _) = sdfg.add_state(region, State::new(label));
    for id in sdfg.region(region).transitions.clone() {
        if sdfg.transition(id).dst == block {
            sdfg.transition_mut(id).dst = new;
        }
    }
    if sdfg.region(region).start == Some(block) {
        sdfg.region_mut(region).start = Some(new);
    }
    sdfg.add_transition(always(new, block));
    Ok(new)
}

/// A new empty state that runs after a block, whenever that goes on or ends its region: it takes over the transitions.
/// Gives its block.
///
/// # Errors
/// [`EditError::NoBlock`], and [`EditError::ControlFlow`] for breaks, continues and returns, after which nothing runs.
pub fn insert_state_after(sdfg: &mut Sdfg, block: BlockId) -> Result<BlockId, EditError> {
    let found = expect_block(sdfg, block)?;
    if matches!(found.kind, BlockKind::Break | BlockKind::Continue | BlockKind::Return) {
        return Err(EditError::ControlFlow {
            label: found.label.clone(),
            reason: "nothing runs after a jump",
        });
    }
    let (region, label) = (found.region, derived_block_label(sdfg, &found.label, "after"));
    let (new, _) = sdfg.add_state(region, State::new(label));
    for id in sdfg.transitions_from(block) {
        sdfg.transition_mut(id).src = new;
    }
    sdfg.add_transition(always(block, new));
    Ok(new)
}

/// Removes an empty state that always goes on to one block, or ends its region without transitions and is not its start.
///
/// # Errors
/// [`EditError::ControlFlow`] if the state has nodes or chooses or assigns.
pub fn remove_empty_state(sdfg: &mut Sdfg, block: BlockId) -> Result<(), EditError> {
    let (_, state) = expect_state_block(sdfg, block)?;
    let (label, region) = (sdfg.block(block).label.clone(), sdfg.block(block).region);
    let refuse = |reason| Err(EditError::ControlFlow { label: label.clone(), reason });
    if sdfg.state(state).n_nodes() > 0 {
        return refuse("the state is not empty");
    }
    let next = match only_successor(sdfg, block) {
        Some(next) if next != block => next,
        Some(_) | None => return refuse("it does not always go on to one other block"),
    };
    for id in sdfg.region(region).transitions.clone() {
        if sdfg.transition(id).dst == block {
            sdfg.transition_mut(id).dst = next;
        }
    }
    if sdfg.region(region).start == Some(block) {
        sdfg.region_mut(region).start = Some(next);
    }
    sdfg.remove_block(block);
    Ok(())
}

/// Puts a block into the body of a new loop with this label, in its place. The body of `header` is not looked at. Gives the
/// block of the loop.
///
/// # Errors
/// [`EditError::NoBlock`], [`EditError::NameTaken`] for the label, and [`EditError::ControlFlow`] for a jump, or if the
/// block contains a break or continue that would mean the new loop.
pub fn wrap_in_loop(
    sdfg: &mut Sdfg,
    block: BlockId,
    label: &str,
    header: Loop,
) -> Result<BlockId, EditError> {
    let found = expect_block(sdfg, block)?;
    if sdfg.find_block(label).is_some() {
        return Err(EditError::NameTaken { name: label.to_owned() });
    }
    if jumps_out(sdfg, block) {
        let reason = "it jumps to the end of the loop around, which would be another one";
        return Err(EditError::ControlFlow { label: found.label.clone(), reason });
    }
    let region = found.region;
    let was_start = sdfg.region(region).start == Some(block);
    let body = sdfg.add_region();
    let kind = BlockKind::Loop(Loop { body, ..header });
    let new = sdfg.add_block(region, Block { label: label.to_owned(), kind, region, loc: None });
    for id in sdfg.region(region).transitions.clone() {
        let transition = sdfg.transition_mut(id);
        if transition.src == block {
            transition.src = new;
        }
        if transition.dst == block {
            transition.dst = new;
        }
    }
    let outer = sdfg.region_mut(region);
    // The loop stands where the block stood.
    outer.blocks.retain(|id| *id != new);
    for id in &mut outer.blocks {
        if *id == block {
            *id = new;
        }
    }
    if was_start {
        outer.start = Some(new);
    }
    let inner = sdfg.region_mut(body);
    inner.blocks.push(block);
    inner.start = Some(block);
    sdfg.block_mut(block).region = body;
    Ok(new)
}

/// Whether a break or continue in a block, or the block itself, means a loop around it.
pub(crate) fn jumps_out(sdfg: &Sdfg, block: BlockId) -> bool {
    let mut waiting = vec![block];
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if !seen.insert(id) {
            continue;
        }
        match &sdfg.block(id).kind {
            BlockKind::Break | BlockKind::Continue => return true,
            BlockKind::State(_) | BlockKind::Return | BlockKind::Loop(_) => {}
            BlockKind::Branch(_) => {
                let regions = sdfg.block(id).kind.regions();
                waiting.extend(regions.iter().flat_map(|region| sdfg.region(*region).blocks.clone()));
            }
        }
    }
    false
}

/// Moves the nodes of a state that are not among `first` into a new state after it. Gives its block. The program means the
/// same as before.
///
/// Access nodes that are written before and read after the cut are in both states.
///
/// # Errors
/// [`EditError::NotConvex`] if a node of `first` comes after another one, [`EditError::CannotCross`] for edges that do not
/// start at an access node, and [`EditError::Container`] for streams and aliases on both sides.
pub fn split_state(sdfg: &mut Sdfg, block: BlockId, first: &BTreeSet<NodeId>) -> Result<BlockId, EditError> {
    let (_, state) = expect_state_block(sdfg, block)?;
    let graph = sdfg.state(state).clone();
    let all: BTreeSet<NodeId> = graph.nodes().map(|(id, _)| id).collect();
    let rest: BTreeSet<NodeId> = all.difference(first).copied().collect();
    let tree = ScopeTree::of(&graph);
    if let Some(id) = first.iter().find(|id| tree.scope_of(**id).is_some_and(|entry| !first.contains(&entry)))
    {
        let (first, second) = (graph.node(*id).label.clone(), "the others".to_owned());
        return Err(EditError::DifferentScopes { first, second });
    }
    let first = Subgraph::of(&graph, first)?;
    let rest: BTreeSet<NodeId> = rest.difference(&first.nodes).copied().collect();
    if rest.is_empty() {
        return Err(EditError::NoNodes);
    }
    if let Some(edge) = first.entering.first() {
        return Err(EditError::NotConvex { outside: graph.node(graph.edge(*edge).src).label.clone() });
    }
    for edge in &first.leaving {
        let found = graph.edge(*edge);
        let reads = matches!(found.memlet.flow, Flow::Order | Flow::Read(_) | Flow::Copy { .. });
        let kept = graph.node(found.src).kind.container().is_some();
        if !(matches!(found.memlet.flow, Flow::Order) || reads && kept) {
            return Err(cannot_cross(&graph, *edge, "only what is in a container outlives a state"));
        }
    }
    check_shared(sdfg, &graph, &first.nodes, &rest)?;
    atomically(sdfg, |sdfg| {
        let new = insert_state_after(sdfg, block)?;
        let (_, second) = expect_state_block(sdfg, new)?;
        let mut target = std::mem::take(sdfg.state_mut(second));
        let mut nodes: BTreeMap<NodeId, NodeId> =
            rest.iter().map(|id| (*id, target.add_node(graph.node(*id).clone()))).collect();
        renumber_exits(&mut target, &nodes);
        for (_, edge) in graph.edges() {
            let Some(dst) = nodes.get(&edge.dst).copied() else { continue };
            if matches!(edge.memlet.flow, Flow::Order) && !nodes.contains_key(&edge.src) {
                continue;
            }
            let src = *nodes.entry(edge.src).or_insert_with(|| target.add_node(graph.node(edge.src).clone()));
            target.add_edge(Edge { src, dst, ..edge.clone() });
        }
        target.label = sdfg.block(new).label.clone();
        *sdfg.state_mut(second) = target;
        let graph = sdfg.state_mut(state);
        rest.iter().for_each(|id| drop(graph.remove_node(*id)));
        drop_lonely(graph);
        propagate_state(sdfg, state);
        propagate_state(sdfg, second);
        Ok(new)
    })
}

/// Removes access nodes without edges.
fn drop_lonely(graph: &mut State) {
    let lonely = |id: NodeId| graph.in_edges(id).is_empty() && graph.out_edges(id).is_empty();
    let found: Vec<NodeId> = graph
        .nodes()
        .filter(|(id, node)| matches!(node.kind, NodeKind::Access(_)) && lonely(*id))
        .map(|(id, _)| id)
        .collect();
    found.into_iter().for_each(|id| drop(graph.remove_node(id)));
}

/// Refuses containers that mean something only within one state.
fn check_shared(
    sdfg: &Sdfg,
    graph: &State,
    first: &BTreeSet<NodeId>,
    rest: &BTreeSet<NodeId>,
) -> Result<(), EditError> {
    let used = |nodes: &BTreeSet<NodeId>| -> BTreeSet<ContainerId> {
        let edges = graph.edges().filter(|(_, edge)| nodes.contains(&edge.src) || nodes.contains(&edge.dst));
        edges.flat_map(|(_, edge)| edge.memlet.accesses().map(|access| access.container)).collect()
    };
    for id in used(first).intersection(&used(rest)) {
        let container = sdfg.container(*id);
        let reason = match &container.kind {
            ContainerKind::Stream { .. } => "both sides of a stream may have to run together",
            ContainerKind::View(_) | ContainerKind::Reference(_) => {
                "an alias is bound in each state that uses it"
            }
            ContainerKind::Scalar | ContainerKind::Array(_) if container.lifetime == Lifetime::State => {
                "its contents do not outlive the state"
            }
            ContainerKind::Scalar | ContainerKind::Array(_) => continue,
        };
        return Err(EditError::Container { container: container.name.clone(), reason });
    }
    Ok(())
}

/// Moves the nodes of a state into the state before it, ordered after what they depend on there. The second state must
/// follow the first and nothing else, always and without assignments. The program means the same as before.
///
/// An access node that the first state ends with and the second begins with becomes one.
///
/// # Errors
/// [`EditError::WrongKind`] for blocks that are no states, [`EditError::ControlFlow`] if they do not follow each other.
pub fn merge_states(sdfg: &mut Sdfg, first: BlockId, second: BlockId) -> Result<(), EditError> {
    let (_, into) = expect_state_block(sdfg, first)?;
    let (_, from) = expect_state_block(sdfg, second)?;
    let region = sdfg.block(first).region;
    let refuse = |reason| EditError::ControlFlow { label: sdfg.block(second).label.clone(), reason };
    let leading =
        sdfg.region(region).transitions.iter().filter(|id| sdfg.transition(**id).dst == second).count();
    if first == second || only_successor(sdfg, first) != Some(second) {
        return Err(refuse("the first state does not always go on to it, without assignments"));
    }
    if leading != 1 || sdfg.region(region).start == Some(second) {
        return Err(refuse("it is reached in other ways, too"));
    }
    let added = sdfg.state(from).clone();
    let mut merged = sdfg.state(into).clone();
    let pairs = dependent(sdfg, &merged, &added);
    let mut nodes: BTreeMap<NodeId, NodeId> = BTreeMap::new();
    for (id, node) in added.nodes() {
        let shared = node.kind.container().filter(|_| added.in_edges(id).is_empty()).and_then(|container| {
            let is_end =
                |node: &NodeId| merged.out_edges(*node).is_empty() && !merged.in_edges(*node).is_empty();
            sdfg.state(into).accesses_of(container).find(is_end)
        });
        let copy = match shared {
            Some(existing) => existing,
            None => {
                let mut copy = node.clone();
                copy.label = merged.fresh_label(&node.label);
                merged.add_node(copy)
            }
        };
        nodes.insert(id, copy);
    }
    let new: BTreeMap<NodeId, NodeId> = nodes
        .iter()
        .filter(|(_, copy)| sdfg.state(into).get_node(**copy).is_none())
        .map(|(a, b)| (*a, *b))
        .collect();
    renumber_exits(&mut merged, &new);
    for (_, edge) in added.edges() {
        if let (Some(src), Some(dst)) = (nodes.get(&edge.src), nodes.get(&edge.dst)) {
            merged.add_edge(Edge { src: *src, dst: *dst, ..edge.clone() });
        }
    }
    for (before, after) in pairs {
        // A node that became one with one of the first state does nothing itself: what follows it waits.
        let waiting = if new.contains_key(&after) {
            vec![after]
        } else {
            added.out_edges(after).into_iter().map(|edge| added.edge(edge).dst).collect()
        };
        for after in waiting.iter().filter_map(|id| nodes.get(id).copied()) {
            if !is_before(&merged, before, after) {
                order(&mut merged, before, after);
            }
        }
    }
    *sdfg.state_mut(into) = merged;
    for id in sdfg.transitions_from(first) {
        sdfg.remove_transition(id);
    }
    for id in sdfg.transitions_from(second) {
        sdfg.transition_mut(id).src = first;
    }
    sdfg.remove_block(second);
    propagate_state(sdfg, into);
    Ok(())
}

/// Last nodes of the first state and first nodes of the second that must stay in order: of parts that access the same
/// container, one of them writing.
fn dependent(sdfg: &Sdfg, first: &State, second: &State) -> Vec<(NodeId, NodeId)> {
    let aliases = alias_targets(sdfg);
    let (before, after) = (parts(first, &aliases), parts(second, &aliases));
    let mut pairs = Vec::new();
    for (nodes, sets) in &before {
        for (others, _) in after.iter().filter(|(_, other)| sets.conflicts_with(other)) {
            for last in nodes.iter().filter(|id| first.out_edges(**id).is_empty()) {
                let firsts = others.iter().filter(|id| second.in_edges(**id).is_empty());
                pairs.extend(firsts.map(|id| (*last, *id)));
            }
        }
    }
    pairs
}

/// The parts of a state that no edge joins, with what each accesses; what is accessed through an alias counts for what it
/// may name.
fn parts(
    state: &State,
    aliases: &BTreeMap<ContainerId, BTreeSet<ContainerId>>,
) -> Vec<(BTreeSet<NodeId>, AccessSets)> {
    let mut left: BTreeSet<NodeId> = state.nodes().map(|(id, _)| id).collect();
    let mut found = Vec::new();
    while let Some(start) = left.pop_first() {
        let mut part = BTreeSet::from([start]);
        let mut waiting = vec![start];
        while let Some(id) = waiting.pop() {
            for edge in state.in_edges(id).into_iter().chain(state.out_edges(id)) {
                let edge = state.edge(edge);
                waiting.extend([edge.src, edge.dst].into_iter().filter(|end| part.insert(*end)));
            }
        }
        left.retain(|id| !part.contains(id));
        let mut sets = AccessSets::default();
        for id in &part {
            let own = AccessSets::of_node(state, *id);
            sets.reads.extend(own.reads);
            sets.writes.extend(own.writes);
            // Popping takes an element away, and binding changes what a name means.
            for edge in state.in_edges(*id).into_iter().chain(state.out_edges(*id)) {
                let edge = state.edge(edge);
                let queues = edge.memlet.accesses().filter(|access| access.is_queue());
                sets.writes.extend(queues.map(|access| access.container));
                if let Flow::Bind(_) = edge.memlet.flow {
                    let ends = [edge.src, edge.dst].map(|end| state.node(end).kind.container());
                    sets.writes.extend(ends.into_iter().flatten().filter(|id| aliases.contains_key(id)));
                }
            }
        }
        for set in [&mut sets.reads, &mut sets.writes] {
            let named: Vec<ContainerId> =
                set.iter().filter_map(|id| aliases.get(id)).flatten().copied().collect();
            set.extend(named);
        }
        found.push((part, sets));
    }
    found
}

/// The block that always follows, if its transition assigns nothing.
fn only_successor(sdfg: &Sdfg, block: BlockId) -> Option<BlockId> {
    let [transition] = sdfg.transitions_from(block)[..] else { return None };
    let transition = sdfg.transition(transition);
    (transition.condition.is_none() && transition.assignments.is_empty()).then_some(transition.dst)
}

fn always(src: BlockId, dst: BlockId) -> Transition {
    Transition { src, dst, condition: None, assignments: Vec::new(), loc: None }
}

fn expect_block(sdfg: &Sdfg, block: BlockId) -> Result<&Block, EditError> {
    sdfg.get_block(block).ok_or(EditError::NoBlock(block))
}

fn expect_state_block(sdfg: &Sdfg, block: BlockId) -> Result<(&Block, StateId), EditError> {
    let found = expect_block(sdfg, block)?;
    match found.kind {
        BlockKind::State(state) => Ok((found, state)),
        BlockKind::Loop(_)
        | BlockKind::Branch(_)
        | BlockKind::Break
        | BlockKind::Continue
        | BlockKind::Return => {
            let (label, found) = (found.label.clone(), found.kind.noun());
            Err(EditError::WrongKind { label, found, expected: "states" })
        }
    }
}
