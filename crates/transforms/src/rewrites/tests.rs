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
    let fused = after(&two_maps("k"), MapFusion::of("add", "scale")).expect("a fusion");
    assert!(fused.contains("transient scalar T: f64"), "{fused}");
    assert_eq!(fused.matches("map ").count(), 1, "{fused}");
}

#[test]
fn maps_that_read_other_elements_are_not_fused() {
    let refused = after(&two_maps("N - 1 - k"), MapFusion::of("add", "scale")).expect_err("a refusal");
    let message = refused.to_string();
    assert!(message.contains("are different elements"), "{message}");
}
