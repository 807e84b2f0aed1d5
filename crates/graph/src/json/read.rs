//! Converts the wire schema to the graph. This module checks every name, position and text, and tracks the
//! path of the current field for messages.

use sdfg_language::dtype::{ElementType, ScalarType};
use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::syntax::{Expression, ParseError, parse_expression, parse_index_list, parse_lambda};
use sdfg_language::tasklet::{Code, Dialect, ExternalCall, ExternalOrigin};

use super::error::{JsonError, JsonProblem};
use super::schema;
use crate::ir::ids::Id;
use crate::ir::sdfg::FloatMode;
use crate::ir::{
    Access, Block, BlockId, BlockKind, Blocks, Branch, ConflictResolution, Connector, Consume, Container,
    ContainerKind, Cut, Distribution, Edge, Flow, Layout, LibraryNode, Lifetime, Loop, Map, Memlet,
    NestedSdfg, Node, NodeId, NodeKind, OpenMpSchedule, Parts, Reduce, RegionId, Schedule,
    ScheduleAttributes, ScheduleKind, ScopeExit, Sdfg, State, Storage, Tasklet, TaskletBody, Transition,
    Volume,
};
use crate::path::closest;
use crate::text::dialect_name;
use crate::text::parse_value;

type Read<T> = Result<T, JsonError>;

/// The graph of a document.
pub(super) fn sdfg(document: &schema::Document) -> Read<Sdfg> {
    Reader { version: document.version, path: vec!["sdfg".to_owned()] }.sdfg(&document.sdfg)
}

/// The fields on the way to the one that is being read. An error ends reading, so only success takes a field back.
struct Reader {
    /// The version of the document.
    version: u64,
    path: Vec<String>,
}

impl Reader {
    fn problem<T>(&self, problem: JsonProblem) -> Read<T> {
        Err(JsonError::Content { path: self.path.join("."), problem })
    }

    /// Reads what is in a field.
    fn field<T>(&mut self, name: impl Into<String>, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        self.path.push(name.into());
        let value = read(self)?;
        self.path.pop();
        Ok(value)
    }

    /// Reads every item of a list.
    fn list<T, U>(
        &mut self,
        name: &str,
        items: &[T],
        mut read: impl FnMut(&mut Self, &T) -> Read<U>,
    ) -> Read<Vec<U>> {
        let read_item =
            |(i, item): (usize, &T)| self.field(format!("{name}[{i}]"), |reader| read(reader, item));
        items.iter().enumerate().map(read_item).collect()
    }

    fn cut(&mut self, wire: &schema::Cut) -> Read<Cut> {
        let parts = match &wire.parts {
            schema::Parts::Equal => Parts::Equal,
            schema::Parts::Balanced => Parts::Balanced(None),
            schema::Parts::Within(range) => Parts::Balanced(Some(self.pair("parts.within", range)?)),
            schema::Parts::Starts(starts) => {
                Parts::Starts(self.texts("parts.starts", starts, Self::symbolic)?)
            }
        };
        let mut cut = Cut::new(wire.along, parts);
        if let Some(halo) = &wire.halo {
            cut.halo = self.pair("halo", halo)?;
        }
        Ok(cut)
    }

    fn pair(&mut self, name: &str, [first, second]: &[String; 2]) -> Read<[Expr; 2]> {
        let mut item =
            |index: usize, text: &str| self.field(format!("{name}[{index}]"), |reader| reader.symbolic(text));
        Ok([item(0, first)?, item(1, second)?])
    }

    /// Reads every text of a list.
    fn texts<U>(
        &mut self,
        name: &str,
        items: &[String],
        mut read: impl FnMut(&mut Self, &str) -> Read<U>,
    ) -> Read<Vec<U>> {
        self.list(name, items, |reader, item| read(reader, item))
    }

    /// Reads a text that may be absent.
    fn optional<U>(
        &mut self,
        name: &str,
        item: Option<&str>,
        read: impl FnOnce(&mut Self, &str) -> Read<U>,
    ) -> Read<Option<U>> {
        item.map(|item| self.field(name, |reader| read(reader, item))).transpose()
    }

    fn word<T: Clone>(
        &self,
        what: &'static str,
        word: &str,
        all: &[T],
        name_of: impl Fn(&T) -> &'static str,
    ) -> Read<T> {
        match all.iter().find(|item| name_of(item) == word) {
            Some(item) => Ok(item.clone()),
            None => {
                let known = all.iter().map(name_of).collect();
                self.problem(JsonProblem::UnknownWord { what, word: word.to_owned(), known })
            }
        }
    }

    fn syntax<T>(&self, what: &'static str, text: &str, parsed: Result<T, Vec<ParseError>>) -> Read<T> {
        parsed.or_else(|errors| self.problem(JsonProblem::Syntax { what, text: text.to_owned(), errors }))
    }

    fn expression(&mut self, text: &str) -> Read<Expression> {
        self.syntax("expression", text, parse_expression(text))
    }

    fn symbolic(&mut self, text: &str) -> Read<Expr> {
        let expression = self.expression(text)?;
        Expr::from_expression(&expression).or_else(|error| {
            let reason = error.kind.to_string();
            self.problem(JsonProblem::NotSymbolic { text: text.to_owned(), reason })
        })
    }

    fn symbol(&mut self, name: &str) -> Read<Symbol> {
        Symbol::new(name).or_else(|_| self.problem(JsonProblem::InvalidSymbol { name: name.to_owned() }))
    }

    fn range(&mut self, text: &str) -> Read<Range> {
        let indices = self.syntax("range", text, parse_index_list(text))?;
        let [index] = indices.as_slice() else {
            return self.problem(JsonProblem::Syntax {
                what: "single range",
                text: text.to_owned(),
                errors: Vec::new(),
            });
        };
        Range::from_syntax(index, None).or_else(|error| {
            let reason = error.kind.to_string();
            self.problem(JsonProblem::NotSymbolic { text: text.to_owned(), reason })
        })
    }

    fn element(&mut self, text: &str) -> Read<ElementType> {
        text.parse().or_else(|_| {
            let known = ScalarType::ALL.iter().map(|ty| ty.name()).collect();
            self.problem(JsonProblem::UnknownWord { what: "type", word: text.to_owned(), known })
        })
    }

    fn resolution(&mut self, text: &str) -> Read<ConflictResolution> {
        if text.starts_with("lambda") {
            let lambda = self.syntax("conflict resolution", text, parse_lambda(text))?;
            return Ok(ConflictResolution::Custom(lambda));
        }
        self.word("conflict resolution", text, &ConflictResolution::NAMED, ConflictResolution::name)
    }

    fn sdfg(&mut self, wire: &schema::Sdfg) -> Read<Sdfg> {
        let mut sdfg = Sdfg::new(wire.name.clone());
        sdfg.float_mode = self.field("float_mode", |reader| {
            reader.word("floating-point mode", &wire.float_mode, &FloatMode::ALL, |mode| mode.name())
        })?;
        self.list("symbols", &wire.symbols, |reader, declaration| {
            let symbol = reader.field("name", |reader| reader.symbol(&declaration.name))?;
            if sdfg.symbol_type(&symbol).is_some() {
                return reader.problem(JsonProblem::DuplicateName { name: symbol.to_string() });
            }
            let ty = reader.field("type", |reader| {
                reader.word("type of symbols", &declaration.ty, &ScalarType::ALL, |ty| ty.name())
            })?;
            sdfg.declare_symbol(symbol, ty);
            Ok(())
        })?;
        self.list("containers", &wire.containers, |reader, container| {
            let container = reader.container(container)?;
            let taken = sdfg.find_container(&container.name).is_some()
                || sdfg.symbols().any(|(symbol, _)| symbol.as_str() == container.name);
            if taken {
                return reader.problem(JsonProblem::DuplicateName { name: container.name });
            }
            sdfg.add_container(container);
            Ok(())
        })?;
        let body = sdfg.body();
        self.field("body", |reader| reader.region(&mut sdfg, body, &wire.body))?;
        Ok(sdfg)
    }

    fn container(&mut self, wire: &schema::Container) -> Read<Container> {
        let element = self.field("element", |reader| reader.element(&wire.element))?;
        let kind = self.field("kind", |reader| {
            Ok(match &wire.kind {
                schema::ContainerKind::Scalar => ContainerKind::Scalar,
                schema::ContainerKind::Array(layout) => ContainerKind::Array(reader.layout(layout)?),
                schema::ContainerKind::Stream(stream) => ContainerKind::Stream {
                    shape: reader.texts("shape", &stream.shape, Self::symbolic)?,
                    capacity: reader.optional("capacity", stream.capacity.as_deref(), Self::symbolic)?,
                },
                schema::ContainerKind::View(layout) => ContainerKind::View(reader.layout(layout)?),
                schema::ContainerKind::Reference(layout) => ContainerKind::Reference(reader.layout(layout)?),
            })
        })?;
        let mut container = Container::new(wire.name.clone(), element, kind);
        container.transient = wire.transient;
        let storage = self.optional("storage", wire.storage.as_deref(), |reader, word| {
            reader.word("storage", word, &Storage::ALL, |storage| storage.name())
        })?;
        container.storage = storage.unwrap_or_default();
        let lifetime = self.optional("lifetime", wire.lifetime.as_deref(), |reader, word| {
            reader.word("lifetime", word, &Lifetime::ALL, |lifetime| lifetime.name())
        })?;
        container.lifetime = lifetime.unwrap_or_default();
        container.distribution = match &wire.distribution {
            None => Distribution::Replicated,
            Some(schema::Distribution::Local) => Distribution::Local,
            Some(schema::Distribution::Block { grid }) => {
                Distribution::block(self.texts("distribution.block.grid", grid, Self::symbolic)?)
            }
            Some(schema::Distribution::Grid { grid, cuts }) => Distribution::Blocks(Blocks {
                grid: self.texts("distribution.grid.grid", grid, Self::symbolic)?,
                cuts: self.list("distribution.grid.cuts", cuts, |reader, cut| {
                    cut.as_ref().map(|cut| reader.cut(cut)).transpose()
                })?,
            }),
        };
        if let Some(values) = &wire.constant {
            let ty = element.lane();
            container.constant = Some(self.list("constant", values, |reader, text| {
                match parse_value(ty, text) {
                    Some(value) => Ok(value),
                    None => reader
                        .problem(JsonProblem::InvalidValue { text: text.to_owned(), ty: ty.to_string() }),
                }
            })?);
        }
        Ok(container)
    }

    fn layout(&mut self, wire: &schema::Layout) -> Read<Layout> {
        Ok(Layout {
            shape: self.texts("shape", &wire.shape, Self::symbolic)?,
            strides: self.texts("strides", &wire.strides, Self::symbolic)?,
            offset: self.field("offset", |reader| reader.symbolic(&wire.offset))?,
            total_size: self.field("total_size", |reader| reader.symbolic(&wire.total_size))?,
        })
    }

    /// Fills an empty region.
    fn region(&mut self, sdfg: &mut Sdfg, region: RegionId, wire: &schema::Region) -> Read<()> {
        let blocks = self.list("blocks", &wire.blocks, |reader, block| reader.block(sdfg, region, block))?;
        self.list("transitions", &wire.transitions, |reader, wire| {
            let transition = Transition {
                src: reader.field("from", |reader| reader.position("block", &blocks, wire.from))?,
                dst: reader.field("to", |reader| reader.position("block", &blocks, wire.to))?,
                condition: reader.optional("condition", wire.condition.as_deref(), Self::expression)?,
                assignments: reader.assignments("assignments", &wire.assignments, Self::expression)?,
                loc: None,
            };
            sdfg.add_transition(transition);
            Ok(())
        })?;
        if let Some(start) = wire.start {
            let start = self.field("start", |reader| reader.position("block", &blocks, start))?;
            sdfg.region_mut(region).start = Some(start);
        }
        Ok(())
    }

    fn position<T: Copy>(&self, what: &'static str, items: &[T], index: usize) -> Read<T> {
        match items.get(index) {
            Some(item) => Ok(*item),
            None => self.problem(JsonProblem::NoSuchIndex { what, index, count: items.len() }),
        }
    }

    fn assignments<T>(
        &mut self,
        name: &str,
        wire: &[schema::Assignment],
        mut read: impl FnMut(&mut Self, &str) -> Read<T>,
    ) -> Read<Vec<(Symbol, T)>> {
        self.list(name, wire, |reader, assignment| {
            let symbol = reader.field("symbol", |reader| reader.symbol(&assignment.symbol))?;
            Ok((symbol, reader.field("value", |reader| read(reader, &assignment.value))?))
        })
    }

    fn block(&mut self, sdfg: &mut Sdfg, region: RegionId, wire: &schema::Block) -> Read<BlockId> {
        let kind = match &wire.kind {
            schema::BlockKind::State(state) => {
                let graph = self.field("kind.state", |reader| reader.state(sdfg, &wire.label, state))?;
                return Ok(sdfg.add_state(region, graph).0);
            }
            schema::BlockKind::Loop(repeated) => {
                self.field("kind.loop", |reader| Ok(BlockKind::Loop(reader.loop_block(sdfg, repeated)?)))?
            }
            schema::BlockKind::Branch(branch) => {
                self.field("kind.branch", |reader| Ok(BlockKind::Branch(reader.branch(sdfg, branch)?)))?
            }
            schema::BlockKind::Break => BlockKind::Break,
            schema::BlockKind::Continue => BlockKind::Continue,
            schema::BlockKind::Return => BlockKind::Return,
        };
        Ok(sdfg.add_block(region, Block { label: wire.label.clone(), kind, region, loc: None }))
    }

    fn loop_block(&mut self, sdfg: &mut Sdfg, wire: &schema::Loop) -> Read<Loop> {
        Ok(Loop {
            symbol: self.optional("symbol", wire.symbol.as_deref(), Self::symbol)?,
            init: self.optional("init", wire.init.as_deref(), Self::expression)?,
            condition: self.field("condition", |reader| reader.expression(&wire.condition))?,
            update: self.optional("update", wire.update.as_deref(), Self::expression)?,
            test_after: wire.test_after,
            unroll: wire.unroll,
            body: self.inner_region(sdfg, "body", &wire.body)?,
        })
    }

    fn branch(&mut self, sdfg: &mut Sdfg, wire: &schema::Branch) -> Read<Branch> {
        let arms = self.list("arms", &wire.arms, |reader, arm| {
            let condition = reader.field("condition", |reader| reader.expression(&arm.condition))?;
            Ok((condition, reader.inner_region(sdfg, "body", &arm.body)?))
        })?;
        let otherwise = match &wire.otherwise {
            Some(region) => Some(self.inner_region(sdfg, "otherwise", region)?),
            None => None,
        };
        Ok(Branch { arms, otherwise })
    }

    fn inner_region(&mut self, sdfg: &mut Sdfg, name: &str, wire: &schema::Region) -> Read<RegionId> {
        let region = sdfg.add_region();
        self.field(name, |reader| reader.region(sdfg, region, wire))?;
        Ok(region)
    }

    fn state(&mut self, sdfg: &Sdfg, label: &str, wire: &schema::State) -> Read<State> {
        let mut graph = State::new(label);
        let count = wire.nodes.len();
        let nodes = self.list("nodes", &wire.nodes, |reader, node| {
            let kind = reader.field("kind", |reader| reader.node_kind(sdfg, count, &node.kind))?;
            Ok(graph.add_node(Node { label: node.label.clone(), kind, loc: None }))
        })?;
        self.list("edges", &wire.edges, |reader, wire| {
            let edge = Edge {
                src: reader.field("from.node", |reader| reader.position("node", &nodes, wire.from.node))?,
                src_connector: wire.from.connector.clone(),
                dst: reader.field("to.node", |reader| reader.position("node", &nodes, wire.to.node))?,
                dst_connector: wire.to.connector.clone(),
                memlet: reader.field("memlet", |reader| reader.memlet(sdfg, &wire.memlet))?,
                loc: None,
            };
            graph.add_edge(edge);
            Ok(())
        })?;
        Ok(graph)
    }

    /// A node of a state with `count` nodes, whose ids are their positions.
    fn node_kind(&mut self, sdfg: &Sdfg, count: usize, wire: &schema::NodeKind) -> Read<NodeKind> {
        let exit = |reader: &Self, scope: &schema::ScopeExit| {
            if scope.entry < count {
                return Ok(ScopeExit { entry: NodeId::from_index(scope.entry) });
            }
            reader.problem(JsonProblem::NoSuchIndex { what: "node", index: scope.entry, count })
        };
        Ok(match wire {
            schema::NodeKind::Access { container } => NodeKind::Access(
                self.field("access.container", |reader| reader.container_id(sdfg, container))?,
            ),
            schema::NodeKind::Tasklet(wire) => {
                self.field("tasklet", |reader| Ok(NodeKind::Tasklet(reader.tasklet(wire)?)))?
            }
            schema::NodeKind::MapEntry(wire) => self.field("map_entry", |reader| {
                let schedule = reader.execution(&wire.execution)?;
                Ok(NodeKind::MapEntry(Map {
                    params: reader.texts("params", &wire.params, Self::symbol)?,
                    ranges: Subset(reader.texts("ranges", &wire.ranges, Self::range)?),
                    schedule,
                }))
            })?,
            schema::NodeKind::MapExit(wire) => {
                self.field("map_exit.entry", |reader| Ok(NodeKind::MapExit(exit(reader, wire)?)))?
            }
            schema::NodeKind::ConsumeEntry(wire) => self.field("consume_entry", |reader| {
                let schedule = reader.execution(&wire.execution)?;
                Ok(NodeKind::ConsumeEntry(Consume {
                    element: reader.field("element", |reader| reader.symbol(&wire.element))?,
                    elements: reader.field("elements", |reader| reader.symbolic(&wire.elements))?,
                    chunk: reader.field("chunk", |reader| reader.symbolic(&wire.chunk))?,
                    condition: reader.optional("condition", wire.condition.as_deref(), Self::expression)?,
                    schedule,
                }))
            })?,
            schema::NodeKind::ConsumeExit(wire) => {
                self.field("consume_exit.entry", |reader| Ok(NodeKind::ConsumeExit(exit(reader, wire)?)))?
            }
            schema::NodeKind::Nested(wire) => self.field("nested", |reader| {
                Ok(NodeKind::Nested(Box::new(NestedSdfg {
                    inputs: reader.list("inputs", &wire.inputs, Self::connector)?,
                    outputs: reader.list("outputs", &wire.outputs, Self::connector)?,
                    symbol_mapping: reader.assignments(
                        "symbol_mapping",
                        &wire.symbol_mapping,
                        Self::symbolic,
                    )?,
                    sdfg: reader.field("sdfg", |reader| reader.sdfg(&wire.sdfg))?,
                })))
            })?,
            schema::NodeKind::Reduce(wire) => self.field("reduce", |reader| {
                Ok(NodeKind::Reduce(Reduce {
                    axes: wire.axes.clone(),
                    resolution: reader.field("resolution", |reader| reader.resolution(&wire.resolution))?,
                    identity: reader.optional("identity", wire.identity.as_deref(), Self::expression)?,
                    schedule: reader.schedule(&wire.schedule)?,
                }))
            })?,
            schema::NodeKind::Library(wire) => self.field("library", |reader| {
                Ok(NodeKind::Library(LibraryNode {
                    operation: wire.operation.clone(),
                    inputs: reader.list("inputs", &wire.inputs, Self::connector)?,
                    outputs: reader.list("outputs", &wire.outputs, Self::connector)?,
                    properties: reader.list("properties", &wire.properties, |reader, property| {
                        let value = reader.field("value", |reader| reader.expression(&property.value))?;
                        Ok((property.name.clone(), value))
                    })?,
                    expansion: wire.expansion.clone(),
                }))
            })?,
        })
    }

    fn container_id(&mut self, sdfg: &Sdfg, name: &str) -> Read<crate::ir::ContainerId> {
        match sdfg.find_container(name) {
            Some(id) => Ok(id),
            None => {
                let similar = closest(name, sdfg.containers().map(|(_, container)| container.name.as_str()));
                let similar = similar.map(str::to_owned);
                self.problem(JsonProblem::UnknownContainer { name: name.to_owned(), similar })
            }
        }
    }

    fn tasklet(&mut self, wire: &schema::Tasklet) -> Read<Tasklet> {
        let inputs = self.list("inputs", &wire.inputs, Self::connector)?;
        let outputs = self.list("outputs", &wire.outputs, Self::connector)?;
        let body = self.field("body", |reader| match &wire.body {
            schema::TaskletBody::Code(code) => {
                let dialects = [Dialect::Python, Dialect::C];
                let dialect = reader.word("dialect", &code.dialect, &dialects, |d| dialect_name(*d))?;
                let code = reader.syntax("code", &code.source, Code::parse(&code.source, dialect))?;
                Ok(TaskletBody::Code(code))
            }
            schema::TaskletBody::External(call) => Ok(TaskletBody::External(ExternalCall {
                symbol: call.symbol.clone(),
                arguments: reader.texts("external.arguments", &call.arguments, Self::expression)?,
                result: call.result.clone(),
                origin: match &call.origin {
                    schema::Origin::Library(name) => ExternalOrigin::Library(name.clone()),
                    schema::Origin::File(path) => ExternalOrigin::File(path.clone()),
                    schema::Origin::Source(text) => ExternalOrigin::Source(text.clone()),
                    schema::Origin::Cpp(text) => ExternalOrigin::Cpp(text.clone()),
                    schema::Origin::Callback => ExternalOrigin::Callback,
                },
            })),
        })?;
        Ok(Tasklet { inputs, outputs, body })
    }

    fn connector(&mut self, wire: &schema::Connector) -> Read<Connector> {
        let element = self.optional("element", wire.element.as_deref(), Self::element)?;
        Ok(Connector { name: wire.name.clone(), element })
    }

    fn execution(&mut self, wire: &schema::Execution) -> Read<Schedule> {
        self.field("execution", |reader| {
            let kind = reader.schedule(&wire.schedule)?;
            let sharing = reader.optional("sharing", wire.sharing.as_deref(), |reader, word| {
                reader.word("kind of sharing", word, &OpenMpSchedule::ALL, |sharing| sharing.name())
            })?;
            let chunk = reader.optional("chunk", wire.chunk.as_deref(), Self::symbolic)?;
            let threads = reader.optional("threads", wire.threads.as_deref(), Self::symbolic)?;
            let block = match &wire.block {
                Some(extents) => Some(reader.texts("block", extents, Self::symbolic)?),
                None => None,
            };
            let nested = reader.optional("nested", wire.nested.as_deref(), Self::symbolic)?;
            let attributes =
                ScheduleAttributes { sharing, chunk, threads, collapse: wire.collapse, nested, block };
            match Schedule::with(kind, attributes) {
                Ok(schedule) => Ok(schedule),
                // Until version 2, every schedule had the attributes of a team, which meant nothing elsewhere.
                Err(_) if reader.version == 1 && wire.block.is_none() => Ok(kind.into()),
                Err(foreign) => reader.problem(JsonProblem::ForeignAttribute(foreign)),
            }
        })
    }

    fn schedule(&mut self, word: &str) -> Read<ScheduleKind> {
        self.field("schedule", |reader| {
            reader.word("schedule", word, &ScheduleKind::ALL, |schedule| schedule.name())
        })
    }

    fn memlet(&mut self, sdfg: &Sdfg, wire: &schema::Memlet) -> Read<Memlet> {
        let flow = self.field("flow", |reader| {
            Ok(match &wire.flow {
                schema::Flow::Order => Flow::Order,
                schema::Flow::Read { from } => Flow::Read(reader.access(sdfg, "read.from", from)?),
                schema::Flow::Write { to, resolution } => Flow::Write {
                    to: reader.access(sdfg, "write.to", to)?,
                    resolution: reader.optional(
                        "write.resolution",
                        resolution.as_deref(),
                        Self::resolution,
                    )?,
                },
                schema::Flow::Copy { from, to, resolution } => Flow::Copy {
                    from: reader.access(sdfg, "copy.from", from)?,
                    to: reader.access(sdfg, "copy.to", to)?,
                    resolution: reader.optional(
                        "copy.resolution",
                        resolution.as_deref(),
                        Self::resolution,
                    )?,
                },
                schema::Flow::Value => Flow::Value,
                schema::Flow::Bind { to } => Flow::Bind(reader.access(sdfg, "bind.to", to)?),
            })
        })?;
        let volume = self.field("volume", |reader| {
            Ok(match &wire.volume {
                schema::Volume::Exact(text) => Volume::Exact(reader.symbolic(text)?),
                schema::Volume::AtMost(text) => Volume::AtMost(reader.symbolic(text)?),
                schema::Volume::Dynamic => Volume::Dynamic,
            })
        })?;
        Ok(Memlet { flow, volume, declared: wire.declared })
    }

    fn access(&mut self, sdfg: &Sdfg, name: &str, wire: &schema::Access) -> Read<Access> {
        self.field(name, |reader| {
            let container = reader.field("container", |reader| reader.container_id(sdfg, &wire.container))?;
            let subset = Subset(reader.texts("subset", &wire.subset, Self::range)?);
            Ok(if wire.queues {
                Access::queues(container, subset)
            } else {
                Access::elements(container, subset)
            })
        })
    }
}
