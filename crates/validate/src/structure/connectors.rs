//! Rule: connectors. Every edge ends at an existing connector, and every connector has its edge.

use std::collections::BTreeMap;

use sdfg_graph::diagnostic::{Code, Diagnostic};
use sdfg_graph::ir::{Connector, EdgeId, Flow, NodeId, NodeKind, Port};
use sdfg_graph::workspace::did_you_mean;

use super::super::site::{Findings, Site};

/// The side of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Input,
    Output,
}

impl Side {
    const fn noun(self) -> &'static str {
        match self {
            Side::Input => "input",
            Side::Output => "output",
        }
    }

    /// The port of this name on this side of a scope node.
    const fn port(self, name: &str) -> Port<'_> {
        match self {
            Side::Input => Port::In(name),
            Side::Output => Port::Out(name),
        }
    }
}

/// Checks the connectors of all nodes of a state.
pub(super) fn check(site: &Site<'_>, findings: &mut Findings) {
    for (node, _) in site.state.nodes() {
        for side in [Side::Input, Side::Output] {
            let before = findings.len();
            let used = used(site, node, side, findings);
            let is_complete = findings.len() == before;
            match &site.state.node(node).kind {
                NodeKind::Tasklet(_) | NodeKind::Nested(_) | NodeKind::Library(_) => {
                    code_node(site, node, side, &used, is_complete, findings);
                }
                NodeKind::MapEntry(_)
                | NodeKind::ConsumeEntry(_)
                | NodeKind::MapExit(_)
                | NodeKind::ConsumeExit(_) => scope_node(site, node, side, &used, findings),
                // Edges of these have no connectors, which `used` has checked; how many they have is a matter of
                // nodes, not of connectors.
                NodeKind::Access(_) | NodeKind::Reduce(_) => {}
            }
        }
    }
}

/// Edges by connector on one side of a node. Edges that lack a connector, or have one too many, are reported.
fn used<'s>(
    site: &Site<'s>,
    node: NodeId,
    side: Side,
    findings: &mut Findings,
) -> BTreeMap<&'s str, Vec<EdgeId>> {
    let edges = match side {
        Side::Input => site.state.in_edges(node),
        Side::Output => site.state.out_edges(node),
    };
    let has_connectors = match site.state.node(node).kind {
        NodeKind::Access(_) | NodeKind::Reduce(_) => false,
        NodeKind::Tasklet(_)
        | NodeKind::Nested(_)
        | NodeKind::Library(_)
        | NodeKind::MapEntry(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeEntry(_)
        | NodeKind::ConsumeExit(_) => true,
    };
    let mut used: BTreeMap<&str, Vec<EdgeId>> = BTreeMap::new();
    for id in edges {
        let edge = site.state.edge(id);
        let connector = match side {
            Side::Input => edge.dst_connector.as_deref(),
            Side::Output => edge.src_connector.as_deref(),
        };
        let label = &site.state.node(node).label;
        let noun = site.state.node(node).kind.noun();
        let orders = edge.memlet.flow == Flow::Order;
        match connector {
            Some(name) if !has_connectors => {
                let message = format!("the {noun} `{label}` has no connectors, the edge ends at `{name}`");
                findings.push(site.edge_error(Code::MisplacedConnector, id, message));
            }
            Some(name) if orders => {
                let message =
                    format!("an edge that moves nothing needs no connector, this one ends at `{name}`");
                let error = site.edge_error(Code::MisplacedConnector, id, message);
                findings.push(error.suggest("give the edge a memlet, or leave the connectors out"));
            }
            None if has_connectors && !orders => {
                let message = format!("the edge does not say which {} of `{label}` it is for", side.noun());
                let error = site.edge_error(Code::MisplacedConnector, id, message);
                findings.push(error.suggest(format!("write `{label}.` and the name of the connector")));
            }
            Some(name) => used.entry(name).or_default().push(id),
            None => {}
        }
    }
    used
}

/// Declared connectors have exactly one edge, others none.
fn code_node(
    site: &Site<'_>,
    node: NodeId,
    side: Side,
    used: &BTreeMap<&str, Vec<EdgeId>>,
    mut is_complete: bool,
    findings: &mut Findings,
) {
    let kind = &site.state.node(node).kind;
    let noun = side.noun();
    let declared = match side {
        Side::Input => kind.inputs(),
        Side::Output => kind.outputs(),
    };
    // One value may go to several places; whether it is one value is a matter of the second phase.
    let may_fan_out = side == Side::Output && matches!(kind, NodeKind::Tasklet(_));
    let is_declared = |name: &str| declared.iter().any(|connector| connector.name == name);
    for (name, edges) in used {
        let first = edges.first().copied();
        if let (false, Some(edge)) = (is_declared(name), first) {
            let label = &site.state.node(node).label;
            let error =
                site.edge_error(Code::UnknownConnector, edge, format!("`{label}` has no {noun} `{name}`"));
            findings.push(suggest_connector(error, name, declared));
            is_complete = false;
        } else if edges.len() > 1 && !may_fan_out {
            too_many(site, node, name, edges, findings);
        }
    }
    if !is_complete {
        // An edge with a wrong connector was probably meant for the one that lacks an edge.
        return;
    }
    for connector in declared {
        if !used.contains_key(connector.name.as_str()) {
            let message = format!("no edge ends at the {noun} `{}`", connector.name);
            let error = site.node_error(Code::UnconnectedConnector, node, Some(&connector.name), message);
            findings.push(error.suggest("connect it, or remove it from the node"));
        }
    }
}

fn suggest_connector(error: Diagnostic, name: &str, declared: &[Connector]) -> Diagnostic {
    let names: Vec<&str> = declared.iter().map(|connector| connector.name.as_str()).collect();
    match did_you_mean(name, names.iter().copied()) {
        Some(suggestion) => error.suggest(suggestion),
        None if names.is_empty() => error,
        None => error.suggest(format!("it has {}", names.join(", "))),
    }
}

fn too_many(site: &Site<'_>, node: NodeId, name: &str, edges: &[EdgeId], findings: &mut Findings) {
    let message = format!("{} edges end at this connector, one is needed", edges.len());
    let mut error = site.node_error(Code::ConnectorReused, node, Some(name), message);
    for edge in edges {
        error = error.note(site.edge_path(*edge).to_string());
    }
    findings.push(error);
}

/// `IN_x` and `OUT_x` of a scope node come in pairs. The outer side has one edge for each, the inner at least one.
fn scope_node(
    site: &Site<'_>,
    node: NodeId,
    side: Side,
    used: &BTreeMap<&str, Vec<EdgeId>>,
    findings: &mut Findings,
) {
    let is_entry = site.state.node(node).kind.is_scope_entry();
    let is_outer = is_entry == (side == Side::Input);
    for (name, edges) in used {
        if is_outer && edges.len() > 1 {
            too_many(site, node, name, edges, findings);
        }
        let port = Port::parse(name).filter(|port| *port == side.port(port.name()));
        let Some(port) = port else {
            // What is no port at an entry names a symbol.
            if !(is_entry && side == Side::Input) {
                let prefix = side.port(name).prefix();
                let message =
                    format!("`{name}` is no connector of a scope here; those begin with `{prefix}`");
                findings.extend(
                    edges.iter().map(|edge| site.edge_error(Code::UnknownConnector, *edge, &*message)),
                );
            }
            continue;
        };
        if site.state.edges_at(node, port.partner()).is_empty() {
            let missing = if is_outer { "inside" } else { "outside" };
            let data = port.name();
            let message = format!("`{data}` has an edge on one side of the scope, and none {missing}");
            findings.push(site.node_error(Code::UnpairedScopeConnector, node, Some(name), message));
        }
    }
}
