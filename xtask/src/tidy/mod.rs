//! `cargo xtask tidy`: checks the project's own rules, as far as a program can.
//!
//! Each rule is a function from files to findings, in the file of its topic. Rules that must distinguish code
//! from comments use [`source::Source`], which is the only parsing of Rust here.

mod crates;
mod faults;
mod links;
mod maps;
mod modules;
mod size;
mod source;
#[cfg(test)]
mod tests;
mod text;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

pub(crate) use crates::dependents;

use crate::workspace;

/// A text file of the project.
struct File {
    /// Relative to the workspace root.
    path: PathBuf,
    text: String,
}

impl File {
    fn is(&self, extension: &str) -> bool {
        self.path.extension().is_some_and(|found| found == extension)
    }
}

/// A place that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// The rule's name.
    rule: &'static str,
    path: PathBuf,
    /// Counted from one; none when the whole file is meant.
    line: Option<usize>,
    message: String,
    /// Whether this is only worth a look.
    soft: bool,
}

impl Finding {
    fn new(rule: &'static str, path: &Path, line: Option<usize>, message: impl Into<String>) -> Self {
        Self { rule, path: path.to_path_buf(), line, message: message.into(), soft: false }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {} [{}{}]", self.message, self.rule, if self.soft { ", soft limit" } else { "" })
    }
}

/// Checks the workspace and prints what it finds; soft limits only when `verbose`.
///
/// # Errors
/// When a rule is broken.
pub(crate) fn run(verbose: bool) -> Result<()> {
    let files = read(&workspace::root())?;
    let findings = check(&files);
    let broken = findings.iter().filter(|finding| !finding.soft).count();
    for finding in findings.iter().filter(|finding| verbose || !finding.soft) {
        println!("{finding}");
    }
    if broken > 0 {
        bail!("{broken} places break the rules of CONTRIBUTING.md");
    }
    println!("tidy: {} files in order", files.len());
    Ok(())
}

/// Writes the code maps of ARCHITECTURE.md from the documentation of the modules.
///
/// # Errors
/// When a file cannot be read or written.
pub(crate) fn write_maps() -> Result<()> {
    let root = workspace::root();
    if let Some(text) = maps::updated(&read(&root)?) {
        fs::write(root.join("ARCHITECTURE.md"), text).context("cannot write ARCHITECTURE.md")?;
    }
    Ok(())
}

/// Reads every file that a rule looks into; of the others, an empty text stands for the file.
fn read(root: &Path) -> Result<Vec<File>> {
    const TEXTS: [&str; 9] = ["rs", "md", "toml", "sdft", "c", "h", "sh", "json", "yml"];
    let mut files = Vec::new();
    for path in workspace::files(root)? {
        let is_text = path.extension().is_some_and(|found| TEXTS.iter().any(|known| found == *known))
            || path.starts_with(".ci");
        let text = if is_text {
            fs::read_to_string(root.join(&path)).with_context(|| format!("cannot read {}", path.display()))?
        } else {
            String::new()
        };
        files.push(File { path, text });
    }
    Ok(files)
}

/// Every finding of every rule, by path and line.
fn check(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        text::name(file, &mut findings);
        text::trailing_space(file, &mut findings);
        if file.is("rs") {
            let source = source::Source::of(&file.text);
            text::module_documentation(file, &mut findings);
            text::to_do_in_comments(file, &source, &mut findings);
            text::ports(file, &source, &mut findings);
            size::file_length(file, &mut findings);
            size::function_length(file, &source, &mut findings);
            modules::hidden(file, &source, &mut findings);
            links::documents_in_comments(file, &source, files, &mut findings);
        } else {
            text::to_do(file, &mut findings);
        }
        if file.is("md") {
            links::links(file, files, &mut findings);
            links::quoted_paths(file, files, &mut findings);
            links::quoted_identifiers(file, files, &mut findings);
        }
        if file.path.ends_with("Cargo.toml") {
            crates::edges(file, &mut findings);
        }
    }
    text::required_files(files, &mut findings);
    maps::stale(files, &mut findings);
    findings.append(&mut faults::can_be_planted(files));
    findings.sort_by(|a, b| (&a.path, a.line, a.rule).cmp(&(&b.path, b.line, b.rule)));
    findings
}
