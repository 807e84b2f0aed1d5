//! Whole texts: programs, the examples of the documentation, errors.

use super::*;
use crate::ir::Sdfg;

/// Parses a text that is right.
fn parsed(source: &str) -> Sdfg {
    parse("test.sdft", source).unwrap_or_else(|errors| {
        panic!("{}", errors.iter().map(|error| format!("{error}\n")).collect::<String>())
    })
}

/// Every program of the repository, by file name.
fn programs() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs");
    let mut programs: Vec<(String, String)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sdft"))
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(path).unwrap())
        })
        .collect();
    programs.sort();
    programs
}

#[test]
fn programs_round_trip() {
    let programs = programs();
    assert!(programs.len() >= 13, "{} programs", programs.len());
    for (name, source) in programs {
        let printed = print(&parsed(&source));
        assert_eq!(print(&parsed(&printed)), printed, "{name}");
    }
}
