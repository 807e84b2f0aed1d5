//! Programs that `sdfg check` accepts run everywhere, and programs that it warns of are refused: over DaCe's
//! graphs, random programs, and variants of both with other names, schedules and storages.
//!
//! These are samples. `SDFG_CHECKED=1000` sets the number of graphs, at most all of the corpus, and of random programs,
//! and compiles every one of them.

#![expect(clippy::print_stderr, reason = "tests tell what they counted, and what they left out")]

use std::path::Path;

use sdfg::interpret::Interpreter;
use sdfg::ir::draft::{DraftSdfg, DraftState};
use sdfg::ir::{NodeKind, ScheduleKind, Sdfg, Storage};
use sdfg::validate::validate;
use sdfg_codegen::llvm::{self, CompileOptions, OptLevel};
use sdfg_codegen::lower::{LowerOptions, Target, lower, refusals};
use sdfg_library::{BuiltIn, Registry, expand_all};
use sdfg_programs::corpus::graphs;
use sdfg_programs::random::{Operations, generate};

/// Number of programs by what `check` tells of them, and of contradictions.
#[derive(Debug, Default)]
struct Tally {
    accepted: usize,
    warned: usize,
    /// Programs that `check` warns of and that compile all the same.
    warned_in_vain: Vec<String>,
    /// Programs that `check` accepts and that something refuses.
    refused: Vec<String>,
}

impl Tally {
    /// Checks a program, and compares the answer with lowering, the interface and, if it is wanted, the back end.
    fn add(&mut self, name: &str, sdfg: Sdfg, registry: &dyn Registry, emit: bool) {
        let Ok(program) = validate(sdfg) else { return };
        let Ok(expanded) = expand_all(program.sdfg(), registry) else { return };
        let expanded =
            validate(expanded.into_owned()).unwrap_or_else(|rejected| panic!("{name}: {rejected}"));
        let warnings = refusals(&expanded, &Target::cpu());
        if let Err(error) = Interpreter::new(&program) {
            self.refused.push(format!("{name}: {error}"));
        }
        let options = CompileOptions { level: OptLevel::O0, ..CompileOptions::default() };
        let compiled = lower(&expanded, &Target::cpu(), &LowerOptions::default())
            .map_err(|error| error.to_string())
            .and_then(|plan| plan.interface().map(|_| plan).map_err(|error| error.to_string()))
            .and_then(|plan| {
                if emit {
                    llvm::compile(&plan, &options).map(drop).map_err(|error| error.to_string())
                } else {
                    Ok(())
                }
            });
        match (warnings.is_empty(), compiled) {
            (true, Ok(())) => self.accepted += 1,
            (false, Err(told)) => {
                self.warned += 1;
                let code = warnings[0].lacks.code();
                assert!(told.contains(code), "{name}: warned with {code}, refused with: {told}");
            }
            (true, Err(told)) => self.refused.push(format!("{name}: {told}")),
            (false, Ok(())) => self.warned_in_vain.push(format!("{name}: {}", warnings[0])),
        }
    }

    /// Adds a program and its variants.
    fn add_all(&mut self, name: &str, sdfg: &Sdfg, registry: &dyn Registry, emit: bool) {
        self.add(name, sdfg.clone(), registry, emit);
        let mut exported = sdfg.clone();
        exported.name = "main".to_owned();
        self.add(&format!("{name} as `main`"), exported, registry, false);
        let mut scheduled = sdfg.clone();
        schedule_on_ranks(&mut scheduled);
        self.add(&format!("{name} on ranks"), scheduled, registry, false);
        let mut stored = sdfg.clone();
        let first = stored.containers().find(|(_, found)| found.transient && !found.is_alias());
        if let Some(id) = first.map(|(id, _)| id) {
            stored.container_mut(id).storage = Storage::File;
            self.add(&format!("{name} in files"), stored, registry, false);
        }
    }

    fn judge(&self) {
        eprintln!(
            "accepted {}, warned {}, warned in vain {}, refused {}",
            self.accepted,
            self.warned,
            self.warned_in_vain.len(),
            self.refused.len()
        );
        assert!(self.refused.is_empty(), "accepted by check, and refused:\n{}", self.refused.join("\n"));
        let in_vain = self.warned_in_vain.len();
        assert!(in_vain * 20 <= self.warned + in_vain, "warned in vain:\n{}", self.warned_in_vain.join("\n"));
    }
}

/// Gives the first map another schedule, which no CPU has.
fn schedule_on_ranks(sdfg: &mut Sdfg) {
    let states: Vec<_> = sdfg.states().map(|(id, _)| id).collect();
    for state in states {
        let nodes = sdfg.state(state).nodes();
        let maps = nodes.filter(|(_, node)| matches!(node.kind, NodeKind::MapEntry(_))).map(|(id, _)| id);
        let Some(first) = maps.min() else { continue };
        if let NodeKind::MapEntry(map) = &mut sdfg.state_mut(state).node_mut(first).kind {
            map.schedule = ScheduleKind::Mpi.into();
        }
        return;
    }
}

/// The number of graphs and programs that the user asks for.
fn asked() -> Option<usize> {
    let number = std::env::var("SDFG_CHECKED").ok()?;
    let parsed = number.parse().ok().filter(|number| *number > 0);
    Some(parsed.unwrap_or_else(|| panic!("SDFG_CHECKED is `{number}`, not a positive number")))
}

#[test]
fn random_programs_that_check_accepts_compile() {
    let mut tally = Tally::default();
    let asked = asked();
    for seed in 5_000_000..5_000_000 + asked.unwrap_or(10) as u64 {
        let text = generate(seed);
        let sdfg = sdfg::text::parse("random.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}"));
        tally.add_all(&format!("seed {seed}"), &sdfg, &Operations, asked.is_some() || seed % 5 == 0);
    }
    tally.judge();
    assert!(tally.accepted >= 10 && tally.warned >= 15, "{tally:?}");
}

#[test]
fn graphs_of_dace_that_check_accepts_compile() {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/corpus");
    let folder = std::env::var("SDFG_CORPUS").unwrap_or_else(|_| default.to_owned());
    let found = graphs(Path::new(&folder)).unwrap_or_default();
    if found.is_empty() {
        eprintln!("skipped: no graphs in {folder}");
        return;
    }
    let mut tally = Tally::default();
    let asked = asked();
    let sample: Vec<_> = found.iter().step_by(found.len().div_ceil(asked.unwrap_or(16))).collect();
    for (number, path) in sample.iter().enumerate() {
        let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{error}"));
        let Ok(import) = sdfg_dace::read(&bytes, &sdfg_dace::Options::default()) else { continue };
        let name = path.display().to_string();
        if asked.is_some() || number % 5 == 0 {
            tally.add_all(&name, &import.sdfg, &BuiltIn, true);
        } else {
            tally.add(&name, import.sdfg, &BuiltIn, false);
        }
    }
    tally.judge();
    assert!(tally.accepted * 2 > sample.len(), "{tally:?}");
}
