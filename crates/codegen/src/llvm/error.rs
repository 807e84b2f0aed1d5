//! Errors between a plan and an object file.

use inkwell::builder::BuilderError;

use super::level::Level;
use crate::interface::InterfaceError;

/// Why LLVM produced no code.
#[derive(Debug, thiserror::Error)]
pub enum LlvmError {
    /// The machine's architecture is not one that code is generated for.
    #[error("native code can be generated on x86_64 and aarch64 machines; this one is `{triple}`")]
    UnsupportedHost {
        /// LLVM's target triple of this machine.
        triple: String,
    },
    /// A processor that LLVM does not know, or that has no 64-bit code.
    #[error("`{name}` is not a processor that code can be generated for: expected host, {}", known.join(", "))]
    UnknownCpu {
        /// The name.
        name: String,
        /// The names that LLVM knows.
        known: Vec<String>,
    },
    /// One of several processors that is no level of x86-64.
    #[error(
        "`{name}` cannot be one of several processors, as code cannot tell at run time whether it has it: expected {}",
        Level::ALL.map(Level::name).join(", ")
    )]
    NoLevel {
        /// The given value.
        name: String,
    },
    /// Levels of x86-64 on another architecture, or none.
    #[error(
        "code for several levels of x86-64 needs at least one of them and an x86-64 machine; this one is `{triple}`"
    )]
    NoLevels {
        /// LLVM's target triple of this machine.
        triple: String,
    },
    /// A feature that cannot be added or removed.
    #[error("`{feature}` is not a processor feature to add or remove: expected a list as in `+avx2,-fma`")]
    UnknownFeature {
        /// The feature with its sign.
        feature: String,
    },
    /// A feature without which there is no code.
    #[error("`{feature}` cannot be removed: 64-bit code needs it")]
    RequiredFeature {
        /// The feature with its sign.
        feature: String,
    },
    /// LLVM made no code generator for the target.
    #[error("LLVM has no code generator for `{triple}`: {message}")]
    NoTarget {
        /// LLVM's target triple of this machine.
        triple: String,
        /// LLVM's words.
        message: String,
    },
    /// The program's signature has no form in C.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// The plan asks for something that this back end cannot do.
    #[error("the CPU back end does not support {what}")]
    Unsupported {
        /// The construct, as in "pipes between kernels".
        what: String,
    },
    /// The emitted instructions do not fit together: a defect of the emitter, not of the program.
    #[error("internal defect: malformed LLVM IR for `{program}`: {message}")]
    Malformed {
        /// The program's name.
        program: String,
        /// LLVM's words.
        message: String,
    },
    /// An optimisation pass failed.
    #[error("LLVM's optimiser failed on `{program}`: {message}")]
    Passes {
        /// The program's name.
        program: String,
        /// LLVM's words.
        message: String,
    },
    /// No machine code could be written.
    #[error("LLVM wrote no machine code for `{program}`: {message}")]
    Emission {
        /// The program's name.
        program: String,
        /// LLVM's words.
        message: String,
    },
}

impl From<BuilderError> for LlvmError {
    fn from(error: BuilderError) -> Self {
        LlvmError::Malformed { program: "this program".to_owned(), message: error.to_string() }
    }
}
