//! Tests of dependence analysis against enumeration of iterations and elements, and of the answers that
//! programs need.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::{Assumptions, Expr, Symbol, Truth};

use super::linear::Linear;
use super::system::{Goal, System};
use super::{Dependence, Distance, IteratedAccess, Iteration, Iterations, dependence, meets};

mod parts;
mod strided;

type Point = BTreeMap<Symbol, i64>;

fn value(expr: &Expr, at: &Point) -> i64 {
    expr.eval(&|symbol| at.get(symbol).copied()).unwrap()
}

/// The values of a range by its definition.
fn values(range: &Range, at: &Point) -> Vec<i64> {
    let [begin, end, step, tile] = [&range.begin, &range.end, &range.step, &range.tile].map(|e| value(e, at));
    let mut found = Vec::new();
    let mut start = begin;
    while (step > 0 && start < end) || (step < 0 && start > end) {
        found.extend(start..start + tile);
        start += step;
    }
    found
}

fn elements(subset: &Subset, at: &Point) -> BTreeSet<Vec<i64>> {
    let mut found = BTreeSet::from([Vec::new()]);
    for range in &subset.0 {
        let values = values(range, at);
        let longer = |index: &Vec<i64>| {
            let index = index.clone();
            values.iter().map(move |v| [index.as_slice(), &[*v]].concat()).collect::<Vec<_>>()
        };
        found = found.iter().flat_map(longer).collect();
    }
    found
}

/// All points of ranges, later ones of which may use earlier symbols.
fn points(symbols: &[(Symbol, Range)], at: &Point) -> Vec<Point> {
    let Some(((symbol, range), rest)) = symbols.split_first() else { return vec![at.clone()] };
    let inner =
        |v| points(rest, &at.iter().map(|(s, v)| (s.clone(), *v)).chain([(symbol.clone(), v)]).collect());
    values(range, at).into_iter().flat_map(inner).collect()
}

fn iteration_points(access: &IteratedAccess, at: &Point) -> Vec<Point> {
    let symbols: Vec<_> = access.around.iter().flat_map(|level| level.symbols.clone()).collect();
    points(&symbols, at)
}

/// Pairs of iterations as asked for that share an element, by enumeration.
fn sharing([first, second]: [&IteratedAccess; 2], iteration: Iteration, at: &Point) -> Vec<(Point, Point)> {
    let of = |levels: &[Iterations]| -> Vec<Symbol> {
        levels.iter().flat_map(|level| level.symbols.iter().map(|(symbol, _)| symbol.clone())).collect()
    };
    let (same, next) = match iteration {
        Iteration::Same(n) => (n, None),
        Iteration::Different(n) | Iteration::Later(n) => (n, Some(&first.around[n].symbols)),
    };
    let same = of(&first.around[..same]);
    let mut found = Vec::new();
    for a in iteration_points(first, at) {
        for b in iteration_points(second, at) {
            if same.iter().any(|symbol| a[symbol] != b[symbol]) {
                continue;
            }
            let differs = |symbols: &Vec<(Symbol, Range)>| symbols.iter().any(|(s, _)| a[s] != b[s]);
            let later = |symbols: &Vec<(Symbol, Range)>| {
                let (symbol, range) = &symbols[0];
                (b[symbol] - a[symbol]) * value(&range.step, at) > 0
            };
            let asked = match (iteration, next) {
                (Iteration::Later(_), Some(symbols)) => later(symbols),
                (_, Some(symbols)) => differs(symbols),
                (_, None) => true,
            };
            if asked && !elements(&first.subset, &a).is_disjoint(&elements(&second.subset, &b)) {
                found.push((a.clone(), b));
            }
        }
    }
    found
}

fn check(accesses: [&IteratedAccess; 2], n_common: usize, iteration: Iteration, free: &[Point]) -> Truth {
    let known = known();
    let found = dependence(accesses[0], accesses[1], n_common, iteration, &known);
    let context = || format!("{accesses:?} {iteration:?}: {found:?}");
    for at in free {
        let pairs = sharing(accesses, iteration, at);
        match found.exists {
            Truth::Proved => assert!(!pairs.is_empty(), "{} at {at:?}", context()),
            Truth::Refuted => assert!(pairs.is_empty(), "{} at {at:?}, but {:?}", context(), pairs[0]),
            Truth::Unknown => {}
        }
        for (a, b) in &pairs {
            for distance in &found.distances {
                let gap = b[&distance.symbol] - a[&distance.symbol];
                if let Some(exact) = &distance.exact {
                    assert_eq!(value(exact, at), gap, "{} at {at:?}: {a:?} {b:?}", context());
                }
                let allowed =
                    [(gap > 0, distance.greater), (gap == 0, distance.equal), (gap < 0, distance.less)];
                assert!(allowed.iter().any(|(is, may)| *is && *may), "{}: {a:?} {b:?}", context());
            }
        }
    }
    found.exists
}

/// `N >= 0`.
fn known() -> Assumptions {
    let mut known = Assumptions::new();
    known.nonnegative(Symbol::of("N"));
    known
}

fn sizes(of: impl IntoIterator<Item = i64>) -> Vec<Point> {
    of.into_iter().map(|n| Point::from([(Symbol::of("N"), n)])).collect()
}

fn level(symbols: &[(&str, Range)]) -> Iterations {
    Iterations {
        symbols: symbols.iter().map(|(name, range)| (Symbol::of(name), range.clone())).collect(),
        given: Vec::new(),
        changing: Vec::new(),
        exactly_once: true,
    }
}

fn access(around: Vec<Iterations>, subset: Vec<Range>) -> IteratedAccess {
    IteratedAccess { around, subset: Subset(subset), certain: true }
}

fn affine(names: &'static [&'static str], largest: i64) -> BoxedStrategy<Expr> {
    let coefficient = prop_oneof![3 => Just(0i64), 3 => Just(1), 3 => -largest..=largest];
    (-6i64..=6, prop::collection::vec(coefficient, names.len()))
        .prop_map(|(c, of)| names.iter().zip(of).map(|(name, c)| Expr::sym(name) * c).sum::<Expr>() + c)
        .boxed()
}

/// A range of constant length, or of length `N`.
fn range(names: &'static [&'static str], symbolic: bool) -> BoxedStrategy<Range> {
    let length = if symbolic {
        prop_oneof![2 => (-1i64..=5).prop_map(Expr::int), 1 => (-1i64..=1).prop_map(|c| Expr::sym("N") + c)]
            .boxed()
    } else {
        (-1i64..=7).prop_map(Expr::int).boxed()
    };
    let step = prop_oneof![4 => Just(1i64), 1 => Just(2), 1 => Just(3), 1 => Just(-1), 1 => Just(-2)];
    (affine(names, 1), length, step, prop::bool::weighted(0.1))
        .prop_map(|(begin, length, step, tiled)| {
            let end = if step > 0 { &begin + length } else { &begin - length };
            let range = Range::new(begin, end).with_step(step);
            if tiled && step > 1 { range.with_tile(2) } else { range }
        })
        .boxed()
}

/// A dimension of a subset.
fn index(names: &'static [&'static str]) -> BoxedStrategy<Range> {
    let part = (affine(names, 3), 0i64..=4, 1i64..=3, 1i64..=2).prop_map(|(begin, length, step, tile)| {
        Range::new(begin.clone(), begin + length).with_step(step).with_tile(tile.min(step))
    });
    // Quotients and remainders.
    let quotient = (affine(names, 3), 2i64..=4, any::<bool>()).prop_map(|(index, by, whole)| {
        let by = Expr::int(by);
        Range::index(if whole { index.floor_div(&by) } else { index.modulo(&by) })
    });
    prop_oneof![4 => affine(names, 4).prop_map(Range::index), 1 => part, 1 => quotient].boxed()
}

/// As [`index`], also with strides of `N`.
fn strided_index() -> BoxedStrategy<Range> {
    let strided = (affine(&["i", "j"], 1), affine(&["N", "i", "j"], 1))
        .prop_map(|(rows, rest)| Range::index(rows * Expr::sym("N") + rest));
    prop_oneof![5 => index(&["N", "i", "j"]), 1 => strided].boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nested_and_triangular_maps(
        i in range(&["N"], true),
        j in range(&["N", "i"], true),
        k in range(&["N", "i"], true),
        own in prop::collection::vec(strided_index(), 1..=2),
        mut other in prop::collection::vec(strided_index(), 2),
        single in any::<bool>(),
        question in 0usize..4,
        alike in prop::bool::weighted(0.2),
    ) {
        other.truncate(own.len());
        if alike {
            other = own.clone();
        }
        // One map of two parameters, or a map in a map; the second access may lie in another inner map.
        let around = if single {
            vec![level(&[("i", i), ("j", j.clone())])]
        } else {
            vec![level(&[("i", i)]), level(&[("j", j.clone())])]
        };
        let mut other = access(around.clone(), other);
        let mut n_common = around.len();
        if !single && question == 3 {
            other.around[1] = level(&[("j", k)]);
            n_common = 1;
        }
        let own = access(around, own);
        let iteration = match question {
            0 => Iteration::Same(n_common),
            1 => Iteration::Different(n_common - 1),
            2 if !single => Iteration::Later(0),
            _ => Iteration::Different(0),
        };
        check([&own, &other], n_common, iteration, &sizes(0..4));
    }
}

/// Rows of coefficients of three variables and a constant.
fn rows(n: std::ops::Range<usize>) -> impl Strategy<Value = Vec<([i64; 3], i64)>> {
    prop::collection::vec((prop::array::uniform3(-4i64..=4), -9i64..=9), n)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn systems_agree_with_enumeration(equations in rows(0..2), inequalities in rows(0..4), size in 1i64..6) {
        let form = |(coefficients, constant): &([i64; 3], i64)| Linear {
            coefficients: (0..).zip(*coefficients).filter(|(_, c)| *c != 0).collect(),
            constant: Expr::int(*constant),
        };
        let mut system = System { n_variables: 3, ..System::default() };
        system.equations.extend(equations.iter().map(form));
        system.inequalities.extend(inequalities.iter().map(form));
        for variable in 0..3 {
            let low = Linear::variable(variable);
            let high = Linear::constant(Expr::int(size)).combine(1, &low, -1).unwrap();
            system.inequalities.extend([low, high]);
        }
        let holds = |at: [i64; 3]| {
            let value = |(coefficients, constant): &([i64; 3], i64)| {
                coefficients.iter().zip(at).map(|(c, v)| c * v).sum::<i64>() + constant
            };
            equations.iter().all(|row| value(row) == 0) && inequalities.iter().all(|row| value(row) >= 0)
        };
        let all = || 0..=size;
        let solvable = all().any(|x| all().any(|y| all().any(|z| holds([x, y, z]))));
        let known = Assumptions::new();
        prop_assert!(!(solvable && system.clone().shows(Goal::NoSolution, &known)));
        prop_assert!(solvable || !system.shows(Goal::Solution, &known));
    }
}

/// Random pairs of accesses with one index variable each, over ranges of numbers.
fn single_variable() -> BoxedStrategy<(IteratedAccess, IteratedAccess, Iteration)> {
    let subset = || (-4i64..=4, -8i64..=8).prop_map(|(a, c)| vec![Range::index(Expr::sym("i") * a + c)]);
    (range(&[], false), range(&[], false), subset(), subset(), 0u8..3)
        .prop_map(|(own, other, a, b, question)| {
            let first = access(vec![level(&[("i", own.clone())])], a);
            match question {
                0 => (first, access(vec![level(&[("i", other)])], b), Iteration::Same(0)),
                1 => (first, access(vec![level(&[("i", own)])], b), Iteration::Different(0)),
                _ => (first, access(vec![level(&[("i", own)])], b), Iteration::Later(0)),
            }
        })
        .boxed()
}

#[test]
fn single_variables_are_decided() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut decided, mut all) = (0, 0);
    for _ in 0..2000 {
        let tree = single_variable().new_tree(&mut runner).unwrap();
        let (first, second, iteration) = proptest::strategy::ValueTree::current(&tree);
        let n_common = usize::from(first.around == second.around && iteration != Iteration::Same(0));
        let truth = check([&first, &second], n_common, iteration, &sizes([0]));
        all += 1;
        decided += usize::from(truth != Truth::Unknown);
    }
    assert!(decided * 100 >= all * 99, "{decided} of {all}");
}

/// Nested and triangular ranges of numbers, two subscripts.
fn numeric_nest() -> BoxedStrategy<(IteratedAccess, IteratedAccess, Iteration)> {
    let subset = || prop::collection::vec(index(&["i", "j"]), 1..=2);
    (range(&[], false), range(&["i"], false), subset(), subset(), 0u8..3)
        .prop_map(|(i, j, a, mut b, question)| {
            let around = vec![level(&[("i", i)]), level(&[("j", j)])];
            b.resize(a.len(), Range::index(0));
            let iteration = match question {
                0 => Iteration::Same(1),
                1 => Iteration::Different(0),
                _ => Iteration::Different(1),
            };
            (access(around.clone(), a), access(around, b), iteration)
        })
        .boxed()
}

#[test]
fn most_nests_are_decided() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut decided, mut all) = (0, 0);
    for _ in 0..500 {
        let tree = numeric_nest().new_tree(&mut runner).unwrap();
        let (first, second, iteration) = proptest::strategy::ValueTree::current(&tree);
        let n_common = if iteration == Iteration::Same(1) { 1 } else { 2 };
        let truth = check([&first, &second], n_common, iteration, &sizes([0]));
        all += 1;
        decided += usize::from(truth != Truth::Unknown);
    }
    assert!(decided * 100 >= all * 95, "{decided} of {all}");
}

#[test]
fn indices_that_tell_iterations_apart() {
    let n = || Range::new(0, Expr::sym("N"));
    let square = || vec![level(&[("i", n()), ("j", n())])];
    let index = |text: &str| ranges(text);
    let ask = |first: &IteratedAccess, second: &IteratedAccess, iteration| {
        check([first, second], first.around.len(), iteration, &sizes(0..4))
    };
    let different = Iteration::Different(0);
    let apart = |text: &str, other: &str| {
        ask(&access(square(), index(text)), &access(square(), index(other)), different) == Truth::Refuted
    };
    assert!(apart("j, i", "j, i") && apart("i + N, j - 1, 0", "i + N, j - 1, 1"));
    assert!(!apart("i", "i") && !apart("i, j", "i, j + 1") && !apart("i + j, j", "i, j"));
    assert!(!apart("i:i + 2, j", "i:i + 2, j") && !apart("i // 2, j", "i // 2, j"));
    // The index may be that of an inner scope of the same name, or data may decide what stands beside it.
    let hidden = vec![level(&[("i", n())]), level(&[("i", n())])];
    assert_ne!(
        ask(&access(hidden.clone(), index("i")), &access(hidden, index("i")), different),
        Truth::Refuted
    );
    let mut given = square();
    given.push(level(&[("k", n())]));
    given[1].given = vec![Symbol::of("d")];
    let beside = access(given, index("i + d, j"));
    assert_ne!(meets(&beside, &beside, 2, different, &known()), Truth::Refuted);
    // Processing elements may have one in common.
    let mut elements = square();
    elements[0].exactly_once = false;
    let own = access(elements, index("i, j"));
    assert_ne!(meets(&own, &own, 1, different, &known()), Truth::Refuted);
}

/// A range or index from the text of a subset of a program.
fn ranges(text: &str) -> Vec<Range> {
    text.parse::<Subset>().unwrap().0
}

/// Parameters such as `i=0:N | j=0:i`, by maps that are separated by `;`.
fn maps(text: &str) -> Vec<Iterations> {
    let map = |text: &str| {
        let parameter = |text: &str| {
            let (name, range) = text.trim().split_once('=').unwrap();
            (Symbol::of(name), ranges(range).remove(0))
        };
        let symbols = text.split('|').map(parameter).collect();
        Iterations { symbols, given: Vec::new(), changing: Vec::new(), exactly_once: true }
    };
    text.split(';').map(map).collect()
}

/// Compares different iterations of the first map.
fn between_iterations(around: &str, own: &str, other: &str) -> Dependence {
    let (own, other) = (access(maps(around), ranges(own)), access(maps(around), ranges(other)));
    let mut known = known();
    for positive in ["T", "M"] {
        known.positive(Symbol::of(positive));
    }
    dependence(&own, &other, own.around.len(), Iteration::Different(0), &known)
}

/// Dependences that programs need are decided.
#[test]
fn decides_what_programs_need() {
    use Truth::{Proved, Refuted, Unknown};
    let cases = [
        // Element-wise, transposed, and stencils out of another array's place.
        ("i=0:N", "i", "i", Refuted),
        ("i=0:N | j=0:M", "i, j", "i, j", Refuted),
        ("i=0:N | j=0:M", "j, i", "j, i", Refuted),
        ("i=0:N + 2", "0", "0", Proved),
        ("i=0:N", "0", "0", Unknown),
        ("i=0:N + 2", "i", "i + 1", Proved),
        ("i=0:N", "2*i", "2*i + 1", Refuted),
        ("i=0:N", "N - i", "N - i", Refuted),
        ("i=0:N | j=0:M", "i, 0", "i, 0", Unknown),
        ("i=0:N + 1 | j=0:M + 1", "i, 0", "i, 0", Proved),
        ("i=0:5 | j=0:5", "i + j", "i + j", Proved),
        // Whole rows, and blocks.
        ("i=0:N", "i, 0:M", "i, 0:M", Refuted),
        ("i=0:N + 2", "0:M, i", "0:M, 0:2", Proved),
        ("i=0:N", "4*i:4*i + 4", "4*i:4*i + 4", Refuted),
        ("i=0:9", "4*i:4*i + 5", "4*i:4*i + 5", Proved),
        ("i=0:N", "T*i:T*i + T", "T*i:T*i + T", Refuted),
        // Linearised indices.
        ("i=0:N | j=0:M", "i*M + j", "i*M + j", Refuted),
        ("i=0:N | j=0:M + 1", "i*M + j", "i*M + j", Unknown),
        ("i=0:N; j=0:M", "i*M + j", "i*M + j + 1", Unknown),
        ("i=0:N; j=0:M", "i*M + j", "i*M + j - 1", Unknown),
        ("i=0:N; j=0:M", "i*M + j", "i*M + j", Refuted),
        ("i=0:N | j=0:M | k=0:T", "(i*M + j)*T + k", "(i*M + j)*T + k", Refuted),
        ("i=0:N + 2; j=0:M", "j*T", "j*T", Proved),
        // Tiles, with constant and symbolic sizes.
        ("i=0:N:32; j=i:min(N, i + 32)", "j", "j", Refuted),
        ("t=0:N; j=32*t:min(M, 32*t + 32)", "j", "j", Refuted),
        ("i=0:N:T; j=i:min(N, i + T)", "j", "j", Refuted),
        ("t=0:N; j=T*t:T*t + T", "j", "j", Refuted),
        ("i=0:N; j=i:N", "i, j", "i, j", Refuted),
        ("i=0:N + 2; j=i:N + 2", "j", "j", Proved),
        // Quotients and remainders.
        ("i=0:N", "i // 4, i % 4", "i // 4, i % 4", Refuted),
        ("i=0:9", "i // 4", "i // 4", Proved),
        ("i=0:4", "i % 4", "i % 4", Refuted),
        ("i=0:5", "i % 4", "i % 4", Proved),
        ("i=0:N", "i % 2", "(i + 1) % 2", Unknown),
        // Of products and calls little is known.
        ("i=0:9", "i*i", "i*i", Refuted),
        ("i=0:9", "i*i", "2*i*i", Unknown),
        ("i=0:N", "f(i)", "f(i)", Unknown),
    ];
    for (around, own, other, expected) in cases {
        let found = between_iterations(around, own, other);
        assert_eq!(found.exists, expected, "for {around}: [{own}] and [{other}]: {found:?}");
    }
}

/// A distance as `i: 1`, or by the directions that are possible.
fn describe(distance: &Distance) -> String {
    let directions = [(distance.greater, '<'), (distance.equal, '='), (distance.less, '>')];
    let may: String = directions.iter().filter(|(may, _)| *may).map(|(_, sign)| *sign).collect();
    match &distance.exact {
        Some(exact) => format!("{}: {exact} ({may})", distance.symbol),
        None => format!("{}: {may}", distance.symbol),
    }
}

#[test]
fn tells_distances() {
    let cases = [
        ("i=0:N", "i", "i - 1", "i: 1 (<)"),
        ("i=0:N | j=0:N", "i, j", "i - 1, j + 2", "i: 1 (<), j: -2 (>)"),
        ("i=0:N | j=0:N", "i + j", "i + j", "i: <>, j: <>"),
        ("i=0:N | j=0:N", "i, 0", "i, 0", "i: 0 (=), j: <>"),
        ("i=0:N", "2*i", "2*i - 4", "i: 2 (<)"),
        ("i=0:N; j=0:N", "i, j", "i - M, j", "i: M (<), j: 0 (=)"),
        ("i=0:N", "N - i", "i", "i: <>"),
        ("i=0:N; j=0:i", "j", "i", "i: >, j: >"),
        // The symbol that has one value falls where the other one rises.
        ("i=-2:2:2 | j=N - i - 2", "N - 3*i + j - 3", "N - i - 6", "i: >, j: <"),
    ];
    for (around, own, other, expected) in cases {
        let found = between_iterations(around, own, other);
        let distances: Vec<String> = found.distances.iter().map(describe).collect();
        assert_eq!(distances.join(", "), expected, "for {around}: [{own}] and [{other}]");
    }
}
