//! A transformation of your own, next to those of the project. `cargo run --example own_transformation`
//!
//! `docs/adding/a-transformation.md` explains it step by step.
#![expect(clippy::print_stdout, reason = "this is a command")]

pub(crate) mod redundant_array;

use std::collections::BTreeMap;
use std::error::Error;

use redundant_array::RedundantArray;
use sdfg::interpret::Options;
use sdfg::ir::Sdfg;
use sdfg_transforms::verify::Verifier;
use sdfg_transforms::{Pipeline, Registry, Soundness, simplify};

const PROGRAM: &str = "
sdfg scaled {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  transient array t: f64[N]
  state main {
    access A
    access t
    access B
    map scale [i = 0:N] {
      tasklet twice (x) -> (y) { y = 2.0 * x }
      scale.A -> twice.x: A[i]
      twice.y -> scale.t: t[i]
    }
    A -> scale.A
    scale.t -> t
    t -> B
  }
}";

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let program = sdfg::text::parse("scaled.sdft", PROGRAM).map_err(|errors| format!("{errors:?}"))?;

    // 1. At one place, with the facts that the check relied on.
    let mut pipeline = Pipeline::on(program.clone());
    let applied = pipeline.apply(RedundantArray::default())?;
    println!("{} at {}:", applied.name, applied.at);
    applied.evidence.facts.iter().for_each(|fact| println!("  {fact}"));
    println!("{}", sdfg::text::print(pipeline.program()));

    // 2. By its name: in chains, and in simplification. It replaces the project's transformation of the same name.
    let mut registry = Registry::standard();
    registry.register::<RedundantArray>();
    let replayed = pipeline.chain().replay(program.clone(), &registry)?;
    assert_eq!(sdfg::text::print(replayed.program()), sdfg::text::print(pipeline.program()));
    let mut simple: Sdfg = program.clone();
    println!("simplify applied {:?}", simplify(&mut simple, &registry, None));

    // 3. Verified: the interpreter runs both programs on inputs that it searches for.
    let verifier = Verifier::of(&program, &BTreeMap::new(), &Options::default())?;
    verifier.check(pipeline.program(), Soundness::Always)?;
    println!("The interpreter gives the same results before and after.");
    Ok(())
}
