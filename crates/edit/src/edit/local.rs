//! Inserts a local copy of the data that passes an edge.

use std::collections::BTreeSet;

use sdfg_graph::analysis::symbols::{bound_symbols, scope_parameters};
use sdfg_graph::analysis::{ScopeTree, is_leaf, leaf_edges, memlet_path, symbol_facts_at};
use sdfg_graph::ir::{
    Access, AccessedPart, Container, ContainerId, ContainerKind, Edge, EdgeId, Flow, Layout, Memlet, Node,
    NodeId, NodeKind, Sdfg, State, StateId, Storage, Volume,
};
use sdfg_graph::text::print_edge;
use sdfg_graph::workspace::Sizes;
use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::{Atom, Expr, Symbol};

use super::called::call_accesses_all;
use super::editor::Editor;
use super::propagate_pending::exactness;
use super::{EditError, expect_edge, names};

/// Required precision of the data of an edge that gets a local copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    /// Every element that is copied is accessed, whatever the symbols are.
    Exact,
    /// Elements may be read, or combined by a conflict resolution, that are not accessed inside; the caller knows that they are
    /// defined. A stencil needs this: without iterations, it accesses nothing.
    MoreIsDefined,
    /// The scope may call SDFGs. The caller of the editor knows that what a call reads of a container and what it writes of it
    /// stay in one place.
    OfCalls {
        /// As with [`Cover::MoreIsDefined`], elements may be read that are not accessed inside.
        defined: bool,
        /// Elements may be written that are not written inside: the caller of the editor copies their old values to the new
        /// container before.
        kept: bool,
    },
}

impl Cover {
    /// Whether elements may be read that are not accessed, whether elements may be written that are not, and whether the scope
    /// may call SDFGs.
    fn permits(self) -> (bool, bool, bool) {
        match self {
            Cover::Exact => (false, false, false),
            Cover::MoreIsDefined => (true, false, false),
            Cover::OfCalls { defined, kept } => (defined, kept, true),
        }
    }
}

impl Editor<'_> {
    /// Puts a new transient with this name on the way of an edge: what is read through the edge is copied to it first and read
    /// from there, what is written through the edge is written to it and then copied on. It holds the elements from the first
    /// to the last that pass; subsets inside count from the first. The edge keeps its id next to what it leads to, or comes from,
    /// inside. Gives the container and its access node.
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
        &mut self,
        state: StateId,
        edge: EdgeId,
        name: &str,
        storage: Storage,
        cover: Cover,
    ) -> Result<(ContainerId, NodeId), EditError> {
        names::check(name)?;
        if self.names().contains(name) {
            return Err(EditError::NameTaken { name: name.to_owned() });
        }
        expect_edge(self.state(state)?, edge)?;
        self.attempt(|editor| {
            let (access, reads) = checked_exact(editor, state, edge, cover)?;
            let found = editor.graph(state).edge(edge).clone();
            let around = editor.enclosing_edge(state, edge);
            let layout = Hull::of(editor.sdfg(), editor.graph(state), &around, &access)?;
            let kind = match layout.shape.is_empty() {
                true => ContainerKind::Scalar,
                false => ContainerKind::Array(Layout::packed(layout.shape.clone())),
            };
            let mut container = Container::new(name, editor.sdfg().container(access.container).element, kind);
            (container.transient, container.storage) = (true, storage);
            let local = editor.put_container(container);
            let inside = segments_inside(editor.graph(state), edge, reads);
            let inner = if reads { found.dst } else { found.src };
            let origin = editor.graph(state).node(inner).label.clone();
            let label = editor.derived_label(state, &origin, "local")?;
            let node = editor.put_node(state, Node { label, kind: NodeKind::Access(local), loc: None });
            for segment in inside {
                editor.change_memlet(state, segment, |memlet| {
                    memlet.declared = false;
                    for part in memlet.accesses_mut().filter(|part| part.container == access.container) {
                        part.container = local;
                        let moved = part.subset().offset(&layout.offset);
                        *part.subset_mut() = moved;
                    }
                });
            }
            editor.splice(state, edge, (local, node), (&access, &layout.offset))?;
            Ok((local, node))
        })
    }

    /// Cuts the edge in two at the access node.
    pub(super) fn splice(
        &mut self,
        state: StateId,
        edge: EdgeId,
        (local, node): (ContainerId, NodeId),
        (access, offset): (&Access, &[Expr]),
    ) -> Result<(), EditError> {
        let here = Access::elements(local, access.subset().offset(offset));
        let found = self.graph(state).edge(edge).clone();
        let (src, dst) = ((found.src, found.src_connector), (found.dst, found.dst_connector));
        let volume = found.memlet.volume.clone();
        if let Flow::Read(_) = &found.memlet.flow {
            self.move_edge(state, edge, (node, None), dst)?;
            let copy = Memlet::copy(access.clone(), here.clone());
            self.put_memlet(state, edge, Memlet { flow: Flow::Read(here), volume, declared: false });
            self.connect(state, src, (node, None), copy)?;
        } else {
            let resolution = found.memlet.resolution().cloned();
            self.move_edge(state, edge, src, (node, None))?;
            let flow = Flow::Copy { from: here.clone(), to: access.clone(), resolution: resolution.clone() };
            let copy = Memlet { volume: here.volume(), flow, declared: false };
            let flow = Flow::Write { to: here, resolution };
            self.put_memlet(state, edge, Memlet { flow, volume, declared: false });
            self.connect(state, (node, None), dst, copy)?;
        }
        Ok(())
    }

    /// Entries of the scopes that hold an edge, the innermost first.
    fn enclosing_edge(&mut self, state: StateId, edge: EdgeId) -> Vec<NodeId> {
        self.refresh_scopes(state);
        self.indexed(state, |graph, index| {
            let src = graph.edge(edge).src;
            let behind = if graph.node(src).kind.is_scope_entry() { Some(src) } else { index.scope_of(src) };
            index.enclosing_scope(behind)
        })
    }

    /// Lets a state use another container of the same rank in the place of one: its access nodes and memlets.
    ///
    /// # Errors
    /// [`EditError::NoContainer`], and [`EditError::Container`] if the two differ in kind, rank or element type.
    pub fn replace_container(
        &mut self,
        state: StateId,
        from: ContainerId,
        to: ContainerId,
    ) -> Result<(), EditError> {
        self.state(state)?;
        check_alike(self.sdfg(), from, to)?;
        for node in self.accesses_of(state, from) {
            self.set_kind(state, node, NodeKind::Access(to));
        }
        let names_it = |edge: &Edge| edge.memlet.accesses().any(|access| access.container == from);
        let edges: Vec<EdgeId> =
            self.graph(state).edges().filter(|(_, edge)| names_it(edge)).map(|(id, _)| id).collect();
        for edge in edges {
            self.change_memlet(state, edge, |memlet| {
                memlet.accesses_mut().filter(|access| access.container == from).for_each(|access| {
                    access.container = to;
                });
            });
        }
        Ok(())
    }
}

/// What moves over an edge, and whether it is read. Refuses edges whose copy would access other elements than the scope does.
pub(super) fn checked_exact(
    editor: &mut Editor<'_>,
    state: StateId,
    edge: EdgeId,
    cover: Cover,
) -> Result<(Access, bool), EditError> {
    editor.propagate_pending();
    let exact = exactness(editor, state, edge).get(&edge).copied().unwrap_or(true);
    let graph = editor.graph(state);
    let (access, reads) = match &graph.edge(edge).memlet.flow {
        Flow::Read(access) => (access.clone(), true),
        Flow::Write { to, .. } => (to.clone(), false),
        Flow::Order | Flow::Copy { .. } | Flow::Value | Flow::Bind(_) => {
            let reason = "only what moves between a container and a connector can get a local copy";
            return Err(super::subgraph::cannot_cross(graph, edge, reason));
        }
    };
    let combines = graph.edge(edge).memlet.resolution().is_some();
    let (defined, kept, calls) = cover.permits();
    let may_be_more = (reads || combines) && defined || !reads && kept;
    let is_any_part = may_be_more && (combines || calls && !access.is_queue());
    if is_any_part && exists(editor.sdfg(), (state, edge), &access) {
        return Ok((access, reads));
    }
    let is_exact = exact || may_be_more && exists(editor.sdfg(), (state, edge), &access);
    check_exact(editor.sdfg(), graph, edge, (&access, calls), is_exact)?;
    Ok((access, reads))
}

/// Whether all elements of the access of an edge are proved to lie in its container: a hull of what is accessed may go beyond it.
fn exists(sdfg: &Sdfg, (state, edge): (StateId, EdgeId), access: &Access) -> bool {
    let whole = Subset::full(sdfg.container(access.container).shape());
    let graph = sdfg.state(state);
    let scope = ScopeTree::of(graph).scope_of_edge(graph, edge);
    whole.covers(access.subset(), &symbol_facts_at(sdfg, state, scope)).is_proved()
}

/// Refuses an edge through which fewer elements may pass than its subset has. Calls count with what they access for certain, if asked.
fn check_exact(
    sdfg: &Sdfg,
    graph: &State,
    edge: EdgeId,
    (access, calls): (&Access, bool),
    is_exact: bool,
) -> Result<(), EditError> {
    let name = sdfg.container(access.container).name.clone();
    if matches!(access.place, AccessedPart::Queues(_)) {
        return Err(EditError::Container {
            container: name,
            reason: "elements of a stream are not copied in part",
        });
    }
    let refuse = |edge, reason| {
        let edge = print_edge(sdfg, graph, graph.edge(edge));
        Err(EditError::Inexact { edge, container: name.clone(), reason })
    };
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
        let called = if let NodeKind::Nested(nested) = src {
            Some((nested, &found.src_connector, false))
        } else if let NodeKind::Nested(nested) = dst {
            Some((nested, &found.dst_connector, true))
        } else {
            None
        };
        if let Some((nested, connector, reads)) = called {
            let is_all = |name: &String| call_accesses_all(nested, name, part.subset(), reads);
            if calls && connector.as_ref().is_some_and(is_all) {
                continue;
            }
            return refuse(leaf, "a nested SDFG decides what it accesses");
        }
        if src.is_code() && !matches!(src, NodeKind::Reduce(_)) && !part.subset().is_element() {
            return refuse(leaf, "code decides which elements it writes of a pointer");
        }
    }
    Ok(())
}

/// Edges inside of an edge, to the leaves; not the edge itself.
pub(super) fn segments_inside(graph: &State, edge: EdgeId, reads: bool) -> BTreeSet<EdgeId> {
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
    /// Summand of an index that makes it count from the first element.
    offset: Vec<Expr>,
}

impl Hull {
    /// `around` has the entries of the scopes around the access, the innermost first.
    fn of(sdfg: &Sdfg, graph: &State, around: &[NodeId], access: &Access) -> Result<Self, EditError> {
        let container = sdfg.container(access.container);
        let refuse = |reason| EditError::Container { container: container.name.clone(), reason };
        let is_set =
            |size: &Expr| size.free_symbols().iter().any(|symbol| sdfg.symbol_type(symbol).is_none());
        let ranges: Vec<(Symbol, Range)> =
            around.iter().rev().flat_map(|entry| scope_parameters(graph, *entry)).collect();
        let bound: BTreeSet<Symbol> = around.iter().flat_map(|entry| bound_symbols(graph, *entry)).collect();
        // The size is that of a container, and has to hold at all places.
        let known = Sizes::of(sdfg).assumptions();
        let mut hull = Hull { shape: Vec::new(), offset: Vec::new() };
        for (dimension, range) in access.subset().0.iter().enumerate() {
            let (first, end) = ends(range).ok_or_else(|| refuse("the sign of a step is not known"))?;
            let mut extent = &end - &first;
            if extent.free_symbols().iter().any(|symbol| bound.contains(symbol)) {
                let ranges: Vec<_> = ranges
                    .iter()
                    .filter_map(|(symbol, range)| Some((symbol, ends(range)?)))
                    .map(|(symbol, (first, end))| (symbol.clone(), first, end - 1))
                    .collect();
                let is_fixed = |extent: &Expr| extent.free_symbols().is_disjoint(&bound);
                let tile = tile_size(&first, &end).filter(is_fixed);
                let upper = || extent.bounds_over_all(&ranges, &known).upper;
                let size = match tile {
                    Some(size) if size.as_int().is_some() => Some(size),
                    Some(size) => upper().map(|upper| Expr::min(&size, &upper)),
                    None => upper(),
                };
                extent = size.ok_or_else(|| refuse("its size varies from iteration to iteration"))?;
            }
            if is_set(&extent) {
                // The program sets a symbol on its way. What is accessed lies in the container, whose extent holds at all places.
                let whole = container.shape().get(dimension).filter(|whole| !is_set(whole));
                extent = whole
                    .cloned()
                    .ok_or_else(|| refuse("its size depends on symbols that the program sets"))?;
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

/// An upper bound of the number of elements of a tile that may be cut off: `size`, for the tile from `t` to `min(t + size, end)`, which
/// may also be written as `min(t + size + 1, end + 1) - 1`.
fn tile_size(first: &Expr, end: &Expr) -> Option<Expr> {
    let terms = end.view().terms;
    let (operands, rest) = terms.iter().flat_map(|term| term.factors()).find_map(|(atom, _)| {
        let Atom::Min(operands) = atom else { return None };
        let rest = end - Expr::from_atom(atom.clone());
        rest.as_int().map(|_| (operands, rest))
    })?;
    let lengths = operands.iter().map(|operand| operand + &rest - first);
    let of_first = first.free_symbols();
    lengths.filter(|length| length.free_symbols().is_disjoint(&of_first)).reduce(|a, b| Expr::min(&a, &b))
}

/// The first element of a range in ascending order, and the end behind the last.
fn ends(range: &Range) -> Option<(Expr, Expr)> {
    let step = range.step.as_int()?;
    if !range.tile.is_one() {
        return None;
    }
    Some(if step > 0 { (range.begin.clone(), range.end.clone()) } else { (&range.end + 1, &range.begin + 1) })
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
