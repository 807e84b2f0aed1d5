//! Tests of the example programs, and of refused programs.

use crate::strategy::model::{Machine, Model, ModelOptions};
use crate::strategy::{
    ConfigurationRule, Limits, Operations, Options, PartCounts, Problem, Pruning, cost, search, serial,
};

use super::model;

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
    let solution = search(&problem, &Options::default(), &()).expect("a strategy");
    let alone = cost(&problem, &serial(&problem).expect("one"));
    assert!(solution.cost < alone);
}

/// Conjugate gradients of `cargo xtask bench mpi`.
const GRADIENT: &str = include_str!("../../../../../../benches/mpi/conjugate_gradient.sdft");

/// Searches and checks the proof; the configurations of the operations that have dimensions, and whether it costs the same to divide the
/// other dimension instead.
fn chosen(text: &str, symbols: &[(&str, i64)], ranks: u32) -> (Vec<Vec<u32>>, bool) {
    let model = model(text, symbols, ranks).expect("a model");
    let options = Options { pruning: Pruning::Never, ..Options::default() };
    let mut found = None;
    for options in [Options::default(), Options { pruning: Pruning::Always, ..options.clone() }, options] {
        let solution = search(&model, &options, &()).expect("a strategy");
        let limits = Limits::from(&options);
        solution.certificate.check(&model, &solution.strategy, solution.cost, &limits).expect("a proof");
        assert_eq!(*found.get_or_insert(solution.strategy.clone()), solution.strategy);
    }
    let strategy = found.expect("a strategy");
    let parts = |(vertex, c): (usize, &usize)| model.configurations(vertex)[*c].clone();
    let configurations: Vec<Vec<u32>> = strategy.iter().enumerate().map(parts).collect();
    let turned = |(vertex, parts): (usize, &Vec<u32>)| {
        let turned: Vec<u32> = parts.iter().rev().copied().collect();
        model.configurations(vertex).iter().position(|c| *c == turned)
    };
    let turned: Option<Vec<usize>> = configurations.iter().enumerate().map(turned).collect();
    let ties =
        turned.is_some_and(|turned| turned != strategy && cost(&model, &turned) == cost(&model, &strategy));
    (configurations.into_iter().filter(|parts| !parts.is_empty()).collect(), ties)
}

#[test]
fn of_equal_strategies_one_divides_the_outer_dimensions_of_containers() {
    for (text, maps) in [(JACOBI, 2), (GRADIENT, 4)] {
        assert_eq!(chosen(text, &[("N", 512), ("T", 9)], 2), (vec![vec![2, 1]; maps], true));
        assert_eq!(chosen(text, &[("N", 512), ("T", 9)], 3), (vec![vec![3, 1]; maps], true));
        // Parts of both dimensions receive less, and nothing costs the same.
        assert_eq!(chosen(text, &[("N", 512), ("T", 9)], 4), (vec![vec![2, 2]; maps], false));
        // Rows, too, where a map counts columns first.
        let columns_first = text.replace("[i = 1:N - 1, j = 1:N - 1]", "[j = 1:N - 1, i = 1:N - 1]");
        assert_eq!(chosen(&columns_first, &[("N", 512), ("T", 9)], 2), (vec![vec![1, 2]; maps], true));
        assert_eq!(chosen(&columns_first, &[("N", 512), ("T", 9)], 3), (vec![vec![1, 3]; maps], true));
    }
}

/// A map without messages, in which each dimension costs the same.
const LAYERS: &str = "sdfg layers {
  symbol N: i64
  array A: f64[N, N, N]
  array B: f64[2, N, N, N]
  array small: f64[N]
  state s {
    access A
    access B
    access small
    map cells [k = 0:N, j = 0:N, i = 0:N] {
      tasklet f (a, s) -> (o) { o = a * s }
      cells.A -> f.a: A[i, k, j]
      cells.small -> f.s: small[j]
      f.o -> cells.B: B[1, i, k, j]
    }
    A -> cells.A
    small -> cells.small
    cells.B -> B
  }
}";

#[test]
fn configurations_are_in_the_order_of_memory() {
    let model = model(LAYERS, &[("N", 12)], 4).expect("a model");
    let found = model.configurations(0);
    // `i` is outside of `k`, which is outside of `j`. That `j` leads through all of a small container is worth less.
    assert_eq!(found[..5], [[1, 1, 1], [1, 1, 4], [1, 1, 3], [2, 1, 2], [1, 2, 2]]);
    assert_eq!(found.last(), Some(&vec![1, 2, 1]));
    let mut all = found.to_vec();
    all.sort();
    assert_eq!(all, ConfigurationRule::all(4).configurations(&[12; 3]).expect("ranks"));
}

#[test]
fn costs_that_are_computed_when_asked_for_have_the_optimum_of_those_written_down() {
    let sizes = [("M", 60), ("N", 50), ("K", 40)];
    for (text, symbols) in [(MATMUL, &sizes[..]), (JACOBI, &[("N", 102), ("T", 7)]), (CHOICES, &[("N", 40)])]
    {
        for ranks in [1, 6, 16] {
            let model = model(text, symbols, ranks).expect("a model");
            let (lazy, written) = (
                search(&model, &Options::default(), &()).expect("a strategy"),
                search(&model.tabulated().expect("costs"), &Options::default(), &()).expect("a strategy"),
            );
            assert!(
                (lazy.cost - written.cost).abs() <= 1e-12 * written.cost,
                "{} {}",
                lazy.cost,
                written.cost
            );
            lazy.certificate
                .check(&model, &lazy.strategy, lazy.cost, &Limits::from(&Options::default()))
                .expect("a proof");
        }
    }
}

#[test]
fn configurations_may_be_only_divisors_or_not_too_small() {
    let values = [("M", 60), ("N", 50), ("K", 40)];
    let values =
        values.map(|(name, value)| (sdfg::symbolic::Symbol::new(name).expect("a name"), value)).into();
    let machine = Machine { ranks: 16, ..Machine::default() };
    let configurations = |parts, minimum_block| {
        let options = ModelOptions { parts, minimum_block, ..ModelOptions::default() };
        let model = Model::new(&super::program(MATMUL), &values, &machine, &options).expect("a model");
        model.configurations(0).to_vec()
    };
    let (all_parts, divisors) = (PartCounts::All, PartCounts::DivideDimension);
    let all = configurations(all_parts, 0);
    let divides = |parts: &Vec<u32>| 60 % parts[0] == 0 && 50 % parts[1] == 0 && 40 % parts[2] == 0;
    let is_large = |parts: &Vec<u32>| [60, 50, 40].iter().zip(parts).all(|(n, c)| *c == 1 || n / c >= 10);
    let only =
        |wanted: &dyn Fn(&Vec<u32>) -> bool| all.iter().filter(|c| wanted(c)).cloned().collect::<Vec<_>>();
    assert_eq!(configurations(divisors, 0), only(&divides));
    assert_eq!(configurations(all_parts, 10), only(&is_large));
    assert_eq!(configurations(divisors, 10), only(&|c| divides(c) && is_large(c)));
    assert!(all.len() > configurations(divisors, 0).len() && configurations(divisors, 10).len() > 1);
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

/// Two maps read the argument `A`: sums of rows, and sums of columns.
const SHARED: &str = "sdfg shared {
  symbol N: i64
  array A: f64[N, N]
  array x: f64[N]
  array y: f64[N]
  state s {
    access A
    access x
    access y
    map rows [i = 0:N, j = 0:N] {
      tasklet f (a) -> (o) { o = a }
      rows.A -> f.a: A[i, j]
      f.o -> rows.x: x[i] wcr(sum)
    }
    map columns [i = 0:N, j = 0:N] {
      tasklet f_1 (a) -> (o) { o = a }
      columns.A -> f_1.a: A[i, j]
      f_1.o -> columns.y: y[j] wcr(sum)
    }
    A -> rows.A
    rows.x -> x
    A -> columns.A
    columns.y -> y
  }
}";

#[test]
fn an_argument_is_where_the_first_map_needs_it() {
    let model = model(SHARED, &[("N", 12)], 4).expect("a model");
    assert_eq!(flows(&model), [("s.rows".to_owned(), "s.columns".to_owned(), 1)]);
    let fetched = |rows: [u32; 2], columns: [u32; 2]| {
        let of = |vertex, end, parts: [u32; 2]| {
            let number =
                model.configurations(vertex).iter().position(|configuration| *configuration == parts);
            model.layouts(0, end).of(number.expect("a configuration"))
        };
        model.fetched(
            0,
            of(0, crate::strategy::End::Source, rows),
            of(1, crate::strategy::End::Target, columns),
        )
    };
    // A rank has three rows, and fetches the nine others of its three columns.
    assert_eq!(fetched([4, 1], [1, 4]), [8 * 9 * 3; 4]);
    assert_eq!(fetched([4, 1], [4, 1]), [0; 4]);
    // Of all columns, it fetches the other rows.
    assert_eq!(fetched([4, 1], [1, 1]), [8 * 9 * 12, 0, 0, 0]);
    // All ranks hold what is not cut.
    assert_eq!(fetched([1, 1], [2, 2]), [0; 4]);
}

#[test]
fn what_is_not_modelled_is_refused_with_its_place() {
    let query = include_str!("../../../../../../programs/query.sdft");
    let n = ("N", 9);
    for (text, symbols, message) in [
        (
            query,
            &[n][..],
            "stream `found` is not modelled; who takes which element is only known when the program runs",
        ),
        (MATMUL, &[("M", 1)], "has no value"),
    ] {
        let error = model(text, symbols, 4).expect_err(message).to_string();
        assert!(error.contains(message), "{error}");
    }
    let error = model(MATMUL, &[("M", 1 << 30), ("N", 1 << 30), ("K", 1 << 30)], 4).expect_err("sizes");
    assert!(error.to_string().contains("2^53"), "{error}");
    let sizes = [("M", 1 << 16), ("N", 1 << 16), ("K", 1 << 16)];
    for (ranks, message) in [
        (0, "`ranks` is 0"),
        (u32::MAX, "`ranks` is 4294967295"),
        (1 << 16, "multiply.pairs: 65536 ranks have more than 128 ways to share 3 dimensions"),
    ] {
        let error = model(MATMUL, &sizes, ranks).expect_err(message).to_string();
        assert!(error.contains(message), "{error}");
    }
    // A program that does nothing has a strategy of nothing.
    let empty =
        model("sdfg empty {\n  state s {}\n}\n", &[], 4).expect("a model").tabulated().expect("costs");
    let solution = search(&empty, &Options::default(), &()).expect("a strategy");
    assert_eq!((solution.cost.to_bits(), solution.strategy.len()), (0, 0));
    solution.certificate.check(&empty, &[], 0.0, &Limits::from(&Options::default())).expect("a proof");
}

#[test]
fn indices_that_move_or_are_not_affine_are_noted() {
    let laplace = include_str!("../../../../../../programs/laplace.sdft");
    let model = model(laplace, &[("N", 50), ("T", 4)], 1).expect("a model");
    assert!(model.approximations().iter().all(|note| note.contains("is elsewhere each time")), "{model:?}");
    assert_eq!(model.approximations().len(), 4);
    // In each step one row is read and the other one written.
    assert_eq!(model.loads(0, 0)[0].memory_bytes, 8 * (50 + 48));
    let scattered = "sdfg scattered {
  array A: f64[9]
  array B: f64[9]
  state zero {
    access A
    map m [i = 0:9] {
      tasklet f () -> (o) { o = 0.0 }
      order m -> f
      f.o -> m.A: A[i]
    }
    m.A -> A
  }
  state scatter {
    access A
    map m [i = 0:3] {
      tasklet f () -> (o) { o = 1.0 }
      order m -> f
      f.o -> m.A: A[i * i]
    }
    m.A -> A
  }
  state read {
    access A
    access B
    map m [i = 0:9] {
      tasklet f (a) -> (b) { b = a }
      m.A -> f.a: A[i]
      f.b -> m.B: B[i]
    }
    A -> m.A
    m.B -> B
  }
}";
    let model = super::model(scattered, &[], 2).expect("a model");
    assert_eq!(
        model.approximations(),
        ["scatter.m: `A[i**2]` is not affine; all of a dimension is accessed"]
    );
    // What is written somewhere leaves what was there before.
    let flow = |from: &str| (format!("{from}.m"), "read.m".to_owned(), 1);
    assert_eq!(flows(&model), [flow("zero"), flow("scatter")]);
}

/// Flows between operations by name, with their numbers of uses and the bytes on the serial strategy's ranks.
fn flows(model: &crate::strategy::model::Model) -> Vec<(String, String, u64)> {
    let edges = model.edges().iter().enumerate();
    edges
        .map(|(at, edge)| (model.vertex_name(edge.source), model.vertex_name(edge.target), model.times(at)))
        .collect()
}

/// A branch on a symbol, and one that data decide, in a loop.
const CHOICES: &str = "sdfg choices {
  symbol N: i64
  scalar a: f64
  array A: f64[N]
  array B: f64[N]
  state first {
    access A
    access B
    map m [i = 0:N] {
      tasklet f (a) -> (b) { b = 2.0 * a }
      m.A -> f.a: A[i]
      f.b -> m.B: B[i]
    }
    A -> m.A
    m.B -> B
  }
  for steps: t = 0:5 {
    if known: N > 8 {
      state large {
        access B
        access A
        map m [i = 0:N] {
          tasklet f (b) -> (a) { a = b + 1.0 }
          m.B -> f.b: B[i]
          f.a -> m.A: A[i]
        }
        B -> m.B
        m.A -> A
      }
    } else {
      state small {}
    }
    if unknown: a > 0.5 {
      state all {
        access A
        access B
        map m [i = 0:N] {
          tasklet f (a) -> (b) { b = a * a }
          m.A -> f.a: A[i]
          f.b -> m.B: B[i]
        }
        A -> m.A
        m.B -> B
      }
    } else {
      state half {
        access A
        access B
        map m [i = 0:N // 2] {
          tasklet f (a) -> (b) { b = a * a }
          m.A -> f.a: A[i]
          f.b -> m.B: B[i]
        }
        A -> m.A
        m.B -> B
      }
    }
  }
}";

#[test]
fn arms_that_symbols_decide_are_exact_and_others_are_all_counted() {
    let many = model(CHOICES, &[("N", 10)], 2).expect("a model");
    let note = "unknown: which arm runs is not known; each is counted, every time";
    assert_eq!(many.approximations(), [note]);
    let flow = |from: &str, to: &str, times| (format!("{from}.m"), format!("{to}.m"), times);
    // What `large` reads may be from the first state, or from either arm of the iteration before; `half` leaves a part of what
    // was there.
    let expected = [
        flow("first", "large", 1),
        flow("large", "all", 5),
        flow("large", "half", 5),
        flow("all", "large", 4),
        flow("half", "large", 4),
    ];
    let mut found = flows(&many);
    found.sort();
    let mut sorted = expected.to_vec();
    sorted.sort();
    assert_eq!(found, sorted);
    // Without the known arm nothing is written to A, and both arms fetch the caller's where `first` needs it.
    let few = model(CHOICES, &[("N", 8)], 2).expect("a model");
    assert_eq!((few.n_vertices(), flows(&few)), (3, vec![flow("first", "all", 1), flow("first", "half", 1)]));
    let branching = include_str!("../../../../../../programs/branching.sdft");
    let model = model(branching, &[], 4).expect("a model");
    assert_eq!((model.n_vertices(), model.edges().len(), model.approximations().len()), (3, 2, 1));
}

/// A nested SDFG with a loop, called with a row of a matrix, that is called in a loop.
const CALLS: &str = "sdfg calls {
  symbol N: i64
  array A: f64[4, N]
  for outer: t = 0:3 {
    state s {
      access before = A
      access after = A
      nested call (x) -> (x) with (K = N) sdfg inner {
        symbol K: i64
        array x: f64[K]
        transient array y: f64[K]
        for inner: u = 0:2 {
          state there {
            access x
            access y
            map m [i = 0:K] {
              tasklet f (a) -> (b) { b = a + 1.0 }
              m.x -> f.a: x[i]
              f.b -> m.y: y[i]
            }
            x -> m.x
            m.y -> y
          }
          state back {
            access y
            access x
            map m [i = 0:K] {
              tasklet f (a) -> (b) { b = 0.5 * a }
              m.y -> f.a: y[i]
              f.b -> m.x: x[i]
            }
            y -> m.y
            m.x -> x
          }
        }
      }
      before -> call.x: A[2, 0:N]
      call.x -> after: A[2, 0:N]
    }
  }
}";

#[test]
fn calls_are_gone_through_with_their_own_loops_and_containers() {
    let model = model(CALLS, &[("N", 12)], 3).expect("a model");
    assert_eq!(model.approximations(), &[] as &[String]);
    let names: Vec<String> = (0..2).map(|vertex| model.vertex_name(vertex)).collect();
    assert_eq!(names, ["s.call.there.m", "s.call.back.m"]);
    assert_eq!((model.executions(0), model.executions(1)), (6, 6));
    let containers: Vec<(String, u64)> =
        (0..2).map(|edge| (model.container(edge).to_string(), model.times(edge))).collect();
    assert_eq!(containers, [("calls/s/call/container y".to_owned(), 6), ("calls/container A".to_owned(), 5)]);
    // A row is read, not the matrix.
    let whole = model.loads(0, 0)[0];
    assert_eq!((whole.operations, whole.memory_bytes, whole.halo_bytes), (12, 2 * 8 * 12, 0));
}
