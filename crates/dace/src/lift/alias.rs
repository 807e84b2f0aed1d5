//! Lifts layouts of views and references.
//!
//! An alias with the extents of the part that it names shows the elements of that part, whatever its own strides are. In DaCe, the
//! strides of the alias count from the first element of the part. So the file gives the alias the strides of the part.

use sdfg::analysis::{bound_alias, bound_dimensions};
use sdfg::ir::{Access, ContainerId, Layout};
use sdfg::subset::Range;
use sdfg::symbolic::{Expr, Truth};

use super::SdfgLifting;
use crate::report::{Code, Failed};

/// Aliases of aliases that are followed; a graph has no more unless they name each other in a circle.
const DEEPEST: usize = 32;

impl SdfgLifting<'_> {
    /// The layout of an alias from the first element of what it names.
    pub(super) fn shown(&self, alias: ContainerId, layout: &Layout) -> Result<Layout, Failed> {
        let own = || layout.clone();
        let mut found: Option<Layout> = None;
        for target in self.targets(alias) {
            let name = &self.sdfg.container(alias).name;
            let refuse = |message: &str| self.refuse(Code::UnwritableContainer, name, message.to_owned());
            let shown = self.shown_at(layout, target, 0).ok_or_else(|| {
                refuse("it is not known whether it has the extents of what it names, whose strides differ from its own")
            })?;
            if found.as_ref().is_some_and(|known| *known != shown) {
                return Err(refuse("it names parts with different strides; use an alias for each"));
            }
            found = Some(shown);
        }
        Ok(found.unwrap_or_else(own))
    }

    /// The parts that an alias is bound to.
    fn targets(&self, alias: ContainerId) -> impl Iterator<Item = &Access> {
        self.sdfg.states().flat_map(move |(_, state)| {
            let bound = state.edges().filter_map(|(id, _)| bound_alias(state, id));
            bound.filter(move |(found, _)| *found == alias).map(|(_, target)| target).collect::<Vec<_>>()
        })
    }

    /// The layout of an alias that is bound to a part; `None` if that is not known before a run.
    fn shown_at(&self, layout: &Layout, target: &Access, depth: usize) -> Option<Layout> {
        let Some(kept) = bound_dimensions(target.subset(), layout.shape.len()) else {
            return Some(layout.clone());
        };
        let ranges: Vec<&Range> = kept.iter().map(|dimension| &target.subset().0[*dimension]).collect();
        let fits = ranges
            .iter()
            .zip(&layout.shape)
            .fold(Truth::Proved, |fits, (range, extent)| fits.and(extent.le(&range.size(), &self.known)));
        // Of a single element there is nothing but its own layout from there on, or the one element in both.
        if fits == Truth::Refuted || fits == Truth::Unknown && target.subset().is_element() {
            return Some(layout.clone());
        }
        let strides = self.strides_of(target.container, depth)?;
        let mut shown = layout.clone();
        shown.offset = Expr::zero();
        for (((range, dimension), extent), stride) in
            ranges.into_iter().zip(&kept).zip(&layout.shape).zip(&mut shown.strides)
        {
            // Of one element, the stride says nothing.
            if !extent.is_one() {
                *stride = strides.get(*dimension)? * &range.step;
            }
        }
        if shown.strides == layout.strides && shown.offset == layout.offset {
            return Some(shown);
        }
        let reach = shown.shape.iter().zip(&shown.strides);
        shown.total_size =
            reach.fold(Expr::one(), |size, (extent, stride)| size + (extent - &Expr::one()) * stride);
        (fits == Truth::Proved).then_some(shown)
    }

    /// The strides that a container has in the file.
    fn strides_of(&self, id: ContainerId, depth: usize) -> Option<Vec<Expr>> {
        let container = self.sdfg.container(id);
        let Some(layout) = container.kind.layout() else { return Some(Vec::new()) };
        if !container.is_alias() {
            return Some(layout.strides.clone());
        }
        let target = self.targets(id).next();
        match target {
            Some(target) if depth < DEEPEST => Some(self.shown_at(layout, target, depth + 1)?.strides),
            Some(_) => None,
            None => Some(layout.strides.clone()),
        }
    }
}
