//! A distributed program from the builder to its ranks: `cargo run --example mpi`
//!
//! Started alone, the command starts itself on four ranks of MPI. It also runs under a launcher: `mpirun -n 3 target/debug/examples/mpi`.
//! Each rank holds its own block of the arrays, with the halos that it needs, and no rank holds a whole one.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is a command")]

use std::collections::BTreeMap;
use std::error::Error;
use std::process::{Command, ExitCode};

use sdfg::builder::SdfgBuilder;
use sdfg::dtype::ScalarType::F64;
use sdfg::interpret::Arguments;
use sdfg::ir::Sdfg;
use sdfg::symbolic::Symbol;
use sdfg::tensor::Tensor;
use sdfg_codegen::cache::Cache;
use sdfg_codegen::llvm::CompileOptions;
use sdfg_codegen::load::Library;
use sdfg_codegen::lower::lower;
use sdfg_codegen::mpi::{Context, Launcher, Mpi, ranks_of_environment};
use sdfg_codegen::ranks::{Part, localise};
use sdfg_transforms::Pipeline;
use sdfg_transforms::distribute::Distribute;
use sdfg_transforms::strategy::model::Machine;

/// Cells, and pairs of time steps.
const SIZES: [(&str, i64); 2] = [("N", 1003), ("T", 20)];

fn main() -> ExitCode {
    let result = if ranks_of_environment().is_none() { launch(4) } else { run_on_rank() };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Starts this command on so many ranks.
fn launch(ranks: usize) -> Result<bool, Box<dyn Error>> {
    let launcher = Launcher::find(&Mpi::find()?)?;
    let mut command: Command = launcher.command(ranks, std::env::current_exe()?);
    Ok(command.status()?.success())
}

/// Heat in a rod: each step takes means of neighbours, from `A` to `B` and back.
fn heat() -> Result<Sdfg, Box<dyn Error>> {
    let mut b = SdfgBuilder::new("heat");
    b.symbol("N");
    b.symbol("T");
    b.array("A", F64, ["N"]);
    b.array("B", F64, ["N"]);
    b.for_loop("steps", "t", "0:T", |b| {
        for (name, from, to) in [("forth", "A", "B"), ("back", "B", "A")] {
            b.state(name, |s| {
                s.map_scope("cells", [("i", "1:N - 1")]).body(|s| {
                    s.tasklet("mean")
                        .input("l", format!("{from}[i - 1]"))
                        .input("c", format!("{from}[i]"))
                        .input("r", format!("{from}[i + 1]"))
                        .output("o", format!("{to}[i]"))
                        .code("o = 0.25 * l + 0.5 * c + 0.25 * r");
                });
            });
        }
    });
    Ok(b.build()?.0.sdfg().clone())
}

/// The first temperature of a cell.
fn start(cell: i64) -> f64 {
    (7 * cell % 11) as f64
}

/// What each rank does; all do it at the same time.
fn run_on_rank() -> Result<bool, Box<dyn Error>> {
    // 1. The communicator: that of all ranks. Programs send nothing on it that others could receive.
    let cache = Cache::of_user();
    let communication = Mpi::find()?.library(cache.as_ref())?;
    let mut context = Context::of_world(&communication)?;
    let (rank, ranks) = (context.rank() as u32, context.ranks() as u32);

    // 2. Distribute. All ranks find the same strategy, proved to be the cheapest for large rods. The program is for any size.
    let mut pipeline = Pipeline::on(heat()?);
    let machine = Machine { ranks, ..Machine::default() };
    let outcome =
        Distribute::optimal(machine).with_sizes([("N", 100_000_000), ("T", 20)]).apply(&mut pipeline)?;

    // 3. Compile the program of a rank, which is the same for all. The first rank puts it into the cache, if there is one.
    let program = localise(pipeline.program())?;
    let options = CompileOptions { serial_components: true, ..CompileOptions::default() };
    let plan = lower(&program.validated()?, &options.target(), &options.lowering())?;
    let compile = || match &cache {
        Some(cache) => cache.compile(&plan, &options),
        None => sdfg_codegen::llvm::compile(&plan, &options),
    };
    let first = (rank == 0).then(compile).transpose();
    // A rank that fails alone would leave the others waiting: all learn of it, and end.
    context.agree(first.as_ref().err().map(ToString::to_string).as_deref())?;
    let object = match first? {
        Some(object) => object,
        None => compile()?,
    };
    let library = Library::load(&object)?;

    // 4. The own block: positions that the rank holds, with halos. Ranks without one hold nothing.
    let mut sizes: BTreeMap<Symbol, i64> =
        SIZES.iter().map(|(name, size)| (Symbol::of(name), *size)).collect();
    sizes.extend(program.symbols(rank, &sizes)?);
    let mut arguments = Arguments::new();
    for (symbol, value) in &sizes {
        arguments.set_symbol(symbol.as_str(), *value);
    }
    let mut blocks: Vec<(&str, Part)> = Vec::new();
    for name in ["A", "B"] {
        let part = program.part(name, &sizes)?.ok_or("the strategy cuts both arrays")?;
        let values: Vec<f64> = part.held[0].clone().map(start).collect();
        arguments.set(name, Tensor::vector(&values));
        blocks.push((name, part));
    }

    // 5. Run. Messages take halos from the ranks that own them; each rank has its own results afterwards.
    {
        let hooks = context.hooks();
        // SAFETY: the library is this program compiled, and its arguments are the parts of this rank.
        unsafe { program.run(&library, &hooks, &mut arguments, |call| call)? };
    }

    // 6. Compare the own elements with a loop over the whole rod.
    let expected = reference();
    let mut wrong = 0;
    for (at, (name, part)) in blocks.iter().enumerate() {
        let found: Vec<f64> = arguments.get(name).ok_or("the call gives the block back")?.to_vec()?;
        let differs = |cell: &i64| {
            // Code may round a product and its sum once.
            (found[(cell - part.held[0].start) as usize] - expected[at][*cell as usize]).abs() > 1e-12
        };
        wrong += part.own[0].clone().filter(differs).count();
    }
    let message = (wrong > 0).then(|| format!("{wrong} elements are wrong"));
    context.agree(message.as_deref())?;
    if rank == 0 {
        let cells = blocks[0].1.held[0].end - blocks[0].1.held[0].start;
        println!(
            "heat on {ranks} ranks: ok; {} maps are divided, and the first rank holds {cells} of {} cells",
            outcome.divided.len(),
            SIZES[0].1
        );
    }
    Ok(true)
}

/// `A` and `B` after all steps, without the program.
fn reference() -> [Vec<f64>; 2] {
    let [(_, n), (_, steps)] = SIZES;
    let first: Vec<f64> = (0..n).map(start).collect();
    let mut arrays = [first.clone(), first];
    for step in 0..2 * steps as usize {
        let from = arrays[step % 2].clone();
        for cell in 1..n as usize - 1 {
            arrays[(step + 1) % 2][cell] = 0.25 * from[cell - 1] + 0.5 * from[cell] + 0.25 * from[cell + 1];
        }
    }
    arrays
}
