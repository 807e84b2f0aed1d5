//! Tests of the embedded object files.

use super::{Sanitizer, objects, profile};

#[test]
fn objects_are_those_of_the_host() {
    let kinds =
        [(None, "sdfg_"), (Some(Sanitizer::Address), "__asan_"), (Some(Sanitizer::Thread), "__tsan_")];
    for (sanitizer, mark) in kinds {
        for (name, bytes) in objects(sanitizer).into_iter().chain([profile(sanitizer)]) {
            assert!(bytes.starts_with(b"\x7fELF"), "{name}");
            let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
            assert!(has(mark) && (sanitizer.is_some() || !has("san_")), "{name} for {sanitizer:?}");
        }
    }
}
