//! Tests of the aliasing assumptions about memory with two names.

use sdfg::validate::validate;

use crate::llvm::{CompileOptions, llvm_ir};
use crate::lower::{LowerOptions, Target, lower};

#[test]
fn what_a_reference_may_name_is_not_noalias() {
    let source = "sdfg p {
  symbol N: i64
  array A: i64[N]
  array B: i64[N]
  array C: i64[N]
  reference R: i64[N]
  state set { access A; access R; bind A -> R: A[0:N] }
  state s { access A; access R; access C; access B
    map m [i = 0:N] {
      tasklet t (x, y) -> (z, w) { z = x; w = y }
      m.A -> t.x: A[i]
      m.C -> t.y: C[i]
      t.z -> m.B: B[i]
      t.w -> m.R: R[i] wcr(sum)
    }
    A -> m.A
    C -> m.C
    m.B -> B
    m.R -> R }
}";
    let program = sdfg::text::parse("program.sdft", source).unwrap();
    let plan = lower(
        &validate(program).unwrap_or_else(|rejected| panic!("{rejected}")),
        &Target::cpu(),
        &LowerOptions::default(),
    )
    .unwrap();
    let text = llvm_ir(&plan, &CompileOptions::default(), false).unwrap();
    for function in ["@p.body(", "@p.parallel0("] {
        let is_definition = |line: &&str| line.starts_with("define") && line.contains(function);
        let definition = text.lines().find(is_definition).unwrap();
        let parameters: Vec<&str> = definition.split(['(', ',', ')']).collect();
        let parameter = |name: &str| parameters.iter().find(|parameter| parameter.ends_with(name));
        for (name, is_alone) in [("%A", false), ("%R", false), ("%B", true), ("%C", true)] {
            if let Some(parameter) = parameter(name) {
                assert_eq!(parameter.contains("noalias"), is_alone, "{definition}");
            } else {
                assert!(name == "%R" && function == "@p.body(", "{name} in {definition}");
            }
        }
    }
}

/// Iterations of a consume scope leave each other what they wrote before they pushed: the optimiser must not keep it in registers. Nobody
/// writes what they only read.
#[test]
fn what_iterations_hand_on_is_not_noalias() {
    let source = "sdfg p {
  array A: i64[8]
  array B: i64[8]
  transient stream S: i64
  state fill { access S; tasklet t () -> (s) { s = 7 }; t.s -> S: S }
  state work { access S; access more = S; access A; access B; access after = A
    consume c [p = 0:4] {
      tasklet t (x, a, b) -> (o, next) {
        o[0] = a[0] + b[x]
        if x > 0: next = x - 1
      }
      c.stream -> t.x: S
      c.A -> t.a: A[0:8] dynamic
      c.B -> t.b: B[0:8] dynamic
      t.o -> c.A: A[0:8] dynamic
      t.next -> c.S: S dynamic
    }
    S -> c.stream
    A -> c.A
    B -> c.B
    c.S -> more
    c.A -> after }
}";
    let program = sdfg::text::parse("program.sdft", source).unwrap();
    let plan = lower(&validate(program).unwrap(), &Target::cpu(), &LowerOptions::default()).unwrap();
    let text = llvm_ir(&plan, &CompileOptions::default(), false).unwrap();
    let is_definition = |line: &&str| line.starts_with("define") && line.contains("@p.parallel0(");
    let definition = text.lines().find(is_definition).unwrap();
    let parameters: Vec<&str> = definition.split(['(', ',', ')']).collect();
    for (name, is_alone) in [("%A", false), ("%B", true)] {
        let parameter = parameters.iter().find(|parameter| parameter.ends_with(name)).unwrap();
        assert_eq!(parameter.contains("noalias"), is_alone, "{definition}");
    }
}
