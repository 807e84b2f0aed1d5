//! Scalar arguments of known values, which control flow may read as it reads symbols.

use std::collections::BTreeMap;

use sdfg::ir::draft::DraftSdfg;
use sdfg::ir::{BlockKind, ContainerId, ContainerKind, Flow, Sdfg};
use sdfg::symbolic::Symbol;
use sdfg::syntax::{Expression, parse_expression};

/// Puts the given values into loops, conditions and assignments in place of scalar arguments that nothing writes.
pub(super) fn fix_scalars(sdfg: &mut Sdfg, values: &BTreeMap<Symbol, i64>) {
    let literal = |(name, value): (&Symbol, &i64)| {
        let id = sdfg.find_container(name.as_str()).filter(|id| is_fixed(sdfg, *id))?;
        Some((sdfg.container(id).name.clone(), parse_expression(&value.to_string()).ok()?))
    };
    let literals: BTreeMap<String, Expression> = values.iter().filter_map(literal).collect();
    if literals.is_empty() {
        return;
    }
    let fix = |expression: &mut Expression| *expression = expression.replace_names(&literals);
    let blocks: Vec<_> = sdfg.blocks().map(|(id, _)| id).collect();
    for block in blocks {
        match &mut sdfg.block_mut(block).kind {
            BlockKind::Loop(repeated) => {
                repeated.init.iter_mut().chain(&mut repeated.update).for_each(fix);
                fix(&mut repeated.condition);
            }
            BlockKind::Branch(branch) => branch.arms.iter_mut().for_each(|(condition, _)| fix(condition)),
            BlockKind::State(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
        }
    }
    let transitions: Vec<_> = sdfg.transitions().map(|(id, _)| id).collect();
    for transition in transitions {
        let transition = sdfg.transition_mut(transition);
        transition.condition.iter_mut().for_each(fix);
        transition.assignments.iter_mut().for_each(|(_, value)| fix(value));
    }
}

/// Whether the value of a container is that of an argument during all of a run.
fn is_fixed(sdfg: &Sdfg, id: ContainerId) -> bool {
    let container = sdfg.container(id);
    let changes = |flow: &Flow| match flow {
        Flow::Write { to, .. } | Flow::Copy { to, .. } => to.container == id,
        Flow::Bind(named) => named.container == id,
        Flow::Order | Flow::Read(_) | Flow::Value => false,
    };
    matches!(container.kind, ContainerKind::Scalar)
        && !container.transient
        && sdfg.states().all(|(_, state)| state.edges().all(|(_, edge)| !changes(&edge.memlet.flow)))
}
