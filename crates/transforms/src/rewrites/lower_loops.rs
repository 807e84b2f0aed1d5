//! [`LowerLoops`].

use sdfg::edit::{EditError, Editor};
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{BlockClass, Pattern};

/// Makes states and conditional transitions of a loop and of the loops and branches in it: the state machine of the paper.
///
/// A loop labelled `l` becomes the empty states `l.init0`, `l.guard0`, `l.latch0` and `l.after0` around its body. It applies to
/// every loop. That a loop asks to be unrolled is lost. `RaiseLoops` is the reverse.
///
/// Before:
///
/// ```text
/// for l: i = 0:N {
///   state s {
///   }
/// }
/// ```
///
/// After:
///
/// ```text
/// state l.init0 {
/// }
/// -> l.guard0 with (i = 0)
/// state l.guard0 {
/// }
/// -> s if i < N
/// -> l.after0
/// state s {
/// }
/// -> l.latch0
/// state l.latch0 {
/// }
/// -> l.guard0 with (i = i + 1)
/// state l.after0 {
/// }
/// ```
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
