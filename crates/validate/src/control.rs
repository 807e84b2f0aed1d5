//! Rule: control flow, with jumps, unreachable blocks, and the symbols of conditions and assignments.

use std::collections::BTreeSet;

use sdfg_graph::analysis;
use sdfg_graph::diagnostic::{Code, Diagnostic};
use sdfg_graph::ir::{BlockId, BlockKind, Loop, RegionId, Sdfg, Transition, TransitionId};
use sdfg_language::symbolic::Symbol;
use sdfg_language::syntax::Expression;

use super::constant_conditions::{holds, is_wide, number};
use super::site::{Findings, Program};

/// Checks the control flow of one SDFG, without its code.
pub(super) fn check(program: &Program<'_>, findings: &mut Findings) {
    region(program, program.sdfg.body(), false, true, findings);
    for (id, block) in program.sdfg.blocks() {
        if let BlockKind::Loop(repeated) = &block.kind
            && let Some(symbol) = &repeated.symbol
        {
            let error = |code, message| program.block_error(code, id, message);
            assigned_name(program, symbol, &error, findings);
        }
    }
    for (id, transition) in program.sdfg.transitions() {
        assignments(program, id, transition, findings);
    }
}

/// Jumps inside a region and, where it `may_run`, the blocks that its start does not reach.
fn region(program: &Program<'_>, id: RegionId, in_loop: bool, may_run: bool, findings: &mut Findings) {
    let sdfg = program.sdfg;
    let region = sdfg.region(id);
    let reached = reached(sdfg, id);
    let unreachable = |block: BlockId, message: String, advice: &str| {
        let loc = sdfg.block(block).loc.as_ref();
        Diagnostic::warning(Code::UnreachableBlock, program.block_path(block), message)
            .at(loc)
            .suggest(advice)
    };
    for block in &region.blocks {
        if may_run && !reached.contains(block) {
            let message = format!("no way leads to `{}`", program.block_label(*block));
            findings.push(unreachable(*block, message, "add a transition to it, or remove it"));
        }
        let kind = &sdfg.block(*block).kind;
        if matches!(kind, BlockKind::Break | BlockKind::Continue) && !in_loop {
            let message = format!("`{}` is not inside a loop of this SDFG", kind.noun());
            findings.push(program.block_error(Code::JumpOutsideLoop, *block, message));
        }
        for (part, never) in kind.regions().into_iter().zip(never_entered(sdfg, kind)) {
            let runs = may_run && never.is_none();
            if let (true, Some(reason), Some(start)) = (may_run, never, sdfg.region(part).start) {
                let message = format!("`{}` never runs: {reason}", program.block_label(start));
                findings.push(unreachable(
                    start,
                    message,
                    "correct the condition, or remove what never runs",
                ));
            }
            let in_loop = in_loop || matches!(kind, BlockKind::Loop(_));
            self::region(program, part, in_loop, runs, findings);
        }
    }
}

/// For each region inside a block why nothing enters it, if numbers decide that.
fn never_entered(sdfg: &Sdfg, kind: &BlockKind) -> Vec<Option<String>> {
    match kind {
        BlockKind::State(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => Vec::new(),
        BlockKind::Loop(repeated) => {
            let Loop { symbol, init, condition, test_after, .. } = repeated;
            let first = init.as_ref().and_then(|init| number(init, &|_| None));
            let counts =
                |name: &str| symbol.as_ref().is_some_and(|own| own.as_str() == name && is_wide(sdfg, own));
            let value = |name: &str| first.filter(|_| counts(name));
            let is_skipped = !test_after && holds(condition, &value) == Some(false);
            vec![is_skipped.then(|| format!("`{condition}` does not hold at first"))]
        }
        BlockKind::Branch(branch) => {
            let mut certain: Option<&Expression> = None;
            let mut parts = Vec::new();
            for (condition, _) in &branch.arms {
                let decided = holds(condition, &|_| None);
                parts.push(match certain {
                    Some(certain) => Some(format!("`{certain}` before it always holds")),
                    None => (decided == Some(false)).then(|| format!("`{condition}` never holds")),
                });
                certain = certain.or((decided == Some(true)).then_some(condition));
            }
            if branch.otherwise.is_some() {
                parts.push(certain.map(|certain| format!("`{certain}` before it always holds")));
            }
            parts
        }
    }
}

/// Blocks of a region that its start leads to. Conditions are evaluated if they are made of numbers only; a transition
/// behind one that is always taken is never tried.
fn reached(sdfg: &Sdfg, id: RegionId) -> BTreeSet<BlockId> {
    let behind = |block| if passes(sdfg, block) { next(sdfg, block).0 } else { Vec::new() };
    analysis::reached(sdfg.region(id).start, behind)
}

/// Blocks that may run after a block that is done, and whether the region may be done instead.
fn next(sdfg: &Sdfg, block: BlockId) -> (Vec<BlockId>, bool) {
    let mut found = Vec::new();
    for transition in sdfg.transitions_from(block) {
        let transition = sdfg.transition(transition);
        let decided =
            transition.condition.as_ref().map_or(Some(true), |condition| holds(condition, &|_| None));
        if decided != Some(false) {
            found.push(transition.dst);
        }
        if decided == Some(true) {
            return (found, false);
        }
    }
    (found, true)
}

/// Whether what follows a block in its region may run.
fn passes(sdfg: &Sdfg, block: BlockId) -> bool {
    let kind = &sdfg.block(block).kind;
    match kind {
        BlockKind::State(_) => true,
        BlockKind::Break | BlockKind::Continue | BlockKind::Return => false,
        BlockKind::Loop(repeated) => {
            holds(&repeated.condition, &|_| None) != Some(true) || breaks(sdfg, repeated.body)
        }
        BlockKind::Branch(branch) => {
            let is_taken =
                |(condition, _): &(Expression, RegionId)| holds(condition, &|_| None) == Some(true);
            let is_skipped = branch.otherwise.is_none() && !branch.arms.iter().any(is_taken);
            let parts = kind.regions().into_iter().zip(never_entered(sdfg, kind));
            is_skipped || parts.into_iter().any(|(part, never)| never.is_none() && may_end(sdfg, part))
        }
    }
}

/// Whether a region may be done without a jump.
fn may_end(sdfg: &Sdfg, region: RegionId) -> bool {
    sdfg.region(region).start.is_none()
        || reached(sdfg, region).into_iter().any(|block| passes(sdfg, block) && next(sdfg, block).1)
}

/// Whether a region has a `break` of the loop whose body it is.
fn breaks(sdfg: &Sdfg, region: RegionId) -> bool {
    sdfg.region(region).blocks.iter().any(|block| match &sdfg.block(*block).kind {
        BlockKind::Break => true,
        kind @ BlockKind::Branch(_) => kind.regions().into_iter().any(|part| breaks(sdfg, part)),
        BlockKind::State(_) | BlockKind::Loop(_) | BlockKind::Continue | BlockKind::Return => false,
    })
}

/// A transition assigns symbols, each once, and no containers.
fn assignments(program: &Program<'_>, id: TransitionId, transition: &Transition, findings: &mut Findings) {
    let path = || program.transition_path(id, transition);
    let error = |code, message: String| Diagnostic::error(code, path(), message).at(transition.loc.as_ref());
    let mut seen = BTreeSet::new();
    for (symbol, _) in &transition.assignments {
        if !seen.insert(symbol) {
            findings.push(error(Code::DuplicateAssignment, format!("`{symbol}` is assigned twice")));
        }
        assigned_name(program, symbol, &error, findings);
    }
}

/// An assigned name is not a container, and does not size an argument.
fn assigned_name(
    program: &Program<'_>,
    symbol: &Symbol,
    error: &dyn Fn(Code, String) -> Diagnostic,
    findings: &mut Findings,
) {
    if program.sdfg.find_container(symbol.as_str()).is_some() {
        let message = format!("`{symbol}` is a container, control flow assigns symbols");
        let error = error(Code::ContainerAsSymbol, message);
        findings.push(error.suggest("write the container in a tasklet, or choose another name"));
    }
    if let Some(argument) = program.sized_by(symbol) {
        let message =
            format!("`{symbol}` sizes the argument `{argument}`, whose size is fixed when it is passed");
        findings.push(error(Code::FixedSymbol, message).suggest("assign a symbol of another name"));
    }
}
