//! A bounded sample of random programs; `cargo xtask random` runs any number.

#![expect(clippy::print_stdout, reason = "a test tells of a library that is missing")]

use std::collections::BTreeMap;

use sdfg::dtype::ScalarType;
use sdfg_codegen::lower::{LowerOptions, Target, lower};
use sdfg_programs::random::{
    CheckedCode, Effort, Operations, Outcome, Race, Rng, Variants, Verdict, check, check_chain,
    check_distributed, check_every_match, check_faulty, check_loops, check_optimize, check_orders,
    check_race, check_random_loops, check_simplify, check_vectors, generate, loop_program, random_loops,
    suite,
};
use sdfg_programs::rewritten::Runs;
use sdfg_programs::subjects::{NoCase, Subjects};

#[test]
fn native_code_agrees_with_the_interpreter() {
    let mut agreed = 0;
    for seed in 1_000_000..1_000_040 {
        match check(seed, Effort::Sample) {
            Ok(Outcome::Agreed(_)) => agreed += 1,
            Ok(Outcome::Trivial) => {}
            Err(failure) => panic!("{failure}"),
        }
    }
    assert!(agreed > 28, "only {agreed} of 40 programs depend on their inputs");
}

/// Programs in which no transient gives its memory to another show nothing of when each is in use.
#[test]
fn transients_share_memory_in_many_programs() {
    let shares = |seed: &u64| {
        let sdfg = sdfg::text::parse("random.sdft", &generate(*seed)).unwrap_or_else(|e| panic!("{e:?}"));
        let expanded = sdfg_library::expand(&sdfg, &Operations).unwrap_or_else(|e| panic!("{e}"));
        let program = sdfg::validate::validate(expanded).unwrap_or_else(|rejected| panic!("{rejected}"));
        let plan = lower(&program, &Target::cpu(), &LowerOptions::default())
            .unwrap_or_else(|error| panic!("{error}"));
        plan.slots.iter().any(|slot| slot.buffers.len() > 1)
    };
    let count = (1_000_000..1_000_080).filter(shares).count();
    assert!(count >= 15, "only {count} of 80");
}

#[test]
fn results_do_not_depend_on_the_order_of_the_interpreter() {
    for seed in 2_000_000..2_000_080 {
        check_orders(seed, 5).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

#[test]
fn checked_code_refuses_what_the_interpreter_refuses() {
    let mut refused = 0;
    for seed in 3_000_000..3_000_030 {
        let verdicts = check_faulty(seed, CheckedCode::Native).unwrap_or_else(|failure| panic!("{failure}"));
        refused += verdicts.into_iter().filter(|verdict| *verdict == Verdict::Refused).count();
    }
    assert!(refused > 80, "only {refused} runs end with an error");
}

/// As [`checked_code_refuses_what_the_interpreter_refuses`], by way of C source.
#[test]
fn checked_c_source_refuses_what_the_interpreter_refuses() {
    let mut refused = 0;
    for seed in 3_000_030..3_000_042 {
        let verdicts = check_faulty(seed, CheckedCode::C).unwrap_or_else(|failure| panic!("{failure}"));
        refused += verdicts.into_iter().filter(|verdict| *verdict == Verdict::Refused).count();
    }
    assert!(refused > 30, "only {refused} runs end with an error");
}

#[test]
fn planted_races_are_refused() {
    let (mut refused, mut absent) = (0, 0);
    for seed in 4_000_000..4_000_060 {
        match check_race(seed).unwrap_or_else(|failure| panic!("{failure}")) {
            Race::Rejected | Race::Trapped => refused += 1,
            Race::Absent => absent += 1,
            Race::Unknown => {}
        }
    }
    assert!(
        refused > 25 && refused > absent,
        "only {refused} races of 60 were refused, {absent} did not happen"
    );
}

/// Each at one level and width; the command tries all of them.
#[test]
fn loops_agree_with_the_interpreter() {
    let list = suite();
    assert!(list.len() >= 150, "only {} loops", list.len());
    let mut failures = Vec::new();
    for (number, (name, loops)) in (0..).zip(list) {
        let ty = [ScalarType::F64, ScalarType::F32][number as usize % 2];
        failures.extend(check_loops(name, number, ty, loops, Variants::One).err());
    }
    failures.extend((0..60).filter_map(|seed| check_random_loops(seed, Variants::One).err()));
    let shown: Vec<String> = failures.iter().map(ToString::to_string).collect();
    assert!(shown.is_empty(), "{}", shown.join("\n"));
}

/// Each at one level and width; the command tries all of them. None is refused, so that lanes run all of them.
#[test]
fn maps_on_lanes_agree_with_the_interpreter() {
    let failures = (0..120).filter_map(|seed| check_vectors(seed, Variants::One).err());
    let shown: Vec<String> = failures.map(|failure| failure.to_string()).collect();
    assert!(shown.is_empty(), "{}", shown.join("\n"));
}

/// Branches that store to different arrays give the results of the interpreter at every level and width.
#[test]
fn loops_with_stores_in_two_branches_agree_at_every_level() {
    let list = suite();
    let chosen: Vec<_> =
        list.into_iter().filter(|(name, _)| name.starts_with("conditional_stores")).collect();
    assert!(chosen.len() >= 6, "only {} loops", chosen.len());
    for (name, loops) in chosen {
        check_loops(name, 1, ScalarType::F64, loops, Variants::All)
            .unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// Random loops that have nothing of what they are for would show nothing.
#[test]
fn random_loops_have_stores_in_branches_and_aliases_that_branches_exchange() {
    let programs = || (0..200).map(random_loops);
    let count = |of: fn(&str) -> bool| programs().filter(|(_, loops)| of(loops)).count();
    assert!(programs().all(|(ty, loops)| loop_program("p", ty, &loops).is_ok()));
    for (least, found) in [
        (100, count(|loops| loops.contains("} else {"))),
        (20, count(|loops| exchanges(loops, ["r", "x"]))),
        (20, count(|loops| exchanges(loops, ["p", "q"]))),
        (30, count(has_offset_stores_in_branches)),
        (60, count(|loops| loops.contains("s = ") || loops.contains("t = "))),
        (30, count(expands_a_scalar)),
        (10, count(|loops| loops.contains("ip["))),
        (20, count(|loops| loops.contains("map "))),
    ] {
        assert!(found >= least, "{found} and not {least}");
    }
}

/// Whether a branch gives one of two names another target.
fn exchanges(loops: &str, names: [&str; 2]) -> bool {
    loops.lines().any(|line| {
        let target = line.strip_prefix("    ").and_then(|inside| inside.trim_start().split_once(" -> "));
        target.is_some_and(|(name, _)| names.contains(&name))
    })
}

/// Whether branches store to several containers, away from the iteration's own element.
fn has_offset_stores_in_branches(loops: &str) -> bool {
    let targets =
        loops.lines().filter(|line| line.starts_with("    ")).filter_map(|line| line.split_once("] = "));
    let stored: std::collections::BTreeSet<&str> = targets
        .filter(|(target, _)| target.contains("[i + "))
        .filter_map(|(target, _)| target.trim().split_once('['))
        .map(|(name, _)| name)
        .collect();
    stored.len() > 1
}

/// Whether an iteration makes a scalar that a later line of it reads.
fn expands_a_scalar(loops: &str) -> bool {
    ["s", "t"].into_iter().any(|scalar| {
        let assigned = loops.lines().position(|line| {
            line.starts_with("  ") && line.trim_start().starts_with(&format!("{scalar} = "))
        });
        let reads = |line: &str| {
            let value = line.split_once(" = ").map_or("", |(_, value)| value);
            value.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == scalar)
        };
        assigned.is_some_and(|at| loops.lines().skip(at + 1).any(reads))
    })
}

/// Native code takes a multiple of the time of the interpreter: some programs are compiled.
fn runs(seed: u64) -> Runs {
    if seed.is_multiple_of(16) { Runs::Compiled } else { Runs::Interpreted }
}

/// Every transformation at every match. A transformation without applications would be untested.
#[test]
fn transformations_keep_results_at_every_match() {
    let mut applied = std::collections::BTreeMap::new();
    // One program of each kind.
    for seed in [0, 1, 3, 4, 7].map(|kind| 5_000_000 + kind) {
        for (name, outcomes) in
            check_every_match(seed, &|_| true, runs(seed)).unwrap_or_else(|failure| panic!("{failure}"))
        {
            *applied.entry(name).or_insert(0) += outcomes.applied;
        }
    }
    let often = applied.values().filter(|count| **count > 0).count();
    assert!(often >= 20, "only {often} transformations were applied: {applied:?}");
}

/// Random programs by random strategies on virtual ranks.
#[test]
fn distribution_keeps_results() {
    let mut divided = 0;
    for seed in 8_000_000..8_000_024 {
        let counts = check_distributed(seed).unwrap_or_else(|failure| panic!("{failure}"));
        divided += counts.get("MPITransform").map_or(0, |outcomes| outcomes.applied);
    }
    assert!(divided >= 10, "only {divided} maps were divided");
}

#[test]
fn random_chains_keep_results_and_replay_from_their_files() {
    for seed in 6_000_000..6_000_012 {
        check_chain(seed, 8, runs(seed)).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// The example programs, whose inputs are searched for.
#[test]
fn random_chains_keep_the_results_of_the_example_programs() {
    let list = Subjects::Programs;
    for number in 0..list.count() {
        let case = match list.case(number, number as u64) {
            Err(missing @ NoCase::Missing(_)) => {
                println!("{missing}");
                continue;
            }
            case => case.unwrap_or_else(|what| panic!("{what}")),
        };
        case.chain(4, &mut Rng::new(number as u64), Runs::Interpreted)
            .unwrap_or_else(|what| panic!("{}: {what}", list.program(number).0));
    }
}

#[test]
fn optimization_keeps_results() {
    for seed in 7_100_000..7_100_040 {
        check_optimize(seed, runs(seed)).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// The chains of the example programs are replayed.
#[test]
fn optimization_keeps_the_results_of_the_example_programs() {
    let list = Subjects::Programs;
    for number in 0..list.count() {
        let Ok(case) = list.case(number, number as u64) else { continue };
        case.optimized(BTreeMap::new(), Runs::Interpreted)
            .unwrap_or_else(|what| panic!("{}: {what}", list.program(number).0));
    }
}

#[test]
fn simplification_keeps_results() {
    for seed in 7_000_000..7_000_040 {
        check_simplify(seed, runs(seed)).unwrap_or_else(|failure| panic!("{failure}"));
    }
}
