//! `ScalarToSymbol`.

use sdfg::ir::Sdfg;
use sdfg_transforms::rewrites::ScalarToSymbol;
use sdfg_transforms::{apply, places};

use super::{difference, program, refuses};

/// A program with an integer scalar `n`, an index array `R`, and states.
fn counted(contents: &str) -> Sdfg {
    program(&format!(
        " transient scalar n: i64\n transient array R: i64[3]
 state r {{
  access R
  map fill [i = 0:3] {{
    tasklet t () -> (y) {{ y = i + 1 }}
    t.y -> fill.R: R[i]
  }}
  fill.R -> R
 }}
{contents}"
    ))
}

/// Sets `n` by code over `R[1]`.
fn set(code: &str) -> String {
    format!(
        "state w {{
  access R
  access n
  tasklet t (x) -> (y) {{ y = {code} }}
  R -> t.x: R[1]
  t.y -> n
}}"
    )
}

/// Applies at the first access node of `n`.
fn converts(before: &Sdfg) -> String {
    let at_n = places(before, &ScalarToSymbol::default()).into_iter().find(|found| {
        let sdfg::path::Target::Node(state, node) = found.places(before)[0].target else { return false };
        let container = before.state(state).node(node).kind.container();
        container.is_some_and(|id| before.container(id).name == "n")
    });
    let mut after = before.clone();
    apply(&mut after, &ScalarToSymbol::default(), &at_n.expect("an access node"))
        .unwrap_or_else(|error| panic!("{error}"));
    let text = sdfg::text::print(&after);
    let problem = difference(before, &after, 5);
    assert!(problem.is_none(), "{problem:?}\n{text}");
    text
}

/// The reason for which `n` is no symbol.
fn stays(before: &Sdfg) -> String {
    let reasons = places(before, &ScalarToSymbol::default()).into_iter().filter_map(|found| {
        let text = found.paths(before).iter().map(ToString::to_string).collect::<String>();
        let error = apply(&mut before.clone(), &ScalarToSymbol::default(), &found).err()?;
        text.ends_with("/n").then(|| error.to_string())
    });
    reasons.collect::<Vec<_>>().join("; ")
}

const LOOP: &str = "for l: i = 0:n {
  state body {
    access B
    access n
    access D = B
    tasklet u (x, k) -> (y) { y = 2 * x + k }
    B -> u.x: B[i]
    n -> u.k
    u.y -> D: B[i]
  }
}";

#[test]
fn bounds_and_inputs_of_tasklets_read_the_symbol() {
    for code in ["x", "x + 1", "2 * x - 1", "-x + 4", "(x + 5) // 2", "x % 2 + N - N"] {
        let text = converts(&counted(&format!("{}\n{LOOP}", set(code))));
        assert!(!text.contains("scalar n") && text.contains("(n = "), "{text}");
    }
    let copied = "state w {\n access R\n access n\n R -> n: R[1] -> n\n}";
    assert!(converts(&counted(&format!("{copied}\n{LOOP}"))).contains("(n = R[1])"));
}

#[test]
fn a_scalar_may_be_made_of_itself_and_read_in_its_own_state() {
    let counting = "state z {
  access n
  tasklet t () -> (y) { y = 0 }
  t.y -> n
}
for l: i = 0:3 {
  state w {
    access n
    access m = n
    access B
    access C
    tasklet t (x) -> (y) { y = x + i }
    n -> t.x
    t.y -> m
    tasklet before (x, a) -> (y) { y = x + a }
    n -> before.x
    C -> before.a: C[0]
    before.y -> B: B[i]
    access D = C
    tasklet after (x) -> (y) { y = x }
    m -> after.x
    after.y -> D: C[1]
  }
}";
    // `before` reads the old value, and would run after the assignment.
    assert!(stays(&counted(counting)).contains("beside the write"), "{}", stays(&counted(counting)));
    let alone = counting
        .replace("    tasklet before (x, a) -> (y) { y = x + a }\n", "")
        .replace("    n -> before.x\n", "")
        .replace("    C -> before.a: C[0]\n", "")
        .replace("    before.y -> B: B[i]\n", "")
        .replace("    access B\n", "")
        .replace("    access C\n", "");
    let text = converts(&counted(&alone));
    assert!(text.contains("(n = n + i)"), "{text}");
}

#[test]
fn maps_get_the_symbol() {
    let map = "state body {
  access n
  access B
  map m [i = 0:k] {
    tasklet u () -> (y) { y = i + k }
    u.y -> m.B: B[i]
  }
  n -> m@k: n
  m.B -> B
}";
    let text = converts(&counted(&format!("{}\n{map}", set("x"))));
    assert!(text.contains("map m [i = 0:n]"), "{text}");
}

#[test]
fn other_scalars_stay() {
    let reasons = [
        (set("sqrt(x)"), "computes more"),
        (set("x / 2"), "computes more"),
        (
            format!("{}\n{}", LOOP.replace("for l: i = 0:n", "for l: i = 0:2"), set("x")),
            "before it is written",
        ),
        (
            "state w {
  access n
  access R
  map m [i = 0:3] {
    tasklet t (x) -> (y) { y = x }
    m.R -> t.x: R[i]
    t.y -> m.n: n wcr(max)
  }
  R -> m.R
  m.n -> n
}"
            .to_owned(),
            "",
        ),
        (
            format!(
                "{}\nstate v {{
  access R
  tasklet t () -> (y) {{
    n = 4
    y = n
  }}
  t.y -> R: R[0]
}}\n{LOOP}",
                set("x")
            ),
            "variable in the code",
        ),
    ];
    for (contents, reason) in reasons {
        let found = stays(&counted(&contents));
        assert!(!found.is_empty() && found.contains(reason), "{contents}: {found}");
    }
    let floating = program("transient scalar n: f64\nstate w {\n access A\n access n\n A -> n: A[0] -> n\n}");
    assert!(stays(&floating).contains("type `i64`"), "{}", stays(&floating));
    let argument = program("state w {\n access A\n access B\n A -> B\n}");
    assert!(refuses(&argument, &ScalarToSymbol::default()).contains("no transient"));
}
