//! Loop nests that run by wavefronts.

use std::fmt::Write;

use super::support::{applies, difference, page_is_true, parsed};
use sdfg::edit::Editor;
use sdfg_transforms::rewrites::{LoopToMap, Skewing};
use sdfg_transforms::{Match, Transformation, apply, matches, places};

/// Two loops with a tasklet that writes an element from others.
fn nest(outer: &str, inner: &str, written: &str, read: &[&str]) -> String {
    let names: Vec<String> = (0..read.len()).map(|at| format!("x{at}")).collect();
    let sum: Vec<String> =
        names.iter().enumerate().map(|(at, name)| format!("{} * {name}", at + 1)).collect();
    let used = |name: &&str| read.iter().any(|element| element.starts_with(*name));
    let accesses: Vec<String> =
        ["A", "B"].iter().filter(|name| used(name)).map(|name| format!("        access {name}")).collect();
    let accesses = accesses.join("\n");
    let mut reads = String::new();
    for (name, element) in names.iter().zip(read) {
        let _ = writeln!(reads, "        {} -> f.{name}: {element}", &element[..1]);
    }
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N + 4]
  array B: f64[N + 8, N + 8]
  for outer: t = {outer} {{
    for inner: i = {inner} {{
      state s {{
{accesses}
        access to = {}
        tasklet f ({}) -> (y) {{ y = ({} - t) % 7 }}
{reads}
        f.y -> to: {written}
      }}
    }}
  }}
}}",
        &written[..1],
        names.join(", "),
        sum.join(" + "),
    )
}

fn by(factor: i64) -> Skewing {
    Skewing { factor }
}

/// The match at the outer loop, which is the first.
fn outer(text: &str) -> Match {
    places(&parsed(text), &by(1)).remove(0)
}

/// Whether the forced rewrite is impossible or gives other results.
fn is_wrong(text: &str, factor: i64) -> bool {
    let (before, found) = (parsed(text), outer(text));
    let mut forced = before.clone();
    let mut editor = Editor::new(&mut forced);
    by(factor).apply(&mut editor, &found).expect("an edit");
    editor.commit().is_err() || difference(&before, &forced).is_some()
}

/// The reason for which a nest is refused; the rewrite is wrong if it is forced.
fn refuses_rightly(text: &str, factor: &Skewing) -> String {
    assert!(is_wrong(text, factor.factor), "the forced rewrite is right:\n{text}");
    apply(&mut parsed(text), factor, &outer(text)).expect_err("a refusal").to_string()
}

#[test]
fn the_page_is_true() {
    page_is_true(&by(2));
}

#[test]
fn a_sweep_over_time_runs_by_wavefronts() {
    let sweep = nest("0:N", "1:N + 2", "A[i]", &["A[i - 1]", "A[i]", "A[i + 1]"]);
    for factor in [1, 2, 3] {
        applies(&sweep, &by(factor));
    }
    let message = refuses_rightly(&sweep, &by(0));
    assert!(message.contains("`A[i]` and `A[i - 1]`") && message.contains("change their order"), "{message}");
    let wide = nest("0:N", "2:N + 2", "A[i]", &["A[i - 2]", "A[i + 1]"]);
    refuses_rightly(&wide, &by(1));
    applies(&wide, &by(2));
}

#[test]
fn wavefronts_with_a_larger_factor_are_maps() {
    let sweep = nest("0:N", "1:N + 2", "A[i]", &["A[i - 1]", "A[i + 1]"]);
    for (factor, n_maps) in [(1, 0), (2, 1)] {
        let before = parsed(&sweep);
        let mut after = before.clone();
        apply(&mut after, &by(factor), &outer(&sweep)).expect("wavefronts");
        let found = matches(&after, &LoopToMap::default());
        assert_eq!(found.len(), n_maps, "{factor}\n{}", sdfg::text::print(&after));
        for found in found {
            apply(&mut after, &LoopToMap::default(), &found).expect("a map");
            let problem = difference(&before, &after);
            assert!(problem.is_none(), "{problem:?}\n{}", sdfg::text::print(&after));
        }
    }
}

#[test]
fn distances_of_both_loops_decide() {
    let with = |read: &str| nest("2:N + 2", "2:N + 2", "B[t, i]", &[read]);
    // The distances are (1, 1), (1, -1), (1, -2) and (0, 1).
    for (read, factors) in [
        ("B[t - 1, i - 1]", [true, true, true]),
        ("B[t - 1, i + 1]", [false, true, true]),
        ("B[t - 1, i + 2]", [false, false, true]),
        ("B[t, i - 1]", [true, true, true]),
        ("B[t + 1, i - 1]", [false, true, true]),
    ] {
        for (factor, is_legal) in (0..).zip(factors) {
            if is_legal {
                applies(&with(read), &by(factor));
            } else {
                refuses_rightly(&with(read), &by(factor));
            }
        }
    }
    // Rows that others read as a whole have all distances of the inner loop.
    refuses_rightly(&with("B[t - 1, N - i + 2]"), &by(1));
    refuses_rightly(&nest("0:N", "0:N", "A[N - i]", &["A[i]"]), &by(1));
}

#[test]
fn other_nests_have_no_wavefronts() {
    let is_refused = |text: &str, factor: i64, part: &str| {
        let message = apply(&mut parsed(text), &by(factor), &outer(text)).expect_err("a refusal").to_string();
        assert!(message.contains(part), "{message}");
    };
    let sweep = nest("0:N", "1:N + 2", "A[i]", &["A[i]"]);
    is_refused(&sweep, -1, "less than 0");
    is_refused(&sweep.replace("1:N + 2", "1:N + 2:2"), 1, "another step");
    is_refused(&sweep.replace("1:N + 2", "1:t + 2"), 1, "depends on `t`");
}

#[test]
fn symbols_of_the_loops_are_not_read_after_them() {
    let sweep = nest("0:N", "1:N + 2", "A[i]", &["A[i - 1]"]);
    for symbol in ["t", "i"] {
        let after = format!(
            "  state last {{
    access B
    tasklet f () -> (y) {{ y = {symbol} }}
    f.y -> B: B[0, 0]
  }}
}}"
        );
        let text = format!("{}{after}", sweep.strip_suffix('}').expect("the end"));
        let found = outer(&text);
        let before = parsed(&text);
        let message = apply(&mut before.clone(), &by(1), &found).expect_err("a refusal").to_string();
        assert!(message.contains(&format!("sets `{symbol}`, which is read after it")), "{message}");
    }
}

/// All combinations of distances, bounds and factors: each nest that is not refused is right, and of those that are refused most
/// give other results.
#[test]
fn every_combination_of_distances_is_decided() {
    let reads = ["B[t - 1, i + 1]", "B[t + 1, i]", "B[t, i + 2]", "B[t - 2, i + 3]", "A[i]"];
    let bounds = [("2:N + 2", "2:4"), ("3:N + 1", "2:N + 2")];
    let (mut applied, mut refused, mut wrong) = (0, 0, 0);
    for (at, first) in reads.iter().enumerate() {
        for ((rows, cells), factor) in bounds.iter().flat_map(|pair| (0..4).map(move |factor| (pair, factor)))
        {
            let text = nest(rows, cells, "B[t, i]", &[first, reads[(at + 1) % reads.len()]]);
            let before = parsed(&text);
            let mut after = before.clone();
            match apply(&mut after, &by(factor), &outer(&text)) {
                Ok(_) => {
                    applied += 1;
                    let problem = difference(&before, &after);
                    assert!(problem.is_none(), "{problem:?}\n{}", sdfg::text::print(&after));
                }
                Err(_) => {
                    refused += 1;
                    wrong += i32::from(is_wrong(&text, factor));
                }
            }
        }
    }
    assert!(applied == 28 && refused == 12 && wrong == 8, "{applied} {refused} {wrong}");
}
