//! Models as programs for the strategy search:
//! `cargo run --release -p sdfg-transforms --example models -- [NAME] [PROCESSORS] [--divisors]`.
//!
//! With a number of processors, or without any name, the example prints the strategy of each model, or of the named one, at the sizes
//! of its paper, beside the serial and the data-parallel strategy. With a name alone, it prints the model as text for `sdfg strategy`.
//! `--divisors` leaves numbers of parts that divide their dimension.
#![expect(clippy::print_stdout, reason = "this is a command")]

mod alexnet;
mod lstm;
mod network;
mod training;
mod transformer;

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Instant;

use sdfg::symbolic::Symbol;
use sdfg::validate::{Rejected, Validated, Warnings};
use sdfg_transforms::strategy::model::{Machine, Model, ModelOptions};
use sdfg_transforms::strategy::{Limits, Options, PartCounts, StrategyFile, search};

/// A model by its name, with the values of its symbols.
type Named = (&'static str, fn() -> Result<(Validated, Warnings), Rejected>, &'static [(&'static str, i64)]);

const MODELS: [Named; 4] = [
    ("alexnet", alexnet::alexnet, alexnet::SIZES),
    ("alexnet_training", training::training, alexnet::SIZES),
    ("lstm", lstm::lstm, lstm::SIZES),
    ("transformer", transformer::transformer, transformer::SIZES),
];

fn main() -> Result<(), Box<dyn Error>> {
    let (options, arguments): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|one| one.starts_with("--"));
    let (numbers, names): (Vec<_>, Vec<_>) = arguments.iter().partition(|one| one.parse::<u32>().is_ok());
    let parts = match options.as_slice() {
        [] => PartCounts::All,
        [one] if one == "--divisors" => PartCounts::DivideDimension,
        _ => return Err("the only option is --divisors".into()),
    };
    let searched: Vec<Named> =
        MODELS.into_iter().filter(|(known, ..)| names.first().is_none_or(|name| *name == known)).collect();
    let (_, build, sizes) =
        searched.first().ok_or("there are alexnet, alexnet_training, lstm and transformer")?;
    if let Some(name) = names.first().filter(|_| numbers.is_empty()) {
        let set: Vec<String> =
            sizes.iter().map(|(symbol, value)| format!("--set {symbol}={value}")).collect();
        print!(
            "# sdfg strategy {name}.sdft -p 8 {}\n{}",
            set.join(" "),
            sdfg::text::print(build()?.0.sdfg())
        );
        return Ok(());
    }
    let ranks = numbers.first().map_or(Ok(8), |number| number.parse())?;
    let options = ModelOptions { parts, ..ModelOptions::default() };
    for (name, build, sizes) in searched {
        let machine = Machine { ranks, ..Machine::default() };
        let start = Instant::now();
        let model = Model::new(&build()?.0, &values(sizes), &machine, &options)?;
        let modelled = start.elapsed();
        let start = Instant::now();
        let solution = search(&model, &Options::default(), &())?;
        let searched = start.elapsed();
        let start = Instant::now();
        let checked = solution.certificate.check(
            &model,
            &solution.strategy,
            solution.cost,
            &Limits::from(&Options::default()),
        )?;
        let checking = start.elapsed();
        let file = StrategyFile::new(&model, &solution, &checked);
        let n_needless = solution.certificate.dominated.len() + solution.certificate.too_dear.len();
        println!(
            "{name} on {ranks} ranks: {:.4} s; modelled in {modelled:.1?}, searched in {searched:.1?}, checked in {checking:.1?}; \
             {n_needless} configurations are needless, {} minima",
            file.cost, checked.n_minima
        );
        for (other, cost) in [("serial", file.serial), ("data parallel", file.data_parallel)] {
            let times = cost.map_or(f64::NAN, |cost| cost / file.cost);
            println!("  {other}: {times:.3} times as much");
        }
        for one in file.operations.iter().filter(|one| one.compute > 0.02 * file.cost) {
            println!("  {:<24} {:?} {:?}", one.name, one.domain, one.configuration);
        }
    }
    Ok(())
}

fn values(sizes: &[(&str, i64)]) -> BTreeMap<Symbol, i64> {
    sizes.iter().filter_map(|(name, value)| Some((Symbol::new(name).ok()?, *value))).collect()
}
