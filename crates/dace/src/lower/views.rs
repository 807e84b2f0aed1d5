//! Views, references, and the question whether two layouts name the same elements.

use std::collections::BTreeMap;

use sdfg::analysis::bound_dimensions;
use sdfg::ir::{Access, Container, ContainerId, ContainerKind, Layout, Memlet, NodeId, Volume};
use sdfg::subset::Subset;
use sdfg::symbolic::{Expr, Symbol};

use super::Frame;
use super::state::{End, Graph};
use super::tasklet::first_element;
use crate::model::{self, DescriptorKind};
use crate::report::{Code, Failed};

/// How a layout of its own relates to a part of a container that it begins at.
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

impl<'a> Frame<'a> {
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
        // Extents that are equal for some values of symbols must not make the view one of the elements of the subset.
        let is_ambiguous = |layout: &Layout| bound_dimensions(&subset, layout.shape.len()).is_some();
        let fit = layout.as_ref().map(|layout| self.fit(target, &subset, &layout.shape, &layout.strides));
        let subset = match fit {
            Some(Fit::Permuted) => first_element(&subset),
            Some(Fit::Own) if layout.as_ref().is_some_and(is_ambiguous) => first_element(&subset),
            Some(Fit::Same | Fit::Own) | None => subset,
        };
        let ends = self.bare_ends(graph, edge);
        let access = self.access(target, subset);
        let is_access = matches!(graph.model.nodes[edge.dst].kind, model::NodeKind::Access { .. });
        let node = if is_access { edge.dst } else { edge.src };
        let mut memlet = Memlet::bind(access);
        let is_view = alias.descriptor.kind == DescriptorKind::View;
        if is_view && memlet.accesses().any(|access| self.may_reach_beyond(graph, node, access, target)) {
            memlet.volume = Volume::Dynamic;
        }
        graph.join(ends.0, ends.1, memlet);
        Ok(())
    }

    /// Whether an edge without a connector that says so makes a view of the node at its end (`true`) or begin.
    ///
    /// DaCe's rules: a view with one edge is bound by it; one with one edge in and one out by the edge whose memlet does
    /// not name the view, else by the one that comes in.
    pub(super) fn views(
        &self,
        graph: &Graph<'a>,
        edge: &'a model::Edge,
        from: End<'a>,
        to: End<'a>,
    ) -> Option<bool> {
        let edges = &graph.model.edges;
        let is_bound = |node: usize| {
            edges.iter().any(|other| {
                (other.dst == node && other.dst_connector.as_deref() == Some("views"))
                    || (other.src == node && other.src_connector.as_deref() == Some("views"))
            })
        };
        let is_view =
            |end: End<'_>, node: usize| end.descriptor.kind == DescriptorKind::View && !is_bound(node);
        let moves = |other: &&model::Edge| other.memlet.data.is_some();
        let into = |node: usize| {
            edges.iter().filter(moves).filter(move |other| other.dst == node).collect::<Vec<_>>()
        };
        let out_of = |node: usize| {
            edges.iter().filter(moves).filter(move |other| other.src == node).collect::<Vec<_>>()
        };
        let chosen = |node: usize, name: &str| -> Option<&model::Edge> {
            match (into(node).as_slice(), out_of(node).as_slice()) {
                ([only], []) | ([], [only]) => Some(only),
                ([incoming], [outgoing]) => {
                    let names_view = |other: &model::Edge| other.memlet.data.as_deref() == Some(name);
                    if names_view(incoming) && !names_view(outgoing) {
                        Some(outgoing)
                    } else {
                        Some(incoming)
                    }
                }
                ([incoming], _) => Some(incoming),
                (_, [outgoing]) => Some(outgoing),
                _ => None,
            }
        };
        let is_chosen =
            |node: usize, name: &str| chosen(node, name).is_some_and(|found| std::ptr::eq(found, edge));
        if is_view(to, edge.dst) && is_chosen(edge.dst, to.name) {
            return Some(true);
        }
        (is_view(from, edge.src) && is_chosen(edge.src, from.name)).then_some(false)
    }

    /// The ends of an edge, without connectors at access nodes.
    fn bare_ends<'e>(&self, graph: &Graph<'_>, edge: &'e model::Edge) -> (Port<'e>, Port<'e>) {
        let is_access = |node: usize| matches!(graph.model.nodes[node].kind, model::NodeKind::Access { .. });
        let src = edge.src_connector.as_deref().filter(|_| !is_access(edge.src));
        let dst = edge.dst_connector.as_deref().filter(|_| !is_access(edge.dst));
        ((graph.nodes[edge.src], src), (graph.nodes[edge.dst], dst))
    }

    /// How a layout lies over a part of a container, both in symbols of this SDFG.
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
