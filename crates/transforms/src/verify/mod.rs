//! Verification of rewrites: the interpreter runs the program before and after on the same inputs.
//!
//! ```text
//! inputs      search for inputs on which a program runs to its end
//! refinement  changes of single values of inputs that trap
//! repair      extents and lower bounds that the access of a trap needs
//! origins     values that a trap comes from, which change first
//! assumed     inputs that meet the assumptions of rewrites
//! compare     results of two runs, within the soundness of a rewrite
//! reduce      the smallest program that a rewrite makes wrong
//! ```

mod assumed;
mod compare;
mod inputs;
mod origins;
mod reduce;
mod refinement;
mod repair;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

pub use assumed::Assumed;
use compare::Spread;
pub use compare::{agree, same};
pub use inputs::{Fitting, search, search_under};
pub use reduce::reproducer;
use sdfg::interpret::{Arguments, Interpreter, Options, Order, RunError, TrapKind};
use sdfg::ir::Sdfg;
use sdfg::symbolic::Symbol;
use sdfg::validate::{Validated, validate};
use thiserror::Error;

use crate::Soundness;
use crate::ranks::useful_ranks;

/// The interpreter may take this many times the steps of the first program, and some more, for a rewritten one.
const MORE_STEPS: u64 = 20;

/// Orders of execution that tell how far apart the results of a program are.
const ORDERS: std::ops::Range<u64> = 2..8;

/// A program with inputs and the results on them.
pub struct Verifier<'l> {
    program: Validated,
    fitting: Fitting,
    /// An assumption that the inputs do not decide.
    undecided: Option<String>,
    /// Whether the results of the program itself depend on the order of execution, as those of sums of floats do.
    depends_on_order: bool,
    /// Steps that a rewritten program may take.
    limit: u64,
    options: Options<'l>,
}

impl fmt::Debug for Verifier<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier")
            .field("fitting", &self.fitting)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

/// A rewritten program does not do what the program before does.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Difference {
    /// It is not valid.
    #[error("the rewritten program is not valid: {0}")]
    Invalid(String),
    /// The interpreter stops it.
    #[error("the rewritten program stops in {order}: {reason}")]
    Stopped {
        /// The order of execution, in words.
        order: &'static str,
        /// The trap.
        reason: String,
    },
    /// The interpreter stops it at a limit of steps or memory: its results are not known.
    #[error("the rewritten program reaches a limit of the interpreter in {order}: {reason}")]
    Limit {
        /// The order of execution, in words.
        order: &'static str,
        /// The limit.
        reason: String,
    },
    /// An argument has other contents after the run.
    #[error(
        "`{container}` differs in {order}: element {position} is {found}, and was {expected} before the rewrite"
    )]
    Result {
        /// The argument.
        container: String,
        /// The order of execution, in words.
        order: &'static str,
        /// Position in row-major order.
        position: usize,
        /// The element of the program before.
        expected: String,
        /// The element of the rewritten program.
        found: String,
    },
}

impl Difference {
    /// Whether the results of the rewritten program are not known, because the interpreter stopped it at a limit.
    pub fn is_limit(&self) -> bool {
        matches!(self, Difference::Limit { .. })
    }
}

/// There are no inputs to verify with.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("no inputs were found on which the interpreter runs the program: {0}")]
pub struct NoInputs(pub String);

/// The end of a run without results.
struct Stop {
    reason: String,
    /// Whether a limit of steps or memory ended it.
    is_limit: bool,
}

impl From<RunError> for Stop {
    fn from(error: RunError) -> Self {
        let kind = error.trap().map(|trap| &trap.kind);
        let is_limit = matches!(kind, Some(TrapKind::StepLimit { .. } | TrapKind::OutOfMemory { .. }));
        Stop { reason: error.to_string(), is_limit }
    }
}

impl<'l> Verifier<'l> {
    /// Searches for inputs of a program. `fixed` are values of symbols that are given. All runs have the given options, except for
    /// order and limits: library nodes need those with a library.
    ///
    /// # Errors
    /// [`NoInputs`] if none are found.
    pub fn of(
        program: &Sdfg,
        fixed: &BTreeMap<Symbol, i64>,
        options: &Options<'l>,
    ) -> Result<Self, NoInputs> {
        Verifier::under(program, fixed, &Assumed::default(), options)
    }

    /// The same for rewrites that take something for granted: the inputs meet the assumptions.
    ///
    /// # Errors
    /// [`NoInputs`] if none are found, or given values contradict an assumption.
    pub fn under(
        program: &Sdfg,
        fixed: &BTreeMap<Symbol, i64>,
        assumed: &Assumed,
        options: &Options<'l>,
    ) -> Result<Self, NoInputs> {
        let program = validate(program.clone()).map_err(|rejected| NoInputs(rejected.to_string()))?;
        let fitting = search_under(&program, fixed, assumed, options).map_err(NoInputs)?;
        let undecided = assumed.undecided().map(str::to_owned);
        let limit = fitting.steps.saturating_mul(MORE_STEPS).saturating_add(100_000);
        let mut verifier =
            Verifier { program, fitting, undecided, depends_on_order: false, limit, options: *options };
        let other = verifier.results(&verifier.program, (Order::Random(1), 1));
        let other = other.map_err(|stop| NoInputs(stop.reason))?;
        let exact = Soundness::Always;
        verifier.depends_on_order =
            compare::compare(&verifier.fitting.after, &other, exact, "", &[]).is_err();
        Ok(verifier)
    }

    /// The arguments after a run of a program on the inputs, in an order and on a number of ranks.
    fn results(&self, program: &Validated, (order, ranks): (Order, u32)) -> Result<Arguments, Stop> {
        let mut interpreter =
            Interpreter::new(program).map_err(|error| Stop { reason: error.to_string(), is_limit: false })?;
        let mut after = self.fitting.before.clone();
        let options = Options { order, ranks, step_limit: Some(self.limit), ..self.options };
        interpreter.run(&mut after, &options)?;
        Ok(after)
    }

    /// The results of a program in several orders.
    fn spread(&self, program: &Validated) -> Result<Spread, Stop> {
        let mut spread = Spread::default();
        for seed in ORDERS {
            spread.add(&self.results(program, (Order::Random(seed), 1))?);
        }
        Ok(spread)
    }

    /// The first assumption that the inputs do not decide, because the program sets its symbols, or a nested SDFG gives them
    /// other values. Where it does not hold, a rewrite may have other results.
    pub fn undecided(&self) -> Option<&str> {
        self.undecided.as_deref()
    }

    /// The inputs.
    pub fn inputs(&self) -> &Arguments {
        &self.fitting.before
    }

    /// Runs a rewritten program on the inputs, in the fixed order and in a random one, a distributed program on several ranks,
    /// too, and compares the results with those before
    /// the rewrite: bit by bit, or up to rounding if the rewrite may change that, or if the results of the program itself depend
    /// on the order of execution. An element that differs by more than its own rounding is compared with the results of both
    /// programs in some more orders.
    ///
    /// # Errors
    /// [`Difference`] if the rewritten program is not valid, stops, or has other results.
    pub fn check(&self, rewritten: &Sdfg, soundness: Soundness) -> Result<(), Difference> {
        let program = validate(rewritten.clone()).map_err(|rejected| {
            Difference::Invalid(rejected.diagnostics.first().map(ToString::to_string).unwrap_or_default())
        })?;
        let soundness =
            if self.depends_on_order { soundness.max(Soundness::ChangesRounding) } else { soundness };
        let mut runs = vec![(Order::Fixed, 1, "the fixed order"), (Order::Random(1), 1, "a random order")];
        match useful_ranks(rewritten) {
            1 => {}
            2 => runs.push((Order::Random(2), 2, "a random order on 2 ranks")),
            ranks => runs.extend([
                (Order::Random(2), ranks, "a random order on as many ranks as it divides its maps for"),
                (Order::Random(3), ranks - 1, "a random order on one rank less"),
            ]),
        }
        for (order, ranks, words) in runs {
            let stopped = |Stop { reason, is_limit }| match is_limit {
                true => Difference::Limit { order: words, reason },
                false => Difference::Stopped { order: words, reason },
            };
            let after = self.results(&program, (order, ranks)).map_err(stopped)?;
            let held =
                |spreads: &[Spread]| compare::compare(&self.fitting.after, &after, soundness, words, spreads);
            match held(&[]) {
                Err(_) if soundness == Soundness::ChangesRounding => {
                    let spreads = [&self.program, &program].map(|program| self.spread(program));
                    let [before, rewritten] = spreads;
                    held(&[before.map_err(stopped)?, rewritten.map_err(stopped)?])?;
                }
                compared => compared?,
            }
        }
        Ok(())
    }
}
