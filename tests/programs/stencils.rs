//! Tests of stencils over time against the closed form of their stencil power, or step by step.

use sdfg::interpret::Arguments;

use crate::execute::{elements, everywhere, filled, scattered};

/// On cells far from the boundary, `T` steps of the stencil 1, -2, 1 are the binomial stencil of order `2 T` with
/// alternating signs. Near the boundary, whose cells never change, the formula follows each step.
#[test]
fn laplace() {
    let case = |n: i64, t: i64| {
        // Both rows begin with the same boundary, as a user would set it up.
        let row = move |p: i64| scattered(p % n.max(1), 8);
        Arguments::new().with("A", filled(&[2, n], row)).with_symbol("T", t)
    };
    let cases = [case(40, 5), case(40, 6), case(41, 0), case(3, 9), case(2, 4), case(1, 1), case(0, 3)];
    everywhere("laplace", &cases, |before, after| {
        let steps = before.symbols().find(|(name, _)| *name == "T").map_or(0, |(_, value)| value) as usize;
        let (start, end): (Vec<f64>, Vec<f64>) = (elements(before, "A"), elements(after, "A"));
        let n = start.len() / 2;
        let mut expected = start.clone();
        for t in 0..steps {
            let (from, to) = (t % 2 * n, (t + 1) % 2 * n);
            for i in 1..n.saturating_sub(1) {
                expected[to + i] = expected[from + i - 1] - 2.0 * expected[from + i] + expected[from + i + 1];
            }
        }
        assert_eq!(end, expected);
        let result = &end[steps % 2 * n..][..n];
        for i in steps..n.saturating_sub(steps) {
            let binomial = |k: usize| (0..k).fold(1.0, |c, j| c * (2 * steps - j) as f64 / (j + 1) as f64);
            let sign = |k: usize| if k.is_multiple_of(2) { 1.0 } else { -1.0 };
            let power: f64 = (0..=2 * steps).map(|k| sign(k) * binomial(k) * start[i - steps + k]).sum();
            assert_eq!(result[i], power, "cell {i} after {steps} steps");
        }
    });
}

/// A linear field is a fixed point of the average of five in exact arithmetic. Each of the `2 T` steps has five roundings of
/// at most half an ulp of the largest value on its way, and an average does not enlarge older errors.
#[test]
fn jacobi2d() {
    let case = |n: i64, t: i64, element: fn(i64, i64) -> f64| {
        let field = filled(&[n, n], |p| element(p / n, p % n));
        Arguments::new().with("A", field.clone()).with("B", field).with_symbol("T", t)
    };
    let linear = |i: i64, j: i64| 3.0 * i as f64 - 2.0 * j as f64 + 1.0;
    let rough = |i: i64, j: i64| scattered(31 * i + j, 50);
    let steps =
        |before: &Arguments| before.symbols().find(|(name, _)| *name == "T").map_or(0, |(_, value)| value);
    let bound = |steps: i64, largest: f64| (2 * steps) as f64 * 5.0 * f64::EPSILON * 5.0 * largest;
    everywhere("jacobi2d", &[case(17, 6, linear), case(3, 1, linear)], |before, after| {
        let (start, end): (Vec<f64>, Vec<f64>) = (elements(before, "A"), elements(after, "A"));
        let bound = bound(steps(before), start.iter().fold(0.0, |a: f64, b| a.max(b.abs())));
        assert!(start.iter().zip(&end).all(|(a, b)| (a - b).abs() <= bound), "{start:?}\n{end:?}");
    });
    let cases = [case(18, 4, rough), case(5, 0, rough), case(2, 3, rough), case(0, 1, rough)];
    everywhere("jacobi2d", &cases, |before, after| {
        let n = before.get("A").map_or(0, |tensor| tensor.shape()[0]) as usize;
        let (mut a, mut b): (Vec<f64>, Vec<f64>) = (elements(before, "A"), elements(before, "B"));
        for _ in 0..steps(before) {
            sweep(&a, &mut b, n);
            sweep(&b, &mut a, n);
        }
        let bound = bound(steps(before), 50.0);
        for (name, expected) in [("A", a), ("B", b)] {
            for (position, (found, expected)) in
                elements::<f64>(after, name).iter().zip(&expected).enumerate()
            {
                assert!((found - expected).abs() <= bound, "{name}[{position}]: {found}, not {expected}");
            }
        }
    });
}

/// One Jacobi step from one array to the other, as the mean of a plus-shaped neighbourhood.
fn sweep(from: &[f64], to: &mut [f64], n: usize) {
    for i in 1..n.saturating_sub(1) {
        for j in 1..n - 1 {
            let at = |di: usize, dj: usize| from[(i + di - 1) * n + j + dj - 1];
            to[i * n + j] = (at(0, 1) + at(1, 0) + at(1, 1) + at(1, 2) + at(2, 1)) / 5.0;
        }
    }
}
