//! Control flow: regions of blocks joined by transitions (paper section 3.4; ADR 0002).
//!
//! The paper's state machine is a region whose blocks are all states. Loops and branches are blocks, so that
//! transformations and chains can name them.

use sdfg_language::symbolic::Symbol;
use sdfg_language::syntax::Expression;

use super::ids::{BlockId, RegionId, StateId, TransitionId};
use super::source::SourceLoc;

/// Blocks joined by transitions; it runs from its start block until a block has no transition to take.
#[derive(Clone, Debug, Default)]
pub struct Region {
    /// Blocks in order of creation; the order does not matter to execution.
    pub blocks: Vec<BlockId>,
    /// Transitions. Those of one block are tried in this order.
    pub transitions: Vec<TransitionId>,
    /// The block that runs first; `None` only in an empty region.
    pub start: Option<BlockId>,
    /// The block that this region is a part of; `None` for the body of the SDFG.
    pub parent: Option<BlockId>,
}

/// A conditional edge between two blocks of a region.
#[derive(Clone, Debug)]
pub struct Transition {
    /// The block that has finished.
    pub src: BlockId,
    /// The block that runs next.
    pub dst: BlockId,
    /// When it is taken; `None` is always.
    pub condition: Option<Expression>,
    /// Values of symbols when it is taken. All right sides are evaluated before any symbol changes.
    pub assignments: Vec<(Symbol, Expression)>,
    /// Source location of its creation.
    pub loc: Option<SourceLoc>,
}

impl Transition {
    /// The assigned values, in order, and the condition.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.assignments.iter().map(|(_, value)| value).chain(&self.condition)
    }

    /// The same, for change.
    pub fn expressions_mut(&mut self) -> impl Iterator<Item = &mut Expression> {
        self.assignments.iter_mut().map(|(_, value)| value).chain(&mut self.condition)
    }
}

/// One step of control flow.
#[derive(Clone, Debug)]
pub struct Block {
    /// Name, unique among the blocks of its SDFG.
    pub label: String,
    /// Its kind.
    pub kind: BlockKind,
    /// The region it belongs to.
    pub region: RegionId,
    /// Source location of its creation.
    pub loc: Option<SourceLoc>,
}

/// The kinds of blocks.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "blocks are few, and a box would stand in the way of matching on loops"
)]
pub enum BlockKind {
    /// Runs a dataflow graph.
    State(StateId),
    /// Repeats a region.
    Loop(Loop),
    /// Runs one of several regions.
    Branch(Branch),
    /// Leaves the innermost loop.
    Break,
    /// Goes on with the next iteration of the innermost loop.
    Continue,
    /// Ends the SDFG.
    Return,
}

/// Repetition with a name.
///
/// Runs `init`, then while `condition` holds the body and `update`. With `test_after`, the first test comes after the
/// body and `update` (a do-while loop).
#[derive(Clone, Debug)]
pub struct Loop {
    /// The symbol that `init` and `update` set; it keeps its last value after the loop.
    pub symbol: Option<Symbol>,
    /// First value of the symbol.
    pub init: Option<Expression>,
    /// The loop goes on while this holds.
    pub condition: Expression,
    /// Next value of the symbol.
    pub update: Option<Expression>,
    /// Whether the condition is tested after the body.
    pub test_after: bool,
    /// Whether a back end should copy the body out; only for constant bounds.
    pub unroll: bool,
    /// The repeated region.
    pub body: RegionId,
}

/// A choice: the first arm whose condition holds is run.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Conditions with their regions, tried in order.
    pub arms: Vec<(Expression, RegionId)>,
    /// Region that runs if no condition holds; `None` runs nothing.
    pub otherwise: Option<RegionId>,
}

impl BlockKind {
    /// The regions inside this block, in order.
    pub fn regions(&self) -> Vec<RegionId> {
        match self {
            BlockKind::State(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => Vec::new(),
            BlockKind::Loop(body) => vec![body.body],
            BlockKind::Branch(branch) => {
                branch.arms.iter().map(|(_, region)| *region).chain(branch.otherwise).collect()
            }
        }
    }

    /// The conditions of this block, and the begin and step of a loop; not those of blocks inside.
    pub fn expressions(&self) -> Vec<&Expression> {
        match self {
            BlockKind::State(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => Vec::new(),
            BlockKind::Loop(repeated) => {
                [&repeated.condition].into_iter().chain(&repeated.init).chain(&repeated.update).collect()
            }
            BlockKind::Branch(branch) => branch.arms.iter().map(|(condition, _)| condition).collect(),
        }
    }

    /// The same, for change.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expression> {
        match self {
            BlockKind::State(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => Vec::new(),
            BlockKind::Loop(repeated) => [&mut repeated.condition]
                .into_iter()
                .chain(&mut repeated.init)
                .chain(&mut repeated.update)
                .collect(),
            BlockKind::Branch(branch) => branch.arms.iter_mut().map(|(condition, _)| condition).collect(),
        }
    }

    /// A noun for messages.
    pub const fn noun(&self) -> &'static str {
        match self {
            BlockKind::State(_) => "state",
            BlockKind::Loop(_) => "loop",
            BlockKind::Branch(_) => "branch",
            BlockKind::Break => "break",
            BlockKind::Continue => "continue",
            BlockKind::Return => "return",
        }
    }
}
