//! First example: a stencil from the builder to native code, step by step. `cargo run --example laplace`
//!
//! The program is the one-dimensional Laplace operator over time, figure 2 of the paper *Stateful Dataflow
//! Multigraphs* (SC'19).
#![expect(clippy::print_stdout, reason = "this is a command")]

use std::error::Error;
use std::num::NonZeroU32;

use sdfg::builder::SdfgBuilder;
use sdfg::dtype::ScalarType::F64;
use sdfg::interpret::{Arguments, Interpreter, Options};
use sdfg::ir::ScheduleKind::CpuMulticore;
use sdfg::tensor::Tensor;
use sdfg_codegen::header::c_header;
use sdfg_codegen::llvm::CompileOptions;
use sdfg_codegen::load::Library;

fn main() -> Result<(), Box<dyn Error>> {
    // 1. Build. Sizes are symbols; A has two rows, and time steps alternate between them.
    let mut b = SdfgBuilder::new("laplace");
    b.symbol("N");
    b.symbol("T");
    b.array("A", F64, ["2", "N"]);
    b.for_loop("steps", "t", "0:T", |b| {
        b.state("step", |s| {
            // A map states that its iterations are independent. Its schedule assigns them to threads.
            s.map_scope("cells", [("i", "1:N - 1")]).schedule(CpuMulticore).body(|s| {
                // A tasklet accesses only the elements of its memlets.
                s.tasklet("lap")
                    .input("l", "A[t % 2, i - 1]")
                    .input("c", "A[t % 2, i]")
                    .input("r", "A[t % 2, i + 1]")
                    .output("o", "A[(t + 1) % 2, i]")
                    .code("o = l - 2.0 * c + r");
            });
        });
    });

    // 2. Check. `build` validates: its result proves that the graph is well formed. With an error in it, such as an
    //    index outside of A, the answer is a list of diagnostics with carets.
    let (program, warnings) = b.build()?;
    print!("{warnings}"); // with carets; nothing if there are none
    println!("The program as text, as it would stand in a file:\n\n{}", sdfg::text::print(program.sdfg()));

    // 3. Interpret. The interpreter defines the meaning of a program. It is slow, and traps on undefined behaviour.
    let (size, steps) = (16, 3);
    let mut row = vec![0.0; size];
    row[size / 2] = 1.0;
    let both_rows = [row.clone(), row].concat();
    let arguments =
        Arguments::new().with("A", Tensor::new(&[2, size as i64], &both_rows)?).with_symbol("T", steps);
    let mut interpreted = arguments.clone();
    Interpreter::new(&program)?.run(&mut interpreted, &Options::default())?;

    // 4. Compile, and load into this process. The header is for callers in C, of the same code linked to a library.
    let object = sdfg_codegen::compile(&program, &CompileOptions::default())?;
    let library = Library::load(&object)?;
    println!(
        "{} bytes of object code, which a C program calls as\n",
        object.files().iter().map(Vec::len).sum::<usize>()
    );
    let header = c_header(object.interface());
    let run = header.lines().skip_while(|line| !line.starts_with("int32_t laplace_run"));
    run.take_while(|line| !line.is_empty()).for_each(|line| println!("  {line}"));

    // 5. Call. Names, element types, ranks and sizes are checked before the jump. Indices are not: the program is trusted.
    let mut native = arguments;
    // SAFETY: the interpreter, which checks each access, has just run the program on these arguments.
    unsafe { library.run(&mut native, NonZeroU32::new(2))? };

    let result = |arguments: &Arguments| -> Result<Vec<f64>, Box<dyn Error>> {
        let elements: Vec<f64> = arguments.get("A").ok_or("the call gives A back")?.to_vec()?;
        let row = steps as usize % 2 * size;
        Ok(elements[row..row + size].to_vec())
    };
    println!("\nA pulse after {steps} steps: {:?}", result(&native)?);
    println!("Interpreter and native code agree: {}", result(&interpreted)? == result(&native)?);
    Ok(())
}
