//! Structs of numbers: the struct types of a file, and the texts that construct structs and read their
//! fields.
//!
//! A struct becomes a short vector with one lane per field. `_pair(val=a, idx=b)` becomes `lanes(b, a)`, in
//! the order of the fields, and `x.val` becomes `lane(x, 1)`.

use std::collections::BTreeMap;
use std::sync::Arc;

use sdfg::syntax::{Expression, ExpressionKind};

use crate::model::StructType;

/// Maximum nesting of constructors.
const MOST_NESTED: usize = 16;

/// The struct types of a file by name.
#[derive(Debug, Default)]
pub(crate) struct Structs(pub(crate) BTreeMap<String, Arc<StructType>>);

impl Structs {
    /// The text with constructors as calls of `lanes`; `None` if one of them has a form that is not understood.
    pub(super) fn constructors(&self, text: &str) -> Option<String> {
        self.constructors_within(text, MOST_NESTED)
    }

    fn constructors_within(&self, text: &str, levels: usize) -> Option<String> {
        let Some((at, found)) = self
            .0
            .values()
            .filter_map(|found| Some((call_of(text, &found.name)?, found)))
            .min_by_key(|(at, _)| *at)
        else {
            return Some(text.to_owned());
        };
        let levels = levels.checked_sub(1)?;
        let open = at + found.name.len();
        let (arguments, close) = arguments(text, open)?;
        let mut lanes = vec!["0".to_owned(); found.fields.len()];
        for (position, argument) in arguments.iter().enumerate() {
            let (lane, value) = match keyword(argument) {
                Some((name, value)) => (found.fields.iter().position(|(field, _)| field == name)?, value),
                None => (position, *argument),
            };
            *lanes.get_mut(lane)? = self.constructors_within(value.trim(), levels)?;
        }
        let rest = self.constructors_within(&text[close + 1..], levels)?;
        Some(format!("{}lanes({}){rest}", &text[..at], lanes.join(", ")))
    }

    /// `x.val` as `lane(x, k)`, if a struct has such a field.
    pub(super) fn field(&self, expression: &Expression) -> Option<Expression> {
        let ExpressionKind::Name(name) = &expression.kind else { return None };
        let (base, field) = name.rsplit_once('.')?;
        let mut lanes =
            self.0.values().filter_map(|found| found.fields.iter().position(|(name, _)| name == field));
        let lane = lanes.next()?;
        if lanes.any(|other| other != lane) {
            return None;
        }
        let lane = i64::try_from(lane).ok()?;
        Some(Expression::call("lane", vec![Expression::name(base), Expression::integer(lane)]))
    }
}

/// Start of a call of a function.
fn call_of(text: &str, name: &str) -> Option<usize> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
    text.match_indices(name).map(|(at, _)| at).find(|at| {
        let bytes = text.as_bytes();
        let begins = *at == 0 || !is_name(bytes[at - 1]);
        begins && bytes.get(at + name.len()) == Some(&b'(')
    })
}

/// The arguments of a call whose parenthesis opens at `open`, and where it closes.
fn arguments(text: &str, open: usize) -> Option<(Vec<&str>, usize)> {
    let mut depth = 0_usize;
    let (mut found, mut begin) = (Vec::new(), open + 1);
    for (at, byte) in text.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    found.push(&text[begin..at]);
                    return Some((found, at));
                }
            }
            b',' if depth == 1 => {
                found.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// The name and value of `name=value`.
fn keyword(argument: &str) -> Option<(&str, &str)> {
    let (name, value) = argument.split_once('=')?;
    let name = name.trim();
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_name && !name.is_empty() && !value.starts_with('=')).then_some((name, value))
}
