//! The optimal strategy beside data parallelism and random strategies: measured times beside predicted costs, and the bytes that ranks
//! received beside those that the cost model predicts.

use sdfg::interpret::Arguments;
use sdfg::symbolic::Symbol;
use sdfg_programs::distributed::communication;
use sdfg_transforms::Pipeline;
use sdfg_transforms::distribute::{DivisionOptions, Searched, distribute, prepare};
use sdfg_transforms::strategy::model::{Machine, Model};
use sdfg_transforms::strategy::{Problem as _, cost, data_parallel};

use crate::Error;
use crate::cases::{Fill, filled};
use crate::distributed::{Compiled, read};
use crate::models::{MODELS, predict};
use crate::timing::{Place, median};

/// The name of this comparison on the command line.
pub(crate) const NAME: &str = "strategies";

/// Number of random strategies, of which the worst counts.
const RANDOM: u64 = 3;

/// A program with its sizes.
struct Program {
    name: &'static str,
    text: String,
    symbols: Vec<(&'static str, i64)>,
    /// Whether random strategies are compared, too.
    has_random: bool,
}

fn programs(is_quick: bool) -> Result<Vec<Program>, Error> {
    let size = |usual: i64| if is_quick { 64 } else { usual };
    let program =
        |name, text: &str, symbols| Program { name, text: text.to_owned(), symbols, has_random: true };
    let mut programs = vec![
        program("jacobi2d", include_str!("../../programs/jacobi2d.sdft"), vec![("N", size(2048)), ("T", 10)]),
        program(
            "conjugate_gradient",
            include_str!("../../benches/mpi/conjugate_gradient.sdft"),
            vec![("N", size(2048)), ("T", 10)],
        ),
        program(
            "k2mm",
            include_str!("../../programs/polybench/k2mm.sdft"),
            ["NI", "NJ", "NK", "NL"].map(|name| (name, size(1024))).to_vec(),
        ),
        program(
            "atax",
            include_str!("../../programs/polybench/atax.sdft"),
            vec![("M", size(4096)), ("N", size(4096))],
        ),
    ];
    for model in &MODELS {
        programs.push(Program {
            name: model.name,
            text: model.text()?,
            symbols: model.measured(is_quick).to_vec(),
            // Most of them move each array before each operation.
            has_random: false,
        });
    }
    Ok(programs)
}

/// Measures all programs.
pub(crate) fn compare(place: &Place<'_>, is_quick: bool) -> Result<(), Error> {
    let bandwidth = place.machine.bandwidth(if is_quick { 1 << 12 } else { 1 << 22 });
    let operations = place.machine.operations(if is_quick { 128 } else { 1024 });
    let machine = place.measured(bandwidth, operations);
    place.say(&format!(
        "\nstrategies on {} ranks; the costs are for {:.1} Gflop/s and {:.1} GB/s on each rank, and {:.1} GB/s and {:.1} microseconds between them",
        place.ranks,
        operations / 1e9,
        bandwidth / 1e9,
        machine.link_bytes_per_second / 1e9,
        machine.latency_seconds * 1e6
    ));
    place.say(&format!(
        "{:20} {:18} {:>10} {:>10} {:>8} {:>14} {:>14}",
        "program", "strategy", "predicted", "measured", "ratio", "bytes, model", "bytes, counted"
    ));
    programs(is_quick)?.iter().try_for_each(|program| measure(place, program, &machine))?;
    predict(place, &machine, is_quick)
}

/// A strategy of a program that runs.
struct Candidate {
    name: String,
    /// Milliseconds by the model.
    predicted: f64,
    /// Bytes that the rank receives that receives most, by the model.
    bytes: u64,
    compiled: Compiled,
    times: Vec<f64>,
    counted: f64,
}

fn measure(place: &Place<'_>, program: &Program, machine: &Machine) -> Result<(), Error> {
    let mut pipeline = read(&program.text)?;
    prepare(&mut pipeline);
    let sizes = program.symbols.iter().map(|(name, value)| (Symbol::of(name), *value)).collect();
    let searched = Searched::of(pipeline.program(), &sizes, machine)?;
    let model = &searched.model;
    // The optimum of the search, or what costs less once it is carried out: `sdfg distribute` takes it.
    let seconds = |program: &sdfg::ir::Sdfg| communication(program, &sizes, machine);
    let mut tried = Pipeline::on(pipeline.program().clone());
    let optimal = searched.carry_out(&mut tried, DivisionOptions::default(), &seconds)?.strategy;
    let mut chosen = vec![("optimal".to_owned(), optimal)];
    chosen.extend(data_parallel(model).map(|strategy| ("data-parallel".to_owned(), strategy)));
    let seeds = if program.has_random { 0..RANDOM } else { 0..0 };
    chosen.extend(seeds.map(|seed| (format!("random {seed}"), random(model, seed))));
    let whole = arguments(pipeline.program(), &program.symbols)?;
    let mut candidates = Vec::new();
    let prepared_program = pipeline.program().clone();
    for (name, strategy) in chosen {
        pipeline = Pipeline::on(prepared_program.clone());
        let _ = distribute(&mut pipeline, &searched.file_of(&strategy), DivisionOptions::default())?;
        candidates.push(Candidate {
            name,
            predicted: cost(model, &strategy) * 1e3,
            bytes: model.predicted(&strategy).received.into_iter().max().unwrap_or(0),
            compiled: Compiled::of(pipeline.program(), place, &whole)?,
            times: Vec::new(),
            counted: 0.0,
        });
    }
    for round in 0..=place.rounds {
        for candidate in &mut candidates {
            let before = place.hooks.counters();
            let time = place.time(|| candidate.compiled.run(place))?;
            let after = place.hooks.counters();
            // The first run allocates, and it is the one whose bytes are counted.
            if round == 0 {
                // What a combination sends to other ranks is what these receive.
                let own = (after.received - before.received) + (after.combined - before.combined);
                candidate.counted = place.machine.largest(own as f64);
            } else {
                candidate.times.push(time);
            }
        }
    }
    print(place, program.name, candidates);
    Ok(())
}

/// Prints all candidates but the random ones that are not the worst.
fn print(place: &Place<'_>, program: &str, candidates: Vec<Candidate>) {
    let mut rows: Vec<(Candidate, f64)> = Vec::new();
    for mut candidate in candidates {
        let time = median(std::mem::take(&mut candidate.times));
        let is_random = |name: &str| name.starts_with("random");
        if is_random(&candidate.name)
            && let Some((last, worst)) = rows.last_mut().filter(|(last, _)| is_random(&last.name))
        {
            if time > *worst {
                (*last, *worst) = (candidate, time);
            }
            continue;
        }
        rows.push((candidate, time));
    }
    let optimal = rows.first().map_or(f64::NAN, |(_, time)| *time);
    for (candidate, time) in rows {
        place.say(&format!(
            "{program:20} {:18} {:>10.2} {time:>10.2} {:>8.2} {:>14} {:>14}",
            candidate.name,
            candidate.predicted,
            time / optimal,
            candidate.bytes,
            candidate.counted
        ));
    }
}

/// A configuration for each operation that looks random.
fn random(model: &Model, seed: u64) -> Vec<usize> {
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut below = |end: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % end as u64) as usize
    };
    (0..model.n_vertices()).map(|vertex| below(model.n_configurations(vertex))).collect()
}

/// Random arguments for a program.
fn arguments(program: &sdfg::ir::Sdfg, symbols: &[(&str, i64)]) -> Result<Arguments, Error> {
    let mut arguments = Arguments::new();
    for (name, value) in symbols {
        arguments.set_symbol(*name, *value);
    }
    let value = |name: &sdfg::symbolic::Symbol| {
        symbols.iter().find(|(known, _)| *known == name.as_str()).map(|(_, value)| *value)
    };
    for (seed, (_, container)) in (0..).zip(program.containers().filter(|(_, one)| one.is_argument())) {
        let shape = container.shape().iter().map(|extent| extent.eval(&value)).collect::<Result<_, _>>()?;
        arguments.set(&container.name, filled(Fill::Random, seed, shape)?);
    }
    Ok(arguments)
}
