//! Tests of distribution over ranks: `sdfg distribute`, and `sdfg run --ranks` on the MPI of this machine.

use crate::Bench;

pub(crate) const STENCIL: &str = include_str!("../../../../programs/jacobi2d.sdft");
const PRODUCT: &str = include_str!("../../../../programs/matmul.sdft");

/// A sum of squares and a histogram whose places are data.
const SUMS: &str = include_str!("../../../../tests/data/sums.sdft");

#[expect(clippy::print_stdout, reason = "a test that skips something says so")]
pub(crate) fn has_mpi() -> bool {
    let found = std::process::Command::new("mpicc").arg("--version").output().is_ok();
    if !found {
        println!("skipped: there is no mpicc here (Debian: apt-get install libopenmpi-dev openmpi-bin)");
    }
    found
}

/// The lines of results, without messages.
pub(crate) fn results(bench: &Bench, arguments: &[&str]) -> String {
    let answer = bench.run(arguments);
    assert_eq!(answer.status, Some(0), "{arguments:?}: {answer:?}");
    answer.stdout.clone()
}

#[test]
fn distributed_programs_give_the_results_of_the_whole_ones() {
    let programs: [(&str, &str, &[&str]); 3] = [
        ("stencil.sdft", STENCIL, &["--set", "N=70", "--set", "T=5"]),
        ("product.sdft", PRODUCT, &["--set", "N=48", "--set", "M=40", "--set", "K=64"]),
        ("sums.sdft", SUMS, &["--set", "N=1000", "--set", "B=7"]),
    ];
    let bench = Bench::new();
    for (name, text, sizes) in programs {
        bench.file(name, text);
        let whole = results(&bench, &[&["run", name], sizes].concat());
        for ranks in ["2", "3", "4"] {
            // The sizes of the search are larger, so that dividing pays off.
            let large: Vec<String> = sizes.iter().map(|size| size.replace('=', "=10")).collect();
            let large: Vec<&str> = large.iter().map(String::as_str).collect();
            let distribute = [&["distribute", name, "-p", ranks, "-o", "parts.sdft"], &large[..]].concat();
            bench.run(&distribute).prints(&[]);
            let interpreted = ["interpret", "parts.sdft", "--ranks", ranks];
            assert_eq!(results(&bench, &[&interpreted, sizes].concat()), whole, "{name} in the interpreter");
            if has_mpi() {
                let run = ["run", "parts.sdft", "--ranks", ranks];
                assert_eq!(results(&bench, &[&run, sizes].concat()), whole, "{name} on {ranks} ranks");
            }
        }
    }
}

#[test]
fn chains_and_strategies_of_a_distribution_are_written() {
    let bench = Bench::new();
    bench.file("p.sdft", STENCIL);
    let sizes = ["--set", "N=700", "--set", "T=5"];
    let first = ["distribute", "p.sdft", "-p", "4", "-o", "a.sdft"];
    let written = ["--write-strategy", "s.json", "--record", "c.json"];
    let answer = bench.run(&[&first[..], &written, &sizes].concat());
    answer.prints(&[]);
    assert!(answer.stderr.contains("2 maps are divided over ranks"), "{answer:?}");
    bench.run(&["distribute", "p.sdft", "--strategy", "s.json", "-o", "b.sdft"]).prints(&[]);
    bench.run(&["chain", "apply", "p.sdft", "c.json", "-o", "c.sdft"]).prints(&[]);
    let read = |name: &str| std::fs::read_to_string(bench.path(name)).expect("a file");
    assert_eq!(read("a.sdft"), read("b.sdft"));
    assert_eq!(read("a.sdft"), read("c.sdft"));
    assert!(read("a.sdft").contains("halo(1, 1)"));
    // A strategy written by hand has neither costs nor a proof.
    let found: serde_json::Value = serde_json::from_str(&read("s.json")).expect("JSON");
    let maps = found["operations"].as_array().expect("operations").iter();
    let short: Vec<_> = maps
        .filter(|operation| operation["op"] == "Map")
        .map(|operation| {
            serde_json::json!({ "path": operation["path"], "configuration": operation["configuration"] })
        })
        .collect();
    bench
        .file("short.json", serde_json::json!({ "version": 2, "procs": 4, "operations": short }).to_string());
    let by_hand = ["distribute", "p.sdft", "--strategy", "short.json"];
    let verified = ["--verify", "--set", "N=9", "--set", "T=2", "-o", "d.sdft"];
    bench.run(&[&by_hand[..], &verified].concat()).prints(&[]);
    assert_eq!(read("a.sdft"), read("d.sdft"));
    bench.run(&[&by_hand[..], &["--set", "N=9"]].concat()).fails(2, &["--set", "--verify"]);
    let whole = [&first[..4], &sizes, &["--whole-arguments"]].concat();
    let answer = bench.run(&whole);
    assert!(answer.stdout.contains("array A: f64[N, N]\n"), "{answer:?}");
    let first = bench.run(&["distribute", "p.sdft", "-p", "3", "--data-parallel", "--verify"]);
    assert!(first.stdout.contains("grid(3)[balanced(0, 1, N - 1) halo(1, 1), whole]"), "{first:?}");
    bench.file("p2.sdft", PRODUCT);
    let other = bench.run(&["distribute", "p2.sdft", "--strategy", "s.json"]);
    let written = "-p 2 --data-parallel --write-strategy FILE";
    other.fails(2, &["operations[0], `", "the program has no map there; did you mean `", "s.json", written]);
    assert!(other.stdout.is_empty());
    bench.file(
        "bad.json",
        read("s.json").replace("\"procs\":4", "\"procs\":2").replace("\"procs\": 4", "\"procs\": 2"),
    );
    bench.run(&["distribute", "p.sdft", "--strategy", "bad.json"]).fails(2, &["bad.json"]);
    bench.run(&["distribute", "p.sdft", "-p", "4"]).fails(2, &["--set"]);
    bench.file("no.json", r#"{"version": 2, "procs": 0, "operations": []}"#);
    bench
        .run(&["distribute", "p.sdft", "--strategy", "no.json"])
        .fails(2, &["`procs` is 0; write the number of ranks", "no.json", "docs/strategy.md"]);
    // The strategy of the first dimensions has the paths, and gives the same program.
    let parallel = ["distribute", "p.sdft", "-p", "3", "--data-parallel", "--write-strategy", "first.json"];
    let first = bench.run(&parallel);
    first.prints(&["grid(3)"]);
    let given = bench.run(&["distribute", "p.sdft", "--strategy", "first.json"]);
    assert_eq!(given.stdout, first.stdout, "{}", read("first.json"));
}

/// A loop up to a scalar argument.
const STEPS: &str = "sdfg steps {
  symbol N: i64
  scalar n: i64
  array A: f64[N]
  for times: t = 0:n {
    state s {
      access A
      access after = A
      map m [i = 0:N] {
        tasklet f (a) -> (b) { b = 2.0 * a }
        m.A -> f.a: A[i]
        f.b -> m.after: A[i]
      }
      A -> m.A
      m.after -> after
    }
  }
}";

#[test]
fn the_model_takes_values_of_scalars_as_sizes() {
    let bench = Bench::new();
    bench.file("steps.sdft", STEPS);
    let distribute = ["distribute", "steps.sdft", "-p", "2", "--set", "N=1000000", "-o", "a.sdft"];
    bench.run(&distribute).fails(2, &["--iterations times=N"]);
    let with = |size| [&distribute[..], &["--set", size]].concat();
    bench.run(&with("n=5")).prints(&[]);
    bench.run(&with("m=5")).fails(2, &["no symbol `m`"]);
    let run = ["interpret", "a.sdft", "--ranks", "2", "--set", "N=9", "-i", "n=const:3"];
    let whole = ["interpret", "steps.sdft", "--set", "N=9", "-i", "n=const:3"];
    assert_eq!(results(&bench, &run), results(&bench, &whole));
}

#[test]
fn distributed_programs_need_their_ranks() {
    let bench = Bench::new();
    bench.file("p.sdft", STENCIL);
    bench
        .run(&["distribute", "p.sdft", "-p", "4", "--set", "N=700", "--set", "T=5", "-o", "a.sdft"])
        .prints(&[]);
    // One process has no other ranks.
    bench.run(&["run", "a.sdft", "--set", "N=8", "--set", "T=1"]).fails(1, &["mpi", "T001", "--ranks"]);
    if !has_mpi() {
        return;
    }
    let few = bench.run(&["run", "a.sdft", "--set", "N=8", "--set", "T=1", "--ranks", "3"]);
    assert_ne!(few.status, Some(0), "{few:?}");
    assert!(few.stderr.contains("the program is divided over 4 ranks, and runs on 3"), "{few:?}");
    let dumped = bench.run(&["run", "a.sdft", "--set", "N=8", "--set", "T=1", "--ranks", "4", "--dump", "A"]);
    assert!(dumped.stderr.contains("--dump shows containers of one process"), "{dumped:?}");
    // More ranks than parts: the others hold nothing.
    let whole = results(&bench, &["run", "p.sdft", "--set", "N=9", "--set", "T=2"]);
    assert_eq!(results(&bench, &["run", "a.sdft", "--set", "N=9", "--set", "T=2", "--ranks", "6"]), whole);
    // Files in and out.
    bench.run(&["run", "p.sdft", "--set", "N=9", "--set", "T=2", "-o", "A=a.npy"]).prints(&[]);
    let again = ["run", "a.sdft", "--set", "T=2", "-i", "A=a.npy", "-o", "A=b.npy", "--ranks", "4"];
    bench.run(&again).prints(&[]);
    bench.run(&["run", "p.sdft", "--set", "T=2", "-i", "A=a.npy", "-o", "A=c.npy"]).prints(&[]);
    let read = |name: &str| std::fs::read(bench.path(name)).expect("a file");
    assert_eq!(read("b.npy"), read("c.npy"));
}

/// Processes that differ in the second coordinate hold replicas of `C`, which the map leaves as they were.
const REPLICAS: &str = "sdfg replicas {
  transient array C: f64[4] distribution(grid(2, 2)[balanced(0)])
  array R: f64[4] distribution(grid(4)[balanced(0)])
  state write {
    access C
    map m [p = 0:2, q = 0:2] schedule(mpi) {
      map own [i = 2 * p:2 * p + 2 * (1 - q)] {
        tasklet t () -> (y) { y = f64(i + 1) }
        t.y -> own.C: C[i]
      }
      own.C -> m.C
    }
    m.C -> C
  }
  -> spread
  state spread {
    access C
    access R
    C -> R
  }
}
";

#[test]
fn replicas_that_only_the_owner_wrote_are_not_taken() {
    let bench = Bench::new();
    bench.file("p.sdft", REPLICAS);
    let expected = results(&bench, &["interpret", "p.sdft", "--ranks", "4"]);
    assert!(expected.contains("1.0, 2.0, 3.0, 4.0"), "{expected}");
    if has_mpi() {
        assert_eq!(results(&bench, &["run", "p.sdft", "--ranks", "4"]), expected);
    }
}

/// A program that refreshes the halos of so many vectors on two ranks, and adds the neighbours of each element of each.
pub(crate) fn neighbours(count: usize) -> String {
    let each = |text: &str| -> String { (0..count).map(|k| text.replace('#', &k.to_string())).collect() };
    format!(
        "sdfg neighbours {{
  symbol N: i64
{}  state s {{
{}    map ranks [p = 0:2] schedule(mpi) {{
      map own [i = N*p // 2 + 1:(N*p + N) // 2 + 1] {{
{}      }}
{}    }}
{}  }}
}}
",
        each(
            "  array A#: f64[N + 2] distribution(grid(2)[balanced(0, 1, N + 1) halo(1, 1)])\n  \
             array B#: f64[N + 2] distribution(grid(2)[balanced(0, 1, N + 1)])\n"
        ),
        each("    access A#\n    access a# = A#\n    access B#\n    A# -> a#\n"),
        each(
            "        tasklet t# (l, r) -> (y) { y = l + 2 * r + # }\n        own.A# -> t#.l: A#[i - 1]\n        \
             own.A# -> t#.r: A#[i + 1]\n        t#.y -> own.B#: B#[i]\n"
        ),
        each("      ranks.A# -> own.A#\n      own.B# -> ranks.B#\n"),
        each("    a# -> ranks.A#\n    ranks.B# -> B#\n"),
    )
}

#[test]
fn moves_of_several_arrays_travel_together() {
    let bench = Bench::new();
    for count in 1..=6 {
        bench.file("p.sdft", neighbours(count));
        let mut data = vec!["--set".to_owned(), "N=9".to_owned()];
        for k in 0..count {
            data.extend(["-i".to_owned(), format!("A{k}=random:{k}")]);
        }
        let data: Vec<&str> = data.iter().map(String::as_str).collect();
        let expected = results(&bench, &[&["interpret", "p.sdft", "--ranks", "2"], &data[..]].concat());
        assert!(expected.contains("B0"), "{expected}");
        if has_mpi() {
            assert_eq!(results(&bench, &[&["run", "p.sdft", "--ranks", "2"], &data[..]].concat()), expected);
        }
    }
}

/// A map that is divided, and a queue of the caller that all ranks empty into another one.
const QUEUES: &str = "sdfg queues {
  symbol N: i64
  array A: f64[N]
  stream S: f64[2]
  state divided {
    map m [i = 0:N] {
      tasklet t () -> (y) { y = 2.0 * i }
      t.y -> m.A: A[i]
    }
    access A
    m.A -> A
  }
  state everywhere {
    access S
    access again = S
    consume c [p = 0:2] {
      tasklet u (x) -> (s) { s = 3.0 * x }
      c.stream -> u.x: S[0]
      u.s -> c.again: S[1]
    }
    S -> c.stream: S[0]
    c.again -> again: S[1]
  }
}
";

/// The lines of results, with the elements of queues in ascending order: iterations of a consume scope push in any
/// order, and the checksum depends on it.
fn without_order_in_queues(results: &str) -> Vec<String> {
    let ordered = |line: &str| -> Option<String> {
        let (queue, elements) = line.split_once(": ").filter(|(name, _)| name.ends_with(']'))?;
        let (summary, elements) = elements.split_once(": ")?;
        let kind = summary.split_once(" checksum ")?.0;
        let elements = elements.split(", ").filter(|element| !element.is_empty());
        let mut elements: Vec<f64> =
            elements.map(|x| x.parse().unwrap_or_else(|_| panic!("{line}"))).collect();
        elements.sort_by(f64::total_cmp);
        Some(format!("{queue}: {kind}: {elements:?}"))
    };
    results.lines().map(|line| ordered(line).unwrap_or_else(|| line.to_owned())).collect()
}

#[test]
fn queues_of_the_caller_run_on_ranks() {
    let bench = Bench::new();
    bench.file("p.sdft", QUEUES);
    bench.run(&["run", "p.sdft", "--set", "N=4", "-o", "A=a.npy"]).prints(&[]);
    bench.run(&["distribute", "p.sdft", "-p", "2", "--data-parallel", "-o", "parts.sdft"]).prints(&[]);
    let data = ["--set", "N=4", "-i", "S[0]=a.npy"];
    let whole = results(&bench, &[&["interpret", "p.sdft"], &data[..]].concat());
    assert!(whole.contains("0.0, 6.0, 12.0, 18.0"), "{whole}");
    if has_mpi() {
        let parts = results(&bench, &[&["run", "parts.sdft", "--ranks", "2"], &data[..]].concat());
        assert_eq!(without_order_in_queues(&parts), without_order_in_queues(&whole));
        assert!(
            without_order_in_queues(&parts).contains(&"S[1]: f64[4]: [0.0, 6.0, 12.0, 18.0]".to_owned()),
            "{parts}"
        );
    }
    // A library cannot take a queue, and says what does.
    bench
        .run(&["compile", "parts.sdft", "-o", "p.so"])
        .fails(1, &["the stream `S` of a distributed program has no library", "sdfg run --ranks"]);
}

#[test]
fn ranks_read_and_write_their_parts_of_files() {
    if !has_mpi() {
        return;
    }
    let bench = Bench::new();
    bench.file("stencil.sdft", STENCIL);
    let sizes = ["--set", "N=64", "--set", "T=3"];
    results(&bench, &[&["distribute", "stencil.sdft", "-p", "4", "-o", "four.sdft"][..], &sizes].concat());
    let run = |program: &str, more: &[&str]| {
        let inputs = ["run", program, "-i", "A=random:5", "-i", "B=range", "--set", "T=3", "--set", "N=37"];
        results(&bench, &[&inputs[..], more].concat())
    };
    let bytes =
        |name: &str| std::fs::read(bench.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    // Results in parts, and the whole ones of generated inputs, which rank 0 sums up.
    run("stencil.sdft", &["-o", "A=a.npy", "-o", "B=b.npy"]);
    run("four.sdft", &["--ranks", "5", "-o", "A=a4.npy", "-o", "B=b4.npy"]);
    assert!(bytes("a.npy") == bytes("a4.npy") && bytes("b.npy") == bytes("b4.npy"));
    assert_eq!(run("stencil.sdft", &[]), run("four.sdft", &["--ranks", "4"]));
    // Inputs in parts; the size follows from them.
    let from_files = |program: &str, output: &str, more: &[&str]| {
        let inputs = ["run", program, "-i", "A=a.npy", "-i", "B=b.npy", "--set", "T=2", "-o", output];
        results(&bench, &[&inputs[..], more].concat());
    };
    from_files("stencil.sdft", "A=c.npy", &[]);
    from_files("four.sdft", "A=c4.npy", &["--ranks", "4"]);
    assert!(bytes("c.npy") == bytes("c4.npy"));
    let broken = [&bytes("a.npy")[..], b"x"].concat();
    std::fs::write(bench.path("broken.npy"), broken).expect("the file is written");
    let wrong = [
        "run",
        "four.sdft",
        "--ranks",
        "4",
        "-i",
        "A=broken.npy",
        "--set",
        "T=2",
        "--set",
        "N=37",
        "-o",
        "A=d.npy",
    ];
    bench
        .run(&wrong)
        .fails(2, &["its shape asks for 10952 bytes of data, it has 10953", "--input A=broken.npy"]);
    assert!(
        !bench.files().iter().any(|name| name == "d.npy" || name.starts_with(".sdfg")),
        "{:?}",
        bench.files()
    );
}

/// A smoothing in whose step `phase` the rank with the last element is killed: -1 is before the first message, `T` behind the last.
const KILLED: &str = "sdfg killed {
  symbol N: i64
  symbol T: i64
  symbol phase: i64
  array A: f64[N]
  array B: f64[N]
  state before {
    access A
    access B
    map m [i = 0:N] {
      tasklet t (a) -> (o) external step(i64(N - 1 - i), i64(-1), i64(phase), a, a, o) from source STEP
      m.A -> t.a: A[i]
      t.o -> m.B: B[i]
    }
    A -> m.A
    m.B -> B
  }
  for steps: t = 0:T {
    state step {
      access A
      access B
      map m [i = 1:N] {
        tasklet t (l, r) -> (o) external step(i64(N - 1 - i), i64(t), i64(phase), l, r, o) from source STEP
        m.B -> t.l: B[i - 1]
        m.B -> t.r: B[i]
        t.o -> m.A: A[i]
      }
      B -> m.B
      m.A -> A
    }
    state back {
      access A
      access B
      A -> B
    }
  }
  state after {
    access A
    access B
    map m [i = 0:N] {
      tasklet t (a) -> (o) external step(i64(N - 1 - i), i64(T), i64(phase), a, a, o) from source STEP
      m.A -> t.a: A[i]
      t.o -> m.B: B[i]
    }
    A -> m.A
    m.B -> B
  }
}
";

/// The C code of a step.
const STEP: &str = concat!(
    r#""int raise(int); "#,
    r#"void step(long left, long now, long phase, double a, double b, double *o) "#,
    r#"{ if (left == 0 && now == phase) raise(9); *o = 0.5 * (a + b); }""#
);

#[test]
fn a_rank_that_is_killed_in_any_phase_ends_all() {
    if !has_mpi() {
        return;
    }
    let bench = Bench::new();
    bench.file("killed.sdft", KILLED.replace("STEP", STEP));
    let allowed = "--allow-external";
    let divided = ["distribute", "killed.sdft", "-p", "3", "--data-parallel", allowed, "-o", "three.sdft"];
    assert_eq!(bench.run(&divided).status, Some(0));
    let run = |phase: &str| {
        let phase = format!("phase={phase}");
        let sizes = ["--set", "N=30", "--set", "T=4", "--set", &phase, "-o", "B=B.npy"];
        bench.run(&[&["run", "three.sdft", "--ranks", "3", allowed][..], &sizes].concat())
    };
    // This compiles; nobody is killed.
    assert_eq!(run("9").status, Some(0));
    assert!(bench.path("B.npy").exists());
    for phase in ["-1", "0", "2", "4"] {
        std::fs::remove_file(bench.path("B.npy")).ok();
        let start = std::time::Instant::now();
        let answer = run(phase);
        let seconds = start.elapsed().as_secs();
        assert!(
            !matches!(answer.status, Some(0)) && answer.stderr.contains("signal 9"),
            "{phase}: {answer:?}"
        );
        assert!(seconds < 5, "phase {phase} took {seconds} s");
        assert!(!bench.path("B.npy").exists(), "phase {phase} left a result");
    }
}

/// A loop that ranks would leave after different numbers of steps, because its condition depends on the rank.
const DISAGREEING: &str = r##"sdfg who {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  transient scalar left: f64

  state begin {
    access left
    tasklet start () -> (x) { x = 3.0 }
    start.x -> left
  }
  while steps: left > 0.5 {
    state step {
      access A
      access B
      map m [i = 1:N - 1] {
        tasklet t (l, r) -> (o) { o = 0.5 * (l + r) }
        m.A -> t.l: A[i - 1]
        m.A -> t.r: A[i + 1]
        t.o -> m.B: B[i]
      }
      A -> m.A
      m.B -> B
    }
    state back {
      access A
      access B
      map c [i = 1:N - 1] {
        tasklet t (b) -> (o) { o = b }
        c.B -> t.b: B[i]
        t.o -> c.A: A[i]
      }
      B -> c.B
      c.A -> A
    }
    state decide {
      access left
      access left_1 = left
      tasklet whoami (x) -> (y) external next(x, y) from source "#include <stdlib.h>\nvoid next(double x, double *y) { const char *rank = getenv(\"OMPI_COMM_WORLD_RANK\"); *y = x - 1.0 - (rank && atoi(rank) == 1 ? 0.75 : 0.0); }"
      left -> whoami.x
      whoami.y -> left_1
    }
  }
}
"##;

#[test]
fn rank_0_decides_where_ranks_compute_different_conditions() {
    if !has_mpi() {
        return;
    }
    let bench = Bench::new();
    // A wait for a rank that does something else would not end.
    let deadline = [("SDFG_MPI_DEADLINE", "10")];
    let array = DISAGREEING
        .replace("transient scalar left: f64", "transient array left: f64[3]")
        .replace("left > 0.5", "left[1] > 0.5")
        .replace("start.x -> left", "start.x -> left: left[1]")
        .replace("left -> whoami.x", "left -> whoami.x: left[1]")
        .replace("whoami.y -> left_1", "whoami.y -> left_1: left[1]");
    for text in [DISAGREEING, &array] {
        bench.file("who.sdft", text);
        let sizes = ["--allow-external", "--set", "N=30"];
        let whole = results(&bench, &[&["run", "who.sdft"][..], &sizes].concat());
        let divided =
            ["distribute", "who.sdft", "-p", "3", "--data-parallel", "--allow-external", "-o", "3.sdft"];
        assert_eq!(bench.run(&divided).status, Some(0));
        let run = [&["run", "3.sdft", "--ranks", "3"][..], &sizes].concat();
        let found = bench.run_with(&run, "", &deadline);
        assert_eq!((found.status, &found.stdout), (Some(0), &whole), "{found:?}");
    }
}

#[test]
fn long_runs_tell_their_progress() {
    if !has_mpi() {
        return;
    }
    let bench = Bench::new();
    bench.file("stencil.sdft", STENCIL);
    let search = ["--set", "N=700", "--set", "T=5", "-p", "2", "-o", "two.sdft"];
    bench.run(&[&["distribute", "stencil.sdft"][..], &search].concat()).prints(&[]);
    // Each of 600 steps has two moves, and all of them take seconds.
    let run = ["run", "two.sdft", "--ranks", "2", "--threads", "1", "--set", "N=2000", "--set", "T=600"];
    let answer = bench.run(&[&run[..], &["--progress", "1"]].concat());
    assert_eq!(answer.status, Some(0), "{answer:?}");
    let told: Vec<&str> = answer
        .stderr
        .lines()
        .filter_map(|line| line.split_once("note: running for "))
        .map(|(_, told)| told)
        .collect();
    assert!(!told.is_empty(), "{answer:?}");
    let percent = |told: &&str| {
        let (begun, rest) = told.split_once(" s: ")?.1.split_once(" of 1200 moves between ranks (")?;
        let (begun, percent): (u32, u32) = (begun.parse().ok()?, rest.strip_suffix(" %)")?.parse().ok()?);
        ((begun * 100).abs_diff(percent * 1200) <= 1200).then_some(percent)
    };
    let percent: Option<Vec<u32>> = told.iter().map(percent).collect();
    let percent = percent.unwrap_or_else(|| panic!("{answer:?}"));
    assert!(
        percent.windows(2).all(|pair| pair[0] <= pair[1]) && percent.iter().all(|one| *one <= 100),
        "{answer:?}"
    );
    let quiet = ["--set", "N=64", "--set", "T=10", "--progress", "0"];
    let quiet = bench.run(&[&["run", "two.sdft", "--ranks", "2"][..], &quiet].concat());
    assert!(!quiet.stderr.contains("running for"), "{quiet:?}");
}

#[test]
fn info_shows_the_memory_of_each_rank() {
    let bench = Bench::new();
    bench.file("stencil.sdft", STENCIL);
    let sizes = ["--set", "N=64", "--set", "T=3"];
    results(&bench, &[&["distribute", "stencil.sdft", "-p", "4", "-o", "four.sdft"][..], &sizes].concat());
    // 40 rows are 1 + 19 and 19 + 1, each with one row of halo.
    let shown = results(&bench, &["info", "four.sdft", "--ranks", "5", "--set", "N=40"]);
    let bytes = 2 * 21 * 21 * 8;
    assert!(shown.contains(&format!("rank 3: {bytes} bytes of arguments, 0 bytes of transients")), "{shown}");
    assert!(shown.contains("rank 4 holds no part: 0 bytes of arguments, 0 bytes of transients"), "{shown}");
    assert!(shown.contains(&format!("memory of the largest rank: {bytes} bytes")), "{shown}");
    // In each of three steps, each rank receives a row and a column of the other's parts with the corners.
    let shown = results(&bench, &["info", "four.sdft", "--ranks", "4", "--set", "N=40", "--set", "T=3"]);
    let (one, all) = (3 * (20 + 20 + 1) * 8, 4 * 3 * (20 + 20 + 1) * 8);
    let copies = format!("3 times, {one} bytes received by one rank at most, {all} by all");
    assert_eq!(shown.matches(&copies).count(), 2, "{shown}");
    assert!(
        shown.contains(&format!("received by the rank that receives most: {} bytes", 2 * one)),
        "{shown}"
    );
    bench.run(&["info", "four.sdft", "--ranks", "3", "--set", "N=40"]).fails(2, &["give --ranks 4 or more"]);
    bench
        .run(&["info", "four.sdft", "--ranks", "4"])
        .fails(2, &["set all symbols that occur in sizes with --set"]);
    bench.run(&["info", "stencil.sdft", "--ranks", "4"]).fails(2, &["the program is not distributed"]);
}

#[test]
fn simulations_predict_scaling() {
    let bench = Bench::new();
    bench.file("stencil.sdft", STENCIL);
    let sizes = ["distribute", "stencil.sdft", "--simulate", "--set", "N=1024", "--set", "T=10", "-p", "8"];
    let shown = results(&bench, &sizes);
    let rows: Vec<Vec<&str>> = shown.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), ["1", "2", "4", "8"]);
    // Two arrays, and a row of halo for each on two ranks.
    assert_eq!(rows[0][5..], ["0", (2 * 1024 * 1024 * 8).to_string().as_str()]);
    assert_eq!(rows[1][6], (2 * (512 + 1) * 1024 * 8).to_string());
    let speed_up: Vec<f64> = rows.iter().map(|row| row[3].parse().expect("a number")).collect();
    assert!(speed_up.windows(2).all(|pair| pair[0] < pair[1]) && speed_up[3] < 8.0, "{speed_up:?}");
    let weak = results(&bench, &[&sizes[..], &["--weak", "N=0.5", "--picture", "s.svg"]].concat());
    assert!(weak.contains("weak scaling: sizes grow with the number of ranks (seconds)"), "{weak}");
    let picture = std::fs::read_to_string(bench.path("s.svg")).expect("the picture is written");
    assert!(
        picture.starts_with("<svg") && picture.ends_with("</svg>\n") && picture.contains("data parallel")
    );
    bench.run(&[&sizes[..], &["--weak", "Q=0.5"]].concat()).fails(2, &["give `--set Q=VALUE`"]);
    bench.run(&[&sizes[..], &["--weak", "N=two"]].concat()).fails(2, &["`N=two` is no symbol"]);
    if has_mpi() {
        let small = ["--simulate", "--measure", "--set", "N=256", "--set", "T=3", "-p", "2"];
        let shown = results(&bench, &[&["distribute", "stencil.sdft"][..], &small].concat());
        let last = |line: &str| line.split_whitespace().last().and_then(|text| text.parse::<f64>().ok());
        let measured: Vec<f64> = shown.lines().skip(2).filter_map(last).collect();
        assert!(measured.len() == 2 && measured.iter().all(|seconds| *seconds > 0.0), "{shown}");
    }
}

/// A program with a map over ranks of this range, which changes this row of an array.
fn over_ranks(range: &str, row: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[4, N]
  transient array P: f64[4, N] distribution(grid(4)[balanced(0), whole])
  state s {{
    access A
    access P
    access B = A
    map own [p = {range}] schedule(mpi) {{
      map m [i = 0:N] {{
        tasklet t (x) -> (y) {{ y = x + 10.0 * p }}
        m.P -> t.x: P[{row}, i]
        t.y -> m.P: P[{row}, i]
      }}
      own.P -> m.P
      m.P -> own.P
    }}
    access Q = P
    A -> P
    P -> own.P
    own.P -> Q
    Q -> B
  }}
}}"
    )
}

/// Iteration `k` of a map over ranks runs on rank `k`, whatever number the range gives it.
#[test]
fn maps_over_ranks_may_begin_anywhere_and_descend() {
    for (range, row) in
        [("0:4", "p"), ("3:11:2", "(p - 3) // 2"), ("9:2:-2", "(9 - p) // 2"), ("3:-1:-1", "3 - p")]
    {
        let bench = Bench::new();
        let text = over_ranks(range, row);
        bench.file("p.sdft", &text);
        let sizes = ["--set", "N=5"];
        let expected = results(&bench, &[&["interpret", "p.sdft"], &sizes[..]].concat());
        let interpreted = results(&bench, &[&["interpret", "p.sdft", "--ranks", "4"], &sizes[..]].concat());
        assert_eq!(interpreted, expected, "{range}");
        if has_mpi() {
            let run = results(&bench, &[&["run", "p.sdft", "--ranks", "4"], &sizes[..]].concat());
            assert_eq!(run, expected, "{range}");
        }
    }
}

/// No rank has an iteration of such a map, so there is no grid of ranks for it.
#[test]
fn maps_over_ranks_without_iterations_are_refused() {
    for range in ["0:0", "3:3", "5:2", "0:-3", "2:5:-1"] {
        let bench = Bench::new();
        bench.file("p.sdft", over_ranks(range, "0"));
        let run = ["run", "p.sdft", "--ranks", "4", "--set", "N=5"];
        if has_mpi() {
            let stderr = bench.run(&run).stderr;
            assert!(stderr.contains("the range of `own`, which is not of numbers or has none,"), "{stderr}");
        }
    }
}

/// Maps compute their interiors while halos travel with `--overlap`, where the prediction falls by that.
#[test]
fn interiors_are_computed_while_halos_travel() {
    let bench = Bench::new();
    bench.file("stencil.sdft", STENCIL);
    let sizes = ["--set", "N=700", "--set", "T=5"];
    let distribute = |more: &[&str]| {
        let answer = bench.run(&[&["distribute", "stencil.sdft", "-p", "4"], &sizes[..], more].concat());
        answer.prints(&[]);
        answer.stderr
    };
    let told = distribute(&["-o", "a.sdft", "--overlap"]);
    assert!(told.contains(" while ranks compute: ") && told.contains("divided in an interior"), "{told}");
    let seconds = |told: &str| -> f64 {
        let (before, _) = told.split_once(" s of communication").expect("a prediction");
        before.rsplit(' ').next().and_then(|number| number.parse().ok()).expect("a number")
    };
    let whole = distribute(&["-o", "b.sdft"]);
    assert!(!whole.contains("interior") && seconds(&told) < seconds(&whole), "{told}{whole}");
    // Interiors and borders of different ranks have no common elements.
    let checked = bench.run(&["check", "a.sdft"]);
    checked.prints(&[]);
    assert!(!checked.stderr.contains("V705"), "{}", checked.stderr);
}
