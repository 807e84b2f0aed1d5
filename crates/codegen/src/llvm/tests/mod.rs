//! Plans written by hand, run through the whole back end.

mod arithmetic;
mod calls;
mod control;
mod files;
mod parallel;
mod plans;
mod quick;
mod references;
#[cfg(target_arch = "x86_64")]
mod versions;
