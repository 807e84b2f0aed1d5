//! The folder that a machine with a GPU gets: the CUDA source of each program, a description of its arguments, and `bench.py`.

use std::error::Error;
use std::path::{Path, PathBuf};

use sdfg::analysis::ScopeTree;
use sdfg::edit::Editor;
use sdfg::ir::{Container, ContainerKind, Map, NodeKind, Schedule, ScheduleKind, Sdfg, Storage};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::validate::validate;
use sdfg_codegen::interface::{Argument, ArgumentKind, EntryPoint};
use sdfg_codegen::lower::{LowerOptions, Target, lower};
use sdfg_codegen::plan::Plan;
use sdfg_codegen::source::{SourceOptions, cuda_flags, cuda_source};
use sdfg_transforms::rewrites::MapReduceFusion;
use sdfg_transforms::{Chain, Registry, Transformation, fixed_point};
use serde_json::json;

/// A program. Its chain is `benches/gpu/NAME.chain.json`, unless its plain kernels are what is measured.
struct Benchmark {
    /// The file of the program, from the root of the project.
    file: &'static str,
    /// The elements that take the place of `f64`.
    element: &'static str,
    /// What takes the place of symbols.
    sizes: &'static [(&'static str, Size)],
}

/// Sizes that tiles divide.
enum Size {
    /// The symbol counts so many elements.
    Times(i64),
    /// The symbol has this value.
    Is(i64),
}

const fn of_any_size(file: &'static str) -> Benchmark {
    Benchmark { file, element: "f64", sizes: &[] }
}

const BENCHMARKS: [Benchmark; 10] = [
    Benchmark {
        file: "programs/matmul.sdft",
        element: "f32",
        sizes: &[("M", Size::Times(64)), ("N", Size::Times(64)), ("K", Size::Is(4096))],
    },
    of_any_size("programs/jacobi2d.sdft"),
    of_any_size("benches/gpu/axpy.sdft"),
    of_any_size("benches/gpu/transpose.sdft"),
    of_any_size("benches/gpu/sum.sdft"),
    of_any_size("benches/gpu/sum_of_columns.sdft"),
    of_any_size("programs/histogram.sdft"),
    of_any_size("benches/gpu/query.sdft"),
    of_any_size("programs/spmv.sdft"),
    of_any_size("benches/gpu/sbsmm.sdft"),
];

/// What the folder has as it is in the project, with the name there.
const FILES: [(&str, &str); 5] = [
    ("benches/gpu/bench.py", "bench.py"),
    ("benches/gpu/device.h", "device.h"),
    ("tests/cuda/cuda_runtime.h", "stand-in/cuda_runtime.h"),
    ("tests/cuda/streams.h", "stand-in/streams.h"),
    ("tests/cuda/threads.h", "stand-in/threads.h"),
];

/// Writes the folder. The result is the number of programs.
///
/// # Errors
/// When a program cannot be made or a file cannot be written; the message names the program.
pub(crate) fn write(folder: &Path) -> Result<usize, Box<dyn Error>> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    std::fs::create_dir_all(folder.join("stand-in"))?;
    for (from, to) in FILES {
        std::fs::copy(root.join(from), folder.join(to)).map_err(|error| format!("{from}: {error}"))?;
    }
    for benchmark in &BENCHMARKS {
        write_program(folder, &root, benchmark).map_err(|error| format!("{}: {error}", benchmark.file))?;
    }
    Ok(BENCHMARKS.len())
}

fn write_program(folder: &Path, root: &Path, benchmark: &Benchmark) -> Result<(), Box<dyn Error>> {
    let file = root.join(benchmark.file);
    let name = file.file_stem().unwrap_or_default();
    let text = std::fs::read_to_string(&file)?.replace("f64", benchmark.element);
    let mut program = sdfg::text::parse(benchmark.file, &text).map_err(|errors| format!("{errors:?}"))?;
    with_sizes(&mut program, benchmark.sizes)?;
    let no_products: Box<dyn Transformation> = Box::new(MapReduceFusion::default());
    fixed_point(&mut program, &[no_products], None);
    to_device(&mut program)?;
    let chain = root.join("benches/gpu").join(name).with_extension("chain.json");
    if chain.exists() {
        program = Chain::load(chain)?.replay(program, &Registry::standard())?.program().clone();
    }
    let expanded = validate(sdfg_library::expand(&program, &sdfg_library::BuiltIn)?)?;
    let options = LowerOptions { serial_components: true, ..LowerOptions::default() };
    let plan = lower(&expanded, &Target::cuda(), &options)?;
    let source = cuda_source(&plan, &SourceOptions::default())?;
    std::fs::write(folder.join(name).with_extension("cu"), source)?;
    std::fs::write(folder.join(name).with_extension("json"), described(&plan)?.to_string())?;
    Ok(())
}

fn with_sizes(program: &mut Sdfg, sizes: &[(&str, Size)]) -> Result<(), Box<dyn Error>> {
    let sized = |(name, size): &(&str, Size)| {
        let symbol = Symbol::of(name);
        match size {
            Size::Times(factor) => (symbol.clone(), Expr::int(*factor) * Expr::symbol(symbol)),
            Size::Is(value) => (symbol, Expr::int(*value)),
        }
    };
    let mut editor = Editor::new(program);
    editor.substitute(&sizes.iter().map(sized).collect())?;
    editor.commit()?;
    Ok(())
}

/// Makes the outermost maps kernels, and places all arrays and queues on the device, so that data stays there between runs.
fn to_device(program: &mut Sdfg) -> Result<(), Box<dyn Error>> {
    let is_scalar = |container: &Container| matches!(container.kind, ContainerKind::Scalar);
    let memories: Vec<_> =
        program.containers().filter(|(_, container)| !is_scalar(container)).map(|(id, _)| id).collect();
    let mut editor = Editor::new(program);
    for id in memories {
        editor.change_container(id, |container| container.storage = Storage::GpuGlobal)?;
    }
    let states: Vec<_> = editor.sdfg().states().map(|(id, _)| id).collect();
    for state in states {
        let tree = ScopeTree::of(editor.state(state)?);
        let nodes: Vec<_> = editor.state(state)?.nodes().map(|(id, node)| (id, node.kind.clone())).collect();
        for (id, kind) in nodes {
            let NodeKind::MapEntry(map) = kind else { continue };
            if tree.enclosing(id).next().is_none() {
                let schedule = Schedule::from(ScheduleKind::GpuGrid);
                editor.replace_node(state, id, NodeKind::MapEntry(Map { schedule, ..map }))?;
            }
        }
    }
    editor.commit()?;
    Ok(())
}

/// What `bench.py` has to know to run the program.
fn described(plan: &Plan) -> Result<serde_json::Value, Box<dyn Error>> {
    let interface = plan.interface()?;
    let argument = |argument: &Argument| {
        let ty = match &argument.kind {
            ArgumentKind::Symbol { ty } => *ty,
            _ => argument.element().lane(),
        };
        let is_on_device = interface.device_arguments().contains(&argument.name);
        json!({ "name": argument.name, "type": ty.name(), "on_device": is_on_device })
    };
    Ok(json!({
        "create": interface.symbol(EntryPoint::Create),
        "start": interface.symbol(EntryPoint::StartInvoke),
        "wait": interface.symbol(EntryPoint::Wait),
        "error": interface.symbol(EntryPoint::Error),
        "destroy": interface.symbol(EntryPoint::Destroy),
        "flags": cuda_flags(plan.float_mode),
        "arguments": interface.arguments().iter().map(argument).collect::<Vec<_>>(),
    }))
}
