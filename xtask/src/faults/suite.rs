//! Runs the tests in the copy, and finds the first failure.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};

use super::switch::VARIABLE;
use crate::setup::Tools;
use crate::step;
use crate::tidy::dependents;

/// The package of the root manifest.
const ROOT: &str = "sdfg-programs";

/// The verdict of the tests on one fault.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A test failed or exceeded its time limit: the first such test.
    Found { by: String, too_slow: bool },
    /// Every test passed.
    Missed,
    /// The changed code does not compile: the messages of the compiler.
    DoesNotBuild(String),
}

/// Tests that run together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The packages with these tests.
    pub(crate) of: Vec<String>,
    /// The packages that are built, the workspace without one. They decide the features of the packages that they
    /// depend on.
    pub(crate) built: Vec<String>,
    /// Cargo's arguments for the targets that are built; all tests without one.
    pub(crate) targets: Vec<String>,
    /// The filter expression of nextest that selects tests of these packages; all tests without one.
    pub(crate) only: Option<String>,
}

impl Part {
    /// All tests of some packages but for the one that reads the source, which has the switches of faults now.
    pub(crate) fn of(of: Vec<String>, built: Vec<String>) -> Self {
        let only = Some("not test(=refusals_are_forced_or_have_a_reason)".to_owned());
        Self { of, built, targets: Vec::new(), only }
    }

    /// Cargo's arguments for its packages and targets.
    fn selection<'a>(&'a self, all: &'a str) -> Vec<&'a str> {
        let targets = self.targets.iter().map(String::as_str);
        let all = Some(all).filter(|all| self.targets.is_empty() && !all.is_empty());
        packages(&self.built).into_iter().chain(targets).chain(all).collect()
    }
}

/// The tests of the copy.
pub(crate) struct Suite<'t> {
    tools: &'t Tools,
    copy: &'t Path,
    build: PathBuf,
    pub(crate) nextest: bool,
    /// The parts that pass without a fault.
    sound: Mutex<Vec<Part>>,
}

impl<'t> Suite<'t> {
    /// The tests of a copy, with a build folder.
    pub(crate) fn new(tools: &'t Tools, copy: &'t Path, build: PathBuf) -> Self {
        let nextest = step::succeeds(&mut step::cargo(["nextest", "--version"]));
        Suite { tools, copy, build, nextest, sound: Mutex::new(Vec::new()) }
    }

    /// Runs the tests of a part without a fault, unless an earlier call did.
    ///
    /// # Errors
    /// When the code without a fault does not build or fails a test.
    pub(crate) fn must_pass(&self, part: &Part) -> Result<()> {
        if self.sound().contains(part) {
            return Ok(());
        }
        println!("==> the tests of {} without a fault, in {}", part.of.join(", "), self.copy.display());
        match self.outcome(part, None)? {
            Outcome::Missed => {
                self.sound().push(part.clone());
                Ok(())
            }
            Outcome::Found { by, .. } => bail!("test {by} fails without any fault"),
            Outcome::DoesNotBuild(messages) => bail!("the code does not build:\n{messages}"),
        }
    }

    fn sound(&self) -> std::sync::MutexGuard<'_, Vec<Part>> {
        self.sound.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The verdict of the tests on the present code, with a switch on or without one.
    ///
    /// # Errors
    /// When they cannot be run.
    pub(crate) fn outcome(&self, part: &Part, switch: Option<&str>) -> Result<Outcome> {
        if let Some(messages) = self.messages_of_build(part)? {
            return Ok(Outcome::DoesNotBuild(messages));
        }
        let mut command = if self.nextest {
            self.nextest(part, "--max-fail=1:immediate")
        } else {
            self.command(&[&["test", "--tests"], &packages(&part.of)[..]].concat())
        };
        if let Some(name) = switch {
            command.env(VARIABLE, name);
        }
        let output = command.output().context("cannot run the tests")?;
        if output.status.success() {
            return Ok(Outcome::Missed);
        }
        let (by, too_slow) = first_failure(&output);
        Ok(Outcome::Found { by, too_slow })
    }

    /// Builds the tests of some packages. Returns the messages of the compiler if it refuses them.
    ///
    /// # Errors
    /// When the compiler cannot be run.
    pub(crate) fn messages_of_build(&self, part: &Part) -> Result<Option<String>> {
        let mut command = self.command(&[&["build", "--quiet"], &part.selection("--tests")[..]].concat());
        let build = command.output().context("cannot build the tests")?;
        Ok((!build.status.success()).then(|| String::from_utf8_lossy(&build.stderr).into_owned()))
    }

    /// Whether a test passes on the present code.
    ///
    /// # Errors
    /// When the tests cannot be run.
    pub(crate) fn passes(&self, test: &str) -> Result<bool> {
        let name = test.rsplit(' ').next().unwrap_or(test);
        let tests =
            if self.nextest { &["nextest", "run", "--workspace"][..] } else { &["test", "--workspace"] };
        let output = self.command(&[tests, &[name]].concat()).output().context("cannot run the tests")?;
        Ok(output.status.success())
    }

    /// Nextest's run of a part.
    pub(crate) fn nextest(&self, part: &Part, option: &str) -> Command {
        let chosen: Vec<String> = part.of.iter().map(|package| format!("package(={package})")).collect();
        let mut chosen = chosen.join(" | ");
        if let Some(only) = &part.only {
            chosen = format!("({chosen}) & ({only})");
        }
        let tests = &["nextest", "run", option, "--filterset", &chosen][..];
        self.command(&[tests, &part.selection("")].concat())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.tools.cargo(arguments);
        command.current_dir(self.copy).env("CARGO_TARGET_DIR", &self.build);
        // The cases that CI tries, so that the verdict on a fault does not change from run to run.
        command.env("PROPTEST_RNG_SEED", "20191117").env("CARGO_TERM_COLOR", "never");
        command
    }
}

/// Cargo's arguments for some packages, or for the workspace.
fn packages(names: &[String]) -> Vec<&str> {
    if names.is_empty() {
        return vec!["--workspace"];
    }
    names.iter().flat_map(|package| ["--package", package]).collect()
}

/// The packages whose tests may find a change of a file: its own package, which builds soonest, then all
/// packages that depend on it.
pub(crate) fn parts(file: &Path) -> Vec<Vec<String>> {
    let mut folders = file.iter().map(|name| name.to_string_lossy());
    let own = match (folders.next().as_deref(), folders.next().as_deref()) {
        (Some("crates"), Some("sdfg")) => "sdfg".to_owned(),
        (Some("crates"), Some(folder)) => format!("sdfg-{folder}"),
        _ => ROOT.to_owned(),
    };
    let others: Vec<String> = dependents(&own).into_iter().map(str::to_owned).collect();
    [vec![own], others].into_iter().filter(|part| !part.is_empty()).collect()
}

/// The name of the first failed test, as nextest or cargo's own runner writes it, and whether it exceeded its
/// time limit.
pub(crate) fn first_failure(output: &Output) -> (String, bool) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_to_its_crate_and_to_those_that_depend_on_it() {
        let parts = |file: &str| parts(Path::new(file));
        assert_eq!(
            parts("crates/codegen/src/lib.rs"),
            [vec!["sdfg-codegen"], vec!["sdfg-cli", "sdfg-programs"]]
        );
        assert_eq!(parts("crates/sdfg/src/lib.rs")[0], ["sdfg"]);
        assert_eq!(parts("crates/sdfg/src/lib.rs")[1].len(), 7);
        // Tests of user-visible behaviour also find faults of the crates below `sdfg`.
        let above = parts("crates/validate/src/bounds.rs")[1].clone();
        assert!(above.contains(&"sdfg-interpret".to_owned()) && above.contains(&"sdfg-codegen".to_owned()));
        assert!(!above.contains(&"sdfg-graph".to_owned()));
        assert_eq!(parts("src/random/mod.rs"), [["sdfg-programs"]]);
    }
}
