//! Other names for containers and connectors.

use std::collections::BTreeMap;

use super::substitute::{names_of, rename_in_tasklet};
use super::{EditError, atomically, expect_node, expect_state, names};
use crate::ir::{BlockKind, ContainerId, LibraryNode, NodeId, NodeKind, Sdfg, StateId};
use crate::syntax::Expression;
use crate::tasklet::Direction;

/// Gives a container another name, in its declaration and in conditions and assignments. Memlets and access nodes refer to it
/// by its id.
///
/// The name of an argument is a part of the interface: of a nested SDFG, rename the connector instead, by
/// [`rename_connector`].
///
/// # Errors
/// [`EditError::NoContainer`], [`EditError::InvalidName`], and [`EditError::NameTaken`] if a container or symbol has the
/// name.
pub fn rename_container(sdfg: &mut Sdfg, id: ContainerId, to: &str) -> Result<(), EditError> {
    let from = sdfg.get_container(id).ok_or(EditError::NoContainer(id))?.name.clone();
    if from == to {
        return Ok(());
    }
    names::check(to)?;
    if names::used(sdfg).contains(to) {
        return Err(EditError::NameTaken { name: to.to_owned() });
    }
    sdfg.container_mut(id).name = to.to_owned();
    let values = BTreeMap::from([(from, Expression::name(to))]);
    let rename = |expression: &mut Expression| *expression = expression.replace_names(&values);
    let blocks: Vec<_> = sdfg.blocks().map(|(id, _)| id).collect();
    for block in blocks {
        match &mut sdfg.block_mut(block).kind {
            BlockKind::State(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
            BlockKind::Loop(repeated) => {
                rename(&mut repeated.condition);
                repeated.init.iter_mut().chain(&mut repeated.update).for_each(rename);
            }
            BlockKind::Branch(branch) => branch.arms.iter_mut().for_each(|(condition, _)| rename(condition)),
        }
    }
    let transitions: Vec<_> = sdfg.transitions().map(|(id, _)| id).collect();
    for transition in transitions {
        let transition = sdfg.transition_mut(transition);
        let values = transition.assignments.iter_mut().map(|(_, value)| value);
        values.chain(&mut transition.condition).for_each(rename);
    }
    consume_conditions(sdfg, &rename);
    Ok(())
}

fn consume_conditions(sdfg: &mut Sdfg, rename: &dyn Fn(&mut Expression)) {
    let mut found: Vec<(StateId, NodeId)> = Vec::new();
    for (state, graph) in sdfg.states() {
        let conditional =
            |kind: &NodeKind| matches!(kind, NodeKind::ConsumeEntry(consume) if consume.condition.is_some());
        found.extend(graph.nodes().filter(|(_, node)| conditional(&node.kind)).map(|(id, _)| (state, id)));
    }
    for (state, id) in found {
        if let NodeKind::ConsumeEntry(consume) = &mut sdfg.state_mut(state).node_mut(id).kind {
            consume.condition.iter_mut().for_each(rename);
        }
    }
}

/// Gives a connector of a code node another name: at its edges, and in its code or in the SDFG that it calls. An input and
/// an output of one name are one argument of a nested SDFG and are renamed together.
///
/// # Errors
/// [`EditError::NoConnector`], [`EditError::InvalidName`], and [`EditError::NameTaken`] if the node or its code uses the
/// name.
pub fn rename_connector(
    sdfg: &mut Sdfg,
    state: StateId,
    node: NodeId,
    from: &str,
    to: &str,
) -> Result<(), EditError> {
    let graph = expect_state(sdfg, state)?;
    let found = expect_node(graph, node)?;
    let label = found.label.clone();
    let connectors = |name: &str| {
        found.kind.inputs().iter().chain(found.kind.outputs()).any(|connector| connector.name == name)
    };
    if !connectors(from) {
        return Err(EditError::NoConnector { label, connector: from.to_owned() });
    }
    names::check(to)?;
    let taken = match &found.kind {
        NodeKind::Tasklet(tasklet) => {
            let (read, own) = names_of(tasklet);
            read.contains(to) || own.contains(to)
        }
        NodeKind::Access(_)
        | NodeKind::MapEntry(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeEntry(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Nested(_)
        | NodeKind::Reduce(_) => connectors(to),
        NodeKind::Library(library) => library.binds(to),
    };
    if taken {
        return Err(EditError::NameTaken { name: to.to_owned() });
    }
    atomically(sdfg, |sdfg| {
        let graph = sdfg.state_mut(state);
        match &mut graph.node_mut(node).kind {
            NodeKind::Tasklet(tasklet) => rename_in_tasklet(tasklet, from, to, &label)?,
            NodeKind::Nested(nested) => {
                match nested.sdfg.find_container(from) {
                    Some(container) => rename_container(&mut nested.sdfg, container, to)?,
                    None => {
                        let symbol = crate::symbolic::Symbol::new(from)
                            .map_err(|_| EditError::InvalidName { name: from.to_owned() })?;
                        super::rename_symbol(&mut nested.sdfg, &symbol, to)?;
                    }
                }
                let all = nested.inputs.iter_mut().chain(&mut nested.outputs);
                all.filter(|connector| connector.name == from).for_each(|c| c.name = to.to_owned());
            }
            NodeKind::Library(library) => {
                let all = library.inputs.iter_mut().chain(&mut library.outputs);
                all.filter(|connector| connector.name == from).for_each(|c| c.name = to.to_owned());
                let renamed = BTreeMap::from([(from.to_owned(), Expression::name(to))]);
                for (property, value) in &mut library.properties {
                    let Some(name) = LibraryNode::assigned(property) else { continue };
                    if name == from {
                        *property = format!("{}{to}", LibraryNode::CODE);
                    }
                    *value = value.replace_names(&renamed);
                }
            }
            NodeKind::Access(_)
            | NodeKind::MapEntry(_)
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Reduce(_) => {}
        }
        for direction in [Direction::In, Direction::Out] {
            for edge in crate::analysis::connector_edges(graph, node, direction, from) {
                let found = graph.edge(edge);
                let (mut src, mut dst) = (found.src_connector.clone(), found.dst_connector.clone());
                match direction {
                    Direction::In => dst = Some(to.to_owned()),
                    Direction::Out => src = Some(to.to_owned()),
                }
                graph.set_connectors(edge, src, dst);
            }
        }
        Ok(())
    })
}
