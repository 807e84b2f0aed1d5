//! Time of the paper's matrix product after each step of its chain (section 6.2, Fig. 15): `cargo xtask bench chain`.
//!
//! Matrices have 512 rows and columns, and one thread runs. The first program writes a tensor of 1 GiB.
#![expect(clippy::print_stdout, reason = "this is a command")]

use std::num::NonZeroU32;
use std::time::Instant;

use sdfg_codegen::llvm::CompileOptions;
use sdfg_codegen::load::Library;
use sdfg_programs::chains::{Recorded, matrix_products};
use sdfg_programs::trusted;
use sdfg_transforms::Registry;

type Error = Box<dyn std::error::Error>;

/// Rows and columns.
const SIZE: usize = 512;
/// Runs of each program, after one that warms up.
const RUNS: usize = 5;

fn main() -> Result<(), Error> {
    println!("matrix product of {SIZE} by {SIZE} matrices, 1 thread, medians of {RUNS} runs");
    for recorded in matrix_products()? {
        println!("{}", recorded.name);
        measure_chain(&recorded)?;
    }
    Ok(())
}

fn measure_chain(recorded: &Recorded) -> Result<(), Error> {
    let mut first = None;
    for count in 0..=recorded.chain.len() {
        let steps = recorded.chain.cut(count);
        let pipeline = steps.replay(recorded.program.clone(), &Registry::standard())?;
        let program = pipeline.finish()?;
        let expanded = sdfg_library::expand(program.sdfg(), &sdfg_library::BuiltIn)?;
        let object = sdfg_codegen::compile(&sdfg::validate::validate(expanded)?, &CompileOptions::default())?;
        let seconds = measure(&Library::load(&object)?, recorded.program.symbols().count() > 0)?;
        let start = *first.get_or_insert(seconds);
        let rate = 2.0 * (SIZE as f64).powi(3) / seconds * 1e-9;
        let step = steps.lines().pop().unwrap_or_else(|| "start".to_owned());
        println!("{count:3} {:9.2} ms {rate:7.2} Gflop/s {:8.1} x  {step}", seconds * 1e3, start / seconds);
    }
    Ok(())
}

/// Median of the seconds of a run.
fn measure(library: &Library, has_sizes: bool) -> Result<f64, Error> {
    let a: Vec<f64> = (0..SIZE * SIZE).map(|at| (at % 7) as f64 - 3.0).collect();
    let b: Vec<f64> = (0..SIZE * SIZE).map(|at| (at % 5) as f64 - 2.0).collect();
    let mut c = vec![0.0; SIZE * SIZE];
    let shape = [SIZE; 2];
    let mut call = library.call().threads(NonZeroU32::MIN);
    if has_sizes {
        for symbol in ["M", "N", "K"] {
            call = call.symbol(symbol, SIZE as i64);
        }
    }
    call = call.array("A", &a, &shape).array("B", &b, &shape).array_mut("C", &mut c, &shape);
    let mut call = call.prepare()?;
    trusted::run_prepared(&mut call)?;
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let start = Instant::now();
        trusted::run_prepared(&mut call)?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[RUNS / 2])
}
