//! Runs the commands of a file, and compares the results with its expectations.

use sdfg::diagnostic::{Diagnostic, Style, render};
use sdfg::ir::{NodeKind, Sdfg};
use sdfg::propagate::propagate;
use sdfg::text::{self, print_memlet};
use sdfg::validate::validate;

use crate::back_end::{BackEnd, PlanOptions};
use crate::command::Command;
use crate::expectation::{Finding, pair};
use crate::test_file::TestFile;
use crate::{interpret, roundtrip, survive};

/// Results of a file.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Diagnostics and memlets by line, of the commands that the file has.
    pub(crate) findings: Vec<Finding>,
    /// The text of each block of output, by name.
    pub(crate) blocks: Vec<(&'static str, String)>,
    /// Results of each call of the interpreter, by position of its command.
    pub(crate) results: Vec<(usize, interpret::Found)>,
    /// Everything that is not as expected.
    pub(crate) failures: Vec<String>,
}

/// A program as far as it is right.
struct Program {
    parsed: Result<Sdfg, Vec<Diagnostic>>,
    /// Errors and warnings of reading, or else of validation.
    diagnostics: Vec<Diagnostic>,
}

impl Outcome {
    /// Runs every command of a file, for each of its variants. Blessing keeps the output of the first one.
    pub(crate) fn of(file: &TestFile, name: &str, back_end: &dyn BackEnd) -> Self {
        let mut variants = file.sources().into_iter().map(|(variant, source)| {
            let mut outcome = Outcome::of_variant(file, (name, &source), back_end);
            if !variant.is_empty() {
                let told = |failure: &String| format!("with{variant}: {failure}");
                outcome.failures = outcome.failures.iter().map(told).collect();
            }
            outcome
        });
        let none = || Outcome {
            findings: Vec::new(),
            blocks: Vec::new(),
            results: Vec::new(),
            failures: vec!["a list of variants is empty".to_owned()],
        };
        let mut first = variants.next().unwrap_or_else(none);
        first.failures.extend(variants.flat_map(|outcome| outcome.failures));
        first
    }

    fn of_variant(file: &TestFile, (name, source): (&str, &str), back_end: &dyn BackEnd) -> Self {
        let mut outcome =
            Outcome { findings: Vec::new(), blocks: Vec::new(), results: Vec::new(), failures: Vec::new() };
        if file.commands.is_empty() {
            outcome.failures.push("the file has no command; it begins with `#! test COMMAND`".to_owned());
        }
        let program = read(name, source);
        for (position, command) in file.commands.iter().enumerate() {
            if let Err(failure) =
                outcome.command(file, (name, source), &program, (position, command), back_end)
            {
                outcome.failures.push(failure);
            }
        }
        for finding in &mut outcome.findings {
            finding.line = file.anchor(finding.line);
        }
        outcome.findings.sort_by_key(|finding| finding.line);
        outcome.compare(file);
        outcome
    }

    fn command(
        &mut self,
        file: &TestFile,
        (name, source): (&str, &str),
        program: &Program,
        (position, command): (usize, &Command),
        back_end: &dyn BackEnd,
    ) -> Result<(), String> {
        let shown = |found: &[Diagnostic]| render(found, Some((name, source)), Style::Plain);
        let parsed = || program.parsed.as_ref().map_err(|found| shown(found));
        match command {
            Command::Parse => {
                if let Err(found) = &program.parsed {
                    self.findings.extend(found.iter().map(Finding::diagnostic));
                }
            }
            Command::Check => self.findings.extend(program.diagnostics.iter().map(Finding::diagnostic)),
            Command::Propagate => derived_memlets(parsed()?, &mut self.findings),
            Command::Roundtrip => roundtrip::check(parsed()?)?,
            Command::Canonical => {
                let printed = text::print(parsed()?);
                if printed != file.code() {
                    return Err(format!("the printer writes this program so:\n{printed}"));
                }
            }
            Command::Print => self.blocks.push(("print", text::print(parsed()?))),
            Command::Render => self.blocks.push(("render", shown(&program.diagnostics))),
            Command::Survive => survive::text(source),
            Command::Edit(edits) => {
                self.blocks.extend(edits.run(parsed()?)?.map(|printed| ("edit", printed)));
            }
            Command::Plan(options) => self.blocks.push(("plan", back_end.plan(parsed()?, *options)?)),
            Command::Lower(expected) => lowering(expected.as_deref(), parsed()?, back_end)?,
            Command::Native(native) => back_end.run(parsed()?, native)?,
            Command::Interpret(call) => {
                let validated =
                    validate(parsed()?.clone()).map_err(|rejected| shown(&rejected.diagnostics))?;
                let found = call.run(&validated)?;
                if let Err(difference) = call.compare(validated.sdfg(), &found) {
                    self.failures.push(difference);
                }
                self.results.push((position, found));
            }
        }
        Ok(())
    }

    fn compare(&mut self, file: &TestFile) {
        let pairs = pair(&file.expectations, &self.findings);
        for (i, expectation) in file.expectations.iter().enumerate() {
            if pairs.iter().all(|(paired, _)| *paired != i) {
                self.failures
                    .push(format!("line {}: expected, not found: {expectation}", expectation.line + 1));
            }
        }
        for (j, finding) in self.findings.iter().enumerate() {
            if pairs.iter().all(|(_, paired)| *paired != j) {
                self.failures.push(format!("line {}: found, not expected: {finding}", finding.line + 1));
            }
        }
        for (name, text) in &self.blocks {
            match file.block(name) {
                Some(expected) if same_lines(expected, text) => {}
                Some(expected) => self.failures.push(format!("`{name}` expected:\n{expected}found:\n{text}")),
                None => self.failures.push(format!("`{name}` has no block of output; found:\n{text}")),
            }
        }
        for block in &file.blocks {
            if self.blocks.iter().all(|(name, _)| *name != block.name) {
                self.failures.push(format!("nothing gives the block of output `{}`", block.name));
            }
        }
    }
}

fn same_lines(left: &str, right: &str) -> bool {
    left.trim_end().lines().map(str::trim_end).eq(right.trim_end().lines().map(str::trim_end))
}

/// Compares the result of lowering with the part of a refusal, or with success.
fn lowering(expected: Option<&str>, program: &Sdfg, back_end: &dyn BackEnd) -> Result<(), String> {
    match (back_end.plan(program, PlanOptions::default()), expected) {
        (Ok(_), None) => Ok(()),
        (Err(refusal), Some(part)) if refusal.contains(part) => Ok(()),
        (Err(refusal), _) => Err(format!("lowering refuses the program: {refusal}")),
        (Ok(_), Some(part)) => Err(format!("lowering does not refuse the program with `{part}`")),
    }
}

fn read(name: &str, source: &str) -> Program {
    match text::parse(name, source) {
        Err(errors) => {
            let diagnostics: Vec<Diagnostic> = errors.iter().map(Diagnostic::text).collect();
            Program { parsed: Err(diagnostics.clone()), diagnostics }
        }
        Ok(sdfg) => {
            let diagnostics = match validate(sdfg.clone()) {
                Ok(validated) => validated.warnings().to_vec(),
                Err(rejected) => rejected.diagnostics,
            };
            Program { parsed: Ok(sdfg), diagnostics }
        }
    }
}

/// The derived memlets of an SDFG and those nested in it; one that may cover more than is accessed says so.
fn derived_memlets(sdfg: &Sdfg, findings: &mut Vec<Finding>) {
    let mut derived = sdfg.clone();
    for ((state, edge), exact) in propagate(&mut derived).exact {
        let edge = derived.state(state).edge(edge);
        let Some(loc) = &edge.loc else { continue };
        let covering = if exact { "" } else { " covering" };
        let text = format!("{}{covering}", print_memlet(&derived, &edge.memlet));
        findings.push(Finding { line: loc.line as usize - 1, kind: crate::expectation::Kind::Memlet, text });
    }
    for (_, state) in sdfg.states() {
        for (_, node) in state.nodes() {
            if let NodeKind::Nested(nested) = &node.kind {
                derived_memlets(&nested.sdfg, findings);
            }
        }
    }
}
