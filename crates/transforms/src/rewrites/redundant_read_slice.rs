//! [`RedundantReadSlice`].

use std::collections::BTreeSet;

use sdfg::analysis::symbols::bound_symbols;
use sdfg::analysis::{Use, bound_alias, bound_dimensions, leaf_edges, memlet_path, node_leads_to};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{
    Access, Container, ContainerId, ContainerKind, EdgeId, Flow, Memlet, NodeId, NodeKind, State, StateId,
    TaskletBody,
};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Symbol};
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Reads a part of an array straight instead of through a view of the part or a copy of it.
///
/// # When it applies
///
/// The view or transient is used at one access node alone, and the part is all that it gets. Tasklets, copies
/// and views read it. For a copy, every write of the array in the state is ordered before the copy or behind
/// all that reads it. A tasklet of single elements may read the copy and write the array, because it reads
/// first.
///
/// # Refusals
///
/// - Another node, condition or assignment uses the view or transient.
/// - A write of the array is not ordered before the copy or behind its readers.
/// - A reader does not simply read it, needs its dimensions, or reads a part that has no form in the array.
/// - Type, shape, strides or memory differ.
/// - The view counts with the declared strides of an alias or of an argument of a call, which may have others.
/// - The view is of a reference that the state sets, or a view of it would have another form.
/// - A map around a reader has a parameter of the name of a symbol of the part or of the size of its array.
///
/// # Before
///
/// ```sdft
/// sdfg inner_part {
///   symbol N: i64
///   array A: f64[N + 2]
///   array B: f64[N]
///   transient array middle: f64[N]
///
///   state main {
///     access A
///     access middle
///     map m [i = 0:N] {
///       tasklet t (x) -> (y) { y = 2.0 * x }
///       m.middle -> t.x: middle[i]
///       t.y -> m.B: B[i]
///     }
///     access B
///     A -> middle: A[1:N + 1] -> middle[0:N]
///     middle -> m.middle
///     m.B -> B
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg inner_part {
///   symbol N: i64
///   array A: f64[N + 2]
///   array B: f64[N]
///
///   state main {
///     access A
///     map m [i = 0:N] {
///       tasklet t (x) -> (y) { y = 2.0 * x }
///       m.middle -> t.x: A[i + 1]
///       t.y -> m.B: B[i]
///     }
///     access B
///     A -> m.middle
///     m.B -> B
///   }
/// }
/// ```
///
/// # Soundness
///
/// An element of the copy, or of the view, has the value of the element of the array with the offset of the
/// part. No write of the array comes between the copy and its readers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RedundantReadSlice {}

static METADATA: Metadata = Metadata {
    name: "RedundantReadSlice",
    group: Group::Data,
    summary: "Reads a part of an array straight instead of through a view of the part or a copy of it.",
    source: "DaCe, RedundantReadSlice and RedundantSecondArray",
    soundness: Soundness::Always,
    is_strict: true,
    file: include_str!("redundant_read_slice.rs"),
    parameters: &[],
};

anchored!(RedundantReadSlice);

impl Transformation for RedundantReadSlice {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::path([("array", NodeClass::Access), ("part", NodeClass::Access)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let (state, array, node) = (site.state(), site.found.node(0), site.found.node(1));
        let slice = Slice::of(site.sdfg, state, array, node).map_err(|reason| {
            let label = &state.node(node).label;
            Refusal::structure(label, reason)
        })?;
        slice.fits_at(site)?;
        let (part, container) = (site.sdfg.container(slice.part.container), site.sdfg.container(slice.id));
        let wrong = |reason: &str| Err(Refusal::container(&container.name, reason));
        if container.element != part.element || container.storage != part.storage {
            return wrong("has another type, or is in another memory");
        }
        let here = site.found.state();
        let used = |used: &Use| match *used {
            Use::Access(state, other) => (state, other) != (here, node) && (slice.is_copy || state == here),
            Use::Memlet(state, _) => slice.is_copy && state != here,
            Use::Condition(..) | Use::Block(_) | Use::Transition(_) => true,
        };
        if let Some(other) = site.uses().of(slice.id).iter().find(|found| used(found)) {
            return Err(site.used(slice.id, *other));
        }
        readers(site, &slice, node)?;
        if slice.is_copy {
            is_unchanged(site, &slice)?;
        }
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, array, node) = (found.state(), found.node(0), found.node(1));
        let sdfg = editor.sdfg();
        let graph = sdfg.state(state);
        let slice = Slice::of(sdfg, graph, array, node).map_err(|_| EditError::NoNode(node))?;
        let out = graph.out_edges(node);
        slice.replace_in(editor, state, &out)?;
        for edge in out {
            editor.redirect_source(state, edge, array, None)?;
        }
        if editor.state(state)?.get_node(node).is_some() {
            editor.remove_node(state, node)?;
        }
        if slice.is_copy {
            editor.remove_container(slice.id)?;
        }
        Ok(())
    }
}

/// Refuses what does not simply read elements at a node of the slice, and scopes with a parameter of the name of a symbol of the part.
pub(super) fn readers(site: &Site<'_>, slice: &Slice, node: NodeId) -> Result<(), Refusal> {
    let state = site.state();
    let symbols = slice.symbols(site.sdfg);
    for edge in segments(state, state.out_edges(node)) {
        let content = state.edge(edge);
        if matches!(content.memlet.flow, Flow::Order) {
            continue;
        }
        let dst = state.node(content.dst);
        let refused = |reason: &str| Err(Refusal::structure(&dst.label, reason));
        let reads = match &content.memlet.flow {
            Flow::Read(access) => Some(access),
            Flow::Copy { from, .. } => Some(from),
            // Elements of a view lie as those of the array do; those of a copy lie closer.
            Flow::Bind(access) if access.container == slice.id && !slice.is_copy => Some(access),
            Flow::Order | Flow::Value | Flow::Write { .. } | Flow::Bind(_) => None,
        };
        let Some(access) = reads.filter(|access| access.container == slice.id) else {
            return refused("does not simply read it");
        };
        if content.memlet.declared {
            return refused("has a memlet whose subset is declared");
        }
        let Some(composed) = slice.composed(access) else {
            return refused("reads a part of it that has no form in the array");
        };
        if matches!(content.memlet.flow, Flow::Bind(_)) {
            // One end is the slice, or this is the end of a path to a view in a scope.
            let alias = bound_alias(state, edge).map(|(alias, _)| site.sdfg.container(alias).shape());
            if alias.is_none_or(|shape| has_extents(access, shape) != has_extents(&composed, shape)) {
                return refused("is bound to a part whose form changes");
            }
        }
        if binds_any(state, content.src, &symbols) {
            return refused("is in a map with a parameter of the name of a symbol of the part");
        }
        let keeps_form = slice.keeps_rank || access.subset().is_element();
        match &dst.kind {
            NodeKind::Access(_) => {}
            NodeKind::MapEntry(_) => {}
            NodeKind::Tasklet(tasklet) => {
                let is_code = matches!(tasklet.body, TaskletBody::Code(_));
                if !(keeps_form && (is_code || access.subset().is_element())) {
                    return refused("takes several elements, whose places change");
                }
            }
            NodeKind::Reduce(_) | NodeKind::Library(_) if slice.keeps_rank => {}
            NodeKind::Reduce(_)
            | NodeKind::Library(_)
            | NodeKind::Nested(_)
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_) => return refused("needs the dimensions of the part"),
        }
    }
    Ok(())
}

/// Whether an alias of this shape has the extents of the part that it is bound to: its elements are then those of the part,
/// whatever its strides are.
fn has_extents(part: &Access, shape: &[Expr]) -> bool {
    let kept = bound_dimensions(part.subset(), shape.len());
    kept.is_some_and(|kept| kept.iter().zip(shape).all(|(at, extent)| part.subset().0[*at].size() == *extent))
}

/// Whether a scope has a parameter, or gets a symbol from data, that is among some symbols.
pub(super) fn binds_any(state: &State, entry: NodeId, symbols: &BTreeSet<Symbol>) -> bool {
    state.node(entry).kind.is_scope_entry()
        && bound_symbols(state, entry).iter().any(|bound| symbols.contains(bound))
}

/// A view or a transient with the part of the array that it stands for.
pub(super) struct Slice {
    pub(super) id: ContainerId,
    pub(super) part: Access,
    /// For each dimension of the part, that of the view or transient; `None` for those of one element.
    dimensions: Vec<Option<usize>>,
    pub(super) keeps_rank: bool,
    is_copy: bool,
    /// Whether the elements are found by the strides of the view: it is bound to less than its extents.
    is_strided: bool,
}

impl Slice {
    /// The slice at a node that an array node leads to.
    fn of(sdfg: &sdfg::ir::Sdfg, state: &State, array: NodeId, node: NodeId) -> Result<Slice, &'static str> {
        let into = state.in_edges(node);
        let ([edge], Some(id)) = (&into[..], state.node(node).kind.container()) else {
            return Err("has several inputs");
        };
        let content = state.edge(*edge);
        let container = sdfg.container(id);
        if content.src != array || state.each_out_edge(node).next().is_none() {
            return Err("is read by nothing");
        }
        let (part, target) = match &content.memlet.flow {
            Flow::Bind(_) => match bound_alias(state, *edge) {
                Some((alias, target)) if alias == id => (viewed(sdfg, container, target), Some(target)),
                Some(_) | None => return Err("is no view of the array"),
            },
            Flow::Copy { from, to, resolution: None } => {
                if !to.subset().is_all_of(container.shape()) || content.memlet.volume.is_dynamic() {
                    return Err("is not copied as a whole");
                }
                (from.clone(), None)
            }
            Flow::Copy { .. } | Flow::Order | Flow::Value | Flow::Read(_) | Flow::Write { .. } => {
                return Err("is no view or copy");
            }
        };
        let source = sdfg.container(part.container);
        let is_array = |kind: &ContainerKind| matches!(kind, ContainerKind::Scalar | ContainerKind::Array(_));
        let fits = match &container.kind {
            ContainerKind::View(_) => target.is_some() && !part.is_queue(),
            ContainerKind::Scalar | ContainerKind::Array(_) => {
                target.is_none()
                    && is_array(&source.kind)
                    && container.transient
                    && container.constant.is_none()
            }
            ContainerKind::Stream { .. } | ContainerKind::Reference(_) => false,
        };
        if !fits || part.container == id {
            return Err("is neither a view nor a transient array or scalar");
        }
        Self::of_part(sdfg, id, part, target)
    }

    /// The slice that a view has of the container that an edge binds it to.
    pub(super) fn of_view(
        sdfg: &sdfg::ir::Sdfg,
        id: ContainerId,
        target: &Access,
    ) -> Result<Slice, &'static str> {
        let container = sdfg.container(id);
        if !matches!(container.kind, ContainerKind::View(_)) || target.is_queue() {
            return Err("is no view of an array");
        }
        Self::of_part(sdfg, id, viewed(sdfg, container, target), Some(target))
    }

    fn of_part(
        sdfg: &sdfg::ir::Sdfg,
        id: ContainerId,
        part: Access,
        target: Option<&Access>,
    ) -> Result<Slice, &'static str> {
        let (container, source) = (sdfg.container(id), sdfg.container(part.container));
        let is_copy = target.is_none();
        let dimensions =
            aligned(part.subset(), container.shape()).ok_or("has another shape than the part")?;
        if !is_copy && !has_strides_of(container, source, &dimensions) {
            return Err("has other strides than the array");
        }
        let keeps_rank = part.subset().0.len() == container.shape().len()
            && dimensions.iter().enumerate().all(|(at, own)| own.is_none_or(|own| own == at))
            && dimensions.iter().all(Option::is_some);
        let is_strided = target.is_some_and(|target| !has_extents(target, container.shape()));
        Ok(Slice { id, part, dimensions, keeps_rank, is_copy, is_strided })
    }

    /// Refuses a source that is not what its declaration tells at this place.
    pub(super) fn fits_at(&self, site: &Site<'_>) -> Result<(), Refusal> {
        let source = site.sdfg.container(self.part.container);
        // Aliases and arguments of calls have the strides of what they are bound to.
        let is_passed = source.is_argument() && !site.found.calls.is_empty();
        let has_own_strides = !source.is_alias() && !is_passed;
        if self.is_strided && !has_own_strides {
            return Err(Refusal::container(
                &source.name,
                "may have other strides than declared, and a view of it counts with them",
            ));
        }
        let state = site.state();
        let sets = |edge| bound_alias(state, edge).is_some_and(|(alias, _)| alias == self.part.container);
        if matches!(source.kind, ContainerKind::Reference(_)) && state.edges().any(|(edge, _)| sets(edge)) {
            return Err(Refusal::container(
                &source.name,
                "is set in the state, and a view keeps what it named before",
            ));
        }
        Ok(())
    }

    /// The symbols that give the part and the size of its container their meaning.
    pub(super) fn symbols(&self, sdfg: &sdfg::ir::Sdfg) -> BTreeSet<Symbol> {
        let mut symbols = self.part.subset().free_symbols();
        symbols.extend(sdfg.container(self.part.container).kind.size_symbols());
        symbols
    }

    /// Lets the memlets of some edges, also inside of scopes, name the array in place of the slice.
    pub(super) fn replace_in(
        &self,
        editor: &mut Editor<'_>,
        state: StateId,
        edges: &[EdgeId],
    ) -> Result<(), EditError> {
        for edge in segments(editor.state(state)?, edges.to_vec()) {
            let mut memlet = editor.state(state)?.edge(edge).memlet.clone();
            for access in memlet.accesses_mut().filter(|access| access.container == self.id) {
                *access = self.composed(access).ok_or(EditError::NoEdge(edge))?;
            }
            editor.set_memlet(state, edge, memlet)?;
        }
        Ok(())
    }

    /// The access of the array in place of one of the slice.
    pub(super) fn composed(&self, access: &Access) -> Option<Access> {
        composed(&self.part, &self.dimensions, access)
    }
}

/// The elements of a container that a view of it has, where the binding tells only that it begins at the first one: a box of whole
/// dimensions that lie as far apart as those of the view.
fn viewed(sdfg: &sdfg::ir::Sdfg, view: &Container, target: &Access) -> Access {
    let source = sdfg.container(target.container);
    let begins_there = target.subset().0.iter().all(|range| range.is_index() && range.begin.is_zero());
    if !begins_there || target.is_queue() {
        return target.clone();
    }
    let strides = |container: &Container| container.kind.layout().map(|layout| layout.strides.clone());
    let (Some(own), Some(outer)) = (strides(view), strides(source)) else { return target.clone() };
    // Dimensions of one element are nowhere else.
    let mut left = view.shape().iter().zip(&own).filter(|(extent, _)| !extent.is_one()).peekable();
    let mut ranges = Vec::new();
    for (extent, stride) in source.shape().iter().zip(&outer) {
        let is_same = left.next_if(|next| *next == (extent, stride)).is_some();
        let end = if is_same { extent.clone() } else { Expr::one() };
        ranges.push(Range::new(Expr::zero(), end));
    }
    match left.next() {
        None => Access::elements(target.container, Subset(ranges)),
        Some(_) => target.clone(),
    }
}

/// An access in the container of a part in place of one in a container that has the elements of the part.
pub(super) fn composed(part: &Access, dimensions: &[Option<usize>], access: &Access) -> Option<Access> {
    let inner = access.subset();
    let range = |(range, own): (&Range, &Option<usize>)| match own {
        None => Some(range.clone()),
        Some(own) => Some(inner.0.get(*own)?.offset(&range.begin)),
    };
    let ranges = part.subset().0.iter().zip(dimensions).map(range);
    Some(Access::elements(part.container, Subset(ranges.collect::<Option<_>>()?)))
}

/// For each range of a part, the dimension of a shape that has as many elements. Both may have more dimensions of one element.
pub(super) fn aligned(part: &Subset, shape: &[Expr]) -> Option<Vec<Option<usize>>> {
    let mut own = 0;
    let mut found = Vec::new();
    for range in &part.0 {
        if !range.step.is_one() || !range.tile.is_one() {
            return None;
        }
        let extent = &range.end - &range.begin;
        while shape.get(own).is_some_and(|found| *found != extent && found.is_one()) {
            own += 1;
        }
        if shape.get(own).is_some_and(|found| range.fills(found)) {
            found.push(Some(own));
            own += 1;
        } else if range.is_index() {
            found.push(None);
        } else {
            return None;
        }
    }
    shape[own..].iter().all(Expr::is_one).then_some(found)
}

/// Whether elements of a view lie as far apart as those of the container that it is of.
fn has_strides_of(view: &Container, source: &Container, dimensions: &[Option<usize>]) -> bool {
    let Some(own) = view.kind.layout() else { return false };
    let Some(layout) = source.kind.layout() else { return dimensions.iter().all(Option::is_none) };
    own.offset.is_zero()
        && dimensions.iter().enumerate().all(|(at, dimension)| {
            let Some(dimension) = dimension else { return true };
            view.shape()[*dimension].is_one() || own.strides.get(*dimension) == layout.strides.get(at)
        })
}

/// The only edge that starts at a node. The node may have as many edges as the state.
pub(super) fn only_out_edge(state: &State, node: NodeId) -> Option<EdgeId> {
    let mut out = state.each_out_edge(node).map(|(edge, _)| edge);
    out.next().filter(|_| out.next().is_none())
}

/// Some edges and the segments of their memlets inside of scopes, in order of their ids.
pub(super) fn segments(state: &State, edges: Vec<EdgeId>) -> Vec<EdgeId> {
    let mut found = edges.clone();
    for edge in edges {
        for leaf in leaf_edges(state, edge) {
            let path = memlet_path(state, leaf);
            // What a copy out of a scope goes on to is on the path, too.
            let ends = [edge, leaf].map(|end| path.iter().position(|segment| *segment == end));
            if let [Some(outer), Some(inner)] = ends {
                found.extend(path[outer.min(inner)..=outer.max(inner)].iter().copied());
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether a node is a tasklet that takes and gives single elements.
pub(super) fn moves_elements(state: &State, node: NodeId) -> bool {
    let is_element = |memlet: &Memlet| memlet.accesses().all(|access| access.subset().is_element());
    matches!(state.node(node).kind, NodeKind::Tasklet(_))
        && state.each_in_edge(node).chain(state.each_out_edge(node)).all(|(_, edge)| is_element(&edge.memlet))
}

/// Refuses a copy of an array that may change before all has read the copy.
fn is_unchanged(site: &Site<'_>, slice: &Slice) -> Result<(), Refusal> {
    let (state, array, node) = (site.state(), site.found.node(0), site.found.node(1));
    let (tree, id) = (site.scopes(), slice.part.container);
    let name = || site.sdfg.container(id).name.clone();
    let changed = || {
        Err(Refusal::UsedElsewhere {
            container: name(),
            by: "a write that is not ordered before the copy or behind what reads it".to_owned(),
        })
    };
    let binds = |used: &Use| match *used {
        Use::Memlet(state, edge) => {
            let flow = &site.sdfg.state(state).edge(edge).memlet.flow;
            matches!(flow, Flow::Bind(access) if access.container == id)
        }
        Use::Access(..) | Use::Condition(..) | Use::Block(_) | Use::Transition(_) => false,
    };
    if site.uses().of(id).iter().any(binds) {
        return Err(Refusal::container(name(), "has a view or reference"));
    }
    let is_written =
        |node: NodeId| state.each_in_edge(node).any(|(_, edge)| !matches!(edge.memlet.flow, Flow::Order));
    let moves = |edge: &sdfg::ir::Edge| !matches!(edge.memlet.flow, Flow::Order);
    let out = state.each_out_edge(node).filter(|(_, edge)| moves(edge));
    let readers: Vec<NodeId> = out.map(|(_, edge)| edge.dst).collect();
    let end = |reader: NodeId| state.exit_of(reader).unwrap_or(reader);
    let uses = site.uses();
    let others = uses.in_state(id, site.found.state()).filter_map(|used| match used {
        Use::Access(_, other) => Some(other),
        Use::Memlet(..) | Use::Condition(..) | Use::Block(_) | Use::Transition(_) => None,
    });
    for other in others {
        if other == array || !is_written(other) {
            continue;
        }
        if tree.scope_of(array).is_some() || tree.scope_of(other).is_some() {
            return changed();
        }
        let is_before = node_leads_to(state, other, array);
        let mut writers = state
            .each_in_edge(other)
            .map(|(_, edge)| state.node(edge.src).kind.exit_of().unwrap_or(edge.src));
        // What writes begins only when all has been read.
        let is_behind = writers.all(|writer| {
            readers.iter().all(|reader| match *reader == writer {
                // Elements are read before the code runs, and written behind it.
                true => moves_elements(state, writer),
                false => end(*reader) != writer && node_leads_to(state, end(*reader), writer),
            })
        });
        if !is_before && !is_behind {
            return changed();
        }
    }
    // Copies to other containers happen when the array is reached; before, when the transient was.
    let copies = state
        .each_out_edge(node)
        .find(|(_, edge)| matches!(&edge.memlet.flow, Flow::Copy { to, .. } if to.container == id));
    if copies.is_some() {
        return changed();
    }
    Ok(())
}
