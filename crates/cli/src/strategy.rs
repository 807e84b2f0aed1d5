//! `sdfg strategy`: finds the cheapest distribution of the operations of a graph over processors.

mod calibrate;
pub(crate) mod distribute;
mod program;
mod scaling;
mod simulate;
mod table;

use std::fs::File;
use std::io::BufReader;
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use sdfg_transforms::strategy::model::ModelOptions;
use sdfg_transforms::strategy::{
    self, Algorithm, Greedy, Limits, Observer, Operations, Options, OrderRule, PartCounts, Prediction,
    Progress, ReadError, Rejected, SearchError, Solution, StrategyFile, Tabulated,
};

use crate::data::SymbolValue;
use crate::failure::Failure;
use crate::native::positive;
use crate::output::{self, Destination, refuse_program};
use crate::retarget::RetargetOption;
use crate::source::Source;
use crate::terminal::Terminal;
use program::Program;
pub(crate) use program::read_machine;

/// Find a configuration for each operation of a computation graph with the least total cost.
///
/// The graph is that of a program at given sizes, with costs in seconds by a model of the machine. Alternatively it is JSON, plain or
/// compressed with gzip: operations with their configurations and costs, and for each edge the cost of each pair of configurations.
/// The result is proved optimal, and the proof is checked.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sdfg strategy jacobi2d.sdft -p 8 --set N=4096 --set T=100\n  sdfg strategy --costs alexnet.8.json.gz\n  sdfg strategy --costs alexnet.8.json.gz -p 4 --json\n  sdfg strategy --costs alexnet.8.json.gz --picture alexnet.svg\n  sdfg strategy --calibrate -o machine.toml"
)]
pub(crate) struct StrategyCommand {
    /// The program, in any form; `-` is the standard input.
    #[arg(required_unless_present_any = ["costs", "calibrate"])]
    program: Option<String>,
    #[command(flatten)]
    retarget: RetargetOption,
    /// Set a symbol of the program.
    #[arg(long = "set", value_name = "SYMBOL=VALUE")]
    symbols: Vec<SymbolValue>,
    /// The machine for the costs of a program; the default is a set of unmeasured round numbers.
    #[arg(long, value_name = "FILE")]
    machine: Option<String>,
    /// The graph with its costs; `-` is the standard input.
    #[arg(long, value_name = "GRAPH", conflicts_with_all = ["program", "symbols", "machine"])]
    costs: Option<String>,
    /// Measure this machine for some seconds and write the file that --machine reads. The machine should be idle.
    #[arg(long, conflicts_with_all = ["program", "symbols", "machine", "costs", "json", "picture"])]
    calibrate: bool,
    /// Also write the strategy as JSON for tools that carry it out; with --calibrate, write the machine.
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    output: Option<String>,
    /// The number of processors. For a graph with costs, the default is the number that the costs are for, which is also the maximum. For
    /// a program, the default is the number of ranks of the machine. With --calibrate, the number measured at once; the default is all.
    #[arg(short = 'p', long = "processors", value_name = "N")]
    processors: Option<u32>,
    /// Cut dimensions of a program only into numbers of parts that divide them, which gives fewer configurations.
    #[arg(long, conflicts_with_all = ["costs", "calibrate"])]
    divisors: bool,
    /// The minimum number of iterations of each part of a cut dimension of a program.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with_all = ["costs", "calibrate"], value_parser = clap::value_parser!(u64).range(1..))]
    minimum_block: u64,
    /// The trip count of a loop of a program, by its label, if it does not count; a mean if it varies.
    #[arg(long, value_name = "LOOP=N", conflicts_with_all = ["costs", "calibrate"])]
    iterations: Vec<Iterations>,
    /// Write one JSON object instead of a table.
    #[arg(long)]
    json: bool,
    /// Write the graph, coloured by configuration: as SVG if the name ends with `.svg`, otherwise in Graphviz's language.
    #[arg(long, value_name = "FILE")]
    picture: Option<String>,
    /// The search algorithm; all algorithms find the same cost.
    #[arg(long, value_enum, default_value_t, value_name = "NAME")]
    algorithm: AlgorithmChoice,
    /// The rule for the elimination order.
    #[arg(long, value_enum, default_value_t, value_name = "RULE")]
    order: OrderChoice,
    /// The memory limit of the tables in MiB, and again as much for their check.
    #[arg(long, default_value_t = 4096, value_name = "MIB")]
    memory: u64,
    /// The number of threads; the default is the number of processors of this machine.
    #[arg(long, value_name = "N", value_parser = positive)]
    threads: Option<NonZeroU32>,
}

/// `LOOP=N`.
#[derive(Clone, Debug)]
struct Iterations {
    label: String,
    n: u64,
}

impl FromStr for Iterations {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted =
            || format!("`{text}` is not a loop's label, `=`, and how often it runs, such as `steps=100`");
        let (label, n) = text.split_once('=').ok_or_else(wanted)?;
        Ok(Iterations { label: label.to_owned(), n: n.parse().map_err(|_| wanted())? })
    }
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum AlgorithmChoice {
    /// The dynamic program over an elimination order.
    #[default]
    Dynamic,
    /// Pruning of tables over neighbourhoods, for small graphs.
    TablePruning,
    /// Exhaustive search, for small graphs.
    Exhaustive,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum OrderChoice {
    /// The best of all rules, searched while this pays off.
    #[default]
    Best,
    /// Fewest unprocessed neighbours, without fill-in.
    SortNodes,
    /// Fewest dependents.
    DependentSets,
    /// Fewest new pairs of dependents.
    MinFill,
    /// Smallest table.
    MinVolume,
    /// The best of 100 orders by the smallest table with noise.
    RandomRestarts,
    /// The best of all orders, for small graphs.
    Exact,
}

/// The object of the search.
enum Read {
    Graph(Tabulated),
    /// A program, whose costs are computed when they are asked for.
    Program(Box<Program>),
}

/// Numbers of parts: all, or with the option those that divide dimensions.
fn part_counts(divisors: bool) -> PartCounts {
    if divisors { PartCounts::DivideDimension } else { PartCounts::All }
}

impl Read {
    fn problem(&self) -> &dyn Operations {
        match self {
            Read::Graph(graph) => graph,
            Read::Program(program) => &program.model,
        }
    }
}

/// The cheapest strategy, with a proof that was checked.
struct Solved {
    solution: Solution,
    file: StrategyFile,
    /// The time of the search.
    searched: Duration,
}

impl Read {
    fn solve(&self, options: &Options, terminal: Terminal) -> Result<Solved, Failure> {
        match self {
            Read::Graph(graph) => solve(graph, options, terminal),
            Read::Program(program) => program.solve(options, terminal),
        }
    }
}

/// Searches the cheapest strategy of a problem, and checks the proof.
fn solve(problem: &dyn Operations, options: &Options, terminal: Terminal) -> Result<Solved, Failure> {
    let messages = Messages { terminal, tenths: AtomicU64::new(0) };
    let start = Instant::now();
    let solution = strategy::search(problem, options, &messages).map_err(failed)?;
    let searched = start.elapsed();
    // A rejected proof would be a bug of the search, and no result.
    let checked = solution
        .certificate
        .check(problem, &solution.strategy, solution.cost, &Limits::from(options))
        .map_err(rejected)?;
    let file = StrategyFile::new(problem, &solution, &checked);
    Ok(Solved { solution, file, searched })
}

impl StrategyCommand {
    pub(crate) fn execute(&self, terminal: Terminal) -> Result<(), Failure> {
        let output = Destination::new(self.output.as_deref());
        output.check()?;
        let given = self.program.as_deref().or(self.costs.as_deref()).unwrap_or("-");
        for written in [self.output.as_deref(), self.picture.as_deref()] {
            refuse_program(given, written)?;
        }
        if self.picture.is_some() && self.picture == self.output && self.picture.as_deref() != Some("-") {
            return Err(Failure::usage("the strategy and its picture cannot both be written to one file")
                .at("--picture")
                .help("give each a file of its own"));
        }
        Destination::new(self.picture.as_deref()).check()?;
        if self.calibrate {
            let file = calibrate::machine_file(self.processors)?;
            return file.map_or(Ok(()), |text| output.write(text.as_bytes()));
        }
        let read = self.read(terminal)?;
        let problem = read.problem();
        let options = self.options();
        let Solved { solution, file, searched } = read.solve(&options, terminal)?;
        if let Some(path) = &self.picture {
            let is_svg = Path::new(path).extension().is_some_and(|extension| extension == "svg");
            let draw = if is_svg { strategy::svg } else { strategy::dot };
            Destination::new(Some(path)).write(draw(problem, &solution.strategy).as_bytes())?;
        }
        if self.output.is_some() {
            output.write(file.to_json().map_err(Failure::program)?.as_bytes())?;
        }
        let text = if self.json { with_time(&file, searched)? } else { table::text(&file, searched) };
        match &output {
            Destination::Stdout if self.output.is_some() => Ok(()),
            Destination::Stdout | Destination::File(_) => output::print(text.as_bytes()),
        }
    }

    fn read(&self, terminal: Terminal) -> Result<Read, Failure> {
        match (&self.program, &self.costs) {
            (_, Some(_)) if self.retarget.is_given() => {
                Err(Failure::usage("`--retarget` needs a program, and a graph with costs has none")
                    .at("--retarget")
                    .help("leave it out"))
            }
            (_, Some(graph)) => Ok(Read::Graph(self.graph(graph)?)),
            (Some(program), None) => Ok(Read::Program(Box::new(Program::read(
                &Source::read(program, false)?.retargeted(self.retarget),
                &self.symbols,
                self.machine.as_deref(),
                self.processors,
                &self.model_options(),
                terminal,
            )?))),
            (None, None) => Err(Failure::usage("there is neither a program nor a graph with costs")),
        }
    }

    fn model_options(&self) -> ModelOptions {
        let iterations = self.iterations.iter().map(|one| (one.label.clone(), one.n)).collect();
        ModelOptions { parts: part_counts(self.divisors), minimum_block: self.minimum_block, iterations }
    }

    fn graph(&self, name: &str) -> Result<Tabulated, Failure> {
        let input: Box<dyn std::io::Read> = if name == "-" {
            Box::new(std::io::stdin().lock())
        } else {
            let file = File::open(name).map_err(|error| {
                Failure::usage(format_args!("cannot read `{name}`: {error}"))
                    .help("check the path; `-` reads the graph from the standard input")
            })?;
            Box::new(BufReader::new(file))
        };
        let wrong = |error: ReadError| {
            Failure::usage(error).at(name).help("`docs/strategy.md` tells the format of graphs with costs")
        };
        let problem = Tabulated::read(input).map_err(wrong)?;
        match self.processors {
            Some(n) => problem.on_processors(n).map_err(|error| Failure::usage(error).at("-p")),
            None => Ok(problem),
        }
    }

    fn options(&self) -> Options {
        let defaults = Options::default();
        Options {
            algorithm: match self.algorithm {
                AlgorithmChoice::Dynamic => Algorithm::Dynamic,
                AlgorithmChoice::TablePruning => Algorithm::TablePruning,
                AlgorithmChoice::Exhaustive => Algorithm::Exhaustive,
            },
            order: match self.order {
                OrderChoice::Best => OrderRule::Best,
                OrderChoice::SortNodes => OrderRule::Greedy(Greedy::SortNodes),
                OrderChoice::DependentSets => OrderRule::Greedy(Greedy::DependentSets),
                OrderChoice::MinFill => OrderRule::Greedy(Greedy::MinFill),
                OrderChoice::MinVolume => OrderRule::Greedy(Greedy::MinVolume),
                OrderChoice::RandomRestarts => OrderRule::RandomRestarts { n: 100, seed: 0 },
                OrderChoice::Exact => OrderRule::Exact,
            },
            memory_limit: self.memory.saturating_mul(1 << 20),
            n_threads: self.threads.map_or(defaults.n_threads, |threads| threads.get() as usize),
            ..defaults
        }
    }
}

/// Operations of a search of some seconds, from which on it tells how far it is.
const LONG: u64 = 10_000_000_000;

/// Tells what is going to be done before it is, and each tenth of a long search.
struct Messages {
    terminal: Terminal,
    tenths: AtomicU64,
}

impl Observer for Messages {
    fn predicted(&self, prediction: &Prediction) {
        let Prediction { n_tables, entries, bytes, operations, largest_dependent_set } = prediction;
        self.terminal.note(&format!(
            "{n_tables} tables with {entries} entries, {bytes} bytes, {operations} sums, at most {largest_dependent_set} \
             dependents"
        ));
    }

    fn progress(&self, Progress { done, total }: Progress) -> ControlFlow<()> {
        let tenth = done / (total / 10).max(1);
        if total >= LONG && tenth > self.tenths.fetch_max(tenth, Ordering::Relaxed) {
            self.terminal.note(&format!("{} % of the sums are done", 10 * tenth));
        }
        ControlFlow::Continue(())
    }
}

/// Why the proof of a result is not accepted.
fn rejected(error: Rejected) -> Failure {
    match error {
        Rejected::Memory { .. } => Failure::program(&error).help("`--memory MIB` sets the limit"),
        Rejected::StrategyLength { .. }
        | Rejected::Configuration { .. }
        | Rejected::Cost { .. }
        | Rejected::TooDear { .. }
        | Rejected::Dominance { .. }
        | Rejected::Order
        | Rejected::Shape { .. }
        | Rejected::Minimum { .. }
        | Rejected::Gap { .. } => Failure::program(format_args!("the proof of the result is wrong: {error}"))
            .help("please report this with the graph; another --order or --algorithm may find a right one"),
    }
}

fn failed(error: SearchError) -> Failure {
    match &error {
        SearchError::Memory { .. } => Failure::program(&error).help(
            "`--memory MIB` sets the limit; `--divisors` and `--minimum-block N` give operations of a program fewer configurations",
        ),
        SearchError::OrderTooLarge { .. } => Failure::usage(&error).at("--order"),
        SearchError::TooManyStrategies { .. } | SearchError::Rounding => {
            Failure::program(&error).help("leave `--algorithm` out")
        }
        SearchError::Problem(_) | SearchError::Overflow | SearchError::Cancelled => Failure::program(&error),
    }
}

/// The strategy as one object with the time that finding it took, which is not part of it.
fn with_time(file: &StrategyFile, searched: Duration) -> Result<String, Failure> {
    let mut value = serde_json::to_value(file).map_err(Failure::program)?;
    if let Some(members) = value.as_object_mut() {
        members.insert("search_seconds".to_owned(), searched.as_secs_f64().into());
    }
    Ok(format!("{value}\n"))
}
