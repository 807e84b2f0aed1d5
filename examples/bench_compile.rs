//! Time from the builder to callable code: `cargo xtask bench compile`.
//!
//! For every example program that compiles natively, the benchmark prints medians over interleaved rounds at
//! the default level and at the quick level, divided into phases. Reductions are expanded on the way. Chains
//! of states follow; except for LLVM, each should take time proportional to its length.
#![expect(clippy::print_stdout, reason = "this is a command")]

use std::time::Instant;

use sdfg::builder::SdfgBuilder;
use sdfg::dtype::ScalarType::F64;
use sdfg::interpret::{Arguments, Interpreter, Options};
use sdfg::validate::validate;
use sdfg_codegen::llvm::{self, CompileOptions, OptLevel};
use sdfg_codegen::lower::lower;
use sdfg_programs::programs::{ALL, Build};
use sdfg_programs::trusted;

type Error = Box<dyn std::error::Error>;

const ROUNDS: usize = 21;
const PARTS: [&str; 4] = ["build+check", "expand+lower", "LLVM", "load"];

fn main() -> Result<(), Error> {
    let levels = [OptLevel::O3, OptLevel::Quick];
    println!("milliseconds from builder to loaded code, medians of {ROUNDS} interleaved rounds");
    println!(
        "{:18} {:>7} {:>9}   {}",
        "program",
        "level",
        "total",
        PARTS.map(|part| format!("{part:>12}")).join(" ")
    );
    // One round that is not counted: the first use of LLVM initialises it.
    let native: Vec<(&str, Build)> =
        ALL.into_iter().filter(|(_, build)| once(*build, OptLevel::Quick).is_ok()).collect();
    let mut times = vec![vec![Vec::new(); levels.len()]; native.len()];
    for _ in 0..ROUNDS {
        for ((_, build), of_program) in native.iter().zip(&mut times) {
            for (level, of_level) in levels.iter().zip(of_program) {
                of_level.push(once(*build, *level)?);
            }
        }
    }
    let mut worst = [0.0f64; 2];
    for ((name, _), of_program) in native.iter().zip(&times) {
        for ((level, of_level), worst) in levels.iter().zip(of_program).zip(&mut worst) {
            let total = median(of_level.iter().map(|parts| parts.iter().sum()).collect());
            let parts: Vec<String> = (0..PARTS.len())
                .map(|p| format!("{:12.2}", median(of_level.iter().map(|t| t[p]).collect())))
                .collect();
            println!("{name:18} {level:>7} {total:9.2}   {}", parts.join(" "));
            *worst = worst.max(total);
        }
    }
    println!("slowest: {:.2} ms at level 3 (goal 60), {:.2} ms at level quick (goal 25)", worst[0], worst[1]);
    println!("\nmicroseconds for each state of a chain");
    println!("{:>8} {}", "states", CHAIN_PARTS.map(|part| format!("{part:>10}")).join(" "));
    for states in [2500, 5000, 10_000, 20_000, 40_000] {
        let parts = chain(states, usize::MAX)?.map(|part| format!("{:10.2}", part * 1e3 / states as f64));
        println!("{states:8} {}", parts.join(" "));
    }
    println!("\nthe same where each tenth state is in a loop with a symbol of its own");
    for states in [2500, 5000, 10_000, 20_000] {
        let parts = chain(states, 10)?.map(|part| format!("{:10.2}", part * 1e3 / states as f64));
        println!("{states:8} {}", parts.join(" "));
    }
    Ok(())
}

const CHAIN_PARTS: [&str; 6] = ["build", "check", "print", "parse", "interpret", "lower"];

/// Milliseconds of each part for a chain of states, all of one label to begin with; each one after `apart` others is in a loop.
fn chain(states: usize, apart: usize) -> Result<[f64; 6], Error> {
    let mut parts = [0.0; 6];
    let mut start = Instant::now();
    let mut lap = |part: usize| {
        parts[part] = start.elapsed().as_secs_f64() * 1e3;
        start = Instant::now();
    };
    let mut b = SdfgBuilder::new("chain");
    b.array("A", F64, ["16"]);
    for number in 0..states {
        let element = format!("A[{}]", number % 16);
        if number % apart == apart - 1 {
            b.for_loop("repeat", &format!("i_{number}"), "0:1", |b| {
                b.state("step", |s| {
                    s.tasklet("t").output("a", element.as_str()).code("a = 1.0");
                });
            });
        } else {
            b.state("step", |s| {
                s.tasklet("t").output("a", element.as_str()).code("a = 1.0");
            });
        }
    }
    let sdfg = b.finish()?;
    lap(0);
    let program = validate(sdfg)?;
    lap(1);
    let text = sdfg::text::print(program.sdfg());
    lap(2);
    let again = sdfg::text::parse("chain.sdft", &text).map_err(|errors| format!("{errors:?}"))?;
    lap(3);
    if again.states().count() != states {
        return Err("the chain reads back as another one".into());
    }
    let mut arguments = Arguments::new().with("A", sdfg::tensor::Tensor::new(&[16], &[0.0; 16])?);
    Interpreter::new(&program)?.run(&mut arguments, &Options::default())?;
    lap(4);
    let options = CompileOptions::default();
    lower(&program, &options.target(), &options.lowering())?;
    lap(5);
    Ok(parts)
}

/// Milliseconds of each part of one compilation.
fn once(build: Build, level: OptLevel) -> Result<[f64; 4], Error> {
    let mut parts = [0.0; 4];
    let mut start = Instant::now();
    let mut lap = |part: &mut f64| {
        *part = start.elapsed().as_secs_f64() * 1e3;
        start = Instant::now();
    };
    let (program, _) = build()?;
    lap(&mut parts[0]);
    let expanded = validate(sdfg_library::expand(program.sdfg(), &sdfg_library::BuiltIn)?)?;
    let options = CompileOptions { level, ..CompileOptions::default() };
    let plan = lower(&expanded, &options.target(), &options.lowering())?;
    lap(&mut parts[1]);
    let object = llvm::compile(&plan, &options)?;
    lap(&mut parts[2]);
    let library = trusted::load(&object)?;
    lap(&mut parts[3]);
    drop(library);
    Ok(parts)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
