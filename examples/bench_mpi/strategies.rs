//! The optimal strategy beside data parallelism and random strategies: measured times beside predicted costs, and the bytes that ranks
//! received beside those that the cost model predicts.

use sdfg::dtype::{ElementType, ScalarType};
use sdfg::interpret::Arguments;
use sdfg::ir::Sdfg;
use sdfg::symbolic::Symbol;
use sdfg::tensor::Tensor;
use sdfg::value::Complex;
use sdfg_programs::distributed::{communication, compute_bound};
use sdfg_transforms::Pipeline;
use sdfg_transforms::distribute::{DivisionOptions, Searched, distribute, prepare};
use sdfg_transforms::strategy::model::{Machine, Model};
use sdfg_transforms::strategy::{Problem as _, cost, data_parallel};

use crate::Error;
use crate::cases::{Fill, filled, number};
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

/// The sizes of a program: those that are measured, and those for a test of the command.
type Sizes = (&'static [(&'static str, i64)], &'static [(&'static str, i64)]);

/// Programs with their texts and sizes. Random strategies of the first ones are compared, too; those of more maps move each array before most of
/// them.
const PROGRAMS: [(&str, &str, Sizes, bool); 13] = {
    macro_rules! text {
        ($path:literal) => {
            include_str!(concat!("../../", $path, ".sdft"))
        };
    }
    const GEMM: &str = text!("programs/polybench/gemm");
    [
        ("jacobi2d", text!("programs/jacobi2d"), (&[("N", 2048), ("T", 10)], &[("N", 64), ("T", 10)]), true),
        (
            "heat_3d",
            text!("programs/polybench/heat_3d"),
            (&[("N", 160), ("TSTEPS", 10)], &[("N", 12), ("TSTEPS", 2)]),
            true,
        ),
        (
            "conjugate_gradient",
            text!("benches/mpi/conjugate_gradient"),
            (&[("N", 2048), ("T", 10)], &[("N", 64), ("T", 10)]),
            true,
        ),
        (
            "gemm",
            GEMM,
            (&[("NI", 1024), ("NJ", 1024), ("NK", 1024)], &[("NI", 32), ("NJ", 32), ("NK", 32)]),
            true,
        ),
        (
            "gemm_skinny",
            GEMM,
            (&[("NI", 128), ("NJ", 128), ("NK", 65_536)], &[("NI", 2), ("NJ", 2), ("NK", 64)]),
            true,
        ),
        (
            "k2mm",
            text!("programs/polybench/k2mm"),
            (
                &[("NI", 1024), ("NJ", 1024), ("NK", 1024), ("NL", 1024)],
                &[("NI", 64), ("NJ", 64), ("NK", 64), ("NL", 64)],
            ),
            true,
        ),
        (
            "atax",
            text!("programs/polybench/atax"),
            (&[("M", 4096), ("N", 4096)], &[("M", 64), ("N", 64)]),
            true,
        ),
        (
            "attention",
            text!("programs/attention"),
            (&[("N", 2048), ("M", 2048), ("D", 64)], &[("N", 8), ("M", 6), ("D", 4)]),
            false,
        ),
        (
            "conv2d",
            text!("programs/conv2d"),
            (
                &[("B", 8), ("C", 32), ("K", 32), ("H", 56), ("W", 56), ("R", 3)],
                &[("B", 2), ("C", 2), ("K", 2), ("H", 6), ("W", 6), ("R", 3)],
            ),
            true,
        ),
        (
            "spmv",
            text!("programs/spmv"),
            (&[("H", 200_000), ("W", 200_000), ("nnz", 3_200_000)], &[("H", 16), ("W", 16), ("nnz", 64)]),
            true,
        ),
        (
            "kmeans",
            text!("programs/kmeans"),
            (&[("N", 200_000), ("K", 16), ("D", 8), ("T", 3)], &[("N", 16), ("K", 3), ("D", 2), ("T", 2)]),
            false,
        ),
        (
            "histogram",
            text!("programs/histogram"),
            (&[("H", 4096), ("W", 4096)], &[("H", 16), ("W", 16)]),
            true,
        ),
        ("fft", text!("programs/fft"), (&[("A", 256), ("B", 256)], &[("A", 4), ("B", 6)]), false),
    ]
};

fn programs(is_quick: bool) -> Result<Vec<Program>, Error> {
    let mut programs = Vec::new();
    for (name, text, (usual, quick), has_random) in PROGRAMS {
        let symbols = if is_quick { quick } else { usual }.to_vec();
        programs.push(Program { name, text: text.to_owned(), symbols, has_random });
    }
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
    let value = |name: &str| symbols.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    for (seed, (_, container)) in (0..).zip(program.containers().filter(|(_, one)| one.is_argument())) {
        let extents = container.shape().iter();
        let shape = extents.map(|extent| extent.eval(&|symbol: &Symbol| value(symbol.as_str())));
        let shape = shape.collect::<Result<Vec<_>, _>>()?;
        let (name, ty) = (container.name.as_str(), container.element.lane());
        arguments.set(name, contents((name, ty), seed, &shape, &value)?);
    }
    Ok(arguments)
}

/// Random contents of an array. Integers are zero, but for those of compressed rows, which are all as long.
fn contents(
    (name, ty): (&str, ScalarType),
    seed: u64,
    shape: &[i64],
    symbol: &dyn Fn(&str) -> Option<i64>,
) -> Result<Tensor, Error> {
    let size = |name: &str| symbol(name).ok_or("a size is missing");
    let places = || 0..shape.iter().product::<i64>();
    let random = |at: i64| number(seed << 40 | at as u64);
    Ok(match (name, ty) {
        ("A_row", ScalarType::U32) => {
            let of_row = size("nnz")? / size("H")?;
            Tensor::new(shape, &places().map(|at| (at * of_row) as u32).collect::<Vec<_>>())?
        }
        ("A_col", ScalarType::U32) => {
            let columns = size("W")? as f64;
            Tensor::new(shape, &places().map(|at| (random(at) * columns) as u32).collect::<Vec<_>>())?
        }
        (_, ScalarType::U8) => {
            Tensor::new(shape, &places().map(|at| (random(at) * 256.0) as u8).collect::<Vec<_>>())?
        }
        (_, ScalarType::Complex128) => {
            let complex = |at| Complex::new(random(2 * at), random(2 * at + 1));
            Tensor::new(shape, &places().map(complex).collect::<Vec<_>>())?
        }
        (_, ScalarType::F64) => filled(Fill::Random, seed, shape.to_vec())?,
        (_, ty) => Tensor::zeros(ElementType::scalar(ty), shape.to_vec())?,
    })
}
