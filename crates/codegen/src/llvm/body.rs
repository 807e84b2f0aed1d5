//! Blocks of a function in LLVM IR, and the loops that they form.
//!
//! LLVM's C interface does not give access to its own loop analysis.

use std::collections::{BTreeMap, BTreeSet};

use inkwell::basic_block::BasicBlock;
use inkwell::values::{BasicValueEnum, FunctionValue, InstructionValue, Operand};
use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

/// The blocks of a function, numbered in its order.
pub(super) struct Body<'ctx> {
    pub(super) function: FunctionValue<'ctx>,
    pub(super) blocks: Vec<BasicBlock<'ctx>>,
    /// The number of the block at an address.
    numbers: BTreeMap<usize, usize>,
    graph: DiGraph<(), ()>,
}

/// A loop without loops inside.
pub(super) struct Loop {
    pub(super) blocks: BTreeSet<usize>,
    /// The blocks in it that an iteration begins with: one, except in irregular control flow.
    pub(super) headers: BTreeSet<usize>,
}

impl<'ctx> Body<'ctx> {
    pub(super) fn new(function: FunctionValue<'ctx>) -> Self {
        let blocks: Vec<_> = function.get_basic_blocks();
        let numbers: BTreeMap<usize, usize> =
            blocks.iter().enumerate().map(|(number, block)| (block.as_mut_ptr() as usize, number)).collect();
        let mut graph = DiGraph::with_capacity(blocks.len(), 2 * blocks.len());
        for _ in &blocks {
            graph.add_node(());
        }
        for (number, block) in blocks.iter().enumerate() {
            let operands = block.get_terminator().into_iter().flat_map(InstructionValue::get_operands);
            for next in operands.flatten().filter_map(Operand::block) {
                if let Some(next) = numbers.get(&(next.as_mut_ptr() as usize)) {
                    graph.add_edge(NodeIndex::new(number), NodeIndex::new(*next), ());
                }
            }
        }
        Body { function, blocks, numbers, graph }
    }

    /// The loops without loops inside: strongly connected parts, which fall apart when what leads back to their first block is
    /// taken out.
    pub(super) fn innermost_loops(&self) -> Vec<Loop> {
        let mut found = Vec::new();
        let mut waiting = self.cycles(&(0..self.blocks.len()).collect(), &BTreeSet::new());
        while let Some(blocks) = waiting.pop() {
            let enters = |block: &usize| {
                self.neighbours(*block, petgraph::Direction::Incoming).any(|from| !blocks.contains(&from))
            };
            let headers: BTreeSet<usize> = blocks.iter().copied().filter(enters).collect();
            let inside = self.cycles(&blocks, &headers);
            if inside.is_empty() {
                found.push(Loop { blocks, headers });
            } else {
                waiting.extend(inside);
            }
        }
        found
    }

    /// The strongly connected parts among `blocks`, if no edge leads to one of `headers`.
    fn cycles(&self, blocks: &BTreeSet<usize>, headers: &BTreeSet<usize>) -> Vec<BTreeSet<usize>> {
        let kept = self.graph.filter_map(
            |node, ()| blocks.contains(&node.index()).then_some(node.index()),
            |edge, ()| {
                let (_, to) = self.graph.edge_endpoints(edge)?;
                (!headers.contains(&to.index())).then_some(())
            },
        );
        let is_cycle = |part: &Vec<NodeIndex>| match part.as_slice() {
            [only] => kept.contains_edge(*only, *only),
            _ => true,
        };
        let numbers = |part: Vec<NodeIndex>| part.into_iter().map(|node| kept[node]).collect();
        kosaraju_scc(&kept).into_iter().filter(is_cycle).map(numbers).collect()
    }

    pub(super) fn neighbours(
        &self,
        block: usize,
        direction: petgraph::Direction,
    ) -> impl Iterator<Item = usize> {
        self.graph.neighbors_directed(NodeIndex::new(block), direction).map(NodeIndex::index)
    }

    pub(super) fn is_in(&self, instruction: InstructionValue<'ctx>, each: &Loop) -> bool {
        instruction
            .get_parent()
            .and_then(|block| self.numbers.get(&(block.as_mut_ptr() as usize)))
            .is_some_and(|number| each.blocks.contains(number))
    }
}

/// An operand of an instruction, if it is a value.
pub(super) fn operand(instruction: InstructionValue<'_>, index: u32) -> Option<BasicValueEnum<'_>> {
    instruction.get_operand(index).and_then(Operand::value)
}
