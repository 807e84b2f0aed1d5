//! Tests of reductions before and after expansion: text programs, run by the interpreter in several orders.

use sdfg::interpret::{Arguments, Interpreter, Options, Order};
use sdfg::ir::Sdfg;
use sdfg::tensor::Tensor;
use sdfg::validate::validate;
use sdfg_library::{BuiltIn, expand};

/// Text after `reduce r`, and the memlets into and out of it, for `A: T[3, 1, 4]`.
struct Case {
    element: &'static str,
    output: &'static str,
    reduce: &'static str,
    from: &'static str,
    to: &'static str,
}

const fn case(reduce: &'static str, output: &'static str, from: &'static str, to: &'static str) -> Case {
    Case { element: "f64", output, reduce, from, to }
}

const CASES: [Case; 18] = [
    // Shapes: everything to one element, kept axes, kept ranks, parts, steps, single indices on either side.
    case("wcr(sum) identity(0.0)", "array B: f64[1]", "A[0:3, 0, 0:4]", "B[0]"),
    case("wcr(sum) identity(1.5)", "scalar B: f64", "A[0:3, 0, 0:4]", "B"),
    case("wcr(sum) axes(0) identity(0.0)", "array B: f64[4]", "A[0:3, 0, 0:4]", "B[0:4]"),
    case("wcr(sum) axes(2) identity(0.0)", "array B: f64[3]", "A[0:3, 0, 0:4]", "B[0:3]"),
    case("wcr(sum) axes(2) identity(0.0)", "array B: f64[3, 1, 1]", "A[0:3, 0:1, 0:4]", "B[0:3, 0, 0]"),
    case("wcr(sum) axes(1) identity(0.0)", "array B: f64[4, 3]", "A[1, 0:1, 0:4]", "B[0:4, 2]"),
    case("wcr(sum) axes(0, 1) identity(0.0)", "array B: f64[8]", "A[2:-1:-1, 0, 0:4:2]", "B[1:7:3]"),
    case("wcr(sum) axes(2) identity(0.0)", "array B: f64[3]", "A[0:3, 0, 0:0]", "B[0:3]"),
    // Without an identity it combines into what is there.
    case("wcr(sum) axes(0)", "array B: f64[4]", "A[0:3, 0, 0:4]", "B[0:4]"),
    case("wcr(max)", "array B: f64[2]", "A[0:3, 0, 0:4]", "B[1]"),
    // The edge has the resolution of the reduction.
    case("wcr(sum) axes(0) identity(0.0)", "array B: f64[4]", "A[0:3, 0, 0:4]", "B[0:4] wcr(sum)"),
    case("wcr(sum) axes(0)", "array B: f64[4]", "A[0:3, 0, 0:4]", "B[0:4] wcr(sum)"),
    // Resolutions.
    case("wcr(product) identity(1.0)", "array B: f64[1]", "A[0:3, 0, 0:4]", "B[0]"),
    case("wcr(min) axes(0) identity(inf)", "array B: f64[4]", "A[0:3, 0, 0:4]", "B[0:4]"),
    case("wcr(max) axes(2) identity(-inf)", "array B: f64[3]", "A[0:3, 0, 0:4]", "B[0:3]"),
    case("wcr(lambda x, y: x + 2 * y) identity(0.0)", "array B: f64[1]", "A[0:3, 0, 0:4]", "B[0]"),
    Case {
        element: "i32",
        output: "array B: i32[1]",
        reduce: "wcr(bitxor) identity(0)",
        from: "A[0:3, 0, 0:4]",
        to: "B[0]",
    },
    Case {
        element: "i32",
        output: "array B: i32[4]",
        reduce: "wcr(bitor) axes(0) identity(8)",
        from: "A[0:3, 0, 0:4]",
        to: "B[0:4]",
    },
];

fn program(case: &Case) -> String {
    let Case { element, output, reduce, from, to } = case;
    format!(
        "sdfg p {{\n  array A: {element}[3, 1, 4]\n  {output}\n  state main {{\n    access A\n    access B\n    \
         reduce r {reduce}\n    A -> r: {from}\n    r -> B: {to}\n  }}\n}}\n"
    )
}

/// Twelve small numbers, all different, whose sums and products are exact.
fn filled(sdfg: &Sdfg) -> Arguments {
    let mut arguments = Arguments::new();
    for (_, container) in sdfg.arguments() {
        let shape: Vec<i64> =
            container.shape().iter().map(|extent| extent.as_int().expect("a constant")).collect();
        let count = shape.iter().product::<i64>();
        let numbers = (0..count).map(|k| (k * 7) % 12 + 1);
        let tensor = if container.element.to_string() == "i32" {
            Tensor::new(&shape, &numbers.map(|n| n as i32).collect::<Vec<_>>())
        } else {
            Tensor::new(&shape, &numbers.map(|n| n as f64 / 4.0).collect::<Vec<_>>())
        };
        arguments.set(&container.name, tensor.expect("as many numbers as elements"));
    }
    arguments
}

fn run(sdfg: Sdfg, order: Order) -> Arguments {
    let validated = validate(sdfg).unwrap_or_else(|rejected| panic!("{rejected}"));
    let mut results = filled(validated.sdfg());
    let mut interpreter = Interpreter::new(&validated).expect("the interpreter runs it");
    let options = Options { order, ..Options::default() };
    interpreter.run(&mut results, &options).unwrap_or_else(|error| panic!("{error}"));
    results
}

fn same_before_and_after(text: &str, orders: &[Order]) {
    let parsed =
        sdfg::text::parse("case.sdft", text).unwrap_or_else(|errors| panic!("{errors:?} in\n{text}"));
    let expected = run(parsed.clone(), Order::Fixed);
    let expanded = expand(&parsed, &BuiltIn).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    for order in orders {
        let found = run(expanded.clone(), *order);
        assert_eq!(found, expected, "{order:?}\n{text}\n{}", sdfg::text::print(&expanded));
    }
}

#[test]
fn expansions_mean_the_same_in_every_order() {
    for case in &CASES {
        // The function is not associative, so its order shows; the interpreter's own is row-major, as the fixed one.
        let orders: &[Order] = if case.reduce.contains("lambda") {
            &[Order::Fixed]
        } else {
            &[Order::Fixed, Order::Random(1), Order::Random(2)]
        };
        same_before_and_after(&program(case), orders);
    }
}

#[test]
fn reductions_in_scopes_and_nested_programs() {
    let text = "\
sdfg p {
  array A: f64[5, 6]
  array B: f64[5]
  state main {
    access A
    access B
    map rows [i = 0:5] {
      nested row (x) -> (y) with (n = i + 1) sdfg inner {
        symbol n: i64
        array x: f64[6]
        scalar y: f64
        state main {
          access x
          access y
          reduce r wcr(sum) identity(0.0)
          x -> r: x[0:n]
          r -> y: y
        }
      }
      rows.A -> row.x: A[i, 0:6]
      row.y -> rows.B: B[i]
    }
    A -> rows.A
    rows.B -> B
  }
}
";
    same_before_and_after(text, &[Order::Fixed, Order::Random(3)]);
    let in_scope = "\
sdfg p {
  array A: f64[5, 6]
  array B: f64[5]
  state main {
    access A
    access B
    map rows [i = 0:5] {
      reduce r wcr(sum) identity(0.0)
      rows.A -> r: A[i, 0:i + 1]
      r -> rows.B: B[i]
    }
    A -> rows.A
    rows.B -> B
  }
}
";
    same_before_and_after(in_scope, &[Order::Fixed, Order::Random(4)]);
    let into_one = in_scope.replace("B: B[i]", "B: B[2] wcr(sum)").replace(" identity(0.0)", "");
    assert_ne!(into_one, in_scope);
    same_before_and_after(&into_one, &[Order::Fixed, Order::Random(5)]);
    // A wrong expansion is noticed: the test is not blind.
    let wrong = in_scope.replace("identity(0.0)", "identity(1.0)");
    let parse = |text: &str| sdfg::text::parse("case.sdft", text).expect("it is right");
    assert_ne!(
        run(parse(in_scope), Order::Fixed),
        run(expand(&parse(&wrong), &BuiltIn).expect("it expands"), Order::Fixed)
    );
}
