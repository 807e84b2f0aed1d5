//! Shared parts of the fuzz targets: conversion of inputs to programs, and the properties to check.
//!
//! The library is separate from the targets, so that the same code creates seeds and regression tests.

pub mod mutate;
pub mod programs;
pub mod property;

/// The properties. File tests of findings check them too.
#[path = "../../crates/filetest/src/survive.rs"]
mod survive;

/// Mutations of DaCe's documents. A test of the reader uses them too.
#[path = "../../crates/dace/tests/broken/change.rs"]
mod change;
