//! Comparison of two points by runs in turns.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Point;

/// A gain by less than this part of the time is none: nobody would notice it, and no machine is that quiet.
const LEAST_GAIN: f64 = 0.01;
/// Turns after which a candidate that was slower by a factor in each of them is not measured further.
const CLEARLY_SLOWER: [(usize, f64); 3] = [(1, 4.0), (2, 1.5), (FEW_TURNS, 1.03)];
/// The fewest turns that show that a candidate is faster.
const FEW_TURNS: usize = 3;

/// Why a point has no time.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unfit {
    /// A step of its chain refuses, or the compiler does.
    #[error("{0}")]
    Refused(String),
    /// Its program gives other results: a rewrite is wrong.
    #[error("{0}")]
    Wrong(String),
}

/// Programs of points that run, and a clock.
pub trait Bench {
    /// Makes the program of a point ready to run, and checks its results.
    ///
    /// # Errors
    /// [`Unfit`] if there is none, or if it gives other results.
    fn prepare(&mut self, point: &Point) -> Result<(), Unfit>;

    /// Runs the program of a prepared point, and gives the seconds of one run.
    ///
    /// # Errors
    /// [`Unfit`] if it fails.
    fn run(&mut self, point: &Point) -> Result<f64, Unfit>;

    /// The program of a point is not needed any more.
    fn release(&mut self, point: &Point);

    /// The time since the beginning of the search.
    fn elapsed(&self) -> Duration;

    /// Whether the user wants the search to end.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// The outcome of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum Trial {
    /// The candidate has no program.
    Refused {
        /// The reason.
        reason: String,
    },
    /// It was measured.
    Measured(Comparison),
}

/// Times of a candidate and of another point, in turns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Median seconds of a run of the candidate.
    pub seconds: f64,
    /// Median seconds of a run of the other point.
    pub against_seconds: f64,
    /// Median of the time of the candidate divided by that of the other point in the same turn.
    pub ratio: f64,
    /// Upper quartile of these ratios. The distance from the median is the spread.
    pub upper: f64,
    /// Number of turns. It is small if the candidate was clearly slower.
    pub turns: usize,
}

impl Comparison {
    fn of(times: &[[f64; 2]]) -> Self {
        let sorted = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values
        };
        let own = sorted(times.iter().map(|[own, _]| *own).collect());
        let other = sorted(times.iter().map(|[_, other]| *other).collect());
        let ratios = sorted(times.iter().map(|[own, other]| own / other).collect());
        Comparison {
            seconds: median(&own),
            against_seconds: median(&other),
            ratio: median(&ratios),
            // The smallest value that three quarters do not exceed.
            upper: ratios.get((3 * ratios.len()).div_ceil(4).saturating_sub(1)).copied().unwrap_or(f64::NAN),
            turns: times.len(),
        }
    }

    /// Whether the candidate is faster by more than the spread, and by more than what counts.
    pub fn is_faster(&self) -> bool {
        self.turns >= FEW_TURNS && self.ratio < 1.0 - LEAST_GAIN && self.upper < 1.0
    }

    /// Whether more turns may show that the candidate is faster.
    fn is_undecided(&self) -> bool {
        self.ratio < 1.0 - LEAST_GAIN && self.upper >= 1.0
    }
}

/// The median of sorted values.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        length if length % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// Measures a candidate beside another point in so many turns, or twice as many if they leave open which is faster. Both are prepared.
/// Gives nothing if the time is over before there are enough turns.
///
/// # Errors
/// [`Unfit`] if a run fails.
pub fn compare(
    bench: &mut dyn Bench,
    [candidate, other]: [&Point; 2],
    turns: usize,
    deadline: Duration,
) -> Result<Option<Comparison>, Unfit> {
    let mut times: Vec<[f64; 2]> = Vec::new();
    let mut wanted = turns.max(FEW_TURNS);
    while times.len() < wanted {
        if bench.is_stopped() || (bench.elapsed() >= deadline && times.len() < FEW_TURNS) {
            return Ok(None);
        }
        if bench.elapsed() >= deadline {
            break;
        }
        // The first run of a turn pays for what the other program left in the caches.
        let pair = if times.len().is_multiple_of(2) {
            let own = bench.run(candidate)?;
            [own, bench.run(other)?]
        } else {
            let against = bench.run(other)?;
            [bench.run(candidate)?, against]
        };
        times.push(pair);
        let is_slower = |(turns, factor): &(usize, f64)| {
            times.len() >= *turns && times.iter().all(|[own, other]| *own > factor * other)
        };
        if CLEARLY_SLOWER.iter().any(is_slower) {
            break;
        }
        if times.len() == turns && wanted == turns && Comparison::of(&times).is_undecided() {
            wanted = 2 * turns;
        }
    }
    Ok(Some(Comparison::of(&times)))
}
