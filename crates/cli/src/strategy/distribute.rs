//! `sdfg distribute`: divides a program over ranks by the cheapest strategy, or by a given one.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use clap::Args;
use sdfg::ir::{Blocks, Sdfg};
use sdfg::validate::{Validated, validate};
use sdfg_library::ExpandLibrary;
use sdfg_transforms::distribute::{
    DistributeError, Distributed, DivisionOptions, Way, data_parallel, distribute, distribute_by, prepare,
    strategy_of,
};
use sdfg_transforms::strategy::StrategyFile;
use sdfg_transforms::strategy::model::ModelOptions;
use sdfg_transforms::{Pipeline, Soundness, Step};

use super::program::Program as Modelled;
use super::scaling::scaling_picture;
use super::simulate::{Growth, MOST_RANKS, Simulation};
use super::{Iterations, part_counts};
use crate::data::SymbolValue;
use crate::failure::Failure;
use crate::native::positive;
use crate::output::{Destination, check_outputs, print};
use crate::program::Program;
use crate::terminal::Terminal;
use crate::transform::save_chain;

/// Divide a program over ranks: its maps, its containers, and the copies between ranks.
///
/// The strategy is the cheapest one of the cost model for the given sizes, proved optimal, or that of a file. Where the divided program then
/// costs less, the first dimension of each map is divided instead. The distributed program
/// means the same on every number of ranks and at all sizes. Library nodes are expanded, and maps get states of their own.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sdfg distribute jacobi2d.sdft -p 4 --set N=4096 --set T=100 -o jacobi2d.4.sdft\n  sdfg distribute gemm.sdft -p 8 --set N=512 --verify\n  sdfg distribute gemm.sdft --strategy mine.json --verify --set N=512"
)]
pub(crate) struct DistributeCommand {
    #[command(flatten)]
    program: Program,
    /// The number of ranks; the default is that of the machine.
    #[arg(short = 'p', long = "processors", value_name = "N", value_parser = positive)]
    processors: Option<NonZeroU32>,
    /// Set a symbol of the program, for the search and for --verify; with --strategy for --verify alone.
    #[arg(long = "set", value_name = "SYMBOL=VALUE")]
    symbols: Vec<SymbolValue>,
    /// The machine for the costs; the default is a set of unmeasured round numbers.
    #[arg(long, value_name = "FILE", conflicts_with = "strategy")]
    machine: Option<String>,
    /// The strategy, as `sdfg distribute --write-strategy` writes it or a shorter one written by hand; it is checked against the program.
    #[arg(long, value_name = "FILE", conflicts_with = "processors")]
    strategy: Option<String>,
    /// Divide the first dimension of every map instead of searching, which needs no sizes: for programs that the cost model refuses.
    #[arg(long, requires = "processors", conflicts_with_all = ["strategy", "machine", "divisors", "iterations"])]
    data_parallel: bool,
    /// Also write the strategy that was carried out.
    #[arg(long, value_name = "FILE", conflicts_with = "strategy")]
    write_strategy: Option<String>,
    /// Print the predictions of the cost model for 1, 2, 4, ... ranks instead, up to the number of ranks (16384 without -p): time,
    /// communication, bytes and memory. Dimensions are divided into numbers of parts that divide the number of ranks.
    #[arg(long, conflicts_with_all = ["strategy", "write_strategy", "data_parallel", "divisors", "record", "verify"])]
    simulate: bool,
    /// With --simulate, also weak scaling: the symbol grows with the number of ranks to this power, as in `N=0.5`.
    #[arg(long, value_name = "SYMBOL=POWER", requires = "simulate")]
    weak: Vec<Growth>,
    /// With --simulate, write the predicted times as SVG.
    #[arg(long, value_name = "FILE", requires = "simulate")]
    picture: Option<String>,
    /// With --simulate, run the program on 1 and 2 ranks of MPI on this machine, and print the times beside the predictions.
    #[arg(long, requires = "simulate")]
    measure: bool,
    /// Leave the arguments whole on every rank; otherwise, each rank passes its own part.
    #[arg(long)]
    whole_arguments: bool,
    /// Divide maps in an interior, which is computed while halos travel, and a border, where the prediction then falls.
    #[arg(long, conflicts_with_all = ["strategy", "data_parallel"])]
    overlap: bool,
    /// Divide dimensions only into numbers of parts that divide them, which gives fewer configurations.
    #[arg(long, conflicts_with = "strategy")]
    divisors: bool,
    /// The trip count of a loop, by its label, if it does not count; a mean if it varies.
    #[arg(long, value_name = "LOOP=N", conflicts_with = "strategy")]
    iterations: Vec<Iterations>,
    /// Run the interpreter on the program before and after, the latter on several virtual ranks, and stop if results differ.
    #[arg(long)]
    verify: bool,
    /// Write the steps to this file, a chain that `sdfg chain apply` replays.
    #[arg(long, value_name = "FILE")]
    record: Option<String>,
    /// The output file; the default is the standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<String>,
}

impl DistributeCommand {
    pub(crate) fn execute(&self, terminal: Terminal) -> Result<(), Failure> {
        check_outputs(
            self.output.as_deref(),
            &[
                ("--record", self.record.as_deref()),
                ("--write-strategy", self.write_strategy.as_deref()),
                ("--picture", self.picture.as_deref()),
            ],
        )?;
        if self.strategy.is_some() && !self.symbols.is_empty() && !self.verify {
            return Err(Failure::usage(
                "a strategy is for all sizes: `--set` needs `--verify` beside `--strategy`",
            )
            .at("--set")
            .help("leave out `--set`, or verify the distributed program with these sizes"));
        }
        let before = self.program.read(terminal)?;
        let verifier = match self.verify {
            true => Some(crate::verify::verifier(&before, &symbols_of(&before, &self.symbols))?),
            false => None,
        };
        let mut pipeline = Pipeline::on(before);
        // A program without library nodes has nothing to expand.
        let _ = pipeline.apply(Step::from(ExpandLibrary::by("pure")).everywhere(None));
        pipeline.simplify(&sdfg_library::transformations(), None);
        prepare(&mut pipeline);
        if self.simulate {
            return self.simulated(&pipeline, terminal);
        }
        let outcome = match self.ranks() {
            Some(ranks) if self.data_parallel && ranks > Blocks::MOST_PROCESSES => {
                let most = Blocks::MOST_PROCESSES;
                return Err(
                    Failure::usage(format_args!("`ranks` is {ranks}; it has to be at most {most}")).at("-p")
                );
            }
            Some(ranks) if self.data_parallel => {
                let steps = data_parallel(pipeline.program(), ranks);
                self.write_strategy_file(&strategy_of(pipeline.program(), ranks, &steps))?;
                distribute_by(&mut pipeline, &steps, self.division())
            }
            Some(_) | None => self.by_strategy(&mut pipeline, terminal)?,
        };
        tell(&outcome, terminal);
        if let Some(verifier) = verifier {
            verifier.check(pipeline.program(), Soundness::ChangesRounding).map_err(|difference| {
                if difference.is_limit() {
                    return crate::verify::unverified("the distributed program", &difference);
                }
                Failure::program(format_args!("the distributed program gives other results: {difference}"))
                    .help("this is a defect of the compiler: please report it with the program")
            })?;
        }
        if let Some(file) = &self.record {
            save_chain(&pipeline.chain(), file)?;
        }
        let text = sdfg::text::print(pipeline.program());
        match &self.output {
            Some(file) => Destination::new(Some(file)).write(text.as_bytes()),
            None => print(text.as_bytes()),
        }
    }

    fn ranks(&self) -> Option<u32> {
        self.processors.map(NonZeroU32::get)
    }

    /// Prints predictions instead of distributing.
    fn simulated(&self, pipeline: &Pipeline, terminal: Terminal) -> Result<(), Failure> {
        let simulation = Simulation {
            prepared: valid(pipeline.program())?,
            symbols: &self.symbols,
            machine: self.machine.as_deref(),
            most: self.ranks().unwrap_or(MOST_RANKS),
            iterations: self.iterations(),
            division: self.division(),
            measure: self.measure,
        };
        let strong = simulation.table(&[], terminal)?;
        let weak = if self.weak.is_empty() { None } else { Some(simulation.table(&self.weak, terminal)?) };
        if let Some(file) = &self.picture {
            let picture = scaling_picture(&strong, weak.as_ref());
            Destination::new(Some(file)).write(picture.as_bytes())?;
        }
        let mut text = strong.text("strong scaling: the same sizes on all numbers of ranks");
        if let Some(weak) = &weak {
            text.push_str(&weak.text("\nweak scaling: sizes grow with the number of ranks"));
        }
        Destination::new(self.output.as_deref()).write(text.as_bytes())
    }

    fn division(&self) -> DivisionOptions {
        DivisionOptions {
            arguments: !self.whole_arguments,
            overlap: self.overlap,
            ..DivisionOptions::default()
        }
    }

    fn iterations(&self) -> BTreeMap<String, u64> {
        self.iterations.iter().map(|one| (one.label.clone(), one.n)).collect()
    }

    /// Divides the program by the strategy of a file, or by the cheapest one.
    fn by_strategy(&self, pipeline: &mut Pipeline, terminal: Terminal) -> Result<Distributed, Failure> {
        let Some(file) = &self.strategy else { return self.cheapest(pipeline, terminal) };
        distribute(pipeline, &read_strategy(file)?, self.division()).map_err(|error| {
            let is_of_path = matches!(&error, DistributeError::Operation { problem, .. } if problem.is_of_path());
            let failure = Failure::usage(error).at(file);
            if is_of_path {
                return failure.help(
                    "maps may get states of their own before they are divided: `sdfg distribute PROGRAM -p 2 --data-parallel --write-strategy FILE` writes a strategy with the paths of all maps",
                );
            }
            failure.help("a strategy fits the program that it was found for, as `--write-strategy` writes it")
        })
    }

    /// Writes a strategy to the file that the user asked for.
    fn write_strategy_file(&self, strategy: &StrategyFile) -> Result<(), Failure> {
        let Some(file) = &self.write_strategy else { return Ok(()) };
        let text = strategy.to_json().map_err(Failure::program)?;
        Destination::new(Some(file)).write(text.as_bytes())
    }

    /// Divides the program by the strategy of the search, with a proof that was checked, or by one that costs less once it is carried out.
    fn cheapest(&self, pipeline: &mut Pipeline, terminal: Terminal) -> Result<Distributed, Failure> {
        let options = ModelOptions {
            parts: part_counts(self.divisors),
            minimum_block: 1,
            iterations: self.iterations(),
        };
        let prepared = valid(pipeline.program())?;
        let machine = (self.machine.as_deref(), self.ranks());
        let model = Modelled::of(&prepared, &self.symbols, machine, &options, terminal)?;
        let (searched, costs) = model.searched(terminal)?;
        let chosen = searched
            .carry_out(pipeline, self.division(), &|program| costs.seconds(program))
            .map_err(Failure::program)?;
        self.write_strategy_file(&searched.file_of(&chosen.strategy))?;
        if chosen.way == Way::DataParallel {
            terminal.note(
                "the first dimension of each map is divided: in the distributed program, this costs less than the optimum of the model",
            );
        }
        if let Some((computation, communication)) = chosen.seconds {
            terminal.note(&format!(
                "predicted: {computation:.3e} s of computation, {communication:.3e} s of communication"
            ));
        }
        let hidden = costs.waiting(pipeline.program()).map_or(0.0, |waiting| waiting.hidden);
        if hidden > 0.0 {
            let maps = match chosen.outcome.overlapped {
                0 => String::new(),
                1 => ": 1 map is divided in an interior, which needs no halos, and a border".to_owned(),
                n => format!(": {n} maps are divided in an interior, which needs no halos, and a border"),
            };
            terminal.note(&format!("messages travel for {hidden:.3e} s while ranks compute{maps}"));
        }
        Ok(chosen.outcome)
    }
}

/// A prepared program, validated.
fn valid(program: &Sdfg) -> Result<Validated, Failure> {
    validate(program.clone()).map_err(|rejected| {
        Failure::program(format_args!("the prepared program is not valid: {rejected}"))
            .help("this is a defect of the compiler: please report it with the program")
    })
}

fn read_strategy(file: &str) -> Result<StrategyFile, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        Failure::usage(format_args!("cannot read `{file}`: {error}")).at("--strategy").help("check the path")
    })?;
    StrategyFile::parse(&text)
        .map_err(|error| Failure::usage(error).at(file).help("`docs/strategy.md` tells the format"))
}

/// Tells what was divided, and why the rest was not.
fn tell(outcome: &Distributed, terminal: Terminal) {
    let (divided, left_out) = (outcome.divided.len(), outcome.left_out);
    terminal.note(&format!(
        "{divided} maps are divided over ranks, and {left_out} copies between equal parts are left out"
    ));
    if outcome.hoisted > 0 {
        let hoisted = outcome.hoisted;
        terminal.note(&format!("{hoisted} copies that each iteration of a loop would repeat run before it"));
    }
    for (path, reason) in &outcome.whole {
        terminal.note(&format!("all ranks run {path} as a whole: {reason}"));
    }
}

/// The values of symbols among those that the cost model takes.
fn symbols_of(program: &Sdfg, sizes: &[SymbolValue]) -> Vec<SymbolValue> {
    let is_symbol = |size: &&SymbolValue| program.find_container(&size.name).is_none();
    sizes.iter().filter(is_symbol).cloned().collect()
}
