//! Programs with C code of their own: consent, and what is said when the code is not there.

use crate::Bench;

/// `B = f(A)` with a function from `origin`.
fn program(origin: &str) -> String {
    format!(
        "\
sdfg calls {{
  array A: f64[4]
  array B: f64[4]
  state main {{
    access A
    access B
    map all [i = 0:4] {{
      tasklet c (a) -> (b) external b = square_of(a) from {origin}
      all.A -> c.a: A[i]
      c.b -> all.B: B[i]
    }}
    A -> all.A
    all.B -> B
  }}
}}
"
    )
}

/// Every command that would run or compile the code.
const COMMANDS: [&[&str]; 4] = [
    &["interpret", "p.sdft"],
    &["run", "p.sdft"],
    &["compile", "p.sdft", "-o", "out.so"],
    &["compile", "p.sdft", "--emit", "a", "-o", "out.a"],
];

#[test]
fn code_runs_with_consent_only() {
    let bench = Bench::new();
    bench.file("p.sdft", program("source \"double square_of(double x) { return x * x; }\""));
    for command in COMMANDS {
        bench.run(command).fails(2, &["brings code of its own", "add --allow-external"]);
    }
    assert_eq!(bench.files(), ["p.sdft"]);
    for command in &COMMANDS[..2] {
        let allowed = [command, ["--allow-external", "-i", "A=range"].as_slice()].concat();
        bench.run(&allowed).prints(&["0.0, 1.0, 4.0, 9.0"]);
    }
}

#[test]
fn what_is_missing_is_named() {
    let bench = Bench::new();
    for (origin, what) in [
        ("library \"m\"", "`square_of`"),
        ("source \"double other(double x) { return x; }\"", "`square_of`"),
        ("library \"nosuchlibrary\"", "nosuchlibrary"),
        ("source \"double square_of(double x) { return x * }\"", "error"),
        ("file \"none.c\"", "none.c"),
    ] {
        bench.file("p.sdft", program(origin));
        for command in &COMMANDS[..3] {
            let answer = bench.run(&[command, ["--allow-external"].as_slice()].concat());
            assert_ne!(answer.status, Some(0), "{answer:#?}");
            assert!(answer.stderr.contains(what), "{answer:#?}");
            for unwanted in ["JIT session", "collect2", "if you trust", "panicked"] {
                assert!(!answer.stderr.contains(unwanted), "`{unwanted}` in {answer:#?}");
            }
            // Notes about generated inputs come first; then the error is all that is said.
            let errors = answer.stderr.lines().find(|line| !line.starts_with("note: "));
            assert!(errors.is_some_and(|line| line.starts_with("error: ")), "{answer:#?}");
        }
    }
    assert_eq!(bench.files(), ["p.sdft"]);
}
