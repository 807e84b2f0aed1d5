//! Transformations that make library nodes, or expand them, keep results in the interpreter.

use sdfg::edit::Editor;
use sdfg::interpret::{Arguments, Interpreter, Options, Order};
use sdfg::ir::{ContainerKind, Sdfg};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::tensor::Tensor;
use sdfg::validate::validate;
use sdfg_library::{BuiltIn, ExpandLibrary, transformations};
use sdfg_transforms::rewrites::{GpuTransform, LiftToLibrary, MapReduceFusion, MpiTransform, RedundantArray};
use sdfg_transforms::{Match, Transformation, apply, matches, places};

fn parsed(text: &str) -> Sdfg {
    sdfg::text::parse("test.sdft", text).unwrap_or_else(|errors| panic!("{text}\n{errors:?}"))
}

/// The arguments after a run, where every symbol is `n`, and elements are small integers.
fn results(program: &Sdfg, n: i64, order: Order) -> Result<Arguments, String> {
    results_on(program, n, order, 1)
}

fn results_on(program: &Sdfg, n: i64, order: Order, ranks: u32) -> Result<Arguments, String> {
    let valid = validate(program.clone()).map_err(|rejected| format!("{:?}", rejected.diagnostics))?;
    let mut interpreter = Interpreter::new(&valid).map_err(|error| error.to_string())?;
    let mut arguments = Arguments::new();
    for (symbol, _) in program.symbols() {
        arguments.set_symbol(symbol.as_str(), n);
    }
    for (seed, (_, container)) in (0..).zip(program.arguments()) {
        let extent = |extent: &Expr| extent.eval(&|_: &Symbol| Some(n)).expect("an extent");
        let shape: Vec<i64> = match &container.kind {
            ContainerKind::Scalar => Vec::new(),
            _ => container.shape().iter().map(extent).collect(),
        };
        let count = shape.iter().product::<i64>().max(0);
        let bytes = (0..count).flat_map(|i| (((i * 7 + seed * 3) % 5 - 2) as f64).to_le_bytes()).collect();
        arguments
            .set(&container.name, Tensor::from_bytes(container.element, shape, bytes).expect("a tensor"));
    }
    let options = Options { order, ranks, libraries: Some(&BuiltIn), ..Options::default() };
    interpreter.run(&mut arguments, &options).map_err(|error| error.to_string())?;
    Ok(arguments)
}

fn difference(before: &Sdfg, after: &Sdfg, sizes: &[i64]) -> Option<String> {
    for n in sizes {
        let expected = results(before, *n, Order::Fixed).unwrap_or_else(|error| panic!("{error}"));
        for order in [Order::Fixed, Order::Random(1), Order::Random(2)] {
            match results(after, *n, order) {
                Ok(found) if expected.tensors().all(|(name, tensor)| found.get(name) == Some(tensor)) => {}
                Ok(_) => return Some(format!("results differ for {n} in {order:?}")),
                Err(error) => return Some(error),
            }
        }
    }
    None
}

fn first_match(program: &Sdfg, transformation: &dyn Transformation) -> Match {
    let passing = matches(program, transformation).into_iter().next();
    passing.or_else(|| places(program, transformation).into_iter().last()).expect("a match")
}

fn applies(text: &str, transformation: &dyn Transformation) -> String {
    let before = parsed(text);
    let mut after = before.clone();
    let found = first_match(&before, transformation);
    apply(&mut after, transformation, &found).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let text = sdfg::text::print(&after);
    let wrong = difference(&before, &after, &[0, 1, 2, 5, 19]);
    assert!(wrong.is_none(), "{wrong:?}\n{text}");
    text
}

fn refuses(text: &str, transformation: &dyn Transformation) -> String {
    let mut program = parsed(text);
    let found = first_match(&program, transformation);
    apply(&mut program, transformation, &found).expect_err("a refusal").to_string()
}

fn refuses_rightly(text: &str, transformation: &dyn Transformation) -> String {
    let before = parsed(text);
    let found = first_match(&before, transformation);
    let mut forced = before.clone();
    let mut editor = Editor::new(&mut forced);
    assert!(transformation.apply(&mut editor, &found).is_ok(), "the rewrite cannot be forced");
    let is_wrong = editor.commit().is_err() || difference(&before, &forced, &[1, 2, 5]).is_some();
    assert!(is_wrong, "the forced rewrite is right:\n{}", sdfg::text::print(&forced));
    refuses(text, transformation)
}

/// The page shows a program before and after.
fn page_is_true(transformation: &dyn Transformation) {
    let page = transformation.metadata().page();
    let programs: Vec<&str> =
        page.split("```sdft\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let [before, after] = programs[..] else { panic!("the page shows no two programs:\n{page}") };
    assert_eq!(applies(before, transformation), sdfg::text::print(&parsed(after)));
}

#[test]
fn the_pages_are_true() {
    page_is_true(&LiftToLibrary::default());
    page_is_true(&ExpandLibrary::default());
}

fn reduction(reduce: &str, shape: &str, read: &str, to: &str, target: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[{shape}]
  {to}
  state s {{
    access A
    access B
    reduce r {reduce}
    A -> r: A[{read}]
    r -> B: {target}
  }}
}}"
    )
}

#[test]
fn reductions_are_expanded_in_every_way() {
    for implementation in ["", "pure", "sequential", "parallel", "tree"] {
        let expand = ExpandLibrary::by(implementation);
        for resolution in ["sum", "max"] {
            for identity in ["", " identity(0.5)"] {
                let one = format!("wcr({resolution}){identity}");
                applies(&reduction(&one, "N", "0:N", "scalar B: f64", "B"), &expand);
                applies(&reduction(&one, "N, 3", "0:N, 0:3", "array B: f64[2]", "B[1]"), &expand);
                for axis in [0, 1, 2] {
                    let some = format!("wcr({resolution}) axes({axis}){identity}");
                    let text =
                        reduction(&some, "N, N, N", "0:N, 0:N, 0:N", "array B: f64[N, N]", "B[0:N, 0:N]");
                    let text = applies(&text, &expand);
                    assert!(!text.contains("reduce"), "{text}");
                }
                let some = format!("wcr({resolution}) axes(0, 2){identity}");
                let text = reduction(&some, "N, 2, N", "0:N, 0:2, 0:N", "array B: f64[2]", "B[0:2] wcr(RES)");
                applies(&text.replace("RES", resolution), &expand);
            }
        }
    }
}

#[test]
fn expansions_that_are_not_there_are_refused() {
    let text = reduction("wcr(sum)", "N", "0:N", "scalar B: f64", "B");
    assert!(refuses(&text, &ExpandLibrary::by("blocks")).contains("no expansion `blocks`; known: pure"));
    let ordered = reduction("wcr(lambda old, new: 2 * old - new)", "N", "0:N", "scalar B: f64", "B");
    for implementation in ["parallel", "tree"] {
        let message = refuses(&ordered, &ExpandLibrary::by(implementation));
        assert!(message.contains("another order"), "{message}");
    }
}

#[test]
fn the_registry_has_the_transformations_of_both_crates() {
    let registry = transformations();
    let parameters = serde_json::json!({ "implementation": "tree" });
    assert!(registry.make("ExpandLibrary", &parameters).is_ok());
    assert!(registry.make("MapFusion", &serde_json::Value::Null).is_ok());
}

/// A map that adds products of `A[a]` and `B[b]` to `C[c]`.
fn product(ranges: &str, [a, b, c]: [&str; 3], code: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N, N + 1, N + 2]
  array B: f64[N, N + 1, N + 2]
  array C: f64[N, N + 1, N + 2]
  array D: f64[N + 2, N + 2]
  array E: f64[N + 2, N + 2]
  array F: f64[N + 2, N + 2]
  state s {{
    access A
    access B
    access C
    map m [{ranges}] {{
      tasklet t (x, z) -> (y) {{ {code} }}
      m.A -> t.x: A[{a}]
      m.B -> t.z: B[{b}]
      t.y -> m.C: C[{c}] wcr(sum)
    }}
    A -> m.A
    B -> m.B
    m.C -> C
  }}
}}"
    )
}

#[test]
fn products_of_matrices_are_lifted_in_every_order_and_in_batches() {
    let lift = LiftToLibrary::default();
    let flat = |a: &str, b: &str, c: &str, ranges: &str| {
        let text = product(ranges, [a, b, c], "y = x * z");
        text.replace("A[", "D[").replace("B[", "E[").replace("C[", "F[").replace("array D: f64[N, N + 1, N + 2]\n  array E: f64[N, N + 1, N + 2]\n  array F: f64[N, N + 1, N + 2]\n", "")
            .replace("access A", "access D").replace("access B", "access E").replace("access C", "access F")
            .replace("    A ->", "    D ->").replace("    B ->", "    E ->").replace("-> C\n", "-> F\n")
    };
    for a in ["i, k", "k, i"] {
        for b in ["k, j", "j, k"] {
            for c in ["i, j", "j, i"] {
                let text = applies(&flat(a, b, c, "i = 0:N, k = 0:N + 1, j = 1:N + 2"), &lift);
                assert!(text.contains("MatMul") && !text.contains("map "), "{text}");
            }
        }
    }
    let text =
        product("b = 0:N, i = 0:N, j = 0:N, k = 0:N + 1", ["b, i, k", "b, k, j", "b, i, j"], "y = z * x");
    applies(&text, &lift);
}

/// A number becomes `alpha`, and an element that all products share scales the left matrix first.
#[test]
fn products_with_a_common_factor_are_lifted() {
    let lift = LiftToLibrary::default();
    let plain = ["b, i, k", "b, k, j", "b, i, j"];
    let ranges = "b = 0:N, i = 0:N, j = 1:N + 1, k = 0:N + 1:2";
    let number = applies(&product(ranges, plain, "y = z * 0.5 * x"), &lift);
    assert!(number.contains("alpha = 0.5"), "{number}");
    let scaled = |factor: &str| {
        product(ranges, plain, "y = f * x * z")
            .replace("tasklet t (x", "tasklet t (f, x")
            .replace("      m.A ->", &format!("      m.D -> t.f: {factor}\n      m.A ->"))
            .replace("    A -> m.A", "    access D\n    D -> m.D\n    A -> m.A")
    };
    for factor in ["D[0, 0]", "D[N, 1]"] {
        let text = applies(&scaled(factor), &lift);
        assert!(text.contains("A_scaled0[0:N, 0:N, 0:N // 2 + 1]") && text.contains("f * x"), "{text}");
    }
    let is_refused = |text: &str, reason: &str| {
        let message = refuses(text, &lift);
        assert!(message.contains(reason), "{message}");
    };
    is_refused(&scaled("D[k, 0]"), "has not two factors");
    is_refused(&scaled("D[0, 0]").replace("D: f64", "D: f32"), "elements of another type");
    let integers = product(ranges, plain, "y = 2 * x * z").replace("f64", "i64");
    is_refused(&integers, "multiplies integers by a number");
    // The product changes the factor.
    let own =
        scaled("C[0, 0, 1]").replace("    access D\n    D -> m.D\n", "    access E = C\n    E -> m.D\n");
    is_refused(&own.replace("m.D", "m.C"), "may have the same elements");
}

/// A library node runs on the host, and does not reach what a kernel reads.
#[test]
fn kernels_are_not_lifted() {
    let plain = ["b, i, k", "b, k, j", "b, i, j"];
    let host = product("b = 0:N, i = 0:N, j = 0:N, k = 0:N", plain, "y = x * z");
    let kernel = applies(&host, &GpuTransform::default());
    let refusal = refuses_rightly(&kernel, &LiftToLibrary::default());
    assert!(refusal.contains("brings its contents to a device"), "{refusal}");
}

/// A library node has no maps before it is expanded. Those of its nested SDFG become kernels.
#[test]
fn expanded_library_nodes_have_kernels() {
    let text = reduction("wcr(sum) axes(1)", "N, N", "0:N, 0:N", "array B: f64[N]", "B[0:N]");
    assert!(places(&parsed(&text), &GpuTransform::default()).is_empty());
    let before = parsed(&text);
    for expansion in ["pure", "sequential"] {
        let mut program = before.clone();
        let expand = ExpandLibrary::by(expansion);
        let found = first_match(&program, &expand);
        apply(&mut program, &expand, &found).unwrap_or_else(|error| panic!("{error}"));
        let kernel = applies(&sdfg::text::print(&program), &GpuTransform::default());
        assert!(kernel.contains("schedule(gpu_grid)"), "{kernel}");
        let wrong = difference(&before, &parsed(&kernel), &[0, 1, 2, 5, 19]);
        assert!(wrong.is_none(), "{wrong:?}\n{kernel}");
    }
}

/// The transient of the scaled matrix belongs to the iteration of each rank.
#[test]
fn products_with_a_common_factor_are_lifted_on_each_rank() {
    let text = "sdfg p {
  symbol N: i64
  scalar f: f64
  array A: f64[N, N]
  array B: f64[N, N]
  array C: f64[N, N]
  state s {
    access f
    access A
    access B
    access C
    map m [i = 0:N, j = 0:N, k = 0:N] {
      tasklet t (f, x, z) -> (y) { y = f * x * z }
      m.f -> t.f: f
      m.A -> t.x: A[i, k]
      m.B -> t.z: B[k, j]
      t.y -> m.C: C[i, j] wcr(sum)
    }
    f -> m.f
    A -> m.A
    B -> m.B
    m.C -> C
  }
}";
    let on_ranks = applies(text, &MpiTransform::new([3]));
    let lifted = applies(&on_ranks, &LiftToLibrary::default());
    assert!(lifted.contains("MatMul") && lifted.contains("schedule(mpi)"), "{lifted}");
    for n_ranks in [1, 2, 3, 4] {
        let found = results_on(&parsed(&lifted), 7, Order::Random(3), n_ranks).expect("results");
        let expected = results(&parsed(text), 7, Order::Fixed).expect("results");
        assert_eq!(found.get("C"), expected.get("C"), "{n_ranks} ranks");
    }
}

/// A product of matrices behind a fill of these elements of its result with a value.
fn filled_product(range: &str, value: &str, more: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N, N + 1]
  array B: f64[N + 1, N + 2]
  array C: f64[N, N + 2]
  array D: f64[N, N + 2]
  state s {{
    access A
    access B
    access C
    access D
    access zeros = C
    map fill [{range}] {{
      tasklet z () -> (y) {{ y = {value} }}
      z.y -> fill.C: C[p, q]
    }}
    map m [i = 0:N, j = 0:N + 2, k = 0:N + 1] {{
      tasklet t (x, z) -> (y) {{ y = x * z }}
      m.A -> t.x: A[i, k]
      m.B -> t.z: B[k, j]
      t.y -> m.C: C[i, j] wcr(sum)
    }}
    {more}
    fill.C -> zeros
    order zeros -> m
    A -> m.A
    B -> m.B
    m.C -> C
  }}
}}"
    )
}

#[test]
fn zeros_that_only_the_product_uses_disappear() {
    let lift = LiftToLibrary::default();
    for range in ["p = 0:N, q = 0:N + 2", "q = 0:N + 2, p = 0:N"] {
        // What reads the old elements stays before.
        for more in
            ["", "access old = C\n    old -> D: C[0:N, 0:N + 2] -> D[0:N, 0:N + 2]\n    order D -> fill"]
        {
            let text = applies(&filled_product(range, "0.0", more), &lift);
            assert!(!text.contains("map fill") && !text.contains("wcr(sum)"), "{text}");
        }
    }
    let reads =
        "access others = D\n    zeros -> others: C[0:N, 0:N + 2] -> D[0:N, 0:N + 2]\n    order others -> m";
    for (range, value, more) in [
        ("p = 0:N, q = 0:N + 1", "0.0", ""),
        ("p = 0:N, q = 0:N + 2", "1.0", ""),
        ("p = 0:N, q = 0:N + 2", "0.0", reads),
    ] {
        let text = applies(&filled_product(range, value, more), &lift);
        assert!(text.contains("map fill") && text.contains("wcr(sum)"), "{text}");
    }
    let more_zeros = filled_product("p = 0:N, q = 0:N + 2", "0.0", "").replace("j = 0:N + 2", "j = 0:N + 1");
    assert!(applies(&more_zeros, &lift).contains("map fill"));
}

#[test]
fn other_sums_are_not_lifted() {
    let lift = LiftToLibrary::default();
    let all = "b = 0:N, i = 0:N, j = 0:N, k = 0:N";
    let plain = ["b, i, k", "b, k, j", "b, i, j"];
    let is_refused = |text: &str, reason: &str| {
        let message = refuses(text, &lift);
        assert!(message.contains(reason), "{message}");
    };
    is_refused(&product(all, plain, "y = x * z + 1"), "is no product");
    is_refused(&product(all, plain, "y = x - z"), "is no product");
    is_refused(&product(all, ["b, i, k", "b, k, j", "i, b, j"], "y = x * z"), "has not the indices");
    is_refused(&product(all, ["b, i, k", "b, i, j", "b, i, j"], "y = x * z"), "has not the indices");
    is_refused(&product(all, ["b, i, i", "b, k, j", "b, i, j"], "y = x * z"), "or one twice");
    is_refused(&product(all, ["b, i, N - 1 - k", "b, k, j", "b, i, j"], "y = x * z"), "no parameter");
    let triangle = product("b = 0:N, i = 0:N, j = 0:N, k = 0:i", plain, "y = x * z");
    assert!(refuses_rightly(&triangle, &lift).contains("depends on `i`"));
    for range in ["N - 1:-1:-1", "0:N:2"] {
        let steps = product(&format!("b = 0:N, i = 0:N, j = 0:N, k = {range}"), plain, "y = x * z");
        applies(&steps, &lift);
    }
    let unknown = product("b = 0:N, i = 0:N, j = 0:N, k = 0:N:S", plain, "y = x * z");
    is_refused(&unknown.replace("symbol N: i64", "symbol N: i64\n  symbol S: i64"), "the step S is positive");
    // Extents are not negative (docs/semantics.md), and those of this factor could be.
    let part = product("b = 0:N, i = 0:N, j = 2:N, k = 0:N", plain, "y = x * z");
    is_refused(&part, "2 <= N");
    let mixed = product(all, plain, "y = x * z").replace("array A: f64", "array A: i64");
    assert!(refuses(&mixed, &lift).contains("elements of another type"));
}

/// Parts of one array may be a factor and the result.
#[test]
fn a_part_of_a_factor_is_a_result() {
    let product = |k: &str| {
        format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N, 2*N]
  array B: f64[2*N, 2*N]
  state s {{
    access A
    access B
    access C = A
    map m [i = 0:N, j = N:2*N, k = {k}] {{
      tasklet t (x, z) -> (y) {{ y = x * z }}
      m.A -> t.x: A[i, k]
      m.B -> t.z: B[k, j]
      t.y -> m.C: A[i, j] wcr(sum)
    }}
    A -> m.A
    B -> m.B
    m.C -> C
  }}
}}"
        )
    };
    assert!(applies(&product("0:N"), &LiftToLibrary::default()).contains("MatMul"));
    // Such a map reads what other iterations write: it traps.
    assert!(results(&parsed(&product("0:2*N")), 3, Order::Random(1)).is_err());
    let message = refuses(&product("0:2*N"), &LiftToLibrary::default());
    assert!(message.contains("may have the same elements"), "{message}");
}

/// An expansion that combines in another order is wrong for functions with an order.
#[test]
fn functions_with_an_order_are_not_combined_in_parts() {
    let function = "wcr(lambda old, new: 2 * old - new)";
    for implementation in ["parallel", "tree"] {
        let sum = parsed(&reduction("wcr(sum) identity(0)", "N", "0:N", "scalar B: f64", "B"));
        let expand = ExpandLibrary::by(implementation);
        let mut expanded = sum.clone();
        apply(&mut expanded, &expand, &first_match(&sum, &expand)).expect("an expansion");
        let wrong = sdfg::text::print(&expanded).replace("wcr(sum)", function);
        let before = parsed(&reduction(&format!("{function} identity(0)"), "N", "0:N", "scalar B: f64", "B"));
        assert!(difference(&before, &parsed(&wrong), &[2, 5, 19]).is_some(), "{wrong}");
    }
}

#[test]
fn the_matrix_product_of_the_paper_is_lifted_after_fusion() {
    let text = std::fs::read_to_string("../../programs/matmul.sdft").expect("the program");
    let mut program = parsed(&text);
    for transformation in [&MapReduceFusion::default() as &dyn Transformation, &LiftToLibrary::default()] {
        let found = first_match(&program, transformation);
        apply(&mut program, transformation, &found).unwrap_or_else(|error| panic!("{error}"));
    }
    let lifted = sdfg::text::print(&program);
    assert!(lifted.contains("MatMul") && !lifted.contains("map "), "{lifted}");
    let mut expanded = program.clone();
    let expand = ExpandLibrary::default();
    let found = first_match(&program, &expand);
    apply(&mut expanded, &expand, &found).unwrap_or_else(|error| panic!("{error}"));
    let wrong = difference(&parsed(&text), &expanded, &[1, 2, 5]);
    assert!(wrong.is_none(), "{wrong:?}");
}

/// A library node computes with the dimensions of its operands.
#[test]
fn results_go_to_parts_of_arrays_of_the_same_rank() {
    let product = |target: &str| {
        format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N, N]
  array B: f64[N, N]
  array C: f64[N + 1, N + 2]
  array D: f64[2, N, N]
  transient array T: f64[N, N]
  state s {{
    access A
    access B
    access T
    access to = {}
    library row: MatMul (_a, _b) -> (_c) {{}}
    A -> row._a: A[0:N, 0:N]
    B -> row._b: B[0:N, 0:N]
    row._c -> T: T[0:N, 0:N]
    T -> to: T[0:N, 0:N] -> {target}
  }}
}}",
            &target[..1]
        )
    };
    let text = applies(&product("C[1:N + 1, 2:N + 2]"), &RedundantArray::default());
    assert!(!text.contains("array T"), "{text}");
    let message = refuses(&product("D[1, 0:N, 0:N]"), &RedundantArray::default());
    assert!(message.contains("needs the dimensions of the transient"), "{message}");
}
