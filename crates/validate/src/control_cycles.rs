//! Rule: cycles of transitions without an end.
//!
//! A cycle is an error if no path leaves it. If its only exit is never taken after the first round, because
//! nothing in the cycle changes the operands of its conditions, it is a warning: a caller's values may never
//! lead into the cycle.

use std::collections::BTreeSet;

use sdfg_graph::analysis::region_graph::{RegionGraph, tried_transitions};
use sdfg_graph::analysis::symbols::assigned_symbols_of;
use sdfg_graph::analysis::{AccessSets, reached};
use sdfg_graph::diagnostic::{Code, Diagnostic, Severity};
use sdfg_graph::ir::{BlockId, BlockKind, RegionId, Sdfg};
use sdfg_graph::workspace::loop_symbol;

use super::constant_conditions::holds;
use super::infinite_loops::{changed_by, continues, leaves};
use super::site::{Findings, Program};

/// Checks the transitions of one region.
pub(super) fn check(program: &Program<'_>, region: RegionId, findings: &mut Findings) {
    let graph = program.region_graph(region);
    closed(program, &graph, findings);
    for circle in circles(&graph) {
        kept(program, &graph, &circle, findings);
    }
}

/// Blocks that run and from which nothing leads to the end of the region.
fn closed(program: &Program<'_>, graph: &RegionGraph, findings: &mut Findings) {
    let mut ends: BTreeSet<BlockId> = graph.blocks().filter(|block| graph.may_end_after(*block)).collect();
    ends.extend(graph.blocks().filter(|block| jumps(program.sdfg, *block)));
    let ends = reached(ends, |block| graph.predecessors(block).iter().copied());
    let Some(first) = graph.reachable().into_iter().find(|block| !ends.contains(block)) else { return };
    let label = program.block_label(first);
    let message = format!("from `{label}` on, transitions lead round and round, and none to the end");
    let loc = program.sdfg.block(first).loc.as_ref();
    let error = Diagnostic::error(Code::EndlessLoop, program.block_path(first), message).at(loc);
    findings.push(error.suggest("put a condition on one of the transitions, or add one that leaves"));
}

/// Whether something in a block ends the region around it: a `return` does, and so does a `break`, unless the block is a
/// loop.
fn jumps(sdfg: &Sdfg, block: BlockId) -> bool {
    let kind = &sdfg.block(block).kind;
    let is_loop = matches!(kind, BlockKind::Loop(_));
    kind.regions().into_iter().any(|part| leaves(sdfg, part, !is_loop) || continues(sdfg, part))
}

/// Blocks that run and lead to each other, two at least, and as many as there are.
fn circles(graph: &RegionGraph) -> Vec<BTreeSet<BlockId>> {
    let reachable = graph.reachable();
    let mut circles = graph.cycles();
    circles.retain(|circle| circle.len() > 1 && !circle.is_disjoint(&reachable));
    circles
}

/// A circle that is entered and left at one block only, and whose ways out depend on nothing that the circle changes:
/// what is behind them runs for ever.
fn kept(program: &Program<'_>, graph: &RegionGraph, circle: &BTreeSet<BlockId>, findings: &mut Findings) {
    let sdfg = program.sdfg;
    let leads_out = |block: &BlockId| {
        graph.may_end_after(*block) || graph.successors(*block).iter().any(|next| !circle.contains(next))
    };
    let is_entered = |block: &BlockId| {
        graph.start() == Some(*block)
            || graph.predecessors(*block).iter().any(|before| !circle.contains(before))
    };
    let mut doors = circle.iter().filter(|block| leads_out(block));
    let (Some(door), None) = (doors.next(), doors.next()) else { return };
    let is_entered_inside = circle.iter().any(|block| block != door && is_entered(block));
    if is_entered_inside || circle.iter().any(|block| jumps(sdfg, *block)) {
        return;
    }
    let tried = tried_transitions(sdfg, *door);
    let conditions = || tried.iter().filter_map(|id| sdfg.transition(*id).condition.as_ref());
    let stays = tried.iter().map(|id| sdfg.transition(*id)).find(|transition| {
        let is_refuted =
            transition.condition.as_ref().is_some_and(|condition| holds(condition, &|_| None) == Some(false));
        transition.dst != *door && circle.contains(&transition.dst) && !is_refuted
    });
    let Some(stays) = stays else { return };
    let names: BTreeSet<String> =
        conditions().flat_map(|condition| condition.names()).map(|name| name.to_string()).collect();
    if names.iter().any(|name| changes(program, circle, name)) {
        return;
    }
    let label = program.block_label(stays.dst);
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let message = format!(
        "once `{label}` runs, transitions lead round and round: nothing on the way changes {}, which decides whether \
         they go on",
        names.join(" or ")
    );
    let loc = sdfg.block(stays.dst).loc.as_ref();
    let mut found = Diagnostic::error(Code::EndlessLoop, program.block_path(stays.dst), message).at(loc);
    if !names.is_empty() {
        found.severity = Severity::Warning;
    }
    findings.push(found.suggest("assign it on a transition of the circle, or add a transition that leaves"));
}

/// Whether a circle may change what a condition reads under a name.
fn changes(program: &Program<'_>, circle: &BTreeSet<BlockId>, name: &str) -> bool {
    let sdfg = program.sdfg;
    let mut sets = AccessSets::default();
    for block in circle {
        let kind = &sdfg.block(*block).kind;
        let own = match kind {
            BlockKind::State(state) => vec![AccessSets::of_state(sdfg.state(*state))],
            BlockKind::Loop(_) | BlockKind::Branch(_) => {
                kind.regions().into_iter().map(|part| AccessSets::of_region(sdfg, part)).collect()
            }
            BlockKind::Break | BlockKind::Continue | BlockKind::Return => Vec::new(),
        };
        for found in own {
            sets.reads.extend(found.reads);
            sets.writes.extend(found.writes);
        }
        let inside = kind.regions().into_iter().flat_map(|part| assigned_symbols_of(sdfg, part));
        let after = sdfg.transitions_from(*block).into_iter().map(|id| sdfg.transition(id));
        let after = after.filter(|transition| circle.contains(&transition.dst));
        let after =
            after.flat_map(|transition| transition.assignments.iter().map(|(symbol, _)| symbol.clone()));
        if loop_symbol(kind).into_iter().chain(inside).chain(after).any(|symbol| symbol.as_str() == name) {
            return true;
        }
    }
    sdfg.find_container(name).is_some_and(|container| {
        changed_by(sdfg, sets, &program.shared, program.alias_targets()).contains(&container)
    })
}
