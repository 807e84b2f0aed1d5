//! Native runs of programs that this repository trusts: the one place where its tests and benchmarks vouch for them.
//!
//! Each of these programs is run by the interpreter on the same arguments, or held against a formula. The functions are for this package alone,
//! which is not published; others call the unsafe functions themselves, or those that check.

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
pub fn again(call: &mut PreparedCall<'_, '_>) -> Result<(), CallError> {
    // SAFETY: see the head of this file.
    unsafe { call.run() }
}
