//! What the fuzz targets share: how inputs become programs, and what must hold of each.
//!
//! It is apart from the targets so that seeds and regression tests are made by the same code.

pub mod mutate;
pub mod programs;
pub mod property;

/// What must hold; the file tests have it, so that it runs on what was found, too.
#[path = "../../crates/sdfg/tests/filetests/survive.rs"]
mod survive;

/// Changes of DaCe's documents; a test of the reader has them, too.
#[path = "../../crates/dace/tests/broken/change.rs"]
mod change;
