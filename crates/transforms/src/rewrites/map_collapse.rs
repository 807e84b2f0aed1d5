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
/// It applies if the outer map contains the inner one alone, and the inner one has the default schedule or that of the outer
/// one. The iterations are those of before.
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
