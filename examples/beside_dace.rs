//! Our half of `cargo xtask bench dace --transformations`, which `benches/dace/transformations.py` runs beside DaCe.
//!
//! `beside_dace matches FILE` prints the number of matches that pass the check of each transformation in a DaCe graph, as
//! JSON. `beside_dace read ROUNDS FILE` and `beside_dace simplify ROUNDS FILE` read and validate the graph, and simplify it,
//! as often as told. They print nothing: the caller measures the processor time of the process.
#![expect(clippy::print_stdout, reason = "this is a command")]

#[path = "../crates/cli/src/allocator.rs"]
mod allocator; // that of the `sdfg` command

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;

use sdfg::ir::Sdfg;
use sdfg::symbolic::with_proof_cache;
use sdfg::validate::validate;
use sdfg_library::transformations;
use sdfg_transforms::rewrites::LocalStorage;
use sdfg_transforms::{Tables, Transformation, matches_with, simplify};

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["matches", file] => println!("{}", serde_json::to_string(&counted(&read(Path::new(file))?))?),
        ["read", rounds, file] => {
            for _ in 0..rounds.parse()? {
                black_box(with_proof_cache(|| read(Path::new(file)))?);
            }
        }
        ["simplify", rounds, file] => {
            for _ in 0..rounds.parse()? {
                black_box(with_proof_cache(|| simplified(Path::new(file)))?);
            }
        }
        _ => return Err("usage: beside_dace matches FILE | read ROUNDS FILE | simplify ROUNDS FILE".into()),
    }
    Ok(())
}

/// A file as `sdfg simplify` handles it: all of it shares proofs.
fn simplified(file: &Path) -> Result<Sdfg, Error> {
    let mut program = read(file)?;
    simplify(&mut program, &transformations(), None);
    Ok(program)
}

fn read(file: &Path) -> Result<Sdfg, Error> {
    let import = sdfg_dace::read(&std::fs::read(file)?, &sdfg_dace::Options::default())?;
    Ok(validate(import.sdfg)?.into_sdfg())
}

/// The number of matches of each transformation that pass its check.
fn counted(program: &Sdfg) -> BTreeMap<String, usize> {
    let tables = Tables::new();
    let count = |transformation: &dyn Transformation| matches_with(program, transformation, &tables).len();
    let mut counts: BTreeMap<String, usize> = transformations()
        .defaults()
        .iter()
        .map(|transformation| (transformation.metadata().name.to_owned(), count(transformation.as_ref())))
        .collect();
    counts.insert("LocalStorage of outputs".to_owned(), count(&LocalStorage::of_output("")));
    counts
}
