//! The interface of a distributed program, which runs on the ranks of MPI.

use std::collections::BTreeMap;

/// What callers of a distributed program know besides its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// The least number of ranks.
    pub least: u32,
    /// Arguments of which each rank passes what it holds, with their distributions as the text form writes them. The shape of such
    /// an argument in the interface is that of the whole.
    pub parts: BTreeMap<String, String>,
}

/// Functions that the library of a distributed program exports besides those of [`EntryPoint`](super::EntryPoint).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RankEntry {
    /// `NAME_run_whole(handle, arguments...)`: rank 0 passes whole arrays.
    RunWhole,
    /// `NAME__invoke_whole(handle, pointers to arguments)`: the same behind a signature that does not depend on the program.
    InvokeWhole,
    /// `NAME_rank(handle)`: the rank of the caller.
    Rank,
    /// `NAME_ranks(handle)`: the number of ranks.
    Ranks,
    /// `NAME_local_offset(handle, argument, dimension, symbols...)`: the first position that the memory of the rank holds.
    LocalOffset,
    /// `NAME_local_extent(...)`: the number of positions that the memory of the rank holds.
    LocalExtent,
    /// `NAME_own_offset(...)`: the first position of the rank's own elements.
    OwnOffset,
    /// `NAME_own_extent(...)`: the number of positions of the rank's own elements.
    OwnExtent,
    /// `NAME__bound(handle, argument, dimension, symbols, which)`: these four behind a signature that does not depend on the program.
    Bound,
}

impl RankEntry {
    /// Every function.
    pub const ALL: [RankEntry; 9] = [
        RankEntry::RunWhole,
        RankEntry::InvokeWhole,
        RankEntry::Rank,
        RankEntry::Ranks,
        RankEntry::LocalOffset,
        RankEntry::LocalExtent,
        RankEntry::OwnOffset,
        RankEntry::OwnExtent,
        RankEntry::Bound,
    ];

    /// The functions that tell positions, in the order of their numbers for [`RankEntry::Bound`].
    pub const BOUNDS: [RankEntry; 4] =
        [RankEntry::LocalOffset, RankEntry::LocalExtent, RankEntry::OwnOffset, RankEntry::OwnExtent];

    /// Suffix of the program's name in the exported symbol.
    pub const fn suffix(self) -> &'static str {
        match self {
            RankEntry::RunWhole => "_run_whole",
            RankEntry::InvokeWhole => "__invoke_whole",
            RankEntry::Rank => "_rank",
            RankEntry::Ranks => "_ranks",
            RankEntry::LocalOffset => "_local_offset",
            RankEntry::LocalExtent => "_local_extent",
            RankEntry::OwnOffset => "_own_offset",
            RankEntry::OwnExtent => "_own_extent",
            RankEntry::Bound => "__bound",
        }
    }
}
