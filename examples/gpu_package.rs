//! Writes programs with kernels into a folder, for a machine with a GPU: `cargo xtask gpu FOLDER [--programs N]`.
//!
//! The machine with the GPU needs `nvcc` and Python, but no Rust and no LLVM. `run.py` of the folder compiles the CUDA source of each
//! program, runs it on the arguments in the folder, and compares with the results of the interpreter there.
#![expect(clippy::print_stdout, reason = "this is a command")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sdfg::interpret::{Arguments, Interpreter, Options};
use sdfg::validate::validate;
use sdfg_codegen::interface::{ArgumentKind, EntryPoint};
use sdfg_codegen::lower::{LowerOptions, Target, lower};
use sdfg_codegen::plan::Plan;
use sdfg_codegen::source::{SourceOptions, cuda_flags, cuda_source};
use sdfg_programs::programs::polybench::{KERNELS, arguments};
use sdfg_programs::random::check_on_device_by;
use sdfg_transforms::{Transformation, fixed_point, rewrites::GpuTransform};
use serde_json::json;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (folder, programs) = match arguments.as_slice() {
        [folder] => (folder, 200),
        [folder, option, count] if option == "--programs" && count.parse::<u64>().is_ok() => {
            (folder, count.parse().unwrap_or_default())
        }
        _ => {
            println!("usage: gpu_package FOLDER [--programs N]");
            return ExitCode::from(2);
        }
    };
    match write_all(Path::new(folder), programs) {
        Ok(count) => {
            println!("{count} programs; on the machine with the GPU: python3 {folder}/run.py");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("error: {folder}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write_all(folder: &Path, programs: u64) -> Result<usize, Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cuda");
    std::fs::copy(tests.join("run.py"), folder.join("run.py"))?;
    let mut count = 0;
    for kernel in &KERNELS {
        let program = (kernel.build)()?.0;
        let given = arguments(kernel, &program, kernel.mini)?;
        let mut expected = given.clone();
        Interpreter::new(&program)?.run(&mut expected, &Options::default())?;
        let mut rewritten = program.sdfg().clone();
        let transformation: Box<dyn Transformation> = Box::new(GpuTransform::default());
        if fixed_point(&mut rewritten, &[transformation], None).iter().all(|tally| tally.applications == 0) {
            continue;
        }
        let expanded = validate(sdfg_library::expand(&rewritten, &sdfg_library::BuiltIn)?)?;
        let options = LowerOptions { serial_components: true, ..LowerOptions::default() };
        let plan = lower(&expanded, &Target::cuda(), &options)?;
        count += usize::from(write(folder, kernel.name, &plan, &given, &expected)?);
    }
    for seed in 7_000_000..7_000_000 + programs {
        let name = format!("random_{seed}");
        let written = std::cell::Cell::new(false);
        let counts = check_on_device_by(seed, &Target::cuda(), &[false], &|plan, given, expected| {
            written.set(write(folder, &name, plan, given, expected).map_err(|error| error.to_string())?);
            Ok(expected.clone())
        });
        counts.map_err(|failure| failure.to_string())?;
        count += usize::from(written.get());
    }
    Ok(count)
}

/// Writes one program with its arguments and results, unless it has streams as arguments.
fn write(
    folder: &Path,
    name: &str,
    plan: &Plan,
    given: &Arguments,
    expected: &Arguments,
) -> Result<bool, Box<dyn Error>> {
    let interface = plan.interface()?;
    let mut arguments = Vec::new();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    for argument in interface.arguments() {
        let symbol = given.symbols().find(|(name, _)| *name == argument.name);
        arguments.push(match (&argument.kind, symbol) {
            (ArgumentKind::Queue { .. }, _) => return Ok(false),
            (ArgumentKind::Symbol { ty }, Some((name, value))) => {
                json!({ "name": name, "given": hex(&value.to_le_bytes()[..ty.size()]) })
            }
            _ => {
                let tensor = |from: &Arguments| from.get(&argument.name).map(|tensor| hex(tensor.bytes()));
                let (Some(before), Some(after)) = (tensor(given), tensor(expected)) else { return Ok(false) };
                if !argument.is_dense() {
                    return Ok(false);
                }
                json!({
                    "name": argument.name,
                    "type": argument.element().lane().name(),
                    "given": before,
                    "expected": after,
                })
            }
        });
    }
    let description = json!({
        "name": interface.name(),
        "invoke": interface.symbol(EntryPoint::Invoke),
        "flags": cuda_flags(plan.float_mode),
        "arguments": arguments,
    });
    std::fs::write(folder.join(name).with_extension("cu"), cuda_source(plan, &SourceOptions::default())?)?;
    std::fs::write(folder.join(name).with_extension("json"), description.to_string())?;
    Ok(true)
}
