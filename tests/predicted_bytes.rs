//! Bytes that ranks receive: the prediction of the cost model against the count of the interpreter.

use std::collections::BTreeMap;

use sdfg::ir::Sdfg;
use sdfg::symbolic::Symbol;
use sdfg::validate::{Validated, validate};
use sdfg_codegen::ranks::{Traffic, Waiting};
use sdfg_programs::distributed::{communication, compute_bound, prepared, rates};
use sdfg_programs::programs::ALL;
use sdfg_programs::programs::polybench::KERNELS;
use sdfg_programs::subjects::{Subjects, searched};
use sdfg_transforms::Pipeline;
use sdfg_transforms::distribute::{Distribute, Distributed, DivisionOptions, Searched, Way, distribute};
use sdfg_transforms::strategy::model::Machine;

/// Programs whose distributed form moves exactly what the model predicts, on 3 ranks. `docs/ranks.md` tells why others move more.
const EXACT: [(Subjects, &str); 3] =
    [(Subjects::Programs, "laplace"), (Subjects::Programs, "matmul"), (Subjects::Polybench, "jacobi_1d")];

#[test]
fn the_model_predicts_the_bytes_that_ranks_receive() {
    let machine = compute_bound(3);
    let mut moved = 0;
    for (subjects, name) in EXACT {
        let number = (0..subjects.count()).find(|number| subjects.program(*number).0 == name);
        let case = subjects.case(number.expect("a program"), 1).expect("a case");
        let (predicted, counted) = case.predicted_bytes(&machine).expect("it is distributed");
        assert_eq!(predicted, counted, "{name}");
        moved += counted.iter().sum::<u64>();
    }
    assert!(moved > 0);
}

/// A kernel of PolyBench, ready to be divided, with its sizes MINI.
fn kernel(name: &str) -> (Pipeline, BTreeMap<Symbol, i64>) {
    let kernel = KERNELS.iter().find(|kernel| kernel.name == name).expect("a kernel");
    let (program, _) = (kernel.build)().expect("a program");
    let sizes = kernel.mini.iter().map(|(symbol, value)| (Symbol::of(symbol), *value));
    (prepared(program.sdfg()), sizes.collect())
}

/// A program with its sizes, and the number of its maps that are divided.
type Sized = (&'static str, &'static [(&'static str, i64)], usize);

/// At these sizes, no number of ranks from two to four divides all dimensions.
const STENCILS: [Sized; 3] = [
    ("jacobi2d", &[("N", 9), ("T", 2)], 2),
    ("heat_3d", &[("N", 7), ("TSTEPS", 2)], 2),
    ("conjugate_gradient", &[("N", 9), ("T", 2)], 4),
];

/// Square and skinny ones.
const PRODUCTS: [Sized; 4] = [
    ("gemm", &[("NI", 7), ("NJ", 7), ("NK", 7)], 2),
    ("gemm", &[("NI", 3), ("NJ", 2), ("NK", 23)], 2),
    ("k2mm", &[("NI", 7), ("NJ", 5), ("NK", 6), ("NL", 9)], 4),
    ("conv2d", &[("B", 3), ("C", 2), ("K", 3), ("H", 5), ("W", 4), ("R", 3)], 2),
];

/// Data decide which elements they access.
const INDIRECT: [Sized; 2] = [("spmv", &[("H", 7), ("W", 5)], 2), ("histogram", &[("H", 23), ("W", 40)], 2)];

/// One of its 11 maps takes minima of integers, for which [`MpiTransform`](sdfg_transforms::rewrites::MpiTransform) has no neutral element.
const KMEANS: [Sized; 1] = [("kmeans", &[("N", 11), ("K", 3), ("D", 2), ("T", 2)], 10)];
const ATTENTION: [Sized; 1] = [("attention", &[("N", 7), ("M", 6), ("D", 5)], 10)];
const FFT: [Sized; 1] = [("fft", &[("A", 5), ("B", 6)], 10)];

/// A strategy divides these maps on 2, 3 and 4 ranks, gives the results of the program before, and moves the predicted bytes. One rank
/// changes nothing.
fn check_divided(programs: &[Sized], by: impl Fn(u32) -> Distribute) {
    for (name, sizes, n_maps) in programs {
        let program = named(name);
        let sizes = sizes.iter().map(|(symbol, value)| (Symbol::of(symbol), *value)).collect();
        let case = searched(&program, &sizes, 1).unwrap_or_else(|what| panic!("{name}: {what}"));
        for ranks in 1..=4 {
            let outcome = case.distributed_by(by(ranks), ranks);
            let (outcome, received) =
                outcome.unwrap_or_else(|what| panic!("{name} on {ranks} ranks: {what}"));
            let expected = if ranks == 1 { 0 } else { *n_maps };
            assert_eq!(outcome.divided.len(), expected, "{name} on {ranks} ranks: {:?}", outcome.whole);
            assert!(received.is_some(), "{name}: no prediction");
        }
    }
}

/// One test for each list and strategy, because each takes long in a debug build.
macro_rules! divided {
    ($($programs:ident: $searched:ident, $by_rows:ident;)*) => {$(
        #[test]
        fn $searched() {
            check_divided(&$programs, |ranks| Distribute::optimal(compute_bound(ranks)));
        }

        #[test]
        fn $by_rows() {
            check_divided(&$programs, Distribute::data_parallel);
        }
    )*};
}

divided! {
    STENCILS: stencils_agree_by_the_search, stencils_agree_by_first_dimensions;
    PRODUCTS: products_agree_by_the_search, products_agree_by_first_dimensions;
    INDIRECT: indirect_accesses_agree_by_the_search, indirect_accesses_agree_by_first_dimensions;
    KMEANS: kmeans_agrees_by_the_search, kmeans_agrees_by_first_dimensions;
    ATTENTION: attention_agrees_by_the_search, attention_agrees_by_first_dimensions;
    FFT: the_transform_agrees_by_the_search, the_transform_agrees_by_first_dimensions;
}

/// An example program, a kernel of PolyBench, or a program of the benchmarks.
fn named(name: &str) -> Validated {
    if name == "conjugate_gradient" {
        let text = include_str!("../benches/mpi/conjugate_gradient.sdft");
        let program = sdfg::text::parse("conjugate_gradient.sdft", text).expect("a program");
        return validate(program).expect("a valid program");
    }
    let listed = ALL.into_iter().chain(KERNELS.map(|kernel| (kernel.name, kernel.build)));
    let (_, build) = listed.into_iter().find(|(known, _)| *known == name).expect("a program of a list");
    build().expect("a valid program").0
}

/// A map that is not divided needs a box of an array. Without boxes, every rank holds the whole array and receives it in each step.
#[test]
fn maps_that_run_everywhere_get_the_box_that_they_need() {
    let machine = compute_bound(4);
    let received = |boxes: bool| {
        let (mut pipeline, sizes) = kernel("fdtd_2d");
        let searched = Searched::of(pipeline.program(), &sizes, &machine).expect("a strategy");
        let options = DivisionOptions { boxes, ..DivisionOptions::default() };
        let outcome = distribute(&mut pipeline, &searched.file, options).expect("it is divided");
        assert_eq!((outcome.divided.len(), outcome.boxes), (3, usize::from(boxes)));
        let traffic = Traffic::of(pipeline.program(), &sizes, 4).expect("it is known");
        traffic.received().iter().sum::<u64>()
    };
    let (with, without) = (received(true), received(false));
    assert!(with < without / 5, "{with} and {without} bytes");
}

/// All maps of the benchmark of conjugate gradients are divided, and ranks exchange halos and sums alone.
#[test]
fn conjugate_gradients_move_halos_and_sums() {
    let text = include_str!("../benches/mpi/conjugate_gradient.sdft");
    let program = sdfg::text::parse("conjugate_gradient.sdft", text).expect("a program");
    let mut pipeline = prepared(&program);
    let outcome = distribute_by_rows(&mut pipeline, 2);
    assert!(outcome.whole.is_empty() && outcome.divided.len() == 4, "{outcome:?}");
    let sizes = [("N", 64), ("T", 3)].map(|(symbol, value)| (Symbol::of(symbol), value));
    let traffic = Traffic::of(pipeline.program(), &sizes.into_iter().collect(), 2).expect("it is known");
    // A row of `p` in each step, and no more than a few elements beside it.
    assert!(traffic.received().iter().all(|bytes| *bytes < 8 * 64 * 8), "{:?}", traffic.received());
}

/// A reduction into a part of an array that a view names, as in NPBench's softmax.
const REDUCED_THROUGH_A_VIEW: &str = "sdfg sums {
  symbol N: i64
  array A: f64[N, N]
  array B: f64[N, N]
  transient array sums: f64[N, 1]
  view V: f64[N]
  state s {
    access A
    access V
    access sums
    access B
    reduce total wcr(sum) axes(1) identity(0)
    map divide [i = 0:N, j = 0:N] {
      tasklet d (a, s) -> (o) { o = a / s }
      divide.A -> d.a: A[i, j]
      divide.sums -> d.s: sums[i, 0]
      d.o -> divide.B: B[i, j]
    }
    A -> total: A[0:N, 0:N]
    total -> V: V[0:N]
    bind V -> sums: sums[0:N, 0]
    A -> divide.A
    sums -> divide.sums
    divide.B -> B
  }
}";

#[test]
fn maps_at_views_of_parts_are_divided() {
    let program = sdfg::text::parse("sums.sdft", REDUCED_THROUGH_A_VIEW).expect("a program");
    let mut pipeline = prepared(&program);
    let outcome = distribute_by_rows(&mut pipeline, 3);
    assert!(outcome.whole.is_empty() && outcome.divided.len() == 3, "{outcome:?}");
    let sizes = BTreeMap::from([(Symbol::of("N"), 16)]);
    let traffic = Traffic::of(pipeline.program(), &sizes, 3).expect("it is known");
    assert_eq!(traffic.received(), [0; 3]);
}

/// Of strategies that cost the same, programs are divided by one whose parts and halos are contiguous, whatever the order of the
/// parameters of maps.
#[test]
fn of_equal_strategies_rows_are_divided() {
    let jacobi = include_str!("../programs/jacobi2d.sdft");
    let gradient = include_str!("../benches/mpi/conjugate_gradient.sdft");
    for (text, n_maps) in [(jacobi, 2), (gradient, 4)] {
        let columns_first = text.replace("[i = 1:N - 1, j = 1:N - 1]", "[j = 1:N - 1, i = 1:N - 1]");
        assert_ne!(text, columns_first);
        let prepared_of = |text: &str| prepared(&sdfg::text::parse("program.sdft", text).expect("a program"));
        let sizes = [("N", 64), ("T", 3)];
        let received = |program: &Sdfg, ranks| {
            let sizes = sizes.map(|(symbol, value)| (Symbol::of(symbol), value)).into_iter().collect();
            Traffic::of(program, &sizes, ranks).expect("it is known").received()
        };
        for ranks in [2, 3] {
            let mut by_rows = prepared_of(text);
            let _ = distribute_by_rows(&mut by_rows, ranks);
            for text in [text, &columns_first] {
                let mut pipeline = prepared_of(text);
                let outcome =
                    Distribute::optimal(compute_bound(ranks)).with_sizes(sizes).apply(&mut pipeline);
                assert_eq!(outcome.expect("it is divided").divided.len(), n_maps);
                let program = pipeline.program();
                let arguments = program.containers().filter(|(_, container)| container.is_argument());
                for blocks in arguments.filter_map(|(_, container)| container.distribution.blocks()) {
                    let is_cut: Vec<bool> = blocks.cuts.iter().map(Option::is_some).collect();
                    assert_eq!(is_cut, [true, false], "{}", sdfg::text::print(program));
                }
                assert_eq!(received(program, ranks), received(by_rows.program(), ranks));
            }
        }
    }
}

/// Divides the first dimension of each map.
fn distribute_by_rows(pipeline: &mut Pipeline, ranks: u32) -> Distributed {
    Distribute::data_parallel(ranks).apply(pipeline).expect("it is divided")
}

/// What a divided program costs decides, not only the model.
#[test]
fn the_cheapest_divided_program_is_taken() {
    let machine = Machine { operations_per_second: 1e5, link_bytes_per_second: 1e6, ..compute_bound(4) };
    for (name, way) in [("lu", Way::DataParallel), ("jacobi_2d", Way::Search)] {
        let (mut pipeline, sizes) = kernel(name);
        let searched = Searched::of(pipeline.program(), &sizes, &machine).expect("a strategy");
        let seconds = |program: &sdfg::ir::Sdfg| communication(program, &sizes, &machine);
        let before = pipeline.program().clone();
        let chosen = searched.carry_out(&mut pipeline, DivisionOptions::default(), &seconds);
        let chosen = chosen.expect("it is divided");
        assert_eq!(chosen.way, way, "{name}");
        // The file tells what was carried out.
        let mut again = Pipeline::on(before);
        let file = searched.file_of(&chosen.strategy);
        let _ = distribute(&mut again, &file, DivisionOptions::default()).expect("it is divided");
        let text = |pipeline: &Pipeline| sdfg::text::print(pipeline.program());
        assert_eq!(text(&again), text(&pipeline), "{name}");
        assert!(
            file.cost >= searched.file.cost
                && file.certificate.as_ref().is_some_and(|proof| proof.bound <= searched.file.cost),
            "{name}"
        );
        let (_, seconds) = chosen.seconds.expect("it is known");
        let found = Waiting::of(pipeline.program(), &sizes, 4, rates(&machine)).expect("it is known");
        assert_eq!(seconds, found.seconds, "{name}");
        // Maps that need nothing of others hide a part.
        let waiting = found.seconds + found.hidden;
        let received = Traffic::of(pipeline.program(), &sizes, 4).expect("it is known").received();
        // No rank waits for more than all bytes, nor for less than the largest share.
        let (most, all) = (received.iter().max().unwrap(), received.iter().sum::<u64>());
        let tolerance = 1e-9 * waiting;
        let (most, all) = (*most as f64 / 1e6 - tolerance, all as f64 / 1e6 + tolerance);
        assert!(most <= waiting && waiting <= all, "{name}");
    }
}
