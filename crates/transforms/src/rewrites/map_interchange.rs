//! [`MapInterchange`].

use sdfg::edit::{EditError, Editor};
use sdfg::ir::{Map, NodeKind};
use serde::{Deserialize, Serialize};

use super::{anchored, described, nested_maps};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::Pattern;

/// Swaps the iteration spaces of two nested maps.
///
/// It applies if the outer map contains the inner one alone, and no range of the inner one depends on a parameter of the outer
/// one. Labels and schedules stay with their levels. Iterations of maps are concurrent, so their order does not matter.
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
