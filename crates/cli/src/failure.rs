//! Failures of commands: message, location, help and exit status.

use std::fmt::Display;
use std::process::ExitCode;

use sdfg::diagnostic::Style;

/// A failed command.
#[derive(Debug)]
pub(crate) struct Failure {
    status: Status,
    text: Text,
}

#[derive(Debug)]
enum Text {
    /// Findings that were rendered already.
    Rendered(String),
    /// One error.
    Error { what: String, place: Option<String>, help: Option<String> },
}

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// The program has errors, traps or fails.
    Program,
    /// The command line, an input, a file or a tool is wrong.
    Usage,
}

impl Failure {
    /// Rendered findings about a program.
    pub(crate) fn findings(rendered: String) -> Self {
        Failure { status: Status::Program, text: Text::Rendered(rendered) }
    }

    /// The program has an error or fails.
    pub(crate) fn program(what: impl Display) -> Self {
        Failure::error(Status::Program, what)
    }

    /// The command line, an input, a file or a tool is wrong.
    pub(crate) fn usage(what: impl Display) -> Self {
        Failure::error(Status::Usage, what)
    }

    fn error(status: Status, what: impl Display) -> Self {
        Failure { status, text: Text::Error { what: what.to_string(), place: None, help: None } }
    }

    /// The same with its place.
    pub(crate) fn at(mut self, at: impl Display) -> Self {
        if let Text::Error { place, .. } = &mut self.text {
            *place = Some(at.to_string());
        }
        self
    }

    /// The same with what to do.
    pub(crate) fn help(mut self, text: impl Display) -> Self {
        if let Text::Error { help, .. } = &mut self.text {
            *help = Some(text.to_string());
        }
        self
    }

    /// The same with the exit status of another failure.
    pub(crate) fn with_exit_status(self, status: u8) -> Self {
        Failure { status: if status > 1 { Status::Usage } else { Status::Program }, ..self }
    }

    /// The message alone.
    pub(crate) fn message(&self) -> String {
        match &self.text {
            Text::Rendered(text) => text.clone(),
            Text::Error { what, .. } => what.clone(),
        }
    }

    /// 1 for programs, 2 for everything else.
    pub(crate) fn exit_status(&self) -> u8 {
        match self.status {
            Status::Program => 1,
            Status::Usage => 2,
        }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.exit_status())
    }

    pub(crate) fn render(&self, style: Style) -> String {
        let (bold_red, bold, reset) = match style {
            Style::Plain => ("", "", ""),
            Style::Color => ("\u{1b}[1;31m", "\u{1b}[1m", "\u{1b}[0m"),
        };
        match &self.text {
            Text::Rendered(text) => text.clone(),
            Text::Error { what, place, help } => {
                let mut text = format!("{bold_red}error{reset}: {what}");
                if let Some(place) = place {
                    text.push_str(&format!("\n  {bold}at{reset}: {place}"));
                }
                if let Some(help) = help {
                    text.push_str(&format!("\n  {bold}help{reset}: {help}"));
                }
                text
            }
        }
    }
}

/// ` (did you mean `b`?)` if one of the names is near to `name`.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    sdfg::path::closest(name, known).map_or_else(String::new, |other| format!(" (did you mean `{other}`?)"))
}
