//! Scalar arguments of known values, which control flow may read as it reads symbols.

use std::collections::BTreeMap;

use sdfg::analysis::AccessSets;
use sdfg::ir::draft::DraftSdfg;
use sdfg::ir::{ContainerId, ContainerKind, Sdfg};
use sdfg::symbolic::Symbol;
use sdfg::syntax::{Expression, parse_expression};

/// Puts the given values into loops, conditions and assignments in place of scalar arguments that nothing writes.
pub(super) fn fix_scalars(sdfg: &mut Sdfg, values: &BTreeMap<Symbol, i64>) {
    let changed = AccessSets::of_region(sdfg, sdfg.body()).through_aliases(sdfg).writes;
    let is_fixed = |id: &ContainerId| {
        let container = sdfg.container(*id);
        matches!(container.kind, ContainerKind::Scalar) && container.is_argument() && !changed.contains(id)
    };
    let literal = |(name, value): (&Symbol, &i64)| {
        sdfg.find_container(name.as_str()).filter(is_fixed)?;
        Some((name.to_string(), parse_expression(&value.to_string()).ok()?))
    };
    let literals: BTreeMap<String, Expression> = values.iter().filter_map(literal).collect();
    if literals.is_empty() {
        return;
    }
    let fix = |expression: &mut Expression| *expression = expression.replace_names(&literals);
    let blocks: Vec<_> = sdfg.blocks().map(|(id, _)| id).collect();
    for block in blocks {
        sdfg.block_mut(block).kind.expressions_mut().into_iter().for_each(fix);
    }
    let transitions: Vec<_> = sdfg.transitions().map(|(id, _)| id).collect();
    for transition in transitions {
        let transition = sdfg.transition_mut(transition);
        transition.expressions_mut().for_each(fix);
    }
}
