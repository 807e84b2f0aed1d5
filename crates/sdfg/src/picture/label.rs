//! Texts at nodes, edges and blocks, shared by all pictures.

use sdfg_graph::ir::{
    Access, BlockKind, ConflictResolution, Container, ContainerKind, Flow, Map, Memlet, Node, NodeKind,
    ScheduleKind, Sdfg, TaskletBody, Transition, Volume,
};

/// Characters of a line before it is cut.
const LINE: usize = 60;
/// Lines of tasklet code before they are cut.
const CODE_LINES: usize = 8;

/// The line, cut if it is long.
pub(super) fn cut(line: &str) -> String {
    if line.chars().count() <= LINE {
        return line.to_owned();
    }
    line.chars().take(LINE - 1).chain(['…']).collect()
}

fn code_lines(code: &str) -> Vec<String> {
    let mut lines: Vec<String> = code.lines().take(CODE_LINES).map(cut).collect();
    if code.lines().count() > CODE_LINES {
        lines.push("…".to_owned());
    }
    lines
}

/// `A[i, 0:K]`.
fn access(sdfg: &Sdfg, access: &Access) -> String {
    let name = sdfg.get_container(access.container).map_or("?", |container| container.name.as_str());
    let subset = access.subset();
    if subset.rank() == 0 { name.to_owned() } else { format!("{name}[{subset}]") }
}

/// Data movement of an edge, one line for each part; nothing for an edge that only orders or carries one
/// value.
pub(super) fn memlet(sdfg: &Sdfg, memlet: &Memlet) -> Vec<String> {
    let mut lines = match &memlet.flow {
        Flow::Order | Flow::Value => Vec::new(),
        Flow::Read(from) | Flow::Write { to: from, .. } => vec![access(sdfg, from)],
        Flow::Copy { from, to, .. } => vec![format!("{} → {}", access(sdfg, from), access(sdfg, to))],
        Flow::Bind(target) => vec![format!("bind {}", access(sdfg, target))],
    };
    let mut notes = Vec::new();
    if let Some(resolution) = memlet.resolution() {
        notes.push(format!("wcr {}", resolution_name(resolution)));
    }
    match &memlet.volume {
        Volume::Exact(_) => {}
        Volume::AtMost(bound) => notes.push(format!("at most {bound}")),
        Volume::Dynamic => notes.push("dynamic".to_owned()),
    }
    if !notes.is_empty() {
        lines.push(notes.join(", "));
    }
    lines.iter().map(|line| cut(line)).collect()
}

fn resolution_name(resolution: &ConflictResolution) -> String {
    match resolution {
        ConflictResolution::Custom(lambda) => {
            let parameters: Vec<&str> = lambda.parameters.iter().map(|name| name.text.as_str()).collect();
            format!("lambda {}: {}", parameters.join(", "), lambda.body)
        }
        named => named.name().to_owned(),
    }
}

/// `i = 0:N, j = i:M`.
fn map_ranges(map: &Map) -> String {
    let ranges = map.params.iter().zip(&map.ranges.0).map(|(param, range)| format!("{param} = {range}"));
    ranges.collect::<Vec<_>>().join(", ")
}

/// ` cpu_multicore`; nothing for the default.
fn schedule(schedule: ScheduleKind) -> String {
    if schedule == ScheduleKind::Default { String::new() } else { format!(" {}", schedule.name()) }
}

/// `array A: f64[N], cpu_heap`.
pub(super) fn container(container: &Container) -> String {
    let noun = match &container.kind {
        ContainerKind::Scalar => "scalar",
        ContainerKind::Array(_) => "array",
        ContainerKind::Stream { .. } => "stream",
        ContainerKind::View(_) => "view",
        ContainerKind::Reference(_) => "reference",
    };
    let shape: Vec<String> = container.shape().iter().map(ToString::to_string).collect();
    let shape = if shape.is_empty() { String::new() } else { format!("[{}]", shape.join(", ")) };
    let transient = if container.transient { "transient " } else { "" };
    let storage = container.storage.name();
    format!("{transient}{noun} {}: {}{shape}, storage {storage}", container.name, container.element)
}

/// Lines of a node. The label stands first where it says more than the rest.
pub(super) fn node(sdfg: &Sdfg, node: &Node) -> Vec<String> {
    let label = cut(&node.label);
    match &node.kind {
        NodeKind::Access(id) => {
            let name = sdfg.get_container(*id).map_or_else(|| format!("? {id}"), |c| cut(&c.name));
            vec![name]
        }
        NodeKind::Tasklet(tasklet) => {
            let mut lines = vec![label];
            match &tasklet.body {
                TaskletBody::Code(code) => lines.extend(code_lines(code.source())),
                TaskletBody::External(call) => lines.push(cut(&format!("external {call}"))),
            }
            lines
        }
        NodeKind::MapEntry(map) => {
            vec![cut(&format!("{label} [{}]{}", map_ranges(map), schedule(map.schedule.kind())))]
        }
        NodeKind::ConsumeEntry(consume) => {
            let range = format!("{} = 0:{}", consume.element, consume.elements);
            let mut lines = vec![cut(&format!("{label} [{range}]{}", schedule(consume.schedule.kind())))];
            if let Some(condition) = &consume.condition {
                lines.push(cut(&format!("until {condition}")));
            }
            lines
        }
        NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => vec![label],
        NodeKind::Nested(nested) => {
            let mut lines = vec![if nested.sdfg.name == label {
                label
            } else {
                format!("{label}: {}", nested.sdfg.name)
            }];
            lines.extend(
                nested.symbol_mapping.iter().map(|(symbol, value)| cut(&format!("{symbol} = {value}"))),
            );
            lines
        }
        NodeKind::Reduce(reduce) => {
            let axes = reduce.axes.as_ref().map_or_else(
                || "all axes".to_owned(),
                |axes| {
                    format!("axes {}", axes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
                },
            );
            let mut lines = vec![label, format!("reduce {}, {axes}", resolution_name(&reduce.resolution))];
            lines.extend(reduce.identity.as_ref().map(|identity| cut(&format!("from {identity}"))));
            lines
        }
        NodeKind::Library(library) => vec![label, cut(&library.operation)],
    }
}

/// The heading of a block.
pub(super) fn block(label: &str, kind: &BlockKind) -> String {
    let heading = match kind {
        BlockKind::State(_) | BlockKind::Branch(_) => label.to_owned(),
        BlockKind::Loop(body) => {
            let symbol = body.symbol.as_ref().map(|symbol| symbol.as_str()).unwrap_or_default();
            let part = |value: &Option<sdfg_language::syntax::Expression>| {
                value.as_ref().map(|value| format!("{symbol} = {value}")).unwrap_or_default()
            };
            let test = if body.test_after { "do while" } else { "while" };
            if body.symbol.is_none() {
                format!("{label}: {test} {}", body.condition)
            } else {
                let test = if body.test_after { "do " } else { "" };
                format!("{label}: {test}{}; {}; {}", part(&body.init), body.condition, part(&body.update))
            }
        }
        BlockKind::Break | BlockKind::Continue | BlockKind::Return => format!("{label}: {}", kind.noun()),
    };
    cut(&heading)
}

/// Condition and assignments of a transition.
pub(super) fn transition(transition: &Transition) -> Vec<String> {
    let condition = transition.condition.iter().map(|condition| format!("if {condition}"));
    let assignments = transition.assignments.iter().map(|(symbol, value)| format!("{symbol} = {value}"));
    condition.chain(assignments).map(|line| cut(&line)).collect()
}
