//! Tests of the survey: own graphs pass, causes are free of names, limits hold.

use std::process::Command;
use std::time::Duration;

use serde_json::json;

use super::{Effort, Ended, Limits, Options, Stage, check_start, examine, graphs, in_limits, table};

const LIMITS: Limits = Limits { time: Duration::from_secs(60), memory: 1 << 20 };

#[test]
fn graphs_of_this_project_pass_and_their_inputs_are_found() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/dace/tests/programs");
    let found = graphs(&folder).unwrap();
    for name in ["axpy.raw.sdfg", "histogram.simplified.sdfg", "collatz.version2.sdfg"] {
        let graph = found.iter().find(|graph| graph.name == name).unwrap();
        let effort = Effort { interpret: true, allow_external: false, steps: None };
        let mut stages = Vec::new();
        let (obstacles, example) = examine(&graph.path, effort, &mut |stage| stages.push(stage));
        assert_eq!(obstacles, [], "{name}");
        assert!(example.run.is_some() && example.written.is_some());
        assert_eq!(stages.last(), Some(&Stage::Run));
    }
}

#[test]
fn folders_without_graphs_are_refused_and_unreadable_files_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let missing = graphs(&root.join("missing")).unwrap_err().to_string();
    assert!(missing.contains("missing") && missing.contains("cannot read the folder"), "{missing}");
    let options = |arguments: &[&str]| {
        let given = [root.to_str().unwrap()].into_iter().chain(arguments.iter().copied());
        Options::parse(given.map(str::to_owned))
    };
    let empty = options(&[]).unwrap().chosen(graphs(root).unwrap()).unwrap_err().to_string();
    assert!(empty.contains("there is no file `*.sdfg`"), "{empty}");
    let inner = root.join("a/b.sdfg");
    std::fs::create_dir_all(&inner).unwrap();
    for name in ["a/b.sdfg/first.sdfg", "second.sdfg"] {
        std::fs::write(root.join(name), "{}").unwrap();
    }
    std::fs::write(root.join("broken.sdfgz"), "no archive").unwrap();
    std::fs::write(root.join("text.txt"), "no graph").unwrap();
    std::os::unix::fs::symlink("nowhere", root.join("dangling.sdfg")).unwrap();
    let found = graphs(root).unwrap();
    let names: Vec<&str> = found.iter().map(|graph| graph.name.as_str()).collect();
    assert_eq!(names, ["a/b.sdfg/first.sdfg", "broken.sdfgz", "dangling.sdfg", "second.sdfg"]);
    assert_eq!(found[3].same_as.as_deref(), Some("a/b.sdfg/first.sdfg"));
    for (graph, told) in
        [(0, "`type` is missing"), (1, "no JSON"), (2, "the file cannot be read: No such file")]
    {
        let effort = Effort { interpret: false, allow_external: false, steps: None };
        let (obstacles, _) = examine(&found[graph].path, effort, &mut |_| {});
        assert!(obstacles[0].message.contains(told), "{obstacles:?}");
    }
    // A graph whose twin is left out is examined itself.
    let chosen = options(&["second"]).unwrap().chosen(found.clone()).unwrap();
    assert_eq!((chosen.len(), &chosen[0].same_as), (1, &None));
    let none = options(&["third"]).unwrap().chosen(found).unwrap_err().to_string();
    assert!(none.contains("third"), "{none}");
}

#[test]
fn wrong_options_of_the_survey_are_named() {
    let error = |arguments: &[&str]| {
        Options::parse(arguments.iter().map(|argument| (*argument).to_owned())).unwrap_err()
    };
    assert_eq!(error(&[]), "no folder is named");
    assert_eq!(error(&["x", "--interpreted"]), "there is no option `--interpreted`");
    assert_eq!(error(&["x", "--lines"]), "`--lines` takes a value");
    assert_eq!(error(&["x", "--jobs", "0"]), "`--jobs` takes a positive number, not `0`");
    assert_eq!(error(&["x", "--seconds", "many"]), "`--seconds` takes a positive number, not `many`");
}

#[test]
fn messages_of_different_graphs_have_one_cause() {
    let lines: Vec<_> = [
        "a/nodes[0]/nodes[7]: the array `x` has 3 dimensions",
        "b/nodes[2]: the array `y2` has 12 dimensions",
    ]
    .into_iter()
    .enumerate()
    .map(|(at, message)| {
        let obstacle = super::Obstacle::new(Stage::Read, super::Verdict::Refused, message).with_code("D102");
        json!({"file": format!("{at}.sdfg"), "outcome": "refused", "obstacles": [obstacle.to_json()]})
    })
    .collect();
    let table = table(&lines);
    assert!(
        table.contains("     2      2  refused  read      D102  the array `_` has N dimensions\n"),
        "{table}"
    );
    assert!(table.ends_with("2 graphs, 2 refused\n"), "{table}");
}

/// A stride of 1 would put several elements of a row at one place; the interpreter and native code may differ then.
#[test]
fn strides_of_inputs_keep_elements_apart() {
    let text = "sdfg p {
      symbol J: i64
      array A: f32[3, 3] strides(J, 1) size(2 * J + 3)
      array o: f32[1]
      state s {
        access A
        access o
        A -> o: A[2, 2] -> o[0]
      }
    }";
    let program = sdfg::validate::validate(sdfg::text::parse("p", text).unwrap()).unwrap();
    let found = sdfg_transforms::verify::search(&program, &Default::default(), &Default::default()).unwrap();
    assert!(found.before.symbols().all(|(name, value)| name == "J" && value >= 3));
}

#[test]
fn graphs_of_cpus_that_dace_accepts_are_counted() {
    let line = |outcome: &str, valid: bool, code: &str| {
        let obstacle = super::Obstacle::new(Stage::Check, super::Verdict::Refused, "m: no").with_code(code);
        let obstacles = if outcome == "passed" { json!([]) } else { json!([obstacle.to_json()]) };
        json!({"file": "a", "outcome": outcome, "obstacles": obstacles, "dace": {"original": {"valid": valid}}})
    };
    let lines = [
        line("passed", true, ""),
        line("refused", true, "V304"),
        line("refused", true, "T001"),
        line("refused", true, "V512"),
        line("passed", false, ""),
        line("refused", false, "V304"),
    ];
    let table = table(&lines);
    assert!(
        table.ends_with("1 of 2 that DaCe accepts, for CPUs and without callbacks, passed: 50.0 %\n"),
        "{table}"
    );
}

#[test]
fn functions_and_kinds_keep_their_names_in_causes() {
    assert_eq!(
        super::causes::cause("g/nodes[1]: the function `omp_get_thread_num` of `t1` is not supported"),
        "the function `omp_get_thread_num` of `_` is not supported"
    );
    assert_eq!(
        super::causes::cause(
            "g/t: it calls the C function `sdfg_tasklet_t_edb9ca00`, which this form has not"
        ),
        "it calls the C function `_`, which this form has not"
    );
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(script);
    command
}

#[test]
fn a_crash_and_a_hang_are_told_apart() {
    assert_eq!(in_limits(&shell("echo well"), LIMITS), Ended::Well("well\n".to_owned()));
    let crash = in_limits(&shell("echo stage read; echo bad >&2; kill -SEGV $$"), LIMITS);
    assert!(
        matches!(&crash, Ended::Badly(output, why) if output == "stage read\n" && why.ends_with("bad")),
        "{crash:?}"
    );
    let limits = Limits { time: Duration::from_millis(200), ..LIMITS };
    assert_eq!(
        in_limits(&shell("echo stage read; exec sleep 60"), limits),
        Ended::Late("stage read\n".to_owned())
    );
}

#[test]
fn the_limit_of_memory_holds() {
    let limits = Limits { memory: 700, ..LIMITS };
    assert_eq!(in_limits(&shell("ulimit -v"), limits), Ended::Well("716800\n".to_owned()));
}

#[test]
fn a_limit_in_which_nothing_starts_is_told() {
    assert!(check_start(&shell("true"), LIMITS).is_ok());
    let told = |script: &str, limits| check_start(&shell(script), limits).map_err(|error| error.to_string());
    let small = told("true", Limits { memory: 1, ..LIMITS }).unwrap_err();
    assert!(small.starts_with("no process starts with the limit of 1 MiB (`--memory`): "), "{small}");
    let late = told("exec sleep 60", Limits { time: Duration::from_millis(200), ..LIMITS }).unwrap_err();
    assert!(late.ends_with("it takes longer than 0.2 s"), "{late}");
}
