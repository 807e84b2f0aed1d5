//! Programs that are distributed over ranks by strategies, run in the interpreter on virtual ranks.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use sdfg::ir::Sdfg;
use sdfg::path::ElementPath;
use sdfg::symbolic::Symbol;
use sdfg::validate::validate;
use sdfg_codegen::ranks::{LocaliseError, Rates, Traffic, TrafficError, Waiting};
use sdfg_library::{ExpandLibrary, transformations};
use sdfg_transforms::distribute::{
    Distribute, DistributeError, Distributed, DivisionOptions, Searched, distribute, distribute_by,
    outer_maps, prepare,
};
use sdfg_transforms::rewrites::HaloOverlap;
use sdfg_transforms::strategy::model::Machine;
use sdfg_transforms::{Pipeline, Soundness, Step, places};

use crate::applications::{Applications, applied, refused_for_a_reason};
use crate::random::Rng;
use crate::rewritten::Case;

/// Transformations that distribute a program.
const DISTRIBUTING: [&str; 6] = [
    "CopyHoisting",
    "DistributeContainer",
    "HaloOverlap",
    "MPITransform",
    "MapStorage",
    "RedundantRedistribution",
];

/// The most ranks of a random strategy.
const MOST_RANKS: usize = 16;

/// How often random strategies cut all maps and arguments of a program alike, so that copies refresh halos, and let maps compute
/// interiors meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alike {
    /// Each of this in half of the programs.
    Sometimes,
    /// In nine tenths of them.
    Mostly,
}

impl Case {
    /// Distributes the program by random numbers of parts of its maps, and compares the results on as many ranks as there are
    /// parts, on one less, and on one.
    ///
    /// # Errors
    /// If the distributed program is not valid, traps or gives other results.
    pub fn distributed(&self, alike: Alike, rng: &mut Rng) -> Result<Applications, String> {
        let least = if alike == Alike::Mostly { 2 } else { 1 };
        let ranks = least + rng.below(MOST_RANKS + 1 - least);
        let (pipeline, outcome, _) = self.divided(ranks, alike, rng);
        let mut counts = applied(&pipeline);
        counts.retain(|name, _| DISTRIBUTING.contains(name));
        let divided = counts.entry("MPITransform").or_default();
        for (_, reason) in &outcome.whole {
            divided.note(Err(refused_for_a_reason("MPITransform", reason)?));
        }
        self.compare(pipeline.program(), Soundness::ChangesRounding)
            .and_then(|()| self.counted(&pipeline, ranks as u32).map(|_| ()))
            .map_err(|what| format!("distributed by {}: {what}", pipeline.chain().lines().join("; ")))?;
        Ok(counts)
    }

    /// Distributes the program over so many ranks, and compares the results on as many ranks as there are parts, on one less, and on one.
    /// Gives what became of its maps, and the bytes that each rank receives by moves; `None` if data decide what moves.
    ///
    /// # Errors
    /// If the cost model refuses the program, or the distributed program is not valid, traps, gives other results or moves other bytes
    /// than predicted.
    pub fn distributed_by(
        &self,
        distribute: Distribute,
        ranks: u32,
    ) -> Result<(Distributed, Option<Vec<u64>>), String> {
        let mut pipeline = simplified(&self.program);
        let outcome = distribute.with_sizes(self.arguments.symbols()).apply(&mut pipeline);
        let outcome = outcome.map_err(|error| error.to_string())?;
        self.compare(pipeline.program(), Soundness::ChangesRounding)?;
        let received = self.counted(&pipeline, ranks)?;
        Ok((outcome, received))
    }

    /// Bytes that each rank receives by moves of a distributed program, as they follow from its copies, if the interpreter counts the same
    /// on so many virtual ranks; `None` if data decide what moves. Combinations count apart: they take the steps of an all-reduce.
    ///
    /// # Errors
    /// If they differ, or the program fails. Where owners send to replicas that hold current values by chance, the interpreter may
    /// count less.
    pub(crate) fn counted(&self, pipeline: &Pipeline, ranks: u32) -> Result<Option<Vec<u64>>, String> {
        let program = validate(pipeline.program().clone()).map_err(|rejected| rejected.to_string())?;
        let report = self.report(&program, ranks)?;
        let mut counted: Vec<u64> = report.received.iter().map(|received| received.copied).collect();
        counted.resize(ranks as usize, 0);
        let traffic = match Traffic::of(program.sdfg(), &named(self.arguments.symbols()), ranks) {
            Ok(traffic) => traffic,
            Err(TrafficError::Data { .. } | TrafficError::Localise(LocaliseError::Unsupported { .. })) => {
                return Ok(None);
            }
            Err(error) => return Err(error.to_string()),
        };
        let predicted = traffic.moved();
        let may_be_less = traffic.copies.iter().any(|copy| copy.has_replicas && !copy.combines);
        let fits = |(counted, predicted): (&u64, &u64)| match may_be_less {
            true => counted <= predicted,
            false => counted == predicted,
        };
        match counted.iter().zip(&predicted).all(fits) {
            true => Ok(Some(predicted)),
            false => Err(format!("ranks receive {counted:?} bytes, and {predicted:?} were predicted")),
        }
    }

    /// The program, distributed by random numbers of parts of its maps, at most so many for each. Some programs compute interiors
    /// while halos travel; the last number tells in how many maps.
    pub(crate) fn divided(
        &self,
        ranks: usize,
        alike: Alike,
        rng: &mut Rng,
    ) -> (Pipeline, Distributed, usize) {
        let percent = match alike {
            Alike::Sometimes => 50,
            Alike::Mostly => 90,
        };
        let mut pipeline = prepared(&self.program);
        let is_common = rng.chance(percent);
        let least = if alike == Alike::Mostly { ranks.min(2) } else { 1 };
        let steps = random_parts(&pipeline, least..=ranks, is_common, rng);
        let options =
            DivisionOptions { arguments: rng.chance(percent), boxes: rng.chance(50), overlap: false };
        let outcome = distribute_by(&mut pipeline, &steps, options);
        let overlapped = if rng.chance(percent) { overlap(&mut pipeline) } else { 0 };
        (pipeline, outcome, overlapped)
    }

    /// The bytes that each rank receives if the program is divided by its cheapest strategy on a machine: as the cost model predicts, and as
    /// the interpreter counts on as many virtual ranks.
    ///
    /// # Errors
    /// If the model refuses the program, or the distributed program fails.
    pub fn predicted_bytes(&self, machine: &Machine) -> Result<(Vec<u64>, Vec<u64>), String> {
        let mut pipeline = prepared(&self.program);
        let sizes = named(self.arguments.symbols());
        let searched =
            Searched::of(pipeline.program(), &sizes, machine).map_err(|error| error.to_string())?;
        let _ = distribute(&mut pipeline, &searched.file, DivisionOptions::default())
            .map_err(|error| error.to_string())?;
        let distributed = validate(pipeline.program().clone()).map_err(|rejected| rejected.to_string())?;
        let report = self.report(&distributed, machine.ranks)?;
        let mut counted: Vec<u64> =
            report.received.iter().map(|received| received.copied + received.combined).collect();
        counted.resize(machine.ranks as usize, 0);
        Ok((searched.model.predicted(&searched.strategy).received, counted))
    }
}

/// A simplified program without library nodes, as [`Distribute`] takes it.
pub fn simplified(program: &Sdfg) -> Pipeline {
    let mut pipeline = Pipeline::on(program.clone());
    // Not every program has something to expand.
    let _ = pipeline.apply(Step::from(ExpandLibrary::by("pure")).everywhere(None));
    pipeline.simplify(&transformations(), None);
    pipeline
}

/// A program that is ready to be divided: [`simplified`], with each map in a state of its own.
pub fn prepared(program: &Sdfg) -> Pipeline {
    let mut pipeline = simplified(program);
    prepare(&mut pipeline);
    pipeline
}

/// Lets the maps of a distributed program compute their interiors while halos travel. Gives the number of these maps.
pub fn overlap(pipeline: &mut Pipeline) -> usize {
    let overlap = HaloOverlap::default();
    let found = places(pipeline.program(), &overlap);
    found.iter().filter(|found| pipeline.apply_at(&overlap, found).is_ok()).count()
}

/// Strategies that need no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// The cheapest strategy of the cost model, or a cheaper one of what is carried out, on a machine whose arithmetic costs much more than
    /// messages: all is divided.
    Optimal,
    /// The first dimension of each map.
    DataParallel,
    /// Random numbers of parts of each map, by this seed.
    Random(u64),
}

impl Division {
    /// Divides a [`simplified`] program, and the containers that its caller passes, for these values of its symbols.
    ///
    /// # Errors
    /// As [`Distribute::apply`].
    pub fn carry_out<'n>(
        self,
        pipeline: &mut Pipeline,
        ranks: u32,
        sizes: impl IntoIterator<Item = (&'n str, i64)>,
    ) -> Result<Distributed, DistributeError> {
        match self {
            Division::Optimal => {
                prepare(pipeline);
                let (machine, sizes) = (compute_bound(ranks), named(sizes.into_iter()));
                let searched = Searched::of(pipeline.program(), &sizes, &machine)?;
                let seconds = |program: &Sdfg| communication(program, &sizes, &machine);
                let chosen = searched.carry_out(pipeline, DivisionOptions::default(), &seconds)?;
                Ok(chosen.outcome)
            }
            Division::DataParallel => Distribute::data_parallel(ranks).apply(pipeline),
            Division::Random(seed) => {
                prepare(pipeline);
                let steps = random_parts(pipeline, 1..=ranks as usize, false, &mut Rng::new(seed));
                Ok(distribute_by(pipeline, &steps, DivisionOptions::default()))
            }
        }
    }
}

/// Seconds of communication in a run of a divided program, for these values of its symbols; `None` if only a run tells them.
pub fn communication(program: &Sdfg, sizes: &BTreeMap<Symbol, i64>, machine: &Machine) -> Option<f64> {
    Waiting::of(program, sizes, machine.ranks, rates(machine)).ok().map(|waiting| waiting.seconds)
}

/// The rates of a machine.
pub fn rates(machine: &Machine) -> Rates {
    Rates {
        latency_seconds: machine.latency_seconds,
        link_bytes_per_second: machine.link_bytes_per_second,
        operations_per_second: machine.operations_per_second,
        memory_bytes_per_second: machine.memory_bytes_per_second,
    }
}

/// The values of symbols by their names.
fn named<'n>(symbols: impl Iterator<Item = (&'n str, i64)>) -> BTreeMap<Symbol, i64> {
    symbols.map(|(name, value)| (Symbol::of(name), value)).collect()
}

/// A machine whose arithmetic costs so much that every operation is divided, however small.
pub fn compute_bound(ranks: u32) -> Machine {
    Machine { ranks, operations_per_second: 1.0, latency_seconds: 0.0, ..Machine::default() }
}

/// For each map outside of scopes a number of parts of each dimension, so many in all. With `is_common`, maps of as many
/// dimensions have the same ones: then they share containers, whose halos are refreshed.
fn random_parts(
    pipeline: &Pipeline,
    ranks: RangeInclusive<usize>,
    is_common: bool,
    rng: &mut Rng,
) -> Vec<(ElementPath, Vec<u32>)> {
    let parts = |dimensions: usize, rng: &mut Rng| {
        let (mut least, mut left) = (*ranks.start(), *ranks.end());
        let mut count = || {
            let count = least + rng.below(left + 1 - least);
            left /= count;
            least = 1;
            count as u32
        };
        (0..dimensions).map(|_| count()).collect()
    };
    let mut common: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    let maps = outer_maps(pipeline.program()).into_iter();
    let of_map = |(path, dimensions)| {
        let parts = match is_common {
            true => common.entry(dimensions).or_insert_with(|| parts(dimensions, rng)).clone(),
            false => parts(dimensions, rng),
        };
        (path, parts)
    };
    maps.map(of_map).collect()
}
