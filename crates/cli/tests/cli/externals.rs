//! Tests of programs with external C code: consent, and messages about missing code.

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

/// A function in C++ with a global that is initialised at run time, memory of its own, and an exception.
const CPP: &str = "cpp \"#include <stdexcept>\\n#include <vector>\\nstatic const std::vector<double> factors(4, 2.0);\\n\
    extern \\\"C\\\" double square_of(double x) { try { throw std::runtime_error(\\\"x\\\"); } \
    catch (const std::exception&) { return x * x * factors.at(1); } }\"";

#[test]
fn cpp_is_compiled_loaded_and_linked() {
    let bench = Bench::new();
    bench.file("p.sdft", program(CPP));
    for command in COMMANDS {
        bench.run(command).fails(2, &["brings code of its own", "add --allow-external"]);
    }
    for command in &COMMANDS[..2] {
        let allowed = [command, ["--allow-external", "-i", "A=range"].as_slice()].concat();
        bench.run(&allowed).prints(&["0.0, 2.0, 8.0, 18.0"]);
    }
    for command in &COMMANDS[2..] {
        bench.run(&[command, ["--allow-external"].as_slice()].concat()).prints(&[]);
    }
}

#[test]
fn compiled_cpp_is_kept() {
    let bench = Bench::new();
    let kept = || {
        let entries = std::fs::read_dir(bench.cache.path()).expect("the cache can be read");
        let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
        names.filter(|name| name.ends_with(".sdfg-external")).count()
    };
    let run = |variables: &[(&str, &str)]| {
        let answer = bench.run_with(&["run", "p.sdft", "--allow-external", "-i", "A=range"], "", variables);
        answer.prints(&["0.0, 2.0, "]);
    };
    bench.file("p.sdft", program(CPP));
    run(&[]);
    assert_eq!(kept(), 1);
    run(&[]);
    assert_eq!(kept(), 1);
    // Another compiler, and other code.
    run(&[("CXX", "g++ -DOTHER")]);
    assert_eq!(kept(), 2);
    bench.file("p.sdft", program(&CPP.replace("x * x * factors", "factors.at(0) * x * x / 2 * factors")));
    run(&[]);
    assert_eq!(kept(), 3);
    // What was damaged is compiled again.
    for entry in std::fs::read_dir(bench.cache.path()).expect("the cache can be read") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "sdfg-external") {
            std::fs::write(path, "damaged").expect("a file can be written");
        }
    }
    run(&[]);
    bench.run(&["cache", "--clear"]).prints(&[]);
    assert_eq!(kept(), 0);
}

#[test]
fn errors_of_cpp_and_its_compiler_are_told() {
    let bench = Bench::new();
    let wrong =
        "cpp \"#line 7 \\\"tasklet c\\\"\\nextern \\\"C\\\" double square_of(double x) { return y; }\"";
    bench.file("p.sdft", program(wrong));
    for command in &COMMANDS[..3] {
        let allowed = [command, ["--allow-external"].as_slice()].concat();
        let answer = bench.run(&allowed);
        answer.fails(
            answer.status.unwrap_or(0),
            &["the C++ code of the program does not compile", "tasklet c:7:"],
        );
        let answer =
            bench.run_with(&allowed, "", &[("PATH", ""), ("CXX", ""), ("SDFG_LINKER", "/usr/bin/cc")]);
        answer.fails(answer.status.unwrap_or(0), &["no C++ compiler was found", "the variable CXX"]);
        let answer = bench.run_with(&allowed, "", &[("CXX", "no-such-compiler")]);
        answer.fails(answer.status.unwrap_or(0), &["`no-such-compiler` could not be run"]);
    }
}

#[test]
fn a_blas_is_called_where_the_user_asks_for_one() {
    let bench = Bench::new();
    let product = "\
sdfg product {
  array A: f64[2, 2]
  array C: f64[2, 2]
  state main {
    access A
    access C
    library node: MatMul (_a, _b) -> (_c) {}
    A -> node._a
    A -> node._b
    node._c -> C
  }
}
";
    bench.file("p.sdft", product);
    let asked = |option: &'static str| ["run", "p.sdft", option, "-i", "A=range"];
    bench.run(&asked("--blas=nosuchlibrary")).fails(2, &["nosuchlibrary"]);
    bench.run(&["run", "p.sdft", "-i", "A=range"]).prints(&["2.0, 3.0, 6.0, 11.0"]);
    if sdfg_codegen::link::BlasLibraries::find().is_some() {
        bench.run(&asked("--blas")).prints(&["2.0, 3.0, 6.0, 11.0"]);
    } else {
        bench.run(&asked("--blas")).fails(2, &["no BLAS was found", "libopenblas-dev"]);
    }
    // The interpreter makes the same calls, and what is printed has them.
    bench.run(&["interpret", "p.sdft", "--blas=nosuchlibrary", "-i", "A=range"]).fails(1, &["nosuchlibrary"]);
    if sdfg_codegen::link::BlasLibraries::find().is_some() {
        let all = ["interpret", "p.sdft", "--blas", "-i", "A=range"];
        bench.run(&all).prints(&["2.0, 3.0, 6.0, 11.0"]);
    }
    let printed = ["print", "p.sdft", "--expand", "--blas=nosuchlibrary"];
    bench.run(&printed).prints(&["cblas_dgemm", "from library \"nosuchlibrary\""]);
    bench.run(&["print", "p.sdft", "--blas=nosuchlibrary"]).fails(2, &["--blas needs --expand"]);
    // It is no consent to code of the program's own.
    bench.file("p.sdft", program("library \"openblas\""));
    bench.run(&asked("--blas")).fails(2, &["brings code of its own", "add --allow-external"]);
    bench.run(&["interpret", "p.sdft", "--blas", "-i", "A=range"]).fails(2, &["brings code of its own"]);
}

/// No command has functions that a program could call; what is compiled for other callers says so.
#[test]
fn callbacks_are_for_callers() {
    let bench = Bench::new();
    let text = "sdfg p {
  array A: f64[4]
  state s {
    access A
    access out = A
    map m [i = 0:4] {
      tasklet t (x) -> (y) external y = seen(x) from callback
      m.A -> t.x: A[i]
      t.y -> m.A: A[i]
    }
    A -> m.A
    m.A -> out
  }
}
";
    bench.file("p.sdft", text);
    for command in [["run", "p.sdft"], ["interpret", "p.sdft"]] {
        bench
            .run(&command)
            .fails(2, &["calls the callback `seen`, which no command can pass", "Python, C or Rust"]);
    }
    bench.run(&["check", "p.sdft"]).prints(&["p.sdft: ok"]);
    bench.run(&["compile", "p.sdft", "--emit", "header"]).prints(&[
        "typedef double (*p_seen_t)(double);",
        "void p_stop(p_t *handle, const char *message);",
        "p_seen_t seen",
    ]);
    bench.run(&["compile", "p.sdft", "--emit", "interface"]).prints(&["\"callbacks\"", "\"seen\""]);
    bench
        .run(&["compile", "p.sdft", "--emit", "fortran"])
        .prints(&["type(c_funptr), value :: seen", "subroutine p_stop"]);
}
