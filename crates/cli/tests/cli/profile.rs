//! Tests of measurements: tables, traces, and messages about unsupported requests.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Bench;
use super::programs::DOUBLE;

/// Sums up rows in a loop, by a map inside of a shared map.
const ROWS: &str = "\
sdfg rows {
  symbol N: i64
  array A: f64[N, N]
  array S: f64[N]
  for steps: t = 0:3 {
    state sum {
      access A
      access S
      map all [i = 0:N] {
        map row [j = 0:N] schedule(sequential) {
          tasklet add (a) -> (s) { s = a }
          row.A -> add.a: A[i, j]
          add.s -> row.S: S[i] wcr(sum)
        }
        all.A -> row.A
        row.S -> all.S
      }
      A -> all.A
      all.S -> S
    }
  }
}
";

/// Two rows whose sums two threads compute, each of them with a team where the map inside has one.
const NESTED: &str = "\
sdfg rows {
  symbol N: i64
  array A: f64[2, N]
  array S: f64[2]
  state sum {
    access A
    access S
    map all [i = 0:2] threads(2) {
      map row [j = 0:N] ATTRIBUTES {
        tasklet add (a) -> (s) { s = a }
        row.A -> add.a: A[i, j]
        add.s -> row.S: S[i] wcr(sum)
      }
      all.A -> row.A
      row.S -> all.S
    }
    A -> all.A
    all.S -> S
  }
}
";

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("no number `{key}` in {value}"))
}

#[test]
fn a_trace_has_every_execution_in_its_thread() {
    traced(&[]);
    // They take so long that timers are far apart.
    traced(&["--counters"]);
}

fn traced(more: &[&str]) {
    let bench = Bench::new();
    bench.file("rows.sdft", ROWS);
    let run = ["run", "rows.sdft", "--set", "N=70", "--threads", "2", "--repeat", "2", "--profile=tasklet"];
    let arguments: Vec<&str> =
        run.into_iter().chain(["--trace", "trace.json"]).chain(more.iter().copied()).collect();
    let answer = bench.run(&arguments);
    answer.prints(&["S: f64[70]"]);
    assert!(answer.stderr.starts_with("note") && answer.stderr.contains("of program"), "{answer:#?}");
    assert!(answer.stderr.contains("rows/sum/add") && answer.stderr.contains("2 runs"), "{answer:#?}");

    let text = std::fs::read_to_string(bench.path("trace.json")).expect("it was written");
    let trace: Value = serde_json::from_str(&text).expect("it is JSON");
    let expected: BTreeMap<(&str, &str), u64> = [
        (("program", "rows"), 2),
        (("block", "rows/steps"), 2),
        (("block", "rows/sum"), 6),
        (("map", "rows/sum/all"), 6),
        (("part", "rows/sum/all"), 12),
        (("map", "rows/sum/row"), 420),
        (("tasklet", "rows/sum/add"), 29_400),
    ]
    .into();
    let timers = trace["timers"].as_array().expect("a list");
    let text_of = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let counts: BTreeMap<(String, String), u64> = timers
        .iter()
        .map(|r| ((text_of(r, "kind"), text_of(r, "path")), r["count"].as_u64().unwrap_or_default()))
        .collect();
    assert_eq!(counts.len(), expected.len());
    for ((kind, path), count) in &expected {
        assert_eq!(counts[&((*kind).to_owned(), (*path).to_owned())], *count, "{kind} {path}");
    }

    let events: Vec<&Value> =
        trace["traceEvents"].as_array().expect("a list").iter().filter(|event| event["ph"] == "X").collect();
    let mut seen: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut threads: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
    for event in &events {
        let path = text_of(&event["args"], "path");
        assert_eq!(path.rsplit('/').next(), event["name"].as_str());
        assert!(event["pid"].is_u64(), "{event}");
        assert_eq!(event["args"]["page-faults"].is_u64(), !more.is_empty(), "{event}");
        let (begin, duration) = (number(event, "ts"), number(event, "dur"));
        assert!(begin >= 0.0 && duration >= 0.0);
        threads.entry(event["tid"].as_u64().expect("a thread")).or_default().push((begin, begin + duration));
        *seen.entry((text_of(event, "cat"), path)).or_default() += 1;
    }
    assert_eq!(seen, counts);
    assert_eq!((threads.len(), &trace["missingEvents"]), (2, &Value::from(0)));
    // Whatever runs in a thread is inside of what runs around it, or beside it.
    for executions in threads.values_mut() {
        executions.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
        let mut around: Vec<f64> = Vec::new();
        for (begin, end) in executions.iter() {
            around.retain(|outer| outer > begin);
            // The clock counts nanoseconds, of which a double has all; the sum may lose a bit.
            assert!(around.last().is_none_or(|outer| *end <= outer + 1e-6), "{begin} to {end} of {around:?}");
            around.push(*end);
        }
    }
}

#[test]
fn levels_and_wrong_use() {
    let bench = Bench::new();
    bench.file("twofold.sdft", DOUBLE);
    let run = |more: &[&str]| bench.run(&[&["run", "twofold.sdft", "--set", "N=5"], more].concat());
    for (level, paths, none) in [
        ("--profile=program", vec!["  twofold\n"], "twofold/main"),
        ("--profile=block", vec!["  twofold\n", "  twofold/main\n"], "twofold/main/all"),
        ("--profile", vec!["map ", "part ", "  twofold/main/all\n"], "twofold/main/twice"),
    ] {
        let answer = run(&[level]);
        answer.prints(&["B: f64[5]"]);
        let table = answer.stderr + "\n";
        assert!(paths.iter().all(|path| table.contains(path)) && !table.contains(none), "{table}");
    }
    assert!(!run(&[]).stderr.contains("program"));
    run(&["--counters"]).fails(2, &["nothing is", "--profile"]);
    run(&["--profile=loop"]).fails(2, &["loop", "tasklet"]);
    run(&["--trace", "no/folder/t.json"]).fails(2, &["no/folder/t.json"]);
    let compile =
        |more: &[&str]| bench.run(&[&["compile", "twofold.sdft", "--emit", "header"], more].concat());
    let header = compile(&["--instrument", "map"]);
    header.prints(&[
        "const char *twofold_profile(twofold_t *handle, int32_t format);",
        "TWOFOLD_PROFILE_TRACE",
    ]);
    assert!(!compile(&[]).stdout.contains("profile"));
    compile(&["--counters"]).fails(2, &["--instrument"]);
}

/// Threads that run parts of the inner map of [`NESTED`], over both rows: none where it has no team.
fn inner_parts(attributes: &str, columns: &str, options: &[&str]) -> u64 {
    let bench = Bench::new();
    bench.file("rows.sdft", NESTED.replace("ATTRIBUTES", attributes));
    let run = ["run", "rows.sdft", "--set", columns, "--profile=map", "--trace", "trace.json"];
    bench.run(&run.into_iter().chain(options.iter().copied()).collect::<Vec<_>>()).prints(&["S: f64[2]"]);
    let text = std::fs::read_to_string(bench.path("trace.json")).expect("it was written");
    let trace: Value = serde_json::from_str(&text).expect("it is JSON");
    let timers = trace["timers"].as_array().expect("a list");
    let inner = timers.iter().filter(|timer| timer["kind"] == "part" && timer["path"] == "rows/sum/row");
    inner.map(|timer| timer["count"].as_u64().unwrap_or_default()).sum()
}

/// Whatever the number of threads of the run, and however often the OpenMP runtime permits teams in teams by itself.
#[test]
fn teams_in_teams_have_as_many_threads_as_they_ask_for() {
    let many = "N=5000";
    assert_eq!(inner_parts("", many, &[]), 0);
    assert_eq!(inner_parts("schedule(cpu_multicore) threads(3)", many, &[]), 0);
    assert_eq!(inner_parts("nested(3)", many, &["--threads", "1"]), 6);
    assert_eq!(inner_parts("nested(3) threads(5)", many, &[]), 6);
    assert_eq!(inner_parts("nested(N - 4996)", many, &[]), 8);
    // With little to do, the thread around it does it alone.
    assert_eq!(inner_parts("nested(3)", "N=50", &[]), 2);
    // The option limits teams that maps ask for, and gives them to those of `cpu_multicore`.
    assert_eq!(inner_parts("nested(3)", many, &["--nested-threads", "2"]), 4);
    assert_eq!(inner_parts("nested(3)", many, &["--nested-threads", "1"]), 0);
    assert_eq!(inner_parts("nested(3)", many, &["--reproducible"]), 0);
    assert_eq!(inner_parts("", many, &["--nested-threads", "3"]), 0);
    assert_eq!(inner_parts("schedule(cpu_multicore)", many, &["--nested-threads", "3"]), 6);
    assert_eq!(inner_parts("schedule(cpu_multicore) threads(2)", many, &["--nested-threads", "3"]), 4);
}
