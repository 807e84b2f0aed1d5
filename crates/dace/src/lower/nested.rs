//! Arguments of nested SDFGs.
//!
//! DaCe passes a pointer to the first element of a memlet, and the inner container applies its own layout.
//! Ours binds the inner container to the elements of the memlet. Where the two differ, a view with the inner
//! layout is inserted.

use std::collections::BTreeMap;

use sdfg::analysis::bound_dimensions;
use sdfg::ir::{Access, ContainerId, ContainerKind, Layout, Memlet, NodeKind, Volume};
use sdfg::symbolic::{Assumptions, Expr, Symbol};

use super::SdfgLowering;
use super::state::{End, Graph};
use super::tasklet::first_element;
use crate::decode::Version;
use crate::model;
use crate::report::Failed;

impl<'a> SdfgLowering<'a> {
    /// Adds the edge that binds an argument; `reads` tells the direction.
    pub(super) fn argument(
        &mut self,
        graph: &mut Graph<'a>,
        edge: &'a model::Edge,
        outer: End<'a>,
        access: Access,
        (program, _): (&'a model::Program, &'a [(String, String)]),
        reads: bool,
    ) -> Result<(), Failed> {
        let (node, connector) =
            if reads { (edge.dst, &edge.dst_connector) } else { (edge.src, &edge.src_connector) };
        let name = connector.as_deref().unwrap_or_default();
        let inner = program.containers.get(name);
        let mut access = self.shared_access(graph, edge, node, name, reads, outer)?.unwrap_or(access);
        let NodeKind::Nested(nested) = &graph.state.node(graph.nodes[node]).kind else { return Ok(()) };
        let lowered = nested.sdfg.find_container(name).map(|id| nested.sdfg.container(id).kind.clone());
        let values: BTreeMap<Symbol, Expr> = nested.symbol_mapping.iter().cloned().collect();
        let is_known = nested.inputs.iter().chain(&nested.outputs).any(|connector| connector.name == name);
        if !is_known {
            let (src, dst) = (graph.nodes[edge.src], graph.nodes[edge.dst]);
            graph.join((src, None), (dst, None), Memlet::order());
            return Ok(());
        }
        let mut view = None;
        match (&lowered, inner) {
            (Some(ContainerKind::Scalar), _) => *access.subset_mut() = first_element(access.subset()),
            (Some(ContainerKind::Array(layout)), Some(_)) => {
                let layout = self.layout_outside(layout, &values);
                self.cover(graph, node, &mut access, outer, &layout);
                let begins_at_first = access.subset().0.iter().all(|range| range.begin == Expr::zero());
                let is_same = self.sdfg.container(outer.id).kind.layout() == Some(&layout);
                if is_same && (self.shared.version == Version::Second || begins_at_first) {
                    // The array is passed as it is. In version 2, a memlet tells which part of it is used, wherever that is.
                    access = self.whole(outer);
                } else if self.needs_view(outer, &access, &layout)
                    && (self.has_room(graph, node, &access, outer, &layout)
                        || !self.spread(&mut access, outer, &layout))
                {
                    *access.subset_mut() = self.named_part(outer, access.subset().clone(), &layout);
                    view = Some(self.view_for(graph, node, name, outer, layout));
                }
            }
            _ => {}
        }
        let is_window = self.has_deferred_bounds(graph, node, &access, outer);
        self.join_argument(graph, edge, access, (view, is_window), reads);
        Ok(())
    }

    /// The view through which a connector reaches a container; input and output share it.
    fn view_for(
        &mut self,
        graph: &Graph<'a>,
        node: usize,
        name: &str,
        outer: End<'a>,
        layout: Layout,
    ) -> ContainerId {
        let own = graph.nodes[node];
        let edges = graph.state.in_edges(own).into_iter().chain(graph.state.out_edges(own));
        for edge in edges.map(|edge| graph.state.edge(edge)) {
            let is_same = |found: &Option<String>| found.as_deref() == Some(name);
            if !is_same(&edge.dst_connector) && !is_same(&edge.src_connector) {
                continue;
            }
            for access in edge.memlet.accesses() {
                if matches!(self.sdfg.container(access.container).kind, ContainerKind::View(_))
                    && access.container != outer.id
                {
                    return access.container;
                }
            }
        }
        self.add_view(&format!("{name}_inside"), outer, layout)
    }

    /// An argument that is read and written is one part for both: the one that is read.
    fn shared_access(
        &self,
        graph: &Graph<'a>,
        edge: &'a model::Edge,
        node: usize,
        name: &str,
        reads: bool,
        outer: End<'a>,
    ) -> Result<Option<Access>, Failed> {
        if reads {
            return Ok(None);
        }
        let input = graph
            .model
            .edges
            .iter()
            .find(|other| other.dst == node && other.dst_connector.as_deref() == Some(name));
        match input {
            Some(input) if input.memlet.data == edge.memlet.data => self.one_end(input, outer).map(Some),
            _ => Ok(None),
        }
    }

    /// Whether all elements of an inner layout are known to be in memory of the outer container, counted from the first of a part of it.
    fn has_room(
        &self,
        graph: &Graph<'a>,
        node: usize,
        access: &Access,
        outer: End<'_>,
        layout: &Layout,
    ) -> bool {
        let Some(own) = self.sdfg.container(outer.id).kind.layout() else { return true };
        let mut known = Assumptions::new();
        for symbol in own.shape.iter().flat_map(Expr::free_symbols) {
            known.assume_nonnegative(Expr::symbol(symbol) - 1);
        }
        let places = access.subset().0.iter().zip(&own.strides).map(|(range, stride)| &range.begin * stride);
        let first = places.fold(own.offset.clone(), |sum, place| sum + place);
        let left = &own.total_size - first - &layout.total_size;
        let least = left.bounds_over_all(&self.params_around(graph, node), &known).lower;
        least.is_some_and(|least| least.is_nonnegative(&known).is_proved())
    }

    /// Whether an inner layout names other elements than a binding would.
    fn needs_view(&self, outer: End<'_>, access: &Access, layout: &Layout) -> bool {
        let Some(kept) = bound_dimensions(access.subset(), layout.shape.len()) else {
            return true;
        };
        let known = Assumptions::new();
        let strides = self.sdfg.container(outer.id).kind.layout().map(|layout| layout.strides.clone());
        for ((dimension, extent), stride) in kept.into_iter().zip(&layout.shape).zip(&layout.strides) {
            let Some(range) = access.subset().0.get(dimension) else { return true };
            let (size, is_index) = (range.size(), range.is_index());
            let spare = &size - extent;
            let fits = spare
                .as_int()
                .map(|spare| spare >= 0)
                .or_else(|| spare.is_nonnegative(&known).is_refuted().then_some(false));
            if fits == Some(false) {
                return true;
            }
            if is_index && !extent.is_one() {
                return true;
            }
            let place =
                strides.as_ref().and_then(|strides| strides.get(dimension)).map(|outer| outer * &range.step);
            if !extent.is_one() && place.as_ref() != Some(stride) {
                return true;
            }
        }
        layout.offset != Expr::zero()
    }

    fn join_argument(
        &mut self,
        graph: &mut Graph<'a>,
        edge: &'a model::Edge,
        access: Access,
        (view, is_window): (Option<ContainerId>, bool),
        reads: bool,
    ) {
        let is_access = |node: usize| matches!(graph.model.nodes[node].kind, model::NodeKind::Access { .. });
        let src_connector = edge.src_connector.as_deref().filter(|_| !is_access(edge.src));
        let dst_connector = edge.dst_connector.as_deref().filter(|_| !is_access(edge.dst));
        let (src, dst) = ((graph.nodes[edge.src], src_connector), (graph.nodes[edge.dst], dst_connector));
        let moving = |access: Access| {
            let is_queue = access.is_queue();
            let mut memlet = if reads { Memlet::read(access) } else { Memlet::write(access) };
            if is_queue || edge.memlet.dynamic || (is_window && view.is_none()) {
                memlet.volume = Volume::Dynamic;
            }
            memlet
        };
        let binding = |access: Access| {
            let mut memlet = Memlet::bind(access);
            if is_window {
                memlet.volume = Volume::Dynamic;
            }
            memlet
        };
        let Some(view) = view else {
            graph.join(src, dst, moving(access));
            return;
        };
        let label = self.sdfg.container(view).name.clone();
        let node = graph.add(&label, NodeKind::Access(view));
        if reads {
            graph.join(src, (node, None), binding(access));
            graph.join((node, None), dst, moving(self.whole_of(view)));
        } else {
            graph.join(src, (node, None), moving(self.whole_of(view)));
            graph.join((node, None), dst, binding(access));
        }
    }
}
