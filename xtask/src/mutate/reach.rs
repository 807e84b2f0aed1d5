//! The tests that can find a mutation: those that run its function, cheapest first.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};

use crate::faults::{Fault, Part, REACHED, Suite, VARIABLE, first_failure};

/// The address space of one test. An endless loop may collect memory until the machine has none.
const KIBIBYTES: u64 = 8 << 20;

/// Tests that take less than these seconds without a mutation run before the others.
const SHORT: [f64; 2] = [2.0, 20.0];

/// A test, as nextest names it: its binary and its path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Test {
    binary: String,
    name: String,
}

/// The tests of a build with switches.
pub(super) struct Tests<'s> {
    suite: &'s Suite<'s>,
    part: Part,
    folder: PathBuf,
    /// The seconds of each test without a fault.
    seconds: BTreeMap<Test, f64>,
}

/// The verdict on one mutation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Found {
        by: String,
    },
    /// Each test that runs the function passes: their number.
    Missed {
        reaching: usize,
    },
    /// A test takes too long with the mutation, and without it.
    Undecided {
        by: String,
    },
}

impl<'s> Tests<'s> {
    /// The tests of a part. The folder holds records.
    pub(super) fn new(suite: &'s Suite<'s>, part: Part, folder: PathBuf) -> Self {
        Self { suite, part, folder, seconds: BTreeMap::new() }
    }

    /// Runs every test without a fault. Each leaves the names of the switches that it reaches in a folder. Tests that fail
    /// look for no mutation.
    ///
    /// # Errors
    /// When the tests cannot be run.
    pub(super) fn record(&mut self, is_recorded: bool) -> Result<()> {
        let (reached, times) = (self.folder.join("reached"), self.folder.join("times.txt"));
        if is_recorded {
            let text =
                fs::read_to_string(&times).with_context(|| format!("cannot read {}", times.display()))?;
            self.seconds = passed(&text);
            return Ok(());
        }
        if reached.exists() {
            fs::remove_dir_all(&reached)?;
        }
        fs::create_dir_all(&reached).with_context(|| format!("cannot make {}", reached.display()))?;
        println!("==> the tests without a mutation");
        let text = text_of(&self.output(&self.part, None, None)?);
        fs::write(&times, &text)?;
        self.seconds = passed(&text);
        let failed = text
            .lines()
            .map(str::trim)
            .filter(|line| ["FAIL [", "TIMEOUT ["].iter().any(|word| line.starts_with(word)));
        failed.for_each(|line| println!("left out: {line}"));
        if self.seconds.is_empty() {
            bail!("no test passes:\n{text}");
        }
        Ok(())
    }

    /// Runs the tests that reach a mutation, until one fails.
    ///
    /// # Errors
    /// When they cannot be run.
    pub(super) fn verdict(&self, fault: &Fault) -> Result<Verdict> {
        let reaching = self.reaching(&fault.name)?;
        let round = |test: &&Test| SHORT.iter().filter(|most| self.seconds_of(test) >= **most).count();
        let rounds = (0..=SHORT.len()).map(|at| reaching.iter().filter(|test| round(test) == at).collect());
        for tests in rounds.filter(|tests: &Vec<&Test>| !tests.is_empty()) {
            let slowest = tests.iter().map(|test| self.seconds_of(test)).fold(0.0, f64::max);
            let part = Part { only: Some(expression(&tests)), ..self.part.clone() };
            let limit = Some(20 + (4.0 * slowest) as u64);
            let output = self.output(&part, Some(&fault.name), limit)?;
            if output.status.success() {
                continue;
            }
            let (by, too_slow) = first_failure(&output);
            if too_slow {
                let only = tests.iter().filter(|test| by.ends_with(&test.name)).copied().collect::<Vec<_>>();
                let part = Part { only: Some(expression(&only)), ..self.part.clone() };
                if !self.output(&part, None, limit)?.status.success() {
                    return Ok(Verdict::Undecided { by });
                }
            }
            return Ok(Verdict::Found { by });
        }
        Ok(Verdict::Missed { reaching: reaching.len() })
    }

    /// The tests that run the function of a mutation.
    fn reaching(&self, name: &str) -> Result<Vec<Test>> {
        let path = self.folder.join("reached").join(name);
        if !path.exists() {
            return Ok(Vec::new());
        }
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut tests: Vec<Test> = text
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(binary, name)| Test { binary: binary.to_owned(), name: name.to_owned() })
            .collect();
        tests.retain(|test| self.seconds.contains_key(test));
        tests.sort();
        tests.dedup();
        Ok(tests)
    }

    fn seconds_of(&self, test: &Test) -> f64 {
        self.seconds.get(test).copied().unwrap_or_default()
    }

    /// Runs a part with limits: without a fault every test, otherwise until one fails.
    fn output(&self, part: &Part, fault: Option<&str>, limit: Option<u64>) -> Result<Output> {
        let option = if fault.is_some() { "--max-fail=1:immediate" } else { "--no-fail-fast" };
        let mut command = self.suite.nextest(part, option);
        // The project's own limits are for a run without faults, on a machine that may be loaded.
        command.args(["--status-level", "all", "--profile", if limit.is_some() { "default" } else { "ci" }]);
        if let Some(limit) = limit {
            let path = self.folder.join(format!("{}.toml", fault.unwrap_or("none")));
            let slow = format!("slow-timeout = {{ period = \"{limit}s\", terminate-after = 1 }}");
            fs::write(&path, format!("[profile.default]\n{slow}\n"))?;
            command.arg("--config-file").arg(path);
        }
        match fault {
            Some(name) => command.env(VARIABLE, name),
            None => command.env(REACHED, self.folder.join("reached")),
        };
        limited(&command).output().context("cannot run the tests")
    }
}

/// The filter expression for some tests.
fn expression(tests: &[&Test]) -> String {
    let one = |test: &&Test| format!("binary_id(={}) & test(={})", test.binary, test.name);
    tests.iter().map(one).collect::<Vec<_>>().join(" | ")
}

/// The command with a limit of its memory.
fn limited(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -v {KIBIBYTES}; exec \"$@\""), "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.current_dir(command.get_current_dir().unwrap_or_else(|| Path::new(".")));
    shell
}

fn text_of(output: &Output) -> String {
    [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).join("\n")
}

/// The tests that passed, with their seconds: `PASS [   0.019s] (12/340) binary name`.
fn passed(text: &str) -> BTreeMap<Test, f64> {
    let test = |line: &str| {
        let (seconds, rest) = line.trim().strip_prefix("PASS [")?.split_once("s]")?;
        let rest = rest.split_once(") ").map_or(rest, |(_, rest)| rest);
        let (binary, name) = rest.trim().split_once(' ')?;
        let test = Test { binary: binary.to_owned(), name: name.to_owned() };
        Some((test, seconds.trim().parse().ok()?))
    };
    text.lines().filter_map(test).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_tests_are_read() {
        let text = "    PASS [   2.059s] ( 50/134) a::loops move::in\n    SLOW [> 30.000s] (───) a b\n";
        let test = Test { binary: "a::loops".to_owned(), name: "move::in".to_owned() };
        assert_eq!(passed(text), [(test.clone(), 2.059)].into_iter().collect());
        assert_eq!(expression(&[&test]), "binary_id(=a::loops) & test(=move::in)");
    }

    #[test]
    fn limits_keep_the_command() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $WORD; ulimit -v"]).env("WORD", "here").current_dir("/");
        let output = limited(&command).output().unwrap();
        assert_eq!(text_of(&output), format!("here\n{KIBIBYTES}\n\n"));
    }
}
