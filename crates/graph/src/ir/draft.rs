//! Raw changes of a graph, for code of other crates.
//!
//! An `Editor` changes a program and keeps it valid. Two kinds of code cannot use one: readers that create a
//! program from nothing, which is invalid until it is complete, and tests that plant invalid graphs. They
//! import these traits; `cargo xtask tidy` lists the files that may. These traits check nothing: use
//! [`propagate`](crate::propagate::propagate) and `validate`) afterwards.
//!
//! ```
//! # mod sdfg { pub use sdfg_graph::{ir, text}; pub use sdfg_language::tasklet; }
//! use sdfg::ir::draft::{DraftSdfg, DraftState};
//! use sdfg::ir::{Node, NodeKind, Sdfg, State, Tasklet, TaskletBody};
//! use sdfg::tasklet::{Code, Dialect};
//!
//! let code = Code::parse("x = 1", Dialect::Python).unwrap();
//! let tasklet = Tasklet { inputs: Vec::new(), outputs: Vec::new(), body: TaskletBody::Code(code) };
//! let mut state = State::new("s");
//! state.add_node(Node { label: "t".to_owned(), kind: NodeKind::Tasklet(tasklet), loc: None });
//! let mut program = Sdfg::new("p");
//! let body = program.body();
//! program.add_state(body, state);
//! assert!(sdfg::text::print(&program).contains("tasklet t"));
//! ```

use sdfg_language::dtype::ScalarType;
use sdfg_language::symbolic::Symbol;

use super::container::Container;
use super::ids::{BlockId, ContainerId, EdgeId, NodeId, RegionId, StateId, TransitionId};
use super::memlet::Memlet;
use super::node::Node;
use super::region::{Block, Region, Transition};
use super::sdfg::Sdfg;
use super::state::{Edge, State};

/// Writes a trait with the methods of a type, and implements it by them.
macro_rules! draft {
    ($(#[$about:meta])* $trait:ident for $type:ident { $($(#[$doc:meta])* fn $name:ident(&mut self $(, $arg:ident: $ty:ty)*) $(-> $out:ty)?;)* }) => {
        $(#[$about])*
        pub trait $trait {
            $($(#[$doc])* fn $name(&mut self $(, $arg: $ty)*) $(-> $out)?;)*
        }
        impl $trait for $type {
            $(fn $name(&mut self $(, $arg: $ty)*) $(-> $out)? {
                $type::$name(self $(, $arg)*)
            })*
        }
    };
}

draft! {
    /// Raw changes of an [`Sdfg`]. Methods that lend an element panic if it is absent.
    DraftSdfg for Sdfg {
        /// Declares a symbol that the caller gives a value, or changes the type of a declared one.
        fn declare_symbol(&mut self, symbol: Symbol, ty: ScalarType);
        /// Takes the declaration of a symbol back.
        fn undeclare_symbol(&mut self, symbol: &Symbol) -> Option<ScalarType>;
        /// Adds a container. Its name is kept; see [`Sdfg::fresh_container_name`].
        fn add_container(&mut self, container: Container) -> ContainerId;
        /// Removes a container; uses of it stay behind and fail validation.
        fn remove_container(&mut self, id: ContainerId) -> Option<Container>;
        /// The container for change.
        fn container_mut(&mut self, id: ContainerId) -> &mut Container;
        /// Adds an empty region; a loop or branch block is then made of it.
        fn add_region(&mut self) -> RegionId;
        /// The region for change.
        fn region_mut(&mut self, id: RegionId) -> &mut Region;
        /// Adds a state to a region, in a block with its label.
        fn add_state(&mut self, region: RegionId, state: State) -> (BlockId, StateId);
        /// Adds a block to a region; the regions in it become its parts.
        fn add_block(&mut self, region: RegionId, block: Block) -> BlockId;
        /// Adds a transition, tried after those that its source has.
        fn add_transition(&mut self, transition: Transition) -> TransitionId;
        /// Removes a transition.
        fn remove_transition(&mut self, id: TransitionId) -> Option<Transition>;
        /// Moves a block with its transitions to another region.
        fn move_block(&mut self, id: BlockId, to: RegionId);
        /// Removes a block with its transitions and all that is in it.
        fn remove_block(&mut self, id: BlockId) -> Option<Block>;
        /// The block for change.
        fn block_mut(&mut self, id: BlockId) -> &mut Block;
        /// The transition for change.
        fn transition_mut(&mut self, id: TransitionId) -> &mut Transition;
        /// The state for change; a snapshot that shares it keeps the old one.
        fn state_mut(&mut self, id: StateId) -> &mut State;
    }
}

draft! {
    /// Raw changes of a [`State`]. Methods that lend an element panic if it is absent.
    DraftState for State {
        /// Adds a node. Its label is kept; see [`State::fresh_label`].
        fn add_node(&mut self, node: Node) -> NodeId;
        /// Adds an edge between nodes of this state.
        fn add_edge(&mut self, edge: Edge) -> EdgeId;
        /// Removes a node with its edges.
        fn remove_node(&mut self, id: NodeId) -> Option<Node>;
        /// Removes an edge.
        fn remove_edge(&mut self, id: EdgeId) -> Option<Edge>;
        /// The node for change.
        fn node_mut(&mut self, id: NodeId) -> &mut Node;
        /// Gives the ends of an edge other connectors; the nodes at its ends never change.
        fn set_connectors(&mut self, id: EdgeId, src: Option<String>, dst: Option<String>);
        /// The memlet of an edge for change. The ends of an edge never change.
        fn memlet_mut(&mut self, id: EdgeId) -> &mut Memlet;
    }
}
