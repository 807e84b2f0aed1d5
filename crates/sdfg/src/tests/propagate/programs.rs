//! Tests of random programs with nested SDFGs, loops, branches, consume scopes and maps, against all accesses
//! of an enumeration that is independent of graphs.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use sdfg_graph::analysis::footprint::{self, Footprint};
use sdfg_graph::ir::{Access, BlockId, BlockKind, ContainerId, EdgeId, NodeKind, Sdfg, StateId, Volume};
use sdfg_graph::propagate::propagate;
use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::{Expr, Symbol};

use super::{
    Affine, Elements, F64, Part, Point, affine, check_segments, elements, index, parameter, value, values,
};
use crate::builder::{SdfgBuilder, StateBuilder};

/// Part of a program that accesses `x`.
#[derive(Clone, Debug)]
enum Block {
    /// A tasklet in a map, or in none.
    State { map: Vec<Part>, at: [Part; 2] },
    /// A call of another program with all of `x`, in a map or in none.
    Call { map: Vec<Part>, body: Vec<Block> },
    /// A counted loop, which an iteration leaves where the condition is not negative.
    Loop { range: Part, leave: Option<Affine>, body: Vec<Block> },
    /// Two arms, the first one where the condition is not negative.
    Branch { condition: Affine, arms: [Vec<Block>; 2] },
}

/// What the `x` of a called program is bound to, in an array of rank 3.
#[derive(Clone, Copy, Debug)]
enum Binding {
    Whole,
    RowsWithStride,
    MovedColumns,
    LastFixed,
    Backwards,
}

impl Binding {
    fn subset(self) -> &'static str {
        match self {
            Binding::Whole => "A[100, 0:1000, 0:1000]",
            Binding::RowsWithStride => "A[i + 100, 7:1007, 0:2000:2]",
            Binding::MovedColumns => "A[0:1000, i + N + 100, 2*i + 100:2*i + 1100]",
            Binding::LastFixed => "A[5:1005, 0:1000, 100 - i]",
            Binding::Backwards => "A[i + 100, 1999:999:-1, 0:1000]",
        }
    }

    /// Where an element of `x` lies.
    fn place(self, element: &[i64], n: i64, i: i64) -> Vec<i64> {
        let (a, b) = (element[0], element[1]);
        match self {
            Binding::Whole => vec![100, a, b],
            Binding::RowsWithStride => vec![i + 100, a + 7, 2 * b],
            Binding::MovedColumns => vec![a, i + n + 100, 2 * i + 100 + b],
            Binding::LastFixed => vec![a + 5, b, 100 - i],
            Binding::Backwards => vec![i + 100, 1999 - a, b],
        }
    }
}

/// Symbols in scope, outermost first.
type Names = Vec<&'static str>;

/// The symbols that expressions use: the first one and the innermost ones.
fn visible(names: &Names) -> Names {
    let inner = names[1..].iter().rev().take(3);
    std::iter::once(names[0]).chain(inner.copied()).collect()
}

/// The next of the names that loops and maps give their symbols.
fn fresh(names: &Names) -> &'static str {
    ["a", "b", "c", "d", "e", "f", "g", "h", "k", "l", "m", "q", "r"][names.len() - 2]
}

fn opened(names: &Names, map: &[Part]) -> (Names, Vec<(&'static str, Range)>) {
    let (mut names, mut ranges) = (names.clone(), Vec::new());
    for part in map {
        let (name, range) = (fresh(&names), part.range(&visible(&names)));
        ranges.push((name, range));
        names.push(name);
    }
    (names, ranges)
}

fn element(at: &[Part; 2], names: &Names) -> Subset {
    let far = [Expr::int(500), Expr::int(500)];
    at.iter().map(|part| part.range(&visible(names))).collect::<Subset>().offset(&far)
}

/// The blocks as those of a graph.
fn add(b: &mut SdfgBuilder, x: ContainerId, blocks: &[Block], names: &Names, writes: bool) {
    for block in blocks {
        match block {
            Block::State { map, at } => {
                let (inside, ranges) = opened(names, map);
                let access = Access::elements(x, element(at, &inside));
                in_map(b, ranges, |s| {
                    let tasklet = s.tasklet("t");
                    let tasklet =
                        if writes { tasklet.output("v", access) } else { tasklet.input("v", access) };
                    tasklet.code("pass");
                });
            }
            Block::Call { map, body } => {
                let (inside, ranges) = opened(names, map);
                let called = program(body, &inside, writes);
                let all = "x[0:1000, 0:1000]";
                in_map(b, ranges, |s| {
                    let call = s.nested("call", called);
                    if writes { call.output("x", all) } else { call.input("x", all) }.finish();
                });
            }
            Block::Loop { range, leave, body } => {
                let range = range.range(&visible(names));
                let text = format!("{}:{}:{}", range.begin, range.end, range.step);
                let symbol = fresh(names);
                let inside = names.iter().copied().chain([symbol]).collect();
                b.for_loop("loop", symbol, &text, |b| {
                    if let Some(leave) = leave {
                        let condition = format!("{} >= 0", leave.expr(&visible(&inside)));
                        b.if_then("leave", condition, |b| {
                            b.break_loop();
                        });
                    }
                    add(b, x, body, &inside, writes);
                });
            }
            Block::Branch { condition, arms: [then, otherwise] } => {
                let condition = format!("{} >= 0", condition.expr(&visible(names)));
                let arm = |b: &mut SdfgBuilder, body: &[Block]| add(b, x, body, names, writes);
                b.if_else("branch", condition, |b| arm(b, then), |b| arm(b, otherwise));
            }
        }
    }
}

fn in_map(b: &mut SdfgBuilder, ranges: Vec<(&'static str, Range)>, body: impl FnOnce(&mut StateBuilder<'_>)) {
    b.state("s", |s| {
        if ranges.is_empty() {
            body(s);
        } else {
            s.map("map", ranges, body);
        }
    });
}

/// A program over `x` with these symbols.
fn program(blocks: &[Block], names: &Names, writes: bool) -> SdfgBuilder {
    let mut b = SdfgBuilder::new("inner");
    for name in names {
        b.symbol(name);
    }
    let x = b.array("x", F64, [1000, 1000]);
    // The symbol of a shape is not negative.
    b.transient("sized", F64, ["N"]);
    add(&mut b, x, blocks, names, writes);
    b
}

/// Calls `visit` for each execution of a state: with its number among the states of its program, the values of symbols,
/// and all that it accesses. `state` counts on.
fn enumerate(
    blocks: &[Block],
    names: &Names,
    at: &Point,
    state: &mut usize,
    visit: &mut dyn FnMut(usize, &Point, Elements),
) {
    for block in blocks {
        let first = *state;
        match block {
            Block::State { map, at: index } => {
                let (inside, ranges) = opened(names, map);
                let found = points_of(&ranges, at);
                let found = found.iter().flat_map(|point| elements(&element(index, &inside), point));
                visit(first, at, found.collect());
            }
            Block::Call { map, body } => {
                let (inside, ranges) = opened(names, map);
                let mut found = Elements::new();
                for point in points_of(&ranges, at) {
                    enumerate(body, &inside, &point, &mut 0, &mut |_, _, part| found.extend(part));
                }
                visit(first, at, found);
            }
            Block::Loop { range, leave, body } => {
                let symbol = fresh(names);
                let inside: Names = names.iter().copied().chain([symbol]).collect();
                for point in points_of(&[(symbol, range.range(&visible(names)))], at) {
                    if leave.as_ref().is_some_and(|leave| value(&leave.expr(&visible(&inside)), &point) >= 0)
                    {
                        break;
                    }
                    enumerate(body, &inside, &point, &mut first.clone(), visit);
                }
            }
            Block::Branch { condition, arms: [then, otherwise] } => {
                if value(&condition.expr(&visible(names)), at) >= 0 {
                    enumerate(then, names, at, &mut first.clone(), visit);
                } else {
                    enumerate(otherwise, names, at, &mut (first + states(then)), visit);
                }
            }
        }
        *state = first + states(std::slice::from_ref(block));
    }
}

/// How many states the blocks make.
fn states(blocks: &[Block]) -> usize {
    let of = |block: &Block| match block {
        Block::State { .. } | Block::Call { .. } => 1,
        Block::Loop { body, .. } => states(body),
        Block::Branch { arms: [then, otherwise], .. } => states(then) + states(otherwise),
    };
    blocks.iter().map(of).sum()
}

fn points_of(ranges: &[(&'static str, Range)], at: &Point) -> Vec<Point> {
    let named = ranges.iter().map(|(name, range)| (Symbol::of(name), range.clone()));
    super::points(&named.collect::<Vec<_>>(), at)
}

/// Indices that have exact images more often than not: each dimension moves with a symbol of its own.
fn cell() -> impl Strategy<Value = [Part; 2]> {
    let part = |symbol: usize| {
        let slope = prop_oneof![3 => Just(1i64), 1 => Just(0i64), 1 => -2i64..=2];
        (-3i64..=3, slope).prop_map(move |(constant, slope)| {
            let mut slopes = [0; 4];
            slopes[symbol] = slope;
            Part { begin: Affine(constant, slopes), length: None, step: 1 }
        })
    };
    [part(1).boxed(), part(2).boxed()]
}

/// Ranges that do not depend on each other and are seldom empty.
fn plain() -> impl Strategy<Value = Part> {
    let step = prop_oneof![3 => Just(1i64), 1 => Just(2i64), 1 => Just(-1i64), 1 => Just(-2i64)];
    (-2i64..=2, 1i64..=3, prop::bool::weighted(0.3), step).prop_map(|(constant, length, of_n, step)| Part {
        begin: Affine(constant, [0; 4]),
        length: Some((length, i64::from(of_n))),
        step,
    })
}

fn blocks() -> BoxedStrategy<Vec<Block>> {
    let range = || prop_oneof![3 => plain(), 1 => parameter()].boxed();
    let map = move || prop::collection::vec(range(), 0..=2).boxed();
    let at = prop_oneof![3 => cell(), 1 => [index(), index()]];
    let state = (map(), at).prop_map(|(map, at)| Block::State { map, at }).boxed();
    let deeper = move |inner: BoxedStrategy<Block>| {
        let body = || prop::collection::vec(inner.clone(), 1..=2).boxed();
        prop_oneof![
            1 => (map(), body()).prop_map(|(map, body)| Block::Call { map, body }),
            3 => (range(), prop::option::weighted(0.15, affine(1)), body())
                .prop_map(|(range, leave, body)| Block::Loop { range, leave, body }),
            1 => (affine(1), [body(), body()])
                .prop_map(|(condition, arms)| Block::Branch { condition, arms }),
        ]
        .boxed()
    };
    let tree = state.clone().prop_recursive(2, 6, 2, deeper).boxed();
    prop_oneof![2 => tree.prop_map(|block| vec![block]), 1 => prop::collection::vec(state, 2)].boxed()
}

fn at(values: &[(&str, i64)]) -> Point {
    values.iter().map(|(name, value)| (Symbol::of(name), *value)).collect()
}

/// How many answers were exact: covering answers alone would make the properties empty.
#[derive(Default)]
struct Share {
    exact: Cell<u32>,
    all: Cell<u32>,
}

impl Share {
    fn count(&self, exact: bool) {
        self.exact.set(self.exact.get() + u32::from(exact));
        self.all.set(self.all.get() + 1);
    }

    fn assert_at_least(&self, percent: u32) {
        let (exact, all) = (self.exact.get(), self.all.get());
        assert!(exact * 100 >= all * percent, "{exact} exact of {all}");
    }
}

/// Holds the test against cases that are the same each time, of which at least so many percent of the answers are to be exact,
/// and against as many new ones: how many of these are exact is a matter of chance.
fn check<S: Strategy>(
    cases: u32,
    strategy: S,
    (share, percent): (&Share, u32),
    test: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let config = Config { cases: cases / 2, failure_persistence: None, ..Config::default() };
    let fixed = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let run = |mut runner: TestRunner| {
        runner.run(&strategy, &test).unwrap_or_else(|failure| panic!("{failure}"));
    };
    run(TestRunner::new_with_rng(config.clone(), fixed));
    share.assert_at_least(percent);
    run(TestRunner::new(config));
}

/// What was derived holds all that was accessed, and nothing else if it is exact.
fn compare(subset: &Subset, exact: bool, at: &Point, accessed: &Elements) -> Result<(), TestCaseError> {
    // A bound may be a whole array: its elements are counted, not listed.
    let derived: Vec<BTreeSet<i64>> =
        subset.0.iter().map(|range| values(range, at).into_iter().collect()).collect();
    let holds =
        |element: &Vec<i64>| derived.iter().zip(element).all(|(values, index)| values.contains(index));
    prop_assert!(accessed.iter().all(holds), "{subset:?} at {at:?} lacks some of {accessed:?}");
    if exact {
        let count: usize = derived.iter().map(BTreeSet::len).product();
        prop_assert_eq!(count, accessed.len(), "{:?} at {:?} is not {:?}", subset, at, accessed);
    }
    Ok(())
}

/// The states in the order in which they were made.
fn in_order(sdfg: &Sdfg) -> Vec<StateId> {
    let state = |(block, content): (BlockId, &sdfg_graph::ir::Block)| match content.kind {
        BlockKind::State(state) => Some((block, state)),
        BlockKind::Loop(_)
        | BlockKind::Branch(_)
        | BlockKind::Break
        | BlockKind::Continue
        | BlockKind::Return => None,
    };
    sdfg.blocks().filter_map(state).collect::<BTreeMap<_, _>>().into_values().collect()
}

#[test]
fn segments_of_states_in_loops_and_branches() {
    let names = vec!["N", "p"];
    let share = Share::default();
    check(160, (blocks(), any::<bool>()), (&share, 60), |(blocks, writes)| {
        let mut sdfg = program(&blocks, &names, writes).finish().unwrap();
        let exact = propagate(&mut sdfg).exact;
        exact.values().for_each(|exact| share.count(*exact));
        let ids = in_order(&sdfg);
        let calls =
            |id: StateId| sdfg.state(id).nodes().any(|(_, node)| matches!(node.kind, NodeKind::Nested(_)));
        for (n, p) in [(0, 0), (1, -2), (2, 1)] {
            enumerate(&blocks, &names, &at(&[("N", n), ("p", p)]), &mut 0, &mut |state, point, _| {
                if !calls(ids[state]) {
                    check_segments(&sdfg, ids[state], &exact, point);
                }
            });
        }
        Ok(())
    });
}

#[test]
fn footprints_of_programs() {
    let names = vec!["N", "p"];
    let share = Share::default();
    check(160, (blocks(), any::<bool>()), (&share, 25), |(blocks, writes)| {
        let sdfg = program(&blocks, &names, writes).finish().unwrap();
        let found = Footprint::of_region(&sdfg, sdfg.body());
        let parts: Vec<footprint::Part> = if writes { found.writes } else { found.reads };
        parts.iter().for_each(|part| share.count(part.subset.is_exact()));
        let ids = in_order(&sdfg);
        prop_assert_eq!(ids.len(), states(&blocks));
        for (n, p) in [(0, 0), (1, -2), (2, 1)] {
            let point = at(&[("N", n), ("p", p)]);
            let mut accessed: BTreeMap<StateId, Elements> = BTreeMap::new();
            enumerate(&blocks, &names, &point, &mut 0, &mut |state, _, found| {
                accessed.entry(ids[state]).or_default().extend(found);
            });
            for part in &parts {
                let Some((state, _)) = part.edge else { continue };
                let own = accessed.remove(&state).unwrap_or_default();
                compare(part.subset.as_inner(), part.subset.is_exact(), &point, &own)?;
            }
            prop_assert!(accessed.values().all(Elements::is_empty), "no part of {accessed:?}");
        }
        Ok(())
    });
}

#[test]
fn segments_at_nested_programs() {
    use Binding::{Backwards, LastFixed, MovedColumns, RowsWithStride, Whole};
    let binding = prop::sample::select(vec![Whole, RowsWithStride, MovedColumns, LastFixed, Backwards]);
    let (share, names) = (Share::default(), vec!["N", "p"]);
    let outer = prop_oneof![plain(), parameter()];
    let mapped = prop_oneof![2 => (-3i64..=3).prop_map(|constant| Affine(constant, [0; 4])), 1 => affine(1)];
    let strategy = (blocks(), outer, mapped, binding, any::<bool>(), prop::bool::weighted(0.15));
    check(250, strategy, (&share, 5), |(blocks, outer, mapped, binding, writes, consumes)| {
        let inner = program(&blocks, &names, writes);
        let range = if consumes { Range::new(0, 3) } else { outer.range(&["N"]) };
        let mapped = mapped.expr(&["N", "i"]);
        let mut sdfg = caller(inner, (!consumes).then_some(&range), &mapped, binding, writes);
        let derived = propagate(&mut sdfg).exact;
        let (id, state) = sdfg.states().next().unwrap();
        let container = sdfg.find_container("A").unwrap();
        let names_it = |edge: &EdgeId| state.edge(*edge).memlet.accesses().any(|a| a.container == container);
        let segments: Vec<EdgeId> = derived.keys().map(|(_, edge)| *edge).filter(names_it).collect();
        prop_assert_eq!(segments.len(), 1);
        let (memlet, exact) = (&state.edge(segments[0]).memlet, derived[&(id, segments[0])]);
        share.count(exact);
        for n in [0, 1, 2] {
            let point = at(&[("N", n)]);
            let mut accessed = Elements::new();
            for outside in points_of(&[("i", range.clone())], &point) {
                let i = outside[&Symbol::of("i")];
                let inside = at(&[("N", n), ("p", value(&mapped, &outside))]);
                enumerate(&blocks, &names, &inside, &mut 0, &mut |_, _, found| {
                    accessed.extend(found.iter().map(|element| binding.place(element, n, i)));
                });
            }
            compare(super::subset(memlet), exact, &point, &accessed)?;
        }
        // How many elements a processing element takes is not known, nor whether it takes any.
        prop_assert!(!consumes || !exact && memlet.volume == Volume::Dynamic, "{memlet:?}");
        Ok(())
    });
}

/// A program that calls `inner` in a map over `i`, or in a consume scope of three processing elements.
fn caller(inner: SdfgBuilder, map: Option<&Range>, mapped: &Expr, binding: Binding, writes: bool) -> Sdfg {
    let mut b = SdfgBuilder::new("outer");
    b.symbol("N");
    b.array("A", F64, [3000, 3000, 3000]);
    b.transient("sized", F64, ["N"]);
    b.queue("work", F64);
    b.state("s", |s| {
        let body = |s: &mut StateBuilder<'_>| {
            let call = s.nested("call", inner);
            let x = binding.subset();
            let call = if writes { call.output("x", x) } else { call.input("x", x) };
            call.map_symbol("p", mapped).finish();
        };
        match map {
            Some(range) => s.map("map", [("i", range.clone())], body),
            None => s.consume("consume", "work", "i", 3).body(body),
        };
    });
    b.finish().unwrap()
}
