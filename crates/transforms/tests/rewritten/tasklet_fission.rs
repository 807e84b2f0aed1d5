//! Sums that become a tasklet for each term: by proofs, and by force.

use sdfg_transforms::rewrites::TaskletFission;

use super::support::{applies, page_is_true, refuses, refuses_rightly};

#[test]
fn the_page_is_true() {
    page_is_true(&TaskletFission::default());
}

/// A map that adds what a tasklet computes of elements of `A` to elements of `B`, all of this type.
fn typed(element: &str, code: &str, reads: [&str; 2], write: &str) -> String {
    let [first, second] = reads;
    let target = write.split('[').next().unwrap_or_default();
    format!(
        "sdfg p {{
  symbol N: i64
  array A: {element}[N + 1]
  array B: {element}[N + 1]
  state s {{
    access A
    access to = {target}
    map m [i = 0:N] {{
      tasklet t (a, b) -> (o) {{ {code} }}
      m.A -> t.a: {first}
      m.A -> t.b: {second}
      t.o -> m.B: {write}
    }}
    A -> m.A
    m.B -> to
  }}
}}"
    )
}

fn program(code: &str) -> String {
    typed("f64", code, ["A[i]", "A[i + 1]"], "B[i] wcr(sum)")
}

#[test]
fn signs_stay_with_their_terms() {
    for (code, terms) in [
        ("o = a + b", &["o = a }", "o = b }"][..]),
        ("o = a - b", &["o = a }", "o = -b }"]),
        ("o = -(a - b) + 2 * a", &["o = -a }", "o = b }", "o = 2 * a }"]),
        ("o = a * (a - b) - (b - a * b)", &["o = a * (a - b) }", "o = -b }", "o = a * b }"]),
        ("o = a * b + abs(b) + 1", &["o = a * b }", "o = abs(b) }", "() -> (o) { o = 1 }"]),
        ("o = 2 - a", &["tasklet t () -> (o) { o = 2 }", "o = -a }"]),
    ] {
        let text = applies(&program(code), &TaskletFission::default());
        for term in terms {
            assert!(text.contains(term), "{code}: {term} is missing in {text}");
        }
        assert_eq!(text.matches("wcr(sum)").count(), terms.len(), "{text}");
    }
}

#[test]
fn only_sums_into_one_element_are_split() {
    for (code, reason) in [
        ("o = a * b", "assigns no sum"),
        ("t = a; o = t + b", "is more than one assignment"),
        ("o = a + N", "uses a symbol, or a function of another type"),
        ("o = f32(a) + b", "uses a symbol, or a function of another type"),
    ] {
        let refused = refuses(&program(code), &TaskletFission::default());
        assert!(refused.contains(reason), "{code}: {refused}");
    }
    let maximum = program("o = a + b").replace("wcr(sum)", "wcr(max)");
    assert!(refuses(&maximum, &TaskletFission::default()).contains("does not add its output to one element"));
    let mixed = program("o = a + b").replace("array A: f64", "array A: f32");
    assert!(refuses(&mixed, &TaskletFission::default()).contains("of another type than the output"));
}

/// A term would be rounded before it is added.
#[test]
fn quotients_of_integers_are_rounded_as_a_sum() {
    let program = |code| typed("i32", code, ["A[i]", "A[i + 1]"], "B[i] wcr(sum)");
    for code in ["o = i32(a / 2 + b / 2)", "o = a / 2 + b / 2", "o = a ** 2 + b"] {
        let refused = refuses(&program(code), &TaskletFission::default());
        assert!(
            refused.contains("assigns no sum") || refused.contains("may be none itself"),
            "{code}: {refused}"
        );
    }
    refuses_rightly(&program("o = a / 2 + b / 2"), &TaskletFission::default());
    applies(&program("o = (a << 1) // 3 + b % 4 - a * b"), &TaskletFission::default());
}

/// The second term would read what the first one was added to.
#[test]
fn terms_do_not_read_what_other_terms_change() {
    let own = typed("f64", "o = a + b", ["A[i]", "A[N]"], "A[N] wcr(sum)").replace("0:N]", "0:1]");
    let refused = refuses_rightly(&own, &TaskletFission::default());
    assert!(refused.contains("`A` may hold the element to which the other terms are added"), "{refused}");
}

#[test]
fn elements_of_streams_are_taken_once() {
    let popped = "sdfg p {
  symbol N: i64
  array A: f64[N + 1]
  scalar B: f64
  transient stream S: f64
  state s {
    access A
    access S
    access B
    A -> S: A[0:N + 1] -> S
    map m [i = 0:N] {
      tasklet t (a) -> (o) { o = a * a + 3 * a }
      m.S -> t.a: S
      t.o -> m.B: B wcr(sum)
    }
    S -> m.S
    m.B -> B
  }
}";
    let refused = refuses_rightly(popped, &TaskletFission::default());
    assert!(refused.contains("`S` is a stream"), "{refused}");
}

/// Halves would be converted to integers one by one.
#[test]
fn values_of_other_tasklets_have_their_own_type() {
    let halves = "sdfg p {
  array A: f64[2]
  scalar s: i32
  state s {
    access A
    access s
    tasklet p (a) -> (x: f64, y: f64) { x = 0.5 + a * a; y = 0.5 + a * a }
    tasklet add (x, y) -> (o) { o = x + y }
    A -> p.a: A[1]
    p.x -> add.x
    p.y -> add.y
    add.o -> s: s wcr(sum)
  }
}";
    let refused = refuses_rightly(halves, &TaskletFission::default());
    assert!(refused.contains("gets a value straight from another tasklet"), "{refused}");
}

/// A term waits for what the other terms' inputs wait for.
#[test]
fn terms_keep_the_order_of_the_tasklet() {
    let ordered = "sdfg p {
  symbol N: i64
  array A: f64[N + 1]
  array B: f64[N + 1]
  transient scalar t: f64
  state s {
    access B
    access first = B
    access t
    access b = A
    tasklet init () -> (o) { o = 7 }
    tasklet add (u, v) -> (o) { o = u + v }
    init.o -> first: B[0]
    first -> t: B[0] -> t
    t -> add.u: t
    b -> add.v: A[0]
    add.o -> B: B[0] wcr(sum)
  }
}";
    let text = applies(ordered, &TaskletFission::default());
    assert!(text.contains("order t -> "), "{text}");
}
