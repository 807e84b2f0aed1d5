//! Tests of arguments with strides: files and patterns are dense, whatever strides the program declares.

use crate::Bench;
use crate::data::{doubles, npy};

/// Adds 1 to every element of `A`, which lies as `layout` says.
fn increment(layout: &str) -> String {
    format!(
        "\
sdfg increment {{
  symbol N: i64
  array A: f64[N, 3]{layout}
  array B: f64[N, 3]
  state main {{
    access A
    access A2 = A
    access B
    map all [i = 0:N, j = 0:3] {{
      tasklet add (a) -> (o, b) {{ o = a + 1; b = 10 * a }}
      all.A -> add.a: A[i, j]
      add.o -> all.A2: A[i, j]
      add.b -> all.B: B[i, j]
    }}
    A -> all.A
    all.A2 -> A2
    all.B -> B
  }}
}}
"
    )
}

#[test]
fn elements_lie_as_the_program_says() {
    let bench = Bench::new();
    bench.file("a.npy", npy(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], "(2, 3)"));
    for layout in [
        "",
        " strides(1, N)",
        " strides(4, 1) size(4 * N)",
        " strides(6, 2) offset(1) size(6 * N + 1)",
        " strides(3, -1) offset(2)",
    ] {
        bench.file("increment.sdft", increment(layout));
        for command in ["interpret", "run"] {
            let run = [command, "increment.sdft", "-i", "A=a.npy", "-o", "A=out.npy", "-o", "B=b.npy"];
            bench.run(&run).prints(&[]);
            let result = |name| doubles(&std::fs::read(bench.path(name)).expect("a result"));
            assert_eq!(result("out.npy"), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "{command} with{layout}");
            assert_eq!(result("b.npy"), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0], "{command} with{layout}");
        }
    }
    let header = bench.run(&["compile", "increment.sdft", "--emit", "header"]);
    header.prints(&[" * A: f64[N, 3], read and written; strides [3, -1] in an allocation of 3*N elements"]);
}
