//! Reduction of containers and symbols: fewer and smaller ones.

use std::collections::BTreeMap;

use sdfg_graph::ir::draft::{DraftSdfg, DraftState};
use sdfg_graph::ir::{
    BlockKind, ContainerId, ContainerKind, Edge, Flow, Layout, NodeId, NodeKind, Sdfg, StateId,
};
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::syntax::{Expression, ExpressionKind};

use super::code::rewrite;
use super::dataflow::{remove_edge, remove_node};
use super::step::{Change, edited};

/// Containers with all their uses in states.
pub(super) fn without_containers(sdfg: &Sdfg) -> Vec<Change> {
    let containers = sdfg.containers();
    containers
        .map(|(id, container)| {
            let what = format!("without the container `{}`", container.name);
            Change::new(what, move |sdfg| remove_container(sdfg, id))
        })
        .collect()
}

fn remove_container(sdfg: &mut Sdfg, id: ContainerId) -> Option<()> {
    sdfg.get_container(id)?;
    let states: Vec<StateId> = sdfg.states().map(|(state, _)| state).collect();
    for state in states {
        let uses: Vec<NodeId> = sdfg.state(state).accesses_of(id).collect();
        for node in uses.into_iter().rev() {
            if sdfg.state(state).get_node(node).is_some() {
                remove_node(sdfg, state, node)?;
            }
        }
        // What is left would name a container that is gone.
        let is_use = |access: &sdfg_graph::ir::Access| access.container == id;
        if sdfg.state(state).edges().any(|(_, edge)| edge.memlet.accesses().any(is_use)) {
            return None;
        }
    }
    sdfg.remove_container(id).map(|_| ())
}

/// Views and references with memory of their own, so that what they named may go.
pub(super) fn without_aliases(sdfg: &Sdfg) -> Vec<Change> {
    let aliases = sdfg.containers().filter(|(_, container)| container.is_alias());
    aliases
        .map(|(id, container)| {
            let what = format!("an array in the place of `{}`", container.name);
            Change::new(what, move |sdfg| own_memory(sdfg, id))
        })
        .collect()
}

fn own_memory(sdfg: &mut Sdfg, id: ContainerId) -> Option<()> {
    sdfg.get_container(id)?;
    let container = sdfg.container_mut(id);
    let (ContainerKind::View(layout) | ContainerKind::Reference(layout)) = &container.kind else {
        return None;
    };
    container.kind = ContainerKind::Array(layout.clone());
    container.transient = false;
    let states: Vec<StateId> = sdfg.states().map(|(state, _)| state).collect();
    for state in states {
        let graph = sdfg.state(state);
        let ends = |edge: &Edge| [edge.src, edge.dst].map(|end| graph.node(end).kind.container());
        let sets = |edge: &Edge| {
            matches!(&edge.memlet.flow, Flow::Bind(target) if target.container != id)
                && ends(edge).contains(&Some(id))
        };
        let set: Vec<_> = graph.edges().filter(|(_, edge)| sets(edge)).map(|(edge, _)| edge).collect();
        for edge in set {
            remove_edge(sdfg, state, edge)?;
        }
    }
    Some(())
}

/// Symbols without their declarations, and with a small number in their place.
pub(super) fn without_symbols(sdfg: &Sdfg) -> Vec<Change> {
    let mut changes = Vec::new();
    for (symbol, _) in sdfg.symbols() {
        let unused = symbol.clone();
        let what = format!("without the symbol `{symbol}`");
        changes.push(Change::new(what, move |sdfg| sdfg.undeclare_symbol(&unused).map(|_| ())));
        for value in [1, 2, 4] {
            let values = BTreeMap::from([(symbol.clone(), Expr::int(value))]);
            let what = format!("{value} in the place of the symbol `{symbol}`");
            changes.push(Change::new(what, move |sdfg| edited(sdfg, |editor| editor.substitute(&values))));
        }
    }
    for (state, graph) in sdfg.states() {
        for (id, node) in graph.nodes() {
            let NodeKind::Nested(nested) = &node.kind else { continue };
            for (symbol, value) in &nested.symbol_mapping {
                let (symbol, value) = (symbol.clone(), value.as_int().unwrap_or(1));
                let what = format!("{value} in the place of the symbol `{symbol}` of `{}`", node.label);
                changes.push(Change::new(what, move |sdfg| fix_mapped(sdfg, state, id, &symbol, value)));
            }
        }
    }
    changes
}

/// Puts a number in the place of a symbol that a call gives a value to.
fn fix_mapped(sdfg: &mut Sdfg, state: StateId, node: NodeId, symbol: &Symbol, value: i64) -> Option<()> {
    sdfg.get_state(state)?.get_node(node)?;
    let NodeKind::Nested(nested) = &mut sdfg.state_mut(state).node_mut(node).kind else { return None };
    nested.symbol_mapping.retain(|(other, _)| other != symbol);
    let values = BTreeMap::from([(symbol.clone(), Expr::int(value))]);
    edited(&mut nested.sdfg, |editor| editor.substitute(&values))
}

/// Containers with one dimension less; an array without dimensions is a scalar.
pub(super) fn without_dimensions(sdfg: &Sdfg) -> Vec<Change> {
    let mut changes = Vec::new();
    for (id, container) in sdfg.containers() {
        for dimension in 0..container.shape().len() {
            let what = format!("`{}` without dimension {dimension}", container.name);
            changes.push(Change::new(what, move |sdfg| remove_dimension(sdfg, id, dimension)));
        }
    }
    changes
}

fn remove_dimension(sdfg: &mut Sdfg, id: ContainerId, dimension: usize) -> Option<()> {
    sdfg.get_container(id)?;
    let container = sdfg.container_mut(id);
    let name = container.name.clone();
    if dimension >= container.shape().len() {
        return None;
    }
    match &mut container.kind {
        ContainerKind::Scalar => return None,
        ContainerKind::Stream { shape, .. } => {
            shape.remove(dimension);
        }
        ContainerKind::Array(layout) => {
            layout.shape.remove(dimension);
            let shape = std::mem::take(&mut layout.shape);
            let is_scalar = shape.is_empty();
            container.kind =
                if is_scalar { ContainerKind::Scalar } else { ContainerKind::Array(Layout::packed(shape)) };
        }
        ContainerKind::View(layout) | ContainerKind::Reference(layout) => {
            layout.shape.remove(dimension);
            *layout = Layout::packed(std::mem::take(&mut layout.shape));
        }
    }
    let states: Vec<StateId> = sdfg.states().map(|(state, _)| state).collect();
    for state in states {
        let graph = sdfg.state_mut(state);
        let edges: Vec<_> = graph.edges().map(|(edge, _)| edge).collect();
        for edge in edges {
            let memlet = graph.memlet_mut(edge);
            let exact = memlet.accesses().next().is_some_and(|access| access.volume() == memlet.volume);
            for access in memlet.accesses_mut().filter(|access| access.container == id) {
                let subset = access.subset_mut();
                if dimension >= subset.rank() {
                    return None;
                }
                subset.0.remove(dimension);
            }
            let volume = memlet.accesses().next().map(|access| access.volume());
            if let Some(volume) = volume.filter(|_| exact) {
                memlet.volume = volume;
            }
        }
    }
    in_control_flow(sdfg, &|expression| without_index(expression, &name, dimension));
    Some(())
}

fn without_index(expression: &Expression, name: &str, dimension: usize) -> Option<Expression> {
    let ExpressionKind::Subscript { base, indices } = &expression.kind else { return None };
    if base.text != name || dimension >= indices.len() {
        return None;
    }
    let mut indices = indices.clone();
    indices.remove(dimension);
    if indices.is_empty() {
        return Some(Expression::name(name));
    }
    let kind = ExpressionKind::Subscript { base: base.clone(), indices };
    Some(Expression { kind, span: expression.span })
}

/// Rewrites all expressions of control flow.
fn in_control_flow(sdfg: &mut Sdfg, change: &dyn Fn(&Expression) -> Option<Expression>) {
    let new = |expression: &Expression| rewrite(expression, &mut |inner| change(inner));
    let blocks: Vec<_> = sdfg.blocks().map(|(id, _)| id).collect();
    for id in blocks {
        match &mut sdfg.block_mut(id).kind {
            BlockKind::Loop(repeated) => {
                repeated.init = repeated.init.as_ref().map(new);
                repeated.condition = new(&repeated.condition);
                repeated.update = repeated.update.as_ref().map(new);
            }
            BlockKind::Branch(branch) => {
                branch.arms.iter_mut().for_each(|(condition, _)| *condition = new(condition));
            }
            BlockKind::State(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
        }
    }
    let transitions: Vec<_> = sdfg.transitions().map(|(id, _)| id).collect();
    for id in transitions {
        let transition = sdfg.transition_mut(id);
        transition.condition = transition.condition.as_ref().map(new);
        transition.assignments.iter_mut().for_each(|(_, value)| *value = new(value));
    }
}

/// Containers with a smaller extent.
pub(super) fn smaller_extents(sdfg: &Sdfg) -> Vec<Change> {
    let mut changes = Vec::new();
    for (id, container) in sdfg.containers() {
        for (dimension, extent) in container.shape().iter().enumerate() {
            let half = extent.as_int().map(|extent| extent / 2).filter(|half| *half > 4);
            for smaller in [1, 2, 4].into_iter().chain(half) {
                let what = format!("`{}` with extent {smaller} in dimension {dimension}", container.name);
                changes.push(Change::new(what, move |sdfg| set_extent(sdfg, id, dimension, smaller)));
            }
        }
    }
    changes
}

fn set_extent(sdfg: &mut Sdfg, id: ContainerId, dimension: usize, extent: i64) -> Option<()> {
    sdfg.get_container(id)?;
    let kind = &mut sdfg.container_mut(id).kind;
    match kind {
        ContainerKind::Scalar => return None,
        ContainerKind::Stream { shape, .. } => *shape.get_mut(dimension)? = Expr::int(extent),
        ContainerKind::Array(layout) | ContainerKind::View(layout) | ContainerKind::Reference(layout) => {
            *layout.shape.get_mut(dimension)? = Expr::int(extent);
            *layout = Layout::packed(std::mem::take(&mut layout.shape));
        }
    }
    Some(())
}
