//! The data of a map that is copied elsewhere before it and back after it: to a device, or to other ranks.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::symbols::bound_symbols;
use sdfg::analysis::{Use, bound_alias, leaf_edges, node_leads_to};
use sdfg::ir::{
    Access, ContainerId, ContainerKind, EdgeId, Flow, Map, NodeId, NodeKind, ScheduleKind, State,
};

use crate::engine::{Refusal, Site};

/// The map of a match, which has to be in the program itself, outside of all scopes, and to run on the host over ranges that no data
/// decides.
pub(super) fn outermost_on_host<'p>(site: &Site<'p>) -> Result<&'p Map, Refusal> {
    if !site.found.calls.is_empty() {
        return Err(Refusal::structure(site.label(0), "is in a nested SDFG"));
    }
    outside_of_scopes_on_host(site)
}

/// As [`outermost_on_host`]; the map may be in a nested SDFG that is called outside of all scopes.
pub(super) fn outside_of_scopes_on_host<'p>(site: &Site<'p>) -> Result<&'p Map, Refusal> {
    let (entry, map, label) = (site.found.node(0), site.map(0)?, site.label(0));
    if site.scopes().scope_of(entry).is_some() || site.is_called_in_scope() {
        return Err(Refusal::structure(label, "is in a scope"));
    }
    if !matches!(
        map.schedule.kind(),
        ScheduleKind::Default | ScheduleKind::Sequential | ScheduleKind::CpuMulticore
    ) {
        let schedule = map.schedule.kind().name();
        return Err(Refusal::structure(label, format!("has the schedule `{schedule}`")));
    }
    if bound_symbols(site.state(), entry) != map.params {
        return Err(Refusal::structure(label, "gets symbols from data"));
    }
    Ok(map)
}

/// The data of a map that is copied to another place before it and back after it.
pub(super) struct Moved<'s, 'p> {
    site: &'s Site<'p>,
    entry: NodeId,
    exit: NodeId,
    passed: BTreeMap<EdgeId, Access>,
}

impl<'s, 'p> Moved<'s, 'p> {
    pub(super) fn of(site: &'s Site<'p>, entry: NodeId) -> Self {
        Moved::passing(site, entry, BTreeMap::new())
    }

    /// As [`Moved::of`], where the copies of some edges have other parts than their memlets.
    pub(super) fn passing(site: &'s Site<'p>, entry: NodeId, passed: BTreeMap<EdgeId, Access>) -> Self {
        Moved { site, entry, exit: site.state().exit_of(entry).unwrap_or(entry), passed }
    }

    /// The part that is copied for an edge.
    fn copied(&self, edge: EdgeId) -> Option<&Access> {
        let of_memlet = || self.site.state().edge(edge).memlet.accesses().next();
        self.passed.get(&edge).or_else(of_memlet)
    }

    /// The edges of data at the entry, or at the exit, each with its access and the names of the same memory.
    fn edges(&self, node: NodeId) -> Vec<(EdgeId, &Access, BTreeSet<ContainerId>)> {
        let state = self.site.state();
        let edges = if node == self.entry { state.in_edges(node) } else { state.out_edges(node) };
        let named =
            |edge| self.copied(edge).map(|found| (edge, found, self.site.same_memory(found.container)));
        edges.into_iter().filter_map(named).collect()
    }

    /// Refuses a map where the copies would not be in the place of the accesses that they stand for. `is_one` tells whether the map
    /// has one copy of what it writes over the first edge and of what it reads over the second one.
    pub(super) fn check(&self, is_one: &dyn Fn(EdgeId, EdgeId) -> bool) -> Result<(), Refusal> {
        let (reads, writes) = (self.edges(self.entry), self.edges(self.exit));
        for (at, (edge, write, names)) in writes.iter().enumerate() {
            for (other, second, _) in &writes[at + 1..] {
                if names.contains(&second.container) && !self.are_apart(write, second) {
                    let reason = "may touch the same elements, and each is copied back on its own";
                    return Err(self.conflict(*edge, *other, reason));
                }
            }
            for (other, read, _) in &reads {
                if names.contains(&read.container)
                    && self.reads_after(*edge, *other)
                    && !is_one(*edge, *other)
                {
                    let reason =
                        "may touch the same elements, and the read comes after the write in an iteration";
                    return Err(self.conflict(*edge, *other, reason));
                }
            }
        }
        let state = self.site.state();
        for (edge, read, names) in &reads {
            let source = state.edge(*edge).src;
            let comes_between =
                |node: NodeId| !node_leads_to(state, node, source) && node_leads_to(state, node, self.entry);
            if let Some(node) = self.touching(names, true).into_iter().find(|node| comes_between(*node)) {
                return Err(self.beside(read, node, "writes it before the map, and after it may be copied"));
            }
        }
        for (edge, write, names) in &writes {
            let target = state.edge(*edge).dst;
            let comes_between =
                |node: NodeId| !node_leads_to(state, target, node) && node_leads_to(state, self.exit, node);
            if let Some(node) = self.touching(names, false).into_iter().find(|node| comes_between(*node)) {
                return Err(self.beside(
                    write,
                    node,
                    "uses it after the map, and before it may be copied back",
                ));
            }
        }
        Ok(())
    }

    /// Refuses a map that combines with old elements of an edge, which are copied to the device before, if another node of the state
    /// touches them that may come between the copies. Nodes that follow the map do not, and the copy waits for nodes that the map waits
    /// for ([`accesses_before`]), unless they use another name of the memory.
    pub(super) fn check_old_elements(&self, edge: EdgeId) -> Result<(), Refusal> {
        let (state, target) = (self.site.state(), self.site.state().edge(edge).dst);
        let written = self.edges(self.exit).into_iter().find(|(found, ..)| *found == edge);
        let Some((_, access, names)) = written else { return Ok(()) };
        let follows = |node: NodeId| node_leads_to(state, target, node);
        let precedes = |node: NodeId| node_leads_to(state, node, self.entry);
        let own = BTreeSet::from([access.container]);
        let others: BTreeSet<ContainerId> = names.difference(&own).copied().collect();
        let (of_own, of_others) = (self.touching(&own, false), self.touching(&others, false));
        let between = of_own.into_iter().find(|node| !follows(*node) && !precedes(*node));
        match between.or_else(|| of_others.into_iter().find(|node| !follows(*node))) {
            Some(node) => {
                Err(self.beside(access, node, "uses it, and the map combines with its old elements"))
            }
            None => Ok(()),
        }
    }

    /// Copies may read elements between those that the map reads, so nothing may write them meanwhile.
    pub(super) fn check_copies(&self) -> Result<(), Refusal> {
        let (site, entry, exit) = (self.site, self.entry, self.exit);
        let (state, tree) = (site.state(), site.scopes());
        let known = site.known_in(None);
        let is_ordered = |source: NodeId, writer: NodeId| {
            let begins = state.node(writer).kind.exit_of().unwrap_or(writer);
            node_leads_to(state, writer, source) || node_leads_to(state, exit, begins)
        };
        let reads = state.each_in_edge(entry).filter_map(|(id, edge)| {
            let access = edge.memlet.read_access()?;
            Some((edge.src, self.passed.get(&id).unwrap_or(access)))
        });
        let (uses, at) = (site.uses(), site.found.state());
        for (source, copied) in reads {
            // Outside of scopes, what writes a container leads to an access node of it.
            let accesses = uses.in_state(copied.container, at).map_while(|used| match used {
                Use::Access(_, node) => Some(node),
                Use::Memlet(..) | Use::Condition(..) | Use::Block(_) | Use::Transition(_) => None,
            });
            let into = accesses.flat_map(|node| state.each_in_edge(node).map(|(id, _)| id));
            let writes: BTreeSet<EdgeId> =
                into.filter(|id| tree.scope_of_edge(state, *id).is_none()).collect();
            for id in writes {
                let edge = state.edge(id);
                let Some(written) = edge.memlet.write_access().filter(|to| to.container == copied.container)
                else {
                    continue;
                };
                let is_apart = || copied.subset().disjoint(written.subset(), &known).is_proved();
                if edge.src != exit && !is_ordered(source, edge.src) && !is_apart() {
                    let name = &site.sdfg.container(copied.container).name;
                    return Err(Refusal::Conflict {
                        container: name.clone(),
                        first: format!("the copy of `{name}[{}]`", copied.subset()),
                        second: format!("the write of `{name}[{}]`", written.subset()),
                        reason: "have no order, and may touch the same element",
                    });
                }
            }
        }
        Ok(())
    }

    /// Whether two accesses outside of the map name different elements of one container.
    fn are_apart(&self, one: &Access, other: &Access) -> bool {
        let known = self.site.known_in(None);
        one.container == other.container && one.subset().disjoint(other.subset(), &known).is_proved()
    }

    /// Whether a node that reads by one edge of the map may run behind one that writes by another.
    fn reads_after(&self, write: EdgeId, read: EdgeId) -> bool {
        let state = self.site.state();
        let writers = leaf_edges(state, write).into_iter().map(|edge| state.edge(edge).src);
        let readers: Vec<NodeId> =
            leaf_edges(state, read).into_iter().map(|edge| state.edge(edge).dst).collect();
        writers.into_iter().any(|writer| {
            readers.iter().any(|reader| *reader != writer && node_leads_to(state, writer, *reader))
        })
    }

    /// Whether an edge only gives a view its elements: its place in the state does not matter, and nothing is written.
    fn binds_view(&self, edge: EdgeId) -> bool {
        let bound = bound_alias(self.site.state(), edge);
        bound.is_some_and(|(alias, _)| matches!(self.site.sdfg.container(alias).kind, ContainerKind::View(_)))
    }

    /// The access nodes of containers and the nodes at them, apart from the map; only those that write, if asked.
    fn touching(&self, names: &BTreeSet<ContainerId>, writing: bool) -> BTreeSet<NodeId> {
        let state = self.site.state();
        let (uses, at) = (self.site.uses(), self.site.found.state());
        let access = |used| match used {
            Use::Access(_, node) => Some(node),
            Use::Memlet(..) | Use::Condition(..) | Use::Block(_) | Use::Transition(_) => None,
        };
        let mut found = BTreeSet::new();
        for node in names.iter().flat_map(|id| uses.in_state(*id, at)).filter_map(access) {
            let into = state.each_in_edge(node).filter(|(id, edge)| {
                let moves_nothing = matches!(edge.memlet.flow, Flow::Order);
                !moves_nothing && (!writing || !self.binds_view(*id))
            });
            let sources: Vec<NodeId> = into.map(|(_, edge)| edge.src).collect();
            if writing && sources.is_empty() {
                continue;
            }
            let out = state.each_out_edge(node).filter(|(_, edge)| !matches!(edge.memlet.flow, Flow::Order));
            let readers: Vec<NodeId> = out.map(|(_, edge)| edge.dst).filter(|_| !writing).collect();
            found.extend(sources.into_iter().chain(readers).chain([node]));
        }
        found.retain(|node| *node != self.entry && *node != self.exit);
        found
    }

    fn conflict(&self, first: EdgeId, second: EdgeId, reason: &'static str) -> Refusal {
        let shown = |edge: EdgeId| {
            let access = self.copied(edge);
            let text = |access: &Access| {
                format!("`{}[{}]`", self.site.sdfg.container(access.container).name, access.subset())
            };
            access.map(text).unwrap_or_default()
        };
        let container = self.site.label(0).to_owned();
        Refusal::Conflict { container, first: shown(first), second: shown(second), reason }
    }

    fn beside(&self, access: &Access, node: NodeId, what: &str) -> Refusal {
        let container = self.site.sdfg.container(access.container).name.clone();
        let by = format!("`{}` {what}", self.site.state().node(node).label);
        Refusal::UsedElsewhere { container, by }
    }
}

/// The access nodes of a container outside of scopes for which a node waits.
pub(super) fn accesses_before(state: &State, container: ContainerId, node: NodeId) -> Vec<NodeId> {
    let tree = sdfg::analysis::ScopeTree::of(state);
    let is_before = |id: NodeId, kind: &NodeKind| {
        kind.container() == Some(container) && tree.scope_of(id).is_none() && node_leads_to(state, id, node)
    };
    state.nodes().filter(|(id, found)| is_before(*id, &found.kind)).map(|(id, _)| id).collect()
}

/// The nodes in a scope and in the scopes inside it.
pub(super) fn contents(tree: &sdfg::analysis::ScopeTree, entry: NodeId) -> Vec<NodeId> {
    let (mut found, mut waiting) = (Vec::new(), vec![entry]);
    while let Some(scope) = waiting.pop() {
        found.extend(tree.children(Some(scope)));
        waiting.extend(tree.children(Some(scope)).iter().filter(|node| tree.exit_of(**node).is_some()));
    }
    found
}

/// Edges that move data into a map or out of it.
pub(super) fn outer_edges(state: &State, entry: NodeId) -> Vec<EdgeId> {
    let exit = state.exit_of(entry).unwrap_or(entry);
    let moves = |edge: &EdgeId| !matches!(state.edge(*edge).memlet.flow, Flow::Order);
    [state.in_edges(entry), state.out_edges(exit)].concat().into_iter().filter(moves).collect()
}

/// The map uses no other container than those that enter and leave it, and transients of its own.
pub(super) fn check_contents(site: &Site<'_>, entry: NodeId) -> Result<(), Refusal> {
    let (state, tree, owners) = (site.state(), site.scopes(), site.owning_scopes());
    for node in contents(&tree, entry) {
        let found = state.node(node);
        if let Some(id) = found.kind.container()
            && !(owners.contains_key(&id) && site.sdfg.container(id).transient)
        {
            let name = &site.sdfg.container(id).name;
            return Err(Refusal::container(name, "is used in the map, but does not pass its border"));
        }
        if found.kind.is_map_over_ranks() {
            return Err(Refusal::structure(&found.label, "is distributed already"));
        }
    }
    Ok(())
}
