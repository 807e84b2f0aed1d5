//! Tests of the race detector against enumeration: a program traps exactly if two iterations access one
//! element in conflict.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Options, Order, RunError};
use crate::tensor::Tensor;
use crate::{Arguments, Interpreter, TrapKind};

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

/// Tasklets that each read one element and write one, with edges that order some of them.
#[derive(Clone, Debug)]
struct Graph {
    /// What each tasklet reads and writes, and whether the write is resolved.
    tasklets: Vec<(usize, usize, bool)>,
    /// Which pairs have an edge from the first to the second, by position in the upper triangle.
    edges: Vec<bool>,
}

impl Graph {
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let n = self.tasklets.len();
        let all = (0..n).flat_map(move |i| (i + 1..n).map(move |j| (i, j)));
        all.zip(self.edges.clone()).filter(|(_, edge)| *edge).map(|(pair, _)| pair)
    }

    fn source(&self) -> String {
        let mut text = String::from("sdfg p {\n  array A: f64[4]\n  state s {\n");
        for (i, (read, write, resolved)) in self.tasklets.iter().enumerate() {
            let resolution = if *resolved { " wcr(sum)" } else { "" };
            text.push_str(&format!(
                "    access r{i} = A\n    access w{i} = A\n    tasklet t{i} (x) -> (y) {{ y = x }}\n    r{i} -> t{i}.x: A[{read}]\n    t{i}.y -> w{i}: A[{write}]{resolution}\n"
            ));
        }
        for (i, j) in self.pairs() {
            text.push_str(&format!("    order t{i} -> t{j}\n"));
        }
        text.push_str("  }\n}");
        text
    }

    fn conflicts(&self) -> bool {
        let n = self.tasklets.len();
        let mut reach = vec![vec![false; n]; n];
        self.pairs().for_each(|(i, j)| reach[i][j] = true);
        for k in 0..n {
            for i in 0..n {
                for j in 0..n {
                    reach[i][j] |= reach[i][k] && reach[k][j];
                }
            }
        }
        let clash = |i: usize, j: usize| {
            let ((_, write_i, resolved_i), (read_j, write_j, resolved_j)) =
                (self.tasklets[i], self.tasklets[j]);
            write_i == read_j || write_i == write_j && !(resolved_i && resolved_j)
        };
        (0..n).any(|i| (0..n).any(|j| i != j && !reach[i][j] && !reach[j][i] && clash(i, j)))
    }
}

fn graphs() -> impl Strategy<Value = Graph> {
    let tasklet = (0_usize..4, 0_usize..4, any::<bool>());
    (prop::collection::vec(tasklet, 2..6), prop::collection::vec(any::<bool>(), 15))
        .prop_map(|(tasklets, edges)| Graph { tasklets, edges })
}

/// Runs a generated program and holds the answer against what enumeration says.
fn check(source: &str, size: usize, conflicts: bool, seed: u64) -> Result<(), TestCaseError> {
    let order = if seed == 0 { Order::Fixed } else { Order::Random(seed) };
    let mut arguments = Arguments::new().with("A", Tensor::vector(&vec![1.0; size]));
    let parsed = sdfg_graph::text::parse("test.sdft", source).expect("generated programs parse");
    // Validation proves some of the conflicts; the interpreter has to find those, too.
    let mut interpreter = Interpreter::of(&parsed).expect("generated programs resolve");
    if let Err(rejected) = sdfg_validate::validate(parsed) {
        prop_assert!(conflicts, "{rejected}\n{source}");
    }
    match interpreter.run(&mut arguments, &Options { order, ..Options::default() }) {
        Ok(_) => prop_assert!(!conflicts, "no conflict was found in\n{}", source),
        Err(RunError::Trap(trap)) if matches!(trap.kind, TrapKind::Conflict { .. }) => {
            prop_assert!(conflicts, "{}\n{}", trap, source);
        }
        Err(error) => prop_assert!(false, "{}\n{}", error, source),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn traps_exactly_if_iterations_conflict(program in programs(), seed in 0_u64..4) {
        check(&program.source(), SIZE as usize, program.conflicts(), seed)?;
    }

    #[test]
    fn traps_exactly_if_nodes_conflict(graph in graphs(), seed in 0_u64..4) {
        check(&graph.source(), 4, graph.conflicts(), seed)?;
    }
}
