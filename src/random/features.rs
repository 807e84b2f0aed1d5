//! Features of a random program. Agreement proves nothing about features that no program has.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::interpret::Report;
use sdfg::ir::{
    Block, BlockKind, ConflictResolution, Container, ContainerKind, Edge, Flow, Lifetime, Loop, Map, NodeId,
    NodeKind, OpenMpSchedule, ScheduleKind, Sdfg, State, Storage, Tasklet, TaskletBody, Volume,
};
use sdfg::syntax::Expression;
use sdfg::tasklet::Dialect;

use super::inputs::Sizes;
use super::reached::reached;

/// The names of the features of a program and its run, from a fixed list.
pub type Features = BTreeSet<&'static str>;

/// The features of a program, and those that the interpreter reported of a run with these sizes.
pub fn features(sdfg: &Sdfg, report: &Report, sizes: Sizes) -> Features {
    let mut found = Features::new();
    of_program(sdfg, 0, &mut found);
    reached(sdfg, report, sizes, &mut found);
    found
}

/// The features of an SDFG with so many others around it.
fn of_program(sdfg: &Sdfg, depth: usize, found: &mut Features) {
    found.extend((depth > 2).then_some("nested SDFGs three deep or more"));
    for (_, container) in sdfg.containers() {
        of_container(container, found);
    }
    let is_used = |id| sdfg.states().any(|(_, state)| state.accesses_of(id).next().is_some());
    let mut scalars = sdfg.arguments().filter(|(_, one)| matches!(one.kind, ContainerKind::Scalar));
    found.extend((depth == 0 && scalars.any(|(id, _)| is_used(id))).then_some("scalar argument"));
    for (_, block) in sdfg.blocks() {
        of_block(block, found);
    }
    for (_, state) in sdfg.states() {
        of_state(state, depth, found);
        found.extend((n_components(state) > 1).then_some("several components in a state"));
    }
    let reads = |expression: &Expression| {
        expression.names().into_iter().any(|name| sdfg.find_container(name).is_some())
    };
    let mut assignments = sdfg.transitions().flat_map(|(_, transition)| &transition.assignments);
    found.extend(assignments.any(|(_, value)| reads(value)).then_some("symbol from data"));
}

fn of_container(container: &Container, found: &mut Features) {
    found.extend(match &container.kind {
        ContainerKind::Scalar => None,
        ContainerKind::Array(layout) => (!layout.is_packed()).then_some("layout of its own"),
        ContainerKind::Stream { shape, .. } if container.is_argument() => {
            Some(if shape.is_empty() { "stream of the caller" } else { "array of streams of the caller" })
        }
        ContainerKind::Stream { capacity: Some(_), .. } => Some("bounded stream"),
        ContainerKind::Stream { capacity: None, shape } if shape.is_empty() => Some("stream"),
        ContainerKind::Stream { .. } => Some("array of streams"),
        ContainerKind::View(_) => Some("view"),
        ContainerKind::Reference(_) => Some("reference"),
    });
    found.extend(container.constant.is_some().then_some("constant"));
    if container.transient {
        found.insert(match container.lifetime {
            Lifetime::Scope => "transient",
            Lifetime::State => "transient of a state",
            Lifetime::Sdfg => "transient of a call",
            Lifetime::Persistent => "persistent transient",
            Lifetime::External => "transient of the caller",
        });
    }
    found.extend((container.storage != Storage::Default).then_some("storage of its own"));
    found.extend((container.element.lanes() > 1).then_some("vector type"));
    found.insert(container.element.lane().name());
}

fn of_block(block: &Block, found: &mut Features) {
    found.extend(match &block.kind {
        BlockKind::State(_) => None,
        BlockKind::Loop(Loop { test_after: true, .. }) => Some("loop with the test behind"),
        BlockKind::Loop(Loop { unroll: true, .. }) => Some("loop to be unrolled"),
        BlockKind::Loop(Loop { symbol: None, .. }) => Some("loop without a symbol"),
        BlockKind::Loop(_) => Some("loop"),
        BlockKind::Branch(_) => Some("branch"),
        BlockKind::Break => Some("break"),
        BlockKind::Continue => Some("continue"),
        BlockKind::Return => Some("return"),
    });
}

fn of_state(state: &State, depth: usize, found: &mut Features) {
    for (_, node) in state.nodes() {
        let feature = match &node.kind {
            NodeKind::Access(_) | NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => None,
            NodeKind::Tasklet(tasklet) => of_tasklet(tasklet),
            NodeKind::MapEntry(map) => {
                of_map(map, found);
                (map.ranges.rank() > 1).then_some("map of several dimensions")
            }
            NodeKind::ConsumeEntry(consume) => Some(match &consume.condition {
                Some(_) => "consume scope with a condition",
                None => "consume scope",
            }),
            NodeKind::Nested(nested) => {
                of_program(&nested.sdfg, depth + 1, found);
                Some("nested SDFG")
            }
            NodeKind::Reduce(_) => Some("reduction"),
            NodeKind::Library(_) => Some("library node"),
        };
        found.extend(feature);
    }
    for (_, edge) in state.edges() {
        of_edge(state, edge, found);
    }
}

fn of_tasklet(tasklet: &Tasklet) -> Option<&'static str> {
    match &tasklet.body {
        TaskletBody::Code(code) => (code.dialect() == Dialect::C).then_some("arithmetic of C"),
        TaskletBody::External(_) => Some("external function"),
    }
}

fn of_edge(state: &State, edge: &Edge, found: &mut Features) {
    let of_nested = |node: NodeId| matches!(state.node(node).kind, NodeKind::Nested(_));
    found.extend(match &edge.memlet.flow {
        Flow::Copy { .. } => Some("copy"),
        Flow::Value if of_nested(edge.src) || of_nested(edge.dst) => Some("value of a nested SDFG"),
        Flow::Value => Some("value between tasklets"),
        Flow::Order => Some("order edge"),
        Flow::Read(_) | Flow::Write { .. } | Flow::Bind(_) => None,
    });
    found.extend(edge.memlet.resolution().map(|resolution| match resolution {
        ConflictResolution::Custom(_) => "custom resolution",
        ConflictResolution::MinLocation | ConflictResolution::MaxLocation => "resolution with a location",
        ConflictResolution::Replace => "resolution by any value",
        ConflictResolution::Sum
        | ConflictResolution::Product
        | ConflictResolution::Min
        | ConflictResolution::Max
        | ConflictResolution::And
        | ConflictResolution::Or
        | ConflictResolution::Xor
        | ConflictResolution::BitAnd
        | ConflictResolution::BitOr
        | ConflictResolution::BitXor => "resolution",
    }));
    found.extend(match &edge.memlet.volume {
        Volume::Exact(_) => None,
        Volume::AtMost(_) => Some("volume with a bound"),
        Volume::Dynamic => Some("dynamic volume"),
    });
    found.extend(edge.memlet.declared.then_some("declared outer memlet"));
    for range in edge.memlet.accesses().flat_map(|access| &access.subset().0) {
        found.extend((!range.tile.is_one()).then_some("tiles in a memlet"));
        let is_downwards = range.step.as_int().is_some_and(|step| step < 0);
        found.extend(is_downwards.then_some("memlet downwards"));
    }
    let enters = matches!(state.node(edge.dst).kind, NodeKind::MapEntry(_) | NodeKind::ConsumeEntry(_));
    found.extend((enters && edge.given_symbol().is_some()).then_some("range from data"));
}

fn of_map(map: &Map, found: &mut Features) {
    found.extend(match map.schedule.kind() {
        ScheduleKind::Sequential => Some("sequential map"),
        ScheduleKind::Unrolled => Some("unrolled map"),
        ScheduleKind::Simd => Some("vectorised map"),
        ScheduleKind::Default
        | ScheduleKind::CpuMulticore
        | ScheduleKind::GpuGrid
        | ScheduleKind::GpuBlock
        | ScheduleKind::FpgaDevice
        | ScheduleKind::FpgaReplicated
        | ScheduleKind::Mpi => None,
    });
    found.extend(
        (map.schedule.team().is_some_and(|team| team.sharing != OpenMpSchedule::default()))
            .then_some("sharing of its own"),
    );
    for range in &map.ranges.0 {
        let step = range.step.as_int();
        found.extend(step.is_some_and(|step| step < 0).then_some("range downwards"));
        found.extend(step.is_none_or(|step| step > 1).then_some("range with steps"));
        let is_triangular = range.free_symbols().iter().any(|symbol| map.params.contains(symbol));
        found.extend(is_triangular.then_some("triangular map"));
    }
}

/// Number of connected components of a state.
fn n_components(state: &State) -> usize {
    let mut part: BTreeMap<NodeId, NodeId> = state.nodes().map(|(id, _)| (id, id)).collect();
    for (_, edge) in state.edges() {
        if let (Some(from), Some(to)) = (part.get(&edge.src).copied(), part.get(&edge.dst).copied()) {
            part.values_mut().filter(|one| **one == from).for_each(|one| *one = to);
        }
    }
    part.into_values().collect::<BTreeSet<_>>().len()
}
