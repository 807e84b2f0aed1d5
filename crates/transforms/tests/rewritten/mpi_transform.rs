//! Maps and their data on ranks, run in the interpreter with separate memories.

use super::support::{applies, difference, page_is_true, parsed, refuses, refuses_rightly};
use sdfg_transforms::rewrites::{
    LoopPeeling, MapCollapse, MapTiling, MapToForLoop, MpiTransform, RedundantArray,
};
use sdfg_transforms::{Pipeline, Registry, Step, simplify};

#[test]
fn the_page_is_true() {
    page_is_true(&MpiTransform::new([4]));
}

/// A map with `body` over containers of two dimensions `A` and `B`, vectors `x` and `y` and a scalar `s`.
fn program(ranges: &str, body: &str, ends: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N + 2, N + 1]
  array B: f64[N + 2, N + 1]
  array x: f64[2 * N + 3]
  array y: f64[2 * N + 3]
  scalar s: f64
  state s {{
    access A
    access B
    access x
    access y
    access s
    map m [{ranges}] {{
{body}
    }}
    {}
  }}
}}",
        ends.split(", ").collect::<Vec<_>>().join("\n    ")
    )
}

/// Programs, with the distributions that their transients get in two parts of the first and three of the second dimension.
fn programs() -> Vec<(String, Vec<&'static str>)> {
    let five = "      tasklet t (n, s, w, e, c) -> (o) { o = n + s + w + e - 4 * c }
      m.A -> t.n: A[i - 1, j]
      m.A -> t.s: A[i + 1, j]
      m.A -> t.w: A[i, j - 1]
      m.A -> t.e: A[i, j + 1]
      m.A -> t.c: A[i, j]
      t.o -> m.B: B[i, j]";
    let transposed = "      tasklet t (a) -> (o) { o = a }
      m.A -> t.a: A[j, i]
      t.o -> m.B: B[i, j]";
    let product = "      tasklet t (a, b) -> (o) { o = a * b }
      m.A -> t.a: A[i, j]
      m.x -> t.b: x[j]
      t.o -> m.y: y[i] wcr(sum)";
    let total = "      tasklet t (a) -> (o) { o = a }
      m.A -> t.a: A[i, j]
      t.o -> m.s: s wcr(max)";
    let strided = "      tasklet t (a, b) -> (o) { o = a + 2 * b }
      m.x -> t.a: x[2 * i + 2]
      m.A -> t.b: A[i, j]
      t.o -> m.B: B[i, j]";
    let scatter = "      tasklet t (a) -> (o) { o = a }
      m.A -> t.a: A[i, j]
      t.o -> m.y: y[i + j] wcr(sum)";
    let nested = "      map n [k = 0:i + 1] {
        tasklet t (a) -> (o) { o = 3 * a }
        n.A -> t.a: A[k, j]
        t.o -> n.B: B[i, j] wcr(sum)
      }
      m.A -> n.A
      n.B -> m.B";
    vec![
        (
            program("i = 1:N + 1, j = 1:N", five, "A -> m.A, m.B -> B"),
            vec![
                "balanced(0, 1, N + 1) halo(1, 1), balanced(1, 1, N) halo(1, 1)",
                "balanced(0, 1, N + 1), balanced(1, 1, N)",
            ],
        ),
        (
            program("i = 0:N + 1, j = 0:N + 1", transposed, "A -> m.A, m.B -> B"),
            vec!["balanced(1, 0, N + 1), balanced(0)", "balanced(0, 0, N + 1), balanced(1)"],
        ),
        (
            program("i = 0:N, j = 0:N", product, "A -> m.A, x -> m.x, m.y -> y"),
            vec![
                "balanced(0, 0, N), balanced(1, 0, N)",
                "grid(2, 3)[balanced(1, 0, N)]",
                "equal(1), balanced(0, 0, N)",
            ],
        ),
        (
            program("i = 0:N, j = N - 1:-1:-1", total, "A -> m.A, m.s -> s"),
            vec!["balanced(0, 0, N), whole]", "s_partial0: f64[2, 3] distribution(block(2, 3))"],
        ),
        (
            program("i = 0:N, j = 0:N", strided, "A -> m.A, x -> m.x, m.B -> B"),
            vec!["grid(2, 3)[starts(0, 2*(N // 2) + 2)]"],
        ),
        (program("i = 0:N, j = 0:N:2", scatter, "A -> m.A, m.y -> y"), vec!["equal(0), equal(1), whole"]),
        (
            program("i = 0:N, j = 0:N", nested, "A -> m.A, m.B -> B"),
            vec!["balanced(0, 0, N), balanced(1, 0, N)"],
        ),
    ]
}

#[test]
fn ranks_hold_their_parts_and_copies_bring_the_rest() {
    for (text, distributions) in programs() {
        let found = applies(&text, &MpiTransform::new([2, 3]));
        for distribution in distributions {
            assert!(found.contains(distribution), "no {distribution}\n{found}");
        }
        assert!(found.contains("schedule(mpi)"), "{found}");
    }
}

#[test]
fn one_dimension_or_none_may_be_divided() {
    for (text, _) in programs() {
        for parts in [vec![], vec![4], vec![0, 4], vec![1, 1], vec![7, 1]] {
            applies(&text, &MpiTransform::new(parts));
        }
    }
}

#[test]
fn parts_that_write_one_element_are_refused() {
    let last = "      tasklet t (a) -> (o) { o = a }
      m.A -> t.a: A[i, 0]
      t.o -> m.B: B[i, j - i]";
    let text = program("i = 0:N, j = i:i + 1", last, "A -> m.A, m.B -> B");
    assert!(refuses(&text, &MpiTransform::new([1, 2])).contains("depends on `i`"));
    let flat = "      tasklet t (a) -> (o) { o = a }
      m.A -> t.a: A[i, j]
      t.o -> m.y: y[2 * i + j]";
    let text = program("i = 0:N, j = 0:2", flat, "A -> m.A, m.y -> y");
    let why = refuses(&text, &MpiTransform::new([2, 2]));
    assert!(why.contains("no part is known to have elements of its own"), "{why}");
    let why = refuses(&text, &MpiTransform::new([1, 2]));
    assert!(why.contains("no part is known to have elements of its own"), "{why}");
    applies(&text, &MpiTransform::new([2]));
}

#[test]
fn parts_in_descending_order_are_read_whole_and_not_written() {
    let body = "      tasklet t (a) -> (o) { o = a }
      m.A -> t.a: A[N - i, 0]
      t.o -> m.y: y[i]";
    let text = program("i = 0:N", body, "A -> m.A, m.y -> y");
    let found = applies(&text, &MpiTransform::new([3]));
    assert!(!found.contains("A_part0"), "{found}");
    let text = text.replace("y[i]", "y[N - i]");
    assert!(refuses(&text, &MpiTransform::new([3])).contains("no part is known to have elements of its own"));
}

/// Of 10 = 3 * 3 + 1 positions, parts begin at three times their number, in whatever form: this was refused.
#[test]
fn extents_may_be_numbers_that_leave_a_rest() {
    let body = "      tasklet t (a, b) -> (o) { o = a + b }
      m.A -> t.a: A[i, 0]
      m.A -> t.b: A[i + 1, 0]
      t.o -> m.y: y[i]";
    for (n, parts) in [(10, 3), (11, 3), (9, 3), (256, 3), (256, 5), (7, 2)] {
        let text = program(&format!("i = 0:{n}"), body, "A -> m.A, m.y -> y");
        let text = text.replace("A: f64[N + 2, ", &format!("A: f64[{n} + 2, "));
        let text = text.replace("y: f64[2 * N + 3]", &format!("y: f64[{n}]"));
        let found = applies(&text, &MpiTransform::new([parts]));
        assert!(found.contains(&format!("distribution(grid({parts})[balanced(0)])")), "{found}");
    }
}

#[test]
fn what_cannot_be_distributed_is_refused() {
    let copy = "      tasklet t (a) -> (o) { o = a }
      m.A -> t.a: A[i, j]
      t.o -> m.B: B[i, j]";
    let plain = program("i = 0:N, j = 0:N", copy, "A -> m.A, m.B -> B");
    let three = MpiTransform::new([2, 2, 2]);
    assert!(refuses(&plain, &three).contains("more numbers (3) than dimensions of the map (2)"));
    let pair = MpiTransform::new([2]);
    let simd = plain.replace("0:N] {", "0:N] schedule(simd) {");
    assert!(refuses(&simd, &pair).contains("has the schedule `simd`"));
    let custom = plain.replace("B[i, j]", "B[i, j] wcr(lambda old, new: old - new)");
    assert!(refuses(&custom, &pair).contains("without a neutral element"));
    let holes =
        plain.replace("-> m.B: B[i, j]", "-> m.B: B[2 * (i // 2), j]").replace("i = 0:N", "i = 0:N:2");
    assert!(refuses(&holes, &pair).contains("not known exactly"), "{}", refuses(&holes, &pair));
}

/// A number that no iteration writes keeps its value; combined with a neutral element it would become 0 or 1.
#[test]
fn logical_results_are_truth_values() {
    let body = "      tasklet t (a) -> (o) {
        if a < 0:
          o = a
      }
      m.A -> t.a: A[i, j]
      t.o -> m.y: y[i] wcr(and) atmost(1)";
    let numbers = program("i = 0:N, j = 0:N", body, "A -> m.A, m.y -> y");
    assert!(refuses(&numbers, &MpiTransform::new([2, 2])).contains("without a neutral element"));
    let truth = numbers.replace("array y: f64", "array y: bool").replace("o = a\n", "o = a > -2.0\n");
    applies(&truth, &MpiTransform::new([2, 2]));
}

#[test]
fn results_that_an_iteration_reads_again_are_refused() {
    let text = program(
        "i = 0:N",
        "      tasklet t (a) -> (o) { o = 2 * a }
      tasklet u (b, c) -> (o) { o = b + c }
      m.A -> t.a: A[i, 0]
      t.o -> m.y: y[i]
      order t -> u
      m.y -> u.b: y[i]
      m.y -> u.c: y[N]
      u.o -> m.B: B[i, 0]",
        "A -> m.A, y -> m.y, m.y -> y2, m.B -> B",
    )
    .replace("access s\n    map", "access s\n    access y2 = y\n    map");
    // Each rank holds the last element, too, so it would read another part than the one that it writes.
    let why = refuses_rightly(&text, &MpiTransform::new([2]));
    assert!(why.contains("the read comes after the write"), "{why}");
    // A part that is cut as the elements that are written serves both.
    let only_own =
        text.replace("      m.y -> u.c: y[N]\n", "").replace("(b, c)", "(b)").replace("b + c", "b");
    let applied = applies(&only_own, &MpiTransform::new([2]));
    assert!(applied.contains("y_part0") && !applied.contains("y_part1"), "{applied}");
    // A part with elements that lie far away is cut in another way.
    let beside = text.replace("y[N]", "y[i + N]");
    let why = refuses_rightly(&beside, &MpiTransform::new([2]));
    assert!(why.contains("the read comes after the write"), "{why}");
    // Two reads have a part each, and the write goes to that of the first one.
    let twice = text
        .replace("m.y -> u.c: y[N]", "m.again -> u.c: y[i]")
        .replace("y -> m.y\n", "y -> m.y\n    y -> m.again\n");
    let why = refuses_rightly(&twice, &MpiTransform::new([2]));
    assert!(why.contains("the read comes after the write"), "{why}");
}

/// The map of a program on two ranks.
fn distributed(text: &str) -> String {
    applies(text, &MpiTransform::new([2]))
}

#[test]
fn maps_of_one_rank_are_not_divided_with_those_over_ranks() {
    let copy = "      tasklet t (a) -> (o) { o = a }
      m.A -> t.a: A[i, j]
      t.o -> m.B: B[i, j]";
    for parts in [1, 2] {
        let map = program("i = 0:N + 2, j = 0:N + 1", copy, "A -> m.A, m.B -> B");
        let on_ranks = applies(&map, &MpiTransform::new([parts]));
        let why = refuses_rightly(&on_ranks, &MapCollapse::default());
        assert!(why.contains("would divide those of the inner map"), "{why}");
    }
}

/// The cuts are made where the loop has a value for its symbol.
#[test]
fn loops_that_decide_cuts_stay() {
    let on_ranks = distributed(
        "sdfg p {
  symbol N: i64
  array A: f64[N + 2]
  array B: f64[N + 2]
  for l: t = 0:2 {
    state s {
      access A
      access B
      map m [i = 0:N - t + 1] {
        tasklet f (a) -> (o) { o = a + t }
        m.A -> f.a: A[i]
        f.o -> m.B: B[i]
      }
      A -> m.A
      m.B -> B
    }
  }
}",
    );
    let why = refuses_rightly(&on_ranks, &LoopPeeling { count: 1 });
    assert!(why.contains("sets `t`, on which the shape or distribution of `A_part0` depends"), "{why}");
}

#[test]
fn other_rewrites_keep_to_the_memory_of_each_rank() {
    let copy = "      tasklet t (a) -> (o) { o = a }
      m.A -> t.a: A[i, j]
      t.o -> m.B: B[i, j]";
    let on_ranks = distributed(&program("i = 0:N + 2, j = 0:N + 1", copy, "A -> m.A, m.B -> B"));
    let refused = |step: Step| {
        let mut pipeline = Pipeline::on(parsed(&on_ranks));
        pipeline.apply(step).expect_err("a refusal").to_string()
    };
    // The copy to the argument is redundant on one rank, and brings the parts of others on several.
    let why = refused(RedundantArray::default().at("m.local1"));
    assert!(why.contains("would be accessed by a rank that may not hold its elements"), "{why}");
    let why = refused(MapToForLoop::default().at("m.tiles0"));
    assert!(why.contains("has a schedule"), "{why}");
    let why = refused(MapTiling::new([2]).at("m.tiles0"));
    assert!(why.contains("divides iterations over ranks"), "{why}");
    let mut pipeline = Pipeline::on(parsed(&on_ranks));
    pipeline.apply(MapTiling::new([2, 2]).at("m")).expect("tiles in each part");
    let wrong = difference(&parsed(&on_ranks), pipeline.program());
    assert!(wrong.is_none(), "{wrong:?}");
}

#[test]
fn copies_that_refresh_halos_stay() {
    let text = "sdfg p {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  transient array H: f64[N] distribution(grid(2)[balanced(0) halo(1, 1)])
  state s {
    access A
    access H
    access fresh = H
    access B
    A -> H
    H -> fresh
    map m [r = 0:2] schedule(mpi) {
      map n [i = r * N // 2 + r:(r + 1) * N // 2] {
        tasklet t (a, b) -> (o) { o = a + b }
        n.H -> t.a: H[i]
        n.H -> t.b: H[max(0, i - 1)]
        t.o -> n.B: B[i]
      }
      m.H -> n.H
      n.B -> m.B
    }
    fresh -> m.H
    m.B -> B
  }
}";
    let mut program = parsed(text);
    let counts: usize = simplify(&mut program, &Registry::standard(), None).values().sum();
    let found = sdfg::text::print(&program);
    assert!(found.contains("H -> fresh") && counts == 0, "{found}");
}

/// A loop that runs has an iteration, so the map in it has one, too, and reads rows 0 to `N - 1` of each column that is set.
#[test]
fn maps_that_run_have_iterations_in_loops_over_the_same_size() {
    let in_loop = "sdfg p {
  symbol N: i64
  array B: f64[N]
  transient array V: f64[N, N]
  for rows: r = 0:N {
    for columns: c = 1:N - 1 {
      state set {
        tasklet t () -> (o) { o = r * 10 + c }
        access V
        t.o -> V: V[r, c]
      }
    }
  }
  for l: j = 1:N - 1 {
    state s {
      access V
      access B
      map m [i = 1:N - 1] {
        tasklet f (a, b, c) -> (o) { o = a + b - c }
        m.V -> f.a: V[i - 1, j]
        m.V -> f.b: V[i, j]
        m.V -> f.c: V[i + 1, j]
        f.o -> m.B: B[i]
      }
      V -> m.V
      m.B -> B
    }
  }
}
";
    let divided = distributed(in_loop);
    assert!(
        divided.contains("V_part0: f64[N, N] distribution(grid(2)[balanced(0, 1, N - 1) halo(1, 1), whole])"),
        "{divided}"
    );
    // For N = 2 this map has no iteration, and the copy would read what nothing set.
    let once = in_loop.replace("for l: j = 1:N - 1 {\n", "for l: j = 1:2 {\n");
    let why = refuses(&once, &MpiTransform::new([2]));
    assert!(why.contains("covers more than what is accessed inside"), "{why}");
    // The loop also tells that the stride is positive. The memlet of the map was derived without that, and is all of the container.
    let strided = in_loop
        .replace("V[r, c]", "V[(N - 2) * (r % 2), c]")
        .replace("[i = 1:N - 1]", "[i = 1:N - 1, k = 0:2]")
        .replace("m.B: B[i]", "m.B: B[i] wcr(sum)")
        .replace("(a, b, c) -> (o) { o = a + b - c }", "(a) -> (o) { o = a }")
        .replace(
            "V[i - 1, j]\n        m.V -> f.b: V[i, j]\n        m.V -> f.c: V[i + 1, j]",
            "V[(N - 2) * k, i]",
        );
    let why = refuses(&strided, &MpiTransform::new([2]));
    assert!(why.contains("covers more than what is accessed inside"), "{why}");
}
