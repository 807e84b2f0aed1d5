//! Kernels of CUDA under NVRTC itself, which needs no GPU: every kernel that the programs here print compiles for `sm_80` and
//! `sm_90` without a message, by the functions with which compiled programs call NVRTC. The tests report that they are skipped on
//! a machine without NVRTC; the variable `SDFG_NVRTC` names its file, such as that of the Python package `nvidia-cuda-nvrtc-cu12`.

#![expect(clippy::print_stdout, reason = "a skipped test says so")]

use sdfg::interpret::Arguments;
use sdfg::ir::{FloatMode, Sdfg};
use sdfg::validate::{Validated, validate};
use sdfg_codegen::lower::{LowerError, LowerOptions, Target, lower};
use sdfg_codegen::plan::Plan;
use sdfg_codegen::source::{Architecture, ImageError, SourceOptions, compile_kernels, cuda_kernels};
use sdfg_programs::random::check_on_device_by;
use sdfg_programs::subjects::Subjects;
use sdfg_transforms::rewrites::GpuTransform;
use sdfg_transforms::{Transformation, fixed_point};

/// Whether this machine has NVRTC; a note if it has none.
fn has_nvrtc() -> bool {
    let kernel = "extern \"C\" __global__ void k(int *a) { a[threadIdx.x] = 1; }";
    match compile_kernels(kernel, "--std=c++17", sm(80)) {
        Ok(image) => {
            assert!(image.bytes.starts_with(b"\x7fELF"), "an image is no ELF");
            true
        }
        Err(ImageError::NoCompiler(text)) => {
            println!("skipped: {text}");
            false
        }
        Err(error) => panic!("{error}"),
    }
}

fn sm(number: u16) -> Architecture {
    Architecture { number, is_ptx: false }
}

/// The program with every map as a kernel that `GPUTransform` takes, as plans without and with checks, and with approximate
/// arithmetic; none if the device lacks something.
fn plans_of(program: &Sdfg) -> Vec<Plan> {
    let mut program = program.clone();
    let transformation: Box<dyn Transformation> = Box::new(GpuTransform::default());
    let applied = fixed_point(&mut program, &[transformation], None);
    if applied.iter().all(|tally| tally.applications == 0) {
        return Vec::new();
    }
    let expanded = sdfg_library::expand(&program, &sdfg_library::BuiltIn);
    let expanded = validate(expanded.unwrap_or_else(|error| panic!("{error}")));
    let expanded = expanded.unwrap_or_else(|rejected| panic!("{rejected}"));
    let plan = |checked| {
        let options = LowerOptions { serial_components: true, checked, ..LowerOptions::default() };
        match lower(&expanded, &Target::cuda(), &options) {
            Ok(plan) => Some(plan),
            Err(LowerError::Unsupported { .. }) => None,
            Err(error) => panic!("{error}"),
        }
    };
    [false, true].into_iter().filter_map(plan).collect()
}

/// Compiles the kernels of a plan for both architectures, and counts them.
fn compile_all(plan: &Plan) -> usize {
    let mut kernels = 0;
    for floats in [None, Some(FloatMode::Strict), Some(FloatMode::Fast)] {
        let options = SourceOptions { floats, ..SourceOptions::default() };
        let (text, flags) = cuda_kernels(plan, &options).unwrap_or_else(|error| panic!("{error}"));
        kernels = text.matches(" __global__ ").count();
        let architectures = if floats.is_none() { &[80, 90][..] } else { &[90] };
        for number in architectures.iter().filter(|_| kernels > 0) {
            let image = compile_kernels(&text, flags, sm(*number));
            let image = image.unwrap_or_else(|error| panic!("{}: {error}\n{text}", plan.name));
            assert!(image.bytes.starts_with(b"\x7fELF"), "{}", plan.name);
            assert_eq!(image.messages, "", "{}\n{text}", plan.name);
        }
        if plan.checked {
            break;
        }
    }
    kernels
}

#[test]
fn kernels_of_the_program_lists_compile_without_a_message() {
    if !has_nvrtc() {
        return;
    }
    let mut kernels = 0;
    for list in [Subjects::Programs, Subjects::Polybench] {
        for number in 0..list.count() {
            let (name, build) = list.program(number);
            let program = build().unwrap_or_else(|rejected| panic!("{name}: {rejected}")).0;
            kernels += plans_of(program.sdfg()).iter().map(compile_all).sum::<usize>();
        }
    }
    println!("{kernels} kernels");
    assert!(kernels > 100, "{kernels} kernels");
}

#[test]
fn kernels_with_memory_of_blocks_compile_without_a_message() {
    if !has_nvrtc() {
        return;
    }
    for name in ["blocks", "barriers", "memory_of_blocks", "accumulators_of_blocks", "kernel"] {
        let path = format!("{}/tests/plans/{name}.sdft", env!("CARGO_MANIFEST_DIR"));
        let source = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{error}"));
        let program = sdfg::text::parse(name, &source).unwrap_or_else(|errors| panic!("{errors:?}"));
        let program = validate(program).unwrap_or_else(|rejected| panic!("{rejected}"));
        compile_as_written(&program);
    }
}

/// Compiles the kernels that a program has itself, without and with checks.
fn compile_as_written(program: &Validated) {
    for checked in [false, true] {
        let options = LowerOptions { serial_components: true, checked, ..LowerOptions::default() };
        let plan = lower(program, &Target::cuda(), &options).unwrap_or_else(|error| panic!("{error}"));
        assert!(compile_all(&plan) > 0, "{}", plan.name);
    }
}

#[test]
fn kernels_of_random_programs_compile_without_a_message() {
    if !has_nvrtc() {
        return;
    }
    let kernels = std::cell::Cell::new(0);
    for seed in 6_200_000..6_200_012 {
        let compile = |plan: &Plan, _: &Arguments, expected: &Arguments| {
            kernels.set(kernels.get() + compile_all(plan));
            Ok(expected.clone())
        };
        let checked = check_on_device_by(seed, &Target::cuda(), &[false, true], &compile);
        checked.unwrap_or_else(|failure| panic!("{failure}"));
    }
    println!("{} kernels", kernels.get());
    assert!(kernels.get() > 20, "{} kernels", kernels.get());
}

/// What NVRTC says of wrong kernels is the message.
#[test]
fn messages_are_those_of_nvrtc() {
    if !has_nvrtc() {
        return;
    }
    let error = compile_kernels("extern \"C\" __global__ void k() { x = 1; }", "--std=c++17", sm(80));
    let text = error.expect_err("an error").to_string();
    assert!(
        text.contains("does not compile the kernels for sm_80") && text.contains("\"x\" is undefined"),
        "{text}"
    );
    let error = compile_kernels("", "--std=c++17", sm(35)).expect_err("an old architecture").to_string();
    assert!(error.contains("does not know the architecture 35"), "{error}");
    let image = compile_kernels("__global__ void k() {}", "", Architecture { number: 80, is_ptx: true });
    let text = image.map(|image| String::from_utf8_lossy(&image.bytes).into_owned());
    assert!(text.as_ref().is_ok_and(|text| text.contains(".target sm_80")), "{text:?}");
}

/// Programs may use the names of CUDA's types, variables and functions.
#[test]
fn names_of_cuda_are_free_for_programs() {
    if !has_nvrtc() {
        return;
    }
    let program = "sdfg warp {
  symbol warpSize: i64
  array float4: f64[warpSize] storage(gpu_global)
  array rsqrt: f64[warpSize] storage(gpu_global)
  array atomicExch: f32[warpSize] storage(gpu_global)
  array dim3: f64[1] storage(gpu_global)
  state s {
    access float4
    access rsqrt
    access atomicExch
    access dim3
    map uint4 [threadIdx = 0:warpSize] schedule(gpu_grid) {
      tasklet t (uint, half, char4) -> (double2, int4) { double2 = sqrt(uint) + half; int4 = f32(char4) + 1 }
      uint4.float4 -> t.uint: float4[threadIdx]
      uint4.dim3 -> t.half: dim3[0]
      uint4.rsqrt -> t.char4: rsqrt[threadIdx]
      t.double2 -> uint4.rsqrt: rsqrt[threadIdx]
      t.int4 -> uint4.atomicExch: atomicExch[0] wcr(max)
    }
    access out = rsqrt
    float4 -> uint4.float4
    dim3 -> uint4.dim3
    rsqrt -> uint4.rsqrt
    uint4.rsqrt -> out
    uint4.atomicExch -> atomicExch
  }
}";
    let program = sdfg::text::parse("warp", program).unwrap_or_else(|errors| panic!("{errors:?}"));
    let program = validate(program).unwrap_or_else(|rejected| panic!("{rejected}"));
    compile_as_written(&program);
}
