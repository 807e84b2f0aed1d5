//! Tests of programs from the builder, as text: the effect and order of calls, and their errors.

mod mistakes;
mod order;
mod words;

use sdfg_graph::ir::{ConflictResolution, ScheduleKind};
use sdfg_graph::text;

use super::*;

const F64: ScalarType = ScalarType::F64;

fn shown(builder: SdfgBuilder) -> String {
    match builder.build() {
        Ok((program, _)) => text::print(program.sdfg()),
        Err(rejected) => panic!("{rejected}"),
    }
}

#[test]
fn laplace() {
    let mut b = SdfgBuilder::new("laplace");
    b.symbol("N");
    b.symbol("T");
    b.array("A", F64, ["2", "N"]);
    b.for_loop("steps", "t", "0:T", |b| {
        b.state("step", |s| {
            let ranges = [("i", "1:N - 1")];
            let inputs = [("l", "A[t % 2, i - 1]"), ("c", "A[t % 2, i]"), ("r", "A[t % 2, i + 1]")];
            s.mapped_tasklet("cells", ranges, inputs, "o = l - 2.0 * c + r", [("o", "A[(t + 1) % 2, i]")]);
        });
    });
    insta::assert_snapshot!(shown(b), @r#"
    sdfg laplace {
      symbol N: i64
      symbol T: i64
      array A: f64[2, N]

      for steps: t = 0:T {
        state step {
          map cells [i = 1:N - 1] {
            tasklet cells_body (l, c, r) -> (o) { o = l - 2.0 * c + r }
            cells.A -> cells_body.l: A[t % 2, i - 1]
            cells.A -> cells_body.c: A[t % 2, i]
            cells.A -> cells_body.r: A[t % 2, i + 1]
            cells_body.o -> cells.A: A[(t + 1) % 2, i]
          }
          access A
          access A_1 = A
          A -> cells.A
          cells.A -> A_1
        }
      }
    }
    "#);
}

#[test]
fn matrix_product() {
    let mut b = SdfgBuilder::new("matmul");
    for size in ["M", "N", "K"] {
        b.symbol(size);
    }
    b.array("A", F64, ["M", "K"]);
    b.array("B", F64, ["K", "N"]);
    b.array("C", F64, ["M", "N"]);
    b.transient("products", F64, ["M", "N", "K"]);
    b.state("multiply", |s| {
        let ranges = [("i", "0:M"), ("j", "0:N"), ("k", "0:K")];
        s.mapped_tasklet(
            "multiply",
            ranges,
            [("a", "A[i, k]"), ("b", "B[k, j]")],
            "c = a * b",
            [("c", "products[i, j, k]")],
        );
        s.reduce("sum", ConflictResolution::Sum, "products", "C").axes([2]).identity("0.0").finish();
    });
    insta::assert_snapshot!(shown(b), @r#"
    sdfg matmul {
      symbol M: i64
      symbol N: i64
      symbol K: i64
      array A: f64[M, K]
      array B: f64[K, N]
      array C: f64[M, N]
      transient array products: f64[M, N, K]

      state multiply {
        map multiply [i = 0:M, j = 0:N, k = 0:K] {
          tasklet multiply_body (a, b) -> (c) { c = a * b }
          multiply.A -> multiply_body.a: A[i, k]
          multiply.B -> multiply_body.b: B[k, j]
          multiply_body.c -> multiply.products: products[i, j, k]
        }
        access A
        access B
        access products
        reduce sum wcr(sum) axes(2) identity(0.0)
        access C
        A -> multiply.A
        B -> multiply.B
        multiply.products -> products
        products -> sum: products[0:M, 0:N, 0:K]
        sum -> C: C[0:M, 0:N]
      }
    }
    "#);
}

#[test]
fn attributes_belong_to_schedules() {
    let build = |schedule| {
        let mut b = SdfgBuilder::new("p");
        b.array("A", F64, ["8"]);
        b.state("s", |s| {
            s.map_scope("m", [("i", "0:8")]).threads(4).schedule(schedule).body(|s| {
                s.tasklet("t").output("o", "A[i]").code("o = 1.0");
            });
        });
        b.build()
    };
    assert!(build(ScheduleKind::CpuMulticore).is_ok());
    let rejected = build(ScheduleKind::Simd).unwrap_err().to_string();
    let message =
        "`threads` does not belong to the schedule `simd`; it belongs to `default` and `cpu_multicore`";
    assert!(rejected.contains(message) && rejected.contains("builder/tests/mod.rs"), "{rejected}");
}

#[test]
fn sparse() {
    let mut b = SdfgBuilder::new("spmv");
    for size in ["H", "W", "nnz"] {
        b.symbol(size);
    }
    b.array("row", ScalarType::I64, ["H + 1"]);
    b.array("col", ScalarType::I64, ["nnz"]);
    b.array("val", F64, ["nnz"]);
    b.array("x", F64, ["W"]);
    b.array("y", F64, ["H"]);
    b.state("clear", |s| {
        s.mapped_tasklet("zero", [("i", "0:H")], NO_CONNECTORS, "o = 0.0", [("o", "y[i]")]);
    });
    b.state("multiply", |s| {
        s.map("rows", [("i", "0:H")], |s| {
            s.map_scope("entries", [("j", "begin:end")])
                .bind("begin", "row[i]")
                .bind("end", "row[i + 1]")
                .schedule(ScheduleKind::Sequential)
                .body(|s| {
                    let column = s.transient_scalar("column", ScalarType::I64);
                    s.tasklet("index").input("c", "col[j]").output("o", column).code("o = c");
                    s.tasklet("multiply")
                        .input("v", "val[j]")
                        .input("x", "x[0:W]")
                        .input("c", column)
                        .output("o", "y[i]")
                        .resolve(ConflictResolution::Sum)
                        .code("o = v * x[c]");
                });
        });
    });
    insta::assert_snapshot!(shown(b), @r#"
    sdfg spmv {
      symbol H: i64
      symbol W: i64
      symbol nnz: i64
      array row: i64[H + 1]
      array col: i64[nnz]
      array val: f64[nnz]
      array x: f64[W]
      array y: f64[H]
      transient scalar column: i64

      state clear {
        map zero [i = 0:H] {
          tasklet zero_body () -> (o) { o = 0.0 }
          zero_body.o -> zero.y: y[i]
          order zero -> zero_body
        }
        access y
        zero.y -> y
      }
      state multiply {
        map rows [i = 0:H] {
          map entries [j = begin:end] schedule(sequential) {
            tasklet index (c) -> (o) { o = c }
            access column
            tasklet multiply (v, x, c) -> (o) { o = v * x[c] }
            entries.col -> index.c: col[j]
            index.o -> column: column
            entries.val -> multiply.v: val[j]
            entries.x -> multiply.x: x[0:W]
            column -> multiply.c: column
            multiply.o -> entries.y: y[i] wcr(sum)
          }
          rows.row -> entries@begin: row[i]
          rows.row -> entries@end: row[i + 1]
          rows.col -> entries.col
          rows.val -> entries.val
          rows.x -> entries.x
          entries.y -> rows.y
        }
        access row
        access col
        access val
        access x
        access y
        row -> rows.row
        col -> rows.col
        val -> rows.val
        x -> rows.x
        rows.y -> y
      }
    }
    "#);
}

#[test]
fn control_flow_and_order() {
    let mut b = SdfgBuilder::new("flow");
    b.symbol("N");
    b.array("A", F64, ["N"]);
    b.array("B", F64, ["N"]);
    b.scalar("x", F64);
    b.assign("k", "N");
    b.while_loop("halve", "k > 1", |b| {
        b.if_else(
            "even",
            "k % 2 == 0",
            |b| b.assign("k", "k // 2"),
            |b| {
                b.assign("k", "k - 1");
                b.assign("k", "k // 2");
            },
        );
        b.if_then("big", "x > 1e6", |b| {
            b.break_loop();
        });
    });
    b.state("moves", |s| {
        s.copy("A", "B");
        s.tasklet("peek").input("a", "A[0]").output("o", "x").code("o = a");
        s.copy("B[0:2]", "A[2:4]");
        s.tasklet("poke").input("a", "x").output("o", "A[0]").code("o = a + 1.0");
        s.map("tiles", [("t", "0:N:4")], |s| {
            s.transient("tile", F64, [4]);
            s.copy("A[t:t + 4]", "tile");
            s.map("inner", [("i", "0:4")], |s| {
                s.tasklet("double").input("a", "tile[i]").output("o", "tile[i]").code("o = 2.0 * a");
            });
            s.copy("tile", "B[t:t + 4]");
        });
    });
    insta::assert_snapshot!(shown(b), @r#"
    sdfg flow {
      symbol N: i64
      array A: f64[N]
      array B: f64[N]
      scalar x: f64
      transient array tile: f64[4]

      state assign {}
      -> halve with (k = N)
      while halve: k > 1 {
        if even: k % 2 == 0 {
          state assign_1 {}
          -> "end" with (k = k // 2)
          state end {}
        } else {
          state assign_2 {}
          -> assign_3 with (k = k - 1)
          state assign_3 {}
          -> end_1 with (k = k // 2)
          state end_1 {}
        }
        if big: x > 1000000.0 {
          break break
        }
      }
      state moves {
        access A
        access B
        tasklet peek (a) -> (o) { o = a }
        access x
        access B_1 = B
        access A_1 = A
        tasklet poke (a) -> (o) { o = a + 1.0 }
        access A_2 = A
        map tiles [t = 0:N:4] {
          access tile
          map inner [i = 0:4] {
            tasklet double (a) -> (o) { o = 2.0 * a }
            inner.tile -> double.a: tile[i]
            double.o -> inner.tile: tile[i]
          }
          access tile_1 = tile
          tiles.A -> tile: A[t:t + 4] -> tile[0:4]
          tile -> inner.tile
          inner.tile -> tile_1
          tile_1 -> tiles.B: tile[0:4] -> B[t:t + 4]
        }
        access B_2 = B
        A -> B
        A -> peek.a: A[0]
        peek.o -> x: x
        order B -> B_1
        order peek -> B_1
        B_1 -> A_1: B[0:2] -> A[2:4]
        x -> poke.a: x
        poke.o -> A_2: A[0]
        order A_1 -> poke
        A_2 -> tiles.A
        tiles.B -> B_2
      }
    }
    "#);
}

#[test]
fn streams_and_nested() {
    let mut b = SdfgBuilder::new("fibonacci");
    b.symbol("P");
    b.scalar("n", ScalarType::I64);
    b.scalar("out", ScalarType::I64);
    b.queue("S", ScalarType::I64);
    b.state("compute", |s| {
        s.copy("n", "S");
        s.consume("fib", "S", "p", "P").body(|s| {
            s.tasklet("step")
                .input("x", "S")
                .output("next", "S")
                .at_most(2)
                .output("o", "out")
                .at_most(1)
                .resolve(ConflictResolution::Sum)
                .code("if x < 2:\n  o = x\nelse:\n  next = x - 1\n  next = x - 2");
        });
    });
    insta::assert_snapshot!(shown(b), @r#"
    sdfg fibonacci {
      symbol P: i64
      scalar n: i64
      scalar out: i64
      transient stream S: i64

      state compute {
        access n
        access S
        consume fib [p = 0:P] {
          tasklet step (x) -> (next, o) {
            if x < 2:
              o = x
            else:
              next = x - 1
              next = x - 2
          }
          fib.stream -> step.x: S
          step.next -> fib.S: S atmost(2)
          step.o -> fib.out: out wcr(sum) atmost(1)
        }
        access S_1 = S
        access out
        n -> S
        S -> fib.stream
        fib.S -> S_1
        fib.out -> out
      }
    }
    "#);
    let mut inner = SdfgBuilder::new("row_sum");
    inner.symbol("K");
    inner.array("x", F64, ["K"]);
    inner.scalar("y", F64);
    inner.for_loop("sum", "k", "0:K", |b| {
        b.state("add", |s| {
            s.tasklet("add")
                .input("a", "x[k]")
                .output("o", "y")
                .resolve(ConflictResolution::Sum)
                .code("o = a");
        });
    });
    let mut b = SdfgBuilder::new("rows");
    b.symbol("N");
    b.array("A", F64, ["N", "N"]);
    b.array("s", F64, ["N"]);
    b.state("all", |s| {
        s.map("rows", [("i", "0:N")], |s| {
            s.nested("sum", inner)
                .input("x", "A[i, 0:N]")
                .input("y", "s[i]")
                .output("y", "s[i]")
                .map_symbol("K", "N")
                .finish();
        });
    });
    insta::assert_snapshot!(shown(b), @r#"
    sdfg rows {
      symbol N: i64
      array A: f64[N, N]
      array s: f64[N]

      state all {
        map rows [i = 0:N] {
          nested sum (x, y) -> (y) with (K = N) sdfg row_sum {
            symbol K: i64
            array x: f64[K]
            scalar y: f64

            for sum: k = 0:K {
              state add {
                tasklet add (a) -> (o) { o = a }
                access x
                access y
                x -> add.a: x[k]
                add.o -> y: y wcr(sum)
              }
            }
          }
          rows.A -> sum.x: A[i, 0:N]
          rows.s -> sum.y: s[i]
          sum.y -> rows.s: s[i]
        }
        access A
        access s
        access s_1 = s
        A -> rows.A
        s -> rows.s
        rows.s -> s_1
      }
    }
    "#);
}

#[test]
fn explicit_transitions() {
    let mut b = SdfgBuilder::new("machine");
    b.symbol("N");
    let [first, second, last] = ["first", "second", "last"].map(|label| b.state(label, |_| {}));
    b.transition(first, second).when("i < N").assign("j", "i + 1");
    b.transition(first, last);
    b.transition(second, first).assign("i", "i + 1");
    b.end_after(last);
    b.symbol("i");
    insta::assert_snapshot!(shown(b), @r#"
    sdfg machine {
      symbol N: i64
      symbol i: i64

      state first {}
      -> second if i < N with (j = i + 1)
      -> last
      state second {}
      -> first with (i = i + 1)
      state last {}
    }
    "#);
}

#[test]
fn all_mistakes_are_reported_with_their_lines() {
    let mut b = SdfgBuilder::new("wrong");
    b.array("A", F64, ["N +"]);
    b.array("A", F64, ["N"]);
    b.for_loop("l", "t", "T", |b| {
        b.state("s", |s| {
            s.tasklet("t").input("a", "a[i]").output("o", "A[i").dynamic().code("o = = a");
            s.tasklet("u").volume(1).code("pass");
        });
    });
    let line = |diagnostic: &Diagnostic| diagnostic.loc.as_ref().map(|loc| loc.line).unwrap();
    let Err(rejected) = b.build() else { panic!("the program is wrong") };
    let first = line(&rejected.diagnostics[0]);
    let found: Vec<String> = rejected
        .diagnostics
        .iter()
        .map(|d| format!("{} {}: {}", line(d) - first, d.code, d.message))
        .collect();
    insta::assert_snapshot!(found.join("\n"), @r#"
    0 P001: `N +`: expected an expression, found the end of the text
    1 V002: `A` is declared already
    2 P001: `T` is no range of a loop; write `begin:end` or `begin:end:step` with a constant step
    4 P002: no container is called `a`
    4 P001: `A[i`: expected `]`, found the end of the text
    4 P001: `o = = a`: expected an expression, found `=`
    5 P001: no connector was given before this call
    "#);
}
