//! Pending derivations: outer memlets that follow from inner ones, from the ranges of scopes, and from facts
//! about symbols.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::ir::{
    BlockId, Container, ContainerId, Edge, NodeId, RegionId, Sdfg, State, StateId, Transition, TransitionId,
};
use sdfg_graph::workspace::{Part, Sizes};
use sdfg_language::symbolic::Symbol;

use super::journal::Path;

/// Pending derivations of all SDFGs of a program.
#[derive(Debug, Default)]
pub(super) struct Pending {
    of: BTreeMap<Path, OfSdfg>,
    /// SDFGs with changes, with the number of calls that lead there.
    touched: BTreeSet<(usize, Path)>,
}

#[derive(Debug, Default)]
pub(super) struct OfSdfg {
    pub(super) states: BTreeMap<StateId, OfState>,
    /// Blocks that have other contents or lie elsewhere.
    pub(super) blocks: BTreeSet<BlockId>,
    /// Transitions that are others, with what they assigned before, and the region of that.
    pub(super) transitions: BTreeMap<TransitionId, Option<(RegionId, Vec<Symbol>)>>,
    /// Containers with other shapes.
    pub(super) containers: BTreeSet<ContainerId>,
    /// Whether other values may reach all states.
    pub(super) is_everywhere: bool,
    /// Previous facts about symbols, if they may change.
    pub(super) known: Option<Sizes>,
    /// Whether sizes may have other symbols. Blocks and transitions tell by themselves whether they set others.
    pub(super) is_known_old: bool,
}

#[derive(Debug, Default)]
pub(super) struct OfState {
    pub(super) is_whole: bool,
    /// Entries of scopes that are others, with all that lies in them.
    pub(super) subtrees: BTreeSet<NodeId>,
    pub(super) ports: BTreeMap<NodeId, Ports>,
}

/// Ports of a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ports {
    All,
    Some(BTreeSet<String>),
}

impl Pending {
    pub(super) fn of(&mut self, path: &Path) -> &mut OfSdfg {
        self.of.entry(path.clone()).or_default()
    }

    /// Something in an SDFG changes.
    pub(super) fn touch(&mut self, path: &Path) {
        self.touched.insert((path.len(), path.clone()));
    }

    /// Whether every derivation that a change asked for is done.
    pub(super) fn is_empty(&self) -> bool {
        self.touched.is_empty()
    }

    /// Nothing of a state has to be derived, nor of what some of its nodes call: its memlets are those of another state, where
    /// they were derived under the same facts.
    pub(super) fn is_derived(&mut self, path: &Path, state: StateId, nodes: &BTreeSet<NodeId>) {
        self.of(path).states.remove(&state);
        let is_called = |other: &Path| {
            let next = other.strip_prefix(&**path).and_then(<[_]>::first);
            next.is_some_and(|(of, node)| *of == state && nodes.contains(node))
        };
        if self.of.len() > 1 {
            self.of.retain(|other, _| !is_called(other));
            self.touched.retain(|(_, other)| !is_called(other));
        }
    }

    /// All derivations of an SDFG are done.
    pub(super) fn settled(&mut self, path: &Path) {
        self.of(path).states = BTreeMap::new();
        self.touched.remove(&(path.len(), path.clone()));
    }

    /// The data at connectors of a scope changes; without a name, at any of them.
    pub(super) fn port(&mut self, path: &Path, state: StateId, entry: NodeId, name: Option<String>) {
        self.of(path).states.entry(state).or_default().add(entry, name);
    }

    /// A scope changes, and what it means for all scopes in it.
    pub(super) fn subtree(&mut self, path: &Path, state: StateId, entry: NodeId) {
        self.of(path).states.entry(state).or_default().subtrees.insert(entry);
    }

    /// A part of an SDFG changes, which is still as it was; without contents, it was just made.
    pub(super) fn part(&mut self, path: &Path, sdfg: &Sdfg, part: &Part) {
        let of = self.of(path);
        match part {
            Part::Container(id, _) => {
                of.containers.insert(*id);
                of.is_known_old = true;
            }
            Part::Block(id, before) => {
                of.blocks.insert(*id);
                // What a loop or branch sets reaches further than what lies in it.
                of.is_everywhere |= before.as_ref().is_some_and(|block| !block.kind.regions().is_empty());
            }
            Part::Transition(id, before) => {
                let assigned = before.as_ref().and_then(|transition| assigned_at(sdfg, transition));
                of.transitions.entry(*id).or_insert(assigned);
            }
            Part::State(id, _) => of.states.entry(*id).or_default().is_whole = true,
            Part::Region(..) | Part::Symbols(_) => {}
        }
    }

    /// All memlets of a state are derived anew.
    pub(super) fn whole(&mut self, path: &Path, state: StateId) {
        self.touch(path);
        self.of(path).states.entry(state).or_default().is_whole = true;
    }

    /// Facts about SDFGs may now belong to others.
    pub(super) fn forget_known(&mut self, is_meant: impl Fn(&Path) -> bool) {
        self.of.iter_mut().filter(|(path, _)| is_meant(path)).for_each(|(_, of)| of.known = None);
    }

    /// A container is added: most shapes are made of symbols that others have, too.
    pub(super) fn container_added(&mut self, path: &Path, container: &Container) {
        let of = self.of(path);
        of.is_known_old |= !of.known.as_mut().is_some_and(|known| known.followed_new(container.shape()));
    }

    /// A container that nothing uses is removed: most shapes are made of symbols that others have, too.
    pub(super) fn container_removed(&mut self, path: &Path, container: &Container) {
        let of = self.of(path);
        of.is_known_old |= !of.known.as_mut().is_some_and(|known| known.followed_removed(container.shape()));
    }

    /// Facts about symbols, if `find_out` was called before or now.
    pub(super) fn known(&mut self, path: &Path, find_out: impl FnOnce() -> Sizes) -> &Sizes {
        self.of(path).known.get_or_insert_with(find_out)
    }

    pub(super) fn remember(&mut self, path: &Path, known: Sizes) {
        self.of(path).known = Some(known);
    }

    /// An SDFG with changes such that none that it calls has any.
    pub(super) fn next(&self) -> Option<Path> {
        self.touched.last().map(|(_, path)| path.clone())
    }

    /// Takes the changes of an SDFG out. What was known of its symbols stays.
    pub(super) fn take(&mut self, path: &Path) -> OfSdfg {
        self.touched.remove(&(path.len(), path.clone()));
        let of = self.of(path);
        let known = of.known.clone();
        let is_known_old = std::mem::take(&mut of.is_known_old);
        let taken = std::mem::take(of);
        of.known = known;
        OfSdfg { is_known_old, ..taken }
    }
}

impl OfState {
    pub(super) fn add(&mut self, entry: NodeId, name: Option<String>) {
        let ports = self.ports.entry(entry).or_insert_with(|| Ports::Some(BTreeSet::new()));
        match (ports, name) {
            (Ports::Some(names), Some(name)) => drop(names.insert(name)),
            (ports, None) => *ports = Ports::All,
            (Ports::All, Some(_)) => {}
        }
    }
}

/// Assignments of a transition, and its region; `None` for nothing.
pub(super) fn assigned_at(sdfg: &Sdfg, transition: &Transition) -> Option<(RegionId, Vec<Symbol>)> {
    let region = sdfg.get_block(transition.src)?.region;
    let symbols: Vec<Symbol> = transition.assignments.iter().map(|(symbol, _)| symbol.clone()).collect();
    (!symbols.is_empty()).then_some((region, symbols))
}

/// The ports whose outer segments follow from an edge: those that it passes inside, and those that it passes
/// outside, where it is derived itself. Without a name, the whole scope: the edge brings it a symbol.
pub(super) fn marks(state: &State, edge: &Edge) -> Vec<(NodeId, Option<String>)> {
    let mut found = Vec::new();
    let entry_of = |id: NodeId| {
        let kind = &state.get_node(id)?.kind;
        kind.exit_of().or_else(|| kind.is_scope_entry().then_some(id))
    };
    if let (Some(entry), Some(name)) = (entry_of(edge.src), edge.out_port()) {
        found.push((entry, Some(name.to_owned())));
    }
    if let (Some(entry), Some(_)) = (entry_of(edge.dst), &edge.dst_connector) {
        found.push((entry, edge.in_port().map(str::to_owned)));
    }
    found
}
