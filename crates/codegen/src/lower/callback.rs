//! Calls of functions that the caller passes: the signature of each, and where they may be.
//!
//! Callbacks are called by the thread that runs the program, one at a time: maps and consume scopes with callbacks have no team. Callers
//! need no locks, and Python needs its interpreter lock in one thread only.

use sdfg::analysis::callbacks::scope_calls_back;
use sdfg::dtype::{ElementType, ScalarType};
use sdfg::ir::{NodeId, Sdfg, State};
use sdfg::symbolic::Expr;
use sdfg::tasklet::{Direction, Environment, ExternalCall};

use super::Lowering;
use super::call_frame::CallFrame;
use super::dataflow::Graph;
use super::error::LowerError;
use crate::interface::{Access, Callback, CallbackParameter};
use crate::plan::{Binding, ExternalArgument, ExternalCompute, Plan, Stride};

impl Graph<'_, '_> {
    /// Whether something inside of a scope calls functions of the caller.
    pub(super) fn calls_back_inside(&self, entry: NodeId) -> bool {
        scope_calls_back(self.state, self.tree, entry)
    }
}

impl<'g> Lowering<'g> {
    /// The position of the function that a lowered call calls.
    pub(super) fn callback(
        &mut self,
        frame: &CallFrame<'g>,
        state: &State,
        id: NodeId,
        (call, environment, bindings): (&ExternalCall, &Environment, &[Binding]),
        compute: &ExternalCompute,
    ) -> Result<usize, LowerError> {
        let label = &state.node(id).label;
        let unsupported = |what: String| LowerError::Unsupported { what, path: frame.at(label) };
        if self.n_tasks > 0 || self.loops.iter().any(|open| open.tasks) {
            return Err(unsupported(format!(
                "a call of the callback `{}` from nodes that wait for each other at streams",
                call.symbol
            )));
        }
        let is_argument = self.plan.arguments.iter().any(|argument| argument.name == call.symbol)
            || self.plan.symbols.iter().any(|symbol| symbol.name.as_str() == call.symbol);
        if is_argument {
            return Err(unsupported(format!("a callback with the name of an argument, `{}`,", call.symbol)));
        }
        let by_value = |element: ElementType| {
            let scalar = element.as_scalar().filter(|ty| !ty.is_complex() && *ty != ScalarType::F16);
            scalar.ok_or_else(|| {
                unsupported(format!("{element} by value in a call of the callback `{}`", call.symbol))
            })
        };
        let is_read = |name: &str| reads_what_it_writes(state, id, name);
        let mut parameters = Vec::with_capacity(compute.arguments.len());
        for (argument, passed) in call.arguments.iter().zip(&compute.arguments) {
            parameters.push(match passed {
                ExternalArgument::Value(scalar) => {
                    CallbackParameter::Value(by_value(scalar.code.expression.ty)?)
                }
                ExternalArgument::Pointer(location) => {
                    let element = self.plan.buffer(location.buffer).element;
                    let connector = argument
                        .names()
                        .into_iter()
                        .find_map(|name| Some((name, environment.connector(name)?)));
                    let access = match connector {
                        Some((_, (_, connector))) if connector.direction == Direction::In => Access::Read,
                        Some((name, _)) if is_read(name) => Access::ReadWrite,
                        Some(_) | None => Access::Write,
                    };
                    let layout = connector
                        .and_then(|(_, (id, _))| layout(&self.plan, &bindings[id.index()]))
                        .map(|known| match connector {
                            Some((name, _)) if known.0.is_empty() => {
                                let rank = rank_of_one_element(frame.sdfg, state, id, name);
                                (vec![Expr::one(); rank], vec![Expr::one(); rank])
                            }
                            Some(_) | None => known,
                        });
                    CallbackParameter::Memory { element, access, layout }
                }
            });
        }
        let result = compute.result.as_ref().map(|(element, _)| by_value(*element)).transpose()?;
        let callback = Callback { name: call.symbol.clone(), parameters, result };
        let Some(known) = self.plan.callbacks.iter().position(|known| known.name == callback.name) else {
            self.plan.callbacks.push(callback);
            return Ok(self.plan.callbacks.len() - 1);
        };
        if !self.plan.callbacks[known].has_type_of(&callback) {
            return Err(unsupported(format!(
                "calling the callback `{}` with different signatures in one program",
                call.symbol
            )));
        }
        // Calls with different layouts have none in common.
        for (known, other) in self.plan.callbacks[known].parameters.iter_mut().zip(&callback.parameters) {
            if known != other
                && let CallbackParameter::Memory { layout, .. } = known
            {
                *layout = None;
            }
        }
        Ok(known)
    }
}

/// Whether a node also reads the container that one of its outputs writes.
fn reads_what_it_writes(state: &State, id: NodeId, output: &str) -> bool {
    let written: Vec<_> = state
        .out_edges(id)
        .into_iter()
        .map(|edge| state.edge(edge))
        .filter(|edge| edge.src_connector.as_deref() == Some(output))
        .filter_map(|edge| edge.memlet.write_access().map(|access| access.container))
        .collect();
    let read = state.in_edges(id).into_iter().filter_map(|edge| state.edge(edge).memlet.read_access());
    read.into_iter().any(|access| written.contains(&access.container))
}

/// Number of dimensions of the array of one element that an output writes; 0 if it writes a scalar, or one element of several.
fn rank_of_one_element(sdfg: &Sdfg, state: &State, id: NodeId, output: &str) -> usize {
    let mut written = state
        .out_edges(id)
        .into_iter()
        .map(|edge| state.edge(edge))
        .filter(|edge| edge.src_connector.as_deref() == Some(output))
        .filter_map(|edge| edge.memlet.write_access());
    let shape = written.next().map(|access| sdfg.container(access.container).kind.shape());
    shape.filter(|shape| shape.iter().all(Expr::is_one)).map_or(0, <[Expr]>::len)
}

/// Extents and strides of the elements that a connector names, if the caller knows them.
fn layout(plan: &Plan, binding: &Binding) -> Option<(Vec<Expr>, Vec<Expr>)> {
    let strided = match binding {
        Binding::View(strided) | Binding::ViewMut { to: strided, .. } => strided,
        Binding::Load(_) | Binding::Store { .. } => return Some((Vec::new(), Vec::new())),
        Binding::Push(_) | Binding::Length(_) => return None,
    };
    let even = |stride: &Stride| match stride {
        Stride::Even(stride) => Some(stride.clone()),
        Stride::Tiled(_) => None,
    };
    let strides = strided.strides.iter().map(even).collect::<Option<Vec<Expr>>>()?;
    let is_known = strided.extents.iter().chain(&strides).all(|expression| plan.is_of_caller(expression));
    is_known.then(|| (strided.extents.clone(), strides))
}
