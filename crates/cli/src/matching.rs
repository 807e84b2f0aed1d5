//! `sdfg match`: the places at which transformations apply, and why they refuse others.
//!
//! A check decides legality alone, and the editor may still refuse what it cannot express. Each place that passes its check is
//! therefore tried on a copy of the program, unless the program is too large for that.

use clap::Args;
use sdfg::ir::{NodeKind, Sdfg};
use sdfg_transforms::{Metadata, Site, Tables, TransformError, Transformation, apply, checked, places};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::print;
use crate::program::Program;
use crate::terminal::Terminal;
use crate::transform::Parameters;

/// Most elements that all trials together may have. Each costs some microseconds, so trials take a few seconds at most.
const TRIED: usize = 500_000;

/// List where transformations match a program, and why they refuse.
#[derive(Args)]
#[command(after_help = "Examples:\n  sdfg match gemm.sdft\n  sdfg match gemm.sdft MapFusion")]
pub(crate) struct Match {
    #[command(flatten)]
    program: Program,
    /// The transformation; without it, the places at which each of them applies.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    parameters: Parameters,
    /// Print a JSON list of matches, with the reasons of refusals.
    #[arg(long)]
    json: bool,
}

impl Match {
    pub(crate) fn execute(&self, terminal: Terminal) -> Result<(), Failure> {
        if self.name.is_none() && !self.parameters.is_empty() {
            return Err(Failure::usage("`--param` needs the name of a transformation")
                .at("--param")
                .help("write `sdfg match PROGRAM NAME --param NAME=VALUE`"));
        }
        let one = self.name.as_ref().map(|name| self.parameters.make(name)).transpose()?;
        let program = self.program.read(terminal)?;
        let (ready, others) = match one {
            Some(transformation) => (vec![transformation], Vec::new()),
            None => {
                let all = sdfg_library::transformations().defaults().into_iter();
                all.partition(|each| required(each.metadata()).is_empty())
            }
        };
        let (tables, is_one) = (Tables::new(), self.name.is_some());
        let mut found = Vec::new();
        for transformation in &ready {
            found.extend(matches(&program, transformation.as_ref(), &tables, is_one));
        }
        tell_required(&program, &others, terminal);
        let passing = found.iter().filter(|found| found.refused.is_none()).count();
        if passing.saturating_mul(elements(&program)) > TRIED {
            terminal.note(&format!(
                "the program is too large to try each of {passing} places: `sdfg transform` may refuse some of them"
            ));
        } else {
            found.iter_mut().for_each(|found| found.attempt(&program));
        }
        found.retain(|found| is_one || found.refused.is_none());
        if self.json {
            let list = Value::Array(found.iter().map(Found::to_json).collect());
            return print(format!("{list:#}\n").as_bytes());
        }
        match ready.as_slice() {
            [only] if is_one && found.is_empty() => {
                let (name, pattern) = (only.metadata().name, pattern(only.as_ref()));
                print(format!("{name} matches nowhere: its pattern is {pattern}\n").as_bytes())
            }
            _ if found.is_empty() => print(b"no transformation applies with its default parameters\n"),
            _ => print(found.iter().map(|found| format!("{found}\n")).collect::<String>().as_bytes()),
        }
    }
}

fn pattern(transformation: &dyn Transformation) -> String {
    let names = transformation.pattern().names();
    if names.is_empty() { "an SDFG".to_owned() } else { names.join(" -> ") }
}

/// The parameters of a transformation that have no default.
fn required(metadata: &Metadata) -> Vec<&'static str> {
    let parameters = metadata.parameters.iter().filter(|parameter| parameter.default.is_none());
    parameters.map(|parameter| parameter.name).collect()
}

/// Names the transformations that match somewhere and are not tried, because a parameter has no default.
fn tell_required(program: &Sdfg, others: &[Box<dyn Transformation>], terminal: Terminal) {
    let matching = others.iter().filter(|each| !places(program, each.as_ref()).is_empty());
    let names: Vec<String> = matching
        .map(|each| format!("{} ({})", each.metadata().name, required(each.metadata()).join(", ")))
        .collect();
    if !names.is_empty() {
        terminal.note(&format!(
            "these need parameters, as in `sdfg match PROGRAM NAME --param NAME=VALUE`: {}",
            names.join(", ")
        ));
    }
}

/// The number of nodes and edges of a program, with those of the SDFGs that it calls.
fn elements(program: &Sdfg) -> usize {
    let of_node =
        |kind: &NodeKind| if let NodeKind::Nested(nested) = kind { 1 + elements(&nested.sdfg) } else { 1 };
    let states = program.states().map(|(_, state)| {
        state.nodes().map(|(_, node)| of_node(&node.kind)).sum::<usize>() + state.edges().count()
    });
    states.sum::<usize>() + program.blocks().count()
}

/// A match as it is printed.
struct Found<'t> {
    transformation: &'t dyn Transformation,
    place: sdfg_transforms::Match,
    /// Paths of the elements.
    at: Vec<String>,
    /// The reason for which the transformation does not apply.
    refused: Option<String>,
}

impl Found<'_> {
    /// Applies the transformation to a copy, if the check of it passed.
    fn attempt(&mut self, program: &Sdfg) {
        if self.refused.is_some() {
            return;
        }
        self.refused = match apply(&mut program.clone(), self.transformation, &self.place) {
            Ok(_) => None,
            Err(TransformError::Refused { refusal, .. }) => Some(refusal.to_string()),
            Err(other) => Some(other.to_string()),
        };
    }

    fn to_json(&self) -> Value {
        let mut found = json!({"transformation": self.transformation.metadata().name, "at": self.at});
        if let Some(reason) = &self.refused {
            found["refused"] = json!(reason);
        }
        found
    }
}

impl std::fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}", self.transformation.metadata().name, self.at.join(", "))?;
        self.refused.iter().try_for_each(|reason| write!(f, ": refused: {reason}"))
    }
}

/// The matches of a transformation; those that its check refuses only if asked for, with the reasons.
fn matches<'t>(
    program: &Sdfg,
    transformation: &'t dyn Transformation,
    tables: &Tables,
    with_refused: bool,
) -> Vec<Found<'t>> {
    let shown = |place: sdfg_transforms::Match| {
        let site = Site::of(program, &place, tables)?;
        let refused = match checked(transformation, &site) {
            Ok(_) => None,
            Err(refusal) => Some(with_refused.then(|| refusal.shown(&site).to_string())?),
        };
        let at = place.paths(program).iter().map(ToString::to_string).collect();
        Some(Found { transformation, place, at, refused })
    };
    places(program, transformation).into_iter().filter_map(shown).collect()
}
