//! Random tasklet expressions.

use sdfg::dtype::{ScalarKind, ScalarType};

use super::rng::Rng;

/// An expression of a type over names of the given types, in which no operation depends on the platform.
pub(super) fn expression(
    rng: &mut Rng,
    ty: ScalarType,
    names: &[(String, ScalarType)],
    depth: usize,
) -> String {
    if depth == 0 || rng.chance(20) {
        return leaf(rng, ty, names);
    }
    let a = expression(rng, ty, names, depth - 1);
    let b = expression(rng, ty, names, depth - 1);
    match ty.kind() {
        ScalarKind::Float => match rng.below(9) {
            0 => format!("({a} + {b})"),
            1 => format!("({a} - {b})"),
            2 => format!("({a} * {b})"),
            3 => format!("min({a}, {b})"),
            4 => format!("max({a}, {b})"),
            5 => format!("abs({a})"),
            6 => format!("floor({a})"),
            7 => format!("({a} if {} else {b})", condition(rng, ty, names)),
            _ => format!("(-{a})"),
        },
        ScalarKind::Signed | ScalarKind::Unsigned => match rng.below(12) {
            0 => format!("({a} + {b})"),
            1 => format!("({a} - {b})"),
            2 => format!("({a} * {b})"),
            3 => format!("({a} // {b})"),
            4 => format!("({a} % {b})"),
            5 => format!("({a} & {b})"),
            6 => format!("({a} | {b})"),
            7 => format!("({a} ^ {b})"),
            8 => format!("min({a}, {b})"),
            9 => format!("max({a}, {b})"),
            10 => format!("({a} >> {})", rng.below(9)),
            _ => format!("({a} if {} else {b})", condition(rng, ty, names)),
        },
        ScalarKind::Complex => match rng.below(3) {
            0 => format!("({a} + {b})"),
            1 => format!("({a} - {b})"),
            _ => format!("({a} * {b})"),
        },
        ScalarKind::Bool => match rng.below(6) {
            0 => format!("({a} and {b})"),
            1 => format!("({a} or {b})"),
            2 => format!("(not {a})"),
            3 => format!("({a} != {b})"),
            4 => format!("({a} if {b} else not {a})"),
            _ => format!("({})", condition(rng, ty, names)),
        },
    }
}

/// A condition on names.
pub(super) fn condition(rng: &mut Rng, ty: ScalarType, names: &[(String, ScalarType)]) -> String {
    let ty = if ty == ScalarType::Bool { ScalarType::I64 } else { ty };
    let (a, b) = (leaf(rng, ty, names), leaf(rng, ty, names));
    let op = rng.pick(&["<", "<=", ">", ">=", "==", "!="]);
    format!("{a} {op} {b}")
}

fn leaf(rng: &mut Rng, ty: ScalarType, names: &[(String, ScalarType)]) -> String {
    if !names.is_empty() && rng.chance(75) {
        let (name, own) = rng.pick(names);
        return if own == ty { name } else { format!("{ty}({name})") };
    }
    match ty.kind() {
        ScalarKind::Float => format!("{ty}({}.{})", rng.below(4), rng.pick(&["0", "5", "25"])),
        ScalarKind::Complex => format!("{ty}({}.5)", rng.below(3)),
        ScalarKind::Signed | ScalarKind::Unsigned => format!("{ty}({})", rng.below(7)),
        ScalarKind::Bool => "True".to_owned(),
    }
}

/// A value of `ty` made of an expression of `from`, for which sums and products of a few hundred are exact in every order.
pub(super) fn exact(ty: ScalarType, from: ScalarType, value: &str, product: bool) -> String {
    match (ty.kind(), product) {
        (ScalarKind::Float, true) => format!("{ty}({value} > {from}(1)) + {ty}(1.0)"),
        (ScalarKind::Float, false) => format!("floor(min(max({ty}({value}), {ty}(-16.0)), {ty}(16.0)))"),
        _ => format!("{ty}({value})"),
    }
}
