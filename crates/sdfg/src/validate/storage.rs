//! Memories: code reaches the containers that it reads and writes.

use super::frame::Frames;
use super::site::{Findings, Site};
use crate::diagnostic::Code;
use crate::ir::{EdgeId, Flow, NodeId, NodeKind, ScheduleKind, Storage};

/// What runs a piece of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Device {
    /// The host.
    #[default]
    Host,
    /// A kernel of a GPU.
    Gpu,
    /// A kernel of an FPGA.
    Fpga,
}

impl Device {
    /// What runs a scope of this schedule inside of this device.
    fn within(self, schedule: ScheduleKind) -> Device {
        match schedule {
            ScheduleKind::GpuGrid | ScheduleKind::GpuBlock => Device::Gpu,
            ScheduleKind::FpgaDevice | ScheduleKind::FpgaReplicated => Device::Fpga,
            ScheduleKind::Default
            | ScheduleKind::Sequential
            | ScheduleKind::Unrolled
            | ScheduleKind::Simd
            | ScheduleKind::CpuMulticore
            | ScheduleKind::Mpi => self,
        }
    }

    const fn noun(self) -> &'static str {
        match self {
            Device::Host => "host code",
            Device::Gpu => "a GPU kernel",
            Device::Fpga => "an FPGA kernel",
        }
    }

    /// Whether code on this device reads and writes single elements of a memory.
    fn reaches(self, storage: Storage) -> bool {
        match storage {
            Storage::Default | Storage::Register => true,
            Storage::CpuHeap | Storage::CpuThreadLocal | Storage::File => self == Device::Host,
            Storage::CpuPinned => self != Device::Fpga,
            Storage::GpuGlobal | Storage::GpuShared => self == Device::Gpu,
            Storage::FpgaGlobal | Storage::FpgaLocal | Storage::FpgaRegister => self == Device::Fpga,
        }
    }

    /// Whether a copy that this device starts reaches a memory.
    fn copies(self, storage: Storage) -> bool {
        let by_host = matches!(storage, Storage::GpuGlobal | Storage::FpgaGlobal);
        self.reaches(storage) || (self == Device::Host && by_host)
    }
}

/// What runs a node, given what runs its state.
pub(super) fn device_at(site: &Site<'_>, frames: &Frames, scope: Option<NodeId>) -> Device {
    let mut entries: Vec<NodeId> = frames.scopes.enclosing_scope(scope).collect();
    entries.reverse();
    entries.into_iter().fold(site.device, |device, entry| match &site.state.node(entry).kind {
        NodeKind::MapEntry(map) => device.within(map.schedule.kind()),
        NodeKind::ConsumeEntry(consume) => device.within(consume.schedule.kind()),
        NodeKind::Access(_)
        | NodeKind::Tasklet(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Nested(_)
        | NodeKind::Reduce(_)
        | NodeKind::Library(_) => device,
    })
}

/// Checks every edge that moves data itself.
pub(super) fn check(site: &Site<'_>, frames: &Frames, findings: &mut Findings) {
    for (id, _) in site.state.edges() {
        if crate::analysis::is_leaf(site.state, id) {
            reach(site, frames, id, findings);
        }
    }
}

fn reach(site: &Site<'_>, frames: &Frames, id: EdgeId, findings: &mut Findings) {
    let edge = site.state.edge(id);
    let device = device_at(site, frames, frames.scopes.scope_of_edge(site.state, id));
    let (code, is_copy) = match &edge.memlet.flow {
        Flow::Read(_) => (edge.dst, false),
        Flow::Write { .. } => (edge.src, false),
        Flow::Copy { .. } => (edge.src, true),
        Flow::Order | Flow::Value | Flow::Bind(_) => return,
    };
    let device = match &site.state.node(code).kind {
        // A call and a library node take the container as it is; what is inside is checked inside.
        NodeKind::Nested(_) | NodeKind::Library(_) => return,
        NodeKind::Reduce(reduce) => device.within(reduce.schedule),
        NodeKind::Access(_)
        | NodeKind::Tasklet(_)
        | NodeKind::MapEntry(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeEntry(_)
        | NodeKind::ConsumeExit(_) => device,
    };
    for access in edge.memlet.accesses() {
        let container = site.sdfg.container(access.container);
        let reaches =
            if is_copy { device.copies(container.storage) } else { device.reaches(container.storage) };
        if !reaches {
            let (name, storage) = (&container.name, container.storage.name());
            let message = format!("`{name}` is in {storage}, which {} does not reach", device.noun());
            let error = site.edge_error(Code::UnreachableStorage, id, message);
            findings.push(
                error.suggest(format!("copy `{name}` to a memory that it reaches, or change the schedule")),
            );
        }
    }
}
