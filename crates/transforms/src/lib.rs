//! Graph transformations, chains and the strategy search.
#![forbid(unsafe_code)]

pub mod strategy;
