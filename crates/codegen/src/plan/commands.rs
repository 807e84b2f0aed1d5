//! Commands of a device on several of its streams, ordered by events.
//!
//! A device carries out the commands of one command stream in order (a stream of CUDA, a queue of OpenCL), and those of different ones
//! in any order and at the same time, unless one waits for an event of the other. The host goes on without waiting for either. These
//! streams have nothing to do with streams of the graph.

use std::fmt;

use super::parts::{Part, PartMut};
use super::print::Printer;
use super::statement::Statement;

/// An event, by its number: recorded behind commands of one stream, it has happened when all of them are complete. It may be recorded
/// again. Who waits for it waits for the last record before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(pub(crate) u32);

impl EventId {
    /// Its number.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Statements whose commands go to one command stream of the device: kernels, copies, and allocations and frees of its memory. The host
/// does not wait for them. Stream 0 is the one in which the caller may have commands before and behind a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Commands {
    /// The stream, below [`Plan::command_streams`](super::Plan::command_streams).
    pub stream: u32,
    /// Events of other streams that come before the commands.
    pub after: Vec<EventId>,
    /// The statements.
    pub body: Vec<Statement>,
    /// The event that is recorded behind them.
    pub event: Option<EventId>,
}

impl Commands {
    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        visit(Part::Body(&self.body));
    }

    pub(super) fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        visit(PartMut::Body(&mut self.body));
    }

    pub(super) fn print(&self, to: &mut Printer<'_, '_, '_>) -> fmt::Result {
        let after =
            if self.after.is_empty() { String::new() } else { format!(" after {}", events(&self.after)) };
        let event = self.event.map_or(String::new(), |event| format!(" records {event}"));
        to.nested(format_args!("stream {}{after}{event}", self.stream), &self.body)
    }
}

/// Events in the text of plans.
pub(super) fn events(events: &[EventId]) -> String {
    events.iter().map(EventId::to_string).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{}", self.0)
    }
}
