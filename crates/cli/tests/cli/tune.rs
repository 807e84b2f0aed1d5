//! Tests of `sdfg tune` on a tiny program: results, the log, and wrong input.

use serde_json::Value;

use crate::{Answer, Bench};

const SUM: &str = "sdfg rows {
  symbol N: i64
  array A: f64[N, N]
  array B: f64[N, N]

  state s {
    access A
    access B
    map cells [i = 0:N, j = 0:N] {
      tasklet twice (x) -> (y) { y = 2 * x + 1 }
      cells.A -> twice.x: A[j, i]
      twice.y -> cells.B: B[i, j]
    }
    A -> cells.A
    cells.B -> B
  }
}
";

const CHAIN: &str = r#"{
  "version": 1,
  "steps": [{"transformation": "MapTiling", "parameters": {"tile_sizes": [1, 8]}, "at": ["rows/s/cells"]}]
}
"#;

fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("p.sdft", SUM);
    bench.file("c.json", CHAIN);
    bench
}

/// The command with enough time for a few candidates of a few turns.
fn tune(bench: &Bench, more: &[&str]) -> Answer {
    let fixed = ["tune", "p.sdft", "--chain", "c.json", "--set", "N=64", "--threads", "1", "--turns", "3"];
    bench.run(&[&fixed[..], more].concat())
}

fn json(bench: &Bench, name: &str) -> Value {
    let text = std::fs::read_to_string(bench.path(name)).expect("the file is there");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn the_best_parameters_become_a_chain() {
    let bench = bench();
    // Tiles of one iteration start many short loops.
    let vary = ["--vary", "1.tile_sizes[0]=64", "--vary", "1.tile_sizes[1]=64", "--set", "N=512"];
    let fixed = ["tune", "p.sdft", "--chain", "c.json", "--threads", "1", "-o", "t.json"];
    let answer = bench.run(&[&fixed[..], &vary].concat());
    answer.prints(&[]);
    for text in [
        "4 combinations:\n  1.tile_sizes[0]=1,64\n  1.tile_sizes[1]=8,64\n",
        "1: 1.tile_sizes[0]=64: ",
        "parameters",
        "the given chain",
        "; no candidate is left\n",
    ] {
        assert!(answer.stderr.contains(text), "no `{text}` in {answer:#?}");
    }
    assert_eq!(bench.files(), ["c.json", "p.sdft", "t.json", "t.json.log"]);
    let tuned = json(&bench, "t.json");
    let record = &tuned["tuned"];
    if record.is_null() {
        // The machine was too busy for a gain.
        assert_eq!(tuned, json(&bench, "c.json"));
    } else {
        assert_eq!(record["sizes"]["N"], 512);
        assert_eq!(record["options"], serde_json::json!(["--threads", "1"]));
        assert!(record["ratio"].as_f64().is_some_and(|ratio| ratio < 1.0), "{record}");
        bench.run(&["chain", "show", "t.json"]).prints(&["1. MapTiling tile_sizes=[", "tuned for N=512 on "]);
    }
    bench.run(&["chain", "apply", "p.sdft", "t.json", "--verify"]).prints(&["cells.tiles0"]);
}

#[test]
fn a_resumed_search_reads_its_log() {
    let bench = bench();
    let vary = ["--vary", "1.tile_sizes=[2,8],[0,0],[4,8],[8,8]", "-o", "t.json"];
    let first = tune(&bench, &[&vary[..], &["--candidates", "2"]].concat());
    first.prints(&[]);
    assert!(first.stderr.contains("2 candidates measured; as many candidates as asked for"), "{first:#?}");
    let count = || std::fs::read_to_string(bench.path("t.json.log")).expect("a log").lines().count();
    let lines = count();
    assert_eq!(lines, 4, "each candidate begins and ends");
    let again = tune(&bench, &[&vary[..], &["--candidates", "0", "--resume"]].concat());
    again.prints(&[]);
    assert!(again.stderr.contains("; the log has 2 measurements"), "{again:#?}");
    assert!(again.stderr.contains("0 candidates measured, 2 from the log"), "{again:#?}");
    assert_eq!(count(), lines);
    // A line that was not written to its end is removed.
    let log = std::fs::read_to_string(bench.path("t.json.log")).expect("a log");
    bench.file("t.json.log", format!("{log}{{\"key\":"));
    let rest = tune(&bench, &[&vary[..], &["--resume"]].concat());
    rest.prints(&[]);
    assert!(rest.stderr.contains("refused: 1.tile_sizes=[0,0]: step 1 (MapTiling)"), "{rest:#?}");
    assert!(rest.stderr.contains("2 from the log; no candidate is left"), "{rest:#?}");
    // Other sizes have measurements of their own.
    let other = tune(&bench, &[&vary[..], &["--resume", "--candidates", "0", "--set", "N=32"]].concat());
    other.fails(2, &["symbol `N` is set twice"]);
    let other = ["tune", "p.sdft", "--chain", "c.json", "--set", "N=32", "--resume", "--candidates", "0"];
    let other = bench.run(&[&other[..], &vary].concat());
    assert!(other.stderr.contains("0 candidates measured; as"), "{other:#?}");
    bench.file("t.json.log", "no log\n");
    tune(&bench, &[&vary[..], &["--resume"]].concat())
        .fails(2, &["line 1 is no line of a log of measurements", "t.json.log", "leave --resume out"]);
}

/// Without an output file, the chain goes to the standard output, and nothing else does.
#[test]
fn the_standard_output_has_the_chain() {
    let bench = bench();
    let answer = tune(&bench, &["--candidates", "1", "--cpu-time"]);
    let chain: Value = serde_json::from_str(&answer.prints(&[]).stdout).expect("JSON");
    assert_eq!(chain["steps"][0]["transformation"], "MapTiling");
    assert!(answer.stderr.contains("15 combinations:\n  1.tile_sizes[0]=1,2,4\n"), "{answer:#?}");
    assert_eq!(bench.files(), ["c.json", "p.sdft"]);
}

#[test]
fn wrong_searches_are_refused_with_what_to_do() {
    let bench = bench();
    bench.file("none.json", r#"{"version": 1, "steps": [{"transformation": "simplify"}]}"#);
    bench.file("other.json", CHAIN.replace("cells", "rows"));
    for (arguments, status, message) in [
        (&["--vary", "2.tile_sizes=[8]"][..], 2, "there is no step 2: the chain has 1 steps"),
        (&["--vary", "1.sizes=[8]"], 2, "step 1 (MapTiling) has no parameter `sizes`"),
        (&["--vary", "1.tile_sizes[1]="], 2, "`1.tile_sizes[1]` has no values"),
        (&["--vary", "1.tile_sizes[1]=x+"], 2, "parameters of `MapTiling`"),
        (&["--vary", "tile_sizes"], 2, "write `STEP.PARAMETER=VALUE,VALUE`"),
        (&["--budget", "0s"], 2, "nothing can be measured in no time"),
        (&["--budget", "soon"], 2, "no unit of time"),
        (&["--turns", "1"], 2, "expected a number from 3 to 1000"),
        (&["--resume"], 2, "--output"),
        (&["-o", "there/t.json"], 2, "there/t.json"),
        (&["-o", "p.sdft"], 2, "`p.sdft` is the program itself"),
        (&["--set", "M=3"], 2, "the program has no symbol `M`"),
        (&["--chain", "missing.json"], 2, "missing.json"),
    ] {
        // A repeated option is refused by the parser, so the fixed ones are left out where they are given.
        let chain = if arguments[0] == "--chain" { vec![] } else { vec!["--chain", "c.json"] };
        let fixed = ["tune", "p.sdft", "--set", "N=8"];
        let answer = bench.run(&[&fixed[..], &chain, arguments].concat());
        answer.fails(status, &[message]);
        assert_eq!((answer.stdout.as_str(), bench.files().len()), ("", 4), "{arguments:?}");
    }
    let without = |more: &[&str]| bench.run(&[&["tune", "p.sdft"], more].concat());
    without(&["--chain", "c.json"]).fails(2, &["symbol without a value: N"]);
    without(&["--chain", "none.json", "--set", "N=8"]).fails(2, &["nothing varies", "sdfg chain show"]);
    without(&["--chain", "other.json", "--set", "N=8"])
        .fails(1, &["the given chain cannot be measured: step 1 (MapTiling)"]);
    without(&["--set", "N=8"]).fails(2, &["--chain"]);
}

/// An assumption that does not hold makes the chain wrong. Nothing else can: the checks are those of the transformations.
#[test]
fn wrong_results_end_the_search_loudly() {
    let bench = Bench::new();
    bench.file(
        "p.sdft",
        "sdfg shifted {
  symbol N: i64
  symbol K: i64
  array A: f64[N]

  for rows: i = 0:N - K {
    state s {
      access A
      access B = A
      tasklet next (x) -> (y) { y = 2 * x + 1 }
      A -> next.x: A[i]
      next.y -> B: A[i + K]
    }
  }
}
",
    );
    let steps = r#"{"transformation": "LoopToMap", "assume": ["K >= N"]},
                   {"transformation": "MapStorage", "parameters": {"array": "A"}, "assume": ["K >= N"]},
                   {"transformation": "MapTiling", "parameters": {"tile_sizes": [16]}}"#;
    bench.file("c.json", format!("{{\"version\": 1, \"steps\": [{steps}]}}"));
    let tune = |k: &str| {
        let fixed = ["tune", "p.sdft", "--chain", "c.json", "--set", "N=64", "--candidates", "1"];
        bench.run(&[&fixed[..], &["--threads", "1", "-o", "t.json", "--set", k]].concat())
    };
    let answer = tune("K=1");
    answer.fails(
        1,
        &[
            "wrong rewrite with the given parameters: `A` differs in native code",
            "an assumption of the chain",
            "`t.json.wrong`",
        ],
    );
    assert_eq!(bench.files(), ["c.json", "p.sdft", "t.json.log", "t.json.wrong"]);
    assert_eq!(json(&bench, "t.json.wrong"), json(&bench, "c.json"));
    tune("K=64").prints(&[]);
}

/// An interrupt ends the search with what it has, and a later search goes on from the log.
#[test]
fn an_interrupt_leaves_the_best_chain_so_far() {
    let bench = bench();
    let fixed = ["tune", "p.sdft", "--chain", "c.json", "--set", "N=256", "--threads", "1", "-o", "t.json"];
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_sdfg"))
        .args(fixed)
        .args(["--budget", "10min", "--turns", "1000", "--vary", "1.tile_sizes[1]=9,10,11,12,13,14,15,16"])
        .env("SDFG_CACHE", bench.cache.path())
        .current_dir(bench.folder.path())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the command can be run");
    let has_begun = || std::fs::read_to_string(bench.path("t.json.log")).is_ok_and(|log| !log.is_empty());
    while !has_begun() && child.try_wait().expect("a status").is_none() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.is_ok_and(|status| status.success()));
    let ended = child.wait_with_output().expect("the command ends");
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("; the search was ended\n"), "{stderr}");
    assert_eq!(json(&bench, "t.json")["steps"][0]["transformation"], "MapTiling");
    let log = std::fs::read_to_string(bench.path("t.json.log")).expect("a log");
    let last: Value = serde_json::from_str(log.lines().last().expect("a line")).expect("JSON");
    assert_ne!(last["outcome"], "begun", "{log}");
}

#[test]
fn decisions_of_the_optimiser_are_measured() {
    let bench = bench();
    let fixed = ["optimize", "p.sdft", "--set", "N=64", "--explain", "--threads", "1", "-o", "f.sdft"];
    let plain = bench.run(&["optimize", "p.sdft", "--set", "N=64", "--explain"]);
    let measured = bench.run(&[&fixed[..], &["--measure"]].concat());
    measured.prints(&[]);
    // The same decisions and the same program.
    let written = std::fs::read_to_string(bench.path("f.sdft")).expect("a program");
    assert_eq!(plain.prints(&[]).stdout, written);
    assert!(!plain.stderr.trim().is_empty());
    for decision in plain.stderr.lines() {
        let told = measured.stderr.lines().find(|line| line.starts_with(decision));
        assert!(told.is_some_and(|line| line.contains("; measured ")), "{decision}: {measured:#?}");
    }
    assert!(measured.stderr.contains("all together: measured "), "{measured:#?}");
    bench.run(&["optimize", "p.sdft", "--set", "N=64", "--measure"]).fails(2, &["--explain"]);
    bench.run(&["optimize", "p.sdft", "--explain", "--measure"]).fails(2, &["symbol without a value: N"]);
    bench.run(&["optimize", "p.sdft", "--set", "N=64", "--threads", "1"]).fails(2, &["--measure"]);
}
