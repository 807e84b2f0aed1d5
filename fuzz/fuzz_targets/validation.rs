//! Validation, and the interpreter on what it accepts: graphs of programs, changed in ways that no text can say.
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
