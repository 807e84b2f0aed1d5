//! Tests of containers that are shown after a run.

use super::Bench;

/// `T = A + 1`, `B = 2 * T`, with a constant, a stream, a transient of each iteration, and one of a size that the program sets.
const HIDDEN: &str = "\
sdfg hidden {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  transient array T: f64[N, 2]
  transient array late: f64[k]
  transient array own: f64[1]
  transient stream S: f64
  state first {
    access A
    access T
    map all [i = 0:N] {
      access own
      tasklet add (a) -> (t) { t = a + 1.0 }
      all.A -> add.a: A[i]
      add.t -> own: own[0]
      own -> all.T: own[0] -> T[i, 0]
    }
    A -> all.A
    all.T -> T
  }
  -> second with (k = N)
  state second {
    access T
    access B
    access late
    access S
    T -> late: T[0:N, 0] -> late[0:N]
    late -> S: late[0:N] -> S
    S -> B: S -> B[0:N]
  }
}
";

#[test]
fn what_lives_inside_is_shown_after_the_run() {
    let bench = Bench::new();
    bench.file("hidden.sdft", HIDDEN);
    let command = |command: &str, more: &[&str]| {
        bench.run(&[&[command, "hidden.sdft", "--set", "N=3", "-i", "A=range"], more].concat())
    };
    for way in ["run", "interpret"] {
        let answer = command(way, &["--dump", "T=t.npy", "--dump", "A"]);
        answer.prints(&["B: f64[3]", "A: f64[3]", "0.0, 1.0, 2.0"]);
        assert!(!answer.stdout.contains("T:"), "{answer:#?}");
        let bytes = std::fs::read(bench.path("t.npy")).expect("it was written");
        let values: Vec<f64> = bytes[bytes.len() - 48..]
            .chunks_exact(8)
            .map(|bytes| f64::from_le_bytes(bytes.try_into().expect("eight bytes")))
            .collect();
        assert_eq!([values[0], values[2], values[4]], [1.0, 2.0, 3.0]);
    }
    command("interpret", &["--dump", "T"]).prints(&["T: f64[3, 2]", "1.0, undefined, 2.0, undefined"]);
    for (dump, texts) in [
        ("U", ["no container `U`", "its containers are"]),
        ("S", ["a stream", "put into"]),
        ("own", ["inside of a scope", "each iteration"]),
        ("late", ["uses `k`", "the caller knows"]),
    ] {
        command("run", &["--dump", dump]).fails(2, &texts);
    }
    command("run", &["--dump", "T", "-i", "T=ones"]).fails(2, &["`T` is transient"]);
    command("run", &["--dump", "T=x.npy", "-o", "B=x.npy"]).fails(2, &["x.npy"]);
}

#[test]
fn what_was_there_after_a_block_is_shown() {
    let bench = Bench::new();
    let source = "\
sdfg steps {
  symbol N: i64
  array A: f64[N]
  transient array T: f64[N]
  transient scalar once: f64
  for times: t = 0:3 {
    state add {
      access A
      access once
      tasklet more (a) -> (b) { b = a + 1.0 }
      A -> more.a: A[0]
      more.b -> once
    }
    -> fill
    state fill { access once; access A; once -> A: once -> A[0] }
    -> third
    if third: t == 2 { state late { access A; access T; A -> T: A[0:N] -> T[0:N] } }
  }
}
";
    bench.file("steps.sdft", source);
    let dumps = ["once@add", "A@fill", "A@times", "T@late", "once@late", "A"];
    for way in ["run", "interpret"] {
        let options = dumps.iter().flat_map(|dump| ["--dump", dump]);
        let command = [way, "steps.sdft", "--set", "N=2", "-i", "A=range"];
        let answer = bench.run(&command.into_iter().chain(options).collect::<Vec<_>>());
        for (dump, values) in dumps.iter().zip(["3.0", "3.0, 1.0", "3.0, 1.0", "3.0, 1.0", "3.0", "3.0, 1.0"])
        {
            let is_it = |line: &&str| {
                line.starts_with(&format!("{dump}: ")) && line.ends_with(&format!(": {values}"))
            };
            assert_eq!(answer.stdout.lines().filter(is_it).count(), 1, "{dump} of {answer:#?}");
        }
        assert_eq!(answer.stdout.lines().count(), dumps.len(), "{answer:#?}");
    }
    bench
        .run(&["run", "steps.sdft", "--set", "N=2", "--dump", "A@filled"])
        .fails(2, &["no block `filled`", "`fill`"]);
}
