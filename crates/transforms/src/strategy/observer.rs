//! Observers of a running search, which may end it early.

use std::ops::ControlFlow;

use super::plan::Prediction;

/// Progress of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Operations that are done.
    pub done: u64,
    /// Operations that there are.
    pub total: u64,
}

/// Is told what a search does. `()` looks away.
///
/// Threads of the search call it, some milliseconds of work apart at most.
pub trait Observer: Sync {
    /// The tables that are going to be filled; called before any work on them.
    fn predicted(&self, _prediction: &Prediction) {}

    /// Reports the progress of the search; `Break` ends it.
    fn progress(&self, _progress: Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl Observer for () {}
