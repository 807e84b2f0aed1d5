//! Elements of a program by id, conversion of ids to names, and the walk over all elements.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_language::symbolic::Symbol;

use super::{ConnectorName, Element, ElementPath, End};
use crate::ir::{
    BlockId, BlockKind, ContainerId, EdgeId, NodeId, NodeKind, Sdfg, State, StateId, TransitionId,
};

/// An element of a program: in which SDFG it is, and what it is there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ElementPlace {
    /// The calls that lead from the outermost SDFG to that of the element: each a state and the node that calls.
    pub calls: Vec<(StateId, NodeId)>,
    /// The element.
    pub target: Target,
}

/// An element of an SDFG. A state is told by its block, and a nested SDFG by the node that calls it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// The SDFG itself; of a path only the outermost.
    Sdfg,
    /// A declared symbol.
    Symbol(Symbol),
    /// A container.
    Container(ContainerId),
    /// A block.
    Block(BlockId),
    /// A transition.
    Transition(TransitionId),
    /// A node.
    Node(StateId, NodeId),
    /// The connectors of this name of a node: of a code node an input, an output or both; of a scope node those of a
    /// port, inside and outside, or the one that brings a symbol.
    Connector(StateId, NodeId, ConnectorName),
    /// An edge.
    Edge(StateId, EdgeId),
}

impl Target {
    /// A noun for messages.
    pub const fn noun(&self) -> &'static str {
        match self {
            Target::Sdfg => "SDFG",
            Target::Symbol(_) => "symbol",
            Target::Container(_) => "container",
            Target::Block(_) => "block",
            Target::Transition(_) => "transition",
            Target::Node(..) => "node",
            Target::Connector(..) => "connector",
            Target::Edge(..) => "edge",
        }
    }
}

impl ElementPlace {
    /// The SDFG that the element belongs to; `None` if there are no such calls.
    pub fn sdfg<'s>(&self, root: &'s Sdfg) -> Option<&'s Sdfg> {
        self.calls.iter().try_fold(root, |sdfg, (state, node)| called(sdfg, *state, *node))
    }

    /// The whole path of the element; `None` if it is not in this program.
    pub fn path(&self, root: &Sdfg) -> Option<ElementPath> {
        let mut sdfg = root;
        let mut path = ElementPath::sdfg(&root.name);
        for (state, node) in &self.calls {
            path =
                path.enter(block_label(sdfg, *state)?).enter(&sdfg.get_state(*state)?.get_node(*node)?.label);
            sdfg = called(sdfg, *state, *node)?;
        }
        let inside = |state: StateId| Some((path.enter(block_label(sdfg, state)?), sdfg.get_state(state)?));
        Some(match &self.target {
            Target::Sdfg => path,
            Target::Symbol(symbol) => path.to(Element::Symbol(symbol.as_str().to_owned())),
            Target::Container(id) => path.to(Element::Container(sdfg.get_container(*id)?.name.clone())),
            Target::Block(id) => path.enter(&sdfg.get_block(*id)?.label),
            Target::Transition(id) => path.to(transition(sdfg, *id)?),
            Target::Node(state, node) => {
                let (path, graph) = inside(*state)?;
                path.to(node_element(graph, *node, None)?)
            }
            Target::Connector(state, node, name) => {
                let (path, graph) = inside(*state)?;
                path.to(node_element(graph, *node, Some(name.clone()))?)
            }
            Target::Edge(state, edge) => {
                let (path, graph) = inside(*state)?;
                graph.get_edge(*edge)?;
                path.to(Element::edge(graph, *edge))
            }
        })
    }
}

/// A transition of an SDFG, if it and the blocks at its ends are there.
fn transition(sdfg: &Sdfg, id: TransitionId) -> Option<Element> {
    let found = sdfg.get_transition(id)?;
    sdfg.get_block(found.src).and(sdfg.get_block(found.dst)).map(|_| Element::transition(sdfg, id, found))
}

/// A node or connector; `None` if the node is absent.
fn node_element(graph: &State, node: NodeId, connector: Option<ConnectorName>) -> Option<Element> {
    let found = graph.get_node(node)?;
    let end = End { node: found.label.clone(), connector };
    Some(if found.kind.exit_of().is_some() { Element::Exit(end) } else { Element::Node(end) })
}

/// The SDFG that a node calls.
fn called(sdfg: &Sdfg, state: StateId, node: NodeId) -> Option<&Sdfg> {
    if let NodeKind::Nested(call) = &sdfg.get_state(state)?.get_node(node)?.kind {
        Some(&call.sdfg)
    } else {
        None
    }
}

/// The label of the block that runs a state.
fn block_label(sdfg: &Sdfg, state: StateId) -> Option<&str> {
    let runs = |kind: &BlockKind| matches!(kind, BlockKind::State(id) if *id == state);
    sdfg.blocks().find(|(_, block)| runs(&block.kind)).map(|(_, block)| block.label.as_str())
}

/// Calls `found` with every element of a program and its path, from the outside in: of each SDFG its symbols, containers,
/// blocks and transitions, then of each state its nodes with their connectors, the elements of what they call, and its
/// edges. States that no block runs have none.
pub(super) fn each_element(root: &Sdfg, found: &mut impl FnMut(ElementPlace, ElementPath)) {
    let path = ElementPath::sdfg(&root.name);
    found(ElementPlace { calls: Vec::new(), target: Target::Sdfg }, path.clone());
    elements(root, &[], &path, found);
}

fn elements(
    sdfg: &Sdfg,
    calls: &[(StateId, NodeId)],
    path: &ElementPath,
    found: &mut impl FnMut(ElementPlace, ElementPath),
) {
    let place = |target| ElementPlace { calls: calls.to_vec(), target };
    for (symbol, _) in sdfg.symbols() {
        let element = Element::Symbol(symbol.as_str().to_owned());
        found(place(Target::Symbol(symbol.clone())), path.to(element));
    }
    for (id, container) in sdfg.containers() {
        found(place(Target::Container(id)), path.to(Element::Container(container.name.clone())));
    }
    for (id, block) in sdfg.blocks() {
        found(place(Target::Block(id)), path.enter(&block.label));
    }
    transitions(sdfg, |id, element| found(place(Target::Transition(id)), path.to(element)));
    for (_, block) in sdfg.blocks() {
        let BlockKind::State(state) = block.kind else { continue };
        let Some(graph) = sdfg.get_state(state) else { continue };
        let inside = path.enter(&block.label);
        for (id, node) in graph.nodes() {
            let mut add = |target, connector| {
                if let Some(element) = node_element(graph, id, connector) {
                    found(place(target), inside.to(element));
                }
            };
            add(Target::Node(state, id), None);
            for name in connectors(graph, id) {
                add(Target::Connector(state, id, name.clone()), Some(name));
            }
            if let NodeKind::Nested(call) = &node.kind {
                elements(&call.sdfg, &[calls, &[(state, id)]].concat(), &inside.enter(&node.label), found);
            }
        }
        for (id, _) in graph.edges() {
            found(place(Target::Edge(state, id)), inside.to(Element::edge(graph, id)));
        }
    }
}

/// The transitions of an SDFG whose blocks are there, region by region.
fn transitions(sdfg: &Sdfg, mut found: impl FnMut(TransitionId, Element)) {
    let regions = sdfg.blocks().flat_map(|(_, block)| block.kind.regions());
    for region in [sdfg.body()].into_iter().chain(regions) {
        let Some(region) = sdfg.get_region(region) else { continue };
        let mut earlier: BTreeMap<(BlockId, BlockId), usize> = BTreeMap::new();
        for id in &region.transitions {
            let Some(transition) = sdfg.get_transition(*id) else { continue };
            let ends = (transition.src, transition.dst);
            let before = *earlier.entry(ends).and_modify(|n| *n += 1).or_default();
            let label = |block| sdfg.get_block(block).map(|found| found.label.clone());
            if let (Some(source), Some(destination)) = (label(ends.0), label(ends.1)) {
                found(*id, Element::Transition { source, destination, before });
            }
        }
    }
}

/// The connectors of a node, declared and used, by name.
fn connectors(graph: &State, node: NodeId) -> BTreeSet<ConnectorName> {
    let kind = &graph.node(node).kind;
    let declared = kind.inputs().iter().chain(kind.outputs());
    let declared = declared.map(|connector| ConnectorName::Plain(connector.name.clone()));
    let into = graph.each_in_edge(node).filter_map(|(_, edge)| edge.dst_connector.as_deref());
    let out = graph.each_out_edge(node).filter_map(|(_, edge)| edge.src_connector.as_deref());
    let used = into.chain(out).filter_map(|name| End::of(graph, node, Some(name)).connector);
    declared.chain(used).collect()
}
