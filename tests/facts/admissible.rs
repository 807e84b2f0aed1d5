//! The values of symbols under which the facts of a match have to hold.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::loops::counted_range;
use sdfg::analysis::symbols::{assigned_symbols, scope_parameters};
use sdfg::ir::{Block, BlockId, BlockKind, NodeKind, StateId};
use sdfg::subset::Range;
use sdfg::symbolic::{Assumptions, Expr, Symbol};
use sdfg_transforms::{Matched, Site};

/// Restrictions on symbols at a match.
#[derive(Debug, Default)]
pub(crate) struct Admissible {
    /// Expressions that are not negative at the match.
    pub(crate) nonnegative: Vec<Expr>,
    /// Symbols of the maps and loops within the match, with their ranges; without a range, control flow sets them.
    pub(crate) inner: BTreeMap<Symbol, Option<Range>>,
    /// Symbols that several maps and loops define differently.
    pub(crate) unclear: BTreeSet<Symbol>,
}

impl Admissible {
    /// Those of a match.
    pub(crate) fn at(site: &Site<'_>) -> Self {
        let known = known(site);
        let mut around = BTreeSet::new();
        known.visit_symbols(&mut |symbol| {
            around.insert(symbol.clone());
        });
        let mut found = Admissible { nonnegative: known.facts().to_vec(), ..Admissible::default() };
        for symbol in &around {
            let value = Expr::symbol(symbol.clone());
            let (lower, upper) = known.range_of(symbol);
            found.nonnegative.extend(lower.map(|lower| &value - lower));
            found.nonnegative.extend(upper.map(|upper| upper - &value));
        }
        let has_bounds = |symbol: &Symbol| known.range_of(symbol) != (None, None);
        for (symbol, range) in binders(site) {
            if has_bounds(&symbol) {
                continue;
            }
            let old = found.inner.insert(symbol.clone(), Some(range.clone()));
            if old.is_some_and(|old| old != Some(range)) {
                found.unclear.insert(symbol);
            }
        }
        for symbol in assigned_symbols(site.sdfg) {
            if !has_bounds(&symbol) && !found.inner.contains_key(&symbol) {
                found.inner.insert(symbol, None);
            }
        }
        found
    }

    /// Symbols with all symbols that their ranges and restrictions mention.
    pub(crate) fn closure(&self, mut symbols: BTreeSet<Symbol>) -> BTreeSet<Symbol> {
        loop {
            let mut more = symbols.clone();
            for symbol in &symbols {
                if let Some(Some(range)) = self.inner.get(symbol) {
                    more.extend(range.free_symbols());
                }
            }
            for fact in &self.nonnegative {
                let mentioned = fact.free_symbols();
                if !mentioned.is_disjoint(&symbols) {
                    more.extend(mentioned);
                }
            }
            if more.len() == symbols.len() {
                return symbols;
            }
            symbols = more;
        }
    }
}

/// Facts at the match: in the scope of its first node, or whenever its first block runs.
fn known(site: &Site<'_>) -> Assumptions {
    match &site.found.elements {
        Matched::Nodes(state, nodes) => {
            let (graph, tree) = (site.sdfg.state(*state), site.scopes());
            let scope = nodes.first().and_then(|node| match &graph.node(*node).kind {
                NodeKind::MapEntry(_) | NodeKind::ConsumeEntry(_) => Some(*node),
                other => other.exit_of().or_else(|| tree.scope_of(*node)),
            });
            site.known_in(scope)
        }
        Matched::Blocks(blocks) => {
            let first = blocks.first();
            first.map_or_else(Assumptions::new, |block| site.facts().whenever(site.sdfg, *block))
        }
        Matched::Sdfg => site.facts().everywhere().clone(),
    }
}

/// Symbols of the maps and counted loops of a match, with their ranges.
fn binders(site: &Site<'_>) -> Vec<(Symbol, Range)> {
    let sdfg = site.sdfg;
    let of_state = |state: StateId| {
        let graph = sdfg.state(state);
        graph.nodes().flat_map(|(node, _)| scope_parameters(graph, node)).collect::<Vec<_>>()
    };
    let of_block = |(_, block): (BlockId, &Block)| match &block.kind {
        BlockKind::Loop(repeated) => counted_range(sdfg, repeated).into_iter().collect(),
        BlockKind::State(state) => of_state(*state),
        BlockKind::Branch(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => Vec::new(),
    };
    match &site.found.elements {
        Matched::Nodes(state, _) => of_state(*state),
        Matched::Blocks(matched) => {
            let parent = |block: &BlockId| sdfg.region(sdfg.block(*block).region).parent;
            let is_within = |(id, _): &(BlockId, &Block)| {
                std::iter::successors(Some(*id), parent).any(|block| matched.contains(&block))
            };
            sdfg.blocks().filter(is_within).flat_map(of_block).collect()
        }
        Matched::Sdfg => sdfg.blocks().flat_map(of_block).collect(),
    }
}
