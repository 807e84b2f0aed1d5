//! Tests of tabulated problems: errors name the fault; equal rows and columns are stored once without
//! changing results.

use proptest::prelude::*;

use super::*;
use crate::strategy::problem::edge_cost;

fn operation(name: &str, costs: &[f64]) -> Operation {
    Operation {
        name: name.to_owned(),
        kind: "Test".to_owned(),
        domain: vec![64],
        configurations: (1..=costs.len() as u32).map(|parts| vec![parts]).collect(),
        costs: costs.to_vec(),
    }
}

fn pair(rows: &[Vec<f64>]) -> Result<Tabulated, ProblemError> {
    let operations = vec![operation("a", &[1.0, 2.0]), operation("b", &[3.0, 4.0, 5.0])];
    Tabulated::new(8, operations, vec![(Edge { source: 0, target: 1 }, Costs::from_rows(rows))])
}

#[track_caller]
fn refused(result: Result<Tabulated, ProblemError>, parts: &[&str]) {
    let message = result.expect_err("a wrong problem").to_string();
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}

fn refused_operation(change: impl FnOnce(&mut Operation), parts: &[&str]) {
    let mut wrong = operation("a", &[1.0, 2.0]);
    change(&mut wrong);
    refused(Tabulated::new(8, vec![wrong], vec![]), parts);
}

#[test]
fn wrong_operations_are_refused() {
    refused(Tabulated::new(0, vec![], vec![]), &["processors is 0"]);
    refused_operation(|o| o.configurations.clear(), &["`a`", "no configuration"]);
    refused_operation(|o| o.costs.truncate(1), &["`a`", "2 configurations and 1 costs"]);
    refused_operation(
        |o| o.configurations[1] = vec![1, 2],
        &["configuration 1 of operation `a`", "1 dimensions"],
    );
    refused_operation(|o| o.configurations[1] = vec![0], &["configuration 1", "[0]", "at least 1"]);
    refused_operation(|o| o.configurations[1] = vec![9], &["[9]", "more parts than there are processors, 8"]);
    for cost in [f64::NAN, f64::INFINITY, -1.0] {
        refused_operation(|o| o.costs[1] = cost, &["configuration 1 of operation `a`", &cost.to_string()]);
    }
    refused_operation(|o| o.configurations[1] = vec![1], &["configurations 0 and 1", "differ in cost;"]);
}

#[test]
fn wrong_edges_are_refused() {
    let row = vec![1.0, 2.0, 3.0];
    refused(pair(std::slice::from_ref(&row)), &["edge 0 have 1 rows", "`a`, has 2"]);
    refused(pair(&[row.clone(), vec![1.0]]), &["row 1 of the costs of edge 0 has 1 columns", "`b`, has 3"]);
    refused(pair(&[row.clone(), vec![1.0, f64::NAN, 0.0]]), &["edge 0 in row 1, column 1 is NaN"]);
    refused(pair(&[vec![1.0, 0.0, -2.0], row.clone()]), &["edge 0 in row 0, column 2 is -2"]);
    let operations = vec![operation("a", &[1.0, 2.0])];
    let edge = Edge { source: 0, target: 7 };
    let unknown = Tabulated::new(8, operations, vec![(edge, Costs::from_rows(&[row.clone(), row]))]);
    refused(unknown, &["target of edge 0 is vertex 7", "there are 1 vertices"]);
}

#[test]
fn a_configuration_may_be_repeated_at_the_same_cost() {
    let repeated = |costs: &[Vec<f64>]| {
        let mut twice = operation("a", &[1.0, 1.0]);
        twice.configurations = vec![vec![2], vec![2]];
        let operations = vec![twice, operation("b", &[0.0, 0.0])];
        Tabulated::new(8, operations, vec![(Edge { source: 0, target: 1 }, Costs::from_rows(costs))])
    };
    assert!(repeated(&[vec![1.0, 2.0], vec![1.0, 2.0]]).is_ok());
    refused(repeated(&[vec![1.0, 2.0], vec![1.0, 3.0]]), &["0 and 1 of operation `a`", "at edge 0"]);
}

#[test]
fn fewer_processors_leave_fewer_configurations() {
    let problem = pair(&[vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0]]).unwrap();
    let fewer = problem.on_processors(2).unwrap();
    assert_eq!(fewer.n_processors(), 2);
    assert_eq!((fewer.n_configurations(0), fewer.n_configurations(1)), (2, 2));
    assert_eq!(edge_cost(&fewer, 0, &[1, 1]), 5.0);
    refused(problem.on_processors(9), &["for 8 processors, not for 9"]);
    refused(problem.on_processors(0), &["processors is 0"]);
}

proptest! {
    /// Small numbers, so that many rows and columns are equal.
    #[test]
    fn merged_rows_and_columns_keep_every_cost(
        rows in (1_usize..6, 1_usize..6).prop_flat_map(|(n, m)| {
            prop::collection::vec(prop::collection::vec((0_u8..2).prop_map(f64::from), m), n)
        })
    ) {
        let (n, m) = (rows.len(), rows[0].len());
        let operations = vec![operation("a", &vec![0.0; n]), operation("b", &vec![0.0; m])];
        let edges = vec![(Edge { source: 0, target: 1 }, Costs::from_rows(&rows))];
        let problem = Tabulated::new(8, operations, edges).unwrap();
        for (i, row) in rows.iter().enumerate() {
            for (j, cost) in row.iter().enumerate() {
                prop_assert_eq!(edge_cost(&problem, 0, &[i, j]), *cost);
            }
        }
        let different: std::collections::BTreeSet<Vec<u64>> =
            rows.iter().map(|row| row.iter().map(|cost| cost.to_bits()).collect()).collect();
        prop_assert_eq!(problem.layouts(0, End::Source).len(), different.len());
    }
}
