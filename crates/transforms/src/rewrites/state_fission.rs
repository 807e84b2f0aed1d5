//! [`StateFission`].

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::{ScopeTree, ancestors, bound_alias};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{BlockKind, ContainerId, Edge, EdgeId, Flow, Node, NodeId, State, StateId};
use serde::{Deserialize, Serialize};

use super::moved_data::contents;
use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::loops::state_block;
use crate::pattern::{NodeClass, Pattern};

/// Gives a map a state of its own: what it depends on runs in a state before it, everything else in one after it.
///
/// Transformations that place copies around a map, such as `MPITransform`, then see all accesses of its data in other states.
/// `StateFusion` is the reverse.
///
/// # When it applies
///
/// The map is outside of all scopes, and its state has other nodes than the map and what it reads and writes.
///
/// # Refusals
///
/// - The map is in a scope.
/// - The state has nothing else.
/// - A result of the map is bound to a view, and waits for nodes that the map does not wait for.
/// - A value that is in no container passes between the parts, or what the map depends on writes to an access node of the map.
///
/// # Before
///
/// ```sdft
/// sdfg chain {
///   symbol N: i64
///   array A: f64[N]
///   transient array T: f64[N]
///   array B: f64[N]
///
///   state s {
///     access A
///     access T
///     access B
///     map m [i = 0:N] {
///       tasklet t (x) -> (y) { y = 2.0 * x }
///       m.A -> t.x: A[i]
///       t.y -> m.T: T[i]
///     }
///     map n [i = 0:N] {
///       tasklet u (x) -> (y) { y = x + 1.0 }
///       n.T -> u.x: T[i]
///       u.y -> n.B: B[i]
///     }
///     A -> m.A
///     m.T -> T
///     T -> n.T
///     n.B -> B
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg chain {
///   symbol N: i64
///   array A: f64[N]
///   transient array T: f64[N]
///   array B: f64[N]
///
///   state s {
///     access A
///     access T
///     map m [i = 0:N] {
///       tasklet t (x) -> (y) { y = 2.0 * x }
///       m.A -> t.x: A[i]
///       t.y -> m.T: T[i]
///     }
///     A -> m.A
///     m.T -> T
///   }
///   state "s.after0" {
///     access B
///     map n [i = 0:N] {
///       tasklet u (x) -> (y) { y = x + 1.0 }
///       n.T -> u.x: T[i]
///       u.y -> n.B: B[i]
///     }
///     access T
///     T -> n.T
///     n.B -> B
///   }
/// }
/// ```
///
/// # Soundness
///
/// No node of a later part leads to one of an earlier part. Values between the parts are in containers, which outlive states.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StateFission {}

static METADATA: Metadata = Metadata {
    name: "StateFission",
    group: Group::ControlFlow,
    summary: "Gives a map a state of its own.",
    source: "the reverse of StateFusion (paper, Table 4)",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("state_fission.rs"),
    parameters: &[],
};

anchored!(StateFission);

impl Transformation for StateFission {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::path([("map", NodeClass::MapEntry)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let (state, entry, label) = (site.state(), site.found.node(0), site.label(0));
        if site.scopes().scope_of(entry).is_some() {
            return Err(Refusal::structure(label, "is in a scope"));
        }
        let exit = state.exit_of(entry);
        let is_other_code = |node: &NodeId| {
            *node != entry && Some(*node) != exit && state.node(*node).kind.container().is_none()
        };
        // Code is in no part of the map. Each match of a state asks, and parts take a look at all its nodes.
        let has_bound_result = exit.is_some_and(|exit| waits_at_binding(state, exit));
        if !has_bound_result && site.scopes().children(None).iter().any(is_other_code) {
            return Ok(Evidence::of_structure());
        }
        let parts = Parts::of(state, entry);
        let after = parts.after(state);
        if parts.before.is_empty() && after.is_empty() {
            return Err(Refusal::structure(label, "has a state of its own already"));
        }
        let stays = |node: NodeId| is_at_binding(state, node);
        if let Some((.., result)) = late(state, &parts.own, &after).into_iter().find(|(.., dst)| stays(*dst))
        {
            let reason = "is bound to a view, and waits for nodes that its map does not wait for";
            return Err(Refusal::structure(&state.node(result).label, reason));
        }
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (mut state, entry) = (found.state(), found.node(0));
        let label = editor.state(state)?.node(entry).label.clone();
        write_alone(editor, state, entry)?;
        let mut parts = Parts::of(editor.state(state)?, entry);
        if read_alone(editor, state, &parts.before)? {
            parts = Parts::of(editor.state(state)?, entry);
        }
        let mut entry = entry;
        wait_for_nothing(editor, state, &parts.before)?;
        if !parts.before.is_empty() {
            let Some(block) = state_block(editor.sdfg(), state) else {
                return Err(EditError::NoState(state));
            };
            let second = editor.split_state(block, &parts.before)?;
            let BlockKind::State(second) = editor.sdfg().block(second).kind else {
                return Err(EditError::NoState(state));
            };
            state = second;
            entry = editor.find(state, &label).ok_or(EditError::NoNode(entry))?;
        }
        let graph = editor.state(state)?;
        let parts = Parts::of(graph, entry);
        if !parts.after(graph).is_empty() {
            wait_for_nothing(editor, state, &parts.own)?;
            let after = parts.after(editor.state(state)?);
            wait_behind(editor, state, &parts.own, &after)?;
            let Some(block) = state_block(editor.sdfg(), state) else {
                return Err(EditError::NoState(state));
            };
            editor.split_state(block, &parts.own)?;
        }
        Ok(())
    }
}

/// Removes edges that order nodes behind access nodes outside that nothing writes: there is nothing to wait for.
fn wait_for_nothing(
    editor: &mut Editor<'_>,
    state: StateId,
    nodes: &BTreeSet<NodeId>,
) -> Result<(), EditError> {
    let graph = editor.state(state)?;
    let waits = |edge: &Edge| {
        matches!(edge.memlet.flow, Flow::Order)
            && nodes.contains(&edge.dst)
            && !nodes.contains(&edge.src)
            && is_idle(graph, edge.src)
    };
    let idle: Vec<EdgeId> = graph.edges().filter(|(_, edge)| waits(edge)).map(|(id, _)| id).collect();
    idle.into_iter().try_for_each(|edge| editor.remove_edge(state, edge))
}

/// Whether a node is an access node that nothing comes before: there is nothing to wait for.
fn is_idle(graph: &State, node: NodeId) -> bool {
    graph.node(node).kind.container().is_some() && graph.each_in_edge(node).next().is_none()
}

/// The edges that order nodes of a map behind nodes of the last part, with their ends.
fn late(graph: &State, own: &BTreeSet<NodeId>, after: &BTreeSet<NodeId>) -> Vec<(EdgeId, NodeId, NodeId)> {
    let waits = |edge: &Edge| {
        matches!(edge.memlet.flow, Flow::Order)
            && after.contains(&edge.src)
            && own.contains(&edge.dst)
            && !is_idle(graph, edge.src)
    };
    graph.edges().filter(|(_, edge)| waits(edge)).map(|(id, edge)| (id, edge.src, edge.dst)).collect()
}

/// The edges at a node that bind a view: such a node stays where it is.
fn bindings(graph: &State, node: NodeId) -> impl Iterator<Item = &Edge> {
    let edges = graph.each_in_edge(node).chain(graph.each_out_edge(node)).map(|(_, edge)| edge);
    edges.filter(|edge| matches!(edge.memlet.flow, Flow::Bind(_)))
}

/// Whether an edge at a node binds a view.
fn is_at_binding(graph: &State, node: NodeId) -> bool {
    bindings(graph, node).next().is_some()
}

/// Whether a result of a map is bound to a view, and it or what it is bound to waits for other nodes.
fn waits_at_binding(graph: &State, exit: NodeId) -> bool {
    let is_ordered =
        |node: NodeId| graph.each_in_edge(node).any(|(_, edge)| matches!(edge.memlet.flow, Flow::Order));
    let waits = |edge: &Edge| is_ordered(edge.src) || is_ordered(edge.dst);
    graph.each_out_edge(exit).any(|(_, result)| bindings(graph, result.dst).any(waits))
}

/// Gives what follows the results of a map access nodes of its own, where these results also wait for nodes of the last part: the
/// map does not wait for them.
fn wait_behind(
    editor: &mut Editor<'_>,
    state: StateId,
    own: &BTreeSet<NodeId>,
    after: &BTreeSet<NodeId>,
) -> Result<(), EditError> {
    let graph = editor.state(state)?;
    let mut moved = late(graph, own, after);
    moved.retain(|(.., dst)| graph.node(*dst).kind.container().is_some() && !is_at_binding(graph, *dst));
    let mut behind = BTreeMap::new();
    for (edge, src, dst) in moved {
        let copy = match behind.get(&dst) {
            Some(copy) => *copy,
            None => {
                let copy = *behind.entry(dst).or_insert(copy_of_access(editor, state, dst)?);
                for edge in editor.state(state)?.out_edges(dst) {
                    let found = editor.state(state)?.edge(edge);
                    match (matches!(found.memlet.flow, Flow::Order), found.dst) {
                        (true, next) => editor.add_order(state, copy, next)?,
                        (false, next) if after.contains(&next) => {
                            editor.redirect_source(state, edge, copy, None)?
                        }
                        (false, _) => {}
                    }
                }
                editor.add_order(state, dst, copy)?;
                copy
            }
        };
        editor.add_order(state, src, copy)?;
        editor.remove_edge(state, edge)?;
    }
    Ok(())
}

/// Gives the first part access nodes of its own for what it reads from access nodes that nothing writes and that other parts read,
/// too. Tells whether there are any.
fn read_alone(editor: &mut Editor<'_>, state: StateId, before: &BTreeSet<NodeId>) -> Result<bool, EditError> {
    let graph = editor.state(state)?;
    let reads = |edge: &Edge| {
        before.contains(&edge.dst)
            && !before.contains(&edge.src)
            && !matches!(edge.memlet.flow, Flow::Order)
            && is_source(graph, edge.src)
    };
    let shared: Vec<(EdgeId, NodeId)> =
        graph.edges().filter(|(_, edge)| reads(edge)).map(|(id, edge)| (id, edge.src)).collect();
    let mut own = BTreeMap::new();
    for (edge, node) in &shared {
        let source = match own.get(node) {
            Some(source) => *source,
            None => *own.entry(*node).or_insert(copy_of_access(editor, state, *node)?),
        };
        editor.redirect_source(state, *edge, source, None)?;
    }
    Ok(!shared.is_empty())
}

/// A new access node of the container of another one.
fn copy_of_access(editor: &mut Editor<'_>, state: StateId, node: NodeId) -> Result<NodeId, EditError> {
    let Node { label, kind, .. } = editor.state(state)?.node(node).clone();
    let label = editor.derived_label(state, &label, "part")?;
    editor.add_node(state, Node { label, kind, loc: None })
}

/// Gives a map access nodes of its own for what it writes to access nodes that others write, too. These others do not lead to the
/// map, and run after it now; its elements stay in the container.
fn write_alone(editor: &mut Editor<'_>, state: StateId, entry: NodeId) -> Result<(), EditError> {
    let graph = editor.state(state)?;
    let exit = graph.exit_of(entry).unwrap_or(entry);
    let is_alone = |node: NodeId| {
        graph.each_in_edge(node).all(|(_, edge)| edge.src == exit || matches!(edge.memlet.flow, Flow::Order))
    };
    let writes = graph.each_out_edge(exit).filter(|(_, edge)| matches!(edge.memlet.flow, Flow::Write { .. }));
    let shared: Vec<(EdgeId, NodeId)> =
        writes.map(|(id, edge)| (id, edge.dst)).filter(|(_, node)| !is_alone(*node)).collect();
    let mut own = BTreeMap::new();
    for (edge, node) in shared {
        let target = match own.get(&node) {
            Some(target) => *target,
            None => *own.entry(node).or_insert(copy_of_access(editor, state, node)?),
        };
        editor.redirect_destination(state, edge, target, None)?;
    }
    Ok(())
}

/// Whether nothing writes an access node: it starts the state, or is a view of such a node.
fn is_source(state: &State, node: NodeId) -> bool {
    state.node(node).kind.container().is_some()
        && state
            .each_in_edge(node)
            .all(|(_, edge)| matches!(edge.memlet.flow, Flow::Bind(_)) && is_source(state, edge.src))
}

/// Adds to a part the nodes that bind its views: each part binds those that it uses.
fn add_bindings(state: &State, part: &mut BTreeSet<NodeId>) {
    let touches = |edge: &Edge, part: &BTreeSet<NodeId>| part.contains(&edge.src) || part.contains(&edge.dst);
    loop {
        let touched = state.edges().filter(|(_, edge)| touches(edge, part));
        let accessed = touched.flat_map(|(_, edge)| edge.memlet.accesses().map(|access| access.container));
        let named = part.iter().filter_map(|node| state.node(*node).kind.container());
        let used: BTreeSet<ContainerId> = accessed.chain(named).collect();
        let before = part.len();
        for (id, edge) in state.edges() {
            if bound_alias(state, id).is_some_and(|(alias, _)| used.contains(&alias)) {
                part.extend([edge.src, edge.dst]);
            }
        }
        if part.len() == before {
            return;
        }
    }
}

/// The nodes of a state around a map.
struct Parts {
    /// What leads to the map, apart from access nodes that nothing writes.
    before: BTreeSet<NodeId>,
    /// The map, and the access nodes at it.
    own: BTreeSet<NodeId>,
}

impl Parts {
    fn of(state: &State, entry: NodeId) -> Self {
        let tree = ScopeTree::of(state);
        let exit = state.exit_of(entry).unwrap_or(entry);
        let is_source = |node: NodeId| is_source(state, node);
        // One search for all nodes, since each match of a state asks.
        let earlier = ancestors(state, [entry]);
        let leads = |node: &&NodeId| **node != entry && earlier.contains(node);
        let first = tree.children(None).iter().filter(leads).filter(|node| !is_source(**node));
        let mut before: BTreeSet<NodeId> = first.copied().collect();
        for node in before.clone() {
            before.extend(contents(&tree, node));
        }
        // An access node that only the first part uses goes with it.
        for node in tree.children(None).iter().copied().filter(|node| is_source(*node)) {
            if state.each_out_edge(node).all(|(_, edge)| before.contains(&edge.dst))
                && state.each_out_edge(node).next().is_some()
            {
                before.insert(node);
            }
        }
        // Code of the first part writes all its results there; what reads one of them has another access node.
        let is_code = |node: NodeId| state.node(node).kind.container().is_none();
        let is_result = |node: &NodeId| {
            !is_code(*node)
                && state.each_in_edge(*node).all(|(_, edge)| before.contains(&edge.src))
                && state.each_in_edge(*node).any(|(_, edge)| is_code(edge.src))
        };
        let results: Vec<NodeId> = tree.children(None).iter().copied().filter(is_result).collect();
        before.extend(results);
        let mut own: BTreeSet<NodeId> = contents(&tree, entry).into_iter().chain([entry, exit]).collect();
        let moves = |flow: &Flow| !matches!(flow, Flow::Order);
        let sources = state.each_in_edge(entry).filter(|(_, edge)| moves(&edge.memlet.flow));
        let targets = state.each_out_edge(exit).filter(|(_, edge)| moves(&edge.memlet.flow));
        own.extend(sources.map(|(_, edge)| edge.src).chain(targets.map(|(_, edge)| edge.dst)));
        add_bindings(state, &mut own);
        Parts { before, own }
    }

    /// The other nodes.
    fn after(&self, state: &State) -> BTreeSet<NodeId> {
        let other = |node: &NodeId| !self.before.contains(node) && !self.own.contains(node);
        state.nodes().map(|(id, _)| id).filter(other).collect()
    }
}
