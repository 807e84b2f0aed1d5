//! Lowers one state: nodes, then the data movement of each edge.
//!
//! An edge of the file names one container and optionally the subset of the other end. The reader finds both
//! ends of the edge's path; the innermost edge moves the data. Propagation derives the outer edges again.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::dtype::ScalarType;
use sdfg::ir::draft::DraftState;
use sdfg::ir::{
    Access, AccessedPart, ConflictResolution, ContainerId, Edge, EdgeId, Flow, Memlet, Node, NodeId,
    NodeKind, Port, ScopeExit, State, Volume,
};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::Expr;
use sdfg::syntax::Statement;

use super::containers::rank;
use super::lanes::Shapes;
use super::paths::Paths;
use super::{Labels, SdfgLowering, fresh};
use crate::model::{self, Descriptor, DescriptorKind, opposite, range_of};
use crate::report::{Code, Failed};
use crate::text::resolution;

/// A state that is being made.
pub(super) struct Graph<'s> {
    pub(super) model: &'s model::State,
    pub(super) paths: Paths<'s>,
    pub(super) state: State,
    /// Our node of each node of the file.
    pub(super) nodes: Vec<NodeId>,
    /// Statements of tasklets by the number of their node, until all edges are known.
    pub(super) tasklets: BTreeMap<usize, Vec<Statement>>,
    /// Tasklets whose code is left to a C++ compiler.
    pub(super) foreign: Vec<usize>,
    /// Memlets as code sees them, by the number of the node.
    pub(super) shapes: BTreeMap<usize, Shapes>,
    /// Nodes whose code touches more than their memlets in the file say.
    pub(super) widened: BTreeSet<usize>,
    /// Whether elements were copied to where they are.
    has_still: bool,
    labels: Labels,
}

/// One end of a path at an access node.
#[derive(Clone, Copy)]
pub(super) struct End<'a> {
    pub(super) name: &'a str,
    pub(super) id: ContainerId,
    pub(super) descriptor: &'a Descriptor,
}

impl Graph<'_> {
    /// Adds a node with a label of its own.
    pub(super) fn add(&mut self, label: &str, kind: NodeKind) -> NodeId {
        let label = fresh(&mut self.labels, label);
        self.state.add_node(Node { label, kind, loc: None })
    }

    /// Adds an edge.
    pub(super) fn join(
        &mut self,
        (src, src_connector): (NodeId, Option<&str>),
        (dst, dst_connector): (NodeId, Option<&str>),
        memlet: Memlet,
    ) -> EdgeId {
        let (src_connector, dst_connector) =
            (src_connector.map(str::to_owned), dst_connector.map(str::to_owned));
        self.state.add_edge(Edge { src, src_connector, dst, dst_connector, memlet, loc: None })
    }
}

impl<'a> SdfgLowering<'a> {
    /// Makes the graph of a state.
    pub(super) fn state(&mut self, model: &'a model::State, label: &str) -> Result<State, Failed> {
        let mut graph = Graph {
            model,
            paths: Paths::of(model),
            state: State::new(label),
            nodes: Vec::new(),
            tasklets: BTreeMap::new(),
            foreign: Vec::new(),
            shapes: BTreeMap::new(),
            widened: BTreeSet::new(),
            has_still: false,
            labels: Labels::default(),
        };
        let nodes = self.nodes(&mut graph)?;
        graph.nodes = nodes;
        let mut failed = None;
        let covered = self.overwritten(&graph);
        for (_, edge) in model.edges.iter().enumerate().filter(|(at, _)| !covered.contains(at)) {
            if let Err(error) = self.edge(&mut graph, edge) {
                failed = Some(error);
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        if graph.has_still {
            graph.order_self_copies();
        }
        self.order_hazards(&mut graph);
        self.finish_tasklets(&mut graph)?;
        self.finish_foreign(&mut graph)?;
        self.enclose(&mut graph);
        Ok(graph.state)
    }

    /// Adds all nodes: exits last, as they name their entries.
    fn nodes(&mut self, graph: &mut Graph<'a>) -> Result<Vec<NodeId>, Failed> {
        let model = graph.model;
        let mut found: Vec<Option<NodeId>> = vec![None; model.nodes.len()];
        let mut failed = None;
        for (at, node) in model.nodes.iter().enumerate() {
            if exit_of(node).is_some() {
                continue;
            }
            match self.node(graph, at, node) {
                Ok(id) => found[at] = Some(id),
                Err(error) => failed = Some(error),
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        for (at, node) in model.nodes.iter().enumerate() {
            let Some(entry) = exit_of(node).and_then(|entry| found.get(entry).copied().flatten()) else {
                continue;
            };
            let label = graph.state.node(entry).label.clone();
            let exit = ScopeExit { entry };
            let is_map = matches!(node.kind, model::NodeKind::MapExit(_));
            let kind = if is_map { NodeKind::MapExit(exit) } else { NodeKind::ConsumeExit(exit) };
            found[at] = Some(graph.state.add_node(Node { label, kind, loc: None }));
        }
        found
            .into_iter()
            .zip(&model.nodes)
            .map(|(id, node)| {
                id.ok_or_else(|| {
                    self.log().error(Code::Dangling, &node.path, "the scope that it ends has no begin")
                })
            })
            .collect()
    }

    /// Nodes of a scope that nothing orders after its entry, or before its exit, are ordered so.
    fn enclose(&self, graph: &mut Graph<'_>) {
        let exits: BTreeMap<usize, usize> = graph
            .model
            .nodes
            .iter()
            .enumerate()
            .filter_map(|(at, node)| Some((exit_of(node)?, at)))
            .collect();
        for at in 0..graph.model.nodes.len() {
            let Some(scope) = graph.paths.scope_of(at) else { continue };
            let Some(exit) = exits.get(&scope) else { continue };
            let own = graph.nodes[at];
            // Of an inner scope it is the exit that leads on.
            if !exits.contains_key(&at) && graph.state.out_edges(own).is_empty() {
                graph.join((own, None), (graph.nodes[*exit], None), Memlet::order());
            }
        }
        for (entry, exit) in exits {
            let (entry, exit) = (graph.nodes[entry], graph.nodes[exit]);
            if graph.state.in_edges(exit).is_empty() {
                graph.join((entry, None), (exit, None), Memlet::order());
            }
        }
    }

    /// Contents of an access node.
    pub(super) fn end(&self, node: &'a model::Node) -> Option<End<'a>> {
        let model::NodeKind::Access { data, .. } = &node.kind else { return None };
        let (id, descriptor) = *self.containers.get(data)?;
        Some(End { name: data, id, descriptor })
    }

    fn edge(&mut self, graph: &mut Graph<'a>, edge: &'a model::Edge) -> Result<(), Failed> {
        let model = graph.model;
        let (source, destination) = (graph.paths.source(edge), graph.paths.destination(edge));
        let kind = |node: usize| &model.nodes[node].kind;
        let (src, dst) = ((graph.nodes[edge.src]), (graph.nodes[edge.dst]));
        let connectors = (edge.src_connector.as_deref(), edge.dst_connector.as_deref());
        let leaves_scope =
            matches!(kind(edge.src), model::NodeKind::MapExit(_) | model::NodeKind::ConsumeExit(_));
        let enters_scope =
            matches!(kind(edge.dst), model::NodeKind::MapEntry(_) | model::NodeKind::ConsumeEntry(_))
                && matches!(connectors.1.and_then(Port::parse), Some(Port::In(_)));
        let (from, to) = (self.end(&model.nodes[source]), self.end(&model.nodes[destination]));
        if edge.memlet.data.is_none() {
            let carries = connectors.0.is_some() && connectors.1.is_some() && from.is_none() && to.is_none();
            let is_inner = !leaves_scope && !enters_scope;
            if carries && is_inner {
                graph.join((src, connectors.0), (dst, connectors.1), Memlet::value());
            } else {
                graph.join((src, None), (dst, None), Memlet::order());
            }
            return Ok(());
        }
        if self.is_unused_number(graph, edge, from) {
            graph.join((src, None), (dst, None), Memlet::order());
            return Ok(());
        }
        let no_container = || {
            let message = "the memlet leads from no container to no container";
            self.log().error(Code::Memlet, &edge.path, message)
        };
        if enters_scope {
            let from = from.ok_or_else(no_container)?;
            let connector = self.access_connector(kind(edge.src), connectors.0);
            graph.join((src, connector), (dst, connectors.1), Memlet::read(self.whole(from)));
            return Ok(());
        }
        if leaves_scope {
            let to = to.ok_or_else(no_container)?;
            let connector = self.access_connector(kind(edge.dst), connectors.1);
            graph.join((src, connectors.0), (dst, connector), Memlet::write(self.whole(to)));
            return Ok(());
        }
        match (from, to) {
            (Some(from), Some(to)) => self.copy_or_bind(graph, edge, from, to),
            (Some(from), None) => self.read(graph, edge, from),
            (None, Some(to)) => self.write(graph, edge, to),
            (None, None) => {
                graph.join((src, connectors.0), (dst, connectors.1), Memlet::value());
                Ok(())
            }
        }
    }

    /// Whether an edge brings a number that is no integer to a map that uses it nowhere: transformations leave such edges.
    fn is_unused_number(&self, graph: &Graph<'a>, edge: &model::Edge, from: Option<End<'_>>) -> bool {
        let (model::NodeKind::MapEntry(_), Some(name), Some(from)) =
            (&graph.model.nodes[edge.dst].kind, edge.dst_connector.as_deref(), from)
        else {
            return false;
        };
        let lane = from.descriptor.dtype.element.lane();
        if Port::parse(name).is_some() || lane.is_integer() || lane == ScalarType::Bool {
            return false;
        }
        let is_named = |text: &str| {
            text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).any(|word| word == name)
        };
        let in_subset = |subset: &Subset| subset.free_symbols().iter().any(|symbol| symbol.as_str() == name);
        let in_node = |node: &model::Node| match &node.kind {
            model::NodeKind::Tasklet { code, .. } => is_named(code),
            model::NodeKind::Nested { mapping, .. } => mapping.iter().any(|(_, value)| is_named(value)),
            model::NodeKind::MapEntry(map) => in_subset(&map.ranges),
            model::NodeKind::ConsumeEntry(_) | model::NodeKind::Library { .. } => true,
            model::NodeKind::Access { .. }
            | model::NodeKind::MapExit(_)
            | model::NodeKind::ConsumeExit(_) => false,
        };
        let in_edge = |edge: &model::Edge| {
            let subsets = [&edge.memlet.subset, &edge.memlet.other_subset];
            subsets.into_iter().flatten().any(in_subset)
        };
        !graph.model.nodes.iter().any(in_node) && !graph.model.edges.iter().any(in_edge)
    }

    /// Access nodes, reductions and their like have no connectors here.
    fn access_connector<'c>(&self, kind: &model::NodeKind, connector: Option<&'c str>) -> Option<&'c str> {
        let has_none = match kind {
            model::NodeKind::Access { .. } => true,
            model::NodeKind::Library { class, .. } => class == "Reduce",
            model::NodeKind::Tasklet { .. }
            | model::NodeKind::MapEntry(_)
            | model::NodeKind::MapExit(_)
            | model::NodeKind::ConsumeEntry(_)
            | model::NodeKind::ConsumeExit(_)
            | model::NodeKind::Nested { .. } => false,
        };
        connector.filter(|_| !has_none)
    }

    /// All of a container.
    pub(super) fn whole(&self, end: End<'_>) -> Access {
        let subset = Subset::full(self.sdfg.container(end.id).shape());
        self.access(end, subset)
    }

    pub(super) fn access(&self, end: End<'_>, subset: Subset) -> Access {
        let place = match end.descriptor.kind {
            DescriptorKind::Stream => AccessedPart::Queues(subset),
            _ => AccessedPart::Elements(subset),
        };
        Access { container: end.id, place }
    }

    /// A subset of the file as one of a container here, where scalars and single queues have no dimensions.
    pub(super) fn subset(&self, end: End<'_>, subset: &Subset) -> Subset {
        if rank(end.descriptor) == 0 {
            return Subset(Vec::new());
        }
        let subset = if self.numbers.is_empty() { subset.clone() } else { subset.substitute(&self.numbers) };
        self.shifted(end.descriptor, subset)
    }

    /// Indices with the offsets of their container added, which is where its elements lie.
    fn shifted(&self, descriptor: &Descriptor, subset: Subset) -> Subset {
        if descriptor.offset.iter().all(|offset| *offset == Expr::zero()) {
            return subset;
        }
        let shifted = subset.0.into_iter().zip(&descriptor.offset).map(|(range, offset)| {
            let offset = self.size(offset);
            Range { begin: range.begin + &offset, end: range.end + offset, ..range }
        });
        shifted.collect()
    }

    /// Statement of a one-ended memlet about that end.
    pub(super) fn one_end(&self, edge: &model::Edge, end: End<'_>) -> Result<Access, Failed> {
        let memlet = &edge.memlet;
        let found =
            if memlet.data.as_deref() == Some(end.name) { &memlet.subset } else { &memlet.other_subset };
        if memlet.data.as_deref() != Some(end.name) && found.is_none() {
            let named = memlet.data.as_deref().unwrap_or_default();
            let message = format!("the memlet names `{named}`, its path leads to `{}`", end.name);
            return Err(self.log().error(Code::Memlet, &edge.path, message));
        }
        Ok(match found {
            Some(subset) => self.access(end, self.subset(end, subset)),
            None => self.whole(end),
        })
    }

    /// The conflict resolution of a memlet.
    pub(super) fn resolution(&self, edge: &model::Edge) -> Option<ConflictResolution> {
        edge.memlet.resolution.as_ref().map(resolution)
    }

    fn read(&mut self, graph: &mut Graph<'a>, edge: &'a model::Edge, from: End<'a>) -> Result<(), Failed> {
        let target = &graph.model.nodes[edge.dst];
        let mut access = self.one_end(edge, from)?;
        if let model::NodeKind::Nested { program, mapping } = &target.kind {
            return self.argument(graph, edge, from, access, (program, mapping), true);
        }
        self.widen_indirect(graph, edge, true, &mut access);
        self.note_shape(graph, edge, from, true, &mut access);
        if edge.memlet.allow_out_of_bounds && self.guarded(graph, edge, from, &mut access) {
            let ends = (
                (graph.nodes[edge.src], edge.src_connector.as_deref()),
                (graph.nodes[edge.dst], edge.dst_connector.as_deref()),
            );
            let memlet = Memlet { volume: Volume::Dynamic, ..Memlet::read(access) };
            graph.join(self.at_access(graph, edge, ends.0), ends.1, memlet);
            return Ok(());
        }
        let mut memlet = Memlet::read(access);
        if from.descriptor.kind_is_stream() {
            memlet.volume = stream_volume(&edge.memlet);
        } else if edge.memlet.dynamic && !memlet.accesses().all(|access| access.subset().is_element()) {
            memlet.volume = Volume::Dynamic;
        }
        let source = self.at_access(graph, edge, (graph.nodes[edge.src], edge.src_connector.as_deref()));
        let connector = self.access_connector(&target.kind, edge.dst_connector.as_deref());
        graph.join(source, (graph.nodes[edge.dst], connector), memlet);
        Ok(())
    }

    /// The source of an edge, without a connector if it is an access node.
    fn at_access<'c>(
        &self,
        graph: &Graph<'_>,
        edge: &model::Edge,
        (node, connector): (NodeId, Option<&'c str>),
    ) -> (NodeId, Option<&'c str>) {
        (node, self.access_connector(&graph.model.nodes[edge.src].kind, connector))
    }

    fn write(&mut self, graph: &mut Graph<'a>, edge: &'a model::Edge, to: End<'a>) -> Result<(), Failed> {
        let source = &graph.model.nodes[edge.src];
        let mut access = self.one_end(edge, to)?;
        if let model::NodeKind::Nested { program, mapping } = &source.kind {
            return self.argument(graph, edge, to, access, (program, mapping), false);
        }
        self.widen_indirect(graph, edge, false, &mut access);
        if !self.note_folded(graph, edge, &access)? {
            self.note_shape(graph, edge, to, false, &mut access);
        }
        let races = self.resolution(edge).is_none() && self.races(graph, edge, &access);
        let mut memlet = Memlet::write(access);
        if let Flow::Write { resolution, .. } = &mut memlet.flow {
            *resolution = self.resolution(edge).or_else(|| races.then_some(ConflictResolution::Replace));
        }
        let is_assigned = match (&source.kind, edge.src_connector.as_deref()) {
            (model::NodeKind::Tasklet { .. }, Some(connector)) => {
                self.is_assigned(graph, edge.src, connector)
            }
            _ => true,
        };
        if to.descriptor.kind_is_stream() {
            memlet.volume = if is_assigned { stream_volume(&edge.memlet) } else { Volume::Dynamic };
        } else if edge.memlet.dynamic || !is_assigned {
            memlet.volume = match memlet.volume {
                Volume::Exact(count) => Volume::AtMost(count),
                other => other,
            };
        }
        let connector = self.access_connector(&source.kind, edge.src_connector.as_deref());
        let target = self.access_connector(&graph.model.nodes[edge.dst].kind, edge.dst_connector.as_deref());
        graph.join((graph.nodes[edge.src], connector), (graph.nodes[edge.dst], target), memlet);
        Ok(())
    }

    fn copy_or_bind(
        &mut self,
        graph: &mut Graph<'a>,
        edge: &'a model::Edge,
        from: End<'a>,
        to: End<'a>,
    ) -> Result<(), Failed> {
        let (into, out_of) = (edge.dst_connector.as_deref(), edge.src_connector.as_deref());
        if matches!(into, Some("views" | "set")) {
            return self.bind(graph, edge, to, from);
        }
        if out_of == Some("views") {
            return self.bind(graph, edge, from, to);
        }
        match self.views(graph, edge, from, to) {
            Some(true) => return self.bind(graph, edge, to, from),
            Some(false) => return self.bind(graph, edge, from, to),
            None => {}
        }
        let memlet = &edge.memlet;
        let named = memlet.data.as_deref();
        let is_source = if from.name == to.name {
            memlet.is_data_src.unwrap_or(true)
        } else if named == Some(from.name) {
            true
        } else if named == Some(to.name) {
            false
        } else {
            let message = format!(
                "the memlet names `{}`, its path leads from `{}` to `{}`",
                named.unwrap_or_default(),
                from.name,
                to.name
            );
            return Err(self.log().error(Code::Memlet, &edge.path, message));
        };
        let (end, other) = if is_source { (from, to) } else { (to, from) };
        let subset = match &memlet.subset {
            Some(subset) => self.subset(end, subset),
            None => self.whole(end).subset().clone(),
        };
        let across = match &memlet.other_subset {
            Some(found) => self.subset(other, found),
            None if to.descriptor.kind_is_stream() && !is_source => self.pushed(memlet, from),
            None => self.opposite(&subset, end, other),
        };
        let (read, written) = if is_source { (subset, across) } else { (across, subset) };
        if from.name == to.name && read == written && self.resolution(edge).is_none() {
            // Elements that are copied to where they are only come after what was done with them.
            graph.join((graph.nodes[edge.src], None), (graph.nodes[edge.dst], None), Memlet::order());
            graph.has_still = true;
            return Ok(());
        }
        let mut lowered = Memlet::copy(self.access(from, read), self.access(to, written));
        if let Flow::Copy { resolution, .. } = &mut lowered.flow {
            *resolution = self.resolution(edge);
        }
        if from.descriptor.kind_is_stream() {
            lowered.volume = self.drained(graph, edge, &lowered);
        }
        let source = self.at_access(graph, edge, (graph.nodes[edge.src], out_of));
        let target = self.access_connector(&graph.model.nodes[edge.dst].kind, into);
        let target = (graph.nodes[edge.dst], target);
        if self.converting_copy(graph, &lowered, source, target).is_none() {
            graph.join(source, target, lowered);
        }
        Ok(())
    }

    /// The elements of an array that a copy into a stream takes, of which the memlet tells how many there are.
    fn pushed(&self, memlet: &model::Memlet, from: End<'_>) -> Subset {
        let shape = self.sdfg.container(from.id).shape();
        let count = memlet.volume.as_ref().filter(|count| !memlet.dynamic && **count != Expr::zero());
        match (shape, count) {
            ([_], Some(count)) => Subset(vec![range_of(&self.size(count))]),
            ([_, _, ..], Some(count)) if count.is_one() => Subset(vec![Range::index(0); shape.len()]),
            _ => Subset::full(shape),
        }
    }

    /// Number of elements of a copy out of a stream: the available ones, if they were pushed earlier in this
    /// state.
    fn drained(&self, graph: &Graph<'_>, edge: &model::Edge, copy: &Memlet) -> Volume {
        let is_filled = graph.model.edges.iter().any(|other| other.dst == edge.src);
        match (edge.memlet.dynamic, &copy.volume) {
            (true, _) => Volume::Dynamic,
            (false, Volume::Exact(count)) if is_filled => Volume::AtMost(count.clone()),
            (false, volume) => volume.clone(),
        }
    }

    /// The part of the other side of a copy that a memlet does not name.
    fn opposite(&self, subset: &Subset, end: End<'_>, other: End<'_>) -> Subset {
        if end.descriptor.kind_is_stream() || other.descriptor.kind_is_stream() {
            return Subset::full(self.sdfg.container(other.id).shape());
        }
        opposite(subset, self.sdfg.container(other.id).shape())
    }
}

/// The entry of the scope that a node ends.
pub(super) fn exit_of(node: &model::Node) -> Option<usize> {
    match node.kind {
        model::NodeKind::MapExit(entry) | model::NodeKind::ConsumeExit(entry) => Some(entry),
        model::NodeKind::Access { .. }
        | model::NodeKind::Tasklet { .. }
        | model::NodeKind::MapEntry(_)
        | model::NodeKind::ConsumeEntry(_)
        | model::NodeKind::Nested { .. }
        | model::NodeKind::Library { .. } => None,
    }
}

/// Number of elements that move between a stream and code.
pub(super) fn stream_volume(memlet: &model::Memlet) -> Volume {
    if memlet.dynamic {
        return Volume::Dynamic;
    }
    Volume::Exact(memlet.volume.clone().unwrap_or_else(Expr::one))
}

impl Descriptor {
    /// Whether this is an array of queues.
    pub(super) fn kind_is_stream(&self) -> bool {
        matches!(self.kind, DescriptorKind::Stream)
    }
}
