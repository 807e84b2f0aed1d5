//! Rule: the tree of regions and blocks. Every block is in one region, and every region and state in one
//! block.

use std::collections::BTreeSet;

use sdfg_graph::diagnostic::{Code, Diagnostic};
use sdfg_graph::ir::{BlockId, BlockKind, RegionId, StateId};

use super::super::site::{Findings, Program};

/// Regions within regions beyond which a program is refused; it bounds the stack of every recursion over a program.
const MAX_DEPTH: usize = 256;

/// Elements met during the walk through the tree.
#[derive(Default)]
struct Visited {
    regions: BTreeSet<RegionId>,
    blocks: BTreeSet<BlockId>,
    states: BTreeSet<StateId>,
}

/// Checks the tree below the body of an SDFG, and that nothing lies beside it.
pub(super) fn check(program: &Program<'_>, findings: &mut Findings) {
    let mut visited = Visited::default();
    region(program, program.sdfg.body(), None, 0, &mut visited, findings);
    for (id, block) in program.sdfg.blocks() {
        if !visited.blocks.contains(&id) {
            let message =
                format!("the {} `{}` is in no region of the program", block.kind.noun(), block.label);
            findings.push(program.block_error(Code::MalformedRegion, id, message));
        }
    }
    transitions(program, findings);
}

fn region(
    program: &Program<'_>,
    id: RegionId,
    parent: Option<BlockId>,
    depth: usize,
    visited: &mut Visited,
    findings: &mut Findings,
) {
    let path = parent.map_or_else(|| program.path.clone(), |block| program.block_path(block));
    let Some(region) = program.sdfg.get_region(id) else {
        findings.push(Diagnostic::error(
            Code::DanglingReference,
            path,
            format!("region {id} does not exist"),
        ));
        return;
    };
    if depth > MAX_DEPTH {
        let message = format!("loops and branches are nested deeper than {MAX_DEPTH} levels");
        findings.push(Diagnostic::error(Code::NestingTooDeep, path, message));
        return;
    }
    if !visited.regions.insert(id) || region.parent != parent {
        findings.push(Diagnostic::error(Code::MalformedRegion, path, format!("region {id} has two parents")));
        return;
    }
    match region.start {
        Some(start) if !region.blocks.contains(&start) => {
            let message = format!("region {id} starts with a block of another region");
            findings.push(Diagnostic::error(Code::MalformedRegion, path, message));
        }
        None if !region.blocks.is_empty() => {
            let message = format!("region {id} has blocks and no first one");
            findings.push(Diagnostic::error(Code::MalformedRegion, path, message));
        }
        Some(_) | None => {}
    }
    for block in &region.blocks {
        self::block(program, *block, id, depth, visited, findings);
    }
}

fn block(
    program: &Program<'_>,
    id: BlockId,
    region: RegionId,
    depth: usize,
    visited: &mut Visited,
    findings: &mut Findings,
) {
    let Some(block) = program.sdfg.get_block(id) else {
        let message = format!("region {region} lists block {id}, which does not exist");
        findings.push(Diagnostic::error(Code::DanglingReference, program.path.clone(), message));
        return;
    };
    if !visited.blocks.insert(id) || block.region != region {
        let message = format!("block `{}` is in two regions", block.label);
        findings.push(program.block_error(Code::MalformedRegion, id, message));
        return;
    }
    if let BlockKind::State(state) = block.kind {
        if program.sdfg.get_state(state).is_none() {
            let message = format!("block `{}` runs state {state}, which does not exist", block.label);
            findings.push(program.block_error(Code::DanglingReference, id, message));
        } else if !visited.states.insert(state) {
            let message = format!("block `{}` runs a state that another block runs, too", block.label);
            findings.push(program.block_error(Code::MalformedRegion, id, message));
        }
    }
    for inner in block.kind.regions() {
        self::region(program, inner, Some(id), depth + 1, visited, findings);
    }
}

/// Transitions join blocks of the region that lists them.
fn transitions(program: &Program<'_>, findings: &mut Findings) {
    let sdfg = program.sdfg;
    for (id, transition) in sdfg.transitions() {
        let error = |code, message: String| {
            let path = program.transition_path(id, transition);
            Diagnostic::error(code, path, message).at(transition.loc.as_ref())
        };
        match (sdfg.get_block(transition.src), sdfg.get_block(transition.dst)) {
            (Some(src), Some(dst)) if src.region != dst.region => {
                let message = format!("`{}` and `{}` are in different regions", src.label, dst.label);
                let error = error(Code::MalformedRegion, message);
                findings.push(error.suggest("leave a loop with `break`, or through the end of its region"));
            }
            (Some(_), Some(_)) => {}
            (None, _) | (_, None) => {
                let message = "a transition joins blocks of which one does not exist".to_owned();
                findings.push(error(Code::DanglingReference, message));
            }
        }
    }
    for (id, block) in sdfg.blocks() {
        for part in block.kind.regions() {
            dangling_transitions(program, id, part, findings);
        }
    }
}

fn dangling_transitions(program: &Program<'_>, block: BlockId, region: RegionId, findings: &mut Findings) {
    let Some(region) = program.sdfg.get_region(region) else { return };
    for id in &region.transitions {
        if program.sdfg.get_transition(*id).is_none() {
            let message = format!("transition {id} does not exist");
            findings.push(program.block_error(Code::DanglingReference, block, message));
        }
    }
}
