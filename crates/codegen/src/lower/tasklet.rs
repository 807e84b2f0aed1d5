//! Tasklets: the binding of each connector.

use std::collections::BTreeSet;

use sdfg::analysis::TaskletConnectors;
use sdfg::dtype::ElementType;
use sdfg::ir::{ConflictResolution, Edge, EdgeId, Flow, Node, NodeId, State, Tasklet, TaskletBody};
use sdfg::symbolic::Expr;
use sdfg::syntax::Expression;
use sdfg::tasklet::{
    ConnectorId, ConnectorKind, Direction, Environment, ExternalArgument as TypedArgument, ExternalCall,
    ExternalOrigin, TypeError, TypedExpressionCode, typecheck, typecheck_external, typecheck_function,
};

use super::Lowering;
use super::access::AccessKind;
use super::buffer_view::{Axis, BufferView};
use super::call_frame::CallFrame;
use super::error::LowerError;
use super::fan_out::add_output;
use super::memory::{Brackets, RootShape};
use crate::plan::{
    Allocation, Binding, Buffer, Check, Compute, Copy, ExternalArgument, ExternalCompute, Location,
    Realisation, Resolved, Scalar, Statement,
};

impl<'g> Lowering<'g> {
    /// Statements of a tasklet.
    pub(super) fn tasklet(
        &mut self,
        frame: &mut CallFrame<'g>,
        state: &'g State,
        id: NodeId,
        node: &'g Node,
        tasklet: &'g Tasklet,
    ) -> Result<Vec<Statement>, LowerError> {
        let symbols = match &tasklet.body {
            TaskletBody::Code(code) => {
                let (read, assigned) = (code.names_read(), code.names_assigned());
                self.symbols_in_scope(frame, |name| read.contains(name) || assigned.contains(name))
            }
            TaskletBody::External(call) => {
                let read: BTreeSet<&str> = call.arguments.iter().flat_map(Expression::names).collect();
                self.symbols_in_scope(frame, |name| read.contains(name))
            }
        };
        let connectors = TaskletConnectors::of(frame.sdfg, state, id, tasklet, symbols);
        let mut bindings = Vec::with_capacity(connectors.edges.len());
        let mut checks = Vec::with_capacity(connectors.edges.len());
        // The edges of outputs after their first ones.
        let mut others = Vec::new();
        // What is taken from streams before the code runs.
        let mut brackets = Brackets::default();
        for ((name, connector), edges) in connectors.environment.connectors().zip(&connectors.edges) {
            let mut edges = edges.iter().copied();
            let first = edges.next().ok_or_else(|| LowerError::Invalid {
                what: format!("connector `{name}` is not connected"),
                path: frame.at(&node.label),
            })?;
            let (kind, element) = (connector.kind, connector.element);
            bindings.push(match connector.direction {
                Direction::In => {
                    self.input(frame, (state, first), kind, element, &node.label, &mut brackets)?
                }
                Direction::Out => self.output(frame, state.edge(first), kind, element, &node.label)?,
            });
            checks.push(self.checks.pop());
            for edge in edges {
                if kind != ConnectorKind::Value {
                    return Err(unsupported(frame, "a pointer output with several edges", &node.label));
                }
                let binding = self.output(frame, state.edge(edge), kind, element, &node.label)?;
                let check = self.checks.pop();
                others.extend(connectors.environment.connector(name).map(|(id, _)| (id, binding, check)));
            }
        }
        let symbols = self.symbol_values(frame, &connectors.environment);
        let (mut statements, freed) = brackets;
        let memlets = state.in_edges(id).into_iter().chain(state.out_edges(id));
        statements.extend(self.recall(frame, memlets.map(|edge| &state.edge(edge).memlet)));
        match &tasklet.body {
            TaskletBody::Code(code) => {
                let mut code = typecheck(code, &connectors.environment)
                    .map_err(|errors| LowerError::Types { errors, path: frame.at(&node.label) })?;
                for (connector, binding, check) in others {
                    add_output(&mut code, connector);
                    bindings.push(binding);
                    checks.push(check);
                }
                statements.push(Statement::Compute(Compute {
                    label: node.label.clone(),
                    code,
                    bindings,
                    symbols,
                    checks,
                }));
            }
            TaskletBody::External(call) => {
                // What a C function accesses through a pointer is not seen.
                let others_checks = others.iter().filter_map(|(_, _, check)| check.clone());
                statements.extend(checks.into_iter().flatten().chain(others_checks).map(Statement::Check));
                let after = self.outputs_of_external(frame, &mut bindings, others, &node.label)?;
                let mut compute = self
                    .external(call, &connectors.environment, &bindings, &symbols, &node.label)
                    .map_err(|errors| LowerError::Types { errors, path: frame.at(&node.label) })?;
                if call.origin == ExternalOrigin::Callback {
                    let passed = (call, &connectors.environment, bindings.as_slice());
                    compute.callback = Some(self.callback(frame, state, id, passed, &compute)?);
                }
                statements.push(Statement::External(compute));
                statements.extend(after);
            }
        }
        statements.extend(freed);
        Ok(statements)
    }

    /// A call of a C function. Each argument has what its own names stand for, and nothing else.
    fn external(
        &mut self,
        call: &ExternalCall,
        environment: &Environment,
        bindings: &[Binding],
        symbols: &[Expr],
        label: &str,
    ) -> Result<ExternalCompute, Vec<TypeError>> {
        if call.origin != ExternalOrigin::Callback && !self.plan.externals.contains(&call.origin) {
            self.plan.externals.push(call.origin.clone());
        }
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            let (environment, bindings, symbols) = named_by(argument, environment, bindings, symbols);
            let alone = ExternalCall { arguments: vec![argument.clone()], result: None, ..call.clone() };
            let typed = typecheck_external(&alone, &environment)?.arguments;
            arguments.extend(typed.into_iter().map(|typed| match typed {
                TypedArgument::Pointer(id) => {
                    let place = first_element(&bindings[id.index()]);
                    self.follow_no_more(place.buffer);
                    ExternalArgument::Pointer(place)
                }
                TypedArgument::Value(expression) => {
                    let code = TypedExpressionCode { environment: environment.clone(), expression };
                    let (bindings, symbols) = (bindings.clone(), symbols.clone());
                    ExternalArgument::Value(Scalar { code, bindings, symbols, checks: Vec::new() })
                }
            }));
        }
        let result = call.result.as_deref().and_then(|name| {
            let (id, connector) = environment.connector(name)?;
            Some((connector.element, first_element(&bindings[id.index()])))
        });
        let (label, symbol) = (label.to_owned(), call.symbol.clone());
        Ok(ExternalCompute { label, symbol, callback: None, arguments, result })
    }

    /// C functions only store: what is combined with old values or goes to several places is stored in a cell first.
    /// Returns the statements that move it on.
    fn outputs_of_external(
        &mut self,
        frame: &CallFrame<'g>,
        bindings: &mut [Binding],
        others: Vec<(ConnectorId, Binding, Option<Check>)>,
        label: &str,
    ) -> Result<Vec<Statement>, LowerError> {
        let mut after = Vec::new();
        for (position, binding) in bindings.iter_mut().enumerate() {
            let others =
                others.iter().filter(|(of, ..)| of.index() == position).map(|(_, binding, _)| binding);
            let first = match binding {
                Binding::Load(_) | Binding::View(_) | Binding::ViewMut { write: Resolved::Store, .. } => {
                    continue;
                }
                Binding::Push(_) | Binding::Length(_) => {
                    return Err(unsupported(frame, "a C function that pushes to a stream", label));
                }
                Binding::ViewMut { write: Resolved::Combine { .. }, .. } => {
                    let what = "a conflict resolution of memory that a C function writes";
                    return Err(unsupported(frame, what, label));
                }
                Binding::Store { write: Resolved::Store, .. } if others.clone().next().is_none() => continue,
                Binding::Store { to, write } => (to.clone(), write.clone()),
            };
            let element = self.plan.buffer(first.0.buffer).element;
            let cell = Location { buffer: self.cell("value", element), offset: Expr::zero() };
            *binding = Binding::Store { to: cell.clone(), write: Resolved::Store };
            let others = others.filter_map(|binding| match binding {
                Binding::Store { to, write } => Some((to.clone(), write.clone())),
                Binding::Load(_)
                | Binding::View(_)
                | Binding::ViewMut { .. }
                | Binding::Push(_)
                | Binding::Length(_) => None,
            });
            after.extend(std::iter::once(first).chain(others).map(|(to, write)| {
                let (label, from) = (label.to_owned(), cell.clone());
                Statement::Copy(Copy { label, from, to, dimensions: Vec::new(), write })
            }));
        }
        Ok(after)
    }

    fn input(
        &mut self,
        frame: &mut CallFrame<'g>,
        (state, id): (&State, EdgeId),
        kind: ConnectorKind,
        element: ElementType,
        label: &str,
        brackets: &mut Brackets,
    ) -> Result<Binding, LowerError> {
        let edge = state.edge(id);
        match &edge.memlet.flow {
            Flow::Read(access) => {
                let (part, single) = self.read_part(frame, state, id, access, label)?;
                self.check_element(frame, &part, element, label)?;
                if frame.is_stream(access) && self.consumed(frame, state, id).is_none() {
                    brackets.0.extend(self.take_checks());
                    return self.popped(frame, &part, &edge.memlet.volume, kind, label, brackets);
                }
                self.record(&part, AccessKind::Read);
                Ok(match kind {
                    ConnectorKind::Value => Binding::Load(part.origin),
                    ConnectorKind::Pointer { rank } => Binding::View(pointer(part, &single, rank).strided()),
                    ConnectorKind::Stream | ConnectorKind::Queues { .. } => {
                        return Err(unsupported(frame, "an input that is a stream", label));
                    }
                })
            }
            Flow::Value => Ok(Binding::Load(self.value_cell(frame, edge, element))),
            Flow::Order | Flow::Write { .. } | Flow::Copy { .. } | Flow::Bind(_) => {
                Err(unsupported(frame, "this flow into a tasklet", label))
            }
        }
    }

    fn output(
        &mut self,
        frame: &mut CallFrame<'g>,
        edge: &Edge,
        kind: ConnectorKind,
        element: ElementType,
        label: &str,
    ) -> Result<Binding, LowerError> {
        match &edge.memlet.flow {
            Flow::Write { to, resolution } => {
                let (part, single) = self.resolve(frame, to, label)?;
                self.check_element(frame, &part, element, label)?;
                if frame.is_stream(to) {
                    return Ok(Binding::Push(part.origin));
                }
                self.record(
                    &part,
                    resolution.as_ref().map_or(AccessKind::Write, |r| AccessKind::Combine(r.clone())),
                );
                let write = self.resolved(frame, resolution.as_ref(), part.element, label)?;
                Ok(match kind {
                    ConnectorKind::Value => Binding::Store { to: part.origin, write },
                    ConnectorKind::Pointer { rank } => {
                        Binding::ViewMut { to: pointer(part, &single, rank).strided(), write }
                    }
                    ConnectorKind::Stream | ConnectorKind::Queues { .. } => {
                        return Err(unsupported(frame, "an output that is a stream", label));
                    }
                })
            }
            Flow::Value => {
                Ok(Binding::Store { to: self.value_cell(frame, edge, element), write: Resolved::Store })
            }
            Flow::Order | Flow::Read(_) | Flow::Copy { .. } | Flow::Bind(_) => {
                Err(unsupported(frame, "this flow out of a tasklet", label))
            }
        }
    }

    /// Types of connectors and of what is behind them are the same: there are no implicit conversions.
    fn check_element(
        &self,
        frame: &CallFrame<'g>,
        part: &BufferView,
        element: ElementType,
        label: &str,
    ) -> Result<(), LowerError> {
        if part.element == element {
            return Ok(());
        }
        Err(LowerError::Invalid {
            what: format!("a connector of type {element} on elements of type {}", part.element),
            path: frame.at(label),
        })
    }

    /// The cell that carries the value of an output to the code nodes that take it.
    pub(super) fn value_cell(
        &mut self,
        frame: &mut CallFrame<'g>,
        edge: &Edge,
        element: ElementType,
    ) -> Location {
        let connector = edge.src_connector.as_deref().unwrap_or("value");
        let key = (edge.src, connector.to_owned());
        if let Some(buffer) = frame.value_cells.get(&key) {
            return Location { buffer: *buffer, offset: Expr::zero() };
        }
        let buffer = self.cell(connector, element);
        frame.value_cells.insert(key, buffer);
        Location { buffer, offset: Expr::zero() }
    }

    /// A buffer of one element on the stack.
    pub(super) fn cell(&mut self, name: &str, element: ElementType) -> crate::plan::BufferId {
        let name = self.take_name(name);
        let root = RootShape::packed(Vec::new());
        self.push_buffer(Buffer::new(name, element, Expr::one(), Allocation::Stack), root)
    }

    /// Treatment of the old value by a write; atomics follow later, at the end of loops.
    pub(super) fn resolved(
        &self,
        frame: &CallFrame<'g>,
        resolution: Option<&ConflictResolution>,
        element: ElementType,
        label: &str,
    ) -> Result<Resolved, LowerError> {
        let Some(resolution) = resolution else { return Ok(Resolved::Store) };
        let custom = match resolution {
            ConflictResolution::Custom(lambda) => {
                let code = typecheck_function(lambda, element)
                    .map_err(|errors| LowerError::Types { errors, path: frame.at(label) })?;
                Some(Box::new(super::scalar::converted_code(code, element)))
            }
            ConflictResolution::Sum
            | ConflictResolution::Product
            | ConflictResolution::Min
            | ConflictResolution::Max
            | ConflictResolution::And
            | ConflictResolution::Or
            | ConflictResolution::Xor
            | ConflictResolution::BitAnd
            | ConflictResolution::BitOr
            | ConflictResolution::BitXor
            | ConflictResolution::MinLocation
            | ConflictResolution::MaxLocation
            | ConflictResolution::Replace => None,
        };
        Ok(Resolved::Combine { resolution: resolution.clone(), custom, realisation: Realisation::Plain })
    }
}

/// The part of an environment that an expression names, with what it stands for.
fn named_by(
    expression: &Expression,
    around: &Environment,
    bindings: &[Binding],
    symbols: &[Expr],
) -> (Environment, Vec<Binding>, Vec<Expr>) {
    let names = expression.names();
    let mut named = (Environment::new(), Vec::new(), Vec::new());
    for ((name, connector), binding) in around.connectors().zip(bindings) {
        if names.contains(name) {
            named.0.add_connector(name, *connector);
            named.1.push(binding.clone());
        }
    }
    for ((name, ty), value) in around.symbols().zip(symbols) {
        if names.contains(name) && around.connector(name).is_none() {
            named.0.add_symbol(name, ty);
            named.2.push(value.clone());
        }
    }
    named
}

/// The element at which what a connector stands for begins.
fn first_element(binding: &Binding) -> Location {
    match binding {
        Binding::Load(location) | Binding::Store { to: location, .. } => location.clone(),
        Binding::Push(queue) => queue.clone(),
        Binding::View(strided) | Binding::ViewMut { to: strided, .. } | Binding::Length(strided) => {
            strided.origin.clone()
        }
    }
}

fn unsupported(frame: &CallFrame<'_>, what: &str, label: &str) -> LowerError {
    LowerError::Unsupported { what: what.to_owned(), path: frame.at(label) }
}

/// A part as a pointer connector sees it: without single indices, and with one dimension at least.
fn pointer(part: BufferView, single: &[bool], rank: usize) -> BufferView {
    let mut part = part.without(single);
    if part.axes.is_empty() && rank > 0 {
        part.axes.push(Axis { extent: Expr::one(), stride: Expr::one(), root: None, tile: false });
    }
    part
}
