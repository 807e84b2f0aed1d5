//! Facts that the conditions of branches imply about symbols in their arms, and those of transitions about symbols in the blocks
//! behind them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::syntax::{BinaryOp, CompareOp, Expression, ExpressionKind, UnaryOp};

use crate::analysis::dominators::DominatorTree;
use crate::analysis::integers::integer_of;
use crate::analysis::region_graph::{RegionGraph, tried_transitions};
use crate::analysis::symbols::assigned_symbols_of;
use crate::ir::{BlockId, Branch, RegionId, Sdfg};

/// Expressions that are not negative when an arm of a branch begins: its own condition holds, and those before it do not.
pub(super) fn conditions(sdfg: &Sdfg, branch: &Branch, region: RegionId) -> Vec<Expr> {
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

/// For each block of a region that transitions lead to under conditions: expressions that are not negative when it runs, of symbols
/// that keep their values in the region. A block that no way leads to has the fact -1 >= 0.
pub(super) fn of_transitions(sdfg: &Sdfg, region: RegionId) -> BTreeMap<BlockId, Arc<[Expr]>> {
    let graph = RegionGraph::of(sdfg, region);
    let dominators = DominatorTree::dominators(&graph);
    let changed: BTreeSet<Symbol> = assigned_symbols_of(sdfg, region).into_iter().collect();
    let mut known: BTreeMap<BlockId, Arc<[Expr]>> = BTreeMap::new();
    let mut waiting: Vec<(BlockId, Arc<[Expr]>)> =
        graph.start().map(|start| (start, Arc::default())).into_iter().collect();
    let mut below: BTreeMap<BlockId, Vec<BlockId>> = BTreeMap::new();
    for block in graph.blocks() {
        match dominators.immediate(block) {
            Some(above) => below.entry(above).or_default().push(block),
            None if !dominators.contains(block) => waiting.push((block, Arc::new([Expr::int(-1)]))),
            None => {}
        }
    }
    while let Some((block, facts)) = waiting.pop() {
        for next in below.remove(&block).unwrap_or_default() {
            // Behind several transitions, none of their conditions is certain.
            let own = if graph.predecessors(next) == [block] {
                on_entry(sdfg, block, next, &changed)
            } else {
                Vec::new()
            };
            let all =
                if own.is_empty() { Arc::clone(&facts) } else { facts.iter().cloned().chain(own).collect() };
            waiting.push((next, all));
        }
        if !facts.is_empty() {
            known.insert(block, facts);
        }
    }
    known
}

/// Expressions that are not negative if the transition from one block to another is taken: its condition holds, and those that are
/// tried before do not.
fn on_entry(sdfg: &Sdfg, from: BlockId, to: BlockId, changed: &BTreeSet<Symbol>) -> Vec<Expr> {
    let tried = tried_transitions(sdfg, from);
    let leads_there = |index: &usize| sdfg.transition(tried[*index]).dst == to;
    let taken: Vec<usize> = (0..tried.len()).filter(leads_there).collect();
    let &[taken] = taken.as_slice() else { return Vec::new() };
    let mut found = Vec::new();
    for (index, id) in tried[..=taken].iter().enumerate() {
        if let Some(condition) = &sdfg.transition(*id).condition {
            facts(sdfg, condition, index == taken, &mut found);
        }
    }
    found.retain(|fact| !changed.iter().any(|symbol| fact.depends_on(symbol)));
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
            let mut left = integer_of(sdfg, first);
            for (op, right) in rest {
                let right = integer_of(sdfg, right);
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

/// Expressions that are non-negative if the comparison of two integers holds.
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
