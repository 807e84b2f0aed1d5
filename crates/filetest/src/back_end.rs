//! Commands about plans and native code: their arguments, and the interface of the code that runs them.

use sdfg::ir::Sdfg;

/// Runs the commands that need code generation.
pub trait BackEnd: Sync {
    /// The plan of a program as text.
    ///
    /// # Errors
    /// A message that says why there is no plan.
    fn plan(&self, program: &Sdfg, options: PlanOptions) -> Result<String, String>;

    /// Runs a program natively.
    ///
    /// # Errors
    /// A message with the difference from what the command expects.
    fn run(&self, program: &Sdfg, command: &Native) -> Result<(), String>;
}

/// The back end of suites without code generation.
#[derive(Clone, Copy, Debug)]
pub struct NoBackEnd;

impl BackEnd for NoBackEnd {
    fn plan(&self, _: &Sdfg, _: PlanOptions) -> Result<String, String> {
        Err("this suite has no code generation: `plan` belongs in `tests/plans`".to_owned())
    }

    fn run(&self, _: &Sdfg, _: &Native) -> Result<(), String> {
        Err("this suite has no code generation: native runs belong in `crates/codegen/tests/agreement`"
            .to_owned())
    }
}

/// `#! test plan [checked] [reproducible] [cuda]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanOptions {
    /// Whether the code checks accesses.
    pub checked: bool,
    /// Whether the results do not depend on the number of threads.
    pub reproducible: bool,
    /// Whether the target has a CUDA device.
    pub cuda: bool,
}

/// A native run of a program with these values of symbols, and small numbers in every argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Native {
    /// Values of symbols.
    pub symbols: Vec<(String, i64)>,
    /// The expected result.
    pub agreement: Agreement,
}

/// The expected result of a native run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// `agree`: that of the interpreter.
    Results,
    /// `agree every_level`: that of the interpreter, at every level of optimisation.
    EveryLevel,
    /// `agree repeated`: that of the interpreter for several runs, each on the results of the run before.
    Repeated,
    /// `agree [checked] -> trap PART`: the interpreter and the code both end with an error, and that of the code contains the part.
    Trap {
        /// Whether only checked code finds the error.
        checked: bool,
        /// The part of the message.
        part: String,
    },
    /// `sanitize TOOL -> PART`: a sanitizer ends the process with a report that contains the part; `cargo xtask sanitize` looks for it.
    Report,
}

impl PlanOptions {
    /// Reads the words behind `plan`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut options = PlanOptions::default();
        for word in text.split_whitespace() {
            match word {
                "checked" => options.checked = true,
                "reproducible" => options.reproducible = true,
                "cuda" => options.cuda = true,
                _ => return Err(format!("`{word}` is none of `checked`, `reproducible` and `cuda`")),
            }
        }
        Ok(options)
    }
}

impl Native {
    /// Reads the words behind `agree`.
    pub(crate) fn parse_agree(text: &str) -> Result<Self, String> {
        let (given, expected) = text.split_once("->").unwrap_or((text, ""));
        let (words, symbols) = words_and_symbols(given)?;
        let part = expected.trim().strip_prefix("trap ").map(|part| part.trim().to_owned());
        let agreement = match (words.as_slice(), part) {
            (["checked"], Some(part)) => Agreement::Trap { checked: true, part },
            ([], Some(part)) => Agreement::Trap { checked: false, part },
            ([], None) if expected.trim().is_empty() => Agreement::Results,
            (["every_level"], None) if expected.trim().is_empty() => Agreement::EveryLevel,
            (["repeated"], None) if expected.trim().is_empty() => Agreement::Repeated,
            _ => {
                return Err(
                    "`agree` takes `every_level`, `repeated` or nothing, and NAME=VALUE; or `checked` or \
                            nothing, NAME=VALUE and `-> trap PART`"
                        .to_owned(),
                );
            }
        };
        Ok(Native { symbols, agreement })
    }

    /// Reads the words behind `sanitize`.
    pub(crate) fn parse_sanitize(text: &str) -> Result<Self, String> {
        let (given, report) = text.split_once("->").unwrap_or((text, ""));
        let (words, symbols) = words_and_symbols(given)?;
        if !matches!(words.as_slice(), ["address" | "thread"]) || report.trim().is_empty() {
            return Err("`sanitize` takes `address` or `thread`, NAME=VALUE and `-> PART`".to_owned());
        }
        Ok(Native { symbols, agreement: Agreement::Report })
    }
}

/// Values of symbols.
type Symbols = Vec<(String, i64)>;

/// Words, and values of symbols.
fn words_and_symbols(text: &str) -> Result<(Vec<&str>, Symbols), String> {
    let (mut words, mut symbols) = (Vec::new(), Vec::new());
    for word in text.split_whitespace() {
        match word.split_once('=') {
            None => words.push(word),
            Some((name, value)) => {
                let value = value.parse().map_err(|_| format!("`{value}` is no value of symbol `{name}`"))?;
                symbols.push((name.to_owned(), value));
            }
        }
    }
    Ok((words, symbols))
}
