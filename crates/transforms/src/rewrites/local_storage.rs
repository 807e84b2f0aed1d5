//! [`LocalStorage`].

use sdfg::analysis::Use;
use sdfg::edit::{Cover, EditError, Editor};
use sdfg::ir::{Container, ContainerId, EdgeId, Flow, NodeId, State, Storage};
use sdfg::subset::Subset;
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Copies the part of a container that an inner map uses to a transient of the outer map's iteration.
///
/// Data that the inner map reads are copied before it (`direction` `in`), data that it writes are copied back after it (`out`).
/// It applies if nothing else in an iteration of the outer map writes the container, or for `out` accesses it at all. The
/// editor refuses parts that it cannot tell exactly, since a copy would read elements that are not defined, or write others.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LocalStorage {
    /// The container; empty takes the first that passes.
    pub array: String,
    /// Whether to copy what is read or what is written.
    pub direction: CopyDirection,
    /// Name of the transient; empty derives it from that of the container.
    pub name: String,
}

/// Which way data are copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CopyDirection {
    /// Before the inner map.
    #[default]
    In,
    /// After the inner map.
    Out,
}

static METADATA: Metadata = Metadata {
    name: "LocalStorage",
    group: Group::Data,
    summary: "Copies the part of a container that an inner map uses to a transient.",
    source: "paper, Table 4 and Appendix B.2",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("local_storage.rs"),
    parameters: &[
        Parameter {
            name: "array",
            ty: "name of a container",
            default: Some("\"\""),
            summary: "The container; empty takes the first that passes between the maps.",
        },
        Parameter {
            name: "direction",
            ty: "`in` or `out`",
            default: Some("\"in\""),
            summary: "Whether to copy what the inner map reads, or what it writes.",
        },
        Parameter {
            name: "name",
            ty: "name",
            default: Some("\"\""),
            summary: "Name of the transient; empty derives it from that of the container.",
        },
    ],
};

anchored!(LocalStorage);

impl LocalStorage {
    /// A copy of what the inner map reads of a container.
    pub fn of_input(array: &str) -> Self {
        LocalStorage { array: array.to_owned(), ..LocalStorage::default() }
    }

    /// A copy of what the inner map writes of a container.
    pub fn of_output(array: &str) -> Self {
        LocalStorage { array: array.to_owned(), direction: CopyDirection::Out, ..LocalStorage::default() }
    }

    /// The edge between the maps that brings the container.
    fn edge(
        &self,
        state: &State,
        container: &dyn Fn(ContainerId) -> Option<String>,
        (outer, inner): (NodeId, NodeId),
    ) -> Option<(EdgeId, ContainerId)> {
        let (src, dst) = match self.direction {
            CopyDirection::In => (outer, inner),
            CopyDirection::Out => (state.exit_of(inner)?, state.exit_of(outer)?),
        };
        state.each_out_edge(src).filter(|(_, edge)| edge.dst == dst).find_map(|(id, edge)| {
            let access = match &edge.memlet.flow {
                Flow::Read(access) | Flow::Write { to: access, .. } => access,
                Flow::Order | Flow::Copy { .. } | Flow::Value | Flow::Bind(_) => return None,
            };
            let fits = self.array.is_empty() || container(access.container).as_ref() == Some(&self.array);
            (fits && !access.is_queue()).then_some((id, access.container))
        })
    }
}

impl Transformation for LocalStorage {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::path([("outer", NodeClass::MapEntry), ("inner", NodeClass::MapEntry)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let (state, outer, inner) = (site.state(), site.found.node(0), site.found.node(1));
        let name = |id| site.sdfg.get_container(id).map(|found: &Container| found.name.clone());
        let Some((chosen, id)) = self.edge(state, &name, (outer, inner)) else {
            let reason = format!("no part of `{}` passes between the maps in this direction", self.array);
            return Err(Refusal::Parameter { parameter: "array", reason });
        };
        if state.edge(chosen).memlet.resolution().is_some() {
            return Err(Refusal::container(
                &site.sdfg.container(id).name,
                "is written with a conflict resolution: use AccumulateTransient",
            ));
        }
        undisturbed(site, (outer, inner), (chosen, id), self.direction)?;
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, outer, inner) = (found.state(), found.node(0), found.node(1));
        let graph = editor.state(state)?;
        let sdfg = editor.sdfg();
        let name = |id| sdfg.get_container(id).map(|found: &Container| found.name.clone());
        let Some((edge, container)) = self.edge(graph, &name, (outer, inner)) else {
            return Err(EditError::NoNode(inner));
        };
        let origin = sdfg.container(container).name.clone();
        let local = if self.name.is_empty() {
            editor.derived_container_name(&origin, "local")
        } else {
            self.name.clone()
        };
        editor.add_local_copy(state, edge, &local, Storage::Default, Cover::Exact)?;
        Ok(())
    }
}

/// Refuses a container of which other parts of an iteration of the outer map touch what is copied, or that has a view.
pub(super) fn undisturbed(
    site: &Site<'_>,
    (outer, inner): (NodeId, NodeId),
    (chosen, id): (EdgeId, ContainerId),
    direction: CopyDirection,
) -> Result<(), Refusal> {
    let state = site.state();
    let container = site.sdfg.container(id);
    if container.is_alias() {
        return Err(Refusal::container(&container.name, "is a view or reference"));
    }
    let binds = |used: Use| match used {
        Use::Memlet(_, edge) => {
            matches!(&state.edge(edge).memlet.flow, Flow::Bind(access) if access.container == id)
        }
        Use::Access(..) | Use::Condition(..) | Use::Block(_) | Use::Transition(_) => false,
    };
    if site.uses().in_state(id, site.found.state()).any(binds) {
        return Err(Refusal::container(&container.name, "has a view in this state"));
    }
    let tree = site.scopes();
    let shown = |subset: &Subset| format!("`{}[{subset}]`", container.name);
    for edge in site.edges_within(outer) {
        let (scope, content) = (tree.scope_of_edge(state, edge), state.edge(edge));
        let is_written = content.memlet.write_access().filter(|access| access.container == id);
        let is_read = content.memlet.read_access().filter(|access| access.container == id);
        let conflict = match direction {
            CopyDirection::In => is_written,
            CopyDirection::Out => {
                let is_own = edge == chosen
                    || tree.enclosing_scope(scope).any(|around| around == inner)
                    || content.src == state.exit_of(inner).unwrap_or(inner);
                is_read.or(is_written.filter(|_| !is_own))
            }
        };
        if let Some(access) = conflict {
            let first = state.edge(chosen).memlet.accesses().next().map(|access| shown(access.subset()));
            return Err(Refusal::Conflict {
                container: container.name.clone(),
                first: first.unwrap_or_default(),
                second: shown(access.subset()),
                reason: "may touch the same elements in one iteration of the outer map",
            });
        }
    }
    Ok(())
}
