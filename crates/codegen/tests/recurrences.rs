//! Sums of which a term comes from the previous iteration, through the whole back end.

use sdfg::validate::validate;
use sdfg_codegen::llvm::{CompileOptions, llvm_ir};
use sdfg_codegen::lower::{LowerOptions, Target, lower};

/// The code of a mean of neighbours, of which the first was computed before.
fn code(mode: &str) -> String {
    let text = format!(
        "sdfg p float({mode}) {{
  symbol N: i64
  array A: f64[N]
  for each: i = 1:N - 1 {{
    state s {{
      access A
      access A_1 = A
      tasklet t (l, c, r) -> (o) {{ o = (l + c + r) / 3.0 }}
      A -> t.l: A[i - 1]
      A -> t.c: A[i]
      A -> t.r: A[i + 1]
      t.o -> A_1: A[i]
    }}
  }}
}}"
    );
    let program = validate(sdfg::text::parse("p.sdft", &text).unwrap()).unwrap();
    let plan = lower(&program, &Target::cpu(), &LowerOptions::default()).unwrap();
    llvm_ir(&plan, &CompileOptions::default(), true).unwrap()
}

/// PolyBench's `seidel_2d` waited for six additions and a multiplication in each iteration.
#[test]
fn an_iteration_waits_for_one_operation() {
    let relaxed = code("fast");
    assert!(relaxed.contains("@llvm.fmuladd"), "{relaxed}");
    for mode in ["contract", "strict"] {
        let kept = code(mode);
        assert!(!kept.contains("@llvm.fmuladd") && kept.contains("fdiv"), "{kept}");
    }
}
