//! The elimination graph: neighbours of each vertex, and the number of its relevant configurations.

use std::collections::VecDeque;

use super::Volume;
use crate::strategy::layouts::Layouts;
use crate::strategy::problem::{End, Problem};

/// Adjacent vertices, without direction, loops or repetition, and the number of configurations of each.
#[derive(Clone, Debug)]
pub struct EliminationGraph {
    /// Start of the neighbours of each vertex in `neighbours`, and the end of the last ones.
    starts: Vec<usize>,
    /// Of one vertex after the other, sorted.
    neighbours: Vec<u32>,
    /// Number of configurations of each vertex that its edges distinguish.
    sizes: Vec<f64>,
}

impl EliminationGraph {
    /// The graph of a problem. Configurations that no edge tells apart count once.
    pub fn of(problem: &dyn Problem) -> Self {
        let n = problem.n_vertices();
        let mut pairs = Vec::with_capacity(2 * problem.edges().len());
        let mut classes: Vec<Option<Layouts>> = vec![None; n];
        for (index, edge) in problem.edges().iter().enumerate().filter(|(_, edge)| !edge.is_loop()) {
            for end in [End::Source, End::Target] {
                pairs.push((edge.vertex(end), edge.vertex(end.other())));
                let layouts = problem.layouts(index, end);
                let class = &mut classes[edge.vertex(end)];
                *class = Some(class.as_ref().map_or_else(|| layouts.clone(), |class| class.refined(layouts)));
            }
        }
        let size = |classes: &Option<Layouts>| classes.as_ref().map_or(1, Layouts::len) as f64;
        EliminationGraph::new(pairs, classes.iter().map(size).collect())
    }

    /// A graph from its pairs of neighbours, each in both directions, and how many configurations each vertex has.
    pub(super) fn new(pairs: Vec<(usize, usize)>, sizes: Vec<f64>) -> Self {
        let n = sizes.len();
        let mut ends = vec![0; n + 1];
        pairs.iter().for_each(|(vertex, _)| ends[vertex + 1] += 1);
        for vertex in 0..n {
            ends[vertex + 1] += ends[vertex];
        }
        let mut next = ends.clone();
        let mut listed = vec![0_u32; pairs.len()];
        for (vertex, other) in pairs {
            listed[next[vertex]] = other as u32;
            next[vertex] += 1;
        }
        let (mut starts, mut neighbours) = (vec![0], Vec::with_capacity(listed.len()));
        for vertex in 0..n {
            let list = &mut listed[ends[vertex]..ends[vertex + 1]];
            list.sort_unstable();
            let first = neighbours.len();
            for other in list.iter() {
                if neighbours.len() == first || neighbours.last() != Some(other) {
                    neighbours.push(*other);
                }
            }
            starts.push(neighbours.len());
        }
        EliminationGraph { starts, neighbours, sizes }
    }

    /// Number of vertices.
    pub fn n_vertices(&self) -> usize {
        self.sizes.len()
    }

    /// The neighbours of a vertex, sorted.
    pub(super) fn neighbours(&self, vertex: usize) -> &[u32] {
        &self.neighbours[self.starts[vertex]..self.starts[vertex + 1]]
    }

    pub(super) fn size(&self, vertex: u32) -> f64 {
        self.sizes[vertex as usize]
    }

    /// Cost of eliminating every vertex in this order.
    pub fn volume(&self, order: &[usize]) -> Volume {
        let mut left = Elimination::new(self);
        let mut volume = Volume { entries: 0.0, operations: 0.0 };
        for &vertex in order {
            let dependents = left.eliminate(vertex as u32);
            let entries: f64 = dependents.iter().map(|other| self.size(*other)).product();
            volume.entries += entries;
            volume.operations += entries * self.sizes[vertex];
        }
        volume
    }

    /// The vertices that are on no cycle and connect none, from the outside inwards: eliminating one of them first costs
    /// nothing but its own edge. From both ends of a chain in turns, so that they can be worked on side by side.
    pub(super) fn trees(&self) -> Vec<usize> {
        let mut degree: Vec<usize> = self.starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mut queue: VecDeque<usize> = (0..degree.len()).filter(|vertex| degree[*vertex] <= 1).collect();
        let mut queued: Vec<bool> = degree.iter().map(|degree| *degree <= 1).collect();
        let mut order = Vec::new();
        while let Some(vertex) = queue.pop_front() {
            order.push(vertex);
            for &other in self.neighbours(vertex) {
                let other = other as usize;
                degree[other] = degree[other].saturating_sub(1);
                if degree[other] <= 1 && !queued[other] {
                    queued[other] = true;
                    queue.push_back(other);
                }
            }
        }
        order
    }

    /// Number of vertices that remain without trees.
    pub(super) fn n_on_cycles(&self) -> usize {
        self.n_vertices() - self.trees().len()
    }
}

/// The graph while vertices are taken out of it.
pub(super) struct Elimination {
    /// Sorted; of vertices that are out, those that were joined to it when it went.
    pub(super) neighbours: Vec<Vec<u32>>,
}

impl Elimination {
    pub(super) fn new(graph: &EliminationGraph) -> Self {
        let lists = (0..graph.n_vertices()).map(|vertex| graph.neighbours(vertex).to_vec());
        Elimination { neighbours: lists.collect() }
    }

    /// Takes a vertex out and joins its neighbours to each other, which it returns.
    pub(super) fn eliminate(&mut self, vertex: u32) -> Vec<u32> {
        let dependents = std::mem::take(&mut self.neighbours[vertex as usize]);
        for &other in &dependents {
            let list = &mut self.neighbours[other as usize];
            if dependents.len() <= 1 {
                list.retain(|neighbour| *neighbour != vertex);
            } else {
                *list = union(list, &dependents, |neighbour| neighbour != vertex && neighbour != other);
            }
        }
        dependents
    }
}

/// Wanted elements of either of two sorted lists.
fn union(a: &[u32], b: &[u32], wanted: impl Fn(u32) -> bool) -> Vec<u32> {
    let mut both = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let next = match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) => *x.min(y),
            (Some(x), None) | (None, Some(x)) => *x,
            (None, None) => break,
        };
        i += usize::from(a.get(i) == Some(&next));
        j += usize::from(b.get(j) == Some(&next));
        if wanted(next) {
            both.push(next);
        }
    }
    both
}
