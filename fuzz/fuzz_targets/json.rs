//! Fuzz target of the JSON reader and writer: arbitrary documents.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sdfg_fuzz::property::document(data));
