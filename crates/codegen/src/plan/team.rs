//! The level of threads: how a team shares the iterations of a loop, and what each of its threads has of its own.

use std::fmt;

use sdfg::ir::{ConflictResolution, Sharing};
use sdfg::symbolic::{Expr, Symbol};

use super::buffer::{BufferId, Strided};
use super::capture::Captures;
use super::loops::{LoopDimension, banks, ranges};
use super::parts::{Part, PartMut};
use super::print::Printer;
use super::profile::RegionId;
use super::stream::Collected;
use super::walk::Touch;

/// Accumulators of a thread for one target where the code picks the elements: an element that is combined into again and again is
/// then only waited for after as many iterations.
pub const BANKS: u32 = 8;

/// How a team of threads shares a loop, which is never inside of another team's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Team {
    /// Label of the map, for symbols and debug information.
    pub label: String,
    /// Loops around the share of a thread, outermost first: each thread runs all of their iterations, and in each of them its part of the
    /// iteration space. Their bounds do not use its variables.
    pub around: Vec<LoopDimension>,
    /// Whether a pass over a thread's part serves several iterations of the innermost loop around it: they combine into the same
    /// elements, which are then loaded and stored once for all of them. There is one dimension then.
    pub jammed: bool,
    /// A variable that says into which of [`BANKS`] accumulators an iteration combines: neighbouring ones of the innermost dimension into
    /// different ones.
    pub bank: Option<Symbol>,
    /// How iterations are handed out.
    pub sharing: Sharing,
    /// Iterations handed out at a time; `None` is the default of the sharing.
    pub chunk: Option<Expr>,
    /// Number of threads; `None` is that of the handle.
    pub threads: Option<Expr>,
    /// The work as an estimated number of innermost iterations; little work is done by the calling thread alone. `None` is unknown,
    /// and done by a team.
    pub work: Option<Expr>,
    /// Per-thread accumulators.
    pub privates: Vec<Private>,
    /// Streams to which each thread pushes in a queue of its own, whose elements follow those of the stream later: in the order of iterations, if
    /// the sharing is static without a chunk. The loop does nothing else with them; they have one queue, without a bound.
    pub collected: Vec<Collected>,
    /// Buffers of which every thread has its own: [`Thread`](super::Allocation::Thread) and [`Stack`](super::Allocation::Stack).
    pub locals: Vec<BufferId>,
    /// Buffers of which a thread may leave elements to other threads by what it pushes: who takes that reads and writes them, while the
    /// loop runs.
    pub handed_over: Vec<BufferId>,
    /// What each thread does is timed as this region, if any.
    pub part: Option<RegionId>,
    /// What the function of the loop is given.
    pub captures: Captures,
}

/// A per-thread accumulator: set to the identity of the resolution before a thread's first iteration, combined into the target,
/// in order of threads if so asked, after its last one.
#[derive(Clone, Debug, PartialEq)]
pub struct Private {
    /// The accumulator, or [`BANKS`] of them one after the other, a [`Thread`](super::Allocation::Thread) or [`Stack`](super::Allocation::Stack) buffer that is packed.
    pub buffer: BufferId,
    /// The distance in elements from one of [`BANKS`] accumulators to the next; without, there is one.
    pub bank_stride: Option<i64>,
    /// What it is combined into: element `k` of the accumulator, in row-major order of these extents.
    pub target: Strided,
    /// How; it has an identity.
    pub resolution: ConflictResolution,
}

impl Team {
    /// What belongs to the team itself; the loops around its shares are told with the iteration space.
    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        let expressions = [&self.chunk, &self.threads, &self.work].into_iter().flatten();
        expressions.for_each(|expression| visit(Part::Evaluates(expression)));
        for private in &self.privates {
            visit(Part::Owns(private.buffer));
            visit(Part::Contests(private.target.origin.buffer));
            private.target.parts(visit);
            private.target.extents.iter().for_each(|extent| visit(Part::Evaluates(extent)));
        }
        self.locals.iter().for_each(|local| visit(Part::Owns(*local)));
        self.handed_over.iter().for_each(|buffer| visit(Part::Contests(*buffer)));
        self.collected.iter().for_each(|collected| collected.parts(visit));
        visit(Part::Outlined(&self.captures));
    }

    pub(super) fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        for private in &mut self.privates {
            visit(PartMut::Touch(Touch::Merge(&mut private.target)));
        }
        self.collected.iter_mut().for_each(|collected| collected.parts_mut(visit));
        visit(PartMut::Outlined(&mut self.captures));
    }

    /// The first line of its loop.
    pub(super) fn heading(&self, shared: &str, independent: &str) -> String {
        let mut text = format!("team {} {shared}", self.label);
        if !self.around.is_empty() {
            let jammed = if self.jammed { " jammed" } else { "" };
            text.push_str(&format!(" in {}{jammed}", ranges(&self.around)));
        }
        let bank = banks(self.bank.as_ref());
        text.push_str(&format!(" {}{independent}{bank}", self.sharing.name()));
        for (word, value) in [("chunk", &self.chunk), ("threads", &self.threads), ("work", &self.work)] {
            text.extend(value.iter().map(|value| format!(" {word} {value}")));
        }
        text
    }

    /// What each of its threads has, a line each.
    pub(super) fn print(&self, to: &mut Printer<'_, '_, '_>) -> fmt::Result {
        to.captures(&self.captures)?;
        for local in &self.locals {
            let name = to.name(*local);
            to.line(format_args!("local {name}"))?;
        }
        for buffer in &self.handed_over {
            let name = to.name(*buffer);
            to.line(format_args!("handed over {name}"))?;
        }
        self.collected.iter().try_for_each(|collected| collected.print(to))?;
        for private in &self.privates {
            let (name, target) = (to.name(private.buffer), to.strided(&private.target));
            let resolution = private.resolution.name();
            let banks = private.bank_stride.map(|stride| format!(" in banks of {stride}"));
            to.line(format_args!("private {name} {resolution} into {target}{}", banks.unwrap_or_default()))?;
        }
        Ok(())
    }
}
