//! [`StateElimination`].

use std::collections::BTreeSet;

use sdfg::edit::{EditError, Editor};
use sdfg::ir::{BlockId, Sdfg, Transition, TransitionId};
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation, state_of};
use crate::pattern::{BlockClass, Pattern};

/// Removes a state without nodes.
///
/// # When it applies
///
/// The state has no nodes, and is not the only block of its region. One of these holds:
///
/// - It always goes on, without assignments: the next block takes its place.
/// - It is the last one of its region, and nothing is decided or assigned on the way to it: the region ends
///   before it.
/// - It always goes on with assignments, and one transition leads to it: that one makes the assignments, too.
///
/// # Refusals
///
/// - The state has nodes, or is the only block of its region.
/// - The transitions cannot be joined: a condition or a second transition, or an assignment that reads a
///   symbol which the one before it sets. All assignments of a transition read the old values.
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
/// A state without nodes changes nothing. The joined transition has the conditions and assignments of both.
/// A symbol that both assign has the second value.
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
        match Removal::of(site.sdfg, block) {
            Some(_) => Ok(Evidence::of_structure()),
            None => {
                let reason = "is reached or left by transitions that cannot be joined";
                Err(Refusal::structure(label, reason))
            }
        }
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let block = found.block(0);
        match Removal::of(editor.sdfg(), block) {
            Some(Removal::Passed) | None => editor.remove_empty_state(block),
            Some(Removal::Last) => editor.remove_block(block),
            Some(Removal::Assigns(into, joined)) => {
                editor.change_transition(into, |transition| *transition = joined)?;
                editor.remove_block(block)
            }
        }
    }
}

/// The way in which an empty state goes.
enum Removal {
    /// The next block takes its place.
    Passed,
    /// The region ends before it.
    Last,
    /// The transition that leads to it makes its assignments, too.
    Assigns(TransitionId, Transition),
}

impl Removal {
    fn of(sdfg: &Sdfg, block: BlockId) -> Option<Removal> {
        let region = sdfg.region(sdfg.block(block).region);
        let is_start = region.start == Some(block);
        let into = || sdfg.transitions_to(block).into_iter();
        match sdfg.transitions_from(block)[..] {
            [] => {
                let ends = |id: TransitionId| {
                    let transition = sdfg.transition(id);
                    // Those behind it would be tried once it is gone.
                    transition.condition.is_none()
                        && transition.assignments.is_empty()
                        && sdfg.transitions_from(transition.src).last() == Some(&id)
                };
                (!is_start && into().all(ends)).then_some(Removal::Last)
            }
            [only] => {
                let next = sdfg.transition(only);
                if next.condition.is_some() || next.dst == block {
                    return None;
                }
                if next.assignments.is_empty() {
                    return Some(Removal::Passed);
                }
                let mut into = into();
                let (Some(id), None, false) = (into.next(), into.next(), is_start) else { return None };
                Some(Removal::Assigns(id, joined(sdfg.transition(id), next)?))
            }
            [_, _, ..] => None,
        }
    }
}

/// One transition for two that follow each other.
fn joined(first: &Transition, second: &Transition) -> Option<Transition> {
    let is_set = |name: &str| first.assignments.iter().any(|(symbol, _)| symbol.as_str() == name);
    let mut values = second.assignments.iter().map(|(_, value)| value);
    if values.any(|value| value.names().iter().any(|name| is_set(name))) {
        return None;
    }
    let again: BTreeSet<&str> = second.assignments.iter().map(|(symbol, _)| symbol.as_str()).collect();
    let mut joined = Transition { dst: second.dst, ..first.clone() };
    joined.assignments.retain(|(symbol, _)| !again.contains(symbol.as_str()));
    joined.assignments.extend(second.assignments.iter().cloned());
    Some(joined)
}
