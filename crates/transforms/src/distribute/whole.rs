//! Distribution of a program in one call: a strategy is chosen, checked and carried out.

use std::collections::BTreeMap;

use sdfg::ir::Sdfg;
use sdfg::symbolic::Symbol;
use sdfg::validate::validate;

use super::{
    DistributeError, Distributed, DivisionOptions, data_parallel, distribute, distribute_by, prepare,
};
use crate::engine::Pipeline;
use crate::strategy::model::{Machine, Model, ModelOptions};
use crate::strategy::{self, Limits, StrategyFile};

/// The division of a program over ranks.
///
/// Library nodes are expanded before it (`ExpandLibrary` of `sdfg-library`). Each step is one of the pipeline, so its chain replays
/// the division, and its fuel and `undo` apply.
///
/// ```
/// use sdfg_transforms::Pipeline;
/// use sdfg_transforms::distribute::Distribute;
/// use sdfg_transforms::strategy::model::Machine;
///
/// let text = "sdfg twice {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///   state s {
///     access A
///     access B
///     map m [i = 0:N] {
///       tasklet t (a) -> (b) { b = 2.0 * a }
///       m.A -> t.a: A[i]
///       t.b -> m.B: B[i]
///     }
///     A -> m.A
///     m.B -> B
///   }
/// }";
/// let mut pipeline = Pipeline::on(sdfg::text::parse("twice.sdft", text).expect("a program"));
/// let machine = Machine { ranks: 4, ..Machine::default() };
/// let outcome = Distribute::optimal(machine).with_sizes([("N", 1 << 20)]).apply(&mut pipeline)?;
/// assert_eq!(outcome.divided.len(), 1);
/// # Ok::<(), sdfg_transforms::distribute::DistributeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Distribute {
    choice: Choice,
    sizes: BTreeMap<Symbol, i64>,
    options: DivisionOptions,
}

/// The strategy.
#[derive(Clone, Debug)]
enum Choice {
    Optimal(Machine),
    Given(StrategyFile),
    DataParallel(u32),
}

impl Distribute {
    /// By the strategy of least cost on a machine, for the sizes that [`with_sizes`](Self::with_sizes) gives; its proof is checked.
    #[must_use]
    pub fn optimal(machine: Machine) -> Self {
        Distribute::of(Choice::Optimal(machine))
    }

    /// By a given strategy, whose paths are those of the prepared program ([`prepare`]).
    #[must_use]
    pub fn by(strategy: StrategyFile) -> Self {
        Distribute::of(Choice::Given(strategy))
    }

    /// By the first dimension of each map, without a search.
    #[must_use]
    pub fn data_parallel(ranks: u32) -> Self {
        Distribute::of(Choice::DataParallel(ranks))
    }

    fn of(choice: Choice) -> Self {
        Distribute { choice, sizes: BTreeMap::new(), options: DivisionOptions::default() }
    }

    /// Gives symbols, and scalar arguments that nothing writes, the values for which a strategy is searched. The distributed
    /// program is for any.
    #[must_use]
    pub fn with_sizes<'n>(mut self, sizes: impl IntoIterator<Item = (&'n str, i64)>) -> Self {
        self.sizes.extend(sizes.into_iter().map(|(name, value)| (Symbol::of(name), value)));
        self
    }

    /// Leaves arguments whole: each rank holds all of them, and transients alone are cut.
    #[must_use]
    pub fn with_whole_arguments(mut self) -> Self {
        self.options.arguments = false;
        self
    }

    /// Prepares and divides the program of a pipeline.
    ///
    /// # Errors
    /// If the model refuses the program, the search fails or its proof is rejected, or a given strategy is for another program. The
    /// program is then prepared, and nothing is divided.
    pub fn apply(&self, pipeline: &mut Pipeline) -> Result<Distributed, DistributeError> {
        prepare(pipeline);
        match &self.choice {
            Choice::Optimal(machine) => {
                let searched = Searched::of(pipeline.program(), &self.sizes, machine)?;
                distribute(pipeline, &searched.file, self.options)
            }
            Choice::Given(strategy) => distribute(pipeline, strategy, self.options),
            Choice::DataParallel(ranks) => {
                let steps = data_parallel(pipeline.program(), *ranks);
                Ok(distribute_by(pipeline, &steps, self.options))
            }
        }
    }
}

/// The costs of a program, and its cheapest strategy.
#[derive(Debug)]
pub struct Searched {
    /// The costs.
    pub model: Model,
    /// The configuration of each operation.
    pub strategy: Vec<usize>,
    /// The strategy as [`distribute`] takes it.
    pub file: StrategyFile,
}

impl Searched {
    /// Searches the cheapest strategy of a prepared program for these values of its symbols, and checks the proof.
    ///
    /// # Errors
    /// If the program is not valid, the model refuses it, the search fails, or the proof is rejected.
    pub fn of(
        program: &Sdfg,
        sizes: &BTreeMap<Symbol, i64>,
        machine: &Machine,
    ) -> Result<Self, DistributeError> {
        let program =
            validate(program.clone()).map_err(|rejected| DistributeError::Invalid(Box::new(rejected)))?;
        let model = Model::new(&program, sizes, machine, &ModelOptions::default())?;
        let options = strategy::Options::default();
        let solution = strategy::search(&model, &options, &())?;
        let limits = Limits::from(&options);
        let checked = solution.certificate.check(&model, &solution.strategy, solution.cost, &limits)?;
        let mut file = StrategyFile::new(&model, &solution, &checked);
        model.describe(sizes, &solution.strategy, &mut file);
        Ok(Searched { model, strategy: solution.strategy, file })
    }
}
