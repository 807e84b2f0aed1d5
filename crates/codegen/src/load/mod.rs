//! Loads object code or a library on disk into this process, and calls it with checked arguments.

mod buffer;
mod call;
mod error;
#[cfg(feature = "llvm")]
mod jit;
mod library;
mod openmp;
mod placement;
mod prepared;
mod queue;

pub use buffer::{ArgumentBuffer, Element};
pub use call::Call;
pub use error::{CallError, LoadError};
pub use library::Library;
pub(crate) use openmp::RUNTIMES as OPENMP_RUNTIMES;
#[cfg(feature = "llvm")]
pub use openmp::on_each_thread;
pub use prepared::{PreparedCall, Started};
