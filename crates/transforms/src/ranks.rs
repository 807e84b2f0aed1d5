//! The number of ranks that a distributed program is for.

use sdfg::ir::{NodeKind, Schedule, Sdfg};

/// The largest number of iterations of a map with the `mpi` schedule, in nested SDFGs too; 1 without such maps. A number
/// that is no constant counts as 4.
///
/// With this many ranks, each rank runs one iteration. The program means the same on every number of ranks.
pub fn useful_ranks(program: &Sdfg) -> u32 {
    let mut most = 1;
    for (_, state) in program.states() {
        for (_, node) in state.nodes() {
            most = most.max(match &node.kind {
                NodeKind::MapEntry(map) if matches!(map.schedule, Schedule::Mpi) => {
                    map.ranges.volume().as_int().map_or(4, |count| u32::try_from(count).unwrap_or(1))
                }
                NodeKind::Nested(nested) => useful_ranks(&nested.sdfg),
                NodeKind::MapEntry(_)
                | NodeKind::MapExit(_)
                | NodeKind::Access(_)
                | NodeKind::Tasklet(_)
                | NodeKind::ConsumeEntry(_)
                | NodeKind::ConsumeExit(_)
                | NodeKind::Reduce(_)
                | NodeKind::Library(_) => 1,
            });
        }
    }
    most
}
