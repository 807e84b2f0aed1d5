//! Tests of programs with known results.

use sdfg_language::value::Complex;

use super::{run, run_with};
use crate::tensor::Tensor;
use crate::{Arguments, Options};

#[test]
fn laplace() {
    let source = "sdfg laplace {
  symbol N: i64
  symbol T: i64
  array A: f64[2, N]
  for steps: t = 0:T {
    state step {
      access old = A
      access new = A
      map cells [i = 1:N - 1] {
        tasklet lap (l, c, r) -> (o) { o = l - 2.0 * c + r }
        cells.A -> lap.l: A[t % 2, i - 1]
        cells.A -> lap.c: A[t % 2, i]
        cells.A -> lap.r: A[t % 2, i + 1]
        lap.o -> cells.A: A[(t + 1) % 2, i]
      }
      old -> cells.A
      cells.A -> new
    }
  }
}";
    let (n, steps) = (9, 4);
    let mut a = vec![vec![0.0; n]; 2];
    a[0] = (0..n).map(|i| (i * i % 7) as f64).collect();
    let flat = |a: &[Vec<f64>]| Tensor::new(&[2, n as i64], &a.concat()).unwrap();
    let arguments = Arguments::new().with("A", flat(&a)).with_symbol("T", steps as i64);
    let found = run(source, arguments);
    for t in 0..steps {
        for i in 1..n - 1 {
            a[(t + 1) % 2][i] = a[t % 2][i - 1] - 2.0 * a[t % 2][i] + a[t % 2][i + 1];
        }
    }
    assert_eq!(found.get("A"), Some(&flat(&a)));
}

#[test]
fn matrix_product_as_map_and_reduction() {
    let source = "sdfg matmul {
  symbol M: i64
  symbol K: i64
  symbol N: i64
  array A: f64[M, K]
  array B: f64[K, N]
  array C: f64[M, N]
  transient array tmp: f64[M, N, K]
  state main {
    access A
    access B
    access tmp
    access C
    map m [i = 0:M, j = 0:N, k = 0:K] {
      tasklet mul (a, b) -> (c) { c = a * b }
      m.A -> mul.a: A[i, k]
      m.B -> mul.b: B[k, j]
      mul.c -> m.tmp: tmp[i, j, k]
    }
    A -> m.A
    B -> m.B
    m.tmp -> tmp
    reduce r wcr(sum) axes(2) identity(0.0)
    tmp -> r: tmp[0:M, 0:N, 0:K]
    r -> C: C[0:M, 0:N]
  }
}";
    let a: Vec<f64> = (0..6).map(f64::from).collect();
    let b: Vec<f64> = (0..12).map(|v| f64::from(v) - 5.0).collect();
    let found = run(
        source,
        Arguments::new()
            .with("A", Tensor::new(&[2, 3], &a).unwrap())
            .with("B", Tensor::new(&[3, 4], &b).unwrap())
            .with("C", Tensor::undefined(sdfg_language::dtype::ScalarType::F64.into(), vec![2, 4]).unwrap()),
    );
    let mut c = vec![0.0; 8];
    for i in 0..2 {
        for j in 0..4 {
            c[i * 4 + j] = (0..3).map(|k| a[i * 3 + k] * b[k * 4 + j]).sum();
        }
    }
    assert_eq!(found.get("C"), Some(&Tensor::new(&[2, 4], &c).unwrap()));
}

#[test]
fn histogram_with_resolved_writes() {
    let source = "sdfg histogram {
  symbol N: i64
  symbol B: i64
  array image: u8[N]
  array hist: i64[B]
  state count {
    access image
    access hist
    map pixels [i = 0:N] {
      tasklet bin (p) -> (h) { h[p // 32] = 1 }
      pixels.image -> bin.p: image[i]
      bin.h -> pixels.hist: hist[0:B] wcr(sum) dynamic
    }
    image -> pixels.image
    pixels.hist -> hist
  }
}";
    let image: Vec<u8> = (0..100_u32).map(|v| (v * 37 % 251) as u8).collect();
    let mut expected = vec![0_i64; 8];
    image.iter().for_each(|p| expected[usize::from(*p) / 32] += 1);
    let found = run(
        source,
        Arguments::new().with("image", Tensor::vector(&image)).with("hist", Tensor::vector(&[0_i64; 8])),
    );
    assert_eq!(found.get("hist").unwrap().to_vec::<i64>().unwrap(), expected);
}

#[test]
fn sparse_product_with_dynamic_ranges_and_indirection() {
    let source = "sdfg spmv {
  symbol H: i64
  symbol W: i64
  symbol nnz: i64
  array row: i32[H + 1]
  array col: i32[nnz]
  array val: f32[nnz]
  array x: f32[W]
  array b: f32[H]
  state main {
    access row
    access col
    access val
    access x
    access b
    map rows [i = 0:H] {
      map cols [j = begin:end] {
        tasklet mul (v, k, xs) -> (o) { o = v * xs[k] }
        cols.val -> mul.v: val[j]
        cols.col -> mul.k: col[j]
        cols.x -> mul.xs: x[0:W]
        mul.o -> cols.b: b[i] wcr(sum)
      }
      rows.row -> cols@begin: row[i]
      rows.row -> cols@end: row[i + 1]
      rows.val -> cols.val
      rows.col -> cols.col
      rows.x -> cols.x
      cols.b -> rows.b
    }
    row -> rows.row
    val -> rows.val
    col -> rows.col
    x -> rows.x
    rows.b -> b
  }
}";
    let found = run(
        source,
        Arguments::new()
            .with("row", Tensor::vector(&[0_i32, 2, 2, 3]))
            .with("col", Tensor::vector(&[0_i32, 3, 1]))
            .with("val", Tensor::vector(&[2.0_f32, 3.0, 5.0]))
            .with("x", Tensor::vector(&[1.0_f32, 10.0, 100.0, 1000.0]))
            .with("b", Tensor::vector(&[0.0_f32; 3])),
    );
    assert_eq!(found.get("b").unwrap().to_vec::<f32>().unwrap(), [3002.0, 0.0, 50.0]);
}

#[test]
fn nested_convergence_loop() {
    let source = "sdfg newton {
  symbol N: i64
  array A: f64[N]
  array steps: i64[N]
  state main {
    access A
    access steps
    access out = A
    map all [i = 0:N] {
      nested root (a) -> (a, n) sdfg inner {
        scalar a: f64
        scalar n: i64
        transient scalar x: f64
        state init {
          access a
          access x
          access n
          tasklet begin (v) -> (y, k) { y = v
k = 0 }
          a -> begin.v: a
          begin.y -> x: x
          begin.k -> n: n
        }
        while converge: x * x - a > 0.000001 {
          state step {
            access a
            access x0 = x
            access x1 = x
            access n0 = n
            access n1 = n
            tasklet better (v, y, k) -> (z, l) { z = 0.5 * (y + v / y)
l = k + 1 }
            a -> better.v: a
            x0 -> better.y: x
            n0 -> better.k: n
            better.z -> x1: x
            better.l -> n1: n
          }
        }
        state finish {
          access x
          access a
          x -> a
        }
      }
      all.A -> root.a: A[i]
      root.a -> all.A: A[i]
      root.n -> all.steps: steps[i]
    }
    A -> all.A
    all.A -> out
    all.steps -> steps
  }
}";
    let values = [4.0, 9.0, 2.0, 1.0];
    let found = run(
        source,
        Arguments::new().with("A", Tensor::vector(&values)).with("steps", Tensor::vector(&[0_i64; 4])),
    );
    let roots = found.get("A").unwrap().to_vec::<f64>().unwrap();
    let steps = found.get("steps").unwrap().to_vec::<i64>().unwrap();
    for ((value, root), steps) in values.iter().zip(roots).zip(steps) {
        let (mut x, mut n) = (*value, 0);
        while x * x - value > 0.000001 {
            x = 0.5 * (x + value / x);
            n += 1;
        }
        assert_eq!((root, steps), (x, n));
    }
}

#[test]
fn triangular_solve_and_negative_steps() {
    let source = "sdfg solve {
  symbol N: i64
  array U: f64[N, N]
  array b: f64[N]
  for rows: i = N - 1:-1:-1 {
    state divide {
      access U
      access old = b
      access new = b
      tasklet d (x, u) -> (y) { y = x / u }
      old -> d.x: b[i]
      U -> d.u: U[i, i]
      d.y -> new: b[i]
    }
    state subtract {
      access U
      access old = b
      access new = b
      map above [k = i - 1:-1:-1] {
        tasklet s (u, x) -> (y) { y = -(u * x) }
        above.U -> s.u: U[k, i]
        above.b -> s.x: b[i]
        s.y -> above.b: b[k] wcr(sum)
      }
      U -> above.U
      old -> above.b
      above.b -> new
    }
  }
}";
    let u = [2.0, 1.0, 4.0, 0.0, 4.0, 2.0, 0.0, 0.0, 8.0];
    let x = [3.0, -1.0, 0.5];
    let b: Vec<f64> = (0..3).map(|i| (0..3).map(|j| u[i * 3 + j] * x[j]).sum()).collect();
    let found = run(
        source,
        Arguments::new().with("U", Tensor::new(&[3, 3], &u).unwrap()).with("b", Tensor::vector(&b)),
    );
    assert_eq!(found.get("b").unwrap().to_vec::<f64>().unwrap(), x);
}

#[test]
fn control_flow() {
    let source = "sdfg collatz {
  symbol n: i64
  array out: i64[2]
  state begin { }
  -> search with (k = n, count = 0)
  while search: True {
    if stop: k == 1 {
      break found
    }
    if parity: k % 2 == 0 {
      state halve { }
      -> again with (k = k // 2, count = count + 1)
      continue again
    }
    state up { }
    -> next with (k = 3 * k + 1, count = count + 1)
    state next { }
  }
  state write {
    access out
    tasklet t () -> (o) { o = count }
    t.o -> out: out[0]
  }
  -> twice if k < 3 with (k = k + 1)
  state twice {
    access out
    tasklet t () -> (o) { o = k }
    t.o -> out: out[1]
  }
  -> write
}";
    let found = run(source, Arguments::new().with("out", Tensor::vector(&[0_i64, 0])).with_symbol("n", 27));
    assert_eq!(found.get("out").unwrap().to_vec::<i64>().unwrap(), [111, 3]);
}

#[test]
fn loops_tested_after_and_returns() {
    let source = "sdfg l {
  symbol n: i64
  array out: i64[2]
  do body: i = 10; i = i + 1 {
    state s {
      access out
      tasklet t () -> (o) { o = i }
      t.o -> out: out[0]
    }
  } while i < n
  if b: i > 11 {
    return early
  } else {
    state t { }
  }
  state last {
    access out
    tasklet t () -> (o) { o = i }
    t.o -> out: out[1]
  }
}";
    let result = |n| {
        let arguments = Arguments::new().with("out", Tensor::vector(&[0_i64, 0])).with_symbol("n", n);
        run(source, arguments).get("out").unwrap().to_vec::<i64>().unwrap()
    };
    assert_eq!(result(0), [10, 11]);
    assert_eq!(result(13), [12, 0]);
}

#[test]
fn copies_between_subsets() {
    let source = "sdfg c {
  array A: i32[4, 5]
  array B: i32[3, 1, 2]
  array C: i32[6]
  state main {
    access A
    access B
    access C
    A -> B: A[3:0:-1, 1:5:2] -> B[0:3, 0, 0:2]
    B -> C: B[0:3, 0, 0:2] -> C[0:6]
  }
}";
    let a: Vec<i32> = (0..20).collect();
    let found = run(
        source,
        Arguments::new()
            .with("A", Tensor::new(&[4, 5], &a).unwrap())
            .with("B", Tensor::new(&[3, 1, 2], &[0_i32; 6]).unwrap())
            .with("C", Tensor::vector(&[0_i32; 6])),
    );
    assert_eq!(found.get("C").unwrap().to_vec::<i32>().unwrap(), [16, 18, 11, 13, 6, 8]);
}

#[test]
fn complex_values_between_tasklets() {
    let source = "sdfg butterfly {
  array x: complex128[2]
  state main {
    access old = x
    access out = x
    tasklet product (a, b: complex128) -> (p: complex128) { p = a * b }
    tasklet twiddle () -> (w: complex128) { w = complex(0.0, -1.0) }
    tasklet both (a, p: complex128) -> (s, d) { s = a + p
d = a - p }
    old -> product.a: x[1]
    twiddle.w -> product.b
    old -> both.a: x[0]
    product.p -> both.p
    both.s -> out: x[0]
    both.d -> out: x[1]
  }
}";
    let z = |re, im| Complex::new(re, im);
    let found = run(source, Arguments::new().with("x", Tensor::vector(&[z(1.0, 2.0), z(3.0, 4.0)])));
    assert_eq!(found.get("x").unwrap().to_vec::<Complex<f64>>().unwrap(), [z(5.0, -1.0), z(-3.0, 5.0)]);
}

#[test]
fn views_index_in_another_way() {
    let source = "sdfg v {
  array A: i32[2, 6]
  array B: i32[3]
  view V: i32[3, 2]
  state main {
    access A
    access V
    access B
    bind A -> V: A[1, 0:6]
    V -> B: V[0:3, 1] -> B[0:3]
  }
}";
    let a: Vec<i32> = (0..12).collect();
    let found = run(
        source,
        Arguments::new().with("A", Tensor::new(&[2, 6], &a).unwrap()).with("B", Tensor::vector(&[0_i32; 3])),
    );
    assert_eq!(found.get("B").unwrap().to_vec::<i32>().unwrap(), [7, 9, 11]);
}

#[test]
fn a_report_counts() {
    let source = "sdfg r {
  array A: f64[4]
  for l: t = 0:3 {
    state s {
      access old = A
      access out = A
      map m [i = 0:4] {
        tasklet t (x) -> (y) { y = 2.0 * x }
        m.A -> t.x: A[i]
        t.y -> m.A: A[i]
      }
      old -> m.A
      m.A -> out
    }
  }
}";
    let mut arguments = Arguments::new().with("A", Tensor::vector(&[1.0, 2.0, 3.0, 4.0]));
    let report = run_with(source, &mut arguments, &Options::default()).unwrap();
    assert_eq!(report.tasklets, 12);
    assert_eq!(report.moved.iter().map(|moved| moved.elements).collect::<Vec<_>>(), [12, 12]);
    let state = report.blocks.iter().find(|(path, _)| path.to_string() == "r/s").unwrap();
    assert_eq!(state.1, 3);
}

#[test]
fn symbols_that_a_call_sets_for_itself_are_no_symbols_of_its_caller() {
    let source = "sdfg p {
  scalar x: i64
  scalar y: i64
  scalar z: i64
  state s {
    access x
    access y
    access z
    nested n (a) -> (b) sdfg inner {
      scalar a: i64
      scalar b: i64
      state enter { }
      -> done with (k = a)
      state done { access b; tasklet t () -> (o) { o = k + 1 }; t.o -> b }
    }
    tasklet local (a) -> (o) {
      k = 2 * a
      o = k
    }
    x -> n.a
    n.b -> y
    x -> local.a
    local.o -> z
  }
}";
    let value = |n: i64| Tensor::scalar(n);
    let found = run(source, Arguments::new().with("x", value(5)).with("y", value(0)).with("z", value(0)));
    assert_eq!((found.get("y"), found.get("z")), (Some(&value(6)), Some(&value(10))));
}
