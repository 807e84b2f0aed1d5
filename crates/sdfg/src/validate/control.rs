//! Control flow: jumps, blocks that never run, and the symbols of conditions and assignments.

use std::collections::BTreeSet;

use super::site::{Findings, Program};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::{BlockId, BlockKind, RegionId, Transition};

/// Checks the control flow of one SDFG, without its code.
pub(super) fn check(program: &Program<'_>, findings: &mut Findings) {
    region(program, program.sdfg.body(), false, findings);
    for (id, block) in program.sdfg.blocks() {
        if let BlockKind::Loop(repeated) = &block.kind
            && let Some(symbol) = &repeated.symbol
        {
            assigned_name(
                program,
                symbol.as_str(),
                &|message| program.block_error(Code::ContainerAsSymbol, id, message),
                findings,
            );
        }
    }
    for (_, transition) in program.sdfg.transitions() {
        assignments(program, transition, findings);
    }
}

/// Jumps inside a region and the blocks that its start does not reach.
fn region(program: &Program<'_>, id: RegionId, in_loop: bool, findings: &mut Findings) {
    let sdfg = program.sdfg;
    let region = sdfg.region(id);
    let reached = reached(program, id);
    for block in &region.blocks {
        if !reached.contains(block) {
            let message = format!("no way leads to `{}`", program.block_label(*block));
            let loc = sdfg.block(*block).loc.as_ref();
            let warning =
                Diagnostic::warning(Code::UnreachableBlock, program.block_path(*block), message).at(loc);
            findings.push(warning.suggest("add a transition to it, or remove it"));
        }
        let kind = &sdfg.block(*block).kind;
        if matches!(kind, BlockKind::Break | BlockKind::Continue) && !in_loop {
            let message = format!("`{}` is not inside a loop of this SDFG", kind.noun());
            findings.push(program.block_error(Code::JumpOutsideLoop, *block, message));
        }
        for part in kind.regions() {
            self::region(program, part, in_loop || matches!(kind, BlockKind::Loop(_)), findings);
        }
    }
}

/// Blocks of a region that its start leads to. Conditions are not evaluated, but a transition behind one that is
/// always taken is never tried.
fn reached(program: &Program<'_>, id: RegionId) -> BTreeSet<BlockId> {
    let sdfg = program.sdfg;
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<BlockId> = sdfg.region(id).start.into_iter().collect();
    while let Some(block) = waiting.pop() {
        if !reached.insert(block) {
            continue;
        }
        match sdfg.block(block).kind {
            // What follows a jump in its region never runs.
            BlockKind::Break | BlockKind::Continue | BlockKind::Return => continue,
            BlockKind::State(_) | BlockKind::Loop(_) | BlockKind::Branch(_) => {}
        }
        for transition in sdfg.transitions_from(block) {
            let transition = sdfg.transition(transition);
            waiting.push(transition.dst);
            if transition.condition.is_none() {
                break;
            }
        }
    }
    reached
}

/// A transition assigns symbols, each once, and no containers.
fn assignments(program: &Program<'_>, transition: &Transition, findings: &mut Findings) {
    let path = || program.transition_path(transition.src, transition.dst);
    let error = |code, message: String| Diagnostic::error(code, path(), message).at(transition.loc.as_ref());
    let mut seen = BTreeSet::new();
    for (symbol, _) in &transition.assignments {
        if !seen.insert(symbol) {
            findings.push(error(Code::DuplicateAssignment, format!("`{symbol}` is assigned twice")));
        }
        assigned_name(program, symbol.as_str(), &|message| error(Code::ContainerAsSymbol, message), findings);
    }
}

/// What is assigned is no container.
fn assigned_name(
    program: &Program<'_>,
    name: &str,
    error: &dyn Fn(String) -> Diagnostic,
    findings: &mut Findings,
) {
    if program.sdfg.find_container(name).is_some() {
        let message = format!("`{name}` is a container, control flow assigns symbols");
        findings.push(error(message).suggest("write the container in a tasklet, or choose another name"));
    }
}
