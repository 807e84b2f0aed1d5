//! The library of the fuzz targets, compiled with the other tests and run on a few inputs.
//!
//! The fuzz targets are a separate workspace, which needs a nightly compiler. This test finds at once a change of
//! the graph's interface that the library does not follow, and a seed that violates a property of all inputs.

#[path = "../crates/dace/tests/broken/change.rs"]
mod change;
#[path = "../fuzz/src/mutate.rs"]
#[expect(unreachable_pub, reason = "it is public in the library of the fuzz targets")]
mod mutate;
#[path = "../fuzz/src/programs.rs"]
#[expect(unreachable_pub, reason = "it is public in the library of the fuzz targets")]
mod programs;
#[path = "../fuzz/src/property.rs"]
#[expect(unreachable_pub, reason = "it is public in the library of the fuzz targets")]
mod property;
#[path = "../crates/filetest/src/survive.rs"]
mod survive;

/// Bytes that select mutations: a different sequence for each number.
fn bytes(number: usize) -> Vec<u8> {
    let mut state = number as u64 + 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..24).map(|_| next()).collect()
}

fn seeds() -> Vec<String> {
    programs::texts().into_iter().map(|(_, text)| text).collect()
}

#[test]
fn texts_survive() {
    for (number, mut text) in seeds().into_iter().enumerate() {
        property::text(text.as_bytes());
        let at = text.char_indices().map(|(at, _)| at).nth(37 * number % text.len().max(1)).unwrap_or(0);
        text.truncate(at);
        property::text(text.as_bytes());
    }
}

#[test]
fn documents_survive() {
    for text in seeds() {
        let Ok(program) = sdfg::text::parse("seed.sdft", &text) else { continue };
        property::document(sdfg::json::to_string(&program).as_bytes());
    }
}

#[test]
fn changed_graphs_survive() {
    let texts = seeds();
    let parsed = texts.iter().filter_map(|text| sdfg::text::parse("seed.sdft", text).ok());
    let graphs: Vec<_> = parsed.collect();
    assert!(!graphs.is_empty());
    let unchanged: Vec<String> = graphs.iter().map(sdfg::text::print).collect();
    let mut changed = 0;
    for number in 0..200 {
        let graph = mutate::mutated(&graphs, &bytes(number));
        changed += usize::from(!unchanged.contains(&sdfg::text::print(&graph)));
        property::graph(graph);
    }
    assert!(changed > 100, "only {changed} of 200 graphs differ from their seeds");
}

#[test]
fn documents_of_dace_survive() {
    for number in 0..40 {
        property::dace(&bytes(number));
    }
}
