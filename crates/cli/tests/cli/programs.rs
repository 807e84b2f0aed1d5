//! Programs that the tests run.

/// `B = 2 * A`, in parallel.
pub(crate) const DOUBLE: &str = "\
sdfg twofold {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  state main {
    access A
    access B
    map all [i = 0:N] {
      tasklet twice (a) -> (b) { b = 2.0 * a }
      all.A -> twice.a: A[i]
      twice.b -> all.B: B[i]
    }
    A -> all.A
    all.B -> B
  }
}
";

/// The sum of `A` by a reduction.
pub(crate) const TOTAL: &str = "\
sdfg total {
  symbol N: i64
  array A: f64[N]
  array S: f64[1]
  state main {
    access A
    access S
    reduce r wcr(sum) identity(0.0)
    A -> r: A[0:N]
    r -> S: S[0]
  }
}
";

/// Writes one element behind the end of `A`.
pub(crate) const OUTSIDE: &str = "\
sdfg outside {
  symbol N: i64
  symbol k: i64
  array A: f64[N]
  state main {
    access A
    tasklet one () -> (a) { a = 1.0 }
    one.a -> A: A[k]
  }
}
";

/// Names a connector that the tasklet does not have.
pub(crate) const WRONG: &str = "\
sdfg wrong {
  array A: f64[4]
  state main {
    access A
    tasklet one () -> (a) { a = 1.0 }
    one.b -> A: A[0]
  }
}
";
