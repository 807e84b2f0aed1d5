//! Accesses with the iterations that make them.

use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::syntax::subscripted_names;

use crate::analysis::ScopeTree;
use crate::analysis::filling::fills_output;
use crate::analysis::loops::counted_range;
use crate::analysis::symbols::assigned_symbols_of;
use crate::ir::{Access, BlockId, BlockKind, EdgeId, Flow, NodeId, NodeKind, Sdfg, State, TaskletBody};

/// End of a memlet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessMode {
    /// Its reading end.
    Read,
    /// Its writing end.
    Write,
}

impl AccessMode {
    /// Access of a memlet.
    pub(super) fn of(self, state: &State, edge: EdgeId) -> Option<&Access> {
        let memlet = &state.get_edge(edge)?.memlet;
        match self {
            AccessMode::Read => memlet.read_access(),
            AccessMode::Write => memlet.write_access(),
        }
    }
}

/// The iterations of one scope or loop.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Iterations {
    /// Iteration symbols with their ranges, outermost first; later ranges may mention earlier symbols. Empty for a
    /// loop that does not count.
    pub symbols: Vec<(Symbol, Range)>,
    /// Symbols that data give a value when the scope is entered; it holds for all iterations.
    pub given: Vec<Symbol>,
    /// Symbols that may have another value in each iteration: those that the body of a loop sets.
    pub changing: Vec<Symbol>,
    /// Whether there is exactly one iteration for each point of the ranges, as in maps. Processing elements of a
    /// consume scope iterate often or never, and loops may be left early.
    pub exactly_once: bool,
}

/// A subset with the iterations around it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IteratedAccess {
    /// Scopes and loops, the outermost first.
    pub around: Vec<Iterations>,
    /// The elements that one iteration names.
    pub subset: Subset,
    /// Whether each iteration surely accesses all of them.
    pub certain: bool,
}

impl Iterations {
    /// The iterations of a scope; none for other nodes.
    pub fn of_scope(state: &State, entry: NodeId) -> Option<Self> {
        let (symbols, exactly_once) = match &state.get_node(entry)?.kind {
            NodeKind::MapEntry(map) => {
                (map.params.iter().cloned().zip(map.ranges.0.iter().cloned()).collect(), true)
            }
            NodeKind::ConsumeEntry(consume) => {
                (vec![(consume.element.clone(), Range::new(Expr::zero(), consume.elements.clone()))], false)
            }
            NodeKind::Access(_)
            | NodeKind::Tasklet(_)
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Nested(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => return None,
        };
        let connectors = state.in_edges(entry).into_iter();
        let given = connectors
            .filter_map(|edge| state.edge(edge).given_symbol())
            .filter_map(|name| Symbol::new(name).ok())
            .collect();
        Some(Iterations { symbols, given, changing: Vec::new(), exactly_once })
    }

    /// The iterations of a loop; none for other blocks.
    pub fn of_loop(sdfg: &Sdfg, block: BlockId) -> Option<Self> {
        let BlockKind::Loop(repeated) = &sdfg.get_block(block)?.kind else { return None };
        let counted = counted_range(sdfg, repeated);
        let mut changing = assigned_symbols_of(sdfg, repeated.body);
        changing.extend(repeated.symbol.clone());
        changing.retain(|symbol| counted.as_ref().is_none_or(|(counter, _)| counter != symbol));
        changing.sort();
        changing.dedup();
        let exactly_once = counted.is_some() && !may_leave(sdfg, block);
        Some(Iterations { symbols: counted.into_iter().collect(), given: Vec::new(), changing, exactly_once })
    }
}

/// Whether some way through a loop leaves a part of its body out: a branch, a conditional transition, or a jump.
fn may_leave(sdfg: &Sdfg, block: BlockId) -> bool {
    let mut waiting = sdfg.block(block).kind.regions();
    let mut seen = std::collections::BTreeSet::new();
    while let Some(region) = waiting.pop() {
        if !seen.insert(region) {
            continue;
        }
        let region = sdfg.region(region);
        let conditional = |id: &_| sdfg.transition(*id).condition.is_some();
        if region.transitions.iter().any(conditional) {
            return true;
        }
        for block in &region.blocks {
            match &sdfg.block(*block).kind {
                BlockKind::State(_) => {}
                BlockKind::Branch(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => {
                    return true;
                }
                BlockKind::Loop(inner) => waiting.push(inner.body),
            }
        }
    }
    false
}

impl IteratedAccess {
    /// Access of an edge of a state, in its surrounding scopes; `None` if there is none.
    ///
    /// The edge should be a leaf of its memlet tree: the outer segments only bound what passes.
    pub fn of_edge(state: &State, tree: &ScopeTree, edge: EdgeId, mode: AccessMode) -> Option<Self> {
        let access = mode.of(state, edge)?;
        let around = scopes_around(state, tree, edge)
            .into_iter()
            .filter_map(|entry| Iterations::of_scope(state, entry))
            .collect();
        Some(IteratedAccess {
            around,
            subset: access.subset().clone(),
            certain: is_certain(state, edge, access, mode),
        })
    }
}

/// Entries of the scopes that an edge lies in, the outermost first.
pub(super) fn scopes_around(state: &State, tree: &ScopeTree, edge: EdgeId) -> Vec<NodeId> {
    let mut entries: Vec<NodeId> = tree.enclosing_scope(tree.scope_of_edge(state, edge)).collect();
    entries.reverse();
    entries
}

/// Whether an edge accesses the whole subset each time it is passed.
fn is_certain(state: &State, edge: EdgeId, access: &Access, mode: AccessMode) -> bool {
    let edge = state.edge(edge);
    if edge.memlet.volume.is_dynamic() || access.is_queue() {
        return false;
    }
    match &edge.memlet.flow {
        Flow::Copy { .. } => true,
        Flow::Read(_) | Flow::Write { .. } => {
            let (node, name) = match mode {
                AccessMode::Read => (edge.dst, &edge.dst_connector),
                AccessMode::Write => (edge.src, &edge.src_connector),
            };
            match &state.node(node).kind {
                // What code does with a pointer is decided inside.
                NodeKind::Tasklet(tasklet) => match &tasklet.body {
                    TaskletBody::Code(code) => {
                        let subscripted = subscripted_names(code.block());
                        let is_value = name.as_deref().is_some_and(|name| !subscripted.contains(name));
                        is_value && access.subset().is_element()
                    }
                    TaskletBody::External(_) => false,
                },
                NodeKind::Reduce(_) => true,
                NodeKind::Library(library) => fills_output(library, name.as_deref()),
                NodeKind::Access(_)
                | NodeKind::MapEntry(_)
                | NodeKind::MapExit(_)
                | NodeKind::ConsumeEntry(_)
                | NodeKind::ConsumeExit(_)
                | NodeKind::Nested(_) => false,
            }
        }
        Flow::Order | Flow::Value | Flow::Bind(_) => false,
    }
}
