//! Tests of deadlocks: a reported deadlock never ends well, and programs that may end well are accepted.

use sdfg_graph::diagnostic::Code;

use super::oracle::{Ended, run};
use super::{findings, shown};
use crate::Order;

/// A program about one stream, with its states.
fn program(stream: &str, states: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[8]
  array B: f64[8]
  scalar x: f64
  scalar y: f64
  transient stream S: {stream}
{states}
}}"
    )
}

/// A scope takes from one queue: which of several, nothing says.
#[test]
fn a_consume_scope_takes_from_one_queue() {
    let program = |queues: &str| {
        format!(
            "sdfg p {{
  symbol K: i64
  array C: i64[4]
  transient stream S: i64[4]
  state s {{
    access C
    access S
    map f [i = 0:4] {{
      tasklet w () -> (o) {{ o = i }}
      w.o -> f.S: S[i]
    }}
    f.S -> S
    consume c [p = 0:2] {{
      tasklet t (x) -> (o) {{ o = x }}
      c.stream -> t.x: S[{queues}]
      t.o -> c.C: C[0] wcr(sum)
    }}
    S -> c.stream: S[{queues}]
    c.C -> C
  }}
}}"
        )
    };
    let refused = |queues: &str| {
        let refused = findings(&program(queues)).into_iter().filter(|found| found.code == Code::StreamUse);
        refused.map(|found| found.path.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(refused("2"), Vec::<String>::new());
    assert!(refused("0:4").contains(&"p/s/S -> c.stream".to_owned()));
    assert_eq!(refused("0:K"), ["p/s/S -> c.stream"]);
}

const PUSH: &str = "  state push {
    access a = A
    access S
    a -> S: A[0:8] -> S
  }";
const POP: &str = "  state pop {
    access b = B
    access S
    S -> b: S -> B[0:8]
  }";

/// Producer and consumer beside each other.
fn beside(push: &str, pop: &str) -> String {
    format!(
        "  state s {{
    access a = A
    access b = B
    access head = S
    access tail = S
    a -> head: {push}
    tail -> b: {pop}
  }}"
    )
}

#[test]
fn what_is_called_a_deadlock_is_one() {
    let own_end = "  state s {
    access S
    access out = S
    access x
    tasklet turn (v) -> (o, r) { o = v; r = v }
    S -> turn.v: S
    turn.o -> x
    turn.r -> out: S
  }";
    let popped_in_a_map = "  state s {
    access S
    access b = B
    map m [i = 0:8] {
      tasklet take (v) -> (o) { o = v }
      m.S -> take.v: S
      take.o -> m.B: B[i]
    }
    S -> m.S
    m.B -> b
  }";
    let pushed_in_a_map = "  state s {
    access S
    access a = A
    map m [i = 0:8] {
      tasklet give (v) -> (o) { o = v }
      m.A -> give.v: A[i]
      give.o -> m.S: S
    }
    a -> m.A
    m.S -> S
  }";
    for (stream, states) in [
        ("f64", POP.to_owned()),
        ("f64", format!("{POP}\n{PUSH}")),
        ("f64", own_end.to_owned()),
        ("f64", format!("  for l: t = 0:2 {{\n{own_end}\n  }}")),
        ("f64", popped_in_a_map.to_owned()),
        ("f64", beside("A[0:4] -> S", "S -> B[0:5]")),
        ("f64 capacity(4)", PUSH.to_owned()),
        ("f64 capacity(4)", format!("{PUSH}\n{POP}")),
        ("f64 capacity(7)", pushed_in_a_map.to_owned()),
        ("f64[2] capacity(2)", PUSH.replace("-> S\n", "-> S[1]\n")),
    ] {
        let source = program(stream, &states);
        let found = findings(&source);
        let codes: Vec<Code> = found.iter().map(|found| found.code).collect();
        assert_eq!(codes, [Code::Deadlock], "{source}\n{}", shown(&source, &found));
        assert_eq!(run(&source, 3, Order::Fixed), Ended::Deadlock, "{source}");
        assert_eq!(run(&source, 3, Order::Random(7)), Ended::Deadlock, "{source}");
    }
}

#[test]
fn what_may_end_well_is_accepted() {
    let choice = format!(
        "  if first: N > 5 {{\n{PUSH}\n  }}
  if second: N > 5 {{\n{POP}\n  }}"
    );
    let in_turns = format!(
        "  for l: t = 0:2 {{
    if odd: t % 2 == 1 {{\n{POP}\n    }} else {{\n{PUSH}\n    }}
  }}"
    );
    let drained = POP.replace("B[0:8]", "B[0:8] dynamic");
    for (stream, states) in [
        ("f64", format!("{PUSH}\n{POP}")),
        ("f64", choice),
        ("f64", in_turns),
        ("f64", format!("{drained}\n{PUSH}")),
        ("f64", beside("A[0:4] -> S", "S -> B[0:4]")),
        ("f64 capacity(1)", beside("A[0:8] -> S", "S -> B[0:8]")),
        ("f64 capacity(8)", format!("{PUSH}\n{POP}")),
        ("f64 lifetime(persistent)", format!("{POP}\n{}", PUSH.replace("A[0:8]", "A[0:4]"))),
    ] {
        let source = program(stream, &states);
        let found = findings(&source);
        assert!(found.is_empty(), "{source}\n{}", shown(&source, &found));
        if !stream.contains("persistent") {
            assert_eq!(run(&source, 3, Order::Fixed), Ended::Well, "{source}");
        }
    }
    // Whether more is pushed than there is room for depends on N.
    let source = program("f64 capacity(4)", &PUSH.replace("A[0:8]", "A[0:N]"));
    assert_eq!(findings(&source).len(), 1);
    assert_eq!(findings(&source)[0].code, Code::NeverPopped);
    assert_eq!(
        (run(&source, 4, Order::Fixed), run(&source, 5, Order::Fixed)),
        (Ended::Well, Ended::Deadlock)
    );
}
