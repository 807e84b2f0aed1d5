//! Random programs on a device: their maps become kernels, whose source runs on a device, or on threads of this processor.

use std::num::NonZeroU32;

use sdfg::edit::{EditError, Editor};
use sdfg::interpret::Arguments;
use sdfg::ir::{BlockShape, NodeId, NodeKind, Schedule, ScheduleKind, Sdfg, State, Storage};
use sdfg::symbolic::Expr;
use sdfg::validate::{Validated, validate};
use sdfg_codegen::load::Library;
use sdfg_codegen::lower::{LowerError, LowerOptions, Target, lower};
use sdfg_codegen::plan::Plan;
use sdfg_library::ExpandLibrary;
use sdfg_transforms::rewrites::{
    GpuTransform, LocalStorage, MapExpansion, MapTiling, NestSdfg, Size, StripMining,
};
use sdfg_transforms::{Pipeline, Soundness, TransformError, Transformation, apply, fixed_point, places};

use super::check::{Failure, difference, expanded};
use super::rewrites::on_program_for_device;
use super::rng::Rng;
use crate::applications::{Applications, refused_for_a_reason};
use crate::rewritten::Case;
use crate::trusted;

/// A device that runs kernels, with the language of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// CUDA source on threads of this processor.
    Cuda,
    /// C source that calls the driver of CUDA, with stand-ins for the driver and for NVRTC, on threads of this processor.
    CudaDriver,
    /// OpenCL source on the device that `SDFG_DEVICE` names, or the first one.
    OpenCl,
}

/// Runs of a plan with command streams: as many as the stand-ins for CUDA have orders.
const ORDERS: usize = 4;

impl Device {
    /// The target of its plans.
    pub fn target(self) -> Target {
        match self {
            Device::Cuda | Device::CudaDriver => Target::cuda(),
            Device::OpenCl => Target::opencl(),
        }
    }

    /// Loads the code of a plan.
    ///
    /// # Errors
    /// As [`trusted::through_cuda`], [`trusted::through_cuda_driver`] and [`trusted::through_opencl`].
    pub fn load(self, plan: &Plan) -> Result<Library, String> {
        match self {
            Device::Cuda => trusted::through_cuda(plan),
            Device::CudaDriver => trusted::through_cuda_driver(plan),
            Device::OpenCl => trusted::through_opencl(plan),
        }
    }

    /// The arguments after each of several runs of a plan, in different orders of its commands; one if the host waits for each.
    ///
    /// # Errors
    /// As [`load`](Self::load), or a run fails.
    pub fn runs(self, plan: &Plan, arguments: &Arguments) -> Result<Vec<Arguments>, String> {
        let library = self.load(plan)?;
        let orders = if plan.command_streams > 0 { ORDERS } else { 1 };
        let run = |_| {
            let mut arguments = arguments.clone();
            trusted::run(&library, &mut arguments, None).map_err(|error| error.to_string())?;
            Ok(arguments)
        };
        (0..orders).map(run).collect()
    }

    /// The arguments after each of [`runs`](Self::runs), whose results have the same bits.
    ///
    /// # Errors
    /// As [`runs`](Self::runs), or runs have different results.
    pub fn run(self, plan: &Plan, arguments: &Arguments) -> Result<Arguments, String> {
        let mut runs = self.runs(plan, arguments)?.into_iter();
        let first = runs.next().ok_or("no run")?;
        for (order, run) in runs.enumerate() {
            if let Some((name, tensor, other)) = difference(&first, &run) {
                let order = order + 1;
                return Err(format!("`{name}` differs in run {order}: {tensor:?} and {other:?}\n{plan}"));
            }
        }
        Ok(first)
    }
}

/// Moves every map of the program of a seed that `GPUTransform` takes to a device, and compares the results of its
/// source with those of the interpreter. Before that, half of the programs are tiled at random. Then some maps in kernels become
/// maps for the threads of a block, and some transients memory of a block. The counts are of the kernels that ran, of such maps
/// and transients, of device queues, and of programs that a device cannot run. Every third program runs with checks, too.
///
/// # Errors
/// [`Failure`] if the program gives other results, or does not compile or run.
pub fn check_on_device(seed: u64, device: Device) -> Result<Applications, Box<Failure>> {
    let checked: &[bool] = if seed.is_multiple_of(3) { &[false, true] } else { &[false] };
    check_on_device_by(seed, &device.target(), checked, &|plan, arguments, _| device.run(plan, arguments))
}

/// As [`check_on_device`], with another target and way to run the plan: it is given the plan, the arguments, and the results of the
/// interpreter, and returns results. Each of `checked` says whether a plan has checks.
///
/// # Errors
/// As [`check_on_device`].
pub fn check_on_device_by(
    seed: u64,
    target: &Target,
    checked: &[bool],
    run: &dyn Fn(&Plan, &Arguments, &Arguments) -> Result<Arguments, String>,
) -> Result<Applications, Box<Failure>> {
    on_program_for_device(seed, |case, rng| {
        let mut counts = Applications::new();
        if let Some(on_device) = moved(&case.program, rng)? {
            compare_on_device(case, on_device, (target, checked), run, &mut counts)?;
        }
        Ok(counts)
    })
}

/// Runs a program with kernels, and compares the results with those of the program of a case; whether the device runs it. Each
/// of `checked` says whether a plan has checks.
pub(super) fn compare_on_device(
    case: &Case,
    OnDevice { program, kernels, for_blocks, soundness, streams }: OnDevice,
    (target, checked): (&Target, &[bool]),
    run: &dyn Fn(&Plan, &Arguments, &Arguments) -> Result<Arguments, String>,
    counts: &mut Applications,
) -> Result<bool, String> {
    counts.entry("gpu_block").or_default().applied += for_blocks;
    counts.entry("queues").or_default().applied += device_queues(&program);
    case.compare(&program, soundness)?;
    let text = || sdfg::text::print(&program);
    let program = validate(program.clone()).map_err(|rejected| rejected.to_string())?;
    let outcomes = counts.entry("GPUTransform").or_default();
    for checked in checked {
        let plan = match lowered(&program, target, *checked, streams) {
            Ok(Ok(plan)) => plan,
            Ok(Err(what)) => {
                outcomes.note(Err(refused_for_a_reason("GPUTransform", &what)?));
                return Ok(false);
            }
            Err(error) => return Err(format!("not lowered: {error}\n{}", text())),
        };
        let with = if *checked { "with checks: " } else { "" };
        let found = run(&plan, &case.arguments, &case.expected);
        let found = found.map_err(|error| format!("{with}{error}\n{}", text()))?;
        if let Some((name, tensor, other)) = difference(&case.expected, &found) {
            return Err(format!(
                "{with}`{name}` differs on the device: {tensor:?} and {other:?}\n{}",
                text()
            ));
        }
    }
    outcomes.applied += kernels as u64;
    Ok(true)
}

/// The number of streams in memory of the device.
fn device_queues(program: &Sdfg) -> u64 {
    let streams = program.containers().filter(|(_, container)| container.is_stream());
    streams.filter(|(_, container)| container.storage == Storage::GpuGlobal).count() as u64
}

/// A program with kernels.
pub(super) struct OnDevice {
    pub(super) program: Sdfg,
    /// Number of kernels.
    pub(super) kernels: usize,
    /// Number of maps and transients for blocks.
    pub(super) for_blocks: u64,
    /// What the steps to it promise.
    pub(super) soundness: Soundness,
    /// Most command streams of its plan.
    pub(super) streams: NonZeroU32,
}

/// The program with every map as a kernel that `GPUTransform` takes, after random steps and with random schedules and storages in
/// the kernels; `None` without a kernel.
pub(super) fn moved(program: &Sdfg, rng: &mut Rng) -> Result<Option<OnDevice>, String> {
    let transformation: Box<dyn Transformation> = Box::new(GpuTransform::default());
    let (mut program, soundness) = prepared(program, rng)?;
    if rng.chance(30) {
        with_calls(&mut program, rng);
    }
    let applied = fixed_point(&mut program, &[transformation], None);
    let kernels: usize = applied.iter().map(|tally| tally.applications).sum();
    if kernels == 0 {
        return Ok(None);
    }
    let for_blocks = scheduled(&mut program, rng, &Chances::default())?;
    let streams = LowerOptions::DEVICE_STREAMS;
    Ok(Some(OnDevice { program, kernels, for_blocks, soundness, streams }))
}

/// The plan of a program for a device, or the construct that the device cannot run.
pub(super) fn lowered(
    program: &Validated,
    target: &Target,
    checked: bool,
    device_streams: NonZeroU32,
) -> Result<Result<Plan, String>, String> {
    let options = LowerOptions {
        serial_components: true,
        threshold: 0,
        checked,
        device_streams,
        ..LowerOptions::default()
    };
    match lower(&expanded(program)?, target, &options) {
        Ok(plan) => Ok(Ok(plan)),
        Err(LowerError::Unsupported { what, .. }) => Ok(Err(what)),
        Err(error) => Err(error.to_string()),
    }
}

/// A program after a few random steps that give kernels maps and transients inside, for half of the programs.
fn prepared(program: &Sdfg, rng: &mut Rng) -> Result<(Sdfg, Soundness), String> {
    let tiles = |sizes: &[i64]| MapTiling::new(sizes.iter().map(|size| Size::from(*size)));
    let steps: [Box<dyn Transformation>; 7] = [
        Box::new(tiles(&[2])),
        Box::new(tiles(&[3, 4])),
        Box::new(tiles(&[0, 3])),
        Box::new(StripMining { dimension: 0, size: Size::from(2) }),
        Box::new(MapExpansion::default()),
        Box::new(LocalStorage::default()),
        Box::new(LocalStorage::of_output("")),
    ];
    let mut pipeline = Pipeline::on(program.clone());
    let mut soundness = Soundness::Always;
    let length = if rng.chance(50) { 0 } else { 8 };
    for _ in 0..length {
        let step = steps[rng.below(steps.len())].as_ref();
        let all = places(pipeline.program(), step);
        if all.is_empty() {
            continue;
        }
        match pipeline.apply_at(step, &all[rng.below(all.len())]) {
            Ok(_) => soundness = soundness.max(step.metadata().soundness),
            Err(TransformError::Refused { .. }) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok((pipeline.program().clone(), soundness))
}

/// Moves random maps into nested SDFGs, which the program calls, and expands random library nodes to such.
pub(crate) fn with_calls(program: &mut Sdfg, rng: &mut Rng) {
    let steps: [Box<dyn Transformation>; 2] =
        [Box::new(ExpandLibrary::default()), Box::new(NestSdfg::default())];
    for step in &steps {
        for found in places(program, step.as_ref()) {
            if rng.chance(50) {
                // Some refuse, and some were moved by an earlier step.
                let _ = apply(program, step.as_ref(), &found);
            }
        }
    }
}

/// The likelihood of schedules and storages in kernels, in percent.
pub(super) struct Chances {
    /// That the threads of a block share a map.
    pub(super) for_block: usize,
    /// That such a map has extents.
    pub(super) with_extents: usize,
    /// That a kernel has extents of its blocks.
    pub(super) of_kernel: usize,
    /// That a transient lies in memory of a block.
    pub(super) shared: usize,
    /// Extents for a map with so many dimensions, and for a kernel.
    pub(super) extents: fn(&mut Rng, usize) -> Vec<Expr>,
    pub(super) extents_of_kernel: fn(&mut Rng, usize) -> Vec<Expr>,
}

impl Default for Chances {
    fn default() -> Self {
        // Blocks have up to three dimensions.
        let small = |rng: &mut Rng, rank: usize| {
            (0..rank.min(3)).map(|_| Expr::int(1 + rng.below(4) as i64)).collect()
        };
        // More threads than a map inside asks for.
        let large = |rng: &mut Rng, _| vec![Expr::int(64 * (1 + rng.below(4) as i64))];
        Chances {
            for_block: 60,
            with_extents: 30,
            of_kernel: 30,
            shared: 40,
            extents: small,
            extents_of_kernel: large,
        }
    }
}

/// Gives random maps in kernels the schedule `gpu_block`, random transients of kernels the storage `gpu_shared`, and random
/// kernels extents of their blocks. Returns the number of these maps and transients.
pub(super) fn scheduled(program: &mut Sdfg, rng: &mut Rng, chances: &Chances) -> Result<u64, String> {
    let mut editor = Editor::new(program);
    let count = schedule(&mut editor, rng, chances).map_err(|error| error.to_string())?;
    editor.commit().map_err(|error| error.to_string())?;
    Ok(count)
}

fn schedule(editor: &mut Editor<'_>, rng: &mut Rng, chances: &Chances) -> Result<u64, EditError> {
    let mut count = 0;
    let states: Vec<_> = editor.sdfg().states().map(|(id, _)| id).collect();
    for state in states {
        let tree = sdfg::analysis::ScopeTree::of(editor.state(state)?);
        let nodes: Vec<_> = editor.state(state)?.nodes().map(|(id, node)| (id, node.kind.clone())).collect();
        for (id, kind) in nodes {
            let NodeKind::MapEntry(mut map) = kind else { continue };
            let graph = editor.state(state)?;
            let is_inside = tree.enclosing(id).any(|scope| is_kernel(graph, scope));
            if map.schedule.kind() == ScheduleKind::Sequential && is_inside && rng.chance(chances.for_block) {
                let rank = map.params.len();
                let has_extents = rng.chance(chances.with_extents);
                let extents = if has_extents { (chances.extents)(rng, rank) } else { Vec::new() };
                map.schedule = Schedule::GpuBlock(BlockShape { extents });
                count += 1;
            } else if map.schedule.kind() == ScheduleKind::GpuGrid && rng.chance(chances.of_kernel) {
                let extents = (chances.extents_of_kernel)(rng, map.params.len());
                map.schedule = Schedule::GpuGrid(BlockShape { extents });
            } else {
                continue;
            }
            editor.replace_node(state, id, NodeKind::MapEntry(map))?;
        }
        let calls: Vec<_> = editor.state(state)?.nodes().map(|(id, node)| (id, node.kind.clone())).collect();
        for (id, kind) in calls {
            if matches!(kind, NodeKind::Nested(_)) && tree.scope_of(id).is_none() {
                count += editor.within(state, id, |editor| schedule(editor, rng, chances))?;
            }
        }
    }
    let owned = sdfg::analysis::owning_scopes(editor.sdfg());
    for (id, (state, scope)) in owned {
        let state = editor.state(state)?;
        let tree = sdfg::analysis::ScopeTree::of(state);
        if !is_kernel(state, scope) && !tree.enclosing(scope).any(|around| is_kernel(state, around)) {
            continue;
        }
        let container = editor.sdfg().container(id);
        let is_memory = container.transient && !container.is_alias() && !container.is_stream();
        if is_memory && container.storage == Storage::Default && rng.chance(chances.shared) {
            editor.change_container(id, |container| container.storage = Storage::GpuShared)?;
            count += 1;
        }
    }
    Ok(count)
}

/// Whether a scope is a kernel.
fn is_kernel(state: &State, scope: NodeId) -> bool {
    matches!(&state.node(scope).kind, NodeKind::MapEntry(map) if map.schedule.kind() == ScheduleKind::GpuGrid)
}
