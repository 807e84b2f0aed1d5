//! Facts about symbols at a place: sizes, surrounding loops and maps, and the conditions under which the
//! place runs.
//!
//! Only this module derives these facts. Propagation, footprints, costs, dependences and edits use it. There
//! are two kinds. Facts from sizes and ranges of loops may be used in results that leave the place, such as
//! costs and memlets outside of scopes; where nothing runs, such results are empty. Facts from conditions
//! hold only where the place runs.
//!
//! ```
//! # mod sdfg { pub use sdfg_graph::{analysis, text}; pub use sdfg_language::symbolic; }
//! use sdfg::analysis::symbol_facts_at;
//! use sdfg::symbolic::Expr;
//!
//! let text = "sdfg p {
//!   symbol N: i64
//!   array A: f64[N]
//!
//!   if large: N > 10 {
//!     state s {
//!       access A
//!       map m [i = 2:N] {
//!         tasklet t () -> (y) { y = 1 }
//!         t.y -> m.A: A[i]
//!       }
//!       m.A -> A
//!     }
//!   }
//! }";
//! let program = sdfg::text::parse("p.sdft", text).expect("a program");
//! let (id, state) = program.states().next().expect("a state");
//! let inside = symbol_facts_at(&program, id, state.find("m"));
//! let at_least = |text: &str| Expr::int(0).le(&text.parse().expect("an expression"), &inside).is_proved();
//! assert!(at_least("i - 2") && at_least("N - 1 - i") && at_least("N - 11") && !at_least("N - 12"));
//! ```

mod conditions;
mod sizes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use sdfg_language::symbolic::{Assumptions, Expr, Symbol};
pub use sizes::Sizes;

use super::loops::counted_range;
use super::scope_tree::ScopeTree;
use super::symbols::{assigned_symbols_of, bound_symbols, scope_parameters};
use crate::ir::{BlockId, BlockKind, NodeId, RegionId, Sdfg, State, StateId};

/// Facts about symbols in one SDFG, for all of its places. Facts of its caller are not used.
///
/// It depends on containers and control flow, not on the contents of states. What is known in a region is found out once: all
/// states of a program together take time in proportion to the program.
#[derive(Debug)]
pub struct SymbolFacts {
    everywhere: Arc<Assumptions>,
    blocks: BTreeMap<StateId, BlockId>,
    regions: Mutex<BTreeMap<RegionId, Arc<Assumptions>>>,
    transitions: Mutex<BTreeMap<RegionId, Arc<BlockFacts>>>,
}

/// Expressions that are not negative where a block runs, for the blocks of a region that have some.
type BlockFacts = BTreeMap<BlockId, Arc<[Expr]>>;

impl SymbolFacts {
    /// Looks at the sizes of all containers, and at what control flow assigns.
    pub fn of(sdfg: &Sdfg) -> Self {
        SymbolFacts::of_sizes(sdfg, &Sizes::of(sdfg))
    }

    /// As [`of`](SymbolFacts::of), where the symbols in sizes are known.
    pub fn of_sizes(sdfg: &Sdfg, sizes: &Sizes) -> Self {
        let block = |(id, block): (BlockId, &crate::ir::Block)| match block.kind {
            BlockKind::State(state) => Some((state, id)),
            BlockKind::Loop(_)
            | BlockKind::Branch(_)
            | BlockKind::Break
            | BlockKind::Continue
            | BlockKind::Return => None,
        };
        SymbolFacts {
            everywhere: Arc::new(sizes.assumptions()),
            // Of several blocks with a state, which is wrong, the first one counts.
            blocks: sdfg.blocks().rev().filter_map(block).collect(),
            regions: Mutex::default(),
            transitions: Mutex::default(),
        }
    }

    /// The block that runs a state.
    pub fn block_of(&self, state: StateId) -> Option<BlockId> {
        self.blocks.get(&state).copied()
    }

    /// Facts at all places: symbols in sizes that control flow does not assign are non-negative.
    pub fn everywhere(&self) -> &Assumptions {
        &self.everywhere
    }

    /// Facts in the blocks of a region for all values of the surrounding counted loops: their symbols lie in
    /// the ranges.
    pub fn in_region(&self, sdfg: &Sdfg, region: RegionId) -> Arc<Assumptions> {
        let mut found = self.regions.lock().unwrap_or_else(PoisonError::into_inner);
        let mut unknown = Vec::new();
        let mut at = Some(region);
        // A wrong graph may have a region that contains itself.
        while let Some(region) = at.filter(|at| !found.contains_key(at) && !unknown.contains(at)) {
            unknown.push(region);
            at = holder(sdfg, region).and_then(|block| sdfg.get_block(block)).map(|block| block.region);
        }
        let mut known = at.and_then(|region| found.get(&region)).unwrap_or(&self.everywhere).clone();
        for region in unknown.into_iter().rev() {
            let block = holder(sdfg, region).and_then(|block| sdfg.get_block(block));
            if let Some(BlockKind::Loop(repeated)) = block.map(|block| &block.kind)
                && let Some((symbol, range)) = counted_range(sdfg, repeated)
            {
                range.constrain(symbol, Arc::make_mut(&mut known));
            }
            found.insert(region, Arc::clone(&known));
        }
        known
    }

    /// Facts at the top of a state, as [`in_region`](SymbolFacts::in_region) of its region.
    pub fn in_state(&self, sdfg: &Sdfg, state: StateId) -> Arc<Assumptions> {
        let block = self.blocks.get(&state).and_then(|block| sdfg.get_block(*block));
        block.map_or_else(|| Arc::clone(&self.everywhere), |block| self.in_region(sdfg, block.region))
    }

    /// Facts at the top of a state whenever it runs: in addition, the surrounding counted loops have an iteration.
    pub fn in_running_state(&self, sdfg: &Sdfg, state: StateId) -> Assumptions {
        let mut known = Assumptions::clone(&self.in_state(sdfg, state));
        let outer = |block: &BlockId| holder(sdfg, sdfg.get_block(*block)?.region);
        let around = std::iter::successors(self.blocks.get(&state).copied(), outer);
        // A wrong graph may have a region that contains itself.
        for block in around.take(sdfg.n_created_blocks() + 1) {
            if let Some(BlockKind::Loop(repeated)) = sdfg.get_block(block).map(|block| &block.kind)
                && let Some((_, range)) = counted_range(sdfg, repeated)
            {
                range.assume_iteration(&mut known);
            }
        }
        known
    }

    /// Facts whenever a block runs: in addition, the conditions of the surrounding branches, as far as they
    /// compare integers that nothing changes within the branch.
    pub fn whenever(&self, sdfg: &Sdfg, block: BlockId) -> Assumptions {
        self.whenever_beside(sdfg, block, &BTreeSet::new())
    }

    /// As [`whenever`](SymbolFacts::whenever), and in addition the conditions of the transitions on each way to the block, as far as
    /// they compare integers that nothing changes in the region of the transitions. If no way leads to the block, the facts
    /// contradict each other.
    pub fn where_reached(&self, sdfg: &Sdfg, block: BlockId) -> Assumptions {
        let mut known = self.whenever(sdfg, block);
        let outer = |block: &BlockId| holder(sdfg, sdfg.get_block(*block)?.region);
        let around = std::iter::successors(Some(block), outer);
        // A wrong graph may have a region that contains itself.
        for block in around.take(sdfg.n_created_blocks() + 1) {
            let Some(region) = sdfg.get_block(block).map(|block| block.region) else { break };
            let mut found = self.transitions.lock().unwrap_or_else(PoisonError::into_inner);
            let of_region =
                found.entry(region).or_insert_with(|| Arc::new(conditions::of_transitions(sdfg, region)));
            for fact in of_region.get(&block).iter().flat_map(|facts| facts.iter()) {
                known.assume_nonnegative(fact.clone());
            }
        }
        known
    }

    /// Facts in a scope of a state (`None`: outside all scopes) whenever it runs: in addition, the ranges of
    /// the surrounding scopes. `tree` contains the scopes of the state.
    pub fn at(&self, sdfg: &Sdfg, state: StateId, tree: &ScopeTree, scope: Option<NodeId>) -> Assumptions {
        let graph = sdfg.state(state);
        let mut entries: Vec<NodeId> = tree.enclosing_scope(scope).collect();
        entries.reverse();
        let hidden = entries.iter().flat_map(|entry| bound_symbols(graph, *entry)).collect();
        let mut known = match self.blocks.get(&state) {
            Some(block) => self.whenever_beside(sdfg, *block, &hidden),
            None => Assumptions::clone(&self.everywhere),
        };
        entries.into_iter().for_each(|entry| enter_scope(graph, entry, &mut known));
        known
    }

    /// As [`whenever`](SymbolFacts::whenever), but for conditions on symbols that have another meaning further in.
    fn whenever_beside(&self, sdfg: &Sdfg, block: BlockId, hidden: &BTreeSet<Symbol>) -> Assumptions {
        let Some(region) = sdfg.get_block(block).map(|block| block.region) else {
            return Assumptions::clone(&self.everywhere);
        };
        let mut known = Assumptions::clone(&self.in_region(sdfg, region));
        for fact in facts_in(sdfg, region) {
            if !hidden.iter().any(|symbol| fact.depends_on(symbol)) {
                known.assume_nonnegative(fact);
            }
        }
        known
    }
}

/// Facts about symbols in a scope of a state (`None`: outside all scopes) whenever it runs. For several
/// places of a program, one [`SymbolFacts`] is faster.
///
/// Symbols of shapes are not negative, those of counted loops and of maps lie in their ranges, and the conditions of branches
/// around the state hold as far as they compare integers that nothing changes within the branch.
pub fn symbol_facts_at(sdfg: &Sdfg, state: StateId, scope: Option<NodeId>) -> Assumptions {
    SymbolFacts::of(sdfg).at(sdfg, state, &ScopeTree::of(sdfg.state(state)), scope)
}

/// Adds to what is known around a scope what its ranges say of its parameters.
pub fn enter_scope(state: &State, entry: NodeId, known: &mut Assumptions) {
    for (symbol, range) in scope_parameters(state, entry) {
        range.constrain(symbol, known);
    }
}

/// The block that a region is a part of.
fn holder(sdfg: &Sdfg, region: RegionId) -> Option<BlockId> {
    sdfg.get_region(region).and_then(|found| found.parent)
}

/// Expressions that are not negative where a region runs, by the conditions of the branches around; the outermost first.
fn facts_in(sdfg: &Sdfg, region: RegionId) -> Vec<Expr> {
    let outer = |region: &RegionId| Some(sdfg.get_block(holder(sdfg, *region)?)?.region);
    let around = std::iter::successors(Some(region), outer);
    // A wrong graph may have a region that contains itself.
    let mut regions: Vec<RegionId> = around.take(sdfg.n_created_blocks() + 1).collect();
    regions.reverse();
    let mut found = Vec::new();
    for region in regions {
        let block = holder(sdfg, region).and_then(|block| sdfg.get_block(block));
        if let Some(BlockKind::Branch(branch)) = block.map(|block| &block.kind) {
            let changed = assigned_symbols_of(sdfg, region);
            let facts = conditions::conditions(sdfg, branch, region).into_iter();
            found.extend(facts.filter(|fact| !changed.iter().any(|symbol| fact.depends_on(symbol))));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    /// Whether `text` is not negative in the state of this label, as far as is known.
    fn holds(program: &Sdfg, label: &str, text: &str) -> bool {
        let (id, _) = program.states().find(|(_, state)| state.label == label).unwrap();
        Expr::int(0).le(&text.parse().unwrap(), &symbol_facts_at(program, id, None)).is_proved()
    }

    #[test]
    fn conditions_hold_where_nothing_changes_them() {
        let program = text::parse(
            "p.sdft",
            "sdfg p {
  symbol N: i64
  symbol M: u8
  symbol k: i64
  array A: f64[4]

  if sizes: N > 10 and k > 2 and M + 1 > 4 {
    for rounds: k = 0:4 {
      state s {
        access A
      }
    }
  } elif not (N != 3 or A[0] > 0) {
    state t {
      access A
    }
  } elif N <= 4 {
    state u {
      access A
    }
  } else {
    state v {
      access A
    }
  }
}",
        )
        .unwrap();
        // The loop gives `k` other values; what is narrower than an index may wrap.
        assert!(holds(&program, "s", "N - 11") && holds(&program, "s", "k") && holds(&program, "s", "3 - k"));
        assert!(!holds(&program, "s", "k - 3") && !holds(&program, "s", "M - 4"));
        assert!(holds(&program, "t", "N - 3") && holds(&program, "t", "3 - N"));
        assert!(holds(&program, "u", "4 - N") && !holds(&program, "u", "N - 3"));
        assert!(holds(&program, "v", "N - 5") && !holds(&program, "v", "N - 6"));
    }

    #[test]
    fn conditions_of_transitions_hold_behind_them() {
        let program = text::parse(
            "p.sdft",
            "sdfg p {
  symbol N: i64
  symbol K: i64
  array A: f64[4]

  state first {}
  -> second if N > 10
  -> third if N > 5 with (K = 3)
  -> last
  state second {}
  -> inner
  for inner: j = 0:4 {
    state body {}
  }
  -> joined if K > 1
  -> last
  state third {}
  -> joined
  state joined {}
  -> again if N < 100
  -> last
  state again {}
  -> joined if A[0] > 0
  -> last
  state last {}
  -> end
  state unreached {}
}",
        )
        .unwrap();
        let known = SymbolFacts::of(&program);
        let at = |label: &str| known.where_reached(&program, program.find_block(label).unwrap());
        let holds = |label: &str, text: &str| Expr::int(0).le(&text.parse().unwrap(), &at(label)).is_proved();
        assert!(holds("second", "N - 11") && holds("body", "N - 11") && !holds("first", "N"));
        assert!(holds("third", "N - 6") && holds("third", "10 - N") && !holds("third", "9 - N"));
        // Two ways lead to it, and `K` has other values on one of them.
        assert!(!holds("joined", "N") && !holds("joined", "K - 2"));
        assert!(holds("again", "99 - N") && !holds("again", "98 - N"));
        assert!(!holds("last", "5 - N"));
        assert!(
            at("unreached").facts().iter().any(|fact| fact.is_nonnegative(&Assumptions::new()).is_refuted())
        );
        // They are no facts of a place: edits may change transitions.
        let second = program.find_block("second").unwrap();
        assert!(!Expr::int(11).le(&Expr::sym("N"), &known.whenever(&program, second)).is_proved());
    }

    /// All states together cost what the program is long: what is known in a region is made once.
    #[test]
    fn states_of_a_region_share_what_is_known() {
        let text = "sdfg p {
  symbol N: i64
  array A: f64[N]

  state r {}
  state s {}
  for l: k = 0:N {
    state t {}
    if q: k > 2 {
      state u {}
    }
  }
}";
        let program = text::parse("p.sdft", text).unwrap();
        let known = SymbolFacts::of(&program);
        let of = |label: &str| {
            let (id, _) = program.states().find(|(_, state)| state.label == label).unwrap();
            known.in_state(&program, id)
        };
        assert!(Arc::ptr_eq(&of("r"), &of("s")) && Arc::ptr_eq(&of("t"), &of("u")));
        assert!(!Arc::ptr_eq(&of("s"), &of("t")));
        let holds = |label: &str, text: &str| Expr::int(0).le(&text.parse().unwrap(), &of(label)).is_proved();
        assert!(holds("s", "N") && !holds("s", "k") && holds("u", "N - 1 - k"));
        // A cost or a size of the place may be used where the condition does not hold.
        assert!(!holds("u", "k - 3"));
        let (id, _) = program.states().find(|(_, state)| state.label == "u").unwrap();
        let whenever = known.whenever(&program, program.find_block("u").unwrap());
        assert!(Expr::int(3).le(&Expr::sym("k"), &whenever).is_proved());
        assert_eq!(symbol_facts_at(&program, id, None), whenever);
    }
}
