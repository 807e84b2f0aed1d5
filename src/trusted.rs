//! Native runs of trusted programs: the single place where tests and benchmarks vouch for the safety of their
//! programs.
//!
//! The interpreter runs each of these programs on the same arguments, or a formula verifies its result. The
//! functions are for this unpublished package alone. Other callers use the unsafe functions directly, or the
//! checked ones.

#[path = "../tests/cuda/stand_ins.rs"]
mod stand_ins;

use std::num::NonZeroU32;
use std::path::Path;
use std::process::Command;

use sdfg::interpret::Arguments;
use sdfg_codegen::NativeExternals;
use sdfg_codegen::load::{Call, CallError, Library, LoadError, PreparedCall};
use sdfg_codegen::mpi::Hooks;
use sdfg_codegen::object::ObjectCode;
use sdfg_codegen::plan::Plan;
use sdfg_codegen::ranks::RankProgram;
use sdfg_codegen::source::{CCompiler, SourceOptions, cuda_source};

/// Loads code, also with sources and libraries of external tasklets.
///
/// # Errors
/// As [`Library::load_external`].
pub fn load(object: &ObjectCode) -> Result<Library, LoadError> {
    // SAFETY: sources of tests have no constructors, and BLAS libraries may be loaded by any process.
    unsafe { Library::load_external(object) }
}

/// Functions of external tasklets, for the interpreter.
pub fn externals() -> NativeExternals {
    // SAFETY: see the head of this file; a survey asks its user first (`--allow-external`).
    unsafe { NativeExternals::new(None) }
}

/// A compiler of C, on a machine that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiler {
    /// gcc.
    Gcc,
    /// clang of the same version as LLVM.
    Clang,
}

impl Compiler {
    /// Both.
    pub const ALL: [Compiler; 2] = [Compiler::Gcc, Compiler::Clang];

    /// The compiler for this machine's processor, without warnings.
    pub fn at_level(self, level: u8) -> CCompiler {
        let level = format!("-O{level}");
        let mut arguments =
            vec![level.as_str(), "-march=native", "-Wall", "-Wextra", "-Wconversion", "-Werror"];
        let command = match self {
            Compiler::Gcc => "gcc",
            Compiler::Clang => {
                // clang 19 warns of `native` on processors with AVX10.1.
                arguments.push("-Wno-invalid-feature-combination");
                "clang-19"
            }
        };
        CCompiler::new(command, &arguments)
    }
}

/// Loads the code of a plan by way of C source. A warning of the compiler is an error.
///
/// # Errors
/// The failed step: printing, compiling with the compiler's messages, or loading.
pub fn through_c(plan: &Plan, compiler: Compiler) -> Result<Library, String> {
    // SAFETY: see the head of this file.
    unsafe { compiler.at_level(2).load(plan, &SourceOptions::default()) }
        .map_err(|error| format!("by way of C: {error}"))
}

/// Buffers of tests have more elements or fewer, so that kernels with indices of 32 bits and of 64 bits run.
const NARROW_ELEMENTS: &str = "-DSDFG_NARROW_ELEMENTS=12";

/// Loads the code of a plan for [`Target::cuda`](sdfg_codegen::lower::Target::cuda) by way of CUDA source. Its kernels run on
/// threads of this processor: `tests/cuda/cuda_runtime.h` stands for CUDA. A warning of the compiler is an error.
///
/// # Errors
/// The failed step: printing, compiling with the compiler's messages, or loading.
pub fn through_cuda(plan: &Plan) -> Result<Library, String> {
    let text = cuda_source(plan, &SourceOptions::default()).map_err(|error| format!("to CUDA: {error}"))?;
    let interface = plan.interface().map_err(|error| error.to_string())?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (source, library) = (folder.path().join("program.cu"), folder.path().join("libprogram.so"));
    std::fs::write(&source, &text).map_err(|error| error.to_string())?;
    let stand_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda");
    let mut command = Command::new("g++");
    command.args([
        "-shared",
        "-fPIC",
        "-O0",
        "-std=c++17",
        "-fopenmp",
        "-ffp-contract=off",
        "-fno-strict-aliasing",
        NARROW_ELEMENTS,
    ]);
    command.args([
        "-Wall",
        "-Wextra",
        "-Wno-unknown-pragmas",
        "-Wno-tautological-compare",
        "-Werror",
        "-x",
        "c++",
    ]);
    command.arg(&source).arg("-isystem").arg(&stand_in).arg("-o").arg(&library);
    let output = command.output().map_err(|error| format!("g++: {error}"))?;
    if !output.status.success() {
        return Err(format!("by way of CUDA: {}\n{text}", String::from_utf8_lossy(&output.stderr)));
    }
    // SAFETY: see the head of this file; the file was just made for this interface.
    unsafe { Library::open(&library, interface) }.map_err(|error| error.to_string())
}

/// Loads the code of a plan for [`Target::opencl`](sdfg_codegen::lower::Target::opencl) by way of OpenCL source: gcc compiles the
/// host's part, and the driver of OpenCL the kernels, when the program runs first. A warning of gcc is an error.
///
/// # Errors
/// The failed step: printing, compiling with the compiler's messages, or loading.
pub fn through_opencl(plan: &Plan) -> Result<Library, String> {
    let compiler = CCompiler::new(
        "gcc",
        &["-O0", "-Wall", "-Wextra", "-Werror", NARROW_ELEMENTS, "-DSDFG_DEVICE_CACHE=\"\""],
    )
    .with_opencl();
    // SAFETY: see the head of this file.
    unsafe { compiler.load(plan, &SourceOptions::default()) }
        .map_err(|error| format!("by way of OpenCL: {error}"))
}

/// Loads the code of a plan for [`Target::cuda`](sdfg_codegen::lower::Target::cuda) by way of C source that calls the driver of CUDA. The
/// driver and NVRTC are stand-ins, which run the kernels on threads of this processor (`tests/cuda`). A warning of gcc is an error, also
/// in the kernels. Nothing is kept in the cache.
///
/// # Errors
/// The failed step: building a stand-in, printing, compiling with the compiler's messages, or loading.
pub fn through_cuda_driver(plan: &Plan) -> Result<Library, String> {
    with_stand_ins(|compiler| {
        // SAFETY: see the head of this file.
        unsafe { compiler.load(plan, &SourceOptions::default()) }
            .map_err(|error| format!("by way of the driver of CUDA: {error}"))
    })
}

/// Writes the shared library of [`through_cuda_driver`] to a file.
///
/// # Errors
/// As [`through_cuda_driver`].
pub fn library_through_cuda_driver(plan: &Plan, path: &Path) -> Result<(), String> {
    with_stand_ins(|compiler| {
        compiler
            .shared_library(plan, &SourceOptions::default(), path)
            .map_err(|error| format!("by way of the driver of CUDA: {error}"))
    })
}

/// The library that stands for the driver of CUDA.
///
/// # Errors
/// The messages of the compiler.
pub fn stand_in_for_the_cuda_driver() -> Result<std::path::PathBuf, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda");
    Ok(stand_ins::StandIns::built(&folder)?.driver)
}

/// Calls a function with a compiler whose programs use the stand-ins for CUDA.
fn with_stand_ins<T>(build: impl FnOnce(CCompiler) -> Result<T, String>) -> Result<T, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda");
    let stand_ins = stand_ins::StandIns::built(&folder)?;
    let definitions = [
        format!("-DSDFG_CUDA_DRIVER=\"{}\"", stand_ins.driver.display()),
        format!("-DSDFG_NVRTC=\"{}\"", stand_ins.nvrtc.display()),
    ];
    let mut arguments =
        vec!["-O0", "-Wall", "-Wextra", "-Werror", NARROW_ELEMENTS, "-DSDFG_DEVICE_CACHE=\"\""];
    arguments.extend(definitions.iter().map(String::as_str));
    build(CCompiler::new("gcc", &arguments).with_cuda())
}

/// Runs a program on the arguments that the interpreter takes.
///
/// # Errors
/// As [`Library::run`].
pub fn run(
    library: &Library,
    arguments: &mut Arguments,
    threads: Option<NonZeroU32>,
) -> Result<(), CallError> {
    // SAFETY: see the head of this file.
    unsafe { library.run(arguments, threads) }
}

/// Runs a call.
///
/// # Errors
/// As [`Call::run`].
pub fn call(call: Call<'_, '_>) -> Result<(), CallError> {
    // SAFETY: see the head of this file.
    unsafe { call.run() }
}

/// Runs a call with checked arguments.
///
/// # Errors
/// As [`PreparedCall::run`].
#[inline] // what a call takes is measured
pub fn run_prepared(call: &mut PreparedCall<'_, '_>) -> Result<(), CallError> {
    // SAFETY: see the head of this file.
    unsafe { call.run() }
}

/// Starts a call with checked arguments on the default stream of the device, and waits for it.
///
/// # Errors
/// As [`PreparedCall::start`].
pub fn start(call: &mut PreparedCall<'_, '_>) -> Result<(), CallError> {
    // SAFETY: see the head of this file; the default stream is null.
    unsafe { call.start(std::ptr::null_mut()) }?.wait()
}

/// Runs the program of a rank on one thread.
///
/// # Errors
/// As [`RankProgram::run`].
pub fn run_on_rank(
    program: &RankProgram,
    library: &Library,
    hooks: &Hooks<'_>,
    local: &mut Arguments,
) -> Result<(), String> {
    // SAFETY: see the head of this file.
    let ended = unsafe { program.run(library, hooks, local, |call| call.threads(NonZeroU32::MIN)) };
    ended.map_err(|error| error.to_string())
}

/// The whole arguments after a run, on every rank.
///
/// # Errors
/// As [`RankProgram::gather`].
pub fn gather(
    program: &RankProgram,
    hooks: &Hooks<'_>,
    whole: &Arguments,
    local: &Arguments,
) -> Result<Arguments, String> {
    // SAFETY: the callers made the local arguments of these for the rank of the hooks.
    unsafe { program.gather(hooks, whole, local) }.map_err(|error| error.to_string())
}
