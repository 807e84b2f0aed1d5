//! Tests of subsets against enumeration of their elements.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{Approx, Range, Subset};
use crate::symbolic::{Assumptions, Expr, Symbol, Truth};

mod image;

/// Values of `N`, `M` and `i`.
type Point = [i64; 3];
const NAMES: [&str; 3] = ["N", "M", "i"];

fn at(point: Point) -> impl Fn(&Symbol) -> Option<i64> {
    move |symbol| NAMES.iter().position(|name| *name == symbol.as_str()).map(|index| point[index])
}

/// The values of a range by its definition.
fn values(range: &Range, environment: &dyn Fn(&Symbol) -> Option<i64>) -> Vec<i64> {
    let [begin, end, step, tile] =
        [&range.begin, &range.end, &range.step, &range.tile].map(|part| part.eval(environment).unwrap());
    let mut values = Vec::new();
    let mut start = begin;
    while step != 0 && (if step > 0 { start < end } else { start > end }) {
        values.extend((0..tile).map(|offset| start + offset));
        start += step;
    }
    values
}

fn elements(subset: &Subset, environment: &dyn Fn(&Symbol) -> Option<i64>) -> BTreeSet<Vec<i64>> {
    let mut elements = BTreeSet::from([Vec::new()]);
    for range in &subset.0 {
        let values = values(range, environment);
        elements = elements
            .iter()
            .flat_map(|prefix| {
                values.iter().map(move |value| prefix.iter().copied().chain([*value]).collect::<Vec<i64>>())
            })
            .collect();
    }
    elements
}

/// `c0 + c1 * N + c2 * M + c3 * i` with small coefficients.
///
/// Boxed: unoptimised code keeps whole trees of strategies in single stack frames otherwise.
fn affine() -> BoxedStrategy<Expr> {
    let coefficient = || prop_oneof![4 => Just(0_i64), 2 => Just(1), 1 => Just(-1), 1 => Just(2)].boxed();
    (-3_i64..=8, prop::array::uniform3(coefficient()))
        .prop_map(|(constant, coefficients)| {
            let terms = NAMES.iter().zip(coefficients).map(|(name, c)| Expr::sym(name) * c);
            terms.sum::<Expr>() + constant
        })
        .boxed()
}

fn range() -> impl Strategy<Value = Range> {
    let length = prop_oneof![3 => Just(Expr::one()), 3 => (0_i64..=8).prop_map(Expr::int), 4 => affine()];
    prop_oneof![
        5 => (affine(), length.clone()).prop_map(|(begin, length)| Range::new(begin.clone(), begin + length)),
        2 => (affine(), length.clone(), 2_i64..=4)
            .prop_map(|(begin, length, step)| Range::new(begin.clone(), begin + length).with_step(step)),
        2 => (affine(), length.clone(), -3_i64..=-1)
            .prop_map(|(begin, length, step)| Range::new(begin.clone(), begin - length).with_step(step)),
        2 => (affine(), length, 2_i64..=5, 0_i64..=3).prop_map(|(begin, length, step, less)| {
            Range::new(begin.clone(), begin + length).with_step(step).with_tile((step - less).max(1))
        }),
    ]
}

fn subset(rank: usize) -> impl Strategy<Value = Subset> {
    prop::collection::vec(range(), rank).prop_map(Subset)
}

fn pair() -> impl Strategy<Value = (Subset, Subset)> {
    (1_usize..=2).prop_flat_map(|rank| {
        (subset(rank), subset(rank), prop::bool::weighted(0.3)).prop_map(|(a, mut b, share)| {
            // Pairs that differ in one dimension only are the ones with exact unions.
            if share {
                b.0[0] = a.0[0].clone();
            }
            (a, b)
        })
    })
}

/// Rectangles that differ in two dimensions have corners between them, even where each dimension has a hull without gaps.
#[test]
fn unions_across_corners_are_not_exact() {
    let square = |first: i64, second: i64| Subset(vec![Range::new(0, first), Range::new(0, second)]);
    let union = |a: &Subset, b: &Subset| a.bounding_union(b, &Assumptions::new());
    assert_eq!(union(&square(2, 4), &square(4, 2)), Approx::Over(square(4, 4)));
    assert_eq!(union(&square(2, 4), &square(4, 4)), Approx::Exact(square(4, 4)));
    let below = Subset(vec![Range::new(2, 4), Range::new(0, 4)]);
    assert_eq!(union(&square(2, 4), &below), Approx::Exact(square(4, 4)));
}

/// `N >= 0`, `M >= 1`, `0 <= i <= N - 1`.
fn assumptions() -> Assumptions {
    let mut assumptions = Assumptions::new();
    assumptions.nonnegative(Symbol::of("N")).positive(Symbol::of("M"));
    Range::new(0, Expr::sym("N")).constrain(Symbol::of("i"), &mut assumptions);
    assumptions
}

fn points() -> impl Iterator<Item = Point> {
    [1_i64, 2, 5]
        .into_iter()
        .flat_map(|n| [1_i64, 3].into_iter().flat_map(move |m| (0..n).map(move |i| [n, m, i])))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn counts_agree(subset in (1_usize..=2).prop_flat_map(subset)) {
        for point in points() {
            let environment = at(point);
            for range in &subset.0 {
                let count = values(range, &environment).len() as i64;
                prop_assert_eq!(range.count().eval(&environment), Ok(count), "{}", range);
                let empty = range.is_empty(&assumptions());
                prop_assert!(empty == Truth::Unknown || empty == Truth::from_bool(count == 0), "{range}");
                if count > 0 {
                    prop_assert_eq!(range.size().eval(&environment), Ok(count));
                    let tile = range.tile.eval(&environment).unwrap();
                    let last = range.last().eval(&environment).unwrap();
                    prop_assert_eq!(values(range, &environment).last().copied(), Some(last + tile - 1));
                }
            }
            let elements = elements(&subset, &environment);
            if !elements.is_empty() {
                prop_assert_eq!(subset.volume().eval(&environment), Ok(elements.len() as i64));
            }
        }
    }

    #[test]
    fn relations_hold((a, b) in pair()) {
        let assumptions = assumptions();
        let (covers, disjoint) = (a.covers(&b, &assumptions), a.disjoint(&b, &assumptions));
        prop_assert_eq!(disjoint, b.disjoint(&a, &assumptions), "{} and {}", a, b);
        for point in points() {
            let (own, other) = (elements(&a, &at(point)), elements(&b, &at(point)));
            let agrees = |truth: Truth, holds: bool| truth == Truth::Unknown || truth == Truth::from_bool(holds);
            prop_assert!(agrees(covers, own.is_superset(&other)), "{a:?} covers {b:?} {covers:?} at {point:?}");
            prop_assert!(agrees(disjoint, own.is_disjoint(&other)), "{a:?} disjoint {b:?} {disjoint:?} at {point:?}");
        }
    }

    #[test]
    fn combinations_hold((a, b) in pair()) {
        let assumptions = assumptions();
        let intersection = a.intersection(&b, &assumptions);
        let union = a.bounding_union(&b, &assumptions);
        for point in points() {
            let environment = at(point);
            let (own, other) = (elements(&a, &environment), elements(&b, &environment));
            let shared: BTreeSet<_> = own.intersection(&other).cloned().collect();
            let both: BTreeSet<_> = own.union(&other).cloned().collect();
            match &intersection {
                None => prop_assert!(shared.is_empty(), "{a:?} and {b:?} at {point:?}"),
                Some(found) => check(found, &shared, &environment)?,
            }
            check(&union, &both, &environment)?;
        }
    }

    #[test]
    fn offsets_move(a in subset(2), by in (affine(), affine())) {
        let moved = a.offset(&[by.0.clone(), by.1.clone()]);
        for point in points() {
            let environment = at(point);
            let (x, y) = (by.0.eval(&environment).unwrap(), by.1.eval(&environment).unwrap());
            let expected: BTreeSet<_> =
                elements(&a, &environment).into_iter().map(|e| vec![e[0] + x, e[1] + y]).collect();
            prop_assert_eq!(elements(&moved, &environment), expected);
        }
    }

    #[test]
    fn compositions_select(outer in range(), inner in range()) {
        let composed = Subset(vec![outer.clone()]).compose(&Subset(vec![inner.clone()]));
        for point in points() {
            let environment = at(point);
            let (outer, inner) = (values(&outer, &environment), values(&inner, &environment));
            // Positions outside of the outer subset mean nothing.
            let picked: Option<BTreeSet<Vec<i64>>> = inner
                .iter()
                .map(|position| usize::try_from(*position).ok().and_then(|p| outer.get(p)).map(|v| vec![*v]))
                .collect();
            if let Some(picked) = picked {
                check(&composed, &picked, &environment)?;
            }
        }
    }
}

fn check(
    found: &Approx<Subset>,
    expected: &BTreeSet<Vec<i64>>,
    environment: &dyn Fn(&Symbol) -> Option<i64>,
) -> Result<(), TestCaseError> {
    let elements = elements(found.as_inner(), environment);
    match found {
        Approx::Exact(_) => prop_assert_eq!(&elements, expected, "{:?}", found),
        Approx::Over(_) => {
            prop_assert!(elements.is_superset(expected), "{found:?}: {elements:?}, {expected:?}")
        }
    }
    Ok(())
}

fn parse(text: &str) -> Range {
    // Names, integers and `NAME + INTEGER`, which is all that the tables below need.
    let part = |text: &str| {
        text.split('+')
            .map(|word| word.trim().parse().map_or_else(|_| Expr::sym(word.trim()), Expr::int))
            .sum::<Expr>()
    };
    let parts: Vec<Expr> = text.split(':').map(part).collect();
    match parts.as_slice() {
        [at] => Range::index(at.clone()),
        [begin, end] => Range::new(begin.clone(), end.clone()),
        [begin, end, step] => Range::new(begin.clone(), end.clone()).with_step(step.clone()),
        parts => panic!("{} parts", parts.len()),
    }
}

/// The relations that programs need are decided, not just left open.
#[test]
fn decides_what_programs_need() {
    use Truth::{Proved, Refuted, Unknown};
    let cases = [
        // (range, other, covers, disjoint)
        ("0:N", "i", Proved, Refuted),
        ("0:N", "N", Refuted, Proved),
        ("0:N", "0:N+1", Refuted, Unknown),
        ("1:N+1", "0:N", Unknown, Unknown),
        ("0:i", "i:N", Refuted, Proved),
        ("0:i+1", "i:N", Unknown, Refuted),
        ("0:N:2", "1:N:2", Unknown, Proved),
        ("0:N", "0:N:2", Proved, Unknown),
        ("0:M", "0:M:2", Proved, Refuted),
        ("i", "i+1", Refuted, Proved),
        ("0:4", "4:8", Refuted, Proved),
        ("0:4", "2:8", Refuted, Refuted),
        ("0:0", "i", Refuted, Proved),
        ("i", "3:3", Proved, Proved),
    ];
    for (own, other, covers, disjoint) in cases {
        let (a, b) = (parse(own), parse(other));
        assert_eq!(a.covers(&b, &assumptions()), covers, "{own} covers {other}");
        assert_eq!(a.disjoint(&b, &assumptions()), disjoint, "{own} and {other} are disjoint");
    }
}

/// Subsets that are all of a shape have the same elements as it for all values of the symbols.
#[test]
fn all_of_a_shape_is_every_element() {
    let cases = [
        ("0:N", "N", true),
        ("0:N - 2", "max(0, N - 2)", true),
        ("0:N - 2", "max(1, N - 2)", false),
        ("0:N - 2", "N", false),
        ("1:N", "N", false),
        ("1:N", "N - 1", false),
        ("0:N:2", "N", false),
        ("0", "1", true),
    ];
    let subset = |text: &str| text.parse::<Subset>().unwrap();
    for (range, extent, is_all) in cases {
        let shape = [extent.parse::<Expr>().unwrap()];
        assert_eq!(subset(range).is_all_of(&shape), is_all, "{range} of {extent}");
    }
    assert!(!subset("0:N").is_all_of(&[]));
}

/// Copies of what passes a memlet have extents that are not negative.
#[test]
fn a_range_covers_all_elements_of_a_copy_of_it() {
    let cases = [
        ("0:N - 2", "0:max(0, N - 2)", Truth::Proved),
        ("1:N - 2", "1:max(1, N - 2)", Truth::Proved),
        ("0:N - 2", "0:max(1, N - 2)", Truth::Unknown),
        ("1:N - 2", "0:max(0, N - 2)", Truth::Unknown),
    ];
    for (own, other, covers) in cases {
        let [own, other] = [own, other].map(|text| text.parse::<Subset>().unwrap());
        assert_eq!(own.covers(&other, &assumptions()), covers, "{own} covers {other}");
    }
}

/// What is decided does not depend on which of the two is asked.
#[test]
fn disjointness_is_symmetric() {
    for (own, other) in [("2*N + 2:N + 3", "N + i + 3:N + i - 1:-2"), ("2*i:2*i - M:-3", "0:1 - N")] {
        let subset = |text: &str| text.parse::<Subset>().unwrap();
        let (a, b) = (subset(own), subset(other));
        assert_eq!(a.disjoint(&b, &assumptions()), Truth::Proved, "{own} and {other}");
        assert_eq!(b.disjoint(&a, &assumptions()), Truth::Proved, "{other} and {own}");
    }
}

#[test]
fn prints_like_slices() {
    let subset =
        Subset(vec![parse("i"), parse("0:N"), parse("0:N:2"), parse("0:N:4").with_tile(2), parse("i:i+2")]);
    assert_eq!(subset.to_string(), "i, 0:N, 0:N:2, 0:N:4:2, i:i + 2");
    assert_eq!(Subset::full(&[Expr::sym("N"), Expr::int(3)]).volume().to_string(), "3*N");
}
