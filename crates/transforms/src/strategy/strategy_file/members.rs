//! Members of a strategy file as they are written: unknown names, and numbers that are none of parts or ranks.
//!
//! These checks run before the file is read into its types, whose errors would tell a line, but no operation. A misspelt
//! member would otherwise count for one that was left out.

use sdfg::path::{ElementPath, closest};
use serde_json::{Map, Value};

use super::{StrategyFileError, VERSION};

/// Members of the file. `--json` adds the time of the search.
const FILE: [&str; 10] = [
    "version",
    "model",
    "procs",
    "symbols",
    "cost",
    "serial",
    "data_parallel",
    "operations",
    "certificate",
    "search_seconds",
];
const OPERATION: [&str; 10] = [
    "name",
    "op",
    "path",
    "domain",
    "parameters",
    "configuration",
    "compute",
    "communication",
    "reads",
    "writes",
];
const LAYOUT: [&str; 3] = ["container", "dimensions", "combined_over"];
const CUT: [&str; 2] = ["dimension", "parts"];
const CERTIFICATE: [&str; 6] = ["checked", "bound", "gap", "tables", "minima", "dominated"];

/// Checks the members of a file of a version that is read.
pub(super) fn check(file: &Value) -> Result<(), StrategyFileError> {
    let Some(members) = file.as_object() else { return Ok(()) };
    let unknown = |what| StrategyFileError::Member { what };
    known(members, &FILE, "").map_err(unknown)?;
    if let Some(certificate) = members.get("certificate").and_then(Value::as_object) {
        known(certificate, &CERTIFICATE, " in `certificate`").map_err(unknown)?;
    }
    if let Some(procs) = members.get("procs")
        && !is_count(procs)
    {
        return Err(StrategyFileError::Processors { value: procs.to_string() });
    }
    let has_texts = members.get("version").and_then(Value::as_u64) == Some(VERSION.into());
    let operations = members.get("operations").and_then(Value::as_array);
    for (index, operation) in operations.into_iter().flatten().enumerate() {
        check_operation(operation, has_texts).map_err(|what| StrategyFileError::Operation {
            index,
            name: label(operation),
            what,
        })?;
    }
    Ok(())
}

/// The path of an operation, or its name if it has none.
fn label(operation: &Value) -> String {
    let member = |name: &str| operation.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    member("path").or_else(|| member("name")).unwrap_or_default().to_owned()
}

fn check_operation(operation: &Value, has_texts: bool) -> Result<(), String> {
    let Some(members) = operation.as_object() else {
        return Err(format!("it is {operation}; write an object with `path` and `configuration`"));
    };
    known(members, &OPERATION, "")?;
    for list in ["reads", "writes"] {
        let layouts = members.get(list).and_then(Value::as_array).into_iter().flatten();
        for (at, layout) in layouts.filter_map(Value::as_object).enumerate() {
            known(layout, &LAYOUT, &format!(" in `{list}[{at}]`"))?;
            let cuts = layout.get("dimensions").and_then(Value::as_array).into_iter().flatten();
            for cut in cuts.filter_map(Value::as_object) {
                known(cut, &CUT, &format!(" in `dimensions` of `{list}[{at}]`"))?;
            }
        }
    }
    if has_texts
        && let Some(path) = members.get("path")
        && let Err(error) = path.as_str().ok_or("it is no string".to_owned()).and_then(parsed)
    {
        return Err(format!("`path` is {path}: {error}; write a path such as \"program/state/map\""));
    }
    let Some(configuration) = members.get("configuration") else {
        return Err("it has no `configuration`: write the number of parts of each dimension".to_owned());
    };
    if !configuration.as_array().is_some_and(|parts| parts.iter().all(is_count)) {
        return Err(format!(
            "`configuration` is {configuration}; write a list of the numbers of parts, 1 for a dimension that stays whole"
        ));
    }
    Ok(())
}

fn parsed(path: &str) -> Result<ElementPath, String> {
    path.parse().map_err(|error: sdfg::path::PathError| error.to_string())
}

/// Refuses members of other names than these.
fn known(members: &Map<String, Value>, names: &[&str], place: &str) -> Result<(), String> {
    let Some(unknown) = members.keys().find(|name| !names.contains(&name.as_str())) else { return Ok(()) };
    let meant = match closest(unknown, names.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("leave it out; the members are {}", names.join(", ")),
    };
    Err(format!("`{unknown}`{place} is no member of a strategy: {meant}"))
}

/// Whether a value is a number of parts or ranks.
fn is_count(value: &Value) -> bool {
    value.as_u64().is_some_and(|number| number > 0 && u32::try_from(number).is_ok())
}
