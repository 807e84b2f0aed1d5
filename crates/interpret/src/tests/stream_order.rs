//! Tests of the order that streams create, against enumeration: a program traps exactly if no chain of steps,
//! paths and pushes orders two conflicting accesses.
//!
//! The program has a consume scope with another one inside. Tables describe its tasklets step by step, so
//! that each case is a forest of iterations in which every element is pushed once.

use std::fmt::Write;

use proptest::prelude::*;
use sdfg_validate::Validated;

use super::{Options, Order, RunError, TrapKind, program};
use crate::tensor::Tensor;
use crate::{Arguments, Interpreter};

/// Elements of the array that the tasklets access.
const SIZE: usize = 3;

/// A tasklet of an iteration: the iteration, and which of [`PLACES`].
type Place = (usize, usize);

/// The tasklets of an iteration. Of the inner scope there is one, called `first`, too.
const PLACES: [&str; 3] = ["first", "aside", "second"];
const FIRST: usize = 0;
const ASIDE: usize = 1;
const SECOND: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Read(usize),
    Write(usize),
    Sum(usize),
    Push(usize),
    PushInside(usize),
}

/// What iterations do. Iteration `i` takes element `i`.
#[derive(Clone, Debug)]
struct Forest {
    roots: usize,
    /// For iterations of the inner scope, that of the outer one.
    around: Vec<Option<usize>>,
    steps: Vec<[Vec<Step>; 3]>,
}

/// An iteration before it is put into a forest: whether it is an inner one, who pushes it, and what it accesses.
type Draft = (bool, u16, u16, Vec<(u8, u8, u8)>);

impl Forest {
    fn new(roots: usize, drafts: &[Draft]) -> Self {
        let mut forest = Forest { roots, around: Vec::new(), steps: Vec::new() };
        for (number, (is_inner, giver, position, accesses)) in drafts.iter().enumerate() {
            let is_inner = *is_inner && number >= roots;
            let givers = forest.givers(is_inner);
            let place = givers.get(usize::from(*giver) % givers.len().max(1)).copied();
            let mut around = None;
            if let Some(place) = place.filter(|_| number >= roots) {
                let step = if is_inner { Step::PushInside(number) } else { Step::Push(number) };
                around = is_inner.then_some(forest.around[place.0].unwrap_or(place.0));
                let list = &mut forest.steps[place.0][place.1];
                list.insert(usize::from(*position) % (list.len() + 1), step);
            }
            let mut steps = [const { Vec::new() }; 3];
            for (place, kind, element) in accesses {
                let place = if is_inner { FIRST } else { usize::from(*place) % 3 };
                let element = usize::from(*element) % SIZE;
                steps[place].push(match kind % 3 {
                    0 => Step::Read(element),
                    1 => Step::Write(element),
                    _ => Step::Sum(element),
                });
            }
            forest.around.push(around);
            forest.steps.push(steps);
        }
        forest
    }

    /// Who may push the next element.
    fn givers(&self, for_inner: bool) -> Vec<Place> {
        let places = |iteration: usize| -> &[usize] {
            if for_inner || self.around[iteration].is_some() { &[FIRST] } else { &[FIRST, ASIDE, SECOND] }
        };
        (0..self.steps.len()).flat_map(|i| places(i).iter().map(move |place| (i, *place))).collect()
    }

    /// All steps, each with its place.
    fn events(&self) -> Vec<(Place, usize, Step)> {
        let places = |i: usize| (0..3).map(move |place| (i, place));
        let all = (0..self.steps.len()).flat_map(places);
        let steps = |place: Place| self.steps[place.0][place.1].iter().enumerate();
        all.flat_map(|place| steps(place).map(move |(at, step)| (place, at, *step))).collect()
    }

    /// Whether an event comes before another one without others between, or with some.
    fn directly(&self, a: (Place, usize, Step), b: (Place, usize, Step)) -> bool {
        let ((i, place), (j, other)) = (a.0, b.0);
        let outer = |iteration: usize| self.around[iteration].unwrap_or(iteration);
        let is_inner = |iteration: usize| self.around[iteration].is_some();
        let by_code = a.0 == b.0 && a.1 < b.1;
        // first, then the inner scope, then second.
        let phase = |iteration, place| match (is_inner(iteration), place) {
            (true, _) => Some(1),
            (false, FIRST) => Some(0),
            (false, SECOND) => Some(2),
            (false, _) => None,
        };
        let by_path =
            outer(i) == outer(j) && phase(i, place).zip(phase(j, other)).is_some_and(|(a, b)| a < b);
        let pushed = match a.2 {
            Step::Push(element) | Step::PushInside(element) => Some(element),
            Step::Read(_) | Step::Write(_) | Step::Sum(_) => None,
        };
        by_code || by_path || pushed.is_some_and(|element| element == j || self.around[j] == Some(element))
    }

    /// Whether two accesses clash that nothing orders, by enumeration.
    fn conflicts(&self) -> bool {
        let events = self.events();
        let n = events.len();
        let directly = |a| events.iter().map(|b| self.directly(a, *b)).collect();
        let mut before: Vec<Vec<bool>> = events.iter().map(|a| directly(*a)).collect();
        for k in 0..n {
            for a in 0..n {
                for b in 0..n {
                    before[a][b] |= before[a][k] && before[k][b];
                }
            }
        }
        let clash = |a: Step, b: Step| match (a, b) {
            (Step::Write(x), Step::Write(y) | Step::Read(y) | Step::Sum(y))
            | (Step::Read(x) | Step::Sum(x), Step::Write(y))
            | (Step::Read(x), Step::Sum(y))
            | (Step::Sum(x), Step::Read(y)) => x == y,
            (Step::Read(_), Step::Read(_)) | (Step::Sum(_), Step::Sum(_)) => false,
            (Step::Push(_) | Step::PushInside(_), _) | (_, Step::Push(_) | Step::PushInside(_)) => false,
        };
        (0..n).any(|a| (a + 1..n).any(|b| clash(events[a].2, events[b].2) && !before[a][b] && !before[b][a]))
    }

    /// How many steps a tasklet has in the tables.
    fn width(&self) -> usize {
        self.steps.iter().flatten().map(Vec::len).max().unwrap_or(0).max(1)
    }

    fn arguments(&self) -> Arguments {
        let (mut what, mut at) = (Vec::new(), Vec::new());
        for steps in self.steps.iter().flatten() {
            for k in 0..self.width() {
                let (kind, number) = match steps.get(k) {
                    None => (0_i64, 0),
                    Some(Step::Read(element)) => (1, *element),
                    Some(Step::Write(element)) => (2, *element),
                    Some(Step::Sum(element)) => (3, *element),
                    Some(Step::Push(number)) => (4, *number),
                    Some(Step::PushInside(number)) => (5, *number),
                };
                what.push(kind);
                at.push(number as i64);
            }
        }
        Arguments::new()
            .with("A", Tensor::vector(&[1.0; SIZE]))
            .with("what", Tensor::vector(&what))
            .with("at", Tensor::vector(&at))
            .with_symbol("roots", self.roots as i64)
            .with_symbol("width", self.width() as i64)
    }
}

/// The program, which tables tell what to do.
fn interpreted() -> Validated {
    let tables = "what[0:M]";
    let code = |place: usize, inside: bool| {
        let inside = if inside { "\n              if kind == 5: q = number" } else { "" };
        format!(
            "for k in range(width):
              kind = what[(x * 3 + {place}) * width + k]
              number = at[(x * 3 + {place}) * width + k]
              if kind == 1: v = a[number]
              if kind == 2: o[number] = x
              if kind == 3: w[number] = x
              if kind == 4: s = number{inside}"
        )
    };
    let edges = |scope: &str, label: &str| {
        let mut text = String::new();
        for (name, memlet) in [("what", tables), ("at", "at[0:M]"), ("a", "A[0:3]")] {
            let _ = writeln!(text, "      {scope}.{name} -> {label}.{name}: {memlet} dynamic");
        }
        for (name, memlet) in [("o", "A[0:3]"), ("w", "A[0:3] wcr(sum)"), ("s", "S")] {
            let _ = writeln!(text, "      {label}.{name} -> {scope}.{name}_{label}: {memlet} dynamic");
        }
        text
    };
    let mut text = format!(
        "sdfg p {{
  symbol M: i64
  symbol roots: i64
  symbol width: i64
  array A: f64[3]
  array what: i64[M]
  array at: i64[M]
  transient stream S: i64
  transient stream Q: i64
  state fill {{
    access S
    tasklet t () -> (s) {{
      for i in range(roots):
        s = i
    }}
    t.s -> S: S dynamic
  }}
  state work {{
    access S
    access what
    access at
    access A
    consume c [p = 0:3] {{
      access Q
      access again = Q
      consume d [e = 0:2] {{
        tasklet inner (x, what, at, a) -> (o, w, s, q) {{
          {}
        }}
        d.stream -> inner.x: Q
        inner.q -> d.q: Q dynamic
  {}      }}
      Q -> d.stream
      d.q -> again
",
        code(FIRST, true),
        edges("d", "inner")
    );
    for (place, label) in PLACES.into_iter().enumerate() {
        let (q, edge) = if place == FIRST { (", q", "      first.q -> Q: Q dynamic\n") } else { ("", "") };
        let _ = write!(
            text,
            "      tasklet {label} (x, what, at, a) -> (o, w, s{q}) {{
        {}
      }}
      c.stream -> {label}.x: S
{edge}{}",
            code(place, place == FIRST),
            edges("c", label)
        );
    }
    text.push_str("      order d -> second\n");
    for name in ["what", "at", "a"] {
        let _ = writeln!(text, "      c.{name} -> d.{name}");
    }
    for name in ["o", "w", "s"] {
        let _ = writeln!(text, "      d.{name}_inner -> c.{name}_inner");
    }
    text.push_str("    }\n    S -> c.stream\n    what -> c.what\n    at -> c.at\n    A -> c.a\n");
    for label in PLACES.into_iter().chain(["inner"]) {
        for (name, container) in [("o", "A"), ("w", "A"), ("s", "S")] {
            let _ = writeln!(text, "    access {name}_{label} = {container}");
            let _ = writeln!(text, "    c.{name}_{label} -> {name}_{label}");
        }
    }
    text.push_str("  }\n}\n");
    program(&text)
}

fn forests() -> impl Strategy<Value = Forest> {
    let accesses = prop::collection::vec((any::<u8>(), any::<u8>(), any::<u8>()), 0..3);
    let draft = (any::<bool>(), any::<u16>(), any::<u16>(), accesses);
    (1_usize..3, prop::collection::vec(draft, 2..8)).prop_map(|(roots, drafts)| Forest::new(roots, &drafts))
}

#[test]
fn traps_exactly_if_nothing_orders_iterations() {
    let program = interpreted();
    let (mut races, mut orderly) = (0, 0);
    let config = ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let result = runner.run(&(forests(), 0_u64..4), |(forest, seed)| {
        let order = if seed == 0 { Order::Fixed } else { Order::Random(seed) };
        let conflicts = forest.conflicts();
        let mut arguments = forest.arguments();
        let mut interpreter = Interpreter::new(&program).unwrap();
        match interpreter.run(&mut arguments, &Options { order, ..Options::default() }) {
            Ok(_) => prop_assert!(!conflicts, "no conflict was found"),
            Err(RunError::Trap(trap)) if matches!(trap.kind, TrapKind::Conflict { .. }) => {
                prop_assert!(conflicts, "{}", trap);
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    // Both kinds are there.
    for forest in forests_of_a_sample() {
        *(if forest.conflicts() { &mut races } else { &mut orderly }) += 1;
    }
    assert!(races > 50 && orderly > 50, "{races} races, {orderly} orderly");
}

fn forests_of_a_sample() -> Vec<Forest> {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    (0..300).map(|_| forests().new_tree(&mut runner).unwrap().current()).collect()
}
