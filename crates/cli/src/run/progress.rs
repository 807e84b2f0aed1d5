//! The progress of a long run on ranks: rank 0 tells it from time to time.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use sdfg::ir::Sdfg;
use sdfg::symbolic::Symbol;
use sdfg_codegen::mpi::MovesBegun;
use sdfg_codegen::ranks::Traffic;

use crate::terminal::Terminal;

/// A run whose progress is told.
pub(super) struct Progress<'r> {
    /// The distributed program with the values of its symbols.
    pub(super) program: &'r Sdfg,
    pub(super) symbols: &'r BTreeMap<Symbol, i64>,
    pub(super) ranks: u32,
    pub(super) repetitions: u32,
    pub(super) begun: MovesBegun,
    pub(super) terminal: Terminal,
}

impl Progress<'_> {
    /// Tells the moves that have begun after each interval, until the sender is gone.
    ///
    /// The number of all moves follows from the control flow of the program, unless data decide it. It is computed beside the run, when
    /// that turns out to be long.
    pub(super) fn tell(&self, every: Duration, ended: &Receiver<()>) {
        let start = Instant::now();
        let mut all = None;
        while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            let all = *all.get_or_insert_with(|| self.moves());
            self.terminal.note(&text(start.elapsed(), self.begun.count(), all));
        }
    }

    /// The number of moves in all repetitions; `None` if only the run tells.
    fn moves(&self) -> Option<u64> {
        let traffic = Traffic::of(self.program, self.symbols, self.ranks).ok()?;
        let once: u64 = traffic.copies.iter().map(|copy| copy.times).sum();
        Some(once * u64::from(self.repetitions)).filter(|moves| *moves > 0)
    }
}

fn text(elapsed: Duration, begun: u64, all: Option<u64>) -> String {
    let seconds = elapsed.as_secs_f64();
    match all {
        Some(all) => {
            let percent = begun as f64 / all as f64 * 100.0;
            format!("running for {seconds:.0} s: {begun} of {all} moves between ranks ({percent:.0} %)")
        }
        None => format!("running for {seconds:.0} s: {begun} moves between ranks"),
    }
}
