//! Colours: by memory for containers, by schedule for scopes.

use sdfg_graph::ir::{NodeKind, ScheduleKind, Storage};

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
pub(super) const fn schedule(schedule: ScheduleKind) -> &'static str {
    match schedule {
        ScheduleKind::Default => "#eceff1",
        ScheduleKind::Sequential => "#cfd8dc",
        ScheduleKind::Unrolled => "#b0bec5",
        ScheduleKind::Simd => "#b2dfdb",
        ScheduleKind::CpuMulticore => "#b3e5fc",
        ScheduleKind::GpuGrid => "#c5e1a5",
        ScheduleKind::GpuBlock => "#9ccc65",
        ScheduleKind::FpgaDevice => "#ffcc80",
        ScheduleKind::FpgaReplicated => "#ffb74d",
        ScheduleKind::Mpi => "#f8bbd0",
    }
}

/// The schedule of a scope or reduction.
pub(super) fn schedule_of(kind: &NodeKind) -> Option<ScheduleKind> {
    match kind {
        NodeKind::MapEntry(map) => Some(map.schedule.kind()),
        NodeKind::ConsumeEntry(consume) => Some(consume.schedule.kind()),
        NodeKind::Reduce(reduce) => Some(reduce.schedule),
        NodeKind::Access(_)
        | NodeKind::Tasklet(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Nested(_)
        | NodeKind::Library(_) => None,
    }
}
