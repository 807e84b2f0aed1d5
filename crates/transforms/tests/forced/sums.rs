//! Sums that a map would make itself, in the place of a reduction behind it.

use sdfg_transforms::rewrites::MapReduceFusion;

use super::program;
use super::support::{applies, refuses_rightly};

/// A map that fills a transient, and a reduction of its second dimension.
struct Summed {
    /// What the program declares besides.
    declared: &'static str,
    range: &'static str,
    /// What the map reads, as a memlet, and the nodes from which it does.
    read: (&'static str, &'static str),
    write: &'static str,
    reduce: &'static str,
    /// The container of the result, and the nodes behind that.
    result: (&'static str, &'static str),
}

impl Default for Summed {
    fn default() -> Self {
        Summed {
            declared: "transient array T: f64[N, 4]",
            range: "i = 0:N, j = 0:4",
            read: ("A[i]", "access A\n A -> m.A"),
            write: "T[i, j]",
            reduce: "wcr(sum) axes(1) identity(0)",
            result: ("B", ""),
        }
    }
}

impl Summed {
    fn state(&self) -> String {
        let Summed { range, read: (read, from), write, reduce, result: (result, behind), .. } = self;
        format!(
            "state s {{
  access T
  access to = {result}
  map m [{range}] {{
    tasklet t (x) -> (y) {{ y = x + j }}
    m.A -> t.x: {read}
    t.y -> m.T: {write}
  }}
  {from}
  m.T -> T
  reduce r {reduce}
  T -> r: T[0:N, 0:4]
  r -> to: {result}[0:N]
  {behind}
}}"
        )
    }

    fn text(&self) -> String {
        program(&format!("{}\n{}", self.declared, self.state()))
    }
}

#[test]
fn maps_sum_up_what_they_write() {
    applies(&Summed::default().text(), &MapReduceFusion::default());
}

/// The second step of the loop writes three elements of a row, and sums up the fourth one of the first step, too.
#[test]
fn elements_of_an_earlier_run_are_not_left_out() {
    let summed = Summed { range: "i = 0:N, j = 0:4 - k", write: "T[i, (3 * j) % 4]", ..Summed::default() };
    let text = program(&format!("{}\nfor l: k = 0:2 {{\n{}\n}}", summed.declared, summed.state()));
    let reason = refuses_rightly(&text, &MapReduceFusion::default());
    assert!(reason.contains("the map writes all of `T[0:N, 0:4]`"), "{reason}");
}

/// The host sums up what a kernel wrote. The kernel does not reach the result.
#[test]
fn kernels_do_not_sum_up_in_memory_of_the_host() {
    let declared = "array P: f64[N + 2] storage(cpu_pinned)
transient array T: f64[N, 4] storage(cpu_pinned)";
    let read = ("P[i]", "access P\n P -> m.A");
    let text = Summed { declared, read, ..Summed::default() }.text();
    let text = text.replace("j = 0:4] {", "j = 0:4] schedule(gpu_grid) {");
    let reason = refuses_rightly(&text, &MapReduceFusion::default());
    assert!(reason.contains("`T` lies in another memory than `B`"), "{reason}");
}

#[test]
fn parameters_do_not_capture_the_place_of_a_sum() {
    let text = "sdfg p {
  symbol i: i64
  array A: f64[8]
  array B: f64[8]
  transient array T: f64[4]
  state s {
    access A
    access T
    access B
    map m [i = 0:4] {
      tasklet t (x) -> (y) { y = x + i }
      m.A -> t.x: A[0]
      t.y -> m.T: T[i]
    }
    A -> m.A
    m.T -> T
    reduce r wcr(sum) axes(0) identity(0)
    T -> r: T[0:4]
    r -> B: B[i]
  }
}";
    let reason = refuses_rightly(text, &MapReduceFusion::default());
    assert!(reason.contains("names the element of its result by `i`"), "{reason}");
    applies(
        &text.replace("[i = 0:4]", "[k = 0:4]").replace("x + i", "x + k").replace("T[i]", "T[k]"),
        &MapReduceFusion::default(),
    );
}

/// The map reads the array whose view, or of whose view the array, would get the sums.
#[test]
fn maps_do_not_read_sums_by_another_name() {
    let declared = "view V: f64[N + 2]\ntransient array T: f64[N, 4]";
    let to_view = Summed {
        declared,
        read: ("B[N - 1 - i]", "access B\n B -> m.A"),
        result: ("V", "access last = B\n bind to -> last: B[0:N + 2]"),
        ..Summed::default()
    };
    let reason = refuses_rightly(&to_view.text(), &MapReduceFusion::default());
    assert!(reason.contains("`V` is a view, reference, stream or constant"), "{reason}");
    let from_view = Summed {
        declared,
        read: ("V[N - 1 - i]", "access B\n access V\n bind B -> V: B[0:N + 2]\n V -> m.A"),
        reduce: "wcr(sum) axes(1)",
        ..Summed::default()
    };
    let reason = refuses_rightly(&from_view.text(), &MapReduceFusion::default());
    assert!(reason.contains("`B` is used elsewhere, too: a view"), "{reason}");
}
