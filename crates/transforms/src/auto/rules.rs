//! The rules of the optimiser.

use std::collections::BTreeSet;
use std::fmt;

use sdfg::ir::{BlockKind, NodeKind, RegionId, Sdfg};
use sdfg::symbolic::Symbol;
use serde_json::Value;

use super::Target;
use super::model::{Model, Values, trips};
use super::resident::resident;
use super::strips::RowSum;
use super::triangles::{ROWS, Triangle};
use crate::engine::{
    Match, Matched, Pipeline, Registry, Site, Step, Tables, Transformation, matches, places,
};
use crate::rewrites::{
    DiamondTiling, InlineSdfg, LiftToLibrary, LoopStripMining, LoopToMap, MapCollapse, MapDimShuffle,
    MapFission, MapFusion, MapReduceFusion, MapTiling, MoveLoopIntoMap, SiblingMapFusion, TaskletFission,
};
use crate::strategy::model::Machine;

/// A change of the predicted time by less than this factor is none: the model is not that exact.
const WORTHWHILE: f64 = 0.95;
/// Tiles over time take more code still, but what they save is certain.
const TIME_TILING_GAIN: f64 = 0.8;
/// The least share of the time of a program that counts as that of a map.
const LEAST_SHARE: f64 = 0.02;
/// Widths of tiles over time, and reaches of stencils.
const TIME_WIDTHS: [i64; 7] = [8, 16, 32, 64, 128, 256, 512];
const TIME_REACHES: [i64; 3] = [1, 2, 4];
/// The most steps of a tile: more would save little.
const MOST_TIME_STEPS: i64 = 32;
/// The most tiles over time that are tried.
const MOST_TIME_TILES: usize = 3;
/// The most levels of maps that are split.
const MOST_SPLITS: usize = 4;
/// Tiles cost code and short loops, so they have to gain more.
const TILING_GAIN: f64 = 0.7;
/// Edges of tiles, in iterations.
const TILES: [i64; 3] = [32, 64, 128];
/// The most dimensions of which all orders are tried.
const MOST_DIMENSIONS: usize = 4;
/// The most places at which a rule for single places tries its candidates.
const MOST_PLACES: usize = 200;

/// A transformation that the optimiser tried.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The transformation with its parameters.
    pub transformation: String,
    /// The place, or the number of places.
    pub at: String,
    /// Predicted seconds of the program before.
    pub before: f64,
    /// Predicted seconds of the program after it.
    pub after: f64,
    /// Whether it was kept.
    pub is_kept: bool,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Decision { transformation, at, before, after, is_kept } = self;
        let kept = if *is_kept { "kept" } else { "not kept" };
        write!(f, "{transformation} at {at}: {} to {}, {kept}", shown(*before), shown(*after))
    }
}

/// A number of places.
fn counted(count: usize) -> String {
    if count == 1 { "1 place".to_owned() } else { format!("{count} places") }
}

/// Seconds with three digits and a unit.
fn shown(seconds: f64) -> String {
    let (factor, unit) = match seconds {
        s if s < 1e-6 => (1e9, "ns"),
        s if s < 1e-3 => (1e6, "us"),
        s if s < 1.0 => (1e3, "ms"),
        _ => (1.0, "s"),
    };
    let number = seconds * factor;
    let digits = if number < 10.0 { 2 } else { usize::from(number < 100.0) };
    format!("{number:.digits$} {unit}")
}

/// Takes a decision with the program before it, and the program after the transformation, whether that was kept or not.
pub type Watch<'w> = dyn FnMut(&Decision, [Sdfg; 2]) + 'w;

/// Optimises the program of a pipeline. The pipeline has the transformations that were kept. Gives all decisions, in order.
///
/// `registry` has the transformations of simplification.
pub fn optimize(pipeline: &mut Pipeline, registry: &Registry, target: &Target) -> Vec<Decision> {
    optimized(pipeline, registry, target, None)
}

/// The same, and tells each decision with its programs, so that they can be measured. Decisions do not depend on that.
pub fn optimize_watched(
    pipeline: &mut Pipeline,
    registry: &Registry,
    target: &Target,
    watch: &mut Watch<'_>,
) -> Vec<Decision> {
    optimized(pipeline, registry, target, Some(watch))
}

fn optimized<'p>(
    pipeline: &'p mut Pipeline,
    registry: &'p Registry,
    target: &'p Target,
    watch: Option<&'p mut Watch<'p>>,
) -> Vec<Decision> {
    let model = Model::new(target);
    let mut run = Run { pipeline, registry, model, decisions: Vec::new(), watch };
    // Simplification fuses the states of steps and of bodies.
    run.best_of(|program, found| time_tiles(program, found, target), TIME_TILING_GAIN);
    run.split_loops();
    run.simplify();
    run.everywhere(LoopToMap::default());
    run.best_of(|_, _| vec![MoveLoopIntoMap::default()], WORTHWHILE);
    run.everywhere(MapFusion::default());
    run.everywhere(MapReduceFusion::default());
    run.lift();
    run.triangles();
    run.strips();
    run.sums_of_products();
    run.best_of(orders, WORTHWHILE);
    run.best_of(|_, _| vec![SiblingMapFusion::default()], WORTHWHILE);
    run.best_of(|_, _| vec![MapCollapse::default()], WORTHWHILE);
    run.best_of(tiles, TILING_GAIN);
    run.decisions
}

struct Run<'p> {
    pipeline: &'p mut Pipeline,
    registry: &'p Registry,
    model: Model<'p>,
    decisions: Vec<Decision>,
    watch: Option<&'p mut Watch<'p>>,
}

impl Run<'_> {
    /// The present program, if somebody wants to see programs.
    fn program(&self) -> Option<Sdfg> {
        self.watch.is_some().then(|| self.pipeline.program().clone())
    }

    fn seconds(&self) -> f64 {
        self.model.seconds(self.pipeline.program())
    }

    /// Simplification never makes a program slower.
    fn simplify(&mut self) {
        if self.pipeline.simplify(self.registry, None).is_empty() {
            // A chain without idle steps is easier to read. There is a step, so this cannot fail.
            let _ = self.pipeline.undo();
        }
    }

    /// Applies a transformation wherever it applies, if that gains altogether.
    fn everywhere<T: Transformation + Clone + 'static>(&mut self, transformation: T) {
        let count = matches(self.pipeline.program(), &transformation).len();
        if count == 0 {
            return;
        }
        let (before, program) = (self.seconds(), self.program());
        let steps = self.pipeline.applications().count();
        if self.pipeline.apply(Step::from(transformation.clone()).everywhere(None)).is_err() {
            return;
        }
        self.simplify();
        let after = self.seconds();
        let programs = program.zip(self.program());
        let is_kept = after <= before;
        if !is_kept {
            self.undo_to(steps);
        }
        self.decide(&transformation, counted(count), (before, after), is_kept, programs);
    }

    /// Loops become maps that are split around what their bodies do one after the other, if that gains with what it allows: the
    /// parts have an order of dimensions each, and may be products.
    fn split_loops(&mut self) {
        if matches(self.pipeline.program(), &LoopToMap::default()).is_empty() {
            return;
        }
        let (steps, decisions) = (self.pipeline.applications().count(), self.decisions.len());
        // Both ways are tries.
        let watch = self.watch.take();
        let count = self.split();
        if count == 0 {
            self.undo_to(steps);
            self.watch = watch;
            return;
        }
        let after = self.seconds_with_orders();
        self.undo_to(steps);
        self.simplify();
        self.everywhere(LoopToMap::default());
        let whole = watch.is_some().then(|| self.pipeline.program().clone());
        let before = self.seconds_with_orders();
        self.undo_to(steps);
        self.decisions.truncate(decisions);
        let is_kept = after < WORTHWHILE * before;
        if is_kept || whole.is_some() {
            self.split();
        }
        self.watch = watch;
        let programs = whole.zip(self.program());
        if !is_kept {
            self.undo_to(steps);
        }
        self.decide(&MapFission::default(), counted(count), (before, after), is_kept, programs);
    }

    /// Makes maps of loops, splits them and joins what is left; the number of maps that were split.
    fn split(&mut self) -> usize {
        let mut count = 0;
        let all = |step: Step| step.everywhere(None);
        if self.pipeline.apply(all(LoopToMap::default().into())).is_err() {
            return 0;
        }
        for _ in 0..MOST_SPLITS {
            let found = matches(self.pipeline.program(), &MapFission::default()).len();
            if found == 0 || self.pipeline.apply(all(MapFission::default().into())).is_err() {
                break;
            }
            count += found;
            if self.pipeline.apply(all(InlineSdfg::default().into())).is_err() {
                break;
            }
        }
        if count > 0 {
            self.simplify();
            // What does not apply is left.
            let _ = self.pipeline.apply(all(MapCollapse::default().into()));
        }
        count
    }

    /// Predicted seconds with products in library nodes and the best orders of dimensions.
    fn seconds_with_orders(&mut self) -> f64 {
        self.lift();
        self.best_of(orders, WORTHWHILE);
        self.seconds()
    }

    /// Products of matrices become library nodes, whose expansions know the caches.
    fn lift(&mut self) {
        let transformation = LiftToLibrary::default();
        let count = matches(self.pipeline.program(), &transformation).len();
        let (before, program) = (self.seconds(), self.program());
        if count > 0 && self.pipeline.apply(Step::from(transformation.clone()).everywhere(None)).is_ok() {
            let after = self.seconds();
            let programs = program.zip(self.program());
            self.decide(&transformation, counted(count), (before, after), true, programs);
        }
    }

    /// Triangular products become products of matrices, but for triangles on the diagonal, if that gains.
    fn triangles(&mut self) {
        let all = places(self.pipeline.program(), &LiftToLibrary::default());
        let names: Vec<String> = all.iter().map(|found| name(self.pipeline.program(), found)).collect();
        for at in names {
            let place = place_at(self.pipeline.program(), &LiftToLibrary::default(), &at);
            let Some(place) = place else { continue };
            let Some(triangle) = Triangle::of(self.pipeline.program(), &place) else { continue };
            let steps = self.pipeline.applications().count();
            let before = (self.seconds(), self.seconds_of_one_thread());
            let mut best: Option<(f64, i64)> = None;
            for rows in ROWS {
                if triangle.block(self.pipeline, &place, rows).is_some() {
                    let after = self.seconds();
                    let is_better =
                        after < TILING_GAIN * before.0 && self.seconds_of_one_thread() <= before.1;
                    if is_better && best.is_none_or(|(least, _)| after < least) {
                        best = Some((after, rows));
                    }
                }
                self.undo_to(steps);
            }
            let Some((after, rows)) = best else { continue };
            let program = self.program();
            if triangle.block(self.pipeline, &place, rows).is_some() {
                let programs = program.zip(self.program());
                self.decide(&LiftToLibrary::default(), at, (before.0, after), true, programs);
            }
        }
    }

    /// Loops whose rows are sums of products over rows before or behind them get strips, if that gains: what a strip reads from
    /// outside is a product of matrices.
    fn strips(&mut self) {
        for sum in RowSum::all(self.pipeline.program()) {
            let Some(at) = sum.name(self.pipeline.program()) else { continue };
            let (steps, decisions) = (self.pipeline.applications().count(), self.decisions.len());
            let (program, watch) = (self.program(), self.watch.take());
            // Decisions that follow would make both programs faster.
            let before = (self.seconds_with_orders(), self.seconds_of_one_thread());
            self.undo_to(steps);
            let mut best: Option<(f64, (i64, bool))> = None;
            for strip in ROWS.into_iter().flat_map(|rows| [(rows, false), (rows, true)]) {
                if self.strip(&sum, strip).is_some() {
                    let after = self.seconds_with_orders();
                    let is_better =
                        after < TILING_GAIN * before.0 && self.seconds_of_one_thread() <= before.1;
                    if is_better && best.is_none_or(|(least, _)| after < least) {
                        best = Some((after, strip));
                    }
                }
                self.undo_to(steps);
            }
            let is_kept = best.is_some_and(|(_, strip)| self.strip(&sum, strip).is_some());
            self.watch = watch;
            self.decisions.truncate(decisions);
            if let Some((after, (size, _))) = best.filter(|_| is_kept) {
                let programs = program.zip(self.program());
                self.decide(&LoopStripMining { size }, at, (before.0, after), true, programs);
            }
        }
    }

    /// Strips of a loop, and maps of what is left of it where that is possible.
    fn strip(&mut self, sum: &RowSum, (rows, is_in_front): (i64, bool)) -> Option<()> {
        sum.strip(self.pipeline, rows, is_in_front)?;
        self.everywhere(LoopToMap::default());
        Some(())
    }

    /// Maps that add sums become one map for each term, where that gains: terms may be products of matrices.
    fn sums_of_products(&mut self) {
        // Most tasklets assign no sum, and predictions take time.
        let sums = matches(self.pipeline.program(), &TaskletFission::default());
        let names: Vec<String> = sums.iter().map(|found| name(self.pipeline.program(), found)).collect();
        for at in names {
            let place = place_at(self.pipeline.program(), &TaskletFission::default(), &at);
            let Some(place) = place else { continue };
            let (steps, decisions) = (self.pipeline.applications().count(), self.decisions.len());
            let (before, program) = ((self.seconds(), self.seconds_of_one_thread()), self.program());
            // The steps are parts of one decision.
            let watch = self.watch.take();
            let after = self.split_sum(&place).map(|()| (self.seconds(), self.seconds_of_one_thread()));
            self.watch = watch;
            self.decisions.truncate(decisions);
            let Some(after) = after else {
                self.undo_to(steps);
                continue;
            };
            let programs = program.zip(self.program());
            let is_kept = after.0 < WORTHWHILE * before.0 && after.1 <= before.1;
            if !is_kept {
                self.undo_to(steps);
            }
            self.decide(&TaskletFission::default(), at, (before.0, after.0), is_kept, programs);
        }
    }

    /// A map for each term of a sum, and library nodes for those that are products of matrices. Nothing if the tasklet is not
    /// split, or not alone in a map.
    fn split_sum(&mut self, place: &Match) -> Option<()> {
        self.pipeline.apply_at(&TaskletFission::default(), place).ok()?;
        let map = around(self.pipeline.program(), place)?;
        self.pipeline.apply_at(&MapFission::default(), &map).ok()?;
        self.lift();
        self.triangles();
        Some(())
    }

    /// At each place, keeps the candidate after which the program is fastest, if it gains by a factor.
    fn best_of<T: Transformation + Clone + Default + 'static>(
        &mut self,
        candidates: impl Fn(&Sdfg, &Match) -> Vec<T>,
        gain: f64,
    ) {
        let mut done = BTreeSet::new();
        for _ in 0..MOST_PLACES {
            let program = self.pipeline.program();
            let mut all = places(program, &T::default()).into_iter();
            let Some(found) = all.find(|found| !done.contains(&name(program, found))) else { return };
            let at = name(program, &found);
            let candidates = candidates(program, &found);
            done.insert(at.clone());
            let before = self.seconds();
            let own = self.own_seconds(&found).unwrap_or(before);
            let mut best: Option<(f64, T)> = None;
            for candidate in candidates {
                if self.pipeline.apply_at(&candidate, &found).is_err() {
                    continue;
                }
                let after = self.seconds();
                // The application is there, so this cannot fail.
                let _ = self.pipeline.undo();
                if best.as_ref().is_none_or(|(least, _)| after < *least) {
                    best = Some((after, candidate));
                }
            }
            let Some((after, candidate)) = best else { continue };
            let own = own.clamp(LEAST_SHARE * before, before);
            let is_better = before - after > (1.0 - gain) * own;
            let (alone, program) = (is_better.then(|| self.seconds_of_one_thread()), self.program());
            let is_applied =
                (is_better || program.is_some()) && self.pipeline.apply_at(&candidate, &found).is_ok();
            // The number of threads of a run is not known.
            let is_kept = is_applied && alone.is_some_and(|alone| self.seconds_of_one_thread() <= alone);
            let programs = program.zip(self.program().filter(|_| is_applied));
            if is_applied && !is_kept {
                // The application is there, so this cannot fail.
                let _ = self.pipeline.undo();
            }
            self.decide(&candidate, at, (before, after), is_kept, programs);
        }
    }

    /// Predicted seconds where one thread runs the program.
    fn seconds_of_one_thread(&self) -> f64 {
        let machine = &self.model.target.machine;
        let operations_per_second = machine.operations_per_second / f64::from(machine.threads);
        let machine = Machine { threads: 1, operations_per_second, ..machine.clone() };
        let target = Target { machine, sizes: self.model.target.sizes.clone() };
        Model::new(&target).seconds(self.pipeline.program())
    }

    /// Seconds of the first map of a match, if it is outside of all others.
    fn own_seconds(&self, found: &Match) -> Option<f64> {
        let Matched::Nodes(_, nodes) = &found.elements else { return None };
        let (tables, program) = (Tables::new(), self.pipeline.program());
        let site = Site::of(program, found, &tables)?;
        let first = (0..nodes.len()).find(|at| site.map(*at).is_ok())?;
        let own = self.model.own_seconds(program, site.state().node(found.node(first)));
        (own > 0.0).then_some(own)
    }

    fn undo_to(&mut self, steps: usize) {
        while self.pipeline.applications().count() > steps && self.pipeline.undo().is_ok() {}
    }

    fn decide(
        &mut self,
        transformation: &dyn Transformation,
        at: String,
        (before, after): (f64, f64),
        is_kept: bool,
        programs: Option<(Sdfg, Sdfg)>,
    ) {
        let mut shown = transformation.metadata().name.to_owned();
        let is_set = |value: &Value| value.as_array().is_some_and(|list| !list.is_empty());
        let parameters = transformation.parameters();
        for (name, value) in parameters.as_object().into_iter().flatten().filter(|(_, value)| is_set(value)) {
            shown.push_str(&format!(" {name}={value}"));
        }
        let decision = Decision { transformation: shown, at, before, after, is_kept };
        if let (Some(watch), Some((one, other))) = (&mut self.watch, programs) {
            watch(&decision, [one, other]);
        }
        self.decisions.push(decision);
    }
}

/// The place of a transformation with this name.
pub(super) fn place_at(program: &Sdfg, transformation: &dyn Transformation, at: &str) -> Option<Match> {
    places(program, transformation).into_iter().find(|found| name(program, found) == at)
}

/// The map around the first node of a match.
pub(super) fn around(program: &Sdfg, found: &Match) -> Option<Match> {
    let tables = Tables::new();
    let site = Site::of(program, found, &tables)?;
    let outer = site.scopes().scope_of(found.node(0))?;
    Some(Match { calls: found.calls.clone(), elements: Matched::Nodes(found.state(), vec![outer]) })
}

/// The paths of a match.
pub(super) fn name(program: &Sdfg, found: &Match) -> String {
    found.paths(program).iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The parameters of the map of a match at its first node.
fn parameters(program: &Sdfg, found: &Match) -> Vec<Symbol> {
    let tables = Tables::new();
    let map = Site::of(program, found, &tables).and_then(|site| site.map(0).ok());
    map.map_or_else(Vec::new, |map| map.params.clone())
}

/// All other orders of the dimensions of a map.
fn orders(program: &Sdfg, found: &Match) -> Vec<MapDimShuffle> {
    let params = parameters(program, found);
    if !(2..=MOST_DIMENSIONS).contains(&params.len()) {
        return Vec::new();
    }
    let mut orders: Vec<Vec<&str>> = vec![Vec::new()];
    for _ in &params {
        orders = orders
            .iter()
            .flat_map(|order| {
                let left = params.iter().map(Symbol::as_str);
                left.filter(|param| !order.contains(param)).map(|param| {
                    let mut longer = order.clone();
                    longer.push(param);
                    longer
                })
            })
            .collect();
    }
    // The first order is the present one.
    orders.into_iter().skip(1).map(MapDimShuffle::new).collect()
}

/// Tiles of a time loop whose data stays in the cache of a thread, and of which each thread has one. Widths that are too small for
/// the steps and for the reach of the stencils are refused.
fn time_tiles(program: &Sdfg, found: &Match, target: &Target) -> Vec<DiamondTiling> {
    let tables = Tables::new();
    let (Some(site), Matched::Blocks(blocks)) = (Site::of(program, found, &tables), &found.elements) else {
        return Vec::new();
    };
    let Some(BlockKind::Loop(repeated)) = blocks.first().map(|id| &site.sdfg.block(*id).kind) else {
        return Vec::new();
    };
    let states = site.sdfg.region(repeated.body).blocks.len().max(1) as i64;
    let Some(rows) = rows(site.sdfg, repeated.body, &target.sizes) else { return Vec::new() };
    let bytes = resident(site.sdfg, repeated.body, &target.sizes, &[]);
    let machine = &target.machine;
    if bytes <= machine.cache_bytes {
        return Vec::new();
    }
    let mut tiles = Vec::new();
    let widest = (rows * machine.cache_bytes / bytes).min(rows / f64::from(machine.threads));
    for width in TIME_WIDTHS.into_iter().filter(|width| *width as f64 <= widest) {
        for reach in TIME_REACHES {
            let most = (width / (2 * reach) + 1) / states;
            if most >= 2 {
                tiles.push((width, MOST_TIME_STEPS.min(1 << most.ilog2())));
            }
        }
    }
    // The widest ones need the least traffic.
    tiles.sort_unstable_by(|one, other| other.cmp(one));
    tiles.dedup();
    tiles.truncate(MOST_TIME_TILES);
    tiles.into_iter().map(|(width, steps)| DiamondTiling { steps, width }).collect()
}

/// Iterations of the first dimension of a map of a region.
fn rows(sdfg: &Sdfg, region: RegionId, sizes: &Values) -> Option<f64> {
    sdfg.region(region).blocks.iter().find_map(|block| {
        let BlockKind::State(id) = sdfg.block(*block).kind else { return None };
        sdfg.state(id).nodes().find_map(|(_, node)| match &node.kind {
            NodeKind::MapEntry(map) => map.ranges.0.first().map(|range| trips(range, sizes).0),
            _ => None,
        })
    })
}

/// Tiles of a map of several dimensions.
fn tiles(program: &Sdfg, found: &Match) -> Vec<MapTiling> {
    let dimensions = parameters(program, found).len();
    if dimensions < 2 {
        return Vec::new();
    }
    TILES.iter().map(|edge| MapTiling::new(vec![*edge; dimensions])).collect()
}
