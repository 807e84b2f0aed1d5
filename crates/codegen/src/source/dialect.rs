//! Languages of source files: the spellings of what kernels and their launches have in each.

/// The language of a file, and of its kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// C without kernels.
    C,
    /// CUDA's C++.
    Cuda,
    /// C, with kernels in OpenCL C 1.2 as text.
    OpenCl,
    /// C, with kernels in CUDA's C++ as text.
    CudaDriver,
}

impl Dialect {
    /// Whether programs have kernels.
    pub(super) const fn has_kernels(self) -> bool {
        matches!(self, Dialect::Cuda | Dialect::OpenCl | Dialect::CudaDriver)
    }

    /// Whether the threads of a warp exchange values without memory.
    pub(super) const fn has_warps(self) -> bool {
        matches!(self, Dialect::Cuda | Dialect::CudaDriver)
    }

    /// Whether kernels are a text of their own, which a device runtime of the file compiles and launches.
    pub(super) const fn has_device_runtime(self) -> bool {
        matches!(self, Dialect::OpenCl | Dialect::CudaDriver)
    }

    /// The position of a thread in its block.
    pub(super) fn thread(self, axis: usize) -> String {
        match self {
            Dialect::OpenCl => format!("(uint)get_local_id({axis})"),
            Dialect::C | Dialect::Cuda | Dialect::CudaDriver => format!("threadIdx.{}", letter(axis)),
        }
    }

    /// The position of a block in its grid, in a type.
    pub(super) fn block(self, axis: usize, ty: &str) -> String {
        match self {
            Dialect::OpenCl => format!("({ty})get_group_id({axis})"),
            Dialect::C | Dialect::Cuda | Dialect::CudaDriver => format!("({ty})blockIdx.{}", letter(axis)),
        }
    }

    /// The number of threads of a block, in a type.
    pub(super) fn threads(self, axis: usize, ty: &str) -> String {
        match self {
            Dialect::OpenCl => format!("({ty})get_local_size({axis})"),
            Dialect::C | Dialect::Cuda | Dialect::CudaDriver => format!("blockDim.{}", letter(axis)),
        }
    }

    /// The number of blocks of a grid, in a type.
    pub(super) fn blocks(self, axis: usize, ty: &str) -> String {
        match self {
            Dialect::OpenCl => format!("({ty})get_num_groups({axis})"),
            Dialect::C | Dialect::Cuda | Dialect::CudaDriver => format!("({ty})gridDim.{}", letter(axis)),
        }
    }

    /// The statement at which the threads of a block wait for each other.
    pub(super) const fn barrier(self) -> &'static str {
        match self {
            Dialect::OpenCl => "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
            Dialect::C | Dialect::Cuda | Dialect::CudaDriver => "__syncthreads();",
        }
    }

    /// The declaration of memory that the threads of a block share, before its type.
    pub(super) const fn shared(self) -> &'static str {
        match self {
            Dialect::OpenCl => "__local",
            Dialect::C | Dialect::Cuda | Dialect::CudaDriver => "SDFG_ALIGNED(64) __shared__",
        }
    }

    /// The word before the type to which a parameter of a kernel points.
    pub(super) const fn global(self) -> &'static str {
        match self {
            Dialect::OpenCl => "__global ",
            Dialect::C | Dialect::Cuda | Dialect::CudaDriver => "",
        }
    }

    /// The heading of a kernel, before its parameters; `threads` is the number of threads of a block, if it is fixed.
    pub(super) fn kernel(self, name: &str, threads: Option<u32>) -> String {
        let threads = match (self, threads) {
            (_, None) => String::new(),
            (Dialect::OpenCl, Some(threads)) => {
                format!("__attribute__((reqd_work_group_size({threads}, 1, 1))) ")
            }
            (Dialect::C | Dialect::Cuda | Dialect::CudaDriver, Some(threads)) => {
                format!("__launch_bounds__({threads}) ")
            }
        };
        match self {
            Dialect::OpenCl => format!("__kernel {threads}void {name}"),
            Dialect::C | Dialect::Cuda => format!("static __global__ void {threads}{name}"),
            // The host finds it by its name.
            Dialect::CudaDriver => format!("extern \"C\" __global__ void {threads}{name}"),
        }
    }

    /// Words with a meaning in the language, which C does not reserve.
    pub(super) const fn reserved(self) -> &'static [&'static str] {
        match self {
            Dialect::OpenCl => OF_OPENCL,
            Dialect::C | Dialect::Cuda | Dialect::CudaDriver => &[],
        }
    }
}

const fn letter(axis: usize) -> &'static str {
    match axis {
        0 => "x",
        1 => "y",
        _ => "z",
    }
}

/// Keywords, scalar types, and functions of OpenCL C that are not those of C.
const OF_OPENCL: &[&str] = &[
    "kernel",
    "global",
    "local",
    "constant",
    "private",
    "generic",
    "read_only",
    "write_only",
    "read_write",
    "uniform",
    "pipe",
    "half",
    "quad",
    "complex",
    "imaginary",
    "uchar",
    "ushort",
    "uint",
    "ulong",
    "event_t",
    "sampler_t",
    "queue_t",
    "clk_event_t",
    "ndrange_t",
    "reserve_id_t",
    "vec_step",
    "barrier",
    "mem_fence",
    "handle",
    "device",
    "select",
    "mix",
    "step",
    "clamp",
    "sign",
    "dot",
    "cross",
    "length",
    "distance",
    "normalize",
    "degrees",
    "radians",
    "smoothstep",
    "rotate",
    "popcount",
    "clz",
    "ctz",
    "hadd",
    "rhadd",
    "mad",
    "mad24",
    "mul24",
    "mad_hi",
    "mul_hi",
    "mad_sat",
    "add_sat",
    "sub_sat",
    "abs_diff",
    "upsample",
    "any",
    "all",
    "bitselect",
    "shuffle",
    "shuffle2",
    "min",
    "max",
    "abs",
    "rsqrt",
    "rootn",
    "pown",
    "powr",
    "sinpi",
    "cospi",
    "tanpi",
    "asinpi",
    "acospi",
    "atanpi",
    "atan2pi",
    "fract",
    "maxmag",
    "minmag",
    "nan",
    "exp10",
    "ilogb",
    "logb",
    "prefetch",
    "printf",
];
