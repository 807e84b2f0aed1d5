//! Collects the tests of a suite: files of a folder, and blocks of documents.

use std::path::Path;

use libtest_mimic::{Failed, Trial};

use crate::back_end::{BackEnd, NoBackEnd};
use crate::outcome::Outcome;
use crate::test_file::TestFile;
use crate::{bless, json_file};

/// Whether tests write what they expect instead of comparing it: `BLESS=1`.
pub fn blesses() -> bool {
    std::env::var_os("BLESS").is_some_and(|value| value != "0" && !value.is_empty())
}

/// One test for each file below a folder, named by its path without the extension. `advice` is the command that
/// runs the suite, for messages.
///
/// # Panics
/// If the folder cannot be listed.
pub fn files(root: &Path, advice: &'static str, back_end: &'static dyn BackEnd) -> Vec<Trial> {
    let mut paths = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).expect("the folder of file tests can be listed");
        for path in entries.map(|entry| entry.expect("its entries can be read").path()) {
            if path.is_dir() { folders.push(path) } else { paths.push(path) }
        }
    }
    paths.sort();
    let name = |path: &Path| {
        let relative = path.strip_prefix(root).unwrap_or(path).with_extension("");
        relative.to_string_lossy().replace('\\', "/")
    };
    let mut trials = Vec::new();
    for path in paths {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let name = name(&path);
        match extension {
            "sdft" => {
                trials.push(Trial::test(name.clone(), move || text_file(&path, &name, advice, back_end)))
            }
            "json" => trials.push(Trial::test(name, move || json_file::run(&path, blesses()))),
            // What is expected of a JSON file stands beside it.
            "txt" if path.with_extension("json").exists() => {}
            // The code that runs the suite.
            "rs" => {}
            _ => trials
                .push(Trial::test(name, move || Err(format!("{} is no file test", path.display()).into()))),
        }
    }
    trials
}

fn text_file(path: &Path, name: &str, advice: &str, back_end: &dyn BackEnd) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let file = TestFile::parse(&text)?;
    let shown = format!("{name}.sdft");
    let outcome = Outcome::of(&file, &shown, back_end);
    if blesses() {
        let blessed = bless::rewritten(&file, &outcome);
        if blessed != text {
            std::fs::write(path, &blessed).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        // What no expectation can express stays a failure.
        return report(&Outcome::of(&TestFile::parse(&blessed)?, &shown, back_end), name, advice);
    }
    report(&outcome, name, advice)
}

fn report(outcome: &Outcome, name: &str, advice: &str) -> Result<(), Failed> {
    if outcome.failures.is_empty() {
        return Ok(());
    }
    let advice = format!("if this is right: BLESS=1 {advice} {name}");
    Err(format!("{}\n{advice}", outcome.failures.join("\n")).into())
}

/// One test for each block of these documents that is marked as `sdft`, named by the document and the line of its
/// first line. The documents are relative to the root of the repository.
pub fn document_blocks(root: &Path, documents: &[&'static str]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for &document in documents {
        let Ok(text) = std::fs::read_to_string(root.join(document)) else {
            let problem = format!("{document} cannot be read");
            trials.push(Trial::test(document, || Err(problem.into())));
            continue;
        };
        let mut block: Option<(usize, String)> = None;
        for (number, line) in text.lines().enumerate() {
            match &mut block {
                None if line == "```sdft" => block = Some((number + 2, String::new())),
                None => {}
                Some((first, content)) if line == "```" => {
                    let (name, content) = (format!("{document}:{first}"), std::mem::take(content));
                    trials.push(Trial::test(name.clone(), move || document_block(&content, &name)));
                    block = None;
                }
                Some((_, content)) => {
                    content.push_str(line);
                    content.push('\n');
                }
            }
        }
    }
    trials
}

/// A block without commands is a right program as the printer writes it, or shows the errors that its comments tell.
fn document_block(text: &str, name: &str) -> Result<(), Failed> {
    let mut file = TestFile::parse(text)?;
    if file.commands.is_empty() {
        let commands = if file.expectations.is_empty() { &["check", "canonical"][..] } else { &["check"] };
        for command in commands {
            file.add_command(command)?;
        }
    }
    let outcome = Outcome::of(&file, name, &NoBackEnd);
    if outcome.failures.is_empty() { Ok(()) } else { Err(outcome.failures.join("\n").into()) }
}
