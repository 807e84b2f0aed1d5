//! Tests of bounds of random accesses in random loops and maps against the interpreter: refused programs
//! trap, and programs that never trap are accepted.

use proptest::prelude::*;
use sdfg_graph::diagnostic::{Code, Diagnostic};
use sdfg_graph::text;

use super::findings;
use super::oracle::{Ended, run_graph};
use crate::Order;

/// A program with random loops, maps and one access, from random numbers. The code reads all of what its memlet brings, or
/// picks elements, which may lie elsewhere and which it may pass over.
fn program(picks: bool, mut draw: impl FnMut(usize) -> usize) -> String {
    let mut pick = |choices: &[&str]| choices[draw(choices.len())].to_owned();
    let shape = pick(&["N", "N + 1", "2 * N", "4", "N, M", "M, N", "N - 1"]);
    let outer = pick(&["0:N", "1:N", "0:N - 1", "0:M", "N - 1:-1:-1", "0:4", "0:N:2", "0:N + 1"]);
    let loops =
        pick(&["", "", "for l: t = 0:N", "for l: t = 0:M", "for l: t = 1:N - 1", "for l: t = N:0:-1"]);
    let guard = pick(&["", "", "", "if g: N > 2", "if g: t < N - 1", "if g: t == 1"]);
    let condition =
        pick(&["", "if g: A[t] > 1.0", "if g: A[t + 1] > 1.0", "if g: A[N] > 1.0", "if g: A[4] > 1.0"]);
    let guard = if picks && !condition.is_empty() { condition } else { guard };
    let guard = if shape.contains(',') { guard.replace('[', "[0, ") } else { guard };
    let inner =
        pick(&["", "", "j = 0:M", "j = 0:i", "j = i:N", "j = 0:i + 1", "j = i + 1:N", "j = 0:3", "j = 0:N"]);
    let nests = pick(&["one map", "two maps"]) == "two maps";
    let loops = if guard.contains('t') && loops.is_empty() { "for l: t = 0:N".to_owned() } else { loops };
    let mut names = vec!["i", "i", "0", "N", "M"];
    names.extend(if inner.is_empty() { &[][..] } else { &["j", "j"] });
    names.extend(if loops.is_empty() { &[][..] } else { &["t", "t"] });
    let mut index = || {
        let other = ["", "", " + 1", " - 1", " + i", " - i", " + 2", " - 2"];
        format!("{}{}", pick(&names), pick(&other))
    };
    let (first, begin) = (index(), index());
    let end = pick(&["", "", "", "N", "i + 1", "i + 2"]);
    let part = pick(&["0:N", "0:2", "i:i + 2", "0:i + 1", ""]);
    let (begin, end) = match part.split_once(':') {
        Some((begin, end)) if picks => (begin.to_owned(), end.to_owned()),
        Some(_) | None => (begin, end),
    };
    let code = if end.is_empty() {
        "o = x".to_owned()
    } else if picks {
        let count = pick(&["3", "i + 1", "N", "M - i", "2"]);
        let place = pick(&["k", "k", "k + 1", "2 * k", "k - i", "0 - k", "2 - k", "i"]);
        let chosen =
            pick(&["", "", "", "if x[0] > 0.0:", "if i > 1:", "while s < 0.0:", "for l in range(2):"]);
        format!(
            "s = 0.0
        for k in range({count}):
            if True:
                s = s + 1.0
            {chosen}
                s = s + x[{place}]
        o = s"
        )
        .replace("            \n                s", "            s")
    } else {
        format!(
            "s = 0.0\n        for k in range(({end}) - ({begin})):\n            s = s + x[k]\n        o = s"
        )
    };
    let last = if end.is_empty() { begin } else { format!("{begin}:{end}") };
    let index = if shape.contains(',') { format!("{first}, {last}") } else { last };
    let (maps, through) = match (inner.is_empty(), nests) {
        (true, _) => (format!("map m [i = {outer}] {{"), false),
        (false, false) => (format!("map m [i = {outer}, {inner}] {{"), false),
        (false, true) => (format!("map m [i = {outer}] {{\n    map k [{inner}] {{"), true),
    };
    let (scope, joins) = if through { ("k", "\n    }\n    m.A -> k.A\n    k.y -> m.y") } else { ("m", "") };
    let blocks: Vec<&String> = [&loops, &guard].into_iter().filter(|block| !block.is_empty()).collect();
    let open: String = blocks.iter().map(|block| format!("  {block} {{\n")).collect();
    format!(
        "sdfg p {{
  symbol N: i64
  symbol M: i64
  array A: f64[{shape}]
  scalar y: f64
{open}  state s {{
    access a = A
    access y
    {maps}
      tasklet t (x) -> (o) {{
        {code}
      }}
      {scope}.A -> t.x: A[{index}]
      t.o -> {scope}.y: y wcr(sum){joins}
    }}
    a -> m.A
    m.y -> y
  }}
{}}}",
        "  }\n".repeat(blocks.len())
    )
}

/// A program with a call in a map, which gives two symbols values that decide what the call accesses, from random numbers.
fn call(mut draw: impl FnMut(usize) -> usize) -> String {
    let mut pick = |choices: &[&str]| choices[draw(choices.len())].to_owned();
    let shape = pick(&["8", "4", "N", "N + 1", "M"]);
    let outer = pick(&["0:N", "0:4", "1:N", "N - 1:-1:-1", "0:N:2", "0:M"]);
    let values = ["i", "i + 1", "2 * i", "N - i", "3", "i // 2", "M", "i + 2", "3 - i", "i - 1"];
    let (first, second) = (pick(&values), pick(&values));
    let block = pick(&[
        "",
        "",
        "for f: t = 0:k",
        "for f: t = 0:l",
        "for f: t = 0:3",
        "if g: k > 2",
        "for f: t = k:l",
    ]);
    let before = pick(&["", "", "", "state before {}\n  -> with (l = k + 1)"]);
    let map = pick(&["", "j = 0:k", "j = 0:l", "j = 0:2", "j = k:l", "j = 0:N"]);
    let mut places = vec!["k", "k", "l", "l", "N", "0"];
    places.extend(if map.is_empty() { &[][..] } else { &["j", "j"] });
    places.extend(if block.starts_with("for") { &["t"][..] } else { &[] });
    let mut index = || format!("{}{}", pick(&places), pick(&["", " + 1", " - 1", " + 4", " - 3", " + k"]));
    let (begin, end) = (index(), index());
    let is_range = pick(&["one", "one", "range"]) == "range";
    let (part, code) = if is_range {
        (
            format!("{begin}:{end}"),
            format!("s = 0.0\n for c in range(({end}) - ({begin})):\n  s = s + v[c]\n o = s"),
        )
    } else {
        (begin, "o = v".to_owned())
    };
    let work = if map.is_empty() {
        format!("tasklet t (v) -> (o) {{\n {code}\n}}\nx -> t.v: x[{part}]\nt.o -> y: y wcr(sum)")
    } else {
        format!(
            "map q [{map}] {{\ntasklet t (v) -> (o) {{\n {code}\n}}\nq.x -> t.v: x[{part}]\nt.o -> q.y: y wcr(sum)\n}}\nx -> q.x\nq.y -> y"
        )
    };
    let inside = format!("state s {{\naccess x\naccess y\n{work}\n}}");
    let label = if block.is_empty() { "s" } else { &block[block.find(' ').map_or(0, |at| at + 1)..][..1] };
    let before = before.replace("-> with", &format!("-> {label} with"));
    let inside = if block.is_empty() { inside } else { format!("{block} {{\n{inside}\n}}") };
    format!(
        "sdfg p {{
symbol N: i64
symbol M: i64
array A: f64[{shape}]
scalar y: f64
state s {{
access A
access y
map m [i = {outer}] {{
nested n (x) -> (y) with (k = {first}, l = {second}) sdfg inner {{
symbol N: i64
symbol M: i64
symbol k: i64
symbol l: i64
array x: f64[{shape}]
scalar y: f64
{before}
{inside}
}}
m.A -> n.x: A[0:{shape}]
n.y -> m.y: y
}}
A -> m.A
m.y -> y
}}
}}"
    )
}

/// Whether a finding rests on an iteration that makes a call.
fn is_of_call(found: &Diagnostic) -> bool {
    found.secondary.iter().any(|place| place.message.starts_with("the call gives"))
}

/// How the program ends for small values of its symbols.
fn ends(source: &str) -> Vec<Ended> {
    ends_for(source, (0..5).flat_map(|n| (0..8).map(move |m| (n, m))))
}

/// How the program ends for some values of `N` and `M`.
fn ends_for(source: &str, values: impl Iterator<Item = (i64, i64)>) -> Vec<Ended> {
    let sdfg = text::parse("test.sdft", source).unwrap();
    // A negative extent is a fault of the call.
    let least = if source.contains("f64[N - 1]") { 1 } else { 0 };
    let values = values.filter(|(n, _)| *n >= least);
    values.map(|(n, m)| run_graph(&sdfg, &|name| if name == "N" { n } else { m }, Order::Fixed)).collect()
}

fn draws(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
    move |n| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as usize) % n
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn refused_accesses_trap(seed in any::<u64>()) {
        let source = program(false, draws(seed));
        let found = findings(&source);
        prop_assert!(found.iter().all(|found| found.code == Code::OutOfBounds), "{source}\n{found:#?}");
        if !found.is_empty() {
            let ended = ends(&source);
            prop_assert!(ended.contains(&Ended::OutOfBounds), "{source}\n{found:#?}\n{ended:?}");
        }
    }

    #[test]
    fn refused_picks_trap(seed in any::<u64>()) {
        let source = program(true, draws(seed));
        let found = findings(&source);
        prop_assert!(found.iter().all(|found| found.code == Code::OutOfBounds), "{source}\n{found:#?}");
        // A memlet is held against its container whether or not the code touches all of it.
        let is_pick = |found: &Diagnostic| found.is_error() && found.excerpt.is_some();
        if found.iter().any(is_pick) {
            let ended = ends(&source);
            prop_assert!(ended.contains(&Ended::OutOfBounds), "{source}\n{found:#?}\n{ended:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn refused_accesses_of_calls_trap(seed in any::<u64>()) {
        let source = call(draws(seed));
        let found: Vec<Diagnostic> = findings(&source).into_iter().filter(Diagnostic::is_error).collect();
        prop_assert!(
            found.iter().all(|found| [Code::OutOfBounds, Code::WriteConflict].contains(&found.code)),
            "{source}\n{found:#?}"
        );
        if found.iter().any(is_of_call) {
            // Some ranges have elements only where `N` is large.
            let ended = ends_for(&source, (0..14).flat_map(|n| [0, 2, 7, 13].map(|m| (n, m))));
            prop_assert!(ended.contains(&Ended::OutOfBounds), "{source}\n{found:#?}\n{ended:?}");
        }
    }
}

/// Silence would never be wrong: of the programs that trap for all larger values, most are refused.
#[test]
fn most_wrong_accesses_are_refused() {
    let (mut wrong, mut refused) = (0, 0);
    let mut missed = String::new();
    for seed in 0..100 {
        let source = program(false, draws(seed));
        if ends(&source).iter().rev().take(4).all(|ended| *ended == Ended::OutOfBounds) {
            wrong += 1;
            if findings(&source).is_empty() {
                missed += &format!("{source}\n");
            } else {
                refused += 1;
            }
        }
    }
    assert!(wrong > 10 && refused * 3 > wrong, "{refused} of {wrong}\n{missed}");
    let picks = (0..100).filter(|seed| {
        let found = findings(&program(true, draws(*seed)));
        found.iter().any(|found| found.is_error() && found.excerpt.is_some())
    });
    let picks = picks.count();
    assert!(picks > 10, "{picks}");
    let calls = (0..200).filter(|seed| {
        let found = findings(&call(draws(*seed)));
        found
            .iter()
            .any(|found| found.secondary.iter().any(|place| place.message.starts_with("the call gives")))
    });
    let calls = calls.count();
    assert!(calls > 5, "{calls}");
}
