//! Kernels: loops whose iterations the threads of a device share, each alone or together with the others of its block.

use std::fmt;

use sdfg::symbolic::Expr;

use super::buffer::BufferId;
use super::capture::Captures;
use super::parts::{Part, PartMut};
use super::print::Printer;
use super::team::PrivateAccumulator;
use super::walk::Touch;

/// Attributes of a loop of level grid: one function on a device. Its iterations are distributed to threads, or to blocks whose
/// threads run each iteration together. A thread or block runs several iterations if a device has fewer of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kernel {
    /// Label of the scope, for the name of the function.
    pub label: String,
    /// Threads of a block in the innermost dimensions, innermost last; empty if the back end chooses.
    pub block: Vec<Expr>,
    /// The number of threads of a block if they run each iteration together. All of them then run the statements of the body,
    /// the same way; loops of level block distribute work to them.
    pub together: Option<u32>,
    /// Memory of each iteration: registers of its thread, or memory that the threads of its block share.
    pub locals: Vec<BufferId>,
    /// Accumulators of blocks whose threads run iterations alone. The number of threads of a block is then known.
    pub accumulators: Vec<BlockAccumulator>,
    /// Device queues to which its threads push.
    pub queues: Vec<PushedQueues>,
    /// Bytes that its iterations read and write, in a plan with a profile and if they are known before the launch.
    pub bytes: Option<Expr>,
    /// Operations of its iterations, as the bytes.
    pub operations: Option<Expr>,
    /// Values and addresses that the kernel is given.
    pub captures: Captures,
}

/// An accumulator of each block, which is combined into its target by one atomic step for each element after the last iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockAccumulator {
    /// The accumulator. It has no copies.
    pub private: PrivateAccumulator,
    /// Memory of the block with an element for each thread. The accumulator is then a register of each thread, and threads combine
    /// theirs in this memory, two by two. Without, the accumulator is memory of the block, whose threads combine atomically.
    pub exchange: Option<BufferId>,
}

/// A stream in memory of the device to which the threads of a kernel push. The host makes room before the launch, and
/// reads the lengths behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct PushedQueues {
    /// The stream. Nothing else of the kernel uses it.
    pub stream: BufferId,
    /// The most elements that one launch pushes to each queue; without, the stream has a capacity.
    pub most: Option<Expr>,
}

impl Kernel {
    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        let expressions = self.block.iter().chain(&self.bytes).chain(&self.operations);
        let expressions = expressions.chain(self.queues.iter().filter_map(|each| each.most.as_ref()));
        expressions.for_each(|expression| visit(Part::Evaluates(expression)));
        self.locals.iter().for_each(|local| visit(Part::Owns(*local)));
        for BlockAccumulator { private, exchange } in &self.accumulators {
            private.parts(visit);
            exchange.iter().for_each(|exchange| visit(Part::Owns(*exchange)));
        }
        visit(Part::Outlined(&self.captures));
    }

    pub(super) fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        for BlockAccumulator { private, .. } in &mut self.accumulators {
            visit(PartMut::Touch(Touch::Merge(&mut private.target)));
        }
        visit(PartMut::Outlined(&mut self.captures));
    }

    /// The first line of its loop.
    pub(super) fn heading(&self, ranges: &str, independent: &str) -> String {
        let mut text = format!("grid {} {ranges}{independent}", self.label);
        if !self.block.is_empty() {
            let extents: Vec<String> = self.block.iter().map(Expr::to_string).collect();
            text.push_str(&format!(" blocks of {}", extents.join(", ")));
        }
        if let Some(threads) = self.together {
            text.push_str(&format!(" by {threads} threads together"));
        }
        text
    }

    /// Memory of each iteration, one line each.
    pub(super) fn print(&self, to: &mut Printer<'_, '_, '_>) -> fmt::Result {
        to.captures(&self.captures)?;
        for (word, amount) in [("bytes", &self.bytes), ("operations", &self.operations)] {
            amount.iter().try_for_each(|amount| to.line(format_args!("{word} {amount}")))?;
        }
        for BlockAccumulator { private, exchange } in &self.accumulators {
            let (name, target) = (to.name(private.buffer), to.strided(&private.target));
            let how = match exchange {
                Some(exchange) => format!("by a tree in {}", to.name(*exchange)),
                None => "of each block".to_owned(),
            };
            let resolution = private.resolution.name();
            to.line(format_args!("accumulated {name} {resolution} into {target} {how}"))?;
        }
        for PushedQueues { stream, most } in &self.queues {
            let most = most.as_ref().map(|most| format!(" at most {most}")).unwrap_or_default();
            let name = to.name(*stream);
            to.line(format_args!("pushes{most} to {name}"))?;
        }
        locals(&self.locals, if self.together.is_some() { "shared" } else { "local" }, to)
    }
}

/// Attributes of a loop of level block: the threads of a block share its iterations.
///
/// The threads are arranged along the dimensions of the loop. An iteration belongs to the thread whose position in each
/// dimension is the number of the iteration modulo the number of threads there. Threads without a position have no iterations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Threads {
    /// Threads along each dimension, outermost first. Their product is at most the number of threads of the block.
    pub extents: Vec<u32>,
    /// Memory of each thread, in registers or in memory that it alone reaches.
    pub locals: Vec<BufferId>,
}

impl Threads {
    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        self.locals.iter().for_each(|local| visit(Part::Owns(*local)));
    }

    /// The first line of its loop.
    pub(super) fn heading(&self, ranges: &str, independent: &str) -> String {
        let extents: Vec<String> = self.extents.iter().map(u32::to_string).collect();
        format!("block {ranges}{independent} by {}", extents.join(", "))
    }

    /// Memory of each thread, one line each.
    pub(super) fn print(&self, to: &mut Printer<'_, '_, '_>) -> fmt::Result {
        locals(&self.locals, "local", to)
    }
}

fn locals(buffers: &[BufferId], word: &str, to: &mut Printer<'_, '_, '_>) -> fmt::Result {
    for buffer in buffers {
        let name = to.name(*buffer);
        to.line(format_args!("{word} {name}"))?;
    }
    Ok(())
}
