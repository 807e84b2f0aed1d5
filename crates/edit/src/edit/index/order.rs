//! An incremental topological order (Pearce and Kelly, "A Dynamic Topological Sort Algorithm for Directed
//! Acyclic Graphs", JEA 2006).
//!
//! The order reduces two queries to a search among the nodes between two nodes: whether an edge closes a
//! cycle, and whether a path leads from one node to another. Positions are sparse numbers, so a node can be
//! inserted between two others without moving the rest.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::ir::ids::Id;
use sdfg_graph::ir::{NodeId, State};

/// Distance of neighbours in a new order.
const GAP: u64 = 1 << 32;
/// Position of the first node; there is as much room before as behind.
const FIRST: u64 = 1 << 62;

/// Positions of nodes such that every edge goes forward.
#[derive(Clone, Debug)]
pub(in crate::edit) struct Order {
    /// By index of the node.
    positions: Vec<Option<u64>>,
    nodes: BTreeMap<u64, NodeId>,
}

impl Order {
    /// An order of the nodes of a state; `None` if it has a cycle.
    pub(super) fn of(state: &State) -> Option<Self> {
        let mut order = Order { positions: vec![None; state.nodes_created()], nodes: BTreeMap::new() };
        for id in state.topological_order()? {
            order.append(id);
        }
        Some(order)
    }

    /// The position of a node; 0 for one that is absent.
    pub(in crate::edit) fn position(&self, id: NodeId) -> u64 {
        self.positions.get(id.index()).copied().flatten().unwrap_or(0)
    }

    fn set(&mut self, id: NodeId, position: u64) {
        if self.positions.len() <= id.index() {
            self.positions.resize(id.index() + 1, None);
        }
        self.positions[id.index()] = Some(position);
        self.nodes.insert(position, id);
    }

    /// Puts a node without edges behind all others.
    pub(super) fn append(&mut self, id: NodeId) {
        let last = self.nodes.last_key_value().map_or(FIRST, |(position, _)| *position);
        self.set(id, last + GAP);
    }

    /// Moves a node without edges right before another one.
    pub(super) fn move_before(&mut self, id: NodeId, next: NodeId) {
        self.remove(id);
        let at = self.position(next);
        let before = self.nodes.range(..at).next_back().map_or(at.saturating_sub(2 * GAP), |(p, _)| *p);
        self.insert_between(id, before, at, next);
    }

    /// Moves a node without edges right behind another one.
    pub(super) fn move_behind(&mut self, id: NodeId, previous: NodeId) {
        self.remove(id);
        let at = self.position(previous);
        match self.nodes.range(at + 1..).next().map(|(position, node)| (*position, *node)) {
            Some((behind, next)) => self.insert_between(id, at, behind, next),
            None => self.append(id),
        }
    }

    fn insert_between(&mut self, id: NodeId, before: u64, behind: u64, next: NodeId) {
        if behind - before > 1 {
            self.set(id, before + (behind - before) / 2);
            return;
        }
        self.spread(behind);
        let behind = self.position(next);
        let before =
            self.nodes.range(..behind).next_back().map_or(behind.saturating_sub(2 * GAP), |(p, _)| *p);
        self.set(id, before + (behind - before) / 2);
    }

    /// Makes room at a position: the nodes of the smallest block around it that is nearly empty take equal distances.
    fn spread(&mut self, position: u64) {
        for bits in (4..63).step_by(2) {
            let (first, width) = (position >> bits << bits, 1_u64 << bits);
            let found: Vec<NodeId> = self.nodes.range(first..first + width).map(|(_, id)| *id).collect();
            let n = found.len() as u64 + 1;
            if n * n > width / 4 {
                continue;
            }
            for id in &found {
                self.nodes.remove(&self.position(*id));
            }
            for (k, id) in found.into_iter().enumerate() {
                self.set(id, first + (k as u64 + 1) * (width / n));
            }
            return;
        }
    }

    /// Forgets a node.
    pub(super) fn remove(&mut self, id: NodeId) {
        if let Some(position) = self.positions.get_mut(id.index()).and_then(Option::take) {
            self.nodes.remove(&position);
        }
    }

    /// Makes room for an edge. False if it would close a cycle; the order is as before then.
    pub(super) fn connect(&mut self, state: &State, src: NodeId, dst: NodeId) -> bool {
        let (from, to) = (self.position(dst), self.position(src));
        if from > to {
            return true;
        }
        let Some(forward) = self.reached(state, dst, src) else { return false };
        let mut backward = BTreeSet::new();
        let mut waiting = vec![src];
        while let Some(id) = waiting.pop() {
            if self.position(id) >= from && backward.insert((self.position(id), id)) {
                waiting.extend(state.each_in_edge(id).map(|(_, edge)| edge.src));
            }
        }
        let free: BTreeSet<u64> = forward.iter().chain(&backward).map(|(position, _)| *position).collect();
        let moved: Vec<NodeId> = backward.into_iter().chain(forward).map(|(_, id)| id).collect();
        for (position, id) in free.into_iter().zip(moved) {
            self.set(id, position);
        }
        true
    }

    /// Nodes that paths from `first` reach, no further than `end`; `None` if they reach `end`.
    fn reached(&self, state: &State, first: NodeId, end: NodeId) -> Option<BTreeSet<(u64, NodeId)>> {
        let limit = self.position(end);
        let mut found = BTreeSet::new();
        let mut waiting = vec![first];
        while let Some(id) = waiting.pop() {
            if id == end {
                return None;
            }
            if self.position(id) < limit && found.insert((self.position(id), id)) {
                waiting.extend(state.each_out_edge(id).map(|(_, edge)| edge.dst));
            }
        }
        Some(found)
    }

    /// Whether a path leads from one node to the other, or they are the same.
    ///
    /// The search goes on from both ends in turns, edge by edge: one of them may have very many edges.
    pub(in crate::edit) fn leads(&self, state: &State, first: NodeId, end: NodeId) -> bool {
        let (low, high) = (self.position(first), self.position(end));
        if first == end || low > high {
            return first == end;
        }
        let after = |id: NodeId| state.each_out_edge(id).map(|(_, edge)| edge.dst);
        let before = |id: NodeId| state.each_in_edge(id).map(|(_, edge)| edge.src);
        let (mut forward, mut backward) = (vec![after(first)], vec![before(end)]);
        let (mut reached, mut reaching) = (BTreeSet::from([first]), BTreeSet::from([end]));
        loop {
            let Some(edges) = forward.last_mut() else { return false };
            match edges.next() {
                Some(next) if reaching.contains(&next) => return true,
                Some(next) if self.position(next) < high && reached.insert(next) => forward.push(after(next)),
                Some(_) => {}
                None => drop(forward.pop()),
            }
            let Some(edges) = backward.last_mut() else { return false };
            match edges.next() {
                Some(next) if reached.contains(&next) => return true,
                Some(next) if self.position(next) > low && reaching.insert(next) => {
                    backward.push(before(next))
                }
                Some(_) => {}
                None => drop(backward.pop()),
            }
        }
    }
}
