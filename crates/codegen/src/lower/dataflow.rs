//! States and scope bodies: their nodes in topological order.

use std::collections::BTreeSet;

use sdfg::analysis::ScopeTree;
use sdfg::ir::{ConflictResolution, EdgeId, Flow, Memlet, Node, NodeId, NodeKind, State, StateId};

use super::Lowering;
use super::alias::{references_of_nodes, sets_outer_references};
use super::blocking::reachable;
use super::call_frame::CallFrame;
use super::debug::edge_label;
use super::error::LowerError;
use super::profile::timed;
use crate::plan::{Statement, TaskKind, Tasks, TimerKind};

/// A state with its scopes.
#[derive(Clone, Copy)]
pub(super) struct Graph<'g, 't> {
    pub(super) id: StateId,
    pub(super) state: &'g State,
    pub(super) tree: &'t ScopeTree,
}

impl<'g> Graph<'g, '_> {
    /// Memlets of the edges at a node.
    pub(super) fn memlets_at(self, node: NodeId) -> impl Iterator<Item = &'g Memlet> {
        let state = self.state;
        let edges = state.in_edges(node).into_iter().chain(state.out_edges(node));
        edges.map(|edge| &state.edge(edge).memlet)
    }
}

impl<'g> Lowering<'g> {
    /// Statements of a state.
    pub(super) fn state(
        &mut self,
        frame: &mut CallFrame<'g>,
        id: StateId,
        label: &'g str,
    ) -> Result<Vec<Statement>, LowerError> {
        frame.state = Some(label);
        let state = frame.sdfg.state(id);
        let tree = ScopeTree::of(state);
        // Ids of nodes are those of their state.
        frame.value_cells.clear();
        let mut statements = vec![Statement::Comment(format!("state {label}"))];
        let (before, after) = self.allocate_for_state(frame, state);
        statements.extend(before);
        statements.extend(frame.begins.get(&id).into_iter().flatten().copied().map(Statement::Begin));
        statements.extend(self.nodes_in(frame, Graph { id, state, tree: &tree }, None)?);
        statements.extend(after);
        frame.state = None;
        Ok(statements)
    }

    /// Statements of the nodes directly inside of a scope.
    pub(super) fn nodes_in(
        &mut self,
        frame: &mut CallFrame<'g>,
        graph: Graph<'g, '_>,
        scope: Option<NodeId>,
    ) -> Result<Vec<Statement>, LowerError> {
        self.bind_views(frame, graph, scope)?;
        let mut statements = self.take_checks();
        let children = graph.tree.children(scope);
        if !self.in_kernel && graph.has_blocking_nodes(frame.sdfg, scope) {
            let sharing = self.share_references(frame, &references_of_nodes(frame, graph, scope));
            let tasks = self.node_tasks(frame, graph, children)?;
            statements.extend(self.end_sharing(sharing, tasks));
            return Ok(statements);
        }
        let fixed = self.plan.variables.len();
        let mut nodes = Vec::with_capacity(children.len());
        for &id in children {
            nodes.push((id, self.node(frame, graph, id)?));
        }
        statements.extend(match scope {
            None => self.components(graph, frame.state.unwrap_or_default(), nodes, fixed),
            Some(_) => nodes.into_iter().flat_map(|(_, statements)| statements).collect(),
        });
        self.fill_arrays_directly(&mut statements);
        Ok(statements)
    }

    /// Nodes as tasks, each after those from which a path leads to it.
    fn node_tasks(
        &mut self,
        frame: &mut CallFrame<'g>,
        graph: Graph<'g, '_>,
        nodes: &[NodeId],
    ) -> Result<Vec<Statement>, LowerError> {
        self.n_tasks += 1;
        let mut kinds: Vec<TaskKind> = Vec::new();
        let mut behind = Vec::new();
        for &id in nodes {
            let label = &graph.state.node(id).label;
            // The copies at one access node do not wait for each other.
            let bodies: Vec<Vec<Statement>> = match &graph.state.node(id).kind {
                NodeKind::Access(_) => copies_at(graph.state, id)
                    .into_iter()
                    .map(|edge| self.copy_edge(frame, graph.state, edge, label))
                    .collect::<Result<_, _>>()?,
                NodeKind::Tasklet(_)
                | NodeKind::MapEntry(_)
                | NodeKind::MapExit(_)
                | NodeKind::ConsumeEntry(_)
                | NodeKind::ConsumeExit(_)
                | NodeKind::Nested(_)
                | NodeKind::Reduce(_)
                | NodeKind::Library(_) => vec![self.node(frame, graph, id)?],
            };
            let comes_after = |reached: &BTreeSet<NodeId>| reached.contains(&id);
            let after: Vec<usize> = (0..kinds.len()).filter(|kind| comes_after(&behind[*kind])).collect();
            for body in bodies.into_iter().filter(|body| !body.is_empty()) {
                behind.push(reachable(graph.state, graph.tree, id));
                let (label, after) = (label.clone(), after.clone());
                kinds.push(TaskKind { label, dimension: None, after, locals: Vec::new(), body });
            }
        }
        self.n_tasks -= 1;
        Ok(vec![Statement::Tasks(Tasks::new(kinds))])
    }

    /// Statements of a node with all that is inside of it.
    fn node(
        &mut self,
        frame: &mut CallFrame<'g>,
        graph: Graph<'g, '_>,
        id: NodeId,
    ) -> Result<Vec<Statement>, LowerError> {
        let node = graph.state.node(id);
        let mut statements = match &node.kind {
            NodeKind::MapEntry(_) | NodeKind::ConsumeEntry(_) => self.recall_all(frame),
            NodeKind::Nested(_) => self.recall(frame, graph.memlets_at(id)),
            // A tasklet recalls them after it took elements, a copy at its edge.
            NodeKind::Tasklet(_)
            | NodeKind::Access(_)
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => Vec::new(),
        };
        // Nothing sets references for a scope that uses no stream.
        let is_alone = matches!(node.kind, NodeKind::MapEntry(_))
            && !graph.uses_streams_inside(frame.sdfg, id)
            && !sets_outer_references(frame, graph, id);
        let shared = if is_alone { std::mem::take(&mut self.shared) } else { Vec::new() };
        let code = self.code_of_node(frame, graph, id, node);
        if is_alone {
            self.shared = shared;
        }
        statements.extend(code?);
        // A copy is at the place of its edge.
        let is_access = matches!(node.kind, NodeKind::Access(_));
        Ok(if is_access { statements } else { self.located(node.loc.as_ref(), &node.label, statements) })
    }

    fn code_of_node(
        &mut self,
        frame: &mut CallFrame<'g>,
        graph: Graph<'g, '_>,
        id: NodeId,
        node: &'g Node,
    ) -> Result<Vec<Statement>, LowerError> {
        let state = graph.state;
        match &node.kind {
            NodeKind::Access(_) => {
                let mut statements = Vec::new();
                for edge in copies_at(state, id) {
                    statements.extend(self.copy_edge(frame, state, edge, &node.label)?);
                }
                Ok(statements)
            }
            NodeKind::Tasklet(tasklet) => {
                let timer = self.timer(TimerKind::Tasklet, &frame.at(&node.label));
                Ok(timed(timer, self.tasklet(frame, state, id, node, tasklet)?))
            }
            NodeKind::MapEntry(map) => self.map(frame, graph, id, node, map),
            NodeKind::ConsumeEntry(consume) => self.consume(frame, graph, id, node, consume),
            NodeKind::Nested(nested) => self.nested(frame, state, id, node, nested),
            NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => Ok(Vec::new()),
            NodeKind::Reduce(reduce) => {
                let operation = match &reduce.resolution {
                    ConflictResolution::Custom(lambda) => lambda.to_string(),
                    named => named.name().to_owned(),
                };
                let path = frame.at(&node.label);
                Err(LowerError::Unexpanded { noun: node.kind.noun(), operation, path })
            }
            NodeKind::Library(library) => {
                let (operation, path) = (library.operation.clone(), frame.at(&node.label));
                Err(LowerError::Unexpanded { noun: node.kind.noun(), operation, path })
            }
        }
    }

    /// A copy between two access nodes, or the edge that sets a reference.
    fn copy_edge(
        &mut self,
        frame: &mut CallFrame<'g>,
        state: &'g State,
        edge: EdgeId,
        label: &str,
    ) -> Result<Vec<Statement>, LowerError> {
        let mut statements = self.recall(frame, std::iter::once(&state.edge(edge).memlet));
        statements.extend(match &state.edge(edge).memlet.flow {
            Flow::Copy { from, to, .. } if frame.is_stream(from) || frame.is_stream(to) => {
                self.transfer(frame, state, edge, label)?
            }
            Flow::Copy { from, to, resolution } => self.copy(frame, from, to, resolution.as_ref(), label)?,
            Flow::Bind(_) => self.set_reference(frame, state, edge, label)?,
            Flow::Order | Flow::Read(_) | Flow::Write { .. } | Flow::Value => Vec::new(),
        });
        let edge = state.edge(edge);
        Ok(self.located(edge.loc.as_ref(), &edge_label(state, edge), statements))
    }

    /// Whether any loop around the current place is shared by threads.
    pub(super) fn in_parallel(&self) -> bool {
        self.loops.iter().any(|open| open.parallel)
    }
}

/// Edges that work by themselves and end at an access node, and those from it out of the scope.
fn copies_at(state: &State, node: NodeId) -> Vec<EdgeId> {
    let leaves = |edge: &EdgeId| state.node(state.edge(*edge).dst).kind.exit_of().is_some();
    let mut edges = state.in_edges(node);
    edges.extend(state.out_edges(node).into_iter().filter(leaves));
    edges
}
