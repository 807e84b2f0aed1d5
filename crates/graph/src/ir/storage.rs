//! Memory and lifetime of containers.

/// The memory that holds a container (paper section 3.1: "tied to a specific storage location").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Storage {
    /// Chosen by the scope that the container is used in: registers for small transients in a thread, heap otherwise.
    #[default]
    Default,
    /// Registers of one thread; indices must be constant after unrolling.
    Register,
    /// Pageable memory of the host.
    CpuHeap,
    /// One copy for every host thread.
    CpuThreadLocal,
    /// Page-locked memory of the host, reachable by devices.
    CpuPinned,
    /// Global memory of a GPU.
    GpuGlobal,
    /// Memory shared by the threads of one GPU block.
    GpuShared,
    /// Off-chip memory of an FPGA.
    FpgaGlobal,
    /// On-chip memory of an FPGA.
    FpgaLocal,
    /// Registers of an FPGA.
    FpgaRegister,
    /// A file on disk, mapped while the program runs.
    File,
}

impl Storage {
    /// Every storage, in order of declaration.
    pub const ALL: [Storage; 11] = [
        Storage::Default,
        Storage::Register,
        Storage::CpuHeap,
        Storage::CpuThreadLocal,
        Storage::CpuPinned,
        Storage::GpuGlobal,
        Storage::GpuShared,
        Storage::FpgaGlobal,
        Storage::FpgaLocal,
        Storage::FpgaRegister,
        Storage::File,
    ];

    /// The name in text programs and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Storage::Default => "default",
            Storage::Register => "register",
            Storage::CpuHeap => "cpu_heap",
            Storage::CpuThreadLocal => "cpu_thread_local",
            Storage::CpuPinned => "cpu_pinned",
            Storage::GpuGlobal => "gpu_global",
            Storage::GpuShared => "gpu_shared",
            Storage::FpgaGlobal => "fpga_global",
            Storage::FpgaLocal => "fpga_local",
            Storage::FpgaRegister => "fpga_register",
            Storage::File => "file",
        }
    }
}

/// Lifetimes of transients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Lifetime {
    /// From entering the innermost scope that holds all its uses until leaving it.
    #[default]
    Scope,
    /// One execution of the state that uses it.
    State,
    /// One call of the SDFG that declares it.
    Sdfg,
    /// As long as the compiled program's handle: contents survive from call to call.
    Persistent,
    /// Allocated by the caller.
    External,
}

impl Lifetime {
    /// Every lifetime, in order of declaration.
    pub const ALL: [Lifetime; 5] =
        [Lifetime::Scope, Lifetime::State, Lifetime::Sdfg, Lifetime::Persistent, Lifetime::External];

    /// The name in text programs and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Lifetime::Scope => "scope",
            Lifetime::State => "state",
            Lifetime::Sdfg => "sdfg",
            Lifetime::Persistent => "persistent",
            Lifetime::External => "external",
        }
    }
}
