//! Reading programs: from a file or the standard input, as text or JSON, up to a checked program.

use std::io::Read;

use sdfg::diagnostic::{Code, Diagnostic, ElementPath, render};
use sdfg::ir::Sdfg;
use sdfg::validate::{Validated, validate};
use sdfg::{json, text};

use crate::failure::Failure;
use crate::terminal::Terminal;

/// The name of the standard input.
const STDIN: &str = "<stdin>";

/// A program that was read but not parsed.
#[derive(Debug)]
pub(crate) struct Source {
    /// The file as the user named it; `<stdin>` for the standard input.
    pub(crate) name: String,
    text: String,
}

impl Source {
    /// Reads a file, or with `-` the standard input.
    pub(crate) fn read(path: &str) -> Result<Self, Failure> {
        let is_stdin = path == "-";
        let name = if is_stdin { STDIN.to_owned() } else { path.to_owned() };
        let mut bytes = Vec::new();
        let read = if is_stdin {
            std::io::stdin().lock().read_to_end(&mut bytes).map(|_| ())
        } else {
            std::fs::read(path).map(|found| bytes = found)
        };
        read.map_err(|error| {
            Failure::usage(format_args!("cannot read `{name}`: {error}"))
                .help("check the path; `-` reads the program from the standard input")
        })?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Failure::usage(format_args!("`{name}` is no text: byte {at} is not UTF-8"))
                .help("give a program in the text form (.sdft) or as JSON")
        })?;
        Ok(Source { name, text: text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned) })
    }

    /// A program in the text form that was written to a file.
    pub(crate) fn from_text(name: String, text: String) -> Self {
        Source { name, text }
    }

    /// Whether the lines of the file are those of the program.
    pub(crate) fn has_lines(&self) -> bool {
        !self.is_json() && self.name != STDIN
    }

    /// Whether the content is JSON: no text program begins with a brace.
    fn is_json(&self) -> bool {
        self.text.trim_start().starts_with('{')
    }

    /// The graph, which may still be wrong.
    pub(crate) fn parse(&self, terminal: Terminal) -> Result<Sdfg, Failure> {
        if self.is_json() {
            return json::parse(&self.text).map_err(|error| Failure::program(error).at(&self.name));
        }
        text::parse(&self.name, &self.text).map_err(|errors| {
            let found: Vec<Diagnostic> = errors.iter().map(Diagnostic::text).collect();
            Failure::findings(self.render(&found, terminal))
        })
    }

    /// The graph, which may still be wrong, or the errors of syntax.
    pub(crate) fn diagnosed(&self) -> Result<Sdfg, Vec<Diagnostic>> {
        if self.is_json() {
            return json::parse(&self.text).map_err(|error| {
                vec![Diagnostic::error(Code::Syntax, ElementPath::default(), error.to_string())]
            });
        }
        text::parse(&self.name, &self.text).map_err(|errors| errors.iter().map(Diagnostic::text).collect())
    }

    /// The program with the proof that it is valid. Warnings are shown.
    pub(crate) fn validated(&self, terminal: Terminal) -> Result<Validated, Failure> {
        let sdfg = self.parse(terminal)?;
        match validate(sdfg) {
            Ok(validated) => {
                if !validated.warnings().is_empty() {
                    terminal.message(&self.render(validated.warnings(), terminal));
                }
                Ok(validated)
            }
            Err(rejected) => Err(Failure::findings(self.render(&rejected.diagnostics, terminal))),
        }
    }

    /// Findings with the place of the piece of code that they are about.
    pub(crate) fn pinpoint(&self, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
        found.into_iter().map(|finding| finding.pinpoint(&self.name, &self.text)).collect()
    }

    /// Findings with carets under the source.
    pub(crate) fn render(&self, found: &[Diagnostic], terminal: Terminal) -> String {
        // The positions of a JSON document mean nothing to its reader.
        let source = (!self.is_json()).then_some((self.name.as_str(), self.text.as_str()));
        render(found, source, terminal.style())
    }
}
