//! Streams and consume scopes, which only the interpreter runs so far. What order decides is compared as a multiset.

use sdfg::interpret::Arguments;
use sdfg::tensor::Tensor;

use crate::execute::{elements, filled, interpreted, scattered};

#[test]
fn fibonacci() {
    for (n, processors) in [(0_i64, 1), (1, 2), (2, 1), (10, 1), (11, 4)] {
        let arguments = Arguments::new()
            .with("N", Tensor::scalar(n))
            .with("out", Tensor::scalar(-7_i64))
            .with_symbol("P", processors);
        let expected = (0..n).fold((0_i64, 1_i64), |(a, b), _| (b, a + b)).0;
        interpreted("fibonacci", &arguments, |after| assert_eq!(elements::<i64>(after, "out"), [expected]));
    }
}

#[test]
fn query() {
    for (rows, threshold) in [(0_i64, 0.0), (30, 2.0), (30, 100.0), (9, -100.0)] {
        let arguments = Arguments::new()
            .with("column", filled(&[rows], |p| scattered(p, 9)))
            .with("threshold", Tensor::scalar(threshold))
            .with("selected", filled(&[rows], |_| 1000.0_f64))
            .with("count", Tensor::scalar(-1_i64));
        let mut expected: Vec<f64> = elements(&arguments, "column");
        expected.retain(|value| *value > threshold);
        expected.sort_by(f64::total_cmp);
        interpreted("query", &arguments, |after| {
            let selected: Vec<f64> = elements(after, "selected");
            assert_eq!(elements::<i64>(after, "count"), [expected.len() as i64]);
            let (found, rest) = selected.split_at(expected.len());
            let mut found = found.to_vec();
            found.sort_by(f64::total_cmp);
            assert_eq!(found, expected);
            assert!(
                rest.iter().all(|value| *value == 1000.0),
                "elements behind the selected ones keep their value"
            );
        });
    }
}

/// A chain of queues keeps the order of its elements, and element `p` of the chain adds `p + 1`.
#[test]
fn systolic() {
    for (items, length) in [(6_i64, 4_i64), (5, 1), (3, 0), (0, 3)] {
        let arguments = Arguments::new()
            .with("A", filled(&[items], |p| scattered(p, 100)))
            .with("B", filled(&[items], |_| 0.5_f64))
            .with_symbol("P", length);
        let added = (length * (length + 1) / 2) as f64;
        interpreted("systolic", &arguments, |after| {
            let expected: Vec<f64> = elements::<f64>(&arguments, "A").iter().map(|a| a + added).collect();
            assert_eq!(elements::<f64>(after, "B"), expected);
        });
    }
}
