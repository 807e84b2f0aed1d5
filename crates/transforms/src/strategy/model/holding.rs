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
    /// For each axis and pattern, what each rank has.
    pub(super) patterns: Vec<Vec<Vec<T>>>,
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
        let mut patterns: Vec<Vec<Vec<T>>> = vec![Vec::new(); axes.len()];
        let mut all: Vec<Held> = Vec::with_capacity(configurations.len());
        for configuration in configurations {
            let (spreads, active) = spreads(configuration);
            let pattern = |axis: usize| {
                let Axis { dimensions, of } = &axes[axis];
                let key: Vec<Spread> = dimensions.iter().map(|dimension| spreads[*dimension]).collect();
                let patterns = &mut patterns[axis];
                *known[axis].entry(key).or_insert_with_key(|key| {
                    patterns.push(of_ranks(key, dimensions, of, n_ranks));
                    patterns.len() as u32 - 1
                })
            };
            all.push(Held { n_ranks: active, patterns: (0..axes.len()).map(pattern).collect() });
        }
        // Different spreads may be the same to an axis.
        for (axis, patterns) in patterns.iter_mut().enumerate() {
            let same = Layouts::by_key(patterns.iter());
            all.iter_mut()
                .for_each(|held| held.patterns[axis] = same.of(held.patterns[axis] as usize) as u32);
            *patterns = same.representatives().into_iter().map(|one| patterns[one].clone()).collect();
        }
        let layouts = Layouts::by_key(&all);
        let held = layouts.representatives().into_iter().map(|one| all[one].clone()).collect();
        Holding { layouts, held, patterns }
    }
}

/// Elements of each rank along an axis that depends on these dimensions of the domain, which are spread so.
fn of_ranks<T: Clone>(spreads: &[Spread], dimensions: &[usize], of: &OfParts<'_, T>, n_ranks: u32) -> Vec<T> {
    // Many ranks have the same parts. Their elements are computed once.
    let n_parts: usize = spreads.iter().map(|spread| spread.parts as usize).product();
    let mut known: Vec<Option<T>> = vec![None; n_parts];
    let of_rank = |rank| {
        let parts: Vec<Part> =
            spreads.iter().zip(dimensions).map(|(spread, dimension)| spread.part(*dimension, rank)).collect();
        let at = parts.iter().fold(0, |at, part| at * part.parts + part.part) as usize;
        known[at].get_or_insert_with(|| of(&parts)).clone()
    };
    (0..n_ranks).map(of_rank).collect()
}
