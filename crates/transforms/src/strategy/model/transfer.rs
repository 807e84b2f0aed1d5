//! Traffic of an edge: bytes that each rank fetches to go from the layout that one operation leaves to the
//! layout that another one needs.
//!
//! The data that the source leaves for the target is divided into disjoint boxes. From each box, a rank
//! fetches the elements of its owned part that the source did not leave on it: a difference of two products of
//! overlaps along the axes. All ranks are computed side by side. Where the source left more than one box on a
//! rank, elements are distinguished box by box.

use std::ops::Range;

use super::binding::Storage;
use super::elements::{BOXES, Side, Sides, count, intervals, pieces};
use super::flow::everything;
use super::holding::{Axis, Held, Holding};
use super::operator::{Operand, Operator};
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
        wanted: Vec<f64>,
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
    Gaps { left: Vec<Side>, owned: Vec<(i64, i64)> },
}

/// For each pattern and rank an interval. Numbers of elements are exact as floating-point numbers, which processors compare
/// side by side.
#[derive(Debug)]
struct Intervals {
    begins: Vec<f64>,
    ends: Vec<f64>,
}

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
        storage: Storage,
        times: u64,
        later: Vec<Sides>,
        n_ranks: u32,
    ) -> Option<Self> {
        let ((source, from), (target, to)) = (ends.source, ends.target);
        let of = |operands: &'_ [Operand]| operands.iter().position(|one| one.storage == storage);
        let writing = &source.writes[of(&source.writes)?];
        let reading = &target.reads[of(&target.reads)?];
        let (written, read) = (everything(source, writing), everything(target, reading));
        if n_elements(&written, &read, &later) == 0 {
            return None;
        }
        let left_axes: Vec<Axis<'_, Side>> = writing
            .accesses
            .iter()
            .flat_map(|access| access.iter().zip(&writing.extents))
            .map(|(index, extent)| Axis {
                dimensions: index.dimensions(),
                of: Box::new(move |parts| {
                    let part = |dimension| parts.iter().find(|part| part.dimension == dimension);
                    let bounds = |dimension: usize| {
                        let n = source.domain[dimension];
                        part(dimension).map_or((0, n), |part| part.bounds(n))
                    };
                    index.side(*extent, bounds, i64::MAX)
                }),
            })
            .collect();
        let owned_axes: Vec<Axis<'_, Side>> = (0..reading.extents.len())
            .map(|dimension| Axis {
                dimensions: reading
                    .lead(target, dimension)
                    .map(|(leading, ..)| leading)
                    .into_iter()
                    .collect(),
                of: Box::new(move |parts| reading.owned_side(target, dimension, parts.first().copied())),
            })
            .collect();
        let left = Holding::new(from, n_ranks, &left_axes);
        let owned = Holding::new(to, n_ranks, &owned_axes);
        let way = if writing.accesses.len() == 1 {
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
                self.in_chunks(source_layout, target_layout, |chunk| {
                    most = chunk.iter().copied().fold(most, |most, n| if n > most { n } else { most });
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
            CountingMethod::Boxes { .. } => self.in_chunks(source_layout, target_layout, |chunk| {
                all.extend(chunk.iter().map(|n| self.element_bytes * *n as u64));
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

    /// Tells how many elements ranks fetch, some ranks at a time, in order.
    fn in_chunks(&self, source_layout: usize, target_layout: usize, mut tell: impl FnMut(&[f64])) {
        /// Ranks that are computed side by side.
        const RANKS: usize = 16;
        let CountingMethod::Boxes { pieces, wanted, n_ranks } = &self.way else { return };
        let (has, needs) = (&self.left[source_layout], &self.owned[target_layout]);
        let (has_something, needs_something) = (has.n_ranks as usize, needs.n_ranks as usize);
        let wanted = &wanted[target_layout * n_ranks..][..needs_something];
        let mut fetched = [0.0_f64; RANKS];
        for (number, wanted) in wanted.chunks(RANKS).enumerate() {
            let first = number * RANKS;
            let n = wanted.len();
            fetched[..n].copy_from_slice(wanted);
            let n_had = has_something.saturating_sub(first).min(n);
            for piece in pieces {
                let mut common = [1.0_f64; RANKS];
                for (axis, (left, owned)) in piece.axes.iter().zip(has.patterns.iter().zip(&needs.patterns)) {
                    let at = |pattern: u32| {
                        let place = pattern as usize * n_ranks + first;
                        place..place + n_had
                    };
                    let (a, b) = (at(*left), at(*owned));
                    match axis {
                        Along::Intervals(ends) => multiply(&mut common, ends, a, b),
                        Along::Gaps { left, owned } => {
                            for (common, (left, owned)) in
                                common.iter_mut().zip(left[a].iter().zip(&owned[b]))
                            {
                                *common *= left.n_within(*owned) as f64;
                            }
                        }
                    }
                }
                for (fetched, common) in fetched.iter_mut().zip(&common[..n_had]) {
                    *fetched -= common;
                }
            }
            tell(&fetched[..n]);
        }
    }
}

/// Multiplies by the overlaps of intervals of the ranks at these places.
fn multiply(common: &mut [f64], [left, owned]: &[Intervals; 2], a: Range<usize>, b: Range<usize>) {
    let begins = left.begins[a.clone()].iter().zip(&owned.begins[b.clone()]);
    let ends = left.ends[a].iter().zip(&owned.ends[b]);
    for (common, ((b0, b1), (e0, e1))) in common.iter_mut().zip(begins.zip(ends)) {
        let begin = if b0 > b1 { b0 } else { b1 };
        let end = if e0 < e1 { e0 } else { e1 };
        let length = end - begin;
        *common *= if length > 0.0 { length } else { 0.0 };
    }
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
    let mut wanted = vec![0.0; owned.held.len() * n_ranks];
    let owned_interval =
        |axis: usize, pattern: u32, rank: usize| owned.patterns[axis][pattern as usize][rank].as_interval();
    for (held, wanted) in owned.held.iter().zip(wanted.chunks_exact_mut(n_ranks)) {
        for (rank, wanted) in wanted.iter_mut().enumerate() {
            for sides in &boxes {
                let mut n = 1.0;
                for (axis, (side, pattern)) in sides.iter().zip(&held.patterns).enumerate() {
                    n *= side.n_within(owned_interval(axis, *pattern, rank)?) as f64;
                }
                *wanted += n;
            }
        }
    }
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
        })
    };
    let piece =
        |sides: &Sides| Some(Piece { axes: sides.iter().enumerate().map(along).collect::<Option<_>>()? });
    Some(CountingMethod::Boxes { pieces: boxes.iter().map(piece).collect::<Option<_>>()?, wanted, n_ranks })
}

/// Part of an interval that each rank has in each pattern, if that is an interval everywhere.
fn clipped(patterns: &[Vec<Side>], (first, last): (i64, i64)) -> Option<Intervals> {
    let mut found = Intervals { begins: Vec::new(), ends: Vec::new() };
    for side in patterns.iter().flatten() {
        let (begin, end) = side.as_interval()?;
        let begin = begin.clamp(first, last);
        found.begins.push(begin as f64);
        found.ends.push(end.clamp(begin, last) as f64);
    }
    Some(found)
}
