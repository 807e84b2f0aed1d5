//! Reduction of attributes: resets properties to their defaults, and removes conflict resolutions.

use sdfg_graph::analysis::{is_leaf, memlet_path};
use sdfg_graph::ir::draft::{DraftSdfg, DraftState};
use sdfg_graph::ir::{
    BlockKind, ConflictResolution, ContainerKind, Distribution, EdgeId, FloatMode, Flow, Layout, Lifetime,
    NodeId, NodeKind, Schedule, ScheduleKind, Sdfg, StateId, Storage,
};

use super::step::Change;

/// Everything with one property less.
pub(super) fn plain(sdfg: &Sdfg) -> Vec<Change> {
    let mut changes = vec![Change::new("the default floating-point mode", |sdfg| {
        sdfg.float_mode = FloatMode::default();
        Some(())
    })];
    for (id, container) in sdfg.containers() {
        let what = format!("`{}` with default properties", container.name);
        changes.push(Change::new(what, move |sdfg| {
            sdfg.get_container(id)?;
            let container = sdfg.container_mut(id);
            container.storage = Storage::default();
            container.lifetime = Lifetime::default();
            container.distribution = Distribution::default();
            match &mut container.kind {
                ContainerKind::Scalar => {}
                ContainerKind::Stream { capacity, .. } => *capacity = None,
                ContainerKind::Array(layout)
                | ContainerKind::View(layout)
                | ContainerKind::Reference(layout) => *layout = Layout::packed(layout.shape.clone()),
            }
            Some(())
        }));
    }
    for (id, block) in sdfg.blocks() {
        if let BlockKind::Loop(_) = block.kind {
            let what = format!("the loop `{}` with default properties", block.label);
            changes.push(Change::new(what, move |sdfg| {
                sdfg.get_block(id)?;
                let BlockKind::Loop(repeated) = &mut sdfg.block_mut(id).kind else { return None };
                (repeated.unroll, repeated.test_after) = (false, false);
                Some(())
            }));
        }
    }
    for (state, graph) in sdfg.states() {
        for (id, node) in graph.nodes() {
            let what = format!("`{}` with default properties", node.label);
            changes.push(Change::new(what, move |sdfg| plain_node(sdfg, state, id)));
        }
        for (id, edge) in graph.edges() {
            let label = |node: NodeId| &graph.node(node).label;
            let ends = format!("from `{}` to `{}`", label(edge.src), label(edge.dst));
            if edge.memlet.declared {
                let what = format!("a derived memlet {ends}");
                changes.push(Change::new(what, move |sdfg| {
                    sdfg.get_state(state)?.get_edge(id)?;
                    sdfg.state_mut(state).memlet_mut(id).declared = false;
                    Some(())
                }));
            }
            let custom = matches!(edge.memlet.resolution(), Some(ConflictResolution::Custom(_)));
            let simpler: &[Option<ConflictResolution>] = match edge.memlet.resolution() {
                None => &[],
                Some(_) if custom => &[None, Some(ConflictResolution::Sum)],
                Some(_) => &[None],
            };
            for resolution in simpler.iter().filter(|_| is_leaf(graph, id)) {
                let what = match resolution {
                    None => format!("no conflict resolution {ends}"),
                    Some(resolution) => format!("the resolution `{}` {ends}", resolution.name()),
                };
                changes.push(Change::new(what, move |sdfg| resolve(sdfg, state, id, resolution.as_ref())));
            }
        }
    }
    changes
}

fn plain_node(sdfg: &mut Sdfg, state: StateId, id: NodeId) -> Option<()> {
    sdfg.get_state(state)?.get_node(id)?;
    match &mut sdfg.state_mut(state).node_mut(id).kind {
        NodeKind::MapEntry(map) => {
            map.schedule = Schedule::default();
        }
        NodeKind::ConsumeEntry(consume) => {
            consume.schedule = Schedule::default();
        }
        NodeKind::Reduce(reduce) => {
            reduce.schedule = ScheduleKind::default();
            reduce.identity = None;
        }
        NodeKind::Library(library) => library.expansion = None,
        NodeKind::Nested(nested) => nested.sdfg.float_mode = FloatMode::default(),
        NodeKind::Tasklet(tasklet) => {
            tasklet.inputs.iter_mut().chain(&mut tasklet.outputs).for_each(|found| found.element = None);
        }
        NodeKind::Access(_) | NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => return None,
    }
    Some(())
}

/// Gives the edge and the ones that it goes on with another resolution.
fn resolve(sdfg: &mut Sdfg, state: StateId, edge: EdgeId, new: Option<&ConflictResolution>) -> Option<()> {
    let graph = sdfg.get_state(state)?;
    graph.get_edge(edge)?;
    let path = memlet_path(graph, edge);
    let graph = sdfg.state_mut(state);
    for segment in path {
        if let Flow::Write { resolution, .. } | Flow::Copy { resolution, .. } =
            &mut graph.memlet_mut(segment).flow
        {
            *resolution = new.cloned();
        }
    }
    Some(())
}
