//! Benchmark of the interpreter in tasklets per second: `cargo xtask bench interpret`.
//!
//! Every program checks conflicts and runs in the fixed order, on one core. The benchmark prints medians over
//! interleaved rounds.
#![expect(clippy::print_stdout, reason = "this is a command")]

use std::time::Instant;

use sdfg::interpret::{Arguments, Interpreter, Options};
use sdfg::tensor::Tensor;

type Error = Box<dyn std::error::Error>;

const ROUNDS: usize = 11;

/// A name and the declarations and state of a program over `A` and `B`, both `f64[N]` or square.
const PROGRAMS: [(&str, i64, &str); 4] = [
    (
        "map of one tasklet",
        1 << 20,
        "  array A: f64[N]
  array B: f64[N]
  state s {
    access A
    access B
    map m [i = 0:N] {
      tasklet t (x) -> (y) { y = 2.0 * x + 1.0 }
      m.A -> t.x: A[i]
      t.y -> m.B: B[i]
    }
    A -> m.A
    m.B -> B
  }",
    ),
    (
        "resolved sum",
        1 << 20,
        "  array A: f64[N]
  array B: f64[1]
  state s {
    access A
    access B
    map m [i = 0:N] {
      tasklet t (x) -> (y) { y = x * x }
      m.A -> t.x: A[i]
      t.y -> m.B: B[0] wcr(sum)
    }
    A -> m.A
    m.B -> B
  }",
    ),
    (
        "matrix product",
        100,
        "  array A: f64[N, N]
  array B: f64[N, N]
  array C: f64[N, N]
  state s {
    access A
    access B
    access C
    map m [i = 0:N, j = 0:N, k = 0:N] {
      tasklet t (x, y) -> (z) { z = x * y }
      m.A -> t.x: A[i, k]
      m.B -> t.y: B[k, j]
      t.z -> m.C: C[i, j] wcr(sum)
    }
    A -> m.A
    B -> m.B
    m.C -> C
  }",
    ),
    (
        "stencil",
        1000,
        "  array A: f64[2, N + 2, N]
  for l: t = 0:1 {
    state s {
      access A
      access B = A
      map m [i = 1:N + 1, j = 0:N] {
        tasklet t (l, c, r) -> (y) { y = 0.25 * l + 0.5 * c + 0.25 * r }
        m.A -> t.l: A[t % 2, i - 1, j]
        m.A -> t.c: A[t % 2, i, j]
        m.A -> t.r: A[t % 2, i + 1, j]
        t.y -> m.A: A[(t + 1) % 2, i, j]
      }
      A -> m.A
      m.A -> B
    }
  }",
    ),
];

fn main() -> Result<(), Error> {
    println!("million tasklets a second, conflicts checked, medians of {ROUNDS} interleaved rounds");
    let mut prepared = Vec::new();
    for (name, size, body) in PROGRAMS {
        let source = format!("sdfg p {{\n  symbol N: i64\n{body}\n}}");
        let parsed = sdfg::text::parse("bench.sdft", &source).map_err(|errors| format!("{errors:?}"))?;
        let validated = sdfg::validate::validate(parsed)?;
        let mut arguments = Arguments::new().with_symbol("N", size);
        for (_, container) in validated.sdfg().arguments() {
            let shape = container.shape().iter().map(|extent| extent.eval(&|_| Some(size)));
            let shape = shape.collect::<Result<Vec<i64>, _>>()?;
            let count: i64 = shape.iter().product();
            let values: Vec<f64> = (0..count).map(|i| (i % 7) as f64).collect();
            arguments.set(container.name.clone(), Tensor::new(&shape, &values)?);
        }
        prepared.push((name, Interpreter::new(&validated)?, arguments, Vec::new()));
    }
    for _ in 0..ROUNDS {
        for (_, interpreter, arguments, speeds) in &mut prepared {
            let start = Instant::now();
            let report = interpreter.run(arguments, &Options::default())?;
            speeds.push(report.tasklets as f64 / start.elapsed().as_secs_f64() / 1e6);
        }
    }
    for (name, _, _, speeds) in &mut prepared {
        speeds.sort_by(f64::total_cmp);
        println!("{name:20} {:6.2}   best {:6.2}", speeds[ROUNDS / 2], speeds[ROUNDS - 1]);
    }
    Ok(())
}
