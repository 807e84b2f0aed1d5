//! What generated code calls, behind a C ABI: streams, processing elements, tasks that wait for each other, and timers.
//!
//! The sources are C (`src/c`), because they become part of every compiled library that needs them, which no Rust toolchain ever sees. Their
//! objects are in this crate as bytes: they are handed to the loader in process, or linked to a library on disk.
//! `src/c/runtime.h` and `src/c/profile.h` describe the functions.

/// The object files of the runtime with their names, in the format of the host.
///
/// A program needs all of them if it needs any of their functions. Their symbols are weak and hidden, so several copies in one process do not meet.
pub const OBJECTS: [(&str, &[u8]); 2] = [
    ("stream", include_bytes!(env!("SDFG_RUNTIME_STREAM"))),
    ("task", include_bytes!(env!("SDFG_RUNTIME_TASK"))),
];

/// The object file of the timers, in the same way: only programs that are timed need it.
pub const PROFILE: (&str, &[u8]) = ("profile", include_bytes!(env!("SDFG_RUNTIME_PROFILE")));

#[cfg(test)]
mod tests;
