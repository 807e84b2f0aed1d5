//! Public items for the other crates of this workspace only: `sdfg` does not re-export them, and they may change in
//! any version.

pub use crate::subset::image::Eliminations;
pub use crate::symbolic::proof_cache::{CacheMap, remembered};
