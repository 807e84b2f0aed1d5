//! Options of the commands that run a program.

use std::str::FromStr;

use clap::Args;

use super::generate::Pattern;
use crate::failure::Failure;
use crate::output::refuse_program;

/// Symbols, inputs and outputs.
#[derive(Args, Debug, Default)]
pub(crate) struct DataOptions {
    /// Set a symbol. A symbol that is an extent of an input file needs no value.
    #[arg(long = "set", value_name = "SYMBOL=VALUE")]
    pub(super) symbols: Vec<SymbolValue>,
    /// Set the contents of an argument: a .npy file, or `zeros`, `ones`, `range`, `const:VALUE`, `random`,
    /// `random:SEED`. By default, floats are random and integers zero.
    #[arg(long = "input", short, value_name = "NAME=FILE|PATTERN")]
    pub(super) inputs: Vec<Input>,
    /// Write an argument to a .npy file after the run (`-` is the standard output). By default, a summary is printed.
    #[arg(long = "output", short, value_name = "NAME=FILE")]
    pub(super) outputs: Vec<Output>,
    /// Show a container after the run, or write it to a .npy file (`-` is the standard output), including transients. With a block, as it
    /// was after the last execution of the block.
    #[arg(long = "dump", value_name = "NAME[@BLOCK][=FILE]")]
    pub(super) dumps: Vec<Dump>,
}

impl DataOptions {
    /// Symbols and inputs of a run whose results are not shown.
    pub(crate) fn of_inputs(symbols: &[SymbolValue], inputs: &[Input]) -> Self {
        DataOptions { symbols: symbols.to_vec(), inputs: inputs.to_vec(), ..DataOptions::default() }
    }

    /// The files that are read.
    pub(crate) fn read_files(&self) -> impl Iterator<Item = &str> {
        self.inputs.iter().filter_map(|input| match &input.contents {
            Contents::File(path) => Some(path.as_str()),
            Contents::Generated(_) => None,
        })
    }

    /// The files that are written.
    pub(crate) fn written_files(&self) -> impl Iterator<Item = &str> {
        let dumps = self.dumps.iter().filter_map(|dump| dump.path.as_deref());
        self.outputs.iter().map(|output| output.path.as_str()).chain(dumps)
    }

    /// Whether no container is to be shown.
    pub(crate) fn dumps_nothing(&self) -> bool {
        self.dumps.is_empty()
    }

    /// Whether a symbol is given a value.
    pub(crate) fn sets(&self, symbol: &str) -> bool {
        self.symbols.iter().any(|given| given.name == symbol)
    }

    /// Refuses to replace the program by results.
    pub(crate) fn spare(&self, program: &str) -> Result<(), Failure> {
        self.written_files().try_for_each(|path| refuse_program(program, Some(path)))
    }
}

/// `N=4096`.
#[derive(Clone, Debug)]
pub(crate) struct SymbolValue {
    pub(crate) name: String,
    pub(crate) value: i64,
}

/// `A=file.npy` or `A=random:7`.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(super) name: String,
    pub(super) contents: Contents,
}

#[derive(Clone, Debug)]
pub(super) enum Contents {
    File(String),
    Generated(Pattern),
}

/// `A=file.npy`.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(super) name: String,
    pub(super) path: String,
}

/// `A`, `A=file.npy` or `A@step=file.npy`.
#[derive(Clone, Debug)]
pub(crate) struct Dump {
    pub(super) name: String,
    /// After which block; without, at the end.
    pub(super) block: Option<String>,
    pub(super) path: Option<String>,
}

impl Dump {
    /// The container to show, as the user named it.
    pub(super) fn text(&self) -> String {
        match &self.block {
            Some(block) => format!("{}@{block}", self.name),
            None => self.name.clone(),
        }
    }
}

/// A name, `=` and a value. The name of a queue, `S[1,2]`, gets the blanks that such names have elsewhere.
fn split(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.is_empty() => {
            let (stream, indices) = name.trim().split_at(name.trim().find('[').unwrap_or(name.trim().len()));
            let indices: String = indices.chars().filter(|c| !c.is_whitespace()).collect();
            Ok((format!("{}{}", stream.trim_end(), indices.replace(',', ", ")), value.to_owned()))
        }
        Some(_) | None => Err("expected a name, `=` and a value".to_owned()),
    }
}

impl FromStr for SymbolValue {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = split(text)?;
        let parsed = value.trim().parse::<i64>();
        let value = parsed.map_err(|_| format!("`{value}` is not a 64-bit integer"))?;
        Ok(SymbolValue { name, value })
    }
}

impl FromStr for Input {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = split(text)?;
        let contents = match Pattern::parse(&value)? {
            Some(pattern) => Contents::Generated(pattern),
            None => Contents::File(value),
        };
        Ok(Input { name, contents })
    }
}

impl FromStr for Output {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, path) = split(text)?;
        Ok(Output { name, path })
    }
}

impl FromStr for Dump {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (what, path) = if text.contains('=') || text.trim().is_empty() {
            let (what, path) = split(text)?;
            (what, Some(path))
        } else {
            (text.trim().to_owned(), None)
        };
        let (name, block) = match what.split_once('@') {
            Some((name, block)) => (name.to_owned(), Some(block.to_owned())),
            None => (what, None),
        };
        Ok(Dump { name, block, path })
    }
}
