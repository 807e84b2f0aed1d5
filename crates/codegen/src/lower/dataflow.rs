//! States and the inside of scopes: nodes in topological order.

use sdfg::analysis::ScopeTree;
use sdfg::ir::{ConflictResolution, ContainerKind, EdgeId, Flow, NodeId, NodeKind, State, StateId};

use super::Lowering;
use super::bound::{Axis, Bound};
use super::error::LowerError;
use super::frame::Frame;
use sdfg::symbolic::{Expr, Truth};

use crate::plan::Statement;

/// A state with its scopes.
#[derive(Clone, Copy)]
pub(super) struct Graph<'g, 't> {
    pub(super) id: StateId,
    pub(super) state: &'g State,
    pub(super) tree: &'t ScopeTree,
}

impl<'g> Lowering<'g> {
    /// Statements of a state.
    pub(super) fn state(
        &mut self,
        frame: &mut Frame<'g>,
        id: StateId,
        label: &str,
    ) -> Result<Vec<Statement>, LowerError> {
        let state = frame.sdfg.state(id);
        let tree = ScopeTree::of(state);
        // Ids of nodes are those of their state.
        frame.value_cells.clear();
        let mut statements = vec![Statement::Comment(format!("state {label}"))];
        let (before, after) = self.allocate_for_state(frame, state);
        statements.extend(before);
        statements.extend(self.nodes_in(frame, Graph { id, state, tree: &tree }, None)?);
        statements.extend(after);
        Ok(statements)
    }

    /// Statements of the nodes directly inside of a scope.
    pub(super) fn nodes_in(
        &mut self,
        frame: &mut Frame<'g>,
        graph: Graph<'g, '_>,
        scope: Option<NodeId>,
    ) -> Result<Vec<Statement>, LowerError> {
        let Graph { state, tree, .. } = graph;
        self.bind_views(frame, graph, scope)?;
        let mut statements = Vec::new();
        for &id in tree.children(scope) {
            let node = state.node(id);
            match &node.kind {
                NodeKind::Access(_) => statements.extend(self.copies_at(frame, state, id)?),
                NodeKind::Tasklet(tasklet) => {
                    statements.extend(self.tasklet(frame, state, id, node, tasklet)?)
                }
                NodeKind::MapEntry(map) => statements.extend(self.map(frame, graph, id, node, map)?),
                NodeKind::Nested(nested) => statements.extend(self.nested(frame, state, id, node, nested)?),
                NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => {}
                NodeKind::ConsumeEntry(_) => {
                    return Err(LowerError::Unsupported {
                        what: "a consume scope".to_owned(),
                        path: frame.at(&node.label),
                    });
                }
                NodeKind::Reduce(reduce) => {
                    let operation = match &reduce.resolution {
                        ConflictResolution::Custom(lambda) => lambda.to_string(),
                        named => named.name().to_owned(),
                    };
                    return Err(LowerError::Unexpanded {
                        noun: node.kind.noun(),
                        operation,
                        path: frame.at(&node.label),
                    });
                }
                NodeKind::Library(library) => {
                    return Err(LowerError::Unexpanded {
                        noun: node.kind.noun(),
                        operation: library.operation.clone(),
                        path: frame.at(&node.label),
                    });
                }
            }
        }
        Ok(statements)
    }

    /// Copies that an access node ends, and copies from it out of the scope.
    fn copies_at(
        &mut self,
        frame: &mut Frame<'g>,
        state: &'g State,
        id: NodeId,
    ) -> Result<Vec<Statement>, LowerError> {
        let into = state.in_edges(id);
        let out_of = state
            .out_edges(id)
            .into_iter()
            .filter(|e| state.node(state.edge(*e).dst).kind.exit_of().is_some());
        let edges: Vec<EdgeId> = into.into_iter().chain(out_of).collect();
        let mut statements = Vec::new();
        for edge in edges {
            let edge = state.edge(edge);
            if let Flow::Copy { from, to, resolution } = &edge.memlet.flow {
                let label = &state.node(id).label;
                statements.extend(self.copy(frame, from, to, resolution.as_ref(), label)?);
            }
        }
        Ok(statements)
    }

    /// Gives every view of a scope the part of memory that its edge names.
    fn bind_views(
        &mut self,
        frame: &mut Frame<'g>,
        graph: Graph<'g, '_>,
        scope: Option<NodeId>,
    ) -> Result<(), LowerError> {
        let Graph { state, tree, .. } = graph;
        let mut waiting: Vec<(NodeId, EdgeId)> = Vec::new();
        for &id in tree.children(scope) {
            let Some(container) = state.node(id).kind.container() else { continue };
            if !frame.sdfg.container(container).is_alias() {
                continue;
            }
            let adjacent = state.in_edges(id).into_iter().chain(state.out_edges(id));
            let binds = |e: &EdgeId| matches!(&state.edge(*e).memlet.flow, Flow::Bind(target) if target.container != container);
            waiting.extend(adjacent.into_iter().find(binds).map(|edge| (id, edge)));
        }
        // A view of a view waits for the other one: each round binds at least one unless they form a cycle.
        for _ in 0..waiting.len() {
            for &(id, edge) in &waiting {
                let Some(container) = state.node(id).kind.container() else { continue };
                let Flow::Bind(target) = &state.edge(edge).memlet.flow else { continue };
                if frame.containers.contains_key(&target.container) {
                    let bound = self.view(frame, container, target, &state.node(id).label)?;
                    frame.containers.insert(container, bound);
                }
            }
        }
        Ok(())
    }

    /// The memory that a view names: the elements of the subset if the extents agree after single indices are dropped, else
    /// what the view's own layout makes of the memory from the first element on.
    fn view(
        &mut self,
        frame: &Frame<'g>,
        container: sdfg::ir::ContainerId,
        target: &sdfg::ir::Access,
        label: &str,
    ) -> Result<Bound, LowerError> {
        let view = frame.sdfg.container(container);
        let ContainerKind::View(layout) = &view.kind else {
            return Err(LowerError::Unsupported {
                what: format!("reference `{}`", view.name),
                path: frame.at(label),
            });
        };
        let (part, single) = self.resolve(frame, target, label)?;
        if part.element != view.element {
            return Err(LowerError::Unsupported {
                what: format!("view `{}` of another element type", view.name),
                path: frame.at(label),
            });
        }
        let shape: Vec<Expr> = layout.shape.iter().map(|extent| frame.translate(extent)).collect();
        let strides: Vec<Expr> = layout.strides.iter().map(|stride| frame.translate(stride)).collect();
        let offset = frame.translate(&layout.offset);
        let mut surplus = part.axes.len().saturating_sub(shape.len());
        let dropped = single.iter().map(|single| {
            let drops = *single && surplus > 0;
            surplus -= usize::from(drops);
            drops
        });
        let mut part = part.without(&dropped.collect::<Vec<_>>());
        let fits = if part.axes.len() == shape.len() {
            let extents = shape.iter().zip(&part.axes);
            extents.fold(Truth::Proved, |fits, (extent, axis)| {
                fits.and(extent.le(&axis.extent, &self.assumptions))
            })
        } else {
            Truth::Refuted
        };
        let same_either_way =
            offset == Expr::zero() && strides.iter().eq(part.axes.iter().map(|axis| &axis.stride));
        match fits {
            Truth::Proved => {}
            Truth::Unknown if same_either_way => {}
            Truth::Unknown => {
                return Err(LowerError::Unsupported {
                    what: format!("view `{}`, not known to have the extents of what it views,", view.name),
                    path: frame.at(label),
                });
            }
            Truth::Refuted => {
                part.origin.offset = &part.origin.offset + &offset;
                part.root = None;
                let axis = |stride| Axis { extent: Expr::one(), stride, root: None };
                part.axes = strides.into_iter().map(axis).collect();
            }
        }
        for (axis, extent) in part.axes.iter_mut().zip(shape) {
            axis.extent = extent;
        }
        Ok(part)
    }

    /// Whether any loop around the current place is shared by threads.
    pub(super) fn in_parallel(&self) -> bool {
        self.loops.iter().any(|open| open.parallel)
    }
}
