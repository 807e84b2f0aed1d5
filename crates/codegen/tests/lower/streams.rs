//! Maps and consume scopes that use streams, and those beside them.

use sdfg::validate::validate;
use sdfg_codegen::lower::{LowerOptions, Target, lower};

use crate::{plan, program};

/// Iterations that only take elements wait for none of each other; iterations that push, too, may.
#[test]
fn iterations_wait_for_each_other_if_they_push_and_take() {
    let of_map = |body: &str, edges: &str| {
        plan(&format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N]
  transient stream S: f64
  state fill {{
    access A
    access S
    A -> S
  }}
  state s {{
    access S
    access A
    map m [i = 0:N] {{
{body}
    }}
    S -> m.S
    m.A -> A
{edges}
  }}
}}"
        ))
    };
    let take = "      tasklet t (s) -> (a) { a = s }
      m.S -> t.s: S
      t.a -> m.A: A[i]";
    let both = "      tasklet t (s) -> (a, more) {
        a = s
        more = s
      }
      m.S -> t.s: S
      t.a -> m.A: A[i]
      t.more -> m.S: S";
    let alone = of_map(take, "");
    assert!(!alone.contains("task"), "{alone}");
    let together = of_map(both, "    access more = S\n    m.S -> more");
    assert!(together.contains("task m i = 0:N:1 {"), "{together}");
}

/// A map beside a stream that it does not push to has the loops that it has without the stream.
#[test]
fn streams_do_not_keep_the_order_of_other_maps() {
    let of_stream = |stream: &str, state: &str| {
        plan(&format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N, N]
  array B: f64[N]
{stream}
  state s {{
    access A
    access B
    map m [i = 0:N, j = 0:N] {{
      tasklet t (a) -> (b) {{ b = a }}
      m.A -> t.a: A[i, j]
      t.b -> m.B: B[j] wcr(sum)
    }}
    A -> m.A
    m.B -> B
  }}
{state}
}}"
        ))
    };
    let loops = |plan: &str| {
        let map = plan.split("# map m\n").nth(1).expect("the map");
        map.lines().take_while(|line| line.trim() != "}").map(str::to_owned).collect::<Vec<_>>()
    };
    let without = loops(&of_stream("", ""));
    let beside =
        of_stream("  transient stream S: f64", "  state t { access A; access S; A -> S: A[0, 0] -> S }");
    assert!(without[0].contains("j = 0:N:1"), "the dimension that the sums move with: {without:?}");
    assert_eq!(loops(&beside), without);
}

#[test]
fn filters_go_to_memory_at_once() {
    let query = program("query");
    let text = plan(&query);
    assert!(text.contains("collected found into selected[0](N by 1)"), "{text}");
    // The copy takes what is left.
    assert!(text.contains("selected[delivered_1](N - delivered_1 by 1)"), "{text}");
    // The number of elements is wanted before they are moved.
    let counted = query.replace(
        "    rows.found -> found\n",
        "    rows.found -> found\n    order found -> late\n    tasklet late (v) -> (w) { w = v }\n    count -> late.v\n    late.w -> last\n    access last = selected\n    order last -> selected\n",
    );
    let text = plan(&counted.replace("late.w -> last", "late.w -> last: selected[N - 1]"));
    assert!(!text.contains("collected found into"), "{text}");
    let validated = validate(sdfg::text::parse("program.sdft", &query).unwrap()).unwrap();
    let checked = LowerOptions { checked: true, ..LowerOptions::default() };
    let text = lower(&validated, &Target::cpu(), &checked).unwrap().to_string();
    assert!(text.contains("collected found") && !text.contains("collected found into"), "{text}");
}

#[test]
fn what_iterations_hand_on_is_told() {
    let text = plan(&program("quicksort"));
    assert!(text.contains("communicated A\n"), "{text}");
    // Here iterations only combine.
    assert!(!plan(&program("fibonacci")).contains("communicated"));
    // No consume scope takes what this loop pushes.
    assert!(!plan(&program("query")).contains("communicated"));
}

/// The consumer of an element may read values combined before its push, so the combination is not deferred to
/// the end of the loop that pushes.
#[test]
fn loops_that_push_combine_at_once() {
    let countdown = |out: &str, code: &str, push: &str, leave: &str| {
        format!(
            "sdfg p {{
  symbol K: i64
  array count: i64[8]
  transient stream S: i64
  state fill {{ access S; tasklet t () -> (s) {{ s = 7 }}; t.s -> S: S }}
  state work {{ access S; access more = S; access count
    consume c [p = 0:4] {{
      map each [k = 0:K] schedule(sequential) {{
        tasklet t (x) -> ({out}) {{ {code} }}
        each.S -> t.x: S
        t.one -> each.count: count[0] wcr(sum)
        {push}
      }}
      c.stream -> each.S
      each.count -> c.count
      {leave}
    }}
    S -> c.stream
    order c -> more
    c.count -> count }}
}}"
        )
    };
    let pushes = countdown(
        "one, next",
        "one = 1; next = x - 1",
        "t.next -> each.S: S",
        "each.S -> c.S\n    }\n    c.S -> more\n    {",
    );
    let text = plan(&pushes.replace("\n    {\n    }", ""));
    assert!(!text.contains("count_sum"), "{text}");
    let text = plan(&countdown("one", "one = x", "", ""));
    assert!(text.contains("count_sum"), "{text}");
}

/// Nodes that wait for each other share what references name. A map that uses no stream waits for nobody, so its iterations do not ask
/// again.
#[test]
fn iterations_without_streams_ask_once_for_references() {
    let text = plan(
        "sdfg p {
  array A: i64[4]
  array B: i64[4]
  array C: i64[4]
  transient array K: i64[1]
  transient stream S: i64 capacity(1)
  reference R: i64[1]
  state s { access A; access R; access S; access B
    bind A -> R: A[1]
    map push [i = 0:4] schedule(sequential) { tasklet a () -> (y) { y = i }; a.y -> push.S: S }
    push.S -> S
    access T = S
    map pop [i = 0:4] schedule(sequential) { tasklet b (x) -> (y) { y = x }; pop.S -> b.x: S; b.y -> pop.B: B[i] }
    T -> pop.S
    pop.B -> B
    map use [i = 0:4] schedule(sequential) { access K; access C; use.R -> K: R[0] -> K[0]; K -> C: K[0] -> C[i] }
    R -> use.R }
}",
    );
    let map = text.split("# map use\n").nth(1).expect("the map");
    assert!(map.trim_start().starts_with("for i_2 = 0:4:1 independent {\n"), "{text}");
    assert!(
        map.lines().nth(1).is_some_and(|line| line.trim().starts_with("copy R[R_begin] -> K[0]")),
        "{text}"
    );
    assert!(text.contains("recall R from R_kept\n      # map use\n"), "{text}");
}
