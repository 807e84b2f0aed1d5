//! [`Vectorization`].

use sdfg::edit::{EditError, Editor};
use sdfg::ir::{NodeKind, Schedule, ScheduleKind};
use serde::{Deserialize, Serialize};

use super::{anchored, described, lanes, map_expansion, nested_maps};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Runs the iterations of the last dimension of a map on the lanes of a vector unit.
///
/// A map of one dimension gets the schedule `simd`; of a map of several, the last becomes an inner map with it. The map contains
/// no other map. Iterations of maps are concurrent, so lanes may run them; back ends run what remains after the last whole
/// vector, and gather where accesses have a stride.
///
/// It refuses what lanes cannot run together: streams, foreign functions, references, loops of tasklets whose bounds differ
/// from iteration to iteration, and transients of each iteration that are not small. It also refuses iterations that may write
/// an element which another iteration touches, unless one tasklet combines it, or combinations come to the same in any order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Vectorization {}

static METADATA: Metadata = Metadata {
    name: "Vectorization",
    group: Group::Hardware,
    summary: "Runs the iterations of the last dimension of a map on the lanes of a vector unit.",
    source: "paper, Table 4 and Appendix B.3",
    soundness: Soundness::ChangesRounding,
    is_strict: false,
    file: include_str!("vectorization.rs"),
    parameters: &[],
};

anchored!(Vectorization);

impl Transformation for Vectorization {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::path([("map", NodeClass::MapEntry)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let (map, entry) = (site.map(0)?, site.found.node(0));
        let is_last = map.params.len() == 1;
        match map.schedule.kind() {
            ScheduleKind::Default | ScheduleKind::Sequential => {}
            ScheduleKind::CpuMulticore if !is_last => {}
            ScheduleKind::CpuMulticore => {
                return Err(Refusal::structure(
                    site.label(0),
                    "has one dimension, which threads share: tile it first",
                ));
            }
            ScheduleKind::Unrolled
            | ScheduleKind::Simd
            | ScheduleKind::GpuGrid
            | ScheduleKind::GpuBlock
            | ScheduleKind::FpgaDevice
            | ScheduleKind::FpgaReplicated
            | ScheduleKind::Mpi => {
                let schedule = map.schedule.kind().name();
                return Err(Refusal::structure(site.label(0), format!("has the schedule `{schedule}`")));
            }
        }
        lanes::run_on_lanes(site)?;
        if !is_last {
            nested_maps::no_declared_memlets(site, &[entry])?;
        }
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, entry) = (found.state(), found.node(0));
        let mut map = nested_maps::entry_map(editor, state, entry)?;
        if map.params.len() > 1 {
            map_expansion::expand(editor, found, map.params.len() - 1, Some(Schedule::Simd))?;
        } else {
            map.schedule = Schedule::Simd;
            editor.replace_node(state, entry, NodeKind::MapEntry(map))?;
        }
        Ok(())
    }
}
