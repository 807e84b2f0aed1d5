//! The facts that transformations rely on, checked by isl for all values of the symbols, and by enumeration for small ones.
//!
//! The facts are those of every match in random programs, PolyBench's kernels and the example programs. isl answers whether a
//! set of contradictions is empty. `SDFG_FACTS=1000 cargo nextest run -p sdfg-programs --test facts --no-capture` takes so many
//! random programs and prints how many facts of each kind isl checked, and why it could not check the others. Without isl,
//! the tests say so and enumerate only.
#![expect(clippy::print_stdout, reason = "the report of the facts, and of a missing library")]

mod admissible;
mod isl;
mod translate;

use std::collections::{BTreeMap, BTreeSet};

use admissible::Admissible;
use isl::{Answer, Isl};
use sdfg::ir::Sdfg;
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Symbol};
use sdfg_programs::applications::{described, variants};
use sdfg_programs::random::transformed;
use sdfg_programs::subjects::Subjects;
use sdfg_transforms::{Claim, Site, Tables, places};
use translate::{Outside, contradiction};

/// Random programs, unless `SDFG_FACTS` names another number.
const PROGRAMS: u64 = 32;

/// The first seed.
const SEED: u64 = 8_000_000;

/// A loop that fills a buffer from one row and writes the row: the next iteration's buffer may be filled meanwhile.
const PIPELINE: &str = "sdfg pipeline {
  symbol N: i64
  array A: f64[N, 8]
  transient array T: f64[8]

  for rows: i = 0:N {
    state s {
      access A
      access T
      A -> T: A[i, 0:8] -> T[0:8]
      access X = A
      map m [j = 0:8] {
        tasklet f (x) -> (y) { y = 2 * x }
        m.T -> f.x: T[7 - j]
        f.y -> m.A: A[i, j]
      }
      T -> m.T
      m.A -> X
    }
  }
}";

/// A fact with its place.
struct Found {
    at: String,
    claim: Claim,
    admissible: Admissible,
}

/// The facts of every match in a program.
fn facts(program: &Sdfg) -> Vec<Found> {
    let mut found = Vec::new();
    for transformation in variants() {
        let tables = Tables::new();
        for place in places(program, transformation.as_ref()) {
            let Some(site) = Site::of(program, &place, &tables) else { continue };
            let Ok(evidence) = sdfg_transforms::checked(transformation.as_ref(), &site) else { continue };
            for fact in evidence.facts {
                let at = format!("{}, {fact}", described(program, transformation.as_ref(), &place));
                found.push(Found { at, claim: fact.claim, admissible: Admissible::at(&site) });
            }
        }
    }
    found
}

/// The programs whose facts are checked.
fn programs() -> Vec<Sdfg> {
    let given = std::env::var("SDFG_FACTS").ok().and_then(|count| count.parse().ok());
    let seeds = SEED..SEED + given.unwrap_or(PROGRAMS);
    let texts = seeds.map(transformed).chain([PIPELINE.to_owned()]);
    let read = |text: String| {
        sdfg::text::parse("facts.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
    };
    let listed = [Subjects::Programs, Subjects::Polybench].into_iter().flat_map(|list| {
        (0..list.count()).map(move |number| {
            let (name, build) = list.program(number);
            build().unwrap_or_else(|rejected| panic!("{name}: {rejected}")).0.sdfg().clone()
        })
    });
    texts.map(read).chain(listed).collect()
}

/// The kind of a claim, in words.
fn kind(claim: &Claim) -> &'static str {
    match claim {
        Claim::Covers { .. } => "covers",
        Claim::Positive(_) => "positive",
        Claim::Equal(..) => "equal",
        Claim::OneValue(_) => "one value",
        Claim::Apart { .. } => "apart",
        Claim::Near { .. } => "near",
        Claim::Disjoint { .. } => "disjoint",
        Claim::NeverLater { .. } => "never later",
        Claim::NoOtherUse => "no other use",
        Claim::Stated { .. } => "stated",
    }
}

/// Numbers of facts of one kind.
#[derive(Default)]
struct Counts {
    by_isl: usize,
    by_enumeration: usize,
    outside: BTreeMap<String, usize>,
}

#[test]
fn facts_hold_for_all_sizes() {
    let isl = Isl::open();
    if isl.is_none() {
        println!("isl is not here (Debian and Ubuntu: apt-get install libisl23): facts are only enumerated");
    }
    let mut counts: BTreeMap<&str, Counts> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut asked = BTreeSet::new();
    for found in programs().iter().flat_map(facts) {
        let counts = counts.entry(kind(&found.claim)).or_default();
        match enumerated(&found.claim, &found.admissible) {
            Some(None) => counts.by_enumeration += 1,
            Some(Some(values)) => wrong.push(format!("{}: not for {values}", found.at)),
            None => {}
        }
        match contradiction(&found.claim, &found.admissible) {
            Err(Outside(why)) => *counts.outside.entry(general(&why)).or_default() += 1,
            Ok(set) => {
                counts.by_isl += 1;
                if !asked.insert(set.clone()) {
                    continue;
                }
                let Some(isl) = &isl else { continue };
                match isl.is_empty(&set) {
                    Answer::Empty => {}
                    Answer::Element(element) => {
                        wrong.push(format!("{}: {element} of {set}", found.at));
                    }
                    Answer::None(error) => wrong.push(format!("{}: isl: {error}: {set}", found.at)),
                }
            }
        }
    }
    println!("{:14} {:>8} {:>11} {:>8}", "kind of fact", "by isl", "enumerated", "outside");
    for (kind, counts) in &counts {
        let outside: usize = counts.outside.values().sum();
        println!("{kind:14} {:>8} {:>11} {outside:>8}", counts.by_isl, counts.by_enumeration);
        for (why, count) in &counts.outside {
            println!("{count:>44} {why}");
        }
    }
    println!("{} different sets of contradictions", asked.len());
    assert!(wrong.is_empty(), "{} facts are wrong:\n{}", wrong.len(), wrong.join("\n"));
    for needed in ["covers", "positive", "apart", "near", "disjoint"] {
        let count = counts.get(needed).map_or(0, |counts| counts.by_isl);
        assert!(count > 0, "no fact of the kind `{needed}` has a translation");
    }
}

/// A reason without names.
fn general(why: &str) -> String {
    why.split('`').enumerate().map(|(at, part)| if at % 2 == 0 { part } else { "_" }).collect()
}

/// Values that contradict a claim about symbols of the place alone, among small ones; `None` if none of them give it a meaning.
fn enumerated(claim: &Claim, admissible: &Admissible) -> Option<Option<String>> {
    let symbols = admissible.closure(translate::symbols_of(claim));
    let own = translate::quantified(claim);
    let symbols: Vec<Symbol> = symbols.into_iter().filter(|symbol| Some(symbol) != own.as_ref()).collect();
    if symbols.len() > 3 || symbols.iter().any(|symbol| admissible.inner.contains_key(symbol)) {
        return None;
    }
    const LEAST: i64 = -2;
    const COUNT: i64 = 8;
    let mut has_meaning = false;
    for number in 0..COUNT.pow(symbols.len() as u32) {
        let digit = |at: usize| LEAST + number / COUNT.pow(at as u32) % COUNT;
        let value = |symbol: &Symbol| symbols.iter().position(|other| other == symbol).map(digit);
        let allows = |fact: &Expr| {
            let is_about = fact.free_symbols().iter().all(|symbol| symbols.contains(symbol));
            !is_about || fact.eval(&|symbol: &Symbol| value(symbol)).is_ok_and(|value| value >= 0)
        };
        if !admissible.nonnegative.iter().all(allows) {
            continue;
        }
        match claim.holds(&value) {
            Some(true) => has_meaning = true,
            Some(false) => {
                let values: Vec<String> = symbols
                    .iter()
                    .enumerate()
                    .map(|(at, symbol)| format!("{symbol} = {}", digit(at)))
                    .collect();
                return Some(Some(values.join(", ")));
            }
            None => {}
        }
    }
    has_meaning.then_some(None)
}

fn expr(text: &str) -> Expr {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn subset(text: &str) -> Subset {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn range(text: &str) -> Range {
    subset(text).0.remove(0)
}

/// Claims with the expected answers, under `N >= 0` and with an inner symbol `j` in `0:N`.
fn cases() -> Vec<(Claim, bool)> {
    let i = || Symbol::of("i");
    let covers = |outer: &str, inner: &str| Claim::Covers { outer: subset(outer), inner: subset(inner) };
    let apart = |first: &str, second: &str, values: &str| Claim::Apart {
        symbol: i(),
        range: range(values),
        first: subset(first),
        second: subset(second),
    };
    let near = |first: &str, second: &str, distance| Claim::Near {
        symbol: i(),
        range: range("0:N"),
        first: subset(first),
        second: subset(second),
        distance,
    };
    let disjoint = |first: &str, second: &str| Claim::Disjoint {
        symbol: i(),
        range: range("0:N"),
        first: subset(first),
        second: subset(second),
    };
    let never_later = |first: &str, second: &str, values: &str| Claim::NeverLater {
        symbol: i(),
        range: range(values),
        first: subset(first),
        second: subset(second),
    };
    vec![
        (covers("0:N, 0:N", "1:N, 0"), true),
        (covers("0:N, 0:N", "0:N + 1, 0"), false),
        (covers("0:N", "0"), false),
        (covers("0:N, 0:N", "1:N, j"), true),
        (covers("0:N", "0:N - 1"), true),
        (covers("0:N - 1", "0:N"), false),
        (covers("0:2*N", "0:2*N:2"), true),
        (covers("0:2*N:2", "0:2*N"), false),
        (covers("0:2*N:2:2", "0:2*N"), true),
        (covers("N - 1:-1:-1", "0:N"), true),
        (covers("0:min(N, 2)", "0:(N + 3) // 2"), false),
        (covers("0:max(N, 4)", "0:N // 2"), true),
        (apart("i", "i", "0:N"), true),
        (apart("i", "i + 1", "0:N"), false),
        (apart("i", "i + 1", "0:N:2"), true),
        (apart("2*i", "2*i + 1", "0:N"), true),
        (apart("i // 2", "i // 2", "0:N"), false),
        (apart("i, j", "i, 0", "0:N"), true),
        (apart("j", "j", "0:N"), false),
        (apart("i % 3", "i % 3", "0:3"), true),
        (apart("i % 3", "i % 3", "0:4"), false),
        (near("i", "i + 2", 2), true),
        (near("i", "i + 2", 1), false),
        (disjoint("i", "i + 1:N + 1"), true),
        (disjoint("i", "i:N"), false),
        (never_later("i", "i + 1", "0:N"), true),
        (never_later("i + 1", "i", "0:N"), false),
        (never_later("i + 1", "i", "N - 1:-1:-1"), true),
        (never_later("i", "i + 1", "N - 1:-1:-1"), false),
        (never_later("0:i", "i:N", "0:N"), true),
        (never_later("i:N", "0:i", "0:N"), false),
        (Claim::Positive(expr("N + 1")), true),
        (Claim::Positive(expr("N")), false),
        (Claim::Equal(expr("(N + 1) // 2"), expr("ceil_div(N, 2)")), true),
        (Claim::Equal(expr("2 * (N // 2)"), expr("N")), false),
        (Claim::OneValue(range("N:N + 1")), true),
        (Claim::OneValue(range("0:N:N + 1")), false),
        (Claim::OneValue(range("0:3:2")), false),
        (Claim::OneValue(range("0:2:2")), true),
    ]
}

/// Planted: isl tells false facts from true ones, and so does enumeration where it knows all symbols.
#[test]
fn false_facts_are_found() {
    let admissible = Admissible {
        nonnegative: vec![expr("N")],
        inner: BTreeMap::from([(Symbol::of("j"), Some(range("0:N")))]),
        unclear: BTreeSet::new(),
    };
    let isl = Isl::open();
    let (mut by_isl, mut by_enumeration) = (0, 0);
    for (claim, expected) in cases() {
        if let Some(answer) = enumerated(&claim, &admissible) {
            by_enumeration += 1;
            assert_eq!(answer.is_none(), expected, "{claim}: {answer:?}");
        }
        let Ok(set) = contradiction(&claim, &admissible) else { continue };
        let Some(isl) = &isl else { continue };
        by_isl += 1;
        match isl.is_empty(&set) {
            Answer::Empty => assert!(expected, "{claim} is false: {set}"),
            Answer::Element(element) => assert!(!expected, "{claim} is true, and not for {element} of {set}"),
            Answer::None(error) => panic!("{claim}: {error}: {set}"),
        }
    }
    assert!(by_enumeration >= 24, "{by_enumeration}");
    match isl {
        Some(_) => assert!(by_isl >= 29, "{by_isl}"),
        None => println!("isl is not here (Debian and Ubuntu: apt-get install libisl23)"),
    }
}

/// What is outside of the fragment is told, and not answered.
#[test]
fn products_of_symbols_are_outside() {
    let nothing = Admissible::default();
    for text in ["N * N", "N // K", "N % K", "(N + 1) * (N + 2) // 2"] {
        assert!(contradiction(&Claim::Positive(expr(text)), &nothing).is_err(), "{text}");
    }
    assert!(contradiction(&Claim::NoOtherUse, &nothing).is_err());
}
