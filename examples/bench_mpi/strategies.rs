//! The optimal strategy beside data parallelism and random strategies: measured times beside predicted costs, and the bytes that ranks
//! received beside those that the cost model predicts.

use sdfg::interpret::Arguments;
use sdfg::ir::Sdfg;
use sdfg::symbolic::Symbol;
use sdfg_programs::distributed::{communication, compute_bound};
use sdfg_transforms::Pipeline;
use sdfg_transforms::distribute::{DivisionOptions, Searched, distribute, prepare};
use sdfg_transforms::strategy::model::{Machine, Model};
use sdfg_transforms::strategy::{Problem as _, cost, data_parallel};

use crate::Error;
use crate::cases::{Fill, filled};
use crate::distributed::{Compiled, read};
use crate::models::{MODELS, predict};
use crate::timing::{Place, median};

/// The name of this comparison on the command line. `strategies:NAME` is that of one program.
const NAME: &str = "strategies";

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

/// Whether a name on the command line is that of this comparison, or of a program of it.
pub(crate) fn is_name(name: &str) -> bool {
    let program = |program| programs(true).is_ok_and(|all| all.iter().any(|one| one.name == program));
    name == NAME || name.strip_prefix(NAME).and_then(|rest| rest.strip_prefix(':')).is_some_and(program)
}

/// The names on the command line, for a message.
pub(crate) fn names() -> String {
    let names: Vec<_> = programs(true).into_iter().flatten().map(|program| program.name).collect();
    format!("{NAME}, and `{NAME}:NAME` with one of {}", names.join(", "))
}

/// Measures the chosen programs, and prints predictions if all are.
pub(crate) fn compare(
    place: &Place<'_>,
    is_quick: bool,
    is_chosen: &dyn Fn(&str) -> bool,
) -> Result<(), Error> {
    let has_all = is_chosen(NAME);
    let mut programs = programs(is_quick)?;
    programs.retain(|program| has_all || is_chosen(&format!("{NAME}:{}", program.name)));
    if programs.is_empty() {
        return Ok(());
    }
    let bandwidth = place.machine.bandwidth(if is_quick { 1 << 12 } else { 1 << 22 });
    let operations = place.machine.operations(if is_quick { 128 } else { 1024 });
    // A test of the command does not depend on the rates of the moment.
    let machine = match is_quick {
        true => compute_bound(place.ranks as u32),
        false => place.measured(bandwidth, operations),
    };
    place.say(&format!(
        "\nstrategies on {} ranks; the costs are for {:.1} Gflop/s and {:.1} GB/s on each rank, and {:.1} GB/s and {:.1} microseconds between them",
        place.ranks,
        machine.operations_per_second / 1e9,
        machine.memory_bytes_per_second / 1e9,
        machine.link_bytes_per_second / 1e9,
        machine.latency_seconds * 1e6
    ));
    place.say(&format!(
        "{:20} {:18} {:>10} {:>10} {:>8} {:>14} {:>14}",
        "program", "strategy", "predicted", "measured", "ratio", "bytes, model", "bytes, counted"
    ));
    programs.iter().try_for_each(|program| measure(place, program, &machine))?;
    if has_all { predict(place, &machine, is_quick) } else { Ok(()) }
}

/// A strategy of a program.
struct Candidate {
    name: String,
    /// Milliseconds by the model.
    predicted: f64,
    /// Bytes that the rank receives that receives most, by the model.
    bytes: u64,
    /// The number of its program: strategies that give the same program share it.
    program: usize,
}

/// A distributed program that runs.
struct Timed {
    compiled: Compiled,
    times: Vec<f64>,
    counted: f64,
}

fn measure(place: &Place<'_>, program: &Program, machine: &Machine) -> Result<(), Error> {
    let mut pipeline = read(&program.text)?;
    prepare(&mut pipeline);
    let prepared_program = pipeline.program().clone();
    let sizes = program.symbols.iter().map(|(name, value)| (Symbol::of(name), *value)).collect();
    let searched = Searched::of(&prepared_program, &sizes, machine)?;
    let model = &searched.model;
    // The optimum of the search, or what costs less once it is carried out: `sdfg distribute` takes it.
    let seconds = |program: &Sdfg| communication(program, &sizes, machine);
    let optimal = searched.carry_out(&mut pipeline, DivisionOptions::default(), &seconds)?.strategy;
    let mut chosen = vec![("optimal".to_owned(), optimal, pipeline.program().clone())];
    let seeds = if program.has_random { 0..RANDOM } else { 0..0 };
    let others = data_parallel(model).map(|strategy| ("data-parallel".to_owned(), strategy)).into_iter();
    for (name, strategy) in others.chain(seeds.map(|seed| (format!("random {seed}"), random(model, seed)))) {
        let mut pipeline = Pipeline::on(prepared_program.clone());
        let _ = distribute(&mut pipeline, &searched.file_of(&strategy), DivisionOptions::default())?;
        chosen.push((name, strategy, pipeline.program().clone()));
    }
    let whole = arguments(&prepared_program, &program.symbols)?;
    let (mut candidates, mut texts, mut timed) = (Vec::new(), Vec::new(), Vec::new());
    for (name, strategy, distributed) in chosen {
        let text = sdfg::text::print(&distributed);
        let known = texts.iter().position(|known| *known == text);
        if known.is_none() {
            texts.push(text);
            let compiled = Compiled::of(&distributed, place, &whole)?;
            timed.push(Timed { compiled, times: Vec::new(), counted: 0.0 });
        }
        candidates.push(Candidate {
            name,
            predicted: cost(model, &strategy) * 1e3,
            bytes: model.predicted(&strategy).received.into_iter().max().unwrap_or(0),
            program: known.unwrap_or(timed.len() - 1),
        });
    }
    for round in 0..=place.rounds {
        for one in &mut timed {
            let before = place.hooks.counters();
            let time = place.time(|| one.compiled.run(place))?;
            let after = place.hooks.counters();
            // The first run allocates, and it is the one whose bytes are counted.
            if round == 0 {
                // What a combination sends to other ranks is what these receive.
                let own = (after.received - before.received) + (after.combined - before.combined);
                one.counted = place.machine.largest(own as f64);
            } else {
                one.times.push(time);
            }
        }
    }
    let timed: Vec<_> = timed.into_iter().map(|one| (median(one.times), one.counted)).collect();
    rows(&candidates, &timed).iter().for_each(|row| place.say(&format!("{:20} {row}", program.name)));
    Ok(())
}

/// The rows of all candidates but the random ones that are not the worst. Programs have a time and bytes that were counted.
fn rows(candidates: &[Candidate], timed: &[(f64, f64)]) -> Vec<String> {
    let is_random = |candidate: &&Candidate| candidate.name.starts_with("random");
    let time = |candidate: &Candidate| timed[candidate.program].0;
    let worst = candidates.iter().filter(is_random).max_by(|one, other| time(one).total_cmp(&time(other)));
    let named = candidates.iter().filter(|candidate| !is_random(candidate));
    let optimal = candidates.first().map_or(f64::NAN, time);
    let row = |candidate: &Candidate| {
        let (time, counted) = timed[candidate.program];
        let measured = match candidates.iter().find(|other| other.program == candidate.program) {
            Some(first) if first.name != candidate.name => format!("the same as {}", first.name),
            Some(_) | None => format!("{time:>10.2} {:>8.2}", time / optimal),
        };
        let Candidate { name, predicted, bytes, .. } = candidate;
        format!("{name:18} {predicted:>10.2} {measured:>19} {bytes:>14} {counted:>14}")
    };
    named.chain(worst).map(row).collect()
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
fn arguments(program: &Sdfg, symbols: &[(&str, i64)]) -> Result<Arguments, Error> {
    let mut arguments = Arguments::new();
    for (name, value) in symbols {
        arguments.set_symbol(*name, *value);
    }
    let value =
        |name: &Symbol| symbols.iter().find(|(known, _)| *known == name.as_str()).map(|(_, value)| *value);
    for (seed, (_, container)) in (0..).zip(program.containers().filter(|(_, one)| one.is_argument())) {
        let shape = container.shape().iter().map(|extent| extent.eval(&value)).collect::<Result<_, _>>()?;
        arguments.set(&container.name, filled(Fill::Random, seed, shape)?);
    }
    Ok(arguments)
}
