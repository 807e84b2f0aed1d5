//! What a random program contains, and what its run reached: agreement says little about what no program has.

use std::collections::BTreeSet;

use sdfg::interpret::Report;
use sdfg::ir::{
    BlockKind, ConflictResolution, ContainerKind, Flow, Lifetime, Map, NodeKind, Place, Schedule, Sdfg,
    Sharing, State, Volume,
};
use sdfg::symbolic::Expr;

/// The names of the features of a program and its run, from a fixed list.
pub type Features = BTreeSet<&'static str>;

/// The features of a program, and with what the interpreter reported of a run, of that run.
pub fn features(sdfg: &Sdfg, report: &Report) -> Features {
    let mut found = Features::new();
    of_program(sdfg, &mut found);
    of_run(sdfg, report, &mut found);
    found
}

fn of_program(sdfg: &Sdfg, found: &mut Features) {
    for (_, container) in sdfg.containers() {
        found.extend(match &container.kind {
            ContainerKind::Scalar => None,
            ContainerKind::Array(layout) => {
                let is_dense = sdfg::ir::Layout::packed(layout.shape.clone()) == *layout;
                (!is_dense).then_some("layout of its own")
            }
            ContainerKind::Stream { capacity: Some(_), .. } => Some("bounded stream"),
            ContainerKind::Stream { capacity: None, shape } if shape.is_empty() => Some("stream"),
            ContainerKind::Stream { .. } => Some("array of streams"),
            ContainerKind::View(_) => Some("view"),
            ContainerKind::Reference(_) => Some("reference"),
        });
        if container.constant.is_some() {
            found.insert("constant");
        }
        if container.transient {
            found.insert(match container.lifetime {
                Lifetime::Scope => "transient",
                Lifetime::State => "transient of a state",
                Lifetime::Sdfg => "transient of a call",
                Lifetime::Persistent => "persistent transient",
                Lifetime::External => "transient of the caller",
            });
        }
        if container.element.lanes() > 1 {
            found.insert("vector type");
        }
        found.insert(container.element.lane().name());
    }
    for (_, block) in sdfg.blocks() {
        found.extend(match block.kind {
            BlockKind::State(_) => None,
            BlockKind::Loop(_) => Some("loop"),
            BlockKind::Branch(_) => Some("branch"),
            BlockKind::Break | BlockKind::Continue => Some("jump in a loop"),
            BlockKind::Return => Some("return"),
        });
    }
    for (_, state) in sdfg.states() {
        of_state(state, found);
    }
}

fn of_state(state: &State, found: &mut Features) {
    for (_, node) in state.nodes() {
        found.extend(match &node.kind {
            NodeKind::Access(_) | NodeKind::Tasklet(_) | NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => {
                None
            }
            NodeKind::MapEntry(map) => (map.ranges.rank() > 1).then_some("map of several dimensions"),
            NodeKind::ConsumeEntry(consume) => Some(match &consume.condition {
                Some(_) => "consume scope with a condition",
                None => "consume scope",
            }),
            NodeKind::Nested(_) => Some("nested SDFG"),
            NodeKind::Reduce(_) => Some("reduction"),
            NodeKind::Library(_) => Some("library node"),
        });
        if let NodeKind::MapEntry(map) = &node.kind {
            of_map(map, found);
        } else if let NodeKind::Nested(nested) = &node.kind {
            of_program(&nested.sdfg, found);
        }
    }
    for (_, edge) in state.edges() {
        found.extend(match &edge.memlet.flow {
            Flow::Copy { .. } => Some("copy"),
            Flow::Value => Some("value between nodes"),
            Flow::Order => Some("order edge"),
            Flow::Read(_) | Flow::Write { .. } | Flow::Bind(_) => None,
        });
        found.extend(edge.memlet.resolution().map(|resolution| {
            if matches!(resolution, ConflictResolution::Custom(_)) {
                "custom resolution"
            } else if matches!(resolution, ConflictResolution::MinLocation | ConflictResolution::MaxLocation)
            {
                "resolution with a location"
            } else {
                "resolution"
            }
        }));
        found.extend(match &edge.memlet.volume {
            Volume::Exact(_) => None,
            Volume::AtMost(_) => Some("volume with a bound"),
            Volume::Dynamic => Some("dynamic volume"),
        });
        for access in edge.memlet.accesses() {
            if let Place::Elements(subset) = &access.place
                && subset.0.iter().any(|range| !range.tile.is_one())
            {
                found.insert("tiles");
            }
        }
        let enters = matches!(state.node(edge.dst).kind, NodeKind::MapEntry(_) | NodeKind::ConsumeEntry(_));
        if enters && edge.dst_connector.as_ref().is_some_and(|name| !name.starts_with("IN_")) {
            found.insert("range from data");
        }
    }
}

fn of_map(map: &Map, found: &mut Features) {
    let schedules = [
        (Schedule::Sequential, "sequential map"),
        (Schedule::Unrolled, "unrolled map"),
        (Schedule::Simd, "vectorised map"),
    ];
    found.extend(
        schedules.into_iter().filter(|(schedule, _)| *schedule == map.schedule).map(|(_, name)| name),
    );
    found.extend((map.parallelism.sharing != Sharing::default()).then_some("sharing of its own"));
    for range in &map.ranges.0 {
        let is_downwards = range.step.as_int().is_some_and(|step| step < 0);
        found.extend(is_downwards.then_some("range downwards"));
        let is_triangular = range.free_symbols().iter().any(|symbol| map.params.contains(symbol));
        found.extend(is_triangular.then_some("triangular map"));
    }
}

/// What the run reached in the outermost SDFG: memlets that had to move something and moved nothing, and elements that were combined
/// into more than once.
fn of_run(sdfg: &Sdfg, report: &Report, found: &mut Features) {
    let moved: BTreeSet<String> = report.moved.iter().map(|moved| moved.path.to_string()).collect();
    for (path, _) in &report.blocks {
        let name = path.to_string();
        let state = sdfg.states().find(|(_, state)| name == format!("{}/{}", sdfg.name, state.label));
        let Some((_, state)) = state else { continue };
        let is_missing = |(id, edge): (sdfg::ir::EdgeId, &sdfg::ir::Edge)| {
            let is_sure =
                matches!(edge.memlet.volume, Volume::Exact(_)) && edge.memlet.accesses().next().is_some();
            let end = |node, connector: &Option<String>| {
                let label = &state.node(node).label;
                connector.as_ref().map_or(label.clone(), |connector| format!("{label}.{connector}"))
            };
            let (from, to) = (end(edge.src, &edge.src_connector), end(edge.dst, &edge.dst_connector));
            is_sure
                && sdfg::analysis::is_leaf(state, id)
                && !moved.contains(&format!("{name}/{from} -> {to}"))
        };
        if state.edges().any(is_missing) {
            found.insert("an empty range was reached");
        }
    }
    for moved in report.moved.iter().filter(|moved| moved.writes && moved.memlet.contains("wcr(")) {
        // More than the whole container: some element at least twice.
        let name = moved.memlet.split(['[', ' ']).next().unwrap_or_default();
        let Some(id) = sdfg.find_container(name) else { continue };
        let extents = sdfg.container(id).shape().iter().map(Expr::as_int);
        let elements = extents.product::<Option<i64>>().and_then(|elements| u64::try_from(elements).ok());
        if elements.is_some_and(|elements| moved.elements > elements) {
            found.insert("a resolution met a collision");
        }
    }
}
