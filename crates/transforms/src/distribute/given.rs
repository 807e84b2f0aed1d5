//! Strategies of files, which are compared with the program before anything is divided.

use std::collections::BTreeMap;

use sdfg::ir::{NodeKind, Sdfg};
use sdfg::path::{ElementPath, ElementPlace, Paths, Target, closest};
use thiserror::Error;

use super::{DistributeError, outer_maps};
use crate::strategy::{OperationStrategy, StrategyFile};

/// Kinds of the operations of programs.
const KINDS: [&str; 4] = [MAP, "Tasklet", "Reduce", "Copy"];
const MAP: &str = "Map";

/// Maximum number of paths in a message.
const LISTED: usize = 5;

/// Why an operation of a strategy is none of the program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OperationProblem {
    /// It has no path.
    #[error("it has no `path`: a strategy for a graph with costs divides no program")]
    NoPath,
    /// Its kind is none of operations of programs.
    #[error("its `op` is `{found}`{}", kind_help(.found))]
    Kind {
        /// Its kind.
        found: String,
    },
    /// The path is that of a map, and the kind is another one.
    #[error("its `op` is `{found}`, and the program has a map there: write `Map`, or leave `op` out")]
    IsMap {
        /// Its kind.
        found: String,
    },
    /// The path is that of something else.
    #[error("the program has no map there ({noun}), and only maps are divided{}", maps(.near))]
    NotMap {
        /// A noun for the element.
        noun: &'static str,
        /// Maps that were perhaps meant.
        near: Vec<ElementPath>,
    },
    /// Nothing has the path, or several elements do.
    #[error("the program has no map there{}", maps(.near))]
    NoMap {
        /// Maps that were perhaps meant.
        near: Vec<ElementPath>,
    },
    /// Another operation names the same map.
    #[error("operations[{first}] is the same map: leave out one of them")]
    Twice {
        /// The other operation, counted from 0.
        first: usize,
    },
    /// The map has other dimensions.
    #[error("`configuration` has {found} numbers, and the map has {expected} dimensions: each has one")]
    Dimensions {
        /// Dimensions of the map.
        expected: usize,
        /// Dimensions in the strategy.
        found: usize,
    },
    /// The map has other parameters.
    #[error("`parameters` are {}, and those of the map are {}: each has a number in `configuration`", found.join(", "), expected.join(", "))]
    Parameters {
        /// Parameters of the map.
        expected: Vec<String>,
        /// Parameters in the strategy.
        found: Vec<String>,
    },
    /// It has more parts than there are ranks.
    #[error("the map is divided into {parts} parts, and the strategy is for {ranks} ranks")]
    TooManyParts {
        /// Its number of parts.
        parts: u64,
        /// Number of ranks.
        ranks: u32,
    },
}

impl OperationProblem {
    /// Whether the path is wrong, rather than what is said of the map.
    pub const fn is_of_path(&self) -> bool {
        match self {
            Self::NoPath | Self::NotMap { .. } | Self::NoMap { .. } => true,
            Self::Kind { .. }
            | Self::IsMap { .. }
            | Self::Twice { .. }
            | Self::Dimensions { .. }
            | Self::Parameters { .. }
            | Self::TooManyParts { .. } => false,
        }
    }
}

fn kind_help(found: &str) -> String {
    match closest(found, KINDS) {
        Some(meant) => format!(": did you mean `{meant}`?"),
        None => format!("; operations of programs are {}, and maps are divided", KINDS.join(", ")),
    }
}

fn maps(near: &[ElementPath]) -> String {
    let shown: Vec<String> = near.iter().map(|path| format!("`{path}`")).collect();
    match shown.as_slice() {
        [] => ": it has no maps to divide".to_owned(),
        [one] => format!("; did you mean {one}?"),
        [before @ .., last] => format!("; did you mean {} or {last}?", before.join(", ")),
    }
}

/// The strategy that a division into parts is, for a program in which the paths are those of maps. It has no costs. Dimensions
/// without a number stay whole.
pub fn strategy_of(program: &Sdfg, ranks: u32, steps: &[(ElementPath, Vec<u32>)]) -> StrategyFile {
    let paths = Paths::of(program);
    let operation = |(path, parts): &(ElementPath, Vec<u32>)| {
        let names = parameters(program, &paths.resolve(path).ok()?)?;
        let mut configuration = parts.clone();
        configuration.resize(names.len(), 1);
        let parameters = names.into_iter().map(Some).collect();
        Some(OperationStrategy {
            name: path.labels().get(1..).unwrap_or_default().join("."),
            op: MAP.to_owned(),
            path: path.clone(),
            domain: Vec::new(),
            parameters,
            configuration,
            compute: 0.0,
            communication: 0.0,
            reads: Vec::new(),
            writes: Vec::new(),
        })
    };
    StrategyFile::of_operations(&program.name, ranks, steps.iter().filter_map(operation).collect())
}

/// The maps to divide with the parts of their dimensions.
///
/// # Errors
/// [`DistributeError::Operation`] for the first operation that is none of the program.
pub(super) fn divisions(
    program: &Sdfg,
    strategy: &StrategyFile,
) -> Result<Vec<(ElementPath, Vec<u32>)>, DistributeError> {
    let paths = Paths::of(program);
    let (mut steps, mut first_of) = (Vec::new(), BTreeMap::new());
    for (index, operation) in strategy.operations.iter().enumerate() {
        let failed = |problem| DistributeError::Operation { index, path: operation.label(), problem };
        let Some(place) = map_of(program, &paths, operation, strategy.procs).map_err(failed)? else {
            continue;
        };
        if let Some(first) = first_of.insert(place, index) {
            return Err(failed(OperationProblem::Twice { first }));
        }
        steps.push((operation.path.clone(), operation.configuration.clone()));
    }
    Ok(steps)
}

/// The map that an operation divides; `None` if it is of another kind.
fn map_of(
    program: &Sdfg,
    paths: &Paths,
    operation: &OperationStrategy,
    ranks: u32,
) -> Result<Option<ElementPlace>, OperationProblem> {
    let (path, op) = (&operation.path, &operation.op);
    if path.is_empty() {
        return Err(OperationProblem::NoPath);
    }
    if !KINDS.contains(&op.as_str()) {
        return Err(OperationProblem::Kind { found: op.clone() });
    }
    let place = paths.resolve(path).ok();
    let names = place.as_ref().and_then(|place| parameters(program, place));
    if op != MAP {
        // A copy or a reduction is part of a strategy, and runs where the containers around it are.
        return if names.is_some() { Err(OperationProblem::IsMap { found: op.clone() }) } else { Ok(None) };
    }
    let Some(place) = place else { return Err(OperationProblem::NoMap { near: near(program, path) }) };
    let Some(expected) = names else {
        let noun = match (&place.target, place.sdfg(program)) {
            (Target::Node(state, node), Some(sdfg)) => sdfg.state(*state).node(*node).kind.noun(),
            (other, _) => other.noun(),
        };
        return Err(OperationProblem::NotMap { noun, near: near(program, path) });
    };
    let found = operation.configuration.len();
    if expected.len() != found {
        return Err(OperationProblem::Dimensions { expected: expected.len(), found });
    }
    let has_other_name =
        |(given, name): (&Option<String>, &String)| given.as_ref().is_some_and(|given| given != name);
    if operation.parameters.iter().zip(&expected).any(has_other_name) {
        let found = operation.parameters.iter().map(|name| name.as_deref().unwrap_or("null").to_owned());
        return Err(OperationProblem::Parameters { expected, found: found.collect() });
    }
    let parts = operation.configuration.iter().map(|parts| u64::from(*parts));
    let parts = parts.fold(1, u64::saturating_mul);
    if parts > u64::from(ranks) {
        return Err(OperationProblem::TooManyParts { parts, ranks });
    }
    Ok(Some(place))
}

/// The parameters of a map; `None` if a place is another one.
fn parameters(program: &Sdfg, place: &ElementPlace) -> Option<Vec<String>> {
    let Target::Node(state, node) = place.target else { return None };
    let NodeKind::MapEntry(map) = &place.sdfg(program)?.get_state(state)?.get_node(node)?.kind else {
        return None;
    };
    Some(map.params.iter().map(ToString::to_string).collect())
}

/// Maps that a path may mean: those of the same label, else those in the same state, else the first ones.
fn near(program: &Sdfg, path: &ElementPath) -> Vec<ElementPath> {
    let all: Vec<ElementPath> = outer_maps(program).into_iter().map(|(path, _)| path).collect();
    let some =
        |maps: Vec<&ElementPath>| -> Vec<ElementPath> { maps.into_iter().take(LISTED).cloned().collect() };
    let (label, around) = (path.labels().last(), path.leave());
    let alike: Vec<_> = all.iter().filter(|other| other.labels().last() == label).collect();
    if !alike.is_empty() {
        return some(alike);
    }
    let beside: Vec<_> = all.iter().filter(|other| other.leave() == around).collect();
    some(if beside.is_empty() { all.iter().collect() } else { beside })
}
