//! Requirements of a program that a target does not meet, found before lowering starts, and refusals of
//! lowering itself in the same form.

use std::fmt;

use sdfg::analysis::ScopeTree;
use sdfg::ir::{BlockKind, NodeId, NodeKind, Schedule, Sdfg, State, StateId, Storage};
use sdfg::path::{ElementPath, ElementPlace, Target as Element};
use sdfg::validate::Validated;

use super::error::LowerError;
use super::options::LowerOptions;
use super::space::asked;
use super::target::Target;
use super::vector::{VectorRefusal, structure};
use super::{Purpose, statements};
use crate::plan::{LevelKind, Space};

/// Capabilities that a target may lack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Hardware that runs loops of a level.
    Level(LevelKind),
    /// A memory.
    Space(Space),
    /// Memory that outlives programs.
    Files,
    /// Lanes that can run a scope of schedule `simd`, and why none can.
    Lanes(VectorRefusal),
    /// A construct that lowering does not support.
    Construct,
    /// A name that native code can export.
    Name,
}

impl Capability {
    /// A stable name for what is missing, as findings of validation have them. [`PAGES`](super::PAGES) explains each.
    pub const fn code(&self) -> &'static str {
        match self {
            Capability::Level(_) => "T001",
            Capability::Space(_) | Capability::Files => "T002",
            Capability::Lanes(_) => "T003",
            Capability::Construct => "T004",
            Capability::Name => "T005",
        }
    }

    /// A remedy.
    pub const fn help(&self) -> &'static str {
        match self {
            Capability::Level(LevelKind::Grid) | Capability::Space(Space::DeviceGlobal) => {
                "`sdfg run --target cuda` and `--target opencl` run it on a device, `sdfg compile --emit cuda` prints CUDA source, and `sdfg interpret` runs it"
            }
            Capability::Level(LevelKind::Rank) => {
                "`sdfg run --ranks N` runs it on the ranks of MPI, and `sdfg interpret --ranks N` on virtual ones"
            }
            Capability::Level(_) | Capability::Space(_) | Capability::Files | Capability::Construct => {
                "`sdfg interpret` runs it"
            }
            Capability::Name => "give the program another name, on the command line with `--name`",
            Capability::Lanes(_) => "`sequential` runs one iteration after the other",
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Capability::Level(level) => write!(f, "loops of level `{}`", level.name()),
            Capability::Space(space) => write!(f, "memory `{space}`"),
            Capability::Files => f.write_str("containers in files"),
            Capability::Lanes(_) => f.write_str("lanes that can run it"),
            Capability::Construct => f.write_str("such construct"),
            Capability::Name => f.write_str("such name"),
        }
    }
}

/// Something of a program that a target does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The missing capability.
    pub lacks: Capability,
    /// The name of the target in messages.
    pub target: &'static str,
    /// The construct that requires it, as a noun phrase.
    pub what: String,
    /// The place.
    pub path: ElementPath,
}

impl Refusal {
    /// The requirement and the reason for its refusal, without the place.
    pub fn message(&self) -> String {
        match &self.lacks {
            Capability::Lanes(reason) => {
                format!("{} is a promise that cannot be kept: {reason}", self.what)
            }
            Capability::Construct => format!("{} is not supported in native code", self.what),
            Capability::Name => self.what.clone(),
            lacks @ (Capability::Level(_) | Capability::Space(_) | Capability::Files) => {
                format!("{} is not supported in native code: a {} has no {lacks}", self.what, self.target)
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, code, help) = (&self.path, self.lacks.code(), self.lacks.help());
        write!(f, "{path}: {} ({code}); {help}", self.message())
    }
}

/// Everything in a program that a target does not run, in the order of its elements.
///
/// Lowering alone knows the elements that scopes of schedule `simd` access, and constructs that it does not support. If nothing else
/// is refused, the program is lowered to find out; nodes that have not been expanded end that. Lowering stops at the first construct
/// that it does not support.
pub fn refusals(program: &Validated, target: &Target) -> Vec<Refusal> {
    let mut search = Search::new(program.sdfg(), target);
    search.sdfg(program.sdfg());
    if !search.found.is_empty() {
        return search.found;
    }
    let refusal = |lacks, what, path: Option<ElementPath>| {
        let path = path.unwrap_or_else(|| ElementPath::sdfg(&program.sdfg().name));
        vec![Refusal { lacks, target: target.name, what, path }]
    };
    match statements(program.sdfg(), target, &LowerOptions::default(), Purpose::Refusals) {
        Ok(lowering) => match lowering.plan.interface() {
            Ok(_) => Vec::new(),
            Err(error) => {
                let message = error.to_string();
                let message = message.strip_suffix(" (T005)").unwrap_or(&message);
                refusal(Capability::Name, message.to_owned(), None)
            }
        },
        Err(LowerError::Refused(refused)) => refused,
        Err(LowerError::Unsupported { what, path }) => {
            refusal(Capability::Construct, what, path.parse().ok())
        }
        Err(LowerError::UnknownSize { container, size, path }) => {
            let what = format!(
                "the transient `{container}`, whose size `{size}` is not known when its memory is needed,"
            );
            refusal(Capability::Construct, what, path.parse().ok())
        }
        // Types were checked by validation, and the others are defects of the compiler.
        Err(
            LowerError::Unexpanded { .. }
            | LowerError::Types { .. }
            | LowerError::Broken(_)
            | LowerError::Invalid { .. },
        ) => Vec::new(),
    }
}

/// Missing capabilities that the graph alone reveals, independent of sizes and indices.
pub(super) fn lacking(sdfg: &Sdfg, target: &Target) -> Vec<Refusal> {
    let mut search = Search::new(sdfg, target);
    search.sdfg(sdfg);
    search.found
}

struct Search<'g> {
    root: &'g Sdfg,
    target: &'g Target,
    calls: Vec<(StateId, NodeId)>,
    found: Vec<Refusal>,
}

impl<'g> Search<'g> {
    fn new(root: &'g Sdfg, target: &'g Target) -> Self {
        Search { root, target, calls: Vec::new(), found: Vec::new() }
    }

    fn sdfg(&mut self, sdfg: &'g Sdfg) {
        for (id, container) in sdfg.containers() {
            // What is passed to a nested SDFG is looked at where it comes from.
            let is_own = container.transient || self.calls.is_empty();
            if is_own
                && !container.is_alias()
                && let Some(lacks) = self.target.lacks_storage(container.storage)
            {
                let what = format!("`{}` in storage `{}`", container.name, container.storage.name());
                self.add(lacks, what, Element::Container(id));
            }
        }
        for (_, block) in sdfg.blocks() {
            let BlockKind::State(state) = block.kind else { continue };
            let graph = sdfg.state(state);
            let mut tree = None;
            for (id, node) in graph.nodes() {
                let schedule = match &node.kind {
                    NodeKind::MapEntry(map) => Some(&map.schedule),
                    NodeKind::ConsumeEntry(consume) => Some(&consume.schedule),
                    NodeKind::Access(_)
                    | NodeKind::Tasklet(_)
                    | NodeKind::MapExit(_)
                    | NodeKind::ConsumeExit(_)
                    | NodeKind::Nested(_)
                    | NodeKind::Reduce(_)
                    | NodeKind::Library(_) => None,
                };
                if let Some(lacks) =
                    schedule.and_then(|schedule| self.lacks_schedule(schedule, (sdfg, graph), &mut tree, id))
                {
                    let what = schedule.map(promise).unwrap_or_default();
                    self.add(lacks, what, Element::Node(state, id));
                }
                if let NodeKind::Nested(call) = &node.kind {
                    self.calls.push((state, id));
                    self.sdfg(&call.sdfg);
                    self.calls.pop();
                }
            }
        }
    }

    /// The missing capability for the schedule of a scope.
    fn lacks_schedule(
        &self,
        schedule: &Schedule,
        (sdfg, state): (&Sdfg, &State),
        tree: &mut Option<ScopeTree>,
        entry: NodeId,
    ) -> Option<Capability> {
        let level = level_of(schedule)?;
        if !self.target.levels.contains(&level) {
            return Some(Capability::Level(level));
        }
        if *schedule != Schedule::Simd {
            return None;
        }
        let tree = tree.get_or_insert_with(|| ScopeTree::of(state));
        structure(sdfg, state, tree, entry).err().map(Capability::Lanes)
    }

    fn add(&mut self, lacks: Capability, what: String, element: Element) {
        let place = ElementPlace { calls: self.calls.clone(), target: element };
        let path = place.path(self.root).unwrap_or_else(|| ElementPath::sdfg(&self.root.name));
        self.found.push(Refusal { lacks, target: self.target.name, what, path });
    }
}

/// A schedule as messages name it.
pub(super) fn promise(schedule: &Schedule) -> String {
    format!("schedule `{}`", schedule.kind().name())
}

/// The level that a schedule asks for, if no other one will do.
fn level_of(schedule: &Schedule) -> Option<LevelKind> {
    match schedule {
        Schedule::Default(_) | Schedule::CpuMulticore(_) | Schedule::Sequential => None,
        Schedule::Simd => Some(LevelKind::Vector),
        Schedule::Unrolled => Some(LevelKind::Unrolled),
        Schedule::GpuGrid(_) => Some(LevelKind::Grid),
        Schedule::GpuBlock(_) => Some(LevelKind::Block),
        Schedule::FpgaDevice => Some(LevelKind::Pipelined),
        Schedule::FpgaReplicated => Some(LevelKind::Replicated),
        Schedule::Mpi => Some(LevelKind::Rank),
    }
}

impl Target {
    /// The missing capability for a storage, if neither its memory nor a substitute exists.
    fn lacks_storage(&self, storage: Storage) -> Option<Capability> {
        let wanted = match storage {
            Storage::Default | Storage::CpuHeap | Storage::CpuThreadLocal => Space::HostHeap,
            // Memory of the host that no device asks for is as good as any other; what code keeps in registers, compilers decide.
            Storage::Register | Storage::CpuPinned if self.spaces.contains(&Space::HostHeap) => return None,
            Storage::File => return Some(Capability::Files),
            Storage::Register
            | Storage::CpuPinned
            | Storage::GpuGlobal
            | Storage::GpuShared
            | Storage::FpgaGlobal
            | Storage::FpgaLocal
            | Storage::FpgaRegister => asked(storage)?,
        };
        (!self.spaces.contains(&wanted)).then_some(Capability::Space(wanted))
    }
}
