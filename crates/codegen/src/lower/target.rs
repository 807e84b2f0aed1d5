//! What a target can do, the limits by which lowering chooses, and what the code is to measure.

use super::profile::Instrumentation;

/// Innermost steps that are worth a team of threads, which takes a few microseconds to start.
pub(crate) const DEFAULT_THRESHOLD: u64 = 4096;

/// Capabilities and limits of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Largest transient in bytes that is put on the stack.
    pub stack_bytes: u64,
    /// Largest accumulator in bytes of which every thread gets its own copy; larger targets are combined atomically.
    pub private_bytes: u64,
    /// What the code measures of itself; without, it has no timers.
    pub instrumentation: Option<Instrumentation>,
    /// The folder that the names of source files are relative to, if the code is to say which lines it comes from.
    pub debug: Option<String>,
    /// Whether plans say what is to be looked at before each access. Threads have no accumulators then: what they combine into
    /// must have been written, however many iterations there are.
    pub checked: bool,
    /// Names of arguments of which the caller may give any two memory that overlaps. Elements that two of them have in common
    /// are single elements, whichever name they are accessed by.
    pub overlapping: Vec<String>,
    /// Independent components of a state are run by a thread each if they may have this many innermost steps to do; without, they
    /// run one after the other. When the program runs, the team is only started for as many steps as a parallel loop's.
    pub component_work: Option<u64>,
    /// Whether transients have places of their own in the arena, as AddressSanitizer needs it: in a place that is shared, what lies
    /// behind a small one is memory of a large one.
    pub apart: bool,
}

impl Target {
    /// A multicore CPU.
    pub const fn cpu() -> Self {
        // A page is small against any thread's stack; a private copy should stay within half of a second-level cache.
        Target {
            stack_bytes: 4096,
            private_bytes: 1 << 19,
            instrumentation: None,
            debug: None,
            checked: false,
            overlapping: Vec::new(),
            component_work: Some(DEFAULT_THRESHOLD),
            apart: false,
        }
    }
}
