//! Tests of the type checker.

use proptest::prelude::*;

use super::*;
use crate::dtype::ScalarType;
use crate::syntax::{arbitrary, parse_expression};
use crate::tasklet::environment::{Connector, ConnectorKind, Direction};
use crate::tasklet::typed::{TypedExpression, TypedExpressionKind, TypedStatement};

fn environment() -> Environment {
    let mut environment = Environment::new();
    for (name, ty) in [
        ("a", ScalarType::F32),
        ("b", ScalarType::F64),
        ("i8_", ScalarType::I8),
        ("u8_", ScalarType::U8),
        ("u16_", ScalarType::U16),
        ("u32_", ScalarType::U32),
        ("i32_", ScalarType::I32),
        ("flag", ScalarType::Bool),
        ("z", ScalarType::Complex64),
    ] {
        environment.input(name, ty);
    }
    environment.input("v", ElementType::vector(ScalarType::F32, 4).unwrap());
    environment.output("o", ScalarType::F32);
    environment.output("p", ScalarType::F64);
    let pointer = |direction| Connector {
        element: ScalarType::F64.into(),
        kind: ConnectorKind::Pointer { rank: 2 },
        direction,
    };
    environment.add_connector("A", pointer(Direction::In));
    environment.add_connector("B", pointer(Direction::Out));
    environment.add_connector("s", Connector { kind: ConnectorKind::Stream, ..pointer(Direction::Out) });
    environment.add_symbol("N", ScalarType::I64);
    environment.add_symbol("k", ScalarType::I32);
    environment
}

fn type_of(source: &str, dialect: Dialect) -> String {
    match typecheck_expression(&parse_expression(source).unwrap(), dialect, &environment()) {
        Ok(typed) => typed.expression.ty.to_string(),
        Err(errors) => errors[0].to_string(),
    }
}

#[test]
fn types_of_expressions() {
    for (source, expected) in [
        ("a + 1", "f32"),
        ("a * 2.5", "f32"),
        ("a * b", "f64"),
        ("N * a", "f32"),
        ("1", "i64"),
        ("1.5", "f64"),
        ("i8_ + 1", "i8"),
        ("i8_ + 300", "i64"),
        ("u8_ + i8_", "i16"),
        ("u32_ * -1", "i64"),
        ("u32_ + i32_", "i64"),
        ("i32_ / 2", "f64"),
        ("1 / 2 * a", "f32"),
        ("i32_ // 2", "i32"),
        ("flag + flag", "i64"),
        ("flag & flag", "bool"),
        ("flag * a", "f32"),
        ("~flag", "bool"),
        ("u8_ << N", "u8"),
        ("1 << k", "i32"),
        ("a < b < 3", "bool"),
        ("not a", "bool"),
        ("a and N", "bool"),
        ("1j * a", "complex64"),
        ("1j * b", "complex128"),
        ("z * b", "complex128"),
        ("abs(z)", "f32"),
        ("abs(i8_)", "i8"),
        ("sqrt(2) * a", "f32"),
        ("np.sqrt(i32_)", "f64"),
        ("math.pi * a", "f32"),
        ("floor(N)", "i64"),
        ("int(a)", "i64"),
        ("float(a)", "f64"),
        ("int16_t(a)", "i16"),
        ("dace.float64(a)", "f64"),
        ("a if flag else 0", "f32"),
        ("a if flag else b", "f64"),
        ("min(a, 0, 3)", "f32"),
        ("a ** 2", "f32"),
        ("N ** 2", "i64"),
        ("N ** -1", "f64"),
        ("N ** k", "i64"),
        ("b ** N", "f64"),
        ("isnan(N)", "bool"),
        ("complex(a, 1)", "complex64"),
        ("A[k, N - 1]", "f64"),
        ("A(0, 1)", "f64"),
        ("v * 2 + a", "f32x4"),
        ("v < a", "boolx4"),
        ("(v < a) and flag", "boolx4"),
        ("v if v > 0 else 0", "f32x4"),
        ("lanes(a, N)", "f32x2"),
        ("lanes(i8_, u8_, 2)", "i16x3"),
        ("lanes(1, 2) * a", "f32x2"),
        ("lanes(1, 2)", "i64x2"),
        ("lane(v, 3)", "f32"),
        ("lane(v, 3) + b", "f64"),
        ("lane(a, 0)", "f32"),
        ("lanes(v, a)", "expected a scalar, found f32x4"),
        ("lanes(a)", "`lanes` takes 2 to 64 arguments but gets 1"),
        ("lanes(a, a) + v", "f32x2 and f32x4 have different numbers of lanes"),
        ("lane(v, 4)", "f32x4 has no lane `4`"),
        ("lane(v, -1)", "f32x4 has no lane `-1`"),
        ("lane(v, N)", "f32x4 has no lane `N`"),
        ("lane(v, 1.0)", "f32x4 has no lane `1.0`"),
        ("lane(a, 1)", "f32 has no lane `1`"),
        ("lane(v)", "`lane` takes two arguments but gets 1"),
        ("18446744073709551615", "u64"),
        ("-9223372036854775808", "i64"),
        ("reciprocal(a)", "f32"),
        ("clip(a, 0, 1)", "f32"),
        ("np.remainder(a, 2)", "f32"),
    ] {
        assert_eq!(type_of(source, Dialect::Python), expected, "{source}");
    }
    for (source, expected) in [
        ("u16_ + u16_", "i32"),
        ("u32_ + i32_", "u32"),
        ("i32_ / 2", "i32"),
        ("u8_ << 3", "i32"),
        ("int(a)", "i32"),
        ("float(a)", "f32"),
        ("short(a)", "i16"),
        ("uint64_t(a)", "u64"),
        ("flag + flag", "i32"),
        ("a // b", "f64"),
    ] {
        assert_eq!(type_of(source, Dialect::C), expected, "{source}");
    }
}

#[test]
fn errors_of_expressions() {
    for (source, expected) in [
        ("q + 1", "unknown name `q`"),
        ("A + 1", "`A` is a pointer, not a value"),
        ("A[1]", "`A` has 2 dimensions and is indexed with 1"),
        ("A[a, 0]", "an index must be an integer, this is f32"),
        ("A[0:1, 0]", "code reads and writes single elements, not ranges"),
        ("a[0]", "`a` is a single value and cannot be indexed"),
        ("B[0, 0]", "the output `B` is read through its pointer"),
        ("o", "the output `o` is read before it is assigned"),
        ("f(a)", "unknown function `f`"),
        ("sqrt(a, b)", "`sqrt` takes one argument but gets 2"),
        ("min()", "`min` takes at least one argument but gets 0"),
        ("z < 1", "`<` is not defined for complex64"),
        ("a & 1", "`&` is not defined for f32"),
        ("a << 1", "`<<` is not defined for f32"),
        ("N << a", "`<<` is not defined for f32"),
        ("f64(z)", "cannot convert complex64 to f64"),
        ("z % 2", "`%` is not defined for complex64"),
        ("floor(z)", "`floor` is not defined for complex64"),
        ("e + 1", "unknown name `e`"),
    ] {
        assert_eq!(type_of(source, Dialect::Python), expected, "{source}");
    }
    let chains = "(a < (a < (a < (a < (a < b < a) < a) < a) < a) < a)";
    assert_eq!(type_of(chains, Dialect::Python), "chained comparisons are nested too deeply");
}

fn check(source: &str) -> Result<TypedCode, Vec<String>> {
    let code = Code::parse(source, Dialect::Python).unwrap();
    typecheck(&code, &environment()).map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

#[test]
fn locals_take_the_type_of_all_their_values() {
    let locals = |source: &str| -> Vec<String> {
        let typed = check(source).unwrap();
        typed.locals.iter().map(|local| format!("{}: {}", local.name, local.ty)).collect()
    };
    assert_eq!(locals("t = 0\nfor j in range(N):\n    t = t + a\no = t"), ["t: f32", "j: i64"]);
    assert_eq!(locals("t = 2\no = t * a"), ["t: i64"]);
    assert_eq!(
        locals("t = 0\nu = 0\nwhile t < b:\n    u = u + t\n    t = t + a\n    t = t + b\np = u"),
        ["t: f64", "u: f64"]
    );
    assert_eq!(locals("t: i32 = 0\nt += b\np = t"), ["t: i32"]);
    assert_eq!(locals("t = v\nt = t + b\np = 1"), ["t: f64x4"]);
}

#[test]
fn statements_become_few_forms() {
    let typed = check("o = a\no += 1\nB[0, k] = o\ns = 3\nif flag: p = 1\nelif N > 2: p = 2").unwrap();
    let TypedStatement::Output { value, .. } = &typed.body[1] else { panic!("an output") };
    assert!(matches!(value.kind, TypedExpressionKind::Binary { .. }));
    assert!(matches!(typed.body[2], TypedStatement::Store { .. }));
    assert!(matches!(typed.body[3], TypedStatement::Push { .. }));
    let TypedStatement::If { otherwise, .. } = &typed.body[4] else { panic!("a branch") };
    assert!(matches!(otherwise.as_slice(), [TypedStatement::If { .. }]));
}

#[test]
fn errors_of_statements() {
    for (source, expected) in [
        ("a = 1", vec!["`a` is an input and cannot be assigned"]),
        ("N = 1", vec!["`N` is a symbol and cannot be assigned"]),
        ("B = 1", vec!["`B` is a pointer and cannot be assigned"]),
        ("o[0] = 1", vec!["`o` is a single value and cannot be indexed"]),
        ("o += 1", vec!["the output `o` is read before it is assigned"]),
        ("B[0, 0] += 1", vec!["the output `B` is read through its pointer"]),
        ("if flag: t = 1\no = t", vec!["the local `t` may be unassigned here"]),
        (
            "for j in range(3): t = j\no = t + j",
            vec!["the local `t` may be unassigned here", "the local `j` may be unassigned here"],
        ),
        ("for j in range(a): o = 1", vec!["an index must be an integer, this is f32"]),
        ("for j in range(3): j = 2", vec!["`j` is a loop variable and cannot be assigned"]),
        (
            "for j in range(3):\n    for j in range(2): o = 1",
            vec!["`j` is a loop variable and cannot be assigned"],
        ),
        ("for a in range(3): o = 1", vec!["`a` is a connector and cannot be assigned"]),
        ("o = v", vec!["expected a scalar, found f32x4"]),
        ("o = z", vec!["cannot convert complex64 to f32"]),
        ("o: f32 = 1", vec!["`o` has its type already"]),
        ("t: word = 1", vec!["unknown type `word`"]),
        ("o = q\nt = r\np = t + 1", vec!["unknown name `q`", "unknown name `r`"]),
    ] {
        assert_eq!(check(source).unwrap_err(), expected, "{source}");
    }
    assert!(check("if flag: t = 1\nelse: t = a\no = t").is_ok());
}

#[test]
fn the_tallest_trees_fit_on_the_stack() {
    let sum = vec!["a"; 590].join(" + ");
    let blocks: String = (0..190).map(|i| format!("{}if a > {i}:\n", " ".repeat(i))).collect();
    let branches = "if a: o = 1\n".to_owned() + &"elif a: o = 1\n".repeat(590);
    let sources = [format!("o = {sum}"), blocks + &" ".repeat(190) + "o = 1", branches];
    for source in sources {
        crate::tasklet::CompiledCode::new(&check(&source).unwrap());
    }
}

#[test]
fn external_calls() {
    let call = "external p = f(i32(N), 7, 1.5, A, o, a) from library \"m\"";
    let call = crate::tasklet::ExternalCall::parse(&mut crate::syntax::Cursor::new(call, 0)).unwrap();
    let typed = typecheck_external(&call, &environment()).unwrap();
    let kinds: Vec<String> = typed
        .arguments
        .iter()
        .map(|argument| match argument {
            ExternalArgument::Pointer(id) => format!("*{}", typed.environment.connector_at(*id).unwrap().0),
            ExternalArgument::Value(value) => value.ty.to_string(),
        })
        .collect();
    assert_eq!(kinds, ["i32", "i32", "f64", "*A", "*o", "f32"]);
    assert!(typed.result.is_some());
}

/// Checks what the typed tree promises of operand types.
fn assert_well_typed(e: &TypedExpression) {
    let lanes = e.ty.lanes();
    let scalar = |e: &TypedExpression, ty: ScalarType| assert_eq!(e.ty, ElementType::scalar(ty));
    let children: Vec<&TypedExpression> = match &e.kind {
        TypedExpressionKind::Constant(value) => {
            scalar(e, value.ty());
            vec![]
        }
        TypedExpressionKind::Local(_)
        | TypedExpressionKind::Symbol(_)
        | TypedExpressionKind::Input(_)
        | TypedExpressionKind::Output(_) => vec![],
        TypedExpressionKind::Load { indices, .. } | TypedExpressionKind::Length { indices, .. } => {
            indices.iter().for_each(|index| scalar(index, ScalarType::I64));
            indices.iter().collect()
        }
        TypedExpressionKind::Cast(x) => {
            assert_eq!(x.ty.lanes(), lanes);
            assert_ne!(x.ty, e.ty);
            vec![x]
        }
        TypedExpressionKind::Splat(x) => {
            assert_eq!(x.ty.as_scalar(), Some(e.ty.lane()));
            vec![x]
        }
        TypedExpressionKind::Lanes(parts) => {
            parts.iter().for_each(|part| scalar(part, e.ty.lane()));
            assert!(parts.len() > 1 && parts.len() == usize::from(lanes));
            parts.iter().collect()
        }
        TypedExpressionKind::Lane { operand, lane } => {
            scalar(e, operand.ty.lane());
            assert!(*lane < operand.ty.lanes());
            vec![operand]
        }
        TypedExpressionKind::Unary { operand, .. } => {
            assert_eq!(operand.ty, e.ty);
            vec![operand]
        }
        TypedExpressionKind::Binary { op, left, right } => {
            use crate::tasklet::BinaryOperation;
            assert!(op.is_defined_for(e.ty.lane()));
            assert_eq!(left.ty, e.ty);
            let shift = matches!(op, BinaryOperation::ShiftLeft | BinaryOperation::ShiftRight);
            assert_eq!(right.ty.lane(), if shift { ScalarType::I64 } else { e.ty.lane() });
            assert_eq!(right.ty.lanes(), lanes);
            vec![left, right]
        }
        TypedExpressionKind::Power { base, exponent } => {
            assert_eq!(base.ty, e.ty);
            assert!(exponent.abs() <= 64);
            vec![base]
        }
        TypedExpressionKind::Compare { left, right, .. } => {
            assert_eq!((left.ty, e.ty.lane(), left.ty.lanes()), (right.ty, ScalarType::Bool, lanes));
            vec![left, right]
        }
        TypedExpressionKind::And(left, right) | TypedExpressionKind::Or(left, right) => {
            [e, left, right].into_iter().for_each(|e| scalar(e, ScalarType::Bool));
            vec![left, right]
        }
        TypedExpressionKind::Select { condition, then, otherwise } => {
            assert_eq!((then.ty, otherwise.ty, condition.ty.lane()), (e.ty, e.ty, ScalarType::Bool));
            assert!([1, lanes].contains(&condition.ty.lanes()));
            vec![condition, then, otherwise]
        }
        TypedExpressionKind::Call { function, arguments } => {
            assert_eq!(arguments.len(), function.arity());
            assert!(arguments.iter().all(|x| x.ty == arguments[0].ty && x.ty.lanes() == lanes));
            arguments.iter().collect()
        }
    };
    children.into_iter().for_each(assert_well_typed);
}

/// Names of random trees, as connectors, pointers and symbols of mixed types.
fn random_environment() -> impl Strategy<Value = Environment> {
    let types = prop::sample::select(ScalarType::ALL.to_vec());
    (proptest::collection::vec((types, 0_u8..5, any::<bool>()), 8)).prop_map(|choices| {
        let mut environment = Environment::new();
        for (name, (ty, role, wide)) in ["a", "b", "x", "y", "o", "A", "N", "i"].into_iter().zip(choices) {
            let element = ElementType::vector(ty, if wide { 4 } else { 1 }).unwrap();
            let (kind, direction) = match role {
                0 => (ConnectorKind::Value, Direction::In),
                1 => (ConnectorKind::Value, Direction::Out),
                2 => (ConnectorKind::Pointer { rank: 1 }, Direction::In),
                3 => (ConnectorKind::Pointer { rank: 1 }, Direction::Out),
                _ => {
                    environment.add_symbol(name, ty);
                    continue;
                }
            };
            environment.add_connector(name, Connector { element, kind, direction });
        }
        environment
    })
}

proptest! {
    #[test]
    fn random_expressions_are_typed_or_refused(
        e in prop_oneof![arbitrary::expression(), arbitrary::integer_expression()],
        environment in random_environment(),
        c in any::<bool>(),
    ) {
        let dialect = if c { Dialect::C } else { Dialect::Python };
        match typecheck_expression(&e, dialect, &environment) {
            Ok(typed) => assert_well_typed(&typed.expression),
            Err(errors) => prop_assert!(!errors.is_empty()),
        }
    }

    #[test]
    fn random_code_is_typed_or_refused(block in arbitrary::block(), environment in random_environment()) {
        let code = Code::from_block(&block, Dialect::Python).unwrap();
        match typecheck(&code, &environment) {
            Ok(typed) => prop_assert!(typed.locals.len() <= 16),
            Err(errors) => {
                prop_assert!(!errors.is_empty());
                prop_assert!(errors.iter().all(|e| e.span.slice(code.source()).is_some()));
            }
        }
    }
}
