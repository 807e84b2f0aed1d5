//! Tests of tasklet arithmetic against `sdfg::tasklet::arith`, bit by bit, at ordinary and extreme operands
//! of every type.

use sdfg::dtype::ScalarType;
use sdfg::symbolic::Expr;
use sdfg::syntax::CompareOp;
use sdfg::tasklet::{
    BinaryOperation, Environment, MathFunction, TypedCode, TypedExpression, TypedExpressionKind,
    TypedStatement, UnaryOperation, arith,
};
use sdfg::value::Value;

use super::plans::{array, captured, empty, library_at, load, range, size_symbol, store, symbol};
use super::trusted;
use crate::llvm::{CompileOptions, OptLevel, llvm_ir};
use crate::load::ArgumentBuffer;
use crate::plan::{Compute, Loop, Plan, Statement};

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
        // Ties of f16 and what lies beside them by less than an f32 tells.
        1.000_488_281_25,
        1.000_488_281_250_001,
        -65_519.999_999_999,
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

/// One expression of two inputs, and what it is held against.
struct Case {
    name: String,
    result: ScalarType,
    kind: TypedExpressionKind,
    tolerance: f64,
    expected: Box<dyn Fn(Value, Value) -> Value>,
}

/// The inputs `a` and `b` of a case, of these types.
fn inputs(ty: ScalarType, second: ScalarType) -> [Box<TypedExpression>; 2] {
    let mut environment = Environment::new();
    let ids = [environment.input("a", ty), environment.input("b", second)];
    let input = |id, ty: ScalarType| {
        let kind = TypedExpressionKind::Input(id);
        Box::new(TypedExpression { kind, ty: ty.into(), span: Default::default() })
    };
    [input(ids[0], ty), input(ids[1], second)]
}

/// A program that computes all cases of inputs of these types: `out0[i] = f0(a[i], b[i])`, and so on.
fn kernel(ty: ScalarType, second: ScalarType, cases: &[Case]) -> Plan {
    let mut plan = empty("kernel");
    let n = size_symbol(&mut plan, "N");
    let a = array(&mut plan, "a", ty, &n);
    let b = array(&mut plan, "b", second, &n);
    plan.variables.insert(symbol("i"), ScalarType::I64);
    let i = Expr::sym("i");
    for (index, case) in cases.iter().enumerate() {
        let out = array(&mut plan, &format!("out{index}"), case.result, &n);
        let mut environment = Environment::new();
        environment.input("a", ty);
        environment.input("b", second);
        let connector = environment.output("out", case.result);
        let value =
            TypedExpression { kind: case.kind.clone(), ty: case.result.into(), span: Default::default() };
        let body = vec![TypedStatement::Output { connector, value }];
        let code = TypedCode { environment, locals: vec![], body };
        let bindings = vec![load(a, i.clone()), load(b, i.clone()), store(out, i.clone())];
        let compute = Compute { label: case.name.clone(), code, bindings, symbols: vec![], checks: vec![] };
        let repeated =
            Loop::sequential(range("i", Expr::zero(), n.clone()), vec![Statement::Compute(compute)]);
        plan.body.push(Statement::Loop(Loop { independent: true, ..repeated }));
    }
    plan
}

fn bytes(values: &[Value]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_bytes().into_iter().take(value.ty().size())).collect()
}

/// Runs all cases on all pairs and compares with what they expect.
fn check(ty: ScalarType, second: ScalarType, pairs: &[(Value, Value)], cases: &[Case]) {
    if cases.is_empty() {
        return;
    }
    let plan = kernel(ty, second, cases);
    let (a, b): (Vec<Value>, Vec<Value>) = pairs.iter().copied().unzip();
    let (mut x, mut y) = (bytes(&a), bytes(&b));
    let shape = [pairs.len()];
    // Unoptimised code shows what was emitted; optimised code that LLVM understands it the same way.
    for level in [OptLevel::O0, OptLevel::Quick] {
        let mut outs: Vec<Vec<u8>> =
            cases.iter().map(|case| vec![0_u8; pairs.len() * case.result.size()]).collect();
        let library = library_at(&plan, level);
        let mut call = library
            .call()
            .buffer("a", ArgumentBuffer::new_mut(ty.into(), &mut x, &shape))
            .buffer("b", ArgumentBuffer::new_mut(second.into(), &mut y, &shape));
        for (index, (case, out)) in cases.iter().zip(&mut outs).enumerate() {
            call =
                call.buffer(&format!("out{index}"), ArgumentBuffer::new_mut(case.result.into(), out, &shape));
        }
        trusted(call).unwrap();
        for (case, out) in cases.iter().zip(&outs) {
            for (index, (a, b)) in pairs.iter().enumerate() {
                let found = Value::read(case.result, &out[index * case.result.size()..]).unwrap();
                let wanted = (case.expected)(*a, *b);
                let name = &case.name;
                assert!(
                    same(found, wanted, case.tolerance),
                    "{name} of {a}, {b}: {found}, not {wanted} ({level:?})"
                );
            }
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
        for shifts in [false, true] {
            let second = if shifts { ScalarType::I64 } else { ty };
            let case = |op: BinaryOperation| {
                let [left, right] = inputs(ty, second);
                let inexact = op == BinaryOperation::Power && !ty.is_integer();
                Case {
                    name: format!("{op:?} {ty}"),
                    result: ty,
                    kind: TypedExpressionKind::Binary { op, left, right },
                    tolerance: if inexact { library_tolerance(ty) * 10.0 } else { 0.0 },
                    expected: Box::new(move |a, b| arith::binary(op, a, b)),
                }
            };
            let is_shift = |op| matches!(op, BinaryOperation::ShiftLeft | BinaryOperation::ShiftRight);
            let operations =
                OPERATIONS.into_iter().filter(|op| op.is_defined_for(ty) && is_shift(*op) == shifts);
            let cases: Vec<Case> = operations.map(case).collect();
            check(ty, second, &pairs(ty, second), &cases);
        }
    }
}

#[test]
fn unary_operations_powers_and_comparisons() {
    for ty in ScalarType::ALL {
        let mut cases = Vec::new();
        let mut add = |name: String, result, kind, expected: Box<dyn Fn(Value, Value) -> Value>| {
            cases.push(Case { name, result, kind, tolerance: 0.0, expected });
        };
        let bits = if ty == ScalarType::Bool { UnaryOperation::Not } else { UnaryOperation::Invert };
        let has_bits = ty.is_integer() || ty == ScalarType::Bool;
        for (op, defined) in [(UnaryOperation::Negate, ty != ScalarType::Bool), (bits, has_bits)] {
            if defined {
                let [operand, _] = inputs(ty, ty);
                let kind = TypedExpressionKind::Unary { op, operand };
                add(format!("{op:?} {ty}"), ty, kind, Box::new(move |a, _| arith::unary(op, a)));
            }
        }
        let exponents: &[i32] = if ty == ScalarType::Bool { &[] } else { &[-3, -2, -1, 0, 1, 2, 5, 8] };
        for &exponent in exponents {
            let [base, _] = inputs(ty, ty);
            let kind = TypedExpressionKind::Power { base, exponent };
            add(format!("{ty} ** {exponent}"), ty, kind, Box::new(move |a, _| arith::power(a, exponent)));
        }
        for op in [
            CompareOp::Equal,
            CompareOp::NotEqual,
            CompareOp::Less,
            CompareOp::LessEqual,
            CompareOp::Greater,
            CompareOp::GreaterEqual,
        ] {
            let [left, right] = inputs(ty, ty);
            let kind = TypedExpressionKind::Compare { op, left, right };
            let expected = Box::new(move |a, b| Value::Bool(arith::compare(op, a, b)));
            add(format!("{op:?} {ty}"), ScalarType::Bool, kind, expected);
        }
        check(ty, ty, &pairs(ty, ty), &cases);
    }
}

#[test]
fn conversions() {
    for from in ScalarType::ALL {
        let targets = ScalarType::ALL.into_iter().filter(|to| to.is_complex() || !from.is_complex());
        let case = |to: ScalarType| {
            let [operand, _] = inputs(from, from);
            Case {
                name: format!("{from} to {to}"),
                result: to,
                kind: TypedExpressionKind::Cast(operand),
                tolerance: 0.0,
                expected: Box::new(move |a, _| arith::cast(a, to)),
            }
        };
        let values: Vec<_> = operands(from).into_iter().map(|v| (v, v)).collect();
        check(from, from, &values, &targets.map(case).collect::<Vec<_>>());
    }
}

/// LLVM 19 converts the NaN of an `f16` to -32768 where the processor has arithmetic of that type, so an `f16` becomes an `f32` first.
/// [`conversions`] sees the difference on such processors alone.
#[test]
fn integers_of_f16_go_through_f32() {
    let [operand, _] = inputs(ScalarType::F16, ScalarType::F16);
    let case = Case {
        name: String::new(),
        result: ScalarType::I16,
        kind: TypedExpressionKind::Cast(operand),
        tolerance: 0.0,
        expected: Box::new(|a, _| a),
    };
    let plan = kernel(ScalarType::F16, ScalarType::F16, &[case]);
    let ir = llvm_ir(&captured(plan), &CompileOptions::default(), false).unwrap();
    assert!(ir.contains("llvm.fptosi.sat.i16.f32(float"), "{ir}");
    assert!(!ir.contains("llvm.fptosi.sat.i16.f16"), "{ir}");
}

/// Whether the function is defined for arguments of this type.
fn is_defined_for(function: MathFunction, ty: ScalarType) -> bool {
    use MathFunction as F;
    if ty.is_integer() {
        return matches!(function, F::Abs | F::Sign | F::CeilDivide | F::Floor);
    }
    match function {
        F::Abs | F::Sqrt | F::Exp | F::Log | F::Sin | F::Cos | F::Tan | F::Sinh | F::Cosh | F::Tanh => true,
        F::IsNan | F::IsInf | F::IsFinite => true,
        F::Angle | F::Real | F::Imag | F::Conj => ty.is_complex(),
        F::CeilDivide => false,
        F::MakeComplex => ty.is_float() && ty != ScalarType::F16,
        _ => ty.is_float(),
    }
}

/// Whether the result has no rounding, or one that every implementation has to do right.
fn is_exact(function: MathFunction, ty: ScalarType) -> bool {
    use MathFunction as F;
    match function {
        F::Sqrt | F::Abs => !ty.is_complex(),
        F::Floor | F::Ceil | F::Round | F::Trunc | F::Sign | F::Copysign | F::Fmod | F::Remainder => true,
        F::Nextafter | F::Heaviside | F::Fma | F::CeilDivide | F::MakeComplex | F::Real | F::Imag => true,
        F::Conj | F::IsNan | F::IsInf | F::IsFinite | F::SignBit => true,
        _ => false,
    }
}

#[test]
fn mathematical_functions() {
    let types = [
        ScalarType::F16,
        ScalarType::F32,
        ScalarType::F64,
        ScalarType::Complex64,
        ScalarType::Complex128,
        ScalarType::I32,
        ScalarType::U64,
    ];
    // Arguments of a magnitude at which the two libraries agree: gamma functions and tangents amplify.
    let moderate = |value: &Value| match arith::call(MathFunction::Abs, &[*value]) {
        Value::F64(v) => v <= 100.0,
        Value::F32(v) => v <= 100.0,
        Value::F16(v) => v.to_f32() <= 100.0,
        _ => true,
    };
    for ty in types {
        for exact in [true, false] {
            let case = |function: MathFunction| {
                let [a, b] = inputs(ty, ty);
                let arguments: Vec<TypedExpression> =
                    [a.clone(), b, a].into_iter().take(function.arity()).map(|e| *e).collect();
                Case {
                    name: format!("{} {ty}", function.name()),
                    result: arith::call(function, &vec![operands(ty)[1]; function.arity()]).ty(),
                    kind: TypedExpressionKind::Call { function, arguments },
                    tolerance: if exact { 0.0 } else { library_tolerance(ty) },
                    expected: Box::new(move |a, b| {
                        let arguments: Vec<Value> = [a, b, a].into_iter().take(function.arity()).collect();
                        arith::call(function, &arguments)
                    }),
                }
            };
            let functions =
                MathFunction::all().filter(|f| is_defined_for(*f, ty) && is_exact(*f, ty) == exact);
            let cases: Vec<Case> = functions.map(case).collect();
            let mut values = pairs(ty, ty);
            if !exact {
                values.retain(|(a, b)| moderate(a) && moderate(b));
            }
            check(ty, ty, &values, &cases);
        }
    }
}
