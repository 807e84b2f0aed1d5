//! Parts of a graph that may wait for each other at streams.
//!
//! Nodes run one after the other in topological order if that order terminates whenever any order does. It
//! may not if two unordered nodes use the same stream and one of them may wait there. In that case, each node
//! becomes a task.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::{ScopeTree, consumed_by, followers, is_leaf, reached};
use sdfg::ir::{Consume, ContainerId, ContainerKind, Flow, NodeId, NodeKind, Sdfg, State, Volume};

use super::call_frame::CallFrame;
use super::dataflow::Graph;

/// Effects of a part of a graph on one existing stream.
#[derive(Clone, Copy, Debug, Default)]
struct StreamUse {
    pops: bool,
    pushes: bool,
    /// Whether a pop or a push may wait.
    waits: bool,
}

/// Effects of a part of a graph on streams.
#[derive(Debug, Default)]
struct StreamUses {
    streams: BTreeMap<ContainerId, StreamUse>,
    /// Whether a consume scope ends by a condition, which may wait for anything.
    has_condition: bool,
}

impl Graph<'_, '_> {
    /// Whether nodes directly inside of a scope that no path orders may wait for each other.
    pub(super) fn has_blocking_nodes(&self, sdfg: &Sdfg, scope: Option<NodeId>) -> bool {
        if !has_streams(sdfg) {
            return false;
        }
        let is_exit = |child: NodeId| self.state.node(child).kind.exit_of().is_some();
        let children: Vec<NodeId> =
            self.tree.children(scope).iter().copied().filter(|child| !is_exit(*child)).collect();
        let uses: Vec<StreamUses> = children.iter().map(|child| self.uses(sdfg, &[*child])).collect();
        let meet = |a: &StreamUses, b: &StreamUses| {
            let at = |id: &ContainerId| {
                a.streams.get(id).zip(b.streams.get(id)).is_some_and(|(a, b)| a.waits || b.waits)
            };
            a.has_condition || b.has_condition || a.streams.keys().any(at)
        };
        let unordered = |a: NodeId, b: NodeId| {
            let leads = |from, to| reachable(self.state, self.tree, from).contains(&to);
            !leads(a, b) && !leads(b, a)
        };
        (0..children.len())
            .any(|i| (0..i).any(|j| meet(&uses[i], &uses[j]) && unordered(children[i], children[j])))
    }

    /// Whether iterations of a scope may wait for each other.
    ///
    /// They do not if all of them only take from streams without a bound: what one waits for comes from outside of the scope, whichever has
    /// run before.
    pub(super) fn has_blocking_iterations(&self, frame: &CallFrame<'_>, entry: NodeId) -> bool {
        let sdfg = frame.sdfg;
        if !has_streams(sdfg) {
            return false;
        }
        let mut uses = self.uses(sdfg, self.tree.children(Some(entry)));
        // Streams that live in one iteration are nobody else's.
        let is_own = |scope| scope == entry || self.tree.enclosing(scope).any(|outer| outer == entry);
        uses.streams.retain(|id, _| {
            !frame.owning_scopes.get(id).is_some_and(|(state, scope)| *state == self.id && is_own(*scope))
        });
        let waits = uses.streams.values().any(|each| each.waits);
        let only_pops = uses.streams.iter().all(|(id, each)| !each.pushes && !is_bounded(sdfg, *id));
        uses.has_condition || (waits && !only_pops)
    }

    /// Whether something inside of a scope pushes to streams.
    pub(super) fn pushes_inside(&self, sdfg: &Sdfg, entry: NodeId) -> bool {
        has_streams(sdfg)
            && self.uses(sdfg, self.tree.children(Some(entry))).streams.values().any(|each| each.pushes)
    }

    /// Whether something inside of a scope uses streams.
    pub(super) fn uses_streams_inside(&self, sdfg: &Sdfg, entry: NodeId) -> bool {
        let uses = || self.uses(sdfg, self.tree.children(Some(entry)));
        has_streams(sdfg) && !uses().streams.is_empty()
    }

    /// Effects on streams of some nodes with everything inside them.
    fn uses(&self, sdfg: &Sdfg, nodes: &[NodeId]) -> StreamUses {
        let inside = |node: NodeId| {
            let opened = self.state.node(node).kind.exit_of();
            nodes.contains(&node)
                || opened.is_some_and(|entry| nodes.contains(&entry))
                || self.tree.enclosing(node).any(|scope| nodes.contains(&scope))
        };
        let mut uses = StreamUses::default();
        for (id, node) in self.state.nodes() {
            if let NodeKind::ConsumeEntry(consume) = &node.kind {
                uses.has_condition |= consume.condition.is_some() && inside(id);
            }
        }
        for (id, edge) in self.state.edges() {
            let begins_consume = edge.in_port() == Some(Consume::PORT) && inside(edge.dst);
            if begins_consume {
                if let Some(read) = edge.memlet.read_access() {
                    // It ends without an element, so it waits for nobody but its own processing elements.
                    uses.streams.entry(read.container).or_default().pops = true;
                }
                continue;
            }
            if !is_leaf(self.state, id) {
                continue;
            }
            let is_nested = |node: NodeId| matches!(self.state.node(node).kind, NodeKind::Nested(_));
            let (read, written) = match &edge.memlet.flow {
                Flow::Read(read) => (Some(read), None),
                Flow::Write { to, .. } => (None, Some(to)),
                Flow::Copy { from, to, .. } => (Some(from), Some(to)),
                Flow::Order | Flow::Value | Flow::Bind(_) => (None, None),
            };
            // A copy is made at the access node that it ends or, out of a scope, at the one that it begins.
            let is_copy = matches!(edge.memlet.flow, Flow::Copy { .. });
            let leaves = self.state.node(edge.dst).kind.exit_of().is_some();
            let ends_there = if is_copy { !leaves } else { read.is_some() };
            let at = if ends_there { edge.dst } else { edge.src };
            if !inside(at) {
                continue;
            }
            let is_exact = matches!(edge.memlet.volume, Volume::Exact(_));
            if let Some(read) = read.filter(|read| {
                sdfg.container(read.container).is_stream() && consumed_by(self.state, id).is_none()
            }) {
                let each = uses.streams.entry(read.container).or_default();
                each.pops = true;
                each.waits |= is_exact || is_nested(edge.dst);
            }
            if let Some(to) = written.filter(|to| sdfg.container(to.container).is_stream()) {
                let each = uses.streams.entry(to.container).or_default();
                each.pushes = true;
                each.waits |= is_bounded(sdfg, to.container);
            }
        }
        uses
    }
}

/// Most programs have none, and nothing of this needs to be looked at.
fn has_streams(sdfg: &Sdfg) -> bool {
    sdfg.containers().any(|(_, container)| container.is_stream())
}

fn is_bounded(sdfg: &Sdfg, id: ContainerId) -> bool {
    match &sdfg.container(id).kind {
        ContainerKind::Stream { capacity, .. } => capacity.is_some(),
        ContainerKind::Scalar
        | ContainerKind::Array(_)
        | ContainerKind::View(_)
        | ContainerKind::Reference(_) => false,
    }
}

/// The nodes that come after a node, in its own scope; an exit leads on from its entry.
pub(super) fn reachable(state: &State, tree: &ScopeTree, from: NodeId) -> BTreeSet<NodeId> {
    let behind = |node| followers(state, tree.exit_of(node).unwrap_or(node));
    reached(behind(from), behind)
}
