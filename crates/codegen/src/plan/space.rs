//! Memory spaces of buffers.

use std::fmt;

/// A memory of the machine.
///
/// Where a buffer's memory comes from and for how long is its [`Allocation`](super::Allocation); which memory that is, and so who reaches it,
/// is its space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// Memory of the host that every thread reaches.
    HostHeap,
    /// The stack of a thread of the host. Other threads reach it while that thread waits for them.
    Stack,
    /// Memory of the host that devices reach, too.
    Pinned,
    /// Memory of a device that all of its blocks reach.
    DeviceGlobal,
    /// Memory of a device that the threads of one block share.
    BlockShared,
    /// Registers of one thread of a device, or memory that it alone reaches.
    Register,
    /// Constants, which every function reaches and none writes.
    Constant,
    /// Memory of one rank of a distributed program.
    RankLocal,
}

impl Space {
    /// Every space.
    pub const ALL: [Space; 8] = [
        Space::HostHeap,
        Space::Stack,
        Space::Pinned,
        Space::DeviceGlobal,
        Space::BlockShared,
        Space::Register,
        Space::Constant,
        Space::RankLocal,
    ];

    /// The word for it in the text of plans.
    pub const fn name(self) -> &'static str {
        match self {
            Space::HostHeap => "heap",
            Space::Stack => "stack",
            Space::Pinned => "pinned",
            Space::DeviceGlobal => "device",
            Space::BlockShared => "shared",
            Space::Register => "register",
            Space::Constant => "constant",
            Space::RankLocal => "rank",
        }
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
