//! A bounded sample of random programs; `cargo xtask random` runs as many as one likes.

use sdfg_programs::random::{Outcome, check};

#[test]
fn native_code_agrees_with_the_interpreter() {
    let mut agreed = 0;
    for seed in 1_000_000..1_000_060 {
        match check(seed) {
            Ok(Outcome::Agreed) => agreed += 1,
            Ok(Outcome::Trivial) => {}
            Err(failure) => panic!("{failure}"),
        }
    }
    assert!(agreed > 40, "only {agreed} of 60 programs depend on their inputs");
}
