//! Reads programs from a file or the standard input, as text, JSON or a DaCe file, and validates them.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;

use sdfg::diagnostic::{Code, Diagnostic, ElementPath, render};
use sdfg::ir::Sdfg;
use sdfg::ir::structure::CallerStructure;
use sdfg::validate::{Validated, validate};
use sdfg::{json, text};
use sdfg_dace::{Code as FileCode, Finding, Import, Refused};

use crate::failure::Failure;
use crate::retarget::RetargetOption;
use crate::terminal::Terminal;

/// The name of the standard input.
const STDIN: &str = "<stdin>";

/// Bytes of the largest file that is read as a program.
const LARGEST: u64 = 1 << 30;

/// The available bytes, up to one byte more than the limit.
fn read_up_to(source: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(LARGEST + 1).read_to_end(&mut bytes).map(|_| bytes)
}

/// A program that was read but not parsed.
#[derive(Debug)]
pub(crate) struct Source {
    /// The file as the user named it; `<stdin>` for the standard input.
    pub(crate) name: String,
    content: Content,
    /// Whether C++ code of DaCe's files becomes external tasklets.
    allow_external: bool,
    /// Whether the program gets the schedules and storages of another machine.
    retarget: RetargetOption,
    /// Structures that callers of a DaCe program pass, once it was read.
    structures: OnceCell<Vec<CallerStructure>>,
}

/// The form of a program, determined by its content.
#[derive(Debug)]
enum Content {
    Text(String),
    Json(String),
    /// A `.sdfg` file, compressed or not.
    Dace(Vec<u8>),
}

impl Source {
    /// Reads a file, or with `-` the standard input. If it is allowed, C++ code of DaCe's files becomes external tasklets, which
    /// are compiled when they are needed.
    pub(crate) fn read(path: &str, allow_external: bool) -> Result<Self, Failure> {
        let is_stdin = path == "-";
        let name = if is_stdin { STDIN.to_owned() } else { path.to_owned() };
        let unreadable = |error: std::io::Error| {
            Failure::usage(format_args!("cannot read `{name}`: {error}"))
                .help("check the path; `-` reads the program from the standard input")
        };
        let too_large = || {
            Failure::usage(format_args!("`{name}` is too large for a program: more than {LARGEST} bytes"))
                .help("data of a run is not part of a program: give it with `-i NAME=FILE.npy`")
        };
        let bytes = if is_stdin {
            read_up_to(std::io::stdin().lock()).map_err(unreadable)?
        } else {
            let file = File::open(path).map_err(unreadable)?;
            if file.metadata().is_ok_and(|metadata| metadata.len() > LARGEST) {
                return Err(too_large());
            }
            read_up_to(file).map_err(unreadable)?
        };
        if bytes.len() as u64 > LARGEST {
            return Err(too_large());
        }
        if sdfg_dace::is_dace(&bytes) {
            return Ok(Source {
                name,
                content: Content::Dace(bytes),
                allow_external,
                retarget: RetargetOption::default(),
                structures: OnceCell::new(),
            });
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Failure::usage(format_args!("`{name}` is no text: byte {at} is not UTF-8"))
                .help("give a program in the text form (.sdft), as JSON, or a file of DaCe's (.sdfg)")
        })?;
        let text = text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned);
        // No text program begins with a brace.
        let is_json = text.trim_start().starts_with('{');
        let content = if is_json { Content::Json(text) } else { Content::Text(text) };
        Ok(Source {
            name,
            content,
            allow_external,
            retarget: RetargetOption::default(),
            structures: OnceCell::new(),
        })
    }

    /// The same program for another machine.
    pub(crate) fn retargeted(self, retarget: RetargetOption) -> Self {
        Source { retarget, ..self }
    }

    /// A program in the text form that was written to a file.
    pub(crate) fn from_text(name: String, text: String) -> Self {
        Source {
            name,
            content: Content::Text(text),
            allow_external: false,
            retarget: RetargetOption::default(),
            structures: OnceCell::new(),
        }
    }

    /// Whether the lines of the file are those of the program.
    pub(crate) fn has_lines(&self) -> bool {
        matches!(self.content, Content::Text(_)) && self.name != STDIN
    }

    /// The result of reading a DaCe file, or all its errors; `None` for other programs.
    pub(crate) fn import(&self) -> Option<Result<Import, Refused>> {
        let Content::Dace(bytes) = &self.content else { return None };
        Some(self.read_dace(bytes))
    }

    /// Changes a program that was read as the command line asks, and returns one line for each change.
    pub(crate) fn retarget(&self, sdfg: &mut Sdfg) -> Vec<String> {
        self.retarget.apply(sdfg).iter().map(ToString::to_string).collect()
    }

    fn read_dace(&self, bytes: &[u8]) -> Result<Import, Refused> {
        let allow_external = self.allow_external;
        sdfg_dace::read(bytes, &sdfg_dace::Options { allow_external, ..Default::default() })
    }

    /// Structures that callers pass in the place of arguments; none before the program was read.
    pub(crate) fn structures(&self) -> Vec<CallerStructure> {
        self.structures.get().cloned().unwrap_or_default()
    }

    /// The graph, which may still be wrong.
    pub(crate) fn parse(&self, terminal: Terminal) -> Result<Sdfg, Failure> {
        let mut sdfg = self.as_written(terminal)?;
        self.retarget(&mut sdfg).iter().for_each(|change| terminal.note(change));
        Ok(sdfg)
    }

    /// The graph as the file has it.
    fn as_written(&self, terminal: Terminal) -> Result<Sdfg, Failure> {
        match &self.content {
            Content::Json(text) => json::parse(text).map_err(|error| Failure::program(error).at(&self.name)),
            Content::Text(text) => text::parse(&self.name, text).map_err(|errors| {
                let found: Vec<Diagnostic> = errors.iter().map(Diagnostic::text).collect();
                Failure::findings(self.render(&found, terminal))
            }),
            Content::Dace(bytes) => match self.read_dace(bytes) {
                Ok(import) => {
                    // Reading again gives the same.
                    let _ = self.structures.set(import.structures);
                    Ok(import.sdfg)
                }
                Err(refused) => Err(Failure::findings(self.render_told(&refused.report.findings))),
            },
        }
    }

    /// The graph, which may still be wrong, or the errors of syntax.
    pub(crate) fn diagnosed(&self) -> Result<Sdfg, Vec<Diagnostic>> {
        let syntax = |error: &dyn std::fmt::Display| {
            vec![Diagnostic::error(Code::Syntax, ElementPath::default(), error.to_string())]
        };
        match &self.content {
            Content::Json(text) => json::parse(text).map_err(|error| syntax(&error)),
            Content::Text(text) => {
                text::parse(&self.name, text).map_err(|errors| errors.iter().map(Diagnostic::text).collect())
            }
            Content::Dace(bytes) => {
                self.read_dace(bytes).map(|import| import.sdfg).map_err(|error| syntax(&error))
            }
        }
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
        let Content::Text(text) = &self.content else { return found };
        found.into_iter().map(|finding| finding.pinpoint(&self.name, text)).collect()
    }

    /// Findings about a file of DaCe's, each with the name of the file. Notes with the same text are one line, with their number.
    pub(crate) fn render_told(&self, told: &[Finding]) -> String {
        let mut left: BTreeMap<(FileCode, &str), usize> = BTreeMap::new();
        let notes = || told.iter().filter(|finding| !finding.is_error);
        notes().for_each(|note| *left.entry((note.code, &note.message)).or_default() += 1);
        let mut text = String::new();
        for finding in told {
            let (severity, others) = match finding.is_error {
                true => ("error", 0),
                false => match left.remove(&(finding.code, finding.message.as_str())) {
                    Some(count) => ("note", count - 1),
                    None => continue,
                },
            };
            let Finding { code, path, message, .. } = finding;
            text.push_str(&format!("{severity}[{code}]: {}: {path}: {message}", self.name));
            match others {
                0 => {}
                1 => text.push_str(" (and 1 other place)"),
                _ => text.push_str(&format!(" (and {others} other places)")),
            }
            text.push('\n');
        }
        text
    }

    /// Findings with carets under the source.
    pub(crate) fn render(&self, found: &[Diagnostic], terminal: Terminal) -> String {
        // The positions of a JSON document mean nothing to its reader.
        let source = match &self.content {
            Content::Text(text) => Some((self.name.as_str(), text.as_str())),
            Content::Json(_) | Content::Dace(_) => None,
        };
        render(found, source, terminal.style())
    }
}
