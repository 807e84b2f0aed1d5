//! How a program is run, and what a run reports.

use std::collections::BTreeMap;

use sdfg_graph::diagnostic::ElementPath;

use super::external::{Externals, Libraries};
use super::machine::Counts;
use super::order::Order;
use super::program::Program;

/// How a program is run.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The order of unordered nodes and iterations.
    pub order: Order,
    /// Whether accesses that nothing orders trap. It takes 32 bytes for each element.
    pub check_conflicts: bool,
    /// How many blocks, iterations of maps, tasklets, reductions and calls may run before a trap; `None` is any number.
    pub step_limit: Option<u64>,
    /// How many bytes containers, streams and what waits for them may take before a trap, with what the race detector
    /// keeps.
    pub memory_limit: u64,
    /// How many virtual ranks run the program; 0 is as 1.
    pub ranks: u32,
    /// Whether the report lists blocks in the order in which they ran.
    pub trace: bool,
    /// What calls external functions; without, a program that calls one is refused.
    pub externals: Option<&'a dyn Externals>,
    /// What computes library nodes; without, a program that has one is refused.
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

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Blocks, iterations of maps, tasklets, reductions and calls that were executed.
    pub steps: u64,
    /// Tasklets that were executed.
    pub tasklets: u64,
    /// Elements moved by each end of a memlet that moved any.
    pub moved: Vec<Moved>,
    /// Blocks that were executed, with how often.
    pub blocks: Vec<(ElementPath, u64)>,
    /// With [`Options::trace`], indices into `blocks` in the order of execution: the first [`TRACE_LIMIT`].
    pub order: Vec<usize>,
}

/// How many elements one end of a memlet moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The edge.
    pub path: ElementPath,
    /// The memlet as text.
    pub memlet: String,
    /// Whether the elements were written.
    pub writes: bool,
    /// How often it was used.
    pub times: u64,
    /// How many elements.
    pub elements: u64,
    /// How many bytes.
    pub bytes: u64,
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
        Report { steps: counts.steps, tasklets: counts.tasklets, moved: moved.collect(), blocks, order }
    }
}
