//! The predicted time of a map at the top of a state.
//!
//! The loops of the map and of the maps inside of it have an order. An access moves through its container by a fixed
//! distance in each loop. Accesses of one container that move alike are one *stream*: `A[i - 1]` and `A[i + 1]` use the same
//! cache lines. From the inside out, a level of loops keeps its data in the cache as long as all streams fit. The loop around the
//! outermost level that fits brings its data from memory once, and the loops around that one bring them again.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::ScopeTree;
use sdfg::analysis::symbols::scope_parameters;
use sdfg::ir::{Access, ContainerId, Flow, NodeId, NodeKind, ScheduleKind, Sdfg, State};
use sdfg::subset::Range;
use sdfg::symbolic::{Expr, Symbol};

use super::model::{Context, Model, Values, elements, operations_of, trips, value};
use super::resident::middle;

/// Bytes of a cache line.
const LINE: f64 = 64.0;
/// Elements that vectors handle at a time, where they lie side by side.
const LANES: f64 = 4.0;
/// Bytes that a thread takes from its second cache in a second.
const CACHE_BYTES_PER_SECOND: f64 = 5e10;
/// Bytes of a page of memory.
const PAGE: f64 = 4096.0;
/// Numbers of pages up to which the processor finds them, and the seconds to find one, and a line in it that was not fetched ahead.
const PAGES: [(f64, f64); 3] = [(64.0, 0.0), (1024.0, 4e-9), (f64::INFINITY, 2e-8)];
/// Seconds of an atomic operation.
const ATOMIC_SECONDS: f64 = 2e-8;
/// Seconds of an atomic operation on an element that all threads combine into at the same time.
const CONTENDED_SECONDS: f64 = 1e-7;
/// Seconds to start the threads of a map.
const FORK_SECONDS: f64 = 5e-6;

/// The loops around an access: their numbers of iterations, outermost first.
type Loops = Vec<f64>;

/// Accesses that use the same cache lines.
struct Stream {
    /// Bytes of an element.
    element: f64,
    /// The elements of one access.
    volume: f64,
    loops: Loops,
    /// The distance in elements that each loop moves the access by.
    moves: Vec<i64>,
    /// Number of accesses in an iteration of all loops.
    accesses: f64,
    /// Whether an access combines with what is there.
    combines: bool,
    /// Whether the container has one dimension.
    is_row: bool,
    container: ContainerId,
}

impl Stream {
    /// Bytes of cache lines that the loops from a level on touch.
    fn footprint(&self, level: usize) -> f64 {
        let varying = self.loops.iter().zip(&self.moves).skip(level).filter(|(_, distance)| **distance != 0);
        let (mut points, mut span, mut nearest) = (1.0, self.volume, f64::INFINITY);
        for (count, distance) in varying {
            let distance = distance.unsigned_abs() as f64;
            points *= count;
            span += distance * (count - 1.0).max(0.0);
            nearest = nearest.min(distance);
        }
        let is_dense = !nearest.is_finite() || self.volume > 1.0;
        let bytes = if is_dense { self.element } else { (nearest * self.element).min(LINE) };
        (points * self.volume).min(span) * bytes.max(self.element)
    }

    /// Iterations of all loops.
    fn executions(&self) -> f64 {
        self.loops.iter().product()
    }

    /// Seconds in which one thread waits for lines and pages, if the cache has the lines.
    fn waiting(&self) -> f64 {
        let distance = self.moves.last().map_or(0, |distance| distance.unsigned_abs()) as f64 * self.element;
        let accesses = self.executions() * self.accesses * self.volume;
        let pages = self.loops.last().filter(|_| distance >= PAGE).copied().unwrap_or(0.0);
        let page = PAGES.iter().find(|(most, _)| pages <= *most).map_or(0.0, |(_, seconds)| *seconds);
        accesses * (distance.min(LINE) / CACHE_BYTES_PER_SECOND + page)
    }

    /// Whether iterations of different threads combine into the same element, if threads share the iterations of a loop.
    fn meets(&self, shared: usize) -> bool {
        self.combines && self.moves.get(shared).is_none_or(|distance| *distance == 0)
    }

    /// Seconds in which threads merge their copies of a row, one after the other. Lowering gives each thread a copy of what has one
    /// dimension.
    fn merging(&self, shared: usize, threads: f64) -> f64 {
        if !self.meets(shared) || !self.is_row {
            return 0.0;
        }
        threads * 2.0 * self.footprint(0) / CACHE_BYTES_PER_SECOND
    }

    /// Seconds of all atomic operations, if threads share the iterations of a loop.
    fn atomic(&self, shared: usize) -> f64 {
        if !self.meets(shared) || self.is_row {
            return 0.0;
        }
        let is_contended = self.moves.last() == Some(&0);
        self.executions() * if is_contended { CONTENDED_SECONDS } else { ATOMIC_SECONDS }
    }

    /// Whether the innermost loop moves it by one element, or not at all.
    fn is_smooth(&self) -> bool {
        self.moves.last().is_none_or(|distance| (-1..=1).contains(distance))
    }
}

/// A map with its accesses.
pub(super) struct Kernel {
    streams: Vec<Stream>,
    /// Seconds of the calls in the map, one after the other.
    calls: f64,
    /// Containers of an iteration.
    own: BTreeSet<ContainerId>,
    /// The iterations of each dimension of the map.
    counts: Vec<f64>,
    is_parallel: bool,
    context: Context,
}

/// The surroundings of nodes in the map.
struct Place<'a> {
    values: Values,
    loops: Loops,
    /// The parameter and range of each loop.
    parameters: Vec<(Symbol, Range)>,
    context: Context,
    state: &'a State,
    tree: &'a ScopeTree,
}

impl Place<'_> {
    /// The values behind a step of a loop. Loops inside of it move along, as those of a tile do.
    fn after_a_step(&self, at: usize) -> Values {
        let mut next = self.values.clone();
        for (inner, (symbol, range)) in self.parameters.iter().enumerate().skip(at) {
            let by = if inner == at {
                value(&range.step, &self.values)
            } else {
                value(&range.begin, &next).saturating_sub(value(&range.begin, &self.values))
            };
            let own = self.values.get(symbol).copied().unwrap_or_default();
            next.insert(symbol.clone(), own.saturating_add(by));
        }
        next
    }
}

impl Kernel {
    pub(super) fn of(
        model: &Model<'_>,
        sdfg: &Sdfg,
        (state, tree): (&State, &ScopeTree),
        entry: NodeId,
        (values, context): (&Values, Context),
    ) -> Self {
        let mut kernel = Kernel::new(context);
        if let NodeKind::MapEntry(map) = &state.node(entry).kind {
            let schedule = map.schedule.kind();
            kernel.is_parallel =
                !context.is_in_map && matches!(schedule, ScheduleKind::Default | ScheduleKind::CpuMulticore);
            kernel.counts = middle(values, &scope_parameters(state, entry)).1;
        }
        let sharers = if kernel.is_parallel { kernel.threads(model) } else { context.sharers };
        let context = Context { is_in_map: true, sharers, ..context };
        let place =
            Place { values: values.clone(), loops: Vec::new(), parameters: Vec::new(), context, state, tree };
        let mut alike = BTreeMap::new();
        kernel.add_scope(Some(model), sdfg, Some(entry), place, &mut alike);
        kernel
    }

    fn new(context: Context) -> Self {
        let (streams, own) = (Vec::new(), BTreeSet::new());
        Kernel { streams, calls: 0.0, own, counts: Vec::new(), is_parallel: false, context }
    }

    /// Bytes of cache lines of each container that a state touches while the loops around it run, outermost first.
    pub(super) fn touched(
        sdfg: &Sdfg,
        (state, tree): (&State, &ScopeTree),
        values: &Values,
        around: &[(Symbol, Range)],
    ) -> BTreeMap<ContainerId, f64> {
        let context = Context::default();
        let mut kernel = Kernel::new(context);
        let (values, loops) = middle(values, around);
        let place = Place { values, loops, parameters: around.to_vec(), context, state, tree };
        kernel.add_scope(None, sdfg, None, place, &mut BTreeMap::new());
        let mut touched = BTreeMap::new();
        for stream in &kernel.streams {
            *touched.entry(stream.container).or_insert(0.0) += stream.footprint(0);
        }
        touched
    }

    /// The dimension whose iterations threads share: the first one whose iterations combine into different elements, if there is one.
    fn shared(&self) -> usize {
        let combined = || self.streams.iter().filter(|s| s.combines && !self.own.contains(&s.container));
        let is_free = |at: &usize| {
            combined().all(|stream| stream.moves.get(*at).is_some_and(|distance| *distance != 0))
        };
        (0..self.counts.len()).find(is_free).unwrap_or(0)
    }

    /// Threads that run iterations.
    fn threads(&self, model: &Model<'_>) -> f64 {
        let iterations = self.counts.get(self.shared()).copied().unwrap_or(1.0);
        f64::from(model.target.machine.threads).min(iterations).max(1.0)
    }

    /// Adds the accesses in a map, or in a state outside of maps; without a model, those of calls too.
    fn add_scope(
        &mut self,
        model: Option<&Model<'_>>,
        sdfg: &Sdfg,
        entry: Option<NodeId>,
        mut place: Place<'_>,
        alike: &mut BTreeMap<(ContainerId, Vec<i64>), usize>,
    ) {
        for (symbol, range) in entry.into_iter().flat_map(|entry| scope_parameters(place.state, entry)) {
            let (count, middle) = trips(&range, &place.values);
            place.values.insert(symbol.clone(), middle);
            place.loops.push(count);
            place.parameters.push((symbol, range));
        }
        for node in place.tree.children(entry) {
            let kind = &place.state.node(*node).kind;
            if let (NodeKind::Nested(nested), Some(model)) = (kind, model) {
                let executions: f64 = place.loops.iter().product();
                self.calls += executions * model.call(nested, &place.values, place.context);
                continue;
            }
            if let (NodeKind::Library(_) | NodeKind::Reduce(_), Some(model)) = (kind, model) {
                let executions: f64 = place.loops.iter().product();
                let operations = operations_of(sdfg, place.state, *node, &place.values);
                self.calls += executions * operations / model.operations_per_second_of_one_thread();
            }
            match kind {
                NodeKind::MapEntry(_) | NodeKind::ConsumeEntry(_) => {
                    let inner = Place {
                        values: place.values.clone(),
                        loops: place.loops.clone(),
                        parameters: place.parameters.clone(),
                        ..place
                    };
                    self.add_scope(model, sdfg, Some(*node), inner, alike);
                }
                NodeKind::Tasklet(_) | NodeKind::Reduce(_) | NodeKind::Library(_) | NodeKind::Nested(_) => {
                    let edges = place.state.each_in_edge(*node).chain(place.state.each_out_edge(*node));
                    for (_, edge) in edges {
                        match &edge.memlet.flow {
                            Flow::Read(access) => self.add_access(sdfg, access, false, &place, alike),
                            Flow::Write { to, resolution } => {
                                self.add_access(sdfg, to, resolution.is_some(), &place, alike);
                            }
                            Flow::Order | Flow::Copy { .. } | Flow::Value | Flow::Bind(_) => {}
                        }
                    }
                }
                NodeKind::Access(container) => {
                    self.own.insert(*container);
                    for (_, edge) in place.state.each_out_edge(*node) {
                        if let Flow::Copy { from, to, .. } = &edge.memlet.flow {
                            self.add_access(sdfg, from, false, &place, alike);
                            self.add_access(sdfg, to, false, &place, alike);
                        }
                    }
                }
                NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => {}
            }
        }
    }

    fn add_access(
        &mut self,
        sdfg: &Sdfg,
        access: &Access,
        combines: bool,
        place: &Place<'_>,
        alike: &mut BTreeMap<(ContainerId, Vec<i64>), usize>,
    ) {
        let container = sdfg.container(access.container);
        if container.is_stream() {
            return;
        }
        let is_row = container.shape().len() == 1;
        let strides: Vec<Expr> =
            container.kind.layout().map_or_else(Vec::new, |layout| layout.strides.clone());
        let address = |values: &Values| -> i64 {
            let along = strides.iter().zip(&access.subset().0);
            along.fold(0, |sum: i64, (stride, range)| {
                sum.saturating_add(value(stride, values).saturating_mul(value(&range.begin, values)))
            })
        };
        let here = address(&place.values);
        let moves: Vec<i64> = (0..place.parameters.len())
            .map(|at| address(&place.after_a_step(at)).saturating_sub(here))
            .collect();
        let volume = elements(access.subset(), &place.values);
        if let Some(at) = alike.get(&(access.container, moves.clone())) {
            self.streams[*at].accesses += 1.0;
            self.streams[*at].combines |= combines;
            return;
        }
        alike.insert((access.container, moves.clone()), self.streams.len());
        let element = container.element.size() as f64;
        let loops = place.loops.clone();
        self.streams.push(Stream {
            element,
            volume,
            loops,
            moves,
            accesses: 1.0,
            combines,
            is_row,
            container: access.container,
        });
    }

    /// Bytes between memory and a cache of so many bytes.
    fn traffic(&self, cache: f64) -> f64 {
        let deepest = self.streams.iter().map(|stream| stream.loops.len()).max().unwrap_or(0);
        let fits =
            |level: &usize| self.streams.iter().map(|stream| stream.footprint(*level)).sum::<f64>() <= cache;
        let level = (0..deepest).find(fits).unwrap_or(deepest);
        // The iterations of the loop around that level share what they have in common.
        let border = level.saturating_sub(1);
        let again = |stream: &Stream| -> f64 {
            stream.footprint(border) * stream.loops.iter().take(border).product::<f64>()
        };
        self.streams.iter().map(again).sum()
    }

    pub(super) fn seconds(&self, model: &Model<'_>) -> f64 {
        let machine = &model.target.machine;
        let is_smooth = self.streams.iter().all(Stream::is_smooth);
        let lanes = if is_smooth { LANES } else { 1.0 };
        let accesses: f64 = self.streams.iter().map(|s| s.executions() * s.accesses * s.volume).sum();
        let waiting: f64 = self.streams.iter().map(Stream::waiting).sum();
        let compute = accesses / lanes / model.accesses_per_second() + waiting + self.calls;
        let memory = if self.context.is_cached {
            0.0
        } else {
            self.context.sharers * self.traffic(machine.cache_bytes) / machine.memory_bytes_per_second
        };
        let threads = self.threads(model);
        let serial = overlapped(compute, memory);
        if !self.is_parallel {
            return serial;
        }
        // Iterations of different threads combine into one element by atomic operations.
        let shared = || self.streams.iter().filter(|stream| !self.own.contains(&stream.container));
        let at = self.shared();
        let atomic: f64 = shared().map(|stream| stream.atomic(at)).sum();
        let merging: f64 = shared().map(|stream| stream.merging(at, threads)).sum();
        let parallel = overlapped((compute + atomic) / threads, memory) + merging + FORK_SECONDS;
        // Small maps run on one thread.
        if atomic > 0.0 { parallel } else { serial.min(parallel) }
    }
}

/// Seconds of two activities at the same time, of which neither hides the other one completely.
fn overlapped(first: f64, second: f64) -> f64 {
    first.max(second) + first.min(second) / 2.0
}
