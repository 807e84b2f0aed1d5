//! Programs of pages with small changes: each transformation takes them, with the same results, or says why not.

use std::collections::BTreeMap;

use sdfg::interpret::Options;
use sdfg_transforms::{Transformation, apply, matches, places};

use super::{BuiltIn, Page, Registry, Sdfg, Value, Verifier, parsed, program};

use Expected::{Refused, Taken};

mod buffers;
mod copies;
mod data;
mod kinds;
mod lanes;
mod loops;
mod maps;
mod nests;
mod states;
mod stencils;

/// A page's program before, with changes.
struct Variant {
    /// The transformation.
    name: &'static str,
    /// Its parameters, as JSON; empty takes the defaults.
    parameters: &'static str,
    /// Texts of the program, and their replacements.
    changes: &'static [(&'static str, &'static str)],
    expected: &'static Expected,
}

enum Expected {
    /// The rewritten program contains the first texts and none of the others.
    Taken(&'static [&'static str], &'static [&'static str]),
    /// Every match is refused, one of them with this reason.
    Refused(&'static str),
}

/// Any rewritten program with the same results.
const TAKEN: Expected = Taken(&[], &[]);

type Change = (&'static str, &'static str);

/// Changes of one transformation's program with default parameters.
fn hold_changes(name: &'static str, cases: &'static [(&'static [Change], Expected)]) {
    let cases = cases.iter().map(|(changes, expected)| Variant { name, parameters: "", changes, expected });
    hold(&cases.collect::<Vec<_>>());
}

/// Parameters of one transformation, and changes of its program.
fn hold_parameters(name: &'static str, cases: &'static [(&'static str, &'static [Change], Expected)]) {
    let variant = |(parameters, changes, expected): &'static (&'static str, &'static [Change], Expected)| {
        Variant { name, parameters, changes, expected }
    };
    hold(&cases.iter().map(variant).collect::<Vec<_>>());
}

impl Variant {
    fn before(&self, registry: &Registry) -> Result<Sdfg, String> {
        let page = Page::of(self.transformation(registry)?.as_ref());
        let mut text = program(&page, "Before")?;
        for (from, to) in self.changes {
            if !text.contains(from) {
                return Err(format!("the page has no `{from}`:\n{text}"));
            }
            text = text.replace(from, to);
        }
        parsed(&text)
    }

    fn transformation(&self, registry: &Registry) -> Result<Box<dyn Transformation>, String> {
        let parameters = match self.parameters {
            "" => Value::Null,
            text => serde_json::from_str(text).map_err(|error| format!("{text}: {error}"))?,
        };
        registry.make(self.name, &parameters).map_err(|error| error.to_string())
    }

    fn check(&self, registry: &Registry) -> Result<(), String> {
        let (transformation, before) = (self.transformation(registry)?, self.before(registry)?);
        let transformation = transformation.as_ref();
        let text = sdfg::text::print(&before);
        let passing = matches(&before, transformation);
        match (self.expected, passing.first()) {
            (Refused(reason), None) => {
                let refusals = refusals(&before, transformation);
                let is_given = !reason.is_empty() && refusals.iter().any(|refusal| refusal.contains(reason));
                is_given.then_some(()).ok_or_else(|| format!("`{reason}` is not among {refusals:?}\n{text}"))
            }
            (Taken(present, absent), Some(found)) => {
                let mut after = before.clone();
                apply(&mut after, transformation, found).map_err(|error| format!("{error}\n{text}"))?;
                let options = Options { libraries: Some(&BuiltIn), ..Options::default() };
                let verifier = Verifier::of(&before, &BTreeMap::new(), &options)
                    .map_err(|error| format!("{error}\n{text}"))?;
                let printed = sdfg::text::print(&after);
                verifier
                    .check(&after, transformation.metadata().soundness)
                    .map_err(|difference| format!("{difference}\n{printed}"))?;
                let lacks = present.iter().find(|part| !printed.contains(**part));
                let has = absent.iter().find(|part| printed.contains(**part));
                let wrong = lacks.map(|part| format!("lacks `{part}`:\n{printed}"));
                wrong.or_else(|| has.map(|part| format!("has `{part}`:\n{printed}"))).map_or(Ok(()), Err)
            }
            (Refused(reason), Some(_)) => Err(format!("is taken, and not refused as `{reason}`\n{text}")),
            (Taken(..), None) => {
                let refusals = refusals(&before, transformation);
                Err(format!("is refused: {refusals:?}\n{text}"))
            }
        }
    }
}

/// The reasons for which a transformation refuses its matches.
fn refusals(program: &Sdfg, transformation: &dyn Transformation) -> Vec<String> {
    let refusal = |found| apply(&mut program.clone(), transformation, found).err();
    let found = places(program, transformation);
    found.iter().filter_map(refusal).map(|error| error.to_string()).collect()
}

/// Checks changed programs, and shows all that are wrong.
fn hold(variants: &[Variant]) {
    let registry = super::transformations();
    let wrong: Vec<String> = variants
        .iter()
        .filter_map(|variant| {
            let error = variant.check(&registry).err()?;
            Some(format!("{} {} {:?}: {error}", variant.name, variant.parameters, variant.changes))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
