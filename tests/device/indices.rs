//! Indices of kernels: 32 bits where every element has such an index, else 64.

use sdfg::dtype::ScalarType;
use sdfg::interpret::Arguments;
use sdfg::tensor::Tensor;
use sdfg_codegen::source::{SourceOptions, cuda_source};
use sdfg_programs::random::Device;

use crate::device::{interpreted, number, on_device, parsed, plan_of};

/// Two kernels write the last and the first elements of a large transient, and the third one reads the last ones.
fn last_elements(size: &str) -> String {
    format!(
        "sdfg last {{
  symbol N: i64
  array out: u8[8]
  transient array large: u8[{size}] storage(gpu_global)
  transient array read: u8[8] storage(gpu_global)
  state last {{
    map m [i = 0:8] schedule(gpu_grid) {{
      tasklet t () -> (o) {{ o = u8(i + 1) }}
      order m -> t
      t.o -> m.large: large[{size} - 8 + i]
    }}
    access large
    m.large -> large
  }}
  state first {{
    map m [i = 0:8] schedule(gpu_grid) {{
      tasklet t () -> (o) {{ o = u8(100 + i) }}
      order m -> t
      t.o -> m.large: large[i]
    }}
    access large
    m.large -> large
  }}
  state read {{
    access large
    access read
    access out
    map m [i = 0:8] schedule(gpu_grid) {{
      tasklet t (a) -> (o) {{ o = a }}
      m.large -> t.a: large[{size} - 8 + i]
      t.o -> m.read: read[i]
    }}
    large -> m.large
    m.read -> read
    read -> out: read[0:8] -> out[0:8]
  }}
}}"
    )
}

/// Elements behind the first 2^32 ones, which indices of 32 bits would take for the first ones. The size is a symbol or a number.
pub(crate) fn elements_beyond_32_bits_are_reached(device: Device) {
    const LARGE: i64 = (1 << 32) + 8;
    for (size, n) in [("N", LARGE), ("N", 64), (&*LARGE.to_string(), 0)] {
        let out = Tensor::zeros(ScalarType::U8.into(), vec![8]).expect("a small tensor");
        let given = Arguments::new().with_symbol("N", n).with("out", out);
        let found = on_device(&parsed(&last_elements(size)), &given, device);
        let found: Vec<f64> = found.get("out").expect("the argument").values().map(number).collect();
        let expected: Vec<f64> = (1..=8).map(f64::from).collect();
        assert_eq!(found, expected, "N = {n}, size {size}");
    }
}

/// Quotients, remainders and extrema of numbers below zero are those of 64 bits, in both versions: 12 elements have narrow indices here.
pub(crate) fn parts_of_indices_may_be_negative(device: Device) {
    let text = "sdfg parts {
  symbol N: i64
  array A: i64[N, 3] storage(gpu_global)
  array B: i64[N, 3] storage(gpu_global)
  state s {
    access A
    access B
    map m [i = 0:N, j = 0:3] schedule(gpu_grid) {
      tasklet t (a) -> (o) { o = 10 * a + i - j }
      m.A -> t.a: A[(i - 5) // 2 - (i - 7) // 2 + max(i - 2, 0), (j - 4) % 3]
      t.o -> m.B: B[N - 1 - i, (j - 4) % 3]
    }
    A -> m.A
    m.B -> B
  }
}";
    let program = parsed(text);
    for n in [4, 9] {
        let tensor = |value: fn(i64) -> i64| {
            let bytes = (0..3 * n).flat_map(|at| value(at).to_le_bytes()).collect();
            Tensor::from_bytes(ScalarType::I64.into(), vec![n, 3], bytes).expect("as many bytes")
        };
        let given = Arguments::new().with_symbol("N", n).with("A", tensor(|at| at)).with("B", tensor(|_| 0));
        let (expected, found) = (interpreted(&program, &given), on_device(&program, &given, device));
        let values =
            |of: &Arguments| of.get("B").expect("the argument").values().map(number).collect::<Vec<_>>();
        assert_eq!(values(&found), values(&expected), "N = {n}");
    }
}

/// Literals beyond 32 bits in indices: as 64 bits, they would not wrap with what they are combined with.
pub(crate) fn large_literals_wrap_with_other_indices(device: Device) {
    let program = parsed(
        "sdfg literals {
  array out: u8[4]
  transient array E: u8[4000000000] storage(gpu_global)
  transient array D: u8[4, 1000000000] storage(gpu_global)
  transient array H: u8[4] storage(gpu_global)
  state write {
    access E
    access D
    map m [i = 0:4] schedule(gpu_grid) {
      tasklet t () -> (o, p) { o = u8(i + 1); p = u8(10 * i) }
      order m -> t
      t.o -> m.E: E[3999999999 - i]
      t.p -> m.D: D[i, 999999999]
    }
    m.E -> E
    m.D -> D
  }
  state read {
    access E
    access D
    access H
    access out
    map m [i = 0:4] schedule(gpu_grid) {
      tasklet t (x, y) -> (o) { o = x[i] + y[3] }
      m.E -> t.x: E[3999999999:3999999995:-1]
      m.D -> t.y: D[0:4, 999999999]
      t.o -> m.H: H[i]
    }
    E -> m.E
    D -> m.D
    m.H -> H
    H -> out
  }
}",
    );
    let out = Tensor::zeros(ScalarType::U8.into(), vec![4]).expect("a small tensor");
    let found = on_device(&program, &Arguments::new().with("out", out), device);
    let found: Vec<f64> = found.get("out").expect("the argument").values().map(number).collect();
    assert_eq!(found, [31.0, 32.0, 33.0, 34.0]);
}

/// Arguments with strides may have more memory than their size says.
#[test]
fn launches_compare_what_strides_reach() {
    let text = "sdfg strided {
  symbol N: i64
  symbol S: i64
  array A: f64[N, N] strides(S, 1) storage(gpu_global)
  state s {
    access A
    access B = A
    map m [i = 0:N] schedule(gpu_grid) {
      tasklet t (a) -> (o) { o = 2 * a }
      m.A -> t.a: A[i, 0]
      t.o -> m.B: A[i, 0]
    }
    A -> m.A
    m.B -> B
  }
}";
    let plan = plan_of(&parsed(text), Device::Cuda).unwrap_or_else(|error| panic!("{error}"));
    let text = cuda_source(&plan, &SourceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let condition = text.lines().find(|line| line.contains("<= SDFG_NARROW_ELEMENTS")).expect("a condition");
    assert_eq!(condition.matches("<= SDFG_NARROW_ELEMENTS").count(), 2, "{condition}");
    assert!(condition.contains("* S"), "{condition}");
}

/// Known sizes need one version of a kernel, symbols two, and checked kernels have 64 bits.
#[test]
fn versions_of_kernels_follow_the_sizes() {
    let versions = |size: &str| {
        let plan =
            plan_of(&parsed(&last_elements(size)), Device::Cuda).unwrap_or_else(|error| panic!("{error}"));
        let text = cuda_source(&plan, &SourceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        let kernels: Vec<&str> = text.lines().filter(|line| line.starts_with("static __global__ ")).collect();
        let wide = kernels.iter().filter(|line| line.contains("_wide(")).count();
        let narrow = text.lines().filter(|line| line.trim_start().starts_with("for (uint32_t ")).count();
        (kernels.len(), wide, narrow)
    };
    assert_eq!(versions("N"), (6, 3, 3));
    assert_eq!(versions("4294967295"), (3, 0, 3));
    assert_eq!(versions("4294967296"), (3, 0, 0));
}
