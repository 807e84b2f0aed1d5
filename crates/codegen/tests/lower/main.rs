//! Tests of lowering decisions in printed plans: shared loops, accumulators, atomics and allocations.

mod kernels;
mod streams;

use sdfg::diagnostic::pages::Example;
use sdfg::validate::validate;
use sdfg_codegen::lower::{LowerError, LowerOptions, Target, lower};
use sdfg_codegen::plan::{LevelKind, Space, Start, Statement};

fn try_plan(source: &str) -> Result<String, LowerError> {
    let program = sdfg::text::parse("program.sdft", source).unwrap_or_else(|errors| panic!("{errors:?}"));
    let validated = validate(program).unwrap_or_else(|rejected| panic!("{rejected}"));
    lower(&validated, &Target::cpu(), &LowerOptions::default()).map(|plan| plan.to_string())
}

fn plan(source: &str) -> String {
    try_plan(source).unwrap_or_else(|error| panic!("{error}"))
}

fn program(name: &str) -> String {
    let path = format!("{}/../../programs/{name}.sdft", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// One state with one map that accumulates `A[k, i]` with the given ranges, target and schedule.
fn accumulation(ranges: &str, target: &str) -> String {
    let container = target.split('[').next().unwrap_or(target);
    format!(
        "sdfg p {{
  symbol N: i64
  symbol K: i64
  array A: f64[K, N]
  array v: f64[N]
  array one: f64[1]
  array field: f64[N, K]
  state s {{
    access A
    access out = {container}
    map m [{ranges}] {{
      tasklet t (a) -> (o) {{ o = a }}
      m.A -> t.a: A[k, i]
      t.o -> m.out: {target} wcr(sum)
    }}
    A -> m.A
    m.out -> out
  }}
}}"
    )
}

#[test]
fn a_dimension_without_conflicts_is_shared_although_it_is_the_inner_one() {
    let text = plan(&accumulation("k = 0:K, i = 0:N", "v[i]"));
    // The order of the loops stays that of the program.
    assert!(text.contains("team m i = 0:N:1 in k = 0:K:1"), "{text}");
    assert!(!text.contains("atomic") && !text.contains("private") && !text.contains("v_sum"), "{text}");
    let text = plan(&accumulation("i = 0:N, k = 0:K", "v[i]"));
    assert!(text.contains("team m i = 0:N:1 static"), "{text}");
    assert!(text.contains("for k = 0:K:1"), "{text}");
    // The sum over k is kept in a register.
    assert!(text.contains("v_sum[0] sum"), "{text}");
}

#[test]
fn small_targets_get_an_accumulator_for_each_thread() {
    let text = plan(&accumulation("k = 0:K, i = 0:N", "one[0]"));
    assert!(text.contains("private one_private sum into one[0](1 by 1)"), "{text}");
    assert!(!text.contains("atomic"), "{text}");
    let text = plan(&program("histogram"));
    assert!(text.contains("private bins_private sum into bins[0](256 by 1)"), "{text}");
    assert!(!text.contains("atomic"), "{text}");
    // Neighbours may pick the same element: they get different copies.
    assert!(text.contains("buffer bins_private: i64[2112]") && text.contains("copies copy"), "{text}");
}

#[test]
fn large_targets_that_move_with_no_shared_loop_are_atomic() {
    let text = plan(&accumulation("k = 0:K, i = 0:N", "field[(i + k) % N, 0]"));
    assert!(text.contains("atomic"), "{text}");
}

#[test]
fn loops_are_independent_only_where_it_is_proved() {
    let text = plan(&program("jacobi2d"));
    assert!(text.contains("for j = 1:N - 1:1 independent"), "{text}");
    // Both rows of A are in one array: which one is read and which written is not seen.
    let text = plan(&program("laplace"));
    assert!(!text.contains("independent"), "{text}");
}

#[test]
fn transients_leave_loops_and_parallel_regions() {
    let scoped = |shape: &str| {
        format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N, N]
  transient array row: f64[{shape}]
  state s {{
    access src = A
    access dst = A
    map m [i = 0:N] {{
      access row
      m.A -> row: A[i, 0:{shape}] -> row[0:{shape}]
      row -> m.A: row[0:{shape}] -> A[i, 0:{shape}]
    }}
    src -> m.A
    m.A -> dst
  }}
}}"
        )
    };
    assert!(plan(&scoped("4")).contains("buffer row: f64[4] in stack"));
    let text = plan(&scoped("N"));
    assert!(text.contains("buffer row: f64[N] in thread") && text.contains("local row"), "{text}");
    // The size depends on the loop that threads share.
    let text = plan(&scoped("i + 1").replace("A: f64[N, N]", "A: f64[N, N + 1]"));
    assert!(text.contains("allocate row") && text.contains("free row"), "{text}");
    let text = plan(&program("mandelbrot"));
    assert!(text.contains("buffer re: f64[1] in stack"), "{text}");
}

#[test]
fn a_guard_keeps_empty_ranges_from_touching_memory() {
    let text = plan(&program("spmv"));
    let (guard, set) = (text.find("if <a < b; a = first, b = last>"), text.find("compute identity"));
    assert!(guard.is_some() && guard < set, "{text}");
}

#[test]
fn work_that_depends_on_data_is_estimated() {
    let work_by = |source: &str, options: LowerOptions| {
        let program = sdfg::text::parse("program.sdft", source).unwrap_or_else(|errors| panic!("{errors:?}"));
        let validated = validate(program).unwrap_or_else(|rejected| panic!("{rejected}"));
        let plan = lower(&validated, &Target::cpu(), &options).unwrap_or_else(|error| panic!("{error}"));
        let found = plan.body.into_iter().rev().find_map(|statement| match statement {
            Statement::Loop(shared) => shared.team().map(|team| match &team.start {
                Start::Worth(work) => Some(work.to_string()),
                Start::Always | Start::Never => None,
            }),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("no shared loop in {source}"))
    };
    let work = |source: &str| work_by(source, LowerOptions::default());
    assert_eq!(work(&accumulation("i = 0:N, k = 0:K", "v[i]")).as_deref(), Some("K*N + 3*N"));
    assert_eq!(work(&accumulation("i = 0:N, k = 0:i", "v[i]")).as_deref(), Some("N*max(0, N - 1) + 3*N"));
    let rows = work(&program("spmv")).unwrap_or_default();
    assert!(rows.ends_with("*H") && rows.len() > 3, "{rows}");
    // Who knows the data says how long its rows are.
    let rows_of = |data_dependent_steps| {
        let options = LowerOptions { data_dependent_steps, ..LowerOptions::default() };
        work_by(&program("spmv"), options).unwrap_or_default()
    };
    assert_eq!(rows_of(LowerOptions::DATA_DEPENDENT_STEPS), rows);
    assert_ne!(rows_of(10), rows_of(20));
    assert_eq!(work(&program("mandelbrot")), None);
}

#[test]
fn what_native_code_does_not_support_is_refused_with_its_place() {
    let storage = "sdfg p {
  array A: f64[4]
  transient array v: f64[4] storage(gpu_global)
  state s { access A; access v; A -> v }
}";
    let refused = try_plan(storage);
    let message = refused.unwrap_err().to_string();
    assert_eq!(
        message,
        "p/container v: `v` in storage `gpu_global` is not supported in native code: a cpu has no memory `device` (T002); \
         `sdfg run --target cuda` and `--target opencl` run it on a device, `sdfg compile --emit cuda` prints CUDA source, and `sdfg interpret` runs it"
    );
    let refused = try_plan(&program("matmul"));
    assert!(
        matches!(&refused, Err(LowerError::Unexpanded { path, .. }) if path == "matmul/multiply/total"),
        "{refused:?}"
    );
    let message = refused.map(|_| ()).unwrap_err().to_string();
    assert!(message.contains("call `sdfg_library::expand` before compiling"), "{message}");
}

/// All missing capabilities are reported before lowering, including those of nested SDFGs.
#[test]
fn what_the_target_lacks_is_refused_at_once() {
    let source = "sdfg p {
  array A: f64[4]
  state s {
    access A
    access out = A
    nested call (x) -> (x) sdfg inner {
      array x: f64[4]
      transient array t: f64[4] storage(gpu_global)
      state step {
        access x
        access t
        access u = t
        access y = x
        map g [i = 0:4] schedule(gpu_grid) {
          tasklet k (a) -> (b) { b = a }
          g.t -> k.a: t[i]
          k.b -> g.u: t[i]
        }
        x -> t
        t -> g.t
        g.u -> u
        u -> y
      }
    }
    A -> call.x
    call.x -> out
  }
}";
    let program = sdfg::text::parse("program.sdft", source).unwrap_or_else(|errors| panic!("{errors:?}"));
    let validated = validate(program).unwrap_or_else(|rejected| panic!("{rejected}"));
    let lacks = |target: &Target| match lower(&validated, target, &LowerOptions::default()) {
        Err(LowerError::Refused(refused)) => {
            let told = refused.iter().map(|refusal| (refusal.lacks.code(), refusal.path.to_string()));
            told.collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    let (memory, schedule) = ("p/s/call/container t".to_owned(), "p/s/call/step/g".to_owned());
    assert_eq!(lacks(&Target::cpu()), [("T002", memory), ("T001", schedule.clone())]);
    let mut with_memory = Target::cpu();
    with_memory.spaces.insert(Space::DeviceGlobal);
    assert_eq!(lacks(&with_memory), [("T001", schedule)]);
    let with_both = Target {
        levels: with_memory.levels.iter().copied().chain([LevelKind::Grid]).collect(),
        ..with_memory
    };
    assert_eq!(sdfg_codegen::lower::refusals(&validated, &with_both), []);
}

/// Each page of a code has a program that is refused with it, and one that is not refused.
#[test]
fn the_pages_of_refusals_show_them() {
    let codes = |source: &str| {
        let program = sdfg::text::parse("program.sdft", source).unwrap_or_else(|errors| panic!("{errors:?}"));
        let validated = validate(program).unwrap_or_else(|rejected| panic!("{rejected}"));
        let refused = sdfg_codegen::lower::refusals(&validated, &Target::cpu());
        let plan = lower(&validated, &Target::cpu(), &LowerOptions::default());
        let is_lowered = plan.is_ok_and(|plan| plan.interface().is_ok());
        assert_eq!(refused.is_empty(), is_lowered, "{source}");
        refused.iter().map(|refusal| refusal.lacks.code()).collect::<Vec<_>>()
    };
    for page in sdfg_codegen::lower::PAGES {
        let Some(Example::Programs { bad, good }) = page.example else { panic!("{page}") };
        assert_eq!(codes(bad), [page.name], "{bad}");
        assert_eq!(codes(good), [""; 0], "{good}");
        // A name hinders no lowering, only the interface.
        let is_file_test = bad.contains(&format!("#! test lower -> refused {}\n", page.name));
        assert!(is_file_test || page.name == "T005", "{bad}");
    }
}

/// A program whose reference `R` names `A`, with a map in which something happens to both.
fn beside_a_reference(set: &str, body: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: i64[N]
  array B: i64[N]
  reference R: i64[N]
  state set {{ access A; access R; bind A -> R: {set} }}
  state s {{ access B; {body} }}
}}"
    )
}

#[test]
fn sums_into_an_array_and_by_a_reference_to_it_are_atomic() {
    let both = "access A; access R
    map m [i = 0:N] {
      tasklet t (x) -> (y, z) { y = x; z = 1 }
      m.B -> t.x: B[i]
      t.y -> m.A: A[i % 4] wcr(sum)
      t.z -> m.R: R[i % 4] wcr(sum)
    }
    B -> m.B
    m.A -> A
    m.R -> R";
    let text = plan(&beside_a_reference("A[0:N]", both));
    assert!(text.contains("reference to A"), "{text}");
    assert_eq!(text.matches("sum atomic").count(), 2, "{text}");
    assert!(!text.contains("private") && !text.contains("independent"), "{text}");
    // A reference of an iteration may name what all of them share.
    let inside = "access A
    map m [i = 0:N] { access R; bind m.A -> R: A[0:N]; tasklet t (x) -> (y) { y = x }; m.B -> t.x: B[i]; t.y -> R: R[i % 4] wcr(sum)
      access after = R; t.y -> after: R[0] wcr(sum); order after -> m }
    A -> m.A; B -> m.B";
    let text = plan(
        &beside_a_reference("A[0:N]", inside)
            .replace("  state set { access A; access R; bind A -> R: A[0:N] }\n", ""),
    );
    assert_eq!(text.matches("sum atomic").count(), 2, "{text}");
    assert!(!text.contains("private"), "{text}");
    // Where only the array is summed into, the reference is not in the way.
    let one = "access A
    map m [i = 0:N] { tasklet t (x) -> (y) { y = x }; m.B -> t.x: B[i]; t.y -> m.A: A[i % 4] wcr(sum) }
    B -> m.B
    m.A -> A";
    let text = plan(&beside_a_reference("A[0:N]", one));
    assert!(text.contains("private A_private sum") && !text.contains("atomic"), "{text}");
}

#[test]
fn a_reference_has_variables_for_what_changes_only() {
    let copy = "access R; R -> B";
    let text = plan(&beside_a_reference("A[0:N]", copy));
    assert!(
        text.contains("let R_begin") && !text.contains("R_stride") && !text.contains("R_extent"),
        "{text}"
    );
    let text = plan(&beside_a_reference("A[N - 1:-1:-1]", copy));
    assert!(text.contains("let R_stride = -1") && !text.contains("R_extent"), "{text}");
    // What is only read is independent, by whatever name.
    let reads = "access R; access A; map m [i = 0:N] { tasklet t (x, y) -> (z) { z = x + y }
      m.R -> t.x: R[i]; m.A -> t.y: A[i]; t.z -> m.B: B[i] }
    R -> m.R; A -> m.A; m.B -> B";
    let text = plan(&beside_a_reference("A[0:N]", reads));
    assert!(text.contains("team m i = 0:N:1 static independent"), "{text}");
}

#[test]
fn iterations_that_set_a_reference_for_others_are_run_by_one_thread() {
    let used_outside = "sdfg p {
  symbol N: i64
  array A: i64[N]
  array B: i64[N]
  reference R: i64[1]
  state s { access A; access B
    map m [i = 0:N] {
      access R
      bind m.A -> R: A[i]
      tasklet t (x) -> (y) { y = x }
      R -> t.x: R[0]
      t.y -> m.B: B[i]
    }
    A -> m.A
    m.B -> B }
  OTHER
}";
    let text = plan(&used_outside.replace("OTHER", ""));
    assert!(text.contains("team m i = 0:N:1 static independent"), "{text}");
    let other = "state t { access R; access B; R -> B: R[0:1] -> B[0:1] }";
    let text = plan(&used_outside.replace("OTHER", other));
    assert!(!text.contains("team m") && text.contains("for i = 0:N:1"), "{text}");
}

#[test]
fn references_are_in_memory_where_waiting_nodes_set_them_for_others() {
    let waiting = "sdfg p {
  array A: i64[4]
  array B: i64[4]
  transient stream S: i64 capacity(1)
  reference R: i64[1]
  state s { access A; access R; access S; access B
    bind A -> R: A[1]
    map push [i = 0:4] schedule(sequential) { tasklet a () -> (y) { y = i }; a.y -> push.S: S }
    push.S -> S
    access T = S
    map pop [i = 0:4] schedule(sequential) { tasklet b (x) -> (y) { y = x }; pop.S -> b.x: S; b.y -> pop.B: B[i] }
    T -> pop.S
    pop.B -> B }
  state t { access R; access B; R -> B: R[0:1] -> B[0:1] }
}";
    let text = plan(waiting);
    assert!(text.contains("      point R to A\n      keep R in R_kept\n"), "{text}");
    assert!(text.contains("  recall R from R_kept\n  # state t\n"), "{text}");
    // Those that they only use are variables.
    let set_before = waiting
        .replace("    bind A -> R: A[1]\n", "")
        .replace("  state s {", "  state first { access A; access R; bind A -> R: A[1] }\n  state s {");
    let text = plan(&set_before);
    assert!(text.contains("tasks {") && !text.contains("keep") && !text.contains("recall"), "{text}");
    // The condition of a consume scope takes it again before each test.
    let with_condition = waiting.replace(
        "    push.S -> S\n",
        "    push.S -> S
    access C = S
    access D
    consume c [p = 0:1] condition(R[0] > 0) { tasklet d (x) -> (y) { y = x }; c.stream -> d.x: S; d.y -> c.D: D wcr(sum) }
    C -> c.stream
    c.D -> D
",
    );
    let with_condition =
        with_condition.replace("  array B: i64[4]\n", "  array B: i64[4]\n  scalar D: i64\n");
    let text = plan(&with_condition);
    assert!(text.contains(" until ") && text.contains(" recall R from R_kept scope c_scope[0] {"), "{text}");
}

#[test]
fn functions_of_their_own_are_given_what_they_use() {
    let text = plan(&accumulation("k = 0:K, i = 0:N", "field[(i + k) % N, 0]"));
    let given: Vec<&str> = text.lines().map(str::trim).filter(|line| line.starts_with("given")).collect();
    // The body of the program is run by one thread, the loop by several, which combine into one array.
    assert_eq!(given, ["given N, K, &A, &field", "given K, N, &A, &field contested"], "{text}");
    // Accumulators are a thread's own; where they are merged, others do so, too.
    let text = plan(&accumulation("k = 0:K, i = 0:N", "one[0]"));
    assert!(text.contains("    given K, N, &A, &one contested"), "{text}");
    // What has another name changes by that, too.
    let by_reference = "access A
    map m [i = 0:N] { tasklet t (x) -> (y) { y = x }; m.B -> t.x: B[i]; t.y -> m.A: A[i] }
    B -> m.B
    m.A -> A";
    let text = plan(&beside_a_reference("A[0:N]", by_reference));
    assert!(text.contains("given N, &A, &B"), "{text}");
    let both = by_reference.replace("access A", "access A; access R; R -> m.R").replace("(x)", "(x, r)");
    let both = both.replace("m.B -> t.x", "m.R -> t.r: R[i]; m.B -> t.x");
    let text = plan(&beside_a_reference("A[0:N]", &both));
    assert!(text.contains("&A contested, &B, &R contested"), "{text}");
}

/// A recurrence from `A` into `target`, as a map that one thread runs.
fn recurrence(label: &str, source: &str, target: &str) -> String {
    format!(
        "    map {label} [i = 1:N] schedule(sequential) {{
      tasklet {label}_body (a, b) -> (o) {{ o = a + b }}
      {label}.A -> {label}_body.a: {source}[i]
      {label}.B -> {label}_body.b: {source}[i - 1]
      {label}_body.o -> {label}.o: {target}
    }}
    {source} -> {label}.A
    {source} -> {label}.B
"
    )
}

#[test]
fn components_with_enough_to_do_are_run_side_by_side() {
    let program = |first: &str, second: &str, declared: &str| {
        let containers = "symbol N: i64
  array A: f64[N]
  array B: f64[N]
  array C: f64[N]
  array one: f64[1]";
        format!("sdfg p {{\n  {containers}\n{declared}  state s {{\n    access A\n{first}{second}  }}\n}}")
    };
    let to = |label: &str, target: &str| {
        let name = target.split('[').next().unwrap_or(target);
        let order = recurrence(label, "A", target);
        format!("{order}    access {name}_{label} = {name}\n    {label}.o -> {name}_{label}\n")
    };
    let side_by_side = |text: &str| text.contains("team s_components");
    let apart = plan(&program(&to("m", "B[i]"), &to("n", "C[i]"), ""));
    assert!(side_by_side(&apart), "{apart}");
    // Both combine into one element.
    let sums = [to("m", "one[0]"), to("n", "one[0]")].map(|map| map.replace("one[0]", "one[0] wcr(sum)"));
    let text = plan(&program(&sums[0], &sums[1], ""));
    assert!(!side_by_side(&text), "{text}");
    // Little is known to be there to do.
    let text = plan(&program(&to("m", "B[i]"), &to("n", "C[i]"), "").replace("1:N]", "1:9]"));
    assert!(!side_by_side(&text), "{text}");
    // A team is used as a whole.
    let text = plan(&program(&to("m", "B[i]"), &to("n", "C[i]"), "").replace(" schedule(sequential)", ""));
    assert!(!side_by_side(&text), "{text}");
    let source = program(&to("m", "B[i]"), &to("n", "C[i]"), "");
    let validated = validate(sdfg::text::parse("program.sdft", &source).unwrap()).unwrap();
    let serial = LowerOptions { serial_components: true, ..LowerOptions::default() };
    let text = lower(&validated, &Target::cpu(), &serial).unwrap().to_string();
    assert!(!side_by_side(&text), "{text}");
    let overlapping =
        LowerOptions { overlapping: vec!["B".to_owned(), "C".to_owned()], ..LowerOptions::default() };
    let text = lower(&validated, &Target::cpu(), &overlapping).unwrap().to_string();
    assert!(!side_by_side(&text), "{text}");
    // What is not written may overlap.
    let overlapping = LowerOptions { overlapping: vec!["A".to_owned()], ..LowerOptions::default() };
    let text = lower(&validated, &Target::cpu(), &overlapping).unwrap().to_string();
    assert!(side_by_side(&text), "{text}");
}

#[test]
fn arguments_of_c_functions_use_what_they_name() {
    let text = plan(
        "sdfg p {
  symbol N: i64
  array A: i64[N]
  scalar info: i32
  state s {
    access A
    access info
    tasklet t () -> (a, r) external r = fill(N, i64(2) * N, a) from library \"f\"
    t.a -> A: A[0:N]
    t.r -> info: info
  }
  -> last with (failed = info)
  if last: failed != 0 {
    state z {
      access A
      tasklet t () -> (o) { o = failed }
      t.o -> A: A[0]
    }
  }
}",
    );
    // Not `failed`, which is set later, nor what the function writes.
    assert!(text.contains("external t fill(<N>, <2 * N>, &A[0]) -> info[0]\n"), "{text}");
}
