//! Random programs on a device: their maps become kernels, whose CUDA source runs on threads of this processor.

use sdfg::interpret::Arguments;
use sdfg::validate::validate;
use sdfg_codegen::lower::{LowerError, LowerOptions, Target, lower};
use sdfg_codegen::plan::Plan;
use sdfg_transforms::rewrites::GpuTransform;
use sdfg_transforms::{Soundness, Transformation, fixed_point};

use super::check::{Failure, difference, expanded};
use super::rewrites::on_program;
use crate::applications::{Applications, refused_for_a_reason};
use crate::trusted;

/// Moves every map of the program of a seed that `GPUTransform` takes to a device, and compares the results of its CUDA
/// source with those of the interpreter. The counts are of the kernels that ran, and of programs that a device cannot run.
///
/// # Errors
/// [`Failure`] if the program gives other results, or does not compile or run.
pub fn check_on_device(seed: u64) -> Result<Applications, Box<Failure>> {
    check_on_device_by(seed, &|plan, arguments, _| {
        let mut arguments = arguments.clone();
        trusted::run(&trusted::through_cuda(plan)?, &mut arguments, None)
            .map_err(|error| error.to_string())?;
        Ok(arguments)
    })
}

/// As [`check_on_device`], with another way to run the plan: it is given the plan, the arguments, and the results of the
/// interpreter, and returns results.
///
/// # Errors
/// As [`check_on_device`].
pub fn check_on_device_by(
    seed: u64,
    run: &dyn Fn(&Plan, &Arguments, &Arguments) -> Result<Arguments, String>,
) -> Result<Applications, Box<Failure>> {
    on_program(seed, |case, _| {
        let mut counts = Applications::new();
        let transformation: Box<dyn Transformation> = Box::new(GpuTransform::default());
        let mut program = case.program.clone();
        let applied = fixed_point(&mut program, &[transformation], None);
        let kernels: usize = applied.iter().map(|tally| tally.applications).sum();
        if kernels == 0 {
            return Ok(counts);
        }
        case.compare(&program, Soundness::Always)?;
        let text = || sdfg::text::print(&program);
        let program = validate(program.clone()).map_err(|rejected| rejected.to_string())?;
        let options = LowerOptions { serial_components: true, threshold: 0, ..LowerOptions::default() };
        let outcomes = counts.entry("GPUTransform").or_default();
        let plan = match lower(&expanded(&program)?, &Target::cuda(), &options) {
            Ok(plan) => plan,
            Err(LowerError::Unsupported { what, .. }) => {
                outcomes.note(Err(refused_for_a_reason("GPUTransform", &what)?));
                return Ok(counts);
            }
            Err(error) => return Err(format!("not lowered: {error}\n{}", text())),
        };
        let found = run(&plan, &case.arguments, &case.expected);
        let found = found.map_err(|error| format!("{error}\n{}", text()))?;
        if let Some((name, tensor, other)) = difference(&case.expected, &found) {
            return Err(format!("`{name}` differs on the device: {tensor:?} and {other:?}\n{}", text()));
        }
        outcomes.applied += kernels as u64;
        Ok(counts)
    })
}
