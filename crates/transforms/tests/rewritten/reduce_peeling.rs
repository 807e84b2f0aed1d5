//! Sums whose first summand is written.

use sdfg_transforms::rewrites::ReducePeeling;

use super::support::{applies, page_is_true, refuses, refuses_rightly};

#[test]
fn the_page_is_true() {
    page_is_true(&ReducePeeling::default());
}

/// A map over `ranges` that combines in `B[target]`, behind a fill of `B[filled]` with `value`.
fn program(ranges: &str, resolution: &str, target: &str, filled: &str, value: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N + 2, N, N]
  array B: f64[N, N]
  array C: f64[N, N]
  state s {{
    access A
    access z = B
    access B
    map fill [p = 0:N, q = 0:N] {{
      tasklet zero () -> (y) {{ y = {value} }}
      zero.y -> fill.B: B[{filled}]
    }}
    map m [{ranges}] {{
      tasklet t (x) -> (y) {{ y = x + 1 }}
      m.A -> t.x: A[k, i, j]
      t.y -> m.B: B[{target}] wcr({resolution})
    }}
    fill.B -> z
    order z -> m
    A -> m.A
    m.B -> B
  }}
}}"
    )
}

#[test]
fn the_first_summand_is_written_in_any_dimension() {
    let peeling = ReducePeeling::default();
    for ranges in [
        "k = 0:2, i = 0:N, j = 0:N",
        "i = 0:N, j = 0:N, k = 0:N + 1",
        "i = 0:N, k = N + 1:-1:-1, j = 0:N",
        "i = N - 1:-1:-1, k = 1:2, j = 0:N",
    ] {
        for (resolution, value) in [("sum", "0"), ("sum", "0.0"), ("product", "1")] {
            let text = applies(&program(ranges, resolution, "i, j", "p, q", value), &peeling);
            assert!(!text.contains("fill") && text.contains("map m_"), "{text}");
        }
    }
    applies(&program("k = 0:2, i = 0:N, j = 0:N", "sum", "j, N - 1 - i", "p, q", "0"), &peeling);
}

#[test]
fn without_summands_nothing_would_be_written() {
    let peeling = ReducePeeling::default();
    let text = program("k = 2:N, i = 0:N, j = 0:N", "sum", "i, j", "p, q", "0");
    assert!(refuses_rightly(&text, &peeling).contains("has a value"));
}

#[test]
fn other_values_than_the_neutral_element_count() {
    let peeling = ReducePeeling::default();
    for (resolution, value) in [("sum", "1"), ("product", "0"), ("sum", "0.5")] {
        let text = program("k = 0:2, i = 0:N, j = 0:N", resolution, "i, j", "p, q", value);
        assert!(refuses(&text, &peeling).contains("neutral element"), "{resolution} {value}");
    }
    let text = program("k = 0:2, i = 0:N, j = 0:N", "max", "i, j", "p, q", "0");
    assert!(refuses(&text, &peeling).contains("no sum or product"));
}

#[test]
fn elements_that_get_no_summand_keep_their_zeros() {
    let peeling = ReducePeeling::default();
    let text = program("k = 0:2, i = 0:N - 1, j = 0:N", "sum", "i, j", "p, q", "0");
    assert!(refuses_rightly(&text, &peeling).contains("are not the same elements"));
    let text = program("k = 0:2, i = 0:N, j = 0:N", "sum", "i, j", "p, 0", "0").replace("q = 0:N", "q = 0:1");
    assert!(refuses_rightly(&text, &peeling).contains("are not the same elements"));
}

#[test]
fn elements_that_several_iterations_combine_in_are_refused() {
    let peeling = ReducePeeling::default();
    let text = program("k = 0:2, i = 0:N, j = 0:N", "sum", "i, (i + j) % N", "p, q", "0");
    let message = refuses(&text, &peeling);
    assert!(message.contains("different elements"), "{message}");
    let text = program("k = 0:2, i = 0:N, j = 0:N", "sum", "(i + j) // 2, j", "p, q", "0");
    assert!(refuses_rightly(&text, &peeling).contains("different elements"));
}

#[test]
fn ranges_that_depend_on_each_other_are_refused() {
    let peeling = ReducePeeling::default();
    // Later iterations add to some of the elements that the first one writes.
    applies(&program("k = 0:2, i = 0:N - k, j = 0:N", "sum", "i, j", "p, q", "0"), &peeling);
    assert!(
        refuses(&program("i = 0:N, j = 0:N, k = i:N", "sum", "i, j", "p, q", "0"), &peeling)
            .contains("depends")
    );
    // The first iteration has fewer elements than later ones.
    let longer = program("k = 0:2, i = 0:min(N, k + 1), j = 0:N", "sum", "i, j", "p, q", "0");
    assert!(refuses_rightly(&longer, &peeling).contains("are not the same elements"));
}

#[test]
fn initial_values_that_are_read_are_needed() {
    let text = program("k = 0:2, i = 0:N, j = 0:N", "sum", "i, j", "p, q", "0")
        .replace("access B\n", "access B\n    access C\n")
        .replace("order z -> m\n", "order z -> m\n    z -> C\n");
    assert!(refuses(&text, &ReducePeeling::default()).contains("reads the initial values"));
}

/// The other elements, and those of other iterations, would not get the neutral element.
#[test]
fn iterations_that_do_not_write_one_element_are_refused() {
    let peeling = ReducePeeling::default();
    let program = program("k = 0:2, i = 0:N, j = 0:N", "sum", "i, j", "p, q", "0");
    let sometimes =
        program.replace("{ y = x + 1 }", "{ if x > 0: y = x }").replace("wcr(sum)", "wcr(sum) dynamic");
    assert!(refuses(&sometimes, &peeling).contains("does not write one element"));
    let one_of_a_row = program
        .replace("i = 0:N, j = 0:N", "i = 0:N")
        .replace("A[k, i, j]", "A[k, i, 0]")
        .replace("{ y = x + 1 }", "{ y[N - 1] = x }")
        .replace("B[i, j] wcr(sum)", "B[i, 0:N] wcr(sum) volume(1)");
    assert!(refuses(&one_of_a_row, &peeling).contains("does not write one element"));
}
