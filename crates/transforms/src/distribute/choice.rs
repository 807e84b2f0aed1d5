//! The cheapest of some ways to divide a program, by what the divided program costs.
//!
//! The cost model of the search counts the elements that ranks need of each other. The divided program moves boxes, and maps that cannot
//! be divided run everywhere. So the search's optimum is one candidate beside others that are known to be good where the model is
//! coarse, and the programs that come out are compared.

use sdfg::ir::Sdfg;
use sdfg::path::ElementPath;
use sdfg::symbolic::Symbol;

use super::whole::Searched;
use super::{DistributeError, Distributed, DivisionOptions, distribute};
use crate::engine::{Pipeline, places};
use crate::rewrites::HaloOverlap;
use crate::strategy::{Operations, StrategyFile, data_parallel};

/// The part of the time of a program that computing an interior while halos travel has to save: loops over borders have costs that the
/// model does not know.
const LEAST_GAIN: f64 = 0.01;

/// Seconds of communication in a run of a divided program; `None` if they are not known before it runs.
pub type Communication<'c> = &'c dyn Fn(&Sdfg) -> Option<f64>;

/// A way to divide a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The optimum of the cost model.
    Search,
    /// The first dimension of each map.
    DataParallel,
}

/// How a program was divided.
#[derive(Debug)]
#[must_use]
pub struct Chosen {
    /// The strategy that was carried out.
    pub way: Way,
    /// The configuration of each operation in the strategy.
    pub strategy: Vec<usize>,
    /// What became of the maps.
    pub outcome: Distributed,
    /// Seconds of computation, by the model, and of communication, by the divided program; `None` if these are not known.
    pub seconds: Option<(f64, f64)>,
}

impl Searched {
    /// Divides a prepared program by its cheapest strategy, or by one that costs less once it is carried out: `communication` tells what
    /// a divided program costs. Of equal ways the first: the optimum of the search, with boxes if the options permit them. Then maps
    /// compute their interiors while halos travel, where that saves more than 1 % of the time.
    ///
    /// # Errors
    /// If the strategy is for another program. The program is then unchanged.
    pub fn carry_out(
        &self,
        pipeline: &mut Pipeline,
        options: DivisionOptions,
        communication: Communication<'_>,
    ) -> Result<Chosen, DistributeError> {
        let mut best: Option<(f64, Way, DivisionOptions)> = None;
        for way in [Way::Search, Way::DataParallel] {
            let Some(strategy) = self.strategy_of(way) else { continue };
            for boxes in [true, false].into_iter().filter(|boxes| options.boxes || !boxes) {
                let options = DivisionOptions { boxes, ..options };
                let mut tried = Pipeline::on(pipeline.program().clone());
                let outcome = self.divide(&mut tried, &strategy, options)?;
                let Some(waiting) = communication(tried.program()) else { continue };
                let seconds = self.computation(&strategy, &outcome) + waiting;
                if best.is_none_or(|(least, ..)| seconds < least) {
                    best = Some((seconds, way, options));
                }
                if outcome.boxes == 0 {
                    // Without boxes, the program is the same.
                    break;
                }
            }
        }
        let (_, way, options) = best.unwrap_or((0.0, Way::Search, options));
        let strategy = self.strategy_of(way).unwrap_or_else(|| self.strategy.clone());
        let mut outcome = self.divide(pipeline, &strategy, options)?;
        let computation = self.computation(&strategy, &outcome);
        let mut waiting = communication(pipeline.program());
        if options.overlap
            && let Some(waiting) = &mut waiting
        {
            outcome.overlapped = overlapped(pipeline, communication, computation, waiting);
        }
        let seconds = waiting.map(|waiting| (computation, waiting));
        Ok(Chosen { way, strategy, outcome, seconds })
    }

    /// The strategy of a way; `None` if the model has none, or if it is that of the search.
    fn strategy_of(&self, way: Way) -> Option<Vec<usize>> {
        match way {
            Way::Search => Some(self.strategy.clone()),
            Way::DataParallel => data_parallel(&self.model).filter(|strategy| *strategy != self.strategy),
        }
    }

    fn divide(
        &self,
        pipeline: &mut Pipeline,
        strategy: &[usize],
        options: DivisionOptions,
    ) -> Result<Distributed, DistributeError> {
        distribute(pipeline, &self.file_of(strategy), options)
    }

    /// The strategy file of another strategy, which has a configuration for each operation.
    pub fn file_of(&self, strategy: &[usize]) -> StrategyFile {
        if strategy == self.strategy {
            return self.file.clone();
        }
        let mut file = self.file.with_strategy(&self.model, strategy);
        let values = self.file.symbols.iter().map(|(name, value)| (Symbol::of(name), *value)).collect();
        self.model.describe(&values, strategy, &mut file);
        file
    }

    /// Seconds of computation, where maps that were not divided run as a whole.
    fn computation(&self, strategy: &[usize], outcome: &Distributed) -> f64 {
        let is_whole = |path: &ElementPath| outcome.whole.iter().any(|(whole, _)| whole == path);
        let carried_out = |(vertex, chosen): (usize, &usize)| {
            let is_one = |parts: &Vec<u32>| parts.iter().all(|parts| *parts == 1);
            match is_whole(&self.file.operations[vertex].path) {
                true => self.model.configurations(vertex).iter().position(is_one).unwrap_or(*chosen),
                false => *chosen,
            }
        };
        let carried_out: Vec<usize> = strategy.iter().enumerate().map(carried_out).collect();
        let predicted = self.model.predicted(&carried_out);
        predicted.seconds - predicted.communication_seconds
    }
}

/// Divides maps in interiors and borders where ranks then wait so much less for messages. Gives the number of these maps.
fn overlapped(
    pipeline: &mut Pipeline,
    communication: Communication<'_>,
    computation: f64,
    waiting: &mut f64,
) -> usize {
    let overlap = HaloOverlap::default();
    let mut count = 0;
    for found in places(pipeline.program(), &overlap) {
        if pipeline.apply_at(&overlap, &found).is_err() {
            continue;
        }
        match communication(pipeline.program()) {
            Some(seconds) if *waiting - seconds > LEAST_GAIN * (computation + *waiting) => {
                *waiting = seconds;
                count += 1;
            }
            Some(_) | None => {
                // There is an application to take back.
                let _ = pipeline.undo();
            }
        }
    }
    count
}
