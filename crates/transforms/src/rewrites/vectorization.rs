//! [`Vectorization`].

use sdfg::edit::{EditError, Editor};
use sdfg::ir::{NodeKind, Schedule, ScheduleKind};
use serde::{Deserialize, Serialize};

use super::{anchored, described, map_expansion, nested_maps};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::lanes::run_on_lanes;
use crate::pattern::{NodeClass, Pattern};

/// Runs the iterations of the last dimension of a map on the lanes of a vector unit.
///
/// A map of one dimension gets the schedule `simd`. Of a map of several, the last dimension becomes an inner
/// map with it. Back ends run the iterations that remain after the last whole vector, and gather where
/// accesses have a stride.
///
/// # When it applies
///
/// The map contains no other map. Iterations touch different elements, or one tasklet combines them, or
/// combinations come to the same in any order.
///
/// # Refusals
///
/// - The map uses streams or references, or calls foreign functions.
/// - A loop of a tasklet may end in different iterations on different lanes.
/// - A transient of each iteration is not small, or has no constant size.
/// - Iterations may write an element that another one touches.
/// - The map has one dimension, which threads share: tile it first.
///
/// # Before
///
/// ```sdft
/// sdfg double_all {
///   symbol N: i64
///   symbol M: i64
///   array A: f64[N, M]
///   array B: f64[N, M]
///
///   state main {
///     access A
///     map elements [i = 0:N, j = 0:M] {
///       tasklet double (a) -> (b) { b = 2.0 * a }
///       elements.A -> double.a: A[i, j]
///       double.b -> elements.B: B[i, j]
///     }
///     access B
///     A -> elements.A
///     elements.B -> B
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg double_all {
///   symbol N: i64
///   symbol M: i64
///   array A: f64[N, M]
///   array B: f64[N, M]
///
///   state main {
///     access A
///     map elements [i = 0:N] {
///       map "elements.inner0" [j = 0:M] schedule(simd) {
///         tasklet double (a) -> (b) { b = 2.0 * a }
///         "elements.inner0".A -> double.a: A[i, j]
///         double.b -> "elements.inner0".B: B[i, j]
///       }
///       "elements.inner0".B -> elements.B
///       elements.A -> "elements.inner0".A
///     }
///     access B
///     A -> elements.A
///     elements.B -> B
///   }
/// }
/// ```
///
/// # Soundness
///
/// Iterations of maps are concurrent, so lanes may run them at the same time. Sums over lanes may differ in
/// rounding.
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
        run_on_lanes(site)?;
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
