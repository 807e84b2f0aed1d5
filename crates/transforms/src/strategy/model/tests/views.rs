//! Tests of programs with views: they cost the same as the programs without views.

use super::model;
use crate::strategy::{End, Operations, Problem};

/// Columns of a matrix, doubled from one to the next, then added up; `{..}` differs.
fn program(declared: &str, doubling: &str, adding: &str) -> String {
    format!(
        "sdfg columns {{
  symbol N: i64
  array A: f64[N, N]
  array s: f64[N]
{declared}
  state double {{
    access A
    access after = A
{doubling}
  }}
  state add {{
    access A
    access s
{adding}
  }}
}}
"
    )
}

const DOUBLING: &str = "    map m [i = 0:N - 1] {
      tasklet f (a) -> (b) { b = 2.0 * a }
      m.A -> f.a: A[i + 1, 2]
      f.b -> m.A: A[i, 3]
    }
    A -> m.A
    m.A -> after";

const ADDING: &str = "    map rows [i = 0:N] {
      map columns [j = 1:5] {
        tasklet f (a) -> (t) { t = a }
        columns.A -> f.a: A[i, j]
        f.t -> columns.s: s[i] wcr(sum)
      }
      rows.A -> columns.A
      columns.s -> rows.s
    }
    A -> rows.A
    rows.s -> s";

#[track_caller]
fn assert_same(with: &str, without: &str, note: Option<&str>) {
    for ranks in [1, 5, 8] {
        let [with, without] = [with, without].map(|text| model(text, &[("N", 13)], ranks).expect("a model"));
        let notes: Vec<&str> = with.approximations().iter().map(String::as_str).collect();
        assert_eq!(notes, note.into_iter().collect::<Vec<_>>());
        assert_eq!(with.edges(), without.edges());
        for vertex in 0..with.n_vertices() {
            assert_eq!(with.configurations(vertex), without.configurations(vertex));
            for configuration in 0..with.n_configurations(vertex) {
                assert_eq!(with.loads(vertex, configuration), without.loads(vertex, configuration));
            }
        }
        let (with, without) = (with.tabulated().expect("costs"), without.tabulated().expect("costs"));
        for edge in 0..with.edges().len() {
            assert_eq!(with.edge_table(edge), without.edge_table(edge));
        }
    }
}

#[test]
fn a_view_is_the_part_that_it_names() {
    let plain = program("", DOUBLING, ADDING);
    // Without its last row, and from there a column of it.
    let doubling = "    access rest
    access column
    access next
    bind A -> rest: A[1:N, 0:5]
    bind rest -> column: rest[0:N - 1, 2]
    map m [i = 0:N - 1] {
      tasklet f (a) -> (b) { b = 2.0 * a }
      m.column -> f.a: column[i]
      f.b -> m.next: next[i]
    }
    column -> m.column
    m.next -> next
    bind next -> after: A[0:N - 1, 3]";
    let declared = "  view rest: f64[N - 1, 5]\n  view column: f64[N - 1]\n  view next: f64[N - 1]";
    assert_same(&program(declared, doubling, ADDING), &plain, None);
}

#[test]
fn a_view_in_a_map_is_another_part_in_each_iteration() {
    let plain = program("", DOUBLING, ADDING);
    let adding = "    map rows [i = 0:N] {
      access row
      bind rows.A -> row: A[i, 1:5]
      map columns [j = 0:4] {
        tasklet f (a) -> (t) { t = a }
        columns.row -> f.a: row[j]
        f.t -> columns.s: s[i] wcr(sum)
      }
      row -> columns.row
      columns.s -> rows.s
    }
    A -> rows.A
    rows.s -> s";
    assert_same(&program("  view row: f64[4]", DOUBLING, adding), &plain, None);
}

#[test]
fn a_view_of_another_shape_may_be_anywhere() {
    let text = "sdfg flat {
  symbol N: i64
  array A: f64[N, N]
  array B: f64[N * N]
  view V: f64[N * N]
  state s {
    access A
    access V
    access B
    bind A -> V: A[0:N, 0:N]
    map m [i = 0:N * N] {
      tasklet f (a) -> (b) { b = a }
      m.V -> f.a: V[i]
      f.b -> m.B: B[i]
    }
    V -> m.V
    m.B -> B
  }
}
";
    let model = model(text, &[("N", 4)], 4).expect("a model");
    let note =
        "s: `V` views `A[0:N, 0:N]`, in another shape or elsewhere each time; all of a dimension is accessed";
    assert_eq!(model.approximations(), [note]);
    // Each of four ranks reads all of the matrix.
    let cut = model.configurations(0).iter().position(|c| c == &[4]).expect("one");
    assert!(model.loads(0, cut).iter().all(|load| load.memory_bytes == 8 * (16 + 4)));
}

#[test]
fn a_copy_that_combines_reads_what_was_there() {
    let text = |to: &str| {
        format!(
            "sdfg copies {{\n  array A: f64[6]\n  array B: f64[8]\n  state s {{\n    access A\n    access B\n    A -> B: A[0:6] -> B[1:7]{to}\n  }}\n}}\n"
        )
    };
    let loads = |to: &str| model(&text(to), &[], 1).expect("a model").loads(0, 0)[0];
    let (plain, adding) = (loads(""), loads(" wcr(sum)"));
    assert_eq!((plain.memory_bytes, plain.operations), (8 * 12, 0));
    assert_eq!((adding.memory_bytes, adding.operations), (8 * 18, 6));
}

/// Ranks that were left two boxes with gaps, which make up an interval.
#[test]
fn what_was_written_by_two_accesses_is_left_by_both() {
    let text = "sdfg twice {
  array X: f64[9]
  array A: f64[18]
  array B: f64[18]
  state write {
    access X
    access A
    map m [i = 0:9] {
      tasklet even (x) -> (o) { o = x }
      tasklet odd (x) -> (o) { o = 2.0 * x }
      m.X -> even.x: X[i]
      m.X -> odd.x: X[i]
      even.o -> m.A: A[2 * i]
      odd.o -> m.A: A[2 * i + 1]
    }
    X -> m.X
    m.A -> A
  }
  state read {
    access A
    access B
    map m [i = 0:18] {
      tasklet f (a) -> (b) { b = a }
      m.A -> f.a: A[i]
      f.b -> m.B: B[i]
    }
    A -> m.A
    m.B -> B
  }
}
";
    let model = model(text, &[], 7).expect("a model");
    assert_eq!(model.edges().len(), 1);
    for (source, from) in model.configurations(0).iter().enumerate() {
        for (target, to) in model.configurations(1).iter().enumerate() {
            let (from, to) = (u64::from(from[0]), u64::from(to[0]));
            let left =
                |rank: u64, x: u64| rank < from && x / 2 >= 9 * rank / from && x / 2 < 9 * (rank + 1) / from;
            let fetched = |rank: u64| -> u64 {
                let owned = if rank < to { 18 * rank / to..18 * (rank + 1) / to } else { 0..0 };
                8 * owned.filter(|x| !left(rank, *x)).count() as u64
            };
            let layout = |end, configuration| model.layouts(0, end).of(configuration);
            let found = model.fetched(0, layout(End::Source, source), layout(End::Target, target));
            assert_eq!(found, (0..7).map(fetched).collect::<Vec<_>>(), "{from} to {to} parts");
        }
    }
}
