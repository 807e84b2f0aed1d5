//! Tasklets: what each connector stands for.

use sdfg::analysis::TaskletConnectors;
use sdfg::dtype::ElementType;
use sdfg::ir::{ConflictResolution, Edge, EdgeId, Flow, Node, NodeId, State, Tasklet, TaskletBody};
use sdfg::symbolic::Expr;
use sdfg::tasklet::{
    ConnectorId, ConnectorKind, Dialect, Direction, Environment, ExternalArgument as TypedArgument,
    ExternalCall, TypedExpressionCode, TypedExternal, typecheck, typecheck_expression, typecheck_external,
};

use super::Lowering;
use super::access::AccessKind;
use super::bound::{Axis, Bound};
use super::error::LowerError;
use super::fan_out::add_output;
use super::frame::Frame;
use super::memory::{Brackets, RootShape};
use crate::plan::{
    Allocation, Binding, Buffer, Check, Compute, Copy, ExternalArgument, ExternalCompute, Location,
    Realisation, Resolved, Scalar, Statement,
};

impl<'g> Lowering<'g> {
    /// Statements of a tasklet.
    pub(super) fn tasklet(
        &mut self,
        frame: &mut Frame<'g>,
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
            TaskletBody::External(_) => self.symbols_in_scope(frame, |_| true),
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
                let typed = typecheck_external(call, &connectors.environment)
                    .map_err(|errors| LowerError::Types { errors, path: frame.at(&node.label) })?;
                statements.push(self.external(call, typed, &bindings, &symbols, &node.label));
                statements.extend(after);
            }
        }
        statements.extend(freed);
        Ok(statements)
    }

    /// A call of a C function.
    fn external(
        &mut self,
        call: &ExternalCall,
        typed: TypedExternal,
        bindings: &[Binding],
        symbols: &[Expr],
        label: &str,
    ) -> Statement {
        if !self.plan.externals.contains(&call.origin) {
            self.plan.externals.push(call.origin.clone());
        }
        let place = |id: ConnectorId| match &bindings[id.index()] {
            Binding::Load(location) | Binding::Store { to: location, .. } => location.clone(),
            Binding::Push(queue) => queue.clone(),
            Binding::View(strided) | Binding::ViewMut { to: strided, .. } | Binding::Length(strided) => {
                strided.origin.clone()
            }
        };
        let arguments = typed.arguments.into_iter().map(|argument| match argument {
            TypedArgument::Pointer(id) => {
                let place = place(id);
                self.follow_no_more(place.buffer);
                ExternalArgument::Pointer(place)
            }
            TypedArgument::Value(expression) => {
                let code = TypedExpressionCode { environment: typed.environment.clone(), expression };
                let (bindings, symbols) = (bindings.to_vec(), symbols.to_vec());
                ExternalArgument::Value(Scalar { code, bindings, symbols, checks: Vec::new() })
            }
        });
        let arguments = arguments.collect();
        let result = typed.result.and_then(|id| {
            let (_, connector) = typed.environment.connector_at(id)?;
            Some((connector.element, place(id)))
        });
        let symbol = call.symbol.clone();
        Statement::External(ExternalCompute { label: label.to_owned(), symbol, arguments, result })
    }

    /// C functions only store: what is combined with old values or goes to several places is stored in a cell first.
    /// Returns the statements that move it on.
    fn outputs_of_external(
        &mut self,
        frame: &Frame<'g>,
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
        frame: &mut Frame<'g>,
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
        frame: &mut Frame<'g>,
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
        frame: &Frame<'g>,
        part: &Bound,
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
        frame: &mut Frame<'g>,
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
        self.push_buffer(
            Buffer { name, element, size: Expr::one(), allocation: Allocation::Stack, defined: None },
            root,
        )
    }

    /// What a write does to the old value; atomics come later, where loops are closed.
    pub(super) fn resolved(
        &self,
        frame: &Frame<'g>,
        resolution: Option<&ConflictResolution>,
        element: ElementType,
        label: &str,
    ) -> Result<Resolved, LowerError> {
        let Some(resolution) = resolution else { return Ok(Resolved::Store) };
        let custom = match resolution {
            ConflictResolution::Custom(lambda) => {
                let mut environment = Environment::new();
                for parameter in &lambda.parameters {
                    environment.input(&parameter.text, element);
                }
                let code = typecheck_expression(&lambda.body, Dialect::Python, &environment)
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

fn unsupported(frame: &Frame<'_>, what: &str, label: &str) -> LowerError {
    LowerError::Unsupported { what: what.to_owned(), path: frame.at(label) }
}

/// A part as a pointer connector sees it: without single indices, and with one dimension at least.
fn pointer(part: Bound, single: &[bool], rank: usize) -> Bound {
    let mut part = part.without(single);
    if part.axes.is_empty() && rank > 0 {
        part.axes.push(Axis { extent: Expr::one(), stride: Expr::one(), root: None, tile: false });
    }
    part
}
