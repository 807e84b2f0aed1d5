//! Counted loops: the values of their symbol.

use std::collections::BTreeSet;

use sdfg_language::subset::Range;
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::syntax::{CompareOp, ExpressionKind};

use super::integers::integer_of;
use super::symbols::assigned_symbols_of;
use crate::ir::{BlockId, BlockKind, Loop, Sdfg};

/// The symbol of a counted loop and the range that its values at the start of the body lie in: `init` is the begin, the
/// condition compares the symbol with an end, `update` adds a constant, and the body changes none of these. The values are those of exact
/// integers; see [`integer_of`].
///
/// A loop that is left early takes fewer values. `None` for all other loops.
pub fn counted_range(sdfg: &Sdfg, repeated: &Loop) -> Option<(Symbol, Range)> {
    let symbol = repeated.symbol.as_ref().filter(|_| !repeated.test_after)?;
    let begin = integer_of(sdfg, repeated.init.as_ref()?)?;
    let step = (integer_of(sdfg, repeated.update.as_ref()?)? - Expr::symbol(symbol.clone())).as_int()?;
    let ExpressionKind::Compare { first, rest } = &repeated.condition.kind else { return None };
    let [(op, bound)] = rest.as_slice() else { return None };
    if integer_of(sdfg, first)?.as_symbol() != Some(symbol) {
        return None;
    }
    let bound = integer_of(sdfg, bound)?;
    let end = match op {
        CompareOp::Less if step > 0 => bound,
        CompareOp::LessEqual if step > 0 => bound + 1,
        CompareOp::Greater if step < 0 => bound,
        CompareOp::GreaterEqual if step < 0 => bound - 1,
        CompareOp::Less
        | CompareOp::LessEqual
        | CompareOp::Greater
        | CompareOp::GreaterEqual
        | CompareOp::Equal
        | CompareOp::NotEqual => return None,
    };
    let range = Range::new(begin, end).with_step(step);
    let mut fixed: BTreeSet<Symbol> = range.free_symbols();
    if fixed.contains(symbol) {
        return None;
    }
    fixed.insert(symbol.clone());
    let changed = assigned_symbols_of(sdfg, repeated.body);
    changed.iter().all(|assigned| !fixed.contains(assigned)).then(|| (symbol.clone(), range))
}

/// Symbols and ranges of the counted loops around a block, the outermost first.
pub fn counted_loops_around(sdfg: &Sdfg, block: BlockId) -> Vec<(Symbol, Range)> {
    let parent = |block: &BlockId| sdfg.region(sdfg.block(*block).region).parent;
    // A wrong graph may have a region that contains itself.
    let around = std::iter::successors(parent(&block), parent).take(sdfg.n_created_blocks());
    let mut loops: Vec<(Symbol, Range)> = around
        .filter_map(|block| match &sdfg.block(block).kind {
            BlockKind::Loop(repeated) => counted_range(sdfg, repeated),
            BlockKind::State(_)
            | BlockKind::Branch(_)
            | BlockKind::Break
            | BlockKind::Continue
            | BlockKind::Return => None,
        })
        .collect();
    loops.reverse();
    loops
}
