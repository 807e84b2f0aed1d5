//! [`LocalStorage`].

use sdfg::analysis::{ScopeTree, bound_alias, is_leaf, leaf_edges, node_leads_to};
use sdfg::edit::{Cover, EditError, Editor};
use sdfg::ir::{Access, Container, ContainerId, Edge, EdgeId, Flow, NodeId, State, Storage};
use serde::{Deserialize, Serialize};

use super::defined_before::{cover_at, has_other_names};
use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Copies the part of a container that an inner map uses to a transient of the outer map's iteration.
///
/// Data that the inner map reads is copied before it (`direction` `in`), and data that it writes is copied
/// back after it (`out`).
///
/// # When it applies
///
/// An outer map contains an inner map, between which a part of the container passes. The part is known
/// exactly: a copy of more would read elements that are not defined, or write others. Elements between those that the inner map reads
/// may be copied, too, such as the corners of a tile of a stencil, if the container is an argument or was written as a whole before, and
/// nothing may write it while the outer map runs.
///
/// # Refusals
///
/// - Something else in an iteration of the outer map writes the container or, for `out`, accesses it at all,
///   also through views and references.
/// - An iteration of the outer map binds a view or reference that may name the container.
/// - The write has a conflict resolution: use `AccumulateTransient`.
/// - The part has no exact form.
///
/// # Before
///
/// ```sdft
/// sdfg reverse_rows {
///   symbol N: i64
///   array A: f64[N, 16]
///   array B: f64[N, 16]
///
///   state main {
///     access A
///     map rows [i = 0:N] {
///       map columns [j = 0:16] {
///         tasklet copy (a) -> (b) { b = a }
///         columns.A -> copy.a: A[i, 15 - j]
///         copy.b -> columns.B: B[i, j]
///       }
///       rows.A -> columns.A
///       columns.B -> rows.B
///     }
///     access B
///     A -> rows.A
///     rows.B -> B
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg reverse_rows {
///   symbol N: i64
///   array A: f64[N, 16]
///   array B: f64[N, 16]
///   transient array A_local0: f64[1, 16]
///
///   state main {
///     access A
///     map rows [i = 0:N] {
///       map columns [j = 0:16] {
///         tasklet copy (a) -> (b) { b = a }
///         columns.A -> copy.a: A_local0[0, 15 - j]
///         copy.b -> columns.B: B[i, j]
///       }
///       access "columns.local0" = A_local0
///       "columns.local0" -> columns.A
///       columns.B -> rows.B
///       rows.A -> "columns.local0": A[i, 0:16] -> A_local0[0, 0:16]
///     }
///     access B
///     A -> rows.A
///     rows.B -> B
///   }
/// }
/// ```
///
/// # Soundness
///
/// The transient holds the values of the part from the beginning of the iteration, or to its end. Nothing
/// else in the iteration changes the part, or sees it, between the copy and the inner map. Iterations of the
/// outer map exchange no data.
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
        // The first in order of creation: lists of edges have another order after edits that were taken back.
        let edges = state.out_edges(src).into_iter().map(|id| (id, state.edge(id)));
        edges.filter(|(_, edge)| edge.dst == dst).find_map(|(id, edge)| {
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
        undisturbed(site, outer, (chosen, id), self.direction)?;
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
        let cover = self.cover(editor, found, container);
        editor.add_local_copy(state, edge, &local, Storage::Default, cover)?;
        Ok(())
    }
}

impl LocalStorage {
    /// Copies may read more than the inner map does, such as the corners of a tile of a stencil, if all of the container is defined
    /// and nothing writes it meanwhile: not the outermost map around, and no node of the state without an order to this map.
    fn cover(&self, editor: &mut Editor<'_>, found: &Match, id: ContainerId) -> Cover {
        let (state, outer) = (found.state(), found.node(0));
        let sdfg = editor.sdfg();
        // Arguments of a called SDFG may have other names there.
        if self.direction == CopyDirection::Out || !found.calls.is_empty() || has_other_names(sdfg, id) {
            return Cover::Exact;
        }
        let (graph, tree) = (sdfg.state(state), ScopeTree::of(sdfg.state(state)));
        let outermost = tree.enclosing(outer).last().unwrap_or(outer);
        let Some(exit) = graph.exit_of(outermost) else { return Cover::Exact };
        let is_apart = |(_, edge): (EdgeId, &Edge)| {
            edge.memlet.write_access().is_none_or(|to| to.container != id)
                || node_leads_to(graph, edge.dst, outermost)
                || node_leads_to(graph, exit, edge.src)
        };
        let is_free = graph.edges().all(is_apart);
        if is_free { cover_at(editor, found, id, outermost) } else { Cover::Exact }
    }
}

/// Refuses a container of which other parts of an iteration of the outer map touch what is copied, also by other names, or that
/// gets another meaning there.
pub(super) fn undisturbed(
    site: &Site<'_>,
    outer: NodeId,
    (chosen, id): (EdgeId, ContainerId),
    direction: CopyDirection,
) -> Result<(), Refusal> {
    let state = site.state();
    let (names, own) = (site.same_memory(id), leaf_edges(state, chosen));
    let container = site.sdfg.container(id);
    for edge in site.edges_within(outer).into_iter().filter(|edge| is_leaf(state, *edge)) {
        if let Some((alias, _)) = bound_alias(state, edge).filter(|(alias, _)| names.contains(alias)) {
            let reason =
                format!("is bound in an iteration of the outer map, and may name `{}`", container.name);
            return Err(Refusal::container(&site.sdfg.container(alias).name, reason));
        }
        let memlet = &state.edge(edge).memlet;
        let is_written = memlet.write_access().filter(|access| names.contains(&access.container));
        let is_read = memlet.read_access().filter(|access| names.contains(&access.container));
        let conflict = match direction {
            CopyDirection::In => is_written,
            CopyDirection::Out => is_read.or(is_written.filter(|_| !own.contains(&edge))),
        };
        if let Some(access) = conflict {
            let shown = |access: &Access| {
                format!("`{}[{}]`", site.sdfg.container(access.container).name, access.subset())
            };
            let first = state.edge(chosen).memlet.accesses().next().map(shown);
            return Err(Refusal::Conflict {
                container: container.name.clone(),
                first: first.unwrap_or_default(),
                second: shown(access),
                reason: "may touch the same elements in one iteration of the outer map",
            });
        }
    }
    Ok(())
}
