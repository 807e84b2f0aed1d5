//! Commands in the head of a file: `#! test COMMAND ARGUMENTS`.

use crate::back_end::{Native, PlanOptions};
use crate::edit::Edits;
use crate::interpret::Call;

/// One command.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Command {
    /// The text is read; its errors are those that comments expect.
    Parse,
    /// The program is read and validated; what is found is what comments expect.
    Check,
    /// The derived memlets are those that comments expect.
    Propagate,
    /// Printing and reading, as text and as JSON, keeps the program.
    Roundtrip,
    /// The file is, but for comments, what the printer prints.
    Canonical,
    /// The printer prints the block of output.
    Print,
    /// Findings are shown with carets, as the block of output.
    Render,
    /// Nothing panics on the text, whatever it is.
    Survive,
    /// The interpreter gives these results on these arguments.
    Interpret(Call),
    /// The edits give the program in the block of output, or are refused.
    Edit(Edits),
    /// The plan is the block of output.
    Plan(PlanOptions),
    /// The program can be lowered, or lowering refuses it with a message that contains this part.
    Lower(Option<String>),
    /// Native code does as expected.
    Native(Native),
}

const KNOWN: &str = "parse, check, propagate, roundtrip, canonical, print, render, survive, interpret, edit, plan, lower, agree, sanitize";

impl Command {
    /// Reads what stands behind `#! test`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (word, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        let command = match word {
            "parse" => Command::Parse,
            "check" => Command::Check,
            "propagate" => Command::Propagate,
            "roundtrip" => Command::Roundtrip,
            "canonical" => Command::Canonical,
            "print" => Command::Print,
            "render" => Command::Render,
            "survive" => Command::Survive,
            "edit" => return Ok(Command::Edit(Edits::parse(rest)?)),
            "plan" => return Ok(Command::Plan(PlanOptions::parse(rest)?)),
            "lower" => return Ok(Command::Lower(refusal(rest)?)),
            "agree" => return Ok(Command::Native(Native::parse_agree(rest)?)),
            "sanitize" => return Ok(Command::Native(Native::parse_sanitize(rest)?)),
            "interpret" => return Ok(Command::Interpret(Call::parse(rest)?)),
            _ => return Err(format!("there is no command `{word}`; known: {KNOWN}")),
        };
        if rest.trim().is_empty() { Ok(command) } else { Err(format!("`{word}` takes no arguments")) }
    }
}

/// Reads the arguments of `lower`: nothing, or `-> refused PART`.
fn refusal(text: &str) -> Result<Option<String>, String> {
    match text.trim().strip_prefix("->").map(|rest| rest.trim().strip_prefix("refused ")) {
        None if text.trim().is_empty() => Ok(None),
        Some(Some(part)) => Ok(Some(part.trim().to_owned())),
        None | Some(None) => Err("`lower` takes nothing, or `-> refused PART`".to_owned()),
    }
}
