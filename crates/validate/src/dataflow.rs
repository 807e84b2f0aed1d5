//! Rules about the dataflow of a whole SDFG: transients that nothing writes, views that nothing binds,
//! queues.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::analysis::accesses::control_flow_reads;
use sdfg_graph::analysis::{bound_alias, is_leaf};
use sdfg_graph::diagnostic::{Code, Diagnostic, Element};
use sdfg_graph::ir::{
    Access, ConflictResolution, Consume, ContainerId, ContainerKind, Edge, EdgeId, Flow, NodeId, NodeKind,
};

use super::site::{Findings, Program, Site};

/// Checks one state.
pub(super) fn check_state(site: &Site<'_>, findings: &mut Findings) {
    unbound_views(site, findings);
    bound_twice(site, findings);
    queues(site, findings);
}

/// A view is bound in every state that uses it.
fn unbound_views(site: &Site<'_>, findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for (id, node) in site.state.nodes() {
        let Some(container) = node.kind.container().filter(|id| is_view(site, *id)) else { continue };
        if !seen.insert(container) {
            continue;
        }
        let is_bound = site.state.accesses_of(container).any(|access| {
            let edges = site.state.in_edges(access).into_iter().chain(site.state.out_edges(access));
            edges.into_iter().any(|edge| matches!(site.state.edge(edge).memlet.flow, Flow::Bind(_)))
        });
        if !is_bound {
            let name = site.name(container);
            let message = format!("nothing tells here what the view `{name}` shows");
            let error = site.node_error(Code::UnboundAlias, id, None, message);
            findings.push(error.suggest(format!("write `bind a -> {}: A[...]`", node.label)));
        }
    }
}

/// Bindings of one view that hold at the same time name the same elements.
///
/// A scope binds a view for its iterations alone, so bindings in scopes side by side do not meet.
fn bound_twice(site: &Site<'_>, findings: &mut Findings) {
    let mut bindings: BTreeMap<ContainerId, Vec<(EdgeId, &Access)>> = BTreeMap::new();
    for (edge, _) in site.state.edges() {
        if let Some((view, target)) = bound_alias(site.state, edge).filter(|(id, _)| is_view(site, *id)) {
            bindings.entry(view).or_default().push((edge, target));
        }
    }
    bindings.retain(|_, found| found.len() > 1);
    if bindings.is_empty() {
        return;
    }
    let scopes = site.scopes();
    let scope = |edge| scopes.scope_of_edge(site.state, edge);
    let encloses = |outer: Option<NodeId>, inner: Option<NodeId>| {
        outer.is_none() || scopes.enclosing_scope(inner).any(|entry| Some(entry) == outer)
    };
    for (view, found) in bindings {
        for (number, (edge, target)) in found.iter().enumerate() {
            let here = scope(*edge);
            let clashes = |(other, earlier): &&(EdgeId, &Access)| {
                let there = scope(*other);
                earlier != target && (encloses(there, here) || encloses(here, there))
            };
            let Some((other, earlier)) = found[..number].iter().find(clashes) else { continue };
            let shown = |access: &Access| {
                let subset = access.subset();
                let indices = if subset.rank() == 0 { String::new() } else { format!("[{subset}]") };
                format!("`{}{indices}`", site.name(access.container))
            };
            let (name, there) = (site.name(view), scope(*other));
            let (outer, inner, entry) =
                if encloses(there, here) { (earlier, target, here) } else { (target, earlier, there) };
            let (outer, inner) = (shown(outer), shown(inner));
            let message = match entry.filter(|_| here != there) {
                None => format!("`{name}` is bound to {outer} and to {inner} in the same scope"),
                Some(entry) => {
                    let scope = &site.state.node(entry).label;
                    format!("`{name}` is bound to {outer} and, in the scope `{scope}`, to {inner}")
                }
            };
            let error = site.edge_error(Code::BoundTwice, *edge, message);
            findings.push(error.suggest("declare a view for each part"));
        }
    }
}

fn is_view(site: &Site<'_>, container: ContainerId) -> bool {
    matches!(site.sdfg.container(container).kind, ContainerKind::View(_))
}

/// A connector of a tasklet pops from or pushes to one queue, and a consume scope takes from one.
fn queues(site: &Site<'_>, findings: &mut Findings) {
    for (id, edge) in site.state.edges() {
        let access = match &edge.memlet.flow {
            Flow::Read(access) if is_tasklet(site, edge.dst) || is_consumed(site, edge) => access,
            Flow::Write { to, .. } if is_tasklet(site, edge.src) => to,
            Flow::Bind(target) if target.is_queue() => {
                let message = "queues cannot be viewed or referred to".to_owned();
                findings.push(site.edge_error(Code::StreamUse, id, message));
                continue;
            }
            Flow::Read(_)
            | Flow::Write { .. }
            | Flow::Order
            | Flow::Copy { .. }
            | Flow::Value
            | Flow::Bind(_) => continue,
        };
        let queues = access.subset().volume();
        // Which queue a consume scope takes from does not change, so that there is one for certain.
        let is_one = queues.as_int().map_or(!is_consumed(site, edge), |queues| queues == 1);
        if access.is_queue() && !is_one {
            let message = format!(
                "the connector stands for {queues} queues of `{}`, it uses one",
                site.name(access.container)
            );
            findings.push(site.edge_error(Code::StreamUse, id, message));
        }
    }
}

/// Whether an edge hands a queue to a consume scope.
pub(super) fn is_consumed(site: &Site<'_>, edge: &Edge) -> bool {
    let is_entry = matches!(site.state.node(edge.dst).kind, NodeKind::ConsumeEntry(_));
    is_entry && edge.in_port() == Some(Consume::PORT)
}

fn is_tasklet(site: &Site<'_>, node: sdfg_graph::ir::NodeId) -> bool {
    matches!(site.state.node(node).kind, NodeKind::Tasklet(_))
}

/// Transients that are read somewhere and written nowhere, apart from streams that have been answered for.
pub(super) fn never_written(
    program: &Program<'_>,
    answered: &BTreeSet<ContainerId>,
    findings: &mut Findings,
) {
    let (mut read, mut written, mut combined) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for (_, state) in program.sdfg.states() {
        for (id, edge) in state.edges() {
            read.extend(edge.memlet.read_access().map(|access| access.container));
            if let Some(access) = edge.memlet.write_access().filter(|_| is_leaf(state, id)) {
                // Every resolution but `replace` reads what is there before.
                let resolution = edge.memlet.resolution();
                let combines = resolution.is_some_and(|found| *found != ConflictResolution::Replace)
                    || is_reduced_without_identity(&state.node(edge.src).kind);
                if combines { &mut combined } else { &mut written }.insert(access.container);
            }
            if let Flow::Bind(target) = &edge.memlet.flow {
                // What is written through a view is not followed here.
                written.insert(target.container);
                written.extend(state.node(edge.src).kind.container());
                written.extend(state.node(edge.dst).kind.container());
            }
        }
    }
    read.extend(control_flow_reads(program.sdfg));
    let is_source = |id: &&ContainerId| {
        let container = program.sdfg.container(**id);
        container.transient && !container.is_alias() && container.constant.is_none() && !written.contains(*id)
    };
    for id in read.union(&combined).filter(|id| is_source(id) && !answered.contains(id)) {
        let container = program.sdfg.container(*id);
        let is_combined = combined.contains(id);
        let message = if is_combined {
            let name = &container.name;
            format!("`{name}` is only combined with, which reads the old value: it has none")
        } else {
            format!("`{}` is read, but nothing writes it", container.name)
        };
        let path = program.path.to(Element::Container(container.name.clone()));
        let warning = Diagnostic::warning(Code::NeverWritten, path, message).at(container.loc.as_ref());
        findings.push(warning.suggest(if is_combined {
            "write an initial value first, such as 0 for a sum, or give a reduction its identity"
        } else {
            "write it first, or make it an argument"
        }));
    }
}

/// Whether a node combines with what is at its destination, as a reduction does that sets no identity first.
fn is_reduced_without_identity(kind: &NodeKind) -> bool {
    let NodeKind::Reduce(reduce) = kind else { return false };
    reduce.identity.is_none() && reduce.resolution != ConflictResolution::Replace
}
