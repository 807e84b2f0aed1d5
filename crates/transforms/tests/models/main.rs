//! Tests of `examples/models`: results against formulas in Rust at small sizes, and the strategies of the
//! models.

#[path = "../../examples/models/alexnet.rs"]
mod alexnet;
mod formulas;
#[path = "../../examples/models/lstm.rs"]
mod lstm;
#[path = "../../examples/models/network.rs"]
mod network;
#[path = "../../examples/models/training.rs"]
mod training;
#[path = "../../examples/models/transformer.rs"]
mod transformer;

use std::collections::BTreeMap;

use sdfg::interpret::{Arguments, Interpreter, Options as Interpretation};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::tensor::Tensor;
use sdfg::validate::{Validated, validate};
use sdfg_transforms::Pipeline;
use sdfg_transforms::distribute::Distribute;
use sdfg_transforms::strategy::model::{Machine, Model, ModelOptions};
use sdfg_transforms::strategy::{Limits, Options, StrategyFile, search};

use formulas::Array;

type Sizes = [(&'static str, i64)];

fn values(sizes: &Sizes) -> BTreeMap<Symbol, i64> {
    sizes.iter().map(|(name, value)| (Symbol::new(name).expect("a name"), *value)).collect()
}

/// Arguments of a program with numbers between -0.5 and 0.5, the same in every run.
fn inputs(program: &Validated, sizes: &Sizes) -> BTreeMap<String, Array> {
    let values = values(sizes);
    let value = |symbol: &Symbol| values.get(symbol).copied();
    let extent = |extent: &Expr| extent.eval(&value).expect("a size") as usize;
    let mut state = 1_u64;
    let mut number = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1_u64 << 24) as f64 - 0.5
    };
    let arguments = program.sdfg().containers().filter(|(_, container)| !container.transient);
    arguments
        .map(|(_, container)| {
            let shape: Vec<usize> = container.shape().iter().map(extent).collect();
            let elements = (0..shape.iter().product()).map(|_| number()).collect();
            (container.name.clone(), Array { shape, elements })
        })
        .collect()
}

/// Results of the interpreter for the arguments.
fn interpreted(
    program: &Validated,
    sizes: &Sizes,
    arrays: &BTreeMap<String, Array>,
) -> BTreeMap<String, Vec<f64>> {
    on_ranks(program, sizes, arrays, 1)
}

/// Results of the interpreter on so many virtual ranks.
fn on_ranks(
    program: &Validated,
    sizes: &Sizes,
    arrays: &BTreeMap<String, Array>,
    ranks: u32,
) -> BTreeMap<String, Vec<f64>> {
    let mut arguments = Arguments::new();
    for (name, array) in arrays {
        let shape: Vec<i64> = array.shape.iter().map(|size| *size as i64).collect();
        arguments = arguments.with(name, Tensor::new(&shape, &array.elements).expect("a tensor"));
    }
    for (name, value) in sizes {
        arguments = arguments.with_symbol(*name, *value);
    }
    let mut interpreter = Interpreter::new(program).expect("an interpreter");
    let options = Interpretation { ranks, ..Interpretation::default() };
    interpreter.run(&mut arguments, &options).expect("a result");
    let result = |name: &String| arguments.get(name).expect("an argument").to_vec().expect("numbers");
    arrays.keys().map(|name| (name.clone(), result(name))).collect()
}

#[track_caller]
fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs();
        assert!(error <= 1e-9 * (1.0 + expected.abs()), "element {at}: {found}, not {expected}");
    }
}

/// Distributes a program by its cheapest strategy on three ranks that compute slowly, so that all maps are divided, and compares with
/// these results.
fn check_distributed(program: &Validated, sizes: &Sizes, arrays: &BTreeMap<String, Array>, n_divided: usize) {
    let machine =
        Machine { ranks: 3, operations_per_second: 1.0, latency_seconds: 0.0, ..Machine::default() };
    let mut pipeline = Pipeline::on(program.sdfg().clone());
    let outcome = Distribute::optimal(machine).with_sizes(sizes.iter().copied()).apply(&mut pipeline);
    let outcome = outcome.expect("a distributed program");
    assert_eq!(outcome.divided.len(), n_divided, "{:?}", outcome.whole);
    // The last step makes library nodes of products, which the interpreter does not compute by itself.
    while pipeline.applications().last().is_some_and(|last| last.name == "LiftToLibrary") {
        pipeline.undo().expect("a step before");
    }
    let distributed = validate(pipeline.program().clone()).expect("a valid program");
    let expected = interpreted(program, sizes, arrays);
    let found = on_ranks(&distributed, sizes, arrays, 3);
    expected.iter().for_each(|(name, expected)| assert_close(&found[name], expected));
}

/// Searches a strategy and checks its evidence: it is no worse than those that need no search.
fn check_strategy(program: &Validated, sizes: &Sizes, ranks: u32) -> (StrategyFile, Vec<String>) {
    let machine = Machine { ranks, ..Machine::default() };
    let model = Model::new(program, &values(sizes), &machine, &ModelOptions::default()).expect("a model");
    let problem = model.tabulated().expect("costs");
    let solution = search(&problem, &Options::default(), &()).expect("a strategy");
    let checked = solution
        .certificate
        .check(&problem, &solution.strategy, solution.cost, &Limits::from(&Options::default()))
        .expect("a proof");
    let mut file = StrategyFile::new(&problem, &solution, &checked);
    for other in [file.serial, file.data_parallel] {
        assert!(file.cost <= other.expect("a strategy"), "{} {other:?}", file.cost);
    }
    model.describe(&values(sizes), &solution.strategy, &mut file);
    let again = StrategyFile::parse(&file.to_json().expect("JSON")).expect("a strategy");
    assert_eq!(again, file);
    (file, model.approximations().to_vec())
}

#[test]
fn alexnet_computes_what_it_should_and_has_a_strategy() {
    let (program, _) = alexnet::alexnet().expect("a program");
    let small = [("B", 1), ("Q", 1), ("C", 1), ("R", 3), ("F", 4), ("K", 3)];
    let arrays = inputs(&program, &small);
    let results = interpreted(&program, &small, &arrays);
    assert_close(&results["O"], &formulas::alexnet(&arrays));
    let (file, notes) = check_strategy(&program, alexnet::SIZES, 4);
    assert_eq!(notes, [] as [String; 0]);
    // Serial it is far from the best.
    assert!(file.cost < 0.5 * file.serial.expect("a strategy"), "{} {:?}", file.cost, file.serial);
}

/// The changes of weights are the rate times the slopes of the loss, which differences of the forward pass by a formula approach.
#[test]
fn a_step_of_training_goes_down_the_slope_of_the_loss() {
    let (program, _) = training::training().expect("a program");
    let small = [("B", 2), ("Q", 1), ("C", 1), ("R", 3), ("F", 4), ("K", 3)];
    let mut arrays = inputs(&program, &small);
    // Offsets keep more units on the side where they have slopes.
    for (name, array) in &mut arrays {
        if name.starts_with('b') {
            array.elements.iter_mut().for_each(|offset| *offset = offset.abs() + 0.1);
        }
    }
    arrays
        .insert("Y".to_owned(), Array { shape: vec![2, 3], elements: vec![0.0, 1.0, 0.0, 0.25, 0.0, 0.75] });
    let rate = 0.5;
    arrays.insert("rate".to_owned(), Array { shape: vec![1], elements: vec![rate] });
    let results = interpreted(&program, &small, &arrays);
    assert_close(&results["O"], &formulas::alexnet(&arrays));
    let loss = |arrays: &BTreeMap<String, Array>| -> f64 {
        let probabilities = formulas::alexnet(arrays);
        arrays["Y"].elements.iter().zip(probabilities).map(|(wanted, found)| -wanted * found.ln()).sum()
    };
    let weights = arrays.keys().filter(|name| name.starts_with(['W', 'b'])).cloned().collect::<Vec<_>>();
    assert_eq!(weights.len(), 16);
    for name in weights {
        let change = |at: &usize| arrays[&name].elements[*at] - results[&name][*at];
        let n = arrays[&name].elements.len();
        // Some elements, and the one that changes most: many have no slope.
        let most = (0..n).max_by(|one, other| change(one).abs().total_cmp(&change(other).abs()));
        let mut n_slopes = 0;
        for at in (0..n).step_by(n.div_ceil(4)).chain(most) {
            let moved = |by: f64| {
                let mut arrays = arrays.clone();
                arrays.get_mut(&name).expect("weights").elements[at] += by;
                loss(&arrays)
            };
            let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            let found = change(&at) / rate;
            assert!(
                (slope - found).abs() <= 1e-6 * (1.0 + slope.abs()),
                "{name}[{at}]: {found}, not {slope}"
            );
            n_slopes += usize::from(slope.abs() > 1e-4);
        }
        assert!(n_slopes > 0, "all slopes of {name} are zero");
    }
    let (file, notes) = check_strategy(&program, alexnet::SIZES, 2);
    let is_known = |note: &String| {
        ["its work is an upper bound", "overlapping parts"].iter().any(|known| note.contains(known))
    };
    assert!(notes.iter().all(is_known), "{notes:?}");
    assert!(file.cost < 0.7 * file.serial.expect("a strategy"), "{} {:?}", file.cost, file.serial);
}

#[test]
fn the_lstm_computes_what_it_should_and_has_a_strategy() {
    let (program, _) = lstm::lstm().expect("a program");
    let small = [("B", 2), ("T", 3), ("D", 4), ("H", 3), ("V", 5)];
    let arrays = inputs(&program, &small);
    let results = interpreted(&program, &small, &arrays);
    for (name, expected) in formulas::lstm(&arrays) {
        assert_close(&results[name], &expected);
    }
    let (file, notes) = check_strategy(&program, lstm::SIZES, 4);
    assert!(notes.iter().all(|note| note.contains("is elsewhere each time")), "{notes:?}");
    assert!(file.cost < 0.5 * file.serial.expect("a strategy"), "{} {:?}", file.cost, file.serial);
}

#[test]
fn the_transformer_computes_what_it_should_and_has_a_strategy() {
    let (program, _) = transformer::transformer().expect("a program");
    let small = [("B", 2), ("N", 4), ("M", 3), ("H", 2), ("K", 3), ("F", 5), ("V", 4)];
    let arrays = inputs(&program, &small);
    let results = interpreted(&program, &small, &arrays);
    assert_close(&results["O"], &formulas::transformer(&arrays));
    let (file, notes) = check_strategy(&program, transformer::SIZES, 4);
    assert_eq!(notes, [] as [String; 0]);
    assert!(file.cost < 0.5 * file.serial.expect("a strategy"), "{} {:?}", file.cost, file.serial);
}

/// The Transformer takes minutes in a debug build; `docs/ranks.md` has the command.
#[test]
fn alexnet_and_the_lstm_compute_the_same_on_ranks() {
    let (program, _) = alexnet::alexnet().expect("a program");
    let sizes = [("B", 3), ("Q", 1), ("C", 1), ("R", 3), ("F", 4), ("K", 3)];
    check_distributed(&program, &sizes, &inputs(&program, &sizes), 32);
    let (program, _) = lstm::lstm().expect("a program");
    let sizes = [("B", 4), ("T", 3), ("D", 4), ("H", 3), ("V", 5)];
    check_distributed(&program, &sizes, &inputs(&program, &sizes), 19);
}
