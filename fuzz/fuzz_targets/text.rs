//! Fuzz target of the text parser and printer: arbitrary text.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sdfg_fuzz::property::text(data));
