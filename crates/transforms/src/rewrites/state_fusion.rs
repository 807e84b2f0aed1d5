//! [`StateFusion`].

use sdfg::analysis::callbacks::state_calls_back;
use sdfg::edit::{EditError, Editor};
use sdfg::ir::BlockKind;
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{BlockClass, Pattern};

/// Moves the nodes of a state into the state before it.
///
/// # When it applies
///
/// The second state follows the first one and no other block, always and without assignments.
///
/// # Refusals
///
/// - The first state goes on to several blocks, or with a condition or an assignment.
/// - The second state is reached in other ways, too.
/// - Both states call functions of the caller, whose order would not be kept.
///
/// # Before
///
/// ```sdft
/// sdfg scaled_sum {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///   array C: f64[N]
///
///   state first {
///     access A
///     access B
///     map add [i = 0:N] {
///       tasklet plus (a) -> (b) { b = a + 1.0 }
///       add.A -> plus.a: A[i]
///       plus.b -> add.B: B[i]
///     }
///     A -> add.A
///     add.B -> B
///   }
///   state second {
///     access B
///     access C
///     map scale [i = 0:N] {
///       tasklet times (b) -> (c) { c = 2.0 * b }
///       scale.B -> times.b: B[i]
///       times.c -> scale.C: C[i]
///     }
///     B -> scale.B
///     scale.C -> C
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg scaled_sum {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///   array C: f64[N]
///
///   state first {
///     access A
///     access B
///     map add [i = 0:N] {
///       tasklet plus (a) -> (b) { b = a + 1.0 }
///       add.A -> plus.a: A[i]
///       plus.b -> add.B: B[i]
///     }
///     access C
///     map scale [i = 0:N] {
///       tasklet times (b) -> (c) { c = 2.0 * b }
///       scale.B -> times.b: B[i]
///       times.c -> scale.C: C[i]
///     }
///     A -> add.A
///     add.B -> B
///     B -> scale.B
///     scale.C -> C
///   }
/// }
/// ```
///
/// # Soundness
///
/// Nodes of the second state wait for the nodes of the first one on which they depend, in whatever component
/// of the graph they are: an edge, or an edge that only orders, is added for each write before a read, read
/// before a write, and write before a write.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StateFusion {}

static METADATA: Metadata = Metadata {
    name: "StateFusion",
    group: Group::ControlFlow,
    summary: "Moves the nodes of a state into the state before it.",
    source: "paper, Table 4 and Appendix B.4",
    soundness: Soundness::Always,
    is_strict: true,
    file: include_str!("state_fusion.rs"),
    parameters: &[],
};

anchored!(StateFusion);

impl Transformation for StateFusion {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::Blocks {
            blocks: vec![("first", BlockClass::State), ("second", BlockClass::State)],
            transitions: vec![(0, 1)],
        }
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let (first, second) = (site.found.block(0), site.found.block(1));
        let label = |block| site.sdfg.block(block).label.as_str();
        let out = site.sdfg.transitions_from(first);
        let [only] = out.as_slice() else {
            return Err(Refusal::structure(label(first), "goes on to several blocks"));
        };
        let transition = site.sdfg.transition(*only);
        if transition.condition.is_some() || !transition.assignments.is_empty() {
            return Err(Refusal::structure(label(first), "goes on with a condition or an assignment"));
        }
        let region = site.sdfg.region(site.sdfg.block(second).region);
        let into = region.transitions.iter().filter(|id| site.sdfg.transition(**id).dst == second);
        if into.count() > 1 || region.start == Some(second) {
            return Err(Refusal::structure(label(second), "is reached in other ways, too"));
        }
        let calls = |block| {
            let kind = &site.sdfg.block(block).kind;
            matches!(kind, BlockKind::State(state) if state_calls_back(site.sdfg.state(*state)))
        };
        if [first, second].into_iter().all(calls) {
            return Err(Refusal::structure(
                label(second),
                "calls functions of the caller after the first state did",
            ));
        }
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        editor.merge_states(found.block(0), found.block(1))
    }
}
