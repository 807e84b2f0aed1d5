//! Mutations of documents, driven by a list of numbers: the result is still JSON with changed contents. The
//! fuzz target uses them too.

use serde_json::{Value as Json, json};

/// The bytes of a document after as many changes as the numbers tell: the first picks the document, then one the value, one
/// the change, until they end.
pub(crate) fn changed(documents: &[Json], numbers: &mut dyn Iterator<Item = u32>) -> Vec<u8> {
    let Some(picked) = numbers.next().and_then(|number| documents.get(number as usize % documents.len()))
    else {
        return Vec::new();
    };
    let mut document = picked.clone();
    let mut cut = None;
    while let (Some(at), Some(change)) = (numbers.next(), numbers.next()) {
        let root = document.clone();
        let count = size(&document);
        let Some(value) = nth(&mut document, &mut (at as usize % count)) else { break };
        match change % 16 {
            0 => *value = Json::Null,
            1 => *value = json!(-7),
            2 => *value = json!(9_223_372_036_854_775_807_u64),
            3 => *value = json!(1e300),
            4 => *value = json!("99999"),
            5 => *value = json!("$x("),
            6 => *value = json!("(".repeat(10_000)),
            7 => *value = json!([]),
            8 => *value = json!({}),
            9 => *value = json!("9999999999*N**99"),
            10 => *value = (0..200).fold(json!("N"), |inner, _| json!([inner])),
            // A program within itself.
            11 if count < 20_000 => *value = root,
            12 => cut = Some(at as usize),
            13 => match value {
                Json::Array(list) => list.extend(list.first().cloned()),
                Json::Object(entries) => {
                    *entries = entries.iter().skip(1).map(|(k, v)| (k.clone(), v.clone())).collect()
                }
                Json::String(text) => text.insert_str(text.len() / 2, " + "),
                Json::Null | Json::Bool(_) | Json::Number(_) => *value = json!("i"),
            },
            14 => match value {
                Json::Array(list) => drop(list.pop()),
                Json::Object(entries) => drop(entries.insert("type".to_owned(), json!("NestedSDFG"))),
                Json::String(text) => *text = text.chars().rev().collect(),
                Json::Null | Json::Bool(_) | Json::Number(_) => *value = json!(true),
            },
            _ => *value = json!("0"),
        }
    }
    let mut bytes = document.to_string().into_bytes();
    if let Some(cut) = cut {
        bytes.truncate(cut % (bytes.len() + 1));
    }
    bytes
}

/// Number of values in a document, including itself.
fn size(value: &Json) -> usize {
    1 + match value {
        Json::Array(list) => list.iter().map(size).sum::<usize>(),
        Json::Object(entries) => entries.values().map(size).sum::<usize>(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => 0,
    }
}

/// The value that is the `at`-th in the order of the document.
fn nth<'v>(value: &'v mut Json, at: &mut usize) -> Option<&'v mut Json> {
    if *at == 0 {
        return Some(value);
    }
    *at -= 1;
    match value {
        Json::Array(list) => list.iter_mut().find_map(|inner| nth(inner, at)),
        Json::Object(entries) => entries.values_mut().find_map(|inner| nth(inner, at)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
    }
}
