//! [`RaiseLoops`].

use sdfg::edit::{EditError, Editor};
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::Pattern;

/// Makes loops and branches of the transitions of an SDFG, where they have the form of one.
///
/// A loop is a set of blocks that one block dominates, with an empty guard state that tests before or after the body. Its
/// symbol, first value and update are those of the transitions into the guard. Other ways out become breaks, or returns
/// where they end the SDFG. A branch is what follows a choice up to where its ways meet again. It refuses an SDFG without
/// such transitions; any other form of transitions remains. `LowerLoops` is the reverse.
///
/// Before:
///
/// ```text
/// state init {
/// }
/// -> l_guard with (i = 0)
/// state l_guard {
/// }
/// -> s if i < N
/// -> after
/// state s {
/// }
/// -> l_guard with (i = i + 1)
/// state after {
/// }
/// ```
///
/// After:
///
/// ```text
/// state init {
/// }
/// for l: i = 0:N {
///   state s {
///   }
/// }
/// state after {
/// }
/// ```
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
