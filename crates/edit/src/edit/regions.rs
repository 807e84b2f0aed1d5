//! Edits of whole regions: copies of their blocks, and calls in their place.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::analysis::symbols::{UNDECLARED_SYMBOL, assigned_symbols_of, free_symbols, symbol_types};
use sdfg_graph::analysis::{AccessSets, owning_scopes};
use sdfg_graph::ir::draft::{DraftSdfg, DraftState};
use sdfg_graph::ir::{
    Block, BlockId, BlockKind, Branch, Connector, Container, ContainerId, ContainerKind, Lifetime, Loop,
    NestedSdfg, Node, NodeId, NodeKind, Region, RegionId, Sdfg, State, StateId,
};
use sdfg_language::symbolic::{Expr, Symbol};

use super::editor::Editor;
use super::{EditError, derived_block_label};

impl Editor<'_> {
    /// Copies the blocks of a region with their transitions into another region, with symbols replaced by expressions. The
    /// copy of the start is the start of a region that has none. Gives the copy of each block of the region itself.
    ///
    /// # Errors
    /// [`EditError::NoRegion`], [`EditError::AssignedSymbol`] for symbols that the region sets, and those of
    /// [`substitute_in_scope`](Editor::substitute_in_scope).
    pub fn copy_region(
        &mut self,
        from: RegionId,
        into: RegionId,
        values: &BTreeMap<Symbol, Expr>,
    ) -> Result<BTreeMap<BlockId, BlockId>, EditError> {
        for region in [from, into] {
            self.sdfg().get_region(region).ok_or(EditError::NoRegion(region))?;
        }
        let assigned = assigned_symbols_of(self.sdfg(), from);
        if let Some(symbol) = values.keys().find(|symbol| assigned.contains(symbol)) {
            return Err(EditError::AssignedSymbol(symbol.clone()));
        }
        self.attempt(|editor| {
            let containers = editor.copy_owned(from);
            editor.copy_blocks(from, into, &Replaced { values, containers })
        })
    }

    /// Copies the transients that belong to iterations of scopes in a region: a second state that uses one would share it
    /// among all iterations.
    fn copy_owned(&mut self, region: RegionId) -> BTreeMap<ContainerId, ContainerId> {
        let sdfg = self.sdfg();
        let states = states_in(sdfg, region);
        let owned = owning_scopes(sdfg).into_iter().filter(|(_, (state, _))| states.contains(state));
        let owned: Vec<ContainerId> =
            owned.map(|(id, _)| id).filter(|id| is_owned(sdfg.container(*id))).collect();
        let mut copies = BTreeMap::new();
        for id in owned {
            let container = self.sdfg().container(id).clone();
            let name = self.derived_container_name(&container.name, "copy");
            copies.insert(id, self.put_container(Container { name, ..container }));
        }
        copies
    }

    fn copy_blocks(
        &mut self,
        from: RegionId,
        into: RegionId,
        replaced: &Replaced<'_>,
    ) -> Result<BTreeMap<BlockId, BlockId>, EditError> {
        let values = replaced.values;
        let Region { blocks, transitions, start, .. } = self.sdfg().region(from).clone();
        let had_start = self.sdfg().region(into).start;
        let mut copies = BTreeMap::new();
        for block in blocks {
            copies.insert(block, self.copy_block(block, into, replaced)?);
        }
        for id in transitions {
            let mut transition = self.sdfg().transition(id).clone();
            let label = self.sdfg().block(transition.src).label.clone();
            for value in transition.expressions_mut() {
                self.replace_in_expression(value, values, &label)?;
            }
            let (Some(src), Some(dst)) = (copies.get(&transition.src), copies.get(&transition.dst)) else {
                continue;
            };
            (transition.src, transition.dst) = (*src, *dst);
            self.put_transition(transition);
        }
        let start = had_start.or_else(|| start.and_then(|start| copies.get(&start).copied()));
        self.set_region(into, |region| region.start = start);
        Ok(copies)
    }

    fn copy_block(
        &mut self,
        id: BlockId,
        region: RegionId,
        replaced: &Replaced<'_>,
    ) -> Result<BlockId, EditError> {
        let values = replaced.values;
        let found = self.sdfg().block(id).clone();
        let label = derived_block_label(self.sdfg(), &found.label, "copy");
        let mut kind = found.kind;
        for value in kind.expressions_mut() {
            self.replace_in_expression(value, values, &found.label)?;
        }
        let kind = match kind {
            BlockKind::State(state) => {
                let mut copy = self.substituted_state(state, values)?;
                copy.label.clone_from(&label);
                replaced.rename(&mut copy);
                return Ok(self.put_state(region, copy).0);
            }
            BlockKind::Loop(repeated) => {
                BlockKind::Loop(Loop { body: self.copied_region(repeated.body, replaced)?, ..repeated })
            }
            BlockKind::Branch(Branch { arms, otherwise }) => {
                let mut copied = Vec::with_capacity(arms.len());
                for (condition, arm) in arms {
                    copied.push((condition, self.copied_region(arm, replaced)?));
                }
                let otherwise = otherwise.map(|arm| self.copied_region(arm, replaced)).transpose()?;
                BlockKind::Branch(Branch { arms: copied, otherwise })
            }
            BlockKind::Break | BlockKind::Continue | BlockKind::Return => kind,
        };
        Ok(self.put_block(Block { label, kind, region, loc: found.loc }))
    }

    fn copied_region(&mut self, from: RegionId, replaced: &Replaced<'_>) -> Result<RegionId, EditError> {
        let copy = self.put_region();
        self.copy_blocks(from, copy, replaced)?;
        Ok(copy)
    }

    /// Moves the blocks of a region into an SDFG of their own. A new state with this label, then the only block of the region,
    /// calls it. Gives the state and the call.
    ///
    /// Containers become arguments of the same names and are bound as a whole. Those of `private` move along, as do
    /// transients that keep nothing from block to block: nothing outside of the region uses them, and each run of the region
    /// writes what it reads of them. Views may be private, too. Symbols are passed under their own names; the values that the blocks give to
    /// symbols stay in the call.
    ///
    /// # Errors
    /// [`EditError::NoRegion`], [`EditError::NameTaken`] for the label, [`EditError::ControlFlow`] for jumps out of the region,
    /// [`EditError::Container`] for streams, references and other views, and [`EditError::AssignedSymbol`] for symbols of another
    /// type than `i64` that the region sets.
    pub fn wrap_region_in_nested(
        &mut self,
        region: RegionId,
        label: &str,
        private: &BTreeSet<ContainerId>,
    ) -> Result<(StateId, NodeId), EditError> {
        let sdfg = self.sdfg();
        sdfg.get_region(region).ok_or(EditError::NoRegion(region))?;
        self.check_block_label(label)?;
        if let Some(jump) = jump_out(sdfg, region, false) {
            let reason = "it jumps out of the blocks that a call takes along";
            return Err(EditError::ControlFlow { label: sdfg.block(jump).label.clone(), reason });
        }
        let types = symbol_types(sdfg);
        let is_narrow = |symbol: &Symbol| types.get(symbol).is_some_and(|ty| *ty != UNDECLARED_SYMBOL);
        if let Some(symbol) = assigned_symbols_of(sdfg, region).into_iter().find(is_narrow) {
            return Err(EditError::AssignedSymbol(symbol));
        }
        let used = Used::of(sdfg, region, private)?;
        let mut inner = outlined(sdfg, region, label, &used);
        let symbols = free_symbols(&inner);
        for symbol in &symbols {
            inner.declare_symbol(symbol.clone(), types.get(symbol).copied().unwrap_or(UNDECLARED_SYMBOL));
        }
        let connectors = |all: &BTreeSet<ContainerId>| -> Vec<Connector> {
            all.iter().map(|id| Connector::new(&sdfg.container(*id).name)).collect()
        };
        let nested = NestedSdfg {
            inputs: connectors(&used.reads),
            outputs: connectors(&used.writes),
            sdfg: inner,
            symbol_mapping: symbols
                .into_iter()
                .map(|symbol| (symbol.clone(), Expr::symbol(symbol)))
                .collect(),
        };
        let kind = NodeKind::Nested(Box::new(nested));
        let role = "call";
        self.attempt(|editor| {
            for block in editor.sdfg().region(region).blocks.clone() {
                editor.take_block(block);
            }
            let (block, state) = editor.put_state(region, State::new(label));
            editor.set_region(region, |region| region.start = Some(block));
            let call_label = editor.derived_label(state, label, role)?;
            let call = editor.put_node(state, Node { label: call_label, kind, loc: None });
            editor.mark_inside(state, call);
            for (ids, reads) in [(&used.reads, true), (&used.writes, false)] {
                for id in ids {
                    let name = editor.sdfg().container(*id).name.clone();
                    let label = editor.free_label(state, &name);
                    let node = Node { label, kind: NodeKind::Access(*id), loc: None };
                    let outside = editor.put_node(state, node);
                    editor.bind_one(state, *id, (call, reads), (outside, None))?;
                }
            }
            let is_used =
                |sdfg: &Sdfg, id| sdfg.states().any(|(_, state)| state.accesses_of(id).next().is_some());
            for id in &used.moved {
                if !is_used(editor.sdfg(), *id) {
                    editor.take_container(*id);
                }
            }
            Ok((state, call))
        })
    }
}

/// Replacements in copied blocks.
struct Replaced<'v> {
    values: &'v BTreeMap<Symbol, Expr>,
    containers: BTreeMap<ContainerId, ContainerId>,
}

impl Replaced<'_> {
    /// Lets a copied state use the copies of containers.
    fn rename(&self, state: &mut State) {
        if self.containers.is_empty() {
            return;
        }
        use_containers(state, &self.containers);
    }
}

/// Lets a state use other containers.
pub(super) fn use_containers(state: &mut State, others: &BTreeMap<ContainerId, ContainerId>) {
    let other = |id: ContainerId| others.get(&id).copied().unwrap_or(id);
    let nodes: Vec<NodeId> = state.nodes().map(|(id, _)| id).collect();
    for id in nodes {
        if let NodeKind::Access(container) = &mut state.node_mut(id).kind {
            *container = other(*container);
        }
    }
    let edges: Vec<_> = state.edges().map(|(id, _)| id).collect();
    for id in edges {
        let accesses = state.memlet_mut(id).accesses_mut();
        accesses.for_each(|access| access.container = other(access.container));
    }
}

/// Whether a container belongs to iterations of a scope.
fn is_owned(container: &Container) -> bool {
    container.transient && container.constant.is_none()
}

/// The states in a region and in the regions inside it.
pub(super) fn states_in(sdfg: &Sdfg, region: RegionId) -> BTreeSet<StateId> {
    let (mut found, mut waiting) = (BTreeSet::new(), vec![region]);
    while let Some(region) = waiting.pop() {
        for block in &sdfg.region(region).blocks {
            let kind = &sdfg.block(*block).kind;
            if let BlockKind::State(state) = kind {
                found.insert(*state);
            }
            waiting.extend(kind.regions());
        }
    }
    found
}

/// Containers that a region uses, with the kinds of use.
struct Used {
    reads: BTreeSet<ContainerId>,
    writes: BTreeSet<ContainerId>,
    moved: BTreeSet<ContainerId>,
    /// All of these, and constants.
    all: BTreeSet<ContainerId>,
}

impl Used {
    fn of(sdfg: &Sdfg, region: RegionId, private: &BTreeSet<ContainerId>) -> Result<Self, EditError> {
        let mut sets = AccessSets::of_region(sdfg, region).through_aliases(sdfg);
        // Nodes may access nothing and only order others. Their containers exist in the call, too.
        for state in states_in(sdfg, region) {
            let named = sdfg.state(state).nodes().filter_map(|(_, node)| node.kind.container());
            sets.reads.extend(named.filter(|id| !sets.writes.contains(id)));
        }
        let all: BTreeSet<ContainerId> = sets.reads.union(&sets.writes).copied().collect();
        let confined = owning_scopes(sdfg);
        let mut used =
            Used { reads: sets.reads, writes: sets.writes, moved: BTreeSet::new(), all: all.clone() };
        for id in all {
            let container = sdfg.container(id);
            let is_own_view = matches!(container.kind, ContainerKind::View(_)) && private.contains(&id);
            if container.is_stream() || (container.is_alias() && !is_own_view) {
                let reason = "a call of blocks binds arrays and scalars alone";
                return Err(EditError::Container { container: container.name.clone(), reason });
            }
            let is_confined = match container.lifetime {
                Lifetime::State => true,
                Lifetime::Scope => confined.contains_key(&id),
                Lifetime::Sdfg | Lifetime::Persistent | Lifetime::External => false,
            };
            if is_own_view || (container.transient && (private.contains(&id) || is_confined)) {
                used.moved.insert(id);
            }
        }
        let stays = |id: &ContainerId| !used.moved.contains(id) && sdfg.container(*id).constant.is_none();
        used.reads.retain(stays);
        used.writes.retain(stays);
        Ok(used)
    }
}

/// The SDFG of the blocks of a region.
fn outlined(sdfg: &Sdfg, region: RegionId, label: &str, used: &Used) -> Sdfg {
    let readable: String = label.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let mut inner = sdfg.clone();
    inner.name = format!("{}_{readable}", sdfg.name);
    let Region { blocks, transitions, start, .. } = std::mem::replace(
        inner.region_mut(region),
        Region { parent: sdfg.region(region).parent, ..Region::default() },
    );
    let body = inner.body();
    for block in inner.region(body).blocks.clone() {
        inner.remove_block(block);
    }
    for block in &blocks {
        inner.block_mut(*block).region = body;
    }
    *inner.region_mut(body) = Region { blocks, transitions, start, parent: None };
    let symbols: Vec<Symbol> = inner.symbols().map(|(symbol, _)| symbol.clone()).collect();
    for symbol in symbols {
        inner.undeclare_symbol(&symbol);
    }
    let containers: Vec<ContainerId> = inner.containers().map(|(id, _)| id).collect();
    for id in containers {
        if !used.all.contains(&id) {
            inner.remove_container(id);
            continue;
        }
        let is_argument = used.reads.contains(&id) || used.writes.contains(&id);
        let own: &mut Container = inner.container_mut(id);
        if is_argument {
            own.transient = false;
        }
        if is_argument || !matches!(own.lifetime, Lifetime::State) {
            own.lifetime = Lifetime::default();
        }
    }
    inner
}

/// A break, continue or return that leaves a region; `in_loop` if a loop of the region is around.
fn jump_out(sdfg: &Sdfg, region: RegionId, in_loop: bool) -> Option<BlockId> {
    sdfg.region(region).blocks.iter().find_map(|id| match &sdfg.block(*id).kind {
        BlockKind::State(_) => None,
        BlockKind::Return => Some(*id),
        BlockKind::Break | BlockKind::Continue => (!in_loop).then_some(*id),
        BlockKind::Loop(repeated) => jump_out(sdfg, repeated.body, true),
        BlockKind::Branch(_) => {
            let arms = sdfg.block(*id).kind.regions();
            arms.into_iter().find_map(|arm| jump_out(sdfg, arm, in_loop))
        }
    })
}
