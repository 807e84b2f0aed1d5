//! Rules of variables: each has a type, is set before its use, and a loop counter is set only by its loop.

use std::collections::BTreeSet;

use super::PlanError;
use super::walk::Found;
use crate::plan::Plan;

/// Looks at every use of a variable.
pub(super) fn check(plan: &Plan, found: &Found<'_>, errors: &mut Vec<PlanError>) {
    let read: BTreeSet<_> = found.read.iter().map(|(variable, _)| variable).collect();
    let made = found.set.keys().chain(found.counted.keys());
    let used: BTreeSet<_> = made.chain(read).collect();
    for variable in used {
        if !plan.variables.contains_key(variable) {
            errors.push(PlanError::Untyped { variable: variable.clone() });
        }
    }
    for (variable, loops) in &found.counted {
        let mut places = found.set.get(variable).into_iter().flatten();
        if places.any(|place| loops.iter().any(|each| place.is_in(*each))) {
            errors.push(PlanError::SetsCounter { variable: variable.clone() });
        }
    }
    for (variable, place) in &found.read {
        let is_argument = plan.symbols.iter().any(|symbol| symbol.name == *variable);
        let set = found.set.get(variable);
        let is_set = set.is_some_and(|places| places.iter().any(|set| set.may_precede(place)));
        let loops = found.counted.get(variable);
        let is_counted = loops.is_some_and(|loops| loops.iter().any(|each| place.is_in(*each)));
        if !is_argument && !is_set && !is_counted {
            errors.push(PlanError::BeforeSet { variable: variable.clone() });
        }
    }
}
