//! The plan: a lowered program in a small structured language between graph and back ends (ADR 0005).
//!
//! A plan contains every decision: allocation and lifetime of memory, sharing of loops by threads, resolution
//! of write conflicts, and shapes of copies. A back end prints a plan and decides nothing.
//!
//! Sizes, bounds and positions are [`Expr`](sdfg::symbolic::Expr)s over the plan's variables. Variable names
//! are unique in the whole plan, even if the graph uses one name for several symbols, so readers need no
//! scopes. Positions count elements from the start of a buffer. Different buffers never overlap, with two
//! exceptions: buffers of one [`Slot`] share memory at different times, and references point into other
//! buffers.

mod arena;
mod buffer;
mod capture;
mod check;
mod choice;
mod code;
mod commands;
mod compute;
mod copy;
mod debug;
mod device_memory;
mod effects;
mod interface;
mod kept;
mod kernel;
mod loops;
mod overlap;
mod parts;
mod print;
mod profile;
mod program;
mod space;
mod statement;
mod stream;
mod team;
mod vector;
mod verify;
mod walk;
mod write;

pub use arena::{MemoryUse, Slot};
pub use buffer::{Allocation, Buffer, BufferId, Location, QueueOwner, Stride, Strided, Tiled};
pub use capture::{Captured, Captures, Declarations};
pub use check::{Check, CheckedDimension, messages};
pub use choice::If;
pub use commands::{Commands, EventId};
pub use compute::{Binding, Compute, ExternalArgument, ExternalCompute, Scalar};
pub use copy::{Copy, CopyDimension};
pub use debug::{DebugInfo, SourceLocation, SourceLocationId};
pub use device_memory::{BlockMemory, DeviceMemory};
pub use effects::{Assignment, Pushes};
pub use kept::KeptReference;
pub use kernel::{BlockAccumulator, Kernel, PushedQueues, Threads};
pub use loops::{Level, LevelKind, Loop, LoopDimension, While};
pub use parts::{Entry, Part, PartMut};
pub use profile::{Profile, Timer, TimerId, TimerKind};
pub use program::{Argument, PassedAs, Plan, SymbolArgument};
pub use space::Space;
pub use statement::{JumpTarget, Statement};
pub use stream::{Collected, Consume, Pop, Push, Row, StreamToArray, TaskKind, Tasks};
pub use team::{CopySelector, OrderedChunks, PrivateAccumulator, PrivateCopies, Start, Team};
pub use vector::{Fold, LaneAccess, Vector, VectorCompute};
pub use verify::PlanError;
pub use walk::{Touch, touches};
pub(crate) use walk::{any_statement, touches_of_scalar};
pub use write::{Realisation, Resolved, identity, operation};
