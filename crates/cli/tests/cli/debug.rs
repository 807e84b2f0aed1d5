//! Tests of debug information.
#![expect(clippy::print_stdout, reason = "a test says what it could not try")]

use std::process::Command;

use super::Bench;
use super::programs::DOUBLE;

/// The line of the tasklet in [`DOUBLE`].
const TASKLET: usize = 9;

/// Output of a tool about a library; nothing without the tool.
fn says(bench: &Bench, tool: &str, arguments: &[&str]) -> Option<String> {
    let answer = Command::new(tool).args(arguments).current_dir(bench.folder.path()).output();
    match answer {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(error) => {
            println!("not tried: {tool} cannot be run: {error}");
            None
        }
    }
}

#[test]
fn lines_and_elements_are_in_libraries() {
    let bench = Bench::new();
    bench.file("twofold.sdft", DOUBLE);
    assert!(DOUBLE.lines().nth(TASKLET - 1).is_some_and(|line| line.contains("tasklet twice")));
    for level in ["-O0", "-Ofast", "-O3"] {
        bench.run(&["compile", "twofold.sdft", "-g", level]).prints(&[]);
        if let Some(text) = says(&bench, "objdump", &["--dwarf=decodedline", "libtwofold.so"]) {
            let line = |line: &str| {
                let mut words = line.split_whitespace();
                words.next() == Some("twofold.sdft") && words.next() == Some(&TASKLET.to_string())
            };
            assert!(text.lines().any(line), "{level}: {text}");
        }
        let line = format!("info line twofold.sdft:{TASKLET}");
        let scope = ["-batch", "-ex", &line, "-ex", "info functions -n twofold_run", "libtwofold.so"];
        if let Some(text) = says(&bench, "gdb", &scope) {
            assert!(
                text.contains(&format!("Line {TASKLET} of \"twofold.sdft\" starts at address")),
                "{level}: {text}"
            );
            assert!(text.contains("twofold_run"), "{level}: {text}");
        }
    }
    let ir = bench.run(&["compile", "twofold.sdft", "-g", "-O0", "--emit", "llvm-ir"]);
    for label in ["twice", "all", "main", "twofold_run"] {
        ir.prints(&[&format!("!DISubprogram(name: \"{label}\"")]);
    }
    ir.prints(&["inlinedAt"]);
    let without = bench.run(&["compile", "twofold.sdft", "-O0", "--emit", "llvm-ir"]);
    assert!(!without.stdout.contains("DI") && !without.stdout.contains("!dbg"), "{without:#?}");
}

/// A document has no lines that anyone wants to see.
#[test]
fn what_has_no_lines_is_printed_beside_the_output() {
    let bench = Bench::new();
    bench.file("twofold.sdft", DOUBLE);
    bench.run(&["print", "twofold.sdft", "--format", "json", "-o", "twofold.json"]).prints(&[]);
    std::fs::create_dir(bench.path("out")).expect("a folder can be made");
    bench.run(&["compile", "twofold.json", "-g", "-o", "out/libtwofold.so"]).prints(&[]);
    let printed = std::fs::read_to_string(bench.path("out/twofold.debug.sdft")).expect("it was written");
    let line = 1 + printed.lines().position(|line| line.contains("tasklet twice")).expect("a tasklet");
    let stdin = bench.run_with(&["compile", "-", "-g", "--emit", "llvm-ir"], DOUBLE, &[]);
    stdin.prints(&["twofold.debug.sdft", "!DISubprogram(name: \"twice\""]);
    assert!(bench.path("twofold.debug.sdft").is_file());
    if let Some(text) = says(
        &bench,
        "gdb",
        &["-batch", "-ex", &format!("info line twofold.debug.sdft:{line}"), "out/libtwofold.so"],
    ) {
        assert!(text.contains("twofold.debug.sdft\" starts at address"), "{text}");
    }
}

/// `B = 2 * A + 1` in two states, the second with a copy behind a map.
const TWO_STATES: &str = "\
sdfg chain {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  transient array T: f64[N]
  state first {
    access A
    access T
    map all [i = 0:N] {
      tasklet twice (a) -> (t) { t = 2.0 * a }
      all.A -> twice.a: A[i]
      twice.t -> all.T: T[i]
    }
    A -> all.A
    all.T -> T
  }
  -> second
  state second {
    access T
    access B
    access A
    map each [j = 0:N] {
      tasklet more (t) -> (b) { b = t + 1.0 }
      each.T -> more.t: T[j]
      more.b -> each.B: B[j]
    }
    T -> each.T
    each.B -> B
    B -> A: B[0] -> A[0]
  }
}
";

/// The names of the frames of a backtrace, from the inside out.
fn frames(text: &str) -> Vec<&str> {
    let frames = text.lines().filter_map(|line| line.strip_prefix('#')?.split_once("  ")?.1.split_once(" ("));
    frames.map(|(name, _)| name.split_once(" in ").map_or(name, |(_, name)| name)).collect()
}

/// The frames of a backtrace are the elements around the place, from the inside out, and none of those that ran before.
#[test]
fn a_backtrace_reads_as_the_graph_is_nested() {
    let bench = Bench::new();
    bench.file("chain.sdft", TWO_STATES);
    bench.file(
        "main.c",
        "#include \"chain.h\"\nint main(void) { double a[4] = {0}, b[4]; return chain(a, b, 4); }\n",
    );
    let calls = ["chain.body", "chain_run", "chain", "main"];
    for (line, elements) in [
        ("tasklet twice", vec!["twice", "chain.parallel0", "all", "first"]),
        ("tasklet more", vec!["more", "chain.parallel1", "each", "second"]),
        ("B -> A: ", vec!["B -> A", "second"]),
    ] {
        let line = 1 + TWO_STATES.lines().position(|text| text.contains(line)).expect("it is a line");
        bench.run(&["compile", "chain.sdft", "-g", "-O0"]).prints(&[]);
        bench.run(&["compile", "chain.sdft", "--emit", "header", "-o", "chain.h"]).prints(&[]);
        let path = format!("-Wl,-rpath,{}", bench.folder.path().display());
        let Some(_) = says(&bench, "cc", &["main.c", "./libchain.so", &path, "-o", "main"]) else { return };
        let stop = format!("break chain.sdft:{line}");
        let run = ["-ex", "set breakpoint pending on", "-ex", &stop, "-ex", "run", "-ex", "bt", "./main"];
        let arguments: Vec<&str> = ["-batch", "-nx"].into_iter().chain(run).collect();
        let Some(text) = says(&bench, "gdb", &arguments) else { return };
        if !text.contains("Breakpoint 1, ") {
            println!("not tried: gdb may not run programs here: {text}");
            return;
        }
        assert_eq!(frames(&text), [elements.as_slice(), &calls].concat(), "line {line}: {text}");
    }
}
