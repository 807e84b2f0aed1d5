//! `cargo xtask`: the project's own commands, from machine set-up to a checked build.
//!
//! This file only parses the command line; each command has its own module. Expensive programs (the demo, the
//! benchmarks, the long random suites) are not linked in. Their commands build and run the right target with
//! cargo, after `setup` has made sure that LLVM is available.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is a command for people at a terminal")]

mod checks;
mod cpu;
mod dace;
mod faults;
mod fuzz;
mod jobs;
mod llvm;
mod mutate;
mod python;
mod sanitize;
mod setup;
mod step;
mod tidy;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
Usage: cargo xtask COMMAND [OPTIONS]

Commands:
  demo [PICTURE.png] [--out DIR]
                    Process a picture: build, check, interpret, compile, run, compare
  setup             Find LLVM 19 and a C compiler; as root on Debian or Ubuntu, install missing packages
  test [--quick]    Set up, then run every check that CI runs; --quick runs only the tests
  bench [compile]   Measure the time from the builder to loaded code
  bench baseline    Compare compiled programs with the same algorithms in C by clang-19 and gcc; NAME... selects some,
                    --target c compares the C source of the programs with LLVM's code
  bench calls       Measure the cost of a prepared call of a small program
  bench chain       Measure the paper's matrix product after each transformation of its chain
  bench cpu [--rounds N] [--shapes N] [--seed S] [--threads N..] [--cpu-time] [--library [NODE..]]
                    Compare matrix products, by a chain of transformations and as library node, with OpenBLAS and MKL, which it
                    installs below target/ from PyPI
  bench dace        Compare builds and runs of DaCe's graphs of NPBench's kernels with DaCe 1.0.2 and NumPy; KERNEL... selects
                    some, --no-build or --no-run one half ($SDFG_CORPUS as for corpus; installs DaCe below target/)
  bench dace --optimized [--preset S|M|L|paper] [--rounds N] [NAME..]
                    Compare runs after the optimisers of both projects, and NPBench's versions in Numba and NumPy
  bench dace --transformations [--no-count] [--no-time] [--table FILE] [NAME..]
                    Compare the matches of transformations in raw graphs, and the time to read and simplify them, with DaCe's;
                    --table writes the matches to docs/dace-transformations.md
  bench edit        Measure series of edits in states of up to 100,000 nodes
  bench transforms  Measure simplification and matching on graphs of up to 10,000 nodes
  bench gpu FOLDER  Write tuned programs as CUDA source into a folder whose bench.py compares them with PyTorch, CuPy and copies of
                    memory on a machine with a GPU; `bench.py --quick` tests it without a GPU
  bench mpi [--quick] [NAME..]
                    Compare distributed programs on 1 and 2 ranks with C written by hand with MPI, and with ScaLAPACK, and
                    strategies with each other (jacobi, jacobi_small, conjugate_gradient, conjugate_gradient_small, product,
                    strategies, or strategies:PROGRAM for one of its programs); --quick takes small sizes
  bench optimize [--large] [--only-after] [--polybench FOLDER [--pluto POLYCC]] [--rounds N] [KERNEL..]
                    Measure PolyBench's kernels before and after the optimiser, with 1 and 2 threads; beside the C code of
                    PolyBench/C 4.2 in FOLDER by gcc, clang, Polly, and Pluto's command POLYCC; at the sizes of LARGE
  bench interpret   Measure the tasklets per second of the interpreter
  bench strategy    Measure the strategy search on given graphs ($SDFG_STRATEGY) and on generated ones
  gpu FOLDER [--programs N]
                    Write PolyBench and random programs as CUDA source, with arguments and results, into a folder whose run.py
                    runs and compares them on a machine with a GPU (default 200 random programs)
  random [--target llvm|c|cuda|cuda-driver|opencl] [--programs N] [--seed S] [--faulty N] [--schedules N] [--loops N]
                    Compare native code with the interpreter on random programs (default 2000); --loops compares loops and
                    maps on lanes at every level and for vectors of several widths; --target c compares C source, and
                    --target cuda CUDA source of maps as kernels, which run on threads of this processor; --target cuda-driver
                    the same kernels by the driver's interface, with stand-ins for driver and NVRTC; --target opencl
                    OpenCL source on the device that $SDFG_DEVICE names, or the first one; --faulty adds programs with a
                    memlet that a symbol displaces, as checked code (devices: these alone, as kernels);
                    --schedules runs each program with N random schedules of its kernels (devices)
  random --every-match [NAME] | --simplify | --optimize | --distribute | --chains LENGTH [--on random|programs|polybench]
         [--programs N] [--seed S] [--applications N] [--interpret]
                    Transform random programs, the example programs or PolyBench's kernels: at every match of each
                    transformation or of one, simplified, optimised, or by chains; compare with the program before in the interpreter
                    and as native code (--interpret: not native), and print the applications and refusals of each.
                    --applications goes on with random programs until each transformation was applied N times
  ranks [--ranks N] [--seed S]
        [--programs N | (--corpus | --on programs|polybench|small-polybench)
         [--strategy optimal|data-parallel|random] [NAME..]]
                    Distribute random programs by random strategies over ranks of MPI (default 4), and compare the results
                    with the interpreter; --on distributes the example programs or PolyBench's kernels (MINI or tiny); --corpus distributes
                    DaCe's graphs in $SDFG_CORPUS, and compares with their outputs
  ranks --soak SECONDS [--runs]
                    Move data between four ranks again and again, with --runs in runs of one handle of a compiled program;
                    fail if memory, requests or communicators grow
  corpus [--dir D] [--target llvm|c|cuda|cuda-driver|opencl|dace] [--table FILE] [NAME..]
                    Run DaCe's graphs in a folder in the interpreter and as native code and compare their outputs (default
                    folder $SDFG_CORPUS or ../shared/corpus); --table writes docs/dace-coverage.md;
                    --target c runs their C source, compiled by gcc and by clang; --target cuda, cuda-driver and opencl
                    run their maps as kernels, on this processor or a device of OpenCL; --target dace writes them for DaCe 1.0.2, which
                    loads, compiles and runs them ($SDFG_DACE_PYTHON, otherwise installed below target/)
  corpus --simplify | --optimize | --chain FILE | --every-match [TRANSFORMATION] [--most N] [--dir D] [NAME..]
                    The same with graphs that are transformed before they run, at most 8 matches of each transformation
                    in one graph; print the applications and refusals of each
  survey DIR [--interpret] [--dace PYTHON] [--allow-external] [--lines FILE] [--table FILE] [--seconds N] [--steps N] [--memory MIB]
         [--jobs N] [NAME..]
                    Read, check, compile and write back every DaCe graph of a folder, each in a process with limits
                    (default 120 s, 4096 MiB); print a JSON line for each and a table of causes. --interpret compares
                    the interpreter with native code on generated inputs; --dace compares with DaCe
  faults [--in-place] [NAME..]
                    Plant faults in a copy of the tree, and report the test that finds each
  mutate [--of transforms|ranks|device] [--seed S] [--count N] [--files PATH].. [--only NUMBER,..] [--list] [--in-place]
         [--recorded] [--jobs N] [--without TEST,..]
                    Draw mutations of crates/transforms, or of the code for ranks (60, seed 1), from the list of cargo-mutants, and
                    report the test that finds each; --list prints them; --in-place changes this tree and not a copy, to reuse its build;
                    --recorded reuses the record of the last run with these mutations; --jobs tests
                    some side by side; --without leaves out tests
  fuzz [text|json|dace|validation] [--seconds N]
                    Search for inputs that break the readers, validation or the interpreter (default 60 s per target);
                    needs a nightly Rust and cargo-fuzz, and prints how to install them
  sanitize [address] [thread] [--programs NAMES]
                    Run the program list under AddressSanitizer and ThreadSanitizer (4 minutes)
  python [--venv DIR]
                    Install the Python package and the sdfg command into a virtual environment (default $VIRTUAL_ENV or
                    target/venv); `python test` tests it, `python test --dace` also with DaCe, in a separate environment
  symbolica         Build and test the optional bridge to Symbolica
  tidy [--verbose]  Check the project's own rules (CONTRIBUTING.md); --verbose includes soft limits
  tidy --maps       Write the code maps of ARCHITECTURE.md from the documentation of the modules
  help              Print this text

LLVM 19 is taken from $LLVM_SYS_191_PREFIX, from llvm-config or llvm-config-19 on PATH, or from the usual
installation folders, in this order.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<()> {
    let (command, options) = arguments.split_first().map_or(("help", &[][..]), |(c, o)| (*c, o));
    match command {
        "setup" => {
            no_options(command, options)?;
            setup::run().map(|_| ())
        }
        "test" => checks::run(flag(command, options, "--quick")?),
        "corpus" => jobs::corpus(options),
        "demo" | "random" | "survey" => jobs::example("sdfg-programs", command, options),
        "ranks" => jobs::ranks(options),
        "gpu" => jobs::example("sdfg-programs", "gpu_package", options),
        "bench" => match options {
            [] | ["compile"] => jobs::example("sdfg-programs", "bench_compile", &[]),
            ["calls"] => jobs::example("sdfg-programs", "bench_calls", &[]),
            ["chain"] => jobs::example("sdfg-programs", "bench_chain", &[]),
            ["edit"] => jobs::example("sdfg", "bench_edit", &[]),
            ["interpret"] => jobs::example("sdfg", "bench_interpret", &[]),
            ["strategy"] => jobs::example("sdfg-transforms", "bench_strategy", &[]),
            ["transforms"] => jobs::example("sdfg-transforms", "bench_transforms", &[]),
            ["cpu", options @ ..] => cpu::bench(options),
            ["gpu", options @ ..] => jobs::example("sdfg-programs", "bench_gpu", options),
            ["optimize", kernels @ ..] => jobs::example("sdfg-programs", "bench_optimize", kernels),
            ["dace", options @ ..] => dace::bench(options),
            ["baseline", names @ ..] => jobs::baseline(names),
            ["mpi", options @ ..] => jobs::mpi(options),
            [other, ..] => {
                bail!(
                    "no benchmark `{other}`: there are `compile`, `baseline`, `calls`, `chain`, `cpu`, `dace`, `edit`, `gpu`, `interpret`, `mpi`, `optimize`, `strategy` and `transforms`"
                )
            }
        },
        "faults" => faults::run(options),
        "mutate" => mutate::run(options),
        "fuzz" => fuzz::run(options),
        "python" => python::run(options),
        "sanitize" => sanitize::run(options),
        "symbolica" => {
            no_options(command, options)?;
            jobs::symbolica()
        }
        "tidy" if options == ["--maps"] => tidy::write_maps(),
        "tidy" => tidy::run(flag(command, options, "--verbose")?),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        unknown => bail!("no command `{unknown}`; `cargo xtask help` lists them"),
    }
}

fn no_options(command: &str, options: &[&str]) -> Result<()> {
    match options.first() {
        None => Ok(()),
        Some(option) => bail!("`{command}` takes no `{option}`; see `cargo xtask help`"),
    }
}

/// Whether the one option that the command knows was given.
fn flag(command: &str, options: &[&str], name: &str) -> Result<bool> {
    let rest: Vec<&str> = options.iter().copied().filter(|option| *option != name).collect();
    no_options(command, &rest)?;
    Ok(rest.len() < options.len())
}
