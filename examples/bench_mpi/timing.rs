//! Runs of several variants in turns, and their table.

use std::path::Path;
use std::time::Instant;

use sdfg::interpret::Arguments;
use sdfg_codegen::mpi::Hooks;
use sdfg_transforms::strategy::model;

use crate::Error;
use crate::cases::{Bound, Case, Peer};
use crate::distributed::{Compiled, Strategy};
use crate::machine::Machine;
use crate::peers::{Running, file_of};

/// Runs for a median.
pub(crate) const fn rounds(is_quick: bool) -> usize {
    if is_quick { 1 } else { 9 }
}

/// Results differ at most by this share of the largest value: sums are rounded in another order.
const TOLERANCE: f64 = 1e-9;

/// The ranks that run this process.
pub(crate) struct Place<'p> {
    pub(crate) machine: &'p Machine,
    pub(crate) hooks: Hooks<'p>,
    pub(crate) rank: usize,
    pub(crate) ranks: usize,
    /// Number of runs for a median.
    pub(crate) rounds: usize,
}

impl Place<'_> {
    /// Prints a line, once.
    pub(crate) fn say(&self, line: &str) {
        if self.rank == 0 {
            println!("{line}");
        }
    }

    /// Milliseconds of the slowest rank.
    pub(crate) fn time(&self, run: impl FnOnce() -> Result<(), Error>) -> Result<f64, Error> {
        self.machine.barrier();
        let start = Instant::now();
        run()?;
        Ok(self.machine.largest(start.elapsed().as_secs_f64() * 1e3))
    }

    /// The machine of the cost model, as it was measured here.
    pub(crate) fn measured(&self, bandwidth: f64, operations: f64) -> model::Machine {
        let default = model::Machine::default();
        let (short, long) = (self.machine.exchange(8), self.machine.exchange(1 << 20));
        let is_alone = self.ranks == 1 || long <= short;
        let link = if is_alone { default.link_bytes_per_second } else { f64::from(1 << 20) / (long - short) };
        model::Machine {
            ranks: self.ranks as u32,
            operations_per_second: operations,
            // The model counts a line once that is read before it is written.
            memory_bytes_per_second: bandwidth * 2.0 / 3.0,
            link_bytes_per_second: link,
            latency_seconds: if is_alone { default.latency_seconds } else { short },
            ..model::Machine::default()
        }
    }
}

/// The middle one of some times.
pub(crate) fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Groups of peers by the beginnings of their names, each with the goal for the time of its best one divided by that of a program.
const GOALS: [(&str, f64); 2] = [("C", 0.95), ("pdgemm", 1.0)];

/// What takes turns.
enum Variant {
    Program(Box<Compiled>),
    Peer(Running),
}

/// The variants of a case.
pub(crate) struct Comparison<'c> {
    place: &'c Place<'c>,
    case: &'c Case,
    whole: Arguments,
    machine: model::Machine,
    /// Bytes a second between memory and one rank.
    bandwidth: f64,
    variants: Vec<(&'static str, Variant)>,
}

impl<'c> Comparison<'c> {
    pub(crate) fn new(place: &'c Place<'c>, case: &'c Case) -> Result<Self, Error> {
        let bandwidth = place.machine.bandwidth(case.size * case.size / place.ranks as i64);
        let operations = place.machine.operations(case.size.min(1024));
        let machine = place.measured(bandwidth, operations);
        Ok(Comparison { place, case, whole: case.arguments()?, machine, bandwidth, variants: Vec::new() })
    }

    pub(crate) fn add_program(&mut self, strategy: Strategy) -> Result<(), Error> {
        let compiled = Compiled::by(&self.case.text, strategy, self.place, &self.machine, &self.whole)?;
        self.variants.push((strategy.name(), Variant::Program(Box::new(compiled))));
        Ok(())
    }

    /// Adds what was written by hand, if it was compiled.
    pub(crate) fn add_peer(&mut self, peer: &Peer, folder: &Path) -> Result<(), Error> {
        let given = self.case.given.iter().filter_map(|name| self.whole.get(name));
        let given: Vec<Vec<f64>> = given.map(|tensor| tensor.to_vec()).collect::<Result<_, _>>()?;
        let sizes = (self.case.size, self.case.steps, peer.variant);
        if let Some(running) = Running::create(&file_of(folder, peer.source), sizes, &given)? {
            self.variants.push((peer.name, Variant::Peer(running)));
        }
        Ok(())
    }

    /// Compares the results, measures, and prints. Whether the results agree.
    pub(crate) fn run(mut self) -> Result<bool, Error> {
        if !self.agree()? {
            return Ok(false);
        }
        let mut times = vec![Vec::with_capacity(self.place.rounds); self.variants.len()];
        for _ in 0..self.place.rounds {
            for ((_, variant), times) in self.variants.iter_mut().zip(&mut times) {
                let place = self.place;
                times.push(place.time(|| match variant {
                    Variant::Program(compiled) => compiled.run(place),
                    Variant::Peer(running) => {
                        running.run();
                        Ok(())
                    }
                })?);
            }
        }
        self.print(&times.into_iter().map(median).collect::<Vec<_>>());
        Ok(true)
    }

    /// Runs every variant once, and compares the results with those of the first.
    fn agree(&mut self) -> Result<bool, Error> {
        let mut first: Option<Vec<Vec<f64>>> = None;
        let mut agree = true;
        for (name, variant) in &mut self.variants {
            let found = match variant {
                Variant::Program(compiled) => {
                    compiled.run(self.place)?;
                    let results = compiled.results(self.place)?;
                    let tensors = self.case.results.iter().filter_map(|name| results.get(name));
                    tensors.map(|tensor| tensor.to_vec()).collect::<Result<Vec<Vec<f64>>, _>>()?
                }
                Variant::Peer(running) => {
                    running.run();
                    let sizes = self.case.results.iter().filter_map(|name| self.whole.get(name));
                    let mut arrays: Vec<Vec<f64>> = sizes.map(|tensor| vec![0.0; tensor.len()]).collect();
                    running.results(&mut arrays);
                    arrays.iter_mut().for_each(|array| self.place.machine.sum(array));
                    arrays
                }
            };
            match &first {
                None => first = Some(found),
                Some(first) => {
                    if let Some(what) = difference(first, &found) {
                        self.place.say(&format!("{}: {name} gives other results: {what}", self.case.name));
                        agree = false;
                    }
                }
            }
        }
        Ok(agree)
    }

    fn print(&self, times: &[f64]) {
        let (place, case) = (self.place, self.case);
        let is_peer = |variant: &Variant| matches!(variant, Variant::Peer(_));
        let all = || self.variants.iter().zip(times);
        let best = |group: &str| {
            let peers = all().filter(|((name, variant), _)| is_peer(variant) && name.starts_with(group));
            peers.map(|(_, time)| *time).min_by(f64::total_cmp)
        };
        let ranks = place.ranks as f64;
        let (bound, limit) = match case.bound {
            Bound::Bytes(bytes) => {
                let rate = self.bandwidth;
                (bytes / (rate * ranks) * 1e3, format!("{:.1} GB/s for each rank", rate / 1e9))
            }
            Bound::Operations(operations) => {
                let rate = self.machine.operations_per_second;
                (operations / (rate * ranks) * 1e3, format!("{:.1} Gflop/s for each rank", rate / 1e9))
            }
        };
        place.say(&format!(
            "\n{} {}{} on {} ranks; bound {bound:.2} ms at {limit}",
            case.name,
            case.size,
            if case.steps > 1 { format!(", {} steps", case.steps) } else { String::new() },
            place.ranks
        ));
        for ((name, variant), time) in all() {
            let mut line = format!("  {name:18} {time:>10.2}  {:>4.0} % of the bound", 100.0 * bound / time);
            for (group, goal) in GOALS.into_iter().filter(|_| !is_peer(variant)) {
                if let Some(best) = best(group) {
                    let ratio = best / time;
                    let verdict = if ratio < goal { format!(" (below {goal:.2})") } else { String::new() };
                    line.push_str(&format!("  best {group} / this {ratio:.2}{verdict}"));
                }
            }
            place.say(&line);
        }
    }
}

/// Where results differ by more than rounding.
fn difference(expected: &[Vec<f64>], found: &[Vec<f64>]) -> Option<String> {
    for (number, (expected, found)) in expected.iter().zip(found).enumerate() {
        let scale = expected.iter().fold(f64::MIN_POSITIVE, |largest, value| largest.max(value.abs()));
        // A value that is no number differs.
        let agrees = |(one, other): (&f64, &f64)| (one - other).abs() <= TOLERANCE * scale;
        if let Some(at) = expected.iter().zip(found).position(|pair| !agrees(pair)) {
            return Some(format!("result {number}, element {at}: {} and not {}", found[at], expected[at]));
        }
    }
    None
}
