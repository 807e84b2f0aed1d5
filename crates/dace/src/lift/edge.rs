//! Lifts edges and memlets.

use sdfg::ir::{Access, ConflictResolution, ContainerKind, EdgeId, Flow, NodeId, NodeKind, Volume};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::Expr;
use sdfg::syntax::{BinaryOp, CompareOp, Expression, ExpressionKind, Lambda, Name, UnaryOp};

use super::SdfgLifting;
use super::functions::spelled_python;
use super::names::is_reserved;
use super::state::Graph;
use crate::model::{Edge, Memlet, opposite};
use crate::report::{Code, Failed};
use crate::text::map_expression;
use crate::wire::Path;

impl SdfgLifting<'_> {
    pub(super) fn dataflow_edge(&self, graph: &Graph<'_>, id: EdgeId) -> Result<Edge, Failed> {
        let edge = graph.state.edge(id);
        if graph.constants.orders.contains(&id) {
            let (src, dst) = (graph.place(edge.src), graph.place(edge.dst));
            let (src_connector, dst_connector) = (None, None);
            let memlet = Memlet::default();
            return Ok(Edge { src, src_connector, dst, dst_connector, memlet, path: Path::default() });
        }
        let connector = |node: NodeId, name: &Option<String>| match &graph.state.node(node).kind {
            NodeKind::Tasklet(tasklet) => name.as_ref().map(|name| self.connector_name(tasklet, name)),
            _ => name.clone(),
        };
        let mut src_connector = connector(edge.src, &edge.src_connector);
        let mut dst_connector = connector(edge.dst, &edge.dst_connector);
        let memlet = match &edge.memlet.flow {
            Flow::Order => Memlet::default(),
            Flow::Value => Memlet { volume: Some(Expr::one()), ..Memlet::default() },
            Flow::Read(from) => {
                self.check_argument(graph, id, from)?;
                self.memlet(graph, id, from, Some(true))?
            }
            Flow::Write { to, resolution } => {
                self.check_argument(graph, id, to)?;
                let resolution = self.resolution(graph, id, resolution.as_ref())?;
                Memlet { resolution, ..self.memlet(graph, id, to, Some(false))? }
            }
            Flow::Copy { from, to, resolution } => {
                self.check_copy(graph, id, from, to)?;
                // All edges of a path name one container: the one at its outer end. Pushes name the stream. Where threads may
                // conflict, DaCe resolves one element in the container that is named, be it the source.
                let kind = |node: NodeId| &graph.state.node(node).kind;
                let resolves_between_nodes = resolution.is_some()
                    && [edge.src, edge.dst].map(kind).iter().all(|kind| kind.container().is_some());
                let leaves = to.is_queue() || kind(edge.dst).exit_of().is_some() || resolves_between_nodes;
                let (named, other) = if leaves { (to, from) } else { (from, to) };
                let resolution = self.resolution(graph, id, resolution.as_ref())?;
                let other_subset = self.other_subset(named, other);
                Memlet { resolution, other_subset, ..self.memlet(graph, id, named, Some(!leaves))? }
            }
            Flow::Bind(target) => {
                let connector = match self.bound_at(graph, id) {
                    Some(true) => &mut dst_connector,
                    Some(false) => &mut src_connector,
                    None => {
                        let message = "no end of the edge is the view that it binds";
                        return Err(self.refuse(Code::UnwritableMemlet, &graph.edge_part(id), message));
                    }
                };
                let at_end = connector.is_none() && self.bound_at(graph, id) == Some(true);
                *connector = Some(self.bind_connector(graph, id).to_owned());
                let memlet = self.memlet(graph, id, target, Some(at_end))?;
                Memlet { volume: Some(target.subset().volume()), dynamic: false, ..memlet }
            }
        };
        Ok(Edge {
            src: graph.place(edge.src),
            src_connector,
            dst: graph.place(edge.dst),
            dst_connector,
            memlet,
            path: Path::default(),
        })
    }

    /// The moved elements, in terms of the container that an access names.
    fn memlet(
        &self,
        graph: &Graph<'_>,
        id: EdgeId,
        access: &Access,
        is_data_src: Option<bool>,
    ) -> Result<Memlet, Failed> {
        let edge = graph.state.edge(id);
        let is_tasklet = |node: NodeId| matches!(graph.state.node(node).kind, NodeKind::Tasklet(_));
        let is_tiled = access.subset().0.iter().any(|range| !range.tile.is_one());
        if is_tiled && (is_tasklet(edge.src) || is_tasklet(edge.dst)) {
            let message = "code sees tiles as dimensions of their own in DaCe; leave the tiles out";
            return Err(self.refuse(Code::UnwritableMemlet, &graph.edge_part(id), message));
        }
        let (volume, dynamic) = match &edge.memlet.volume {
            Volume::Exact(count) => (Some(count.clone()), false),
            Volume::AtMost(count) => (Some(count.clone()), true),
            Volume::Dynamic => (None, true),
        };
        Ok(Memlet {
            data: Some(self.sdfg.container(access.container).name.clone()),
            subset: Some(self.subset(access)),
            other_subset: None,
            volume,
            dynamic,
            resolution: None,
            allow_out_of_bounds: false,
            is_data_src,
        })
    }

    /// The part of the other end of a copy. It is left out where it is what DaCe takes then and the extents are those of steps
    /// through a symbolic range, which DaCe does not find equal to any other spelling of them.
    fn other_subset(&self, named: &Access, other: &Access) -> Option<Subset> {
        let is_vague = |range: &Range| !range.step.is_one() && range.size().as_int().is_none();
        let is_left_out = named.subset().0.iter().any(is_vague)
            && !named.is_queue()
            && !other.is_queue()
            && *other.subset() == opposite(named.subset(), self.sdfg.container(other.container).shape());
        (!is_left_out).then(|| self.subset(other))
    }

    /// The subset of a container as DaCe has it, where scalars and single queues have one dimension.
    fn subset(&self, access: &Access) -> Subset {
        let subset = access.subset();
        if subset.0.is_empty() { Subset(vec![Range::index(0)]) } else { subset.clone() }
    }

    /// Refuses copies between parts of different form that DaCe would not pair in row-major order.
    fn check_copy(&self, graph: &Graph<'_>, id: EdgeId, from: &Access, to: &Access) -> Result<(), Failed> {
        if from.is_queue() || to.is_queue() {
            return self.check_stream_copy(graph, id, from, to);
        }
        let long = |access: &Access| -> Vec<Expr> {
            access.subset().sizes().into_iter().filter(|size| !size.is_one()).collect()
        };
        let is_whole = |access: &Access| {
            let container = self.sdfg.container(access.container);
            let is_packed = container.kind.layout().is_none_or(sdfg::ir::Layout::is_packed);
            is_packed && *access.subset() == Subset::full(container.shape())
        };
        if long(from) == long(to) || (is_whole(from) && is_whole(to)) {
            return Ok(());
        }
        let message = "the copy changes the shape of a part; reshape by a view, or copy in a map";
        Err(self.refuse(Code::UnwritableMemlet, &graph.edge_part(id), message))
    }

    /// Refuses copies at streams that DaCe's code does by other elements: a push takes the first elements of its array, and a
    /// pop fills consecutive ones.
    fn check_stream_copy(
        &self,
        graph: &Graph<'_>,
        id: EdgeId,
        from: &Access,
        to: &Access,
    ) -> Result<(), Failed> {
        let is_first = from.subset().0.iter().all(|range| range.is_index() && range.begin == Expr::zero());
        let is_row = |access: &Access| {
            let container = self.sdfg.container(access.container);
            let is_packed = container.kind.layout().is_none_or(sdfg::ir::Layout::is_packed);
            let (last, before) = match access.subset().0.split_last() {
                Some((last, before)) => (Some(last), before),
                None => (None, &[][..]),
            };
            let is_dense = last.is_none_or(|range| range.step.is_one() && range.tile.is_one());
            let is_whole = *access.subset() == Subset::full(container.shape());
            is_packed && (is_whole || (is_dense && before.iter().all(Range::is_index)))
        };
        let is_right = match (from.is_queue(), to.is_queue()) {
            (false, true) => is_first,
            (true, false) => is_row(to),
            (_, _) => false,
        };
        if is_right {
            return Ok(());
        }
        let message = "DaCe's code would move other elements; push or pop in a tasklet in a map";
        Err(self.refuse(Code::UnwritableMemlet, &graph.edge_part(id), message))
    }

    /// Whether the alias that an edge binds is at its end (`true`) or begin.
    pub(super) fn bound_at(&self, graph: &Graph<'_>, id: EdgeId) -> Option<bool> {
        let edge = graph.state.edge(id);
        let Flow::Bind(target) = &edge.memlet.flow else { return None };
        let is_alias = |node: NodeId| {
            let container = graph.state.node(node).kind.container();
            container.is_some_and(|id| id != target.container && self.sdfg.container(id).is_alias())
        };
        if is_alias(edge.dst) { Some(true) } else { is_alias(edge.src).then_some(false) }
    }

    /// The connector of an alias at which an edge binds it.
    pub(super) fn bind_connector(&self, graph: &Graph<'_>, id: EdgeId) -> &'static str {
        let edge = graph.state.edge(id);
        let container = graph.state.node(edge.dst).kind.container();
        let is_reference =
            container.is_some_and(|id| matches!(self.sdfg.container(id).kind, ContainerKind::Reference(_)));
        if is_reference && self.bound_at(graph, id) == Some(true) { "set" } else { "views" }
    }

    fn resolution(
        &self,
        graph: &Graph<'_>,
        id: EdgeId,
        resolution: Option<&ConflictResolution>,
    ) -> Result<Option<Lambda>, Failed> {
        let Some(resolution) = resolution else { return Ok(None) };
        match lambda(resolution) {
            Ok(function) => Ok(Some(function)),
            Err(why) => Err(self.refuse(Code::UnwritableMemlet, &graph.edge_part(id), why)),
        }
    }
}

/// A conflict resolution as a function of the old and the new value.
///
/// # Errors
/// What DaCe has not, as a sentence.
pub(super) fn lambda(resolution: &ConflictResolution) -> Result<Lambda, String> {
    let (old, new) = (|| Expression::name("a"), || Expression::name("b"));
    let operation = |op| Expression::binary(op, old(), new());
    let not = |operand| Expression::unary(UnaryOp::Not, operand);
    let body = match resolution {
        ConflictResolution::Sum => operation(BinaryOp::Add),
        ConflictResolution::Product => operation(BinaryOp::Multiply),
        ConflictResolution::And => operation(BinaryOp::And),
        ConflictResolution::Or => operation(BinaryOp::Or),
        ConflictResolution::BitAnd => operation(BinaryOp::BitAnd),
        ConflictResolution::BitOr => operation(BinaryOp::BitOr),
        ConflictResolution::BitXor => operation(BinaryOp::BitXor),
        ConflictResolution::Xor => Expression::compare(CompareOp::NotEqual, not(old()), not(new())),
        ConflictResolution::Min => Expression::call("min", vec![old(), new()]),
        ConflictResolution::Max => Expression::call("max", vec![old(), new()]),
        ConflictResolution::Replace => new(),
        ConflictResolution::MinLocation | ConflictResolution::MaxLocation => {
            return Err(format!("DaCe has no resolution `{}` of short vectors", resolution.name()));
        }
        ConflictResolution::Custom(function) => {
            // Words of Python and C++ are no names there.
            let renamed = |name: &str| format!("__{name}");
            let mut failed = None;
            let body = map_expression(function.body.clone(), &mut |part| {
                let part = match &part.kind {
                    ExpressionKind::Name(name) if is_reserved(name) => Expression::name(renamed(name)),
                    _ => part,
                };
                spelled_python(part.clone()).unwrap_or_else(|why| {
                    failed.get_or_insert(why);
                    part
                })
            });
            let parameter = |name: &Name| match is_reserved(&name.text) {
                true => Name::new(renamed(&name.text)),
                false => name.clone(),
            };
            let parameters = function.parameters.iter().map(parameter).collect();
            return failed.map_or(Ok(Lambda { parameters, body }), Err);
        }
    };
    Ok(Lambda { parameters: vec![Name::new("a"), Name::new("b")], body })
}
