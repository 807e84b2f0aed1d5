//! Derives the computation graph with costs from a program on the command line.

use std::collections::BTreeMap;

use sdfg::ir::Sdfg;
use sdfg::symbolic::Symbol;
use sdfg::validate::{Validated, validate};
use sdfg_codegen::ranks::{Rates, Waiting};
use sdfg_library::{Pure, expand_library_nodes};
use sdfg_transforms::distribute::Searched;
use sdfg_transforms::strategy::Options;
use sdfg_transforms::strategy::model::{Machine, Model, ModelError, ModelOptions};

use super::{Solved, solve};
use crate::data::{SymbolValue, check_extents, check_sizes};
use crate::failure::Failure;
use crate::source::Source;
use crate::terminal::Terminal;

/// A program at given values of its symbols.
pub(super) struct Program {
    pub(super) model: Model,
    pub(super) values: BTreeMap<Symbol, i64>,
    machine: Machine,
}

impl Program {
    /// Reads a program and makes its model; tells where that is not exact.
    pub(super) fn read(
        program: &Source,
        symbols: &[SymbolValue],
        machine: Option<&str>,
        processors: Option<u32>,
        options: &ModelOptions,
        terminal: Terminal,
    ) -> Result<Self, Failure> {
        let validated = program.validated(terminal)?;
        // The model knows reductions; of library nodes what they expand to, whose blocks would hide how they may be cut.
        let expanded = expand_library_nodes(validated.sdfg(), &Pure).map_err(Failure::program)?;
        let expanded = validate(expanded).map_err(|rejected| {
            Failure::program(format_args!("an expansion is not valid: {rejected}"))
                .help("this is a defect of the compiler: please report it with the program")
        })?;
        Program::of(&expanded, symbols, (machine, processors), options, terminal)
    }

    /// Makes the model of a program without library nodes, on the machine of a file with so many processors.
    pub(super) fn of(
        expanded: &Validated,
        symbols: &[SymbolValue],
        (machine, processors): (Option<&str>, Option<u32>),
        options: &ModelOptions,
        terminal: Terminal,
    ) -> Result<Self, Failure> {
        let values = values(expanded.sdfg(), symbols)?;
        let mut machine = machine.map_or_else(|| Ok(Machine::default()), read_machine)?;
        machine.ranks = processors.unwrap_or(machine.ranks);
        let model = Model::new(expanded, &values, &machine, options).map_err(|error| failed(&error))?;
        for note in model.approximations() {
            terminal.note(&format!("the model is not exact: {note}"));
        }
        Ok(Program { model, values, machine })
    }

    /// The cheapest strategy, and what tells the costs of programs that are divided.
    pub(super) fn searched(self, terminal: Terminal) -> Result<(Searched, Costs), Failure> {
        let Solved { solution, file, .. } = self.solve(&Options::default(), terminal)?;
        let Program { model, values, machine } = self;
        Ok((Searched { model, strategy: solution.strategy, file }, Costs { values, machine }))
    }

    /// The cheapest strategy, with what its file says of the program.
    pub(super) fn solve(&self, options: &Options, terminal: Terminal) -> Result<Solved, Failure> {
        let mut solved = solve(&self.model, options, terminal)?;
        self.model.describe(&self.values, &solved.solution.strategy, &mut solved.file);
        Ok(solved)
    }
}

/// The costs of divided programs on a machine, for given sizes.
pub(super) struct Costs {
    pub(super) values: BTreeMap<Symbol, i64>,
    machine: Machine,
}

impl Costs {
    /// Seconds of communication in a run; `None` if only a run tells them.
    pub(super) fn seconds(&self, program: &Sdfg) -> Option<f64> {
        self.waiting(program).map(|waiting| waiting.seconds)
    }

    /// Seconds of communication in a run, and those that computation hides; `None` if only a run tells them.
    pub(super) fn waiting(&self, program: &Sdfg) -> Option<Waiting> {
        let machine = &self.machine;
        let rates = Rates {
            latency_seconds: machine.latency_seconds,
            link_bytes_per_second: machine.link_bytes_per_second,
            operations_per_second: machine.operations_per_second,
            memory_bytes_per_second: machine.memory_bytes_per_second,
        };
        Waiting::of(program, &self.values, machine.ranks, rates).ok()
    }
}

/// The values of the symbols of a program, and of scalar arguments.
fn values(program: &sdfg::ir::Sdfg, symbols: &[SymbolValue]) -> Result<BTreeMap<Symbol, i64>, Failure> {
    check_sizes(program, "--set", symbols)?;
    let value = |set: &SymbolValue| Some((Symbol::new(&set.name).ok()?, set.value));
    let values: BTreeMap<Symbol, i64> = symbols.iter().filter_map(value).collect();
    check_extents(program, &values)?;
    Ok(values)
}

/// The machine that a file describes.
pub(crate) fn read_machine(name: &str) -> Result<Machine, Failure> {
    let text = std::fs::read_to_string(name).map_err(|error| {
        Failure::usage(format_args!("cannot read `{name}`: {error}")).at("--machine").help("check the path")
    })?;
    Machine::parse(&text).map_err(|error| {
        Failure::usage(error).at(name).help("`docs/strategy.md` tells what describes a machine")
    })
}

fn failed(error: &ModelError) -> Failure {
    match error {
        ModelError::NoValue { .. } | ModelError::TooLarge { .. } => Failure::usage(error).at("--set"),
        ModelError::Machine(_) | ModelError::TooManyConfigurations { .. } => Failure::usage(error).at("-p"),
        ModelError::Uncounted { .. } | ModelError::UnknownLoop { .. } => {
            Failure::usage(error).at("--iterations")
        }
        ModelError::Problem(_) | ModelError::Unsupported { .. } | ModelError::TooManyAccesses { .. } => {
            Failure::program(error)
        }
    }
}
