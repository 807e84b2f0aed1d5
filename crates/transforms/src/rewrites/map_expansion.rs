//! [`MapExpansion`].

use std::collections::BTreeSet;

use sdfg::edit::{EditError, Editor};
use sdfg::ir::{Map, NodeKind};
use sdfg::subset::Subset;
use serde::{Deserialize, Serialize};

use super::{anchored, described, nested_maps};
use crate::engine::{Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Splits a map into an outer one over its first `dimensions` parameters and an inner one over the others.
///
/// The outer map keeps label and schedule. `MapCollapse` is the reverse.
///
/// # When it applies
///
/// It applies to every map with more parameters than the outer one gets.
///
/// # Refusals
///
/// - The map has too few parameters: both maps need at least one.
/// - The map has the schedule `simd`, because lanes run no maps.
/// - A memlet has a declared subset, which the rewrite would have to change.
///
/// # Before
///
/// ```sdft
/// sdfg lower_triangle {
///   symbol N: i64
///   array A: f64[N, N]
///
///   state main {
///     map elements [i = 0:N, j = 0:i + 1] {
///       tasklet one () -> (a) { a = 1.0 }
///       one.a -> elements.A: A[i, j]
///       order elements -> one
///     }
///     access A
///     elements.A -> A
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg lower_triangle {
///   symbol N: i64
///   array A: f64[N, N]
///
///   state main {
///     map elements [i = 0:N] {
///       map "elements.inner0" [j = 0:i + 1] {
///         tasklet one () -> (a) { a = 1.0 }
///         one.a -> "elements.inner0".A: A[i, j]
///         order "elements.inner0" -> one
///       }
///       "elements.inner0".A -> elements.A
///       order elements -> "elements.inner0"
///     }
///     access A
///     elements.A -> A
///   }
/// }
/// ```
///
/// # Soundness
///
/// A range may use earlier parameters only, which are those of the outer map or come before in the inner one.
/// So the nested maps have exactly the iterations of the map.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MapExpansion {
    /// Number of parameters of the outer map.
    pub dimensions: usize,
}

impl Default for MapExpansion {
    fn default() -> Self {
        MapExpansion { dimensions: 1 }
    }
}

static METADATA: Metadata = Metadata {
    name: "MapExpansion",
    group: Group::Map,
    summary: "Splits a map into an outer one over its first parameters and an inner one over the others.",
    source: "paper, Table 4 and Appendix B.1",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("map_expansion.rs"),
    parameters: &[Parameter {
        name: "dimensions",
        ty: "integer",
        default: Some("1"),
        summary: "Number of parameters of the outer map.",
    }],
};

anchored!(MapExpansion);

impl Transformation for MapExpansion {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::path([("map", NodeClass::MapEntry)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let map = site.map(0)?;
        if self.dimensions == 0 || self.dimensions >= map.params.len() {
            let count = map.params.len();
            let reason = format!("the map has {count} dimensions, and both maps need at least one");
            return Err(Refusal::Parameter { parameter: "dimensions", reason });
        }
        if map.schedule == sdfg::ir::Schedule::Simd {
            return Err(Refusal::structure(site.label(0), "has the schedule `simd`, and lanes run no maps"));
        }
        nested_maps::no_declared_memlets(site, &[site.found.node(0)])?;
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        expand(editor, found, self.dimensions, None).map(|_| ())
    }
}

/// Splits a map; the inner one gets a schedule if one is given. Gives the entry of the inner map.
pub(super) fn expand(
    editor: &mut Editor<'_>,
    found: &Match,
    dimensions: usize,
    schedule: Option<sdfg::ir::Schedule>,
) -> Result<sdfg::ir::NodeId, EditError> {
    let (state, entry) = (found.state(), found.node(0));
    let graph = editor.state(state)?;
    let label = graph.node(entry).label.clone();
    let map = nested_maps::entry_map(editor, state, entry)?;
    let tree = sdfg::analysis::ScopeTree::of(graph);
    let exit = graph.exit_of(entry);
    let inside: BTreeSet<_> =
        tree.children(Some(entry)).iter().copied().filter(|node| Some(*node) != exit).collect();
    let split = |map: &Map, at: std::ops::Range<usize>| {
        Map::new(map.params[at.clone()].to_vec(), Subset(map.ranges.0[at].to_vec()))
    };
    let outer =
        Map { schedule: nested_maps::fitted(map.schedule.clone(), dimensions), ..split(&map, 0..dimensions) };
    let mut inner = split(&map, dimensions..map.params.len());
    inner.schedule = schedule.unwrap_or_default();
    let inner_label = editor.derived_label(state, &label, "inner")?;
    editor.replace_node(state, entry, NodeKind::MapEntry(outer))?;
    editor.wrap_in_map(state, &inside, &inner_label, inner)
}
