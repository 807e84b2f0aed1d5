//! `sdfg distribute --simulate`: predictions of the cost model on growing numbers of ranks.

use std::collections::BTreeMap;
use std::str::FromStr;

use sdfg::ir::Sdfg;
use sdfg::validate::Validated;
use sdfg_codegen::mpi::{Launcher, Mpi};
use sdfg_codegen::ranks::Traffic;
use sdfg_transforms::Pipeline;
use sdfg_transforms::distribute::DivisionOptions;
use sdfg_transforms::strategy::PartCounts;
use sdfg_transforms::strategy::model::{ModelOptions, Predicted};

use super::program::Program as Modelled;
use super::table::lines;
use crate::data::SymbolValue;
use crate::failure::Failure;
use crate::info::bytes_of_largest_rank;
use crate::terminal::Terminal;

/// The most ranks of a simulation, if the user names no number.
pub(super) const MOST_RANKS: u32 = 16384;

/// Runs of each measured number of ranks.
const REPETITIONS: &str = "5";

/// `SYMBOL=POWER`.
#[derive(Clone, Debug)]
pub(super) struct Growth {
    symbol: String,
    power: f64,
}

impl FromStr for Growth {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("`{text}` is no symbol, `=`, and a power from 0 to 1, such as `N=0.5`");
        let (symbol, power) = text.split_once('=').ok_or_else(wanted)?;
        let power: f64 = power.parse().map_err(|_| wanted())?;
        let growth = Growth { symbol: symbol.to_owned(), power };
        if (0.0..=1.0).contains(&power) { Ok(growth) } else { Err(wanted()) }
    }
}

/// A program, ready to be divided, and what it is simulated on.
pub(super) struct Simulation<'s> {
    pub(super) prepared: Validated,
    pub(super) symbols: &'s [SymbolValue],
    pub(super) machine: Option<&'s str>,
    pub(super) most: u32,
    pub(super) iterations: BTreeMap<String, u64>,
    pub(super) division: DivisionOptions,
    pub(super) measure: bool,
}

/// Predictions for numbers of ranks.
pub(super) struct Scaling {
    pub(super) points: Vec<Point>,
}

/// The prediction for one number of ranks.
pub(super) struct Point {
    pub(super) ranks: u32,
    pub(super) predicted: Predicted,
    /// Seconds if the first dimension of each operation is divided.
    pub(super) data_parallel: Option<f64>,
    /// Bytes that the rank that receives most does receive; `None` if only a run knows.
    received: Option<u64>,
    /// Bytes of the rank that holds most; `None` if only a run knows.
    memory: Option<i64>,
    /// Median of seconds on this machine.
    pub(super) measured: Option<f64>,
}

impl Simulation<'_> {
    /// Predictions for 1, 2, 4, ... ranks.
    pub(super) fn table(&self, growing: &[Growth], terminal: Terminal) -> Result<Scaling, Failure> {
        if let Some(unknown) =
            growing.iter().find(|one| !self.symbols.iter().any(|set| set.name == one.symbol))
        {
            return Err(Failure::usage(format_args!(
                "symbol `{}` has no value to grow from",
                unknown.symbol
            ))
            .at("--weak")
            .help(format_args!("give `--set {}=VALUE`, the value on one rank", unknown.symbol)));
        }
        let mut points = Vec::new();
        for ranks in (0..u32::BITS).map(|power| 1 << power).take_while(|ranks| *ranks <= self.most) {
            // One table tells what is not exact.
            let terminal = if ranks == 1 && growing.is_empty() { terminal } else { terminal.silent() };
            points.push(self.point(ranks, &grown(self.symbols, growing, ranks), terminal)?);
        }
        Ok(Scaling { points })
    }

    fn point(&self, ranks: u32, symbols: &[SymbolValue], terminal: Terminal) -> Result<Point, Failure> {
        let iterations = self.iterations.clone();
        let options = ModelOptions { parts: PartCounts::DivideProcessors, minimum_block: 1, iterations };
        let model = Modelled::of(&self.prepared, symbols, (self.machine, Some(ranks)), &options, terminal)?;
        let (searched, costs) = model.searched(terminal)?;
        let mut divided = Pipeline::on(self.prepared.sdfg().clone());
        let chosen = searched
            .carry_out(&mut divided, self.division, &|program| costs.seconds(program))
            .map_err(Failure::program)?;
        let mut predicted = searched.model.predicted(&chosen.strategy);
        if let Some((computation, communication)) = chosen.seconds {
            predicted.seconds = computation + communication;
            predicted.communication_seconds = communication;
        }
        let memory = bytes_of_largest_rank(divided.program(), &costs.values, ranks);
        let traffic = Traffic::of(divided.program(), &costs.values, ranks).ok();
        let received = traffic.map(|traffic| traffic.received().into_iter().max().unwrap_or(0));
        let measured = match self.measure && ranks <= 2 {
            true => Some(measured(divided.program(), ranks, symbols)?),
            false => None,
        };
        Ok(Point { ranks, predicted, data_parallel: searched.file.data_parallel, received, memory, measured })
    }
}

/// The symbols on so many ranks.
fn grown(symbols: &[SymbolValue], growing: &[Growth], ranks: u32) -> Vec<SymbolValue> {
    let value = |set: &SymbolValue| {
        let growth = growing.iter().find(|one| one.symbol == set.name);
        let factor = growth.map_or(1.0, |one| f64::from(ranks).powf(one.power));
        SymbolValue { name: set.name.clone(), value: (set.value as f64 * factor).round() as i64 }
    };
    symbols.iter().map(value).collect()
}

/// The median time of this command on ranks of MPI.
fn measured(program: &Sdfg, ranks: u32, symbols: &[SymbolValue]) -> Result<f64, Failure> {
    let file = tempfile::Builder::new().prefix("sdfg-").suffix(".sdft").tempfile().map_err(Failure::usage)?;
    std::fs::write(file.path(), sdfg::text::print(program)).map_err(Failure::usage)?;
    let mpi = Mpi::find().map_err(Failure::usage)?;
    let launcher = Launcher::find(&mpi).map_err(Failure::usage)?;
    let own = std::env::current_exe().map_err(Failure::program)?;
    let mut command = launcher.command(ranks as usize, own);
    command.arg("run").arg(file.path()).args(["--repeat", REPETITIONS, "--threads", "1"]);
    for SymbolValue { name, value } in symbols {
        command.args(match program.find_container(name) {
            None => ["--set".to_owned(), format!("{name}={value}")],
            Some(_) => ["--input".to_owned(), format!("{name}=const:{value}")],
        });
    }
    let output = command.output().map_err(Failure::usage)?;
    let text = String::from_utf8_lossy(&output.stderr);
    let median = text.lines().find_map(|line| line.split_once("runs: median ")?.1.split(',').next());
    median.and_then(seconds).ok_or_else(|| {
        Failure::program(format_args!("the run on {ranks} ranks gave no time: {}", text.trim_end()))
    })
}

/// Seconds of a duration as `Duration` prints it.
fn seconds(text: &str) -> Option<f64> {
    let units = [("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    units.iter().find_map(|(unit, factor)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * factor))
}

impl Scaling {
    /// A table.
    pub(super) fn text(&self, title: &str) -> String {
        let has_measured = self.points.iter().any(|point| point.measured.is_some());
        let mut heads = vec![
            "ranks",
            "time",
            "communication",
            "speed-up",
            "data parallel",
            "bytes of a rank",
            "memory of a rank",
        ];
        heads.extend(has_measured.then_some("measured"));
        let mut rows: Vec<Vec<String>> = vec![heads.into_iter().map(str::to_owned).collect()];
        let first = self.points.first().map_or(0.0, |point| point.predicted.seconds);
        for point in &self.points {
            let Predicted { seconds, communication_seconds, received: modelled } = &point.predicted;
            let modelled = modelled.iter().max().copied().unwrap_or(0);
            let or_unknown = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
            let mut row = vec![
                point.ranks.to_string(),
                format!("{seconds:.3e}"),
                format!("{communication_seconds:.3e}"),
                if *seconds > 0.0 { format!("{:.2}", first / seconds) } else { "-".to_owned() },
                or_unknown(point.data_parallel.map(|seconds| format!("{seconds:.3e}"))),
                point.received.map_or_else(|| format!("~{modelled}"), |bytes| bytes.to_string()),
                or_unknown(point.memory.map(|bytes| bytes.to_string())),
            ];
            if has_measured {
                row.push(or_unknown(point.measured.map(|seconds| format!("{seconds:.3e}"))));
            }
            rows.push(row);
        }
        format!("{title} (seconds)\n{}", lines(&rows, 0))
    }
}
