//! Time from the file of a DaCe graph to callable code: one half of `cargo xtask bench dace`.
//!
//! For each file, the benchmark prints one line of JSON with medians in milliseconds over rounds. It times reading
//! and validating alone, once after compilers used the caches, and several times in a row. It also times everything
//! up to code loaded in this process, at the default level and at the quick level, and everything up to a shared
//! library. `benches/dace/bench.py` runs it beside DaCe.
#![expect(clippy::print_stdout, reason = "this is a command")]

use std::path::Path;
use std::time::Instant;

use sdfg::validate::{Validated, validate};
use sdfg_codegen::link::shared_library;
use sdfg_codegen::llvm::{self, CompileOptions, OptLevel};
use sdfg_codegen::lower::lower;
use sdfg_codegen::object::ObjectCode;
use sdfg_programs::trusted;

/// Number of successive readings of a file, here and by DaCe.
const READS: usize = 5;

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let rounds: usize = arguments.next().ok_or("usage: bench_dace ROUNDS FILE...")?.parse()?;
    let folder = tempfile::tempdir()?;
    let library = folder.path().join("libprogram.so");
    for file in arguments {
        let file = Path::new(&file);
        // One round that is not counted: the first use of LLVM initialises it.
        measure(file, &library)?;
        let all: Vec<[f64; 5]> =
            (0..rounds).map(|_| measure(file, &library)).collect::<Result<_, Error>>()?;
        let [once, read, default, quick, shared] =
            [0, 1, 2, 3, 4].map(|part| median(all.iter().map(|round| round[part]).collect()));
        let line = serde_json::json!({
            "once": once, "read": read, "default": default, "quick": quick, "library": shared
        });
        println!("{line}");
    }
    Ok(())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Milliseconds of one round of each measurement.
fn measure(file: &Path, library: &Path) -> Result<[f64; 5], Error> {
    let loaded = |level| -> Result<(), Error> {
        drop(trusted::load(&object(&program(file)?, level)?)?);
        Ok(())
    };
    let read = || timed(|| program(file).map(drop));
    Ok([
        read()?,
        median((0..READS).map(|_| read()).collect::<Result<_, _>>()?),
        timed(|| loaded(OptLevel::O3))?,
        timed(|| loaded(OptLevel::Quick))?,
        timed(|| Ok(shared_library(&object(&program(file)?, OptLevel::O3)?, library)?))?,
    ])
}

fn timed(work: impl FnOnce() -> Result<(), Error>) -> Result<f64, Error> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

fn program(file: &Path) -> Result<Validated, Error> {
    let import = sdfg_dace::read(&std::fs::read(file)?, &sdfg_dace::Options::default())?;
    Ok(validate(import.sdfg)?)
}

fn object(program: &Validated, level: OptLevel) -> Result<ObjectCode, Error> {
    let expanded = validate(sdfg_library::expand(program.sdfg(), &sdfg_library::BuiltIn)?)?;
    let options = CompileOptions { level, ..CompileOptions::default() };
    let plan = lower(&expanded, &options.target(), &options.lowering())?;
    Ok(llvm::compile(&plan, &options)?)
}
