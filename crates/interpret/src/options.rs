//! Options of a run, and its report.

use std::collections::BTreeMap;

use sdfg_graph::diagnostic::ElementPath;

use super::external::{Externals, Libraries};
use super::machine::Counts;
use super::order::Order;
use super::program::Program;

/// Options of a run.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The order of unordered nodes and iterations.
    pub order: Order,
    /// Whether accesses that nothing orders trap. It takes 32 bytes for each element.
    pub check_conflicts: bool,
    /// Maximum number of blocks, iterations of maps, tasklets, reductions and calls before a trap; `None` is
    /// unlimited.
    pub step_limit: Option<u64>,
    /// Maximum number of bytes of containers, streams and waiting work before a trap, including the records
    /// of the race detector.
    pub memory_limit: u64,
    /// Number of virtual ranks; 0 is as 1.
    pub ranks: u32,
    /// Whether the report lists blocks in the order in which they ran.
    pub trace: bool,
    /// Implementation of external functions; without, a program that calls one is refused.
    pub externals: Option<&'a dyn Externals>,
    /// Implementation of library nodes; without, a program that has one is refused.
    pub libraries: Option<&'a dyn Libraries>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            order: Order::Fixed,
            check_conflicts: true,
            step_limit: None,
            memory_limit: 1 << 35,
            ranks: 1,
            trace: false,
            externals: None,
            libraries: None,
        }
    }
}

/// The most blocks that a trace lists.
pub const TRACE_LIMIT: usize = 1 << 20;

/// Report of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Blocks, iterations of maps, tasklets, reductions and calls that were executed.
    pub steps: u64,
    /// Tasklets that were executed.
    pub tasklets: u64,
    /// Elements moved by each end of a memlet that moved any.
    pub moved: Vec<Moved>,
    /// Bytes that each rank received by copies; empty on one rank.
    pub received: Vec<Received>,
    /// Blocks that were executed, with how often.
    pub blocks: Vec<(ElementPath, u64)>,
    /// With [`Options::trace`], indices into `blocks` in the order of execution: the first [`TRACE_LIMIT`].
    pub order: Vec<usize>,
}

/// Number of elements that one end of a memlet moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The edge.
    pub path: ElementPath,
    /// The memlet as text.
    pub memlet: String,
    /// Whether the elements were written.
    pub writes: bool,
    /// Number of its uses.
    pub times: u64,
    /// Number of elements.
    pub elements: u64,
    /// Number of bytes.
    pub bytes: u64,
}

/// Bytes that a rank received from other ranks: values for elements that it holds, of which it neither owns the source nor has a
/// current replica.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Set by copies without a conflict resolution.
    pub copied: u64,
    /// Combined by copies with one, each value of the source by itself.
    pub combined: u64,
}

impl Report {
    pub(super) fn new(program: &Program, counts: &Counts) -> Self {
        let moved = program.accesses.iter().zip(counts.moved.iter().zip(&counts.passes));
        let moved = moved.filter(|(_, (elements, passes))| **elements > 0 || **passes > 0);
        let moved = moved.map(|(place, (elements, passes))| Moved {
            path: (*place.site).clone(),
            memlet: place.memlet.clone(),
            writes: !place.kind.is_read(),
            // Where nothing else counts, each use moves one element.
            times: if *passes > 0 { *passes } else { *elements },
            elements: *elements,
            bytes: elements * place.size,
        });
        let (mut blocks, mut numbers) = (Vec::new(), BTreeMap::new());
        for (p, (procedure, counts)) in program.procedures.iter().zip(&counts.blocks).enumerate() {
            for (b, (block, count)) in procedure.blocks.iter().zip(counts).enumerate() {
                if *count > 0 {
                    numbers.insert((p, b), blocks.len());
                    blocks.push(((*block.site).clone(), *count));
                }
            }
        }
        let order = counts.order.iter().filter_map(|place| numbers.get(place).copied()).collect();
        let received = counts.received.iter();
        let received = received.map(|&(copied, combined)| Received { copied, combined }).collect();
        let (steps, tasklets) = (counts.steps, counts.tasklets);
        Report { steps, tasklets, moved: moved.collect(), received, blocks, order }
    }
}
