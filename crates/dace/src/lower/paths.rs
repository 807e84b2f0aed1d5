//! Scopes and memlet paths of a state, derived from its edges.
//!
//! The file's own `scope_dict` may be out of date, so the reader ignores it. A node lies in the scope of its
//! predecessor, or in the scope that its predecessor opens.

use std::collections::BTreeMap;

use sdfg::ir::Port;

use crate::model::{Edge, NodeKind, State};

/// Destinations of the edges of a state.
pub(crate) struct Paths<'a> {
    state: &'a State,
    /// Edges that end at a port, by node and port.
    into: BTreeMap<(usize, Port<'a>), Vec<usize>>,
    /// Edges that start at a port.
    out_of: BTreeMap<(usize, Port<'a>), Vec<usize>>,
    /// The entry of the innermost scope around each node.
    scopes: Vec<Option<usize>>,
}

impl<'a> Paths<'a> {
    pub(crate) fn of(state: &'a State) -> Self {
        let (mut into, mut out_of): (BTreeMap<_, Vec<_>>, BTreeMap<_, Vec<_>>) = Default::default();
        for (at, edge) in state.edges.iter().enumerate() {
            if let Some(port) = edge.dst_connector.as_deref().and_then(Port::parse) {
                into.entry((edge.dst, port)).or_default().push(at);
            }
            if let Some(port) = edge.src_connector.as_deref().and_then(Port::parse) {
                out_of.entry((edge.src, port)).or_default().push(at);
            }
        }
        Paths { state, into, out_of, scopes: scopes(state) }
    }

    /// The entry of the innermost scope that a node lies in; an exit lies where its entry does.
    pub(crate) fn scope_of(&self, node: usize) -> Option<usize> {
        self.scopes.get(node).copied().flatten()
    }

    /// The edge that brings to a scope what an edge takes on within it.
    fn outside_of_entry(&self, edge: &Edge) -> Option<&'a Edge> {
        let Port::Out(name) = Port::parse(edge.src_connector.as_deref()?)? else { return None };
        let outer = *self.into.get(&(edge.src, Port::In(name)))?.first()?;
        self.state.edges.get(outer)
    }

    /// The node that the data of an edge comes from, through the entries of scopes.
    pub(crate) fn source(&self, edge: &'a Edge) -> usize {
        let mut at = edge;
        // A path passes each edge once, unless the graph is cyclic.
        for _ in 0..self.state.edges.len() {
            let is_entry = matches!(
                self.state.nodes.get(at.src).map(|node| &node.kind),
                Some(NodeKind::MapEntry(_) | NodeKind::ConsumeEntry(_))
            );
            match is_entry.then(|| self.outside_of_entry(at)).flatten() {
                Some(outer) => at = outer,
                None => break,
            }
        }
        at.src
    }

    /// The node that the data of an edge goes to, through the exits of scopes.
    pub(crate) fn destination(&self, edge: &'a Edge) -> usize {
        let mut at = edge;
        for _ in 0..self.state.edges.len() {
            let is_exit = matches!(
                self.state.nodes.get(at.dst).map(|node| &node.kind),
                Some(NodeKind::MapExit(_) | NodeKind::ConsumeExit(_))
            );
            let outer = is_exit.then(|| {
                let Port::In(name) = Port::parse(at.dst_connector.as_deref()?)? else { return None };
                let outer = *self.out_of.get(&(at.dst, Port::Out(name)))?.first()?;
                self.state.edges.get(outer)
            });
            match outer.flatten() {
                Some(outer) => at = outer,
                None => break,
            }
        }
        at.dst
    }
}

/// The entry of the scope around each node, by a walk along the edges.
fn scopes(state: &State) -> Vec<Option<usize>> {
    let mut scopes: Vec<Option<Option<usize>>> = vec![None; state.nodes.len()];
    let mut successors: Vec<Vec<usize>> = vec![Vec::new(); state.nodes.len()];
    let mut has_predecessor = vec![false; state.nodes.len()];
    for edge in &state.edges {
        successors[edge.src].push(edge.dst);
        has_predecessor[edge.dst] = true;
    }
    let mut waiting: Vec<usize> = (0..state.nodes.len()).filter(|node| !has_predecessor[*node]).collect();
    for node in &waiting {
        scopes[*node] = Some(None);
    }
    while let Some(node) = waiting.pop() {
        let own = scopes[node].flatten();
        let inner = match &state.nodes[node].kind {
            NodeKind::MapEntry(_) | NodeKind::ConsumeEntry(_) => Some(node),
            NodeKind::Access { .. }
            | NodeKind::Tasklet { .. }
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Nested { .. }
            | NodeKind::Library { .. } => own,
        };
        for next in &successors[node] {
            if scopes[*next].is_some() {
                continue;
            }
            scopes[*next] = Some(match &state.nodes[*next].kind {
                NodeKind::MapExit(entry) | NodeKind::ConsumeExit(entry) => {
                    scopes.get(*entry).copied().flatten().flatten()
                }
                _ => inner,
            });
            waiting.push(*next);
        }
    }
    scopes.into_iter().map(Option::flatten).collect()
}
