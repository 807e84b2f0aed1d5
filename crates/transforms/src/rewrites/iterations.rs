//! Copies of the body of a loop in the region of the loop: iterations that are written out.

use std::collections::BTreeMap;

use sdfg::analysis::region_graph::tried_transitions;
use sdfg::analysis::{RegionGraph, control_code_of};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{Block, BlockId, BlockKind, Branch, RegionId, Sdfg, Transition};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::Expression;

use crate::engine::Refusal;

/// The reason for which loops that a rewrite makes have no bounds.
pub(super) const NO_BOUND: &str = "its bounds are no expressions of control flow";

/// A bound of a loop in code.
pub(super) fn bound(sdfg: &Sdfg, label: &str, value: &Expr) -> Result<Expression, EditError> {
    let refused = || EditError::ControlFlow { label: label.to_owned(), reason: NO_BOUND };
    control_code_of(sdfg, value).ok_or_else(refused)
}

/// Refuses a body that may end in the middle: after a block none of whose transitions is taken.
pub(super) fn ends_at_its_ends(sdfg: &Sdfg, label: &str, body: RegionId) -> Result<(), Refusal> {
    let graph = RegionGraph::of(sdfg, body);
    let ends_early =
        |block: &BlockId| graph.may_end_after(*block) && !tried_transitions(sdfg, *block).is_empty();
    match graph.blocks().find(ends_early) {
        None if graph.start().is_some() => Ok(()),
        None => Err(Refusal::structure(label, "has an empty body")),
        Some(block) => {
            let block = &sdfg.block(block).label;
            Err(Refusal::structure(label, format!("may end in the middle of its body, after `{block}`")))
        }
    }
}

/// The first block of what was put in front of, or behind, a loop, and the blocks after which it ends.
pub(super) struct Copy {
    pub(super) start: BlockId,
    pub(super) ends: Vec<BlockId>,
}

/// A copy of a body for one value of the symbol, in a region, without transitions to or from the blocks around. With a
/// condition, it is run only where that holds.
pub(super) fn copy_of(
    editor: &mut Editor<'_>,
    (repeated, body): (BlockId, RegionId),
    (symbol, value): (&Symbol, &Expr),
    condition: Option<Expression>,
) -> Result<Copy, EditError> {
    let region = editor.sdfg().block(repeated).region;
    let values = BTreeMap::from([(symbol.clone(), value.clone())]);
    let Some(start) = editor.sdfg().region(body).start else { return Err(EditError::NoBlock(repeated)) };
    if let Some(condition) = condition {
        let arm = editor.add_region();
        editor.copy_region(body, arm, &values)?;
        let origin = editor.sdfg().block(repeated).label.clone();
        let label = editor.derived_block_label(&origin, "peeled");
        let branch = Branch { arms: vec![(condition, arm)], otherwise: None };
        let block = editor.add_block(Block { label, kind: BlockKind::Branch(branch), region, loc: None })?;
        return Ok(Copy { start: block, ends: vec![block] });
    }
    let graph = RegionGraph::of(editor.sdfg(), body);
    let ends: Vec<BlockId> = graph.blocks().filter(|block| graph.may_end_after(*block)).collect();
    let copies = editor.copy_region(body, region, &values)?;
    let copied = |block: &BlockId| copies.get(block).copied().ok_or(EditError::NoBlock(*block));
    Ok(Copy { start: copied(&start)?, ends: ends.iter().map(copied).collect::<Result<_, _>>()? })
}

/// Lets what led to a block lead to another one.
pub(super) fn redirect_to(editor: &mut Editor<'_>, from: BlockId, to: BlockId) -> Result<(), EditError> {
    let region = editor.sdfg().block(from).region;
    for id in editor.sdfg().region(region).transitions.clone() {
        if editor.sdfg().transition(id).dst == from {
            editor.change_transition(id, |transition| transition.dst = to)?;
        }
    }
    if editor.sdfg().region(region).start == Some(from) {
        editor.change_region(region, |region| region.start = Some(to))?;
    }
    Ok(())
}

/// Goes on from the ends of a copy to a block.
pub(super) fn go_on(editor: &mut Editor<'_>, copy: &Copy, to: BlockId) -> Result<(), EditError> {
    for end in &copy.ends {
        let always = Transition { src: *end, dst: to, condition: None, assignments: Vec::new(), loc: None };
        editor.add_transition(always)?;
    }
    Ok(())
}
