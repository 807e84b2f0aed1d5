//! The JSON of chains: reading with messages that name the step and the field, and writing.

use sdfg::path::ElementPath;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::chain::{ChainError, ChainStep, SIMPLIFY};
use super::{Anchor, Conditions, Tuned};

/// Version of the format.
const VERSION: u32 = 1;

/// The anchor of a step that is applied at every match.
const EVERYWHERE: &str = "everywhere";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    steps: Vec<FileStep>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tuned: Option<Tuned>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileStep {
    transformation: String,
    /// Those of the other fields that have several forms are values, for messages that name the forms.
    #[serde(default, skip_serializing_if = "is_empty")]
    parameters: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    assume: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    guard: bool,
}

fn is_empty(parameters: &Value) -> bool {
    parameters.as_object().is_none_or(Map::is_empty)
}

/// The steps and the record of tuning in a text.
pub(super) fn read(text: &str) -> Result<(Vec<ChainStep>, Option<Tuned>), ChainError> {
    objects(&serde_json::from_str(text)?)?;
    let file: File = serde_json::from_str(text)?;
    if file.version != VERSION {
        return Err(ChainError::Version(file.version));
    }
    let steps = file.steps.into_iter().enumerate().map(|(at, step)| step.read(at + 1));
    Ok((steps.collect::<Result<_, _>>()?, file.tuned))
}

/// The text of steps and a record of tuning.
pub(super) fn write(steps: &[ChainStep], tuned: Option<&Tuned>) -> Result<String, ChainError> {
    let file =
        File { version: VERSION, steps: steps.iter().map(FileStep::of).collect(), tuned: tuned.cloned() };
    Ok(serde_json::to_string_pretty(&file)? + "\n")
}

/// Refuses lists in the places of objects, which `serde` takes for the fields in their order.
fn objects(text: &Value) -> Result<(), ChainError> {
    let chain = text.as_object().ok_or(ChainError::Shape("it is no object with `version` and `steps`"))?;
    let steps = chain.get("steps").and_then(Value::as_array);
    if steps.is_some_and(|steps| !steps.iter().all(Value::is_object)) {
        return Err(ChainError::Shape("a step is no object with `transformation`"));
    }
    Ok(())
}

impl FileStep {
    fn of(step: &ChainStep) -> Self {
        FileStep {
            transformation: step.transformation.clone(),
            parameters: step.parameters.clone(),
            at: match &step.at {
                Anchor::Paths(paths) => Some(paths.iter().map(ToString::to_string).collect()),
                Anchor::Number(number) => Some(Value::from(*number)),
                Anchor::Everywhere { .. } => Some(Value::from(EVERYWHERE)),
                Anchor::Only => None,
            },
            limit: match step.at {
                Anchor::Everywhere { limit } => limit,
                Anchor::Paths(_) | Anchor::Number(_) | Anchor::Only => None,
            },
            assume: step.under.assume.clone(),
            guard: step.under.guard,
        }
    }

    fn read(self, number: usize) -> Result<ChainStep, ChainError> {
        let wrong = |reason: &str| ChainError::Field {
            number,
            name: self.transformation.clone(),
            reason: reason.to_owned(),
        };
        if self.transformation == SIMPLIFY
            && (self.at.is_some() || self.limit.is_some() || !self.assume.is_empty() || self.guard)
        {
            return Err(wrong(
                "it is at every place and under no condition, so it takes no `at`, `limit`, `assume` or `guard`; \
                 the parameter `fuel` limits it",
            ));
        }
        if self.guard && self.assume.is_empty() {
            return Err(wrong("`guard` tests the comparisons of `assume`, and there are none"));
        }
        let at = match &self.at {
            None => Anchor::Only,
            Some(at) if at == EVERYWHERE => Anchor::Everywhere { limit: self.limit },
            Some(Value::Array(paths)) if paths.iter().all(Value::is_string) => {
                let paths = paths.iter().filter_map(Value::as_str).map(str::parse::<ElementPath>);
                Anchor::Paths(paths.collect::<Result<_, _>>().map_err(|error| ChainError::Anchor {
                    number,
                    name: self.transformation.clone(),
                    error,
                })?)
            }
            Some(at) => match at.as_u64().and_then(|at| usize::try_from(at).ok()) {
                Some(at) => Anchor::Number(at),
                None => {
                    let forms = "`at` is a list of paths, the number of a match from 0, or \"everywhere\"";
                    return Err(wrong(&format!("{forms}, and not {at}")));
                }
            },
        };
        if self.limit.is_some() && !matches!(at, Anchor::Everywhere { .. }) {
            return Err(ChainError::Limit { number, name: self.transformation });
        }
        let parameters = match &self.parameters {
            // A file leaves out an empty object.
            Value::Null => Value::Object(Map::new()),
            Value::Object(_) => self.parameters.clone(),
            other => return Err(wrong(&format!("`parameters` are an object, and not {other}"))),
        };
        let under = Conditions { assume: self.assume, guard: self.guard };
        Ok(ChainStep { transformation: self.transformation, parameters, at, under })
    }
}

#[cfg(test)]
mod tests {
    use crate::Chain;

    #[test]
    fn wrong_files_are_refused_with_the_step_and_the_field() {
        for (steps, message) in [
            (
                r#"{"transformation": "simplify", "assume": ["N>3"]}"#,
                "step 1 (simplify): it is at every place and",
            ),
            (r#"{"transformation": "simplify", "at": ["x"]}"#, "step 1 (simplify): it is at every place and"),
            (
                r#"{"transformation": "simplify", "at": "everywhere", "limit": 2}"#,
                "the parameter `fuel` limits it",
            ),
            (
                r#"{"transformation": "simplify"}, {"transformation": "simplify", "guard": true}"#,
                "step 2 (simplify)",
            ),
            (
                r#"{"transformation": "LoopToMap", "guard": true}"#,
                "step 1 (LoopToMap): `guard` tests the comparisons",
            ),
            (
                r#"{"transformation": "LoopToMap", "at": -1}"#,
                "the number of a match from 0, or \"everywhere\", and not -1",
            ),
            (r#"{"transformation": "LoopToMap", "at": "here"}"#, "or \"everywhere\", and not \"here\""),
            (
                r#"{"transformation": "LoopToMap", "at": [1]}"#,
                "`at` is a list of paths, the number of a match",
            ),
            (
                r#"{"transformation": "LoopToMap", "parameters": [1]}"#,
                "`parameters` are an object, and not [1]",
            ),
            (r#"["LoopToMap"]"#, "a step is no object with `transformation`"),
        ] {
            let text = format!(r#"{{"version": 1, "steps": [{steps}]}}"#);
            let error = Chain::from_json(&text).expect_err(steps).to_string();
            assert!(error.contains(message), "{steps}: {error}");
        }
        let error = Chain::from_json("[]").expect_err("no chain").to_string();
        assert_eq!(error, "this is no chain of transformations: it is no object with `version` and `steps`");
    }

    #[test]
    fn chains_keep_every_form_of_anchor() {
        let text = r#"{
  "version": 1,
  "steps": [
    {
      "transformation": "simplify",
      "parameters": {
        "fuel": 3
      }
    },
    {
      "transformation": "MapCollapse",
      "at": "everywhere",
      "limit": 8
    },
    {
      "transformation": "MapCollapse",
      "at": 2
    },
    {
      "transformation": "LoopToMap",
      "at": [
        "p/rows"
      ],
      "assume": [
        "K >= N"
      ],
      "guard": true
    }
  ]
}
"#;
        let chain = Chain::from_json(text).expect("a chain");
        assert_eq!(chain.to_json().expect("a text"), text);
    }
}
