//! C source, printed from plans: C11 with OpenMP; and CUDA and OpenCL source, which are the same with kernels. Kernels of OpenCL, and of CUDA by
//! way of its driver, are a text of the file, which a device runtime behind one C interface compiles and launches.
//!
//! `program` is the file that is being written, `function` one function of it; the other files write one family of the plan language each.
//! Where an operator of C means what the plan says, it is written; elsewhere the file has a small helper, defined before its first use.
//! Nothing is decided here: a plan is trusted.

mod arithmetic;
mod build;
mod callback;
mod check;
mod commands;
mod complex;
mod control;
mod convert;
mod cuda;
mod device;
mod dialect;
mod entry;
mod error;
mod expression;
mod fault;
mod float;
mod function;
mod index;
mod integers;
mod kernel;
mod loops;
mod memory;
mod names;
mod nvrtc;
mod opencl;
mod program;
mod push;
mod queue;
mod start;
mod stream;
mod task;
mod tasklet;
mod text;
mod types;
mod uses;
mod width;

#[cfg(test)]
mod tests;

use std::num::NonZeroU32;

use sdfg::ir::FloatMode;

use crate::plan::Plan;
pub use build::{BuildError, CCompiler};
pub use cuda::cuda_flags;
use dialect::Dialect;
pub use error::SourceError;
pub(crate) use integers::{IntegerFunction, integer_functions};
use program::{Parts, Program};
pub use sdfg_runtime::nvrtc::{Architecture, Image, ImageError, compile as compile_kernels};

/// Choices of one source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceOptions {
    /// The freedom in floating-point rounding; `None` is what the program says.
    pub floats: Option<FloatMode>,
    /// Threads of parallel regions when the caller's configuration names no number.
    pub threads: Option<NonZeroU32>,
    /// Architectures for which [`cuda_driver_source`] contains images of the kernels, which NVRTC makes.
    pub architectures: Vec<Architecture>,
}

/// One self-contained file of C11, which is C++17, too, with OpenMP pragmas. It defines the functions that the header declares
/// ([`c_header`](crate::header::c_header)). Its first lines name the flags that it needs.
///
/// # Errors
/// [`SourceError`] if the program has a name that C does not have, or something that C source does not support.
pub fn c_source(plan: &Plan, options: &SourceOptions) -> Result<String, SourceError> {
    file(plan, options, Dialect::C)
}

/// One self-contained file of CUDA C++, with the functions of [`c_source`] and a kernel for each loop of level grid. Its first
/// lines name the flags of `nvcc` that it needs. The plan is one for [`Target::cuda`](crate::lower::Target::cuda).
///
/// # Errors
/// As [`c_source`].
pub fn cuda_source(plan: &Plan, options: &SourceOptions) -> Result<String, SourceError> {
    file(plan, options, Dialect::Cuda)
}

/// One self-contained file of C11 with OpenMP pragmas, as [`c_source`], and a kernel in OpenCL C 1.2 for each loop of level grid. It
/// finds the driver of OpenCL when the program runs first, and needs no headers of it. The plan is one for
/// [`Target::opencl`](crate::lower::Target::opencl).
///
/// # Errors
/// As [`c_source`].
pub fn opencl_source(plan: &Plan, options: &SourceOptions) -> Result<String, SourceError> {
    file(plan, options, Dialect::OpenCl)
}

/// One self-contained file of C11 with OpenMP pragmas, as [`c_source`], and a text with a kernel in CUDA C++ for each loop of level grid.
/// It finds the driver of CUDA when the program runs first, and needs no headers of it; NVRTC compiles the kernels then, unless the file has an
/// image of them for the device ([`SourceOptions::architectures`]). The plan is one for [`Target::cuda`](crate::lower::Target::cuda).
///
/// # Errors
/// As [`c_source`], and [`SourceError::Image`] if NVRTC makes no image.
pub fn cuda_driver_source(plan: &Plan, options: &SourceOptions) -> Result<String, SourceError> {
    file(plan, options, Dialect::CudaDriver)
}

/// The kernels of [`cuda_driver_source`], and the options of NVRTC that they need besides the architecture.
///
/// # Errors
/// As [`c_source`].
pub fn cuda_kernels(plan: &Plan, options: &SourceOptions) -> Result<(String, &'static str), SourceError> {
    let interface = plan.interface()?;
    let floats = options.floats.unwrap_or(plan.float_mode);
    let program = Program::new(plan, floats, Dialect::CudaDriver);
    program.entries(&interface, options.threads.map_or(0, NonZeroU32::get))?;
    let constants = program.constants()?;
    Ok((nvrtc::kernels(&program.finish(), &constants).concat(), nvrtc::options(floats)))
}

fn file(plan: &Plan, options: &SourceOptions, dialect: Dialect) -> Result<String, SourceError> {
    let interface = plan.interface()?;
    let floats = options.floats.unwrap_or(plan.float_mode);
    let program = Program::new(plan, floats, dialect);
    let handle = program.handle();
    program.entries(&interface, options.threads.map_or(0, NonZeroU32::get))?;
    let mut constants = program.constants()?;
    let (has_threads, has_runtime) = (program.has_threads.get(), program.has_runtime.get());
    let mut parts = program.finish();
    let device = match dialect {
        Dialect::C => String::new(),
        Dialect::Cuda => {
            cuda::for_device(&mut parts.helpers, &mut constants, &mut parts.functions);
            String::new()
        }
        Dialect::OpenCl => opencl::device(floats, &parts, &constants),
        Dialect::CudaDriver => nvrtc::device(floats, &parts, &constants, &options.architectures)?,
    };
    let Parts { headers, helpers, functions, kernels: _ } = parts;
    let constants = needed(constants, functions.iter());
    let helpers = needed(helpers, constants.iter().chain(&functions).chain([&handle]));
    let mut text = match dialect {
        Dialect::Cuda => cuda::head(&plan.name, floats),
        Dialect::C | Dialect::OpenCl | Dialect::CudaDriver => head(&plan.name, floats, has_threads),
    };
    for header in headers {
        text.push_str(&format!("#include <{header}>\n"));
    }
    if has_threads {
        text.push_str("#include <omp.h>\n");
    }
    text.push_str(if dialect == Dialect::Cuda { cuda::MACROS } else { MACROS });
    if dialect.has_device_runtime() && plan.profile.is_some() {
        text.push_str("#define SDFG_DEVICE_PROFILE\n");
    }
    text.push_str(&device);
    if has_runtime {
        text.push_str(&part("Streams and tasks: what this program calls.", &[sdfg_runtime::C_HEADER]));
    }
    text.push_str(&handle);
    for part in helpers.iter().chain(&constants).chain(&functions) {
        text.push('\n');
        text.push_str(part);
    }
    if has_runtime {
        text.push_str(&part(
            "Streams and tasks: the functions that this program calls.",
            &sdfg_runtime::C_SOURCES,
        ));
    }
    Ok(text)
}

/// Sources of the runtime in one text, which includes no file of the runtime.
fn part(heading: &str, sources: &[&str]) -> String {
    let mut text = format!("\n/* {heading} */\n\n");
    for line in
        sources.iter().flat_map(|source| source.lines()).filter(|line| !line.starts_with("#include \""))
    {
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// Flags of gcc and clang that the source of a program needs, besides the level of optimisation.
pub fn c_flags(floats: FloatMode) -> Vec<&'static str> {
    let arithmetic = match floats {
        FloatMode::Strict => "-ffp-contract=off",
        FloatMode::Contract => "-ffp-contract=fast",
        FloatMode::Fast => "-ffast-math",
    };
    // Memory is used for elements of several types, one after the other; no program looks at `errno`.
    vec!["-std=c11", "-fopenmp", arithmetic, "-fno-math-errno", "-fno-strict-aliasing"]
}

/// The helpers that something behind them names, in order.
fn needed<'t>(helpers: Vec<(String, String)>, users: impl Iterator<Item = &'t String>) -> Vec<String> {
    let mut named: std::collections::BTreeSet<String> =
        users.flat_map(|text| function::words(text)).map(str::to_owned).collect();
    let mut kept = Vec::new();
    for (name, text) in helpers.into_iter().rev() {
        if named.contains(&name) {
            named.extend(function::words(&text).into_iter().map(str::to_owned));
            kept.push(text);
        }
    }
    kept.reverse();
    kept
}

fn head(name: &str, floats: FloatMode, has_threads: bool) -> String {
    let flags = c_flags(floats).join(" ");
    let threads = if has_threads { "" } else { " It has no parallel loops." };
    format!(
        "/* The SDFG program `{name}`. Generated; do not edit.{threads}\n *\n * Flags that it needs, besides -O3 and -march: {flags} -lm\n * On x86-64 Linux, -fveclib=libmvec lets clang call mathematical functions of vectors.\n */\n#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n"
    )
}

const MACROS: &str = "
/* Conditions are the program's: some always hold. */
#pragma GCC diagnostic ignored \"-Wtautological-compare\"
#pragma GCC diagnostic ignored \"-Wtype-limits\"

#ifdef __cplusplus
#define SDFG_C extern \"C\"
#define SDFG_RESTRICT __restrict__
#define SDFG_ALIGNED(bytes) alignas(bytes)
#else
#define SDFG_C extern
#define SDFG_RESTRICT restrict
#define SDFG_ALIGNED(bytes) _Alignas(bytes)
#endif
#define SDFG_API SDFG_C
#define SDFG_NOINLINE __attribute__((noinline))

";
