//! Views: an access through a view is an access to the part of the container that it names.
//!
//! A view that is bound outside of maps has a position in a storage, like a container of a nested SDFG. A
//! view that is bound inside a map names another part in each iteration; the model composes both subsets for
//! its accesses.

use sdfg::analysis::{bound_alias, bound_dimensions};
use sdfg::ir::{Access, AccessedPart, Container, ContainerId, ContainerKind, EdgeId, NodeId};
use sdfg::subset::{Approx, Range, Subset};

use super::error::ModelError;
use super::read::{Reader, Scene};

/// Views of views of ..: more are refused.
const DEPTH: usize = 64;

impl Reader<'_> {
    /// Places the views that a state binds outside of maps.
    pub(super) fn bind_views(&mut self, scene: &Scene<'_>, place: &str) -> Result<(), ModelError> {
        let mut waiting: Vec<(ContainerId, &Access)> = scene
            .state
            .edges()
            .filter(|(edge, _)| scene.tree.scope_of_edge(scene.state, *edge).is_none())
            .filter_map(|(edge, _)| self.bound_view(scene, edge))
            .collect();
        for (view, _) in &waiting {
            self.bindings.remove(view);
        }
        // What is viewed is placed first.
        while let Some(next) =
            waiting.iter().position(|(_, target)| self.bindings.contains_key(&target.container))
        {
            let (view, target) = waiting.remove(next);
            self.check_kind(target.container, place)?;
            let container = self.sdfg.container(view);
            let numbers = |range: &Range| self.place(range);
            // No subset has dimensions that another shape could be.
            let rank = if self.has_shape_of(container, target.subset()) {
                container.shape().len()
            } else {
                usize::MAX
            };
            let binding = self.bindings[&target.container].part(&target.subset().0, rank, numbers);
            if binding.is_vague() {
                let what = format!(
                    "`{}` views `{}[{}]`, in another shape or elsewhere each time; all of a dimension is accessed",
                    container.name,
                    self.sdfg.container(target.container).name,
                    target.subset()
                );
                self.approximate(place, &what);
            }
            self.bindings.insert(view, binding);
        }
        Ok(())
    }

    /// An access in a scope, through the views that are bound in scopes around it.
    pub(super) fn through_views(
        &self,
        scene: &Scene<'_>,
        access: &Access,
        scope: Option<NodeId>,
        place: &str,
    ) -> Result<Access, ModelError> {
        let mut access = access.clone();
        for _ in 0..DEPTH {
            let bound = scene.state.edges().find_map(|(edge, _)| {
                let around = scene.tree.scope_of_edge(scene.state, edge)?;
                let (view, target) = self.bound_view(scene, edge)?;
                let is_it =
                    view == access.container && scene.tree.enclosing_scope(scope).any(|one| one == around);
                is_it.then_some(target)
            });
            let Some(target) = bound else { return Ok(access) };
            let container = self.sdfg.container(access.container);
            let kept = bound_dimensions(target.subset(), container.shape().len())
                .filter(|_| self.has_shape_of(container, target.subset()));
            let first = Range::index(sdfg::symbolic::Expr::zero());
            let inner = |kept: Vec<usize>| -> Subset {
                let range = |dimension| {
                    let at = kept.iter().position(|one| *one == dimension);
                    at.and_then(|at| access.subset().0.get(at)).unwrap_or(&first).clone()
                };
                (0..target.subset().rank()).map(range).collect()
            };
            let Some(Approx::Exact(subset)) = kept.map(|kept| target.subset().compose(&inner(kept))) else {
                return Err(ModelError::Unsupported {
                    place: place.to_owned(),
                    what: format!(
                        "view `{}`, which is bound inside of a map in another shape,",
                        container.name
                    ),
                    instead: "access what it views",
                });
            };
            access = Access { container: target.container, place: AccessedPart::Elements(subset) };
        }
        Err(ModelError::Unsupported {
            place: place.to_owned(),
            what: "a view of this many others".to_owned(),
            instead: "access what they view",
        })
    }

    /// The view that an edge binds, and what it binds it to.
    fn bound_view<'s>(&self, scene: &Scene<'s>, edge: EdgeId) -> Option<(ContainerId, &'s Access)> {
        let (alias, target) = bound_alias(scene.state, edge)?;
        matches!(self.sdfg.container(alias).kind, ContainerKind::View(_)).then_some((alias, target))
    }

    /// Whether a view has the extents of the subset that it views, without dimensions that are single indices.
    fn has_shape_of(&self, view: &Container, subset: &Subset) -> bool {
        let Some(kept) = bound_dimensions(subset, view.shape().len()) else { return false };
        view.shape().iter().zip(kept).all(|(extent, dimension)| {
            let count = subset.0[dimension].count();
            match (self.number(extent, ""), self.number(&count, "")) {
                (Ok(extent), Ok(count)) => extent == count,
                _ => (extent.clone() - count).is_zero(),
            }
        })
    }
}
