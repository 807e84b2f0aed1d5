//! LoopToMap of loops whose iterations depend on each other.

use sdfg_transforms::rewrites::LoopToMap;

use super::refuses_everywhere;
use super::support::{applies, difference, parsed};

#[test]
fn issue_2247_output_dependences_are_refused() {
    let reasons = refuses_everywhere(&parsed(include_str!("2247.sdft")), &LoopToMap::default());
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    for reason in reasons {
        assert!(reason.contains("may touch the same element in different iterations"), "{reason}");
    }
}

#[test]
fn issue_2382_symbols_of_the_iteration_before_are_refused() {
    let before = parsed(include_str!("2382.sdft"));
    let reasons = refuses_everywhere(&before, &LoopToMap::default());
    assert!(reasons[0].contains("reads `last` in an iteration before it is set there"), "{reasons:?}");
    // Each iteration sets what it reads: the loop becomes a map.
    let own = include_str!("2382.sdft").replace(
        "    state s {",
        "    state first {\n    }\n    -> s with (last = N - 1 - i)\n    state s {",
    );
    applies(&own, &LoopToMap::default());
}

/// Sums have no order, so that they may meet. Additions of a tasklet that reads its element may not.
#[test]
fn issue_1528_sums_of_neighbours_meet_in_a_map_and_other_additions_do_not() {
    let text = include_str!("1528.sdft");
    let map = applies(text, &LoopToMap::default());
    assert_eq!(map.matches("wcr(sum)").count(), 3, "{map}");
    let written = parsed(&map.replace(" wcr(sum)", ""));
    assert!(difference(&parsed(text), &written).is_some());
}

/// Loops that go down become maps that go down.
#[test]
fn issue_2333_loops_that_count_downwards_keep_their_range() {
    let text = include_str!("2333.sdft");
    let (begin, end) = (text.find("    map m").expect("a map"), text.find("    A -> m.A").expect("an edge"));
    let body = "tasklet t (x) -> (y) { y = 2 * x - i }\n A -> t.x: A[i]\n t.y -> B: B[N - 1 - i]\n";
    let state = format!("{}{body}  }}\n}}", &text[..begin]);
    let repeated = state.replace("  state s {", "  for l: i = N - 1:-1:-2 {\n  state s {") + "\n}";
    assert!(end > begin);
    let map = applies(&repeated, &LoopToMap::default());
    assert!(map.contains("[i = N - 1:-1:-2]"), "{map}");
    let upwards = parsed(&map.replace("N - 1:-1:-2", "0:N:2"));
    assert!(difference(&parsed(&repeated), &upwards).is_some());
}
