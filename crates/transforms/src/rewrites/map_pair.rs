//! Two maps of which the second reads from a transient what the first writes: the pattern of fusion and of buffer tiling.

use std::collections::BTreeMap;

use sdfg::analysis::Use;
use sdfg::ir::{ContainerId, ContainerKind, EdgeId, Lifetime, Map, NodeId, NodeKind, State};

use crate::engine::{Match, Refusal, Site};
use crate::pattern::{NodeClass, Pattern};

/// The nodes of a match.
pub(super) struct MapPair<'p> {
    /// Entries of the first and of the second map.
    pub(super) entries: [NodeId; 2],
    /// The maps.
    pub(super) maps: [&'p Map; 2],
    /// The exit of the first map.
    pub(super) exit: NodeId,
    /// The access node between the maps.
    pub(super) between: NodeId,
    /// The transient.
    pub(super) container: ContainerId,
}

impl<'p> MapPair<'p> {
    /// The pattern: the first map, the transient, and the second map.
    pub(super) fn pattern() -> Pattern {
        Pattern::path([
            ("first", NodeClass::MapExit),
            ("between", NodeClass::Access),
            ("second", NodeClass::MapEntry),
        ])
    }

    /// The nodes of a match of the pattern.
    pub(super) fn of(state: &'p State, found: &Match) -> Result<Self, Refusal> {
        let [exit, between, second] = [0, 1, 2].map(|at| found.node(at));
        let refuse = |node: NodeId, reason: &str| Refusal::structure(&state.node(node).label, reason);
        let first = state.node(exit).kind.exit_of().ok_or_else(|| refuse(exit, "is the exit of no map"))?;
        let container = state.node(between).kind.container();
        let container = container.ok_or_else(|| refuse(between, "is no access node"))?;
        match (&state.node(first).kind, &state.node(second).kind) {
            (NodeKind::MapEntry(one), NodeKind::MapEntry(other)) => {
                Ok(MapPair { entries: [first, second], maps: [one, other], exit, between, container })
            }
            _ => Err(refuse(second, "is no map")),
        }
    }

    /// The edge from the first map to the access node, if the two maps alone use the transient.
    pub(super) fn alone(&self, site: &Site<'p>) -> Result<EdgeId, Refusal> {
        private_transient(site, self.container, self.between)?;
        let state = site.state();
        let own = |edge: EdgeId| site.used(self.container, Use::Memlet(site.found.state(), edge));
        if let Some((other, _)) =
            state.each_out_edge(self.between).find(|(_, edge)| edge.dst != self.entries[1])
        {
            return Err(own(other));
        }
        match state.in_edges(self.between)[..] {
            [only] => Ok(only),
            [first, other, ..] => {
                let is_own = state.edge(first).src == self.exit;
                Err(own(if is_own { other } else { first }))
            }
            [] => Err(Refusal::structure(site.label(1), "is written by nothing")),
        }
    }
}

/// Refuses a container that is no transient array or scalar of this execution of the state, or that has another access node than
/// one of the match.
pub(super) fn private_transient(site: &Site<'_>, id: ContainerId, node: NodeId) -> Result<(), Refusal> {
    let container = site.sdfg.container(id);
    let name = container.name.as_str();
    let is_plain = matches!(container.kind, ContainerKind::Array(_) | ContainerKind::Scalar);
    if container.is_argument() || container.constant.is_some() || !is_plain {
        return Err(Refusal::container(name, "is no transient array"));
    }
    // Elements that only the two nodes touch, and that are written before they are read, may be kept from run to run.
    if container.lifetime == Lifetime::External {
        return Err(Refusal::container(name, "lies in memory of the caller"));
    }
    let here = site.found.state();
    let is_own = |used: &Use| match *used {
        Use::Access(state, other) => (state, other) == (here, node),
        Use::Memlet(state, _) => state == here,
        Use::Condition(..) | Use::Block(_) | Use::Transition(_) => false,
    };
    match site.uses().of(id).iter().find(|used| !is_own(used)) {
        Some(used) => Err(site.used(id, *used)),
        None => Ok(()),
    }
}

/// Containers that a scope touches, and whether it writes them.
pub(super) fn touched(site: &Site<'_>, state: &State, entry: NodeId) -> BTreeMap<ContainerId, bool> {
    let mut found = BTreeMap::new();
    for edge in site.edges_within(entry) {
        let content = state.edge(edge);
        for access in content.memlet.accesses() {
            let writes = content.memlet.write_access().is_some_and(|to| to.container == access.container);
            *found.entry(access.container).or_insert(false) |= writes;
        }
    }
    for node in site.nodes_within(entry) {
        if let Some(container) = state.node(node).kind.container() {
            found.entry(container).or_insert(false);
        }
    }
    found
}
