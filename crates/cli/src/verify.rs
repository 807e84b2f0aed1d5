//! `--verify`: rewrites are checked in the interpreter.

use std::collections::BTreeMap;

use clap::Args;
use sdfg::interpret::Options;
use sdfg::ir::Sdfg;
use sdfg::symbolic::Symbol;
use sdfg::text;
use sdfg_library::BuiltIn;
use sdfg_transforms::Soundness;
use sdfg_transforms::verify::{Difference, Verifier, reproducer};

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
    check_symbols(program, "--set", symbols)?;
    let fixed: BTreeMap<Symbol, i64> =
        symbols.iter().map(|given| (Symbol::of(&given.name), given.value)).collect();
    Verifier::of(program, &fixed, &options()).map_err(|error| {
        Failure::program(error)
            .help("give values of symbols with `--set SYMBOL=VALUE`, or leave --verify out")
    })
}

impl Verification {
    /// The verifier of a program; `None` if none is asked for.
    pub(crate) fn of(&self, program: &Sdfg) -> Result<Option<Verifier<'static>>, Failure> {
        if !self.verify {
            return Ok(None);
        }
        verifier(program, &self.symbols).map(Some)
    }

    /// Writes the smallest wrong program found, and gives the error of a rewrite with other results.
    pub(crate) fn wrong(
        &self,
        what: &str,
        difference: &Difference,
        before: &Sdfg,
        soundness: Soundness,
        rewrite: &dyn Fn(&mut Sdfg) -> bool,
    ) -> Failure {
        let small = reproducer(before, soundness, &options(), rewrite);
        let file = self.reproducer.as_deref().unwrap_or("reproducer.sdft");
        let failure = Failure::program(format_args!("{what} gives other results: {difference}"));
        match Destination::new(Some(file)).write(text::print(&small).as_bytes()) {
            Ok(()) => failure.help(format_args!(
                "nothing was rewritten. This is a fault of the transformation: report it with `{file}`"
            )),
            Err(_) => failure.help(format_args!("nothing was rewritten; `{file}` cannot be written")),
        }
    }
}

/// Library nodes are computed as their operations mean.
fn options() -> Options<'static> {
    Options { libraries: Some(&BuiltIn), ..Options::default() }
}
