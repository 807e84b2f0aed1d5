//! Statements of a plan.

use sdfg::dtype::ElementType;
use sdfg::ir::{ConflictResolution, Sharing};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::tasklet::{TypedCode, TypedExpressionCode};

use super::buffer::{BufferId, Location, Strided};
use super::check::Check;
use super::copy::Copy;
use super::debug::PlaceId;
use super::profile::RegionId;
use super::stream::{Collected, Consume, Pop, Push, TaskKind};
use super::write::Resolved;

/// A place that [`Statement::Leave`] and [`Statement::Repeat`] name; unique in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JumpTarget(pub(crate) u32);

impl JumpTarget {
    /// Its number.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// A heading for readers of the generated code: a state, a map.
    Comment(String),
    /// Sets a variable to the value of an integer expression.
    Let {
        /// The variable.
        variable: Symbol,
        /// Its value.
        value: Expr,
    },
    /// Sets a variable to the value of a typed expression of the variable's type.
    Set {
        /// The variable.
        variable: Symbol,
        /// Its value.
        value: Scalar,
    },
    /// A loop that one thread runs.
    For(For),
    /// A loop that a team of threads shares.
    Parallel(ParallelLoop),
    /// A loop with a condition.
    While(While),
    /// A choice.
    If(If),
    /// Statements that [`Leave`](Statement::Leave) can leave.
    Block {
        /// Name of the block.
        target: JumpTarget,
        /// The statements.
        body: Vec<Statement>,
    },
    /// Goes on after the block, while loop or dispatch of this name.
    Leave(JumpTarget),
    /// Goes on with the update of the while loop of this name.
    Repeat(JumpTarget),
    /// Irregular control flow: runs the first case; [`Goto`](Statement::Goto) goes to another; after the end of a case it goes on after the dispatch.
    Dispatch {
        /// Name of the dispatch.
        target: JumpTarget,
        /// The cases.
        cases: Vec<Vec<Statement>>,
    },
    /// Goes to a case of the dispatch of this name, from inside it.
    Goto {
        /// The dispatch.
        target: JumpTarget,
        /// The position of the case.
        case: usize,
    },
    /// The lifetime of a [`Handle`](super::Allocation::Handle) buffer begins: what it held is not defined any more.
    Begin(BufferId),
    /// Allocates a [`Dynamic`](super::Allocation::Dynamic) buffer or makes empty [`Queues`](super::Allocation::Queues); without memory the run ends with a status.
    Allocate(BufferId),
    /// Frees what [`Allocate`](Statement::Allocate) made.
    Free(BufferId),
    /// Makes a [`Reference`](super::Allocation::Reference) name the memory of another buffer, and what says which of its elements were written, too.
    Point {
        /// The reference.
        reference: BufferId,
        /// What it names: one of its targets.
        to: BufferId,
    },
    /// Ends the run if a memlet names what is not there.
    Check(Check),
    /// Makes every element undefined of the buffer whose [`defined`](super::Buffer::defined) this is.
    Undefine(BufferId),
    /// A tasklet.
    Compute(Compute),
    /// A tasklet that calls a C function.
    External(ExternalCompute),
    /// A copy between buffers.
    Copy(Copy),
    /// Elements into a queue.
    Push(Push),
    /// Elements out of a queue.
    Pop(Pop),
    /// A processing element of a consume scope.
    Consume(Consume),
    /// Tasks that run side by side on the thread that is here, each until it waits at a queue; goes on when all are done.
    Tasks(Vec<TaskKind>),
    /// Statements that come from an element of the program.
    Located {
        /// Where it was written.
        place: PlaceId,
        /// The statements.
        body: Vec<Statement>,
    },
    /// Statements whose time is taken each time they run, however they are left.
    Timed {
        /// What they are.
        region: RegionId,
        /// The statements.
        body: Vec<Statement>,
    },
}

/// A typed expression with what its names stand for.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar {
    /// The expression.
    pub code: TypedExpressionCode,
    /// What each connector of the environment stands for.
    pub bindings: Vec<Binding>,
    /// What each symbol of the environment stands for; an integer expression is converted to the symbol's type.
    pub symbols: Vec<Expr>,
    /// In a checked plan, what is looked at when the elements of a connector are accessed: those that are parts of windows.
    pub checks: Vec<Option<Check>>,
}

/// One dimension of a loop: `variable` runs from `begin` to below `end` by `step`, or down to above `end` by a negative
/// step. The sign of `step` is known: it is a nonzero constant, or positive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopDimension {
    /// The variable.
    pub variable: Symbol,
    /// Its first value.
    pub begin: Expr,
    /// Exclusive end.
    pub end: Expr,
    /// Distance of its values.
    pub step: Expr,
}

/// A loop that one thread runs.
#[derive(Clone, Debug, PartialEq)]
pub struct For {
    /// Variable and range.
    pub dimension: LoopDimension,
    /// Whether it is proved that no iteration touches an element that another one writes.
    pub independent: bool,
    /// Whether the body is to be copied out for every iteration.
    pub unroll: bool,
    /// A variable that says into which of [`BANKS`] accumulators an iteration combines: neighbouring ones into different ones.
    pub bank: Option<Symbol>,
    /// What is repeated. It does not set the loop variable.
    pub body: Vec<Statement>,
}

/// Accumulators of a thread for one target where the code picks the elements: an element that is combined into again and again is
/// then only waited for after as many iterations.
pub const BANKS: u32 = 8;

/// A loop whose iterations a team of threads shares. It is never inside of another one.
#[derive(Clone, Debug, PartialEq)]
pub struct ParallelLoop {
    /// Label of the map, for symbols and debug information.
    pub label: String,
    /// The shared iteration space, outermost first: one or more dimensions whose bounds do not use each other's variables.
    pub dimensions: Vec<LoopDimension>,
    /// Loops around the share of a thread, outermost first: each thread runs all of their iterations, and in each of them its part of the
    /// iteration space. Their bounds do not use its variables.
    pub around: Vec<LoopDimension>,
    /// Whether a pass over a thread's part serves several iterations of the innermost loop around it: they combine into the same
    /// elements, which are then loaded and stored once for all of them. There is one dimension then.
    pub jammed: bool,
    /// As [`For::bank`], for the innermost dimension.
    pub bank: Option<Symbol>,
    /// How iterations are handed out.
    pub sharing: Sharing,
    /// Iterations handed out at a time; `None` is the default of the sharing.
    pub chunk: Option<Expr>,
    /// Number of threads; `None` is that of the handle.
    pub threads: Option<Expr>,
    /// The work as an estimated number of innermost iterations; little work is done by the calling thread alone. `None` is unknown,
    /// and done by a team.
    pub work: Option<Expr>,
    /// Per-thread accumulators.
    pub privates: Vec<Private>,
    /// Streams to which each thread pushes in a queue of its own, whose elements follow those of the stream later: in the order of iterations, if
    /// the sharing is static without a chunk. The loop does nothing else with them; they have one queue, without a bound.
    pub collected: Vec<Collected>,
    /// Buffers of which every thread has its own: [`Thread`](super::Allocation::Thread) and [`Stack`](super::Allocation::Stack).
    pub locals: Vec<BufferId>,
    /// One iteration. It leaves the loop by no jump.
    pub body: Vec<Statement>,
    /// Whether it is proved that no iteration touches an element that another one writes; holds for the last dimension alone too.
    pub independent: bool,
    /// What each thread does is timed as this region, if any.
    pub part: Option<RegionId>,
}

#[cfg(test)]
impl ParallelLoop {
    /// A loop of independent iterations, shared evenly and with nothing else to it.
    pub(crate) fn plain(label: &str, dimensions: Vec<LoopDimension>, body: Vec<Statement>) -> Self {
        ParallelLoop {
            label: label.to_owned(),
            dimensions,
            around: Vec::new(),
            jammed: false,
            bank: None,
            sharing: Sharing::Static,
            chunk: None,
            threads: None,
            work: None,
            privates: Vec::new(),
            collected: Vec::new(),
            locals: Vec::new(),
            body,
            independent: true,
            part: None,
        }
    }
}

/// A per-thread accumulator: set to the identity of the resolution before a thread's first iteration, combined into the target,
/// in order of threads if so asked, after its last one.
#[derive(Clone, Debug, PartialEq)]
pub struct Private {
    /// The accumulator, or [`BANKS`] of them one after the other, a [`Thread`](super::Allocation::Thread) or [`Stack`](super::Allocation::Stack) buffer that is packed.
    pub buffer: BufferId,
    /// The distance in elements from one of [`BANKS`] accumulators to the next; without, there is one.
    pub bank_stride: Option<i64>,
    /// What it is combined into: element `k` of the accumulator, in row-major order of these extents.
    pub target: Strided,
    /// How; it has an identity.
    pub resolution: ConflictResolution,
}

/// A loop with a condition.
#[derive(Clone, Debug, PartialEq)]
pub struct While {
    /// Name of the loop: [`Leave`](Statement::Leave) goes on after it, [`Repeat`](Statement::Repeat) with `update`.
    pub target: JumpTarget,
    /// The loop goes on while this holds.
    pub condition: Scalar,
    /// Whether the condition is first tested after body and update.
    pub test_after: bool,
    /// What is repeated.
    pub body: Vec<Statement>,
    /// What follows the body each time.
    pub update: Vec<Statement>,
    /// Whether the body is to be copied out for every iteration.
    pub unroll: bool,
}

/// A choice: the first arm whose condition holds.
#[derive(Clone, Debug, PartialEq)]
pub struct If {
    /// Conditions with what they guard, tried in order.
    pub arms: Vec<(Scalar, Vec<Statement>)>,
    /// What is run if no condition holds.
    pub otherwise: Vec<Statement>,
}

/// A tasklet with what its names stand for.
#[derive(Clone, Debug, PartialEq)]
pub struct Compute {
    /// Label of the tasklet, for symbols and debug information.
    pub label: String,
    /// The code.
    pub code: TypedCode,
    /// What each connector of the environment stands for.
    pub bindings: Vec<Binding>,
    /// What each symbol of the environment stands for; an integer expression is converted to the symbol's type.
    pub symbols: Vec<Expr>,
    /// In a checked plan, what is looked at when a connector's elements are accessed; shorter where nothing is.
    pub checks: Vec<Option<Check>>,
}

/// What a connector stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Binding {
    /// An element that is loaded before the code runs.
    Load(Location),
    /// An element that is written after the code has run, if the code assigned it.
    Store {
        /// The element.
        to: Location,
        /// What happens to the old value.
        write: Resolved,
    },
    /// Elements that are read while the code runs.
    View(Strided),
    /// Elements that are written while the code runs.
    ViewMut {
        /// The elements.
        to: Strided,
        /// What happens to the old value.
        write: Resolved,
    },
    /// A queue, to which each assignment adds an element. Tasklets only.
    Push(Location),
    /// Queues whose lengths are asked for. Conditions and values only.
    Length(Strided),
}

/// A tasklet that calls a C function.
#[derive(Clone, Debug, PartialEq)]
pub struct ExternalCompute {
    /// Label of the tasklet.
    pub label: String,
    /// Name of the C function.
    pub symbol: String,
    /// Its arguments.
    pub arguments: Vec<ExternalArgument>,
    /// Where its result goes, with the result's type; without, it returns nothing.
    pub result: Option<(ElementType, Location)>,
}

/// An argument of a C function.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a call has a dozen of them at most")]
pub enum ExternalArgument {
    /// A value, of the expression's type. Its bindings are loads.
    Value(Scalar),
    /// The address of an element; what follows it in memory may be read and written through it.
    Pointer(Location),
}
