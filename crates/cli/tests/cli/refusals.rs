//! Tests of incorrect use: the message states fault, location and remedy, the exit status is right, and no
//! files remain.

use crate::Bench;
use crate::data::{npy, npy_of};
use crate::programs::{DOUBLE, OUTSIDE, WRONG};

/// Every command with the arguments that it needs besides the program.
const COMMANDS: [(&str, &[&str]); 6] = [
    ("check", &[]),
    ("print", &[]),
    ("info", &[]),
    ("interpret", &["--set", "N=3"]),
    ("compile", &["-o", "out.so"]),
    ("run", &["--set", "N=3"]),
];

fn command<'a>((name, rest): (&'a str, &[&'a str]), program: &'a str) -> Vec<&'a str> {
    [name, program].into_iter().chain(rest.iter().copied()).collect()
}

#[test]
fn missing_and_unreadable_programs() {
    let bench = Bench::new();
    bench.file("binary.sdft", b"sdfg \xff\xfe");
    for entry in COMMANDS {
        bench
            .run(&command(entry, "none.sdft"))
            .fails(2, &["cannot read `none.sdft`", "help: check the path"]);
        bench.run(&command(entry, "binary.sdft")).fails(2, &["byte 5 is not UTF-8"]);
        bench.run(&command(entry, ".")).fails(2, &["cannot read `.`"]);
    }
    assert_eq!(bench.files(), ["binary.sdft"]);
}

#[test]
fn broken_texts_and_documents() {
    let bench = Bench::new();
    bench.file("text.sdft", DOUBLE.replace("array B", "arry B").replace("map all [", "map all ("));
    bench.file("broken.json", "{\"format\": \"sdfg\", ");
    bench.file("other.json", "{\"type\": \"SDFG\", \"attributes\": {}}");
    bench.file("empty.sdft", "");
    for entry in COMMANDS {
        let text = bench.run(&command(entry, "text.sdft"));
        text.fails(1, &["text.sdft:4:3", "did you mean `array`?", "text.sdft:8:"]);
        bench.run(&command(entry, "broken.json")).fails(1, &["EOF"]);
        bench.run(&command(entry, "other.json")).fails(1, &["error"]);
        bench.run(&command(entry, "empty.sdft")).fails(1, &["sdfg"]);
    }
}

/// A truncated DaCe file.
#[test]
fn documents_without_content() {
    let bench = Bench::new();
    bench.file("none.sdfg", "{\"type\": \"SDFG\"}");
    for entry in COMMANDS {
        bench.run(&command(entry, "none.sdfg")).fails(1, &["error[D0", "`attributes`"]);
    }
    assert_eq!(bench.files(), ["none.sdfg"]);
}

#[test]
fn files_that_are_too_large() {
    let bench = Bench::new();
    for name in ["large.sdft", "large.npy"] {
        // A file with a hole takes no room.
        let file = std::fs::File::create(bench.path(name)).expect("a file");
        file.set_len(1 << 43).expect("a hole");
    }
    bench.file("double.sdft", DOUBLE);
    // A system that promises any memory would begin to read.
    let promises =
        std::fs::read_to_string("/proc/sys/vm/overcommit_memory").is_ok_and(|mode| mode.trim() == "1");
    bench.run(&["check", "large.sdft"]).fails(2, &["`large.sdft` is too large for a program", "help: "]);
    if !promises {
        let answer = bench.run(&["run", "double.sdft", "-i", "A=large.npy"]);
        answer.fails(
            2,
            &[
                "`large.npy` is too large: there is no memory for its 8796093022208 bytes",
                "--input A=large.npy",
            ],
        );
    }
}

/// Diagnostics of other programs are reported even if one program is unreadable.
#[test]
fn programs_that_cannot_be_read_beside_others() {
    let bench = Bench::new();
    bench.file("wrong.sdft", WRONG);
    bench.file("double.sdft", DOUBLE);
    let mixed = bench.run(&["check", "none.sdft", "wrong.sdft", "other.sdft", "double.sdft"]);
    mixed.fails(2, &["wrong.sdft:6:", "cannot read `none.sdft`", "cannot read `other.sdft`"]);
    assert_eq!(mixed.stdout, "wrong.sdft: 1 error\ndouble.sdft: ok\n");
    let list = bench.run(&["check", "--format", "json", "wrong.sdft", "none.sdft"]);
    list.fails(2, &["cannot read `none.sdft`"]);
    let found: serde_json::Value = serde_json::from_str(&list.stdout).expect("the findings are JSON");
    assert_eq!(found[0]["location"]["line"], 6);
}

/// A product whose node has the given operation, connectors and properties.
fn product(node: &str, connector: &str, shape: &str) -> String {
    format!(
        "sdfg p {{
  array A: f64[2, 3]
  array B: f64[{shape}]
  array C: f64[2, 4]
  state s {{
    access A
    access B
    access C
    library n: {node}
    A -> n.{connector}
    B -> n._b
    n._c -> C
  }}
}}"
    )
}

/// `check` tells of library nodes that every command refuses, with the code of the refusal.
#[test]
fn library_nodes_that_no_command_carries_out() {
    let bench = Bench::new();
    for (node, connector, shape, code, message) in [
        ("ONNXSum (_a, _b) -> (_c) {}", "_a", "3, 4", "L001", "the operation `ONNXSum` is not known"),
        ("MatMul (_a, _b) -> (_c) { alfa = 2 }", "_a", "3, 4", "L002", "the property `alfa`"),
        ("MatMul (_x, _b) -> (_c) {}", "_x", "3, 4", "L003", "`_a` is missing"),
        ("MatMul (_a, _b) -> (_c) {}", "_a", "5, 4", "L004", "the shapes do not fit"),
    ] {
        bench.file("p.sdft", product(node, connector, shape));
        let checked = bench.run(&["check", "p.sdft"]);
        checked.fails(1, &[&format!("error[{code}]: p.sdft: p/s/n: "), message]);
        assert_eq!(checked.stdout, "p.sdft: 1 error\n");
        for command in ["interpret", "run"] {
            bench.run(&[command, "p.sdft"]).fails(1, &[code, message]);
        }
        bench.run(&["compile", "p.sdft", "-o", "out.so"]).fails(1, &[code, message]);
        bench.run(&["explain", code]).prints(&[code, "Remedy"]);
        let list = bench.run(&["check", "--format", "json", "p.sdft"]);
        let found: serde_json::Value = serde_json::from_str(&list.stdout).expect("the findings are JSON");
        assert_eq!((&found[0]["code"], &found[0]["path"]), (&code.into(), &"p/s/n".into()));
    }
}

/// `check` warns of programs that native code refuses, with the code of the refusal.
#[test]
fn programs_that_native_code_refuses() {
    let bench = Bench::new();
    bench.file("main.sdft", DOUBLE.replace("sdfg twofold", "sdfg main"));
    let checked = bench.run(&["check", "main.sdft"]);
    assert_eq!(checked.stdout, "main.sdft: 1 warning\n");
    assert!(checked.stderr.contains("warning[T005]: main.sdft: main: ") && checked.stderr.contains("--name"));
    bench.run(&["compile", "main.sdft", "-o", "out.so"]).fails(1, &["T005", "--name"]);
    bench.run(&["run", "main.sdft", "--set", "N=3"]).fails(1, &["T005", "--name"]);
    bench.run(&["interpret", "main.sdft", "--set", "N=3"]).prints(&["B"]);
    bench.run(&["run", "main.sdft", "--set", "N=3", "--name", "twice"]).prints(&["B"]);
    bench.file(
        "kept.sdft",
        "sdfg p {
  symbol N: i64
  array A: f64[N]
  transient array T: f64[n] lifetime(persistent)
  state size { }
  -> keep with (n = N + 1)
  state keep {
    access A
    access T
    A -> T: A[0:N] -> T[0:N]
    access out = A
    T -> out: T[0:N] -> A[0:N]
  }
}",
    );
    let checked = bench.run(&["check", "kept.sdft"]);
    assert_eq!(checked.stdout, "kept.sdft: 1 warning\n");
    assert!(checked.stderr.contains("warning[T004]: kept.sdft: p: `T`, whose size depends on symbols"));
    bench.run(&["compile", "kept.sdft", "-o", "out.so"]).fails(1, &["T004", "`T`, whose size"]);
    assert_eq!(bench.files(), ["kept.sdft", "main.sdft"]);
}

/// Programs for accelerators run on the CPU if the user asks for it, and each change is told.
#[test]
fn programs_for_accelerators_may_run_on_the_cpu() {
    let bench = Bench::new();
    bench
        .file("gpu.sdft", DOUBLE.replace("map all [i = 0:N] {", "map all [i = 0:N] schedule(fpga_device) {"));
    let refused = bench.run(&["check", "gpu.sdft"]);
    assert_eq!(refused.stdout, "gpu.sdft: 1 warning\n");
    bench.run(&["run", "gpu.sdft", "--set", "N=3"]).fails(1, &["T001"]);
    let change = "twofold/main/all: schedule fpga_device becomes default";
    let checked = bench.run(&["check", "gpu.sdft", "--retarget", "cpu"]);
    assert_eq!(checked.stdout, "gpu.sdft: ok\n");
    assert!(checked.stderr.contains(&format!("note: gpu.sdft: {change}")), "{checked:?}");
    for command in ["run", "interpret"] {
        let ran = bench.run(&[command, "gpu.sdft", "--set", "N=3", "--retarget", "cpu"]);
        ran.prints(&["B: f64[3]"]);
        assert!(ran.stderr.contains(change), "{ran:?}");
    }
    bench.run(&["compile", "gpu.sdft", "-o", "out.so", "--retarget=cpu"]).prints(&[]);
    let printed = bench.run(&["print", "gpu.sdft", "--retarget=cpu"]);
    assert!(!printed.stdout.contains("fpga"), "{printed:?}");
    bench.run(&["check", "gpu.sdft", "--retarget", "tpu"]).fails(2, &["cpu"]);
    bench.file("c.json", r#"{"version": 1, "steps": [{"transformation": "simplify"}]}"#);
    for rewrite in [
        &["transform", "gpu.sdft", "MapTiling", "--retarget", "cpu"][..],
        &["simplify", "gpu.sdft", "--retarget", "cpu"],
        &["chain", "apply", "gpu.sdft", "c.json", "--retarget", "cpu"],
        &["minimize", "gpu.sdft", "--retarget", "cpu", "--", "sh", "-c", "! grep -q map {}"],
    ] {
        let rewritten = bench.run(rewrite);
        assert!(rewritten.stdout.contains("map") && !rewritten.stdout.contains("fpga"), "{rewritten:?}");
        assert!(rewritten.stderr.contains(change), "{rewritten:?}");
    }
    let strategy = ["strategy", "gpu.sdft", "--set", "N=8", "-p", "2", "--retarget", "cpu"];
    assert!(bench.run(&strategy).stderr.contains(change));
    bench
        .run(&["strategy", "--costs", "none", "--retarget", "cpu"])
        .fails(2, &["--retarget", "leave it out"]);
}

/// Of several files, each finding says whose it is.
#[test]
fn refusals_of_files_of_dace_name_the_file() {
    let bench = Bench::new();
    bench.file("none.sdfg", "{\"type\": \"SDFG\"}");
    for entry in COMMANDS {
        bench.run(&command(entry, "none.sdfg")).fails(1, &["]: none.sdfg: "]);
    }
}

#[test]
fn programs_that_are_not_valid() {
    let bench = Bench::new();
    bench.file("wrong.sdft", WRONG);
    for entry in COMMANDS.into_iter().filter(|(name, _)| *name != "print") {
        bench.run(&command(entry, "wrong.sdft")).fails(1, &["wrong.sdft:6:", "`b`"]);
    }
    bench.run(&["print", "wrong.sdft"]).prints(&["one.b"]);
    assert_eq!(bench.files(), ["wrong.sdft"]);
}

#[test]
fn symbols_that_are_missing_or_unknown() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    for command in ["interpret", "run"] {
        bench.run(&[command, "double.sdft"]).fails(2, &["symbol without a value: N", "--set N=VALUE"]);
        bench
            .run(&[command, "double.sdft", "--set", "M=3"])
            .fails(2, &["no symbol `M`", "at: --set M=3", "its symbols are N"]);
        bench.run(&[command, "double.sdft", "--set", "N=many"]).fails(2, &["`many` is not a 64-bit integer"]);
        bench.run(&[command, "double.sdft", "--set", "N"]).fails(2, &["expected a name, `=` and a value"]);
        bench.run(&[command, "double.sdft", "--set", "N=1", "--set", "N=2"]).fails(2, &["set twice"]);
        bench.run(&[command, "double.sdft", "--set", "N=-4"]).fails(2, &["is -4, which is negative"]);
        let huge = bench.run(&[command, "double.sdft", "--set", "N=1000000000000000"]);
        huge.fails(2, &["cannot make `A`", "too large", "smaller sizes"]);
    }
}

#[test]
fn sizes_that_contradict_each_other() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    bench.file("three.npy", npy(&[1.0, 2.0, 3.0], "(3,)"));
    bench.file("four.npy", npy(&[1.0, 2.0, 3.0, 4.0], "(4,)"));
    for command in ["interpret", "run"] {
        bench.run(&[command, "double.sdft", "-i", "A=three.npy", "-i", "B=four.npy"]).fails(
            2,
            &["`B` has shape [3], the file [4]", "declared as [N] with N = 3 by dimension 0 of `A`"],
        );
    }
}

#[test]
fn inputs_that_do_not_fit() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    bench.file("three.npy", npy(&[1.0, 2.0, 3.0], "(3,)"));
    bench.file("square.npy", npy(&[1.0, 2.0, 3.0, 4.0], "(2, 2)"));
    bench.file("single.npy", npy_of("<f4", &[0; 12], "(3,)"));
    bench.file("words.npy", npy_of("<U1", &[0; 12], "(3,)"));
    bench.file("short.npy", npy(&[1.0], "(3,)"));
    bench.file("text.npy", "1, 2, 3");
    bench.file("negative.npy", npy(&[], "(-3,)"));
    let before = bench.files();
    for command in ["interpret", "run"] {
        let run =
            |input: &str| bench.run(&[command, "double.sdft", "--set", "N=4", "-i", input, "-o", "B=b.npy"]);
        run("A=none.npy").fails(2, &["cannot read `none.npy`", "at: --input A=none.npy", "help: "]);
        run("A=three.npy").fails(
            2,
            &[
                "`A` has shape [4], the file [3]",
                "at: --input A=three.npy",
                "declared as [N] with N = 4 by --set",
            ],
        );
        run("A=square.npy")
            .fails(2, &["`A` has shape [N], the file [2, 2]", "--input A=square.npy", "reshape"]);
        run("A=single.npy").fails(2, &["elements of type f64, the file of f32"]);
        run("A=words.npy").fails(2, &["`<U1`"]);
        run("A=short.npy").fails(2, &["asks for 24 bytes of data, it has 8"]);
        run("A=negative.npy").fails(2, &["the extent `-3`, which is no natural number"]);
        run("A=text.npy").fails(2, &["it is no .npy file"]);
        run("C=three.npy").fails(2, &["no argument `C`", "its arguments are A, B"]);
        run("A=random:many").fails(2, &["seed `many`"]);
        run("A=const:x").fails(2, &["constant `x`"]);
        run("A=const:-1e400").fails(2, &["the constant `-1e400` is larger than any number"]);
        run("A=const:+inf").prints(&[]);
        std::fs::remove_file(bench.path("b.npy")).expect("it was written");
        bench
            .run(&[command, "double.sdft", "-i", "A=three.npy", "-i", "B=square.npy"])
            .fails(2, &["`B` has shape [N], the file [2, 2]: the numbers of dimensions differ"]);
    }
    assert_eq!(bench.files(), before, "nothing is written when a run is refused");
}

/// Floats are rounded; everything else is the number that the user wrote, or an error.
#[test]
fn constants_that_elements_cannot_be() {
    let bench = Bench::new();
    let run = |ty: &str, constant: &str| {
        let program = format!(
            "sdfg p {{\n  array A: {ty}[1]\n  array B: {ty}[1]\n  state s {{\n    access A\n    access B\n    A -> B\n  }}\n}}\n"
        );
        bench.file("p.sdft", program);
        bench.run(&["interpret", "p.sdft", "-i", &format!("A=const:{constant}")])
    };
    for (ty, constant) in [
        ("u8", "256"),
        ("u8", "-1"),
        ("i32", "1.5"),
        ("i64", "nan"),
        ("i64", "inf"),
        ("i64", "9223372036854775808"),
        ("bool", "2"),
        ("f16", "65520"),
        ("f32", "1e39"),
        ("complex64", "-1e39"),
        ("f16x4", "1e6"),
    ] {
        let answer = run(ty, constant);
        let scalar = ty.split('x').next().filter(|_| ty == "f16x4").unwrap_or(ty);
        let what = format!("the constant `{constant}` is no value of type {scalar}");
        answer.fails(2, &[&what, &format!("at: --input A=const:{constant}"), "help: "]);
    }
    for (ty, constant, shown) in [
        ("u8", "255", ": 255"),
        ("i64", "9007199254740993", ": 9007199254740993"),
        ("i64", "1e6", ": 1000000"),
        ("i32", "+3.0", ": 3"),
        ("bool", "1", ": True"),
        ("f16", "65519.9", ": 65504"),
        ("f32", "-inf", ": -inf"),
        ("complex64", "2", ": (2.0+0.0j)"),
    ] {
        run(ty, constant).prints(&[shown]);
    }
}

#[test]
fn outputs_that_cannot_be_written() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    for command in ["interpret", "run"] {
        let run = |output: &str| bench.run(&[command, "double.sdft", "--set", "N=4", "-o", output]);
        run("Q=q.npy").fails(2, &["no argument `Q`"]);
        let same = [command, "double.sdft", "--set", "N=4", "-o", "A=x.npy", "-o", "B=x.npy"];
        bench.run(&same).fails(2, &["`A` and `B` cannot both be written to `x.npy`", "at: --output B=x.npy"]);
        run("B=no/such/folder/b.npy")
            .fails(2, &["no/such/folder/b.npy", "help: check that the folder exists"]);
    }
    for kind in ["llvm-ir", "asm", "obj", "so", "a", "header"] {
        bench
            .run(&["compile", "double.sdft", "--emit", kind, "-o", "no/folder/out"])
            .fails(2, &["no/folder/out", "help: check that the folder exists"]);
    }
    bench.run(&["print", "double.sdft", "-o", "no/folder/out"]).fails(2, &["no/folder/out"]);
    // Nothing is read, compiled or run for what cannot be written.
    let early: [&[&str]; 9] = [
        &["run", "double.sdft", "--set", "N=4", "-o", "B=no/out"],
        &["run", "double.sdft", "--set", "N=4", "--dump", "B=no/out"],
        &["run", "double.sdft", "--set", "N=4", "--trace", "no/out"],
        &["interpret", "double.sdft", "--set", "N=4", "-o", "B=no/out"],
        &["compile", "none.sdft", "-o", "no/out"],
        &["print", "none.sdft", "-o", "no/out"],
        &["minimize", "none.sdft", "-o", "no/out", "--", "false"],
        &["strategy", "none.sdft", "-o", "no/out"],
        &["strategy", "none.sdft", "--picture", "no/out"],
    ];
    for command in early {
        bench.run(command).fails(
            2,
            &["cannot write no/out: there is no folder `no`", "help: check that the folder exists"],
        );
    }
    bench.run(&["cache"]).prints(&["0 objects"]);
    bench.run(&["compile", "none.sdft", "-o", "."]).fails(2, &["cannot write .: it is a directory"]);
    assert_eq!(bench.files(), ["double.sdft"]);
}

/// Results do not take the place of what they are made of, or of each other.
#[test]
fn outputs_that_would_replace_something() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    std::os::unix::fs::symlink("double.sdft", bench.path("link")).expect("a link");
    for file in ["double.sdft", "./double.sdft", "link"] {
        let (output, dump) = (format!("B={file}"), format!("A={file}"));
        let run: [&[&str]; 6] = [
            &["run", "double.sdft", "--set", "N=4", "-o", &output],
            &["run", "double.sdft", "--set", "N=4", "--dump", &dump],
            &["run", "double.sdft", "--set", "N=4", "--trace", file],
            &["interpret", "double.sdft", "--set", "N=4", "-o", &output],
            &["compile", "double.sdft", "-o", file],
            &["strategy", "double.sdft", "--set", "N=4", "-o", file],
        ];
        for command in run {
            bench
                .run(command)
                .fails(2, &[&format!("`{file}` is the program itself"), "help: name another file"]);
        }
    }
    assert_eq!(std::fs::read_to_string(bench.path("double.sdft")).expect("a program"), DOUBLE);
    let both = ["run", "double.sdft", "--set", "N=4", "-o", "B=x", "--trace", "x"];
    bench.run(&both).fails(2, &["a result and the trace cannot both be written to `x`"]);
    let both = ["strategy", "double.sdft", "--set", "N=4", "-o", "x", "--picture", "x"];
    bench.run(&both).fails(2, &["the strategy and its picture"]);
    for command in [["print", "double.sdft", "-o", ""], ["compile", "double.sdft", "-o", ""]] {
        bench.run(&command).fails(2, &["the name of an output is empty", "help: name a file"]);
    }
    bench.run(&["print", "double.sdft", "-o", "double.sdft"]).prints(&[]);
}

#[test]
fn places_without_room() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    for command in
        [["print", "double.sdft", "-o", "/dev/full"], ["compile", "double.sdft", "-o", "/dev/full"]]
    {
        bench.run(&command).fails(2, &["cannot write /dev/full", "help: make room"]);
    }
    let compile = ["compile", "double.sdft", "-o", "x.so"];
    let answer = bench.run_with(&compile, "", &[("TMPDIR", "/nonexistent")]);
    answer.fails(2, &["cannot write /nonexistent: there is no folder `/nonexistent`"]);
    bench.run_with(&compile, "", &[("SDFG_LINKER", "true")]).fails(2, &["wrote no library", "SDFG_LINKER"]);
    assert_eq!(bench.files(), ["double.sdft"]);
}

#[test]
fn programs_that_trap() {
    let bench = Bench::new();
    bench.file("outside.sdft", OUTSIDE);
    let run = |value: &str| bench.run(&["interpret", "outside.sdft", "--set", "N=3", "--set", value]);
    run("k=2").prints(&["A: f64[3]"]);
    run("k=3").fails(1, &["out of bounds: index [3] of `A`", "at: outside/main"]);
    bench
        .run(&["interpret", "outside.sdft", "--set", "N=3", "--set", "k=0", "--step-limit", "1"])
        .fails(1, &["step limit", "--step-limit"]);
}

#[test]
fn tools_and_options_that_are_wrong() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    let compile = ["compile", "double.sdft", "--emit", "so", "-o", "out.so"];
    bench
        .run_with(&compile, "", &[("SDFG_LINKER", "/nonexistent")])
        .fails(2, &["/nonexistent", "SDFG_LINKER"]);
    bench.run_with(&compile, "", &[("SDFG_LINKER", "false")]).fails(2, &["`false` failed"]);
    let processor = ["compile", "double.sdft", "--cpu", "x86-64-v33", "-o", "x.so"];
    bench.run(&processor).fails(2, &["`x86-64-v33` is not a processor", "help: give --cpu host"]);
    bench
        .run(&["compile", "double.sdft", "--cpu", "x86-64-v2,znver4", "-o", "x.so"])
        .fails(2, &["`znver4` cannot be one of several processors", "expected x86-64, x86-64-v2"]);
    bench
        .run(&["compile", "double.sdft", "--cpu", "x86-64-v2,x86-64-v3", "--features", "+fma", "-o", "x.so"])
        .fails(2, &["--features cannot be given for several processors"]);
    bench.run(&["compile", "double.sdft", "-o", "-"]).fails(2, &["libraries are written to files only"]);
    bench.run(&["compile", "double.sdft", "--emit", "exe", "-o", "x"]).fails(2, &["llvm-ir"]);
    bench
        .run(&["compile", "double.sdft", "--cpu", "a b", "-o", "x.so"])
        .fails(2, &["`a b` is not a processor"]);
    bench
        .run(&["compile", "double.sdft", "--features", "+avx2", "-o", "x.so"])
        .fails(2, &["--features needs --cpu"]);
    bench.run(&["compile", "double.sdft", "-O9", "-o", "x.so"]).fails(2, &["possible values"]);
    for option in ["--threads", "--repeat"] {
        for number in ["0", "-1", "two"] {
            let option = format!("{option}={number}");
            let answer = bench.run(&["run", "double.sdft", "--set", "N=1", &option]);
            answer.fails(2, &[option.split_once('=').expect("two parts").0, "expected a number from 1 to"]);
        }
    }
    bench
        .run(&["strategy", "double.sdft", "--set", "N=1", "--threads", "0"])
        .fails(2, &["expected a number from 1"]);
    let features = |cpu: &str, features: &str| {
        let features = format!("--features={features}");
        bench.run(&["compile", "double.sdft", "--cpu", cpu, &features, "-o", "x.so"])
    };
    features("host", "+avx2")
        .fails(2, &["`host` is this machine's with all its features", "as in `--cpu x86-64-v3"]);
    #[cfg(target_arch = "x86_64")]
    features("x86-64-v3", "-sse2")
        .fails(2, &["`-sse2` cannot be removed", "at: --features", "help: leave it out"]);
    features("generic", "avx2").fails(2, &["`avx2` is not a processor feature to add or remove"]);
    bench.run(&["interpret", "double.sdft", "--order", "backwards"]).fails(2, &["random:SEED"]);
    bench.run(&["check", "-", "double.sdft", "-"]).fails(2, &["`-` cannot be given twice"]);
    bench
        .run(&["strategy", "double.sdft", "--set", "N=-1"])
        .fails(2, &["extent `N` of `A` is -1", "at: --set"]);
    bench.run(&["chek", "double.sdft"]).fails(2, &["check"]);
    assert_eq!(bench.files(), ["double.sdft"]);
}

#[test]
fn costs_of_sizes_that_cannot_be() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    bench.run(&["info", "double.sdft", "--set", "N=-5"]).fails(2, &["extent `N` of `A` is -5", "negative"]);
    bench.run(&["info", "double.sdft", "--set", "M=5"]).fails(2, &["no symbol `M`", "its symbols are N"]);
    bench.file("device.sdft", DOUBLE.replace("[i = 0:N]", "[i = 0:N] schedule(gpu_device)"));
    bench
        .run(&["check", "device.sdft"])
        .fails(1, &["`gpu_device` is not a schedule", "known: default", "gpu_grid"]);
}

#[test]
fn checked_code_tells_what_was_wrong() {
    let bench = Bench::new();
    bench.file("outside.sdft", OUTSIDE);
    let run = |k: &str| bench.run(&["run", "outside.sdft", "--checked", "--set", "N=3", "--set", k]);
    run("k=2").prints(&["A: f64[3]"]);
    let message = "out of bounds: index 3 in dimension 0 of `A[k]` at outside/main/one, whose extent is 3";
    run("k=3").fails(1, &["`outside` failed", message]);
}

#[test]
fn arguments_that_may_overlap_are_arguments() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    let run = |names: &str| bench.run(&["run", "double.sdft", "--set", "N=3", "--may-overlap", names]);
    run("A,B").prints(&["B: f64[3]"]);
    run("A,C").fails(2, &["no argument `C`", "--may-overlap C", "its arguments are A, B"]);
}

#[test]
fn blocks_of_nothing() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    bench.run(&["strategy", "double.sdft", "--minimum-block", "0"]).fails(2, &["--minimum-block", "0"]);
}

/// A disk that is full loses help and results alike.
#[test]
fn standard_outputs_that_are_full() {
    use std::process::{Command, Stdio};

    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    for arguments in
        [&["--help"][..], &["--version"], &["run", "--help"], &["check", "double.sdft"], &["explain"]]
    {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        let answer = Command::new(env!("CARGO_BIN_EXE_sdfg"))
            .args(arguments)
            .current_dir(bench.folder.path())
            .stdin(Stdio::null())
            .stdout(full)
            .output()
            .expect("the command can be run");
        let stderr = String::from_utf8_lossy(&answer.stderr);
        assert_eq!(answer.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains("cannot write to the standard output"), "{arguments:?}: {stderr}");
    }
}

/// The name of the program is that of what the code exports.
#[test]
fn names_that_are_given_to_code() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    bench.file("tanh.sdft", DOUBLE.replace("twofold", "tanh"));
    for command in ["run", "compile"] {
        let with = |program: &'static str, name: &'static str| {
            let rest: &[&str] = if command == "run" { &["--set", "N=3"] } else { &["-o", "out.so"] };
            bench.run(&[&[command, program, "--name", name], rest].concat())
        };
        bench.run(&command_of(command, "tanh.sdft")).fails(1, &["`tanh`", "--name"]);
        with("tanh.sdft", "hyperbolic").prints(&[]);
        with("double.sdft", "malloc").fails(2, &["`malloc`", "at: --name malloc"]);
        for wrong in ["", "3x", "a b", "a-b", "int"] {
            with("double.sdft", wrong).fails(2, &["cannot name a C function", "at: --name"]);
        }
    }
    bench.run(&["compile", "double.sdft", "--name", "again"]).prints(&[]);
    assert!(bench.files().contains(&"libagain.so".to_owned()), "{:?}", bench.files());
    let header = bench.run(&["compile", "double.sdft", "--name", "again", "--emit", "header"]);
    header.prints(&["int32_t again_run("]);
    assert!(!header.stdout.contains("twofold"), "{header:#?}");
    let result = bench.run(&["run", "double.sdft", "--name", "again", "--set", "N=3", "-i", "A=range"]);
    result.prints(&["0.0, 2.0, 4.0"]);
}

fn command_of<'a>(name: &'a str, program: &'a str) -> Vec<&'a str> {
    match name {
        "run" => vec![name, program, "--set", "N=3"],
        _ => vec![name, program, "-o", "out.so"],
    }
}

/// The schedule `simd` is carried out or refused, never dropped.
#[test]
fn maps_that_lanes_cannot_run() {
    let bench = Bench::new();
    let program = DOUBLE.replace("] {\n", "] schedule(simd) {\n");
    assert!(program.contains("schedule(simd)"), "{program}");
    bench.file("lanes.sdft", &program);
    assert_eq!(bench.run(&["compile", "lanes.sdft", "--emit", "llvm-ir"]).status, Some(0));
    bench.file("shifted.sdft", SHIFTED);
    for rest in [&["compile", "shifted.sdft"][..], &["run", "shifted.sdft", "--set", "N=9"]] {
        bench.run(rest).fails(1, &["shifted/s/m", "`simd`", "`A`", "`sequential`"]);
    }
    assert_eq!(bench.files(), ["lanes.sdft", "shifted.sdft"]);
}

/// Each iteration reads what another one may write.
const SHIFTED: &str = "sdfg shifted {
  symbol N: i64
  array A: f64[N]
  array at: i64[N]
  state s {
    access A
    access at
    access A2 = A
    map m [i = 0:N] schedule(simd) {
      tasklet t (a, k) -> (b) { b = a[k] }
      m.A -> t.a: A[0:N]
      m.at -> t.k: at[i]
      t.b -> m.A2: A[i]
    }
    A -> m.A
    at -> m.at
    m.A2 -> A2
  }
}";

/// A note about each of hundreds of nodes hides the ones that matter.
#[test]
fn notes_with_the_same_text_are_one_line() {
    let bench = Bench::new();
    let program = |copies: usize| {
        let edges = ["A -> B\n", "B -> C\n"][..copies].concat();
        let names = ["access A\n", "access B\n", "access C\n"][..=copies].concat();
        format!(
            "sdfg p {{\n array A: f64[4]\n array B: f64[4]\n array C: f64[4]\n state s {{\n {names}{edges} }}\n}}"
        )
    };
    for (copies, places) in [(1, "(and 1 other place)"), (2, "(and 2 other places)")] {
        bench.file("p.sdft", program(copies));
        let written = bench.run(&["print", "p.sdft", "--format", "dace"]).stdout;
        let noted = ["A", "B", "C"].iter().fold(written, |text, name| {
            let node = format!("\"label\": \"{name}\",\n     \"attributes\": {{");
            text.replace(&node, &format!("{node} \"access\": \"ReadWrite\", \"colour\": \"blue\","))
        });
        bench.file("p.sdfg", noted);
        let checked = bench.run(&["check", "p.sdfg"]);
        let lines: Vec<&str> = checked.stderr.lines().filter(|line| line.starts_with("note[D201]")).collect();
        assert_eq!(lines.len(), 2, "{checked:?}");
        assert!(lines.iter().all(|line| line.ends_with(places)), "{checked:?}");
    }
}

/// A run on a device says which device is missing, or that the machine has none.
#[test]
fn devices_that_are_not_there() {
    let bench = Bench::new();
    bench.file("p.sdft", DOUBLE);
    bench.run(&["transform", "p.sdft", "GPUTransform", "--everywhere", "-o", "gpu.sdft"]).prints(&[]);
    let run = ["run", "gpu.sdft", "--target", "opencl", "--set", "N=3"];
    let none = "/nowhere";
    let answer = bench.run_with(&run, "", &[("SDFG_DEVICE", "none"), ("OCL_ICD_VENDORS", none)]);
    answer.fails(1, &["OpenCL"]);
    let none_at_all = [("OCL_ICD_VENDORS", none), ("SDFG_CUDA_DRIVER", "/nowhere.so")];
    bench.run_with(&["devices"], "", &none_at_all).fails(2, &["no driver of CUDA: /nowhere.so", "OpenCL"]);
    // Without the option, the refusal names it.
    bench
        .run(&["run", "gpu.sdft", "--set", "N=3"])
        .fails(1, &["`sdfg run --target cuda` and `--target opencl` run it"]);
    let kinds = ["compile", "gpu.sdft", "--target", "opencl", "--emit", "asm"];
    bench.run(&kinds).fails(2, &["--target opencl has no output of this kind", "--emit so"]);
    // A device without work is no error, but nobody asks for it on purpose.
    let note = "note: `twofold` has no kernels, so the host runs all of it";
    for (program, is_noted) in [("p.sdft", true), ("gpu.sdft", false)] {
        for more in
            [&["--emit", "cuda"][..], &["--emit", "opencl"], &["--target", "opencl", "--emit", "plan"]]
        {
            let command = [&["compile", program, "-o", "-"], more].concat();
            let answer = bench.run(&command);
            answer.prints(&[]);
            assert_eq!(answer.stderr.contains(note), is_noted, "{command:?}: {}", answer.stderr);
        }
    }
    let run = bench.run(&["run", "p.sdft", "--target", "opencl", "--set", "N=3"]);
    run.prints(&[]);
    assert!(run.stderr.contains(note), "{}", run.stderr);
    assert!(bench.files().iter().all(|file| file.ends_with(".sdft")));
}
