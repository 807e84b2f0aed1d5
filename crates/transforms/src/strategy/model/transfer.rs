//! Traffic of an edge: bytes that each rank fetches to go from the layout that one operation leaves to the
//! layout that another one needs. Of an argument, the first operation that reads it leaves the parts that it owns.
//!
//! The data that the source leaves for the target is divided into disjoint boxes. From each box, a rank
//! fetches the elements of its owned part that the source did not leave on it: a difference of two products of
//! overlaps along the axes. All ranks are computed side by side. Where the source left more than one box on a
//! rank, elements are distinguished box by box.

use super::binding::Storage;
use super::elements::{BOXES, Side, Sides, count, intervals, pieces};
use super::flow::{Origin, everything};
use super::holding::{Axis, Held, Holding, Part, Patterns};
use super::operator::{Index, Operand, Operator};
use crate::strategy::layouts::Layouts;

/// An edge.
#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) storage: Storage,
    /// Number of its uses.
    pub(super) times: u64,
    /// Of the source.
    pub(super) source: Layouts,
    /// Of the target.
    pub(super) target: Layouts,
    element_bytes: u64,
    left: Vec<Held>,
    owned: Vec<Held>,
    way: CountingMethod,
}

/// Counting of elements.
#[derive(Debug)]
enum CountingMethod {
    /// In disjoint boxes, of which each rank was left a box at most.
    Boxes { pieces: Vec<Piece>, wanted: Wanted, n_ranks: usize },
    /// In any boxes.
    Sets {
        /// Everything that the source writes, that the target reads, and that was written in between.
        written: Vec<Sides>,
        read: Vec<Sides>,
        later: Vec<Sides>,
        /// For each access of the source and dimension, what each rank has.
        left: Vec<Patterns<Side>>,
        /// For each dimension the owned part of each rank.
        owned: Vec<Patterns<Side>>,
    },
}

/// How many elements in the owned part of each rank the source leaves for the target, in each layout of the target.
#[derive(Debug)]
struct Wanted {
    n_layouts: usize,
    /// For each chunk and layout. Most costs need the first chunk alone, so that of all layouts lies together.
    chunks: Vec<Chunk>,
    /// The largest number of each of these chunks, and the largest one of it and those behind it.
    most: Vec<[f64; 2]>,
    /// For each layout the largest number of all ranks that have something to do, and the last rank with it.
    top: Vec<(f64, u32)>,
}

/// A box, and along each axis what of it each rank has, and what is in each owned part.
#[derive(Debug)]
struct Piece {
    axes: Vec<Along>,
}

/// Parts of a box that each rank has along an axis, and parts in each owned part.
#[derive(Debug)]
enum Along {
    /// Intervals of both.
    Intervals([Intervals; 2]),
    /// Elements of ranks may have gaps; owned parts have none.
    Gaps {
        left: Vec<Side>,
        owned: Vec<(i64, i64)>,
        /// Numbers of elements of the box in owned parts, for each chunk and pattern.
        needed: Vec<Chunk>,
        n_patterns: usize,
    },
}

/// For each pattern and rank an interval of a box along an axis: numbers for each chunk and pattern.
#[derive(Debug)]
struct Intervals {
    begins: Vec<Chunk>,
    ends: Vec<Chunk>,
    lengths: Vec<Chunk>,
    /// For each pattern whether every rank has the box as a whole.
    whole: Vec<bool>,
}

/// Numbers of some ranks in a row, which are computed side by side; 0 for ranks that there are not. Numbers of elements are exact as
/// floating-point numbers.
type Chunk = [f64; CHUNK];

/// Ranks in a chunk.
const CHUNK: usize = 16;

/// The operations at both ends, with the configurations of each.
pub(super) struct Ends<'a> {
    pub(super) source: (&'a Operator, &'a [Vec<u32>]),
    pub(super) target: (&'a Operator, &'a [Vec<u32>]),
}

/// Maximum number of boxes that a transfer distinguishes: one is a rank's owned part, and boxes that the source
/// wrote are distinguished from the elements of a rank.
pub(super) fn n_boxes(written: usize, read: usize, later: usize) -> usize {
    1 + 2 * written + read + later
}

impl Transfer {
    /// Flow through a storage, if any. Writes of others in between are `later`. The number of all boxes is at
    /// most [`BOXES`].
    pub(super) fn new(
        ends: &Ends<'_>,
        (storage, origin): (Storage, Origin),
        times: u64,
        later: Vec<Sides>,
        n_ranks: u32,
    ) -> Option<Self> {
        let ((source, from), (target, to)) = (ends.source, ends.target);
        let of = |operands: &'_ [Operand]| operands.iter().position(|one| one.storage == storage);
        let reading = &target.reads[of(&target.reads)?];
        let leaving = match origin {
            Origin::Written => &source.writes[of(&source.writes)?],
            Origin::Passed => &source.reads[of(&source.reads)?],
        };
        let written = match origin {
            Origin::Written => everything(source, leaving),
            Origin::Passed => vec![leaving.all()],
        };
        let read = everything(target, reading);
        if n_elements(&written, &read, &later) == 0 {
            return None;
        }
        let left = match origin {
            Origin::Written => Holding::new(from, n_ranks, &written_axes(source, leaving)),
            Origin::Passed => {
                let mut held = Holding::new(from, n_ranks, &owned_axes(source, leaving));
                hold_whole_everywhere(&mut held, leaving, n_ranks);
                held
            }
        };
        let owned = Holding::new(to, n_ranks, &owned_axes(target, reading));
        let way = if written.len() == 1 {
            in_boxes([&written, &read, &later], &left, &owned, n_ranks as usize)
        } else {
            None
        };
        let way =
            way.unwrap_or(CountingMethod::Sets { written, read, later, left: left.axes, owned: owned.axes });
        Some(Transfer {
            storage,
            times,
            source: left.layouts,
            target: owned.layouts,
            element_bytes: reading.element_bytes,
            left: left.held,
            owned: owned.held,
            way,
        })
    }

    /// Bytes that the rank fetches that fetches most. If one fetches so many that `is_enough`, the others are not looked at.
    pub(super) fn most_fetched(
        &self,
        source_layout: usize,
        target_layout: usize,
        is_enough: impl Fn(u64) -> bool,
    ) -> u64 {
        match &self.way {
            CountingMethod::Boxes { pieces, wanted, n_ranks } => {
                let (has, needs) = (&self.left[source_layout], &self.owned[target_layout]);
                // A rank fetches at most what it wants, so that one that wants most and has nothing decides.
                let (top, rank) = wanted.top[target_layout];
                let common = |piece: &Piece| piece.common_of(has, needs, rank as usize, *n_ranks);
                let is_idle = rank >= has.n_ranks;
                let mut most = top - if is_idle { 0.0 } else { pieces.iter().map(common).sum::<f64>() };
                // Numbers of elements are whole.
                let bytes = |most: f64| self.element_bytes * most as u64;
                if most < top && !is_enough(bytes(most)) {
                    self.each_chunk(source_layout, target_layout, most, |chunk| {
                        let before = most;
                        most = chunk.iter().copied().fold(most, |most, n| if n > most { n } else { most });
                        if most > before && is_enough(bytes(most)) { f64::INFINITY } else { most }
                    });
                }
                bytes(most)
            }
            CountingMethod::Sets { .. } => {
                self.fetched(source_layout, target_layout).into_iter().max().unwrap_or(0)
            }
        }
    }

    /// Bytes that each rank fetches that has something to do.
    pub(super) fn fetched(&self, source_layout: usize, target_layout: usize) -> Vec<u64> {
        let mut all = Vec::new();
        match &self.way {
            CountingMethod::Boxes { .. } => {
                self.each_chunk(source_layout, target_layout, f64::NEG_INFINITY, |chunk| {
                    all.extend(chunk.iter().map(|n| self.element_bytes * *n as u64));
                    f64::NEG_INFINITY
                });
            }
            CountingMethod::Sets { written, read, later, left, owned } => {
                let (has, needs) = (&self.left[source_layout], &self.owned[target_layout]);
                let n_axes = owned.len();
                for rank in 0..needs.n_ranks {
                    let sides = |axes: &[Patterns<Side>], held: &[u32]| -> Sides {
                        axes.iter().zip(held).map(|(axis, pattern)| axis.at(*pattern, rank).clone()).collect()
                    };
                    let owned = sides(owned, &needs.patterns);
                    let n_accesses = left.len().checked_div(n_axes).unwrap_or(1);
                    let access = |access: usize| {
                        let axes = access * n_axes..(access + 1) * n_axes;
                        sides(&left[axes.clone()], &has.patterns[axes])
                    };
                    let n_left = if rank < has.n_ranks { n_accesses } else { 0 };
                    let left: Vec<Sides> = (0..n_left).map(access).collect();
                    all.push(self.element_bytes * n_fetched(&owned, written, read, &left, later));
                }
            }
        }
        all
    }

    /// Tells how many elements ranks fetch, a chunk of ranks at a time, in order. `tell` answers with a number: ranks that can only
    /// fetch as many or fewer are left out from then on. So are, from the beginning, those that can only fetch `enough`.
    fn each_chunk(
        &self,
        source_layout: usize,
        target_layout: usize,
        mut enough: f64,
        mut tell: impl FnMut(&[f64]) -> f64,
    ) {
        let CountingMethod::Boxes { pieces, wanted, n_ranks } = &self.way else { return };
        let (has, needs) = (&self.left[source_layout], &self.owned[target_layout]);
        let n_needing = needs.n_ranks as usize;
        for number in 0..n_needing.div_ceil(CHUNK) {
            let at = number * wanted.n_layouts + target_layout;
            let [most, most_from_here] = wanted.most[at];
            if most_from_here <= enough {
                break;
            }
            if most <= enough {
                continue;
            }
            let first = number * CHUNK;
            let n_having = (has.n_ranks as usize).saturating_sub(first).min(CHUNK);
            let mut fetched = wanted.chunks[at];
            for piece in pieces {
                let common = piece.common(has, needs, number, *n_ranks);
                for (lane, (fetched, common)) in fetched.iter_mut().zip(&common).enumerate() {
                    *fetched -= if lane < n_having { *common } else { 0.0 };
                }
            }
            enough = tell(&fetched[..CHUNK.min(n_needing - first)]);
        }
    }
}

impl Wanted {
    /// What the ranks want of these pieces in each layout.
    fn of(pieces: &[Piece], layouts: &[Held], n_ranks: usize) -> Self {
        let (n_layouts, n_chunks) = (layouts.len(), n_ranks.div_ceil(CHUNK));
        let mut chunks = Vec::with_capacity(n_layouts * n_chunks);
        for number in 0..n_chunks {
            chunks.extend(layouts.iter().map(|held| {
                let mut all = [0.0; CHUNK];
                for piece in pieces {
                    let needed = piece.needed(held, number);
                    all.iter_mut().zip(needed).for_each(|(all, needed)| *all += needed);
                }
                all
            }));
        }
        let mut most = vec![[0.0; 2]; chunks.len()];
        let mut top = vec![(0.0, 0); n_layouts];
        for (at, chunk) in chunks.iter().enumerate().rev() {
            let (number, layout) = (at / n_layouts, at % n_layouts);
            let active = (layouts[layout].n_ranks as usize).saturating_sub(number * CHUNK).min(CHUNK);
            let largest = chunk[..active].iter().copied().fold(0.0, f64::max);
            most[at] = [largest, f64::max(largest, most.get(at + n_layouts).map_or(0.0, |next| next[1]))];
            if largest > top[layout].0 {
                let lane = chunk[..active].iter().rposition(|n| *n == largest).unwrap_or(0);
                top[layout] = (largest, (number * CHUNK + lane) as u32);
            }
        }
        Wanted { n_layouts, chunks, most, top }
    }
}

impl Intervals {
    /// Where the numbers of a pattern are, for a chunk of ranks.
    fn at(&self, pattern: usize, number: usize) -> usize {
        number * self.whole.len() + pattern
    }
}

impl Piece {
    /// Number of elements that each rank of a chunk both has and needs.
    fn common(&self, has: &Held, needs: &Held, number: usize, n_ranks: usize) -> Chunk {
        let mut common = [1.0; CHUNK];
        for (axis, (left, owned)) in self.axes.iter().zip(has.patterns.iter().zip(&needs.patterns)) {
            let (left, owned) = (*left as usize, *owned as usize);
            match axis {
                // Most axes are not cut, by one side at least.
                Along::Intervals([has, needs]) => {
                    let (a, b) = (has.at(left, number), needs.at(owned, number));
                    match (has.whole[left], needs.whole[owned]) {
                        (true, _) => multiply(&mut common, &needs.lengths[b]),
                        (false, true) => multiply(&mut common, &has.lengths[a]),
                        (false, false) => multiply(&mut common, &overlaps(has, a, needs, b)),
                    }
                }
                Along::Gaps { left: has, owned: needs, .. } => {
                    let of_chunk = |pattern: usize| {
                        let first = pattern * n_ranks + number * CHUNK;
                        first..(first + CHUNK).min((pattern + 1) * n_ranks)
                    };
                    for (common, (has, needs)) in
                        common.iter_mut().zip(has[of_chunk(left)].iter().zip(&needs[of_chunk(owned)]))
                    {
                        *common *= has.n_within(*needs) as f64;
                    }
                }
            }
        }
        common
    }

    /// Number of elements that one rank both has and needs.
    fn common_of(&self, has: &Held, needs: &Held, rank: usize, n_ranks: usize) -> f64 {
        let mut common = 1.0;
        for (axis, (left, owned)) in self.axes.iter().zip(has.patterns.iter().zip(&needs.patterns)) {
            let (left, owned) = (*left as usize, *owned as usize);
            common *= match axis {
                Along::Intervals([has, needs]) => {
                    let (number, lane) = (rank / CHUNK, rank % CHUNK);
                    let (a, b) = (has.at(left, number), needs.at(owned, number));
                    let begin = f64::max(has.begins[a][lane], needs.begins[b][lane]);
                    let end = f64::min(has.ends[a][lane], needs.ends[b][lane]);
                    f64::max(end - begin, 0.0)
                }
                Along::Gaps { left: has, owned: needs, .. } => {
                    has[left * n_ranks + rank].n_within(needs[owned * n_ranks + rank]) as f64
                }
            };
            if common == 0.0 {
                break;
            }
        }
        common
    }

    /// Number of elements that each rank of a chunk needs.
    fn needed(&self, needs: &Held, number: usize) -> Chunk {
        let mut all = [1.0; CHUNK];
        for (axis, owned) in self.axes.iter().zip(&needs.patterns) {
            let owned = *owned as usize;
            match axis {
                Along::Intervals([_, needs]) => multiply(&mut all, &needs.lengths[needs.at(owned, number)]),
                Along::Gaps { needed, n_patterns, .. } => {
                    multiply(&mut all, &needed[number * n_patterns + owned]);
                }
            }
        }
        all
    }
}

/// Elements that an operation writes on each rank, an axis for each dimension of each access.
fn written_axes<'a>(operator: &'a Operator, operand: &'a Operand) -> Vec<Axis<'a, Side>> {
    let axis = |(index, extent): (&'a Index, &'a u64)| Axis {
        dimensions: index.dimensions(),
        of: Box::new(move |parts: &[Part]| {
            let part = |dimension| parts.iter().find(|part| part.dimension == dimension);
            let bounds = |dimension: usize| {
                let n = operator.domain[dimension];
                part(dimension).map_or((0, n), |part| part.bounds(n))
            };
            index.side(*extent, bounds, i64::MAX)
        }),
    };
    operand.accesses.iter().flat_map(|access| access.iter().zip(&operand.extents)).map(axis).collect()
}

/// Elements that each rank owns for an operation that reads them, an axis for each dimension of the container.
fn owned_axes<'a>(operator: &'a Operator, operand: &'a Operand) -> Vec<Axis<'a, Side>> {
    let axis = |dimension: usize| Axis {
        dimensions: operand.lead(operator, dimension).map(|(leading, ..)| leading).into_iter().collect(),
        of: Box::new(move |parts: &[Part]| operand.owned_side(operator, dimension, parts.first().copied())),
    };
    (0..operand.extents.len()).map(axis).collect()
}

/// Lets every rank hold a container that no rank has a part of: ranks without iterations hold it, too.
fn hold_whole_everywhere(holding: &mut Holding<Side>, operand: &Operand, n_ranks: u32) {
    let all = operand.all();
    let Holding { held, axes, .. } = holding;
    for held in held {
        let mut patterns = axes.iter().zip(&held.patterns).zip(&all);
        let is_whole = |((axis, pattern), all): ((&Patterns<Side>, &u32), &Side)| {
            axis.of_ranks[*pattern as usize].iter().all(|value| axis.values[*value as usize] == *all)
        };
        if patterns.all(is_whole) {
            held.n_ranks = n_ranks;
        }
    }
}

fn multiply(product: &mut Chunk, factors: &Chunk) {
    product.iter_mut().zip(factors).for_each(|(product, factor)| *product *= factor);
}

/// Lengths of what intervals have in common.
fn overlaps(left: &Intervals, a: usize, owned: &Intervals, b: usize) -> Chunk {
    let (begins, ends) = ((&left.begins[a], &owned.begins[b]), (&left.ends[a], &owned.ends[b]));
    std::array::from_fn(|lane| {
        let begin = if begins.0[lane] > begins.1[lane] { begins.0[lane] } else { begins.1[lane] };
        let end = if ends.0[lane] < ends.1[lane] { ends.0[lane] } else { ends.1[lane] };
        let length = end - begin;
        if length > 0.0 { length } else { 0.0 }
    })
}

/// Numbers of ranks for each chunk and pattern, given the number of each value that ranks have.
fn in_chunks(of_ranks: &[Vec<u32>], numbers: &[f64]) -> Vec<Chunk> {
    let n_patterns = of_ranks.len();
    let n_chunks = of_ranks.first().map_or(0, |ranks| ranks.len().div_ceil(CHUNK));
    let mut found = vec![[0.0; CHUNK]; n_chunks * n_patterns];
    for (pattern, ranks) in of_ranks.iter().enumerate() {
        for (number, values) in ranks.chunks(CHUNK).enumerate() {
            for (lane, value) in found[number * n_patterns + pattern].iter_mut().zip(values) {
                *lane = numbers[*value as usize];
            }
        }
    }
    found
}

/// Number of elements that the source leaves for the target.
fn n_elements(written: &[Sides], read: &[Sides], later: &[Sides]) -> u64 {
    let boxes: Vec<&Sides> = written.iter().chain(read).chain(later).collect();
    count(&boxes, |set| is_left(set, written.len(), read.len()))
}

/// Whether an element flows that is in this set of boxes, of which the first are written, the next read, and all others written later.
fn is_left(set: u128, n_written: usize, n_read: usize) -> bool {
    any(set, 0, n_written) && any(set, n_written, n_read) && set >> (n_written + n_read) == 0
}

/// Number of elements that are in an owned part, written, read, not left on the rank, and not written later.
fn n_fetched(owned: &Sides, written: &[Sides], read: &[Sides], left: &[Sides], later: &[Sides]) -> u64 {
    let others = written.iter().chain(read).chain(left).chain(later);
    let boxes: Vec<&Sides> = std::iter::once(owned).chain(others).collect();
    let n_others = 1 + written.len() + read.len();
    count(&boxes, |set| {
        let is_there =
            any(set, 0, 1) && any(set, 1, written.len()) && any(set, 1 + written.len(), read.len());
        is_there && (n_others >= BOXES || set >> n_others == 0)
    })
}

/// Whether one of `n` bits from `first` on is set.
fn any(set: u128, first: usize, n: usize) -> bool {
    (first..first + n).any(|bit| set >> bit & 1 == 1)
}

/// The elements in disjoint boxes, if these are few.
fn in_boxes(
    [written, read, later]: [&[Sides]; 3],
    left: &Holding<Side>,
    owned: &Holding<Side>,
    n_ranks: usize,
) -> Option<CountingMethod> {
    /// Boxes that are rather more than boxes with gaps.
    const FEW: usize = 16;
    let boxes: Vec<&Sides> = written.iter().chain(read).chain(later).collect();
    let boxes = pieces(&boxes, |set| is_left(set, written.len(), read.len()))?;
    let boxes = intervals(boxes.clone()).filter(|split| split.len() <= FEW).unwrap_or(boxes);
    let along = |(axis, side): (usize, &Side)| {
        let (left, owned) = (&left.axes[axis], &owned.axes[axis]);
        if let Some(within) = side.as_interval()
            && let (Some(left), Some(owned)) = (clipped(left, within), clipped(owned, within))
        {
            return Some(Along::Intervals([left, owned]));
        }
        let of_values: Vec<(i64, i64)> = owned.values.iter().map(Side::as_interval).collect::<Option<_>>()?;
        let needed: Vec<f64> = of_values.iter().map(|one| side.n_within(*one) as f64).collect();
        let common = |value: &u32| left.values[*value as usize].common(side);
        Some(Along::Gaps {
            left: left.of_ranks.iter().flatten().map(common).collect(),
            owned: owned.of_ranks.iter().flatten().map(|value| of_values[*value as usize]).collect(),
            needed: in_chunks(&owned.of_ranks, &needed),
            n_patterns: owned.of_ranks.len(),
        })
    };
    let piece =
        |sides: &Sides| Some(Piece { axes: sides.iter().enumerate().map(along).collect::<Option<_>>()? });
    let pieces: Vec<Piece> = boxes.iter().map(piece).collect::<Option<_>>()?;
    let wanted = Wanted::of(&pieces, &owned.held, n_ranks);
    Some(CountingMethod::Boxes { pieces, wanted, n_ranks })
}

/// Part of an interval that each rank has in each pattern, if that is an interval everywhere.
fn clipped(patterns: &Patterns<Side>, (first, last): (i64, i64)) -> Option<Intervals> {
    let within = |side: &Side| {
        let (begin, end) = side.as_interval()?;
        let begin = begin.clamp(first, last);
        Some((begin, end.clamp(begin, last)))
    };
    let clipped: Vec<(i64, i64)> = patterns.values.iter().map(within).collect::<Option<_>>()?;
    let numbers = |of: fn(&(i64, i64)) -> i64| {
        let numbers: Vec<f64> = clipped.iter().map(|one| of(one) as f64).collect();
        in_chunks(&patterns.of_ranks, &numbers)
    };
    let is_whole = |ranks: &Vec<u32>| ranks.iter().all(|value| clipped[*value as usize] == (first, last));
    Some(Intervals {
        begins: numbers(|(begin, _)| *begin),
        ends: numbers(|(_, end)| *end),
        lengths: numbers(|(begin, end)| end - begin),
        whole: patterns.of_ranks.iter().map(is_whole).collect(),
    })
}
