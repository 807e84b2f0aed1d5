//! Targets: the capabilities of a machine, and the limits that guide lowering.
//!
//! Only lowering reads a target. User options are separate ([`LowerOptions`](super::LowerOptions)).

use std::collections::BTreeSet;

use sdfg::dtype::ElementType;
use sdfg::ir::ConflictResolution;

use crate::plan::{LevelKind, Realisation, Space};

/// Bytes of the vectors that every 64-bit processor has: SSE2 on x86-64, Advanced SIMD on AArch64.
pub(crate) const BASELINE_VECTOR: u64 = 16;

/// Capabilities and limits of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its name in messages.
    pub name: &'static str,
    /// Levels that run loops.
    pub levels: BTreeSet<LevelKind>,
    /// Memories that code reaches.
    pub spaces: BTreeSet<Space>,
    /// Bytes of the largest number that one atomic step combines; what is larger takes a lock.
    pub atomic_bytes: u64,
    /// Bytes of vectors, ascending; none without vectors.
    pub vector_bytes: Vec<u64>,
    /// Bytes of the longest vector that every processor of the target moves and hands to functions whole. Longer vectors may be cut in
    /// pieces, in any order.
    pub register_bytes: u64,
    /// Memory near a thread.
    pub caches: Caches,
    /// Memory on the stack of a thread.
    pub stack: StackLimits,
    /// Distribution of work to threads.
    pub team: TeamLimits,
    /// Blocks of a device, if it has them.
    pub block: BlockLimits,
    /// Whether its device measures kernels and copies: then the host has no timers.
    pub measures_kernels: bool,
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
    /// Largest buffer there of which each thread of a team has its own.
    pub of_thread: u64,
}

/// Blocks of threads of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockLimits {
    /// The most threads of a block.
    pub threads: u32,
    /// Threads of a block whose loops have more iterations than that.
    pub usual_threads: u32,
    /// Threads that execute an instruction together: blocks have a multiple of them.
    pub together: u32,
    /// The most bytes that the threads of a block share.
    pub memory: u64,
}

/// Distribution of work to threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamLimits {
    /// Accumulators of a thread for one target whose elements code picks, so that neighbouring iterations do not wait for each other.
    pub private_copies: u32,
    /// Iterations around a thread's part that one pass serves: streams of memory that a processor follows at once.
    pub jam: u32,
    /// Chunks into which a loop is cut whose accumulators are combined in a fixed order: enough for the threads of a machine.
    pub chunks: u32,
    /// Iterations whose elements are moved on together when streams are emptied in a fixed order.
    pub piece: u32,
    /// The most elements that a processing element takes from a stream at a time.
    pub batch: u32,
}

impl Target {
    /// A multicore CPU with the vectors that every processor has. For the processor that code is compiled for, see
    /// `CompileOptions::target`.
    pub fn cpu() -> Self {
        Target {
            name: "cpu",
            levels: [LevelKind::Team, LevelKind::Vector, LevelKind::Sequential, LevelKind::Unrolled].into(),
            spaces: [Space::HostHeap, Space::Stack, Space::Constant].into(),
            atomic_bytes: 8,
            vector_bytes: vec![BASELINE_VECTOR],
            register_bytes: BASELINE_VECTOR,
            caches: Caches { first: 32 << 10, second: 1 << 20, line: 64 },
            // A page is small against any thread's stack.
            stack: StackLimits { transient: 4 << 10, of_thread: 16 << 10 },
            team: TeamLimits { private_copies: 8, jam: 4, chunks: 64, piece: 1 << 15, batch: 32 },
            // Every CUDA device has these limits, without requests for more.
            block: BlockLimits { threads: 1024, usual_threads: 256, together: 32, memory: 48 << 10 },
            measures_kernels: false,
        }
    }

    /// A multicore CPU with one CUDA device, for which source is printed. Vectors are left to the compiler of the source.
    pub fn cuda() -> Self {
        let mut target = Target { name: "CUDA device", measures_kernels: true, ..Target::cpu() };
        target.levels.extend([LevelKind::Grid, LevelKind::Block]);
        target.spaces.extend([Space::DeviceGlobal, Space::BlockShared, Space::Register]);
        target
    }

    /// A multicore CPU with one OpenCL device, for which source is printed. Blocks have what most devices have.
    pub fn opencl() -> Self {
        let block = BlockLimits { threads: 256, usual_threads: 128, together: 32, memory: 32 << 10 };
        Target { name: "OpenCL device", block, ..Target::cuda() }
    }

    /// Largest accumulator in bytes of which every thread gets its own copy; larger targets are combined atomically. It stays within
    /// half of a second-level cache.
    pub(super) fn private_bytes(&self) -> u64 {
        self.caches.second / 2
    }

    /// Implementation of the combination with elements that other threads also combine into: an atomic step
    /// for each lane or separately combined part, or a lock if there is no such step.
    pub(crate) fn realisation(&self, resolution: &ConflictResolution, element: ElementType) -> Realisation {
        let is_small = element.lane().component().size() as u64 <= self.atomic_bytes;
        if is_small && resolution.is_by_parts(element) { Realisation::Atomic } else { Realisation::Locked }
    }

    /// Largest accumulator in bytes with all of its private copies: they stay in half of a first-level cache.
    pub(super) fn replicated_bytes(&self) -> u64 {
        self.caches.first / 2
    }
}
