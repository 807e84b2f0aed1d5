//! Load of ranks in one execution of an operation: computation, halo exchange and reduction of partial
//! results.

use super::elements::{Side, Sides, count};
use super::holding::{Axis, Holding, Patterns};
use super::operator::{Block, Operand, Operator, share};

/// Load of one rank in one execution of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Arithmetic operations of its iterations.
    pub operations: u64,
    /// Bytes of different elements that its iterations read, and that they write.
    pub memory_bytes: u64,
    /// Bytes that it receives before: elements that it reads and does not hold (the halo).
    pub halo_bytes: u64,
    /// Bytes that it receives afterwards, when partial results are combined.
    pub reduction_bytes: u64,
    /// Arithmetic operations of combining them.
    pub reduction_operations: u64,
    /// Messages that it waits for one after the other, halo and partial results.
    pub messages: u64,
}

impl Load {
    /// The same load of a rank that needs nothing of others.
    pub(super) fn without_communication(&self) -> Load {
        Load { operations: self.operations, memory_bytes: self.memory_bytes, ..Load::default() }
    }
}

/// Numbers of elements of an operand that a rank accesses, and of those outside of its owned part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Touched {
    all: u64,
    halo: u64,
}

/// Counting of elements for all configurations of an operation.
enum CountingMethod {
    /// With one access they are products: along each axis so many, and so many that are in the owned part.
    Product(Holding<(u64, u64)>),
    /// Block by block.
    Each,
}

impl Operator {
    /// Loads of each rank.
    pub(super) fn loads(&self, configuration: &[u32], n_ranks: u32) -> Vec<Load> {
        let reduced = self.reduced();
        let load = |rank| {
            let Some(block) = self.block(configuration, rank) else { return Load::default() };
            self.load(configuration, &block, &reduced, |operand, _| {
                operand.count(self, configuration, &block)
            })
        };
        (0..n_ranks).map(load).collect()
    }

    /// Loads of active ranks, in each configuration; the same, but faster.
    pub(super) fn each_load(&self, configurations: &[Vec<u32>], n_ranks: u32, mut tell: impl FnMut(&[Load])) {
        let is_empty = self.domain.contains(&0);
        let way = |operand: &Operand| match operand.accesses.len() {
            1 if !is_empty => CountingMethod::Product(operand.products(self, configurations, n_ranks)),
            _ => CountingMethod::Each,
        };
        let reduced = self.reduced();
        let ways: Vec<CountingMethod> = self.reads.iter().chain(&self.writes).map(way).collect();
        let mut loads = Vec::new();
        for (number, configuration) in configurations.iter().enumerate() {
            loads.clear();
            for (rank, block) in (0..n_ranks).map_while(|rank| Some((rank, self.block(configuration, rank)?)))
            {
                loads.push(self.load(configuration, &block, &reduced, |operand, index| match &ways[index] {
                    CountingMethod::Product(holding) => touched(holding, number, rank),
                    CountingMethod::Each => operand.count(self, configuration, &block),
                }));
            }
            tell(&loads);
        }
    }

    /// For each write the dimensions that are combined over.
    fn reduced(&self) -> Vec<Vec<usize>> {
        self.writes.iter().map(|operand| operand.reduced(self)).collect()
    }

    /// The load of a block, where it is told what of each operand it touches, reads before writes.
    fn load(
        &self,
        configuration: &[u32],
        block: &Block,
        reduced: &[Vec<usize>],
        touched: impl Fn(&Operand, usize) -> Touched,
    ) -> Load {
        let mut load = Load { operations: self.work * block.n_iterations(), ..Load::default() };
        for (index, operand) in self.reads.iter().chain(&self.writes).enumerate() {
            let Touched { all: n, halo } = touched(operand, index);
            load.memory_bytes += operand.element_bytes * n;
            if index < self.reads.len() {
                load.halo_bytes += operand.element_bytes * halo;
                continue;
            }
            let Some(combining) = operand.combining else { continue };
            // Ranks that differ in reduced dimensions only combine their results in a ring: each chunk goes around, and
            // then its sum does (reduce-scatter and all-gather).
            let (mut n_ranks, mut at) = (1, 0);
            for dimension in &reduced[index - self.reads.len()] {
                n_ranks *= u64::from(configuration[*dimension]);
                at = at * u64::from(configuration[*dimension]) + block.part[*dimension];
            }
            if n_ranks == 1 {
                continue;
            }
            let chunk = |at: u64| {
                let (begin, end) = share(n, n_ranks, at % n_ranks);
                end - begin
            };
            load.reduction_bytes += operand.element_bytes * (2 * n - chunk(at) - chunk(at + 1));
            load.reduction_operations += combining * (n - chunk(at));
            load.messages += 2 * (n_ranks - 1);
        }
        load.messages += u64::from(load.halo_bytes > 0);
        load
    }
}

/// The product of what a rank touches along each axis.
fn touched(holding: &Holding<(u64, u64)>, configuration: usize, rank: u32) -> Touched {
    let held = &holding.held[holding.layouts.of(configuration)];
    let along = |(axis, pattern): (&Patterns<(u64, u64)>, &u32)| *axis.at(*pattern, rank);
    let axes = holding.axes.iter().zip(&held.patterns).map(along);
    let (all, held) = axes.fold((1, 1), |(all, held), (n, m)| (all * n, held * m));
    Touched { all, halo: all - held }
}

impl Operand {
    /// Elements that a block accesses.
    fn count(&self, operator: &Operator, configuration: &[u32], block: &Block) -> Touched {
        let touched = self.touched_once(block);
        let owned = self.owned(operator, configuration, block);
        let boxes: Vec<&Sides> = std::iter::once(&owned).chain(&touched).collect();
        Touched { all: count(&boxes[1..], |_| true), halo: count(&boxes, |set| set & 1 == 0) }
    }

    /// For its one access, along each axis how many positions each rank touches, and how many of them are in its owned part. No
    /// dimension of the domain is empty.
    fn products(
        &self,
        operator: &Operator,
        configurations: &[Vec<u32>],
        n_ranks: u32,
    ) -> Holding<(u64, u64)> {
        let indices = self.accesses[0].iter().zip(&self.extents).enumerate();
        let axes: Vec<Axis<'_, (u64, u64)>> = indices
            .map(|(dimension, (index, extent))| Axis {
                dimensions: index.dimensions(),
                of: Box::new(move |parts| {
                    let part = |of: usize| parts.iter().find(|part| part.dimension == of).copied();
                    let bounds = |of: usize| {
                        let n = operator.domain[of];
                        part(of).map_or((0, n), |part| part.bounds(n))
                    };
                    let touched: Side = index.side(*extent, bounds, 1);
                    let leading = self.lead(operator, dimension).and_then(|(leading, ..)| part(leading));
                    let owned = self.owned_side(operator, dimension, leading);
                    (touched.len(), touched.n_common(&owned))
                }),
            })
            .collect();
        Holding::new(configurations, n_ranks, &axes)
    }
}
