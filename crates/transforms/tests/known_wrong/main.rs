//! Programs that the reference implementation (DaCe) rewrites wrongly, one for each public issue: our transformations refuse them,
//! or rewrite them rightly. Each test also makes the wrong rewrite, and sees another result.
//!
//! The programs were written for these tests, after the descriptions of the issues. Each file bears the number of its issue at
//! `https://github.com/spcl/dace`. Native code of 1528, 2333 and 2582 is tested in
//! `crates/codegen/tests/agreement/known_wrong`, and `tests/plans` shows how threads combine in 1528 and 2582.

#[path = "../rewritten/support.rs"]
#[expect(dead_code, reason = "pages are tested beside the other rewritten programs")]
mod support;

mod calls;
mod data;
mod loops;
mod maps;
mod states;

use sdfg::edit::Editor;
use sdfg::ir::Sdfg;
use sdfg_transforms::{Match, Transformation, apply, places};
use support::difference;

/// Rewrites at a match without a check, in the program or in an SDFG that it calls.
fn forced(before: &Sdfg, transformation: &dyn Transformation, found: &Match) -> Result<Sdfg, String> {
    let mut program = before.clone();
    let mut editor = Editor::new(&mut program);
    let edited = match found.calls.first() {
        Some((state, call)) => editor.within(*state, *call, |inner| transformation.apply(inner, found)),
        None => transformation.apply(&mut editor, found),
    };
    edited.map_err(|error| error.to_string())?;
    editor.commit().map_err(|error| error.to_string())?;
    Ok(program)
}

/// The reasons for which a transformation refuses all of its matches. Each of the forced rewrites is wrong.
fn refuses_everywhere(before: &Sdfg, transformation: &dyn Transformation) -> Vec<String> {
    let reason = |found: &Match| {
        let refusal = apply(&mut before.clone(), transformation, found).expect_err("a refusal").to_string();
        if let Ok(program) = forced(before, transformation, found) {
            let is_wrong = difference(before, &program).is_some();
            assert!(is_wrong, "{refusal}: the forced rewrite is right:\n{}", sdfg::text::print(&program));
        }
        refusal
    };
    let reasons: Vec<String> = places(before, transformation).iter().map(reason).collect();
    assert!(!reasons.is_empty(), "no match");
    reasons
}

/// The match at a path.
fn at(program: &Sdfg, transformation: &dyn Transformation, path: &str) -> Match {
    let is_there = |found: &Match| found.paths(program).iter().any(|own| own.to_string() == path);
    places(program, transformation).into_iter().find(is_there).unwrap_or_else(|| panic!("no match at {path}"))
}
