//! The predicted time of a program.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::ScopeTree;
use sdfg::analysis::loops::counted_range;
use sdfg::ir::{Block, BlockKind, EdgeId, Flow, NestedSdfg, Node, NodeId, NodeKind, RegionId, Sdfg, State};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Symbol};

use super::kernel::Kernel;
use super::resident::resident;
use super::{Target, UNKNOWN_SIZE};

/// Seconds of a state without data, of a step of control flow.
const STEP_SECONDS: f64 = 1e-8;
/// Iterations of a loop that does not count.
const UNKNOWN_TRIPS: f64 = 10.0;
/// Nesting of calls beyond which nothing is counted; it bounds the stack.
const NESTING_LIMIT: usize = 32;

/// The surroundings of a part of a program.
#[derive(Clone, Copy)]
pub(super) struct Context {
    /// Number of calls around it.
    pub(super) depth: usize,
    /// Whether it runs in the iterations of a map, on one thread.
    pub(super) is_in_map: bool,
    /// The number of threads that run it at the same time, each for itself. They share the memory.
    pub(super) sharers: f64,
    /// Whether a loop around it keeps all of its data in caches.
    pub(super) is_cached: bool,
}

impl Default for Context {
    fn default() -> Self {
        Context { depth: 0, is_in_map: false, sharers: 1.0, is_cached: false }
    }
}

/// Values of symbols at a place of a program.
pub(super) type Values = BTreeMap<Symbol, i64>;

/// The value of an expression; that of an unknown size if it mentions an unknown symbol or has no value.
pub(super) fn value(expr: &Expr, values: &Values) -> i64 {
    expr.eval(&|symbol: &Symbol| Some(values.get(symbol).copied().unwrap_or(UNKNOWN_SIZE)))
        .unwrap_or(UNKNOWN_SIZE)
}

/// The number of values of a range, and the one in the middle.
pub(super) fn trips(range: &Range, values: &Values) -> (f64, i64) {
    let (begin, end, step) =
        (value(&range.begin, values), value(&range.end, values), value(&range.step, values));
    let step = if step == 0 { 1 } else { step };
    let count = (end.saturating_sub(begin) as f64 / step as f64).ceil().max(0.0);
    // Of two values the first: the last tile of a loop may be small.
    let before = ((count - 1.0).max(0.0) / 2.0) as i64;
    (count, begin.saturating_add(before.saturating_mul(step)))
}

/// The number of elements of a part.
pub(super) fn elements(subset: &Subset, values: &Values) -> f64 {
    let along = |range: &Range| trips(range, values).0 * value(&range.tile, values).max(1) as f64;
    subset.0.iter().map(along).product()
}

/// Predicts times on one machine.
pub(super) struct Model<'t> {
    pub(super) target: &'t Target,
    /// A map that is left out.
    pub(super) without: Option<&'t Node>,
}

impl Model<'_> {
    pub(super) fn new(target: &Target) -> Model<'_> {
        Model { target, without: None }
    }

    /// Seconds that a map outside of other maps takes in one run. This node is in the program.
    pub(super) fn own_seconds(&self, program: &Sdfg, map: &Node) -> f64 {
        let without = Model { target: self.target, without: Some(map) };
        self.seconds(program) - without.seconds(program)
    }

    /// Seconds of one run.
    pub(super) fn seconds(&self, program: &Sdfg) -> f64 {
        self.region(program, program.body(), &mut self.target.sizes.clone(), Context::default())
    }

    fn region(&self, sdfg: &Sdfg, region: RegionId, values: &mut Values, context: Context) -> f64 {
        let mut seconds = 0.0;
        for id in &sdfg.region(region).blocks {
            seconds += STEP_SECONDS + self.block(sdfg, sdfg.block(*id), values, context);
            for transition in sdfg.transitions_from(*id).into_iter().map(|id| sdfg.transition(id)) {
                for (symbol, assigned) in &transition.assignments {
                    match Expr::from_expression(assigned) {
                        Ok(assigned) => values.insert(symbol.clone(), value(&assigned, values)),
                        Err(_) => values.remove(symbol),
                    };
                }
            }
        }
        seconds
    }

    fn block(&self, sdfg: &Sdfg, block: &Block, values: &mut Values, context: Context) -> f64 {
        match &block.kind {
            BlockKind::State(id) => self.state(sdfg, sdfg.state(*id), values, context),
            BlockKind::Loop(repeated) => {
                let counted = counted_range(sdfg, repeated);
                let machine = &self.target.machine;
                // Parts of a map that threads share stay in the caches of all of them.
                let caches = if context.is_in_map { 1.0 } else { f64::from(machine.threads) };
                let around: Vec<_> = counted.iter().cloned().collect();
                let resident =
                    if context.is_cached { 0.0 } else { resident(sdfg, repeated.body, values, &around) };
                let stays = resident <= caches * machine.cache_bytes;
                let fetched =
                    if stays { context.sharers * resident / machine.memory_bytes_per_second } else { 0.0 };
                let count = match counted {
                    Some((symbol, range)) => {
                        let (count, middle) = trips(&range, values);
                        values.insert(symbol, middle);
                        count
                    }
                    None => UNKNOWN_TRIPS,
                };
                let context = Context { is_cached: context.is_cached || stays, ..context };
                fetched + count * (STEP_SECONDS + self.region(sdfg, repeated.body, values, context))
            }
            BlockKind::Branch(branch) => {
                let arms = branch.arms.iter().map(|(_, arm)| *arm).chain(branch.otherwise);
                arms.map(|arm| self.region(sdfg, arm, &mut values.clone(), context)).fold(0.0, f64::max)
            }
            BlockKind::Break | BlockKind::Continue | BlockKind::Return => 0.0,
        }
    }

    /// The parts of a state run one after the other.
    fn state(&self, sdfg: &Sdfg, state: &State, values: &Values, context: Context) -> f64 {
        let tree = ScopeTree::of(state);
        let nodes: BTreeSet<NodeId> = tree.children(None).iter().copied().collect();
        let copies: f64 = state.edges().map(|(id, _)| self.copied(sdfg, state, id, values)).sum();
        copies
            + nodes.into_iter().map(|node| self.node(sdfg, state, &tree, node, values, context)).sum::<f64>()
    }

    /// Seconds of a copy between access nodes.
    fn copied(&self, sdfg: &Sdfg, state: &State, edge: EdgeId, values: &Values) -> f64 {
        let Flow::Copy { from, to, .. } = &state.edge(edge).memlet.flow else { return 0.0 };
        let bytes = |access: &sdfg::ir::Access| {
            elements(access.subset(), values) * sdfg.container(access.container).element.size() as f64
        };
        (bytes(from) + bytes(to)) / self.target.machine.memory_bytes_per_second
    }

    fn node(
        &self,
        sdfg: &Sdfg,
        state: &State,
        tree: &ScopeTree,
        node: NodeId,
        values: &Values,
        context: Context,
    ) -> f64 {
        match &state.node(node).kind {
            NodeKind::MapEntry(_) if self.without.is_some_and(|map| std::ptr::eq(map, state.node(node))) => {
                0.0
            }
            NodeKind::MapEntry(_) => {
                Kernel::of(self, sdfg, (state, tree), node, (values, context)).seconds(self)
            }
            NodeKind::Nested(nested) => self.call(nested, values, context),
            NodeKind::Tasklet(_) => {
                let moves = state.each_in_edge(node).count() + state.each_out_edge(node).count();
                moves as f64 / self.accesses_per_second()
            }
            NodeKind::Reduce(_) | NodeKind::Library(_) => self.library(sdfg, state, node, values),
            NodeKind::Access(_)
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_) => 0.0,
        }
    }

    /// Seconds of a node that an expansion computes, near the peak of the machine.
    fn library(&self, sdfg: &Sdfg, state: &State, node: NodeId, values: &Values) -> f64 {
        let sizes = sizes_of_operands(sdfg, state, node, values);
        let bytes: f64 = sizes.iter().map(|(_, bytes)| bytes).sum();
        let machine = &self.target.machine;
        (operations(&sizes) / machine.operations_per_second).max(bytes / machine.memory_bytes_per_second)
    }

    /// The share of one thread in the peak of the machine.
    pub(super) fn operations_per_second_of_one_thread(&self) -> f64 {
        self.target.machine.operations_per_second / f64::from(self.target.machine.threads)
    }

    /// Seconds of a call with the values of its caller.
    pub(super) fn call(&self, nested: &NestedSdfg, values: &Values, context: Context) -> f64 {
        if context.depth >= NESTING_LIMIT {
            return 0.0;
        }
        let given = nested.symbol_mapping.iter();
        let mut inner: Values = given.map(|(symbol, given)| (symbol.clone(), value(given, values))).collect();
        let context = Context { depth: context.depth + 1, ..context };
        self.region(&nested.sdfg, nested.sdfg.body(), &mut inner, context)
    }

    /// Accesses of one thread to its cache in a second, one at a time.
    pub(super) fn accesses_per_second(&self) -> f64 {
        // An instruction of the widest vectors computes with 16 numbers, twice.
        self.operations_per_second_of_one_thread() / 8.0
    }
}

/// Elements and bytes of each operand of a node.
fn sizes_of_operands(sdfg: &Sdfg, state: &State, node: NodeId, values: &Values) -> Vec<(f64, f64)> {
    let edges = state.each_in_edge(node).chain(state.each_out_edge(node));
    let accesses = edges.flat_map(|(_, edge)| edge.memlet.accesses());
    accesses
        .map(|access| {
            let count = elements(access.subset(), values);
            (count, count * sdfg.container(access.container).element.size() as f64)
        })
        .collect()
}

/// Operations of a node that an expansion computes.
pub(super) fn operations_of(sdfg: &Sdfg, state: &State, node: NodeId, values: &Values) -> f64 {
    operations(&sizes_of_operands(sdfg, state, node, values))
}

/// An operation for each combination of indices of a product of two operands: `M K` and `K N` elements and `M N` results are
/// `M N K` of them.
fn operations(sizes: &[(f64, f64)]) -> f64 {
    match sizes {
        [(a, _), (b, _), (c, _)] => 2.0 * (a * b * c).sqrt(),
        other => other.iter().map(|(count, _)| count).sum(),
    }
}
