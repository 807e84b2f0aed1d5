//! Memlet trees of a state, as a table: the continuation of each edge towards the inside and the outside of
//! scopes.
//!
//! [`memlet_path`](super::memlet_path()) follows one path; this table holds all paths, for readers that visit
//! every edge.

use std::collections::{BTreeMap, BTreeSet};

use super::memlet_path::outer_segment;
use crate::ir::{EdgeId, State};

/// The trees that the edges of a state form. The root of a tree is its outermost edge, at the access node outside; its
/// leaves are the edges that move the data. An edge that passes no scope is a tree of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemletTrees {
    outer: BTreeMap<EdgeId, EdgeId>,
    inner: BTreeMap<EdgeId, Vec<EdgeId>>,
    roots: Vec<EdgeId>,
}

impl MemletTrees {
    /// The trees of a state.
    pub fn of(state: &State) -> Self {
        let mut trees = MemletTrees { outer: BTreeMap::new(), inner: BTreeMap::new(), roots: Vec::new() };
        for (edge, _) in state.edges() {
            match outer_segment(state, edge) {
                Some(outer) => {
                    trees.outer.insert(edge, outer);
                    trees.inner.entry(outer).or_default().push(edge);
                }
                None => trees.roots.push(edge),
            }
        }
        trees
    }

    /// The outermost edges by id, those of trees of one edge included.
    pub fn roots(&self) -> &[EdgeId] {
        &self.roots
    }

    /// The next edge outwards; `None` for a root.
    pub fn outer(&self, edge: EdgeId) -> Option<EdgeId> {
        self.outer.get(&edge).copied()
    }

    /// The edges one scope further in, by id; none for a leaf.
    pub fn inner(&self, edge: EdgeId) -> &[EdgeId] {
        self.inner.get(&edge).map_or(&[], Vec::as_slice)
    }

    /// Whether no scope lies between the edge and what moves the data.
    pub fn is_leaf(&self, edge: EdgeId) -> bool {
        self.inner(edge).is_empty()
    }

    /// The root of the tree of an edge; `None` if a wrong graph joins edges to a cycle.
    pub fn root(&self, edge: EdgeId) -> Option<EdgeId> {
        let mut way = std::iter::successors(Some(edge), |edge| self.outer(*edge)).take(self.outer.len() + 1);
        way.find(|edge| self.outer(*edge).is_none())
    }

    /// The leaves inside an edge, by id; the edge itself if it is one.
    pub fn leaves(&self, edge: EdgeId) -> Vec<EdgeId> {
        let (mut found, mut seen, mut waiting) = (Vec::new(), BTreeSet::new(), vec![edge]);
        while let Some(edge) = waiting.pop() {
            if !seen.insert(edge) {
                continue;
            }
            if self.is_leaf(edge) {
                found.push(edge);
            }
            waiting.extend(self.inner(edge));
        }
        found.sort_unstable();
        found
    }
}
