//! How a scope's iterations are carried out.

use crate::symbolic::Expr;

/// What runs the iterations of a map or the processing elements of a consume scope (paper section 3.3).
///
/// The iterations are concurrent by meaning; a schedule chooses how a target carries them out and never changes results
/// of a program that is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Schedule {
    /// Threads of the host at the outermost level, sequential inside.
    #[default]
    Default,
    /// One after the other.
    Sequential,
    /// Copied out, one body for each iteration.
    Unrolled,
    /// Lanes of a vector unit.
    Simd,
    /// Threads of the host (OpenMP).
    CpuMulticore,
    /// Blocks of a GPU kernel.
    GpuGrid,
    /// Threads of one GPU block.
    GpuBlock,
    /// A kernel of an FPGA.
    FpgaDevice,
    /// Processing elements of an FPGA, side by side.
    FpgaReplicated,
    /// Ranks of a distributed program.
    Mpi,
}

impl Schedule {
    /// Every schedule, in order of declaration.
    pub const ALL: [Schedule; 10] = [
        Schedule::Default,
        Schedule::Sequential,
        Schedule::Unrolled,
        Schedule::Simd,
        Schedule::CpuMulticore,
        Schedule::GpuGrid,
        Schedule::GpuBlock,
        Schedule::FpgaDevice,
        Schedule::FpgaReplicated,
        Schedule::Mpi,
    ];

    /// The name in text programs and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Schedule::Default => "default",
            Schedule::Sequential => "sequential",
            Schedule::Unrolled => "unrolled",
            Schedule::Simd => "simd",
            Schedule::CpuMulticore => "cpu_multicore",
            Schedule::GpuGrid => "gpu_grid",
            Schedule::GpuBlock => "gpu_block",
            Schedule::FpgaDevice => "fpga_device",
            Schedule::FpgaReplicated => "fpga_replicated",
            Schedule::Mpi => "mpi",
        }
    }
}

/// How OpenMP hands iterations to threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Sharing {
    /// Equal parts, fixed before the loop.
    #[default]
    Static,
    /// Chunks, taken when a thread is free.
    Dynamic,
    /// Chunks that shrink as the loop nears its end.
    Guided,
}

impl Sharing {
    /// Every kind of sharing, in order of declaration.
    pub const ALL: [Sharing; 3] = [Sharing::Static, Sharing::Dynamic, Sharing::Guided];

    /// The name in text programs and JSON, and OpenMP's.
    pub const fn name(self) -> &'static str {
        match self {
            Sharing::Static => "static",
            Sharing::Dynamic => "dynamic",
            Sharing::Guided => "guided",
        }
    }
}

/// Details of a multicore schedule; the default leaves them to the compiler.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Parallelism {
    /// How iterations are handed out.
    pub sharing: Sharing,
    /// Iterations handed out at a time.
    pub chunk: Option<Expr>,
    /// Number of threads.
    pub threads: Option<Expr>,
    /// How many of the leading map dimensions form the shared iteration space; `None` leaves it to the compiler.
    pub collapse: Option<u32>,
}
