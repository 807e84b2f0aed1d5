//! Communication between ranks: the library that compiled programs call, and the start of ranks.
//!
//! `sdfg-runtime` has the sources of the library in C. Their interface is our own, so generated code depends on
//! no MPI. [`Mpi`] finds the MPI of the machine, compiles the sources once and keeps the result in the cache.
//! [`Launcher`] starts a program on several ranks. [`Move`] gives the words by which generated code describes a
//! redistribution. [`Context`] calls the library from Rust ([decision 17](../../../../docs/adr/0017-mpi.md)).

mod compiler;
mod context;
mod hooks;
mod launch;
mod received;
mod words;

use std::path::PathBuf;

use crate::link::LinkError;

pub use compiler::{COMPILER_VARIABLE, Implementation, Mpi, MpiLibrary};
pub use context::{Communicator, Context};
pub use hooks::{Counters, Hooks, MoveKind, MovesBegun};
pub use launch::{LAUNCHER_VARIABLE, Launcher, ranks_of_environment};
pub(crate) use words::type_code;
pub use words::{Combination, Dimension, Elements, Flags, Move, Side};

/// Why a program cannot communicate on this machine.
#[derive(Debug, thiserror::Error)]
pub enum MpiError {
    /// No MPI to compile with.
    #[error(
        "no MPI was found (tried {}): install one (Debian: `apt-get install libopenmpi-dev openmpi-bin`), or name its C compiler in the variable SDFG_MPICC",
        tried.join(", ")
    )]
    NoCompiler {
        /// The programs that were tried.
        tried: Vec<String>,
    },
    /// An MPI without the program that starts ranks.
    #[error(
        "no program that starts MPI's ranks was found (tried {}): install it (Debian: `apt-get install openmpi-bin`), or name it in the variable SDFG_MPIRUN",
        tried.join(", ")
    )]
    NoLauncher {
        /// The programs that were tried.
        tried: Vec<String>,
    },
    /// The compiler of MPI cannot be run, or does not compile the library.
    #[error("the library of communication cannot be built: {0}")]
    Build(#[from] LinkError),
    /// A file of the library cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The library cannot be opened.
    #[error("cannot open the library of communication {}: {source}", path.display())]
    Load {
        /// The file.
        path: PathBuf,
        /// The loader's reason.
        source: libloading::Error,
    },
    /// A call of the library failed, on all ranks.
    #[error("{message}")]
    Communication {
        /// Its status, one of those of compiled programs.
        status: i64,
        /// Its message.
        message: String,
    },
}
