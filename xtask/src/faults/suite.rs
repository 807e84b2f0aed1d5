//! Running the tests in the copy, and reading who failed first.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};

use crate::setup::Tools;
use crate::step;

/// What the tests say of one fault.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A test failed: the first one.
    Found { by: String },
    /// Every test passed.
    Missed,
    /// The changed code is no Rust.
    DoesNotBuild,
}

/// The tests of the copy.
pub(super) struct Suite<'t> {
    tools: &'t Tools,
    copy: &'t Path,
    nextest: bool,
}

impl<'t> Suite<'t> {
    pub(super) fn new(tools: &'t Tools, copy: &'t Path) -> Self {
        let nextest = step::succeeds(&mut step::cargo(["nextest", "--version"]));
        Suite { tools, copy, nextest }
    }

    /// # Errors
    /// When the code without a fault does not build or fails a test.
    pub(super) fn must_pass(&self) -> Result<()> {
        match self.outcome()? {
            Outcome::Missed => Ok(()),
            Outcome::Found { by } => bail!("test {by} fails without any fault"),
            Outcome::DoesNotBuild => bail!("the code does not build"),
        }
    }

    /// The crate of the graph comes first: its tests are the quickest, and most faults are found there.
    pub(super) fn outcome(&self) -> Result<Outcome> {
        for packages in
            [&["--package", "sdfg"][..], &["--workspace", "--exclude", "sdfg", "--exclude", "xtask"]]
        {
            if !self
                .command(&[&["build", "--tests", "--quiet"], packages].concat())
                .output()?
                .status
                .success()
            {
                return Ok(Outcome::DoesNotBuild);
            }
            let tests =
                if self.nextest { &["nextest", "run", "--fail-fast"][..] } else { &["test", "--tests"] };
            let output =
                self.command(&[tests, packages].concat()).output().context("cannot run the tests")?;
            if !output.status.success() {
                return Ok(Outcome::Found { by: first_failure(&output) });
            }
        }
        Ok(Outcome::Missed)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.tools.cargo(arguments);
        command.current_dir(self.copy).env("CARGO_TARGET_DIR", self.copy.with_file_name("build"));
        // The cases that CI tries, so that the verdict on a fault does not change from run to run.
        command.env("PROPTEST_RNG_SEED", "20191117").env("CARGO_TERM_COLOR", "never");
        command
    }
}

/// The name of the first test that failed, as nextest or cargo's own runner writes it.
fn first_failure(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).join("\n");
    let failed = text.lines().find_map(|line| {
        let line = line.trim();
        let of_nextest = ["FAIL [", "TIMEOUT [", "SIGABRT [", "SIGSEGV ["]
            .iter()
            .find_map(|word| line.strip_prefix(word))
            .and_then(|rest| rest.split_once(']'))
            // `(12/340) crate test::name`: the counter is left out.
            .map(|(_, name)| name.trim().rsplit_once(") ").map_or(name.trim(), |(_, name)| name));
        of_nextest.or_else(|| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"))
    });
    failed.unwrap_or("a test").to_owned()
}
