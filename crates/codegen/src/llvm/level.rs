//! Levels of x86-64, in ascending order of their instruction sets, for libraries with several versions.
//!
//! Levels are separate from other processor names because code can query at run time which levels the
//! processor supports. The ABI defines the contents of each level.

use std::fmt;

use super::error::LlvmError;

/// A level of the x86-64 ABI ("microarchitecture level").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Every x86-64 processor: SSE2.
    V1,
    /// Up to SSE4.2, about 2009.
    V2,
    /// Up to AVX2 and FMA, about 2015.
    V3,
    /// Up to AVX-512 (F, BW, CD, DQ, VL).
    V4,
}

impl Level {
    /// Every level, ascending.
    pub const ALL: [Level; 4] = [Level::V1, Level::V2, Level::V3, Level::V4];

    /// LLVM's name of it as a processor.
    pub const fn name(self) -> &'static str {
        match self {
            Level::V1 => "x86-64",
            Level::V2 => "x86-64-v2",
            Level::V3 => "x86-64-v3",
            Level::V4 => "x86-64-v4",
        }
    }

    /// The number that the runtime knows it by.
    pub(super) const fn number(self) -> u64 {
        match self {
            Level::V1 => 1,
            Level::V2 => 2,
            Level::V3 => 3,
            Level::V4 => 4,
        }
    }

    /// The level of this name.
    ///
    /// # Errors
    /// [`LlvmError::NoLevel`] for any other text, also a processor's name.
    pub fn named(name: &str) -> Result<Self, LlvmError> {
        let found = Level::ALL.into_iter().find(|level| level.name() == name);
        found.ok_or_else(|| LlvmError::NoLevel { name: name.to_owned() })
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
