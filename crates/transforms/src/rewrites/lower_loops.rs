//! [`LowerLoops`].

use sdfg::edit::{EditError, Editor};
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{BlockClass, Pattern};

/// Makes states and conditional transitions of a loop and of the loops and branches in it: the state machine
/// of the paper.
///
/// A loop labelled `l` becomes the empty states `l.init0`, `l.guard0`, `l.latch0` and `l.after0` around its
/// body. `RaiseLoops` is the reverse. A request to unroll the loop is lost.
///
/// # When it applies
///
/// It applies to every loop.
///
/// # Refusals
///
/// - The loop contains a jump beyond itself, such as a return: lower the loop around it.
///
/// # Before
///
/// ```sdft
/// sdfg doubling {
///   symbol N: i64
///   array A: f64[1]
///
///   for times: i = 0:N {
///     state double {
///       access A
///       access twice = A
///       tasklet double (a) -> (b) { b = 2.0 * a }
///       A -> double.a: A[0]
///       double.b -> twice: A[0]
///     }
///   }
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
///   state "times.init0" {}
///   -> "times.guard0" with (i = 0)
///   state "times.guard0" {}
///   -> double if i < N
///   -> "times.after0"
///   state double {
///     access A
///     access twice = A
///     tasklet double (a) -> (b) { b = 2.0 * a }
///     A -> double.a: A[0]
///     double.b -> twice: A[0]
///   }
///   state "times.latch0" {}
///   -> "times.guard0" with (i = i + 1)
///   state "times.after0" {}
/// }
/// ```
///
/// # Soundness
///
/// The transitions are the definition of the loop: the first value, the test before or after the body, and
/// the update. The same blocks run in the same order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LowerLoops {}

static METADATA: Metadata = Metadata {
    name: "LowerLoops",
    group: Group::ControlFlow,
    summary: "Makes states and conditional transitions of a loop and of all that is in it.",
    source: "paper, section 3.1",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("lower_loops.rs"),
    parameters: &[],
};

anchored!(LowerLoops);

impl Transformation for LowerLoops {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::block("loop", BlockClass::Loop)
    }

    fn check(&self, _: &Site<'_>) -> Result<Evidence, Refusal> {
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        editor.lower_control(found.block(0))
    }
}
