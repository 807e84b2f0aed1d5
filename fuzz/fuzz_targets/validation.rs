//! Fuzz target of validation, and of the interpreter on valid graphs: programs mutated in ways that text
//! cannot express.
#![no_main]

use std::sync::LazyLock;

use sdfg::ir::Sdfg;
use sdfg_fuzz::{mutate, programs, property};

static GRAPHS: LazyLock<Vec<Sdfg>> = LazyLock::new(|| {
    programs::texts()
        .iter()
        .filter_map(|(path, text)| sdfg::text::parse(&path.to_string_lossy(), text).ok())
        .collect()
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| property::graph(mutate::mutated(&GRAPHS, data)));
