//! [`AccumulateTransient`].

use sdfg::analysis::leaf_edges;
use sdfg::edit::{Cover, EditError, Editor};
use sdfg::ir::{ContainerId, EdgeId, NodeId, State, Storage};
use sdfg::subset::Subset;
use serde::{Deserialize, Serialize};

use super::fill::{self, Fill};
use super::local_storage::{self, CopyDirection};
use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Combines what an inner map writes with a conflict resolution in a transient of the outer map's iteration,
/// and the transient with the container once.
///
/// So the inner map combines in a buffer that no other iteration touches, and the shared container gets one
/// combination instead of one for each iteration of the inner map.
///
/// # When it applies
///
/// An outer map contains an inner map that writes a container with a conflict resolution, `sum` or `product`.
/// The elements that the inner map writes are known exactly. The transient begins with the neutral element: 0
/// for sums, 1 for products.
///
/// # Refusals
///
/// - The writes of the inner map have other resolutions, or different ones.
/// - Something else in an iteration of the outer map accesses the container.
/// - An iteration of the outer map binds a view or reference that may name the container.
/// - The part that the inner map writes has no exact form.
///
/// # Before
///
/// ```sdft
/// sdfg row_sums {
///   symbol N: i64
///   array A: f64[N, 16]
///   array sums: f64[N]
///
///   state main {
///     access A
///     map rows [i = 0:N] {
///       map columns [j = 0:16] {
///         tasklet element (a) -> (s) { s = a }
///         columns.A -> element.a: A[i, j]
///         element.s -> columns.sums: sums[i] wcr(sum)
///       }
///       rows.A -> columns.A
///       columns.sums -> rows.sums
///     }
///     access sums
///     A -> rows.A
///     rows.sums -> sums
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg row_sums {
///   symbol N: i64
///   array A: f64[N, 16]
///   array sums: f64[N]
///   transient array sums_sum0: f64[1]
///
///   state main {
///     access A
///     map rows [i = 0:N] {
///       map columns [j = 0:16] {
///         tasklet element (a) -> (s) { s = a }
///         columns.A -> element.a: A[i, j]
///         element.s -> columns.sums: sums_sum0[0] wcr(sum)
///       }
///       access "columns.local0" = sums_sum0
///       access "columns.local0.begin0" = sums_sum0
///       tasklet "columns.local0.neutral0" () -> (y) { y = 0 }
///       rows.A -> columns.A
///       columns.sums -> "columns.local0"
///       "columns.local0" -> rows.sums: sums_sum0[0] -> sums[i] wcr(sum)
///       "columns.local0.neutral0".y -> "columns.local0.begin0": sums_sum0[0]
///       order rows -> "columns.local0.neutral0"
///       order "columns.local0.begin0" -> columns
///     }
///     access sums
///     A -> rows.A
///     rows.sums -> sums
///   }
/// }
/// ```
///
/// # Soundness
///
/// Each element of the container is combined with the same values as before, in another grouping. Nothing in
/// the iteration sees the container in between. Sums of floating-point numbers may differ in rounding.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccumulateTransient {
    /// The container; empty takes the first that passes.
    pub array: String,
}

static METADATA: Metadata = Metadata {
    name: "AccumulateTransient",
    group: Group::Data,
    summary: "Combines what an inner map writes with a conflict resolution in a transient first.",
    source: "DaCe, AccumulateTransient; paper, section 6.2",
    soundness: Soundness::ChangesRounding,
    is_strict: false,
    file: include_str!("accumulate_transient.rs"),
    parameters: &[Parameter {
        name: "array",
        ty: "name of a container",
        default: Some("\"\""),
        summary: "The container; empty takes the first that passes between the maps.",
    }],
};

anchored!(AccumulateTransient);

impl AccumulateTransient {
    /// The edge from the inner exit to the outer one that brings the container, with the neutral element.
    fn edge(
        &self,
        sdfg: &sdfg::ir::Sdfg,
        state: &State,
        (outer, inner): (NodeId, NodeId),
    ) -> Option<(EdgeId, ContainerId, &'static str)> {
        let (src, dst) = (state.exit_of(inner)?, state.exit_of(outer)?);
        // The first in order of creation: lists of edges have another order after edits that were taken back.
        let edges = state.out_edges(src).into_iter().map(|id| (id, state.edge(id)));
        edges.filter(|(_, edge)| edge.dst == dst).find_map(|(id, edge)| {
            let access = edge.memlet.write_access().filter(|access| !access.is_queue())?;
            let name = &sdfg.container(access.container).name;
            if !self.array.is_empty() && *name != self.array {
                return None;
            }
            let leaves = leaf_edges(state, id);
            let mut resolutions = leaves.iter().map(|leaf| state.edge(*leaf).memlet.resolution());
            let first = resolutions.next()??;
            let neutral = fill::neutral(first)?;
            resolutions.all(|other| other == Some(first)).then_some((id, access.container, neutral))
        })
    }
}

impl Transformation for AccumulateTransient {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::path([("outer", NodeClass::MapEntry), ("inner", NodeClass::MapEntry)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let (state, outer, inner) = (site.state(), site.found.node(0), site.found.node(1));
        let Some((chosen, id, _)) = self.edge(site.sdfg, state, (outer, inner)) else {
            let reason = format!("the inner map sums up or multiplies no part of `{}`", self.array);
            return Err(Refusal::Parameter { parameter: "array", reason });
        };
        local_storage::undisturbed(site, outer, (chosen, id), CopyDirection::Out)?;
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, outer, inner) = (found.state(), found.node(0), found.node(1));
        let Some((edge, container, neutral)) = self.edge(editor.sdfg(), editor.state(state)?, (outer, inner))
        else {
            return Err(EditError::NoNode(inner));
        };
        let origin = editor.sdfg().container(container).name.clone();
        let name = editor.derived_container_name(&origin, "sum");
        let (local, node) = editor.add_local_copy(state, edge, &name, Storage::Default, Cover::Exact)?;
        let origin = editor.state(state)?.node(node).label.clone();
        // Of a tile that is cut off, the transient has more elements than are combined.
        let copied = editor
            .state(state)?
            .each_out_edge(node)
            .find_map(|(_, edge)| edge.memlet.read_access().map(|from| from.subset().clone()));
        let part = copied.unwrap_or_else(|| Subset::full(editor.sdfg().container(local).shape()));
        let begun = Fill { container: local, part: &part, value: neutral, resolution: None, origin: &origin };
        let begun = begun.add(editor, state, Some(outer))?;
        editor.add_order(state, begun, inner)
    }
}
