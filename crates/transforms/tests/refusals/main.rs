//! Every reason for which a transformation refuses is listed in `table.txt`, with the test that forces the rewrite and sees a wrong
//! result, or with the reason for which there is none.
//!
//! An entry is a text from the source, after one of these words; the next line names the test, or gives the reason.
//!
//! | word | the refusal |
//! |---|---|
//! | `forced` | a test forces the rewrite, which is then wrong |
//! | `form` | the match, or a parameter, has another form: there is nothing to rewrite |
//! | `edit` | the edit cannot be made there either |
//! | `trap` | every program that has it is invalid or traps before the rewrite, too |
//! | `cost` | the rewrite keeps results, and makes a program slower or a chain of rewrites long |
//! | `target` | lowering refuses what the rewrite makes: the test of lowering, or the reason |
//! | `limit` | the rewrite could be made, and no test shows that it is wrong |
//! | `part` | is a part of another message |

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Words in tests that make a rewrite without its check, or compare results.
const FORCING: [&str; 7] = [
    "refuses_rightly",
    "refuses_everywhere",
    "forced",
    "force(",
    "is_wrong",
    "is_fused_in_order",
    "difference(",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The files of a folder and of the folders in it whose names end in `.rs`.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let inner = |path: PathBuf| if path.is_dir() { rust_files(&path) } else { vec![path] };
    let files = paths.into_iter().flat_map(inner);
    files.filter(|path| path.extension().is_some_and(|found| found == "rs")).collect()
}

/// The texts of several words in a source file, without those of comments, tests and descriptions.
fn texts(source: &str) -> Vec<String> {
    let source = source.split("\n#[cfg(test)]").next().unwrap_or_default();
    let mut code = String::new();
    let mut is_description = false;
    for line in source.lines().filter(|line| !line.trim_start().starts_with("//")) {
        is_description |= line.starts_with("static METADATA");
        if !is_description {
            code.push_str(line);
            code.push('\n');
        }
        is_description &= line != "};";
    }
    // A quote is never escaped outside of a text, and no character of these files is a quote.
    let (mut found, mut text, mut chars) = (Vec::new(), None::<String>, code.chars());
    while let Some(next) = chars.next() {
        match (&mut text, next) {
            (None, '"') => text = Some(String::new()),
            (None, _) => {}
            (Some(_), '"') => found.extend(text.take().filter(|text| text.trim().contains(' '))),
            (Some(text), '\\') => text.extend(chars.next()),
            (Some(text), other) => text.push(other),
        }
    }
    found
}

/// The entries of the table: file and text, with the word and the next line.
fn table() -> BTreeMap<(String, String), (String, String)> {
    let mut entries = BTreeMap::new();
    let mut file = String::new();
    let mut last = None;
    for line in include_str!("table.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            file = name.to_owned();
        } else if let Some(detail) = line.strip_prefix("  ") {
            let key = last.clone().unwrap_or_else(|| panic!("`{line}` stands behind no entry"));
            entries.entry(key).and_modify(|(_, found): &mut (String, String)| *found = detail.to_owned());
        } else {
            let (word, text) = line.split_once(": ").unwrap_or_else(|| panic!("`{line}` is no entry"));
            let key = (file.clone(), text.to_owned());
            assert!(entries.insert(key.clone(), (word.to_owned(), String::new())).is_none(), "{key:?} twice");
            last = Some(key);
        }
    }
    entries
}

/// The bodies of all test functions, by name.
fn tests() -> BTreeMap<String, String> {
    let folders = ["transforms/tests", "library/tests", "../tests"].map(|folder| root().join(folder));
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for file in folders.iter().flat_map(|folder| rust_files(folder)) {
        let source = fs::read_to_string(&file).expect("a source");
        for part in source.split("#[test]\nfn ").skip(1) {
            let name = part.split('(').next().unwrap_or_default().to_owned();
            let body = part.split("\n}\n\n").next().unwrap_or_default();
            found.entry(name).or_default().push_str(body);
        }
    }
    found
}

#[test]
fn refusals_are_forced_or_have_a_reason() {
    let folder = root().join("transforms/src/rewrites");
    let mut files = rust_files(&folder);
    files.retain(|file| !["tests.rs", "mod.rs", "sizes.rs"].iter().any(|name| file.ends_with(name)));
    files.push(root().join("transforms/src/lanes.rs"));
    files.push(root().join("transforms/src/loops.rs"));
    files.push(root().join("transforms/src/engine/shared_arguments.rs"));
    files.push(root().join("library/src/transformation.rs"));
    let mut in_source = BTreeSet::new();
    for file in files {
        let source = fs::read_to_string(&file).expect("a source");
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        in_source.extend(texts(&source).into_iter().map(|text| (name.clone(), text)));
    }
    let (table, tests) = (table(), tests());
    let mut wrong = Vec::new();
    for key in in_source.iter().filter(|key| !table.contains_key(*key)) {
        wrong.push(format!("{key:?} is not in the table"));
    }
    for (key, (word, detail)) in &table {
        if !in_source.contains(key) {
            wrong.push(format!("{key:?} is in no source"));
        }
        match word.as_str() {
            "forced" => match tests.get(detail) {
                Some(body) if FORCING.iter().any(|word| body.contains(word)) => {}
                Some(_) => wrong.push(format!("{key:?}: `{detail}` forces nothing")),
                None => wrong.push(format!("{key:?}: there is no test `{detail}`")),
            },
            "edit" | "limit" | "trap" | "cost" | "target" if detail.is_empty() => {
                wrong.push(format!("{key:?} has no reason"));
            }
            "target" if !detail.contains(' ') && !tests.contains_key(detail) => {
                wrong.push(format!("{key:?}: there is no test `{detail}`"));
            }
            "edit" | "limit" | "trap" | "cost" | "target" | "form" | "part" => {}
            other => wrong.push(format!("{key:?}: `{other}` is no word of the table")),
        }
    }
    let forced = table.values().filter(|(word, _)| word == "forced").count();
    assert!(forced >= 90, "only {forced} refusals are forced");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
