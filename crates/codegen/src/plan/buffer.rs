//! Buffers of a plan, and positions in them.

use std::collections::BTreeSet;
use std::fmt;

use sdfg::dtype::ElementType;
use sdfg::symbolic::Expr;
use sdfg::value::Value;

use super::parts::Part;
use super::space::Space;

/// A buffer of a [`Plan`](super::Plan), by position in [`Plan::buffers`](super::Plan::buffers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub(crate) u32);

impl BufferId {
    /// The position in [`Plan::buffers`](super::Plan::buffers).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A piece of memory that overlaps no other buffer, but for those of its [`Slot`](super::Slot) and references.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// Unique name, for generated code and messages.
    pub name: String,
    /// Type of one element.
    pub element: ElementType,
    /// Number of elements.
    pub size: Expr,
    /// Elements up to the last one that an index reaches, if the layout does not say that they are as many as the size: callers may pass
    /// more memory.
    pub span: Option<Expr>,
    /// Its allocation.
    pub allocation: Allocation,
    /// Its memory space.
    pub space: Space,
    /// In a checked plan, bytes that say of each element whether it was written; of the same size and allocation;
    /// those of a reference are a reference.
    pub defined: Option<BufferId>,
}

/// Allocation of a buffer.
#[derive(Clone, Debug, PartialEq)]
pub enum Allocation {
    /// The caller: position in [`Plan::arguments`](super::Plan::arguments). Nothing is known of its alignment beyond that of the element's
    /// component type.
    Argument(usize),
    /// The stack: of each thread, if a loop of level team lists it in [`Team::locals`](super::Team::locals) or as an accumulator, else
    /// of the program, where threads may share it. The size is a small constant.
    Stack,
    /// Memory in the arena of the handle, 64-byte aligned, large enough from before the first statement; the size uses symbol
    /// arguments only. [`Plan::slots`](super::Plan::slots) says where. Its contents are not defined at the start of a run and at
    /// [`Statement::Begin`](super::Statement::Begin).
    Handle,
    /// Memory of the handle that is kept from run to run.
    Persistent,
    /// One copy for each thread of the loop of level team that lists it in [`Team::locals`](super::Team::locals); 64-byte aligned. The size
    /// uses only variables that are set outside of the loop.
    Thread,
    /// Allocated by [`Statement::Allocate`](super::Statement::Allocate) and freed by [`Statement::Free`](super::Statement::Free); 64-byte aligned.
    Dynamic,
    /// A stream: an array of as many queues as the size, allocated and freed as `Dynamic` is. A location in it is a queue.
    Queues {
        /// Number of elements in a queue before a push waits; `None` is unbounded.
        capacity: Option<Expr>,
        /// The owner, which creates and frees them.
        owner: QueueOwner,
    },
    /// A part of the memory of one of these buffers, which [`Statement::Point`](super::Statement::Point) chooses; other references among them. Its
    /// size is a variable, that of the buffer which it names.
    Reference(BTreeSet<BufferId>),
    /// Constant contents, as many as the size.
    Constant(Vec<Value>),
}

/// The owner of the queues of a stream, which creates and frees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueOwner {
    /// [`Statement::Allocate`](super::Statement::Allocate) and [`Statement::Free`](super::Statement::Free).
    Statements,
    /// The handle: its first run makes them, and they are kept for the next ones.
    Handle,
    /// The caller, as an argument: a run begins with the elements that he gives, and gives back those that are left.
    Caller,
}

/// The position of one element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The buffer.
    pub buffer: BufferId,
    /// Elements from its start.
    pub offset: Expr,
}

/// A part of a buffer that is indexed by integers from 0.
///
/// Index `(i0, i1, ...)` is at `origin.offset`, and from there as far as each stride says of its index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strided {
    /// Position with all indices zero.
    pub origin: Location,
    /// Extent of each dimension; an index is below it.
    pub extents: Vec<Expr>,
    /// Distance between elements of each dimension.
    pub strides: Vec<Stride>,
}

/// Distance of the indices of a dimension from index 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stride {
    /// As many elements between any two neighbours.
    Even(Expr),
    /// Several consecutive elements at each position of a range.
    Tiled(Box<Tiled>),
}

/// Elements of a range with a tile: index `i` lies at `i / length * between + i % length * within`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiled {
    /// Elements at each position; there is no index where it is not positive.
    pub length: Expr,
    /// Elements of memory between positions.
    pub between: Expr,
    /// Elements of memory between neighbours at one position.
    pub within: Expr,
}

impl Buffer {
    /// Memory of a host: where that of a kind usually lies.
    pub fn new(name: String, element: ElementType, size: Expr, allocation: Allocation) -> Self {
        let space = match &allocation {
            Allocation::Stack => Space::Stack,
            Allocation::Constant(_) => Space::Constant,
            Allocation::Argument(_)
            | Allocation::Handle
            | Allocation::Persistent
            | Allocation::Thread
            | Allocation::Dynamic
            | Allocation::Queues { .. }
            | Allocation::Reference(_) => Space::HostHeap,
        };
        Buffer { name, element, size, span: None, allocation, space, defined: None }
    }

    /// Whether it is one element, which a kernel may be given by value if it lies on the host.
    pub fn is_value(&self) -> bool {
        let has_memory_of_its_own = matches!(
            self.allocation,
            Allocation::Argument(_) | Allocation::Handle | Allocation::Persistent | Allocation::Stack
        );
        has_memory_of_its_own && self.size == Expr::one()
    }

    /// Whether it is a stream.
    pub fn is_stream(&self) -> bool {
        matches!(self.allocation, Allocation::Queues { .. })
    }
}

impl Location {
    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        visit(Part::Touches(self.buffer));
        visit(Part::Evaluates(&self.offset));
    }
}

impl Strided {
    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        self.origin.parts(visit);
        let strides = self.strides.iter().flat_map(Stride::expressions);
        strides.for_each(|expression| visit(Part::Evaluates(expression)));
        self.extents.iter().for_each(|extent| visit(Part::Compares(extent)));
    }
}

impl Stride {
    /// Every expression in it.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let parts = match self {
            Stride::Even(stride) => [Some(stride), None, None],
            Stride::Tiled(tiled) => [&tiled.length, &tiled.between, &tiled.within].map(Some),
        };
        parts.into_iter().flatten()
    }
}

impl fmt::Display for Stride {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stride::Even(stride) => write!(f, "{stride}"),
            Stride::Tiled(tiled) => {
                write!(f, "{} in tiles of {} by {}", tiled.within, tiled.length, tiled.between)
            }
        }
    }
}
