//! Tests of data-dependent control flow.

use sdfg::interpret::Arguments;
use sdfg::tensor::Tensor;

use crate::execute::{elements, everywhere, filled};

#[test]
fn branching() {
    let case = |a: f64, b: f64| {
        Arguments::new()
            .with("A", Tensor::scalar(a))
            .with("B", Tensor::scalar(b))
            .with("C", Tensor::scalar(f64::NAN))
    };
    // Below, at and just above the threshold; a sum that is not a number does not compare as at most 5.
    let cases = [case(1.5, 2.0), case(2.0, 3.0), case(2.0, 3.0 + 4.0 * f64::EPSILON), case(-9.0, 1.0)];
    let cases = cases.into_iter().chain([case(f64::NAN, 1.0)]).collect::<Vec<_>>();
    everywhere("branching", &cases, |before, after| {
        let sum = elements::<f64>(before, "A")[0] + elements::<f64>(before, "B")[0];
        let expected = sum * if sum <= 5.0 { 2.0 } else { 0.5 };
        let found = elements::<f64>(after, "C")[0];
        assert!(found == expected || (found.is_nan() && expected.is_nan()), "{found}, not {expected}");
    });
}

/// The program rounds every operation on its own, so the same operations in Rust give the same counts.
#[test]
fn mandelbrot() {
    let case = |h: i64, w: i64, limit: i64| {
        Arguments::new().with("image", filled(&[h, w], |_| -1_i64)).with_symbol("limit", limit)
    };
    let cases = [case(12, 17, 40), case(5, 1, 3), case(2, 2, 0), case(0, 4, 9)];
    everywhere("mandelbrot", &cases, |before, after| {
        let shape = before.get("image").map(|tensor| tensor.shape().to_vec()).unwrap_or_default();
        let limit = before.symbols().find(|(name, _)| *name == "limit").map_or(0, |(_, value)| value);
        let expected: Vec<i64> = (0..shape[0])
            .flat_map(|y| (0..shape[1]).map(move |x| (x, y)))
            .map(|(x, y)| {
                escape(3.5 * x as f64 / shape[1] as f64 - 2.5, 2.0 * y as f64 / shape[0] as f64 - 1.0, limit)
            })
            .collect();
        assert_eq!(elements::<i64>(after, "image"), expected);
        if limit == 40 {
            // The picture has points inside, points outside and points between.
            assert!(
                expected.contains(&40)
                    && expected.contains(&1)
                    && expected.iter().any(|n| (5..39).contains(n))
            );
        }
    });
}

/// Number of steps of `z = z * z + c` from 0 that keep `|z|` at most 2, limited to `limit`.
fn escape(re: f64, im: f64, limit: i64) -> i64 {
    let (mut x, mut y) = (0.0_f64, 0.0_f64);
    for n in 0..limit {
        if x * x + y * y > 4.0 {
            return n;
        }
        (x, y) = (x * x - y * y + re, 2.0 * x * y + im);
    }
    limit
}
