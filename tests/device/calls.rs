//! Calls of SDFGs in kernels: the called SDFG is part of the kernel, with its control flow, transients and calls.

use sdfg::interpret::Arguments;
use sdfg::tensor::Tensor;
use sdfg_programs::random::Device;

use super::{interpreted, on_device, parsed, small_numbers, transformed};

/// A program with one map over rows, which calls an SDFG.
fn program(containers: &str, interface: &str, contents: &str, edges: &str, outside: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N, 4]
  array B: f64[N, 4]
  array C: f64[4]
  scalar alpha: f64
  scalar count: i64
  {containers}
  state s {{
    access A
    access B
    access C
    access alpha
    access count
    map m [i = 0:N] {{
      nested call {interface} sdfg inner {{
{contents}
      }}
{edges}
    }}
{outside}
  }}
}}"
    )
}

/// Maps, a view, a constant, scalars by value as an argument and as a symbol, and a transient.
const MAPS: &str = "        symbol k: i64
        scalar a: f64
        array x: f64[4]
        array y: f64[4]
        constant array table: f64[4] = [1, 3, 5, 7]
        transient array t: f64[4] storage(cpu_heap)
        view v: f64[2, 2]
        state s {
          access x
          access y
          access a
          access t
          access table
          access v
          map f [j = 0:4] schedule(simd) {
            tasklet u (p, q, r) -> (w) { w = q * p + j * k + r }
            f.x -> u.p: x[j]
            f.a -> u.q: a
            f.table -> u.r: table[j]
            u.w -> f.t: t[j]
          }
          bind t -> v: t[0:4]
          map g [j = 0:2, l = 0:2] schedule(cpu_multicore) {
            tasklet less (p) -> (w) { w = p - 1 }
            g.v -> less.p: v[l, j]
            less.w -> g.y: y[2*j + l]
          }
          x -> f.x
          a -> f.a
          table -> f.table
          f.t -> t
          v -> g.v
          g.y -> y
        }";

/// Loops with jumps, branches on data and symbols, a return, a symbol from data, and sums of all iterations.
const CONTROL: &str = "        symbol row: i64
        symbol at: i64
        array x: f64[4]
        array y: f64[4]
        array z: f64[4]
        transient scalar s: f64
        transient scalar index: i64
        state begin {
          access s
          access x
          access index
          tasklet u (v) -> (w) { w = v }
          x -> u.v: x[row % 4]
          u.w -> s
          tasklet number (v) -> (w) { w = 1 if v > 0.0 else 2 }
          x -> number.v: x[0]
          number.w -> index
        }
        -> sums with (at = index)
        state sums {
          access x
          access z
          map f [j = 0:4] {
            tasklet u (v) -> (w) { w = v + at }
            f.x -> u.v: x[j]
            u.w -> f.z: z[(j * j + at) % 4] wcr(sum)
          }
          x -> f.x
          f.z -> z
        }
        for l: k = 0:4 {
          if \"large\": s > 6.0 {
            break out
          } elif k % 2 == 0 {
            state half {
              access s
              access s2 = s
              tasklet u (o) -> (w) { w = o + 3 }
              s -> u.o
              u.w -> s2
            }
          }
          state store {
            access y
            access s
            tasklet u (o) -> (w) { w = o * 2 }
            s -> u.o
            u.w -> y: y[k]
          }
        }";

/// A call in a call, in place: rows of the program are read and written.
const TWICE: &str = "        symbol row: i64
        array y: f64[4]
        state s {
          access y
          access y2 = y
          nested once (b) -> (b) with (n = 3, at = row % 2) sdfg once {
            symbol n: i64
            symbol at: i64
            array b: f64[4]
            transient array c: f64[n]
            for l: k = 0:n {
              state s {
                access b
                access b2 = b
                access c
                tasklet u (v) -> (w) { w = v + at + k }
                b -> u.v: b[k]
                u.w -> c: c[n - 1 - k]
                c -> b2: c[n - 1 - k] -> b[k + 1]
              }
            }
          }
          y -> once.b
          once.b -> y2
        }";

/// Kernels that call SDFGs give the results of the interpreter, with memories of host and device and on the device.
pub(crate) fn calls_run_in_kernels(device: Device) {
    let maps = program(
        "",
        "(x, a, k) -> (y)",
        MAPS,
        "      m.A -> call.x: A[i, 0:4]
      m.alpha -> call.a: alpha
      m.count -> call.k: count
      call.y -> m.B: B[i, 0:4]",
        "    A -> m.A\n    alpha -> m.alpha\n    count -> m.count\n    m.B -> B",
    );
    let control = program(
        "",
        "(x) -> (y, z) with (row = i, at = 0)",
        CONTROL,
        "      m.A -> call.x: A[i, 0:4]
      call.y -> m.B: B[i, 0:4]
      call.z -> m.C: C[0:4]",
        "    A -> m.A\n    m.B -> B\n    m.C -> C",
    );
    let twice = program(
        "",
        "(y) -> (y) with (row = i)",
        TWICE,
        "      m.B -> call.y: B[i, 0:4]\n      call.y -> m.B: B[i, 0:4]",
        "    access after = B\n    B -> m.B\n    m.B -> after",
    );
    for text in [maps, control, twice] {
        let host = parsed(&text);
        let (kernels, count) = transformed(host.sdfg());
        assert_eq!(count, 1, "{text}");
        for n in [1, 7, 300] {
            let mut given = Arguments::new().with_symbol("N", n);
            given.set("A", small_numbers([n, 4], 3));
            given.set("B", small_numbers([n, 4], 5));
            given.set("C", small_numbers([4], 2));
            given.set("alpha", Tensor::new(&[], &[3.0]).expect("a scalar"));
            given.set("count", Tensor::new(&[], &[2_i64]).expect("a scalar"));
            let expected = interpreted(&host, &given);
            let on_memories = interpreted(&kernels, &given);
            let found = on_device(&kernels, &given, device);
            for name in ["A", "B", "C"] {
                assert_eq!(expected.get(name), on_memories.get(name), "`{name}`, N = {n}");
                assert_eq!(expected.get(name), found.get(name), "`{name}`, N = {n}\n{text}");
            }
        }
    }
}
