//! Kinds of tasklet connectors as their code sees them, and names that control flow may use.
//!
//! Type checking, the interpreter and lowering all use this module. Therefore a connector is a value or a
//! pointer for all of them alike (`docs/semantics.md`, "States", connectors).

use std::collections::BTreeSet;

use sdfg_language::dtype::{ElementType, ScalarType};
use sdfg_language::syntax::subscripted_names;
use sdfg_language::tasklet::{Connector, ConnectorKind, Direction, Environment};

use crate::ir::{
    AccessedPart, ContainerKind, EdgeId, Flow, Memlet, NodeId, NodeKind, Sdfg, State, Tasklet, TaskletBody,
};

/// Connectors of a tasklet, typed by the memlets at them.
#[derive(Clone, Debug)]
pub struct TaskletConnectors {
    /// Inputs, then outputs, each in order of declaration; and the symbols that were given.
    pub environment: Environment,
    /// For each connector of the environment the edge at it. An output may have several: then it is the first, and
    /// all move the same value.
    pub edges: Vec<Vec<EdgeId>>,
    /// Connectors whose element type nothing tells; the environment has `f64` for them.
    pub untyped: Vec<String>,
}

impl TaskletConnectors {
    /// The connectors of `tasklet`, which is the node `id` of `state`; code may also name the given symbols.
    ///
    /// A name that is both an input and an output means the output; validation refuses that.
    pub fn of(
        sdfg: &Sdfg,
        state: &State,
        id: NodeId,
        tasklet: &Tasklet,
        symbols: impl IntoIterator<Item = (String, ScalarType)>,
    ) -> Self {
        let mut found =
            TaskletConnectors { environment: Environment::new(), edges: Vec::new(), untyped: Vec::new() };
        // A connector hides a symbol with its name, which may have no value here.
        let is_hidden =
            |name: &str| tasklet.inputs.iter().chain(&tasklet.outputs).any(|own| own.name == name);
        for (name, ty) in symbols.into_iter().filter(|(name, _)| !is_hidden(name)) {
            found.environment.add_symbol(name, ty);
        }
        let indexed = match &tasklet.body {
            TaskletBody::Code(code) => subscripted_names(code.block()),
            TaskletBody::External(_) => BTreeSet::new(),
        };
        let (into, out_of) = (state.in_edges(id), state.out_edges(id));
        for (connector, direction) in tasklet
            .inputs
            .iter()
            .map(|c| (c, Direction::In))
            .chain(tasklet.outputs.iter().map(|c| (c, Direction::Out)))
        {
            let at = |edge: &EdgeId| {
                let edge = state.edge(*edge);
                let end = if direction == Direction::In { &edge.dst_connector } else { &edge.src_connector };
                end.as_deref() == Some(connector.name.as_str())
            };
            let adjacent = if direction == Direction::In { &into } else { &out_of };
            let edges: Vec<EdgeId> = adjacent.iter().copied().filter(at).collect();
            let edge = edges.first().map(|id| state.edge(*id));
            let element = connector.element.or_else(|| {
                let edge = edge?;
                element_of(sdfg, &edge.memlet)
                    .or_else(|| declared_element(state, edge.src, edge.src_connector.as_deref()))
                    .or_else(|| declared_element(state, edge.dst, edge.dst_connector.as_deref()))
            });
            if element.is_none() {
                found.untyped.push(connector.name.clone());
            }
            let kind = edge.map_or(ConnectorKind::Value, |edge| {
                kind_of(&edge.memlet, direction, indexed.contains(connector.name.as_str()))
            });
            let element = element.unwrap_or(ElementType::scalar(ScalarType::F64));
            let position =
                found.environment.add_connector(&connector.name, Connector { element, kind, direction });
            found.edges.truncate(position.index());
            found.edges.push(edges);
        }
        found
    }
}

/// Names that a condition or assignment of control flow may use: every scalar as a value, every array as
/// memory, the queues of every stream, and the given symbols.
pub fn control_environment(
    sdfg: &Sdfg,
    symbols: impl IntoIterator<Item = (String, ScalarType)>,
) -> Environment {
    control_environment_of(sdfg, symbols, &|_| true)
}

/// As [`control_environment`], with the containers of some names.
pub fn control_environment_of(
    sdfg: &Sdfg,
    symbols: impl IntoIterator<Item = (String, ScalarType)>,
    is_named: &dyn Fn(&str) -> bool,
) -> Environment {
    let mut environment = Environment::new();
    for (name, ty) in symbols {
        environment.add_symbol(name, ty);
    }
    for (_, container) in sdfg.containers().filter(|(_, container)| is_named(&container.name)) {
        let kind = match &container.kind {
            ContainerKind::Scalar => ConnectorKind::Value,
            ContainerKind::Array(layout) | ContainerKind::View(layout) | ContainerKind::Reference(layout) => {
                let rank = layout.shape.len();
                if rank == 0 { ConnectorKind::Value } else { ConnectorKind::Pointer { rank } }
            }
            ContainerKind::Stream { shape, .. } => ConnectorKind::Queues { rank: shape.len() },
        };
        environment.add_connector(
            &container.name,
            Connector { element: container.element, kind, direction: Direction::In },
        );
    }
    environment
}

fn element_of(sdfg: &Sdfg, memlet: &Memlet) -> Option<ElementType> {
    let access = memlet.accesses().next()?;
    sdfg.get_container(access.container).map(|container| container.element)
}

fn declared_element(state: &State, id: NodeId, connector: Option<&str>) -> Option<ElementType> {
    let connector = connector?;
    let node = state.get_node(id)?;
    match &node.kind {
        NodeKind::Tasklet(_) | NodeKind::Nested(_) | NodeKind::Library(_) => {
            let all = node.kind.outputs().iter().chain(node.kind.inputs());
            all.filter(|c| c.name == connector).find_map(|c| c.element)
        }
        NodeKind::Access(_)
        | NodeKind::MapEntry(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeEntry(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Reduce(_) => None,
    }
}

fn kind_of(memlet: &Memlet, direction: Direction, subscripted: bool) -> ConnectorKind {
    let access = match &memlet.flow {
        Flow::Read(access) | Flow::Write { to: access, .. } => access,
        Flow::Order | Flow::Copy { .. } | Flow::Value | Flow::Bind(_) => return ConnectorKind::Value,
    };
    match &access.place {
        AccessedPart::Queues(_) if direction == Direction::Out => ConnectorKind::Stream,
        AccessedPart::Queues(_) => {
            match memlet.volume.bound().and_then(sdfg_language::symbolic::Expr::as_int) {
                Some(1) | None if !subscripted => ConnectorKind::Value,
                Some(_) | None => ConnectorKind::Pointer { rank: 1 },
            }
        }
        AccessedPart::Elements(subset) => {
            if subset.is_element() && !subscripted {
                ConnectorKind::Value
            } else {
                let rank = subset.0.iter().filter(|range| !range.is_index()).count();
                ConnectorKind::Pointer { rank: rank.max(1) }
            }
        }
    }
}
