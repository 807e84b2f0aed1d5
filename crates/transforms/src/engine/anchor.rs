//! Steps of a pipeline: a transformation with the place to apply it.

use sdfg::ir::Sdfg;
use sdfg::path::ElementPath;

use super::found::places_of;
use super::shared_arguments::checked;
use super::{Conditions, Match, Site, Tables, TransformError, Transformation, places};

/// Where a transformation is applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// At the match that contains these elements, in the order of the pattern. A path may leave out what leads to it, where only
    /// one element is meant; a scope is named by its entry.
    Paths(Vec<ElementPath>),
    /// At the match with this number, from 0, in the order of [`places`].
    Number(usize),
    /// At the only match.
    Only,
    /// At every match, again until there is none that passes the check. With a limit, at most so many times; without one, a
    /// transformation that always applies again, such as tiling, is an error.
    Everywhere {
        /// The limit.
        limit: Option<usize>,
    },
}

/// A transformation with its parameters and the place to apply it.
#[derive(Debug)]
pub struct Step {
    /// The transformation.
    pub transformation: Box<dyn Transformation>,
    /// The place.
    pub at: Anchor,
    /// Conditions that the check takes for granted.
    pub under: Conditions,
}

impl Step {
    /// The step at every place, at most so many times.
    ///
    /// ```
    /// use sdfg_transforms::{Anchor, Step, rewrites::LoopToMap};
    ///
    /// let step = Step::from(LoopToMap::default()).everywhere(None);
    /// assert_eq!(step.at, Anchor::Everywhere { limit: None });
    /// ```
    #[must_use]
    pub fn everywhere(self, limit: Option<usize>) -> Self {
        Step { at: Anchor::Everywhere { limit }, ..self }
    }

    /// The step under conditions.
    ///
    /// ```
    /// use sdfg_transforms::{Conditions, rewrites::LoopToMap};
    ///
    /// let step = LoopToMap::default().at("rows").under(Conditions::guarded_by(["K >= N"]));
    /// assert!(step.under.guard);
    /// ```
    #[must_use]
    pub fn under(self, conditions: Conditions) -> Self {
        Step { under: conditions, ..self }
    }
}

impl<T: Transformation + 'static> From<T> for Step {
    fn from(transformation: T) -> Self {
        Step { transformation: Box::new(transformation), at: Anchor::Only, under: Conditions::default() }
    }
}

impl Anchor {
    /// The match that is meant: of several that fit, the only one that passes the check.
    ///
    /// # Errors
    /// If a path does not resolve, if there is no such match, or several.
    pub fn resolve(
        &self,
        program: &Sdfg,
        transformation: &dyn Transformation,
    ) -> Result<Match, TransformError> {
        self.resolve_among(program, transformation, &places(program, transformation))
    }

    /// As [`resolve`](Anchor::resolve), where the places of the pattern are known.
    pub(super) fn resolve_among(
        &self,
        program: &Sdfg,
        transformation: &dyn Transformation,
        all: &[Match],
    ) -> Result<Match, TransformError> {
        let name = transformation.metadata().name;
        let unlisted;
        let mut fitting: Vec<&Match> = match self {
            Anchor::Number(number) => {
                let found = all.get(*number).cloned();
                return found.ok_or(TransformError::NoNumber { name, number: *number, count: all.len() });
            }
            // Only the pipeline applies a step several times.
            Anchor::Only | Anchor::Everywhere { .. } => all.iter().collect(),
            Anchor::Paths(paths) => {
                let wanted = paths.iter().map(|path| path.resolve(program)).collect::<Result<Vec<_>, _>>()?;
                let contains = |found: &&Match| {
                    let places = found.places(program);
                    let mut rest = places.iter();
                    wanted.iter().all(|place| rest.any(|other| other == place))
                };
                let listed: Vec<&Match> = all.iter().filter(contains).collect();
                if listed.is_empty() {
                    unlisted = places_of(program, transformation, &wanted);
                    unlisted.iter().collect()
                } else {
                    listed
                }
            }
        };
        if fitting.len() > 1 {
            let tables = Tables::new();
            let passes = |found: &&Match| {
                Site::of(program, found, &tables).is_some_and(|site| checked(transformation, &site).is_ok())
            };
            let passing: Vec<&Match> = fitting.iter().copied().filter(|found| passes(found)).collect();
            fitting = if passing.is_empty() { fitting[..1].to_vec() } else { passing };
        }
        match fitting[..] {
            [found] => Ok(found.clone()),
            [] => Err(TransformError::NoMatch {
                name,
                pattern: transformation.pattern().names(),
                at: self.clone(),
                others: listed(program, &all.iter().collect::<Vec<_>>()),
            }),
            ref several => Err(TransformError::Ambiguous {
                name,
                at: self.clone(),
                candidates: listed(program, several),
            }),
        }
    }

    /// The anchor of a match: paths of as many elements as tell it from other matches.
    pub fn of(program: &Sdfg, found: &Match, all: &[Match]) -> Anchor {
        let places = found.places(program);
        let mut others: Vec<_> =
            all.iter().filter(|other| *other != found).map(|other| other.places(program)).collect();
        let mut paths = Vec::new();
        for place in &places {
            paths.extend(place.path(program));
            others.retain(|other| other.contains(place));
            if others.is_empty() {
                return Anchor::Paths(paths);
            }
        }
        all.iter().position(|other| other == found).map_or(Anchor::Only, Anchor::Number)
    }
}

impl std::fmt::Display for Anchor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Anchor::Paths(paths) => {
                let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
                f.write_str(&paths.join(", "))
            }
            Anchor::Number(number) => write!(f, "match {number}"),
            Anchor::Only => f.write_str("any place"),
            Anchor::Everywhere { limit: None } => f.write_str("every place"),
            Anchor::Everywhere { limit: Some(limit) } => write!(f, "every place, at most {limit} times"),
        }
    }
}

/// The paths of some matches, at most five.
fn listed(program: &Sdfg, matches: &[&Match]) -> Vec<String> {
    let text = |found: &&Match| {
        let paths: Vec<String> = found.paths(program).iter().map(ToString::to_string).collect();
        paths.join(", ")
    };
    matches.iter().take(5).map(text).collect()
}
