//! The race detector against enumeration: a program traps exactly if two iterations touch one element in conflict.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Options, Order, RunError, run_with};
use crate::interpret::{Arguments, TrapKind};
use crate::tensor::Tensor;

/// `a * i + b * j + c`.
type Affine = (i64, i64, i64);

/// An iteration, and whether it writes.
type Touch = ((i64, i64), bool);

/// Two nested maps, `i` outside and `j` inside, around a tasklet.
#[derive(Clone, Debug)]
struct Program {
    outer: i64,
    inner: i64,
    read: Affine,
    write: Affine,
    resolved: bool,
    /// Whether `i` is a sequential loop.
    looped: bool,
}

const SIZE: i64 = 64;
const MIDDLE: i64 = 30;

impl Program {
    fn source(&self) -> String {
        let index = |(a, b, c): Affine| format!("{a} * i + {b} * j + {}", c + MIDDLE);
        let (read, write) = (index(self.read), index(self.write));
        let resolution = if self.resolved { " wcr(sum)" } else { "" };
        let maps = format!(
            "map m [j = 0:{}] {{
        tasklet t (x) -> (y) {{ y = x }}
        m.B -> t.x: B[{read}]
        t.y -> m.A: A[{write}]{resolution}
      }}",
            self.inner
        );
        if self.looped {
            return format!(
                "sdfg p {{\n  array A: f64[{SIZE}]\n  for l: i = 0:{} {{
    state s {{
      access b = A
      access a = A
      {}
      b -> m.B
      m.A -> a
    }}\n  }}\n}}",
                self.outer,
                maps.replace("B[", "A[")
            );
        }
        format!(
            "sdfg p {{\n  array A: f64[{SIZE}]\n  state s {{
    access b = A
    access a = A
    map o [i = 0:{}] {{
      {}
      o.B -> m.B
      m.A -> o.A
    }}
    b -> o.B
    o.A -> a\n  }}\n}}",
            self.outer,
            maps.replace("B[", "A[")
        )
    }

    /// Whether two iterations that nothing orders conflict, by enumeration.
    fn conflicts(&self) -> bool {
        let at = |(a, b, c): Affine, i: i64, j: i64| a * i + b * j + c;
        // For each element, the iterations that read and that write it.
        let mut elements: BTreeMap<i64, Vec<Touch>> = BTreeMap::new();
        for i in 0..self.outer {
            for j in 0..self.inner {
                elements.entry(at(self.read, i, j)).or_default().push(((i, j), false));
                elements.entry(at(self.write, i, j)).or_default().push(((i, j), true));
            }
        }
        elements.values().any(|touches| {
            touches.iter().any(|(p, p_writes)| {
                touches.iter().any(|(q, q_writes)| {
                    let unordered = p != q && (!self.looped || p.0 == q.0);
                    let conflict = p_writes != q_writes || *p_writes && !self.resolved;
                    unordered && conflict
                })
            })
        })
    }
}

fn affine() -> impl Strategy<Value = Affine> {
    (-3_i64..=3, -3_i64..=3, -4_i64..=4)
}

fn programs() -> impl Strategy<Value = Program> {
    (1_i64..4, 1_i64..4, affine(), affine(), any::<bool>(), any::<bool>()).prop_map(
        |(outer, inner, read, write, resolved, looped)| Program {
            outer,
            inner,
            read,
            write,
            resolved,
            looped,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn traps_exactly_if_iterations_conflict(program in programs(), seed in 0_u64..4) {
        let order = if seed == 0 { Order::Fixed } else { Order::Random(seed) };
        let source = program.source();
        let mut arguments = Arguments::new().with("A", Tensor::vector(&[1.0; SIZE as usize]));
        let parsed = crate::text::parse("test.sdft", &source).expect("generated programs parse");
        // Validation proves some of the conflicts; those are not for the interpreter to find.
        if let Err(rejected) = crate::validate::validate(parsed) {
            prop_assert!(program.conflicts(), "{rejected}\n{source}");
            return Ok(());
        }
        let found = run_with(&source, &mut arguments, &Options { order, ..Options::default() });
        match found {
            Ok(_) => prop_assert!(!program.conflicts(), "no conflict was found in\n{}", source),
            Err(RunError::Trap(trap)) if matches!(trap.kind, TrapKind::Conflict { .. }) => {
                prop_assert!(program.conflicts(), "{}\n{}", trap, source);
            }
            Err(error) => prop_assert!(false, "{}\n{}", error, source),
        }
    }
}
