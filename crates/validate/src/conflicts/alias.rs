//! Memory behind views and references.
//!
//! An alias that provably has the extents of its subset names exactly the elements of that subset. An alias
//! with another shape counts from the first of them; this is covered approximately. A view is bound when its
//! state or scope begins, a reference when its edge is reached. If more than one edge may have bound it, it
//! may name any of the targets, but the same one throughout a state that does not bind it.

use sdfg_graph::analysis::{bound_alias, bound_dimensions};
use sdfg_graph::ir::{Access, Container, ContainerId, ContainerKind, EdgeId, Layout, NodeId, StateId};
use sdfg_language::subset::{Approx, Range, Subset};
use sdfg_language::symbolic::{Assumptions, Expr, Symbol};

use super::super::scope_context::ScopeContexts;
use super::super::site::{Program, Site};

/// Elements of a container that is no alias.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) container: ContainerId,
    pub(super) subset: Approx<Subset>,
    /// Of an alias, whose elements are different memory, what binds it and the number of scopes around that.
    pub(super) binding: Option<(Bound, usize)>,
}

/// Source of the memory of an alias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// An edge of the state.
    By(EdgeId),
    /// An edge of another state, which one may be open; this is the reference.
    Before(ContainerId),
}

/// An edge that binds an alias.
#[derive(Clone, Copy)]
struct Binding<'a> {
    edge: EdgeId,
    target: &'a Access,
    /// Whether it is an edge of the state that is looked at, and the scope that it lies in.
    here: Option<Option<NodeId>>,
}

/// The aliases of an SDFG as one state sees them.
pub(super) struct Aliases<'s, 'a> {
    program: &'s Program<'a>,
    site: &'s Site<'a>,
    frames: &'s ScopeContexts,
}

/// Layout of the elements of an alias in its target.
enum Shape {
    /// Each is one of the subset, in these dimensions of it.
    Same(Vec<usize>),
    /// They are counted from the first element of the subset on.
    Own,
    Unknown,
}

impl<'s, 'a> Aliases<'s, 'a> {
    pub(super) fn of(program: &'s Program<'a>, site: &'s Site<'a>, frames: &'s ScopeContexts) -> Self {
        Aliases { program, site, frames }
    }

    /// The edges that may have bound an alias.
    fn bindings(&self, alias: ContainerId) -> Vec<Binding<'a>> {
        let all = self.program.bindings_of(alias);
        let is_view = self
            .site
            .sdfg
            .get_container(alias)
            .is_some_and(|alias| matches!(alias.kind, ContainerKind::View(_)));
        // A view of another state is bound again by each state that uses it. They are in the order of the states.
        let of_this = || {
            let begin = all.partition_point(|(state, _)| *state < self.site.id);
            let end = all.partition_point(|(state, _)| *state <= self.site.id);
            &all[begin..end]
        };
        let binding = |(state, edge): &(StateId, EdgeId)| {
            let (_, target) = bound_alias(self.site.sdfg.state(*state), *edge)?;
            let is_here = *state == self.site.id;
            let here = is_here.then(|| self.frames.scopes.scope_of_edge(self.site.state, *edge));
            Some(Binding { edge: *edge, target, here })
        };
        if is_view { of_this() } else { all }.iter().filter_map(binding).collect()
    }

    /// The memory that a subset of a container names at a place in `scope`; nothing if no edge binds an alias.
    pub(super) fn resolve(
        &self,
        container: ContainerId,
        subset: &Subset,
        scope: Option<NodeId>,
    ) -> Vec<Resolved> {
        let mut found = Vec::new();
        let start = Resolved { container, subset: Approx::Exact(subset.clone()), binding: None };
        let mut waiting = vec![(start, 0)];
        while let Some((at, depth)) = waiting.pop() {
            let Some(declared) = self.site.sdfg.get_container(at.container) else { continue };
            if !declared.is_alias() {
                found.push(at);
                continue;
            }
            // Aliases of each other are an error; nothing is looked for behind them.
            if depth > self.program.n_bound_aliases() {
                continue;
            }
            let bindings = self.bindings(at.container);
            let is_packed = declared.kind.layout().is_some_and(Layout::is_packed);
            let is_bound_before = is_packed && bindings.iter().all(|binding| binding.here.is_none());
            let before = is_bound_before.then_some((Bound::Before(at.container), 0));
            for binding in &bindings {
                let place = binding.here.filter(|place| bindings.len() == 1 && self.is_around(*place, scope));
                let next = match place {
                    Some(place) => self.follow(&at, declared, binding, place),
                    None => Resolved { binding: before, ..self.one_of_many(&at, declared, binding) },
                };
                let binding = if depth == 0 { next.binding } else { at.binding };
                waiting.push((Resolved { binding, ..next }, depth + 1));
            }
        }
        found
    }

    /// Whether a place in `scope` lies in the scope `outer`.
    fn is_around(&self, outer: Option<NodeId>, scope: Option<NodeId>) -> bool {
        outer.is_none() || self.frames.scopes.enclosing_scope(scope).any(|entry| Some(entry) == outer)
    }

    /// Possible targets of a part of an alias, if this edge has bound it.
    fn one_of_many(&self, at: &Resolved, alias: &Container, binding: &Binding<'_>) -> Resolved {
        let symbols = binding.target.subset().free_symbols();
        let is_fixed = |symbol: &Symbol| {
            self.site.sdfg.symbol_type(symbol).is_some() && !self.program.assigned.contains(symbol)
        };
        if !symbols.iter().all(is_fixed) {
            return self.anywhere(binding.target.container);
        }
        let found = self.follow(at, alias, binding, None);
        Resolved { subset: Approx::Over(found.subset.into_inner()), ..found }
    }

    fn anywhere(&self, container: ContainerId) -> Resolved {
        let shape = self.site.sdfg.get_container(container).map_or(&[][..], Container::shape);
        Resolved { container, subset: Approx::Over(Subset::full(shape)), binding: None }
    }

    /// Part of the target that a part of an alias names, for the one edge that binds it.
    fn follow(
        &self,
        at: &Resolved,
        alias: &Container,
        binding: &Binding<'_>,
        place: Option<NodeId>,
    ) -> Resolved {
        let known = &self.frames.inside(place).assumptions;
        let bound = binding.target.subset();
        let depth = self.frames.scopes.enclosing_scope(place).count();
        let shape = shape(alias, bound, known);
        let is_packed = alias.kind.layout().is_some_and(Layout::is_packed);
        let distinct = is_packed || matches!(shape, Shape::Same(_));
        let subset = match &shape {
            Shape::Same(kept) => {
                let mut within = vec![Range::index(Expr::zero()); bound.rank()];
                for (dimension, range) in kept.iter().zip(&at.subset.as_inner().0) {
                    if let Some(slot) = within.get_mut(*dimension) {
                        *slot = range.clone();
                    }
                }
                let composed = bound.compose(&Subset(within));
                let exact = composed.is_exact() && at.subset.is_exact();
                Some(Approx::new(composed.into_inner(), exact))
            }
            Shape::Own if self.is_dense(binding.target, alias, known) => Some(Approx::Over(bound.clone())),
            Shape::Own | Shape::Unknown => None,
        };
        Resolved {
            container: binding.target.container,
            subset: subset.unwrap_or_else(|| self.anywhere(binding.target.container).subset),
            binding: distinct.then_some((Bound::By(binding.edge), depth)),
        }
    }

    /// Whether the memory from the first to the last element of the target is that of its elements alone, and enough for
    /// a packed alias.
    fn is_dense(&self, target: &Access, alias: &Container, known: &Assumptions) -> bool {
        let Some(container) = self.site.sdfg.get_container(target.container) else { return false };
        let layouts = [container, alias].map(|found| found.kind.layout());
        let [Some(layout), Some(own)] = layouts else { return false };
        let subset = target.subset();
        if !layout.is_packed() || !own.is_packed() || subset.rank() != layout.shape.len() {
            return false;
        }
        let is_full = |(range, extent): (&Range, &Expr)| {
            range.begin.is_zero() && range.end == *extent && range.step.is_one() && range.tile.is_one()
        };
        let mut outer = subset.0.iter().zip(&layout.shape).skip_while(|(range, _)| range.is_index());
        let is_run = outer.next().is_none_or(|(range, _)| range.step.is_one() && range.tile.is_one());
        is_run && outer.all(is_full) && own.total_size.le(&subset.volume(), known).is_proved()
    }
}

fn shape(alias: &Container, bound: &Subset, known: &Assumptions) -> Shape {
    if bound.0.iter().any(|range| !range.tile.is_one()) {
        return Shape::Unknown;
    }
    let Some(kept) = bound_dimensions(bound, alias.shape().len()) else { return Shape::Own };
    let sizes = kept.iter().filter_map(|dimension| bound.0.get(*dimension)).map(Range::size);
    let fits: Vec<_> = sizes.zip(alias.shape()).map(|(size, extent)| extent.le(&size, known)).collect();
    if fits.iter().all(|fits| fits.is_proved()) {
        Shape::Same(kept)
    } else if fits.iter().any(|fits| fits.is_refuted()) {
        Shape::Own
    } else {
        Shape::Unknown
    }
}
