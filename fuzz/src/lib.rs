//! Shared parts of the fuzz targets: conversion of inputs to programs, and the properties to check.
//!
//! The library is separate from the targets, so that the same code creates seeds and regression tests.

pub mod mutate;
pub mod programs;
pub mod property;

/// What must hold; the file tests have it, so that it runs on what was found, too.
#[path = "../../crates/filetest/src/survive.rs"]
mod survive;

/// Changes of DaCe's documents; a test of the reader has them, too.
#[path = "../../crates/dace/tests/broken/change.rs"]
mod change;
