//! Selection of the graph elements that are timed, if timers are requested.

use std::fmt;

use super::Lowering;
use crate::plan::{Region, RegionId, RegionKind, Statement};

/// Which elements of a program are timed; each level has those of the levels before it, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProfileLevel {
    /// The program as a whole.
    Program,
    /// States, loops and branches.
    Block,
    /// Maps and consume scopes, and the part of each thread.
    Map,
    /// Tasklets.
    Tasklet,
}

impl ProfileLevel {
    /// Every level, from the coarsest to the finest.
    pub const ALL: [ProfileLevel; 4] =
        [ProfileLevel::Program, ProfileLevel::Block, ProfileLevel::Map, ProfileLevel::Tasklet];

    /// The name on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            ProfileLevel::Program => "program",
            ProfileLevel::Block => "block",
            ProfileLevel::Map => "map",
            ProfileLevel::Tasklet => "tasklet",
        }
    }

    /// Whether elements of a kind are timed.
    const fn includes(self, kind: RegionKind) -> bool {
        let needed = match kind {
            RegionKind::Program => ProfileLevel::Program,
            RegionKind::Block => ProfileLevel::Block,
            RegionKind::Map | RegionKind::Consume | RegionKind::Part => ProfileLevel::Map,
            RegionKind::Tasklet => ProfileLevel::Tasklet,
        };
        self as u8 >= needed as u8
    }
}

impl fmt::Display for ProfileLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a program is to measure of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instrumentation {
    /// What is timed.
    pub level: ProfileLevel,
    /// Whether the processor's event counters are read with each timer; that takes a system call each time.
    pub counters: bool,
}

impl Lowering<'_> {
    /// A new region of the plan, if elements of its kind are timed.
    pub(super) fn timer(&mut self, kind: RegionKind, path: &str) -> Option<RegionId> {
        self.options.instrumentation.filter(|asked| asked.level.includes(kind))?;
        let profile = self.plan.profile.as_mut()?;
        let id = RegionId(profile.regions.len() as u32);
        profile.regions.push(Region { path: path.to_owned(), kind });
        Some(id)
    }
}

/// The statements with their timer, if they have one.
pub(super) fn timed(region: Option<RegionId>, body: Vec<Statement>) -> Vec<Statement> {
    match region {
        Some(region) => vec![Statement::Timed { region, body }],
        None => body,
    }
}
