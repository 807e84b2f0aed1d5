//! The problem that corresponds to a program on a machine: loads of ranks and their costs in seconds.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use sdfg::control::raise;
use sdfg::path::ElementPath;
use sdfg::symbolic::Symbol;
use sdfg::validate::Validated;

use super::super::configurations::{ConfigurationRule, PartCounts};
use super::super::dynamic::side_by_side;
use super::super::error::ProblemError;
use super::super::layouts::Layouts;
use super::super::problem::{Edge, End, Operations, Problem, SumBound};
use super::super::tabulated::{Costs, Operation, Tabulated};
use super::binding::Storage;
use super::elements::BOXES;
use super::error::ModelError;
use super::fixed::fix_scalars;
use super::flow::{Flow, Origin, Program, Walk, everything};
use super::load::Load;
use super::machine::Machine;
use super::operator::{Operand, Operator};
use super::transfer::{self, Ends, Transfer};

/// Blocks of iterations of one operation, over all its configurations and ranks: what each holds of each container takes some hundred
/// bytes.
const BLOCKS: u32 = 1 << 23;

/// Configurations of a model, and information that the program lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelOptions {
    /// The numbers of parts of dimensions.
    pub parts: PartCounts,
    /// The fewest iterations of each part of a dimension that is cut; at least 1.
    pub minimum_block: u64,
    /// Trip counts of loops that do not count, by their labels, or by those of the surrounding calls and
    /// their own, with dots. A mean if it varies.
    pub iterations: BTreeMap<String, u64>,
}

/// The computation graph of a program at known sizes on a machine; costs are seconds, computed when they are asked for.
#[derive(Debug)]
pub struct Model {
    name: String,
    machine: Machine,
    operators: Vec<Operator>,
    executions: Vec<u64>,
    configurations: Vec<Vec<Vec<u32>>>,
    /// Of each operation in all configurations, when one was asked for.
    costs: OnceLock<Vec<Vec<f64>>>,
    edges: Vec<Edge>,
    transfers: Vec<Transfer>,
    approximations: Vec<String>,
    /// Names of containers, behind the labels of the calls that they belong to.
    storages: Vec<ElementPath>,
}

impl Model {
    /// The model of a program at the given values of its symbols, and of scalar arguments that nothing writes.
    ///
    /// # Errors
    /// If the program has something that is not modelled, with its place; a size without a value or too large; or a
    /// machine that makes no sense.
    pub fn new(
        program: &Validated,
        values: &BTreeMap<Symbol, i64>,
        machine: &Machine,
        options: &ModelOptions,
    ) -> Result<Self, ModelError> {
        machine.check()?;
        // The model knows loops and branches, not the transitions that they may be written as.
        let mut sdfg = program.sdfg().clone();
        raise(&mut sdfg);
        fix_scalars(&mut sdfg, values);
        let Program { operators, executions, flows, storages, approximations } =
            Walk::program(&sdfg, values, &options.iterations)?;
        let rule = ConfigurationRule {
            n_processors: machine.ranks,
            parts: options.parts,
            minimum_block: options.minimum_block.max(1),
        };
        let limit = (BLOCKS / machine.ranks) as usize;
        let configurations = |operator: &Operator| {
            let order = operator.outermost_first();
            let domain: Vec<u64> = order.iter().map(|dimension| operator.domain[*dimension]).collect();
            let found = rule.at_most(limit, &domain)?;
            let mut found = found.ok_or_else(|| ModelError::TooManyConfigurations {
                place: operator.name.clone(),
                ranks: machine.ranks,
                n_dimensions: operator.domain.len(),
                limit,
            })?;
            // The search takes the first of equal ones: parts of outer dimensions, which are contiguous with their halos.
            found[1..].reverse();
            let in_place = |ordered: Vec<u32>| {
                let mut parts = vec![1; ordered.len()];
                order.iter().zip(ordered).for_each(|(dimension, count)| parts[*dimension] = count);
                parts
            };
            Ok(found.into_iter().map(in_place).collect())
        };
        let configurations: Result<Vec<_>, ModelError> = operators.iter().map(configurations).collect();
        let mut model = Model {
            name: sdfg.name,
            machine: machine.clone(),
            operators,
            executions,
            configurations: configurations?,
            costs: OnceLock::new(),
            edges: Vec::new(),
            transfers: Vec::new(),
            approximations,
            storages,
        };
        model.connect(flows)?;
        Ok(model)
    }

    /// Makes an edge of each flow that moves something.
    fn connect(&mut self, flows: BTreeMap<Flow, u64>) -> Result<(), ModelError> {
        let check = |operator: &Operator, storage: Storage, n: usize| {
            let (place, container) = (operator.name.clone(), self.storages[storage].to_string());
            let error = ModelError::TooManyAccesses { place, container, n, limit: BOXES };
            if n <= BOXES { Ok(()) } else { Err(error) }
        };
        for operator in &self.operators {
            for operand in operator.reads.iter().chain(&operator.writes) {
                // One box more is a rank's owned part.
                check(operator, operand.storage, operand.accesses.len() + 1)?;
            }
        }
        let flows: Vec<(Flow, u64)> = flows.into_iter().collect();
        for (flow, _) in &flows {
            let (source, target) = (&self.operators[flow.source], &self.operators[flow.target]);
            let n_accesses = |operands: &[Operand]| {
                let same = operands.iter().find(|one| one.storage == flow.storage);
                same.map_or(0, |operand| operand.accesses.len())
            };
            let n_later = flow.later.iter().map(|other| n_accesses(&self.operators[*other].writes)).sum();
            let n_left = match flow.origin {
                Origin::Written => n_accesses(&source.writes),
                Origin::Passed => 1,
            };
            let n = transfer::n_boxes(n_left, n_accesses(&target.reads), n_later);
            check(target, flow.storage, n)?;
        }
        let found = on_threads(flows.len(), |number| self.transfer(&flows[number].0, flows[number].1));
        for ((flow, _), transfer) in flows.iter().zip(found) {
            if let Some(transfer) = transfer {
                self.edges.push(Edge { source: flow.source, target: flow.target });
                self.transfers.push(transfer);
            }
        }
        Ok(())
    }

    /// What a flow moves, if anything.
    fn transfer(&self, flow: &Flow, times: u64) -> Option<Transfer> {
        let written = |operator: &Operator| {
            let operand = operator.writes.iter().find(|one| one.storage == flow.storage);
            operand.map_or(Vec::new(), |operand| everything(operator, operand))
        };
        let later = flow.later.iter().flat_map(|other| written(&self.operators[*other])).collect();
        let ends = Ends {
            source: (&self.operators[flow.source], &self.configurations[flow.source]),
            target: (&self.operators[flow.target], &self.configurations[flow.target]),
        };
        Transfer::new(&ends, (flow.storage, flow.origin), times, later, self.machine.ranks)
    }

    /// Approximations of the model: the place and the substitute.
    pub fn approximations(&self) -> &[String] {
        &self.approximations
    }

    /// Number of ranks of the machine.
    pub(super) fn n_ranks(&self) -> u32 {
        self.machine.ranks
    }

    /// Number of executions of each operation.
    pub fn executions(&self, vertex: usize) -> u64 {
        self.executions[vertex]
    }

    /// Number of uses of an edge.
    pub fn times(&self, edge: usize) -> u64 {
        self.transfers[edge].times
    }

    /// The container whose elements an edge moves.
    pub fn container(&self, edge: usize) -> &ElementPath {
        self.storage(self.transfers[edge].storage)
    }

    pub(super) fn storage(&self, storage: Storage) -> &ElementPath {
        &self.storages[storage]
    }

    pub(super) fn operator(&self, vertex: usize) -> &Operator {
        &self.operators[vertex]
    }

    /// Loads of each rank in one execution of an operation.
    pub fn loads(&self, vertex: usize, configuration: usize) -> Vec<Load> {
        self.operators[vertex].loads(&self.configurations[vertex][configuration], self.machine.ranks)
    }

    /// Bytes that each rank receives when an edge is used once.
    pub fn fetched(&self, edge: usize, source_layout: usize, target_layout: usize) -> Vec<u64> {
        let mut fetched = self.transfers[edge].fetched(source_layout, target_layout);
        fetched.resize(self.machine.ranks as usize, 0);
        fetched
    }

    /// The same problem with all costs computed.
    ///
    /// # Errors
    /// If a cost is not finite.
    pub fn tabulated(&self) -> Result<Tabulated, ProblemError> {
        let operation = |(vertex, operator): (usize, &Operator)| Operation {
            name: operator.name.clone(),
            kind: operator.kind.to_owned(),
            domain: operator.domain.clone(),
            configurations: self.configurations[vertex].clone(),
            costs: self.own_costs(vertex).to_vec(),
        };
        let edge = |(index, edge): (usize, &Edge)| {
            let Transfer { source, target, .. } = &self.transfers[index];
            let cost = |(row, column)| self.edge_cost(index, row, column);
            let pairs = (0..source.len()).flat_map(|row| (0..target.len()).map(move |column| (row, column)));
            let costs: Vec<f64> = pairs.map(cost).collect();
            let at = |row: usize, column: usize| costs[source.of(row) * target.len() + target.of(column)];
            (*edge, Costs::from_fn(source.n_configurations(), target.n_configurations(), at))
        };
        let operations = self.operators.iter().enumerate().map(operation).collect();
        let edges = self.edges.iter().enumerate().map(edge).collect();
        let mut problem = Tabulated::new(self.machine.ranks, operations, edges)?;
        problem.model = self.name.clone();
        Ok(problem)
    }

    /// Costs of an operation in all configurations. Those of all operations are computed when one is asked for first.
    fn own_costs(&self, vertex: usize) -> &[f64] {
        let compute = |vertex: usize| {
            let mut costs = Vec::with_capacity(self.configurations[vertex].len());
            self.operators[vertex].each_load(&self.configurations[vertex], self.machine.ranks, |loads| {
                costs.push(self.executions[vertex] as f64 * self.once(loads));
            });
            costs
        };
        &self.costs.get_or_init(|| on_threads(self.operators.len(), compute))[vertex]
    }

    /// Computation of the slowest rank, and communication of the one that waits longest: seconds of one execution.
    pub(super) fn once(&self, loads: &[Load]) -> f64 {
        let machine = &self.machine;
        let slowest = |seconds: &dyn Fn(&Load) -> f64| loads.iter().map(seconds).fold(0.0, f64::max);
        let computation = slowest(&|load| {
            let arithmetic = load.operations as f64 / machine.operations_per_second;
            arithmetic.max(load.memory_bytes as f64 / machine.memory_bytes_per_second)
        });
        let communication = slowest(&|load| {
            self.seconds(load.halo_bytes + load.reduction_bytes, load.messages)
                + load.reduction_operations as f64 / machine.operations_per_second
        });
        computation + communication
    }

    /// Seconds of all uses of an edge by which a rank fetches so many bytes each time.
    pub(super) fn waiting(&self, edge: usize, bytes: u64) -> f64 {
        self.transfers[edge].times as f64 * self.seconds(bytes, u64::from(bytes > 0))
    }

    /// Seconds that a rank waits for bytes in so many messages.
    fn seconds(&self, bytes: u64, messages: u64) -> f64 {
        bytes as f64 / self.machine.link_bytes_per_second + messages as f64 * self.machine.latency_seconds
    }
}

impl Problem for Model {
    fn n_vertices(&self) -> usize {
        self.operators.len()
    }

    fn n_configurations(&self, vertex: usize) -> usize {
        self.configurations[vertex].len()
    }

    fn vertex_cost(&self, vertex: usize, configuration: usize) -> f64 {
        self.own_costs(vertex)[configuration]
    }

    fn vertex_costs(&self, vertex: usize) -> Option<&[f64]> {
        Some(self.own_costs(vertex))
    }

    fn edges(&self) -> &[Edge] {
        &self.edges
    }

    fn layouts(&self, edge: usize, end: End) -> &Layouts {
        match end {
            End::Source => &self.transfers[edge].source,
            End::Target => &self.transfers[edge].target,
        }
    }

    /// Waiting time of the rank that receives most: seconds of all uses.
    fn edge_cost(&self, edge: usize, source_layout: usize, target_layout: usize) -> f64 {
        let most = self.transfers[edge].most_fetched(source_layout, target_layout, |_| false);
        self.waiting(edge, most)
    }

    /// Often some ranks show that a cost is too high, so that the others need not be looked at.
    fn edge_cost_below(
        &self,
        edge: usize,
        source_layout: usize,
        target_layout: usize,
        bound: SumBound,
    ) -> f64 {
        let is_enough = |bytes| bound.is_reached(self.waiting(edge, bytes));
        let most = self.transfers[edge].most_fetched(source_layout, target_layout, is_enough);
        self.waiting(edge, most)
    }

    fn vertex_name(&self, vertex: usize) -> String {
        self.operators[vertex].name.clone()
    }
}

impl Operations for Model {
    fn model(&self) -> &str {
        &self.name
    }

    fn n_processors(&self) -> u32 {
        self.machine.ranks
    }

    fn name(&self, vertex: usize) -> &str {
        &self.operators[vertex].name
    }

    fn kind(&self, vertex: usize) -> &str {
        self.operators[vertex].kind
    }

    fn domain(&self, vertex: usize) -> &[u64] {
        &self.operators[vertex].domain
    }

    fn configurations(&self, vertex: usize) -> &[Vec<u32>] {
        &self.configurations[vertex]
    }
}

/// Results of so many pieces of work, in order. Each thread takes every so many: those with much work are next to each other.
fn on_threads<R: Send>(n: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let n_threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(n);
    let shares: Vec<usize> = (0..n_threads).collect();
    let mut found = side_by_side(&shares, |share| {
        (*share..n).step_by(n_threads).map(&work).collect::<Vec<_>>().into_iter()
    });
    (0..n).filter_map(|number| found[number % n_threads].next()).collect()
}
