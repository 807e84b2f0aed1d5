//! `--verify`: rewrites are checked in the interpreter.

use std::collections::BTreeMap;

use clap::Args;
use sdfg::interpret::Options;
use sdfg::ir::Sdfg;
use sdfg::symbolic::Symbol;
use sdfg::text;
use sdfg_library::BuiltIn;
use sdfg_transforms::verify::{Assumed, Difference, Verifier, reproducer};
use sdfg_transforms::{Conditions, Soundness};

use crate::data::{SymbolValue, check_symbols};
use crate::failure::Failure;
use crate::output::Destination;

/// Options of verification.
#[derive(Args)]
pub(crate) struct Verification {
    /// Run the interpreter on the program before and after, on the same inputs, and stop if results differ. Inputs are searched for.
    #[arg(long)]
    verify: bool,
    /// With --verify: set a symbol.
    #[arg(long = "set", value_name = "SYMBOL=VALUE", requires = "verify")]
    symbols: Vec<SymbolValue>,
    /// With --verify: the file for the smallest program found that the rewrite makes wrong; the default is reproducer.sdft.
    #[arg(long, value_name = "FILE", requires = "verify")]
    reproducer: Option<String>,
}

/// The verifier of a program with some values of symbols.
pub(crate) fn verifier(program: &Sdfg, symbols: &[SymbolValue]) -> Result<Verifier<'static>, Failure> {
    verifier_under(program, symbols, &[])
}

fn verifier_under(
    program: &Sdfg,
    symbols: &[SymbolValue],
    conditions: &[&Conditions],
) -> Result<Verifier<'static>, Failure> {
    check_symbols(program, "--set", symbols)?;
    let fixed: BTreeMap<Symbol, i64> =
        symbols.iter().map(|given| (Symbol::of(&given.name), given.value)).collect();
    let assumed = Assumed::of(program, conditions.iter().copied());
    Verifier::under(program, &fixed, &assumed, &options()).map_err(|error| {
        Failure::program(error)
            .help("give values of symbols with `--set SYMBOL=VALUE`, or leave --verify out")
    })
}

/// A rewrite with other results.
pub(crate) struct Wrong<'a> {
    /// The rewrite, in words.
    pub(crate) what: &'a str,
    pub(crate) before: &'a Sdfg,
    pub(crate) soundness: Soundness,
    /// The conditions of the steps.
    pub(crate) conditions: &'a [&'a Conditions],
    /// Repeats the rewrite on another program, and gives whether it applies there.
    pub(crate) rewrite: &'a dyn Fn(&mut Sdfg) -> bool,
}

impl Verification {
    /// The verifier of a program for steps with these conditions; `None` if none is asked for.
    pub(crate) fn of(
        &self,
        program: &Sdfg,
        conditions: &[&Conditions],
    ) -> Result<Option<Verifier<'static>>, Failure> {
        if !self.verify {
            return Ok(None);
        }
        verifier_under(program, &self.symbols, conditions).map(Some)
    }

    /// Writes the smallest wrong program found, and gives the error of a rewrite with other results.
    pub(crate) fn wrong(
        &self,
        wrong: &Wrong<'_>,
        verifier: &Verifier<'_>,
        difference: &Difference,
    ) -> Failure {
        let what = wrong.what;
        if difference.is_limit() {
            return unverified(what, difference);
        }
        let failure = Failure::program(format_args!("{what} gives other results: {difference}"));
        if let Some(text) = verifier.undecided() {
            return failure.help(format_args!(
                "nothing was rewritten. The inputs do not decide the assumption `{text}`: where it does not hold, results may differ"
            ));
        }
        let assumed = |program: &Sdfg| Assumed::of(program, wrong.conditions.iter().copied());
        let small = reproducer(wrong.before, &assumed, wrong.soundness, &options(), wrong.rewrite);
        let file = self.reproducer.as_deref().unwrap_or("reproducer.sdft");
        match Destination::new(Some(file)).write(text::print(&small).as_bytes()) {
            Ok(()) => failure.help(format_args!(
                "nothing was rewritten. This is a fault of the transformation: report it with `{file}`"
            )),
            Err(_) => failure.help(format_args!("nothing was rewritten; `{file}` cannot be written")),
        }
    }
}

/// The error of a rewrite whose results are not known.
pub(crate) fn unverified(what: &str, difference: &Difference) -> Failure {
    Failure::program(format_args!("{what} cannot be verified: {difference}"))
        .help("nothing was written. Give smaller values of symbols with `--set SYMBOL=VALUE`, or leave --verify out")
}

/// Library nodes are computed as their operations mean.
fn options() -> Options<'static> {
    Options { libraries: Some(&BuiltIn), ..Options::default() }
}
