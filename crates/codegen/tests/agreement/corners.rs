//! Corners.

use crate::harness::agree;

#[test]
fn small_transients_reach_threads() {
    agree(
        "sdfg p {
  symbol N: i64
  array A: f64[N]
  transient array c: f64[3]
  state a { access c; tasklet t () -> (o) { o[0] = 1.0; o[1] = 2.0; o[2] = 3.0 }; t.o -> c }
  state s {
    access c
    access A
    map m [i = 0:N] {
      tasklet t (x) -> (o) { o = x + i }
      m.c -> t.x: c[i % 3]
      t.o -> m.A: A[i]
    }
    c -> m.c
    m.A -> A
  }
}",
        &[("N", 10)],
    );
}

#[test]
fn overlapping_copy() {
    agree(
        "sdfg p {
  symbol N: i64
  array A: f64[N]
  state s {
    access x = A
    access y = A
    x -> y: A[0:N - 1] -> A[1:N]
  }
}",
        &[("N", 10)],
    );
}

#[test]
fn overlapping_copy_reverse() {
    agree(
        "sdfg p {
  symbol N: i64
  array A: f64[N]
  state s {
    access x = A
    access y = A
    x -> y: A[N - 1:-1:-1] -> A[0:N]
  }
}",
        &[("N", 10)],
    );
}

#[test]
fn overlapping_copy_wcr() {
    agree(
        "sdfg p {
  symbol N: i64
  array A: f64[N]
  state s {
    access x = A
    access y = A
    x -> y: A[0:N - 1] -> A[1:N] wcr(sum)
  }
}",
        &[("N", 10)],
    );
}

#[test]
fn transposed_copy_in_place() {
    agree(
        "sdfg p {
  symbol N: i64
  array A: f64[N, N]
  state s {
    access x = A
    access y = A
    x -> y: A[0:2, 0:3] -> A[0:3, 0:2]
  }
}",
        &[("N", 3)],
    );
}

#[test]
fn empty_copy_of_two_negative_extents() {
    agree(
        "sdfg p {
  symbol N: i64
  symbol M: i64
  array A: f64[9, 9]
  array B: f64[9, 9]
  state s {
    access A
    access B
    A -> B: A[5:N, 5:M] -> B[5:M, 5:N]
  }
}",
        &[("N", 4), ("M", 4)],
    );
}

#[test]
fn wcr_and_without_writes() {
    for op in ["and", "or", "xor"] {
        agree(
            &format!(
                "sdfg p {{
  symbol N: i64
  array A: i32[N]
  array B: i32[2]
  array C: i32[2]
  state s {{
    access A
    access B
    access C
    map m [i = 0:N] {{
      tasklet t (x) -> (o) {{
        if x > 100:
          o = x
      }}
      m.A -> t.x: A[i]
      t.o -> m.B: B[0] wcr({op}) dynamic
    }}
    map k [i = 0:N] schedule(sequential) {{
      tasklet t2 (x) -> (o) {{
        if x > 100:
          o = x
      }}
      k.A -> t2.x: A[i]
      t2.o -> k.C: C[0] wcr({op}) dynamic
    }}
    A -> m.A
    A -> k.A
    m.B -> B
    k.C -> C
  }}
}}"
            ),
            &[("N", 10)],
        );
    }
}

#[test]
fn wcr_complex() {
    for op in ["sum", "product", "lambda a, b: a * b", "lambda a, b: a + b"] {
        agree(
            &format!(
                "sdfg p float(strict) {{
  symbol N: i64
  array A: complex128[N]
  array B: complex128[2]
  state s {{
    access A
    access B
    map m [i = 0:N] {{
      tasklet t (x) -> (o) {{ o = x if i == 2 else (complex128(0.0, 1.0) if real(x) > 1000000.0 else complex128(complex(1.0, 0.0))) }}
      m.A -> t.x: A[i]
      t.o -> m.B: B[0] wcr({op})
    }}
    A -> m.A
    m.B -> B
  }}
}}"
            )
            .replace("complex128(0.0, 1.0)", "complex128(1.0)"),
            &[("N", 2000)],
        );
    }
}

#[test]
fn reversed_wcr_copy() {
    agree(
        "sdfg p {
  symbol N: i64
  array A: f64[N, N]
  array B: f64[N]
  state s {
    access A
    access B
    map m [i = 0:N] {
      access row
      m.A -> row: A[i, 0:N] -> row[0:N]
      row -> m.B: row[0:N] -> B[N - 1:-1:-1] wcr(sum)
    }
    A -> m.A
    m.B -> B
  }
}"
        .replace("  array B: f64[N]\n", "  array B: f64[N]\n  transient array row: f64[N]\n")
        .as_str(),
        &[("N", 40)],
    );
}

#[test]
fn strided_view() {
    agree(
        "sdfg p {
  symbol N: i64
  array A: f64[N, N]
  array B: f64[N]
  view V: f64[N]
  state s {
    access A
    access V
    access B
    bind A -> V: A[0:N, 1]
    V -> B
  }
}",
        &[("N", 6)],
    );
}

#[test]
fn strided_view_by_step() {
    agree(
        "sdfg p {
  array A: f64[8]
  array B: f64[4]
  view V: f64[4]
  state s {
    access A
    access V
    access B
    bind A -> V: A[0:8:2]
    V -> B
  }
}",
        &[],
    );
}

#[test]
fn values_of_the_same_connector_in_two_states() {
    agree(
        "sdfg p {
  array A: f64[2]
  array B: i32[2]
  state s {
    access A
    tasklet a () -> (v: f64) { v = 1.5 }
    tasklet b (w: f64) -> (o) { o = w }
    a.v -> b.w
    b.o -> A: A[0]
  }
  state t {
    access B
    tasklet a () -> (v: i32) { v = 7 }
    tasklet b (w: i32) -> (o) { o = w }
    a.v -> b.w
    b.o -> B: B[0]
  }
}",
        &[],
    );
}

#[test]
fn conditional_output_with_two_edges() {
    agree(
        "sdfg p {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  array C: f64[N]
  state s {
    access A
    access B
    access C
    map m [i = 0:N] {
      tasklet t (x) -> (o) {
        if x > 0.0:
          o = x
      }
      m.A -> t.x: A[i]
      t.o -> m.B: B[i] dynamic
      t.o -> m.C: C[i] dynamic
    }
    A -> m.A
    m.B -> B
    m.C -> C
  }
}",
        &[("N", 12)],
    );
}

#[test]
fn output_with_two_edges_wcr() {
    agree(
        "sdfg p {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  array C: f64[1]
  state s {
    access A
    access B
    access C
    map m [i = 0:N] {
      tasklet t (x) -> (o) { o = x }
      m.A -> t.x: A[i]
      t.o -> m.C: C[0] wcr(sum)
      t.o -> m.B: B[i]
    }
    A -> m.A
    m.B -> B
    m.C -> C
  }
}",
        &[("N", 12)],
    );
}

#[test]
fn assigned_after_use_in_text_order() {
    agree(
        "sdfg p {
  symbol N: i64
  array A: i64[N]
  start a
  state a {}
  -> b if N > 0
  -> c
  state c {
    access A
    map m [i = 0:N] { tasklet t () -> (o) { o = k + i }; t.o -> m.A: A[i] }
    m.A -> A
  }
  -> end
  state b {}
  -> c with (k = 3)
}",
        &[("N", 12)],
    );
}

#[test]
fn symbol_assigned_late_in_a_loop() {
    agree(
        "sdfg p {
  symbol N: i64
  array A: i64[N]
  for l: t = 0:3 {
    if q: t > 0 {
      state c {
        access A
        map m [i = 0:N] { tasklet t () -> (o) { o = k + i }; t.o -> m.A: A[i] }
        m.A -> A
      }
    }
    state b {}
    -> d with (k = t * 10)
    state d {}
  }
}",
        &[("N", 12)],
    );
}

#[test]
fn size_assigned_late() {
    agree(
        "sdfg p {
  symbol N: i64
  array A: i64[N]
  transient array T: i64[k]
  state a {}
  -> b with (k = N)
  state b {
    access A
    access T
    access D = A
    A -> T: A[0:k] -> T[0:k]
    T -> D: T[k - 1:-1:-1] -> A[0:k]
  }
}",
        &[("N", 3000)],
    );
}

#[test]
fn constants_with_layout() {
    agree(
        "sdfg p {
  constant array C: f64[2, 3] strides(1, 2) = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
  array B: f64[2, 3]
  state s {
    access C
    access B
    C -> B
  }
}",
        &[],
    );
}

#[test]
fn view_wcr_in_parallel_in_sequential() {
    agree(
        "sdfg p {
  symbol N: i64
  array A: i64[N, N]
  view V: i64[N]
  state s {
    access A
    map o [k = 0:3] schedule(sequential) {
      access V
      bind V -> o.A: A[0, 0:N]
      map m [i = 0:N] {
        tasklet t () -> (x) { x = i + k }
        t.x -> m.V: V[0] wcr(sum)
      }
      m.V -> V
    }
    o.A -> A
  }
}",
        &[("N", 12)],
    );
}

#[test]
fn negative_and_positive_subsets() {
    agree(
        "sdfg p {
  symbol N: i64
  array A: i64[4 * N]
  array B: i64[N]
  state s {
    access A
    access C = A
    access B
    map m [i = 0:N] {
      tasklet t (x) -> (y, b) { y[0] = x[0]; y[1] = x[1]; y[2] = x[2]; y[3] = x[3]; b = x[2] }
      m.A -> t.x: A[4 * i + 3:4 * i - 1:-1]
      t.y -> m.A: A[4 * i:4 * i + 4]
      t.b -> m.B: B[i]
    }
    A -> m.A
    m.A -> C
    m.B -> B
  }
}",
        &[("N", 12)],
    );
}
