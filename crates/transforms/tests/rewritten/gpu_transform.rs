//! Maps as kernels of a GPU, run in the interpreter with separate memories, and taken back to the host.

use super::support::{applies, difference, page_is_true, parsed, refuses, refuses_rightly};
use sdfg_transforms::retarget::{Machine, retarget};
use sdfg_transforms::rewrites::{GpuTransform, LocalStorage, MapSchedule, MapUnroll};
use sdfg_transforms::{apply, fixed_point, places};

#[test]
fn the_page_is_true() {
    page_is_true(&GpuTransform::default());
}

/// A map over pairs with `body`, from `A` to `B`.
fn program(ranges: &str, body: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N + 1, N]
  array B: f64[N, N]
  transient scalar T: f64 storage(cpu_heap)
  state s {{
    access A
    access B
    map m [{ranges}] {{
{body}
    }}
    A -> m.A
    m.B -> B
  }}
}}"
    )
}

const PLAIN: &str = "      tasklet t (x, z) -> (y) { y = x - 2 * z }
      m.A -> t.x: A[i, j]
      m.A -> t.z: A[i + 1, j]
      t.y -> m.B: B[i, j]";

/// A private transient and an inner map.
const NESTED: &str = "      access T
      map n [j = 0:N] schedule(simd) {
        tasklet u (x, z) -> (y) { y = x + z }
        n.A -> u.x: A[i, j]
        n.T -> u.z: T
        u.y -> n.B: B[i, j]
      }
      tasklet t (x) -> (y) { y = x }
      m.A -> t.x: A[i, 0]
      t.y -> T: T
      T -> n.T
      m.A -> n.A
      n.B -> m.B";

#[test]
fn kernels_compute_in_their_own_memory_and_come_back() {
    for (ranges, body) in [
        ("i = 0:N, j = 0:N", PLAIN),
        ("i = N - 1:-1:-1, j = 0:N", PLAIN),
        ("i = 0:N, j = 0:N] schedule(cpu_multicore", PLAIN),
        ("i = 0:N", NESTED),
    ] {
        let text = program(ranges, body).replace("cpu_multicore]", "cpu_multicore)");
        let kernel = applies(&text, &GpuTransform::default());
        assert!(kernel.contains("schedule(gpu_grid)") && kernel.contains("storage(gpu_global)"), "{kernel}");
        assert!(!kernel.contains("simd"), "{kernel}");
        assert!(body == PLAIN || !kernel.contains("cpu_heap"), "{kernel}");
        let mut host = parsed(&kernel);
        assert!(!retarget(&mut host, Machine::Cpu).is_empty());
        let wrong = difference(&parsed(&text), &host);
        assert!(wrong.is_none(), "{wrong:?}");
    }
}

/// The program with more elements of `B`, the first of which there is without iterations, too.
fn larger(text: &str) -> String {
    text.replace("B: f64[N, N]", "B: f64[N + 1, N + 1]")
}

/// Results are combined with old elements, which are on the device before the kernel. The elements between those of the results
/// keep their values.
#[test]
fn results_are_combined_with_old_elements_on_the_device() {
    let transient = "state begin {
    access B
    map fill [i = 0:N + 1, j = 0:N + 1] {
      tasklet f () -> (y) { y = i - j }
      f.y -> fill.B: B[i, j]
    }
    fill.B -> B
  }
  state s {";
    let last = "  state last {
    access B
    access C
    B -> C
  }
}";
    for element in ["B[i, j]", "B[0, 0]", "B[(i * i) % N, j]", "B[N - i, N]"] {
        for resolution in ["sum", "max", "lambda o, n: o - n"] {
            let body = PLAIN.replace("B[i, j]", &format!("{element} wcr({resolution})"));
            let argument = larger(&program("i = 0:N, j = 0:N", &body));
            let end = argument.rfind('}').expect("an end");
            let of_transient = argument[..end]
                .replace("  state s {", &format!("  {transient}"))
                .replace("  array B:", "  array C: f64[N + 1, N + 1]\n  transient array B:")
                + last;
            for text in [argument, of_transient] {
                let kernel = applies(&text, &GpuTransform::default());
                assert!(kernel.contains("wcr(") && kernel.contains("order "), "{kernel}");
                let mut host = parsed(&kernel);
                let wrong = difference(&parsed(&text), &host);
                assert!(wrong.is_none(), "{wrong:?}\n{kernel}");
                assert!(!retarget(&mut host, Machine::Cpu).is_empty());
                let wrong = difference(&parsed(&text), &host);
                assert!(wrong.is_none(), "{wrong:?}");
            }
        }
    }
}

/// Old elements are copied in both directions: what is written to others meanwhile would be lost.
#[test]
fn nothing_writes_beside_old_elements() {
    let body = PLAIN.replace("B[i, j]", "B[(i * i) % (N + 1), 0] wcr(sum)");
    let text = larger(&program("i = 0:1, j = 0:1", &body)).replace(
        "    A -> m.A\n",
        "    access Z = B
    tasklet g () -> (y) { y = 7 }
    g.y -> Z: B[N, 0]
    A -> m.A\n",
    );
    let refusal = refuses_rightly(&text, &GpuTransform::default());
    assert!(refusal.contains("combines with its old elements"), "{refusal}");
}

/// A stencil reads no corners. They may be copied of a transient that an earlier state wrote as a whole, or an earlier map of the state.
#[test]
fn stencils_read_transients_that_were_written_as_a_whole() {
    let text = |rows: &str, between: &str| {
        format!(
            "sdfg p {{
  symbol N: i64
  array B: f64[N, N]
  transient array A: f64[N, N]
  state s {{
    access A
    map fill [i = {rows}, j = 0:N] {{
      tasklet f () -> (y) {{ y = i - 3 * j }}
      f.y -> fill.A: A[i, j]
    }}
    fill.A -> A{between}
    access B
    map m [i = 1:N - 1, j = 1:N - 1] {{
      tasklet t (n, w) -> (y) {{ y = n + 2 * w }}
      m.A -> t.n: A[i - 1, j]
      m.A -> t.w: A[i, j - 1]
      t.y -> m.B: B[i, j]
    }}
    A -> m.A
    m.B -> B
  }}
}}"
        )
    };
    for between in ["", "\n  }\n  state next {\n    access A"] {
        let whole = text("0:N", between);
        // The first match fills the array.
        let filled = applies(&whole, &GpuTransform::default());
        let kernels = applies(&filled, &GpuTransform::default());
        assert_eq!(kernels.matches("schedule(gpu_grid)").count(), 2, "{kernels}");
        let wrong = difference(&parsed(&whole), &parsed(&kernels));
        assert!(wrong.is_none(), "{wrong:?}\n{kernels}");
        // The last row is defined where the map has no iteration, or is read nowhere: what is copied is not known to be.
        let part = parsed(&applies(&text("0:N - 1", between), &GpuTransform::default()));
        let all = places(&part, &GpuTransform::default());
        let stencil = all.iter().find(|found| found.paths(&part)[0].to_string().ends_with("/m"));
        let refused = apply(&mut part.clone(), &GpuTransform::default(), stencil.expect("a match"));
        let refused = refused.map(|_| ()).expect_err("undefined elements").to_string();
        assert!(refused.contains("is not known exactly"), "{refused}");
    }
}

/// The copy of old elements waits for what the map waits for, such as the first value of a sum.
#[test]
fn old_elements_may_come_from_the_same_state() {
    let body = PLAIN.replace("B[i, j]", "B[0, 0] wcr(sum)");
    let text = larger(&program("i = 0:N, j = 0:N", &body)).replace(
        "    A -> m.A\n",
        "    access Z = B
    tasklet g () -> (y) { y = 7 }
    g.y -> Z: B[0, 0]
    order Z -> m
    A -> m.A\n",
    );
    let kernel = applies(&text, &GpuTransform::default());
    assert!(kernel.contains("order Z -> \"m.local1.host0\""), "{kernel}");
    let wrong = difference(&parsed(&text), &parsed(&kernel));
    assert!(wrong.is_none(), "{wrong:?}\n{kernel}");
}

/// No atomic step combines a product of complex numbers.
#[test]
fn what_no_atomic_step_combines_stays_on_the_host() {
    let text = larger(&program("i = 0:N, j = 0:N", &PLAIN.replace("B[i, j]", "B[0, 0] wcr(product)")));
    applies(&text, &GpuTransform::default());
    let text = text.replace("B: f64", "B: complex128");
    let refusal = refuses(&text, &GpuTransform::default());
    assert!(refusal.contains("that no atomic step combines"), "{refusal}");
}

/// Views only name elements: a second one of the same array does not come between a map and its copies.
#[test]
fn several_views_of_one_array_are_copied() {
    let text = "sdfg p {
  symbol N: i64
  array A: f64[N + 1]
  array B: f64[N]
  view V: f64[N]
  view W: f64[N]
  state s {
    access A
    access V
    access W
    access B
    bind A -> V: A[0:N]
    bind A -> W: A[1:N + 1]
    map m [i = 0:N] {
      tasklet t (x, z) -> (y) { y = z - x }
      m.V -> t.x: V[i]
      m.W -> t.z: W[i]
      t.y -> m.B: B[i]
    }
    V -> m.V
    W -> m.W
    m.B -> B
  }
}";
    let kernel = applies(text, &GpuTransform::default());
    assert!(kernel.contains("V -> \"m.local0\"") && kernel.contains("W -> \"m.local1\""), "{kernel}");
    // What a view writes is written.
    let written = text.replace(
        "    V -> m.V\n",
        "    tasklet one () -> (y) { y = 1 }\n    one.y -> V: V[0]\n    V -> m.V\n    order V -> m\n",
    );
    let written = written.replace("    bind A -> V: A[0:N]\n", "    access C = A\n    bind V -> C: A[0:N]\n");
    let refusal = refuses(&written, &GpuTransform::default());
    assert!(refusal.contains("writes it before the map, and after it may be copied"), "{refusal}");
}

/// Elements that a map may leave as they are keep their old values, which are copied to the device before, if there are any.
#[test]
fn a_copy_of_other_elements_would_overwrite_results() {
    let body = PLAIN
        .replace("B[i, j]", "B[i, j] dynamic")
        .replace("{ y = x - 2 * z }", "{\n        if x > 0.0:\n          y = x - 2 * z\n      }");
    let text = program("i = 0:N, j = 0:N", &body);
    let kernel = applies(&text, &GpuTransform::default());
    assert!(kernel.contains("begin"), "{kernel}");
    let text = text
        .replace("array B: f64[N, N]", "array C: f64[N]\n  transient array B: f64[N, N]")
        .replace("    m.B -> B\n", "    m.B -> B\n    access C\n    B -> C: B[0, 0:N] -> C[0:N]\n");
    let message = refuses(&text, &GpuTransform::default());
    assert!(message.contains("is not known exactly"), "{message}");
}

#[test]
fn memory_of_the_host_is_not_reached_from_a_kernel() {
    let body = "      access T
      tasklet t (x) -> (y) { y = x }
      tasklet u (x) -> (y) { y = x }
      m.A -> t.x: A[i, 0]
      t.y -> T: T
      T -> u.x: T
      u.y -> m.B: B[i, 0]";
    let text = program("i = 0:1", body).replace("transient scalar T: f64 storage(cpu_heap)", "scalar T: f64");
    assert!(refuses_rightly(&text, &GpuTransform::default()).contains("no transient of the kernel"));
}

#[test]
fn kernels_are_not_made_in_scopes() {
    let text = program("i = 0:N", NESTED);
    let mut kernel = parsed(&text);
    let inner = sdfg_transforms::places(&kernel, &GpuTransform::default());
    let inner = inner.iter().find(|found| found.paths(&parsed(&text))[0].to_string() == "p/s/n");
    let message = sdfg_transforms::apply(&mut kernel, &GpuTransform::default(), inner.expect("a match"));
    assert!(message.expect_err("a refusal").to_string().contains("is in a scope"));
}

/// A call outside of scopes, or in a map, whose nested SDFG has loops, a map over a part of an argument, and code of the host around it.
fn called(before: &str, rows: &str, begin: &str, end: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N + 1, N]
  array B: f64[N, N]
  transient array T: f64[N, 4]
  {before}
  state s {{
    access A
    access B
    {begin}
    nested call (a) -> (b) with (N = N, row = {rows}) sdfg inner {{
      symbol N: i64
      symbol row: i64
      array a: f64[N + 1, N]
      array b: f64[N, N]
      transient array t: f64[N]
      for l: k = 0:2 {{
        state first {{
          access a
          access t
          map m [i = 0:N] {{
            tasklet f (x, z) -> (y) {{ y = x - 2 * z + k }}
            m.a -> f.x: a[row, i]
            m.a -> f.z: a[row + 1, i]
            f.y -> m.t: t[i]
          }}
          a -> m.a
          m.t -> t
        }}
        state second {{
          access t
          access b
          tasklet g (x) -> (y) {{ y = x }}
          t -> g.x: t[k % N]
          g.y -> b: b[row, N - 1]
          map n [i = 0:N - 1] {{
            tasklet f (x) -> (y) {{ y = 3 * x }}
            n.t -> f.x: t[i]
            f.y -> n.b: b[row, i]
          }}
          access after = b
          t -> n.t
          n.b -> after
        }}
      }}
    }}
    {end}
  }}
}}"
    )
}

/// Maps of a nested SDFG become kernels: its arguments are data of the host, which are copied inside of the call.
#[test]
fn kernels_are_made_in_nested_sdfgs() {
    let text = called("", "0", "", "A -> call.a: A[0:N + 1, 0:N]\n    call.b -> B: B[0:N, 0:N]");
    let mut kernels = parsed(&text);
    let applied = fixed_point(&mut kernels, &[Box::new(GpuTransform::default())], None);
    assert_eq!(applied.iter().map(|tally| tally.applications).sum::<usize>(), 2);
    let printed = sdfg::text::print(&kernels);
    assert_eq!(printed.matches("schedule(gpu_grid)").count(), 2, "{printed}");
    assert!(printed.contains("transient array a_device0: f64[2, N] storage(gpu_global)"), "{printed}");
    let wrong = difference(&parsed(&text), &kernels);
    assert!(wrong.is_none(), "{wrong:?}\n{printed}");
    assert!(!retarget(&mut kernels, Machine::Cpu).is_empty());
    let wrong = difference(&parsed(&text), &kernels);
    assert!(wrong.is_none(), "{wrong:?}");
}

/// A call in a map of the host would start kernels in it.
#[test]
fn kernels_are_not_made_in_calls_in_scopes() {
    let text = called(
        "",
        "r",
        "map rows [r = 0:N] {",
        "rows.A -> call.a: A[0:N + 1, 0:N]
    call.b -> rows.B: B[0:N, 0:N]
    }
    A -> rows.A
    rows.B -> B",
    );
    let refusal = refuses(&text, &GpuTransform::default());
    assert!(refusal.contains("is in a scope"), "{refusal}");
}

/// Of what a caller passes, a nested SDFG may use elements only that have a value. A copy of a stencil would read corners.
#[test]
fn arguments_of_nested_sdfgs_may_have_no_values() {
    let text = |first: &str| {
        format!(
            "sdfg p {{
  symbol N: i64
  array B: f64[N, N]
  transient array T: f64[N, N]
  state s {{
    access B
    access T
    map fill [i = 0:N, j = 0:N - 1] {{
      tasklet f () -> (y) {{ y = i - 3 * j }}
      f.y -> fill.T: T[i, j]
    }}
    fill.T -> T
    nested call (a) -> (b) with (N = N) sdfg inner {{
      symbol N: i64
      array a: f64[N, N]
      array b: f64[N, N]
      {first}
      state s {{
        access a
        access b
        map m [i = 1:N - 1, j = 1:N - 1] {{
          tasklet t (n, w) -> (y) {{ y = n + 2 * w }}
          m.a -> t.n: a[i - 1, j]
          m.a -> t.w: a[i, j - 1]
          t.y -> m.b: b[i, j]
        }}
        a -> m.a
        m.b -> b
      }}
    }}
    T -> call.a: T[0:N, 0:N]
    call.b -> B: B[0:N, 0:N]
  }}
}}"
        )
    };
    let at_stencil = |text: &str| {
        let mut program = parsed(text);
        assert!(difference(&program, &program).is_none());
        let all = places(&program, &GpuTransform::default());
        let stencil = all.iter().find(|found| found.paths(&program)[0].to_string().ends_with("call/s/m"));
        let applied = apply(&mut program, &GpuTransform::default(), stencil.expect("a match"));
        applied.map(|_| difference(&parsed(text), &program)).map_err(|error| error.to_string())
    };
    let refusal = at_stencil(&text("")).expect_err("undefined elements");
    assert!(refusal.contains("is not known exactly"), "{refusal}");
    let first = "state first {
        access a
        map ones [i = 0:N, j = 0:N] {
          tasklet f () -> (y) { y = 1 }
          f.y -> ones.a: a[i, j]
        }
        ones.a -> a
      }";
    let inside = text(first).replace("nested call (a) -> (b)", "nested call (a) -> (a, b)").replace(
        "    call.b -> B: B",
        "    access T2 = T\n    call.a -> T2: T[0:N, 0:N]\n    call.b -> B: B",
    );
    let found = at_stencil(&inside).unwrap_or_else(|error| panic!("{error}"));
    assert!(found.is_none(), "{found:?}");
}

/// Kernels are given the values of scalars that the host writes. What other kernels compute stays on the device.
#[test]
fn scalars_of_the_host_are_given_by_value() {
    let text = |before: &str| {
        format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  scalar alpha: f64
  transient scalar s: f64
  {before}
  state main {{
    access A
    access B
    access alpha
    access s
    map m [i = 0:N] {{
      tasklet t (x, a, z) -> (y) {{ y = a * x + z }}
      m.A -> t.x: A[i]
      m.alpha -> t.a: alpha
      m.s -> t.z: s
      t.y -> m.B: B[i]
    }}
    A -> m.A
    alpha -> m.alpha
    s -> m.s
    m.B -> B
  }}
}}"
        )
    };
    let by_host =
        "state first { access alpha; access s; tasklet t (x) -> (y) { y = 2 * x }; alpha -> t.x; t.y -> s }";
    let by_map = "state first { access A; access s; map f [i = 0:1] { tasklet t (x) -> (y) { y = x }; f.A -> t.x: A[i]; t.y -> f.s: s }; A -> f.A; f.s -> s }";
    for (before, on_device) in [(by_host, false), (by_map, true)] {
        let program = parsed(&text(before));
        let mut kernel = program.clone();
        let all = places(&program, &GpuTransform::default());
        let at_m = all.iter().find(|found| found.paths(&program)[0].to_string() == "p/main/m");
        apply(&mut kernel, &GpuTransform::default(), at_m.expect("a match"))
            .unwrap_or_else(|error| panic!("{error}"));
        let printed = sdfg::text::print(&kernel);
        assert!(printed.contains("scalar alpha: f64 storage(cpu_pinned)"), "{printed}");
        assert!(!printed.contains("alpha_device"), "{printed}");
        assert_eq!(printed.contains("s_device0"), on_device, "{printed}");
        assert_eq!(printed.contains("transient scalar s: f64 storage(cpu_pinned)"), !on_device, "{printed}");
        let wrong = difference(&program, &kernel);
        assert!(wrong.is_none(), "{wrong:?}\n{printed}");
    }
}

/// Arguments of the program have values, also in a nested SDFG, unless another node may write them beside the call.
#[test]
fn nested_sdfgs_combine_with_arguments_of_the_program() {
    let text = |beside: &str, last: &str| {
        format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N + 1]
  array B: f64[N + 1]
  state s {{
    access A
    access B
    access out = B
    {beside}
    nested call (a, b) -> (b) with (N = N) sdfg inner {{
      symbol N: i64
      array a: f64[N]
      array b: f64[N + 1]
      state s {{
        access a
        access b
        map m [i = 0:N] {{
          tasklet t (x) -> (y) {{ y = x }}
          m.a -> t.x: a[i]
          t.y -> m.b: b[(i * i) % (N + 1)] wcr(sum)
        }}
        a -> m.a
        m.b -> b
      }}
    }}
    A -> call.a: A[0:N]
    B -> call.b: B[0:N + 1]
    call.b -> out: B[0:N + 1]
    {last}
  }}
}}"
        )
    };
    let ordered = "access first = B
    tasklet g () -> (y) { y = 7 }
    g.y -> first: B[N]
    order first -> B";
    let behind = "tasklet h (x) -> (y) { y = 2 * x }
    access end = A
    out -> h.x: B[0]
    h.y -> end: A[0]
    order call -> h";
    for (beside, last) in [("", ""), (ordered, ""), ("", behind)] {
        let kernel = applies(&text(beside, last), &GpuTransform::default());
        assert!(kernel.contains("wcr(sum)") && kernel.contains("gpu_grid"), "{kernel}");
    }
    for beside in [
        ordered.replace("order first -> B", ""),
        "access V = A\n    access first = B\n    V -> first: A[0] -> B[N]".to_owned(),
    ] {
        let refusal = refuses(&text(&beside, ""), &GpuTransform::default());
        assert!(refusal.contains("is an argument that the caller may use beside the call"), "{refusal}");
    }
}

/// Copies of all elements between the first and the last that a map reads: another map may write some of them meanwhile.
#[test]
fn copies_do_not_read_what_another_map_writes() {
    let rows = |other: &str| {
        format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N + 2]
  state s {{
    access A
    access X = A
    map rest [i = 2:N + 2] {{
      tasklet f (x, z) -> (y) {{ y = x - z }}
      rest.A -> f.x: A[i]
      rest.A -> f.z: A[0]
      f.y -> rest.A: A[i]
    }}
    tasklet g () -> (y) {{ y = 3 }}
    A -> rest.A
    rest.A -> X
    order A -> g
    g.y -> X: A[{other}]
  }}
}}"
        )
    };
    let refusal = refuses_rightly(&rows("1"), &GpuTransform::default());
    assert!(refusal.contains("have no order, and may touch the same element"), "{refusal}");
    // The write comes before the map.
    let before =
        rows("1").replace("order A -> g\n    g.y -> X", "access Y = A\n    order Y -> A\n    g.y -> Y");
    applies(&before, &GpuTransform::default());
}

/// Another schedule, or no map, would leave code of the host over data of the device.
#[test]
fn kernels_keep_their_schedule() {
    let kernel = applies(&program("i = 0:N, j = 0:N", PLAIN), &GpuTransform::default());
    let refusal = refuses_rightly(&kernel, &MapSchedule::new("sequential"));
    assert!(refusal.contains("brings its contents to a device"), "{refusal}");
    let kernel = applies(
        &program("i = 0:2, j = 0:1", PLAIN)
            .replace("[N, N]", "[N + 2, N + 2]")
            .replace("[N + 1, N]", "[N + 3, N + 2]"),
        &GpuTransform::default(),
    );
    let refusal = refuses_rightly(&kernel, &MapUnroll::default());
    assert!(refusal.contains("brings its contents to a device"), "{refusal}");
}

/// A map in a kernel is for the threads of a block, if no other map around it is.
#[test]
fn maps_in_kernels_are_for_threads_of_blocks() {
    let blocks = MapSchedule::new("gpu_block");
    let host = "sdfg p {
  symbol N: i64
  array A: f64[N, 4, 8]
  state s {
    access A
    map m [i = 0:N] {
      map n [j = 0:4] {
        map o [k = 0:8] {
          tasklet t () -> (y) { y = 1 }
          t.y -> o.A: A[i, j, k]
        }
        o.A -> n.A
      }
      n.A -> m.A
    }
    m.A -> A
  }
}";
    let refusal = refuses(host, &blocks);
    assert!(refusal.contains("is in no kernel of a GPU"), "{refusal}");
    let before = parsed(&applies(host, &GpuTransform::default()));
    let mut program = before.clone();
    let all = places(&program, &blocks);
    assert_eq!(all.len(), 3);
    let refusal = apply(&mut program, &blocks, &all[0]).map(|_| ()).expect_err("a kernel").to_string();
    assert!(refusal.contains("brings its contents to a device"), "{refusal}");
    apply(&mut program, &blocks, &all[1]).unwrap_or_else(|error| panic!("{error}"));
    assert!(sdfg::text::print(&program).contains("map n [j = 0:4] schedule(gpu_block)"));
    assert!(difference(&before, &program).is_none());
    let refusal = apply(&mut program, &blocks, &all[2]).map(|_| ()).expect_err("a thread").to_string();
    assert!(refusal.contains("is in a map for the threads of a block"), "{refusal}");
}

/// The editor refuses a kernel after copies of what it reads were made, since not all of the written elements are known. The
/// edges that are put back stand in another order: a choice of the first container must not depend on it.
#[test]
fn a_refusal_changes_no_later_choice() {
    let text = "sdfg p {
  symbol N: i64
  array A: f64[N, N]
  array D: f64[N, N]
  array B: f64[N * N]
  state s {
    access A
    access D
    access B
    map m [i = 0:N] schedule(sequential) {
      map n [j = 0:1] {
        tasklet t (x, z) -> (y) { y = x + z }
        n.A -> t.x: A[i, j]
        n.D -> t.z: D[j, i]
        t.y -> n.B: B[i * i]
      }
      m.A -> n.A
      m.D -> n.D
      n.B -> m.B
    }
    A -> m.A
    D -> m.D
    m.B -> B
  }
}";
    let fresh = parsed(text);
    let mut refused = fresh.clone();
    let at_outer = places(&fresh, &GpuTransform::default()).remove(0);
    let error = apply(&mut refused, &GpuTransform::default(), &at_outer).expect_err("a refusal").to_string();
    assert!(error.contains("not known exactly"), "{error}");
    let [chosen, other] = [fresh, refused].map(|mut program| {
        let found = places(&program, &LocalStorage::default()).remove(0);
        apply(&mut program, &LocalStorage::default(), &found).unwrap_or_else(|error| panic!("{error}"));
        sdfg::text::print(&program)
    });
    assert_eq!(chosen, other);
    assert!(chosen.contains("A_local0"), "{chosen}");
}

/// What is combined with elements of the caller, and what is pushed to its streams, meets what runs beside the call.
#[test]
fn kernels_in_calls_combine_with_nothing_that_runs_beside_the_call() {
    let program = |beside: &str| {
        format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  state s {{
    access B
    nested k () -> (Y) with (N = N) sdfg inner {{
      symbol N: i64
      array Y: f64[N]
      state t {{
        access Y
        map m [i = 0:N] {{
          tasklet u () -> (y) {{ y = 1.0 }}
          u.y -> m.Y: Y[i] wcr(sum)
        }}
        m.Y -> Y
      }}
    }}
    k.Y -> B
{beside}
  }}
}}"
        )
    };
    let alone = applies(&program(""), &GpuTransform::default());
    assert!(alone.contains("schedule(gpu_grid)"), "{alone}");
    let beside = program(
        "    access B2 = B
    tasklet q () -> (y) { y = 1.0 }
    q.y -> B2: B[0] wcr(sum)",
    );
    let refused = refuses(&beside, &GpuTransform::default());
    assert!(refused.contains("`Y` is an argument that the caller may use beside the call"), "{refused}");
}
