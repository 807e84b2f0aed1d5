//! Descriptions of transformations: name, group, source, soundness, parameters.

use thiserror::Error;

/// What a transformation is, for lists, help and chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Stable name, in chains and on the command line.
    pub name: &'static str,
    /// Group, as in Table 4 of the paper.
    pub group: Group,
    /// One sentence.
    pub summary: &'static str,
    /// Section of the paper, or other source.
    pub source: &'static str,
    /// How far results stay the same.
    pub soundness: Soundness,
    /// Whether simplification applies it wherever it matches: it never makes a program slower.
    pub is_strict: bool,
    /// Text of the Rust file with the type: its documentation is the page of the transformation. Empty for none.
    pub file: &'static str,
    /// Parameters.
    pub parameters: &'static [Parameter],
}

impl Metadata {
    /// The page of the transformation: the documentation of its type, in Markdown.
    pub fn page(&self) -> String {
        let documented = |line: &&str| line.starts_with("///");
        let lines: Vec<&str> = self.file.lines().collect();
        let Some(first) = lines.iter().position(documented) else { return self.summary.to_owned() };
        let page = lines[first..].iter().copied().take_while(documented);
        let text = |line: &str| line.trim_start_matches('/').strip_prefix(' ').unwrap_or_default().to_owned();
        page.map(text).collect::<Vec<_>>().join("\n")
    }

    /// The error of a parameter that is not given.
    pub(super) fn needs(&self, parameter: &Parameter) -> ParameterError {
        let parameter = format!("`{}` ({})", parameter.name, parameter.ty);
        ParameterError::Missing { name: self.name.to_owned(), parameter }
    }

    /// The error of parameters that do not fit.
    pub(super) fn misfit(&self, reason: &str) -> ParameterError {
        let known =
            self.parameters.iter().map(|parameter| format!("`{}` ({})", parameter.name, parameter.ty));
        ParameterError::Parameters {
            name: self.name.to_owned(),
            reason: reason.to_owned(),
            known: known.collect(),
        }
    }
}

/// Groups of transformations (paper, Table 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Maps and their iteration spaces.
    Map,
    /// Containers and movement of data.
    Data,
    /// States, loops and calls.
    ControlFlow,
    /// Schedules and lanes.
    Hardware,
}

impl Group {
    /// The name in lists.
    pub const fn name(self) -> &'static str {
        match self {
            Group::Map => "map",
            Group::Data => "data",
            Group::ControlFlow => "control flow",
            Group::Hardware => "hardware",
        }
    }
}

/// How far the results of a program stay the same (decision 14), the strongest guarantee first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Soundness {
    /// Bit by bit.
    Always,
    /// Up to the rounding of sums in another order, and the sign of sums that are zero.
    ChangesRounding,
    /// Where the program declares that any of several results will do, another one may come out.
    ChangesDeclaredNondeterminism,
}

impl Soundness {
    /// The words in lists.
    pub const fn name(self) -> &'static str {
        match self {
            Soundness::Always => "results stay the same",
            Soundness::ChangesRounding => "results may differ in rounding",
            Soundness::ChangesDeclaredNondeterminism => {
                "declared nondeterminism may be resolved in another way"
            }
        }
    }
}

/// A parameter of a transformation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name, in Rust, in chains and on the command line.
    pub name: &'static str,
    /// Type, in words. The numbers in parameters whose type contains `integer` have a bound, see [`checked`](super::checked).
    pub ty: &'static str,
    /// Value when it is not given, as JSON; `None` if it must be given.
    pub default: Option<&'static str>,
    /// One sentence.
    pub summary: &'static str,
}

/// Parameters that do not fit a transformation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParameterError {
    /// There is no transformation of this name.
    #[error("there is no transformation `{name}`{}", did_you_mean(closest))]
    NoTransformation {
        /// The name.
        name: String,
        /// The closest name that there is.
        closest: Option<String>,
    },
    /// A parameter without a default is not given.
    #[error("`{name}` needs the parameter {parameter}")]
    Missing {
        /// The transformation.
        name: String,
        /// The parameter, with its type.
        parameter: String,
    },
    /// The parameters do not fit.
    #[error("parameters of `{name}`: {reason}; it has {}", listed(known))]
    Parameters {
        /// The transformation.
        name: String,
        /// What is wrong.
        reason: String,
        /// The parameters that it has, with their types.
        known: Vec<String>,
    },
}

fn did_you_mean(closest: &Option<String>) -> String {
    closest.as_ref().map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

fn listed(known: &[String]) -> String {
    if known.is_empty() { "none".to_owned() } else { known.join(", ") }
}
