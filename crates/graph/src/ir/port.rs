//! Ports: the paired connectors of scope nodes through which data passes (paper section 3.3).
//!
//! The name of a connector alone makes it a port: `IN_x` where edges end, `OUT_x` where they start; both form
//! a pair if `x` is the same. Only this module spells these names. Code nodes may have connectors of such
//! names, which are not ports; callers know that the node belongs to a scope.

use std::collections::BTreeMap;
use std::fmt;

use super::ids::{EdgeId, NodeId};
use super::state::Edge;

/// Prefix of ports at which edges end.
const IN: &str = "IN_";
/// Prefix of ports at which edges start.
const OUT: &str = "OUT_";

/// One side of the pair by which data of one name passes a scope node. It prints as the connector's name.
///
/// ```
/// # use sdfg_graph as sdfg;
/// use sdfg::ir::Port;
///
/// let port = Port::parse("IN_A_3").expect("a port");
/// assert_eq!(port, Port::In("A_3"));
/// assert_eq!(port.partner().to_string(), "OUT_A_3");
/// // At a scope's entry, any other name is a symbol that the edge gives a value.
/// assert_eq!(Port::parse("first"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Port<'a> {
    /// `IN_x`: edges end here.
    In(&'a str),
    /// `OUT_x`: edges start here.
    Out(&'a str),
}

impl<'a> Port<'a> {
    /// The port that a connector of a scope node is; `None` for a connector that is none.
    pub fn parse(connector: &'a str) -> Option<Self> {
        let at = |prefix| connector.strip_prefix(prefix);
        at(IN).map(Port::In).or_else(|| at(OUT).map(Port::Out))
    }

    /// Common part of both sides of the pair.
    pub fn name(self) -> &'a str {
        match self {
            Port::In(name) | Port::Out(name) => name,
        }
    }

    /// The other side of the pair.
    #[must_use]
    pub fn partner(self) -> Self {
        match self {
            Port::In(name) => Port::Out(name),
            Port::Out(name) => Port::In(name),
        }
    }

    /// Prefix of the ports on this side, for messages.
    pub const fn prefix(self) -> &'static str {
        match self {
            Port::In(_) => IN,
            Port::Out(_) => OUT,
        }
    }
}

impl fmt::Display for Port<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.prefix())?;
        f.write_str(self.name())
    }
}

impl From<Port<'_>> for String {
    fn from(port: Port<'_>) -> Self {
        port.to_string()
    }
}

impl Edge {
    /// The name of the port at which the edge ends, if its destination belongs to a scope and is a port.
    pub fn in_port(&self) -> Option<&str> {
        match Port::parse(self.dst_connector.as_deref()?) {
            Some(Port::In(name)) => Some(name),
            Some(Port::Out(_)) | None => None,
        }
    }

    /// The name of the port at which the edge starts, if its source belongs to a scope and is a port.
    pub fn out_port(&self) -> Option<&str> {
        match Port::parse(self.src_connector.as_deref()?) {
            Some(Port::Out(name)) => Some(name),
            Some(Port::In(_)) | None => None,
        }
    }

    /// The name of the symbol to which the edge gives a value, if it ends at the entry of a scope: its connector is no port.
    pub fn given_symbol(&self) -> Option<&str> {
        self.dst_connector.as_deref().filter(|_| self.in_port().is_none())
    }
}

/// Edges by node and port, so that the partner of an edge is found without a look at the others of the node.
#[derive(Clone, Debug, Default)]
pub(super) struct Ports {
    nodes: BTreeMap<NodeId, BTreeMap<Box<str>, Sides>>,
}

/// The edges at the two sides of a pair, ascending.
#[derive(Clone, Debug, Default)]
struct Sides {
    into: Vec<EdgeId>,
    out_of: Vec<EdgeId>,
}

impl Ports {
    /// Edges at a port, ascending.
    pub(super) fn edges(&self, node: NodeId, port: Port<'_>) -> &[EdgeId] {
        let Some(sides) = self.nodes.get(&node).and_then(|ports| ports.get(port.name())) else { return &[] };
        match port {
            Port::In(_) => &sides.into,
            Port::Out(_) => &sides.out_of,
        }
    }

    /// Adds an edge at the ports of its ends.
    pub(super) fn insert(&mut self, id: EdgeId, edge: &Edge) {
        if let Some(name) = edge.out_port() {
            let sides = self.nodes.entry(edge.src).or_default().entry(name.into()).or_default();
            insert_sorted(&mut sides.out_of, id);
        }
        if let Some(name) = edge.in_port() {
            let sides = self.nodes.entry(edge.dst).or_default().entry(name.into()).or_default();
            insert_sorted(&mut sides.into, id);
        }
    }

    /// Removes an edge that is as it was when it was added.
    pub(super) fn remove(&mut self, id: EdgeId, edge: &Edge) {
        if let Some(name) = edge.out_port() {
            self.remove_from(edge.src, name, |sides| remove_sorted(&mut sides.out_of, id));
        }
        if let Some(name) = edge.in_port() {
            self.remove_from(edge.dst, name, |sides| remove_sorted(&mut sides.into, id));
        }
    }

    fn remove_from(&mut self, node: NodeId, name: &str, remove: impl FnOnce(&mut Sides)) {
        let Some(ports) = self.nodes.get_mut(&node) else { return };
        let Some(sides) = ports.get_mut(name) else { return };
        remove(sides);
        if sides.into.is_empty() && sides.out_of.is_empty() {
            ports.remove(name);
            if ports.is_empty() {
                self.nodes.remove(&node);
            }
        }
    }
}

fn insert_sorted(ids: &mut Vec<EdgeId>, id: EdgeId) {
    if let Err(place) = ids.binary_search(&id) {
        ids.insert(place, id);
    }
}

fn remove_sorted(ids: &mut Vec<EdgeId>, id: EdgeId) {
    if let Ok(place) = ids.binary_search(&id) {
        ids.remove(place);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ir::{ContainerId, Memlet, Node, NodeKind, State, ids::Id};

    #[test]
    fn names_come_back_as_they_were() {
        for (text, port) in [
            ("IN_A", Port::In("A")),
            ("OUT_A", Port::Out("A")),
            ("IN_A_3", Port::In("A_3")),
            ("OUT_IN_A", Port::Out("IN_A")),
            ("IN_", Port::In("")),
            ("IN__out", Port::In("_out")),
        ] {
            assert_eq!(Port::parse(text), Some(port));
            assert_eq!(String::from(port), text);
            assert_eq!((port.partner().name(), port.partner().partner()), (port.name(), port));
        }
        for none in ["", "A", "IN", "in_A", "XIN_A", "OUT"] {
            assert_eq!(Port::parse(none), None);
        }
    }

    /// One change of a state with three nodes: which node or edge, and the connectors that an edge gets.
    #[derive(Clone, Debug)]
    enum Change {
        Add(usize, usize, Option<String>, Option<String>),
        Move(usize, usize, usize, Option<String>, Option<String>),
        Rename(usize, Option<String>, Option<String>),
        Remove(usize),
        Renew(usize),
    }

    fn connector() -> impl Strategy<Value = Option<String>> {
        let names = ["IN_A", "OUT_A", "IN_B", "OUT_B", "IN_", "OUT_", "A"].map(str::to_owned);
        prop::option::of(prop::sample::select(names.to_vec()))
    }

    fn change() -> impl Strategy<Value = Change> {
        let (node, edge) = (|| 0..3_usize, || 0..8_usize);
        prop_oneof![
            4 => (node(), node(), connector(), connector()).prop_map(|(a, b, s, d)| Change::Add(a, b, s, d)),
            2 => (edge(), node(), node(), connector(), connector())
                .prop_map(|(e, a, b, s, d)| Change::Move(e, a, b, s, d)),
            2 => (edge(), connector(), connector()).prop_map(|(e, s, d)| Change::Rename(e, s, d)),
            2 => edge().prop_map(Change::Remove),
            1 => node().prop_map(Change::Renew),
        ]
    }

    proptest! {
        #[test]
        fn edges_at_ports_are_those_that_a_search_finds(changes in prop::collection::vec(change(), 1..40)) {
            let mut state = State::new("s");
            let node = |state: &mut State| {
                let kind = NodeKind::Access(ContainerId::from_index(0));
                state.add_node(Node { label: String::new(), kind, loc: None })
            };
            let mut nodes = [node(&mut state), node(&mut state), node(&mut state)];
            for change in changes {
                let edges: Vec<EdgeId> = state.edges().map(|(id, _)| id).collect();
                let pick = |edge: usize| (!edges.is_empty()).then(|| edges[edge % edges.len()]);
                match change {
                    Change::Add(src, dst, src_connector, dst_connector) => {
                        let (src, dst, memlet) = (nodes[src], nodes[dst], Memlet::order());
                        state.add_edge(Edge { src, src_connector, dst, dst_connector, memlet, loc: None });
                    }
                    Change::Move(edge, src, dst, at_src, at_dst) => {
                        let Some(edge) = pick(edge) else { continue };
                        state.move_edge(edge, (nodes[src], at_src), (nodes[dst], at_dst));
                    }
                    Change::Rename(edge, src, dst) => {
                        let Some(edge) = pick(edge) else { continue };
                        state.set_connectors(edge, src, dst);
                    }
                    Change::Remove(edge) => {
                        let Some(edge) = pick(edge) else { continue };
                        state.remove_edge(edge);
                    }
                    Change::Renew(at) => {
                        state.remove_node(nodes[at]);
                        nodes[at] = node(&mut state);
                    }
                }
                for id in nodes {
                    for name in ["A", "B", ""] {
                        let into = state.in_edges(id).into_iter();
                        let into: Vec<EdgeId> =
                            into.filter(|edge| state.edge(*edge).in_port() == Some(name)).collect();
                        let out_of = state.out_edges(id).into_iter();
                        let out_of: Vec<EdgeId> =
                            out_of.filter(|edge| state.edge(*edge).out_port() == Some(name)).collect();
                        prop_assert_eq!(state.edges_at(id, Port::In(name)), into);
                        prop_assert_eq!(state.edges_at(id, Port::Out(name)), out_of);
                    }
                }
            }
        }
    }
}
