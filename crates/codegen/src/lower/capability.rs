//! What a program asks for and a target lacks, found before anything is lowered.

use std::fmt;

use sdfg::ir::{BlockKind, NodeId, NodeKind, Schedule, Sdfg, StateId, Storage};
use sdfg::path::{ElementPath, Place, Target as Element};

use super::space::asked;
use super::target::Target;
use crate::plan::{LevelKind, Space};

/// What a target may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Hardware that runs loops of a level.
    Level(LevelKind),
    /// A memory.
    Space(Space),
    /// Memory that outlives programs.
    Files,
}

impl Capability {
    /// A stable name for what is missing, as findings of validation have them.
    pub const fn code(self) -> &'static str {
        match self {
            Capability::Level(_) => "T001",
            Capability::Space(_) | Capability::Files => "T002",
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Capability::Level(level) => write!(f, "loops of level `{}`", level.name()),
            Capability::Space(space) => write!(f, "memory `{space}`"),
            Capability::Files => f.write_str("containers in files"),
        }
    }
}

/// Something of a program that a target does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What the target lacks.
    pub lacks: Capability,
    /// What messages call the target.
    pub target: &'static str,
    /// What asks for it, as a noun phrase.
    pub what: String,
    /// Where that is.
    pub path: ElementPath,
}

impl Refusal {
    /// What is asked for and why it is refused, without the place.
    pub fn message(&self) -> String {
        format!("{} is not supported in native code: a {} has no {}", self.what, self.target, self.lacks)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, code) = (&self.path, self.lacks.code());
        write!(f, "{path}: {} ({code}); `sdfg interpret` runs it", self.message())
    }
}

/// Everything in a program that a target does not run, in the order of its elements. Nothing of it is about sizes or indices: what
/// lowering finds out later is not here.
pub fn refusals(sdfg: &Sdfg, target: &Target) -> Vec<Refusal> {
    let mut search = Search { root: sdfg, target, calls: Vec::new(), found: Vec::new() };
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
            for (id, node) in sdfg.state(state).nodes() {
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
                if let Some(schedule) = schedule
                    && let Some(level) =
                        level_of(schedule).filter(|level| !self.target.levels.contains(level))
                {
                    let what = format!("schedule `{}`", schedule.kind().name());
                    self.add(Capability::Level(level), what, Element::Node(state, id));
                }
                if let NodeKind::Nested(call) = &node.kind {
                    self.calls.push((state, id));
                    self.sdfg(&call.sdfg);
                    self.calls.pop();
                }
            }
        }
    }

    fn add(&mut self, lacks: Capability, what: String, element: Element) {
        let place = Place { calls: self.calls.clone(), target: element };
        let path = place.path(self.root).unwrap_or_else(|| ElementPath::sdfg(&self.root.name));
        self.found.push(Refusal { lacks, target: self.target.name, what, path });
    }
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
    /// What is missing for a storage where neither its memory is there nor other memory serves as well.
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
