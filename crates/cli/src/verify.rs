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
    /// The conditions of the steps that make the rewrite.
    pub(crate) own: &'a [&'a Conditions],
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
        let own = Assumed::of(wrong.before, wrong.own.iter().copied());
        if let Some(text) = own.undecided() {
            return failure.help(format_args!(
                "nothing was rewritten. The inputs do not decide the assumption `{text}`: where it does not hold, results may differ"
            ));
        }
        // An earlier step may be wrong without another result: its order of execution may give the same one by chance.
        let earlier = verifier.undecided().map_or_else(String::new, |text| {
            format!(", unless the assumption `{text}` of an earlier step does not hold, which the inputs do not decide")
        });
        let assumed = |program: &Sdfg| Assumed::of(program, wrong.conditions.iter().copied());
        let small = reproducer(wrong.before, &assumed, wrong.soundness, &options(), wrong.rewrite);
        let file = self.reproducer.as_deref().unwrap_or("reproducer.sdft");
        match Destination::new(Some(file)).write(text::print(&small).as_bytes()) {
            Ok(()) => failure.help(format_args!(
                "nothing was rewritten. This is a fault of the transformation{earlier}: report it with `{file}`"
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A symbol that the program sets, which no inputs decide.
    const TEXT: &str = "sdfg p {
  symbol N: i64
  symbol M: i64
  array A: f64[N]

  state s {
    access A
    tasklet t () -> (y) { y = 1.0 }
    t.y -> A: A[0]
  }
  -> last with (M = 2)
  state last {}
}
";

    /// Whether a wrong step is reported with a reproducer, and the help.
    fn told(earlier: &[&str], own: &[&str]) -> (bool, String) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("small.sdft").display().to_string();
        let verification = Verification { verify: true, symbols: Vec::new(), reproducer: Some(file.clone()) };
        let before = text::parse("p.sdft", TEXT).unwrap_or_else(|errors| panic!("{errors:?}"));
        let rewrite = |program: &mut Sdfg| {
            *program = text::parse("p.sdft", &text::print(program).replace("1.0", "2.0")).expect("a program");
            true
        };
        let conditions = [earlier, own].map(|texts| Conditions::assuming(texts.iter().copied()));
        let all: Vec<&Conditions> = conditions.iter().collect();
        let verifier = verification.of(&before, &all).ok().flatten().expect("a verifier");
        let mut after = before.clone();
        rewrite(&mut after);
        let difference = verifier.check(&after, Soundness::Always).expect_err("a difference");
        let wrong = Wrong {
            what: "step 2",
            before: &before,
            soundness: Soundness::Always,
            conditions: &all,
            own: &all[1..],
            rewrite: &rewrite,
        };
        let failure = verification.wrong(&wrong, &verifier, &difference);
        (std::path::Path::new(&file).exists(), format!("{failure:?}"))
    }

    /// An assumption of an earlier step is named, and the program is written all the same.
    #[test]
    fn wrong_steps_behind_undecided_assumptions_are_reported() {
        let (is_written, help) = told(&[], &[]);
        assert!(is_written && help.contains("report it") && !help.contains("unless"), "{help}");
        let (is_written, help) = told(&["M == 2"], &["N >= 1"]);
        assert!(is_written && help.contains("unless the assumption `M == 2` of an earlier step"), "{help}");
        let (is_written, help) = told(&["N >= 1"], &["M == 2"]);
        assert!(!is_written && help.contains("do not decide the assumption `M == 2`"), "{help}");
    }
}
