//! A container on the way of a memlet: a local copy of what passes an edge.

use std::collections::BTreeSet;

use super::{EditError, atomically, connect, derived_label, expect_edge, expect_state, names};
use crate::analysis::footprint::nonnegative_extents;
use crate::analysis::symbols::{bound_symbols, scope_parameters};
use crate::analysis::{ScopeTree, is_leaf, leaf_edges, memlet_path};
use crate::ir::{
    Access, Container, ContainerId, ContainerKind, Edge, EdgeId, Flow, Layout, Memlet, Node, NodeId,
    NodeKind, Place, Sdfg, State, StateId, Storage, Volume,
};
use crate::propagate::propagate_state;
use crate::subset::Range;
use crate::symbolic::{Expr, Symbol};

/// How well it must be known what passes an edge that gets a local copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    /// Every element that is copied is accessed, whatever the symbols are.
    Exact,
    /// Elements may be read that are not accessed inside; the caller knows that they are defined. A stencil needs this:
    /// without iterations, it accesses nothing.
    MoreIsDefined,
}

/// Puts a new transient with this name on the way of an edge: what is read through the edge is copied to it first and read
/// from there, what is written through the edge is written to it and then copied on. It holds the elements from the first
/// to the last that pass; subsets inside count from the first. Gives the container and its access node.
///
/// The program means the same as before, if nothing else in the scopes that the edge enters touches these elements and
/// writes have no conflict resolution. With one, the new container accumulates: give it the neutral element first.
///
/// # Errors
/// [`EditError::Inexact`] if more may pass than what is accessed: the copy could read elements that are not defined,
/// or write others than before. With [`Cover::MoreIsDefined`] only the latter.
/// [`EditError::Container`] for streams, and if the size depends on a scope around and has no known bound.
/// [`EditError::CannotCross`] for edges that move nothing between a container and a connector.
pub fn add_local_copy(
    sdfg: &mut Sdfg,
    state: StateId,
    edge: EdgeId,
    name: &str,
    storage: Storage,
    cover: Cover,
) -> Result<(ContainerId, NodeId), EditError> {
    names::check(name)?;
    if names::used(sdfg).contains(name) {
        return Err(EditError::NameTaken { name: name.to_owned() });
    }
    expect_edge(expect_state(sdfg, state)?, edge)?;
    atomically(sdfg, |sdfg| {
        let exact = propagate_state(sdfg, state);
        let graph = sdfg.state(state);
        let found = graph.edge(edge).clone();
        let (access, reads) = match &found.memlet.flow {
            Flow::Read(access) => (access.clone(), true),
            Flow::Write { to, .. } => (to.clone(), false),
            Flow::Order | Flow::Copy { .. } | Flow::Value | Flow::Bind(_) => {
                let reason = "only what moves between a container and a connector can get a local copy";
                return Err(super::subgraph::cannot_cross(graph, edge, reason));
            }
        };
        let may_be_more = reads && cover == Cover::MoreIsDefined;
        check_exact(sdfg, graph, edge, &access, may_be_more || exact.get(&edge).copied().unwrap_or(true))?;
        let layout = Hull::of(sdfg, graph, edge, &access)?;
        let kind = match layout.shape.is_empty() {
            true => ContainerKind::Scalar,
            false => ContainerKind::Array(Layout::packed(layout.shape)),
        };
        let mut container = Container::new(name, sdfg.container(access.container).element, kind);
        (container.transient, container.storage) = (true, storage);
        let local = sdfg.add_container(container);
        let inside = segments_inside(sdfg.state(state), edge, reads);
        let inner = if reads { found.dst } else { found.src };
        let graph = sdfg.state_mut(state);
        let label = derived_label(graph, &graph.node(inner).label, "local");
        let node = graph.add_node(Node { label, kind: NodeKind::Access(local), loc: None });
        for segment in inside {
            let memlet = graph.memlet_mut(segment);
            memlet.declared = false;
            for part in memlet.accesses_mut().filter(|part| part.container == access.container) {
                part.container = local;
                let moved = part.subset().offset(&layout.offset);
                *part.subset_mut() = moved;
            }
        }
        splice(graph, edge, found, (local, node), (&access, &layout.offset));
        propagate_state(sdfg, state);
        Ok((local, node))
    })
}

/// Cuts the edge in two at the access node.
fn splice(
    graph: &mut State,
    edge: EdgeId,
    found: Edge,
    (local, node): (ContainerId, NodeId),
    (access, offset): (&Access, &[Expr]),
) {
    let here = Access::elements(local, access.subset().offset(offset));
    graph.remove_edge(edge);
    let resolution = found.memlet.resolution().cloned();
    match &found.memlet.flow {
        Flow::Read(_) => {
            connect(
                graph,
                (found.src, found.src_connector),
                (node, None),
                Memlet::copy(access.clone(), here.clone()),
            );
            let memlet = Memlet { flow: Flow::Read(here), declared: false, ..found.memlet };
            connect(graph, (node, None), (found.dst, found.dst_connector), memlet);
        }
        Flow::Write { .. } | Flow::Order | Flow::Copy { .. } | Flow::Value | Flow::Bind(_) => {
            let flow = Flow::Copy { from: here.clone(), to: access.clone(), resolution: resolution.clone() };
            let copy = Memlet { volume: here.volume(), flow, declared: false };
            connect(graph, (node, None), (found.dst, found.dst_connector), copy);
            let flow = Flow::Write { to: here, resolution };
            let memlet = Memlet { flow, declared: false, ..found.memlet };
            connect(graph, (found.src, found.src_connector), (node, None), memlet);
        }
    }
}

/// Refuses an edge through which fewer elements may pass than its subset has.
fn check_exact(
    sdfg: &Sdfg,
    graph: &State,
    edge: EdgeId,
    access: &Access,
    is_exact: bool,
) -> Result<(), EditError> {
    let name = sdfg.container(access.container).name.clone();
    if matches!(access.place, Place::Queues(_)) {
        return Err(EditError::Container {
            container: name,
            reason: "elements of a stream are not copied in part",
        });
    }
    let refuse = |edge, reason| Err(EditError::Inexact { edge, container: name.clone(), reason });
    if !is_leaf(graph, edge) && !is_exact {
        return refuse(edge, "its memlet covers more than what is accessed inside");
    }
    for leaf in leaf_edges(graph, edge) {
        let found = graph.edge(leaf);
        let Some(part) = found.memlet.accesses().find(|part| part.container == access.container) else {
            continue;
        };
        let all = matches!(&found.memlet.volume, Volume::Exact(n) if *n == part.subset().volume());
        if !all {
            return refuse(leaf, "how many elements move is decided while running");
        }
        let [src, dst] = [found.src, found.dst].map(|end| &graph.node(end).kind);
        if matches!(src, NodeKind::Nested(_)) || matches!(dst, NodeKind::Nested(_)) {
            return refuse(leaf, "a nested SDFG decides what it accesses");
        }
        if src.is_code() && !matches!(src, NodeKind::Reduce(_)) && !part.subset().is_element() {
            return refuse(leaf, "code decides which elements it writes of a pointer");
        }
    }
    Ok(())
}

/// Edges inside of an edge, to the leaves; not the edge itself.
fn segments_inside(graph: &State, edge: EdgeId, reads: bool) -> BTreeSet<EdgeId> {
    let mut found = BTreeSet::new();
    for leaf in leaf_edges(graph, edge) {
        let path = memlet_path(graph, leaf);
        let Some(at) = path.iter().position(|segment| *segment == edge) else { continue };
        if reads { found.extend(&path[at + 1..]) } else { found.extend(&path[..at]) }
    }
    found
}

/// The smallest block of elements that holds a subset.
struct Hull {
    shape: Vec<Expr>,
    /// What is added to an index to count from the first element.
    offset: Vec<Expr>,
}

impl Hull {
    fn of(sdfg: &Sdfg, graph: &State, edge: EdgeId, access: &Access) -> Result<Self, EditError> {
        let name = &sdfg.container(access.container).name;
        let refuse = |reason| EditError::Container { container: name.clone(), reason };
        let tree = ScopeTree::of(graph);
        let mut around: Vec<NodeId> = tree.enclosing_scope(tree.scope_of_edge(graph, edge)).collect();
        around.reverse();
        let ranges: Vec<(Symbol, Range)> =
            around.iter().flat_map(|entry| scope_parameters(graph, *entry)).collect();
        let bound: BTreeSet<Symbol> = around.iter().flat_map(|entry| bound_symbols(graph, *entry)).collect();
        let known = nonnegative_extents(sdfg);
        let mut hull = Hull { shape: Vec::new(), offset: Vec::new() };
        for range in &access.subset().0 {
            let (first, end) = ends(range).ok_or_else(|| refuse("the sign of a step is not known"))?;
            let mut extent = &end - &first;
            if extent.free_symbols().iter().any(|symbol| bound.contains(symbol)) {
                let ranges: Vec<_> = ranges
                    .iter()
                    .filter_map(|(symbol, range)| Some((symbol, ends(range)?)))
                    .map(|(symbol, (first, end))| (symbol.clone(), first, end - 1))
                    .collect();
                let upper = extent.bounds_over_all(&ranges, &known).upper;
                extent = upper.ok_or_else(|| refuse("its size varies from iteration to iteration"))?;
            }
            if extent.free_symbols().iter().any(|symbol| sdfg.symbol_type(symbol).is_none()) {
                return Err(refuse("its size varies from iteration to iteration"));
            }
            if !extent.is_nonnegative(&known).is_proved() {
                extent = Expr::max(&extent, &Expr::zero());
            }
            hull.shape.push(extent);
            hull.offset.push(-&first);
        }
        Ok(hull)
    }
}

/// The first element of a range in ascending order, and the end behind the last.
fn ends(range: &Range) -> Option<(Expr, Expr)> {
    let step = range.step.as_int()?;
    if !range.tile.is_one() {
        return None;
    }
    Some(if step > 0 { (range.begin.clone(), range.end.clone()) } else { (&range.end + 1, &range.begin + 1) })
}

/// Lets a state use another container of the same rank in the place of one: its access nodes and memlets.
///
/// # Errors
/// [`EditError::NoContainer`], and [`EditError::Container`] if the two differ in kind, rank or element type.
pub fn replace_container(
    sdfg: &mut Sdfg,
    state: StateId,
    from: ContainerId,
    to: ContainerId,
) -> Result<(), EditError> {
    expect_state(sdfg, state)?;
    check_alike(sdfg, from, to)?;
    let swap = |id: &mut ContainerId| {
        if *id == from {
            *id = to;
        }
    };
    let graph = sdfg.state_mut(state);
    let nodes: Vec<NodeId> = graph.accesses_of(from).collect();
    for node in nodes {
        if let NodeKind::Access(id) = &mut graph.node_mut(node).kind {
            swap(id);
        }
    }
    let edges: Vec<EdgeId> = graph
        .edges()
        .filter(|(_, edge)| edge.memlet.accesses().any(|access| access.container == from))
        .map(|(id, _)| id)
        .collect();
    for edge in edges {
        graph.memlet_mut(edge).accesses_mut().for_each(|access| swap(&mut access.container));
    }
    Ok(())
}

/// Refuses containers that cannot take each other's place in memlets.
pub(super) fn check_alike(sdfg: &Sdfg, from: ContainerId, to: ContainerId) -> Result<(), EditError> {
    let container = |id| sdfg.get_container(id).ok_or(EditError::NoContainer(id));
    let (old, new) = (container(from)?, container(to)?);
    let same_kind = old.is_stream() == new.is_stream() && old.is_alias() == new.is_alias();
    if from == to || same_kind && old.shape().len() == new.shape().len() && old.element == new.element {
        return Ok(());
    }
    let reason = "the other container differs in kind, rank or element type";
    Err(EditError::Container { container: old.name.clone(), reason })
}
