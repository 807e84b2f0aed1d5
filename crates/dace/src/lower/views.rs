//! Views and references, and the test whether two layouts name the same elements.

use std::collections::BTreeMap;

use sdfg::analysis::bound_dimensions;
use sdfg::ir::draft::DraftSdfg;
use sdfg::ir::{Access, Container, ContainerId, ContainerKind, Layout, Memlet, NodeId, Volume};
use sdfg::subset::Subset;
use sdfg::symbolic::{Expr, Symbol};

use super::SdfgLowering;
use super::state::{End, Graph};
use super::tasklet::first_element;
use crate::model::{self, DescriptorKind};
use crate::report::{Code, Failed};

/// Relation of a separate layout to the part of a container that it begins at.
pub(super) enum Fit {
    /// Same extents and same places: the elements of the one are those of the other.
    Same,
    /// Same extents, other places.
    Permuted,
    /// Other extents: the layout counts from the first element.
    Own,
}

/// A node with the connector that an edge has there.
pub(super) type Port<'e> = (NodeId, Option<&'e str>);

impl<'a> SdfgLowering<'a> {
    /// Makes a view or reference name a part of what it views.
    pub(super) fn bind(
        &self,
        graph: &mut Graph<'a>,
        edge: &'a model::Edge,
        alias: End<'a>,
        target: End<'a>,
    ) -> Result<(), Failed> {
        if alias.descriptor.dtype.element != target.descriptor.dtype.element {
            let message = format!(
                "`{}` has elements of {}, and views `{}` with elements of {}: reinterpreting is not supported",
                alias.name, alias.descriptor.dtype.element, target.name, target.descriptor.dtype.element
            );
            return Err(self.log().error(Code::Descriptor, &edge.path, message));
        }
        let memlet = &edge.memlet;
        let found =
            if memlet.data.as_deref() == Some(target.name) { &memlet.subset } else { &memlet.other_subset };
        let subset = match found {
            Some(subset) => self.subset(target, subset),
            None => self.whole(target).subset().clone(),
        };
        let layout = self.sdfg.container(alias.id).kind.layout().cloned();
        let subset = match layout {
            Some(layout) => self.named_part(target, subset, &layout),
            None => subset,
        };
        let ends = self.bare_ends(graph, edge);
        let access = self.access(target, subset);
        let node = if is_access(graph, edge.dst) { edge.dst } else { edge.src };
        let mut memlet = Memlet::bind(access);
        let is_view = alias.descriptor.kind == DescriptorKind::View;
        if is_view && memlet.accesses().any(|access| self.has_deferred_bounds(graph, node, access, target)) {
            memlet.volume = Volume::Dynamic;
        }
        graph.join(ends.0, ends.1, memlet);
        Ok(())
    }

    /// Whether an edge without a connector that says so makes a view of the node at its end (`true`) or begin.
    ///
    /// DaCe's rules (`get_view_edge`), for the edges at the view's own node: what a scope writes into a view, or reads of
    /// one, binds nothing.
    pub(super) fn views(
        &self,
        graph: &Graph<'a>,
        edge: &'a model::Edge,
        from: End<'a>,
        to: End<'a>,
    ) -> Option<bool> {
        let is_bound_by = |end: End<'_>, node: usize| {
            end.descriptor.kind == DescriptorKind::View
                && is_access(graph, node)
                && view_edge(graph, node, end.name).is_some_and(|found| std::ptr::eq(found, edge))
        };
        if is_bound_by(to, edge.dst) {
            return Some(true);
        }
        is_bound_by(from, edge.src).then_some(false)
    }

    /// The ends of an edge, without connectors at access nodes.
    fn bare_ends<'e>(&self, graph: &Graph<'_>, edge: &'e model::Edge) -> (Port<'e>, Port<'e>) {
        let src = edge.src_connector.as_deref().filter(|_| !is_access(graph, edge.src));
        let dst = edge.dst_connector.as_deref().filter(|_| !is_access(graph, edge.dst));
        ((graph.nodes[edge.src], src), (graph.nodes[edge.dst], dst))
    }

    /// Position of a layout over a part of a container, both in symbols of this SDFG.
    pub(super) fn fit(&self, target: End<'_>, subset: &Subset, shape: &[Expr], strides: &[Expr]) -> Fit {
        let Some(kept) = bound_dimensions(subset, shape.len()) else { return Fit::Own };
        let outer = self.sdfg.container(target.id).kind.layout();
        let mut same_places = true;
        for ((dimension, extent), stride) in kept.into_iter().zip(shape).zip(strides) {
            let Some(range) = subset.0.get(dimension) else { return Fit::Own };
            if range.size() != *extent {
                return Fit::Own;
            }
            let place =
                outer.and_then(|layout| layout.strides.get(dimension)).map(|outer| outer * &range.step);
            same_places &= extent.is_one() || (place.as_ref() == Some(stride) && range.tile.is_one());
        }
        if same_places { Fit::Same } else { Fit::Permuted }
    }

    /// The part of a container that a separate layout names: the subset, or its first element if the layout counts from there
    /// although it has as many dimensions as the subset. Extents that are equal for some values of symbols must not make such a
    /// layout one of the elements of the subset.
    pub(super) fn named_part(&self, target: End<'_>, subset: Subset, layout: &Layout) -> Subset {
        let is_ambiguous = || bound_dimensions(&subset, layout.shape.len()).is_some();
        match self.fit(target, &subset, &layout.shape, &layout.strides) {
            Fit::Permuted => first_element(&subset),
            Fit::Own if is_ambiguous() => first_element(&subset),
            Fit::Same | Fit::Own => subset,
        }
    }

    /// A layout in symbols of this SDFG, of a container of an SDFG that is called with these values of its symbols.
    pub(super) fn layout_outside(&self, layout: &Layout, values: &BTreeMap<Symbol, Expr>) -> Layout {
        let all = |list: &[Expr]| list.iter().map(|expr| expr.substitute(values)).collect();
        Layout {
            shape: all(&layout.shape),
            strides: all(&layout.strides),
            offset: layout.offset.substitute(values),
            total_size: layout.total_size.substitute(values),
        }
    }

    /// A view of this SDFG with a layout, at the begin of a part of a container.
    pub(super) fn add_view(&mut self, name: &str, target: End<'_>, layout: Layout) -> ContainerId {
        let name = self.sdfg.fresh_container_name(name);
        let element = target.descriptor.dtype.element;
        let mut view = Container::new(name, element, ContainerKind::View(layout));
        view.transient = true;
        self.sdfg.add_container(view)
    }

    /// All of a container by its id.
    pub(super) fn whole_of(&self, id: ContainerId) -> Access {
        Access::elements(id, Subset::full(self.sdfg.container(id).shape()))
    }
}

/// Whether a node is an access node.
pub(super) fn is_access(graph: &Graph<'_>, node: usize) -> bool {
    matches!(graph.model.nodes[node].kind, model::NodeKind::Access { .. })
}

/// The edge that binds the view at an access node, where no connector says which does.
///
/// A view with one edge on one side and another number on the other is bound by that one, if it leads to data. One with an
/// edge in and one out is bound by the one that leads to data, then by the one whose memlet does not name the view, then by
/// the one that leaves the scope, then by the one that comes in.
fn view_edge<'a>(graph: &Graph<'a>, node: usize, name: &str) -> Option<&'a model::Edge> {
    let edges = &graph.model.edges;
    let has_connector = edges.iter().any(|edge| {
        (edge.dst == node && edge.dst_connector.as_deref() == Some("views"))
            || (edge.src == node && edge.src_connector.as_deref() == Some("views"))
    });
    if has_connector {
        return None;
    }
    let moves = || edges.iter().filter(|edge| edge.memlet.data.is_some());
    let into: Vec<&model::Edge> = moves().filter(|edge| edge.dst == node).collect();
    let out_of: Vec<&model::Edge> = moves().filter(|edge| edge.src == node).collect();
    let comes_from_data = |edge: &&'a model::Edge| is_access(graph, graph.paths.source(edge));
    let leads_to_data = |edge: &&'a model::Edge| is_access(graph, graph.paths.destination(edge));
    let (incoming, outgoing) = match (into.as_slice(), out_of.as_slice()) {
        ([incoming], [outgoing]) => (*incoming, *outgoing),
        ([only], _) => return Some(*only).filter(comes_from_data),
        (_, [only]) => return Some(*only).filter(leads_to_data),
        _ => return None,
    };
    match (comes_from_data(&incoming), leads_to_data(&outgoing)) {
        (true, false) => return Some(incoming),
        (false, true) => return Some(outgoing),
        (false, false) => return None,
        (true, true) => {}
    }
    let names_view = |edge: &model::Edge| edge.memlet.data.as_deref() == Some(name);
    let leaves_scope = !is_access(graph, outgoing.dst) && is_access(graph, incoming.src);
    let is_outgoing = if names_view(incoming) == names_view(outgoing) {
        !names_view(incoming) && leaves_scope
    } else {
        names_view(incoming)
    };
    Some(if is_outgoing { outgoing } else { incoming })
}
