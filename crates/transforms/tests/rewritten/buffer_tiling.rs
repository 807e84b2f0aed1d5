//! Two maps that are tiled together.

use std::fmt::Write;

use super::support::{applies, difference, page_is_true, parsed, refuses, refuses_rightly};
use sdfg_transforms::rewrites::{BufferTiling, Size};
use sdfg_transforms::{apply, places};

/// Two maps over a transient of two dimensions.
struct Maps<'a> {
    first: &'a str,
    written: &'a str,
    second: &'a str,
    read: &'a [&'a str],
    /// Further lines of the first map and of the state.
    inside: &'a str,
    outside: &'a str,
    /// The container that the second map writes.
    target: &'a str,
}

const MAPS: Maps<'static> = Maps {
    first: "i = 0:N + 4, j = 0:N + 4",
    written: "i, j",
    second: "k = 2:N + 2, l = 2:N + 2",
    read: &["k - 1, l", "k + 2, l", "k, l + 1"],
    inside: "",
    outside: "",
    target: "B",
};

impl Maps<'_> {
    fn text(&self) -> String {
        let Maps { first, written, second, read, inside, outside, target } = self;
        let names: Vec<String> = (0..read.len()).map(|at| format!("x{at}")).collect();
        let sum: Vec<String> =
            names.iter().enumerate().map(|(at, name)| format!("{} * {name}", at + 1)).collect();
        let (second_output, code) = if inside.is_empty() { ("", "") } else { (", z", "; z = i") };
        let mut reads = String::new();
        for (name, index) in names.iter().zip(read.iter()) {
            let _ = writeln!(reads, "      n.T -> g.{name}: T[{index}]");
        }
        format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N + 4, N + 4]
  array B: f64[N + 4, N + 4]
  array C: f64[N + 4]
  transient array T: f64[N + 4, N + 4]
  state s {{
    access A
    access T
    access target = {target}
    map m [{first}] {{
      tasklet f (x) -> (y{second_output}) {{ y = x + i - j{code} }}
      m.A -> f.x: A[i, j]
      f.y -> m.T: T[{written}]
      {inside}
    }}
    map n [{second}] {{
      tasklet g ({}) -> (y) {{ y = {} - l }}
{reads}
      g.y -> n.B: {target}[k, l]
    }}
    A -> m.A
    m.T -> T
    T -> n.T
    n.B -> target
    {outside}
  }}
}}",
            names.join(", "),
            sum.join(" - "),
        )
    }
}

#[test]
fn the_page_is_true() {
    page_is_true(&BufferTiling::default());
}

#[test]
fn tiles_need_not_divide_the_ranges() {
    for sizes in [vec![1], vec![3], vec![0, 2], vec![2, 3], vec![100, 1]] {
        let text = applies(&MAPS.text(), &BufferTiling::new(sizes.clone()));
        // Tiles of the first dimension read three more elements, those of the second one more.
        let rows = if sizes[0] == 0 { "N + 4".to_owned() } else { (sizes[0] + 3).to_string() };
        let columns = sizes.get(1).map_or("N + 4".to_owned(), |size| (size + 1).to_string());
        assert!(text.contains(&format!("transient array T: f64[{rows}, {columns}]")), "{text}");
    }
    let by_symbol = BufferTiling { tile_sizes: vec![Size("N + 1".parse().expect("a size"))] };
    assert!(applies(&MAPS.text(), &by_symbol).contains("f64[N + 4, N + 4]"));
}

#[test]
fn parameters_of_writes_are_found_by_their_dimension() {
    let turned = Maps { first: "j = 1:N + 5, i = 0:N + 4", written: "i, j - 1", ..MAPS };
    let text = applies(&turned.text().replace("A[i, j]", "A[i, j - 1]"), &BufferTiling::new([2]));
    assert!(text.contains("j = 1:N + 5, i = max("), "{text}");
}

#[test]
fn the_first_map_runs_iterations_for_several_tiles() {
    // Sums would have the summand of an iteration several times, other writes meet.
    for (resolution, word) in
        [("wcr(sum)", "is written by the first map, too"), ("", "by the first map, too")]
    {
        let inside = format!("f.z -> m.C: C[i] {resolution}");
        let maps = Maps {
            first: "i = 0:N + 4, j = 0:N + 4",
            inside: &inside,
            outside: "access C\n m.C -> C",
            ..MAPS
        };
        let text = if resolution.is_empty() {
            maps.text()
                .replace("i = 0:N + 4, j = 0:N + 4", "i = 0:N + 4")
                .replace("f.x: A[i, j]", "f.x: A[i, 0]")
                .replace("T[i, j]", "T[i, 0]")
                .replace("x + i - j", "x + i")
                .replace(", l]\n", ", 0]\n")
                .replace("l + 1]", "0]")
                .replace("B[k, 0]", "B[k, l]")
        } else {
            maps.text()
        };
        let message = refuses_rightly(&text, &BufferTiling::new([2]));
        assert!(message.contains(word), "{message}");
    }
}

/// A transient of an iteration around both maps, which is read behind them: the tiles do not write all of it.
#[test]
fn a_transient_of_the_scope_around_is_not_one_of_the_first_map() {
    let text = "sdfg p {
  symbol N: i64
  array A: f64[N]
  array B: f64[4, N]
  array C: f64[4, N]
  transient array T: f64[N]
  transient array V: f64[N]
  state s {
    access A
    access B
    access C
    map rows [r = 0:4] {
      access T
      access V
      map first [i = 0:N] {
        tasklet f (x) -> (y, z) { y = x + r; z = x - r }
        first.A -> f.x: A[i]
        f.y -> first.T: T[i]
        f.z -> first.V: V[i]
      }
      map second [j = 1:N - 1] {
        tasklet g (x) -> (y) { y = 2 * x }
        second.T -> g.x: T[j]
        g.y -> second.B: B[r, j]
      }
      rows.A -> first.A
      first.T -> T
      first.V -> V
      T -> second.T
      second.B -> rows.B
      V -> rows.C: V[0:N] -> C[r, 0:N]
    }
    A -> rows.A
    rows.B -> B
    rows.C -> C
  }
}";
    let message = refuses_rightly(text, &BufferTiling::new([2]));
    assert!(message.contains("`V` is written by the first map, too"), "{message}");
}

#[test]
fn tiles_write_nothing_that_later_ones_read() {
    let maps = Maps { target: "A", ..MAPS };
    let message = refuses_rightly(&maps.text(), &BufferTiling::new([2]));
    assert!(message.contains("`A` is read by the first map and written by the second"), "{message}");
}

#[test]
fn the_transient_is_used_by_the_two_maps_alone() {
    let outside = "access again = B\n T -> again: T[0, 0:2] -> B[0, 0:2]\n order target -> again";
    let message = refuses(&Maps { outside, ..MAPS }.text(), &BufferTiling::new([2]));
    assert!(message.contains("`T` is used elsewhere"), "{message}");
}

#[test]
fn other_indices_have_no_tiles() {
    let by = |maps: Maps<'_>, sizes: &[i64]| refuses(&maps.text(), &BufferTiling::new(sizes.iter().copied()));
    assert!(by(Maps { read: &["N - k, l"], ..MAPS }, &[2]).contains("no dimension of reads has `k`"));
    assert!(by(Maps { read: &["2, l"], ..MAPS }, &[2]).contains("no dimension of reads has `k`"));
    assert!(by(Maps { written: "N + 3 - i, j", ..MAPS }, &[2]).contains("dimension 0 of writes"));
    assert!(by(Maps { first: "i = 0:N + 4:2, j = 0:N + 4", ..MAPS }, &[2]).contains("does not count by one"));
    assert!(by(MAPS, &[2, 2, 2]).contains("more sizes (3) than dimensions of the second map (2)"));
    assert!(by(MAPS, &[-2]).contains("greater than 0"));
    assert!(by(MAPS, &[0]).contains("no dimension is tiled"));
}

/// Random offsets, bounds and tiles: each gives the results of the two maps.
#[test]
fn random_stencils_are_tiled_together() {
    let mut seed = 3u64;
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((seed >> 33) % below) as usize
    };
    for case in 0..30 {
        let all = ["k - 2, l", "k, l - 1", "k + 1, l + 2", "k + 2, l - 2", "k, l", "k - 1, l + 1"];
        let read: Vec<&str> = (0..1 + next(3)).map(|_| all[next(6)]).collect();
        let second =
            ["k = 2:N + 2, l = 2:N + 2", "k = 2:N + 1, l = 3:N + 2", "l = 2:3, k = 2:N + 2"][next(3)];
        let maps = Maps { read: &read, second, ..MAPS };
        let before = parsed(&maps.text());
        let sizes = BufferTiling::new([1 + next(4) as i64, next(4) as i64]);
        let found = places(&before, &sizes).remove(0);
        let mut after = before.clone();
        apply(&mut after, &sizes, &found)
            .unwrap_or_else(|error| panic!("case {case}: {error}\n{}", maps.text()));
        let problem = difference(&before, &after);
        assert!(problem.is_none(), "case {case}: {problem:?}\n{}", sdfg::text::print(&after));
    }
}
