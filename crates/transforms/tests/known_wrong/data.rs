//! Copies and values that are removed.

use sdfg::ir::Sdfg;
use sdfg_transforms::rewrites::{DeadDataflowElimination, RedundantArray, RedundantSecondArray};
use sdfg_transforms::{Registry, Transformation, apply, places, simplify};

use super::support::{difference, parsed};
use super::{at, forced};

/// Applies a transformation wherever it applies, at the first match or at the last one each time.
fn removed(program: &Sdfg, transformation: &dyn Transformation, from_the_end: bool) -> Sdfg {
    let mut program = program.clone();
    loop {
        let mut found = places(&program, transformation);
        if from_the_end {
            found.reverse();
        }
        if !found.iter().any(|found| apply(&mut program, transformation, found).is_ok()) {
            return program;
        }
    }
}

#[test]
fn issue_1595_copies_go_in_any_order() {
    let before = parsed(include_str!("1595.sdft"));
    let (first, second) = (RedundantArray::default(), RedundantSecondArray::default());
    let orders: [&[&dyn Transformation]; 4] = [&[&first, &second], &[&second, &first], &[&first], &[&second]];
    for (at, order) in orders.iter().enumerate() {
        for from_the_end in [false, true] {
            let mut after = before.clone();
            for transformation in *order {
                after = removed(&after, *transformation, from_the_end);
            }
            let text = sdfg::text::print(&after);
            let problem = difference(&before, &after);
            assert!(problem.is_none(), "{problem:?}\n{text}");
            let left = text.matches("transient array").count();
            assert!(left < 2, "order {at} removes nothing:\n{text}");
        }
    }
}

/// The copy that changes the shape has to stay: elements have other indices behind it.
#[test]
fn issue_1595_the_copy_that_reshapes_is_refused() {
    let before = parsed(include_str!("1595.sdft"));
    let transformation = RedundantSecondArray::default();
    let found = at(&before, &transformation, "reshaped/s/input");
    let reason = apply(&mut before.clone(), &transformation, &found).expect_err("a refusal").to_string();
    assert!(reason.contains("has another shape or type than"), "{reason}");
    let wrong = forced(&before, &transformation, &found);
    assert!(wrong.is_err() || wrong.is_ok_and(|wrong| difference(&before, &wrong).is_some()));
}

#[test]
fn issue_1561_inputs_stay_and_what_is_computed_of_them() {
    let before = parsed(include_str!("1561.sdft"));
    let mut after = before.clone();
    let applied = simplify(&mut after, &Registry::standard(), None);
    let text = sdfg::text::print(&after);
    assert!(!applied.is_empty() && text.contains("access X") && text.contains("access Y"), "{text}");
    let problem = difference(&before, &after);
    assert!(problem.is_none(), "{problem:?}\n{text}");
}

/// The wrong step: the products count as dead.
#[test]
fn issue_1561_products_that_the_caller_passed_the_place_for_are_not_dead() {
    let before = parsed(include_str!("1561.sdft"));
    let transformation = DeadDataflowElimination::default();
    let found = at(&before, &transformation, "product/products/call/multiply/T");
    let reason = apply(&mut before.clone(), &transformation, &found).expect_err("a refusal").to_string();
    assert!(reason.contains("is an argument or a constant"), "{reason}");
    let wrong = forced(&before, &transformation, &found).expect("a rewrite");
    assert!(difference(&before, &wrong).is_some());
}
