//! Virtual ranks: the ranks that hold an element, and the copies that are current (`docs/semantics.md`, "Ranks").

use sdfg_graph::ir;
use sdfg_language::symbolic::Expr;

use super::memory::Dimension;

/// The processors that run a piece of a program: one rank, or all of them alike.
pub(super) type Rank = Option<u32>;

/// Distribution of a container over ranks, with its symbols resolved.
#[derive(Debug)]
pub(super) enum DistributionCode<T> {
    Replicated,
    Blocks(Grid<T>),
    Local,
}

/// Cuts over a process grid, in expressions of some kind or in numbers.
#[derive(Clone, Debug)]
pub(super) struct Grid<T> {
    extents: Vec<T>,
    cuts: Vec<Option<Cut<T>>>,
}

#[derive(Clone, Debug)]
struct Cut<T> {
    along: usize,
    parts: Parts<T>,
    halo: [T; 2],
}

#[derive(Clone, Debug)]
enum Parts<T> {
    Equal,
    Balanced(Option<[T; 2]>),
    Starts(Vec<T>),
}

impl<T> DistributionCode<T> {
    /// The distribution of a container, with `value` for each expression.
    pub(super) fn new<E>(
        distribution: &ir::Distribution,
        value: &mut impl FnMut(&Expr) -> Result<T, E>,
    ) -> Result<Self, E> {
        let ir::Distribution::Blocks(blocks) = distribution else {
            return Ok(match distribution {
                ir::Distribution::Local => DistributionCode::Local,
                ir::Distribution::Replicated | ir::Distribution::Blocks(_) => DistributionCode::Replicated,
            });
        };
        let mut cuts = Vec::with_capacity(blocks.cuts.len());
        for cut in &blocks.cuts {
            let Some(ir::Cut { along, parts, halo }) = cut else {
                cuts.push(None);
                continue;
            };
            let parts = match parts {
                ir::Parts::Equal => Parts::Equal,
                ir::Parts::Balanced(range) => Parts::Balanced(match range {
                    Some([begin, end]) => Some([value(begin)?, value(end)?]),
                    None => None,
                }),
                ir::Parts::Starts(starts) => {
                    Parts::Starts(starts.iter().map(&mut *value).collect::<Result<_, E>>()?)
                }
            };
            cuts.push(Some(Cut { along: *along, parts, halo: [value(&halo[0])?, value(&halo[1])?] }));
        }
        let extents = blocks.grid.iter().map(value).collect::<Result<_, E>>()?;
        Ok(DistributionCode::Blocks(Grid { extents, cuts }))
    }
}

impl<T> Grid<T> {
    /// The same in numbers.
    pub(super) fn eval<E>(&self, mut value: impl FnMut(&T) -> Result<i64, E>) -> Result<Grid<i64>, E> {
        let mut cut = |cut: &Cut<T>| -> Result<Cut<i64>, E> {
            let parts = match &cut.parts {
                Parts::Equal => Parts::Equal,
                Parts::Balanced(None) => Parts::Balanced(None),
                Parts::Balanced(Some([begin, end])) => Parts::Balanced(Some([value(begin)?, value(end)?])),
                Parts::Starts(starts) => {
                    Parts::Starts(starts.iter().map(&mut value).collect::<Result<_, E>>()?)
                }
            };
            Ok(Cut { along: cut.along, parts, halo: [value(&cut.halo[0])?, value(&cut.halo[1])?] })
        };
        let cuts =
            self.cuts.iter().map(|part| part.as_ref().map(&mut cut).transpose()).collect::<Result<_, E>>()?;
        Ok(Grid { cuts, extents: self.extents.iter().map(value).collect::<Result<_, E>>()? })
    }
}

/// The ranks that hold each element of a buffer.
#[derive(Clone, Debug)]
pub(super) enum Placement {
    /// There is one rank, or the buffer belongs to an iteration that runs on this one.
    Of(Rank),
    /// Every rank has a copy.
    Replicated,
    /// One rank owns each element; others may have copies.
    Blocks(Box<Blocks>),
    /// Every rank has so many elements of its own, one after the other.
    Local(usize),
}

impl Default for Placement {
    fn default() -> Self {
        Placement::Of(None)
    }
}

/// Elements cut into blocks over a grid.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    offset: i64,
    dims: Vec<Dimension>,
    /// Number of processes along each dimension of the grid.
    grid: Vec<i64>,
    /// For each dimension of the container its parts, if it is cut.
    cuts: Vec<Option<PartsOf>>,
    ranks: u32,
    /// For each element a bit for each rank: whether its copy has the owner's value. Empty if there are no copies.
    current: Vec<u64>,
}

/// The parts of a dimension.
#[derive(Clone, Debug)]
struct PartsOf {
    along: usize,
    /// First position of each part, and the end of the last one.
    starts: Vec<i64>,
    halo: [i64; 2],
}

/// Why an element cannot be accessed on a rank.
pub(super) enum Elsewhere {
    /// Another rank holds it, if that is a single one.
    On(Rank),
    /// The rank's copy is not what the owner, this rank, wrote.
    Stale(u32),
}

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
            Placement::Of(_) => Ok(position),
            Placement::Replicated if is_copy || rank.is_none() || !writes => Ok(position),
            Placement::Replicated => Err(Elsewhere::On(None)),
            Placement::Blocks(_) if is_copy => Ok(position),
            Placement::Blocks(blocks) => blocks.locate(position, rank, writes),
            Placement::Local(count) => match rank {
                Some(rank) if position < *count => Ok(position + rank as usize * count),
                Some(_) => Ok(usize::MAX),
                None => Err(Elsewhere::On(None)),
            },
        }
    }

    /// Records a write: one by the owner makes the copies stale, a copy sets all of them.
    #[inline]
    pub(super) fn wrote(&mut self, position: usize, is_copy: bool) {
        if let Placement::Blocks(blocks) = self {
            blocks.set_current(position, is_copy);
        }
    }

    /// Whether a rank holds an element, or has a place for a copy of it.
    pub(super) fn is_on(&self, position: usize, rank: u32) -> bool {
        match self {
            Placement::Of(owner) => owner.is_none_or(|owner| owner == rank),
            Placement::Replicated | Placement::Local(_) => true,
            Placement::Blocks(blocks) => blocks.holds(&blocks.index(position), rank, true),
        }
    }

    /// Whether a rank needs no message for the value of an element: it owns it, or has a current replica. Halos do not count.
    pub(super) fn supplies(&self, position: usize, rank: u32) -> bool {
        match self {
            Placement::Of(_) | Placement::Replicated | Placement::Local(_) => self.is_on(position, rank),
            Placement::Blocks(blocks) => {
                blocks.holds(&blocks.index(position), rank, false)
                    && blocks.locate(position, Some(rank), false).is_ok()
            }
        }
    }
}

impl Blocks {
    /// A container with these dimensions over a grid, or why no distribution is described.
    pub(super) fn new(
        grid: &Grid<i64>,
        offset: i64,
        dims: &[Dimension],
        count: usize,
        ranks: u32,
    ) -> Result<Blocks, String> {
        if let Some(parts) = grid.extents.iter().find(|parts| **parts < 1) {
            return Err(format!("its process grid has {parts} processes along a dimension"));
        }
        let processes = grid.extents.iter().copied().try_fold(1, i64::checked_mul);
        if processes.is_none_or(|processes| processes > i64::from(ir::Blocks::MOST_PROCESSES)) {
            let most = ir::Blocks::MOST_PROCESSES;
            return Err(format!("its process grid has more than {most} processes"));
        }
        let mut cuts = Vec::with_capacity(dims.len());
        for (dim, cut) in dims.iter().zip(&grid.cuts) {
            let parts = |cut: &Cut<i64>| PartsOf::new(cut, dim.extent, grid.extents.get(cut.along).copied());
            cuts.push(cut.as_ref().map(parts).transpose()?);
        }
        cuts.resize_with(dims.len(), || None);
        let mut blocks = Blocks {
            offset,
            dims: dims.to_vec(),
            grid: grid.extents.clone(),
            cuts,
            ranks,
            current: Vec::new(),
        };
        if blocks.has_copies() {
            blocks.current = vec![0; count.saturating_mul(blocks.words())];
        }
        Ok(blocks)
    }

    fn has_copies(&self) -> bool {
        let cuts = |along: usize| self.cuts.iter().flatten().any(|cut| cut.along == along);
        let mut grid = self.grid.iter().enumerate();
        self.cuts.iter().flatten().any(|cut| cut.halo != [0, 0])
            || grid.any(|(along, parts)| *parts > 1 && !cuts(along))
    }

    /// Words of bits for each element. Ranks behind the processes of the grid hold nothing.
    fn words(&self) -> usize {
        let processes: i64 = self.grid.iter().product();
        i64::from(self.ranks).min(processes).unsigned_abs().div_ceil(64) as usize
    }

    fn index(&self, position: usize) -> Vec<i64> {
        index_in(&self.dims, self.offset, position as i64)
    }

    fn locate(&self, position: usize, rank: Rank, writes: bool) -> Result<usize, Elsewhere> {
        let index = self.index(position);
        let owner = self.owner(&index);
        let Some(rank) = rank else { return Err(Elsewhere::On(Some(owner))) };
        if rank == owner {
            return Ok(position);
        }
        if writes || self.current.is_empty() || !self.holds(&index, rank, true) {
            return Err(Elsewhere::On(Some(owner)));
        }
        let word = self.current[position * self.words() + rank as usize / 64];
        if word >> (rank % 64) & 1 == 1 { Ok(position) } else { Err(Elsewhere::Stale(owner)) }
    }

    /// The rank of an element: that of the process with its parts and coordinate 0 elsewhere, in row-major order over the grid.
    fn owner(&self, index: &[i64]) -> u32 {
        let mut coordinates = vec![0; self.grid.len()];
        for (i, cut) in index.iter().zip(&self.cuts) {
            if let Some(cut) = cut {
                coordinates[cut.along] = cut.part(*i);
            }
        }
        let along = self.grid.iter().zip(&coordinates);
        let process = along.fold(0_i64, |process, (n, at)| process.saturating_mul(*n).saturating_add(*at));
        (process % i64::from(self.ranks)) as u32
    }

    /// Whether a process on a rank has the element in its part, or also in its halo.
    fn holds(&self, index: &[i64], rank: u32, with_halo: bool) -> bool {
        let processes = self.grid.iter().fold(1_i64, |product, extent| product.saturating_mul(*extent));
        let mut process = i64::from(rank);
        while process < processes {
            let mut rest = process;
            let mut coordinates = vec![0; self.grid.len()];
            for (at, extent) in coordinates.iter_mut().zip(&self.grid).rev() {
                (*at, rest) = (rest % extent, rest / extent);
            }
            let mut cuts = index.iter().zip(&self.cuts);
            let holds = |cut: &PartsOf, i: i64| cut.holds(coordinates[cut.along], i, with_halo);
            if cuts.all(|(i, cut)| cut.as_ref().is_none_or(|cut| holds(cut, *i))) {
                return true;
            }
            process += i64::from(self.ranks);
        }
        false
    }

    fn set_current(&mut self, position: usize, is_current: bool) {
        let words = self.words();
        if let Some(bits) = self.current.get_mut(position * words..(position + 1) * words) {
            bits.fill(if is_current { u64::MAX } else { 0 });
        }
    }
}

impl PartsOf {
    fn new(cut: &Cut<i64>, extent: i64, parts: Option<i64>) -> Result<PartsOf, String> {
        let Some(parts) = parts else {
            return Err(format!(
                "it is cut along dimension {} of its process grid, which has none",
                cut.along
            ));
        };
        let [before, after] = cut.halo;
        if before < 0 || after < 0 {
            return Err(format!("a halo is {} elements wide", before.min(after)));
        }
        if let Parts::Starts(starts) = &cut.parts
            && starts.len() as i64 != parts - 1
        {
            return Err(format!("a dimension of {parts} parts lists {} starts", starts.len()));
        }
        let start = |k: i64| match &cut.parts {
            Parts::Equal => i128::from(k) * i128::from((extent + parts - 1).div_euclid(parts)),
            Parts::Balanced(range) => {
                let [begin, end] = range.unwrap_or([0, extent]).map(i128::from);
                begin + (i128::from(k) * (end - begin).max(0)).div_euclid(i128::from(parts))
            }
            Parts::Starts(starts) => starts.get(k as usize - 1).map_or(0, |start| i128::from(*start)),
        };
        let mut starts = vec![0];
        for k in 1..parts {
            let previous = starts.last().copied().unwrap_or(0);
            let start = start(k).min(i128::from(extent));
            starts.push(i64::try_from(start).unwrap_or(0).max(previous));
        }
        starts.push(extent);
        Ok(PartsOf { along: cut.along, starts, halo: cut.halo })
    }

    /// The part of a position: the last one that starts at or before it.
    fn part(&self, i: i64) -> i64 {
        let inner = &self.starts[1..self.starts.len() - 1];
        inner.partition_point(|start| *start <= i) as i64
    }

    /// Whether part `k`, or also its halo, has a position. An empty part has no halo.
    fn holds(&self, k: i64, i: i64, with_halo: bool) -> bool {
        let (begin, end) = (self.starts[k as usize], self.starts[k as usize + 1]);
        if begin == end {
            return false;
        }
        let [before, after] = if with_halo { self.halo } else { [0, 0] };
        (begin.saturating_sub(before)..end.saturating_add(after)).contains(&i)
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
