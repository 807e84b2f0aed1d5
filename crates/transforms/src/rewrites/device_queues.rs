//! Streams to which a map pushes, when the map becomes a kernel: they get memory of the device, or a stream there whose elements
//! are moved on behind the kernel.

use std::collections::BTreeSet;

use sdfg::analysis::symbols::bound_symbols;
use sdfg::analysis::{ScopeTree, Use, Uses, leaf_edges, memlet_path, node_leads_to};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{
    Access, Container, ContainerId, ContainerKind, Edge, EdgeId, Flow, Lifetime, Memlet, Node, NodeId,
    NodeKind, ScheduleKind, Sdfg, State, StateId, Storage, TaskletBody, Volume,
};
use sdfg::subset::Subset;
use sdfg::syntax::{Statement, StatementKind};

use super::moved_data::outer_edges;
use crate::engine::{Refusal, Site};

/// The edges of a map that bring pushed elements out of it, each with the stream.
pub(super) fn pushes(state: &State, entry: NodeId) -> Vec<(EdgeId, ContainerId)> {
    let pushed = |edge: EdgeId| {
        let access = state.edge(edge).memlet.write_access().filter(|access| access.is_queue())?;
        Some((edge, access.container))
    };
    outer_edges(state, entry).into_iter().filter_map(pushed).collect()
}

/// Refuses streams to which a kernel cannot push.
pub(super) fn check(site: &Site<'_>, entry: NodeId) -> Result<(), Refusal> {
    let state = site.state();
    let exit = state.exit_of(entry).unwrap_or(entry);
    for (edge, id) in pushes(state, entry) {
        let container = site.sdfg.container(id);
        let refuse = |reason: &'static str| Err(Refusal::container(&container.name, reason));
        let target = state.edge(edge).dst;
        let is_unordered = |node: NodeId| {
            node != target && !node_leads_to(state, node, entry) && !node_leads_to(state, exit, node)
        };
        let uses = site.uses();
        let mut nodes = uses.in_state(id, site.found.state()).filter_map(|used| match used {
            Use::Access(_, node) => Some(node),
            Use::Memlet(..) | Use::Condition(..) | Use::Block(_) | Use::Transition(_) => None,
        });
        if nodes.any(is_unordered) {
            return refuse("is a stream that other nodes use while the map runs");
        }
        let ContainerKind::Stream { shape, capacity } = &container.kind else { continue };
        if capacity.is_none() {
            let (leaves, tree) = (leaf_edges(state, edge), site.scopes());
            if leaves.iter().any(|leaf| repeats(state, *leaf)) {
                return refuse("is a stream without a capacity to which a loop of a tasklet pushes");
            }
            if leaves.iter().any(|leaf| data_decide(state, &tree, *leaf)) {
                return refuse("is a stream without a capacity to which a map pushes whose range is data");
            }
        }
        if !shape.is_empty() && !stays(site.sdfg, &uses, id, (site.found.state(), entry)) {
            return refuse("is an array of queues that code of the host uses, too");
        }
    }
    Ok(())
}

/// Gives the streams of a map memory of the device. Those that code of the host uses get their elements behind the kernel.
pub(super) fn apply(editor: &mut Editor<'_>, state: StateId, entry: NodeId) -> Result<(), EditError> {
    for (edge, id) in pushes(editor.state(state)?, entry) {
        if editor.sdfg().container(id).storage == Storage::GpuGlobal {
            continue;
        }
        let uses = Uses::of_program(editor.sdfg());
        if stays(editor.sdfg(), &uses, id, (state, entry)) {
            editor.change_container(id, |container| container.storage = Storage::GpuGlobal)?;
        } else {
            forward(editor, state, (entry, edge), id)?;
        }
    }
    Ok(())
}

/// Whether nothing but a map, other kernels, consume scopes on the device, and copies from and to the host uses a stream.
fn stays(sdfg: &Sdfg, uses: &Uses, id: ContainerId, map: (StateId, NodeId)) -> bool {
    let container = sdfg.container(id);
    let is_of_run = container.transient && container.lifetime != Lifetime::Persistent;
    let is_outside = |state: StateId, node: NodeId| ScopeTree::of(sdfg.state(state)).scope_of(node).is_none();
    is_of_run
        && uses.of(id).iter().all(|used| match *used {
            Use::Access(state, node) => is_outside(state, node),
            Use::Memlet(state, edge) => moves_there(sdfg, (state, edge), id, map),
            Use::Condition(..) => false,
            Use::Block(_) | Use::Transition(_) => true,
        })
}

/// Whether a memlet of a stream is part of a map or a kernel, or of a copy that the host makes.
fn moves_there(
    sdfg: &Sdfg,
    (id, edge): (StateId, EdgeId),
    stream: ContainerId,
    (of_map, entry): (StateId, NodeId),
) -> bool {
    let state = sdfg.state(id);
    let tree = ScopeTree::of(state);
    let found = state.edge(edge);
    if let Flow::Copy { from, to, resolution } = &found.memlet.flow
        && tree.scope_of_edge(state, edge).is_none()
    {
        let other = sdfg.container(if from.container == stream { to.container } else { from.container });
        return !(other.storage == Storage::GpuGlobal && (other.is_stream() || resolution.is_some()));
    }
    let scope = [found.src, found.dst].into_iter().find_map(|node| scope_at(state, &tree, node));
    let is_push = found.memlet.write_access().is_some_and(|to| to.container == stream);
    let is_taken = |scope: NodeId| matches!(state.node(scope).kind, NodeKind::ConsumeEntry(_));
    scope.is_some_and(|scope| {
        let is_there = (id, scope) == (of_map, entry) || on_device(state, scope);
        is_there && (is_push || is_taken(scope))
    })
}

/// The outermost scope in which a node is, or that it begins or ends.
fn scope_at(state: &State, tree: &ScopeTree, node: NodeId) -> Option<NodeId> {
    let kind = &state.node(node).kind;
    let begins = matches!(kind, NodeKind::MapEntry(_) | NodeKind::ConsumeEntry(_));
    tree.enclosing(node).last().or_else(|| if begins { Some(node) } else { kind.exit_of() })
}

/// Whether threads of the device run a scope.
fn on_device(state: &State, scope: NodeId) -> bool {
    let schedule = match &state.node(scope).kind {
        NodeKind::MapEntry(map) => &map.schedule,
        NodeKind::ConsumeEntry(consume) => &consume.schedule,
        NodeKind::Access(_)
        | NodeKind::Tasklet(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Nested(_)
        | NodeKind::Reduce(_)
        | NodeKind::Library(_) => return false,
    };
    schedule.kind() == ScheduleKind::GpuGrid
}

/// Lets a map push to a stream on the device, from which a copy moves the elements on.
fn forward(
    editor: &mut Editor<'_>,
    state: StateId,
    (entry, edge): (NodeId, EdgeId),
    id: ContainerId,
) -> Result<(), EditError> {
    let graph = editor.state(state)?;
    let Edge { dst, dst_connector, memlet: passed, .. } = graph.edge(edge).clone();
    let mut segments = BTreeSet::from([edge]);
    for leaf in leaf_edges(graph, edge) {
        segments.extend(memlet_path(graph, leaf));
    }
    let origin = editor.sdfg().container(id).clone();
    let local = Container {
        name: editor.derived_container_name(&origin.name, "device"),
        storage: Storage::GpuGlobal,
        lifetime: Lifetime::Scope,
        transient: true,
        ..origin
    };
    let local = editor.add_container(local)?;
    let label = editor.state(state)?.node(entry).label.clone();
    let label = editor.derived_label(state, &label, "local")?;
    let node = editor.add_node(state, Node { label, kind: NodeKind::Access(local), loc: None })?;
    let queue = || Access::queues(local, Subset(Vec::new()));
    for segment in segments {
        let mut memlet = editor.state(state)?.edge(segment).memlet.clone();
        memlet.accesses_mut().filter(|access| access.container == id).for_each(|access| *access = queue());
        editor.set_memlet(state, segment, memlet)?;
    }
    let Some(to) = passed.write_access().cloned() else { return Err(EditError::NoNode(node)) };
    let flow = Flow::Copy { from: queue(), to, resolution: None };
    let memlet = Memlet { flow, volume: Volume::Dynamic, declared: false };
    editor.add_edge(state, Edge { src: node, src_connector: None, dst, dst_connector, memlet, loc: None })?;
    editor.redirect_destination(state, edge, node, None)
}

/// Whether a map around the source of an edge gets symbols from data, on which its range may depend.
fn data_decide(state: &State, tree: &ScopeTree, leaf: EdgeId) -> bool {
    tree.enclosing(state.edge(leaf).src).any(|entry| match &state.node(entry).kind {
        NodeKind::MapEntry(map) => bound_symbols(state, entry) != map.params,
        _ => false,
    })
}

/// Whether a tasklet pushes over an edge in a loop of its code.
fn repeats(state: &State, leaf: EdgeId) -> bool {
    let edge = state.edge(leaf);
    let NodeKind::Tasklet(tasklet) = &state.node(edge.src).kind else { return false };
    let (TaskletBody::Code(code), Some(connector)) = (&tasklet.body, &edge.src_connector) else {
        return false;
    };
    repeated(code.block(), connector, false)
}

fn repeated(block: &[Statement], connector: &str, in_loop: bool) -> bool {
    block.iter().any(|statement| match &statement.kind {
        StatementKind::Assign { target, .. } | StatementKind::Augmented { target, .. } => {
            in_loop && target.name.text == connector
        }
        StatementKind::If { branches, otherwise } => {
            branches.iter().any(|(_, block)| repeated(block, connector, in_loop))
                || repeated(otherwise, connector, in_loop)
        }
        StatementKind::For { body, .. } | StatementKind::While { body, .. } => {
            repeated(body, connector, true)
        }
        StatementKind::Pass => false,
    })
}
