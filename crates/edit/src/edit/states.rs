//! Edits of blocks: splitting and merging states, states before and after blocks, loops around them.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::analysis::accesses::{all_alias_targets, consume_condition_reads};
use sdfg_graph::analysis::callbacks::state_calls_back;
use sdfg_graph::analysis::{ScopeTree, memlet_path};
use sdfg_graph::ir::{
    Block, BlockId, BlockKind, ContainerId, Edge, EdgeId, Flow, Loop, NodeId, NodeKind, RegionId, Sdfg,
    State, StateId, Transition,
};

use super::control::{expect_block, expect_state_block, jumps_out};
use super::editor::Editor;
use super::streams::stream_of_one_state;
use super::{EditError, derived_block_label};

impl Editor<'_> {
    /// A new empty state that runs before a block: what led to the block leads to it. Gives its block.
    ///
    /// # Errors
    /// [`EditError::NoBlock`].
    pub fn insert_state_before(&mut self, block: BlockId) -> Result<BlockId, EditError> {
        let found = expect_block(self.sdfg(), block)?;
        let (region, label) = (found.region, derived_block_label(self.sdfg(), &found.label, "before"));
        let (new, _) = self.put_state(region, State::new(label));
        for id in self.sdfg().region(region).transitions.clone() {
            if self.sdfg().transition(id).dst == block {
                self.set_transition(id, |transition| transition.dst = new);
            }
        }
        if self.sdfg().region(region).start == Some(block) {
            self.set_region(region, |region| region.start = Some(new));
        }
        self.put_transition(always(new, block));
        Ok(new)
    }

    /// A new empty state that runs after a block, whenever that goes on or ends its region: it takes over the transitions.
    /// Gives its block.
    ///
    /// # Errors
    /// [`EditError::NoBlock`], and [`EditError::ControlFlow`] for breaks, continues and returns, after which nothing runs.
    pub fn insert_state_after(&mut self, block: BlockId) -> Result<BlockId, EditError> {
        let found = expect_block(self.sdfg(), block)?;
        if matches!(found.kind, BlockKind::Break | BlockKind::Continue | BlockKind::Return) {
            return Err(EditError::ControlFlow {
                label: found.label.clone(),
                reason: "nothing runs after a jump",
            });
        }
        let (region, label) = (found.region, derived_block_label(self.sdfg(), &found.label, "after"));
        let (new, _) = self.put_state(region, State::new(label));
        for id in self.sdfg().transitions_from(block) {
            self.set_transition(id, |transition| transition.src = new);
        }
        self.put_transition(always(block, new));
        Ok(new)
    }

    /// Removes an empty state that always goes on to one block, or ends its region without transitions and is not its start.
    ///
    /// # Errors
    /// [`EditError::ControlFlow`] if the state has nodes or chooses or assigns.
    pub fn remove_empty_state(&mut self, block: BlockId) -> Result<(), EditError> {
        let sdfg = self.sdfg();
        let state = expect_state_block(sdfg, block)?;
        let (label, region) = (sdfg.block(block).label.clone(), sdfg.block(block).region);
        let refuse = |reason| Err(EditError::ControlFlow { label: label.clone(), reason });
        if sdfg.state(state).n_nodes() > 0 {
            return refuse("the state is not empty");
        }
        let next = match only_successor(sdfg, block) {
            Some(next) if next != block => next,
            Some(_) | None => return refuse("it does not always go on to one other block"),
        };
        for id in sdfg.region(region).transitions.clone() {
            if self.sdfg().transition(id).dst == block {
                self.set_transition(id, |transition| transition.dst = next);
            }
        }
        if self.sdfg().region(region).start == Some(block) {
            self.set_region(region, |region| region.start = Some(next));
        }
        self.take_block(block);
        Ok(())
    }

    /// Puts a block into the body of a new loop with this label, in its place. The body of `header` is not looked at. Gives the
    /// block of the loop.
    ///
    /// # Errors
    /// [`EditError::NoBlock`], [`EditError::NameTaken`] for the label, and [`EditError::ControlFlow`] for a jump, or if the
    /// block contains a break or continue that would mean the new loop.
    pub fn wrap_in_loop(&mut self, block: BlockId, label: &str, header: Loop) -> Result<BlockId, EditError> {
        let sdfg = self.sdfg();
        let found = expect_block(sdfg, block)?;
        self.check_block_label(label)?;
        if jumps_out(sdfg, block) {
            let reason = "it jumps to the end of the loop around, which would be another one";
            return Err(EditError::ControlFlow { label: found.label.clone(), reason });
        }
        Ok(self.enclose(block, label, |body| BlockKind::Loop(Loop { body, ..header })))
    }

    /// Puts a block into the region of a new block, which takes its place.
    pub(super) fn enclose(
        &mut self,
        block: BlockId,
        label: &str,
        kind: impl FnOnce(RegionId) -> BlockKind,
    ) -> BlockId {
        let sdfg = self.sdfg();
        let region = sdfg.block(block).region;
        let was_start = sdfg.region(region).start == Some(block);
        let body = self.put_region();
        let kind = kind(body);
        let new = self.put_block(Block { label: label.to_owned(), kind, region, loc: None });
        for id in self.sdfg().region(region).transitions.clone() {
            let found = self.sdfg().transition(id);
            if found.src == block || found.dst == block {
                let at = |id: BlockId| if id == block { new } else { id };
                self.set_transition(id, |found| (found.src, found.dst) = (at(found.src), at(found.dst)));
            }
        }
        self.set_region(region, |outer| {
            // The new block stands where the block stood.
            outer.blocks.retain(|id| *id != new);
            for id in &mut outer.blocks {
                if *id == block {
                    *id = new;
                }
            }
            if was_start {
                outer.start = Some(new);
            }
        });
        self.set_region(body, |inner| {
            inner.blocks.push(block);
            inner.start = Some(block);
        });
        self.set_block(block, |block| block.region = body);
        new
    }

    /// Moves the nodes of a state into the state before it, ordered after what they depend on there. The second state must
    /// follow the first and nothing else, always and without assignments. The program means the same as before.
    ///
    /// An access node that the first state ends with and the second begins with becomes one.
    ///
    /// # Errors
    /// [`EditError::WrongKind`] for blocks that are no states, [`EditError::ControlFlow`] if they do not follow each other, if both
    /// call functions of the caller, or if both use a stream that begins empty in each of them.
    pub fn merge_states(&mut self, first: BlockId, second: BlockId) -> Result<(), EditError> {
        let sdfg = self.sdfg();
        let into = expect_state_block(sdfg, first)?;
        let from = expect_state_block(sdfg, second)?;
        let region = sdfg.block(first).region;
        let refuse = |reason| EditError::ControlFlow { label: sdfg.block(second).label.clone(), reason };
        if first == second || only_successor(sdfg, first) != Some(second) {
            return Err(refuse("the first state does not always go on to it, without assignments"));
        }
        if sdfg.transitions_to(second).len() != 1 || sdfg.region(region).start == Some(second) {
            return Err(refuse("it is reached in other ways, too"));
        }
        if state_calls_back(sdfg.state(into)) && state_calls_back(sdfg.state(from)) {
            return Err(refuse("both states call back, and nothing would order their calls"));
        }
        if stream_of_one_state(sdfg, into, from).is_some() {
            return Err(refuse("a stream of both states begins each of them without elements"));
        }
        let added = sdfg.state(from).clone();
        let pairs = dependent(sdfg, sdfg.state(into), &added);
        // Then the memlets of both states are derived, and the same facts hold in both.
        let is_settled = self.pending.is_empty();
        self.attempt(|editor| {
            let mut shared = editor.shared_ends(into, &added);
            // A copy, or the binding of a reference, happens when its source is reached. What follows it can wait for others only
            // there.
            let copies = |id: NodeId| {
                let is_copy = |edge: &Edge| matches!(edge.memlet.flow, Flow::Copy { .. } | Flow::Bind(_));
                added.each_out_edge(id).any(|(_, edge)| is_copy(edge))
            };
            shared.retain(|new, old| {
                let mut earlier = pairs.iter().filter(|(_, after)| after == new).map(|(before, _)| *before);
                !copies(*new) || earlier.all(|before| before == *old || editor.is_before(into, before, *old))
            });
            let mut nodes = shared.clone();
            editor.put_contents(into, &added, &mut nodes)?;
            if is_settled {
                editor.refresh_scopes(into);
                let at = editor.at();
                editor.pending.is_derived(&at, into, &nodes.values().copied().collect());
            }
            for (before, after) in pairs {
                // A node that became one with one of the first state does nothing itself: what follows it waits.
                let waiting = if shared.contains_key(&after) {
                    added.out_edges(after).into_iter().map(|edge| added.edge(edge).dst).collect()
                } else {
                    vec![after]
                };
                for after in waiting.iter().filter_map(|id| nodes.get(id).copied()) {
                    if !editor.is_before(into, before, after) {
                        editor.order(into, before, after)?;
                    }
                }
            }
            for id in editor.sdfg().transitions_from(first) {
                editor.take_transition(id);
            }
            for id in editor.sdfg().transitions_from(second) {
                editor.set_transition(id, |transition| transition.src = first);
            }
            editor.take_block(second);
            Ok(())
        })
    }

    /// Adds copies of the nodes and edges of a state to another one, without order among the two. The copy of a node has its label,
    /// if that is free. Gives the copy of each node.
    ///
    /// # Errors
    /// [`EditError::NoState`].
    pub fn copy_nodes(
        &mut self,
        from: StateId,
        into: StateId,
    ) -> Result<BTreeMap<NodeId, NodeId>, EditError> {
        let added = self.state(from)?.clone();
        self.state(into)?;
        self.attempt(|editor| {
            let mut copies = BTreeMap::new();
            editor.put_contents(into, &added, &mut copies)?;
            Ok(copies)
        })
    }

    /// Adds copies of the nodes of a state that have none yet, and of its edges.
    fn put_contents(
        &mut self,
        into: StateId,
        added: &State,
        copies: &mut BTreeMap<NodeId, NodeId>,
    ) -> Result<(), EditError> {
        let new: Vec<_> = added.nodes().filter(|(id, _)| !copies.contains_key(id)).collect();
        self.put_copies(into, new.into_iter().map(|(id, node)| (id, node.clone())), copies);
        for (_, edge) in added.edges() {
            if let (Some(src), Some(dst)) = (copies.get(&edge.src), copies.get(&edge.dst)) {
                self.put_edge(into, Edge { src: *src, dst: *dst, ..edge.clone() })?;
            }
        }
        Ok(())
    }

    /// Access nodes that a state begins with, and those of the same containers that another one before it ends with.
    fn shared_ends(&mut self, into: StateId, added: &State) -> BTreeMap<NodeId, NodeId> {
        let mut shared = BTreeMap::new();
        for (id, node) in added.nodes() {
            let Some(container) = node.kind.container().filter(|_| added.in_edges(id).is_empty()) else {
                continue;
            };
            let found = self.accesses_of(into, container);
            let graph = self.graph(into);
            let is_end = |node: &NodeId| {
                graph.each_out_edge(*node).next().is_none() && graph.each_in_edge(*node).next().is_some()
            };
            shared.extend(found.into_iter().find(is_end).map(|end| (id, end)));
        }
        shared
    }
}

/// Last nodes of the first state, and nodes of the second that must wait for them: a node before the one and one that is or follows
/// the other use the same container, one of them writing.
fn dependent(sdfg: &Sdfg, first: &State, second: &State) -> Vec<(NodeId, NodeId)> {
    let after = uses(sdfg, second, |_| true);
    let before = uses(sdfg, first, |container| after.contains_key(&container));
    let scopes = LazyCell::new(|| ScopeTree::of(second));
    let mut by_last: BTreeMap<NodeId, BTreeSet<NodeId>> = BTreeMap::new();
    for (container, own) in &before {
        let Some(others) = after.get(container) else { continue };
        // Reads need no order among each other.
        let all = [&others.reads[..], &others.writes[..]].concat();
        for (own, others) in [(&own.writes, &all), (&own.reads, &others.writes)] {
            if own.is_empty() || others.is_empty() {
                continue;
            }
            let waiting = others.iter().map(|place| outermost(second, &scopes, place.ends(second).0));
            let waiting: BTreeSet<NodeId> = waiting.collect();
            for last in last_of(first, own.iter().map(|place| place.ends(first).1).collect()) {
                by_last.entry(last).or_default().extend(&waiting);
            }
        }
    }
    // What follows a node that waits need not wait itself.
    let pairs = |(last, waiting)| first_of(second, waiting).into_iter().map(move |node| (last, node));
    by_last.into_iter().flat_map(pairs).collect()
}

/// The node itself, or the entry of the outermost scope around it.
fn outermost(state: &State, scopes: &ScopeTree, node: NodeId) -> NodeId {
    if let Some(entry) = scopes.enclosing(node).last() {
        return entry;
    }
    let is_exit = state.node(node).kind.exit_of().is_some();
    let entries = scopes.children(None).iter().filter(|_| is_exit);
    entries.copied().find(|entry| scopes.exit_of(*entry) == Some(node)).unwrap_or(node)
}

/// Those nodes that follow no other one of them.
fn first_of(state: &State, mut nodes: BTreeSet<NodeId>) -> BTreeSet<NodeId> {
    if nodes.len() > 1 {
        let next = nodes.iter().flat_map(|id| state.each_out_edge(*id).map(|(_, edge)| edge.dst)).collect();
        let behind = reached(state, next);
        nodes.retain(|id| !behind.contains(id));
    }
    nodes
}

/// The nodes without successors that are some nodes or follow them.
fn last_of(state: &State, from: Vec<NodeId>) -> BTreeSet<NodeId> {
    let mut last = reached(state, from);
    last.retain(|id| state.each_out_edge(*id).next().is_none());
    last
}

/// Nodes, and all that follow them.
fn reached(state: &State, mut waiting: Vec<NodeId>) -> BTreeSet<NodeId> {
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if seen.insert(id) {
            waiting.extend(state.each_out_edge(id).map(|(_, edge)| edge.dst));
        }
    }
    seen
}

/// The place of a use in a state.
#[derive(Clone, Copy)]
enum Place {
    /// An edge.
    Edge(EdgeId),
    /// The entry of a consume scope, which evaluates a condition.
    Entry(NodeId),
}

impl Place {
    /// The nodes at which data of the use start and end: in scopes, the access node outside for the start of reads and for the end of writes.
    fn ends(self, state: &State) -> (NodeId, NodeId) {
        match self {
            Place::Edge(edge) => {
                let path = memlet_path(state, edge);
                let [first, last] = [path.first(), path.last()].map(|end| state.edge(*end.unwrap_or(&edge)));
                (first.src, last.dst)
            }
            Place::Entry(entry) => (entry, entry),
        }
    }
}

/// Places that use a container; what is accessed through an alias counts for what that may name.
#[derive(Default)]
struct Use {
    reads: Vec<Place>,
    writes: Vec<Place>,
}

/// The uses of wanted containers in a state.
fn uses(sdfg: &Sdfg, state: &State, is_wanted: impl Fn(ContainerId) -> bool) -> BTreeMap<ContainerId, Use> {
    let aliases = all_alias_targets(sdfg);
    let mut uses: BTreeMap<ContainerId, Use> = BTreeMap::new();
    let mut name = |container: ContainerId, place: Place, is_write: bool| {
        if is_wanted(container) {
            let found = uses.entry(container).or_default();
            if is_write { found.writes.push(place) } else { found.reads.push(place) }
        }
    };
    let named = |container: ContainerId| {
        let targets = aliases.get(&container).into_iter().flatten().copied();
        std::iter::once(container).chain(targets)
    };
    for (id, edge) in state.edges() {
        let (memlet, place) = (&edge.memlet, Place::Edge(id));
        if let Flow::Bind(target) = &memlet.flow {
            // Binding changes what a name means, not the elements.
            name(target.container, place, false);
            let ends = [edge.src, edge.dst].map(|end| state.node(end).kind.container());
            let bound = ends.into_iter().flatten().filter(|id| aliases.contains_key(id));
            bound.for_each(|alias| name(alias, place, true));
        }
        if let Some(access) = memlet.read_access() {
            // Popping takes an element away.
            named(access.container).for_each(|id| name(id, place, access.is_queue()));
        }
        if let Some(access) = memlet.write_access() {
            named(access.container).for_each(|id| name(id, place, true));
        }
    }
    for (id, node) in state.nodes() {
        if let NodeKind::ConsumeEntry(_) = node.kind {
            let read = consume_condition_reads(sdfg, state, Some(id));
            read.into_iter().flat_map(named).for_each(|container| name(container, Place::Entry(id), false));
        }
    }
    uses
}

/// The block that always follows, if its transition assigns nothing.
fn only_successor(sdfg: &Sdfg, block: BlockId) -> Option<BlockId> {
    let [transition] = sdfg.transitions_from(block)[..] else { return None };
    let transition = sdfg.transition(transition);
    (transition.condition.is_none() && transition.assignments.is_empty()).then_some(transition.dst)
}

fn always(src: BlockId, dst: BlockId) -> Transition {
    Transition { src, dst, condition: None, assignments: Vec::new(), loc: None }
}
