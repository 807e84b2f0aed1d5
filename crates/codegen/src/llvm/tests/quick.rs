//! Tests of code that loops of a program share, and of the fused operations of the quick level.

use sdfg::ir::FloatMode;
use sdfg::validate::validate;

use crate::llvm::{CompileOptions, OptLevel, llvm_ir};
use crate::lower::{Target, lower};

/// The LLVM IR of two maps that compute `C = A * B + A`; no tasklet names `M`.
fn text_of(options: &CompileOptions, optimised: bool) -> String {
    let state = |name: &str| {
        format!(
            "  state {name} {{ access A; access B; access C
    map m [i = 0:N] {{
      tasklet t (a, b) -> (c) {{ c = a * b + a }}
      m.A -> t.a: A[i]
      m.B -> t.b: B[i]
      t.c -> m.C: C[i]
    }}
    A -> m.A
    B -> m.B
    m.C -> C }}
"
        )
    };
    let declarations =
        "  symbol N: i64\n  symbol M: i64\n  array A: f64[N]\n  array B: f64[N]\n  array C: f64[N]\n";
    let source = format!("sdfg p {{\n{declarations}{}{}}}", state("a"), state("b"));
    let program = sdfg::text::parse("program.sdft", &source).unwrap();
    let program = validate(program).unwrap_or_else(|rejected| panic!("{rejected}"));
    llvm_ir(&lower(&program, &Target::cpu(), &options.lowering()).unwrap(), options, optimised).unwrap()
}

#[test]
fn loops_share_what_starts_teams() {
    let text = text_of(&CompileOptions::default(), false);
    assert_eq!(text.matches("call void @GOMP_parallel").count(), 1, "{text}");
    assert_eq!(text.matches("call void @p.launch").count(), 2, "{text}");
}

#[test]
fn functions_of_loops_get_only_the_symbols_that_are_used() {
    let text = text_of(&CompileOptions::default(), false);
    let team =
        text.lines().find(|line| line.starts_with("define") && line.contains("@p.parallel0(")).unwrap();
    // Handle, thread, threads, counter, `N`, three arrays.
    assert_eq!(team.split(", ").count(), 8, "{team}");
}

#[test]
fn the_quick_level_vectorises_and_fuses_where_that_is_allowed() {
    for (mode, fuses) in [(FloatMode::Strict, false), (FloatMode::Contract, true)] {
        let options =
            CompileOptions { level: OptLevel::Quick, floats: Some(mode), ..CompileOptions::default() };
        let text = text_of(&options, true);
        let of_vectors =
            |name: &str| text.lines().any(|line| line.contains(name) && line.contains(" x double> %"));
        assert_eq!(of_vectors("@llvm.fmuladd.v"), fuses, "{text}");
        assert_eq!(of_vectors(" = fmul "), !fuses, "{text}");
    }
}
