//! The example programs, and what is refused.

use crate::strategy::{Observer, Options, Problem, search, serial};

use super::model;

struct Silent;
impl Observer for Silent {}

const MATMUL: &str = include_str!("../../../../../../programs/matmul.sdft");
const JACOBI: &str = include_str!("../../../../../../programs/jacobi2d.sdft");

#[test]
fn a_matrix_product_is_a_map_and_a_reduction() {
    let model = model(MATMUL, &[("M", 60), ("N", 50), ("K", 40)], 4).expect("a model");
    assert_eq!(model.approximations(), &[] as &[String]);
    let problem = model.tabulated().expect("finite costs");
    let domains: Vec<&[u64]> = problem.operations().iter().map(|one| one.domain.as_slice()).collect();
    assert_eq!(domains, [&[60, 50, 40], &[60, 50, 40]]);
    assert_eq!(problem.edges().len(), 1);
    // Serial, the product is a multiplication for each iteration.
    let load = model.loads(0, 0)[0];
    assert_eq!((load.operations, load.memory_bytes), (60 * 50 * 40, 8 * (60 * 40 + 40 * 50 + 60 * 50 * 40)));
    // Four parts of the reduced dimension: each rank receives all but two quarters of the partial sums, twice.
    let last = problem.operations()[1].configurations.iter().position(|c| c == &[1, 1, 4]).expect("one");
    let reduced = model.loads(1, last)[3];
    assert_eq!((reduced.reduction_bytes, reduced.messages), (2 * 8 * 60 * 50 * 3 / 4, 6));
    let solution = search(&problem, &Options::default(), &Silent).expect("a strategy");
    let alone = crate::strategy::cost(&problem, &serial(&problem).expect("one"));
    assert!(solution.cost < alone);
}

#[test]
fn a_stencil_exchanges_its_halo_in_each_time_step() {
    let model = model(JACOBI, &[("N", 102), ("T", 7)], 4).expect("a model");
    assert_eq!(model.approximations(), &[] as &[String]);
    assert_eq!((model.executions(0), model.executions(1)), (7, 7));
    let cut = model.configurations(0).iter().position(|c| c == &[4, 1]).expect("one");
    let halos: Vec<u64> = model.loads(0, cut).iter().map(|load| load.halo_bytes / 8).collect();
    assert_eq!(halos, [100, 200, 200, 100]);
    // Forth to back in each step, back to forth in all but the last one; aligned, nothing else moves.
    let times: Vec<u64> = (0..model.edges().len()).map(|edge| model.times(edge)).collect();
    assert_eq!(times, [7, 6]);
    for edge in 0..2 {
        let of = |end| model.layouts(edge, end).of(cut);
        let fetched = model.fetched(edge, of(crate::strategy::End::Source), of(crate::strategy::End::Target));
        assert_eq!(fetched, [0; 4]);
    }
}

#[test]
fn what_is_not_modelled_is_refused_with_its_place() {
    let branching = include_str!("../../../../../../programs/branching.sdft");
    let query = include_str!("../../../../../../programs/query.sdft");
    let n = ("N", 9);
    for (text, symbols, message) in [
        (branching, &[][..], "add: a choice of transitions is not modelled"),
        (query, &[n], "stream"),
        (MATMUL, &[("M", 1)], "has no value"),
    ] {
        let error = model(text, symbols, 4).expect_err(message).to_string();
        assert!(error.contains(message), "{error}");
    }
    let error = model(MATMUL, &[("M", 1 << 30), ("N", 1 << 30), ("K", 1 << 30)], 4).expect_err("sizes");
    assert!(error.to_string().contains("2^53"), "{error}");
}

#[test]
fn indices_that_are_not_affine_are_noted() {
    let laplace = include_str!("../../../../../../programs/laplace.sdft");
    let model = model(laplace, &[("N", 50), ("T", 4)], 3).expect("a model");
    assert!(model.approximations().iter().any(|note| note.contains("is not affine")), "{model:?}");
}
