//! Greedy orders: repeatedly eliminate the best vertex by some measure.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::graph::{Elimination, EliminationGraph};

/// Measures by which the next vertex is minimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greedy {
    /// Neighbours that are not yet out, without fill-in (document 2, SortNodes).
    SortNodes,
    /// Dependents, with fill-in (document 2, GetNextVertex).
    DependentSets,
    /// Pairs of dependents that are not joined yet.
    MinFill,
    /// Combinations of its own and its dependents' configurations.
    MinVolume,
}

/// A vertex in the queue: its measure, how many steps have to come before it, itself, and the state it was measured in.
/// Among equals the one that waits for fewer steps is first: then more can be done side by side.
type Entry = Reverse<(u64, u32, u32, u32)>;

/// An order by a greedy rule; with noise from a seed if there is one. Trees go first, by any rule but SortNodes.
pub(super) fn order(graph: &EliminationGraph, rule: Greedy, seed: Option<u64>) -> Vec<usize> {
    let n = graph.n_vertices();
    let mut left = Elimination::new(graph);
    let mut depth = vec![0_u32; n];
    let mut out = vec![false; n];
    let mut order = Vec::with_capacity(n);
    if rule != Greedy::SortNodes {
        for vertex in graph.trees() {
            out[vertex] = true;
            order.push(vertex);
            for other in left.eliminate(vertex as u32) {
                depth[other as usize] = depth[other as usize].max(depth[vertex] + 1);
            }
        }
    }
    let mut noise = seed.map(Noise);
    let mut stamp = vec![0_u32; n];
    let mut queue: BinaryHeap<Entry> = BinaryHeap::new();
    let waiting = (0..n as u32).filter(|vertex| !out[*vertex as usize]);
    queue.extend(waiting.map(|vertex| {
        let measure = measure(graph, &left, rule, vertex, &mut noise);
        Reverse((measure, depth[vertex as usize], vertex, 0))
    }));
    while let Some(Reverse((_, level, vertex, measured))) = queue.pop() {
        if out[vertex as usize] || measured != stamp[vertex as usize] {
            continue;
        }
        out[vertex as usize] = true;
        order.push(vertex as usize);
        let mut changed = if rule == Greedy::SortNodes {
            remove_without_fill(&mut left, vertex)
        } else {
            left.eliminate(vertex)
        };
        for &other in &changed {
            let depth = &mut depth[other as usize];
            *depth = (*depth).max(level + 1);
        }
        if rule == Greedy::MinFill {
            // A new pair of neighbours may be a pair that others miss no more.
            let around: Vec<u32> =
                changed.iter().flat_map(|other| left.neighbours[*other as usize].iter().copied()).collect();
            changed.extend(around);
            changed.sort_unstable();
            changed.dedup();
        }
        for other in changed {
            let place = other as usize;
            stamp[place] += 1;
            let measure = measure(graph, &left, rule, other, &mut noise);
            queue.push(Reverse((measure, depth[place], other, stamp[place])));
        }
    }
    order
}

/// SortNodes forgets that the neighbours of a vertex that is out depend on each other.
fn remove_without_fill(left: &mut Elimination, vertex: u32) -> Vec<u32> {
    let neighbours = std::mem::take(&mut left.neighbours[vertex as usize]);
    for &other in &neighbours {
        left.neighbours[other as usize].retain(|neighbour| *neighbour != vertex);
    }
    neighbours
}

/// Measure of eliminating a vertex next; lower is better.
fn measure(
    graph: &EliminationGraph,
    left: &Elimination,
    rule: Greedy,
    vertex: u32,
    noise: &mut Option<Noise>,
) -> u64 {
    let dependents = &left.neighbours[vertex as usize];
    match rule {
        Greedy::SortNodes | Greedy::DependentSets => dependents.len() as u64,
        Greedy::MinFill => missing_pairs(left, dependents),
        Greedy::MinVolume => {
            let volume: f64 =
                graph.size(vertex) * dependents.iter().map(|other| graph.size(*other)).product::<f64>();
            let factor = noise.as_mut().map_or(1.0, |noise| 0.5 + noise.fraction());
            // The order of floating-point numbers that are not negative is that of their bits.
            (volume * factor).to_bits()
        }
    }
}

fn missing_pairs(left: &Elimination, dependents: &[u32]) -> u64 {
    let missing = |(i, a): (usize, &u32)| {
        let joined = &left.neighbours[*a as usize];
        dependents[i + 1..].iter().filter(|b| joined.binary_search(b).is_err()).count() as u64
    };
    dependents.iter().enumerate().map(missing).sum()
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Noise(u64);

impl Noise {
    /// A number in [0, 1).
    fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}
