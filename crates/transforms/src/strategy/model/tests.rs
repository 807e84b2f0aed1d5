//! Tests of programs with known models, and of random affine programs whose loads are counted element by
//! element.

mod convolution;
mod loops;
mod programs;
mod random;
mod simulation;
mod views;

use std::collections::BTreeMap;

use sdfg::symbolic::Symbol;
use sdfg::validate::{Validated, validate};

use super::{Machine, Model, ModelError, ModelOptions};

fn program(text: &str) -> Validated {
    let sdfg = sdfg::text::parse("test.sdft", text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    validate(sdfg).unwrap_or_else(|rejected| panic!("{:?}\n{text}", rejected.diagnostics))
}

fn model(text: &str, symbols: &[(&str, i64)], ranks: u32) -> Result<Model, ModelError> {
    let values: BTreeMap<Symbol, i64> =
        symbols.iter().map(|(name, value)| (Symbol::new(name).expect("a name"), *value)).collect();
    Model::new(&program(text), &values, &Machine { ranks, ..Machine::default() }, &ModelOptions::default())
}
