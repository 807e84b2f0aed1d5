//! [`HaloOverlap`].

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::{HaloRead, ScopeTree, halo_reads};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{ContainerId, Edge, Flow, Map, NodeId, NodeKind, Sdfg, State, StateId};
use sdfg::subset::Range;
use sdfg::symbolic::Expr;
use serde::{Deserialize, Serialize};

use super::map_split::copyable_at;
use super::nested_maps::{entry_map, no_declared_memlets};
use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Divides a map over ranks in two: the interior needs no halos, the border does.
///
/// In native code, the messages of the copies that refresh the halos travel while the interior is computed. The border waits
/// for them.
///
/// # When it applies
///
/// A copy refreshes the halos of a container, and a map over ranks reads the container. The map has one map inside, whose
/// parameters plus numbers are the positions that it reads along the cut dimensions. All containers whose halos are refreshed for the map
/// are looked at together.
///
/// # Refusals
///
/// - The copy combines values, or copies something else than a part of a container to itself.
/// - The map is not over ranks, is in a scope or a nested SDFG, or has something else inside than one map.
/// - The map writes the container, or an index of a read along a cut dimension has another form.
/// - The ranks of the map are numbered differently from those of the container, or hold replicas of it.
/// - The step of a divided dimension is not 1.
/// - The map reads no halo: there is nothing to divide.
/// - The map uses a stream, binds a view or reference, or gets symbols from data.
///
/// # Before
///
/// ```sdft
/// sdfg smooth {
///   symbol N: i64
///   array A: f64[N] distribution(grid(4)[balanced(0) halo(1, 1)])
///   array B: f64[N] distribution(grid(4)[balanced(0)])
///
///   state s {
///     access A
///     access B
///     access near = A
///     map ranks [p = 0:4] schedule(mpi) {
///       map m [i = max(N*p // 4, 1):min(N, (N*p + N) // 4 + 1) - 1] {
///         tasklet t (l, r) -> (y) { y = l + r }
///         m.A -> t.l: A[i - 1]
///         m.A -> t.r: A[i + 1]
///         t.y -> m.B: B[i]
///       }
///       ranks.A -> m.A
///       m.B -> ranks.B
///     }
///     A -> near
///     near -> ranks.A
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
///   array A: f64[N] distribution(grid(4)[balanced(0) halo(1, 1)])
///   array B: f64[N] distribution(grid(4)[balanced(0)])
///
///   state s {
///     access A
///     access B
///     access near = A
///     map ranks [p = 0:4] schedule(mpi) {
///       map m [i = max(N*p // 4 + 1, 1):min(N, (N*p + N) // 4) - 1] {
///         tasklet t (l, r) -> (y) { y = l + r }
///         m.A -> t.l: A[i - 1]
///         m.A -> t.r: A[i + 1]
///         t.y -> m.B: B[i]
///       }
///       ranks.A -> m.A
///       m.B -> ranks.B
///     }
///     map ranks_1 [p = 0:4] schedule(mpi) {
///       map m_1 [i = max(N*p // 4 + 1, (N*p + N) // 4 - 1, 1):min(N, (N*p + N) // 4 + 1) - 1] {
///         tasklet t_1 (l, r) -> (y) { y = l + r }
///         m_1.A -> t_1.l: A[i - 1]
///         m_1.A -> t_1.r: A[i + 1]
///         t_1.y -> m_1.B: B[i]
///       }
///       map m_1_1 [i = max(N*p // 4, 1):min(N, N*p // 4 + 2, (N*p + N) // 4 + 1) - 1] {
///         tasklet t_1_1 (l, r) -> (y) { y = l + r }
///         m_1_1.A -> t_1_1.l: A[i - 1]
///         m_1_1.A -> t_1_1.r: A[i + 1]
///         t_1_1.y -> m_1_1.B: B[i]
///       }
///       ranks_1.A -> m_1.A
///       m_1.B -> ranks_1.B
///       ranks_1.A -> m_1_1.A
///       m_1_1.B -> ranks_1.B
///       order m_1 -> m_1_1
///     }
///     A -> near
///     near -> ranks.A
///     ranks.B -> B
///     near -> ranks_1.A
///     ranks_1.B -> B
///     order ranks -> ranks_1
///   }
/// }
/// ```
///
/// # Soundness
///
/// Each iteration is in exactly one of the maps, as after a split. Iterations of maps are concurrent, so any order of the maps is
/// right; the border comes last. All come after the copies. Native code runs the interior before the messages have arrived, because its ranks
/// own all that it reads.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HaloOverlap {}

static METADATA: Metadata = Metadata {
    name: "HaloOverlap",
    group: Group::Hardware,
    summary: "Divides a map over ranks in an interior, which needs no halos, and a border.",
    source: "DESIGN, decision 23",
    soundness: Soundness::ChangesRounding,
    is_strict: false,
    file: include_str!("halo_overlap.rs"),
    parameters: &[],
};

anchored!(HaloOverlap);

impl Transformation for HaloOverlap {
    described!(METADATA);

    fn moves_between_ranks(&self) -> bool {
        true
    }

    fn pattern(&self) -> Pattern {
        Pattern::path([
            ("source", NodeClass::Access),
            ("target", NodeClass::Access),
            ("map", NodeClass::MapEntry),
        ])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let (state, ranks) = (site.state(), site.found.node(2));
        if !site.found.calls.is_empty() || site.scopes().scope_of(ranks).is_some() {
            return Err(Refusal::structure(site.label(2), "is in a scope, or in a nested SDFG"));
        }
        if !state.node(ranks).kind.is_map_over_ranks() {
            return Err(Refusal::structure(site.label(2), "is no map over ranks"));
        }
        if refreshed(state, site.found.node(0), site.found.node(1)).is_none() {
            return Err(Refusal::structure(site.label(1), "is not refreshed there by a copy to itself"));
        }
        let Some((inner, map)) = only_map(state, &site.scopes(), ranks) else {
            return Err(Refusal::structure(site.label(2), "has something else inside than one map"));
        };
        copyable_at(site, 2)?;
        no_declared_memlets(site, &[inner])?;
        let mut reads = Vec::new();
        for id in containers(state, ranks) {
            let found = halo_reads(site.sdfg, site.found.state(), ranks, id);
            reads.extend(found.ok_or_else(|| {
                let name = &site.sdfg.container(id).name;
                Refusal::container(name, "is written by the map, or read at positions of another form")
            })?);
        }
        for read in &reads {
            let range = &map.ranges.0[read.dimension];
            if !range.step.is_one() || !range.tile.is_one() {
                let label = &state.node(inner).label;
                return Err(Refusal::structure(label, "has a step other than 1 in a divided dimension"));
            }
        }
        if reads.iter().all(|read| read.stays_in_own_part(state)) {
            return Err(Refusal::structure(site.label(2), "reads no halo"));
        }
        Ok(Evidence::default())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, ranks) = (found.state(), found.node(2));
        let limits = Limits::of(editor.sdfg(), state, ranks);
        let border = editor.copy_scope(state, ranks)?;
        let inner = |editor: &Editor<'_>, entry: NodeId| -> Result<NodeId, EditError> {
            let graph = editor.state(state)?;
            let inner = only_map(graph, &ScopeTree::of(graph), entry);
            inner.map(|(inner, _)| inner).ok_or(EditError::NoNode(entry))
        };
        let (interior, mut slab) = (inner(editor, ranks)?, inner(editor, border)?);
        let mut map = entry_map(editor, state, interior)?;
        // Slabs of the border lie outside of the interior along one dimension, and inside of it along those before.
        let mut slabs = Vec::new();
        for (dimension, limit) in &limits.0 {
            let range = map.ranges.0.get(*dimension).ok_or(EditError::NoNode(interior))?.clone();
            let [low, middle, high] = limit.divide(&range);
            slabs.extend([low, high].map(|part| with_range(&map, *dimension, part)));
            map = with_range(&map, *dimension, middle);
        }
        editor.replace_node(state, interior, NodeKind::MapEntry(map))?;
        while let Some(next) = slabs.pop() {
            let copy = if slabs.is_empty() { None } else { Some(editor.copy_scope(state, slab)?) };
            editor.replace_node(state, slab, NodeKind::MapEntry(next))?;
            if let Some(copy) = copy {
                after(editor, state, slab, copy)?;
            }
            slab = copy.unwrap_or(slab);
        }
        after(editor, state, ranks, border)
    }
}

/// Lets a scope begin after the end of another one. They write disjoint elements, which ranges with maxima and minima hide from other
/// analyses; the border waits longest in any case.
fn after(editor: &mut Editor<'_>, state: StateId, first: NodeId, second: NodeId) -> Result<(), EditError> {
    let exit = editor.state(state)?.exit_of(first).ok_or(EditError::NoNode(first))?;
    editor.add_order(state, exit, second)
}

/// The first position of the interior along each dimension of a map, and the one behind its last.
struct Limits(BTreeMap<usize, Limit>);

struct Limit {
    first: Expr,
    end: Expr,
}

impl Limits {
    /// The limits of a map that passes the check.
    fn of(sdfg: &Sdfg, state: StateId, ranks: NodeId) -> Self {
        let mut limits: BTreeMap<usize, Limit> = BTreeMap::new();
        let reads = containers(sdfg.state(state), ranks).into_iter();
        let reads = reads.filter_map(|id| halo_reads(sdfg, state, ranks, id)).flatten();
        for HaloRead { dimension, offset, owned: [first, end], .. } in reads {
            let offset = Expr::int(offset);
            let (first, end) = (&first - &offset, &end - &offset);
            let limit = match limits.remove(&dimension) {
                None => Limit { first, end },
                Some(known) => {
                    Limit { first: Expr::max(&known.first, &first), end: Expr::min(&known.end, &end) }
                }
            };
            limits.insert(dimension, limit);
        }
        Limits(limits)
    }
}

impl Limit {
    /// The parts of a range before, within and behind the limits. They are disjoint also where the limits leave nothing within.
    fn divide(&self, range: &Range) -> [Range; 3] {
        let (begin, end) = (Expr::max(&range.begin, &self.first), Expr::min(&range.end, &self.end));
        let part = |begin: &Expr, end: &Expr| Range::new(begin.clone(), end.clone());
        [
            part(&range.begin, &Expr::min(&range.end, &self.first)),
            part(&begin, &end),
            part(&Expr::max(&begin, &self.end), &range.end),
        ]
    }
}

fn with_range(map: &Map, dimension: usize, range: Range) -> Map {
    let mut map = map.clone();
    if let Some(own) = map.ranges.0.get_mut(dimension) {
        *own = range;
    }
    map
}

/// The container that a copy refreshes between two access nodes.
fn refreshed(state: &State, from: NodeId, to: NodeId) -> Option<ContainerId> {
    let refreshes = |edge: &Edge| match &edge.memlet.flow {
        Flow::Copy { from, to, resolution: None } => {
            (from.container == to.container && from.subset() == to.subset()).then_some(to.container)
        }
        Flow::Copy { .. } | Flow::Read(_) | Flow::Write { .. } => None,
        Flow::Order | Flow::Value | Flow::Bind(_) => None,
    };
    state.each_out_edge(from).filter(|(_, edge)| edge.dst == to).find_map(|(_, edge)| refreshes(edge))
}

/// The containers that copies refresh for a map.
fn containers(state: &State, ranks: NodeId) -> BTreeSet<ContainerId> {
    let targets = state.each_in_edge(ranks).map(|(_, edge)| edge.src);
    let copies =
        targets.flat_map(|target| state.each_in_edge(target).map(move |(_, edge)| (edge.src, target)));
    copies.filter_map(|(from, to)| refreshed(state, from, to)).collect()
}

/// The map in a scope that has nothing else inside.
fn only_map<'s>(state: &'s State, tree: &ScopeTree, entry: NodeId) -> Option<(NodeId, &'s Map)> {
    let exit = state.exit_of(entry);
    let mut inside = tree.children(Some(entry)).iter().copied().filter(|node| Some(*node) != exit);
    let inner = inside.next()?;
    let NodeKind::MapEntry(map) = &state.node(inner).kind else { return None };
    let of_inner = state.exit_of(inner);
    inside.all(|node| Some(node) == of_inner).then_some((inner, map))
}
