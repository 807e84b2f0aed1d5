//! Maps that read the same container become one: by proofs, and by force.

use sdfg_transforms::rewrites::SiblingMapFusion;
use sdfg_transforms::{Pipeline, Step};

use super::support::{applies, parsed, refuses, refuses_rightly};

/// Two maps that read `A`, of which the second has this range, computes this, and combines into this element. `more` is in the
/// state, too.
fn program(range: &str, code: &str, to: &str, more: &str) -> String {
    let target = to.split('[').next().unwrap_or_default();
    format!(
        "sdfg p {{
  symbol N: i64
  symbol M: i64
  array A: f64[N + 2, M + 2]
  array q: f64[N + M + 2]
  array s: f64[N + M + 2]
  state s {{
    access A
    access q
    access target = {target}
    map m [i = 0:N, j = 0:M] {{
      tasklet f (x) -> (y) {{ y = 2 * x + i }}
      m.A -> f.x: A[i, j]
      f.y -> m.q: q[i] wcr(sum)
    }}
    map n [k = {range}] {{
      tasklet g (x) -> (y) {{ {code} }}
      n.A -> g.x: A[k, l]
      g.y -> n.o: {to} wcr(sum)
    }}
    A -> m.A
    m.q -> q
    A -> n.A
    n.o -> target
{more}
  }}
}}"
    )
}

const CODE: &str = "y = x - 3 * k + l";

#[test]
fn maps_over_the_same_range_read_together() {
    let text = applies(&program("0:N, l = 0:M", CODE, "s[l]", ""), &SiblingMapFusion::default());
    assert_eq!(text.matches("map ").count(), 1, "{text}");
    assert!(
        text.contains("map m.fused0 [i = 0:N, j = 0:M]") || text.contains("fused0\" [i = 0:N, j = 0:M]"),
        "{text}"
    );
    assert!(text.contains("A[i, j]") && text.contains("s[j] wcr(sum)") && text.contains("3 * i"), "{text}");
}

#[test]
fn other_ranges_give_other_results() {
    let shorter =
        refuses_rightly(&program("0:N + 1, l = 0:M", CODE, "s[l]", ""), &SiblingMapFusion::default());
    assert!(shorter.contains("has the range [0:N") || shorter.contains("and the first map"), "{shorter}");
    let swapped = refuses(&program("0:M, l = 0:N", "y = x", "s[l]", ""), &SiblingMapFusion::default());
    assert!(swapped.contains("has the range"), "{swapped}");
}

/// Nothing orders the maps, so such a program has no meaning.
#[test]
fn maps_that_one_writes_for_stay_apart() {
    let text = program("0:N, l = 0:M", "y = x", "A[k + 1, l]", "");
    let refused = refuses(&text, &SiblingMapFusion::default());
    assert!(refused.contains("`A` is written by one of the maps and used by the other"), "{refused}");
}

#[test]
fn an_order_between_the_maps_is_kept() {
    let ordered = program("0:N, l = 0:M", CODE, "s[l]", "    order q -> n");
    let refused = refuses(&ordered, &SiblingMapFusion::default());
    assert!(refused.contains("is ordered with the first map"), "{refused}");
    // In the other direction, too.
    let behind = program("0:N, l = 0:M", CODE, "s[l]", "    order target -> m");
    let refused = refuses(&behind, &SiblingMapFusion::default());
    assert!(refused.contains("is ordered with the first map"), "{refused}");
}

#[test]
fn an_order_is_no_read() {
    let text = program("0:N, l = 0:M", "y = x", "s[l]", "")
        .replace("    A -> m.A\n", "    access B = B\n    B -> m.A\n    order A -> m\n")
        .replace("m.A -> f.x: A[i, j]", "m.A -> f.x: B[i, j]")
        .replace("  array q:", "  array B: f64[N + 2, M + 2]\n  array q:");
    parsed(&text);
    let refused = refuses(&text, &SiblingMapFusion::default());
    assert!(refused.contains("is not read by both maps"), "{refused}");
}

/// Maps `m0` and on that read `A`, each over its own row or all over the same range.
fn many(n: usize, range: impl Fn(usize) -> String) -> String {
    let mut text = String::from("sdfg p {\n  symbol N: i64\n  array A: f64[N]\n");
    for at in 0..n {
        text += &format!("  array T{at}: f64[N]\n");
    }
    text += "  state s {\n    access A\n";
    let mut edges = String::new();
    for at in 0..n {
        text += &format!(
            "    access T{at}\n    map m{at} [i = {}] {{\n      tasklet t{at} (x) -> (y) {{ y = x + {at} }}\n",
            range(at)
        );
        text += &format!("      m{at}.A -> t{at}.x: A[i]\n      t{at}.y -> m{at}.T: T{at}[i]\n    }}\n");
        edges += &format!("    A -> m{at}.A\n    m{at}.T -> T{at}\n");
    }
    text + &edges + "  }\n}\n"
}

#[test]
fn many_maps_around_one_container_are_listed_with_their_next_ones() {
    let places = |text: &str| sdfg_transforms::places(&parsed(text), &SiblingMapFusion::default()).len();
    let same = |_| "0:N".to_owned();
    assert_eq!(places(&many(9, same)), 9 * 8 / 2);
    assert_eq!(places(&many(100, same)), 8 * 7 / 2 + 8 * (100 - 8));
    // Constant ranges that differ are no pairs.
    assert_eq!(places(&many(100, |at| format!("{at}:{at} + 1"))), 0);
    let every_second = |at: usize| if at.is_multiple_of(2) { "0:N".to_owned() } else { "1:N".to_owned() };
    assert_eq!(places(&many(6, every_second)), 3 + 3);
}

#[test]
fn paths_reach_maps_that_are_not_listed_together() {
    let text = many(20, |_| "0:N".to_owned());
    for (first, second) in [("m0", "m19"), ("m19", "m0")] {
        let mut pipeline = Pipeline::on(parsed(&text));
        let step = SiblingMapFusion::at(first, second);
        pipeline.apply(step).unwrap_or_else(|error| panic!("{first}, {second}: {error}"));
        let after = sdfg::text::print(pipeline.program());
        assert_eq!(after.matches("map ").count(), 19, "{after}");
        assert!(
            after.contains(&format!("map {first}.fused0")) || after.contains("fused0\" [i = 0:N]"),
            "{after}"
        );
    }
    let refused = Pipeline::on(parsed(&text)).apply(SiblingMapFusion::at("m0", "t3")).map(|_| ());
    let message = refused.expect_err("a tasklet is no map").to_string();
    assert!(message.contains("m0"), "{message}");
}

#[test]
fn all_maps_become_one_at_every_place() {
    let mut pipeline = Pipeline::on(parsed(&many(30, |_| "0:N".to_owned())));
    let step = Step::from(SiblingMapFusion::default()).everywhere(None);
    pipeline.apply(step).expect("it applies");
    assert_eq!(sdfg::text::print(pipeline.program()).matches("map ").count(), 1);
}

/// Two maps that read `A`. The second one has these parameters, and computes by a transient of this size.
fn with_transient(first: &str, second: &str, size: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  symbol i: i64
  array A: f64[N]
  array B: f64[N, N]
  array C: f64[N, N]
  transient array T: f64[{size}]
  state s {{
    access A
    access B
    access C
    map m [{first} = 0:N, k = 0:N] {{
      tasklet t (x) -> (y) {{ y = 2.0 * x }}
      m.A -> t.x: A[{first}]
      t.y -> m.B: B[{first}, k]
    }}
    map n [{second}] {{
      access T
      tasklet v (x) -> (y) {{ y = x + j }}
      n.A -> v.x: A[j]
      v.y -> T: T[0]
      tasklet w (x) -> (y) {{ y = x }}
      T -> w.x: T[0]
      w.y -> n.C: C[j, l]
    }}
    A -> m.A
    A -> n.A
    m.B -> B
    n.C -> C
  }}
}}"
    )
}

/// The symbol of the program is not the parameter of the first map that has its name.
#[test]
fn ranges_of_outer_symbols_are_not_those_of_parameters() {
    let text = with_transient("i", "j = 0:N, l = 0:i", "1").replace("k = 0:N", "k = 0:i");
    let refused = refuses(&text, &SiblingMapFusion::default());
    assert!(refused.contains("uses the symbol `i`, a parameter of the first map"), "{refused}");
}

/// Sizes of containers are not part of a scope, so their symbols would keep their names.
#[test]
fn maps_whose_parameters_size_containers_stay_apart() {
    for (first, size) in [("o", "j + 1"), ("i", "i")] {
        let text = with_transient(first, "j = 0:N, l = 0:N", size);
        let refused = refuses(&text, &SiblingMapFusion::default());
        assert!(refused.contains("`T` has a size with the parameter"), "{refused}");
    }
    // The same name stays.
    applies(&with_transient("j", "j = 0:N, l = 0:N", "j + 1"), &SiblingMapFusion::default());
}
