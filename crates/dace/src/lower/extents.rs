//! Extents of nested SDFG arguments that reach beyond their memlets.
//!
//! DaCe passes pointers, so it does not enforce the extents that an inner container declares. Tiled maps pass
//! arrays of a whole tile even where the last tile is shorter, and inner code may access more elements than
//! are declared. The reader limits such a container to the existing elements, and extends memlets to cover
//! the declared extents.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::bound_dimensions;
use sdfg::ir::{Access, Layout};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Assumptions, Expr, Symbol};

use super::SdfgLowering;
use super::state::{End, Graph};
use crate::decode::Version;
use crate::model;
use crate::report::Log;
use crate::text::symbolic;

/// Properties of the arguments of a call: extents of inner containers that take the place of declared ones, and which
/// arguments iterations share.
#[derive(Clone, Debug, Default)]
pub(super) struct Extents {
    /// By container and dimension.
    pub(super) found: BTreeMap<String, BTreeMap<usize, Expr>>,
    /// Symbols in them, with their values outside.
    pub(super) symbols: Vec<(Symbol, Expr)>,
    /// Arguments that are the same part of a container in all iterations of a map around the call.
    pub(super) passed_alike: BTreeSet<String>,
}

impl<'a> SdfgLowering<'a> {
    /// The extents that arguments of a nested SDFG have where they are not the declared ones.
    pub(super) fn limited_extents(
        &self,
        graph: &Graph<'a>,
        at: usize,
        program: &model::Program,
        mapping: &[(String, String)],
    ) -> Extents {
        let mut extents = Extents::default();
        // What is wrong with values is told where they are used.
        let silent = Log::default();
        let values: BTreeMap<Symbol, Expr> = mapping
            .iter()
            .filter_map(|(name, value)| {
                let value = symbolic(value, &"", &silent).ok()?;
                Some((Symbol::new(name).ok()?, self.size(&value)))
            })
            .collect();
        let around = self.params_around(graph, at);
        for edge in &graph.model.edges {
            let (name, node) = match (edge.dst == at, edge.src == at) {
                (true, _) => (&edge.dst_connector, graph.paths.source(edge)),
                (_, true) => (&edge.src_connector, graph.paths.destination(edge)),
                _ => continue,
            };
            let Some((name, inner)) = name.as_deref().and_then(|name| program.containers.get_key_value(name))
            else {
                continue;
            };
            let Some(end) = self.end(&graph.model.nodes[node]) else { continue };
            let is_array = inner.kind == model::DescriptorKind::Array && !extents.found.contains_key(name);
            let is_named = edge.memlet.data.as_deref() == Some(end.name);
            let Some(subset) = edge.memlet.subset.as_ref().filter(|_| is_array && is_named) else { continue };
            let subset = self.subset(end, subset);
            let outside = |list: &[Expr]| -> Vec<Expr> {
                list.iter().map(|expr| self.size(expr).substitute(&values)).collect()
            };
            let (shape, strides) = (outside(&inner.shape), outside(&inner.strides));
            let layout = self.sdfg.container(end.id).kind.layout();
            let is_same = layout.is_some_and(|outer| outer.shape == shape && outer.strides == strides);
            if self.shared.version == Version::Second && is_same {
                // Such an array is passed as it is.
                continue;
            }
            for (dimension, limit) in self.limits(end, &subset, &shape, &strides, &around) {
                let extent = if limit.as_int().is_some() {
                    limit
                } else {
                    // Files that were written here have such symbols already.
                    let mut label = format!("__{name}_extent_{dimension}");
                    while program.symbols.contains_key(&label)
                        || mapping.iter().any(|(name, _)| *name == label)
                    {
                        label.push('_');
                    }
                    let Ok(symbol) = Symbol::new(&label) else { continue };
                    extents.symbols.push((symbol.clone(), limit));
                    Expr::symbol(symbol)
                };
                extents.found.entry(name.clone()).or_default().insert(dimension, extent);
            }
        }
        extents.passed_alike = self.passed_alike(graph, at);
        extents
    }

    /// Parameters of the maps around a node with their first and last values, the outermost first.
    pub(super) fn params_around(&self, graph: &Graph<'a>, node: usize) -> Vec<(Symbol, Expr, Expr)> {
        let mut around = Vec::new();
        let mut scope = graph.paths.scope_of(node);
        while let Some(entry) = scope {
            if let model::NodeKind::MapEntry(map) = &graph.model.nodes[entry].kind {
                let params = map.params.iter().zip(&map.ranges.0).rev();
                around.extend(params.map(|(param, range)| {
                    (param.clone(), self.size(&range.begin), self.size(&range.last()))
                }));
            }
            scope = graph.paths.scope_of(entry);
        }
        around.reverse();
        around
    }

    /// Dimensions of an inner layout that reach beyond the container, with what is left of them, or that have fewer elements
    /// than the memlet gives, with these.
    fn limits(
        &self,
        end: End<'_>,
        subset: &Subset,
        shape: &[Expr],
        strides: &[Expr],
        around: &[(Symbol, Expr, Expr)],
    ) -> Vec<(usize, Expr)> {
        let mut found = Vec::new();
        let Some(kept) = same_places(self.sdfg.container(end.id).kind.layout(), subset, shape, strides)
        else {
            return found;
        };
        let whole = self.sdfg.container(end.id).shape();
        for (inner, (dimension, extent)) in kept.into_iter().zip(shape).enumerate() {
            let (Some(range), Some(there)) = (subset.0.get(dimension), whole.get(dimension)) else {
                continue;
            };
            let left = there - &range.begin;
            let is_beyond = |beyond: Expr| beyond.as_int().is_some_and(|beyond| beyond > 0);
            let memlet = (&range.end - there).bounds_over_all(around, &Assumptions::new());
            let given = range.size();
            let is_always = is_beyond(extent - &left) || is_beyond(extent - there);
            if is_always || memlet.upper.is_some_and(is_beyond) {
                found.push((inner, Expr::min(extent, &left)));
            } else if is_beyond(&given - extent) {
                found.push((inner, given));
            }
        }
        found
    }

    /// Makes a memlet of a node cover what the inner container has, as far as that is a part of the outer one.
    pub(super) fn cover(
        &self,
        graph: &Graph<'a>,
        node: usize,
        access: &mut Access,
        outer: End<'_>,
        layout: &Layout,
    ) {
        let (shape, strides) = (&layout.shape, &layout.strides);
        let own = self.sdfg.container(outer.id).kind.layout();
        let Some(kept) = same_places(own, access.subset(), shape, strides) else { return };
        let around = self.params_around(graph, node);
        let limits = self.limits(outer, access.subset(), shape, strides, &around);
        for (inner, (dimension, extent)) in kept.into_iter().zip(shape).enumerate() {
            let Some(range) = access.subset_mut().0.get_mut(dimension) else { continue };
            let spare = range.size() - extent;
            let fits = spare.is_nonnegative(&Assumptions::new());
            let is_known = fits.is_proved() || fits.is_refuted();
            let is_limited = limits.iter().any(|(limited, _)| *limited == inner);
            if is_limited || (!is_known && !range.is_index()) {
                *range = Range::new(range.begin.clone(), &range.begin + extent);
            }
        }
    }

    /// Makes a memlet take, from its first element on, all that the inner container declares, also beyond the outer one.
    /// Tells whether it can: the inner places must be those of the outer container.
    pub(super) fn spread(&self, access: &mut Access, outer: End<'_>, layout: &Layout) -> bool {
        let own = self.sdfg.container(outer.id).kind.layout();
        let Some(kept) = same_places(own, access.subset(), &layout.shape, &layout.strides) else {
            return false;
        };
        for (dimension, extent) in kept.into_iter().zip(&layout.shape) {
            if let Some(range) = access.subset_mut().0.get_mut(dimension) {
                *range = Range::new(range.begin.clone(), &range.begin + extent);
            }
        }
        true
    }
}

/// The dimensions of a subset that those of an inner layout are, if they count its elements one by one from the first.
fn same_places(
    own: Option<&Layout>,
    subset: &Subset,
    shape: &[Expr],
    strides: &[Expr],
) -> Option<Vec<usize>> {
    let (own, kept) = (own?, bound_dimensions(subset, shape.len())?);
    let is_same = |(dimension, (extent, stride)): (&usize, (&Expr, &Expr))| {
        let range = subset.0.get(*dimension);
        let is_plain = range.is_some_and(|range| range.step.is_one() && range.tile.is_one());
        is_plain && (extent.is_one() || own.strides.get(*dimension) == Some(stride))
    };
    kept.iter().zip(shape.iter().zip(strides)).all(is_same).then_some(kept)
}
