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
    bench.run(&["transforms", "MapTiling"]).prints(&["Pattern: map", "Parameter tile_sizes", "default [32]"]);
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
}

#[test]
fn wrong_transformations_are_refused_with_what_to_do() {
    let bench = Bench::new();
    bench.file("p.sdft", TWO_MAPS);
    for (arguments, message) in [
        (&["transform", "p.sdft", "MapTilin"][..], "did you mean `MapTiling`?"),
        (&["transform", "p.sdft", "MapTiling", "--param", "tile=3"], "unknown field `tile`"),
        (&["transform", "p.sdft", "MapTiling", "--param", "tile_sizes"], "has no value"),
        (&["transform", "p.sdft", "MapTiling"], "matches several times"),
        (&["transform", "p.sdft", "MapTiling", "--at", "none"], "has no `none`"),
        (&["transform", "p.sdft", "MapCollapse"], "it matches nowhere"),
        (&["chain", "show", "p.sdft"], "this is no chain"),
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
