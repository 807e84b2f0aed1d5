//! Tests of control flow, variables, program memory, copies and external calls.

use sdfg::dtype::ScalarType;
use sdfg::symbolic::Expr;
use sdfg::tasklet::ExternalOrigin;

use super::plans::{
    array, at, empty, expression, library, load, local, range, size_symbol, store, symbol, tasklet,
};
use super::trusted;
use crate::plan::{
    Allocation, Copy, CopyDimension, ExternalArgument, ExternalCompute, If, JumpTarget, Loop, Plan, Resolved,
    Slot, Statement, While,
};

/// A program with one array `out` of 8 `i64`, which `body` fills.
fn run(name: &str, body: impl FnOnce(&mut Plan, crate::plan::BufferId) -> Vec<Statement>) -> [i64; 8] {
    let mut plan = empty(name);
    let out = array(&mut plan, "out", ScalarType::I64, &Expr::int(8));
    for name in ["i", "j", "k"] {
        plan.variables.insert(symbol(name), ScalarType::I64);
    }
    plan.body = body(&mut plan, out);
    let mut result = [0; 8];
    trusted(library(&plan).call().array_mut("out", &mut result, &[8])).unwrap();
    result
}

fn set(plan: &Plan, variable: &str, text: &str, symbols: &[&str]) -> Statement {
    Statement::Set { variable: symbol(variable), value: expression(plan, text, vec![], symbols) }
}

#[test]
fn while_with_repeat_and_leave() {
    let result = run("loops", |plan, out| {
        let target = JumpTarget(0);
        let skip = If {
            arms: vec![
                (expression(plan, "i == 2", vec![], &["i"]), vec![Statement::Repeat(target)]),
                (expression(plan, "i == 6", vec![], &["i"]), vec![Statement::Leave(target)]),
            ],
            otherwise: vec![],
        };
        let write = tasklet(plan, "o = i * 10", vec![("o", store(out, Expr::sym("i")))], &["i"]);
        vec![
            Statement::Let { variable: symbol("i"), value: Expr::one() },
            Statement::While(While {
                target,
                condition: expression(plan, "i < 100", vec![], &["i"]),
                test_after: false,
                body: vec![Statement::If(skip), write],
                update: vec![set(plan, "i", "i + 1", &["i"])],
                unroll: false,
            }),
        ]
    });
    assert_eq!(result, [0, 10, 0, 30, 40, 50, 0, 0]);
}

#[test]
fn dispatch_jumps_between_cases() {
    let result = run("jumps", |plan, out| {
        let (dispatch, block) = (JumpTarget(0), JumpTarget(1));
        let write = |at, text: &str| tasklet(plan, text, vec![("o", store(out, Expr::int(at)))], &["i"]);
        let goto = |case| Statement::Goto { target: dispatch, case };
        let again = If {
            arms: vec![(expression(plan, "i < 3", vec![], &["i"]), vec![goto(1)])],
            otherwise: vec![Statement::Leave(dispatch)],
        };
        vec![
            Statement::Let { variable: symbol("i"), value: Expr::zero() },
            Statement::Dispatch {
                target: dispatch,
                cases: vec![
                    vec![write(0, "o = 1"), goto(2)],
                    vec![set(plan, "i", "i + 1", &["i"]), goto(2)],
                    vec![write(1, "o = i"), Statement::If(again), write(2, "o = 99")],
                ],
            },
            Statement::Block { target: block, body: vec![Statement::Leave(block), write(3, "o = 99")] },
            write(4, "o = i + 40"),
        ]
    });
    assert_eq!(result, [1, 3, 0, 0, 43, 0, 0, 0]);
}

#[test]
fn tasklet_statements() {
    let result = run("statements", |plan, out| {
        let text = "s = 0\nfor n in range(10, 0, -3):\n    s = s + n\nwhile s > 20:\n    s = s - 1\nif s == 20:\n    a = s\nelse:\n    b = s\nc = 7 if s > 100 else -7";
        let bindings = ["a", "b", "c"].iter().enumerate();
        let bindings = bindings.map(|(i, name)| (*name, store(out, Expr::int(i as i64)))).collect();
        vec![tasklet(plan, text, bindings, &[])]
    });
    // 10 + 7 + 4 + 1 is 22, then 20; `b` is not assigned and keeps its value.
    assert_eq!(result, [20, 0, -7, 0, 0, 0, 0, 0]);
}

#[test]
fn index_expressions() {
    // (i * (i - 1) / 2) // 3, ceil_div, %, min, max, ** for negative and positive i.
    let text = [
        "i * (i - 1) / 2",
        "(i * i - 7) // 3",
        "ceil_div(i - 9, 4)",
        "(i - 5) % 3",
        "min(i, 2, 4 - i)",
        "max(i, 3) // 2",
        "2 ** max(i, 0)",
        "(i - 20) // 8 + (i - 20) % 8",
    ];
    for i in -3_i64..7 {
        let result = run("indices", |plan, out| {
            let mut body = vec![Statement::Let { variable: symbol("i"), value: Expr::int(i) }];
            for (at, text) in text.iter().enumerate() {
                body.push(Statement::Let { variable: symbol("j"), value: text.parse().unwrap() });
                body.push(tasklet(plan, "o = j", vec![("o", store(out, Expr::int(at as i64)))], &["j"]));
            }
            body
        });
        let expected = text.map(|text| text.parse::<Expr>().unwrap().eval(&|_| Some(i)).unwrap());
        assert_eq!(result, expected, "i = {i}");
    }
}

#[test]
fn memory_of_the_program_and_copies() {
    let mut plan = empty("memory");
    let n = size_symbol(&mut plan, "N");
    let a = array(&mut plan, "a", ScalarType::I32, &(&n * &n));
    let handle = local(&mut plan, "handle", ScalarType::I32, &(&n * &n), Allocation::Handle);
    let kept = local(&mut plan, "kept", ScalarType::I64, &Expr::one(), Allocation::Persistent);
    let dynamic = local(&mut plan, "dynamic", ScalarType::I32, &n, Allocation::Dynamic);
    let table = sdfg::value::Value::I32;
    let values = vec![table(100), table(200)];
    let constant = local(&mut plan, "table", ScalarType::I32, &Expr::int(2), Allocation::Constant(values));
    for name in ["i", "j"] {
        plan.variables.insert(symbol(name), ScalarType::I64);
    }
    let dimension = |extent: &Expr, from: &Expr, to: &Expr| CopyDimension {
        extent: extent.clone(),
        from_stride: from.clone(),
        to_stride: to.clone(),
    };
    let copy = |from, to, dimensions| {
        Statement::Copy(Copy { label: "copy".to_owned(), from, to, dimensions, write: Resolved::Store })
    };
    let (zero, one) = (Expr::zero(), Expr::one());
    // Transposed into the handle's memory, back row by row through dynamic memory, the constants on top.
    let transpose = copy(
        at(a, zero.clone()),
        at(handle, zero.clone()),
        vec![dimension(&n, &n, &one), dimension(&n, &one, &n)],
    );
    let i = Expr::sym("i");
    let row = |from, to| copy(from, to, vec![dimension(&n, &one, &one)]);
    let by_row = vec![
        Statement::Allocate(dynamic),
        row(at(handle, &i * &n), at(dynamic, zero.clone())),
        row(at(dynamic, zero.clone()), at(a, &i * &n)),
        Statement::Free(dynamic),
    ];
    let rows = Statement::Loop(Loop::sequential(range("i", zero.clone(), n.clone()), by_row));
    let constants =
        copy(at(constant, zero.clone()), at(a, zero.clone()), vec![dimension(&Expr::int(2), &one, &one)]);
    let count = tasklet(
        &plan,
        "new = old + 1",
        vec![("old", load(kept, zero.clone())), ("new", store(kept, zero.clone()))],
        &[],
    );
    plan.body = vec![transpose, rows, constants, count];
    plan.slots = vec![Slot { buffers: vec![handle] }];
    let library = library(&plan);
    for size in [4_usize, 9, 3] {
        let mut a: Vec<i32> = (0..(size * size) as i32).collect();
        trusted(library.call().symbol("N", size as i64).array_mut("a", &mut a, &[size * size])).unwrap();
        let expected = |k: usize| if k < 2 { [100, 200][k] } else { (k % size * size + k / size) as i32 };
        assert!(a.iter().enumerate().all(|(k, v)| *v == expected(k)), "{a:?}");
    }
}

#[test]
fn external_functions_in_source_and_library() {
    let mut plan = empty("outside");
    let out = array(&mut plan, "out", ScalarType::F64, &Expr::int(3));
    let source = "double twice(double *p, signed char c) { p[1] = c; return 2 * p[0]; }";
    plan.externals = vec![ExternalOrigin::Source(source.to_owned()), ExternalOrigin::Library("m".to_owned())];
    let value = |text: &str| ExternalArgument::Value(expression(&plan, text, vec![], &[]));
    let twice = ExternalCompute {
        label: "twice".to_owned(),
        symbol: "twice".to_owned(),
        callback: None,
        arguments: vec![ExternalArgument::Pointer(at(out, Expr::zero())), value("i8(-3)")],
        result: Some((ScalarType::F64.into(), at(out, Expr::int(2)))),
    };
    let length = ExternalCompute {
        label: "hypot".to_owned(),
        symbol: "hypot".to_owned(),
        callback: None,
        arguments: vec![value("3.0"), value("4.0")],
        result: Some((ScalarType::F64.into(), at(out, Expr::zero()))),
    };
    plan.body = vec![Statement::External(twice), Statement::External(length)];
    let mut result = [5.0, 0.0, 0.0];
    trusted(library(&plan).call().array_mut("out", &mut result, &[3])).unwrap();
    assert_eq!(result, [5.0, -3.0, 10.0]);
}

#[test]
fn a_missing_library_is_named() {
    let mut plan = empty("outside");
    array(&mut plan, "out", ScalarType::F64, &Expr::one());
    plan.externals = vec![ExternalOrigin::Library("no-such-library".to_owned())];
    let object = crate::llvm::compile(&plan, &crate::llvm::CompileOptions::default()).unwrap();
    // SAFETY: there is no such library.
    let error = unsafe { crate::load::Library::load_external(&object) }.unwrap_err();
    assert!(error.to_string().starts_with("`outside` calls functions of libno-such-library.so"), "{error}");
}
