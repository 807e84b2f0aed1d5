//! Matches of patterns in programs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sdfg::analysis::{
    Liveness, ReachingDefinitions, ReachingSymbols, RegionGraph, ScopeTree, SymbolFacts, SymbolUses, Use,
    Uses,
};
use sdfg::ir::{BlockId, BlockKind, ContainerId, EdgeId, NodeId, NodeKind, RegionId, Sdfg, State, StateId};
use sdfg::path::{ElementPath, ElementPlace, Target};
use sdfg::symbolic::Assumptions;
use sdfg::text::print_memlet;

use super::shared_arguments::{SharedArguments, same_memory};
use super::{Refusal, Tables, Transformation};
use crate::pattern::{BlockClass, Host, Hosts, NodeClass, Pattern, Shape, monomorphisms};

/// A place at which a pattern occurs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Match {
    /// The calls that lead from the program to the SDFG of the match.
    pub calls: Vec<(StateId, NodeId)>,
    /// Nodes or blocks, in the order of the pattern.
    pub elements: Matched,
}

/// The elements that stand for the nodes of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Matched {
    /// Nodes of a state.
    Nodes(StateId, Vec<NodeId>),
    /// Blocks of a region.
    Blocks(Vec<BlockId>),
    /// An SDFG.
    Sdfg,
}

impl Match {
    /// The state of a match of nodes.
    ///
    /// # Panics
    /// If the pattern is none of nodes: that is a fault of the transformation.
    pub fn state(&self) -> StateId {
        match &self.elements {
            Matched::Nodes(state, _) => *state,
            Matched::Blocks(_) | Matched::Sdfg => unreachable!("a pattern of nodes matches nodes"),
        }
    }

    /// The node at a position of a pattern of nodes.
    ///
    /// # Panics
    /// If the pattern has no such node: that is a fault of the transformation.
    pub fn node(&self, at: usize) -> NodeId {
        match &self.elements {
            Matched::Nodes(_, nodes) => nodes[at],
            Matched::Blocks(_) | Matched::Sdfg => unreachable!("a pattern of nodes matches nodes"),
        }
    }

    /// The block at a position of a pattern of blocks.
    ///
    /// # Panics
    /// If the pattern has no such block: that is a fault of the transformation.
    pub fn block(&self, at: usize) -> BlockId {
        match &self.elements {
            Matched::Blocks(blocks) => blocks[at],
            Matched::Nodes(..) | Matched::Sdfg => unreachable!("a pattern of blocks matches blocks"),
        }
    }

    /// The places of the elements. The exit of a scope is at the place of its entry, which has the label.
    pub fn places(&self, program: &Sdfg) -> Vec<ElementPlace> {
        let sdfg = ElementPlace { calls: self.calls.clone(), target: Target::Sdfg };
        let place = |target| ElementPlace { calls: self.calls.clone(), target };
        match &self.elements {
            Matched::Nodes(state, nodes) => {
                let graph = sdfg.sdfg(program).and_then(|found| found.get_state(*state));
                let entry = |node: NodeId| {
                    graph.and_then(|graph| graph.get_node(node)?.kind.exit_of()).unwrap_or(node)
                };
                nodes.iter().map(|node| place(Target::Node(*state, entry(*node)))).collect()
            }
            Matched::Blocks(blocks) => blocks.iter().map(|block| place(Target::Block(*block))).collect(),
            Matched::Sdfg => match self.calls.split_last() {
                // A called SDFG has the path of its call.
                Some(((state, node), outer)) => {
                    vec![ElementPlace { calls: outer.to_vec(), target: Target::Node(*state, *node) }]
                }
                None => vec![sdfg],
            },
        }
    }

    /// The paths of the elements.
    pub fn paths(&self, program: &Sdfg) -> Vec<ElementPath> {
        self.places(program).iter().filter_map(|place| place.path(program)).collect()
    }
}

/// A match with the program around it.
#[derive(Clone, Copy, Debug)]
pub struct Site<'p> {
    /// The whole program.
    pub program: &'p Sdfg,
    /// The SDFG of the match.
    pub sdfg: &'p Sdfg,
    /// The match.
    pub found: &'p Match,
    tables: &'p Tables,
}

impl<'p> Site<'p> {
    /// The match in a program that has it; `None` if the program has no such calls. The tables are those of the program.
    pub fn of(program: &'p Sdfg, found: &'p Match, tables: &'p Tables) -> Option<Self> {
        let place = ElementPlace { calls: found.calls.clone(), target: Target::Sdfg };
        Some(Site { program, sdfg: place.sdfg(program)?, found, tables })
    }

    /// The state of a match of nodes.
    pub fn state(&self) -> &'p State {
        self.sdfg.state(self.found.state())
    }

    /// Label of the node at a position.
    pub fn label(&self, at: usize) -> &'p str {
        &self.state().node(self.found.node(at)).label
    }

    /// Refuses a container for a use of it.
    pub fn used(&self, container: ContainerId, by: Use) -> Refusal {
        Refusal::Used { container: self.sdfg.container(container).name.clone(), by }
    }

    /// The path of a use of a container, and the memlet if it is one.
    pub(super) fn place_of(&self, used: Use) -> String {
        let target = match used {
            Use::Access(state, node) | Use::Condition(state, node) => Target::Node(state, node),
            Use::Memlet(state, edge) => Target::Edge(state, edge),
            Use::Block(block) => Target::Block(block),
            Use::Transition(id) => Target::Transition(id),
        };
        let place = ElementPlace { calls: self.found.calls.clone(), target };
        let path = place.path(self.program).map_or_else(String::new, |path| format!("`{path}`"));
        match used {
            Use::Memlet(state, edge) => {
                let memlet = &self.sdfg.state(state).edge(edge).memlet;
                format!("{path} moves `{}`", print_memlet(self.sdfg, memlet))
            }
            Use::Access(..) | Use::Condition(..) | Use::Block(_) | Use::Transition(_) => path,
        }
    }

    /// What is known of symbols in a scope of the state; `None` is outside of all scopes.
    pub fn known_in(&self, scope: Option<NodeId>) -> Assumptions {
        self.facts().at(self.sdfg, self.found.state(), &self.scopes(), scope)
    }

    /// Facts about the symbols of the SDFG.
    pub fn facts(&self) -> Arc<SymbolFacts> {
        self.tables.facts(&self.found.calls, self.sdfg)
    }

    /// The scopes of the state.
    pub fn scopes(&self) -> Arc<ScopeTree> {
        self.scopes_of(self.found.state())
    }

    /// Whether a scope of a caller holds one of the calls that lead to the SDFG.
    pub fn is_called_in_scope(&self) -> bool {
        let calls = &self.found.calls;
        calls.iter().enumerate().any(|(depth, (state, node))| {
            let outer = ElementPlace { calls: calls[..depth].to_vec(), target: Target::Sdfg };
            let caller = outer.sdfg(self.program);
            caller.is_none_or(|caller| {
                self.tables.scopes(&calls[..depth], caller, *state).scope_of(*node).is_some()
            })
        })
    }

    /// The scopes of a state of the SDFG.
    pub fn scopes_of(&self, state: StateId) -> Arc<ScopeTree> {
        self.tables.scopes(&self.found.calls, self.sdfg, state)
    }

    /// The uses of the containers of the SDFG.
    pub fn uses(&self) -> Arc<Uses> {
        self.tables.uses(&self.found.calls, self.sdfg)
    }

    /// The control-flow graph of a region of the SDFG.
    pub fn region_graph(&self, region: RegionId) -> Arc<RegionGraph> {
        self.tables.analyses(&self.found.calls, |analyses| analyses.region_graph(self.sdfg, region))
    }

    /// The innermost scope that holds all uses of a container of the SDFG, for containers that live in one.
    pub fn owning_scopes(&self) -> Arc<BTreeMap<ContainerId, (StateId, NodeId)>> {
        self.tables.analyses(&self.found.calls, |analyses| analyses.owning_scopes(self.sdfg))
    }

    /// Live containers of the SDFG.
    pub fn liveness(&self) -> Arc<Liveness> {
        self.tables.analyses(&self.found.calls, |analyses| analyses.liveness(self.sdfg))
    }

    /// Assignments of symbols that reach each step of control of the SDFG.
    pub fn reaching_symbols(&self) -> Arc<ReachingSymbols> {
        self.tables.analyses(&self.found.calls, |analyses| analyses.reaching_symbols(self.sdfg))
    }

    /// The containers that symbols of the SDFG size, and the steps of control that read them.
    pub fn symbol_uses(&self) -> Arc<SymbolUses> {
        self.tables.analyses(&self.found.calls, |analyses| analyses.symbol_uses(self.sdfg))
    }

    /// Writes that reach each read of the SDFG.
    pub fn reaching_definitions(&self) -> Arc<ReachingDefinitions> {
        self.tables.analyses(&self.found.calls, |analyses| analyses.reaching_definitions(self.sdfg))
    }

    /// Arguments of the SDFG that share memory.
    pub(super) fn shared_arguments(&self) -> Arc<SharedArguments> {
        self.tables.shared_arguments(self.program, &self.found.calls)
    }

    /// The containers that may share elements with a container, itself among them.
    pub fn same_memory(&self, id: ContainerId) -> BTreeSet<ContainerId> {
        same_memory(self.sdfg, &self.uses(), &self.shared_arguments(), id)
    }

    /// The other arguments of the called SDFG that may share elements with an argument.
    pub fn other_names(&self, id: ContainerId) -> BTreeSet<ContainerId> {
        self.shared_arguments().others_of(id)
    }

    /// The nodes in the scope of an entry and in the scopes inside it, with the exit.
    pub fn nodes_within(&self, entry: NodeId) -> Vec<NodeId> {
        let tree = self.scopes();
        let mut found = Vec::new();
        let mut waiting = vec![entry];
        while let Some(scope) = waiting.pop() {
            for node in tree.children(Some(scope)) {
                found.push(*node);
                waiting.extend(tree.exit_of(*node).map(|_| *node));
            }
        }
        found.extend(self.state().exit_of(entry));
        found
    }

    /// The edges in the scope of an entry and in the scopes inside it, in order of their ids.
    pub fn edges_within(&self, entry: NodeId) -> Vec<EdgeId> {
        let state = self.state();
        let mut found: Vec<EdgeId> =
            self.nodes_within(entry).into_iter().flat_map(|node| state.in_edges(node)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The map at a position.
    ///
    /// # Errors
    /// [`Refusal::Structure`] if the node is none.
    pub fn map(&self, at: usize) -> Result<&'p sdfg::ir::Map, Refusal> {
        match &self.state().node(self.found.node(at)).kind {
            NodeKind::MapEntry(map) => Ok(map),
            NodeKind::Access(_)
            | NodeKind::Tasklet(_)
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Nested(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => Err(Refusal::structure(self.label(at), "is no map")),
        }
    }
}

/// Every place at which the pattern of a transformation occurs and that it lists ([`Transformation::places_in`]), in a fixed
/// order: of each SDFG the states and regions by id, then the SDFGs that it calls.
pub fn places(program: &Sdfg, transformation: &dyn Transformation) -> Vec<Match> {
    places_with(program, transformation, &mut Hosts::default())
}

/// As [`places`], with the graphs of states that earlier searches made.
pub(super) fn places_with(
    program: &Sdfg,
    transformation: &dyn Transformation,
    hosts: &mut Hosts,
) -> Vec<Match> {
    let mut found = Vec::new();
    let pattern = transformation.pattern();
    let shape = match &pattern {
        Pattern::Nodes { nodes, edges } => Shape::new(nodes.len(), edges.clone()),
        Pattern::Blocks { blocks, transitions } => Shape::new(blocks.len(), transitions.clone()),
        Pattern::Sdfg => Shape::new(0, Vec::new()),
    };
    hosts.begin();
    let mut search = |hosts: &mut Hosts, calls: &[(StateId, NodeId)], sdfg: &Sdfg| {
        let new = |elements| Match { calls: calls.to_vec(), elements };
        match &pattern {
            Pattern::Nodes { nodes, .. } => {
                for (id, state) in sdfg.states() {
                    if let Some(listed) = transformation.places_in(state) {
                        found.extend(listed.into_iter().map(|nodes| new(Matched::Nodes(id, nodes))));
                        continue;
                    }
                    let all = hosts.of_state(state).matches(state, nodes, &shape);
                    found.extend(all.iter().map(|nodes| new(Matched::Nodes(id, nodes.clone()))));
                }
            }
            Pattern::Blocks { blocks, .. } => {
                let fits = |at: usize, block: BlockId| {
                    blocks.get(at).is_some_and(|(_, class)| class.fits(&sdfg.block(block).kind))
                };
                for region in regions(sdfg) {
                    let all = monomorphisms(&Host::of_region(sdfg, region), &shape, &fits);
                    found.extend(all.into_iter().map(|blocks| new(Matched::Blocks(blocks))));
                }
            }
            Pattern::Sdfg => found.push(new(Matched::Sdfg)),
        }
    };
    each_with_hosts(program, &mut Vec::new(), hosts, &mut search);
    found
}

/// The places of a pattern of nodes that contain these elements, in the order of the pattern, also where the transformation does
/// not list them.
pub(super) fn places_of(
    program: &Sdfg,
    transformation: &dyn Transformation,
    elements: &[ElementPlace],
) -> Vec<Match> {
    let Pattern::Nodes { nodes, edges } = transformation.pattern() else { return Vec::new() };
    let Some(ElementPlace { calls, target: Target::Node(id, _) }) = elements.first() else {
        return Vec::new();
    };
    let inside = ElementPlace { calls: calls.clone(), target: Target::Sdfg };
    let Some(state) = inside.sdfg(program).and_then(|sdfg| sdfg.get_state(*id)) else { return Vec::new() };
    let node_of = |place: &ElementPlace| match place.target {
        Target::Node(other, node) if other == *id && place.calls == *calls => Some(node),
        _ => None,
    };
    let Some(named) = elements.iter().map(node_of).collect::<Option<Vec<NodeId>>>() else {
        return Vec::new();
    };
    let shape = Shape::new(nodes.len(), edges);
    let host = Host::of_state(state);
    let mut found = BTreeSet::new();
    // Patterns have few nodes: each choice of the positions of the elements is a search.
    for choice in 0_u32..1 << nodes.len() {
        let positions: Vec<usize> = (0..nodes.len()).filter(|at| choice & (1 << at) != 0).collect();
        if positions.len() != named.len() {
            continue;
        }
        let fits = |at: usize, node: NodeId| {
            let kind = &state.node(node).kind;
            // A scope is named by its entry.
            let is_named = |named: NodeId| named == node || kind.exit_of() == Some(named);
            let own = positions.iter().position(|position| *position == at);
            nodes[at].1.fits(kind) && own.is_none_or(|own| is_named(named[own]))
        };
        found.extend(monomorphisms(&host, &shape, &fits));
    }
    let new = |nodes| Match { calls: calls.clone(), elements: Matched::Nodes(*id, nodes) };
    found.into_iter().map(new).collect()
}

/// A function of an SDFG, the calls that lead to it, and the graphs of states.
type Search<'s> = dyn FnMut(&mut Hosts, &[(StateId, NodeId)], &Sdfg) + 's;

/// Calls `search` for an SDFG and those that it calls, without a look at the nodes of states that did not change.
fn each_with_hosts(
    sdfg: &Sdfg,
    calls: &mut Vec<(StateId, NodeId)>,
    hosts: &mut Hosts,
    search: &mut Search<'_>,
) {
    search(hosts, calls, sdfg);
    for (id, state) in sdfg.states() {
        for node in hosts.of_state(state).calls().to_vec() {
            if let NodeKind::Nested(nested) = &state.node(node).kind {
                calls.push((id, node));
                each_with_hosts(&nested.sdfg, calls, hosts, search);
                calls.pop();
            }
        }
    }
}

/// Whether the elements of a match are still there, and still what the pattern asks for.
pub(super) fn holds(transformation: &dyn Transformation, site: &Site<'_>) -> bool {
    let found = site.found;
    match (&transformation.pattern(), &found.elements) {
        (Pattern::Nodes { nodes, edges }, Matched::Nodes(state, matched)) => {
            let Some(graph) = site.sdfg.get_state(*state) else { return false };
            let fits = |(node, (_, class)): (&NodeId, &(&str, NodeClass))| {
                graph.get_node(*node).is_some_and(|node| class.fits(&node.kind))
            };
            nodes.len() == matched.len()
                && matched.iter().zip(nodes).all(fits)
                && edges.iter().all(|(src, dst)| {
                    let wanted = edges.iter().filter(|edge| *edge == &(*src, *dst)).count();
                    edges_between(graph, matched[*src], matched[*dst]) >= wanted
                })
        }
        (Pattern::Blocks { blocks, transitions }, Matched::Blocks(matched)) => {
            let fits = |(block, (_, class)): (&BlockId, &(&str, BlockClass))| {
                site.sdfg.get_block(*block).is_some_and(|block| class.fits(&block.kind))
            };
            blocks.len() == matched.len()
                && matched.iter().zip(blocks).all(fits)
                && transitions.iter().all(|(src, dst)| {
                    let out = site.sdfg.transitions_from(matched[*src]);
                    out.into_iter().any(|id| site.sdfg.transition(id).dst == matched[*dst])
                })
        }
        (Pattern::Sdfg, Matched::Sdfg) => true,
        (Pattern::Nodes { .. } | Pattern::Blocks { .. } | Pattern::Sdfg, _) => false,
    }
}

/// The number of edges from a node to another one. It looks at the edges of both in turn, and so only at as many as the node with
/// fewer of them has.
pub(crate) fn edges_between(state: &State, src: NodeId, dst: NodeId) -> usize {
    let (mut out, mut into) = (state.each_out_edge(src), state.each_in_edge(dst));
    let (mut from_src, mut to_dst) = (0, 0);
    loop {
        match out.next() {
            Some((_, edge)) => from_src += usize::from(edge.dst == dst),
            None => return from_src,
        }
        match into.next() {
            Some((_, edge)) => to_dst += usize::from(edge.src == src),
            None => return to_dst,
        }
    }
}

/// Regions of an SDFG that have blocks, by id.
fn regions(sdfg: &Sdfg) -> BTreeSet<RegionId> {
    sdfg.blocks().map(|(_, block)| block.region).collect()
}

/// The state of a block, if it is one.
pub(crate) fn state_of(sdfg: &Sdfg, block: BlockId) -> Option<StateId> {
    match sdfg.get_block(block)?.kind {
        BlockKind::State(state) => Some(state),
        BlockKind::Loop(_)
        | BlockKind::Branch(_)
        | BlockKind::Break
        | BlockKind::Continue
        | BlockKind::Return => None,
    }
}
