//! Tensors as text: `[[1.0, 2.0], [_, 4.0]]`, `3`, `zeros(2, 3)`, `undefined(4)`, `iota(5)`; `_` is
//! undefined. The lanes of a short vector are the innermost dimension.

use sdfg::dtype::ElementType;
use sdfg::tensor::Tensor;
use sdfg::text::{parse_value, print_value};
use sdfg::value::Value;

/// Elements with their shape, lanes included.
#[derive(Clone, Debug, PartialEq)]
struct Elements {
    shape: Vec<usize>,
    values: Vec<Option<Value>>,
}

/// The canonical text of a tensor.
pub(crate) fn print(tensor: &Tensor) -> String {
    let lanes = tensor.element().lanes();
    let mut shape: Vec<usize> =
        tensor.shape().iter().map(|extent| usize::try_from(*extent).unwrap_or(0)).collect();
    let values = (0..tensor.len()).flat_map(|position| {
        (0..usize::from(lanes))
            .map(move |lane| tensor.lane(position, lane).filter(|_| tensor.is_defined(position)))
    });
    let values: Vec<Option<Value>> = values.collect();
    if lanes > 1 {
        shape.push(usize::from(lanes));
    }
    show(&shape, &values)
}

fn show(shape: &[usize], values: &[Option<Value>]) -> String {
    let Some((extent, inner)) = shape.split_first() else {
        return values.first().copied().flatten().map_or_else(|| "_".to_owned(), print_value);
    };
    let size: usize = inner.iter().product();
    let parts: Vec<String> =
        (0..*extent).map(|i| show(inner, values.get(i * size..(i + 1) * size).unwrap_or_default())).collect();
    format!("[{}]", parts.join(", "))
}

/// The canonical form of a text for elements of this type.
pub(crate) fn canonical(text: &str, element: ElementType) -> Result<String, String> {
    let elements = parse(text, element)?;
    Ok(show(&elements.shape, &elements.values))
}

/// The tensor that a text stands for.
pub(crate) fn tensor(text: &str, element: ElementType) -> Result<Tensor, String> {
    let mut elements = parse(text, element)?;
    if element.lanes() > 1 && elements.shape.pop() != Some(usize::from(element.lanes())) {
        return Err(format!("`{text}`: the innermost lists of {element} have {} numbers", element.lanes()));
    }
    let shape: Vec<i64> = elements.shape.iter().map(|extent| *extent as i64).collect();
    let result = if elements.values.iter().any(Option::is_none) {
        if elements.values.iter().any(Option::is_some) {
            return Err(format!("`{text}`: an argument is defined or undefined as a whole"));
        }
        Tensor::undefined(element, shape)
    } else {
        let size = element.lane().size();
        let mut bytes = vec![0; elements.values.len() * size];
        for (place, value) in bytes.chunks_exact_mut(size).zip(elements.values.iter().flatten()) {
            value.write(place);
        }
        Tensor::from_bytes(element, shape, bytes)
    };
    result.map_err(|error| format!("`{text}`: {error}"))
}

fn parse(text: &str, element: ElementType) -> Result<Elements, String> {
    let text = text.trim();
    for pattern in ["zeros", "undefined", "iota"] {
        let arguments = text.strip_prefix(pattern).and_then(|rest| rest.trim().strip_prefix('('));
        if let Some(extents) = arguments.and_then(|rest| rest.strip_suffix(')')) {
            return generated(pattern, extents, element);
        }
    }
    let mut elements = Elements { shape: Vec::new(), values: Vec::new() };
    let mut counts: Vec<Option<usize>> = Vec::new();
    nested(text, 0, element, &mut elements.values, &mut counts)?;
    elements.shape = counts.into_iter().map(|count| count.unwrap_or(0)).collect();
    Ok(elements)
}

fn generated(pattern: &str, extents: &str, element: ElementType) -> Result<Elements, String> {
    let extents = extents.split(',').map(str::trim).filter(|extent| !extent.is_empty());
    let shape: Result<Vec<usize>, String> =
        extents.map(|extent| extent.parse().map_err(|_| format!("`{extent}` is no extent"))).collect();
    let mut shape = shape?;
    if element.lanes() > 1 {
        shape.push(usize::from(element.lanes()));
    }
    let value = |position: usize| match pattern {
        "undefined" => Ok(None),
        "zeros" => Ok(Some(Value::zero(element.lane()))),
        _ => parse_value(element.lane(), &position.to_string())
            .map(Some)
            .ok_or_else(|| format!("{position} is not a value of {element}")),
    };
    let values: Result<_, String> = (0..shape.iter().product::<usize>()).map(value).collect();
    Ok(Elements { shape, values: values? })
}

fn nested(
    text: &str,
    depth: usize,
    element: ElementType,
    values: &mut Vec<Option<Value>>,
    counts: &mut Vec<Option<usize>>,
) -> Result<(), String> {
    let text = text.trim();
    let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
        if depth != counts.len() {
            return Err(format!("`{text}` stands where a list should"));
        }
        values.push(match text {
            "_" => None,
            _ => Some(
                parse_value(element.lane(), text)
                    .ok_or_else(|| format!("`{text}` is not a value of {}", element.lane()))?,
            ),
        });
        return Ok(());
    };
    let parts: Vec<&str> =
        split_outside(inner, |c| c == ',').into_iter().filter(|part| !part.trim().is_empty()).collect();
    if counts.len() == depth {
        if !values.is_empty() {
            return Err(format!("`{text}` stands where a number should"));
        }
        counts.push(None);
    }
    if *counts[depth].get_or_insert(parts.len()) != parts.len() {
        return Err(format!("`{text}` has another number of elements than its neighbours"));
    }
    parts.into_iter().try_for_each(|part| nested(part, depth + 1, element, values, counts))
}

/// The parts of a text between separators that stand outside of brackets.
pub(crate) fn split_outside(text: &str, is_separator: impl Fn(char) -> bool) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_i32);
    for (at, character) in text.char_indices() {
        match character {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            _ if depth == 0 && is_separator(character) => {
                parts.push(&text[start..at]);
                start = at + character.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}
