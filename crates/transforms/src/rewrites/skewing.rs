//! [`Skewing`].

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::symbols::bound_symbols;
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{BlockId, BlockKind, Loop, RegionId, Sdfg};
use sdfg::subset::Range;
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::{BinaryOp, CompareOp, Expression};
use serde::{Deserialize, Serialize};

use super::{anchored, described, iterations};
use crate::engine::{
    Claim, Evidence, Group, Match, Matched, Metadata, Parameter, Refusal, Site, Soundness, Tables,
    Transformation, state_of,
};
use crate::loops::{Accessed, Counted, accesses_in, blocks_in, plain_state};
use crate::pattern::{BlockClass, Pattern};

/// Runs two nested loops by wavefronts: the outer loop counts `w = j + factor*i`, the inner one the symbol
/// `i` of the outer loop, and `j` is `w - factor*i`.
///
/// Where `factor*a + b` is positive for all distances `(a, b)`, the iterations of the new inner loop are
/// independent: `LoopToMap` makes a map of them. A sweep that reads the elements at both sides needs a factor
/// of 2 for that.
///
/// # When it applies
///
/// The body of the loop is one loop, both count up by one, the bounds of the inner loop are the same in all
/// iterations, and its body consists of states. Iterations that touch a common element, one of them writing,
/// have a distance `(a, b)`: the later one is `a` iterations of the outer loop and `b` of the inner one away.
/// For each distance, `factor*a + b` is positive, or 0 with a positive `a`.
///
/// The distance is known where an index is the symbol plus a number. A container that `j` alone indexes, as
/// in a sweep over time, has all distances of the outer loop: it needs a factor of at least the largest
/// `|b|`. Containers that each iteration writes before it reads them may be transients that nothing else
/// uses.
///
/// # Refusals
///
/// - The body is not one loop of states, or a transition has a condition or an assignment.
/// - A loop counts by another step than one, or the bounds of the inner one change.
/// - Iterations may touch the same element and would change their order.
/// - `factor` is less than 0.
///
/// # Before
///
/// ```sdft
/// sdfg sweep {
///   symbol N: i64
///   symbol T: i64
///   array A: f64[N]
///
///   for time: t = 0:T {
///     for cells: i = 1:N - 1 {
///       state s {
///         access A
///         access to = A
///         tasklet f (x, y, z) -> (w) { w = x + y + z }
///         A -> f.x: A[i - 1]
///         A -> f.y: A[i]
///         A -> f.z: A[i + 1]
///         f.w -> to: A[i]
///       }
///     }
///   }
/// }
/// ```
///
/// # After
///
/// With `factor=2`:
///
/// ```sdft
/// sdfg sweep {
///   symbol N: i64
///   symbol T: i64
///   array A: f64[N]
///
///   for time: i_wave0 = 1:N + 2 * T - 3 {
///     for cells: t = max(0, -((N - i_wave0) // 2) + 1):min(T, ceil_div(i_wave0, 2)) {
///       state s {
///         access A
///         access to = A
///         tasklet f (x, y, z) -> (w) { w = x + y + z }
///         A -> f.x: A[i_wave0 - 2*t - 1]
///         A -> f.y: A[i_wave0 - 2*t]
///         A -> f.z: A[i_wave0 - 2*t + 1]
///         f.w -> to: A[i_wave0 - 2*t]
///       }
///     }
///   }
/// }
/// ```
///
/// # Soundness
///
/// Two iterations that touch a common element run in the new order as in the old one: the new counter of the
/// later one is greater, or equal with a greater `i`. The loops have the same iterations.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Skewing {
    /// Iterations of the inner loop by which it is shifted in each iteration of the outer loop; 0 exchanges the loops.
    pub factor: i64,
}

impl Default for Skewing {
    fn default() -> Self {
        Skewing { factor: 1 }
    }
}

static METADATA: Metadata = Metadata {
    name: "Skewing",
    group: Group::ControlFlow,
    summary: "Runs two nested loops by wavefronts.",
    source: "Lamport, CACM 17(2), 1974; Wolfe, IJPP 15(4), 1986",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("skewing.rs"),
    parameters: &[Parameter {
        name: "factor",
        ty: "integer",
        default: Some("1"),
        summary: "Iterations of the inner loop by which it is shifted in each iteration of the outer one.",
    }],
};

anchored!(Skewing);

/// Two nested loops.
struct Nest<'p> {
    outer: Counted<'p>,
    inner: Counted<'p>,
}

/// The loop that is the only block of the body of another one.
fn inner_loop(site: &Site<'_>, outer: &Counted<'_>) -> Result<BlockId, Refusal> {
    let label = &site.sdfg.block(outer.block).label;
    let [inner] = site.sdfg.region(outer.repeated.body).blocks[..] else {
        return Err(Refusal::structure(label, "has a body that is not one loop"));
    };
    match site.sdfg.block(inner).kind {
        BlockKind::Loop(_) => Ok(inner),
        BlockKind::State(_)
        | BlockKind::Branch(_)
        | BlockKind::Break
        | BlockKind::Continue
        | BlockKind::Return => Err(Refusal::structure(label, "has a body that is not one loop")),
    }
}

impl Nest<'_> {
    /// The structure that the rewrite needs.
    fn check_structure(&self, site: &Site<'_>) -> Result<(), Refusal> {
        let sdfg = site.sdfg;
        for counted in [&self.outer, &self.inner] {
            if !counted.range.step.is_one() {
                let label = &sdfg.block(counted.block).label;
                return Err(Refusal::structure(label, "counts by another step than one"));
            }
        }
        if self.inner.range.free_symbols().contains(&self.outer.symbol) {
            let (range, parameter) = (self.inner.range.to_string(), self.outer.symbol.clone());
            return Err(Refusal::DependsOn { range, parameter });
        }
        for block in blocks_in(sdfg, self.inner.repeated.body) {
            let label = &sdfg.block(block).label;
            let state = state_of(sdfg, block).ok_or_else(|| Refusal::structure(label, "is no state"))?;
            plain_state(sdfg, state)?;
            let graph = sdfg.state(state);
            let hides = |node| {
                let bound = bound_symbols(graph, node);
                bound.contains(&self.outer.symbol) || bound.contains(&self.inner.symbol)
            };
            if let Some((_, node)) = graph.nodes().find(|(id, _)| hides(*id)) {
                return Err(Refusal::structure(&node.label, "hides the symbol of a loop"));
            }
        }
        let region = sdfg.region(self.inner.repeated.body);
        for id in &region.transitions {
            let found = sdfg.transition(*id);
            if found.condition.is_some() || !found.assignments.is_empty() {
                let label = &sdfg.block(found.src).label;
                return Err(Refusal::structure(label, "goes on with a condition or an assignment"));
            }
        }
        Ok(())
    }

    /// The distance of iterations that touch a common element through two accesses, for the outer and the inner loop; `None`
    /// for all distances.
    fn distance(&self, first: &Accessed, second: &Accessed) -> [Option<i64>; 2] {
        [&self.outer, &self.inner].map(|counted| {
            let pairs = first.subset.0.iter().zip(&second.subset.0);
            pairs
                .filter_map(|(one, other)| {
                    Some(offset(one, &counted.symbol)? - offset(other, &counted.symbol)?)
                })
                .next()
        })
    }

    /// Proves that iterations with a common element keep their order.
    fn check_order(&self, site: &Site<'_>, factor: i64, evidence: &mut Evidence) -> Result<(), Refusal> {
        let sdfg = site.sdfg;
        let here =
            Match { calls: site.found.calls.clone(), elements: Matched::Blocks(vec![self.inner.block]) };
        let tables = Tables::new();
        let private = match Site::of(site.program, &here, &tables) {
            Some(inner) => self.inner.private(&inner),
            None => BTreeSet::new(),
        };
        let accesses = accesses_in(sdfg, self.inner.repeated.body);
        for first in accesses.iter().filter(|access| access.writes() && !private.contains(&access.container))
        {
            for second in accesses.iter().filter(|other| other.container == first.container) {
                let container = sdfg.container(first.container);
                let stays = |a: i64, b: i64| {
                    let (a, b) = if (a, b) < (0, 0) { (-a, -b) } else { (a, b) };
                    let wave = factor.checked_mul(a).and_then(|wave| wave.checked_add(b));
                    // The factor is not negative, so a wave of 0 has a positive `a`, or is one iteration.
                    wave.is_some_and(|wave| wave >= 0)
                };
                let [outer, inner] = self.distance(first, second);
                let is_kept = match (outer, inner) {
                    (Some(a), Some(b)) => stays(a, b),
                    // All distances of the outer loop: the least one decides.
                    (None, Some(b)) => stays(1, b) && stays(1, -b),
                    (Some(a), None) => a == 0,
                    (None, None) => false,
                };
                if !is_kept {
                    return Err(Refusal::Conflict {
                        container: container.name.clone(),
                        first: format!("`{}[{}]`", container.name, first.subset),
                        second: format!("`{}[{}]`", container.name, second.subset),
                        reason: "may touch the same element in iterations that would change their order",
                    });
                }
                let counted = if inner.is_some() { &self.inner } else { &self.outer };
                evidence.note(
                    container.name.clone(),
                    Claim::Near {
                        symbol: counted.symbol.clone(),
                        range: counted.range.clone(),
                        first: first.subset.clone(),
                        second: second.subset.clone(),
                        distance: inner.or(outer).map_or(0, i64::abs),
                    },
                );
            }
        }
        Ok(())
    }
}

/// The number that is added to a symbol in an index.
fn offset(range: &Range, symbol: &Symbol) -> Option<i64> {
    if !range.is_index() {
        return None;
    }
    (&range.begin - &Expr::symbol(symbol.clone())).as_int()
}

impl Transformation for Skewing {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::block("loop", BlockClass::Loop)
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        if self.factor < 0 {
            let reason = "it is less than 0".to_owned();
            return Err(Refusal::Parameter { parameter: "factor", reason });
        }
        let outer = Counted::of(site)?;
        let block = inner_loop(site, &outer)?;
        outer.symbols_die(site)?;
        let here = Match { calls: site.found.calls.clone(), elements: Matched::Blocks(vec![block]) };
        let tables = Tables::new();
        let Some(inside) = Site::of(site.program, &here, &tables) else {
            return Err(Refusal::structure(&site.sdfg.block(block).label, "is no loop"));
        };
        let inner = Counted::of(&inside)?;
        inner.symbols_die(&inside)?;
        let nest = Nest { outer, inner };
        nest.check_structure(site)?;
        let mut evidence = Evidence::default();
        nest.check_order(site, self.factor, &mut evidence)?;
        Ok(evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let outer = found.block(0);
        let here = Match { calls: Vec::new(), elements: found.elements.clone() };
        let tables = Tables::new();
        let known = Site::of(editor.sdfg(), &here, &tables).and_then(|site| {
            let one = Counted::of(&site).ok()?;
            let inner = inner_loop(&site, &one).ok()?;
            let inside = Match { calls: Vec::new(), elements: Matched::Blocks(vec![inner]) };
            let other = Site::of(editor.sdfg(), &inside, &tables)?;
            let other = Counted::of(&other).ok()?;
            Some((inner, (one.symbol, one.range), (other.symbol, other.range), other.repeated.body))
        });
        let Some((inner, (i, rows), (j, cells), body)) = known else { return Err(EditError::NoBlock(outer)) };
        let label = editor.sdfg().block(outer).label.clone();
        let written = |sdfg: &Sdfg, value: &Expr| iterations::bound(sdfg, &label, value);
        let name = editor.derived_container_name(j.as_str(), "wave");
        let wave = Symbol::new(&name).map_err(|_| EditError::InvalidName { name })?;
        let (factor, at) = (Expr::int(self.factor), Expr::symbol(wave.clone()));
        let waves = Range::new(
            &cells.begin + &(&factor * &rows.begin),
            &cells.end + &(&factor * &(&rows.end - &Expr::one())),
        );
        let rows = if self.factor == 0 {
            rows
        } else {
            let least = (&(&at - &cells.end) + &Expr::one()).ceil_div(&factor);
            let most = &(&at - &cells.begin).floor_div(&factor) + &Expr::one();
            Range::new(Expr::max(&rows.begin, &least), Expr::min(&rows.end, &most))
        };
        let value = &at - &(&factor * &Expr::symbol(i.clone()));
        substitute(editor, body, &BTreeMap::from([(j, value)]))?;
        for (block, symbol, range) in [(outer, wave, waves), (inner, i, rows)] {
            let (begin, end) = (written(editor.sdfg(), &range.begin)?, written(editor.sdfg(), &range.end)?);
            editor.change_block(block, |found| {
                if let BlockKind::Loop(repeated) = &mut found.kind {
                    let counter = || Expression::name(symbol.as_str());
                    let header = Loop {
                        init: Some(begin),
                        condition: Expression::compare(CompareOp::Less, counter(), end),
                        update: Some(Expression::binary(BinaryOp::Add, counter(), Expression::integer(1))),
                        symbol: Some(symbol),
                        ..repeated.clone()
                    };
                    *repeated = header;
                }
            })?;
        }
        Ok(())
    }
}

/// Replaces symbols in the states of a region.
fn substitute(
    editor: &mut Editor<'_>,
    region: RegionId,
    values: &BTreeMap<Symbol, Expr>,
) -> Result<(), EditError> {
    for block in blocks_in(editor.sdfg(), region) {
        if let Some(state) = state_of(editor.sdfg(), block) {
            editor.substitute_in_scope(state, None, values)?;
        }
    }
    Ok(())
}
