//! Tests of invalid files: truncated, with wrong types, dangling ids, excessive depth or size. Each gives an
//! error with a code and a path, or another program, and never a panic.

mod change;

use std::path::Path;

use sdfg::validate::validate;
use serde_json::Value as Json;

fn read(bytes: &[u8]) {
    match sdfg_dace::read(bytes, &sdfg_dace::Options::default()) {
        Ok(import) => drop(validate(import.sdfg)),
        Err(refused) => {
            let mut errors = refused.report.errors();
            assert!(errors.next().is_some_and(|error| !error.path.is_empty() && !error.message.is_empty()));
        }
    }
}

/// The committed programs that are small.
fn documents() -> Vec<Json> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "sdfg")).collect();
    paths.sort();
    let contents = paths.into_iter().map(|path| std::fs::read(path).unwrap());
    let small = contents.filter(|content| content.len() < 60_000);
    small.map(|content| serde_json::from_slice(&content).unwrap()).collect()
}

#[test]
fn truncated_and_deep_files_are_refused() {
    let text = documents()[0].to_string();
    for cut in (0..text.len()).step_by(97) {
        assert!(sdfg_dace::read(&text.as_bytes()[..cut], &sdfg_dace::Options::default()).is_err());
    }
    let code = |bytes: &[u8]| {
        let refused = sdfg_dace::read(bytes, &sdfg_dace::Options::default()).unwrap_err();
        refused.report.findings[0].code.name()
    };
    assert_eq!(code("[".repeat(10_000).as_bytes()), "D001");
    assert_eq!(code(&[0x1f, 0x8b, 8, 0]), "D001");
}

#[test]
fn changed_files_are_no_panic() {
    let documents = documents();
    let mut state = 1_u64;
    for round in 0..200_u32 {
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32
        };
        let numbers: Vec<u32> =
            std::iter::once(round).chain((0..2 + 4 * (round % 3)).map(|_| next())).collect();
        read(&change::changed(&documents, &mut numbers.into_iter()));
    }
}
