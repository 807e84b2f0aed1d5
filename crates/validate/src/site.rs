//! Site of a rule: an SDFG or a state with the paths of its elements, and the collection of diagnostics.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use sdfg_graph::analysis::accesses::alias_targets;
use sdfg_graph::analysis::executions::ExecutionTable;
use sdfg_graph::analysis::symbols::assigned_symbols;
use sdfg_graph::analysis::{
    Analyses, Device, DominatorTree, RegionGraph, ScopeTree, SymbolFacts, bound_alias, connector_edges,
    owning_scopes,
};
use sdfg_graph::diagnostic::{Code, Diagnostic, Element, ElementPath, End};
use sdfg_graph::ir::{
    BlockId, BlockKind, Container, ContainerId, EdgeId, NestedSdfg, NodeId, RegionId, Sdfg, SourceLoc, State,
    StateId, Transition, TransitionId,
};
use sdfg_language::dtype::ScalarKind;
use sdfg_language::symbolic::{Assumptions, Symbol};
use sdfg_language::tasklet::Direction;

use super::calls::Call;
use super::conflicts::OverlapCache;
use super::direction::roots;

/// Findings in the order in which rules made them.
#[derive(Debug, Default)]
pub(super) struct Findings {
    diagnostics: Vec<Diagnostic>,
}

impl Findings {
    /// Adds a finding, unless the same has just been said of the same element.
    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        let repeats = self.diagnostics.last().is_some_and(|last| {
            last.code == diagnostic.code && last.path == diagnostic.path && last.message == diagnostic.message
        });
        if !repeats {
            self.diagnostics.push(diagnostic);
        }
    }

    pub(super) fn extend(&mut self, diagnostics: impl IntoIterator<Item = Diagnostic>) {
        self.diagnostics.extend(diagnostics);
    }

    pub(super) fn len(&self) -> usize {
        self.diagnostics.len()
    }

    pub(super) fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    pub(super) fn into_vec(self) -> Vec<Diagnostic> {
        self.diagnostics
    }
}

/// For arguments, others that may share memory with them, as a call may bind them.
pub(super) type Shared = BTreeMap<ContainerId, BTreeSet<ContainerId>>;

/// One SDFG, the outermost or a nested one.
#[derive(Clone)]
pub(super) struct Program<'a> {
    pub(super) sdfg: &'a Sdfg,
    pub(super) path: ElementPath,
    /// Number of SDFGs around it.
    pub(super) depth: usize,
    /// Its device.
    pub(super) device: Device,
    /// Symbols that its control flow assigns.
    pub(super) assigned: BTreeSet<Symbol>,
    /// Symbols in the sizes of arguments, each with one of these.
    sized: BTreeMap<Symbol, String>,
    /// Empty while the structure is checked.
    pub(super) shared: Shared,
    /// The call that runs it, of a nested one whose meaning is checked.
    pub(super) call: Option<Arc<Call>>,
    /// Queries about pairs of accesses, in all SDFGs of the program.
    pub(super) overlap_cache: Rc<OverlapCache>,
    labels: BTreeMap<StateId, BlockId>,
    /// Tables that several rules ask for.
    analyses: Rc<RefCell<Analyses>>,
    sized_transients: OnceCell<BTreeMap<Symbol, Vec<ContainerId>>>,
    executions: OnceCell<ExecutionTable>,
    facts: OnceCell<Rc<SymbolFacts>>,
    aliases: OnceCell<Arc<BTreeMap<ContainerId, BTreeSet<ContainerId>>>>,
    owning_scopes: OnceCell<BTreeMap<ContainerId, (StateId, NodeId)>>,
    bindings: OnceCell<BTreeMap<ContainerId, Vec<(StateId, EdgeId)>>>,
    /// Facts about symbols outside of loops and scopes.
    outermost: OnceCell<Assumptions>,
}

impl<'a> Program<'a> {
    pub(super) fn new(sdfg: &'a Sdfg, path: ElementPath, depth: usize, device: Device) -> Self {
        let labels = sdfg.blocks().filter_map(|(id, block)| match block.kind {
            BlockKind::State(state) => Some((state, id)),
            BlockKind::Loop(_)
            | BlockKind::Branch(_)
            | BlockKind::Break
            | BlockKind::Continue
            | BlockKind::Return => None,
        });
        let labels = labels.collect();
        let assigned = assigned_symbols(sdfg).into_iter().collect();
        let (executions, owning_scopes, bindings) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        let aliases = OnceCell::new();
        let mut sized = BTreeMap::new();
        for (_, container) in sdfg.arguments() {
            for symbol in container.kind.size_symbols() {
                sized.entry(symbol).or_insert_with(|| container.name.clone());
            }
        }
        let shared = Shared::new();
        let (overlap_cache, analyses) = (Rc::default(), Rc::default());
        Program {
            sdfg,
            path,
            depth,
            device,
            assigned,
            sized,
            shared,
            call: None,
            overlap_cache,
            labels,
            analyses,
            sized_transients: OnceCell::new(),
            executions,
            facts: OnceCell::new(),
            aliases,
            owning_scopes,
            bindings,
            outermost: OnceCell::new(),
        }
    }

    /// Facts outside of loops and scopes: symbols in shapes of arguments are non-negative, and so are those of unsigned types.
    pub(super) fn outermost_facts(&self) -> &Assumptions {
        self.outermost.get_or_init(|| {
            let mut assumptions = Assumptions::new();
            let in_shapes = self.sdfg.arguments().flat_map(|(_, container)| container.size_symbols());
            let unsigned = self.sdfg.symbols().filter(|(_, ty)| ty.kind() == ScalarKind::Unsigned);
            for symbol in in_shapes.chain(unsigned.map(|(symbol, _)| symbol.clone())) {
                if !self.assigned.contains(&symbol) {
                    assumptions.nonnegative(symbol);
                }
            }
            assumptions
        })
    }

    /// The SDFG that a nested node calls, and that `device` runs.
    pub(super) fn nested(
        &self,
        site: &Site<'_>,
        node: NodeId,
        nested: &'a NestedSdfg,
        device: Device,
    ) -> Program<'a> {
        let path = site.path.enter(&site.state.node(node).label);
        let program = Program::new(&nested.sdfg, path, self.depth + 1, device);
        Program { overlap_cache: Rc::clone(&self.overlap_cache), ..program }
    }

    /// Arguments of a call that parts of one container are bound to, or of two that may share memory.
    pub(super) fn shared_in(&self, site: &Site<'_>, node: NodeId, nested: &NestedSdfg) -> Shared {
        let memory = |container: &Container| {
            let edges = [Direction::In, Direction::Out]
                .into_iter()
                .flat_map(|direction| connector_edges(site.state, node, direction, &container.name));
            let bound = edges.filter_map(|edge| {
                let memlet = &site.state.edge(edge).memlet;
                Some(memlet.read_access().or(memlet.write_access())?.container)
            });
            let own: BTreeSet<ContainerId> = bound.flat_map(|id| roots(site.sdfg, site.id, id)).collect();
            let others = own.iter().filter_map(|id| self.shared.get(id)).flatten().copied();
            others.chain(own.iter().copied()).collect::<BTreeSet<ContainerId>>()
        };
        let arguments: Vec<_> =
            nested.sdfg.arguments().map(|(id, container)| (id, memory(container))).collect();
        let mut shared = Shared::new();
        for (id, memory) in &arguments {
            let overlap = arguments.iter().filter(|(other, found)| other != id && !found.is_disjoint(memory));
            let others: BTreeSet<ContainerId> = overlap.map(|(other, _)| *other).collect();
            if !others.is_empty() {
                shared.insert(*id, others);
            }
        }
        shared
    }

    /// Every state with its path.
    pub(super) fn sites(&self) -> impl Iterator<Item = Site<'_>> + '_ {
        self.sdfg.states().map(|(id, state)| self.site(id, state))
    }

    fn site<'s>(&'s self, id: StateId, state: &'s State) -> Site<'s> {
        let label = self.labels.get(&id).map_or(&state.label, |block| &self.sdfg.block(*block).label);
        Site {
            sdfg: self.sdfg,
            state,
            id,
            path: self.path.enter(label),
            device: self.device,
            assigned: &self.assigned,
            sized: &self.sized,
            analyses: &self.analyses,
        }
    }

    /// An argument that is sized by a symbol.
    pub(super) fn sized_by(&self, symbol: &Symbol) -> Option<&str> {
        self.sized.get(symbol).map(String::as_str)
    }

    /// Transients whose size or layout depends on a symbol, also views.
    pub(super) fn transients_sized_by(&self, symbol: &Symbol) -> &[ContainerId] {
        let sized = self.sized_transients.get_or_init(|| {
            let mut sized: BTreeMap<Symbol, Vec<ContainerId>> = BTreeMap::new();
            for (id, container) in self.sdfg.containers().filter(|(_, container)| container.transient) {
                for symbol in container.kind.size_symbols() {
                    sized.entry(symbol).or_default().push(id);
                }
            }
            sized
        });
        sized.get(symbol).map_or(&[], Vec::as_slice)
    }

    /// The control-flow graph of a region.
    pub(super) fn region_graph(&self, region: RegionId) -> Arc<RegionGraph> {
        self.analyses.borrow_mut().region_graph(self.sdfg, region)
    }

    /// The dominators of the blocks of a region.
    pub(super) fn dominators(&self, region: RegionId) -> Arc<DominatorTree> {
        self.analyses.borrow_mut().dominators(self.sdfg, region)
    }

    /// The post-dominators of the blocks of a region.
    pub(super) fn post_dominators(&self, region: RegionId) -> Arc<DominatorTree> {
        self.analyses.borrow_mut().post_dominators(self.sdfg, region)
    }

    /// Number of executions of each block.
    pub(super) fn executions(&self) -> &ExecutionTable {
        self.executions.get_or_init(|| ExecutionTable::of(self.sdfg))
    }

    /// Facts about symbols, also from the conditions of branches and transitions.
    pub(super) fn facts(&self) -> &SymbolFacts {
        self.facts.get_or_init(|| Rc::new(SymbolFacts::of(self.sdfg)))
    }

    /// For each alias the containers that it is bound to.
    pub(super) fn alias_targets(&self) -> &BTreeMap<ContainerId, BTreeSet<ContainerId>> {
        self.aliases.get_or_init(|| alias_targets(self.sdfg))
    }

    /// The edges that bind an alias, in the order of their states.
    pub(super) fn bindings_of(&self, alias: ContainerId) -> &[(StateId, EdgeId)] {
        self.bindings().get(&alias).map_or(&[], Vec::as_slice)
    }

    /// Number of bound aliases.
    pub(super) fn n_bound_aliases(&self) -> usize {
        self.bindings().len()
    }

    fn bindings(&self) -> &BTreeMap<ContainerId, Vec<(StateId, EdgeId)>> {
        self.bindings.get_or_init(|| {
            let mut found: BTreeMap<ContainerId, Vec<(StateId, EdgeId)>> = BTreeMap::new();
            for (id, state) in self.sdfg.states() {
                for (edge, _) in state.edges() {
                    if let Some((alias, _)) = bound_alias(state, edge) {
                        found.entry(alias).or_default().push((id, edge));
                    }
                }
            }
            found
        })
    }

    /// The scope whose iterations each have an instance of a transient.
    pub(super) fn owning_scope(&self, container: ContainerId) -> Option<NodeId> {
        let found = self.sdfg.get_container(container)?;
        if !found.transient || found.constant.is_some() {
            return None;
        }
        let owning_scopes = self.owning_scopes.get_or_init(|| owning_scopes(self.sdfg));
        owning_scopes.get(&container).map(|(_, scope)| *scope)
    }

    /// The block that runs a state.
    pub(super) fn block_of(&self, state: StateId) -> Option<BlockId> {
        self.labels.get(&state).copied()
    }

    pub(super) fn block_path(&self, block: BlockId) -> ElementPath {
        self.path.to(Element::Block(self.block_label(block)))
    }

    pub(super) fn block_label(&self, block: BlockId) -> String {
        self.sdfg.get_block(block).map_or_else(|| block.to_string(), |block| block.label.clone())
    }

    pub(super) fn transition_path(&self, id: TransitionId, transition: &Transition) -> ElementPath {
        self.path.to(Element::transition(self.sdfg, id, transition))
    }

    /// An error about a container.
    pub(super) fn container_error(&self, code: Code, container: &Container, message: String) -> Diagnostic {
        let path = self.path.to(Element::Container(container.name.clone()));
        Diagnostic::error(code, path, message).at(container.loc.as_ref())
    }

    /// An error about a block.
    pub(super) fn block_error(&self, code: Code, block: BlockId, message: String) -> Diagnostic {
        let loc = self.sdfg.get_block(block).and_then(|block| block.loc.as_ref());
        Diagnostic::error(code, self.block_path(block), message).at(loc)
    }
}

/// One state.
pub(super) struct Site<'a> {
    pub(super) sdfg: &'a Sdfg,
    pub(super) state: &'a State,
    pub(super) id: StateId,
    pub(super) path: ElementPath,
    pub(super) device: Device,
    /// Symbols that control flow of the SDFG assigns.
    pub(super) assigned: &'a BTreeSet<Symbol>,
    /// Symbols in the sizes of arguments of the SDFG, each with one of these.
    pub(super) sized: &'a BTreeMap<Symbol, String>,
    analyses: &'a RefCell<Analyses>,
}

impl<'a> Site<'a> {
    /// The scopes of the state.
    pub(super) fn scopes(&self) -> Arc<ScopeTree> {
        self.analyses.borrow_mut().scopes(self.sdfg, self.id)
    }

    /// The nodes such that every edge goes forward; `None` if there is a cycle.
    pub(super) fn topological_order(&self) -> Arc<Option<Vec<NodeId>>> {
        self.analyses.borrow_mut().topological_order(self.sdfg, self.id)
    }

    /// The name of a container, for messages.
    pub(super) fn name(&self, container: ContainerId) -> String {
        self.sdfg.get_container(container).map_or_else(|| container.to_string(), |found| found.name.clone())
    }

    /// A node as the text form writes it at the end of an edge.
    pub(super) fn end(&self, node: NodeId, connector: Option<&str>) -> End {
        End::of(self.state, node, connector)
    }

    /// The edge as the text form writes it.
    pub(super) fn edge_path(&self, edge: EdgeId) -> ElementPath {
        self.path.to(Element::edge(self.state, edge))
    }

    /// An error about a node or one of its connectors.
    pub(super) fn node_error(
        &self,
        code: Code,
        node: NodeId,
        connector: Option<&str>,
        message: impl Into<String>,
    ) -> Diagnostic {
        let path = self.path.to(Element::Node(self.end(node, connector)));
        Diagnostic::error(code, path, message).at(self.node_loc(node))
    }

    /// An error about an edge.
    pub(super) fn edge_error(&self, code: Code, edge: EdgeId, message: impl Into<String>) -> Diagnostic {
        let loc = self.state.edge(edge).loc.as_ref();
        Diagnostic::error(code, self.edge_path(edge), message).at(loc)
    }

    pub(super) fn node_loc(&self, node: NodeId) -> Option<&'a SourceLoc> {
        self.state.get_node(node).and_then(|node| node.loc.as_ref())
    }
}

/// A number with its noun: `1 dimension`, `2 dimensions`.
pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
