//! Printer of edges and their memlets.

use super::super::implied::{is_outer, whole_copy};
use super::super::names::written;
use super::{PrintOptions, Printer};
use crate::ir::{
    Access, ConflictResolution, ContainerId, Edge, EdgeId, Flow, Memlet, NodeId, Sdfg, State, StateId, Volume,
};
use crate::path::Target;

impl Printer {
    pub(super) fn edge(&mut self, sdfg: &Sdfg, state: StateId, graph: &State, id: EdgeId) {
        let edge = graph.edge(id);
        let start = self.begin_line();
        let (text, comment) = edge_text(sdfg, graph, edge, self.options);
        self.push(&text);
        self.record(start, Target::Edge(state, id));
        self.push(&comment);
        self.text.push('\n');
    }
}

/// An edge as the text writes it, and the comment behind it.
fn edge_text(sdfg: &Sdfg, graph: &State, edge: &Edge, options: PrintOptions) -> (String, String) {
    let memlet = &edge.memlet;
    let word = match memlet.flow {
        Flow::Order if !is_outer(graph, edge) || memlet.declared => "order ",
        Flow::Bind(_) => "bind ",
        Flow::Order | Flow::Read(_) | Flow::Write { .. } | Flow::Copy { .. } | Flow::Value => "",
    };
    let ends = format!("{word}{}", print_ends(graph, edge));
    let moved = print_memlet(sdfg, memlet);
    if is_outer(graph, edge) && !memlet.declared {
        let comment =
            if options.derived && !moved.is_empty() { format!("  # {moved}") } else { String::new() };
        return (ends, comment);
    }
    if whole_copy(sdfg, graph, edge).as_ref() == Some(memlet) {
        return (ends, String::new());
    }
    let accesses = accesses_text(sdfg, &memlet.flow);
    let colon = if accesses.is_empty() { "" } else { ": " };
    (format!("{ends}{colon}{accesses}{}", properties(memlet)), String::new())
}

/// The ends of an edge as the text form writes them: `A -> map.A`.
pub fn print_ends(graph: &State, edge: &Edge) -> String {
    format!(
        "{} -> {}",
        end(graph, edge.src, edge.src_connector.as_deref(), edge.out_port()),
        end(graph, edge.dst, edge.dst_connector.as_deref(), edge.in_port())
    )
}

/// An edge with its memlet, which the text form leaves out where it follows from others: `A -> map.A: A[0:N]`.
pub fn print_edge(sdfg: &Sdfg, graph: &State, edge: &Edge) -> String {
    let (ends, moved) = (print_ends(graph, edge), print_memlet(sdfg, &edge.memlet));
    if moved.is_empty() { ends } else { format!("{ends}: {moved}") }
}

/// `label`, `label.connector`, or `label@connector` for a connector of a scope that is no port on this side.
fn end(graph: &State, node: NodeId, connector: Option<&str>, port: Option<&str>) -> String {
    let Some(found) = graph.get_node(node) else { return format!("\"<{node}>\"") };
    let label = written(&found.label);
    let scope = found.kind.is_scope_entry() || found.kind.exit_of().is_some();
    match connector {
        None => label,
        Some(name) if !scope => format!("{label}.{}", written(name)),
        Some(name) => match port {
            Some(name) => format!("{label}.{}", written(name)),
            None => format!("{label}@{}", written(name)),
        },
    }
}

/// Data movement of a memlet, as the text form writes it after the colon of an edge; empty if it moves
/// nothing.
pub fn print_memlet(sdfg: &Sdfg, memlet: &Memlet) -> String {
    format!("{}{}", accesses_text(sdfg, &memlet.flow), properties(memlet)).trim_start().to_owned()
}

fn accesses_text(sdfg: &Sdfg, flow: &Flow) -> String {
    match flow {
        Flow::Order | Flow::Value => String::new(),
        Flow::Read(access) | Flow::Write { to: access, .. } | Flow::Bind(access) => access_text(sdfg, access),
        Flow::Copy { from, to, .. } => format!("{} -> {}", access_text(sdfg, from), access_text(sdfg, to)),
    }
}

/// `A[i, 0:K]`.
fn access_text(sdfg: &Sdfg, access: &Access) -> String {
    let name = container_name(sdfg, access.container);
    let subset = access.subset();
    if subset.rank() == 0 { name } else { format!("{name}[{subset}]") }
}

/// The name of a container as the text writes it; of one that is not there, its id.
pub(super) fn container_name(sdfg: &Sdfg, id: ContainerId) -> String {
    sdfg.get_container(id).map_or_else(|| format!("\"<{id}>\""), |container| written(&container.name))
}

/// ` wcr(sum) dynamic`: resolution, and the volume where it is not the one of the accesses.
fn properties(memlet: &Memlet) -> String {
    let mut text = String::new();
    if let Some(resolution) = memlet.resolution() {
        text.push_str(&format!(" wcr({})", resolution_text(resolution)));
    }
    let default = match memlet.flow.clone() {
        Flow::Order => Memlet::order(),
        Flow::Read(access) => Memlet::read(access),
        Flow::Write { to, .. } => Memlet::write(to),
        Flow::Copy { from, to, .. } => Memlet::copy(from, to),
        Flow::Value => Memlet::value(),
        Flow::Bind(access) => Memlet::bind(access),
    };
    match &memlet.volume {
        volume if *volume == default.volume => {}
        Volume::Exact(count) => text.push_str(&format!(" volume({count})")),
        Volume::AtMost(bound) => text.push_str(&format!(" atmost({bound})")),
        Volume::Dynamic => text.push_str(" dynamic"),
    }
    text
}

/// Contents of the parentheses of `wcr(...)`.
pub(super) fn resolution_text(resolution: &ConflictResolution) -> String {
    match resolution {
        ConflictResolution::Custom(lambda) => lambda.to_string(),
        named => named.name().to_owned(),
    }
}
