//! Transients that are zero-initialised, as explicit fills.
//!
//! DaCe stores the request on an access node and honours it where the transient is allocated. In our graph,
//! this is the start of the SDFG, the start of an iteration of the scope that contains all uses, or, if
//! control flow decides the size, the first state that uses the transient.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::symbols::assigned_symbols;
use sdfg::analysis::{ScopeTree, owning_scopes};
use sdfg::edit::Editor;
use sdfg::ir::draft::{DraftSdfg, DraftState};
use sdfg::ir::{
    Access, BlockId, BlockKind, Connector, ContainerId, Edge, Lifetime, Map, Memlet, Node, NodeId, NodeKind,
    Port, ScopeExit, State, StateId, Tasklet, TaskletBody, Transition,
};
use sdfg::subset::Subset;
use sdfg::symbolic::{Expr, Symbol};
use sdfg::tasklet::{Code, Dialect};

use super::SdfgLowering;
use super::dynamic_sizes::{chain, users_of, varies};

impl SdfgLowering<'_> {
    /// Adds a fill for every container in the list.
    pub(super) fn fill_with_zeros(&mut self, containers: &BTreeSet<ContainerId>) {
        if containers.is_empty() {
            return;
        }
        // The text is fixed, so it parses.
        let Ok(zero) = Code::parse("o = 0", Dialect::Python) else { return };
        for id in containers {
            // A fill at the begin is in a state of its own, which a lifetime of one state does not outlast.
            let container = self.sdfg.container_mut(*id);
            if container.lifetime == Lifetime::State {
                container.lifetime = Lifetime::Scope;
            }
        }
        let owning_scopes = owning_scopes(&self.sdfg);
        let assigned: BTreeSet<Symbol> = assigned_symbols(&self.sdfg).into_iter().collect();
        let mut at_begin = Vec::new();
        for id in containers {
            let shape = self.shape_of(*id);
            if let Some((state, scope)) = owning_scopes.get(id).copied() {
                fill_in_scope(self.sdfg.state_mut(state), *id, scope, &shape, zero.clone());
            } else if varies(&shape, &assigned)
                && let Some(state) = self.state_before_users(*id)
            {
                fill(self.sdfg.state_mut(state), *id, &shape, zero.clone());
            } else {
                at_begin.push(*id);
            }
        }
        if at_begin.is_empty() {
            return;
        }
        let mut state = State::new(self.fresh_label("zero_fill"));
        for id in at_begin {
            fill(&mut state, id, &self.shape_of(id), zero.clone());
        }
        let body = self.sdfg.body();
        let first = self.sdfg.region(body).start;
        let (begin, _) = self.sdfg.add_state(body, state);
        if let Some(dst) = first {
            self.sdfg.add_transition(Transition {
                src: begin,
                dst,
                condition: None,
                assignments: Vec::new(),
                loc: None,
            });
        }
        self.sdfg.region_mut(body).start = Some(begin);
    }

    /// A new state before those that use a container, if these follow each other.
    fn state_before_users(&mut self, id: ContainerId) -> Option<StateId> {
        let first: BlockId = *chain(&self.sdfg, &users_of(&self.sdfg, id))?.first()?;
        let mut editor = Editor::of_draft(&mut self.sdfg);
        let before = editor.insert_state_before(first).ok()?;
        editor.commit().ok()?;
        match self.sdfg.block(before).kind {
            BlockKind::State(state) => Some(state),
            _ => None,
        }
    }

    fn shape_of(&self, id: ContainerId) -> Vec<Expr> {
        self.sdfg.container(id).shape().to_vec()
    }
}

/// Adds a map that writes zero to every element; the node of the container behind it.
fn fill(state: &mut State, container: ContainerId, shape: &[Expr], zero: Code) -> (NodeId, NodeId) {
    let mut add = |label: &str, kind| {
        let label = state.fresh_label(label);
        state.add_node(Node { label, kind, loc: None })
    };
    let tasklet =
        Tasklet { inputs: Vec::new(), outputs: vec![Connector::new("o")], body: TaskletBody::Code(zero) };
    let access = add("zeroed", NodeKind::Access(container));
    let write = add("zero", NodeKind::Tasklet(tasklet));
    let params: Vec<Symbol> = (0..shape.len()).map(|at| Symbol::of(&format!("__zero{at}"))).collect();
    let element = Subset::element(&params.iter().cloned().map(Expr::symbol).collect::<Vec<_>>());
    let memlet = Memlet::write(Access::elements(container, element));
    let edge = |src, src_connector: Option<String>, dst, dst_connector: Option<String>, memlet| Edge {
        src,
        src_connector,
        dst,
        dst_connector,
        memlet,
        loc: None,
    };
    if params.is_empty() {
        state.add_edge(edge(write, Some("o".into()), access, None, memlet));
        return (write, access);
    }
    let entry = add("fill", NodeKind::MapEntry(Map::new(params, Subset::full(shape))));
    let label = state.node(entry).label.clone();
    let exit = state.add_node(Node { label, kind: NodeKind::MapExit(ScopeExit { entry }), loc: None });
    let whole = Memlet::write(Access::elements(container, Subset::full(shape)));
    state.add_edge(edge(entry, None, write, None, Memlet::order()));
    state.add_edge(edge(write, Some("o".into()), exit, Some(Port::In("o").into()), memlet));
    state.add_edge(edge(exit, Some(Port::Out("o").into()), access, None, whole));
    (entry, access)
}

/// Adds a fill to a scope, before everything that writes the container there.
fn fill_in_scope(state: &mut State, container: ContainerId, scope: NodeId, shape: &[Expr], zero: Code) {
    let tree = ScopeTree::of(state);
    let entry_of: BTreeMap<NodeId, NodeId> =
        state.nodes().filter_map(|(id, node)| Some((id, node.kind.exit_of()?))).collect();
    let mut users = BTreeSet::new();
    for node in state.accesses_of(container).collect::<Vec<_>>() {
        let around = state.in_edges(node).into_iter().map(|edge| state.edge(edge).src);
        let before: Vec<NodeId> = around.filter(|src| *src != scope).collect();
        users.extend(before.into_iter().map(|src| entry_of.get(&src).copied().unwrap_or(src)));
        if state.in_edges(node).iter().all(|edge| state.edge(*edge).src == scope) {
            users.insert(node);
        }
    }
    // Users deeper inside are reached through the scopes that hold them.
    let users: BTreeSet<NodeId> = users
        .into_iter()
        .map(|user| tree.enclosing(user).take_while(|around| *around != scope).last().unwrap_or(user))
        .collect();
    let (first, access) = fill(state, container, shape, zero);
    let order = |src, dst| Edge {
        src,
        src_connector: None,
        dst,
        dst_connector: None,
        memlet: Memlet::order(),
        loc: None,
    };
    state.add_edge(order(scope, first));
    for user in users {
        state.add_edge(order(access, user));
    }
}
