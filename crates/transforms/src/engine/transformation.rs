//! The interface of transformations.

use std::fmt;

use sdfg::edit::{EditError, Editor};
use sdfg::ir::{NodeId, State};

use super::{Evidence, Match, Metadata, Refusal, Site};
use crate::pattern::Pattern;

/// A rewrite of programs: a pattern, a check, and an edit (paper, section 4.1 and Appendix D).
///
/// A value of the type holds the parameters. [`check`](Transformation::check) decides legality alone: whatever passes it may be
/// applied. [`apply`](Transformation::apply) may still refuse, by an [`EditError`], what the editor cannot express; the program
/// is then unchanged.
pub trait Transformation: fmt::Debug {
    /// The description of the transformation.
    fn metadata(&self) -> &'static Metadata;

    /// The parameters as a JSON object.
    fn parameters(&self) -> serde_json::Value;

    /// The graph that the transformation looks for.
    fn pattern(&self) -> Pattern;

    /// The places of the pattern in a state that are listed, sorted; `None` if all are.
    ///
    /// A pattern with two nodes beside a third one has as many places as the square of the neighbours. Such a transformation
    /// may list those that are worth a check. Paths still name the others.
    fn places_in(&self, _state: &State) -> Option<Vec<Vec<NodeId>>> {
        None
    }

    /// Decides whether the rewrite keeps the meaning of the program at a match.
    ///
    /// # Errors
    /// The reason for which it would not, or for which that is not proved.
    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal>;

    /// Whether the check takes containers of different names for different memory. The engine refuses such transformations in
    /// a called SDFG whose arguments share elements that one of them writes. Those that keep the order of all accesses, or
    /// change only transients, may answer `false`.
    fn tells_containers_apart(&self) -> bool {
        true
    }

    /// Whether the rewrite changes which rank accesses which elements, and sees to it that the rank holds them. Of all others, the
    /// engine takes back what would let code access memory of other ranks.
    fn moves_between_ranks(&self) -> bool {
        false
    }

    /// Rewrites the program at a match that passed the check. The editor is in the SDFG of the match.
    ///
    /// # Errors
    /// [`EditError`] if the editor refuses an edit.
    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError>;
}
