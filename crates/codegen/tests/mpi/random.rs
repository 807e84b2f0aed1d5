//! Random moves between random distributions, against brute force: every element is looked at alone.

use std::collections::BTreeMap;

use sdfg::dtype::ScalarType;
use sdfg::tasklet::{BinaryOperation, arith};
use sdfg::value::Value;
use sdfg_codegen::mpi::{Combination, Dimension, Elements, Flags, Move, Side};

/// A generator of numbers (SplitMix64).
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `low..=high`.
    fn within(&mut self, low: i64, high: i64) -> i64 {
        let width = u64::try_from(high - low + 1).unwrap();
        low + i64::try_from(self.next() % width).unwrap()
    }

    /// True once in so many times.
    fn once_in(&mut self, times: i64) -> bool {
        self.within(1, times) == 1
    }

    fn one_of<T: Clone>(&mut self, list: &[T]) -> T {
        list[usize::try_from(self.within(0, i64::try_from(list.len()).unwrap() - 1)).unwrap()].clone()
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            let other = usize::try_from(self.within(0, i64::try_from(at).unwrap())).unwrap();
            list.swap(at, other);
        }
    }
}

/// How a case and the next one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// One after the other.
    After,
    /// The next one begins before this one is finished.
    Overlapping,
    /// Their values travel in the same messages.
    Bundled,
}

/// A move with the arrays of every rank.
pub(super) struct Case {
    pub(super) next: Next,
    pub(super) is_combination: bool,
    pub(super) site: i64,
    pub(super) description: Move,
    pub(super) sources: Vec<Vec<u8>>,
    pub(super) targets: Vec<Vec<u8>>,
}

/// The state after a move: targets and counters of every rank. Of the counter of combined bytes, only the sum over the ranks is
/// known, between two bounds.
pub(super) struct Expected {
    pub(super) targets: Vec<Vec<u8>>,
    /// Bytes between pairs of ranks, except for combinations.
    pub(super) messages: BTreeMap<(usize, usize), i64>,
    pub(super) counters: Vec<[i64; 6]>,
    pub(super) combined: (i64, i64),
}

/// The local array of a rank: for each dimension the first element and the one behind the last. `None` where it holds nothing.
type Local = Option<Vec<(i64, i64)>>;

/// The coordinates of a rank; `None` if it is no process.
fn coordinates(side: &Side, everywhere: bool, rank: i64) -> Option<Vec<i64>> {
    if everywhere {
        return Some(Vec::new());
    }
    let mut all = vec![vec![]];
    for extent in &side.grid {
        all = all.iter().flat_map(|c| (0..*extent).map(|k| [&c[..], &[k]].concat())).collect();
    }
    all.get(usize::try_from(rank).unwrap()).cloned()
}

fn local(side: &Side, everywhere: bool, rank: i64, with_halos: bool) -> Local {
    let coordinates = coordinates(side, everywhere, rank)?;
    let mut ranges = Vec::new();
    for dimension in &side.dimensions {
        let part = dimension.cut.map_or(0, |cut| usize::try_from(coordinates[cut]).unwrap());
        let (start, end) = (dimension.starts[part], dimension.starts[part + 1]);
        if start >= end {
            return None;
        }
        let (before, after) = if with_halos { (dimension.before, dimension.after) } else { (0, 0) };
        ranges.push(((start - before).max(0), (end + after).min(dimension.extent)));
    }
    Some(ranges)
}

/// The place of an element in a local array, counted in elements.
fn place(local: &Local, index: &[i64]) -> Option<usize> {
    let ranges = local.as_ref()?;
    let mut at = 0;
    for ((low, high), index) in ranges.iter().zip(index) {
        if index < low || index >= high {
            return None;
        }
        at = at * (high - low) + index - low;
    }
    usize::try_from(at).ok()
}

fn elements(local: &Local) -> usize {
    let Some(ranges) = local else { return 0 };
    usize::try_from(ranges.iter().map(|(low, high)| high - low).product::<i64>()).unwrap()
}

/// The owner among the ranks that have an element.
fn owner(side: &Side, everywhere: bool, parts: &[Local], index: &[i64]) -> usize {
    let is_owner = |rank: usize| {
        let c = coordinates(side, everywhere, i64::try_from(rank).unwrap()).unwrap();
        (0..c.len()).all(|k| c[k] == 0 || side.dimensions.iter().any(|dimension| dimension.cut == Some(k)))
    };
    let mut having = (0..parts.len()).filter(|&rank| place(&parts[rank], index).is_some());
    having.find(|&rank| is_owner(rank)).unwrap()
}

/// The element of a side that index `m` of the moved dimensions stands for.
fn index_of(side: &Side, m: &[i64]) -> Vec<i64> {
    let elements = side.dimensions.iter().map(|dimension| dimension.elements);
    elements.map(|e| e.begin + e.moved.map_or(0, |moved| e.step * m[moved])).collect()
}

/// Every index of the moved dimensions; `order` says which one runs slowest.
fn indices(extents: &[i64], order: &[usize]) -> Vec<Vec<i64>> {
    let mut all = vec![vec![0; extents.len()]];
    for &k in order {
        let with = |m: &Vec<i64>, value: i64| {
            let mut m = m.clone();
            m[k] = value;
            m
        };
        all = all
            .iter()
            .flat_map(|m| (0..extents[k]).map(|value| with(m, value)).collect::<Vec<_>>())
            .collect();
    }
    all
}

/// `old = combination(old, new)`, lane by lane.
fn combine(description: &Move, old: &mut [u8], new: &[u8]) {
    let scalar = description.scalar;
    for (old, new) in old.chunks_exact_mut(scalar.size()).zip(new.chunks_exact(scalar.size())) {
        let (a, b) = (Value::read(scalar, old).unwrap(), Value::read(scalar, new).unwrap());
        let arithmetic = |operation| arith::binary(operation, a, b);
        let logical = |function: fn(bool, bool) -> bool| {
            arith::cast(Value::Bool(function(arith::is_true(a), arith::is_true(b))), scalar)
        };
        let value = match description.combination {
            Combination::Assign => b,
            Combination::Sum => arithmetic(BinaryOperation::Add),
            Combination::Product => arithmetic(BinaryOperation::Multiply),
            Combination::Min => arithmetic(BinaryOperation::Minimum),
            Combination::Max => arithmetic(BinaryOperation::Maximum),
            Combination::BitAnd => arithmetic(BinaryOperation::BitAnd),
            Combination::BitOr => arithmetic(BinaryOperation::BitOr),
            Combination::BitXor => arithmetic(BinaryOperation::BitXor),
            Combination::And => logical(|a, b| a && b),
            Combination::Or => logical(|a, b| a || b),
            Combination::Xor => logical(|a, b| a != b),
        };
        assert!(value.write(old));
    }
}

/// The value that changes no other one.
fn neutral(combination: Combination, scalar: ScalarType) -> Value {
    let cast = |number: f64| arith::cast(Value::F64(number), scalar);
    let ones = Value::read(scalar, &[255; 16]).unwrap();
    match combination {
        Combination::Product | Combination::And => arith::cast(Value::I64(1), scalar),
        // Casts saturate.
        Combination::Min if scalar == ScalarType::Bool => Value::Bool(true),
        Combination::Min => cast(f64::INFINITY),
        Combination::Max if scalar == ScalarType::Bool => Value::Bool(false),
        Combination::Max => cast(f64::NEG_INFINITY),
        Combination::BitAnd => ones,
        Combination::Assign
        | Combination::Sum
        | Combination::Or
        | Combination::Xor
        | Combination::BitOr
        | Combination::BitXor => Value::zero(scalar),
    }
}

/// Counts messages that are cut into chunks.
pub(super) fn count(messages: &BTreeMap<(usize, usize), i64>, chunk: i64, counters: &mut [[i64; 6]]) {
    for (&(giver, taker), bytes) in messages {
        let n = (bytes + chunk - 1) / chunk;
        counters[giver][0] += bytes;
        counters[taker][1] += bytes;
        counters[giver][2] += n;
        counters[taker][3] += n;
    }
}

impl Case {
    fn bytes(&self) -> usize {
        self.description.scalar.size() * usize::try_from(self.description.lanes).unwrap()
    }

    /// What each rank holds and counts after the move.
    pub(super) fn expected(&self, ranks: usize, chunk: i64) -> Expected {
        let Move { flags, source, target, extents, .. } = &self.description;
        let all: Vec<i64> = (0..i64::try_from(ranks).unwrap()).collect();
        let locals = |side: &Side, everywhere, with_halos| -> Vec<Local> {
            all.iter().map(|&rank| local(side, everywhere, rank, with_halos)).collect()
        };
        let parts = locals(source, flags.is_source_everywhere, false);
        let from = locals(source, flags.is_source_everywhere, true);
        let to = locals(target, flags.is_target_everywhere, true);
        let is_current = flags.are_source_replicas_current || flags.is_source_everywhere;
        let (size, mut targets) = (self.bytes(), self.targets.clone());
        let read = if flags.is_in_place { &self.targets } else { &self.sources };
        let mut messages: BTreeMap<(usize, usize), i64> = BTreeMap::new();
        let mut counters = vec![[0; 6]; ranks];
        let order: Vec<usize> = source.dimensions.iter().filter_map(|d| d.elements.moved).collect();
        let bytes = i64::try_from(size).unwrap();
        if self.is_combination {
            return self.expected_combination(&parts, &from, &to, &indices(extents, &order));
        }
        for m in indices(extents, &order) {
            let (source_index, target_index) = (index_of(source, &m), index_of(target, &m));
            let owner = owner(source, flags.is_source_everywhere, &parts, &source_index);
            for rank in 0..ranks {
                let Some(at) = place(&to[rank], &target_index) else { continue };
                let takes_own = rank == owner || (is_current && place(&parts[rank], &source_index).is_some());
                let giver = if takes_own { rank } else { owner };
                if giver != rank {
                    *messages.entry((giver, rank)).or_default() += bytes;
                }
                let value = place(&from[giver], &source_index).unwrap() * size;
                let value = read[giver][value..value + size].to_vec();
                combine(&self.description, &mut targets[rank][at * size..(at + 1) * size], &value);
            }
        }
        count(&messages, chunk, &mut counters);
        Expected { targets, messages, counters, combined: (0, 0) }
    }

    fn expected_combination(
        &self,
        parts: &[Local],
        from: &[Local],
        to: &[Local],
        all: &[Vec<i64>],
    ) -> Expected {
        let Move { flags, source, target, combination, scalar, .. } = &self.description;
        let (size, ranks) = (self.bytes(), parts.len());
        let bytes = i64::try_from(size).unwrap();
        let mut targets = self.targets.clone();
        let mut counters = vec![[0, 0, 0, 0, 0, 1]; ranks];
        let whole: Vec<Local> = (0..i64::try_from(ranks).unwrap())
            .map(|rank| local(target, flags.is_target_everywhere, rank, false))
            .collect();
        let mut values: BTreeMap<Vec<i64>, Vec<(usize, Vec<u8>)>> = BTreeMap::new();
        for m in all {
            let source_index = index_of(source, m);
            let owner = owner(source, flags.is_source_everywhere, parts, &source_index);
            counters[owner][4] += bytes;
            let at = place(&from[owner], &source_index).unwrap() * size;
            let value = (owner, self.sources[owner][at..at + size].to_vec());
            values.entry(index_of(target, m)).or_default().push(value);
        }
        let mut combined = (0, 0);
        for (index, mut values) in values {
            // The order of the moved dimensions within a rank stays.
            values.sort_by_key(|(owner, _)| *owner);
            let having = (0..ranks).find(|&rank| place(&whole[rank], &index).is_some()).unwrap();
            let at = place(&to[having], &index).unwrap() * size;
            let mut result = self.targets[having][at..at + size].to_vec();
            if flags.is_fresh {
                let value = neutral(*combination, *scalar).to_bytes();
                result = value[..scalar.size()].repeat(size / scalar.size());
            }
            for (_, value) in &values {
                combine(&self.description, &mut result, value);
            }
            let mut holding = 0;
            for rank in 0..ranks {
                let Some(at) = place(&to[rank], &index) else { continue };
                targets[rank][at * size..(at + 1) * size].copy_from_slice(&result);
                holding += 1;
            }
            combined.0 += (holding - 1) * bytes;
            // All values travel to all ranks, or to one, and the result to those that hold the element.
            let n_values = i64::try_from(values.len()).unwrap();
            combined.1 += (holding - 1 + n_values).max((holding - 1) * n_values) * bytes;
        }
        Expected { targets, messages: BTreeMap::new(), counters, combined }
    }

    /// Checks what the description says of local arrays.
    pub(super) fn check_sizes(&self, ranks: usize) {
        let Move { flags, source, target, .. } = &self.description;
        let sides = [(source, flags.is_source_everywhere), (target, flags.is_target_everywhere)];
        for (rank, (side, everywhere)) in (0..ranks).flat_map(|rank| sides.map(|side| (rank, side))) {
            let held = side.held(rank, everywhere);
            let held = held.map(|ranges| ranges.into_iter().map(|range| (range.start, range.end)).collect());
            assert_eq!(held, local(side, everywhere, i64::try_from(rank).unwrap(), true), "{side:?}");
        }
    }

    /// What the driver reads on a rank.
    pub(super) fn push(&self, rank: usize, file: &mut Vec<u8>) {
        let is_in_place = self.description.flags.is_in_place;
        let next = match self.next {
            Next::After => 0,
            Next::Overlapping => 1,
            Next::Bundled => 2,
        };
        for word in [next, i64::from(self.is_combination), i64::from(is_in_place)] {
            file.extend(word.to_ne_bytes());
        }
        file.extend(self.site.to_ne_bytes());
        let words: Vec<u8> = self.description.words().iter().flat_map(|word| word.to_ne_bytes()).collect();
        let source: &[u8] = if is_in_place { &[] } else { &self.sources[rank] };
        for bytes in [&words, source, &self.targets[rank]] {
            file.extend(i64::try_from(bytes.len()).unwrap().to_ne_bytes());
            file.extend(bytes);
        }
    }
}

/// A random grid with at most so many processes.
fn random_grid(random: &mut Random, ranks: i64) -> Vec<i64> {
    let (mut grid, mut left) = (Vec::new(), ranks);
    for _ in 0..random.within(0, 3) {
        let extent = random.within(1, left);
        grid.push(extent);
        left /= extent;
    }
    random.shuffle(&mut grid);
    grid
}

/// Random cuts of a dimension into so many parts.
fn random_starts(random: &mut Random, extent: i64, parts: i64) -> Vec<i64> {
    match random.within(0, 2) {
        0 => (0..=parts).map(|part| (part * ((extent + parts - 1) / parts)).min(extent)).collect(),
        1 => (0..=parts).map(|part| part * extent / parts).collect(),
        _ => {
            let mut starts: Vec<i64> = (1..parts).map(|_| random.within(0, extent)).collect();
            starts.extend([0, extent]);
            starts.sort_unstable();
            starts
        }
    }
}

/// Elements for an index of so many values (`None`: one element), and an extent that has them.
fn random_elements(random: &mut Random, moved: Option<(usize, i64)>) -> (Elements, i64) {
    let Some((moved, count)) = moved else {
        let extent = random.within(1, 4);
        return (
            Elements { begin: random.within(0, extent - 1), step: random.within(-2, 2), moved: None },
            extent,
        );
    };
    let step: i64 = random.one_of(&[1, 1, 1, 1, 2, 3, -1, -2]);
    let way = step.abs() * (count - 1).max(0);
    let (front, back) = (random.one_of(&[0, 0, 1, 3]), random.one_of(&[0, 0, 1, 2]));
    let begin = if step > 0 { front } else { front + way };
    (Elements { begin, step, moved: Some(moved) }, (front + way + back + 1).max(1))
}

/// A random container that follows these moved dimensions.
fn random_side(
    random: &mut Random,
    extents: &[i64],
    followed: &[usize],
    ranks: i64,
    everywhere: bool,
) -> Side {
    let grid = if everywhere { Vec::new() } else { random_grid(random, ranks) };
    let mut places: Vec<Option<usize>> = followed.iter().copied().map(Some).collect();
    if random.once_in(3) {
        places.push(None);
    }
    if random.once_in(2) {
        random.shuffle(&mut places);
    }
    let mut cuts: Vec<Option<usize>> = (0..grid.len()).map(Some).collect();
    cuts.resize(cuts.len().max(places.len()) + usize::from(random.once_in(2)), None);
    random.shuffle(&mut cuts);
    let mut dimensions = Vec::new();
    for (moved, cut) in places.into_iter().zip(cuts) {
        let (elements, extent) = random_elements(random, moved.map(|moved| (moved, extents[moved])));
        let starts = random_starts(random, extent, cut.map_or(1, |cut| grid[cut]));
        let mut halo = || if random.once_in(3) { random.within(1, 3) } else { 0 };
        let (before, after) = (halo(), halo());
        dimensions.push(Dimension { extent, cut, starts, before, after, elements });
    }
    Side { grid, dimensions }
}

/// Numbers that make sums and products interesting, but not infinite.
fn random_value(random: &mut Random, scalar: ScalarType) -> Value {
    let real = |random: &mut Random| match random.within(0, 40) {
        0 => Value::F64(f64::NAN),
        1 => Value::F64(-0.0),
        2 => Value::F64(0.0),
        3 => Value::F64(f64::INFINITY),
        _ => Value::F64(f64::from(i32::try_from(random.within(-4000, 4000)).unwrap()) / 1000.0),
    };
    match scalar {
        ScalarType::Bool => Value::Bool(random.once_in(2)),
        ScalarType::F16 | ScalarType::F32 | ScalarType::F64 => arith::cast(real(random), scalar),
        ScalarType::Complex64 | ScalarType::Complex128 => {
            let size = scalar.component().size();
            let parts =
                [real(random), real(random)].map(|part| arith::cast(part, scalar.component()).to_bytes());
            Value::read(scalar, &[&parts[0][..size], &parts[1][..size]].concat()).unwrap()
        }
        ScalarType::I8
        | ScalarType::I16
        | ScalarType::I32
        | ScalarType::I64
        | ScalarType::U8
        | ScalarType::U16
        | ScalarType::U32
        | ScalarType::U64 => {
            let value = if random.once_in(4) { random.within(-3, 3) } else { random.next().cast_signed() };
            arith::cast(Value::I64(value), scalar)
        }
    }
}

/// Arrays of every rank with values of their own, halos and replicas included.
fn random_arrays(
    random: &mut Random,
    description: &Move,
    side: &Side,
    everywhere: bool,
    ranks: usize,
) -> Vec<Vec<u8>> {
    let lanes = usize::try_from(description.lanes).unwrap();
    let array = |rank| {
        let n = elements(&local(side, everywhere, i64::try_from(rank).unwrap(), true)) * lanes;
        let size = description.scalar.size();
        let value =
            |random: &mut Random| random_value(random, description.scalar).to_bytes()[..size].to_vec();
        (0..n).flat_map(|_| value(random)).collect()
    };
    (0..ranks).map(array).collect()
}

/// Gives every rank that has an element the value of its owner.
fn make_current(side: &Side, everywhere: bool, arrays: &mut [Vec<u8>], size: usize) {
    let extents: Vec<i64> = side.dimensions.iter().map(|dimension| dimension.extent).collect();
    let order: Vec<usize> = (0..extents.len()).collect();
    let locals = |with_halos| -> Vec<Local> {
        let all = 0..i64::try_from(arrays.len()).unwrap();
        all.map(|rank| local(side, everywhere, rank, with_halos)).collect()
    };
    let (parts, held) = (locals(false), locals(true));
    for index in indices(&extents, &order) {
        let owner = owner(side, everywhere, &parts, &index);
        let at = place(&held[owner], &index).unwrap() * size;
        let value = arrays[owner][at..at + size].to_vec();
        for rank in 0..arrays.len() {
            if place(&parts[rank], &index).is_some() {
                let at = place(&held[rank], &index).unwrap() * size;
                arrays[rank][at..at + size].copy_from_slice(&value);
            }
        }
    }
}

/// Which combinations and types a random case has.
fn random_combination(random: &mut Random, must_combine: bool) -> (ScalarType, Combination) {
    let scalar = random.one_of(&ScalarType::ALL);
    if !must_combine && !random.once_in(3) {
        return (scalar, Combination::Assign);
    }
    let defined = Combination::ALL
        .into_iter()
        .filter(|combination| combination.is_defined(scalar) && *combination != Combination::Assign);
    (scalar, random.one_of(&defined.collect::<Vec<_>>()))
}

/// Gives every rank a partial result or a replica of one, or a part of several ones. The number of partial results.
fn cut_partial_results(
    random: &mut Random,
    source: &mut Side,
    combined: usize,
    other: Option<usize>,
    ranks: i64,
) -> i64 {
    let is_cut_elsewhere = random.once_in(3) && other.is_some();
    let replicas = if ranks % 2 == 0 && random.once_in(2) { 2 } else { 1 };
    let parts = ranks / replicas;
    let (grid, cut) = random.one_of(&[(vec![replicas, parts], 1), (vec![parts, replicas], 0)]);
    source.grid = grid;
    for dimension in &mut source.dimensions {
        dimension.cut = None;
        dimension.starts = vec![0, dimension.extent];
        if dimension.elements.moved == Some(combined) {
            let elements = Elements { begin: 0, step: 1, moved: Some(combined) };
            let cut = (!is_cut_elsewhere).then_some(cut);
            let starts = if is_cut_elsewhere { vec![0, parts] } else { (0..=parts).collect() };
            *dimension = Dimension { extent: parts, cut, starts, before: 0, after: 0, elements };
        } else if is_cut_elsewhere && dimension.elements.moved == other {
            dimension.cut = Some(cut);
            dimension.starts = random_starts(random, dimension.extent, parts);
        }
    }
    parts
}

/// A random case for so many ranks.
pub(super) fn random_case(random: &mut Random, ranks: usize) -> Case {
    let n_ranks = i64::try_from(ranks).unwrap();
    let is_combination = random.once_in(3);
    let n_combined = usize::from(is_combination) * usize::from(!random.once_in(8))
        + usize::from(is_combination && random.once_in(6));
    let n_kept = usize::try_from(random.within(0, 3)).unwrap();
    let mut extents: Vec<i64> = (0..n_combined + n_kept).map(|_| random.within(1, 6)).collect();
    if random.once_in(20) && !extents.is_empty() {
        extents[0] = 0;
    }
    let mut all: Vec<usize> = (0..extents.len()).collect();
    random.shuffle(&mut all);
    let kept = all[n_combined..].to_vec();
    let is_in_place = !is_combination && random.once_in(5);
    let mut flags = Flags {
        are_source_replicas_current: random.once_in(2),
        is_source_everywhere: random.once_in(8),
        is_target_everywhere: random.once_in(6),
        is_fresh: is_combination && random.once_in(2),
        is_in_place,
    };
    let mut target = random_side(random, &extents, &kept, n_ranks, flags.is_target_everywhere);
    let source = if is_in_place {
        flags.is_source_everywhere = flags.is_target_everywhere;
        let mut source = target.clone();
        if random.once_in(2) {
            // Another window of the same array, which may overlap the first one.
            for (from, to) in source.dimensions.iter_mut().zip(&mut target.dimensions) {
                let shift = random.within(0, 2);
                let (extent, starts) = (from.extent + shift, from.starts.iter().copied());
                let starts: Vec<i64> =
                    starts.map(|start| if start == from.extent { extent } else { start }).collect();
                for dimension in [&mut *from, to] {
                    dimension.extent = extent;
                    dimension.starts.clone_from(&starts);
                }
                from.elements.begin += shift;
            }
        }
        source
    } else {
        all.sort_unstable();
        random_side(random, &extents, &all, n_ranks, flags.is_source_everywhere)
    };
    let mut source = source;
    if is_combination && n_combined == 1 && random.once_in(3) {
        let combined = (0..extents.len()).find(|k| !kept.contains(k)).unwrap();
        extents[combined] =
            cut_partial_results(random, &mut source, combined, kept.first().copied(), n_ranks);
        flags.is_source_everywhere = false;
        if random.once_in(2) && !flags.is_target_everywhere {
            flags.is_target_everywhere = true;
            target = random_side(random, &extents, &kept, n_ranks, true);
        }
    }
    let is_refresh = is_in_place && source == target;
    let (scalar, combination) = if is_combination && random.once_in(3) {
        // The order of these matters most.
        (ScalarType::F64, Combination::Sum)
    } else {
        random_combination(random, is_combination)
    };
    let combination = if is_refresh { Combination::Assign } else { combination };
    let lanes = random.one_of(&[1, 1, 1, 2, 4]);
    let description = Move { scalar, lanes, combination, flags, extents, source, target };
    let (source, target) = (&description.source, &description.target);
    let mut sources = random_arrays(random, &description, source, flags.is_source_everywhere, ranks);
    let mut targets = random_arrays(random, &description, target, flags.is_target_everywhere, ranks);
    let size = scalar.size() * usize::try_from(lanes).unwrap();
    let is_current = flags.are_source_replicas_current || flags.is_source_everywhere;
    if is_in_place && is_current || is_combination {
        make_current(target, flags.is_target_everywhere, &mut targets, size);
    }
    if is_current {
        make_current(source, flags.is_source_everywhere, &mut sources, size);
    }
    let next = random.one_of(&[Next::After, Next::After, Next::Overlapping, Next::Bundled]);
    Case { next, is_combination, site: random.within(0, 40), description, sources, targets }
}

/// Partial results of every rank, of so many elements, that are combined into an array that every rank has.
pub(super) fn partial_results(random: &mut Random, scalar: ScalarType, n: i64, ranks: usize) -> Case {
    let n_ranks = i64::try_from(ranks).unwrap();
    let dimension = |extent: i64, cut: Option<usize>, moved: usize| {
        let starts = if cut.is_some() { (0..=extent).collect() } else { vec![0, extent] };
        let elements = Elements { begin: 0, step: 1, moved: Some(moved) };
        Dimension { extent, cut, starts, before: 0, after: 0, elements }
    };
    let source =
        Side { grid: vec![n_ranks], dimensions: vec![dimension(n_ranks, Some(0), 0), dimension(n, None, 1)] };
    let target = Side { grid: Vec::new(), dimensions: vec![dimension(n, None, 1)] };
    let flags = Flags { is_target_everywhere: true, is_fresh: true, ..Flags::default() };
    let (combination, extents) = (Combination::Max, vec![n_ranks, n]);
    let description = Move { scalar, lanes: 1, combination, flags, extents, source, target };
    let sources = random_arrays(random, &description, &description.source, false, ranks);
    let mut targets = random_arrays(random, &description, &description.target, true, ranks);
    make_current(&description.target, true, &mut targets, scalar.size());
    Case { next: Next::After, is_combination: true, site: 0, description, sources, targets }
}

/// Whether two arrays have equal bits, where every NaN is like any other one.
pub(super) fn are_equal(scalar: ScalarType, a: &[u8], b: &[u8]) -> bool {
    let (component, size) = (scalar.component(), scalar.component().size());
    let is_equal = |a: &[u8], b: &[u8]| {
        let is_nan = |bytes: &[u8]| match Value::read(component, bytes) {
            Some(Value::F16(value)) => value.is_nan(),
            Some(Value::F32(value)) => value.is_nan(),
            Some(Value::F64(value)) => value.is_nan(),
            _ => false,
        };
        a == b || (is_nan(a) && is_nan(b))
    };
    a.len() == b.len() && a.chunks(size).zip(b.chunks(size)).all(|(a, b)| is_equal(a, b))
}
