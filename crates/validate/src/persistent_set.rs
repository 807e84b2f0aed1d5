//! Persistent sets of symbols that share common parts.
//!
//! Each block of a program has the symbols that may have a value there. Most blocks have those of the
//! previous block and one more. A set is a search tree whose subtrees belong to all sets that contain them. A
//! copy costs nothing, an additional symbol costs a path from the root, and a union skips shared subtrees.
//! The tree is a treap (Seidel and Aragon 1996): its shape depends only on its symbols. Therefore sets with
//! the same history and merged sets share subtrees alike.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use sdfg_language::symbolic::Symbol;

/// A set of symbols, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct PersistentSet(Option<Arc<Branch>>);

#[derive(Clone, Debug)]
struct Branch {
    symbol: Symbol,
    /// Larger than in the branches below. It follows from the symbol.
    weight: u64,
    len: usize,
    below: PersistentSet,
    above: PersistentSet,
}

impl PersistentSet {
    /// No symbol.
    pub(super) const fn new() -> Self {
        PersistentSet(None)
    }

    /// Number of symbols.
    pub(super) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |branch| branch.len)
    }

    /// Whether a symbol is among them.
    pub(super) fn contains(&self, symbol: &Symbol) -> bool {
        let mut at = self;
        while let Some(branch) = &at.0 {
            at = match symbol.cmp(&branch.symbol) {
                Ordering::Equal => return true,
                Ordering::Less => &branch.below,
                Ordering::Greater => &branch.above,
            };
        }
        false
    }

    /// Adds one.
    pub(super) fn insert(&mut self, symbol: Symbol) {
        if !self.contains(&symbol) {
            let weight = weight(&symbol);
            let (below, above) = (PersistentSet::new(), PersistentSet::new());
            let one = PersistentSet(Some(Arc::new(Branch { symbol, weight, len: 1, below, above })));
            *self = self.union(&one);
        }
    }

    /// All symbols of both. It is `self` again where that has them all.
    pub(super) fn union(&self, other: &Self) -> Self {
        let (Some(first), Some(second)) = (&self.0, &other.0) else {
            return if self.0.is_some() { self.clone() } else { other.clone() };
        };
        if Arc::ptr_eq(first, second) {
            return self.clone();
        }
        if (first.weight, &first.symbol) >= (second.weight, &second.symbol) {
            let (below, above) = other.split(&first.symbol);
            first.with(&first.below.union(&below), &first.above.union(&above))
        } else {
            let (below, above) = self.split(&second.symbol);
            second.with(&below.union(&second.below), &above.union(&second.above))
        }
    }

    /// The symbols before one, and those behind it.
    fn split(&self, at: &Symbol) -> (Self, Self) {
        let Some(branch) = &self.0 else { return (PersistentSet::new(), PersistentSet::new()) };
        match at.cmp(&branch.symbol) {
            Ordering::Equal => (branch.below.clone(), branch.above.clone()),
            Ordering::Less => {
                let (below, above) = branch.below.split(at);
                (below, branch.with(&above, &branch.above))
            }
            Ordering::Greater => {
                let (below, above) = branch.above.split(at);
                (branch.with(&branch.below, &below), above)
            }
        }
    }

    /// The symbols in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Symbol> {
        let mut open = Vec::new();
        let mut at = self;
        std::iter::from_fn(move || {
            while let Some(branch) = &at.0 {
                open.push(branch);
                at = &branch.below;
            }
            let branch = open.pop()?;
            at = &branch.above;
            Some(&branch.symbol)
        })
    }

    fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(first), Some(second)) => Arc::ptr_eq(first, second),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

impl Branch {
    /// The branch with others below and above; itself if they are its own.
    fn with(self: &Arc<Self>, below: &PersistentSet, above: &PersistentSet) -> PersistentSet {
        if self.below.is_same(below) && self.above.is_same(above) {
            return PersistentSet(Some(Arc::clone(self)));
        }
        let (symbol, weight, len) = (self.symbol.clone(), self.weight, below.len() + 1 + above.len());
        PersistentSet(Some(Arc::new(Branch {
            symbol,
            weight,
            len,
            below: below.clone(),
            above: above.clone(),
        })))
    }
}

impl Extend<Symbol> for PersistentSet {
    fn extend<T: IntoIterator<Item = Symbol>>(&mut self, symbols: T) {
        symbols.into_iter().for_each(|symbol| self.insert(symbol));
    }
}

impl FromIterator<Symbol> for PersistentSet {
    fn from_iter<T: IntoIterator<Item = Symbol>>(symbols: T) -> Self {
        let mut found = PersistentSet::new();
        found.extend(symbols);
        found
    }
}

/// The hash has the same keys in every process; nothing that is printed depends on it.
fn weight(symbol: &Symbol) -> u64 {
    let mut hasher = DefaultHasher::new();
    symbol.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn symbol(number: u64) -> Symbol {
        Symbol::of(&format!("s{number}"))
    }

    fn depth(set: &PersistentSet) -> usize {
        set.0.as_ref().map_or(0, |branch| 1 + depth(&branch.below).max(depth(&branch.above)))
    }

    /// Against the sets of the standard library, on random sets.
    #[test]
    fn unions_have_the_symbols_of_both() {
        let mut state = 1_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let common: Vec<Symbol> = (0..next(30)).map(|_| symbol(next(60))).collect();
            let shared: PersistentSet = common.iter().cloned().collect();
            let mut sets = [
                (shared.clone(), BTreeSet::from_iter(common.clone())),
                (shared, BTreeSet::from_iter(common)),
            ];
            for (set, expected) in &mut sets {
                for _ in 0..next(30) {
                    let symbol = symbol(next(60));
                    set.insert(symbol.clone());
                    expected.insert(symbol);
                }
            }
            let [(first, one), (second, other)] = &sets;
            let both = first.union(second);
            let expected: BTreeSet<Symbol> = one.union(other).cloned().collect();
            assert!(both.iter().eq(expected.iter()));
            assert_eq!(both.len(), expected.len());
            assert!(
                (0..60).all(|number| both.contains(&symbol(number)) == expected.contains(&symbol(number)))
            );
            // What has all symbols comes back as it is, so that it is seen at once that nothing is new.
            assert!(both.union(first).is_same(&both));
        }
    }

    #[test]
    fn a_symbol_more_costs_a_path() {
        let many: PersistentSet = (0..10_000).map(symbol).collect();
        assert!(depth(&many) < 60, "{}", depth(&many));
        let mut more = many.clone();
        more.insert(symbol(10_000));
        let own = |set: &PersistentSet| {
            let mut waiting = vec![set.clone()];
            let mut found = BTreeSet::new();
            while let Some(PersistentSet(Some(branch))) = waiting.pop() {
                found.insert(Arc::as_ptr(&branch) as usize);
                waiting.extend(
                    [branch.below.clone(), branch.above.clone()].into_iter().filter(|part| part.0.is_some()),
                );
            }
            found
        };
        assert!(own(&more).difference(&own(&many)).count() < 60);
    }
}
