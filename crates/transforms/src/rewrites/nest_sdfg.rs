//! [`NestSdfg`].

use std::collections::BTreeSet;

use sdfg::edit::{EditError, Editor};
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Moves a map with its contents into an SDFG of its own, which a node calls in its place.
///
/// Containers that others use become arguments, bound as a whole; transients that only the map uses move along.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NestSdfg {}

static METADATA: Metadata = Metadata {
    name: "NestSDFG",
    group: Group::ControlFlow,
    summary: "Moves a map with its contents into an SDFG of its own.",
    source: "DaCe, NestSDFG",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("nest_sdfg.rs"),
    parameters: &[],
};

anchored!(NestSdfg);

impl Transformation for NestSdfg {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::path([("map", NodeClass::MapEntry)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        site.map(0).map(|_| Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, entry) = (found.state(), found.node(0));
        let label = editor.state(state)?.node(entry).label.clone();
        let call = editor.derived_label(state, &label, "call")?;
        editor.wrap_in_nested(state, &BTreeSet::from([entry]), &call)?;
        Ok(())
    }
}
