//! Copies of parts that an inner map uses.

use super::support::{applies, difference, page_is_true, parsed, refuses};
use sdfg_transforms::apply;
use sdfg_transforms::places;
use sdfg_transforms::rewrites::{LocalStorage, MapTiling};

#[test]
fn the_page_is_true() {
    page_is_true(&LocalStorage::default());
}

/// A stencil in tiles over `A`, which is an argument or a transient that other lines fill, beside other lines.
fn stencil(declared: &str, fill: &str, beside: &str) -> String {
    let text = format!(
        "sdfg p {{
  symbol N: i64
  {declared} A: f64[N, N]
  array B: f64[N, N]
  array C: f64[N, N]
  state s {{
    access A
    access B
{fill}{beside}    map m [i = 1:N - 1, j = 1:N - 1] {{
      tasklet t (n, w, e) -> (y) {{ y = n + 2 * w - e }}
      m.A -> t.n: A[i - 1, j]
      m.A -> t.w: A[i, j - 1]
      m.A -> t.e: A[i, j + 1]
      t.y -> m.B: B[i, j]
    }}
    A -> m.A
    m.B -> B
  }}
}}"
    );
    let mut program = parsed(&text);
    let tiles = MapTiling::new([2, 3]);
    let all = places(&program, &tiles);
    let stencil = all.iter().find(|found| found.paths(&program)[0].to_string().ends_with("/m"));
    apply(&mut program, &tiles, stencil.expect("the stencil")).unwrap_or_else(|error| panic!("{error}"));
    sdfg::text::print(&program)
}

/// Lines that fill so many rows of `A`.
fn filled(rows: &str) -> String {
    format!(
        "    map f [i = {rows}, j = 0:N] {{
      tasklet g () -> (y) {{ y = i - 3 * j }}
      g.y -> f.A: A[i, j]
    }}
    f.A -> A\n"
    )
}

/// The stencil reads no corner of a tile with its border, so the copy reads more than the tile.
#[test]
fn tiles_of_stencils_are_copied_with_their_corners() {
    let transient = "transient array";
    for text in [stencil("array", "", ""), stencil(transient, &filled("0:N"), "")] {
        let copied = applies(&text, &LocalStorage::of_input("A"));
        let (before, after) = (parsed(&text), parsed(&copied));
        assert!(copied.contains("A_local0: f64[3, 5]"), "{copied}");
        let wrong = difference(&before, &after);
        assert!(wrong.is_none(), "{wrong:?}\n{copied}");
    }
    // The last row may be undefined.
    let message = refuses(&stencil(transient, &filled("0:N - 1"), ""), &LocalStorage::of_input("A"));
    assert!(message.contains("is not known exactly"), "{message}");
}

/// Nothing may write a corner while the map runs.
#[test]
fn corners_are_not_copied_while_something_writes_them() {
    let write = |order: &str| {
        format!(
            "    access Z = A
    tasklet g () -> (y) {{ y = 7 }}
    g.y -> Z: A[0, 0]
{order}"
        )
    };
    let message = refuses(&stencil("array", "", &write("")), &LocalStorage::of_input("A"));
    assert!(message.contains("is not known exactly"), "{message}");
    applies(&stencil("array", "", &write("    order Z -> m\n")), &LocalStorage::of_input("A"));
    applies(&stencil("array", "", &write("    order B -> g\n")), &LocalStorage::of_input("A"));
}
