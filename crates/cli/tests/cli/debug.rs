//! What debuggers are told.
#![expect(clippy::print_stdout, reason = "a test says what it could not try")]

use std::process::Command;

use super::Bench;
use super::programs::DOUBLE;

/// The line of the tasklet in [`DOUBLE`].
const TASKLET: usize = 9;

/// What a tool says of a library; nothing without the tool.
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

/// The frames of a backtrace in a tasklet are the elements around it, from the inside out.
#[test]
fn a_backtrace_reads_as_the_graph_is_nested() {
    let bench = Bench::new();
    bench.file("twofold.sdft", DOUBLE);
    bench.file(
        "main.c",
        "#include \"twofold.h\"\nint main(void) { double a[4] = {0}, b[4]; return twofold(a, b, 4); }\n",
    );
    for level in ["-O0", "-O3"] {
        bench.run(&["compile", "twofold.sdft", "-g", level]).prints(&[]);
        bench.run(&["compile", "twofold.sdft", "--emit", "header", "-o", "twofold.h"]).prints(&[]);
        let path = format!("-Wl,-rpath,{}", bench.folder.path().display());
        let Some(_) = says(&bench, "cc", &["main.c", "./libtwofold.so", &path, "-o", "main"]) else { return };
        let stop = format!("break twofold.sdft:{TASKLET}");
        let arguments = [
            "-batch",
            "-nx",
            "-ex",
            "set breakpoint pending on",
            "-ex",
            &stop,
            "-ex",
            "run",
            "-ex",
            "bt",
            "./main",
        ];
        let Some(text) = says(&bench, "gdb", &arguments) else { return };
        if !text.contains("hit Breakpoint 1") {
            println!("not tried: gdb may not run programs here: {text}");
            return;
        }
        let frames: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with('#'))
            .filter_map(|line| line.split_once(" (")?.0.split_whitespace().last())
            .collect();
        let expected =
            ["twice", "twofold.parallel0", "all", "main", "twofold.body", "twofold_run", "twofold", "main"];
        assert_eq!(frames, expected, "{level}: {text}");
    }
}
