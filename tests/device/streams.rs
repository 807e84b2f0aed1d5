//! Commands in several streams: each order that streams and events permit gives the results of the interpreter.

use sdfg::interpret::Arguments;
use sdfg::validate::Validated;
use sdfg_programs::random::Device;

use super::{interpreted, parsed, plan_of, planned, small_numbers};

/// Runs a program in several orders, with vectors as arguments, and compares them with the interpreter. Its plan has so many streams.
fn agrees(program: &Validated, names: &[&str], symbols: &[(&str, i64)], streams: u32, device: Device) {
    let n = symbols[0].1;
    let mut given = Arguments::new();
    for (name, value) in symbols {
        given = given.with_symbol(*name, *value);
    }
    for (number, name) in names.iter().enumerate() {
        given.set(*name, small_numbers([n], number as i64 + 2));
    }
    let plan = plan_of(program, device).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(plan.command_streams, streams, "{plan}");
    let (expected, runs) = (interpreted(program, &given), device.runs(&plan, &given));
    for (order, found) in runs.unwrap_or_else(|error| panic!("{error}")).iter().enumerate() {
        for (name, expected) in expected.tensors() {
            assert_eq!(Some(expected), found.get(name), "`{name}` in run {order}\n{plan}");
        }
    }
}

/// Independent chains of copies and kernels, loops, and a value that the host waits for.
pub(crate) fn independent_chains_run_side_by_side(device: Device) {
    let program = planned("command_streams");
    for (n, steps) in [(70, 3), (1, 1), (5, 0)] {
        agrees(&program, &["A", "B", "C", "D"], &[("N", n), ("steps", steps)], 2, device);
    }
}

/// Memory of the device that one stream frees serves another one.
pub(crate) fn memory_of_one_stream_serves_another(device: Device) {
    let nested = |label: &str, from: &str, to: &str| {
        format!(
            "    nested {label} (x) -> (y) with (M = N) sdfg {label} {{
      symbol M: i64
      array x: f64[M] storage(gpu_global)
      array y: f64[M] storage(gpu_global)
      transient array t: f64[M] storage(gpu_global)
      state inside {{
        access x
        access t
        access y
        map first [i = 0:M] schedule(gpu_grid) {{
          tasklet f (a) -> (b) {{ b = 2 * a }}
          first.x -> f.a: x[i]
          f.b -> first.t: t[i]
        }}
        map second [i = 0:M] schedule(gpu_grid) {{
          tasklet g (a) -> (b) {{ b = a + 1 }}
          second.t -> g.a: t[M - 1 - i]
          g.b -> second.y: y[i]
        }}
        x -> first.x
        first.t -> t
        t -> second.t
        second.y -> y
      }}
    }}
    {from} -> {label}.x
    {label}.y -> {to}\n"
        )
    };
    let (one, two) = (nested("one", "A", "B"), nested("two", "C", "D"));
    let arrays: String =
        ["A", "B", "C", "D"].map(|name| format!("  array {name}: f64[N] storage(gpu_global)\n")).concat();
    let accesses: String = ["A", "B", "C", "D"].map(|name| format!("    access {name}\n")).concat();
    let program = parsed(&format!(
        "sdfg reuse {{\n  symbol N: i64\n{arrays}  state s {{\n{accesses}{one}{two}  }}\n}}"
    ));
    agrees(&program, &["A", "B", "C", "D"], &[("N", 300)], 2, device);
}

/// Transients of the host that share memory of the arena: a copy to the device reads the first one before the host writes the second.
pub(crate) fn transients_in_turn_wait_for_copies(device: Device) {
    let program = parsed(
        "sdfg turns {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  transient array t: f64[N]
  transient array u: f64[N]
  transient array d: f64[N] storage(gpu_global)
  transient array e: f64[N] storage(gpu_global)
  transient array f: f64[N] storage(gpu_global)
  state one {
    access A
    access t
    access d
    map h [i = 0:N] {
      tasklet v (x) -> (y) { y = x + 1 }
      h.A -> v.x: A[i]
      v.y -> h.t: t[i]
    }
    A -> h.A
    h.t -> t
    t -> d
  }
  state two {
    access A
    access u
    access e
    map k [i = 0:N] {
      tasklet w (x) -> (y) { y = 2 * x }
      k.A -> w.x: A[i]
      w.y -> k.u: u[i]
    }
    A -> k.A
    k.u -> u
    u -> e
  }
  state three {
    access d
    access e
    access f
    access B
    map add [i = 0:N] schedule(gpu_grid) {
      tasklet z (x, y) -> (o) { o = x + 10 * y }
      add.d -> z.x: d[i]
      add.e -> z.y: e[i]
      z.o -> add.f: f[i]
    }
    d -> add.d
    e -> add.e
    add.f -> f
    f -> B
  }
}",
    );
    let plan = plan_of(&program, device).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(plan.slots.len(), 1, "{plan}");
    agrees(&program, &["A", "B"], &[("N", 300)], 1, device);
}

/// Memory that is allocated before a branch, in whose arm another stream uses it first.
pub(crate) fn memory_that_a_branch_uses_first_is_there(device: Device) {
    let arrays: String =
        ["A", "B", "C", "D"].map(|name| format!("  array {name}: f64[N] storage(gpu_global)\n")).concat();
    let program = parsed(&format!(
        "sdfg branch {{
  symbol N: i64
  symbol steps: i64
{arrays}  transient array t: f64[N] storage(gpu_global)
  state first {{
    access A
    access B
    map k1 [i = 0:N] schedule(gpu_grid) {{
      tasklet f (a) -> (b) {{ b = 2 * a }}
      k1.A -> f.a: A[i]
      f.b -> k1.B: B[i]
    }}
    A -> k1.A
    k1.B -> B
  }}
  if some: steps > 0 {{
    state arm {{
      access C
      access t
      access D
      map k2 [i = 0:N] schedule(gpu_grid) {{
        tasklet f (a) -> (b) {{ b = 3 * a }}
        k2.C -> f.a: C[i]
        f.b -> k2.t: t[i]
      }}
      map k3 [i = 0:N] schedule(gpu_grid) {{
        tasklet g (a) -> (b) {{ b = a + 1 }}
        k3.t -> g.a: t[N - 1 - i]
        g.b -> k3.D: D[i]
      }}
      C -> k2.C
      k2.t -> t
      t -> k3.t
      k3.D -> D
    }}
  }}
}}"
    ));
    for steps in [1, 0] {
        agrees(&program, &["A", "B", "C", "D"], &[("N", 300), ("steps", steps)], 2, device);
    }
}

/// Streams with commands beside loops and branches go on, and what depends on the constructs follows them by any path.
pub(crate) fn constructs_gather_their_own_streams(device: Device) {
    let kernel = |name: &str, from: &str, to: &str, code: &str| {
        format!(
            "      map {name} [i = 0:N] schedule(gpu_grid) {{
        tasklet t_{name} (x) -> (y) {{ y = {code} }}
        {name}.of_{from} -> t_{name}.x: {from}[i]
        t_{name}.y -> {name}.to_{to}: {to}[i]
      }}
      access {name}_from = {from}
      access {name}_to = {to}
      {name}_from -> {name}.of_{from}
      {name}.to_{to} -> {name}_to\n"
        )
    };
    let state = |name: &str, kernels: &[String]| format!("    state {name} {{\n{}    }}\n", kernels.concat());
    let arrays = ["A", "B", "C", "D"].map(|name| format!("  array {name}: f64[N]\n")).concat();
    let transients =
        ["a", "b", "c", "d"].map(|name| format!("  transient array {name}: f64[N] storage(gpu_global)\n"));
    let copies = [("A", "a"), ("B", "b"), ("C", "c")];
    let copies =
        copies.map(|(from, to)| format!("      access {from}\n      access {to}\n      {from} -> {to}\n"));
    let first = state("first", &copies);
    let beside = state("beside", &[kernel("w", "a", "d", "x + 1.0")]);
    let body = state("body", &[kernel("u", "b", "b", "2.0 * x"), kernel("v", "c", "c", "x + 1.0")]);
    // One arm writes what the kernel beside the loop reads, and the other one does not.
    let (arm, other) = (
        state("arm", &[kernel("x", "b", "a", "x + 3.0")]),
        state("other", &[kernel("y", "c", "c", "2.0 * x")]),
    );
    let last = state(
        "last",
        &[
            kernel("p", "a", "a", "3.0 * x"),
            kernel("q", "d", "d", "5.0 * x"),
            ["a -> A", "b -> B", "c -> C", "d -> D"]
                .map(|copy| {
                    let (from, to) = copy.split_at(1);
                    let to = &to[4..];
                    let from_node = match from {
                        "a" => "p_to",
                        "d" => "q_to",
                        _ => from,
                    };
                    let own =
                        if from_node == from { format!("      access {from}\n") } else { String::new() };
                    format!("{own}      access {to}\n      {from_node} -> {to}\n")
                })
                .concat(),
        ],
    );
    let program = parsed(&format!(
        "sdfg gathers {{
  symbol N: i64
  symbol steps: i64
  symbol k: i64
{arrays}{}{first}{beside}  for l: l = 0:steps {{
{body}  }}
  if some: k > 0 {{
{arm}  }} else {{
{other}  }}
{last}}}",
        transients.concat()
    ));
    for (steps, k) in [(3, 1), (2, 0), (0, 1)] {
        let symbols = [("N", 200), ("steps", steps), ("k", k)];
        agrees(&program, &["A", "B", "C", "D"], &symbols, 4, device);
    }
}
