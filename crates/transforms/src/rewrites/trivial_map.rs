//! [`TrivialMapElimination`].

use std::collections::BTreeMap;

use sdfg::analysis::symbols::bound_symbols;
use sdfg::edit::{EditError, Editor};
use sdfg::ir::ScheduleKind;
use sdfg::symbolic::{Expr, Symbol};
use serde::{Deserialize, Serialize};

use super::{anchored, described, nested_maps};
use crate::engine::{Claim, Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Removes a map of one iteration: its contents take its place, with the first value of each range for the
/// parameters.
///
/// # When it applies
///
/// Every range has the form of one value, and the schedule is one of the host.
///
/// # Refusals
///
/// - It is not proved that a range has one value.
/// - The map gets symbols from data.
/// - The schedule brings the contents to a device.
///
/// # Before
///
/// ```sdft
/// sdfg last_element {
///   symbol N: i64
///   array A: f64[N + 1]
///   array last: f64[1]
///
///   state main {
///     access A
///     map once [i = N] {
///       tasklet copy (a) -> (l) { l = a }
///       once.A -> copy.a: A[i]
///       copy.l -> once.last: last[0]
///     }
///     access last
///     A -> once.A
///     once.last -> last
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg last_element {
///   symbol N: i64
///   array A: f64[N + 1]
///   array last: f64[1]
///
///   state main {
///     access A
///     tasklet copy (a) -> (l) { l = a }
///     access last
///     A -> copy.a: A[N]
///     copy.l -> last: last[0]
///   }
/// }
/// ```
///
/// # Soundness
///
/// The map runs its contents once, with these values of its parameters, and so does the state after the
/// rewrite.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrivialMapElimination {}

static METADATA: Metadata = Metadata {
    name: "TrivialMapElimination",
    group: Group::Map,
    summary: "Removes a map of one iteration.",
    source: "DaCe, TrivialMapElimination",
    soundness: Soundness::Always,
    is_strict: true,
    file: include_str!("trivial_map.rs"),
    parameters: &[],
};

anchored!(TrivialMapElimination);

impl Transformation for TrivialMapElimination {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::path([("map", NodeClass::MapEntry)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let map = site.map(0)?;
        let mut evidence = Evidence::default();
        for (param, range) in map.params.iter().zip(&map.ranges.0) {
            let steps = range.steps();
            if !range.tile.is_one() || !steps.is_one() {
                let needed = format!("{range} has one value");
                return Err(Refusal::Unproved { about: param.to_string(), needed });
            }
            evidence.note(param.as_str(), Claim::OneValue(range.clone()));
        }
        if bound_symbols(site.state(), site.found.node(0)).len() > map.params.len() {
            return Err(Refusal::structure(site.label(0), "gets symbols from data"));
        }
        match map.schedule.kind() {
            ScheduleKind::Default
            | ScheduleKind::Sequential
            | ScheduleKind::Unrolled
            | ScheduleKind::Simd
            | ScheduleKind::CpuMulticore => Ok(evidence),
            ScheduleKind::GpuGrid
            | ScheduleKind::GpuBlock
            | ScheduleKind::FpgaDevice
            | ScheduleKind::FpgaReplicated
            | ScheduleKind::Mpi => {
                Err(Refusal::structure(site.label(0), "has a schedule that brings its contents to a device"))
            }
        }
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, entry) = (found.state(), found.node(0));
        let map = nested_maps::entry_map(editor, state, entry)?;
        // A range may use earlier parameters, which have their values by then.
        let mut values: BTreeMap<Symbol, Expr> = BTreeMap::new();
        for (param, range) in map.params.iter().zip(&map.ranges.0) {
            values.insert(param.clone(), range.begin.substitute(&values));
        }
        editor.substitute_in_scope(state, Some(entry), &values)?;
        editor.unwrap_map(state, entry)
    }
}
