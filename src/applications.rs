//! Transformations as tests and commands apply them: with several parameters, and counted.

use std::collections::BTreeMap;

use sdfg::ir::Sdfg;
use sdfg_library::{ExpandLibrary, transformations};
use sdfg_transforms::rewrites::{
    BufferTiling, DiamondTiling, InlineSdfg, LocalStorage, LoopFission, LoopPeeling, LoopStripMining,
    MapDimShuffle, MapExpansion, MapSchedule, MapSplit, MapTiling, MpiTransform, Relayout, Size, Skewing,
    StripMining,
};
use sdfg_transforms::{Match, Pipeline, Site, Tables, TransformError, Transformation, apply};

/// How often each transformation was applied and refused, by name.
pub type Applications = BTreeMap<&'static str, Outcomes>;

/// How often a transformation was applied and refused.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    /// Number of applications.
    pub applied: u64,
    /// Number of refusals for each reason, with `_` for names and subsets.
    pub refused: BTreeMap<String, u64>,
}

impl Outcomes {
    /// Adds other outcomes.
    pub fn add(&mut self, other: Outcomes) {
        self.applied += other.applied;
        for (reason, count) in other.refused {
            *self.refused.entry(reason).or_insert(0) += count;
        }
    }

    /// Adds an application or the reason of a refusal.
    pub fn note(&mut self, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.applied += 1,
            Err(reason) => *self.refused.entry(reason).or_insert(0) += 1,
        }
    }
}

/// The counts of a simplification.
pub fn counted(counts: BTreeMap<&'static str, usize>) -> Applications {
    let outcomes = |count| Outcomes { applied: count as u64, ..Outcomes::default() };
    counts.into_iter().map(|(name, count)| (name, outcomes(count))).collect()
}

/// The counts of the applications of a pipeline.
pub fn applied(pipeline: &Pipeline) -> Applications {
    let mut counts = Applications::new();
    for application in pipeline.applications() {
        counts.entry(application.name).or_default().applied += 1;
    }
    counts
}

/// Whether native code for this machine can run what a transformation makes: it has no GPU and no other ranks.
pub fn is_for_this_machine(transformation: &dyn Transformation) -> bool {
    runs_here(transformation.metadata().name)
}

/// As [`is_for_this_machine`], for the name of a transformation.
pub fn runs_here(name: &str) -> bool {
    !["GPUTransform", "MPITransform", "TransientToDevice"].contains(&name)
}

/// Every transformation with its default parameters, and some with others.
pub fn variants() -> Vec<Box<dyn Transformation>> {
    let mut all = transformations().defaults();
    let sizes = |sizes: &[i64]| MapTiling::new(sizes.iter().map(|size| Size::from(*size)));
    let blocks = |sizes: &[i64]| sizes.iter().map(|size| Size::from(*size)).collect::<Vec<_>>();
    all.extend([
        Box::new(sizes(&[2])) as Box<dyn Transformation>,
        Box::new(sizes(&[3, 2])),
        Box::new(sizes(&[0, 2])),
        Box::new(MapExpansion { dimensions: 2 }),
        Box::new(MapDimShuffle::default()),
        Box::new(LocalStorage::of_output("")),
        Box::new(MapTiling::in_parts([2, 3])),
        Box::new(MpiTransform::new([1])),
        Box::new(MpiTransform::new([3, 2])),
        Box::new(MpiTransform::new([1, 3])),
        Box::new(LoopPeeling { count: 2 }),
        Box::new(LoopFission { count: 2 }),
        Box::new(LoopStripMining { size: 2 }),
        Box::new(DiamondTiling { steps: 2, width: 20 }),
        Box::new(InlineSdfg { serialize: true }),
        Box::new(BufferTiling::new([2])),
        Box::new(BufferTiling::new([2, 3])),
        Box::new(BufferTiling::new([0, 2])),
        Box::new(Skewing { factor: 0 }),
        Box::new(Skewing { factor: 2 }),
        Box::new(Skewing { factor: -1 }),
        Box::new(Relayout { order: Vec::new(), padding: Size::from(1), blocks: Vec::new() }),
        Box::new(Relayout { order: Vec::new(), padding: Size::from(0), blocks: blocks(&[2, 3]) }),
        Box::new(Relayout { order: Vec::new(), padding: Size::from(1), blocks: blocks(&[0, 2]) }),
        Box::new(Relayout { order: vec![0, 1], padding: Size::from(0), blocks: blocks(&[4]) }),
        Box::new(MapSplit { count: Size::from(2), dimension: 1, at: None }),
        Box::new(MapSplit { at: Some(Size::from(3)), ..MapSplit::default() }),
        Box::new(StripMining { dimension: 1, size: Size::from(2) }),
        Box::new(ExpandLibrary::by("sequential")),
        Box::new(ExpandLibrary::by("parallel")),
        Box::new(ExpandLibrary::by("tree")),
        Box::new(MapSchedule::new("sequential")),
        Box::new(MapSchedule::new("cpu_multicore")),
        Box::new(MapSchedule::new("gpu_block")),
    ]);
    all
}

/// The places that a transformation does not refuse.
pub fn passing(program: &Sdfg, transformation: &dyn Transformation, all: &[Match]) -> Vec<Match> {
    let tables = Tables::new();
    let passes = |found: &&Match| {
        Site::of(program, found, &tables)
            .is_some_and(|site| sdfg_transforms::checked(transformation, &site).is_ok())
    };
    all.iter().filter(passes).cloned().collect()
}

/// At most so many matches, evenly spread.
pub fn spread(all: &[Match], most: usize) -> Vec<Match> {
    let count = all.len().min(most);
    (0..count).map(|at| all[at * all.len() / count].clone()).collect()
}

/// Applies a transformation, or tells why it refuses.
///
/// # Errors
/// If the rewritten program is not valid, or the match does not fit the program.
pub fn attempt(
    program: &mut Sdfg,
    transformation: &dyn Transformation,
    found: &Match,
) -> Result<Result<(), String>, String> {
    match apply(program, transformation, found) {
        Ok(_) => Ok(Ok(())),
        Err(TransformError::Refused { refusal, .. }) => {
            refused_for_a_reason(transformation.metadata().name, &refusal.to_string()).map(Err)
        }
        Err(error) => Err(error.to_string()),
    }
}

/// The reason without names and subsets. That the rewritten program is not valid is none: transformations leave valid programs.
///
/// # Errors
/// If the reason is none.
pub fn refused_for_a_reason(name: &str, reason: &str) -> Result<String, String> {
    if reason.starts_with("the edits would make the program wrong") {
        return Err(format!("{name} leaves an invalid program: {reason}"));
    }
    let mut general = String::new();
    for (at, part) in reason.split(['`', '[', ']']).enumerate() {
        general.push_str(if at % 2 == 0 { part } else { "_" });
    }
    Ok(general)
}

/// A transformation with its parameters and its place.
pub fn described(program: &Sdfg, transformation: &dyn Transformation, found: &Match) -> String {
    let paths: Vec<String> = found.paths(program).iter().map(ToString::to_string).collect();
    format!("{} {} at {}", transformation.metadata().name, transformation.parameters(), paths.join(", "))
}
