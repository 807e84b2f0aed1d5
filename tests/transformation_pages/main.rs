//! The pages of the transformations: each has all sections, and its transformation makes the program after of the program before,
//! with the same results. `BLESS=1` writes the program after of a page, and both in the form of the printer.

mod variants;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use sdfg::interpret::Options;
use sdfg::ir::Sdfg;
use sdfg_library::{BuiltIn, transformations};
use sdfg_transforms::verify::Verifier;
use sdfg_transforms::{HEADINGS, Page, Registry, Transformation, apply, matches};
use serde_json::Value;

/// The program in a section.
fn program(page: &Page, section: &str) -> Result<String, String> {
    let text = page.section(section).unwrap_or_default();
    let blocks: Vec<&str> =
        text.split("```sdft\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    match blocks[..] {
        [only] => Ok(only.to_owned()),
        _ => Err(format!("{} programs in the section `{section}`", blocks.len())),
    }
}

/// The parameters that the section `After` names, as in "With `factor=2` and `limit=3`:".
fn parameters(page: &Page) -> Value {
    let text = page.section("After").unwrap_or_default().split("```").next().unwrap_or_default();
    let named = text.split('`').skip(1).step_by(2).filter_map(|code| code.split_once('='));
    let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let parameters: serde_json::Map<String, Value> =
        named.map(|(name, text)| (name.to_owned(), value(text))).collect();
    if parameters.is_empty() { Value::Null } else { Value::Object(parameters) }
}

fn parsed(text: &str) -> Result<Sdfg, String> {
    sdfg::text::parse("page.sdft", text).map_err(|errors| format!("{errors:?}\n{text}"))
}

/// The program after the first match that passes.
fn rewritten(before: &Sdfg, transformation: &dyn Transformation) -> Result<Sdfg, String> {
    let all = matches(before, transformation);
    let Some(found) = all.first() else { return Err("matches nowhere on its page".to_owned()) };
    let mut program = before.clone();
    apply(&mut program, transformation, found).map_err(|error| error.to_string())?;
    Ok(program)
}

/// Holds a page against its transformation.
fn check(page: &Page, transformation: &dyn Transformation) -> Result<(), String> {
    let (before, after) = (program(page, "Before")?, program(page, "After")?);
    let original = parsed(&before)?;
    let found = rewritten(&original, transformation)?;
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        let new = (sdfg::text::print(&original), sdfg::text::print(&found));
        return bless(transformation.metadata().file, (&before, &after), (&new.0, &new.1));
    }
    if sdfg::text::print(&original) != before || sdfg::text::print(&parsed(&after)?) != after {
        return Err("a program is not as the printer prints it".to_owned());
    }
    if sdfg::text::print(&found) != after {
        return Err(format!("makes\n{}of\n{before}", sdfg::text::print(&found)));
    }
    let options = Options { libraries: Some(&BuiltIn), ..Options::default() };
    let verifier =
        Verifier::of(&original, &BTreeMap::new(), &options).map_err(|error| format!("{error}\n{before}"))?;
    let soundness = transformation.metadata().soundness;
    verifier.check(&found, soundness).map_err(|difference| format!("{difference}\n{after}"))
}

/// Replaces the programs of the page in the file with this text.
fn bless(text: &str, old: (&str, &str), new: (&str, &str)) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder =
        fs::read_dir(root.join("crates/transforms/src/rewrites")).map_err(|error| error.to_string())?;
    let files = folder.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files = files.chain([root.join("crates/library/src/transformation.rs")]);
    let is_file = |path: &std::path::PathBuf| fs::read_to_string(path).is_ok_and(|found| found == text);
    let path = files.find(is_file).ok_or("its file has changed: build again")?;
    let block = |program: &str| {
        let lines = program.lines().map(|line| format!("/// {line}").trim_end().to_owned() + "\n");
        format!("/// ```sdft\n{}/// ```\n", lines.collect::<String>())
    };
    let (head, tail) = text.split_once("/// # After").ok_or("has no section `After`")?;
    let head = head.replacen(&block(old.0), &block(new.0), 1);
    let tail = tail.replacen(&block(old.1), &block(new.1), 1);
    fs::write(path, format!("{head}/// # After{tail}")).map_err(|error| error.to_string())
}

#[test]
fn pages_show_what_transformations_do() {
    let mut wrong = Vec::new();
    for transformation in transformations().defaults() {
        let name = transformation.metadata().name;
        let page = Page::of(transformation.as_ref());
        let made = transformations().make(name, &parameters(&page)).map_err(|error| error.to_string());
        let held = made.and_then(|transformation| check(&page, transformation.as_ref()));
        wrong.extend(held.err().map(|error| format!("{name}: {error}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn pages_have_all_sections() {
    let mut wrong = Vec::new();
    for transformation in transformations().defaults() {
        let (metadata, page) = (transformation.metadata(), Page::of(transformation.as_ref()));
        let titles: Vec<&str> = page.sections.iter().map(|section| section.title.as_str()).collect();
        if titles.first() != Some(&"") || titles.get(1..=HEADINGS.len()) != Some(&HEADINGS) {
            wrong.push(format!("{}: the sections {titles:?} instead of {HEADINGS:?}", metadata.name));
        }
        let empty = page.sections.iter().filter(|section| section.text.is_empty());
        wrong.extend(empty.map(|section| format!("{}: `{}` is empty", metadata.name, section.title)));
        if !page.section("Refusals").is_some_and(|text| text.starts_with("- ")) {
            wrong.push(format!("{}: the refusals are no list", metadata.name));
        }
        // Code has the lines of the printer.
        let is_wide = |line: &&str| !line.starts_with("    ") && line.chars().count() > 110;
        let wide = page.to_string().lines().filter(is_wide).count();
        if wide > 0 {
            wrong.push(format!("{}: {wide} lines are wider than 110 columns", metadata.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
