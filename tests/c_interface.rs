//! Tests of the C interface: C and C++ programs include the generated header, link the shared library, the
//! static library or the object, and check the results.
//!
//! `tests/c` contains the programs. Each returns 0 or the line of its first failed check.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sdfg::ir::structure::CallerStructure;
use sdfg::validate::Validated;
use sdfg_codegen::header::c_header;
use sdfg_codegen::link;
use sdfg_codegen::llvm::{CompileOptions, compile};
use sdfg_codegen::lower::{Instrumentation, LowerOptions, ProfileLevel, lower};
use sdfg_codegen::source::{CCompiler, SourceOptions};
use sdfg_programs::programs::{butterfly, jacobi2d, laplace, systolic};

/// The linked form of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Linked {
    Shared,
    Static,
    Object,
}

/// Parallel regions start their team for small sizes too.
fn options() -> CompileOptions {
    CompileOptions { parallel_threshold: 0, ..CompileOptions::default() }
}

/// A folder with the header, both libraries and the object of a program.
fn libraries(program: &Validated, lowering: &LowerOptions) -> tempfile::TempDir {
    libraries_with(program, Vec::new(), lowering)
}

/// The same with structures that callers pass.
fn libraries_with(
    program: &Validated,
    structures: Vec<CallerStructure>,
    lowering: &LowerOptions,
) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let name = &program.sdfg().name;
    let options = options();
    let plan = lower(program, &options.target(), lowering).expect("the program can be lowered");
    let object = compile(&plan, &options).expect("the plan compiles").with_structures(structures);
    let file = |name: String| folder.path().join(name);
    link::shared_library(&object, &file(format!("lib{name}.so"))).expect("the shared library is written");
    link::static_library(&object, &file(format!("lib{name}.a"))).expect("the static library is written");
    let relocatable = link::relocatable(&object).expect("the object is linked");
    link::write_file(&file(format!("{name}.o")), &relocatable).expect("the object is written");
    link::write_file(&file(format!("{name}.h")), c_header(object.interface()).as_bytes())
        .expect("the header is written");
    folder
}

/// Compiles `source` against the library of `name`; `None` without the compiler.
fn build(compiler: &[&str], source: &str, name: &str, linked: Linked, folder: &Path) -> Option<PathBuf> {
    let binary = folder.join(format!("{source}-{linked:?}"));
    let mut command = Command::new(compiler[0]);
    command
        .args(&compiler[1..])
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread", "-I"])
        .arg(folder);
    command.arg(format!("{}/tests/c/{source}.c", env!("CARGO_MANIFEST_DIR"))).arg("-o").arg(&binary);
    // Sources end here; what a C++ driver was told about their language must not hold for libraries.
    command.args(["-x", "none"]);
    match linked {
        Linked::Shared => {
            command.arg(folder.join(format!("lib{name}.so"))).arg(format!("-Wl,-rpath,{}", folder.display()));
        }
        Linked::Static => {
            command.arg(folder.join(format!("lib{name}.a"))).arg("-l:libgomp.so.1");
        }
        Linked::Object => {
            command.arg(folder.join(format!("{name}.o"))).arg("-l:libgomp.so.1");
        }
    }
    let output = match command.arg("-lm").output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => panic!("{}: {error}", compiler[0]),
    };
    assert!(output.status.success(), "{source} with {compiler:?}:\n{}", text(&output));
    Some(binary)
}

fn run(binary: &Path) {
    let output = Command::new(binary).env("OMP_NUM_THREADS", "2").output().expect("the program runs");
    assert!(output.status.success(), "{}: {}\n{}", binary.display(), output.status, text(&output));
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

const C99: [&str; 2] = ["cc", "-std=c99"];
const CPP: [&str; 4] = ["c++", "-std=c++11", "-x", "c++"];

fn c_program(program: &Validated, source: &str) {
    c_program_with(program, source, &options().lowering());
}

fn c_program_with(program: &Validated, source: &str, lowering: &LowerOptions) {
    c_program_in(&libraries(program, lowering), &program.sdfg().name, source);
}

fn c_program_in(folder: &tempfile::TempDir, name: &str, source: &str) {
    for linked in [Linked::Shared, Linked::Static, Linked::Object] {
        run(&build(&C99, source, name, linked, folder.path()).expect("these tests need a C compiler"));
    }
    if let Some(binary) = build(&CPP, source, name, Linked::Shared, folder.path()) {
        run(&binary);
    }
}

/// `NAME_create`, `NAME_run`, `NAME_error`, `NAME_destroy`, and every status that a caller can cause.
#[test]
fn one_handle_many_calls() {
    c_program(&jacobi2d().expect("it is valid").0, "jacobi2d");
}

/// The call without a handle.
#[test]
fn one_shot() {
    c_program(&laplace().expect("it is valid").0, "laplace");
}

/// Callers of a DaCe program pass its structures as they do to DaCe's own code.
#[test]
fn structures_of_callers() {
    let bytes = include_bytes!("data/members.sdfg");
    let import = sdfg_dace::read(bytes, &sdfg_dace::Options::default()).expect("the graph is read");
    let program = sdfg::validate::validate(import.sdfg).expect("the graph is valid");
    let folder = libraries_with(&program, import.structures, &options().lowering());
    c_program_in(&folder, "members", "structures");
}

/// Complex arguments have one layout and one type name in both languages.
#[test]
fn complex_arguments() {
    c_program(&butterfly().expect("it is valid").0, "butterfly");
}

/// Two threads of a process run two handles at the same time, each with a team of its own.
#[test]
fn two_handles_at_once() {
    c_program(&jacobi2d().expect("it is valid").0, "two_handles");
}

/// Keeps `0, 1, 2, ...` from run to run.
const KEEPING: &str = "\
sdfg keeping {
  symbol N: i64
  array A: i64[N]
  transient array kept: i64[N] lifetime(persistent)
  state fill {
    access kept
    map all [i = 0:N] {
      tasklet count () -> (o) { o = i }
      count.o -> all.kept: kept[i]
    }
    all.kept -> kept
  }
  state copy {
    access kept
    access A
    kept -> A
  }
}
";

/// NULL for an array, and another size of persistent memory.
#[test]
fn refused_calls() {
    let program = sdfg::text::parse("keeping.sdft", KEEPING).expect("it is a program");
    c_program(&sdfg::validate::validate(program).expect("it is valid"), "refusals");
}

/// Every form of the program contains the functions of the runtime for streams and tasks.
#[test]
fn streams() {
    c_program(&systolic().expect("it is valid").0, "systolic");
}

/// Takes `N` elements from one stream and pushes each of them and its double to another one.
const DOUBLING: &str = "\
sdfg doubling {
  symbol N: i64
  stream In: i32
  stream Out: i32
  state s {
    access In
    access Out
    map all [i = 0:N] schedule(sequential) {
      tasklet double (x) -> (y, z) {
        y = x
        z = 2 * x
      }
      all.In -> double.x: In
      double.y -> all.Out: Out
      double.z -> all.Out: Out
    }
    In -> all.In
    all.Out -> Out
  }
}
";

/// Streams of the caller come back with the elements that are left, and as they were from a run that fails.
#[test]
fn streams_of_the_caller() {
    let program = sdfg::text::parse("doubling.sdft", DOUBLING).expect("it is a program");
    c_program(&sdfg::validate::validate(program).expect("it is valid"), "queues");
}

/// Moves what is in each of `P` queues and in the two queues beside it to one queue, behind its number.
const MERGING: &str = "\
sdfg merging {
  symbol P: i64
  stream In: i32[P, 2]
  stream Out: i32[P]
  stream Beside: i32[P + 1]
  state s {
    access In
    access Out
    access Beside
    map all [p = 0:P] schedule(sequential) {
      tasklet merge (a, b, c) -> (o) {
        o = i32(p)
        o = a
        o = b
        o = c
      }
      all.In -> merge.a: In[p, 0]
      all.In -> merge.b: In[p, 1]
      all.Beside -> merge.c: Beside[p + 1]
      merge.o -> all.Out: Out[p] volume(4)
    }
    In -> all.In
    Beside -> all.Beside
    all.Out -> Out
  }
}
";

/// The caller passes an array of streams as an array of queues.
#[test]
fn arrays_of_streams_of_the_caller() {
    let program = sdfg::text::parse("merging.sdft", MERGING).expect("it is a program");
    c_program(&sdfg::validate::validate(program).expect("it is valid"), "queue_arrays");
}

/// Calls a function for each element, then another one with the last element and all of them.
const CALLS: &str = "\
sdfg calls {
  symbol N: i64
  array A: f64[N]
  state each {
    access A
    access out = A
    map all [i = 0:N] {
      tasklet t (x) -> (y) external y = next_value(x) from callback
      all.A -> t.x: A[i]
      t.y -> all.A: A[i]
    }
    A -> all.A
    all.A -> out
  }
  state last {
    access A
    tasklet t (x, row) -> () external keep(x, row, N) from callback
    A -> t.x: A[N - 1]
    A -> t.row
  }
}
";

/// Functions of the caller, with their types in the header; `NAME_stop` ends a run.
#[test]
fn functions_of_the_caller() {
    let program = sdfg::text::parse("calls.sdft", CALLS).expect("it is a program");
    let program = sdfg::validate::validate(program).expect("it is valid");
    c_program(&program, "callbacks");
    // The same header describes C source.
    let options = options();
    let plan = lower(&program, &options.target(), &options.lowering()).expect("the program can be lowered");
    let folder = libraries(&program, &options.lowering());
    let library = folder.path().join("libcalls.so");
    let compiler = CCompiler::new("cc", &["-Wall", "-Wextra", "-Wconversion", "-Werror"]);
    compiler.shared_library(&plan, &SourceOptions::default(), &library).expect("C source is compiled");
    run(&build(&C99, "callbacks", "calls", Linked::Shared, folder.path()).expect("there is a C compiler"));
}

/// Pushes the numbers below `N` to one stream and their doubles to another one.
const GROWING: &str = "\
sdfg growing {
  symbol N: i64
  stream First: i32
  stream Second: i32
  state s {
    access First
    access Second
    map all [i = 0:N] schedule(sequential) {
      tasklet count () -> (x, y) {
        x = i
        y = 2 * i
      }
      count.x -> all.First: First
      count.y -> all.Second: Second
    }
    all.First -> First
    all.Second -> Second
  }
}
";

/// Without memory for what is left in one stream, the others are as they were, too.
#[test]
fn streams_of_the_caller_without_memory() {
    let program = sdfg::text::parse("growing.sdft", GROWING).expect("it is a program");
    c_program(&sdfg::validate::validate(program).expect("it is valid"), "no_memory");
}

/// `C = A + B`.
const ADDING: &str = "\
sdfg adding {
  symbol N: i64
  array A: i64[N]
  array B: i64[N]
  array C: i64[N]
  state s {
    access A
    access B
    access C
    map all [i = 0:N] {
      tasklet add (a, b) -> (c) { c = a + b }
      all.A -> add.a: A[i]
      all.B -> add.b: B[i]
      add.c -> all.C: C[i]
    }
    A -> all.A
    B -> all.B
    all.C -> C
  }
}
";

/// Arguments that share memory.
#[test]
fn overlapping_arguments() {
    let program = sdfg::text::parse("adding.sdft", ADDING).expect("it is a program");
    c_program(&sdfg::validate::validate(program).expect("it is valid"), "overlaps");
}

/// Twelve arrays that are written make more pairs than are compared one by one.
#[test]
fn overlaps_of_many_arguments() {
    let names: Vec<String> = (0..12).map(|number| format!("A{number:02}")).collect();
    let mut text = "sdfg many {\n  symbol N: i64\n  array R: i64[N]\n".to_owned();
    let mut state = "  state s {\n".to_owned();
    for name in &names {
        text.push_str(&format!("  array {name}: i64[N]\n"));
        state.push_str(&format!(
            "    access {name}\n    access R{name} = R\n    R{name} -> {name}: R[0:N] -> {name}[0:N]\n"
        ));
    }
    let program =
        sdfg::text::parse("many.sdft", &format!("{text}{state}  }}\n}}\n")).expect("it is a program");
    c_program(&sdfg::validate::validate(program).expect("it is valid"), "many_overlaps");
}

/// `B` is `A` backwards, then each element of `C` added up from `A` and `B`, then the first of `A` is read again after one of `C` was written.
const MOVING: &str = "\
sdfg moving {
  symbol N: i64
  array A: i64[N]
  array B: i64[N]
  array C: i64[N]
  scalar s: i64
  state copy {
    access A
    access B
    A -> B: A[0:N] -> B[N - 1:-1:-1]
  }
  state add {
    access A
    access B
    access C
    access s
    map all [i = 0:N] {
      tasklet add (a, b) -> (c, t) {
        c = a + 2 * b
        t = a
      }
      all.A -> add.a: A[i]
      all.B -> add.b: B[i]
      add.c -> all.C: C[i]
      add.t -> all.s: s wcr(sum)
    }
    A -> all.A
    B -> all.B
    all.C -> C
    all.s -> s
  }
  if some: N > 0 {
    state before {
      access A
      access C
      tasklet more (a) -> (c) { c = a + 1000 }
      A -> more.a: A[0]
      more.c -> C: C[0]
    }
    state after {
      access A
      access s
      tasklet again (a) -> (t) { t = a }
      A -> again.a: A[0]
      again.t -> s: s wcr(sum)
    }
  }
}
";

/// Arguments that may overlap share their common elements.
#[test]
fn arguments_that_may_overlap() {
    let program = sdfg::text::parse("moving.sdft", MOVING).expect("it is a program");
    let program = sdfg::validate::validate(program).expect("it is valid");
    let overlapping = ["A", "B", "C"].map(str::to_owned).to_vec();
    c_program_with(&program, "in_place", &LowerOptions { overlapping, ..options().lowering() });
}

/// Every form of the program offers the results of timers to C.
#[test]
fn timers() {
    let program = sdfg::text::parse("adding.sdft", ADDING).expect("it is a program");
    let program = sdfg::validate::validate(program).expect("it is valid");
    let instrumentation = Instrumentation { level: ProfileLevel::Tasklet, counters: false };
    let lowering = LowerOptions { instrumentation: Some(instrumentation), ..options().lowering() };
    c_program_with(&program, "profile", &lowering);
}
