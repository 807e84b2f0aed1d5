//! The reader of DaCe's files: any bytes, and documents whose parts are changed.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sdfg_fuzz::property::dace(data));
