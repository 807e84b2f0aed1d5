//! Items for the other crates of the workspace. `sdfg` does not re-export them, and they may change at any time.

pub use crate::subset::image::Eliminations;
pub use crate::symbolic::proof_cache::{CacheMap, with_proof_cache};
