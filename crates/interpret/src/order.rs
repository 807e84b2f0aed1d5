//! Order of unordered work.

/// The order of unordered work: ready nodes, iterations of scopes, activities that can go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Always the same: the smallest node id that is ready, iterations from the first to the last.
    #[default]
    Fixed,
    /// Random, decided by a seed. A program without conflicts gives the same results for each.
    Random(u64),
}

/// A small generator of pseudo-random numbers (SplitMix64, Steele et al. 2014).
#[derive(Clone, Debug)]
pub(super) struct Shuffler {
    state: u64,
}

impl Shuffler {
    pub(super) fn new(seed: u64) -> Self {
        Shuffler { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0. The bias is below `end / 2^64`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// Puts elements into a random order (Fisher and Yates).
    pub(super) fn shuffle<T>(&mut self, elements: &mut [T]) {
        for last in (1..elements.len()).rev() {
            elements.swap(last, self.below(last + 1));
        }
    }
}
