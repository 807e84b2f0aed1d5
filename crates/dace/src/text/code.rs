//! Code texts: conditions, assignments, tasklets and lambdas, as DaCe's front end unparses them.

use std::fmt::Display;

use sdfg::ir::ConflictResolution;
use sdfg::syntax::{
    BinaryOp, Block, Expression, ExpressionKind, Lambda, Name, ParseError, ParseErrorKind, UnaryOp,
    parse_block, parse_expression, parse_lambda,
};
use sdfg::tasklet::{Dialect, Environment, TypeErrorKind, typecheck_expression};

use super::bits;
use super::functions::{Functions, without_parentheses};
use super::lines::plain_lines;
use super::modern::plain;
use super::runtime::{formula, of_floats, part, without_namespace};
use super::{Structs, map_block, map_expression};
use crate::report::{Code, Failed, Log};

/// Prefix of the name of a conversion to the type of a connector; the connector's name follows.
pub(crate) const CONVERSION: &str = "__converted_to_";

/// Functions that version 2 prints with `__` in front where the source has the operator.
const OPERATORS: [&str; 7] =
    ["int_floor", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert", "left_shift", "right_shift"];

/// An expression of code: a condition, or the right side of an assignment.
pub(crate) fn expression(
    text: &str,
    structs: &Structs,
    place: &dyn Display,
    log: &Log,
) -> Result<Expression, Failed> {
    let text = plain(text);
    let ready = prepared(&text, structs, place, log)?;
    let parsed = parse_expression(ready.trim()).map_err(|errors| refuse(&text, &errors, place, log))?;
    Ok(map_expression(parsed, &mut |part| spelled(part, structs)))
}

/// The statements of a tasklet.
pub(crate) fn statements(
    text: &str,
    structs: &Structs,
    place: &dyn Display,
    log: &Log,
) -> Result<Block, Failed> {
    let ready = prepared(text, structs, place, log)?;
    let (ready, functions) =
        Functions::take_from(&ready).map_err(|errors| refuse(text, &errors, place, log))?;
    let parsed = block(ready).map_err(|errors| refuse(text, &errors, place, log))?;
    let parsed = functions.written_out(parsed);
    Ok(map_block(parsed, &mut |part| spelled(remainder_of_c(part), structs)))
}

/// Parses statements. A line that only computes a value, with functions that have no effects, does nothing.
fn block(mut text: String) -> Result<Block, Vec<ParseError>> {
    loop {
        let errors = match parse_block(&text) {
            Ok(found) => return Ok(found),
            Err(errors) => errors,
        };
        let without_effect =
            errors.iter().find(|error| matches!(error.kind, ParseErrorKind::ExpressionStatement));
        let shorter = without_effect.and_then(|error| without_line(&text, error.span.start as usize));
        match shorter {
            Some(shorter) => text = shorter,
            None => return Err(errors),
        }
    }
}

/// The text with `pass` for the line at a position, if the line is an expression without effects.
fn without_line(text: &str, at: usize) -> Option<String> {
    let begin = text.get(..at)?.rfind('\n').map_or(0, |before| before + 1);
    let end = text[at..].find('\n').map_or(text.len(), |length| at + length);
    let line = &text[begin..end];
    let indent = line.len() - line.trim_start().len();
    let expression = parse_expression(line.trim()).ok()?;
    let mut has_effects = false;
    expression.visit(&mut |part| {
        if let ExpressionKind::Call { function, .. } = &part.kind {
            has_effects |= !is_function(&function.text);
        }
    });
    (!has_effects).then(|| format!("{}pass{}", &text[..begin + indent], &text[end..]))
}

/// Whether the tasklet language has a function of this name. Its functions have no effects.
pub(crate) fn is_function(name: &str) -> bool {
    let call = Expression::call(name, Vec::new());
    match typecheck_expression(&call, Dialect::C, &Environment::new()) {
        Ok(_) => true,
        Err(errors) => {
            !errors.iter().any(|error| matches!(error.kind, TypeErrorKind::UnknownFunction { .. }))
        }
    }
}

/// In code, `Mod` is a function of DaCe's runtime; in symbolic texts, which SymPy prints, it rounds down.
fn remainder_of_c(expression: Expression) -> Expression {
    match expression.kind {
        ExpressionKind::Call { function, arguments } if function.text == "Mod" => {
            Expression::call("cpp_mod", arguments)
        }
        kind => Expression { kind, span: expression.span },
    }
}

/// A function of the old and the new value.
pub(crate) fn lambda(
    text: &str,
    structs: &Structs,
    place: &dyn Display,
    log: &Log,
) -> Result<Lambda, Failed> {
    let ready = prepared(text, structs, place, log)?;
    let parsed =
        parse_lambda(without_parentheses(&ready)).map_err(|errors| refuse(text, &errors, place, log))?;
    if parsed.parameters.len() != 2 {
        let message = format!("`{text}` must be a function of the old and the new value");
        return Err(log.error(Code::Expression, place, message));
    }
    let body = map_expression(parsed.body, &mut |part| spelled(part, structs));
    Ok(Lambda { parameters: parsed.parameters, body })
}

fn prepared(text: &str, structs: &Structs, place: &dyn Display, log: &Log) -> Result<String, Failed> {
    structs.constructors(&plain_lines(text)).ok_or_else(|| {
        log.error(Code::Expression, place, format!("`{text}` makes a struct in a way that is not understood"))
    })
}

fn refuse(text: &str, errors: &[ParseError], place: &dyn Display, log: &Log) -> Failed {
    let why = errors.first().map_or_else(String::new, ToString::to_string);
    log.error(Code::Expression, place, format!("`{text}`: {why}"))
}

/// DaCe's and SymPy's spellings in ours.
fn spelled(expression: Expression, structs: &Structs) -> Expression {
    if let Some(found) = structs.field(&expression).or_else(|| part(&expression)) {
        return found;
    }
    let span = expression.span;
    match expression.kind {
        ExpressionKind::Call { function, arguments } => {
            let name = without_namespace(&function.text);
            if name.starts_with(CONVERSION) && arguments.len() > 1 {
                return Expression::call("complex", arguments);
            }
            if let Some(plain) = name.strip_prefix("__").filter(|plain| OPERATORS.contains(plain)) {
                return spelled(Expression::call(plain, arguments), structs);
            }
            match operator(name.strip_prefix("dace.").unwrap_or(name), &arguments) {
                Some(kind) => Expression { kind, span },
                None => {
                    // The tasklet language knows these modules by itself.
                    let is_known = ["dace.math.", "math."].iter().any(|it| function.text.starts_with(it));
                    let text = if is_known { function.text.clone() } else { name.to_owned() };
                    let function = Name { text, span: function.span };
                    Expression { kind: ExpressionKind::Call { function, arguments }, span }
                }
            }
        }
        // `x ** dace.float64(2)` is a product, which a power of floats is not.
        ExpressionKind::Binary { op: BinaryOp::Power, left, right } => {
            let right = match cast_integer(&right) {
                Some(literal) => Box::new(literal),
                None => right,
            };
            Expression { kind: ExpressionKind::Binary { op: BinaryOp::Power, left, right }, span }
        }
        kind => Expression { kind, span },
    }
}

/// The integer literal in a conversion of one to a type that holds it exactly.
fn cast_integer(expression: &Expression) -> Option<Expression> {
    let ExpressionKind::Call { function, arguments } = &expression.kind else { return None };
    let [literal] = arguments.as_slice() else { return None };
    let is_number = match function.text.strip_prefix("dace.") {
        Some(name) => ["float", "complex", "int"].iter().any(|kind| name.starts_with(kind)),
        None => matches!(function.text.as_str(), "int" | "int32_t" | "int64_t" | "float" | "double"),
    };
    let is_small =
        |literal: &Expression| matches!(literal.kind, ExpressionKind::Integer(value) if value <= 64);
    let is_literal = match &literal.kind {
        ExpressionKind::Unary { op: UnaryOp::Negate, operand } => is_small(operand),
        _ => is_small(literal),
    };
    (is_number && is_literal).then(|| literal.clone())
}

/// The operator or formula that a function stands for.
fn operator(name: &str, arguments: &[Expression]) -> Option<ExpressionKind> {
    let chain = |op| {
        let (first, rest) = arguments.split_first()?;
        let all = rest.iter().fold(first.clone(), |all, next| Expression::binary(op, all, next.clone()));
        Some(all.kind)
    };
    match name {
        "AND" | "And" | "logical_and" => chain(BinaryOp::And),
        "OR" | "Or" | "logical_or" => chain(BinaryOp::Or),
        "Not" | "logical_not" | "NOT" => match arguments {
            [operand] => Some(Expression::unary(UnaryOp::Not, operand.clone()).kind),
            _ => None,
        },
        "ipow" | "Pow" => match arguments {
            [base, exponent] => {
                let exponent = cast_integer(exponent).unwrap_or_else(|| exponent.clone());
                Some(Expression::binary(BinaryOp::Power, base.clone(), exponent).kind)
            }
            _ => None,
        },
        _ => formula(name, arguments)
            .or_else(|| of_floats(name, arguments))
            .map(|found| found.kind)
            .or_else(|| bits::function(name, arguments)),
    }
}

/// The built-in conflict resolution that a function is, or the function itself.
pub(crate) fn resolution(function: &Lambda) -> ConflictResolution {
    let custom = || ConflictResolution::Custom(function.clone());
    let [old, new] = function.parameters.as_slice() else { return custom() };
    let is = |expression: &Expression, name: &str| matches!(&expression.kind, ExpressionKind::Name(found) if found == name);
    let are_both = |left: &Expression, right: &Expression| {
        (is(left, &old.text) && is(right, &new.text)) || (is(left, &new.text) && is(right, &old.text))
    };
    match &function.body.kind {
        ExpressionKind::Name(name) if *name == new.text => ConflictResolution::Replace,
        ExpressionKind::Binary { op, left, right } if are_both(left, right) => match op {
            BinaryOp::Add => ConflictResolution::Sum,
            BinaryOp::Multiply => ConflictResolution::Product,
            BinaryOp::And => ConflictResolution::And,
            BinaryOp::Or => ConflictResolution::Or,
            BinaryOp::BitAnd => ConflictResolution::BitAnd,
            BinaryOp::BitOr => ConflictResolution::BitOr,
            BinaryOp::BitXor => ConflictResolution::BitXor,
            BinaryOp::Subtract
            | BinaryOp::Divide
            | BinaryOp::FloorDivide
            | BinaryOp::Modulo
            | BinaryOp::Power
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRight => custom(),
        },
        ExpressionKind::Call { function: name, arguments } => match arguments.as_slice() {
            [left, right] if are_both(left, right) => match name.text.as_str() {
                "min" | "Min" => ConflictResolution::Min,
                "max" | "Max" => ConflictResolution::Max,
                _ => custom(),
            },
            _ => custom(),
        },
        _ => custom(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use sdfg::dtype::ScalarType;
    use sdfg::syntax::print_block;

    use super::*;
    use crate::model::StructType;

    fn pair() -> Structs {
        let fields = vec![("idx".to_owned(), ScalarType::I32), ("val".to_owned(), ScalarType::F64)];
        let pair = StructType { name: "_pair".to_owned(), fields };
        Structs(BTreeMap::from([("_pair".to_owned(), Arc::new(pair))]))
    }

    #[test]
    fn code_is_spelled_as_ours() {
        let log = Log::default();
        let read = |text: &str| {
            statements(text, &pair(), &"t", &log).map(|block| print_block(&block)).unwrap_or_default()
        };
        for (text, expected) in [
            ("__out = (__in1 ** dace.float64(2))", "__out = __in1 ** 2"),
            ("o = dace.math.ipow(x, int64_t(2))", "o = x ** 2"),
            ("o = dace.math.ifloor(x)", "o = int64(floor(x))"),
            ("o = math.ifloor(x) + math.exp(x)", "o = int64(floor(x)) + math.exp(x)"),
            ("o = IfExpr(Lt(i, 3), AND(a, b), Not(c))", "o = a and b if i < 3 else not c"),
            ("o = _pair(val=max(x.val, 1), idx=x.idx)", "o = lanes(lane(x, 0), max(lane(x, 1), 1))"),
            ("o = decltype(o)(a, b) * decltype(o)(1)", "o = complex(a, b) * __converted_to_o(1)"),
        ] {
            assert_eq!(read(text).trim_end(), expected);
        }
        assert!(read("o = [x for x in a]").is_empty());
    }

    #[test]
    fn resolutions_are_recognised() {
        let log = Log::default();
        let read = |text: &str| resolution(&lambda(text, &pair(), &"t", &log).unwrap());
        assert_eq!(read("(lambda x, y: (x + y))"), ConflictResolution::Sum);
        assert_eq!(read("lambda a, b: max(b, a)"), ConflictResolution::Max);
        assert_eq!(read("lambda a, b: b"), ConflictResolution::Replace);
        assert!(matches!(read("lambda a, b: a - b"), ConflictResolution::Custom(_)));
    }
}
