//! Calls of SDFGs: the callee becomes part of the caller's plan and works in the caller's memory.

use sdfg::analysis::bound_dimensions;
use sdfg::dtype::ScalarType;
use sdfg::ir::{Container, EdgeId, Flow, NestedSdfg, Node, NodeId, State};
use sdfg::symbolic::Expr;

use super::Lowering;
use super::buffer_view::BufferView;
use super::call_frame::CallFrame;
use super::control::assigned_symbols;
use super::error::LowerError;
use crate::plan::Statement;

impl<'g> Lowering<'g> {
    /// Statements of a call: transients, then the body. Symbols of the frame have the values that the caller gives.
    pub(super) fn call(
        &mut self,
        frame: &mut CallFrame<'g>,
        mut statements: Vec<Statement>,
    ) -> Result<Vec<Statement>, LowerError> {
        let sdfg = frame.sdfg;
        for symbol in assigned_symbols(sdfg) {
            let variable = self.new_variable(symbol.as_str(), frame.type_of(&symbol));
            if let Some(initial) = frame.symbols.insert(symbol, Expr::symbol(variable.clone())) {
                statements.push(Statement::Let { variable, value: initial });
            }
        }
        let (before, after) = self.allocate_for_call(frame)?;
        statements.extend(before);
        self.find_beginnings(frame);
        let body = self.region(frame, sdfg.body())?;
        if frame.exit_used {
            statements.push(Statement::Block { target: frame.exit, body });
        } else {
            statements.extend(body);
        }
        statements.extend(after);
        Ok(statements)
    }

    /// Statements of a nested SDFG node.
    pub(super) fn nested(
        &mut self,
        frame: &mut CallFrame<'g>,
        state: &'g State,
        id: NodeId,
        node: &'g Node,
        nested: &'g NestedSdfg,
    ) -> Result<Vec<Statement>, LowerError> {
        let path = frame.path_of(&node.label);
        let mut inner = CallFrame::new(&nested.sdfg, self.new_target(), path);
        // Unmapped symbols keep the value of the symbol with their name.
        for symbol in sdfg::analysis::symbols::free_symbols(&nested.sdfg) {
            if let Some(value) = frame.symbols.get(&symbol) {
                inner.types.insert(symbol.clone(), frame.type_of(&symbol));
                inner.symbols.insert(symbol, value.clone());
            }
        }
        let mut statements = vec![Statement::Comment(format!("nested {}", node.label))];
        for (symbol, value) in &nested.symbol_mapping {
            inner.types.remove(symbol);
            let (ty, mut value) = (inner.type_of(symbol), frame.translate(value));
            let is_of_type = ty == ScalarType::I64
                || value.as_symbol().is_some_and(|outer| self.plan.variables.get(outer) == Some(&ty));
            if !is_of_type {
                let (variable, set) = self.converted_symbol(symbol, value, ty);
                statements.push(set);
                value = Expr::symbol(variable);
            }
            inner.symbols.insert(symbol.clone(), value);
        }
        let edges = state.in_edges(id).into_iter().map(|e| (e, true));
        let edges = edges.chain(state.out_edges(id).into_iter().map(|e| (e, false)));
        let mut bindings = Vec::new();
        for (id, is_input) in edges {
            let edge = state.edge(id);
            let connector = if is_input { &edge.dst_connector } else { &edge.src_connector };
            let Some(connector) = connector else { continue };
            match nested.sdfg.find_container(connector) {
                Some(container) => bindings.push((container, id, is_input)),
                None => statements.extend(self.symbol_from_data(
                    frame,
                    &mut inner,
                    (state, id),
                    connector,
                    &node.label,
                )?),
            }
        }
        for (container, edge, is_input) in bindings {
            if !inner.containers.contains_key(&container) {
                let bound = self.bind_connector(
                    frame,
                    &inner,
                    nested.sdfg.container(container),
                    (state, edge),
                    is_input,
                    &node.label,
                )?;
                inner.containers.insert(container, bound);
                statements.extend(self.take_checks());
            }
        }
        self.call(&mut inner, statements)
    }

    /// The part of the caller's memory that a container of a nested SDFG stands for, with the shape that the container declares.
    fn bind_connector(
        &mut self,
        frame: &mut CallFrame<'g>,
        inner: &CallFrame<'g>,
        container: &Container,
        (state, id): (&State, EdgeId),
        is_input: bool,
        label: &str,
    ) -> Result<BufferView, LowerError> {
        let edge = state.edge(id);
        if matches!(edge.memlet.flow, Flow::Value) {
            let cell = self.value_cell(frame, edge, container.element);
            return Ok(BufferView::whole(cell.buffer, container.element, &[], &[], &cell.offset));
        }
        let access = if is_input { edge.memlet.read_access() } else { edge.memlet.write_access() };
        let access = access.ok_or_else(|| LowerError::Invalid {
            what: format!("nothing is bound to container `{}`", container.name),
            path: frame.at(label),
        })?;
        let part = match self.consumed(frame, state, id) {
            Some(element) => element,
            None => {
                let node = if is_input { edge.dst } else { edge.src };
                self.resolve_part(frame, access, bounds_are_deferred(state, node, &container.name), label)?.0
            }
        };
        let rank = container.shape().len();
        let kept = bound_dimensions(access.subset(), rank).ok_or_else(|| LowerError::Unsupported {
            what: format!(
                "binding {} dimensions to container `{}` of rank {rank}",
                part.axes.len(),
                container.name
            ),
            path: frame.at(label),
        })?;
        let dropped: Vec<bool> = (0..part.axes.len()).map(|d| !kept.contains(&d)).collect();
        let mut part = part.without(&dropped);
        if container.element != part.element {
            return Err(LowerError::Unsupported {
                what: format!(
                    "binding elements of type {} to container `{}` of type {}",
                    part.element, container.name, container.element
                ),
                path: frame.at(label),
            });
        }
        let extents: Vec<Expr> = container.shape().iter().map(|extent| inner.translate(extent)).collect();
        let what = || {
            format!(
                "`{}`, bound to `{}`, at {}",
                container.name,
                frame.sdfg.container(access.container).name,
                frame.at(label)
            )
        };
        self.note_extents(what, &extents, &part.axes);
        for (axis, extent) in part.axes.iter_mut().zip(extents) {
            axis.extent = extent;
        }
        Ok(part)
    }
}

/// Whether an argument of a nested SDFG may reach beyond its container: a memlet at its connector is dynamic.
fn bounds_are_deferred(state: &State, node: NodeId, connector: &str) -> bool {
    let is_its = |found: &Option<String>| found.as_deref() == Some(connector);
    let into = state.in_edges(node).into_iter().filter(|edge| is_its(&state.edge(*edge).dst_connector));
    let out_of = state.out_edges(node).into_iter().filter(|edge| is_its(&state.edge(*edge).src_connector));
    into.chain(out_of).any(|edge| state.edge(edge).memlet.volume.is_dynamic())
}
