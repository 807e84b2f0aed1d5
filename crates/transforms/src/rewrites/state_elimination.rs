//! [`StateElimination`].

use sdfg::edit::{EditError, Editor};
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation, state_of};
use crate::pattern::{BlockClass, Pattern};

/// Removes a state without nodes.
///
/// # When it applies
///
/// The state has no nodes, and is not the only block of its region. The transitions to it and from it can be
/// joined.
///
/// # Refusals
///
/// - The state has nodes, or is the only block of its region.
/// - The transitions cannot be joined: an assignment before a condition that reads the symbol, for example.
///
/// # Before
///
/// ```sdft
/// sdfg one_after_another {
///   array A: f64[1]
///
///   state nothing {}
///   state set {
///     access A
///     tasklet one () -> (a) { a = 1.0 }
///     one.a -> A: A[0]
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg one_after_another {
///   array A: f64[1]
///
///   state set {
///     access A
///     tasklet one () -> (a) { a = 1.0 }
///     one.a -> A: A[0]
///   }
/// }
/// ```
///
/// # Soundness
///
/// A state without nodes changes nothing. The joined transition has the conditions and assignments of both,
/// in their order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StateElimination {}

static METADATA: Metadata = Metadata {
    name: "StateElimination",
    group: Group::ControlFlow,
    summary: "Removes a state without nodes.",
    source: "DaCe, EmptyStateElimination",
    soundness: Soundness::Always,
    is_strict: true,
    file: include_str!("state_elimination.rs"),
    parameters: &[],
};

anchored!(StateElimination);

impl Transformation for StateElimination {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::block("state", BlockClass::State)
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let block = site.found.block(0);
        let label = site.sdfg.block(block).label.as_str();
        let nodes = state_of(site.sdfg, block).map_or(0, |state| site.sdfg.state(state).n_nodes());
        if nodes > 0 {
            return Err(Refusal::structure(label, format!("has {nodes} nodes")));
        }
        let region = site.sdfg.region(site.sdfg.block(block).region);
        if region.blocks.len() == 1 {
            return Err(Refusal::structure(label, "is the only block of its region"));
        }
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        editor.remove_empty_state(found.block(0))
    }
}
