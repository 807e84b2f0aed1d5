//! Errors of writing a library.

use std::io;
use std::path::PathBuf;

/// Names for a message.
pub(crate) fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Why a file was not written. Nothing is left behind in that case.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// No linker on the machine.
    #[error("no linker was found (tried {}): install one (Debian: `apt-get install gcc` or `lld`), or name one in the variable SDFG_LINKER", tried.join(", "))]
    NoLinker {
        /// The programs that were tried.
        tried: Vec<String>,
    },
    /// A linker or C compiler that cannot be started.
    #[error("`{program}` could not be run: {source}")]
    NotRunnable {
        /// The program.
        program: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A linker or C compiler that reported an error.
    #[error("`{program}` failed ({status}):\n{messages}")]
    Failed {
        /// The program.
        program: String,
        /// Its exit status.
        status: std::process::ExitStatus,
        /// Its output.
        messages: String,
    },
    /// A linker that reported success, and wrote nothing.
    #[error("`{program}` wrote no library: name a linker or C compiler in the variable SDFG_LINKER")]
    NoOutput {
        /// The program.
        program: String,
    },
    /// No compiler for the C++ code of a program.
    #[error("the program has tasklets in C++, but no C++ compiler was found (tried {}): install one (Debian: `apt-get install g++`), or name one in the variable CXX", tried.join(", "))]
    NoCompiler {
        /// The programs that were tried.
        tried: Vec<String>,
    },
    /// Sources of external tasklets that do not compile.
    #[error("the C++ code of the program does not compile (`{program}`):\n{messages}")]
    Source {
        /// The compiler.
        program: String,
        /// Its output; positions are those in the code of the tasklets.
        messages: String,
    },
    /// Functions that nothing defines.
    #[error(
        "the program calls {}, which no library or source of its external tasklets defines: check the names of the functions and what stands behind `from`",
        quoted(symbols)
    )]
    MissingSymbols {
        /// The functions.
        symbols: Vec<String>,
    },
    /// A library that the linker does not find.
    #[error("the library {} was not found: install it, or add its folder to LIBRARY_PATH", quoted(names))]
    MissingLibrary {
        /// The names as a linker takes them.
        names: Vec<String>,
    },
    /// No OpenMP runtime to link with.
    #[error("the program has parallel regions, but no OpenMP runtime was found (looked for {} in {}): install gcc's (Debian: `apt-get install libgomp1`) or LLVM's (`libomp5`), or add its folder to LIBRARY_PATH", names.join(", "), folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", "))]
    NoOpenMp {
        /// File names that were looked for.
        names: Vec<&'static str>,
        /// The place.
        folders: Vec<PathBuf>,
    },
    /// The C or mathematics library is missing, which only matters to a bare linker.
    #[error("the system library {name} was not found: install the C library, or a C compiler to link with")]
    NoSystemLibrary {
        /// The file name.
        name: &'static str,
    },
    /// The file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}
