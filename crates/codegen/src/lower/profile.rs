//! Selection of the graph elements that are timed, if timers are requested.

use std::fmt;

use super::Lowering;
use crate::plan::{Statement, Timer, TimerId, TimerKind};

/// Timed elements of a program; each level includes the previous ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProfileLevel {
    /// The program as a whole.
    Program,
    /// States, loops and branches.
    Block,
    /// Maps and consume scopes, and the part of each thread.
    Map,
    /// Tasklets.
    Tasklet,
}

impl ProfileLevel {
    /// Every level, from the coarsest to the finest.
    pub const ALL: [ProfileLevel; 4] =
        [ProfileLevel::Program, ProfileLevel::Block, ProfileLevel::Map, ProfileLevel::Tasklet];

    /// The name on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            ProfileLevel::Program => "program",
            ProfileLevel::Block => "block",
            ProfileLevel::Map => "map",
            ProfileLevel::Tasklet => "tasklet",
        }
    }

    /// Whether elements of a kind are timed.
    const fn includes(self, kind: TimerKind) -> bool {
        let needed = match kind {
            TimerKind::Program => ProfileLevel::Program,
            TimerKind::Block => ProfileLevel::Block,
            TimerKind::Map | TimerKind::Consume | TimerKind::Part => ProfileLevel::Map,
            TimerKind::Tasklet => ProfileLevel::Tasklet,
        };
        self as u8 >= needed as u8
    }
}

impl fmt::Display for ProfileLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Requested measurements of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instrumentation {
    /// The timed elements.
    pub level: ProfileLevel,
    /// Whether the processor's event counters are read with each timer; that takes a system call each time.
    pub counters: bool,
}

impl Lowering<'_> {
    /// A new timer of the plan, if elements of its kind are timed.
    pub(super) fn timer(&mut self, kind: TimerKind, path: &str) -> Option<TimerId> {
        if self.target.measures_kernels {
            return None;
        }
        self.options.instrumentation.filter(|asked| asked.level.includes(kind))?;
        let profile = self.plan.profile.as_mut()?;
        let id = TimerId(profile.timers.len() as u32);
        profile.timers.push(Timer { path: path.to_owned(), kind });
        Some(id)
    }
}

/// The statements with their timer, if they have one.
pub(super) fn timed(timer: Option<TimerId>, body: Vec<Statement>) -> Vec<Statement> {
    match timer {
        Some(timer) => vec![Statement::Timed { timer, body }],
        None => body,
    }
}
