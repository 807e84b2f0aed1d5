//! Running the tests in the copy, and reading who failed first.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};

use crate::setup::Tools;
use crate::step;

/// The folder of the crate of the graph.
const GRAPH: &str = "crates/sdfg";

/// What the tests say of one fault.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A test failed: the first one, perhaps by taking too long.
    Found { by: String, too_slow: bool },
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
        match self.outcome(Path::new(GRAPH))? {
            Outcome::Missed => Ok(()),
            Outcome::Found { by, .. } => bail!("test {by} fails without any fault"),
            Outcome::DoesNotBuild => bail!("the code does not build"),
        }
    }

    /// What the tests say of the code as it is, with a change in a file.
    ///
    /// The crate of the graph comes first, as its tests are the quickest, and is left out where it cannot know of the change.
    pub(super) fn outcome(&self, file: &Path) -> Result<Outcome> {
        let graph = &["--package", "sdfg"][..];
        let others = &["--workspace", "--exclude", "sdfg", "--exclude", "xtask"][..];
        let parts = if file.starts_with(GRAPH) { vec![graph, others] } else { vec![others] };
        for packages in parts {
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
                let (by, too_slow) = first_failure(&output);
                return Ok(Outcome::Found { by, too_slow });
            }
        }
        Ok(Outcome::Missed)
    }

    /// Whether a test passes on the code as it is.
    ///
    /// # Errors
    /// When the tests cannot be run.
    pub(super) fn passes(&self, test: &str) -> Result<bool> {
        let name = test.rsplit(' ').next().unwrap_or(test);
        let tests =
            if self.nextest { &["nextest", "run", "--workspace"][..] } else { &["test", "--workspace"] };
        let output = self.command(&[tests, &[name]].concat()).output().context("cannot run the tests")?;
        Ok(output.status.success())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.tools.cargo(arguments);
        command.current_dir(self.copy).env("CARGO_TARGET_DIR", self.copy.with_file_name("build"));
        // The cases that CI tries, so that the verdict on a fault does not change from run to run.
        command.env("PROPTEST_RNG_SEED", "20191117").env("CARGO_TERM_COLOR", "never");
        command
    }
}

/// The name of the first test that failed, as nextest or cargo's own runner writes it, and whether it took too long.
fn first_failure(output: &Output) -> (String, bool) {
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
    let is_slow = |name: &str| text.lines().any(|line| line.contains("TIMEOUT [") && line.ends_with(name));
    failed.map_or(("a test".to_owned(), false), |name| (name.to_owned(), is_slow(name)))
}
