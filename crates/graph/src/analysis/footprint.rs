//! Footprints: parts of containers that nodes, states and regions read and write, each exact or a cover.
//!
//! [`AccessSets`](super::AccessSets) contains containers; this module contains elements. The leaves of memlet
//! trees are authoritative: their subsets are carried through the surrounding scopes and counted loops. An
//! access through a view or reference counts for the alias, as in `AccessSets`.

use std::collections::BTreeSet;
use std::sync::Arc;

use sdfg_language::subset::{Approx, Range, Subset};
use sdfg_language::symbolic::{Assumptions, Expr, Symbol};
use sdfg_language::syntax::subscripted_names;
use sdfg_language::workspace::remembered;

use super::accesses::{consume_condition_reads, control_reads_of};
use super::executions::{ExecutionTable, Frequency};
use super::filling::fills_output;
use super::known::{SymbolFacts, enter_scope};
use super::memlet_path::{is_leaf, leaf_edges, memlet_root};
use super::scope_tree::ScopeTree;
use super::symbols::{assigned_symbols_of, bound_symbols, scope_parameters};
use crate::ir::{
    Access, BlockId, BlockKind, ContainerId, EdgeId, NodeId, NodeKind, RegionId, Revision, Sdfg, State,
    StateId, TaskletBody,
};

/// A part of a container that is read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The container.
    pub container: ContainerId,
    /// The elements, or queues of a stream. Exact: each of these is accessed whenever the whole is executed, and no
    /// other. Over: no other is accessed.
    pub subset: Approx<Subset>,
    /// For writes whether a conflict resolution combines with the old contents, which are then read, too.
    pub combines: bool,
    /// The edge that moves the data; `None` for a condition or assignment.
    pub edge: Option<(StateId, EdgeId)>,
}

/// Read and written subsets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Parts that are read, in order of their edges; those of conditions and assignments last.
    pub reads: Vec<Part>,
    /// Parts that are written, in order of their edges.
    pub writes: Vec<Part>,
}

impl Footprint {
    /// Accesses of one execution of a node, in symbols of the place of the node: for an entry or exit those
    /// of all iterations of its scope, for an access node those of its leaf edges.
    pub fn of_node(sdfg: &Sdfg, state: StateId, node: NodeId) -> Self {
        let places = SymbolFacts::of(sdfg);
        let place = StateContext::of(sdfg, &places, state);
        let graph = sdfg.state(state);
        let mut found = Footprint::default();
        let kind = &graph.node(node).kind;
        let entry = kind.exit_of().or_else(|| kind.is_scope_entry().then_some(node));
        if let Some(entry) = entry {
            let outside = place.tree.scope_of(entry);
            for (edge, _) in graph.edges() {
                let scope = place.tree.scope_of_edge(graph, edge);
                if place.tree.enclosing_scope(scope).any(|around| around == entry) {
                    found.add_edge(&place, edge, outside);
                }
            }
            found.read_all(sdfg, consume_condition_reads(sdfg, graph, Some(entry)));
        } else {
            let outside = place.tree.scope_of(node);
            for edge in graph.in_edges(node).into_iter().chain(graph.out_edges(node)) {
                found.add_edge(&place, edge, outside);
            }
        }
        found
    }

    /// Accesses of one execution of a state.
    pub fn of_state(sdfg: &Sdfg, state: StateId) -> Self {
        Footprint::of_state_among(sdfg, &SymbolFacts::of(sdfg), state)
    }

    /// As [`of_state`](Footprint::of_state), where it is known what is known of symbols.
    pub(super) fn of_state_among(sdfg: &Sdfg, places: &SymbolFacts, state: StateId) -> Self {
        let place = StateContext::of(sdfg, places, state);
        let graph = sdfg.state(state);
        let mut found = Footprint::default();
        for (edge, _) in graph.edges() {
            found.add_edge(&place, edge, None);
        }
        found.read_all(sdfg, consume_condition_reads(sdfg, graph, None));
        found
    }

    /// Accesses of the leaves of some edges of a state, each carried out to the top of the state. `tree` contains its scopes.
    pub fn of_edges(
        sdfg: &Sdfg,
        places: &SymbolFacts,
        tree: Arc<ScopeTree>,
        state: StateId,
        edges: impl IntoIterator<Item = EdgeId>,
    ) -> Self {
        let graph = sdfg.state(state);
        let place = StateContext { sdfg, state, graph, tree, known: places.in_state(sdfg, state) };
        let mut found = Footprint::default();
        for leaf in edges.into_iter().flat_map(|edge| leaf_edges(graph, edge)) {
            found.add_edge(&place, leaf, None);
        }
        found
    }

    /// Accesses of the leaves of a state, each carried out to the scope that contains the access node at its
    /// root: those of one iteration of that scope.
    pub(super) fn at_roots(sdfg: &Sdfg, places: &SymbolFacts, state: StateId) -> Self {
        let place = StateContext::of(sdfg, places, state);
        let mut found = Footprint::default();
        for (edge, _) in place.graph.edges() {
            let root = memlet_root(place.graph, edge);
            found.add_edge(&place, edge, root.and_then(|root| place.tree.scope_of(root)));
        }
        found
    }

    /// Accesses of one execution of a region, including inner regions.
    pub fn of_region(sdfg: &Sdfg, region: RegionId) -> Self {
        let table = ExecutionTable::of(sdfg);
        let changes: BTreeSet<Symbol> = assigned_symbols_of(sdfg, region).into_iter().collect();
        let places = SymbolFacts::of(sdfg);
        let mut found = Footprint::default();
        for (block, state) in states_in(sdfg, region) {
            let executions = table.within(sdfg, block, region);
            let once = executions.frequency == Frequency::Once;
            let footprint = Footprint::of_state_among(sdfg, &places, state);
            let carry = |part: Part| {
                // A graph that was not validated may name what is not there.
                let shape = sdfg.get_container(part.container)?.shape();
                let mut subset = image(&part.subset, &executions.loops, &changes, shape, places.everywhere());
                if !once {
                    subset = Approx::Over(subset.into_inner());
                }
                Some(Part { subset, ..part })
            };
            found.reads.extend(footprint.reads.into_iter().filter_map(carry));
            found.writes.extend(footprint.writes.into_iter().filter_map(carry));
        }
        found.read_all(sdfg, control_reads_of(sdfg, region));
        found
    }

    /// Accesses of one execution of the body of an SDFG, which callers of it ask for many times.
    pub fn of_body(sdfg: &Sdfg) -> Arc<Self> {
        /// The accesses of an SDFG of this revision.
        #[derive(PartialEq, Eq, Hash)]
        struct Body(Revision);
        remembered(Body(sdfg.revision()), || Arc::new(Footprint::of_region(sdfg, sdfg.body())))
    }

    /// Parts of a container that are read, and those that are written.
    pub fn of_container(&self, container: ContainerId) -> (Vec<&Part>, Vec<&Part>) {
        let own = |part: &&Part| part.container == container;
        (self.reads.iter().filter(own).collect(), self.writes.iter().filter(own).collect())
    }

    fn add_edge(&mut self, place: &StateContext<'_>, edge: EdgeId, outside: Option<NodeId>) {
        if !is_leaf(place.graph, edge) {
            return;
        }
        let memlet = &place.graph.edge(edge).memlet;
        let part = |access: &Access, exact: bool| Part {
            container: access.container,
            subset: place.carried_out(edge, access, exact, outside),
            combines: memlet.resolution().is_some(),
            edge: Some((place.state, edge)),
        };
        if let Some(access) = memlet.read_access() {
            let exact = place.reads_all(edge);
            self.reads.push(Part { combines: false, ..part(access, exact) });
        }
        if let Some(access) = memlet.write_access() {
            self.writes.push(part(access, place.writes_all(edge)));
        }
    }

    fn read_all(&mut self, sdfg: &Sdfg, containers: BTreeSet<ContainerId>) {
        let part = |container: ContainerId| {
            let subset = Approx::Over(Subset::full(sdfg.container(container).shape()));
            Part { container, subset, combines: false, edge: None }
        };
        self.reads.extend(containers.into_iter().map(part));
    }
}

/// A state with what is known of the symbols in it.
struct StateContext<'a> {
    sdfg: &'a Sdfg,
    state: StateId,
    graph: &'a State,
    tree: Arc<ScopeTree>,
    known: Arc<Assumptions>,
}

impl<'a> StateContext<'a> {
    fn of(sdfg: &'a Sdfg, places: &SymbolFacts, state: StateId) -> Self {
        let graph = sdfg.state(state);
        let tree = Arc::new(ScopeTree::of(graph));
        StateContext { sdfg, state, graph, tree, known: places.in_state(sdfg, state) }
    }

    /// Elements that an access at an edge names in all iterations of the surrounding scopes, up to those of
    /// the scope `outside`.
    fn carried_out(
        &self,
        edge: EdgeId,
        access: &Access,
        exact: bool,
        outside: Option<NodeId>,
    ) -> Approx<Subset> {
        let Some(container) = self.sdfg.get_container(access.container) else {
            return Approx::Over(access.subset().clone());
        };
        let inner = self.tree.scope_of_edge(self.graph, edge);
        let mut scopes: Vec<NodeId> =
            self.tree.enclosing_scope(inner).take_while(|scope| Some(*scope) != outside).collect();
        scopes.reverse();
        let mut known = Assumptions::clone(&self.known);
        let mut around: Vec<NodeId> = self.tree.enclosing_scope(outside).collect();
        around.reverse();
        around.into_iter().for_each(|entry| enter_scope(self.graph, entry, &mut known));
        let parameters: Vec<(Symbol, Range)> =
            scopes.iter().flat_map(|entry| scope_parameters(self.graph, *entry)).collect();
        let data: BTreeSet<Symbol> =
            scopes.iter().flat_map(|entry| bound_symbols(self.graph, *entry)).collect();
        let counted =
            scopes.iter().all(|entry| matches!(self.graph.node(*entry).kind, NodeKind::MapEntry(_)));
        let start = Approx::new(access.subset().clone(), exact && counted);
        image(&start, &parameters, &data, container.shape(), &known)
    }

    /// Whether every element of the subset is read whenever the edge is passed.
    fn reads_all(&self, edge: EdgeId) -> bool {
        let content = self.graph.edge(edge);
        !content.memlet.volume.is_dynamic()
            && self.end_touches_all(
                content.dst,
                content.dst_connector.as_deref(),
                &content.memlet.read_access(),
            )
    }

    /// Whether every element of the subset is written whenever the edge is passed.
    fn writes_all(&self, edge: EdgeId) -> bool {
        let content = self.graph.edge(edge);
        let drains = content.memlet.read_access().is_some_and(Access::is_queue);
        !content.memlet.volume.is_dynamic()
            && !drains
            && self.end_touches_all(
                content.src,
                content.src_connector.as_deref(),
                &content.memlet.write_access(),
            )
    }

    /// Whether a node touches all that a memlet at it names: code reaches a pointer where it likes, a value as a whole
    /// (an exact output that is left out traps).
    fn end_touches_all(&self, node: NodeId, connector: Option<&str>, access: &Option<&Access>) -> bool {
        match &self.graph.node(node).kind {
            NodeKind::Tasklet(tasklet) => match &tasklet.body {
                TaskletBody::Code(code) => {
                    let subscripted = subscripted_names(code.block());
                    access.is_some_and(|access| !access.is_queue() && access.subset().is_element())
                        && connector.is_some_and(|connector| !subscripted.contains(connector))
                }
                TaskletBody::External(_) => false,
            },
            NodeKind::Nested(_) => false,
            NodeKind::Library(library) => fills_output(library, connector),
            NodeKind::Access(_) | NodeKind::Reduce(_) => true,
            // A symbol that gets its value from data.
            NodeKind::MapEntry(_) | NodeKind::ConsumeEntry(_) => true,
            NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => false,
        }
    }
}

/// The union of a subset over all values of the parameters; what depends on `unknown` symbols that are no parameters may be
/// anywhere in its dimension.
fn image(
    subset: &Approx<Subset>,
    parameters: &[(Symbol, Range)],
    unknown: &BTreeSet<Symbol>,
    shape: &[Expr],
    known: &Assumptions,
) -> Approx<Subset> {
    let all = || Approx::Over(Subset::full(shape));
    let Some(carried) = subset.as_inner().image(parameters, known) else { return all() };
    let mut exact = subset.is_exact() && carried.is_exact();
    let mut carried = carried.into_inner();
    if carried.rank() != shape.len() {
        return all();
    }
    for (range, extent) in carried.0.iter_mut().zip(shape) {
        let symbols = range.free_symbols();
        if !symbols.is_disjoint(unknown) || parameters.iter().any(|(symbol, _)| symbols.contains(symbol)) {
            *range = Range::new(Expr::zero(), extent.clone());
            exact = false;
        }
    }
    Approx::new(carried, exact)
}

/// The states in a region and in the regions inside it, with their blocks, by block.
pub(super) fn states_in(sdfg: &Sdfg, region: RegionId) -> Vec<(BlockId, StateId)> {
    let (mut found, mut seen, mut waiting) = (Vec::new(), BTreeSet::new(), vec![region]);
    while let Some(region) = waiting.pop() {
        if !seen.insert(region) {
            continue;
        }
        for block in &sdfg.region(region).blocks {
            let kind = &sdfg.block(*block).kind;
            if let BlockKind::State(state) = kind {
                found.push((*block, *state));
            }
            waiting.extend(kind.regions());
        }
    }
    found.sort_unstable();
    found
}
