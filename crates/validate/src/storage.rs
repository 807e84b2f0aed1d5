//! Rule: memories. Code must reach the containers that it reads and writes.

use sdfg_graph::analysis::{Device, device_in};
use sdfg_graph::diagnostic::Code;
use sdfg_graph::ir::{EdgeId, Flow, NodeId, NodeKind, Storage};

use super::scope_context::ScopeContexts;
use super::site::{Findings, Site};

/// Name and memories of a device.
trait Reach {
    /// A noun for messages.
    fn noun(self) -> &'static str;

    /// Whether code on this device reads and writes single elements of a memory.
    fn reaches(self, storage: Storage) -> bool;

    /// Whether a copy that this device starts reaches a memory.
    fn copies(self, storage: Storage) -> bool;
}

impl Reach for Device {
    fn noun(self) -> &'static str {
        match self {
            Device::Host => "host code",
            Device::Gpu => "a GPU kernel",
            Device::Fpga => "an FPGA kernel",
        }
    }

    fn reaches(self, storage: Storage) -> bool {
        match storage {
            Storage::Default | Storage::Register => true,
            Storage::CpuHeap | Storage::CpuThreadLocal | Storage::File => self == Device::Host,
            Storage::CpuPinned => self != Device::Fpga,
            Storage::GpuGlobal | Storage::GpuShared => self == Device::Gpu,
            Storage::FpgaGlobal | Storage::FpgaLocal | Storage::FpgaRegister => self == Device::Fpga,
        }
    }

    fn copies(self, storage: Storage) -> bool {
        let by_host = matches!(storage, Storage::GpuGlobal | Storage::FpgaGlobal);
        self.reaches(storage) || (self == Device::Host && by_host)
    }
}

/// Device of the contents of a scope.
pub(super) fn device_at(site: &Site<'_>, frames: &ScopeContexts, scope: Option<NodeId>) -> Device {
    device_in(site.state, &frames.scopes, scope, site.device)
}

/// Checks every edge that moves data itself.
pub(super) fn check(site: &Site<'_>, frames: &ScopeContexts, findings: &mut Findings) {
    for (id, _) in site.state.edges() {
        if sdfg_graph::analysis::is_leaf(site.state, id) {
            reach(site, frames, id, findings);
        }
    }
}

fn reach(site: &Site<'_>, frames: &ScopeContexts, id: EdgeId, findings: &mut Findings) {
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
        NodeKind::Reduce(reduce) => Device::of_schedule(reduce.schedule).unwrap_or(device),
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
