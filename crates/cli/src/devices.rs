//! `sdfg devices`: lists the devices that run kernels.

use clap::Args;
use sdfg_codegen::devices::opencl_devices;
use sdfg_codegen::lower::Target;

use crate::failure::Failure;
use crate::output::print;

/// List the devices of OpenCL, which run kernels with `--target opencl`.
#[derive(Args)]
#[command(
    after_help = "The variable SDFG_DEVICE selects a device by its number in this list, or by a part of its name or its driver's.\n\n\
                        Example:\n  SDFG_DEVICE=1 sdfg run gpu.sdft --target opencl"
)]
pub(crate) struct DevicesCommand {}

impl DevicesCommand {
    pub(crate) fn execute(&self) -> Result<(), Failure> {
        let devices = opencl_devices().map_err(Failure::usage)?;
        if devices.is_empty() {
            return Err(Failure::usage("OpenCL has no device")
                .help("install a driver, such as the package `pocl-opencl-icd`"));
        }
        let limits = Target::opencl().block;
        let mut text = String::new();
        for (number, device) in devices.iter().enumerate() {
            text.push_str(&format!("{number}: {} ({}, {})\n", device.name, device.platform, device.version));
            text.push_str(&format!(
                "   {} MiB, blocks of up to {} threads (used: {}) and {} KiB (used: {})\n",
                device.memory >> 20,
                device.block_threads,
                limits.threads,
                device.block_memory >> 10,
                limits.memory >> 10,
            ));
            for (feature, extension) in
                [("no f64", "cl_khr_fp64"), ("no 64-bit conflict resolution", "cl_khr_int64_base_atomics")]
            {
                if !device.extensions.iter().any(|name| name == extension) {
                    text.push_str(&format!("   {feature}\n"));
                }
            }
        }
        print(text.as_bytes())
    }
}
