//! Tests of codes: every code has a program that shows it, and valid programs are accepted without
//! diagnostics.

mod graphs;
mod references;

use sdfg_graph::diagnostic::Code;
use sdfg_graph::diagnostic::pages::{self, Example};
use sdfg_graph::ir::draft::{DraftSdfg, DraftState};
use sdfg_graph::ir::{EdgeId, State};
use sdfg_graph::text;
use sdfg_language::subset::Range;

use super::*;

/// Everything that reading and validation say about a text.
fn findings(source: &str) -> Vec<Diagnostic> {
    match text::parse("test.sdft", source) {
        Ok(sdfg) => {
            let found = diagnose(&sdfg);
            // Answers from memory are those that are worked out each time.
            let remembered = with_proof_cache(|| diagnose(&sdfg));
            assert_eq!(format!("{remembered:?}"), format!("{found:?}"));
            found
        }
        Err(errors) => errors.iter().map(Diagnostic::text).collect(),
    }
}

fn shown(source: &str, diagnostics: &[Diagnostic]) -> String {
    render(diagnostics, Some(("test.sdft", source)), Style::Plain)
}

#[test]
fn the_programs_of_the_repository_are_valid() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs");
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "sdft") {
            let source = std::fs::read_to_string(&path).unwrap();
            let found = findings(&source);
            // Which ranges it hands on is decided by the elements that it sorts.
            let expected: &[Code] =
                if path.ends_with("quicksort.sdft") { &[Code::PossibleConflict] } else { &[] };
            let codes: Vec<Code> = found.iter().map(|diagnostic| diagnostic.code).collect();
            assert_eq!(codes, expected, "{}\n{}", path.display(), shown(&source, &found));
            checked += 1;
        }
    }
    assert!(checked >= 14, "{checked} programs");
}

#[test]
fn every_code_has_one_page() {
    let codes: Vec<Code> = pages::all().map(|page| page.code).collect();
    assert_eq!(codes, Code::ALL);
}

#[test]
fn examples_of_pages_are_wrong_and_right() {
    let mut failures = String::new();
    for page in pages::all() {
        let Example::Programs { bad, good } = page.example else { continue };
        let found = findings(bad);
        let codes: Vec<Code> = found.iter().map(|diagnostic| diagnostic.code).collect();
        if codes != [page.code] {
            failures += &format!(
                "one {} should be the only finding in\n{bad}\nbut it is\n{}\n",
                page.code,
                shown(bad, &found)
            );
        }
        let found = findings(good);
        if !found.is_empty() {
            failures +=
                &format!("{}: nothing should be found in\n{good}\n{}\n", page.code, shown(good, &found));
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// The finding of every bad example, one a line, so that a change of a message or path is seen.
#[test]
fn findings_name_their_elements() {
    let mut listed = String::new();
    for page in pages::all() {
        if let Example::Programs { bad, .. } = page.example {
            for diagnostic in findings(bad) {
                listed += &format!("{diagnostic}\n");
            }
        }
    }
    insta::assert_snapshot!(listed);
}

/// A valid program.
const BASE: &str = "sdfg p {
  array A: f64[4]
  array B: f64[4]
  view V: f64[4]
  state s {
    access a = A
    access b = B
    map m [i = 0:4] {
      tasklet t (x) -> (o) { o = x }
      m.A -> t.x: A[i]
      t.o -> m.B: B[i]
    }
    a -> m.A
    m.B -> b
  }
}";

fn state_of(sdfg: &mut Sdfg) -> &mut State {
    let id = sdfg.states().next().map(|(id, _)| id).unwrap();
    sdfg.state_mut(id)
}

fn edge_into(state: &State, label: &str) -> EdgeId {
    let node = state.find(label).unwrap();
    state.in_edges(node)[0]
}

/// A program with one map, whose tasklet reads `A[index]` of `shape` elements.
fn access(shape: &str, ranges: &str, index: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  symbol M: i64
  array A: f64[{shape}]
  scalar y: f64
  state s {{
    access a = A
    access y
    map m [{ranges}] {{
      tasklet t (x) -> (o) {{ o = 1.0 }}
      m.A -> t.x: A[{index}]
      t.o -> m.y: y wcr(sum)
    }}
    a -> m.A
    m.y -> y
  }}
}}"
    )
}

#[test]
fn bounds_are_refuted_only_where_no_run_is_right() {
    let outside = [
        ("N", "i = 0:N", "i + 1"),
        ("N", "i = 0:N + 1", "i"),
        ("2 * N - 2", "i = 0:N, j = 0:N", "i + j"),
        ("N", "i = N - 1:-2:-1", "i"),
        ("N", "i = 0:N", "0:N + 1"),
        ("N, M", "i = 0:N, j = 0:M", "j, M"),
        ("N", "i = 0:N, j = 0:i + 1", "j - 1"),
        ("4", "i = 0:5", "i"),
    ];
    let inside = [
        ("N", "i = 0:N", "N - 1 - i"),
        ("2 * N - 1", "i = 0:N, j = 0:N", "i + j"),
        ("N", "i = N - 1:-1:-1", "i"),
        // The inner range is empty where the index is outside.
        ("N", "i = 0:N, j = i + 1:N", "i + 1"),
        ("N", "i = 0:N, j = 0:i", "j - 1 + 1"),
        // An empty subset reads nothing.
        ("N", "i = 0:N + 1", "i:N"),
        ("N", "i = 0:N:4", "i:min(i + 4, N)"),
        // Nothing is known of M.
        ("N", "i = 0:N", "i + M"),
        ("N, M", "i = 0:N, j = 0:M", "i, j"),
    ];
    for (shape, ranges, index) in outside {
        let source = access(shape, ranges, index);
        let codes: Vec<Code> = findings(&source).iter().map(|found| found.code).collect();
        assert!(codes.contains(&Code::OutOfBounds), "A[{index}] of {shape} for {ranges}: {codes:?}");
    }
    for (shape, ranges, index) in inside {
        let source = access(shape, ranges, index);
        let found = findings(&source);
        assert!(found.is_empty(), "{}", shown(&source, &found));
    }
}

/// A program with a map whose tasklet writes `place`, through a transient of the scope if it names one.
fn write(ranges: &str, place: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[64]
  state s {{
    access a = A
    map m [{ranges}] {{
      tasklet t () -> (o) {{ o = 1.0 }}
      t.o -> m.A: A[{place}]
    }}
    m.A -> a
  }}
}}"
    )
}

#[test]
fn conflicts_are_proved_from_parameters() {
    for (ranges, place) in [("i = 0:4, j = 0:8", "i"), ("i = 0:8", "0"), ("i = 0:2, j = 0:1", "j")] {
        let found = findings(&write(ranges, place));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].code, Code::WriteConflict);
    }
    for (ranges, place) in [
        ("i = 0:1", "0"),
        ("i = 0:4, j = 0:8", "8 * i + j"),
        // The place depends on the outer parameter through the inner range.
        ("i = 0:64:4, j = i:i + 4", "j"),
    ] {
        let source = write(ranges, place);
        let found = findings(&source);
        assert!(found.is_empty(), "{}", shown(&source, &found));
    }
    // There may be one iteration only.
    let found = findings(&write("i = 0:N", "0"));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].code, Code::PossibleConflict);
}

#[test]
fn bindings_join_an_alias_and_what_it_names() {
    let source = |element: &str, edge: &str| {
        format!(
            "sdfg p {{
  array A: {element}[8]
  array B: f64[4]
  view V: f64[4]
  state s {{
    access a = A
    access b = B
    access v = V
    access w = V
    bind {edge}
    v -> b
    order w -> b
  }}
}}"
        )
    };
    for (element, edge, code) in [
        ("f64", "a -> v: A[0:4]", None),
        ("f32", "a -> v: A[0:4]", Some(Code::ElementMismatch)),
        ("f64", "a -> b: A[0:4]", Some(Code::FlowMismatch)),
        ("f64", "a -> v: B[0:4]", Some(Code::WrongContainer)),
        ("f64", "w -> v: V[0:4]", Some(Code::WrongContainer)),
    ] {
        let codes: Vec<Code> = findings(&source(element, edge)).iter().map(|found| found.code).collect();
        match code {
            None => assert!(codes.is_empty(), "{edge}: {codes:?}"),
            Some(code) => assert!(codes.contains(&code), "{edge}: {codes:?}"),
        }
    }
}

#[test]
fn all_errors_are_reported_at_once_with_their_text() {
    let source = "sdfg p {
  symbol N: i64
  array A: f64[N]
  array B: f32[N]
  state s {
    access a = A
    access b = B
    tasklet t (x) -> (o) { o = x + yy }
    a -> t.x: A[N]
    t.o -> b: B[0, 1]
  }
}";
    insta::assert_snapshot!(shown(source, &findings(source)));
}

#[test]
fn a_built_program_is_shown_as_text() {
    let mut sdfg = text::parse("test.sdft", BASE).unwrap();
    let state = state_of(&mut sdfg);
    let edge = edge_into(state, "t");
    for access in state.memlet_mut(edge).accesses_mut() {
        access.subset_mut().0[0] = Range::index(4);
    }
    insta::assert_snapshot!(validate(sdfg).unwrap_err().to_string());
}

/// Code has its caret under the part that is wrong, in the file, and in the printed program where there is no file.
#[test]
fn carets_stand_inside_code() {
    let source = "sdfg p {
  scalar x: f64
  state s {
    access x
    access y = x
    tasklet t (a) -> (o) {
        if a > 0.0:
            o = a + bb
        else:
            o = a
    }
    x -> t.a
    t.o -> y
  }
  -> last if x + zz > 0.0
  state last { }
}";
    let carets = |shown: &str| -> Vec<String> {
        let lines: Vec<&str> = shown.lines().collect();
        let under = lines.windows(2).filter(|pair| pair[1].contains('^'));
        let marked = |pair: &[&str]| -> String {
            pair[0].chars().zip(pair[1].chars()).filter(|(_, mark)| *mark == '^').map(|(c, _)| c).collect()
        };
        under.map(marked).collect()
    };
    assert_eq!(carets(&shown(source, &findings(source))), ["zz", "bb"]);
    let mut sdfg = text::parse("test.sdft", source).unwrap();
    let state = state_of(&mut sdfg);
    let tasklet = state.find("t").unwrap();
    if let NodeKind::Tasklet(tasklet) = &mut state.node_mut(tasklet).kind {
        let code = sdfg_language::tasklet::Code::parse(
            "t = a\nif t > 0.0:\n    o = a + bb\nelse:\n    o = a",
            Default::default(),
        );
        tasklet.body = sdfg_graph::ir::TaskletBody::Code(code.unwrap());
    }
    let rejected = validate(sdfg).unwrap_err().render(None, Style::Plain);
    assert!(carets(&rejected).contains(&"bb".to_owned()), "{rejected}");
    assert!(rejected.contains("in `x + zz > 0.0`"), "{rejected}");
}
