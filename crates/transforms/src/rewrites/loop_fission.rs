//! [`LoopFission`].

use sdfg::analysis::dependence::carried_by_loop;
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{Block, BlockId, BlockKind, Loop, Sdfg, StateId, Transition};
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{
    Claim, Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Tables, Transformation,
    state_of,
};
use crate::loops::{Accessed, Counted, accesses_of_state, plain_state};
use crate::pattern::{BlockClass, Pattern};

/// Divides a loop into two: the first one runs the first `count` states of the body in all iterations, and the second one the
/// others.
///
/// So one of the loops may become a map, or a product of matrices, where the other one cannot. It is also called loop
/// distribution.
///
/// # When it applies
///
/// The body is a row of states. No iteration of the first loop touches an element that the second part of an earlier iteration
/// touches, if one of them writes it. Two sums of the same element have no order.
///
/// # Refusals
///
/// - The loop does not count, or may be left early.
/// - The body has other blocks than states, or is no row of them without conditions and assignments.
/// - `count` is not between 1 and the number of states less one.
/// - The first states may touch an element in an iteration after one in which the others touch it, and one of them writes it.
/// - A state takes elements from a stream, calls foreign functions, or uses a view or reference.
///
/// # Before
///
/// ```sdft
/// sdfg prefix_sums {
///   symbol N: i64
///   array A: f64[N]
///   array sums: f64[N + 1]
///
///   for elements: i = 0:N {
///     state add {
///       access A
///       access before = sums
///       access after = sums
///       tasklet plus (s, a) -> (t) { t = s + a }
///       before -> plus.s: sums[i]
///       A -> plus.a: A[i]
///       plus.t -> after: sums[i + 1]
///     }
///     state scale {
///       access before = sums
///       access after = sums
///       tasklet half (s) -> (t) { t = 0.5 * s }
///       before -> half.s: sums[i]
///       half.t -> after: sums[i]
///     }
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg prefix_sums {
///   symbol N: i64
///   array A: f64[N]
///   array sums: f64[N + 1]
///
///   for elements: i = 0:N {
///     state add {
///       access A
///       access before = sums
///       access after = sums
///       tasklet plus (s, a) -> (t) { t = s + a }
///       before -> plus.s: sums[i]
///       A -> plus.a: A[i]
///       plus.t -> after: sums[i + 1]
///     }
///   }
///   for "elements.second0": i = 0:N {
///     state scale {
///       access before = sums
///       access after = sums
///       tasklet half (s) -> (t) { t = 0.5 * s }
///       before -> half.s: sums[i]
///       half.t -> after: sums[i]
///     }
///   }
/// }
/// ```
///
/// # Soundness
///
/// Each part keeps the order of its iterations. The first part of an iteration now runs before the second part of earlier ones. It
/// touches nothing that these write, and writes nothing that these read, so both find the same values. Sums of floating-point
/// numbers may differ in rounding.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoopFission {
    /// Number of states in the first loop.
    pub count: i64,
}

impl Default for LoopFission {
    fn default() -> Self {
        LoopFission { count: 1 }
    }
}

static METADATA: Metadata = Metadata {
    name: "LoopFission",
    group: Group::ControlFlow,
    summary: "Divides a loop into two, for the first states of the body and for the others.",
    source: "Kennedy and McKinley, Supercomputing 1990: loop distribution",
    soundness: Soundness::ChangesRounding,
    is_strict: false,
    file: include_str!("loop_fission.rs"),
    parameters: &[Parameter {
        name: "count",
        ty: "integer",
        default: Some("1"),
        summary: "Number of states in the first loop.",
    }],
};

anchored!(LoopFission);

impl LoopFission {
    /// The states of the first loop, and those of the second.
    fn parts(&self, sdfg: &Sdfg, counted: &Counted<'_>) -> Result<[Vec<(BlockId, StateId)>; 2], Refusal> {
        let mut first = Vec::new();
        for block in counted.row(sdfg)? {
            let label = &sdfg.block(block).label;
            let state = state_of(sdfg, block).ok_or_else(|| Refusal::structure(label, "is no state"))?;
            first.push((block, state));
        }
        let count = usize::try_from(self.count).ok().filter(|count| (1..first.len()).contains(count));
        let Some(count) = count else {
            let reason = format!("the body has {} states", first.len());
            return Err(Refusal::Parameter { parameter: "count", reason });
        };
        let second = first.split_off(count);
        Ok([first, second])
    }
}

impl Transformation for LoopFission {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::block("loop", BlockClass::Loop)
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let counted = Counted::of(site)?;
        let sdfg = site.sdfg;
        let parts = self.parts(sdfg, &counted)?;
        for (_, state) in parts.iter().flatten() {
            plain_state(sdfg, *state)?;
        }
        let accesses = |part: &[(BlockId, StateId)]| -> Vec<Accessed> {
            part.iter().flat_map(|(_, state)| accesses_of_state(sdfg, *state)).collect()
        };
        let [first, second] = [accesses(&parts[0]), accesses(&parts[1])];
        let facts = site.facts();
        let mut evidence = Evidence::default();
        for later in &first {
            for earlier in second.iter().filter(|earlier| earlier.container == later.container) {
                if !(later.writes() || earlier.writes()) || later.combines_with(earlier) {
                    continue;
                }
                let container = sdfg.container(later.container);
                let [from, to] = [earlier, later].map(|end| (end.state, end.edge, end.mode));
                if !carried_by_loop(sdfg, &facts, counted.block, from, to).exists.is_refuted() {
                    return Err(Refusal::Conflict {
                        container: container.name.clone(),
                        first: format!("`{}[{}]` of the second part", container.name, earlier.subset),
                        second: format!("`{}[{}]` of the first part", container.name, later.subset),
                        reason: "may touch the same element in a later iteration",
                    });
                }
                let claim = Claim::NeverLater {
                    symbol: counted.symbol.clone(),
                    range: counted.range.clone(),
                    first: earlier.subset.clone(),
                    second: later.subset.clone(),
                };
                evidence.note(container.name.clone(), claim);
            }
        }
        Ok(evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let block = found.block(0);
        let here = Match { calls: Vec::new(), elements: found.elements.clone() };
        let tables = Tables::new();
        let divided = Site::of(editor.sdfg(), &here, &tables).and_then(|site| {
            let counted = Counted::of(&site).ok()?;
            let [_, second] = self.parts(site.sdfg, &counted).ok()?;
            let second: Vec<BlockId> = second.into_iter().map(|(block, _)| block).collect();
            Some((counted.repeated.clone(), second))
        });
        let Some((repeated, second)) = divided else { return Err(EditError::NoBlock(block)) };
        let region = editor.sdfg().block(block).region;
        let origin = editor.sdfg().block(block).label.clone();
        let label = editor.derived_block_label(&origin, "second");
        let body = editor.add_region();
        let header = Loop { body, ..repeated.clone() };
        let kind = BlockKind::Loop(header);
        let new = editor.add_block(Block { label, kind, region, loc: None })?;
        editor.change_region(region, |region| {
            region.blocks.retain(|other| *other != new);
            let at = region.blocks.iter().position(|other| *other == block);
            region.blocks.insert(at.map_or(region.blocks.len(), |at| at + 1), new);
        })?;
        // What followed the loop follows the second one.
        for id in editor.sdfg().region(region).transitions.clone() {
            if editor.sdfg().transition(id).src == block {
                editor.change_transition(id, |transition| transition.src = new)?;
            }
        }
        let always = |src, dst| Transition { src, dst, condition: None, assignments: Vec::new(), loc: None };
        editor.add_transition(always(block, new))?;
        for id in editor.sdfg().region(repeated.body).transitions.clone() {
            let transition = editor.sdfg().transition(id);
            if second.contains(&transition.src) || second.contains(&transition.dst) {
                editor.remove_transition(id)?;
            }
        }
        editor.change_region(repeated.body, |body| body.blocks.retain(|block| !second.contains(block)))?;
        editor.change_region(body, |body| {
            body.blocks.clone_from(&second);
            body.start = second.first().copied();
        })?;
        for block in &second {
            editor.change_block(*block, |block| block.region = body)?;
        }
        for pair in second.windows(2) {
            editor.add_transition(always(pair[0], pair[1]))?;
        }
        Ok(())
    }
}
