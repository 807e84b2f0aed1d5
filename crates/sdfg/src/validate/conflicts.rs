//! Iterations of a map that provably write one element (`docs/semantics.md`, "Conflicts").
//!
//! A write without resolution whose place does not depend on a parameter, directly or through the ranges of others, is
//! made by all of its iterations. That is an error if there are provably two of them, each has its write for sure, and the
//! container outlives the iteration.

use std::collections::BTreeSet;

use super::frame::{Frame, Frames, Parameter};
use super::site::{Findings, Site};
use crate::analysis::is_leaf;
use crate::diagnostic::Code;
use crate::ir::{Access, ContainerId, EdgeId, Flow, Lifetime, NodeId, NodeKind, State, StateId};
use crate::symbolic::{Expr, Symbol};

/// Checks every write of a state.
pub(super) fn check(site: &Site<'_>, frames: &Frames, findings: &mut Findings) {
    for (id, _) in site.state.edges() {
        if let Some(access) = certain_write(site, id)
            && let Some(scope) = frames.scopes.scope_of_edge(site.state, id)
            && is_leaf(site.state, id)
            && let Some((map, parameter)) = conflicting(site, frames, scope, access)
        {
            let (name, subset) = (site.name(access.container), access.subset());
            let place = if subset.rank() == 0 { format!("`{name}`") } else { format!("`{name}[{subset}]`") };
            let label = &site.state.node(map).label;
            let message = format!(
                "all {} iterations of `{label}` over `{}` write {place}",
                parameter.count, parameter.symbol
            );
            let error = site.edge_error(Code::WriteConflict, id, message);
            let error =
                error.note("iterations of a map are not ordered, so any of the values could be the last");
            findings.push(error.suggest(format!(
                "combine the values, as in `wcr(sum)`, write one element for each `{}`, or declare `wcr(replace)`",
                parameter.symbol
            )));
        }
    }
}

/// What an edge writes in every iteration, without resolution.
fn certain_write<'s>(site: &Site<'s>, id: EdgeId) -> Option<&'s Access> {
    let edge = site.state.edge(id);
    if edge.memlet.volume.is_dynamic() {
        return None;
    }
    let access = match &edge.memlet.flow {
        Flow::Copy { to, resolution: None, .. } => to,
        // What a pointer output or a call writes of its memlet is decided inside.
        Flow::Write { to, resolution: None } => match site.state.node(edge.src).kind {
            NodeKind::Tasklet(_) if to.subset().is_element() => to,
            NodeKind::Reduce(_) => to,
            NodeKind::Tasklet(_)
            | NodeKind::Access(_)
            | NodeKind::MapEntry(_)
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Nested(_)
            | NodeKind::Library(_) => return None,
        },
        Flow::Order
        | Flow::Read(_)
        | Flow::Write { .. }
        | Flow::Copy { .. }
        | Flow::Value
        | Flow::Bind(_) => return None,
    };
    (!access.is_queue()).then_some(access)
}

/// A map around a write with a parameter of provably two values that the place does not depend on.
fn conflicting<'f>(
    site: &Site<'_>,
    frames: &'f Frames,
    scope: NodeId,
    access: &Access,
) -> Option<(NodeId, &'f Parameter)> {
    let frame = frames.inside(Some(scope));
    let needed = dependencies(frame, access.subset().free_symbols());
    let home = home(site, frames, access.container);
    for entry in frames.scopes.enclosing_scope(Some(scope)) {
        if Some(entry) == home {
            return None;
        }
        let NodeKind::MapEntry(map) = &site.state.node(entry).kind else { continue };
        // Symbols that data gives inside may differ from iteration to iteration.
        if needed
            .iter()
            .any(|symbol| !frames.at(entry).defined.contains(symbol) && !is_parameter(frame, symbol))
        {
            return None;
        }
        let assumptions = &frames.top().assumptions;
        let is_shared = |parameter: &&Parameter| {
            let repeats = (&parameter.count - 2).is_nonnegative(assumptions).is_proved();
            map.params.contains(&parameter.symbol) && !needed.contains(&parameter.symbol) && repeats
        };
        if let Some(parameter) = frame.parameters.iter().find(is_shared) {
            return Some((entry, parameter));
        }
    }
    None
}

fn is_parameter(frame: &Frame, symbol: &Symbol) -> bool {
    frame.parameters.iter().any(|parameter| parameter.symbol == *symbol)
}

/// Symbols, and those that the ranges of parameters among them depend on.
fn dependencies(frame: &Frame, symbols: BTreeSet<Symbol>) -> BTreeSet<Symbol> {
    let mut needed = symbols;
    for parameter in frame.parameters.iter().rev() {
        if needed.contains(&parameter.symbol) {
            match &parameter.ends {
                Some((first, last)) => needed.extend([first, last].into_iter().flat_map(Expr::free_symbols)),
                None => needed.extend(frame.parameters.iter().map(|other| other.symbol.clone())),
            }
        }
    }
    needed
}

/// The innermost scope that holds all uses of a transient, which has an instance for each iteration of it.
pub(super) fn home(site: &Site<'_>, frames: &Frames, container: ContainerId) -> Option<NodeId> {
    let found = site.sdfg.container(container);
    if !found.transient || found.lifetime != Lifetime::Scope {
        return None;
    }
    let is_used =
        |(id, state): (StateId, &State)| id != site.id && state.accesses_of(container).next().is_some();
    if site.sdfg.states().any(is_used) {
        return None;
    }
    let mut uses = site.state.accesses_of(container);
    let first: Vec<NodeId> = frames.scopes.enclosing(uses.next()?).collect();
    let others: Vec<NodeId> = uses.collect();
    first
        .into_iter()
        .find(|scope| others.iter().all(|node| frames.scopes.enclosing(*node).any(|entry| entry == *scope)))
}
