//! Figures of an SDFG: blocks, states, scopes and nodes.
//!
//! `depth` is the number of further levels of boxes that may be opened. At 0, a box is drawn closed, as one
//! figure that states its contents.

use std::collections::BTreeMap;

use sdfg_graph::analysis::ScopeTree;
use sdfg_graph::ir::{
    BlockId, BlockKind, ContainerKind, EdgeId, Flow, NodeId, NodeKind, RegionId, Sdfg, State,
};

use super::figure::{Arrow, Figure, Graph, Outline, Stroke};
use crate::picture::{element_counts, label, palette};

/// The whole program as one figure without a border.
pub(super) fn program(sdfg: &Sdfg, depth: usize) -> Figure {
    Figure::tight(region(sdfg, sdfg.body(), depth), 0.0)
}

/// The line above the picture: name and symbols.
pub(super) fn title(sdfg: &Sdfg) -> String {
    let symbols: Vec<String> = sdfg.symbols().map(|(symbol, ty)| format!("{symbol}: {ty}")).collect();
    if symbols.is_empty() { sdfg.name.clone() } else { format!("{} ({})", sdfg.name, symbols.join(", ")) }
}

fn region(sdfg: &Sdfg, id: RegionId, depth: usize) -> Graph {
    let Some(region) = sdfg.get_region(id) else { return Graph::place(Vec::new(), Vec::new()) };
    let mut figures = Vec::new();
    let mut index: BTreeMap<BlockId, usize> = BTreeMap::new();
    for id in &region.blocks {
        if sdfg.get_block(*id).is_some() {
            index.insert(*id, figures.len());
            figures.push(block(sdfg, *id, depth));
        }
    }
    let mut arrows = Vec::new();
    for id in &region.transitions {
        let Some(transition) = sdfg.get_transition(*id) else { continue };
        if let (Some(from), Some(to)) = (index.get(&transition.src), index.get(&transition.dst)) {
            let label = label::transition(transition);
            arrows.push(Arrow {
                from: *from,
                to: *to,
                label,
                connectors: (None, None),
                stroke: Stroke::Solid,
            });
        }
    }
    // A dot shows where the region starts, if that is not plain.
    if let Some(start) = region.start.and_then(|start| index.get(&start))
        && arrows.iter().any(|arrow| arrow.to == *start)
    {
        let mut dot = Figure::shape(Outline::Dot, Vec::new(), (&[], &[]));
        dot.fill = "#37474f".into();
        figures.push(dot);
        let (from, to) = (figures.len() - 1, *start);
        arrows.push(Arrow { from, to, label: Vec::new(), connectors: (None, None), stroke: Stroke::Solid });
    }
    Graph::place(figures, arrows)
}

fn block(sdfg: &Sdfg, id: BlockId, depth: usize) -> Figure {
    let block = sdfg.block(id);
    let heading = label::block(&block.label, &block.kind);
    let Some(depth) = depth.checked_sub(1) else {
        return closed_block(sdfg, &block.kind, heading);
    };
    match &block.kind {
        BlockKind::State(state) => {
            let Some(state) = sdfg.get_state(*state) else {
                return Figure::shape(Outline::Rectangle, vec![heading], (&[], &[]));
            };
            let mut figure = Figure::group(Some(heading), dataflow(sdfg, state, depth), false);
            figure.fill = "#fafafa".into();
            figure
        }
        BlockKind::Loop(body) => {
            let mut figure = Figure::group(Some(heading), region(sdfg, body.body, depth), false);
            figure.fill = "#fff8e1".into();
            figure
        }
        BlockKind::Branch(branch) => {
            let arms = branch.arms.iter().enumerate().map(|(index, (condition, body))| {
                let word = if index == 0 { "if" } else { "elif" };
                (label::cut(&format!("{word} {condition}")), *body)
            });
            let otherwise = branch.otherwise.map(|body| ("else".to_owned(), body));
            let arms = arms.chain(otherwise).map(|(heading, body)| {
                let mut arm = Figure::group(Some(heading), region(sdfg, body, depth), false);
                (arm.fill, arm.stroke) = ("#f3e5f5".into(), Stroke::Dashed);
                arm
            });
            let mut figure = Figure::group(Some(heading), Graph::place(arms.collect(), Vec::new()), false);
            figure.fill = "#faf2fc".into();
            figure
        }
        BlockKind::Break | BlockKind::Continue | BlockKind::Return => {
            Figure::shape(Outline::Octagon, vec![heading], (&[], &[]))
        }
    }
}

/// A block of which only the heading is shown, and how much it holds.
fn closed_block(sdfg: &Sdfg, kind: &BlockKind, heading: String) -> Figure {
    let (outline, fill) = match kind {
        BlockKind::State(_) => (Outline::Rounded, "#fafafa"),
        BlockKind::Loop(_) => (Outline::Rounded, "#fff8e1"),
        BlockKind::Branch(_) => (Outline::Rounded, "#faf2fc"),
        BlockKind::Break | BlockKind::Continue | BlockKind::Return => (Outline::Octagon, "#ffffff"),
    };
    let held = element_counts::of_block(sdfg, kind).to_string();
    let lines = [heading, held].into_iter().filter(|line| !line.is_empty()).collect();
    let mut figure = Figure::shape(outline, lines, (&[], &[]));
    figure.fill = fill.into();
    figure
}

fn dataflow(sdfg: &Sdfg, state: &State, depth: usize) -> Graph {
    let tree = ScopeTree::of(state);
    Dataflow { sdfg, state, tree: &tree, depth }.scope(None)
}

/// A state that is being drawn.
struct Dataflow<'g> {
    sdfg: &'g Sdfg,
    state: &'g State,
    tree: &'g ScopeTree,
    depth: usize,
}

impl Dataflow<'_> {
    /// Everything directly in a scope, with the scope's own entry and exit.
    fn scope(&self, scope: Option<NodeId>) -> Graph {
        let mut figures = Vec::new();
        let mut index: BTreeMap<NodeId, usize> = BTreeMap::new();
        if let Some(entry) = scope {
            index.insert(entry, figures.len());
            figures.push(self.border(entry, Outline::TrapezoidDown));
        }
        for &id in self.tree.children(scope) {
            let kind = &self.state.node(id).kind;
            if let Some(entry) = kind.exit_of()
                && let Some(&of_entry) = index.get(&entry)
            {
                index.insert(id, of_entry);
                continue;
            }
            index.insert(id, figures.len());
            let is_scope = kind.is_scope_entry();
            figures.push(if is_scope { self.composite(id) } else { self.node(id) });
        }
        let exit = scope.and_then(|entry| self.tree.exit_of(entry));
        if let Some(exit) = exit {
            index.insert(exit, figures.len());
            figures.push(self.border(exit, Outline::TrapezoidUp));
        }
        let arrows = self.arrows(scope, &index);
        let mut graph = Graph::place(figures, arrows);
        if scope.is_none() {
            return graph;
        }
        // The borders of a scope are as wide as what is between them. Wider borders may spread it further; they
        // have settled after a few rounds.
        for _ in 0..4 {
            let width = graph.drawing.size.width;
            let last = graph.figures.len() - 1;
            let borders = if exit.is_some() { [0, last] } else { [0, 0] };
            if borders.iter().all(|border| (graph.figures[*border].size.width - width).abs() < 1.0) {
                break;
            }
            borders.iter().for_each(|border| graph.figures[*border].size.width = width);
            graph = Graph::place(graph.figures, graph.arrows);
        }
        graph
    }

    /// A whole scope as one figure.
    fn composite(&self, entry: NodeId) -> Figure {
        let mut figure = match self.depth.checked_sub(1) {
            Some(depth) => Figure::tight(Dataflow { depth, ..*self }.scope(Some(entry)), 16.0),
            None => {
                let mut lines = label::node(self.sdfg, self.state.node(entry));
                lines.push(element_counts::of_scope(self.state, self.tree, entry).to_string());
                Figure::shape(Outline::Rectangle, lines, (&[], &[]))
            }
        };
        figure.fill = self.tint(entry).into();
        figure
    }

    fn tint(&self, entry: NodeId) -> &'static str {
        palette::schedule_of(&self.state.node(entry).kind).map_or("#ffffff", palette::schedule)
    }

    fn border(&self, id: NodeId, outline: Outline) -> Figure {
        let node = self.state.node(id);
        let mut figure = Figure::shape(outline, label::node(self.sdfg, node), (&[], &[]));
        figure.fill = self.tint(node.kind.exit_of().unwrap_or(id)).into();
        figure
    }

    fn node(&self, id: NodeId) -> Figure {
        let node = self.state.node(id);
        let lines = label::node(self.sdfg, node);
        let names = |connectors: &[sdfg_graph::ir::Connector]| -> Vec<String> {
            connectors.iter().map(|connector| connector.name.clone()).collect()
        };
        let (inputs, outputs) = (names(node.kind.inputs()), names(node.kind.outputs()));
        let connectors = (inputs.as_slice(), outputs.as_slice());
        match &node.kind {
            NodeKind::Access(container) => {
                let mut figure = Figure::shape(Outline::Ellipse, lines, connectors);
                if let Some(container) = self.sdfg.get_container(*container) {
                    figure.hint = label::container(container);
                    figure.fill = palette::storage(container.storage).into();
                    figure.stroke = match &container.kind {
                        ContainerKind::Stream { .. } => Stroke::Dashed,
                        ContainerKind::View(_) | ContainerKind::Reference(_) => Stroke::Dotted,
                        ContainerKind::Scalar | ContainerKind::Array(_) if container.is_argument() => {
                            Stroke::Bold
                        }
                        ContainerKind::Scalar | ContainerKind::Array(_) => Stroke::Solid,
                    };
                }
                figure
            }
            NodeKind::Tasklet(_) => Figure::shape(Outline::Octagon, lines, connectors),
            NodeKind::Nested(nested) => match self.depth.checked_sub(1) {
                Some(depth) => {
                    let graph = region(&nested.sdfg, nested.sdfg.body(), depth);
                    Figure::group(Some(lines.join(", ")), graph, !node.kind.inputs().is_empty())
                }
                None => {
                    let held = element_counts::of_region(&nested.sdfg, nested.sdfg.body()).to_string();
                    let lines = lines.into_iter().chain([held]).collect();
                    Figure::shape(Outline::Rounded, lines, connectors)
                }
            },
            NodeKind::Library(_) => Figure::shape(Outline::Rounded, lines, connectors),
            NodeKind::Reduce(reduce) => {
                let mut figure = Figure::shape(Outline::Triangle, lines, connectors);
                figure.fill = palette::schedule(reduce.schedule).into();
                figure
            }
            NodeKind::MapEntry(_)
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_) => Figure::shape(Outline::TrapezoidUp, lines, connectors),
        }
    }

    fn arrows(&self, scope: Option<NodeId>, index: &BTreeMap<NodeId, usize>) -> Vec<Arrow> {
        let edges = self.state.edges().filter(|(id, _)| self.tree.scope_of_edge(self.state, *id) == scope);
        let ids: Vec<EdgeId> = edges.map(|(id, _)| id).collect();
        ids.into_iter().filter_map(|id| self.arrow(id, index)).collect()
    }

    fn arrow(&self, id: EdgeId, index: &BTreeMap<NodeId, usize>) -> Option<Arrow> {
        let edge = self.state.edge(id);
        let (from, to) = (*index.get(&edge.src)?, *index.get(&edge.dst)?);
        let shown = |node: NodeId, name: &Option<String>| {
            name.clone().filter(|_| self.state.node(node).kind.is_code())
        };
        let stroke = match &edge.memlet.flow {
            Flow::Order | Flow::Bind(_) => Stroke::Dotted,
            Flow::Write { resolution: Some(_), .. } | Flow::Copy { resolution: Some(_), .. } => {
                Stroke::Dashed
            }
            Flow::Read(_) | Flow::Write { .. } | Flow::Copy { .. } | Flow::Value => Stroke::Solid,
        };
        Some(Arrow {
            from,
            to,
            label: label::memlet(self.sdfg, &edge.memlet),
            connectors: (shown(edge.src, &edge.src_connector), shown(edge.dst, &edge.dst_connector)),
            stroke,
        })
    }
}
