//! [`MapToForLoop`].

use sdfg::edit::{EditError, Editor};
use serde::{Deserialize, Serialize};

use super::{anchored, described, nested_maps};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Runs the iterations of a map in order: the map becomes loops in a nested SDFG.
///
/// `InlineSDFG` moves the loops to the caller if no scope is around the map. `LoopToMap` is the reverse.
///
/// # When it applies
///
/// The map has a schedule of the host, its steps are numbers, its bounds come from symbols, and it is in no
/// consume scope.
///
/// # Refusals
///
/// - The map has a schedule of a device.
/// - A step is no number, or a range is one of tiles.
/// - Data that flows into the map decides its ranges: a loop outside of states has no such data.
/// - The map touches a stream: an iteration may wait for an element that a later one pushes, and a loop would
///   wait for ever.
///
/// # Before
///
/// ```sdft
/// sdfg double_all {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///
///   state main {
///     access A
///     map elements [i = 0:N] {
///       tasklet double (a) -> (b) { b = 2.0 * a }
///       elements.A -> double.a: A[i]
///       double.b -> elements.B: B[i]
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
///   array A: f64[N]
///   array B: f64[N]
///
///   state main {
///     access A
///     access B
///     nested "elements.in_order0" (A) -> (B) with (N = N) sdfg double_all_elements_in_order0 {
///       symbol N: i64
///       array A: f64[N]
///       array B: f64[N]
///
///       for "elements.i0": i = 0:N {
///         state body {
///           tasklet double (a) -> (b) { b = 2.0 * a }
///           access A
///           access B
///           A -> double.a: A[i]
///           double.b -> B: B[i]
///         }
///       }
///     }
///     A -> "elements.in_order0".A: A[0:N]
///     "elements.in_order0".B -> B: B[0:N]
///   }
/// }
/// ```
///
/// # Soundness
///
/// Iterations of maps are concurrent by meaning, so the order of the loops is one of theirs. Sums of
/// floating-point numbers may differ in rounding.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MapToForLoop {}

static METADATA: Metadata = Metadata {
    name: "MapToForLoop",
    group: Group::ControlFlow,
    summary: "Runs the iterations of a map in order, by loops.",
    source: "paper, Table 4 and Appendix B.4",
    soundness: Soundness::ChangesRounding,
    is_strict: false,
    file: include_str!("map_to_for_loop.rs"),
    parameters: &[],
};

anchored!(MapToForLoop);

impl Transformation for MapToForLoop {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::path([("map", NodeClass::MapEntry)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let (map, state) = (site.map(0)?, site.state());
        nested_maps::on_host(site, map)?;
        nested_maps::no_symbols_from_data(site, 0)?;
        for (param, range) in map.params.iter().zip(&map.ranges.0) {
            if range.step.as_int().is_none_or(|step| step == 0) || !range.tile.is_one() {
                let needed = format!("the step of {range} is a number");
                return Err(Refusal::Unproved { about: param.to_string(), needed });
            }
        }
        for edge in site.edges_within(site.found.node(0)) {
            let streams =
                state.edge(edge).memlet.accesses().map(|access| site.sdfg.container(access.container));
            if let Some(stream) = streams.into_iter().find(|container| container.is_stream()) {
                return Err(Refusal::container(
                    &stream.name,
                    "is a stream: an iteration may wait for what a later one pushes",
                ));
            }
        }
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        editor.map_to_loops(found.state(), found.node(0)).map(|_| ())
    }
}
