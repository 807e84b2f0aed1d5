//! [`MapCollapse`].

use sdfg::edit::{EditError, Editor};
use sdfg::ir::{Map, NodeKind, ScheduleKind};
use sdfg::subset::Subset;
use serde::{Deserialize, Serialize};

use super::{anchored, described, nested_maps};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::Pattern;

/// Joins two nested maps into one over the parameters of both.
///
/// # When it applies
///
/// The outer map contains the inner one alone. The inner map has the default schedule or that of the outer
/// one.
///
/// # Refusals
///
/// - The outer map contains something besides the inner map.
/// - The inner map has another schedule, gets a symbol from data, or has a parameter of the name of one of
///   the outer map.
/// - The outer map divides its iterations over ranks: they would divide those of the inner map, too.
/// - A memlet has a declared subset, which the rewrite would have to change.
///
/// # Before
///
/// ```sdft
/// sdfg copy_matrix {
///   symbol N: i64
///   symbol M: i64
///   array A: f64[N, M]
///   array B: f64[N, M]
///
///   state main {
///     access A
///     map rows [i = 0:N] {
///       map columns [j = 0:M] {
///         tasklet copy (a) -> (b) { b = a }
///         columns.A -> copy.a: A[i, j]
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
/// sdfg copy_matrix {
///   symbol N: i64
///   symbol M: i64
///   array A: f64[N, M]
///   array B: f64[N, M]
///
///   state main {
///     access A
///     map rows [i = 0:N, j = 0:M] {
///       tasklet copy (a) -> (b) { b = a }
///       rows.A -> copy.a: A[i, j]
///       copy.b -> rows.B: B[i, j]
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
/// A range of a map may use earlier parameters, so the joined map has exactly the iterations of the nested
/// ones. Iterations of both maps are concurrent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MapCollapse {}

static METADATA: Metadata = Metadata {
    name: "MapCollapse",
    group: Group::Map,
    summary: "Joins two nested maps into one over the parameters of both.",
    source: "paper, Table 4 and Appendix B.1",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("map_collapse.rs"),
    parameters: &[],
};

anchored!(MapCollapse);

impl Transformation for MapCollapse {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        nested_maps::pattern()
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let (outer, inner) = nested_maps::maps(site)?;
        if inner.schedule.kind() != ScheduleKind::Default && inner.schedule != outer.schedule {
            return Err(Refusal::structure(site.label(1), "has another schedule than the outer map"));
        }
        if outer.schedule.kind() == ScheduleKind::Mpi && inner.schedule.kind() != ScheduleKind::Mpi {
            let reason = "divides iterations over ranks, and would divide those of the inner map";
            return Err(Refusal::structure(site.label(0), reason));
        }
        nested_maps::no_declared_memlets(site, &[site.found.node(0), site.found.node(1)])?;
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, outer, inner) = (found.state(), found.node(0), found.node(1));
        let [first, second] = [outer, inner].map(|entry| nested_maps::entry_map(editor, state, entry));
        let (first, second) = (first?, second?);
        let map = Map {
            params: [first.params.clone(), second.params.clone()].concat(),
            ranges: Subset([first.ranges.0.clone(), second.ranges.0.clone()].concat()),
            schedule: first.schedule.clone(),
        };
        editor.replace_node(state, outer, NodeKind::MapEntry(map))?;
        editor.unwrap_map(state, inner)
    }
}
