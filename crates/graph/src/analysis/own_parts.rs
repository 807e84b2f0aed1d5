//! Positions that a rank owns of a container that is cut, and reads of maps over ranks near the ends of parts.
//!
//! A map whose reads stay in the elements that its rank owns needs no copies of others. So it may run while a copy refreshes halos.

use crate::analysis::{ScopeTree, is_leaf};
use crate::ir::{
    Blocks, ContainerId, Cut, Distribution, Flow, NodeId, NodeKind, Parts, Sdfg, State, StateId,
};
use sdfg_language::subset::Range;
use sdfg_language::symbolic::{Expr, Symbol};

/// A read of a map in a map over ranks, along a dimension of a container that has a halo: position `parameter + offset`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HaloRead {
    /// The entry of the map inside of the map over ranks.
    pub inner: NodeId,
    /// The dimension of that map.
    pub dimension: usize,
    /// Distance of the position from the parameter.
    pub offset: i64,
    /// First position that the rank owns, and the one behind its last, as expressions of the parameters of the map over ranks.
    pub owned: [Expr; 2],
}

impl HaloRead {
    /// Whether the range of the map's dimension is limited such that the rank owns every position that is read.
    ///
    /// This is decided by form: the range begins at a maximum, and ends at a minimum, with the limit among its operands.
    pub fn stays_in_own_part(&self, state: &State) -> bool {
        let NodeKind::MapEntry(map) = &state.node(self.inner).kind else { return false };
        let Some(range) = map.ranges.0.get(self.dimension) else { return false };
        let offset = Expr::int(self.offset);
        let [first, end] = self.owned.each_ref().map(|position| position - &offset);
        range.step.is_one()
            && range.tile.is_one()
            && Expr::max(&range.begin, &first) == range.begin
            && Expr::min(&range.end, &end) == range.end
    }
}

/// The reads of a container along its dimensions with halos, in all scopes of a map over ranks.
///
/// `None` unless process `p` of the container's grid is the rank of iteration `p` of the map, each element belongs to one process, and
/// each position is a parameter of a map directly inside plus a number.
pub fn halo_reads(sdfg: &Sdfg, state: StateId, ranks: NodeId, id: ContainerId) -> Option<Vec<HaloRead>> {
    let graph = sdfg.state(state);
    let (tree, container) = (ScopeTree::of(graph), sdfg.container(id));
    let Distribution::Blocks(blocks) = &container.distribution else { return None };
    let coordinates = coordinates(graph, ranks, blocks)?;
    let mut reads = Vec::new();
    for (edge, content) in graph.edges().filter(|(edge, _)| is_leaf(graph, *edge)) {
        let scope = tree.scope_of_edge(graph, edge);
        let around: Vec<NodeId> = tree.enclosing_scope(scope).collect();
        let Some(depth) = around.iter().position(|entry| *entry == ranks) else { continue };
        if !content.memlet.accesses().any(|access| access.container == id) {
            continue;
        }
        let (Flow::Read(access), Some(inner)) = (&content.memlet.flow, depth.checked_sub(1)) else {
            return None;
        };
        let inner = around[inner];
        let NodeKind::MapEntry(map) = &graph.node(inner).kind else { return None };
        let cuts = access.subset().0.iter().zip(&blocks.cuts).zip(container.shape());
        for ((range, cut), extent) in cuts {
            let Some(cut) = cut.as_ref().filter(|cut| cut.has_halo()) else { continue };
            let at = range.begin.clone();
            let offset = |param| (&at - &Expr::symbol(param)).as_int();
            let mut params = map.params.iter().cloned().enumerate();
            let (dimension, offset) =
                params.find_map(|(dimension, param)| Some((dimension, offset(param)?)))?;
            if !range.is_index() {
                return None;
            }
            let (coordinate, parts) = coordinates.get(cut.along)?;
            let owned = owned_part(cut, extent, coordinate, *parts);
            reads.push(HaloRead { inner, dimension, offset, owned });
        }
    }
    Some(reads)
}

/// Whether a map over ranks reads only those elements of a container that its ranks own. `false` if that is not known.
pub fn reads_own_elements(sdfg: &Sdfg, state: StateId, ranks: NodeId, id: ContainerId) -> bool {
    halo_reads(sdfg, state, ranks, id)
        .is_some_and(|reads| reads.iter().all(|read| read.stays_in_own_part(sdfg.state(state))))
}

/// The coordinate of each dimension of a grid as a parameter of a map over ranks, and its number of processes.
fn coordinates(state: &State, ranks: NodeId, blocks: &Blocks) -> Option<Vec<(Expr, i64)>> {
    let NodeKind::MapEntry(map) = &state.node(ranks).kind else { return None };
    let fits = map.ranges.0.len() == blocks.grid.len() && blocks.replicated_over().next().is_none();
    let each = map.params.iter().zip(&map.ranges.0).zip(&blocks.grid);
    let coordinate = |((param, range), extent): ((&Symbol, &Range), &Expr)| {
        let is_same = range.begin.is_zero() && range.step.is_one() && range.end == *extent;
        is_same.then_some((Expr::symbol(param.clone()), extent.as_int()?))
    };
    if fits && state.node(ranks).kind.is_map_over_ranks() { each.map(coordinate).collect() } else { None }
}

/// First position of the part with this number, and the end behind it.
pub fn owned_part(cut: &Cut, extent: &Expr, number: &Expr, parts: i64) -> [Expr; 2] {
    let first = part_start(&cut.parts, extent, number, parts);
    [first, part_start(&cut.parts, extent, &(number + &Expr::one()), parts)]
}

/// Where part `k` of `c` of a dimension begins; `k = c` gives its end.
pub fn part_start(parts: &Parts, extent: &Expr, k: &Expr, c: i64) -> Expr {
    let count = Expr::int(c);
    match parts {
        Parts::Equal => Expr::min(extent, &(k * &extent.ceil_div(&count))),
        Parts::Balanced(None) => (k * extent).floor_div(&count),
        Parts::Balanced(Some([begin, end])) => {
            let length = Expr::max(&Expr::zero(), &(end - begin));
            let inner = begin + &(k * &length).floor_div(&count);
            let inner = Expr::max(&Expr::zero(), &Expr::min(extent, &inner));
            between(&Expr::zero(), &inner, extent, k, c)
        }
        Parts::Starts(starts) => {
            // Each beginning counts from its own part on; one before an earlier one counts as that one.
            let (mut sum, mut previous) = (Expr::zero(), Expr::zero());
            for (number, start) in (1..).zip(starts) {
                let start = Expr::max(&previous, &Expr::min(extent, start));
                let reached =
                    Expr::min(&Expr::one(), &Expr::max(&Expr::zero(), &(k - &Expr::int(number - 1))));
                sum = &sum + &(&reached * &(&start - &previous));
                previous = start;
            }
            between(&Expr::zero(), &sum, extent, k, c)
        }
    }
}

/// `first` for part 0, `last` for part `c`, and `inner` for those between.
fn between(first: &Expr, inner: &Expr, last: &Expr, k: &Expr, c: i64) -> Expr {
    if let Some(k) = k.as_int() {
        return if k <= 0 {
            first.clone()
        } else if k >= c {
            last.clone()
        } else {
            inner.clone()
        };
    }
    let one = Expr::one();
    let is_inner = Expr::min(&one, &Expr::max(&Expr::zero(), k));
    let is_last = Expr::max(&Expr::zero(), &(k - &Expr::int(c - 1)));
    &(first + &(&is_inner * &(inner - first))) + &(&is_last * &(last - inner))
}
