//! `sdfg optimize`: transformations that a cost model selects.

mod gains;

use std::num::NonZeroU32;

use clap::Args;
use sdfg::ir::Sdfg;
use sdfg::symbolic::Symbol;
use sdfg::validate::validate;
use sdfg_transforms::auto::{Decision, Target, optimize, optimize_watched};
use sdfg_transforms::strategy::model::Machine;
use sdfg_transforms::{Pipeline, Soundness};

use crate::data::{DataOptions, Input, SymbolValue, check_extents, check_symbols};
use crate::failure::Failure;
use crate::measure::{Clock, Measure};
use crate::native::{Floats, NativeOptions, positive};
use crate::output::check_outputs;
use crate::program::Program;
use crate::strategy::read_machine;
use crate::terminal::Terminal;
use crate::transform::{finish, save_chain};
use crate::verify::{unverified, verifier};
use gains::Gains;

/// Apply the transformations that a cost model selects for processors, and print the result as text.
///
/// Sizes and machine decide on speed only: the program stays right for all sizes.
#[derive(Args)]
#[command(after_help = "Examples:\n  sdfg optimize gemm.sdft --set N=2048 --explain -o fast.sdft\n  \
                        sdfg optimize gemm.sdft --set N=2048 --record gemm.chain.json -o fast.sdft\n  \
                        sdfg optimize gemm.sdft --set N=500 --explain --measure --threads 1 -o fast.sdft")]
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
    /// With --explain: run the program before and after each decision at the given sizes, and print the measured times, too. What is kept
    /// does not depend on them.
    #[arg(long, requires = "explain")]
    measure: bool,
    /// With --measure: the number of threads.
    #[arg(long, value_name = "N", value_parser = positive, requires = "measure")]
    threads: Option<NonZeroU32>,
    /// With --measure: the time that processors spend on all threads, instead of the time that passes.
    #[arg(long, requires = "measure")]
    cpu_time: bool,
    /// With --measure: the floating-point mode.
    #[arg(long, value_enum, value_name = "MODE", requires = "measure")]
    float_mode: Option<Floats>,
    /// With --measure: the contents of an argument, as for `sdfg run`.
    #[arg(long = "input", short, value_name = "NAME=FILE|PATTERN", requires = "measure")]
    inputs: Vec<Input>,
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
        check_outputs(self.output.as_deref(), &[("--record", self.record.as_deref())])?;
        let machine = self.machine.as_deref().map_or(Ok(Machine::default()), read_machine)?;
        let before = self.program.read(terminal)?;
        check_symbols(&before, "--set", &self.sizes)?;
        let sizes = self.sizes.iter().map(|given| (Symbol::of(&given.name), given.value)).collect();
        check_extents(&before, &sizes)?;
        let verifier = if self.verify { Some(verifier(&before, &[])?) } else { None };
        let mut pipeline = Pipeline::on(before);
        let (registry, target) = (sdfg_library::transformations(), Target { machine, sizes });
        if self.measure {
            self.measured(&mut pipeline, &target, terminal)?;
        } else if self.explain {
            let decisions = optimize(&mut pipeline, &registry, &target);
            let lines: String = decisions.iter().map(|decision| format!("{decision}\n")).collect();
            terminal.message(&lines);
        } else {
            optimize(&mut pipeline, &registry, &target);
        }
        if let Some(Err(difference)) =
            verifier.map(|verifier| verifier.check(pipeline.program(), Soundness::ChangesRounding))
        {
            if difference.is_limit() {
                return Err(unverified("the optimised program", &difference));
            }
            return Err(Failure::program(format_args!(
                "the optimised program gives other results: {difference}"
            ))
            .help("this is a fault of a transformation: report it with the program"));
        }
        if let Some(file) = &self.record {
            save_chain(&pipeline.chain(), file)?;
        }
        finish(pipeline, self.output.as_deref())
    }

    /// Optimises, and then measures the program before and after each decision.
    fn measured(&self, pipeline: &mut Pipeline, target: &Target, terminal: Terminal) -> Result<(), Failure> {
        let native = NativeOptions::of(self.threads, self.float_mode, self.program.allow_external())?;
        let given = validate(pipeline.program().clone()).map_err(Failure::program)?;
        let data = DataOptions::of_inputs(&self.sizes, &self.inputs);
        let measure = Measure::of((&native, Clock::of(self.cpu_time)), &given, &data, terminal)?;
        let mut decisions: Vec<(Decision, [Sdfg; 2])> = Vec::new();
        let registry = sdfg_library::transformations();
        optimize_watched(pipeline, &registry, target, &mut |decision, programs| {
            decisions.push((decision.clone(), programs));
        });
        let mut gains = Gains::new(&measure);
        for (decision, [before, after]) in &decisions {
            gains.tell(decision, [before, after], terminal)?;
        }
        gains.total([given.sdfg(), pipeline.program()], terminal)
    }
}
