//! A description of a graph with names instead of ids: equal for graphs that differ only in ids and source
//! locations. It is independent of both printers, so it can find their faults.

use std::fmt::Write;

use super::values::print_value;
use crate::analysis::ScopeTree;
use crate::ir::{
    Access, BlockKind, ConflictResolution, Container, Edge, Flow, Memlet, NodeId, NodeKind, RegionId, Sdfg,
    State, TaskletBody,
};

/// The description, one fact a line.
pub(crate) fn structure(sdfg: &Sdfg) -> String {
    let mut out = String::new();
    describe(&mut out, sdfg);
    out
}

fn describe(out: &mut String, sdfg: &Sdfg) {
    writeln!(out, "sdfg {:?} {:?}", sdfg.name, sdfg.float_mode).unwrap();
    for (symbol, ty) in sdfg.symbols() {
        writeln!(out, "symbol {symbol:?} {ty:?}").unwrap();
    }
    for (_, container) in sdfg.containers() {
        let Container { name, element, kind, transient, storage, lifetime, distribution, constant, loc: _ } =
            container;
        let constant: Option<Vec<String>> = constant
            .as_ref()
            .map(|values| values.iter().map(|v| format!("{:?}{}", v.ty(), print_value(*v))).collect());
        writeln!(
            out,
            "container {name:?} {element:?} {kind:?} {transient} {storage:?} {lifetime:?} {distribution:?} {constant:?}"
        )
        .unwrap();
    }
    region(out, sdfg, sdfg.body());
}

fn region(out: &mut String, sdfg: &Sdfg, id: RegionId) {
    let region = sdfg.region(id);
    let parent = region.parent.map(|parent| &sdfg.block(parent).label);
    let start = region.start.map(|start| &sdfg.block(start).label);
    writeln!(out, "region of {parent:?} starts {start:?}").unwrap();
    for &block_id in &region.blocks {
        let block = sdfg.block(block_id);
        assert_eq!(block.region, id, "{} knows its region", block.label);
        writeln!(out, "block {:?} {}", block.label, block.kind.noun()).unwrap();
        for transition in sdfg.transitions_from(block_id) {
            let transition = sdfg.transition(transition);
            let assignments: Vec<String> =
                transition.assignments.iter().map(|(symbol, value)| format!("{symbol} = {value}")).collect();
            let condition = transition.condition.as_ref().map(ToString::to_string);
            writeln!(out, "to {:?} {condition:?} {assignments:?}", sdfg.block(transition.dst).label).unwrap();
        }
        match &block.kind {
            BlockKind::State(state) => {
                assert_eq!(sdfg.state(*state).label, block.label);
                self::state(out, sdfg, sdfg.state(*state));
            }
            BlockKind::Loop(repeated) => {
                let text =
                    |e: &Option<sdfg_language::syntax::Expression>| e.as_ref().map(ToString::to_string);
                writeln!(
                    out,
                    "loop {:?} {:?} {} {:?} {} {}",
                    repeated.symbol,
                    text(&repeated.init),
                    repeated.condition,
                    text(&repeated.update),
                    repeated.test_after,
                    repeated.unroll
                )
                .unwrap();
            }
            BlockKind::Branch(branch) => {
                let conditions: Vec<String> = branch.arms.iter().map(|(c, _)| c.to_string()).collect();
                writeln!(out, "arms {conditions:?} otherwise {}", branch.otherwise.is_some()).unwrap();
            }
            BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
        }
        for inner in block.kind.regions() {
            self::region(out, sdfg, inner);
        }
    }
}

fn state(out: &mut String, sdfg: &Sdfg, graph: &State) {
    let tree = ScopeTree::of(graph);
    let mut scopes = vec![None];
    scopes.extend(tree.entries().into_iter().map(Some));
    // Scopes by label, nodes of each in their order; exits lie where their entries are.
    scopes.sort_by_key(|scope| scope.map(|entry| graph.node(entry).label.clone()));
    for scope in scopes {
        writeln!(out, "scope {:?}", scope.map(|entry| &graph.node(entry).label)).unwrap();
        let mut nodes = tree.children(scope).to_vec();
        nodes.sort_unstable();
        for &id in nodes.iter().filter(|id| graph.node(**id).kind.exit_of().is_none()) {
            node(out, sdfg, graph, id);
            if let Some(exit) = tree.exit_of(id) {
                node(out, sdfg, graph, exit);
            }
        }
    }
}

fn node(out: &mut String, sdfg: &Sdfg, graph: &State, id: NodeId) {
    let node = graph.node(id);
    writeln!(out, "{} {:?}", node.kind.noun(), node.label).unwrap();
    match &node.kind {
        NodeKind::Access(container) => writeln!(out, "{:?}", sdfg.container(*container).name).unwrap(),
        NodeKind::Tasklet(tasklet) => {
            writeln!(out, "{:?} {:?}", tasklet.inputs, tasklet.outputs).unwrap();
            match &tasklet.body {
                TaskletBody::Code(code) => writeln!(out, "{:?} {:?}", code.dialect(), code.source()).unwrap(),
                TaskletBody::External(call) => writeln!(out, "{call} {:?}", call.origin).unwrap(),
            }
        }
        NodeKind::MapEntry(map) => writeln!(out, "{map:?}").unwrap(),
        NodeKind::ConsumeEntry(consume) => {
            let condition = consume.condition.as_ref().map(ToString::to_string);
            writeln!(
                out,
                "{:?} {:?} {:?} {condition:?} {:?}",
                consume.element, consume.elements, consume.chunk, consume.schedule
            )
            .unwrap();
        }
        NodeKind::MapExit(exit) | NodeKind::ConsumeExit(exit) => {
            writeln!(out, "of {:?}", graph.node(exit.entry).label).unwrap();
        }
        NodeKind::Nested(nested) => {
            writeln!(out, "{:?} {:?} {:?}", nested.inputs, nested.outputs, nested.symbol_mapping).unwrap();
            describe(out, &nested.sdfg);
        }
        NodeKind::Reduce(reduce) => {
            let identity = reduce.identity.as_ref().map(ToString::to_string);
            let resolution = resolution(Some(&reduce.resolution));
            writeln!(out, "{:?} {resolution} {identity:?} {:?}", reduce.axes, reduce.schedule).unwrap();
        }
        NodeKind::Library(library) => {
            let properties: Vec<String> =
                library.properties.iter().map(|(k, v)| format!("{k:?} = {v}")).collect();
            writeln!(
                out,
                "{:?} {:?} {:?} {properties:?} {:?}",
                library.operation, library.inputs, library.outputs, library.expansion
            )
            .unwrap();
        }
    }
    for edge in graph.in_edges(id) {
        writeln!(out, "in {}", self::edge(sdfg, graph, graph.edge(edge))).unwrap();
    }
    for edge in graph.out_edges(id) {
        writeln!(out, "out {}", self::edge(sdfg, graph, graph.edge(edge))).unwrap();
    }
}

fn edge(sdfg: &Sdfg, graph: &State, edge: &Edge) -> String {
    let end = |id: NodeId| format!("{} {:?}", graph.node(id).kind.noun(), graph.node(id).label);
    let Memlet { flow, volume, declared } = &edge.memlet;
    let access = |access: &Access| format!("{:?}{:?}", sdfg.container(access.container).name, access.place);
    let flow = match flow {
        Flow::Order => "order".to_owned(),
        Flow::Value => "value".to_owned(),
        Flow::Bind(target) => format!("bind {}", access(target)),
        Flow::Read(from) => format!("read {}", access(from)),
        Flow::Write { to, resolution: r } => format!("write {} {}", access(to), resolution(r.as_ref())),
        Flow::Copy { from, to, resolution: r } => {
            format!("copy {} {} {}", access(from), access(to), resolution(r.as_ref()))
        }
    };
    format!(
        "{} {:?} to {} {:?}: {flow} {volume:?} {declared}",
        end(edge.src),
        edge.src_connector,
        end(edge.dst),
        edge.dst_connector
    )
}

fn resolution(resolution: Option<&ConflictResolution>) -> String {
    match resolution {
        Some(ConflictResolution::Custom(lambda)) => format!("custom {lambda}"),
        other => format!("{other:?}"),
    }
}
