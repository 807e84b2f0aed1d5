//! Property tests: canonical expressions have the value of their source, wherever it is defined.

use std::collections::BTreeMap;

use num_traits::ToPrimitive;
use proptest::prelude::*;

use super::tree::{NAMES, at, constants, point, polynomial, tree};
use crate::subset::Range;
use crate::symbolic::{Assumptions, EvalError, Expr, NotPureKind, ParseExprError, Rational, Symbol};

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn construction_keeps_the_value(tree in tree(), points in prop::collection::vec(point(), 4)) {
        let expression = tree.to_expr();
        for point in points {
            let Some(value) = tree.value(&point) else { continue };
            prop_assert_eq!(expression.eval_exact(&at(&point)), Ok(value.clone()), "{}", expression);
            let integer = expression.eval(&at(&point));
            match (value.is_integer(), value.to_i64()) {
                (false, _) => prop_assert_eq!(integer, Err(EvalError::NotIntegral { value })),
                (true, None) => prop_assert_eq!(integer, Err(EvalError::Overflow)),
                (true, Some(value)) => prop_assert_eq!(integer, Ok(value)),
            }
        }
    }

    #[test]
    fn substitution_keeps_the_value(tree in tree(), inner in polynomial(), point in point()) {
        let expression = tree.to_expr();
        let Some(value) = inner.value(&point).and_then(|value| value.to_i64()) else { return Ok(()) };
        let mut moved = point;
        moved[1] = value;
        moved[2] = point[1];
        let Some(expected) = tree.value(&moved) else { return Ok(()) };
        let replacements = BTreeMap::from([
            (Symbol::of("a"), inner.to_expr()),
            (Symbol::of("b"), Expr::sym("a")),
        ]);
        let substituted = expression.substitute(&replacements);
        prop_assert_eq!(substituted.eval_exact(&at(&point)), Ok(expected.clone()), "{}", substituted);
        // With constants for all symbols, nothing is left.
        prop_assert_eq!(expression.substitute(&constants(&moved)).as_rational(), Some(expected), "{}", expression);
    }

    #[test]
    fn a_successor_is_one_more(a in tree(), b in tree()) {
        let (a, b) = (a.to_expr(), b.to_expr());
        prop_assert!((&a + 1).is_next_to(&a), "{}", a);
        for (a, b) in [(&a, &b), (&a, &a), (&a, &(&a + 1)), (&(&a + 2), &(&a + 1))] {
            prop_assert_eq!(a.is_next_to(b), (a - b).is_one(), "{}, {}", a, b);
        }
    }

    #[test]
    fn rebuilding_changes_nothing(tree in tree()) {
        let expression = tree.to_expr();
        let identity = NAMES.iter().map(|name| (Symbol::of(name), Expr::sym(name))).collect();
        prop_assert_eq!(expression.substitute(&identity), expression);
    }

    #[test]
    fn printing_reads_back(tree in tree()) {
        let expression = tree.to_expr();
        let text = expression.to_string();
        // Literals have 64 bits: greater constants can be computed and shown, but no program can hold one.
        let readable = |number: &str| number.len() < 20;
        prop_assume!(text.split(|c: char| !c.is_ascii_digit()).all(readable));
        let read = text.parse::<Expr>();
        // So it is with powers of constants that are beyond all that is computed with: they are refused when they are read.
        let is_beyond = |error: &ParseExprError| {
            matches!(error, ParseExprError::NotPure(found) if matches!(found.kind, NotPureKind::PowerTooLarge))
        };
        prop_assume!(!read.as_ref().is_err_and(is_beyond));
        prop_assert_eq!(read, Ok(expression), "{}", text);
    }

    #[test]
    fn equal_polynomials_are_one_value(
        a in polynomial(),
        b in polynomial(),
        c in polynomial(),
        points in prop::collection::vec(point(), 4),
    ) {
        let (a, b, c) = (a.to_expr(), b.to_expr(), c.to_expr());
        prop_assert_eq!(&a - &b + &b, a.clone());
        let product = ((&a + &b) * &c, &c * &b + &a * &c);
        let square = ((&a + &b).pow(&Expr::int(2)), &a * &a + &b * &b + &a * &b * 2);
        for (one, other) in [product, square] {
            // A sum may be too long to be multiplied out where its parts are not: then the forms differ, and the values do not.
            if one.has_sum() || other.has_sum() {
                let longest = [&a, &b, &c].map(|e| e.view().terms.len()).into_iter().max();
                prop_assert!(longest > Some(4), "{} and {}", one, other);
                for point in &points {
                    prop_assert_eq!(one.eval_exact(&at(point)), other.eval_exact(&at(point)));
                }
            } else {
                prop_assert_eq!(one, other);
            }
        }
        if !b.is_zero() {
            prop_assert_eq!((&a * &b).exact_div(&b), Some(a));
        }
    }

    #[test]
    fn exact_division_multiplies_back(a in polynomial(), b in polynomial()) {
        let (a, b) = (a.to_expr(), b.to_expr());
        if let Some(quotient) = a.exact_div(&b) {
            prop_assert_eq!(quotient * b, a);
        }
    }

    #[test]
    fn integrality_agrees_with_values(tree in tree(), points in prop::collection::vec(point(), 8)) {
        let truth = tree.to_expr().is_integral(&Assumptions::new());
        for point in points {
            let Some(value) = tree.value(&point) else { continue };
            prop_assert!(!truth.is_proved() || value.is_integer(), "{}", tree.to_expr());
            prop_assert!(!truth.is_refuted() || !value.is_integer(), "{}", tree.to_expr());
        }
    }

    #[test]
    fn sums_agree_with_adding_up(
        tree in polynomial(),
        divisor in 1_i64..4,
        begin in -5_i64..5,
        count in 0_i64..8,
        step in prop_oneof![-3_i64..=-1, 1_i64..=3],
        point in point(),
    ) {
        let summand = tree.to_expr().exact_div(&Expr::int(divisor)).unwrap();
        // The end is symbolic, so that the closed form is one.
        let range = Range::new(begin, Expr::sym("M")).with_step(step);
        let Some(closed) = summand.sum_over(&Symbol::of("i"), &range) else {
            prop_assert!(summand.depends_on(&Symbol::of("i")));
            return Ok(());
        };
        prop_assert!(!closed.depends_on(&Symbol::of("i")));
        let mut expected = Rational::from_integer(0.into());
        for k in 0..count {
            let mut point = point;
            point[3] = begin + k * step;
            expected += tree.value(&point).unwrap() / Rational::from_integer(divisor.into());
        }
        let environment = |symbol: &Symbol| {
            if symbol.as_str() == "M" { Some(begin + count * step) } else { at(&point)(symbol) }
        };
        prop_assert_eq!(closed.eval_exact(&environment), Ok(expected), "{}", closed);
    }

    #[test]
    fn affine_parts_add_up(tree in tree()) {
        let expression = tree.to_expr();
        let symbol = Symbol::of("i");
        if let Some((coefficient, rest)) = expression.linear_in(&symbol) {
            prop_assert!(!coefficient.depends_on(&symbol) && !rest.depends_on(&symbol));
            prop_assert_eq!(coefficient * Expr::symbol(symbol) + rest, expression);
        }
    }
}

/// The smallest sums of this kind: each is multiplied out by itself, and both together are not.
#[test]
fn sums_at_the_limit_have_two_forms_of_one_value() {
    let sum = |n: usize, name: &str| -> Expr { (0..n).map(|k| Expr::sym(&format!("{name}{k}"))).sum() };
    let (a, b) = (sum(15, "x"), sum(2, "y"));
    let two = Expr::int(2);
    assert!(!a.pow(&two).has_sum() && !(&a * &b).has_sum() && (&a + &b).pow(&two).has_sum());
    assert_eq!(a.pow(&two), &a * &a);
    let (one, other) = ((&a + &b).pow(&two), &a * &a + &b * &b + &a * &b * 2);
    assert_ne!(one, other);
    let environment = |_: &Symbol| Some(3);
    assert_eq!(one.eval_exact(&environment), other.eval_exact(&environment));
}

#[test]
fn large_products_stay_factored() {
    let sum: Expr = (0..40).map(|k| Expr::sym(&format!("x{k}"))).sum();
    let square = (&sum + 1).pow(&Expr::int(2));
    let product = (&sum + 1) * (&sum + 1);
    assert_eq!(square, product);
    assert!(square.view().terms.len() < 3);
    let environment = |_: &Symbol| Some(2);
    assert_eq!(square.eval(&environment), Ok(81 * 81));
    assert_eq!(square.exact_div(&(&sum + 1)), None);
    assert_eq!((&product * 3 - product.clone() * 3), Expr::zero());
    let cube = (sum.clone() * 2 + 2).pow(&Expr::int(3));
    assert_eq!(cube, square * (sum + 1) * 8);
}

#[test]
fn huge_powers_are_not_computed() {
    let huge = Expr::int(i64::from(u32::MAX));
    assert!(Expr::int(3).pow(&huge).as_rational().is_none());
    assert_eq!(Expr::int(3).pow(&huge).eval(&|_| None), Err(EvalError::Overflow));
    assert_eq!(Expr::int(-1).pow(&huge).as_int(), Some(-1));
    let power = Expr::sym("N").pow(&huge) * Expr::sym("N").pow(&huge);
    assert_eq!(power.eval(&|_| Some(1)), Ok(1));
    assert_eq!((Expr::sym("N") + 1).pow(&huge).eval(&|_| Some(0)), Ok(1));
}

#[test]
fn powers_of_numbers_that_are_never_computed_have_no_value() {
    let tower = Expr::int(2).pow(&Expr::int(65_536));
    assert_eq!(tower.never_evaluates(), Some(EvalError::Overflow));
    assert_eq!((Expr::sym("N") + Expr::int(2).pow(&tower)).never_evaluates(), Some(EvalError::Overflow));
    assert_eq!(Expr::int(2).pow(&Expr::sym("N")).never_evaluates(), None);
    assert_eq!(Expr::sym("N").pow(&tower).never_evaluates(), Some(EvalError::Overflow));
    for text in ["2 ** 2 ** 65536", "1 << 2 ** 65536", "N % 3 ** 3 ** 30"] {
        let error = text.parse::<Expr>().unwrap_err().to_string();
        assert!(error.contains("this power of numbers is too large"), "{error}");
    }
}
