//! The bytes that ranks receive in a move, from its description alone.
//!
//! Owners partition the elements of a container, and so do those who compute the results of a combination. A rank receives once
//! each element that it needs and does not have, so no pairs of ranks are compared. The library of communication finds the same
//! messages pair by pair; tests compare its counters with these numbers.

use std::ops::Range;

use super::words::{Move, Side};

/// Elements of moved dimensions: a product of intervals, none of them empty.
type Box = Vec<Range<i64>>;

/// The most bytes of the values of all ranks in a combination that all ranks compute (`GATHERED_BYTES` of the library).
const GATHERED_BYTES: i64 = 4096;

impl Move {
    /// Bytes that each of so many ranks receives in a move.
    pub fn moved_bytes(&self, ranks: usize) -> Vec<u64> {
        self.each_rank(ranks, |rank| {
            let Some(needed) = self.held(&self.target, rank, self.flags.is_target_everywhere) else {
                return 0;
            };
            count(&needed) - common(&needed, self.supplied(rank).as_ref())
        })
    }

    /// Bytes that each of so many ranks receives in a combination: values that it combines, and results of others.
    pub fn combined_bytes(&self, ranks: usize) -> Vec<u64> {
        if let Some(each) = self.gathered(ranks) {
            return self.each_rank(ranks, |_| each * (ranks as i64 - 1));
        }
        self.each_rank(ranks, |rank| {
            let computed = self.computed(rank, ranks);
            let values = computed
                .as_ref()
                .map_or(0, |needed| count(needed) - common(needed, self.supplied(rank).as_ref()));
            let results = self.held(&self.target, rank, self.flags.is_target_everywhere);
            let results = results.map_or(0, |mut needed| {
                let one = |(is_followed, range): (bool, &mut Range<i64>)| {
                    if !is_followed {
                        *range = 0..1;
                    }
                };
                self.is_followed().zip(&mut needed).for_each(one);
                count(&needed) - common(&needed, computed.as_ref())
            });
            values + results
        })
    }

    fn each_rank(&self, ranks: usize, elements: impl Fn(usize) -> i64) -> Vec<u64> {
        let bytes = |elements: i64| u64::try_from(elements.saturating_mul(self.element_bytes())).unwrap_or(0);
        (0..ranks).map(|rank| bytes(elements(rank))).collect()
    }

    /// For each moved dimension, whether the target follows it. Others are combined.
    fn is_followed(&self) -> impl Iterator<Item = bool> {
        let follows = |at: usize| self.target.dimensions.iter().any(|each| each.elements.moved == Some(at));
        (0..self.extents.len()).map(follows)
    }

    /// What a rank supplies itself with: the elements of the source that it owns, or has current copies of.
    fn supplied(&self, rank: usize) -> Option<Box> {
        let are_all_current = self.flags.are_source_replicas_current || self.flags.is_source_everywhere;
        if are_all_current { self.own_of_source(rank) } else { self.owned(rank) }
    }

    /// What a rank owns of the source.
    fn owned(&self, rank: usize) -> Option<Box> {
        let is_owner = match self.flags.is_source_everywhere {
            true => rank == 0,
            false => self.source.replica(rank).is_some_and(|(number, _)| number == 0),
        };
        self.own_of_source(rank).filter(|_| is_owner)
    }

    /// The part of the source that a rank has, as the owner or as a replica.
    fn own_of_source(&self, rank: usize) -> Option<Box> {
        self.moved_in(&self.source, &self.source.own(rank, self.flags.is_source_everywhere)?)
    }

    /// What a rank holds of a side, with halos.
    fn held(&self, side: &Side, rank: usize, is_everywhere: bool) -> Option<Box> {
        self.moved_in(side, &side.held(rank, is_everywhere)?)
    }

    /// What a rank computes in a combination: a share of the part that it and its replicas have, with all values that are combined.
    /// The share is cut along the first dimension that is long enough, else along the longest one.
    fn computed(&self, rank: usize, ranks: usize) -> Option<Box> {
        let is_everywhere = self.flags.is_target_everywhere;
        let (number, replicas) = match is_everywhere {
            true => (rank as i64, ranks as i64),
            false => self.target.replica(rank)?,
        };
        let mut share = self.moved_in(&self.target, &self.target.own(rank, is_everywhere)?)?;
        if replicas == 1 {
            return Some(share);
        }
        let length = |range: &Range<i64>| range.end - range.start;
        let followed: Vec<usize> = self
            .is_followed()
            .enumerate()
            .filter_map(|(at, is_followed)| is_followed.then_some(at))
            .collect();
        let long = followed.iter().copied().find(|at| length(&share[*at]) >= replicas);
        let longest = || followed.iter().copied().rev().max_by_key(|at| length(&share[*at]));
        let Some(cut) = long.or_else(longest) else { return (number == 0).then_some(share) };
        let (low, n) = (share[cut].start, length(&share[cut]));
        let (each, rest) = (n / replicas, n % replicas);
        let start = low + each * number + number.min(rest);
        share[cut] = start..start + each + i64::from(number < rest);
        (length(&share[cut]) > 0).then_some(share)
    }

    /// The number of elements that every rank contributes if all ranks receive all values, which takes one step.
    fn gathered(&self, ranks: usize) -> Option<i64> {
        if !self.flags.is_target_everywhere || ranks == 1 {
            return None;
        }
        let most = GATHERED_BYTES / i64::try_from(ranks).ok()? / self.element_bytes();
        let mut each = None;
        for rank in 0..ranks {
            let elements = count(&self.owned(rank)?);
            if elements > most || each.is_some_and(|each| each != elements) {
                return None;
            }
            each = Some(elements);
        }
        each
    }

    /// The moved elements that lie in a box of a side. Dimensions that the side does not follow are whole.
    fn moved_in(&self, side: &Side, part: &[Range<i64>]) -> Option<Box> {
        let mut moved: Box = self.extents.iter().map(|extent| 0..*extent).collect();
        for (dimension, part) in side.dimensions.iter().zip(part) {
            let (begin, step) = (dimension.elements.begin, dimension.elements.step);
            let Some(at) = dimension.elements.moved else {
                if !part.contains(&begin) {
                    return None;
                }
                continue;
            };
            // The least m with `start <= begin + step m`, and the first one behind it with `begin + step m >= end`.
            let (low, high) = match step > 0 {
                true => (-(begin - part.start).div_euclid(step), -(begin - part.end).div_euclid(step)),
                false => {
                    ((begin - part.end).div_euclid(-step) + 1, (begin - part.start).div_euclid(-step) + 1)
                }
            };
            let range = moved.get_mut(at)?;
            *range = range.start.max(low)..range.end.min(high);
        }
        moved.iter().all(|range| range.start < range.end).then_some(moved)
    }
}

/// Number of elements of a box.
fn count(elements: &Box) -> i64 {
    elements.iter().map(|range| range.end - range.start).fold(1, i64::saturating_mul)
}

/// Number of elements that two boxes share.
fn common(one: &Box, other: Option<&Box>) -> i64 {
    let Some(other) = other else { return 0 };
    let both = one.iter().zip(other).map(|(a, b)| a.start.max(b.start)..a.end.min(b.end));
    both.map(|range| (range.end - range.start).max(0)).product()
}
