//! Tests of propagated memlets against all accesses of an enumeration.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use sdfg_graph::analysis::leaf_edges;
use sdfg_graph::ir::{Access, EdgeId, Memlet, NodeKind, Sdfg, State, StateId, Volume};
use sdfg_graph::propagate::propagate;
use sdfg_language::dtype::ScalarType;
use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::{Expr, Symbol};

use crate::builder::SdfgBuilder;

mod programs;

const F64: ScalarType = ScalarType::F64;

/// Values of the symbols.
type Point = BTreeMap<Symbol, i64>;
/// Indices of elements.
type Elements = BTreeSet<Vec<i64>>;

fn value(expr: &Expr, at: &Point) -> i64 {
    expr.eval(&|symbol| at.get(symbol).copied()).unwrap()
}

fn values(range: &Range, at: &Point) -> Vec<i64> {
    let [begin, end, step, tile] = [&range.begin, &range.end, &range.step, &range.tile].map(|e| value(e, at));
    let mut found = Vec::new();
    let mut start = begin;
    while (step > 0 && start < end) || (step < 0 && start > end) {
        found.extend(start..start + tile);
        start += step;
    }
    found
}

fn elements(subset: &Subset, at: &Point) -> Elements {
    let mut found = Elements::from([Vec::new()]);
    for range in &subset.0 {
        let values = values(range, at);
        let longer = |index: &Vec<i64>| {
            let index = index.clone();
            values.iter().map(move |v| [index.as_slice(), &[*v]].concat()).collect::<Vec<_>>()
        };
        found = found.iter().flat_map(longer).collect();
    }
    found
}

/// All points of map ranges, later ones of which may use earlier parameters.
fn points(parameters: &[(Symbol, Range)], at: &Point) -> Vec<Point> {
    let Some(((symbol, range), rest)) = parameters.split_first() else { return vec![at.clone()] };
    let inner =
        |v| points(rest, &at.iter().map(|(s, v)| (s.clone(), *v)).chain([(symbol.clone(), v)]).collect());
    values(range, at).into_iter().flat_map(inner).collect()
}

/// Checks every segment of a path of `state` against the leaves inside it, at every point of the scopes around it.
fn check_segments(sdfg: &Sdfg, id: StateId, exact: &BTreeMap<(StateId, EdgeId), bool>, at: &Point) {
    let state = sdfg.state(id);
    for (edge, _) in state.edges() {
        let Some(exact) = exact.get(&(id, edge)) else { continue };
        let leaves = leaf_edges(state, edge);
        let around = scopes(state, edge);
        for outside in points(&around, at) {
            let mut accessed = Elements::new();
            let mut moved = 0;
            for leaf in &leaves {
                let memlet = &state.edge(*leaf).memlet;
                let inside = scopes(state, *leaf).split_off(around.len());
                for point in points(&inside, &outside) {
                    accessed.extend(elements(subset(memlet), &point));
                    moved += value(memlet.volume.bound().unwrap(), &point);
                }
            }
            let memlet = &state.edge(edge).memlet;
            let derived = elements(subset(memlet), &outside);
            assert!(derived.is_superset(&accessed), "{memlet:?} at {outside:?} lacks some of {accessed:?}");
            if *exact {
                assert_eq!(derived, accessed, "{memlet:?} at {outside:?} is not exact");
            }
            match &memlet.volume {
                Volume::Exact(n) => assert_eq!(value(n, &outside), moved, "{memlet:?} at {outside:?}"),
                Volume::AtMost(n) => assert!(value(n, &outside) >= moved, "{memlet:?} at {outside:?}"),
                Volume::Dynamic => {}
            }
        }
    }
}

fn subset(memlet: &Memlet) -> &Subset {
    memlet.accesses().next().unwrap().subset()
}

/// Parameters of the scopes that an edge lies in, outermost first.
fn scopes(state: &State, edge: EdgeId) -> Vec<(Symbol, Range)> {
    let tree = sdfg_graph::analysis::ScopeTree::of(state);
    let mut entries: Vec<_> = tree.enclosing_scope(tree.scope_of_edge(state, edge)).collect();
    entries.reverse();
    let parameters = |entry| match &state.node(entry).kind {
        NodeKind::MapEntry(map) => map.params.iter().cloned().zip(map.ranges.0.clone()).collect(),
        _ => Vec::new(),
    };
    entries.into_iter().flat_map(parameters).collect()
}

/// An affine expression of `N` and the parameters before: constant, then a coefficient for each.
#[derive(Clone, Debug)]
struct Affine(i64, [i64; 4]);

impl Affine {
    fn expr(&self, names: &[&str]) -> Expr {
        names.iter().zip(self.1).fold(Expr::int(self.0), |sum, (name, c)| sum + Expr::sym(name) * c)
    }
}

/// A range by its begin, its length and step, or a single index.
#[derive(Clone, Debug)]
struct Part {
    begin: Affine,
    /// Constant and coefficient of `N`.
    length: Option<(i64, i64)>,
    step: i64,
}

impl Part {
    fn range(&self, names: &[&str]) -> Range {
        let begin = self.begin.expr(names);
        match self.length {
            None => Range::index(begin),
            Some((constant, of_n)) => {
                let length = Expr::int(constant) + Expr::sym("N") * of_n;
                let end = if self.step > 0 { &begin + length } else { &begin - length };
                Range::new(begin, end).with_step(self.step)
            }
        }
    }
}

fn affine(largest: i64) -> impl Strategy<Value = Affine> {
    let coefficient = prop_oneof![4 => Just(0i64), 3 => Just(1i64), 2 => -largest..=largest];
    (-3i64..=3, prop::array::uniform4(coefficient)).prop_map(|(c, of)| Affine(c, of))
}

/// Ranges of parameters: bounds use `N` and earlier parameters.
fn parameter() -> impl Strategy<Value = Part> {
    let step = prop_oneof![4 => Just(1i64), 1 => Just(2i64), 1 => Just(-1i64), 1 => Just(-2i64)];
    (affine(1), -2i64..=3, 0i64..=1, step).prop_map(|(begin, c, of_n, step)| Part {
        begin,
        length: Some((c, of_n)),
        step,
    })
}

/// Indices and ranges of a memlet, never of negative length.
fn index() -> impl Strategy<Value = Part> {
    let length = prop_oneof![2 => Just(None), 1 => (1i64..=3, 0i64..=1).prop_map(Some)];
    (affine(3), length, 1i64..=2).prop_map(|(begin, length, step)| Part { begin, length, step })
}

const NAMES: [&str; 4] = ["N", "i", "j", "k"];

fn program(parameters: &[Part], split: usize, memlets: &[[Part; 2]], writes: bool) -> (Sdfg, StateId) {
    let mut b = SdfgBuilder::new("p");
    b.symbol("N");
    let a = b.array("A", F64, [1000, 1000]);
    let ranges: Vec<(&str, Range)> =
        parameters.iter().enumerate().map(|(n, part)| (NAMES[n + 1], part.range(&NAMES[..=n]))).collect();
    let names = &NAMES[..=parameters.len()];
    let access = |dims: &[Part; 2]| {
        let far = [Expr::int(500), Expr::int(500)];
        Access::elements(a, Subset(dims.iter().map(|dim| dim.range(names)).collect()).offset(&far))
    };
    let (outer, inner) = ranges.split_at(split.min(ranges.len() - 1));
    b.state("s", |s| {
        let body = |s: &mut crate::builder::StateBuilder<'_>| {
            let mut tasklet = s.tasklet("t");
            for (n, dims) in memlets.iter().enumerate() {
                let name = format!("x{n}");
                tasklet = if writes {
                    tasklet.output(&name, access(dims))
                } else {
                    tasklet.input(&name, access(dims))
                };
            }
            tasklet.code("pass");
        };
        let ranges = |ranges: &[(&'static str, Range)]| ranges.to_vec();
        if outer.is_empty() {
            s.map("inner", ranges(inner), body);
        } else {
            s.map("outer", ranges(outer), |s| {
                s.map("inner", ranges(inner), body);
            });
        }
    });
    let sdfg = b.finish().unwrap();
    let id = sdfg.states().next().unwrap().0;
    (sdfg, id)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn segments_cover_what_is_accessed_and_exact_ones_no_more(
        parameters in prop::collection::vec(parameter(), 1..=3),
        split in 0usize..3,
        memlets in prop::collection::vec([index(), index()], 1..=3),
        writes in any::<bool>(),
    ) {
        let (mut sdfg, id) = program(&parameters, split, &memlets, writes);
        let derived = propagate(&mut sdfg);
        prop_assert!(!derived.exact.is_empty());
        for n in 0..5 {
            check_segments(&sdfg, id, &derived.exact, &Point::from([(Symbol::of("N"), n)]));
        }
    }
}

/// Derived memlets at the access nodes of the first state of a program, with `=` for exact ones.
fn outermost(mut sdfg: Sdfg) -> Vec<String> {
    let derived = propagate(&mut sdfg);
    let (id, state) = sdfg.states().next().unwrap();
    let mut lines = Vec::new();
    for (edge, content) in state.edges() {
        let ends = [content.src, content.dst].map(|node| state.node(node).kind.container());
        let Some(exact) = derived.exact.get(&(id, edge)) else { continue };
        if let Some(container) = ends.into_iter().flatten().next() {
            let memlet = &content.memlet;
            let (mark, name) = (if *exact { "=" } else { "<=" }, &sdfg.container(container).name);
            let resolution = memlet.resolution().map(|how| format!(" {}", how.name())).unwrap_or_default();
            lines.push(format!("{name} {mark} {:?}{resolution}, {:?}", subset(memlet), memlet.volume));
        }
    }
    lines
}

#[test]
fn a_stencil_reads_all_and_writes_the_inside() {
    let mut b = SdfgBuilder::new("laplace");
    b.symbol("N");
    b.array("A", F64, ["2", "N"]);
    b.for_loop("steps", "t", "0:10", |b| {
        b.state("step", |s| {
            let inputs = [("l", "A[t % 2, i - 1]"), ("c", "A[t % 2, i]"), ("r", "A[t % 2, i + 1]")];
            let output = [("o", "A[(t + 1) % 2, i]")];
            s.mapped_tasklet("cells", [("i", "1:N - 1")], inputs, "o = l - 2.0 * c + r", output);
        });
    });
    insta::assert_snapshot!(outermost(b.finish().unwrap()).join("\n"), @r#"
    A <= [t % 2, 0:N], Exact(3*max(0, N - 2))
    A = [(t + 1) % 2, 1:N - 1], Exact(max(0, N - 2))
    "#);
}

/// Each pair of bounds would be compared, for nothing that a reader could use.
#[test]
fn many_indices_that_do_not_compare_may_be_anywhere() {
    let outermost_of = |n: i64| {
        let mut b = SdfgBuilder::new("products");
        b.symbol("N");
        let a = b.array("A", F64, [Expr::sym("N"), Expr::sym("N")]);
        b.state("s", |s| {
            let ranges = [("i", Range::new(0, Expr::sym("N"))), ("j", Range::new(0, Expr::sym("N")))];
            s.map("m", ranges, |s| {
                let mut tasklet = s.tasklet("t");
                for at in 1..=n {
                    let index = Expr::sym("i") * Expr::sym("j") * (at % 3) + Expr::sym(&format!("p{at}"));
                    let place = Subset(vec![Range::index(Expr::sym("i")), Range::index(index)]);
                    tasklet = tasklet.output(&format!("x{at}"), Access::elements(a, place));
                }
                tasklet.code("pass");
            });
        });
        outermost(b.finish().unwrap())
    };
    assert_eq!(outermost_of(9), ["A <= [0:N, 0:N], Exact(9*N**2)"]);
    assert!(outermost_of(3)[0].contains("min("), "{:?}", outermost_of(3));
}

#[test]
fn loops_tell_that_a_map_inside_is_not_empty() {
    let mut b = SdfgBuilder::new("solve");
    b.symbol("N");
    b.array("A", F64, ["N", "N"]);
    b.array("x", F64, ["N"]);
    b.for_loop("rows", "k", "0:N", |b| {
        b.state("eliminate", |s| {
            s.map("below", [("i", "k + 1:N")], |s| {
                s.tasklet("t")
                    .input("a", "A[i, k]")
                    .input("p", "x[k]")
                    .output("o", "x[i]")
                    .resolve(sdfg_graph::ir::ConflictResolution::Sum)
                    .code("o = -a * p");
            });
        });
    });
    insta::assert_snapshot!(outermost(b.finish().unwrap()).join("\n"), @r#"
    A = [k + 1:N, k], Exact(N - k - 1)
    x <= [k], Exact(N - k - 1)
    x = [k + 1:N] sum, Exact(N - k - 1)
    "#);
}

#[test]
fn histograms_and_data_dependent_ranges_cover_everything() {
    let mut b = SdfgBuilder::new("rows");
    for symbol in ["H", "nnz"] {
        b.symbol(symbol);
    }
    b.array("row", ScalarType::I64, ["H + 1"]);
    b.array("val", F64, ["nnz"]);
    b.array("y", F64, ["H"]);
    b.state("s", |s| {
        s.map("rows", [("i", "0:H")], |s| {
            s.map_scope("entries", [("j", "begin:end")])
                .bind("begin", "row[i]")
                .bind("end", "row[i + 1]")
                .body(|s| {
                    s.tasklet("t")
                        .input("v", "val[j]")
                        .output("o", "y[i]")
                        .resolve(sdfg_graph::ir::ConflictResolution::Sum)
                        .code("o = v");
                });
        });
    });
    insta::assert_snapshot!(outermost(b.finish().unwrap()).join("\n"), @r#"
    row <= [0:H + 1], Exact(2*H)
    val <= [0:nnz], Dynamic
    y <= [0:H] sum, Dynamic
    "#);
}

#[test]
fn a_nested_program_tells_what_it_accesses() {
    let mut inner = SdfgBuilder::new("front");
    inner.symbol("K");
    inner.array("x", F64, ["K"]);
    inner.scalar("y", F64);
    inner.for_loop("sum", "k", "1:4", |b| {
        b.state("add", |s| {
            s.tasklet("add").input("a", "x[2 * k]").output("o", "y").code("o = a");
        });
    });
    let mut b = SdfgBuilder::new("rows");
    b.symbol("N");
    b.array("A", F64, ["N", "N"]);
    b.array("s", F64, ["N"]);
    b.state("all", |s| {
        s.map("rows", [("i", "0:N")], |s| {
            let call = s.nested("front", inner).input("x", "A[i, 5:N]").output("y", "s[i]");
            call.map_symbol("K", "N - 5").finish();
        });
    });
    insta::assert_snapshot!(outermost(b.finish().unwrap()).join("\n"), @r#"
    A = [0:N, 7:12:2], Exact(N**2 - 5*N)
    s = [0:N], Exact(N)
    "#);
}
