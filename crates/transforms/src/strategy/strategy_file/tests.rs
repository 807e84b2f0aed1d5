//! Tests of strategy files: written files read back equal, known layouts, and contradictory files.

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
    assert_eq!(forth.path.to_string(), "jacobi2d/forth/cells");
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
    let name = |layout: &ContainerLayout| layout.container.to_string();
    assert_eq!(
        (name(&forth.reads[0]), name(&forth.writes[0])),
        ("jacobi2d/container A".to_owned(), "jacobi2d/container B".to_owned())
    );
    // What is reduced is combined over the dimensions that its result does not have.
    let product = strategy(MATMUL, &[("M", 8), ("N", 9), ("K", 100_000)], 4);
    let sum = &product.operations[1];
    assert_eq!((sum.op.as_str(), sum.writes[0].combined_over.as_slice()), ("Reduce", &[2][..]));
}

/// Output of version 1 for operations of a program and of its callee, and for a graph with costs.
const VERSION_1: &str = r#"{"version":1,"model":"MODEL","procs":2,"symbols":{"N":8},"cost":1.0,"serial":2.0,"data_parallel":null,
"operations":[
{"name":"s.m","op":"Map","path":["s","m"],"domain":[8],"parameters":["i"],"configuration":[2],"compute":0.5,"communication":0.0,
"reads":[{"container":["A"],"dimensions":[{"dimension":0,"parts":[[0,4],[4,8]]}]}]},
{"name":"s.call.in side.m","op":"Map","path":["s","call","in side","m"],"domain":[8],"configuration":[1],"compute":0.5,"communication":0.0,
"writes":[{"container":["s","call","y"],"dimensions":[null]}]},
{"name":"conv","op":"Conv","domain":[8],"configuration":[1],"compute":0.0,"communication":0.0}],
"certificate":{"checked":true,"bound":1.0,"gap":0.0,"tables":1,"minima":1,"dominated":0}}"#;

#[test]
fn lists_of_labels_of_version_1_are_paths() {
    let file = StrategyFile::parse(&VERSION_1.replace("MODEL", "p")).expect("a strategy");
    let [first, called, given] = &file.operations[..] else { panic!("{:?}", file.operations) };
    assert_eq!((file.version, first.path.to_string()), (2, "p/s/m".to_owned()));
    assert_eq!(first.reads[0].container.to_string(), "p/container A");
    assert_eq!(called.path.to_string(), r#"p/s/call/"in side"/m"#);
    assert_eq!(called.writes[0].container.to_string(), "p/s/call/container y");
    assert!(given.path.is_empty());
    let again = file.to_json().expect("JSON");
    assert!(again.contains(r#""path":"p/s/call/\"in side\"/m""#), "{again}");
    assert_eq!(StrategyFile::parse(&again).expect("a strategy"), file);
    // Without a name, paths begin within the program.
    let nameless = StrategyFile::parse(&VERSION_1.replace("MODEL", "")).expect("a strategy");
    assert_eq!(nameless.operations[0].path.to_string(), "s/m");
    // Each version has its own form of paths.
    let mixed = VERSION_1.replacen("[\"s\",\"m\"]", "\"p/s/m\"", 1);
    assert!(StrategyFile::parse(&mixed).is_err());
    assert!(StrategyFile::parse(&VERSION_1.replacen("\"version\":1", "\"version\":2", 1)).is_err());
}

#[test]
fn files_that_contradict_themselves_are_refused_with_the_place() {
    let text = strategy(JACOBI, &[("N", 102), ("T", 7)], 1).to_json().expect("JSON");
    for (from, to, message) in [
        ("\"version\":2", "\"version\":3", "version 3; versions 1 and 2 are read"),
        ("\"version\":2,", "", "missing field `version`"),
        (
            "\"configuration\":[1,1]",
            "\"configuration\":[1]",
            "operations[0], `jacobi2d/forth/cells`: `configuration` has 1 numbers, and `domain` 2: each has one",
        ),
        ("\"configuration\":[1,1]", "\"configuration\":[4294967295,2]", "more than 1, the ranks of `procs`"),
        (
            "\"parameters\":[\"i\",\"j\"]",
            "\"parameters\":[\"i\"]",
            "`configuration` has 2 numbers, and `parameters` 1",
        ),
        (
            "\"dimensions\":[null",
            "\"dimensions\":[{\"dimension\":7,\"parts\":[]}",
            "the cut of `jacobi2d/container A` along dimension 7",
        ),
        ("\"communication\":0.0", "\"communication\":-1.0", "`communication` is -1"),
        ("\"cost\":", "\"cost\":-", "`cost` is -"),
        ("\"jacobi2d/container A\"", "[\"A\"]", "invalid type: sequence"),
        (
            "\"jacobi2d/forth/cells\"",
            "\"jacobi2d//cells\"",
            "operations[0], `jacobi2d//cells`: `path` is \"jacobi2d//cells\": ",
        ),
        ("\"model\":", "\"modle\":", "`modle` is no member of a strategy: did you mean `model`?"),
        (
            "\"bound\":",
            "\"bond\":",
            "`bond` in `certificate` is no member of a strategy: did you mean `bound`?",
        ),
        (
            "\"container\":",
            "\"array\":\"A\",\"container\":",
            "operations[0], `jacobi2d/forth/cells`: `array` in `reads[0]` is no member of a strategy: leave it out; the members are container,",
        ),
        ("}", "", "EOF while parsing"),
    ] {
        let wrong = text.replacen(from, to, 1);
        assert_ne!(wrong, text, "{from} is not in {text}");
        let error = StrategyFile::parse(&wrong).expect_err(to).to_string();
        assert!(error.contains(message), "{to}: {error}");
    }
}

/// A strategy as one writes it by hand, with other members in its second operation.
fn by_hand(procs: &str, second: &str) -> String {
    format!(
        r#"{{"version": 2, "procs": {procs}, "operations": [{{"path": "p/s/m", "configuration": [2]}}, {second}]}}"#
    )
}

#[test]
fn mistakes_in_files_written_by_hand_are_told_with_the_operation() {
    let right = r#"{"path": "p/s/n", "configuration": [2]}"#;
    assert!(StrategyFile::parse(&by_hand("2", right)).is_ok());
    for procs in ["0", "-4", "2.5", "\"4\"", "4294967296"] {
        let error = StrategyFile::parse(&by_hand(procs, right)).expect_err(procs).to_string();
        let expected = format!("`procs` is {procs}; write the number of ranks, from 1 to 4294967295");
        assert_eq!(error, expected);
    }
    for (second, message) in [
        (
            r#"{"path": "p/s/n", "configuraton": [2]}"#,
            "operations[1], `p/s/n`: `configuraton` is no member of a strategy: did you mean `configuration`?",
        ),
        (
            r#"{"path": "p/s/n", "configuration": [2], "ranks": 2}"#,
            "operations[1], `p/s/n`: `ranks` is no member of a strategy: leave it out; the members are name, op, path,",
        ),
        (r#"{"path": "p/s/n"}"#, "operations[1], `p/s/n`: it has no `configuration`: write the number"),
        (
            r#"{"path": "p/s/n", "configuration": [2, 0]}"#,
            "operations[1], `p/s/n`: `configuration` is [2,0]; write a list of the numbers of parts",
        ),
        (r#"{"path": "p/s/n", "configuration": [-2]}"#, "operations[1], `p/s/n`: `configuration` is [-2]; "),
        (r#"{"path": "p/s/n", "configuration": 2}"#, "operations[1], `p/s/n`: `configuration` is 2; "),
        (r#"{"name": "n", "configuration": [4]}"#, "operations[1], `n`: the parts of `configuration` [4]"),
        (
            r#"{"path": ["p", "s"], "configuration": [2]}"#,
            "operations[1]: `path` is [\"p\",\"s\"]: it is no string",
        ),
        ("[2]", "operations[1]: it is [2]; write an object with `path` and `configuration`"),
    ] {
        let error = StrategyFile::parse(&by_hand("2", second)).expect_err(second).to_string();
        assert!(error.starts_with(message), "{second}: {error}");
    }
    // Only the form that prints it has the time of a search.
    let timed = by_hand("2", right).replacen("\"procs\"", "\"search_seconds\": 0.5, \"procs\"", 1);
    assert!(StrategyFile::parse(&timed).is_ok());
}
