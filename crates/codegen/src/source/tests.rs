//! Source of small plans. That compilers take it and that it computes the same is tested with whole programs.

use super::*;

#[test]
fn flags_follow_the_mode() {
    assert!(c_flags(FloatMode::Strict).contains(&"-ffp-contract=off"));
    assert!(c_flags(FloatMode::Fast).contains(&"-ffast-math"));
}
