//! Program order per container: access nodes, passages through scopes, and order edges.
//!
//! A *unit* is the contribution of one builder call to a scope: a node, a copy, or a scope with its contents.
//! Each open scope is a *frame*, which records the last writer of every container and its readers since. The
//! *home* of a container is the frame of its access nodes: the scope that it is local to, or the state
//! itself. An access from deeper inside passes through the `IN_x`/`OUT_x` connectors of every scope in
//! between.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::analysis::node_leads_to;
use sdfg_graph::ir::draft::DraftState;
use sdfg_graph::ir::{
    Access, AccessedPart, ContainerId, Edge, Memlet, Node, NodeId, NodeKind, Port, SourceLoc, State,
};
use sdfg_language::subset::Subset;

use super::StateBuilder;

/// A scope to which nodes are added; the outermost frame is the state.
#[derive(Debug, Default)]
pub(super) struct ScopeFrame {
    /// Entry and exit.
    pub(super) scope: Option<(NodeId, NodeId)>,
    /// The stream that a consume scope takes elements from.
    pub(super) consumed: Option<ContainerId>,
    /// Containers whose access nodes are in this scope.
    pub(super) locals: BTreeSet<ContainerId>,
    /// Nodes directly in this scope.
    pub(super) nodes: Vec<NodeId>,
    /// Views that were bound in this scope, with what they name.
    aliases: BTreeMap<ContainerId, ContainerId>,
    histories: BTreeMap<ContainerId, History>,
    unit: Option<Unit>,
}

impl ScopeFrame {
    /// A scope between two nodes, and the stream that it consumes.
    pub(super) fn of_scope(entry: NodeId, exit: NodeId, consumed: Option<ContainerId>) -> Self {
        ScopeFrame { scope: Some((entry, exit)), consumed, ..ScopeFrame::default() }
    }
}

/// Accesses of a container in a frame.
#[derive(Debug, Default)]
struct History {
    /// The access node of the latest contents; only in the container's home.
    node: Option<NodeId>,
    /// The end of the last unit that wrote it.
    writer: Option<NodeId>,
    /// The ends of units that have read it since.
    readers: Vec<NodeId>,
}

/// Contribution of one call to a frame.
#[derive(Debug)]
struct Unit {
    first: NodeId,
    last: NodeId,
    touched: BTreeMap<ContainerId, Touch>,
    /// The call.
    loc: SourceLoc,
}

/// Access of a unit to a container.
#[derive(Debug, Default)]
struct Touch {
    reads: bool,
    writes: bool,
    /// The access node that it reads from; only in the container's home.
    before: Option<NodeId>,
    /// The access node that it writes to; only in the container's home.
    after: Option<NodeId>,
}

/// An end of an edge: a node, and its connector if it has one.
pub(super) type End = (NodeId, Option<String>);

impl StateBuilder<'_> {
    /// The frame that the access nodes of a container are in.
    pub(super) fn home(&self, container: ContainerId) -> usize {
        self.frames.iter().rposition(|frame| frame.locals.contains(&container)).unwrap_or(0)
    }

    pub(super) fn depth(&self) -> usize {
        self.frames.len() - 1
    }

    /// Adds a node to the innermost scope.
    pub(super) fn add(&mut self, label: &str, kind: NodeKind, loc: SourceLoc) -> NodeId {
        let label = self.state.fresh_label(label);
        let node = self.state.add_node(Node { label, kind, loc: Some(loc) });
        let depth = self.depth();
        self.frames[depth].nodes.push(node);
        node
    }

    /// Adds an access node to the frame that is the home of its container.
    fn add_access(&mut self, container: ContainerId, home: usize, loc: &SourceLoc) -> NodeId {
        let label = self.state.fresh_label(&self.program.sdfg.container(container).name);
        let kind = NodeKind::Access(container);
        let node = self.state.add_node(Node { label, kind, loc: Some(loc.clone()) });
        self.frames[home].nodes.push(node);
        node
    }

    pub(super) fn join(&mut self, src: End, dst: End, memlet: Memlet, loc: SourceLoc) {
        let (src, src_connector) = src;
        let (dst, dst_connector) = dst;
        self.state.add_edge(Edge { src, src_connector, dst, dst_connector, memlet, loc: Some(loc) });
    }

    /// Begins a unit of the innermost frame: a scope, or a node.
    pub(super) fn open_unit(&mut self, first: NodeId, last: NodeId, loc: &SourceLoc) {
        let depth = self.depth();
        self.frames[depth].unit = Some(Unit { first, last, touched: BTreeMap::new(), loc: loc.clone() });
    }

    /// Ends the unit of the innermost frame: orders it after the earlier units that it could disturb or depends on.
    pub(super) fn close_unit(&mut self) {
        let depth = self.depth();
        let Some(unit) = self.frames[depth].unit.take() else { return };
        for (container, touch) in unit.touched {
            let mut history = self.frames[depth].histories.remove(&container).unwrap_or_default();
            if let Some(before) = history.node.or(history.writer) {
                self.order_once(before, unit.first, &unit.loc);
            }
            if touch.writes {
                for reader in history.readers.drain(..) {
                    self.order_once(reader, unit.first, &unit.loc);
                }
                history = History { node: touch.after, writer: Some(unit.last), readers: Vec::new() };
            } else {
                history.node = touch.before.or(history.node);
                history.readers.push(unit.last);
            }
            self.frames[depth].histories.insert(container, history);
        }
    }

    /// Notes in every frame from a container's home inwards that the open unit accesses it; gives the home.
    fn touch(&mut self, container: ContainerId, note: impl Fn(&mut Touch)) -> usize {
        let home = self.home(container);
        for frame in &mut self.frames[home..] {
            let known = frame.histories.get(&container).and_then(|history| history.node);
            if let Some(unit) = &mut frame.unit {
                let touch = unit
                    .touched
                    .entry(container)
                    .or_insert_with(|| Touch { before: known, ..Touch::default() });
                note(touch);
            }
        }
        home
    }

    fn touched(&mut self, frame: usize, container: ContainerId) -> Option<&mut Touch> {
        self.frames[frame].unit.as_mut()?.touched.get_mut(&container)
    }

    /// Where the open unit of the innermost frame reads a container from.
    pub(super) fn source_of(&mut self, container: ContainerId, loc: &SourceLoc) -> End {
        let home = self.touch(container, |touch| touch.reads = true);
        for target in self.aliased(container, home) {
            self.touch(target, |touch| touch.reads = true);
        }
        let node = match self.touched(home, container).and_then(|touch| touch.before) {
            Some(node) => node,
            None => {
                let node = self.add_access(container, home, loc);
                if let Some(touch) = self.touched(home, container) {
                    touch.before = Some(node);
                }
                node
            }
        };
        let mut end = (node, None);
        for inner in home + 1..self.frames.len() {
            let Some((entry, _)) = self.frames[inner].scope else { continue };
            let name = self.passage(inner, container);
            if self.state.edges_at(entry, Port::In(&name)).is_empty() {
                let memlet = Memlet::read(self.whole(container));
                self.join(end, (entry, Some(Port::In(&name).into())), memlet, loc.clone());
            }
            end = (entry, Some(Port::Out(&name).into()));
        }
        end
    }

    /// Where the open unit of the innermost frame writes a container to.
    pub(super) fn destination_of(&mut self, container: ContainerId, loc: &SourceLoc) -> End {
        let home = self.touch(container, |touch| touch.writes = true);
        let node = match self.touched(home, container).and_then(|touch| touch.after) {
            Some(node) => node,
            None => {
                let node = self.add_access(container, home, loc);
                if let Some(touch) = self.touched(home, container) {
                    touch.after = Some(node);
                }
                node
            }
        };
        for target in self.aliased(container, home) {
            self.write_through(node, target, home, loc);
        }
        let mut end = (node, None);
        for inner in home + 1..self.frames.len() {
            let Some((_, exit)) = self.frames[inner].scope else { continue };
            let name = &self.program.sdfg.container(container).name;
            let (inside, is_known) =
                (Port::In(name).into(), !self.state.edges_at(exit, Port::Out(name)).is_empty());
            if !is_known {
                let (outer, memlet) = (Port::Out(name).into(), Memlet::write(self.whole(container)));
                self.join((exit, Some(outer)), end, memlet, loc.clone());
            }
            end = (exit, Some(inside));
        }
        end
    }

    /// What an alias names that was bound in a frame, and what a reference may name that was set elsewhere; of these, what
    /// is at home in the same frame.
    fn aliased(&self, alias: ContainerId, home: usize) -> Vec<ContainerId> {
        let bound = self.frames[home].aliases.get(&alias).copied();
        let elsewhere = self.program.targets.get(&alias).filter(|_| bound.is_none());
        let all = bound.into_iter().chain(elsewhere.into_iter().flatten().copied());
        all.filter(|target| self.home(*target) == home).collect()
    }

    /// Notes that the open unit writes a container by way of a view: what comes later finds the new contents behind the
    /// access node of the view.
    fn write_through(&mut self, view: NodeId, target: ContainerId, home: usize, loc: &SourceLoc) {
        self.touch(target, |touch| touch.writes = true);
        if self.touched(home, target).is_some_and(|touch| touch.after.is_some()) {
            return;
        }
        let node = self.add_access(target, home, loc);
        if let Some(touch) = self.touched(home, target) {
            touch.after = Some(node);
        }
        self.join((view, None), (node, None), Memlet::order(), loc.clone());
    }

    /// An access node that a copy may start from: everything that must come before the copy comes before it.
    fn copy_source(&mut self, from: ContainerId, to: ContainerId, loc: &SourceLoc) -> NodeId {
        let depth = self.depth();
        let mut earlier = BTreeSet::new();
        if let Some(history) = self.frames[depth].histories.get(&to) {
            earlier.extend(history.readers.iter().copied().chain(history.writer).chain(history.node));
        }
        let latest = self.frames[depth].histories.get(&from).and_then(|history| history.node);
        match latest {
            Some(node) if earlier.iter().all(|before| node_leads_to(&self.state, *before, node)) => node,
            Some(_) | None => {
                let node = self.add_access(from, depth, loc);
                for before in latest.into_iter().chain(earlier) {
                    self.order_once(before, node, loc);
                }
                node
            }
        }
    }

    /// Adds a copy between two containers, at least one of which is at home in the innermost frame; whether that is so.
    pub(super) fn add_copy(&mut self, memlet: Memlet, from: &Access, to: &Access, loc: SourceLoc) -> bool {
        let depth = self.depth();
        let (source, target) = (from.container, to.container);
        match (self.home(source) == depth, self.home(target) == depth) {
            (false, false) => return false,
            (false, true) => {
                let node = self.add_access(target, depth, &loc);
                self.open_unit(node, node, &loc);
                self.touch(target, |touch| touch.writes = true);
                if let Some(touch) = self.touched(depth, target) {
                    touch.after = Some(node);
                }
                let end = self.source_of(source, &loc);
                self.join(end, (node, None), memlet, loc);
            }
            (true, local_target) => {
                let node = self.copy_source(source, target, &loc);
                let after = local_target.then(|| self.add_access(target, depth, &loc));
                self.open_unit(node, after.unwrap_or(node), &loc);
                self.touch(source, |touch| touch.reads = true);
                if let Some(touch) = self.touched(depth, source) {
                    touch.before = Some(node);
                }
                self.touch(target, |touch| touch.writes = true);
                if let (Some(after), Some(touch)) = (after, self.touched(depth, target)) {
                    touch.after = Some(after);
                }
                let end = match after {
                    Some(after) => (after, None),
                    None => self.destination_of(target, &loc),
                };
                self.join((node, None), end, memlet, loc);
            }
        }
        self.close_unit();
        true
    }

    /// Adds a view or reference at home in the innermost frame that names a part of another container.
    pub(super) fn add_binding(&mut self, alias: ContainerId, target: Access, loc: SourceLoc) -> NodeId {
        let depth = self.depth();
        if depth > 0 {
            self.frames[depth].locals.insert(alias);
        }
        let node = self.add_access(alias, depth, &loc);
        self.open_unit(node, node, &loc);
        self.touch(alias, |touch| touch.writes = true);
        if let Some(touch) = self.touched(depth, alias) {
            touch.after = Some(node);
        }
        let named = target.container;
        let end = self.source_of(named, &loc);
        self.join(end, (node, None), Memlet::bind(target), loc);
        self.close_unit();
        self.frames[depth].aliases.insert(alias, named);
        node
    }

    /// The access node of the latest contents of a container, which is made if there is none.
    pub(super) fn latest(&mut self, container: ContainerId, loc: &SourceLoc) -> NodeId {
        let home = self.home(container);
        if let Some(node) = self.frames[home].histories.get(&container).and_then(|history| history.node) {
            return node;
        }
        let node = self.add_access(container, home, loc);
        self.frames[home].histories.entry(container).or_default().node = Some(node);
        node
    }

    /// Ends the innermost scope: every node in it follows the entry and leads to the exit.
    pub(super) fn close_frame(&mut self) {
        let Some(ScopeFrame { scope: Some((entry, exit)), nodes, .. }) = self.frames.pop() else { return };
        let loc =
            |node: NodeId, state: &State| state.node(node).loc.clone().unwrap_or_else(SourceLoc::caller);
        for node in &nodes {
            if self.state.in_edges(*node).is_empty() {
                self.order_once(entry, *node, &loc(*node, &self.state));
            }
        }
        for node in &nodes {
            if self.state.out_edges(*node).is_empty() {
                self.order_once(*node, exit, &loc(*node, &self.state));
            }
        }
        if nodes.is_empty() {
            self.order_once(entry, exit, &loc(entry, &self.state));
        }
        self.close_unit();
    }

    /// Orders two nodes unless they are ordered already.
    pub(super) fn order_once(&mut self, before: NodeId, after: NodeId, loc: &SourceLoc) {
        if !node_leads_to(&self.state, before, after) {
            self.join((before, None), (after, None), Memlet::order(), loc.clone());
        }
    }

    /// The name of the connectors by which a container enters the scope of a frame.
    fn passage(&self, frame: usize, container: ContainerId) -> String {
        if self.frames[frame].consumed == Some(container) {
            "stream".to_owned()
        } else {
            self.program.sdfg.container(container).name.clone()
        }
    }

    /// All of a container: what an outer memlet says until propagation tells more.
    fn whole(&self, container: ContainerId) -> Access {
        let declared = self.program.sdfg.container(container);
        let subset = Subset::full(declared.shape());
        let place =
            if declared.is_stream() { AccessedPart::Queues(subset) } else { AccessedPart::Elements(subset) };
        Access { container, place }
    }
}
