//! Elements of each rank along each axis of a container, for all configurations of an operation at once.
//!
//! Along one dimension of a domain, a configuration assigns part `r / stride % parts` to rank `r`; few such
//! patterns exist. The elements of a rank along an axis depend on the patterns of one or two dimensions.
//! Therefore thousands of configurations on many ranks need only some hundred patterns per axis, and one
//! number per axis and configuration.

use std::collections::BTreeMap;

use super::operator::share;
use crate::strategy::layouts::Layouts;

/// Distribution of the parts of a domain dimension over ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spread {
    parts: u32,
    /// Number of consecutive ranks with the same part; 1 if there is one part.
    stride: u32,
}

/// A part of a dimension of a domain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) dimension: usize,
    /// Into how many parts the dimension is cut.
    pub(super) parts: u64,
    /// Number of the part.
    pub(super) part: u64,
}

impl Part {
    /// Its iterations, of so many in the dimension.
    pub(super) fn bounds(&self, n: u64) -> (u64, u64) {
        share(n, self.parts, self.part)
    }
}

impl Spread {
    fn part(&self, dimension: usize, rank: u32) -> Part {
        let part = u64::from(rank / self.stride % self.parts);
        Part { dimension, parts: u64::from(self.parts), part }
    }
}

/// Distribution of each dimension, and number of active ranks. The last dimension changes fastest.
pub(super) fn spreads(configuration: &[u32]) -> (Vec<Spread>, u32) {
    let mut ranks = 1;
    let mut spreads: Vec<Spread> = Vec::with_capacity(configuration.len());
    for &parts in configuration.iter().rev() {
        spreads.push(Spread { parts, stride: if parts == 1 { 1 } else { ranks } });
        ranks *= parts;
    }
    spreads.reverse();
    (spreads, ranks)
}

/// Elements of a rank with these parts.
pub(super) type OfParts<'a, T> = Box<dyn Fn(&[Part]) -> T + 'a>;

/// An axis: what a rank has depends on its parts of some dimensions of the domain.
pub(super) struct Axis<'a, T> {
    pub(super) dimensions: Vec<usize>,
    pub(super) of: OfParts<'a, T>,
}

/// Elements of each rank along each axis in each configuration.
#[derive(Debug)]
pub(super) struct Holding<T> {
    /// Classes of configurations with equal elements on all ranks.
    pub(super) layouts: Layouts,
    /// Of each layout.
    pub(super) held: Vec<Held>,
    /// Patterns of each axis.
    pub(super) axes: Vec<Patterns<T>>,
}

/// Patterns along one axis: what each rank has in each of them.
#[derive(Debug)]
pub(super) struct Patterns<T> {
    /// The different things that ranks have. Ranks and patterns share them, because many have the same.
    pub(super) values: Vec<T>,
    /// For each pattern and rank, the index of what it has.
    pub(super) of_ranks: Vec<Vec<u32>>,
}

impl<T> Patterns<T> {
    /// What a rank has in a pattern.
    pub(super) fn at(&self, pattern: u32, rank: u32) -> &T {
        &self.values[self.of_ranks[pattern as usize][rank as usize] as usize]
    }
}

/// Elements of ranks in one layout.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Held {
    /// Number of ranks with elements; the others are idle.
    pub(super) n_ranks: u32,
    /// The pattern along each axis.
    pub(super) patterns: Vec<u32>,
}

impl<T: Ord + Clone> Holding<T> {
    pub(super) fn new(configurations: &[Vec<u32>], n_ranks: u32, axes: &[Axis<'_, T>]) -> Self {
        let mut known: Vec<BTreeMap<Vec<Spread>, u32>> = vec![BTreeMap::new(); axes.len()];
        let mut found: Vec<Found<T>> = axes.iter().map(|_| Found::default()).collect();
        let mut all: Vec<Held> = Vec::with_capacity(configurations.len());
        for configuration in configurations {
            let (spreads, active) = spreads(configuration);
            let pattern = |axis: usize| {
                let dimensions = &axes[axis].dimensions;
                let key: Vec<Spread> = dimensions.iter().map(|dimension| spreads[*dimension]).collect();
                let found = &mut found[axis];
                *known[axis].entry(key).or_insert_with_key(|key| found.add(key, &axes[axis], n_ranks))
            };
            all.push(Held { n_ranks: active, patterns: (0..axes.len()).map(pattern).collect() });
        }
        // Different spreads may be the same to an axis.
        let mut axes: Vec<Patterns<T>> = found.into_iter().map(Found::into_patterns).collect();
        for (axis, patterns) in axes.iter_mut().enumerate() {
            let same = Layouts::by_key(patterns.of_ranks.iter());
            all.iter_mut()
                .for_each(|held| held.patterns[axis] = same.of(held.patterns[axis] as usize) as u32);
            let first = same.representatives();
            patterns.of_ranks =
                first.into_iter().map(|one| std::mem::take(&mut patterns.of_ranks[one])).collect();
        }
        let layouts = Layouts::by_key(&all);
        let held = layouts.representatives().into_iter().map(|one| all[one].clone()).collect();
        Holding { layouts, held, axes }
    }
}

/// Patterns of an axis while they are found.
struct Found<T> {
    /// The index of each value.
    values: BTreeMap<T, u32>,
    of_ranks: Vec<Vec<u32>>,
}

impl<T> Default for Found<T> {
    fn default() -> Self {
        Found { values: BTreeMap::new(), of_ranks: Vec::new() }
    }
}

impl<T: Ord> Found<T> {
    /// Adds the pattern of an axis whose dimensions are spread so. Gives its number.
    fn add(&mut self, spreads: &[Spread], axis: &Axis<'_, T>, n_ranks: u32) -> u32 {
        // Many ranks have the same parts. Their elements are computed once.
        let n_parts: usize = spreads.iter().map(|spread| spread.parts as usize).product();
        let mut known: Vec<Option<u32>> = vec![None; n_parts];
        let of_rank = |rank| {
            let parts = || {
                let each = spreads.iter().zip(&axis.dimensions);
                each.map(|(spread, dimension)| spread.part(*dimension, rank))
            };
            let at = parts().fold(0, |at, part| at * part.parts + part.part) as usize;
            *known[at].get_or_insert_with(|| {
                let next = self.values.len() as u32;
                *self.values.entry((axis.of)(&parts().collect::<Vec<_>>())).or_insert(next)
            })
        };
        let of_ranks = (0..n_ranks).map(of_rank).collect();
        self.of_ranks.push(of_ranks);
        self.of_ranks.len() as u32 - 1
    }

    fn into_patterns(self) -> Patterns<T> {
        let mut values: Vec<(T, u32)> = self.values.into_iter().collect();
        values.sort_unstable_by_key(|(_, index)| *index);
        Patterns { values: values.into_iter().map(|(value, _)| value).collect(), of_ranks: self.of_ranks }
    }
}
