//! Raw changes by which edits are taken back.
//!
//! An editor in another crate restores elements under their old ids. These traits stand apart from
//! [`draft`](super::draft), which code that builds graphs may use: ids that come back are for undo alone.

use std::sync::Arc;

use indexmap::IndexMap;
use sdfg_language::dtype::ScalarType;
use sdfg_language::symbolic::Symbol;

use super::container::Container;
use super::ids::{BlockId, ContainerId, EdgeId, NodeId, RegionId, StateId, TransitionId};
use super::multigraph::EdgePlace;
use super::node::Node;
use super::region::{Block, Region, Transition};
use super::sdfg::Sdfg;
use super::state::{Edge, State};

/// One part of an SDFG as it was; without contents it had not been made yet. By it edits are taken back.
#[derive(Clone, Debug)]
pub enum Part {
    /// A container.
    Container(ContainerId, Option<Container>),
    /// A region.
    Region(RegionId, Option<Region>),
    /// A block.
    Block(BlockId, Option<Block>),
    /// A transition.
    Transition(TransitionId, Option<Transition>),
    /// A state with all that is in it.
    State(StateId, Option<Arc<State>>),
    /// All declared symbols.
    Symbols(IndexMap<Symbol, ScalarType>),
}

/// Raw changes that take edits of an [`Sdfg`] back.
pub trait UndoSdfg {
    /// Makes a part what it was. One that had not been made must be the latest of its kind; its id is free then.
    fn restore(&mut self, part: Part);
    /// The declared symbols as a part that can be restored.
    fn symbols_part(&self) -> Part;
    /// A state, shared until one of its holders changes it.
    fn shared_state(&self, id: StateId) -> Option<Arc<State>>;
    /// Puts another state in the place of one.
    fn replace_state(&mut self, id: StateId, state: State);
}

impl UndoSdfg for Sdfg {
    fn restore(&mut self, part: Part) {
        Sdfg::restore(self, part);
    }

    fn symbols_part(&self) -> Part {
        Sdfg::symbols_part(self)
    }

    fn shared_state(&self, id: StateId) -> Option<Arc<State>> {
        Sdfg::shared_state(self, id)
    }

    fn replace_state(&mut self, id: StateId, state: State) {
        Sdfg::replace_state(self, id, state);
    }
}

/// An end of an edge: a node and its connector.
type End = (NodeId, Option<String>);

/// Raw changes that take edits of a [`State`] back.
pub trait UndoState {
    /// Gives an edge other ends and connectors; it keeps its id, its place among the edges, and its memlet.
    ///
    /// # Panics
    /// If the edge is absent, or one of the ends is not a node of this state.
    fn move_edge(&mut self, id: EdgeId, src: End, dst: End);
    /// Puts a removed node back under its id, without edges.
    fn restore_node(&mut self, id: NodeId, node: Node);
    /// Where an edge is among the edges of its ends, if it is present.
    fn place(&self, id: EdgeId) -> Option<EdgePlace>;
    /// Puts a removed edge back under its id, and where it was if what was beside it is there.
    fn restore_edge(&mut self, id: EdgeId, edge: Edge, place: Option<EdgePlace>);
    /// Takes back the creation of the latest node.
    fn take_back_node(&mut self, id: NodeId);
    /// Takes back the creation of the latest edge.
    fn take_back_edge(&mut self, id: EdgeId);
}

impl UndoState for State {
    fn move_edge(&mut self, id: EdgeId, src: End, dst: End) {
        State::move_edge(self, id, src, dst);
    }

    fn restore_node(&mut self, id: NodeId, node: Node) {
        State::restore_node(self, id, node);
    }

    fn place(&self, id: EdgeId) -> Option<EdgePlace> {
        State::place(self, id)
    }

    fn restore_edge(&mut self, id: EdgeId, edge: Edge, place: Option<EdgePlace>) {
        State::restore_edge(self, id, edge, place);
    }

    fn take_back_node(&mut self, id: NodeId) {
        State::take_back_node(self, id);
    }

    fn take_back_edge(&mut self, id: EdgeId) {
        State::take_back_edge(self, id);
    }
}
