//! The machine as ranks of MPI see it: rates while all of them are busy, and messages between pairs of them.
//!
//! Latency and rate of the link are a least-squares fit over messages of many sizes.

use sdfg::dtype::ScalarType;
use sdfg_codegen::cache::Cache;
use sdfg_codegen::mpi::{Combination, Context, Dimension, Elements, Flags, Move, Mpi, MpiError, Side};

use super::link::Link;
use super::processors::{Place, WORDS, threads_of_each};
use super::rates::{self, Rates};
use crate::failure::Failure;

/// Bytes of the messages: 8 to 4 Mi.
const SIZES: [i64; 11] =
    [8, 64, 512, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20];

/// Repetitions of each measurement; the median counts.
const REPETITIONS: u32 = 51;

/// Measurements of all ranks, which each of them has.
pub(super) struct Measured {
    /// The rank of this process.
    pub(super) rank: usize,
    /// Threads of each rank.
    pub(super) threads: u32,
    pub(super) rates: Rates,
    pub(super) link: Link,
}

/// Measures with all ranks that run this command.
///
/// # Errors
/// The same on every rank: MPI is missing here, or a rank cannot measure.
pub(super) fn measure() -> Result<Measured, Failure> {
    let library =
        Mpi::find().and_then(|mpi| mpi.library(Cache::of_user().as_ref())).map_err(Failure::usage)?;
    let mut context = Context::of_world(&library).map_err(Failure::usage)?;
    let places = context.gather(&Place::of_this_process().words()).map_err(Failure::program)?;
    let places: Vec<Place> = places.chunks(WORDS).map(Place::of_words).collect();
    let threads = threads_of_each(&places);
    let rates = rates::measure(1, threads);
    let failure = rates.as_ref().err().map(Failure::message);
    context.agree(failure.as_deref()).map_err(Failure::program)?;
    let Rates { operations_per_second, memory_bytes_per_second } = rates?;
    let mut slowest = |rate: f64| context.largest(1.0 / rate).map(|seconds| 1.0 / seconds);
    let (operations, memory) = (slowest(operations_per_second), slowest(memory_bytes_per_second));
    let rates = Rates {
        operations_per_second: operations.map_err(Failure::program)?,
        memory_bytes_per_second: memory.map_err(Failure::program)?,
    };
    let times: Result<Vec<_>, MpiError> = SIZES
        .into_iter()
        .map(|bytes| {
            let seconds = context.measure(&exchange(context.ranks(), bytes), false, REPETITIONS)?;
            Ok((bytes as f64, seconds))
        })
        .collect();
    let link = fitted(&times.map_err(Failure::program)?);
    Ok(Measured { rank: context.rank(), threads, rates, link })
}

/// Each rank sends so many bytes to the one that is as far from the end as it is from the beginning.
fn exchange(ranks: usize, bytes: i64) -> Move {
    let ranks = i64::try_from(ranks).unwrap_or(i64::MAX);
    let side = |begin, step| {
        let rank = Dimension {
            extent: ranks,
            cut: Some(0),
            starts: (0..=ranks).collect(),
            before: 0,
            after: 0,
            elements: Elements { begin, step, moved: Some(0) },
        };
        let message = Dimension {
            extent: bytes,
            cut: None,
            starts: vec![0, bytes],
            elements: Elements { begin: 0, step: 1, moved: Some(1) },
            ..rank.clone()
        };
        Side { grid: vec![ranks], dimensions: vec![rank, message] }
    };
    Move {
        scalar: ScalarType::U8,
        lanes: 1,
        combination: Combination::Assign,
        flags: Flags::default(),
        extents: vec![ranks, bytes],
        source: side(0, 1),
        target: side(ranks - 1, -1),
    }
}

/// The latency and rate for which `latency + bytes / rate` is nearest to the times, in relation to them.
fn fitted(times: &[(f64, f64)]) -> Link {
    // The sums of the normal equations, with the squares of the times as weights.
    let sum = |term: fn(f64, f64) -> f64| times.iter().map(|&(bytes, time)| term(bytes, time)).sum::<f64>();
    let (n, x, xx) = (sum(|_, t| 1.0 / (t * t)), sum(|x, t| x / (t * t)), sum(|x, t| x * x / (t * t)));
    let (y, xy) = (sum(|_, t| 1.0 / t), sum(|x, t| x / t));
    let determinant = n * xx - x * x;
    Link {
        latency_seconds: (y * xx - x * xy) / determinant,
        bytes_per_second: determinant / (n * xy - x * y),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_recover_latency_and_rate() {
        let line = |x: i64| (x as f64, 3e-6 + x as f64 / 5e9);
        let link = fitted(&SIZES.map(line));
        assert!((link.latency_seconds / 3e-6 - 1.0).abs() < 1e-9);
        assert!((link.bytes_per_second / 5e9 - 1.0).abs() < 1e-9);
        // Noise of 10 % up and down in turn changes them by little.
        let noisy: Vec<_> = SIZES
            .iter()
            .enumerate()
            .map(|(at, &x)| (line(x).0, line(x).1 * if at % 2 == 0 { 1.1 } else { 0.9 }))
            .collect();
        let link = fitted(&noisy);
        assert!((link.latency_seconds / 3e-6 - 1.0).abs() < 0.1, "{}", link.latency_seconds);
        assert!((link.bytes_per_second / 5e9 - 1.0).abs() < 0.1, "{}", link.bytes_per_second);
    }
}
