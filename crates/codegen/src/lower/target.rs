//! Targets: what a machine can do, and the limits by which lowering chooses.
//!
//! A target is read by lowering alone. What users choose about the code ([`LowerOptions`](super::LowerOptions)) is apart from it.

use std::collections::BTreeSet;

use crate::plan::LevelKind;

/// Bytes of the vectors that every 64-bit processor has: SSE2 on x86-64, Advanced SIMD on AArch64.
pub(crate) const BASELINE_VECTOR: u64 = 16;

/// Capabilities and limits of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// What messages call it.
    pub name: &'static str,
    /// Levels that run loops.
    pub levels: BTreeSet<LevelKind>,
    /// Bytes of vectors, ascending; none without vectors.
    pub vector_bytes: Vec<u64>,
    /// Memory near a thread.
    pub caches: Caches,
    /// Memory on the stack of a thread.
    pub stack: StackLimits,
    /// How work is cut up for threads.
    pub team: TeamLimits,
}

/// Memory near a thread, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caches {
    /// The first level.
    pub first: u64,
    /// The second level.
    pub second: u64,
    /// A line.
    pub line: u64,
}

/// Limits of memory on the stack, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackLimits {
    /// Largest transient that is put there.
    pub transient: u64,
}

/// How work is cut up for threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamLimits {
    /// The most elements that a processing element takes from a stream at a time.
    pub batch: u32,
}

impl Target {
    /// A multicore CPU with the vectors that every processor has. For the processor that code is compiled for, see
    /// `CompileOptions::target`.
    pub fn cpu() -> Self {
        Target {
            name: "cpu",
            levels: [LevelKind::Team, LevelKind::Sequential, LevelKind::Unrolled].into(),
            vector_bytes: vec![BASELINE_VECTOR],
            caches: Caches { first: 32 << 10, second: 1 << 20, line: 64 },
            // A page is small against any thread's stack.
            stack: StackLimits { transient: 4 << 10 },
            team: TeamLimits { batch: 32 },
        }
    }

    /// Largest accumulator in bytes of which every thread gets its own copy; larger targets are combined atomically. It stays within
    /// half of a second-level cache.
    pub(super) fn private_bytes(&self) -> u64 {
        self.caches.second / 2
    }

    /// Largest accumulator in bytes with all of its banks: they stay in half of a first-level cache.
    pub(super) fn banked_bytes(&self) -> u64 {
        self.caches.first / 2
    }
}
