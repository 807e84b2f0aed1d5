//! How a program is run, and what a run reports.

use super::external::{Externals, Libraries};
use super::machine::Counts;
use super::order::Order;
use super::program::Program;
use crate::diagnostic::ElementPath;

/// How a program is run.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The order of unordered nodes and iterations.
    pub order: Order,
    /// Whether accesses that nothing orders trap. It takes 32 bytes for each element.
    pub check_conflicts: bool,
    /// How many blocks, iterations of maps, tasklets, reductions and calls may run before a trap; `None` is any number.
    pub step_limit: Option<u64>,
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
            externals: None,
            libraries: None,
        }
    }
}

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
    /// How many elements.
    pub elements: u64,
}

impl Report {
    pub(super) fn new(program: &Program, counts: &Counts) -> Self {
        let moved = program.accesses.iter().zip(&counts.moved).filter(|(_, elements)| **elements > 0);
        let moved = moved.map(|(place, elements)| Moved {
            path: (*place.site).clone(),
            memlet: place.memlet.clone(),
            writes: !place.kind.is_read(),
            elements: *elements,
        });
        let mut blocks = Vec::new();
        for (procedure, counts) in program.procedures.iter().zip(&counts.blocks) {
            for (block, count) in procedure.blocks.iter().zip(counts) {
                if *count > 0 {
                    blocks.push(((*block.site).clone(), *count));
                }
            }
        }
        Report { steps: counts.steps, tasklets: counts.tasklets, moved: moved.collect(), blocks }
    }
}
