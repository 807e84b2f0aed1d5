//! Strategy files: position in the graph, configuration and container layouts of each operation.
//!
//! Transformations that partition maps and place containers read these files. Therefore a file contains
//! nothing that depends on the search or on time. The format is JSON; `docs/strategy.md`, section 9, lists
//! the members.

use std::collections::BTreeMap;

use sdfg::path::ElementPath;
use serde::{Deserialize, Serialize};

use super::baseline::{data_parallel, serial};
use super::certificate::Checked;
use super::problem::{Operations, cost, edge_cost};
use super::search::Solution;

/// The version that is written. Version 1, which has lists of labels for paths, is read as well.
const VERSION: u32 = 2;

/// A strategy of a graph or program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StrategyFile {
    /// Version of the format.
    pub version: u32,
    /// Name of the program; may be empty.
    #[serde(default)]
    pub model: String,
    /// Number of processors; no operation has more parts.
    pub procs: u32,
    /// Values of the program's symbols that the strategy is for; none for a graph with costs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub symbols: BTreeMap<String, i64>,
    /// Cost of the strategy, in the unit of the graph; of programs seconds. 0 in a file without costs.
    #[serde(default)]
    pub cost: f64,
    /// Cost of everything on one processor, if that is possible.
    pub serial: Option<f64>,
    /// Cost of cutting the first dimension of everything, if that is possible.
    pub data_parallel: Option<f64>,
    /// Operations, in the order of the graph.
    pub operations: Vec<OperationStrategy>,
    /// Result of the proof; none of a strategy that no search found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Proof>,
}

/// Configuration of one operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationStrategy {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its kind, such as `Map`, which is the default, or `Conv`.
    #[serde(default = "map_kind")]
    pub op: String,
    /// Its node in the program. Empty for a graph with costs.
    #[serde(default, skip_serializing_if = "ElementPath::is_empty")]
    pub path: ElementPath,
    /// Sizes of its iteration domain; none in a file for any sizes.
    #[serde(default)]
    pub domain: Vec<u64>,
    /// For each dimension the map's parameter, if it has one. Empty for a graph with costs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Option<String>>,
    /// Into how many parts each dimension is cut.
    pub configuration: Vec<u32>,
    /// Its own cost; of programs with its halo and reductions.
    #[serde(default)]
    pub compute: f64,
    /// Cost of the edges into it.
    #[serde(default)]
    pub communication: f64,
    /// Elements that each rank must hold before, a layout for each container that is read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<ContainerLayout>,
    /// Elements that each rank has written afterwards, a layout for each container that is written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<ContainerLayout>,
}

fn map_kind() -> String {
    "Map".to_owned()
}

/// Partition of a container for an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerLayout {
    /// The container.
    pub container: ElementPath,
    /// For each of its dimensions how it is cut; nothing where each rank has all of it.
    pub dimensions: Vec<Option<Cut>>,
    /// Dimensions of the domain over whose parts results are combined; ranks that differ in other dimensions than these and those that
    /// cut hold copies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub combined_over: Vec<usize>,
}

/// Partition of a dimension of a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// The dimension of the operation's domain that leads through it, whose parts are these.
    pub dimension: usize,
    /// Of each part the positions from the first to before the second number.
    pub parts: Vec<(u64, u64)>,
}

/// Result of proving a strategy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// Whether the independent checker accepted the evidence.
    pub checked: bool,
    /// No strategy costs less than this, up to rounding.
    pub bound: f64,
    /// By how much cost and bound differ for rounding, relative to the cost.
    pub gap: f64,
    /// Tables of the evidence.
    pub tables: usize,
    /// Minima in them, all computed again.
    pub minima: usize,
    /// Configurations that were shown to be needless: too dear, or dominated.
    pub dominated: usize,
}

/// Why a file is no strategy.
#[derive(Debug, thiserror::Error)]
pub enum StrategyFileError {
    /// It is no JSON, or lacks a member; tells line and column.
    #[error("the strategy is no JSON of this format: {0}")]
    Json(#[from] serde_json::Error),
    /// It is of another version.
    #[error("the strategy is of version {found}; versions 1 and {VERSION} are read")]
    Version {
        /// Its version.
        found: u32,
    },
    /// A member outside of operations is none that a strategy has.
    #[error("{what}")]
    Member {
        /// The member, and what to do.
        what: String,
    },
    /// The number of ranks is none.
    #[error("`procs` is {value}; write the number of ranks, from 1 to {}", u32::MAX)]
    Processors {
        /// Its value.
        value: String,
    },
    /// An operation has members that it cannot have, or contradicts itself.
    #[error("{}: {what}", entry(*.index, .name))]
    Operation {
        /// The operation, counted from 0.
        index: usize,
        /// Its path, or its name if it has none.
        name: String,
        /// The error.
        what: String,
    },
    /// A cost is no cost.
    #[error("`{member}` is {value}; costs are finite and not negative")]
    Cost {
        /// The member.
        member: &'static str,
        /// Its value.
        value: f64,
    },
}

/// Members of every version.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

/// An operation in messages: `operations[1], `p/s/m``.
pub(crate) fn entry(index: usize, label: &str) -> String {
    if label.is_empty() { format!("operations[{index}]") } else { format!("operations[{index}], `{label}`") }
}

impl StrategyFile {
    /// A strategy that was found for a problem, and whose evidence was checked.
    pub fn new(problem: &dyn Operations, solution: &Solution, checked: &Checked) -> Self {
        let price = |baseline: Option<Vec<usize>>| baseline.map(|strategy| cost(problem, &strategy));
        StrategyFile {
            version: VERSION,
            model: problem.model().to_owned(),
            procs: problem.n_processors(),
            symbols: BTreeMap::new(),
            cost: solution.cost,
            serial: price(serial(problem)),
            data_parallel: price(data_parallel(problem)),
            operations: operations(problem, &solution.strategy),
            certificate: Some(Proof {
                checked: true,
                bound: checked.bound,
                gap: checked.gap,
                tables: solution.certificate.tables.len(),
                minima: checked.n_minima,
                dominated: solution.certificate.dominated.len() + solution.certificate.too_dear.len(),
            }),
        }
    }

    /// A strategy without costs.
    pub(crate) fn of_operations(model: &str, procs: u32, operations: Vec<OperationStrategy>) -> Self {
        StrategyFile {
            version: VERSION,
            model: model.to_owned(),
            procs,
            symbols: BTreeMap::new(),
            cost: 0.0,
            serial: None,
            data_parallel: None,
            operations,
            certificate: None,
        }
    }

    /// The same problem with another strategy, which has a configuration for each operation; its cost and its gap to the proved bound are
    /// larger. [`Model::describe`](super::model::Model::describe) adds what belongs to a program.
    #[must_use]
    pub fn with_strategy(&self, problem: &dyn Operations, strategy: &[usize]) -> Self {
        let cost = cost(problem, strategy);
        let mut file = StrategyFile { cost, operations: operations(problem, strategy), ..self.clone() };
        if let Some(proof) = file.certificate.as_mut().filter(|_| cost > 0.0) {
            proof.gap = (cost - proof.bound).max(0.0) / cost;
        }
        file
    }

    /// Reads a strategy. `search_seconds` is the only member that is skipped.
    ///
    /// # Errors
    /// If it is not of this format, or contradicts itself.
    pub fn parse(text: &str) -> Result<Self, StrategyFileError> {
        let Versioned { version } = serde_json::from_str(text)?;
        if !(1..=VERSION).contains(&version) {
            return Err(StrategyFileError::Version { found: version });
        }
        members::check(&serde_json::from_str(text)?)?;
        let file: StrategyFile =
            if version == VERSION { serde_json::from_str(text)? } else { version1::read(text)? };
        let costs =
            [("cost", Some(file.cost)), ("serial", file.serial), ("data_parallel", file.data_parallel)];
        let wrong = |value: &f64| !super::tabulated::is_cost(*value);
        for (member, value) in costs {
            if let Some(value) = value.filter(wrong) {
                return Err(StrategyFileError::Cost { member, value });
            }
        }
        for (index, operation) in file.operations.iter().enumerate() {
            operation.check(file.procs).map_err(|what| StrategyFileError::Operation {
                index,
                name: operation.label(),
                what,
            })?;
        }
        Ok(file)
    }

    /// The strategy as one line of JSON. The same strategy gives the same bytes.
    ///
    /// # Errors
    /// None that a strategy can cause: text and numbers can be written.
    pub fn to_json(&self) -> Result<String, StrategyFileError> {
        Ok(serde_json::to_string(self)? + "\n")
    }
}

/// The configurations of a strategy with their costs.
fn operations(problem: &dyn Operations, strategy: &[usize]) -> Vec<OperationStrategy> {
    let mut communication = vec![0.0; problem.n_vertices()];
    for (index, edge) in problem.edges().iter().enumerate() {
        communication[edge.target] += edge_cost(problem, index, strategy);
    }
    let vertices = strategy.iter().zip(communication).enumerate();
    let operation = |(vertex, (&chosen, communication)): (usize, (&usize, f64))| OperationStrategy {
        name: problem.name(vertex).to_owned(),
        op: problem.kind(vertex).to_owned(),
        path: ElementPath::default(),
        domain: problem.domain(vertex).to_vec(),
        parameters: Vec::new(),
        configuration: problem.configurations(vertex)[chosen].clone(),
        compute: problem.vertex_cost(vertex, chosen),
        communication,
        reads: Vec::new(),
        writes: Vec::new(),
    };
    vertices.map(operation).collect()
}

impl OperationStrategy {
    /// Its path, or its name if it has none.
    pub(crate) fn label(&self) -> String {
        if self.path.is_empty() { self.name.clone() } else { self.path.to_string() }
    }

    /// The error, if any.
    fn check(&self, procs: u32) -> Result<(), String> {
        let Self { domain, configuration, parameters, .. } = self;
        let n = configuration.len();
        for (member, found) in [("domain", domain.len()), ("parameters", parameters.len())] {
            if found != 0 && found != n {
                return Err(format!(
                    "`configuration` has {n} numbers, and `{member}` {found}: each has one for each dimension"
                ));
            }
        }
        let n_parts = configuration.iter().try_fold(1_u32, |n, parts| n.checked_mul(*parts));
        if n_parts.is_none_or(|n| n > procs) {
            return Err(format!(
                "the parts of `configuration` {configuration:?} are more than {procs}, the ranks of `procs`: take fewer parts, or more ranks"
            ));
        }
        for (member, value) in [("compute", self.compute), ("communication", self.communication)] {
            if !super::tabulated::is_cost(value) {
                return Err(format!("`{member}` is {value}; costs are finite and not negative"));
            }
        }
        for layout in self.reads.iter().chain(&self.writes) {
            let name = &layout.container;
            for cut in layout.dimensions.iter().flatten() {
                let n_parts = configuration.get(cut.dimension).map(|n| *n as usize);
                if n_parts != Some(cut.parts.len()) || cut.parts.iter().any(|(begin, end)| begin > end) {
                    return Err(format!(
                        "the cut of `{name}` along dimension {} is not one of its parts",
                        cut.dimension
                    ));
                }
            }
            if layout.combined_over.iter().any(|dimension| *dimension >= n) {
                return Err(format!("`{name}` is combined over a dimension that there is not"));
            }
        }
        Ok(())
    }
}

mod members;
mod version1;

#[cfg(test)]
mod tests;
