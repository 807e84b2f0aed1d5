//! Tests of arithmetic against exact definitions.

use proptest::prelude::*;

use super::*;
use crate::tasklet::typed::BinaryOperation as Op;

/// The integer types with their least and greatest value.
const INTEGERS: [(ScalarType, i128, i128); 8] = [
    (ScalarType::I8, i8::MIN as i128, i8::MAX as i128),
    (ScalarType::I16, i16::MIN as i128, i16::MAX as i128),
    (ScalarType::I32, i32::MIN as i128, i32::MAX as i128),
    (ScalarType::I64, i64::MIN as i128, i64::MAX as i128),
    (ScalarType::U8, 0, u8::MAX as i128),
    (ScalarType::U16, 0, u16::MAX as i128),
    (ScalarType::U32, 0, u32::MAX as i128),
    (ScalarType::U64, 0, u64::MAX as i128),
];

fn exact(value: Value) -> i128 {
    match value {
        Value::U64(v) => i128::from(v),
        other => i128::from(other.to_i64().unwrap()),
    }
}

/// The value of the type that is congruent to `exact` modulo 2 to the width.
fn wrapped(exact: i128, ty: ScalarType) -> Value {
    Value::read(ty, &exact.to_ne_bytes()).unwrap()
}

fn divided_down(a: i128, b: i128) -> i128 {
    let inexact = b != 0 && a % b != 0;
    if b == 0 { 0 } else { a / b - i128::from(inexact && (a < 0) != (b < 0)) }
}

/// Bits that are often at the edges of the ranges.
fn bits() -> impl Strategy<Value = i64> {
    prop_oneof![
        any::<i64>(),
        -3_i64..4,
        (0_u32..64, -1_i64..2).prop_map(|(n, d)| (1_i64 << n).wrapping_add(d))
    ]
}

proptest! {
    #[test]
    fn integers_agree_with_exact_arithmetic(x in bits(), y in bits(), which in 0..INTEGERS.len()) {
        let (ty, least, greatest) = INTEGERS[which];
        let (a, b) = (cast(Value::I64(x), ty), cast(Value::I64(y), ty));
        let (p, q) = (exact(a), exact(b));
        let check = |op, expected: i128| {
            let found = binary(op, a, b);
            prop_assert_eq!(found, wrapped(expected, ty), "{} {:?} {}: {}", p, op, q, ty);
            Ok(())
        };
        check(Op::Add, p + q)?;
        check(Op::Subtract, p - q)?;
        check(Op::Multiply, p.wrapping_mul(q))?;
        check(Op::FloorDivide, divided_down(p, q))?;
        check(Op::FloorModulo, if q == 0 { 0 } else { p - divided_down(p, q) * q })?;
        check(Op::TruncateDivide, if q == 0 { 0 } else { p / q })?;
        check(Op::TruncateModulo, if q == 0 { 0 } else { p % q })?;
        check(Op::BitAnd, p & q)?;
        check(Op::BitOr, p | q)?;
        check(Op::BitXor, p ^ q)?;
        check(Op::Minimum, p.min(q))?;
        check(Op::Maximum, p.max(q))?;
        prop_assert_eq!(unary(UnaryOperation::Negate, a), wrapped(-p, ty));
        prop_assert_eq!(unary(UnaryOperation::Invert, a), wrapped(!p, ty));
        prop_assert_eq!(compare(CompareOp::Less, a, b), p < q);
        prop_assert_eq!(compare(CompareOp::GreaterEqual, a, b), p >= q);
        prop_assert_eq!(call(MathFunction::Abs, &[a]), wrapped(p.abs(), ty));
        prop_assert_eq!(call(MathFunction::Sign, &[a]), wrapped(p.signum(), ty));
        let up = if q == 0 { 0 } else { -divided_down(-p, q) };
        prop_assert_eq!(call(MathFunction::CeilDivide, &[a, b]), wrapped(up, ty));
        let back = (p as f64 as i128).clamp(least, greatest);
        prop_assert_eq!(cast(cast(a, ScalarType::F64), ty), wrapped(back, ty));
    }

    #[test]
    fn shifts_and_powers_agree_with_exact_arithmetic(x in bits(), n in -3_i64..80, which in 0..INTEGERS.len()) {
        let (ty, ..) = INTEGERS[which];
        let a = cast(Value::I64(x), ty);
        let p = exact(a);
        let out = n < 0 || n >= 8 * ty.size() as i64;
        let left = if out { 0 } else { p << n };
        let right = if out { if p < 0 { -1 } else { 0 } } else { p >> n };
        prop_assert_eq!(binary(Op::ShiftLeft, a, Value::I64(n)), wrapped(left, ty));
        prop_assert_eq!(binary(Op::ShiftRight, a, Value::I64(n)), wrapped(right, ty));
        let mut product = wrapped(1, ty);
        for _ in 0..n.unsigned_abs() {
            product = wrapped(exact(product).wrapping_mul(p), ty);
        }
        if n < 0 {
            product = if p.abs() == 1 { product } else { wrapped(0, ty) };
        }
        prop_assert_eq!(power(a, n as i32), product, "{} ** {}: {}", p, n, ty);
        let exponent = cast(Value::I64(n), ty);
        if exact(exponent) == i128::from(n) {
            prop_assert_eq!(binary(Op::Power, a, exponent), product);
        }
    }

    #[test]
    fn float_division_is_pythons(a in any::<f64>(), b in any::<f64>(), small in -50_i32..50, divisor in -9_i32..9) {
        for (a, b) in [(a, b), (f64::from(small) / 4.0, f64::from(divisor) / 2.0)] {
            let quotient = binary(Op::FloorDivide, Value::F64(a), Value::F64(b));
            let remainder = binary(Op::FloorModulo, Value::F64(a), Value::F64(b));
            let (Value::F64(q), Value::F64(r)) = (quotient, remainder) else { panic!("floats stay floats") };
            if !a.is_finite() || b.is_nan() || b == 0.0 {
                prop_assert!(r.is_nan());
                continue;
            }
            prop_assert!(r.abs() <= b.abs());
            prop_assert_eq!(r.is_sign_negative(), b.is_sign_negative());
            prop_assert!(q.is_infinite() || q == q.floor());
            if (a / b).abs() < 1e6 && b.is_finite() && b.abs() > 1e-200 {
                prop_assert!((q * b + r - a).abs() <= 1e-9 * a.abs().max(b.abs()));
            }
        }
    }

    #[test]
    fn minimum_and_maximum_order_zeros_and_keep_nan(
        a in prop_oneof![any::<f32>(), Just(0.0), Just(-0.0), Just(f32::NAN)],
        b in prop_oneof![any::<f32>(), Just(0.0), Just(-0.0)],
    ) {
        for (x, y) in [(a, b), (b, a)] {
            let low = binary(Op::Minimum, x.into(), y.into());
            let high = binary(Op::Maximum, x.into(), y.into());
            let (Value::F32(low), Value::F32(high)) = (low, high) else { panic!("floats stay floats") };
            if a.is_nan() || b.is_nan() {
                prop_assert!(low.is_nan() && high.is_nan());
            } else {
                prop_assert_eq!(low.to_bits(), if x.total_cmp(&y).is_le() { x } else { y }.to_bits());
                prop_assert_eq!(high.to_bits(), if x.total_cmp(&y).is_ge() { x } else { y }.to_bits());
            }
        }
    }

    #[test]
    fn complex_identities(re in -9_i32..9, im in -9_i32..9, c in 1_i32..9, d in -9_i32..9) {
        let complex = |re: i32, im: i32| Value::Complex128(Complex::new(f64::from(re), f64::from(im)));
        let (a, b) = (complex(re, im), complex(c, d));
        let product = binary(Op::Multiply, a, b);
        prop_assert_eq!(product, complex(re * c - im * d, re * d + im * c));
        let distance = |x: Value, y: Value| match call(MathFunction::Abs, &[binary(Op::Subtract, x, y)]) {
            Value::F64(distance) => distance,
            _ => f64::NAN,
        };
        prop_assert!(distance(binary(Op::Divide, product, b), a) < 1e-12);
        prop_assert!(distance(power(call(MathFunction::Sqrt, &[a]), 2), a) < 1e-12);
        prop_assert!(distance(call(MathFunction::Exp, &[call(MathFunction::Log, &[b])]), b) < 1e-12);
        prop_assert!(distance(binary(Op::Power, b, complex(3, 0)), power(b, 3)) < 1e-9);
        let (sin, cos) = (call(MathFunction::Sin, &[a]), call(MathFunction::Cos, &[a]));
        let one = binary(Op::Add, power(sin, 2), power(cos, 2));
        let scale = 1.0 + distance(power(cos, 2), complex(0, 0));
        prop_assert!(distance(one, complex(1, 0)) < 1e-14 * scale);
    }

    #[test]
    fn nothing_traps(bytes in any::<[u8; 16]>(), more in any::<[u8; 16]>(), exponent in -64_i32..=64) {
        for ty in ScalarType::ALL {
            let (a, b) = (Value::read(ty, &bytes).unwrap(), Value::read(ty, &more).unwrap());
            for op in [
                Op::Add, Op::Subtract, Op::Multiply, Op::Divide, Op::FloorDivide, Op::FloorModulo,
                Op::TruncateDivide, Op::TruncateModulo, Op::Power, Op::ShiftLeft, Op::ShiftRight, Op::BitAnd,
                Op::BitOr, Op::BitXor, Op::Minimum, Op::Maximum,
            ] {
                prop_assert_eq!(binary(op, a, b).ty(), ty);
            }
            prop_assert_eq!(power(a, exponent).ty(), ty);
            for to in ScalarType::ALL {
                prop_assert_eq!(cast(a, to).ty(), to);
            }
            for function in MathFunction::all() {
                call(function, &[a, b, a]);
            }
        }
    }
}

#[test]
fn conversions_at_the_edges() {
    for (value, to, expected) in [
        (Value::F64(f64::NAN), ScalarType::I32, Value::I32(0)),
        (Value::F64(-1e30), ScalarType::I32, Value::I32(i32::MIN)),
        (Value::F32(300.7), ScalarType::U8, Value::U8(255)),
        (Value::F64(-1.9), ScalarType::I64, Value::I64(-1)),
        (Value::I32(-1), ScalarType::U64, Value::U64(u64::MAX)),
        (Value::I64(256), ScalarType::U8, Value::U8(0)),
        (Value::F64(0.1), ScalarType::Bool, Value::Bool(true)),
        (Value::F64(f64::NAN), ScalarType::Bool, Value::Bool(true)),
        (Value::I64(65520), ScalarType::F16, Value::F16(f16::INFINITY)),
        (Value::Bool(true), ScalarType::Complex64, Value::Complex64(Complex::new(1.0, 0.0))),
    ] {
        assert_eq!(cast(value, to), expected, "{value} to {to}");
    }
}

#[test]
fn functions_at_known_points() {
    for (function, arguments, expected) in [
        (MathFunction::Round, vec![2.5], 2.0),
        (MathFunction::Round, vec![-3.5], -4.0),
        (MathFunction::Hypot, vec![3.0, 4.0], 5.0),
        (MathFunction::Fmod, vec![-7.0, 3.0], -1.0),
        (MathFunction::Remainder, vec![5.0, 3.0], -1.0),
        (MathFunction::Heaviside, vec![0.0, 0.5], 0.5),
        (MathFunction::Sign, vec![-0.25], -1.0),
        (MathFunction::Fma, vec![2.0, 3.0, 4.0], 10.0),
        (MathFunction::Fmin, vec![f64::NAN, 1.0], 1.0),
        (MathFunction::Atan2, vec![0.0, -1.0], std::f64::consts::PI),
        (MathFunction::Lgamma, vec![3.0], std::f64::consts::LN_2),
    ] {
        let values: Vec<Value> = arguments.iter().map(|&v| Value::F64(v)).collect();
        assert_eq!(call(function, &values), Value::F64(expected), "{function:?}");
        let values: Vec<Value> = arguments.iter().map(|&v| Value::F16(f16::from_f64(v))).collect();
        assert_eq!(call(function, &values), Value::F16(f16::from_f64(expected)), "{function:?}");
    }
    let neighbour = call(MathFunction::Nextafter, &[f16::ONE.into(), f16::ZERO.into()]);
    assert_eq!(neighbour, Value::F16(f16::from_f32(1.0 - 1.0 / 2048.0)));
    assert_eq!(binary(Op::FloorDivide, Value::F64(1.0), Value::F64(0.1)), Value::F64(9.0));
    assert_eq!(power(Value::F64(f64::NAN), 0), Value::F64(1.0));
    assert_eq!(power(Value::F64(2.0), -3), Value::F64(0.125));
    assert!(!compare(CompareOp::LessEqual, Value::F64(f64::NAN), Value::F64(1.0)));
    assert!(compare(CompareOp::NotEqual, Value::F64(f64::NAN), Value::F64(f64::NAN)));
}

#[test]
fn functions_of_f32_give_the_nearest() {
    for (function, argument, nearest) in [
        (MathFunction::Exp, 4.0, 54.598_150_033_144_24_f64),
        (MathFunction::Log, 7.0, 1.945_910_149_055_313),
        (MathFunction::Tan, 3.0, -0.142_546_543_074_277_8),
    ] {
        assert_eq!(call(function, &[Value::F32(argument)]), Value::F32(nearest as f32), "{function:?}");
    }
    let root = binary(Op::Power, Value::F32(3.0), Value::F32(1.5));
    assert_eq!(root, Value::F32(5.196_152_422_706_632_f64 as f32));
}

#[test]
fn f16_is_rounded_once() {
    let half = |value: f64| cast(Value::F64(value), ScalarType::F16);
    let tie = 1.0 + f64::exp2(-11.0);
    assert_eq!(half(tie), Value::F16(f16::from_f64(1.0)));
    // An f32, or the upper half of the bits, cannot tell this from the tie.
    assert_eq!(half(tie + f64::exp2(-40.0)), Value::F16(f16::from_f64(1.0 + f64::exp2(-10.0))));
    assert_eq!(half(-tie - f64::exp2(-40.0)), Value::F16(f16::from_f64(-1.0 - f64::exp2(-10.0))));
    assert_eq!(half(f64::MAX), Value::F16(f16::INFINITY));
    assert_eq!(half(65_519.999_999_999), Value::F16(f16::MAX));
    assert_eq!(half(65520.0), Value::F16(f16::INFINITY));
    assert_eq!(half(-1e-300), Value::F16(f16::from_bits(0x8000)));
    // Between neighbours, the middle goes to the even one, and what lies beside it to its own side.
    for bits in (0..0x7bff).step_by(7) {
        let (low, high) = (f16::from_bits(bits), f16::from_bits(bits + 1));
        let middle = (low.to_f64() + high.to_f64()) / 2.0;
        let even = if bits % 2 == 0 { low } else { high };
        let rounded = [middle.next_down(), middle, middle.next_up()].map(half);
        assert_eq!(rounded, [low, even, high].map(Value::F16), "{bits:#x}");
    }
}
