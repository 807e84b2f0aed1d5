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
use super::holding::{Axis, Held, Holding, Part};
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
    Boxes {
        pieces: Vec<Piece>,
        /// For each layout of the target and each rank, how many elements in its owned part the source leaves for the target.
        wanted: Vec<Chunk>,
        /// The largest number of each chunk.
        most_wanted: Vec<f64>,
        n_ranks: usize,
    },
    /// In any boxes.
    Sets {
        /// Everything that the source writes, that the target reads, and that was written in between.
        written: Vec<Sides>,
        read: Vec<Sides>,
        later: Vec<Sides>,
        /// For each access of the source, dimension, and pattern, what each rank has.
        left: Vec<Vec<Vec<Side>>>,
        /// For each dimension and pattern the owned part of each rank.
        owned: Vec<Vec<Vec<Side>>>,
    },
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
        /// Numbers of elements of the box in owned parts.
        needed: Vec<Chunk>,
    },
}

/// For each pattern and rank an interval of a box along an axis.
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
        let way = way.unwrap_or(CountingMethod::Sets {
            written,
            read,
            later,
            left: left.patterns,
            owned: owned.patterns,
        });
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

    /// Bytes that the rank fetches that fetches most.
    pub(super) fn most_fetched(&self, source_layout: usize, target_layout: usize) -> u64 {
        match &self.way {
            CountingMethod::Boxes { .. } => {
                let mut most = 0.0_f64;
                // A rank fetches at most what it wants, so that the first ranks often decide.
                self.each_chunk(source_layout, target_layout, |chunk| {
                    most = chunk.iter().copied().fold(most, |most, n| if n > most { n } else { most });
                    most
                });
                // Numbers of elements are whole.
                self.element_bytes * most as u64
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
            CountingMethod::Boxes { .. } => self.each_chunk(source_layout, target_layout, |chunk| {
                all.extend(chunk.iter().map(|n| self.element_bytes * *n as u64));
                f64::NEG_INFINITY
            }),
            CountingMethod::Sets { written, read, later, left, owned } => {
                let (has, needs) = (&self.left[source_layout], &self.owned[target_layout]);
                let n_axes = owned.len();
                for rank in 0..needs.n_ranks {
                    let sides = |patterns: &[Vec<Vec<Side>>], held: &[u32]| -> Sides {
                        let side = |(axis, pattern): (&Vec<Vec<Side>>, &u32)| {
                            axis[*pattern as usize][rank as usize].clone()
                        };
                        patterns.iter().zip(held).map(side).collect()
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
    /// fetch as many or fewer are left out from then on.
    fn each_chunk(&self, source_layout: usize, target_layout: usize, mut tell: impl FnMut(&[f64]) -> f64) {
        let CountingMethod::Boxes { pieces, wanted, most_wanted, n_ranks } = &self.way else { return };
        let (has, needs) = (&self.left[source_layout], &self.owned[target_layout]);
        let n_needing = needs.n_ranks as usize;
        let n_chunks = n_ranks.div_ceil(CHUNK);
        let of_layout = target_layout * n_chunks..target_layout * n_chunks + n_needing.div_ceil(CHUNK);
        let chunks = wanted[of_layout.clone()].iter().zip(&most_wanted[of_layout]);
        let mut enough = f64::NEG_INFINITY;
        for (number, (wanted, most)) in chunks.enumerate() {
            if *most <= enough {
                continue;
            }
            let first = number * CHUNK;
            let n_having = (has.n_ranks as usize).saturating_sub(first).min(CHUNK);
            let mut fetched = *wanted;
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

impl Piece {
    /// Number of elements that each rank of a chunk both has and needs.
    fn common(&self, has: &Held, needs: &Held, number: usize, n_ranks: usize) -> Chunk {
        let n_chunks = n_ranks.div_ceil(CHUNK);
        let mut common = [1.0; CHUNK];
        for (axis, (left, owned)) in self.axes.iter().zip(has.patterns.iter().zip(&needs.patterns)) {
            let (left, owned) = (*left as usize, *owned as usize);
            let at = |pattern: usize| pattern * n_chunks + number;
            match axis {
                // Most axes are not cut, by one side at least.
                Along::Intervals([has, needs]) => match (has.whole[left], needs.whole[owned]) {
                    (true, _) => multiply(&mut common, &needs.lengths[at(owned)]),
                    (false, true) => multiply(&mut common, &has.lengths[at(left)]),
                    (false, false) => multiply(&mut common, &overlaps(has, at(left), needs, at(owned))),
                },
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

    /// Number of elements that each rank of a chunk needs.
    fn needed(&self, needs: &Held, number: usize, n_chunks: usize) -> Chunk {
        let mut all = [1.0; CHUNK];
        for (axis, owned) in self.axes.iter().zip(&needs.patterns) {
            let at = *owned as usize * n_chunks + number;
            match axis {
                Along::Intervals([_, needs]) => multiply(&mut all, &needs.lengths[at]),
                Along::Gaps { needed, .. } => multiply(&mut all, &needed[at]),
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
    let Holding { held, patterns, .. } = holding;
    for held in held {
        let mut axes = patterns.iter().zip(&held.patterns).zip(&all);
        if axes.all(|((patterns, pattern), all)| patterns[*pattern as usize].iter().all(|side| side == all)) {
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

/// Numbers of ranks in chunks, for each pattern.
fn in_chunks<'s>(patterns: &'s [Vec<Side>], number: impl Fn(&'s Side) -> Option<f64>) -> Option<Vec<Chunk>> {
    let mut found = Vec::new();
    for sides in patterns.iter().flat_map(|pattern| pattern.chunks(CHUNK)) {
        let mut chunk = [0.0; CHUNK];
        for (lane, side) in chunk.iter_mut().zip(sides) {
            *lane = number(side)?;
        }
        found.push(chunk);
    }
    Some(found)
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
        let (left, owned) = (&left.patterns[axis], &owned.patterns[axis]);
        if let Some(within) = side.as_interval()
            && let (Some(left), Some(owned)) = (clipped(left, within), clipped(owned, within))
        {
            return Some(Along::Intervals([left, owned]));
        }
        let left = left.iter().flatten().map(|one| one.common(side)).collect();
        Some(Along::Gaps {
            left,
            owned: owned.iter().flatten().map(Side::as_interval).collect::<Option<_>>()?,
            needed: in_chunks(owned, |one| Some(side.n_within(one.as_interval()?) as f64))?,
        })
    };
    let piece =
        |sides: &Sides| Some(Piece { axes: sides.iter().enumerate().map(along).collect::<Option<_>>()? });
    let pieces: Vec<Piece> = boxes.iter().map(piece).collect::<Option<_>>()?;
    let n_chunks = n_ranks.div_ceil(CHUNK);
    let mut wanted = Vec::with_capacity(owned.held.len() * n_chunks);
    for held in &owned.held {
        wanted.extend((0..n_chunks).map(|number| {
            let mut all = [0.0; CHUNK];
            for piece in &pieces {
                let needed = piece.needed(held, number, n_chunks);
                all.iter_mut().zip(needed).for_each(|(all, needed)| *all += needed);
            }
            all
        }));
    }
    let most = |chunk: &Chunk| chunk.iter().copied().fold(0.0, f64::max);
    let most_wanted = wanted.iter().map(most).collect();
    Some(CountingMethod::Boxes { pieces, wanted, most_wanted, n_ranks })
}

/// Part of an interval that each rank has in each pattern, if that is an interval everywhere.
fn clipped(patterns: &[Vec<Side>], (first, last): (i64, i64)) -> Option<Intervals> {
    let within = |side: &Side| {
        let (begin, end) = side.as_interval()?;
        let begin = begin.clamp(first, last);
        Some((begin, end.clamp(begin, last)))
    };
    let length = |(begin, end): (i64, i64)| (end - begin) as f64;
    Some(Intervals {
        lengths: in_chunks(patterns, |side| within(side).map(length))?,
        begins: in_chunks(patterns, |side| Some(within(side)?.0 as f64))?,
        ends: in_chunks(patterns, |side| Some(within(side)?.1 as f64))?,
        whole: patterns
            .iter()
            .map(|sides| sides.iter().all(|side| within(side) == Some((first, last))))
            .collect(),
    })
}
