//! `cargo xtask fuzz`: coverage-guided fuzzing, from seeds to a file test for each finding.
//!
//! The corpus and the findings are stored below `target/`. They persist between runs and do not belong to the
//! project.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{step, workspace};

/// The targets, in the order in which they run.
const TARGETS: [&str; 4] = ["text", "json", "dace", "validation"];

/// The folder for file tests of findings.
const REGRESSIONS: &str = "crates/filetest/filetests/fuzz";

/// Runs one target, or each in turn.
///
/// # Errors
/// If a tool is missing, options are wrong, or the fuzzer found a failing input. Each finding has a file test then.
pub(crate) fn run(options: &[&str]) -> Result<()> {
    let (targets, seconds) = read(options)?;
    need_tools()?;
    targets.into_iter().try_for_each(|target| fuzz(target, seconds))
}

fn read<'o>(options: &[&'o str]) -> Result<(Vec<&'o str>, u64)> {
    let (mut targets, mut seconds) = (Vec::new(), 60);
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match *option {
            "--seconds" => {
                let value = options.next().context("--seconds takes a number")?;
                seconds = value.parse().with_context(|| format!("`{value}` is no number of seconds"))?;
            }
            target if TARGETS.contains(&target) => targets.push(target),
            other => bail!("`fuzz` knows no `{other}`; targets are {}", TARGETS.join(", ")),
        }
    }
    Ok((if targets.is_empty() { TARGETS.to_vec() } else { targets }, seconds))
}

fn need_tools() -> Result<()> {
    if !step::succeeds(Command::new("cargo").args(["+nightly", "--version"])) {
        bail!(
            "fuzzing needs a nightly Rust, whose instrumentation it uses: rustup toolchain install nightly"
        );
    }
    if !step::succeeds(Command::new("cargo").args(["+nightly", "fuzz", "--version"])) {
        bail!("fuzzing needs cargo-fuzz: cargo install cargo-fuzz --locked");
    }
    Ok(())
}

/// A command of the nightly cargo in the workspace of the fuzz targets.
fn nightly(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    // The variable names the compiler that runs this program, and overrides `+nightly`.
    command.env_remove("RUSTUP_TOOLCHAIN").env_remove("RUSTC").env_remove("CARGO");
    command.arg("+nightly").args(arguments).current_dir(root.join("fuzz"));
    command.env("CARGO_TARGET_DIR", root.join("target/fuzz/build"));
    command
}

fn fuzz(target: &str, seconds: u64) -> Result<()> {
    let root = workspace::root();
    let folder = |name: &str| root.join("target/fuzz").join(name).join(target);
    let (corpus, seeds, found) = (folder("corpus"), folder("seeds"), folder("artifacts"));
    for folder in [&corpus, &seeds, &found] {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    println!("==> {target}: seeds");
    let text = |path: &Path| path.display().to_string();
    step::check(&mut nightly(&root, &["run", "--quiet", "--example", "seeds", "--", target, &text(&seeds)]))?;
    println!("==> {target}: {seconds} s; the first build takes minutes");
    let before = files(&found)?;
    let engine = [
        format!("-max_total_time={seconds}"),
        format!("-artifact_prefix={}/", found.display()),
        "-timeout=10".to_owned(),
        "-rss_limit_mb=2048".to_owned(),
        "-max_len=16384".to_owned(),
        "-print_final_stats=1".to_owned(),
        format!("-dict={}", root.join("fuzz/text.dict").display()),
    ];
    let build = root.join("target/fuzz/build");
    let mut command = nightly(&root, &["fuzz", "run", "--fuzz-dir", ".", "--sanitizer", "none"]);
    command.arg("--target-dir").arg(build).arg(target).args([&corpus, &seeds]).arg("--").args(engine);
    let ended = step::check(&mut command);
    let new: Vec<PathBuf> = files(&found)?.into_iter().filter(|path| !before.contains(path)).collect();
    for input in &new {
        let regressions = text(&root.join(REGRESSIONS));
        let arguments =
            ["run", "--quiet", "--example", "regression", "--", target, &text(input), &regressions];
        step::check(&mut nightly(&root, &arguments))?;
    }
    if !new.is_empty() {
        bail!("`{target}` found {} inputs; a file test of each is in {REGRESSIONS}", new.len());
    }
    ended
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let paths: std::io::Result<Vec<PathBuf>> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    paths.with_context(|| format!("cannot list {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_name_targets_and_time() {
        assert_eq!(read(&[]).unwrap(), (TARGETS.to_vec(), 60));
        assert_eq!(read(&["json", "--seconds", "5"]).unwrap(), (vec!["json"], 5));
        assert!(
            read(&["llvm"]).is_err() && read(&["--seconds"]).is_err() && read(&["--seconds", "x"]).is_err()
        );
    }
}
