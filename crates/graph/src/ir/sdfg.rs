//! The SDFG: symbols, containers and control flow.

use std::sync::Arc;

use indexmap::IndexMap;
use sdfg_language::dtype::ScalarType;
use sdfg_language::symbolic::Symbol;

use super::container::Container;
use super::ids::{Arena, BlockId, ContainerId, RegionId, StateId, TransitionId};
use super::names::{Names, fresh};
use super::outgoing::{Flow, Outgoing};
use super::region::{Block, BlockKind, Region, Transition};
use super::revision::Revision;
use super::source::SourceLoc;
use super::state::State;
use super::undo::Part;

/// Floating-point modes (`docs/semantics.md`, "Floating-point modes").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum FloatMode {
    /// Every operation is rounded on its own, in the order written.
    Strict,
    /// A product may be fused with the sum that uses it.
    #[default]
    Contract,
    /// Also reassociation, reciprocals and functions with a few units of error; no NaN, infinity or signed zero is
    /// relied on.
    Fast,
}

impl FloatMode {
    /// Every mode, in order of declaration.
    pub const ALL: [FloatMode; 3] = [FloatMode::Strict, FloatMode::Contract, FloatMode::Fast];

    /// The name in text programs, JSON and options.
    pub const fn name(self) -> &'static str {
        match self {
            FloatMode::Strict => "strict",
            FloatMode::Contract => "contract",
            FloatMode::Fast => "fast",
        }
    }
}

/// A stateful dataflow multigraph (paper section 3).
///
/// A plain data structure that holds any graph, right or wrong; `sdfg::validate` tells which. States are
/// shared until they are changed, so a clone is a cheap snapshot.
#[derive(Clone, Debug)]
pub struct Sdfg {
    /// Name; also the name of the compiled function.
    pub name: String,
    /// The floating-point mode.
    pub float_mode: FloatMode,
    /// Source location of its creation.
    pub loc: Option<SourceLoc>,
    symbols: IndexMap<Symbol, ScalarType>,
    containers: Arena<ContainerId, Container>,
    regions: Arena<RegionId, Region>,
    blocks: Arena<BlockId, Block>,
    transitions: Arena<TransitionId, Transition>,
    states: Arena<StateId, Arc<State>>,
    body: RegionId,
    revision: Revision,
    pub(super) outgoing: Outgoing,
    pub(super) labels: Names<BlockId>,
    names: Names<ContainerId>,
}

impl Sdfg {
    /// Makes a part what it was. One that had not been made must be the latest of its kind; its id is free then.
    pub(crate) fn restore(&mut self, part: Part) {
        fn put<I: super::ids::Id, T>(arena: &mut Arena<I, T>, id: I, earlier: Option<T>) {
            match earlier {
                Some(element) => arena.restore(id, element),
                None => drop(arena.take_back()),
            }
        }
        self.revision = Revision::next();
        match part {
            Part::Container(id, earlier) => {
                self.names.forget();
                put(&mut self.containers, id, earlier);
            }
            Part::Region(id, earlier) => put(&mut self.regions, id, earlier),
            Part::Block(id, earlier) => {
                self.labels.forget();
                put(&mut self.blocks, id, earlier);
            }
            Part::Transition(id, earlier) => put(&mut self.transitions, id, earlier),
            Part::State(id, earlier) => put(&mut self.states, id, earlier),
            Part::Symbols(symbols) => self.symbols = symbols,
        }
    }

    /// The declared symbols as a part that can be restored.
    pub(crate) fn symbols_part(&self) -> Part {
        Part::Symbols(self.symbols.clone())
    }

    /// A state, shared until one of its holders changes it.
    pub(crate) fn shared_state(&self, id: StateId) -> Option<Arc<State>> {
        self.states.get(id).cloned()
    }

    /// Puts another state in the place of one.
    pub(crate) fn replace_state(&mut self, id: StateId, state: State) {
        self.restore(Part::State(id, Some(Arc::new(state))));
    }

    /// An SDFG without containers and with an empty body.
    pub fn new(name: impl Into<String>) -> Self {
        let mut regions = Arena::new();
        let body = regions.insert(Region::default());
        Sdfg {
            name: name.into(),
            float_mode: FloatMode::default(),
            loc: None,
            symbols: IndexMap::new(),
            containers: Arena::new(),
            regions,
            blocks: Arena::new(),
            transitions: Arena::new(),
            states: Arena::new(),
            body,
            revision: Revision::default(),
            outgoing: Outgoing::default(),
            labels: Names::default(),
            names: Names::default(),
        }
    }

    /// Revision of the contents: symbols, containers, control flow and states with everything inside,
    /// including nested SDFGs. Every method that changes one of these, or borrows it mutably, advances it.
    ///
    /// Name, floating-point mode and location are fields of their own that no analysis reads; they do not count.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Declares a symbol that the caller gives a value, or changes the type of a declared one.
    pub(crate) fn declare_symbol(&mut self, symbol: Symbol, ty: ScalarType) {
        self.revision = Revision::next();
        self.symbols.insert(symbol, ty);
    }

    /// Takes the declaration of a symbol back.
    pub(crate) fn undeclare_symbol(&mut self, symbol: &Symbol) -> Option<ScalarType> {
        self.revision = Revision::next();
        self.symbols.shift_remove(symbol)
    }

    /// Declared symbols with their types, in order of declaration.
    pub fn symbols(&self) -> impl DoubleEndedIterator<Item = (&Symbol, ScalarType)> {
        self.symbols.iter().map(|(symbol, ty)| (symbol, *ty))
    }

    /// Type of a declared symbol.
    pub fn symbol_type(&self, symbol: &Symbol) -> Option<ScalarType> {
        self.symbols.get(symbol).copied()
    }

    /// Adds a container. Its name is kept; see [`fresh_container_name`](Sdfg::fresh_container_name).
    pub(crate) fn add_container(&mut self, container: Container) -> ContainerId {
        self.revision = Revision::next();
        let id = self.containers.insert(container);
        self.names.add(&self.containers[id].name, id);
        id
    }

    /// Removes a container; uses of it stay behind and fail validation.
    pub(crate) fn remove_container(&mut self, id: ContainerId) -> Option<Container> {
        self.revision = Revision::next();
        self.names.forget();
        self.containers.remove(id)
    }

    /// Containers in order of declaration.
    pub fn containers(&self) -> impl DoubleEndedIterator<Item = (ContainerId, &Container)> {
        self.containers.iter()
    }

    /// Containers that the caller passes, in order of declaration.
    pub fn arguments(&self) -> impl DoubleEndedIterator<Item = (ContainerId, &Container)> {
        self.containers.iter().filter(|(_, container)| container.is_argument())
    }

    /// The container, if present.
    pub fn get_container(&self, id: ContainerId) -> Option<&Container> {
        self.containers.get(id)
    }

    /// The container.
    ///
    /// # Panics
    /// If it is absent: that is a fault of the calling code.
    pub fn container(&self, id: ContainerId) -> &Container {
        &self.containers[id]
    }

    /// The container for change.
    ///
    /// # Panics
    /// If it is absent: that is a fault of the calling code.
    pub(crate) fn container_mut(&mut self, id: ContainerId) -> &mut Container {
        self.revision = Revision::next();
        self.names.forget();
        &mut self.containers[id]
    }

    /// The container with this name; the oldest of several, which is wrong.
    pub fn find_container(&self, name: &str) -> Option<ContainerId> {
        self.names.find(name, &self.containers)
    }

    /// `wanted`, or if a container or symbol has this name, `wanted_1`, `wanted_2`, ... whichever is free first.
    pub fn fresh_container_name(&self, wanted: &str) -> String {
        fresh(wanted, |name| {
            self.find_container(name).is_some() || self.symbols.keys().any(|symbol| symbol.as_str() == name)
        })
    }

    /// The region that a call runs.
    pub fn body(&self) -> RegionId {
        self.body
    }

    /// Adds an empty region; a loop or branch block is then made of it.
    pub(crate) fn add_region(&mut self) -> RegionId {
        self.revision = Revision::next();
        self.regions.insert(Region::default())
    }

    /// The region.
    ///
    /// # Panics
    /// If it is absent: that is a fault of the calling code.
    pub fn region(&self, id: RegionId) -> &Region {
        &self.regions[id]
    }

    /// The region, if present.
    pub fn get_region(&self, id: RegionId) -> Option<&Region> {
        self.regions.get(id)
    }

    /// The region for change.
    ///
    /// # Panics
    /// If it is absent: that is a fault of the calling code.
    pub(crate) fn region_mut(&mut self, id: RegionId) -> &mut Region {
        self.revision = Revision::next();
        &mut self.regions[id]
    }

    /// Adds a state with its block to a region; the first block of a region becomes its start.
    pub(crate) fn add_state(&mut self, region: RegionId, state: State) -> (BlockId, StateId) {
        let (label, loc) = (state.label.clone(), state.loc.clone());
        let state = self.states.insert(Arc::new(state));
        let block = self.add_block(region, Block { label, kind: BlockKind::State(state), region, loc });
        (block, state)
    }

    /// Adds a block to a region; the first block of a region becomes its start, and the regions inside the block
    /// become its parts.
    pub(crate) fn add_block(&mut self, region: RegionId, mut block: Block) -> BlockId {
        self.revision = Revision::next();
        block.region = region;
        let inner = block.kind.regions();
        let id = self.blocks.insert(block);
        self.labels.add(&self.blocks[id].label, id);
        for part in inner {
            self.regions[part].parent = Some(id);
        }
        let region = &mut self.regions[region];
        region.blocks.push(id);
        region.start.get_or_insert(id);
        id
    }

    /// Adds a transition to the region of its source block, after the ones that are there.
    pub(crate) fn add_transition(&mut self, transition: Transition) -> TransitionId {
        self.revision = Revision::next();
        let region = self.blocks[transition.src].region;
        let id = self.transitions.insert(transition);
        self.regions[region].transitions.push(id);
        id
    }

    /// Removes a transition.
    pub(crate) fn remove_transition(&mut self, id: TransitionId) -> Option<Transition> {
        self.revision = Revision::next();
        let removed = self.transitions.remove(id)?;
        if let Some(region) = self.blocks.get(removed.src).map(|block| block.region) {
            self.regions[region].transitions.retain(|other| *other != id);
        }
        Some(removed)
    }

    /// Moves a block to another region, as its last, with the transitions out of it; the start of neither region changes.
    ///
    /// # Panics
    /// If one of the two is absent: that is a fault of the calling code.
    pub(crate) fn move_block(&mut self, id: BlockId, to: RegionId) {
        self.revision = Revision::next();
        let from = self.blocks[id].region;
        let transitions = self.transitions_from(id);
        let old = &mut self.regions[from];
        old.blocks.retain(|other| *other != id);
        old.transitions.retain(|other| !transitions.contains(other));
        let new = &mut self.regions[to];
        new.blocks.push(id);
        new.transitions.extend(transitions);
        self.blocks[id].region = to;
    }

    /// Removes a block with its transitions and all that is in it. A region whose start it was has none then.
    pub(crate) fn remove_block(&mut self, id: BlockId) -> Option<Block> {
        self.revision = Revision::next();
        self.labels.forget();
        let mut waiting = vec![id];
        let region = self.blocks.get(id)?.region;
        for transition in self.regions[region].transitions.clone() {
            if self.transitions.get(transition).is_some_and(|found| found.src == id || found.dst == id) {
                self.remove_transition(transition);
            }
        }
        let around = &mut self.regions[region];
        around.blocks.retain(|other| *other != id);
        around.start = around.start.filter(|start| *start != id);
        let mut removed = None;
        while let Some(next) = waiting.pop() {
            let Some(block) = self.blocks.remove(next) else { continue };
            if let BlockKind::State(state) = block.kind {
                self.states.remove(state);
            }
            for inner in block.kind.regions() {
                let Some(inner) = self.regions.remove(inner) else { continue };
                waiting.extend(inner.blocks);
                for transition in inner.transitions {
                    self.transitions.remove(transition);
                }
            }
            removed.get_or_insert(block);
        }
        removed
    }

    /// The block.
    ///
    /// # Panics
    /// If it is absent: that is a fault of the calling code.
    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id]
    }

    /// The block, if present.
    pub fn get_block(&self, id: BlockId) -> Option<&Block> {
        self.blocks.get(id)
    }

    /// The block for change.
    ///
    /// # Panics
    /// If it is absent: that is a fault of the calling code.
    pub(crate) fn block_mut(&mut self, id: BlockId) -> &mut Block {
        self.revision = Revision::next();
        self.labels.forget();
        &mut self.blocks[id]
    }

    /// The transition.
    ///
    /// # Panics
    /// If it is absent: that is a fault of the calling code.
    pub fn transition(&self, id: TransitionId) -> &Transition {
        &self.transitions[id]
    }

    /// The transition, if present.
    pub fn get_transition(&self, id: TransitionId) -> Option<&Transition> {
        self.transitions.get(id)
    }

    /// The transition for change.
    ///
    /// # Panics
    /// If it is absent: that is a fault of the calling code.
    pub(crate) fn transition_mut(&mut self, id: TransitionId) -> &mut Transition {
        self.revision = Revision::next();
        &mut self.transitions[id]
    }

    /// Transitions out of a block, in the order in which they are tried.
    pub fn transitions_from(&self, block: BlockId) -> Vec<TransitionId> {
        self.outgoing.of(block, self.revision, self.flow())
    }

    /// Transitions into a block, in the order of its region.
    ///
    /// # Panics
    /// If the block is absent: that is a fault of the calling code.
    pub fn transitions_to(&self, block: BlockId) -> Vec<TransitionId> {
        let region = self.region(self.block(block).region);
        region.transitions.iter().copied().filter(|id| self.transition(*id).dst == block).collect()
    }

    /// Regions, blocks and transitions, in which transitions are searched.
    pub(super) fn flow(&self) -> Flow<'_> {
        (&self.regions, &self.blocks, &self.transitions)
    }

    /// Number of blocks ever added, an upper bound of the nesting depth.
    pub(crate) fn n_created_blocks(&self) -> usize {
        self.blocks.created()
    }

    /// All blocks, in order of creation.
    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = (BlockId, &Block)> {
        self.blocks.iter()
    }

    /// All transitions, in order of creation.
    pub fn transitions(&self) -> impl DoubleEndedIterator<Item = (TransitionId, &Transition)> {
        self.transitions.iter()
    }

    /// All states, in order of creation; not those of nested SDFGs.
    pub fn states(&self) -> impl DoubleEndedIterator<Item = (StateId, &State)> {
        self.states.iter().map(|(id, state)| (id, &**state))
    }

    /// The state.
    ///
    /// # Panics
    /// If it is absent: that is a fault of the calling code.
    pub fn state(&self, id: StateId) -> &State {
        &self.states[id]
    }

    /// The state, if present.
    pub fn get_state(&self, id: StateId) -> Option<&State> {
        self.states.get(id).map(|state| &**state)
    }

    /// The state for change; a snapshot that shares it keeps the old one.
    ///
    /// # Panics
    /// If it is absent: that is a fault of the calling code.
    pub(crate) fn state_mut(&mut self, id: StateId) -> &mut State {
        self.revision = Revision::next();
        Arc::make_mut(&mut self.states[id])
    }

    /// The block with this label.
    pub fn find_block(&self, label: &str) -> Option<BlockId> {
        self.labels.find(label, &self.blocks)
    }

    /// `wanted`, or if a block has this label, `wanted_1`, `wanted_2`, ... whichever is free first.
    pub fn fresh_block_label(&self, wanted: &str) -> String {
        self.labels.fresh(wanted, &self.blocks)
    }
}
