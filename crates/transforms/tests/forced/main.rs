//! Refusals that are about meaning: each comes with the rewrite that is forced, and wrong. Those of transformations with test
//! suites of their own stand there.

#[path = "../rewritten/support.rs"]
#[expect(dead_code, reason = "pages are tested beside the other rewritten programs")]
mod support;

mod control;
mod copies;
mod maps;
mod memories;
mod names;
mod sums;

use sdfg::edit::Editor;
use sdfg_transforms::{Match, Transformation, apply, places};

/// As `refuses_rightly` of the support, at the match with this path.
fn refuses_rightly_at(text: &str, transformation: &dyn Transformation, path: &str) -> String {
    let before = support::parsed(text);
    let is_there = |found: &Match| found.paths(&before).iter().any(|own| own.to_string() == path);
    let found = places(&before, transformation).into_iter().find(is_there).expect("a match");
    let mut forced = before.clone();
    let mut editor = Editor::new(&mut forced);
    transformation.apply(&mut editor, &found).expect("a rewrite");
    let is_wrong = editor.commit().is_err() || support::difference(&before, &forced).is_some();
    assert!(is_wrong, "the forced rewrite is right:\n{}", sdfg::text::print(&forced));
    apply(&mut before.clone(), transformation, &found).expect_err("a refusal").to_string()
}

/// As `applies` of the support, at the match with this path.
fn applies_at(text: &str, transformation: &dyn Transformation, path: &str) {
    let before = support::parsed(text);
    let is_there = |found: &Match| found.paths(&before).iter().any(|own| own.to_string() == path);
    let found = places(&before, transformation).into_iter().find(is_there).expect("a match");
    let mut after = before.clone();
    apply(&mut after, transformation, &found).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let problem = support::difference(&before, &after);
    assert!(problem.is_none(), "{problem:?}\n{}", sdfg::text::print(&after));
}

/// A program over vectors `A`, `B`, `C` of `N + 2` elements.
fn program(contents: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N + 2]
  array B: f64[N + 2]
  array C: f64[N + 2]
{contents}
}}"
    )
}

/// A map over `range`, whose tasklet computes `y` of `x`.
fn map(name: &str, range: &str, read: &str, code: &str, write: &str) -> String {
    let container = |element: &str| element.split('[').next().unwrap_or_default().to_owned();
    let (from, to) = (container(read), container(write));
    format!(
        "access r_{name} = {from}
  access w_{name} = {to}
  map {name} [{range}] {{
    tasklet t_{name} (x) -> (y) {{ {code} }}
    {name}.p -> t_{name}.x: {read}
    t_{name}.y -> {name}.q: {write}
  }}
  r_{name} -> {name}.p
  {name}.q -> w_{name}
"
    )
}
