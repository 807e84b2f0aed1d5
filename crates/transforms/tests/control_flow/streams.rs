//! Streams begin without elements where their lifetime begins: a state, or the call of their SDFG.

use sdfg_transforms::rewrites::{InlineSdfg, LoopUnroll, StateFusion, TrivialMapElimination};

use super::{applies, parsed, refuses};

/// A state that pushes all of `A`.
const PUSH: &str = "state push {
  access A
  access S
  A -> S: A[0:N] -> S
}";

/// A state that adds all elements of the stream to `B[0]`.
const TAKE: &str = "state take {
  access S
  access B
  consume workers [p = 0:2] {
    tasklet t (s) -> (o) { o = s }
    workers.stream -> t.s: S
    t.o -> workers.out: B[0] wcr(sum)
  }
  S -> workers.stream
  workers.out -> B: B[0] wcr(sum)
}";

/// Containers that the states use, with a stream of this lifetime.
fn containers(lifetime: &str) -> String {
    format!(
        "symbol N: i64\n array A: f64[N]\n array B: f64[N]\n array C: f64[N]\n transient stream S: f64 {lifetime}\n"
    )
}

#[test]
fn states_with_a_stream_of_each_state_stay_apart() {
    let before = |lifetime: &str| parsed(&format!("sdfg p {{\n{} {PUSH}\n{TAKE}\n}}", containers(lifetime)));
    let message = refuses(&before("lifetime(state)"), &StateFusion::default());
    assert!(message.contains("`S` is empty when a state begins"), "{message}");
    applies(&before("lifetime(sdfg)"), &StateFusion::default());
}

/// A loop around a call of these states.
fn repeated(lifetime: &str, states: &str) -> sdfg::ir::Sdfg {
    parsed(&format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  array C: f64[N]
  for l: i = 0:2 {{
    state s {{
      access A
      access B
      access D = B
      nested call (A, B) -> (B) with (N = N) sdfg inner {{\n{}\n{states}\n}}
      A -> call.A
      B -> call.B
      call.B -> D
    }}
  }}
}}",
        containers(lifetime).replace(" array C: f64[N]\n", "")
    ))
}

#[test]
fn a_stream_of_several_states_of_a_repeated_call_is_refused() {
    for lifetime in ["", "lifetime(sdfg)"] {
        let before = repeated(lifetime, &format!("{TAKE}\n{PUSH}"));
        let message = refuses(&before, &InlineSdfg::default());
        assert!(message.contains("`S`") && message.contains("the call may be repeated"), "{message}");
        // Without the loop there is one call.
        let mut once = before;
        let unrolled = LoopUnroll::default();
        while let Some(found) = sdfg_transforms::places(&once, &unrolled).into_iter().next() {
            sdfg_transforms::apply(&mut once, &unrolled, &found).unwrap();
        }
        applies(&once, &InlineSdfg::default());
    }
}

/// A branch in the called SDFG reads the number of elements after the state.
#[test]
fn a_stream_that_control_flow_of_a_repeated_call_reads_is_refused() {
    let counted = format!("{PUSH}\nif more: len(S) > 0 {{\n state more {{ }}\n}}");
    let message = refuses(&repeated("", &counted), &InlineSdfg::default());
    assert!(message.contains("`S`") && message.contains("the call may be repeated"), "{message}");
}

/// A stream of a map is empty when an iteration begins, also if there is one in each run of the state.
#[test]
fn a_stream_of_a_map_that_goes_is_emptied_with_the_state() {
    let program = |around: [&str; 2]| {
        parsed(&format!(
            "sdfg p {{
  {}
  {}
  state s {{
    access A
    access B
    map m [k = 0:1] {{
      access S
      access later = S
      consume workers [p = 0:2] {{
        tasklet t (s) -> (o) {{ o = s }}
        workers.stream -> t.s: S
        t.o -> workers.out: B[0] wcr(sum)
      }}
      tasklet last (a) -> (o) {{ o = a }}
      S -> workers.stream
      workers.out -> m.B: B[0] wcr(sum)
      m.A -> last.a: A[1]
      order S -> last
      last.o -> later: S
    }}
    A -> m.A
    m.B -> B
  }}
  {}
}}",
            containers(""),
            around[0],
            around[1]
        ))
    };
    let (_, repeated) = applies(&program(["for l: i = 0:2 {", "}"]), &TrivialMapElimination::default());
    assert!(repeated.contains("lifetime(state)") && !repeated.contains("map m"), "{repeated}");
    let (_, once) = applies(&program(["", ""]), &TrivialMapElimination::default());
    assert!(!once.contains("lifetime(state)"), "{once}");
}

#[test]
fn a_stream_of_one_state_of_a_repeated_call_lives_as_long_as_the_state() {
    let state = "state both {
  access A
  access S
  access B
  tasklet last (a) -> (o) { o = a }
  consume workers [p = 0:2] {
    tasklet t (s) -> (o) { o = s }
    workers.stream -> t.s: S
    t.o -> workers.out: B[0] wcr(sum)
  }
  access later = S
  S -> workers.stream
  workers.out -> B: B[0] wcr(sum)
  order B -> last
  A -> last.a: A[1]
  last.o -> later: S
}";
    for lifetime in ["", "lifetime(sdfg)"] {
        let (_, text) = applies(&repeated(lifetime, state), &InlineSdfg::default());
        assert!(text.contains("lifetime(state)") && !text.contains("nested"), "{text}");
    }
}
