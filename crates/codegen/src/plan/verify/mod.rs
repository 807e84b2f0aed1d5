//! Verifier of plans. Debug builds run it after every lowering.
//!
//! A back end trusts plans, so a plan that breaks a rule becomes wrong code. The verifier checks rules that
//! need no proof about indices: the nesting of statements and their order. It works on the parts that
//! statements name ([`Part`](super::Part)), so it covers new kinds of statements.
//!
//! `walk` collects the actions of a plan with their positions (`place`), and checks levels, jumps and memory
//! spaces on the way. `memory`, `variables` and `functions` check the collected actions. `vector` checks
//! levels whose statements run on lanes, and `commands` the command streams of a device.

mod commands;
mod functions;
mod memory;
mod position;
mod variables;
mod vector;
mod walk;

use sdfg::symbolic::Symbol;

use super::buffer::BufferId;
use super::loops::LevelKind;
use super::program::Plan;
use super::space::Space;
use walk::Found;

/// A rule that a plan breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A jump goes to what is not around it, or is around the loop or task that it is in.
    #[error("a jump goes to L{target}, which is not around it in its loop")]
    Jump {
        /// The number of the target.
        target: usize,
    },
    /// A dispatch has no such case, or what is to be repeated is no loop with a condition.
    #[error("L{target} has no such entry")]
    Entry {
        /// The number of the target.
        target: usize,
    },
    /// Two statements have the same name.
    #[error("L{target} names two statements")]
    TwoTargets {
        /// The number of the target.
        target: usize,
    },
    /// A loop of a level is where that level cannot be.
    #[error("a loop of level `{}` is inside of {}", inner.name(), outer.map_or("no loop that it needs", LevelKind::name))]
    Nesting {
        /// The level of the loop.
        inner: LevelKind,
        /// The level around it that excludes it; `None` where one that it needs is missing.
        outer: Option<LevelKind>,
    },
    /// A barrier is in code that not all threads of a block run.
    #[error("a barrier is outside of kernels, or in a loop of level `block`")]
    Barrier,
    /// A loop has no dimension, or several at a level of one thread.
    #[error("a loop of level `{}` has {n} dimensions", level.name())]
    Dimensions {
        /// The level of the loop.
        level: LevelKind,
        /// Their number.
        n: usize,
    },
    /// A loop of level vector has something else than lanes, they have not one way for each binding, or they are in no such loop.
    #[error("lanes are not those of a loop of level `vector`")]
    Lanes,
    /// A plan that looks for accesses out of bounds has vectors, which do not look.
    #[error("a checked plan has a loop of level `vector`")]
    UncheckedLanes,
    /// A vector has less than two lanes.
    #[error("a vector has {width} lanes")]
    Width {
        /// Their number.
        width: u32,
    },
    /// Iterations at the end of a loop may fill no vector, and nothing runs them on their own.
    #[error("a loop of level `vector` runs no iterations that are left over")]
    LeftOver,
    /// Iterations that are left over do something else than lanes.
    #[error("`{buffer}` is used by the lanes or by the iterations that are left over, not by both")]
    Rest {
        /// A buffer that one of the two uses.
        buffer: String,
    },
    /// The way to elements is not that of what a connector stands for.
    #[error("the lanes of `{connector}` in `{label}` {what}")]
    LaneAccess {
        /// The tasklet.
        label: String,
        /// The connector.
        connector: String,
        /// The violation of a rule of lanes.
        what: &'static str,
    },
    /// A lane accesses what another one writes, in another order than that of iterations.
    #[error("lanes access elements of `{buffer}` that other lanes write")]
    LanesMeet {
        /// The buffer.
        buffer: String,
    },
    /// Nothing that comes before makes a buffer.
    #[error("`{buffer}` is used before it is made")]
    BeforeMade {
        /// The buffer.
        buffer: String,
    },
    /// A buffer of threads or tasks is used outside of the loop or task that owns it.
    #[error("`{buffer}` is used outside of the loop or task that owns it")]
    Outside {
        /// The buffer.
        buffer: String,
    },
    /// The lifetime of a buffer of the arena does not begin before its use.
    #[error("`{buffer}` is used before its lifetime begins")]
    BeforeBegun {
        /// The buffer.
        buffer: String,
    },
    /// The allocation of a buffer does not fit what a plan does with it.
    #[error("`{buffer}` cannot be {what}")]
    Allocation {
        /// The buffer.
        buffer: String,
        /// The kind of use.
        what: &'static str,
    },
    /// A buffer of the arena is in no slot, or in several.
    #[error("`{buffer}` is in {n} slots")]
    Slots {
        /// The buffer.
        buffer: String,
        /// The number of its slots.
        n: usize,
    },
    /// Code of a level does not reach the memory of a buffer.
    #[error("`{buffer}` lies in memory `{space}`, which {} does not reach", level.map_or("code of the host".to_owned(), |level| format!("code of level `{}`", level.name())))]
    Unreachable {
        /// The buffer.
        buffer: String,
        /// Its memory.
        space: Space,
        /// The innermost level of a device around the code; `None` on the host.
        level: Option<LevelKind>,
    },
    /// Nothing that comes before sets a variable, or it is used outside of its loop.
    #[error("variable `{variable}` is used before it is set")]
    BeforeSet {
        /// The variable.
        variable: Symbol,
    },
    /// A variable has no type.
    #[error("variable `{variable}` has no type")]
    Untyped {
        /// The variable.
        variable: Symbol,
    },
    /// A loop sets its own variable, or one around it does.
    #[error("the loop of variable `{variable}` sets it")]
    SetsCounter {
        /// The variable.
        variable: Symbol,
    },
    /// A function of its own is not given a variable that it uses.
    #[error("a function is not given variable `{variable}`, which it uses")]
    VariableNotGiven {
        /// The variable.
        variable: Symbol,
    },
    /// A function of its own is not given a buffer that it uses.
    #[error("a function is not given `{buffer}`, which it uses")]
    BufferNotGiven {
        /// The buffer.
        buffer: String,
    },
    /// Commands go to a stream that the plan does not have, or are inside of others.
    #[error("commands of stream {stream} are inside of others, or there is no such stream")]
    CommandStream {
        /// The stream.
        stream: u32,
    },
    /// The plan has no such event.
    #[error("there is no event e{event}")]
    Event {
        /// Its number.
        event: u32,
    },
    /// Something waits for an event that nothing before it records.
    #[error("something waits for event e{event}, which nothing before it records")]
    BeforeRecorded {
        /// Its number.
        event: u32,
    },
    /// A function of its own does not know that other threads change a buffer that it is given.
    #[error("a function takes `{buffer}` for its own, which other threads change")]
    Contested {
        /// The buffer.
        buffer: String,
    },
}

impl Plan {
    /// Looks at every rule.
    ///
    /// # Errors
    /// Each rule that is broken, in the order of the text.
    pub fn verify(&self) -> Result<(), Vec<PlanError>> {
        let mut found = Found::of(self);
        let mut errors = std::mem::take(&mut found.errors);
        memory::check(self, &found, &mut errors);
        variables::check(self, &found, &mut errors);
        functions::check(self, &found, &mut errors);
        vector::check(self, &mut errors);
        commands::check(self, &mut errors);
        errors.dedup();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// The plan, after a look at every rule if this is a debug build.
    ///
    /// # Errors
    /// As [`Plan::verify`].
    pub(crate) fn verified(self) -> Result<Self, Vec<PlanError>> {
        if cfg!(debug_assertions) {
            self.verify()?;
        }
        Ok(self)
    }

    fn named(&self, buffer: BufferId) -> String {
        self.buffer(buffer).name.clone()
    }
}

#[cfg(test)]
mod tests;
