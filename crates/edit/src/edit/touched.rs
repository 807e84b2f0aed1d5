//! Parts that a running series of edits touched, for tables that follow the series edit by edit.
//!
//! [`Changes`](super::Changes) reports a series that has ended. Drivers that check and edit in turn need the parts of the
//! latest edits alone.

use sdfg_graph::ir::{BlockId, ContainerId, EdgeId, NodeId, StateId, TransitionId};
use sdfg_graph::workspace::Part;

use super::editor::Editor;
use super::journal::Undo;

/// A part of an SDFG that was added, changed or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TouchedPart {
    /// A node of a state.
    Node(StateId, NodeId),
    /// An edge of a state.
    Edge(StateId, EdgeId),
    /// A state as a whole.
    State(StateId),
    /// A block of control flow.
    Block(BlockId),
    /// A transition.
    Transition(TransitionId),
    /// A container.
    Container(ContainerId),
    /// The blocks and transitions of a region, or declarations of symbols.
    Other,
}

/// A touched part with the calls that lead from the program to its SDFG.
pub type TouchedAt<'e> = (&'e [(StateId, NodeId)], TouchedPart);

impl Editor<'_> {
    /// The position of the series, for [`touched_since`](Editor::touched_since).
    pub fn position(&self) -> usize {
        self.log().len()
    }

    /// The parts that edits touched after a position of the series, in order and with repetition.
    pub fn touched_since(&self, position: usize) -> impl Iterator<Item = TouchedAt<'_>> {
        let entries = self.log().get(position..).unwrap_or_default();
        entries.iter().map(|entry| (&*entry.path, touched(&entry.undo)))
    }
}

fn touched(undo: &Undo) -> TouchedPart {
    match undo {
        Undo::NodeAdded(state, id) | Undo::NodeRemoved(state, id, _) | Undo::NodeWas(state, id, _) => {
            TouchedPart::Node(*state, *id)
        }
        Undo::EdgeAdded(state, id)
        | Undo::EdgeRemoved(state, id, ..)
        | Undo::EdgeWas(state, id, ..)
        | Undo::DerivedWas(state, id, _) => TouchedPart::Edge(*state, *id),
        Undo::Part(part) => match &**part {
            Part::State(id, _) => TouchedPart::State(*id),
            Part::Block(id, _) => TouchedPart::Block(*id),
            Part::Transition(id, _) => TouchedPart::Transition(*id),
            Part::Container(id, _) => TouchedPart::Container(*id),
            Part::Region(..) | Part::Symbols(_) => TouchedPart::Other,
        },
    }
}
