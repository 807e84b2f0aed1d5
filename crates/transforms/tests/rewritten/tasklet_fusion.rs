//! Tasklets that become one.

use sdfg_transforms::matches;
use sdfg_transforms::rewrites::TaskletFusion;

use super::support::{applies, page_is_true, parsed, refuses};

#[test]
fn the_page_is_true() {
    page_is_true(&TaskletFusion::default());
}

/// A state over vectors `A` to `C` and scalars.
fn program(contents: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N + 2]
  array B: f64[N + 2]
  array C: f64[N + 2]
  transient scalar x: f64
  transient scalar single: f32
  transient scalar y: f64
  state s {{
{contents}
  }}
}}"
    )
}

/// The tasklet `one` computes a scalar for the tasklet `two`.
fn chain(one: &str, scalar: &str, two: &str) -> String {
    program(&format!(
        "access A\naccess {scalar}\naccess B\ntasklet one (a) -> (o) {{ {one} }}\ntasklet two (a, b) -> (o) {{ {two} }}\n
        A -> one.a: A[0]\none.o -> {scalar}: {scalar}\n{scalar} -> two.a: {scalar}\nA -> two.b: A[1]\ntwo.o -> B: B[N]"
    ))
}

#[test]
fn names_of_both_tasklets_stay_apart() {
    // `a` and `o` mean other elements in the second tasklet, and `t` is a local of both.
    let text =
        applies(&chain("t = a + 1; o = t * a", "x", "t = a - b; o = t * a"), &TaskletFusion::default());
    assert!(text.contains("x: f64 = t_1 * a_1") && !text.contains("scalar x"), "{text}");
    // The symbol `N` of the first one is a local of the second one.
    let captured = chain("o = a + N", "x", "N: f64 = b; o = a + N");
    assert!(refuses(&captured, &TaskletFusion::default()).contains("another meaning"));
}

#[test]
fn the_scalar_rounds_as_before() {
    let text = applies(&chain("o = f32(a) / 3", "single", "o = a * 3 + b"), &TaskletFusion::default());
    assert!(text.contains("single: f32 = "), "{text}");
}

#[test]
fn equal_elements_are_read_once() {
    let same = chain("o = a + 1", "x", "o = a * b").replace("A -> two.b: A[1]", "A -> two.b: A[0]");
    let text = applies(&same, &TaskletFusion::default());
    assert_eq!(text.matches("A ->").count(), 1, "{text}");
}

#[test]
fn a_chain_in_a_map_becomes_one_tasklet() {
    let map = program(
        "access A\naccess B\nmap m [i = 0:N] {\ntasklet one (a) -> (o) { o = a + i }\naccess x\n
        tasklet two (a) -> (o) { o = a * a }\nm.p -> one.a: A[i]\none.o -> x: x\nx -> two.a: x\ntwo.o -> m.q: B[i]\n}\n
        A -> m.p\nm.q -> B",
    );
    let text = applies(&map, &TaskletFusion::default());
    assert!(!text.contains("tasklet one") && !text.contains("access x"), "{text}");
}

/// Code would assign to them.
#[test]
fn no_variable_gets_the_name_of_a_symbol() {
    let map = program(
        "access A\naccess B\nmap m [t_1 = 0:N] {\ntasklet one (a) -> (o) { t = a + t_1; u = t; o = u }\naccess x\n
        tasklet two (a) -> (o) { t = a; u = t; o = u }\nm.p -> one.a: A[t_1]\none.o -> x: x\nx -> two.a: x\n
        two.o -> m.q: B[t_1]\n}\nA -> m.p\nm.q -> B",
    );
    let later = "\n  }\n  for l: u_1 = 0:N {\n    state v {\n      access C\n      tasklet t () -> (o) { o = u_1 }\n      t.o -> C: C[u_1]\n    }\n  }\n}";
    let map = format!("{}{later}", map.strip_suffix("\n  }\n}").expect("the end of the state"));
    let text = applies(&map, &TaskletFusion::default());
    assert!(text.contains("t_2 = a_1 + t_1") && text.contains("u_2 = t_2"), "{text}");
}

#[test]
fn scalars_that_others_read_stay() {
    let twice = chain("o = a + 1", "x", "o = a * b").replace(
        "two.o -> B: B[N]",
        "two.o -> B: B[N]\ntasklet three (a) -> (o) { o = a }\naccess C\nx -> three.a: x\nthree.o -> C: C[0]",
    );
    assert!(refuses(&twice, &TaskletFusion::default()).contains("not all that goes to the second tasklet"));
    let later = chain("o = a + 1", "x", "o = a * b").replace(
        "\n  }\n}",
        "\n  }\n  -> t\n  state t {\n    access x\n    access C\n    x -> C: x -> C[0]\n  }\n}",
    );
    assert!(refuses(&later, &TaskletFusion::default()).contains("is used elsewhere, too"));
}

#[test]
fn long_code_and_branches_stay() {
    let long = vec!["t = a"; 15].join("; ") + "; o = t + a";
    let refused = refuses(&chain(&long, "x", "o = a * b"), &TaskletFusion::default());
    assert!(refused.contains("too many statements"), "{refused}");
    let most = vec!["t = a"; 14].join("; ") + "; o = t + a";
    applies(&chain(&most, "x", "o = a * b"), &TaskletFusion::default());
    let branch = chain("if a > 0: o = a", "x", "o = a * b");
    assert_eq!(matches(&parsed(&branch), &TaskletFusion::default()), []);
}

#[test]
fn what_waits_for_the_first_tasklet_waits_for_the_second() {
    // The element is overwritten when the first tasklet has read it.
    let waits = |more: &str| {
        chain("o = a + 1", "x", "o = a * b").replace(
            "two.o -> B: B[N]",
            &format!(
                "two.o -> B: B[N]\ntasklet five () -> (o) {{ o = 5 }}\naccess later = A\nfive.o -> later: A[0]\n{more}"
            ),
        )
    };
    let text = applies(&waits("order x -> five\norder two -> five"), &TaskletFusion::default());
    assert_eq!(text.matches("order two -> five").count(), 1, "{text}");
    let text = applies(&waits("order x -> five"), &TaskletFusion::default());
    assert!(text.contains("order two -> five"), "{text}");
    let refused = refuses(
        &waits("order one -> five\naccess C\nlater -> C: A[0] -> C[0]\norder C -> two"),
        &TaskletFusion::default(),
    );
    assert!(refused.contains("waits for `five`"), "{refused}");
}
