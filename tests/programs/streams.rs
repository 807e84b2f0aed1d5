//! Tests of streams and consume scopes. Results that depend on order are compared as multisets.

use sdfg::interpret::Arguments;
use sdfg::tensor::Tensor;

use crate::execute::{elements, everywhere, filled, scattered};

#[test]
fn fibonacci() {
    let cases = [(0_i64, 1), (1, 2), (2, 1), (10, 1), (11, 4), (14, 100)].map(|(n, processors)| {
        Arguments::new()
            .with("N", Tensor::scalar(n))
            .with("out", Tensor::scalar(-7_i64))
            .with_symbol("P", processors)
    });
    everywhere("fibonacci", &cases, |before, after| {
        let n = elements::<i64>(before, "N")[0];
        let expected = (0..n).fold((0_i64, 1_i64), |(a, b), _| (b, a + b)).0;
        assert_eq!(elements::<i64>(after, "out"), [expected]);
    });
}

#[test]
fn query() {
    let cases = [(0_i64, 0.0), (30, 2.0), (30, 100.0), (9, -100.0), (1000, 0.0)].map(|(rows, threshold)| {
        Arguments::new()
            .with("column", filled(&[rows], |p| scattered(p, 9)))
            .with("threshold", Tensor::scalar(threshold))
            .with("selected", filled(&[rows], |_| 1000.0_f64))
            .with("count", Tensor::scalar(-1_i64))
    });
    everywhere("query", &cases, |before, after| {
        let threshold = elements::<f64>(before, "threshold")[0];
        let mut expected: Vec<f64> = elements(before, "column");
        expected.retain(|value| *value > threshold);
        expected.sort_by(f64::total_cmp);
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

/// Ranges that one processing element pushes and another one takes: who takes an element comes after who pushed it.
#[test]
fn quicksort() {
    let cases = [(0_i64, 1_i64), (1, 2), (2, 3), (30, 1), (60, 4), (200, 2)].map(|(n, processors)| {
        Arguments::new().with("A", filled(&[n], |p| scattered(p, 40) / 4.0)).with_symbol("P", processors)
    });
    everywhere("quicksort", &cases, |before, after| {
        let mut expected: Vec<f64> = elements(before, "A");
        expected.sort_by(f64::total_cmp);
        assert_eq!(elements::<f64>(after, "A"), expected);
    });
}

/// A chain of queues keeps the order of its elements, and element `p` of the chain adds `p + 1`.
#[test]
fn systolic() {
    let cases = [(6_i64, 4_i64), (5, 1), (3, 0), (0, 3), (2, 50)].map(|(items, length)| {
        Arguments::new()
            .with("A", filled(&[items], |p| scattered(p, 100)))
            .with("B", filled(&[items], |_| 0.5_f64))
            .with_symbol("P", length)
    });
    everywhere("systolic", &cases, |before, after| {
        let length = before.symbols().find(|(name, _)| *name == "P").map_or(0, |(_, value)| value);
        let added = (length * (length + 1) / 2) as f64;
        let expected: Vec<f64> = elements::<f64>(before, "A").iter().map(|a| a + added).collect();
        assert_eq!(elements::<f64>(after, "B"), expected);
    });
}
