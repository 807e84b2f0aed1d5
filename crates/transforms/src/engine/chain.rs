//! Chains: the transformations of a program as a file ("optimization version control", paper, section 4.2).
//!
//! ```json
//! {
//!   "version": 1,
//!   "steps": [
//!     { "transformation": "simplify" },
//!     { "transformation": "MapTiling", "parameters": { "tile_sizes": [32] }, "at": ["double/main/m"] },
//!     { "transformation": "MapCollapse", "at": "everywhere", "limit": 8 },
//!     { "transformation": "LoopToMap", "at": ["double/rows"], "assume": ["K >= N"], "guard": true }
//!   ]
//! }
//! ```
//!
//! A step is at the elements of a match (`at` is a list of paths), at a match by its number, everywhere, or at the only match. The
//! step `simplify` applies the strict transformations everywhere, at most `fuel` times if it has this parameter. It takes no place and
//! no conditions. A chain that was tuned has the
//! measurement as `"tuned"` ([`Tuned`]).

use std::path::Path;

use sdfg::file;
use sdfg::ir::Sdfg;
use sdfg::path::PathError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::{
    Anchor, Conditions, ParameterError, Pipeline, Registry, Soundness, Step, TransformError, Transformation,
    Tuned, chain_file,
};

/// The name of the step that simplifies.
pub(super) const SIMPLIFY: &str = "simplify";

/// A list of steps that is replayed on programs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chain {
    pub(super) steps: Vec<ChainStep>,
    /// The measurement that selected the parameters, if one did.
    tuned: Option<Tuned>,
}

/// A step of a chain.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ChainStep {
    pub(super) transformation: String,
    pub(super) parameters: Value,
    pub(super) at: Anchor,
    pub(super) under: Conditions,
}

/// A step of a chain with the transformation of a registry.
#[derive(Debug)]
pub enum Action {
    /// A transformation with its parameters.
    Apply(Box<dyn Transformation>),
    /// Simplification, with the largest number of applications.
    Simplify(Option<usize>),
}

impl Action {
    /// The name of the transformation.
    pub fn name(&self) -> &'static str {
        match self {
            Action::Apply(transformation) => transformation.metadata().name,
            Action::Simplify(_) => SIMPLIFY,
        }
    }

    /// How far results stay the same. Simplification consists of transformations that keep them.
    pub fn soundness(&self) -> Soundness {
        match self {
            Action::Apply(transformation) => transformation.metadata().soundness,
            Action::Simplify(_) => Soundness::Always,
        }
    }
}

/// The parameters of a simplification.
#[derive(Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
struct Fuel {
    #[serde(skip_serializing_if = "Option::is_none")]
    fuel: Option<usize>,
}

impl ChainStep {
    /// The step that simplifies.
    pub(super) fn simplification(fuel: Option<usize>) -> Self {
        ChainStep {
            transformation: SIMPLIFY.to_owned(),
            // A number has a form in JSON.
            parameters: serde_json::to_value(Fuel { fuel }).unwrap_or_default(),
            at: Anchor::Only,
            under: Conditions::default(),
        }
    }

    fn failed(&self, at: usize, error: TransformError) -> ChainError {
        ChainError::Step { number: at + 1, name: self.transformation.clone(), error: Box::new(error) }
    }
}

/// Why a chain could not be read or replayed.
#[derive(Debug, Error)]
pub enum ChainError {
    /// The file could not be read or written.
    #[error("cannot read or write the chain `{path}`: {error}")]
    File {
        /// The file.
        path: String,
        /// The error of the system.
        error: std::io::Error,
    },
    /// The text of a file is no chain.
    #[error("{path}: {error}")]
    Text {
        /// The file.
        path: String,
        /// What is wrong with it.
        error: Box<ChainError>,
    },
    /// The text is no chain.
    #[error("this is no chain of transformations: {0}")]
    Format(#[from] serde_json::Error),
    /// The version is another one.
    #[error("the chain has version {0}, and only version 1 is known")]
    Version(u32),
    /// An anchor is no path.
    #[error("step {number} ({name}): {error}")]
    Anchor {
        /// Number of the step, from 1.
        number: usize,
        /// The transformation.
        name: String,
        /// What is wrong with the path.
        error: PathError,
    },
    /// The text is JSON of another shape.
    #[error("this is no chain of transformations: {0}")]
    Shape(&'static str),
    /// A field of a step has a wrong value, or has no meaning in the step.
    #[error("step {number} ({name}): {reason}")]
    Field {
        /// Number of the step, from 1.
        number: usize,
        /// The transformation.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// A step at one place has a limit.
    #[error("step {number} ({name}): a limit needs `\"at\": \"everywhere\"`")]
    Limit {
        /// Number of the step, from 1.
        number: usize,
        /// The transformation.
        name: String,
    },
    /// A step does not apply. The pipeline has the steps before it.
    #[error("step {number} ({name}): {error}")]
    Step {
        /// Number of the step, from 1.
        number: usize,
        /// The transformation.
        name: String,
        /// The reason.
        error: Box<TransformError>,
    },
}

impl Chain {
    pub(super) fn of_steps(steps: impl IntoIterator<Item = ChainStep>) -> Self {
        Chain { steps: steps.into_iter().collect(), tuned: None }
    }

    /// The conditions of the steps, in order.
    pub fn conditions(&self) -> impl Iterator<Item = &Conditions> {
        self.steps.iter().map(|step| &step.under)
    }

    /// Whether the check of some step takes a condition for granted that no code tests.
    pub fn assumes(&self) -> bool {
        self.steps.iter().any(|step| !step.under.is_empty() && !step.under.guard)
    }

    /// The measurement that selected the parameters, if one did.
    pub fn tuned(&self) -> Option<&Tuned> {
        self.tuned.as_ref()
    }

    /// The chain with the record of a measurement, or without one.
    #[must_use]
    pub fn with_tuned(self, tuned: Option<Tuned>) -> Self {
        Chain { tuned, ..self }
    }

    /// The parameters of a step, from 0, as the chain gives them.
    pub(crate) fn parameters(&self, step: usize) -> Option<&Value> {
        self.steps.get(step).map(|step| &step.parameters)
    }

    /// Sets a parameter of a step, from 0, if there is such a step.
    pub(crate) fn set_parameter(&mut self, step: usize, name: &str, value: Value) {
        if let Some(parameters) = self.steps.get_mut(step).and_then(|step| step.parameters.as_object_mut()) {
            parameters.insert(name.to_owned(), value);
        }
    }

    /// Number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is no step.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The first steps.
    pub fn cut(&self, count: usize) -> Chain {
        Chain::of_steps(self.steps.iter().take(count).cloned())
    }

    /// The steps of this chain and then those of another one. Nobody measured both together, so the record of tuning is lost.
    #[must_use]
    pub fn then(self, other: Chain) -> Chain {
        Chain::of_steps(self.steps.into_iter().chain(other.steps))
    }

    /// Each step as a line.
    pub fn lines(&self) -> Vec<String> {
        let line = |step: &ChainStep| {
            let mut text = step.transformation.clone();
            for (name, value) in step.parameters.as_object().into_iter().flatten() {
                text.push_str(&format!(" {name}={value}"));
            }
            if step.transformation != SIMPLIFY {
                text.push_str(&format!(" at {}", step.at));
            }
            match (step.under.is_empty(), step.under.guard) {
                (true, _) => text,
                (false, true) => format!("{text} guarded by {}", step.under),
                (false, false) => format!("{text} assuming {}", step.under),
            }
        };
        self.steps.iter().map(line).collect()
    }

    /// The chain as JSON.
    ///
    /// # Errors
    /// [`ChainError::Format`] if a parameter is no JSON.
    pub fn to_json(&self) -> Result<String, ChainError> {
        chain_file::write(&self.steps, self.tuned.as_ref())
    }

    /// Reads a chain from JSON.
    ///
    /// # Errors
    /// If the text is no chain of a known version.
    pub fn from_json(text: &str) -> Result<Self, ChainError> {
        let (steps, tuned) = chain_file::read(text)?;
        Ok(Chain { steps, tuned })
    }

    /// Writes the chain to a file, whole or not at all. A pipe or device takes the text as it comes.
    ///
    /// # Errors
    /// [`ChainError::File`]; the file that was there is then untouched.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), ChainError> {
        let path = path.as_ref();
        file::write(path, self.to_json()?.as_bytes())
            .map_err(|error| ChainError::File { path: path.display().to_string(), error })
    }

    /// Reads a chain from a file.
    ///
    /// # Errors
    /// [`ChainError::File`], and [`ChainError::Text`] with those of [`from_json`](Chain::from_json).
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ChainError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|error| ChainError::File { path: path.display().to_string(), error })?;
        Chain::from_json(&text)
            .map_err(|error| ChainError::Text { path: path.display().to_string(), error: Box::new(error) })
    }

    /// Applies the steps to a program, with the transformations of a registry.
    ///
    /// # Errors
    /// [`ChainError::Step`] tells which step does not apply, and why.
    pub fn replay(&self, program: Sdfg, registry: &Registry) -> Result<Pipeline, ChainError> {
        let mut pipeline = Pipeline::on(program);
        for (action, (at, step)) in self.actions(registry)?.into_iter().zip(self.steps.iter().enumerate()) {
            let taken = match action {
                Action::Simplify(fuel) => {
                    pipeline.simplify(registry, fuel);
                    Ok(())
                }
                Action::Apply(transformation) => {
                    let step = Step { transformation, at: step.at.clone(), under: step.under.clone() };
                    pipeline.apply(step).map(|_| ())
                }
            };
            taken.map_err(|error| step.failed(at, error))?;
        }
        Ok(pipeline)
    }

    /// The steps with the transformations of a registry.
    ///
    /// # Errors
    /// [`ChainError::Step`] if there is none of a name, or if it has other parameters.
    pub fn actions(&self, registry: &Registry) -> Result<Vec<Action>, ChainError> {
        let made = |(at, step): (usize, &ChainStep)| {
            if step.transformation == SIMPLIFY {
                let parameters = if step.parameters.is_null() {
                    Ok(Fuel::default())
                } else {
                    serde_json::from_value(step.parameters.clone())
                };
                let fuel = parameters.map_err(|error| {
                    let name = SIMPLIFY.to_owned();
                    let known = vec!["`fuel` (integer)".to_owned()];
                    let error = ParameterError::Parameters { name, reason: error.to_string(), known };
                    step.failed(at, error.into())
                })?;
                return Ok(Action::Simplify(fuel.fuel));
            }
            let made = registry.make(&step.transformation, &step.parameters);
            made.map(Action::Apply).map_err(|error| step.failed(at, error.into()))
        };
        self.steps.iter().enumerate().map(made).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::rewrites::MapTiling;

    #[test]
    fn a_saved_chain_replaces_the_file_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("a.json"), folder.path().join("b.json"));
        std::fs::write(&file, "before").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let reader = std::fs::File::open(&file).unwrap();
        Chain::default().save(&link).unwrap();
        assert_eq!(std::io::read_to_string(reader).unwrap(), "before");
        assert_eq!(Chain::load(&file).unwrap(), Chain::default());
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o600, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "temporary files are left");
    }

    #[test]
    fn chains_are_written_to_devices_and_not_to_missing_folders() {
        Chain::default().save("/dev/null").unwrap();
        for place in ["/dev/full", "/nowhere/a.json"] {
            assert!(matches!(Chain::default().save(place), Err(ChainError::File { .. })), "{place}");
        }
    }

    #[test]
    fn actions_have_the_names_of_their_transformations() {
        assert_eq!(Action::Apply(Box::new(MapTiling::new([2]))).name(), "MapTiling");
        assert_eq!(Action::Simplify(None).name(), "simplify");
    }
}
