//! [`DiamondTiling`].

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::region_graph::tried_transitions;
use sdfg::analysis::symbols::bound_symbols;
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{
    BlockId, BlockKind, ContainerId, Flow, Loop, Map, NodeId, NodeKind, RegionId, ScheduleKind, Sdfg,
    StateId, Transition,
};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::{BinaryOp, CompareOp, Expression};
use serde::{Deserialize, Serialize};

use super::{anchored, described, iterations, loop_to_map};
use crate::engine::{
    Claim, Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Tables, Transformation,
    state_of,
};
use crate::loops::{Counted, accesses_of_state, plain_state};
use crate::pattern::{BlockClass, Pattern};

/// Tiles a time loop over stencils together with their first dimension, so that tiles reuse data over several
/// steps.
///
/// Let `h = S * steps` be the number of maps in `steps` iterations of a body of `S` states, and `q` the
/// number of a map among them. Tiles of two kinds follow each other. The first kind shrinks: map `q` runs the
/// iterations from `begin + k*width + r*q` to `begin + (k + 1)*width - r*q`. The second kind grows, and fills
/// the gaps: map `q` runs those from `begin + k*width - r*q` to `begin + k*width + r*q`. Here `r` is the
/// *reach* of the stencils.
///
/// # When it applies
///
/// The loop counts up by one. Its body is a row of states with one map each. Each map has the tiled dimension
/// as its first parameter, with step one and bounds that the loop does not change. Every access of a
/// container that the body writes has, in one dimension of the container, the parameter plus a number as its
/// index. The reach `r` is the largest difference of these numbers. Other dimensions of subscripts are free.
/// `width` is at least `2 * r * (h - 1)`.
///
/// # Refusals
///
/// - The body is no row of states with one map each, or a transition has a condition or an assignment.
/// - A map has a first range whose step is not one, or whose bounds change; or a schedule that fixes its
///   ranges.
/// - A container that the body writes has no dimension in which all indices are the parameter plus a number,
///   or is accessed outside of the maps.
/// - A map gets symbols from data, or hides its first parameter.
/// - `width` is smaller than the reach and `steps` need.
///
/// # Before
///
/// ```sdft
/// sdfg heat {
///   symbol N: i64
///   symbol T: i64
///   array A: f64[N]
///   array B: f64[N]
///
///   for time: t = 0:T {
///     state forth {
///       access A
///       access B
///       map cells [i = 1:N - 1] {
///         tasklet average (left, right) -> (o) { o = 0.5 * (left + right) }
///         cells.A -> average.left: A[i - 1]
///         cells.A -> average.right: A[i + 1]
///         average.o -> cells.B: B[i]
///       }
///       A -> cells.A
///       cells.B -> B
///     }
///     state back {
///       access B
///       access A
///       map again [i = 1:N - 1] {
///         tasklet hand_on (x) -> (o) { o = x }
///         again.B -> hand_on.x: B[i]
///         hand_on.o -> again.A: A[i]
///       }
///       B -> again.B
///       again.A -> A
///     }
///   }
/// }
/// ```
///
/// # After
///
/// With `steps=2` and `width=8`:
///
/// ```sdft
/// sdfg heat {
///   symbol N: i64
///   symbol T: i64
///   array A: f64[N]
///   array B: f64[N]
///
///   for "time.times0": t_time0 = 0:T:2 {
///     state "time.shrinking0" {
///       access A
///       access B
///       access A_1 = A
///       access B_1 = B
///       map time [t_tile0 = 0:(N + 5) // 8] {
///         nested "time.shrinking0.call0" (A, B) -> (A, B) with (N = N, T = T, t_tile0 = t_tile0, t_time0 = t_time0) sdfg heat_time_shrinking0 {
///           symbol N: i64
///           symbol T: i64
///           symbol t_tile0: i64
///           symbol t_time0: i64
///           array A: f64[N]
///           array B: f64[N]
///
///           for time: t = t_time0:min(T, t_time0 + 2) {
///             state forth {
///               access A
///               access B
///               map cells [i = max(2*t + 8*t_tile0 - 2*t_time0 + 1, 1):min(N, 8*t_tile0 - 2*t + 2*t_time0 + 10) - 1] {
///                 tasklet average (left, right) -> (o) { o = 0.5 * (left + right) }
///                 cells.A -> average.left: A[i - 1]
///                 cells.A -> average.right: A[i + 1]
///                 average.o -> cells.B: B[i]
///               }
///               A -> cells.A
///               cells.B -> B
///             }
///             state back {
///               access B
///               access A
///               map again [i = max(2*t + 8*t_tile0 - 2*t_time0 + 2, 1):min(N, 8*t_tile0 - 2*t + 2*t_time0 + 9) - 1] {
///                 tasklet hand_on (x) -> (o) { o = x }
///                 again.B -> hand_on.x: B[i]
///                 hand_on.o -> again.A: A[i]
///               }
///               B -> again.B
///               again.A -> A
///             }
///           }
///         }
///         time.A -> "time.shrinking0.call0".A: A[0:N]
///         time.B -> "time.shrinking0.call0".B: B[0:N]
///         "time.shrinking0.call0".A -> time.A: A[0:N]
///         "time.shrinking0.call0".B -> time.B: B[0:N]
///       }
///       time.A -> A_1
///       time.B -> B_1
///       A -> time.A
///       B -> time.B
///     }
///     state "time.growing0" {
///       access A
///       access B
///       access A_1 = A
///       access B_1 = B
///       map "time.copy0" [t_tile1 = 0:(N + 5) // 8 + 1] {
///         nested "time.growing0.call0" (A, B) -> (A, B) with (N = N, T = T, t_tile1 = t_tile1, t_time0 = t_time0) sdfg heat_time_growing0 {
///           symbol N: i64
///           symbol T: i64
///           symbol t_tile1: i64
///           symbol t_time0: i64
///           array A: f64[N]
///           array B: f64[N]
///
///           for "time.copy0": t = t_time0:min(T, t_time0 + 2) {
///             state "forth.copy0" {
///               access A
///               access B
///               map cells [i = max(8*t_tile1 - 2*t + 2*t_time0 + 1, 1):min(N, 2*t + 8*t_tile1 - 2*t_time0 + 2) - 1] {
///                 tasklet average (left, right) -> (o) { o = 0.5 * (left + right) }
///                 cells.A -> average.left: A[i - 1]
///                 cells.A -> average.right: A[i + 1]
///                 average.o -> cells.B: B[i]
///               }
///               A -> cells.A
///               cells.B -> B
///             }
///             state "back.copy0" {
///               access B
///               access A
///               map again [i = max(8*t_tile1 - 2*t + 2*t_time0, 1):min(N, 2*t + 8*t_tile1 - 2*t_time0 + 3) - 1] {
///                 tasklet hand_on (x) -> (o) { o = x }
///                 again.B -> hand_on.x: B[i]
///                 hand_on.o -> again.A: A[i]
///               }
///               B -> again.B
///               again.A -> A
///             }
///           }
///         }
///         "time.copy0".A -> "time.growing0.call0".A: A[0:N]
///         "time.copy0".B -> "time.growing0.call0".B: B[0:N]
///         "time.growing0.call0".A -> "time.copy0".A: A[0:N]
///         "time.growing0.call0".B -> "time.copy0".B: B[0:N]
///       }
///       "time.copy0".A -> A_1
///       "time.copy0".B -> B_1
///       A -> "time.copy0".A
///       B -> "time.copy0".B
///     }
///   }
/// }
/// ```
///
/// # Soundness
///
/// Two iterations of maps touch the same element only if their parameters differ by at most `r`. Tiles of a
/// kind touch no common element, so they form a map. An iteration of a growing tile never comes before one of
/// a shrinking tile on which it depends, and never shares an element with a later one of a shrinking tile.
/// This holds for `width >= 2 * r * (h - 1)`. Iterations that share an element, also by a sum, keep their
/// order, so results are the same bit by bit.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DiamondTiling {
    /// Iterations of the loop in a tile.
    pub steps: i64,
    /// Iterations of the first dimension in a tile where it is widest.
    pub width: i64,
}

impl Default for DiamondTiling {
    fn default() -> Self {
        DiamondTiling { steps: 4, width: 64 }
    }
}

static METADATA: Metadata = Metadata {
    name: "DiamondTiling",
    group: Group::ControlFlow,
    summary: "Tiles a time loop over stencils together with their first dimension.",
    source: "Bandishti, Pananilath, Bondhugula, SC'12; Grosser et al., GPGPU-6",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("diamond_tiling.rs"),
    parameters: &[
        Parameter {
            name: "steps",
            ty: "integer",
            default: Some("4"),
            summary: "Iterations of the loop in a tile.",
        },
        Parameter {
            name: "width",
            ty: "integer",
            default: Some("64"),
            summary: "Iterations of the first dimension in a tile where it is widest.",
        },
    ],
};

anchored!(DiamondTiling);

/// A state of the body with its map.
struct Step {
    state: StateId,
    entry: NodeId,
    map: Map,
}

impl Step {
    fn param(&self) -> &Symbol {
        &self.map.params[0]
    }

    fn range(&self) -> &Range {
        &self.map.ranges.0[0]
    }
}

/// The states of a body, in order, with their maps.
fn row(site: &Site<'_>, counted: &Counted<'_>) -> Result<Vec<Step>, Refusal> {
    let blocks = counted.row(site.sdfg)?;
    blocks.into_iter().map(|block| only_map(site, counted, block)).collect()
}

/// The only map of a state, of which nothing but its first range matters.
fn only_map(site: &Site<'_>, counted: &Counted<'_>, block: BlockId) -> Result<Step, Refusal> {
    let sdfg = site.sdfg;
    let label = &sdfg.block(block).label;
    let other = |reason: &str| Refusal::structure(label, reason);
    let id = state_of(sdfg, block).ok_or_else(|| other("is no state"))?;
    plain_state(sdfg, id)?;
    let (state, tree) = (sdfg.state(id), site.scopes_of(id));
    let mut found = None;
    for node in tree.children(None) {
        match &state.node(*node).kind {
            NodeKind::MapEntry(map) if found.is_none() => found = Some((*node, map.clone())),
            NodeKind::Access(_) | NodeKind::MapExit(_) => {}
            NodeKind::MapEntry(_)
            | NodeKind::Tasklet(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Nested(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => return Err(other("has more than one map")),
        }
    }
    let Some((entry, map)) = found else { return Err(other("has no map")) };
    if state.edges().any(|(edge, content)| {
        tree.scope_of_edge(state, edge).is_none() && matches!(content.memlet.flow, Flow::Copy { .. })
    }) {
        return Err(other("copies data outside of its map"));
    }
    let label = &state.node(entry).label;
    let refuse = |reason: &str| Err(Refusal::structure(label, reason));
    match map.schedule.kind() {
        ScheduleKind::Default
        | ScheduleKind::Sequential
        | ScheduleKind::CpuMulticore
        | ScheduleKind::Simd => {}
        ScheduleKind::Unrolled
        | ScheduleKind::GpuGrid
        | ScheduleKind::GpuBlock
        | ScheduleKind::FpgaDevice
        | ScheduleKind::FpgaReplicated
        | ScheduleKind::Mpi => {
            return refuse("has a schedule that fixes its ranges or brings it to a device");
        }
    }
    if bound_symbols(state, entry) != map.params {
        return refuse("gets symbols from data");
    }
    let step = Step { state: id, entry, map };
    let range = step.range();
    if !range.step.is_one() || !range.tile.is_one() {
        return refuse("has a first range whose step is not one");
    }
    let names = range.free_symbols();
    if names.contains(&counted.symbol) || names.iter().any(|name| step.map.params.contains(name)) {
        return refuse("has a first range that the loop or the map changes");
    }
    if step.map.params.contains(&counted.symbol) {
        return refuse("counts with the symbol of the loop");
    }
    let binds = |node: &NodeId| *node != entry && bound_symbols(state, *node).contains(step.param());
    if state.nodes().any(|(node, _)| binds(&node)) {
        return refuse("has a scope that hides its first parameter");
    }
    Ok(step)
}

/// An access of a container: the state, whether it writes, and its elements in terms of the parameter of the map there.
struct Touched {
    step: usize,
    writes: bool,
    subset: Subset,
}

/// The largest difference of parameters of iterations that touch the same element.
fn reach(site: &Site<'_>, steps: &[Step], evidence: &mut Evidence) -> Result<i64, Refusal> {
    let sdfg = site.sdfg;
    let owners = site.owning_scopes();
    let mut touched: BTreeMap<ContainerId, Vec<Touched>> = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        let (state, tree) = (sdfg.state(step.state), site.scopes_of(step.state));
        for access in accesses_of_state(sdfg, step.state) {
            let container = sdfg.container(access.container);
            // A container with an owner is accessed in the state of the owner alone.
            let is_own = owners.get(&access.container).is_some_and(|(_, scope)| {
                tree.enclosing_scope(Some(*scope)).any(|around| around == step.entry)
            });
            if is_own {
                continue;
            }
            if container.lifetime == sdfg::ir::Lifetime::State {
                return Err(Refusal::container(&container.name, "is another one in each run of its state"));
            }
            let mut around = tree.enclosing_scope(tree.scope_of_edge(state, access.edge));
            if !around.any(|scope| scope == step.entry) {
                return Err(Refusal::container(&container.name, "is accessed outside of the map"));
            }
            let found = Touched { step: at, writes: access.writes(), subset: access.subset };
            touched.entry(access.container).or_default().push(found);
        }
    }
    let mut largest = 0;
    for (id, all) in touched {
        if !all.iter().any(|access| access.writes) {
            continue;
        }
        let name = &sdfg.container(id).name;
        let rank = sdfg.container(id).shape().len();
        let offsets = |dimension: usize| -> Option<Vec<i64>> {
            all.iter().map(|access| offset(&access.subset, dimension, steps[access.step].param())).collect()
        };
        let Some(offsets) = (0..rank).find_map(offsets) else {
            let reason =
                "is written, and has no dimension whose index is everywhere the parameter plus a number";
            return Err(Refusal::container(name, reason));
        };
        for (access, own) in all.iter().zip(&offsets).filter(|(access, _)| access.writes) {
            for (other, theirs) in all.iter().zip(&offsets) {
                let distance = own.abs_diff(*theirs);
                let Ok(distance) = i64::try_from(distance) else {
                    return Err(Refusal::container(name, "is accessed too far away"));
                };
                largest = largest.max(distance);
                let param = steps[access.step].param();
                let same = BTreeMap::from([(steps[other.step].param().clone(), Expr::symbol(param.clone()))]);
                let claim = Claim::Near {
                    symbol: param.clone(),
                    range: steps[access.step].range().clone(),
                    first: access.subset.clone(),
                    second: other.subset.substitute(&same),
                    distance,
                };
                evidence.note(name.clone(), claim);
            }
        }
    }
    Ok(largest)
}

/// The number that is added to a parameter in a dimension of a subset.
fn offset(subset: &Subset, dimension: usize, param: &Symbol) -> Option<i64> {
    let range = subset.0.get(dimension).filter(|range| range.is_index())?;
    (&range.begin - &Expr::symbol(param.clone())).as_int()
}

/// Bounds of the tiles.
struct Tiles {
    begin: Expr,
    count: Expr,
    reach: i64,
}

impl DiamondTiling {
    fn tiles(&self, site: &Site<'_>, evidence: &mut Evidence) -> Result<(Vec<Step>, Tiles), Refusal> {
        let counted = Counted::of(site)?;
        let label = &site.sdfg.block(counted.block).label;
        if !counted.range.step.is_one() {
            return Err(Refusal::structure(label, "counts by another step than one"));
        }
        if self.steps < 1 || self.width < 1 {
            let parameter = if self.steps < 1 { "steps" } else { "width" };
            return Err(Refusal::Parameter { parameter, reason: "it is not greater than 0".to_owned() });
        }
        counted.symbols_die(site)?;
        let steps = row(site, &counted)?;
        let reach = reach(site, &steps, evidence)?;
        let first = steps[0].range().clone();
        let others = || steps.iter().skip(1).map(Step::range);
        let begin = others().fold(first.begin, |least, range| Expr::min(&least, &range.begin));
        let end = others().fold(first.end, |most, range| Expr::max(&most, &range.end));
        let count = (&end - &begin).ceil_div(&Expr::int(self.width));
        Ok((steps, Tiles { begin, count, reach }))
    }
}

impl DiamondTiling {
    /// Tiles of a kind touch no common element if they are wide enough.
    fn check_width(&self, n_states: usize, reach: i64) -> Result<(), Refusal> {
        let levels = i64::try_from(n_states).ok().and_then(|states| states.checked_mul(self.steps));
        let least = levels.and_then(|levels| reach.checked_mul(2)?.checked_mul(levels - 1));
        if least.is_none_or(|least| self.width < least) {
            let least = least.map_or("a number that does not fit".to_owned(), |least| least.to_string());
            let reason =
                format!("tiles of {} steps that reach {reach} are at least {least} wide", self.steps);
            return Err(Refusal::Parameter { parameter: "width", reason });
        }
        Ok(())
    }
}

impl Transformation for DiamondTiling {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::block("loop", BlockClass::Loop)
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let mut evidence = Evidence::default();
        let (steps, tiles) = self.tiles(site, &mut evidence)?;
        self.check_width(steps.len(), tiles.reach)?;
        Ok(evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let block = found.block(0);
        let here = Match { calls: Vec::new(), elements: found.elements.clone() };
        let tables = Tables::new();
        let tiled = Site::of(editor.sdfg(), &here, &tables).and_then(|site| {
            let (steps, tiles) = self.tiles(&site, &mut Evidence::default()).ok()?;
            let counted = Counted::of(&site).ok()?;
            Some((counted.symbol, counted.range, counted.repeated.clone(), steps, tiles))
        });
        let Some((symbol, range, repeated, steps, tiles)) = tiled else {
            return Err(EditError::NoBlock(block));
        };
        let label = editor.sdfg().block(block).label.clone();
        let written = |sdfg: &Sdfg, value: &Expr| iterations::bound(sdfg, &label, value);
        let fresh = |editor: &mut Editor<'_>, role: &str| {
            let name = editor.derived_container_name(symbol.as_str(), role);
            Symbol::new(&name).map_err(|_| EditError::InvalidName { name })
        };
        let time = fresh(editor, "time")?;
        // The loop over blocks of time.
        let after = &Expr::symbol(time.clone()) + &Expr::int(self.steps);
        let name = || Expression::name(time.as_str());
        let header = Loop {
            symbol: Some(time.clone()),
            init: Some(written(editor.sdfg(), &range.begin)?),
            condition: Expression::compare(CompareOp::Less, name(), written(editor.sdfg(), &range.end)?),
            update: Some(Expression::binary(BinaryOp::Add, name(), Expression::integer(self.steps))),
            ..repeated.clone()
        };
        let times = editor.derived_block_label(&label, "times");
        editor.wrap_in_loop(block, &times, header)?;
        let end = written(editor.sdfg(), &Expr::min(&range.end, &after))?;
        editor.change_block(block, |block| {
            if let BlockKind::Loop(repeated) = &mut block.kind {
                repeated.init = Some(Expression::name(time.as_str()));
                let counter = Expression::name(symbol.as_str());
                repeated.condition = Expression::compare(CompareOp::Less, counter, end);
            }
        })?;
        // The growing tiles are a copy.
        let region = editor.sdfg().block(block).region;
        let copies = editor.copy_region(region, region, &BTreeMap::new())?;
        let Some(copy) = copies.get(&block).copied() else { return Err(EditError::NoBlock(block)) };
        let always =
            Transition { src: block, dst: copy, condition: None, assignments: Vec::new(), loc: None };
        editor.add_transition(always)?;
        let since = &Expr::symbol(symbol.clone()) - &Expr::symbol(time);
        for (block, grows) in [(block, false), (copy, true)] {
            let tile = fresh(editor, "tile")?;
            let level = |at: usize| {
                let states = Expr::int(i64::try_from(steps.len()).unwrap_or(i64::MAX));
                let number = Expr::int(i64::try_from(at).unwrap_or(i64::MAX));
                &Expr::int(tiles.reach) * &(&(&states * &since) + &number)
            };
            let first = &tiles.begin + &(&Expr::symbol(tile.clone()) * &Expr::int(self.width));
            let next = &first + &Expr::int(self.width);
            for (at, (state, entry, map)) in maps_of(editor.sdfg(), block)?.into_iter().enumerate() {
                let (begin, end) = if grows {
                    (&first - &level(at), &first + &level(at))
                } else {
                    (&first + &level(at), &next - &level(at))
                };
                let mut map = map;
                let range = &mut map.ranges.0[0];
                range.begin = Expr::max(&range.begin, &begin);
                range.end = Expr::min(&range.end, &end);
                editor.replace_node(state, entry, NodeKind::MapEntry(map))?;
            }
            let count = if grows { &tiles.count + &Expr::one() } else { tiles.count.clone() };
            let role = if grows { "growing" } else { "shrinking" };
            as_map(editor, block, (&label, role), (tile, count))?;
        }
        Ok(())
    }
}

/// The maps of the body of a loop, in order.
fn maps_of(sdfg: &Sdfg, block: BlockId) -> Result<Vec<(StateId, NodeId, Map)>, EditError> {
    let BlockKind::Loop(repeated) = &sdfg.block(block).kind else { return Err(EditError::NoBlock(block)) };
    let mut found = Vec::new();
    let mut next = sdfg.region(repeated.body).start;
    while let Some(block) = next.filter(|_| found.len() < sdfg.region(repeated.body).blocks.len()) {
        let state = state_of(sdfg, block).ok_or(EditError::NoBlock(block))?;
        let graph = sdfg.state(state);
        let tree = sdfg::analysis::ScopeTree::of(graph);
        let map = tree.children(None).iter().find_map(|node| match &graph.node(*node).kind {
            NodeKind::MapEntry(map) => Some((*node, map.clone())),
            NodeKind::Access(_)
            | NodeKind::MapExit(_)
            | NodeKind::Tasklet(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Nested(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => None,
        });
        let (entry, map) = map.ok_or(EditError::NoBlock(block))?;
        found.push((state, entry, map));
        next = tried_transitions(sdfg, block).first().map(|id| sdfg.transition(*id).dst);
    }
    Ok(found)
}

/// Puts a map over tiles around a loop.
fn as_map(
    editor: &mut Editor<'_>,
    block: BlockId,
    (label, role): (&str, &str),
    (tile, count): (Symbol, Expr),
) -> Result<(), EditError> {
    let own = editor.sdfg().block(block).label.clone();
    // A loop around it gives it a region of its own; a call takes the place of the region.
    let placeholder: RegionId = editor.sdfg().body();
    let header = Loop {
        symbol: None,
        init: None,
        condition: Expression::bool(false),
        update: None,
        test_after: false,
        unroll: false,
        body: placeholder,
    };
    let outer = editor.derived_block_label(label, "tiles");
    let outer = editor.wrap_in_loop(block, &outer, header)?;
    let region = editor.sdfg().block(block).region;
    let state_label = editor.derived_block_label(label, role);
    let (state, call) = editor.wrap_region_in_nested(region, &state_label, &BTreeSet::new())?;
    loop_to_map::hoist(editor, outer, region)?;
    let map_label = editor.fresh_label(state, &own)?;
    let map = loop_to_map::as_map(&tile, &Range::new(Expr::zero(), count));
    editor.wrap_in_map(state, &BTreeSet::from([call]), &map_label, map)?;
    Ok(())
}
