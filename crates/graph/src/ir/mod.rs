//! The graph: containers, nodes, memlets, states and control flow.
//!
//! There is one file for each noun of the paper. The types can represent any graph, including invalid ones.
//! `validate` defines validity, and `docs/semantics.md` the meaning.

pub mod container;
pub mod distribution;
pub mod draft;
pub mod ids;
pub mod memlet;
pub mod multigraph;
pub(crate) mod names;
pub mod node;
mod outgoing;
pub mod port;
pub mod region;
pub mod revision;
pub mod schedule;
pub mod sdfg;
pub mod source;
pub mod state;
pub mod storage;
pub mod structure;
pub(crate) mod undo;

pub use container::{Container, ContainerKind, Layout};
pub use distribution::{Blocks, Cut, Distribution, Parts};
pub use ids::{BlockId, ContainerId, EdgeId, NodeId, RegionId, StateId, TransitionId};
pub use memlet::{Access, AccessedPart, ConflictResolution, Flow, Memlet, Volume};
pub use node::{
    Connector, Consume, LibraryNode, Map, NestedSdfg, Node, NodeKind, Reduce, ScopeExit, Tasklet, TaskletBody,
};
pub use port::Port;
pub use region::{Block, BlockKind, Branch, Loop, Region, Transition};
pub use revision::Revision;
pub use schedule::{
    BlockShape, ForeignAttribute, OpenMpSchedule, Schedule, ScheduleAttributes, ScheduleKind, Team,
};
pub use sdfg::{FloatMode, Sdfg};
pub use source::SourceLoc;
pub use state::{Edge, State};
pub use storage::{Lifetime, Storage};
