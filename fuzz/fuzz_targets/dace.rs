//! Fuzz target of the DaCe reader: arbitrary bytes, and documents with mutated parts.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sdfg_fuzz::property::dace(data));
