//! Applications of transformations to small programs, and their refusals.

use sdfg::ir::Sdfg;

use super::*;
use crate::{Pipeline, Step, TransformError};

/// A program with these states.
fn program(text: &str) -> Sdfg {
    match sdfg::text::parse("test.sdft", text) {
        Ok(program) => program,
        Err(errors) => panic!("{errors:?}"),
    }
}

/// The text after a step, or the reason for which it is refused.
fn after(text: &str, step: impl Into<Step>) -> Result<String, TransformError> {
    let mut pipeline = Pipeline::on(program(text));
    pipeline.apply(step)?;
    let finished = pipeline.finish()?;
    Ok(sdfg::text::print(finished.sdfg()))
}

/// Two maps over a transient; the second reads the element `index`.
fn two_maps(index: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  transient array T: f64[N]

  state s {{
    access A
    access T
    map add [i = 0:N] {{
      tasklet plus (x) -> (y) {{ y = x + 1 }}
      add.A -> plus.x: A[i]
      plus.y -> add.T: T[i]
    }}
    access B
    map scale [k = 0:N] {{
      tasklet times (x) -> (y) {{ y = 2 * x }}
      scale.T -> times.x: T[{index}]
      times.y -> scale.B: B[k]
    }}
    A -> add.A
    add.T -> T
    T -> scale.T
    scale.B -> B
  }}
}}
"
    )
}

#[test]
fn maps_over_a_transient_are_fused() {
    let fused = after(&two_maps("k"), MapFusion::at("add", "scale")).expect("a fusion");
    assert!(fused.contains("transient scalar T: f64"), "{fused}");
    assert_eq!(fused.matches("map ").count(), 1, "{fused}");
}

#[test]
fn an_invalid_program_is_refused_with_its_errors() {
    let text = two_maps("k").replace("array A: f64[N]", "array A: f64[4]").replace("A[i]", "A[5]");
    let error = Pipeline::on(program(&text)).finish().err().map(|error| error.to_string());
    assert!(error.as_ref().is_some_and(|error| error.contains("`A[5]`")), "{error:?}");
}

#[test]
fn maps_that_read_other_elements_are_not_fused() {
    let refused = after(&two_maps("N - 1 - k"), MapFusion::at("add", "scale")).expect_err("a refusal");
    let message = refused.to_string();
    assert!(message.contains("are different elements"), "{message}");
}

#[test]
fn maps_are_not_fused_if_the_second_overwrites_what_the_first_reads() {
    let text = two_maps("k")
        .replace("access B\n", "access B = A\n")
        .replace("times.y -> scale.B: B[k]", "times.y -> scale.B: A[N - 1 - k]");
    let message = after(&text, MapFusion::at("add", "scale")).expect_err("a refusal").to_string();
    assert!(message.contains("`A` is written by one of the maps"), "{message}");
}

/// A map over pairs; the second range is `range`.
fn nested(range: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N, N]

  state s {{
    access A
    map outer [i = 0:N] {{
      map inner [j = {range}] {{
        tasklet t () -> (y) {{ y = i + j }}
        t.y -> inner.A: A[i, j]
      }}
      inner.A -> outer.A
    }}
    outer.A -> A
  }}
}}
"
    )
}

#[test]
fn maps_are_interchanged_unless_a_range_depends_on_the_other_parameter() {
    let swapped = after(&nested("0:N"), MapInterchange::default().at("outer")).expect("an interchange");
    assert!(swapped.contains("map outer [j = 0:N]") && swapped.contains("map inner [i = 0:N]"), "{swapped}");
    let refused = after(&nested("0:i"), MapInterchange::default().at("outer")).expect_err("a refusal");
    assert!(refused.to_string().contains("the range 0:i depends on `i`"), "{refused}");
}

#[test]
fn collapse_and_expansion_undo_each_other() {
    let mut pipeline = Pipeline::on(program(&nested("0:i")));
    pipeline.apply(MapCollapse::default().at("outer")).expect("a collapse");
    assert!(sdfg::text::print(pipeline.program()).contains("map outer [i = 0:N, j = 0:i]"));
    pipeline.apply(MapExpansion::default().at("outer")).expect("an expansion");
    let text = sdfg::text::print(pipeline.program());
    assert!(text.contains("map outer [i = 0:N]") && text.contains("[j = 0:i]"), "{text}");
    pipeline.undo().expect("an application");
    pipeline.undo().expect("an application");
    assert_eq!(sdfg::text::print(pipeline.program()), sdfg::text::print(&program(&nested("0:i"))));
}

#[test]
fn tiles_have_symbolic_sizes_if_they_are_positive() {
    let by = |size: &str| {
        MapTiling::new([size.parse::<sdfg::symbolic::Expr>().expect("an expression")]).at("outer")
    };
    let refused = after(&nested("0:N"), by("N - 1")).expect_err("a refusal");
    assert!(refused.to_string().contains("N - 1 is greater than 0"), "{refused}");
    let tiled = after(&nested("0:N"), by("N + 1")).expect("a tiling");
    assert!(tiled.contains("0:N:N + 1"), "{tiled}");
}

/// A new symbol has no name that code assigns to.
#[test]
fn new_symbols_leave_variables_of_tasklets_alone() {
    let tiled = two_maps("k").replace("{ y = x + 1 }", "{\n i_tile0 = x + 1\n y = i_tile0\n }");
    let text = after(&tiled, MapTiling::new([4]).at("add")).expect("tiles");
    assert!(text.contains("i_tile1 = 0:N:4"), "{text}");
    let looped = "sdfg p {
  symbol N: i64
  array A: f64[N]
  for l: i = 0:N {
    state s {
      access A
      access B = A
      tasklet t (x) -> (y) {
        i_strip0 = 2.5 * x
        y = i_strip0
      }
      A -> t.x: A[i]
      t.y -> B: A[i]
    }
  }
}";
    let text = after(looped, LoopStripMining { size: 4 }).expect("strips");
    assert!(text.contains("i_strip1 = 0:N:4"), "{text}");
}

#[test]
fn matches_without_required_parameters_are_refused() {
    let pipeline = Pipeline::on(program(&two_maps("k")));
    assert_eq!(pipeline.matches::<MapFusion>().map(|found| found.len()).ok(), Some(1));
    let message = pipeline.matches::<MapSchedule>().expect_err("a parameter is required").to_string();
    assert_eq!(message, "`MapSchedule` needs the parameter `schedule` (word)");
}

/// The facts of an application hold for small values of the symbols, found by enumeration.
#[test]
fn facts_hold_by_enumeration() {
    let mut pipeline = Pipeline::on(program(&two_maps("k")));
    let applied = pipeline.apply(MapFusion::at("add", "scale")).expect("a fusion");
    let checked = applied.evidence.facts.iter().filter_map(|fact| {
        let holds = |n: i64, i: i64| {
            fact.claim.holds(&|symbol| match symbol.as_str() {
                "N" => Some(n),
                "i" => Some(i),
                _ => None,
            })
        };
        holds(3, 1)?;
        Some((0..4).all(|n| (0..n).all(|i| holds(n, i) == Some(true))))
    });
    assert_eq!(checked.collect::<Vec<_>>(), [true]);
}

#[test]
fn a_chain_is_replayed_after_a_tasklet_was_edited() {
    let mut pipeline = Pipeline::on(program(&two_maps("k")));
    pipeline.apply(MapFusion::at("add", "scale")).expect("a fusion");
    pipeline.apply(Vectorization::default()).expect("a vectorization");
    let chain = crate::Chain::from_json(&pipeline.chain().to_json().expect("JSON")).expect("a chain");
    let edited = program(&two_maps("k").replace("2 * x", "3 * x"));
    let replayed = chain.replay(edited, &crate::Registry::standard()).expect("a replay");
    let text = sdfg::text::print(replayed.program());
    assert!(text.contains("3 * x") && text.contains("schedule(simd)"), "{text}");
    let other = two_maps("k").replace("map add", "map sum").replace("add.", "sum.");
    let other = program(&other);
    let error = chain.replay(other, &crate::Registry::standard()).expect_err("another label").to_string();
    assert!(error.starts_with("step 1 (MapFusion): the program `p` has no `p/s/add`"), "{error}");
}

/// Two states that call functions of the caller, of which only one may wait for data.
const CALLBACKS: &str = "sdfg p {
  array A: f64[4]
  array B: f64[4]
  transient array T: f64[4]

  state one {
    access A
    tasklet t (a) -> () external seen(a) from callback
    A -> t.a
  }
  state two {
    access B
    tasklet t (b) -> () external seen(b) from callback
    B -> t.b
  }
}
";

#[test]
fn calls_of_the_callers_functions_keep_their_order() {
    let fusion = || StateFusion::default().at("one");
    let message = after(CALLBACKS, fusion()).expect_err("a refusal").to_string();
    assert!(message.contains("calls functions of the caller after the first state did"), "{message}");
    let plain = CALLBACKS.replace("external seen(b) from callback", "{ pass }");
    after(&plain, fusion()).expect("a fusion");
    let calling = two_maps("k").replace("{ y = x + 1 }", "external y = seen(x) from callback");
    let both = calling.replace("{ y = 2 * x }", "external y = seen(x) from callback");
    assert_ne!(both, calling);
    after(&calling, MapFusion::at("add", "scale")).expect("a fusion");
    let message = after(&both, MapFusion::at("add", "scale")).expect_err("a refusal").to_string();
    assert!(message.contains("calls functions of the caller, as the first map does"), "{message}");
}

/// The result of a call that nobody reads may be left out, the call may not.
#[test]
fn calls_of_the_callers_functions_are_kept() {
    let text = CALLBACKS
        .replace("-> () external seen(b)", "-> (t) external t = seen(b)")
        .replace("    B -> t.b\n", "    B -> t.b: B[0]\n    access T\n    t.t -> T: T[0]\n");
    let mut program = program(&text);
    crate::simplify(&mut program, &crate::Registry::standard(), None);
    let printed = sdfg::text::print(&program);
    assert_eq!(printed.matches("from callback").count(), 2, "{printed}");
}
