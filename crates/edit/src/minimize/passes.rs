//! Kinds of steps in the order of their trial: steps that remove most come first.

use sdfg_graph::ir::Sdfg;

use super::step::Change;
use super::{attributes, code, containers, control, dataflow, scopes};

/// A kind of steps.
pub(super) struct Pass {
    /// The changes that are possible in one SDFG.
    pub(super) changes: fn(&Sdfg) -> Vec<Change>,
    /// Whether changes of different things do not disturb each other, so that many are tried at once.
    pub(super) independent: bool,
}

const fn independent(changes: fn(&Sdfg) -> Vec<Change>) -> Pass {
    Pass { changes, independent: true }
}

const fn single(changes: fn(&Sdfg) -> Vec<Change>) -> Pass {
    Pass { changes, independent: false }
}

/// All kinds.
pub(super) const PASSES: [Pass; 21] = [
    independent(control::without_blocks),
    single(control::with_parts_only),
    independent(dataflow::with_empty_states),
    independent(dataflow::without_scopes),
    independent(dataflow::without_code),
    independent(containers::without_containers),
    independent(dataflow::without_accesses),
    independent(containers::without_aliases),
    single(control::merged),
    single(dataflow::inlined),
    independent(scopes::unwrapped),
    independent(dataflow::without_edges),
    independent(control::without_transitions),
    single(containers::without_symbols),
    single(containers::without_dimensions),
    independent(scopes::without_parameters),
    independent(attributes::plain),
    single(scopes::smaller_ranges),
    single(containers::smaller_extents),
    single(code::simpler_control),
    single(code::simpler_tasklets),
];
