//! Empty states, and branches that are decided.

use sdfg_transforms::fixed_point;
use sdfg_transforms::rewrites::{DeadStateElimination, StateElimination};

use super::{difference, program};

/// The text after all applications; the results stay.
fn simpler(before: &sdfg::ir::Sdfg) -> String {
    let mut after = before.clone();
    let both = [
        Box::new(DeadStateElimination::default()) as Box<dyn sdfg_transforms::Transformation>,
        Box::new(StateElimination::default()),
    ];
    fixed_point(&mut after, &both, None);
    let text = sdfg::text::print(&after);
    let problem = difference(before, &after, 5);
    assert!(problem.is_none(), "{problem:?}\n{text}");
    text
}

const COPY: &str = "access A\naccess B\nA -> B";

#[test]
fn the_last_empty_state_of_a_region_goes() {
    let last = program(&format!(
        "for l: i = 0:N {{\n state work {{\n{COPY}\n }}\n -> latch\n state latch {{}}\n}}\n-> rest\nstate rest {{}}"
    ));
    let text = simpler(&last);
    assert!(!text.contains("latch") && !text.contains("rest"), "{text}");
    // Without it, the third transition would be taken.
    let behind = program(&format!(
        "state first {{}}\n-> work if N < 0\n-> last\n-> work\nstate work {{\n{COPY}\n}}\nstate last {{}}"
    ));
    let text = simpler(&behind);
    assert!(text.contains("last") || !text.contains("A -> B"), "{text}");
    // The symbol is read behind the loop.
    let assigned = program(
        "for l: i = 0:N {\n state first {}\n -> last with (k = i)\n state last {}\n}\n-> work\nstate work {\naccess A\naccess B\nA -> B: A[k] -> B[0]\n}",
    );
    assert!(simpler(&assigned).contains("last"));
}

#[test]
fn assignments_of_two_transitions_become_those_of_one() {
    let text = |second: &str| {
        let program = program(&format!(
            "state first {{\naccess B\ntasklet t () -> (b) {{ b = 1 }}\nt.b -> B: B[0]\n}}\n-> between with (k = N - 2, l = 1)\nstate between {{}}\n
             -> last with ({second})\nstate last {{\naccess A\naccess C\nA -> C: A[k] -> C[l]\n}}"
        ));
        simpler(&program)
    };
    let joined = text("l = 2");
    assert!(joined.contains("(k = N - 2, l = 2)") && !joined.contains("between"), "{joined}");
    // It reads the new value, and assignments of one transition read the old ones.
    assert!(text("l = k").contains("between"));
}

#[test]
fn blocks_of_a_certain_arm_take_the_place_of_the_branch() {
    let certain = program(&format!(
        "state first {{\naccess C\ntasklet t () -> (c) {{ c = 1 }}\nt.c -> C: C[0]\n}}\n-> q\nif q: N >= 0 {{\n
          for l: i = 0:N {{\n state work {{\n{COPY}\n }}\n }}\n}} else {{\n state other {{\n access A\naccess C\nA -> C\n }}\n}}\n
          -> last\nstate last {{\naccess B\naccess C\nB -> C\n}}"
    ));
    let text = simpler(&certain);
    assert!(!text.contains("if ") && !text.contains("other") && text.contains("for "), "{text}");
}
