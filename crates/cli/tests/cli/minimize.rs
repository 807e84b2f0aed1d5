//! Tests of `sdfg minimize` with shell scripts as the failing command.

use crate::Bench;
use crate::programs::{DOUBLE, OUTSIDE};

/// Fails with status 3 on programs with a map, and complains about other things with status 1.
const NEEDS_MAP: &str =
    "#!/bin/sh\nif grep -q 'map all' \"$1\"; then echo 'no maps here'; exit 3; fi\nexit 1\n";

fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    bench.file("needs_map.sh", NEEDS_MAP);
    bench
}

#[test]
fn the_smallest_program_with_the_same_status_is_written() {
    let bench = bench();
    let answer = bench.run(&["minimize", "double.sdft", "--", "sh", "needs_map.sh"]);
    answer.prints(&[
        "sdfg twofold {\n  state main {\n    map all [i = 0] {\n      order all -> all\n    }\n  }\n}\n",
    ]);
    assert!(
        answer.stderr.contains("from 1 block, 5 nodes, 4 edges to 1 block, 2 nodes, 1 edge"),
        "{answer:#?}"
    );
    assert!(!answer.stderr.contains("try 1:"), "steps are shown on terminals only: {answer:#?}");
    let told =
        bench.run(&["minimize", "double.sdft", "-v", "-o", "small.sdft", "--", "sh", "./needs_map.sh", "{}"]);
    told.prints(&[]);
    assert!(told.stderr.contains("without the tasklet `twice`"), "{told:#?}");
    assert_eq!(std::fs::read_to_string(bench.path("small.sdft")).expect("a file"), answer.stdout);
    assert_eq!(bench.files(), ["double.sdft", "needs_map.sh", "small.sdft"]);
    let stopped = bench.run(&["minimize", "double.sdft", "--tries", "1", "--", "sh", "needs_map.sh"]);
    assert!(
        stopped.prints(&["sdfg twofold"]).stderr.contains("in 1 try; stopped by --tries"),
        "{stopped:#?}"
    );
}

#[test]
fn the_message_tells_failures_apart() {
    let bench = bench();
    bench.file("outside.sdft", OUTSIDE);
    let sdfg = env!("CARGO_BIN_EXE_sdfg");
    let tail = ["--message", "out of bounds", "--", sdfg, "interpret", "{}", "--set", "N=4", "--set", "k=4"];
    let answer = bench.run(&[&["minimize", "outside.sdft"][..], &tail].concat());
    answer.prints(&["a = 0 }", "A[k]"]);
    bench.file("small.sdft", &answer.stdout);
    bench.run(&["interpret", "small.sdft", "--set", "N=4", "--set", "k=4"]).fails(1, &["out of bounds"]);
    assert!(answer.stderr.contains("to 1 block, 2 nodes, 1 edge"), "{answer:#?}");
    let other =
        bench.run(&["minimize", "double.sdft", "--message", "maps there", "--", "sh", "needs_map.sh"]);
    other.fails(2, &["does not write `maps there`"]);
}

#[test]
fn commands_that_hang_fail_only_if_they_did_before() {
    let bench = bench();
    bench.file("hangs.sh", "if grep -q tasklet \"$1\"; then exit 3; fi\nexec sleep 60\n");
    let answer =
        bench.run(&["minimize", "double.sdft", "--timeout", "1", "--tries", "2", "--", "sh", "hangs.sh"]);
    answer.prints(&["tasklet"]);
    bench.file("hangs_always.sh", "sleep 60\n");
    let answer = bench.run(&[
        "minimize",
        "double.sdft",
        "--timeout",
        "1",
        "--tries",
        "1",
        "--",
        "sh",
        "hangs_always.sh",
    ]);
    assert!(!answer.prints(&[]).stdout.contains("tasklet"), "{answer:#?}");
}

#[test]
fn wrong_use_is_told() {
    let bench = bench();
    bench.run(&["minimize", "double.sdft"]).fails(2, &["COMMAND"]);
    bench.run(&["minimize", "double.sdft", "--", "true"]).fails(2, &["`true` succeeds on the program"]);
    // The name of earlier releases.
    bench.run(&["reduce", "double.sdft", "--", "true"]).fails(2, &["`true` succeeds on the program"]);
    bench
        .run(&["minimize", "double.sdft", "--", "./no_such_command"])
        .fails(2, &["cannot run `./no_such_command`"]);
    bench.run(&["minimize", "missing.sdft", "--", "false"]).fails(2, &["cannot read `missing.sdft`"]);
    bench.run(&["minimize", "double.sdft", "--timeout", "0", "--", "false"]).fails(2, &["--timeout"]);
    bench.file("wrong.sdft", "sdfg wrong {\n  break b\n}\n");
    bench.run(&["minimize", "wrong.sdft", "--", "false"]).fails(1, &["V601"]);
    let unwritten = bench.run(&["minimize", "double.sdft", "-o", "no/such/folder.sdft", "--", "false"]);
    unwritten.fails(2, &["no/such/folder.sdft"]);
}
