//! Costs: bytes moved and arithmetic work of memlets, scopes, states and the program, and their quotient, the
//! operational intensity (Williams, Waterman and Patterson, "Roofline", 2009).
//!
//! Bytes are those that memlets move, counted at the leaves: a copy reads and writes, and a write that
//! resolves conflicts writes. Caches are not modelled. A call of a nested SDFG costs what the nested SDFG
//! costs. Conditions and assignments of control flow are not counted.

mod quantity;
mod traffic;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use quantity::Quantity;
use sdfg_language::symbolic::{Assumptions, Environment, Expr, Symbol};
use sdfg_language::tasklet::typecheck;
pub use traffic::Traffic;
pub use work::{OperationClass, Work};

use super::TaskletConnectors;
use super::executions::{ExecutionTable, Frequency};
use super::footprint::states_in;
use super::known::{SymbolFacts, enter_scope};
use super::memlet_path::is_leaf;
use super::memlet_tree::MemletTrees;
use super::scope_tree::ScopeTree;
use super::symbols::scope_parameters;
use super::symbols::{assigned_symbols, bound_symbols, symbol_types_in};
use crate::ir::{
    Access, BlockId, EdgeId, NestedSdfg, NodeId, NodeKind, Sdfg, State, StateId, Tasklet, TaskletBody,
};

/// Nesting of SDFGs beyond which costs are unknown; it bounds the stack.
const NESTING_LIMIT: usize = 64;

/// Cost of one execution of a part of a program, in symbols of the place of the part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Bytes that are read from containers.
    pub read: Quantity,
    /// Bytes that are written to containers.
    pub written: Quantity,
    /// Operations.
    pub work: Work,
}

impl Cost {
    /// Nothing.
    pub fn zero() -> Self {
        Cost { read: Quantity::zero(), written: Quantity::zero(), work: Work::zero() }
    }

    fn undetermined() -> Self {
        let unknown = Quantity::undetermined;
        Cost { read: unknown(), written: unknown(), work: Work::undetermined() }
    }

    /// Bytes that are read or written.
    pub fn bytes(&self) -> Quantity {
        self.read.plus(&self.written)
    }

    /// Operations for each byte, at the given values of the symbols; `None` if one of both is unknown, if a symbol has
    /// no value, or if nothing moves.
    pub fn intensity(&self, environment: &Environment<'_>) -> Option<f64> {
        let (operations, bytes) = (self.work.total(), self.bytes());
        if operations.unknown || bytes.unknown {
            return None;
        }
        let (operations, bytes) = (operations.eval(environment).ok()?, bytes.eval(environment).ok()?);
        (bytes != 0).then(|| operations as f64 / bytes as f64)
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Cost) -> Self {
        Cost {
            read: self.read.plus(&other.read),
            written: self.written.plus(&other.written),
            work: self.work.plus(&other.work),
        }
    }

    /// Changes all numbers alike.
    #[must_use]
    pub fn map(&self, change: impl Fn(&Quantity) -> Quantity) -> Self {
        Cost { read: change(&self.read), written: change(&self.written), work: self.work.map(&change) }
    }
}

/// Costs of the parts of one SDFG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Costs {
    edges: BTreeMap<(StateId, EdgeId), Cost>,
    nodes: BTreeMap<(StateId, NodeId), Cost>,
    states: BTreeMap<StateId, Cost>,
    program: Cost,
}

impl Costs {
    /// The costs of all parts of an SDFG.
    pub fn of(sdfg: &Sdfg) -> Self {
        Costs::nested(sdfg, 0)
    }

    /// Data that an edge moves in one execution of its state, for all iterations of the surrounding scopes;
    /// for an edge outside of scopes, the data of the leaves of its tree. Nothing for edges that bind or
    /// order, and for those that pass memory to nested SDFGs.
    pub fn of_edge(&self, state: StateId, edge: EdgeId) -> Cost {
        self.edges.get(&(state, edge)).cloned().unwrap_or_else(Cost::zero)
    }

    /// Cost of one execution of a code node without its memlets (for a call of a nested SDFG, of the whole
    /// call), or for an entry of all iterations of its scope, in symbols of the place of the node.
    pub fn of_node(&self, state: StateId, node: NodeId) -> Cost {
        self.nodes.get(&(state, node)).cloned().unwrap_or_else(Cost::zero)
    }

    /// Cost of one execution of a state.
    pub fn of_state(&self, state: StateId) -> Cost {
        self.states.get(&state).cloned().unwrap_or_else(Cost::zero)
    }

    /// Cost of one call of the SDFG. All arms of branches count, which gives an upper bound.
    pub fn of_program(&self) -> &Cost {
        &self.program
    }

    fn nested(sdfg: &Sdfg, depth: usize) -> Self {
        let mut costs = Costs {
            edges: BTreeMap::new(),
            nodes: BTreeMap::new(),
            states: BTreeMap::new(),
            program: Cost::zero(),
        };
        let repeated = Repeated::of(sdfg);
        for (block, state) in states_in(sdfg, sdfg.body()) {
            let cost = StateCost::of(sdfg, &repeated.known, state, depth).sum(&mut costs);
            let total = cost.map(|part| repeated.over_control(sdfg, block, part));
            costs.program = costs.program.plus(&total);
            costs.states.insert(state, cost);
        }
        costs
    }
}

/// Operations of one iteration of each of some scopes of a state, of its code, calls and conflict resolutions, in symbols of the place
/// inside of it. [`Costs`] knows them, too, and more that takes longer.
pub fn work_of_iterations(sdfg: &Sdfg, state: StateId, entries: &[NodeId]) -> Vec<Work> {
    let cost = StateCost::of(sdfg, &SymbolFacts::of(sdfg), state, 0);
    entries.iter().map(|entry| cost.iteration(*entry)).collect()
}

/// How often the blocks of an SDFG run.
struct Repeated {
    executions: ExecutionTable,
    known: SymbolFacts,
    changes: BTreeSet<Symbol>,
}

impl Repeated {
    fn of(sdfg: &Sdfg) -> Self {
        Repeated {
            executions: ExecutionTable::of(sdfg),
            known: SymbolFacts::of(sdfg),
            changes: assigned_symbols(sdfg).into_iter().collect(),
        }
    }

    /// A quantity of one execution of a block, for all executions in one call of the SDFG.
    fn over_control(&self, sdfg: &Sdfg, block: BlockId, part: &Quantity) -> Quantity {
        let executed = self.executions.of_block(sdfg, block);
        let part = part.summed_over(&executed.loops, self.known.everywhere()).without(&self.changes);
        match executed.frequency {
            Frequency::Once => part,
            Frequency::AtMostOnce => part.bounded(),
            Frequency::Unbounded if part.is_zero() => part,
            Frequency::Unbounded => Quantity::undetermined(),
        }
    }
}

/// A state with what is known of the symbols in it.
struct StateCost<'a> {
    sdfg: &'a Sdfg,
    id: StateId,
    state: &'a State,
    tree: ScopeTree,
    known: Arc<Assumptions>,
    depth: usize,
}

impl<'a> StateCost<'a> {
    fn of(sdfg: &'a Sdfg, known: &SymbolFacts, id: StateId, depth: usize) -> Self {
        let state = sdfg.state(id);
        StateCost { sdfg, id, state, tree: ScopeTree::of(state), known: known.in_state(sdfg, id), depth }
    }

    /// Adds the costs of all parts to the table; gives that of the state.
    fn sum(&self, costs: &mut Costs) -> Cost {
        let mut inside: BTreeMap<Option<NodeId>, Cost> = BTreeMap::new();
        let mut add = |scope: Option<NodeId>, cost: &Cost| {
            let sum = inside.entry(scope).or_insert_with(Cost::zero);
            *sum = sum.plus(cost);
        };
        let trees = MemletTrees::of(self.state);
        for (edge, _) in self.state.edges().filter(|(edge, _)| trees.is_leaf(*edge)) {
            let cost = self.leaf(edge);
            let scope = self.tree.scope_of_edge(self.state, edge);
            add(scope, &cost);
            let carried =
                self.tree.enclosing_scope(scope).fold(cost, |cost, entry| self.over_scope(&cost, entry));
            costs.edges.insert((self.id, edge), carried);
        }
        for (edge, _) in self.state.edges().filter(|(edge, _)| !trees.is_leaf(*edge)) {
            let leaves = trees.leaves(edge).into_iter().map(|leaf| costs.of_edge(self.id, leaf));
            let sum = leaves.reduce(|a, b| a.plus(&b)).unwrap_or_else(Cost::zero);
            costs.edges.insert((self.id, edge), sum);
        }
        for (node, _) in self.state.nodes() {
            let Some(cost) = self.code(node) else { continue };
            add(self.tree.scope_of(node), &cost);
            costs.nodes.insert((self.id, node), cost);
        }
        for entry in self.tree.entries().into_iter().rev() {
            let iteration = inside.get(&Some(entry)).cloned().unwrap_or_else(Cost::zero);
            let scope = self.over_scope(&iteration, entry);
            let sum = inside.entry(self.tree.scope_of(entry)).or_insert_with(Cost::zero);
            *sum = sum.plus(&scope);
            costs.nodes.insert((self.id, entry), scope);
        }
        inside.remove(&None).unwrap_or_else(Cost::zero)
    }

    /// Operations of one iteration of a scope.
    fn iteration(&self, entry: NodeId) -> Work {
        let mut sum = Work::zero();
        for node in self.tree.children(Some(entry)) {
            if self.state.node(*node).kind.is_scope_entry() {
                let iteration = Cost { work: self.iteration(*node), ..Cost::zero() };
                sum = sum.plus(&self.over_scope(&iteration, *node).work);
            } else if let Some(cost) = self.code(*node) {
                sum = sum.plus(&cost.work);
            }
        }
        let is_inside = |edge: &EdgeId| self.tree.scope_of_edge(self.state, *edge) == Some(entry);
        let leaves = self.state.edges().map(|(edge, _)| edge).filter(|edge| is_leaf(self.state, *edge));
        leaves.filter(is_inside).fold(sum, |sum, edge| sum.plus(&self.leaf(edge).work))
    }

    /// Cost of a node with code in each execution.
    fn code(&self, node: NodeId) -> Option<Cost> {
        match &self.state.node(node).kind {
            NodeKind::Tasklet(tasklet) => Some(Cost { work: self.tasklet(node, tasklet), ..Cost::zero() }),
            NodeKind::Nested(nested) => Some(self.call(nested)),
            NodeKind::Reduce(_) => Some(Cost { work: self.reduction(node), ..Cost::zero() }),
            NodeKind::Library(_) => Some(Cost { work: Work::undetermined(), ..Cost::zero() }),
            NodeKind::Access(_)
            | NodeKind::MapEntry(_)
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_) => None,
        }
    }

    /// Cost of all iterations of a scope.
    fn over_scope(&self, iteration: &Cost, entry: NodeId) -> Cost {
        if !matches!(self.state.node(entry).kind, NodeKind::MapEntry(_)) {
            let unknown =
                |part: &Quantity| if part.is_zero() { part.clone() } else { Quantity::undetermined() };
            return iteration.map(unknown);
        }
        let parameters = scope_parameters(self.state, entry);
        let mut known = Assumptions::clone(&self.known);
        let mut around: Vec<NodeId> = self.tree.enclosing(entry).collect();
        around.reverse();
        around.into_iter().for_each(|scope| enter_scope(self.state, scope, &mut known));
        let own: BTreeSet<Symbol> = bound_symbols(self.state, entry).into_iter().collect();
        iteration.map(|part| part.summed_over(&parameters, &known).without(&own))
    }

    /// Data of a leaf in each execution, and the work of its conflict resolution.
    fn leaf(&self, edge: EdgeId) -> Cost {
        let content = self.state.edge(edge);
        let memlet = &content.memlet;
        let is_call = |node: NodeId| matches!(self.state.node(node).kind, NodeKind::Nested(_));
        let volume = Quantity::of_volume(&memlet.volume);
        let bytes = |access: &Access| {
            let size = self.sdfg.get_container(access.container).map_or(0, |c| c.element.size() as i64);
            volume.times(&Expr::int(size))
        };
        let mut cost = Cost::zero();
        if let Some(access) = memlet.read_access().filter(|_| !is_call(content.dst)) {
            cost.read = bytes(access);
        }
        if let Some(access) = memlet.write_access().filter(|_| !is_call(content.src)) {
            cost.written = bytes(access);
            if let (Some(resolution), Some(container)) =
                (memlet.resolution(), self.sdfg.get_container(access.container))
            {
                let once = Work::of_resolution(resolution, container.element);
                cost.work = times(&once, &volume);
            }
        }
        cost
    }

    fn tasklet(&self, node: NodeId, tasklet: &Tasklet) -> Work {
        let TaskletBody::Code(code) = &tasklet.body else { return Work::undetermined() };
        let types = symbol_types_in(self.sdfg, self.state, &self.tree, self.tree.scope_of(node));
        let symbols = types.into_iter().map(|(symbol, ty)| (symbol.as_str().to_owned(), ty));
        let connectors = TaskletConnectors::of(self.sdfg, self.state, node, tasklet, symbols);
        typecheck(code, &connectors.environment)
            .map_or_else(|_| Work::undetermined(), |typed| Work::of_code(&typed))
    }

    /// One combination for each element of the input.
    fn reduction(&self, node: NodeId) -> Work {
        let NodeKind::Reduce(reduce) = &self.state.node(node).kind else { return Work::zero() };
        let inputs = self.state.in_edges(node);
        let input = inputs.iter().map(|edge| &self.state.edge(*edge).memlet).find_map(|memlet| {
            let container = self.sdfg.get_container(memlet.read_access()?.container)?;
            Some((container.element, Quantity::of_volume(&memlet.volume)))
        });
        let Some((element, volume)) = input else { return Work::undetermined() };
        times(&Work::of_resolution(&reduce.resolution, element), &volume)
    }

    fn call(&self, nested: &NestedSdfg) -> Cost {
        if self.depth >= NESTING_LIMIT {
            return Cost::undetermined();
        }
        let inner = Costs::nested(&nested.sdfg, self.depth + 1).program;
        let mapped: BTreeMap<Symbol, Expr> = nested.symbol_mapping.iter().cloned().collect();
        let given: BTreeSet<Symbol> =
            nested.inputs.iter().filter_map(|input| Symbol::new(&input.name).ok()).collect();
        inner.map(|part| part.clone().without(&given).substitute(&mapped))
    }
}

/// The work of so many applications.
fn times(once: &Work, n: &Quantity) -> Work {
    once.map(|class| {
        let product = class.times(&n.known);
        if class.is_zero() {
            return product;
        }
        Quantity { at_most: product.at_most || n.at_most, unknown: product.unknown || n.unknown, ..product }
    })
}
