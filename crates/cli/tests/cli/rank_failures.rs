//! Faults on ranks, options that ranks do not carry out, and containers that stay whole.

use crate::Bench;
use crate::ranks::{STENCIL, has_mpi, results};

/// A gather, whose places are data.
const GATHER: &str = "sdfg gather {
  symbol N: i64
  array A: f64[N]
  array K: i64[N]
  array B: f64[N]
  state s {
    access A
    access K
    access B
    map m [i = 0:N] {
      tasklet t (a, k) -> (b) { b = a[k] }
      m.A -> t.a: A[0:N] volume(1)
      m.K -> t.k: K[i]
      t.b -> m.B: B[i]
    }
    A -> m.A
    K -> m.K
    m.B -> B
  }
}
";

/// Only the rank of the place knows of the fault.
#[test]
fn a_trap_on_any_rank_is_told() {
    if !has_mpi() {
        return;
    }
    let bench = Bench::new();
    bench.file("p.sdft", GATHER);
    bench.run(&["distribute", "p.sdft", "-p", "3", "--data-parallel", "-o", "three.sdft"]).prints(&[]);
    for wrong in [1, 4, 8] {
        let mut places = [0_i64; 9];
        places[wrong] = 99;
        let bytes: Vec<u8> = places.iter().flat_map(|place| place.to_le_bytes()).collect();
        std::fs::write(bench.path("K.npy"), crate::data::npy_of("<i8", &bytes, "(9,)")).expect("a file");
        let run = ["run", "three.sdft", "--ranks", "3", "--checked", "-i", "K=K.npy"];
        bench.run(&run).fails(1, &["`gather` failed: out of bounds: index 99"]);
    }
}

#[test]
fn options_mean_the_same_on_ranks_or_are_refused() {
    let bench = Bench::new();
    bench.file("p.sdft", STENCIL);
    let none = ["distribute", "p.sdft", "-p", "0", "--data-parallel"];
    bench.run(&none).fails(2, &["-p", "0"]);
    let many = ["distribute", "p.sdft", "-p", "70000", "--data-parallel"];
    bench.run(&many).fails(2, &["`ranks` is 70000; it has to be at most 65536"]);
    bench.run(&["distribute", "p.sdft", "-p", "3", "--data-parallel", "-o", "three.sdft"]).prints(&[]);
    if !has_mpi() {
        return;
    }
    let ranks = ["run", "three.sdft", "--ranks", "3"];
    let run = |options: &[&str]| bench.run(&[&ranks[..], options].concat());
    let fixed = run(&["--specialize", "N=9", "--set", "T=2"]);
    let given = run(&["--set", "N=9", "--set", "T=2"]);
    assert_eq!((fixed.status, &fixed.stdout), (Some(0), &given.stdout), "{fixed:?}");
    run(&["--specialize", "N=9", "--set", "N=8", "--set", "T=2"]).fails(2, &["symbol `N` is set twice"]);
    run(&["--specialize", "Q=9", "--set", "N=8", "--set", "T=2"])
        .fails(2, &["the program has no symbol `Q`"]);
    let sizes = ["--set", "N=8", "--set", "T=2"];
    for option in ["--profile", "--trace=t.json"] {
        let measured = run(&[&sizes[..], &[option]].concat());
        measured.fails(2, &["--profile and --trace measure one process, not several ranks"]);
    }
    assert!(!bench.path("t.json").exists());
    run(&[&sizes[..], &["--counters"]].concat()).fails(2, &["add --profile"]);
    run(&[&sizes[..], &["--cuda-arch", "sm_90"]].concat()).fails(2, &["--cuda-arch is for kernels of CUDA"]);
    run(&[&sizes[..], &["--target", "opencl"]].concat()).fails(2, &["ranks run the code of processors"]);
    // Wrong inputs have the status and the help that they have in one process.
    run(&["--set", "N=8"]).fails(2, &["symbol without a value: T", "add `--set T="]);
    run(&[&sizes[..], &["-i", "A=no.npy"]].concat()).fails(2, &["no.npy"]);
}

/// Ranks send no element of a scalar that all have, and nothing between dimensions of other extents: the array stays whole.
#[test]
fn containers_with_copies_that_ranks_do_not_send_stay_whole() {
    let bench = Bench::new();
    for (declared, copy) in [
        ("scalar s: f64", "s -> B: s -> B[N - 1]"),
        ("array s: f64[2, N]", "s -> B: s[0:2, 0:N // 2] -> B[0:2 * (N // 2)]"),
    ] {
        bench.file(
            "p.sdft",
            format!(
                "sdfg p {{
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  {declared}
  state first {{
    access A
    access B
    map m [i = 0:N] {{
      tasklet t (a) -> (b) {{ b = a * 2.0 }}
      m.A -> t.a: A[i]
      t.b -> m.B: B[i]
    }}
    A -> m.A
    m.B -> B
  }}
  state second {{
    access s
    access B
    {copy}
  }}
}}
"
            ),
        );
        bench.run(&["distribute", "p.sdft", "-p", "2", "--data-parallel", "-o", "two.sdft"]).prints(&[]);
        let whole = results(&bench, &["run", "p.sdft", "--set", "N=6"]);
        assert_eq!(results(&bench, &["interpret", "two.sdft", "--ranks", "2", "--set", "N=6"]), whole);
        if has_mpi() {
            assert_eq!(results(&bench, &["run", "two.sdft", "--ranks", "2", "--set", "N=6"]), whole);
        }
    }
}
