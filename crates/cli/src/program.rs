//! The program that a rewriting command reads, with the options that decide how it is read.

use clap::Args;
use sdfg::ir::Sdfg;

use crate::failure::Failure;
use crate::retarget::RetargetOption;
use crate::source::Source;
use crate::terminal::Terminal;

/// A program on the command line.
#[derive(Args)]
pub(crate) struct Program {
    /// The program; `-` is the standard input.
    #[arg(value_name = "PROGRAM")]
    program: String,
    /// Accept C++ code of DaCe's files as external tasklets. This command does not compile it.
    #[arg(long)]
    allow_external: bool,
    #[command(flatten)]
    retarget: RetargetOption,
}

impl Program {
    /// Reads and validates the program.
    pub(crate) fn read(&self, terminal: Terminal) -> Result<Sdfg, Failure> {
        Ok(self.source()?.validated(terminal)?.sdfg().clone())
    }

    /// Whether C and C++ code of the program is permitted.
    pub(crate) fn allow_external(&self) -> bool {
        self.allow_external
    }

    /// Reads the file.
    pub(crate) fn source(&self) -> Result<Source, Failure> {
        Ok(Source::read(&self.program, self.allow_external)?.retargeted(self.retarget))
    }
}
