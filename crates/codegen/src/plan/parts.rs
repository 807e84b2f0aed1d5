//! Parts of a statement: the interface of every walk over plans.
//!
//! Each kind of statement names its parts in the file that defines it, once for reading and once for
//! modification. Walks see only parts, so a new kind of statement changes no walk.

use sdfg::symbolic::{Expr, Symbol};

use super::buffer::BufferId;
use super::capture::Captures;
use super::loops::LevelKind;
use super::statement::{JumpTarget, Statement};
use super::walk::Touch;

/// Something of a statement itself, apart from what is inside of the statements in it.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// Statements inside of it.
    Body(&'a [Statement]),
    /// An expression that it evaluates.
    Evaluates(&'a Expr),
    /// An expression that it evaluates inside, where the variables that it counts have values.
    EvaluatesInside(&'a Expr),
    /// An expression that only checked code evaluates.
    Compares(&'a Expr),
    /// A variable that it sets.
    Sets(&'a Symbol),
    /// A variable that counts the iterations of the statements inside.
    Counts(&'a Symbol),
    /// A buffer that it reads or writes.
    Touches(BufferId),
    /// A buffer of which other threads change the same elements meanwhile.
    Contests(BufferId),
    /// A buffer of which every thread or task has its own for the statements inside.
    Owns(BufferId),
    /// That it runs in functions of its own, which are given this.
    Outlined(&'a Captures),
    /// That a level runs iterations of the statements inside.
    Runs {
        /// The level.
        level: LevelKind,
        /// Dimensions of the iteration space.
        dimensions: usize,
        /// Whether it is a [team inside of another one](super::Team::nested).
        nested: bool,
    },
    /// That the threads of a block wait for each other.
    Synchronises,
    /// That the statements inside may run again, and a later one before an earlier one.
    Repeats,
    /// That no jump leaves the statements inside, and that everything else of it is evaluated outside of them.
    Encloses,
    /// A name for jumps of the statements inside.
    Names {
        /// The name.
        target: JumpTarget,
        /// Whether they may go on with the next iteration.
        repeats: bool,
        /// To how many cases they may go.
        cases: usize,
    },
    /// A jump.
    Jumps {
        /// The name that it goes to.
        target: JumpTarget,
        /// The continuation.
        entry: Entry,
    },
    /// A buffer whose lifetime begins.
    Begins(BufferId),
    /// A buffer that it allocates.
    Allocates(BufferId),
    /// A buffer that it frees.
    Frees(BufferId),
    /// A reference that it sets.
    Points {
        /// The reference.
        reference: BufferId,
        /// The target that it names from here on; `None` if it names what it did, or what tasks set.
        to: Option<BufferId>,
    },
}

/// The target of a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Behind the statement of its name.
    Behind,
    /// With the next iteration.
    Again,
    /// With a case.
    Case(usize),
}

/// As [`Part`], for change: statements inside, what is touched, and what functions are given.
pub enum PartMut<'a> {
    /// Statements inside of it.
    Body(&'a mut Vec<Statement>),
    /// A place that it touches.
    Touch(Touch<'a>),
    /// Captures of outlined functions.
    Outlined(&'a mut Captures),
}
