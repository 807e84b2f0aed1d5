//! Substitution of symbols and connectors in tasklet code.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::ir::draft::DraftState;
use sdfg_graph::ir::{NodeId, NodeKind, State, Tasklet, TaskletBody};
use sdfg_language::symbolic::Symbol;
use sdfg_language::syntax::{Expression, visit_block, visit_bound_names};
use sdfg_language::tasklet::Dialect;

use super::super::{EditError, names};
use super::Replacements;

/// Replaces symbols in a tasklet; connectors and locals that would capture what is inserted get other names.
pub(super) fn substitute(
    state: &mut State,
    id: NodeId,
    replacements: &Replacements,
) -> Result<(), EditError> {
    let label = state.node(id).label.clone();
    let NodeKind::Tasklet(tasklet) = &state.node(id).kind else { return Ok(()) };
    let (read, own) = names_of(tasklet);
    let replaced: Vec<Symbol> = read
        .iter()
        .filter(|name| !own.contains(*name))
        .filter_map(|name| Symbol::new(name).ok())
        .filter(|symbol| replacements.get(symbol).is_some())
        .collect();
    if replaced.is_empty() {
        return Ok(());
    }
    let inserted: BTreeSet<String> = replaced
        .iter()
        .filter_map(|symbol| replacements.get(symbol))
        .flat_map(|value| value.free_symbols())
        .map(|symbol| symbol.as_str().to_owned())
        .collect();
    let mut tasklet = tasklet.clone();
    let mut taken: BTreeSet<String> = read.union(&own).cloned().chain(inserted.iter().cloned()).collect();
    let mut renamed = BTreeMap::new();
    for name in own.intersection(&inserted) {
        let new = names::fresh(name, &mut taken);
        rename_in_tasklet(&mut tasklet, name, &new, &label)?;
        renamed.insert(name.clone(), new);
    }
    let dialect = match &tasklet.body {
        TaskletBody::Code(code) => code.dialect(),
        TaskletBody::External(_) => Dialect::Python,
    };
    let values = replacements.values(replaced, false, dialect, &label)?;
    replace(&mut tasklet, &values, &label)?;
    for edge in state.in_edges(id).into_iter().chain(state.out_edges(id)) {
        let found = state.edge(edge);
        let new = |at: NodeId, connector: &Option<String>| match connector {
            Some(name) if at == id => Some(renamed.get(name).unwrap_or(name).clone()),
            Some(_) | None => connector.clone(),
        };
        let (src, dst) = (new(found.src, &found.src_connector), new(found.dst, &found.dst_connector));
        state.set_connectors(edge, src, dst);
    }
    state.node_mut(id).kind = NodeKind::Tasklet(tasklet);
    Ok(())
}

/// Gives a connector or local of a tasklet another name that it does not use yet, in its declarations and its code.
pub(in super::super) fn rename_in_tasklet(
    tasklet: &mut Tasklet,
    from: &str,
    to: &str,
    label: &str,
) -> Result<(), EditError> {
    for connector in tasklet.inputs.iter_mut().chain(&mut tasklet.outputs) {
        if connector.name == from {
            connector.name = to.to_owned();
        }
    }
    if let TaskletBody::External(call) = &mut tasklet.body
        && call.result.as_deref() == Some(from)
    {
        call.result = Some(to.to_owned());
    }
    replace(tasklet, &BTreeMap::from([(from.to_owned(), Expression::name(to))]), label)
}

/// Names that a tasklet reads, and those that it defines: connectors and locals.
pub(in super::super) fn names_of(tasklet: &Tasklet) -> (BTreeSet<String>, BTreeSet<String>) {
    let connectors = tasklet.inputs.iter().chain(&tasklet.outputs);
    let mut own: BTreeSet<String> = connectors.map(|connector| connector.name.clone()).collect();
    let mut read = BTreeSet::new();
    let mut add = |expression: &Expression| read.extend(expression.own_name().map(str::to_owned));
    match &tasklet.body {
        TaskletBody::Code(code) => {
            visit_block(code.block(), &mut add);
            visit_bound_names(code.block(), &mut |name| {
                own.insert(name.text.clone());
            });
        }
        TaskletBody::External(call) => {
            call.arguments.iter().for_each(|argument| argument.visit(&mut add));
        }
    }
    (read, own)
}

fn replace(
    tasklet: &mut Tasklet,
    values: &BTreeMap<String, Expression>,
    label: &str,
) -> Result<(), EditError> {
    match &mut tasklet.body {
        TaskletBody::Code(code) => {
            *code = code
                .replace_names(values)
                .map_err(|_| EditError::InvalidName { name: format!("{label}: {code}") })?;
        }
        TaskletBody::External(call) => {
            for argument in &mut call.arguments {
                *argument = argument.replace_names(values);
            }
        }
    }
    Ok(())
}
