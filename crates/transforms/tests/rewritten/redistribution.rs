//! Containers that are cut, and the copies between them, run in the interpreter on virtual ranks.

use super::support::{applies, difference, page_is_true, parsed, refuses, refuses_rightly};
use sdfg_transforms::distribute::{DivisionOptions, data_parallel, distribute_by, prepare};
use sdfg_transforms::rewrites::{DistributeContainer, RedundantRedistribution, StateFission};
use sdfg_transforms::{Pipeline, Transformation};

#[test]
fn the_pages_are_true() {
    page_is_true(&StateFission::default());
    page_is_true(&DistributeContainer::default());
    page_is_true(&RedundantRedistribution::default());
}

/// A map that reads a view inside of its scope, and one that reads a view of it, in one state.
const VIEWS: &str = "sdfg views {
  symbol N: i64
  array A: f64[N]
  transient array T: f64[N]
  view V: f64[N]
  view W: f64[N]
  array B: f64[N]
  array C: f64[N]
  state s {
    access A
    access T
    access V
    access W
    access B
    access C
    map m [i = 0:N] {
      tasklet t (a) -> (o) { o = 2.0 * a }
      m.A -> t.a: A[i]
      t.o -> m.T: T[i]
    }
    map n [i = 0:N] {
      tasklet u (a) -> (o) { o = a + 1.0 }
      n.V -> u.a: V[i]
      u.o -> n.B: B[i]
    }
    map o [i = 0:N] {
      access inside = V
      tasklet v (a, b) -> (o) { o = a + b }
      inside -> v.a: V[N - i - 1]
      o.W -> v.b: W[i]
      v.o -> o.C: C[i]
    }
    A -> m.A
    m.T -> T
    bind T -> V: T[0:N]
    bind V -> W: V[0:N]
    V -> n.V
    n.B -> B
    W -> o.W
    order V -> o
    o.C -> C
  }
}";

#[test]
fn each_state_binds_the_views_that_it_uses() {
    let before = parsed(VIEWS);
    let mut pipeline = Pipeline::on(before.clone());
    prepare(&mut pipeline);
    assert_eq!(pipeline.program().states().count(), 3, "{}", sdfg::text::print(pipeline.program()));
    assert_eq!(difference(&before, pipeline.program()), None);
}

/// Smoothing back and forth between two arrays.
pub(super) const JACOBI: &str = "sdfg jacobi {
  symbol N: i64
  array A: f64[N + 2, N + 3]
  array B: f64[N + 2, N + 3]
  for steps: t = 0:3 {
    state s {
      access A
      access B
      access new = A
      map m [i = 1:N + 1, j = 1:N + 2] {
        tasklet t (n, s, w, e) -> (o) { o = n + s - w - e }
        m.A -> t.n: A[i - 1, j]
        m.A -> t.s: A[i + 1, j]
        m.A -> t.w: A[i, j - 1]
        m.A -> t.e: A[i, j + 1]
        t.o -> m.B: B[i, j]
      }
      map n [i = 1:N + 1, j = 1:N + 2] {
        tasklet u (c, s) -> (o) { o = c + 2 * s }
        n.B -> u.c: B[i, j]
        n.B -> u.s: B[i + 1, j]
        u.o -> n.A: A[i, j]
      }
      A -> m.A
      m.B -> B
      B -> n.B
      n.A -> new
    }
  }
}";

/// A program with its maps in so many parts, alone in their states.
fn distributed(text: &str, parts: &[u32]) -> (Pipeline, usize) {
    let mut pipeline = Pipeline::on(parsed(text));
    prepare(&mut pipeline);
    let maps = ["s/m", "\"s.after0\"/n"].map(|path| (path.parse().expect("a path"), parts.to_vec()));
    let outcome = distribute_by(&mut pipeline, &maps, DivisionOptions::default());
    assert!(outcome.whole.is_empty(), "{:?}", outcome.whole);
    (pipeline, outcome.left_out)
}

#[test]
fn stencils_only_refresh_halos() {
    for parts in [[2, 2], [3, 1], [1, 5]] {
        let (pipeline, left_out) = distributed(JACOBI, &parts);
        let found = sdfg::text::print(pipeline.program());
        let wrong = difference(&parsed(JACOBI), pipeline.program());
        assert!(wrong.is_none(), "{wrong:?}\n{found}");
        // Two arrays are read and written in place; the only copies refresh their halos.
        assert_eq!(left_out, 4, "{found}");
        assert!(!found.contains("transient") && found.contains("halo("), "{found}");
        let replayed = pipeline.chain().replay(parsed(JACOBI), &sdfg_transforms::Registry::standard());
        let replayed = replayed.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(sdfg::text::print(replayed.program()), found);
    }
}

/// A state that reads elements alone, and one that reads neighbours, before a map that writes what both read.
const WITH_AND_WITHOUT_HALOS: &str = "sdfg halos {
  symbol N: i64
  array A: f64[N + 2]
  array B: f64[N + 2]
  array C: f64[N + 2]
  for steps: t = 0:3 {
    state s {
      access A
      access C
      map k [i = 1:N + 1] {
        tasklet t (a) -> (o) { o = 3 * a }
        k.A -> t.a: A[i]
        t.o -> k.C: C[i]
      }
      A -> k.A
      k.C -> C
    }
    -> u
    state u {
      access A
      access B
      map m [i = 1:N + 1] {
        tasklet t (w, e) -> (o) { o = w - e }
        m.A -> t.w: A[i - 1]
        m.A -> t.e: A[i + 1]
        t.o -> m.B: B[i]
      }
      A -> m.A
      m.B -> B
    }
    -> v
    state v {
      access A
      access B
      access C
      map n [i = 1:N + 1] {
        tasklet t (b, c) -> (o) { o = b + c }
        n.B -> t.b: B[i]
        n.C -> t.c: C[i]
        t.o -> n.A: A[i]
      }
      B -> n.B
      C -> n.C
      n.A -> A
    }
  }
}";

/// Copies without halos go first. Once the array has halos, a map that reads it without refreshing them would keep the other map
/// from writing it directly.
#[test]
fn halos_come_after_direct_accesses() {
    let before = parsed(WITH_AND_WITHOUT_HALOS);
    let mut pipeline = Pipeline::on(before.clone());
    prepare(&mut pipeline);
    let steps = data_parallel(pipeline.program(), 3);
    assert_eq!(distribute_by(&mut pipeline, &steps, DivisionOptions::default()).divided.len(), 3);
    let found = sdfg::text::print(pipeline.program());
    let wrong = difference(&before, pipeline.program());
    assert!(wrong.is_none(), "{wrong:?}\n{found}");
    assert!(!found.contains("transient") && found.matches("halo(").count() == 1, "{found}");
}

#[test]
fn the_first_dimension_of_each_map_is_divided_without_a_strategy() {
    let mut pipeline = Pipeline::on(parsed(JACOBI));
    prepare(&mut pipeline);
    let steps = data_parallel(pipeline.program(), 3);
    let shown: Vec<String> = steps.iter().map(|(path, parts)| format!("{path} {parts:?}")).collect();
    assert_eq!(shown, ["jacobi/s/m [3]", "jacobi/\"s.after0\"/n [3]"]);
    assert_eq!(distribute_by(&mut pipeline, &steps, DivisionOptions::default()).divided.len(), 2);
}

#[test]
fn containers_that_all_ranks_use_stay_whole() {
    let text = "sdfg p {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  transient array P: f64[N] distribution(grid(2)[balanced(0)])
  state s {
    access A
    access P
    access B
    A -> P
    P -> B
    tasklet t (x) -> (y) { y = x[0] }
    access B2 = B
    B -> t.x: B[0:N]
    t.y -> B2: B[0]
  }
}";
    let cut = applies(text, &DistributeContainer::default());
    assert!(cut.contains("array A: f64[N] distribution(grid(2)"), "{cut}");
    let why = refuses(&cut, &DistributeContainer::default());
    assert!(why.contains("`B` is used elsewhere"), "{why}");
}

/// A container is copied to a whole one, and to a part.
#[test]
fn each_copy_of_a_container_is_looked_at() {
    for copies in ["A -> B\nA -> P", "A -> P\nA -> B"] {
        let text = format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  array P: f64[N] distribution(grid(2)[balanced(0)])
  state s {{
    access A
    access B
    access P
    {copies}
  }}
}}"
        );
        let mut pipeline = Pipeline::on(parsed(&text));
        let cut = pipeline.apply(DistributeContainer::default().at_all(["s/A", "s/P"]));
        assert!(cut.is_ok(), "{:?}", cut.err());
    }
}

/// The values of a part are pushed to queues, one for each.
#[test]
fn streams_stay_whole() {
    let text = "sdfg p {
  symbol N: i64
  array A: f64[4] distribution(grid(2)[balanced(0)])
  stream S: f64[4] capacity(8)
  state s {
    access A
    access S
    A -> S
  }
}";
    let why = refuses(text, &DistributeContainer::default());
    assert!(why.contains("`S` is no replicated array or scalar"), "{why}");
}

#[test]
fn halos_that_only_a_copy_sets_keep_it() {
    let text = "sdfg p {
  symbol N: i64
  transient array P: f64[N + 4] distribution(grid(2)[balanced(0)])
  transient array H: f64[N + 4] distribution(grid(2)[balanced(0) halo(1, 1)])
  array B: f64[N + 4]
  transient array Q: f64[N + 4] distribution(grid(2)[balanced(0)])
  state s {
    access P
    access H
    map m [r = 0:2] schedule(mpi) {
      map n [i = r * (N + 4) // 2:(r + 1) * (N + 4) // 2] {
        tasklet t () -> (o) { o = f64(i) }
        t.o -> n.P: P[i]
      }
      n.P -> m.P
    }
    m.P -> P
    P -> H
  }
  -> u
  state u {
    access H
    access B
    access Q
    map m [r = 0:2] schedule(mpi) {
      map n [i = r * (N + 4) // 2:(r + 1) * (N + 4) // 2] {
        tasklet t (a, b) -> (o) { o = a + 2 * b }
        n.H -> t.a: H[i]
        n.H -> t.b: H[max(0, i - 1)]
        t.o -> n.Q: Q[i]
      }
      m.H -> n.H
      n.Q -> m.Q
    }
    H -> m.H
    m.Q -> Q
    Q -> B
  }
}";
    let mut pipeline = Pipeline::on(parsed(text));
    let step = RedundantRedistribution::default().at_all(["s/P", "s/H"]);
    let why = pipeline.apply(step).expect_err("a refusal").to_string();
    assert!(why.contains("that only this copy sets"), "{why}");
}

#[test]
fn a_target_that_later_maps_wait_for_stays() {
    // The order between the target and a map over ranks is no read of it.
    let text = "sdfg p {
  symbol N: i64
  array A: f64[N] distribution(grid(2)[balanced(0)])
  array B: f64[N] distribution(grid(2)[balanced(0)])
  transient array P: f64[N] distribution(grid(2)[balanced(0)])
  state s {
    access A
    access B
    access P
    map m [r = 0:2] schedule(mpi) {
      map n [i = r * N // 2:(r + 1) * N // 2] {
        tasklet t () -> (o) { o = f64(i) }
        t.o -> n.P: P[i]
      }
      n.P -> m.P
    }
    map k [r = 0:2] schedule(mpi) {
      map l [i = r * N // 2:(r + 1) * N // 2] {
        tasklet u () -> (o) { o = 2 * f64(i) }
        u.o -> l.B: B[i]
      }
      l.B -> k.B
    }
    m.P -> P
    P -> A
    order A -> k
    k.B -> B
  }
}";
    let found = applies(text, &RedundantRedistribution::default());
    assert!(found.contains("array A:") && !found.contains("array P:"), "{found}");
}

/// Accumulates in place, and changes another array in place in a map that reads two.
const IN_PLACE: &str = "sdfg p {
  symbol N: i64
  array A: f64[N, N]
  array B: f64[N, N]
  array C: f64[N, N]
  state s {
    access B
    access B2 = B
    access A
    map m [i = 1:N - 1, j = 0:N] {
      tasklet t (b, a) -> (o) { o = b + 2 * a }
      m.B -> t.b: B[i, j]
      m.A -> t.a: A[i, j]
      t.o -> m.B: B[i, j]
    }
    B -> m.B
    A -> m.A
    m.B -> B2
  }
  state u {
    access A
    access B
    access C
    map n [i = 0:N, j = 0:N, k = 0:N] {
      tasklet t (a, b) -> (o) { o = a * b + 1 }
      n.A -> t.a: A[i, k]
      n.B -> t.b: B[k, j]
      t.o -> n.C: C[i, j] wcr(sum)
    }
    A -> n.A
    B -> n.B
    n.C -> C
  }
}";

/// The program with its two maps in so many parts of their first two dimensions.
fn in_place(text: &str, parts: [u32; 2]) -> String {
    let mut pipeline = Pipeline::on(parsed(text));
    prepare(&mut pipeline);
    let maps = [
        ("s/m".parse().expect("a path"), parts.to_vec()),
        ("u/n".parse().expect("a path"), [&parts[..], &[1]].concat()),
    ];
    let outcome = distribute_by(&mut pipeline, &maps, DivisionOptions::default());
    assert!(outcome.whole.is_empty(), "{:?}", outcome.whole);
    sdfg::text::print(pipeline.program())
}

#[test]
fn maps_that_change_their_data_in_place_need_no_copy_of_it() {
    for parts in [[2, 1], [3, 1], [1, 2]] {
        let found = in_place(IN_PLACE, parts);
        let wrong = difference(&parsed(IN_PLACE), &parsed(&found));
        assert!(wrong.is_none(), "{wrong:?}\n{found}");
        assert!(!found.contains("array C_partial"), "{found}");
        // Where rows of it are divided, all ranks need the whole of the second factor.
        assert!(parts[0] > 1 || !found.contains("array B_part0"), "{found}");
    }
}

#[test]
fn ranks_multiply_matrices() {
    let text = in_place(&IN_PLACE.replace("a * b + 1", "a * b"), [2, 1]);
    assert!(text.contains("library") && text.contains("MatMul"), "{text}");
}

#[test]
fn results_that_a_copy_drops_do_not_reach_the_target() {
    let text = "sdfg p {
  symbol N: i64
  array A: f64[N + 4] distribution(grid(2)[balanced(0)])
  transient array P: f64[N + 4] distribution(grid(2)[balanced(0)])
  state s {
    access A
    access P
    map m [r = 0:2] schedule(mpi) {
      map n [i = r * (N + 4) // 2:(r + 1) * (N + 4) // 2] {
        tasklet t () -> (o) { o = f64(i) }
        t.o -> n.P: P[i]
      }
      n.P -> m.P
    }
    m.P -> P
    P -> A: P[1:N + 3] -> A[1:N + 3]
  }
}";
    let why = refuses_rightly(text, &RedundantRedistribution::default());
    assert!(why.contains("may get more elements than the copy takes"), "{why}");
}

/// A program that sets a transient row by row in a loop, and reads its corners by a copy of a part.
fn rows_in_a_loop(rows: &str, written: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array B: f64[N, N]
  transient array P: f64[N, N]
  for rows: r = {rows} {{
    state row {{
      access P
      map c [j = 0:N] {{
        tasklet t () -> (o) {{ o = f64(j) }}
        t.o -> c.P: P[{written}, j]
      }}
      c.P -> P
    }}
  }}
  state s {{
    access P
    access B
    map m [i = 1:N - 1, j = 1:N - 1] {{
      tasklet t (n, s, w) -> (o) {{ o = n + s - w }}
      m.P -> t.n: P[i - 1, j]
      m.P -> t.s: P[i + 1, j]
      m.P -> t.w: P[i, j - 1]
      t.o -> m.B: B[i, j]
    }}
    P -> m.P
    m.B -> B
  }}
}}"
    )
}

#[test]
fn transients_that_a_loop_sets_are_divided() {
    let divided = |rows: &str, written: &str| {
        let text = rows_in_a_loop(rows, written);
        let mut pipeline = Pipeline::on(parsed(&text));
        let maps = [("s/m".parse().expect("a path"), vec![2, 2])];
        let outcome = distribute_by(&mut pipeline, &maps, DivisionOptions::default());
        if outcome.whole.is_empty() {
            let wrong = difference(&parsed(&text), pipeline.program());
            assert!(wrong.is_none(), "{wrong:?}\n{}", sdfg::text::print(pipeline.program()));
        }
        outcome.whole.is_empty()
    };
    assert!(divided("0:N", "r"));
    assert!(divided("1:N + 1", "r - 1"));
    // One row has no value, or nothing tells that all have one.
    assert!(!divided("0:N - 1", "r"));
    assert!(!divided("0:N", "max(0, r - 1)"));
    assert!(!divided("0:2 * N:2", "r // 2"));
}

#[test]
fn transients_that_an_earlier_state_sets_are_divided() {
    // A copy of the part that a rank reads has corners that no iteration reads, and a sum may be one of nothing.
    let text = "sdfg p {
  symbol N: i64
  array B: f64[N, N]
  array s: f64[1]
  transient array P: f64[N, N]
  transient array sum: f64[1]
  state clear {
    access P
    access sum
    map c [i = 0:N, j = 0:N] {
      tasklet t () -> (o) { o = f64(i + 2 * j) }
      t.o -> c.P: P[i, j]
    }
    tasklet z () -> (o) { o = 1.0 }
    c.P -> P
    z.o -> sum: sum[0]
  }
  for steps: t = 0:2 {
    state s {
      access P
      access B
      access sum
      map m [i = 1:N - 1, j = 1:N - 1] {
        tasklet t (n, s, w, e) -> (o, q) {
          o = n + s - w - e
          q = n
        }
        m.P -> t.n: P[i - 1, j]
        m.P -> t.s: P[i + 1, j]
        m.P -> t.w: P[i, j - 1]
        m.P -> t.e: P[i, j + 1]
        t.o -> m.B: B[i, j]
        t.q -> m.sum: sum[0] wcr(sum)
      }
      P -> m.P
      m.B -> B
      m.sum -> sum
    }
  }
  state out {
    access sum
    access s
    sum -> s
  }
}";
    for parts in [[2, 1], [2, 2]] {
        let mut pipeline = Pipeline::on(parsed(text));
        prepare(&mut pipeline);
        let maps = ["clear/c", "s/m"].map(|path| (path.parse().expect("a path"), parts.to_vec()));
        let outcome = distribute_by(&mut pipeline, &maps, DivisionOptions::default());
        assert!(outcome.whole.is_empty(), "{:?}", outcome.whole);
        let found = sdfg::text::print(pipeline.program());
        let wrong = difference(&parsed(text), pipeline.program());
        assert!(wrong.is_none(), "{wrong:?}\n{found}");
        // The loop decides how the container is cut.
        assert!(found.contains("array P: f64[N, N] distribution(grid(2"), "{found}");
        assert!(found.contains("balanced(0, 1, N - 1) halo(1, 1)"), "{found}");
    }
}

#[test]
fn states_are_split_behind_order_that_waits_for_nothing() {
    let text = "sdfg p {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  scalar s: f64
  state a {
    access A
    access B
    access s
    tasklet z () -> (o) { o = 1.0 }
    map m [i = 0:N] {
      tasklet t (a, f) -> (o) { o = a * f }
      m.A -> t.a: A[i]
      m.s -> t.f: s
      t.o -> m.B: B[i]
    }
    order A -> z
    z.o -> s: s
    A -> m.A
    s -> m.s
    m.B -> B
  }
}";
    let mut pipeline = Pipeline::on(parsed(text));
    prepare(&mut pipeline);
    assert_eq!(pipeline.program().states().count(), 2, "{}", sdfg::text::print(pipeline.program()));
    let wrong = difference(&parsed(text), pipeline.program());
    assert!(wrong.is_none(), "{wrong:?}");
}

/// Each step weighs a vector by the neighbours of another one, which stays the same.
const WEIGHTED: &str = "sdfg weighted {
  symbol N: i64
  array w: f64[N + 2]
  array A: f64[N + 2]
  for steps: t = 0:N {
    state s {
      access w
      access A
      access new = A
      map m [i = 1:N + 1] {
        tasklet t (l, r, a) -> (o) { o = a + l - r }
        m.w -> t.l: w[i - 1]
        m.w -> t.r: w[i + 1]
        m.A -> t.a: A[i]
        t.o -> m.A: A[i]
      }
      w -> m.w
      A -> m.A
      m.A -> new
    }
  }
}";

#[test]
fn copies_of_what_loops_keep_run_before_them() {
    let mut pipeline = Pipeline::on(parsed(WEIGHTED));
    prepare(&mut pipeline);
    let maps = [("s/m".parse().expect("a path"), vec![3])];
    let outcome = distribute_by(&mut pipeline, &maps, DivisionOptions::default());
    let found = sdfg::text::print(pipeline.program());
    assert_eq!((outcome.divided.len(), outcome.hoisted), (1, 1), "{found}");
    // `N` may be zero.
    assert!(found.contains("if "), "{found}");
    assert_eq!(difference(&parsed(WEIGHTED), pipeline.program()), None, "{found}");
}

/// Another copy of the original would meet the copy that refreshes its halos.
#[test]
fn originals_that_are_copied_elsewhere_keep_their_copy() {
    let page = RedundantRedistribution::default().metadata().page();
    let before = page.split("```sdft\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a program");
    let cut = "distribution(grid(4)[balanced(0, 1, N - 1)])";
    let text = before
        .replacen("  state s {", &format!("  array C: f64[N] {cut}\n\n  state s {{\n    access C"), 1)
        .replacen("    A -> A_part0\n", "    A -> A_part0\n    A -> C\n", 1);
    let reason = refuses_rightly(&text, &RedundantRedistribution::default());
    assert!(reason.contains("`C` accesses it, too"), "{reason}");
}

/// A program of containers that are cut alike, `T` a transient, with a map over ranks that reads `T`, and these copies.
fn alike(copies: &str) -> Pipeline {
    let cut = "f64[N] distribution(grid(2)[balanced(0)])";
    Pipeline::on(parsed(&format!(
        "sdfg p {{
  symbol N: i64
  array A: {cut}
  array B: {cut}
  array C: {cut}
  transient array T: {cut}
  state s {{
    access A
    access B
    access C
    access T
    map m [r = 0:2] schedule(mpi) {{
      map n [i = r * N // 2:(r + 1) * N // 2] {{
        tasklet t (a) -> (o) {{ o = a + 1 }}
        n.T -> t.a: T[i]
        t.o -> n.B: B[i]
      }}
      m.T -> n.T
      n.B -> m.B
    }}
    A -> T
    T -> m.T
    m.B -> B
    {copies}
  }}
}}"
    )))
}

/// Makes one container of `A` and its copy `T`.
fn merge(mut pipeline: Pipeline) -> Result<(), String> {
    let merged = pipeline.apply(RedundantRedistribution::default().at_all(["s/A", "s/T"]));
    merged.map(|_| ()).map_err(|error| error.to_string())
}

#[test]
fn containers_of_other_shapes_or_memory_are_not_alike() {
    let program = sdfg::text::print(alike("").program());
    for [declared, copy] in
        [["f64[N] storage(cpu_heap) ", "A -> T\n"], ["f64[N + 2] ", "A -> T: A[0:N] -> T[0:N]\n"]]
    {
        let text = program
            .replacen("array T: f64[N] ", &format!("array T: {declared}"), 1)
            .replacen("A -> T\n", copy, 1);
        let why = merge(Pipeline::on(parsed(&text))).expect_err("they differ");
        assert!(why.contains("has another shape or memory"), "{why}");
    }
}

#[test]
fn copies_that_others_than_maps_use_stay() {
    assert_eq!(merge(alike("")), Ok(()));
    let why = merge(alike("T -> C")).expect_err("a copy reads it, too");
    assert!(why.contains("is read by something else than a map over ranks"), "{why}");
    // A copy changes what is copied back.
    let back = "access again = A\naccess changed = T\norder B -> C\nC -> changed\nchanged -> again";
    let why = merge(alike(back)).expect_err("no map changes it");
    assert!(why.contains("is used elsewhere"), "{why}");
    // A map changes it, and it is copied to another container.
    let text = sdfg::text::print(alike("access changed = T\nchanged -> C").program());
    let text =
        text.replacen("t.o -> n.B: B[i]", "t.o -> n.T: T[i]", 1).replacen("n.B -> m.B", "n.T -> m.T", 1);
    let text = text.replacen("    m.B -> B\n", "    m.T -> changed\n", 1).replacen("    access B\n", "", 1);
    let why = merge(Pipeline::on(parsed(&text))).expect_err("it is not copied back");
    assert!(why.contains("is used elsewhere"), "{why}");
}

/// An array is written before a loop by rows, and in it by columns.
#[test]
fn loops_decide_how_containers_are_cut() {
    let map = |state: &str, map: &str| {
        format!(
            "state {state} {{
    access A
    map {map} [i = 0:N, j = 0:N] {{
      tasklet t () -> (o) {{ o = f64(i + 2 * j) }}
      t.o -> {map}.A: A[i, j]
    }}
    {map}.A -> A
  }}"
        )
    };
    let (once, often) = (map("s", "m"), format!("for steps: t = 0:3 {{ {} }}", map("u", "n")));
    for order in [[&once, &often], [&often, &once]] {
        let text = format!("sdfg p {{ symbol N: i64\n array A: f64[N, N]\n {}\n{} }}", order[0], order[1]);
        let mut pipeline = Pipeline::on(parsed(&text));
        let maps = [("s/m", [2, 1]), ("u/n", [1, 2])]
            .map(|(path, parts)| (path.parse().expect("a path"), parts.to_vec()));
        let outcome = distribute_by(&mut pipeline, &maps, DivisionOptions::default());
        assert!(outcome.whole.is_empty(), "{:?}", outcome.whole);
        let found = sdfg::text::print(pipeline.program());
        assert!(found.contains("  array A: f64[N, N] distribution(grid(2)[whole, "), "{found}");
        assert_eq!(difference(&parsed(&text), pipeline.program()), None, "{found}");
    }
}
