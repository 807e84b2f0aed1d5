//! Tests of programs whose maps are divided over ranks, against formulas in Rust.

use sdfg::interpret::Arguments;
use sdfg::value::Complex;

use crate::execute::{elements, everywhere, filled, scattered};

/// The value of a symbol, or an extent.
fn size(arguments: &Arguments, name: &str) -> usize {
    arguments.symbols().find(|(known, _)| *known == name).map_or(0, |(_, value)| value as usize)
}

#[track_caller]
fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(
            (found - expected).abs() <= 1e-12 * (1.0 + expected.abs()),
            "[{at}]: {found}, not {expected}"
        );
    }
}

/// Each result is the mean of the values with the weights of softmax. Weights need no greatest score where scores are small.
#[test]
fn attention() {
    let case = |n: i64, m: i64, d: i64| {
        let numbers = |shape: [i64; 2], seed: i64| filled(&shape, move |p| scattered(7 * p + seed, 8) / 8.0);
        Arguments::new()
            .with("Q", numbers([n, d], 1))
            .with("K", numbers([m, d], 2))
            .with("V", numbers([m, d], 3))
            .with("O", filled(&[n, d], |_| f64::NAN))
    };
    everywhere(
        "attention",
        &[case(5, 7, 3), case(1, 1, 1), case(3, 2, 8), case(0, 2, 3)],
        |before, after| {
            let [q, k, v] = ["Q", "K", "V"].map(|name| elements::<f64>(before, name));
            let d = before.get("K").map_or(0, |tensor| tensor.shape()[1]) as usize;
            let mut expected = Vec::new();
            for query in q.chunks(d) {
                let score = |key: &[f64]| query.iter().zip(key).map(|(a, b)| a * b).sum::<f64>();
                let weights: Vec<f64> =
                    k.chunks(d).map(|key| (score(key) / (d as f64).sqrt()).exp()).collect();
                let total: f64 = weights.iter().sum();
                let mixed = |column: usize| {
                    weights.iter().zip(v.chunks(d)).map(|(w, row)| w * row[column]).sum::<f64>()
                };
                expected.extend((0..d).map(|column| mixed(column) / total));
            }
            assert_close(&elements(after, "O"), &expected);
        },
    );
}

/// Small integers keep everything exact. The formula follows each pixel of the images to the results that it counts for.
#[test]
fn conv2d() {
    let case = |[b, c, k, h, w, r]: [i64; 6]| {
        Arguments::new()
            .with("images", filled(&[b, c, h + r - 1, w + r - 1], |p| scattered(p, 9)))
            .with("filters", filled(&[k, c, r, r], |p| scattered(3 * p + 1, 5)))
            .with("bias", filled(&[k], |p| scattered(5 * p + 2, 20)))
            .with("result", filled(&[b, k, h, w], |_| f64::NAN))
            .with_symbol("R", r)
    };
    let cases = [[2, 3, 2, 5, 4, 3], [1, 1, 1, 1, 1, 1], [1, 2, 3, 2, 6, 2], [1, 0, 2, 2, 2, 1]].map(case);
    everywhere("conv2d", &cases, |before, after| {
        let [images, filters, bias] = ["images", "filters", "bias"].map(|name| elements::<f64>(before, name));
        let shape = |name: &str| before.get(name).map(|tensor| tensor.shape().to_vec()).unwrap_or_default();
        let (image, result, r) = (shape("images"), shape("result"), size(before, "R") as i64);
        let [b, k, h, w] = result[..] else { panic!("four dimensions") };
        let mut expected: Vec<f64> = (0..b * k * h * w).map(|p| bias[(p / (h * w) % k) as usize]).collect();
        for (place, pixel) in (0..).zip(&images) {
            let (x, y) = (place % image[3], place / image[3] % image[2]);
            let (c, b) = (place / (image[3] * image[2]) % image[1], place / (image[3] * image[2] * image[1]));
            for (at, weight) in (0..).zip(&filters) {
                let (q, p, channel, k_at) =
                    (at % r, at / r % r, at / (r * r) % image[1], at / (r * r * image[1]));
                let (to_y, to_x) = (y - p, x - q);
                if channel == c && (0..h).contains(&to_y) && (0..w).contains(&to_x) {
                    expected[(((b * k + k_at) * h + to_y) * w + to_x) as usize] += pixel * weight;
                }
            }
        }
        assert_eq!(elements::<f64>(after, "result"), expected);
    });
}

/// Sums of coordinates are exact, so that means are those of the formula; no point is as near to two centroids after the first step.
#[test]
fn kmeans() {
    let case = |[n, k, d, t]: [i64; 4]| {
        Arguments::new()
            .with("points", filled(&[n, d], |p| scattered(p, 200)))
            .with("centroids", filled(&[k, d], |p| scattered(11 * p + 4, 200)))
            .with("assignment", filled(&[n], |_| -1_i64))
            .with_symbol("T", t)
    };
    // The last centroid is far from all points.
    let far = case([6, 2, 1, 2]).with("centroids", filled(&[2, 1], |p| 1e6 * p as f64));
    let cases = [case([23, 4, 3, 3]), case([9, 1, 2, 2]), case([5, 3, 1, 0]), far];
    everywhere("kmeans", &cases, |before, after| {
        let points: Vec<f64> = elements(before, "points");
        let mut centroids: Vec<f64> = elements(before, "centroids");
        let mut assignment: Vec<i64> = elements(before, "assignment");
        let d = before.get("points").map_or(1, |tensor| tensor.shape()[1]) as usize;
        for _ in 0..size(before, "T") {
            let distance = |point: &[f64], centroid: &[f64]| {
                point.iter().zip(centroid).map(|(a, b)| (a - b).powi(2)).sum::<f64>()
            };
            for (point, nearest) in points.chunks(d).zip(&mut assignment) {
                let all: Vec<f64> = centroids.chunks(d).map(|centroid| distance(point, centroid)).collect();
                *nearest =
                    (0..all.len()).min_by(|a, b| all[*a].total_cmp(&all[*b])).map_or(0, |at| at as i64);
            }
            for (number, centroid) in (0..).zip(centroids.chunks_mut(d)) {
                let own: Vec<&[f64]> = points
                    .chunks(d)
                    .zip(&assignment)
                    .filter(|(_, at)| **at == number)
                    .map(|(point, _)| point)
                    .collect();
                for (axis, value) in centroid.iter_mut().enumerate().filter(|_| !own.is_empty()) {
                    *value = own.iter().map(|point| point[axis]).sum::<f64>() / own.len() as f64;
                }
            }
        }
        assert_eq!(elements::<i64>(after, "assignment"), assignment);
        assert_close(&elements(after, "centroids"), &centroids);
    });
}

/// The definition of the transform. Its sums of small integers times roots of unity are rounded.
#[test]
fn fft() {
    let case = |a: i64, b: i64| {
        let number = |p: i64| Complex::new(scattered(2 * p, 4), scattered(2 * p + 1, 4));
        let none = |_| Complex::new(f64::NAN, f64::NAN);
        Arguments::new().with("x", filled(&[a, b], number)).with("y", filled(&[b, a], none))
    };
    everywhere("fft", &[case(4, 6), case(3, 3), case(1, 5), case(5, 1), case(0, 3)], |before, after| {
        let x: Vec<Complex<f64>> = elements(before, "x");
        let y: Vec<Complex<f64>> = elements(after, "y");
        assert_eq!(x.len(), y.len());
        for (k, found) in y.iter().enumerate() {
            let root = |n: usize| {
                let angle = -2.0 * std::f64::consts::PI * (n * k % x.len()) as f64 / x.len() as f64;
                Complex::new(angle.cos(), angle.sin())
            };
            let (mut re, mut im) = (0.0, 0.0);
            for (n, value) in x.iter().enumerate() {
                let root = root(n);
                re += value.re * root.re - value.im * root.im;
                im += value.re * root.im + value.im * root.re;
            }
            assert!(
                (found.re - re).abs() <= 1e-11 && (found.im - im).abs() <= 1e-11,
                "[{k}]: {found:?}, not {re} {im}"
            );
        }
    });
}
