//! Tests of maps of schedule `simd`: the generated instructions, and refusals.

use sdfg::ir::FloatMode;
use sdfg::validate::{Validated, validate};
use sdfg_codegen::llvm::{self, CompileOptions, Cpu, OptLevel};
use sdfg_codegen::lower::{Capability, LowerError, Refusal, Target, VectorRefusal, lower, refusals};
use sdfg_codegen::plan::{LevelKind, Plan};

fn read(source: &str) -> Validated {
    let program = sdfg::text::parse("program.sdft", source).unwrap_or_else(|errors| panic!("{errors:?}"));
    validate(program).unwrap_or_else(|rejected| panic!("{rejected}\n{source}"))
}

fn options() -> CompileOptions {
    CompileOptions { cpu: Cpu::named("x86-64-v3"), ..CompileOptions::default() }
}

fn try_plan(source: &str) -> Result<Plan, LowerError> {
    lower(&read(source), &options().target(), &options().lowering())
}

/// LLVM's text as it is written, before any of its passes.
fn written(source: &str) -> String {
    let plan = try_plan(source).unwrap_or_else(|error| panic!("{error}"));
    llvm::llvm_ir(&plan, &options(), false).unwrap_or_else(|error| panic!("{error}"))
}

/// A map of these iterations with one tasklet from `A` (read at `from`) to `B` (written at `to`), elements of type `ty`.
fn map(ty: &str, range: &str, code: &str, from: &str, to: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: {ty}[1000]
  array B: {ty}[1000]
  state s {{
    access A
    access B
    map m [i = {range}] schedule(simd) {{
      tasklet t (a) -> (b) {{
{code}
      }}
      m.A -> t.a: A[{from}]
      t.b -> m.B: B[{to}]
    }}
    A -> m.A
    m.B -> B
  }}
}}"
    )
}

/// Asserts that the text has each of the parts, in this order.
#[track_caller]
fn assert_has(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => panic!("`{part}` is not in\n{rest}"),
        }
    }
}

#[test]
fn as_many_iterations_as_lanes_are_one_instruction_each() {
    for width in [2, 3, 4, 8, 16, 64] {
        let text = written(&map("f64", &format!("0:{width}"), "b = a * a + 1.0", "i", "i + 5"));
        let vector = format!("<{width} x double>");
        // Memory is accessed by registers of 32 bytes.
        let register = format!("<{} x double>", width.min(4));
        assert_has(
            &text,
            &[
                &format!("load {register}, ptr"),
                &format!("fmul contract {vector}"),
                &format!("fadd contract {vector}"),
                &format!("store {register}"),
            ],
        );
        assert!(!text.contains("fmul contract double") && !text.contains("loop:"), "{text}");
    }
}

#[test]
fn many_iterations_are_vectors_and_a_rest() {
    let text = written(&map("f32", "0:N", "b = a + a", "i", "i"));
    // Four registers of 32 bytes.
    assert_has(
        &text,
        &["load <8 x float>", "fadd contract <32 x float>", "store <8 x float>", "fadd contract float"],
    );
    let whole = written(&map("f32", "0:160", "b = a + a", "i", "i"));
    assert!(
        whole.contains("fadd contract <32 x float>") && !whole.contains("fadd contract float"),
        "{whole}"
    );
}

/// Vectors that only copy stay vectors: calls take longer than some of them.
#[test]
fn copies_by_vectors_are_no_calls() {
    let text = written(&map("f64", "0:min(N, 24)", "b = a", "i", "i"));
    assert_has(&text, &["load <4 x double>", "\"no-builtin-memcpy\""]);
}

/// Left to itself, LLVM 19 stores the parts of a long vector in any order, which is slow beyond the nearest cache.
#[test]
fn long_vectors_go_to_memory_by_registers_in_order() {
    let text = written(&map("f64", "0:16", "b = a + 1.0", "i", "i"));
    let part = |number: u32| format!("i64 {number}\n");
    let parts: Vec<String> = [4, 8, 12].map(part).to_vec();
    let store = "store <4 x double>";
    assert_has(
        &text,
        &["fadd contract <16 x double>", store, &parts[0], store, &parts[1], store, &parts[2], store],
    );
    assert_eq!(text.matches(store).count(), 4, "{text}");
}

/// If an iteration follows each vector, loads of every other element include the elements between, and do not
/// overlap.
#[test]
fn every_other_element_is_loaded_ahead() {
    let unknown = map("f64", "0:N", "b = a", "2 * i", "i");
    let plan = try_plan(&unknown).unwrap().to_string();
    assert_has(&plan, &["vector 16 ", "leaves an iteration to the rest", "strided 2", "rest {"]);
    let text = written(&unknown);
    assert_eq!(text.matches("load <4 x double>").count(), 8, "{text}");
    let known = try_plan(&map("f64", "0:64", "b = a", "2 * i", "i")).unwrap().to_string();
    assert!(!known.contains("leaves"), "{known}");
    let next = try_plan(&map("f64", "0:N", "b = a", "i", "2 * i")).unwrap().to_string();
    assert!(!next.contains("leaves"), "{next}");
}

/// The plan says how wide functions of vectors are, whatever processor the code is made for.
#[test]
fn functions_of_vectors_have_the_width_of_the_plan() {
    let program = map("f64", "0:8", "b = sin(a)", "i", "i").replace("sdfg p {", "sdfg p float(fast) {");
    let narrow = CompileOptions { cpu: Cpu::named("x86-64-v2"), ..options() };
    let plan = lower(&read(&program), &narrow.target(), &narrow.lowering()).unwrap();
    let text = llvm::llvm_ir(&plan, &options(), false).unwrap();
    assert_eq!(text.matches("call fast <2 x double> @_ZGVbN2v_sin(").count(), 4, "{text}");
}

#[test]
fn branches_are_masks() {
    let one = map("f64", "0:8", "if a > 2.0:\n  b = a", "i", "i").replace("B[i]", "B[i] atmost(1)");
    assert_has(
        &written(&one),
        &[
            "fcmp ogt <8 x double>",
            "call void @llvm.masked.store.v4f64",
            "call void @llvm.masked.store.v4f64",
        ],
    );
    let both = map("f64", "0:8", "if a > 2.0:\n  b = a\nelse:\n  b = -a", "i", "i");
    let text = written(&both);
    assert_has(
        &text,
        &["fcmp ogt <8 x double>", "select <8 x i1>", "fneg <8 x double>", "store <4 x double>"],
    );
    assert!(!text.contains("llvm.masked.store"), "{text}");
}

/// Lanes that choose neighbours read a row with a mask. Any others gather.
#[test]
fn chosen_neighbours_are_read_with_a_mask() {
    let chosen = |index: &str| {
        let code = format!("b = a[{index}] if i < N else 0.0");
        written(&map("f64", "0:4", &code, "i", "i").replace("A[i]", "A[0:1000]"))
    };
    for index in ["i", "8 * N + i", "i - N + 3"] {
        let text = chosen(index);
        assert!(text.contains("call <4 x double> @llvm.masked.load.v4f64"), "{index}: {text}");
        assert!(!text.contains("gather"), "{index}: {text}");
    }
    for index in ["2 * i", "N * i", "N - i", "8 * N", "(i + 1) // 2", "i + i"] {
        let text = chosen(index);
        assert!(!text.contains("masked.load"), "{index}: {text}");
        assert!(text.contains("call <4 x double> @llvm.masked.gather.v4f64"), "{index}: {text}");
    }
}

#[test]
fn elements_are_found_by_the_way_of_each_access() {
    let reversed = written(&map("f64", "0:4", "b = a", "900 - i", "i"));
    assert_has(
        &reversed,
        &["load <4 x double>", "<4 x i32> <i32 3, i32 2, i32 1, i32 0>", "store <4 x double>"],
    );
    let every_other = written(&map("f64", "0:4", "b = a", "2 * i", "i"));
    assert_has(
        &every_other,
        &["load <4 x double>", "load <4 x double>", "<4 x i32> <i32 0, i32 2, i32 5, i32 7>"],
    );
    let far = written(&map("f64", "0:4", "b = a", "i", "100 * i"));
    assert_has(&far, &["load <4 x double>", "call void @llvm.masked.scatter.v4f64"]);
    let uniform = written(&map("f64", "0:4", "b = a", "7", "i"));
    assert_has(&uniform, &["load double", "shufflevector <4 x double>", "store <4 x double>"]);
    let number = written(&map("i64", "0:4", "b = a + i", "i", "i"));
    assert_has(&number, &["<i64 0, i64 1, i64 2, i64 3>", "add <4 x i64>"]);
    let gathered = map("f64", "0:4", "b = a[(i * i) % 7]", "i", "i").replace("A[i]", "A[0:7]");
    assert_has(&written(&gathered), &["call <4 x double> @llvm.masked.gather.v4f64"]);
    let complex = written(&map("complex128", "0:4", "b = a * a", "i", "i"));
    assert_has(
        &complex,
        &["load <4 x double>", "load <4 x double>", "fmul contract <4 x double>", "store <4 x double>"],
    );
}

#[test]
fn functions_are_instructions_or_calls_for_each_lane() {
    let root = written(&map("f64", "0:4", "b = sqrt(a)", "i", "i"));
    assert_has(&root, &["call contract <4 x double> @llvm.sqrt.v4f64"]);
    let sine = written(&map("f64", "0:4", "b = sin(a)", "i", "i"));
    assert_eq!(sine.matches("call contract double @sin(").count(), 4, "{sine}");
    // Functions of vectors are not exact to the last place.
    let fast = map("f64", "0:10", "b = sin(a)", "i", "i").replace("sdfg p {", "sdfg p float(fast) {");
    let fast = written(&fast);
    assert_eq!(fast.matches("<4 x double> @_ZGVdN4v_sin(").count(), 3, "two calls and a declaration\n{fast}");
    assert_eq!(fast.matches("call fast double @sin(").count(), 2, "{fast}");
}

/// Loops that all lanes count together have instructions for all lanes inside.
#[test]
fn loops_with_bounds_that_lanes_share_are_loops_of_vectors() {
    let code = "x = a\nfor k in range(2, N, 3):\n  if a > 0.0:\n    for l in range(k, -1, -2):\n      x = x * a + l\nb = x";
    let text = written(&map("f64", "0:8", code, "i", "i"));
    assert_has(&text, &["for:", "fmul contract <8 x double>", "select <8 x i1>"]);
    assert_has(&text, &["store <4 x double>"]);
    assert!(!text.contains("fmul contract double"), "{text}");
}

#[test]
fn conflicting_writes_are_folded_or_kept_in_order() {
    let sum = map("f64", "0:N", "b = a", "i", "0").replace("B[0]", "B[0] wcr(sum)");
    assert_has(
        &written(&sum),
        &["fadd reassoc contract <16 x double>", "fadd reassoc contract <8 x double>"],
    );
    let strict = written(&sum.replace("sdfg p {", "sdfg p float(strict) {"));
    assert!(!strict.contains("reassoc"), "{strict}");
    assert_eq!(strict.matches("fadd double").count(), 17, "16 lanes and the rest\n{strict}");
    // The mode that a user asks for decides, too, not only the program's own.
    let asked = CompileOptions { floats: Some(FloatMode::Strict), ..options() };
    let plan = lower(&read(&sum), &asked.target(), &asked.lowering()).unwrap();
    let asked = llvm::llvm_ir(&plan, &asked, false).unwrap();
    assert!(!asked.contains("reassoc"), "{asked}");
    assert_eq!(asked.matches("fadd double").count(), 17, "16 lanes and the rest\n{asked}");
    let least = sum.replace("sum", "min").replace("sdfg p {", "sdfg p float(strict) {");
    assert_has(&written(&least), &["@llvm.minimum.v16f64"]);
}

/// The plan's text tells what the instructions will be.
#[test]
fn plans_say_how_lanes_find_their_elements() {
    let plan = try_plan(&map("f64", "0:N", "b = a", "900 - i", "2 * i")).unwrap().to_string();
    assert_has(&plan, &["vector 16 ", "lanes t(", "reversed", "strided 2", "rest {", "compute t("]);
}

/// A program whose map `m` has this inside; `edges` connect its scope.
fn scope(range: &str, inside: &str, edges: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[1000]
  array B: f64[1000]
  array K: i64[1000]
  transient array T: f64[N]
  transient array U: f64[100]
  stream S: f64
  array Q: f64[1000, 1000]
  reference R: f64[N]
  state s {{
    access A
    access B
    map m [i = {range}] schedule(simd) {{
{inside}
    }}
{edges}
  }}
}}"
    )
}

#[track_caller]
fn refused(source: &str) -> VectorRefusal {
    match try_plan(source) {
        Err(LowerError::Refused(refused)) => match refused.as_slice() {
            [Refusal { lacks: Capability::Lanes(reason), path, .. }] => {
                assert_eq!(path.to_string(), "p/s/m");
                reason.clone()
            }
            others => panic!("{others:?}"),
        },
        Err(error) => panic!("{error}"),
        Ok(plan) => panic!("{plan}"),
    }
}

#[test]
fn code_that_lanes_cannot_run_is_refused() {
    let label = || "t".to_owned();
    let tasklet = |head: &str, code: &str| {
        scope(
            "0:N",
            &format!("tasklet t (a) -> (b){head} {{\n{code}\n}}\nm.A -> t.a: A[i]\nt.b -> m.B: B[i]"),
            "A -> m.A\nm.B -> B",
        )
    };
    let repeats = tasklet("", "x = a\nwhile x > 1.0:\n  x = x / 2.0\nb = x");
    assert_eq!(refused(&repeats), VectorRefusal::Loop { label: label() });
    let counts = tasklet(
        "",
        "n = 3\nif a > 0.0:\n  n = 4\nx = a\nfor k in range(3):\n  for l in range(k, n):\n    x = x + a\nb = x",
    );
    assert_eq!(refused(&counts), VectorRefusal::Loop { label: label() });
    let by_iteration = tasklet("", "x = a\nfor k in range(i):\n  x = x + a\nb = x");
    assert_eq!(refused(&by_iteration), VectorRefusal::Loop { label: label() });
    let inner = scope(
        "0:N",
        "map n [j = 0:2] {\ntasklet t (a) -> (b) { b = a }\nn.A -> t.a: A[i]\nt.b -> n.B: B[2 * i + j]\n}\nm.A -> n.A\nn.B -> m.B",
        "A -> m.A\nm.B -> B",
    );
    assert_eq!(refused(&inner), VectorRefusal::Node { noun: "map entry", label: "n".to_owned() });
    let pushes = scope(
        "0:N",
        "tasklet t (a) -> (s) { s = a }\nm.A -> t.a: A[i]\nt.s -> m.S: S",
        "A -> m.A\naccess S\nm.S -> S",
    );
    assert_eq!(refused(&pushes), VectorRefusal::Stream { container: "S".to_owned() });
}

#[test]
fn memory_that_lanes_do_not_have_is_refused() {
    let own = scope(
        "0:1000",
        "tasklet t (a) -> (x) { x[0] = a\nx[N - 1] = a }\naccess T\ntasklet u (x) -> (b) { b = x[0] }
m.A -> t.a: A[i]\nt.x -> T: T[0:N]\nT -> u.x: T[0:N]\nu.b -> m.B: B[i]",
        "A -> m.A\nm.B -> B",
    );
    assert_eq!(refused(&own), VectorRefusal::Memory { container: "T".to_owned() });
    let copy = scope(
        "0:N",
        "tasklet t (a) -> (u) { u[0] = a }\naccess U\nm.A -> t.a: A[i]\nt.u -> U: U[0:100]
U -> m.Q: U[0:100] -> Q[i, 0:100]",
        "A -> m.A\naccess Q\nm.Q -> Q",
    );
    assert!(matches!(refused(&copy), VectorRefusal::Copy { .. }));
}

/// Reads at `from` and writes at `to` of one array.
fn in_place(range: &str, from: &str, to: &str) -> String {
    scope(
        range,
        &format!("tasklet t (a) -> (b) {{ b = a }}\nm.A -> t.a: A[{from}]\nt.b -> m.A2: A[{to}]"),
        "A -> m.A\naccess A2 = A\nm.A2 -> A2",
    )
}

#[test]
fn iterations_that_meet_are_refused_and_others_are_not() {
    let overlap = || VectorRefusal::Overlap { container: "A".to_owned() };
    assert_eq!(refused(&in_place("0:N", "i", "i + 1")), overlap());
    assert_eq!(refused(&in_place("0:N:2", "i", "i + 4")), overlap());
    assert_eq!(refused(&in_place("0:N", "N - i", "i")), overlap());
    // Steps whose sign is not known.
    assert_eq!(refused(&in_place("0:100:N", "i", "i + 1")), overlap());
    assert_eq!(refused(&in_place("0:100:N", "i", "N * i")), overlap());
    assert_eq!(refused(&in_place("0:100:N", "2 * i", "i")), overlap());
    for (range, from, to) in [
        ("0:N", "i", "i"),
        ("0:N:2", "i", "i + 1"),
        ("0:N", "2 * i", "2 * i + 1"),
        ("0:100", "i", "i + 100"),
        ("99:-1:-1", "i + 100", "i"),
        ("0:100:N", "i", "i"),
        ("0:100:N", "100 - i", "100 - i"),
    ] {
        let plan = try_plan(&in_place(range, from, to)).unwrap_or_else(|error| panic!("{error}"));
        assert!(plan.to_string().contains("lanes t("), "{plan}");
    }
    // Two statements to elements that data choose would not be in the order of iterations; one is.
    let chosen = |code: &str| {
        scope(
            "0:N",
            &format!(
                "tasklet t (k) -> (b) {{\n{code}\n}}\nm.K -> t.k: K[i]\nt.b -> m.B: B[0:1000] atmost(2)"
            ),
            "access K\nK -> m.K\nm.B -> B",
        )
    };
    assert!(try_plan(&chosen("b[k % 1000] = 1.0")).is_ok());
    assert_eq!(
        refused(&chosen("b[k % 1000] = 1.0\nb[(k + 1) % 1000] = 2.0")),
        VectorRefusal::Overlap { container: "B".to_owned() }
    );
}

/// Checked code runs one iteration after the other, and refuses what unchecked code refuses.
#[test]
fn checked_code_has_no_lanes() {
    let options = CompileOptions { checked: true, ..options() };
    let plan = |source: &str| lower(&read(source), &options.target(), &options.lowering());
    let text = plan(&map("f64", "0:N", "b = a", "i", "i")).unwrap().to_string();
    assert!(!text.contains("vector ") && text.contains("for i"), "{text}");
    assert!(matches!(plan(&in_place("0:N", "i", "i + 1")), Err(LowerError::Refused(_))));
}

/// Every map that lanes cannot run is told at once, also what only lowering finds out, and a target without vectors has another reason.
#[test]
fn all_maps_that_lanes_cannot_run_are_told_at_once() {
    let program = in_place("0:N", "i", "i + 1")
        .replace("\n  state s {", "\n  state r { access A; access B; A -> B }\n  state s {");
    let second = program.rsplit_once("\n  state s {").map(|(_, state)| state).expect("it has a state");
    let two = format!("{}\n  state t {{{second}", program.trim_end().trim_end_matches('}').trim_end());
    let told = |target: &Target| -> Vec<String> {
        let refused = refusals(&read(&two), target);
        refused.iter().map(|refusal| format!("{} {}", refusal.lacks.code(), refusal.path)).collect()
    };
    assert_eq!(told(&Target::cpu()), ["T003 p/s/m", "T003 p/t/m"]);
    let mut without = Target::cpu();
    without.levels.remove(&LevelKind::Vector);
    assert_eq!(told(&without), ["T001 p/s/m", "T001 p/t/m"]);
}

/// A map over `i` in a program with strict arithmetic: from `A`, and from a tasklet to `B` and several times to `total`.
fn combining(ty: &str, code: &str, to: &str, totals: &[&str]) -> String {
    let names = ["c", "d"];
    let outputs: String = names.iter().take(totals.len()).map(|name| format!(", {name}")).collect();
    let values: String = names.iter().take(totals.len()).map(|name| format!("\n{name} = a")).collect();
    let edges: String =
        names.iter().zip(totals).map(|(name, to)| format!("t.{name} -> m.total: total{to}\n")).collect();
    format!(
        "sdfg p float(strict) {{
  symbol N: i64
  array A: {ty}[N]
  array B: {ty}[N]
  array total: {ty}[2]
  state s {{
    access A
    access B
    access total
    map m [i = 0:N - 1] {{
      tasklet t (a) -> (b{outputs}) {{
{code}{values}
      }}
      m.A -> t.a: A[i]
      t.b -> m.B: B[{to}]
      {edges}
    }}
    A -> m.A
    m.B -> B
    m.total -> total
  }}
}}"
    )
}

/// `Vectorization` takes maps whose lanes can keep the promise of `simd`, and no others: lowering agrees in both directions.
#[test]
fn vectorization_takes_what_lowering_can_run_on_lanes() {
    let plain = |code: &str, to: &str| combining("f64", code, to, &["[0] wcr(sum)"]);
    let sums = |ty: &str, totals: &[&str]| combining(ty, "b = a", "i", totals);
    let cases = [
        ("an element each", true, plain("b = 2 * a", "i + 1")),
        ("backwards", true, plain("b = 2 * a", "N - 1 - i")),
        ("one element for all", false, plain("b = 2 * a", "0")),
        ("elements that come again", true, plain("b = 2 * a", "i % 2")),
        ("a loop of data", false, plain("x = a\nwhile x > 1.0:\n  x = x / 2.0\nb = x", "i")),
        ("a loop of a constant", true, plain("x = a\nfor k in range(3):\n  x = x + a\nb = x", "i")),
        ("a loop up to the lane", false, plain("x = a\nfor k in range(i):\n  x = x + a\nb = x", "i")),
        ("two sums of floats in one element", false, sums("f64", &["[0] wcr(sum)", "[0] wcr(sum)"])),
        ("sums of floats in two elements", false, sums("f64", &["[0] wcr(sum)", "[1] wcr(sum)"])),
        ("two sums of integers in one element", true, sums("i64", &["[0] wcr(sum)", "[0] wcr(sum)"])),
        ("two minima in one element", true, sums("f64", &["[0] wcr(min)", "[0] wcr(min)"])),
        ("a sum and a minimum in one element", false, sums("i64", &["[0] wcr(sum)", "[0] wcr(min)"])),
        ("last values in one element", false, sums("i64", &["[0] wcr(replace)", "[0] wcr(replace)"])),
        (
            "a last value and another element",
            false,
            sums("i64", &["[0] wcr(replace)", "[i % 2] wcr(replace)"]),
        ),
    ];
    let stream = "sdfg p {
  symbol N: i64
  array A: f64[N]
  transient stream S: f64
  array B: f64[N]
  state s {
    access A
    access S
    access B
    map m [i = 0:N - 1] {
      tasklet t (a) -> (b) { b = a }
      m.A -> t.a: A[i]
      t.b -> m.S: S
    }
    A -> m.A
    m.S -> S
    S -> B: S -> B[0:N - 1]
  }
}";
    let cases = cases.into_iter().chain([("a stream", false, stream.to_owned())]);
    let take = sdfg_transforms::rewrites::Vectorization::default();
    for (name, is_taken, source) in cases {
        let program = read(&source);
        let found = sdfg_transforms::places(program.sdfg(), &take).remove(0);
        let applied = sdfg_transforms::apply(&mut program.sdfg().clone(), &take, &found);
        assert_eq!(applied.is_ok(), is_taken, "{name}: {applied:?}\n{source}");
        let lowered = try_plan(&source.replace("[i = 0:N - 1]", "[i = 0:N - 1] schedule(simd)"));
        assert_eq!(lowered.is_ok(), is_taken, "{name}: {lowered:?}\n{source}");
    }
}

/// A tile on the stack to which lanes add, in a map of threads or beside it; `width` lanes.
fn tile(width: u32) -> String {
    format!(
        "sdfg p {{
  symbol K: i64
  array A: f64[K, {width}]
  array B: f64[K, {width}]
  array C: f64[64, {width}]
  transient array sums: f64[{width}]

  state s {{
    access A
    access C
    map tiles [t = 0:64] {{
      map zero [j = 0:{width}] schedule(simd) {{
        tasklet z () -> (y) {{ y = 0 }}
        z.y -> zero.sums: sums[j]
        order zero -> z
      }}
      access begin = sums
      map depth [k = 0:K] schedule(sequential) {{
        map lanes [j = 0:{width}] schedule(simd) {{
          tasklet add (a) -> (s) {{ s = a }}
          lanes.A -> add.a: A[k, j]
          add.s -> lanes.sums: sums[j] wcr(sum)
        }}
        depth.A -> lanes.A
        lanes.sums -> depth.sums
      }}
      access end = sums
      order tiles -> zero
      zero.sums -> begin
      order begin -> depth
      tiles.A -> depth.A
      depth.sums -> end
      end -> tiles.C: sums[0:{width}] -> C[t, 0:{width}]
    }}
    A -> tiles.A
    tiles.C -> C
  }}
  -> twice

  state twice {{
    access A
    access B
    map all [k = 0:K] {{
      map row [j = 0:{width}] schedule(simd) {{
        tasklet t (a) -> (b) {{ b = 2 * a }}
        row.A -> t.a: A[k, j]
        t.b -> row.B: B[k, j]
      }}
      all.A -> row.A
      row.B -> all.B
    }}
    A -> all.A
    all.B -> B
  }}
}}"
    )
}

/// Threads that add to a tile have the widest registers, and no others do. Tiles that do not fill them change nothing.
#[test]
fn tiles_of_sums_are_in_the_widest_registers() {
    let plan = |cpu: &str, width: u32| {
        let options = CompileOptions { cpu: Cpu::named(cpu), ..CompileOptions::default() };
        let plan = lower(&read(&tile(width)), &options.target(), &options.lowering());
        (plan.unwrap_or_else(|error| panic!("{error}")), options)
    };
    let registers = |cpu: &str, width: u32| {
        let text = plan(cpu, width).0.to_string();
        let lines = text.lines().filter_map(|line| line.trim().strip_prefix("registers of "));
        lines.map(str::to_owned).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(registers("x86-64-v4", 16), "64 bytes, 64 bytes, 32 bytes");
    assert_eq!(registers("x86-64-v4", 12), "32 bytes, 32 bytes, 32 bytes");
    assert_eq!(registers("x86-64-v3", 16), "32 bytes, 32 bytes, 32 bytes");
    let (plan, options) = plan("x86-64-v4", 16);
    let code = llvm::assembly(&plan, &options).unwrap_or_else(|error| panic!("{error}"));
    assert!(code.lines().any(|line| line.contains("vaddpd") && line.contains("zmm")), "{code}");
}

/// Beside tiles, iterations that fill no vector are one with a mask, where the processor has masks.
#[test]
fn rests_beside_tiles_have_a_mask() {
    let code = |cpu: &str| {
        let whole = "end -> tiles.C: sums[0:16] -> C[t, 0:16]";
        let part = "map out [j = 0:min(8, K)] schedule(simd) {
          tasklet o (a) -> (b) { b = a }
          out.sums -> o.a: sums[j]
          o.b -> out.C: C[t, j]
        }
        end -> out.sums
        out.C -> tiles.C";
        let text = tile(16).replace(whole, part);
        assert_ne!(text, tile(16));
        let options = CompileOptions { cpu: Cpu::named(cpu), ..CompileOptions::default() };
        let plan = lower(&read(&text), &options.target(), &options.lowering());
        let plan = plan.unwrap_or_else(|error| panic!("{error}"));
        llvm::llvm_ir(&plan, &options, false).unwrap_or_else(|error| panic!("{error}"))
    };
    assert!(code("x86-64-v4").contains("@llvm.masked.store.v8f64"));
    assert!(!code("x86-64-v3").contains("masked"));
}

/// Loops that fill their vectors have no mask, also where the bounds are symbols.
#[test]
fn whole_vectors_have_no_mask() {
    let text =
        tile(16).replace("[j = 0:16]", "[j = 16 * t:16 * t + 16]").replace("[k, j]", "[k, j - 16 * t]");
    let text = text
        .replace("sums[j]", "sums[j - 16 * t]")
        .replace("map row [j = 16 * t:16 * t + 16]", "map row [j = 0:16]");
    let text = text.replacen("B[k, j - 16 * t]", "B[k, j]", 1).replacen(
        "row.A -> t.a: A[k, j - 16 * t]",
        "row.A -> t.a: A[k, j]",
        1,
    );
    let options = CompileOptions { cpu: Cpu::named("x86-64-v4"), ..CompileOptions::default() };
    let plan = lower(&read(&text), &options.target(), &options.lowering());
    let plan = plan.unwrap_or_else(|error| panic!("{error}"));
    assert!(plan.to_string().contains("j = 16*t:16*t + 16"), "{plan}");
    let code = llvm::llvm_ir(&plan, &options, false).unwrap_or_else(|error| panic!("{error}"));
    assert!(!code.contains("masked"), "{code}");
}

/// Vectors of a loop whose number of iterations has a small maximum: whole registers that divide it, or else as many lanes as fit.
#[test]
fn vectors_divide_a_known_maximum() {
    let width = |ty: &str, most: u32| {
        let text = map(ty, &format!("0:min(N, {most})"), "b = a", "i", "i");
        let plan = try_plan(&text).unwrap_or_else(|error| panic!("{error}")).to_string();
        let vector = plan.lines().find_map(|line| line.trim().strip_prefix("vector "));
        vector.and_then(|rest| rest.split(' ').next()).map(str::to_owned).unwrap_or(plan)
    };
    // Registers of 32 bytes, of which a vector has up to four.
    let cases = [("f64", 24, "12"), ("f64", 20, "4"), ("f64", 17, "16"), ("f64", 13, "8"), ("f64", 3, "2")];
    for (ty, most, expected) in cases.into_iter().chain([("f32", 48, "24"), ("f32", 1000, "32")]) {
        assert_eq!(width(ty, most), expected, "{ty}, at most {most}");
    }
}

/// The quick level writes out the iterations of unrolled maps, because its pass list has no unrolling. The others leave it to LLVM.
#[test]
fn unrolled_maps_are_written_out_at_the_quick_level() {
    let text = map("f64", "0:4", "b = a + a", "i", "i").replace("schedule(simd)", "schedule(unrolled)");
    let additions = |level: OptLevel| {
        let plan = try_plan(&text).unwrap_or_else(|error| panic!("{error}"));
        let options = CompileOptions { level, ..options() };
        let code = llvm::llvm_ir(&plan, &options, false).unwrap_or_else(|error| panic!("{error}"));
        code.matches("fadd contract double").count()
    };
    assert_eq!(additions(OptLevel::Quick), 4);
    assert_eq!(additions(OptLevel::O3), 1);
}
