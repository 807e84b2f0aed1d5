//! The elimination order of least work, by a dynamic program over sets of eliminated vertices (Bodlaender et
//! al., 2012).
//!
//! The dependents of a vertex after a set was eliminated do not depend on the order within the set: they are
//! the vertices that are reachable through the set.

use super::graph::EliminationGraph;

/// Vertices up to which the exact order is found: there are 2 to that power of sets.
pub(super) const MAX_EXACT: usize = 16;

/// The order of least work for at most [`MAX_EXACT`] vertices. Of larger graphs trees go first, which costs at most their
/// own edges more than the best order, and what is left has to be at most that large; else there is no answer.
pub(super) fn order(graph: &EliminationGraph) -> Option<Vec<usize>> {
    let mut order = if graph.n_vertices() <= MAX_EXACT { Vec::new() } else { graph.trees() };
    let mut place = vec![None; graph.n_vertices()];
    let mut is_tree = vec![false; graph.n_vertices()];
    order.iter().for_each(|vertex| is_tree[*vertex] = true);
    let core: Vec<usize> = (0..graph.n_vertices()).filter(|vertex| !is_tree[*vertex]).collect();
    if core.len() > MAX_EXACT {
        return None;
    }
    for (index, vertex) in core.iter().enumerate() {
        place[*vertex] = Some(index);
    }
    let joined: Vec<u32> = core
        .iter()
        .map(|vertex| {
            let inside = graph.neighbours(*vertex).iter().filter_map(|other| place[*other as usize]);
            inside.fold(0, |mask, other| mask | 1 << other)
        })
        .collect();
    let sizes: Vec<f64> = core.iter().map(|vertex| graph.size(*vertex as u32)).collect();
    order.extend(best_of_sets(&joined, &sizes).into_iter().map(|index| core[index]));
    Some(order)
}

/// The order of least work for vertices whose neighbours are given as masks.
fn best_of_sets(joined: &[u32], sizes: &[f64]) -> Vec<usize> {
    let n = joined.len();
    // For each set of vertices that are out, the least work and the vertex that goes last.
    let mut best = vec![(f64::INFINITY, 0_usize); 1 << n];
    best[0].0 = 0.0;
    for set in 1_u32..1 << n {
        for last in (0..n).filter(|last| set & (1 << last) != 0) {
            let before = set & !(1 << last);
            let dependents = reached(joined, before, last);
            let work: f64 = sizes[last]
                * (0..n)
                    .filter(|other| dependents & (1 << other) != 0)
                    .map(|other| sizes[other])
                    .product::<f64>();
            let total = best[before as usize].0 + work;
            if total < best[set as usize].0 {
                best[set as usize] = (total, last);
            }
        }
    }
    let mut order = Vec::with_capacity(n);
    let mut set = (1_usize << n) - 1;
    while set != 0 {
        let last = best[set].1;
        order.push(last);
        set &= !(1 << last);
    }
    order.reverse();
    order
}

/// The vertices outside of a set that a vertex reaches through it.
fn reached(joined: &[u32], set: u32, from: usize) -> u32 {
    let mut seen = 1_u32 << from;
    let mut frontier = seen;
    while frontier != 0 {
        let vertex = frontier.trailing_zeros() as usize;
        frontier &= frontier - 1;
        let new = joined[vertex] & !seen;
        seen |= new;
        frontier |= new & set;
    }
    seen & !set & !(1 << from)
}
