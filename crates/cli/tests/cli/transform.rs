//! Tests of transformations: pages, matches with reasons, chains, and wrong input.

use crate::Bench;

const TWO_MAPS: &str = "sdfg p {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  transient array T: f64[N]

  state s {
    access A
    access T
    map add [i = 0:N] {
      tasklet plus (x) -> (y) { y = x + 1 }
      add.A -> plus.x: A[i]
      plus.y -> add.T: T[i]
    }
    access B
    map scale [k = 0:N] {
      tasklet times (x) -> (y) { y = 2 * x }
      scale.T -> times.x: T[k]
      times.y -> scale.B: B[k]
    }
    A -> add.A
    add.T -> T
    T -> scale.T
    scale.B -> B
  }
}
";

#[test]
fn transformations_have_pages_and_matches() {
    let bench = Bench::new();
    bench.file("p.sdft", TWO_MAPS);
    bench.run(&["transforms"]).prints(&["MapFusion", "control flow", "data"]);
    bench.run(&["transforms", "MapTiling"]).prints(&[
        "Pattern\n\n  map\n",
        "\n  - tile_sizes (list",
        "default [32]",
        "\nAfter\n",
    ]);
    bench
        .run(&["match", "p.sdft"])
        .prints(&["MapFusion at p/s/add, p/s/T, p/s/scale", "MapTiling at p/s/add"]);
    bench
        .run(&["match", "p.sdft", "MapExpansion"])
        .prints(&["refused: parameter `dimensions`: the map has 1"]);
}

#[test]
fn a_recorded_chain_gives_the_same_program() {
    let bench = Bench::new();
    bench.file("p.sdft", TWO_MAPS);
    let fuse = [
        "transform",
        "p.sdft",
        "MapFusion",
        "--at",
        "add",
        "--at",
        "scale",
        "--record",
        "c.json",
        "-o",
        "f.sdft",
    ];
    bench.run(&fuse).prints(&[]);
    let tile = [
        "transform",
        "f.sdft",
        "MapTiling",
        "--param",
        "tile_sizes=[8]",
        "--record",
        "c.json",
        "-o",
        "t.sdft",
    ];
    bench.run(&tile).prints(&[]);
    bench.run(&["chain", "show", "c.json"]).prints(&["1. MapFusion at p/s/add", "2. MapTiling"]);
    let replayed = bench.run(&["chain", "apply", "p.sdft", "c.json"]);
    replayed.prints(&["transient scalar T: f64", "N:8"]);
    assert_eq!(bench.run(&["print", "t.sdft"]).stdout, replayed.stdout);
    let first = bench.run(&["chain", "apply", "p.sdft", "c.json", "--steps", "1"]);
    assert_eq!(bench.run(&["print", "f.sdft"]).stdout, first.stdout);
    bench.run(&["chain", "diff", "c.json", "c.json"]).prints(&["the chains are the same"]);
    let more = bench.run(&["chain", "apply", "p.sdft", "c.json", "--steps", "3"]);
    more.fails(2, &["--steps is 3, and the chain has 2 steps"]);
}

#[test]
fn wrong_transformations_are_refused_with_what_to_do() {
    let bench = Bench::new();
    bench.file("p.sdft", TWO_MAPS);
    for (arguments, message) in [
        (&["transform", "p.sdft", "MapTilin"][..], "did you mean `MapTiling`?"),
        (&["transform", "p.sdft", "MapTiling", "--param", "tile=3"], "unknown field `tile`"),
        (&["transform", "p.sdft", "MapTiling", "--param", "tile_sizes"], "has no value"),
        (&["transform", "p.sdft", "MapTiling"], "MapTiling matches several times: p/s/add; p/s/scale; name"),
        (&["transform", "p.sdft", "MapTiling", "--param", "tile_sizes=8"], "`tile_sizes` (list of integers"),
        (
            &["transform", "p.sdft", "MapSchedule", "--at", "add"],
            "`schedule` is missing; it has `schedule` (word)",
        ),
        (&["transform", "p.sdft", "MapTiling", "--at", "none"], "has no `none`"),
        (&["transform", "p.sdft", "MapCollapse"], "it matches nowhere"),
        (&["chain", "show", "p.sdft"], "p.sdft: this is no chain"),
    ] {
        let answer = bench.run(arguments);
        assert!(answer.stderr.contains(message) && answer.stdout.is_empty(), "{arguments:?}: {answer:#?}");
    }
}

#[test]
fn rewrites_are_verified_on_request() {
    let bench = Bench::new();
    bench.file("p.sdft", TWO_MAPS);
    let plain = ["transform", "p.sdft", "MapFusion", "--at", "add", "--at", "scale"];
    let fused = bench.run(&plain);
    let verified = bench.run(&[&plain[..], &["--verify", "--set", "N=5", "--record", "c.json"]].concat());
    assert_eq!(fused.stdout, verified.stdout);
    let replayed = bench.run(&["chain", "apply", "p.sdft", "c.json", "--verify"]);
    assert_eq!(fused.stdout, replayed.stdout);
    let simplified = bench.run(&["simplify", "p.sdft"]);
    assert_eq!(simplified.stdout, bench.run(&["simplify", "p.sdft", "--verify"]).stdout);
    for (options, message) in [
        (&["--set", "N=5"][..], "--verify"),
        (&["--verify", "--set", "M=5"], "the program has no symbol `M`"),
        (&["--verify", "--set", "N=-1"], "no inputs were found"),
    ] {
        let answer = bench.run(&[&plain[..], options].concat());
        assert!(answer.stderr.contains(message) && answer.stdout.is_empty(), "{options:?}: {answer:#?}");
    }
}

#[test]
fn a_session_of_steps_becomes_a_chain() {
    let bench = Bench::new();
    bench.file("p.sdft", TWO_MAPS);
    let steps = "# Fuse, then tile.\n\nMapFusion --at add --at 'p/s/scale'\nMapTiling --param tile_sizes=[4]\nundo\n\
                 MapTiling --param tile_sizes=[8]\nsimplify --fuel 3\n";
    let record = ["chain", "record", "p.sdft", "-o", "c.json", "--rewritten", "t.sdft", "--verify"];
    let recorded = bench.run_with(&record, steps, &[]);
    recorded.prints(&[]);
    let told: Vec<&str> = recorded.stderr.lines().collect();
    let begins = [
        "1. MapFusion at p/s/add",
        "2. MapTiling ",
        "2. MapTiling ",
        "3. simplify fuel=3",
        "  TaskletFusion 1",
    ];
    assert!(
        told.len() == begins.len() && told.iter().zip(begins).all(|(line, part)| line.starts_with(part)),
        "{told:#?}"
    );
    assert!(told[1].contains("[4]") && told[2].contains("[8]"), "{told:#?}");
    let shown = bench.run(&["chain", "show", "c.json"]);
    shown.prints(&["1. MapFusion at p/s/add", "tile_sizes=[8]", "3. simplify"]);
    let replayed = bench.run(&["chain", "apply", "p.sdft", "c.json"]);
    assert_eq!(bench.run(&["print", "t.sdft"]).stdout, replayed.stdout);
    // The same steps from a file, to the standard output.
    bench.file("steps.txt", steps);
    let printed = bench.run(&["chain", "record", "p.sdft", "--steps", "steps.txt"]);
    assert_eq!(printed.stdout, std::fs::read_to_string(bench.path("c.json")).unwrap());
}

#[test]
fn a_session_with_a_wrong_step_writes_nothing() {
    let bench = Bench::new();
    bench.file("p.sdft", TWO_MAPS);
    for (steps, messages) in [
        ("simplify\nMapTilin", &["did you mean `MapTiling`?", "<stdin>, line 2"][..]),
        ("MapTiling", &["matches several times", "line 1"]),
        ("MapTiling --at 'add", &["a quote is not closed"]),
        ("MapTiling --where add", &["unexpected argument '--where'", "`sdfg transform`"]),
        ("MapTiling --guard", &["--assume"]),
        ("simplify all", &["unexpected argument 'all'"]),
        ("undo", &["there is no step to undo"]),
        ("undo 2", &["unexpected argument '2'"]),
    ] {
        let record = ["chain", "record", "p.sdft", "-o", "c.json", "--rewritten", "t.sdft"];
        let answer = bench.run_with(&record, steps, &[]);
        assert!(messages.iter().all(|part| answer.stderr.contains(part)), "{steps}: {answer:#?}");
        assert_eq!(bench.files(), ["p.sdft"], "{steps}");
    }
    bench.run(&["chain", "record", "p.sdft", "--steps", "none"]).fails(2, &["cannot read `none`", "--steps"]);
    bench.run(&["chain", "record", "p.sdft", "-o", "c", "--rewritten", "c"]).fails(2, &["--rewritten"]);
}

#[test]
fn a_transformation_applies_everywhere() {
    let bench = Bench::new();
    bench.file("p.sdft", TWO_MAPS);
    let fused =
        bench.run(&["transform", "p.sdft", "MapFusion", "--everywhere", "--record", "c.json", "--verify"]);
    assert_eq!(fused.stderr, "MapFusion at every place (1)\n");
    assert_eq!(fused.stdout.matches(" map ").count(), 1);
    assert_eq!(bench.run(&["chain", "apply", "p.sdft", "c.json"]).stdout, fused.stdout);
    let none = bench.run(&["transform", "p.sdft", "LoopToMap", "--everywhere"]);
    none.prints(&["map add"]);
    assert_eq!(none.stderr, "LoopToMap at every place (0)\n");
    for (options, part) in
        [(&["--limit", "3"][..], "--everywhere"), (&["--everywhere", "--at", "add"], "--at")]
    {
        bench.run(&[&["transform", "p.sdft", "MapFusion"], options].concat()).fails(2, &[part]);
    }
    let times = bench.run(&["simplify", "p.sdft", "--times"]);
    assert!(times.stderr.contains("nothing to simplify"), "{times:?}");
}

#[test]
fn programs_are_optimised_for_given_sizes() {
    let bench = Bench::new();
    bench.file("p.sdft", TWO_MAPS);
    let options = ["--set", "N=1000000", "--explain", "--record", "o.json", "--verify"];
    let found = bench.run(&[&["optimize", "p.sdft"][..], &options].concat());
    found.prints(&["symbol N: i64"]);
    assert_eq!(found.stdout.matches(" map ").count(), 1, "{found:?}");
    assert!(found.stderr.starts_with("MapFusion at 1 place: "), "{found:?}");
    assert!(found.stderr.contains(", kept\n"), "{found:?}");
    assert_eq!(bench.run(&["chain", "apply", "p.sdft", "o.json"]).stdout, found.stdout);
    bench.run(&["optimize", "p.sdft", "--set", "M=3"]).fails(2, &["the program has no symbol `M`"]);
    bench.run(&["optimize", "p.sdft", "--set", "N=-1"]).fails(2, &["N"]);
    bench.file("m.toml", "threads = 4\n");
    let machine = bench.run(&["optimize", "p.sdft", "--machine", "m.toml"]);
    machine.fails(2, &["missing field `ranks`", "docs/strategy.md"]);
    bench.run(&["optimize", "p.sdft", "--machine", "none.toml"]).fails(2, &["cannot read `none.toml`"]);
    bench.run(&["optimize", "p.sdft", "--record", "none/o.json", "-o", "o.sdft"]).fails(2, &["none/o.json"]);
    assert!(!bench.path("o.sdft").exists(), "nothing is half-written");
}

/// A chain and a program at one place would be no file of either.
#[test]
fn two_results_go_to_two_places() {
    let bench = Bench::new();
    bench.file("p.sdft", TWO_MAPS);
    let commands: [&[&str]; 4] = [
        &["transform", "p.sdft", "MapFusion", "--everywhere"],
        &["simplify", "p.sdft"],
        &["optimize", "p.sdft"],
        &["distribute", "p.sdft", "-p", "2", "--data-parallel"],
    ];
    for command in commands {
        for (more, place) in
            [(&["--record", "-"][..], "the standard output"), (&["--record", "x", "-o", "x"], "`x`")]
        {
            let message = format!("two results cannot both be written to {place}");
            bench.run(&[command, more].concat()).fails(2, &[&message, "at: --record"]);
        }
        assert!(!bench.path("x").exists(), "nothing is written");
        bench.run(&[command, &["--record", "-", "-o", "y"]].concat()).prints(&["\"steps\""]);
    }
    let steps = ["chain", "record", "p.sdft", "--steps", "none", "-o", "x", "--rewritten", "x"];
    bench.run(&steps).fails(2, &["two results cannot both be written to `x`", "at: --rewritten"]);
}
