//! `sdfg devices`: lists the devices that run kernels.

use std::fmt::Write as _;

use clap::Args;
use sdfg_codegen::devices::{CudaDevice, OpenClDevice, cuda_devices, opencl_devices};
use sdfg_codegen::lower::{BlockLimits, Target};

use crate::failure::Failure;
use crate::output::print;

/// List the devices of CUDA and of OpenCL, which run kernels with `--target cuda` and `--target opencl`.
#[derive(Args)]
#[command(
    after_help = "The variable SDFG_DEVICE selects a device by its number in the list of its target, or by a part of its name or its \
                        driver's.\n\n\
                        Examples:\n  sdfg devices\n  SDFG_DEVICE=1 sdfg run gpu.sdft --target cuda"
)]
pub(crate) struct DevicesCommand {}

impl DevicesCommand {
    pub(crate) fn execute(&self) -> Result<(), Failure> {
        let cuda = cuda_devices().map_err(|error| error.to_string()).and_then(|devices| {
            let texts: Vec<String> = devices.iter().map(of_cuda).collect();
            listed("CUDA", "cuda", &texts).ok_or_else(|| "CUDA has no device".to_owned())
        });
        let opencl = opencl_devices().map_err(|error| error.to_string()).and_then(|devices| {
            let texts: Vec<String> = devices.iter().map(of_opencl).collect();
            listed("OpenCL", "opencl", &texts).ok_or_else(|| {
                "OpenCL has no device (packages such as `pocl-opencl-icd` have drivers)".to_owned()
            })
        });
        match (cuda, opencl) {
            (Err(cuda), Err(opencl)) => Err(Failure::usage(format_args!(
                "there is no device: {cuda}; {opencl}"
            ))
            .help("install NVIDIA's driver, or a driver of OpenCL, such as the package `pocl-opencl-icd`")),
            (cuda, opencl) => {
                let text = [cuda, opencl].map(|text| text.unwrap_or_else(|missing| format!("{missing}\n")));
                print(text.concat().as_bytes())
            }
        }
    }
}

/// Numbered devices below the option that runs kernels on them; `None` without any.
fn listed(interface: &str, target: &str, devices: &[String]) -> Option<String> {
    let mut text = format!("{interface} (--target {target}):\n");
    for (number, device) in devices.iter().enumerate() {
        let _ = writeln!(text, "{number}: {device}");
    }
    (!devices.is_empty()).then_some(text)
}

/// Memory and blocks of a device, and the part of them that lowering uses.
fn limits((memory, threads, block_memory): (u64, u64, u64), used: BlockLimits) -> String {
    format!(
        "   {} MiB, blocks of up to {threads} threads (used: {}) and {} KiB (used: {})",
        memory >> 20,
        used.threads,
        block_memory >> 10,
        used.memory >> 10,
    )
}

fn of_cuda(device: &CudaDevice) -> String {
    let CudaDevice { name, architecture, driver, .. } = device;
    let limits = limits((device.memory, device.block_threads, device.block_memory), Target::cuda().block);
    format!("{name} ({architecture}, driver of CUDA {}.{})\n{limits}", driver / 1000, driver % 1000 / 10)
}

fn of_opencl(device: &OpenClDevice) -> String {
    let limits = limits((device.memory, device.block_threads, device.block_memory), Target::opencl().block);
    let mut text = format!("{} ({}, {})\n{limits}", device.name, device.platform, device.version);
    for (feature, extension) in
        [("no f64", "cl_khr_fp64"), ("no 64-bit conflict resolution", "cl_khr_int64_base_atomics")]
    {
        if !device.extensions.iter().any(|name| name == extension) {
            let _ = write!(text, "\n   {feature}");
        }
    }
    text
}
