//! Control flow computes in types that wrap, and divides by zero; ranges and subsets are exact. Rewrites that take the one for the
//! other are refused, or convert.

use sdfg::interpret::{Arguments, Options};
use sdfg::ir::Sdfg;
use sdfg::symbolic::Symbol;
use sdfg_transforms::rewrites::{
    CopyHoisting, DeadStateElimination, DoubleBuffering, LoopPeeling, LoopStripMining, LoopToMap, MapSplit,
    MapToForLoop, ScalarToSymbol, Skewing, SymbolPropagation,
};
use sdfg_transforms::{Transformation, apply, matches, places};

use super::support::{parsed, results_of};

type Values<'v> = &'v [(&'v str, i64)];

fn run(program: &Sdfg, values: Values<'_>) -> Result<Arguments, String> {
    let value =
        |symbol: &Symbol| values.iter().find(|(name, _)| *name == symbol.as_str()).map(|(_, value)| *value);
    results_of(program, &value, &Options::default())
}

/// Whether a rewrite changes results.
fn difference(before: &Sdfg, after: &Sdfg, values: Values<'_>) -> Option<String> {
    let expected = run(before, values).unwrap_or_else(|error| panic!("{error}"));
    match run(after, values) {
        Ok(found) if expected.tensors().all(|(name, tensor)| found.get(name) == Some(tensor)) => None,
        Ok(_) => Some(format!("results differ for {values:?}")),
        Err(error) => Some(format!("{error}, for {values:?}")),
    }
}

/// Applies a transformation at its first match; the results for some values of symbols stay.
fn keeps(text: &str, transformation: &dyn Transformation, values: Values<'_>) -> String {
    let before = parsed(text);
    let all = matches(&before, transformation);
    let Some(found) = all.first() else { panic!("{transformation:?} matches nowhere:\n{text}") };
    let mut after = before.clone();
    apply(&mut after, transformation, found).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let rewritten = sdfg::text::print(&after);
    assert_eq!(difference(&before, &after, values), None, "{rewritten}");
    rewritten
}

/// A transformation refuses all of its places.
fn refuses(text: &str, transformation: &dyn Transformation) {
    let program = parsed(text);
    assert!(!places(&program, transformation).is_empty(), "no place:\n{text}");
    assert!(matches(&program, transformation).is_empty(), "{transformation:?} matches:\n{text}");
}

/// A loop that sets elements of an array.
fn counting(ty: &str, range: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: {ty}
  symbol M: i64
  array A: f64[600]
  for l: i = {range} {{
    state s {{
      access A
      tasklet t () -> (y) {{ y = 10 }}
      t.y -> A: A[i]
    }}
  }}
}}
"
    )
}

#[test]
fn loops_have_the_iterations_of_their_code() {
    let rewrites: [&dyn Transformation; 3] =
        [&LoopToMap::default(), &LoopPeeling { count: 1 }, &LoopStripMining { size: 2 }];
    for rewrite in rewrites {
        for (ty, range) in [
            ("i64", "0:(N * M) // M"),
            ("i64", "0:N // M"),
            ("i64", "0:N % M"),
            ("i64", "0:8 >> M"),
            ("i64", "0:1 << M"),
            ("u8", "0:N - 1"),
            ("u8", "0:N + 1"),
            ("u8", "2 * N:300"),
        ] {
            refuses(&counting(ty, range), rewrite);
        }
        for (ty, range, n) in [
            ("u8", "0:N", 255),
            ("u8", "N:300", 255),
            ("u8", "0:i64(N) - 1", 0),
            ("u8", "0:2 * i64(N)", 200),
            ("i64", "0:N // 2", 7),
            ("i64", "N % 3:N << 1", 7),
            ("i64", "0:ceil_div(N, 2)", 7),
        ] {
            keeps(&counting(ty, range), rewrite, &[("N", n), ("M", 0)]);
        }
    }
}

/// A branch with a condition.
fn branching(ty: &str, condition: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: {ty}
  symbol M: i64
  array A: f64[1]
  if c: {condition} {{
    state one {{
      access A
      tasklet t () -> (y) {{ y = 10 }}
      t.y -> A: A[0]
    }}
  }} else {{
    state two {{
      access A
      tasklet t () -> (y) {{ y = 20 }}
      t.y -> A: A[0]
    }}
  }}
}}
"
    )
}

#[test]
fn conditions_hold_as_their_code_does() {
    let rewrite = DeadStateElimination::default();
    for (ty, condition) in [
        ("i64", "M // M == 1"),
        ("i64", "(N * M) // M == N"),
        ("i64", "(N // M) * M + N % M == N"),
        ("i64", "(N << M) >> M == N"),
        ("u8", "N + 1 > N"),
    ] {
        refuses(&branching(ty, condition), &rewrite);
    }
    keeps(&branching("i64", "(2 * N) // 2 == N"), &rewrite, &[("N", 7), ("M", 0)]);
    keeps(&branching("u8", "i64(N) + 1 > N"), &rewrite, &[("N", 255), ("M", 0)]);
    // The condition around tells something else of `N` than its quotient would.
    let text = "sdfg p {
  symbol N: i64
  symbol M: i64
  array A: f64[1]
  if around: N * M // M < 1 {
    if c: N < 1 {
      state one {
        access A
        tasklet t () -> (y) { y = 10 }
        t.y -> A: A[0]
      }
    } else {
      state two {
        access A
        tasklet t () -> (y) { y = 20 }
        t.y -> A: A[0]
      }
    }
  }
}
";
    refuses(text, &rewrite);
}

/// A symbol that a transition sets, and a map over its values.
fn assigned(ty: &str, value: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: {ty}
  symbol M: i64
  array A: f64[600]
  state before {{ }}
  -> after with (k = {value})
  state after {{
    access A
    map m [i = 0:k] {{
      tasklet t () -> (y) {{ y = 10 }}
      t.y -> m.A: A[i]
    }}
    m.A -> A
  }}
}}
"
    )
}

#[test]
fn values_of_symbols_are_exact_where_they_are_propagated() {
    let rewrite = SymbolPropagation::default();
    for (ty, value) in [
        ("i64", "M // M + 2"),
        ("i64", "(N * M) // M"),
        ("i64", "8 >> M"),
        ("i64", "N // M"),
        ("u8", "N - 1"),
    ] {
        refuses(&assigned(ty, value), &rewrite);
    }
    for (ty, value, n) in [("u8", "N", 255), ("u8", "i64(N) + 1", 255), ("i64", "N // 2", 7)] {
        keeps(&assigned(ty, value), &rewrite, &[("N", n), ("M", 0)]);
    }
}

/// A bound that wraps in code tells nothing about the symbol of the loop.
#[test]
fn loops_that_wrap_tell_nothing_of_their_symbol() {
    let text = "sdfg p {
  symbol N: u8
  array A: i64[300]
  for l: i = 0:N - 1 {
    state s {
      access A
      map m [k = i:N] {
        tasklet t () -> (y) { y = 1 }
        t.y -> m.A: A[k] wcr(sum)
      }
      m.A -> A
    }
  }
}
";
    keeps(text, &MapSplit::default(), &[("N", 0)]);
    keeps(text, &MapSplit::default(), &[("N", 5)]);
}

#[test]
fn bounds_of_narrow_symbols_are_converted() {
    let map = "sdfg p {
  symbol N: u8
  array A: f64[300]
  state s {
    access A
    map m [i = 0:N - 1] {
      tasklet t () -> (y) { y = 10 }
      t.y -> m.A: A[i]
    }
    m.A -> A
  }
}
";
    assert!(keeps(map, &MapToForLoop::default(), &[("N", 0)]).contains("i64(N) - 1"));
    let buffered = "sdfg p {
  symbol N: u32
  array A: f64[300]
  array B: f64[300]
  transient scalar T: f64
  for l: i = 0:N:2 {
    state s {
      access A
      access B
      access T
      A -> T: A[i] -> T
      tasklet t (x) -> (y) { y = x + 1.0 }
      T -> t.x: T
      t.y -> B: B[i]
    }
  }
}
";
    keeps(buffered, &DoubleBuffering::default(), &[("N", 1)]);
    keeps(buffered, &DoubleBuffering::default(), &[("N", 9)]);
    let skewed = "sdfg p {
  symbol N: u8
  symbol M: u8
  array A: i64[256, 8]
  for l: i = 1:N {
    for k: j = 1:M {
      state s {
        access A
        access out = A
        tasklet t (x, y) -> (z) { z = (x + y) % 7 + 1 }
        A -> t.x: A[i - 1, j]
        A -> t.y: A[i, j - 1]
        t.z -> out: A[i, j]
      }
    }
  }
}
";
    keeps(skewed, &Skewing::default(), &[("N", 255), ("M", 3)]);
    let scalar = "sdfg p {
  symbol N: u8
  array A: i64[600]
  array K: i64[1]
  transient scalar s: i64
  state one {
    access A
    access s
    A -> s: A[2 * N] -> s
  }
  state two {
    access K
    access s
    tasklet t (x) -> (y) { y = x }
    s -> t.x: s
    t.y -> K: K[0]
  }
}
";
    assert!(keeps(scalar, &ScalarToSymbol::default(), &[("N", 201)]).contains("2 * i64(N)"));
    let hoisted = "sdfg p {
  symbol N: u8
  array A: f64[300]
  array B: f64[300]
  loop l: i = 100; i + N < 300; i = i + 1 {
    state s {
      access A
      access B
      A -> B
    }
  }
}
";
    assert!(keeps(hoisted, &CopyHoisting::default(), &[("N", 200)]).contains("i64(100) + N"));
}
