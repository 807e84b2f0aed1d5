//! Pushes that a local stream collects.

use super::support::{applies, difference, page_is_true, parsed, refuses, refuses_rightly};
use sdfg_transforms::rewrites::{LocalStream, MapTiling};
use sdfg_transforms::{Pipeline, apply, places};

/// Two nested maps, whose tasklet pushes by `pushed`; `declared`, `inner` and `more` are added to the program, to the inner map and
/// to the state. The elements are counted and summed up.
fn program(queues: &str, pushed: &str, declared: &str, inner: &str, more: &str) -> String {
    let (passed, taken, queue) = if queues.is_empty() { ("", "", "") } else { (": S[0:N]", ": S[0]", "[0]") };
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N, N]
  array B: f64[2]
  transient stream S: f64{queues}
  {declared}
  state s {{
    access A
    access S
    access B
    map m [i = 0:N] {{
      map n [j = 0:N] {{
        tasklet t (a) -> (s) {{
          if a > 0:
              s = a * i
          s = j
        }}
        n.A -> t.a: A[i, j]
        t.s -> n.S: {pushed}
        {inner}
      }}
      m.A -> n.A
      n.S -> m.S
    }}
    consume c [e = 0:3] {{
      tasklet u (x) -> (y, z) {{ y = x; z = 1 }}
      c.stream -> u.x: S{queue}
      u.y -> c.B: B[0] wcr(sum)
      u.z -> c.B: B[1] wcr(sum)
    }}
    A -> m.A
    m.S -> S{passed}
    S -> c.stream{taken}
    c.B -> B
    {more}
  }}
}}"
    )
}

#[test]
fn the_page_is_true() {
    page_is_true(&LocalStream::default());
}

#[test]
fn pushes_of_a_queue_are_collected() {
    for pushed in ["S dynamic", "S atmost(2)"] {
        let text = applies(&program("", pushed, "", "", ""), &LocalStream::default());
        assert!(text.contains("transient stream S_local0: f64") && text.contains("S_local0 -> S"), "{text}");
    }
    // A number of elements that is certain stays so.
    let always = program("", "S", "", "", "").replace("if a > 0:\n              s = a * i\n", "");
    let text = applies(&always, &LocalStream::default());
    assert!(text.contains("S_local0 -> S volume(N)"), "{text}");
}

#[test]
fn the_inner_map_chooses_no_queue() {
    let message = refuses_rightly(&program("[N]", "S[j] dynamic", "", "", ""), &LocalStream::default());
    assert!(message.contains("`S` is an array of queues among which"), "{message}");
}

#[test]
fn the_inner_map_does_not_wait_for_what_it_pushes() {
    // An iteration of the inner map takes the element that the consumer of the one before gives back.
    let program = |declared: &str, tasklet: &str, edges: [&str; 4], consumer: &str| {
        format!(
            "sdfg p {{
  symbol N: i64
  array B: f64[1]
  transient stream S: f64
  transient stream R: f64{declared}
  state s {{
    access head = R
    access tail = R
    access other = R
    tasklet first () -> (x) {{ x = 1 }}
    first.x -> head: R
    access S
    access taken = S
    access B
    map m [i = 0:1] {{
      map n [j = 0:N] {{
        tasklet t {tasklet}
        {}
        t.s -> n.S: S
      }}
      {}
      n.S -> m.S
    }}
    {}
    m.S -> S
    nested c {consumer}
    taken -> c.from: S volume(N)
    {}
    c.B -> B
  }}
}}",
            edges[0], edges[1], edges[2], edges[3]
        )
    };
    let consumer = |signature: &str, states: &str| {
        format!(
            "{signature} with (m = N) sdfg inner {{
      symbol m: i64
      stream from: f64
      stream again: f64
      array B: f64[1]
      for each: k = 0:m {{
        state one {{
          access from
          access again
          access B
          {states}
        }}
      }}
    }}"
        )
    };
    let pops = program(
        "",
        "(r) -> (s) { s = r + 1 }",
        ["n.R -> t.r: R", "m.R -> n.R", "tail -> m.R", "c.again -> other: R volume(N)"],
        &consumer(
            "(from) -> (again, B)",
            "tasklet u (x) -> (y, z) { y = x; z = 2 * x }
          from -> u.x: from
          u.y -> B: B[0] wcr(sum)
          u.z -> again: again",
        ),
    );
    let of = LocalStream { stream: "S".to_owned() };
    let message = refuses_rightly(&pops, &of);
    assert!(message.contains("`R` may let the inner map wait"), "{message}");
    // It waits for room in another stream, too.
    let pushes = |declared: &str| {
        program(
            declared,
            "() -> (s, r) { s = j; r = i + 1 }",
            ["t.r -> n.R: R", "n.R -> m.R", "m.R -> tail", "other -> c.again: R volume(N)"],
            &consumer(
                "(from, again) -> (B)",
                "tasklet u (x, z) -> (y) { y = x + z }
          from -> u.x: from
          again -> u.z: again
          u.y -> B: B[0] wcr(sum)",
            ),
        )
    };
    let message = refuses_rightly(&pushes(" capacity(2)"), &of);
    assert!(message.contains("`R` may let the inner map wait"), "{message}");
    applies(&pushes(""), &of);
}

#[test]
fn streams_are_named() {
    let named = |stream: &str| LocalStream { stream: stream.to_owned() };
    let text = program("", "S dynamic", "", "", "");
    assert!(refuses(&text, &named("A")).contains("pushes nothing to `A`"));
    applies(&text, &named("S"));
    // A queue that the outer iteration chooses is one queue.
    let chosen = program("[N]", "S[i - i] dynamic", "", "", "");
    applies(&chosen, &named("S"));
}

/// Tiles of a filter, by random sizes, conditions, numbers of elements and consumers: each collects in a local stream.
#[test]
fn random_filters_collect_their_tiles() {
    let mut seed = 7u64;
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((seed >> 33) % below) as usize
    };
    let mut applied = 0;
    for case in 0..40 {
        let condition = ["a > 0", "j % 2 == 0", "True", "a < j"][next(4)];
        let (volume, second) =
            [("dynamic", "s = j"), ("atmost(2)", "s = -a"), ("dynamic", "if a < 0:\n s = 3")][next(3)];
        let elements = ["1", "3", "N"][next(3)];
        let result = ["sum", "max", "min"][next(3)];
        let text = format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N, N]
  array B: f64[2]
  transient stream S: f64
  state s {{
    access A
    access S
    access B
    map m [i = 0:N, j = 0:N] {{
      tasklet t (a) -> (s) {{
if {condition}:
 s = a * i
{second}
      }}
      m.A -> t.a: A[i, j]
      t.s -> m.S: S {volume}
    }}
    consume c [e = 0:{elements}] {{
      tasklet u (x) -> (y, z) {{ y = x; z = 1 }}
      c.stream -> u.x: S
      u.y -> c.B: B[0] wcr({result})
      u.z -> c.B: B[1] wcr(sum)
    }}
    A -> m.A
    m.S -> S
    S -> c.stream
    c.B -> B
  }}
}}"
        );
        let before = parsed(&text);
        let mut pipeline = Pipeline::on(before.clone());
        let sizes = [1 + next(3) as i64, 1 + next(4) as i64];
        pipeline.apply(MapTiling::new(sizes).at("p/s/m")).expect("tiles");
        let mut after = pipeline.program().clone();
        let found = places(&after, &LocalStream::default()).remove(0);
        apply(&mut after, &LocalStream::default(), &found).unwrap_or_else(|error| panic!("{error}\n{text}"));
        applied += 1;
        let problem = difference(&before, &after);
        assert!(problem.is_none(), "case {case}: {problem:?}\n{}", sdfg::text::print(&after));
    }
    assert_eq!(applied, 40);
}

/// Nobody else sees the stream that collects.
#[test]
fn the_local_stream_of_an_argument_is_transient() {
    let mut program = parsed(&program("", "S dynamic", "", "", "").replace("transient stream S", "stream S"));
    let found = places(&program, &LocalStream::default()).into_iter().next().expect("a match");
    apply(&mut program, &LocalStream::default(), &found).unwrap_or_else(|error| panic!("{error}"));
    let text = sdfg::text::print(&program);
    assert!(text.contains("transient stream S_local"), "{text}");
}
