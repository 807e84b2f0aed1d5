//! Element sets: boxes whose sides are sets of integers, and the number of elements in a union or difference
//! of boxes.
//!
//! Counting is exact for any boxes. Along each dimension, it distinguishes integers only by the boxes whose
//! sides contain them.

use std::collections::{BTreeMap, BTreeSet};

/// Intervals that a side may have; more of them become the one interval around all.
const INTERVALS: u64 = 1 << 16;

/// Maximum number of distinguishable boxes.
pub(super) const BOXES: usize = 128;

/// Integers along one dimension, as disjoint, ascending, half-open intervals that do not touch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Side(Vec<(i64, i64)>);

impl Side {
    /// From `begin` to before `end`.
    pub(super) fn interval(begin: i64, end: i64) -> Self {
        Side(if begin < end { vec![(begin, end)] } else { Vec::new() })
    }

    /// All `start + s1 k1 + s2 k2 + ..` with `0 <= ki < ni`, of strides and numbers `(si, ni)`.
    pub(super) fn progression(start: i64, strides: &[(i64, u64)]) -> Self {
        if strides.iter().any(|(_, n)| *n == 0) {
            return Side(Vec::new());
        }
        let mut steps: Vec<(i64, i64)> = strides.iter().map(|(stride, n)| (*stride, *n as i64 - 1)).collect();
        // Small strides first: they make intervals that larger ones widen.
        steps.sort_by_key(|(stride, _)| stride.unsigned_abs());
        let mut intervals = vec![(start, start + 1)];
        for (stride, last) in steps {
            let (first, stride) = if stride < 0 { (stride * last, -stride) } else { (0, stride) };
            let whole = (intervals[0].0 + first, intervals[intervals.len() - 1].1 + first + stride * last);
            let is_dense = intervals.len() == 1 && intervals[0].1 - intervals[0].0 >= stride;
            let n = (last as u64).saturating_add(1).saturating_mul(intervals.len() as u64);
            if is_dense || n > INTERVALS {
                intervals = vec![whole];
                continue;
            }
            let shifts = (0..=last).map(|k| first + stride * k);
            let all: Vec<(i64, i64)> =
                shifts.flat_map(|shift| intervals.iter().map(move |(b, e)| (b + shift, e + shift))).collect();
            intervals = Side::union(all).0;
        }
        Side(intervals)
    }

    /// Union of intervals.
    fn union(mut intervals: Vec<(i64, i64)>) -> Self {
        intervals.sort_unstable();
        intervals.dedup_by(|next, before| {
            let touches = next.0 <= before.1;
            before.1 = if touches { before.1.max(next.1) } else { before.1 };
            touches
        });
        Side(intervals)
    }

    /// Begin and end, if it is one interval or empty.
    pub(super) fn as_interval(&self) -> Option<(i64, i64)> {
        match *self.0.as_slice() {
            [] => Some((0, 0)),
            [only] => Some(only),
            _ => None,
        }
    }

    /// Its intervals.
    fn intervals(&self) -> impl Iterator<Item = Side> + Clone + '_ {
        self.0.iter().map(|interval| Side(vec![*interval]))
    }

    /// Its integers from the first to before the second number.
    pub(super) fn within(&self, (first, last): (i64, i64)) -> Side {
        let clipped = self.0.iter().map(|(begin, end)| ((*begin).max(first), (*end).min(last)));
        Side(clipped.filter(|(begin, end)| begin < end).collect())
    }

    /// The integers that are in both.
    pub(super) fn common(&self, other: &Side) -> Side {
        Side::union(self.0.iter().flat_map(|interval| other.within(*interval).0).collect())
    }

    /// Number of integers from the first to before the second number.
    pub(super) fn n_within(&self, (first, last): (i64, i64)) -> u64 {
        let from = self.0.partition_point(|(_, end)| *end <= first);
        let reached = self.0[from..].iter().take_while(|(begin, _)| *begin < last);
        reached.map(|(begin, end)| (*end.min(&last) - *begin.max(&first)).max(0) as u64).sum()
    }

    /// Number of integers.
    pub(super) fn len(&self) -> u64 {
        self.0.iter().map(|(begin, end)| (end - begin) as u64).sum()
    }

    /// Number of integers in both.
    pub(super) fn n_common(&self, other: &Side) -> u64 {
        let (mut common, mut rest) = (0, other.0.as_slice());
        for (begin, end) in &self.0 {
            while let Some(((other_begin, other_end), behind)) = rest.split_first() {
                common += (end.min(other_end) - begin.max(other_begin)).max(0) as u64;
                if other_end > end {
                    break;
                }
                rest = behind;
            }
        }
        common
    }

    /// The first integer, and the one behind the last; nothing if there is none.
    pub(super) fn bounds(&self) -> Option<(i64, i64)> {
        Some((self.0.first()?.0, self.0.last()?.1))
    }

    /// Those from 0 to before `extent`.
    pub(super) fn below(mut self, extent: i64) -> Self {
        self.0.retain_mut(|(begin, end)| {
            (*begin, *end) = ((*begin).max(0), (*end).min(extent));
            begin < end
        });
        self
    }
}

/// A product of sides, one for each dimension.
pub(super) type Sides = Vec<Side>;

/// Number of elements with a wanted set of boxes; bit `i` of a set stands for box `i`.
///
/// Elements outside of all boxes never count. All boxes have as many dimensions, at most [`BOXES`] are told apart.
pub(super) fn count(boxes: &[&Sides], wanted: impl Fn(u128) -> bool) -> u64 {
    let Some(first) = boxes.first() else { return 0 };
    let all = u128::MAX >> (BOXES - boxes.len());
    let mut elements = BTreeMap::from([(all, 1_u64)]);
    for dimension in 0..first.len() {
        let sides: Vec<&Side> = boxes.iter().map(|sides| &sides[dimension]).collect();
        let along = classes(&sides);
        let mut product = BTreeMap::new();
        for (set, n) in &elements {
            for (other, m) in along.iter().filter(|(other, _)| set & **other != 0) {
                *product.entry(set & other).or_insert(0) += n * m;
            }
        }
        elements = product;
    }
    elements.into_iter().filter(|(set, _)| wanted(*set)).map(|(_, n)| n).sum()
}

/// Sets of boxes, and boxes that make up their difference, that are looked at before [`pieces`] gives up.
const PIECES: usize = 256;

/// The elements whose set of boxes is wanted, as disjoint boxes; nothing if these would be many. Bit `i` of a set stands for box `i`.
pub(super) fn pieces(boxes: &[&Sides], wanted: impl Fn(u128) -> bool) -> Option<Vec<Sides>> {
    let Some(first) = boxes.first() else { return Some(Vec::new()) };
    let all = u128::MAX >> (BOXES - boxes.len());
    let along: Vec<BTreeMap<u128, Side>> = (0..first.len())
        .map(|dimension| parts(&boxes.iter().map(|sides| &sides[dimension]).collect::<Vec<_>>()))
        .collect();
    // The sets that the dimensions so far leave.
    let mut levels = vec![BTreeSet::from([all])];
    for parts in &along {
        let before = &levels[levels.len() - 1];
        let next: BTreeSet<u128> = before
            .iter()
            .flat_map(|set| parts.keys().map(move |other| set & other))
            .filter(|set| *set != 0)
            .take(PIECES * PIECES)
            .collect();
        if next.len() > PIECES {
            return None;
        }
        levels.push(next);
    }
    // What each of them needs of the other dimensions; parts that need the same belong together.
    let mut needed: BTreeMap<u128, Vec<Sides>> = levels
        .pop()?
        .into_iter()
        .map(|set| (set, if wanted(set) { vec![Vec::new()] } else { Vec::new() }))
        .collect();
    for (parts, sets) in along.iter().zip(&levels).rev() {
        let mut before = BTreeMap::new();
        for set in sets {
            let mut groups: BTreeMap<&[Sides], Vec<(i64, i64)>> = BTreeMap::new();
            for (other, side) in parts {
                if let Some(rest) = needed.get(&(set & other)).filter(|rest| !rest.is_empty()) {
                    groups.entry(rest).or_default().extend(&side.0);
                }
            }
            let mut found = Vec::new();
            for (rest, intervals) in groups {
                let side = Side::union(intervals);
                let before = |rest: &Sides| std::iter::once(&side).chain(rest).cloned().collect::<Sides>();
                found.extend(rest.iter().map(before));
            }
            if found.len() > PIECES {
                return None;
            }
            before.insert(*set, found);
        }
        needed = before;
    }
    needed.remove(&all)
}

/// The same elements as disjoint products of intervals; nothing if these would be many.
pub(super) fn intervals(boxes: Vec<Sides>) -> Option<Vec<Sides>> {
    let mut split = Vec::new();
    for sides in boxes {
        let mut products = vec![Vec::new()];
        for side in &sides {
            let longer = |product: &Sides| {
                let product = product.clone();
                side.intervals().map(move |one| product.iter().cloned().chain([one]).collect::<Sides>())
            };
            products = products.iter().flat_map(longer).take(PIECES + 1).collect();
        }
        split.extend(products);
        if split.len() > PIECES {
            return None;
        }
    }
    Some(split)
}

/// The integers that are in exactly the same sides, for each set of sides.
fn parts(sides: &[&Side]) -> BTreeMap<u128, Side> {
    let mut switches: Vec<(i64, usize)> = Vec::new();
    for (side, Side(intervals)) in sides.iter().enumerate() {
        switches.extend(intervals.iter().flat_map(|(begin, end)| [(*begin, side), (*end, side)]));
    }
    switches.sort_unstable();
    let (mut parts, mut set, mut at) = (BTreeMap::<u128, Vec<(i64, i64)>>::new(), 0_u128, i64::MIN);
    for (place, side) in switches {
        if set != 0 && place > at {
            parts.entry(set).or_default().push((at, place));
        }
        (set, at) = (set ^ (1 << side), place);
    }
    parts.into_iter().map(|(set, intervals)| (set, Side::union(intervals))).collect()
}

/// Number of integers in exactly the same sides, for each set of sides.
fn classes(sides: &[&Side]) -> BTreeMap<u128, u64> {
    // Where an interval begins or ends, its side is switched on or off.
    let mut switches: Vec<(i64, usize)> = Vec::new();
    for (side, Side(intervals)) in sides.iter().enumerate() {
        switches.extend(intervals.iter().flat_map(|(begin, end)| [(*begin, side), (*end, side)]));
    }
    switches.sort_unstable();
    let (mut classes, mut set, mut at) = (BTreeMap::new(), 0_u128, i64::MIN);
    for (place, side) in switches {
        if set != 0 && place > at {
            *classes.entry(set).or_insert(0) += (place - at) as u64;
        }
        (set, at) = (set ^ (1 << side), place);
    }
    classes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Steps = (i64, Vec<(i64, u64)>);

    fn members((start, strides): &Steps) -> BTreeSet<i64> {
        strides.iter().fold(BTreeSet::from([*start]), |set, (stride, n)| {
            set.iter().flat_map(|x| (0..*n as i64).map(move |k| x + stride * k)).collect()
        })
    }

    fn steps() -> impl Strategy<Value = Steps> {
        (-5_i64..6, prop::collection::vec((-4_i64..5, 0_u64..5), 0..3))
    }

    proptest! {
        #[test]
        fn elements_are_counted_as_one_by_one(
            boxes in prop::collection::vec(prop::collection::vec(steps(), 2), 1..4),
            wanted in 1_u128..8,
        ) {
            let sides: Vec<Sides> = boxes
                .iter()
                .map(|one| one.iter().map(|(start, strides)| Side::progression(*start, strides)).collect())
                .collect();
            let mut expected = 0;
            for x in -40..40 {
                for y in -40..40 {
                    let set = boxes.iter().enumerate().fold(0, |set, (bit, one)| {
                        let inside = members(&one[0]).contains(&x) && members(&one[1]).contains(&y);
                        set | u128::from(inside) << bit
                    });
                    expected += u64::from(set == wanted);
                }
            }
            let all: Vec<&Sides> = sides.iter().collect();
            prop_assert_eq!(count(&all, |set| set == wanted), expected);
            // Pieces are disjoint, and are what is wanted.
            let pieces = pieces(&all, |set| set == wanted).expect("few");
            let volume = |sides: &Sides| sides.iter().map(Side::len).product::<u64>();
            prop_assert_eq!(pieces.iter().map(volume).sum::<u64>(), expected);
            let n = all.len();
            let with: Vec<&Sides> = all.iter().copied().chain(&pieces).collect();
            prop_assert_eq!(count(&with, |set| set & ((1 << n) - 1) == wanted && set >> n != 0), expected);
            let split = intervals(pieces).expect("few");
            prop_assert!(split.iter().flatten().all(|side| side.0.len() == 1));
            prop_assert_eq!(split.iter().map(volume).sum::<u64>(), expected);
            // So are integers that two sides have in common.
            let common: BTreeSet<i64> = members(&boxes[0][0]).intersection(&members(&boxes[0][1])).copied().collect();
            prop_assert_eq!(sides[0][0].n_common(&sides[0][1]), common.len() as u64);
            prop_assert_eq!(sides[0][0].common(&sides[0][1]).len(), common.len() as u64);
            let inside = common.iter().filter(|x| (-3..7).contains(*x)).count() as u64;
            prop_assert_eq!(sides[0][0].common(&sides[0][1]).n_within((-3, 7)), inside);
        }
    }
}
