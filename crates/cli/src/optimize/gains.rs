//! `sdfg optimize --measure`: the time of the program before and after each decision.

use std::time::Duration;

use sdfg::ir::Sdfg;
use sdfg::text;
use sdfg_transforms::Soundness;
use sdfg_transforms::auto::Decision;
use sdfg_transforms::tune::{Bench, Comparison, Point, Unfit, compare};

use crate::failure::Failure;
use crate::measure::{Loaded, Measure};
use crate::terminal::Terminal;
use crate::tune::milliseconds;

/// Turns of two programs.
const TURNS: usize = 7;

/// Measures decisions.
pub(super) struct Gains<'g> {
    measure: &'g Measure<'g>,
    /// The program that was measured last with its text: often the next decision begins with it.
    last: Option<(String, Loaded)>,
}

impl<'g> Gains<'g> {
    pub(super) fn new(measure: &'g Measure<'g>) -> Self {
        Gains { measure, last: None }
    }

    /// Prints a decision with the predicted and the measured times.
    pub(super) fn tell(
        &mut self,
        decision: &Decision,
        programs: [&Sdfg; 2],
        terminal: Terminal,
    ) -> Result<(), Failure> {
        let measured = self.compared(programs, decision.is_kept);
        let told = match measured {
            Ok(comparison) => shown(&comparison),
            Err(Unfit::Refused(reason)) => format!("not measured: {reason}"),
            Err(Unfit::Wrong(reason)) => {
                return Err(Failure::program(format_args!("wrong rewrite, {decision}: {reason}")).help(
                    "this is a fault of a transformation or of the compiler: report it with the program",
                ));
            }
        };
        terminal.message(&format!("{decision}; {told}"));
        Ok(())
    }

    /// Prints the times of the given program and of the optimised one.
    pub(super) fn total(&mut self, programs: [&Sdfg; 2], terminal: Terminal) -> Result<(), Failure> {
        let comparison = self.compared(programs, true);
        let comparison =
            comparison.map_err(|unfit| Failure::program(format_args!("the optimised program: {unfit}")))?;
        terminal.message(&format!("all together: {}", shown(&comparison)));
        Ok(())
    }

    /// Compares the program after a decision with that before it. The one that stays is kept for the next decision.
    fn compared(&mut self, [before, after]: [&Sdfg; 2], is_kept: bool) -> Result<Comparison, Unfit> {
        let text = text::print(before);
        let before = match self.last.take() {
            Some((of, loaded)) if of == text => loaded,
            Some(_) | None => self.measure.load(before, Soundness::ChangesRounding)?,
        };
        let changed = self.measure.load(after, Soundness::ChangesRounding)?;
        let mut pair = Pair { measure: self.measure, programs: [before, changed] };
        let (own, other) = (vec![1], vec![0]);
        // There is no limit, so this has an outcome.
        let comparison = compare(&mut pair, [&own, &other], TURNS, Duration::MAX)?;
        let [before, changed] = pair.programs;
        self.last = Some(if is_kept { (text::print(after), changed) } else { (text, before) });
        comparison.ok_or_else(|| Unfit::Refused("there was no time".to_owned()))
    }
}

fn shown(Comparison { seconds, against_seconds, ratio, .. }: &Comparison) -> String {
    format!(
        "measured {} to {}, {ratio:.3} of the time",
        milliseconds(*against_seconds),
        milliseconds(*seconds)
    )
}

/// The programs before and after a decision.
struct Pair<'p> {
    measure: &'p Measure<'p>,
    programs: [Loaded; 2],
}

impl Bench for Pair<'_> {
    fn prepare(&mut self, _: &Point) -> Result<(), Unfit> {
        Ok(())
    }

    fn run(&mut self, point: &Point) -> Result<f64, Unfit> {
        self.measure.seconds(&self.programs[usize::from(*point != [0])])
    }

    fn release(&mut self, _: &Point) {}

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}
