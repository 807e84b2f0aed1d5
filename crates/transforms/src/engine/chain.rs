//! Chains: the transformations of a program as a file ("optimization version control", paper, section 4.2).
//!
//! ```json
//! {
//!   "version": 1,
//!   "steps": [
//!     { "transformation": "MapTiling", "parameters": { "tile_sizes": [32] }, "at": ["double/main/m"] }
//!   ]
//! }
//! ```

use std::path::Path;

use sdfg::ir::Sdfg;
use sdfg::path::{ElementPath, PathError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::{Anchor, Pipeline, Registry, Step, TransformError, Transformation};

/// Version of the format.
const VERSION: u32 = 1;

/// A list of steps that is replayed on programs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chain {
    pub(super) steps: Vec<ChainStep>,
}

/// A step of a chain.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ChainStep {
    pub(super) transformation: String,
    pub(super) parameters: Value,
    pub(super) at: Anchor,
}

impl ChainStep {
    fn failed(&self, at: usize, error: TransformError) -> ChainError {
        ChainError::Step { number: at + 1, name: self.transformation.clone(), error: Box::new(error) }
    }
}

/// Why a chain could not be read or replayed.
#[derive(Debug, Error)]
pub enum ChainError {
    /// The file could not be read or written.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: String,
        /// The error of the system.
        error: std::io::Error,
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

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    steps: Vec<FileStep>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileStep {
    transformation: String,
    #[serde(default, skip_serializing_if = "is_empty")]
    parameters: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<FileAnchor>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum FileAnchor {
    Paths(Vec<String>),
    Number(usize),
}

fn is_empty(parameters: &Value) -> bool {
    parameters.as_object().is_none_or(serde_json::Map::is_empty)
}

impl Chain {
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
        Chain { steps: self.steps.iter().take(count).cloned().collect() }
    }

    /// The steps of this chain and then those of another one.
    #[must_use]
    pub fn then(mut self, other: Chain) -> Chain {
        self.steps.extend(other.steps);
        self
    }

    /// The number of steps that two chains begin with in common.
    pub fn common(&self, other: &Chain) -> usize {
        self.steps.iter().zip(&other.steps).take_while(|(a, b)| a == b).count()
    }

    /// Each step as a line.
    pub fn lines(&self) -> Vec<String> {
        let line = |step: &ChainStep| {
            let mut text = step.transformation.clone();
            for (name, value) in step.parameters.as_object().into_iter().flatten() {
                text.push_str(&format!(" {name}={value}"));
            }
            format!("{text} at {}", step.at)
        };
        self.steps.iter().map(line).collect()
    }

    /// The chain as JSON.
    ///
    /// # Errors
    /// [`ChainError::Format`] if a parameter is no JSON.
    pub fn to_json(&self) -> Result<String, ChainError> {
        let step = |step: &ChainStep| FileStep {
            transformation: step.transformation.clone(),
            parameters: step.parameters.clone(),
            at: match &step.at {
                Anchor::Paths(paths) => {
                    Some(FileAnchor::Paths(paths.iter().map(ToString::to_string).collect()))
                }
                Anchor::Number(number) => Some(FileAnchor::Number(*number)),
                Anchor::Only => None,
            },
        };
        let file = File { version: VERSION, steps: self.steps.iter().map(step).collect() };
        Ok(serde_json::to_string_pretty(&file)? + "\n")
    }

    /// Reads a chain from JSON.
    ///
    /// # Errors
    /// If the text is no chain of a known version.
    pub fn from_json(text: &str) -> Result<Self, ChainError> {
        let file: File = serde_json::from_str(text)?;
        if file.version != VERSION {
            return Err(ChainError::Version(file.version));
        }
        let mut steps = Vec::with_capacity(file.steps.len());
        for (at, step) in file.steps.into_iter().enumerate() {
            let wrong =
                |error| ChainError::Anchor { number: at + 1, name: step.transformation.clone(), error };
            let anchor = match step.at {
                None => Anchor::Only,
                Some(FileAnchor::Number(number)) => Anchor::Number(number),
                Some(FileAnchor::Paths(paths)) => {
                    let parsed = paths.iter().map(|path| path.parse::<ElementPath>());
                    Anchor::Paths(parsed.collect::<Result<_, _>>().map_err(wrong)?)
                }
            };
            steps.push(ChainStep {
                transformation: step.transformation,
                parameters: step.parameters,
                at: anchor,
            });
        }
        Ok(Chain { steps })
    }

    /// Writes the chain to a file.
    ///
    /// # Errors
    /// [`ChainError::File`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), ChainError> {
        let path = path.as_ref();
        std::fs::write(path, self.to_json()?)
            .map_err(|error| ChainError::File { path: path.display().to_string(), error })
    }

    /// Reads a chain from a file.
    ///
    /// # Errors
    /// [`ChainError::File`], and those of [`from_json`](Chain::from_json).
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ChainError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|error| ChainError::File { path: path.display().to_string(), error })?;
        Chain::from_json(&text)
    }

    /// Applies the steps to a program, with the transformations of a registry.
    ///
    /// # Errors
    /// [`ChainError::Step`] tells which step does not apply, and why.
    pub fn replay(&self, program: Sdfg, registry: &Registry) -> Result<Pipeline, ChainError> {
        let mut pipeline = Pipeline::on(program);
        for (transformation, (at, step)) in
            self.transformations(registry)?.into_iter().zip(self.steps.iter().enumerate())
        {
            let step_taken = pipeline.apply(Step { transformation, at: step.at.clone() });
            step_taken.map_err(|error| step.failed(at, error))?;
        }
        Ok(pipeline)
    }

    /// The transformation of each step, from a registry.
    ///
    /// # Errors
    /// [`ChainError::Step`] if there is none of a name, or if it has other parameters.
    pub fn transformations(&self, registry: &Registry) -> Result<Vec<Box<dyn Transformation>>, ChainError> {
        let made = |(at, step): (usize, &ChainStep)| {
            let made = registry.make(&step.transformation, &step.parameters);
            made.map_err(|error| step.failed(at, error.into()))
        };
        self.steps.iter().enumerate().map(made).collect()
    }
}
