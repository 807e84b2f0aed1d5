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

/// Removes a map of one iteration: its contents take its place, with the first value of each range for the parameters.
///
/// It applies if every range has the form of one value, and the schedule is one of the host.
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
