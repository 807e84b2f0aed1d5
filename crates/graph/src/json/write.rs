//! Converts the graph to the wire schema. Any graph can be written; a dangling reference is written as a
//! value that no reader accepts.

use std::collections::BTreeMap;

use sdfg_language::subset::Subset;
use sdfg_language::symbolic::Symbol;
use sdfg_language::syntax::Expression;
use sdfg_language::tasklet::ExternalOrigin;

use super::schema;
use crate::ir::{
    Access, BlockId, BlockKind, ConflictResolution, Connector, Container, ContainerId, ContainerKind, Cut,
    Distribution, Edge, Flow, Layout, Lifetime, Memlet, NodeId, NodeKind, Parts, RegionId, Schedule, Sdfg,
    StateId, Storage, Tasklet, TaskletBody, Volume,
};
use crate::text::dialect_name;
use crate::text::print_value;

/// The position of what is not there.
const NOWHERE: usize = usize::MAX;

pub(super) fn sdfg(sdfg: &Sdfg) -> schema::Sdfg {
    schema::Sdfg {
        name: sdfg.name.clone(),
        float_mode: sdfg.float_mode.name().to_owned(),
        symbols: sdfg
            .symbols()
            .map(|(symbol, ty)| schema::SymbolDeclaration { name: symbol.to_string(), ty: ty.to_string() })
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

fn container(container: &Container) -> schema::Container {
    let kind = match &container.kind {
        ContainerKind::Scalar => schema::ContainerKind::Scalar,
        ContainerKind::Array(layout) => schema::ContainerKind::Array(self::layout(layout)),
        ContainerKind::Stream { shape, capacity } => {
            schema::ContainerKind::Stream(schema::Stream { shape: texts(shape), capacity: text(capacity) })
        }
        ContainerKind::View(layout) => schema::ContainerKind::View(self::layout(layout)),
        ContainerKind::Reference(layout) => schema::ContainerKind::Reference(self::layout(layout)),
    };
    schema::Container {
        name: container.name.clone(),
        element: container.element.to_string(),
        kind,
        transient: container.transient,
        storage: (container.storage != Storage::default()).then(|| container.storage.name().to_owned()),
        lifetime: (container.lifetime != Lifetime::default()).then(|| container.lifetime.name().to_owned()),
        distribution: match &container.distribution {
            Distribution::Replicated => None,
            Distribution::Local => Some(schema::Distribution::Local),
            Distribution::Blocks(blocks) if blocks.is_plain() => {
                Some(schema::Distribution::Block { grid: texts(&blocks.grid) })
            }
            Distribution::Blocks(blocks) => Some(schema::Distribution::Grid {
                grid: texts(&blocks.grid),
                cuts: blocks.cuts.iter().map(|part| part.as_ref().map(cut)).collect(),
            }),
        },
        constant: container.constant.as_ref().map(|values| values.iter().map(|v| print_value(*v)).collect()),
    }
}

fn cut(cut: &Cut) -> schema::Cut {
    schema::Cut {
        along: cut.along,
        parts: match &cut.parts {
            Parts::Equal => schema::Parts::Equal,
            Parts::Balanced(None) => schema::Parts::Balanced,
            Parts::Balanced(Some(range)) => schema::Parts::Within(range.each_ref().map(ToString::to_string)),
            Parts::Starts(starts) => schema::Parts::Starts(texts(starts)),
        },
        halo: cut.has_halo().then(|| cut.halo.each_ref().map(ToString::to_string)),
    }
}

fn layout(layout: &Layout) -> schema::Layout {
    schema::Layout {
        shape: texts(&layout.shape),
        strides: texts(&layout.strides),
        offset: layout.offset.to_string(),
        total_size: layout.total_size.to_string(),
    }
}

/// A region; `open` are the regions around it. One that holds itself (in a wrong graph) is written as empty.
fn region(sdfg: &Sdfg, id: RegionId, open: &mut Vec<RegionId>) -> schema::Region {
    let Some(region) = sdfg.get_region(id).filter(|_| !open.contains(&id)) else {
        return schema::Region { blocks: Vec::new(), transitions: Vec::new(), start: None };
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
        .map(|transition| schema::Transition {
            from: position(transition.src),
            to: position(transition.dst),
            condition: text(&transition.condition),
            assignments: assignments(&transition.assignments),
        })
        .collect();
    let start = region.start.map(position).filter(|start| *start != 0);
    schema::Region { blocks, transitions, start }
}

fn assignments<T: ToString>(assignments: &[(Symbol, T)]) -> Vec<schema::Assignment> {
    assignments
        .iter()
        .map(|(symbol, value)| schema::Assignment { symbol: symbol.to_string(), value: value.to_string() })
        .collect()
}

fn block(sdfg: &Sdfg, id: BlockId, open: &mut Vec<RegionId>) -> schema::Block {
    let block = sdfg.block(id);
    let kind = match &block.kind {
        BlockKind::State(state) => schema::BlockKind::State(self::state(sdfg, *state)),
        BlockKind::Loop(repeated) => schema::BlockKind::Loop(Box::new(schema::Loop {
            symbol: text(&repeated.symbol),
            init: text(&repeated.init),
            condition: repeated.condition.to_string(),
            update: text(&repeated.update),
            test_after: repeated.test_after,
            unroll: repeated.unroll,
            body: region(sdfg, repeated.body, open),
        })),
        BlockKind::Branch(branch) => {
            let mut arm = |(condition, body): &(Expression, RegionId)| schema::Arm {
                condition: condition.to_string(),
                body: region(sdfg, *body, open),
            };
            schema::BlockKind::Branch(schema::Branch {
                arms: branch.arms.iter().map(&mut arm).collect(),
                otherwise: branch.otherwise.map(|body| region(sdfg, body, open)),
            })
        }
        BlockKind::Break => schema::BlockKind::Break,
        BlockKind::Continue => schema::BlockKind::Continue,
        BlockKind::Return => schema::BlockKind::Return,
    };
    schema::Block { label: block.label.clone(), kind }
}

fn state(sdfg: &Sdfg, id: StateId) -> schema::State {
    let Some(graph) = sdfg.get_state(id) else {
        return schema::State { nodes: Vec::new(), edges: Vec::new() };
    };
    let positions: BTreeMap<NodeId, usize> = graph.nodes().enumerate().map(|(i, (id, _))| (id, i)).collect();
    let nodes = graph
        .nodes()
        .map(|(_, node)| schema::Node {
            label: node.label.clone(),
            kind: node_kind(sdfg, &positions, &node.kind),
        })
        .collect();
    let edges = graph.edges().map(|(_, edge)| self::edge(sdfg, &positions, edge)).collect();
    schema::State { nodes, edges }
}

fn node_kind(sdfg: &Sdfg, positions: &BTreeMap<NodeId, usize>, kind: &NodeKind) -> schema::NodeKind {
    let exit = |entry: &NodeId| schema::ScopeExit { entry: positions.get(entry).copied().unwrap_or(NOWHERE) };
    match kind {
        NodeKind::Access(container) => schema::NodeKind::Access { container: name_of(sdfg, *container) },
        NodeKind::Tasklet(tasklet) => schema::NodeKind::Tasklet(self::tasklet(tasklet)),
        NodeKind::MapEntry(map) => schema::NodeKind::MapEntry(schema::Map {
            params: texts(&map.params),
            ranges: texts(&map.ranges.0),
            execution: execution(&map.schedule),
        }),
        NodeKind::MapExit(scope) => schema::NodeKind::MapExit(exit(&scope.entry)),
        NodeKind::ConsumeEntry(consume) => schema::NodeKind::ConsumeEntry(schema::Consume {
            element: consume.element.to_string(),
            elements: consume.elements.to_string(),
            chunk: consume.chunk.to_string(),
            condition: text(&consume.condition),
            execution: execution(&consume.schedule),
        }),
        NodeKind::ConsumeExit(scope) => schema::NodeKind::ConsumeExit(exit(&scope.entry)),
        NodeKind::Nested(nested) => schema::NodeKind::Nested(Box::new(schema::Nested {
            inputs: connectors(&nested.inputs),
            outputs: connectors(&nested.outputs),
            symbol_mapping: assignments(&nested.symbol_mapping),
            sdfg: self::sdfg(&nested.sdfg),
        })),
        NodeKind::Reduce(reduce) => schema::NodeKind::Reduce(schema::Reduce {
            axes: reduce.axes.clone(),
            resolution: resolution(&reduce.resolution),
            identity: text(&reduce.identity),
            schedule: reduce.schedule.name().to_owned(),
        }),
        NodeKind::Library(library) => schema::NodeKind::Library(schema::Library {
            operation: library.operation.clone(),
            inputs: connectors(&library.inputs),
            outputs: connectors(&library.outputs),
            properties: library
                .properties
                .iter()
                .map(|(name, value)| schema::Property { name: name.clone(), value: value.to_string() })
                .collect(),
            expansion: library.expansion.clone(),
        }),
    }
}

fn tasklet(tasklet: &Tasklet) -> schema::Tasklet {
    let body = match &tasklet.body {
        TaskletBody::Code(code) => schema::TaskletBody::Code(schema::Code {
            source: code.source().to_owned(),
            dialect: dialect_name(code.dialect()).to_owned(),
        }),
        TaskletBody::External(call) => schema::TaskletBody::External(schema::External {
            symbol: call.symbol.clone(),
            arguments: texts(&call.arguments),
            result: call.result.clone(),
            origin: match call.origin.clone() {
                ExternalOrigin::Library(name) => schema::Origin::Library(name),
                ExternalOrigin::File(path) => schema::Origin::File(path),
                ExternalOrigin::Source(text) => schema::Origin::Source(text),
                ExternalOrigin::Cpp(text) => schema::Origin::Cpp(text),
                ExternalOrigin::Callback => schema::Origin::Callback,
            },
        }),
    };
    schema::Tasklet { inputs: connectors(&tasklet.inputs), outputs: connectors(&tasklet.outputs), body }
}

fn connectors(connectors: &[Connector]) -> Vec<schema::Connector> {
    connectors
        .iter()
        .map(|connector| schema::Connector {
            name: connector.name.clone(),
            element: text(&connector.element),
        })
        .collect()
}

fn execution(schedule: &Schedule) -> schema::Execution {
    let attributes = schedule.attributes();
    schema::Execution {
        schedule: schedule.kind().name().to_owned(),
        sharing: attributes.sharing.map(|sharing| sharing.name().to_owned()),
        chunk: text(&attributes.chunk),
        threads: text(&attributes.threads),
        collapse: attributes.collapse,
        nested: text(&attributes.nested),
        block: attributes.block.map(|extents| extents.iter().map(ToString::to_string).collect()),
    }
}

fn edge(sdfg: &Sdfg, positions: &BTreeMap<NodeId, usize>, edge: &Edge) -> schema::Edge {
    let end = |node: &NodeId, connector: &Option<String>| schema::EdgeEnd {
        node: positions.get(node).copied().unwrap_or(NOWHERE),
        connector: connector.clone(),
    };
    schema::Edge {
        from: end(&edge.src, &edge.src_connector),
        to: end(&edge.dst, &edge.dst_connector),
        memlet: memlet(sdfg, &edge.memlet),
    }
}

fn memlet(sdfg: &Sdfg, memlet: &Memlet) -> schema::Memlet {
    let resolution = memlet.resolution().map(resolution);
    let access = |access: &Access| self::access(sdfg, access);
    let flow = match &memlet.flow {
        Flow::Order => schema::Flow::Order,
        Flow::Read(from) => schema::Flow::Read { from: access(from) },
        Flow::Write { to, .. } => schema::Flow::Write { to: access(to), resolution },
        Flow::Copy { from, to, .. } => schema::Flow::Copy { from: access(from), to: access(to), resolution },
        Flow::Value => schema::Flow::Value,
        Flow::Bind(to) => schema::Flow::Bind { to: access(to) },
    };
    let volume = match &memlet.volume {
        Volume::Exact(count) => schema::Volume::Exact(count.to_string()),
        Volume::AtMost(bound) => schema::Volume::AtMost(bound.to_string()),
        Volume::Dynamic => schema::Volume::Dynamic,
    };
    schema::Memlet { flow, volume, declared: memlet.declared }
}

fn access(sdfg: &Sdfg, access: &Access) -> schema::Access {
    let Subset(ranges) = access.subset();
    schema::Access {
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
