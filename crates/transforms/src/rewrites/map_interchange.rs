//! [`MapInterchange`].

use sdfg::edit::{EditError, Editor};
use sdfg::ir::{Map, NodeKind};
use serde::{Deserialize, Serialize};

use super::{anchored, described, nested_maps};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::Pattern;

/// Swaps the iteration spaces of two nested maps.
///
/// Labels and schedules stay with their levels.
///
/// # When it applies
///
/// The outer map contains the inner one alone, and no range of the inner one depends on a parameter of the
/// outer one.
///
/// # Refusals
///
/// - A range of the inner map depends on a parameter of the outer one.
/// - The outer map contains something besides the inner map.
/// - The inner map gets a symbol from data, or has a parameter of the name of one of the outer map.
/// - A memlet has a declared subset, which the rewrite would have to change.
///
/// # Before
///
/// ```sdft
/// sdfg add_rows {
///   symbol N: i64
///   symbol M: i64
///   array A: f64[N, M]
///   array B: f64[N, M]
///
///   state main {
///     access A
///     map rows [i = 0:N] {
///       map columns [j = 0:M] {
///         tasklet add (a) -> (b) { b = a + 1.0 }
///         columns.A -> add.a: A[i, j]
///         add.b -> columns.B: B[i, j]
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
/// sdfg add_rows {
///   symbol N: i64
///   symbol M: i64
///   array A: f64[N, M]
///   array B: f64[N, M]
///
///   state main {
///     access A
///     map rows [j = 0:M] {
///       map columns [i = 0:N] {
///         tasklet add (a) -> (b) { b = a + 1.0 }
///         columns.A -> add.a: A[i, j]
///         add.b -> columns.B: B[i, j]
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
/// # Soundness
///
/// The nested maps have the same iterations. Iterations of maps are concurrent, so their order has no
/// meaning. Sums of floating-point numbers may differ in rounding.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MapInterchange {}

static METADATA: Metadata = Metadata {
    name: "MapInterchange",
    group: Group::Map,
    summary: "Swaps the iteration spaces of two nested maps.",
    source: "paper, Table 4 and Appendix B.1",
    soundness: Soundness::ChangesRounding,
    is_strict: false,
    file: include_str!("map_interchange.rs"),
    parameters: &[],
};

anchored!(MapInterchange);

impl Transformation for MapInterchange {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        nested_maps::pattern()
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let (outer, inner) = nested_maps::maps(site)?;
        nested_maps::independent(&inner.ranges, &outer.params)?;
        // The ranges of the outer map are to be evaluated inside of the inner one.
        nested_maps::independent(&outer.ranges, &inner.params)?;
        nested_maps::no_declared_memlets(site, &[site.found.node(0), site.found.node(1)])?;
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, outer, inner) = (found.state(), found.node(0), found.node(1));
        let [first, second] = [outer, inner].map(|entry| nested_maps::entry_map(editor, state, entry));
        let (first, second) = (first?, second?);
        let outside = nested_maps::fitted(first.schedule.clone(), second.params.len());
        let inside = nested_maps::fitted(second.schedule.clone(), first.params.len());
        editor.replace_node(state, outer, NodeKind::MapEntry(Map { schedule: outside, ..second }))?;
        editor.replace_node(state, inner, NodeKind::MapEntry(Map { schedule: inside, ..first }))?;
        Ok(())
    }
}
