//! [`RedundantRedistribution`].

use std::collections::BTreeMap;

use sdfg::analysis::{ScopeTree, Use, is_leaf};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{
    Blocks, ConflictResolution, Container, ContainerId, Cut, Distribution, Edge, EdgeId, Flow, Map, NodeId,
    NodeKind, Port, Sdfg, State, StateId,
};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Assumptions, Expr};
use serde::{Deserialize, Serialize};

use super::distribute_container::without_halos;
use super::fill::{Initial, neutral_of};
use super::kept_values::{is_fixed, none_kept, sets_the_same};
use super::partition::ends;
use super::{anchored, described};
use crate::engine::{Claim, Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Makes one container of two that are cut alike, where one is only a copy of the other for a map over ranks.
///
/// If the map reads the copy, it reads the original instead, which gets the halos of the copy. A copy of the original to
/// itself then refreshes halos and replicas, and moves nothing else. If the map writes, it writes to the target of the copy.
/// A map that changes the copy, which is then copied back, changes the original. What a map accumulates beginning with the neutral
/// element, and a copy combines with the original, is accumulated in the original.
///
/// # When it applies
///
/// A copy of one part of a container to the same part of another one. Both have the same shape and cuts, apart from halos. One
/// of them is a transient that only the copies and the map use.
///
/// # Refusals
///
/// - The containers differ in shape, element type or cuts, or the parts differ.
/// - Something else uses the transient, or the copy takes only some of the elements that the map writes.
/// - The state accesses the other container in another place.
/// - A map reads copies of the target that only this copy sets.
///
/// # Before
///
/// ```sdft
/// sdfg smooth {
///   symbol N: i64
///   array A: f64[N] distribution(grid(4)[balanced(0, 1, N - 1)])
///   transient array A_part0: f64[N] distribution(grid(4)[balanced(0, 1, N - 1) halo(1, 1)])
///   array B: f64[N] distribution(grid(4)[balanced(0, 1, N - 1)])
///
///   state s {
///     access A
///     access B
///     access A_part0
///     map ranks [p = 0:4] schedule(mpi) {
///       map m [i = (N*p - 2*p) // 4 + 1:(N*p + N - 2*p + 2) // 4] {
///         tasklet t (l, r) -> (y) { y = l + r }
///         m.A -> t.l: A_part0[i - 1]
///         m.A -> t.r: A_part0[i + 1]
///         t.y -> m.B: B[i]
///       }
///       ranks.A_part0 -> m.A
///       m.B -> ranks.B
///     }
///     A -> A_part0
///     A_part0 -> ranks.A_part0
///     ranks.B -> B
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg smooth {
///   symbol N: i64
///   array A: f64[N] distribution(grid(4)[balanced(0, 1, N - 1) halo(1, 1)])
///   array B: f64[N] distribution(grid(4)[balanced(0, 1, N - 1)])
///
///   state s {
///     access A
///     access B
///     access A_part0 = A
///     map ranks [p = 0:4] schedule(mpi) {
///       map m [i = (N*p - 2*p) // 4 + 1:(N*p + N - 2*p + 2) // 4] {
///         tasklet t (l, r) -> (y) { y = l + r }
///         m.A -> t.l: A[i - 1]
///         m.A -> t.r: A[i + 1]
///         t.y -> m.B: B[i]
///       }
///       ranks.A_part0 -> m.A
///       m.B -> ranks.B
///     }
///     A -> A_part0
///     A_part0 -> ranks.A_part0
///     ranks.B -> B
///   }
/// }
/// ```
///
/// # Soundness
///
/// Ranks own the same elements of both containers. The state does not change the one that remains between the copy and the
/// accesses of the map, so both have the same values there. What a map reads of other ranks' elements is refreshed before it. The
/// one that goes has no elements of an earlier run of the state, which copies would bring back over values of others.
/// Partial results are combined in another order, so sums of floating-point numbers may differ in rounding.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RedundantRedistribution {}

static METADATA: Metadata = Metadata {
    name: "RedundantRedistribution",
    group: Group::Hardware,
    summary: "Makes one container of two that are cut alike.",
    source: "DESIGN, decision 23",
    soundness: Soundness::ChangesRounding,
    is_strict: false,
    file: include_str!("redundant_redistribution.rs"),
    parameters: &[],
};

anchored!(RedundantRedistribution);

impl Transformation for RedundantRedistribution {
    described!(METADATA);

    fn moves_between_ranks(&self) -> bool {
        true
    }

    fn pattern(&self) -> Pattern {
        Pattern::path([("source", NodeClass::Access), ("target", NodeClass::Access)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        if let Some(sum) = Accumulated::of(site.sdfg, site.state(), &site.scopes(), site.found) {
            sum.check(site)?;
            let mut evidence = Evidence::default();
            evidence.note(&site.sdfg.container(sum.pair.source).name, Claim::NoOtherUse);
            return Ok(evidence);
        }
        let Some(pair) = Pair::of(site.state(), site.found) else {
            return Err(Refusal::structure(site.label(0), "is not copied to the same part there"));
        };
        let (source, target) = (site.sdfg.container(pair.source), site.sdfg.container(pair.target));
        alike(source, target)?;
        if let Some(place) = InPlace::of(site.sdfg, site.state(), &pair) {
            place.check(site, &pair)?;
            let mut evidence = Evidence::default();
            evidence.note(&target.name, Claim::NoOtherUse);
            return Ok(evidence);
        }
        let merged = match pair.is_read_copy(site) {
            Ok(()) => {
                pair.check_read(site)?;
                target
            }
            Err(reads_not) => {
                pair.is_written_part(site).map_err(|_| reads_not)?;
                pair.check_written(site)?;
                source
            }
        };
        let mut evidence = Evidence::default();
        evidence.note(&merged.name, Claim::NoOtherUse);
        Ok(evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let state = found.state();
        let graph = editor.state(state)?;
        if let Some(sum) = Accumulated::of(editor.sdfg(), graph, &ScopeTree::of(graph), found) {
            return sum.apply(editor, state);
        }
        let Some(pair) = Pair::of(graph, found) else { return Err(EditError::NoNode(found.node(0))) };
        if let Some(place) = InPlace::of(editor.sdfg(), graph, &pair) {
            return place.apply(editor, state, &pair);
        }
        let reads = pair.copies_for_reads(editor.sdfg(), graph);
        let (gone, kept) = if reads { (pair.target, pair.source) } else { (pair.source, pair.target) };
        let blocks = |id| editor.sdfg().container(id).distribution.blocks().cloned();
        let (Some(of_gone), Some(of_kept)) = (blocks(gone), blocks(kept)) else {
            return Err(EditError::NoContainer(gone));
        };
        let merged = Distribution::Blocks(wider(&of_kept, &of_gone));
        editor.change_container(kept, |container| container.distribution = merged)?;
        editor.replace_container(state, gone, kept)?;
        if reads && of_gone.has_copies() {
            // The copy of the container to itself sets halos and replicas.
            return editor.remove_container(gone);
        }
        let (stays, goes) = if reads { (pair.from, pair.to) } else { (pair.to, pair.from) };
        if reads {
            redirect_out(editor, state, goes, stays)?;
        } else {
            redirect_in(editor, state, goes, stays)?;
        }
        // Nodes without edges go with their last one, so the copy goes last.
        editor.remove_edge(state, pair.copy)?;
        remove_if_there(editor, state, goes)?;
        editor.remove_container(gone)
    }
}

/// A copy of a part of a container to the same part of another one.
struct Pair {
    copy: EdgeId,
    from: NodeId,
    to: NodeId,
    source: ContainerId,
    target: ContainerId,
}

impl Pair {
    fn of(state: &State, found: &Match) -> Option<Self> {
        let (pair, resolution) = Pair::combined(state, found)?;
        resolution.is_none().then_some(pair)
    }

    /// The same, also of copies that combine values.
    fn combined<'s>(state: &'s State, found: &Match) -> Option<(Self, Option<&'s ConflictResolution>)> {
        let (from, to) = (found.node(0), found.node(1));
        let mut copies = state.each_out_edge(from).filter(|(_, edge)| edge.dst == to);
        let (copy, edge) = copies.next()?;
        let Flow::Copy { from: read, to: written, resolution } = &edge.memlet.flow else { return None };
        let is_same_part = read.subset() == written.subset() && read.container != written.container;
        let pair = Pair { copy, from, to, source: read.container, target: written.container };
        (is_same_part && copies.next().is_none()).then_some((pair, resolution.as_ref()))
    }

    /// As [`is_read_copy`](Pair::is_read_copy), of a pair that passed the check.
    fn copies_for_reads(&self, sdfg: &Sdfg, state: &State) -> bool {
        let nodes = sdfg.states().flat_map(|(_, graph)| graph.nodes());
        let is_only = nodes.filter(|(_, node)| node.kind.container() == Some(self.target)).count() == 1;
        let mut read = state.each_out_edge(self.to).filter(|(_, edge)| !is_order(edge)).peekable();
        is_only
            && sdfg.container(self.target).transient
            && state.in_edges(self.to) == [self.copy]
            && read.peek().is_some()
            && read.all(|(_, edge)| over_ranks(state, edge.dst))
    }

    /// Whether the target is a transient that only the copy writes and maps over ranks read.
    fn is_read_copy(&self, site: &Site<'_>) -> Result<(), Refusal> {
        let state = site.state();
        let target = site.sdfg.container(self.target);
        if !target.transient {
            return Err(Refusal::container(&target.name, "is no transient"));
        }
        if state.in_edges(self.to) != [self.copy] {
            return Err(Refusal::structure(site.label(1), "is written by others, too"));
        }
        let mut read = state.each_out_edge(self.to).filter(|(_, edge)| !is_order(edge)).peekable();
        if read.peek().is_none() || !read.all(|(_, edge)| over_ranks(state, edge.dst)) {
            return Err(Refusal::structure(site.label(1), "is read by something else than a map over ranks"));
        }
        self.only_here(site, self.target, &[self.to])
    }

    /// Whether the source is a transient that a map over ranks writes and only the copy reads.
    fn is_written_part(&self, site: &Site<'_>) -> Result<(), Refusal> {
        let state = site.state();
        let source = site.sdfg.container(self.source);
        if !source.transient {
            return Err(Refusal::container(&source.name, "is no transient"));
        }
        let entry = |node: NodeId| state.node(node).kind.exit_of();
        let is_write = |edge: &Edge| {
            entry(edge.src).is_some_and(|entry| over_ranks(state, entry))
                && edge.memlet.resolution().is_none()
        };
        let mut written = state.each_in_edge(self.from).peekable();
        if written.peek().is_none() || !written.all(|(_, edge)| is_order(edge) || is_write(edge)) {
            return Err(Refusal::structure(
                site.label(0),
                "is written by something else than a map over ranks",
            ));
        }
        if state.each_out_edge(self.from).any(|(id, _)| id != self.copy) {
            return Err(Refusal::structure(site.label(0), "is read by others, too"));
        }
        self.only_here(site, self.source, &[self.from])
    }

    /// Refuses a transient with uses in other states or at other nodes.
    fn only_here(&self, site: &Site<'_>, id: ContainerId, nodes: &[NodeId]) -> Result<(), Refusal> {
        let (uses, here) = (site.uses(), site.found.state());
        let is_other = |used: Use| match used {
            Use::Access(state, other) => state != here || !nodes.contains(&other),
            Use::Memlet(state, _) => state != here,
            Use::Condition(..) | Use::Block(_) | Use::Transition(_) => true,
        };
        let found = uses.of(id).iter().chain(uses.bindings_of(id)).find(|used| is_other(**used));
        found.map_or(Ok(()), |used| Err(site.used(id, *used)))
    }

    /// Nothing else in the state may touch the source: it would meet the refreshing copy, or be in another order.
    fn check_read(&self, site: &Site<'_>) -> Result<(), Refusal> {
        let state = site.state();
        self.only_copy(site, state.each_in_edge(self.from).chain(state.each_out_edge(self.from)))?;
        self.alone(site, self.source, &[self.from])?;
        none_kept(site, self.target, Some((self.source, &[])), || self.reads_what_it_copies(site))
    }

    /// Whether each run copies the same elements, or all that is read.
    fn reads_what_it_copies(&self, site: &Site<'_>) -> bool {
        let (state, known) = (site.state(), site.known_in(None));
        let Flow::Copy { to, .. } = &state.edge(self.copy).memlet.flow else { return false };
        let is_copied = |edge: &Edge| {
            let read = edge.memlet.read_access();
            read.is_none_or(|read| to.subset().covers(read.subset(), &known).is_proved())
        };
        is_fixed(site, to.subset()) || state.each_out_edge(self.to).all(|(_, edge)| is_copied(edge))
    }

    /// Nothing else in the state may write the target, or touch it before, and no map may rely on copies that this one sets.
    fn check_written(&self, site: &Site<'_>) -> Result<(), Refusal> {
        self.only_copy(site, site.state().each_in_edge(self.to))?;
        takes_all(site, self.from, self.copy)?;
        self.alone(site, self.target, &[self.to])?;
        let copied = Some((self.target, &[self.copy][..]));
        none_kept(site, self.source, copied, || sets_the_same(site, self.from))?;
        self.refreshed_elsewhere(site, self.target)
    }

    /// Refuses a container whose halos or replicas a map reads without a copy in its state that refreshes them.
    fn refreshed_elsewhere(&self, site: &Site<'_>, id: ContainerId) -> Result<(), Refusal> {
        let container = site.sdfg.container(id);
        if !container.distribution.blocks().is_some_and(Blocks::has_copies) {
            return Ok(());
        }
        for state in site.uses().states(id) {
            let graph = site.sdfg.state(state);
            let reads =
                |edge: &Edge| matches!(&edge.memlet.flow, Flow::Read(access) if access.container == id);
            let refreshes = |edge: &Edge| matches!(&edge.memlet.flow, Flow::Copy { from, to, .. } if from.container == to.container && to.container == id);
            if graph.edges().any(|(id, edge)| is_leaf(graph, id) && reads(edge))
                && !graph.edges().any(|(_, edge)| refreshes(edge))
            {
                let reason = "has halos or replicas that a map reads, and that only this copy sets";
                return Err(Refusal::container(&container.name, reason));
            }
        }
        Ok(())
    }

    /// Refuses a container that the state touches at another node than these, by any name.
    fn alone(&self, site: &Site<'_>, id: ContainerId, nodes: &[NodeId]) -> Result<(), Refusal> {
        for name in site.same_memory(id) {
            let is_other = |used: &Use| match *used {
                Use::Access(_, other) => !nodes.contains(&other),
                Use::Memlet(..) => name != id,
                Use::Condition(..) | Use::Block(_) | Use::Transition(_) => true,
            };
            if let Some(used) = site.uses().in_state(name, site.found.state()).find(|used| is_other(used)) {
                return Err(site.used(name, used));
            }
        }
        Ok(())
    }

    /// Refuses an edge other than the copy, and those that only order.
    fn only_copy<'e>(
        &self,
        site: &Site<'_>,
        mut edges: impl Iterator<Item = (EdgeId, &'e Edge)>,
    ) -> Result<(), Refusal> {
        let other = edges.find(|(id, edge)| *id != self.copy && !is_order(edge));
        let Some((_, edge)) = other else { return Ok(()) };
        let state = site.state();
        let (node, other) = if edge.src == self.from { (self.from, edge.dst) } else { (edge.dst, edge.src) };
        let by = format!("`{}` accesses it, too", state.node(other).label);
        Err(Refusal::UsedElsewhere { container: state.node(node).label.clone(), by })
    }
}

/// A copy that maps over ranks change, and that is copied back to the same container.
struct InPlace {
    /// The access node of the changed copy.
    changed: NodeId,
    /// The copy back, and the access node that it leads to.
    copy: EdgeId,
    back: NodeId,
}

impl InPlace {
    fn of(sdfg: &Sdfg, state: &State, pair: &Pair) -> Option<Self> {
        let access = |node: NodeId| state.node(node).kind.container();
        let mut others = state.nodes().map(|(id, _)| id).filter(|node| *node != pair.to);
        let changed = others.find(|node| access(*node) == Some(pair.target))?;
        let mut out = state.each_out_edge(changed).filter(|(_, edge)| !is_order(edge));
        let (copy, edge) = out.next().filter(|_| out.next().is_none())?;
        let Flow::Copy { from, to, resolution: None } = &edge.memlet.flow else { return None };
        let is_back = from.container == pair.target
            && to.container == pair.source
            && from.subset() == to.subset()
            && edge.dst != pair.from;
        let entry = |node: NodeId| state.node(node).kind.exit_of();
        let mut into = state.each_in_edge(changed).filter(|(_, edge)| !is_order(edge)).peekable();
        let is_changed = into.peek().is_some()
            && into.all(|(_, edge)| entry(edge.src).is_some_and(|map| over_ranks(state, map)));
        let mut read = state.each_out_edge(pair.to).filter(|(_, edge)| !is_order(edge));
        let is_read =
            read.all(|(_, edge)| over_ranks(state, edge.dst)) && state.in_edges(pair.to) == [pair.copy];
        let fits = sdfg.container(pair.target).transient && is_back && is_changed && is_read;
        fits.then_some(InPlace { changed, copy, back: edge.dst })
    }

    /// Nothing but the two copies may touch the container in the state, and nothing but the maps the transient anywhere.
    fn check(&self, site: &Site<'_>, pair: &Pair) -> Result<(), Refusal> {
        let state = site.state();
        pair.only_copy(site, state.each_in_edge(pair.from).chain(state.each_out_edge(pair.from)))?;
        only_written_by(state, self.back, self.copy)?;
        takes_all(site, self.changed, self.copy)?;
        pair.alone(site, pair.source, &[pair.from, self.back])?;
        pair.only_here(site, pair.target, &[pair.to, self.changed])?;
        let copied = Some((pair.source, &[self.copy][..]));
        none_kept(site, pair.target, copied, || self.takes_back_what_it_copied(site, pair))?;
        pair.refreshed_elsewhere(site, pair.source)
    }

    /// Whether the copy back takes no other elements than the first copy, and maps read no others.
    fn takes_back_what_it_copied(&self, site: &Site<'_>, pair: &Pair) -> bool {
        let copied = |edge: EdgeId| match &site.state().edge(edge).memlet.flow {
            Flow::Copy { from, .. } => Some(from.subset()),
            Flow::Read(_) | Flow::Write { .. } | Flow::Order | Flow::Value | Flow::Bind(_) => None,
        };
        let both = copied(pair.copy).zip(copied(self.copy));
        both.is_some_and(|(first, back)| first.covers(back, &site.known_in(None)).is_proved())
            && pair.reads_what_it_copies(site)
    }

    fn apply(&self, editor: &mut Editor<'_>, state: StateId, pair: &Pair) -> Result<(), EditError> {
        let blocks = |id| editor.sdfg().container(id).distribution.blocks().cloned();
        let (Some(of_part), Some(of_whole)) = (blocks(pair.target), blocks(pair.source)) else {
            return Err(EditError::NoContainer(pair.target));
        };
        let merged = Distribution::Blocks(wider(&of_whole, &of_part));
        editor.change_container(pair.source, |container| container.distribution = merged)?;
        editor.replace_container(state, pair.target, pair.source)?;
        redirect_in(editor, state, self.changed, self.back)?;
        editor.remove_edge(state, self.copy)?;
        remove_if_there(editor, state, self.changed)?;
        if !of_part.has_copies() {
            redirect_out(editor, state, pair.to, pair.from)?;
            editor.remove_edge(state, pair.copy)?;
            remove_if_there(editor, state, pair.to)?;
        }
        editor.remove_container(pair.target)
    }
}

/// Results that a map over ranks accumulates, beginning with the neutral element, and that a copy combines with a container.
struct Accumulated {
    pair: Pair,
    /// The map over ranks, and the node in it that accumulates.
    outer: NodeId,
    inner: NodeId,
    /// The access node in the map that has the neutral element, what writes it, and what that waits for.
    begin: NodeId,
    fill: NodeId,
    before: Vec<NodeId>,
}

impl Accumulated {
    fn of(sdfg: &Sdfg, state: &State, tree: &ScopeTree, found: &Match) -> Option<Self> {
        let (pair, resolution) = Pair::combined(state, found)?;
        let (resolution, partial) = (resolution?, sdfg.container(pair.source));
        let mut into = state.each_in_edge(pair.from).filter(|(_, edge)| !is_order(edge));
        let (_, edge) = into.next().filter(|_| into.next().is_none())?;
        let outer = state.node(edge.src).kind.exit_of().filter(|entry| over_ranks(state, *entry))?;
        let is_alone = state.each_out_edge(pair.from).all(|(id, _)| id == pair.copy);
        if edge.memlet.resolution() != Some(resolution) || !is_alone || !partial.transient {
            return None;
        }
        let is_begin =
            |node: &NodeId| *node != pair.from && state.node(*node).kind.container() == Some(pair.source);
        let mut begins = state.nodes().map(|(id, _)| id).filter(is_begin);
        let begin = begins.next().filter(|_| begins.next().is_none())?;
        let mut behind = state.each_out_edge(begin);
        let inner = behind.next().filter(|_| behind.next().is_none())?.1.dst;
        let neutral = neutral_of(resolution, partial.element)?;
        let number = neutral.strip_suffix(".0").unwrap_or(&neutral);
        let initial = Initial::of(state, tree, (begin, inner), number).ok()?;
        let (fill, before) = (initial.outermost(), initial.before(state, Some(outer)));
        let is_inside = tree.scope_of(begin) == Some(outer) && tree.scope_of(inner) == Some(outer);
        is_inside.then_some(Accumulated { pair, outer, inner, begin, fill, before })
    }

    /// Nothing else may touch either container.
    fn check(&self, site: &Site<'_>) -> Result<(), Refusal> {
        let pair = &self.pair;
        alike(site.sdfg.container(pair.source), site.sdfg.container(pair.target))?;
        only_written_by(site.state(), pair.to, pair.copy)?;
        takes_all(site, pair.from, pair.copy)?;
        pair.alone(site, pair.target, &[pair.to])?;
        pair.only_here(site, pair.source, &[pair.from, self.begin])?;
        none_kept(site, pair.source, None, || sets_the_same(site, self.begin))?;
        pair.refreshed_elsewhere(site, pair.target)
    }

    fn apply(&self, editor: &mut Editor<'_>, state: StateId) -> Result<(), EditError> {
        let pair = &self.pair;
        for node in &self.before {
            editor.add_order(state, *node, self.inner)?;
        }
        editor.remove_node(state, self.fill)?;
        remove_if_there(editor, state, self.begin)?;
        if editor.state(state)?.in_edges(self.inner).is_empty() {
            // What nothing leads to would not be in the scope.
            editor.add_order(state, self.outer, self.inner)?;
        }
        editor.replace_container(state, pair.source, pair.target)?;
        redirect_in(editor, state, pair.from, pair.to)?;
        editor.remove_edge(state, pair.copy)?;
        remove_if_there(editor, state, pair.from)?;
        editor.remove_container(pair.source)
    }
}

/// Refuses results of which the copy takes only a part: the others would be written to the container that remains.
fn takes_all(site: &Site<'_>, written: NodeId, copy: EdgeId) -> Result<(), Refusal> {
    let state = site.state();
    let known = site.known_in(None);
    let Flow::Copy { from, .. } = &state.edge(copy).memlet.flow else { return Ok(()) };
    let is_taken = |edge: &Edge| {
        let Some(to) = edge.memlet.write_access() else { return true };
        if from.subset().covers(to.subset(), &known).is_proved() {
            return true;
        }
        let NodeKind::MapEntry(map) =
            &state.node(state.node(edge.src).kind.exit_of().unwrap_or(edge.src)).kind
        else {
            return false;
        };
        let inside = edge.out_port().map(|port| state.edges_at(edge.src, Port::In(port))).unwrap_or_default();
        let parts = inside.iter().filter_map(|inner| state.edge(*inner).memlet.write_access());
        let mut parts = parts.filter(|part| part.container == to.container).peekable();
        parts.peek().is_some()
            && parts.all(|part| {
                let mut ranges = part.subset().0.iter().zip(&from.subset().0);
                ranges.all(|(part, whole)| is_part(part, whole, map, &known))
            })
    };
    match state.each_in_edge(written).all(|(_, edge)| is_taken(edge)) {
        true => Ok(()),
        false => {
            let name = &site.sdfg.container(from.container).name;
            Err(Refusal::container(name, "may get more elements than the copy takes of it"))
        }
    }
}

/// Whether the positions of one iteration of a map over ranks lie in a range: all of them do, or they are one of equal parts of it.
fn is_part(part: &Range, whole: &Range, map: &Map, known: &Assumptions) -> bool {
    let symbols = part.free_symbols();
    let mut along = map.params.iter().zip(&map.ranges.0).filter(|(param, _)| symbols.contains(*param));
    let Some((param, ranks)) = along.next() else {
        return Subset(vec![whole.clone()]).covers(&Subset(vec![part.clone()]), known).is_proved();
    };
    let is_plain = ranks.begin.is_zero() && [part, whole, ranks].iter().all(|range| range.step.is_one());
    let (Some((first, end)), Some((begin, behind)), true, None) =
        (ends(part), ends(whole), is_plain, along.next())
    else {
        return false;
    };
    let number = Expr::symbol(param.clone());
    let next = first.substitute(&BTreeMap::from([(param.clone(), &number + &Expr::one())]));
    // If the range ends before it begins, so does each part.
    first == &begin + &(&number * &(&behind - &begin)).floor_div(&ranks.steps()) && end == next
}

/// Refuses an access node that something else than a copy writes.
fn only_written_by(state: &State, node: NodeId, copy: EdgeId) -> Result<(), Refusal> {
    match state.each_in_edge(node).any(|(id, edge)| id != copy && !is_order(edge)) {
        false => Ok(()),
        true => Err(Refusal::UsedElsewhere {
            container: state.node(node).label.clone(),
            by: "something else than the copy writes it".to_owned(),
        }),
    }
}

/// Lets what leaves an access node leave another one.
fn redirect_out(editor: &mut Editor<'_>, state: StateId, from: NodeId, to: NodeId) -> Result<(), EditError> {
    for edge in editor.state(state)?.out_edges(from) {
        let found = editor.state(state)?.edge(edge);
        if is_order(found) {
            let dst = found.dst;
            editor.remove_edge(state, edge)?;
            editor.add_order(state, to, dst)?;
        } else {
            editor.redirect_source(state, edge, to, None)?;
        }
    }
    Ok(())
}

/// Lets what arrives at an access node arrive at another one.
fn redirect_in(editor: &mut Editor<'_>, state: StateId, from: NodeId, to: NodeId) -> Result<(), EditError> {
    for edge in editor.state(state)?.in_edges(from) {
        let found = editor.state(state)?.edge(edge);
        if is_order(found) {
            let src = found.src;
            editor.remove_edge(state, edge)?;
            editor.add_order(state, src, to)?;
        } else {
            editor.redirect_destination(state, edge, to, None)?;
        }
    }
    Ok(())
}

/// Nodes without edges go with their last one.
fn remove_if_there(editor: &mut Editor<'_>, state: StateId, node: NodeId) -> Result<(), EditError> {
    match editor.state(state)?.get_node(node) {
        Some(_) => editor.remove_node(state, node),
        None => Ok(()),
    }
}

/// Two containers with the same elements on each rank. One is copied to the other, so their elements have one type.
fn alike(source: &Container, target: &Container) -> Result<(), Refusal> {
    let same = source.shape() == target.shape()
        && source.storage == target.storage
        && source.is_alias() == target.is_alias();
    if !same {
        return Err(Refusal::container(&target.name, "has another shape or memory"));
    }
    match (source.distribution.blocks(), target.distribution.blocks()) {
        (Some(one), Some(other)) if without_halos(one) == without_halos(other) => Ok(()),
        (Some(_) | None, Some(_) | None) => {
            Err(Refusal::container(&target.name, "is cut in another way than what is copied to it"))
        }
    }
}

/// Whether a node is the entry of a map over ranks.
fn over_ranks(state: &State, node: NodeId) -> bool {
    state.node(node).kind.is_map_over_ranks()
}

fn is_order(edge: &Edge) -> bool {
    matches!(edge.memlet.flow, Flow::Order)
}

/// The cuts of one with halos as wide as those of both.
fn wider(kept: &Blocks, gone: &Blocks) -> Blocks {
    let cut = |(kept, gone): (&Option<Cut>, &Option<Cut>)| {
        let mut cut = kept.clone()?;
        if let Some(gone) = gone {
            for (width, other) in cut.halo.iter_mut().zip(&gone.halo) {
                *width = Expr::max(width, other);
            }
        }
        Some(cut)
    };
    Blocks { grid: kept.grid.clone(), cuts: kept.cuts.iter().zip(&gone.cuts).map(cut).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A map over ranks writes one of equal parts of a range in each iteration.
    #[test]
    fn equal_parts_of_a_range_lie_in_it() {
        let subset = |text: &str| text.parse::<Subset>().unwrap_or_else(|error| panic!("{text}: {error}"));
        let lies_in = |part: &str, whole: &str| {
            let map = Map::new(vec![sdfg::symbolic::Symbol::of("p")], subset("0:4"));
            let [part, whole] = [part, whole].map(|text| subset(text).0.remove(0));
            is_part(&part, &whole, &map, &Assumptions::new())
        };
        assert!(lies_in("N*p // 4:(N*p + N) // 4", "0:N"));
        assert!(lies_in("N*p // 4 + 1:(N*p + N) // 4 + 1", "1:N + 1"));
        assert!(lies_in("2:3", "2:4") && !lies_in("2:5", "2:4"));
        // Parts of another range, another number of parts, overlapping parts, and parts with a step.
        assert!(!lies_in("N*p // 4:(N*p + N) // 4", "1:N"));
        assert!(!lies_in("N*p // 3:(N*p + N) // 3", "0:N"));
        assert!(!lies_in("N*p // 4:(N*p + N) // 4 + 1", "0:N"));
        assert!(!lies_in("N*p // 4:(N*p + N) // 4:2", "0:N"));
    }
}
