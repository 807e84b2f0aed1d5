//! Device of a piece of a program: the host, or the device that the surrounding schedules name.
//!
//! ```
//! # use sdfg_graph as sdfg;
//! use sdfg::analysis::{Device, ScopeTree, device_of};
//!
//! let text = "sdfg p {
//!   array A: f64[4]
//!
//!   state s {
//!     access A
//!     map m [i = 0:4] schedule(gpu_grid) {
//!       tasklet t () -> (y) { y = 1 }
//!       t.y -> m.A: A[i]
//!     }
//!     m.A -> A
//!   }
//! }";
//! let program = sdfg::text::parse("p.sdft", text).expect("a program");
//! let (_, state) = program.states().next().expect("a state");
//! let (tree, node) = (ScopeTree::of(state), |label| state.find(label).expect("a node"));
//! assert_eq!(device_of(state, &tree, node("t"), Device::Host), Device::Gpu);
//! assert_eq!(device_of(state, &tree, node("m"), Device::Host), Device::Host);
//! ```

use super::scope_tree::ScopeTree;
use crate::ir::{NodeId, NodeKind, ScheduleKind, State};

/// Device of a piece of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Device {
    /// The host.
    #[default]
    Host,
    /// A kernel of a GPU.
    Gpu,
    /// A kernel of an FPGA.
    Fpga,
}

impl Device {
    /// The device that a schedule names; `None` if the scope runs where it is.
    pub const fn of_schedule(schedule: ScheduleKind) -> Option<Device> {
        match schedule {
            ScheduleKind::GpuGrid | ScheduleKind::GpuBlock => Some(Device::Gpu),
            ScheduleKind::FpgaDevice | ScheduleKind::FpgaReplicated => Some(Device::Fpga),
            ScheduleKind::Default
            | ScheduleKind::Sequential
            | ScheduleKind::Unrolled
            | ScheduleKind::Simd
            | ScheduleKind::CpuMulticore
            | ScheduleKind::Mpi => None,
        }
    }
}

/// Device of the contents of a scope (`None`: the top of the state), given the device of the state.
pub fn device_in(state: &State, tree: &ScopeTree, scope: Option<NodeId>, outside: Device) -> Device {
    let of_entry = |entry: NodeId| match &state.node(entry).kind {
        NodeKind::MapEntry(map) => Device::of_schedule(map.schedule.kind()),
        NodeKind::ConsumeEntry(consume) => Device::of_schedule(consume.schedule.kind()),
        NodeKind::Access(_)
        | NodeKind::Tasklet(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Nested(_)
        | NodeKind::Reduce(_)
        | NodeKind::Library(_) => None,
    };
    // The innermost scope that names one decides.
    tree.enclosing_scope(scope).find_map(of_entry).unwrap_or(outside)
}

/// Device of a node, given the device of the state. The entry and exit of a scope run outside of it, and a
/// reduction has its own schedule.
pub fn device_of(state: &State, tree: &ScopeTree, node: NodeId, outside: Device) -> Device {
    let around = device_in(state, tree, tree.scope_of(node), outside);
    let NodeKind::Reduce(reduce) = &state.node(node).kind else { return around };
    Device::of_schedule(reduce.schedule).unwrap_or(around)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    #[test]
    fn the_innermost_schedule_that_names_a_device_decides() {
        let program = text::parse(
            "p.sdft",
            "sdfg p {
  array A: f64[4, 4, 4]

  state s {
    access A
    map outer [i = 0:4] schedule(fpga_device) {
      map middle [j = 0:4] schedule(gpu_grid) {
        map inner [k = 0:4] schedule(sequential) {
          tasklet t () -> (y) { y = 1 }
          t.y -> inner.A: A[i, j, k]
        }
        inner.A -> middle.A
      }
      middle.A -> outer.A
    }
    outer.A -> A
  }
}",
        )
        .unwrap();
        let (_, state) = program.states().next().unwrap();
        let tree = ScopeTree::of(state);
        let of = |label: &str| device_of(state, &tree, state.find(label).unwrap(), Device::Host);
        assert_eq!([of("outer"), of("middle")], [Device::Host, Device::Fpga]);
        assert_eq!([of("inner"), of("t")], [Device::Gpu, Device::Gpu]);
    }
}
