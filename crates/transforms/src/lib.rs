//! The strategy search over SDFGs.
#![forbid(unsafe_code)]

pub mod strategy;
