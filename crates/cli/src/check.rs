//! `sdfg check`: reports all errors of programs at once.

use std::borrow::Cow;

use clap::{Args, ValueEnum};
use sdfg::diagnostic::Diagnostic;
use sdfg::diagnostic::wire::Report;
use sdfg::interpret::{Interpreter, ResolveError};
use sdfg::validate::{Validated, validate};
use sdfg_codegen::lower::{Refusal, Target, refusals};
use sdfg_dace::Finding;
use sdfg_library::{BuiltIn, ExpandError, expand_all};

use crate::failure::Failure;
use crate::output;
use crate::retarget::RetargetOption;
use crate::source::Source;
use crate::terminal::Terminal;

/// Check programs and report every error with its location and a remedy.
#[derive(Args)]
#[command(after_help = "Examples:\n  sdfg check laplace.sdft\n  sdfg check --format json *.sdft\n  \
                        sdfg print --format json laplace.sdft | sdfg check -")]
pub(crate) struct Check {
    /// Programs; `-` is the standard input.
    #[arg(required = true, value_name = "PROGRAM")]
    programs: Vec<String>,
    /// The form of the diagnostics: for people, or a JSON list on the standard output.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    /// Fail on warnings too.
    #[arg(long)]
    deny_warnings: bool,
    /// Accept C++ code of DaCe's files as external tasklets. This command does not compile it.
    #[arg(long)]
    allow_external: bool,
    #[command(flatten)]
    retarget: RetargetOption,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    #[default]
    Text,
    Json,
}

impl Check {
    pub(crate) fn execute(&self, terminal: Terminal) -> Result<(), Failure> {
        if self.programs.iter().filter(|path| *path == "-").count() > 1 {
            return Err(Failure::usage("the standard input is one program: `-` cannot be given twice"));
        }
        let (mut reports, mut summary) = (Vec::new(), String::new());
        let (mut faulty, mut rendered) = (0, String::new());
        let mut unread = Vec::new();
        for path in &self.programs {
            let source = match Source::read(path, self.allow_external) {
                Ok(source) => source.retargeted(self.retarget),
                Err(failure) => {
                    unread.push(failure);
                    continue;
                }
            };
            let Findings { graph: found, file: told, refused, changes } = diagnose(&source);
            changes.iter().for_each(|change| terminal.note(&format!("{}: {change}", source.name)));
            let errors = found.iter().filter(|finding| finding.is_error()).count()
                + told.iter().filter(|finding| finding.is_error).count()
                + refused.iter().filter(|finding| finding.is_error).count();
            let warnings = found.len() + told.len() + refused.len() - errors;
            faulty += usize::from(errors > 0 || (self.deny_warnings && warnings > 0));
            rendered.push_str(&source.render_told(&told));
            reports.extend(told.iter().map(report));
            refused.iter().for_each(|finding| rendered.push_str(&finding.render(&source.name)));
            reports.extend(refused.iter().map(Refused::report));
            rendered.push_str(&source.render(&found, terminal));
            reports.extend(source.pinpoint(found).iter().map(Report::from));
            summary.push_str(&format!("{}: {}\n", source.name, counted(errors, warnings)));
        }
        match self.format {
            Format::Text => {
                if !reports.is_empty() {
                    terminal.message(&rendered);
                }
                if let Some(first) = reports.first() {
                    terminal.note(&format!("`sdfg explain {}` tells more", first.code));
                }
                output::print(summary.as_bytes())?;
            }
            Format::Json => {
                // Reports hold strings, numbers and lists only, which always have a JSON form.
                let mut list = serde_json::to_string_pretty(&reports).unwrap_or_default();
                list.push('\n');
                output::print(list.as_bytes())?;
            }
        }
        let last = unread.pop();
        for failure in unread {
            terminal.message(&failure.render(terminal.style()));
        }
        if let Some(last) = last {
            return Err(last);
        }
        if faulty == 0 {
            return Ok(());
        }
        let plural = if faulty == 1 { "program has" } else { "programs have" };
        Err(Failure::program(format_args!("{faulty} {plural} errors")))
    }
}

/// Everything that is known about a program.
#[derive(Default)]
struct Findings {
    /// Errors and warnings of the graph.
    graph: Vec<Diagnostic>,
    /// Unsupported and ignored parts of a DaCe file.
    file: Vec<Finding>,
    /// Nodes and constructs that other commands refuse.
    refused: Vec<Refused>,
    /// Changes for another machine.
    changes: Vec<String>,
}

/// A refusal of another command, which the command reports with the same code.
struct Refused {
    code: &'static str,
    /// Whether every command refuses the program that needs this part of it.
    is_error: bool,
    path: String,
    message: String,
    help: Option<&'static str>,
}

/// Reads and validates a program, and tries its expansion and lowering.
fn diagnose(source: &Source) -> Findings {
    let mut findings = Findings::default();
    let graph = match source.import() {
        Some(Ok(import)) => {
            findings.file = import.report.findings;
            Ok(import.sdfg)
        }
        Some(Err(refused)) => {
            findings.file = refused.report.findings;
            return findings;
        }
        None => source.diagnosed(),
    };
    let graph = graph.map(|mut sdfg| {
        findings.changes = source.retarget(&mut sdfg);
        sdfg
    });
    match graph.map(validate) {
        Err(syntax) => findings.graph = syntax,
        Ok(Err(rejected)) => findings.graph = rejected.diagnostics,
        Ok(Ok(validated)) => {
            findings.graph = validated.warnings().to_vec();
            findings.refused = refused(&validated);
        }
    }
    findings
}

/// Refusals of the interpreter and of native code.
fn refused(program: &Validated) -> Vec<Refused> {
    let expanded = match expand_all(program.sdfg(), &BuiltIn) {
        Ok(expanded) => expanded,
        Err(failed) => return failed.iter().map(of_node).collect(),
    };
    let mut found = Vec::new();
    if let Err(ResolveError::Unsupported { path, what }) = Interpreter::new(program) {
        let message = format!("the interpreter does not support {what}");
        let help = Some("native code runs it: `sdfg run`");
        found.push(Refused { code: INTERPRETED, is_error: false, path: path.to_string(), message, help });
    }
    let told = match expanded {
        Cow::Borrowed(_) => refusals(program, &Target::cpu()),
        // Tests show that expansions are valid.
        Cow::Owned(expanded) => {
            validate(expanded).map_or_else(|_| Vec::new(), |expanded| refusals(&expanded, &Target::cpu()))
        }
    };
    found.extend(told.iter().map(of_refusal));
    found
}

/// Code of refusals of the interpreter.
pub(crate) const INTERPRETED: &str = "I001";

fn of_node(error: &ExpandError) -> Refused {
    Refused {
        code: error.kind.code(),
        is_error: true,
        path: error.path.to_string(),
        message: error.kind.to_string(),
        help: None,
    }
}

fn of_refusal(refusal: &Refusal) -> Refused {
    Refused {
        code: refusal.lacks.code(),
        is_error: false,
        path: refusal.path.to_string(),
        message: refusal.message(),
        help: Some(refusal.lacks.help()),
    }
}

impl Refused {
    fn severity(&self) -> &'static str {
        if self.is_error { "error" } else { "warning" }
    }

    /// For people, with the name of the file.
    fn render(&self, file: &str) -> String {
        format!("{}[{}]: {file}: {}: {}\n", self.severity(), self.code, self.path, self.message)
    }

    /// As tools read it.
    fn report(&self) -> Report {
        Report {
            code: self.code,
            severity: self.severity(),
            message: self.message.clone(),
            path: self.path.clone(),
            location: None,
            excerpt: None,
            notes: Vec::new(),
            suggestion: self.help.map(str::to_owned),
            related: Vec::new(),
        }
    }
}

/// A finding about a file of DaCe's as tools read it.
fn report(finding: &Finding) -> Report {
    Report {
        code: finding.code.name(),
        severity: if finding.is_error { "error" } else { "warning" },
        message: finding.message.clone(),
        path: finding.path.clone(),
        location: None,
        excerpt: None,
        notes: Vec::new(),
        suggestion: None,
        related: Vec::new(),
    }
}

fn counted(errors: usize, warnings: usize) -> String {
    let some = |count: usize, noun: &str| match count {
        0 => None,
        1 => Some(format!("1 {noun}")),
        _ => Some(format!("{count} {noun}s")),
    };
    let parts: Vec<String> = some(errors, "error").into_iter().chain(some(warnings, "warning")).collect();
    if parts.is_empty() { "ok".to_owned() } else { parts.join(", ") }
}
