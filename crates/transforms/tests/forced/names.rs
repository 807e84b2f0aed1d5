//! Memory with several names, symbols that data or parameters set, and declared memlets.

use sdfg_transforms::rewrites::{
    BufferTiling, DeadDataflowElimination, GpuTransform, MapCollapse, MapFission, MapFusion, MapInterchange,
    MapSplit, MoveLoopIntoMap, MpiTransform, RedundantArray, RedundantReadSlice, RedundantSecondArray,
};

use super::support::{applies, refuses_rightly};
use super::{applies_at, map, program, refuses_rightly_at};
use sdfg_transforms::Transformation;

/// A reference `R` to all of a container, which a state before binds.
fn bound(to: &str) -> String {
    format!(
        "reference R: f64[N + 2]
state before {{
  access R
  access bound = {to}
  bind bound -> R: {to}[0:N + 2]
}}
"
    )
}

#[test]
fn writes_to_views_and_references_are_not_dead() {
    let view = "view V: f64[N]
state s {
  access V
  access B
  tasklet f () -> (y) { y = 7 }
  f.y -> V: V[0]
  bind V -> B: B[0:N]
}";
    let reason = refuses_rightly_at(&program(view), &DeadDataflowElimination::default(), "p/s/V");
    assert!(reason.contains("`V` is a stream, a view or a reference"), "{reason}");
    let reference = bound("A")
        + "state s {
  access R
  tasklet f () -> (y) { y = 7 }
  f.y -> R: R[0]
}";
    let reason = refuses_rightly_at(&program(&reference), &DeadDataflowElimination::default(), "p/s/R");
    assert!(reason.contains("`R` is a stream, a view or a reference"), "{reason}");
}

/// What follows pops the next element.
#[test]
fn elements_that_nothing_needs_are_taken_from_streams() {
    let pop = |state: &str, to: &str, element: &str| {
        format!(
            "state {state} {{
  access S
  access to = {to}
  tasklet take (x) -> (y) {{ y = x }}
  S -> take.x: S
  take.y -> to: {to}{element}
}}
"
        )
    };
    let text = program(&format!(
        "transient stream S: f64
transient scalar d: f64
state fill {{
  access A
  access S
  A -> S: A[0:3] -> S
}}
{}{}",
        pop("first", "d", ""),
        pop("second", "B", "[0]")
    ));
    let reason = refuses_rightly_at(&text, &DeadDataflowElimination::default(), "p/first/to");
    assert!(reason.contains("`take` does more than compute values"), "{reason}");
}

/// Each map binds the view to another array.
#[test]
fn maps_that_bind_one_view_are_not_fused() {
    let iteration = |array: &str, code: &str, other: &str, write: &str| {
        format!(
            "access V_{array} = V
    tasklet t_{array} (x, z) -> (y) {{ {code} }}
    bind m_{array}.A -> V_{array}: {array}[i]
    V_{array} -> t_{array}.x: V[0]
    m_{array}.other -> t_{array}.z: {other}[i]
    t_{array}.y -> m_{array}.to: {write}[i]"
        )
    };
    let text = program(&format!(
        "array D: f64[N + 2]
view V: f64[1]
transient array T: f64[N]
state s {{
  access A
  access B
  access C
  access D
  access T
  map m_A [i = 0:N] {{
    {}
  }}
  map m_C [i = 0:N] {{
    {}
  }}
  A -> m_A.A
  D -> m_A.other
  m_A.to -> T
  C -> m_C.A
  T -> m_C.other
  m_C.to -> B
}}",
        iteration("A", "y = x + z", "D", "T"),
        iteration("C", "y = x - z", "T", "B")
    ));
    let reason = refuses_rightly(&text, &MapFusion::default());
    assert!(reason.contains("`V` is a view or reference that the map binds"), "{reason}");
}

/// The reference names the array: elements are read by it when the map has written the first ones.
#[test]
fn arrays_with_references_keep_their_transients() {
    let text = program(
        &(bound("B")
            + "transient array T: f64[N + 2]
state s {
  access R
  access T
  access B
  map m [i = 0:N + 2] {
    tasklet t (x) -> (y) { y = x + 1 }
    m.R -> t.x: R[N + 1 - i]
    t.y -> m.T: T[i]
  }
  R -> m.R
  m.T -> T
  T -> B
}"),
    );
    let text = reordered(&text);
    let reason = refuses_rightly_at(&text, &RedundantArray::default(), "p/s/T");
    assert!(reason.contains("`B` has a view or reference"), "{reason}");
}

/// Containers come before states.
fn reordered(text: &str) -> String {
    let declares = |line: &&str| line.trim_start().starts_with("transient array");
    let (declared, rest): (Vec<&str>, Vec<&str>) = text.lines().partition(declares);
    let at = rest.iter().position(|line| line.starts_with("reference")).unwrap_or_default();
    [&rest[..at], &declared[..], &rest[at..]].concat().join("\n")
}

/// A tasklet overwrites an element by the reference, after it was copied.
fn overwritten(copy: &str) -> String {
    let text = bound("A")
        + &format!(
            "transient array T: f64[N + 2]
state s {{
  access A
  access T
  access R
  access B
  A -> T{copy}
  tasklet f () -> (y) {{ y = 9 }}
  order T -> f
  f.y -> R: R[0]
  tasklet g (x) -> (y) {{ y = x }}
  T -> g.x: T[0]
  g.y -> B: B[0]
  order R -> g
}}"
        );
    reordered(&program(&text))
}

#[test]
fn copies_of_arrays_with_references_stay() {
    let reason = refuses_rightly_at(&overwritten(""), &RedundantSecondArray::default(), "p/s/T");
    assert!(reason.contains("`A` has a view or reference"), "{reason}");
    let part = overwritten(": A[0:N] -> T[0:N]").replace("T: f64[N + 2]", "T: f64[N]");
    let reason = refuses_rightly_at(&part, &RedundantReadSlice::default(), "p/s/T");
    assert!(reason.contains("`A` has a view or reference"), "{reason}");
}

#[test]
fn a_copy_of_a_transient_to_itself_is_no_second_array() {
    let text = program(
        "transient array T: f64[N + 2]
state s {
  access A
  access T
  access again = T
  access B
  A -> T
  T -> again
  again -> B
}",
    );
    let reason = refuses_rightly_at(&text, &RedundantSecondArray::default(), "p/s/again");
    assert!(reason.contains("`T` is copied to itself"), "{reason}");
}

#[test]
fn transients_that_go_to_several_arrays_stay() {
    let text = program(&format!(
        "transient array T: f64[N + 2]\nstate s {{\n{} access B\n access C\n w_m -> B\n w_m -> C\n}}",
        map("m", "i = 0:N + 2", "A[i]", "y = x + 1", "T[i]")
    ));
    let reason = refuses_rightly_at(&text, &RedundantArray::default(), "p/s/B");
    assert!(reason.contains("`w_m` goes to several nodes"), "{reason}");
}

/// A kernel reads a part that was copied to its memory.
#[test]
fn parts_in_the_memory_of_a_kernel_stay() {
    let text = program(
        "array P: f64[N + 2] storage(cpu_pinned)
transient array T: f64[N] storage(gpu_global)
state s {
  access A
  access T
  access P
  A -> T: A[1:N + 1] -> T[0:N]
  map m [i = 0:N] schedule(gpu_grid) {
    tasklet t (x) -> (y) { y = x + 1 }
    m.T -> t.x: T[i]
    t.y -> m.P: P[i]
  }
  T -> m.T
  m.P -> P
}",
    );
    let reason = refuses_rightly(&text, &RedundantReadSlice::default());
    assert!(reason.contains("`T` has another type, or is in another memory"), "{reason}");
}

/// The array has a dimension more than the part.
#[test]
fn reductions_see_the_dimensions_of_a_part() {
    let text = program(
        "array D: f64[N + 2, 2]
transient array T: f64[2]
state s {
  access D
  access T
  access B
  D -> T: D[1, 0:2] -> T[0:2]
  reduce r wcr(sum) axes(0) identity(0)
  T -> r: T[0:2]
  r -> B: B[0]
}",
    );
    let reason = refuses_rightly(&text, &RedundantReadSlice::default());
    assert!(reason.contains("`r` needs the dimensions of the part"), "{reason}");
}

/// A call that looks at its argument by a view with these strides.
fn viewing(stride: &str) -> String {
    format!(
        "nested c (t) -> (o) with (N = N) sdfg inner {{
      symbol N: i64
      array t: f64[2] strides({stride}) size({stride} + 1)
      scalar o: f64
      view V: f64[2] strides({stride}) size({stride} + 1)
      state q {{
        access t
        access V
        access o
        bind t -> V: t[0]
        tasklet k (a, b) -> (y) {{ y = a + b }}
        t -> k.a: t[0]
        V -> k.b: V[1]
        k.y -> o
      }}
    }}"
    )
}

/// Rows of a tile are shorter than those of the transient.
#[test]
fn calls_see_the_strides_of_a_buffer() {
    let text = program(&format!(
        "transient array T: f64[2, N + 2]
state s {{
  access A
  access T
  access B
  map m [i = 0:N + 1, k = 0:2] {{
    tasklet t (x) -> (y) {{ y = x + 1 + k }}
    m.A -> t.x: A[i]
    t.y -> m.T: T[k, i]
  }}
  A -> m.A
  m.T -> T
  map n [j = 0:N] {{
    {}
    n.T -> c.t: T[0:2, j]
    c.o -> n.B: B[j]
  }}
  T -> n.T
  n.B -> B
}}",
        viewing("N + 2")
    ));
    let reason = refuses_rightly(&text, &BufferTiling::new([2]));
    assert!(reason.contains("`T` is passed to `c` with its strides"), "{reason}");
}

/// The declared memlet names the parameter of what becomes the inner map.
#[test]
fn declared_memlets_do_not_follow_maps_that_are_swapped() {
    let nested = |inner: &str| {
        program(&format!(
            "state s {{
  access A
  access B
  map outer [i = 0:N] {{
    map inner [j = 0:2] {{
      tasklet t (x) -> (y) {{ y = x + 1 }}
      inner.A -> t.x: A[i + j]
      t.y -> inner.B: B[i] wcr(sum)
    }}
    outer.A -> inner.A{inner}
    inner.B -> outer.B
  }}
  A -> outer.A
  outer.B -> B
}}"
        ))
    };
    let reason = refuses_rightly(&nested(": A[i:i + 2]"), &MapInterchange::default());
    assert!(reason.contains("`outer` has a memlet whose subset is declared"), "{reason}");
    applies(&nested(""), &MapInterchange::default());
}

/// A transient `F` of the integers from 0.
const INTEGERS: &str = "transient array F: i64[4]
state integers {
  access F
  map z [n = 0:4] {
    tasklet set () -> (y) { y = n }
    set.y -> z.F: F[n]
  }
  z.F -> F
}
";

/// A map `n` with the symbol `q`, which it gets from an element of `F`.
fn with_data(element: &str) -> String {
    format!(
        "state s {{
  access A
  access F
  access B
  map n [j = 0:N] {{
    tasklet t (x) -> (y) {{ y = x + q }}
    n.A -> t.x: A[j]
    t.y -> n.B: B[j] wcr(sum)
  }}
  A -> n.A
  F -> n@q: {element}
  n.B -> B
}}"
    )
}

/// The step of the loop decides which element it is.
#[test]
fn maps_that_get_symbols_in_each_step_stay_in_their_loop() {
    let text = program(&format!("{INTEGERS}for l: k = 0:3 {{\n{}\n}}", with_data("F[k]")));
    let reason = refuses_rightly(&text, &MoveLoopIntoMap::default());
    assert!(reason.contains("`n` gets symbols from data"), "{reason}");
}

/// The symbol would be read from the memory of the device.
#[test]
fn maps_that_get_symbols_from_data_are_no_kernels() {
    let text = program(&format!("{INTEGERS}{}", with_data("F[1]")));
    let reason = refuses_rightly_at(&text, &GpuTransform::default(), "p/s/n");
    assert!(reason.contains("`n` gets symbols from data"), "{reason}");
}

/// Both maps read the symbol. Where the first one writes the element from which it comes, the second one may read another value.
#[test]
fn maps_that_write_their_symbols_are_not_copied() {
    let written = |to: &str| {
        program(&format!(
            "transient array G: i64[4]
{INTEGERS}
state s {{
  access A
  access F
  access to = {to}
  access B
  map n [j = 0:2] {{
    tasklet t (x) -> (y) {{ y = x + q }}
    tasklet u () -> (w) {{ w = 3 - j - q }}
    n.A -> t.x: A[j]
    t.y -> n.B: B[j]
    u.w -> n.to: {to}[1 + j]
  }}
  A -> n.A
  F -> n@q: F[1]
  n.to -> to
  n.B -> B
}}"
        ))
    };
    for transformation in [&MapSplit::default() as &dyn Transformation, &MapFission::default()] {
        let reason = refuses_rightly_at(&written("F"), transformation, "p/s/n");
        assert!(reason.contains("`F` gives the map a symbol, and the map writes it"), "{reason}");
        applies_at(&written("G"), transformation, "p/s/n");
    }
}

/// The inner map gets its first value in each iteration of the outer one.
#[test]
fn maps_that_get_symbols_in_each_iteration_are_not_joined() {
    let text = program(&format!(
        "{INTEGERS}state s {{
  access A
  access F
  access B
  map outer [i = 0:2] {{
    map inner [j = first:2] {{
      tasklet t (x) -> (y) {{ y = x + 1 }}
      inner.A -> t.x: A[i + j]
      t.y -> inner.B: B[i] wcr(sum)
    }}
    outer.F -> inner@first: F[i]
    outer.A -> inner.A
    inner.B -> outer.B
  }}
  F -> outer.F
  A -> outer.A
  outer.B -> B
}}"
    ));
    let reason = refuses_rightly_at(&text, &MapCollapse::default(), "p/s/inner");
    assert!(reason.contains("`inner` gets `first` from data"), "{reason}");
}

/// A loop around a map over `parameter`, with further nodes.
fn looped(parameter: &str, read: &str, more: &str) -> String {
    let body = map("m", &format!("{parameter} = 0:N"), read, "y = x + k", &format!("B[{parameter}]"));
    program(&format!("for l: k = 0:3 {{\nstate s {{\n{body}{more}\n}}\n}}"))
}

#[test]
fn loops_do_not_move_into_maps_that_hide_their_symbol() {
    let hidden = looped("k", "A[k]", "").replace("q: B[k]", "q: B[k] wcr(sum)");
    let reason = refuses_rightly(&hidden, &MoveLoopIntoMap::default());
    assert!(reason.contains("`l` counts with the parameter of its map"), "{reason}");
    applies(&looped("i", "A[i]", "").replace("q: B[i]", "q: B[i] wcr(sum)"), &MoveLoopIntoMap::default());
}

/// Each step reads what the step before has copied.
#[test]
fn loops_do_not_move_past_copies() {
    let copied = looped("i", "C[i]", "access C\n w_m -> C: B[0:N] -> C[0:N]");
    let reason = refuses_rightly(&copied, &MoveLoopIntoMap::default());
    assert!(reason.contains("`w_m` is copied outside of the map"), "{reason}");
}

/// Each iteration of the outer map would be a kernel, and the sums of the one before are not copied.
#[test]
fn maps_in_maps_are_no_kernels() {
    let text = program(
        "state s {
  access A
  access B
  map outer [i = 0:N] {
    map inner [j = 0:2] {
      tasklet t (x) -> (y) { y = x + 1 }
      inner.A -> t.x: A[i + j]
      t.y -> inner.B: B[i] wcr(sum)
    }
    outer.A -> inner.A
    inner.B -> outer.B
  }
  A -> outer.A
  outer.B -> B
}",
    );
    let reason = refuses_rightly_at(&text, &GpuTransform::default(), "p/s/inner");
    assert!(reason.contains("`inner` is in a scope"), "{reason}");
}

/// A later state reads what iterations leave in a transient.
#[test]
fn containers_that_stay_in_a_map_are_not_divided_over_ranks() {
    let text = program(
        "transient array T: f64[N + 2] lifetime(sdfg)
state s {
  access A
  map m [i = 0:N] {
    access T
    tasklet t (x) -> (y) { y = x }
    m.A -> t.x: A[i]
    t.y -> T: T[i]
  }
  A -> m.A
}
state later {
  access T
  access B
  T -> B: T[0:N] -> B[0:N]
}",
    );
    let reason = refuses_rightly(&text, &MpiTransform::new([2]));
    assert!(reason.contains("`T` is used in the map, but does not pass its border"), "{reason}");
}
