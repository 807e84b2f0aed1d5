//! The models of the strategy documents: programs that two ranks run, and predictions for many ranks at the sizes of their papers.

use std::collections::BTreeMap;

use sdfg::symbolic::Symbol;
use sdfg::validate::{Rejected, Validated, Warnings};
use sdfg_transforms::strategy::model::{Machine, Model, ModelOptions};
use sdfg_transforms::strategy::{Options, PartCounts, data_parallel, search};

use crate::timing::Place;
use crate::{Error, alexnet, lstm, training, transformer};

/// Numbers of ranks of the predictions.
const RANKS: [u32; 5] = [2, 8, 64, 256, 1024];

/// Sizes by symbol.
type Sizes = &'static [(&'static str, i64)];

/// A model with its sizes.
pub(crate) struct Network {
    pub(crate) name: &'static str,
    build: fn() -> Result<(Validated, Warnings), Rejected>,
    /// Of its paper.
    paper: Sizes,
    /// Two ranks compute it in about a second.
    usual: Sizes,
    quick: Sizes,
}

pub(crate) const MODELS: [Network; 4] = [
    Network {
        name: "alexnet",
        build: alexnet::alexnet,
        paper: alexnet::SIZES,
        usual: &[("B", 8), ("Q", 2), ("C", 8), ("R", 11), ("F", 512), ("K", 100)],
        quick: &[("B", 2), ("Q", 1), ("C", 1), ("R", 3), ("F", 4), ("K", 3)],
    },
    Network {
        name: "alexnet_training",
        build: training::training,
        paper: alexnet::SIZES,
        usual: &[("B", 8), ("Q", 2), ("C", 8), ("R", 11), ("F", 512), ("K", 100)],
        quick: &[("B", 2), ("Q", 1), ("C", 1), ("R", 3), ("F", 4), ("K", 3)],
    },
    Network {
        name: "lstm",
        build: lstm::lstm,
        paper: lstm::SIZES,
        usual: &[("B", 8), ("T", 10), ("D", 256), ("H", 256), ("V", 2000)],
        quick: &[("B", 2), ("T", 3), ("D", 4), ("H", 3), ("V", 5)],
    },
    Network {
        name: "transformer",
        build: transformer::transformer,
        paper: transformer::SIZES,
        usual: &[("B", 4), ("N", 64), ("M", 64), ("H", 4), ("K", 32), ("F", 512), ("V", 2000)],
        quick: &[("B", 2), ("N", 4), ("M", 3), ("H", 2), ("K", 3), ("F", 5), ("V", 4)],
    },
];

impl Network {
    /// The program.
    pub(crate) fn text(&self) -> Result<String, Error> {
        Ok(sdfg::text::print((self.build)()?.0.sdfg()))
    }

    /// Sizes at which it is measured.
    pub(crate) const fn measured(&self, is_quick: bool) -> Sizes {
        if is_quick { self.quick } else { self.usual }
    }
}

/// Prints predictions of the optimal and of the data-parallel strategy.
pub(crate) fn predict(place: &Place<'_>, machine: &Machine, is_quick: bool) -> Result<(), Error> {
    if place.rank != 0 {
        return Ok(());
    }
    place.say(&format!(
        "\npredictions at the sizes of the papers; dimensions have numbers of parts that divide them\n\
         {:12} {:>6} {:>14} {:>18} {:>8} {:>20} {:>20}",
        "model", "ranks", "optimal, ms", "data-parallel, ms", "ratio", "bytes of a rank", "data-parallel"
    ));
    let options = ModelOptions { parts: PartCounts::DivideDimension, ..ModelOptions::default() };
    for model in &MODELS {
        let program = (model.build)()?.0;
        let sizes = if is_quick { model.quick } else { model.paper };
        let sizes: BTreeMap<Symbol, i64> =
            sizes.iter().map(|(name, value)| (Symbol::of(name), *value)).collect();
        for ranks in if is_quick { &RANKS[..1] } else { &RANKS[..] } {
            let machine = Machine { ranks: *ranks, ..machine.clone() };
            let costs = Model::new(&program, &sizes, &machine, &options)?;
            let optimal = costs.predicted(&search(&costs, &Options::default(), &())?.strategy);
            let parallel = data_parallel(&costs).map(|strategy| costs.predicted(&strategy));
            let most = |received: &[u64]| received.iter().max().copied().unwrap_or(0);
            let [time, ratio, bytes] = match &parallel {
                Some(other) => [
                    format!("{:.2}", other.seconds * 1e3),
                    format!("{:.2}", other.seconds / optimal.seconds),
                    most(&other.received).to_string(),
                ],
                None => ["none".to_owned(), String::new(), String::new()],
            };
            place.say(&format!(
                "{:12} {ranks:>6} {:>14.2} {time:>18} {ratio:>8} {:>20} {bytes:>20}",
                model.name,
                optimal.seconds * 1e3,
                most(&optimal.received),
            ));
        }
    }
    Ok(())
}
