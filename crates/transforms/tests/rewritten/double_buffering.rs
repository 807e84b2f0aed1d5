//! Loops whose transients get two buffers.

use super::support::{applies, page_is_true, parsed, refuses, refuses_rightly};
use sdfg_transforms::rewrites::{DoubleBuffering, LocalStorage, MapToForLoop};
use sdfg_transforms::{Pipeline, Transformation};

/// A loop over rows that copies one to `T` and combines it with others; `header` is that of the loop, `copied` the row, `filled`
/// the part of `T`, and `read` the element that the iteration reads.
struct Rows {
    header: &'static str,
    copied: &'static str,
    filled: &'static str,
    read: &'static str,
    target: &'static str,
    before: &'static str,
    after: &'static str,
}

const ROWS: Rows = Rows {
    header: "i = 0:N",
    copied: "A[i, 0:N]",
    filled: "T[0:N]",
    read: "T[N - 1 - j]",
    target: "B[i, j]",
    before: "",
    after: "",
};

/// A state that writes all of `T`.
const BEGIN: &str = "state first {
    access T
    map z [j = 0:N] {
      tasklet f () -> (x) { x = j - 3 }
      f.x -> z.T: T[j]
    }
    z.T -> T
  }";

impl Rows {
    fn text(&self) -> String {
        let Rows { header, copied, filled, read, target, before, after } = self;
        let (from, to) = (&copied[..1], &target[..1]);
        format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N + 6, N]
  array B: f64[N + 6, N]
  transient array T: f64[N]
  {before}
  for l: {header} {{
    state s {{
      access source = {from}
      access T
      source -> T: {copied} -> {filled}
      access target = {to}
      map m [j = 0:N] {{
        tasklet f (x) -> (y) {{ y = 2 * x + i }}
        m.T -> f.x: {read}
        f.y -> m.B: {target}
      }}
      T -> m.T
      m.B -> target
    }}
  }}
  {after}
}}"
        )
    }
}

fn of(array: &str) -> DoubleBuffering {
    DoubleBuffering { array: array.to_owned() }
}

#[test]
fn the_page_is_true() {
    page_is_true(&DoubleBuffering::default());
}

#[test]
fn loops_of_every_step_are_pipelined() {
    for header in ["i = 0:N", "i = 2:N + 3", "i = 0:N:2", "i = N:0:-1", "i = 3:-1:-2", "i = 1:3"] {
        let text = applies(&Rows { header, ..ROWS }.text(), &of("T"));
        // A loop that runs needs no branch.
        let runs = ["i = 2:N + 3", "i = 3:-1:-2", "i = 1:3"].contains(&header);
        assert_eq!(text.contains("if "), !runs, "{text}");
        assert!(text.contains("T: f64[2, N]"), "{text}");
    }
}

#[test]
fn what_the_next_iteration_reads_is_not_written() {
    // Iteration `i` writes the row that the next one fills its buffer with.
    let rows = Rows { header: "i = 0:N + 2", target: "A[i + 1, j]", ..ROWS };
    let message = refuses_rightly(&rows.text(), &of("T"));
    assert!(
        message.contains("`A[i + 1, j]` of an iteration") && message.contains("may be the same"),
        "{message}"
    );
    // Other rows are written before and behind it.
    for target in ["A[i, j]", "A[i + 2, j]", "A[i - 1, j]"] {
        applies(&Rows { header: "i = 1:N + 2", target, ..ROWS }.text(), &of("T"));
    }
    // The distance of iterations is the step of the loop.
    let by_two = Rows { header: "i = 0:N + 1:2", ..ROWS };
    applies(&Rows { target: "A[i + 1, j]", ..by_two }.text(), &of("T"));
    let by_two = Rows { header: "i = 0:N + 1:2", target: "A[i + 2, j]", ..ROWS };
    refuses_rightly(&by_two.text(), &of("T"));
}

#[test]
fn buffers_keep_nothing_from_iteration_to_iteration() {
    // Iterations read elements that the state before the loop wrote.
    let part = Rows { copied: "A[i, 0:1]", filled: "T[0:1]", before: BEGIN, ..ROWS };
    let message = refuses_rightly(&part.text(), &of("T"));
    assert!(message.contains("may keep elements"), "{message}");
    let after = "state last {
    access T
    access B
    T -> B: T[0:N] -> B[N + 3, 0:N]
  }";
    let message = refuses_rightly(&Rows { before: BEGIN, after, ..ROWS }.text(), &of("T"));
    assert!(message.contains("may keep elements"), "{message}");
}

#[test]
fn the_symbol_of_the_loop_is_not_read_after_it() {
    let after = "state last {
    access B
    tasklet f () -> (y) { y = i }
    f.y -> B: B[N + 3, 0]
  }";
    let message = refuses_rightly(&Rows { after, ..ROWS }.text(), &of("T"));
    assert!(message.contains("sets `i`, which is read after it"), "{message}");
}

#[test]
fn other_bodies_have_no_buffer() {
    assert!(refuses(&Rows { header: "i = 2:0", ..ROWS }.text(), &of("T")).contains("has no iterations"));
    assert!(refuses(&ROWS.text(), &of("S")).contains("no transient `S`"));
    assert!(refuses(&ROWS.text(), &of("A")).contains("no transient `A`"));
    let twice =
        ROWS.text().replace("access target = B", "access target = B\n access again = T\n order m -> again");
    assert!(refuses(&twice, &of("T")).contains("one access node"), "{twice}");
}

/// A check that passes is followed by an edit that succeeds: what leads past the buffer cannot wait for the next iteration.
#[test]
fn data_that_passes_the_buffer_by_is_refused() {
    let text = "sdfg p {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  transient scalar T: f64
  for rows: i = 0:N {
    state s {
      access A
      access T
      access B
      tasklet t (x) -> (y, z: f64) {
        y = 2 * x
        z = 3 * x
      }
      tasklet g (x, w: f64) -> (o) { o = x + w }
      A -> t.x: A[i]
      t.y -> T: T
      t.z -> g.w
      T -> g.x: T
      g.o -> B: B[i]
    }
  }
}";
    assert!(refuses(text, &of("T")).contains("passes data to `g`"));
}

/// A map whose iterations copy tiles becomes a pipeline: tiles, local storage, a loop, and two buffers.
#[test]
fn a_map_over_tiles_becomes_a_pipeline() {
    let program = parsed(
        "sdfg p {
  symbol N: i64
  array A: f64[N, 6]
  array B: f64[N, 6]
  state s {
    access A
    access B
    map rows [i = 0:N] {
      map cells [j = 0:6] {
        tasklet f (x) -> (y) { y = 2 * x - i }
        cells.A -> f.x: A[i, 5 - j]
        f.y -> cells.B: B[i, j]
      }
      rows.A -> cells.A
      cells.B -> rows.B
    }
    A -> rows.A
    rows.B -> B
  }
}",
    );
    let mut pipeline = Pipeline::on(program.clone());
    pipeline.apply(LocalStorage::of_input("A").at_all(["p/s/rows", "p/s/cells"])).expect("a copy");
    pipeline.apply(MapToForLoop::default().at("p/s/rows")).expect("a loop");
    let after = pipeline.program().clone();
    let found = sdfg_transforms::matches(&after, &DoubleBuffering::default());
    assert_eq!(found.len(), 1, "{}", sdfg::text::print(&after));
    let mut after = after;
    sdfg_transforms::apply(&mut after, &DoubleBuffering::default(), &found[0]).expect("two buffers");
    let text = sdfg::text::print(&after);
    assert!(text.contains("[2, 1, 6]"), "{text}");
    let problem = super::support::difference(&program, &after);
    assert!(problem.is_none(), "{problem:?}\n{text}");
}

/// Loops of all combinations of bounds, steps and distances: every pipeline that is not refused is right, and the facts hold.
#[test]
fn every_combination_of_bounds_and_distances_is_decided() {
    let (mut applied, mut refused) = (0, 0);
    for case in 0..60_usize {
        let header = ["i = 1:N + 2", "i = 2:N + 2:2", "i = 3:0:-1", "i = 2:N + 1:3"][case % 4];
        let target = ["A[i - 1, j]", "A[i + 1, j]", "B[i, j]", "A[i + 2, j]", "A[i, j]"][case % 5];
        let copied = ["A[i, 0:N]", "A[i + 1, 0:N]", "A[3, 0:N]"][case % 3];
        let rows = Rows { header, target, copied, ..ROWS };
        let before = parsed(&rows.text());
        let found = sdfg_transforms::places(&before, &of("T")).remove(0);
        let mut after = before.clone();
        match sdfg_transforms::apply(&mut after, &of("T"), &found) {
            Err(_) => refused += 1,
            Ok(application) => {
                applied += 1;
                for fact in &application.evidence.facts {
                    for n in [1, 2, 5] {
                        assert_ne!(fact.claim.holds(&|_| Some(n)), Some(false), "{fact} for N = {n}");
                    }
                }
                let problem = super::support::difference(&before, &after);
                assert!(problem.is_none(), "case {case}: {problem:?}\n{}", sdfg::text::print(&after));
            }
        }
    }
    assert!(applied == 46 && refused == 14, "{applied} applied, {refused} refused");
    assert_eq!(of("T").metadata().name, "DoubleBuffering");
}
