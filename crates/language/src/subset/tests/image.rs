//! Tests of images under map parameters against execution of the map.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{check, elements};
use crate::subset::{Approx, Range, Subset};
use crate::symbolic::{Assumptions, Expr, Symbol};

fn environment(point: [i64; 4]) -> impl Fn(&Symbol) -> Option<i64> {
    move |symbol| ["N", "K", "i", "j"].iter().position(|name| *name == symbol.as_str()).map(|at| point[at])
}

/// An index expression in the parameters `i` and `j` and the size `K`.
fn index() -> impl Strategy<Value = Expr> {
    let slope = || prop_oneof![3 => Just(0_i64), 3 => Just(1), 1 => -3_i64..=4];
    let atom = prop_oneof![
        6 => Just(Expr::zero()),
        1 => Just(Expr::sym("i").floor_div(&Expr::int(2))),
        1 => Just(Expr::sym("j").modulo(&Expr::int(3))),
        1 => Just(Expr::min(&(Expr::sym("i") * 4 + 4), &Expr::sym("N"))),
        1 => Just(Expr::sym("i") * Expr::sym("K")),
        1 => Just(Expr::sym("i") * Expr::sym("j")),
    ];
    (slope(), slope(), -2_i64..=3, atom)
        .prop_map(|(a, b, c, atom)| Expr::sym("i") * a + Expr::sym("j") * b + atom + c)
}

fn dimension() -> impl Strategy<Value = Range> {
    let length = prop_oneof![4 => Just(Expr::one()), 2 => (0_i64..=5).prop_map(Expr::int), 1 => Just(Expr::sym("K")), 1 => index()];
    (index(), length, prop_oneof![5 => Just(1_i64), 1 => 2_i64..=3, 1 => Just(-1)]).prop_map(
        |(begin, length, step)| {
            let length = if step < 0 { -length } else { length };
            Range::new(begin.clone(), begin + length).with_step(step)
        },
    )
}

fn parameter(outer: Option<&'static str>) -> impl Strategy<Value = Range> {
    let bound = move || {
        let outer = outer.map_or_else(
            || Just(Expr::zero()).boxed(),
            |name| prop_oneof![Just(Expr::zero()), Just(Expr::sym(name)), Just(Expr::sym(name) * 2)].boxed(),
        );
        (outer, 0_i64..=2).prop_map(|(outer, constant)| outer + constant)
    };
    let size = prop_oneof![Just(Expr::sym("N")), Just(Expr::sym("K")), (0_i64..=5).prop_map(Expr::int)];
    let step = prop_oneof![4 => Just(1_i64), 1 => 2_i64..=4, 1 => -2_i64..=-1];
    // Ranges of tiles, of which the last is cut off.
    let cut = prop_oneof![2 => Just(None), 1 => (1_i64..=5).prop_map(Some)];
    (bound(), size, bound(), step, cut).prop_map(|(begin, size, more, step, cut)| {
        let end = size.clone() + more;
        match cut {
            _ if step < 0 => Range::new(begin.clone() + size, begin - 1).with_step(step),
            None => Range::new(begin, end).with_step(step),
            Some(cut) => Range::new(begin.clone(), Expr::min(&(begin + cut), &end)).with_step(step),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn images_agree_with_running_the_map(
        dimensions in prop::collection::vec(dimension(), 1..=2),
        outer in parameter(None),
        inner in parameter(Some("i")),
    ) {
        let subset = Subset(dimensions);
        let parameters = [(Symbol::of("i"), outer.clone()), (Symbol::of("j"), inner.clone())];
        let mut assumptions = Assumptions::new();
        assumptions.nonnegative(Symbol::of("N")).nonnegative(Symbol::of("K"));
        let Some(image) = subset.image(&parameters, &assumptions) else { return Ok(()) };
        for symbol in image.as_inner().free_symbols() {
            prop_assert!(symbol.as_str() != "i" && symbol.as_str() != "j", "{image:?}");
        }
        for (n, k) in [(0, 0), (0, 2), (1, 0), (1, 3), (4, 1), (5, 2)] {
            let mut expected = BTreeSet::new();
            for i in super::values(&outer, &environment([n, k, 0, 0])) {
                for j in super::values(&inner, &environment([n, k, i, 0])) {
                    expected.extend(elements(&subset, &environment([n, k, i, j])));
                }
            }
            check(&image, &expected, &environment([n, k, 0, 0]))?;
        }
    }
}

fn image(subset: Vec<Range>, parameters: &[(&str, Range)]) -> Approx<Subset> {
    let mut assumptions = Assumptions::new();
    assumptions.positive(Symbol::of("N")).positive(Symbol::of("K"));
    let parameters: Vec<_> =
        parameters.iter().map(|(name, range)| (Symbol::of(name), range.clone())).collect();
    Subset(subset).image(&parameters, &assumptions).unwrap()
}

fn exact(text: &str) -> (bool, String) {
    (true, text.to_owned())
}

fn over(text: &str) -> (bool, String) {
    (false, text.to_owned())
}

/// Tiles that are shorter than their distance leave gaps, whether the last one is cut off or not.
#[test]
fn tiles_that_do_not_touch_have_no_exact_image() {
    let (n, i, j) = (Expr::sym("N"), Expr::sym("i"), Expr::sym("j"));
    for (length, is_exact) in [(3, false), (7, false), (8, true), (9, true)] {
        let tile = Range::new(i.clone(), Expr::min(&(&i + length), &n));
        let tiles = Range::new(0, n.clone()).with_step(8);
        let found = image(vec![Range::index(j.clone())], &[("i", tiles), ("j", tile)]);
        assert_eq!(found.is_exact(), is_exact, "{length}: {found:?}");
    }
}

/// The last tile is shorter: its number of elements falls where the tiles move up.
#[test]
fn tiles_of_a_count_have_simple_images() {
    let (n, k, i, j) = (Expr::sym("N"), Expr::sym("K"), Expr::sym("i"), Expr::sym("j"));
    let count = Range::new(0, Expr::min(&Expr::int(8), &(&n - &i * 8)));
    let tiles = Range::new(0, n.ceil_div(&Expr::int(8)));
    let rows = image(vec![Range::index(&k + &i * 8 + &j)], &[("i", tiles.clone()), ("j", count)]);
    assert_eq!((rows.is_exact(), rows.into_inner().to_string()), exact("K:K + N"));
    // From the end to the front, by a maximum.
    let before = Range::new(Expr::max(&Expr::int(-8), &(&i * 8 - &n)), 0);
    let rows = image(vec![Range::index(&k - &i * 8 + &j)], &[("i", tiles), ("j", before)]);
    assert_eq!((rows.is_exact(), rows.into_inner().to_string()), exact("K - N:K"));
}

/// The shapes of access that programs are made of have the images that one expects.
#[test]
fn images_of_usual_accesses() {
    let s = Expr::sym;
    let (n, k, i, j) = (s("N"), s("K"), s("i"), s("j"));
    let whole = |end: &Expr| Range::new(0, end.clone());
    let index = |at: Expr| Range::index(at);
    let ij = [("i", whole(&n)), ("j", whole(&k))];
    let tiles = |end: &Expr, cut: &Expr| {
        let tile = Range::new(i.clone(), Expr::min(&(&i + 8), cut));
        [("i", Range { step: Expr::int(8), ..whole(end) }), ("j", tile)]
    };
    let shown = |approx: Approx<Subset>| (approx.is_exact(), approx.into_inner().to_string());
    let cases = [
        (image(vec![index(i.clone())], &ij[..1]), exact("0:N")),
        (image(vec![index(i.clone()), index(j.clone())], &ij), exact("0:N, 0:K")),
        (image(vec![index(i.clone() + 1)], &ij[..1]), exact("1:N + 1")),
        (image(vec![index(&n - 1 - &i)], &ij[..1]), exact("0:N")),
        (image(vec![index(&i * &k + &j)], &ij), exact("0:K*N")),
        (image(vec![index(&i * 2)], &ij[..1]), exact("0:2*N - 1:2")),
        (image(vec![Range::new(i.clone() - 1, i.clone() + 2)], &ij[..1]), exact("-1:N + 1")),
        (image(vec![Range::new(&i * 4, &i * 4 + 2)], &ij[..1]), exact("0:4*N - 3:4:2")),
        (image(vec![index(i.clone()), index(i.clone())], &ij[..1]), over("0:N, 0:N")),
        (image(vec![index(j.clone())], &tiles(&n, &n)), exact("0:N")),
        (image(vec![index(&j + 2)], &tiles(&n, &n)), exact("2:N + 2")),
        // The last tile is cut off behind the end of the values, or not at all.
        (image(vec![index(j.clone())], &tiles(&n, &(&n + 3))), exact("0:min(N + 3, 8*ceil_div(N, 8))")),
        (image(vec![index(j.clone())], &[("i", whole(&n)), ("j", whole(&(&i + 1)))]), exact("0:N")),
        (image(vec![index(j.clone())], &[("i", Range::new(1, &n + 1)), ("j", whole(&i))]), exact("0:N")),
        (
            image(vec![index(i.clone()), index(j.clone())], &[("i", whole(&n)), ("j", whole(&(&i + 1)))]),
            over("0:N, 0:N"),
        ),
        (
            // A tiled loop with a clamped last tile.
            image(
                vec![index(j.clone())],
                &[("i", whole(&n).with_step(32)), ("j", Range::new(i.clone(), Expr::min(&n, &(&i + 32))))],
            ),
            exact("0:N"),
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(shown(found), expected);
    }
}

/// Rows of a tile of 64 in smaller tiles: of those that do not divide 64, only the elements that are there lie in it.
#[test]
fn tiles_of_tiles_lie_in_them() {
    let mut known = Assumptions::new();
    let parsed = |text: &str| -> Expr { text.parse().unwrap() };
    known.set_range(Symbol::of("t"), Some(Expr::zero()), Some(parsed("M - 1")));
    for (size, count, lies) in [
        (8, "min(C, N - C*i)", true),
        (8, "C", true),
        (24, "min(C, N - C*i)", true),
        (24, "C", false),
        (64, "C", true),
        (65, "C", false),
    ] {
        let of_size =
            |text: &str| parsed(&text.replace('C', &size.to_string()).replace('N', "(min(M, t + 64) - t)"));
        let (tiles, rows) = (Range::new(0, of_size("-(-N // C)")), Range::new(0, of_size(count)));
        let parameters = [(Symbol::of("i"), tiles), (Symbol::of("r"), rows)];
        let found = Subset(vec![Range::index(of_size("t + C*i + r"))]).image(&parameters, &known).unwrap();
        let range = &found.as_inner().0[0];
        assert_eq!(range.begin, Expr::sym("t"));
        let extent = &range.end - &range.begin;
        assert_eq!(extent.le(&Expr::int(64), &known).is_proved(), lies, "{size} {count}: {extent}");
    }
}
