//! Random schedules on a device: one program with many tilings into grids, blocks and threads, block sizes, storages, and numbers of
//! command streams.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use sdfg::ir::Sdfg;
use sdfg::symbolic::Expr;
use sdfg_transforms::rewrites::{
    GpuTransform, LocalStorage, MapCollapse, MapExpansion, MapInterchange, MapTiling, RedundantArray,
    RedundantSecondArray, Size, StripMining, TransientToDevice,
};
use sdfg_transforms::{Pipeline, Soundness, TransformError, Transformation, fixed_point, places};

use super::check::Failure;
use super::device::{Chances, Device, OnDevice, compare_on_device, scheduled};
use super::rewrites::on_program_for_device;
use super::rng::Rng;
use crate::applications::Applications;

/// Sizes of tiles; 0 leaves a dimension as it is.
const SIZES: [i64; 10] = [0, 1, 2, 3, 4, 5, 7, 8, 16, 33];

/// The most threads that a random block has, which every device allows.
const THREADS: usize = 256;

/// Runs the program of a seed with so many different random schedules on a device, and compares the results with those of the
/// interpreter. Every fifth one has checks. The counts are of schedules, and of their kernels, and maps and transients of blocks.
///
/// # Errors
/// [`Failure`] if a schedule gives other results, or does not compile or run.
pub fn check_schedules(seed: u64, device: Device, schedules: u64) -> Result<Applications, Box<Failure>> {
    on_program_for_device(seed, |case, rng| {
        let mut counts = Applications::new();
        let mut seen = BTreeSet::new();
        let run = |plan: &_, arguments: &sdfg::interpret::Arguments, _: &_| device.run(plan, arguments);
        // Small programs have few schedules.
        for number in 0..4 * schedules {
            if seen.len() as u64 == schedules {
                break;
            }
            let Some((on_device, stay)) = with_schedule(&case.program, rng)? else { return Ok(counts) };
            if !seen.insert(sdfg::text::print(&on_device.program)) {
                continue;
            }
            counts.entry("TransientToDevice").or_default().applied += stay;
            let checked = [number % 5 == 4];
            let is_run = compare_on_device(case, on_device, (&device.target(), &checked), &run, &mut counts);
            let is_run = is_run.map_err(|what| format!("schedule {number}: {what}"))?;
            counts.entry("schedules").or_default().applied += u64::from(is_run);
        }
        Ok(counts)
    })
}

/// The program with a random schedule, every map that `GPUTransform` takes as a kernel, and the number of transients that stay on the
/// device; `None` without a kernel.
fn with_schedule(program: &Sdfg, rng: &mut Rng) -> Result<Option<(OnDevice, u64)>, String> {
    let (mut program, soundness) = tiled(program, rng)?;
    let transformation: Box<dyn Transformation> = Box::new(GpuTransform::default());
    let applied = fixed_point(&mut program, &[transformation], None);
    let kernels: usize = applied.iter().map(|tally| tally.applications).sum();
    if kernels == 0 {
        return Ok(None);
    }
    let stay = if rng.chance(50) { kept_on_device(&mut program) } else { 0 };
    let chances = Chances {
        for_block: rng.below(101),
        with_extents: rng.below(101),
        of_kernel: rng.below(101),
        shared: rng.below(101),
        extents,
        extents_of_kernel: extents,
    };
    let for_blocks = scheduled(&mut program, rng, &chances)?;
    let streams = NonZeroU32::MIN.saturating_add(rng.below(5) as u32);
    Ok(Some((OnDevice { program, kernels, for_blocks, soundness, streams }, stay)))
}

/// Leaves data on the device between kernels. Returns the number of transients that moved there.
fn kept_on_device(program: &mut Sdfg) -> u64 {
    let steps: [Box<dyn Transformation>; 3] = [
        Box::new(TransientToDevice::default()),
        Box::new(RedundantArray::default()),
        Box::new(RedundantSecondArray::default()),
    ];
    let applied = fixed_point(program, &steps, None);
    let moved = applied.iter().filter(|tally| tally.name == "TransientToDevice");
    moved.map(|tally| tally.applications as u64).sum()
}

/// The program after random steps that divide maps and give them memory of their own.
fn tiled(program: &Sdfg, rng: &mut Rng) -> Result<(Sdfg, Soundness), String> {
    let mut pipeline = Pipeline::on(program.clone());
    let mut soundness = Soundness::Always;
    for _ in 0..1 + rng.below(10) {
        let step = step(rng);
        let all = places(pipeline.program(), step.as_ref());
        if all.is_empty() {
            continue;
        }
        match pipeline.apply_at(step.as_ref(), &all[rng.below(all.len())]) {
            Ok(_) => soundness = soundness.max(step.metadata().soundness),
            Err(TransformError::Refused { .. }) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok((pipeline.program().clone(), soundness))
}

fn step(rng: &mut Rng) -> Box<dyn Transformation> {
    let size = |rng: &mut Rng| Size::from(rng.pick(&SIZES));
    match rng.below(9) {
        0..3 => Box::new(MapTiling::new((0..1 + rng.below(3)).map(|_| size(rng)).collect::<Vec<_>>())),
        3 => {
            let size = Size::from(1 + rng.below(9) as i64);
            Box::new(StripMining { dimension: rng.below(3), size })
        }
        4 => Box::new(MapExpansion { dimensions: 1 + rng.below(2) }),
        5 => Box::new(LocalStorage::default()),
        6 => Box::new(LocalStorage::of_output("")),
        7 => Box::new(MapCollapse {}),
        _ => Box::new(MapInterchange {}),
    }
}

/// Extents of a block, with few threads or many.
fn extents(rng: &mut Rng, rank: usize) -> Vec<Expr> {
    let mut left = THREADS;
    let mut extent = || {
        let extent = 1 + rng.below(left.min(40));
        left /= extent;
        Expr::int(extent as i64)
    };
    (0..rank.min(3)).map(|_| extent()).collect()
}
