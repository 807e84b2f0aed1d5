//! The command line.

use sdfg_programs::distributed::Division;

/// What is run.
#[derive(Debug)]
pub(crate) struct Options {
    /// Number of ranks that are started.
    pub(crate) ranks: usize,
    /// Number of random programs.
    pub(crate) programs: u64,
    /// The first random program, or that of random strategies.
    pub(crate) seed: u64,
    /// Graphs of the corpus, by parts of their paths.
    pub(crate) corpus: Option<Vec<String>>,
    /// The strategy of graphs of the corpus.
    strategy: String,
}

impl Options {
    /// Reads the arguments; `None` if they make no sense.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Option<Self> {
        let mut options =
            Options { ranks: 4, programs: 50, seed: 1, corpus: None, strategy: "optimal".to_owned() };
        while let Some(argument) = arguments.next() {
            let mut number = || arguments.next()?.parse::<u64>().ok();
            match argument.as_str() {
                "--ranks" => options.ranks = number()? as usize,
                "--programs" => options.programs = number()?,
                "--seed" => options.seed = number()?,
                "--strategy" => options.strategy = arguments.next()?,
                "--corpus" => options.corpus = Some(Vec::new()),
                name if !name.starts_with("--") => options.corpus.as_mut()?.push(name.to_owned()),
                _ => return None,
            }
        }
        options.division()?;
        Some(options)
    }

    /// The strategy by its name.
    pub(crate) fn division(&self) -> Option<Division> {
        match self.strategy.as_str() {
            "optimal" => Some(Division::Optimal),
            "data-parallel" => Some(Division::DataParallel),
            "random" => Some(Division::Random(self.seed)),
            _ => None,
        }
    }
}
