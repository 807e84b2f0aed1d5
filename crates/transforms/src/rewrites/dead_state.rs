//! [`DeadStateElimination`].

use sdfg::analysis::{RegionGraph, integer_of};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{BlockId, BlockKind, Branch, RegionId, Sdfg};
use sdfg::symbolic::{Assumptions, Truth};
use sdfg::syntax::{BinaryOp, CompareOp, Expression, ExpressionKind, UnaryOp};
use serde::{Deserialize, Serialize};

use super::{anchored, described, iterations};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Tables, Transformation};
use crate::pattern::{BlockClass, Pattern};

/// Removes blocks that never run.
///
/// # When it applies
///
/// The block is one to which no transition leads, or only transitions whose condition never holds. Or it is a
/// branch with arms that are never taken: a condition before them always holds, or their own never does. The
/// values of symbols decide conditions. If one arm is always taken, its blocks take the place of the branch.
///
/// # Refusals
///
/// - The block may run: a condition that reads data, or whose symbols are not known well enough, is not
///   decided. So is one that divides or shifts by a symbol, or computes with a symbol of another type than `i64`.
/// - All arms of the branch may be taken.
///
/// # Before
///
/// ```sdft
/// sdfg stages {
///   symbol N: i64
///   array A: f64[N + 1]
///
///   if mode: N >= 0 {
///     state regular {
///       access A
///       tasklet one () -> (a) { a = 1.0 }
///       one.a -> A: A[0]
///     }
///   } else {
///     state degenerate {
///       access A
///       tasklet zero () -> (a) { a = 0.0 }
///       zero.a -> A: A[0]
///     }
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg stages {
///   symbol N: i64
///   array A: f64[N + 1]
///
///   state regular {
///     access A
///     tasklet one () -> (a) { a = 1.0 }
///     one.a -> A: A[0]
///   }
/// }
/// ```
///
/// # Soundness
///
/// A removed block or arm runs for no values of the symbols. The conditions of the arms that remain are
/// tested in the same order. An arm that is always taken runs at the place of the branch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DeadStateElimination {}

static METADATA: Metadata = Metadata {
    name: "DeadStateElimination",
    group: Group::ControlFlow,
    summary: "Removes blocks that never run.",
    source: "DaCe, DeadStateElimination",
    soundness: Soundness::Always,
    is_strict: true,
    file: include_str!("dead_state.rs"),
    parameters: &[],
};

anchored!(DeadStateElimination);

/// Dead parts at a block.
enum Dead {
    /// The block as a whole.
    Block,
    /// Some arms: those that remain, the rest that remains, and regions to clear.
    Arms(Branch, Vec<RegionId>),
    /// All arms but one, which is always taken; regions to clear.
    Others(Branch, Vec<RegionId>),
    /// All arms, and nothing remains.
    AllArms,
}

fn dead(site: &Site<'_>) -> Result<Dead, Refusal> {
    let (sdfg, block) = (site.sdfg, site.found.block(0));
    let found = sdfg.block(block);
    let region = sdfg.region(found.region);
    let graph: std::sync::Arc<RegionGraph> = site.region_graph(found.region);
    if region.start != Some(block) {
        if graph.predecessors(block).is_empty() {
            return Ok(Dead::Block);
        }
        let into = graph.predecessors(block).iter().flat_map(|before| sdfg.transitions_from(*before));
        let mut into = into.map(|id| sdfg.transition(id)).filter(|transition| transition.dst == block);
        let never = |src: BlockId, condition: &Expression| {
            decided(sdfg, condition, &site.facts().whenever(sdfg, src)) == Some(false)
        };
        if into.all(|found| found.condition.as_ref().is_some_and(|condition| never(found.src, condition))) {
            return Ok(Dead::Block);
        }
    }
    let BlockKind::Branch(branch) = &found.kind else {
        return Err(Refusal::structure(&found.label, "may run"));
    };
    let known = site.facts().whenever(sdfg, block);
    let (mut kept, mut cleared, mut is_decided) = (Vec::new(), Vec::new(), false);
    for (condition, arm) in &branch.arms {
        match decided(sdfg, condition, &known).filter(|_| !is_decided) {
            _ if is_decided => cleared.push(*arm),
            Some(false) => cleared.push(*arm),
            Some(true) => {
                is_decided = true;
                kept.push((condition.clone(), *arm));
            }
            None => kept.push((condition.clone(), *arm)),
        }
    }
    let otherwise = branch.otherwise.filter(|_| !is_decided);
    cleared.extend(branch.otherwise.filter(|_| is_decided));
    let certain = |only| Branch { arms: vec![(Expression::bool(true), only)], otherwise: None };
    match (kept.as_slice(), otherwise) {
        ([], None) => Ok(Dead::AllArms),
        ([], Some(only)) => Ok(Dead::Others(certain(only), cleared)),
        ([(_, only)], None) if is_decided => Ok(Dead::Others(certain(*only), cleared)),
        _ if cleared.is_empty() => Err(Refusal::structure(&found.label, "has arms that may all be taken")),
        (arms, otherwise) => Ok(Dead::Arms(Branch { arms: arms.to_vec(), otherwise }, cleared)),
    }
}

/// Whether a condition holds, if that is known.
fn decided(sdfg: &Sdfg, condition: &Expression, known: &Assumptions) -> Option<bool> {
    match &condition.kind {
        ExpressionKind::Bool(value) => Some(*value),
        ExpressionKind::Unary { op: UnaryOp::Not, operand } => {
            decided(sdfg, operand, known).map(|value| !value)
        }
        ExpressionKind::Binary { op: op @ (BinaryOp::And | BinaryOp::Or), left, right } => {
            let ends = *op == BinaryOp::Or;
            match (decided(sdfg, left, known), decided(sdfg, right, known)) {
                // The right operand may trap, but not before the left one decides.
                (Some(left), _) if left == ends => Some(ends),
                (Some(_), right) => right,
                (None, _) => None,
            }
        }
        ExpressionKind::Compare { first, rest } => {
            let [(op, right)] = rest.as_slice() else { return None };
            let (left, right) = (integer_of(sdfg, first)?, integer_of(sdfg, right)?);
            let truth = match op {
                CompareOp::Less => left.lt(&right, known),
                CompareOp::LessEqual => left.le(&right, known),
                CompareOp::Greater => left.gt(&right, known),
                CompareOp::GreaterEqual => left.ge(&right, known),
                CompareOp::Equal => left.equals(&right, known),
                CompareOp::NotEqual => return from(left.equals(&right, known)).map(|value| !value),
            };
            from(truth)
        }
        ExpressionKind::Integer(_)
        | ExpressionKind::Float(_)
        | ExpressionKind::Imaginary(_)
        | ExpressionKind::Name(_)
        | ExpressionKind::Unary { .. }
        | ExpressionKind::Binary { .. }
        | ExpressionKind::Conditional { .. }
        | ExpressionKind::Call { .. }
        | ExpressionKind::Subscript { .. } => None,
    }
}

fn from(truth: Truth) -> Option<bool> {
    match truth {
        Truth::Proved => Some(true),
        Truth::Refuted => Some(false),
        Truth::Unknown => None,
    }
}

impl Transformation for DeadStateElimination {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::block("block", BlockClass::Any)
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        dead(site).map(|_| Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let block = found.block(0);
        let here = Match { calls: Vec::new(), elements: found.elements.clone() };
        let tables = Tables::new();
        let dead = Site::of(editor.sdfg(), &here, &tables).and_then(|site| dead(&site).ok());
        match dead {
            None => Err(EditError::NoBlock(block)),
            Some(Dead::Block) => editor.remove_block(block),
            Some(Dead::AllArms) => {
                let after = editor.insert_state_after(block)?;
                iterations::redirect_to(editor, block, after)?;
                editor.remove_block(block)
            }
            Some(Dead::Arms(branch, cleared)) => keep(editor, block, branch, cleared),
            Some(Dead::Others(branch, cleared)) => {
                keep(editor, block, branch, cleared)?;
                editor.take_arm(block)
            }
        }
    }
}

/// Lets a branch have other arms, and clears regions that are none of its arms any more.
fn keep(
    editor: &mut Editor<'_>,
    block: BlockId,
    branch: Branch,
    cleared: Vec<RegionId>,
) -> Result<(), EditError> {
    editor.change_block(block, |block| block.kind = BlockKind::Branch(branch))?;
    for region in cleared {
        for inner in editor.sdfg().region(region).blocks.clone() {
            editor.remove_block(inner)?;
        }
    }
    Ok(())
}
