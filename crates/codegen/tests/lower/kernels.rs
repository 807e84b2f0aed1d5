//! Constructs that kernels and consume scopes on a device cannot run.

use sdfg::validate::validate;
use sdfg_codegen::lower::{LowerError, LowerOptions, Target, lower};

/// The construct that CUDA cannot run, and its place, if lowering refuses a program for it.
fn refused_on_device(source: &str) -> Option<(String, String)> {
    let program = sdfg::text::parse("p.sdft", source).unwrap_or_else(|errors| panic!("{errors:?}\n{source}"));
    let validated = validate(program).unwrap_or_else(|rejected| panic!("{rejected}\n{source}"));
    match lower(&validated, &Target::cuda(), &LowerOptions::default()) {
        Ok(_) => None,
        Err(LowerError::Unsupported { what, path }) => Some((what, path)),
        Err(other) => panic!("{other:?}"),
    }
}

/// A kernel that does something which threads of a device cannot do is refused, with the reason.
#[test]
fn kernels_do_what_devices_can_do() {
    let refused = |containers: &str, contents: &str| {
        let source = format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N] storage(gpu_global)
{containers}
  state s {{
    access A
    map g [i = 0:N] schedule(gpu_grid) {{
{contents}
    }}
    A -> g.A
  }}
}}"
        );
        let (what, path) = refused_on_device(&source).expect("a refusal");
        assert_eq!(path, "p/s/g");
        what
    };
    let host = refused(
        "  array H: f64[N]",
        "      tasklet t (x) -> (y) { y = x }
      access H
      g.A -> t.x: A[i]
      t.y -> H: H[i]",
    );
    assert_eq!(host, "`H` in host memory in the kernel `g` (`GPUTransform` copies data to the device)");
    let large = refused(
        "  transient array T: f64[N]",
        "      tasklet t (x) -> (y) { y = x }
      tasklet u (x) -> () { z = x }
      access T
      g.A -> t.x: A[i]
      t.y -> T: T[0]
      T -> u.x: T[0]",
    );
    assert_eq!(large, "`T` with more than 4096 bytes in each thread in the kernel `g`");
    let stream = refused(
        "  transient stream S: f64 storage(gpu_global)",
        "      tasklet t (x) -> (y) { y = x }
      access S
      g.A -> t.x: A[i]
      t.y -> S",
    );
    assert_eq!(stream, "the stream `S` of an iteration in the kernel `g`");
    let locked = refused(
        "  array C: complex128[1] storage(gpu_global)",
        "      tasklet t (x) -> (y) { y = complex128(x) }
      access C
      g.A -> t.x: A[i]
      t.y -> C: C[0] wcr(product)",
    );
    assert_eq!(locked, "a conflict resolution of elements that no atomic step combines in the kernel `g`");
}

/// Kernels push to streams in memory of the device, of which the number of pushes is known or limited, and do nothing else with them.
#[test]
fn kernels_push_to_queues_with_room() {
    let refused = |containers: &str, code: &str, edges: &str, after: &str| {
        let source = format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N] storage(gpu_global)
{containers}
  state s {{
    access A
    map g [i = 0:N] schedule(gpu_grid) {{
      access S
{code}
{edges}
    }}
    A -> g.A
  }}
  state after {{
    access S
    access A
    {after}
  }}
}}"
        );
        refused_on_device(&source).map_or("nothing".to_owned(), |(what, _)| what)
    };
    let (on_device, on_host) = ("  transient stream S: f64 storage(gpu_global)", "  transient stream S: f64");
    let bounded = "  transient stream S: f64 capacity(N) storage(gpu_global)";
    let once = "      tasklet t (x) -> (y) { y = x }";
    let often = "      tasklet t (x) -> (y) {
        while x > 0:
            y = x
      }";
    let thrice = "      tasklet t (x) -> (y) {
        for k in range(3):
            y = x
      }";
    let push = "      g.A -> t.x: A[i]\n      t.y -> S: S dynamic";
    let all = "S -> A: S -> A[0:N] dynamic";
    assert_eq!(refused(on_device, once, push, all), "nothing");
    assert_eq!(refused(on_device, thrice, push, all), "nothing");
    assert_eq!(refused(bounded, often, push, all), "nothing");
    assert_eq!(
        refused(on_device, often, push, all),
        "a number of pushes to the stream `S` that is not known before the launch in the kernel `g` (give the stream a capacity)"
    );
    assert_eq!(
        refused(on_host, once, push, ""),
        "the stream `S` in host memory in the kernel `g` (`GPUTransform` gives it memory of the device)"
    );
    assert_eq!(
        refused("  stream S: f64 storage(gpu_global)", once, push, all),
        "the stream of the caller `S` in memory of a device"
    );
    assert_eq!(
        refused("  transient stream S: f64 lifetime(persistent) storage(gpu_global)", once, push, all),
        "the persistent stream `S` in memory of a device"
    );
    let pop = "      g.A -> t.x: A[i]\n      access T = S\n      tasklet u (z) -> () { w = z }\n      t.y -> S: S dynamic\n      T -> u.z: S";
    assert_eq!(
        refused(on_device, once, pop, all),
        "a pop from the stream `S`, or its length, in the kernel `g`"
    );
    assert_eq!(
        refused(on_device, once, push, "S -> A: S -> A[0] wcr(sum)"),
        "a conflict resolution of elements of a stream with `A` in memory of a device"
    );
    let host_beside = "  transient stream S: f64 storage(gpu_global)\n  transient stream R: f64";
    assert_eq!(
        refused(host_beside, once, push, "access R; S -> R: S -> R dynamic; R -> A: R -> A[0:N] dynamic"),
        "a copy between the stream `R` in host memory and `A` in memory of a device"
    );
}

/// The most pushes of a launch are those of each iteration, with the loops of tasklets up and down.
#[test]
fn loops_of_tasklets_bound_the_pushes_of_kernels() {
    let most = |range: &str| {
        let source = format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N] storage(gpu_global)
  transient stream S: f64 storage(gpu_global)
  state s {{
    access A
    access S
    map g [i = 0:N] schedule(gpu_grid) {{
      tasklet t (x) -> (y) {{
        for k in range({range}):
            y = x + k
      }}
      g.A -> t.x: A[i]
      t.y -> g.S: S dynamic
    }}
    A -> g.A
    g.S -> S
  }}
}}"
        );
        let program = sdfg::text::parse("p.sdft", &source).unwrap_or_else(|errors| panic!("{errors:?}"));
        let validated = validate(program).unwrap_or_else(|rejected| panic!("{rejected}"));
        let plan = lower(&validated, &Target::cuda(), &LowerOptions::default());
        let text = plan.unwrap_or_else(|error| panic!("{error}")).to_string();
        let line = text.lines().find(|line| line.contains("pushes at most")).unwrap_or_default();
        line.trim().to_owned()
    };
    for (range, expected) in
        [("3, 9, 2", "3*N"), ("3, 10, 2", "4*N"), ("9, 3, -2", "3*N"), ("10, 3, -2", "4*N")]
    {
        assert_eq!(most(range), format!("pushes at most {expected} to S"), "{range}");
    }
}

/// The last of several tiles ends with the range. A loop of a tasklet that makes no step pushes nothing.
#[test]
fn pushes_of_tiles_and_of_loops_without_steps_are_bounded() {
    let most = |kernel: &str| {
        let source = format!(
            "sdfg p {{
  symbol N: i64
  array A: i64[N]
  transient stream S: i64 storage(gpu_global)
  state s {{
    access A
    access S
    {kernel}
    m.S -> S
    S -> A: S -> A[0:N] dynamic
  }}
}}"
        );
        let program = sdfg::text::parse("p.sdft", &source).unwrap_or_else(|errors| panic!("{errors:?}"));
        let validated = validate(program).unwrap_or_else(|rejected| panic!("{rejected}"));
        let plan = lower(&validated, &Target::cuda(), &LowerOptions::default());
        let text = plan.unwrap_or_else(|error| panic!("{error}")).to_string();
        let line = text.lines().find(|line| line.contains("pushes at most"));
        line.unwrap_or_else(|| panic!("{text}")).trim().to_owned()
    };
    let tiles = "map m [i = 0:N:4] schedule(gpu_grid) {
      map n [j = i:min(i + 4, N)] {
        tasklet t () -> (s) { s = j }
        t.s -> n.S: S
      }
      n.S -> m.S
    }";
    assert_eq!(most(tiles), "pushes at most ceil_div(N, 4)*min(N, 4) to S");
    let none = "map m [i = 0:N] schedule(gpu_grid) {
      tasklet t () -> (s) {
        for k in range(0, 4, 0):
            s = k
      }
      t.s -> m.S: S dynamic
    }";
    assert_eq!(most(none), "pushes at most 0 to S");
}

/// A kernel assigns a symbol that it is given, so the given value bounds no pushes behind the assignment.
#[test]
fn pushes_by_a_symbol_that_changes_have_no_bound() {
    let refused = |after: &str| {
        refused_on_device(&format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N] storage(gpu_global)
  transient stream S: f64 storage(gpu_global)
  state s {{
    access A
    map g [i = 0:N] schedule(gpu_grid) {{
      nested few (a) -> (more) with (width = 1) sdfg few {{
        symbol width: i64
        scalar a: f64
        stream more: f64
        state push {{
          access a
          access more
          map w [j = 0:width] {{
            tasklet t (x) -> (y) {{ y = x }}
            w.a -> t.x: a
            t.y -> w.more: more
          }}
          a -> w.a
          w.more -> more
        }}
{after}
      }}
      g.A -> few.a: A[i]
      few.more -> g.S: S dynamic
    }}
    access S
    A -> g.A
    g.S -> S
  }}
}}"
        ))
    };
    assert_eq!(refused(""), None);
    let again = "        -> again with (width = 5 * width)
        state again {
          access a
          access more
          map v [j = 0:width] {
            tasklet u (x) -> (y) { y = x }
            v.a -> u.x: a
            u.y -> v.more: more
          }
          a -> v.a
          v.more -> more
        }";
    let (what, path) = refused(again).expect("a refusal");
    assert!(
        what.contains("a number of pushes to the stream `S` that is not known before the launch"),
        "{what}"
    );
    assert_eq!(path, "p/s/g");
}

/// Consume scopes on a device take elements of device queues until these are empty.
#[test]
fn consume_scopes_on_a_device_run_until_their_queue_is_empty() {
    let refused = |stream: &str, schedule: &str| {
        let source = format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N] storage(gpu_global)
  array B: f64[N]
  transient stream S: f64 {stream}
  state s {{
    access B
    access S
    access more = S
    access A
    consume c [p = 0:4] {schedule} {{
      tasklet t (x) -> (y, z) {{
        y = x
        z = x
      }}
      c.stream -> t.x: S
      t.y -> c.A: A[0] wcr(sum)
      t.z -> c.S: S dynamic
    }}
    B -> S
    S -> c.stream
    c.A -> A
    c.S -> more
  }}
}}"
        );
        let Some((what, path)) = refused_on_device(&source) else { return "nothing".to_owned() };
        assert_eq!(path, "p/s/c");
        what
    };
    let (there, on_device) = ("storage(gpu_global)", "schedule(gpu_grid)");
    assert_eq!(refused(there, on_device), "nothing");
    assert_eq!(
        refused("", on_device),
        "the stream `S` in host memory, which the consume scope `c` on a device takes elements from,"
    );
    assert_eq!(
        refused(there, "condition(len(S) > N) schedule(gpu_grid)"),
        "the condition of the consume scope `c` on a device"
    );
    assert_eq!(
        refused("capacity(N) storage(gpu_global)", on_device),
        "the consume scope `c` on a device, which pushes to the stream `S` with a capacity,"
    );
    let only_takes = "sdfg p {
  symbol N: i64
  array A: f64[1] storage(gpu_global)
  array B: f64[N]
  transient stream S: f64 capacity(N) storage(gpu_global)
  state s {
    access B
    access S
    access A
    consume c [p = 0:4] schedule(gpu_grid) {
      tasklet t (x) -> (y) { y = x }
      c.stream -> t.x: S
      t.y -> c.A: A[0] wcr(sum)
    }
    B -> S
    S -> c.stream
    c.A -> A
  }
}";
    assert_eq!(refused_on_device(only_takes), None);
}
