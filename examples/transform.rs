//! Transformations, from the builder to native code. `cargo run --example transform`
//!
//! The tasklets stay as they are written. A pipeline fuses two maps, tiles the result and runs its tiles on the lanes of a vector unit. The
//! steps are recorded as a chain, which another version of the program replays.
#![expect(clippy::print_stdout, reason = "this is a command")]

use std::error::Error;
use std::num::NonZeroU32;

use sdfg::builder::SdfgBuilder;
use sdfg::dtype::ScalarType::F64;
use sdfg::interpret::{Arguments, Interpreter, Options};
use sdfg::ir::{ScheduleKind::CpuMulticore, Sdfg};
use sdfg::tensor::Tensor;
use sdfg::validate::validate;
use sdfg_codegen::llvm::CompileOptions;
use sdfg_codegen::load::Library;
use sdfg_transforms::rewrites::{MapFusion, MapTiling, Vectorization};
use sdfg_transforms::{Chain, Pipeline, Registry};

/// `B = factor * (A + 1)`, in two maps.
fn program(factor: &str) -> Result<Sdfg, Box<dyn Error>> {
    let mut b = SdfgBuilder::new("scaled_sum");
    b.symbol("N");
    b.array("A", F64, ["N"]);
    b.array("B", F64, ["N"]);
    b.transient("sum", F64, ["N"]);
    b.state("main", |s| {
        s.map_scope("add", [("i", "0:N")]).schedule(CpuMulticore).body(|s| {
            s.tasklet("plus").input("x", "A[i]").output("y", "sum[i]").code("y = x + 1.0");
        });
        s.map_scope("scale", [("i", "0:N")]).schedule(CpuMulticore).body(|s| {
            s.tasklet("times").input("x", "sum[i]").output("y", "B[i]").code(&format!("y = {factor} * x"));
        });
    });
    Ok(b.build()?.0.into_sdfg())
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    // 1. Apply. A step names its place by labels. A step that does not apply leaves the program unchanged, and its
    //    error names the memlets or the statement for which it does not.
    let mut p = Pipeline::on(program("2.0")?);
    p.apply(MapFusion::at("add", "scale"))?;
    // The fused map has a label by rule. Fewer iterations than threads: the step is taken back.
    p.apply(MapTiling::new([1024]).at("add.fused0"))?;
    p.undo()?;
    p.apply(MapTiling::new([16]).at("add.fused0"))?;
    println!("{}", sdfg::text::print(p.program()));
    println!("Lanes may run {} map.", p.matches::<Vectorization>()?.len());
    p.apply(Vectorization::default())?;
    for application in p.applications() {
        println!("{} at {}", application.name, application.at);
        application.evidence.facts.iter().for_each(|fact| println!("  {fact}"));
    }

    // 2. Record, and replay on another version of the program: its tasklet was edited.
    let folder = std::env::temp_dir().join(format!("sdfg-transform-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("scaled_sum.chain.json");
    p.chain().save(&file)?;
    println!("\nThe chain:\n{}", std::fs::read_to_string(&file)?);
    let replayed = Chain::load(&file)?.replay(program("3.0")?, &Registry::standard())?;
    std::fs::remove_dir_all(&folder)?;

    // 3. Compile and call. `finish` validates; the interpreter defines the results.
    for (pipeline, factor) in [(p, 2.0), (replayed, 3.0)] {
        let rewritten = pipeline.finish()?;
        let object = sdfg_codegen::compile(&rewritten, &CompileOptions::default())?;
        let library = Library::load(&object)?;
        let input: Vec<f64> = (0..100_u8).map(f64::from).collect();
        let arguments = Arguments::new()
            .with("A", Tensor::new(&[100], &input)?)
            .with("B", Tensor::new(&[100], &[0.0; 100])?);
        let (mut expected, mut native) = (arguments.clone(), arguments);
        let original = validate(program(&format!("{factor:.1}"))?)?;
        Interpreter::new(&original)?.run(&mut expected, &Options::default())?;
        // SAFETY: the interpreter, which checks each access, has just run the program on these arguments.
        unsafe { library.run(&mut native, NonZeroU32::new(2))? };
        if expected.get("B") != native.get("B") {
            return Err("native code has other results than the interpreter".into());
        }
        println!("Factor {factor}: interpreter and native code agree.");
    }
    Ok(())
}
