//! Tests of conflicts of random maps, nodes and views against the interpreter: refused programs trap, and
//! programs without diagnostics never do.

use std::fmt::Write as _;

use proptest::prelude::*;
use sdfg_graph::diagnostic::{Code, Diagnostic};
use sdfg_graph::text;

use super::oracle::{Ended, run_graph};
use super::{findings, shown};
use crate::Order;

/// A program with a map of one or two parameters around one or two tasklets, perhaps in a map of its own each or through
/// a view, and perhaps a tasklet or a copy beside the map, from random numbers.
fn program(mut draw: impl FnMut(usize) -> usize) -> String {
    let mut pick = |choices: &[&str]| choices[draw(choices.len())].to_owned();
    let outer = pick(&["i = 0:N", "i = 0:3", "i = 0:N + 2", "i = 4:-1:-2", "i = 0:1"]);
    let inner = pick(&["", "", "j = 0:N", "j = 0:2", "j = 0:i", "j = i:i + 2", "j = i:N"]);
    let nests = !inner.is_empty() && pick(&["one", "two"]) == "two";
    let has_j = !inner.is_empty();
    let mut index = |with_j: bool| {
        let mut text = pick(&["i", "i", "2 * i", "0", "i // 2", "-i", "3 * i", "i % 2", "N"]);
        if with_j {
            text += &pick(&["", " + j", " + 2 * j", " + 3 * j", " - j", " + N * j", " + i * j"]);
        }
        format!("{text} + {}", pick(&["8", "8", "9", "10", "12"]))
    };
    let places: Vec<[String; 2]> = (0..2).map(|_| [index(has_j), index(has_j)]).collect();
    let [beside_from, beside_to] = [index(false), index(false)].map(|place| place.replace('i', "1"));
    let resolutions: Vec<String> = (0..3).map(|_| pick(&["", "", " wcr(sum)"])).collect();
    let tasklets = if pick(&["one", "two"]) == "one" { 1 } else { 2 };
    let is_ordered = pick(&["yes", "no"]) == "yes";
    let (view, bound) = match pick(&["none", "none", "same", "strided", "shape"]).as_str() {
        "same" => ("f64[40]", "A[2:42]"),
        "strided" => ("f64[40]", "A[2:82:2]"),
        "shape" => ("f64[5, 8]", "A[2:42]"),
        _ => ("", ""),
    };
    let beside = pick(&["", "", "tasklet", "copy", "after"]);
    let scope = if nests { "k" } else { "m" };
    let mut body = String::new();
    for (at, [read, write]) in places.iter().take(tasklets).enumerate() {
        let is_view = at == 0 && !view.is_empty();
        let (connector, write) = match (is_view, view.contains(',')) {
            (false, _) => ("A", format!("A[{write}]")),
            (true, false) => ("V", format!("V[{write}]")),
            (true, true) => ("V", format!("V[({write}) // 8, ({write}) % 8]")),
        };
        let resolution = &resolutions[at];
        let _ = write!(
            body,
            "
      tasklet t{at} (x) -> (y) {{ y = x }}
      {scope}.A -> t{at}.x: A[{read}]
      t{at}.y -> {scope}.{connector}: {write}{resolution}"
        );
    }
    if tasklets == 2 && is_ordered {
        body += "\n      order t0 -> t1";
    }
    let mut connectors = vec!["A"];
    if !view.is_empty() {
        connectors.push("V");
    }
    let writes_a = tasklets == 2 || view.is_empty();
    connectors.retain(|name| *name == "V" || writes_a);
    let maps = if nests {
        let joins: String = connectors.iter().map(|name| format!("\n    k.{name} -> m.{name}")).collect();
        format!("map m [{outer}] {{\n    map k [{inner}] {{{body}\n    }}\n    m.A -> k.A{joins}\n    }}")
    } else if has_j {
        format!("map m [{outer}, {inner}] {{{body}\n    }}")
    } else {
        format!("map m [{outer}] {{{body}\n    }}")
    };
    let mut source = String::from("sdfg p {\n  symbol N: i64\n  array L: f64[N]\n  array A: f64[96]\n");
    if !view.is_empty() {
        let _ = writeln!(source, "  view V: {view}");
    }
    let _ = write!(source, "  state s {{\n    access r = A\n    {maps}\n    r -> m.A\n");
    if writes_a {
        source += "    access w = A\n    m.A -> w\n";
    }
    if !view.is_empty() {
        let _ =
            write!(source, "    access v = V\n    access z = A\n    m.V -> v\n    bind v -> z: {bound}\n");
    }
    let resolution = &resolutions[2];
    match beside.as_str() {
        "tasklet" | "after" => {
            let _ = write!(
                source,
                "    tasklet u () -> (y) {{ y = 1.0 }}\n    access q = A\n    u.y -> q: A[{beside_to}]{resolution}\n"
            );
            if beside == "after" && writes_a {
                source += "    order w -> u\n";
            }
        }
        "copy" => {
            let _ = write!(
                source,
                "    access p = A\n    access q = A\n    p -> q: A[{beside_from}:{beside_from} + 3] -> A[{beside_to}:{beside_to} + 3]\n"
            );
        }
        _ => {}
    }
    source + "  }\n}"
}

fn draws(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
    move |n| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as usize) % n
    }
}

/// How a program ends for small values of `N`, but for those that lead out of bounds.
fn ends(source: &str, order: Order) -> Vec<Ended> {
    let sdfg = text::parse("test.sdft", source).unwrap();
    let ended = (0..5).map(|n| run_graph(&sdfg, &|_| n, order));
    ended.filter(|ended| *ended != Ended::OutOfBounds).collect()
}

fn codes(found: &[Diagnostic]) -> Vec<Code> {
    found.iter().map(|found| found.code).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn refused_programs_trap_and_silent_ones_do_not(seed in any::<u64>(), shuffle in 0_u64..3) {
        let source = program(draws(seed));
        let mut found = findings(&source);
        found.retain(|found| found.code != Code::OutOfBounds);
        let known = [Code::WriteConflict, Code::PossibleConflict];
        prop_assert!(found.iter().all(|found| known.contains(&found.code)), "{}\n{}", source, shown(&source, &found));
        let order = if shuffle == 0 { Order::Fixed } else { Order::Random(shuffle) };
        let ended = ends(&source, order);
        prop_assume!(!ended.is_empty());
        prop_assert!(ended.iter().all(|ended| matches!(ended, Ended::Well | Ended::Conflict)), "{source}\n{ended:?}");
        if found.is_empty() {
            prop_assert!(!ended.contains(&Ended::Conflict), "{source}\n{ended:?}");
        }
        if found.iter().any(Diagnostic::is_error) {
            let all = ended.iter().all(|ended| *ended == Ended::Conflict);
            prop_assert!(all, "{}\n{}\n{ended:?}", source, shown(&source, &found));
        }
    }
}

/// A warning is the exception: where programs trap for all values, most are refused, and of those that never do, most
/// are accepted without a word.
#[test]
fn most_programs_are_decided() {
    let (mut wrong, mut refused, mut right, mut silent) = (0, 0, 0, 0);
    for seed in 0..160 {
        let source = program(draws(seed));
        let (ended, found) = (ends(&source, Order::Fixed), findings(&source));
        if ended.iter().all(|ended| *ended == Ended::Conflict) {
            wrong += 1;
            refused += usize::from(found.iter().any(Diagnostic::is_error));
        } else if ended.iter().all(|ended| *ended == Ended::Well) {
            right += 1;
            silent += usize::from(found.is_empty());
        }
    }
    assert!(wrong > 50 && refused * 10 > wrong * 7, "{refused} of {wrong} refused");
    assert!(right > 25 && silent * 10 > right * 7, "{silent} of {right} accepted without a word");
}

/// One state about `A`, the view `V` of it and others.
fn state(content: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[16]
  array I: i64[16]
  view V: f64[8]
  view W: f64[8]
  view Q: f64[2, 4]
  array R: f64[4, 8]
  scalar x: f64
  state s {{
{content}
  }}
}}"
    )
}

/// Two views with a write through one and a read through the other.
fn views(first: &str, second: &str, more: &str) -> String {
    state(&format!(
        "    access a = A
    access c = A
    access v = V
    access w = W
    access x
    tasklet t () -> (o) {{ o = 1.0 }}
    t.o -> v: V[2]
    bind v -> a: {first}
    bind c -> w: {second}
    tasklet r (i) -> (o) {{ o = i }}
    w -> r.i: W[1]
    r.o -> x
{more}"
    ))
}

#[test]
fn views_are_what_they_show() {
    for (source, expected) in [
        (views("A[0:8]", "A[1:9]", ""), &[Code::WriteConflict][..]),
        (views("A[0:8]", "A[0:8]", ""), &[]),
        (views("A[0:8]", "A[8:16]", ""), &[]),
        (views("A[0:16:2]", "A[3:11]", ""), &[Code::WriteConflict]),
        (views("A[0:16:2]", "A[2:10]", ""), &[]),
        (views("A[0:8]", "A[1:9]", "    order v -> w"), &[]),
        (views("A[0:8]", "A[N:N + 8]", ""), &[Code::PossibleConflict]),
    ] {
        let found = findings(&source);
        assert_eq!(codes(&found), expected, "{source}\n{}", shown(&source, &found));
    }
}

#[test]
fn views_of_another_shape_are_compared_in_their_own() {
    let write = |index: &str| {
        state(&format!(
            "    access a = A
    access q = Q
    map m [i = 0:8] {{
      tasklet t () -> (o) {{ o = 1.0 }}
      t.o -> m.Q: Q[{index}]
    }}
    m.Q -> q
    bind q -> a: A[0:8]"
        ))
    };
    for (index, expected) in [
        ("i // 4, i % 4", &[][..]),
        ("i // 4, i % 2", &[Code::WriteConflict]),
        ("1, i % 4", &[Code::WriteConflict]),
    ] {
        let source = write(index);
        let found = findings(&source);
        assert_eq!(codes(&found), expected, "{source}\n{}", shown(&source, &found));
    }
}

/// A view of a row in each iteration, that iterations fill: rows are disjoint, whatever the shape.
#[test]
fn views_in_scopes_have_the_part_of_their_iteration() {
    let rows = |row: &str| {
        state(&format!(
            "    access r = R
    map m [i = 0:4] {{
      map k [j = 0:8] {{
        tasklet t () -> (o) {{ o = 1.0 }}
        t.o -> k.Q: Q[j // 4, j % 4]
      }}
      access q = Q
      k.Q -> q
      access own = R
      bind q -> own: R[{row}, 0:8]
    }}
    order m -> r"
        ))
    };
    for (row, expected) in [("i", &[][..]), ("i // 2", &[Code::PossibleConflict])] {
        let source = rows(row);
        let found = findings(&source);
        assert_eq!(codes(&found), expected, "{source}\n{}", shown(&source, &found));
    }
}

/// A reference is the same memory throughout a state that does not bind it, whatever was bound before.
#[test]
fn references_keep_their_memory_in_a_state() {
    let refers = |bound: &str, from: &str, to: &str| {
        format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[8, 8]
  reference old: f64[8]
  reference new: f64[8]
  for l: t = 0:8 {{
    if g: N < t {{
      state even {{
        access A
        access old
        access new
        bind A -> old: A[0, 0:8]
        bind A -> new: A[{bound}, 0:8]
      }}
    }} else {{
      state odd {{
        access A
        access old
        access new
        bind A -> old: A[1, 0:8]
        bind A -> new: A[0, 0:8]
      }}
    }}
    state step {{
      access old
      access new
      access result = new
      map m [i = 0:8] {{
        tasklet t (x, y) -> (z) {{ z = x + y }}
        m.old -> t.x: old[{from}]
        m.new -> t.y: new[i]
        t.z -> m.new: new[{to}]
      }}
      old -> m.old
      new -> m.new
      m.new -> result
    }}
  }}
}}"
        )
    };
    for (bound, from, to, expected) in [
        ("1", "i", "i", &[][..]),
        ("1", "7 - i", "i", &[Code::PossibleConflict]),
        ("t", "i", "i", &[Code::PossibleConflict]),
        ("t", "", "i", &[]),
        ("t", "", "0", &[Code::WriteConflict]),
    ] {
        let mut source = refers(bound, from, to);
        if from.is_empty() {
            let lines = source.lines().filter(|line| !line.contains("m.old")).collect::<Vec<_>>();
            source = lines.join("\n").replace("(x, y)", "(y)").replace("x + y", "y");
        }
        let found = findings(&source);
        assert_eq!(codes(&found), expected, "{source}\n{}", shown(&source, &found));
    }
}

/// A map that calls an SDFG with rows of a matrix, or with all of it.
fn calls(binding: &str, inner: &str, place: &str, resolution: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array R: f64[4, 8]
  state s {{
    access r = R
    map m [i = 0:4] {{
      nested call () -> (B) with (row = i) sdfg callee {{
        symbol row: i64
        array B: f64[{inner}]
        state t {{
          access b = B
          map k [j = 0:8] {{
            tasklet t () -> (o) {{ o = 1.0 }}
            t.o -> k.B: B[{place}]{resolution}
          }}
          k.B -> b
        }}
      }}
      call.B -> m.R: R[{binding}]
    }}
    m.R -> r
  }}
}}"
    )
}

#[test]
fn calls_touch_what_is_touched_inside() {
    for (source, expected) in [
        (calls("i, 0:8", "8", "j", ""), &[][..]),
        (calls("0:4, 0:8", "4, 8", "row, j", ""), &[]),
        (calls("0:4, 0:8", "4, 8", "1, j", ""), &[Code::WriteConflict]),
        (calls("0:4, 0:8", "4, 8", "1, j", " wcr(sum)"), &[]),
        (calls("0:4, 0:8", "4, 8", "row // 2, j", ""), &[Code::WriteConflict]),
    ] {
        let found = findings(&source);
        assert_eq!(codes(&found), expected, "{source}\n{}", shown(&source, &found));
    }
    let told = findings(&calls("0:4, 0:8", "4, 8", "1, j", ""))[0].to_string();
    assert!(told.ends_with("all 4 iterations of `m` over `i` write `R[1, 0:8]`"), "{told}");
}

#[test]
fn conditions_and_loops_around_a_state() {
    let write = |place: &str| {
        format!(
            "    state s {{
      access a = A
      map m [i = 0:4] {{
        tasklet t () -> (o) {{ o = 1.0 }}
        t.o -> m.A: A[{place}]
      }}
      m.A -> a
    }}"
        )
    };
    let around = |open: &str, place: &str| {
        format!("sdfg p {{\n  symbol N: i64\n  array A: f64[16]\n  {open} {{\n{}\n  }}\n}}", write(place))
    };
    for (open, place, expected) in [
        ("for l: t = 0:N", "0", &[Code::WriteConflict][..]),
        ("for l: t = 0:N", "i + 2 * (t % 2)", &[]),
        // It may be that the condition never holds.
        ("if g: N < 0 - 5", "0", &[Code::PossibleConflict]),
        ("if g: N < 5", "i", &[]),
    ] {
        let source = around(open, place);
        let found = findings(&source);
        assert_eq!(codes(&found), expected, "{source}\n{}", shown(&source, &found));
    }
}

/// Whatever picks elements while the program runs is warned about once for each container and scope.
#[test]
fn what_data_decides_is_warned_about_once() {
    let source = state(
        "    access a = A
    access b = A
    access I
    map m [i = 0:16] {
      tasklet t (k, v) -> (o, p) { o[k] = 1.0; p[k] = v[k] }
      m.I -> t.k: I[i]
      m.A -> t.v: A[0:16]
      t.o -> m.A: A[0:16] dynamic
      t.p -> m.B: A[0:8] dynamic
    }
    a -> m.A
    I -> m.I
    m.A -> b
    m.B -> b",
    );
    let found = findings(&source);
    assert_eq!(codes(&found), [Code::PossibleConflict], "{source}\n{}", shown(&source, &found));
    let told = shown(&source, &found);
    assert!(told.contains("decided while running") && told.contains("wcr(replace)"), "{told}");
}

/// A state whose tasklets each write an element of their own, at `place(n)`.
fn writes(count: usize, place: impl Fn(usize) -> usize) -> String {
    let mut text = "sdfg p {\n  array A: f64[9000]\n  state s {\n    access A\n".to_owned();
    for n in 0..count {
        let _ = write!(text, "    tasklet t{n} () -> (o) {{ o = 1.0 }}\n    t{n}.o -> A: A[{}]\n", place(n));
    }
    text + "  }\n}\n"
}

#[test]
fn more_pairs_than_are_compared_are_told() {
    let codes = |count: usize, place: &dyn Fn(usize) -> usize| {
        let source = writes(count, place);
        findings(&source).iter().map(|found| (found.code, found.is_error())).collect::<Vec<_>>()
    };
    // 63 writes are 1953 pairs, 64 are 2016.
    assert_eq!(codes(63, &|n| n), []);
    assert_eq!(codes(64, &|n| n), [(Code::PossibleConflict, false)]);
    // What is found among the first pairs is told as before.
    assert_eq!(codes(64, &|n| n.max(1)), [(Code::WriteConflict, true), (Code::PossibleConflict, false)]);
    // The last two meet, but behind the limit.
    assert_eq!(codes(70, &|n| n.min(68)), [(Code::PossibleConflict, false)]);
}
