//! Loops that are divided: into two loops over parts of their body, and into strips of iterations.

use sdfg::ir::Sdfg;
use sdfg_transforms::rewrites::{LoopFission, LoopStripMining};
use sdfg_transforms::{TransformError, Transformation, apply};

use super::{REFUSED, TAKEN, difference, first_match, force, program};

/// Bodies whose first statement may run in all iterations before the others.
const DIVIDED: [&str; 10] = [
    "for i = 0:N {; a[i] = b[i] + 1; c[i] = a[i] + 2; }",
    "for i = 0:N {; a[i + 1] = b[i] + 1; c[i] = a[i] + 2; }",
    "for i = 0:N {; a[i] = b[i + 1] + 1; b[i] = c[i] + 2; }",
    "for i = N - 1:-1:-1 {; a[i] = b[i] + 1; c[i] = a[i + 1] + 2; }",
    "for i = N - 1:-1:-1 {; a[i + 1] = b[i] + 1; b[i + 1] = c[i] + 2; }",
    "for i = 0:N:2 {; a[i] = b[i] + 1; c[i] = a[i + 1] + 2; }",
    "for i = 0:N {; a[i + 1] = b[i] + 1; a[i] = c[i] + 2; }",
    "for i = 0:N {; a[i + 1] = a[i] + b[i]; c[i + 1] = c[i] + a[i]; }",
    "for i = 0:N {; e[0] += a[i]; e[0] += b[i]; }",
    "for i = 0:N {; e[0] += a[i]; b[i] = c[i] + 1; }",
];

/// Bodies whose first statement may not.
const TOGETHER: [&str; 9] = [
    "for i = 1:N {; a[i] = b[i - 1] + 1; b[i] = c[i] + 2; }",
    "for i = 0:N {; a[i] = b[i] + 1; c[i] = a[i + 1] + 2; }",
    "for i = 0:N {; a[0] = b[i] + 1; c[i] = a[0] + 2; }",
    "for i = 0:N {; a[i] = b[i] + 1; a[i + 1] = c[i] + 2; }",
    "for i = N - 1:0:-1 {; a[i] = b[i + 1] + 1; b[i] = c[i] + 2; }",
    "for i = N - 1:0:-1 {; a[i] = b[i] + 1; c[i] = a[i - 1] + 2; }",
    "for i = 0:N:2 {; a[i] = b[i] + 1; c[i] = a[i + 2] + 2; }",
    "for i = 0:N {; e[0] += a[i]; b[i] = e[0] + 1; }",
    "for i = 0:N {; a[i] = b[N - i] + 1; b[i] = c[i] + 2; }",
];

/// The program after a transformation at its first match.
fn applied(before: &Sdfg, transformation: &dyn Transformation) -> Result<Sdfg, TransformError> {
    let mut after = before.clone();
    apply(&mut after, transformation, &first_match(before, transformation))?;
    Ok(after)
}

#[test]
fn loops_are_divided_where_nothing_comes_back() {
    let first = LoopFission::default();
    for lines in DIVIDED {
        let before = program(lines);
        let after = applied(&before, &first).unwrap_or_else(|error| panic!("{lines}: {error}"));
        let text = sdfg::text::print(&after);
        assert_eq!(text.matches("for ").count(), 2, "{text}");
        assert_eq!(difference(&before, &after), None, "{lines}\n{text}");
    }
}

#[test]
fn parts_that_depend_on_each_other_stay_together() {
    let first = LoopFission::default();
    for lines in TOGETHER {
        let before = program(lines);
        let message = applied(&before, &first).map(|_| ()).expect_err(lines).to_string();
        assert!(message.contains("may touch the same element in a later iteration"), "{lines}: {message}");
        let forced = force(&before, &first).unwrap_or_else(|error| panic!("{lines}: {error}"));
        assert!(difference(&before, &forced).is_some(), "{lines}: the forced rewrite is right");
    }
}

#[test]
fn other_bodies_are_not_divided() {
    let cases = [
        ("for i = 0:N {; a[i] = b[i] + 1; }", 1, "the body has 1 states"),
        ("for i = 0:N {; a[i] = b[i] + 1; c[i] = d[i] + 1; }", 0, "the body has 2 states"),
        ("for i = 0:N {; a[i] = b[i] + 1; c[i] = d[i] + 1; }", 2, "the body has 2 states"),
        ("for i = 0:N {; for j = 0:N {; aa[i, j] = b[i] + 1; }; c[i] = d[i] + 1; }", 1, "is no state"),
        ("for i = 0:N {; if N > 3 {; a[i] = b[i] + 1; }; c[i] = d[i] + 1; }", 1, "is no state"),
        ("for i = 0:N {; a[i] = b[i] + 1; if a[i] > 0 {; break; }; }", 1, "may be left early"),
    ];
    for (lines, count, reason) in cases {
        let message =
            applied(&program(lines), &LoopFission { count }).map(|_| ()).expect_err(lines).to_string();
        assert!(message.contains(reason), "{lines}: {message}");
    }
}

/// The loops of the other tests: those that are divided give the same results.
#[test]
fn all_loops_are_divided_rightly() {
    let mut divided = 0;
    for (name, lines) in TAKEN.iter().chain(REFUSED) {
        for count in [1, 2] {
            let before = program(lines);
            let Ok(after) = applied(&before, &LoopFission { count }) else { continue };
            divided += 1;
            assert_eq!(difference(&before, &after), None, "{name}\n{}", sdfg::text::print(&after));
        }
    }
    assert!(divided >= 8, "{divided}");
}

#[test]
fn strips_have_the_iterations_of_a_loop_in_their_order() {
    let mut n_strips = 0;
    for (name, lines) in TAKEN.iter().chain(REFUSED) {
        for size in [1, 3] {
            let before = program(lines);
            let Ok(after) = applied(&before, &LoopStripMining { size }) else { continue };
            n_strips += 1;
            assert_eq!(difference(&before, &after), None, "{name}, {size}\n{}", sdfg::text::print(&after));
        }
    }
    assert!(n_strips >= 150, "{n_strips}");
    let message =
        applied(&program(DIVIDED[0]), &LoopStripMining { size: 0 }).map(|_| ()).expect_err("a refusal");
    assert!(message.to_string().contains("it is not greater than 0"), "{message}");
}
