//! Version 1 of strategy files, in which paths are lists of labels without the name of the program.
//!
//! The reader converts it to version 2 first, so all other code handles one form.

use sdfg::path::{Element, ElementPath};
use serde_json::Value;

use super::{StrategyFile, VERSION};

/// Reads a file that says that it is of version 1.
pub(super) fn read(text: &str) -> Result<StrategyFile, serde_json::Error> {
    let mut file: Value = serde_json::from_str(text)?;
    let root = match file.get("model").and_then(Value::as_str) {
        None | Some("") => ElementPath::default(),
        Some(name) => ElementPath::sdfg(name),
    };
    if let Some(members) = file.as_object_mut() {
        members.insert("version".to_owned(), VERSION.into());
    }
    let operations = file.get_mut("operations").and_then(Value::as_array_mut);
    for operation in operations.into_iter().flatten() {
        if let Some(path) = operation.get_mut("path") {
            let labels: Vec<String> = serde_json::from_value(path.take())?;
            let is_known = !labels.is_empty();
            let node = labels.into_iter().fold(root.clone(), |path, label| path.enter(label));
            *path = serde_json::to_value(if is_known { node } else { ElementPath::default() })?;
        }
        for member in ["reads", "writes"] {
            let layouts = operation.get_mut(member).and_then(Value::as_array_mut);
            for layout in layouts.into_iter().flatten() {
                if let Some(container) = layout.get_mut("container") {
                    let mut labels: Vec<String> = serde_json::from_value(container.take())?;
                    let name = labels.pop().unwrap_or_default();
                    let call = labels.into_iter().fold(root.clone(), |path, label| path.enter(label));
                    *container = serde_json::to_value(call.to(Element::Container(name)))?;
                }
            }
        }
    }
    serde_json::from_value(file)
}
