//! Run-time support for generated code, behind a C ABI: streams, processing elements, waiting tasks, timers,
//! processor detection and communication.
//!
//! The sources are C (`src/c`), because they become part of compiled libraries, which are used without any
//! Rust toolchain. This crate embeds the object files as bytes. The in-process loader receives them, or the
//! linker adds them to libraries on disk. `src/c/runtime.h` and `src/c/profile.h` describe the functions.
//!
//! Communication (`src/mpi`) is the exception: this crate embeds its sources, because only the machine where a
//! program runs knows its MPI.

/// A tool of LLVM and gcc that finds faults while a program runs, for which code has to be instrumented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sanitizer {
    /// AddressSanitizer: accesses outside of memory that is there.
    Address,
    /// ThreadSanitizer: accesses of several threads that nothing orders.
    Thread,
}

/// The object files of the runtime with their names, in the format of the host.
///
/// A program needs all of them if it needs any of their functions. Their symbols are weak and hidden, so several copies in one process do not meet.
pub const fn objects(sanitizer: Option<Sanitizer>) -> [(&'static str, &'static [u8]); 2] {
    match sanitizer {
        None => [
            ("stream", include_bytes!(env!("SDFG_RUNTIME_STREAM"))),
            ("task", include_bytes!(env!("SDFG_RUNTIME_TASK"))),
        ],
        Some(Sanitizer::Address) => [
            ("stream", include_bytes!(env!("SDFG_RUNTIME_ADDRESS_STREAM"))),
            ("task", include_bytes!(env!("SDFG_RUNTIME_ADDRESS_TASK"))),
        ],
        Some(Sanitizer::Thread) => [
            ("stream", include_bytes!(env!("SDFG_RUNTIME_THREAD_STREAM"))),
            ("task", include_bytes!(env!("SDFG_RUNTIME_THREAD_TASK"))),
        ],
    }
}

/// The object file of the timers, in the same way: only programs that are timed need it.
pub const fn profile(sanitizer: Option<Sanitizer>) -> (&'static str, &'static [u8]) {
    let bytes: &[u8] = match sanitizer {
        None => include_bytes!(env!("SDFG_RUNTIME_PROFILE")),
        Some(Sanitizer::Address) => include_bytes!(env!("SDFG_RUNTIME_ADDRESS_PROFILE")),
        Some(Sanitizer::Thread) => include_bytes!(env!("SDFG_RUNTIME_THREAD_PROFILE")),
    };
    ("profile", bytes)
}

/// The object file that knows which version of a program the processor runs: only programs with several need it, and it has
/// nothing that a sanitizer would look at.
pub const PROCESSOR: (&str, &[u8]) = ("processor", include_bytes!(env!("SDFG_RUNTIME_PROCESSOR")));

/// The C sources of a device by way of OpenCL, for generated source that launches kernels, in an order in which they can stand in one
/// file. They include headers of the C library and of POSIX, and each other with quotes, and all their functions are static.
pub const OPENCL_SOURCES: [&str; 3] =
    [include_str!("device/common.h"), include_str!("device/cache.h"), include_str!("opencl/device.c")];

/// As [`OPENCL_SOURCES`], a device by way of the driver of CUDA.
pub const CUDA_SOURCES: [&str; 4] = [
    include_str!("device/common.h"),
    include_str!("cuda/nvrtc.h"),
    include_str!("device/cache.h"),
    include_str!("cuda/device.c"),
];

/// Device queues as C11 and C++17, for generated source whose kernels push to streams: `src/device/queue.h`. Its first lines name the
/// definitions that it needs.
pub const QUEUE_SOURCE: &str = include_str!("device/queue.h");

/// The declarations of streams and tasks as C11 or C++17, for generated source that calls them: `src/c/runtime.h`.
pub const C_HEADER: &str = include_str!("c/runtime.h");

/// The C sources of streams and tasks behind [`C_HEADER`], in an order in which they can stand in one file. They include each other's headers
/// with quotes, and those of the C library.
pub const C_SOURCES: [&str; 4] = [
    include_str!("c/task.h"),
    include_str!("c/stack.h"),
    include_str!("c/stream.c"),
    include_str!("c/task.c"),
];

/// The sources of communication with their file names, in C11: `sdfg_mpi.c`, which is compiled by the `mpicc` of a machine, and the
/// headers that it includes from its folder. `sdfg_mpi.h` describes the interface.
pub const MPI_SOURCES: [(&str, &str); 5] = [
    ("sdfg_mpi.c", include_str!("mpi/sdfg_mpi.c")),
    ("sdfg_mpi.h", include_str!("mpi/sdfg_mpi.h")),
    ("elements.h", include_str!("mpi/elements.h")),
    ("shape.h", include_str!("mpi/shape.h")),
    ("move.h", include_str!("mpi/move.h")),
];

/// The C11 source of instances, parts and runs of a distributed program, which generated libraries include behind their tables: see its
/// first lines.
pub const RANKED_SOURCE: &str = include_str!("mpi/ranked.h");

pub mod nvrtc;
#[cfg(test)]
mod tests;
