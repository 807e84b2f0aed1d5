//! Schedules of scopes.
//!
//! A [`Schedule`] is a level of the machine with the attributes of this level. A [`ScheduleKind`] is the
//! level alone. Readers collect [`ScheduleAttributes`] before they know the level, and [`Schedule::with`]
//! combines both.

use sdfg_language::symbolic::Expr;

/// Executor of the iterations of a map or the processing elements of a consume scope (paper section 3.3),
/// without attributes.
///
/// The iterations are concurrent by meaning; a schedule chooses how a target carries them out and never changes results
/// of a program that is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum ScheduleKind {
    /// Threads of the host at the outermost level, sequential inside.
    #[default]
    Default,
    /// One after the other.
    Sequential,
    /// Copied out, one body for each iteration.
    Unrolled,
    /// Lanes of a vector unit.
    Simd,
    /// Threads of the host (OpenMP).
    CpuMulticore,
    /// Blocks of a GPU kernel.
    GpuGrid,
    /// Threads of one GPU block.
    GpuBlock,
    /// A kernel of an FPGA.
    FpgaDevice,
    /// Processing elements of an FPGA, side by side.
    FpgaReplicated,
    /// Ranks of a distributed program.
    Mpi,
}

impl ScheduleKind {
    /// Every kind of schedule, in order of declaration.
    pub const ALL: [ScheduleKind; 10] = [
        ScheduleKind::Default,
        ScheduleKind::Sequential,
        ScheduleKind::Unrolled,
        ScheduleKind::Simd,
        ScheduleKind::CpuMulticore,
        ScheduleKind::GpuGrid,
        ScheduleKind::GpuBlock,
        ScheduleKind::FpgaDevice,
        ScheduleKind::FpgaReplicated,
        ScheduleKind::Mpi,
    ];

    /// The name in text programs and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            ScheduleKind::Default => "default",
            ScheduleKind::Sequential => "sequential",
            ScheduleKind::Unrolled => "unrolled",
            ScheduleKind::Simd => "simd",
            ScheduleKind::CpuMulticore => "cpu_multicore",
            ScheduleKind::GpuGrid => "gpu_grid",
            ScheduleKind::GpuBlock => "gpu_block",
            ScheduleKind::FpgaDevice => "fpga_device",
            ScheduleKind::FpgaReplicated => "fpga_replicated",
            ScheduleKind::Mpi => "mpi",
        }
    }
}

/// A level that runs the iterations of a scope, with the attributes of this level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Threads of the host at the outermost level, which the attributes are for; sequential inside.
    Default(Team),
    /// One after the other.
    Sequential,
    /// Copied out, one body for each iteration.
    Unrolled,
    /// Lanes of a vector unit.
    Simd,
    /// Threads of the host (OpenMP).
    CpuMulticore(Team),
    /// Blocks of a GPU kernel.
    GpuGrid(BlockShape),
    /// Threads of one GPU block.
    GpuBlock(BlockShape),
    /// A kernel of an FPGA.
    FpgaDevice,
    /// Processing elements of an FPGA, side by side.
    FpgaReplicated,
    /// Ranks of a distributed program.
    Mpi,
}

/// Distribution of iterations to a team of threads; the default leaves it to the compiler.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Team {
    /// Rule of distribution.
    pub sharing: OpenMpSchedule,
    /// Iterations handed out at a time.
    pub chunk: Option<Expr>,
    /// Number of threads.
    pub threads: Option<Expr>,
    /// Number of leading map dimensions in the shared iteration space; `None` leaves it to the compiler.
    pub collapse: Option<u32>,
    /// Most threads of the team that each thread around a map starts for it; `None` has the map run in
    /// sequence there. A map without threads around it does not use this.
    pub nested: Option<Expr>,
}

/// The blocks that a GPU kernel is cut into; the default leaves them to the compiler.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct BlockShape {
    /// Threads of a block in each dimension, innermost dimension first as in CUDA; empty if the compiler chooses.
    pub extents: Vec<Expr>,
}

/// OpenMP's rules for distributing iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum OpenMpSchedule {
    /// Equal parts, fixed before the loop.
    #[default]
    Static,
    /// Chunks, taken when a thread is free.
    Dynamic,
    /// Chunks that shrink as the loop nears its end.
    Guided,
}

impl OpenMpSchedule {
    /// Every kind of sharing, in order of declaration.
    pub const ALL: [OpenMpSchedule; 3] =
        [OpenMpSchedule::Static, OpenMpSchedule::Dynamic, OpenMpSchedule::Guided];

    /// The name in text programs and JSON, and OpenMP's.
    pub const fn name(self) -> &'static str {
        match self {
            OpenMpSchedule::Static => "static",
            OpenMpSchedule::Dynamic => "dynamic",
            OpenMpSchedule::Guided => "guided",
        }
    }
}

/// Attributes of a scope before its schedule is known; an absent one leaves the choice to the compiler.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ScheduleAttributes {
    /// See [`Team::sharing`].
    pub sharing: Option<OpenMpSchedule>,
    /// See [`Team::chunk`].
    pub chunk: Option<Expr>,
    /// See [`Team::threads`].
    pub threads: Option<Expr>,
    /// See [`Team::collapse`].
    pub collapse: Option<u32>,
    /// See [`Team::nested`].
    pub nested: Option<Expr>,
    /// See [`BlockShape::extents`].
    pub block: Option<Vec<Expr>>,
}

/// An attribute that a schedule does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{attribute}` does not belong to the schedule `{}`; it belongs to {}",
    .schedule.name(),
    .owners.iter().map(|owner| format!("`{}`", owner.name())).collect::<Vec<_>>().join(" and ")
)]
pub struct ForeignAttribute {
    /// The attribute, as the text form names it.
    pub attribute: &'static str,
    /// The schedule that does not have it.
    pub schedule: ScheduleKind,
    /// The schedules that have it.
    pub owners: &'static [ScheduleKind],
}

impl ScheduleAttributes {
    /// The schedules that a team of threads runs.
    const OF_TEAM: &'static [ScheduleKind] = &[ScheduleKind::Default, ScheduleKind::CpuMulticore];

    /// The schedules that blocks of a GPU run.
    const OF_BLOCK: &'static [ScheduleKind] = &[ScheduleKind::GpuGrid, ScheduleKind::GpuBlock];

    /// The attributes that are present, as the text form names them, and the schedules that each belongs to.
    fn present(&self) -> impl Iterator<Item = (&'static str, &'static [ScheduleKind])> {
        let all = [
            (self.sharing.is_some() || self.chunk.is_some(), "sharing", Self::OF_TEAM),
            (self.threads.is_some(), "threads", Self::OF_TEAM),
            (self.collapse.is_some(), "collapse", Self::OF_TEAM),
            (self.nested.is_some(), "nested", Self::OF_TEAM),
            (self.block.is_some(), "block", Self::OF_BLOCK),
        ];
        all.into_iter().filter(|(is_present, ..)| *is_present).map(|(_, name, owners)| (name, owners))
    }
}

impl Schedule {
    /// A schedule with the given attributes.
    ///
    /// # Errors
    /// The first attribute that does not belong to it.
    pub fn with(kind: ScheduleKind, attributes: ScheduleAttributes) -> Result<Self, ForeignAttribute> {
        if let Some((attribute, owners)) = attributes.present().find(|(_, owners)| !owners.contains(&kind)) {
            return Err(ForeignAttribute { attribute, schedule: kind, owners });
        }
        let mut schedule = Schedule::from(kind);
        match &mut schedule {
            Schedule::Default(team) | Schedule::CpuMulticore(team) => {
                *team = Team {
                    sharing: attributes.sharing.unwrap_or_default(),
                    chunk: attributes.chunk,
                    threads: attributes.threads,
                    collapse: attributes.collapse,
                    nested: attributes.nested,
                };
            }
            Schedule::GpuGrid(block) | Schedule::GpuBlock(block) => {
                block.extents = attributes.block.unwrap_or_default();
            }
            Schedule::Sequential
            | Schedule::Unrolled
            | Schedule::Simd
            | Schedule::FpgaDevice
            | Schedule::FpgaReplicated
            | Schedule::Mpi => {}
        }
        Ok(schedule)
    }

    /// The level, without its attributes.
    pub const fn kind(&self) -> ScheduleKind {
        match self {
            Schedule::Default(_) => ScheduleKind::Default,
            Schedule::Sequential => ScheduleKind::Sequential,
            Schedule::Unrolled => ScheduleKind::Unrolled,
            Schedule::Simd => ScheduleKind::Simd,
            Schedule::CpuMulticore(_) => ScheduleKind::CpuMulticore,
            Schedule::GpuGrid(_) => ScheduleKind::GpuGrid,
            Schedule::GpuBlock(_) => ScheduleKind::GpuBlock,
            Schedule::FpgaDevice => ScheduleKind::FpgaDevice,
            Schedule::FpgaReplicated => ScheduleKind::FpgaReplicated,
            Schedule::Mpi => ScheduleKind::Mpi,
        }
    }

    /// Attributes of the team of threads, if one runs this schedule.
    pub const fn team(&self) -> Option<&Team> {
        match self {
            Schedule::Default(team) | Schedule::CpuMulticore(team) => Some(team),
            Schedule::Sequential
            | Schedule::Unrolled
            | Schedule::Simd
            | Schedule::GpuGrid(_)
            | Schedule::GpuBlock(_)
            | Schedule::FpgaDevice
            | Schedule::FpgaReplicated
            | Schedule::Mpi => None,
        }
    }

    /// Extents of GPU blocks, if blocks run this schedule.
    pub const fn block(&self) -> Option<&BlockShape> {
        match self {
            Schedule::GpuGrid(block) | Schedule::GpuBlock(block) => Some(block),
            Schedule::Default(_)
            | Schedule::Sequential
            | Schedule::Unrolled
            | Schedule::Simd
            | Schedule::CpuMulticore(_)
            | Schedule::FpgaDevice
            | Schedule::FpgaReplicated
            | Schedule::Mpi => None,
        }
    }

    /// The attributes that differ from their defaults.
    pub fn attributes(&self) -> ScheduleAttributes {
        let team = self.team();
        ScheduleAttributes {
            sharing: team.map(|team| team.sharing).filter(|sharing| *sharing != OpenMpSchedule::default()),
            chunk: team.and_then(|team| team.chunk.clone()),
            threads: team.and_then(|team| team.threads.clone()),
            collapse: team.and_then(|team| team.collapse),
            nested: team.and_then(|team| team.nested.clone()),
            block: self.block().map(|block| block.extents.clone()).filter(|extents| !extents.is_empty()),
        }
    }

    /// The symbolic attributes.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let of_team = self
            .team()
            .into_iter()
            .flat_map(|team| team.chunk.iter().chain(&team.threads).chain(&team.nested));
        of_team.chain(self.block().into_iter().flat_map(|block| &block.extents))
    }

    /// The symbolic attributes, to be changed.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Schedule::Default(team) | Schedule::CpuMulticore(team) => {
                team.chunk.iter_mut().chain(&mut team.threads).chain(&mut team.nested).collect()
            }
            Schedule::GpuGrid(block) | Schedule::GpuBlock(block) => block.extents.iter_mut().collect(),
            Schedule::Sequential
            | Schedule::Unrolled
            | Schedule::Simd
            | Schedule::FpgaDevice
            | Schedule::FpgaReplicated
            | Schedule::Mpi => Vec::new(),
        }
    }
}

impl Default for Schedule {
    fn default() -> Self {
        ScheduleKind::default().into()
    }
}

/// A schedule whose attributes are left to the compiler.
impl From<ScheduleKind> for Schedule {
    fn from(kind: ScheduleKind) -> Self {
        match kind {
            ScheduleKind::Default => Schedule::Default(Team::default()),
            ScheduleKind::Sequential => Schedule::Sequential,
            ScheduleKind::Unrolled => Schedule::Unrolled,
            ScheduleKind::Simd => Schedule::Simd,
            ScheduleKind::CpuMulticore => Schedule::CpuMulticore(Team::default()),
            ScheduleKind::GpuGrid => Schedule::GpuGrid(BlockShape::default()),
            ScheduleKind::GpuBlock => Schedule::GpuBlock(BlockShape::default()),
            ScheduleKind::FpgaDevice => Schedule::FpgaDevice,
            ScheduleKind::FpgaReplicated => Schedule::FpgaReplicated,
            ScheduleKind::Mpi => Schedule::Mpi,
        }
    }
}
