//! [`RedundantRedistribution`].

use sdfg::analysis::{Use, is_leaf};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{Blocks, Container, ContainerId, Cut, Distribution, Edge, EdgeId, Flow, NodeId, Sdfg, State};
use sdfg::symbolic::Expr;
use serde::{Deserialize, Serialize};

use super::distribute_container::without_halos;
use super::{anchored, described};
use crate::engine::{Claim, Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Makes one container of two that are cut alike, where one is only a copy of the other for a map over ranks.
///
/// If the map reads the copy, it reads the original instead, which gets the halos of the copy. A copy of the original to
/// itself then refreshes halos and replicas, and moves nothing else. If the map writes, it writes to the target of the copy.
///
/// # When it applies
///
/// A copy of one part of a container to the same part of another one. Both have the same shape and cuts, apart from halos. One
/// of them is a transient that only the copy and the map use.
///
/// # Refusals
///
/// - The containers differ in shape, element type or cuts, or the parts differ.
/// - Something else uses the transient.
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
/// accesses of the map, so both have the same values there. What a map reads of other ranks' elements is refreshed before it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RedundantRedistribution {}

static METADATA: Metadata = Metadata {
    name: "RedundantRedistribution",
    group: Group::Hardware,
    summary: "Makes one container of two that are cut alike.",
    source: "DESIGN, decision 23",
    soundness: Soundness::Always,
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
        let Some(pair) = Pair::of(site.state(), site.found) else {
            return Err(Refusal::structure(site.label(0), "is not copied to the same part there"));
        };
        let (source, target) = (site.sdfg.container(pair.source), site.sdfg.container(pair.target));
        alike(source, target)?;
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
        let Some(pair) = Pair::of(graph, found) else { return Err(EditError::NoNode(found.node(0))) };
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
        let graph = editor.state(state)?;
        let (stays, goes) = if reads { (pair.from, pair.to) } else { (pair.to, pair.from) };
        let edges = if reads { graph.out_edges(goes) } else { graph.in_edges(goes) };
        for edge in edges {
            let is_order = matches!(editor.state(state)?.edge(edge).memlet.flow, Flow::Order);
            match (reads, is_order) {
                (true, false) => editor.redirect_source(state, edge, stays, None)?,
                (false, false) => editor.redirect_destination(state, edge, stays, None)?,
                (_, true) => {
                    let (src, dst) = {
                        let found = editor.state(state)?.edge(edge);
                        (found.src, found.dst)
                    };
                    editor.remove_edge(state, edge)?;
                    if reads {
                        editor.add_order(state, stays, dst)?
                    } else {
                        editor.add_order(state, src, stays)?
                    }
                }
            }
        }
        // Nodes without edges go with their last one, so the copy goes last.
        editor.remove_edge(state, pair.copy)?;
        if editor.state(state)?.get_node(goes).is_some() {
            editor.remove_node(state, goes)?;
        }
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
        let (from, to) = (found.node(0), found.node(1));
        let mut copies = state.each_out_edge(from).filter(|(_, edge)| edge.dst == to);
        let (copy, edge) = copies.next()?;
        let Flow::Copy { from: read, to: written, resolution: None } = &edge.memlet.flow else { return None };
        let is_same_part = read.subset() == written.subset() && read.container != written.container;
        let pair = Pair { copy, from, to, source: read.container, target: written.container };
        (is_same_part && copies.next().is_none()).then_some(pair)
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
        self.only_here(site, self.target, self.to)
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
        self.only_here(site, self.source, self.from)
    }

    /// Refuses a transient with uses in other states or at other nodes.
    fn only_here(&self, site: &Site<'_>, id: ContainerId, node: NodeId) -> Result<(), Refusal> {
        let (uses, here) = (site.uses(), site.found.state());
        let is_other = |used: Use| match used {
            Use::Access(state, other) => (state, other) != (here, node),
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
        self.alone(site, self.source, self.from)
    }

    /// Nothing else in the state may write the target, or touch it before, and no map may rely on copies that this one sets.
    fn check_written(&self, site: &Site<'_>) -> Result<(), Refusal> {
        self.only_copy(site, site.state().each_in_edge(self.to))?;
        self.alone(site, self.target, self.to)?;
        let target = site.sdfg.container(self.target);
        if !target.distribution.blocks().is_some_and(Blocks::has_copies) {
            return Ok(());
        }
        for state in site.uses().states(self.target) {
            let graph = site.sdfg.state(state);
            let reads = |edge: &Edge| matches!(&edge.memlet.flow, Flow::Read(access) if access.container == self.target);
            let refreshes = |edge: &Edge| matches!(&edge.memlet.flow, Flow::Copy { from, to, .. } if from.container == to.container && to.container == self.target);
            if graph.edges().any(|(id, edge)| is_leaf(graph, id) && reads(edge))
                && !graph.edges().any(|(_, edge)| refreshes(edge))
            {
                let reason = "has halos or replicas that a map reads, and that only this copy sets";
                return Err(Refusal::container(&target.name, reason));
            }
        }
        Ok(())
    }

    /// Refuses a container that the state touches at another node than this one, by any name.
    fn alone(&self, site: &Site<'_>, id: ContainerId, node: NodeId) -> Result<(), Refusal> {
        for name in site.same_memory(id) {
            let is_other = |used: &Use| match *used {
                Use::Access(_, other) => other != node,
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

/// Two containers with the same elements on each rank.
fn alike(source: &Container, target: &Container) -> Result<(), Refusal> {
    let same = source.shape() == target.shape()
        && source.element == target.element
        && source.storage == target.storage
        && source.is_alias() == target.is_alias();
    if !same {
        return Err(Refusal::container(&target.name, "has another shape, element type or memory"));
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
