//! Messages on the standard error stream, and their colours.

use std::io::{IsTerminal, Write};

use clap::ValueEnum;
use sdfg::diagnostic::Style;

/// When messages are coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless the variable `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The standard error stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    style: Style,
    /// Whether another rank writes the same messages.
    is_silent: bool,
}

impl Terminal {
    pub(crate) fn new(choice: ColorChoice) -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let colored = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => std::io::stderr().is_terminal() && !is_set("NO_COLOR") && !is_dumb,
        };
        Terminal { style: if colored { Style::Color } else { Style::Plain }, is_silent: false }
    }

    /// A stream that takes no messages: those of a rank that another one writes, too.
    pub(crate) fn silent(self) -> Self {
        Terminal { is_silent: true, ..self }
    }

    pub(crate) fn style(self) -> Style {
        self.style
    }

    /// Writes a message and ends its line.
    pub(crate) fn message(self, text: &str) {
        if self.is_silent {
            return;
        }
        // There is nowhere to report a closed error stream to.
        let _ = writeln!(std::io::stderr().lock(), "{}", text.trim_end());
    }

    /// A remark that is no error.
    pub(crate) fn note(self, text: &str) {
        match self.style {
            Style::Plain => self.message(&format!("note: {text}")),
            Style::Color => self.message(&format!("\u{1b}[1mnote\u{1b}[0m: {text}")),
        }
    }
}
