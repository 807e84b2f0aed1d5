//! Transformations of loops, states and calls of several blocks, whose results are checked in the interpreter. A refusal that
//! is about meaning comes with a rewrite that is forced, and wrong.

mod calls;
mod conditions;
mod empty_states;
mod machines;
mod scalars;
mod stencils;
mod streams;

use sdfg::edit::Editor;
use sdfg::interpret::{Arguments, Interpreter, Options, Order};
use sdfg::ir::Sdfg;
use sdfg::tensor::Tensor;
use sdfg::validate::validate;
use sdfg_transforms::{Match, Transformation, apply, places};

pub(crate) fn parsed(text: &str) -> Sdfg {
    sdfg::text::parse("control_flow.sdft", text).unwrap_or_else(|errors| panic!("{text}\n{errors:?}"))
}

/// A program over vectors `A`, `B`, `C` of `N` elements.
pub(crate) fn program(contents: &str) -> Sdfg {
    parsed(&format!(
        "sdfg p {{\n symbol N: i64\n array A: f64[N]\n array B: f64[N]\n array C: f64[N]\n{contents}\n}}"
    ))
}

fn results(program: &Sdfg, n: i64, order: Order) -> Result<Arguments, String> {
    let valid = validate(program.clone()).map_err(|rejected| format!("{:?}", rejected.diagnostics))?;
    let mut interpreter = Interpreter::new(&valid).map_err(|error| error.to_string())?;
    let mut arguments = Arguments::new().with_symbol("N", n);
    for (seed, name) in ["A", "B", "C"].into_iter().enumerate() {
        let values: Vec<f64> = (0..n).map(|i| ((i * 7 + seed as i64 * 3) % 5 - 2) as f64).collect();
        arguments.set(name, Tensor::vector(&values));
    }
    let options = Options { order, step_limit: Some(1_000_000), ..Options::default() };
    interpreter.run(&mut arguments, &options).map_err(|error| error.to_string())?;
    Ok(arguments)
}

/// The first difference in results, for sizes from `least`.
pub(crate) fn difference(before: &Sdfg, after: &Sdfg, least: i64) -> Option<String> {
    for n in [least, least + 3, least + 6] {
        let expected = results(before, n, Order::Fixed).unwrap_or_else(|error| panic!("{error}"));
        for order in [Order::Fixed, Order::Random(1), Order::Random(2)] {
            match results(after, n, order) {
                Ok(found) if expected.tensors().all(|(name, tensor)| found.get(name) == Some(tensor)) => {}
                Ok(_) => return Some(format!("results differ for N = {n} in {order:?}")),
                Err(error) => return Some(error),
            }
        }
    }
    None
}

pub(crate) fn first_match(program: &Sdfg, transformation: &dyn Transformation) -> Match {
    places(program, transformation).into_iter().next().expect("a match")
}

/// Applies a transformation at the first match; the results stay for sizes from 5.
pub(crate) fn applies(before: &Sdfg, transformation: &dyn Transformation) -> (Sdfg, String) {
    let mut after = before.clone();
    let found = first_match(before, transformation);
    apply(&mut after, transformation, &found).unwrap_or_else(|error| panic!("{error}"));
    let text = sdfg::text::print(&after);
    let problem = difference(before, &after, 5);
    assert!(problem.is_none(), "{problem:?}\n{text}");
    (after, text)
}

/// As [`refuses`]; the rewrite is wrong if it is forced: the program is invalid, or results differ for sizes from `least`.
pub(crate) fn refuses_rightly(before: &Sdfg, transformation: &dyn Transformation, least: i64) -> String {
    let found = first_match(before, transformation);
    assert!(is_wrong(before, transformation, &found, least), "the forced rewrite is right");
    refuses(before, transformation)
}

/// Whether the forced rewrite makes the program invalid, or gives other results for sizes from `least`.
fn is_wrong(before: &Sdfg, transformation: &dyn Transformation, found: &Match, least: i64) -> bool {
    let mut forced = before.clone();
    let mut editor = Editor::new(&mut forced);
    transformation.apply(&mut editor, found).unwrap_or_else(|error| panic!("cannot be forced: {error}"));
    editor.commit().is_err() || difference(before, &forced, least).is_some()
}

/// The reason for which a transformation refuses the first match.
pub(crate) fn refuses(before: &Sdfg, transformation: &dyn Transformation) -> String {
    let found = first_match(before, transformation);
    apply(&mut before.clone(), transformation, &found).expect_err("a refusal").to_string()
}
