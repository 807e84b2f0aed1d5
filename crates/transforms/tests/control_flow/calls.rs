//! `InlineSDFG` of calls with several blocks.

use sdfg_transforms::Pipeline;
use sdfg_transforms::rewrites::{InlineSdfg, LoopToMap, MapToForLoop, StateFusion};

use super::{applies, difference, program, refuses};

/// A program with a call of an SDFG over `X`, which is bound to `A[part]`.
fn call(part: &str, extent: &str, blocks: &str) -> sdfg::ir::Sdfg {
    program(&format!(
        "state s {{
  access A
  access D = A
  nested call (X) -> (X) with (K = N - 1, M = N) sdfg inner {{
    symbol K: i64
    symbol M: i64
    array X: f64[{extent}]
    transient scalar last: f64
{blocks}
  }}
  A -> call.X: A[{part}]
  call.X -> D: A[{part}]
}}"
    ))
}

/// A state that doubles `X[index]`.
fn doubles(label: &str, index: &str) -> String {
    format!(
        "state {label} {{
  access X
  access Y = X
  tasklet t (x) -> (y) {{ y = 2 * x + 1 }}
  X -> t.x: X[{index}]
  t.y -> Y: X[{index}]
}}"
    )
}

#[test]
fn loops_branches_and_states_move_to_the_caller() {
    let blocks = format!(
        "for l: i = 0:3 {{ {} }}\n if b: X[0] > K {{ {} }} else {{ {} }}\n {}\n -> e if X[1] < 0\n -> e with (k = 2)\n {}",
        doubles("one", "i"),
        doubles("two", "0"),
        doubles("three", "1"),
        doubles("four", "2"),
        doubles("e", "1"),
    );
    let (_, text) = applies(&call("2:5", "3", &blocks), &InlineSdfg::default());
    assert!(!text.contains("nested") && text.contains("for \"call.l\": i = 0:3"), "{text}");
    assert!(text.contains("A[2] > i64(N - 1)"), "{text}");
    assert!(text.contains("A[i + 2]"), "{text}");
}

#[test]
fn symbols_that_the_blocks_set_are_renamed_where_the_caller_has_the_name() {
    let before = program(
        "for l: i = 0:2 {
state s {
  access A
  access D = A
  nested call (X) -> (X) with (j = i + 1, N = N) sdfg inner {
    symbol j: i64
    symbol N: i64
    array X: f64[N]
    state first {
    }
    -> second with (j = j + 1)
    state second {
    }
    for l: i = 0:j {
      state body {
        access X
        access Y = X
        tasklet t (x) -> (y) { y = 2 * x + i + j }
        X -> t.x: X[i]
        t.y -> Y: X[i]
      }
    }
  }
  A -> call.X: A[0:N]
  call.X -> D: A[0:N]
}
}",
    );
    let (_, text) = applies(&before, &InlineSdfg::default());
    assert!(text.contains("i_1 = 0:j"), "{text}");
    assert!(text.contains("(j = i + 1)"), "{text}");
}

#[test]
fn a_call_ends_where_none_of_its_transitions_is_taken_or_it_returns() {
    let blocks = format!(
        "{}\n -> b if X[0] > 0\n {}\n -> r if X[1] > 0\n return r\n {}",
        doubles("a", "0"),
        doubles("b", "1"),
        doubles("c", "2"),
    );
    for part in ["0:3", "1:4", "2:5"] {
        applies(&call(part, "3", &blocks), &InlineSdfg::default());
    }
}

#[test]
fn what_the_call_depends_on_comes_before_it() {
    let text = |beside: &str| {
        format!(
            "transient array T: f64[N]
state s {{
  access A
  access T
  access B
  map m [i = 0:N] {{
    tasklet t (x) -> (y) {{ y = x + 1 }}
    m.A -> t.x: A[i]
    t.y -> m.T: T[i]
  }}
  A -> m.A
  m.T -> T
  nested call (X) -> (Z) with (N = N) sdfg inner {{
    symbol N: i64
    array X: f64[N]
    array Z: f64[N]
    for l: i = 0:N {{
      state body {{
        access X
        access Z
        X -> Z: X[i] -> Z[N - 1 - i]
      }}
    }}
  }}
  T -> call.X: T[0:N]
  call.Z -> B: B[0:N]
  access C
  B -> C: B[0:N] -> C[0:N]
{beside}
}}"
        )
    };
    let (_, after) = applies(&program(&text("")), &InlineSdfg::default());
    assert!(!after.contains("nested"), "{after}");
    let beside = "access E = C\n tasklet u () -> (y) { y = 1 }\n u.y -> E: C[0]\n";
    let beside = program(&text(beside).replace("  access C\n  B -> C: B[0:N] -> C[0:N]\n", ""));
    let message = refuses(&beside, &InlineSdfg::default());
    assert!(message.contains("while `u` runs"), "{message}");
    applies(&beside, &InlineSdfg { serialize: true });
}

/// The data path into two maps ends at an access node inside of both, so that the outer map has to wait by an edge.
#[test]
fn maps_around_what_a_call_reads_wait_for_what_is_written_before() {
    for order in ["", "order A1 -> C0"] {
        let before = program(&format!(
            "state s {{
  access A0 = A
  access A1 = A
  access C0 = C
  access C1 = C
  map double [i = 0:N] {{
    tasklet t (x) -> (y) {{ y = 2.0 * x }}
    double.A -> t.x: A[i]
    t.y -> double.A: A[i]
  }}
  A0 -> double.A
  double.A -> A1
  map rows [i = 0:N] {{
    map columns [j = 0:1] {{
      nested call (A, C) -> (C) with (N = N, i = i) sdfg inner {{
        symbol N: i64
        symbol i: i64
        array A: f64[N]
        array C: f64[N]
        state s {{
          tasklet clear () -> (o) {{ o = 0.0 }}
          access C0 = C
          access A
          access C1 = C
          tasklet add (a) -> (o) {{ o = a }}
          clear.o -> C0: C[i]
          order C0 -> A
          A -> add.a: A[N - 1 - i]
          add.o -> C1: C[i] wcr(sum)
        }}
      }}
      columns.A -> call.A: A[0:N]
      columns.C -> call.C: C[0:N]
      call.C -> columns.C: C[0:N]
    }}
    rows.A -> columns.A
    rows.C -> columns.C
    columns.C -> rows.C
  }}
  A1 -> rows.A
  C0 -> rows.C
  rows.C -> C1
  {order}
}}"
        ));
        applies(&before, &InlineSdfg::default());
    }
}

#[test]
fn other_calls_are_refused() {
    let inner_return = call("0:3", "3", "for l: i = 0:3 {\n if b: X[i] > 0 { return r }\n state s { } }");
    let message = refuses(&inner_return, &InlineSdfg::default());
    assert!(message.contains("returns from within"), "{message}");
    let in_map = program(
        "state s {
  access A
  access D = A
  map m [k = 0:N] {
    nested call (X) -> (X) sdfg inner {
      array X: f64[1]
      for l: i = 0:1 {
        state body {
          access X
          access Y = X
          tasklet t (x) -> (y) { y = 2 * x }
          X -> t.x: X[i]
          t.y -> Y: X[i]
        }
      }
    }
    m.A -> call.X: A[k:k + 1]
    call.X -> m.A: A[k:k + 1]
  }
  A -> m.A
  m.A -> D
}",
    );
    let message = refuses(&in_map, &InlineSdfg::default());
    assert!(message.contains("in a scope"), "{message}");
}

/// Code would assign to the symbol.
#[test]
fn symbols_that_the_blocks_set_are_renamed_where_code_has_a_variable_of_the_name() {
    let before = program(
        "state s {
  access A
  access D = A
  nested call (X) -> (X) with (K = N) sdfg inner {
    symbol K: i64
    array X: f64[K]
    for l: w = 0:K {
      state body {
        access X
        access Y = X
        tasklet t (x) -> (y) {
          w_1 = x
          y = 2 * w_1
        }
        X -> t.x: X[w]
        t.y -> Y: X[w]
      }
    }
  }
  A -> call.X: A[0:N]
  call.X -> D: A[0:N]
}
state v {
  access B
  access E = B
  tasklet t (b) -> (o) {
    w = b + 1
    o = w
  }
  B -> t.b: B[0]
  t.o -> E: B[0]
}",
    );
    let (_, text) = applies(&before, &InlineSdfg::default());
    assert!(text.contains("for \"call.l\": w_2 = 0:N"), "{text}");
}

#[test]
fn calls_that_follow_each_other_are_inlined_one_by_one() {
    let map = |name: &str, from: &str, to: &str| {
        format!(
            " access {to}
  map {name} [i = 0:N] {{
    tasklet t{name} (x) -> (y) {{ y = 0.5 * x - 1 }}
    {name}.p -> t{name}.x: {from}[N - 1 - i]
    t{name}.y -> {name}.q: {to}[i]
  }}
  {from} -> {name}.p
  {name}.q -> {to}
"
        )
    };
    let maps = [map("m", "A", "B"), map("k", "B", "C"), map("l", "C", "T")].concat();
    let before = program(&format!(
        "transient array T: f64[N]\nstate s {{\n access A\n{maps}  access E = A\n T -> E\n}}"
    ));
    for call in ["m.in_order0", "k.in_order0", "l.in_order0"] {
        let mut pipeline = Pipeline::on(before.clone());
        for map in ["m", "k", "l"] {
            pipeline.apply(MapToForLoop::default().at(map)).expect("loops");
        }
        pipeline.apply(InlineSdfg::default().at(call)).unwrap_or_else(|error| panic!("{call}: {error}"));
        let problem = difference(&before, pipeline.program(), 5);
        assert!(problem.is_none(), "{problem:?}\n{}", sdfg::text::print(pipeline.program()));
    }
}

/// A reference names what the reference that it is bound to names: states that both use it stay in order.
#[test]
fn states_with_references_of_references_are_fused_in_order() {
    let before = program(
        "reference q: f64[N]
reference r: f64[N]
state a {
  access A
  access q
  access r
  bind A -> q: A[0:N]
  bind q -> r: q[0:N]
}
state b {
  access B
  access r
  map m [i = 0:N] {
    tasklet t (x) -> (y) { y = x + 1 }
    m.B -> t.x: B[i]
    t.y -> m.r: r[i]
  }
  B -> m.B
  m.r -> r
}
state c {
  access A
  access C
  map k [i = 0:N] {
    tasklet u (x) -> (y) { y = 2 * x }
    k.A -> u.x: A[i]
    u.y -> k.C: C[i]
  }
  A -> k.A
  k.C -> C
}",
    );
    let mut pipeline = Pipeline::on(before.clone());
    pipeline.apply(StateFusion::default().at_all(["b", "c"])).expect("a fusion");
    let problem = difference(&before, pipeline.program(), 5);
    assert!(problem.is_none(), "{problem:?}\n{}", sdfg::text::print(pipeline.program()));
}

/// A node may access nothing and only order others. The call of an iteration knows its container, too.
#[test]
fn loops_with_nodes_that_only_order_become_maps() {
    let text = "for rows: i = 0:N {\n state s {\n access A\n access B\n tasklet f () -> (y) { y = 2.0 }\n f.y -> A: A[i]\n \
                order B -> f\n }\n }";
    applies(&program(text), &LoopToMap::default());
}
