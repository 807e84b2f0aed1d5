//! Writes tuned programs with kernels into a folder, to be measured on a machine with a GPU: `cargo xtask bench gpu FOLDER`.
//!
//! The machine with the GPU needs `nvcc`, Python and NumPy, but no Rust and no LLVM. `bench.py` of the folder does the rest.
#![expect(clippy::print_stdout, reason = "this is a command")]

mod package;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder] = arguments.as_slice() else {
        println!("usage: bench_gpu FOLDER");
        return ExitCode::from(2);
    };
    match package::write(Path::new(folder)) {
        Ok(count) => {
            println!("{count} programs; on the machine with the GPU: python3 {folder}/bench.py");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("error: {folder}: {error}");
            ExitCode::FAILURE
        }
    }
}
