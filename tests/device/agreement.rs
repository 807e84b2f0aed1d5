//! The programs of `crates/codegen/tests/agreement` and the example programs with their maps as kernels.

use std::path::PathBuf;

use sdfg::interpret::Arguments;
use sdfg::ir::{Sdfg, Storage};
use sdfg::value::Value;
use sdfg_codegen::lower::{LowerError, LowerOptions, lower};
use sdfg_programs::random::Device;
use sdfg_programs::subjects::{NoCase, Subjects};
use sdfg_programs::trusted;

use super::device::checked::{as_kernels, given};
use super::device::{interpreted, number, on_device, parsed, transformed};

/// A share of the programs gives the results of the interpreter, up to the accuracy of mathematical functions.
pub(crate) fn programs_of_agreement_run_on_the_device(
    device: Device,
    part: usize,
    parts: usize,
    least: usize,
) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/codegen/tests/agreement");
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{error}"));
    let mut files: Vec<_> =
        entries.map(|entry| entry.unwrap_or_else(|error| panic!("{error}")).path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "sdft"));
    files.sort();
    let mut ran = 0;
    // The part of a program does not depend on the others.
    let part_of = |file: &PathBuf| {
        let name = file.file_name().map(|name| name.as_encoded_bytes().to_vec()).unwrap_or_default();
        name.iter().map(|byte| usize::from(*byte)).sum::<usize>() % parts
    };
    for file in files.iter().filter(|file| part_of(file) == part) {
        let source = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{error}"));
        let source = first_variant(&source);
        let command = source.lines().find_map(|line| line.strip_prefix("#! test agree"));
        let Some(command) = command.filter(|command| !command.contains("->")) else { continue };
        let symbols: Vec<(String, i64)> = command
            .split_whitespace()
            .filter_map(|word| word.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.parse().unwrap_or_else(|_| panic!("{value}"))))
            .collect();
        let program = parsed(&source);
        let Some(moved) = as_kernels(program.sdfg()) else { continue };
        // The order of their elements is not determined.
        if has_device_queues(moved.sdfg()) {
            continue;
        }
        let options = LowerOptions { serial_components: true, ..LowerOptions::default() };
        let plan = match lower(&moved, &device.target(), &options) {
            Ok(plan) => plan,
            Err(LowerError::Unsupported { .. } | LowerError::Unexpanded { .. }) => continue,
            Err(error) => panic!("{}: {error}", file.display()),
        };
        let arguments = given(program.sdfg(), &symbols);
        let expected = interpreted(&program, &arguments);
        let library = match device.load(&plan) {
            Ok(library) => library,
            Err(error) if error.contains(" source does not support ") => continue,
            Err(error) => panic!("{}: {error}", file.display()),
        };
        let mut found = arguments.clone();
        let ended = trusted::run(&library, &mut found, None);
        ended.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        compare(&file.display().to_string(), &expected, &found);
        ran += 1;
    }
    assert!(ran >= least, "{ran} programs with kernels");
}

/// The example programs that have maps for kernels give the results of the interpreter.
pub(crate) fn example_programs_run_on_the_device(device: Device) {
    let mut kernels = 0;
    for number in 0..Subjects::Programs.count() {
        let (name, _) = Subjects::Programs.program(number);
        let case = match Subjects::Programs.case(number, 1) {
            Ok(case) => case,
            Err(NoCase::Missing(_)) => continue,
            Err(error) => panic!("{name}: {error}"),
        };
        let (program, count) = transformed(case.program());
        if count == 0 || has_device_queues(program.sdfg()) {
            continue;
        }
        compare(name, case.expected(), &on_device(&program, case.arguments(), device));
        kernels += count;
    }
    assert!(kernels >= 8, "{kernels} kernels");
}

/// Whether kernels of a program push to streams. Its elements then have any order.
fn has_device_queues(program: &Sdfg) -> bool {
    let mut streams = program.containers().filter(|(_, container)| container.is_stream());
    streams.any(|(_, container)| container.storage == Storage::GpuGlobal)
}

/// Compares results up to the accuracy of mathematical functions.
fn compare(program: &str, expected: &Arguments, found: &Arguments) {
    for (name, expected) in expected.tensors() {
        let found = found.get(name).unwrap_or_else(|| panic!("{program}: no `{name}`"));
        for (expected, found) in expected.values().flat_map(parts_of).zip(found.values().flat_map(parts_of)) {
            let is_close = (expected - found).abs() <= 1e-12 * expected.abs().max(1.0);
            let is_same = is_close || expected == found || expected.is_nan() && found.is_nan();
            assert!(is_same, "{program}: `{name}`: {expected} and {found}");
        }
    }
}

/// A real number, or the parts of a complex one.
fn parts_of(value: Value) -> [f64; 2] {
    match value {
        Value::Complex64(value) => [f64::from(value.re), f64::from(value.im)],
        Value::Complex128(value) => [value.re, value.im],
        real => [number(real), 0.0],
    }
}

/// A text with the first value of each word of `#! for WORD in VALUE ...`.
fn first_variant(source: &str) -> String {
    let mut text = source.to_owned();
    for line in source.lines().filter_map(|line| line.strip_prefix("#! for ")) {
        if let Some((word, values)) = line.split_once(" in ") {
            text = text.replace(word, values.split_whitespace().next().unwrap_or_default());
        }
    }
    text
}
