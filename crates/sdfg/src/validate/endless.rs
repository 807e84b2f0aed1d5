//! Loops that cannot end: what their condition depends on never changes, or changes away from the end.
//!
//! A loop is an error if it does not end whenever it is entered. A `break` of the loop or a `return` in its body is taken
//! for a way out, and so is every change of what the condition reads, except that of a counter.

use std::collections::BTreeSet;

use super::decided::holds;
use super::site::{Findings, Program};
use crate::analysis::region_graph::RegionGraph;
use crate::analysis::symbols::assigned_symbols_of;
use crate::analysis::{AccessSets, accesses};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::{BlockId, BlockKind, ContainerId, Loop, RegionId, Sdfg};
use crate::symbolic::{Expr, Symbol};
use crate::syntax::{CompareOp, Expression, ExpressionKind};

/// Checks the loops and the state machines of an SDFG.
pub(super) fn check(program: &Program<'_>, findings: &mut Findings) {
    machine(program, program.sdfg.body(), findings);
    for (id, block) in program.sdfg.blocks() {
        for part in block.kind.regions() {
            machine(program, part, findings);
        }
        if let BlockKind::Loop(repeated) = &block.kind
            && !leaves(program.sdfg, repeated.body, true)
            && let Some(reason) = endless(program.sdfg, repeated)
        {
            let message = format!("`{}` never ends once it is entered: {reason}", block.label);
            let error = program.block_error(Code::EndlessLoop, id, message);
            findings.push(error.suggest("change what the condition reads, or leave the loop with `break`"));
        }
    }
}

/// Whether the block is a loop that this check refuses.
pub(crate) fn never_ends(sdfg: &Sdfg, block: BlockId) -> bool {
    match &sdfg.block(block).kind {
        BlockKind::Loop(repeated) => !leaves(sdfg, repeated.body, true) && endless(sdfg, repeated).is_some(),
        BlockKind::State(_)
        | BlockKind::Branch(_)
        | BlockKind::Break
        | BlockKind::Continue
        | BlockKind::Return => false,
    }
}

/// Why a loop without a way out in its body goes on for ever.
fn endless(sdfg: &Sdfg, repeated: &Loop) -> Option<String> {
    let condition = &repeated.condition;
    if holds(condition, &|_| None) == Some(false) {
        return None;
    }
    let names = condition.names();
    if repeated.test_after && !names.is_empty() {
        // It is entered in any case, and ends after the first time if the condition does not hold.
        return None;
    }
    let assigned = assigned_symbols_of(sdfg, repeated.body);
    let is_assigned = |name: &str| assigned.iter().any(|symbol| symbol.as_str() == name);
    let written = changed_in(sdfg, repeated.body);
    let changes = |name: &str| {
        is_assigned(name) || sdfg.find_container(name).is_some_and(|container| written.contains(&container))
    };
    if names.iter().any(|name| changes(name)) {
        return None;
    }
    let counter = repeated.symbol.as_ref().filter(|symbol| names.contains(symbol.as_str()));
    let Some((counter, update)) = counter.zip(repeated.update.as_ref()) else {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        return Some(match names.as_slice() {
            [] => format!("`{condition}` is always true"),
            names => format!("nothing in it changes {}, on which `{condition}` depends", names.join(" or ")),
        });
    };
    let step = step(counter, update)?;
    if step == 0 {
        return Some(format!("`{counter} = {update}` changes nothing"));
    }
    // The other side of the comparison stays as it is, as was found above; of itself it may not depend on the counter.
    let ExpressionKind::Compare { first, rest } = &condition.kind else { return None };
    let [(op, second)] = rest.as_slice() else { return None };
    let is_counter =
        |side: &Expression| matches!(&side.kind, ExpressionKind::Name(name) if name == counter.as_str());
    let is_upward = match (is_counter(first), is_counter(second), op) {
        (true, false, CompareOp::Less | CompareOp::LessEqual)
        | (false, true, CompareOp::Greater | CompareOp::GreaterEqual) => true,
        (true, false, CompareOp::Greater | CompareOp::GreaterEqual)
        | (false, true, CompareOp::Less | CompareOp::LessEqual) => false,
        (_, _, CompareOp::Equal | CompareOp::NotEqual) | (true, true, _) | (false, false, _) => return None,
    };
    let bound = if is_counter(first) { second } else { first };
    let moves_away = is_upward == (step < 0);
    (moves_away && !bound.names().contains(counter.as_str()))
        .then(|| format!("`{counter} = {update}` leads away from the end of `{condition}`"))
}

/// What an update adds to its symbol, if that is a number.
fn step(counter: &Symbol, update: &Expression) -> Option<i64> {
    (Expr::from_expression(update).ok()? - Expr::symbol(counter.clone())).as_int()
}

/// Containers that a region may change: what it writes, directly or through an alias, and streams that it pops.
fn changed_in(sdfg: &Sdfg, region: RegionId) -> BTreeSet<ContainerId> {
    let sets = AccessSets::of_region(sdfg, region);
    let mut written = sets.writes;
    written.extend(sets.reads.into_iter().filter(|id| sdfg.container(*id).is_stream()));
    for (alias, targets) in accesses::alias_targets(sdfg) {
        if written.contains(&alias) {
            written.extend(targets);
        } else if !written.is_disjoint(&targets) {
            written.insert(alias);
        }
    }
    written
}

/// Whether a region has a `return`, or a `break` of the loop whose body it is.
fn leaves(sdfg: &Sdfg, region: RegionId, breaks_count: bool) -> bool {
    sdfg.region(region).blocks.iter().any(|block| match &sdfg.block(*block).kind {
        BlockKind::Return => true,
        BlockKind::Break => breaks_count,
        BlockKind::Loop(inner) => leaves(sdfg, inner.body, false),
        kind @ BlockKind::Branch(_) => {
            kind.regions().into_iter().any(|part| leaves(sdfg, part, breaks_count))
        }
        BlockKind::State(_) | BlockKind::Continue => false,
    })
}

/// Transitions that lead round and round: blocks that run and from which nothing leads to the end of the region.
fn machine(program: &Program<'_>, region: RegionId, findings: &mut Findings) {
    let graph = RegionGraph::of(program.sdfg, region);
    let mut ends: BTreeSet<BlockId> = graph.blocks().filter(|block| graph.may_end_after(*block)).collect();
    // A block that holds a `return` ends the region, too; so does one with a `break`, unless it is a loop.
    ends.extend(graph.blocks().filter(|block| {
        let kind = &program.sdfg.block(*block).kind;
        let is_loop = matches!(kind, BlockKind::Loop(_));
        kind.regions()
            .into_iter()
            .any(|part| leaves(program.sdfg, part, !is_loop) || continues(program.sdfg, part))
    }));
    let mut waiting: Vec<BlockId> = ends.iter().copied().collect();
    while let Some(block) = waiting.pop() {
        waiting.extend(graph.predecessors(block).iter().filter(|before| ends.insert(**before)));
    }
    let Some(first) = graph.reachable().into_iter().find(|block| !ends.contains(block)) else { return };
    let label = program.block_label(first);
    let message = format!("from `{label}` on, transitions lead round and round, and none to the end");
    let loc = program.sdfg.block(first).loc.as_ref();
    let error = Diagnostic::error(Code::EndlessLoop, program.block_path(first), message).at(loc);
    findings.push(error.suggest("put a condition on one of the transitions, or add one that leaves"));
}

/// Whether a region has a `continue` of a loop around it.
fn continues(sdfg: &Sdfg, region: RegionId) -> bool {
    sdfg.region(region).blocks.iter().any(|block| match &sdfg.block(*block).kind {
        BlockKind::Continue => true,
        kind @ BlockKind::Branch(_) => kind.regions().into_iter().any(|part| continues(sdfg, part)),
        BlockKind::State(_) | BlockKind::Loop(_) | BlockKind::Break | BlockKind::Return => false,
    })
}
