//! Native runs of trusted programs: the single place where tests and benchmarks vouch for the safety of their
//! programs.
//!
//! The interpreter runs each of these programs on the same arguments, or a formula verifies its result. The
//! functions are for this unpublished package alone. Other callers use the unsafe functions directly, or the
//! checked ones.

use std::num::NonZeroU32;

use sdfg::interpret::Arguments;
use sdfg_codegen::load::{Call, CallError, Library, LoadError, PreparedCall};
use sdfg_codegen::object::ObjectCode;

/// Loads code, also with sources and libraries of external tasklets.
///
/// # Errors
/// As [`Library::load_external`].
pub fn load(object: &ObjectCode) -> Result<Library, LoadError> {
    // SAFETY: sources of tests have no constructors, and BLAS libraries may be loaded by any process.
    unsafe { Library::load_external(object) }
}

/// Runs a program on the arguments that the interpreter takes.
///
/// # Errors
/// As [`Library::run`].
pub fn run(
    library: &Library,
    arguments: &mut Arguments,
    threads: Option<NonZeroU32>,
) -> Result<(), CallError> {
    // SAFETY: see the head of this file.
    unsafe { library.run(arguments, threads) }
}

/// Runs a call.
///
/// # Errors
/// As [`Call::run`].
pub fn call(call: Call<'_, '_>) -> Result<(), CallError> {
    // SAFETY: see the head of this file.
    unsafe { call.run() }
}

/// Runs a call whose arguments were looked at.
///
/// # Errors
/// As [`PreparedCall::run`].
#[inline] // what a call takes is measured
pub fn run_prepared(call: &mut PreparedCall<'_, '_>) -> Result<(), CallError> {
    // SAFETY: see the head of this file.
    unsafe { call.run() }
}
