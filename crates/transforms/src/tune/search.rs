//! The order in which points are tried.
//!
//! 1. Coordinate descent from the given chain: each variable goes to its next value as long as that is faster.
//! 2. If no neighbour is faster: all values of one variable, the nearest first.
//! 3. If none of these is: two variables at once, each to a neighbour. Tile sizes that share a cache need that.
//! 4. Coordinate descent from random points, each compared with the best at its end, until the time is over.
//!
//! A faster point in 2 or 3 leads back to 1. The order depends on the outcomes of comparisons and the seed alone, so that a search
//! with a journal goes on where an earlier one ended.

use std::collections::BTreeMap;
use std::time::Duration;

use thiserror::Error;

use super::trial::compare;
use super::{Bench, Comparison, Point, Space, Trial, Unfit};
use crate::random::Random;

/// Draws of a random point before the space counts as exhausted.
const MOST_DRAWS: usize = 200;
/// The final comparison has this many times the turns of others.
const FINAL_TURNS: usize = 2;
/// The part of the budget, at most, that is kept for the final comparison, and for a candidate to end: one divided by this number.
const RESERVE: u32 = 4;

/// Limits of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The time after which no candidate begins, including that for the final comparison. One that has begun may end later.
    pub budget: Duration,
    /// The seed of random points.
    pub seed: u64,
    /// Turns in which a candidate is compared.
    pub turns: usize,
    /// The most candidates that are measured.
    pub candidates: Option<usize>,
}

/// Memory and messages of a search.
pub trait Journal {
    /// The outcome of an earlier comparison of a candidate with another point.
    fn recall(&mut self, pair: [&Point; 2]) -> Option<Trial>;

    /// A comparison begins.
    fn begin(&mut self, pair: [&Point; 2]);

    /// The comparison that began has no outcome, because the search ends.
    fn abandon(&mut self, pair: [&Point; 2]);

    /// A comparison ended.
    fn end(&mut self, progress: &Progress<'_>);
}

/// The state of a search after a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'s> {
    /// The candidate.
    pub candidate: &'s Point,
    /// The point beside which it was measured.
    pub beside: &'s Point,
    /// The outcome.
    pub trial: &'s Trial,
    /// Whether an earlier search measured it.
    pub is_recalled: bool,
    /// Number of candidates so far.
    pub candidates: usize,
    /// The best point so far.
    pub best: &'s Point,
    /// Its time divided by that of the given chain.
    pub best_ratio: f64,
    /// Seconds of a run of it, as they were measured last.
    pub best_seconds: f64,
    /// The time that is left.
    pub left: Duration,
}

/// Why a search failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SearchError {
    /// The given chain has no program.
    #[error("the given chain cannot be measured: {0}")]
    Start(String),
    /// The program of a point gives other results.
    #[error("{reason}")]
    Wrong {
        /// The point.
        point: Point,
        /// The difference.
        reason: String,
    },
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The budget is used up.
    Budget,
    /// As many candidates as asked for were measured.
    Candidates,
    /// All points were tried, or no further one was found.
    Exhausted,
    /// The user ended it.
    Stopped,
}

/// A point that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The point.
    pub point: Point,
    /// Median seconds of a run.
    pub seconds: f64,
    /// Its time divided by that of the given chain.
    pub ratio: f64,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The best point; the given chain's if none is faster.
    pub best: Point,
    /// The final comparison of the best point with the given chain; none if they are the same, or if there was no time.
    pub confirmation: Option<Comparison>,
    /// The point that was best before the final comparison did not confirm it.
    pub unconfirmed: Option<Point>,
    /// All measured points, the fastest first. The given chain is one of them.
    pub found: Vec<Found>,
    /// Points without a program, with the reasons, in the order of the search.
    pub refused: Vec<(Point, String)>,
    /// Comparisons that this search made.
    pub measured: usize,
    /// Comparisons that an earlier search made.
    pub recalled: usize,
    /// Why it ended.
    pub ended: Ended,
}

/// The end of the search, from within.
enum Stop {
    Ended(Ended),
    Failed(SearchError),
}

/// The outcome of a comparison for the search.
#[derive(Clone, Copy, PartialEq)]
enum Verdict {
    Faster,
    Slower,
    Refused,
}

/// What is known of a point.
#[derive(Clone, Copy)]
struct Known {
    seconds: f64,
    ratio: f64,
}

struct Search<'s> {
    space: &'s Space,
    settings: &'s Settings,
    bench: &'s mut dyn Bench,
    journal: &'s mut dyn Journal,
    start: Point,
    best: Point,
    /// The place of the descent, whose program stays prepared.
    current: Point,
    known: BTreeMap<Point, Known>,
    refused: Vec<(Point, String)>,
    verdicts: BTreeMap<(Point, Point), Verdict>,
    /// Points whose programs are prepared.
    prepared: Vec<Point>,
    /// The longest time of a candidate, with its compilation.
    longest: Duration,
    /// The longest time of a turn.
    turn: Duration,
    measured: usize,
    recalled: usize,
}

/// Searches the point of a space whose program is fastest.
///
/// # Errors
/// [`SearchError`] if the given chain cannot be measured, or if the program of a point gives other results.
pub fn search(
    space: &Space,
    settings: &Settings,
    bench: &mut dyn Bench,
    journal: &mut dyn Journal,
) -> Result<Outcome, SearchError> {
    let start = space.start();
    let mut search = Search {
        space,
        settings,
        bench,
        journal,
        best: start.clone(),
        current: start.clone(),
        known: BTreeMap::new(),
        refused: Vec::new(),
        verdicts: BTreeMap::new(),
        prepared: Vec::new(),
        longest: Duration::ZERO,
        turn: Duration::ZERO,
        measured: 0,
        recalled: 0,
        start,
    };
    let ended = match search.run() {
        Ok(ended) | Err(Stop::Ended(ended)) => ended,
        Err(Stop::Failed(error)) => return Err(error),
    };
    search.finish(ended)
}

impl Search<'_> {
    fn run(&mut self) -> Result<Ended, Stop> {
        let start = self.start.clone();
        let failed = |unfit| match unfit {
            Unfit::Refused(reason) => SearchError::Start(reason),
            Unfit::Wrong(reason) => SearchError::Wrong { point: start.clone(), reason },
        };
        let first = self.bench.prepare(&start).and_then(|()| self.bench.run(&start));
        let seconds = first.map_err(|unfit| Stop::Failed(failed(unfit)))?;
        self.prepared.push(start.clone());
        self.known.insert(start, Known { seconds, ratio: 1.0 });
        self.descend(true)?;
        let mut random = Random::new(self.settings.seed);
        while let Some(point) = self.draw(&mut random) {
            let best = self.best.clone();
            self.current.clone_from(&point);
            self.tidy();
            if self.duel(&point, &best)? == Verdict::Refused {
                continue;
            }
            self.descend(false)?;
            let found = self.current.clone();
            let best = self.best.clone();
            self.duel(&found, &best)?;
            // A better place that a restart found has neighbours that nobody tried.
            if self.best != best {
                self.current = self.best.clone();
                self.descend(true)?;
            }
        }
        Ok(Ended::Exhausted)
    }

    /// Goes from the current point to faster ones until there is none. A thorough descent also tries more than neighbours.
    fn descend(&mut self, is_thorough: bool) -> Result<(), Stop> {
        loop {
            let mut moved = false;
            for variable in 0..self.space.variables().len() {
                moved |= self.climb(variable)?;
            }
            if !moved && !(is_thorough && (self.lines()? || self.diagonals()?)) {
                return Ok(());
            }
        }
    }

    /// Moves one variable to its next values as long as that is faster. Values that are refused are passed over.
    fn climb(&mut self, variable: usize) -> Result<bool, Stop> {
        let mut moved = false;
        for direction in [1, -1] {
            let mut at = self.current[variable];
            while let Some(next) = self.next(variable, at, direction) {
                at = next;
                let mut point = self.current.clone();
                point[variable] = at;
                match self.step(point)? {
                    Verdict::Faster => moved = true,
                    Verdict::Refused => {}
                    Verdict::Slower => break,
                }
            }
            if moved {
                break;
            }
        }
        Ok(moved)
    }

    /// Tries all values of each variable, the nearest first, until one is faster.
    fn lines(&mut self) -> Result<bool, Stop> {
        for variable in 0..self.space.variables().len() {
            let at = self.current[variable];
            let mut others: Vec<usize> = (0..self.space.variables()[variable].values().len()).collect();
            others.sort_by_key(|other| other.abs_diff(at));
            for other in others {
                let mut point = self.current.clone();
                point[variable] = other;
                if point != self.current && self.step(point)? == Verdict::Faster {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Tries two variables at once, each with a neighbour, until one pair is faster.
    fn diagonals(&mut self) -> Result<bool, Stop> {
        let count = self.space.variables().len();
        for (one, other) in (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other))) {
            for (first, second) in [(1, -1), (-1, 1), (1, 1), (-1, -1)] {
                let mut point = self.current.clone();
                let next = |at: usize, by| self.next(at, self.current[at], by);
                let (Some(first), Some(second)) = (next(one, first), next(other, second)) else { continue };
                (point[one], point[other]) = (first, second);
                if self.step(point)? == Verdict::Faster {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn next(&self, variable: usize, at: usize, direction: isize) -> Option<usize> {
        let count = self.space.variables()[variable].values().len();
        at.checked_add_signed(direction).filter(|next| *next < count)
    }

    /// A random point that was not tried.
    fn draw(&self, random: &mut Random) -> Option<Point> {
        if self.known.len() + self.refused.len() >= self.space.len() {
            return None;
        }
        let variables = self.space.variables();
        let mut drawn = (0..MOST_DRAWS).map(|_| {
            variables.iter().map(|variable| random.below(variable.values().len())).collect::<Point>()
        });
        drawn.find(|point| !self.known.contains_key(point) && !self.is_refused(point))
    }

    fn is_refused(&self, point: &Point) -> bool {
        self.refused.iter().any(|(refused, _)| refused == point)
    }

    /// Compares a point with the current one, and goes there if it is faster.
    fn step(&mut self, point: Point) -> Result<Verdict, Stop> {
        let current = self.current.clone();
        let verdict = self.duel(&point, &current)?;
        if verdict == Verdict::Faster {
            self.current = point;
        }
        self.tidy();
        Ok(verdict)
    }

    /// Compares a candidate with another point, unless the outcome is known. A candidate that is faster than the best one is the best.
    fn duel(&mut self, candidate: &Point, other: &Point) -> Result<Verdict, Stop> {
        if candidate == other {
            return Ok(Verdict::Slower);
        }
        if self.is_refused(candidate) {
            return Ok(Verdict::Refused);
        }
        let pair = (candidate.clone(), other.clone());
        if let Some(verdict) = self.verdicts.get(&pair) {
            return Ok(*verdict);
        }
        if let (Some(own), Some(others)) = (self.known.get(candidate), self.known.get(other))
            && own.ratio >= others.ratio
        {
            return Ok(Verdict::Slower);
        }
        let recalled = self.journal.recall([candidate, other]);
        let is_recalled = recalled.is_some();
        let trial = match recalled {
            Some(trial) => trial,
            None => self.measure(candidate, other)?,
        };
        *(if is_recalled { &mut self.recalled } else { &mut self.measured }) += 1;
        let verdict = self.judge(&trial, &pair);
        self.verdicts.insert(pair, verdict);
        let best = self.known.get(&self.best).copied().unwrap_or(Known { seconds: f64::NAN, ratio: 1.0 });
        self.journal.end(&Progress {
            candidate,
            beside: other,
            trial: &trial,
            is_recalled,
            candidates: self.measured + self.recalled,
            best: &self.best,
            best_ratio: best.ratio,
            best_seconds: best.seconds,
            left: self.settings.budget.saturating_sub(self.bench.elapsed()),
        });
        Ok(verdict)
    }

    /// Takes an outcome into account.
    fn judge(&mut self, trial: &Trial, (candidate, other): &(Point, Point)) -> Verdict {
        match trial {
            Trial::Refused { reason } => {
                self.refused.push((candidate.clone(), reason.clone()));
                Verdict::Refused
            }
            Trial::Measured(comparison) => {
                let base = self.known.get(other).map_or(1.0, |other| other.ratio);
                let known = Known { seconds: comparison.seconds, ratio: base * comparison.ratio };
                self.known.insert(candidate.clone(), known);
                if let Some(other) = self.known.get_mut(other) {
                    other.seconds = comparison.against_seconds;
                }
                let is_faster = comparison.is_faster();
                if is_faster && *other == self.best {
                    self.best.clone_from(candidate);
                }
                if is_faster { Verdict::Faster } else { Verdict::Slower }
            }
        }
    }

    fn measure(&mut self, candidate: &Point, other: &Point) -> Result<Trial, Stop> {
        if self.bench.is_stopped() {
            return Err(Stop::Ended(Ended::Stopped));
        }
        if self.settings.candidates.is_some_and(|most| self.measured >= most) {
            return Err(Stop::Ended(Ended::Candidates));
        }
        let (begin, deadline) = (self.bench.elapsed(), self.deadline());
        // A candidate that would probably not end in time does not begin.
        if begin + self.longest.min(deadline / RESERVE) >= deadline {
            return Err(Stop::Ended(Ended::Budget));
        }
        self.journal.begin([candidate, other]);
        let compared = self.compared([candidate, other], self.settings.turns, deadline);
        self.longest = self.longest.max(self.bench.elapsed().saturating_sub(begin));
        let stop = match compared {
            Ok(Some(comparison)) => return Ok(Trial::Measured(comparison)),
            Err(Unfit::Refused(reason)) => return Ok(Trial::Refused { reason }),
            Ok(None) if self.bench.is_stopped() => Stop::Ended(Ended::Stopped),
            Ok(None) => Stop::Ended(Ended::Budget),
            Err(Unfit::Wrong(reason)) => {
                Stop::Failed(SearchError::Wrong { point: candidate.clone(), reason })
            }
        };
        self.journal.abandon([candidate, other]);
        Err(stop)
    }

    /// Prepares two points and compares them.
    fn compared(
        &mut self,
        pair: [&Point; 2],
        turns: usize,
        deadline: Duration,
    ) -> Result<Option<Comparison>, Unfit> {
        for point in pair {
            if !self.prepared.contains(point) {
                self.bench.prepare(point)?;
                self.prepared.push(point.clone());
            }
        }
        let begin = self.bench.elapsed();
        let comparison = compare(self.bench, pair, turns, deadline)?;
        if let Some(Comparison { turns, .. }) = &comparison {
            let taken =
                self.bench.elapsed().saturating_sub(begin) / u32::try_from(*turns).unwrap_or(1).max(1);
            self.turn = self.turn.max(taken);
        }
        Ok(comparison)
    }

    /// The time at which the last candidate ends: it leaves enough for the final comparison.
    fn deadline(&self) -> Duration {
        let budget = self.settings.budget;
        let turns = u32::try_from(FINAL_TURNS * self.settings.turns).unwrap_or(u32::MAX);
        budget.saturating_sub(self.turn.saturating_mul(turns).min(budget / RESERVE))
    }

    /// Releases the programs of points that are not needed any more.
    fn tidy(&mut self) {
        let needed = [&self.start, &self.best, &self.current];
        let (kept, released) =
            std::mem::take(&mut self.prepared).into_iter().partition(|point| needed.contains(&point));
        self.prepared = kept;
        let released: Vec<Point> = released;
        released.iter().for_each(|point| self.bench.release(point));
    }

    /// Compares the best point with the given chain once more, and reports.
    fn finish(mut self, ended: Ended) -> Result<Outcome, SearchError> {
        let (best, start) = (self.best.clone(), self.start.clone());
        let (mut confirmation, mut unconfirmed) = (None, None);
        if best != start && !self.bench.is_stopped() {
            let turns = FINAL_TURNS * self.settings.turns;
            match self.compared([&best, &start], turns, self.settings.budget) {
                Ok(found) => confirmation = found,
                Err(Unfit::Refused(_)) => {}
                Err(Unfit::Wrong(reason)) => return Err(SearchError::Wrong { point: best, reason }),
            }
            if let Some(found) = &confirmation {
                if found.is_faster() {
                    self.known.insert(best, Known { seconds: found.seconds, ratio: found.ratio });
                    self.known.insert(start.clone(), Known { seconds: found.against_seconds, ratio: 1.0 });
                } else {
                    unconfirmed = Some(best);
                    self.best = start;
                }
            }
        }
        let all = self.known.iter().map(|(point, Known { seconds, ratio })| Found {
            point: point.clone(),
            seconds: *seconds,
            ratio: *ratio,
        });
        let mut found: Vec<Found> = all.collect();
        found.sort_by(|one, other| one.ratio.total_cmp(&other.ratio));
        Ok(Outcome {
            best: self.best,
            confirmation,
            unconfirmed,
            found,
            refused: self.refused,
            measured: self.measured,
            recalled: self.recalled,
            ended,
        })
    }
}
