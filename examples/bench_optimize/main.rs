//! Time of PolyBench's kernels before and after the optimiser: `cargo xtask bench optimize [KERNEL..]`.
//!
//! Sizes are those of the data set MINI, times 20 (times 8 for arrays of three dimensions), and 20 time steps. Runs of both programs
//! take turns, each on new copies of the same arguments. Programs that the optimiser leaves alone are not measured.
#![expect(clippy::print_stdout, reason = "this is a command")]

use std::num::NonZeroU32;
use std::time::Instant;

use sdfg::interpret::Arguments;
use sdfg::ir::Sdfg;
use sdfg::symbolic::Symbol;
use sdfg::validate::validate;
use sdfg_codegen::llvm::CompileOptions;
use sdfg_codegen::load::Library;
use sdfg_programs::programs::polybench::{KERNELS, Kernel, arguments};
use sdfg_programs::trusted;
use sdfg_transforms::Pipeline;
use sdfg_transforms::auto::{Target, optimize};

type Error = Box<dyn std::error::Error>;

/// Runs of each program, after one that warms up.
const RUNS: usize = 5;
/// Numbers of threads.
const THREADS: [u32; 2] = [1, 2];

fn main() -> Result<(), Error> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = wanted.iter().find(|name| KERNELS.iter().all(|kernel| kernel.name != **name)) {
        return Err(format!("PolyBench has no kernel `{unknown}`").into());
    }
    println!("medians of {RUNS} runs with 1 and 2 threads, and how much faster the optimised program is");
    let mut logarithms = [0.0; 2];
    let mut measured = 0;
    for kernel in
        KERNELS.iter().filter(|kernel| wanted.is_empty() || wanted.iter().any(|name| name == kernel.name))
    {
        if let Some(ratios) = measure(kernel)? {
            measured += 1;
            for (sum, ratio) in logarithms.iter_mut().zip(ratios) {
                *sum += ratio.ln();
            }
        }
    }
    if measured > 0 {
        let means = logarithms.map(|sum| (sum / f64::from(measured)).exp());
        println!("geometric mean of {measured} kernels: {:.2} and {:.2}", means[0], means[1]);
    }
    Ok(())
}

/// Values of the symbols of a kernel.
fn sizes(kernel: &Kernel) -> Vec<(&'static str, i64)> {
    let factor = if ["heat_3d", "doitgen"].contains(&kernel.name) { 8 } else { 20 };
    let is_step = |name: &str| name.starts_with('T');
    kernel.mini.iter().map(|(name, value)| (*name, if is_step(name) { 20 } else { value * factor })).collect()
}

/// Prints a line. Gives the time before divided by that after, for each number of threads.
fn measure(kernel: &Kernel) -> Result<Option<[f64; 2]>, Error> {
    let sizes = sizes(kernel);
    let (program, _) = (kernel.build)()?;
    let mut pipeline = Pipeline::on(program.sdfg().clone());
    let values = sizes.iter().map(|(name, value)| (Symbol::of(name), *value)).collect();
    let target = Target { sizes: values, ..Target::default() };
    let decisions = optimize(&mut pipeline, &sdfg_library::transformations(), &target);
    let kept: Vec<&str> = decisions
        .iter()
        .filter(|decision| decision.is_kept)
        .map(|decision| decision.transformation.as_str())
        .collect();
    if kept.is_empty() {
        println!("{:15} left alone", kernel.name);
        return Ok(None);
    }
    let libraries = [compiled(program.sdfg())?, compiled(pipeline.program())?];
    let given = arguments(kernel, &program, &sizes)?;
    let mut ratios = [0.0; 2];
    let mut columns = String::new();
    for (ratio, threads) in ratios.iter_mut().zip(THREADS) {
        let mut times = [Vec::new(), Vec::new()];
        for run in 0..=RUNS {
            for (library, times) in libraries.iter().zip(&mut times) {
                let seconds = run_once(library, given.clone(), threads)?;
                if run > 0 {
                    times.push(seconds);
                }
            }
        }
        let [before, after] = times.map(median);
        *ratio = before / after;
        columns.push_str(&format!("{:9.2} {:9.2} ms {ratio:6.2} x", before * 1e3, after * 1e3));
    }
    println!("{:15}{columns}  {}", kernel.name, kept.join(", "));
    Ok(Some(ratios))
}

fn compiled(program: &Sdfg) -> Result<Library, Error> {
    let expanded = sdfg_library::expand(program, &sdfg_library::BuiltIn)?;
    let object = sdfg_codegen::compile(&validate(expanded)?, &CompileOptions::default())?;
    Ok(Library::load(&object)?)
}

fn run_once(library: &Library, mut arguments: Arguments, threads: u32) -> Result<f64, Error> {
    let start = Instant::now();
    trusted::run(library, &mut arguments, NonZeroU32::new(threads))?;
    Ok(start.elapsed().as_secs_f64())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
