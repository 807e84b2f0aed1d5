//! Set-up, tests, demo, benchmarks and tidy checks: `cargo xtask help`.
fn main() {}
