//! Distribution of a whole program over ranks by a strategy.
//!
//! [`prepare`] gives each map a state of its own, so that the copies around it are ordered with all other accesses.
//! [`distribute`] carries out a strategy for the prepared program: it divides maps as the strategy says
//! ([`MpiTransform`]), cuts containers that only copies access ([`DistributeContainer`]), and leaves out copies between
//! containers that are cut alike ([`RedundantRedistribution`]). All of these are steps of the pipeline, so a chain
//! replays them. [`Distribute`] does all of it.

mod choice;
mod given;
mod whole;

use std::cmp::Reverse;
use std::collections::BTreeSet;

pub use choice::{Chosen, Communication, Way};
use given::divisions;
pub use given::{OperationProblem, strategy_of};
use sdfg::analysis::{ScopeTree, is_leaf};
use sdfg::ir::{BlockKind, Blocks, ContainerId, NodeKind, Sdfg};
use sdfg::path::{ElementPath, ElementPlace, Target};
use sdfg::validate::Rejected;
use thiserror::Error;
pub use whole::{Distribute, Searched};

use crate::engine::{Match, Pipeline, Step, TransformError, Transformation, places};
use crate::loops::state_block;
use crate::rewrites::copied;
use crate::rewrites::{
    CopyHoisting, DistributeContainer, LiftToLibrary, MapStorage, MpiTransform, RaiseLoops,
    RedundantRedistribution, StateFission,
};
use crate::strategy::model::ModelError;
use crate::strategy::strategy_file::entry;
use crate::strategy::{self, SearchError, StrategyFile};

/// Why a program is not divided: there is no strategy for it, or the given one belongs to another program.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DistributeError {
    /// The program is not valid.
    #[error(transparent)]
    Invalid(Box<Rejected>),
    /// The cost model refuses the program.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The search fails.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// The proof of the strategy does not hold.
    #[error("the proof of the strategy does not hold: {0}")]
    Proof(#[from] strategy::Rejected),
    /// An operation of the strategy is none of the program.
    #[error("{}: {problem}", entry(*.index, .path))]
    Operation {
        /// The operation in the file, counted from 0.
        index: usize,
        /// Its path, or its name if it has none.
        path: String,
        /// The error.
        problem: OperationProblem,
    },
}

/// What became of the operations of a strategy.
#[derive(Debug, Default)]
#[must_use]
pub struct Distributed {
    /// Maps that were divided.
    pub divided: Vec<ElementPath>,
    /// Maps that all ranks run as a whole, each with the reason for which it was not divided.
    pub whole: Vec<(ElementPath, String)>,
    /// Number of copies between containers that are cut alike, which were left out.
    pub left_out: usize,
    /// Number of times that a copy between ranks was moved in front of a loop, all iterations of which would copy the same.
    pub hoisted: usize,
    /// Number of containers of which a map that is not divided gets a box.
    pub boxes: usize,
    /// Number of maps that compute their interiors while halos travel.
    pub overlapped: usize,
}

/// Raises loops and gives each map outside of scopes a state of its own. A strategy is searched for the program after it.
pub fn prepare(pipeline: &mut Pipeline) {
    // Neither has to apply anywhere.
    let _ = pipeline.apply(Step::from(RaiseLoops::default()).everywhere(None));
    apply_all(pipeline, &StateFission::default(), |_, _| true);
}

/// The containers that are cut when maps are divided, and whether messages travel meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DivisionOptions {
    /// Whether containers that the caller passes are cut, too: each rank passes its own part.
    pub arguments: bool,
    /// Whether containers are cut of which a map that is not divided accesses a box: every rank gets the box for it ([`MapStorage`]).
    /// Otherwise, every rank holds them whole, and what divided maps write of them is sent to all.
    pub boxes: bool,
    /// Whether maps compute their interiors while halos travel ([`HaloOverlap`](crate::rewrites::HaloOverlap)), where that costs less:
    /// [`Searched::carry_out`] knows costs.
    pub overlap: bool,
}

impl Default for DivisionOptions {
    fn default() -> Self {
        DivisionOptions { arguments: true, boxes: true, overlap: false }
    }
}

/// Divides the maps of a prepared program as a strategy says, and its containers with them.
///
/// Maps that cannot be divided run as a whole on every rank; the result tells why.
///
/// # Errors
/// If the strategy is for another program. The program is then unchanged.
pub fn distribute(
    pipeline: &mut Pipeline,
    strategy: &StrategyFile,
    options: DivisionOptions,
) -> Result<Distributed, DistributeError> {
    let steps = divisions(pipeline.program(), strategy)?;
    Ok(distribute_by(pipeline, &steps, options))
}

/// As [`distribute`], with the number of parts of each dimension of some maps instead of a strategy. Maps of one part run as a
/// whole on every rank, which needs no messages.
pub fn distribute_by(
    pipeline: &mut Pipeline,
    steps: &[(ElementPath, Vec<u32>)],
    options: DivisionOptions,
) -> Distributed {
    let mut outcome = Distributed::default();
    for (path, parts) in steps.iter().cloned() {
        if parts.iter().all(|parts| *parts <= 1) {
            outcome.whole.push((path, "the strategy has one part for it".to_owned()));
            continue;
        }
        let step = MpiTransform::new(parts).at(&path.to_string());
        match pipeline.apply(step) {
            Ok(_) => outcome.divided.push(path),
            Err(TransformError::Refused { refusal, .. }) => outcome.whole.push((path, refusal.to_string())),
            Err(other) => outcome.whole.push((path, other.to_string())),
        }
    }
    if options.boxes {
        outcome.boxes = store_boxes(pipeline, options.arguments);
    }
    // What a map writes is cut as the map leaves it; readers fetch what they need in another form.
    let cut = DistributeContainer::default();
    for written in [true, false] {
        apply_all(pipeline, &cut, |program, found| cuts(program, found, written, options.arguments));
    }
    let redundant = RedundantRedistribution::default();
    // A container that has halos is written directly only where they are refreshed before each read.
    for with_halos in [false, true] {
        outcome.left_out +=
            apply_all(pipeline, &redundant, |program, found| with_halos || !has_copies(program, found));
    }
    outcome.hoisted = apply_all(pipeline, &CopyHoisting::default(), |program, found| {
        let is_cut = |id| program.container(id).distribution.blocks().is_some();
        ends(program, found).is_some_and(|ends| ends.into_iter().any(is_cut))
    });
    // Products of matrices that were divided as maps are products on each rank, which a BLAS may compute.
    let _ = pipeline.apply(Step::from(LiftToLibrary::default()).everywhere(None));
    outcome
}

/// Gives maps that are not divided a transient for the box that they access of each container that could be cut but for these maps.
/// Gives the number of boxes.
fn store_boxes(pipeline: &mut Pipeline, arguments: bool) -> usize {
    let program = pipeline.program();
    let mut steps = Vec::new();
    for (id, container) in program.containers() {
        if (arguments || container.transient) && meets_parts(program, id) {
            let maps = whole_maps_at(program, id).unwrap_or_default();
            steps.extend(maps.into_iter().map(|path| (path, container.name.clone())));
        }
    }
    let stored = |(path, name): &(ElementPath, String)| {
        pipeline.apply(MapStorage::of(name).at(&path.to_string())).is_ok()
    };
    steps.iter().map(stored).filter(|is_stored| *is_stored).count()
}

/// Whether a copy leads from a whole container to one of the same shape that is cut, or back.
fn meets_parts(program: &Sdfg, id: ContainerId) -> bool {
    let shape = program.container(id).shape();
    let is_part = |other: ContainerId| {
        let container = program.container(other);
        container.distribution.blocks().is_some() && container.shape() == shape
    };
    let mut copies =
        program.states().flat_map(|(_, state)| state.edges()).filter_map(|(_, edge)| copied(edge));
    copies.any(|(from, to)| from == id && is_part(to) || to == id && is_part(from))
}

/// The maps outside of scopes that access a container and are not over ranks; `None` if something else than maps and copies does.
fn whole_maps_at(program: &Sdfg, id: ContainerId) -> Option<Vec<ElementPath>> {
    let mut maps = Vec::new();
    for (state, graph) in program.states() {
        let tree = ScopeTree::of(graph);
        let mut entries = BTreeSet::new();
        for (edge, found) in graph.edges() {
            let touches = found.memlet.accesses().any(|access| access.container == id);
            if !touches || !is_leaf(graph, edge) || copied(found).is_some() {
                continue;
            }
            let code = if graph.node(found.src).kind.is_code() { found.src } else { found.dst };
            entries.insert(tree.enclosing(code).last()?);
        }
        for entry in entries {
            if graph.node(entry).kind.is_map_over_ranks() {
                return None;
            }
            let place = ElementPlace { calls: Vec::new(), target: Target::Node(state, entry) };
            maps.push(place.path(program)?);
        }
    }
    Some(maps)
}

/// The maps outside of scopes, each with its number of dimensions.
pub fn outer_maps(program: &Sdfg) -> Vec<(ElementPath, usize)> {
    let mut maps = Vec::new();
    for (state, graph) in program.states() {
        for node in ScopeTree::of(graph).children(None) {
            if let NodeKind::MapEntry(map) = &graph.node(*node).kind {
                let place = ElementPlace { calls: Vec::new(), target: Target::Node(state, *node) };
                maps.extend(place.path(program).map(|path| (path, map.params.len())));
            }
        }
    }
    maps
}

/// The strategy that divides the first dimension of each map outside of scopes into so many parts: it needs no sizes, and no
/// model of the program.
pub fn data_parallel(program: &Sdfg, ranks: u32) -> Vec<(ElementPath, Vec<u32>)> {
    outer_maps(program).into_iter().map(|(path, _)| (path, vec![ranks])).collect()
}

/// The containers at both ends of a match; `None` if it is not in the outermost SDFG, or not there any more.
fn ends(program: &Sdfg, found: &Match) -> Option<[ContainerId; 2]> {
    let state = program.get_state(found.state()).filter(|_| found.calls.is_empty())?;
    let container = |at: usize| state.get_node(found.node(at))?.kind.container();
    Some([container(0)?, container(1)?])
}

/// Whether a match cuts a container that a map writes parts of, or one that it reads parts of.
fn cuts(program: &Sdfg, found: &Match, written: bool, arguments: bool) -> bool {
    let Some([from, to]) = ends(program, found) else { return false };
    let is_cut = |id: ContainerId| program.container(id).distribution.blocks().is_some();
    let whole = if is_cut(from) { to } else { from };
    is_cut(from) == written && (arguments || program.container(whole).transient)
}

/// Number of loops around the state of a match.
fn loop_depth(program: &Sdfg, found: &Match) -> usize {
    let (mut depth, mut at) =
        (0, found.calls.is_empty().then(|| state_block(program, found.state())).flatten());
    while let Some(block) = at {
        let block = program.block(block);
        depth += usize::from(matches!(block.kind, BlockKind::Loop(_)));
        at = program.region(block.region).parent;
    }
    depth
}

/// Whether the container at one end of a match has halos or replicas.
fn has_copies(program: &Sdfg, found: &Match) -> bool {
    let ends = ends(program, found).into_iter().flatten();
    ends.filter_map(|id| program.container(id).distribution.blocks()).any(Blocks::has_copies)
}

/// Applies a transformation at every match that passes its check and a test, until none does. Gives the number of applications.
///
/// Matches in more loops come first: a container that maps cut in different ways gets the cut of what runs most often.
fn apply_all(
    pipeline: &mut Pipeline,
    transformation: &dyn Transformation,
    wanted: impl Fn(&Sdfg, &Match) -> bool,
) -> usize {
    let mut count = 0;
    loop {
        let mut all = places(pipeline.program(), transformation);
        all.sort_by_key(|found| Reverse(loop_depth(pipeline.program(), found)));
        let before = count;
        for found in all {
            // A match that an application removed is refused.
            if wanted(pipeline.program(), &found) && pipeline.apply_at(transformation, &found).is_ok() {
                count += 1;
            }
        }
        if count == before {
            return count;
        }
    }
}
