//! [`RaiseLoops`].

use sdfg::edit::{EditError, Editor};
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::Pattern;

/// Makes loops and branches of the transitions of an SDFG, where they have the form of one.
///
/// `LowerLoops` is the reverse.
///
/// # When it applies
///
/// A loop is a set of blocks that one block dominates, with an empty guard state that tests before or after
/// the body. Its symbol, first value and update are those of the transitions into the guard. Other ways out
/// become breaks, or returns where they end the SDFG. A branch is the part from a choice to where its ways
/// meet again.
///
/// # Refusals
///
/// - No transitions of the SDFG have the form of a loop or branch. Transitions of any other form remain.
///
/// # Before
///
/// ```sdft
/// sdfg doubling {
///   symbol N: i64
///   array A: f64[1]
///
///   state init {}
///   -> guard with (i = 0)
///   state guard {}
///   -> double if i < N
///   -> after
///   state double {
///     access A
///     access twice = A
///     tasklet times (a) -> (b) { b = 2.0 * a }
///     A -> times.a: A[0]
///     times.b -> twice: A[0]
///   }
///   -> guard with (i = i + 1)
///   state after {}
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg doubling {
///   symbol N: i64
///   array A: f64[1]
///
///   state init {}
///   for "guard.loop0": i = 0:N {
///     state double {
///       access A
///       access twice = A
///       tasklet times (a) -> (b) { b = 2.0 * a }
///       A -> times.a: A[0]
///       times.b -> twice: A[0]
///     }
///   }
///   state after {}
/// }
/// ```
///
/// # Soundness
///
/// The transitions are the definition of a loop: the first value, the test before or after the body, and the
/// update. The same blocks run in the same order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RaiseLoops {}

static METADATA: Metadata = Metadata {
    name: "RaiseLoops",
    group: Group::ControlFlow,
    summary: "Makes loops and branches of the transitions of an SDFG.",
    source: "DaCe, LoopLifting",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("raise_loops.rs"),
    parameters: &[],
};

anchored!(RaiseLoops);

impl Transformation for RaiseLoops {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::Sdfg
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        // A copy shows whether there is something to raise.
        Editor::of_draft(&mut site.sdfg.clone()).raise_control()?;
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, _: &Match) -> Result<(), EditError> {
        editor.raise_control()
    }
}
