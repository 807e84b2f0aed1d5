//! Transients in another order in memory.

use super::support::{applies, difference, page_is_true, parsed};
use sdfg_transforms::rewrites::{Relayout, Size};
use sdfg_transforms::{Match, Transformation, apply, places};

/// The match at the transient.
fn at_transient(text: &str) -> Match {
    let program = parsed(text);
    let is_there = |found: &Match| found.paths(&program)[0].to_string() == "p/s/T";
    places(&program, &Relayout::default()).into_iter().find(is_there).expect("a match")
}

/// The reason for which the transient keeps its layout.
fn refused(text: &str, relayout: &Relayout) -> String {
    apply(&mut parsed(text), relayout, &at_transient(text)).expect_err("a refusal").to_string()
}

#[test]
fn the_page_is_true() {
    page_is_true(&Relayout::default());
}

/// A transient between two maps; `declared` and `more` are added to the program and to its state.
fn program(declared: &str, more: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N, N]
  array B: f64[N, N]
  transient array T: f64[N, N + 1, 2]
  {declared}
  state s {{
    access A
    access B
    access T
    map m [i = 0:N, j = 0:N] {{
      tasklet t (x) -> (y) {{ y = x + i }}
      m.A -> t.x: A[i, j]
      t.y -> m.T: T[i, j + 1, 0]
    }}
    map n [i = 0:N, j = 0:N] {{
      tasklet u (x) -> (y) {{ y = 2 * x }}
      n.T -> u.x: T[i, j + 1, 0]
      u.y -> n.B: B[j, i]
    }}
    A -> m.A
    m.T -> T
    T -> n.T
    n.B -> B
    {more}
  }}
}}"
    )
}

#[test]
fn every_order_and_padding_keeps_results() {
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        for padding in [Size::from(0), Size::from(3), Size(sdfg::symbolic::Expr::sym("N"))] {
            let text = applies(
                &program("", ""),
                &Relayout { order: order.to_vec(), padding, ..Relayout::default() },
            );
            assert!(text.contains("strides("), "{text}");
        }
    }
    let padded = applies(
        &program("", ""),
        &Relayout { order: vec![0, 1, 2], padding: Size::from(1), ..Relayout::default() },
    );
    assert!(padded.contains("strides(3*N + 3, 3, 1)") && padded.contains("size("), "{padded}");
}

#[test]
fn orders_and_paddings_that_are_none_are_refused() {
    let by = |order: &[usize], padding: i64| {
        refused(
            &program("", ""),
            &Relayout { order: order.to_vec(), padding: Size::from(padding), ..Relayout::default() },
        )
    };
    assert!(by(&[0, 1], 0).contains("no order"));
    assert!(by(&[0, 1, 1], 0).contains("no order"));
    assert!(by(&[0, 1, 2], 0).contains("already"));
    // Elements would share a place in memory.
    let overlapping = Relayout { order: vec![2, 1, 0], padding: Size::from(-1), ..Relayout::default() };
    assert!(refused(&program("", ""), &overlapping).contains("not negative"));
    let (before, mut forced) = (parsed(&program("", "")), parsed(&program("", "")));
    let mut editor = sdfg::edit::Editor::new(&mut forced);
    overlapping.apply(&mut editor, &at_transient(&program("", ""))).expect("an edit");
    assert!(
        editor.commit().is_err() || difference(&before, &forced).is_some(),
        "the forced rewrite is right"
    );
}

/// A view of another shape is forced in `tests/forced`.
#[test]
fn views_of_the_extents_of_their_part_follow_the_layout() {
    let more = "access V
    access last = B
    bind T -> V: T[0:N, 1, 0]
    V -> last: V[0:N] -> B[0:N, 0]
    order B -> V";
    let text = program("view V: f64[N] strides(2*N + 2) size(2*N*N + 2*N)", more);
    let (before, mut after) = (parsed(&text), parsed(&text));
    apply(&mut after, &Relayout::default(), &at_transient(&text)).expect("a layout");
    assert!(difference(&before, &after).is_none());
    assert!(refused(&text, &Relayout::in_blocks([2])).contains("over several blocks"));
}

#[test]
fn blocks_keep_results() {
    for blocks in [vec![2], vec![3, 2], vec![0, 4], vec![1, 1, 2], vec![100, 2, 0]] {
        let text = applies(&program("", ""), &Relayout::in_blocks(blocks.clone()));
        assert!(!text.contains("T: f64[N, N + 1, 2]"), "{text}");
    }
    let text = applies(&program("", ""), &Relayout::in_blocks([4, 2]));
    assert!(text.contains("transient array T: f64[ceil_div(N, 4), N // 2 + 1, 2, 4, 2]"), "{text}");
    assert!(text.contains("T[i // 4, ceil_div(j, 2), 0, i % 4, (j + 1) % 2]"), "{text}");
}

#[test]
fn ranges_over_several_blocks_are_refused() {
    let last = "  }
  state last {
    access T
    access B
    T -> B: T[0:N, 1, 0] -> B[0:N, 0]
  }
}";
    let text = program("", "").replace("  }\n}", last);
    assert!(refused(&text, &Relayout::in_blocks([2])).contains("over several blocks"));
    // A copy of the range reads the first element of each block: it is cut off, or reads other elements.
    let (before, mut forced) = (parsed(&text), parsed(&text));
    let mut editor = sdfg::edit::Editor::new(&mut forced);
    Relayout::in_blocks([2]).apply(&mut editor, &at_transient(&text)).expect("an edit");
    assert!(
        editor.commit().is_err() || difference(&before, &forced).is_some(),
        "the forced rewrite is right"
    );
    // Other dimensions may have ranges.
    assert!(applies(&text, &Relayout::in_blocks([0, 2])).contains("T[0:N, 0, 0, 1]"));
    assert!(refused(&text, &Relayout::in_blocks([-2])).contains("greater than 0"));
    assert!(refused(&text, &Relayout::in_blocks([1, 1, 1, 1])).contains("4 sizes"));
}
