//! Resolution of nodes and copies: tasklets, scopes, calls, reductions and library nodes.

use std::collections::BTreeMap;

use sdfg_graph::analysis::symbols::free_symbols;
use sdfg_graph::analysis::{Device, TaskletConnectors, connector_edges};
use sdfg_graph::diagnostic::{Element, ElementPath, End};
use sdfg_graph::ir::{
    AccessedPart, Consume, ContainerId, ContainerKind, EdgeId, Flow, LibraryNode, NestedSdfg, NodeId,
    NodeKind, Port, Reduce, ScheduleKind, Tasklet, TaskletBody, Volume,
};
use sdfg_language::dtype::ElementType;
use sdfg_language::symbolic::Symbol;
use sdfg_language::syntax::{Expression, ExpressionKind, visit_block};
use sdfg_language::tasklet::{
    CompiledCode, Connector, ConnectorKind, Direction, ExternalArgument, TypedExpressionCode, typecheck,
    typecheck_external,
};

use super::super::index::{Index, RangeCode};
use super::super::program::{
    ArgumentCode, CallCode, ConnectorCode, ConsumeCode, CopyCode, CopySource, CountCode, ExternalCode,
    ExternalOperand, InputCode, ItemForm, LibraryCode, MapCode, Memory, OutputCode, PartCode, PopCode,
    ReduceCode, SymbolRead, TaskletCode, TaskletForm,
};
use super::ends::Accessing;
use super::{Context, ResolveError, Resolver, StateContext};

/// Processor of the scope of a schedule.
fn device_of(schedule: ScheduleKind, outside: Memory) -> Memory {
    match Device::of_schedule(schedule) {
        Some(Device::Gpu) => Memory::GPU,
        Some(Device::Fpga) => Memory::FPGA,
        Some(Device::Host) | None => outside,
    }
}

impl Resolver {
    /// Resolves a node; the answer also tells whether it may wait for a stream.
    pub(super) fn node(
        &mut self,
        context: &mut Context<'_>,
        inner: &mut StateContext<'_>,
        by: Accessing,
        id: NodeId,
    ) -> Result<(ItemForm, bool), ResolveError> {
        let node = inner.state.node(id);
        let path = inner.path.to(Element::Node(End::node(node.label.clone())));
        match &node.kind {
            NodeKind::Access(_) => Ok((ItemForm::Access, false)),
            NodeKind::Tasklet(tasklet) => self.tasklet(context, inner, by, id, tasklet, &path),
            NodeKind::MapEntry(map) => {
                let bound = context.bound.len();
                let reads = self.symbol_reads(context, inner, by, id)?;
                let (mut params, mut ranges) = (Vec::new(), Vec::new());
                for (param, range) in map.params.iter().zip(&map.ranges.0) {
                    ranges.push(RangeCode::new(range, &mut |symbol| context.slot(symbol)));
                    params.push(context.bind(param));
                }
                let on_ranks = map.schedule.kind() == ScheduleKind::Mpi;
                let body = self.body(context, inner, Some(id), device_of(map.schedule.kind(), by.device))?;
                context.bound.truncate(bound);
                let waits = self.program.bodies[body].waits_for_streams;
                Ok((ItemForm::Map(Box::new(MapCode { reads, params, ranges, on_ranks, body })), waits))
            }
            NodeKind::ConsumeEntry(consume) => {
                let port = Port::In(Consume::PORT);
                let Some(edge) = inner.state.edges_at(id, port).first() else {
                    let what = format!("a consume scope without a stream at `{port}`");
                    return Err(ResolveError::Malformed { path: Box::new(path), what });
                };
                let stream = self.read_end(context, inner, by, *edge)?;
                let register = context.new_register();
                inner.consumed.insert(id, register);
                let elements = context.index(&consume.elements);
                let bound = context.bound.len();
                let reads = self.symbol_reads(context, inner, by, id)?;
                let element = context.bind(&consume.element);
                let condition =
                    consume.condition.as_ref().map(|c| self.expression(context, c, &path)).transpose()?;
                let waits = condition.is_some();
                let body =
                    self.body(context, inner, Some(id), device_of(consume.schedule.kind(), by.device))?;
                context.bound.truncate(bound);
                let waits = waits || self.program.bodies[body].waits_for_streams;
                let code = ConsumeCode { reads, element, elements, condition, stream, register, body };
                Ok((ItemForm::Consume(Box::new(code)), waits))
            }
            NodeKind::Nested(nested) => self.call(context, inner, by, id, nested, &path),
            NodeKind::Reduce(reduce) => self.reduce(context, inner, by, id, reduce, &path),
            NodeKind::Library(library) => self.library(context, inner, by, id, library, &path),
            NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => Err(ResolveError::Malformed {
                path: Box::new(path),
                what: "an exit without an entry".to_owned(),
            }),
        }
    }

    fn tasklet(
        &mut self,
        context: &mut Context<'_>,
        inner: &mut StateContext<'_>,
        by: Accessing,
        id: NodeId,
        tasklet: &Tasklet,
        path: &ElementPath,
    ) -> Result<(ItemForm, bool), ResolveError> {
        let mut names = std::collections::BTreeSet::new();
        match &tasklet.body {
            TaskletBody::Code(code) => visit_block(code.block(), &mut |expression| {
                if let ExpressionKind::Name(name) = &expression.kind {
                    names.insert(name.as_str());
                }
            }),
            TaskletBody::External(call) => names.extend(call.arguments.iter().flat_map(|a| a.names())),
        }
        let symbols = context.visible_symbols(&names);
        let found = TaskletConnectors::of(context.sdfg, inner.state, id, tasklet, symbols);
        let (mut inputs, mut outputs, mut waits) = (Vec::new(), Vec::new(), false);
        for ((name, connector), edges) in found.environment.connectors().zip(&found.edges) {
            let connector_id = found.environment.connector(name).map(|(id, _)| id);
            let (name, element) = (name.to_owned(), connector.element);
            for edge in edges {
                self.check_element(context, inner, *edge, element)?;
            }
            match connector.direction {
                Direction::In => {
                    let (form, input_waits) =
                        self.input(context, inner, by, edges, connector, path, &name)?;
                    waits |= input_waits;
                    inputs.push(ConnectorCode { name, id: connector_id, element, form });
                }
                Direction::Out => {
                    let mut forms = Vec::with_capacity(edges.len());
                    for edge in edges {
                        let (form, output_waits) = self.output(context, inner, by, *edge, connector.kind)?;
                        waits |= output_waits;
                        forms.push(form);
                    }
                    let form = match forms.len() {
                        0 => OutputCode::Nothing,
                        1 => forms.remove(0),
                        _ => OutputCode::Several(forms),
                    };
                    outputs.push(ConnectorCode { name, id: connector_id, element, form });
                }
            }
        }
        let code_error = |errors| ResolveError::Code { path: Box::new(path.clone()), errors };
        let form = match &tasklet.body {
            TaskletBody::Code(code) => {
                let typed = typecheck(code, &found.environment).map_err(code_error)?;
                TaskletForm::Code(self.code(CompiledCode::new(&typed)))
            }
            TaskletBody::External(call) => {
                let typed = typecheck_external(call, &found.environment).map_err(code_error)?;
                let place = |id| {
                    let input = inputs.iter().position(|input| input.id == Some(id));
                    let output = outputs.iter().position(|output| output.id == Some(id));
                    input.map(ExternalOperand::Input).or(output.map(ExternalOperand::Output))
                };
                let mut arguments = Vec::new();
                for argument in typed.arguments {
                    match argument {
                        ExternalArgument::Pointer(id) => arguments.extend(place(id)),
                        ExternalArgument::Value(expression) => {
                            let environment = found.environment.clone();
                            let code = TypedExpressionCode { environment, expression };
                            let number = self.code(CompiledCode::of_expression(&code));
                            arguments.push(ExternalOperand::Value(number));
                        }
                    }
                }
                let result =
                    typed.result.and_then(|id| outputs.iter().position(|output| output.id == Some(id)));
                TaskletForm::External(Box::new(ExternalCode { call: call.clone(), arguments, result }))
            }
        };
        let symbols = context.symbol_codes(&found.environment);
        let accesses_memory = inputs.iter().any(|input| !input.form.is_value())
            || outputs.iter().any(|output| !output.form.is_value());
        let code = TaskletCode { inputs, outputs, form, symbols, accesses_memory };
        Ok((ItemForm::Tasklet(Box::new(code)), waits))
    }

    #[expect(clippy::too_many_arguments, reason = "the context of one connector, used in one place")]
    fn input(
        &mut self,
        context: &mut Context<'_>,
        inner: &mut StateContext<'_>,
        by: Accessing,
        edges: &[EdgeId],
        connector: &Connector,
        path: &ElementPath,
        name: &str,
    ) -> Result<(InputCode, bool), ResolveError> {
        let [edge] = edges else {
            let what = format!("connector `{name}` has {} edges instead of one", edges.len());
            return Err(ResolveError::Malformed { path: Box::new(path.clone()), what });
        };
        let is_queue = inner.state.edge(*edge).memlet.read_access().is_some_and(|access| access.is_queue());
        if is_queue && self.consumed_register(inner, *edge).is_none() {
            let end = self.read_end(context, inner, by, *edge)?;
            let is_value = connector.kind == ConnectorKind::Value;
            let count = match &inner.state.edge(*edge).memlet.volume {
                // A single value waits for its element, however the memlet bounds the number.
                Volume::AtMost(_) | Volume::Dynamic if is_value => CountCode::Exact(Index::Constant(1)),
                volume => count(context, volume),
            };
            return Ok((InputCode::Pop(Box::new(PopCode { end, count, is_value })), true));
        }
        let (form, _) = self.single_input(context, inner, by, *edge)?;
        Ok(match (form, connector.kind) {
            (InputCode::Value(end), ConnectorKind::Pointer { .. }) => (InputCode::Pointer(end), false),
            (InputCode::Register { register, .. }, ConnectorKind::Pointer { .. }) => {
                (InputCode::Register { register, is_value: false }, false)
            }
            (
                form,
                ConnectorKind::Pointer { .. }
                | ConnectorKind::Value
                | ConnectorKind::Stream
                | ConnectorKind::Queues { .. },
            ) => (form, false),
        })
    }

    /// Resolves one edge of an output; the answer also tells whether it may wait for room.
    fn output(
        &mut self,
        context: &mut Context<'_>,
        inner: &mut StateContext<'_>,
        by: Accessing,
        edge: EdgeId,
        kind: ConnectorKind,
    ) -> Result<(OutputCode, bool), ResolveError> {
        let memlet = &inner.state.edge(edge).memlet;
        match &memlet.flow {
            Flow::Value => Ok((OutputCode::Register(self.value_register(context, inner, edge)), false)),
            Flow::Order => Ok((OutputCode::Nothing, false)),
            Flow::Write { to, .. } => {
                let write = self.write_end(context, inner, by, edge)?;
                Ok(match (kind, &to.place) {
                    (_, AccessedPart::Queues(_)) => {
                        let waits = may_be_full(context, to.container);
                        let count = count(context, &memlet.volume);
                        (OutputCode::Push { end: write.end, count }, waits)
                    }
                    (ConnectorKind::Pointer { .. }, AccessedPart::Elements(_)) => {
                        (OutputCode::Pointer { write }, false)
                    }
                    (
                        ConnectorKind::Value | ConnectorKind::Stream | ConnectorKind::Queues { .. },
                        AccessedPart::Elements(_),
                    ) => (OutputCode::Value { write, required: !memlet.volume.is_dynamic() }, false),
                })
            }
            Flow::Read(_) | Flow::Copy { .. } | Flow::Bind(_) => {
                Err(self.malformed(inner, edge, "an edge out of a code node that does not write"))
            }
        }
    }

    /// Resolves a copy between containers.
    pub(super) fn copy(
        &mut self,
        context: &mut Context<'_>,
        inner: &mut StateContext<'_>,
        by: Accessing,
        edge: EdgeId,
    ) -> Result<(ItemForm, bool), ResolveError> {
        let memlet = &inner.state.edge(edge).memlet;
        let Flow::Copy { from, to, .. } = &memlet.flow else {
            return Err(self.malformed(inner, edge, "an edge that should copy"));
        };
        if let Some(container) = context.sdfg.get_container(to.container) {
            self.check_element(context, inner, edge, container.element)?;
        }
        let by = Accessing { is_copy: true, ..by };
        // The host starts copies between any two memories.
        let by = if by.device == Memory::HOST { Accessing { device: Memory::ANY, ..by } } else { by };
        let source = match self.consumed_register(inner, edge) {
            Some(register) => CopySource::Register(register),
            None if from.is_queue() => CopySource::Queue(self.read_end(context, inner, by, edge)?),
            None => CopySource::Elements(self.read_end(context, inner, by, edge)?),
        };
        let takes = matches!(source, CopySource::Queue(_));
        let count = count(context, &memlet.volume);
        let waits = takes && matches!(count, CountCode::Exact(_))
            || to.is_queue() && may_be_full(context, to.container);
        let to_queue = to.is_queue();
        let to = self.write_end(context, inner, by, edge)?;
        Ok((ItemForm::Copy(Box::new(CopyCode { from: source, to, to_queue, count })), waits))
    }

    fn call(
        &mut self,
        context: &mut Context<'_>,
        inner: &mut StateContext<'_>,
        by: Accessing,
        id: NodeId,
        nested: &NestedSdfg,
        path: &ElementPath,
    ) -> Result<(ItemForm, bool), ResolveError> {
        let procedure =
            self.procedure(&nested.sdfg, &inner.path.enter(&inner.state.node(id).label), by.device)?;
        let mut arguments = Vec::new();
        for (number, (_, container)) in nested.sdfg.containers().enumerate() {
            if !container.is_argument() {
                continue;
            }
            let out = connector_edges(inner.state, id, Direction::Out, &container.name);
            let into = connector_edges(inner.state, id, Direction::In, &container.name);
            for edge in out.iter().chain(&into) {
                self.check_element(context, inner, *edge, container.element)?;
            }
            let is_window =
                out.iter().chain(&into).any(|edge| inner.state.edge(*edge).memlet.volume.is_dynamic());
            let part = |end| ArgumentCode::Part(PartCode { end, is_window });
            let argument = match (out.first(), into.first()) {
                (Some(edge), _) => {
                    let memlet = &inner.state.edge(*edge).memlet;
                    if memlet.resolution().is_some() {
                        let path = self.edge_path(inner, *edge);
                        let what =
                            "a conflict resolution at the output of a nested SDFG; put it inside".to_owned();
                        return Err(ResolveError::Unsupported { path: Box::new(path), what });
                    }
                    match memlet.flow {
                        Flow::Value => ArgumentCode::Out(self.value_register(context, inner, *edge)),
                        Flow::Write { .. } => part(self.write_end(context, inner, by, *edge)?.end),
                        Flow::Order | Flow::Read(_) | Flow::Copy { .. } | Flow::Bind(_) => {
                            return Err(self.malformed(inner, *edge, "an output that does not write"));
                        }
                    }
                }
                (None, Some(edge)) => {
                    match (inner.state.edge(*edge).memlet.flow.clone(), self.consumed_register(inner, *edge))
                    {
                        (_, Some(register)) => ArgumentCode::In(register),
                        (Flow::Value, None) => ArgumentCode::In(self.value_register(context, inner, *edge)),
                        (_, None) => part(self.read_end(context, inner, by, *edge)?),
                    }
                }
                (None, None) => {
                    let what = format!("nothing is bound to container `{}`", container.name);
                    return Err(ResolveError::Malformed { path: Box::new(path.clone()), what });
                }
            };
            arguments.push((number, argument));
        }
        let (mut symbols, mut reads) = (Vec::new(), Vec::new());
        let globals: Vec<(u32, String)> = {
            let callee = &self.program.procedures[procedure];
            callee.globals.iter().map(|slot| (*slot, callee.symbols[*slot as usize].0.clone())).collect()
        };
        // What it only sets for itself is no symbol of the caller.
        let given = free_symbols(&nested.sdfg);
        for (slot, name) in globals {
            let mapped = nested.symbol_mapping.iter().find(|(symbol, _)| symbol.as_str() == name);
            let edges = connector_edges(inner.state, id, Direction::In, &name);
            if let Some((_, value)) = mapped {
                symbols.push((slot, context.index(value)));
            } else if let (Some(edge), None) = (edges.first(), nested.sdfg.find_container(&name)) {
                let (from, element) = self.single_input(context, inner, by, *edge)?;
                reads.push(SymbolRead { slot, element, from });
            } else if let Some(symbol) = Symbol::new(&name).ok().filter(|symbol| given.contains(symbol)) {
                symbols.push((slot, Index::Offset(context.slot(&symbol), 0)));
            }
        }
        let waits = self.program.procedures[procedure].waits_for_streams;
        Ok((ItemForm::Call(Box::new(CallCode { procedure, symbols, reads, arguments })), waits))
    }

    fn reduce(
        &mut self,
        context: &mut Context<'_>,
        inner: &mut StateContext<'_>,
        by: Accessing,
        id: NodeId,
        reduce: &Reduce,
        path: &ElementPath,
    ) -> Result<(ItemForm, bool), ResolveError> {
        let reads = |edge: &&EdgeId| inner.state.edge(**edge).memlet.read_access().is_some();
        let writes = |edge: &&EdgeId| inner.state.edge(**edge).memlet.write_access().is_some();
        let (into, out) = (inner.state.in_edges(id), inner.state.out_edges(id));
        let (Some(read), Some(write)) = (into.iter().find(reads), out.iter().find(writes)) else {
            let what = "a reduction without an input or an output".to_owned();
            return Err(ResolveError::Malformed { path: Box::new(path.clone()), what });
        };
        let from = self.read_end(context, inner, by, *read)?;
        let to = self.write_end(context, inner, by, *write)?;
        let output = inner.state.edge(*write).memlet.write_access().map(|access| access.container);
        let element: ElementType = match output {
            Some(container) => context.sdfg.container(container).element,
            None => return Err(self.malformed(inner, *write, "an output that does not write")),
        };
        self.check_element(context, inner, *read, element)?;
        let reduced = |axis: usize| reduce.axes.as_ref().is_none_or(|axes| axes.contains(&axis));
        let axes = (0..from.subset.ranges.len()).map(reduced).collect();
        let resolution = self.resolution(&reduce.resolution, element, path)?;
        let identity = reduce.identity.as_ref().map(|i| self.expression(context, i, path)).transpose()?;
        let code = ReduceCode { from, to, axes, resolution, identity, element };
        Ok((ItemForm::Reduce(Box::new(code)), false))
    }

    fn library(
        &mut self,
        context: &mut Context<'_>,
        inner: &mut StateContext<'_>,
        by: Accessing,
        id: NodeId,
        library: &LibraryNode,
        path: &ElementPath,
    ) -> Result<(ItemForm, bool), ResolveError> {
        let element =
            |context: &Context<'_>, container: ContainerId| context.sdfg.container(container).element;
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for connector in &library.inputs {
            let edges = connector_edges(inner.state, id, Direction::In, &connector.name);
            let Some(edge) = edges.first() else { continue };
            let end = self.read_end(context, inner, by, *edge)?;
            let Some(access) = inner.state.edge(*edge).memlet.read_access() else { continue };
            let element = element(context, access.container);
            let name = connector.name.clone();
            inputs.push(ConnectorCode { name, id: None, element, form: InputCode::Pointer(end) });
        }
        for connector in &library.outputs {
            let edges = connector_edges(inner.state, id, Direction::Out, &connector.name);
            let Some(edge) = edges.first() else { continue };
            let write = self.write_end(context, inner, by, *edge)?;
            let Some(access) = inner.state.edge(*edge).memlet.write_access() else { continue };
            let element = element(context, access.container);
            let name = connector.name.clone();
            outputs.push(ConnectorCode { name, id: None, element, form: OutputCode::Pointer { write } });
        }
        let (mut computed, mut symbols) = (Vec::new(), BTreeMap::new());
        for (index, (property, value)) in library.properties.iter().enumerate() {
            let names = value.names();
            if LibraryNode::assigned(property).is_some() {
                let free = names.into_iter().filter(|name| !library.binds(name)).collect();
                for (name, _) in context.visible_symbols(&free) {
                    let value = self.expression(context, &Expression::name(name.as_str()), path)?;
                    symbols.insert(name, value);
                }
                continue;
            }
            // A name that is no symbol is a word that the operation knows.
            if !names.is_empty() && context.visible_symbols(&names).len() == names.len() {
                computed.push((index, self.expression(context, value, path)?));
            }
        }
        let code = LibraryCode {
            node: library.clone(),
            computed,
            symbols: symbols.into_iter().collect(),
            inputs,
            outputs,
        };
        Ok((ItemForm::Library(Box::new(code)), false))
    }
}

/// A volume with its symbols resolved.
fn count(context: &mut Context<'_>, volume: &Volume) -> CountCode {
    match volume {
        Volume::Exact(count) => CountCode::Exact(context.index(count)),
        Volume::AtMost(bound) => CountCode::AtMost(context.index(bound)),
        Volume::Dynamic => CountCode::Any,
    }
}

/// Whether a push to a stream may have to wait; of an argument only the caller knows.
fn may_be_full(context: &Context<'_>, container: ContainerId) -> bool {
    let container = context.sdfg.container(container);
    match &container.kind {
        ContainerKind::Stream { capacity, .. } => capacity.is_some() || !container.transient,
        ContainerKind::Scalar
        | ContainerKind::Array(_)
        | ContainerKind::View(_)
        | ContainerKind::Reference(_) => false,
    }
}
