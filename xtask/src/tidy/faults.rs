//! Checks that the list of planted faults follows the code.

use std::path::Path;

use super::{File, Finding};
use crate::faults::{LIST, read};

/// Every fault of the list can be planted in the code as it is.
pub(super) fn can_be_planted(files: &[File]) -> Vec<Finding> {
    let finding = |message: String| Finding::new("faults", Path::new(LIST), None, message);
    let Some(list) = files.iter().find(|file| file.path == Path::new(LIST)) else { return Vec::new() };
    let faults = match read(&list.text) {
        Ok(faults) => faults,
        Err(error) => return vec![finding(format!("{error:#}"))],
    };
    let cannot = faults.iter().filter_map(|fault| {
        let Some(file) = files.iter().find(|file| file.path == fault.file) else {
            return Some(finding(format!("fault `{}` is in no file of the project", fault.name)));
        };
        fault.plant_in(&file.text).err().map(|error| finding(error.to_string()))
    });
    cannot.collect()
}
