//! Edits of edges: adding, redirecting and removing them, and changing their memlets.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::analysis::{memlet_path, reached};
use sdfg_graph::ir::{
    ConflictResolution, Edge, EdgeId, Flow, Memlet, NodeId, NodeKind, Port, State, StateId,
};
use sdfg_graph::workspace::{inner_segments, outer_segments};

use super::editor::Editor;
use super::local::check_alike;
use super::{EditError, expect_edge, expect_node};

impl Editor<'_> {
    /// Adds an edge. Its memlet is taken as it is; where it passes a scope, it is derived when the series ends.
    ///
    /// # Errors
    /// If a node has no such connector ([`EditError::NoConnector`], [`EditError::ConnectorMisplaced`]), or the edge would
    /// close a cycle.
    pub fn add_edge(&mut self, state: StateId, edge: Edge) -> Result<EdgeId, EditError> {
        let graph = self.state(state)?;
        let orders = matches!(edge.memlet.flow, Flow::Order);
        for (id, connector, into) in
            [(edge.src, &edge.src_connector, false), (edge.dst, &edge.dst_connector, true)]
        {
            let node = expect_node(graph, id)?;
            fits(&node.label, &node.kind, orders, connector.as_deref(), into)?;
        }
        self.put_edge(state, edge)
    }

    /// Adds an edge that only orders, unless there is an edge between the two nodes.
    ///
    /// # Errors
    /// [`EditError::NoState`], [`EditError::NoNode`] and [`EditError::Cycle`].
    pub fn add_order(&mut self, state: StateId, src: NodeId, dst: NodeId) -> Result<(), EditError> {
        let graph = self.state(state)?;
        expect_node(graph, src)?;
        expect_node(graph, dst)?;
        self.order(state, src, dst)
    }

    /// Gives an edge another memlet. What is derived from it follows when the series ends.
    ///
    /// # Errors
    /// [`EditError::NoState`], [`EditError::NoEdge`], and [`EditError::NoContainer`] for a container that is not there.
    pub fn set_memlet(&mut self, state: StateId, edge: EdgeId, memlet: Memlet) -> Result<(), EditError> {
        expect_edge(self.state(state)?, edge)?;
        let missing = memlet.accesses().find(|access| self.sdfg().get_container(access.container).is_none());
        if let Some(access) = missing {
            return Err(EditError::NoContainer(access.container));
        }
        self.put_memlet(state, edge, memlet);
        Ok(())
    }

    /// Resolves conflicts of a write in another way, or in none.
    ///
    /// # Errors
    /// [`EditError::NoState`], [`EditError::NoEdge`], and [`EditError::CannotCross`] for an edge that writes nothing.
    pub fn set_resolution(
        &mut self,
        state: StateId,
        edge: EdgeId,
        resolution: Option<ConflictResolution>,
    ) -> Result<(), EditError> {
        let graph = self.state(state)?;
        let mut memlet = expect_edge(graph, edge)?.memlet.clone();
        match &mut memlet.flow {
            Flow::Write { resolution: own, .. } | Flow::Copy { resolution: own, .. } => *own = resolution,
            Flow::Order | Flow::Read(_) | Flow::Value | Flow::Bind(_) => {
                return Err(super::subgraph::cannot_cross(graph, edge, "only writes have conflicts"));
            }
        }
        self.put_memlet(state, edge, memlet);
        Ok(())
    }

    /// Lets an edge start at another node or connector. It keeps its id and what it moves; if the new source brings another
    /// container, memlets of the edge and inside of it name that one. Segments outside that carry nothing any more go, and
    /// access nodes that are left without edges.
    ///
    /// ```
    /// # mod sdfg { pub use sdfg_edit::edit; pub use sdfg_graph::text; }
    /// # use sdfg::{edit::Editor, text};
    /// let mut program = text::parse("p.sdft", "
    /// sdfg p {
    ///   array A: f64[4]
    ///   array B: f64[4]
    ///   array C: f64[4]
    ///   state s {
    ///     access A
    ///     access B
    ///     access C
    ///     tasklet t (x, y) -> (z) { z = x + y }
    ///     A -> t.x: A[0]
    ///     B -> t.y: B[1]
    ///     t.z -> C: C[2]
    ///   }
    /// }").unwrap();
    /// let state = program.states().next().unwrap().0;
    /// let mut editor = Editor::new(&mut program);
    /// let [b, t] = ["B", "t"].map(|label| editor.find(state, label).unwrap());
    /// let edge = editor.state(state)?.in_edges(t)[0];
    /// editor.redirect_source(state, edge, b, None)?;
    /// editor.commit()?;
    /// let printed = text::print(&program);
    /// assert!(printed.contains("B -> t.x: B[0]") && !printed.contains("access A"));
    /// # Ok::<(), sdfg::edit::EditError>(())
    /// ```
    ///
    /// # Errors
    /// If the node has no such connector, the edge would close a cycle, or what the edge moves cannot come from there
    /// ([`EditError::Container`], [`EditError::Misplaced`]).
    pub fn redirect_source(
        &mut self,
        state: StateId,
        edge: EdgeId,
        node: NodeId,
        connector: Option<&str>,
    ) -> Result<(), EditError> {
        self.redirect(state, edge, (node, connector), false)
    }

    /// Lets an edge end at another node or connector; as [`redirect_source`](Editor::redirect_source).
    ///
    /// # Errors
    /// As [`redirect_source`](Editor::redirect_source).
    pub fn redirect_destination(
        &mut self,
        state: StateId,
        edge: EdgeId,
        node: NodeId,
        connector: Option<&str>,
    ) -> Result<(), EditError> {
        self.redirect(state, edge, (node, connector), true)
    }

    /// Moves the destination of an edge, or its source.
    fn redirect(
        &mut self,
        state: StateId,
        edge: EdgeId,
        (node, connector): (NodeId, Option<&str>),
        is_destination: bool,
    ) -> Result<(), EditError> {
        let graph = self.state(state)?;
        let old = expect_edge(graph, edge)?;
        let to = expect_node(graph, node)?;
        let orders = matches!(old.memlet.flow, Flow::Order);
        fits(&to.label, &to.kind, orders, connector, is_destination)?;
        let new = (node, connector.map(str::to_owned));
        let (src, dst) = ((old.src, old.src_connector.clone()), (old.dst, old.dst_connector.clone()));
        let left = if is_destination { old.dst } else { old.src };
        let outer: Vec<EdgeId> = outer_segments(graph, edge).collect();
        self.attempt(|editor| {
            let mut touched = Touched::begin(editor, state);
            touched.add(editor, left);
            let (src, dst) = if is_destination { (src, new) } else { (new, dst) };
            editor.move_edge(state, edge, src, dst)?;
            editor.retarget(state, edge)?;
            outer.into_iter().for_each(|outer| editor.remove_if_idle(state, outer, &mut touched));
            touched.tidy(editor)
        })
    }

    /// Lets the memlets of an edge and inside of it name the containers outside that the edge leads from and to.
    pub(super) fn retarget(&mut self, state: StateId, edge: EdgeId) -> Result<(), EditError> {
        let graph = self.graph(state);
        let moved = graph.edge(edge).clone();
        let path = memlet_path(graph, edge);
        let root = |id: Option<NodeId>| id.and_then(|id| graph.node(id).kind.container());
        let from = root(path.first().map(|edge| graph.edge(*edge).src));
        let to = root(path.last().map(|edge| graph.edge(*edge).dst));
        let [src, dst] = [moved.src, moved.dst].map(|id| graph.node(id));
        let is_right = match &moved.memlet.flow {
            Flow::Order | Flow::Bind(_) => true,
            Flow::Value => src.kind.is_code() && dst.kind.is_code(),
            Flow::Read(_) => from.is_some() && dst.kind.container().is_none(),
            Flow::Write { .. } => to.is_some() && src.kind.container().is_none(),
            Flow::Copy { .. } => from.is_some() && to.is_some(),
        };
        if !is_right {
            return Err(EditError::Misplaced { src: src.label.clone(), dst: dst.label.clone() });
        }
        for segment in segments_from(graph, edge) {
            let mut memlet = self.graph(state).edge(segment).memlet.clone();
            let (read, written) = match &mut memlet.flow {
                Flow::Read(access) => (Some(access), None),
                Flow::Write { to: access, .. } => (None, Some(access)),
                Flow::Copy { from, to, .. } => (Some(from), Some(to)),
                Flow::Order | Flow::Value | Flow::Bind(_) => (None, None),
            };
            // Inside, a copy has an end of its own.
            let read = read.filter(|_| moved.memlet.read_access().is_some()).zip(from);
            let written = written.filter(|_| moved.memlet.write_access().is_some()).zip(to);
            let mut is_same = true;
            for (access, container) in read.into_iter().chain(written) {
                check_alike(self.sdfg(), access.container, container)?;
                is_same &= access.container == container;
                access.container = container;
            }
            if !is_same {
                self.put_memlet(state, segment, memlet);
            }
        }
        Ok(())
    }

    /// Removes an edge and what becomes pointless with it: the segments of its path inside of it, those outside of it that
    /// then carry nothing, and access nodes that are left without edges. Nodes stay in their scopes.
    ///
    /// A code node keeps its connector; it has to be connected again or replaced.
    ///
    /// # Errors
    /// [`EditError::NoState`] and [`EditError::NoEdge`].
    pub fn remove_edge(&mut self, state: StateId, edge: EdgeId) -> Result<(), EditError> {
        expect_edge(self.state(state)?, edge)?;
        self.attempt(|editor| {
            let mut touched = Touched::begin(editor, state);
            editor.remove_path(state, edge, &mut touched);
            touched.tidy(editor)
        })
    }

    /// Removes an edge, all inside of it, and outside of it what carries nothing else.
    pub(super) fn remove_path(&mut self, state: StateId, edge: EdgeId, touched: &mut Touched) {
        if self.graph(state).get_edge(edge).is_none() {
            return;
        }
        let outer: Vec<EdgeId> = outer_segments(self.graph(state), edge).collect();
        let mut waiting = vec![edge];
        while let Some(edge) = waiting.pop() {
            waiting.extend(inner_segments(self.graph(state), edge));
            touched.take(self, edge);
        }
        outer.into_iter().for_each(|outer| self.remove_if_idle(state, outer, touched));
    }

    /// Removes a segment that nothing inside goes on from, and so on outwards.
    fn remove_if_idle(&mut self, state: StateId, segment: EdgeId, touched: &mut Touched) {
        let mut waiting = vec![segment];
        while let Some(edge) = waiting.pop() {
            let graph = self.graph(state);
            if graph.get_edge(edge).is_some() && !has_inner(graph, edge) {
                waiting.extend(outer_segments(graph, edge));
                touched.take(self, edge);
            }
        }
    }
}

/// Whether an edge is needed: it moves data itself, or goes on inside of a scope.
fn has_inner(state: &State, edge: EdgeId) -> bool {
    let found = state.edge(edge);
    if state.node(found.dst).kind.is_scope_entry() {
        let Some(name) = found.in_port() else { return true };
        return !state.edges_at(found.dst, Port::Out(name)).is_empty();
    }
    if state.node(found.src).kind.exit_of().is_some() {
        let Some(name) = found.out_port() else { return true };
        return !state.edges_at(found.src, Port::In(name)).is_empty();
    }
    true
}

/// An edge and the segments inside of it.
fn segments_from(graph: &State, edge: EdgeId) -> BTreeSet<EdgeId> {
    reached([edge], |segment| inner_segments(graph, segment))
}

/// Nodes that lose edges, with the scopes that they were in.
pub(super) struct Touched {
    state: StateId,
    nodes: BTreeMap<NodeId, Option<NodeId>>,
}

impl Touched {
    /// Scopes are told as they are now, until scopes are asked for again.
    pub(super) fn begin(editor: &mut Editor<'_>, state: StateId) -> Self {
        editor.refresh_scopes(state);
        Touched { state, nodes: BTreeMap::new() }
    }

    /// A node loses an edge.
    pub(super) fn add(&mut self, editor: &mut Editor<'_>, id: NodeId) {
        let scope = editor.indexed(self.state, |_, index| index.scope_of(id));
        self.nodes.entry(id).or_insert(scope);
    }

    /// Removes an edge.
    pub(super) fn take(&mut self, editor: &mut Editor<'_>, edge: EdgeId) {
        if let Some(removed) = editor.take_edge(self.state, edge) {
            self.add(editor, removed.src);
            self.add(editor, removed.dst);
        }
    }

    /// Nodes that are gone need no care.
    pub(super) fn forget(&mut self, is_gone: impl Fn(NodeId) -> bool) {
        self.nodes.retain(|id, _| !is_gone(*id));
    }

    /// Removes access nodes without edges, and keeps other nodes in their scopes.
    pub(super) fn tidy(self, editor: &mut Editor<'_>) -> Result<(), EditError> {
        let state = self.state;
        for (id, scope) in &self.nodes {
            let graph = editor.graph(state);
            let Some(node) = graph.get_node(*id) else { continue };
            let is_idle = |edges: usize| edges == 0;
            let no_in = is_idle(graph.each_in_edge(*id).take(1).count());
            let no_out = is_idle(graph.each_out_edge(*id).take(1).count());
            if no_in && no_out && matches!(node.kind, NodeKind::Access(_)) {
                editor.take_node(state, *id);
            } else {
                keep_in_scope(editor, state, *id, *scope, (no_in, no_out))?;
            }
        }
        // A removed access node may have been the only thing in its scope.
        for entry in self.nodes.iter().flat_map(|(id, scope)| [Some(*id), *scope]).flatten() {
            let graph = editor.graph(state);
            // Only entries have an exit that is found without a look at all nodes.
            if graph.get_node(entry).is_some_and(|node| node.kind.is_scope_entry())
                && let Some(exit) = graph.exit_of(entry)
                && graph.each_out_edge(entry).next().is_none()
                && graph.each_in_edge(exit).next().is_none()
            {
                editor.order(state, entry, exit)?;
            }
        }
        Ok(())
    }
}

/// Orders a node without edges on a side after the entry or before the exit of its scope.
fn keep_in_scope(
    editor: &mut Editor<'_>,
    state: StateId,
    id: NodeId,
    scope: Option<NodeId>,
    (no_in, no_out): (bool, bool),
) -> Result<(), EditError> {
    let graph = editor.graph(state);
    let Some(scope) = scope else { return Ok(()) };
    let Some(exit) = graph.exit_of(scope).filter(|_| graph.get_node(scope).is_some()) else { return Ok(()) };
    let kind = &graph.node(id).kind;
    let (is_entry, is_exit) = (kind.is_scope_entry(), kind.exit_of().is_some());
    if no_in && !is_exit {
        editor.order(state, scope, id)?;
    }
    if no_out && !is_entry {
        editor.order(state, id, exit)?;
    }
    Ok(())
}

/// Refuses an edge at a connector that the node does not have.
pub(super) fn check_connector(
    state: &State,
    edge: EdgeId,
    id: NodeId,
    connector: Option<&str>,
    into: bool,
) -> Result<(), EditError> {
    let node = state.node(id);
    let orders = matches!(state.edge(edge).memlet.flow, Flow::Order);
    fits(&node.label, &node.kind, orders, connector, into)
}

/// Refuses an edge at a connector that a node of this kind does not have.
pub(super) fn fits(
    label: &str,
    kind: &NodeKind,
    orders: bool,
    connector: Option<&str>,
    into: bool,
) -> Result<(), EditError> {
    let fits = match kind {
        NodeKind::Access(_) | NodeKind::Reduce(_) => connector.is_none(),
        NodeKind::Tasklet(_) | NodeKind::Nested(_) | NodeKind::Library(_) => {
            let declared = if into { kind.inputs() } else { kind.outputs() };
            match connector {
                None => orders,
                Some(name) => {
                    if !orders && !declared.iter().any(|connector| connector.name == name) {
                        let (label, connector) = (label.to_owned(), name.to_owned());
                        return Err(EditError::NoConnector { label, connector });
                    }
                    !orders
                }
            }
        }
        NodeKind::MapEntry(_) | NodeKind::ConsumeEntry(_) if into => connector.is_some() != orders,
        NodeKind::MapEntry(_) | NodeKind::ConsumeEntry(_) => match connector {
            None => orders,
            Some(name) => !orders && matches!(Port::parse(name), Some(Port::Out(_))),
        },
        NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => match connector {
            None => orders,
            Some(name) => {
                !orders && Port::parse(name).is_some_and(|port| matches!(port, Port::In(_)) == into)
            }
        },
    };
    if fits {
        return Ok(());
    }
    let connector = connector.unwrap_or_default().to_owned();
    Err(EditError::ConnectorMisplaced { label: label.to_owned(), kind: kind.noun(), connector })
}
