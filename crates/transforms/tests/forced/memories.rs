//! Memories of devices and layouts.

use sdfg_transforms::rewrites::{GpuTransform, Relayout};
use sdfg_transforms::{Match, apply, places};

use super::refuses_rightly_at;
use super::support::{applies, difference, parsed, refuses_rightly};

/// Each iteration writes an element twice, in order.
#[test]
fn results_that_a_kernel_overwrites_are_copied_once() {
    let text = "sdfg p {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  state s {
    access A
    access B
    map m [i = 0:N] {
      tasklet t (x) -> (y) { y = x + 1 }
      tasklet u (x) -> (y) { y = 2 * x }
      order t -> u
      m.A -> t.x: A[i]
      m.A -> u.x: A[i]
      t.y -> m.P: B[i]
      u.y -> m.Q: B[i]
    }
    A -> m.A
    m.P -> B
    m.Q -> B
  }
}";
    let reason = refuses_rightly(text, &GpuTransform::default());
    assert!(reason.contains("`B[0:N]` and `B[0:N]` may touch the same elements"), "{reason}");
    // Halves have no element in common.
    let halves = text
        .replace("array B: f64[N]", "array B: f64[2*N]")
        .replace("u.y -> m.Q: B[i]", "u.y -> m.Q: B[N + i]");
    applies(&halves, &GpuTransform::default());
}

/// An iteration reads what it wrote.
#[test]
fn elements_that_a_kernel_reads_again_stay_on_the_host() {
    let text = "sdfg p {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  array C: f64[N]
  state s {
    access A
    access B
    access C
    access D = B
    map m [i = 0:N] {
      tasklet t (x) -> (y) { y = x + 1 }
      tasklet u (x) -> (y) { y = 2 * x }
      order t -> u
      m.A -> t.x: A[i]
      t.y -> m.B: B[i]
      m.C -> u.x: B[i]
      u.y -> m.D: C[i]
    }
    A -> m.A
    B -> m.C
    m.B -> D
    m.D -> C
  }
}";
    let reason = refuses_rightly(text, &GpuTransform::default());
    assert!(reason.contains("the read comes after the write"), "{reason}");
    applies(&text.replace("order t -> u", "order u -> t"), &GpuTransform::default());
}

/// Another node writes the array before the map, or reads it behind it, and waits for the map alone.
fn beside(nodes: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  array C: f64[N]
  state s {{
    access A
    access B
    map m [i = 0:N] {{
      tasklet t (x) -> (y) {{ y = x + 1 }}
      m.A -> t.x: A[i]
      t.y -> m.B: B[i]
    }}
    A -> m.A
    m.B -> B
    {nodes}
  }}
}}"
    )
}

#[test]
fn copies_are_made_between_what_the_map_waits_for_and_what_waits_for_it() {
    let before = "access W = A\n tasklet f () -> (y) { y = 7 }\n f.y -> W: A[0]\n order W -> m\n";
    let reason = refuses_rightly(&beside(before), &GpuTransform::default());
    assert!(reason.contains("writes it before the map"), "{reason}");
    let behind = "access R = B\n access C\n tasklet g (x) -> (y) { y = x }\n R -> g.x: B[0]\n g.y -> C: C[0]\n order m -> g\n";
    let reason = refuses_rightly(&beside(behind), &GpuTransform::default());
    assert!(reason.contains("uses it after the map"), "{reason}");
    applies(&beside(&before.replace("order W -> m", "order W -> A")), &GpuTransform::default());
    applies(&beside(&behind.replace("order m -> g", "order B -> R")), &GpuTransform::default());
}

/// A view is copied as the array that it names.
#[test]
fn views_go_to_the_device_as_arrays_do() {
    let text = "sdfg p {
  symbol N: i64
  array A: f64[2, N]
  array B: f64[N]
  view V: f64[N]
  state s {
    access A
    access V
    access B
    bind A -> V: A[1, 0:N]
    map m [i = 0:N] {
      tasklet t (x) -> (y) { y = x + 1 }
      m.V -> t.x: V[i]
      t.y -> m.B: B[i]
    }
    V -> m.V
    m.B -> B
  }
}";
    assert!(applies(text, &GpuTransform::default()).contains("V_device0"));
}

/// A transient with a view that has its shape, or that is another shape of its memory.
fn viewed(view: &str, bind: &str, read: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N, N + 1]
  array B: f64[N, N + 1]
  transient array T: f64[N, N + 1]
  view V: {view}
  state s {{
    access A
    access T
    access V
    access B
    map m [i = 0:N, j = 0:N + 1] {{
      tasklet t (x) -> (y) {{ y = x + i - j }}
      m.A -> t.x: A[i, j]
      t.y -> m.T: T[i, j]
    }}
    map n [i = 0:N, j = 0:N + 1] {{
      tasklet u (x) -> (y) {{ y = 2 * x }}
      n.V -> u.x: {read}
      u.y -> n.B: B[i, j]
    }}
    A -> m.A
    m.T -> T
    bind T -> V: {bind}
    V -> n.V
    n.B -> B
  }}
}}"
    )
}

#[test]
fn views_of_another_shape_do_not_follow_the_layout() {
    let relayout = Relayout { order: vec![1, 0], ..Relayout::default() };
    let flat = viewed("f64[N * (N + 1)]", "T[0, 0]", "V[i * (N + 1) + j]");
    let reason = refuses_rightly_at(&flat, &relayout, "p/s/T");
    assert!(reason.contains("a view of another shape"), "{reason}");
    let same = viewed("f64[N, N + 1]", "T[0:N, 0:N + 1]", "V[i, j]");
    let before = parsed(&same);
    let is_there = |found: &Match| found.paths(&before)[0].to_string() == "p/s/T";
    let found = places(&before, &relayout).into_iter().find(is_there).expect("a match");
    let mut after = before.clone();
    apply(&mut after, &relayout, &found).expect("a layout");
    let problem = difference(&before, &after);
    assert!(problem.is_none(), "{problem:?}\n{}", sdfg::text::print(&after));
}

/// The axes of a reduction are others where dimensions are divided.
#[test]
fn transients_that_are_reduced_are_not_stored_in_blocks() {
    let text = "sdfg p {
  symbol N: i64
  array A: f64[N, 4]
  array B: f64[N]
  transient array T: f64[N, 4]
  state s {
    access A
    access T
    access B
    map m [i = 0:N, j = 0:4] {
      tasklet t (x) -> (y) { y = x + i - j }
      m.A -> t.x: A[i, j]
      t.y -> m.T: T[i, j]
    }
    A -> m.A
    m.T -> T
    reduce r wcr(sum) axes(1) identity(0)
    T -> r: T[0:N, 0:4]
    r -> B: B[0:N]
  }
}";
    let reason = refuses_rightly_at(text, &Relayout::in_blocks([0, 2]), "p/s/T");
    assert!(reason.contains("has axes that `r` reduces"), "{reason}");
}
