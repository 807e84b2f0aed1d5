//! Tests of strategies of files: maps are divided as they say, and operations that are none of the program are refused.

use sdfg_transforms::Pipeline;
use sdfg_transforms::distribute::{DivisionOptions, distribute, prepare};
use sdfg_transforms::strategy::StrategyFile;

use crate::redistribution::JACOBI;
use crate::support::parsed;

#[test]
fn maps_alone_are_divided_by_a_strategy() {
    let operation = |op: &str, path: &str, parts: &str| {
        format!(
            r#"{{"name":"o","op":"{op}","path":"jacobi/{path}","domain":[8,8],"configuration":{parts},"compute":0.0,"communication":0.0}}"#
        )
    };
    let operations = [
        operation("Reduce", "s/A", "[2,1]"),
        operation("Map", "s/m", "[2,1]"),
        operation("Map", r#"\"s.after0\"/n"#, "[1,1]"),
    ];
    let file = format!(
        r#"{{"version":2,"model":"jacobi","procs":2,"cost":1.0,"serial":null,"data_parallel":null,"operations":[{}],
"certificate":{{"checked":true,"bound":1.0,"gap":0.0,"tables":1,"minima":1,"dominated":0}}}}"#,
        operations.join(",")
    );
    let strategy = StrategyFile::parse(&file).expect("a strategy");
    let mut pipeline = Pipeline::on(parsed(JACOBI));
    prepare(&mut pipeline);
    let outcome = distribute(&mut pipeline, &strategy, DivisionOptions::default())
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.divided.iter().map(ToString::to_string).collect::<Vec<_>>(), ["jacobi/s/m"]);
    assert_eq!(outcome.whole.len(), 1, "{:?}", outcome.whole);
}

#[test]
fn operations_that_are_none_of_the_program_are_refused() {
    let mut pipeline = Pipeline::on(parsed(JACOBI));
    prepare(&mut pipeline);
    for (members, message) in [
        (r#""path":"jacobi/s/n""#, r#"the program has no map there; did you mean `jacobi/"s.after0"/n`?"#),
        (r#""path":"jacobi/s/o""#, "the program has no map there; did you mean `jacobi/s/m`?"),
        (
            r#""path":"jacobi/other/o""#,
            r#"the program has no map there; did you mean `jacobi/s/m` or `jacobi/"s.after0"/n`?"#,
        ),
        (r#""path":"jacobi/s""#, "the program has no map there (block), and only maps are divided; did you"),
        (r#""path":"jacobi/s/A""#, "the program has no map there (access node), and only maps are divided"),
        (r#""name":"jacobi/s/m""#, "it has no `path`: a strategy for a graph with costs divides no program"),
        (r#""path":"jacobi/s/m","op":"map""#, "its `op` is `map`: did you mean `Map`?"),
        (
            r#""path":"jacobi/s/m","op":"Conv""#,
            "its `op` is `Conv`; operations of programs are Map, Tasklet,",
        ),
        (
            r#""path":"jacobi/s/m","op":"Reduce""#,
            "its `op` is `Reduce`, and the program has a map there: write",
        ),
        (r#""path":"s/m""#, "operations[0] is the same map: leave out one of them"),
        (
            r#""path":"jacobi/\"s.after0\"/n","configuration":[2]"#,
            "`configuration` has 1 numbers, and the map has 2",
        ),
        (
            r#""path":"jacobi/\"s.after0\"/n","parameters":["i","k"]"#,
            "`parameters` are i, k, and those of the map are i, j: each has a number in `configuration`",
        ),
    ] {
        let parts = if members.contains("configuration") { "" } else { r#","configuration":[2,1]"# };
        let file = format!(
            r#"{{"version":2,"procs":2,"operations":[{{"path":"jacobi/s/m","configuration":[2,1]}},{{{members}{parts}}}]}}"#
        );
        let strategy = StrategyFile::parse(&file).unwrap_or_else(|error| panic!("{members}: {error}"));
        let before = sdfg::text::print(pipeline.program());
        let refused = distribute(&mut pipeline, &strategy, DivisionOptions::default());
        let error = refused.expect_err(members).to_string();
        assert!(error.starts_with("operations[1], `") && error.contains(message), "{members}: {error}");
        assert_eq!(before, sdfg::text::print(pipeline.program()));
    }
}
