//! Timers of a program. The statements that they time refer to this list.

/// The timers of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Timers, in the order of the program text.
    pub timers: Vec<Timer>,
    /// Whether the processor's event counters are read with each timer.
    pub counters: bool,
}

/// A timer of a [`Profile`], by position in [`Profile::timers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId(pub(crate) u32);

impl TimerId {
    /// The position in [`Profile::timers`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An element of the program whose executions are timed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    /// Labels from the outermost SDFG to the element, separated by `/`.
    pub path: String,
    /// The kind of the element.
    pub kind: TimerKind,
}

/// The timed element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimerKind {
    /// The whole program.
    Program,
    /// A state, a loop or a branch.
    Block,
    /// A map.
    Map,
    /// A consume scope.
    Consume,
    /// The share of one thread in a shared map or consume scope.
    Part,
    /// A tasklet.
    Tasklet,
}

impl TimerKind {
    /// The word for it in tables.
    pub const fn noun(self) -> &'static str {
        match self {
            TimerKind::Program => "program",
            TimerKind::Block => "block",
            TimerKind::Map => "map",
            TimerKind::Consume => "consume",
            TimerKind::Part => "part",
            TimerKind::Tasklet => "tasklet",
        }
    }
}
