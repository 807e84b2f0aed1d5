//! Times of PolyBench's kernels before and after the optimiser, and of the C code: `cargo xtask bench optimize`.
//!
//! ```text
//! bench optimize [--large] [--only-after] [--polybench FOLDER [--pluto POLYCC]] [--rounds N] [KERNEL..]
//! ```
//!
//! Sizes are those of the data set MINI, times 20 (times 8 for arrays of three dimensions), and 20 time steps; with `--large`, they
//! are those of the data set LARGE. `--polybench` names the sources of PolyBench/C 4.2, which gcc, clang and clang with Polly
//! compile for the same sizes. `--pluto` names the command of Pluto, whose result both gcc and clang compile. Runs take turns, each on new copies of the same arguments. Floating-point operations may be
//! reordered on all sides. `--only-after` leaves out programs before the optimiser.
#![expect(clippy::print_stdout, reason = "this is a command")]

mod peers;

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Instant;

use sdfg::interpret::Arguments;
use sdfg::ir::{FloatMode, Sdfg};
use sdfg::symbolic::Symbol;
use sdfg::validate::validate;
use sdfg_codegen::llvm::CompileOptions;
use sdfg_codegen::load::Library;
use sdfg_programs::programs::polybench::{KERNELS, Kernel, arguments};
use sdfg_programs::trusted;
use sdfg_transforms::Pipeline;
use sdfg_transforms::auto::{Target, optimize};

use peers::{Peer, Sources};

type Error = Box<dyn std::error::Error>;
type Sizes = Vec<(&'static str, i64)>;

/// Numbers of threads.
const THREADS: [u32; 2] = [1, 2];

/// Choices of the command line.
struct Options {
    rounds: usize,
    is_large: bool,
    is_only_after: bool,
    sources: Option<Sources>,
    kernels: Vec<&'static Kernel>,
}

/// Ratios of one kernel with one number of threads.
#[derive(Clone, Copy)]
struct Ratios {
    /// The time before the optimiser by that after it.
    optimised: Option<f64>,
    /// The time of the best of gcc and clang by ours before the optimiser.
    before: Option<f64>,
    /// The same, by ours after the optimiser.
    after: Option<f64>,
    /// The time of the best of all C programs by ours, after the optimiser.
    best: Option<f64>,
    /// The time of each C program by ours, after the optimiser.
    peers: [Option<f64>; Peer::NAMES.len()],
}

fn main() -> Result<(), Error> {
    let options = options(std::env::args().skip(1))?;
    println!(
        "seconds, medians of {} runs; C/before and C/after: the time of the best C program by ours",
        options.rounds
    );
    println!(
        "{:15} {:>7} {:>9} {:>9} {:>7} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8}",
        "kernel",
        "threads",
        "before",
        "after",
        "faster",
        Peer::NAMES[0],
        Peer::NAMES[1],
        Peer::NAMES[2],
        Peer::NAMES[3],
        "C/before",
        "C/after"
    );
    let mut all: [Vec<Ratios>; 2] = [Vec::new(), Vec::new()];
    for kernel in &options.kernels {
        for (ratios, measured) in measure(&options, kernel)?.into_iter().zip(&mut all) {
            measured.push(ratios);
        }
    }
    for (threads, ratios) in THREADS.iter().zip(&all) {
        let mean = |of: &dyn Fn(&Ratios) -> Option<f64>| {
            let logarithms: Vec<f64> = ratios.iter().filter_map(of).map(f64::ln).collect();
            if logarithms.is_empty() {
                return "-".to_owned();
            }
            format!("{:.2}", (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
        };
        println!(
            "{threads} threads, geometric means of {} kernels: optimised {}; before it, best of gcc and clang by ours {}; after it {}; \
             {}; best of all by ours after it {}, at least 0.9 for {}",
            ratios.len(),
            mean(&|ratios| ratios.optimised),
            mean(&|ratios| ratios.before),
            mean(&|ratios| ratios.after),
            std::array::from_fn::<_, { Peer::NAMES.len() }, _>(|peer| {
                format!("{} {}", Peer::NAMES[peer], mean(&|ratios| ratios.peers[peer]))
            })
            .join(", "),
            mean(&|ratios| ratios.best),
            ratios.iter().filter(|ratios| ratios.best.is_some_and(|best| best >= 0.9)).count(),
        );
    }
    Ok(())
}

fn options(mut given: impl Iterator<Item = String>) -> Result<Options, Error> {
    let mut options =
        Options { rounds: 5, is_large: false, is_only_after: false, sources: None, kernels: Vec::new() };
    let mut pluto = None;
    while let Some(word) = given.next() {
        match word.as_str() {
            "--large" => options.is_large = true,
            "--only-after" => options.is_only_after = true,
            "--polybench" => {
                let folder =
                    PathBuf::from(given.next().ok_or("`--polybench` needs the folder of PolyBench/C 4.2")?);
                if !folder.join("utilities/polybench.c").is_file() {
                    return Err(format!("`{}` has no `utilities/polybench.c`", folder.display()).into());
                }
                options.sources = Some(Sources { polybench: folder, pluto: None });
            }
            "--pluto" => {
                let command = PathBuf::from(given.next().ok_or("`--pluto` needs the command `polycc`")?);
                pluto = Some(
                    std::fs::canonicalize(&command)
                        .map_err(|error| format!("{}: {error}", command.display()))?,
                );
            }
            "--rounds" => {
                let rounds = given.next().and_then(|number| number.parse().ok()).filter(|number| *number > 0);
                options.rounds = rounds.ok_or("`--rounds` needs a positive number")?;
            }
            name => {
                let kernel = KERNELS.iter().find(|kernel| kernel.name == name);
                options.kernels.push(kernel.ok_or_else(|| format!("PolyBench has no kernel `{name}`"))?);
            }
        }
    }
    match (&mut options.sources, pluto) {
        (Some(sources), pluto) => sources.pluto = pluto,
        (None, Some(_)) => return Err("`--pluto` needs the sources, `--polybench FOLDER`".into()),
        (None, None) => {}
    }
    if options.kernels.is_empty() {
        options.kernels.extend(&KERNELS);
    }
    Ok(options)
}

/// Values of the symbols of a kernel.
fn sizes(kernel: &Kernel, is_large: bool) -> Sizes {
    if is_large {
        return kernel.large.to_vec();
    }
    let factor = if ["heat_3d", "doitgen"].contains(&kernel.name) { 8 } else { 20 };
    let is_step = |name: &str| name.starts_with('T');
    kernel.mini.iter().map(|(name, value)| (*name, if is_step(name) { 20 } else { value * factor })).collect()
}

/// Prints a line for each number of threads. Programs that the optimiser leaves alone are measured once.
fn measure(options: &Options, kernel: &'static Kernel) -> Result<Vec<Ratios>, Error> {
    let sizes = sizes(kernel, options.is_large);
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
    let mut libraries = Vec::new();
    if !options.is_only_after {
        libraries.push(compiled(program.sdfg())?);
    }
    if options.is_only_after || !kept.is_empty() {
        libraries.push(compiled(pipeline.program())?);
    }
    let folder = tempfile::tempdir()?;
    let given = arguments(kernel, &program, &sizes)?;
    let mut lines = Vec::new();
    for threads in THREADS {
        let peers = match &options.sources {
            Some(sources) => Peer::all(sources, folder.path(), kernel.name, &sizes, threads)?,
            None => Default::default(),
        };
        let mut times = vec![Vec::new(); libraries.len() + peers.iter().map(Vec::len).sum::<usize>()];
        for _ in 0..options.rounds {
            let (ours, theirs) = times.split_at_mut(libraries.len());
            for (library, times) in libraries.iter().zip(ours) {
                times.push(run_once(library, &given, threads)?);
            }
            for (peer, times) in peers.iter().flatten().zip(theirs) {
                times.push(peer.run()?);
            }
        }
        let mut medians = times.into_iter().map(median);
        let ours: Vec<f64> = medians.by_ref().take(libraries.len()).collect();
        let theirs = peers.map(|programs| medians.by_ref().take(programs.len()).reduce(f64::min));
        lines.push(line(kernel.name, threads, (&ours, options.is_only_after), &theirs));
    }
    println!("{:15} {}", "", if kept.is_empty() { "left alone".to_owned() } else { kept.join(", ") });
    Ok(lines)
}

/// Prints medians. Ours are before and after the optimiser, one for both where it leaves the program alone, or after it only.
fn line(
    name: &str,
    threads: u32,
    (ours, is_only_after): (&[f64], bool),
    theirs: &[Option<f64>; Peer::NAMES.len()],
) -> Ratios {
    let (after, before) = (ours[ours.len() - 1], ours.first().copied().filter(|_| !is_only_after));
    let least = |times: &[Option<f64>]| times.iter().copied().flatten().reduce(f64::min);
    let best = least(theirs);
    let compilers = least(&theirs[..Peer::COMPILERS]);
    let ratios = Ratios {
        optimised: before.map(|before| before / after),
        before: compilers.zip(before).map(|(time, before)| time / before),
        after: compilers.map(|time| time / after),
        best: best.map(|time| time / after),
        peers: theirs.map(|time| time.map(|time| time / after)),
    };
    let shown = |time: Option<f64>| time.map_or("-".to_owned(), |time| format!("{time:.5}"));
    let ratio = |ratio: Option<f64>| ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
    println!(
        "{name:15} {threads:>7} {:>9} {after:>9.5} {:>7} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8}",
        shown(before),
        ratio(ratios.optimised),
        shown(theirs[0]),
        shown(theirs[1]),
        shown(theirs[2]),
        shown(theirs[3]),
        ratio(best.zip(before).map(|(time, before)| time / before)),
        ratio(ratios.best),
    );
    ratios
}

fn compiled(program: &Sdfg) -> Result<Library, Error> {
    let expanded = sdfg_library::expand(program, &sdfg_library::BuiltIn)?;
    let options = CompileOptions { floats: Some(FloatMode::Fast), ..CompileOptions::default() };
    let object = sdfg_codegen::compile(&validate(expanded)?, &options)?;
    Ok(Library::load(&object)?)
}

/// Seconds of the code itself: arguments are checked before, and an earlier run of the same instance started threads.
fn run_once(library: &Library, given: &Arguments, threads: u32) -> Result<f64, Error> {
    let (mut arguments, mut seconds) = (given.clone(), 0.0);
    library.with_arguments(&mut arguments, NonZeroU32::new(threads), |call| {
        let mut call = call.prepare()?;
        trusted::run_prepared(&mut call)?;
        for (name, tensor) in given.tensors() {
            if let Some(bytes) = call.bytes_mut(name) {
                bytes.copy_from_slice(tensor.bytes());
            }
        }
        let start = Instant::now();
        trusted::run_prepared(&mut call)?;
        seconds = start.elapsed().as_secs_f64();
        Ok(())
    })?;
    Ok(seconds)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
