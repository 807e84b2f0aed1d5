//! Colours: by memory for containers, by schedule for scopes.

use crate::ir::{NodeKind, Schedule, Storage};

/// Fill of a container's node.
pub(super) const fn storage(storage: Storage) -> &'static str {
    match storage {
        Storage::Default => "#ffffff",
        Storage::Register => "#ede7f6",
        Storage::CpuHeap => "#e3f2fd",
        Storage::CpuThreadLocal => "#e0f7fa",
        Storage::CpuPinned => "#bbdefb",
        Storage::GpuGlobal => "#dcedc8",
        Storage::GpuShared => "#aed581",
        Storage::FpgaGlobal => "#ffe0b2",
        Storage::FpgaLocal => "#ffcc80",
        Storage::FpgaRegister => "#ffb74d",
        Storage::File => "#d7ccc8",
    }
}

/// Fill of the border nodes of a scope; its inside is the same colour, mostly transparent.
pub(super) const fn schedule(schedule: Schedule) -> &'static str {
    match schedule {
        Schedule::Default => "#eceff1",
        Schedule::Sequential => "#cfd8dc",
        Schedule::Unrolled => "#b0bec5",
        Schedule::Simd => "#b2dfdb",
        Schedule::CpuMulticore => "#b3e5fc",
        Schedule::GpuGrid => "#c5e1a5",
        Schedule::GpuBlock => "#9ccc65",
        Schedule::FpgaDevice => "#ffcc80",
        Schedule::FpgaReplicated => "#ffb74d",
        Schedule::Mpi => "#f8bbd0",
    }
}

/// The schedule of a scope or reduction.
pub(super) fn schedule_of(kind: &NodeKind) -> Option<Schedule> {
    match kind {
        NodeKind::MapEntry(map) => Some(map.schedule),
        NodeKind::ConsumeEntry(consume) => Some(consume.schedule),
        NodeKind::Reduce(reduce) => Some(reduce.schedule),
        NodeKind::Access(_)
        | NodeKind::Tasklet(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Nested(_)
        | NodeKind::Library(_) => None,
    }
}
