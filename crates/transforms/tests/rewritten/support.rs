//! Programs from texts, applied and forced rewrites, and their results.

use sdfg::edit::Editor;
use sdfg::interpret::{Arguments, Interpreter, Options, Order};
use sdfg::ir::{Container, ContainerKind, Sdfg};
use sdfg::symbolic::Symbol;
use sdfg::tensor::Tensor;
use sdfg::validate::validate;
use sdfg_transforms::{Match, Transformation, apply, matches, places, useful_ranks};

/// The program of a text.
pub(crate) fn parsed(text: &str) -> Sdfg {
    sdfg::text::parse("test.sdft", text).unwrap_or_else(|errors| panic!("{text}\n{errors:?}"))
}

/// Small integers for an argument, different for each container.
fn values(container: &Container, seed: i64, symbols: &dyn Fn(&Symbol) -> Option<i64>) -> Tensor {
    let extent =
        |extent: &sdfg::symbolic::Expr| extent.eval(&|symbol: &Symbol| symbols(symbol)).expect("an extent");
    let shape: Vec<i64> = match &container.kind {
        ContainerKind::Scalar => Vec::new(),
        _ => container.shape().iter().map(extent).collect(),
    };
    let count = shape.iter().product::<i64>().max(0);
    let numbers = (0..count).map(|i| ((i * 7 + seed * 3) % 5 - 2) as f64);
    let bytes = match container.element.to_string().as_str() {
        "f64" => numbers.flat_map(f64::to_le_bytes).collect(),
        "f32" => numbers.flat_map(|value| (value as f32).to_le_bytes()).collect(),
        "i64" => numbers.flat_map(|value| (value as i64).to_le_bytes()).collect(),
        "i32" => numbers.flat_map(|value| (value as i32).to_le_bytes()).collect(),
        "bool" => numbers.map(|value| u8::from(value > 0.0)).collect(),
        other => panic!("no values of type {other}"),
    };
    Tensor::from_bytes(container.element, shape, bytes).expect("a tensor")
}

/// The arguments after a run, where every symbol is `n`.
pub(crate) fn results(program: &Sdfg, n: i64, order: Order) -> Result<Arguments, String> {
    results_on(program, n, order, 1)
}

/// As [`results`], on a number of ranks.
pub(crate) fn results_on(program: &Sdfg, n: i64, order: Order, ranks: u32) -> Result<Arguments, String> {
    let options = Options { order, ranks, ..Options::default() };
    results_of(program, &|_| Some(n), &options)
}

/// The arguments after a run with values of symbols.
pub(crate) fn results_of(
    program: &Sdfg,
    symbols: &dyn Fn(&Symbol) -> Option<i64>,
    options: &Options<'_>,
) -> Result<Arguments, String> {
    let valid = validate(program.clone()).map_err(|rejected| format!("{:?}", rejected.diagnostics))?;
    let mut interpreter = Interpreter::new(&valid).map_err(|error| error.to_string())?;
    let mut arguments = Arguments::new();
    for (symbol, _) in program.symbols() {
        arguments.set_symbol(symbol.as_str(), symbols(symbol).expect("a value for each symbol"));
    }
    for (seed, (_, container)) in (0..).zip(program.arguments()) {
        arguments.set(&container.name, values(container, seed, symbols));
    }
    interpreter.run(&mut arguments, options).map_err(|error| error.to_string())?;
    Ok(arguments)
}

/// The first difference in results.
pub(crate) fn difference(before: &Sdfg, after: &Sdfg) -> Option<String> {
    let most = useful_ranks(after);
    for n in [1, 2, 5] {
        let expected = results(before, n, Order::Fixed).unwrap_or_else(|error| panic!("{error}"));
        let orders = [Order::Fixed, Order::Random(1), Order::Random(2)].map(|order| (order, 1));
        let distributed = [(Order::Random(3), most), (Order::Fixed, most), (Order::Fixed, most / 2)];
        let distributed = distributed.into_iter().filter(|(_, ranks)| *ranks > 1);
        for (order, ranks) in orders.into_iter().chain(distributed) {
            match results_on(after, n, order, ranks) {
                Ok(found) if expected.tensors().all(|(name, tensor)| found.get(name) == Some(tensor)) => {}
                Ok(_) => {
                    return Some(format!("results differ for N = {n} in {order:?} on {ranks} ranks"));
                }
                Err(error) => return Some(format!("{error}, for N = {n} on {ranks} ranks")),
            }
        }
    }
    None
}

/// The first match that passes the check; the last match if none does.
fn first_match(program: &Sdfg, transformation: &dyn Transformation) -> Match {
    let passing = matches(program, transformation).into_iter().next();
    passing.or_else(|| places(program, transformation).into_iter().last()).expect("a match")
}

/// Applies a transformation at its first match; the results stay.
pub(crate) fn applies(text: &str, transformation: &dyn Transformation) -> String {
    let before = parsed(text);
    let mut after = before.clone();
    let found = first_match(&before, transformation);
    apply(&mut after, transformation, &found).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let text = sdfg::text::print(&after);
    let found = difference(&before, &after);
    assert!(found.is_none(), "{found:?}\n{text}");
    text
}

/// The reason for which a transformation refuses its first match.
pub(crate) fn refuses(text: &str, transformation: &dyn Transformation) -> String {
    let mut program = parsed(text);
    let found = first_match(&program, transformation);
    apply(&mut program, transformation, &found).expect_err("a refusal").to_string()
}

/// As [`refuses`]; the rewrite is wrong if it is forced: the editor cannot make it, or results differ.
pub(crate) fn refuses_rightly(text: &str, transformation: &dyn Transformation) -> String {
    let before = parsed(text);
    let found = first_match(&before, transformation);
    let mut forced = before.clone();
    let mut editor = Editor::new(&mut forced);
    let edits = transformation.apply(&mut editor, &found).is_ok();
    assert!(edits, "the rewrite cannot be forced");
    let is_wrong = editor.commit().is_err() || difference(&before, &forced).is_some();
    assert!(is_wrong, "the forced rewrite is right:\n{}", sdfg::text::print(&forced));
    refuses(text, transformation)
}

/// The page of a transformation shows a program before and after: the first match of the first gives the second, with the
/// same results.
pub(crate) fn page_is_true(transformation: &dyn Transformation) {
    let page = transformation.metadata().page();
    let programs: Vec<&str> =
        page.split("```sdft\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let [before, after] = programs[..] else { panic!("the page shows no two programs:\n{page}") };
    let found = applies(before, transformation);
    assert_eq!(found, sdfg::text::print(&parsed(after)), "\n{found}");
}
