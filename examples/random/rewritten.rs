//! Programs that are transformed: at every match of the transformations, simplified, or by random chains.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::process::ExitCode;

use sdfg_programs::applications::{Applications, variants};
use sdfg_programs::distributed::Alike;
use sdfg_programs::random::{
    Device, Rng, check_chain, check_distributed, check_every_match, check_on_device, check_optimize,
    check_schedules, check_simplify,
};
use sdfg_programs::rewritten::Runs;
use sdfg_programs::subjects::{NoCase, Subjects};

use super::of_all;

/// After how many programs the command prints their lines.
const BATCH: u64 = 32;

/// The most random programs, if none are given; with `--applications`, the command ends sooner.
const PROGRAMS: u64 = 2000;
const PROGRAMS_FOR_APPLICATIONS: u64 = 40_000;

/// Transformations to apply to the programs.
pub(super) enum Rewrites {
    /// Each at every match; with a name, that one alone.
    EveryMatch(Option<String>),
    /// Simplification.
    Simplify,
    /// The optimiser.
    Optimize,
    /// Random chains of so many steps.
    Chains(usize),
    /// Maps become kernels, in CUDA or OpenCL source.
    OnDevice(Device),
    /// Programs with so many schedules each, on a device.
    Schedules(Device, u64),
    /// Distribution over virtual ranks by random strategies.
    Distribute,
}

/// Programs to transform, and ways to run them.
pub(super) struct Rewriting {
    /// A list of programs; random ones without.
    pub(super) on: Option<Subjects>,
    pub(super) runs: Runs,
    /// Each transformation is applied so often; those that were are left out of further programs.
    pub(super) applications: Option<u64>,
}

/// Totals of the programs so far.
#[derive(Default)]
struct Totals {
    counts: Applications,
    passed: u64,
    refused: u64,
    failed: u64,
}

impl Rewriting {
    /// Transforms programs from a seed on, and compares results. Prints a line for each program, and the totals.
    pub(super) fn run(&self, seed: u64, programs: Option<u64>, rewrites: &Rewrites) -> ExitCode {
        let of_list = match (self.on, rewrites) {
            (Some(list), Rewrites::EveryMatch(_) | Rewrites::Simplify | Rewrites::Optimize) => {
                Some(list.count() as u64)
            }
            (Some(_), Rewrites::Chains(_) | Rewrites::OnDevice(_) | Rewrites::Schedules(..)) | (None, _) => {
                None
            }
            (Some(list), Rewrites::Distribute) => Some(list.count() as u64),
        };
        let default = if self.applications.is_some() { PROGRAMS_FOR_APPLICATIONS } else { PROGRAMS };
        let seeds = match of_list {
            Some(count) => 0..count,
            None => seed..seed + programs.unwrap_or(default),
        };
        let names: BTreeSet<&'static str> = variants().iter().map(|known| known.metadata().name).collect();
        let mut totals = Totals::default();
        let mut next = seeds.start;
        while next < seeds.end {
            let end = seeds.end.min(next + BATCH);
            let wanted = self.lacking(&names, &totals, rewrites);
            if wanted.is_empty() {
                break;
            }
            totals.add(next..end, of_all(next..end, |seed| self.one(seed, rewrites, &wanted)));
            next = end;
        }
        totals.print();
        let lacking = match (self.applications, rewrites) {
            (Some(count), Rewrites::EveryMatch(_)) => {
                let lacking = self.lacking(&names, &totals, rewrites);
                if !lacking.is_empty() {
                    let names: Vec<&str> = lacking.iter().copied().collect();
                    println!("fewer than {count} applications: {}", names.join(", "));
                }
                !lacking.is_empty()
            }
            _ => false,
        };
        if totals.failed == 0 && !lacking { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// The transformations that have fewer applications than asked for.
    fn lacking<'n>(
        &self,
        names: &BTreeSet<&'n str>,
        totals: &Totals,
        rewrites: &Rewrites,
    ) -> BTreeSet<&'n str> {
        let is_wanted = |name: &&&str| match rewrites {
            Rewrites::EveryMatch(Some(only)) => only == **name,
            Rewrites::EveryMatch(None)
            | Rewrites::Simplify
            | Rewrites::Optimize
            | Rewrites::Chains(_)
            | Rewrites::OnDevice(_)
            | Rewrites::Schedules(..)
            | Rewrites::Distribute => true,
        };
        let applied = |name: &str| totals.counts.get(name).map_or(0, |outcomes| outcomes.applied);
        let is_lacking = |name: &&&str| self.applications.is_none_or(|count| applied(name) < count);
        names.iter().filter(is_wanted).filter(is_lacking).copied().collect()
    }

    /// One program: that of a seed, or that of a list which the number selects.
    fn one(&self, seed: u64, rewrites: &Rewrites, wanted: &BTreeSet<&str>) -> Result<Applications, NoCase> {
        let runs = self.runs;
        let is_wanted = |name: &str| wanted.contains(name);
        let Some(list) = self.on else {
            let outcome = match rewrites {
                Rewrites::EveryMatch(_) => check_every_match(seed, &is_wanted, runs),
                Rewrites::Simplify => check_simplify(seed, runs),
                Rewrites::Optimize => check_optimize(seed, runs),
                Rewrites::Chains(length) => check_chain(seed, *length, runs),
                Rewrites::OnDevice(device) => check_on_device(seed, *device),
                Rewrites::Schedules(device, count) => check_schedules(seed, *device, *count),
                Rewrites::Distribute => check_distributed(seed),
            };
            return outcome.map_err(|failure| NoCase::Failed(failure.to_string()));
        };
        let number = seed as usize;
        let case = list.case(number, seed)?;
        let outcome = match rewrites {
            Rewrites::EveryMatch(_) => case.every_match(&is_wanted, None, runs),
            Rewrites::Simplify => case.simplified(runs),
            Rewrites::Optimize => case.optimized(BTreeMap::new(), runs),
            Rewrites::Chains(length) => case.chain(*length, &mut Rng::new(seed ^ 0x5eed), runs),
            Rewrites::Distribute => case.distributed(Alike::Sometimes, &mut Rng::new(seed ^ 0x5eed)),
            Rewrites::OnDevice(_) | Rewrites::Schedules(..) => {
                Err("only random programs run on a device here".to_owned())
            }
        };
        outcome.map_err(|what| NoCase::Failed(format!("{}: {what}", list.program(number).0)))
    }
}

impl Totals {
    fn add(&mut self, seeds: Range<u64>, outcomes: Vec<Result<Applications, NoCase>>) {
        for (seed, outcome) in seeds.zip(outcomes) {
            match outcome {
                Ok(counts) => {
                    self.passed += 1;
                    let applied: u64 = counts.values().map(|outcomes| outcomes.applied).sum();
                    println!("seed {seed}: passed, {applied} applications");
                    for (name, outcomes) in counts {
                        self.counts.entry(name).or_default().add(outcomes);
                    }
                }
                Err(NoCase::Missing(what)) => {
                    self.refused += 1;
                    println!("seed {seed}: refused, {what}");
                }
                Err(NoCase::Failed(failure)) => {
                    self.failed += 1;
                    println!("seed {seed}: failed\n{failure}\n");
                }
            }
        }
    }

    fn print(&self) {
        println!("{:28} {:>9} {:>9}", "transformation", "applied", "refused");
        for (name, outcomes) in &self.counts {
            println!("{name:28} {:>9} {:>9}", outcomes.applied, outcomes.refused.values().sum::<u64>());
            if self.counts.len() == 1 {
                let reasons = outcomes.refused.iter();
                reasons.for_each(|(reason, count)| println!("{:28} {count:>19} {reason}", ""));
            }
        }
        println!("passed {}, refused {}, failed {}", self.passed, self.refused, self.failed);
    }
}
