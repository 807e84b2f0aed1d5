//! From the graph to the wire schema. Any graph can be written; a name or position that stands for nothing is written as
//! one that no reader accepts.

use std::collections::BTreeMap;

use super::v1;
use crate::ir::{
    Access, BlockId, BlockKind, ConflictResolution, Connector, Container, ContainerId, ContainerKind,
    Distribution, Edge, Flow, Layout, Lifetime, Memlet, NodeId, NodeKind, Parallelism, RegionId, Schedule,
    Sdfg, StateId, Storage, Tasklet, TaskletBody, Volume,
};
use crate::subset::Subset;
use crate::symbolic::Symbol;
use crate::syntax::Expression;
use crate::tasklet::ExternalOrigin;
use crate::text::dialect_name;
use crate::text::print_value;

/// The position of what is not there.
const NOWHERE: usize = usize::MAX;

pub(super) fn sdfg(sdfg: &Sdfg) -> v1::Sdfg {
    v1::Sdfg {
        name: sdfg.name.clone(),
        float_mode: sdfg.float_mode.name().to_owned(),
        symbols: sdfg
            .symbols()
            .map(|(symbol, ty)| v1::SymbolDeclaration { name: symbol.to_string(), ty: ty.to_string() })
            .collect(),
        containers: sdfg.containers().map(|(_, container)| self::container(container)).collect(),
        body: region(sdfg, sdfg.body(), &mut Vec::new()),
    }
}

fn texts<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}

fn text<T: ToString>(item: &Option<T>) -> Option<String> {
    item.as_ref().map(ToString::to_string)
}

fn container(container: &Container) -> v1::Container {
    let kind = match &container.kind {
        ContainerKind::Scalar => v1::ContainerKind::Scalar,
        ContainerKind::Array(layout) => v1::ContainerKind::Array(self::layout(layout)),
        ContainerKind::Stream { shape, capacity } => {
            v1::ContainerKind::Stream(v1::Stream { shape: texts(shape), capacity: text(capacity) })
        }
        ContainerKind::View(layout) => v1::ContainerKind::View(self::layout(layout)),
        ContainerKind::Reference(layout) => v1::ContainerKind::Reference(self::layout(layout)),
    };
    v1::Container {
        name: container.name.clone(),
        element: container.element.to_string(),
        kind,
        transient: container.transient,
        storage: (container.storage != Storage::default()).then(|| container.storage.name().to_owned()),
        lifetime: (container.lifetime != Lifetime::default()).then(|| container.lifetime.name().to_owned()),
        distribution: match &container.distribution {
            Distribution::Replicated => None,
            Distribution::Local => Some(v1::Distribution::Local),
            Distribution::Block { grid } => Some(v1::Distribution::Block { grid: texts(grid) }),
        },
        constant: container.constant.as_ref().map(|values| values.iter().map(|v| print_value(*v)).collect()),
    }
}

fn layout(layout: &Layout) -> v1::Layout {
    v1::Layout {
        shape: texts(&layout.shape),
        strides: texts(&layout.strides),
        offset: layout.offset.to_string(),
        total_size: layout.total_size.to_string(),
    }
}

/// A region; `open` are the regions around it. One that holds itself (in a wrong graph) is written as empty.
fn region(sdfg: &Sdfg, id: RegionId, open: &mut Vec<RegionId>) -> v1::Region {
    let Some(region) = sdfg.get_region(id).filter(|_| !open.contains(&id)) else {
        return v1::Region { blocks: Vec::new(), transitions: Vec::new(), start: None };
    };
    open.push(id);
    let ids: Vec<BlockId> =
        region.blocks.iter().copied().filter(|block| sdfg.get_block(*block).is_some()).collect();
    let position = |id: BlockId| ids.iter().position(|block| *block == id).unwrap_or(NOWHERE);
    let blocks = ids.iter().map(|id| block(sdfg, *id, open)).collect();
    open.pop();
    let transitions = region
        .transitions
        .iter()
        .filter_map(|id| sdfg.get_transition(*id))
        .map(|transition| v1::Transition {
            from: position(transition.src),
            to: position(transition.dst),
            condition: text(&transition.condition),
            assignments: assignments(&transition.assignments),
        })
        .collect();
    let start = region.start.map(position).filter(|start| *start != 0);
    v1::Region { blocks, transitions, start }
}

fn assignments<T: ToString>(assignments: &[(Symbol, T)]) -> Vec<v1::Assignment> {
    assignments
        .iter()
        .map(|(symbol, value)| v1::Assignment { symbol: symbol.to_string(), value: value.to_string() })
        .collect()
}

fn block(sdfg: &Sdfg, id: BlockId, open: &mut Vec<RegionId>) -> v1::Block {
    let block = sdfg.block(id);
    let kind = match &block.kind {
        BlockKind::State(state) => v1::BlockKind::State(self::state(sdfg, *state)),
        BlockKind::Loop(repeated) => v1::BlockKind::Loop(Box::new(v1::Loop {
            symbol: text(&repeated.symbol),
            init: text(&repeated.init),
            condition: repeated.condition.to_string(),
            update: text(&repeated.update),
            test_after: repeated.test_after,
            unroll: repeated.unroll,
            body: region(sdfg, repeated.body, open),
        })),
        BlockKind::Branch(branch) => {
            let mut arm = |(condition, body): &(Expression, RegionId)| v1::Arm {
                condition: condition.to_string(),
                body: region(sdfg, *body, open),
            };
            v1::BlockKind::Branch(v1::Branch {
                arms: branch.arms.iter().map(&mut arm).collect(),
                otherwise: branch.otherwise.map(|body| region(sdfg, body, open)),
            })
        }
        BlockKind::Break => v1::BlockKind::Break,
        BlockKind::Continue => v1::BlockKind::Continue,
        BlockKind::Return => v1::BlockKind::Return,
    };
    v1::Block { label: block.label.clone(), kind }
}

fn state(sdfg: &Sdfg, id: StateId) -> v1::State {
    let Some(graph) = sdfg.get_state(id) else { return v1::State { nodes: Vec::new(), edges: Vec::new() } };
    let positions: BTreeMap<NodeId, usize> = graph.nodes().enumerate().map(|(i, (id, _))| (id, i)).collect();
    let nodes = graph
        .nodes()
        .map(|(_, node)| v1::Node {
            label: node.label.clone(),
            kind: node_kind(sdfg, &positions, &node.kind),
        })
        .collect();
    let edges = graph.edges().map(|(_, edge)| self::edge(sdfg, &positions, edge)).collect();
    v1::State { nodes, edges }
}

fn node_kind(sdfg: &Sdfg, positions: &BTreeMap<NodeId, usize>, kind: &NodeKind) -> v1::NodeKind {
    let exit = |entry: &NodeId| v1::ScopeExit { entry: positions.get(entry).copied().unwrap_or(NOWHERE) };
    match kind {
        NodeKind::Access(container) => v1::NodeKind::Access { container: name_of(sdfg, *container) },
        NodeKind::Tasklet(tasklet) => v1::NodeKind::Tasklet(self::tasklet(tasklet)),
        NodeKind::MapEntry(map) => v1::NodeKind::MapEntry(v1::Map {
            params: texts(&map.params),
            ranges: texts(&map.ranges.0),
            execution: execution(map.schedule, &map.parallelism),
        }),
        NodeKind::MapExit(scope) => v1::NodeKind::MapExit(exit(&scope.entry)),
        NodeKind::ConsumeEntry(consume) => v1::NodeKind::ConsumeEntry(v1::Consume {
            element: consume.element.to_string(),
            elements: consume.elements.to_string(),
            chunk: consume.chunk.to_string(),
            condition: text(&consume.condition),
            execution: execution(consume.schedule, &consume.parallelism),
        }),
        NodeKind::ConsumeExit(scope) => v1::NodeKind::ConsumeExit(exit(&scope.entry)),
        NodeKind::Nested(nested) => v1::NodeKind::Nested(Box::new(v1::Nested {
            inputs: connectors(&nested.inputs),
            outputs: connectors(&nested.outputs),
            symbol_mapping: assignments(&nested.symbol_mapping),
            sdfg: self::sdfg(&nested.sdfg),
        })),
        NodeKind::Reduce(reduce) => v1::NodeKind::Reduce(v1::Reduce {
            axes: reduce.axes.clone(),
            resolution: resolution(&reduce.resolution),
            identity: text(&reduce.identity),
            schedule: reduce.schedule.name().to_owned(),
        }),
        NodeKind::Library(library) => v1::NodeKind::Library(v1::Library {
            operation: library.operation.clone(),
            inputs: connectors(&library.inputs),
            outputs: connectors(&library.outputs),
            properties: library
                .properties
                .iter()
                .map(|(name, value)| v1::Property { name: name.clone(), value: value.to_string() })
                .collect(),
            expansion: library.expansion.clone(),
        }),
    }
}

fn tasklet(tasklet: &Tasklet) -> v1::Tasklet {
    let body = match &tasklet.body {
        TaskletBody::Code(code) => v1::TaskletBody::Code(v1::Code {
            source: code.source().to_owned(),
            dialect: dialect_name(code.dialect()).to_owned(),
        }),
        TaskletBody::External(call) => v1::TaskletBody::External(v1::External {
            symbol: call.symbol.clone(),
            arguments: texts(&call.arguments),
            result: call.result.clone(),
            origin: match call.origin.clone() {
                ExternalOrigin::Library(name) => v1::Origin::Library(name),
                ExternalOrigin::File(path) => v1::Origin::File(path),
                ExternalOrigin::Source(text) => v1::Origin::Source(text),
                ExternalOrigin::Cpp(text) => v1::Origin::Cpp(text),
            },
        }),
    };
    v1::Tasklet { inputs: connectors(&tasklet.inputs), outputs: connectors(&tasklet.outputs), body }
}

fn connectors(connectors: &[Connector]) -> Vec<v1::Connector> {
    connectors
        .iter()
        .map(|connector| v1::Connector { name: connector.name.clone(), element: text(&connector.element) })
        .collect()
}

fn execution(schedule: Schedule, parallelism: &Parallelism) -> v1::Execution {
    v1::Execution {
        schedule: schedule.name().to_owned(),
        sharing: parallelism.sharing.name().to_owned(),
        chunk: text(&parallelism.chunk),
        threads: text(&parallelism.threads),
        collapse: parallelism.collapse,
    }
}

fn edge(sdfg: &Sdfg, positions: &BTreeMap<NodeId, usize>, edge: &Edge) -> v1::Edge {
    let end = |node: &NodeId, connector: &Option<String>| v1::EdgeEnd {
        node: positions.get(node).copied().unwrap_or(NOWHERE),
        connector: connector.clone(),
    };
    v1::Edge {
        from: end(&edge.src, &edge.src_connector),
        to: end(&edge.dst, &edge.dst_connector),
        memlet: memlet(sdfg, &edge.memlet),
    }
}

fn memlet(sdfg: &Sdfg, memlet: &Memlet) -> v1::Memlet {
    let resolution = memlet.resolution().map(resolution);
    let access = |access: &Access| self::access(sdfg, access);
    let flow = match &memlet.flow {
        Flow::Order => v1::Flow::Order,
        Flow::Read(from) => v1::Flow::Read { from: access(from) },
        Flow::Write { to, .. } => v1::Flow::Write { to: access(to), resolution },
        Flow::Copy { from, to, .. } => v1::Flow::Copy { from: access(from), to: access(to), resolution },
        Flow::Value => v1::Flow::Value,
        Flow::Bind(to) => v1::Flow::Bind { to: access(to) },
    };
    let volume = match &memlet.volume {
        Volume::Exact(count) => v1::Volume::Exact(count.to_string()),
        Volume::AtMost(bound) => v1::Volume::AtMost(bound.to_string()),
        Volume::Dynamic => v1::Volume::Dynamic,
    };
    v1::Memlet { flow, volume, declared: memlet.declared }
}

fn access(sdfg: &Sdfg, access: &Access) -> v1::Access {
    let Subset(ranges) = access.subset();
    v1::Access {
        container: name_of(sdfg, access.container),
        subset: texts(ranges),
        queues: access.is_queue(),
    }
}

fn name_of(sdfg: &Sdfg, id: ContainerId) -> String {
    sdfg.get_container(id).map_or_else(|| format!("<{id}>"), |container| container.name.clone())
}

/// The name of a built-in resolution, or the text of a function.
fn resolution(resolution: &ConflictResolution) -> String {
    match resolution {
        ConflictResolution::Custom(lambda) => lambda.to_string(),
        named => named.name().to_owned(),
    }
}
