//! Turns nodes into a call of a nested SDFG.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::analysis::accesses::control_flow_reads;
use sdfg_graph::analysis::symbols::{UNDECLARED_SYMBOL, free_symbols, symbol_types_in};
use sdfg_graph::analysis::{ScopeTree, consumed_by};
use sdfg_graph::ir::draft::{DraftSdfg, DraftState};
use sdfg_graph::ir::{
    Access, Connector, ContainerId, Edge, EdgeId, Flow, Lifetime, Memlet, NestedSdfg, Node, NodeId, NodeKind,
    Sdfg, State, StateId, Volume,
};
use sdfg_language::subset::Subset;
use sdfg_language::symbolic::{Expr, Symbol};

use super::EditError;
use super::copies::copy_into;
use super::edge::Touched;
use super::editor::Editor;
use super::primitive::End;
use super::scope::{check_entering, check_leaving};
use super::subgraph::{Subgraph, cannot_cross};

impl Editor<'_> {
    /// Moves nodes of one scope into an SDFG of their own, which a node with this label calls in their place. Gives that node.
    ///
    /// Containers that the nodes share with others become arguments of the same names and are bound as a whole; transients
    /// that only they use move along. Symbols are passed under their own names. The program means the same as before. Looks
    /// at all of the program for other uses of the containers.
    ///
    /// # Errors
    /// If the nodes cannot be one ([`EditError::DifferentScopes`], [`EditError::NotConvex`]), if an edge cannot be cut
    /// ([`EditError::CannotCross`]), if a view or reference is used on both sides ([`EditError::Container`]), or if the label
    /// is taken.
    pub fn wrap_in_nested(
        &mut self,
        state: StateId,
        nodes: &BTreeSet<NodeId>,
        label: &str,
    ) -> Result<NodeId, EditError> {
        self.check_label(state, label)?;
        let subgraph = Subgraph::of(self, state, nodes)?;
        let graph = self.graph(state);
        subgraph.entering.iter().try_for_each(|edge| check_entering(graph, *edge))?;
        if let Some(edge) = subgraph.entering.iter().find(|edge| consumed_by(graph, **edge).is_some()) {
            return Err(cannot_cross(
                graph,
                *edge,
                "the element that a consume scope took is no part of a container",
            ));
        }
        subgraph.leaving.iter().try_for_each(|edge| check_leaving(graph, *edge))?;
        check_conditions(self.sdfg(), subgraph.nodes.iter().map(|id| graph.node(*id)))?;
        let sdfg = self.sdfg();
        let tree = ScopeTree::of(graph);
        let scope = subgraph.scope;
        let uses = Uses::of(sdfg, state, &subgraph, scope)?;
        let mut called = called(sdfg, graph, &subgraph, &uses, label);
        let types = symbol_types_in(sdfg, graph, &tree, scope);
        let symbols = free_symbols(&called);
        for symbol in &symbols {
            called.declare_symbol(symbol.clone(), types.get(symbol).copied().unwrap_or(UNDECLARED_SYMBOL));
        }
        let connectors = |all: &BTreeSet<ContainerId>| -> Vec<Connector> {
            all.iter().map(|id| Connector::new(&sdfg.container(*id).name)).collect()
        };
        let mapping = |symbol: Symbol| (symbol.clone(), Expr::symbol(symbol));
        let nested = NestedSdfg {
            inputs: connectors(&uses.reads),
            outputs: connectors(&uses.writes),
            sdfg: called,
            symbol_mapping: symbols.into_iter().map(mapping).collect(),
        };
        let kind = NodeKind::Nested(Box::new(nested));
        self.attempt(|editor| {
            let mut touched = Touched::begin(editor, state);
            let id = editor.put_node(state, Node { label: label.to_owned(), kind, loc: None });
            editor.mark_inside(state, id);
            if let Some((first, _)) = subgraph.ends(editor, state) {
                editor.indexed(state, |_, index| index.place_before(id, first));
            }
            let around = scope.and_then(|entry| Some((entry, editor.graph(state).exit_of(entry)?)));
            editor.bind(state, &subgraph, &uses, id, around)?;
            editor.remove_subgraph(state, &subgraph, &mut touched);
            if let Some((entry, exit)) = around {
                if editor.graph(state).each_in_edge(id).next().is_none() {
                    editor.order(state, entry, id)?;
                }
                if editor.graph(state).each_out_edge(id).next().is_none() {
                    editor.order(state, id, exit)?;
                }
            }
            touched.tidy(editor)?;
            for moved in &uses.moved {
                editor.take_container(*moved);
            }
            Ok(id)
        })
    }

    /// Connects the call with what its nodes were connected with.
    fn bind(
        &mut self,
        state: StateId,
        subgraph: &Subgraph,
        uses: &Uses,
        id: NodeId,
        around: Option<(NodeId, NodeId)>,
    ) -> Result<(), EditError> {
        let mut bound: BTreeSet<(ContainerId, bool)> = BTreeSet::new();
        let crossing = subgraph.entering.iter().map(|edge| (*edge, true));
        for (edge, reads) in crossing.chain(subgraph.leaving.iter().map(|edge| (*edge, false))) {
            let edge = self.graph(state).edge(edge);
            let access = if reads { edge.memlet.read_access() } else { edge.memlet.write_access() };
            let container = access.map(|access| access.container);
            let outside = if reads { edge.src } else { edge.dst };
            let connector = if reads { edge.src_connector.clone() } else { edge.dst_connector.clone() };
            let needed = if reads { &uses.reads } else { &uses.writes };
            match container {
                Some(container) if needed.contains(&container) && bound.insert((container, reads)) => {
                    self.bind_one(state, container, (id, reads), (outside, connector))?;
                }
                Some(_) | None if reads => self.order(state, outside, id)?,
                Some(_) | None => self.order(state, id, outside)?,
            }
        }
        // What only access nodes among the nodes used gets access nodes outside.
        let reads = uses.reads.iter().map(|container| (*container, true));
        for (container, reads) in reads.chain(uses.writes.iter().map(|container| (*container, false))) {
            if bound.insert((container, reads)) {
                let name = self.sdfg().container(container).name.clone();
                let label = self.free_label(state, &name);
                let node = Node { label, kind: NodeKind::Access(container), loc: None };
                let outside = self.put_node(state, node);
                self.bind_one(state, container, (id, reads), (outside, None))?;
                if let Some((entry, exit)) = around {
                    if reads {
                        self.order(state, entry, outside)?;
                    } else {
                        self.order(state, outside, exit)?;
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn bind_one(
        &mut self,
        state: StateId,
        id: ContainerId,
        (node, reads): (NodeId, bool),
        outside: End,
    ) -> Result<EdgeId, EditError> {
        let container = self.sdfg().container(id);
        let name = Some(container.name.clone());
        let full = Subset::full(container.shape());
        let access =
            if container.is_stream() { Access::queues(id, full) } else { Access::elements(id, full) };
        let mut memlet = if reads { Memlet::read(access) } else { Memlet::write(access) };
        if container.is_stream() {
            memlet.volume = Volume::Dynamic;
        }
        if reads {
            self.connect(state, outside, (node, name), memlet)
        } else {
            self.connect(state, (node, name), outside, memlet)
        }
    }
}

/// Containers that a subgraph uses, with the kinds of use.
struct Uses {
    /// Arguments that are read.
    reads: BTreeSet<ContainerId>,
    /// Arguments that are written.
    writes: BTreeSet<ContainerId>,
    /// Transients of nobody else.
    moved: BTreeSet<ContainerId>,
    /// Constants.
    constants: BTreeSet<ContainerId>,
}

impl Uses {
    fn of(
        sdfg: &Sdfg,
        state: StateId,
        subgraph: &Subgraph,
        scope: Option<NodeId>,
    ) -> Result<Self, EditError> {
        let graph = sdfg.state(state);
        let tree = ScopeTree::of(graph);
        let mut uses = Uses {
            reads: BTreeSet::new(),
            writes: BTreeSet::new(),
            moved: BTreeSet::new(),
            constants: BTreeSet::new(),
        };
        for edge in edges_at(graph, subgraph).into_iter().map(|edge| graph.edge(edge)) {
            uses.reads.extend(edge.memlet.read_access().map(|access| access.container));
            uses.writes.extend(edge.memlet.write_access().map(|access| access.container));
            if let Flow::Bind(target) = &edge.memlet.flow {
                // Through an alias, both may happen.
                uses.reads.insert(target.container);
                uses.writes.insert(target.container);
            }
        }
        // Crossing copies name a container that the other side keeps for itself.
        for edge in subgraph.entering.iter().map(|edge| graph.edge(*edge)) {
            let written = edge.memlet.write_access().map(|access| access.container);
            if let Some(id) = written.filter(|id| graph.node(edge.dst).kind.container() != Some(*id)) {
                uses.writes.remove(&id);
            }
        }
        let control = control_flow_reads(sdfg);
        let all: BTreeSet<ContainerId> = uses.reads.union(&uses.writes).copied().collect();
        let crossing: BTreeSet<ContainerId> = subgraph
            .entering
            .iter()
            .filter_map(|edge| graph.edge(*edge).memlet.read_access())
            .chain(subgraph.leaving.iter().filter_map(|edge| graph.edge(*edge).memlet.write_access()))
            .map(|access| access.container)
            .collect();
        for id in all {
            let container = sdfg.container(id);
            let own = || {
                let is_ours = |at: StateId, node| at == state && subgraph.nodes.contains(&node);
                !crossing.contains(&id)
                    && !control.contains(&id)
                    && sdfg.states().all(|(at, other)| other.accesses_of(id).all(|node| is_ours(at, node)))
            };
            let lives = || match container.lifetime {
                // With the call, or with an iteration inside of it, as before.
                Lifetime::Scope => scope.is_some() || in_one_scope(graph, &tree, id),
                Lifetime::State => true,
                Lifetime::Sdfg | Lifetime::Persistent | Lifetime::External => false,
            };
            if container.constant.is_some() {
                uses.constants.insert(id);
            } else if container.transient && own() && (lives() || container.is_alias()) {
                uses.moved.insert(id);
            } else if container.is_alias() {
                let reason = "an alias is bound in each SDFG that uses it: take all its uses and its binding";
                return Err(EditError::Container { container: container.name.clone(), reason });
            }
        }
        for set in [&mut uses.reads, &mut uses.writes] {
            set.retain(|id| !uses.moved.contains(id) && !uses.constants.contains(id));
        }
        Ok(uses)
    }
}

/// The edges that start or end at the nodes.
fn edges_at(graph: &State, subgraph: &Subgraph) -> BTreeSet<EdgeId> {
    let at = |id: &NodeId| graph.each_in_edge(*id).chain(graph.each_out_edge(*id)).map(|(edge, _)| edge);
    subgraph.nodes.iter().flat_map(at).collect()
}

/// Whether one scope holds all uses of a container in a state.
fn in_one_scope(graph: &State, tree: &ScopeTree, container: ContainerId) -> bool {
    let mut around = graph.accesses_of(container).map(|node| tree.enclosing(node).collect::<BTreeSet<_>>());
    let Some(first) = around.next() else { return false };
    !around.fold(first, |common, other| &common & &other).is_empty()
}

/// The SDFG that is called: a copy of the nodes in its only state.
fn called(sdfg: &Sdfg, graph: &State, subgraph: &Subgraph, uses: &Uses, label: &str) -> Sdfg {
    let readable: String = label.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let mut called = Sdfg::new(format!("{}_{readable}", sdfg.name));
    called.float_mode = sdfg.float_mode;
    let mut containers = BTreeMap::new();
    let used: BTreeSet<ContainerId> =
        [&uses.reads, &uses.writes, &uses.moved, &uses.constants].into_iter().flatten().copied().collect();
    for id in used {
        let mut copy = sdfg.container(id).clone();
        if uses.reads.contains(&id) || uses.writes.contains(&id) {
            copy.transient = false;
            copy.lifetime = Lifetime::default();
        }
        containers.insert(id, called.add_container(copy));
    }
    let mut state = State::new("body");
    let copy = |id: &NodeId| {
        let mut node = graph.node(*id).clone();
        if let NodeKind::Access(container) = &mut node.kind {
            *container = containers.get(container).copied().unwrap_or(*container);
        }
        (*id, node)
    };
    let nodes = copy_into(&mut state, subgraph.nodes.iter().map(copy));
    let mut border = Border { containers: &containers, nodes: BTreeMap::new() };
    for id in edges_at(graph, subgraph) {
        let edge = graph.edge(id);
        let mut copy: Edge = edge.clone();
        let (src, dst) = (nodes.get(&edge.src).copied(), nodes.get(&edge.dst).copied());
        match (src, dst) {
            (Some(src), Some(dst)) => (copy.src, copy.dst) = (src, dst),
            (None, Some(dst)) => {
                let Some(access) = edge.memlet.read_access() else { continue };
                copy.src = border.node(sdfg, &mut state, access.container, true);
                (copy.src_connector, copy.dst) = (None, dst);
            }
            (Some(src), None) => {
                let Some(access) = edge.memlet.write_access() else { continue };
                copy.dst = border.node(sdfg, &mut state, access.container, false);
                (copy.dst_connector, copy.src) = (None, src);
            }
            (None, None) => continue,
        }
        copy.memlet.accesses_mut().for_each(|access| {
            access.container = containers.get(&access.container).copied().unwrap_or(access.container);
        });
        // At the border of the call a path begins anew.
        copy.memlet.declared &= !(subgraph.entering.contains(&id) || subgraph.leaving.contains(&id));
        state.add_edge(copy);
    }
    let body = called.body();
    called.add_state(body, state);
    called
}

/// Refuses consume scopes whose condition reads data: the names of containers may change.
pub(super) fn check_conditions<'n>(
    sdfg: &Sdfg,
    nodes: impl Iterator<Item = &'n Node>,
) -> Result<(), EditError> {
    for node in nodes {
        if let NodeKind::ConsumeEntry(consume) = &node.kind
            && let Some(condition) = &consume.condition
            && condition.names().into_iter().any(|name| sdfg.find_container(name).is_some())
        {
            let reason = "the condition of a consume scope reads it by name";
            return Err(EditError::Container { container: node.label.clone(), reason });
        }
    }
    Ok(())
}

/// Access nodes of the called SDFG for what crosses its border: one to read and one to write for each container.
struct Border<'a> {
    containers: &'a BTreeMap<ContainerId, ContainerId>,
    nodes: BTreeMap<(ContainerId, bool), NodeId>,
}

impl Border<'_> {
    fn node(&mut self, sdfg: &Sdfg, state: &mut State, container: ContainerId, reads: bool) -> NodeId {
        let inner = self.containers.get(&container).copied().unwrap_or(container);
        *self.nodes.entry((container, reads)).or_insert_with(|| {
            let label = state.fresh_label(&sdfg.container(container).name);
            state.add_node(Node { label, kind: NodeKind::Access(inner), loc: None })
        })
    }
}
