//! Tasklet arithmetic against `sdfg::tasklet::arith`, bit by bit, at ordinary and extreme operands of every type.

use sdfg::dtype::ScalarType;
use sdfg::symbolic::Expr;
use sdfg::syntax::CompareOp;
use sdfg::tasklet::{
    BinaryOperation, ConnectorId, Environment, MathFunction, TypedCode, TypedExpression, TypedExpressionKind,
    TypedStatement, UnaryOperation, arith,
};
use sdfg::value::Value;

use super::plans::{array, empty, library_at, load, range, size_symbol, store, symbol};
use crate::llvm::OptLevel;
use crate::load::ArgumentBuffer;
use crate::plan::{Compute, For, Plan, Statement};

/// Operands of a type: small numbers, the ends of its range, special floats.
fn operands(ty: ScalarType) -> Vec<Value> {
    let floats = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -2.5,
        3.0,
        7.25,
        -7.0,
        1e-3,
        100.75,
        65504.0,
        1e9,
        -3e18,
        1e300,
        1e-300,
        f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        4294967296.5,
        0.1,
        2049.0,
        1.0009765625,
    ];
    let integers =
        [0, 1, -1, 2, -2, 3, -3, 7, -7, 8, 10, 63, 64, 100, 127, -128, 255, i64::MAX, i64::MIN, 1 << 31];
    let cast = |value| arith::cast(value, ty);
    if ty.is_complex() {
        let parts = [0.0, 1.0, -1.5, 3.0, -0.25, 40.0];
        let pair =
            |re: f64, im: f64| arith::call(MathFunction::MakeComplex, &[Value::F64(re), Value::F64(im)]);
        parts.iter().flat_map(|re| parts.iter().map(move |im| pair(*re, *im))).map(cast).collect()
    } else if ty.is_float() {
        floats.into_iter().map(|v| cast(Value::F64(v))).collect()
    } else {
        integers.into_iter().map(|v| cast(Value::I64(v))).collect()
    }
}

/// `out[i] = f(a[i], b[i])` with an expression made by `f` of the two inputs.
fn kernel(
    ty: ScalarType,
    second: ScalarType,
    result: ScalarType,
    f: impl FnOnce(Box<TypedExpression>, Box<TypedExpression>) -> TypedExpressionKind,
) -> Plan {
    let mut plan = empty("kernel");
    let n = size_symbol(&mut plan, "N");
    let a = array(&mut plan, "a", ty, &n);
    let b = array(&mut plan, "b", second, &n);
    let out = array(&mut plan, "out", result, &n);
    plan.variables.insert(symbol("i"), ScalarType::I64);
    let mut environment = Environment::new();
    let inputs = [environment.input("a", ty), environment.input("b", second)];
    let output: ConnectorId = environment.output("out", result);
    let input = |id, ty: ScalarType| {
        Box::new(TypedExpression {
            kind: TypedExpressionKind::Input(id),
            ty: ty.into(),
            span: Default::default(),
        })
    };
    let kind = f(input(inputs[0], ty), input(inputs[1], second));
    let value = TypedExpression { kind, ty: result.into(), span: Default::default() };
    let code = TypedCode {
        environment,
        locals: vec![],
        body: vec![TypedStatement::Output { connector: output, value }],
    };
    let i = Expr::sym("i");
    let bindings = vec![load(a, i.clone()), load(b, i.clone()), store(out, i)];
    let compute = Compute { label: "f".to_owned(), code, bindings, symbols: vec![] };
    plan.body.push(Statement::For(For {
        dimension: range("i", Expr::zero(), n),
        independent: true,
        unroll: false,
        body: vec![Statement::Compute(compute)],
    }));
    plan
}

fn bytes(values: &[Value]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_bytes().into_iter().take(value.ty().size())).collect()
}

/// Runs the kernel on all pairs and compares with `expected`.
fn check(
    plan: &Plan,
    pairs: &[(Value, Value)],
    result: ScalarType,
    tolerance: f64,
    what: &str,
    expected: impl Fn(Value, Value) -> Value,
) {
    // Unoptimised code shows what was emitted; optimised code that LLVM understands it the same way.
    for level in [OptLevel::O0, OptLevel::Quick] {
        let (a, b): (Vec<Value>, Vec<Value>) = pairs.iter().copied().unzip();
        let (mut x, mut y) = (bytes(&a), bytes(&b));
        let mut out = vec![0_u8; pairs.len() * result.size()];
        let shape = [pairs.len()];
        let library = library_at(plan, level);
        let call = library
            .call()
            .buffer("a", ArgumentBuffer::new_mut(a[0].ty().into(), &mut x, &shape))
            .buffer("b", ArgumentBuffer::new_mut(b[0].ty().into(), &mut y, &shape))
            .buffer("out", ArgumentBuffer::new_mut(result.into(), &mut out, &shape));
        call.run().unwrap();
        for (index, (a, b)) in pairs.iter().enumerate() {
            let found = Value::read(result, &out[index * result.size()..]).unwrap();
            let wanted = expected(*a, *b);
            assert!(same(found, wanted, tolerance), "{what} of {a}, {b}: {found}, not {wanted} ({level:?})");
        }
    }
}

/// Equal bits, any NaN for a NaN, or floats within a relative tolerance.
fn same(a: Value, b: Value, tolerance: f64) -> bool {
    let parts = |value: Value| match value {
        Value::F16(v) => vec![v.to_f64()],
        Value::F32(v) => vec![f64::from(v)],
        Value::F64(v) => vec![v],
        Value::Complex64(v) => vec![f64::from(v.re), f64::from(v.im)],
        Value::Complex128(v) => vec![v.re, v.im],
        _ => vec![],
    };
    let (p, q) = (parts(a), parts(b));
    if p.is_empty() {
        return a == b;
    }
    let scale = q.iter().fold(0.0_f64, |s, v| s.max(v.abs()));
    p.iter().zip(&q).all(|(x, y)| {
        x.to_bits() == y.to_bits()
            || (x.is_nan() && y.is_nan())
            || (tolerance > 0.0 && (x - y).abs() <= tolerance * scale.max(1e-300))
    })
}

fn pairs(ty: ScalarType, second: ScalarType) -> Vec<(Value, Value)> {
    let (a, b) = (operands(ty), operands(second));
    a.iter().flat_map(|a| b.iter().map(move |b| (*a, *b))).collect()
}

const OPERATIONS: [BinaryOperation; 16] = [
    BinaryOperation::Add,
    BinaryOperation::Subtract,
    BinaryOperation::Multiply,
    BinaryOperation::Divide,
    BinaryOperation::FloorDivide,
    BinaryOperation::FloorModulo,
    BinaryOperation::TruncateDivide,
    BinaryOperation::TruncateModulo,
    BinaryOperation::Power,
    BinaryOperation::ShiftLeft,
    BinaryOperation::ShiftRight,
    BinaryOperation::BitAnd,
    BinaryOperation::BitOr,
    BinaryOperation::BitXor,
    BinaryOperation::Minimum,
    BinaryOperation::Maximum,
];

/// The error of the C library against that of the `libm` crate, relative, for functions that are not exact.
fn library_tolerance(ty: ScalarType) -> f64 {
    match ty.component() {
        ScalarType::F64 => 1e-14,
        ScalarType::F32 => 1e-5,
        _ => 2e-3,
    }
}

#[test]
fn binary_operations() {
    for ty in ScalarType::ALL {
        for op in OPERATIONS.into_iter().filter(|op| op.is_defined_for(ty)) {
            let shift = matches!(op, BinaryOperation::ShiftLeft | BinaryOperation::ShiftRight);
            let second = if shift { ScalarType::I64 } else { ty };
            let plan = kernel(ty, second, ty, |left, right| TypedExpressionKind::Binary { op, left, right });
            let power = op == BinaryOperation::Power && !ty.is_integer();
            let tolerance = if power { library_tolerance(ty) * 10.0 } else { 0.0 };
            check(&plan, &pairs(ty, second), ty, tolerance, &format!("{op:?} {ty}"), |a, b| {
                arith::binary(op, a, b)
            });
        }
    }
}

#[test]
fn unary_operations_powers_and_comparisons() {
    for ty in ScalarType::ALL {
        let values = pairs(ty, ty);
        let negate = UnaryOperation::Negate;
        let invert = if ty == ScalarType::Bool { UnaryOperation::Not } else { UnaryOperation::Invert };
        let defined = |op| match op {
            UnaryOperation::Negate => ty != ScalarType::Bool,
            UnaryOperation::Not | UnaryOperation::Invert => ty.is_integer() || ty == ScalarType::Bool,
        };
        for op in [negate, invert].into_iter().filter(|op| defined(*op)) {
            let plan = kernel(ty, ty, ty, |operand, _| TypedExpressionKind::Unary { op, operand });
            check(&plan, &values, ty, 0.0, &format!("{op:?} {ty}"), |a, _| arith::unary(op, a));
        }
        if ty != ScalarType::Bool {
            for exponent in [-3, -2, -1, 0, 1, 2, 5, 8] {
                let plan = kernel(ty, ty, ty, |base, _| TypedExpressionKind::Power { base, exponent });
                check(&plan, &values, ty, 0.0, &format!("{ty} ** {exponent}"), |a, _| {
                    arith::power(a, exponent)
                });
            }
        }
        for op in [
            CompareOp::Equal,
            CompareOp::NotEqual,
            CompareOp::Less,
            CompareOp::LessEqual,
            CompareOp::Greater,
            CompareOp::GreaterEqual,
        ] {
            let plan = kernel(ty, ty, ScalarType::Bool, |left, right| TypedExpressionKind::Compare {
                op,
                left,
                right,
            });
            check(&plan, &values, ScalarType::Bool, 0.0, &format!("{op:?} {ty}"), |a, b| {
                Value::Bool(arith::compare(op, a, b))
            });
        }
    }
}

#[test]
fn conversions() {
    for from in ScalarType::ALL {
        for to in ScalarType::ALL.into_iter().filter(|to| to.is_complex() || !from.is_complex()) {
            let plan = kernel(from, from, to, |operand, _| TypedExpressionKind::Cast(operand));
            let values: Vec<_> = operands(from).into_iter().map(|v| (v, v)).collect();
            check(&plan, &values, to, 0.0, &format!("{from} to {to}"), |a, _| {
                // The `half` crate rounds twice from f64 where the processor converts f32 only.
                match (a, to) {
                    (Value::F64(v), ScalarType::F16) => Value::F16(half::f16::from_f64_const(v)),
                    _ => arith::cast(a, to),
                }
            });
        }
    }
}

#[test]
fn mathematical_functions() {
    use MathFunction as F;
    let types =
        [ScalarType::F16, ScalarType::F32, ScalarType::F64, ScalarType::Complex64, ScalarType::Complex128];
    for ty in types.into_iter().chain([ScalarType::I32, ScalarType::U64]) {
        for function in F::all() {
            let integer = matches!(function, F::Abs | F::Sign | F::CeilDivide | F::Floor);
            let complex = matches!(
                function,
                F::Abs
                    | F::Angle
                    | F::Real
                    | F::Imag
                    | F::Conj
                    | F::Sqrt
                    | F::Exp
                    | F::Log
                    | F::Sin
                    | F::Cos
                    | F::Tan
                    | F::Sinh
                    | F::Cosh
                    | F::Tanh
                    | F::IsNan
                    | F::IsInf
                    | F::IsFinite
            );
            let float = !matches!(function, F::CeilDivide | F::Real | F::Imag | F::Conj | F::Angle)
                && (function != F::MakeComplex || ty != ScalarType::F16);
            if !(if ty.is_integer() {
                integer
            } else if ty.is_complex() {
                complex
            } else {
                float
            }) {
                continue;
            }
            let sample = arith::call(function, &vec![operands(ty)[1]; function.arity()]);
            let result = sample.ty();
            let plan = kernel(ty, ty, result, |a, b| TypedExpressionKind::Call {
                function,
                arguments: [a.clone(), b, a].into_iter().take(function.arity()).map(|e| *e).collect(),
            });
            let exact = matches!(
                function,
                F::Floor
                    | F::Ceil
                    | F::Round
                    | F::Trunc
                    | F::Sign
                    | F::Copysign
                    | F::Fmod
                    | F::Remainder
                    | F::Nextafter
                    | F::Heaviside
                    | F::Fma
                    | F::CeilDivide
                    | F::MakeComplex
                    | F::Real
                    | F::Imag
                    | F::Conj
            ) || (matches!(function, F::Sqrt | F::Abs) && !ty.is_complex())
                || result == ScalarType::Bool;
            // Arguments of a magnitude at which the two libraries agree; gamma functions and tangents amplify.
            let moderate = |v: &Value| match arith::call(F::Abs, &[*v]) {
                Value::F64(v) => v <= 100.0,
                Value::F32(v) => v <= 100.0,
                Value::F16(v) => v.to_f32() <= 100.0,
                _ => true,
            };
            let mut values = pairs(ty, ty);
            if !exact {
                values.retain(|(a, b)| moderate(a) && moderate(b));
            }
            let tolerance = if exact { 0.0 } else { library_tolerance(ty) };
            check(&plan, &values, result, tolerance, &format!("{} {ty}", function.name()), |a, b| {
                let arguments: Vec<Value> = [a, b, a].into_iter().take(function.arity()).collect();
                arith::call(function, &arguments)
            });
        }
    }
}
