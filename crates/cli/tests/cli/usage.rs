//! Tests of correct use: every command does what its help says.

use crate::Bench;
use crate::data::{doubles, npy};
use crate::programs::{DOUBLE, TOTAL, WRONG};

#[test]
fn help_has_examples_and_exit_codes() {
    let bench = Bench::new();
    bench.run(&["--help"]).prints(&["Exit status", "interpret", "compile"]);
    for command in ["check", "explain", "print", "info", "interpret", "compile", "run", "cache", "minimize"] {
        bench.run(&[command, "--help"]).prints(&["Examples:", "Usage:"]);
    }
    bench.run(&["--version"]).prints(&["sdfg 0.1.0"]);
}

#[test]
fn programs_are_checked_and_findings_are_data() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    bench.file("wrong.sdft", WRONG);
    bench.run(&["check", "double.sdft"]).prints(&["double.sdft: ok"]);
    let both = bench.run(&["check", "double.sdft", "wrong.sdft"]);
    both.fails(1, &["wrong.sdft:6:", "^"]);
    assert!(both.stdout.contains("double.sdft: ok"), "{both:#?}");
    let list = bench.run(&["check", "--format", "json", "wrong.sdft"]);
    list.fails(1, &[]);
    let found: serde_json::Value = serde_json::from_str(&list.stdout).expect("the findings are JSON");
    assert_eq!(found[0]["severity"], "error");
    assert_eq!(found[0]["location"]["line"], 6);
}

#[test]
fn codes_are_explained() {
    let bench = Bench::new();
    bench.run(&["explain", "v304"]).prints(&[
        "V304: an access leaves its container",
        "Wrong:",
        "Right:",
        "A[i - 1]",
    ]);
    bench.run(&["explain"]).prints(&["V304  an access leaves its container", "P001", "V702"]);
    bench.run(&["explain", "V3O4"]).fails(2, &["`V3O4`", "did you mean V304"]);
    bench.run(&["explain", "never written"]).fails(2, &["did you mean V702"]);
    bench.run(&["explain", "t003"]).prints(&[
        "T003: lanes cannot run a map of schedule `simd`",
        "Wrong:",
        "Right:",
    ]);
    bench.run(&["explain", "D107"]).prints(&["D107: a memlet whose meaning is not supported", "Remedy"]);
    bench.run(&["explain"]).prints(&[
        "T001  the target",
        "T002  the target",
        "T003  lanes",
        "D001  the bytes",
        "D308  writing",
    ]);
    bench.run(&["explain", "xyz"]).fails(2, &["`sdfg explain` lists them all"]);
}

#[test]
fn forms_convert_into_each_other() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    let text = bench.run(&["print", "double.sdft"]);
    let json = bench.run(&["print", "--format", "json", "double.sdft"]);
    json.prints(&["\"format\": \"sdfg\""]);
    // Content decides, not the name.
    bench.file("double.sdft", &json.stdout);
    assert_eq!(bench.run(&["print", "double.sdft"]).stdout, text.stdout);
    let piped = bench.run_with(&["print", "-", "-o", "again.sdft"], &json.stdout, &[]);
    piped.prints(&[]);
    assert_eq!(std::fs::read_to_string(bench.path("again.sdft")).expect("a file"), text.stdout);
    bench.run(&["print", "--format", "svg", "double.sdft"]).prints(&["<svg", "all [i = 0:N]"]);
    bench.run(&["print", "--format", "dot", "double.sdft"]).prints(&["digraph", "all [i = 0:N]"]);
}

#[test]
fn the_picture_of_the_readme_is_drawn_by_this_command() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let drawn = Bench::new().run(&["print", &format!("{root}/programs/laplace.sdft"), "--format", "svg"]);
    let kept = std::fs::read_to_string(format!("{root}/docs/pictures/laplace.svg")).expect("the picture");
    assert!(
        drawn.stdout == kept,
        "sdfg print programs/laplace.sdft --format svg -o docs/pictures/laplace.svg"
    );
}

#[test]
fn loops_are_lowered_and_raised() {
    let bench = Bench::new();
    bench.file("count.sdft", "sdfg count {\n  for l: i = 0:5 {\n    state s {}\n  }\n}\n");
    let lowered = bench.run(&["print", "--lower-loops", "count.sdft"]);
    lowered.prints(&["state \"l.guard0\" {}\n  -> s if i < 5", "with (i = i + 1)"]);
    let raised = bench.run_with(&["print", "--raise-loops", "-"], &lowered.stdout, &[]);
    assert_eq!(raised.stdout, bench.run(&["print", "count.sdft"]).stdout);
    bench.run(&["print", "--raise-loops", "--lower-loops", "count.sdft"]).fails(2, &["cannot be used with"]);
    bench.file("wrong.sdft", "sdfg wrong {\n  break b\n}\n");
    bench.run(&["print", "wrong.sdft"]).prints(&["break b"]);
    bench.run(&["print", "--raise-loops", "wrong.sdft"]).fails(1, &["V601", "`break` is not inside a loop"]);
}

#[test]
fn info_counts_bytes() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    bench.run(&["info", "double.sdft"]).prints(&[
        "symbols N: i64",
        "array A: f64[N], 8*N bytes",
        "1 map, 1 tasklet",
        "reads 8*N bytes",
        "writes 8*N bytes",
        "operations/byte",
    ]);
    bench.run(&["info", "double.sdft", "--set", "N=4"]).prints(&["reads 32 bytes", "writes 32 bytes"]);
    assert!(!bench.run(&["info", "double.sdft"]).stdout.contains("memory"));
}

#[test]
fn info_tells_which_transients_share_memory() {
    let bench = Bench::new();
    let source = "sdfg chain {
  symbol N: i64
  array A: i64[N]
  transient array first: i64[N]
  transient array second: f32[N, N]
  transient array kept: i64[2*N] lifetime(persistent)
  transient array late: i64[k]
  state a { access A; access first; access B = A; A -> first; first -> B: first[N - 1:-1:-1] -> A[0:N] }
  state b { access second; tasklet t () -> (o) { o = 1 }; t.o -> second: second[0, 0] }
  state c { access A; access kept; A -> kept: A[0:N] -> kept[0:N] }
  -> d with (k = N)
  state d { access A; access late; A -> late }
}
";
    bench.file("chain.sdft", source);
    bench.run(&["info", "chain.sdft"]).prints(&[
        "  memory: 16*N + max(4*N**2, 8*N) bytes at most for transients (without reuse 4*N**2 + 24*N)\n",
        "    max(4*N**2, 8*N) bytes: second, first, in turns\n",
        "    16*N bytes are persistent\n",
        "  memory that is not counted, as only a run decides its size: late\n",
    ]);
    bench.run(&["info", "chain.sdft", "--set", "N=10"]).prints(&[
        "memory: 560 bytes at most for transients (without reuse 640)",
        "400 bytes: second, first, in turns",
    ]);
    bench.file("device.sdft", source.replace("first: i64[N]", "first: i64[N] storage(gpu_global)"));
    let answer = bench.run(&["info", "device.sdft"]);
    answer.prints(&[
        "    16*N bytes are persistent\n",
        "  device: copies to it move 8*N bytes\n",
        "  device: copies from it move 8*N bytes\n",
        "  device: kernels read 0 bytes\n",
    ]);
    assert!(!answer.stdout.contains("not known"), "{answer:#?}");
    answer.prints(&["  memory of the device: 8*N bytes at most for transients\n", "    8*N bytes: first\n"]);
    let map = "state a { access A; map m [i = 0:N] schedule(fpga_device) { tasklet t () -> (o) { o = 1 }; t.o -> m.A: A[i] }; m.A -> A }";
    bench.file("other.sdft", format!("sdfg other {{\n  symbol N: i64\n  array A: i64[N]\n  {map}\n}}\n"));
    bench.run(&["info", "other.sdft"]).prints(&["memory: not known", "`fpga_device`"]);
    // What no code can be made of is told before anybody tries.
    let told = bench.run(&["check", "device.sdft"]);
    told.prints(&["device.sdft: 1 warning"]);
    let warning =
        "warning[T002]: device.sdft: chain/container first: `first` in storage `gpu_global` is not supported";
    assert!(told.stderr.contains(warning), "{told:#?}");
    assert!(told.stderr.contains("`sdfg explain T002` tells more"), "{told:#?}");
    bench.run(&["compile", "device.sdft"]).fails(1, &["a cpu has no memory `device` (T002)"]);
}

#[test]
fn info_tells_the_memory_of_blocks() {
    let bench = Bench::new();
    bench.file(
        "blocks.sdft",
        "sdfg blocks {
  symbol N: i64
  array A: f64[N, 40] storage(gpu_global)
  array B: f64[N, 40] storage(gpu_global)
  transient array T: f64[40] storage(gpu_shared)
  transient array sums: f32[N] storage(gpu_global)
  transient stream S: f64 storage(gpu_global)
  state s {
    access A
    access B
    access sums
    access S
    map rows [i = 0:N] schedule(gpu_grid) {
      map fill [j = 0:40] schedule(gpu_block) {
        tasklet t (a) -> (o) { o = 2 * a }
        fill.A -> t.a: A[i, j]
        t.o -> fill.T: T[j]
      }
      access T
      map turn [j = 0:40] schedule(gpu_block) {
        tasklet u (a) -> (o, s, e) {
          o = a
          s = f32(a)
          if a > 0:
              e = a
        }
        turn.T -> u.a: T[39 - j]
        u.o -> turn.B: B[i, j]
        u.s -> turn.sums: sums[i] wcr(sum)
        u.e -> turn.S: S dynamic
      }
      rows.A -> fill.A
      fill.T -> T
      T -> turn.T
      turn.B -> rows.B
      turn.sums -> rows.sums
      turn.S -> rows.S
    }
    A -> rows.A
    rows.B -> B
    rows.sums -> sums
    rows.S -> S
  }
}
",
    );
    let answer = bench.run(&["info", "blocks.sdft", "--set", "N=100"]);
    answer.prints(&[
        "  memory of the device: 400 bytes at most for transients\n    400 bytes: sums\n",
        "  memory of each block of the kernel rows: 320 bytes: T\n",
        "  memory that is not counted, as only a run decides its size: S\n",
    ]);
}

/// Maps that lanes cannot run are told by `check`, with a code and a path, as `compile` refuses them.
#[test]
fn maps_that_lanes_cannot_run_are_told_before_anything_is_compiled() {
    let bench = Bench::new();
    let map = |label: &str, own: &str| {
        format!(
            "    map {label} [i = 0:8] schedule(simd) {{
      access {own}
      tasklet t_{label} (a) -> (x) {{ x = a + 1.0 }}
      tasklet u_{label} (x) -> (o) {{ o = x }}
      {label}.A -> t_{label}.a: A[i]
      t_{label}.x -> {own}: {own}[2]
      {own} -> u_{label}.x: {own}[2]
      u_{label}.o -> {label}.{own}B: B{label}[i]
    }}
    A -> {label}.A
    {label}.{own}B -> B{label}\n"
        )
    };
    let program = |size: u64| {
        let maps = map("m", "T") + &map("n", "U");
        format!(
            "sdfg p {{
  array A: f64[8]
  array Bm: f64[8]
  array Bn: f64[8]
  transient array T: f64[{size}]
  transient array U: f64[{size}]
  state s {{
    access A
    access Bm
    access Bn
{maps}  }}
}}
"
        )
    };
    bench.file("small.sdft", program(20));
    bench.run(&["check", "small.sdft"]).prints(&["small.sdft: ok"]);
    bench.file("p.sdft", program(200));
    let told = bench.run(&["check", "p.sdft"]);
    told.prints(&["p.sdft: 2 warnings"]);
    for (place, own) in [("p/s/m", "T"), ("p/s/n", "U")] {
        let warning = format!(
            "warning[T003]: p.sdft: {place}: schedule `simd` is a promise that cannot be kept: each iteration has a `{own}` of its own"
        );
        assert!(told.stderr.contains(&warning), "{told:#?}");
    }
    let json = bench.run(&["check", "--format", "json", "p.sdft"]);
    json.prints(&[
        "\"code\": \"T003\"",
        "\"path\": \"p/s/n\"",
        "`sequential` runs one iteration after the other",
    ]);
    bench
        .run(&["compile", "p.sdft"])
        .fails(1, &["p/s/m: schedule `simd`", "p/s/n: schedule `simd`", "(T003)"]);
}

#[test]
fn both_ways_to_run_agree() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    bench.file("a.npy", npy(&[1.0, 2.5, -3.0], "(3,)"));
    for command in ["interpret", "run"] {
        let answer = bench.run(&[command, "double.sdft", "-i", "A=a.npy", "-o", "B=b.npy"]);
        answer.prints(&[]);
        assert_eq!(answer.stderr, "", "all inputs are given");
        assert_eq!(doubles(&std::fs::read(bench.path("b.npy")).expect("a result")), [2.0, 5.0, -6.0]);
        std::fs::remove_file(bench.path("b.npy")).expect("it was written");
    }
    let generated = |command| {
        let answer = bench.run(&[command, "double.sdft", "--set", "N=40", "-i", "A=random:3"]);
        answer.prints(&["B: f64[40] checksum "]);
        answer.stdout
    };
    assert_eq!(generated("interpret"), generated("run"));
    let default = bench.run(&["run", "double.sdft", "--set", "N=2"]);
    assert!(default.stderr.contains("note: `A` is filled with `random:0`"), "{default:#?}");
    for (pattern, first) in [("range", "0.0, 2.0, 4.0"), ("ones", "2.0, 2.0"), ("const:2.5", "5.0, 5.0")] {
        let input = format!("A={pattern}");
        bench.run(&["run", "double.sdft", "--set", "N=3", "-i", &input]).prints(&[first]);
    }
}

#[test]
fn reductions_are_expanded() {
    let bench = Bench::new();
    bench.file("total.sdft", TOTAL);
    for command in ["interpret", "run"] {
        bench.run(&[command, "total.sdft", "--set", "N=5", "-i", "A=range"]).prints(&["S: f64[1]", ": 10.0"]);
    }
    bench.run(&["print", "--expand", "total.sdft"]).prints(&["nested r", "wcr(sum)"]);
    let timed =
        bench.run(&["run", "total.sdft", "--set", "N=5", "--repeat", "3", "-O", "fast", "--threads", "1"]);
    assert!(timed.prints(&[]).stderr.contains("3 runs: median "), "{timed:#?}");
}

#[test]
fn interpreter_options_are_heard() {
    let bench = Bench::new();
    bench.file("total.sdft", TOTAL);
    let random = ["interpret", "total.sdft", "--set", "N=5", "--order", "random:9", "--no-conflict-check"];
    bench.run(&random).prints(&["S: f64[1]"]);
    let traced = bench.run(&["interpret", "total.sdft", "--set", "N=5", "--trace"]);
    assert!(traced.prints(&[]).stderr.contains("ran once"), "{traced:#?}");
}

#[test]
fn everything_that_can_be_emitted_is() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    for (kind, begin) in [
        ("plan", b"plan twofold float(contract) {\n".as_slice()),
        ("llvm-ir", b"; ModuleID"),
        ("asm", b"\t"),
        ("obj", b"\x7fELF"),
        ("so", b"\x7fELF"),
        ("a", b"!<arch>\n"),
        ("header", b"/*"),
    ] {
        let file = format!("out.{kind}");
        bench.run(&["compile", "double.sdft", "--emit", kind, "-O1", "-o", &file]).prints(&[]);
        let contents = std::fs::read(bench.path(&file)).expect("a file was written");
        assert!(contents.starts_with(begin), "{kind} begins with {:?}", &contents[..contents.len().min(12)]);
    }
    bench.run(&["compile", "double.sdft", "--emit", "header"]).prints(&["int32_t twofold_run("]);
    bench.run(&["compile", "double.sdft", "--emit", "plan"]).prints(&["buffer A: f64[N]", "team "]);
}

#[test]
fn colours_are_for_terminals() {
    let bench = Bench::new();
    bench.file("wrong.sdft", WRONG);
    assert!(!bench.run(&["check", "wrong.sdft"]).stderr.contains('\u{1b}'));
    assert!(bench.run(&["check", "--color", "always", "wrong.sdft"]).stderr.contains('\u{1b}'));
}
