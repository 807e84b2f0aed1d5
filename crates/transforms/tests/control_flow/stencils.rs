//! `DiamondTiling` of time loops over stencils.

use std::fmt::Write;

use sdfg_transforms::rewrites::DiamondTiling;
use sdfg_transforms::{Claim, Pipeline};

use super::{applies, parsed, program, refuses, refuses_rightly};

/// A state with a map over `range` from `from` to `to`, which reads at some offsets.
fn sweep(label: &str, from: &str, to: &str, range: &str, offsets: &[i64]) -> String {
    let mut text = format!("state {label} {{\n access {from}\n access X = {to}\n map m [i = {range}] {{\n");
    let names: Vec<String> = (0..offsets.len()).map(|at| format!("x{at}")).collect();
    let sum = names.iter().enumerate().map(|(at, name)| format!("{} * {name}", at + 1)).collect::<Vec<_>>();
    let _ = writeln!(text, "  tasklet f ({}) -> (y) {{ y = {} - t }}", names.join(", "), sum.join(" - "));
    for (name, offset) in names.iter().zip(offsets) {
        let _ = writeln!(text, "  m.p -> f.{name}: {from}[i + {offset}]");
    }
    let _ = writeln!(text, "  f.y -> m.q: {to}[i]\n }}\n {from} -> m.p\n m.q -> X\n}}");
    text
}

fn tiled(steps: i64, width: i64) -> DiamondTiling {
    DiamondTiling { steps, width }
}

#[test]
fn a_jacobi_sweep_in_one_dimension_is_tiled() {
    let body = [sweep("s", "A", "B", "1:N - 1", &[-1, 0, 1]), sweep("u", "B", "A", "1:N - 1", &[-1, 0, 1])];
    let jacobi = program(&format!("for l: t = 0:7 {{\n{}\n}}", body.join("\n")));
    for (steps, width) in [(1, 2), (1, 5), (2, 6), (3, 10), (3, 64), (10, 38)] {
        let (_, text) = applies(&jacobi, &tiled(steps, width));
        assert!(steps == 1 || text.contains(&format!("0:7:{steps}")), "{text}");
    }
    let message = refuses_rightly(&jacobi, &tiled(3, 9), 5);
    assert!(message.contains("tiles of 3 steps that reach 1 are at least 10 wide"), "{message}");
    assert!(refuses(&jacobi, &tiled(0, 9)).contains("`steps`: it is not greater than 0"));
}

#[test]
fn a_jacobi_sweep_in_two_dimensions_is_tiled() {
    let sweep = |label: &str, from: &str, to: &str| {
        format!(
            "state {label} {{
  access {from}
  access {to}
  map m [i = 1:N - 1, j = 1:4] {{
    tasklet f (a, b, c, d) -> (y) {{ y = a + 2 * b - c + d * t }}
    m.p -> f.a: {from}[i - 1, j]
    m.p -> f.b: {from}[i + 1, j]
    m.p -> f.c: {from}[i, j - 1]
    m.p -> f.d: {from}[i, j + 1]
    f.y -> m.q: {to}[i, j]
  }}
  {from} -> m.p
  m.q -> {to}
}}"
        )
    };
    let text = format!(
        "transient array P: f64[N, 5]
transient array Q: f64[N, 5]
state begin {{
  access P
  access Q
  map m [i = 0:N, j = 0:5] {{
    tasklet f () -> (x, y) {{ x = i * j % 3; y = i - j }}
    f.x -> m.p: P[i, j]
    f.y -> m.q: Q[i, j]
  }}
  m.p -> P
  m.q -> Q
}}
for l: t = 0:5 {{
{}
{}
}}
state end {{
  access P
  access A
  map m [i = 0:N, j = 0:5] {{
    tasklet f (x) -> (y) {{ y = x * (j + 1) }}
    m.p -> f.x: P[i, j]
    f.y -> m.q: A[i] wcr(sum)
  }}
  P -> m.p
  m.q -> A
}}",
        sweep("s", "P", "Q"),
        sweep("u", "Q", "P")
    );
    for (steps, width) in [(2, 6), (4, 14)] {
        applies(&program(&text), &tiled(steps, width));
    }
}

/// Stencils with random offsets, bounds, numbers of states and containers: every tiling that is not refused is right.
#[test]
fn random_stencils_are_tiled() {
    let mut seed = 1u64;
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut applied = 0;
    for case in 0..12 {
        let names = ["A", "B", "C"];
        let mut body = String::new();
        let mut largest = 0;
        let states = 1 + next(3);
        for at in 0..states {
            let from = next(3) as usize;
            let to = (from + 1 + next(2) as usize) % 3;
            let offsets: Vec<i64> = (0..1 + next(3)).map(|_| next(5) as i64 - 2).collect();
            largest = offsets.iter().map(|offset| offset.abs()).max().unwrap_or(0).max(largest);
            let range = ["2:N - 2", "2:N - 3", "3:N - 2", "2:min(N - 2, 6)"][next(4) as usize];
            body.push_str(&sweep(&format!("s{at}"), names[from], names[to], range, &offsets));
        }
        let program = program(&format!("for l: t = {}:{} {{\n{body}}}", next(3), 3 + next(6)));
        let steps = 1 + next(4) as i64;
        // Offsets differ by at most 4 where a container is read and written.
        let width = 1 + next(12) as i64 + 2 * largest * (states as i64 * steps - 1);
        let found = super::first_match(&program, &tiled(steps, width));
        let mut after = program.clone();
        match sdfg_transforms::apply(&mut after, &tiled(steps, width), &found) {
            Err(error) => assert!(error.to_string().contains("`width`"), "case {case}: {error}"),
            Ok(_) => {
                applied += 1;
                let problem = super::difference(&program, &after, 6);
                assert!(
                    problem.is_none(),
                    "case {case}: {problem:?}\n{}\n{}",
                    sdfg::text::print(&program),
                    sdfg::text::print(&after)
                );
            }
        }
    }
    assert!(applied >= 7, "{applied}");
}

#[test]
fn facts_hold_by_enumeration() {
    let body = [sweep("s", "A", "B", "2:N - 2", &[-2, 1]), sweep("u", "B", "A", "2:N - 2", &[0])];
    let mut pipeline = Pipeline::on(program(&format!("for l: t = 0:7 {{\n{}\n}}", body.join("\n"))));
    let applied = pipeline.apply(tiled(2, 40)).expect("an application");
    assert!(!applied.evidence.facts.is_empty());
    for fact in &applied.evidence.facts {
        let value = |symbol: &sdfg::symbolic::Symbol| (symbol.as_str() == "N").then_some(12);
        assert_eq!(fact.claim.holds(&value), Some(true), "{fact}");
        let Claim::Near { symbol, range, first, second, distance } = fact.claim.clone() else { continue };
        if distance > 0 {
            let nearer = Claim::Near { symbol, range, first, second, distance: distance - 1 };
            assert_eq!(nearer.holds(&value), Some(false), "{fact}");
        }
    }
}

#[test]
fn other_loops_are_refused() {
    let one = |state: &str| program(&format!("for l: t = 0:7 {{\n{state}\n}}"));
    let reversed = one(&sweep("s", "A", "B", "1:N - 1", &[0]).replace("B[i]", "B[N - 1 - i]"));
    assert!(refuses(&reversed, &tiled(2, 40)).contains("the parameter plus a number"));
    let triangular = one(&sweep("s", "A", "B", "t:N - 1", &[0]));
    assert!(refuses(&triangular, &tiled(2, 40)).contains("that the loop or the map changes"));
    let sum = one(
        "state s {\n access A\n access B\n map m [i = 0:N] {\n tasklet f (x) -> (y) { y = x }\n m.p -> f.x: A[i]\n f.y -> m.q: B[0] wcr(sum)\n }\n A -> m.p\n m.q -> B\n}",
    );
    assert!(refuses(&sum, &tiled(2, 40)).contains("the parameter plus a number"));
    let copied = one("state s {\n access A\n access B\n A -> B\n}");
    assert!(refuses(&copied, &tiled(2, 40)).contains("has no map"));
    let two = "m.q -> X\n access C\n map k [j = 0:N] {\n tasklet g () -> (y) { y = 1 }\n g.y -> k.q: C[j]\n }\n k.q -> C\n";
    let beside = one(&sweep("s", "A", "B", "0:N", &[0]).replace("m.q -> X\n", two));
    assert!(refuses(&beside, &tiled(2, 40)).contains("has more than one map"));
    let strided = one(&sweep("s", "A", "B", "0:N:2", &[0]));
    assert!(refuses(&strided, &tiled(2, 40)).contains("step is not one"));
    let branching = one(&format!("if b: t > 2 {{ {} }}", sweep("s", "A", "B", "0:N", &[0])));
    assert!(refuses(&branching, &tiled(2, 40)).contains("is no state"));
    let read_after = parsed(&format!(
        "sdfg p {{\n symbol N: i64\n array A: f64[N]\n array B: f64[N]\n for l: t = 0:7 {{\n{}\n}}\n state e {{\n access A\n tasklet g () -> (y) {{ y = t }}\n g.y -> A: A[0]\n}}\n}}",
        sweep("s", "A", "B", "0:N", &[0])
    ));
    assert!(refuses(&read_after, &tiled(2, 40)).contains("read after it"));
}

/// Each iteration of a map has its own.
#[test]
fn transients_of_an_iteration_are_tiled_with_it() {
    let own = |text: String| {
        text.replace(
            "  f.y -> m.q:",
            "  access T\n  tasklet g (z) -> (w) { w = z + 1 }\n  f.y -> T: T[0]\n  T -> g.z: T[0]\n  g.w -> m.q:",
        )
    };
    let body = [sweep("s", "A", "B", "1:N - 1", &[-1, 1]), sweep("u", "B", "A", "1:N - 1", &[0])];
    let loops =
        format!("transient array T: f64[1]\nfor l: t = 0:5 {{\n{}\n{}\n}}", own(body[0].clone()), body[1]);
    applies(&program(&loops), &tiled(2, 6));
}
