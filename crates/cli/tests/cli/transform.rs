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
    bench.file("list.json", "[]");
    for (arguments, message) in [
        (&["transform", "p.sdft", "MapTilin"][..], "did you mean `MapTiling`?"),
        (&["transform", "p.sdft", "MapTiling", "--param", "tile=3"], "unknown field `tile`"),
        (&["transform", "p.sdft", "MapTiling", "--param", "tile_sizes"], "has no value"),
        (&["transform", "p.sdft", "MapTiling"], "MapTiling matches several times: p/s/add; p/s/scale; name"),
        (&["transform", "p.sdft", "MapTiling", "--param", "tile_sizes=8"], "`tile_sizes` (list of integers"),
        (
            &["transform", "p.sdft", "MapSchedule", "--at", "add"],
            "`MapSchedule` needs the parameter `schedule` (word)",
        ),
        (&["match", "p.sdft", "MapSchedule"], "`MapSchedule` needs the parameter `schedule` (word)"),
        (&["match", "p.sdft", "--param", "x=3"], "`--param` needs the name of a transformation"),
        (
            &["transform", "p.sdft", "MapTiling", "--at", "add", "--param", "tile_sizes=[1.5]"],
            "invalid type: floating point `1.5`, expected an integer of 64 bits, or an expression as text",
        ),
        (
            &["transform", "p.sdft", "MapTiling", "--at", "add", "--param", "tile_sizes=[true]"],
            "invalid type: boolean `true`, expected an integer",
        ),
        (
            &[
                "transform",
                "p.sdft",
                "MapTiling",
                "--at",
                "add",
                "--param",
                "tile_sizes=[9223372036854775808]",
            ],
            "invalid value: integer `9223372036854775808`, expected an integer",
        ),
        (
            &["transform", "p.sdft", "MapTiling", "--at", "add", "--param", "tile_sizes=[T, 8]"],
            r#"as in `--param 'tile_sizes=["T",8]'`"#,
        ),
        (
            &[
                "transform",
                "p.sdft",
                "MapTiling",
                "--at",
                "add",
                "--param",
                "tile_sizes=[9223372036854775807]",
            ],
            "parameter `tile_sizes`: 9223372036854775807 is too large",
        ),
        (&["transform", "p.sdft", "MapTiling", "--at", "none"], "has no `none`"),
        (&["transform", "p.sdft", "MapCollapse"], "it matches nowhere"),
        (&["chain", "show", "p.sdft"], "p.sdft: this is no chain"),
        (&["chain", "show", "list.json"], "list.json: this is no chain of transformations: it is no object"),
    ] {
        let answer = bench.run(arguments);
        assert!(answer.stderr.contains(message) && answer.stdout.is_empty(), "{arguments:?}: {answer:#?}");
    }
}

/// A check decides legality alone; the editor may refuse a place that passes it.
#[test]
fn a_listed_place_is_one_at_which_the_transformation_applies() {
    let bench = Bench::new();
    bench.file("spmv.sdft", include_str!("../../../../programs/spmv.sdft"));
    let all = bench.run(&["match", "spmv.sdft"]);
    all.prints(&["MapToForLoop at spmv/clear/rows"]);
    assert!(all.stderr.contains("note: these need parameters"), "{all:#?}");
    assert!(all.stderr.contains("MapSchedule (schedule)"), "{all:#?}");
    for line in all.stdout.lines() {
        let (name, at) = line.split_once(" at ").expect("a place");
        let places = at.split(", ").flat_map(|at| ["--at", at]);
        let command: Vec<&str> = ["transform", "spmv.sdft", name].into_iter().chain(places).collect();
        let answer = bench.run(&command);
        assert!(answer.status == Some(0), "{line}: {answer:#?}");
    }
    bench
        .run(&["match", "spmv.sdft", "MapToForLoop"])
        .prints(&["spmv/multiply/entries: refused: `entries` gets `first` from data"]);
    let refused = bench.run(&["match", "spmv.sdft", "GPUTransform"]);
    refused.prints(&["GPUTransform at spmv/multiply/entries: refused: `entries` is in a scope"]);
}

#[test]
fn chains_differ_by_their_longest_common_subsequence() {
    let bench = Bench::new();
    let chain = |steps: &str| format!(r#"{{"version": 1, "steps": [{steps}]}}"#);
    let [fuse, tile, strip] = ["MapFusion", "MapTiling", "StripMining"]
        .map(|name| format!(r#"{{"transformation": "{name}", "at": ["p/{name}"]}}"#));
    bench.file("a.json", chain(&format!("{fuse}, {tile}")));
    bench.file("b.json", chain(&format!("{strip}, {fuse}, {tile}, {strip}")));
    let answer = bench.run(&["chain", "diff", "a.json", "b.json"]);
    assert_eq!(
        answer.stdout,
        "+ 1. StripMining at p/StripMining\n  1 -> 2. MapFusion at p/MapFusion\n  2 -> 3. MapTiling at p/MapTiling\n\
         + 4. StripMining at p/StripMining\n"
    );
    bench.run(&["chain", "diff", "a.json", "a.json"]).prints(&["the chains are the same"]);
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

/// A loop whose iterations meet, unless there is one.
const CARRIED: &str = "sdfg p {
  symbol N: i64
  array A: f64[N + 1]

  for l: i = 0:N {
    state s {
      access A
      access B = A
      tasklet t (x) -> (y) { y = x + 1 }
      A -> t.x: A[i]
      t.y -> B: A[i + 1]
    }
  }
}
";

#[test]
fn rewrites_are_verified_on_inputs_that_meet_their_assumptions() {
    let bench = Bench::new();
    bench.file("p.sdft", CARRIED);
    let step = ["transform", "p.sdft", "LoopToMap", "--assume", "N == 1"];
    let verified = bench.run(&[&step[..], &["--verify", "--record", "c.json"]].concat());
    verified.prints(&["map "]);
    bench.run(&["chain", "apply", "p.sdft", "c.json", "--verify"]).prints(&["map "]);
    bench.file("steps", "LoopToMap --assume 'N == 1'\n");
    bench.run(&["chain", "record", "p.sdft", "--steps", "steps", "--verify"]).prints(&["N == 1"]);
    let contradicted = bench.run(&[&step[..], &["--verify", "--set", "N=3"]].concat());
    let message = "the given values of symbols contradict the assumption `N == 1`";
    assert!(contradicted.stderr.contains(message) && contradicted.stdout.is_empty(), "{contradicted:#?}");
}

/// A loop whose iterations meet only where it is not reached.
const AROUND: &str = "sdfg p {
  symbol N: i64
  symbol M: i64
  array A: f64[N]

  if large: N > 2 * M {
    state none { }
  } else {
    for l: i = 0:N - M {
      state s {
        access A
        access B = A
        tasklet t (x) -> (y) { y = x + 1 }
        A -> t.x: A[i]
        t.y -> B: A[i + M]
      }
    }
  }
}
";

#[test]
fn facts_are_explained_with_the_conditions_around_the_match() {
    let bench = Bench::new();
    bench.file("p.sdft", AROUND);
    let explained = bench.run(&["transform", "p.sdft", "LoopToMap", "--at", "l", "--explain"]);
    explained.prints(&["map "]);
    assert!(explained.stderr.contains("\n  where not (N > 2 * M) (branch `large`)\n"), "{explained:#?}");
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
