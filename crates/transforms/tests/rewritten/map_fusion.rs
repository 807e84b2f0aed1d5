//! Maps that become one: by proofs, under assumptions, and by force.

use sdfg::ir::Sdfg;
use sdfg_transforms::rewrites::MapFusion;
use sdfg_transforms::{Conditions, Pipeline};

use super::support::{applies, difference, parsed, refuses_rightly};

/// Two maps over a transient, of which the second has this range, reads this element and writes this container.
fn program(range: &str, read: &str, target: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  symbol M: i64
  array A: f64[N + M + 2]
  array B: f64[N + M + 2]
  transient array T: f64[N + M + 2]
  state s {{
    access A
    access T
    access target = {target}
    map m [i = 0:N + 1] {{
      tasklet f (x) -> (y) {{ y = 2 * x + i }}
      m.A -> f.x: A[i]
      f.y -> m.T: T[i]
    }}
    map n [k = {range}] {{
      tasklet g (x) -> (y) {{ y = x - 3 * k }}
      n.T -> g.x: T[{read}]
      g.y -> n.B: {target}[k + 1]
    }}
    A -> m.A
    m.T -> T
    T -> n.T
    n.B -> target
  }}
}}"
    )
}

fn guarded(program: &Sdfg, conditions: Conditions) -> Result<Sdfg, String> {
    let mut pipeline = Pipeline::on(program.clone());
    let step = MapFusion::at("p/s/m", "p/s/n").under(conditions);
    pipeline.apply(step).map_err(|error| error.to_string())?;
    Ok(pipeline.program().clone())
}

#[test]
fn ranges_are_the_same_under_a_condition() {
    let before = parsed(&program("0:M + 1", "k", "B"));
    let refused = guarded(&before, Conditions::default()).expect_err("a refusal");
    assert!(refused.contains("has the range [0:M + 1], and the first map [0:N + 1]"), "{refused}");
    let other = guarded(&before, Conditions::assuming(["M <= N"])).expect_err("a refusal");
    assert!(other.contains("has the range"), "{other}");
    for conditions in [vec!["M == N"], vec!["M <= N", "N <= M"]] {
        let assumed = guarded(&before, Conditions::assuming(conditions.clone())).expect("a fusion");
        // Symbols have the same value in these runs.
        assert!(difference(&before, &assumed).is_none());
        let text = sdfg::text::print(&assumed);
        assert!(text.matches("map ").count() == 1 && !text.contains("if "), "{text}");
        let tested = guarded(&before, Conditions::guarded_by(conditions)).expect("a fusion");
        assert!(difference(&before, &tested).is_none());
        let text = sdfg::text::print(&tested);
        assert!(text.matches("map ").count() == 3 && text.contains("if "), "{text}");
    }
}

#[test]
fn elements_are_the_same_under_a_condition() {
    let before = parsed(&program("0:N + 1", "k + M - N", "B"));
    let refused = guarded(&before, Conditions::default()).expect_err("a refusal");
    assert!(refused.contains("are different elements"), "{refused}");
    let tested = guarded(&before, Conditions::guarded_by(["M == N"])).expect("a fusion");
    assert!(difference(&before, &tested).is_none());
}

#[test]
fn other_elements_and_ranges_give_other_results() {
    applies(&program("0:N + 1", "k", "B"), &MapFusion::default());
    let different = refuses_rightly(&program("0:N + 1", "N - k", "B"), &MapFusion::default());
    assert!(different.contains("are different elements"), "{different}");
    let shorter = refuses_rightly(&program("0:N", "k", "B"), &MapFusion::default());
    assert!(shorter.contains("has the range [0:N]"), "{shorter}");
    // Iteration 1 of the first map reads what iteration 0 of the second one writes.
    let overwritten = refuses_rightly(&program("0:N + 1", "k", "A"), &MapFusion::default());
    assert!(overwritten.contains("`A` is written by one of the maps"), "{overwritten}");
}

/// The transient of the fused map holds one element.
#[test]
fn pairs_of_elements_do_not_fit_into_the_fused_map() {
    let pairs = "sdfg p {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  transient array T: f64[N, 2]
  state s {
    access A
    access T
    access B
    map m [i = 0:N] {
      tasklet f (x) -> (y) { y[0] = x; y[1] = 2 * x }
      m.A -> f.x: A[i]
      f.y -> m.T: T[i, 0:2]
    }
    map n [k = 0:N] {
      tasklet g (x) -> (y) { y = x[0] - 3 * x[1] }
      n.T -> g.x: T[k, 0:2]
      g.y -> n.B: B[k]
    }
    A -> m.A
    m.T -> T
    T -> n.T
    n.B -> B
  }
}";
    let refused = refuses_rightly(pairs, &MapFusion::default());
    assert!(refused.contains("does not write one element"), "{refused}");
}

/// Kernels exchange arrays in the memory of the device. What is left of one in an iteration lies in the thread, as no kernel has a private
/// transient in that memory.
#[test]
fn what_kernels_exchanged_lies_in_the_threads_of_one() {
    let text = program("0:N + 1", "k", "B")
        .replace("transient array T: f64[N + M + 2]", "transient array T: f64[N + M + 2] storage(gpu_global)")
        .replace("array B: f64[N + M + 2]", "array B: f64[N + M + 2] storage(gpu_global)")
        .replace("array A: f64[N + M + 2]", "array A: f64[N + M + 2] storage(gpu_global)")
        .replace("[i = 0:N + 1]", "[i = 0:N + 1] schedule(gpu_grid)")
        .replace("[k = 0:N + 1]", "[k = 0:N + 1] schedule(gpu_grid)");
    let fused = applies(&text, &MapFusion::default());
    assert!(fused.contains("transient scalar T: f64\n"), "{fused}");
    let wrong = difference(&parsed(&text), &parsed(&fused));
    assert!(wrong.is_none(), "{wrong:?}");
}
