//! Level of threads: distribution of iterations to a team, and memory of each thread.

use std::fmt;

use sdfg::ir::{ConflictResolution, OpenMpSchedule};
use sdfg::symbolic::{Expr, Symbol};

use super::buffer::{BufferId, Strided};
use super::capture::Captures;
use super::loops::{LoopDimension, ranges, selector_text};
use super::parts::{Part, PartMut};
use super::print::Printer;
use super::profile::TimerId;
use super::stream::Collected;
use super::walk::Touch;

/// Distribution of a loop to a team of threads. A loop inside of another one's body has a [limit](Team::nested).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Team {
    /// Label of the map, for symbols and debug information.
    pub label: String,
    /// Loops around the share of a thread, outermost first: each thread runs all of their iterations, and in each of them its part of the
    /// iteration space. Their bounds do not use its variables.
    pub around: Vec<LoopDimension>,
    /// Number of iterations of the innermost surrounding loop that one pass over a thread's part processes,
    /// if several: they combine into the same elements, which are then loaded and stored once for all of
    /// them. Such a loop has one dimension.
    pub jam: Option<u32>,
    /// Selector among several accumulators, which changes between iterations of the innermost dimension.
    pub selector: Option<CopySelector>,
    /// Distribution of iterations.
    pub sharing: OpenMpSchedule,
    /// Iterations handed out at a time; `None` is the default of the sharing.
    pub chunk: Option<Expr>,
    /// Number of threads; `None` is that of the handle.
    pub threads: Option<Expr>,
    /// Most threads of a team that each thread of another team starts: exactly the loops inside of other loops of teams have this. Their
    /// number of threads is this one, and threads combine under the lock however few they are: those of other teams may, too.
    pub nested: Option<Expr>,
    /// When a team is started. The calling thread runs the loop alone otherwise.
    pub start: Start,
    /// Per-thread accumulators.
    pub privates: Vec<PrivateAccumulator>,
    /// Streams to which each thread pushes in a queue of its own, whose elements follow those of the stream later. The loop does nothing
    /// else with them; they have one queue, without a bound.
    pub collected: Vec<Collected>,
    /// Division of the loop into chunks that finish in the order of iterations; without, threads finish in
    /// any order.
    pub in_order: Option<OrderedChunks>,
    /// Buffers of which every thread has a separate copy: [`Thread`](super::Allocation::Thread) and
    /// [`Stack`](super::Allocation::Stack).
    pub locals: Vec<BufferId>,
    /// Buffers through which threads communicate while the loop runs: a thread accesses elements before a push, and the
    /// consumer of the pushed element accesses them too.
    pub communicated: Vec<BufferId>,
    /// Timer of the work of each thread, if any.
    pub part: Option<TimerId>,
    /// Captures of the function of the loop.
    pub captures: Captures,
}

/// When a team is started for a loop.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Start {
    /// For as much work as this, an estimated number of innermost iterations, if it reaches [`Plan::threshold`](super::Plan::threshold).
    Worth(Expr),
    /// Always: nobody knows how much work there is.
    #[default]
    Always,
    /// Never: what threads do in any order would be seen in the results.
    Never,
}

/// Chunks of a loop that are always the same ones, whatever the number of threads, and are done with in the order of iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderedChunks {
    /// Whether each chunk has accumulators of its own, which are combined into their targets when its turn comes; else each thread has some
    /// for all of its chunks, and only streams are filled in order.
    pub accumulators: bool,
    /// Number of chunks, if there are enough iterations.
    pub chunks: u32,
    /// Iterations whose elements are moved on together where only streams are filled, so that they are still in the cache.
    pub piece: u32,
}

/// Accumulators of a thread for one target where the code picks the elements: an element that is combined into again and again is
/// then only waited for after as many iterations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopySelector {
    /// A variable that says into which of them an iteration combines: neighbouring ones into different ones.
    pub variable: Symbol,
    /// Their number.
    pub count: u32,
}

/// Accumulators one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrivateCopies {
    /// Their number.
    pub count: u32,
    /// The distance in elements from one to the next.
    pub stride: i64,
}

/// A per-thread accumulator: set to the identity of the resolution before a thread's first iteration, combined into the target after
/// its last one; or, [in order](OrderedChunks), as often for each chunk.
#[derive(Clone, Debug, PartialEq)]
pub struct PrivateAccumulator {
    /// The accumulator, or the memory of its private copies, a [`Thread`](super::Allocation::Thread) or [`Stack`](super::Allocation::Stack) buffer that is packed.
    pub buffer: BufferId,
    /// Layout of its private copies; without, there is one accumulator.
    pub copies: Option<PrivateCopies>,
    /// Target of the combination: element `k` of the accumulator, in row-major order of these extents.
    pub target: Strided,
    /// The resolution; it has an identity.
    pub resolution: ConflictResolution,
}

impl PrivateAccumulator {
    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        visit(Part::Owns(self.buffer));
        visit(Part::Contests(self.target.origin.buffer));
        self.target.parts(visit);
        self.target.extents.iter().for_each(|extent| visit(Part::Evaluates(extent)));
    }
}

impl Team {
    /// Attributes of the team; the iteration space lists the loops around its shares.
    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        let work = match &self.start {
            Start::Worth(work) => Some(work),
            Start::Always | Start::Never => None,
        };
        let expressions = self.chunk.iter().chain(&self.threads).chain(&self.nested).chain(work);
        expressions.for_each(|expression| visit(Part::Evaluates(expression)));
        self.privates.iter().for_each(|private| private.parts(visit));
        self.locals.iter().for_each(|local| visit(Part::Owns(*local)));
        self.communicated.iter().for_each(|buffer| visit(Part::Contests(*buffer)));
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
            text.push_str(&format!(" in {}", ranges(&self.around)));
            text.extend(self.jam.map(|jam| format!(" jam {jam}")));
        }
        let selector = selector_text(self.selector.as_ref());
        text.push_str(&format!(" {}{independent}{selector}", self.sharing.name()));
        for (word, value) in [("chunk", &self.chunk), ("threads", &self.threads), ("nested", &self.nested)] {
            text.extend(value.iter().map(|value| format!(" {word} {value}")));
        }
        match &self.start {
            Start::Worth(work) => text.push_str(&format!(" work {work}")),
            Start::Always => {}
            Start::Never => text.push_str(" alone"),
        }
        text
    }

    /// Private memory of each thread, one line each.
    pub(super) fn print(&self, to: &mut Printer<'_, '_, '_>) -> fmt::Result {
        to.captures(&self.captures)?;
        if let Some(OrderedChunks { accumulators, chunks, piece }) = self.in_order {
            let how =
                if accumulators { " with accumulators".to_owned() } else { format!(" or pieces of {piece}") };
            to.line(format_args!("in order by {chunks} chunks{how}"))?;
        }
        for local in &self.locals {
            let name = to.name(*local);
            to.line(format_args!("local {name}"))?;
        }
        for buffer in &self.communicated {
            let name = to.name(*buffer);
            to.line(format_args!("communicated {name}"))?;
        }
        self.collected.iter().try_for_each(|collected| collected.print(to))?;
        for private in &self.privates {
            let (name, target) = (to.name(private.buffer), to.strided(&private.target));
            let resolution = private.resolution.name();
            let copies = private
                .copies
                .map(|PrivateCopies { count, stride }| format!(" in {count} copies of {stride}"));
            to.line(format_args!("private {name} {resolution} into {target}{}", copies.unwrap_or_default()))?;
        }
        Ok(())
    }
}
