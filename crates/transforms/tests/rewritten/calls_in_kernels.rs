//! Maps that call SDFGs, as kernels of a GPU: the called SDFG becomes part of the kernel.

use super::support::{applies, difference, parsed, refuses_rightly};
use sdfg_transforms::retarget::{Machine, retarget};
use sdfg_transforms::rewrites::GpuTransform;
use sdfg_transforms::{apply, places};

/// A map over rows that makes a call with `interface`, of an SDFG with these contents. `edges` lead to and from the call.
fn program(containers: &str, interface: &str, contents: &str, edges: &str, outside: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N, 4]
  array B: f64[N, 4]
  {containers}
  state s {{
    access A
    access B
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

/// A map with a transient of the call between it and another one.
const MAPS: &str = "        array x: f64[4]
        array y: f64[4]
        transient array t: f64[4] storage(cpu_heap)
        state s {
          access x
          access y
          access t
          map f [j = 0:4] schedule(simd) {
            tasklet u (v) -> (w) { w = 2 * v + j }
            f.x -> u.v: x[j]
            u.w -> f.t: t[j]
          }
          map g [j = 0:4] schedule(cpu_multicore) {
            tasklet less (v) -> (w) { w = v - 1 }
            g.t -> less.v: t[3 - j]
            less.w -> g.y: y[j]
          }
          x -> f.x
          f.t -> t
          t -> g.t
          g.y -> y
        }";

const ROWS: &str = "      m.A -> call.x: A[i, 0:4]
      call.y -> m.B: B[i, 0:4]";

const BETWEEN: &str = "    A -> m.A
    m.B -> B";

/// Loops, branches on data and on symbols, and assignments from data.
const CONTROL: &str = "        symbol row: i64
        array x: f64[4]
        array y: f64[4]
        transient scalar s: f64
        state begin {
          access s
          access x
          tasklet u (v) -> (w) { w = v }
          x -> u.v: x[row % 4]
          u.w -> s
        }
        for l: k = 0:4 {
          if \"large\": s > 0.0 {
            state add {
              access x
              access s
              access s2 = s
              tasklet u (v, o) -> (w) { w = o - v }
              x -> u.v: x[k]
              s -> u.o
              u.w -> s2
            }
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

/// A call in a call, whose symbol is the size of its transient.
const TWICE: &str = "        symbol row: i64
        array x: f64[4]
        array y: f64[4]
        transient array t: f64[2]
        state s {
          access x
          access y
          access t
          nested once (a) -> (b) with (n = 2, at = row % 2) sdfg once {
            symbol n: i64
            symbol at: i64
            array a: f64[4]
            array b: f64[2]
            transient array c: f64[n]
            state s {
              access a
              access c
              access b
              map f [j = 0:n] {
                tasklet u (v) -> (w) { w = v + at }
                f.a -> u.v: a[2*j + at]
                u.w -> f.c: c[j]
              }
              a -> f.a
              f.c -> c
              c -> b: c[0:2] -> b[0:2]
            }
          }
          x -> once.a
          once.b -> t
          map g [j = 0:4] {
            tasklet u (v) -> (w) { w = 3 * v }
            g.t -> u.v: t[j // 2]
            u.w -> g.y: y[j]
          }
          t -> g.t
          g.y -> y
        }";

/// The reason for which the map outside of the call is refused.
fn refused(text: &str) -> String {
    let mut program = parsed(text);
    let found = places(&program, &GpuTransform::default());
    let at_m = found.iter().find(|found| found.paths(&program)[0].to_string() == "p/s/m").expect("a match");
    apply(&mut program, &GpuTransform::default(), at_m).expect_err("a refusal").to_string()
}

/// The kernel of the first match; it gives the same results on the host.
fn kernel(text: &str) -> String {
    let kernel = applies(text, &GpuTransform::default());
    assert_eq!(kernel.matches("schedule(gpu_grid)").count(), 1, "{kernel}");
    assert!(!["simd", "cpu_multicore", "cpu_heap"].iter().any(|word| kernel.contains(word)), "{kernel}");
    let mut host = parsed(&kernel);
    assert!(!retarget(&mut host, Machine::Cpu).is_empty());
    let wrong = difference(&parsed(text), &host);
    assert!(wrong.is_none(), "{wrong:?}");
    kernel
}

/// Results that a call writes for certain as a whole are only copied back.
#[test]
fn calls_with_maps_become_part_of_kernels() {
    for (interface, contents) in
        [("(x) -> (y)", MAPS), ("(x) -> (y) with (row = i + N)", TWICE), ("(x) -> (y) with (row = 0)", TWICE)]
    {
        let kernel = kernel(&program("", interface, contents, ROWS, BETWEEN));
        assert!(!kernel.contains("begin"), "{kernel}");
    }
}

/// Loops and branches may leave elements as they are: their old values are on the device before the kernel.
#[test]
fn calls_with_control_flow_become_part_of_kernels() {
    let text = program("", "(x) -> (y) with (row = i)", CONTROL, ROWS, BETWEEN);
    kernel(&text);
    let sometimes = CONTROL.replace("state store {", "if \"sometimes\": s > -2.0 { state store {");
    let text = program("", "(x) -> (y) with (row = i)", &format!("{sometimes} }}"), ROWS, BETWEEN);
    let kernel = kernel(&text);
    assert!(kernel.contains(" -> \"m.local1.begin0\""), "{kernel}");
    // Without old values, the kernel must write all of them.
    let of_transient = text
        .replace("array B: f64[N, 4]", "array C: f64[N]\n  transient array B: f64[N, 4]")
        .replace("m.B -> B", "m.B -> B\n    access C\n    B -> C: B[0:N, 0] -> C[0:N]");
    let refusal = refused(&of_transient);
    assert!(refusal.contains("is not known exactly"), "{refusal}");
}

/// A call is given the values of scalars of the host, also of those of which it makes a symbol.
#[test]
fn calls_get_scalars_by_value() {
    let contents = MAPS
        .replace("array x: f64[4]", "symbol k: i64\n        scalar a: f64\n        array x: f64[4]")
        .replace("(v) -> (w) { w = 2 * v + j }", "(v, f) -> (w) { w = f * v + j * k }")
        .replace("f.x -> u.v: x[j]", "f.x -> u.v: x[j]\n            f.a -> u.f: a")
        .replace("x -> f.x", "access a\n          x -> f.x\n          a -> f.a");
    let text = program(
        "scalar alpha: f64
  transient scalar count: i64
  state first {
    access count
    tasklet t () -> (y) { y = 7 }
    t.y -> count
  }",
        "(x, a, k) -> (y)",
        &contents,
        &format!("{ROWS}\n      m.alpha -> call.a: alpha\n      m.count -> call.k: count"),
        &format!("{BETWEEN}\n    access alpha\n    access count\n    alpha -> m.alpha\n    count -> m.count"),
    );
    let kernel = kernel(&text);
    assert!(kernel.contains("scalar alpha: f64 storage(cpu_pinned)"), "{kernel}");
    assert!(kernel.contains("scalar count: i64 storage(cpu_pinned)"), "{kernel}");
    assert!(!kernel.contains("alpha_device") && !kernel.contains("count_device"), "{kernel}");
}

/// What a call reads and writes stays in one place on the device, by one name or by two.
#[test]
fn calls_work_in_place_on_the_device() {
    let by_one = "        array y: f64[4]
        for l: k = 0:3 {
          state s {
            access y
            access y2 = y
            tasklet u (v) -> (w) { w = 2 * v + 1 }
            y -> u.v: y[k]
            u.w -> y2: y[k + 1]
          }
        }";
    let by_two = by_one
        .replace("array y: f64[4]", "array y: f64[4]\n        array z: f64[4]")
        .replace("access y\n", "access z\n")
        .replace("y -> u.v: y[k]", "z -> u.v: z[k]");
    let (one, two) = ("(y) -> (y)", "(z) -> (y)");
    for (interface, contents, name) in [(one, by_one, "y"), (two, by_two.as_str(), "z")] {
        let edges = format!("      m.B -> call.{name}: B[i, 0:4]\n      call.y -> m.B: B[i, 0:4]");
        let outside = "    access after = B\n    B -> m.B\n    m.B -> after";
        let kernel = kernel(&program("", interface, contents, &edges, outside));
        assert!(!kernel.contains("B_device1"), "{kernel}");
    }
    // Parts that differ would be copied each to a place of its own.
    let edges = "      m.B -> call.z: B[i, 0:4]\n      call.y -> m.B: B[i, 0:3]";
    let outside = "    access after = B\n    B -> m.B\n    m.B -> after";
    let contents = by_two.replace("array y: f64[4]", "array y: f64[3]").replace("0:3", "0:2");
    let text = program("", two, &contents, edges, outside);
    let refusal = refuses_rightly(&text, &GpuTransform::default());
    assert!(refusal.contains("`call` reads and writes parts of it that differ"), "{refusal}");
}

/// Calls of all iterations combine with elements of the device.
#[test]
fn calls_combine_on_the_device() {
    let contents = "        array x: f64[4]
        array y: f64[4]
        state s {
          access x
          access y
          map f [j = 0:4] {
            tasklet u (v) -> (w) { w = v }
            f.x -> u.v: x[j]
            u.w -> f.y: y[(j * j) % 4] wcr(sum)
          }
          x -> f.x
          f.y -> y
        }";
    let edges = "      m.A -> call.x: A[i, 0:4]\n      call.y -> m.C: C[0:4]";
    let outside = "    access C\n    A -> m.A\n    m.C -> C";
    let text = program("array C: f64[4]", "(x) -> (y)", contents, edges, outside);
    let found = kernel(&text);
    assert!(found.contains(" -> \"m.local1.begin0\""), "{found}");
    let of_complex =
        text.replace("array C: f64", "array C: complex128").replace("array y: f64", "array y: complex128");
    let of_complex = of_complex.replace("w = v }", "w = complex128(v) }").replace("wcr(sum)", "wcr(product)");
    let refusal = refused(&of_complex);
    assert!(refusal.contains("that no atomic step combines"), "{refusal}");
}

/// A thread has no stream, no reference, and no transient whose size is not constant and small.
#[test]
fn calls_have_what_a_thread_can_have() {
    let refused_with = |from: &str, to: &str, interface: &str| {
        let contents = MAPS.replace(from, to);
        assert_ne!(contents, MAPS);
        refused(&program("", interface, &contents, ROWS, BETWEEN))
    };
    let array = "transient array t: f64[4] storage(cpu_heap)";
    let plain = "(x) -> (y)";
    let sized = refused_with(
        array,
        "symbol n: i64\n        transient array t: f64[n]",
        "(x) -> (y) with (n = N + 3)",
    );
    assert!(sized.contains("`call` has `t` for each thread, whose size is not constant"), "{sized}");
    let large = refused_with(array, "transient array t: f64[513]", plain);
    assert!(large.contains("`call` has `t` with more than 4096 bytes for each thread"), "{large}");
    let lasting = refused_with(array, "transient array t: f64[4] lifetime(persistent)", plain);
    assert!(lasting.contains("`call` has `t`, which lives longer than the call"), "{lasting}");
    let device = refused_with(array, "transient array t: f64[4] storage(gpu_global)", plain);
    assert!(device.contains("`call` has `t` in memory of which no thread has a part"), "{device}");
    let stream = refused_with(array, &format!("{array}\n        transient stream q: f64"), plain);
    assert!(stream.contains("`call` has the stream `q`"), "{stream}");
    let reference = refused_with(array, &format!("{array}\n        reference r: f64[4]"), plain);
    assert!(reference.contains("`call` has the reference `r`"), "{reference}");
    let sum = "reduce r axes(0) wcr(sum) identity(0.0)\n          x -> r\n          r -> y: y[0]\n          map f [j";
    let reduced = refused_with("map f [j", sum, plain);
    assert!(reduced.contains("`r` cannot run in a kernel"), "{reduced}");
}

/// A tasklet finds what it writes through one pointer by another one. With a copy on the device for each, it would not.
#[test]
fn tasklets_do_not_read_what_they_write_in_another_copy() {
    let text = include_str!("../../../codegen/tests/agreement/outputs_that_are_read_back.sdft");
    let refusal = refuses_rightly(text, &GpuTransform::default());
    assert!(refusal.contains("`sums` reads elements that it writes"), "{refusal}");
}
