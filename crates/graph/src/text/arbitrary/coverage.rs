//! Coverage of random graphs: every construct of the IR, each variant of its enums, each optional part
//! present and absent.
//!
//! Matches have no wildcard. Therefore a new variant does not compile until it has a name here, and then
//! fails until the generator creates it.

use std::collections::BTreeSet;

use sdfg_language::subset::Subset;
use sdfg_language::tasklet::{Dialect, ExternalOrigin};

use super::arbitrary_sdfg;
use crate::ir::sdfg::FloatMode;
use crate::ir::{
    Access, AccessedPart, BlockKind, ConflictResolution, Connector, Container, ContainerKind, Cut,
    Distribution, Edge, Flow, Lifetime, Memlet, NodeKind, OpenMpSchedule, Parts, Schedule, ScheduleKind,
    Sdfg, State, Storage, TaskletBody, Volume,
};

/// Constructs that are no element of an `ALL` list.
const CONSTRUCTS: [&str; 114] = [
    "symbol",
    "container scalar",
    "container array",
    "container stream",
    "container view",
    "container reference",
    "container argument",
    "container transient",
    "container constant",
    "container vector",
    "layout packed",
    "layout strided",
    "layout offset",
    "layout size",
    "stream array",
    "stream one queue",
    "stream bounded",
    "stream unbounded",
    "distribution replicated",
    "distribution block",
    "distribution grid",
    "cut whole",
    "cut equal",
    "cut balanced",
    "cut within",
    "cut starts",
    "cut halo",
    "distribution local",
    "region empty",
    "region start",
    "region nested",
    "transition condition",
    "transition always",
    "transition assignments",
    "block state",
    "block loop",
    "block branch",
    "block break",
    "block continue",
    "block return",
    "loop symbol",
    "loop without symbol",
    "loop init",
    "loop without init",
    "loop update",
    "loop without update",
    "loop test_after",
    "loop unroll",
    "branch otherwise",
    "branch without otherwise",
    "branch several arms",
    "node access",
    "node tasklet",
    "node map entry",
    "node map exit",
    "node consume entry",
    "node consume exit",
    "node nested",
    "node reduce",
    "node library",
    "connector typed",
    "connector untyped",
    "code Python",
    "code C",
    "external library",
    "external file",
    "external source",
    "external cpp",
    "external callback",
    "external result",
    "external arguments",
    "map parameters",
    "map without parameters",
    "team chunk",
    "team threads",
    "team collapse",
    "team nested",
    "block extents",
    "consume condition",
    "consume without condition",
    "nested mapping",
    "nested inputs",
    "nested outputs",
    "reduce axes",
    "reduce all",
    "reduce identity",
    "reduce without identity",
    "library properties",
    "library expansion",
    "edge source connector",
    "edge destination connector",
    "edge without connectors",
    "edge declared",
    "edge symbol of a scope",
    "flow order",
    "flow read",
    "flow write",
    "flow copy",
    "flow value",
    "flow bind",
    "place elements",
    "place queues",
    "volume exact",
    "volume atmost",
    "volume dynamic",
    "write resolution",
    "write without resolution",
    "copy resolution",
    "resolution custom",
    "subset index",
    "subset step",
    "subset negative step",
    "subset tile",
    "subset rank 0",
];

#[derive(Default)]
struct Seen(BTreeSet<String>);

impl Seen {
    fn see(&mut self, what: &str) {
        if !self.0.contains(what) {
            self.0.insert(what.to_owned());
        }
    }

    fn when(&mut self, holds: bool, what: &str, otherwise: &str) {
        self.see(if holds { what } else { otherwise });
    }

    fn sdfg(&mut self, sdfg: &Sdfg) {
        self.see(sdfg.float_mode.name());
        for _ in sdfg.symbols() {
            self.see("symbol");
        }
        for (_, container) in sdfg.containers() {
            self.container(container);
        }
        for (id, block) in sdfg.blocks() {
            let region = sdfg.region(block.region);
            self.when(region.start != region.blocks.first().copied(), "region start", "region first");
            self.when(block.region != sdfg.body(), "region nested", "region body");
            self.block(sdfg, &block.kind);
            for transition in sdfg.transitions_from(id) {
                let transition = sdfg.transition(transition);
                self.when(transition.condition.is_some(), "transition condition", "transition always");
                self.when(!transition.assignments.is_empty(), "transition assignments", "transition alone");
            }
        }
        for (_, state) in sdfg.states() {
            self.state(state);
        }
    }

    fn container(&mut self, container: &Container) {
        self.when(container.transient, "container transient", "container argument");
        self.when(container.constant.is_some(), "container constant", "container variable");
        self.when(container.element.lanes() > 1, "container vector", "container of scalars");
        self.see(&format!("type {}", container.element.lane().name()));
        self.see(&format!("storage {}", container.storage.name()));
        self.see(&format!("lifetime {}", container.lifetime.name()));
        let name = match &container.distribution {
            Distribution::Replicated => "distribution replicated",
            Distribution::Blocks(blocks) if blocks.is_plain() => "distribution block",
            Distribution::Blocks(_) => "distribution grid",
            Distribution::Local => "distribution local",
        };
        self.see(name);
        for cut in container.distribution.blocks().iter().flat_map(|blocks| &blocks.cuts) {
            self.see(match cut.as_ref().map(|cut| &cut.parts) {
                None => "cut whole",
                Some(Parts::Equal) => "cut equal",
                Some(Parts::Balanced(None)) => "cut balanced",
                Some(Parts::Balanced(Some(_))) => "cut within",
                Some(Parts::Starts(_)) => "cut starts",
            });
            if cut.as_ref().is_some_and(Cut::has_halo) {
                self.see("cut halo");
            }
        }
        let name = match &container.kind {
            ContainerKind::Scalar => "container scalar",
            ContainerKind::Array(_) => "container array",
            ContainerKind::View(_) => "container view",
            ContainerKind::Reference(_) => "container reference",
            ContainerKind::Stream { shape, capacity } => {
                self.when(shape.is_empty(), "stream one queue", "stream array");
                self.when(capacity.is_some(), "stream bounded", "stream unbounded");
                "container stream"
            }
        };
        self.see(name);
        if let Some(layout) = container.kind.layout() {
            let packed = crate::ir::Layout::packed(layout.shape.clone());
            self.when(layout.is_packed(), "layout packed", "layout free");
            self.when(layout.strides != packed.strides, "layout strided", "layout dense");
            self.when(layout.offset != packed.offset, "layout offset", "layout from 0");
            self.when(layout.total_size != packed.total_size, "layout size", "layout exact");
        }
    }

    fn block(&mut self, sdfg: &Sdfg, kind: &BlockKind) {
        for inner in kind.regions() {
            self.when(sdfg.region(inner).blocks.is_empty(), "region empty", "region filled");
        }
        let name = match kind {
            BlockKind::State(_) => "block state",
            BlockKind::Break => "block break",
            BlockKind::Continue => "block continue",
            BlockKind::Return => "block return",
            BlockKind::Loop(repeated) => {
                self.when(repeated.symbol.is_some(), "loop symbol", "loop without symbol");
                self.when(repeated.init.is_some(), "loop init", "loop without init");
                self.when(repeated.update.is_some(), "loop update", "loop without update");
                self.when(repeated.test_after, "loop test_after", "loop test before");
                self.when(repeated.unroll, "loop unroll", "loop rolled");
                "block loop"
            }
            BlockKind::Branch(branch) => {
                self.when(branch.otherwise.is_some(), "branch otherwise", "branch without otherwise");
                self.when(branch.arms.len() > 1, "branch several arms", "branch one arm");
                "block branch"
            }
        };
        self.see(name);
    }

    fn state(&mut self, state: &State) {
        for (_, node) in state.nodes() {
            self.node(&node.kind);
        }
        for (_, edge) in state.edges() {
            self.edge(state, edge);
        }
    }

    fn connectors(&mut self, connectors: &[Connector]) {
        for connector in connectors {
            self.when(connector.element.is_some(), "connector typed", "connector untyped");
        }
    }

    fn schedule(&mut self, schedule: &Schedule) {
        self.see(&format!("schedule {}", schedule.kind().name()));
        if let Some(team) = schedule.team() {
            self.see(&format!("sharing {}", team.sharing.name()));
            self.when(team.chunk.is_some(), "team chunk", "");
            self.when(team.threads.is_some(), "team threads", "");
            self.when(team.collapse.is_some(), "team collapse", "");
            self.when(team.nested.is_some(), "team nested", "");
        }
        if let Some(block) = schedule.block() {
            self.when(!block.extents.is_empty(), "block extents", "");
        }
    }

    fn node(&mut self, kind: &NodeKind) {
        self.see(&format!("node {}", kind.noun().trim_end_matches(" node").replace(" SDFG", "")));
        self.connectors(kind.inputs());
        self.connectors(kind.outputs());
        match kind {
            NodeKind::Access(_) | NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => {}
            NodeKind::Tasklet(tasklet) => match &tasklet.body {
                TaskletBody::Code(code) => {
                    let name = match code.dialect() {
                        Dialect::Python => "code Python",
                        Dialect::C => "code C",
                    };
                    self.see(name)
                }
                TaskletBody::External(call) => {
                    let name = match call.origin {
                        ExternalOrigin::Library(_) => "external library",
                        ExternalOrigin::File(_) => "external file",
                        ExternalOrigin::Source(_) => "external source",
                        ExternalOrigin::Cpp(_) => "external cpp",
                        ExternalOrigin::Callback => "external callback",
                    };
                    self.see(name);
                    self.when(call.result.is_some(), "external result", "");
                    self.when(!call.arguments.is_empty(), "external arguments", "");
                }
            },
            NodeKind::MapEntry(map) => {
                self.when(map.params.is_empty(), "map without parameters", "map parameters");
                self.schedule(&map.schedule);
            }
            NodeKind::ConsumeEntry(consume) => {
                self.when(consume.condition.is_some(), "consume condition", "consume without condition");
                self.schedule(&consume.schedule);
            }
            NodeKind::Nested(nested) => {
                self.when(!nested.symbol_mapping.is_empty(), "nested mapping", "");
                self.when(!nested.inputs.is_empty(), "nested inputs", "");
                self.when(!nested.outputs.is_empty(), "nested outputs", "");
                self.sdfg(&nested.sdfg);
            }
            NodeKind::Reduce(reduce) => {
                self.when(reduce.axes.is_some(), "reduce axes", "reduce all");
                self.when(reduce.identity.is_some(), "reduce identity", "reduce without identity");
                self.resolution(&reduce.resolution);
            }
            NodeKind::Library(library) => {
                self.when(!library.properties.is_empty(), "library properties", "");
                self.when(library.expansion.is_some(), "library expansion", "");
            }
        }
    }

    fn resolution(&mut self, resolution: &ConflictResolution) {
        self.see(&format!("resolution {}", resolution.name()));
    }

    fn edge(&mut self, state: &State, edge: &Edge) {
        let Memlet { flow, volume, declared, .. } = &edge.memlet;
        self.when(edge.src_connector.is_some(), "edge source connector", "edge without connectors");
        self.when(edge.dst_connector.is_some(), "edge destination connector", "edge without connectors");
        self.when(*declared, "edge declared", "edge derived");
        let named = edge.given_symbol().is_some();
        let to_scope = state.node(edge.dst).kind.is_scope_entry();
        self.when(named && to_scope, "edge symbol of a scope", "");
        let name = match flow {
            Flow::Order => "flow order",
            Flow::Read(_) => "flow read",
            Flow::Write { resolution, .. } => {
                self.when(resolution.is_some(), "write resolution", "write without resolution");
                "flow write"
            }
            Flow::Copy { resolution, .. } => {
                self.when(resolution.is_some(), "copy resolution", "copy without resolution");
                "flow copy"
            }
            Flow::Value => "flow value",
            Flow::Bind(_) => "flow bind",
        };
        self.see(name);
        if let Some(resolution) = edge.memlet.resolution() {
            self.resolution(resolution);
        }
        let name = match volume {
            Volume::Exact(_) => "volume exact",
            Volume::AtMost(_) => "volume atmost",
            Volume::Dynamic => "volume dynamic",
        };
        self.see(name);
        for access in edge.memlet.accesses() {
            self.access(access);
        }
    }

    fn access(&mut self, access: &Access) {
        let (name, Subset(ranges)) = match &access.place {
            AccessedPart::Elements(subset) => ("place elements", subset),
            AccessedPart::Queues(subset) => ("place queues", subset),
        };
        self.see(name);
        self.when(ranges.is_empty(), "subset rank 0", "subset ranges");
        for range in ranges {
            let text = range.to_string();
            self.when(!text.contains(':'), "subset index", "subset range");
            let step = text.split(':').nth(2);
            self.when(step.is_some(), "subset step", "subset dense");
            self.when(step.is_some_and(|step| step.starts_with('-')), "subset negative step", "");
            self.when(text.split(':').nth(3).is_some(), "subset tile", "");
        }
    }
}

#[test]
fn every_construct_is_generated() {
    let mut expected: BTreeSet<String> = CONSTRUCTS.iter().map(|&name| name.to_owned()).collect();
    expected.extend(FloatMode::ALL.iter().map(|mode| mode.name().to_owned()));
    expected.extend(Storage::ALL.iter().map(|storage| format!("storage {}", storage.name())));
    expected.extend(Lifetime::ALL.iter().map(|lifetime| format!("lifetime {}", lifetime.name())));
    expected.extend(ScheduleKind::ALL.iter().map(|schedule| format!("schedule {}", schedule.name())));
    expected.extend(OpenMpSchedule::ALL.iter().map(|sharing| format!("sharing {}", sharing.name())));
    expected.extend(ConflictResolution::NAMED.iter().map(|named| format!("resolution {}", named.name())));
    expected.extend(sdfg_language::dtype::ScalarType::ALL.iter().map(|ty| format!("type {}", ty.name())));
    let mut seen = Seen::default();
    for seed in 0..400 {
        seen.sdfg(&arbitrary_sdfg(seed));
        if seen.0.is_superset(&expected) {
            return;
        }
    }
    let missing: Vec<&String> = expected.difference(&seen.0).collect();
    panic!("the generator never makes {missing:?}");
}
