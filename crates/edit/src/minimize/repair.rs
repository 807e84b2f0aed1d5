//! Repair of code whose edges were removed: inputs become zero, and unused outputs are still computed.
//!
//! All changes that remove edges share this module.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::analysis::TaskletConnectors;
use sdfg_graph::ir::draft::{DraftSdfg, DraftState};
use sdfg_graph::ir::{Connector, NestedSdfg, NodeId, NodeKind, Sdfg, State, StateId, Tasklet, TaskletBody};
use sdfg_language::dtype::ElementType;
use sdfg_language::symbolic::Expr;
use sdfg_language::syntax::{Expression, Statement, StatementKind};
use sdfg_language::tasklet::Code;

use super::code::rewrite_block;

/// Element types of the connectors of tasklets, which the memlets at them tell.
pub(super) struct Types(BTreeMap<(NodeId, String), ElementType>);

impl Types {
    pub(super) fn of(sdfg: &Sdfg, state: &State) -> Self {
        let mut types = BTreeMap::new();
        for (id, node) in state.nodes() {
            let NodeKind::Tasklet(tasklet) = &node.kind else { continue };
            let found = TaskletConnectors::of(sdfg, state, id, tasklet, []);
            for (name, connector) in found.environment.connectors() {
                types.insert((id, name.to_owned()), connector.element);
            }
        }
        Types(types)
    }
}

/// Takes connectors without edges from tasklets and calls.
pub(super) fn repair(sdfg: &mut Sdfg, state: StateId, types: &Types) {
    let graph = sdfg.state(state);
    let mut changed = Vec::new();
    for (id, node) in graph.nodes() {
        let (inputs, outputs) = dangling(graph, id);
        if inputs.is_empty() && outputs.is_empty() {
            continue;
        }
        match &node.kind {
            NodeKind::Tasklet(tasklet) => {
                let zeros = inputs.iter().map(|name| (name.clone(), zero(types, id, name))).collect();
                let repaired = without_connectors(tasklet, &zeros, &outputs);
                changed.extend(repaired.map(|tasklet| (id, NodeKind::Tasklet(tasklet))));
            }
            NodeKind::Nested(nested) => {
                let repaired = without_arguments(nested, &inputs, &outputs);
                changed.push((id, NodeKind::Nested(Box::new(repaired))));
            }
            NodeKind::Access(_)
            | NodeKind::MapEntry(_)
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => {}
        }
    }
    for (id, kind) in changed {
        sdfg.state_mut(state).node_mut(id).kind = kind;
    }
}

fn dangling(state: &State, id: NodeId) -> (BTreeSet<String>, BTreeSet<String>) {
    let names = |connectors: &[Connector]| -> BTreeSet<String> {
        connectors.iter().map(|connector| connector.name.clone()).collect()
    };
    let kind = &state.node(id).kind;
    let (mut inputs, mut outputs) = (names(kind.inputs()), names(kind.outputs()));
    for edge in state.in_edges(id) {
        inputs.retain(|name| state.edge(edge).dst_connector.as_ref() != Some(name));
    }
    for edge in state.out_edges(id) {
        outputs.retain(|name| state.edge(edge).src_connector.as_ref() != Some(name));
    }
    (inputs, outputs)
}

/// A zero of the type that the input has.
fn zero(types: &Types, id: NodeId, name: &str) -> Expression {
    match types.0.get(&(id, name.to_owned())) {
        Some(element) => Expression::call(&element.to_string(), vec![Expression::integer(0)]),
        None => Expression::integer(0),
    }
}

fn without_connectors(
    tasklet: &Tasklet,
    zeros: &BTreeMap<String, Expression>,
    outputs: &BTreeSet<String>,
) -> Option<Tasklet> {
    let TaskletBody::Code(code) = &tasklet.body else { return None };
    // An output that is no connector any more is a local, unless it was indexed.
    let is_lost = |statement: &Statement| match &statement.kind {
        StatementKind::Assign { target, .. } | StatementKind::Augmented { target, .. } => {
            !target.indices.is_empty() && outputs.contains(&target.name.text)
        }
        StatementKind::If { .. }
        | StatementKind::For { .. }
        | StatementKind::While { .. }
        | StatementKind::Pass => false,
    };
    let block =
        rewrite_block(code.block(), &mut |statement| is_lost(statement).then(Vec::new), &mut |expression| {
            zeros.get(expression.own_name()?).cloned()
        });
    let kept = |connectors: &[Connector], gone: &dyn Fn(&String) -> bool| {
        connectors.iter().filter(|connector| !gone(&connector.name)).cloned().collect()
    };
    Some(Tasklet {
        inputs: kept(&tasklet.inputs, &|name| zeros.contains_key(name)),
        outputs: kept(&tasklet.outputs, &|name| outputs.contains(name)),
        body: TaskletBody::Code(Code::from_block(&block, code.dialect()).ok()?),
    })
}

/// Arguments without edges become transients, and symbols without edges are zero.
fn without_arguments(
    nested: &NestedSdfg,
    inputs: &BTreeSet<String>,
    outputs: &BTreeSet<String>,
) -> NestedSdfg {
    let mut nested = nested.clone();
    nested.inputs.retain(|connector| !inputs.contains(&connector.name));
    nested.outputs.retain(|connector| !outputs.contains(&connector.name));
    let bound: BTreeSet<String> =
        nested.inputs.iter().chain(&nested.outputs).map(|connector| connector.name.clone()).collect();
    for name in inputs.union(outputs).filter(|name| !bound.contains(*name)) {
        match nested.sdfg.find_container(name) {
            Some(container) => nested.sdfg.container_mut(container).transient = true,
            None => {
                if let Ok(symbol) = sdfg_language::symbolic::Symbol::new(name) {
                    nested.symbol_mapping.push((symbol, Expr::zero()));
                }
            }
        }
    }
    nested
}
