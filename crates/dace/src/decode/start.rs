//! C++ code that only gives symbols their values when a program starts.
//!
//! Fortran's front end declares the extents of members as global integers, and sets them from the structures
//! that the caller passes: `int n;` and `n = config->n;`.

use std::collections::BTreeSet;

use crate::wire::{Object, Value};

/// Types of integers in C++.
const INTEGERS: [&str; 8] =
    ["int", "long", "long long", "int32_t", "int64_t", "unsigned int", "uint32_t", "bool"];

/// The symbols that the code declares and sets, with their values; `None` if the code does anything else, or nothing.
pub(super) fn assignments(attributes: &Object<'_>) -> Option<Vec<(String, String)>> {
    let declared = lines(attributes, "global_code")?;
    let set = lines(attributes, "init_code")?;
    let names: BTreeSet<&str> = declared
        .iter()
        .map(|line| {
            let (ty, name) = line.strip_suffix(';')?.rsplit_once(' ')?;
            (INTEGERS.contains(&ty.trim()) && is_name(name)).then_some(name)
        })
        .collect::<Option<_>>()?;
    let mut found: Vec<(String, String)> = Vec::new();
    for line in set {
        let (name, value) = line.strip_suffix(';')?.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        let is_value = value.split("->").all(|part| is_name(part.trim())) || value.parse::<i64>().is_ok();
        if !names.contains(name) || !is_value || found.iter().any(|(known, _)| known == name) {
            return None;
        }
        found.push((name.to_owned(), value.replace("->", ".")));
    }
    (!found.is_empty() && found.len() == names.len()).then_some(found)
}

fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.chars().all(is_part) && text.chars().next().is_some_and(|c| !c.is_ascii_digit())
}

/// The lines of a section that say something; `None` if code stands elsewhere than in the program's own file.
fn lines<'j>(attributes: &Object<'j>, property: &str) -> Option<Vec<&'j str>> {
    let mut found = Vec::new();
    for (target, value) in attributes.pairs(property).ok()? {
        let text = value.get("string_data").and_then(Value::as_text).unwrap_or_default();
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
        let lines: Vec<&str> = lines.collect();
        if target != "frame" && !lines.is_empty() {
            return None;
        }
        found.extend(lines);
    }
    Some(found)
}
