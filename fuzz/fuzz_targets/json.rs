//! The JSON reader and writer on any document.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sdfg_fuzz::property::document(data));
