//! Virtual ranks: the ranks that hold an element (`docs/semantics.md`, "Ranks").

use super::index::Index;
use super::memory::Dimension;

/// The processors that run a piece of a program: one rank, or all of them alike.
pub(super) type Rank = Option<u32>;

/// Distribution of a container over ranks, with its symbols resolved.
#[derive(Debug)]
pub(super) enum DistributionCode {
    Replicated,
    Blocks(Vec<Index>),
    Local,
}

/// Rank of each element of a buffer.
#[derive(Clone, Debug, Default)]
pub(super) enum Placement {
    /// There is one rank, or the buffer belongs to an iteration that runs on one.
    #[default]
    Anywhere,
    /// Every rank has a copy.
    Replicated,
    /// One rank for each element.
    Blocks(Box<Blocks>),
    /// Every rank has so many elements of its own, one after the other.
    Local(usize),
}

/// Elements cut into blocks over a grid.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    pub(super) offset: i64,
    pub(super) dims: Vec<Dimension>,
    /// Number of parts of each dimension.
    pub(super) grid: Vec<i64>,
    pub(super) ranks: u32,
}

/// An element that is out of reach: who holds it, if that is a single rank.
pub(super) struct Elsewhere(pub(super) Rank);

impl Placement {
    /// Position in the buffer of the element at `position`, for a rank.
    ///
    /// Copies reach every rank, except for what each has of its own.
    #[inline]
    pub(super) fn locate(
        &self,
        position: usize,
        rank: Rank,
        is_copy: bool,
        writes: bool,
    ) -> Result<usize, Elsewhere> {
        match self {
            Placement::Anywhere => Ok(position),
            Placement::Replicated if is_copy || rank.is_none() || !writes => Ok(position),
            Placement::Replicated => Err(Elsewhere(None)),
            Placement::Blocks(_) if is_copy => Ok(position),
            Placement::Blocks(blocks) => {
                let owner = blocks.owner(position as i64);
                if rank == Some(owner) { Ok(position) } else { Err(Elsewhere(Some(owner))) }
            }
            Placement::Local(count) => match rank {
                Some(rank) if position < *count => Ok(position + rank as usize * count),
                Some(_) => Ok(usize::MAX),
                None => Err(Elsewhere(None)),
            },
        }
    }
}

impl Blocks {
    /// The rank of an element: that of its block, in row-major order over the grid.
    fn owner(&self, position: i64) -> u32 {
        let index = index_in(&self.dims, self.offset, position);
        let mut number = 0_i64;
        for ((i, dim), parts) in index.iter().zip(&self.dims).zip(&self.grid) {
            let parts = (*parts).max(1);
            let size = (dim.extent + parts - 1) / parts;
            number = number.saturating_mul(parts).saturating_add(i / size.max(1));
        }
        (number % i64::from(self.ranks)) as u32
    }
}

/// The index of an element from its position: the dimension with the longest stride first.
pub(super) fn index_in(dims: &[Dimension], offset: i64, position: i64) -> Vec<i64> {
    let mut rest = position.wrapping_sub(offset);
    let mut order: Vec<(usize, Dimension)> = dims.iter().copied().enumerate().collect();
    order.sort_by_key(|(i, dim)| (std::cmp::Reverse(dim.stride.unsigned_abs()), *i));
    let mut index = vec![0; dims.len()];
    for (i, dim) in order {
        if dim.stride != 0 && dim.extent > 1 {
            index[i] = rest / dim.stride;
            rest -= index[i] * dim.stride;
        }
    }
    index
}
