//! Tests of dependences between edges of programs.

use sdfg_graph::analysis::ScopeTree;
use sdfg_graph::analysis::SymbolFacts;
use sdfg_graph::analysis::dependence::{AccessMode, Dependence, StateDependence, carried_by_loop};
use sdfg_graph::analysis::is_leaf;
use sdfg_graph::ir::{EdgeId, Sdfg, StateId};
use sdfg_language::dtype::ScalarType;
use sdfg_language::symbolic::{Assumptions, Expr, Symbol, Truth};

use crate::builder::SdfgBuilder;

/// The leaf edge with a memlet end of this text, such as `A[i]`, that reads or writes.
fn find(sdfg: &Sdfg, text: &str, mode: AccessMode) -> (StateId, EdgeId) {
    for (id, state) in sdfg.states() {
        for (edge, content) in state.edges().filter(|(edge, _)| is_leaf(state, *edge)) {
            let access = match mode {
                AccessMode::Read => content.memlet.read_access(),
                AccessMode::Write => content.memlet.write_access(),
            };
            if let Some(access) = access
                && format!("{}[{}]", sdfg.container(access.container).name, access.subset()) == text
            {
                return (id, edge);
            }
        }
    }
    panic!("no memlet {text}");
}

/// An element of `A` as [`find`] looks for it.
fn element(index: &str) -> String {
    format!("A[{}]", index.parse::<Expr>().unwrap())
}

fn known() -> Assumptions {
    let mut known = Assumptions::new();
    known.nonnegative(Symbol::of("N"));
    known
}

/// Compares two ends in the first state: in different iterations of the scope of this label, or in the same iteration.
fn compare(sdfg: &Sdfg, scope: Option<&str>, ends: [(&str, AccessMode); 2]) -> Dependence {
    let (_, state) = sdfg.states().next().unwrap();
    let tree = ScopeTree::of(state);
    let analysis = StateDependence::new(sdfg, state, &tree, known());
    let [first, second] = ends.map(|(text, mode)| (find(sdfg, text, mode).1, mode));
    match scope {
        Some(label) => analysis.between_iterations(state.find(label).unwrap(), first, second),
        None => analysis.within_iteration(first, second),
    }
}

use AccessMode::{Read, Write};

#[test]
fn iterations_of_a_map() {
    let mut b = SdfgBuilder::new("p");
    b.symbol("N");
    for name in ["A", "B"] {
        b.array(name, ScalarType::F64, ["N + 9", "N + 9"]);
    }
    b.state("s", |s| {
        s.map("rows", [("i", "0:N + 2")], |s| {
            s.map("cells", [("j", "0:i + 1")], |s| {
                s.tasklet("t")
                    .input("a", "A[i, j]")
                    .input("b", "A[j, 0]")
                    .output("o", "A[i + 1, j]")
                    .output("p", "B[i, 0]")
                    .code("o = a + b\np = a");
            });
        });
    });
    let sdfg = b.finish().unwrap();
    let exists = |scope, ends| compare(&sdfg, scope, ends).exists;
    let rows = Some("rows");
    assert_eq!(exists(rows, [("A[i + 1, j]", Write), ("A[i + 1, j]", Write)]), Truth::Refuted);
    assert_eq!(exists(rows, [("A[i, j]", Read), ("A[i + 1, j]", Write)]), Truth::Proved);
    assert_eq!(exists(rows, [("A[j, 0]", Read), ("A[i + 1, j]", Write)]), Truth::Proved);
    assert_eq!(exists(rows, [("B[i, 0]", Write), ("B[i, 0]", Write)]), Truth::Refuted);
    let cells = Some("cells");
    assert_eq!(exists(cells, [("A[i, j]", Read), ("A[i + 1, j]", Write)]), Truth::Refuted);
    assert_eq!(exists(cells, [("B[i, 0]", Write), ("B[i, 0]", Write)]), Truth::Proved);
    // Different containers are different memory.
    assert_eq!(exists(rows, [("B[i, 0]", Write), ("A[j, 0]", Read)]), Truth::Refuted);
}

#[test]
fn unordered_nodes() {
    let mut b = SdfgBuilder::new("p");
    b.symbol("N");
    for name in ["A", "B"] {
        b.array(name, ScalarType::F64, ["N + 9"]);
    }
    b.state("s", |s| {
        s.map("even", [("i", "0:N:2")], |s| {
            s.tasklet("t").output("o", "A[i]").code("o = 1.0");
        });
        s.map("odd", [("i", "1:N:2")], |s| {
            s.tasklet("u").output("o", "A[i + 0*N]").output("p", "B[2*i]").code("o = 2.0\np = 2.0");
        });
        s.tasklet("one")
            .output("o", "A[N]")
            .output("p", "B[2]")
            .output("q", "B[0:4]")
            .code("o = 1.0\np = 2.0");
    });
    let sdfg = b.finish().unwrap();
    let (_, state) = sdfg.states().next().unwrap();
    let tree = ScopeTree::of(state);
    let analysis = StateDependence::new(&sdfg, state, &tree, known());
    let writes: Vec<EdgeId> = state
        .edges()
        .filter(|(edge, content)| is_leaf(state, *edge) && content.memlet.write_access().is_some())
        .map(|(edge, _)| edge)
        .collect();
    let mut found = Vec::new();
    for (at, first) in writes.iter().enumerate() {
        for second in &writes[at + 1..] {
            let text = |edge: &EdgeId| {
                let access = state.edge(*edge).memlet.write_access().unwrap();
                format!("{}[{}]", sdfg.container(access.container).name, access.subset())
            };
            let exists = analysis.within_iteration((*first, Write), (*second, Write)).exists;
            found.push(format!("{} {} {exists:?}", text(first), text(second)));
        }
    }
    // Pairs of different containers are left out. What a tasklet does with a pointer such as `B[0:4]` is its own affair.
    found.retain(|line| line.matches('A').count() != 1);
    insta::assert_snapshot!(found.join("\n"), @"
    A[i] A[i] Refuted
    A[i] A[N] Refuted
    A[i] A[N] Refuted
    B[2*i] B[2] Unknown
    B[2*i] B[0:4] Unknown
    B[2] B[0:4] Unknown
    ");
}

#[test]
fn symbols_that_data_gives_may_differ() {
    let mut b = SdfgBuilder::new("p");
    b.symbol("N");
    b.array("row", ScalarType::I64, ["N + 1"]);
    b.array("y", ScalarType::F64, ["N"]);
    b.array("v", ScalarType::F64, ["N"]);
    b.state("s", |s| {
        s.map("rows", [("i", "0:N")], |s| {
            s.map_scope("entries", [("j", "begin:end")])
                .bind("begin", "row[i]")
                .bind("end", "row[i + 1]")
                .body(|s| {
                    s.tasklet("t")
                        .output("v", "v[j]")
                        .output("w", "v[begin]")
                        .output("o", "y[i]")
                        .code("o = 1.0\nv = 1.0\nw = 1.0");
                });
        });
    });
    let sdfg = b.finish().unwrap();
    let exists = |scope, ends| compare(&sdfg, Some(scope), ends).exists;
    assert_eq!(exists("rows", [("v[j]", Write), ("v[j]", Write)]), Truth::Unknown);
    assert_eq!(exists("rows", [("v[begin]", Write), ("v[begin]", Write)]), Truth::Unknown);
    assert_eq!(exists("rows", [("y[i]", Write), ("y[i]", Write)]), Truth::Refuted);
    assert_eq!(exists("entries", [("v[j]", Write), ("v[j]", Write)]), Truth::Refuted);
    // All iterations read `begin` once, but how many there are is not known.
    assert_eq!(exists("entries", [("v[begin]", Write), ("v[begin]", Write)]), Truth::Unknown);
}

#[test]
fn loops_carry_dependences() {
    let mut b = SdfgBuilder::new("p");
    b.symbol("N");
    b.array("A", ScalarType::F64, ["2", "N + 5"]);
    b.for_loop("steps", "t", "0:10", |b| {
        b.state("step", |s| {
            s.mapped_tasklet(
                "cells",
                [("i", "0:N + 2")],
                [("a", "A[t % 2, i]"), ("c", "A[0, i + 1]")],
                "o = a + c",
                [("o", "A[(t + 1) % 2, i]")],
            );
        });
    });
    let sdfg = b.finish().unwrap();
    let repeated = sdfg.find_block("steps").unwrap();
    let carried = |first: (&str, AccessMode), second: (&str, AccessMode)| {
        let end = |(text, mode)| {
            let (state, edge) = find(&sdfg, text, mode);
            (state, edge, mode)
        };
        carried_by_loop(&sdfg, &SymbolFacts::of(&sdfg), repeated, end(first), end(second))
    };
    let flow = carried(("A[(t + 1) % 2, i]", Write), ("A[t % 2, i]", Read));
    assert_eq!(flow.exists, Truth::Proved);
    let cells: Vec<(&str, bool, bool, bool)> =
        flow.distances.iter().map(|d| (d.symbol.as_str(), d.greater, d.equal, d.less)).collect();
    assert_eq!(cells, [("t", true, false, false), ("i", false, true, false)]);
    assert_eq!(carried(("A[0, i + 1]", Read), ("A[0, i + 1]", Read)).distances[1].exact, Some(0.into()));
}

#[test]
fn conditions_around_a_loop_are_known_in_it() {
    let program = |condition: &str| {
        let text = format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[64]

  if far: {condition} {{
    for steps: t = 0:8 {{
      state step {{
        access A
        access B = A
        tasklet next (a) -> (o) {{ o = a + 1 }}
        A -> next.a: A[t]
        next.o -> B: A[t + N]
      }}
    }}
  }}
}}"
        );
        sdfg_graph::text::parse("p.sdft", &text).unwrap()
    };
    let carried = |condition: &str| {
        let sdfg = program(condition);
        let end = |text: &str, mode| {
            let (state, edge) = find(&sdfg, text, mode);
            (state, edge, mode)
        };
        let repeated = sdfg.find_block("steps").unwrap();
        carried_by_loop(
            &sdfg,
            &SymbolFacts::of(&sdfg),
            repeated,
            end(&element("t + N"), Write),
            end("A[t]", Read),
        )
        .exists
    };
    // Ten elements further on, no iteration of eight comes by.
    assert_eq!(carried("N > 9"), Truth::Refuted);
    assert_ne!(carried("N > 6"), Truth::Refuted);
    assert_ne!(carried("N != 9"), Truth::Refuted);
}

#[test]
fn a_size_that_control_flow_assigns_may_be_negative() {
    let text = "sdfg p {
  array A: f64[64]
  transient array T: f64[k]

  state first {}
  -> steps with (k = -1)
  for steps: t = 8:16 {
    state step {
      access A
      access B = A
      tasklet next (a) -> (o) { o = a + 1 }
      A -> next.a: A[t]
      next.o -> B: A[t - k - 1]
    }
  }
}";
    let sdfg = sdfg_graph::text::parse("p.sdft", text).unwrap();
    let end = |text: &str, mode| {
        let (state, edge) = find(&sdfg, text, mode);
        (state, edge, mode)
    };
    let repeated = sdfg.find_block("steps").unwrap();
    // With k = -2, the next iteration reads what this one wrote.
    let carried = carried_by_loop(
        &sdfg,
        &SymbolFacts::of(&sdfg),
        repeated,
        end(&element("t - k - 1"), Write),
        end("A[t]", Read),
    );
    assert_ne!(carried.exists, Truth::Refuted);
}
