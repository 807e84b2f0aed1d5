//! Rule: direction of data. Nothing writes a constant, or an input of a call, under any name.
//!
//! An alias counts as its target if every binding that may have set it leads there. Uncertain cases are
//! accepted.

use std::collections::BTreeSet;

use sdfg_graph::analysis::accesses::{AccessSets, consume_condition_reads, control_flow_reads};
use sdfg_graph::analysis::bound_alias;
use sdfg_graph::diagnostic::{Code, Element, ElementPath, Secondary};
use sdfg_graph::ir::{
    Access, BlockKind, ContainerId, ContainerKind, EdgeId, NestedSdfg, NodeId, Sdfg, State, StateId,
};

use super::site::{Findings, Site};

/// Constants are never written, by a memlet of the state or by what it calls.
pub(super) fn written_constant(site: &Site<'_>, id: EdgeId, findings: &mut Findings) {
    let Some(access) = site.state.edge(id).memlet.write_access() else { return };
    let Some(constant) = constant_behind(site, access.container) else { return };
    let message = if constant == access.container {
        format!("`{}` is constant and cannot be written", site.name(constant))
    } else {
        format!(
            "`{}` names the constant `{}`, which cannot be written",
            site.name(access.container),
            site.name(constant)
        )
    };
    findings.push(site.edge_error(Code::ConstantWritten, id, message));
}

/// A constant that a name stands for, if it stands for nothing else.
fn constant_behind(site: &Site<'_>, container: ContainerId) -> Option<ContainerId> {
    let roots = roots(site.sdfg, site.id, container);
    let is_constant = |id: &ContainerId| site.sdfg.container(*id).constant.is_some();
    roots.first().copied().filter(|_| roots.iter().all(is_constant))
}

/// The containers of their own memory that a name may stand for in a state.
pub(super) fn roots(sdfg: &Sdfg, state: StateId, container: ContainerId) -> BTreeSet<ContainerId> {
    let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let mut waiting = vec![(state, container)];
    while let Some((state, container)) = waiting.pop() {
        if !seen.insert((state, container)) {
            continue;
        }
        let declared = sdfg.container(container);
        if !declared.is_alias() {
            found.insert(container);
            continue;
        }
        // A view is bound anew in each state that uses it, a reference by any state before.
        let is_view = matches!(declared.kind, ContainerKind::View(_));
        for (id, content) in sdfg.states().filter(|(id, _)| !is_view || *id == state) {
            waiting.extend(targets(content, container).map(|target| (id, target)));
        }
    }
    found
}

/// Bindings of an alias by the edges of a state.
fn targets(state: &State, alias: ContainerId) -> impl Iterator<Item = ContainerId> + '_ {
    let bound = state.edges().filter_map(|(edge, _)| bound_alias(state, edge));
    bound.filter(move |(found, _)| *found == alias).map(|(_, target)| target.container)
}

/// Arguments of a call are used as its connectors say: what is written is an output, what is only read an input.
pub(super) fn arguments(site: &Site<'_>, id: NodeId, nested: &NestedSdfg, findings: &mut Findings) {
    let has_input = |name: &str| nested.inputs.iter().any(|connector| connector.name == name);
    let has_output = |name: &str| nested.outputs.iter().any(|connector| connector.name == name);
    for (argument, container) in nested.sdfg.arguments() {
        let name = container.name.as_str();
        if has_input(name) && !has_output(name) {
            if let Some(place) = accessing(&nested.sdfg, argument, Side::Write) {
                written_input(site, id, nested, name, place, findings);
            }
        } else if has_output(name) && !has_input(name) {
            read_output(site, id, nested, argument, findings);
        }
    }
}

#[derive(Clone, Copy)]
enum Side {
    Read,
    Write,
}

/// An edge that reads or writes an argument for certain.
fn accessing(sdfg: &Sdfg, argument: ContainerId, side: Side) -> Option<(StateId, EdgeId)> {
    let only = BTreeSet::from([argument]);
    let accesses =
        |access: &Access, state| access.container == argument || roots(sdfg, state, access.container) == only;
    sdfg.states().find_map(|(state, content)| {
        let (edge, _) = content.edges().find(|(_, edge)| {
            let access = match side {
                Side::Read => edge.memlet.read_access(),
                Side::Write => edge.memlet.write_access(),
            };
            access.is_some_and(|access| accesses(access, state))
        })?;
        Some((state, edge))
    })
}

fn written_input(
    site: &Site<'_>,
    id: NodeId,
    nested: &NestedSdfg,
    name: &str,
    place: (StateId, EdgeId),
    findings: &mut Findings,
) {
    let into = site.state.in_edges(id).into_iter();
    let edge = into
        .map(|edge| (edge, site.state.edge(edge)))
        .find(|(_, edge)| edge.dst_connector.as_deref() == Some(name));
    let bound = edge.and_then(|(id, edge)| Some((id, edge.memlet.read_access()?.container)));
    let constant = bound.and_then(|(edge, bound)| Some((edge, constant_behind(site, bound)?)));
    let error = match constant {
        Some((edge, constant)) => {
            let message = format!(
                "`{}` is constant and cannot be written, as `{}` does under the name `{name}`",
                site.name(constant),
                nested.sdfg.name
            );
            site.edge_error(Code::ConstantWritten, edge, message)
        }
        None => {
            let message = format!("`{name}` is only an input, and `{}` writes it", nested.sdfg.name);
            site.node_error(Code::NestedConnector, id, Some(name), message).suggest(format!(
                "make `{name}` an output as well, connected to the same part, or write another container"
            ))
        }
    };
    findings.push(error.also(inside(site, id, &nested.sdfg, place, "written here")));
}

/// An argument that is an output alone may be read after it was written, but not if nothing writes it.
fn read_output(
    site: &Site<'_>,
    id: NodeId,
    nested: &NestedSdfg,
    argument: ContainerId,
    findings: &mut Findings,
) {
    let sdfg = &nested.sdfg;
    if AccessSets::of_region(sdfg, sdfg.body()).through_aliases(sdfg).writes.contains(&argument) {
        return;
    }
    let place = accessing(sdfg, argument, Side::Read);
    let by_conditions = || {
        control_flow_reads(sdfg).contains(&argument)
            || sdfg.states().any(|(_, state)| consume_condition_reads(sdfg, state, None).contains(&argument))
    };
    if place.is_none() && !by_conditions() {
        return;
    }
    let name = sdfg.container(argument).name.as_str();
    let message = format!("`{name}` is only an output, and `{}` reads and never writes it", sdfg.name);
    let error = site.node_error(Code::NestedConnector, id, Some(name), message);
    let error = error.suggest(format!("make `{name}` an input"));
    findings.push(match place {
        Some(place) => error.also(inside(site, id, sdfg, place, "read here")),
        None => error,
    });
}

/// An edge of what a node calls.
fn inside(
    site: &Site<'_>,
    id: NodeId,
    sdfg: &Sdfg,
    (state, edge): (StateId, EdgeId),
    message: &str,
) -> Secondary {
    let content = sdfg.state(state);
    let block =
        sdfg.blocks().find(|(_, block)| matches!(block.kind, BlockKind::State(found) if found == state));
    let label = block.map_or(&content.label, |(_, block)| &block.label);
    let path: ElementPath = site.path.enter(&site.state.node(id).label).enter(label);
    Secondary {
        message: message.to_owned(),
        path: path.to(Element::edge(content, edge)),
        loc: content.edge(edge).loc.clone(),
    }
}
