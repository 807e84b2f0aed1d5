//! What must hold of every input, by its kind.

use sdfg::ir::Sdfg;

use crate::survive;

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
