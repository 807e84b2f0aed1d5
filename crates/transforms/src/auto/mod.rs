//! The automatic optimiser for processors: transformations that a cost model selects (paper, sections 4.1 and 6).
//!
//! [`optimize`] goes through a fixed list of rules. A rule proposes applications of one transformation, at every place or at
//! one. The model predicts the time of the program before and after; an application that does not gain is taken back. Only
//! transformations with a check are applied, so results are as safe as in any chain, and the outcome is a chain that a person
//! can edit and replay.
//!
//! ```text
//! rules    the rules, in their order, and the decisions
//! model    the predicted time of a program: control flow, states, code outside of maps
//! kernel   the predicted time of a map: traffic between memory and cache, accesses, threads
//! resident the data of all iterations of a loop, which may stay in the cache
//! strips   strips of loops with products for what they read from outside
//! ```

mod kernel;
mod model;
mod resident;
mod rules;
mod strips;
mod triangles;

use std::collections::BTreeMap;

use sdfg::symbolic::Symbol;

pub use rules::{Decision, Watch, optimize, optimize_watched};

use crate::strategy::model::Machine;

/// The value of symbols that have none in [`Target`].
const UNKNOWN_SIZE: i64 = 1000;

/// The machine and the sizes for which a program is optimised. Results do not depend on them, only speed does.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// The processor; its ranks and links are not used.
    pub machine: Machine,
    /// Values of the program's symbols. Those without one are taken for 1000.
    pub sizes: BTreeMap<Symbol, i64>,
}
