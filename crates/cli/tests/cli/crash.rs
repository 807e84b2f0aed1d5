//! Tests of runs that a signal ends: the message names the signal and the remedy, and the exit status is that
//! of the signal.

use crate::Bench;

/// `A[j] = 1` for each element `j` of `I`.
const SCATTER: &str = "\
sdfg scatter {
  array I: i64[2]
  array A: f64[8]
  for each: i = 0:2 {
    state pick {}
      -> put with (j = I[i])
    state put {
      access A
      tasklet one () -> (a) { a = 1.0 }
      one.a -> A: A[j]
    }
  }
}
";

/// A program that calls `fault` of the given C code, in a parallel map.
fn calling(code: &str) -> String {
    format!(
        "\
sdfg calls {{
  array A: f64[64]
  array B: f64[64]
  state main {{
    access A
    access B
    map all [i = 0:64] {{
      tasklet c (a) -> (b) external b = fault(a) from source \"{code}\"
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

/// SIGILL, SIGABRT, SIGBUS, SIGFPE and SIGSEGV of Linux.
const ILL: i32 = 4;
const ABRT: i32 = 6;
const BUS: i32 = 7;
const FPE: i32 = 8;
const SEGV: i32 = 11;

#[test]
fn an_index_from_data_out_of_range_is_told_and_checked_code_names_it() {
    let bench = Bench::new();
    bench.file("p.sdft", SCATTER);
    let run = |more: &[&str]| bench.run(&[&["run", "p.sdft", "-i", "I=const:1e13"], more].concat());
    let told = run(&[]);
    assert_eq!((told.status, told.signal), (None, Some(SEGV)), "{told:#?}");
    let lines: Vec<&str> = told.stderr.lines().filter(|line| !line.starts_with("note: ")).collect();
    let [error, help] = lines[..] else { panic!("{told:#?}") };
    assert!(error.starts_with("error: the run was ended by the signal SIGSEGV"), "{told:#?}");
    assert!(help.starts_with("  help: run it with --checked"), "{told:#?}");
    assert_eq!(told.stdout, "");
    run(&["--checked"]).fails(1, &["out of bounds", "index 10000000000000"]);
    let coloured = run(&["--color", "always"]);
    assert!(coloured.stderr.contains("\u{1b}[1;31merror\u{1b}[0m: the run was"), "{coloured:#?}");
}

#[test]
fn faults_of_c_code_are_told() {
    let bench = Bench::new();
    for (code, signal, name) in [
        ("double fault(double x) { *(volatile int *)8 = 1; return x; }", SEGV, "SIGSEGV"),
        ("#include <stdlib.h>\\ndouble fault(double x) { abort(); }", ABRT, "SIGABRT"),
        ("#include <signal.h>\\ndouble fault(double x) { raise(SIGFPE); return x; }", FPE, "SIGFPE"),
        ("#include <signal.h>\\ndouble fault(double x) { raise(SIGBUS); return x; }", BUS, "SIGBUS"),
        ("double fault(double x) { __builtin_trap(); }", ILL, "SIGILL"),
        // A signal that is sent once: the code that sent it could go on.
        (
            "#include <signal.h>\\nstatic int sent; double fault(double x) { if (!sent++) raise(SIGFPE); return x; }",
            FPE,
            "SIGFPE",
        ),
    ] {
        bench.file("p.sdft", calling(code));
        for (command, help) in [
            (["run", "p.sdft", "--threads=2"].as_slice(), "help: run it with --checked"),
            (&["run", "p.sdft", "--threads=2", "--checked"], "help: C and C++ code is not checked"),
            (&["interpret", "p.sdft"], "help: C and C++ code is not checked"),
        ] {
            let answer = bench.run(&[command, &["--allow-external"]].concat());
            assert_eq!((answer.status, answer.signal), (None, Some(signal)), "{answer:#?}");
            assert_eq!(answer.stderr.matches("error: ").count(), 1, "{answer:#?}");
            for part in [&format!("error: the run was ended by the signal {name}"), help] {
                assert!(answer.stderr.contains(part), "no `{part}` in {answer:#?}");
            }
        }
    }
}

/// The handler needs a stack of its own, on each thread.
#[test]
fn a_full_stack_is_told() {
    let bench = Bench::new();
    let deep = "double deep(double x) { volatile double large[4096]; large[0] = x; return deep(large[0]) + large[0]; }";
    let anywhere = format!("{deep}\\ndouble fault(double x) {{ return deep(x); }}");
    let not_in_main = format!(
        "#include <sys/syscall.h>\\n#include <unistd.h>\\n{deep}\\n\
         double fault(double x) {{ return syscall(SYS_gettid) == getpid() ? x : deep(x); }}"
    );
    for (code, threads) in
        [(&anywhere, "--threads=1"), (&anywhere, "--threads=3"), (&not_in_main, "--threads=3")]
    {
        bench.file("p.sdft", calling(code));
        let answer = bench.run(&["run", "p.sdft", "--allow-external", threads]);
        assert_eq!((answer.status, answer.signal), (None, Some(SEGV)), "{threads}, {code}: {answer:#?}");
        assert!(
            answer.stderr.contains("SIGSEGV: an access to memory that is not there, or a stack that is full"),
            "{threads}, {code}: {answer:#?}"
        );
    }
}
