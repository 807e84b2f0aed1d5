//! `sdfg optimize`: transformations that a cost model selects.

use clap::Args;
use sdfg::symbolic::Symbol;
use sdfg_transforms::auto::{Target, optimize};
use sdfg_transforms::strategy::model::Machine;
use sdfg_transforms::{Pipeline, Soundness};

use crate::data::{SymbolValue, check_extents, check_symbols};
use crate::failure::Failure;
use crate::output::Destination;
use crate::program::Program;
use crate::strategy::read_machine;
use crate::terminal::Terminal;
use crate::transform::{finish, wrong_chain};
use crate::verify::verifier;

/// Apply the transformations that a cost model selects for processors, and print the result as text.
///
/// Sizes and machine decide on speed only: the program stays right for all sizes.
#[derive(Args)]
#[command(after_help = "Examples:\n  sdfg optimize gemm.sdft --set N=2048 --explain -o fast.sdft\n  \
                        sdfg optimize gemm.sdft --set N=2048 --record gemm.chain.json -o fast.sdft")]
pub(crate) struct Optimize {
    #[command(flatten)]
    program: Program,
    /// The size to optimise for; a symbol without one is taken for 1000.
    #[arg(long = "set", value_name = "SYMBOL=VALUE")]
    sizes: Vec<SymbolValue>,
    /// The machine to optimise for; the default is a set of unmeasured round numbers.
    #[arg(long, value_name = "FILE")]
    machine: Option<String>,
    /// Print each decision with the predicted times.
    #[arg(long)]
    explain: bool,
    /// Run the interpreter on the program before and after, on the same inputs, and stop if results differ. Inputs are searched for.
    #[arg(long)]
    verify: bool,
    /// Write the kept transformations to this file, as a chain that `sdfg chain apply` replays.
    #[arg(long, value_name = "FILE")]
    record: Option<String>,
    /// The output file; the default is the standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<String>,
}

impl Optimize {
    pub(crate) fn execute(&self, terminal: Terminal) -> Result<(), Failure> {
        for written in [&self.output, &self.record] {
            Destination::new(written.as_deref()).check()?;
        }
        let machine = self.machine.as_deref().map_or(Ok(Machine::default()), read_machine)?;
        let before = self.program.read(terminal)?;
        check_symbols(&before, "--set", &self.sizes)?;
        let sizes = self.sizes.iter().map(|given| (Symbol::of(&given.name), given.value)).collect();
        check_extents(&before, &sizes)?;
        let verifier = if self.verify { Some(verifier(&before, &[])?) } else { None };
        let mut pipeline = Pipeline::on(before);
        let decisions = optimize(&mut pipeline, &sdfg_library::transformations(), &Target { machine, sizes });
        if self.explain {
            let lines: String = decisions.iter().map(|decision| format!("{decision}\n")).collect();
            terminal.message(&lines);
        }
        if let Some(Err(difference)) =
            verifier.map(|verifier| verifier.check(pipeline.program(), Soundness::ChangesRounding))
        {
            return Err(Failure::program(format_args!(
                "the optimised program gives other results: {difference}"
            ))
            .help("this is a fault of a transformation: report it with the program"));
        }
        if let Some(file) = &self.record {
            pipeline.chain().save(file).map_err(wrong_chain)?;
        }
        finish(pipeline, self.output.as_deref())
    }
}
