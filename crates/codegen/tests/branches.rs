//! Tests of the LLVM IR of loops whose branches store to different containers.
#![cfg(target_arch = "x86_64")]

use sdfg::validate::validate;
use sdfg_codegen::llvm::{CompileOptions, Cpu, OptLevel, llvm_ir};
use sdfg_codegen::lower::lower;

const SOURCE: &str = "sdfg p {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  array C: f64[N]
  array D: f64[N]
  state s {
    access A
    access B
    access C
    access D
    map m [i = 0:N] schedule(sequential) {
      tasklet t (b, c) -> (a, d) {
        if b < 0.0:
          a = c + 1.0
        else:
          d = c * 2.0
      }
      m.B -> t.b: B[i]
      m.C -> t.c: C[i]
      t.a -> m.A: A[i] dynamic
      t.d -> m.D: D[i] dynamic
    }
    B -> m.B
    C -> m.C
    m.A -> A
    m.D -> D
  }
}";

/// Merged before vectorisation, the stores would be one to either array, which vectors have no instruction for.
#[test]
fn stores_of_two_branches_are_vectors_with_masks() {
    let sdfg = sdfg::text::parse("p.sdft", SOURCE).unwrap_or_else(|errors| panic!("{errors:?}"));
    let program = validate(sdfg).unwrap_or_else(|rejected| panic!("{rejected}"));
    for level in [OptLevel::O2, OptLevel::O3] {
        let options = CompileOptions { level, cpu: Cpu::named("x86-64-v3"), ..CompileOptions::default() };
        let plan =
            lower(&program, &options.target(), &options.lowering()).unwrap_or_else(|error| panic!("{error}"));
        let text = llvm_ir(&plan, &options, true).unwrap_or_else(|error| panic!("{error}"));
        let stores = text.matches("call void @llvm.masked.store.v4f64").count();
        assert!(stores >= 2, "{stores} stores with masks at level {level} in\n{text}");
    }
}
