//! The command line.

use sdfg_programs::distributed::Division;
use sdfg_programs::subjects::Subjects;

/// What is run.
#[derive(Debug)]
pub(crate) struct Options {
    /// Number of ranks that are started.
    pub(crate) ranks: usize,
    /// Number of random programs.
    pub(crate) programs: u64,
    /// The first random program, or that of random strategies.
    pub(crate) seed: u64,
    /// Programs that are run.
    pub(crate) source: Source,
    /// Names of programs of a list, or parts of the paths of graphs; none selects all.
    pub(crate) names: Vec<String>,
    /// The strategy of programs that are not random.
    strategy: String,
}

/// Programs that are run.
#[derive(Debug)]
pub(crate) enum Source {
    /// Random ones.
    Random,
    /// Graphs of the corpus.
    Corpus,
    /// Programs of a list.
    List(Subjects),
}

impl Options {
    /// Reads the arguments; `None` if they make no sense.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Option<Self> {
        let mut options = Options {
            ranks: 4,
            programs: 50,
            seed: 1,
            source: Source::Random,
            names: Vec::new(),
            strategy: "optimal".to_owned(),
        };
        while let Some(argument) = arguments.next() {
            let mut number = || arguments.next()?.parse::<u64>().ok();
            match argument.as_str() {
                "--ranks" => options.ranks = number()? as usize,
                "--programs" => options.programs = number()?,
                "--seed" => options.seed = number()?,
                "--strategy" => options.strategy = arguments.next()?,
                "--corpus" => options.source = Source::Corpus,
                "--on" => {
                    options.source = match arguments.next()?.as_str() {
                        "programs" => Source::List(Subjects::Programs),
                        "polybench" => Source::List(Subjects::Polybench),
                        "small-polybench" => Source::List(Subjects::SmallPolybench),
                        _ => return None,
                    }
                }
                name if !name.starts_with("--") && !matches!(options.source, Source::Random) => {
                    options.names.push(name.to_owned());
                }
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
