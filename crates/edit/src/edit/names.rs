//! Names used in an SDFG, so that new names do not capture them.

use std::collections::BTreeSet;

use sdfg_graph::ir::{NodeKind, Sdfg};
use sdfg_graph::workspace::occurring_symbols;
use sdfg_language::symbolic::Symbol;
use sdfg_language::syntax::{ExpressionKind, parse_expression};

use super::EditError;

/// Names of containers and of all symbols: declared, assigned, bound by scopes, and those that are merely used.
pub(super) fn used(sdfg: &Sdfg) -> BTreeSet<String> {
    let mut names: BTreeSet<String> =
        sdfg.containers().map(|(_, container)| container.name.clone()).collect();
    names.extend(occurring_symbols(sdfg).into_iter().map(|symbol| symbol.as_str().to_owned()));
    names
}

/// Names of variables in the code of tasklets. A symbol that control flow sets may have none of them: code would assign to
/// it.
pub(super) fn variables(sdfg: &Sdfg) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (_, node) in sdfg.states().flat_map(|(_, state)| state.nodes()) {
        if let NodeKind::Tasklet(tasklet) = &node.kind {
            names.extend(tasklet.variables().into_iter().map(str::to_owned));
        }
    }
    names
}

/// `wanted`, or the first of `wanted_1`, `wanted_2`, ... that is not among `taken`; it is then.
pub(super) fn fresh(wanted: &str, taken: &mut BTreeSet<String>) -> String {
    let name = sdfg_graph::workspace::fresh(wanted, |name| taken.contains(name));
    taken.insert(name.clone());
    name
}

/// Refuses what cannot be the name of a container, symbol or connector.
pub(super) fn check(name: &str) -> Result<(), EditError> {
    let is_name = Symbol::new(name).is_ok()
        && matches!(parse_expression(name), Ok(found) if matches!(found.kind, ExpressionKind::Name(_)));
    if is_name { Ok(()) } else { Err(EditError::InvalidName { name: name.to_owned() }) }
}
