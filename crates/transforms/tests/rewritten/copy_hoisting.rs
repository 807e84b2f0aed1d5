//! Copies in front of loops.

use sdfg::edit::Editor;
use sdfg::ir::Sdfg;
use sdfg_transforms::rewrites::{CopyHoisting, GpuTransform};
use sdfg_transforms::{Match, Pipeline, Transformation, apply, places};

use super::support::{applies, difference, parsed};

/// The match in the state `copy` that writes `near`.
fn in_the_loop(program: &Sdfg) -> Match {
    let mut all = places(program, &CopyHoisting::default()).into_iter();
    let targets = ["p/copy/near", "p/copy/moved"];
    let is_there = |found: &Match| targets.contains(&found.paths(program)[1].to_string().as_str());
    all.find(is_there).expect("a copy")
}

/// The reason for which the copy is refused.
fn refuses(text: &str) -> String {
    let program = parsed(text);
    let refused = apply(&mut program.clone(), &CopyHoisting::default(), &in_the_loop(&program));
    refused.expect_err("a refusal").to_string()
}

/// As [`refuses`]; the rewrite is wrong if it is forced.
fn refuses_rightly(text: &str) -> String {
    let before = parsed(text);
    let mut forced = before.clone();
    let mut editor = Editor::new(&mut forced);
    CopyHoisting::default().apply(&mut editor, &in_the_loop(&before)).expect("a rewrite");
    let is_wrong = editor.commit().is_err() || difference(&before, &forced).is_some();
    assert!(is_wrong, "the forced rewrite is right:\n{}", sdfg::text::print(&forced));
    refuses(text)
}

/// A program with weights `w`, vectors `A` and `B`, and a transient `near` of 7s.
fn program(contents: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array w: f64[N + 2]
  array A: f64[N + 2]
  array B: f64[N + 2]
  transient array near: f64[N + 2]
  state begin {{
    access near
    map fill [i = 0:N + 2] {{
      tasklet seven () -> (y) {{ y = 7.0 }}
      seven.y -> fill.near: near[i]
    }}
    fill.near -> near
  }}
{contents}
  state end {{
    access near
    access B
    near -> B
  }}
}}"
    )
}

/// A state that adds one vector to another one.
fn adds(name: &str, from: &str, to: &str) -> String {
    format!(
        "state {name} {{
  access {from}
  access {to}
  access new = {to}
  map m_{name} [i = 0:N + 2] {{
    tasklet add (x, y) -> (z) {{ z = x + y }}
    m_{name}.p -> add.x: {from}[i]
    m_{name}.q -> add.y: {to}[i]
    add.z -> m_{name}.r: {to}[i]
  }}
  {from} -> m_{name}.p
  {to} -> m_{name}.q
  m_{name}.r -> new
}}
"
    )
}

const COPY: &str = "state copy {
  access w
  access near
  w -> near
}
";

fn looped(header: &str, body: &[&str]) -> String {
    program(&format!("{header} {{\n{}}}\n", body.concat()))
}

#[test]
fn the_first_iteration_decides() {
    let use_it = adds("use", "near", "A");
    // Loops without an iteration leave the target as it is: `N` is 1, 2 or 5.
    for header in ["for l: t = 0:N", "for l: t = 3:N", "for l: t = N:2:-1", "while l: N > 2 and A[0] > -20"] {
        let found = applies(&looped(header, &[COPY, &use_it]), &CopyHoisting::default());
        assert!(found.contains("if "), "{found}");
        let guarded = found.split_once("if ").expect("a branch").1;
        assert!(guarded.contains("w -> near"), "{found}");
    }
}

#[test]
fn loops_that_have_an_iteration_need_no_condition() {
    let use_it = adds("use", "near", "A");
    for text in [
        looped("for l: t = 0:3", &[COPY, &use_it]),
        program(&format!("do l: t = 0; t = t + 1 {{\n{COPY}{use_it}}} while t < N\n")),
    ] {
        let found = applies(&text, &CopyHoisting::default());
        assert!(!found.contains("if "), "{found}");
    }
}

#[test]
fn copies_leave_one_loop_after_the_other() {
    let inner = format!("for k: u = 0:2 {{\n{COPY}{}}}\n", adds("use", "near", "A"));
    let once = applies(&looped("for l: t = 0:2", &[&inner]), &CopyHoisting::default());
    let twice = applies(&once, &CopyHoisting::default());
    let inside = twice.split_once("for l").and_then(|(_, rest)| rest.split_once("state end"));
    assert!(inside.is_some_and(|(inside, _)| !inside.contains("w -> near")), "{twice}");
}

#[test]
fn loops_that_change_the_source_copy_again() {
    let text = looped("for l: t = 0:3", &[COPY, &adds("use", "near", "A"), &adds("change", "A", "w")]);
    let reason = refuses_rightly(&text);
    assert!(reason.contains("writes it by"), "{reason}");
    // The same through a view.
    let change = "state change {
  access V
  access V1 = V
  access w
  bind w -> V: w[0:N + 2]
  tasklet more (x) -> (y) { y = x + 1.0 }
  V -> more.x: V[0]
  more.y -> V1: V[0]
}
";
    let text = looped("for l: t = 0:3", &[COPY, &adds("use", "near", "A"), change]);
    let text = text.replace("  array B:", "  view V: f64[N + 2]\n  array B:");
    let reason = refuses_rightly(&text);
    assert!(reason.contains('w'), "{reason}");
}

#[test]
fn loops_that_write_the_target_copy_again() {
    let text = looped("for l: t = 0:3", &[COPY, &adds("use", "near", "A"), &adds("change", "A", "near")]);
    let reason = refuses_rightly(&text);
    assert!(reason.contains("near"), "{reason}");
}

#[test]
fn iterations_read_the_target_after_the_copy() {
    let text = looped("for l: t = 0:3", &[&adds("use", "near", "A"), COPY]);
    let reason = refuses_rightly(&text);
    assert!(reason.contains("near"), "{reason}");
    // The loop's own condition comes before the first copy.
    let text = looped("while l: near[0] > 6.0", &[COPY, &adds("use", "near", "A")]);
    let reason = refuses_rightly(&text);
    assert!(reason.contains("near"), "{reason}");
}

#[test]
fn each_iteration_runs_the_copy() {
    let text =
        looped("for l: t = 0:3", &["if c: N > 0 {\n  break out\n}\n", COPY, &adds("use", "near", "A")]);
    let reason = refuses_rightly(&text);
    assert!(reason.contains("is not run once by each iteration"), "{reason}");
    let text = looped("for l: t = 0:3", &[&format!("if c: t > 5 {{\n{COPY}}}\n")]);
    let reason = refuses(&text);
    assert!(reason.contains("is not run by each iteration"), "{reason}");
}

#[test]
fn each_iteration_copies_the_same_elements() {
    let copy = COPY.replace("w -> near", "w -> near: w[t] -> near[0]");
    let text = looped("for l: t = 0:N", &[&copy, &adds("use", "near", "A")]);
    let reason = refuses_rightly(&text);
    assert!(reason.contains("changes `t`"), "{reason}");
}

#[test]
fn sums_take_part_in_each_iteration() {
    let copy = COPY.replace("w -> near", "w -> near: w[0:N + 2] -> near[0:N + 2] wcr(sum)");
    let text = looped("for l: t = 0:3", &[&copy]);
    let reason = refuses_rightly(&text);
    assert!(reason.contains("combined with its own"), "{reason}");
}

#[test]
fn the_source_has_its_values_before_the_state() {
    let copy = "state copy {
  access A
  access w
  access near
  A -> w
  w -> near
}
";
    let text = looped("for l: t = 0:3", &[copy, &adds("use", "near", "A")]);
    let reason = refuses_rightly(&text);
    assert!(reason.contains("follows other nodes"), "{reason}");
}

#[test]
fn parts_that_move_within_a_container_move_again() {
    let copy = "state copy {
  access near
  access moved = near
  near -> moved: near[0:N + 1] -> near[1:N + 2]
}
";
    let count = "state begin2 {
  access near
  map count [i = 0:N + 2] {
    tasklet i (y) -> (x) { x = y * y }
    count.w -> i.y: w[i]
    i.x -> count.near: near[i]
  }
  access w
  w -> count.w
  count.near -> near
}
";
    let text = program(&format!("{count}for l: t = 0:2 {{\n{copy}}}\n"));
    let reason = refuses_rightly(&text);
    assert!(reason.contains("another part of itself"), "{reason}");
}

#[test]
fn transients_of_one_state_are_set_there() {
    let text = looped(
        "for l: t = 0:3",
        &["state copy {
  access w
  access near
  access A
  w -> near
  near -> A
}
"],
    );
    // Nothing else uses it.
    let text = text.replace("near: f64[N + 2]", "near: f64[N + 2] lifetime(state)");
    let text = text.replace("access near\n    access B\n    near -> B", "access A\n    access B\n    A -> B");
    let reason = refuses_rightly(&text);
    assert!(reason.contains("with each run of the state"), "{reason}");
}

#[test]
fn other_names_of_the_target_may_be_written() {
    let change = "state change {
  access near
  access V
  bind near -> V: near[0:N + 2]
  tasklet one () -> (y) { y = 1.0 }
  access V1 = V
  one.y -> V1: V[0]
  order V -> one
}
";
    let text = looped("for l: t = 0:3", &[COPY, &adds("use", "near", "A"), change]);
    let text = text.replace("  array B:", "  view V: f64[N + 2]\n  array B:");
    let reason = refuses_rightly(&text);
    assert!(reason.contains("has a view"), "{reason}");
}

#[test]
fn references_are_set_in_the_loop() {
    let set = "state set {
  access w
  access R
  bind w -> R: w[0:N + 2]
}
";
    let text = looped("for l: t = 0:3", &[set, &COPY.replace('w', "R"), &adds("use", "near", "A")]);
    let text = text.replace("  array B:", "  reference R: f64[N + 2]\n  array B:");
    let reason = refuses_rightly(&text);
    assert!(reason.contains("is a stream, a view or a reference"), "{reason}");
}

/// A vector cut in two, of which nothing changes while a loop runs: its halos are refreshed once.
#[test]
fn halos_of_what_stays_the_same_are_refreshed_once() {
    let text = "sdfg p {
  symbol N: i64
  array A: f64[N + 2] distribution(grid(2)[balanced(0, 1, N + 1) halo(1, 1)])
  array B: f64[N + 2] distribution(grid(2)[balanced(0, 1, N + 1)])
  for l: t = 0:3 {
    state copy {
      access A
      access moved = A
      access B
      map ranks [p = 0:2] schedule(mpi) {
        map m [i = N*p // 2 + 1:(N*p + N) // 2 + 1] {
          tasklet s (l, r) -> (y) { y = l + r }
          m.A -> s.l: A[i - 1]
          m.A -> s.r: A[i + 1]
          s.y -> m.B: B[i]
        }
        ranks.A -> m.A
        m.B -> ranks.B
      }
      A -> moved
      moved -> ranks.A
      ranks.B -> B
    }
  }
}";
    let found = applies(text, &CopyHoisting::default());
    let inside = found.split_once("for l").and_then(|(_, rest)| rest.split_once("state \"l.before0\""));
    assert!(inside.is_some_and(|(inside, _)| !inside.contains("A -> moved")), "{found}");
    // Its own elements change, so that each iteration needs the others' again.
    let change = "    state change {
      access B
      access A
      map others [p = 0:2] schedule(mpi) {
        map n [i = N*p // 2 + 1:(N*p + N) // 2 + 1] {
          tasklet c (x) -> (y) { y = x + 1 }
          n.B -> c.x: B[i]
          c.y -> n.A: A[i]
        }
        others.B -> n.B
        n.A -> others.A
      }
      B -> others.B
      others.A -> A
    }
    state copy {";
    let reason = refuses_rightly(&text.replace("    state copy {", change));
    assert!(reason.contains("`A`"), "{reason}");
}

/// What a kernel reads and nothing changes stays on the device: only the other vector travels in each iteration.
#[test]
fn inputs_of_kernels_are_sent_to_the_device_once() {
    let text = program(&format!("for l: t = 0:N {{\n{}}}\n", adds("use", "w", "A")));
    let mut device = Pipeline::on(parsed(&text));
    device.apply(GpuTransform::default().at("use/m_use")).expect("a kernel");
    let found = applies(&sdfg::text::print(device.program()), &CopyHoisting::default());
    let inside = found.split_once("for l").and_then(|(_, rest)| rest.split_once("state end"));
    let (inside, _) = inside.expect("the loop");
    assert!(!inside.contains("    w ->") && inside.contains("    A ->"), "{found}");
}
