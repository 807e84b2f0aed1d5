//! Tests of program order: random sequences of calls against the same steps in sequence.

use proptest::prelude::*;
use sdfg_graph::ir::ConflictResolution;
use sdfg_interpret::tensor::Tensor;
use sdfg_interpret::{Arguments, Interpreter, Options, Order};
use sdfg_language::dtype::ScalarType;

use super::super::{SdfgBuilder, StateBuilder};

const NAMES: [&str; 3] = ["A", "B", "C"];
const SIZE: usize = 4;

/// A container and a position.
type Place = (usize, usize);

#[derive(Clone, Debug)]
enum Step {
    /// `to = a + 2 * b`, kept small.
    Combine { a: Place, b: Place, to: Place },
    /// `to += a`.
    Accumulate { a: Place, to: Place },
    /// Two elements from one container to another.
    Copy { from: Place, to: Place },
    /// `to[i] = from[i] + 1` by a map.
    Increment { from: usize, to: usize },
    /// Steps within one iteration of a map, through a local scalar: `to = a + 1`, then the steps.
    Scope { a: Place, to: Place, steps: Vec<Step> },
}

type Contents = [[i64; SIZE]; 3];

fn simulate(steps: &[Step], m: &mut Contents) {
    for step in steps {
        match step {
            Step::Combine { a, b, to } => m[to.0][to.1] = (m[a.0][a.1] + 2 * m[b.0][b.1]) % 1000,
            Step::Accumulate { a, to } => m[to.0][to.1] += m[a.0][a.1],
            Step::Copy { from, to } => {
                let moved = [m[from.0][from.1], m[from.0][from.1 + 1]];
                m[to.0][to.1..to.1 + 2].copy_from_slice(&moved);
            }
            Step::Increment { from, to } => m[*to] = m[*from].map(|v| v + 1),
            Step::Scope { a, to, steps } => {
                m[to.0][to.1] = m[a.0][a.1] + 1;
                simulate(steps, m);
            }
        }
    }
}

fn at(place: Place) -> String {
    format!("{}[{}]", NAMES[place.0], place.1)
}

fn part(place: Place) -> String {
    format!("{}[{}:{}]", NAMES[place.0], place.1, place.1 + 2)
}

fn build(steps: &[Step], s: &mut StateBuilder<'_>) {
    for step in steps {
        match step {
            Step::Combine { a, b, to } => {
                let tasklet = s.tasklet("combine").input("a", at(*a)).input("b", at(*b)).output("o", at(*to));
                tasklet.code("o = (a + 2 * b) % 1000");
            }
            Step::Accumulate { a, to } => {
                let tasklet = s.tasklet("accumulate").input("a", at(*a)).output("o", at(*to));
                tasklet.resolve(ConflictResolution::Sum).code("o = a");
            }
            Step::Copy { from, to } => s.copy(part(*from), part(*to)),
            Step::Increment { from, to } => {
                let (from, to) = (format!("{}[i]", NAMES[*from]), format!("{}[i]", NAMES[*to]));
                s.mapped_tasklet("increment", [("i", "0:4")], [("a", from)], "o = a + 1", [("o", to)]);
            }
            Step::Scope { a, to, steps } => {
                s.map("scope", [("z", "0:1")], |s| {
                    let local = s.transient_scalar("local", ScalarType::I64);
                    s.tasklet("first").input("a", at(*a)).output("o", local).code("o = a + 1");
                    s.tasklet("second").input("a", local).output("o", at(*to)).code("o = a");
                    build(steps, s);
                });
            }
        }
    }
}

fn place() -> impl Strategy<Value = Place> {
    (0..NAMES.len(), 0..SIZE)
}

/// Steps that may also stand in a scope.
fn simple() -> impl Strategy<Value = Step> {
    prop_oneof![
        (place(), place(), place()).prop_map(|(a, b, to)| Step::Combine { a, b, to }),
        (place(), place()).prop_map(|(a, to)| Step::Accumulate { a, to }),
        (0..NAMES.len(), 0..NAMES.len()).prop_map(|(from, to)| Step::Increment { from, to }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let copy = (0..NAMES.len(), 0..SIZE - 1, 1..NAMES.len(), 0..SIZE - 1)
        .prop_map(|(from, i, by, j)| Step::Copy { from: (from, i), to: ((from + by) % NAMES.len(), j) });
    let scope = (place(), place(), prop::collection::vec(simple(), 0..4))
        .prop_map(|(a, to, steps)| Step::Scope { a, to, steps });
    prop_oneof![4 => simple(), 2 => copy, 2 => scope]
}

#[test]
fn accesses_through_a_view_are_ordered_with_those_of_what_it_names() {
    let mut b = SdfgBuilder::new("views");
    b.array("A", ScalarType::I64, [4]);
    b.array("out", ScalarType::I64, [3]);
    b.view("V", ScalarType::I64, [2]);
    b.state("s", |s| {
        s.bind("V", "A[1:3]");
        s.tasklet("before").input("a", "V[0]").output("o", "out[0]").code("o = a");
        s.tasklet("through").output("o", "V[1]").code("o = 7");
        s.tasklet("after").input("a", "A[2]").output("o", "out[1]").code("o = a");
        s.tasklet("around").output("o", "A[1]").code("o = 9");
        s.tasklet("again").input("a", "V[0]").output("o", "out[2]").code("o = a");
    });
    let (program, _) = b.build().unwrap();
    for order in [Order::Fixed, Order::Random(1), Order::Random(2), Order::Random(3)] {
        let mut arguments = Arguments::new()
            .with("A", Tensor::vector(&[1_i64, 2, 3, 4]))
            .with("out", Tensor::vector(&[0_i64; 3]));
        let options = Options { order, ..Options::default() };
        Interpreter::new(&program).unwrap().run(&mut arguments, &options).unwrap();
        assert_eq!(arguments.get("out").unwrap().to_vec::<i64>().unwrap(), [2, 7, 9]);
        assert_eq!(arguments.get("A").unwrap().to_vec::<i64>().unwrap(), [1, 9, 7, 4]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn calls_mean_what_they_say_in_sequence(steps in prop::collection::vec(step(), 1..10)) {
        let mut b = SdfgBuilder::new("sequence");
        for name in NAMES {
            b.array(name, ScalarType::I64, [SIZE as i64]);
        }
        b.state("s", |s| build(&steps, s));
        let program = match b.build() {
            Ok((program, _)) => program,
            Err(rejected) => return Err(TestCaseError::fail(rejected.to_string())),
        };
        let start: Contents = [[1, 2, 3, 4], [10, 20, 30, 40], [100, 200, 300, 400]];
        let mut expected = start;
        simulate(&steps, &mut expected);
        for order in [Order::Fixed, Order::Random(1), Order::Random(2), Order::Random(3)] {
            let mut arguments = Arguments::new();
            for (name, contents) in NAMES.iter().zip(&start) {
                arguments.set(*name, Tensor::vector(contents));
            }
            let options = Options { order, ..Options::default() };
            let mut interpreter = Interpreter::new(&program).unwrap();
            if let Err(error) = interpreter.run(&mut arguments, &options) {
                return Err(TestCaseError::fail(format!("{error}\n{}", sdfg_graph::text::print(program.sdfg()))));
            }
            for (name, contents) in NAMES.iter().zip(&expected) {
                let found: Vec<i64> = arguments.get(name).unwrap().to_vec().unwrap();
                prop_assert_eq!(&found, &contents.to_vec(), "{} of\n{}", name, sdfg_graph::text::print(program.sdfg()));
            }
        }
    }
}
