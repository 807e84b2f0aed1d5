//! Properties that every input must satisfy, by kind of input.

use sdfg::ir::Sdfg;

use crate::{change, programs, survive};

/// Any bytes as a text program; what is no text holds nothing to test.
pub fn text(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        survive::text(text);
    }
}

/// Any bytes as a JSON document.
pub fn document(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        survive::document(text);
    }
}

/// Any graph.
pub fn graph(sdfg: Sdfg) {
    survive::graph(sdfg);
}

/// Any bytes as a file of DaCe's, and as the changes of a program of DaCe's.
pub fn dace(data: &[u8]) {
    read(data);
    let mut numbers = data.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    read(&change::changed(programs::dace(), &mut numbers.by_ref().take(9)));
}

fn read(bytes: &[u8]) {
    match sdfg_dace::read(bytes, &sdfg_dace::Options::default()) {
        Ok(import) => survive::graph(import.sdfg),
        Err(refused) => {
            let mut errors = refused.report.errors();
            assert!(errors.next().is_some_and(|error| !error.path.is_empty()));
        }
    }
}
