//! Tests of the strategy search: from a file of costs to a table, JSON and a picture.

use sdfg_codegen::mpi::{Launcher, Mpi};

use crate::Bench;

/// Two operations that are best cut alike, although the first one alone would rather not be.
const GRAPH: &str = r#"{"model": "two", "procs": 2, "vertices": [
  {"name": "first", "op": "FC", "domain": [8, 4], "configs": [[1, 1], [2, 1]], "costs": [3, 4]},
  {"name": "second", "op": "FC", "domain": [8], "configs": [[1], [2]], "costs": [9, 2]}],
  "edges": [{"source": 0, "target": 1, "costs": [[0, 5], [5, 0.5]]}]}"#;

#[test]
fn a_table_shows_each_operation_and_what_was_proved() {
    let bench = Bench::new();
    bench.file("two.json", GRAPH);
    let answer = bench.run(&["strategy", "--costs", "two.json"]);
    answer.prints(&["first      8 x 4   2 x 1", "4.0000e0", "5.0000e-1", "cost 6.5 on 2 processors"]);
    answer.prints(&[
        "serial: 12, 1.846",
        "data parallel (first dimension): 6.5, 1.000",
        "no strategy costs less than 6.5",
    ]);
    assert!(answer.stderr.contains("2 tables with 3 entries"), "{answer:#?}");
    for algorithm in ["dynamic", "table-pruning", "exhaustive"] {
        bench.run(&["strategy", "--costs", "two.json", "--algorithm", algorithm]).prints(&["cost 6.5 on"]);
    }
    for order in
        ["best", "sort-nodes", "dependent-sets", "min-fill", "min-volume", "random-restarts", "exact"]
    {
        bench.run(&["strategy", "--costs", "two.json", "--order", order]).prints(&["cost 6.5 on"]);
    }
}

#[test]
fn json_is_one_object_on_standard_output() {
    let bench = Bench::new();
    let answer = bench.run_with(&["strategy", "--costs", "-", "--json", "-p", "1"], GRAPH, &[]);
    answer.prints(&[]);
    let value: serde_json::Value = serde_json::from_str(&answer.stdout).expect("JSON");
    assert_eq!((&value["cost"], &value["procs"]), (&12.0.into(), &1.into()));
    assert_eq!(value["operations"][0]["configuration"], serde_json::json!([1, 1]));
    assert_eq!(value["operations"][1]["compute"], 9.0);
    assert_eq!(value["certificate"]["bound"], 12.0);
    assert!(value["search_seconds"].is_f64());
}

#[test]
fn a_picture_is_coloured_by_configuration() {
    let bench = Bench::new();
    bench.file("two.json", GRAPH);
    bench.run(&["strategy", "--costs", "two.json", "--picture", "two.dot"]).prints(&["cost 6.5"]);
    let picture = std::fs::read_to_string(bench.path("two.dot")).expect("a picture");
    assert!(picture.starts_with("digraph \"two\"") && picture.contains("v0 -> v1"), "{picture}");
    bench.run(&["strategy", "--costs", "two.json", "--picture", "two.svg"]).prints(&["cost 6.5"]);
    let drawn = std::fs::read_to_string(bench.path("two.svg")).expect("a picture");
    assert!(drawn.starts_with("<svg") && drawn.contains("second"), "{drawn}");
}

#[test]
fn wrong_graphs_and_options_are_refused() {
    let bench = Bench::new();
    bench.run(&["strategy", "--costs", "none.json"]).fails(2, &["cannot read `none.json`"]);
    bench.file("short.json", GRAPH.replace("[5, 0.5]", "[5]"));
    bench
        .run(&["strategy", "--costs", "short.json"])
        .fails(2, &["row 1 of the costs of edge 0", "short.json"]);
    bench.file("two.json", GRAPH);
    bench.run(&["strategy", "--costs", "two.json", "-p", "0"]).fails(2, &["processors is 0"]);
    bench.run(&["strategy", "--costs", "two.json", "-p", "3"]).fails(2, &["for 2 processors, not for 3"]);
    bench.run(&["strategy", "--costs", "two.json", "--memory", "0"]).fails(1, &["limit is 0", "--memory"]);
}

/// Squares and their sum.
const PROGRAM: &str = "sdfg two {
  symbol N: i64
  array A: f64[N]
  transient array B: f64[N]
  scalar C: f64
  state s {
    access A
    access B
    access C
    map square [i = 0:N] {
      tasklet f (a) -> (b) { b = a * a }
      square.A -> f.a: A[i]
      f.b -> square.B: B[i]
    }
    reduce total wcr(sum) identity(0.0)
    A -> square.A
    square.B -> B
    B -> total: B[0:N]
    total -> C: C
  }
}";

#[test]
fn a_program_is_searched_at_given_sizes() {
    let bench = Bench::new();
    bench.file("two.sdft", PROGRAM);
    let run = ["strategy", "two.sdft", "-p", "4", "--set", "N=1000000"];
    bench.run(&run).prints(&[
        "s.square   1000000  4",
        "s.total    1000000  4",
        "on 4 processors",
        "serial: ",
    ]);
    let answer = bench.run(&[&run[..], &["--json", "-o", "two.json"]].concat());
    let mut value: serde_json::Value = serde_json::from_str(&answer.stdout).expect("JSON");
    // The file has all but the time.
    let file = std::fs::read_to_string(bench.path("two.json")).expect("a file");
    value.as_object_mut().expect("an object").remove("search_seconds").expect("a time");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&file).expect("JSON"), value);
    assert_eq!(value["operations"][0]["path"], serde_json::json!("two/s/square"));
    // Squares read and write 16 bytes for each element, the sum reads 8 and its result; then three partial sums go around.
    let (memory, link, latency) = (2e10, 1e10, 2e-6);
    let expected = 4e6 / memory + (2e6 + 8.0) / memory + 6.0 * latency + 16.0 / link;
    let cost = value["cost"].as_f64().expect("a number");
    assert!((cost - expected).abs() < 1e-9, "{cost}, {expected}");
    // With a latency of a second nothing is cut.
    bench.file(
        "slow.toml",
        "ranks = 4\noperations_per_second = 1e9\nmemory_bytes_per_second = 1e9\nlink_bytes_per_second = 1e9\nlatency_seconds = 1",
    );
    bench
        .run(&["strategy", "two.sdft", "--set", "N=1000000", "--machine", "slow.toml"])
        .prints(&["s.total    1000000  1"]);
}

#[test]
fn wrong_programs_and_machines_are_refused() {
    let bench = Bench::new();
    bench.file("two.sdft", PROGRAM);
    bench.run(&["strategy"]).fails(2, &["<PROGRAM>"]);
    bench.run(&["strategy", "two.sdft", "--costs", "two.json"]).fails(2, &["cannot be used with"]);
    bench.run(&["strategy", "two.sdft", "-p", "2"]).fails(2, &["has no value", "--set"]);
    bench.run(&["strategy", "two.sdft", "-p", "0", "--set", "N=9"]).fails(2, &["`ranks` is 0", "-p"]);
    bench.file("short.toml", "ranks = 4");
    bench
        .run(&["strategy", "two.sdft", "--set", "N=9", "--machine", "short.toml"])
        .fails(2, &["missing field `operations_per_second`", "short.toml"]);
}

#[test]
fn a_machine_is_measured_into_a_file_that_costs_are_computed_with() {
    let bench = Bench::new();
    bench.run(&["strategy", "--calibrate", "-p", "1", "-o", "machine.toml"]).prints(&[]);
    let machine = std::fs::read_to_string(bench.path("machine.toml")).expect("a file");
    let keys: Vec<&str> = machine
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(" =").next().expect("a key"))
        .collect();
    let expected = [
        "ranks",
        "operations_per_second",
        "memory_bytes_per_second",
        "link_bytes_per_second",
        "latency_seconds",
        "threads",
        "cache_bytes",
    ];
    assert_eq!(keys, expected, "{machine}");
    bench.file("two.sdft", PROGRAM);
    bench
        .run(&["strategy", "two.sdft", "--set", "N=1000", "--machine", "machine.toml"])
        .prints(&["on 1 processors"]);
    bench.run(&["strategy", "--calibrate", "-p", "0"]).fails(2, &["0 ranks cannot be measured", "-p"]);
    bench.run(&["strategy", "--calibrate", "two.sdft"]).fails(2, &["cannot be used with"]);
}

#[test]
fn ranks_of_mpi_measure_one_machine() {
    let launcher = match Mpi::find().and_then(|mpi| Launcher::find(&mpi)) {
        Ok(launcher) => launcher,
        Err(error) => {
            super::packages::skip(&error.to_string());
            return;
        }
    };
    let bench = Bench::new();
    let run = |more: &[&str]| {
        let mut command = launcher.command(2, env!("CARGO_BIN_EXE_sdfg"));
        command.args(["strategy", "--calibrate"]).args(more).current_dir(bench.path("."));
        command.env("SDFG_CACHE", bench.cache.path()).output().expect("the launcher runs")
    };
    let output = run(&["-o", "machine.toml"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let machine = std::fs::read_to_string(bench.path("machine.toml")).expect("a file");
    assert!(machine.contains("\nranks = 2\n") && machine.contains("least squares"), "{machine}");
    // The launcher of this project binds no rank, so that the two share the processors.
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    assert!(machine.contains(&format!("\nthreads = {} ", (processors / 2).max(1))), "{machine}");
    bench.file("two.sdft", PROGRAM);
    bench
        .run(&["strategy", "two.sdft", "--set", "N=1000", "--machine", "machine.toml"])
        .prints(&["on 2 processors"]);
    let output = run(&["-p", "3"]);
    assert!(!output.status.success());
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("MPI started 2 ranks"), "{message}");
}

#[test]
fn library_nodes_are_what_they_expand_to() {
    let bench = Bench::new();
    let program = "sdfg product {
  symbol N: i64
  array A: f64[N, N]
  array B: f64[N, N]
  array C: f64[N, N]
  state main {
    access A
    access B
    access C
    library product: MatMul (_a, _b) -> (_c)
    A -> product._a
    B -> product._b
    product._c -> C
  }
}";
    bench.file("product.sdft", program);
    let answer = bench.run(&["strategy", "product.sdft", "-p", "4", "--set", "N=1000", "--json"]);
    answer.prints(&[]);
    let value: serde_json::Value = serde_json::from_str(&answer.stdout).expect("JSON");
    let operations = value["operations"].as_array().expect("a list");
    let domains: Vec<String> = operations.iter().map(|one| one["domain"].to_string()).collect();
    assert!(domains.contains(&"[1000,1000,1000]".to_owned()), "{value}");
    let names = operations.iter().map(|one| one["name"].as_str().expect("a name"));
    assert!(names.into_iter().all(|name| name.starts_with("main.product.")), "{value}");
}
