//! Renames containers and connectors.

use std::collections::BTreeMap;

use sdfg_graph::analysis::connector_edges;
use sdfg_graph::ir::{ContainerId, LibraryNode, NodeId, NodeKind, StateId};
use sdfg_language::symbolic::Symbol;
use sdfg_language::syntax::Expression;
use sdfg_language::tasklet::Direction;

use super::editor::Editor;
use super::substitute::{names_of, rename_in_tasklet};
use super::{EditError, expect_node, names};

impl Editor<'_> {
    /// Gives a container another name, in its declaration and in conditions and assignments. Memlets and access nodes refer to
    /// it by its id.
    ///
    /// The name of an argument is a part of the interface: of a nested SDFG, rename the connector instead, by
    /// [`rename_connector`](Editor::rename_connector).
    ///
    /// # Errors
    /// [`EditError::NoContainer`], [`EditError::InvalidName`], and [`EditError::NameTaken`] if a container or symbol has the
    /// name.
    pub fn rename_container(&mut self, id: ContainerId, to: &str) -> Result<(), EditError> {
        let from = self.sdfg().get_container(id).ok_or(EditError::NoContainer(id))?.name.clone();
        if from == to {
            return Ok(());
        }
        names::check(to)?;
        if self.names().contains(to) {
            return Err(EditError::NameTaken { name: to.to_owned() });
        }
        self.set_container(id, |container| to.clone_into(&mut container.name));
        let values = BTreeMap::from([(from.clone(), Expression::name(to))]);
        let rename = |expression: &mut Expression| *expression = expression.replace_names(&values);
        let uses = |expression: &Expression| expression.names().contains(&from.as_str());
        let blocks: Vec<_> = self.sdfg().blocks().map(|(id, _)| id).collect();
        for block in blocks {
            if self.sdfg().block(block).kind.expressions().into_iter().any(uses) {
                self.set_block(block, |block| block.kind.expressions_mut().into_iter().for_each(rename));
            }
        }
        let transitions: Vec<_> = self.sdfg().transitions().map(|(id, _)| id).collect();
        for id in transitions {
            let found = self.sdfg().transition(id);
            let values = found.assignments.iter().map(|(_, value)| value);
            if values.chain(&found.condition).any(uses) {
                self.set_transition(id, |transition| {
                    transition.expressions_mut().for_each(rename);
                });
            }
        }
        self.rename_in_conditions(&uses, &rename);
        Ok(())
    }

    /// Renames in the conditions of consume scopes.
    fn rename_in_conditions(&mut self, uses: &dyn Fn(&Expression) -> bool, rename: &dyn Fn(&mut Expression)) {
        let mut found: Vec<(StateId, NodeId)> = Vec::new();
        for (state, graph) in self.sdfg().states() {
            let conditional = |kind: &NodeKind| matches!(kind, NodeKind::ConsumeEntry(consume) if consume.condition.as_ref().is_some_and(uses));
            found
                .extend(graph.nodes().filter(|(_, node)| conditional(&node.kind)).map(|(id, _)| (state, id)));
        }
        for (state, id) in found {
            let mut kind = self.graph(state).node(id).kind.clone();
            if let NodeKind::ConsumeEntry(consume) = &mut kind {
                consume.condition.iter_mut().for_each(rename);
            }
            self.set_kind(state, id, kind);
        }
    }

    /// Gives a connector of a code node another name: at its edges, and in its code or in the SDFG that it calls. An input and
    /// an output of one name are one argument of a nested SDFG and are renamed together.
    ///
    /// # Errors
    /// [`EditError::NoConnector`], [`EditError::InvalidName`], and [`EditError::NameTaken`] if the node or its code uses the
    /// name.
    pub fn rename_connector(
        &mut self,
        state: StateId,
        node: NodeId,
        from: &str,
        to: &str,
    ) -> Result<(), EditError> {
        let found = expect_node(self.state(state)?, node)?;
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
        let calls = matches!(found.kind, NodeKind::Nested(_));
        self.attempt(|editor| {
            if calls {
                editor.within(state, node, |inside| match inside.sdfg().find_container(from) {
                    Some(container) => inside.rename_container(container, to),
                    None => {
                        let invalid = |_| EditError::InvalidName { name: from.to_owned() };
                        inside.rename_symbol(&Symbol::new(from).map_err(invalid)?, to)
                    }
                })?;
            }
            let mut kind = editor.graph(state).node(node).kind.clone();
            rename_at(&mut kind, from, to, &label)?;
            editor.set_kind(state, node, kind);
            for direction in [Direction::In, Direction::Out] {
                for edge in connector_edges(editor.graph(state), node, direction, from) {
                    let found = editor.graph(state).edge(edge).clone();
                    let (mut src, mut dst) =
                        ((found.src, found.src_connector), (found.dst, found.dst_connector));
                    match direction {
                        Direction::In => dst.1 = Some(to.to_owned()),
                        Direction::Out => src.1 = Some(to.to_owned()),
                    }
                    editor.move_edge(state, edge, src, dst)?;
                }
            }
            Ok(())
        })
    }
}

/// Renames a connector in a node; what a nested SDFG calls the argument is renamed already.
fn rename_at(kind: &mut NodeKind, from: &str, to: &str, label: &str) -> Result<(), EditError> {
    match kind {
        NodeKind::Tasklet(tasklet) => rename_in_tasklet(tasklet, from, to, label)?,
        NodeKind::Nested(nested) => {
            let all = nested.inputs.iter_mut().chain(&mut nested.outputs);
            all.filter(|connector| connector.name == from).for_each(|c| to.clone_into(&mut c.name));
        }
        NodeKind::Library(library) => {
            let all = library.inputs.iter_mut().chain(&mut library.outputs);
            all.filter(|connector| connector.name == from).for_each(|c| to.clone_into(&mut c.name));
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
    Ok(())
}
