//! Tests that run hand-written plans through the whole back end.

mod arithmetic;
mod calls;
mod control;
mod files;
mod parallel;
mod parts;
mod plans;
mod quick;
mod references;
#[cfg(target_arch = "x86_64")]
mod versions;

use crate::load::{Call, CallError};

/// Runs the code of a plan of these tests.
fn trusted(call: Call<'_, '_>) -> Result<(), CallError> {
    // SAFETY: the plans of these tests access elements that their arguments have, each by one thread or atomically.
    unsafe { call.run() }
}
