//! Parser of file tests: commands, program, expectations on lines, blocks of expected output.

use crate::command::Command;
use crate::expectation::Finding;

/// Kinds of lines of a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Line {
    /// The first line of the command at this position.
    Command(usize),
    /// A line that goes on with a command, or holds nothing but an expectation.
    Dropped,
    /// `#! for NAME in WORD ...`: the program is tested with each word in place of the name.
    Variants(String),
    /// The program, without an expectation that stood behind it.
    Program(String),
}

/// A block of expected output: `#= NAME`, then its lines behind `#|`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// A file test.
#[derive(Clone, Debug)]
pub(crate) struct TestFile {
    /// Every line in front of the blocks.
    pub(crate) lines: Vec<Line>,
    pub(crate) commands: Vec<Command>,
    /// The text of each command.
    pub(crate) texts: Vec<String>,
    /// Names in the program, and the words that each stands for.
    variants: Vec<(String, Vec<String>)>,
    pub(crate) expectations: Vec<Finding>,
    pub(crate) blocks: Vec<Block>,
}

impl TestFile {
    /// Takes a file apart.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut file = TestFile {
            lines: Vec::new(),
            commands: Vec::new(),
            texts: Vec::new(),
            variants: Vec::new(),
            expectations: Vec::new(),
            blocks: Vec::new(),
        };
        let mut commands: Vec<String> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            if let Some(name) = line.strip_prefix("#=") {
                file.blocks.push(Block { name: name.trim().to_owned(), text: String::new() });
            } else if let Some(block) = file.blocks.last_mut() {
                if let Some(content) = line.strip_prefix("#|") {
                    block.text.push_str(content.strip_prefix(' ').unwrap_or(content));
                    block.text.push('\n');
                } else if !line.trim().is_empty() {
                    return Err(format!("line {}: the blocks of output are the end of a file", number + 1));
                }
            } else if let Some(head) = line.strip_prefix("#!") {
                let goes_on = matches!(file.lines.last(), Some(Line::Command(_) | Line::Dropped));
                let (head, previous) = (head.trim(), commands.last_mut().filter(|_| goes_on));
                if let Some(variants) = head.strip_prefix("for ") {
                    let wrong =
                        || format!("line {}: variants are written `#! for NAME in WORD ...`", number + 1);
                    let (name, words) = variants.split_once(" in ").ok_or_else(wrong)?;
                    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
                    file.variants.push((name.trim().to_owned(), words));
                    file.lines.push(Line::Variants(variants.to_owned()));
                    continue;
                }
                match (head.strip_prefix("test "), previous) {
                    (Some(command), _) => {
                        file.lines.push(Line::Command(commands.len()));
                        commands.push(command.to_owned());
                    }
                    (None, Some(previous)) => {
                        previous.push(' ');
                        previous.push_str(head);
                        file.lines.push(Line::Dropped);
                    }
                    (None, None) => {
                        return Err(format!("line {}: a command is written `#! test COMMAND`", number + 1));
                    }
                }
            } else {
                file.program_line(number, line)?;
            }
        }
        file.texts = commands.clone();
        file.commands = commands.iter().map(|command| Command::parse(command)).collect::<Result<_, _>>()?;
        for expectation in &mut file.expectations {
            expectation.line = anchor(&file.lines, expectation.line);
        }
        Ok(file)
    }

    fn program_line(&mut self, number: usize, line: &str) -> Result<(), String> {
        let Some((program, expectation)) = line.split_once("#~") else {
            self.lines.push(Line::Program(line.to_owned()));
            return Ok(());
        };
        let text = expectation.trim_start_matches('^');
        let up = expectation.len() - text.len();
        let target =
            number.checked_sub(up).ok_or(format!("line {}: there is no line that far up", number + 1))?;
        self.expectations.push(Finding::parse(target, text)?);
        let program = program.trim_end();
        let is_alone = program.is_empty();
        self.lines.push(if is_alone { Line::Dropped } else { Line::Program(program.to_owned()) });
        if is_alone && up == 0 {
            return Err(format!(
                "line {}: `#~` on a line of its own needs a `^` for each line up",
                number + 1
            ));
        }
        Ok(())
    }

    /// Adds a command that does not stand in the file.
    pub(crate) fn add_command(&mut self, command: &str) -> Result<(), String> {
        self.commands.push(Command::parse(command)?);
        self.texts.push(command.to_owned());
        Ok(())
    }

    /// The program with every line where it stands in the file.
    pub(crate) fn source(&self) -> String {
        let mut source = String::new();
        for line in &self.lines {
            if let Line::Program(text) = line {
                source.push_str(text);
            }
            source.push('\n');
        }
        source
    }

    /// The program with every combination of the words of its variants, each with the combination.
    pub(crate) fn sources(&self) -> Vec<(String, String)> {
        let mut sources = vec![(String::new(), self.source())];
        for (name, words) in &self.variants {
            let with = |(chosen, source): &(String, String)| {
                let each = |word: &String| (format!("{chosen} {name}={word}"), source.replace(name, word));
                words.iter().map(each).collect::<Vec<_>>()
            };
            sources = sources.iter().flat_map(with).collect();
        }
        sources
    }

    /// The program without comments that have lines of their own.
    pub(crate) fn code(&self) -> String {
        let program = self.lines.iter().filter_map(|line| match line {
            Line::Program(text) if !text.trim_start().starts_with('#') => Some(text.as_str()),
            Line::Program(_) | Line::Command(_) | Line::Dropped | Line::Variants(_) => None,
        });
        let text: Vec<&str> = program.collect();
        text.join("\n").trim().to_owned() + "\n"
    }

    /// The line on which comments expect what is found on `line`.
    pub(crate) fn anchor(&self, line: usize) -> usize {
        anchor(&self.lines, line)
    }

    /// The expected output of this name.
    pub(crate) fn block(&self, name: &str) -> Option<&str> {
        self.blocks.iter().find(|block| block.name == name).map(|block| block.text.as_str())
    }
}

/// The last line of the program up to this one, or else the first: what is found where no program stands, such as at the
/// end of the text, belongs there.
fn anchor(lines: &[Line], line: usize) -> usize {
    let is_code = |line: &&Line| matches!(line, Line::Program(text) if !text.trim().is_empty() && !text.trim_start().starts_with('#'));
    let upto = &lines[..lines.len().min(line + 1)];
    let before = upto.iter().rposition(|line| is_code(&line));
    before.or_else(|| lines.iter().position(|line| is_code(&line))).unwrap_or(0)
}
