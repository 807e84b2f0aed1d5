//! The command line of a survey.

use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use super::{Effort, Graph, Limits};

/// The text that explains the command line.
pub const USAGE: &str =
    "usage: survey DIR [--interpret] [--dace PYTHON] [--allow-external] [--lines FILE] [--table FILE]
              [--seconds N] [--steps N] [--memory MIB] [--jobs N] [NAME]...";

/// Options of a survey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The folder of the graphs.
    pub folder: PathBuf,
    /// The stages of each graph.
    pub effort: Effort,
    /// A Python that has DaCe.
    pub dace: Option<PathBuf>,
    /// The file of the JSON lines; standard output otherwise.
    pub lines: Option<PathBuf>,
    /// The file of the table; standard output otherwise.
    pub table: Option<PathBuf>,
    /// Limits of each graph.
    pub limits: Limits,
    /// Number of graphs that are examined at the same time.
    pub jobs: usize,
    /// Parts of names of graphs; without any, all graphs are examined.
    pub names: Vec<String>,
}

impl Options {
    /// Reads a command line, without the name of the program.
    ///
    /// # Errors
    /// A message about the argument that is wrong or missing.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut options = Options {
            folder: PathBuf::new(),
            effort: Effort { interpret: false, allow_external: false, steps: None },
            dace: None,
            lines: None,
            table: None,
            limits: Limits { time: Duration::from_secs(120), memory: 4096 },
            jobs: std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
            names: Vec::new(),
        };
        let mut folder = None;
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("`{argument}` takes a value"));
            match argument.as_str() {
                "--interpret" => options.effort.interpret = true,
                "--allow-external" => options.effort.allow_external = true,
                "--dace" => options.dace = Some(value()?.into()),
                "--lines" => options.lines = Some(value()?.into()),
                "--table" => options.table = Some(value()?.into()),
                "--seconds" => options.limits.time = Duration::from_secs(number(&argument, &value()?)?),
                "--steps" => options.effort.steps = Some(number(&argument, &value()?)?),
                "--memory" => options.limits.memory = number(&argument, &value()?)?,
                "--jobs" => {
                    let jobs = number(&argument, &value()?)?;
                    options.jobs = usize::try_from(jobs).unwrap_or(usize::MAX);
                }
                option if option.starts_with('-') => return Err(format!("there is no option `{option}`")),
                _ if folder.is_none() => folder = Some(PathBuf::from(argument)),
                _ => options.names.push(argument),
            }
        }
        options.folder = folder.ok_or("no folder is named")?;
        Ok(options)
    }

    /// The graphs that the names choose.
    ///
    /// # Errors
    /// If there are none.
    pub fn chosen(&self, mut graphs: Vec<Graph>) -> io::Result<Vec<Graph>> {
        let folder = self.folder.display();
        if graphs.is_empty() {
            let message = format!("there is no file `*.sdfg`, `*.sdfgz` or `*.sdfg.gz` below {folder}");
            return Err(io::Error::new(io::ErrorKind::NotFound, message));
        }
        graphs
            .retain(|graph| self.names.is_empty() || self.names.iter().any(|name| graph.name.contains(name)));
        if graphs.is_empty() {
            let message =
                format!("no graph below {folder} has one of these in its name: {}", self.names.join(", "));
            return Err(io::Error::new(io::ErrorKind::NotFound, message));
        }
        // A graph whose twin is left out is examined itself.
        let kept: std::collections::BTreeSet<String> =
            graphs.iter().map(|graph| graph.name.clone()).collect();
        for graph in &mut graphs {
            graph.same_as = graph.same_as.take().filter(|same| kept.contains(same));
        }
        Ok(graphs)
    }
}

fn number(option: &str, text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("`{option}` takes a positive number, not `{text}`"))
}
