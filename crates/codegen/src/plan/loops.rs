//! Loops: iteration spaces, each with the machine level that runs it.

use std::fmt;

use sdfg::subset::Range;
use sdfg::symbolic::{Expr, Symbol};

use super::compute::Scalar;
use super::kernel::{Kernel, Threads};
use super::parts::{Part, PartMut};
use super::print::Printer;
use super::statement::{JumpTarget, Statement};
use super::team::{CopySelector, Team};
use super::vector::Vector;

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

/// A loop over an iteration space.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// The iteration space, outermost first: one or more dimensions whose bounds do not use each other's variables. Levels of one thread
    /// have one dimension.
    pub dimensions: Vec<LoopDimension>,
    /// Executor of the iterations.
    pub level: Level,
    /// Whether it is proved that no iteration touches an element that another one writes; holds for the last dimension alone too.
    pub independent: bool,
    /// One iteration. It does not set the loop variables, and it leaves the loop by no jump.
    pub body: Vec<Statement>,
}

/// Executor of the iterations of a loop, with its attributes.
///
/// The order of the levels is that of the machine: a level that stands for several units contains those that follow it.
#[derive(Clone, Debug, PartialEq)]
pub enum Level {
    /// Ranks of a distributed program, one iteration each.
    Rank,
    /// Threads of the host that share the iterations.
    Team(Box<Team>),
    /// A kernel on a device.
    Grid(Box<Kernel>),
    /// Threads of one block.
    Block(Threads),
    /// Threads of one block that execute an instruction together.
    Lane,
    /// Lanes of the vector registers of one thread.
    Vector(Box<Vector>),
    /// One thread, one iteration after the other.
    Sequential {
        /// Selector among several accumulators, which changes between iterations.
        selector: Option<CopySelector>,
    },
    /// One thread, with a copy of the body for every iteration.
    Unrolled,
    /// Hardware that begins an iteration before the previous one ends.
    Pipelined {
        /// Cycles from the beginning of an iteration to that of the next.
        interval: u32,
    },
    /// Hardware of its own for each iteration.
    Replicated,
}

/// A level without its attributes, as targets list those that they have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LevelKind {
    /// [`Level::Rank`].
    Rank,
    /// [`Level::Team`].
    Team,
    /// [`Level::Grid`].
    Grid,
    /// [`Level::Block`].
    Block,
    /// [`Level::Lane`].
    Lane,
    /// [`Level::Vector`].
    Vector,
    /// [`Level::Sequential`].
    Sequential,
    /// [`Level::Unrolled`].
    Unrolled,
    /// [`Level::Pipelined`].
    Pipelined,
    /// [`Level::Replicated`].
    Replicated,
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
    /// The repeated statements.
    pub body: Vec<Statement>,
    /// Statements after the body of each iteration.
    pub update: Vec<Statement>,
    /// Whether the body is to be copied out for every iteration.
    pub unroll: bool,
}

impl Loop {
    /// A loop that one thread runs, of whose iterations nothing is known.
    pub fn sequential(dimension: LoopDimension, body: Vec<Statement>) -> Self {
        let level = Level::Sequential { selector: None };
        Loop { dimensions: vec![dimension], level, independent: false, body }
    }

    /// A loop that a team of threads shares.
    pub fn shared(dimensions: Vec<LoopDimension>, team: Team, body: Vec<Statement>) -> Self {
        Loop { dimensions, level: Level::Team(Box::new(team)), independent: false, body }
    }

    /// Attributes of the team, if one shares the loop.
    pub fn team(&self) -> Option<&Team> {
        match &self.level {
            Level::Team(team) => Some(team),
            Level::Rank
            | Level::Grid(_)
            | Level::Block(_)
            | Level::Lane
            | Level::Vector(_)
            | Level::Sequential { .. }
            | Level::Unrolled
            | Level::Pipelined { .. }
            | Level::Replicated => None,
        }
    }

    /// Attributes of the team, if one shares the loop, for modification.
    pub(crate) fn team_mut(&mut self) -> Option<&mut Team> {
        match &mut self.level {
            Level::Team(team) => Some(team),
            Level::Rank
            | Level::Grid(_)
            | Level::Block(_)
            | Level::Lane
            | Level::Vector(_)
            | Level::Sequential { .. }
            | Level::Unrolled
            | Level::Pipelined { .. }
            | Level::Replicated => None,
        }
    }

    pub(crate) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        let nested = self.team().is_some_and(|team| team.nested.is_some());
        visit(Part::Runs { level: self.level.kind(), dimensions: self.dimensions.len(), nested });
        visit(Part::Repeats);
        visit(Part::Encloses);
        self.dimensions.iter().for_each(|dimension| dimension.parts(visit));
        match &self.level {
            Level::Team(team) => {
                team.around.iter().for_each(|dimension| dimension.parts_inside(visit));
                team.selector.iter().for_each(|selector| visit(Part::Counts(&selector.variable)));
                visit(Part::Body(&self.body));
                team.parts(visit);
            }
            Level::Grid(kernel) => {
                visit(Part::Body(&self.body));
                kernel.parts(visit);
            }
            Level::Block(threads) => {
                visit(Part::Body(&self.body));
                threads.parts(visit);
            }
            Level::Sequential { selector } => {
                selector.iter().for_each(|selector| visit(Part::Counts(&selector.variable)));
                visit(Part::Body(&self.body));
            }
            Level::Rank | Level::Lane | Level::Unrolled | Level::Pipelined { .. } | Level::Replicated => {
                visit(Part::Body(&self.body));
            }
            Level::Vector(vector) => {
                visit(Part::Body(&self.body));
                vector.parts(visit);
            }
        }
    }

    pub(super) fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        visit(PartMut::Body(&mut self.body));
        match &mut self.level {
            Level::Team(team) => team.parts_mut(visit),
            Level::Vector(vector) => vector.parts_mut(visit),
            Level::Grid(kernel) => kernel.parts_mut(visit),
            Level::Rank
            | Level::Block(_)
            | Level::Lane
            | Level::Sequential { .. }
            | Level::Unrolled
            | Level::Pipelined { .. }
            | Level::Replicated => {}
        }
    }
}

impl Loop {
    pub(super) fn print(&self, to: &mut Printer<'_, '_, '_>) -> fmt::Result {
        let ranges = ranges(&self.dimensions);
        let independent = if self.independent { " independent" } else { "" };
        let word = self.level.kind().name();
        match &self.level {
            Level::Team(team) => to.braced(team.heading(&ranges, independent), |to| {
                team.print(to)?;
                to.statements(&self.body)
            }),
            Level::Vector(vector) => vector.print((&ranges, independent), &self.body, to),
            Level::Sequential { selector } => {
                let selector = selector_text(selector.as_ref());
                to.nested(format_args!("{word} {ranges}{independent}{selector}"), &self.body)
            }
            Level::Grid(kernel) => to.braced(kernel.heading(&ranges, independent), |to| {
                kernel.print(to)?;
                to.statements(&self.body)
            }),
            Level::Block(threads) => to.braced(threads.heading(&ranges, independent), |to| {
                threads.print(to)?;
                to.statements(&self.body)
            }),
            Level::Pipelined { interval } => {
                to.nested(format_args!("{word} {ranges} every {interval}{independent}"), &self.body)
            }
            Level::Rank | Level::Lane | Level::Unrolled | Level::Replicated => {
                to.nested(format_args!("{word} {ranges}{independent}"), &self.body)
            }
        }
    }
}

/// Dimensions in the text of plans.
pub(super) fn ranges(dimensions: &[LoopDimension]) -> String {
    let ranges: Vec<String> = dimensions.iter().map(LoopDimension::to_string).collect();
    ranges.join(", ")
}

/// The selector of private copies in the text of plans.
pub(super) fn selector_text(selector: Option<&CopySelector>) -> String {
    selector.map_or(String::new(), |each| format!(" copies {} of {}", each.variable, each.count))
}

impl LoopDimension {
    /// The number of its values, if it is known.
    pub fn count(&self) -> Option<i64> {
        let range = Range::new(self.begin.clone(), self.end.clone()).with_step(self.step.clone());
        range.steps().as_int()
    }

    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        visit(Part::Counts(&self.variable));
        [&self.begin, &self.end, &self.step].into_iter().for_each(|bound| visit(Part::Evaluates(bound)));
    }

    /// As [`parts`](Self::parts), of a loop inside of another one that counts, too.
    fn parts_inside<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        visit(Part::Counts(&self.variable));
        [&self.begin, &self.end, &self.step]
            .into_iter()
            .for_each(|bound| visit(Part::EvaluatesInside(bound)));
    }
}

impl fmt::Display for LoopDimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}:{}:{}", self.variable, self.begin, self.end, self.step)
    }
}

impl Level {
    /// The level without its attributes.
    pub const fn kind(&self) -> LevelKind {
        match self {
            Level::Rank => LevelKind::Rank,
            Level::Team(_) => LevelKind::Team,
            Level::Grid(_) => LevelKind::Grid,
            Level::Block(_) => LevelKind::Block,
            Level::Lane => LevelKind::Lane,
            Level::Vector(_) => LevelKind::Vector,
            Level::Sequential { .. } => LevelKind::Sequential,
            Level::Unrolled => LevelKind::Unrolled,
            Level::Pipelined { .. } => LevelKind::Pipelined,
            Level::Replicated => LevelKind::Replicated,
        }
    }
}

impl LevelKind {
    /// Every level, in the order of the machine.
    pub const ALL: [LevelKind; 10] = [
        LevelKind::Rank,
        LevelKind::Team,
        LevelKind::Grid,
        LevelKind::Block,
        LevelKind::Lane,
        LevelKind::Vector,
        LevelKind::Sequential,
        LevelKind::Unrolled,
        LevelKind::Pipelined,
        LevelKind::Replicated,
    ];

    /// The word for it in the text of plans.
    pub const fn name(self) -> &'static str {
        match self {
            LevelKind::Rank => "rank",
            LevelKind::Team => "team",
            LevelKind::Grid => "grid",
            LevelKind::Block => "block",
            LevelKind::Lane => "lane",
            LevelKind::Vector => "vector",
            LevelKind::Sequential => "for",
            LevelKind::Unrolled => "unrolled",
            LevelKind::Pipelined => "pipelined",
            LevelKind::Replicated => "replicated",
        }
    }
}

impl While {
    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        visit(Part::Names { target: self.target, repeats: true, cases: 0 });
        visit(Part::Repeats);
        self.condition.parts(visit);
        visit(Part::Body(&self.body));
        visit(Part::Body(&self.update));
    }

    pub(super) fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        self.condition.parts_mut(visit);
        visit(PartMut::Body(&mut self.body));
        visit(PartMut::Body(&mut self.update));
    }

    pub(super) fn print(&self, to: &mut Printer<'_, '_, '_>) -> fmt::Result {
        let condition = to.scalar(&self.condition);
        let word = if self.test_after { "do-while" } else { "while" };
        let unroll = if self.unroll { " unroll" } else { "" };
        to.nested(format_args!("{word} L{} {condition}{unroll}", self.target.index()), &self.body)?;
        if self.update.is_empty() { Ok(()) } else { to.nested("update", &self.update) }
    }
}
