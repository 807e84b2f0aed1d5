//! Loops over columns: vectors without a look at the distance of elements, unless that may be one.
#![cfg(target_arch = "x86_64")]

use sdfg::validate::validate;
use sdfg_codegen::llvm::{CompileOptions, Cpu, llvm_ir};
use sdfg_codegen::lower::{LowerOptions, Target, lower};

/// The code that finds the largest element of a column of an array with these properties.
fn code(array: &str) -> String {
    let text = format!(
        "sdfg p float(fast) {{
  symbol N: i64
  symbol M: i64
  symbol S: i64
  array A: {array}
  array C: i32[M]
  array R: i32[1]
  state s {{
    access A
    access C
    access R
    map m [i = 0:M - 3] schedule(sequential) {{
      tasklet t (a, c) -> (o) {{ o = a + c }}
      m.A -> t.a: A[i + 1, 2]
      m.C -> t.c: C[i]
      t.o -> m.R: R[0] wcr(max)
    }}
    A -> m.A
    C -> m.C
    m.R -> R
  }}
}}"
    );
    let program = validate(sdfg::text::parse("p.sdft", &text).unwrap()).unwrap();
    let plan = lower(&program, &Target::cpu(), &LowerOptions::default()).unwrap();
    let cpu = Cpu::Named { name: "sapphirerapids".to_owned(), features: String::new() };
    llvm_ir(&plan, &CompileOptions { cpu, ..CompileOptions::default() }, true).unwrap()
}

/// PolyBench's `nussinov` is 1.6 times faster with vectors of elements of a column.
#[test]
fn rows_of_one_element_are_not_prepared_for() {
    let packed = code("i32[M, N]");
    assert!(packed.contains("llvm.vector.reduce.smax"), "{packed}");
    assert!(!packed.contains("ident.check"), "{packed}");
    // An extent that is a stride as well.
    let padded = code("i32[M, N] strides(N, 1)");
    assert!(!padded.contains("ident.check"), "{padded}");
    // The caller passes the stride, which may be that of neighbours.
    let free = code("i32[M, N] strides(S, 1)");
    assert!(free.contains("ident.check"), "{free}");
}
