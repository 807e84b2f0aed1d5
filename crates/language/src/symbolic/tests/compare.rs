//! Tests of comparisons: they never contradict an evaluation, and prove typical statements of programs.

use proptest::prelude::*;

use super::tree::{NAMES, Operator, Point, Tree, at, point, tree};
use crate::symbolic::{Assumptions, Bounds, Expr, Symbol, Truth};

/// Inclusive bounds for each symbol, an offset from an earlier one or a constant.
type Ranges = [(i64, i64); 4];

/// Assumptions `low <= N <= high`, `low <= a`, `N - low <= b <= N + high`, `a <= i <= a + high`.
fn assumptions(ranges: &Ranges) -> Assumptions {
    let symbol = |index: usize| Symbol::of(NAMES[index]);
    let mut assumptions = Assumptions::new();
    let (n, a) = (Expr::sym("N"), Expr::sym("a"));
    assumptions.set_range(
        symbol(0),
        Some(Expr::int(ranges[0].0)),
        Some(Expr::int(ranges[0].0 + ranges[0].1)),
    );
    assumptions.set_range(symbol(1), Some(Expr::int(ranges[1].0)), None);
    assumptions.set_range(symbol(2), Some(&n - ranges[2].0), Some(&n + ranges[2].1));
    assumptions.set_range(symbol(3), Some(a.clone()), Some(&a + ranges[3].1));
    assumptions.assume_nonnegative(Expr::sym("b") - &a);
    assumptions
}

fn admits(assumptions: &Assumptions, point: &Point) -> bool {
    let holds = |expression: &Expr| expression.eval(&at(point)).unwrap() >= 0;
    NAMES.iter().all(|name| {
        let (lower, upper) = assumptions.range_of(&Symbol::of(name));
        lower.is_none_or(|lower| holds(&(Expr::sym(name) - lower)))
            && upper.is_none_or(|upper| holds(&(upper - Expr::sym(name))))
    }) && assumptions.facts().iter().all(holds)
}

const QUOTIENTS: [Operator; 6] =
    [Operator::FloorDiv, Operator::CeilDiv, Operator::Mod, Operator::Min, Operator::Max, Operator::Pow];

/// A small constant, or a symbol plus one.
fn near_symbol() -> impl Strategy<Value = Tree> {
    let symbol = prop::sample::select(vec![0_usize, 1, 3]);
    prop_oneof![
        (-1_i64..=4).prop_map(Tree::Int),
        (symbol, -2_i64..=2).prop_map(|(symbol, offset)| {
            Tree::Binary(Operator::Add, Box::new(Tree::Symbol(symbol)), Box::new(Tree::Int(offset)))
        }),
    ]
}

fn ranges() -> impl Strategy<Value = Ranges> {
    prop::array::uniform4((-3_i64..=3, 0_i64..=6))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn answers_hold_at_every_point(
        a in tree(),
        b in tree(),
        ranges in ranges(),
        points in prop::collection::vec(point(), 48),
    ) {
        let assumptions = assumptions(&ranges);
        let (left, right) = (a.to_expr(), b.to_expr());
        let le = left.le(&right, &assumptions);
        let lt = left.lt(&right, &assumptions);
        let equal = left.equals(&right, &assumptions);
        let divides = left.divides(&right, &assumptions);
        for point in points.iter().filter(|point| admits(&assumptions, point)) {
            let (Some(x), Some(y)) = (a.value(point), b.value(point)) else { continue };
            let agrees = |truth: Truth, holds: bool| truth == Truth::Unknown || truth == Truth::from_bool(holds);
            prop_assert!(agrees(le, x <= y), "{left} <= {right} at {point:?} under {assumptions:?}");
            prop_assert!(agrees(lt, x < y), "{left} < {right} at {point:?} under {assumptions:?}");
            prop_assert!(agrees(equal, x == y), "{left} == {right} at {point:?} under {assumptions:?}");
            let zero = crate::symbolic::Rational::from_integer(0.into());
            let multiple = if x == zero { y == zero } else { (&y / &x).is_integer() };
            if x != zero {
                prop_assert!(agrees(divides, multiple), "{left} | {right} at {point:?}");
            }
        }
    }

    #[test]
    fn tight_answers_hold(
        operator in prop::sample::select(QUOTIENTS.to_vec()),
        operands in (near_symbol(), near_symbol()),
        weight in -2_i64..=2,
        other in near_symbol(),
    ) {
        // 0 <= i <= N - 1 and 1 <= a <= i + 1; bounds that are off by one show.
        let mut assumptions = Assumptions::new();
        assumptions.positive(Symbol::of("N"));
        assumptions.set_range(Symbol::of("i"), Some(Expr::zero()), Some(Expr::sym("N") - 1));
        assumptions.set_range(Symbol::of("a"), Some(Expr::one()), Some(Expr::sym("i") + 1));
        let tree = |operator, a: &Tree, b: &Tree| Tree::Binary(operator, Box::new(a.clone()), Box::new(b.clone()));
        let quotient = tree(operator, &operands.0, &operands.1);
        let difference = tree(Operator::Sub, &other, &tree(Operator::Mul, &Tree::Int(weight), &quotient));
        let expression = difference.to_expr();
        let (nonnegative, positive) = (expression.is_nonnegative(&assumptions), expression.is_positive(&assumptions));
        for n in 1..=5 {
            for (i, a) in (0..n).flat_map(|i| (1..=i + 1).map(move |a| (i, a))) {
                let Some(value) = difference.value(&[n, a, 0, i]) else { continue };
                let agrees = |truth: Truth, holds: bool| truth == Truth::Unknown || truth == Truth::from_bool(holds);
                let zero = crate::symbolic::Rational::from_integer(0.into());
                prop_assert!(agrees(nonnegative, value >= zero), "{expression} at N = {n}, i = {i}, a = {a}");
                prop_assert!(agrees(positive, value > zero), "{expression} at N = {n}, i = {i}, a = {a}");
            }
        }
    }

    #[test]
    fn simplification_keeps_the_value(
        tree in tree(),
        ranges in ranges(),
        points in prop::collection::vec(point(), 48),
    ) {
        let assumptions = assumptions(&ranges);
        let simplified = tree.to_expr().simplify(&assumptions);
        for point in points.iter().filter(|point| admits(&assumptions, point)) {
            let Some(value) = tree.value(point) else { continue };
            prop_assert_eq!(simplified.eval_exact(&at(point)), Ok(value), "{} to {}", tree.to_expr(), simplified);
        }
    }

    #[test]
    fn bounds_hold_and_are_attained(tree in tree(), begin in -4_i64..4, length in 0_i64..6, point in point()) {
        let expression = tree.to_expr();
        let symbol = Symbol::of("i");
        let (begin_expr, last_expr) = (Expr::int(begin), Expr::int(begin + length));
        let bounds = expression.bounds_over(&symbol, &begin_expr, &last_expr, &Assumptions::new());
        check(&bounds, begin, length, |value| {
            let mut point = point;
            point[3] = value;
            tree.value(&point)
        }, &point)?;
    }

    #[test]
    fn triangular_bounds_hold(tree in tree(), size in 1_i64..6, point in point()) {
        let expression = tree.to_expr();
        let ranges = [
            (Symbol::of("a"), Expr::zero(), Expr::sym("N") - 1),
            (Symbol::of("i"), Expr::zero(), Expr::sym("a")),
        ];
        let mut assumptions = Assumptions::new();
        assumptions.positive(Symbol::of("N"));
        let bounds = expression.bounds_over_all(&ranges, &assumptions);
        let mut outer = point;
        outer[0] = size;
        let mut values = Vec::new();
        for a in 0..size {
            for i in 0..=a {
                let mut point = outer;
                (point[1], point[3]) = (a, i);
                let Some(value) = tree.value(&point) else { return Ok(()) };
                values.push(value);
            }
        }
        for (bound, is_lower) in [(&bounds.lower, true), (&bounds.upper, false)] {
            if let Some(bound) = bound
                && let Ok(bound) = bound.eval_exact(&at(&outer))
            {
                prop_assert!(values.iter().all(|value| if is_lower { bound <= *value } else { bound >= *value }),
                    "{expression}: {bounds:?}");
                prop_assert!(!bounds.exact || values.contains(&bound), "{expression}: {bounds:?}");
            }
        }
    }
}

/// Quotients compared with every small constant, and with quotients of neighbours: each answer that is off by one
/// shows at some point of the domain.
#[test]
fn quotients_at_their_bounds() {
    let mut assumptions = Assumptions::new();
    assumptions.positive(Symbol::of("N"));
    assumptions.set_range(Symbol::of("i"), Some(Expr::zero()), Some(Expr::sym("N") - 1));
    let (n, i) = (Expr::sym("N"), Expr::sym("i"));
    let quotients = |a: &Expr, b: &Expr| [a.floor_div(b), a.ceil_div(b), a.modulo(b)];
    let mut expressions = Vec::new();
    for offset in -1..=3 {
        for divisor in [n.clone(), &n + 1, Expr::int(2), Expr::int(3)] {
            for quotient in quotients(&(&i + offset), &divisor) {
                expressions.extend((-1..=2).map(|bound| &quotient - bound));
                for neighbour in quotients(&(&i + 1), &divisor) {
                    expressions.extend((-1..=1).map(|bound| &quotient - &neighbour - bound));
                }
            }
        }
    }
    let points: Vec<(i64, i64)> = (1..=7).flat_map(|n| (0..n).map(move |i| (n, i))).collect();
    let mut decided = 0;
    for expression in &expressions {
        let truth = expression.is_nonnegative(&assumptions);
        decided += usize::from(truth != Truth::Unknown);
        for (n, i) in &points {
            let value = expression.eval(&at(&[*n, 0, 0, *i])).unwrap();
            let agrees = truth == Truth::Unknown || truth == Truth::from_bool(value >= 0);
            assert!(agrees, "{expression} >= 0 is {truth:?} at N = {n}, i = {i}");
        }
    }
    // The list is worth something only if many of its statements are decided.
    assert!(decided * 3 > expressions.len(), "{decided} of {}", expressions.len());
}

/// A parabola over a range is monotone up to the vertex only.
#[test]
fn parabolas_have_exact_bounds_on_one_side_of_the_vertex() {
    let i = Expr::sym("i");
    let mut exact = 0;
    for (square, slope) in [-2_i64, -1, 1, 2].into_iter().flat_map(|a| (-4_i64..=4).map(move |b| (a, b))) {
        let parabola = &i * &i * square + &i * slope;
        for (begin, length) in (-4_i64..=2).flat_map(|begin| (0_i64..=4).map(move |length| (begin, length))) {
            let ends = (Expr::int(begin), Expr::int(begin + length));
            let bounds = parabola.bounds_over(&Symbol::of("i"), &ends.0, &ends.1, &Assumptions::new());
            exact += usize::from(bounds.exact);
            let value =
                |i: i64| Some(crate::symbolic::Rational::from_integer((square * i * i + slope * i).into()));
            check(&bounds, begin, length, value, &[0; 4]).unwrap();
        }
    }
    assert!(exact > 800, "{exact} of 1260");
}

fn check(
    bounds: &Bounds,
    begin: i64,
    length: i64,
    value: impl Fn(i64) -> Option<crate::symbolic::Rational>,
    point: &Point,
) -> Result<(), TestCaseError> {
    let Some(values) = (begin..=begin + length).map(value).collect::<Option<Vec<_>>>() else { return Ok(()) };
    let extremes = [(&bounds.lower, values.iter().min(), true), (&bounds.upper, values.iter().max(), false)];
    for (bound, best, is_lower) in extremes {
        let (Some(bound), Some(best)) = (bound, best) else { continue };
        prop_assert!(!bound.depends_on(&Symbol::of("i")));
        // A bound may be undefined where an atom of it is, such as a quotient by a symbol.
        let Ok(bound) = bound.eval_exact(&at(point)) else { continue };
        prop_assert!(!bounds.exact || bound == *best, "{bounds:?}: {bound} is not {best}");
        prop_assert!(
            if is_lower { bound <= *best } else { bound >= *best },
            "{bounds:?}: {bound} against {best}"
        );
    }
    Ok(())
}

fn shape_assumptions() -> Assumptions {
    let mut assumptions = Assumptions::new();
    for name in ["N", "K", "T"] {
        assumptions.nonnegative(Symbol::of(name));
    }
    assumptions.set_range(Symbol::of("i"), Some(Expr::zero()), Some(Expr::sym("N") - 1));
    assumptions.set_range(Symbol::of("j"), Some(Expr::zero()), Some(Expr::sym("i") - 1));
    assumptions.set_range(Symbol::of("k"), Some(Expr::zero()), Some(Expr::sym("K") - 1));
    assumptions
}

/// What the compiler has to show for ordinary programs; the list grows with what is met.
#[test]
fn shows_what_programs_need() {
    let s = Expr::sym;
    let (n, k, i, j) = (s("N"), s("K"), s("i"), s("j"));
    let four = Expr::int(4);
    let proved = [
        (Expr::zero(), &n * &k),
        (i.clone(), &n - 1),
        (j.clone(), &n - 2),
        (&i * &k + s("k"), &n * &k - 1),
        (j.clone() + 1, i.clone()),
        (&i + &j, &n * 2 - 3),
        (n.floor_div(&four) * 4, n.clone()),
        (i.floor_div(&four), n.floor_div(&four)),
        (Expr::zero(), n.floor_div(&four)),
        (n.clone(), n.ceil_div(&four) * 4),
        (n.modulo(&four), Expr::int(3)),
        (Expr::min(&n, &k), n.clone()),
        (Expr::min(&n, &(&i + 32)), n.clone()),
        (Expr::min(&n, &(&i + 32)) - &i, Expr::int(32)),
        (i.clone() + 1, Expr::min(&n, &(&i + 32))),
        (Expr::zero(), (&n * &n + &n).exact_div(&Expr::int(2)).unwrap()),
        (&i * &i, &n * &n),
        (Expr::zero(), &i * (&n - &i)),
        (Expr::one(), Expr::int(2).pow(&k)),
        (n.floor_div(&(&k + 1)), n.clone()),
        (n.floor_div(&(&k + 1)) * (&k + 1), n.clone()),
        (i.modulo(&(&k + 1)), k.clone()),
        // A larger numerator has the larger quotient, as the ends of parts have.
        ((&n * &s("t")).floor_div(&four), (&n * &s("t") + &n).floor_div(&four)),
        ((&n * &s("t") - &i).floor_div(&four), (&n * &s("t") + &n).floor_div(&four) + &k),
    ];
    let assumptions = shape_assumptions();
    for (a, b) in proved {
        assert_eq!(a.le(&b, &assumptions), Truth::Proved, "{a} <= {b}");
        assert_eq!(b.lt(&a, &assumptions), Truth::Refuted, "{b} < {a}");
    }
    assert_eq!((&i * 2).equals(&(&j * 2 + 1), &assumptions), Truth::Refuted);
    assert_eq!(i.equals(&j, &assumptions), Truth::Refuted);
    let (now, next) = (s("t").modulo(&Expr::int(2)), (s("t") + 1).modulo(&Expr::int(2)));
    assert_eq!(now.equals(&next, &assumptions), Truth::Refuted);
    assert_eq!((&i * 2 + now).equals(&(&j * 2 + next), &assumptions), Truth::Refuted);
    assert_eq!((n.floor_div(&four) * 4 + n.modulo(&four)).equals(&n, &assumptions), Truth::Proved);
    assert_eq!(n.le(&k, &assumptions), Truth::Unknown);
    assert_eq!(four.divides(&(&n * 8 + 4), &assumptions), Truth::Proved);
    assert_eq!(four.divides(&(&n * 8 + 2), &assumptions), Truth::Refuted);
    assert_eq!(four.divides(&n, &assumptions), Truth::Unknown);
}

#[test]
fn powers_with_symbolic_exponents_compare() {
    // The index R**(K - 1) * i + j of a butterfly stays within R**K.
    let (r, k) = (Expr::sym("R"), Expr::sym("K"));
    let block = r.pow(&(&k - 1));
    let mut assumptions = Assumptions::new();
    assumptions.positive(Symbol::of("R")).positive(Symbol::of("K"));
    assumptions.set_range(Symbol::of("i"), Some(Expr::zero()), Some(&r - 1));
    assumptions.set_range(Symbol::of("j"), Some(Expr::zero()), Some(&block - 1));
    let index = &block * Expr::sym("i") + Expr::sym("j");
    assert_eq!(index.lt(&r.pow(&k), &assumptions), Truth::Proved);
    assert_eq!(Expr::zero().le(&index, &assumptions), Truth::Proved);
}
