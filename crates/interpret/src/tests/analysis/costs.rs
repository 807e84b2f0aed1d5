//! Tests of costs and footprints against counts of the interpreter on random nests of loops and maps, and of
//! work by class.

use std::collections::BTreeSet;

use proptest::prelude::*;
use sdfg_graph::analysis::Footprint;
use sdfg_graph::analysis::control_graph::{ControlGraph, ControlStep};
use sdfg_graph::analysis::cost::{Costs, OperationClass, Quantity, work_of_iterations};
use sdfg_graph::ir::{NodeKind, Sdfg};
use sdfg_graph::text;
use sdfg_language::subset::Range;
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_validate::validate;

use crate::tensor::Tensor;
use crate::{Arguments, Interpreter, Options};

/// Extent of the containers of random programs, which holds every index.
const EXTENT: i64 = 200;

fn program(source: &str) -> Sdfg {
    let sdfg = text::parse("cost.sdft", source).unwrap_or_else(|errors| panic!("{errors:?}\n{source}"));
    match validate(sdfg) {
        Ok(validated) => validated.sdfg().clone(),
        Err(rejected) => panic!("{rejected}\n{source}"),
    }
}

/// One to three nested ranges, each over an outer symbol or a constant, of loops and then of maps.
#[derive(Clone, Debug)]
struct Nest {
    ranges: Vec<(usize, usize, usize)>,
    loops: usize,
    index: Vec<usize>,
    elements: usize,
}

const BOUNDS: [&str; 8] =
    ["0", "1", "N", "N - 2", "OUTER", "OUTER + 2", "min(OUTER + 3, N)", "(OUTER + 1) // 2"];

impl Nest {
    fn source(&self) -> String {
        self.sized("N")
    }

    /// With something in place of the symbol `N` in ranges.
    fn sized(&self, size: &str) -> String {
        let symbols = ["i", "j", "k"];
        let outer = |at: usize| if at == 0 { "2" } else { symbols[at - 1] };
        let range = |at: usize| {
            let (begin, end, step) = self.ranges[at];
            let [begin, end] =
                [begin, end].map(|bound| BOUNDS[bound].replace('N', size).replace("OUTER", outer(at)));
            format!("{} = {begin}:{end}:{}", symbols[at], ["1", "2", "-1"][step])
        };
        let n = self.ranges.len();
        let loops = self.loops.min(n);
        let index: Vec<String> =
            (0..n).map(|at| format!("{} * {}", [0, 1, 3][self.index[at]], symbols[at])).collect();
        let index = format!("100 + {}", index.join(" + "));
        let mut text =
            format!("sdfg nest {{\nsymbol N: i64\narray A: f64[{EXTENT}]\narray B: f32[{EXTENT}]\n");
        for at in 0..loops {
            text += &format!("for l{at}: {} {{\n", range(at));
        }
        // Sums commute, so that iterations may meet.
        let code = "tasklet t (b) -> (o) { o = b * b + 1.0 }";
        if loops == n {
            text += &format!(
                "state s {{\naccess A\naccess B\n{code}\nB -> t.b: B[{index}]\nt.o -> A: A[{index}] wcr(sum)\n}}\n"
            );
        } else {
            let ranges: Vec<String> = (loops..n).map(range).collect();
            text += &format!(
                "state s {{\naccess A\naccess B\nmap m [{}] {{\n{code}\nm.B -> t.b: B[{index}]\nt.o -> m.A: A[{index}] wcr(sum)\n}}\nB -> m.B\nm.A -> A\n}}\nstate c {{\naccess A\naccess D\nA -> D: A[0:{}] -> D[0:{}]\n}}\n",
                ranges.join(", "),
                self.elements,
                self.elements
            );
            text = text.replacen("array B", &format!("array D: f64[{EXTENT}]\narray B"), 1);
        }
        text += &"}\n".repeat(loops + 1);
        text
    }
}

fn nests() -> impl Strategy<Value = Nest> {
    let range = (0usize..BOUNDS.len(), 0usize..BOUNDS.len(), 0usize..3);
    (proptest::collection::vec(range, 1..4), 0usize..3, proptest::collection::vec(0usize..3, 3), 1usize..5)
        .prop_map(|(ranges, loops, index, elements)| Nest { ranges, loops, index, elements })
}

fn arguments(sdfg: &Sdfg, n: i64) -> Arguments {
    let extent = usize::try_from(EXTENT).unwrap();
    sdfg.arguments().fold(Arguments::new().with_symbol("N", n), |all, (_, container)| {
        let tensor = if container.name == "B" {
            Tensor::new(&[EXTENT], &vec![0_f32; extent])
        } else {
            Tensor::new(&[EXTENT], &vec![0_f64; extent])
        };
        all.with(&container.name, tensor.unwrap())
    })
}

/// The elements that a range has at these values of the symbols.
fn elements(range: &Range, n: i64) -> BTreeSet<i64> {
    let value = |e: &Expr| e.eval(&|symbol: &Symbol| (symbol.as_str() == "N").then_some(n)).unwrap();
    let (begin, end, step, tile) =
        (value(&range.begin), value(&range.end), value(&range.step), value(&range.tile));
    let mut found = BTreeSet::new();
    let mut at = begin;
    while (step > 0 && at < end) || (step < 0 && at > end) {
        found.extend(at..at + tile);
        at += step;
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]
    #[test]
    fn counts_of_the_interpreter(nest in nests()) {
        let source = nest.source();
        let Ok(validated) = validate(text::parse("nest.sdft", &source).unwrap()) else { return Ok(()) };
        let sdfg = validated.sdfg();
        let costs = Costs::of(sdfg);
        let total = costs.of_program();
        let footprint = Footprint::of_region(sdfg, sdfg.body());
        let written = sdfg.find_container("A").unwrap();
        for n in [0, 1, 2, 5] {
            let mut arguments = arguments(sdfg, n);
            let mut interpreter = Interpreter::new(&validated).unwrap();
            let report = interpreter.run(&mut arguments, &Options::default()).unwrap();
            let bytes = |writes: bool| -> u64 {
                let size = |memlet: &str| if memlet.starts_with('B') { 4 } else { 8 };
                report.moved.iter().filter(|m| m.writes == writes).map(|m| m.elements * size(&m.memlet)).sum()
            };
            let at = |symbol: &Symbol| (symbol.as_str() == "N").then_some(n);
            // Loops and maps that count are exact; the rest may only be unknown.
            prop_assert!(!total.read.at_most && !total.written.at_most, "{}", source);
            if total.read.is_exact() {
                prop_assert_eq!(total.read.eval(&at).unwrap() as u64, bytes(false), "read, N = {}\n{}", n, source);
                prop_assert_eq!(total.written.eval(&at).unwrap() as u64, bytes(true), "written, N = {}\n{}", n, source);
                // A product, a sum, and the sum of the conflict resolution.
                prop_assert_eq!(total.work.total().eval(&at).unwrap() as u64, 3 * report.tasklets, "{}", source);
                prop_assert_eq!(total.work.of(OperationClass::Addition).eval(&at).unwrap() as u64, 2 * report.tasklets);
            }
            let (_, parts) = footprint.of_container(written);
            let subset = parts[0].subset.as_inner();
            let found: BTreeSet<i64> = arguments.get("A").unwrap().to_vec::<f64>().unwrap().iter().enumerate()
                .filter(|(_, value)| **value != 0.0).map(|(at, _)| at as i64).collect();
            let foreseen = elements(&subset.0[0], n);
            prop_assert!(found.is_subset(&foreseen), "{:?} of {}, N = {}\n{}", found, subset, n, source);
            if parts[0].subset.is_exact() {
                prop_assert_eq!(&found, &foreseen, "{}, N = {}\n{}", subset, n, source);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn counts_of_numbers_are_exact(nest in nests(), n in 0i64..9) {
        let source = nest.sized(&n.to_string());
        let Ok(validated) = validate(text::parse("nest.sdft", &source).unwrap()) else { return Ok(()) };
        let costs = Costs::of(validated.sdfg());
        let total = costs.of_program();
        let mut interpreter = Interpreter::new(&validated).unwrap();
        let report = interpreter.run(&mut arguments(validated.sdfg(), n), &Options::default()).unwrap();
        // What one scope costs is known before the values of those around it are.
        let is_one = nest.loops == 0 || nest.loops >= nest.ranges.len();
        prop_assert!(total.work.total().is_exact() || !is_one, "{:?}\n{}", total, source);
        if !total.work.total().is_exact() {
            return Ok(());
        }
        prop_assert_eq!(total.work.total().eval(&|_| None).unwrap() as u64, 3 * report.tasklets, "{}", source);
    }
}

/// Too many values to add up leave a bound, which says that it is one.
#[test]
fn sums_over_many_numbers_are_bounded() {
    let sum = |range: &str| {
        let range: sdfg_language::subset::Subset = range.parse().unwrap();
        let each = Quantity::exact("min(i, 10) + 3*(i // 2)".parse().unwrap());
        let parameters = [(Symbol::of("i"), range.0[0].clone())];
        each.summed_over(&parameters, &sdfg_language::symbolic::Assumptions::new()).to_string()
    };
    assert_eq!(sum("0:4"), "12");
    assert_eq!(sum("3:0:-1"), "12");
    assert_eq!(sum("0:100000"), "at most 15000700000");
    assert_eq!(sum("0:K"), "unknown");
}

#[test]
fn most_nests_have_closed_forms_and_exact_footprints() {
    let triangle = Nest { ranges: vec![(0, 2, 0), (4, 2, 0)], loops: 1, index: vec![0, 1, 0], elements: 1 };
    let sdfg = program(&triangle.source());
    let costs = Costs::of(&sdfg);
    let total = costs.of_program();
    assert!(total.read.is_exact());
    assert_eq!(
        total.work.of(OperationClass::Multiplication).known.to_string(),
        "(2*N*max(0, N) - max(0, N)**2 + max(0, N)) / 2"
    );
    let band = Nest { ranges: vec![(1, 2, 0)], loops: 0, index: vec![1, 0, 0], elements: 1 };
    let sdfg = program(&band.source());
    let footprint = Footprint::of_region(&sdfg, sdfg.body());
    assert_eq!(footprint.writes[0].subset.as_inner().to_string(), "101:N + 100");
    assert!(footprint.writes[0].subset.is_exact());
}

/// The work of a tasklet with two inputs `a`, `b`, a row `r` and outputs `o` and `c`, by class.
fn work(code: &str) -> String {
    let source = format!(
        "sdfg w {{\nsymbol N: i64\nscalar A: f64\nscalar B: f64\narray R: f64[N]\nscalar C: complex128\nscalar O: f64\nstate s {{\naccess A\naccess B\naccess R\naccess C\naccess Z = C\naccess O\ntasklet t (a, b, r, c) -> (o, z) {{\n{code}\n}}\nA -> t.a\nB -> t.b\nR -> t.r: R[0:N]\nC -> t.c\nt.o -> O: O dynamic\nt.z -> Z: C dynamic\n}}\n}}"
    );
    let sdfg = program(&source);
    let costs = Costs::of(&sdfg);
    let (state, content) = sdfg.states().next().unwrap();
    let node = content.nodes().find(|(_, node)| matches!(node.kind, NodeKind::Tasklet(_))).unwrap().0;
    let work = costs.of_node(state, node).work;
    let each = OperationClass::ALL.map(|class| work.of(class).to_string());
    each.join("; ")
}

#[test]
fn operations_by_class() {
    for (code, expected) in [
        ("o = a * b + 1.0\nz = c", "1; 1; 0; 0; 0"),
        ("o = -a / b\nz = c * c", "3; 4; 1; 0; 0"),
        ("o = math.sqrt(a) + a ** 5\nz = c + c", "3; 3; 0; 1; 0"),
        ("if a < b:\n    o = a + b\nelse:\n    o = a + 1.0\nz = c", "1; 0; 0; 0; 1"),
        ("if a < b:\n    o = a + b + b\nz = c", "at most 2; 0; 0; 0; 1"),
        ("s = 0.0\nfor k in range(N):\n    s += r[k] * a\no = s\nz = c", "max(0, N); max(0, N); 0; 0; 0"),
        (
            "s = 0.0\nfor k in range(4):\n    for l in range(k):\n        s += r[k + l]\no = s\nz = c",
            "6; 0; 0; 0; 0",
        ),
        ("s = a\nwhile s < b:\n    s *= 2.0\no = s\nz = c", "0; unknown; 0; 0; unknown"),
        ("o = min(a, b)\nz = c", "0; 0; 0; 0; 1"),
    ] {
        assert_eq!(work(code), expected, "{code}");
    }
}

/// A map with code, and a map with a conflict resolution inside.
#[test]
fn work_of_one_iteration_is_that_of_the_scope_without_its_iterations() {
    let source = "sdfg w {
symbol N: i64
array A: f64[N]
array B: f64[N]
scalar S: f64
state s {
access A
access B
access S
map outside [k = 0:1] {
map m [i = 0:N] {
tasklet f (a) -> (o) { o = 2.0 * a + 1.0 }
map n [j = 0:7] {
tasklet g (a) -> (o) { o = a * a * a }
n.A -> g.a: A[i]
g.o -> n.S: S wcr(sum)
}
m.A -> f.a: A[i]
f.o -> m.B: B[i]
m.A -> n.A
n.S -> m.S
}
outside.A -> m.A
m.B -> outside.B
m.S -> outside.S
}
A -> outside.A
outside.B -> B
outside.S -> S
}
}";
    let sdfg = program(source);
    let costs = Costs::of(&sdfg);
    let (state, content) = sdfg.states().next().unwrap();
    let [outside, inside] = ["outside", "m"].map(|label| {
        content.nodes().find(|(_, node)| node.kind.is_scope_entry() && node.label == label).unwrap().0
    });
    let [whole, part] = &work_of_iterations(&sdfg, state, &[outside, inside])[..] else {
        panic!("two scopes")
    };
    assert_eq!(*whole, costs.of_node(state, outside).work);
    // Two operations, and seven times two products and a combination.
    assert_eq!(part.total().known.to_string(), "23");
}

#[test]
fn costs_of_choices_early_ends_and_calls() {
    let state =
        |name: &str| format!("state {name} {{ access A\ntasklet t () -> (o) {{ o = 1.0 }}\nt.o -> A }}\n");
    let cost = |body: &str| {
        let source = format!("sdfg p {{\nsymbol N: i64\nsymbol p: i64\nscalar A: f64\n{body}}}");
        Costs::of(&program(&source)).of_program().written.to_string()
    };
    let s = state("s");
    assert_eq!(cost(&s), "8");
    assert_eq!(cost(&format!("if b: p > 0 {{\n{s}}}\n")), "at most 8");
    assert_eq!(cost(&format!("for l: i = 0:N {{\n{s}}}\n")), "8*max(0, N)");
    let early = format!("for l: i = 0:N {{\n{s}if b: p > i {{ break e }}\n}}\n");
    assert_eq!(cost(&early), "at most 8*max(0, N)");
    assert_eq!(
        cost(&format!("while l: p > 0 {{\n{s}state n {{}}\n-> m with (p = p - 1)\nstate m {{}}\n}}\n")),
        "unknown"
    );
    assert_eq!(cost(&format!("state a {{}}\n-> s if p > 0\n-> e\n{s}state e {{}}\n")), "at most 8");
    assert_eq!(
        cost(&format!("{s}state c {{}}\n-> s if p > 0 with (p = p - 1)\n-> e\nstate e {{}}\n")),
        "unknown"
    );
    let call = "state s { access A\nnested n () -> (X) with (K = 2 * N) sdfg q {\nsymbol K: i64\nscalar X: f64\nfor l: i = 0:K {\nstate t { access X\ntasklet t () -> (o) { o = 1.0 }\nt.o -> X }\n}\n}\nn.X -> A }\n";
    let source = format!("sdfg p {{\nsymbol N: i64\nscalar A: f64\n{call}}}");
    let called = Costs::of(&program(&source)).of_program().written.clone();
    assert!(called.is_exact());
    assert_eq!(called.eval(&|symbol| (symbol.as_str() == "N").then_some(3)), Ok(48));
}

#[test]
fn jumps_lead_where_they_should() {
    let sdfg = program(
        "sdfg j {\nsymbol p: i64\nfor outer: i = 0:4 {\nfor inner: j = 0:4 {\nif b: p > i { break x } elif p < j { continue y } else { return z }\n}\n}\n}",
    );
    let graph = ControlGraph::of(&sdfg);
    let after = |label: &str| {
        let jump = graph.number(ControlStep::Jump(sdfg.find_block(label).unwrap())).unwrap();
        graph.successors(jump).iter().map(|at| graph.steps()[*at]).collect::<Vec<_>>()
    };
    let inner = sdfg.find_block("inner").unwrap();
    assert_eq!(after("x"), [ControlStep::Done(inner)]);
    assert_eq!(after("y"), [ControlStep::Update(inner)]);
    assert_eq!(after("z"), [ControlStep::Exit]);
    let done = graph.number(ControlStep::Done(inner)).unwrap();
    let outer = sdfg.find_block("outer").unwrap();
    assert_eq!(graph.successors(done), [graph.number(ControlStep::Update(outer)).unwrap()]);
    assert!(graph.predecessors(graph.number(ControlStep::Test(inner)).unwrap()).len() == 2);
}
