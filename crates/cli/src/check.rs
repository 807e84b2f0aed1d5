//! `sdfg check`: reports all errors of programs at once.

use clap::{Args, ValueEnum};
use sdfg::diagnostic::Diagnostic;
use sdfg::diagnostic::wire::Report;
use sdfg::validate::validate;
use sdfg_codegen::lower::{Refusal, Target, refusals};
use sdfg_dace::Finding;

use crate::failure::Failure;
use crate::output;
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
                Ok(source) => source,
                Err(failure) => {
                    unread.push(failure);
                    continue;
                }
            };
            let (found, told, refused) = diagnose(&source);
            let errors = found.iter().filter(|finding| finding.is_error()).count();
            let refusals = told.iter().filter(|finding| finding.is_error).count();
            let warnings = found.len() - errors + told.len() - refusals + refused.len();
            let errors = errors + refusals;
            faulty += usize::from(errors > 0 || (self.deny_warnings && warnings > 0));
            rendered.push_str(&source.render_told(&told));
            reports.extend(told.iter().map(report));
            rendered.push_str(&source.render_refused(&refused));
            reports.extend(refused.iter().map(of_refusal));
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

/// Diagnostics of a program: its errors, unsupported or ignored parts of a DaCe file, and for a valid program
/// the refusals of native code.
fn diagnose(source: &Source) -> (Vec<Diagnostic>, Vec<Finding>, Vec<Refusal>) {
    let (graph, told) = match source.import() {
        Some(Ok(import)) => (Ok(import.sdfg), import.report.findings),
        Some(Err(refused)) => return (Vec::new(), refused.report.findings, Vec::new()),
        None => (source.diagnosed(), Vec::new()),
    };
    let (found, refused) = match graph.map(validate) {
        Err(syntax) => (syntax, Vec::new()),
        Ok(Ok(validated)) => (validated.warnings().to_vec(), refusals(&validated, &Target::cpu())),
        Ok(Err(rejected)) => (rejected.diagnostics, Vec::new()),
    };
    (found, told, refused)
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

/// A refusal to come as tools read it.
fn of_refusal(refusal: &Refusal) -> Report {
    Report {
        code: refusal.lacks.code(),
        severity: "warning",
        message: refusal.message(),
        path: refusal.path.to_string(),
        location: None,
        excerpt: None,
        notes: Vec::new(),
        suggestion: Some(refusal.lacks.help().to_owned()),
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
