//! [`InlineSdfg`].

use sdfg::edit::{EditError, Editor};
use sdfg::ir::{BlockKind, NodeKind};
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Puts the nodes of a called SDFG of one state in the place of the call.
///
/// Arguments become the containers that they were bound to, transients get free names, and symbols their values. The editor
/// refuses calls that bind parts which no subset expresses, and transients that cannot live outside.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InlineSdfg {}

static METADATA: Metadata = Metadata {
    name: "InlineSDFG",
    group: Group::ControlFlow,
    summary: "Puts the nodes of a called SDFG of one state in the place of the call.",
    source: "paper, Table 4 and Appendix B.4",
    soundness: Soundness::Always,
    is_strict: true,
    file: include_str!("inline_sdfg.rs"),
    parameters: &[],
};

anchored!(InlineSdfg);

impl Transformation for InlineSdfg {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::path([("call", NodeClass::Nested)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let NodeKind::Nested(nested) = &site.state().node(site.found.node(0)).kind else {
            return Err(Refusal::structure(site.label(0), "calls no SDFG"));
        };
        let blocks = &nested.sdfg.region(nested.sdfg.body()).blocks;
        match blocks.as_slice() {
            [only] if matches!(nested.sdfg.block(*only).kind, BlockKind::State(_)) => {
                Ok(Evidence::of_structure())
            }
            _ => Err(Refusal::structure(site.label(0), "calls an SDFG of several blocks")),
        }
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        editor.inline_nested(found.state(), found.node(0))
    }
}
