//! Operations of the model: iterations, work, and the elements that each block of iterations accesses.

use std::collections::BTreeSet;

use sdfg::path::ElementPath;

use super::binding::Storage;
use super::elements::{Side, Sides};
use super::holding::Part;

/// An operation of a program at known sizes.
#[derive(Clone, Debug)]
pub(super) struct Operator {
    /// Its node.
    pub(super) path: ElementPath,
    /// Its name: the labels of that path without the program, with dots.
    pub(super) name: String,
    /// Kind of node.
    pub(super) kind: &'static str,
    /// Number of iterations of each dimension that can be cut.
    pub(super) domain: Vec<u64>,
    /// Name of each dimension in the program; nothing for dimensions without a name.
    pub(super) parameters: Vec<Option<String>>,
    /// Arithmetic operations of one iteration.
    pub(super) work: u64,
    /// Its reads, including previous contents of containers that it combines into.
    pub(super) reads: Vec<Operand>,
    /// Its writes.
    pub(super) writes: Vec<Operand>,
}

/// Access of an operation to one container.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) storage: Storage,
    /// Bytes of an element.
    pub(super) element_bytes: u64,
    /// Sizes of the storage.
    pub(super) extents: Vec<u64>,
    /// All accesses, each with an index for each dimension of the container.
    pub(super) accesses: Vec<Vec<Index>>,
    /// If iterations combine what they write, the arithmetic operations of combining two elements.
    pub(super) combining: Option<u64>,
}

/// Positions along a dimension of a container that an iteration accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Index {
    /// `start + c1 i1 + .. + s1 k1 + ..`
    Affine {
        start: i64,
        /// Dimensions of the domain, counted from 0, with their coefficients, which are not 0.
        parameters: Vec<(usize, i64)>,
        /// Strides and numbers of what each iteration passes through.
        within: Vec<(i64, u64)>,
    },
    /// One position, the same for all iterations, but not for all executions: the symbol of a loop around says which.
    Moving,
    /// Any: the conservative answer.
    Whole,
}

/// Iterations of a rank: for each dimension of the domain its part, and the iterations from the first to before the last.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) part: Vec<u64>,
    pub(super) bounds: Vec<(u64, u64)>,
}

/// The part of `n` things that is number `part` of `parts`: sizes differ by at most one.
pub(super) fn share(n: u64, parts: u64, part: u64) -> (u64, u64) {
    let at = |part: u64| match n.checked_mul(part) {
        Some(product) => product / parts,
        None => (u128::from(n) * u128::from(part) / u128::from(parts)) as u64,
    };
    (at(part), at(part + 1))
}

impl Index {
    /// Positions along a dimension of a container, for these iterations of each dimension of the domain, none of which is empty. Where
    /// it moves, the first so many.
    pub(super) fn side(&self, extent: u64, bounds: impl Fn(usize) -> (u64, u64), moving: i64) -> Side {
        match self {
            Index::Whole => Side::interval(0, extent as i64),
            Index::Moving => Side::interval(0, moving.min(extent as i64)),
            Index::Affine { start, parameters, within } => {
                let mut start = *start;
                let mut strides = within.clone();
                for (parameter, coefficient) in parameters {
                    let (begin, end) = bounds(*parameter);
                    start += coefficient * begin as i64;
                    strides.push((*coefficient, end - begin));
                }
                // What is outside of the container is a fault of the program, and nowhere to be fetched from.
                Side::progression(start, &strides).below(extent as i64)
            }
        }
    }

    /// Whether iterations of one execution access more than one position.
    fn is_passed(&self) -> bool {
        match self {
            Index::Affine { parameters, within, .. } => !parameters.is_empty() || !within.is_empty(),
            Index::Moving => false,
            Index::Whole => true,
        }
    }

    /// Dimensions of the domain that it depends on.
    pub(super) fn dimensions(&self) -> Vec<usize> {
        match self {
            Index::Affine { parameters, .. } => parameters.iter().map(|(dimension, _)| *dimension).collect(),
            Index::Moving | Index::Whole => Vec::new(),
        }
    }
}

impl Operator {
    /// Iterations of a rank; nothing for ranks beyond the number of parts. The last dimension changes
    /// fastest.
    pub(super) fn block(&self, configuration: &[u32], rank: u32) -> Option<Block> {
        let mut left = u64::from(rank);
        let mut part = vec![0; configuration.len()];
        for (dimension, parts) in configuration.iter().enumerate().rev() {
            part[dimension] = left % u64::from(*parts);
            left /= u64::from(*parts);
        }
        let cut = self.domain.iter().zip(configuration).zip(&part);
        let bounds = cut.map(|((n, parts), part)| share(*n, u64::from(*parts), *part)).collect();
        (left == 0).then_some(Block { part, bounds })
    }

    /// The dimensions of the domain, those first whose parts are in the fewest pieces of memory: they lead through outer dimensions of
    /// containers. What is cut is packed, with the last dimension fastest. Large containers weigh more; of equals, the first come first.
    pub(super) fn outermost_first(&self) -> Vec<usize> {
        let in_pieces = |dimension: usize| {
            let operands = self.reads.iter().chain(&self.writes);
            operands.fold(0, |sum: u128, operand| sum.saturating_add(operand.bytes_in_pieces(dimension)))
        };
        let mut order: Vec<usize> = (0..self.domain.len()).collect();
        order.sort_by_cached_key(|dimension| in_pieces(*dimension));
        order
    }

    /// The block of all iterations.
    pub(super) fn whole(&self) -> Block {
        Block { part: vec![0; self.domain.len()], bounds: self.domain.iter().map(|n| (0, *n)).collect() }
    }
}

impl Block {
    /// Number of iterations.
    pub(super) fn n_iterations(&self) -> u64 {
        self.bounds.iter().map(|(begin, end)| end - begin).product()
    }
}

impl Operand {
    /// The elements that each access may touch in a block, over all executions, a box for each access.
    pub(super) fn touched(&self, block: &Block) -> Vec<Sides> {
        self.boxes(block, i64::MAX)
    }

    /// As many elements as each access touches in a block in one execution: of a dimension in which it moves the first.
    pub(super) fn touched_once(&self, block: &Block) -> Vec<Sides> {
        self.boxes(block, 1)
    }

    /// Boxes of accesses, of which a dimension in which it moves has so many positions.
    fn boxes(&self, block: &Block, moving: i64) -> Vec<Sides> {
        let bounds = |dimension: usize| block.bounds[dimension];
        let is_empty = block.n_iterations() == 0;
        let side = |index: &Index, extent: u64| {
            // Iterations that an index does not depend on still have to be there.
            if is_empty { Side::interval(0, 0) } else { index.side(extent, bounds, moving) }
        };
        let sides =
            |access: &Vec<Index>| access.iter().zip(&self.extents).map(|(i, n)| side(i, *n)).collect();
        self.accesses.iter().map(sides).collect()
    }

    /// All elements of the storage.
    pub(super) fn all(&self) -> Sides {
        self.extents.iter().map(|extent| Side::interval(0, *extent as i64)).collect()
    }

    /// The part of the container that a rank holds before it computes: each dimension of the container is cut where the
    /// dimension of the domain is that leads through it. Ranks that differ in other dimensions hold copies.
    pub(super) fn owned(&self, operator: &Operator, configuration: &[u32], block: &Block) -> Sides {
        let side = |dimension: usize| {
            let lead = self.lead(operator, dimension);
            let part = lead.map(|(leading, ..)| Part {
                dimension: leading,
                parts: u64::from(configuration[leading]),
                part: block.part[leading],
            });
            self.owned_side(operator, dimension, part)
        };
        (0..self.extents.len()).map(side).collect()
    }

    /// The owned part along one dimension of the container, for a part of the dimension that leads through it; all of it without one.
    pub(super) fn owned_side(&self, operator: &Operator, dimension: usize, part: Option<Part>) -> Side {
        let extent = self.extents[dimension] as i64;
        let (Some((parameter, coefficient, reference)), Some(part)) = (self.lead(operator, dimension), part)
        else {
            return Side::interval(0, extent);
        };
        let (begin, end) = part.bounds(operator.domain[parameter]);
        let (is_first, is_last) = (part.part == 0, part.part + 1 == part.parts);
        let at = |iteration: u64| (coefficient * iteration as i64 + reference).clamp(0, extent);
        let after =
            |iteration: u64| (coefficient * iteration as i64 + reference).saturating_add(1).clamp(0, extent);
        // With a negative coefficient the first part is at the end of the container.
        let (low, high, at_low, at_high) = if coefficient > 0 {
            (at(begin), at(end), is_first, is_last)
        } else {
            (after(end), after(begin), is_last, is_first)
        };
        Side::interval(if at_low { 0 } else { low }, if at_high { extent } else { high })
    }

    /// The dimension of the domain that leads through a dimension of the container, its coefficient, and the access that
    /// is in the middle of all: of the dimensions in the first access's index the longest, of equals the first.
    pub(super) fn lead(&self, operator: &Operator, dimension: usize) -> Option<(usize, i64, i64)> {
        let Index::Affine { parameters, .. } = &self.accesses.first()?[dimension] else { return None };
        let longest = parameters.iter().rev().max_by_key(|(parameter, _)| operator.domain[*parameter]);
        let lead = *longest?;
        let mut starts: Vec<i64> = Vec::new();
        for access in &self.accesses {
            if let Index::Affine { start, parameters, .. } = &access[dimension]
                && parameters.contains(&lead)
            {
                starts.push(*start);
            }
        }
        starts.sort_unstable();
        starts.dedup();
        Some((lead.0, lead.1, starts[starts.len() / 2]))
    }

    /// Bytes of the container for each dimension that makes parts of this dimension of the domain pieces of memory: those outside of the
    /// first one that it leads through, along which iterations access more than one position.
    fn bytes_in_pieces(&self, dimension: usize) -> u128 {
        let Some(access) = self.accesses.first() else { return 0 };
        let first = access.iter().position(|index| index.dimensions().contains(&dimension));
        let n_outside = access[..first.unwrap_or(0)].iter().filter(|index| index.is_passed()).count();
        let element_bytes = u128::from(self.element_bytes);
        let bytes = self.extents.iter().fold(element_bytes, |bytes, n| bytes.saturating_mul(u128::from(*n)));
        bytes.saturating_mul(n_outside as u128)
    }

    /// Dimensions of the domain that no index depends on: what is combined over them is a reduction.
    pub(super) fn reduced(&self, operator: &Operator) -> Vec<usize> {
        let used: BTreeSet<usize> = self.accesses.iter().flatten().flat_map(Index::dimensions).collect();
        (0..operator.domain.len()).filter(|dimension| !used.contains(dimension)).collect()
    }

    /// Whether what it accesses is known, and the same in each execution.
    pub(super) fn is_certain(&self) -> bool {
        self.accesses.iter().flatten().all(|index| matches!(index, Index::Affine { .. }))
    }
}
