//! Tests of the report of a run.

use super::{Options, run_with};
use crate::Arguments;
use crate::tensor::Tensor;

const SOURCE: &str = "sdfg p {
  symbol T: i64
  array A: f32[8]
  array B: f32[8]
  for l: t = 0:T {
    state one {
      access A
      access B
      A -> B: A[0:4] -> B[2:6]
    }
    -> two
    state two {
      access B
      access A
      map m [i = 0:3] {
        tasklet t (x, w) -> (y) { y = x + w[i] + w[i + 1] }
        m.B -> t.x: B[i]
        m.C -> t.w: B[0:5]
        t.y -> m.A: A[2 * i]
      }
      B -> m.B
      B -> m.C
      m.A -> A
    }
  }
}";

#[test]
fn blocks_in_order_and_bytes_by_memlet() {
    let options = Options { trace: true, ..Options::default() };
    let vector = || Tensor::vector(&[1.0_f32; 8]);
    let mut arguments = Arguments::new().with("A", vector()).with("B", vector()).with_symbol("T", 2);
    let report = run_with(SOURCE, &mut arguments, &options).unwrap_or_else(|error| panic!("{error}"));
    let order: Vec<String> = report.order.iter().map(|block| report.blocks[*block].0.to_string()).collect();
    assert_eq!(order, ["p/l", "p/one", "p/two", "p/one", "p/two"]);
    assert_eq!(report.blocks.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [2, 2, 1]);
    let moved: Vec<_> =
        report.moved.iter().map(|m| (m.memlet.as_str(), m.writes, m.times, m.elements, m.bytes)).collect();
    let expected = [
        ("A[0:4]", false, 2, 8, 32),
        ("B[2:6]", true, 2, 8, 32),
        ("B[i]", false, 6, 6, 24),
        ("B[0:5]", false, 6, 12, 48),
        ("A[2*i]", true, 6, 6, 24),
    ];
    assert_eq!(moved, expected);
    assert_eq!(report.tasklets, 6);
    let silent =
        run_with(SOURCE, &mut arguments, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(silent.order.is_empty());
}

#[test]
fn what_streams_and_reductions_move() {
    let source = "sdfg p {
  array A: i64[3]
  array B: i32[2]
  scalar sum: i32
  transient stream S: i64
  state s {
    access A
    access S
    access B
    access sum
    A -> S
    consume c [p = 0:2] {
      tasklet t (x) -> (y, z) {
        if x > 0: y = x
        z[x] = x
      }
      c.stream -> t.x: S
      t.y -> c.sum: sum wcr(sum) atmost(1)
      t.z -> c.B: B[0:2] wcr(max) dynamic
    }
    S -> c.stream
    c.sum -> sum
    c.B -> B
    reduce r wcr(sum)
    access total = sum
    B -> r: B[0:2]
    r -> total: sum
    order sum -> r
  }
}";
    let mut arguments = Arguments::new()
        .with("A", Tensor::vector(&[0_i64, 1, 1]))
        .with("B", Tensor::vector(&[0_i32; 2]))
        .with("sum", Tensor::scalar(0_i32));
    let report =
        run_with(source, &mut arguments, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let moved: Vec<_> =
        report.moved.iter().map(|m| (m.memlet.as_str(), m.writes, m.elements, m.bytes)).collect();
    // Each input element that a reduction combines is a write of its output.
    let expected = [
        ("A[0:3]", false, 3, 24),
        ("S", true, 3, 24),
        ("S", false, 3, 24),
        ("sum wcr(sum)", true, 2, 8),
        ("B[0:2] wcr(max)", true, 3, 12),
        ("B[0:2]", false, 2, 8),
        ("sum", true, 2, 8),
    ];
    assert_eq!(moved, expected);
}
