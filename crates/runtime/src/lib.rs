//! What generated code calls, behind a C ABI.
