//! The problem that a program is on a machine: loads of ranks, and their costs in seconds.

use std::collections::BTreeMap;

use sdfg::control::raise;
use sdfg::symbolic::Symbol;
use sdfg::validate::Validated;

use super::super::configurations::ConfigurationRule;
use super::super::error::ProblemError;
use super::super::layouts::Layouts;
use super::super::problem::{Edge, End, Problem};
use super::super::tabulated::{Costs, Operation, Tabulated};
use super::binding::Storage;
use super::elements::{BOXES, Sides, count};
use super::error::ModelError;
use super::flow::{Flow, Program, Walk, everything};
use super::machine::Machine;
use super::operator::{Block, Operand, Operator, share};

/// Blocks of iterations of one operation, over all its configurations and ranks: what each holds of each container takes some hundred
/// bytes.
const BLOCKS: u32 = 1 << 23;

/// What one rank does in one execution of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Arithmetic operations of its iterations.
    pub operations: u64,
    /// Bytes of different elements that its iterations read, and that they write.
    pub memory_bytes: u64,
    /// Bytes that it receives before: elements that it reads and does not hold (the halo).
    pub halo_bytes: u64,
    /// Bytes that it receives afterwards, when partial results are combined.
    pub reduction_bytes: u64,
    /// Arithmetic operations of combining them.
    pub reduction_operations: u64,
    /// Messages that it waits for one after the other, halo and partial results.
    pub messages: u64,
}

/// The computation graph of a program at known sizes on a machine; costs are seconds, computed when they are asked for.
#[derive(Debug)]
pub struct Model {
    name: String,
    machine: Machine,
    operators: Vec<Operator>,
    executions: Vec<u64>,
    configurations: Vec<Vec<Vec<u32>>>,
    edges: Vec<Edge>,
    transfers: Vec<Transfer>,
    approximations: Vec<String>,
    /// Names of containers, behind the labels of the calls that they belong to.
    storages: Vec<Vec<String>>,
}

/// What an edge moves.
#[derive(Debug)]
struct Transfer {
    storage: Storage,
    times: u64,
    element_bytes: u64,
    /// Everything that the target reads, that the source writes, and that was written in between.
    read: Vec<Sides>,
    written: Vec<Sides>,
    later: Vec<Sides>,
    source: Layouts,
    /// For each layout of the source what each rank has; nothing for idle ranks.
    left: Vec<Vec<Vec<Sides>>>,
    target: Layouts,
    /// For each layout of the target what each rank is to hold.
    homes: Vec<Vec<Option<Sides>>>,
}

impl Model {
    /// The model of a program at the given values of its symbols. The rule says which configurations operations have; of
    /// dimensions with fewer iterations than parts none are made.
    ///
    /// # Errors
    /// If the program has something that is not modelled, with its place; a size without a value or too large; or a
    /// machine that makes no sense.
    pub fn new(
        program: &Validated,
        values: &BTreeMap<Symbol, i64>,
        machine: &Machine,
    ) -> Result<Self, ModelError> {
        machine.check()?;
        // The model knows loops and branches, not the transitions that they may be written as.
        let mut sdfg = program.sdfg().clone();
        raise(&mut sdfg);
        let Program { operators, executions, flows, storages, approximations } =
            Walk::program(&sdfg, values)?;
        let rule = ConfigurationRule { minimum_block: 1, ..ConfigurationRule::all(machine.ranks) };
        let limit = (BLOCKS / machine.ranks) as usize;
        let configurations = |operator: &Operator| {
            rule.at_most(limit, &operator.domain)?.ok_or_else(|| ModelError::TooManyConfigurations {
                place: operator.name.clone(),
                ranks: machine.ranks,
                n_dimensions: operator.domain.len(),
                limit,
            })
        };
        let configurations: Result<Vec<_>, ModelError> = operators.iter().map(configurations).collect();
        let mut model = Model {
            name: sdfg.name,
            machine: machine.clone(),
            operators,
            executions,
            configurations: configurations?,
            edges: Vec::new(),
            transfers: Vec::new(),
            approximations,
            storages,
        };
        // One box more is a rank's home.
        let storages = model.storages.clone();
        let check = |operator: &Operator, storage: Storage, n: usize| {
            let (place, container) = (operator.name.clone(), storages[storage].join("."));
            let error = ModelError::TooManyAccesses { place, container, n: n + 1, limit: BOXES };
            if n < BOXES { Ok(()) } else { Err(error) }
        };
        for operator in &model.operators {
            for operand in operator.reads.iter().chain(&operator.writes) {
                check(operator, operand.storage, operand.accesses.len())?;
            }
        }
        for (flow, times) in flows {
            let transfer = model.transfer(&flow, times);
            // What the source wrote is told apart from what a rank has of it.
            let n = transfer.read.len() + 2 * transfer.written.len() + transfer.later.len();
            check(&model.operators[flow.target], flow.storage, n)?;
            if transfer.n_elements() > 0 {
                model.edges.push(Edge { source: flow.source, target: flow.target });
                model.transfers.push(transfer);
            }
        }
        Ok(model)
    }

    fn transfer(&self, flow: &Flow, times: u64) -> Transfer {
        let (source, target) = (&self.operators[flow.source], &self.operators[flow.target]);
        let of = |operands: &[Operand]| operands.iter().position(|one| one.storage == flow.storage);
        let written = |operator: &Operator| {
            of(&operator.writes).map_or(Vec::new(), |at| everything(operator, &operator.writes[at]))
        };
        let reading = of(&target.reads).map(|at| &target.reads[at]);
        let ranks = 0..self.machine.ranks;
        let left: Vec<Vec<Vec<Sides>>> = self.configurations[flow.source]
            .iter()
            .map(|configuration| {
                let operand = of(&source.writes).map(|at| &source.writes[at]);
                let touched = |rank| Some(operand?.touched(&source.block(configuration, rank)?));
                ranks.clone().map(|rank| touched(rank).unwrap_or_default()).collect()
            })
            .collect();
        let homes: Vec<Vec<Option<Sides>>> = self.configurations[flow.target]
            .iter()
            .map(|configuration| {
                let home =
                    |rank| Some(reading?.home(target, configuration, &target.block(configuration, rank)?));
                ranks.clone().map(home).collect()
            })
            .collect();
        let layouts = (Layouts::by_key(&left), Layouts::by_key(&homes));
        Transfer {
            storage: flow.storage,
            times,
            element_bytes: reading.map_or(0, |operand| operand.element_bytes),
            read: reading.map_or(Vec::new(), |operand| everything(target, operand)),
            written: written(source),
            later: flow.later.iter().flat_map(|other| written(&self.operators[*other])).collect(),
            left: layouts.0.representatives().into_iter().map(|c| left[c].clone()).collect(),
            homes: layouts.1.representatives().into_iter().map(|c| homes[c].clone()).collect(),
            source: layouts.0,
            target: layouts.1,
        }
    }

    /// Where the model is not exact: the place and what is taken instead.
    pub fn approximations(&self) -> &[String] {
        &self.approximations
    }

    /// How often each operation runs.
    pub fn executions(&self, vertex: usize) -> u64 {
        self.executions[vertex]
    }

    /// The configurations of an operation.
    pub fn configurations(&self, vertex: usize) -> &[Vec<u32>] {
        &self.configurations[vertex]
    }

    /// How often an edge is used.
    pub fn times(&self, edge: usize) -> u64 {
        self.transfers[edge].times
    }

    /// The container whose elements an edge moves: its name, behind the labels of the calls of the nested SDFG that it belongs to.
    pub fn container(&self, edge: usize) -> &[String] {
        self.storage(self.transfers[edge].storage)
    }

    pub(super) fn storage(&self, storage: Storage) -> &[String] {
        &self.storages[storage]
    }

    pub(super) fn operator(&self, vertex: usize) -> &Operator {
        &self.operators[vertex]
    }

    /// What each rank does in one execution of an operation.
    pub fn loads(&self, vertex: usize, configuration: usize) -> Vec<Load> {
        let operator = &self.operators[vertex];
        let configuration = &self.configurations[vertex][configuration];
        let load = |rank| match operator.block(configuration, rank) {
            Some(block) => operator.load(configuration, &block),
            None => Load::default(),
        };
        (0..self.machine.ranks).map(load).collect()
    }

    /// Bytes that each rank receives when an edge is used once.
    pub fn fetched(&self, edge: usize, source_layout: usize, target_layout: usize) -> Vec<u64> {
        let transfer = &self.transfers[edge];
        let ranks = transfer.left[source_layout].iter().zip(&transfer.homes[target_layout]);
        ranks.map(|(left, home)| home.as_ref().map_or(0, |home| transfer.fetched(left, home))).collect()
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
            costs: (0..self.n_configurations(vertex)).map(|c| self.vertex_cost(vertex, c)).collect(),
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

    /// Computation of the slowest rank, and communication of the one that waits longest: seconds of all executions.
    fn vertex_cost(&self, vertex: usize, configuration: usize) -> f64 {
        let machine = &self.machine;
        let loads = self.loads(vertex, configuration);
        let slowest = |seconds: &dyn Fn(&Load) -> f64| loads.iter().map(seconds).fold(0.0, f64::max);
        let computation = slowest(&|load| {
            let arithmetic = load.operations as f64 / machine.operations_per_second;
            arithmetic.max(load.memory_bytes as f64 / machine.memory_bytes_per_second)
        });
        let communication = slowest(&|load| {
            self.seconds(load.halo_bytes + load.reduction_bytes, load.messages)
                + load.reduction_operations as f64 / machine.operations_per_second
        });
        self.executions[vertex] as f64 * (computation + communication)
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

    /// What the rank that receives most waits: seconds of all uses.
    fn edge_cost(&self, edge: usize, source_layout: usize, target_layout: usize) -> f64 {
        let most = self.fetched(edge, source_layout, target_layout).into_iter().max().unwrap_or(0);
        self.transfers[edge].times as f64 * self.seconds(most, u64::from(most > 0))
    }

    fn vertex_name(&self, vertex: usize) -> String {
        self.operators[vertex].name.clone()
    }
}

impl Transfer {
    /// How many elements the source leaves for the target.
    fn n_elements(&self) -> u64 {
        let boxes: Vec<&Sides> = self.written.iter().chain(&self.read).chain(&self.later).collect();
        let (n_written, n_read) = (self.written.len(), self.read.len());
        let is_read = |set: u128| any(set, n_written, n_read);
        count(&boxes, |set| any(set, 0, n_written) && is_read(set) && set >> (n_written + n_read) == 0)
    }

    /// Bytes of what the source leaves for the target, is in the rank's home, and is not what the rank has.
    fn fetched(&self, left: &[Sides], home: &Sides) -> u64 {
        let chains = self.written.iter().chain(&self.read).chain(left).chain(&self.later);
        let boxes: Vec<&Sides> = std::iter::once(home).chain(chains).collect();
        let (n_written, n_read) = (self.written.len(), self.read.len());
        let others = 1 + n_written + n_read;
        let wanted = |set: u128| {
            let is_there = any(set, 0, 1) && any(set, 1, n_written) && any(set, 1 + n_written, n_read);
            is_there && (others >= BOXES || set >> others == 0)
        };
        self.element_bytes * count(&boxes, wanted)
    }
}

/// Whether one of `n` bits from `first` on is set.
fn any(set: u128, first: usize, n: usize) -> bool {
    (first..first + n).any(|bit| set >> bit & 1 == 1)
}

impl Operator {
    fn load(&self, configuration: &[u32], block: &Block) -> Load {
        let mut load = Load { operations: self.work * block.n_iterations(), ..Load::default() };
        for operand in self.reads.iter().chain(&self.writes) {
            load.memory_bytes += operand.element_bytes * operand.n_touched(block);
        }
        for operand in &self.reads {
            let touched = operand.touched_once(block);
            let home = operand.home(self, configuration, block);
            let boxes: Vec<&Sides> = std::iter::once(&home).chain(&touched).collect();
            load.halo_bytes += operand.element_bytes * count(&boxes, |set| set & 1 == 0);
        }
        load.messages = u64::from(load.halo_bytes > 0);
        for (operand, combining) in self.writes.iter().filter_map(|one| Some((one, one.combining?))) {
            // Ranks that differ in reduced dimensions only combine their results in a ring: each chunk goes around, and
            // then its sum does (reduce-scatter and all-gather).
            let (mut n_ranks, mut at) = (1, 0);
            for dimension in operand.reduced(self) {
                n_ranks *= u64::from(configuration[dimension]);
                at = at * u64::from(configuration[dimension]) + block.part[dimension];
            }
            if n_ranks == 1 {
                continue;
            }
            let n = operand.n_touched(block);
            let chunk = |at: u64| {
                let (begin, end) = share(n, n_ranks, at % n_ranks);
                end - begin
            };
            load.reduction_bytes += operand.element_bytes * (2 * n - chunk(at) - chunk(at + 1));
            load.reduction_operations += combining * (n - chunk(at));
            load.messages += 2 * (n_ranks - 1);
        }
        load
    }
}
