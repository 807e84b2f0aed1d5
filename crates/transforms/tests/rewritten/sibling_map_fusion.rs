//! Maps that read the same container become one: by proofs, and by force.

use sdfg_transforms::rewrites::SiblingMapFusion;

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
