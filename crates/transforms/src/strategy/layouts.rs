//! Layouts: classes of configurations that an edge or a table cannot distinguish.
//!
//! Costs of edges depend only on layouts. Therefore tables have an entry for each layout instead of each
//! configuration, without loss. The module is separate from the problem, because tables of the search are
//! merged in the same way.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A partition of the configurations of a vertex.
///
/// Layouts are counted from 0 in the order in which configurations first have them, so that equal partitions are
/// equal values. Cloning is cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layouts {
    /// Of each configuration; nothing where each configuration has its own.
    of: Option<Arc<[u32]>>,
    n: usize,
}

impl Layouts {
    /// Each of `n` configurations has its own layout.
    pub fn distinct(n: usize) -> Self {
        Layouts { of: None, n }
    }

    /// Configurations have the same layout where they have the same key.
    pub fn by_key<K: Ord>(keys: impl IntoIterator<Item = K>) -> Self {
        let mut numbers = BTreeMap::new();
        Layouts::numbered(keys, |key, next| *numbers.entry(key).or_insert(next))
    }

    /// Gives each key its number; `number` is told the next free one and answers that of the key.
    fn numbered<K>(keys: impl IntoIterator<Item = K>, mut number: impl FnMut(K, u32) -> u32) -> Self {
        let (mut of, mut n) = (Vec::new(), 0);
        for key in keys {
            let found = number(key, n);
            n = n.max(found + 1);
            of.push(found);
        }
        let n = n as usize;
        Layouts { of: (n < of.len()).then(|| of.into()), n }
    }

    /// Number of layouts.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there is no layout, hence no configuration.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Number of configurations.
    pub fn n_configurations(&self) -> usize {
        self.of.as_ref().map_or(self.n, |of| of.len())
    }

    /// Whether each configuration has its own layout.
    pub fn are_distinct(&self) -> bool {
        self.of.is_none()
    }

    /// The layout of a configuration of the vertex.
    pub fn of(&self, configuration: usize) -> usize {
        self.of.as_ref().map_or(configuration, |of| of[configuration] as usize)
    }

    /// The layouts of all configurations; nothing where each has its own.
    pub(super) fn map(&self) -> Option<&[u32]> {
        self.of.as_deref()
    }

    /// The first configuration of each layout.
    pub fn representatives(&self) -> Vec<usize> {
        let Some(of) = &self.of else { return (0..self.n).collect() };
        let mut first = Vec::with_capacity(self.n);
        for (configuration, layout) in of.iter().enumerate() {
            if *layout as usize == first.len() {
                first.push(configuration);
            }
        }
        first
    }

    /// The coarsest partition that is at least as fine as both: layouts are the same where they are to both.
    pub fn refined(&self, other: &Layouts) -> Layouts {
        let (Some(of), Some(other_of)) = (&self.of, &other.of) else {
            return if self.are_distinct() { self.clone() } else { other.clone() };
        };
        if Arc::ptr_eq(of, other_of) {
            return self.clone();
        }
        let pairs = of.iter().zip(other_of.iter());
        let n_pairs = self.n * other.n;
        // An array finds the number of a pair faster, where it is not much longer than the list of configurations.
        if n_pairs <= 4 * of.len() + 64 {
            let mut numbers = vec![u32::MAX; n_pairs];
            Layouts::numbered(pairs, |(a, b), next| {
                let number = &mut numbers[*a as usize * other.n + *b as usize];
                if *number == u32::MAX {
                    *number = next;
                }
                *number
            })
        } else {
            Layouts::by_key(pairs)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn partitions() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
        (1_usize..9, 1_u8..9)
            .prop_flat_map(|(n, m)| (prop::collection::vec(0..m, n), prop::collection::vec(0..m, n)))
    }

    proptest! {
        #[test]
        fn a_refinement_joins_what_both_join((a, b) in partitions()) {
            let (first, second) = (Layouts::by_key(a.iter()), Layouts::by_key(b.iter()));
            let both = first.refined(&second);
            for i in 0..a.len() {
                for j in 0..a.len() {
                    prop_assert_eq!(both.of(i) == both.of(j), a[i] == a[j] && b[i] == b[j]);
                }
            }
            prop_assert_eq!(&both, &Layouts::by_key(a.iter().zip(&b)));
            prop_assert_eq!(first.refined(&first), first);
        }

        #[test]
        fn each_layout_has_its_first_configuration((a, _) in partitions()) {
            let layouts = Layouts::by_key(a.iter());
            for (layout, configuration) in layouts.representatives().into_iter().enumerate() {
                prop_assert_eq!(a.iter().position(|key| *key == a[configuration]), Some(configuration));
                prop_assert_eq!(layouts.of(configuration), layout);
            }
        }
    }
}
