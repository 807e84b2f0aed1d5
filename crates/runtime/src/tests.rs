//! Tests of the embedded object files, and of functions whose faults whole programs show by chance only.

use std::process::Command;

use super::{C_HEADER, C_SOURCES, Sanitizer, objects, profile};

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

/// Runs a C function that calls the runtime. It returns 0, or the line of the first failed check.
fn run(name: &str, test: &str) {
    let sources = [C_HEADER].into_iter().chain(C_SOURCES).flat_map(str::lines);
    let mut text: String =
        sources.filter(|line| !line.starts_with("#include \"")).flat_map(|line| [line, "\n"]).collect();
    text.push_str("#define CHECK(condition) do { if (!(condition)) return __LINE__; } while (0)\n#line 1\n");
    text.push_str(test);
    let file = |extension: &str| {
        std::env::temp_dir().join(format!("sdfg-runtime-{name}-{}{extension}", std::process::id()))
    };
    let (source, program) = (file(".c"), file(""));
    std::fs::write(&source, text).unwrap();
    let compiled =
        Command::new("cc").arg("-std=gnu11").arg(&source).arg("-o").arg(&program).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let status = Command::new(&program).status().unwrap();
    std::fs::remove_file(source).and_then(|()| std::fs::remove_file(program)).unwrap();
    assert!(status.success(), "line {:?} of\n{test}", status.code());
}

/// An empty queue is the end of a consume scope only if no processing element works on an element, which may push more.
#[test]
fn a_consume_scope_ends_when_nobody_works() {
    run(
        "consume",
        "int main(void) {
    sdfg_stream *stream = sdfg_stream_open(1, -1, 4);
    sdfg_scope scope = {0, 0};
    int32_t status = 0, element = 7, got = 0;
    int64_t taken = 0;
    CHECK(sdfg_stream_push(stream, 0, &element, 1, 4, NULL) == SDFG_SUCCESS);
    /* One processing element takes the only element; another one finds none. */
    CHECK(sdfg_consume(stream, 0, &scope, &got, 1, &taken, 0, 1, &status, NULL) == SDFG_TAKEN);
    CHECK(got == 7 && taken == 1 && scope.working == 1);
    CHECK(sdfg_consume(stream, 0, &scope, &got, 1, &taken, 0, 1, &status, NULL) == SDFG_AGAIN);
    /* The first one pushes another element, which the second one takes. */
    CHECK(sdfg_stream_push(stream, 0, &element, 1, 4, NULL) == SDFG_SUCCESS);
    CHECK(sdfg_consume(stream, 0, &scope, &got, 1, &taken, 0, 0, &status, NULL) == SDFG_TAKEN);
    /* With a condition, the last one to finish is told that no element will come; without, the scope ends. */
    CHECK(sdfg_consume(stream, 0, &scope, &got, 1, &taken, 1, 1, &status, NULL) == SDFG_AGAIN);
    CHECK(sdfg_consume(stream, 0, &scope, &got, 1, &taken, 1, 1, &status, NULL) == SDFG_STUCK);
    CHECK(sdfg_consume(stream, 0, &scope, &got, 1, &taken, 0, 0, &status, NULL) == SDFG_DONE && scope.stopped == 1);
    sdfg_stream_close(stream);
    return 0;
}
",
    );
}
