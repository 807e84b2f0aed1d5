//! Measured regions of a program. The statements that time them refer to this list.

/// The timers of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// What is timed, in the order of the program text.
    pub regions: Vec<Region>,
    /// Whether the processor's event counters are read with each timer.
    pub counters: bool,
}

/// A region of a [`Profile`], by position in [`Profile::regions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionId(pub(crate) u32);

impl RegionId {
    /// The position in [`Profile::regions`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An element of the program whose executions are timed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Labels from the outermost SDFG to the element, separated by `/`.
    pub path: String,
    /// What the element is.
    pub kind: RegionKind,
}

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RegionKind {
    /// The whole program.
    Program,
    /// A state, a loop or a branch.
    Block,
    /// A map.
    Map,
    /// A consume scope.
    Consume,
    /// What one thread does of a map or consume scope that threads share.
    Part,
    /// A tasklet.
    Tasklet,
}

impl RegionKind {
    /// The word for it in tables.
    pub const fn noun(self) -> &'static str {
        match self {
            RegionKind::Program => "program",
            RegionKind::Block => "block",
            RegionKind::Map => "map",
            RegionKind::Consume => "consume",
            RegionKind::Part => "part",
            RegionKind::Tasklet => "tasklet",
        }
    }
}
