//! `--retarget`: other schedules and storages for programs while they are read, shared by all commands that read
//! programs.

use clap::{Args, ValueEnum};
use sdfg::ir::Sdfg;
use sdfg_transforms::retarget::{Change, Machine, retarget};

/// Whether a program gets the schedules and storages of another machine.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct RetargetOption {
    /// Run scopes of other machines on this one: schedules and storages of GPUs and FPGAs become those of the CPU. Each change is
    /// reported. Code that calls functions of a device is not portable.
    #[arg(long, value_enum, value_name = "MACHINE")]
    retarget: Option<Target>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Target {
    /// Threads and memory of the host.
    Cpu,
}

impl RetargetOption {
    /// Whether the command line names a machine.
    pub(crate) fn is_given(self) -> bool {
        self.retarget.is_some()
    }

    /// Changes a program as asked, and returns the changes.
    pub(crate) fn apply(self, sdfg: &mut Sdfg) -> Vec<Change> {
        match self.retarget {
            None => Vec::new(),
            Some(Target::Cpu) => retarget(sdfg, Machine::Cpu),
        }
    }
}
