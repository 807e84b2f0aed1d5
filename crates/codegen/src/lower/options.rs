//! User options that change a plan, independent of the target's capabilities.

use std::num::NonZeroU32;

use sdfg::ir::FloatMode;

use super::profile::Instrumentation;
use crate::plan::Plan;

/// User options of lowering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LowerOptions {
    /// Measurements of the code; without, it has no timers.
    pub instrumentation: Option<Instrumentation>,
    /// The folder that the names of source files are relative to, if the code is to say which lines it comes from.
    pub debug: Option<String>,
    /// Whether plans say what is to be looked at before each access. Threads have no accumulators then: what they combine into
    /// must have been written, however many iterations there are.
    pub checked: bool,
    /// Names of arguments of which the caller may give any two memory that overlaps. Elements that two of them have in common
    /// are single elements, whichever name they are accessed by.
    pub overlapping: Vec<String>,
    /// Innermost steps from which on a team is started for a loop; fewer are run by the calling thread. A loop whose work cannot be
    /// estimated always has a team.
    pub threshold: u64,
    /// Steps that an inner loop is taken for whose range depends on data: only users know theirs, so it is no property of a target. The
    /// default is [`DATA_DEPENDENT_STEPS`](Self::DATA_DEPENDENT_STEPS).
    pub data_dependent_steps: u64,
    /// Whether independent components of a state run one after the other. Otherwise each gets a thread where together they may have
    /// [`threshold`](Self::threshold) steps to do besides those of the longest one.
    pub serial_components: bool,
    /// Most threads of a team inside of another one. With this, maps of schedule `cpu_multicore` have such teams also if they do not ask
    /// for them; 1 turns them off. Without, the maps alone decide.
    pub nested_threads: Option<NonZeroU32>,
    /// Most command streams of a device, to which independent kernels and copies go. With 1, all go to one stream, and the host waits for
    /// each copy.
    pub device_streams: NonZeroU32,
    /// The arithmetic of floating-point numbers, instead of the program's own. What vectors may sum in another order depends on it.
    pub floats: Option<FloatMode>,
    /// Whether results are to have the same bits with every number of threads.
    pub reproducible: bool,
    /// Whether transients have places of their own in the arena, as AddressSanitizer needs it: in a place that is shared, what lies
    /// behind a small one is memory of a large one.
    pub apart: bool,
}

impl LowerOptions {
    /// Elements in a row of a typical sparse matrix, to the order of magnitude. An unnecessary team costs microseconds, whereas a missing
    /// team can make the program several times slower. Therefore the estimate is high.
    pub const DATA_DEPENDENT_STEPS: u64 = 64;

    /// Kernels that use a device little and copies in both directions fit beside each other, and each stream costs events.
    pub const DEVICE_STREAMS: NonZeroU32 = NonZeroU32::new(4).unwrap();
}

impl Default for LowerOptions {
    fn default() -> Self {
        LowerOptions {
            instrumentation: None,
            debug: None,
            checked: false,
            overlapping: Vec::new(),
            threshold: Plan::DEFAULT_THRESHOLD,
            data_dependent_steps: LowerOptions::DATA_DEPENDENT_STEPS,
            serial_components: false,
            nested_threads: None,
            device_streams: LowerOptions::DEVICE_STREAMS,
            floats: None,
            reproducible: false,
            apart: false,
        }
    }
}
