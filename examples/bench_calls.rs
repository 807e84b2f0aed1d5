//! Cost of a prepared call: `cargo xtask bench calls`.
//!
//! The programs add up several arrays of eight elements, too little work to start threads, and are called
//! repeatedly on the same memory. Nearly all of the time is call overhead: checks of sizes and overlaps, and
//! the call itself.
#![expect(clippy::print_stdout, reason = "this is a command")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use sdfg_codegen::llvm::CompileOptions;
use sdfg_codegen::load::Library;
use sdfg_programs::trusted;

type Error = Box<dyn std::error::Error>;

const CALLS: u32 = 2_000;
const ROUNDS: usize = 101;
/// Nanoseconds that a call may cost beside the kernel.
const GOAL: f64 = 1000.0;

fn main() -> Result<(), Error> {
    println!("nanoseconds for a prepared call, medians of {ROUNDS} rounds of {CALLS} calls");
    let mut slowest: f64 = 0.0;
    for arrays in [1, 4, 16] {
        let nanoseconds = measure(arrays)?;
        println!("{arrays:3} arrays of 8 elements {nanoseconds:9.1}");
        slowest = slowest.max(nanoseconds);
    }
    println!("slowest: {slowest:.1} ns (goal {GOAL:.0})");
    Ok(())
}

fn measure(arrays: usize) -> Result<f64, Error> {
    let program = sdfg::validate::validate(
        sdfg::text::parse("calls.sdft", &text(arrays)).map_err(|errors| format!("{errors:?}"))?,
    )?;
    let library = Library::load(&sdfg_codegen::compile(&program, &CompileOptions::default())?)?;
    let mut memory: Vec<Vec<f64>> = vec![vec![1.0; 8]; arrays + 1];
    let mut call = library.call().symbol("N", 8);
    for (number, array) in memory.iter_mut().enumerate() {
        call = call.array_mut(&format!("A{number}"), array, &[8]);
    }
    let mut call = call.prepare()?;
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..CALLS {
            trusted::run_prepared(black_box(&mut call))?;
        }
        times.push(start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS));
    }
    times.sort_by(f64::total_cmp);
    Ok(times[ROUNDS / 2])
}

/// The program that sets `A0` to the sum of so many other arrays.
fn text(arrays: usize) -> String {
    let (mut declared, mut accesses, mut edges, mut moves) =
        (String::new(), String::new(), String::new(), String::new());
    // Writing to a string cannot fail.
    for number in 0..=arrays {
        let _ = writeln!(declared, "  array A{number}: f64[N]");
        let _ = writeln!(accesses, "    access A{number}");
    }
    for number in 1..=arrays {
        let _ = writeln!(edges, "      all.A{number} -> add.a{number}: A{number}[i]");
        let _ = writeln!(moves, "    A{number} -> all.A{number}");
    }
    let names: Vec<String> = (1..=arrays).map(|number| format!("a{number}")).collect();
    let (inputs, sum) = (names.join(", "), names.join(" + "));
    format!(
        "sdfg calls {{\n  symbol N: i64\n{declared}  state s {{\n{accesses}    map all [i = 0:N] {{\n      \
         tasklet add ({inputs}) -> (o) {{ o = {sum} }}\n{edges}      add.o -> all.A0: A0[i]\n    }}\n{moves}    \
         all.A0 -> A0\n  }}\n}}\n"
    )
}
