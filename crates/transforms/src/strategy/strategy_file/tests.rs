//! Strategies that are read as they were written, layouts that are known, and files that contradict themselves.

use std::collections::BTreeMap;

use sdfg::symbolic::Symbol;
use sdfg::validate::validate;

use super::*;
use crate::strategy::model::{Machine, Model};
use crate::strategy::{Options, search};

const MATMUL: &str = include_str!("../../../../../programs/matmul.sdft");
const JACOBI: &str = include_str!("../../../../../programs/jacobi2d.sdft");

fn strategy(text: &str, symbols: &[(&str, i64)], ranks: u32) -> StrategyFile {
    let program =
        validate(sdfg::text::parse("test.sdft", text).expect("a program")).expect("a valid program");
    let values: BTreeMap<Symbol, i64> =
        symbols.iter().map(|(name, value)| (Symbol::new(name).expect("a name"), *value)).collect();
    let model = Model::new(&program, &values, &Machine { ranks, ..Machine::default() }, &Default::default())
        .expect("a model");
    let problem = model.tabulated().expect("costs");
    let solution = search(&problem, &Options::default(), &()).expect("a strategy");
    let checked = solution
        .certificate
        .check(
            &problem,
            &solution.strategy,
            solution.cost,
            &crate::strategy::Limits::from(&Options::default()),
        )
        .expect("a proof");
    let mut file = StrategyFile::new(&problem, &solution, &checked);
    model.describe(&values, &solution.strategy, &mut file);
    file
}

#[test]
fn a_strategy_is_read_as_it_was_written() {
    for file in [
        strategy(MATMUL, &[("M", 601), ("N", 500), ("K", 407)], 6),
        strategy(JACOBI, &[("N", 1002), ("T", 7)], 5),
    ] {
        let text = file.to_json().expect("JSON");
        assert_eq!(StrategyFile::parse(&text).expect("a strategy"), file);
        assert!(file.cost < file.serial.expect("a serial strategy"));
    }
}

#[test]
fn layouts_are_those_of_the_configuration() {
    let file = strategy(JACOBI, &[("N", 1003), ("T", 7)], 4);
    let forth = &file.operations[0];
    assert_eq!(forth.path, ["forth", "cells"]);
    assert_eq!(forth.parameters, [Some("i".to_owned()), Some("j".to_owned())]);
    assert_eq!((file.symbols["N"], forth.configuration.iter().product::<u32>()), (1003, 4));
    // Iterations 0 to 1000 stand for rows and columns from 1 on; the first and last part reach to the border.
    for (dimension, parts) in forth.configuration.iter().enumerate() {
        for layout in [&forth.reads[0], &forth.writes[0]] {
            let expected = (*parts > 1).then(|| {
                let begin = |k: u64| if k == 0 { 0 } else { 1001 * k / u64::from(*parts) + 1 };
                let end = |k: u64| if k + 1 == u64::from(*parts) { 1003 } else { begin(k + 1) };
                Cut { dimension, parts: (0..u64::from(*parts)).map(|k| (begin(k), end(k))).collect() }
            });
            assert_eq!(layout.dimensions[dimension], expected);
            assert!(layout.combined_over.is_empty());
        }
    }
    assert_eq!(
        (&forth.reads[0].container[0], &forth.writes[0].container[0]),
        (&"A".to_owned(), &"B".to_owned())
    );
    // What is reduced is combined over the dimensions that its result does not have.
    let product = strategy(MATMUL, &[("M", 8), ("N", 9), ("K", 100_000)], 4);
    let sum = &product.operations[1];
    assert_eq!((sum.op.as_str(), sum.writes[0].combined_over.as_slice()), ("Reduce", &[2][..]));
}

#[test]
fn files_that_contradict_themselves_are_refused_with_the_place() {
    let text = strategy(JACOBI, &[("N", 102), ("T", 7)], 1).to_json().expect("JSON");
    for (from, to, message) in [
        ("\"version\":1", "\"version\":2", "version 2"),
        ("\"version\":1,", "", "missing field `version`"),
        (
            "\"configuration\":[1,1]",
            "\"configuration\":[1]",
            "operation 0, `forth.cells`: the configuration [1]",
        ),
        ("\"configuration\":[1,1]", "\"configuration\":[1,0]", "does not fit 1 processors"),
        ("\"configuration\":[1,1]", "\"configuration\":[4294967295,2]", "does not fit 1 processors"),
        ("\"parameters\":[\"i\",\"j\"]", "\"parameters\":[\"i\"]", "1 parameters for 2 dimensions"),
        (
            "\"dimensions\":[null",
            "\"dimensions\":[{\"dimension\":7,\"parts\":[]}",
            "the cut of `A` along dimension 7",
        ),
        ("\"communication\":0.0", "\"communication\":-1.0", "`communication` is -1"),
        ("\"cost\":", "\"cost\":-", "`cost` is -"),
        ("[\"A\"]", "\"A\"", "invalid type: string"),
        ("}", "", "line 1"),
    ] {
        let wrong = text.replacen(from, to, 1);
        assert_ne!(wrong, text, "{from} is not in {text}");
        let error = StrategyFile::parse(&wrong).expect_err(to).to_string();
        assert!(error.contains(message), "{to}: {error}");
    }
}
