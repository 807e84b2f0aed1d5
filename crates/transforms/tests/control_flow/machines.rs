//! `RaiseLoops` and `LowerLoops`.

use sdfg_transforms::Pipeline;
use sdfg_transforms::rewrites::{LoopPeeling, LowerLoops, RaiseLoops};

use super::{applies, program, refuses};

const LOOPS: &str = "for l: i = 1:N {
  if b: A[i] > A[i - 1] {
    state s {
      access A
      access B
      tasklet t (x) -> (y) { y = 2 * x + i }
      A -> t.x: A[i - 1]
      t.y -> B: B[i]
    }
  } else {
    for k: j = 0:i {
      state u {
        access A
        access C
        tasklet t (x) -> (y) { y = x - j }
        A -> t.x: A[j]
        t.y -> C: C[j]
      }
      if c: C[j] > 1 {
        break x
      }
    }
  }
}";

#[test]
fn loops_are_lowered_and_raised_again() {
    let before = program(LOOPS);
    let (lowered, text) = applies(&before, &LowerLoops::default());
    assert!(!text.contains("for ") && !text.contains("if b:") && text.contains("l.guard0"), "{text}");
    let (_, raised) = applies(&lowered, &RaiseLoops::default());
    assert!(raised.contains("for l: i = 1:N") && raised.contains("for k: j = 0:i"), "{raised}");
}

#[test]
fn an_inner_loop_is_lowered_alone() {
    let mut pipeline = Pipeline::on(program(LOOPS));
    pipeline.apply(LowerLoops::default().at("k")).expect("a lowering");
    let text = sdfg::text::print(pipeline.program());
    assert!(text.contains("for l: i = 1:N") && !text.contains("for k"), "{text}");
    assert!(super::difference(&program(LOOPS), pipeline.program(), 5).is_none(), "{text}");
    pipeline.undo().expect("an application");
    assert_eq!(sdfg::text::print(pipeline.program()), sdfg::text::print(&program(LOOPS)));
}

#[test]
fn nothing_is_raised_where_there_are_no_transitions_of_a_loop() {
    let message = refuses(&program("state s { }"), &RaiseLoops::default());
    assert!(message.contains("no transitions have the form"), "{message}");
}

/// A peeled iteration that the loop does not have reads behind the array. The lowered program is valid, too: the condition on the
/// way to it never holds.
#[test]
fn a_loop_around_a_peeled_iteration_that_never_runs_is_lowered() {
    let before = program(
        "for l: i = 0:2 {
  for k: j = 0:1 {
    state s {
      access A
      access B
      map m [e = N*j:N*j + N] {
        tasklet t (x) -> (y) { y = x + i }
        m.A -> t.x: A[e]
        t.y -> m.B: B[e]
      }
      A -> m.A
      m.B -> B
    }
  }
}",
    );
    let mut pipeline = Pipeline::on(before.clone());
    pipeline.apply(LoopPeeling { count: 2 }.at("k")).expect("a peeling");
    let text = sdfg::text::print(pipeline.program());
    assert!(text.contains("1 < 1") && text.contains("[e = N:2*N]"), "{text}");
    pipeline.apply(LowerLoops::default().at("l")).expect("a lowering");
    assert!(super::difference(&before, pipeline.program(), 5).is_none());
}
