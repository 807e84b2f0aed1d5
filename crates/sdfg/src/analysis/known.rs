//! What is known of symbols at a place: sizes, the loops and maps around it, and the conditions under which it runs.
//!
//! ```
//! use sdfg::analysis::known_at;
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
//! let inside = known_at(&program, id, state.find("m"));
//! let at_least = |text: &str| Expr::int(0).le(&text.parse().expect("an expression"), &inside).is_proved();
//! assert!(at_least("i - 2") && at_least("N - 1 - i") && at_least("N - 11") && !at_least("N - 12"));
//! ```

use std::collections::BTreeSet;

use super::footprint::nonnegative_extents;
use super::loops::counted_range;
use super::scope_tree::ScopeTree;
use super::symbols::{UNDECLARED_SYMBOL, assigned_symbols_of, bound_symbols, scope_parameters};
use crate::dtype::ScalarType;
use crate::ir::{BlockId, BlockKind, Branch, NodeId, RegionId, Sdfg, StateId};
use crate::symbolic::{Assumptions, Expr, Symbol};
use crate::syntax::{BinaryOp, CompareOp, Expression, ExpressionKind, UnaryOp};

/// What is known in a scope of a state (`None`: outside all scopes) of one SDFG; what its caller knows is not looked at.
///
/// Symbols of shapes are not negative, those of counted loops and of maps lie in their ranges, and the conditions of branches
/// around the state hold as far as they compare integers that nothing changes within the branch.
pub fn known_at(sdfg: &Sdfg, state: StateId, scope: Option<NodeId>) -> Assumptions {
    let mut known = nonnegative_extents(sdfg);
    let graph = sdfg.state(state);
    let tree = ScopeTree::of(graph);
    let mut entries: Vec<NodeId> = tree.enclosing_scope(scope).collect();
    entries.reverse();
    let hidden: BTreeSet<Symbol> = entries.iter().flat_map(|entry| bound_symbols(graph, *entry)).collect();
    let block = sdfg.blocks().find(|(_, block)| matches!(block.kind, BlockKind::State(id) if id == state));
    if let Some((block, _)) = block {
        for (holder, region) in around(sdfg, block) {
            match &sdfg.block(holder).kind {
                BlockKind::Loop(repeated) => {
                    if let Some((symbol, range)) = counted_range(sdfg, repeated) {
                        range.constrain(symbol, &mut known);
                    }
                }
                BlockKind::Branch(branch) => {
                    let changed = assigned_symbols_of(sdfg, region);
                    for fact in conditions(sdfg, branch, region) {
                        if !changed.iter().chain(&hidden).any(|symbol| fact.depends_on(symbol)) {
                            known.assume_nonnegative(fact);
                        }
                    }
                }
                BlockKind::State(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
            }
        }
    }
    for entry in entries {
        for (symbol, range) in scope_parameters(graph, entry) {
            range.constrain(symbol, &mut known);
        }
    }
    known
}

/// The blocks around a block with the region of each that holds it, the outermost first.
fn around(sdfg: &Sdfg, block: BlockId) -> Vec<(BlockId, RegionId)> {
    let holder = |block: BlockId| {
        let region = sdfg.block(block).region;
        sdfg.region(region).parent.map(|parent| (parent, region))
    };
    // A wrong graph may have a region that contains itself.
    let all = std::iter::successors(holder(block), |(block, _)| holder(*block));
    let mut found: Vec<(BlockId, RegionId)> = all.take(sdfg.blocks().count()).collect();
    found.reverse();
    found
}

/// Expressions that are not negative when an arm of a branch begins: its own condition holds, and those before it do not.
fn conditions(sdfg: &Sdfg, branch: &Branch, region: RegionId) -> Vec<Expr> {
    let mut found = Vec::new();
    for (condition, arm) in &branch.arms {
        let is_taken = *arm == region;
        facts(sdfg, condition, is_taken, &mut found);
        if is_taken {
            break;
        }
    }
    found
}

/// Adds what follows from a condition that holds, or that does not.
fn facts(sdfg: &Sdfg, condition: &Expression, holds: bool, found: &mut Vec<Expr>) {
    match &condition.kind {
        ExpressionKind::Unary { op: UnaryOp::Not, operand } => facts(sdfg, operand, !holds, found),
        // Both hold, or neither does.
        ExpressionKind::Binary { op: BinaryOp::And, left, right } if holds => {
            facts(sdfg, left, true, found);
            facts(sdfg, right, true, found);
        }
        ExpressionKind::Binary { op: BinaryOp::Or, left, right } if !holds => {
            facts(sdfg, left, false, found);
            facts(sdfg, right, false, found);
        }
        // Of a chain that does not hold, some comparison does not.
        ExpressionKind::Compare { first, rest } if holds || rest.len() == 1 => {
            let mut left = integer(sdfg, first);
            for (op, right) in rest {
                let right = integer(sdfg, right);
                if let (Some(left), Some(right)) = (&left, &right) {
                    found.extend(compared(left, if holds { *op } else { negated(*op) }, right));
                }
                left = right;
            }
        }
        ExpressionKind::Integer(_)
        | ExpressionKind::Float(_)
        | ExpressionKind::Imaginary(_)
        | ExpressionKind::Bool(_)
        | ExpressionKind::Name(_)
        | ExpressionKind::Unary { .. }
        | ExpressionKind::Binary { .. }
        | ExpressionKind::Compare { .. }
        | ExpressionKind::Conditional { .. }
        | ExpressionKind::Call { .. }
        | ExpressionKind::Subscript { .. } => {}
    }
}

/// An integer over symbols. Arithmetic on narrower or unsigned symbols may wrap and is left out.
fn integer(sdfg: &Sdfg, expression: &Expression) -> Option<Expr> {
    let expr = Expr::from_expression(expression).ok()?;
    let is_index = |symbol: &Symbol| {
        let ty = sdfg.symbol_type(symbol).unwrap_or(UNDECLARED_SYMBOL);
        ty == ScalarType::I64 && sdfg.find_container(symbol.as_str()).is_none()
    };
    let is_integer = expr.is_integral(&Assumptions::new()).is_proved();
    (is_integer && expr.free_symbols().iter().all(is_index)).then_some(expr)
}

/// What is not negative if the comparison of two integers holds.
fn compared(left: &Expr, op: CompareOp, right: &Expr) -> Vec<Expr> {
    match op {
        CompareOp::Less => vec![right - left - 1],
        CompareOp::LessEqual => vec![right - left],
        CompareOp::Greater => vec![left - right - 1],
        CompareOp::GreaterEqual => vec![left - right],
        CompareOp::Equal => vec![left - right, right - left],
        CompareOp::NotEqual => Vec::new(),
    }
}

fn negated(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Less => CompareOp::GreaterEqual,
        CompareOp::LessEqual => CompareOp::Greater,
        CompareOp::Greater => CompareOp::LessEqual,
        CompareOp::GreaterEqual => CompareOp::Less,
        CompareOp::Equal => CompareOp::NotEqual,
        CompareOp::NotEqual => CompareOp::Equal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    /// Whether `text` is not negative in the state of this label, as far as is known.
    fn holds(program: &Sdfg, label: &str, text: &str) -> bool {
        let (id, _) = program.states().find(|(_, state)| state.label == label).unwrap();
        Expr::int(0).le(&text.parse().unwrap(), &known_at(program, id, None)).is_proved()
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

  if sizes: N > 10 and k > 2 and M > 3 {
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
}
