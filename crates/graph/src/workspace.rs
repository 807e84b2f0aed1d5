//! Public items for the other crates of this workspace only: `sdfg` does not re-export them, and they may change in
//! any version.

pub use crate::analysis::changed_parts::TouchedParts;
pub use crate::analysis::known::{Sizes, enter_scope};
pub use crate::analysis::memlet_path::{inner_segments, outer_segments};
pub use crate::analysis::symbols::defined::loop_symbol;
pub use crate::analysis::symbols::free::{free_symbols_inside, occurring_symbols};
pub use crate::ir::multigraph::EdgePlace;
pub use crate::ir::names::fresh;
pub use crate::ir::undo::{Part, UndoSdfg, UndoState};
pub use crate::path::similar::{did_you_mean, nearest};
pub use crate::propagate::scope::Scope;
