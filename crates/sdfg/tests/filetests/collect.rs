//! Which tests there are: files of `filetests/`, and blocks of documents.

use std::path::{Path, PathBuf};

use libtest_mimic::{Failed, Trial};

use crate::outcome::Outcome;
use crate::test_file::TestFile;
use crate::{bless, json_file};

/// Documents with programs, relative to the root of the repository.
const DOCUMENTS: [&str; 6] = [
    "README.md",
    "CONTRIBUTING.md",
    "ARCHITECTURE.md",
    "docs/text-format.md",
    "docs/semantics.md",
    "docs/semantics-arithmetic.md",
];

fn package() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Whether expectations are rewritten.
fn blesses() -> bool {
    std::env::var_os("BLESS").is_some_and(|value| value != "0" && !value.is_empty())
}

/// One test for each file below `filetests/`, named by its path without the extension.
pub(crate) fn files() -> Vec<Trial> {
    let root = package().join("filetests");
    let mut paths = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).expect("the folder of file tests can be listed");
        for path in entries.map(|entry| entry.expect("its entries can be read").path()) {
            if path.is_dir() { folders.push(path) } else { paths.push(path) }
        }
    }
    paths.sort();
    let name = |path: &Path| {
        let relative = path.strip_prefix(&root).unwrap_or(path).with_extension("");
        relative.to_string_lossy().replace('\\', "/")
    };
    let mut trials = Vec::new();
    for path in paths {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let name = name(&path);
        match extension {
            "sdft" => trials.push(Trial::test(name.clone(), move || text_file(&path, &name))),
            "json" => trials.push(Trial::test(name, move || json_file::run(&path, blesses()))),
            // What is expected of a JSON file stands beside it.
            "txt" if path.with_extension("json").exists() => {}
            _ => trials
                .push(Trial::test(name, move || Err(format!("{} is no file test", path.display()).into()))),
        }
    }
    trials
}

fn text_file(path: &Path, name: &str) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let file = TestFile::parse(&text)?;
    let shown = format!("{name}.sdft");
    let outcome = Outcome::of(&file, &shown);
    if blesses() {
        let blessed = bless::rewritten(&file, &outcome);
        if blessed != text {
            std::fs::write(path, &blessed).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        // What no expectation can express stays a failure.
        return report(&Outcome::of(&TestFile::parse(&blessed)?, &shown), name);
    }
    report(&outcome, name)
}

fn report(outcome: &Outcome, name: &str) -> Result<(), Failed> {
    if outcome.failures.is_empty() {
        return Ok(());
    }
    let advice = format!("if this is right: BLESS=1 cargo test -p sdfg --test filetests {name}");
    Err(format!("{}\n{advice}", outcome.failures.join("\n")).into())
}

/// One test for each block of a document that is marked as `sdft`, named by the document and the line of its first line.
pub(crate) fn document_blocks() -> Vec<Trial> {
    let root = package().join("../..");
    let mut trials = Vec::new();
    for document in DOCUMENTS {
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
    let outcome = Outcome::of(&file, name);
    if outcome.failures.is_empty() { Ok(()) } else { Err(outcome.failures.join("\n").into()) }
}
