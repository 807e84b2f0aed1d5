//! Inlines the only state of a nested SDFG at its call.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::analysis::symbols::{UNDECLARED_SYMBOL, bound_symbols};
use sdfg_graph::analysis::{ScopeTree, bound_dimensions, connector_edges, memlet_path};
use sdfg_graph::ir::{
    Access, BlockKind, Container, ContainerId, EdgeId, Flow, Lifetime, Memlet, NestedSdfg, Node, NodeId,
    NodeKind, Sdfg, State, StateId,
};
use sdfg_graph::text::print_ends;
use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::tasklet::Direction;

use super::edge::Touched;
use super::editor::Editor;
use super::nested::check_conditions;
use super::streams::lifetime_outside;
use super::substitute::inlined;
use super::{EditError, expect_node, names};

impl Editor<'_> {
    /// Puts the nodes of a nested SDFG with one state in the place of the call. Its arguments become the containers that they
    /// were bound to, its transients get free names, and its symbols their values. The program means the same as before.
    ///
    /// # Errors
    /// [`EditError::ControlFlow`] if the nested SDFG has other control flow, [`EditError::Container`] if a transient cannot live
    /// outside (its size depends on a scope, or its lifetime is longer than an iteration of the scope around),
    /// [`EditError::Inexact`] if a part of a bound subset is no subset, and those of [`substitute`](Editor::substitute).
    pub fn inline_nested(&mut self, state: StateId, node: NodeId) -> Result<(), EditError> {
        let found = expect_node(self.state(state)?, node)?;
        let NodeKind::Nested(nested) = &found.kind else {
            let (label, found) = (found.label.clone(), found.kind.noun());
            return Err(EditError::WrongKind { label, found, expected: "nested SDFGs" });
        };
        let nested = nested.clone();
        let body = only_state(&nested, &found.label)?;
        check_conditions(&nested.sdfg, nested.sdfg.state(body).nodes().map(|(_, node)| node))?;
        self.attempt(|editor| Inliner::new(editor, state, node, &nested, body)?.run())
    }
}

fn only_state(nested: &NestedSdfg, label: &str) -> Result<StateId, EditError> {
    let refuse = |reason| EditError::ControlFlow { label: label.to_owned(), reason };
    let region = nested.sdfg.region(nested.sdfg.body());
    let [block] = region.blocks.as_slice() else {
        return Err(refuse("only a nested SDFG of one state can be inlined"));
    };
    let BlockKind::State(state) = nested.sdfg.block(*block).kind else {
        return Err(refuse("only a nested SDFG of one state can be inlined"));
    };
    if !region.transitions.is_empty() {
        return Err(refuse("the state of the nested SDFG repeats itself"));
    }
    if nested.inputs.iter().any(|input| nested.sdfg.find_container(&input.name).is_none()) {
        return Err(refuse("a symbol of the nested SDFG gets its value from data"));
    }
    Ok(state)
}

/// Outer counterpart of an inner container.
pub(super) enum Meaning {
    /// A container of its own.
    Own(ContainerId),
    /// A part of a container, with the dimensions that the inner one has.
    Part(Access, Vec<usize>),
}

struct Inliner<'a, 'p> {
    editor: &'a mut Editor<'p>,
    state: StateId,
    node: NodeId,
    inner: State,
    meanings: BTreeMap<ContainerId, Meaning>,
    /// Edges at the call for each argument.
    inputs: BTreeMap<ContainerId, EdgeId>,
    outputs: BTreeMap<ContainerId, EdgeId>,
}

impl<'a, 'p> Inliner<'a, 'p> {
    fn new(
        editor: &'a mut Editor<'p>,
        state: StateId,
        node: NodeId,
        nested: &NestedSdfg,
        body: StateId,
    ) -> Result<Self, EditError> {
        let enclosing = editor.enclosing(state, node);
        let (sdfg, graph) = (editor.sdfg(), editor.graph(state));
        let around: BTreeSet<Symbol> =
            enclosing.iter().flat_map(|entry| bound_symbols(graph, *entry)).collect();
        let in_scope = !enclosing.is_empty();
        let mut avoid = around.clone();
        avoid.extend(sdfg.symbols().map(|(symbol, _)| symbol.clone()));
        let values: BTreeMap<Symbol, Expr> = nested.symbol_mapping.iter().cloned().collect();
        keep_their_types(sdfg, nested, &graph.node(node).label)?;
        let inner = inlined(sdfg, nested, body, &values, &avoid)?;
        let mut inliner = Inliner {
            editor,
            state,
            node,
            inner,
            meanings: BTreeMap::new(),
            inputs: BTreeMap::new(),
            outputs: BTreeMap::new(),
        };
        for (id, container) in nested.sdfg.containers() {
            let meaning = if container.is_argument() {
                inliner.part(nested, id)?
            } else {
                inliner.own(nested, id, &values, &around, in_scope)?
            };
            inliner.meanings.insert(id, meaning);
        }
        Ok(inliner)
    }

    fn part(&mut self, nested: &NestedSdfg, id: ContainerId) -> Result<Meaning, EditError> {
        let graph = self.editor.graph(self.state);
        let name = &nested.sdfg.container(id).name;
        let edge = |direction| connector_edges(graph, self.node, direction, name).first().copied();
        let (input, output) = (edge(Direction::In), edge(Direction::Out));
        let meaning = bound_part(graph, self.node, nested, id)?;
        self.inputs.extend(input.map(|edge| (id, edge)));
        self.outputs.extend(output.map(|edge| (id, edge)));
        Ok(meaning)
    }

    fn own(
        &mut self,
        nested: &NestedSdfg,
        id: ContainerId,
        values: &BTreeMap<Symbol, Expr>,
        around: &BTreeSet<Symbol>,
        in_scope: bool,
    ) -> Result<Meaning, EditError> {
        let mut container = nested.sdfg.container(id).clone();
        if !in_scope {
            container.lifetime = lifetime_outside(&nested.sdfg, id, self.editor.sdfg(), self.state)?;
        }
        let refuse =
            |container: &str, reason| EditError::Container { container: container.to_owned(), reason };
        if in_scope
            && container.constant.is_none()
            && container.lifetime != Lifetime::Scope
            && !container.is_alias()
        {
            return Err(refuse(
                &container.name,
                "it lives longer than an iteration of the scope around the call",
            ));
        }
        not_sized_in_scopes(nested, id)?;
        super::substitute::shape_of(&mut container, nested, values);
        own_copy(self.editor, container, around).map(Meaning::Own)
    }

    fn run(mut self) -> Result<(), EditError> {
        let tree = ScopeTree::of(&self.inner);
        let inner = std::mem::take(&mut self.inner);
        let dissolved: BTreeMap<NodeId, EdgeId> =
            inner.nodes().filter_map(|(id, _)| Some((id, self.outer_edge(&inner, &tree, id)?))).collect();
        let mut touched = Touched::begin(self.editor, self.state);
        let mut nodes = BTreeMap::new();
        let kept = inner.nodes().filter(|(id, _)| !dissolved.contains_key(id));
        let kept: Vec<(NodeId, Node)> = kept.map(|(id, node)| (id, outside(&self.meanings, node))).collect();
        self.editor.put_copies(self.state, kept, &mut nodes);
        for (id, edge) in inner.edges() {
            let mut copy = edge.clone();
            copy.memlet = translated(self.editor.sdfg(), &self.meanings, &inner, id)?;
            let graph = self.editor.graph(self.state);
            match dissolved.get(&edge.src) {
                Some(outer) => {
                    let outer = graph.edge(*outer);
                    (copy.src, copy.src_connector) = (outer.src, outer.src_connector.clone());
                }
                None => copy.src = nodes[&edge.src],
            }
            match dissolved.get(&edge.dst) {
                Some(outer) => {
                    let outer = graph.edge(*outer);
                    (copy.dst, copy.dst_connector) = (outer.dst, outer.dst_connector.clone());
                }
                None => copy.dst = nodes[&edge.dst],
            }
            self.editor.put_edge(self.state, copy)?;
        }
        self.keep_order(&nodes.values().copied().collect())?;
        let outer = self.outer_order();
        let graph = self.editor.graph(self.state);
        for edge in graph.in_edges(self.node).into_iter().chain(graph.out_edges(self.node)) {
            self.editor.remove_path(self.state, edge, &mut touched);
        }
        self.editor.take_node(self.state, self.node);
        for (src, dst) in outer {
            // Scopes between two others have no edges until `tidy` orders them.
            let is_used = |id| {
                let graph = self.editor.graph(self.state);
                let kind = &graph.node(id).kind;
                kind.is_scope_entry()
                    || kind.exit_of().is_some()
                    || graph.each_in_edge(id).next().is_some()
                    || graph.each_out_edge(id).next().is_some()
            };
            if is_used(src) && is_used(dst) && !self.editor.is_before(self.state, src, dst) {
                self.editor.order(self.state, src, dst)?;
            }
        }
        touched.tidy(self.editor)
    }

    /// Pairs of a scope and a node outside that data of the call order: a data path of the call may end at an access node inside
    /// that takes the place of an argument, and then orders nothing outside.
    fn outer_order(&self) -> BTreeSet<(NodeId, NodeId)> {
        let graph = self.editor.graph(self.state);
        let ends = |edge: EdgeId| (graph.edge(edge).src, graph.edge(edge).dst);
        let paths = graph.in_edges(self.node).into_iter().chain(graph.out_edges(self.node));
        let passing = paths.map(|edge| memlet_path(graph, edge)).filter(|path| path.len() > 1);
        passing
            .filter_map(|path| {
                let (first, last) = (*path.first()?, *path.last()?);
                Some(if ends(last).1 == self.node { ends(first) } else { ends(last) })
            })
            .collect()
    }

    /// The edge at the call that edges of an inner access node join directly, if the node is not needed: it is only read
    /// from, or only written to, by what moves data.
    fn outer_edge(&self, inner: &State, tree: &ScopeTree, id: NodeId) -> Option<EdgeId> {
        let container = inner.node(id).kind.container()?;
        if tree.scope_of(id).is_some() {
            return None;
        }
        let (into, out_of) = (inner.in_edges(id), inner.out_edges(id));
        let moves = |edges: &[EdgeId], reads: bool| {
            edges.iter().all(|edge| {
                let edge = inner.edge(*edge);
                let between_arguments = |id: NodeId| {
                    let other = inner.node(id).kind.container();
                    other.is_some_and(|other| matches!(self.meanings.get(&other), Some(Meaning::Part(..))))
                };
                match &edge.memlet.flow {
                    Flow::Read(_) => reads,
                    Flow::Write { .. } => !reads,
                    Flow::Copy { .. } => !between_arguments(if reads { edge.dst } else { edge.src }),
                    Flow::Order | Flow::Value | Flow::Bind(_) => false,
                }
            })
        };
        match (into.is_empty(), out_of.is_empty()) {
            (true, false) if moves(&out_of, true) => self.inputs.get(&container).copied(),
            (false, true) if moves(&into, false) => self.outputs.get(&container).copied(),
            (true | false, true | false) => None,
        }
    }

    /// Everything before the call comes before all of its nodes, and therefore before everything after the
    /// call.
    fn keep_order(&mut self, nodes: &BTreeSet<NodeId>) -> Result<(), EditError> {
        let (state, graph) = (self.state, self.editor.graph(self.state));
        let before: BTreeSet<NodeId> = graph.each_in_edge(self.node).map(|(_, edge)| edge.src).collect();
        let after: BTreeSet<NodeId> = graph.each_out_edge(self.node).map(|(_, edge)| edge.dst).collect();
        for node in nodes {
            let graph = self.editor.graph(state);
            let is_first = !graph.each_in_edge(*node).any(|(_, edge)| nodes.contains(&edge.src));
            let is_last = !graph.each_out_edge(*node).any(|(_, edge)| nodes.contains(&edge.dst));
            let first = before.iter().filter(|_| is_first).map(|other| (*other, *node));
            let last = after.iter().filter(|_| is_last).map(|other| (*node, *other));
            for (src, dst) in first.chain(last) {
                if !self.editor.is_before(state, src, dst) {
                    self.editor.order(state, src, dst)?;
                }
            }
        }
        Ok(())
    }
}

/// The part of a container that an argument of a call is bound to.
pub(super) fn bound_part(
    graph: &State,
    node: NodeId,
    nested: &NestedSdfg,
    id: ContainerId,
) -> Result<Meaning, EditError> {
    let container = nested.sdfg.container(id);
    let refuse = |reason| EditError::Container { container: container.name.clone(), reason };
    let edge = |direction| connector_edges(graph, node, direction, &container.name).first().copied();
    let read = edge(Direction::In).and_then(|edge| graph.edge(edge).memlet.read_access());
    let written = edge(Direction::Out).and_then(|edge| graph.edge(edge).memlet.write_access());
    let access = read.or(written).ok_or_else(|| refuse("nothing is connected with it"))?.clone();
    let kept = bound_dimensions(access.subset(), container.shape().len())
        .ok_or_else(|| refuse("its dimensions are not those of what it is bound to"))?;
    Ok(Meaning::Part(access, kept))
}

/// Refuses a transient whose size names a symbol that a scope of its SDFG binds: parameters get other names in the caller, sizes
/// do not.
pub(super) fn not_sized_in_scopes(nested: &NestedSdfg, id: ContainerId) -> Result<(), EditError> {
    let container = nested.sdfg.container(id);
    let used = container.kind.size_symbols();
    let binds = |state: &State, node| bound_symbols(state, node).iter().any(|symbol| used.contains(symbol));
    let mut states = nested.sdfg.states();
    if !used.is_empty() && states.any(|(_, state)| state.nodes().any(|(node, _)| binds(state, node))) {
        let reason = "its size depends on a symbol that a scope of the called SDFG binds";
        return Err(EditError::Container { container: container.name.clone(), reason });
    }
    Ok(())
}

/// Adds a transient of a called SDFG, whose shape is told in symbols of the caller, to the caller under a free name.
pub(super) fn own_copy(
    editor: &mut Editor<'_>,
    mut container: Container,
    around: &BTreeSet<Symbol>,
) -> Result<ContainerId, EditError> {
    let used = container.kind.size_symbols();
    if used.iter().any(|symbol| around.contains(symbol) || editor.sdfg().symbol_type(symbol).is_none()) {
        let reason = "its size depends on symbols that the caller does not give";
        return Err(EditError::Container { container: container.name, reason });
    }
    container.name = names::fresh(&container.name, editor.names());
    Ok(editor.put_container(container))
}

/// A node with the container that its own one is outside.
pub(super) fn outside(meanings: &BTreeMap<ContainerId, Meaning>, node: &Node) -> Node {
    let mut copy = node.clone();
    if let NodeKind::Access(container) = &mut copy.kind {
        *container = match meanings.get(container) {
            Some(Meaning::Own(id)) => *id,
            Some(Meaning::Part(access, _)) => access.container,
            None => *container,
        };
    }
    copy
}

/// The memlet of an edge with accesses of what is outside.
pub(super) fn translated(
    caller: &Sdfg,
    meanings: &BTreeMap<ContainerId, Meaning>,
    inner: &State,
    id: EdgeId,
) -> Result<Memlet, EditError> {
    let edge = inner.edge(id);
    let mut memlet = edge.memlet.clone();
    for access in memlet.accesses_mut() {
        match meanings.get(&access.container) {
            Some(Meaning::Own(own)) => access.container = *own,
            Some(Meaning::Part(bound, kept)) => {
                let subset = compose(bound.subset(), kept, access.subset()).ok_or_else(|| {
                    let container = caller.container(bound.container).name.clone();
                    let edge = print_ends(inner, edge);
                    EditError::Inexact { edge, container, reason: "a part of a part is no subset" }
                })?;
                let free = |subset: &Subset| subset.0.iter().filter(|range| !range.is_index()).count();
                let code = [edge.src, edge.dst].map(|end| inner.node(end));
                if let Some(node) = code.iter().find(|node| node.kind.is_code())
                    && free(&subset) != free(access.subset())
                {
                    let (edge, label) = (print_ends(inner, edge), node.label.clone());
                    return Err(EditError::DimensionsChange { edge, label });
                }
                access.container = bound.container;
                *access.subset_mut() = subset;
            }
            None => {}
        }
    }
    Ok(memlet)
}

/// The elements of `bound` that `inner` names, counted over the dimensions that are kept.
fn compose(bound: &Subset, kept: &[usize], inner: &Subset) -> Option<Subset> {
    if inner.rank() != kept.len() {
        return None;
    }
    let mut within: Vec<Range> = vec![Range::index(Expr::zero()); bound.rank()];
    for (range, dimension) in inner.0.iter().zip(kept) {
        *within.get_mut(*dimension)? = range.clone();
    }
    let composed = bound.compose(&Subset(within));
    composed.is_exact().then(|| composed.into_inner())
}

/// Refuses symbols of a narrower type than what the call gives them: the call converts the value, and ranges and subsets of the caller
/// would not.
pub(super) fn keep_their_types(caller: &Sdfg, nested: &NestedSdfg, label: &str) -> Result<(), EditError> {
    for (symbol, value) in &nested.symbol_mapping {
        let ty = nested.sdfg.symbol_type(symbol).unwrap_or(UNDECLARED_SYMBOL);
        let of_caller = |outer: &Symbol| caller.symbol_type(outer).unwrap_or(UNDECLARED_SYMBOL);
        // Every type has these numbers.
        let is_small = value.as_int().is_some_and(|value| (0..=127).contains(&value));
        let keeps = is_small || value.as_symbol().is_some_and(|outer| of_caller(outer) == ty);
        if ty != UNDECLARED_SYMBOL && !keeps {
            let reason = "the call converts it to a narrower type";
            return Err(EditError::NotExpressible { value: value.clone(), label: label.to_owned(), reason });
        }
    }
    Ok(())
}
