//! Changed parts of an SDFG, for tables that were computed before.
//!
//! The type is separate from the editor that fills it in, because analyses do not depend on the editor.

use std::collections::BTreeSet;

use crate::ir::{RegionId, Revision, StateId};

/// Changes of an SDFG between two of its revisions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedParts(TouchedParts);

/// The contents of a [`ChangedParts`], for the editor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TouchedParts {
    /// The revision before.
    pub before: Revision,
    /// The revision after.
    pub after: Revision,
    /// States with other contents, or that came or went.
    pub states: BTreeSet<StateId>,
    /// Regions with other blocks or transitions, or that came or went.
    pub regions: BTreeSet<RegionId>,
    /// Whether containers or symbols are others, or anything that may mean more than states and regions tell.
    pub is_more: bool,
}

impl From<TouchedParts> for ChangedParts {
    fn from(parts: TouchedParts) -> Self {
        ChangedParts(parts)
    }
}

impl ChangedParts {
    /// States with other contents, and those that came or went.
    pub fn states(&self) -> impl Iterator<Item = StateId> + '_ {
        self.0.states.iter().copied()
    }

    /// Whether only the contents of states are others: containers, symbols and control flow are what they were.
    pub fn is_in_states(&self) -> bool {
        self.0.regions.is_empty() && !self.0.is_more
    }

    pub(super) fn parts(&self) -> &TouchedParts {
        &self.0
    }
}
